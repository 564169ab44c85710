"""What is damaged, removed, full or late under a run: the result gets out and says so."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests import behind
from tests.conftest import STUBS

SLOW = "--rehearse-fault=gpu0:gemm:slow=0.5"
BOTH = pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])


def _folder(run) -> Path:
    (folder,) = Path("/dev/shm").glob(f"node-smoke-{run.process.pid}-*")
    return folder


@BOTH
def test_a_damaged_line_among_the_facts_is_a_reason_and_no_crash(smoke, workers):
    """Nobody knows what it would have said."""
    run = smoke.start("--rehearse", SLOW, *workers)
    run.collected()
    with (_folder(run) / "facts.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n")
    ended = run.end()

    assert ended.left == []
    assert ended.status == 1, ended.text
    (reason,) = ended.node["reasons"]
    assert reason.startswith("a line of the facts is damaged: JSON is malformed")
    others = [c for c in ended.node["checks"] if c["id"] != "run.complete"]
    assert {c["outcome"] for c in others} == {"PASS", "N/A"}
    assert "INTERNALERROR" not in ended.text


def test_facts_that_lose_their_end_are_damaged_by_the_next_one(smoke):
    run = smoke.start("--rehearse", SLOW, "-n0")
    run.collected()
    run.fact('"device":"gpu1","stage":"gemm"')
    path = _folder(run) / "facts.jsonl"
    os.truncate(path, path.stat().st_size - 20)
    ended = run.end()

    assert ended.left == []
    assert ended.status == 1, ended.text
    assert any(r.startswith("a line of the facts is damaged: ") for r in ended.node["reasons"])
    assert "INTERNALERROR" not in ended.text


@BOTH
def test_a_run_directory_that_is_removed_is_a_reason_in_a_result_that_is_written(smoke, workers):
    run = smoke.start("--rehearse", SLOW, *workers)
    run.collected(by=len(workers) or 2)
    folder = _folder(run)
    shutil.rmtree(folder)
    ended = run.end()

    assert ended.left == []
    assert ended.status == 1, ended.text
    assert ended.node["verdict"] == "FAIL"
    assert f"the run directory {folder} was removed during the run" in ended.node["reasons"]
    assert ended.seconds < 15


_FULL = "exec unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec \"$@\"' -"


@pytest.mark.skipif(os.geteuid() != 0, reason="a full file system is made as root")
@pytest.mark.parametrize("second", [True, False], ids=["runtime-dir", "no-runtime-dir"])
def test_a_full_dev_shm_sends_a_run_elsewhere(smoke, tmp_path, second):
    runtime, temporary = tmp_path / "runtime", tmp_path / "temporary"
    runtime.mkdir()
    temporary.mkdir()
    environment = {
        "XDG_RUNTIME_DIR": str(runtime) if second else "",
        "TMPDIR": str(temporary),
    }
    python = behind.python(tmp_path, f'{_FULL} "$python" "$@"')
    ended = smoke.rehearse("-n0", python=python, environment=environment)

    assert ended.status == 0, ended.text
    assert ended.node["verdict"] == "PASS"
    warnings = [re.sub("node-smoke-[^:]+:", "X:", text) for text in ended.node["warnings"]]
    said = (
        f"the run directory is {temporary}/X: neither /dev/shm nor XDG_RUNTIME_DIR can be written"
    )
    assert warnings == ([] if second else [said])
    assert [*runtime.iterdir(), *temporary.iterdir()] == []


_SLOW_MARK = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "reporting.mark":
            time.sleep(1.2)

sys.meta_path.insert(0, Slow())
"""


def test_a_run_that_ends_before_its_mark_was_written_leaves_no_mark(smoke, tmp_path):
    """Written after the result, nobody would answer it: the node would count as dead."""
    (tmp_path / "sitecustomize.py").write_text(_SLOW_MARK)
    environment = {"NODE_RANK": "0", "PYTHONPATH": f"{tmp_path}:{STUBS}"}
    waits = ["--expected-nodes=2", "--wait-timeout-sec=2"]  # longer than the mark takes
    run = smoke.start("--rehearse", "-n0", *waits, environment=environment)
    run.fact('"fact":"inventory"')
    run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.left == []
    assert ended.node["interrupted"] == "SIGTERM"
    assert not list(ended.dump.glob("smoke/*.started"))


def _heeds(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = int(status.partition("SigIgn:\t")[2].split()[0], 16)
    return not ignored & 1 << number - 1


def test_a_run_that_is_stopped_while_it_waits_for_others_keeps_its_own_result(smoke):
    run = smoke.start(
        "--rehearse",
        "-n0",
        "--expected-nodes=2",
        "--wait-timeout-sec=30",
        environment={"NODE_RANK": "0"},
    )
    run.wait_for(
        lambda: list(run.dump.glob("junit/*.xml")) and _heeds(run.process.pid, signal.SIGTERM)
    )
    run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.left == []
    assert ended.status == 2, ended.text
    assert ended.seconds < 15
    assert "NOT MERGED: stopped by SIGTERM; this node's result is written" in ended.text
    assert ended.node["verdict"] == "PASS"
    assert not list(ended.dump.glob("*_nodes.txt"))


def test_a_second_signal_does_not_cost_the_result(smoke):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:hang", "-n0")
    run.collected()
    run.process.send_signal(signal.SIGTERM)
    for _ in range(20):
        try:
            run.process.wait(0.02)
        except subprocess.TimeoutExpired:
            run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.left == []
    assert ended.node["interrupted"] == "SIGTERM"
    assert ended.node["verdict"] == "FAIL"
