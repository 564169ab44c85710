"""What the nodes left, into one row for each of them; every message says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable

from .absent import NEVER_STARTED, absent
from .expected import Expected
from .load import Entry
from .model import FAILING, LOCAL, REPORTED, Cluster, Kind, Mark, Node, Row, describe, named, utc
from .names import fold, natural, stem, stem_of_machine
from .runs import Left, Sight

_REHEARSAL = (
    "a rehearsal among real results proves nothing about the hardware: run it without --rehearse"
)
_MOST_NAMED = 8


def judge(sight: Sight, expected: Expected) -> Cluster:
    """Return the merge of what was seen: every expected node in exactly one row."""
    here = sight.here
    real = _any_real(sight)
    rows = [_row(sight, left, real) for left in here.values() if _has_row(left, expected)]
    if expected.names is not None:
        _name_as_expected(rows, expected.names)
        rows += absent(sight, expected.names)
    elif expected.count is not None:
        rows += [
            Row(f"<missing-{k}>", Kind.MISSING, [NEVER_STARTED], named=False)
            for k in range(expected.count - len(rows))
        ]
    for row in rows:
        row.expected = expected.has(row.name)
    rows.sort(key=_order)
    return Cluster(
        run_id=sight.run.id,
        rows=rows,
        expected=expected.size or len(rows),
        expected_names=expected.names or [row.name for row in rows if row.named],
        rehearsal=not real and any(left.said for left in here.values()),
        notes=_notes(sight, rows, expected),
    )


def _any_real(sight: Sight) -> bool:
    """Tell whether anything in this run was meant as a verdict on hardware."""
    return any(not said.rehearsal for left in sight.here.values() for said in left.said)


def _has_row(left: Left, expected: Expected) -> bool:
    """Tell whether a node is shown: one that is not expected only when it left a result."""
    return expected.has(left.name) or bool(left.whole or left.partial or left.broken)


def _name_as_expected(rows: list[Row], names: list[str]) -> None:
    """Give the rows the names that the scheduler uses, in its case."""
    known = {fold(name): name for name in names}
    for row in rows:
        row.name = known.get(fold(row.name), row.name)


def _order(row: Row) -> tuple[object, ...]:
    """Return what rows are sorted by: rank, then name; those that left no result stand last."""
    rank = row.node.rank if row.node is not None else None
    return (row.node is None, rank is None, rank or 0, not row.named, natural(row.name))


def _row(sight: Sight, left: Left, real: bool) -> Row:
    """Return the row of a node that left something: the first question with an answer decides."""
    row = Row(left.name, Kind.PASS, node=left.result or left.part)
    for question in _QUESTIONS:
        answer = question(sight, left, real)
        if answer is not None:
            row.kind, row.reasons = answer
            break
    if row.node is not None:
        entry = left.entry_of(row.node)
        row.digest, row.path = entry.digest, entry.path
    return row


Answer = tuple[Kind, list[str]]


def _duplicate(_sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether two machines go by one name: what one says is no verdict on the other."""
    machines = left.machines
    if len(machines) < 2:
        return None
    hosts = [_machine(said, machines) for said in machines[:_MOST_NAMED]]
    message = (
        f"{len(machines)} machines report as {left.name}: {', '.join(hosts)}:"
        " give each a node name of its own, remove their results, and run them again"
    )
    reasons = [reason for node in left.whole for reason in _own_reasons(left, node)]
    return Kind.DUPLICATE, [message, *reasons]


def _machine(said: Node | Mark, machines: list[Node | Mark]) -> str:
    """Return what tells this machine from the others of its name."""
    alike = sum(fold(said.hostname) == fold(other.hostname) for other in machines) > 1
    host = f"host {said.hostname or 'without a name'}"
    return f"{host} (boot {said.boot_id})" if alike else host


