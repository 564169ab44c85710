"""What one node's result tells of its GPUs' speed, by model; a result may hold anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .model import Check, Result

PER_GPU = {
    "performance.gemm_tflops": ("gemm-tflops-min", "TFLOPS", 20_000.0),
    "performance.hbm_gbs": ("hbm-gbs-min", "GB/s", 50_000.0),
    "performance.h2d_gbs": ("h2d-gbs-min", "GB/s", 1_000.0),
    "performance.d2h_gbs": ("d2h-gbs-min", "GB/s", 1_000.0),
}
"""Checks of one GPU: their limit, its unit, and the most that any part could do."""
TOGETHER = {
    "performance.all_reduce": ("all_reduce", "rccl_size_mb", 64.0),
    "performance.all_reduce_large": ("all_reduce_large", "rccl_large_size_mb", 1024.0),
}
"""Checks of all GPUs at once: their stage, the option with the size in MiB, the size else."""
_MOST_TOGETHER = 10_000.0
_MEASURED = frozenset({"PASS", "WARN", "N/A"})
"""N/A is a figure too: that of a limit that was set to 0."""
PARTITIONS = ("DPX", "TPX", "QPX", "CPX")
"""How an AMD GPU may be cut; SPX is a whole one."""
_MIG = " MIG "
_LARGEST = 1e9

Fact = Mapping[str, Any]


class Value(msgspec.Struct, frozen=True, order=True):
    """One figure, and whose it is."""

    value: float
    node: str
    device: str


class Samples(msgspec.Struct):
    """What was measured on the GPUs of one model in one node."""

    node: str
    ended: float
    model: str
    names: set[str]
    """What torch and the vendor's tool call the model."""
    gpus: set[str]
    values: dict[str, list[Value]] = {}
    together: dict[tuple[int, float], list[Value]] = {}
    """Bus bandwidths by number of GPUs and MiB."""
    ports: int | None = None
    rates: set[float | None] = set()
    software: set[str] = set()
    parts: int = 0
    """How many parts of GPUs were left out: less is right for them."""
    unjudged: int = 0
    """How many figures were left out since their check did not end well."""
    absurd: int = 0
    """How many figures were left out since no part could reach them."""

    def take(self, values: list[Value], check: Check, unit: str, most: float) -> None:
        """Add a check's figure to *values*, or count that it is none to go by."""
        value = check.value
        if value is None or not value > 0 or check.unit != unit:  # NaN is not above 0 either
            return
        if check.outcome not in _MEASURED:
            self.unjudged += 1
        elif value > most:
            self.absurd += 1
        else:
            values.append(Value(value, self.node, check.device))


def samples(node: Result, facts: Iterable[object]) -> list[Samples]:
    """Return what *node* reached, one entry for each model of GPU that it has."""
    known = [fact for fact in facts if isinstance(fact, dict)]
    models = _models(known)
    parts = _parts(known, models)
    found: dict[str, Samples] = {}
    for device, (model, names) in sorted(models.items()):
        one = found.setdefault(model, Samples(node.name, node.ended, model, set(), set()))
        if device in parts:
            one.parts += 1
            continue
        one.gpus.add(device)
        one.names |= names
    whole = {device: found[models[device][0]] for device in models.keys() - parts}
    _take_each(whole, node)
    for one in found.values():
        one.software = _software(known)
        one.ports, one.rates = _ports(node, known)
        if len(found) == 1 and not parts:
            _take_together(one, node, known)
    return list(found.values())


def _take_each(whole: dict[str, Samples], node: Result) -> None:
    for check in node.checks:
        if check.id in PER_GPU and check.device in whole:
            key, unit, most = PER_GPU[check.id]
            one = whole[check.device]
            one.take(one.values.setdefault(key, []), check, unit, most)
    for one in whole.values():
        one.values = {key: values for key, values in one.values.items() if values}


def _take_together(one: Samples, node: Result, facts: list[dict[str, Any]]) -> None:
    for check in node.checks:
        if check.id in TOGETHER:
            shape = _shape(*TOGETHER[check.id], node, facts, len(one.gpus))
            if shape is not None:
                one.take(one.together.setdefault(shape, []), check, "GB/s", _MOST_TOGETHER)
    one.together = {shape: values for shape, values in one.together.items() if values}


