"""Hostile names are one row each, and nothing is written outside the dump path."""

import pytest

from reporting import names
from tests.reporting import make

HOSTILE = [
    "../../../../tmp/out",
    "/etc/passwd",
    "a|b",
    "two\nnames",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "x" * 10_000,
    "..",
    ".hidden",
    "`code`",
    "name,other",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_row_and_writes_nothing_outside(tmp_path, name):
    dump = tmp_path / "a/b/dump path"
    make.result(dump, name, run_id=name, hostname=name, **make.failing(f"{name} is bad"))

    assert make.merge(dump) == 1

    outside = [p for p in tmp_path.rglob("*") if p.is_file() and not p.is_relative_to(dump)]
    assert outside == []
    assert {p.parent.name for p in dump.rglob("*.md")} == {dump.name, names.stem(name)}
    assert len(make.lines(dump / "failing_nodes.txt")) == 1
    report = make.lines(dump / "smoke_report.md")
    (row,) = [line for line in report if line.startswith("| - |")]
    assert row.replace("\\|", "").count("|") == 6
    assert not any("<script" in line or "\x1b" in line for line in report)
