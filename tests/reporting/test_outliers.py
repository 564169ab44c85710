"""Outliers: far off the median of like GPUs, on the bad side, among enough of them."""

import pytest

from reporting.model import Kind
from reporting.outliers import fail, message, outliers
from reporting.render import terminal
from reporting.sections import fail_outliers, find
from tests.reporting.clusters import MI300, cluster, digest, finding, healthy, row, said, section


def spread(count=4):
    """Return nodes whose GPUs differ by eight per cent from end to end, as healthy ones do."""
    rows = healthy(count)
    for k, one in enumerate(rows):
        for n, gpu in enumerate(one.digest.gpus):
            share = 0.96 + 0.08 * (k * 8 + n) / (count * 8 - 1)
            gpu.numbers["gemm_tflops"] = 790 * share
    return rows


def found(rows):
    return [(one.node, one.device, one.name) for one in outliers(cluster(*rows))]


def test_healthy_gpus_that_differ_by_eight_per_cent_are_none():
    assert found(spread()) == []


def test_a_slow_gpu_is_found_with_its_median_and_the_number_of_its_peers():
    rows = spread()
    rows[2].digest.gpus[3].numbers["gemm_tflops"] = 600.0

    (one,) = outliers(cluster(*rows))

    assert (one.node, one.device, one.name, one.value) == ("n3", "gpu3", "gemm_tflops", 600.0)
    assert one.median == pytest.approx(790, rel=0.01)
    assert one.peers == 31
    assert one.sigmas > 3.5
    assert message(one).startswith("gpu3: GEMM is 600 TFLOPS, 23.")
    assert "below the median of 78" in message(one)
    assert message(one).endswith("of 31 peers (8 x NVIDIA H200)")


def test_a_fast_gpu_is_none():
    rows = spread()
    rows[2].digest.gpus[3].numbers["gemm_tflops"] = 1200.0

    assert found(rows) == []


@pytest.mark.parametrize(("degrees", "hot"), [(90.0, True), (20.0, False)])
def test_temperature_is_bad_on_the_hot_side(degrees, hot):
    rows = healthy(4)
    rows[1].digest.gpus[0].numbers["temperature_c"] = degrees

    assert found(rows) == ([("n2", "gpu0", "temperature_c")] if hot else [])


@pytest.mark.parametrize(("share", "far"), [(0.951, False), (0.949, True)])
def test_of_others_that_are_all_alike_five_per_cent_decides(share, far):
    """More than half at the median: the deviation is 0, and any gap is many sigmas."""
    rows = healthy(4)
    rows[1].digest.gpus[0].numbers["clock_mhz"] = 1980 * share

    assert found(rows) == ([("n2", "gpu0", "clock_mhz")] if far else [])
    assert all(one.sigmas is None for one in outliers(cluster(*rows)))


@pytest.mark.parametrize(("nodes", "far"), [(8, False), (9, True)])
def test_fewer_than_eight_peers_prove_nothing(nodes, far):
    rows = healthy(nodes)
    rows[1].digest.values["performance.all_reduce"] = 100.0

    assert found(rows) == ([("n2", "", "performance.all_reduce")] if far else [])


def test_peers_are_those_with_the_same_gpus():
    slower = [row(f"m{k}", digest(model=MI300)) for k in range(2)]
    for one in slower:
        for gpu in one.digest.gpus:
            gpu.numbers["gemm_tflops"] = 500.0

    assert found([*healthy(4), *slower]) == []


def test_a_link_at_half_its_rate_is_an_outlier_and_one_that_does_not_train_is_none():
    rows = healthy(3)
    rows[1].digest.ports[2].rate = 200.0
    rows[1].digest.ports[3].rate, rows[1].digest.ports[3].aside = 10.0, "set aside: down"

    assert found(rows) == [("n2", "mlx5_2:1", "rate")]


def test_numbers_of_zero_are_compared_with_nothing():
    rows = healthy(3)
    for one in rows:
        for gpu in one.digest.gpus:
            gpu.numbers = {"gemm_tflops": 0.0}

    assert found(rows) == []


def test_a_slow_node_is_one_line():
    rows = spread(16)
    for gpu in rows[4].digest.gpus:
        gpu.numbers["gemm_tflops"] = 600.0

    one = section(rows, "Outliers")

    assert len(one.rows) == 1
    assert said(one)[1].startswith("n5 | GEMM | gpu[0-7] | 600 TFLOPS | 79")


def test_as_asked_an_outlier_fails_its_node():
    rows = healthy(4)
    rows[1].digest.gpus[0].numbers["gemm_tflops"] = 600.0
    merged = cluster(*rows)

    fail(merged, outliers(merged))

    assert [one.name for one in merged.red] == ["n2"]
    assert rows[1].kind is Kind.FAIL
    assert rows[1].reasons[0].endswith("(--fail-outliers)")


def test_an_outlier_that_fails_its_node_is_a_cause():
    rows = healthy(4)
    rows[1].digest.gpus[0].numbers["gemm_tflops"] = 600.0
    merged = cluster(*rows)
    seen = find(merged)

    fail_outliers(merged, seen)

    (cause,) = seen.failing
    assert (cause.nodes, cause.devices) == (["n2"], ["gpu0"])
    assert cause.message.startswith("GEMM is 600 TFLOPS, 24.4 % below the median of 793.5 TFLOPS")


def test_what_has_another_name_than_fail_keeps_it():
    rows = healthy(4)
    rows[1].digest.gpus[0].numbers["gemm_tflops"] = 600.0
    rows[1].kind, rows[1].reasons = Kind.LACKS_TIER, ["judged tier1 only"]
    merged = cluster(*rows)

    fail(merged, outliers(merged))

    assert rows[1].kind is Kind.LACKS_TIER
    assert len(rows[1].reasons) == 2


def test_zero_is_as_far_off_as_can_be():
    rows = healthy(10)
    rows[1].digest.values["performance.all_reduce"] = 0.0
    rows[2].digest.ports[0].rate = 0.0

    assert found(rows) == [("n2", "", "performance.all_reduce"), ("n3", "mlx5_0:1", "rate")]


@pytest.mark.parametrize("outcome", ["FAIL", "PASS"])
def test_an_outlier_is_a_warning_unless_its_node_fails_by_the_same_number(outcome):
    rows = healthy(4)
    rows[1].digest.gpus[2].numbers["gemm_tflops"] = 500.0
    if outcome == "FAIL":
        rows[1].digest.findings = [finding("performance.gemm_tflops", "slow", device="gpu2")]

    warned = [c for c in find(cluster(*rows)).causes if c.severity == "WARN"]
    beside = terminal(cluster(*rows))[-1]

    assert [c.nodes for c in warned] == ([] if outcome == "FAIL" else [["n2"]])
    assert ("(n2 gpu2 GEMM 3" in beside) is (outcome == "PASS")


def test_the_worst_two_are_named():
    rows = healthy(10)
    for k, share in ((1, 0.9), (2, 0.6), (3, 0.8)):
        rows[k].digest.values["performance.all_reduce"] = 330 * share

    (one,) = find(cluster(*rows)).causes
    assert one.message.endswith("the worst: n3 all-reduce 40.0 % below, n4 all-reduce 20.0 % below")
    assert one.nodes == ["n2", "n3", "n4"]
