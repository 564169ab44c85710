"""Uninterruptible sleep, for real: what no signal ends must not keep a run from ending.

A write to a frozen ext4 file system leaves the writer in state D, SIGKILL pending, until the file
system is thawed. That needs root and a loop device.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

TIMEOUT = 2
_TOOLS = ("mkfs.ext4", "fsfreeze", "mount", "umount")


def _run(*argv):
    subprocess.run(argv, check=True, capture_output=True, text=True)


@pytest.fixture
def frozen(tmp_path):
    """Give a folder on which every write hangs in state D until the test is over."""
    if os.geteuid() != 0 or not all(map(shutil.which, _TOOLS)):
        pytest.skip(f"state D needs root and {', '.join(_TOOLS)}")
    image, mounted = tmp_path / "image", tmp_path / "mounted"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    _run("mkfs.ext4", "-q", str(image))
    try:
        _run("mount", "-o", "loop", str(image), str(mounted))
    except subprocess.CalledProcessError as e:
        pytest.skip(f"no loop device here: {e.stderr.strip()}")
    (mounted / "dump").mkdir()
    _run("fsfreeze", "-f", str(mounted))
    try:
        yield mounted
    finally:
        _run("fsfreeze", "-u", str(mounted))
        _run("umount", "-l", str(mounted))


def unkillable(pids):
    """Return those of *pids* that are in state D with a SIGKILL pending."""
    found = []
    for pid in pids:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        if status["State"].startswith("D") and int(status["ShdPnd"], 16) & 1 << 8:
            found.append(pid)
    return found


@pytest.mark.parametrize("hung", [["gpu1"], ["gpu0", "gpu1"]], ids=["one", "all"])
@pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])
def test_a_gpu_that_no_signal_ends_costs_one_deadline(smoke, frozen, hung, workers):
    faults = [f"--rehearse-fault={gpu}:allocate:block={frozen}/{gpu}" for gpu in hung]
    run = smoke.start("--rehearse", *faults, f"--per-gpu-timeout-sec={TIMEOUT}", *workers)
    forked = run.fact('"stage":"bind"') and time.monotonic()

    run.process.wait(timeout=30)
    took = time.monotonic() - forked
    at_the_end = unkillable(run.ours())
    ended = run.end()

    assert took < TIMEOUT + 3
    assert len(at_the_end) == len(hung)
    assert ended.status == 1
    assert ended.node["verdict"] == "FAIL"
    for gpu in hung:
        check = ended.check("gpu.allocate", gpu)
        assert check["outcome"] == "FAIL"
        assert check["message"].startswith(f"{gpu}: allocate hung: no answer in 2 s")
        assert "in state D (disk sleep)" in check["message"]
        assert "SIGKILL does not end it" in check["message"]
        assert ended.outcome("gpu.bind", gpu) == "PASS"
    assert ended.outcome("gpu.gemm", "gpu0") == ("FAIL" if "gpu0" in hung else "PASS")
    assert f"{hung[0]}: allocate hung" in ended.text


@pytest.mark.parametrize("workers", [["-n0"], []], ids=["in-process", "workers"])
def test_a_dump_path_that_hangs_does_not_cost_the_verdict(smoke, frozen, workers):
    run = smoke.start("--rehearse", "--write-timeout-sec=2", *workers, dump=frozen / "dump")

    run.process.wait(timeout=30)
    at_the_end = unkillable(run.ours())
    ended = run.end()

    assert len(at_the_end) >= 1
    assert ended.status == 3
    assert ": PASS (REHEARSAL" in ended.text
    assert f"NOT WRITTEN: no result in {frozen}/dump" in ended.text
    assert "in state D (disk sleep)" in ended.text
    assert ended.seconds < 12


def test_a_replay_of_a_hung_gpu_names_the_same_stage(smoke, frozen, tmp_path):
    first = smoke.start(
        "--rehearse", f"--rehearse-fault=gpu0:bind:block={frozen}/x", "--per-gpu-timeout-sec=1"
    ).end()

    again = smoke(f"--replay={first.results[0]}", dump=tmp_path / "second")

    assert again.status == 1
    assert again.check("gpu.bind", "gpu0") == first.check("gpu.bind", "gpu0")
    stuck = next(f["stuck"] for f in again.node["facts"] if f.get("outcome") == "hung")
    assert stuck["state"] == "D (disk sleep)"
    assert stuck["survived_kill"]
    assert stuck["wchan"] or stuck["stack"]
