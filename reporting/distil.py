"""A result's checks and facts into its digest; what is alike on many nodes is kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import intern
from typing import Any

import msgspec

from . import wire
from .digest import Digest, Event, Gpu, Port, share
from .model import Check, coverage

_AFTER = "after"
"""The moment of what was seen when the load was over."""
_PERFORMANCE = "performance."
_PER_GPU = {
    f"{_PERFORMANCE}{name}": name for name in ("gemm_tflops", "hbm_gbs", "h2d_gbs", "d2h_gbs")
}
_SENSORS = (
    ("temperature_c", "temperature_hotspot_c"),
    ("temperature_c", "temperature_gpu_c"),
    ("temperature_c", "temperature_edge_c"),
    ("clock_mhz", "clock_sm_mhz"),
    ("clock_mhz", "clock_gfx_mhz"),
    ("power_w", "power_w"),
)
"""Numbers, each with the names of what vendors' tools tell, the best one first."""
_SAME = {"nvidia_driver": "driver", "nvidia_driver_kind": "driver_kind", "amdgpu_driver": "driver"}
"""What the host calls what the vendor's tool tells as well: one of them is enough."""
_PASSING = ("free_tmp", "free_dump")
"""Limits that are the space of a moment, not a setting of the host."""
_UNLIMITED = -1
_MOST = 4096
_TOLD_STAGES = frozenset({"bind", "memory", "reproducible"})

_NO_COUNTS = coverage(())


class Unreadable(ValueError):
    """A fact is not what it should be; the message names it."""


class _Gpus(dict[str, Gpu]):
    """GPUs by name, made when they are new; what is none is made and not kept."""

    def __missing__(self, name: str) -> Gpu:
        made = Gpu(intern(name))
        if name.startswith("gpu"):
            self[name] = made
        return made


class _Ports(dict[str, Port]):
    """Ports by name, made when they are new."""

    def __missing__(self, name: str) -> Port:
        made = self[name] = Port(intern(name))
        return made


class _Distiller:
    """One digest in the making."""

    __slots__ = ("by_tool", "digest", "gpus", "ports")

    def __init__(self) -> None:
        self.digest = Digest()
        self.gpus = _Gpus()
        self.ports = _Ports()
        self.by_tool: set[str] = set()


def distil(checks: list[Check], facts: Iterable[Any]) -> Digest:
    """Return what is kept of a node; Unreadable when it tells of more than a node can have."""
    made = _Distiller()
    for fact in facts:
        if (keep := _KEEP.get(type(fact))) is not None:
            keep(made, fact)
    _look(made, checks)
    digest = made.digest
    digest.gpus = list(made.gpus.values())
    digest.ports = list(made.ports.values())
    _merge_software(digest, made.by_tool)
    share(digest)
    most = max(len(digest.gpus), len(digest.ports), len(digest.events))
    if most > _MOST:
        raise Unreadable(f"{most} GPUs, ports or kernel events, expected at most {_MOST}")
    return digest


