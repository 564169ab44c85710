"""Whole nodes under the vendor's tools, end to end: a recorded one, a container's, a site's own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest

from tests.conftest import CLONE, UUIDS, Smoke
from tests.playing import tools
from tests.playing.tools import Output, Row
from tests.vendor_node import QUICK, VendorNode, of_kind, once, outcomes, unhappy

RECORDED = CLONE / "tests/cases/h200x2"
BOTH = {"gpu0": "PASS", "gpu1": "PASS"}
_PROCESS = (
    "<process_info><pid>{}</pid><type>C</type><process_name>{}</process_name>"
    "<used_memory>{} MiB</used_memory></process_info>"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Run once on what a real machine with two H200 told and showed, and on nothing else."""
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copytree(RECORDED / "root", folder / "root")
    (folder / "root/dev/shm").mkdir(parents=True)  # Git keeps no empty folder
    files = {"-q -x": "nvidia-smi.xml", "topo -m": "topo.txt"}
    files |= {"nvlink -s": "nvlink.txt", "nvlink -e": "nvlink-errors.txt"}
    files |= {"--version": "version.txt"}
    (folder / "bin").mkdir()
    rows = [
        Row(tools.words(call.split()), Output((RECORDED / name).read_text()))
        for call, name in files.items()
    ]
    tools.write(folder / "bin", "nvidia-smi", rows)
    smoke = Smoke(folder)
    path = {"PATH": str(folder / "bin")}
    yield smoke(f"--system-root={folder}/root", "--expected-gpus=2", *QUICK, environment=path)
    for started in smoke.started:
        started.kill()


def test_a_recorded_pair_passes_every_check_and_nothing_else_is_said(recorded):
    told = [c for c in recorded.node["checks"] if c["id"].startswith(("gpu.", "tools."))]
    beside = [(c["id"], c["outcome"]) for c in told if c["outcome"] != "PASS"]

    assert beside == [("gpu.unplaced_processes", "N/A")]
    assert recorded.node["reasons"] == []
    assert all("notes" not in call and "trouble" not in call for call in of_kind(recorded, "call"))
    assert recorded.status == 0


def test_a_recorded_pair_is_judged_by_its_real_values(recorded):
    values = {
        (c["id"], c["device"]): (c["value"], c["unit"])
        for c in recorded.node["checks"]
        if "device" in c and "value" in c
    }

    for gpu in BOTH:
        assert values["gpu.memory_in_use", gpu] == (0, "GiB")
        assert values["gpu.ecc", gpu] == (0, "errors")
        assert values["gpu.pcie", gpu] == (16, "lanes")
        assert values["gpu.activity", gpu] == (0, "%")
    links = [(f["source"], f["width"], f["max_width"]) for f in of_kind(recorded, "pcie_link")]
    assert sorted(links) == [("nvidia-smi -q -x", 16, 16)] * 2 + [("sysfs", 16, 16)] * 2
    assert recorded.check("gpu.enumerated")["value"] == 2


def test_nvidias_health_is_told_as_fully_as_amds(recorded):
    (software,) = of_kind(recorded, "software")[-1:]
    versions = {"driver": "580.159.04", "cuda": "13.0"}

    assert versions.items() <= software["values"].items()
    for gpu, other in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
        (errors,) = of_kind(recorded, "errors", device=gpu)
        assert (errors["ecc"], errors["uncorrectable"]) == (True, 0)
        assert of_kind(recorded, "peers", device=gpu)[0]["peers"] == {other: "NV18"}
        assert of_kind(recorded, "links", device=gpu)[0]["active"] == 18
        assert of_kind(recorded, "recovery", device=gpu)[0]["action"] == "none"
        assert of_kind(recorded, "fabric", device=gpu)[0]["state"] == "Completed"
    assert outcomes(recorded, "gpu.links") == BOTH
    answer = recorded.check("tools.answer")
    assert (answer["outcome"], answer["unit"]) == ("PASS", "s")
    uuids = [device["uuid"] for device in of_kind(recorded, "inventory")[0]["devices"]]
    assert uuids == list(UUIDS)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """Run once with foreign processes allowed, a limit for memory, and tools that are required."""
    folder = tmp_path_factory.mktemp("busy")
    node = VendorNode(folder, "nvidia", count=2)
    head, *gpus = node.healthy("nvidia-smi -q -x").split("<gpu id")
    for index, mib in enumerate((3000, 5000)):
        one = _PROCESS.format(4242 + index, "/usr/bin/python3", mib)
        gpus[index] = gpus[index].replace("<used>0 MiB", f"<used>{mib} MiB", 1)
        gpus[index] = gpus[index].replace("<processes>", f"<processes>{one}")
    node.tell("nvidia-smi -q -x", "<gpu id".join([head, *gpus]))
    node.script("ibstat", "exit 1")
    flags = ("--allow-foreign-procs", "--hbm-busy-threshold-gib=4")
    yield from once(Smoke(folder), node, *flags, "--require-tools=nvidia-smi,ibstat")


