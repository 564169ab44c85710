"""What a healthy NVIDIA node's tools print, made after a capture of two H200 with R580.

Every function takes the node as keywords: `count` (1..64), `driver` (`515.105.01`: throttle
reasons and no reset status; `535.183.01` and `550.54.15`: event reasons and reset status;
`580.159.04`: DTD v13 and recovery action), `model` (`NVIDIA H200`, or `NVIDIA L40S`: PCIe cards
without NVLink and fabric), `addresses` and `idle`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .nvidia_gpu import GPU
from .nvidia_node import CUDA, SPEEDS, Node

_MARK = re.compile(r"(.*?) @(\d*)-(\d*)")
_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""  # noqa: E501 (the tool's lines are as long)
_LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max stack size            8388608              unlimited            bytes     \n"
    "Max open files            1048576              1048576              files     \n"
    "Max locked memory         unlimited            unlimited            bytes     \n"
)


def query(**node: Any) -> str:
    """Print `nvidia-smi -q -x`."""
    n = Node(**node)
    dtd = 13 if n.branch >= 555 else 12 if n.branch >= 530 else 11
    cuda = CUDA.get(n.branch, "12.2")
    gpus = "".join(
        f'\t<gpu id="{_wide(place)}">\n{_gpu(n, i, place)}\t</gpu>\n\n'
        for i, place in enumerate(n.places)
    )
    return (
        f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v{dtd}.dtd">\n'
        "<nvidia_smi_log>\n\t<timestamp>Mon Nov 30 22:24:19 2026</timestamp>\n"
        f"\t<driver_version>{n.driver}</driver_version>\n\t<cuda_version>{cuda}</cuda_version>\n"
        f"\t<attached_gpus>{len(n.places)}</attached_gpus>\n{gpus}</nvidia_smi_log>\n"
    )


def _wide(place: str) -> str:
    domain, _, rest = place.partition(":")
    return f"{int(domain, 16):08X}:{rest.upper()}"


def _gpu(n: Node, index: int, place: str) -> str:
    part, used = n.part, 0 if n.idle else n.part.mib // 2
    domain, bus, slot = place.upper().partition(".")[0].split(":")
    fabric = ("N/A",) * 4
    if part.links:
        fabric = ("Completed", "Success", "0", "00000000-0000-0000-0000-000000000000")
    text = GPU.format(
        **{"model": n.model, "driver": n.driver, "architecture": part.architecture},
        **{"serial": 1650000000000 + index, "uuid": n.uuid(index), "minor": index},
        **{"domain": domain, "bus": bus, "slot": slot, "address": _wide(place)},
        **{"device": part.device, "generation": part.generation, "now": n.generation},
        **{"idle": "Active" if n.idle else "Not Active", "busy": 0 if n.idle else 97},
        **{"total": part.mib, "used": used, "free": part.mib - 616 - used, "watts": part.watts},
        state="P8" if n.idle and not part.links else "P0",
        clock=450 if n.idle else 1980,
        mig="Disabled" if part.links else "N/A",
        memory_temp="40 C" if part.links else "N/A",
        fabric=fabric,
        clocks=_clocks(),
    )
    xml = "".join(_xml([*_of_branch(text, n.branch)], 2))
    return xml if n.branch >= 535 else xml.replace("clocks_event_", "clocks_throttle_")


def _clocks() -> str:
    steps = "".join(f"    supported_graphics_clock: {mhz} MHz\n" for mhz in range(1980, 344, -15))
    return f"supported_clocks\n  supported_mem_clock\n    value: 3201 MHz\n{steps}".rstrip("\n")


def _of_branch(text: str, branch: int) -> Iterator[str]:
    """Yield the lines that a driver of this branch prints; with a line goes what is below it."""
    dropped: int | None = None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if dropped is not None and depth > dropped:
            continue
        match = _MARK.fullmatch(line)
        there = not match or int(match[2] or 0) <= branch <= int(match[3] or 9999)
        dropped = None if there else depth
        if there:
            yield match[1] if match else line


def _xml(lines: list[str], depth: int) -> Iterator[str]:
    """Yield the elements of indented `tag: text` lines, as the tool lays them out."""
    open_tags: list[str] = []
    for line in [*lines, ""]:
        level = (len(line) - len(line.lstrip())) // 2
        while len(open_tags) > level:
            tag = open_tags.pop()
            yield "\t" * (depth + len(open_tags)) + f"</{tag}>\n"
        tag, colon, text = line.strip().partition(":")
        if not tag:
            continue
        tabs, text = "\t" * (depth + level), text.strip()
        if colon and text and tag != "mig_devices":
            yield f"{tabs}<{tag}>{text}</{tag}>\n"
        elif colon:
            inside = f"{tabs}\t{text}\n" if text else ""
            yield f"{tabs}<{tag}>\n{inside}{tabs}</{tag}>\n"
        else:
            yield f"{tabs}<{tag}>\n"
            open_tags.append(tag)


def topo(**node: Any) -> str:
    """Print `nvidia-smi topo -m`."""
    n = Node(**node)
    names = [f"GPU{i}" for i in range(len(n.places))]
    trailer = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    header = "\t" + "\x1b[4m" + "\t".join([*names, *trailer]) + "\x1b[0m\n"
    rows = []
    for i, name in enumerate(names):
        cells = [_cell(n, i, j) for j in range(len(names))]
        numa = n.numa(i)
        rows.append("\t".join([name, *cells, f"{48 * numa}-{48 * numa + 47}", f"{numa}\t", "N/A"]))
    return header + "\n".join(rows) + "\n" + _LEGEND


def _cell(n: Node, i: int, j: int) -> str:
    if i == j:
        return " X "
    if n.part.links:
        return f"NV{n.part.links}"
    return "NODE" if n.numa(i) == n.numa(j) else "SYS"


def nvlink(**node: Any) -> str:
    """Print `nvidia-smi nvlink -s`; without NVLink there are no lines below the GPUs'."""
    n = Node(**node)
    links = "".join(f"\t Link {link}: 26.562 GB/s\n" for link in range(n.part.links))
    gpus = (f"GPU {i}: {n.model} (UUID: {n.uuid(i)})\n" for i in range(len(n.places)))
    return "".join(gpu + links for gpu in gpus)


