"""A node's result gets to where the merge looks for it, whole, and takes nobody's place."""

import json
import os

import pytest

from reporting import load, publish
from reporting.cli import main
from tests.reporting import make
from tests.reporting.make import T0, left, published


def test_a_result_and_its_junit_are_written_and_said(dump, send, capsys):
    assert send() == 0

    assert left(dump) == ["junit/n1.xml", "smoke/n1.json"]
    assert capsys.readouterr().out.splitlines() == [
        f"result {dump}/smoke/n1.json",
        f"junit {dump}/junit/n1.xml",
    ]


def test_the_node_stands_in_front_and_the_file_holds_no_blanks(dump, send):
    send()

    raw = (dump / "smoke/n1.json").read_bytes()
    assert raw.startswith(b'{"node":{"schema":1,')
    assert raw.index(b'"node"') < raw.index(b'"tests"')
    assert b'", ' not in raw


def test_a_part_and_a_replay_lie_apart_and_take_no_wholes_place(dump, send):
    send()
    whole = (dump / "smoke/n1.json").read_bytes()

    assert send(partial=True, verdict="PARTIAL") == send(replay_of="x.json") == 0

    assert left(dump) == [
        "junit/n1.xml",
        "junit/partial/n1.xml",
        "junit/replay/n1.xml",
        "smoke/n1.json",
        "smoke/partial/n1.json",
        "smoke/replay/n1.json",
    ]
    assert (dump / "smoke/n1.json").read_bytes() == whole


def test_a_part_alone_has_its_junit_where_it_is_looked_for(dump, send):
    send(partial=True)

    assert left(dump) == ["junit/n1.xml", "smoke/partial/n1.json"]


def test_a_whole_result_answers_its_mark(dump, send):
    make.started(dump)

    send()

    assert left(dump) == ["junit/n1.xml", "smoke/n1.json"]


@pytest.mark.parametrize(
    "mark",
    [{"run_id": "other"}, {"hostname": "other"}, {"started": T0 + 100}],
)
def test_a_mark_that_is_not_answered_stays(dump, send, mark):
    make.started(dump, **mark)

    send()

    assert "smoke/n1.started" in left(dump)


def test_a_part_answers_no_mark_of_a_whole_run_that_died(dump, send):
    make.started(dump, started=T0 - 60)

    send(partial=True)

    assert "smoke/n1.started" in left(dump)


def test_a_part_answers_the_mark_of_its_own_run(dump, send):
    make.started(dump)

    send(partial=True)

    assert "smoke/n1.started" not in left(dump)


def test_a_broken_file_that_lies_there_is_replaced(dump, send):
    make.put(dump / "smoke/n1.json", b"{")

    assert send() == 0
    assert published(dump)["name"] == "n1"


def test_what_python_writes_and_json_does_not_know_is_no_reason_to_lose_a_result(dump, send):
    raw = json.dumps(make.document(tests=[{"nodeid": "a\ud800", "x": float("nan"), "y": 1}]))
    raw = raw.replace('"y": 1', '"y": 1e999')

    assert send(raw) == 0

    (entry,) = load.Folder(dump).scan()
    assert entry.said is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "result.json: "),
        (b"[]", "no result, it holds a list"),
        ({"tests": []}, "missing required field `node`"),
        ({"node": {"name": "n1"}}, "missing required field"),
        (make.document(name=""), "node ''"),
        (make.document(schema=2), "schema 2"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "recursion"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(dump, send, capsys, content, said):
    assert send(content) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not dump.exists()


def test_a_result_that_is_not_there_is_named(dump, tmp_path, capsys):
    assert main(["publish", f"--result={tmp_path}/none.json", f"--dump-path={dump}"]) == 2

    assert f"{tmp_path}/none.json: [Errno 2]" in capsys.readouterr().err


def test_a_dump_path_that_cannot_be_written_is_named(dump, send, capsys):
    dump.write_text("a file")

    assert send() == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert f"{dump}/smoke" in line
    assert "[Errno 20] Not a directory" in line


@pytest.fixture
def full(small, dump):
    """Make a dump path without room."""
    return small(dump, "16k")


def test_a_full_file_system_is_named_and_no_half_result_left(full, send, capsys):
    assert send(tests=[{"nodeid": "x" * 100_000}]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"node-smoke: {full}/smoke/n1.json: [Errno 28] No space left on device"
    assert left(full) == []


def test_a_file_system_that_fills_up_at_the_junit_keeps_the_result(dump, send, capsys, monkeypatch):
    def refuse(_dump, _node, _name):
        raise OSError(28, "No space left on device", "junit")

    monkeypatch.setattr(publish, "_write_junit", refuse)

    assert send() == 2
    assert left(dump) == ["smoke/n1.json"]
    assert capsys.readouterr().out.splitlines() == [f"result {dump}/smoke/n1.json"]


def test_tests_that_are_too_much_are_left_out_and_the_verdict_is_not(dump, send):
    assert send(tests=[{"nodeid": "x", "stdout": "x" * (load.LARGEST + 1)}]) == 0

    (entry,) = load.Folder(dump).scan()
    assert entry.said.verdict == "PASS"


def test_a_verdict_that_is_too_much_is_refused(dump, send, capsys, monkeypatch):
    monkeypatch.setattr(publish, "LARGEST", 100)

    assert send() == 2
    assert "expected at most 100" in capsys.readouterr().err
    assert not dump.exists()


def test_a_name_cannot_leave_the_dump_path(dump, send, tmp_path):
    send(name="../../escaped", hostname="../../host")

    assert left(dump) == ["junit/%2E.%2F..%2Fescaped.xml", "smoke/%2E.%2F..%2Fescaped.json"]
    assert os.listdir(tmp_path / "run") == ["result.json"]


def test_a_name_longer_than_a_file_name_can_be_is_published(dump, send):
    assert send(name="x" * 10_000) == 0
    assert send(name="x" * 10_000, hostname="other") == 0

    assert len(left(dump)) == 4


def test_eight_gpus_of_both_tiers_stay_within_the_promised_size(dump, send):
    checks = [
        make.check(f"gpu.property{k}", f"gpu{g}", message="m" * 120, value=1.5, unit="GiB", limit=2)
        for g in range(8)
        for k in range(20)
    ]
    send(checks=checks)

    assert (dump / "smoke/n1.json").stat().st_size < 50 * 1024
