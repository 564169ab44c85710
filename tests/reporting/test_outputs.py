"""Files appear whole or not at all."""

import os

import pytest

from reporting import outputs
from reporting.model import Cluster, Kind, Row


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


def test_a_list_of_nobody_is_an_empty_file(tmp_path):
    outputs.write_all(tmp_path, Cluster("r", [], 0, []), "")

    assert (tmp_path / "failing_nodes.txt").read_bytes() == b""


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
    outputs.write_all(tmp_path, cluster(), "report\n")
    (tmp_path / "other.txt").write_text("")

    outputs.withdraw(tmp_path, "123.0")

    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["other.txt"]
