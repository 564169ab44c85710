"""What like nodes should have in common and do not: software, host, NICs, and GPUs as parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import msgspec

from .alike import Groups, Vote, classes, groups, rounded, vote
from .digest import Digest, Gpu, Port
from .model import Cluster

_AMOUNTS = frozenset({"memlock", "shm", "memory"})
"""Values of the host that are bytes."""
_PASSING = re.compile(r" ?\bfree=\d+")
"""Huge pages that are free now are no setting."""
_IN_TREE = "in-tree"
COUNT = "gpu count"
_CLEAR = 2 / 3
"""From this share on the others lack a GPU; below it a cluster has two kinds of nodes."""

Class = tuple[list[str], Digest]
"""Nodes that are the same in what is compared."""


class Drift(msgspec.Struct, kw_only=True):
    """One value that not all nodes of a group have alike."""

    area: str
    """`software`, `host`, `nic` or `gpu`."""
    key: str
    group: str
    vote: Vote
    names: list[str] = []
    """The NICs or ports that it is about."""


class Hashes(msgspec.Struct, kw_only=True):
    """GPUs of one model with one software whose products do not have the same bits."""

    model: str
    software: str
    vote: Vote


def drift(cluster: Cluster, alike: Groups | None = None) -> list[Drift]:
    """Return all that drifts, the largest group of like nodes first."""
    alike = alike or groups(cluster)
    found = _counts(alike)
    for group, like in alike.items():
        software = classes(like, lambda digest: tuple(digest.software.items()))
        found += _values(group, "software", software, lambda digest: digest.software)
        hosts = classes(like, lambda digest: tuple(digest.host.items()))
        found += _values(group, "host", hosts, lambda digest: digest.host)
        found += _nics(group, classes(like, _of_ports))
        found += _gpus(group, classes(like, _of_gpus), len(like))
    return found


def _counts(alike: Groups) -> list[Drift]:
    """Return which nodes have another number of GPUs than most that have the same model.

    Such a node is compared with nobody, so that a GPU that it lost would not show elsewhere.
    """
    models: dict[str, list[tuple[list[str], str, str]]] = {}
    for like in alike.values():
        first = like[0][1]
        if first.gpus:
            those = [row.name for row, _ in like]
            models.setdefault(first.model, []).append((those, "", str(len(first.gpus))))
    spread = ((model, vote(values)) for model, values in sorted(models.items()))
    return [
        Drift(area="gpu", key=COUNT, group=model, vote=told)
        for model, told in spread
        if told is not None and told.majority and told.count >= _CLEAR * told.total
    ]


def _of_ports(digest: Digest) -> Hashable:
    """Return all that is compared of a node's ports."""
    return tuple([
        (p.name, p.hca, p.board, p.firmware, p.layer, p.rate, p.mtu, bool(p.aside))
        for p in digest.ports
    ])


def _of_gpus(digest: Digest) -> Hashable:
    """Return all that is compared of a node's GPUs as parts."""
    return tuple([
        (g.name, g.model, g.vbios, g.pcie_lanes, g.pcie_gts, g.memory_total) for g in digest.gpus
    ])


def _values(
    group: str, area: str, alike: list[Class], of: Callable[[Digest], dict[str, str]]
) -> Iterator[Drift]:
    """Compare what nodes tell by key."""
    for key in sorted({key for _, digest in alike for key in of(digest)}):
        for some in _comparable(key, alike):
            values = [(nodes, of(digest).get(key, "")) for nodes, digest in some]
            if len({value for _, value in values}) < 2:
                continue
            shown = _shown(key, values)
            spread = vote((nodes, "", shown[value]) for nodes, value in values)
            if spread is not None:
                yield Drift(area=area, key=key, group=group, vote=spread)


def _comparable(key: str, alike: list[Class]) -> Iterable[list[Class]]:
    """Return who is compared: a driver that comes with the kernel differs as the kernels do."""
    if key != "driver":
        return [alike]
    kernels: dict[str, list[Class]] = {}
    for nodes, digest in alike:
        software = digest.software
        of_kernel = software.get("driver_kind") == _IN_TREE or _IN_TREE in software.get(key, "")
        kernel = software.get("kernel", "") if of_kernel else ""
        kernels.setdefault(kernel, []).append((nodes, digest))
    return [kernels[kernel] for kernel in sorted(kernels)]


def _shown(key: str, values: list[tuple[list[str], str]]) -> dict[str, str]:
    """Return how each value is shown; what is shown alike counts as alike."""
    distinct = {value for _, value in values}
    if key not in _AMOUNTS:
        return {value: _PASSING.sub("", value) for value in distinct}
    amounts = rounded((float(v), len(nodes)) for nodes, v in values if _is_amount(v))
    return {v: gib(amounts[float(v)]) if _is_amount(v) else v for v in distinct}


def _is_amount(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) < 20


def gib(amount: float) -> str:
    """Return bytes as an operator reads them."""
    if amount >= 2**30:
        return f"{amount / 2**30:.1f} GiB"
    return f"{amount / 2**20:.1f} MiB" if amount >= 2**20 else f"{amount:.0f} B"


