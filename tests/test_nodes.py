"""A run on a node without hardware, and on a recorded one with two NVIDIA GPUs, end to end."""

from __future__ import annotations

import pytest

from tests.conftest import CLONE


def test_without_hardware_a_node_fails_and_is_never_rehearsed_by_itself(smoke, tmp_path):
    empty = tmp_path / "root"
    (empty / "dev/shm").mkdir(parents=True)

    ended = smoke(f"--system-root={empty}", "--shm-min-gb=0")

    assert ended.status == 1
    assert ended.node["rehearsal"] is False
    assert ended.outcome("gpu.visible") == "FAIL"
    for check in ("gpu.bind", "gpu.memory_in_use"):
        assert ended.outcome(check, "none") == "FAIL"
        assert ended.check(check, "none")["cause"] == "gpu.visible"
    unknown = {c["id"] for c in ended.node["checks"] if c["outcome"] == "UNKNOWN"}
    assert not any(name.startswith(("gpu.", "tools.")) for name in unknown)
    visible, memlock = ended.node["reasons"]
    assert visible == (
        "GPUs visible are 0 (none), expected at least 1 (the devices this job may open);"
        " neither PCI nor a driver lists an NVIDIA or AMD GPU; load the driver, or give this job"
        " its GPUs (a job that asked for none can open none)"
    )
    assert memlock.startswith("memlock can't be read from")
    assert not list(ended.dump.glob("smoke/*.started"))


def test_a_healthy_recorded_node_passes(smoke, nvidia):
    ended = smoke(*nvidia.arguments, environment=nvidia.environment)

    assert ended.status == 0, ended.text
    assert ended.node["rehearsal"] is False
    assert ended.check("gpu.memory_in_use", "gpu0") == {
        "id": "gpu.memory_in_use",
        "device": "gpu0",
        "tier": "tier1",
        "outcome": "PASS",
        "value": 0.0,
        "unit": "GiB",
        "limit": 2.0,
        "limit_source": "default",
    }
    binds = [f for f in ended.node["facts"] if f.get("stage") == "bind"]
    (bind,) = (f for f in binds if f["device"] == "gpu0")
    assert bind["values"] == {
        "name": "NVIDIA H200",
        "address": "0000:00:06.0",
        "uuid": "GPU-8b0e7153-bf7c-3706-d85c-524e44006655",
        "memory_total": 150754820096,
        "visible": 1,
    }


@pytest.mark.parametrize(("mib", "outcome"), [(2047, "PASS"), (2048, "FAIL"), (144000, "FAIL")])
def test_memory_in_use_before_the_test_fails_from_the_threshold_on(smoke, nvidia, mib, outcome):
    nvidia.in_use(0, mib)

    ended = smoke(*nvidia.arguments, environment=nvidia.environment)

    assert ended.outcome("gpu.memory_in_use", "gpu0") == "PASS"
    assert ended.outcome("gpu.memory_in_use", "gpu1") == outcome
    if outcome == "FAIL":
        message = ended.check("gpu.memory_in_use", "gpu1")["message"]
        assert message.startswith("gpu1 (0000:00:07.0, GPU-9a6656c9")
        assert "expected below 2 GiB (--hbm-busy-threshold-gib" in message


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ("#!/bin/sh\nexit 9\n", "exit 9: printed nothing"),
        (
            "#!/bin/sh\necho 'Unable to determine the device handle'\n",
            "Unable to determine the device handle",
        ),
        ("#!/bin/sh\nexec yes\n", "wrote more than 16 MiB"),
    ],
    ids=["fails", "talks", "floods"],
)
def test_a_tool_that_does_not_answer_is_unknown_and_never_zero(smoke, nvidia, tool, says):
    nvidia.tool(tool)

    ended = smoke(*nvidia.arguments, environment=nvidia.environment)

    assert ended.status == 0
    check = ended.check("gpu.memory_in_use", "gpu0")
    assert check["outcome"] == "UNKNOWN"
    assert says in check["message"]
    assert ended.outcome("tools.present") == "UNKNOWN"
    (row,) = (row for row in ended.text.splitlines() if "gpu.ecc, " in row and " of gpu0" in row)
    assert says in row
    assert "gpu.activity" in row  # one line, however many checks and GPUs
    strict = smoke(*nvidia.arguments, "--fail-on-unknown", environment=nvidia.environment)
    assert strict.status == 1
    assert strict.outcome("gpu.memory_in_use", "gpu0") == "FAIL"


def test_a_lost_gpu_keeps_its_parameter_and_fails(smoke, nvidia):
    nvidia.lose(1)

    ended = smoke(*nvidia.arguments, "--expected-gpus=2", environment=nvidia.environment)

    assert ended.status == 1
    assert ended.outcome("gpu.bind", "gpu0") == "PASS"
    assert ended.outcome("gpu.bind", "gpu1") == "FAIL"
    assert "expected 2 (--expected-gpus), found 1: 0000:00:06.0" in ended.text
    message = ended.check("gpu.visible")["message"]
    assert message.endswith("look for the missing one in dmesg, reset or reseat it, and run again")


