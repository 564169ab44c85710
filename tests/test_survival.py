"""What goes wrong around a run: it ends, leaves a result that says so, and nothing else of ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("segv", "ended its process: the process was ended by SIGSEGV"),
        ("exit", "ended its process: the process exited with code 0 without an answer"),
        ("raise", "failed: RuntimeError: rehearsed fault: the driver said no"),
        ("garbage", "failed: answered garbage: b'\\x00\\xff\\xfe not an answer'"),
        ("hang", "hung: no answer in 1 s (--per-gpu-timeout-sec), process"),
    ],
)
def test_a_gpu_that_fails_is_named_with_its_stage_and_how(smoke, fault, says):
    ended = smoke.rehearse(f"--rehearse-fault=gpu1:allocate:{fault}", "--per-gpu-timeout-sec=1")

    assert ended.status == 1
    message = ended.check("gpu.allocate", "gpu1")["message"]
    assert message.startswith(f"gpu1: allocate {says}")
    assert message.endswith("run again")
    assert ended.outcome("gpu.bind", "gpu1") == "PASS"
    assert ended.outcome("gpu.gemm", "gpu0") == "PASS"
    assert ended.check("gpu.gemm", "gpu1")["outcome"] == "FAIL"
    assert ended.node["reasons"] == [message]


def test_a_wrong_product_fails_the_gpu_that_made_it(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu0:gemm:wrong")

    assert ended.status == 1
    assert ended.outcome("gpu.gemm", "gpu0") == "FAIL"
    assert ended.outcome("gpu.gemm", "gpu1") == "PASS"
    assert "1 elements that are not finite, expected 0" in ended.node["reasons"][0]


def test_a_slow_gpu_passes_inside_its_deadline_and_tells_its_time(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu0:bind:slow=0.5")

    assert ended.status == 0
    assert ended.node["durations"]["bind"] >= 0.5


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("fail", "torch can't be imported: ImportError: libstub.so.1: cannot open shared object"),
        ("exit", "the process that imports torch exited with code 7"),
        ("hang", "importing torch took longer than 1 s (--import-timeout-sec)"),
    ],
)
def test_torch_that_can_not_be_imported_fails_every_gpu_with_that_reason(smoke, how, says):
    ended = smoke.rehearse("--import-timeout-sec=1", environment={"STUB_TORCH": how})

    assert ended.status == 1
    for gpu in ("gpu0", "gpu1"):
        assert says in ended.check("gpu.bind", gpu)["message"]
    assert ended.outcome("gpu.visible") == "PASS"
    assert ended.outcome("host.memlock") == "N/A"


def test_a_slow_import_is_not_a_bad_gpu(smoke):
    ended = smoke.rehearse("--per-gpu-timeout-sec=1", environment={"STUB_TORCH": "slow=1.5"})

    assert ended.status == 0
    assert ended.node["durations"]["import"] >= 1.5


@pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])
def test_a_recorder_that_is_killed_is_noticed_at_once_and_the_result_still_written(smoke, workers):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:hang", *workers)
    run.fact('"stage":"allocate"')
    (recorder,) = (pid for pid in run.ours() if _is_recorder(pid, run.process.pid))
    os.kill(recorder, signal.SIGKILL)
    ended = run.end()

    assert ended.status == 1
    assert ended.left == []
    assert "the recorder ended before the fact 'stage gpu0 gemm'" in ended.text
    assert ended.outcome("gpu.gemm", "gpu0") == "FAIL"
    assert ended.seconds < 10


def test_a_recorder_that_is_frozen_is_replaced_for_the_result(smoke):
    run = smoke.start(
        "--rehearse",
        "--rehearse-fault=gpu0:gemm:slow=2",
        "--per-gpu-timeout-sec=2",
        "--import-timeout-sec=1",
        "-n0",
        prelude="sys.path.insert(0, '.'); from fixtures import controller, journal;"
        " controller._TO_BEGIN = 1; journal.SLACK = -26",
    )
    run.collected()
    (recorder,) = (pid for pid in run.ours() if _is_recorder(pid, run.process.pid))
    os.kill(recorder, signal.SIGSTOP)
    ended = run.end()

    assert ended.status == 1
    assert ended.left == []
    assert ended.node["verdict"] == "FAIL"
    assert any("the recorder has been silent" in reason for reason in ended.node["reasons"])


def _is_recorder(pid: int, parent: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return command.rstrip(b"\0").endswith(b"fixtures.recorder") and int(stat[1]) == parent


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


def _is_worker(pid: int) -> bool:
    return b"sys.stdin.readline" in Path(f"/proc/{pid}/cmdline").read_bytes()


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


def test_pytest_killed_outright_leaves_its_mark_and_nothing_else(smoke):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:hang")
    run.fact('"device":"gpu1","stage":"gemm"')
    run.wait_for(lambda: list(run.dump.glob("smoke/*.started")))
    run.process.kill()
    ended = run.end()

    assert ended.left == []
    assert [p.suffix for p in run.dump.rglob("*") if p.is_file()] == [".started"]


def test_what_a_run_that_was_killed_whole_left_is_swept_up_an_hour_later(smoke):
    old, fresh = (Path(f"/dev/shm/node-smoke-0-{name}-{os.getpid()}") for name in ("old", "new"))
    for path in (old, fresh):
        path.mkdir(mode=0o700)
        (path / "recorder.lock").touch()
    os.utime(old, (0, 0))
    try:
        smoke.rehearse()

        assert not old.exists()
        assert fresh.exists()
    finally:
        for path in (old, fresh):
            shutil.rmtree(path, ignore_errors=True)


def test_a_frozen_worker_is_ended_past_the_runs_bound(smoke):
    """SIGSTOP stands in for a worker whose source file system hangs; no timeout acts in it."""
    run = smoke.start(
        "--rehearse",
        "--rehearse-fault=gpu0:bind:slow=1",
        "--per-gpu-timeout-sec=2",
        "--import-timeout-sec=1",
        prelude="sys.path.insert(0, '.'); from fixtures import run; run.WATCHDOG_SLACK = -22",
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


def test_a_dump_path_that_can_not_be_written_costs_the_exit_status_and_not_the_verdict(
    smoke, tmp_path
):
    (tmp_path / "file").write_text("in the way")

    ended = smoke.rehearse(dump=tmp_path / "file" / "dump")

    assert ended.status == 3
    assert ": PASS (REHEARSAL" in ended.text
    assert "NOT WRITTEN" in ended.text
    assert "Not a directory" in ended.text


def test_a_full_dump_path_leaves_no_half_result(smoke, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a full file system is made as root")
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full], check=True)
    try:
        (full / "filler").write_bytes(b"x" * 60 * 1024)
        ended = smoke.rehearse("--rehearse-fault=gpu0:bind:raise", dump=full)
        left = [p.name for p in full.rglob("*.json")]
    finally:
        subprocess.run(["umount", full], check=True)

    assert ended.status == 1, ended.text
    assert ": FAIL (REHEARSAL" in ended.text
    assert "No space left on device" in ended.text
    assert left == []
