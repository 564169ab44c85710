"""What vendors' tools tell, end to end: each answer is read for what it says and nothing more."""

from __future__ import annotations

import pytest

from fixtures.recorder.names import LIVENESS
from tests.conftest import CLONE, Smoke
from tests.healthy import nvidia as healthy_nvidia
from tests.vendor_node import VendorNode, of_kind, once, outcomes, unhappy

GPUS = [f"gpu{n}" for n in range(8)]
_LEAKED = "        PROCESS_INFO:\n            NAME: {}\n            PID: {}\n"
_LEAKED += "            MEMORY_USAGE:\n                VRAM_MEM: {}\n"
_PROCESS = "<process_info><pid>{}</pid><type>C</type><process_name>{}</process_name>"
_PROCESS += "<used_memory>{} MiB</used_memory></process_info>"


@pytest.fixture(scope="module")
def sick(tmp_path_factory):
    """Run once on a node with many faults, each on GPUs of its own: a run costs a second."""
    folder = tmp_path_factory.mktemp("sick")
    node = VendorNode(folder, "amd")
    metric = node.records("amd-smi metric --json")
    metric["gpu_data"][2]["ecc"]["total_uncorrectable_count"] = 5
    metric["gpu_data"][3]["usage"]["gfx_activity"] = {"value": 35, "unit": "%"}
    del metric["gpu_data"][7]
    node.tell("amd-smi metric --json", metric)
    ras = node.healthy("rocm-smi --showrasinfo all").split("GPU[2]")
    ras[1] = ras[1].replace(f"{0:>19}\n", f"{5:>19}\n", 1)
    node.tell("rocm-smi --showrasinfo all", "GPU[2]".join(ras))
    node.refuse("amd-smi process --json")
    node.tell("amd-smi process", _processes(node))
    topology = node.records("amd-smi topology --json")
    for peer, word in zip((1, 2, 3, 4), ("SELF", "X", "-", "0"), strict=True):
        topology[0]["links"][peer]["link_type"] = word
        topology[peer]["links"][0]["link_type"] = word
    node.tell("amd-smi topology --json", topology)
    node.tell("rocm-smi --version", "rsmi_init: no such device\n", status=1)
    allowed = "--allowed-procs=gpuagent,rocm-smi-daemon,dcgm-exporter,long-monitor-name"
    yield from once(Smoke(folder), node, allowed)


def _processes(node):
    """Return the text of `amd-smi process`: two on GPU 0, and allowed ones in three spellings."""
    idle = "    PROCESS_INFO: No running processes detected\n"
    blocks = [f"GPU: {n}\n{idle}" for n in range(8)]
    found = {
        0: [("python3", 4242, "150.0 GB"), ("gpuagent", 77, "0.0 B")],
        1: [("/usr/bin/gpuagent", 77, "0.0 B")],
        4: [("rocm-smi-daemon", 78, "0.0 B"), ("/opt/x/DCGM-EXPORTER", 79, "0.0 B")],
        5: [("long-monitor-na", 80, "0.0 B")],
        6: [("gpuagent2", 81, "0.0 B")],
    }
    for gpu, told in found.items():
        blocks[gpu] = f"GPU: {gpu}\n" + "".join(_LEAKED.format(*one) for one in told)
    return "\n".join(blocks).replace("        PROCESS", "    PROCESS")


def test_an_uncorrectable_error_is_seen_under_the_key_that_the_tool_has_for_it(sick):
    assert outcomes(sick, "gpu.ecc") == {
        gpu: {"gpu2": "FAIL", "gpu7": "UNKNOWN"}.get(gpu, "PASS") for gpu in GPUS
    }
    assert sick.check("gpu.ecc", "gpu2")["value"] == 5
    assert "memory errors since the driver was loaded are 5, exp" in sick.text


def test_a_gpu_that_is_missing_from_the_tools_envelope_is_missing(sick):
    message = sick.check("gpu.enumerated")["message"]

    assert sick.outcome("gpu.enumerated") == "FAIL"
    assert message.startswith("amd-smi metric --json lists 7 GPUs, expected 8")
    assert "missing: gpu7 (0000:75:00.0, GPU-5a1e000000000007)" in message
    assert sick.outcome("gpu.visible") == "PASS"


def test_a_value_with_its_unit_in_an_object_is_read(sick):
    activity = sick.check("gpu.activity", "gpu3")

    assert (activity["outcome"], activity["value"], activity["unit"]) == ("WARN", 35, "%")
    assert sick.check("gpu.activity", "gpu2")["value"] == 0
    (sensors,) = of_kind(sick, "sensors", device="gpu0")
    values = sensors["values"]
    assert (values["power_w"], values["clock_gfx_mhz"]) == (133, 132)
    assert values["temperature_hotspot_c"] == 42


