"""The sysfs of healthy RDMA ports: RoCE of three makers, a bond, InfiniBand and EFA."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from fixtures.facts.network import PortName

IB, NET = "sys/class/infiniband", "sys/class/net"
_V1, _V2 = "IB/RoCE v1", "RoCE v2"


@dataclass(frozen=True)
class Kind:
    """What ports of one kind look like; `{n}` is the number of the device."""

    device: str
    netdev: str = ""
    layer: str = "Ethernet"
    rate: str = "400 Gb/sec (4X NDR)"
    about: dict[str, str] = field(default_factory=dict)
    types: tuple[str, ...] = (_V1, _V2)
    legs: int = 0


KINDS = {
    "mlx5": Kind("mlx5_{n}", "eth{n}", about={"fw_ver": "28.41.1000", "hca_type": "MT4129"}),
    "bnxt_re": Kind(
        "bnxt_re{n}", "ens{n}np0", about={"fw_ver": "232.0.155.5", "hca_type": "BCM57608"}
    ),
    "ionic": Kind(
        "ionic_{n}",
        "benic{n}p1",
        about={"fw_ver": "1.117.1-a-63", "hca_type": "AMD Pensando RoCE HCA"},
        types=(_V2,),
    ),
    "infiniband": Kind(
        "mlx5_{n}",
        "ib{n}",
        "InfiniBand",
        about={"fw_ver": "28.41.1000", "hca_type": "MT4129", "board_id": "MT_0000000838"},
    ),
    "efa": Kind(
        "rdmap{n}s27",
        layer="Unknown",
        rate="100 Gb/sec (4X EDR)",
        about={"fw_ver": "0.0.0.0", "node_type": "4: unspecified"},
    ),
    "bond": Kind(
        "mlx5_bond_{n}",
        "enp{n}s0f0np0",
        rate="200 Gb/sec (2X NDR)",
        about={"fw_ver": "32.38.3056", "hca_type": "MT41692"},
        legs=2,
    ),
}
COUNTERS = ("symbol_error", "link_downed", "port_rcv_errors", "local_link_integrity_errors")


def tree(root: Path, kind: str = "mlx5", count: int = 8, *, entries: int = 16) -> list[PortName]:
    """Write *count* healthy ports of that *kind* below *root*, with GID tables of that length."""
    k = KINDS[kind]
    names = []
    for n in range(count):
        device = k.device.format(n=n)
        _device(root, k, n, device)
        _gids(root / IB / device / "ports/1", k, n, entries)
        if k.netdev:
            _netdev(root, k, n, device)
        names.append(PortName(device=device, port="1"))
    return names


def put(root: Path, path: str, text: str) -> None:
    """Write one file of the tree, as sysfs ends it."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{text}\n")


def down(root: Path, device: str, *, phys: str = "3: Disabled", admin_up: bool = True) -> None:
    """Take a port down: its link is lost, or an administrator did it."""
    put(root, f"{IB}/{device}/ports/1/state", "1: DOWN")
    put(root, f"{IB}/{device}/ports/1/phys_state", phys)
    put(root, f"{IB}/{device}/ports/1/rate", "40 Gb/sec (4X QDR)")
    folder = root / IB / device / "device/net"
    for netdev in sorted(folder.iterdir()) if folder.is_dir() else ():
        put(root, f"{NET}/{netdev.name}/flags", "0x1003" if admin_up else "0x1002")
        put(root, f"{NET}/{netdev.name}/carrier", "0")
        put(root, f"{NET}/{netdev.name}/operstate", "down")


def _device(root: Path, k: Kind, n: int, device: str) -> None:
    place = root / f"sys/devices/pci0000:{n:02x}/0000:{n:02x}:00.0"
    place.mkdir(parents=True)
    put(place, "numa_node", "0")
    link = root / IB / device / "device"
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(place, link.parent))
    for name, text in k.about.items():
        put(root, f"{IB}/{device}/{name}", text)
    port = f"{IB}/{device}/ports/1"
    put(root, f"{port}/state", "4: ACTIVE")
    put(root, f"{port}/phys_state", "5: LinkUp")
    put(root, f"{port}/rate", k.rate)
    put(root, f"{port}/link_layer", k.layer)
    for name in COUNTERS if k.layer != "Unknown" else ():
        put(root, f"{port}/counters/{name}", "0")


def _gids(port: Path, k: Kind, n: int, entries: int) -> None:
    local = f"fe80:0000:0000:0000:0200:00ff:fe00:{n + 1:04x}"
    routable = f"0000:0000:0000:0000:0000:ffff:0a07:{n + 1:04x}"
    filled = [(local, of_type) for of_type in k.types]
    if k.layer == "Ethernet":
        filled += [(routable, of_type) for of_type in k.types]
    elif k.layer == "InfiniBand":
        filled = [(local, _V1)]
    else:
        filled = [(local, "")]
    for index in range(entries):
        value, of_type = filled[index] if index < len(filled) else (":".join(["0000"] * 8), "")
        put(port, f"gids/{index}", value)
        if of_type:
            put(port, f"gid_attrs/types/{index}", of_type)


def _netdev(root: Path, k: Kind, n: int, device: str) -> None:
    first = k.netdev.format(n=n)
    (root / IB / device / "device/net" / first).mkdir(parents=True)
    names = [first, *(first.replace("f0np0", f"f{m}np{m}") for m in range(1, k.legs))]
    for name in names:
        for file, text in (("flags", "0x1003"), ("carrier", "1"), ("operstate", "up")):
            put(root, f"{NET}/{name}/{file}", text)
        put(root, f"{NET}/{name}/mtu", "9000")
    if k.legs:
        bond = f"{NET}/bond{n}"
        put(root, f"{bond}/flags", "0x1403")
        put(root, f"{bond}/mtu", "9000")
        put(root, f"{bond}/bonding/slaves", " ".join(names))
        put(root, f"{bond}/bonding/mode", "802.3ad 4")
        put(root, f"{bond}/bonding/ad_num_ports", str(len(names)))
