"""The sysfs and /proc of a healthy AMD node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .amd_node import TOTAL_MB, Node

_HIVE = 0x5A1E0000C0FFEE01
_LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max stack size            8388608              unlimited            bytes     \n"
    "Max open files            1048576              1048576              files     \n"
    "Max locked memory         unlimited            unlimited            bytes     \n"
)


def tree(root: Path, **node: Any) -> None:
    """Write below *root* what the system shows of the node that the tools' answers tell of."""
    n = Node(**node)
    _put(root, "sys/module/amdgpu/version", "6.14.14" if n.new else "6.10.5")
    _put(root, "sys/module/amdgpu/initstate", "live")
    _put(root, "proc/self/limits", _LIMITS.rstrip("\n"))
    (root / "dev/shm").mkdir(parents=True, exist_ok=True)
    _kfd(root, 0, cpu_cores_count=96, simd_count=0, location_id=0, domain=0, drm_render_minor=0)
    for index, place in enumerate(n.places):
        _device(root, n, index, place)
        domain, bus, rest = place.split(":")
        device, function = rest.split(".")
        _kfd(
            root,
            1 + index,
            cpu_cores_count=0,
            simd_count=1216 if n.xgmi else 416,
            location_id=int(bus, 16) << 8 | int(device, 16) << 3 | int(function),
            domain=int(domain, 16),
            drm_render_minor=128 + index,
            unique_id=int(n.serial(index), 16),
            hive_id=_HIVE if n.xgmi else 0,
        )


def _device(root: Path, n: Node, index: int, place: str) -> None:
    speed = f"{n.gts}.0 GT/s PCIe"
    files = {
        "vendor": "0x1002",
        "device": "0x74a1" if n.xgmi else "0x740f",
        "class": "0x120000" if n.xgmi else "0x038000",
        "current_link_speed": speed,
        "max_link_speed": speed,
        "current_link_width": "16",
        "max_link_width": "16",
        "mem_info_vram_used": str(n.used_mb << 20),
        "mem_info_vram_total": str(TOTAL_MB[n.model] << 20),
        "numa_node": str(2 * index // n.count),
        "unique_id": n.serial(index).removeprefix("0x").lower(),
    }
    if n.xgmi:
        files |= {"current_compute_partition": "SPX", "current_memory_partition": "NPS1"}
    for name, text in files.items():
        _put(root, f"sys/bus/pci/devices/{place}/{name}", text)


def _kfd(root: Path, number: int, **properties: int) -> None:
    lines = "\n".join(f"{name} {value}" for name, value in properties.items())
    _put(root, f"sys/class/kfd/kfd/topology/nodes/{number}/properties", lines)


def _put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")
