"""Facts of a healthy node with H200s, and the faults that are planted in them.

The facts are those that the real suite recorded on a recorded vendor's node and in a rehearsal;
what no machine without GPUs can tell (how fast they are, what their sums come to) is put in here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Fact = dict[str, Any]

MODEL, MEMORY = "NVIDIA H200", 150_109_880_320
VALUES: dict[str, dict[str, Any]] = {
    "bind": {"name": MODEL, "visible": 1},
    "memory": {"total": MEMORY, "free": MEMORY - 2**29},
    "allocate": {"bytes": 2**28},
    "gemm": {"size": 2048},
    "exact_product": {"size": 4096},
    "memory_pattern": {"bytes": 2**32},
    "gemm_tflops": {"tflops": 770.0, "size": 8192, "seconds": 0.00143, "spread": 0.01},
    "hbm_gbs": {"gbs": 3950.0, "gbs_512": 3950.0, "bytes": 2**31, "spread": 0.004},
    "reproducible": {"size": 4096, "hash": "5f0a9c5e1e2b77d4"},
    "whole_memory": {"bytes": 149_500_000_000},
    "copies_together": {"h2d_gbs": 41.0, "d2h_gbs": 43.0, "bytes": 2**28, "near": True},
    "copies_alone": {"h2d_gbs": 55.3, "d2h_gbs": 56.1, "bytes": 2**28, "near": True},
    "all_reduce": {"bytes": 2**26, "bus_gbs": 331.0, "algorithm_gbs": 189.1, "spread": 0.02},
    "all_reduce_large": {"bytes": 2**30, "bus_gbs": 452.0, "algorithm_gbs": 258.3, "spread": 0.01},
}
_SETTINGS = {
    "governor": "performance",
    "clocksource": "tsc",
    "numa_nodes": "2",
    "numa_balancing": "0",
    "hugepages": "0",
    "thp": "madvise",
}
_HOST = {
    "kernel": "6.8.0-60-generic",
    "os": "Ubuntu 24.04.2 LTS",
    "nccl": "2.28.9",
    "bios_version": "2.4.1",
}


def healthy(recorded: list[Fact], rehearsed: list[Fact]) -> list[Fact]:
    """Return the facts of a node on which everything is as it should be."""
    stages = [_measured(f) for f in rehearsed if f["fact"] == "stage"]
    together = [dict(f, backend="nccl") for f in rehearsed if f["fact"] == "all_reduce"]
    kept = [f for f in recorded if f["fact"] not in {"stage", "all_reduce", "end"}]
    made = [_settled(f) for f in kept]
    return [*made, *stages, *together, {"fact": "end", "at": 55.0}]


def _measured(stage: Fact) -> Fact:
    values = {**stage.get("values", {}), **VALUES.get(stage["stage"], {})}
    return {**stage, "values": values}


def _settled(fact: Fact) -> Fact:
    """Return a fact as a machine of today tells it that is no recorded tree."""
    kind = fact["fact"]
    if kind == "torch":
        return {**fact, "version": "2.9.1+cu130", "runtime": "CUDA 13.0"}
    if kind == "software" and fact["vendor"] == "host":
        return {**fact, "values": {**fact["values"], **_HOST}}
    if kind == "cpus":
        return {"fact": kind, "at": 0.2, "present": 192, "online": 192, "affinity": 192}
    if kind == "host_setting" and fact["name"] in _SETTINGS:
        return {"fact": kind, "name": fact["name"], "value": _SETTINGS[fact["name"]]}
    if kind == "clock":
        return {**{k: v for k, v in fact.items() if k != "message"}, "synchronised": True}
    if kind == "time_daemons":
        return {"fact": kind, "at": 0.2, "running": ["chronyd"]}
    if kind == "nearest_nic":
        nic = f"mlx5_{fact['device'].removeprefix('gpu')}"
        return {"fact": kind, "device": fact["device"], "nic": nic, "distance": "PIX"}
    if kind == "gpudirect":
        return {"fact": kind, "vendor": fact["vendor"], "peer_memory": True, "dma_buf": True}
    if kind == "iommu":
        return {"fact": kind, "units": [], "domains": fact.get("domains", {})}
    if kind == "sensors" and fact.get("moment") == "after":
        load = {"temperature_gpu_c": 61.0, "temperature_memory_c": 68.0, "power_w": 512.0}
        return {**fact, "values": {**fact["values"], **load, "clock_sm_mhz": 1755.0}}
    return fact


Fault = Callable[[list[Fact]], None]


def _change(kind: str, change: Callable[[Fact], None], **which: Any) -> Fault:
    """Return a fault that changes all facts of a kind that have these fields."""

    def plant(facts: list[Fact]) -> None:
        found = [f for f in facts if f["fact"] == kind and which.items() <= f.items()]
        if not found:
            raise LookupError(f"no fact {kind} with {which}")
        for fact in found:
            change(fact)

    return plant


def _hang(facts: list[Fact]) -> None:
    """Let gpu3 hang where it is bound; nothing that comes after is reached."""
    for fact in facts:
        if fact["fact"] == "stage" and fact["device"] == "gpu3":
            fact.update(outcome="not_reached", message="bind hung", values={})
            if fact["stage"] == "bind":
                why = "no answer in 15 s (--per-gpu-timeout-sec)"
                fact.update(outcome="hung", message=why, stuck={"pid": 4711, "state": "D"})
        elif fact["fact"] == "all_reduce":
            fact["message"] = "not tried, since gpu3 failed before"


def _event(facts: list[Fact]) -> None:
    facts.insert(-1, {
        "fact": "kernel_event", "kind": "xid", "severity": "fail", "area": "gpu", "code": 79,
        "device": "0000:1b:00.0", "count": 1, "first": "2026-12-01 09:00:00",
        "last": "2026-12-01 09:00:00", "means": "GPU has fallen off the bus",
        "sample": "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
        "remedy": "power-cycle the node",
    })  # fmt: skip


def _values(**values: Any) -> Callable[[Fact], None]:
    return lambda fact: fact["values"].update(values)


FAULTS: dict[str, Fault] = {
    "hung": _hang,
    "slow": _change("stage", _values(tflops=699.0), stage="gemm_tflops", device="gpu5"),
    "too-slow": _change("stage", _values(gbs=1411.0), stage="hbm_gbs", device="gpu0"),
    "port-down": _change(
        "rdma_port", lambda f: f.update(state="DOWN", phys_state="Polling"), device="mlx5_2"
    ),
    "busy": _change(
        "memory_in_use", lambda f: f.update(used=9 * 2**30), device="gpu1"
    ),
    "ecc": _change("errors", lambda f: f.update(uncorrectable=3), device="gpu6"),
    "other-hash": _change(
        "stage", _values(hash="5f0a9c5e1e2b77d5"), stage="reproducible", device="gpu7"
    ),
    "other-firmware": _change(
        "rdma_port", lambda f: f.update(firmware="28.39.1002"), device="mlx5_4"
    ),
    "other-kernel": _change("software", _values(kernel="6.8.0-55-generic"), vendor="host"),
    "narrow": _change("pcie_link", lambda f: f.update(width=8), device="gpu2"),
    "xid": _event,
    "no-clock": _change("clock", lambda f: f.update(synchronised=False)),
}  # fmt: skip


def with_fault(facts: list[Fact], name: str) -> list[Fact]:
    """Return *facts* with the fault of this name."""
    changed = copy.deepcopy(facts)
    FAULTS[name](changed)
    return changed
