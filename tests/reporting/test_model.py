"""The rules by which checks judge a node are those of the node itself."""

import msgspec
import pytest

from fixtures import result as contract
from reporting import model
from tests.reporting import make

CHECKS = [
    make.check(),
    make.check("gpu.gemm", outcome="FAIL", message="wrong", cause="gpu.bind"),
    make.check("gpu.bind", "gpu1", "HUNG", message="hung"),
    make.check("gpu.gemm", "gpu1", "FAIL", message="of its own", cause="gpu.bind"),
    make.check("gpu.memory", "gpu1", "LOST", message="lost"),
    make.check("gpu.allocate", "gpu1", "FAIL", message="also", cause="gpu.memory"),
    make.check("gpu.bind", "gpu2", "FAIL", message="unbound"),
    make.check("gpu.gemm", "gpu2", "FAIL", message="follows", cause="gpu.bind"),
    make.check("gpu.hbm", "gpu2", "LOST", message="follows too", cause="gpu.bind"),
    make.check("gpu.links", "gpu2", "FAIL", message="is its own cause", cause="gpu.links"),
    make.check("gpu.visible", "", "FAIL", message="none there"),
    make.check("gpu.bind", "none", "FAIL", message="follows the node", cause="gpu.visible"),
    make.check("host.shm", "", "WARN", message="small"),
    make.check("host.dmesg", "", "UNKNOWN", message="no permission"),
    make.check("gpu.links", "", "N/A"),
]


def test_the_rules_agree_with_those_of_the_node():
    ours = msgspec.convert(CHECKS, list[model.Check])
    theirs = msgspec.convert(CHECKS, list[contract.Check])

    assert model.failures(ours) == [
        "wrong",
        "hung",
        "of its own",
        "lost",
        "also",
        "unbound",
        "is its own cause",
        "none there",
    ]
    assert model.failures(ours) == contract.reasons(theirs)
    assert model.coverage(ours) == contract.coverage(theirs)
    assert model.describe(model.coverage(ours)) == contract.describe(contract.coverage(theirs))
    assert model.describe(model.coverage([])) == contract.describe(contract.coverage([]))


def test_a_result_of_the_node_can_be_read():
    written = msgspec.convert(make.node(), contract.Node)

    raw = msgspec.json.encode({"node": written, "tests": []})

    read = msgspec.json.decode(raw, type=model.Document).node
    assert (read.name, read.checks[0].id, read.seconds) == ("n1", "gpu.bind", 5.0)


def said(**fields):
    return msgspec.convert(make.mark(**fields), model.Mark)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (said(), True),
        (said(hostname="N1"), True),
        (said(hostname="n2"), False),
        (said(boot_id="another"), False),
        (said(boot_id=""), True),
        (said(rank=3), True),
        (said(rank=4), True),
        (said(rank=3, boot_id="another"), False),
    ],
)
def test_a_machine_is_a_host_and_a_boot_whatever_its_rank(other, same):
    """Who does not tell its boot is believed; who is judged again may have another rank."""
    one = said(rank=3)

    assert model.same_machine(one, other) is same
    assert model.same_machine(other, one) is same


@pytest.mark.parametrize("other", [{"boot_id": "another"}, {"rank": 4}])
def test_without_a_run_id_a_machine_may_restart_and_have_another_rank(other):
    one = said(run_id="local", rank=3)

    assert model.same_machine(one, said(**{"run_id": "local", "rank": 3, **other}))


@pytest.mark.parametrize("when", [1e300, -1e300, float("inf"), float("nan")])
def test_a_time_that_is_none_is_said_to_be_none(when):
    assert model.utc(when) == "a time that is none"


def test_a_time_is_told_in_utc():
    assert model.utc(0) == "1970-01-01 00:00:00 UTC"
