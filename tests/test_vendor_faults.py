"""Vendors' tools that misbehave, end to end: each costs its own answer, and no run its end."""

from __future__ import annotations

import shutil

import pytest

from tests import test_state_d
from tests.conftest import Smoke
from tests.test_state_d import unkillable
from tests.vendor_node import VendorNode, of_kind, once, outcomes

frozen = test_state_d.frozen

CANARY, GRACE, SMALL = 0.5, 1.5, 3.0
"""Seconds: a tool's deadline here, what its kill may take after it, and all that others take."""
_SH, _SLEEP, _SETSID, _HEAD = (shutil.which(name) for name in ("sh", "sleep", "setsid", "head"))
_FOR_EVER = f"{_SLEEP} 3600"
_LISTS_NONE = f"trap 'echo \"[]\"; exit 0' TERM\nwhile :; do {_SLEEP} 0.05; done"
_HAS_CHILDREN = f"trap '' TERM\n{_FOR_EVER} &\n{_SETSID} {_FOR_EVER} &\nwait"
FLAG = f"--rocm-smi-timeout-sec={CANARY}"


def test_a_tool_is_asked_its_version_first_and_nothing_more_when_that_hangs(smoke, make_node):
    node = make_node("amd", count=2)
    node.script("amd-smi", f"exec {_FOR_EVER}")
    ended = smoke(*node.arguments, FLAG, environment=node.environment)

    assert set(node.calls[:2]) == {"amd-smi version", "rocm-smi --version"}
    assert [call for call in node.calls if call.startswith("amd-smi")] == ["amd-smi version"]
    assert of_kind(ended, "end")[0]["at"] < CANARY + GRACE + SMALL
    message = ended.check("tools.answer")["message"]
    assert ended.outcome("tools.answer") == "FAIL"
    assert message.startswith("amd-smi version hung: no answer in 0.5 s, process ")
    assert "(--tool-timeout-sec)" in message
    assert of_kind(ended, "errors")[0]["source"] == "rocm-smi --showrasinfo all"


def test_tools_that_will_not_be_ended_gently_have_hung_and_leave_nothing(smoke, make_node):
    node = make_node("amd", count=2)
    node.script("amd-smi", _LISTS_NONE)
    node.script("rocm-smi", _HAS_CHILDREN)
    ended = smoke(*node.arguments, FLAG, environment=node.environment)

    told = of_kind(ended, "call", canary=True)
    assert [call["outcome"] for call in told] == ["hung", "hung"]
    assert all("no answer in 0.5 s" in call["trouble"] for call in told)
    assert all(call["seconds"] < CANARY + GRACE for call in told), "SIGKILL ends them at once"
    assert ended.outcome("tools.answer") == "FAIL"
    assert set(node.calls[:2]) == {"amd-smi version", "rocm-smi --version"}
    assert [call.split()[0] for call in node.calls[2:]] == ["lsof"]
    assert ended.outcome("gpu.enumerated") == "UNKNOWN"
    assert of_kind(ended, "end")[0]["at"] < CANARY + GRACE + SMALL


def test_a_tool_in_state_d_costs_its_deadline_and_is_named(smoke, frozen, make_node):
    node = make_node("nvidia", count=2)
    node.script("nvidia-smi", f": >{frozen}/nvidia-smi")
    run = smoke.start(*node.arguments, FLAG, environment=node.environment)
    run.process.wait(timeout=30)
    at_the_end = unkillable(run.ours())
    ended = run.end(patience=0)

    assert len(at_the_end) == 1
    assert of_kind(ended, "end")[0]["at"] < CANARY + GRACE + SMALL
    message = ended.check("tools.answer")["message"]
    assert ended.outcome("tools.answer") == "FAIL"
    assert message.startswith("nvidia-smi --version hung: no answer in 0.5 s, process ")
    assert "in state D (disk sleep)" in message
    assert "SIGKILL does not end it" in message
    assert "power-cycle" in message
    assert node.calls[0] == "nvidia-smi --version"
    assert [call.split()[0] for call in node.calls[1:]] == ["lsof"]
    assert set(outcomes(ended, "gpu.ecc").values()) == {"UNKNOWN"}


def test_a_list_that_comes_after_the_kill_is_no_list(smoke, make_node):
    """Who passed the deadline was ended, whatever status and words it leaves."""
    node = make_node("nvidia", count=2)
    late = f"{_SETSID} {_SH} -c '{_SLEEP} 0.7; echo \"[]\"' &"
    node.first("nvidia-smi -q -x", f"{late}\n{_FOR_EVER}")
    flag = f"--snapshot-timeout-sec={CANARY}"
    ended = smoke(*node.arguments, flag, environment=node.environment)

    message = ended.check("tools.answer")["message"]
    assert ended.outcome("tools.answer") == "FAIL"
    assert message.startswith("nvidia-smi -q -x hung: no answer in 0.")
    assert "(--snapshot-timeout-sec)" in message
    assert set(outcomes(ended, "gpu.processes").values()) == {"UNKNOWN"}
    assert of_kind(ended, "end")[0]["at"] < CANARY + GRACE + SMALL
    assert node.calls == ["nvidia-smi --version", "nvidia-smi -q -x"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Run once on a node where each call does something else that no tool should."""
    folder = tmp_path_factory.mktemp("odd")
    node = VendorNode(folder, "amd", count=2)
    node.first("amd-smi process --json", f"exec {_HEAD} -c 1000000000 /dev/zero")
    metric = node.healthy("amd-smi metric --json").replace('"MB"', '"MB", "\udcff": "\udcfe"', 1)
    node.tell("amd-smi metric --json", f"\udcff\udcfe caf\udce9\n{metric}\n\udcc3")
    node.first("amd-smi topology --json", f"{_SETSID} {_FOR_EVER} &")
    node.remove("rocm-smi")
    (node.bin / "rocm-smi").mkdir()
    yield from once(Smoke(folder), node)


def test_a_tool_that_floods_is_stopped_and_the_next_source_is_asked(odd):
    (call,) = of_kind(odd, "call", command="amd-smi process --json")

    assert call["outcome"] == "failed"
    assert call["trouble"] == "wrote more than 16 MiB and was stopped"
    assert of_kind(odd, "processes", device="gpu0")[0]["source"] == "amd-smi process"
    assert outcomes(odd, "gpu.processes") == {"gpu0": "PASS", "gpu1": "PASS"}


def test_bytes_that_are_no_text_cost_nothing_of_the_answer_among_them(odd):
    (errors,) = of_kind(odd, "errors", device="gpu1")
    (call,) = of_kind(odd, "call", command="amd-smi metric --json")

    assert errors["source"].startswith("amd-smi metric --json")
    assert (errors["uncorrectable"], call["records"]) == (0, 2)
    assert outcomes(odd, "gpu.ecc") == {"gpu0": "PASS", "gpu1": "PASS"}


def test_a_daemon_that_keeps_the_output_open_does_not_keep_us(odd):
    (call,) = of_kind(odd, "call", command="amd-smi topology --json")

    assert (call["outcome"], call["records"]) == ("ok", 2)
    assert call["seconds"] < CANARY
    assert outcomes(odd, "gpu.links") == {"gpu0": "PASS", "gpu1": "PASS"}


def test_a_folder_in_the_place_of_a_tool_is_told(odd):
    (call,) = of_kind(odd, "call", command="rocm-smi --version")

    assert call["trouble"] == "exit 126: rocm-smi: Permission denied"
    assert odd.outcome("tools.answer") == "WARN"
    assert "rocm-smi --version fails: exit 126: " in odd.check("tools.answer")["message"]
    assert odd.status == 0
