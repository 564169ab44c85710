"""What goes wrong around a run: it ends, leaves a result that says so, and nothing else of ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

AGAIN = "; run again; if it stays, look for the GPU in dmesg and reset it"
RESET = "; look for it in dmesg, reset the GPU or reboot the node, and run again"


@pytest.mark.parametrize(
    ("fault", "says", "what_to_do"),
    [
        ("segv", "ended its process: the process was ended by SIGSEGV", AGAIN),
        ("exit", "ended its process: the process exited with code 0 without an answer", AGAIN),
        ("raise", "failed: RuntimeError: rehearsed fault: the driver said no", RESET),
        ("garbage", "failed: answered garbage: b'\\x00\\xff\\xfe not an answer'", AGAIN),
        ("hang", "hung: no answer in 1 s (--per-gpu-timeout-sec), process", RESET),
    ],
)
def test_a_gpu_that_fails_is_named_with_its_stage_and_how(smoke, fault, says, what_to_do):
    ended = smoke.rehearse(f"--rehearse-fault=gpu1:allocate:{fault}", "--per-gpu-timeout-sec=1")

    assert ended.status == 1
    message = ended.check("gpu.allocate", "gpu1")["message"]
    assert message.startswith(f"gpu1: allocate {says}")
    assert message.endswith(what_to_do)
    assert ended.outcome("gpu.bind", "gpu1") == "PASS"
    assert ended.outcome("gpu.gemm", "gpu0") == "PASS"
    assert ended.check("gpu.gemm", "gpu1")["outcome"] == "FAIL"
    assert ended.node["reasons"] == [message]


def test_a_wrong_product_fails_the_gpu_that_made_it(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu0:gemm:wrong")

    assert ended.status == 1
    assert ended.outcome("gpu.gemm", "gpu0") == "FAIL"
    assert ended.outcome("gpu.gemm", "gpu1") == "PASS"
    assert "that are not finite are 1, expected 0" in ended.node["reasons"][0]


def test_a_slow_gpu_passes_inside_its_deadline_and_tells_its_time(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu0:bind:slow=0.5")

    assert ended.status == 0
    assert ended.node["durations"]["bind"] >= 0.5


@pytest.mark.parametrize(
    ("how", "says", "what_to_do"),
    [
        (
            "fail",
            "torch can't be imported: ImportError: libstub.so.1: cannot open shared object",
            "; activate the environment that you train with, or set VENV_ACTIVATE to it",
        ),
        (
            "exit",
            "the process that imports torch exited with code 7",
            "; look in dmesg for the out-of-memory killer, and try python -c 'import torch'",
        ),
        (
            "hang",
            "importing torch took longer than 1 s (--import-timeout-sec)",
            "; look at the file system that torch lies on, or raise --import-timeout-sec",
        ),
    ],
)
def test_torch_that_can_not_be_imported_is_one_reason_about_the_node(smoke, how, says, what_to_do):
    ended = smoke.rehearse("--import-timeout-sec=1", environment={"STUB_TORCH": how})

    assert ended.status == 1
    (reason,) = ended.node["reasons"]
    assert reason.startswith(says)
    assert reason.endswith(what_to_do)
    assert ended.check("host.torch")["message"] == reason
    for gpu in ("gpu0", "gpu1"):
        for check in ("gpu.bind", "gpu.memory", "gpu.allocate", "gpu.gemm"):
            assert ended.outcome(check, gpu) == "FAIL"
            assert ended.check(check, gpu)["cause"] == "host.torch"
            assert says in ended.check(check, gpu)["message"]
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
        " controller._TO_BEGIN = 1; journal.SLACK = -78",
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