def _shape(
    stage: str, option: str, size: float, node: Result, facts: list[dict[str, Any]], gpus: int
) -> tuple[int, float] | None:
    """Return over how many GPUs, and at how many MiB, an all-reduce was measured."""
    if option in node.options:
        size = _number(node.options[option].value) or size
    for fact in facts:
        if fact.get("fact") == "stage" and fact.get("stage") == stage:
            told = _table(fact, "values")
            gpus = int(_number(told.get("ranks")) or gpus)
            size = _number(told.get("bytes"), 2**50) / 2**20 or size
            break
    return (gpus, float(size)) if gpus >= 2 and size >= 2**-20 else None


def _models(facts: list[dict[str, Any]]) -> dict[str, tuple[str, set[str]]]:
    """Return each GPU's model, the vendor's tool's word before torch's, and all its names."""
    told: dict[str, str] = {}
    bound: dict[str, str] = {}
    for fact in facts:
        device, values = fact.get("device"), _table(fact, "values")
        if not isinstance(device, str):
            continue
        if fact.get("fact") == "description" and _text(values.get("model")):
            told[device] = _text(values.get("model"))
        elif fact.get("fact") == "stage" and fact.get("stage") == "bind":
            bound[device] = _text(values.get("name"))
    found = {}
    for device in told.keys() | bound.keys():
        names = {name for name in (told.get(device), bound.get(device)) if name}
        if names:
            model = told.get(device) or bound[device]
            found[device] = (model.partition(_MIG)[0], names)
    return found


def _parts(facts: list[dict[str, Any]], models: dict[str, tuple[str, set[str]]]) -> set[str]:
    """Return the GPUs that are no whole ones, by what their mode says, else by their name."""
    told: dict[str, list[dict[str, Any]]] = {device: [] for device in models}
    for fact in facts:
        device = fact.get("device")
        if fact.get("fact") == "mode" and isinstance(device, str) and device in told:
            told[device].append(fact)
    cut = any(_is_cut(mode) for modes in told.values() for mode in modes)
    found = set()
    for device, modes in told.items():
        mig = {mode.get("mig") for mode in modes if isinstance(mode.get("mig"), bool)}
        silent = not any(_text(mode.get("compute")) for mode in modes)
        named = any(_MIG in name for name in models[device][1])
        # amd-smi tells the partition of a GPU's first part alone, and N/A for the others.
        unsaid = silent and (cut or (named and not mig))
        if True in mig or any(map(_is_cut, modes)) or unsaid:
            found.add(device)
    return found


def _is_cut(mode: Fact) -> bool:
    return _text(mode.get("compute")).upper() in PARTITIONS


def _ports(node: Result, facts: list[dict[str, Any]]) -> tuple[int | None, set[float | None]]:
    """Return how many RDMA ports train and are up, and at which rates; None when none is known."""
    up = {c.device for c in node.checks if c.id == "rdma.port_state" and c.outcome == "PASS"}
    rates: set[float | None] = set()
    for fact in facts:
        name = f"{fact.get('device')}-p{fact.get('port')}"
        if fact.get("fact") == "rdma_port" and name in up:
            rates.add(_number(fact.get("rate")) or None)
    return len(up) or None, rates


def _software(facts: list[dict[str, Any]]) -> set[str]:
    """Return the versions of driver, its libraries and torch, as `driver 570.1`."""
    found = set()
    for fact in facts:
        if fact.get("fact") == "software":
            values = _table(fact, "values")
            found |= {f"{k} {_text(values.get(k))}" for k in ("driver", "cuda", "rocm")}
        elif fact.get("fact") == "torch":
            found.add(f"torch {_text(fact.get('version'))}")
    return {text for text in found if not text.endswith(" ")}


def _table(fact: Fact, key: str) -> dict[str, Any]:
    value = fact.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _number(value: object, largest: float = _LARGEST) -> float:
    """Return *value* as a number above 0; 0 when it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0 < value <= largest else 0.0
