"""Sections: where they are cut or folded, and that nothing but the data decides what they say."""

import pytest

from reporting.limits import Limits
from reporting.model import LOCAL, Kind, Row
from reporting.render import markdown
from reporting.sections import all_sections
from tests.reporting.clusters import (
    MI300,
    cluster,
    digest,
    finding,
    healthy,
    row,
    said,
    section,
)

CLOCK = "Cluster clock"


def test_a_slow_node_is_not_a_skewed_one():
    """It read its clock 45 s later in its run: the seed called that a skew of 45 s."""
    rows = healthy(3)
    rows[1].digest.wall += 45
    rows[1].digest.wall_at += 45

    one = section(rows, CLOCK)

    assert one.rows == []
    assert one.lines[0].startswith("Clocks are at most 0.0 s apart, within 30 s")


def test_a_clock_that_is_off_is_named_with_what_its_kernel_says():
    rows = healthy(3)
    rows[1].digest.wall += 31
    rows[2].digest.synchronised = False

    assert said(section(rows, CLOCK))[2:] == [
        "2 | n2 | its clock is 31.0 s ahead of the others'; its kernel says that it is"
        " synchronised, so it may have begun later"
    ]


def test_the_limit_of_the_skew_is_the_merges():
    rows = healthy(3)
    rows[1].digest.wall += 31

    assert section(rows, CLOCK, Limits(clock_skew_warn_sec=60.0)).rows == []


def test_clocks_of_a_run_without_an_id_are_not_compared():
    rows = healthy(3)
    rows[1].digest.wall += 1800

    one = section(rows, CLOCK, run_id=LOCAL)

    assert one.rows == []
    assert "not compared" in one.lines[0]


@pytest.mark.parametrize("wall", [float("inf"), float("nan"), None])
def test_a_clock_that_is_none_is_not_compared(wall):
    rows = healthy(2)
    rows[1].digest.wall = wall

    assert section(rows, CLOCK).lines[0].startswith("Fewer than two nodes told their clock")


def test_nothing_is_rounded_before_it_is_compared():
    """1.9997 GiB was listed as 2.0 and passed."""
    rows = healthy(2)
    rows[0].digest.gpus[0].memory_used = int(1.9997 * 2**30)
    rows[1].digest.gpus[0].memory_used = 2 * 2**30

    assert said(section(rows, "GPU pre-touch")) == ["2 | n2 | gpu0 | 2.00"]


def test_limits_are_those_that_were_given():
    limits = Limits(hbm_busy_threshold_gib=0.5, gpu_activity_warn_pct=0.0, tool_warn_sec=0.1)

    assert len(section(healthy(1), "GPU pre-touch", limits).rows) == 8
    assert len(section(healthy(1), "GPU compute", limits).rows) == 8
    assert said(section(healthy(1), "Tooling self", limits)) == ["1 | n1 | 0.20 s | over 0.1 s"]


def test_a_tool_that_did_not_answer_has_no_latency_and_is_told():
    rows = healthy(2)
    del rows[1].digest.values["tools.answer"]
    hung = "nvidia-smi did not answer in 5 s"
    rows[1].digest.findings = [finding("tools.answer", hung)]

    assert said(section(rows, "Tooling self")) == [f"2 | n2 | - | {hung}"]


def test_no_table_is_longer_than_a_hundred_rows_and_the_rest_is_counted():
    rows = healthy(130)
    for one in rows:
        one.digest.gpus[0].activity = 50.0

    one = section(rows, "GPU compute")

    assert (len(one.rows), one.cut) == (100, 30)
    told = markdown(cluster(*rows))
    assert "*and 30 more, in summary.json or in the nodes' results (smoke/)*" in told


def test_an_issue_of_more_than_a_hundred_nodes_is_one_row():
    rows = healthy(150)
    for k, one in enumerate(rows):
        text = f"gpu{k % 8}: process {k} (python3) holds 3 GiB"
        one.digest.findings = [finding("gpu.processes", text, f"gpu{k % 8}")]

    assert said(section(rows, "Busy GPUs")) == [
        "- | n[1-150] | gpu[0-7]: process 0 (python3) holds 3 GiB (figures differ among them)"
    ]


def test_tier_2_of_many_nodes_shows_the_slowest():
    rows = healthy(150)
    rows[120].digest.gpus[3].numbers["gemm_tflops"] = 400.0

    one = section(rows, "Tier 2")

    assert one.rows[0][1] == "n121"
    assert (len(one.rows), one.cut) == (100, 50)


def test_without_tier_2_there_is_no_such_section():
    rows = healthy(2)
    for one in rows:
        one.digest.values = {}
        for gpu in one.digest.gpus:
            gpu.numbers = {}

    assert section(rows, "Tier 2").omitted
    assert "Tier 2" not in markdown(cluster(*rows))