def wanted(facts: Iterable[msgspec.Raw]) -> list[object]:
    """Return the facts that a digest wants; Unreadable when one is not what it should be."""
    found: list[object] = []
    for text in facts:
        kind = "?"
        try:
            kind = _kind.decode(text).fact
            if kind in _decoders:
                found.append(_decoders[kind].decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unreadable(f"{error} (in the fact {kind})") from error
    return found


def _inventory(made: _Distiller, told: wire.Inventory) -> None:
    for device in told.devices:
        gpu = made.gpus[device.name]
        gpu.address, gpu.uuid = intern(device.address), device.uuid


def _torch(made: _Distiller, told: wire.Torch) -> None:
    for name, value in (("torch", told.version), ("runtime", told.runtime)):
        if value:
            made.digest.software[name] = intern(value)


def _stage(made: _Distiller, told: wire.Stage) -> None:
    stage = told.stage
    if stage not in _TOLD_STAGES:
        return
    gpu, values = made.gpus[told.device], told.values
    if stage == "bind" and values.name and not gpu.model:
        gpu.model = intern(values.name)
    elif stage == "memory" and gpu.memory_total is None:
        gpu.memory_total = values.total
    elif stage == "reproducible" and values.hash:
        gpu.hash = intern(values.hash)


def _description(made: _Distiller, told: wire.Description) -> None:
    gpu, values = made.gpus[told.device], told.values
    gpu.model = intern(values.model) or gpu.model
    gpu.vbios = intern(values.vbios)
    gpu.uuid = gpu.uuid or values.uuid


def _memory(made: _Distiller, told: wire.MemoryInUse) -> None:
    if told.moment != _AFTER:
        gpu = made.gpus[told.device]
        gpu.memory_used = told.used
        gpu.memory_total = told.total if told.total is not None else gpu.memory_total


def _activity(made: _Distiller, told: wire.Activity) -> None:
    if told.moment != _AFTER:
        made.gpus[told.device].activity = told.percent


def _pcie(made: _Distiller, told: wire.PcieLink) -> None:
    """Keep a link as the kernel shows it before a tool's word, under load before idle."""
    gpu = made.gpus[told.device]
    better = told.source == "sysfs" or told.moment == _AFTER
    if told.width is not None and (better or gpu.pcie_lanes is None):
        gpu.pcie_lanes = told.width
    if told.speed is not None and not told.parked and (better or gpu.pcie_gts is None):
        gpu.pcie_gts = told.speed


def _sensors(made: _Distiller, told: wire.Sensors) -> None:
    if told.moment != _AFTER:
        return
    numbers, values = made.gpus[told.device].numbers, told.values
    for name, source in _SENSORS:
        value: float | None = getattr(values, source)
        if value is not None:
            numbers.setdefault(name, value)


def _software(made: _Distiller, told: wire.Software) -> None:
    of_tool = told.vendor != "host"
    for name, value in told.values.items():
        if value and (of_tool or name not in made.by_tool):
            made.digest.software[intern(name)] = intern(value)
        if of_tool:
            made.by_tool.add(name)


def _merge_software(digest: Digest, by_tool: set[str]) -> None:
    """Keep the driver once where host and tool both tell it."""
    for name, common in _SAME.items():
        value = digest.software.pop(name, "")
        if value and common not in by_tool:
            digest.software.setdefault(common, value)


def _tools(made: _Distiller, told: wire.Tools) -> None:
    made.digest.tools = {intern(name): bool(told.paths.get(name)) for name in told.expected}


def _limit(made: _Distiller, told: wire.HostLimit) -> None:
    if told.value is not None and told.name not in _PASSING:
        value = "unlimited" if told.value == _UNLIMITED else str(told.value)
        made.digest.host[intern(told.name)] = intern(value)


def _setting(made: _Distiller, told: wire.HostSetting) -> None:
    if told.value is not None:
        made.digest.host[intern(told.name)] = intern(told.value)


def _cpus(made: _Distiller, told: wire.Cpus) -> None:
    count = told.online if told.online is not None else told.present
    if count is not None:
        made.digest.host["cpus"] = intern(str(count))


def _clock(made: _Distiller, told: wire.Clock) -> None:
    made.digest.wall, made.digest.wall_at = told.wall, told.at
    made.digest.synchronised = told.synchronised


def _daemons(made: _Distiller, told: wire.TimeDaemons) -> None:
    running = told.running
    made.digest.daemons = None if running is None else [intern(name) for name in running]


def _port(made: _Distiller, told: wire.RdmaPort) -> None:
    port = made.ports[f"{told.device}:{told.port}" if told.port else told.device]
    port.layer, port.rate = intern(told.link_layer), told.rate
    port.firmware, port.hca = intern(told.firmware), intern(told.hca_type)
    port.board = intern(told.board_id)
    seen = [told.bond] if told.bond else told.netdevs
    port.mtu = next((netdev.mtu for netdev in seen if netdev.mtu is not None), None)


def _event(made: _Distiller, told: wire.KernelEvent) -> None:
    event = Event(
        kind=intern(told.kind),
        severity=intern(told.severity),
        device=intern(told.device),
        count=told.count,
        means=intern(told.means),
        code=told.code,
    )
    made.digest.events.append(event)


def _look(made: _Distiller, checks: list[Check]) -> None:
    """Keep what a digest wants of the checks: what they found, and what they measured.

    Nearly all of them passed: several short passes take less time than one that asks each for all.
    """
    others = [check for check in checks if check.outcome != "PASS"]
    made.digest.counts.update(_NO_COUNTS, checks=len(checks), PASS=len(checks) - len(others))
    _look_closer(made, others)
    numbers = [c for c in checks if c.value is not None and (not c.device or c.id in _PER_GPU)]
    for check in numbers:
        _measured(made, check)


def _look_closer(made: _Distiller, checks: list[Check]) -> None:
    """Keep what did not pass, and why a port does not train."""
    counts = made.digest.counts
    for check in checks:
        counts[check.outcome] += 1
        if check.outcome != "N/A":
            made.digest.findings.append(check)
        elif check.id == "rdma.port_state" and check.device:
            label = ":".join(check.device.rsplit("-p", 1))
            made.ports[label].aside = intern(check.message.removeprefix(f"{label}: "))


def _measured(made: _Distiller, check: Check) -> None:
    """Keep a number of the node, or one of tier 2, and what it was held to."""
    key, value, digest = check.id, check.value or 0.0, made.digest
    if key in _PER_GPU:
        made.gpus[check.device].numbers[_PER_GPU[key]] = value
    else:
        digest.values[intern(key)] = value
    if check.limit is not None and key not in digest.limits and key.startswith(_PERFORMANCE):
        digest.limits[intern(key)] = check.limit


_KEEP: dict[type, Callable[[_Distiller, Any], None]] = {
    wire.Inventory: _inventory,
    wire.Torch: _torch,
    wire.Stage: _stage,
    wire.Description: _description,
    wire.MemoryInUse: _memory,
    wire.Activity: _activity,
    wire.PcieLink: _pcie,
    wire.Sensors: _sensors,
    wire.Software: _software,
    wire.Tools: _tools,
    wire.HostLimit: _limit,
    wire.HostSetting: _setting,
    wire.Cpus: _cpus,
    wire.Clock: _clock,
    wire.TimeDaemons: _daemons,
    wire.RdmaPort: _port,
    wire.KernelEvent: _event,
}
_kind = msgspec.json.Decoder(wire.Kind)
_decoders = {kind: msgspec.json.Decoder(struct) for kind, struct in wire.WANTED.items()}
