"""A run that broke: stopped, its workers dead, its checks unreadable. It is a FAIL of the node."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import CLONE


def _is_worker(pid: int) -> bool:
    return b"sys.stdin.readline" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _fails_the_node(ended) -> bool:
    """Whether the run left one result, a whole FAIL, and the node stands in the failing list."""
    (result,) = ended.results
    lists = [(ended.dump / f"{kind}_nodes.txt").read_text() for kind in ("passing", "failing")]
    whole = result.parent == ended.dump / "smoke" and not ended.node["partial"]
    return whole and ended.node["verdict"] == "FAIL" and lists == ["", f"{ended.node['name']}\n"]


def test_a_pytest_worker_that_is_killed_costs_its_test_and_not_the_result(smoke):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:bind:slow=3")
    run.collected(by=2)
    (first, _) = (pid for pid in run.ours() if _is_worker(pid))
    os.kill(first, signal.SIGKILL)
    ended = run.end()

    assert ended.status == 1
    assert ended.left == []
    lost = [c for c in ended.node["checks"] if c["outcome"] == "LOST"]
    assert len(lost) == 1
    assert "the pytest worker that judged it died" in lost[0]["message"]
    assert ended.node["verdict"] == "FAIL"
    assert ended.node["reasons"] == [lost[0]["message"]]


def test_a_pytest_worker_that_dies_before_it_has_collected_fails_the_node(smoke):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:bind:slow=2")
    (first, *_) = run.wait_for(lambda: [pid for pid in run.ours() if _is_worker(pid)])
    os.kill(first, signal.SIGKILL)
    ended = run.end()

    assert ended.status != 0
    assert ended.left == []
    assert ended.node["verdict"] == "FAIL"


def test_a_frozen_worker_is_ended_past_the_runs_bound(smoke):
    """SIGSTOP stands in for a worker whose source file system hangs; no timeout acts in it."""
    run = smoke.start(
        "--rehearse",
        "--rehearse-fault=gpu0:bind:slow=1",
        "--per-gpu-timeout-sec=2",
        "--import-timeout-sec=1",
        prelude="sys.path.insert(0, '.'); from fixtures import run; run.WATCHDOG_SLACK = -77",
    )
    workers = run.wait_for(lambda: [pid for pid in run.ours() if _is_worker(pid)])
    run.collected()
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    ended = run.end()

    assert ended.status == 1
    assert ended.left == []
    assert ended.node["verdict"] == "FAIL"
    assert any("frozen" in reason for reason in ended.node["reasons"])


@pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_a_run_that_is_stopped_says_so_and_calls_nothing_passed_that_was_running(
    smoke, workers, number
):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:hang", *workers)
    run.fact('"device":"gpu1","stage":"gemm"')
    run.collected()
    run.process.send_signal(number)
    ended = run.end()

    assert ended.status == 2
    assert ended.left == []
    assert ended.node["interrupted"] == number.name
    assert ended.node["verdict"] == "FAIL"
    assert ended.outcome("gpu.gemm", "gpu0") in {"HUNG", "LOST"}
    assert ended.seconds < 12
    assert f"stopped by {number.name}" in ended.text


def test_a_run_stopped_before_its_first_check_leaves_a_result_that_says_so(smoke):
    run = smoke.start("--rehearse", environment={"STUB_TORCH": "hang"})
    run.fact('"fact":"inventory"')
    run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.status == 2
    assert ended.left == []
    assert ended.node["verdict"] == "FAIL"
    assert "the run was stopped by SIGTERM before all checks had ended" in ended.node["reasons"]
    assert not list(ended.dump.glob("smoke/*.started"))


def test_every_process_of_a_job_step_getting_sigterm_blames_no_gpu(smoke):
    """The srun way of stopping: each process of the step gets the signal, not just the first."""
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:hang")
    run.collected()
    for pid in [*run.ours(), run.process.pid]:
        os.kill(pid, signal.SIGTERM)
    ended = run.end()

    assert ended.status == 2
    assert ended.left == []
    assert not any("ended by SIGTERM" in reason for reason in ended.node["reasons"])
    assert ended.node["interrupted"] == "SIGTERM"


@pytest.mark.parametrize("run_id", [["--run-id=r1"], []], ids=["run-id", "local"])
def test_a_run_stopped_before_its_first_check_replaces_an_earlier_pass(smoke, run_id):
    assert smoke.rehearse(*run_id).node["verdict"] == "PASS"
    run = smoke.start("--rehearse", *run_id, environment={"STUB_TORCH": "hang"})
    run.fact('"fact":"inventory"')
    run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.status == 2
    assert _fails_the_node(ended)


def test_a_run_whose_workers_all_died_replaces_an_earlier_pass(smoke):
    smoke.rehearse()
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:bind:slow=2")
    for pid in run.wait_for(lambda: (pids := list(filter(_is_worker, run.ours())))[1:] and pids):
        os.kill(pid, signal.SIGKILL)
    ended = run.end()

    assert ended.status != 0
    assert ended.left == []
    assert _fails_the_node(ended)


@pytest.fixture
def copy(tmp_path) -> Path:
    """Copy what a run needs of this clone, so that a check of it can be broken."""
    clone = tmp_path / "clone"
    for name in ("fixtures", "reporting", "smoke_tests"):
        shutil.copytree(CLONE / name, clone / name)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(CLONE / name, clone)
    return clone


BREAKS = [
    ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("def test_x(:\n", "SyntaxError: invalid syntax"),
]


@pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])
@pytest.mark.parametrize(("line", "says"), BREAKS, ids=["import", "syntax"])
def test_checks_that_can_not_be_collected_fail_the_node_and_replace_a_pass(
    smoke, copy, workers, line, says
):
    smoke.rehearse(cwd=copy)
    with (copy / "smoke_tests/test_host.py").open("a") as file:
        file.write(line)
    ended = smoke.rehearse(*workers, cwd=copy)

    assert ended.status != 0
    assert _fails_the_node(ended)
    start = "checks could not be collected from smoke_tests/test_host.py: "
    (reason,) = (text for text in ended.node["reasons"] if text.startswith(start))
    assert reason.endswith(says)
    assert f"  FAIL     {start}" in ended.text
    assert "Traceback (most recent call last)" not in ended.text
    assert "INTERNALERROR" not in ended.text


def test_a_narrowed_run_that_broke_is_still_a_part(smoke, copy):
    """It was never to vouch for the node, and so does not take away what did."""
    smoke.rehearse(cwd=copy)
    with (copy / "smoke_tests/test_host.py").open("a") as file:
        file.write("def test_x(:\n")
    ended = smoke.rehearse("-k", "gemm", cwd=copy)

    assert ended.status != 0
    whole, part = sorted(ended.results, key=lambda path: path.parent.name == "partial")
    assert b'"verdict":"PASS"' in whole.read_bytes()
    assert b'"verdict":"FAIL"' in part.read_bytes()
    assert (ended.dump / "passing_nodes.txt").read_text() != ""


def test_a_run_that_ends_at_its_first_failure_says_why(smoke):
    ended = smoke.rehearse("-x", "--rehearse-fault=gpu0:bind:raise")

    assert ended.status != 0
    assert _fails_the_node(ended)
    assert re.fullmatch(
        "pytest broke off: stopping after [12] failures; run again", ended.node["reasons"][-1]
    )


def test_what_was_not_judged_after_the_first_failure_is_lost(smoke):
    ended = smoke.rehearse("-x", "-n0", "--rehearse-fault=gpu0:bind:raise")

    assert ended.status == 1
    assert _fails_the_node(ended)
    assert ended.check("host.shm") == {
        "id": "host.shm",
        "tier": "tier1",
        "outcome": "LOST",
        "message": "host.shm was not judged: the run ended before that; run again",
    }


def test_a_tier_that_was_stopped_is_made_good_by_judging_it_again(smoke):
    smoke.rehearse("-m", "tier1", "--run-id=r1")
    run = smoke.start(
        "--rehearse", "-m", "tier2", "--run-id=r1", environment={"STUB_TORCH": "hang"}
    )
    run.fact('"fact":"inventory"')
    run.process.send_signal(signal.SIGTERM)
    stopped = run.end()
    assert stopped.node["verdict"] == "FAIL"
    assert stopped.outcome("run.complete") == "FAIL"
    assert "the run was stopped by SIGTERM" in stopped.node["reasons"][0]

    again = smoke.rehearse("-m", "tier2", "--run-id=r1")

    assert again.status == 0
    assert again.node["verdict"] == "PASS"
    assert again.node["interrupted"] == ""
    assert again.node["tiers"] == ["tier1", "tier2"]
