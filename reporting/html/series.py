"""The numbers of all GPUs, one series a number, with what a healthy one of their kind has."""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from ..digest import Digest
from ..model import Cluster

TITLES = {
    "gemm_tflops": ("Matrix product", "TFLOPS"),
    "hbm_gbs": ("Memory bandwidth", "GB/s"),
    "h2d_gbs": ("Host to GPU", "GB/s"),
    "d2h_gbs": ("GPU to host", "GB/s"),
    "temperature_c": ("Temperature after the load", "°C"),
    "clock_mhz": ("Clock after the load", "MHz"),
    "power_w": ("Power after the load", "W"),
    "performance.all_reduce": ("All-reduce in the node", "GB/s"),
    "performance.all_reduce_large": ("All-reduce in the node, large", "GB/s"),
}
_OF_NODE = "performance."
"""How the numbers begin that a node has once; those of a GPU go by the rest of it."""
_HIGH_IS_WORSE = frozenset({"temperature_c"})
_LARGEST = 1e15
"""Nothing measures more; what a result makes up must not break the drawing."""
_MOST_GPUS, _MOST_SERIES = 64, 24
"""Of names that results may make up."""
_STEPS = (0.05, 0.10, 0.20)
"""How much worse than the median of its kind the levels above the lowest begin."""
_SAME = 0.02
_USUAL_SIGMAS = 2.5
_SIGMA_OF_MAD = 1.4826
ABSENT, BETTER, ALIKE, WORSE = range(4)
BELOW = WORSE + len(_STEPS) + 1
"""The level of what its own limit fails."""
LEVELS = (
    "no value",
    "better than its peers",
    "as its peers",
    "up to 5 % worse",
    "5 to 10 % worse",
    "10 to 20 % worse",
    "more than 20 % worse",
    "below its limit",
)


_Kinds = tuple[str, Digest | None]
"""What a node's GPUs are compared with, and what is known of it."""


class Group(msgspec.Struct):
    """GPUs of one kind: as many of one model in their nodes."""

    name: str
    values: list[tuple[int, float]] = []
    """The position in its node, and the value, of each GPU."""
    median: float = 0.0
    usual: float = _SAME
    """How far from the median, as a part of it, is nothing to speak of."""
    limit: float | None = None


class Series(msgspec.Struct):
    """One number: for each node, in the order of the rows, that of each GPU."""

    key: str
    title: str
    unit: str
    gpus: int
    values: list[list[float | None]]
    levels: list[bytes]
    groups: list[Group]
    counts: list[int]
    """How many values have each level."""

    @property
    def places(self) -> list[str]:
        """What the values of a node are of."""
        if self.key.startswith(_OF_NODE):
            return ["node"]
        return [f"gpu{k}" for k in range(self.gpus)]


def series(cluster: Cluster) -> list[Series]:
    """Return every number that any GPU has, those that are known best first."""
    digests = [(_kind(row.digest), row.digest) for row in cluster.rows]
    found = {key for _, digest in digests for key in _keys(digest)}
    known = [key for key in TITLES if key in found]
    others = sorted(found - {*known})
    return [_series(key, digests) for key in [*known, *others][:_MOST_SERIES]]


def _keys(digest: Digest | None) -> Iterator[str]:
    """Give the numbers that a node has: those of its GPUs, and those of tier 2 of all together."""
    if digest is not None:
        yield from (key for key in digest.values if key.startswith(_OF_NODE))
        for gpu in digest.gpus:
            yield from gpu.numbers


def _series(key: str, digests: list[_Kinds]) -> Series:
    """Return one number of all nodes."""
    title, unit = TITLES.get(key, (key, ""))
    values = [_values(key, digest) for _, digest in digests]
    groups = _groups(key, digests, values)
    levels = [
        bytes([_level(key, value, groups[kind]) if value is not None else ABSENT for value in row])
        for (kind, _), row in zip(digests, values, strict=True)
    ]
    joined = b"".join(levels)
    return Series(
        key, title, unit, max(map(len, values), default=0), values, levels,
        [groups[name] for name in sorted(groups)],
        [joined.count(level) for level in range(len(LEVELS))],
    )  # fmt: skip


def _values(key: str, digest: Digest | None) -> list[float | None]:
    """Return one number of one node's GPUs."""
    if digest is None:
        return []
    if key.startswith(_OF_NODE):
        found = [digest.values.get(key)]
    else:
        found = [gpu.numbers.get(key) for gpu in digest.gpus[:_MOST_GPUS]]
    return [v if v is not None and -_LARGEST < v < _LARGEST else None for v in found]


def _kind(digest: Digest | None) -> str:
    """Return what a node's GPUs are compared with."""
    return f"{digest.model} x {len(digest.gpus)}" if digest is not None else ""


def _groups(key: str, digests: list[_Kinds], values: list[list[float | None]]) -> dict[str, Group]:
    """Return the kinds of GPUs that have this number."""
    groups: dict[str, Group] = {}
    for (kind, digest), row in zip(digests, values, strict=True):
        known = [(i, value) for i, value in enumerate(row) if value is not None]
        if digest is None or not known:
            continue
        group = groups.setdefault(kind, Group(kind))
        group.values += known
        limit = digest.limits.get(key if key.startswith(_OF_NODE) else _OF_NODE + key)
        if limit is not None:
            group.limit = limit if group.limit is None else max(limit, group.limit)
    for group in groups.values():
        _measure(group)
    return groups


def _measure(group: Group) -> None:
    """Work out what is usual in a group: its median, and how far its values spread."""
    values = [value for _, value in group.values]
    group.median = median = statistics.median(values)
    if median > 0:
        mad = statistics.median([abs(value - median) for value in values])
        group.usual = max(_SAME, _USUAL_SIGMAS * _SIGMA_OF_MAD * mad / median)


def _level(key: str, value: float, group: Group) -> int:
    """Return how far a value is on the wrong side of what its kind has."""
    if group.limit is not None and value < group.limit:
        return BELOW
    off = 1 - value / group.median if group.median > 0 else 0.0
    if abs(off) <= group.usual:
        return ALIKE
    off = -off if key in _HIGH_IS_WORSE else off
    return BETTER if off < 0 else WORSE + bisect_left(_STEPS, off)


def summary(found: Series) -> str:
    """Return how many values have each level that is worth a look, in words."""
    values = sum(found.counts[1:])
    bad = [f"{n} {LEVELS[k]}" for k, n in enumerate(found.counts) if n and k > WORSE]
    return (
        f"{values} values; {', '.join(bad) or 'none is off those of its peers by more than 5 %'}."
    )


def worst(found: Series, names: list[str], most: int = 5) -> list[str]:
    """Return the values that are furthest off, in words: who does not see colours reads them."""
    bad = [
        (-level, names[row], gpu, found.values[row][gpu])
        for row, levels in enumerate(found.levels)
        for gpu, level in enumerate(levels)
        if level > WORSE
    ]
    sign = -1 if found.key in _HIGH_IS_WORSE else 1
    bad.sort(key=lambda item: (item[0], sign * (item[3] or 0.0), item[1], item[2]))
    of = "" if found.key.startswith(_OF_NODE) else " gpu{}"
    return [f"{name}{of.format(gpu)}: {value:.5g}" for _, name, gpu, value in bad[:most]]
