"""The mark of a node that has begun: left, answered, withdrawn, and never another machine's."""

from __future__ import annotations

import json

import pytest

from reporting.cli import main

MARK = {
    "schema": 1,
    "run_id": "7.0",
    "name": "a1",
    "hostname": "a1.site",
    "boot_id": "b1",
    "started": 1000.0,
    "bound": 60.0,
    "tiers": ["tier1"],
    "rehearsal": False,
    "rank": 0,
}


def leave(dump, *arguments, **changes):
    content = json.dumps({**MARK, **changes})
    return main(["mark", f"--dump-path={dump}", f"--content={content}", *arguments])


def test_a_mark_is_left_where_the_merge_looks(tmp_path):
    assert leave(tmp_path) == 0

    assert json.loads((tmp_path / "smoke/a1.started").read_text()) == MARK


@pytest.mark.parametrize(
    ("other", "host"),
    [
        ({"hostname": "a1.elsewhere", "boot_id": "b2"}, "a1.elsewhere"),
        ({"boot_id": "b2"}, "a1.site"),
    ],
)
def test_a_second_machine_of_that_name_leaves_a_mark_of_its_own(tmp_path, other, host):
    leave(tmp_path)
    leave(tmp_path, **other)

    assert {p.name for p in tmp_path.rglob("*.started")} == {"a1.started", f"a1~{host}.started"}


def test_a_withdrawn_mark_is_gone_and_a_later_one_stays(tmp_path):
    leave(tmp_path)
    assert leave(tmp_path, "--withdraw") == 0
    assert list(tmp_path.rglob("*.started")) == []

    leave(tmp_path, started=2000.0)
    leave(tmp_path, "--withdraw")

    assert [p.name for p in tmp_path.rglob("*.started")] == ["a1.started"]


@pytest.mark.parametrize("content", ["", "[]", '{"name": 1}'])
def test_what_is_no_mark_is_refused(tmp_path, content, capsys):
    assert main(["mark", f"--dump-path={tmp_path}", f"--content={content}"]) == 2

    assert "the mark:" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == []


def test_a_mark_that_can_not_be_written_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")

    assert leave(tmp_path / "file") == 2
    assert "Not a directory" in capsys.readouterr().err or "File exists" in capsys.readouterr().err