def test_two_processes_on_one_gpu_are_two_and_a_sentence_on_the_others_is_none(sick):
    (fact,) = of_kind(sick, "processes", device="gpu0")
    holders = [(h["told"], h["pid"]) for h in fact["holders"]]

    assert fact["source"] == "amd-smi process"
    assert holders == [("python3", 4242), ("gpuagent", 77)]
    message = sick.check("gpu.processes", "gpu0")["message"]
    assert "a process of others holds it: python3 (pid 4242, 150.00 GiB)" in message
    for gpu in ("gpu2", "gpu3", "gpu7"):
        assert of_kind(sick, "processes", device=gpu)[0]["holders"] == []
        assert sick.outcome("gpu.processes", gpu) == "PASS"


def test_an_allowed_process_is_known_by_its_path_and_by_a_name_that_the_kernel_cut(sick):
    found = outcomes(sick, "gpu.processes")

    assert {gpu: found[gpu] for gpu in ("gpu1", "gpu4", "gpu5")} == {
        "gpu1": "PASS",
        "gpu4": "PASS",
        "gpu5": "PASS",
    }
    assert found["gpu6"] == "FAIL", "gpuagent2 is not gpuagent"


def test_a_tool_that_fails_at_its_own_version_is_told(sick):
    check = sick.check("tools.answer")

    assert check["outcome"] == "WARN"
    assert check["message"].startswith("rocm-smi --version fails: exit 1: ")
    assert "rsmi_init: no such device" in check["message"]
    assert check["message"] in sick.node["warnings"]


def test_a_word_for_oneself_between_two_gpus_is_no_link(sick):
    unread = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"}

    assert outcomes(sick, "gpu.links") == {
        gpu: "UNKNOWN" if gpu in unread else "PASS" for gpu in GPUS
    }
    assert "the link to gpu1, gpu2, gpu3, gpu4" in sick.check("gpu.links", "gpu0")["message"]


def test_a_matrix_that_is_smaller_than_the_node_is_not_the_whole_node(smoke, make_node):
    node = make_node("nvidia")
    node.tell("nvidia-smi topo -m", healthy_nvidia.topo(**{**node.shape, "count": 7}))
    ended = smoke(*node.arguments, environment=node.environment)

    message = ended.check("gpu.enumerated")["message"]
    assert message.startswith("nvidia-smi topo -m lists 7 GPUs, expected 8")
    assert "gpu7 (0000:1f:00.0" in message
    assert set(outcomes(ended, "gpu.links").values()) == {"UNKNOWN"}


def _blind(node):
    """Leave the node without anything that lists processes or tells of PCIe links."""
    for tool in ("amd-smi process", "rocm-smi --showpids"):
        node.refuse(tool, f"{tool} --json")
    node.remove("lsof")
    for path in (node.root / "sys/bus/pci/devices").glob("*/*_link_*"):
        path.unlink()
    for subject in ("metric", "static"):
        told = node.records(f"amd-smi {subject} --json")
        for record in told["gpu_data"]:
            record.pop("pcie", None)
            record |= {"bus": {"bdf": record["bus"]["bdf"]}} if "bus" in record else {}
        node.tell(f"amd-smi {subject} --json", told)
        node.refuse(f"amd-smi {subject}")


@pytest.fixture(scope="module")
def blind(tmp_path_factory):
    """Run once on a node of far domains whose tools tell neither processes nor PCIe links."""
    folder = tmp_path_factory.mktemp("blind")
    node = VendorNode(folder, "amd", addresses=["10000:05:00.0", "10001:15:00.0"], count=2)
    _blind(node)
    node.refuse("amd-smi topology --json")
    yield from once(Smoke(folder), node)


def test_processes_that_nothing_can_list_are_unknown_and_never_none(blind):
    assert outcomes(blind, "gpu.processes") == {"gpu0": "UNKNOWN", "gpu1": "UNKNOWN"}
    assert "lsof is not in PATH" in blind.check("gpu.processes", "gpu0")["message"]
    assert blind.outcome("gpu.unplaced_processes") == "UNKNOWN"
    assert blind.outcome("tools.present") == "UNKNOWN"
    assert "no working tool for gpu.processes, " in blind.check("tools.present")["message"]
    assert blind.status == 0


def test_a_pcie_link_that_nothing_tells_is_unknown(blind):
    assert outcomes(blind, "gpu.pcie") == {"gpu0": "UNKNOWN", "gpu1": "UNKNOWN"}
    assert "sysfs tells neither" in blind.check("gpu.pcie", "gpu0")["message"]
    assert "gpu.pcie: " in blind.check("tools.present")["message"]


