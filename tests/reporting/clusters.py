"""Merged runs made in memory: healthy nodes, of which each test spoils some."""

import copy

from reporting.digest import Digest, Event, Gpu, Port
from reporting.limits import Limits
from reporting.model import Check, Cluster, Kind, Node, Row
from reporting.names import plain
from reporting.sections import all_sections
from tests.reporting import make

H200, MI300 = "NVIDIA H200", "AMD Instinct MI300X"
LIMITS = Limits()
SOFTWARE = {
    "driver": "570.1",
    "driver_kind": "open",
    "kernel": "6.8.0-60",
    "os": "Ubuntu 24.04",
    "torch": "2.11.0",
    "runtime": "13.0",
}
HOST = {"cpus": "192", "governor": "performance", "memlock": "unlimited", "numa_nodes": "2"}


def gpu(k=0, model=H200, **fields):
    numbers = {
        "gemm_tflops": 790.0 + k,
        "hbm_gbs": 3950.0 + 5 * k,
        "h2d_gbs": 55.0 + k / 8,
        "d2h_gbs": 56.0 + k / 8,
        "clock_mhz": 1980.0,
        "temperature_c": 52.0 + k / 2,
    }
    told = {
        "model": model,
        "vbios": "96.00.A1",
        "memory_total": 150_109_880_320,
        "memory_used": 2**29,
        "activity": 0.0,
        "pcie_lanes": 16,
        "pcie_gts": 32.0,
        "hash": "5f0a9c5e1e2b77d4",
        "numbers": numbers,
    }
    return Gpu(name=f"gpu{k}", **{**told, **fields})


def port(k=0, **fields):
    told = {
        "layer": "InfiniBand",
        "rate": 400.0,
        "mtu": 4096,
        "firmware": "28.39.1002",
        "hca": "MT4129",
        "board": "MT_0000000838",
    }
    return Port(name=f"mlx5_{k}:1", **{**told, **fields})


def digest(gpus=8, model=H200, **fields):
    told = {
        "counts": {"checks": 61, "PASS": 61},
        "values": {
            "performance.all_reduce": 330.0,
            "performance.all_reduce_large": 452.0,
            "tools.answer": 0.2,
        },
        "software": dict(SOFTWARE),
        "host": dict(HOST),
        "gpus": [gpu(k, model) for k in range(gpus)],
        "ports": [port(k) for k in range(8)],
        "tools": {"nvidia-smi": True, "ibstat": True},
        "wall": make.T0 + 3.0,
        "wall_at": 3.0,
        "synchronised": True,
        "daemons": ["chronyd"],
    }
    return Digest(**{**copy.deepcopy(told), **fields})


def row(name="n1", told=None, kind=Kind.PASS, reasons=(), **fields):
    """Return the row of a node that reported."""
    said = {"name": name, "run_id": make.RUN, "started": make.T0, "finished": make.T0 + 50}
    verdict = {"verdict": "PASS", "tiers": ["tier1", "tier2"], "reasons": [], "hostname": name}
    node = Node(**{**said, **verdict, **fields})
    return Row(name, kind, list(reasons), node=node, digest=told or digest())


def cluster(*rows, run_id=make.RUN, **fields):
    names = [one.name for one in rows]
    return Cluster(run_id, list(rows), len(rows), names, **fields)


def healthy(count=4, start=1, **fields):
    """Return the rows of some healthy nodes."""
    return [row(f"n{k}", digest(**fields), rank=k) for k in range(start, start + count)]


def finding(check, message, device="", outcome="FAIL", **fields):
    return Check(id=check, outcome=outcome, device=device, message=message, **fields)


def event(kind="xid", severity="fail", **fields):
    return Event(kind=kind, severity=severity, **fields)


def section(rows, heading, limits=LIMITS, **fields):
    """Return one section of a run with these rows."""
    found = all_sections(cluster(*rows, **fields), limits)
    return next(one for one in found if one.heading.startswith(heading))


def said(one):
    """Return a section as plain lines, its cells between bars."""
    cells = [" | ".join(plain(cell, 400) for cell in cells) for cells in one.rows]
    return [*one.lines, *cells]
