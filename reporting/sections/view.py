"""What all sections look at, put in order once; and how nodes are named and tables cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import msgspec

from ..alike import Groups, groups
from ..drift import Drift, Hashes, drift, hashes
from ..limits import Limits
from ..model import FAILING, Check, Cluster, Row
from ..names import hostlist, natural, plain, same_host
from ..outliers import Outlier, fail, outliers
from .base import Cause, Section
from .causes import causes, order
from .compared import compared

MOST_ROWS = 100
"""No table of a section is longer; the rows beyond are counted."""
_LONGEST_LIST = 200
_ALL = frozenset({*FAILING, "WARN", "UNKNOWN"})

Finding = tuple[Row, Check]


class Found(msgspec.Struct, kw_only=True):
    """What comparing the nodes has shown, once for all formats."""

    groups: Groups
    """Like nodes, by number and model of their GPUs."""
    causes: list[Cause]
    """What failed, warned or could not be looked at; `said` has the former two."""
    drift: list[Drift]
    outliers: list[Outlier]
    hashes: list[Hashes]

    @property
    def said(self) -> list[Cause]:
        """The causes of failures and warnings."""
        return [cause for cause in self.causes if cause.severity != "UNKNOWN"]

    @property
    def failing(self) -> list[Cause]:
        """The causes of failures."""
        return [cause for cause in self.causes if cause.severity in FAILING]


def find(cluster: Cluster) -> Found:
    """Compare the nodes of a merge."""
    alike = groups(cluster)
    far, bits = outliers(cluster, alike), hashes(cluster, alike)
    return Found(
        groups=alike,
        causes=_causes(cluster, far, bits),
        drift=drift(cluster, alike),
        outliers=far,
        hashes=bits,
    )


def _causes(cluster: Cluster, far: list[Outlier], bits: list[Hashes]) -> list[Cause]:
    """Return what the checks found together with what comparing the nodes has shown."""
    return sorted([*causes(cluster, _ALL), *compared(cluster, far, bits)], key=order)


def fail_outliers(cluster: Cluster, found: Found) -> None:
    """Make each outlier a FAIL of its node, and so a cause; before anything is written."""
    fail(cluster, found.outliers)
    found.causes = _causes(cluster, [], found.hashes)


class View:
    """A merge as sections see it."""

    def __init__(self, cluster: Cluster, limits: Limits, found: Found) -> None:
        self.cluster, self.limits, self.found = cluster, limits, found
        self.rows = [(row, row.digest) for row in cluster.rows if row.digest is not None]
        self._findings: dict[str, list[Finding]] = {}
        for row, digest in self.rows:
            for check in digest.findings:
                self._findings.setdefault(check.id, []).append((row, check))

    def findings(self, about: Callable[[str], bool]) -> list[Finding]:
        """Return what was found by the checks that *about* takes, in the nodes' order."""
        ids = [one for one in self._findings if about(one)]
        if len(ids) == 1:
            return self._findings[ids[0]]
        order = {row.name: place for place, (row, _) in enumerate(self.rows)}
        found = [finding for one in ids for finding in self._findings[one]]
        return sorted(found, key=lambda finding: order[finding[0].name])


def issues(heading: str, calm: str, view: View, about: Callable[[str], bool]) -> Section:
    """Return a section that tells what some checks found, by node, or by cause when many did."""
    found = view.findings(about)
    told = [(row, check) for row, check in found if check.outcome != "UNKNOWN"]
    blind = {row.name for row, check in found if check.outcome == "UNKNOWN"}
    lines = [] if told else [calm]
    if blind:
        lines.append(f"Not all could be looked at on {who(blind)}: see Coverage.")
    if len(told) <= MOST_ROWS:
        rows = [[rank(row), shown(row), _issue(check)] for row, check in told]
    else:
        shared = [c for c in view.found.said if about(c.check)]
        rows = [["-", who(c.nodes), f"{_devices(c.devices)}{text(c)}"] for c in shared]
    columns = ["Node", "Hostname", "Issue"]
    return table(heading, lines, columns, rows, calm=not told)


def _issue(check: Check) -> str:
    return f"{check.outcome}: {check.message}" if check.outcome != "FAIL" else check.message


def _devices(devices: Sequence[str]) -> str:
    return f"{fold_devices(devices)}: " if devices else ""


def text(cause: Cause) -> str:
    """Return what a cause says."""
    return f"{cause.message} (figures differ among them)" if cause.varies else cause.message


def table(
    heading: str,
    lines: list[str],
    columns: list[str],
    rows: list[list[str]],
    *,
    calm: bool = False,
) -> Section:
    """Return a section, its table cut to what can be read."""
    return Section(
        heading=heading,
        lines=lines,
        columns=columns if rows else [],
        rows=rows[:MOST_ROWS],
        cut=max(0, len(rows) - MOST_ROWS),
        calm=calm and not rows,
    )


def who(names: Iterable[str]) -> str:
    """Return nodes as a hostlist; a long one is cut with the number of nodes."""
    return _who(tuple(names))


@lru_cache(maxsize=256)
def _who(names: tuple[str, ...]) -> str:
    """Return a hostlist once for all tables that name the same nodes."""
    unnamed = [name for name in names if name.startswith("<missing-")]
    folded = hostlist(name for name in names if name not in unnamed)
    if unnamed:
        count = f"{len(unnamed)} that have no name here"
        folded = f"{folded} and {count}" if folded else count
    if len(folded) <= _LONGEST_LIST:
        return folded
    start = folded[:_LONGEST_LIST].rpartition(",")[0] or folded[: _LONGEST_LIST - 1]
    return f"{start}… ({len(names)} nodes)"


def fold_devices(names: Iterable[str]) -> str:
    """Return devices as few words: `gpu[0-7]`; ports keep their colons."""
    distinct = sorted(set(names), key=natural)
    if any(":" in name for name in distinct):
        more = f" and {len(distinct) - 8} more" if len(distinct) > 8 else ""
        return ", ".join(plain(name, 64) for name in distinct[:8]) + more
    return _who(tuple(distinct))


def rank(row: Row) -> str:
    """Return the node's rank, a dash where it has none."""
    return "-" if row.node is None or row.node.rank is None else str(row.node.rank)


def shown(row: Row) -> str:
    """Return the node's name, with the host name where that is another."""
    host = row.node.hostname if row.node is not None else ""
    return row.name if not host or same_host(row.name, host) else f"{row.name} (host {host})"


def number(value: float) -> str:
    """Return a figure with as many digits as an operator reads."""
    return f"{value:.1f}" if abs(value) < 10_000 else f"{value:.4g}"
