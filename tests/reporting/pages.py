"""Merges for pictures and pages: of any size, made in memory, with faults that show patterns."""

import random

from reporting.digest import Digest, Gpu
from reporting.model import Check, Cluster, Kind, Node, Row
from reporting.sections.base import Cause, Section
from tests.reporting.make import RUN, T0

HOSTILE = [
    "../../../../tmp/out",
    "a|b",
    "two\nnames",
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=1">',
    "\x1b[31mred",
    "\u202eevil",
    "{{ 7 * 7 }}",
    "]]>",
    "&lt;b&gt;",
    "x" * 10_000,
]
HEALTHY = {"gemm_tflops": (790, 5), "hbm_gbs": (4200, 20), "temperature_c": (55, 4)}


def found(check_id, outcome="FAIL", device="", message="", **fields):
    return Check(check_id, outcome, device, "tier1", message or f"{check_id} is bad", **fields)


def digest(findings=(), gpus=8, seed=0, numbers=None):
    """Return what is kept of a node; *numbers* replace those of single GPUs."""
    dice = random.Random(seed)
    told = [
        Gpu(
            f"gpu{k}",
            model="NVIDIA H200",
            numbers={name: dice.gauss(*usual) for name, usual in HEALTHY.items()},
        )
        for k in range(gpus)
    ]
    for position, changed in (numbers or {}).items():
        told[position].numbers.update(changed)
    return Digest(
        findings=list(findings),
        counts={"checks": 120, "PASS": 120 - len(findings)},
        limits={"performance.gemm_tflops": 700.0},
        values={"performance.all_reduce": dice.gauss(410, 2)},
        gpus=told,
    )


def row(name, *findings, **told):
    """Return the row of a node that said so."""
    reasons = [check.message for check in findings if check.outcome in {"FAIL", "HUNG"}]
    kind = Kind.FAIL if reasons else Kind.PASS
    node = Node(
        name=name, run_id=RUN, started=T0, verdict=kind.value, tiers=["tier1"],
        reasons=reasons, hostname=name, finished=T0 + 5,
    )  # fmt: skip
    return Row(name, kind, reasons, node=node, digest=digest(findings, **told))


def missing(name="<missing-0>", named=False):
    return Row(name, Kind.MISSING, ["no result and no mark"], named=named)


def merged(*rows):
    named = [row.name for row in rows if row.named]
    return Cluster(RUN, list(rows), len(rows), named)


def many(nodes):
    """Return racks of nodes: one has a dead switch, others have faults here and there."""
    rows = []
    for k in range(nodes):
        findings = []
        if 64 <= k < 96:
            findings.append(found("rdma.port_state", device="mlx5_0:1", message="port is DOWN"))
        if k % 29 == 5:
            findings.append(found("gpu.bind", "HUNG", "gpu1", "gpu1: bind hung"))
        if k % 11 == 3:
            findings.append(found("host.governor", "WARN", message="governor is powersave"))
        if k % 31 == 7:
            findings.append(found("kernel.gpu", "UNKNOWN", message="no permission"))
        rows.append(row(f"rack{k // 32:03d}-n{k % 32:02d}", *findings, seed=k))
    return merged(*rows, missing())


def hostile():
    """Return nodes whose names, devices and messages are all hostile."""
    rows = [
        row(name, found("gpu.bind", "FAIL", name, name), found("host.shm", "WARN", message=name))
        for name in HOSTILE
    ]
    return merged(row("n1"), *rows)


def sections(text="All nodes match."):
    return [
        Section(heading="Stack drift across cluster", lines=[text], calm=True),
        Section(heading=text, lines=[text], columns=["Key", text], rows=[[text, text]], cut=3),
        Section(heading="Tier 2 perf summary", omitted=True),
    ]


def causes(text="port is DOWN"):
    nodes, severity = ["n1", text], "FAIL"
    told = {"message": text, "check": "rdma.port_state", "severity": severity, "nodes": nodes}
    return [Cause(**told, devices=[text], count=2, varies=True)]
