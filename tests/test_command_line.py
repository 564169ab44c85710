"""The command line as people type it: every trap of it has its answer here."""

from __future__ import annotations

import shutil

import pytest

from tests.conftest import CLONE


@pytest.mark.parametrize(
    "arguments",
    [
        ["-k", "gemm"],
        ["smoke_tests/test_gpu.py"],
        ["--ignore=smoke_tests/test_host.py"],
        ["--ignore-glob=*host*"],
        ["-o", "python_files=test_gpu.py"],
        ["-o", "python_functions=test_[b-m]*", "-n0"],
    ],
)
def test_a_narrowed_run_is_partial_and_never_vouches_for_the_node(smoke, arguments):
    ended = smoke.rehearse(*arguments)

    assert ended.status == 0
    assert ended.node["verdict"] == "PARTIAL"
    assert ended.node["partial"] is True
    assert ended.results[0].parent.name == "partial"
    assert (ended.dump / "passing_nodes.txt").read_text() == ""
    assert not list(ended.dump.glob("smoke/*.started"))


def test_a_node_id_runs_that_check_alone(smoke):
    ended = smoke.rehearse("smoke_tests/test_gpu.py::test_gemm[gpu1]")

    assert ended.status == 0
    assert [c["id"] for c in ended.node["checks"]] == ["gpu.gemm"]
    assert ended.node["verdict"] == "PARTIAL"


def test_a_partial_run_never_takes_the_place_of_a_whole_result(smoke):
    smoke.rehearse()
    whole = (smoke.dump / "smoke").glob("*.json")
    before = [p.read_bytes() for p in whole]

    ended = smoke.rehearse("-k", "gemm")

    assert [p.read_bytes() for p in (smoke.dump / "smoke").glob("*.json")] == before
    assert (ended.dump / "passing_nodes.txt").read_text() != ""


def test_a_partial_run_that_fails_says_fail(smoke):
    ended = smoke.rehearse("-k", "gemm", "--rehearse-fault=gpu1:gemm:wrong")

    assert ended.status == 1
    assert ended.node["verdict"] == "FAIL"
    assert ended.node["partial"] is True


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "new"])
def test_a_path_after_a_space_is_refused_the_first_time_as_the_second(smoke, tmp_path, exists):
    """With an existing folder pytest loses our ini, and the usage error is its own."""
    where = tmp_path / "outside"
    if exists:
        where.mkdir()

    ended = smoke("--rehearse", "--dump-path", where, dump=False)

    assert ended.status == 4
    expected = "unrecognized arguments: --rehearse" if exists else "write --dump-path=DIR"
    assert expected in ended.text
    assert list(tmp_path.rglob("*.json")) == []


def test_where_our_plugin_is_loaded_all_the_same_the_refusal_is_ours(smoke, tmp_path):
    ended = smoke(CLONE / "smoke_tests", "--rehearse", "--dump-path", tmp_path, dump=False)

    assert ended.status == 4
    assert "write --dump-path=DIR" in ended.text


def test_a_path_after_a_space_is_refused_in_the_environment_too(smoke, tmp_path):
    spaced = {"PYTEST_ADDOPTS": f"--dump-path {tmp_path}"}

    ended = smoke("smoke_tests", "--rehearse", dump=False, environment=spaced)

    assert ended.status == 4
    assert "write --dump-path=DIR" in ended.text
    assert list(tmp_path.rglob("*.json")) == []


def test_help_shows_every_option_and_records_nothing(smoke):
    ended = smoke("--help", dump=False)

    assert ended.status == 0
    for flag in ("--rehearse", "--dump-path", "--ulimit-l-min-gb", "--expected-nodes"):
        assert flag in ended.text
    assert "[default: 32]" in ended.text


def test_collecting_only_shows_a_placeholder_and_records_nothing(smoke):
    ended = smoke("--collect-only", "-q")

    assert ended.status == 0
    assert "smoke_tests/test_gpu.py::test_bind[gpu0]" in ended.text
    assert not ended.dump.exists()


def test_without_xdist_it_runs_in_one_process(smoke):
    ended = smoke.rehearse("-p", "no:xdist")

    assert ended.status == 0
    assert ended.node["verdict"] == "PASS"
    assert "workers" not in ended.text


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ([], {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
        (["-p", "xdist", "-p", "pytest_timeout"], {}),
        (["-c", "/dev/null", "--rootdir=.", "smoke_tests"], {}),
    ],
    ids=["switched-off", "named", "autoloaded"],
)
def test_the_plugins_that_a_run_stands_on_are_there_however_they_come(
    smoke, arguments, environment
):
    ended = smoke.rehearse(*arguments, environment=environment)

    assert ended.status == 0
    assert ended.node["verdict"] == "PASS"
    assert "2/2 workers" in ended.text