def test_a_pci_domain_of_five_digits_is_read_in_a_matrix_too(blind):
    peers = [(f["source"], f["device"], f["peers"]) for f in of_kind(blind, "peers")]

    assert peers == [
        ("amd-smi topology", "gpu0", {"gpu1": "XGMI"}),
        ("amd-smi topology", "gpu1", {"gpu0": "XGMI"}),
    ]
    assert outcomes(blind, "gpu.links") == {"gpu0": "PASS", "gpu1": "PASS"}
    assert blind.check("gpu.enumerated")["value"] == 2


def test_what_could_not_be_looked_at_fails_where_that_is_asked_for(smoke, make_node):
    node = make_node("amd", count=2)
    _blind(node)
    flags = ("--fail-on-unknown", "--expected-gpus=2")
    ended = smoke(*node.arguments, *flags, environment=node.environment)

    checks = {(f"gpu.{what}", gpu) for what in ("processes", "pcie") for gpu in ("gpu0", "gpu1")}
    checks |= {("gpu.unplaced_processes", ""), ("tools.present", "")}
    assert unhappy(ended) == checks
    assert {ended.outcome(*check) for check in checks} == {"FAIL"}
    assert ended.status == 1


_BROKEN = """
from fixtures.vendors.amd import smi

def _broken(text, source):
    raise ZeroDivisionError("a value that nobody foresaw")

smi.metric = _broken
"""


def test_a_parser_that_breaks_costs_its_call_and_nothing_that_others_found(
    smoke, make_node, tmp_path
):
    (tmp_path / "sitecustomize.py").write_text(_BROKEN)
    node = make_node("amd", count=2)
    path = {"PYTHONPATH": f"{tmp_path}:{CLONE}"}
    environment = {**node.environment, **path}
    ended = smoke(*node.arguments, "--expected-gpus=2", environment=environment)

    (call,) = of_kind(ended, "call", command="amd-smi metric --json")
    assert "ZeroDivisionError: a value that nobody foresaw" in call["trouble"]
    (errors,) = of_kind(ended, "errors", device="gpu1")
    assert (errors["source"], errors["uncorrectable"]) == ("rocm-smi --showrasinfo all", 0)
    assert unhappy(ended) == {
        *(("gpu.throttle", gpu) for gpu in ("gpu0", "gpu1")),
        ("tools.present", ""),
    }


def test_activity_is_asked_for_before_anything_of_ours_is_on_a_gpu(smoke, nvidia):
    ended = smoke(*nvidia.arguments, "-n0", environment=nvidia.environment)

    asked = [fact["at"] for fact in of_kind(ended, "activity")]
    used = [fact["at"] - fact["seconds"] for fact in of_kind(ended, "stage")]
    assert (len(asked), len(used)) == (2, 2 * len(LIVENESS))
    assert max(asked) <= min(used)
    assert outcomes(ended, "gpu.activity") == {"gpu0": "PASS", "gpu1": "PASS"}


@pytest.mark.parametrize(
    ("vendor", "nameless"),
    [("nvidia", False), ("amd", False), ("amd", True)],
    ids=["nvidia", "amd", "amd, indices alone"],
)
def test_a_job_that_owns_half_of_the_node_is_judged_by_its_half(smoke, make_node, vendor, nameless):
    node = make_node(vendor)
    if nameless:
        subjects = ("static", "list", "topology")
        node.refuse(*(f"amd-smi {s}{end}" for s in subjects for end in ("", " --json")))
    chosen = {"CUDA_VISIBLE_DEVICES" if vendor == "nvidia" else "HIP_VISIBLE_DEVICES": "4,5,6,7"}
    environment = {**node.environment, **chosen}
    ended = smoke(*node.arguments, "--expected-gpus=4", environment=environment)

    (inventory,) = of_kind(ended, "inventory")
    assert (len(inventory["devices"]), len(inventory["others"])) == (4, 4)
    assert ended.check("gpu.enumerated")["value"] == 8
    assert ended.node["reasons"] == []
    assert nameless or unhappy(ended) == set()


@pytest.mark.parametrize(("vendor", "model"), [("amd", "MI210"), ("nvidia", "NVIDIA L40S")])
def test_cards_without_links_of_their_own_are_not_held_to_any(smoke, make_node, vendor, model):
    node = make_node(vendor, model=model, count=2)
    ended = smoke(*node.arguments, environment=node.environment)

    assert outcomes(ended, "gpu.links") == {"gpu0": "N/A", "gpu1": "N/A"}
    assert unhappy(ended) == set()
