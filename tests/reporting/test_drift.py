"""Drift: the majority among like nodes, a split as a split, and what is absent."""

import pytest

from reporting.alike import groups, rounded, vote
from reporting.drift import drift, hashes
from reporting.model import Kind, Row
from tests.reporting.clusters import MI300, cluster, digest, healthy, row, said, section

STACK, NICS = "Stack drift", "NIC firmware drift"


def told(rows):
    """Return what drifts as (key, majority, {value: nodes})."""
    found = drift(cluster(*rows))
    return [(d.key, d.vote.majority, {o.value: o.nodes for o in d.vote.others}) for d in found]


def test_a_majority_is_more_than_half():
    spread = vote([(["a", "b"], "", "x"), (["c"], "", "y")])

    assert (spread.majority, spread.count, spread.total) == ("x", 2, 3)
    assert [(other.value, other.nodes) for other in spread.others] == [("y", ["c"])]


@pytest.mark.parametrize("order", [("x", "y"), ("y", "x")])
def test_a_tie_has_no_majority_whoever_comes_first(order):
    """One of two nodes is no majority; the seed took the one of the lowest rank."""
    spread = vote([([node], "", value) for node, value in zip("ab", order, strict=True)])

    assert spread.majority == ""
    assert [other.value for other in spread.others] == ["x", "y"]


def test_the_most_of_three_camps_is_no_majority():
    values = [(["a", "b"], "", "x"), (["c", "d"], "", "y"), (["e", "f", "g"], "", "z")]

    spread = vote(values)

    assert spread.majority == ""
    assert [other.value for other in spread.others] == ["z", "x", "y"]


def test_two_racks_on_two_kernels_are_shown_as_split():
    rows = healthy(4)
    for k in (2, 3):
        rows[k].digest.software["kernel"] = "6.5.0"

    assert said(section(rows, STACK)) == [
        "kernel | none: split among 4 | 6.5.0 (2): n[3-4]; 6.8.0-60 (2): n[1-2]"
    ]


def test_a_driver_that_comes_with_the_kernel_differs_as_the_kernels_do():
    rows = healthy(4)
    for k, one in enumerate(rows):
        kernel = "6.5.0" if k > 1 else "6.8.0"
        one.digest.software.update(kernel=kernel, driver=kernel, driver_kind="in-tree")

    assert [key for key, _, _ in told(rows)] == ["kernel"]

    rows[0].digest.software["driver"] = "6.8.0-patched"
    assert [key for key, _, _ in told(rows)] == ["driver", "kernel"]


def test_a_value_that_some_lack_is_drift():
    rows = healthy(3)
    del rows[1].digest.host["governor"]

    assert told(rows) == [("governor", "performance", {"absent": ["n2"]})]


@pytest.mark.parametrize("key", ["governor", "cpus", "numa_nodes"])
def test_what_the_seed_never_compared_of_hosts_is_compared(key):
    rows = healthy(3)
    rows[1].digest.host[key] = "1"

    assert [(k, others) for k, _, others in told(rows)] == [(key, {"1": ["n2"]})]


def test_memory_of_nearly_the_same_size_is_the_same():
    """191.98 and 191.69 GiB made sixteen outliers of healthy GPUs."""
    rows = healthy(3)
    for k, one in enumerate(rows):
        one.digest.host["shm"] = str(int((191.69 + 0.29 * (k == 1)) * 2**30))
        for gpu in one.digest.gpus:
            gpu.memory_total = int((191.69 + 0.29 * (k == 1)) * 2**30)

    assert told(rows) == []


def test_half_the_memory_is_another_size():
    rows = healthy(3)
    rows[0].digest.host["shm"] = rows[2].digest.host["shm"] = str(2**40)
    rows[1].digest.host["shm"] = str(2**39)

    assert told(rows) == [("shm", "1024.0 GiB", {"512.0 GiB": ["n2"]})]


def test_amounts_that_are_close_stand_for_the_commonest():
    assert rounded([(100.0, 1), (101.0, 5), (103.0, 1)]) == {100: 101, 101: 101, 103: 103}


def test_pages_that_are_free_now_are_no_drift():
    rows = healthy(2)
    for k, one in enumerate(rows):
        one.digest.host["hugepages"] = f"total=8 free={k} size=2048kB"

    assert told(rows) == []


def test_nodes_are_compared_with_their_like_only():
    other = [row(f"m{k}", digest(model=MI300, software={"kernel": "5.4"})) for k in range(2)]

    rows = [*healthy(2), *other]

    assert told(rows) == []
    assert [*groups(cluster(*rows))] == ["8 x AMD Instinct MI300X", "8 x NVIDIA H200"]
    lines = section(rows, STACK).lines
    assert lines[0] == "All nodes match."
    assert "8 x AMD Instinct MI300X: m[0-1]; 8 x NVIDIA H200: n[1-2]" in lines[1]


def test_a_node_alone_of_its_kind_says_so():
    rows = [*healthy(3), row("n9", digest(gpus=4))]

    assert section(rows, STACK).lines[-1] == (
        "Alone of its kind, and compared with nobody: n9 (4 x NVIDIA H200)."
    )


