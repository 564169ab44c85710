"""What the launcher leaves when it can't make an environment, or not at once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time

import pytest


def test_failed_installation_leaves_no_venv(clone):
    clone.python()
    err = clone.err(STUB_PIP_FAILS_ON=".")
    assert "ERROR: no route to the index\n[ERROR] [node-smoke] can't install into .venv\n" in err
    assert "Set VENV_ACTIVATE" in err
    assert not clone.venv.exists()


def test_failed_addition_leaves_the_venv(clone):
    clone.python()
    shim = clone.python_of_venv("")
    clone.err("--rehearse", STUB_PIP_FAILS_ON=".[rehearse]")
    assert shim.exists()


def test_signal_during_installation(clone):
    clone.python()
    process = clone.start(STUB_PIP_HANGS="1")
    clone.wait_for("pip")
    lock = clone.path / ".venv.lock"
    with lock.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert not clone.venv.exists()
    # Whatever pip had started would hold the lock.
    subprocess.run(["flock", "-w", "20", lock, "true"], check=True)


def test_second_process_waits_for_the_first(clone):
    clone.python()
    with (clone.path / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = clone.start()
        assert "waiting for another process that makes .venv" in process.stderr.readline()
        time.sleep(0.2)
        assert clone.calls() == []
        clone.python_of_venv("")
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert [call["argv"][0] for call in clone.calls()] == ["pytest"]


def test_no_lock_no_venv(clone):
    clone.python()
    (clone.tmp / "tools/flock").unlink()
    assert "[ERROR] [node-smoke] can't lock" in clone.err()
    assert not clone.venv.exists()


@pytest.mark.parametrize("with_lock", [True, False])
def test_read_only_clone(clone, with_lock):
    clone.python("")
    if with_lock:
        (clone.path / ".venv.lock").touch()
    clone.path.chmod(0o555)
    wrap = []
    if os.geteuid() == 0:  # may write everywhere, unless that is taken away
        if not shutil.which("setpriv"):
            pytest.skip("root without setpriv can't be kept from writing")
        wrap = [shutil.which("setpriv"), "--inh-caps=-all", "--bounding-set=-all"]
    err = clone.err("--rehearse", wrap=wrap)
    clone.path.chmod(0o755)
    assert f"[ERROR] [node-smoke] can't make .venv: {clone.path} is not writable\n" in err
    assert "lacks: torch\n" in err
    assert "Set VENV_ACTIVATE=" in err
