"""What the report needs of a node's facts: a result without all that is as it should be.

Ten thousand results do not fit into memory, and need not: what is compared among nodes, and what
was found, is a few kilobytes a node. Unknown numbers are None, unknown words are empty.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from .model import Check

_MOST_SHARED = 1024
"""So many different values are kept to be shared by the nodes that have them."""
_first: dict[bytes, Any] = {}
_written = msgspec.msgpack.Encoder().encode
_T = TypeVar("_T")


class Gpu(msgspec.Struct, gc=False):
    """One GPU; `numbers` are what tier 2 and the sensors told of it, by name.

    `gemm_tflops`, `hbm_gbs`, `h2d_gbs`, `d2h_gbs` as their checks recorded them; `temperature_c`,
    `clock_mhz`, `power_w` as they were right after the load (only then: idle ones say nothing).
    """

    name: str
    address: str = ""
    uuid: str = ""
    model: str = ""
    vbios: str = ""
    memory_total: int | None = None
    memory_used: int | None = None
    """Bytes, before anything of ours touched it."""
    activity: float | None = None
    pcie_lanes: int | None = None
    pcie_gts: float | None = None
    hash: str = ""
    """Of the product that must have the same bits on the same GPU with the same software."""
    numbers: dict[str, float] = {}


class Port(msgspec.Struct, gc=False):
    """One RDMA port, named `mlx5_0:1`; `aside` is why it does not train, empty for one that does.

    `aside` is known from the N/A of its checks: `excluded by NCCL_IB_HCA=…`, `set aside: …`.
    """

    name: str
    aside: str = ""
    layer: str = ""
    rate: float | None = None
    mtu: int | None = None
    firmware: str = ""
    hca: str = ""
    board: str = ""


class Event(msgspec.Struct, gc=False):
    """A kind of event in the kernel's log, as the node classified it."""

    kind: str
    severity: str
    device: str = ""
    count: int = 1
    means: str = ""
    code: int | None = None


class Digest(msgspec.Struct, gc=False):
    """One node's facts and findings, reduced to what a report says or compares."""

    findings: list[Check] = []
    """Every check that is neither PASS nor N/A."""
    counts: dict[str, int] = {}
    """How many checks ended in each outcome, and `checks` in all."""
    values: dict[str, float] = {}
    """Numbers of the node as a whole, by check id: `tools.answer`, `performance.all_reduce`, …"""
    limits: dict[str, float] = {}
    """The limits that the numbers of tier 2 were held to, by check id."""
    software: dict[str, str] = {}
    """The fingerprint: kernel, os, python, torch, runtime, driver, rocm, cuda, nccl, …"""
    host: dict[str, str] = {}
    """What is compared among hosts: numa_nodes, cpus, governor, memlock, shm, nofile, thp, …"""
    gpus: list[Gpu] = []
    ports: list[Port] = []
    events: list[Event] = []
    tools: dict[str, bool] = {}
    """Which of the vendors' tools that are expected there are in PATH."""
    wall: float | None = None
    """The node's clock (Unix seconds), `wall_at` seconds after its run began."""
    wall_at: float = 0.0
    synchronised: bool | None = None
    daemons: list[str] | None = None
    """The time daemons that run; None when that can't be told."""

    @property
    def model(self) -> str:
        """What its GPUs are: the group of like nodes is by this and their number."""
        return " + ".join(sorted({gpu.model for gpu in self.gpus if gpu.model})) or "unknown GPU"


def share(digest: Digest) -> None:
    """Let nodes that are alike have the same objects: these travel once, and are kept once."""
    digest.counts = _shared(digest.counts)
    digest.limits = _shared(digest.limits)
    digest.software = _shared(digest.software)
    digest.host = _shared(digest.host)
    digest.ports = _shared(digest.ports)
    digest.tools = _shared(digest.tools)


def _shared(made: _T) -> _T:
    """Return what was made first of all that is the same as *made*; nobody changes either."""
    text = _written(made)
    if len(_first) < _MOST_SHARED:
        return cast("_T", _first.setdefault(text, made))
    return cast("_T", _first.get(text, made))
