"""Files into entries: whatever lies there becomes a named entry, and nothing raises."""

import json
import os

import pytest

from reporting import load
from reporting.load import Folder
from tests.reporting import make

DEEP = b'{"tests":' + b"[" * 100_000 + b"]" * 100_000 + b',"node":{}}'


def only(dump):
    (entry,) = Folder(dump).scan()
    return entry


def test_a_result_a_part_and_a_mark_are_told_apart(tmp_path):
    make.result(tmp_path, "a")
    make.result(tmp_path, "b", partial=True)
    make.started(tmp_path, "c")

    found = {entry.name: entry.sort for entry in Folder(tmp_path).scan()}

    assert found == {"a": "result", "b": "partial", "c": "mark"}


def test_a_part_among_the_results_is_still_a_part(tmp_path):
    make.put(tmp_path / "smoke/n1.json", make.document(partial=True))

    assert only(tmp_path).sort == "partial"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b'{"node":',
        b'{"node": null}',
        b"\xff\xfe",
        b'{"node": {}} trailing',
        DEEP,
        {"node": {"name": "n1"}},
        make.document(rank="first"),
        make.document(checks=[1]),
        make.document(checks=[make.check(outcome="GREEN")]),
        make.document(verdict="FINE"),
        make.document(tiers=None),
        make.document(schema=2),
        make.document(name=""),
        make.document(name=["n1"]),
        make.document(started="now"),
        b'{"node": {"name": "n1", "started": 1' + b"0" * 400 + b"}}",
    ],
)
def test_what_is_no_result_is_a_broken_entry_under_its_nodes_name(tmp_path, raw):
    make.put(tmp_path / "smoke/n1.json", raw)

    entry = only(tmp_path)

    assert entry.said is None
    assert entry.error
    assert entry.name == "n1"


def test_an_unknown_field_is_no_reason_to_refuse_a_result(tmp_path):
    make.result(tmp_path, invented={"a": 1}, checks=[make.check(invented=2)])

    assert only(tmp_path).said is not None


def test_a_broken_result_counts_under_the_name_in_it(tmp_path):
    make.result(tmp_path, "inside", file="outside", rank="first", run_id="7")

    entry = only(tmp_path)

    assert (entry.name, entry.run_id, entry.said) == ("inside", "7", None)


def test_an_oversized_file_is_refused_unread(tmp_path):
    path = make.result(tmp_path)
    os.truncate(path, load.LARGEST + 1)

    assert f"{load.LARGEST + 1} bytes, expected at most {load.LARGEST}" in only(tmp_path).error


@pytest.mark.parametrize("sort", ["pipe", "folder"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, sort):
    (tmp_path / "smoke").mkdir()
    make_it = os.mkfifo if sort == "pipe" else os.mkdir
    make_it(tmp_path / "smoke/n1.json")

    assert only(tmp_path).error == "not a regular file"


def test_an_unreadable_file_names_the_error(tmp_path, monkeypatch):
    make.result(tmp_path)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(load, "contents", refuse)

    assert only(tmp_path).error == "[Errno 13] Permission denied"


def test_a_replay_is_not_for_the_merge(tmp_path):
    make.put(tmp_path / "smoke/n1.json", make.document(replay_of="/x/n1.json"))
    make.put(tmp_path / "smoke/replay/n2.json", make.document("n2"))

    assert Folder(tmp_path).scan() == []


def test_what_is_being_written_or_is_not_ours_is_not_looked_at(tmp_path):
    for name in (".n1.77.tmp", ".n1.json", "notes.txt", "n1.json.bak"):
        make.put(tmp_path / "smoke" / name, b"x")

    assert Folder(tmp_path).scan() == []


def test_a_file_is_read_again_only_when_it_changed(tmp_path, monkeypatch):
    make.result(tmp_path)
    read = []
    contents = load.contents
    monkeypatch.setattr(load, "contents", lambda path: read.append(path) or contents(path))
    folder = Folder(tmp_path)

    folder.scan(), folder.scan()
    assert len(read) == 1

    make.result(tmp_path, rank=3)
    (entry,) = folder.scan()
    assert len(read) == 2
    assert entry.said.rank == 3


@pytest.mark.parametrize("error", [FileNotFoundError, NotADirectoryError])
def test_a_dump_path_that_is_none_raises(tmp_path, error):
    path = tmp_path / "x"
    if error is NotADirectoryError:
        path.write_text("")

    with pytest.raises(error):
        Folder(path).scan()


def test_a_node_that_looks_for_itself_learns_only_that_there_are_others(tmp_path):
    make.result(tmp_path, "n1")
    folder = Folder(tmp_path, only="N1")

    assert [entry.name for entry in folder.scan()] == ["n1"]
    assert not folder.company

    make.started(tmp_path, "n2")
    assert [entry.name for entry in folder.scan()] == ["n1"]
    assert folder.company


def test_random_bytes_are_an_entry(tmp_path):
    make.put(tmp_path / "smoke/n1.started", os.urandom(1000))

    entry = only(tmp_path)

    assert (entry.name, entry.sort, entry.said) == ("n1", "mark", None)


TESTS = [{"nodeid": f"test_{n}", "outcome": "passed", "keywords": ["a"]} for n in range(3)]


def whole():
    """Return a result as it is published, without blanks."""
    content = make.document(tests=TESTS, checks=[make.check(message='says ,"tests":[ }]}')])
    return json.dumps(content, separators=(",", ":")).encode()


def test_a_published_result_is_read_whatever_its_messages_say(tmp_path):
    make.put(tmp_path / "smoke/n1.json", whole())

    entry = only(tmp_path)

    assert (entry.said.name, entry.digest.counts["checks"]) == ("n1", 1)


@pytest.mark.parametrize("end", range(1, 160, 7))
def test_a_result_that_is_cut_short_anywhere_is_broken(tmp_path, end):
    make.put(tmp_path / "smoke/n1.json", whole()[:-end])

    entry = only(tmp_path)

    assert (entry.name, entry.said) == ("n1", None)


def test_tests_may_stand_in_front_of_the_node(tmp_path):
    turned = dict(reversed(make.document(tests=TESTS).items()))
    make.put(tmp_path / "smoke/n1.json", json.dumps({"a": 1, **turned}, separators=(",", ":")))

    assert only(tmp_path).said.name == "n1"


def test_a_result_that_was_cut_where_a_test_ends_is_broken(tmp_path):
    tests = [{"nodeid": f"t{n}", "user_properties": [{"value": n}]} for n in range(3)]
    raw = json.dumps(make.document(tests=tests), separators=(",", ":")).encode()
    make.put(tmp_path / "smoke/whole.json", raw)
    make.put(tmp_path / "smoke/part.json", raw[: raw.index(b',{"nodeid":"t1"')])

    part, whole = Folder(tmp_path).scan()

    assert raw[: raw.index(b',{"nodeid":"t1"')].endswith(b"]}")
    assert (part.said, whole.said is not None) == (None, True)


def test_a_key_within_the_node_is_not_taken_for_its_tests(tmp_path):
    node = {**make.document()["node"], "tests": [{"nodeid": "t", "keywords": ["a"]}]}
    make.put(tmp_path / "smoke/n1.json", json.dumps({"node": node}, separators=(",", ":")))

    assert only(tmp_path).said.name == "n1"
