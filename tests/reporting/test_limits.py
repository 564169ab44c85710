"""What a merge holds nodes to: as asked, else as most of the nodes were held."""

import pytest

from reporting.cli import main
from reporting.limits import Limits, limits
from reporting.model import Kind, Node, Option, Row
from tests.reporting import make

NAMES = ("clock_skew_warn_sec", "tool_warn_sec", "hbm_busy_threshold_gib", "gpu_activity_warn_pct")
NOTHING = dict.fromkeys(NAMES)


def row(**options):
    known = {name: value for name, value in make.node().items() if name in Node.__struct_fields__}
    given = {name: Option(value, "flag") for name, value in options.items()}
    return Row("n1", Kind.PASS, node=Node(**{**known, "options": given}))


def test_nothing_asked_and_nothing_told_are_the_defaults():
    assert limits(NOTHING, [row(), Row("n2", Kind.MISSING)]) == Limits()


def test_the_nodes_own_limits_go_for_the_merge():
    told = row(rocm_smi_warn_sec=2, hbm_busy_threshold_gib=0.5, gpu_activity_warn_pct=5)

    held_to = limits(NOTHING, [told])

    assert held_to == Limits(
        tool_warn_sec=2.0, hbm_busy_threshold_gib=0.5, gpu_activity_warn_pct=5.0
    )


def test_a_flag_goes_before_what_the_nodes_say():
    asked = {**NOTHING, "hbm_busy_threshold_gib": 4.0, "clock_skew_warn_sec": 1.0}

    held_to = limits(asked, [row(hbm_busy_threshold_gib=0.5)], fail_outliers=True)

    assert held_to == Limits(
        hbm_busy_threshold_gib=4.0, clock_skew_warn_sec=1.0, fail_outliers=True
    )


def test_of_several_the_commonest_counts_and_of_two_the_stricter():
    many = [row(gpu_activity_warn_pct=x) for x in (50, 20, 50, 20, 10)]

    assert limits(NOTHING, many).gpu_activity_warn_pct == 20


@pytest.mark.parametrize("odd", [None, "much", True, [1], {"a": 1}])
def test_a_limit_that_is_none_is_not_taken(odd):
    assert limits(NOTHING, [row(hbm_busy_threshold_gib=odd)]) == Limits()


def test_a_limit_beyond_all_numbers_is_no_trouble():
    assert limits(NOTHING, [row(hbm_busy_threshold_gib=10**400)]).hbm_busy_threshold_gib > 1e300


@pytest.mark.parametrize("alias", ["--rocm-smi-warn-sec", "--tool-warn-sec"])
def test_the_flags_of_the_merge_are_taken(tmp_path, alias):
    make.result(tmp_path)
    flags = [f"{alias}=2", "--clock-skew-warn-sec=5", "--hbm-busy-threshold-gib=1"]
    flags += ["--gpu-activity-warn-pct=3", "--fail-outliers", "--wait-timeout-sec=0"]

    assert main(["aggregate", f"--dump-path={tmp_path}", *flags]) == 0


@pytest.mark.parametrize("flag", ["--clock-skew-warn-sec=-1", "--gpu-activity-warn-pct=nan"])
def test_a_flag_that_is_no_limit_is_refused(tmp_path, flag, capsys):
    assert main(["aggregate", f"--dump-path={tmp_path}", flag]) == 2
    assert "number" in capsys.readouterr().err