def test_nodes_that_did_not_report_are_nobodys_majority():
    """The seed counted a missing node as one with no NICs."""
    missing = [Row(f"m{k}", Kind.MISSING, ["no result"]) for k in range(5)]

    rows = [*healthy(2), *missing]

    assert told(rows) == []
    assert section(rows, "NIC port-count").lines == ["8 ports on each of 2 nodes."]


def test_what_rehearsed_is_compared_with_nobody():
    rows = healthy(3)
    rows[0].digest.software["torch"], rows[0].kind = "cpu", Kind.REHEARSAL

    assert told(rows) == []


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("firmware", "28.0", "mlx5_[0-7] | 28.39.1002 (3/4) | 28.0 (1): n2"),
        ("board", "DELL", "mlx5_[0-7] board | MT_0000000838 (3/4) | DELL (1): n2"),
        ("hca", "MT4125", "mlx5_[0-7] model | MT4129 (3/4) | MT4125 (1): n2"),
        ("mtu", 1500, "mlx5_[0-7] MTU | 4096 (3/4) | 1500 (1): n2"),
        ("rate", 200.0, "mlx5_[0-7] rate (Gb/s) | 400 (3/4) | 200 (1): n2"),
        ("layer", "Ethernet", "mlx5_[0-7] link layer | InfiniBand (3/4) | Ethernet (1): n2"),
        ("firmware", "", "mlx5_[0-7] | 28.39.1002 (3/4) | absent (1): n2"),
    ],
)
def test_a_node_whose_nics_differ_is_one_line(field, value, line):
    rows = healthy(4)
    for port in rows[1].digest.ports:
        setattr(port, field, value)

    assert said(section(rows, NICS)) == [line]


def test_another_board_brings_another_firmware_and_is_one_line():
    rows = healthy(4)
    for port in rows[1].digest.ports:
        port.board, port.firmware = "DELL", "22.1"

    assert len(section(rows, NICS).rows) == 1


def test_a_nic_that_is_not_there_is_drift():
    rows = healthy(4)
    del rows[1].digest.ports[3]

    assert said(section(rows, NICS)) == ["mlx5_3 device | present (3/4) | absent (1): n2"]


def test_ports_that_do_not_train_need_no_rate():
    rows = healthy(3)
    for k, one in enumerate(rows):
        one.digest.ports[0].aside = "set aside: down"
        one.digest.ports[0].rate = 10.0 * k

    assert told(rows) == []


def test_port_counts_that_are_split_are_shown_as_split():
    rows = healthy(4)
    for k in (0, 1):
        del rows[k].digest.ports[4:]

    assert section(rows, "NIC port-count").lines == ["No majority: 4 (2): n[1-2]; 8 (2): n[3-4]."]


def test_a_vbios_by_position_that_all_nodes_have_is_none():
    rows = healthy(3)
    for one in rows:
        one.digest.gpus[7].vbios = "96.00.B2"

    assert told(rows) == []


def test_one_gpu_of_a_lone_node_is_compared_with_its_neighbours():
    rows = healthy(1)
    rows[0].digest.gpus[2].pcie_lanes = 4

    assert told(rows) == [("PCIe lanes", "16", {"4": ["n1"]})]


def camps(rows):
    return [" | ".join(cells) for cells in section(rows, "Arithmetic").rows]


def test_a_gpu_with_other_bits_than_its_like_is_named():
    rows = healthy(2)
    rows[1].digest.gpus[5].hash = "0bad"

    line = "5f0a9c5e1e2b (15 of 16 GPUs) | 0bad (1): n2 gpu5"
    assert camps(rows) == [f"NVIDIA H200, torch 2.11.0, runtime 13.0, driver 570.1 | {line}"]


def test_of_two_camps_of_one_size_nobody_is_called_wrong():
    rows = healthy(2)
    for gpu in rows[1].digest.gpus:
        gpu.hash = "0bad"

    (line,) = camps(rows)
    assert "no majority among 16 GPUs: which are wrong can't be told by this" in line
    assert line.endswith("0bad (8): n2 gpu[0-7]; 5f0a9c5e1e2b (8): n1 gpu[0-7]")


@pytest.mark.parametrize("key", ["torch", "runtime", "driver"])
def test_other_software_may_have_other_bits(key):
    rows = healthy(2)
    rows[1].digest.software[key] = "another"
    for gpu in rows[1].digest.gpus:
        gpu.hash = "0bad"

    assert hashes(cluster(*rows)) == []


def test_a_gpu_that_has_no_hash_disagrees_with_nobody():
    rows = healthy(2)
    rows[1].digest.gpus[0].hash = ""

    assert hashes(cluster(*rows)) == []


def test_a_node_that_lost_a_gpu_drifts_from_those_of_its_model():
    rows = healthy(9)
    rows.append(row("n10", digest(7)))

    assert told(rows) == [("gpu count", "8", {"7": ["n10"]})]
    assert "gpu count (NVIDIA H200) | 8 (9/10) | 7 (1): n10" in said(section(rows, STACK))


def test_a_cluster_of_two_kinds_of_nodes_has_lost_no_gpu():
    rows = [*healthy(5), *(row(f"m{k}", digest(4)) for k in range(4))]

    assert told(rows) == []
