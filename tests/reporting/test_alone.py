"""A node without a rank, which knows of no others and replaces nothing of theirs."""

import os
import shlex

import pytest

from tests.reporting import make
from tests.reporting.make import T0


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump path"
    path.mkdir()
    return path


def test_a_node_alone_in_its_dump_path_writes_everything(dump):
    make.result(dump, "n1", run_id="local")

    assert make.merge(dump, alone="n1", run_id="local") == 0

    assert make.lines(dump / "passing_nodes.txt") == ["n1"]
    assert make.lines(dump / "failing_nodes.txt") == []
    assert make.lines(dump / "expected_nodes.txt") == ["n1"]


@pytest.mark.parametrize("other", ["result", "mark", "broken", "old run"])
def test_beside_others_a_node_writes_no_list_and_prints_how_to_merge(dump, capsys, other):
    make.result(dump, "n1", run_id="local")
    if other == "result":
        make.result(dump, "n2", run_id="local", **make.failing())
    elif other == "mark":
        make.started(dump, "n2", run_id="local", started=T0 + 1)
    elif other == "broken":
        make.put(dump / "smoke/n2.json", b"{")
    else:
        make.result(dump, "n2", run_id="7.0", started=1000.0)

    assert make.merge(dump, alone="n1", run_id="local") == 0

    assert not list(dump.rglob("*.txt"))
    (report,) = dump.rglob("*.md")
    assert report.parent == dump / "runs/local"
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"report {report}"
    command = shlex.split(out[-1])
    assert command == ["python", "-m", "reporting", "aggregate", f"--dump-path={dump}"]
    assert len(list((dump / "smoke").iterdir())) == 2


@pytest.mark.parametrize("state", [{}, make.failing("gpu0: no answer")])
def test_a_node_alone_does_not_say_again_what_it_has_just_said(dump, capsys, state):
    """Its verdict and reasons stand two lines higher on the same terminal, and in the report."""
    make.result(dump, "n1", run_id="local", **state)
    make.merge(dump, alone="n1", run_id="local")
    alone = capsys.readouterr().out.splitlines()

    assert [line.split()[0] for line in alone] == ["report", "passing", "failing"]
    assert ("gpu0: no answer" in (dump / "smoke_report.md").read_text()) is bool(state)
    make.merge(dump)
    merged = capsys.readouterr().out.splitlines()
    assert [line for line in merged if line in alone] == alone


def test_two_nodes_alone_do_not_replace_each_others_report(dump):
    for name in ("n1", "n2"):
        make.result(dump, name, run_id="local")

    for name in ("n1", "n2"):
        make.merge(dump, alone=name, run_id="local")

    assert len(os.listdir(dump / "runs/local")) == 2


def test_a_node_alone_ends_as_its_own_row_does(dump):
    make.result(dump, "n1", run_id="local", **make.failing())
    make.result(dump, "n2", run_id="local")

    assert make.merge(dump, alone="n1", run_id="local") == 1
    assert make.merge(dump, alone="n2", run_id="local") == 0
    assert make.merge(dump, alone="n3", run_id="local") == 1


def test_a_node_alone_is_not_asked_for_others_tiers_nor_for_their_run(dump):
    make.result(dump, "n1", run_id="local")
    make.result(dump, "n2", run_id="9.0", started=T0 + 60, tiers=["tier2"])

    assert make.merge(dump, alone="n1") == 0


def test_a_node_alone_never_cleans(dump):
    make.result(dump, "n1")
    make.result(dump, "n1", file="n1~x", hostname="x", run_id="old", started=1000.0)

    make.merge(dump, alone="n1")

    assert (dump / "smoke/n1~x.json").exists()


def test_a_node_alone_on_a_local_disk_is_as_it_should_be(dump):
    make.result(dump, "n1")

    assert make.merge(dump, fstype="ext4", alone="n1") == 0


def test_two_machines_alone_under_one_name_are_a_fail(dump):
    make.result(dump, "n1")
    make.result(dump, "n1", file="n1~x", hostname="x")

    assert make.merge(dump, alone="n1") == 1