def _broken(_sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether a file can't be read; a mark or a part matters when there is nothing better."""
    better = bool(left.whole or left.partial)
    bad = [x for x in left.broken if x.sort == "result" or not better]
    return (Kind.BROKEN, [_unreadable(entry) for entry in bad]) if bad else None


def _unreadable(entry: Entry) -> str:
    """Return why a file counts for nothing, and what to do about it."""
    return f"{entry.path} can't be read: {entry.error}: remove it and run the node again"


def _unanswered(sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether the node began and left no result."""
    mark = left.open_mark
    if mark is None or left.result is not None:
        return None
    return Kind.STARTED, [f"began at {_silent(mark, sight.now)}"]


def _silent(mark: Mark, now: float) -> str:
    """Return the end of the sentence about a node that began and did not come back."""
    end = mark.started + mark.bound
    if now < end and math.isfinite(end):
        return (
            f"{utc(mark.started)} and left no result so far: its own bound ends at {utc(end)}"
            " (merge again after that, or let the merge wait with --wait-timeout-sec)"
        )
    return (
        f"{utc(mark.started)} and left no result within its own bound of {mark.bound:.0f} s:"
        " killed, or the node died (look at its console, and run it again)"
    )


def _in_part(_sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether only some checks were asked of the node."""
    node = left.part
    if left.result is not None or node is None:
        return None
    what = f"{', '.join(node.tiers) or 'no whole tier'}; {describe(left.digest_of(node).counts)}"
    message = f"judged in part only ({what}): run a whole tier for a verdict"
    reasons = _own_reasons(left, node)
    return (Kind.FAIL, [*reasons, message]) if reasons else (Kind.PARTIAL, [message])


def _rehearsed(_sight: Sight, left: Left, real: bool) -> Answer | None:
    """Ask whether the node rehearsed where others judged hardware."""
    node = left.result
    if node is None or not node.rehearsal or not real:
        return None
    return Kind.REHEARSAL, [_REHEARSAL, *_own_reasons(left, node)]


def _failed(sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether the node failed by its own checks, or says nothing that could pass."""
    node = left.result
    reasons = _own_reasons(left, node) if node is not None else []
    return (Kind.FAIL, [*reasons, *_unfinished(sight, left)]) if reasons else None


def _own_reasons(left: Left, node: Node) -> list[str]:
    """Return why a result is no PASS; what a result claims must follow from its checks."""
    if node.reasons:
        return node.reasons
    digest = left.digest_of(node)
    counts = digest.counts
    bad = [c for c in digest.findings if c.outcome in FAILING]
    if bad:
        return [named(check) for check in bad]
    if node.verdict == "FAIL":
        return ["its result says FAIL and gives no reason: look into it, and run the node again"]
    if not counts.get("checks"):
        return ["its result judged nothing: no check was run, look at what pytest printed"]
    if node.interrupted:
        return [f"its run was stopped by {node.interrupted}: run the node again"]
    if any(counts.get(k, 0) != n for k, n in node.coverage.items()):
        return ["its checks are not those that it counted: the file was changed, run it again"]
    if counts["UNKNOWN"] + counts["N/A"] == counts["checks"]:
        return ["nothing could be looked at on it: look at its unknowns, and run it again"]
    if node.verdict == "PARTIAL" and not node.partial:
        return ["its result says PARTIAL in place of a whole one: run a whole tier"]
    return []


def _short_of(sight: Sight, left: Left, _real: bool) -> Answer | None:
    """Ask whether the node did not judge all that was asked for."""
    unfinished = _unfinished(sight, left)
    return (Kind.LACKS_TIER, unfinished) if unfinished else None


def _unfinished(sight: Sight, left: Left) -> list[str]:
    """Return what a node with a result still owes."""
    node, mark, owed = left.result, left.open_mark, []
    if node is None:
        return []
    if sight.lacking(node):
        judged = ", ".join(node.tiers) or "none"
        owed.append(
            f"asked for {', '.join(sight.tiers)}; judged {judged} only:"
            " run the rest under the same run id"
        )
    elif not node.tiers:
        owed.append("judged no whole tier: run one for a verdict")
    if mark is not None:
        owed.append(f"began again ({', '.join(mark.tiers)}) at {_silent(mark, sight.now)}")
    return owed


_QUESTIONS: tuple[Callable[[Sight, Left, bool], Answer | None], ...] = (
    _duplicate,
    _broken,
    _unanswered,
    _in_part,
    _rehearsed,
    _failed,
    _short_of,
)


def _notes(sight: Sight, rows: list[Row], expected: Expected) -> list[str]:
    """Return what an operator should know beside the rows."""
    notes = []
    if sight.run.id == LOCAL:
        notes.append("without a run id, results that began within one hour are taken for one run")
    notes += _reported(rows, expected)
    strangers = [row.name for row in rows if not row.expected]
    notes += _about("not expected, and yet here", strangers)
    running = [x.name for x in sight.here.values() if not _has_row(x, expected)]
    notes += _about("not expected, began in this run and left no result so far", running)
    old = [left.name for left in sight.nodes.values() if left.others and not left.here]
    notes += _about("left results of other runs only, which never count", old)
    if expected.names is None and 0 < expected.size < len(rows):
        notes.append(f"{expected.size} nodes were expected, {len(rows)} are here")
    strays = [
        f"{entry.path.name} (about {entry.name})"
        for left in sight.here.values()
        for entry in left.files
        if entry.said is not None and not _in_its_file(entry, entry.said)
    ]
    return notes + _about("files that bear another name than the node in them", strays)


def _reported(rows: list[Row], expected: Expected) -> list[str]:
    """Return who of the expected nodes reported, where others make up the number of those."""
    reported = [row.expected for row in rows if row.kind in REPORTED]
    own, others = sum(reported), len(reported) - sum(reported)
    if not others:
        return []
    return [f"reported: {own} of {expected.size} expected, {others} other{'s' * (others > 1)}"]


def _in_its_file(entry: Entry, said: Node | Mark) -> bool:
    """Tell whether a file bears the name of the node in it."""
    own = fold(entry.stem)
    return own == fold(stem(said.name)) or own == fold(stem_of_machine(said.name, said.hostname))


def _about(what: str, names: list[str]) -> list[str]:
    """Return one note on some nodes, none when there are none."""
    if not names:
        return []
    shown = sorted(names, key=natural)[:_MOST_NAMED]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return [f"{what}: {', '.join(shown)}{more}"]
