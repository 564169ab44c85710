"""A run on a node, end to end: the result, its exit status, and what is merged from it."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import pytest
from junitparser import JUnitXml

from fixtures.recorder.names import LIVENESS
from tests.conftest import CLONE

CHECKS = {
    "clock.synchronised",
    "clock.daemon",
    "gpu.visible",
    "gpu.enumerated",
    "gpu.bind",
    "gpu.memory",
    "gpu.allocate",
    "gpu.gemm",
    "gpu.exact_product",
    "gpu.memory_pattern",
    "gpu.processes",
    "gpu.unplaced_processes",
    "gpu.memory_in_use",
    "gpu.ecc",
    "gpu.repairs",
    "gpu.recovery",
    "gpu.throttle",
    "gpu.pcie",
    "gpu.activity",
    "gpu.mode",
    "gpu.links",
    "gpu.parts",
    "gpudirect.nearest_nic",
    "gpudirect.memory",
    "gpudirect.acs",
    "gpudirect.iommu",
    "host.torch",
    "host.memlock",
    "host.shm",
    "host.nofile",
    "host.tmp_space",
    "host.dump_space",
    "host.pages",
    "host.numa_nodes",
    "host.numa_balancing",
    "host.cpus",
    "host.governor",
    "host.clocksource",
    "kernel.gpu",
    "kernel.pcie",
    "kernel.machine",
    "kernel.network",
    "rdma.selection",
    "rdma.port_state",
    "rdma.gid",
    "rdma.rate",
    "rdma.lag",
    "rdma.counters",
    "tools.answer",
    "tools.present",
}


@pytest.mark.parametrize("workers", [["-n0"], ["-n1"], []], ids=["in-process", "one", "default"])
def test_a_rehearsal_passes_and_is_marked_as_one_everywhere(smoke, workers):
    ended = smoke.rehearse(*workers)

    assert ended.status == 0
    node = ended.node
    assert node["verdict"] == "PASS"
    assert node["rehearsal"] is True
    assert {c["id"] for c in node["checks"]} == CHECKS
    assert node["coverage"] == {
        "checks": 68, "PASS": 14, "WARN": 0, "FAIL": 0, "UNKNOWN": 0, "N/A": 54, "HUNG": 0,
        "LOST": 0,
    }  # fmt: skip
    assert "REHEARSAL" in ended.text
    report = (ended.dump / "smoke_report.md").read_text()
    assert "REHEARSAL" in report.splitlines()[0]
    assert (ended.dump / "passing_nodes.txt").read_text() == f"{node['name']}\n"
    assert (ended.dump / "failing_nodes.txt").read_text() == ""
    assert ended.check("host.torch")["unit"] == "s"
    assert ended.check("host.torch")["value"] > 0


def test_the_verdict_of_a_node_alone_stands_on_its_terminal_once(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu0:gemm:raise")

    _, *told = ended.text.split(": FAIL (REHEARSAL")  # pytest's own summary stands before it
    assert len(told) == 1
    assert told[0].count("the driver said no") == 1
    assert "did not pass" not in ended.text
    assert f"report {ended.dump}/smoke_report.md" in ended.text


def test_the_result_is_a_json_report_with_the_node_in_front_of_its_tests(smoke):
    ended = smoke.rehearse()

    keys = list(ended.document)
    assert keys.index("node") < keys.index("tests")
    assert ended.document["exitcode"] == 0
    assert ended.document["summary"]["passed"] == 14
    assert len(ended.document["tests"]) == 68
    gemm = [t for t in ended.document["tests"] if "test_gemm[gpu0]" in t["nodeid"]]
    assert gemm[0]["outcome"] == "passed"


def test_the_result_tells_every_stage_of_every_gpu_with_its_time(smoke):
    ended = smoke.rehearse("--expected-gpus=3")

    stages = [f for f in ended.node["facts"] if f["fact"] == "stage"]
    assert {(s["device"], s["stage"]) for s in stages} == {
        (f"gpu{n}", stage) for n in range(3) for stage in LIVENESS
    }
    assert all(s["seconds"] >= 0 for s in stages)
    assert {"total", "import", "bind", "gemm"} <= ended.node["durations"].keys()


def test_the_result_says_which_options_were_in_force_and_why(smoke):
    ended = smoke.rehearse("--ulimit-l-min-gb=0.001")

    options = ended.node["options"]
    assert options["ulimit_l_min_gb"] == {"value": 0.001, "source": "flag"}
    assert options["shm_min_gb"] == {"value": 0, "source": "profile rehearsal"}
    assert options["hbm_busy_threshold_gib"] == {"value": 2.0, "source": "default"}
    assert ended.node["tool_version"]


def test_a_rehearsal_says_what_it_sets_aside_and_a_flag_brings_it_back(smoke):
    ended = smoke.rehearse("--ulimit-l-min-gb=1e9", "--shm-min-gb=1e9")

    assert "set aside by the rehearsal profile: --nofile-min, --cpus-per-gpu-min" in ended.text
    assert ended.status == 1
    memlock = ended.check("host.memlock")
    assert memlock["outcome"] in {"FAIL", "PASS"}  # unlimited where the tests run as a service
    assert ended.outcome("host.shm") == "FAIL"
    message = ended.check("host.shm")["message"]
    assert "expected at least 1000000000 GiB (--shm-min-gb: NCCL" in message


def test_a_replay_gives_the_same_verdict_and_another_with_other_limits(smoke, nvidia, tmp_path):
    nvidia.in_use(0, 3000)
    first = smoke(*nvidia.arguments, environment=nvidia.environment)

    same = smoke(f"--replay={first.results[0]}", dump=tmp_path / "same")
    other = smoke(
        f"--replay={first.results[0]}", "--hbm-busy-threshold-gib=4", dump=tmp_path / "other"
    )

    assert (first.status, same.status, other.status) == (1, 1, 0)
    assert same.node["reasons"] == first.node["reasons"]
    assert _outcomes(same) == _outcomes(first)
    assert same.node["options"]["shm_min_gb"] == {"value": 0, "source": "replayed result"}
    assert same.node["replay_of"] == str(first.results[0])
    assert other.node["verdict"] == "PASS"
    assert "REPLAY" in other.text
    assert not list((tmp_path / "other").glob("*_nodes.txt"))


def test_a_replay_of_a_result_that_lacks_a_limit_does_not_blame_the_node(smoke, tmp_path):
    """A result is older than the newest check, and to run again would bring nothing."""
    first = smoke.rehearse("--shm-min-gb=0.001")
    document = first.document
    facts = document["node"]["facts"]
    document["node"]["facts"] = [fact for fact in facts if fact.get("name") != "shm"]
    assert len(document["node"]["facts"]) == len(facts) - 1
    (tmp_path / "old.json").write_text(json.dumps(document))

    again = smoke(f"--replay={tmp_path}/old.json", dump=tmp_path / "again")

    assert again.status == 0
    assert again.check("host.shm")["outcome"] == "UNKNOWN"
    assert "holds no fact about shm" in again.check("host.shm")["message"]


def _outcomes(ended):
    return {(c["id"], c.get("device")): c["outcome"] for c in ended.node["checks"]}


def test_a_replay_without_a_dump_path_writes_nowhere(smoke, tmp_path):
    first = smoke.rehearse()
    before = sorted(p for p in first.dump.rglob("*"))

    again = smoke(f"--replay={first.results[0]}", dump=False)

    assert again.status == 0
    assert sorted(p for p in first.dump.rglob("*")) == before
    assert "result " not in again.text


@pytest.mark.parametrize("content", ["", "{", "[]", '{"node": {"facts": [{"fact": "none"}]}}'])
def test_what_is_no_result_can_not_be_replayed(smoke, tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)

    ended = smoke(f"--replay={path}", dump=False)

    assert ended.status == 4
    assert f"--replay={path}: it is no node result" in ended.text


def test_performance_joins_the_result_of_the_same_run(smoke):
    smoke.rehearse("-m", "tier1", "--run-id=r1")

    ended = smoke.rehearse("-m", "tier2", "--run-id=r1")

    assert ended.status == 0
    assert ended.node["tiers"] == ["tier1", "tier2"]
    assert {c["tier"] for c in ended.node["checks"]} == {"tier1", "tier2"}
    assert ended.outcome("performance.hbm_gbs", "gpu1") == "N/A"
    assert ended.check("performance.hbm_gbs", "gpu1")["value"] > 0


@pytest.mark.parametrize("run_id", [["--run-id=r1"], []], ids=["run-id", "local"])
def test_a_failed_liveness_stays_in_the_joined_result(smoke, run_id):
    """Without a run id too, where tier 2 is given limits that tier 1 was not."""
    first = smoke.rehearse(*run_id, "--rehearse-fault=gpu0:gemm:wrong")
    assert "joined with" not in first.text

    ended = smoke.rehearse("-m", "tier2", *run_id, "--hbm-gbs-min=0.000001")

    assert ended.node["verdict"] == "FAIL"
    assert ended.node["reasons"] == first.node["reasons"]
    assert ended.outcome("performance.hbm_gbs", "gpu0") == "PASS"
    assert ended.node["name"] in (ended.dump / "failing_nodes.txt").read_text()
    assert ended.status == 1
    assert ": PASS (REHEARSAL" in ended.text
    assert "joined with tier1 of the same run: FAIL in all" in ended.text


def test_both_tiers_in_one_run_use_one_import(smoke):
    ended = smoke.rehearse("--tier2-perf")

    assert ended.node["tiers"] == ["tier1", "tier2"]
    assert sum(f["fact"] == "torch" for f in ended.node["facts"]) == 1
    assert ended.outcome("performance.gemm_tflops", "gpu0") == "N/A"


def test_a_gpu_that_did_not_bind_fails_its_performance_with_that_reason(smoke):
    ended = smoke.rehearse("--tier2-perf", "--rehearse-fault=gpu1:bind:raise")

    check = ended.check("performance.gemm_tflops", "gpu1")
    assert check["outcome"] == "FAIL"
    assert check["cause"] == "gpu.bind"
    assert len(ended.node["reasons"]) == 1


def test_eight_gpus_and_both_tiers_fit_into_160_kib(smoke):
    ended = smoke.rehearse("--tier2-perf", "--expected-gpus=8")

    assert ended.results[0].stat().st_size <= 160 * 1024


def test_the_node_is_named_in_its_junit(smoke):
    ended = smoke.rehearse("--rehearse-fault=gpu1:memory_pattern:raise")

    (path,) = ended.dump.glob("junit/*.xml")
    suites = JUnitXml.fromfile(str(path))
    cases = [
        case for suite in ([suites] if suites._tag == "testsuite" else suites) for case in suite
    ]
    bad = [c for c in cases if c.result and type(c.result[0]).__name__ == "Failure"]
    name = (f"{ended.node['name']}.gpu", "memory_pattern[gpu1]")
    assert [(c.classname, c.name) for c in bad] == [name]
    assert "the driver said no" in bad[0].result[0].message


def test_the_started_mark_carries_the_nodes_own_bound(smoke):
    run = smoke.start("--rehearse", "--rehearse-fault=gpu0:gemm:slow=1", "--per-gpu-timeout-sec=7")
    (path,) = run.wait_for(lambda: list(run.dump.glob("smoke/*.started")))
    mark = json.loads(path.read_bytes())
    ended = run.end()

    # inventory, canary, snapshot, import, the GPUs, counters and log, pytest's start, the result
    assert mark["bound"] == pytest.approx(6.5 + 19.5 + 27.5 + 121.5 + 10 + 23 + 15 + 30)
    assert mark["run_id"] == "local"
    assert mark["rank"] is None
    assert mark["tiers"] == ["tier1"]
    assert ended.node["bound"] == mark["bound"]
    assert not path.exists()


def test_a_run_in_which_nothing_is_selected_is_no_pass(smoke):
    ended = smoke.rehearse("-k", "no_such_check")

    assert ended.status == 5


@pytest.mark.parametrize("name", ["facts", "node-result"])
def test_the_result_fulfils_its_published_schema(smoke, name):
    schema = json.loads((CLONE / "docs/schema" / f"{name}.json").read_text())
    ended = smoke.rehearse(
        "--tier2-perf", "--rehearse-fault=gpu1:bind:hang", "--per-gpu-timeout-sec=1"
    )

    for value in ended.node["facts"] if name == "facts" else [ended.document]:
        jsonschema.validate(value, schema)
    assert msgspec.json.decode(ended.results[0].read_bytes())
