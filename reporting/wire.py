"""What is read of a result's text: the facts that a digest keeps, as the node wrote them.

Fields and kinds that are not named here may be anything. A field of the wrong type refuses the
document, and so does a whole number that no memory, port or counter can reach.
"""

from __future__ import annotations

from typing import Annotated, Any, Union

import msgspec

from .model import Check, Header

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
NO_OPTIONS = msgspec.Raw(b"{}")


class _Fact(msgspec.Struct, tag_field="fact", gc=False):
    """A fact: its kind stands in its field `fact`."""


class Kind(msgspec.Struct, gc=False):
    """As much of a fact as says what it is about."""

    fact: str


class Device(msgspec.Struct, gc=False):
    """A GPU of the inventory."""

    name: str
    address: str = ""
    uuid: str = ""


class Inventory(_Fact, tag="inventory", gc=False):
    """Which GPUs the node is expected to have."""

    devices: list[Device] = []


class Torch(_Fact, tag="torch", gc=False):
    """The torch that was imported."""

    version: str = ""
    runtime: str = ""


class StageValues(msgspec.Struct, frozen=True, gc=False):
    """Of all that stages measure: what the runtime calls the GPU, its memory, its product."""

    name: str | None = None
    total: Whole | None = None
    hash: str | None = None


class Stage(_Fact, tag="stage", gc=False):
    """One step of one GPU."""

    device: str
    stage: str
    values: StageValues = StageValues()


class DescriptionValues(msgspec.Struct, frozen=True, gc=False):
    """Of all that a vendor's tool tells of a GPU: what it is."""

    model: str = ""
    vbios: str = ""
    uuid: str = ""


class Description(_Fact, tag="description", gc=False):
    """What a GPU is."""

    device: str = ""
    values: DescriptionValues = DescriptionValues()


class MemoryInUse(_Fact, tag="memory_in_use", gc=False):
    """A GPU's memory, in bytes."""

    device: str = ""
    used: Whole | None = None
    total: Whole | None = None
    moment: str = ""


class Activity(_Fact, tag="activity", gc=False):
    """How busy a GPU is, in percent."""

    device: str = ""
    percent: float | None = None
    moment: str = ""


class PcieLink(_Fact, tag="pcie_link", gc=False):
    """A GPU's link now: lanes, GT/s, and whether it may run slower since the GPU idles."""

    device: str = ""
    source: str = ""
    width: Whole | None = None
    speed: float | None = None
    parked: bool | None = None
    moment: str = ""


class SensorValues(msgspec.Struct, frozen=True, gc=False):
    """Of all that vendors' tools tell of a GPU's state: what is compared among GPUs."""

    temperature_hotspot_c: float | None = None
    temperature_gpu_c: float | None = None
    temperature_edge_c: float | None = None
    clock_sm_mhz: float | None = None
    clock_gfx_mhz: float | None = None
    power_w: float | None = None


class Sensors(_Fact, tag="sensors", gc=False):
    """A GPU's sensors by name."""

    device: str = ""
    values: SensorValues = SensorValues()
    moment: str = ""


class Software(_Fact, tag="software", gc=False):
    """Versions by name, as the host or a vendor's tool tells them."""

    vendor: str = ""
    values: dict[str, str] = {}


class Tools(_Fact, tag="tools", gc=False):
    """Where the vendors' tools are."""

    paths: dict[str, str] = {}
    expected: list[str] = []


class HostLimit(_Fact, tag="host_limit", gc=False):
    """A limit of the host; -1 is none."""

    name: str
    value: Whole | None = None


class HostSetting(_Fact, tag="host_setting", gc=False):
    """A setting of the host in its own words."""

    name: str
    value: str | None = None


class Cpus(_Fact, tag="cpus", gc=False):
    """How many CPUs there are."""

    present: Whole | None = None
    online: Whole | None = None


class Clock(_Fact, tag="clock", gc=False):
    """The wall clock at one moment of the run."""

    wall: float
    at: float = 0.0
    synchronised: bool | None = None


class TimeDaemons(_Fact, tag="time_daemons", gc=False):
    """Who keeps the clock."""

    running: list[str] | None = None


class Netdev(msgspec.Struct, gc=False):
    """A network interface, or a bond."""

    mtu: Whole | None = None


class RdmaPort(_Fact, tag="rdma_port", gc=False):
    """An RDMA port."""

    device: str
    port: str = ""
    link_layer: str = ""
    rate: float | None = None
    netdevs: list[Netdev] = []
    bond: Netdev | None = None
    firmware: str = ""
    hca_type: str = ""
    board_id: str = ""


class KernelEvent(_Fact, tag="kernel_event", gc=False):
    """A kind of event in the kernel's log."""

    kind: str
    severity: str
    device: str = ""
    code: Whole | None = None
    count: Whole = 1
    means: str = ""


WANTED: dict[str, type[_Fact]] = {
    str(struct.__struct_config__.tag): struct
    for struct in (
        Inventory,
        Torch,
        Stage,
        Description,
        MemoryInUse,
        Activity,
        PcieLink,
        Sensors,
        Software,
        Tools,
        HostLimit,
        HostSetting,
        Cpus,
        Clock,
        TimeDaemons,
        RdmaPort,
        KernelEvent,
    )
}
"""What is kept, by its kind."""
PASSED_OVER = (
    "acs", "all_reduce", "call", "counters", "end", "errors", "fabric", "gpudirect", "iommu",
    "job_environment", "kernel_log", "links", "listing", "mode", "nearest_nic", "peers", "probe",
    "processes", "rdma_counters", "rdma_stack", "recovery", "repairs", "run", "throttle",
)  # fmt: skip
"""The other kinds of today: a result that has yet others is as good, and takes longer to read."""

_Other = [
    msgspec.defstruct(f"Other{number}", [], tag=kind, tag_field="fact", gc=False)
    for number, kind in enumerate(PASSED_OVER)
]
_Known: Any = Union[(*WANTED.values(), *_Other)]


class _Told(Header, frozen=True, kw_only=True, gc=False):
    """The object `node`; options are left as they are written, most nodes have the same."""

    checks: list[Check]
    options: msgspec.Raw = NO_OPTIONS


class Told(_Told, frozen=True, kw_only=True, gc=False):
    """The object `node` of a result of today, whose facts are all of known kinds."""

    facts: list[_Known] = msgspec.field(default_factory=list)


class ToldOtherwise(_Told, frozen=True, kw_only=True, gc=False):
    """The object `node` of any result, with its facts still as they were written."""

    facts: list[msgspec.Raw] = msgspec.field(default_factory=list)


class Document(msgspec.Struct, gc=False):
    """A result file of today."""

    node: Told


class AnyDocument(msgspec.Struct, gc=False):
    """A result file."""

    node: ToldOtherwise
