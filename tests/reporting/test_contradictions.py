"""A result that contradicts itself is no PASS, whatever its verdict says."""

import pytest

from tests.reporting import make

CHECKS = [make.check(), make.check("gpu.gemm")]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"interrupted": "SIGTERM"},
            "its run was stopped by SIGTERM: run the node again",
        ),
        (
            {"coverage": {"checks": 14, "PASS": 14}},
            "its checks are not those that it counted: the file was changed, run it again",
        ),
        (
            {"checks": CHECKS, "coverage": {"checks": 2, "PASS": 1, "FAIL": 1}},
            "its checks are not those that it counted: the file was changed, run it again",
        ),
        (
            {"coverage": {"checks": 1, "PASS": 1, "NONSENSE": 1}},
            "its checks are not those that it counted: the file was changed, run it again",
        ),
        (
            {
                "checks": [make.check(outcome="UNKNOWN"), make.check("gpu.gemm", outcome="N/A")],
                "coverage": {"checks": 2, "UNKNOWN": 1, "N/A": 1},
            },
            "nothing could be looked at on it: look at its unknowns, and run it again",
        ),
        (
            {"checks": [make.check(outcome="UNKNOWN")], "coverage": {}},
            "nothing could be looked at on it: look at its unknowns, and run it again",
        ),
    ],
    ids=["stopped", "fewer", "others", "kinds", "nothing seen", "unknown"],
)
def test_a_pass_that_its_own_content_contradicts_is_a_fail(tmp_path, fields, says):
    make.result(tmp_path, "n1", verdict="PASS", **fields)
    make.result(tmp_path, "n2")

    assert make.merge(tmp_path) == 1
    assert make.lines(tmp_path / "passing_nodes.txt") == ["n2"]
    assert make.lines(tmp_path / "failing_nodes.txt") == ["n1"]
    assert says in (tmp_path / "smoke_report.md").read_text()


@pytest.mark.parametrize(
    "fields",
    [
        {"checks": CHECKS, "coverage": {}},
        {"checks": CHECKS, "coverage": {"checks": 2, "PASS": 2, "FAIL": 0, "N/A": 0}},
        {
            "checks": [*CHECKS, make.check("host.shm", outcome="UNKNOWN")],
            "coverage": {"checks": 3, "PASS": 2, "UNKNOWN": 1},
        },
        {
            "checks": [make.check(outcome="WARN"), make.check("host.shm", outcome="N/A")],
            "coverage": {"checks": 2, "WARN": 1, "N/A": 1},
        },
    ],
    ids=["uncounted", "counted", "one unknown", "warned"],
)
def test_a_pass_that_its_content_bears_out_stays_one(tmp_path, fields):
    """Results of an older version count nothing."""
    make.result(tmp_path, "n1", **fields)

    assert make.merge(tmp_path) == 0
    assert make.lines(tmp_path / "passing_nodes.txt") == ["n1"]
