"""What a merge holds nodes to beside their own verdicts: as asked, else as the nodes were held."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from .model import Row

_OF_NODES = {
    "tool_warn_sec": "rocm_smi_warn_sec",
    "hbm_busy_threshold_gib": "hbm_busy_threshold_gib",
    "gpu_activity_warn_pct": "gpu_activity_warn_pct",
}
"""Limits that nodes were held to as well, with the name of their option."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a merge: seconds, GiB and percent as their names say."""

    clock_skew_warn_sec: float = 30.0
    tool_warn_sec: float = 1.0
    hbm_busy_threshold_gib: float = 2.0
    gpu_activity_warn_pct: float = 20.0
    fail_outliers: bool = False
    """Whether a number that is far off those of its peers is a FAIL of its node."""


def limits(
    asked: Mapping[str, float | None], rows: Iterable[Row], *, fail_outliers: bool = False
) -> Limits:
    """Return what was *asked*; where nothing was, what most of the nodes were held to."""
    known = {name: value for name, value in asked.items() if value is not None}
    counts: dict[str, Counter[float]] = {name: Counter() for name in _OF_NODES.keys() - known}
    for node in (row.node for row in rows if row.node is not None):
        for name, count in counts.items():
            option = node.options.get(_OF_NODES[name])
            value = option.value if option is not None else None
            if isinstance(value, int | float) and not isinstance(value, bool):
                count[_sane(value)] += 1
    told = {name: _commonest(count) for name, count in counts.items() if count}
    return Limits(**known, **told, fail_outliers=fail_outliers)


def _sane(value: float) -> float:
    """Return a limit that a result tells as a number to compare with, whatever it is."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _commonest(count: Counter[float]) -> float:
    """Return the commonest value, the strictest of several."""
    return min(count, key=lambda value: (-count[value], value))
