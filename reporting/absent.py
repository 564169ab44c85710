"""The rows of expected nodes that left nothing in the run that is merged, and why that may be."""

from __future__ import annotations

from .load import Entry
from .model import LOCAL, Kind, Node, Row, utc
from .names import fold
from .runs import Sight

NEVER_STARTED = (
    "no result and no mark: it never started, or it writes to another dump path"
    " (look at what the job printed on it, and whether it sees this dump path)"
)


def absent(sight: Sight, names: list[str]) -> list[Row]:
    """Return the rows of the expected nodes that left nothing in this run."""
    here = sight.here
    hosts = {
        host: left.name
        for left in here.values()
        for said in left.said
        for host in (fold(said.hostname), fold(said.hostname).partition(".")[0])
    }
    expected = {fold(name) for name in names}
    short = {
        key: left.name for key, left in here.items() if not (key in expected or key.isdecimal())
    }
    rows = []
    for name in (name for name in names if fold(name) not in here):
        left = sight.nodes.get(fold(name))
        if left is not None and left.others:
            rows.append(Row(name, Kind.OTHER_RUN, [_of_another_run(left.others, sight)]))
            continue
        other = hosts.get(fold(name)) or short.get(fold(name).partition(".")[0])
        hint = f"; {name} is the host name of the node {other}: expect it as that" if other else ""
        rows.append(Row(name, Kind.MISSING, [NEVER_STARTED + hint]))
    return rows


def _of_another_run(others: list[Entry], sight: Sight) -> str:
    """Return what is said of a node that left only leftovers."""
    last = max(others, key=lambda entry: entry.started)
    if last.said is None:
        return f"its file is of run {last.run_id} and can't be read: {last.path}: {last.error}"
    what = "result" if isinstance(last.said, Node) else "mark"
    began = f"began {utc(last.started)}"
    if last.run_id == sight.run.id == LOCAL:
        return f"its {what} is of an earlier run ({began}), not of this one: run it again"
    return (
        f"its {what} is of run {last.run_id} ({began}), not of run {sight.run.id}:"
        f" run it again, or merge that run with --run-id={last.run_id}"
    )
