"""Performance and proof of arithmetic, end to end: what fails, what is unknown, and by whom."""

from __future__ import annotations

import pytest

from fixtures.recorder.names import RANKS, STAGES
from tests.conftest import Smoke
from tests.vendor_node import of_kind, outcomes

ALONE = ("-n0", "--no-merge")
RATES = ("gemm_tflops", "hbm_gbs", "h2d_gbs", "d2h_gbs")


def run_once(folder, *arguments, **options):
    """Run for all tests of this module that look at the same run."""
    runner = Smoke(folder)
    yield runner(*ALONE, *arguments, **options)
    for started in runner.started:
        started.kill()


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Rehearse four GPUs, of which three are wrong without an error, by torch's real arithmetic."""
    faults = ("gpu0:exact_product:wrong", "gpu1:whole_memory:wrong", "gpu2:reproducible:wrong")
    flags = [f"--rehearse-fault={fault}" for fault in faults]
    folder = tmp_path_factory.mktemp("wrong")
    yield from run_once(
        folder, "--rehearse", "--tier2-perf", "--expected-gpus=4", *flags, stub=False
    )


def test_finite_numbers_are_not_enough_a_product_must_be_the_right_one(wrong):
    assert wrong.status == 1
    assert outcomes(wrong, "gpu.gemm") == dict.fromkeys(("gpu0", "gpu1", "gpu2", "gpu3"), "PASS")
    check = wrong.check("gpu.exact_product", "gpu0")
    assert (check["outcome"], check["value"]) == ("FAIL", 1)
    assert check["message"].startswith(
        "gpu0: wrong elements of a 64 x 64 product of integers are 1, expected 0 (the first in row"
        " 21, column 12); "
    )


def test_memory_that_does_not_hold_its_pattern_fails_with_count_and_place(wrong):
    check = wrong.check("performance.whole_memory", "gpu1")

    assert check["outcome"] == "FAIL"
    assert check["message"].startswith("gpu1: 8-byte words in 0.016 GiB of memory that did not")
    assert " are 1, expected 0 (the first 1" in check["message"]
    assert wrong.outcome("gpu.memory_pattern", "gpu1") == "PASS"  # a smaller part of it


def test_a_product_that_changes_when_it_is_repeated_fails(wrong):
    message = wrong.check("performance.reproducible", "gpu2")["message"]
    hashes = {
        s["device"]: s["values"]["hash"] for s in of_kind(wrong, "stage", stage="reproducible")
    }

    assert message.startswith(
        "gpu2: repeats of one product that differ from the first are 1 of 8, expected 0 ("
    )
    assert len(set(hashes.values())) == 1  # GPUs of a node can be compared by it
    assert len(hashes) == 4


def test_a_wrong_gpu_leaves_the_others_their_checks(wrong):
    sick = {("gpu.exact_product", "gpu0"), ("performance.whole_memory", "gpu1")}
    sick.add(("performance.reproducible", "gpu2"))

    assert {(c["id"], c["device"]) for c in wrong.node["checks"] if c["outcome"] == "FAIL"} == sick
    assert len(wrong.node["reasons"]) == 3


@pytest.fixture(scope="module")
def hung(tmp_path_factory):
    """Rehearse three GPUs: one hangs while all work, one in its turn."""
    faults = ("gpu0:hbm_gbs:hang", "gpu1:copies_alone:hang")
    flags = [f"--rehearse-fault={fault}" for fault in faults]
    folder = tmp_path_factory.mktemp("hung")
    arguments = ("--expected-gpus=3", "--tier2-timeout-sec=2", *flags)
    yield from run_once(folder, "--rehearse", "--tier2-perf", *arguments)


def test_a_gpu_that_hangs_in_the_joint_load_is_left_out_of_the_rest(hung):
    assert hung.status == 1
    message = hung.check("performance.hbm_gbs", "gpu0")["message"]
    assert message.startswith("gpu0: hbm_gbs hung: no answer in 2 s (--tier2-timeout-sec), process")
    assert hung.outcome("performance.gemm_tflops", "gpu0") == "N/A"  # it came before
    for check in ("reproducible", "whole_memory", "h2d_gbs", "d2h_gbs"):
        told = hung.check(f"performance.{check}", "gpu0")
        assert (told["outcome"], told["cause"]) == ("FAIL", "performance.hbm_gbs")


def test_a_gpu_that_hangs_in_its_turn_does_not_cost_the_others_theirs(hung):
    message = hung.check("performance.h2d_gbs", "gpu1")["message"]

    assert message.startswith("gpu1: copies_alone hung: no answer in 2 s (--tier2-timeout-sec), ")
    assert hung.outcome("performance.reproducible", "gpu1") == "PASS"  # it came before
    assert all(c["outcome"] in {"PASS", "N/A"} for c in hung.node["checks"] if _is_of(c, "gpu2"))
    done = {s["stage"] for s in of_kind(hung, "stage", device="gpu2", outcome="ok")}
    assert done == set(STAGES) - set(RANKS)


def _is_of(check, device):
    return check.get("device") == device


def test_gpus_that_hung_are_two_reasons_inside_the_deadline_and_no_all_reduce_is_tried(hung):
    assert len(hung.node["reasons"]) == 2
    assert hung.seconds < 20
    for check in ("performance.all_reduce", "performance.all_reduce_large"):
        told = hung.check(check)
        assert told["outcome"] == "UNKNOWN"
        assert "not tried, since gpu0, gpu1 failed before" in told["message"]


def test_performance_that_a_result_does_not_hold_is_unknown_and_no_failure(smoke, tmp_path):
    first = smoke.rehearse(*ALONE)
    (path,) = first.results
    ended = smoke(f"--replay={path}", "--tier2-perf", *ALONE, dump=tmp_path / "again")

    assert ended.status == 0, ended.text
    told = {c["outcome"] for c in ended.node["checks"] if c["tier"] == "tier2"}
    assert told <= {"UNKNOWN", "N/A"}
    for check in ("performance.gemm_tflops", "performance.reproducible"):
        assert outcomes(ended, check) == {"gpu0": "UNKNOWN", "gpu1": "UNKNOWN"}
    assert ended.outcome("performance.all_reduce") == "UNKNOWN"


def test_with_a_single_cpu_no_rate_is_held_against_the_hardware(smoke, nvidia):
    cpus = {"sys/devices/system/cpu/present": "0-63", "sys/devices/system/cpu/online": "0-63"}
    cpus["proc/self/status"] = "Cpus_allowed_list:\t3"
    for path, text in cpus.items():
        file = nvidia.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    strict = ("--gemm-tflops-min=900", "--rccl-gbs-min=800", "--expected-gpus=2")
    arguments = (*nvidia.arguments, "-n0", "--tier2-perf", *strict)
    ended = smoke(*arguments, environment=nvidia.environment)

    assert ended.status == 0, ended.text
    for check in RATES:
        assert outcomes(ended, f"performance.{check}") == {"gpu0": "UNKNOWN", "gpu1": "UNKNOWN"}
        message = ended.check(f"performance.{check}", "gpu0")["message"]
        assert "this job may use 1 CPUs, fewer than the 2 that it takes" in message
    assert ended.outcome("performance.all_reduce") == "UNKNOWN"
    for proof in ("performance.reproducible", "performance.whole_memory", "gpu.exact_product"):
        assert outcomes(ended, proof) == {"gpu0": "PASS", "gpu1": "PASS"}
