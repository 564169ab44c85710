"""Facts and checks into a digest: what is kept, what is passed over, what is refused."""

import json

import pytest

from fixtures import facts as recorded
from reporting import wire
from reporting.digest import Event, Gpu, Port
from reporting.load import Folder, checks_of
from tests.reporting import make

FACTS = [
    {"fact": "inventory", "devices": [{"name": "gpu0", "address": "0000:18:00.0", "uuid": "U0"}]},
    {"fact": "torch", "outcome": "ok", "version": "2.9.1", "runtime": "CUDA 13.0"},
    {"fact": "software", "vendor": "host", "values": {"kernel": "6.8", "nvidia_driver": "580.1"}},
    {"fact": "software", "vendor": "nvidia", "values": {"driver": "580.1", "cuda": "13.0"}},
    {"fact": "stage", "device": "gpu0", "stage": "bind", "values": {"name": "H200", "visible": 1}},
    {"fact": "stage", "device": "gpu0", "stage": "memory", "values": {"total": 7, "free": None}},
    {"fact": "stage", "device": "gpu0", "stage": "reproducible", "values": {"hash": "ab"}},
    {"fact": "description", "device": "gpu0", "values": {"model": "NVIDIA H200", "vbios": "96"}},
    {"fact": "memory_in_use", "device": "gpu0", "used": 3, "total": 9},
    {"fact": "activity", "device": "gpu0", "percent": 1.5},
    {"fact": "pcie_link", "device": "gpu0", "source": "nvidia-smi", "width": 8, "speed": 2.5},
    {"fact": "pcie_link", "device": "gpu0", "source": "sysfs", "width": 16, "speed": 32.0},
    {"fact": "sensors", "device": "gpu0", "values": {"power_w": 80.0}},
    {
        "fact": "sensors",
        "device": "gpu0",
        "moment": "after",
        "values": {"temperature_gpu_c": 61.0, "clock_sm_mhz": 1755, "power_w": None},
    },
    {"fact": "tools", "paths": {"nvidia-smi": "/usr/bin/nvidia-smi"}, "expected": ["nvidia-smi"]},
    {"fact": "host_limit", "name": "memlock", "value": -1},
    {"fact": "host_limit", "name": "nofile", "value": 1024},
    {"fact": "host_limit", "name": "free_tmp", "value": 123},
    {"fact": "host_setting", "name": "governor", "value": "performance"},
    {"fact": "host_setting", "name": "thp", "message": "can't be read"},
    {"fact": "cpus", "present": 192, "online": 190},
    {"fact": "clock", "at": 0.5, "wall": 17.5, "monotonic": 3.0, "synchronised": True},
    {"fact": "time_daemons", "running": ["chronyd"]},
    {
        "fact": "rdma_port",
        "device": "mlx5_0",
        "port": "1",
        "link_layer": "Ethernet",
        "rate": 400.0,
        "netdevs": [{"name": "eth0", "mtu": 9000}],
        "firmware": "28.41",
        "hca_type": "MT4129",
        "board_id": "B",
    },
    {"fact": "rdma_port", "device": "mlx5_1", "port": "1"},
    {"fact": "kernel_event", "kind": "xid", "severity": "fail", "area": "gpu", "code": 79},
    {"fact": "fabric", "device": "gpu0", "state": "Completed"},
]
CHECKS = [
    make.check(),
    make.check("host.shm", "", "WARN", message="small"),
    make.check("tools.answer", "", value=0.2),
    make.check("performance.gemm_tflops", "gpu0", tier="tier2", value=770.5, limit=675.0),
    make.check("performance.all_reduce", "", "N/A", tier="tier2", value=331.0),
    make.check("rdma.port_state", "mlx5_1-p1", "N/A", message="mlx5_1:1: excluded by X=^mlx5_1"),
]
NEWER = {"fact": "of_tomorrow", "device": 7, "values": [1]}


def entry(dump, **fields):
    make.result(dump, **{"checks": CHECKS, "coverage": {}, "facts": FACTS, **fields})
    (found,) = Folder(dump).scan()
    return found


def test_what_is_compared_among_nodes_is_kept(tmp_path):
    kept = entry(tmp_path).digest

    assert kept.gpus == [
        Gpu(
            name="gpu0",
            address="0000:18:00.0",
            uuid="U0",
            model="NVIDIA H200",
            vbios="96",
            memory_total=9,
            memory_used=3,
            activity=1.5,
            pcie_lanes=16,
            pcie_gts=32.0,
            hash="ab",
            numbers={"temperature_c": 61.0, "clock_mhz": 1755.0, "gemm_tflops": 770.5},
        )
    ]
    assert kept.ports == [
        Port(
            name="mlx5_0:1",
            layer="Ethernet",
            rate=400.0,
            mtu=9000,
            firmware="28.41",
            hca="MT4129",
            board="B",
        ),
        Port(name="mlx5_1:1", aside="excluded by X=^mlx5_1"),
    ]
    assert kept.software == {
        "torch": "2.9.1",
        "runtime": "CUDA 13.0",
        "kernel": "6.8",
        "driver": "580.1",
        "cuda": "13.0",
    }
    assert kept.host == {
        "memlock": "unlimited",
        "nofile": "1024",
        "governor": "performance",
        "cpus": "190",
    }
    assert kept.events == [Event(kind="xid", severity="fail", code=79)]
    assert (kept.wall, kept.wall_at, kept.synchronised) == (17.5, 0.5, True)
    assert kept.daemons == ["chronyd"]
    assert kept.tools == {"nvidia-smi": True}


