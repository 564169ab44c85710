"""What a node does not show, or not to everybody: told as unknown, by its name, and in time."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.behind import python
from tests.conftest import CLONE, Smoke
from tests.healthy import rdma
from tests.vendor_node import QUICK, VendorNode, of_kind, once, outcomes

NOBODY = 65534
KERNEL = ("kernel.gpu", "kernel.pcie", "kernel.machine", "kernel.network")
DENIED = "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Run once without an RDMA stack, without a time daemon, and without a look at the log."""
    folder = tmp_path_factory.mktemp("bare")
    node = VendorNode(folder, "nvidia", count=2)
    node.script("dmesg", DENIED)
    process = node.root / "proc/1"
    process.mkdir(parents=True)
    (process / "comm").write_text("systemd\n")
    yield from once(Smoke(folder), node, "--expected-gpus=2")


def test_what_is_missing_around_the_gpus_fails_no_node(bare):
    assert bare.status == 0, bare.text
    assert bare.node["reasons"] == []
    assert "Traceback" not in bare.text


def test_without_an_rdma_stack_there_is_one_warning_and_no_port(bare):
    check = bare.check("rdma.selection")

    assert check["outcome"] == "WARN"
    assert "no RDMA device (/sys/class/infiniband is not there)" in check["message"]
    others = {c["id"]: c["outcome"] for c in bare.node["checks"] if c["id"].startswith("rdma.")}
    del others["rdma.selection"]
    assert set(others.values()) == {"N/A"}


def test_a_kernel_log_that_may_not_be_read_is_unknown_and_never_clean(bare):
    for name in KERNEL:
        check = bare.check(name)
        assert check["outcome"] == "UNKNOWN"
        assert "Operation not permitted" in check["message"]


def test_without_a_time_daemon_there_is_a_warning(bare):
    check = bare.check("clock.daemon")

    assert check["outcome"] == "WARN"
    assert "chrony" in check["message"]


def test_a_port_whose_state_never_answers_is_named_and_the_others_are_judged(smoke, make_node):
    node = make_node("nvidia", count=2)
    rdma.tree(node.root, count=3)
    path = node.root / rdma.IB / "mlx5_1/ports/1/state"
    path.unlink()
    os.mkfifo(path)
    flags = ("--expected-gpus=2", "--snapshot-timeout-sec=2")
    ended = smoke(*node.arguments, *flags, environment=node.environment)

    assert ended.status == 1
    assert ended.seconds < 20
    told = outcomes(ended, "rdma.port_state")
    assert told == {"mlx5_0-p1": "PASS", "mlx5_1-p1": "FAIL", "mlx5_2-p1": "PASS"}
    message = ended.check("rdma.port_state", "mlx5_1-p1")["message"]
    assert message.startswith("mlx5_1:1")
    assert "no answer in 2 s" in message
    assert len(ended.node["reasons"]) == 1


@pytest.fixture
def unprivileged(tmp_path):
    """Give a Python of nobody's with what this one has installed, and a folder of nobody's."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("becoming another user needs root and setpriv")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    path = os.pathsep.join(map(str, site.getsitepackages()))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        argv = [*become, "env", f"PYTHONPATH={path}", name]
        tried = [*argv, "-c", "import msgspec, pytest, xdist"]
        if subprocess.run(tried, cwd=CLONE, capture_output=True, check=False).returncode == 0:
            break
    else:
        pytest.skip(f"no {version} here that user {NOBODY} may execute, with our packages")
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    yield python(tmp_path, f'exec {shlex.join(argv)} "$@"'), folder
    shutil.rmtree(folder)


@pytest.fixture
def of_another_user():
    """Leave the run directory of another user's run, which is closed to everybody else."""
    folder = Path(tempfile.mkdtemp(prefix="node-smoke-0-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def test_an_unprivileged_user_gets_a_result_and_is_told_what_he_may_not_see(
    smoke, unprivileged, of_another_user
):
    interpreter, folder = unprivileged
    ended = smoke(*QUICK, stub=False, dump=folder / "dump", python=interpreter)

    assert "Traceback" not in ended.text
    assert "INTERNALERROR" not in ended.text
    (path,) = ended.results
    assert path.stat().st_uid == NOBODY
    assert of_another_user.exists()
    assert not any(c["id"] == "run.complete" for c in ended.node["checks"])
    restricted = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "0"
    if restricted:
        assert {ended.outcome(name) for name in KERNEL} == {"UNKNOWN"}
        assert "not permitted" in ended.check("kernel.machine")["message"]
    (limit,) = of_kind(ended, "host_limit", name="memlock")
    assert limit["value"] is not None
