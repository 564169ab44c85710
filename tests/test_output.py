"""What becomes of the output, and what foreign text is in it, costs neither verdict nor status."""

from __future__ import annotations

import os
import signal

import pytest

from tests import behind

BAD = "--rehearse-fault=gpu1:gemm:raise"
BROKEN = [([], 0, "PASS"), ([BAD], 1, "FAIL")]
BROKEN_IDS = ["good", "bad"]


@pytest.mark.parametrize(("fault", "status", "verdict"), BROKEN, ids=BROKEN_IDS)
def test_a_reader_that_leaves_after_the_first_line_changes_nothing(smoke, fault, status, verdict):
    """As `| head -1` does."""
    run = smoke.start("--rehearse", "-n0", *fault)
    assert run.process.stdout.readline()
    run.process.stdout.close()
    run.process.stdout = None
    ended = run.end()

    assert ended.status == status
    assert ended.left == []
    assert ended.node["verdict"] == verdict
    assert (ended.dump / "smoke_report.md").exists()


CLOSED = [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>&1"]


@pytest.mark.parametrize("redirection", CLOSED)
def test_no_output_at_all_changes_nothing(smoke, tmp_path, redirection):
    """Descriptors that are closed must not be taken by what the run itself opens either."""
    python = behind.python(tmp_path, f'exec "$python" "$@" {redirection}')
    ended = smoke.rehearse("-n0", python=python)

    assert ended.status == 0, ended.text
    assert ended.node["verdict"] == "PASS"
    assert "Traceback" not in ended.text
    assert (ended.dump / "smoke_report.md").exists()


@pytest.mark.parametrize("redirection", ["<&- >&-", ">/dev/full 2>&1"])
def test_no_output_at_all_makes_no_pass_of_a_broken_gpu(smoke, tmp_path, redirection):
    python = behind.python(tmp_path, f'exec "$python" "$@" {redirection}')
    ended = smoke.rehearse("-n0", BAD, python=python)

    assert ended.status == 1
    assert ended.node["verdict"] == "FAIL"
    assert ended.outcome("gpu.gemm", "gpu1") == "FAIL"
    assert (ended.dump / "passing_nodes.txt").read_text() == ""


def test_nor_does_it_where_workers_judge(smoke, tmp_path):
    python = behind.python(tmp_path, 'exec "$python" "$@" >/dev/full')
    ended = smoke.rehearse(BAD, python=python)

    assert ended.status == 1
    assert ended.node["reasons"] == [ended.check("gpu.gemm", "gpu1")["message"]]


@pytest.mark.parametrize(
    ("name", "shown", "written"),
    [
        (b"\xff\xfe", "node \ufffd\ufffd: PASS (", "\ufffd\ufffd"),
        (b"a1\n\x1b[2Jb", "node a1 \ufffd[2Jb: PASS (", "a1\n\x1b[2Jb"),
    ],
    ids=["no text", "control"],
)
def test_a_node_name_that_a_terminal_would_obey_is_shown_as_one_plain_line(
    smoke, name, shown, written
):
    ended = smoke.rehearse("-n0", environment={"SLURMD_NODENAME": os.fsdecode(name)})

    assert ended.status == 0, ended.text
    assert ended.node["name"] == written
    assert any(line.startswith(shown) for line in ended.text.splitlines())
    assert not any(c in ended.text for c in ("\x1b", "\r", "\udcff"))


def test_a_run_that_nohup_began_outlives_its_terminal(smoke, tmp_path):
    python = behind.python(tmp_path, 'trap \'\' HUP; exec "$python" "$@"')
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:bind:slow=1", python=python)
    run.collected(by=2)
    for pid in [*run.ours(), run.process.pid]:
        os.kill(pid, signal.SIGHUP)
    ended = run.end()

    assert ended.status == 0, ended.text
    assert ended.left == []
    assert ended.node["interrupted"] == ""
    assert ended.node["verdict"] == "PASS"
