"""What a healthy AMD node's tools print: text only, made after the tools' source and reports.

Every function takes the node as keywords: `count` (1..64), `version` (`6.4`: bare lists and the
old keys; `7.0`: `gpu_data`), `model` (`MI300X`, or `MI210`: PCIe cards without XGMI), `addresses`
and `used_mb`. `answer` finds the function for a command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .amd_node import BLOCKS, TOTAL_MB, Node
from .amd_rocm_smi import rocm_smi, rocm_smi_version
from .amd_tree import tree

__all__ = [
    "answer",
    "bad_pages",
    "list_",
    "lsof",
    "metric",
    "process",
    "rocm_smi",
    "rocm_smi_version",
    "static",
    "topology",
    "tree",
    "version",
]

_REASONS = ("prochot", "ppt", "socket_thermal", "vr_thermal", "hbm_thermal")
_ENGINES = tuple(
    f"{name}_accumulated"
    for name in (
        "gfx_clk_below_host_limit_power",
        "gfx_clk_below_host_limit_thermal",
        "total_gfx_clk_below_host_limit",
        "low_utilization",
    )
)
"""What ROCm 7 counts for each engine (XCC) of each partition (XCP)."""


def _unit(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit}


def _json(node: Node, records: list[dict[str, Any]], *, wrapped: bool = False) -> str:
    whole = {"gpu_data": records} if wrapped and node.new else records
    return json.dumps(whole, indent=4) + "\n"


def _text(records: Iterable[dict[str, Any]]) -> str:
    lines: list[str] = []
    for record in records:
        lines += [f"GPU: {record['gpu']}", *_indented(record, 1), ""]
    return "\n".join(lines) + "\n"


def _indented(block: dict[str, Any], depth: int) -> Iterable[str]:
    for key, value in block.items():
        if key == "gpu":
            continue
        if isinstance(value, dict) and "unit" not in value:
            yield f"{'    ' * depth}{key.upper()}:"
            yield from _indented(value, depth + 1)
        else:
            told = f"{value['value']} {value['unit']}" if isinstance(value, dict) else value
            if isinstance(value, list):
                told = f"[{', '.join(map(str, value))}]"
            yield f"{'    ' * depth}{key.upper()}: {re.sub(' C$', ' °C', str(told))}"


def _printed(node: Node, records: list[dict[str, Any]], text: bool, wrapped: bool = False) -> str:
    return _text(records) if text else _json(node, records, wrapped=wrapped)


def process(*, text: bool = False, **node: Any) -> str:
    """`amd-smi process [--json]`: nobody on any GPU."""
    n, idle = Node(**node), {"process_info": "No running processes detected"}
    told = idle if text else {"process_list": [idle]}
    return _printed(n, [{"gpu": i, **told} for i in range(n.count)], text)


def metric(*, text: bool = False, **node: Any) -> str:
    """`amd-smi metric [--json]`: idle, without an error."""
    n = Node(**node)
    return _printed(n, [_metric(n, i) for i in range(n.count)], text, wrapped=True)


def _metric(n: Node, index: int) -> dict[str, Any]:
    total = TOTAL_MB[n.model]
    unlike = "N/A" if n.xgmi else "UNTHROTTLED"
    busy = {"gfx_activity": _unit(0, "%"), "umc_activity": _unit(0, "%"), "mm_activity": "N/A"}
    clock = {"clk": _unit(132, "MHz"), "min_clk": _unit(500, "MHz"), "max_clk": _unit(2100, "MHz")}
    none = {f"{k}_count": 0 for k in ("total_correctable", "total_uncorrectable", "total_deferred")}
    memory = {"total": total, "used": n.used_mb, "free": total - n.used_mb}
    return {
        "gpu": index,
        "usage": busy,
        "power": {"socket_power": _unit(133, "W"), "throttle_status": unlike},
        "clock": {"gfx_0": clock, "mem_0": {"clk": _unit(900, "MHz")}},
        "temperature": {
            "edge": "N/A" if n.xgmi else _unit(36, "C"),
            "hotspot": _unit(42, "C"),
            "mem": _unit(35, "C"),
        },
        "pcie": _pcie(n),
        "ecc": none | {"cache_correctable_count": 0, "cache_uncorrectable_count": 0},
        "xgmi_err": "N/A",
        "mem_usage": {f"{name}_vram": _unit(value, "MB") for name, value in memory.items()},
        "throttle": _throttle(n, index),
    }


def _pcie(n: Node) -> dict[str, Any]:
    link = {"width": 16, "speed": _unit(n.gts, "GT/s"), "bandwidth": "N/A", "replay_count": 0}
    names = ("l0_to_recovery", "replay_roll_over", "nak_sent", "nak_received")
    counts = dict.fromkeys((f"{name}_count" for name in names), 0 if n.xgmi else "N/A")
    if n.xgmi:
        counts["l0_to_recovery_count"] = 1
    others = ("current_bandwidth_sent", "current_bandwidth_received", "max_packet_size")
    return link | counts | dict.fromkeys(others, "N/A")


def _throttle(n: Node, index: int) -> dict[str, Any]:
    """Tell for how many cycles of its firmware each reason held an MI300: older GPUs do not."""
    told: dict[str, Any] = {"accumulation_counter": 8213744 + index if n.xgmi else "N/A"}
    told |= {f"{name}_accumulated": 0 if n.xgmi else "N/A" for name in _REASONS}
    told["gfx_clk_below_host_limit_accumulated"] = "N/A"
    if n.new:
        engines = {"xcp_0": [0] * 8} if n.xgmi else "N/A"
        told |= dict.fromkeys(_ENGINES, engines)
    return told | {
        f"{name}_violation_status": "NOT ACTIVE" if n.xgmi else "N/A" for name in _REASONS
    }


def static(*, text: bool = False, partition: bool = False, **node: Any) -> str:
    """`amd-smi static [--partition] [--json]`; new tools tell partitions only when asked."""
    n = Node(**node)
    names = ("accelerator" if n.new else "compute"), "memory"
    modes = ("SPX", "NPS1") if n.xgmi else ("N/A", "N/A")
    parts = {f"{name}_partition": mode for name, mode in zip(names, modes, strict=True)}
    division = {"partition": parts | {"partition_id": 0}}
    records = [{"gpu": i, **({} if partition else _static(n, i))} for i in range(n.count)]
    if partition or not n.new:
        records = [record | division for record in records]
    return _printed(n, records, text, wrapped=True)


def _static(n: Node, index: int) -> dict[str, Any]:
    power = _unit(750 if n.xgmi else 300, "W")
    limit: dict[str, Any] = {"max_power": power, "socket_power": power}
    ras: dict[str, Any] = {"eeprom_version": "0x30000", "bad_page_threshold": 256}
    if n.new:
        limit = {"ppt0": {"max_power_limit": power, "socket_power_limit": power}}
        ras["bad_page_threshold_exceeded"] = "False"
    part = {"build_date": "2023/10/10 15:30", "part_number": "113-M3000100-102"}
    bios = {"name": "AMD MI300X_HW_SRIOV_CVS_1VF", **part, "version": "022.040.003.043.000001"}
    asic = {"market_name": f"AMD Instinct {n.model}", "vendor_id": "0x1002"}
    asic |= {"device_id": "0x74a1" if n.xgmi else "0x740f", "asic_serial": n.serial(index)}
    bus = {"bdf": n.places[index], "max_pcie_width": 16, "max_pcie_speed": _unit(n.gts, "GT/s")}
    return {
        "asic": asic,
        "bus": bus | {"slot_type": "OAM" if n.xgmi else "PCIE"},
        "ifwi" if n.new else "vbios": bios,
        "limit": limit,
        "driver": {"name": "amdgpu", "version": "6.14.14" if n.new else "6.10.5"},
        "board": {"model_number": "102-G30211-0C", "product_serial": f"69224000{index:04}"},
        "ras": ras | {"ecc_block_state": dict.fromkeys(BLOCKS, "ENABLED")},
    }


def topology(*, text: bool = False, **node: Any) -> str:
    """`amd-smi topology [--json]`: every pair alike."""
    n = Node(**node)
    if text:
        return _tables(n)
    records = [
        {"gpu": i, "bdf": own, "links": [_link(n, i, j) for j in range(n.count)]}
        for i, own in enumerate(n.places)
    ]
    return _json(n, records)


def _link(n: Node, i: int, j: int) -> dict[str, Any]:
    near = i == j or n.xgmi
    return {
        "gpu": j,
        "bdf": n.places[j],
        "weight": 0 if i == j else 15 if n.xgmi else 40,
        "link_status": "ENABLED",
        "link_type": "SELF" if i == j else "XGMI" if n.xgmi else "PCIE",
        "num_hops": 0 if i == j else 1 if n.xgmi else 2,
        "bandwidth": "50000-100000" if near and i != j else "N/A",
    }


def _tables(n: Node) -> str:
    names = {"ACCESS": "link_status", "WEIGHT": "weight", "HOPS": "num_hops"}
    lines = []
    for title, key in {**names, "LINK TYPE": "link_type", "NUMA BW": "bandwidth"}.items():
        lines += [f"{title} TABLE:", " " * 12 + "".join(f"{place:>13}" for place in n.places)]
        for i, place in enumerate(n.places):
            cells = "".join(str(_link(n, i, j)[key]).ljust(13) for j in range(n.count))
            lines.append(f"{place} {cells}".rstrip())
    return "\n".join(lines) + "\n\n\nLegend:\n  SELF = Current GPU\n  N/A = Not supported\n"


def bad_pages(*, text: bool = False, **node: Any) -> str:
    """`amd-smi bad-pages [--json]`: none."""
    n, kinds = Node(**node), ("retired", "pending", "un_res")
    none = dict.fromkeys(kinds, "No bad pages found.")
    return _printed(n, [{"gpu": i, **none} for i in range(n.count)], text)


def list_(*, text: bool = False, **node: Any) -> str:
    """`amd-smi list [--json]`."""
    n = Node(**node)
    records = [
        {"gpu": i, "bdf": place, "uuid": f"00ff74a1-0000-1000-8000-{i:012x}", "kfd_id": 48000 + i}
        for i, place in enumerate(n.places)
    ]
    return _printed(n, records, text)


def version(*, text: bool = False, **node: Any) -> str:
    """`amd-smi version [--json]`."""
    n = Node(**node)
    tool, rocm, driver = ("26.0.0", "7.0.0", "6.14.14") if n.new else ("25.3.0", "6.4.0", "6.10.5")
    if text:
        told = (
            f"AMDSMI Tool: {tool}+ede62f2 | AMDSMI Library version: {tool} | ROCm version: {rocm}"
        )
        return f"{told} | amdgpu version: {driver} | amd_hsmp version: N/A\n"
    words = {"tool": "AMDSMI Tool", "version": f"{tool}+ede62f2", "amdsmi_library_version": tool}
    return _json(n, [words | {"rocm_version": rocm, "amdgpu_version": driver}])


def lsof(**_: Any) -> str:
    """`lsof -Fpcn -- FILES`: nobody has them open (and its exit status is then 1)."""
    return ""


def answer(argv: Sequence[str], **node: Any) -> str | None:
    """Return what the command *argv* prints, or None for one that no such tool knows."""
    tool, args = Path(argv[0]).name, list(argv[1:])
    if tool == "lsof":
        return lsof()
    if tool == "rocm-smi":
        return rocm_smi(args, **node)
    text = "--json" not in args
    if tool == "amd-smi" and args[:1] == ["static"]:
        return static(text=text, partition="--partition" in args, **node)
    readers = {"process": process, "metric": metric, "topology": topology, "list": list_}
    readers |= {"version": version, "bad-pages": bad_pages}
    found = readers.get(args[0] if tool == "amd-smi" and args else "")
    return found(text=text, **node) if found else None