def test_what_the_checks_found_and_measured_is_kept(tmp_path):
    kept = entry(tmp_path).digest

    assert [(c.id, c.outcome, c.message) for c in kept.findings] == [("host.shm", "WARN", "small")]
    assert {k: n for k, n in kept.counts.items() if n} == {
        "checks": 6,
        "PASS": 3,
        "WARN": 1,
        "N/A": 2,
    }
    assert kept.values == {"tools.answer": 0.2, "performance.all_reduce": 331.0}
    assert kept.limits == {"performance.gemm_tflops": 675.0}


def test_the_checks_can_be_had_again(tmp_path):
    path = entry(tmp_path).path

    assert [check.id for check in checks_of(path)] == [check["id"] for check in CHECKS]


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"node":{"checks":[1]}}', b"[" * 100_000])
def test_checks_that_cannot_be_had_again_are_a_value_error(tmp_path, raw):
    with pytest.raises(ValueError, match=r"."):
        checks_of(make.put(tmp_path / "x.json", raw))


def test_a_kind_and_a_field_of_a_newer_version_change_nothing(tmp_path):
    newer = [{**fact, "of_tomorrow": [1]} for fact in FACTS]

    assert entry(tmp_path / "a").digest == entry(tmp_path / "b", facts=[*newer, NEWER]).digest


def test_a_kind_need_not_stand_in_front(tmp_path):
    turned = [dict(reversed(fact.items())) for fact in FACTS]

    assert entry(tmp_path / "a").digest == entry(tmp_path / "b", facts=turned).digest
    assert entry(tmp_path / "c", facts=[*turned, NEWER]).digest == entry(tmp_path / "a").digest


def test_every_kind_of_today_is_read_in_one_pass():
    kinds = {fact["fact"] for fact in json.loads(_schema_kinds())}

    assert kinds == wire.WANTED.keys() | set(wire.PASSED_OVER)


def _schema_kinds():
    tags = [t.__struct_config__.tag for t in recorded.AnyFact.__args__]
    return json.dumps([{"fact": tag} for tag in tags])


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ({"fact": "activity", "device": "gpu0", "percent": "much"}, "got `str`"),
        ({"fact": "activity", "device": 7}, "(in the fact activity)"),
        ({"fact": "stage", "device": "gpu0"}, "missing required field `stage`"),
        ({"fact": "memory_in_use", "device": "gpu0", "used": 10**30}, "memory_in_use"),
        ({"fact": 7}, "(in the fact ?)"),
        ({"device": "gpu0"}, "(in the fact ?)"),
        ([1], "(in the fact ?)"),
        (None, "(in the fact ?)"),
        (
            {"fact": "inventory", "devices": [{"name": f"gpu{n}"} for n in range(5000)]},
            "5000 GPUs, ports or kernel events, expected at most 4096",
        ),
    ],
)
def test_a_fact_of_the_wrong_shape_refuses_the_document_by_name(tmp_path, fact, says):
    refused = entry(tmp_path, facts=[*FACTS, fact])

    assert (refused.name, refused.said, refused.digest) == ("n1", None, None)
    assert says in refused.error


@pytest.mark.parametrize(
    "text",
    [
        b'{"fact":"activity","device":"gpu0","percent":NaN}',
        b'{"fact":"activity","device":"gpu0","percent":1e400}',
        b'{"fact":"activity","device":"gpu0","percent":1' + b"0" * 400 + b"}",
        b'{"fact":"activity","device":"\xff\xfe"}',
        b'{"fact":"end","message":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ],
    ids=["nan", "too large", "too long", "no text", "deep"],
)
def test_what_json_or_memory_cannot_hold_is_a_named_refusal(tmp_path, text):
    raw = json.dumps(make.document()).encode()
    make.put(tmp_path / "smoke/n1.json", raw.replace(b'"facts": []', b'"facts": [' + text + b"]"))

    (refused,) = Folder(tmp_path).scan()

    assert (refused.name, refused.said) == ("n1", None)
    assert refused.error


def test_of_a_key_that_comes_twice_one_counts(tmp_path):
    raw = json.dumps(make.document(facts=[FACTS[9]])).encode()
    twice = raw.replace(b'"percent": 1.5', b'"percent": 1.5, "percent": 2.5')
    make.put(tmp_path / "smoke/n1.json", twice)

    (found,) = Folder(tmp_path).scan()

    assert found.digest.gpus[0].activity in {1.5, 2.5}


def test_nodes_that_are_alike_share_what_is_alike(tmp_path):
    one, other = entry(tmp_path / "a").digest, entry(tmp_path / "b").digest

    assert one.software is other.software
    assert one.ports is other.ports
    assert one.gpus is not other.gpus