@pytest.mark.parametrize("count", ["1", "3"])
def test_a_number_of_workers_that_was_asked_for_is_kept(smoke, count):
    ended = smoke.rehearse("-n", count)

    assert ended.status == 0
    assert f"{count}/{count} worker" in ended.text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-m", "teir1"], "unknown marker 'teir1'; there are tier1, tier2"),
        (["-m", "tier1 and"], "-m 'tier1 and'"),
        (["-m", "not tier1 and not tier2"], "selects neither tier1 nor tier2"),
        (["--ulimit-l-min-gb=nan"], "invalid number of at least 0 value: 'nan'"),
        (["--shm-min-gb=-1"], "invalid number of at least 0 value: '-1'"),
        (["--expected-gpus=0"], "invalid whole number of at least 1 value: '0'"),
        (["--per-gpu-timeout-sec=0"], "invalid number above 0 value: '0'"),
        (["--dump-path="], "--dump-path= is empty: write --dump-path=DIR"),
        (["--replay="], "--replay= is empty: write --replay=FILE"),
        (["--system-root="], "--system-root= is empty: write --system-root=DIR"),
        (["--rehearse-fault=gpu0:bind:hang"], "add --rehearse"),
        (["--rehearse", "--rehearse-fault=gpu7:bind:hang"], "the GPUs are gpu0, gpu1"),
        (["--rehearse", "--rehearse-fault=gpu0:bind:melt"], "'melt' is none of hang, exit"),
        (["--rehearse", "--rehearse-fault=gpu0:brew:hang"], "'brew' is none of bind, memory"),
        (
            ["--rehearse", "--rehearse-fault=gpu0:gemm_tflops:hang"],
            "--rehearse-fault=gpu0:gemm_tflops:hang: gemm_tflops is tier 2, add --tier2-perf",
        ),
        (
            ["--rehearse", "-m", "tier1", "--rehearse-fault=gpu1:hbm_gbs:slow=1"],
            "hbm_gbs is tier 2, add --tier2-perf",
        ),
        (["--rehearse", "--dump-path=~no-such-user/x"], "--dump-path='~no-such-user/x': "),
        (["--rehearse", "-p", "no:timeout"], "node-smoke needs the plugin timeout: don't switch"),
        (
            ["--rehearse", "-p", "no:pytest_jsonreport"],
            "node-smoke needs the plugin pytest_jsonreport: don't switch it off",
        ),
    ],
)
def test_a_mistake_is_told_and_nothing_runs(smoke, arguments, says):
    ended = smoke(*arguments)

    assert ended.status == 4
    assert says in ended.text
    assert "passed" not in ended.text
    assert list(ended.dump.rglob("*.*")) == []


@pytest.mark.parametrize("arguments", [["--tier2-perf"], ["-m", "tier2"]])
def test_a_fault_of_tier_2_is_rehearsed_where_tier_2_is_judged(smoke, arguments):
    ended = smoke.rehearse(*arguments, "--rehearse-fault=gpu1:gemm_tflops:raise")

    assert ended.status == 1
    assert ended.outcome("performance.gemm_tflops", "gpu1") == "FAIL"
    assert ended.outcome("performance.gemm_tflops", "gpu0") == "N/A"


def test_a_dump_path_that_is_no_text_is_told_and_nothing_runs(smoke, tmp_path):
    """A result must say where it went, and JSON holds no such bytes."""
    ended = smoke("--rehearse", dump=f"{tmp_path}/\udcff")

    assert ended.status == 4
    assert "--dump-path='" in ended.text
    assert "Traceback" not in ended.text
    assert "INTERNALERROR" not in ended.text
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_tier_expression_runs_what_it_selects(smoke):
    ended = smoke.rehearse("-m", "not tier2")

    assert ended.node["tiers"] == ["tier1"]
    assert ended.node["verdict"] == "PARTIAL"


def test_self_tests_of_the_clone_are_not_a_run(smoke, tmp_path):
    shutil.copytree(CLONE / "fixtures", tmp_path / "fixtures")
    shutil.copytree(CLONE / "smoke_tests", tmp_path / "smoke_tests")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(CLONE / name, tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_other.py").write_text("def test_it():\n    pass\n")

    ended = smoke("tests", cwd=tmp_path, dump=False)

    assert ended.status == 0
    assert "1 passed" in ended.text
    assert "node-smoke" not in ended.text.replace(str(tmp_path), "")
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"SLURM_LOCALID": "1"}, "node-smoke judges a node with one task"),
        ({"NODE_RANK": "first"}, "NODE_RANK='first' is not a rank"),
    ],
)
def test_an_environment_that_contradicts_a_node_is_refused(smoke, environment, says):
    ended = smoke.rehearse(environment=environment)

    assert ended.status == 4
    assert says in ended.text


def test_two_runs_on_one_node_into_one_dump_path_are_one_too_many(smoke):
    first = smoke.start("--rehearse", "--rehearse-fault=gpu0:bind:slow=2")
    first.fact('"fact":"inventory"')

    second = smoke.rehearse()

    assert second.status == 4
    assert "another node-smoke is judging node" in second.text
    assert first.end().status == 0
