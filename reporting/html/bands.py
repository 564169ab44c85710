"""Where a node stands in the pictures: the same place in all, so that patterns can be compared.

A row of ten thousand nodes is broken into bands, as a text is into lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

WIDTH = 1200
"""Of each picture, in units that the page scales to what room there is."""
_FEWEST_COLUMNS = 100
_LABEL_WIDTH = 90


class Bands(msgspec.Struct, frozen=True):
    """How many nodes there are, and how many stand side by side."""

    nodes: int
    columns: int

    @property
    def count(self) -> int:
        """How many bands there are."""
        return -(-self.nodes // self.columns)

    @property
    def cell(self) -> float:
        """The width of a node."""
        return WIDTH / self.columns

    def each(self) -> Iterator[range]:
        """Give the nodes of each band."""
        for start in range(0, self.nodes, self.columns):
            yield range(start, min(start + self.columns, self.nodes))


def bands(nodes: int) -> Bands:
    """Return the bands that show *nodes* on about one screen."""
    return Bands(nodes, max(_FEWEST_COLUMNS, math.ceil(8 * math.sqrt(nodes))))


class Mark(msgspec.Struct, frozen=True):
    """A line between two groups of names, with the name that begins there where it has room."""

    x: float
    label: str


def marks(names: list[str], band: range, cell: float) -> list[Mark]:
    """Return where in a band the names begin to differ in more than their last number."""
    found: list[Mark] = []
    room, prefix = 0.0, None
    for position, index in enumerate(band):
        own = names[index].rstrip("0123456789")
        if own == prefix:
            continue
        x = position * cell
        label = names[index] if x >= room else ""
        room = x + _LABEL_WIDTH if label else room
        prefix = own
        found.append(Mark(round(x, 2), label))
    return found if len(found) <= len(band) // 2 + 1 else found[:1]


def runs(states: list[str]) -> Iterator[tuple[str, int, int]]:
    """Give each state with where it begins and how long it stays the same."""
    start = 0
    for end in range(1, len(states) + 1):
        if end == len(states) or states[end] != states[start]:
            yield states[start], start, end - start
            start = end
