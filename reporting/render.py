"""The merge as text: the report in Markdown, and the few lines for the terminal.

Whatever a template prints is escaped unless a filter of ours has done so already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from .model import Cluster, Node, Row, coverage, describe
from .names import plain, same_host

_CELL = 120
_BULLET = 1000
_MOST_REASONS = 200
_MOST_ROWS = 8
_MOST_OPTIONS = 200
_MOST_REMARKS = 100
_MARKUP = str.maketrans({
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "`": "\\`",
    "*": "\\*", "[": "\\[", "]": "\\]", "\\": "\\\\",
})  # fmt: skip


class Escaped(str):
    """Text that is Markdown already."""

    __slots__ = ()


class _Option(msgspec.Struct):
    """One value of one option and on how many nodes it was in force."""

    name: str
    value: str
    source: str
    nodes: int


class _Remark(msgspec.Struct):
    """A warning, or what could not be looked at, and on which nodes."""

    kind: str
    text: str
    nodes: str


def escape(text: str, limit: int) -> Escaped:
    """Return foreign *text* as one line of Markdown that shows it and does nothing else."""
    return Escaped(plain(text, limit).translate(_MARKUP))


def markdown(cluster: Cluster) -> str:
    """Return the report of a merge."""
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
        bullet=_bullet,
        rank=_rank,
        shown=_shown,
        duration=_duration,
        top=lambda row: row.reasons[0] if row.reasons else "",
        coverage=lambda row: describe(coverage(row.node.checks)),
        headline=headline,
    )
    template = environment.get_template("smoke_report.md.j2")
    remarks = _remarks(cluster.rows)
    return template.render(
        cluster=cluster,
        options=_options(cluster.rows),
        most=_MOST_REASONS,
        remarks=remarks[:_MOST_REMARKS],
        more_remarks=max(0, len(remarks) - _MOST_REMARKS),
    )


def _finalize(value: object) -> object:
    """Escape what no filter has escaped, so that forgetting one is not a hole."""
    return value if isinstance(value, Escaped | int) else escape(str(value), _BULLET)


def _bullet(text: str) -> Escaped:
    """Return *text* as a list item that can't begin a heading or another list."""
    line = escape(text, _BULLET)
    return Escaped("\\" + line) if line[:1] in {"#", "+", "-", "=", "~"} else line


def _rank(row: Row) -> str:
    """Return the node's rank, a dash where it has none."""
    return "-" if row.node is None or row.node.rank is None else str(row.node.rank)


def _shown(row: Row) -> str:
    """Return the node's name, with the host name where that is another."""
    host = row.node.hostname if row.node is not None else ""
    return row.name if not host or same_host(row.name, host) else f"{row.name} (host {host})"


def _duration(row: Row) -> str:
    """Return how long the node took."""
    return "-" if row.node is None else f"{row.node.seconds:.1f} s"


def _options(rows: Iterable[Row]) -> list[_Option]:
    """Return the options that were in force, as the results say; a default of ours is never one."""
    nodes: Iterable[Node] = (row.node for row in rows if row.node is not None)
    counts: Counter[tuple[str, str, str]] = Counter(
        (name, str(option.value), option.source)
        for node in nodes
        for name, option in node.options.items()
    )
    ordered = sorted(counts.items())[:_MOST_OPTIONS]
    return [_Option(*key, nodes=count) for key, count in ordered]


def _remarks(rows: Iterable[Row]) -> list[_Remark]:
    """Return each warning and unknown once, with the nodes that said it; the commonest first."""
    said: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if row.node is not None:
            for kind, texts in (("WARN", row.node.warnings), ("UNKNOWN", row.node.unknowns)):
                for text in texts:
                    said.setdefault((kind, text), {})[row.name] = None
    ordered = sorted(said.items(), key=lambda item: (-len(item[1]), item[0]))
    return [_Remark(kind, text, _few([*names])) for (kind, text), names in ordered]


def _few(names: list[str]) -> str:
    """Return *names*, or the first and how many more there are."""
    shown = ", ".join(names[:_MOST_ROWS])
    return f"{shown} and {len(names) - _MOST_ROWS} more" if len(names) > _MOST_ROWS else shown


def headline(cluster: Cluster) -> str:
    """Return the verdict in one line."""
    mark = "REHEARSAL, no verdict on hardware: " if cluster.rehearsal else ""
    bad = cluster.red
    if not bad:
        return f"{mark}PASS: {cluster.expected} of {cluster.expected} expected nodes passed"
    names = ", ".join(plain(row.name, 64) for row in bad[:_MOST_ROWS])
    more = f" and {len(bad) - _MOST_ROWS} more" if len(bad) > _MOST_ROWS else ""
    return f"{mark}FAIL: {len(bad)} of {len(cluster.rows)} nodes did not pass: {names}{more}"


def terminal(cluster: Cluster) -> list[str]:
    """Return the verdict and the first reasons as lines for a terminal."""
    failing = cluster.red
    lines = [plain(headline(cluster), 1000)]
    for row in failing[:_MOST_ROWS]:
        reason = row.reasons[0] if row.reasons else row.kind.value
        lines.append(f"  {plain(row.name, 64)}: {plain(reason, 300)}")
    if len(failing) > _MOST_ROWS:
        lines.append(f"  and {len(failing) - _MOST_ROWS} more, in the report")
    return lines