def test_allowed_processes_of_others_are_still_told(busy):
    assert outcomes(busy, "gpu.processes") == {"gpu0": "WARN", "gpu1": "WARN"}
    message = busy.check("gpu.processes", "gpu1")["message"]
    assert "/usr/bin/python3 (pid 4243, 4.88 GiB)" in message
    assert "allowed by --allow-foreign-procs" in message


def test_memory_in_use_has_a_limit_of_its_own(busy):
    assert outcomes(busy, "gpu.memory_in_use") == {"gpu0": "PASS", "gpu1": "FAIL"}
    assert "(--hbm-busy-threshold-gib: " in busy.check("gpu.memory_in_use", "gpu1")["message"]
    assert len(busy.node["reasons"]) == 1


def test_any_command_can_be_required(busy):
    assert busy.outcome("tools.present") == "PASS"
    assert not any("ibstat" in call["command"] for call in of_kind(busy, "call"))


def test_a_required_tool_that_is_not_there_fails_by_its_name(smoke, make_node):
    node = make_node("nvidia", count=2)
    required = "--require-tools=nvidia-smi,ibstat"
    ended = smoke(*node.arguments, "--expected-gpus=2", required, environment=node.environment)

    assert unhappy(ended) == {("tools.present", "")}
    message = ended.check("tools.present")["message"]
    assert ended.outcome("tools.present") == "FAIL"
    assert message.startswith("required tools that are not in PATH: ibstat (--require-tools)")


@pytest.fixture
def inside(tmp_path, make_node):
    """Give an AMD node, and a Python that runs on it inside a PID namespace with its own /proc."""
    node = make_node("amd", count=2)
    for path in (node.root / "sys/class/kfd").rglob("properties"):
        lines = path.read_text().splitlines()  # no device file: there is none in this /dev
        kept = [line for line in lines if not line.startswith("drm_render_minor")]
        path.write_text("\n".join(kept) + "\n")
    unshare, mount, sh = (shutil.which(name) or "" for name in ("unshare", "mount", "sh"))
    enter = [unshare, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sh, "-c"]
    bind = f"{mount} --bind {shlex.quote(str(node.root / 'sys'))} /sys"
    tried = subprocess.run([*enter, bind], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no namespace of our own here: {tried.stderr.strip()[-200:]}")
    python = tmp_path / "python"
    run = f'{bind} && exec {sys.executable} "$@"'
    python.write_text(f'#!{sh}\nexec {shlex.join([*enter, run, "sh"])} "$@"\n')
    python.chmod(0o755)
    return node, python


def test_names_from_another_pid_namespace_are_not_made_up(smoke, inside):
    """The driver tells pid 1; the one that /proc shows under that number is somebody else."""
    node, python = inside
    told = node.records("amd-smi process --json")
    usage = {"memory_usage": {"vram_mem": {"value": 0, "unit": "B"}}}
    told[1]["process_list"] = [{"process_info": {"name": "N/A", "pid": 1} | usage}]
    node.tell("amd-smi process --json", told)
    flags = ("--ulimit-l-min-gb=0", "--expected-gpus=2")
    ended = smoke(*QUICK, *flags, environment=node.environment, python=python)

    assert outcomes(ended, "gpu.processes") == {"gpu0": "PASS", "gpu1": "FAIL"}
    (fact,) = of_kind(ended, "processes", device="gpu1")
    assert fact["namespaced"] is True
    assert fact["holders"] == [{"pid": 1, "memory": 0}]
    message = ended.check("gpu.processes", "gpu1")["message"]
    assert "unresolved name (pid 1, " in message
    assert "--pid=host, or allow N/A in --allowed-procs" in message
    assert unhappy(ended) == {("gpu.processes", "gpu1")}
