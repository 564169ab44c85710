"""A site's profile as text, from what its good nodes reached: the same input, the same bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from decimal import ROUND_FLOOR, Decimal
from statistics import median

from .expected import CannotMerge
from .model import utc
from .names import natural, plain
from .samples import PARTITIONS, PER_GPU, Samples, Value

PERCENTILE = 0.05
SIGMAS = 3.5
_MAD_TO_SIGMA = 1.4826
_LEAST_SIGMA = 0.01
"""Of the median: GPUs that are nearly all alike would make outliers of the rest."""
_LISTED = 8
_LONGEST = 1000
"""Of a line of text; no name and no source comes near it."""
_REGEX, _ESCAPED = re.compile(r"([.^$*+?{}\[\]\\|()])"), r"\\\1"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def proposal(found: list[Samples], run_id: str, margin: float, min_gpus: int) -> str:
    """Return the profile; CannotMerge when nothing at all was measured."""
    if not any(one.values or one.together for one in found):
        left = sum(one.unjudged + one.absurd for one in found)
        why = f" to go by ({_counted(left, 'value')} left out)" if left else ""
        raise CannotMerge(
            f"the good nodes hold no performance figure{why}: run them with --tier2-perf first"
        )
    writer = _Writer(found, run_id, margin, min_gpus)
    return "\n".join([*writer.head(), *writer.limits(), *writer.all_reduce()]) + "\n"


class _Writer:
    """Writes one proposal."""

    def __init__(self, found: list[Samples], run_id: str, margin: float, min_gpus: int) -> None:
        self._all, self._found = found, [one for one in found if one.gpus]
        self._run_id, self._margin = plain(run_id, 100), margin
        self._min_gpus = min_gpus
        newest = max((one.ended for one in found if math.isfinite(one.ended)), default=0.0)
        day = utc(newest)[:10]
        self._date = day if _DAY.fullmatch(day) else "1970-01-01"

    def head(self) -> Iterator[str]:
        """Say what this is, for which GPUs, and under which software it was measured."""
        model, names = self._found[0].model, set[str]().union(*(one.names for one in self._found))
        gpus = sum(len(one.gpus) for one in self._found)
        rest_on = f"{_counted(gpus, 'GPU')} of {_nodes(self._found)}"
        yield f"# Proposed from {rest_on}, run {self._run_id}. Each limit:"
        yield f"# the {100 * PERCENTILE:g}th percentile (nearest rank), without what lies more than"
        yield f"# {SIGMAS:g} robust sigmas below the median, less {self._margin:.3g} of it."
        yield from self._left_out()
        yield from self._software()
        yield "[profile]"
        yield f"name = {_quoted(plain(model, 100) or 'site')}"
        if pattern := _pattern(model, names):
            yield f"gpu = {_quoted(pattern)}"
        else:
            yield "# no line gpu: no line can hold the GPUs' name; these limits go for any GPU"

    def _left_out(self) -> Iterator[str]:
        """Say what did not count, and why."""
        if parts := sum(one.parts for one in self._all):
            how = ", ".join(("MIG", *PARTITIONS))
            yield f"# left out: {_counted(parts, 'part')} of GPUs ({how}),"
            yield "# and what the GPUs of their nodes reached together"
        if unjudged := sum(one.unjudged for one in self._all):
            yield f"# left out: {_counted(unjudged, 'value')} of checks that did not end well"
        if absurd := sum(one.absurd for one in self._all):
            yield f"# left out: {_counted(absurd, 'value')} above what any part can do"

    def _software(self) -> Iterator[str]:
        software = sorted(set[str]().union(*(one.software for one in self._found)), key=natural)
        for text in software[:_LISTED]:
            yield f"# {plain(text, 80)}"
        if len(software) > _LISTED:
            yield f"# and {len(software) - _LISTED} versions more"

    def limits(self) -> Iterator[str]:
        """Propose what each GPU, and the node, must reach."""
        yield from ("", "[limits]")
        for key, unit, _ in PER_GPU.values():
            values = [value for one in self._found for value in one.values.get(key, [])]
            yield from self._bar(key, values, len(values), unit)
        whole = [one for one in self._found if not one.parts]
        yield from self._agreed("expected-gpus", {len(one.gpus) for one in whole}, whole)
        yield from self._agreed("expected-rdma-nics", {one.ports for one in self._found})
        rates = set[float | None]().union(*(one.rates for one in self._found))
        yield from self._agreed("expected-rdma-rate-gbps", rates)

    def all_reduce(self) -> Iterator[str]:
        """Propose a row for each number of GPUs and size at which nodes were measured."""
        shapes = sorted({shape for one in self._found for shape in one.together})
        for gpus, size in shapes:
            values = [v for one in self._found for v in one.together.get((gpus, size), [])]
            what = f"all-reduce over {gpus} GPUs at {_digits(size)} MiB"
            rest_on = gpus * len({value.node for value in values})
            bar = list(self._bar("gbs-min", values, rest_on, "GB/s", what))
            if bar[-1].startswith("#"):
                yield from ("", *bar)
                continue
            yield from ("", "[[all_reduce]]", f"gpus = {gpus}", f"size-mib = {_digits(size)}", *bar)

    def _bar(
        self, key: str, values: list[Value], gpus: int, unit: str, what: str = ""
    ) -> Iterator[str]:
        """Propose one number, or say why there is none."""
        if gpus < self._min_gpus or not values:
            yield f"# too few GPUs for {what or key}: {gpus}, expected at least {self._min_gpus}"
            return
        kept, slow = split(values)
        middle = median(value.value for value in values)
        low = nearest_rank([value.value for value in kept])
        limit = round_down(low * (1 - self._margin))
        for value in slow[:_LISTED]:
            whose = " ".join(plain(x, 80) for x in (value.node, value.device) if x)
            yield f"# set aside for {what or key}: {whose} with {value.value:.4g} {unit}"
        rest = f"{_counted(len(values), 'value')} of " if len(values) != gpus else ""
        source = (
            f"{low:.4g} {unit} less {self._margin:.3g}: the {100 * PERCENTILE:g}th percentile of"
            f" {rest}{_counted(gpus, 'GPU')} in {_nodes(values)}, median {middle:.4g},"
            f" {len(slow)} set aside as slow, run {self._run_id}"
        )
        yield self._number(key, limit, source)

    def _agreed(
        self, key: str, told: set[float | None], nodes: list[Samples] | None = None
    ) -> Iterator[str]:
        """Expect what all nodes have alike; None is what a node does not tell."""
        if len(told) > 1:
            known = [_digits(value) for value in sorted(v for v in told if v is not None)]
            listed = ", ".join([*known[:_LISTED], *(["unknown"] if None in told else [])])
            yield f"# nodes differ in {key}: {listed}"
        for value in told if len(told) == 1 else ():
            if value is not None:
                source = f"alike on {_nodes(nodes or self._found)}, run {self._run_id}"
                yield self._number(key, _digits(value), source)

    def _number(self, key: str, value: str, source: str) -> str:
        inside = f"value = {value}, source = {_quoted(source)}, date = {_quoted(self._date)}"
        return f"{key} = {{ {inside} }}"


def split(values: list[Value]) -> tuple[list[Value], list[Value]]:
    """Return what counts, and what lies too far below the median; both from the slowest on."""
    middle = median(value.value for value in values)
    spread = median(abs(value.value - middle) for value in values) * _MAD_TO_SIGMA
    least = middle - SIGMAS * max(spread, _LEAST_SIGMA * middle)
    ordered = sorted(values)
    return [v for v in ordered if v.value >= least], [v for v in ordered if v.value < least]


def nearest_rank(ordered: list[float]) -> float:
    """Return the low percentile of values in order: one that was measured, the least of few."""
    return ordered[max(math.ceil(PERCENTILE * len(ordered)), 1) - 1]


def round_down(value: float) -> str:
    """Return *value* at three significant digits, never above it."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - 2)
    return f"{exact.quantize(step, ROUND_FLOOR).normalize():f}"


def _digits(value: float) -> str:
    return f"{Decimal(repr(float(value))).normalize():f}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _nodes(found: Iterable[Samples] | Iterable[Value]) -> str:
    return _counted(len({one.node for one in found}), "node")


def _quoted(text: str) -> str:
    """Return *text* as a TOML string: nothing in it can end it, or begin a line."""
    line = plain(text, _LONGEST)
    if "\\" in line and "'" not in line:
        return f"'{line}'"
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _pattern(model: str, names: set[str]) -> str:
    """Return what matches just these names; those that a line can't hold are left out."""
    fit = [name for name in sorted(names, key=lambda x: (x != model, x)) if plain(name) == name]
    pattern = ""
    for name in fit:
        longer = f"{pattern}|{_REGEX.sub(_ESCAPED, name)}".lstrip("|")
        pattern = longer if len(longer) <= _LONGEST else pattern
    return pattern