def nvlink_errors(**node: Any) -> str:
    """Print `nvidia-smi nvlink -e`: no link has seen an error."""
    n = Node(**node)
    counters = ("Replay Errors", "Recovery Errors", "CRC Errors")
    links = "".join(
        "".join(f"\t Link {link}: {name}: 0\n" for name in counters) + "\n"
        for link in range(n.part.links)
    )
    gpus = (f"GPU {i}: {n.model} (UUID: {n.uuid(i)})\n" for i in range(len(n.places)))
    return "".join(gpu + links for gpu in gpus)


def version(**node: Any) -> str:
    """Print `nvidia-smi --version`."""
    n = Node(**node)
    nvml = n.driver.rpartition(".")[0]
    return (
        f"NVIDIA-SMI version  : {n.driver}\nNVML version        : {nvml}\n"
        f"DRIVER version      : {n.driver}\nCUDA Version        : {CUDA.get(n.branch, '12.2')}\n"
    )


def tree(root: Path, **node: Any) -> None:
    """Write below *root* what the system shows of the node that the tools' answers tell of."""
    n = Node(**node)
    _put(
        root / "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
        f"{n.driver}  Release Build  (builder@host)  \nGCC version:  gcc version 13.3.0 (GCC) \n",
    )
    _put(root / "proc/self/limits", _LIMITS)
    (root / "dev/shm").mkdir(parents=True, exist_ok=True)
    for index, place in enumerate(n.places):
        _device(root, n, index, place)
        text = (
            f"Model: \t\t {n.model}\nIRQ:   \t\t {41 + index}\nGPU UUID: \t {n.uuid(index)}\n"
            "Video BIOS: \t 96.00.a5.00.1a\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {place}\nDevice Minor: \t {index}\n"
            f"GPU Firmware: \t {n.driver}\nGPU Excluded:\t No\n"
        )
        _put(root / "proc/driver/nvidia/gpus" / place / "information", text)


def _device(root: Path, n: Node, index: int, place: str) -> None:
    files = {
        "vendor": "0x10de",
        "device": f"0x{n.part.device.lower()}",
        "class": "0x030200",
        "current_link_speed": f"{SPEEDS[n.generation]} GT/s PCIe",
        "max_link_speed": f"{SPEEDS[n.part.generation]} GT/s PCIe",
        "current_link_width": "16",
        "max_link_width": "16",
        "numa_node": str(n.numa(index)),
    }
    for name, text in files.items():
        _put(root / "sys/bus/pci/devices" / place / name, f"{text}\n")


def answer(argv: Sequence[str], **node: Any) -> str | None:
    """Return what the command *argv* prints, or None for one that no such tool knows."""
    tool, *args = argv
    printed = {
        ("-q", "-x"): query,
        ("topo", "-m"): topo,
        ("nvlink", "-s"): nvlink,
        ("nvlink", "-e"): nvlink_errors,
        ("--version",): version,
    }.get(tuple(args))
    return printed(**node) if printed and Path(tool).name == "nvidia-smi" else None


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
