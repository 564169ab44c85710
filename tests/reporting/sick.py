"""For each section a run in which it has something to say: six nodes, of which few are sick."""

import msgspec

from reporting.model import Kind, Option, Row
from tests.reporting.clusters import MI300, digest, event, finding, healthy, row

GPU3 = "gpu3 (0000:5d:00.0, GPU-9a66)"


def _with(*found, node=1):
    """Return six nodes of which one found something."""
    rows = healthy(6)
    rows[node].digest.findings = list(found)
    return rows


def causes():
    hung = "bind hung: no answer in 15 s (--per-gpu-timeout-sec)"
    rows = healthy(6)
    for k in (1, 2, 4):
        found = [finding("gpu.bind", f"gpu{k} (0000:0{k}:00.0, GPU-{k}): {hung}", f"gpu{k}")]
        rows[k].digest.findings = found
        rows[k].kind, rows[k].reasons = Kind.FAIL, [found[0].message]
    rows[5] = Row("n6", Kind.MISSING, ["no result and no mark: it never started"])
    return rows


def stack():
    rows = healthy(5)
    rows[3].digest.software["torch"] = "2.10.0"
    del rows[1].digest.software["runtime"]
    rows[0].digest.host["governor"] = "powersave"
    for k in (0, 1, 4):
        rows[k].digest.host["numa_nodes"] = "8"
    rows[2].digest.gpus[0].vbios = "96.00.99"
    return [*rows, row("n6", digest(model=MI300))]


def nics():
    rows = healthy(6)
    for port in rows[4].digest.ports:
        port.firmware = "28.36.1010"
    rows[1].digest.ports[2].mtu = 1500
    rows[2].digest.ports[5].rate = 200.0
    rows[3].digest.ports[0].hca = "MT4125"
    del rows[0].digest.ports[7]
    return rows


def roll_call():
    down = "mlx5_3:1: state is DOWN, expected ACTIVE: look at cable and switch"
    blind = "mlx5_4:1: its counters can't be read"
    return _with(
        finding("rdma.port_state", down, "mlx5_3-p1"),
        finding("rdma.counters", blind, "mlx5_4-p1", "UNKNOWN"),
    )


def port_count():
    rows = healthy(6)
    del rows[2].digest.ports[6:]
    return rows


def excluded():
    rows = healthy(6)
    for one in rows:
        one.digest.ports[7].aside = "excluded by NCCL_IB_HCA=^mlx5_7"
    rows[1].digest.ports[0].aside = "set aside: an administrator disabled it"
    return rows


def limits():
    return _with(finding("host.memlock", "memlock is 64 KiB, expected at least 32 GiB"))


def visibility():
    return _with(finding("gpu.visible", "GPUs visible are 7, expected 8 (--expected-gpus)"))


def parts():
    rows = healthy(6)
    rows[1].digest.gpus[3].pcie_lanes = 8
    rows[2].digest.gpus[1].memory_total = 75 * 2**30
    for gpu in rows[5].digest.gpus:
        gpu.pcie_gts = 16.0
    return rows


def links():
    return _with(finding("gpu.links", f"{GPU3}: links that are up are 17, expected 18", "gpu3"))


def clock():
    rows = healthy(6)
    rows[1].digest.wall += 45.5
    rows[3].digest.wall -= 3600
    rows[3].digest.synchronised = False
    rows[4].digest.findings = [finding("clock.daemon", "no time daemon runs", outcome="WARN")]
    return rows


def latency():
    rows = healthy(6)
    rows[1].digest.values["tools.answer"] = 2.345
    return rows


def tooling():
    rows = healthy(6)
    for k in (2, 3):
        rows[k].digest.tools["ibstat"] = False
    return rows


def busy():
    text = f"{GPU3}: process 4711 (python3) holds 212 GiB: end it, or wait for its job"
    return _with(finding("gpu.processes", text, "gpu3"))


def memory():
    rows = healthy(6)
    rows[1].digest.gpus[3].memory_used = 2 * 2**30
    rows[1].digest.gpus[4].memory_used = 2 * 2**30 - 1
    return rows


def activity():
    rows = healthy(6)
    rows[1].digest.gpus[3].activity = 99.0
    return rows


def tier2():
    rows = healthy(2)
    rows[1].digest.gpus[3].numbers["gemm_tflops"] = 512.0
    del rows[1].digest.values["performance.all_reduce_large"]
    return rows


def failing():
    return [*healthy(5), row("n6", kind=Kind.FAIL, reasons=["bind hung", "*memlock* is 64 KiB"])]


def events():
    rows = healthy(6)
    means = "an uncorrectable memory error"
    for k in (1, 2):
        xid = event(device=f"gpu{k}", code=48, count=k, means=means)
        rows[k].digest.events = [xid, event("pcie corrected", "warn", count=9)]
    return rows


def warnings():
    rows = healthy(6)
    for k, one in enumerate(rows):
        one.digest.findings = [finding("tools.present", "lsof is not in PATH", outcome="WARN")]
        if k < 2:
            text = f"gpu{k}: activity is {30 + k} %, expected below 20 %"
            one.digest.findings.append(finding("gpu.activity", text, f"gpu{k}", "WARN"))
    return rows


def outliers():
    rows = healthy(6)
    for gpu in rows[1].digest.gpus:
        gpu.numbers["gemm_tflops"] *= 0.91
    rows[4].digest.gpus[2].numbers["temperature_c"] = 84.0
    return rows


def hashes():
    rows = healthy(6)
    rows[1].digest.gpus[3].hash = "bad0bad0bad0bad0"
    return rows


def coverage():
    text = "kernel log can't be read: Operation not permitted"
    rows = _with(finding("kernel.gpu", text, outcome="UNKNOWN"))
    return [*rows, Row("n7", Kind.STARTED, ["began and left no result"])]


def options():
    rows = healthy(3)
    for k, one in enumerate(rows):
        option = Option(value=16 if k else 8, source="--shm-min-gb" if k else "default")
        one.node = msgspec.structs.replace(one.node, options={"shm_min_gb": option})
    return rows


def nobody():
    return [Row(f"n{k}", Kind.MISSING, ["no result and no mark"]) for k in range(1, 4)]


SICK = {
    "Causes, the most shared first": causes,
    "Stack drift across cluster": stack,
    "NIC firmware drift across cluster": nics,
    "NIC / RDMA roll-call issues": roll_call,
    "NIC port-count summary": port_count,
    "NIC excluded ports (informational)": excluded,
    "Host limits issues": limits,
    "GPU visibility issues": visibility,
    "GPU low-level outliers (PCIe link / HBM)": parts,
    "XGMI link issues": links,
    "Cluster clock + time daemons": clock,
    "Tooling self-latency (`rocm-smi --version`)": latency,
    "Tooling availability": tooling,
    "Busy GPUs / leaked processes": busy,
    "GPU pre-touch HBM usage outliers": memory,
    "GPU compute-activity outliers": activity,
    "Tier 2 perf summary": tier2,
    "Failing nodes -- full reasons": failing,
    "Kernel events": events,
    "Warnings and unknowns": warnings,
    "Outliers against peers": outliers,
    "Arithmetic hashes that disagree": hashes,
    "Coverage": coverage,
    "Options in force": options,
}
"""The headings, all of them and in their order, each with a run that has something to say there."""