def test_a_lost_gpu_is_not_excused_by_a_torch_that_is_missing_too(smoke, nvidia):
    nvidia.lose(1)

    ended = smoke(
        *nvidia.arguments,
        "--expected-gpus=2",
        environment={**nvidia.environment, "STUB_TORCH": "fail"},
    )

    assert ended.check("gpu.bind", "gpu0")["cause"] == "host.torch"
    lost = ended.check("gpu.bind", "gpu1")
    assert lost["cause"] == "gpu.visible"
    assert "found 1: 0000:00:06.0" in lost["message"]
    visible, torch = ended.node["reasons"]
    assert "found 1: 0000:00:06.0" in visible
    assert torch.startswith("torch can't be imported")


def test_a_gpu_that_vanishes_between_discovery_and_use_fails_at_bind(smoke, nvidia):
    one = nvidia.environment["STUB_GPUS"].partition(",")[0]

    environment = {**nvidia.environment, "STUB_GPUS": one}
    ended = smoke(*nvidia.arguments, "--expected-gpus=2", environment=environment)

    assert ended.status == 1
    assert ended.outcome("gpu.visible") == "PASS"
    assert ended.outcome("gpu.bind", "gpu0") == "PASS"
    message = ended.check("gpu.bind", "gpu1")["message"]
    assert message.startswith("gpu1 (0000:00:07.0, GPU-9a6656c9")
    assert "torch.cuda.is_available() is False" in message


def test_each_gpu_process_sees_its_own_device_alone(smoke, nvidia):
    """A device that blocks initialisation must not take the others with it."""
    broken = {"STUB_UNBINDABLE": "0000:00:06.0"}

    ended = smoke(*nvidia.arguments, environment={**nvidia.environment, **broken})

    binds = [f for f in ended.node["facts"] if f.get("stage") == "bind"]
    assert [b["outcome"] for b in sorted(binds, key=lambda b: b["device"])] == ["failed", "ok"]
    assert next(b for b in binds if b["outcome"] == "ok")["values"]["visible"] == 1
    assert ended.outcome("gpu.bind", "gpu1") == "PASS"
    assert (
        "CUDA error: device kernel image is invalid" in ended.check("gpu.bind", "gpu0")["message"]
    )


def test_more_gpus_than_expected_is_a_warning_and_all_are_tested(smoke, nvidia):
    ended = smoke(*nvidia.arguments, "--expected-gpus=1", environment=nvidia.environment)

    assert ended.status == 0
    assert ended.outcome("gpu.visible") == "WARN"
    assert ended.outcome("gpu.gemm", "gpu1") == "PASS"
    assert "more than the 1 expected (--expected-gpus)" in ended.node["warnings"][0]


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [
        ({}, "WARN"),  # nobody says it, and H200s come in eights
        ({"GPUS_PER_NODE": "2"}, "PASS"),
        ({"GPUS_PER_NODE": "4"}, "FAIL"),
        ({"GPUS_PER_NODE": "4", "LOCAL_WORLD_SIZE": "2"}, "PASS"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "WARN"),
        ({"CUDA_VISIBLE_DEVICES": "0,1,2"}, "FAIL"),
    ],
)
def test_the_expected_count_is_what_this_job_was_given(smoke, nvidia, environment, outcome):
    ended = smoke(*nvidia.arguments, environment={**nvidia.environment, **environment})

    assert ended.outcome("gpu.visible") == outcome


RECORDED = CLONE / "tests/cases/h200x2/result.json"


def test_a_result_of_real_gpus_is_judged_again_alike_wherever_it_is_replayed(smoke):
    """Two H200 with both tiers, identifiers replaced."""
    ended = smoke(f"--replay={RECORDED}", dump=False)

    assert ended.status == 0
    assert "node h200x2: PASS" in ended.text
    assert " checks: 19 pass, 1 warn, " in ended.text


def test_a_result_of_real_gpus_fails_a_limit_that_they_do_not_reach(smoke):
    ended = smoke(f"--replay={RECORDED}", "--gemm-tflops-min=799", dump=False)

    assert ended.status == 1
    assert (
        "gpu0 (0000:00:06.0, GPU-8b0e7153-bf7c-3706-d85c-524e44006655): matrix rate"
        " (8192 x 8192 x 8192, bf16) is 798.9 TFLOPS, expected at least 799 TFLOPS"
    ) in ended.text
    assert " checks: 18 pass, 1 warn, 1 fail, " in ended.text


def test_a_replay_of_what_needs_no_torch_judges_that_alone(smoke, nvidia, tmp_path):
    """Its facts hold no stage of a GPU: judging those would fail all of them."""
    quick = smoke(*nvidia.arguments, "-n0", "-m", "tier1 and quick", environment=nvidia.environment)
    (path,) = quick.results
    again = smoke(f"--replay={path}", "-n0", "--allowed-procs=", dump=tmp_path / "again")

    assert quick.status == 0, quick.text
    assert "a narrowed run vouches for nothing" in quick.text
    assert again.status == 0, again.text
    assert [c["id"] for c in again.node["checks"]] == [c["id"] for c in quick.node["checks"]]
