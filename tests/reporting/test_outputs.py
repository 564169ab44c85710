"""Files appear whole or not at all."""

import errno
import io
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


def test_all_files_stay_as_they_were_when_one_of_a_run_cannot_be_written(tmp_path, monkeypatch):
    outputs.write_all(tmp_path, cluster(), "old\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}

    def half(file):
        file.write(b"half")
        raise RuntimeError

    monkeypatch.setattr(outputs, "_junit", lambda file, cluster: half(file))
    with pytest.raises(RuntimeError):
        outputs.write_all(tmp_path, cluster(), "new\n")

    for folder in (tmp_path, tmp_path / "runs/123.0"):
        assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before
    assert not [p for p in tmp_path.rglob(".*")]


def test_a_page_that_cannot_be_made_stops_no_other_file_and_no_old_one_stays(tmp_path, capsys):
    outputs.write_all(tmp_path, cluster(), "old\n", {outputs.PAGE: lambda file: None})

    def half(file):
        file.write(b"half")
        raise ValueError("broken\nnumber")

    more = {outputs.PAGE: half, outputs.SUMMARY: lambda file: file.write(b"{}")}
    written = outputs.write_all(tmp_path, cluster(), "new\n", more)

    for folder in (tmp_path, tmp_path / "runs/123.0"):
        assert (folder / outputs.REPORT).read_text() == "new\n"
        assert (folder / outputs.SUMMARY).read_text() == "{}"
        assert not (folder / outputs.PAGE).exists()
    assert not any(line.startswith("page") for line in outputs.told(written, alone=False))
    reason = f"{tmp_path / outputs.PAGE}: ValueError: broken number"
    assert capsys.readouterr().err == f"node-smoke: {reason}\n"


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


def test_two_writers_with_one_process_id_do_not_touch_each_others_file(tmp_path):
    path = tmp_path / "x"

    with outputs.replacing(path) as first:
        first.write(b"first, ")
        outputs.write(path, b"second")
        assert path.read_text() == "second"
        first.write(b"whole")

    assert path.read_text() == "first, whole"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_file_has_the_mode_that_any_other_would_have(tmp_path, umask):
    before = os.umask(umask)
    try:
        path = outputs.write(tmp_path / "x", b"")
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_what_a_dead_merge_left_goes_after_a_day(tmp_path):
    folder = tmp_path / "runs/123.0"
    folder.mkdir(parents=True)
    old = [folder / ".smoke_report.md.77.tmp", tmp_path / f".summary.json.{'a' * 16}.tmp"]
    kept = [tmp_path / f".summary.json.{'b' * 16}.tmp", tmp_path / ".mine.77.tmp"]
    for path in (*old, *kept):
        path.write_text("")
    for path in (*old, kept[1]):
        os.utime(path, (0, 0))

    outputs.write_all(tmp_path, cluster(), "")

    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in kept)


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


def test_the_file_that_a_full_file_system_had_no_room_for_is_named(small, tmp_path):
    full = small(tmp_path / "full", "160k")
    more = {outputs.SUMMARY: lambda file: file.write(b"x" * 200_000)}

    with pytest.raises(OSError, match="No space left on device") as caught:
        outputs.write_all(full, cluster(), "", more)

    assert caught.value.filename == str(full / "runs/123.0" / outputs.SUMMARY)
    assert [path for path in full.rglob("*") if path.is_file()] == []


def test_a_file_of_somebody_else_keeps_its_name_in_an_error(tmp_path):
    with (
        pytest.raises(FileNotFoundError) as caught,
        outputs.replacing(tmp_path / "x"),
    ):
        (tmp_path / "template").read_bytes()

    assert caught.value.filename == str(tmp_path / "template")


def test_a_full_terminal_is_given_up_after_the_first_line(monkeypatch):
    told = []

    class Full(io.StringIO):
        def write(self, text):
            told.append(text)
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())
    outputs.say("one")
    outputs.say("two")

    assert told == ["one"]


def test_what_a_run_left_can_be_withdrawn(tmp_path):
    outputs.write_all(tmp_path, cluster(), "report\n", {outputs.PAGE: lambda file: None})
    (tmp_path / "other.txt").write_text("")

    outputs.withdraw(tmp_path, "123.0")

    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["other.txt"]
