"""What is damaged, removed, full or late under a run: the result gets out and says so."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
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
    assert any("a line of the facts is damaged: " in r for r in ended.node["reasons"])
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
    assert (ended.node["verdict"], ended.node["partial"]) == ("FAIL", False)
    assert f"the run directory {folder} was removed during the run" in ended.node["reasons"]
    assert ended.seconds < 15


_FULL = (
    "exec unshare -m sh -c 'mount -t tmpfs -o size={} tmpfs /dev/shm || exit 9;"
    ' {} exec "$@"\' - "$python" "$@"'
)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="a full file system is made as root")


@as_root
@pytest.mark.parametrize("second", [True, False], ids=["runtime-dir", "no-runtime-dir"])
def test_a_full_dev_shm_sends_a_run_elsewhere(smoke, tmp_path, second):
    runtime, temporary = tmp_path / "runtime", tmp_path / "temporary"
    runtime.mkdir()
    temporary.mkdir()
    environment = {
        "XDG_RUNTIME_DIR": str(runtime) if second else "",
        "TMPDIR": str(temporary),
    }
    fill = "cat /dev/zero >/dev/shm/filler 2>/dev/null;"
    python = behind.python(tmp_path, _FULL.format("64k", fill))
    ended = smoke.rehearse("-n0", python=python, environment=environment)

    assert ended.status == 0, ended.text
    assert ended.node["verdict"] == "PASS"
    warnings = [re.sub("node-smoke-[^:]+:", "X:", text) for text in ended.node["warnings"]]
    said = (
        f"the run directory is {temporary}/X: neither /dev/shm nor XDG_RUNTIME_DIR can be written"
    )
    assert warnings == ([] if second else [said])
    assert [*runtime.iterdir(), *temporary.iterdir()] == []


@as_root
def test_a_dev_shm_that_fills_up_meanwhile_costs_the_result_and_not_the_verdict(smoke, tmp_path):
    python = behind.python(tmp_path, _FULL.format("2m", ""))
    run = smoke.start("--rehearse", SLOW, "-n0", python=python)
    shm = Path(f"/proc/{run.process.pid}/root/dev/shm")
    run.wait_for(lambda: list(shm.glob(f"node-smoke-{run.process.pid}-*/collected-*.json")))
    with (shm / "filler").open("wb", 0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    ended = run.end()

    assert ended.left == []
    assert ended.status == 3, ended.text
    assert ": PASS (REHEARSAL" in ended.text
    assert f"NOT WRITTEN: no result in {ended.dump} (/dev/shm/node-smoke-" in ended.text
    assert "No space left on device)" in ended.text
    assert "Traceback" not in ended.text


_SLOW = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "reporting.{}":
            time.sleep(1.2)

sys.meta_path.insert(0, Slow())
"""


@pytest.fixture
def slow(tmp_path):
    """Have a module of the reporter take its time to begin: give the environment for that."""

    def make(module):
        (tmp_path / "sitecustomize.py").write_text(_SLOW.format(module))
        return {"PYTHONPATH": f"{tmp_path}:{STUBS}"}

    return make


def test_a_run_that_ends_before_its_mark_was_written_leaves_no_mark(smoke, slow):
    """Written after the result, nobody would answer it: the node would count as dead."""
    environment = {"NODE_RANK": "0", **slow("mark")}
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


def test_a_run_that_is_stopped_while_its_result_is_written_writes_it(smoke, slow):
    """The verdict is out, and what is left to do is bounded."""
    environment = {"PYTHONUNBUFFERED": "1", **slow("publish")}
    run = smoke.start("--rehearse", "-n0", environment=environment)
    told = iter(run.process.stdout.readline, "")
    assert any(": PASS (REHEARSAL" in line for line in told)
    run.process.send_signal(signal.SIGTERM)
    ended = run.end()

    assert ended.left == []
    assert ended.status == 0, ended.text
    assert (ended.node["verdict"], ended.node["interrupted"]) == ("PASS", "")
    assert "NOT WRITTEN" not in ended.text


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_list_of_checks_that_is_lost_fails_the_node_and_replaces_a_pass(smoke, damage):
    smoke.rehearse()
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:slow=1", "-n0")
    run.collected()
    (path,) = _folder(run).glob("collected-*.json")
    if damage == "cut":
        os.truncate(path, 30)
    else:
        path.unlink()
    ended = run.end()

    assert ended.status == 1
    assert ended.node["verdict"] == "FAIL"
    assert ended.node["reasons"] == [
        "the list of checks was lost from the run directory: run again"
    ]
    assert (ended.dump / "passing_nodes.txt").read_text() == ""


@pytest.mark.parametrize("damage", ["nested", "emptied"])
def test_facts_that_are_beyond_reading_are_damage_at_once(smoke, damage):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:slow=1", "-n0")
    run.fact('"device":"gpu1","stage":"gemm"')
    run.collected()
    path = _folder(run) / "facts.jsonl"
    if damage == "nested":
        with path.open("ab") as file:
            file.write(b'{"fact":"end","x":' + b"[" * 5000 + b"\n")
    else:
        os.truncate(path, 0)
    ended = run.end()

    assert ended.status == 1
    assert ended.seconds < 15
    assert any("fact" in reason for reason in ended.node["reasons"])
