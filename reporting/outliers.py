"""Numbers that are far off those of like nodes: each GPU against its peers, not against a limit.

Healthy GPUs differ by several per cent, so a bare percentage calls many of them sick. The spread is
told by the median absolute deviation, which the outliers themselves do not move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from .alike import Groups, groups
from .digest import Digest
from .model import Cluster, Kind, Row

SIGMAS, OFF, PEERS = 3.5, 0.05, 8
"""How far off is too far: robust sigmas and a share of the median, among so many others."""
_MAD_TO_SIGMA = 1.4826
"""For a normal distribution."""


class Measure(msgspec.Struct, frozen=True):
    """One number that nodes are compared by."""

    name: str
    title: str
    unit: str
    hot: bool = False
    """Whether it is bad to be above the others."""


PER_GPU = (
    Measure("gemm_tflops", "GEMM", "TFLOPS"),
    Measure("hbm_gbs", "HBM", "GB/s"),
    Measure("h2d_gbs", "host to device", "GB/s"),
    Measure("d2h_gbs", "device to host", "GB/s"),
    Measure("clock_mhz", "clock after load", "MHz"),
    Measure("temperature_c", "temperature after load", "°C", hot=True),
)
PER_NODE = (
    Measure("performance.all_reduce", "all-reduce", "GB/s"),
    Measure("performance.all_reduce_large", "all-reduce, large", "GB/s"),
)
RATE = Measure("rate", "link rate", "Gb/s")


class Outlier(msgspec.Struct, kw_only=True):
    """One number that is too far off, and what its peers reach."""

    node: str
    device: str
    name: str
    title: str
    value: float
    unit: str
    median: float
    peers: int
    """How many others it was compared with."""
    sigmas: float | None
    """None where more than half of the peers are exactly at the median: any gap is infinite."""
    group: str

    @property
    def off(self) -> float:
        """How far off it is, as a share of the median."""
        return abs(self.value - self.median) / self.median


Values = Callable[[], Iterable[tuple[str, str, float]]]
"""Numbers with node and device: named again only when one of them is far off."""


def outliers(cluster: Cluster, alike: Groups | None = None) -> list[Outlier]:
    """Return what is far off its peers, on the slow side or the hot one."""
    found: list[Outlier] = []
    for group, like in (alike or groups(cluster)).items():
        for measure in PER_GPU:
            numbers = [
                value
                for _, digest in like
                for gpu in digest.gpus
                if (value := gpu.numbers.get(measure.name)) is not None
            ]
            found += _far(group, measure, numbers, partial(_of_gpus, measure, like))
        for measure in PER_NODE:
            told = ((r.name, d.values.get(measure.name)) for r, d in like)
            values = [(name, "", value) for name, value in told if value is not None]
            found += _far(group, measure, [v for _, _, v in values], partial(iter, values))
        rates = [p.rate for _, d in like for p in d.ports if p.rate is not None and not p.aside]
        found += _far(group, RATE, rates, partial(_of_ports, like))
    return found


def _of_gpus(measure: Measure, like: list[tuple[Row, Digest]]) -> Iterator[tuple[str, str, float]]:
    """Return one number of each GPU that has it."""
    for row, digest in like:
        for gpu in digest.gpus:
            value = gpu.numbers.get(measure.name)
            if value is not None:
                yield row.name, gpu.name, value


def _of_ports(like: list[tuple[Row, Digest]]) -> Iterator[tuple[str, str, float]]:
    """Return the rate of each port that trains."""
    for row, digest in like:
        for port in digest.ports:
            if port.rate is not None and not port.aside:
                yield row.name, port.name, port.rate


def _far(group: str, measure: Measure, numbers: list[float], named: Values) -> Iterator[Outlier]:
    """Yield those of *numbers* that are too far off."""
    peers = len(numbers) - 1
    if peers < PEERS:
        return
    ordered = sorted(numbers)
    median = middle(ordered)
    sign = 1 if measure.hot else -1
    worst = max(sign * (ordered[0] - median), sign * (ordered[-1] - median))
    if median <= 0 or worst <= OFF * median:
        return
    sigma = _MAD_TO_SIGMA * middle(sorted([abs(value - median) for value in ordered]))
    for node, device, value in named():
        gap = sign * (value - median)
        if gap > OFF * median and gap > SIGMAS * sigma:
            yield Outlier(
                node=node,
                device=device,
                name=measure.name,
                title=measure.title,
                value=value,
                unit=measure.unit,
                median=median,
                peers=peers,
                sigmas=gap / sigma if sigma else None,
                group=group,
            )


def middle(ordered: list[float]) -> float:
    """Return the median of values in order."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def message(outlier: Outlier) -> str:
    """Return one outlier as a reason: value, median and number of peers."""
    where = f"{outlier.device}: " if outlier.device else ""
    side = "above" if outlier.value > outlier.median else "below"
    return (
        f"{where}{outlier.title} is {outlier.value:.4g} {outlier.unit}, {100 * outlier.off:.1f} %"
        f" {side} the median of {outlier.median:.4g} {outlier.unit} of {outlier.peers} peers"
        f" ({outlier.group})"
    )


def fail(cluster: Cluster, found: list[Outlier]) -> None:
    """Make each outlier a FAIL of its node, as asked by --fail-outliers."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        reasons.setdefault(one.node, []).append(f"{message(one)} (--fail-outliers)")
    for row in cluster.rows:
        if row.name in reasons:
            row.reasons = [*row.reasons, *reasons[row.name]]
            row.kind = Kind.FAIL if row.kind in {Kind.PASS, Kind.PARTIAL} else row.kind
