"""What `rocm-smi` prints on a healthy AMD node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .amd_node import BLOCKS, TOTAL_MB, Node

_RULE = "=" * 90


def rocm_smi(args: Sequence[str], **node: Any) -> str | None:
    """`rocm-smi ARGS`: what it prints, or None for what it does not know."""
    n, asked = Node(**node), [a for a in args if a != "--json"]
    if asked[:1] == ["--version"]:
        return rocm_smi_version(**node)
    if asked[:1] == ["--showpids"]:
        # The tool says it on stderr; the suite reads both together.
        none = "KFD Processes".center(90, "=") + "\nNo KFD PIDs currently running\n"
        return "WARNING: No JSON data to report\n" if "--json" in args else _framed(none)
    if asked[:1] == ["--showrasinfo"] and "--json" not in args:
        return _framed("\n".join(_ras(i) for i in range(n.count)) + "\n")
    if asked[:1] in (["--showtopotype"], ["--showtopo"]):
        return _linked(n, as_json="--json" in args)
    card = {
        "--showuse": lambda i: {"GPU use (%)": "0"},
        "--showbus": lambda i: {"PCI Bus": n.places[i].upper()},
        "--showmeminfo": lambda i: {
            "VRAM Total Memory (B)": str(TOTAL_MB[n.model] << 20),
            "VRAM Total Used Memory (B)": str(n.used_mb << 20),
        },
    }.get(asked[0] if asked else "")
    if card is None or "--json" not in args:
        return None
    return json.dumps({f"card{i}": card(i) for i in range(n.count)}) + "\n"


def _framed(text: str) -> str:
    title, end = " ROCm System Management Interface ", " End of ROCm SMI Log "
    return f"\n\n{title:=^90}\n{text}{_RULE}\n{end:=^90}\n"


def _ras(index: int) -> str:
    head = f"{'Block':>14}  {'Status':>11}  {'Correctable Error':>19}  {'Uncorrectable Error':>19}"
    counted = [f"{name:>14}  {'ENABLED':>11}  {0:>19}  {0:>19}" for name in BLOCKS[:4]]
    others = [f"{name:>14}  {'ENABLED':>11}" for name in BLOCKS[4:]]
    return "\n".join((f"GPU[{index}]:\t\tRAS INFO", head, *counted, *others, "_" * 90))


def _linked(n: Node, *, as_json: bool) -> str:
    kind = "XGMI" if n.xgmi else "PCIE"
    pairs = [(i, j) for i in range(n.count) for j in range(i + 1, n.count)]
    if as_json:
        key = "(Topology) Link type between DRM devices {} and {}"
        told = {"system": {key.format(*pair): kind for pair in pairs}}
        return json.dumps(told) + "\n" if pairs else "WARNING: No JSON data to report\n"
    lines = [" Link Type between two GPUs ".center(90, "="), " " * 6]
    lines[1] += "".join(f" GPU{i}".ljust(13) for i in range(n.count))
    for i in range(n.count):
        cells = "".join(("0" if i == j else kind).ljust(13) for j in range(n.count))
        lines.append(f"GPU{i}".ljust(7) + cells)
    return _framed("\n".join(lines) + "\n")


def rocm_smi_version(**node: Any) -> str:
    """`rocm-smi --version`."""
    lib = "7.7.0" if Node(**node).new else "7.5.0"
    return f"ROCM-SMI version: 3.0.0+ede62f2\nROCM-SMI-LIB version: {lib}\n"