def test_what_could_not_be_looked_at_is_no_praise():
    rows = healthy(3)
    rows[1].digest.findings = [finding("gpu.processes", "can't be listed", outcome="UNKNOWN")]

    lines = section(rows, "Busy GPUs").lines

    assert lines[1] == "Not all could be looked at on n2: see Coverage."


def test_nodes_without_a_name_are_counted():
    rows = [Row(f"<missing-{k}>", Kind.MISSING, ["never started"], named=False) for k in range(3)]

    told = markdown(cluster(*healthy(1), *rows))

    assert "| FAIL | 3 | 3 that have no name here | - | MISSING | never started |" in told


HOSTILE = "../<script>alert(1)</script>|\n# `x`\x1b[31m" + "y" * 10_000


def test_nothing_foreign_does_anything_in_any_section():
    bad = digest(software={"kernel": HOSTILE}, host={HOSTILE: HOSTILE}, tools={HOSTILE: False})
    for gpu in bad.gpus:
        gpu.model = gpu.vbios = gpu.hash = HOSTILE
    for port in bad.ports:
        port.name, port.firmware, port.aside = HOSTILE, HOSTILE, HOSTILE
    bad.findings = [
        finding(check, HOSTILE, HOSTILE, outcome)
        for check in (HOSTILE, "gpu.bind", "rdma.rate", "host.shm", "tools.answer", "clock.daemon")
        for outcome in ("FAIL", "WARN", "UNKNOWN")
    ]
    rows = [*healthy(2), row(HOSTILE, bad, Kind.FAIL, [HOSTILE])]

    text = markdown(cluster(*rows, notes=[HOSTILE]))

    assert "<script" not in text
    assert "\x1b" not in text
    assert "\n# `" not in text
    assert len(text) < 200_000
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in table)


def test_the_same_run_gives_the_same_bytes_in_any_order_of_keys():
    rows = healthy(3)
    rows[0].digest.software["kernel"] = "5"
    again = healthy(3)
    again[0].digest.software["kernel"] = "5"
    for one in again:
        one.digest.software = dict(reversed(one.digest.software.items()))

    assert markdown(cluster(*rows)) == markdown(cluster(*again))


def planted():
    """Return two GPU models, two racks on two kernels, an old firmware, a slow node, a bad hash."""
    rows = []
    for k in range(1, 17):
        told = digest()
        for n, gpu in enumerate(told.gpus):
            share = 0.97 + 0.06 * ((k * 8 + n) * 37 % 128) / 127
            gpu.numbers = {name: value * share for name, value in gpu.numbers.items()}
        told.software["kernel"] = "6.8.0-60" if k <= 8 else "6.5.0-41"
        rows.append(row(f"r{1 + (k > 8)}n{k:02}", told, rank=k))
    for port in rows[4].digest.ports:
        port.firmware = "28.36.0999"
    for gpu in rows[6].digest.gpus:
        gpu.numbers["gemm_tflops"] = 790 * 0.91
    rows[10].digest.gpus[3].hash = "0bad0bad0bad0bad"
    for k in range(17, 25):
        told = digest(model=MI300)
        told.software.update(driver="6.10.5", runtime="7.0", kernel="5.15.0")
        for gpu in told.gpus:
            gpu.hash, gpu.numbers["gemm_tflops"] = "aaaa", 610.0
        rows.append(row(f"m{k}", told, rank=k))
    return rows


_KINDS = "8 x NVIDIA H200: r1n[01-08],r2n[09-16]; 8 x AMD Instinct MI300X: m[17-24]"
SAID = [
    f"Nodes are compared with those of the same GPUs only. {_KINDS}.",
    "kernel (8 x NVIDIA H200) | none: split among 16"
    " | 6.5.0-41 (8): r2n[09-16]; 6.8.0-60 (8): r1n[01-08]",
    "mlx5_[0-7] (8 x NVIDIA H200) | 28.39.1002 (15/16) | 28.36.0999 (1): r1n05",
    "r1n07 | GEMM | gpu[0-7] | 718.9 TFLOPS | 792.6 TFLOPS | 9.3 % below",
    "NVIDIA H200, torch 2.11.0, runtime 13.0, driver 570.1"
    " | 5f0a9c5e1e2b (127 of 128 GPUs) | 0bad0bad0bad (1): r2n11 gpu3",
]


def test_each_of_five_planted_differences_is_said_in_one_line_and_nothing_else():
    told = [
        line
        for one in all_sections(cluster(*planted()), Limits())
        if not one.calm and not one.heading.startswith(("Tier 2", "Warnings"))
        for line in said(one)
        if not line.startswith("More than 3.5 robust sigmas")
    ]

    assert [line[: len(start)] for line, start in zip(told, SAID, strict=True)] == SAID


def test_what_comparing_has_shown_stands_among_the_warnings():
    told = said(section(planted(), "Warnings and unknowns"))

    assert any(line.startswith("outliers.gemm_tflops | GEMM is far off") for line in told)
    assert any(line.startswith("outliers.hash | a product on ") for line in told)
