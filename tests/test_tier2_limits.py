"""What numbers are held to, end to end: by flag, by a site's profile, by that of the model."""

from __future__ import annotations

import json

import pytest

from fixtures import profiles
from tests.conftest import NvidiaNode
from tests.test_tier2 import ALONE, RATES, run_once


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure two H200 once; a site's profile and the command line set some of the limits."""
    folder = tmp_path_factory.mktemp("measured")
    node, site = NvidiaNode(folder), folder / "site.toml"
    site.write_text("[limits]\nh2d-gbs-min = 20\nrccl-large-gbs-min = 150\n")
    flags = ("--expected-gpus=2", "--hbm-gbs-min=1000", "--rccl-gbs-min=0", f"--profile=={site}")
    arguments = (*node.arguments, "--tier2-perf", *flags)
    yield from run_once(folder, *arguments, environment=node.environment)


def test_a_flag_comes_before_a_sites_profile_and_that_before_the_models(measured):
    assert measured.status == 0, measured.text
    of_model = {name: n.value for name, n in profiles.by_name("H200").limits.items()}
    told = {
        check: (
            measured.check(check, device)["limit"],
            measured.check(check, device)["limit_source"],
        )
        for check, device in [
            *((f"performance.{rate}", "gpu1") for rate in RATES),
            ("performance.all_reduce_large", ""),
        ]
    }
    assert told == {
        "performance.gemm_tflops": (of_model["gemm_tflops_min"], "profile H200"),
        "performance.hbm_gbs": (1000, "flag"),
        "performance.h2d_gbs": (20, "profile site.toml"),
        "performance.d2h_gbs": (
            of_model["d2h_gbs_min"],
            "profile H200",
        ),  # the site's lacks it
        "performance.all_reduce_large": (150, "profile site.toml"),
    }


def test_a_limit_of_zero_is_none_and_the_number_is_told_all_the_same(measured):
    check = measured.check("performance.all_reduce")

    assert (check["outcome"], check["unit"]) == ("N/A", "GB/s")
    assert check["value"] == pytest.approx(211, abs=5)
    assert "limit" not in check
    assert "no limit is set (--rccl-gbs-min=0 by flag)" in check["message"]


@pytest.fixture
def judge_again(smoke, measured, tmp_path):
    """Judge the two H200 again, after `change` has had its way with the result's text."""

    def run(*arguments, change=lambda text: text):
        (path,) = measured.results
        changed = tmp_path / "changed.json"
        changed.write_text(change(path.read_text()))
        return smoke(f"--replay={changed}", *ALONE, *arguments, dump=tmp_path / "again")

    return run


def test_a_replay_holds_old_numbers_to_a_new_limit(judge_again):
    ended = judge_again("--gemm-tflops-min=734")

    assert ended.status == 1
    check = ended.check("performance.gemm_tflops", "gpu0")
    assert (check["outcome"], check["limit"], check["limit_source"]) == ("FAIL", 734, "flag")
    assert "expected at least 734 TFLOPS (--gemm-tflops-min: " in check["message"]
    assert ended.outcome("performance.hbm_gbs", "gpu0") == "PASS"


def test_a_replay_holds_old_numbers_to_a_sites_profile_that_is_named(judge_again, tmp_path):
    (tmp_path / "strict.toml").write_text("[limits]\ngemm-tflops-min = 800\n")
    ended = judge_again(f"--profile={tmp_path}/strict.toml")

    check = ended.check("performance.gemm_tflops", "gpu1")
    assert (check["outcome"], check["limit_source"]) == ("FAIL", "profile strict.toml")
    assert "(--gemm-tflops-min by profile strict.toml: " in check["message"]


def test_a_replay_has_the_sites_profile_whose_file_is_gone(smoke, judge_again, tmp_path):
    site = tmp_path / "site.toml"
    site.write_text("[profile]\ngpu = 'NVIDIA H200'\n[limits]\ngemm-tflops-min = 800\n")
    first = judge_again(f"--profile={site}")
    (result,) = (path for path in first.results if path.parent.name == "replay")
    site.unlink()
    again = smoke(f"--replay={result}", *ALONE, dump=tmp_path / "third")

    assert again.node["profile"] == first.node["profile"]
    assert again.node["profile"]["pattern"] == "NVIDIA H200"
    assert again.check("performance.gemm_tflops", "gpu1") == first.check(
        "performance.gemm_tflops", "gpu1"
    )
    assert again.node["reasons"] == first.node["reasons"] != []


