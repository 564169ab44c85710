"""What a proposal makes of the figures: rows, statistics, and figures and names that are odd."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import profiles
from reporting.model import Check, Option, Result
from reporting.proposal import nearest_rank, proposal, round_down, split
from reporting.samples import Value, samples
from tests.reporting import make
from tests.reporting.good_nodes import GEMM, calibrated, checks, facts, leave, measured


@pytest.fixture
def site(tmp_path):
    """Calibrate by what lies in the temporary folder."""
    return lambda *arguments: calibrated(tmp_path, *arguments)


def test_an_all_reduce_without_its_stage_goes_by_options_and_gpus(tmp_path, site):
    told = [fact for fact in facts() if "all_reduce" not in fact.get("stage", "")]
    options = {"rccl_size_mb": {"value": 128, "source": "flag"}}
    together = [
        measured("performance.all_reduce", "gpu0", 300.0, "GB/s"),
        measured("performance.all_reduce_large", "gpu0", 400.0, "GB/s"),
    ]
    leave(tmp_path, told=told, more=together, options=options)

    found = [(r.gpus, r.size_mib) for r in site()[0].all_reduce]

    assert found == [(8, 128), (8, 1024)]


def test_nodes_with_other_numbers_of_gpus_have_rows_of_their_own(tmp_path, site):
    together = [measured("performance.all_reduce", "", 300.0, "GB/s")]
    leave(tmp_path, "n1", more=together)
    leave(tmp_path, "n2", [790.0] * 4, more=together, told=facts(4))

    profile, text = site()

    assert [(r.gpus, r.size_mib) for r in profile.all_reduce] == [(8, 64)]
    assert "# too few GPUs for all-reduce over 4 GPUs at 64 MiB: 4, expected at least 8" in text
    assert "# nodes differ in expected-gpus: 4, 8\n" in text
    assert profile.limit("expected_gpus") is None


def ports(*rates):
    """Return facts and checks of so many RDMA ports that are up."""
    told, judged = [], []
    for i, rate in enumerate(rates):
        told.append({"fact": "rdma_port", "device": f"mlx5_{i}", "port": "1", "rate": rate})
        judged.append(make.check("rdma.port_state", f"mlx5_{i}-p1"))
    return {"told": [*facts(), *told], "more": judged}


@pytest.mark.parametrize(
    ("nodes", "count", "rate"),
    [
        ([ports(400.0, 400.0)], 2, 400),
        ([ports(400.0, 400.0)] * 2, 2, 400),
        ([ports(400.0, 200.0)], 2, None),
        ([ports(400.0, None)], 2, None),
        ([ports(400.0), ports(400.0, 400.0)], None, 400),
        ([ports(400.0), ports()], None, 400),
        ([ports()], None, None),
    ],
)
def test_rdma_ports_are_expected_where_all_nodes_agree(tmp_path, site, nodes, count, rate):
    for i, fields in enumerate(nodes):
        leave(tmp_path, f"n{i}", **fields)

    profile, _ = site()

    found = [profile.limit(f"expected_rdma_{name}") for name in ("nics", "rate_gbps")]
    assert [number and number.value for number in found] == [count, rate]


def test_a_port_that_does_not_train_is_not_counted(tmp_path, site):
    fields = ports(400.0, 100.0)
    fields["more"][1] = make.check("rdma.port_state", "mlx5_1-p1", "N/A")
    leave(tmp_path, **fields)

    profile, _ = site()

    assert profile.limit("expected_rdma_nics").value == 1
    assert profile.limit("expected_rdma_rate_gbps").value == 400


@pytest.mark.parametrize(
    "odd",
    [
        {"value": None},
        {"value": 0},
        {"value": -1},
        {"value": 1e10},
        {"value": 1.0, "unit": "GFLOPS"},
        {"value": 1.0, "device": "gpu99"},
    ],
)
def test_a_figure_that_is_none_does_not_count(tmp_path, site, odd):
    figure = {**measured(GEMM, "gpu0", 1.0, "TFLOPS"), **odd}
    leave(tmp_path, more=[figure])

    assert site()[0].limit("gemm_tflops_min").value == 750


@pytest.mark.parametrize(
    "name",
    ["a'b", 'a"b', "a\\b", "a'\\\"b", "(a|b)*[c]", "a\n[limits]", "\x1b[31m", "é#", "x" * 400],
)
def test_a_hostile_name_stays_text(tmp_path, site, name):
    leave(tmp_path, told=facts(8, name, name), run_id=name)

    profile, text = site()

    assert set(profile.limits) == {"gemm_tflops_min", "expected_gpus"}
    assert all(c.isprintable() for c in text.replace("\n", ""))
    assert (profile.pattern == "") == ("# no line gpu: no line can hold the GPUs' name" in text)
    assert bool(profile.pattern) == (name.isprintable() and len(name) < 300)
    if profile.pattern:
        assert profile.name == name[:100]
        assert profile.matches(name)
        assert not profile.matches(f"{name}x")


@pytest.mark.parametrize("finished", [1e300, -1e300, 1e11])
def test_a_clock_that_is_wrong_still_gives_a_date(tmp_path, site, finished):
    leave(tmp_path, finished=finished)

    assert re.fullmatch(r"\d{4}-\d\d-\d\d", site()[0].limit("gemm_tflops_min").date)


def test_a_file_that_is_too_large_or_broken_is_left_out(tmp_path, site):
    leave(tmp_path, "n1")
    make.put(tmp_path / "smoke/n2.json", b"{" * 9_000_000)
    make.put(tmp_path / "smoke/n3.json", make.document("n3", facts="none", checks=checks()))

    assert "from 8 GPUs of 1 node," in site()[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (750.5, "750"),
        (758.999, "758"),
        (3989.5, "3980"),
        (52.725, "52.7"),
        (0.123456, "0.123"),
        (100.0, "100"),
        (1e-7, "0.0000001"),
        (123456.0, "123000"),
    ],
)
def test_a_limit_has_three_digits_and_is_never_rounded_up(value, text):
    assert round_down(value) == text
    assert float(text) <= value


def test_the_low_percentile_is_a_value_that_was_measured():
    assert nearest_rank([7.0]) == 7.0
    assert nearest_rank([float(i) for i in range(1, 21)]) == 1.0
    assert nearest_rank([float(i) for i in range(1, 101)]) == 5.0


def values(*numbers):
    return [Value(float(x), "n", f"gpu{i}") for i, x in enumerate(numbers)]


@pytest.mark.parametrize(
    ("numbers", "slow"),
    [
        ([100] * 8, []),
        ([100] * 7 + [97], []),
        ([100] * 7 + [96], [96]),
        ([90, 95, 100, 105, 110], []),
        ([10, 95, 100, 105, 110], [10]),
        ([100] * 7 + [500], []),
        ([100], []),
    ],
)
def test_only_what_is_far_below_the_median_is_set_aside(numbers, slow):
    kept, aside = split(values(*numbers))

    assert [v.value for v in aside] == slow
    assert len(kept) + len(aside) == len(numbers)


WORDS = st.sampled_from([
    "fact", "stage", "device", "values", "bind", "all_reduce", "description", "model", "name",
    "gpu0", "rdma_port", "port", "rate", "ranks", "bytes", "software", "driver", "torch", "mlx5_0",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(WORDS, x, max_size=5),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(JSON, max_size=6), st.floats(0.001, 1e12), JSON)
def test_any_facts_give_a_profile_or_nothing(tmp_path_factory, odd, value, option):
    together = measured("performance.all_reduce", "gpu0", value, "GB/s")
    port = make.check("rdma.port_state", "mlx5_0-p1")
    fields = make.node("n1", checks=checks([value] * 8, [together, port]))
    node = Result(**{
        **{k: v for k, v in fields.items() if k in Result.__struct_fields__},
        "checks": [Check(**c) for c in fields["checks"]],
        "options": {"rccl_size_mb": Option(option)},
    })
    found = samples(node, [*odd, *facts(2), *odd])
    assert found
    for one in found:
        if one.values or one.together:
            path = tmp_path_factory.getbasetemp() / "any.toml"
            path.write_text(proposal([one], "7", 0.05, 1))
            assert profiles.load(path).origin == str(path)
