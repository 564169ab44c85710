"""Nodes by areas: what is wrong where, so that a rack or a switch shows as what it is."""

from __future__ import annotations

import msgspec
from markupsafe import Markup

from ..model import Cluster, Kind, Row
from ..names import plain
from .bands import WIDTH, Bands, marks, runs

OK, WARN, FAIL, UNKNOWN, GONE, UNASKED = "ok", "warn", "fail", "unknown", "gone", "quiet"
SIGNS = {OK: "✓", WARN: "▲", FAIL: "✕", UNKNOWN: "?", GONE: "-", UNASKED: "·"}
WORDS = {
    OK: "nothing found",
    WARN: "warning",
    FAIL: "failed",
    UNKNOWN: "could not be checked",
    GONE: "no result",
    UNASKED: "not asked for",
}
_OF_OUTCOME = {"FAIL": FAIL, "HUNG": FAIL, "LOST": FAIL, "WARN": WARN, "UNKNOWN": UNKNOWN}
_ORDER = (OK, UNKNOWN, WARN, FAIL)
_AREAS = ("host", "clock", "kernel", "tools", "gpu", "gpudirect", "rdma", "performance")
_TIER2, _TIER2_AREA = "tier2", "performance"
_MOST_OTHERS = 2
_ROW, _GAP, _HEAD = 9.0, 2.0, 16.0
_LEFT = 92.0
_HATCH = Markup(
    '<defs><pattern id="gone" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<path d="M0 4L4 0M-1 1L1-1M3 5L5 3"/></pattern></defs>'
)
_SHAPES = {FAIL: (0.0, 1.0), GONE: (0.0, 1.0), WARN: (0.5, 0.5), UNKNOWN: (0.75, 0.25)}
"""From where to how far down a cell is filled: what is wrong shows without colours too."""


class Cell(msgspec.Struct):
    """One area of one node: its worst outcome, and how many of its checks ended so."""

    state: str = OK
    count: int = 0

    def add(self, state: str) -> None:
        """Count another finding."""
        if _ORDER.index(state) > _ORDER.index(self.state):
            self.state, self.count = state, 0
        self.count += state == self.state


class Line(msgspec.Struct):
    """One node: its verdict, and its areas by name."""

    row: Row
    verdict: str
    cells: dict[str, Cell]


def lines(cluster: Cluster) -> list[Line]:
    """Return the nodes of the grid."""
    return [Line(row, _verdict(row), _cells(row)) for row in cluster.rows]


def _verdict(row: Row) -> str:
    """Return how the node stands as a whole."""
    if row.kind is Kind.PASS:
        return OK
    return GONE if row.node is None else FAIL


def _cells(row: Row) -> dict[str, Cell]:
    """Return the areas in which something was found."""
    cells: dict[str, Cell] = {}
    for check in row.digest.findings if row.digest is not None else []:
        state = _OF_OUTCOME.get(check.outcome)
        if state is not None:
            cells.setdefault(check.id.partition(".")[0], Cell()).add(state)
    return cells


def areas(found: list[Line]) -> list[str]:
    """Return the areas in their order, with a few of those that only a result knows at the end."""
    others = {area for line in found for area in line.cells} - {*_AREAS}
    return [*_AREAS, *sorted(others)[:_MOST_OTHERS]]


def state_of(line: Line, area: str) -> str:
    """Return how one area of a node is."""
    if line.row.node is None:
        return GONE
    cell = line.cells.get(area)
    if cell is not None:
        return cell.state
    return UNASKED if area == _TIER2_AREA and _TIER2 not in line.row.node.tiers else OK


def picture(found: list[Line], shown: list[str], layout: Bands) -> Markup:
    """Return the grid as SVG, a path a state and row: each node would be too many elements."""
    rows = ["verdict", *shown]
    height = _HEAD + len(rows) * (_ROW + _GAP) + 6
    parts = [
        Markup('<svg class="grid" viewBox="0 0 {} {}" role="img" aria-label="{}" data-columns="{}"'
        ' data-band="{}" data-nodes="{}">').format(
            _LEFT + WIDTH, round(height * layout.count, 1), "nodes by areas",
            layout.columns, height, layout.nodes,
        )
    ]  # fmt: skip
    parts.append(_HATCH)
    names = [plain(line.row.name, 24) for line in found]
    for number, band in enumerate(layout.each()):
        parts.append(Markup('<g transform="translate({} {})">').format(_LEFT, number * height))
        parts.append(_head(names, band, layout.cell, height))
        parts += (_strip(found, band, k, area, layout) for k, area in enumerate(rows))
        parts.append(Markup("</g>"))
    return Markup("").join([*parts, Markup("</svg>")])


_LETTER = 7.0
"""How wide a letter of a label is at most, of the font that the page sets."""


def _head(names: list[str], band: range, cell: float, height: float) -> Markup:
    """Return the lines between racks, and the names at which they begin."""
    ticks = marks(names, band, cell)
    texts = (
        Markup('<text x="{}" y="11">{}</text>').format(mark.x, mark.label)
        for mark in ticks
        if mark.label and mark.x + _LETTER * len(mark.label) <= WIDTH
    )
    path = "".join(f"M{mark.x:g} 13V{height - 6:g}" for mark in ticks if mark.x)
    return Markup("").join([*texts, Markup('<path class="tick" d="{}"/>').format(path)])


def _strip(found: list[Line], band: range, position: int, area: str, layout: Bands) -> Markup:
    """Return one area of one band."""
    top = _HEAD + position * (_ROW + _GAP)
    width = round(len(band) * layout.cell, 2)
    states = [
        found[i].verdict if area == "verdict" else state_of(found[i], area) for i in band
    ]  # fmt: skip
    paths: dict[str, list[str]] = {}
    for state, start, length in runs(states):
        if state in _SHAPES:
            paths.setdefault(state, []).append(_box(state, start, length, top, layout.cell))
    drawn = [
        Markup('<path class="{}" d="{}"/>').format(state, "".join(boxes))
        for state, boxes in sorted(paths.items())
    ]
    label = Markup('<text class="area" x="-6" y="{}">{}</text>').format(top + 8, plain(area, 14))
    track = f'<path class="ok" d="M0 {top:g}h{width:g}v{_ROW:g}H0z"/>'
    return Markup("").join([label, Markup(track), *drawn])


def _box(state: str, start: int, length: int, top: float, cell: float) -> str:
    """Return the outline of some cells side by side."""
    above, part = _SHAPES[state]
    width = length * cell
    return f"M{start * cell:.4g} {top + above * _ROW:g}h{width:.4g}v{part * _ROW:g}h-{width:.4g}z"


def legend() -> Markup:
    """Return what the signs mean."""
    key = Markup('<span class="key"><b class="{0}">{1}</b> {2}</span>')
    return Markup(" ").join(key.format(state, SIGNS[state], WORDS[state]) for state in SIGNS)


def sign(state: str, count: int = 0) -> Markup:
    """Return a state as a sign, with how many there are of it; its meaning is its title."""
    number = f" {count}" if count > 1 else ""
    return Markup('<span class="{}" title="{}">{}{}</span>').format(
        state, WORDS[state], SIGNS[state], number
    )


def outcome(word: str) -> Markup:
    """Return the outcome of a check with its sign."""
    state = _OF_OUTCOME.get(word, UNKNOWN)
    return Markup('<span class="{}">{} {}</span>').format(state, SIGNS[state], plain(word, 20))
