"""What tier 2 measured, node by node."""

from __future__ import annotations

from ..digest import Digest
from ..model import Row
from ..outliers import PER_GPU, PER_NODE, Measure, middle
from .base import Section
from .view import MOST_ROWS, View, number, rank, shown, table

_MEASURES = PER_GPU[:4]
_NAMES = frozenset(measure.name for measure in _MEASURES)
_SHORT = {"host to device": "H2D", "device to host": "D2H", "all-reduce": "RCCL"}


def summary(view: View) -> Section:
    """Return each node's numbers; of more nodes than can be read those with the slowest GPUs."""
    heading = "Tier 2 perf summary"
    rows = [(row, digest) for row, digest in view.rows if _has(digest)]
    if not rows:
        return Section(heading=heading, omitted=True)
    lines = [line for kind, like in view.found.groups.items() for line in _kind(kind, like)]
    if len(rows) > MOST_ROWS:
        rows.sort(key=lambda pair: _slowest(pair[1]))
        lines.append("Nodes with the slowest GEMM come first.")
    names = [f"{_SHORT.get(m.title, m.title)} {m.unit} min/med/max" for m in _MEASURES]
    names += ["RCCL GB/s", "RCCL large GB/s"]
    cells = [[rank(row), shown(row), *_cells(digest)] for row, digest in rows[:MOST_ROWS]]
    section = table(heading, lines, ["Node", "Hostname", *names], cells)
    section.cut = max(0, len(rows) - MOST_ROWS)
    return section


def _has(digest: Digest) -> bool:
    """Tell whether a node has any number of tier 2."""
    together = any(measure.name in digest.values for measure in PER_NODE)
    return together or any(not _NAMES.isdisjoint(gpu.numbers) for gpu in digest.gpus)


def _of(measure: Measure, digest: Digest) -> list[float]:
    return sorted(gpu.numbers[measure.name] for gpu in digest.gpus if measure.name in gpu.numbers)


def _slowest(digest: Digest) -> float:
    name = _MEASURES[0].name
    return min([gpu.numbers[name] for gpu in digest.gpus if name in gpu.numbers], default=0.0)


def _cells(digest: Digest) -> list[str]:
    """Return one node's numbers."""
    cells = [_three(_of(measure, digest)) for measure in _MEASURES]
    together = [digest.values.get(measure.name) for measure in PER_NODE]
    return cells + [number(value) if value is not None else "-" for value in together]


def _three(values: list[float]) -> str:
    """Return the least, the median and the most of values in order."""
    if not values:
        return "-"
    return " / ".join(map(number, (values[0], middle(values), values[-1])))


def _kind(kind: str, like: list[tuple[Row, Digest]]) -> list[str]:
    """Return what the GPUs of one kind of nodes reach."""
    told = []
    for measure in _MEASURES:
        name = measure.name
        told_by = [gpu.numbers for _, digest in like for gpu in digest.gpus]
        values = sorted([numbers[name] for numbers in told_by if name in numbers])
        if values:
            told.append(f"{measure.title} {_three(values)} {measure.unit} ({len(values)})")
    if not told:
        return []
    return [f"{kind}, least / median / most of all GPUs: {'; '.join(told)}."]
