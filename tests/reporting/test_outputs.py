"""Files appear whole or not at all."""

import os
import subprocess

import junitparser
import pytest

from reporting import outputs
from reporting.model import Cluster, Kind, Row
from tests.reporting import make, pages


def cluster(**fields):
    rows = [
        Row("n10", Kind.PASS),
        Row("n9", Kind.PASS),
        Row("bad", Kind.FAIL),
        Row("<missing-0>", Kind.MISSING, named=False),
    ]
    return Cluster("123.0", rows, 4, ["n10", "n9", "bad"], **fields)


def test_the_outputs_lie_with_their_run_and_as_the_latest(tmp_path):
    outputs.write_all(tmp_path, cluster(), "report\n")

    for folder in (tmp_path, tmp_path / "runs/123.0"):
        assert (folder / "smoke_report.md").read_text() == "report\n"
        assert (folder / "passing_nodes.txt").read_text() == "n9\nn10\n"
        assert (folder / "failing_nodes.txt").read_text() == "bad\n"
        assert (folder / "expected_nodes.txt").read_text() == "bad\nn9\nn10\n"
        assert (folder / "passing_nodes.hostlist").read_text() == "n[9-10]\n"
        assert (folder / "failing_nodes.hostlist").read_text() == "bad\n"
        names = [suite.name for suite in junitparser.JUnitXml.fromfile(folder / "smoke_junit.xml")]
        assert names == ["n10", "n9", "bad", "<missing-0>"]


def test_a_list_of_nobody_is_an_empty_file(tmp_path):
    outputs.write_all(tmp_path, Cluster("r", [], 0, []), "")

    assert (tmp_path / "failing_nodes.txt").read_bytes() == b""
    assert (tmp_path / "failing_nodes.hostlist").read_bytes() == b""


def test_the_documented_use_of_an_empty_list_is_no_option_at_all(tmp_path):
    script = 'bad=$(cat failing_nodes.hostlist); printf "<%s>" ${bad:+--exclude="$bad"} job'

    for nodes, said in (([], "<job>"), (["n1", "n2"], "<--exclude=n[1-2]><job>")):
        rows = [Row(name, Kind.FAIL) for name in nodes]
        outputs.write_all(tmp_path, Cluster("r", rows, 0, []), "")
        told = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, check=True)
        assert told.stdout.decode() == said


def test_what_others_write_lies_beside_it(tmp_path):
    more = {"summary.json": lambda file: file.write(b"{}")}

    outputs.write_all(tmp_path, cluster(), "", more)

    for folder in (tmp_path, tmp_path / "runs/123.0"):
        assert (folder / "summary.json").read_bytes() == b"{}"


def test_the_latest_stay_whole_when_one_file_of_a_run_cannot_be_written(tmp_path):
    outputs.write_all(tmp_path, cluster(), "old\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}

    def half(file):
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        outputs.write_all(tmp_path, cluster(), "new\n", {"smoke_report.html": half})

    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
    assert not [p for p in tmp_path.rglob(".*")]


def test_the_checks_of_a_node_are_read_from_its_file(tmp_path):
    path = make.result(tmp_path, "n1", **make.failing(), facts=[])
    row = pages.row("n1", pages.found("gpu.bind"))
    row.path = path

    outputs.write_all(tmp_path, pages.merged(row), "")
    assert 'name="bind[gpu0]"' in (tmp_path / "smoke_junit.xml").read_text()

    path.unlink()
    outputs.write_all(tmp_path, pages.merged(row), "")
    assert 'message="gpu.bind is bad"' in (tmp_path / "smoke_junit.xml").read_text()


def test_a_file_is_replaced_at_once_and_nothing_stays_beside_it(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")

    with outputs.replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")

    def half(file):
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError), outputs.replacing(path) as file:
        half(file)

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_link_that_lies_where_we_write_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (tmp_path / f".x.{os.getpid()}.tmp").symlink_to(outside)

    outputs.write(tmp_path / "x", b"new")

    assert outside.read_text() == "untouched"


@pytest.fixture
def full(small, tmp_path):
    """Make a file system without room."""
    return small(tmp_path / "full", "8k")


def test_a_full_file_system_is_named_and_left_clean(full):
    with pytest.raises(OSError, match="No space left on device") as caught:
        outputs.write(full / "x", b"x" * 100_000)

    assert caught.value.filename == str(full / "x")
    assert os.listdir(full) == []


def test_what_a_run_left_can_be_withdrawn(tmp_path):
    outputs.write_all(tmp_path, cluster(), "report\n", {outputs.PAGE: lambda file: None})
    (tmp_path / "other.txt").write_text("")

    outputs.withdraw(tmp_path, "123.0")

    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["other.txt"]
