"""What calibration leaves out: parts of GPUs, checks that ended badly, figures that are absurd."""

import pytest

from reporting.cli import main
from tests.reporting.good_nodes import GEMM, H200, HBM, calibrated, checks, facts, leave, measured
from tests.reporting.good_nodes import mode as mode_of

TOGETHER = [measured("performance.all_reduce", "", 346.0, "GB/s")]
PARTS = "# left out: {} of GPUs (MIG, DPX, TPX, QPX, CPX),\n"


@pytest.fixture
def site(tmp_path):
    """Calibrate by what lies in the temporary folder."""
    return lambda *arguments: calibrated(tmp_path, *arguments)


def divided(*modes, **fields):
    """Return the fields of a node of which so many GPUs reach a tenth, as they are parts."""
    gemm = [79.0] * len(modes) + [790.0] * (8 - len(modes))
    told = [mode_of(f"gpu{i}", **mode) for i, mode in enumerate(modes)]
    return {"gemm": gemm, "told": [*facts(**fields), *told], "more": TOGETHER}


@pytest.mark.parametrize(
    "mode", [{"mig": True}, *({"compute": c} for c in ("DPX", "TPX", "QPX", "CPX", "cpx"))]
)
def test_parts_of_gpus_are_left_out_and_what_their_node_did_together(tmp_path, site, mode):
    leave(tmp_path, "n1", more=TOGETHER)
    spx = {"compute": "SPX"}
    leave(tmp_path, "n2", **divided(*[mode] * 3, *[spx] * 5))

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert "from 13 GPUs of 2 nodes," in text
    assert "of 13 GPUs in 2 nodes" in profile.limit("gemm_tflops_min").source
    assert PARTS.format("3 parts") in text
    assert "1 value of 8 GPUs in 1 node" in profile.all_reduce[0].gbs_min.source
    assert profile.limit("expected_gpus").source.startswith("alike on 1 node,")


@pytest.mark.parametrize("mode", [{"mig": False}, {"compute": "SPX"}, {"applies": False}])
def test_a_whole_gpu_counts(tmp_path, site, mode):
    leave(tmp_path, **{**divided(*[mode] * 8), "gemm": [790.0] * 8})

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert len(profile.all_reduce) == 1
    assert "left out" not in text


def test_where_one_gpu_is_cut_those_that_say_nothing_are_parts_too(tmp_path, site):
    leave(tmp_path, "n1")
    leave(tmp_path, "n2", **{**divided({"compute": "CPX"}), "gemm": [79.0] * 8})

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert PARTS.format("8 parts") in text


def test_a_gpu_of_unknown_mode_is_a_part_by_its_name(tmp_path, site):
    leave(tmp_path, "n1")
    leave(tmp_path, "n2", [79.0] * 8, told=facts(8, "", f"{H200} MIG 1g.18gb"))

    profile, text = site()

    assert profile.pattern == H200
    assert profile.limit("gemm_tflops_min").value == 750
    assert PARTS.format("8 parts") in text


def test_nothing_but_parts_is_2(tmp_path, capsys):
    leave(tmp_path, **{**divided(*[{"mig": True}] * 8)})

    assert main(["calibrate", f"--dump-path={tmp_path}"]) == 2
    assert "no whole GPU, found 8 parts of GPUs (MIG, DPX" in capsys.readouterr().err


@pytest.mark.parametrize("outcome", ["FAIL", "UNKNOWN", "HUNG", "LOST"])
def test_a_check_that_did_not_end_well_does_not_count(tmp_path, site, outcome):
    bad = [measured(GEMM, f"gpu{i}", 100.0, "TFLOPS", outcome) for i in range(8)]
    slow = measured("performance.all_reduce", "", 10.0, "GB/s", outcome)
    leave(tmp_path, "n1", more=TOGETHER)
    leave(tmp_path, "n2", checks=[*bad, slow])

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert [row.gbs_min.value for row in profile.all_reduce] == [328]
    assert "# left out: 9 values of checks that did not end well\n" in text


@pytest.mark.parametrize("outcome", ["WARN", "N/A"])
def test_a_warning_and_a_limit_of_0_have_figures_to_go_by(tmp_path, site, outcome):
    leave(tmp_path, checks=[measured(GEMM, f"gpu{i}", 790.0, "TFLOPS", outcome) for i in range(8)])

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert "left out" not in text


@pytest.mark.parametrize(
    ("check", "key", "unit", "most"),
    [
        (GEMM, "gemm_tflops_min", "TFLOPS", 20_000),
        (HBM, "hbm_gbs_min", "GB/s", 50_000),
        ("performance.h2d_gbs", "h2d_gbs_min", "GB/s", 1_000),
        ("performance.d2h_gbs", "d2h_gbs_min", "GB/s", 1_000),
    ],
)
def test_what_no_part_can_do_does_not_count(tmp_path, site, check, key, unit, most):
    figures = [measured(check, f"gpu{i}", float(most), unit) for i in range(8)]
    absurd = [measured(check, f"gpu{i}", most * 1.001, unit) for i in range(2)]
    leave(tmp_path, checks=[*figures, *absurd])

    profile, text = site("--margin=0")

    assert profile.limit(key).value == most
    assert "of 8 GPUs in 1 node" in profile.limit(key).source
    assert "# left out: 2 values above what any part can do\n" in text


def test_an_absurd_all_reduce_does_not_count(tmp_path, site):
    leave(tmp_path, "n1", more=TOGETHER)
    leave(tmp_path, "n2", more=[measured("performance.all_reduce", "", 10_001.0, "GB/s")])

    profile, text = site()

    assert "1 value of 8 GPUs in 1 node" in profile.all_reduce[0].gbs_min.source
    assert "# left out: 1 value above what any part can do\n" in text


def test_nothing_but_absurd_figures_is_2(tmp_path, capsys):
    leave(tmp_path, checks=checks([30_000.0] * 8))

    assert main(["calibrate", f"--dump-path={tmp_path}"]) == 2
    assert "no performance figure to go by (8 values left out)" in capsys.readouterr().err
