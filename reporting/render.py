"""The merge as text: the report in Markdown, and the few lines for the terminal.

Whatever a template prints is escaped unless a filter of ours has done so already.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .limits import Limits
from .model import Cluster, Kind, Row
from .names import hostlist, plain, unaddressed
from .sections import Cause, Found, Section, find, is_compared, split_sections, unfailed, worst
from .sections.view import fold_devices, rank, shown, text, who

if TYPE_CHECKING:
    import jinja2

_CELL = 120
_WIDE_CELL = 400
_BULLET = 1000
_MOST_REASONS = 200
_MOST_CAUSES = 10
_MOST_ROWS = 8
_EACH_HAS_A_ROW = 200
"""Up to so many nodes the status table has all; above, those that passed are folded."""
_MOST_IN_FULL = 100
_LONGEST_LIST = 2000
_MARKUP = str.maketrans({
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "`": "\\`",
    "*": "\\*", "[": "\\[", "]": "\\]", "\\": "\\\\",
})  # fmt: skip


class Escaped(str):
    """Text that is Markdown already."""

    __slots__ = ()


class _Status(msgspec.Struct):
    """The status table: its rows, and what has none there."""

    rows: list[Row]
    folded: str = ""
    passed: int = 0
    cut: int = 0


def escape(text: str, limit: int) -> Escaped:
    """Return foreign *text* as one line of Markdown that shows it and does nothing else."""
    return Escaped(plain(text, limit).translate(_MARKUP))


def markdown(cluster: Cluster, limits: Limits | None = None, found: Found | None = None) -> str:
    """Return the report of a merge."""
    found = found or find(cluster)
    environment = _environment()
    template = environment.get_template("smoke_report.md.j2")
    before, after = split_sections(cluster, limits or Limits(), found)
    text = template.render(
        cluster=cluster,
        causes=_causes(found),
        status=_status(cluster.rows),
        before=before,
        after=after,
        failing=cluster.failing[:_MOST_IN_FULL],
        unsaid=[row.name for row in cluster.failing[_MOST_IN_FULL:]],
        most=_MOST_REASONS,
        who=who,
    )
    return text.rstrip("\n") + "\n"


def _environment() -> jinja2.Environment:
    """Return what the template is read with: nothing foreign is Markdown unless a filter says so.

    A heading is ours and scraped: what is code in it stays code.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        cell=lambda text: escape(text, _CELL) or Escaped("-"),
        line=lambda cells: Escaped(" | ".join(map(_wide, cells))),
        rule=lambda columns: Escaped("---|" * len(columns)),
        bullet=_bullet,
        rank=rank,
        shown=shown,
        duration=_duration,
        top=lambda row: unaddressed(row.reasons[0]) if row.reasons else "",
        headline=headline,
        heading=lambda section: Escaped(section.heading),
        written=Escaped,
        long=lambda text: escape(text, _LONGEST_LIST),
    )
    return environment


def _finalize(value: object) -> object:
    """Escape what no filter has escaped, so that forgetting one is not a hole."""
    return value if isinstance(value, Escaped | int) else escape(str(value), _BULLET)


def _wide(text: str) -> Escaped:
    """Return a cell of a section's table."""
    return escape(text, _WIDE_CELL) or Escaped("-")


def _bullet(text: str) -> Escaped:
    """Return *text* as a list item that can't begin a heading or another list."""
    line = escape(text, _BULLET)
    return Escaped("\\" + line) if line[:1] in {"#", "+", "-", "=", "~"} else line


def _duration(row: Row) -> str:
    """Return how long the node took."""
    return "-" if row.node is None else f"{row.node.seconds:.1f} s"


def _causes(found: Found) -> Section:
    """Return what failed, the most shared first."""
    failing = found.failing
    rows = [
        [
            c.severity,
            str(len(c.nodes)),
            who(c.nodes),
            fold_devices(c.devices) or "-",
            c.check,
            text(c),
        ]
        for c in failing
    ]
    return Section(
        heading="Causes, the most shared first",
        lines=[] if rows else ["Nothing failed."],
        columns=["Outcome", "Count", "Nodes", "Devices", "Check", "What was said"] if rows else [],
        rows=rows[:_MOST_CAUSES],
        cut=max(0, len(rows) - _MOST_CAUSES),
        calm=not rows,
    )


def _status(rows: list[Row]) -> _Status:
    """Return what stands in the status table."""
    if len(rows) <= _EACH_HAS_A_ROW:
        return _Status(rows)
    rest = [row for row in rows if row.kind is not Kind.PASS]
    passing = [row.name for row in rows if row.kind is Kind.PASS]
    return _Status(
        rows=rest[:_EACH_HAS_A_ROW],
        folded=plain(hostlist(passing), _LONGEST_LIST),
        passed=len(passing),
        cut=max(0, len(rest) - _EACH_HAS_A_ROW),
    )


def headline(cluster: Cluster) -> str:
    """Return the verdict in one line."""
    mark = "REHEARSAL, no verdict on hardware: " if cluster.rehearsal else ""
    bad = cluster.red
    if not bad:
        return f"{mark}PASS: {cluster.expected} of {cluster.expected} expected nodes passed"
    names = ", ".join(plain(row.name, 64) for row in bad[:_MOST_ROWS])
    more = f" and {len(bad) - _MOST_ROWS} more" if len(bad) > _MOST_ROWS else ""
    return f"{mark}FAIL: {len(bad)} of {len(cluster.rows)} nodes did not pass: {names}{more}"


def terminal(cluster: Cluster, found: Found | None = None) -> list[str]:
    """Return the verdict, the causes that most nodes share, and what else is in the report."""
    found = found or find(cluster)
    lines = [plain(headline(cluster), 1000)]
    lines += [_told(cause) for cause in found.failing[:_MOST_ROWS]]
    if len(found.failing) > _MOST_ROWS:
        lines.append(f"  and {len(found.failing) - _MOST_ROWS} more causes, in the report")
    beside = _beside(cluster, found)
    return [*lines, f"  in the report as well: {beside}"] if beside else lines


def _told(cause: Cause) -> str:
    """Return one cause as a line: who, how many, and what was said."""
    count = f" ({len(cause.nodes)} nodes)" if len(cause.nodes) > 1 else ""
    where = f"{plain(', '.join(cause.devices), 64)}: " if cause.devices else ""
    return f"  {who(cause.nodes)}{count}: {where}{plain(text(cause), 300)}"


def _beside(cluster: Cluster, found: Found) -> str:
    """Return what comparing the nodes has shown, in numbers."""
    outliers = unfailed(cluster, found.outliers)
    far = len({(one.node, one.name) for one in outliers})
    named = f" ({plain(worst(outliers), 200)})"
    warned = sum(c.severity == "WARN" and not is_compared(c) for c in found.causes)
    counts = (
        (len(found.drift), "value that drifts", "values that drift"),
        (far, f"outlier against its peers{named}", f"outliers against their peers{named}"),
        (len(found.hashes), "product whose bits disagree", "products whose bits disagree"),
        (warned, "kind of warning", "kinds of warnings"),
    )
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
