"""`aggregate`: waits for the nodes of a run, judges them together, and writes what was found."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from . import outputs, sections
from .clean import clean
from .expected import CannotMerge, Expected, find
from .filesystems import LOCAL, fstype
from .judge import judge
from .limits import Limits, limits
from .load import Folder
from .model import Cluster
from .names import plain, stem
from .outputs import say
from .render import markdown, terminal
from .runs import Sight
from .sections import Found
from .wait import Wait

PASSED, FAILED, IMPOSSIBLE = 0, 1, 2


class Ask(msgspec.Struct, kw_only=True):
    """What an operator asked of the merge."""

    dump: Path
    expected_nodes: int | None = None
    expected_nodelist_file: str | None = None
    wait_timeout_sec: float = 60.0
    run_id: str | None = None
    keep: bool = False
    alone: str | None = None
    clock_skew_warn_sec: float | None = None
    tool_warn_sec: float | None = None
    hbm_busy_threshold_gib: float | None = None
    gpu_activity_warn_pct: float | None = None
    fail_outliers: bool = False

    @property
    def limits(self) -> dict[str, float | None]:
        """The limits that were asked for, None for those that the nodes' own go for."""
        return {
            "clock_skew_warn_sec": self.clock_skew_warn_sec,
            "tool_warn_sec": self.tool_warn_sec,
            "hbm_busy_threshold_gib": self.hbm_busy_threshold_gib,
            "gpu_activity_warn_pct": self.gpu_activity_warn_pct,
        }


def aggregate(
    ask: Ask, environment: Mapping[str, str], fstype_of: Callable[[Path], str] = fstype
) -> int:
    """Merge as asked; return the exit status."""
    try:
        return _aggregate(ask, environment, fstype_of)
    except CannotMerge as error:
        print(f"node-smoke: {plain(str(error), 2000)}", file=sys.stderr)
    except OSError as error:
        hint = ": is this the run's --dump-path?" if isinstance(error, FileNotFoundError) else ""
        reason = f"{error.filename or ask.dump}: [Errno {error.errno}] {error.strerror}{hint}"
        print(f"node-smoke: {plain(reason, 2000)}", file=sys.stderr)
    return IMPOSSIBLE


def _aggregate(ask: Ask, environment: Mapping[str, str], fstype_of: Callable[[Path], str]) -> int:
    """Merge as asked; CannotMerge or OSError when that is impossible."""
    expected = _expected(ask, environment)
    folder = Folder(ask.dump, only=ask.alone)
    sight = Wait(expected, ask.run_id, ask.wait_timeout_sec).until_complete(folder)
    if not sight.here and not expected.size:
        raise CannotMerge(_nothing(ask.dump, sight))
    _refuse_own_disk(ask.dump, expected, sight, fstype_of)
    cluster = judge(sight, expected)
    cluster.notes += folder.notes
    held_to = limits(ask.limits, cluster.rows, fail_outliers=ask.fail_outliers)
    found = sections.find(cluster)
    if held_to.fail_outliers:
        sections.fail_outliers(cluster, found)
    if ask.alone is None:  # a node that is alone has just said it all
        for line in terminal(cluster, found):
            say(line)
    report = markdown(cluster, held_to, found)
    if folder.company:
        _write_own(ask, cluster, report)
    else:
        more = _more(cluster, held_to, found)
        written = outputs.write_all(ask.dump, cluster, report, more)
        for line in outputs.told(written, alone=ask.alone is not None):
            say(line)
        if written.broken:
            return IMPOSSIBLE
        if ask.alone is None and not ask.keep:
            clean(ask.dump, sight)
    return FAILED if cluster.red else PASSED


def _more(cluster: Cluster, held_to: Limits, found: Found) -> dict[str, outputs.Writer]:
    """Return what writes the page and the summary."""
    from . import html, summary

    told = sections.all_sections(cluster, held_to, found)
    return {
        outputs.PAGE: lambda file: html.write(file, cluster, told, found.said),
        outputs.SUMMARY: lambda file: file.writelines(summary.chunks(cluster, held_to, found)),
    }


def _expected(ask: Ask, environment: Mapping[str, str]) -> Expected:
    """Return the nodes that should report; one that merges alone expects itself."""
    if ask.alone is not None:
        return Expected(names=[ask.alone])
    scheduled = ask.run_id is not None or bool(environment.get("SLURM_STEP_ID"))
    listed, count = ask.expected_nodelist_file, ask.expected_nodes
    return find(listed, count, environment, scheduled=scheduled)


def _nothing(dump: Path, sight: Sight) -> str:
    """Return the message for a dump path in which there is nothing to merge."""
    where = os.path.abspath(dump)
    if sight.nodes:
        bad = [x for left in sight.nodes.values() for x in left.others if x.said is None]
        broken = f" ({len(bad)} can't be read, {bad[0].path}: {bad[0].error})" if bad else ""
        return (
            f"no result and no mark of run {sight.run.id} in {where}: is this its run id?{broken}"
        )
    return f"no result and no mark in {where}: is this the run's --dump-path?"


def _refuse_own_disk(
    dump: Path, expected: Expected, sight: Sight, fstype_of: Callable[[Path], str]
) -> None:
    """Refuse to call nodes missing that wrote to their own disks: the path is the mistake."""
    if expected.size < 2 or len(sight.nodes) > 1:
        return
    kind = fstype_of(dump)
    if kind not in LOCAL:
        return
    outputs.withdraw(dump, sight.run.id)
    left = [node.name for node in sight.nodes.values()]
    raise CannotMerge(
        f"of {expected.size} nodes only {left[0] if left else 'none'} left anything in"
        f" {os.path.abspath(dump)}, which is on a local file system ({kind}): each wrote to its"
        " own. Give a --dump-path that all nodes share and run again; no lists were written"
    )


def _write_own(ask: Ask, cluster: Cluster, report: str) -> None:
    """Write one node's report where it replaces nobody's, and say how to merge them all."""
    folder = outputs.folder_of(ask.dump, cluster.run_id)
    name = f"smoke_report.{stem(ask.alone or '')}.md"
    path = outputs.write(folder / name, report.encode("utf-8", "replace"))
    say(f"report {os.path.abspath(path)}")
    dump = shlex.quote(f"--dump-path={os.path.abspath(ask.dump)}")
    say("other nodes' results lie there too, so no list was written; to merge them:")
    say(f"  python -m {__package__} aggregate {dump}")