def test_each_model_is_held_to_its_own_limits(judge_again):
    """An A100 reaches 250 TFLOPS at most, which would be a broken H200."""

    def older(text):
        facts = json.loads(text.replace("NVIDIA H200", "NVIDIA A100-SXM4-80GB"))
        for fact in facts["node"]["facts"]:
            if fact.get("stage") == "gemm_tflops":
                fact["values"]["tflops"] = 250.0
        return json.dumps(facts)

    ended = judge_again("--profile=auto", change=older)
    check = ended.check("performance.gemm_tflops", "gpu0")
    assert (check["outcome"], check["value"]) == ("PASS", 250)
    assert check["limit_source"] == "profile A100"

    ended = judge_again("--profile=H200", change=older)
    assert ended.outcome("performance.gemm_tflops", "gpu0") == "FAIL"
    ended = judge_again("--profile=none", change=older)
    assert ended.check("performance.gemm_tflops", "gpu0")["limit"] == 600


def test_a_number_is_judged_and_told_as_it_was_measured_and_not_rounded_to_its_limit(judge_again):
    def close(text):
        result = json.loads(text)
        for fact in result["node"]["facts"]:
            if fact.get("stage") == "all_reduce":
                fact["values"]["bus_gbs"] = 99.96
            if fact["fact"] == "memory_in_use":
                fact["used"] = int(1.9997 * 2**30)
        return json.dumps(result)

    ended = judge_again("--rccl-gbs-min=100", change=close)

    check = ended.check("performance.all_reduce")
    assert (check["outcome"], check["value"]) == ("FAIL", 99.96)
    assert "is 99.96 GB/s, expected at least 100 GB/s" in check["message"]
    used = ended.check("gpu.memory_in_use", "gpu0")
    assert used["outcome"] == "PASS"
    assert used["value"] == pytest.approx(1.9997, abs=1e-6)


def test_a_number_that_no_such_part_can_reach_is_a_broken_measurement(judge_again):
    def stopped(text):
        result = json.loads(text)
        for fact in result["node"]["facts"]:
            if fact.get("stage") == "copies_alone" and fact["device"] == "gpu1":
                fact["values"]["h2d_gbs"] = 444.0
        return json.dumps(result)

    ended = judge_again(change=stopped)

    assert ended.outcome("performance.h2d_gbs", "gpu0") == "PASS"
    check = ended.check("performance.h2d_gbs", "gpu1")
    assert check["outcome"] == "UNKNOWN"
    assert "444 GB/s, more than the 63 GB/s of its data sheet (profile H200)" in check["message"]
    assert ended.status == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "site.toml can't be read: No such file or directory"),
        ("[limits\n", "site.toml is no TOML: "),
        (
            "[limits]\ngemm-tflop-min = 600\n",
            "site.toml [limits]: unknown limit 'gemm-tflop-min'; did you mean gemm-tflops-min?",
        ),
        (
            '[limits]\nhbm-gbs-min = "4 TB/s"\n',
            "site.toml [limits]: hbm-gbs-min is '4 TB/s', expected a number from 0 to 1e+09",
        ),
    ],
    ids=["absent", "no TOML", "unknown", "no number"],
)
def test_a_broken_profile_is_told_by_file_and_key_and_nothing_runs(
    smoke, nvidia, tmp_path, content, says
):
    site = tmp_path / "site.toml"
    if content is not None:
        site.write_text(content)
    arguments = (*nvidia.arguments, "--tier2-perf", f"--profile=={site}")
    ended = smoke(*arguments, environment=nvidia.environment)

    assert ended.status == 4
    assert f"--profile=={site}: {tmp_path}/{says}" in ended.text
    assert "Traceback" not in ended.text
    assert not ended.dump.exists()


def test_a_profile_that_nobody_knows_is_told_with_those_that_there_are(smoke):
    ended = smoke.rehearse("--tier2-perf", "--profile=H20O")

    assert ended.status == 4
    assert (
        "--profile=H20O: there is no profile 'H20O'; did you mean H200? Possible: auto, none, "
        in (ended.text)
    )
    assert not ended.dump.exists()
