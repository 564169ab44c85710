"""What the GPUs do together, in a rehearsal: the rank that keeps the others waiting is named."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import pytest

from fixtures.recorder import child, worker
from tests.conftest import Smoke
from tests.vendor_node import of_kind, outcomes

CHEAP = ("-n0", "--no-merge", "-m", "tier2", "--expected-gpus=3")
BOTH = ("performance.all_reduce", "performance.all_reduce_large")
STAGES = ("join", "all_reduce", "all_reduce_large")
ALL_OF_THEM = {"gpu0": "PASS", "gpu1": "PASS", "gpu2": "PASS"}


def told_of(ended):
    """Return the one reason for which the run failed, which is its all-reduce."""
    assert ended.status == 1, ended.text
    assert ended.left == []
    (reason,) = dict.fromkeys(ended.node["reasons"])
    (row,) = (row for row in ended.text.splitlines() if row.startswith("  FAIL "))
    assert reason in row
    assert ended.outcome(BOTH[0]) == "FAIL"
    assert ended.check(BOTH[0])["message"] == reason
    return reason


def alone_they_are_fine(ended):
    """Tell whether every check of a single GPU came out as if nothing had happened."""
    assert outcomes(ended, "performance.reproducible") == ALL_OF_THEM
    assert outcomes(ended, "performance.whole_memory") == ALL_OF_THEM
    return all(c["outcome"] in {"PASS", "N/A"} for c in ended.node["checks"] if "device" in c)


def rehearsed(ended, stage):
    """Return how a stage went, by GPU."""
    return {s["device"]: s["outcome"] for s in of_kind(ended, "stage", stage=stage)}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Reduce once without a fault, over a second buffer too, by torch's own library for CPUs."""
    runner = Smoke(tmp_path_factory.mktemp("healthy"))
    yield runner.rehearse(*CHEAP, "--rccl-size-mb=1", "--rccl-gbs-min=1e-6", stub=False)
    for started in runner.started:
        started.kill()


def test_the_gpus_reduce_together_and_say_in_what_surroundings(healthy):
    assert healthy.status == 0, healthy.text
    (asked,) = of_kind(healthy, "all_reduce")
    assert asked["devices"] == ["gpu0", "gpu1", "gpu2"]
    assert asked["backend"] == "gloo"
    for stage in STAGES:
        assert rehearsed(healthy, stage) == dict.fromkeys(ALL_OF_THEM, "ok")


def test_the_bus_bandwidth_is_judged_and_the_algorithm_bandwidth_is_told_beside_it(healthy):
    check = healthy.check(BOTH[0])
    ranks = [s["values"] for s in of_kind(healthy, "stage", stage="all_reduce")]

    assert (check["outcome"], check["unit"], check["limit_source"]) == ("PASS", "GB/s", "flag")
    assert check["value"] == pytest.approx(min(rank["bus_gbs"] for rank in ranks))
    for rank in ranks:
        assert (rank["bytes"], rank["ranks"]) == (2**20, 3)
        assert rank["algorithm_gbs"] == pytest.approx(2**20 / rank["seconds"] / 1e9)
        assert rank["bus_gbs"] == pytest.approx(rank["algorithm_gbs"] * 2 * 2 / 3)


@pytest.mark.parametrize(
    ("stage", "where"), [("join", "joining the collective"), ("all_reduce", "the all-reduce")]
)
def test_a_rank_that_never_enters_is_named_and_not_those_that_wait_for_it(smoke, stage, where):
    fault = f"--rehearse-fault=gpu1:{stage}:hang"
    ended = smoke.rehearse(*CHEAP, fault, "--rccl-timeout-sec=3", stub=False)

    reason = told_of(ended)
    assert reason.startswith(f"{where}: gpu1 hung: no answer in 3 s (--rccl-timeout-sec), process ")
    assert "(the other 2 could not go on without it)" in reason
    assert ended.outcome(BOTH[1]) == "FAIL"
    assert rehearsed(ended, "all_reduce_large") == dict.fromkeys(ALL_OF_THEM, "not_reached")
    assert alone_they_are_fine(ended)
    assert ended.seconds < 20


def test_ranks_that_all_hang_in_the_collective_are_no_single_gpus_fault(smoke):
    hanging = {"STUB_COLLECTIVE": "hang"}
    ended = smoke.rehearse(*CHEAP, "--rccl-timeout-sec=1", environment=hanging)

    reason = told_of(ended)
    assert reason.startswith(
        "joining the collective hung: gpu0, gpu1, gpu2 entered it and none came back"
        " (no answer in 1 s (--rccl-timeout-sec); gpu"
    )
    assert re.search(r"; gpu\d in state \w \(\w+\)[^;]*\); look at the links between", reason)
    assert alone_they_are_fine(ended)


