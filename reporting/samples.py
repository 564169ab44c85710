"""What one node's result tells of its GPUs' speed, by model; a result may hold anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .model import Check, Node

PER_GPU = {
    "performance.gemm_tflops": ("gemm-tflops-min", "TFLOPS"),
    "performance.hbm_gbs": ("hbm-gbs-min", "GB/s"),
    "performance.h2d_gbs": ("h2d-gbs-min", "GB/s"),
    "performance.d2h_gbs": ("d2h-gbs-min", "GB/s"),
}
TOGETHER = {
    "performance.all_reduce": ("all_reduce", "rccl_size_mb", 64.0),
    "performance.all_reduce_large": ("all_reduce_large", "rccl_large_size_mb", 1024.0),
}
"""Checks of all GPUs at once: their stage, the option with the size in MiB, the size else."""
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


def samples(node: Node, facts: Iterable[object]) -> list[Samples]:
    """Return what *node* reached, one entry for each model of GPU that it has."""
    known = [fact for fact in facts if isinstance(fact, dict)]
    models = _models(known)
    found: dict[str, Samples] = {}
    for device, (model, names) in sorted(models.items()):
        one = found.setdefault(model, Samples(node.name, node.ended, model, set(), set()))
        one.gpus.add(device)
        one.names |= names
    for check in node.checks:
        if check.id in PER_GPU and check.device in models:
            key, unit = PER_GPU[check.id]
            _take(found[models[check.device][0]].values.setdefault(key, []), node, check, unit)
    for one in found.values():
        one.software = _software(known)
        one.ports, one.rates = _ports(node, known)
        if len(found) == 1:
            _take_together(one, node, known)
    return list(found.values())


def _take(values: list[Value], node: Node, check: Check, unit: str) -> None:
    value = check.value
    if value is not None and math.isfinite(value) and 0 < value <= _LARGEST and check.unit == unit:
        values.append(Value(value, node.name, check.device))


def _take_together(one: Samples, node: Node, facts: list[dict[str, Any]]) -> None:
    for check in node.checks:
        if check.id in TOGETHER:
            shape = _shape(*TOGETHER[check.id], node, facts, len(one.gpus))
            if shape is not None:
                _take(one.together.setdefault(shape, []), node, check, "GB/s")
    one.together = {shape: values for shape, values in one.together.items() if values}


def _shape(
    stage: str, option: str, size: float, node: Node, facts: list[dict[str, Any]], gpus: int
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
            found[device] = (told.get(device) or bound[device], names)
    return found


def _ports(node: Node, facts: list[dict[str, Any]]) -> tuple[int | None, set[float | None]]:
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