def _nics(group: str, alike: list[Class]) -> list[Drift]:
    """Compare NICs by name, and say once what several of a node have in common."""
    found: dict[bytes, Drift] = {}
    named = [(nodes, _devices(digest.ports)) for nodes, digest in alike]
    if len(named) < 2:
        return []
    for device in sorted({device for _, devices in named for device in devices}):
        those = [(nodes, devices[device]) for nodes, devices in named if device in devices]
        there = vote((nodes, "", "present" if device in ds else "") for nodes, ds in named)
        if there is not None:
            _add(found, Drift(area="nic", key="device", group=group, vote=there), device)
        for key, value, within in _OF_NIC:
            for some in _within(those, within):
                spread = vote((nodes, "", value(port)) for nodes, port in some)
                if spread is not None:
                    _add(found, Drift(area="nic", key=key, group=group, vote=spread), device)
    return list(found.values())


def _add(found: dict[bytes, Drift], one: Drift, device: str) -> None:
    """Keep a drift, or add its device to one that is about the same nodes and values."""
    camp = (one.key, one.vote.majority, one.vote.others)
    found.setdefault(msgspec.json.encode(camp), one).names.append(device)


def _devices(ports: list[Port]) -> dict[str, Port]:
    """Return ports by name; the first port of a device goes by the device's."""
    return {port.name.removesuffix(":1"): port for port in ports}


def _within(
    those: list[tuple[list[str], Port]], within: Callable[[Port], str | None]
) -> Iterable[list[tuple[list[str], Port]]]:
    """Return ports by what they must have in common to be compared; None is not compared."""
    alike: dict[str, list[tuple[list[str], Port]]] = {}
    for nodes, port in those:
        common = within(port)
        if common is not None:
            alike.setdefault(common, []).append((nodes, port))
    return [alike[common] for common in sorted(alike)]


def _training(port: Port) -> str | None:
    return None if port.aside else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


_OF_NIC: tuple[tuple[str, Callable[[Port], str], Callable[[Port], str | None]], ...] = (
    ("model", lambda port: port.hca, lambda port: ""),
    ("board", lambda port: port.board, lambda port: port.hca),
    ("firmware", lambda port: port.firmware, lambda port: f"{port.hca} {port.board}"),
    ("link layer", lambda port: port.layer, _training),
    ("rate (Gb/s)", lambda port: _number(port.rate), _training),
    ("MTU", lambda port: _number(port.mtu), _training),
)
"""A property of a NIC, how to tell it, and within what it is compared."""


def _gpus(group: str, alike: list[Class], size: int) -> Iterator[Drift]:
    """Compare GPUs of one model; where all nodes have the same at each place nothing drifts."""
    if len(alike) == 1 and size > 1:
        return
    for key, value in _OF_GPU:
        seen = [(nodes, gpu, value(gpu)) for nodes, digest in alike for gpu in digest.gpus]
        amounts = rounded((v, len(nodes)) for nodes, _, v in seen if isinstance(v, float))
        models: dict[str, list[tuple[list[str], str, str]]] = {}
        places: dict[str, set[str]] = {}
        for nodes, gpu, v in seen:
            text = gib(amounts[v]) if isinstance(v, float) else v
            models.setdefault(gpu.model, []).append((nodes, gpu.name, text))
            places.setdefault(gpu.name, set()).add(text)
        if size > 1 and all(len(texts) == 1 for texts in places.values()):
            continue
        for _, values in sorted(models.items()):
            spread = vote(values)
            if spread is not None:
                yield Drift(area="gpu", key=key, group=group, vote=spread)


def _total(gpu: Gpu) -> float | str:
    return "" if gpu.memory_total is None else float(gpu.memory_total)


_OF_GPU: tuple[tuple[str, Callable[[Gpu], float | str]], ...] = (
    ("PCIe lanes", lambda gpu: _number(gpu.pcie_lanes)),
    ("PCIe GT/s", lambda gpu: _number(gpu.pcie_gts)),
    ("memory", _total),
    ("VBIOS", lambda gpu: gpu.vbios),
)


def hashes(cluster: Cluster, alike: Groups | None = None) -> list[Hashes]:
    """Return where the same product on the same GPU with the same software has other bits."""
    same: dict[tuple[str, str], list[tuple[Sequence[str], str, str]]] = {}
    for like in (alike or groups(cluster)).values():
        for row, digest in like:
            told = digest.software
            software = ", ".join(f"{k} {told[k]}" for k in _COMPUTES if told.get(k))
            for gpu in digest.gpus:
                if gpu.hash:
                    key = (gpu.model, software)
                    same.setdefault(key, []).append(((row.name,), gpu.name, gpu.hash))
    spread = ((key, vote(values)) for key, values in sorted(same.items()))
    return [Hashes(model=m, software=s, vote=v) for (m, s), v in spread if v is not None]


_COMPUTES = ("torch", "runtime", "driver")
"""What, beside the GPU, decides which kernel is run and so which bits come out."""