def test_a_rank_that_dies_is_named_and_the_others_are_not_waited_for(smoke):
    ended = smoke.rehearse(*CHEAP, "--rehearse-fault=gpu2:all_reduce:segv", stub=False)

    reason = told_of(ended)
    assert reason.startswith(
        "the all-reduce: gpu2 ended its process: the process was ended by SIGSEGV"
    )
    assert "(the other 2 could not go on without it)" in reason
    assert alone_they_are_fine(ended)
    assert ended.seconds < 30  # --rccl-timeout-sec is 120


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("exit", "ended its process: the process exited with code 0 without an answer"),
        ("raise", "failed: RuntimeError: rehearsed fault: the driver said no"),
    ],
)
def test_ranks_that_all_end_before_they_answer_leave_a_result_with_the_first_error(
    smoke, how, says
):
    faults = [f"--rehearse-fault=gpu{n}:join:{how}" for n in range(3)]
    ended = smoke.rehearse(*CHEAP, *faults)

    reason = told_of(ended)
    assert reason.startswith(f"joining the collective: gpu0, gpu1, gpu2 {says}")
    assert "could not go on" not in reason
    assert not any(check["id"] == "run.complete" for check in ended.node["checks"])
    assert alone_they_are_fine(ended)


def test_a_library_that_can_not_start_is_told_with_what_the_job_had_set_for_it(smoke):
    nowhere = {"GLOO_SOCKET_IFNAME": "nope0"}
    ended = smoke.rehearse(*CHEAP, environment=nowhere, stub=False)

    reason = told_of(ended)
    assert reason.startswith("joining the collective: gpu0, gpu1, gpu2 failed: RuntimeError: ")
    assert "nope0" in reason.partition("; in force: ")[0]
    assert reason.endswith("; in force: GLOO_SOCKET_IFNAME=nope0")
    assert alone_they_are_fine(ended)


def test_a_sum_that_is_wrong_fails_however_fast_it_came(smoke):
    ended = smoke.rehearse(*CHEAP, "--rehearse-fault=gpu2:all_reduce:wrong", stub=False)

    reason = told_of(ended)
    assert reason.startswith(
        "1 of the 524288 elements that gpu2 has after the all-reduce are wrong, expected 0; "
    )
    assert ended.outcome(BOTH[1]) == "N/A"  # right, and no limit is set
    assert alone_they_are_fine(ended)


def test_a_single_gpu_has_nothing_to_reduce_with(smoke):
    ended = smoke.rehearse("-n0", "--no-merge", "--tier2-perf", "--expected-gpus=1")

    assert ended.status == 0, ended.text
    assert ended.node["tiers"] == ["tier1", "tier2"]
    assert outcomes(ended, "performance.reproducible") == {"gpu0": "PASS"}
    for check in BOTH:
        told = ended.check(check)
        assert told["outcome"] == "N/A"
        assert "a single GPU has nothing to reduce with" in told["message"]
    assert ended.node["unknowns"] == []


def test_no_second_buffer_and_no_pattern_are_without_an_object_when_nobody_wants_them(smoke):
    ended = smoke.rehearse(*CHEAP, "--rccl-large-size-mb=0", "--memory-pattern-gib=0")

    assert ended.status == 0, ended.text
    assert ended.outcome(BOTH[0]) == "N/A"
    assert rehearsed(ended, "all_reduce") == dict.fromkeys(ALL_OF_THEM, "ok")
    assert rehearsed(ended, "all_reduce_large") == {}
    told = ended.check(BOTH[1])
    assert told["outcome"] == "N/A"
    assert "it was not to be measured (--rccl-large-size-mb=0)" in told["message"]
    assert outcomes(ended, "performance.whole_memory") == dict.fromkeys(ALL_OF_THEM, "N/A")
    pattern = ended.check("performance.whole_memory", "gpu1")["message"]
    assert "(--memory-pattern-gib=0)" in pattern
    assert ended.node["unknowns"] == []
    again = smoke(f"--replay={ended.results[0]}", "-n0", dump=ended.dump / "again")
    assert outcomes(again, "performance.whole_memory") == dict.fromkeys(ALL_OF_THEM, "N/A")


def test_a_rank_that_writes_to_one_that_is_gone_lives_to_say_so():
    """SIGPIPE would end it, and it would be blamed as well."""
    ours, theirs = socket.socketpair()
    request = {"name": "gpu0", "faults": {"bind": "raise"}}
    rank = child.fork(lambda: worker.run(theirs.fileno(), request), keep=[theirs.fileno()])
    ours.sendall(b'{"stage": "bind"}\n')
    ours.recv(65536)  # it has begun
    status = Path(f"/proc/{rank}/status").read_text()
    ours.close()
    theirs.close()
    os.waitpid(rank, 0)

    (ignored,) = (int(line[7:], 16) for line in status.splitlines() if line.startswith("SigIgn:"))
    assert ignored & 1 << (signal.SIGPIPE - 1)
