"""A later tier joins a result of the same node and run; it never replaces or loses anything."""

import msgspec
import pytest

from reporting.join import join, joinable
from reporting.model import Node
from tests.reporting import make
from tests.reporting.make import T0

BIND = make.check("gpu.bind", "gpu0", "FAIL", message="does not bind")
TFLOPS = make.check("gpu.tflops", "gpu0", "FAIL", tier="tier2", cause="gpu.bind", message="slow")
HBM = make.check("gpu.hbm", "gpu1", "PASS", tier="tier2")


def first(**fields):
    """Return a result of tier 1."""
    test = {"nodeid": "test_gpu.py::test_bind", "outcome": "passed", "keywords": ["tier1"]}
    return make.document(tests=[test], **fields)


def second(**fields):
    """Return a later result of tier 2."""
    test = {"nodeid": "test_gpu.py::test_hbm", "outcome": "failed", "keywords": ["tier2"]}
    fields = {"tiers": ["tier2"], "started": T0 + 60, "checks": [HBM], **fields}
    return make.document(tests=[test], **fields)


def joined(ours, theirs):
    return join(ours, theirs)["node"]


def test_both_tiers_checks_are_there_the_first_ones_in_front():
    node = joined(second(), first())

    assert node["tiers"] == ["tier1", "tier2"]
    assert [c["id"] for c in node["checks"]] == ["gpu.bind", "gpu.hbm"]
    assert node["coverage"]["checks"] == 2
    assert node["verdict"] == "PASS"


def test_times_are_those_of_both():
    node = joined(second(durations={"total": 9.0}), first(durations={"total": 5.0, "bind": 1.0}))

    assert (node["started"], node["finished"]) == (T0, T0 + 65)
    assert node["durations"] == {"total": 9.0, "bind": 1.0}


def test_a_failure_of_the_first_tier_still_fails_the_node():
    node = joined(second(), first(**make.failing("bad gpu")))

    assert (node["verdict"], node["reasons"]) == ("FAIL", ["bad gpu"])


def test_a_cause_in_the_first_tier_explains_a_failure_of_the_second():
    theirs = first(verdict="FAIL", reasons=["does not bind"], checks=[BIND])

    node = joined(second(verdict="FAIL", reasons=["slow"], checks=[TFLOPS, HBM]), theirs)

    assert node["reasons"] == ["does not bind"]


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_a_reason_that_no_check_gave_is_not_lost(whose):
    extra = {"verdict": "FAIL", "reasons": ["the run was stopped"], "warnings": ["odd folder"]}
    ours, theirs = (
        second(**(extra if whose == "ours" else {})),
        first(**(extra if whose == "theirs" else {})),
    )

    node = joined(ours, theirs)

    assert (node["verdict"], node["reasons"]) == ("FAIL", ["the run was stopped"])
    assert node["warnings"] == ["odd folder"]


def test_a_tier_that_was_judged_again_replaces_itself_alone():
    both = join(second(), first(**make.failing("bad gpu")))
    again = first(started=T0 + 120)

    node = joined(again, both)

    assert node["tiers"] == ["tier1", "tier2"]
    assert sorted(c["id"] for c in node["checks"]) == ["gpu.bind", "gpu.hbm"]
    assert (node["verdict"], node["reasons"]) == ("PASS", [])


def test_a_check_without_a_tier_is_there_once_as_it_was_judged_last():
    bad = make.check("host.tools", "", "FAIL", tier="", message="no tool")

    node = joined(
        second(checks=[HBM, make.check("host.tools", "", tier="")]),
        first(verdict="FAIL", reasons=["no tool"], checks=[bad, make.check()]),
    )

    assert sorted(c["id"] for c in node["checks"]) == ["gpu.bind", "gpu.hbm", "host.tools"]
    assert (node["verdict"], node["reasons"]) == ("PASS", [])


def test_a_result_that_judged_all_tiers_again_stands_alone():
    ours = first()

    assert join(ours, first(**make.failing())) == ours


def test_warnings_and_unknowns_come_from_the_checks_of_both():
    warn = make.check("host.shm", "", "WARN", message="small")
    unknown = make.check("host.dmesg", "", "UNKNOWN", tier="tier2", message="no permission")

    node = joined(
        second(checks=[unknown], unknowns=["no permission"]),
        first(checks=[warn], warnings=["small"]),
    )

    assert (node["warnings"], node["unknowns"]) == (["small"], ["no permission"])


def test_what_was_looked_at_again_is_known_from_the_later_result():
    theirs = [
        {"fact": "run", "at": 0.0},
        {"fact": "stage", "device": "gpu0", "stage": "bind", "outcome": "ok"},
        {"fact": "stage", "device": "gpu0", "stage": "gemm", "outcome": "ok"},
        {"fact": "host_limit", "name": "memlock", "value": 1},
    ]
    ours = [
        {"fact": "run", "at": 1.0},
        {"fact": "stage", "device": "gpu0", "stage": "bind", "outcome": "failed"},
    ]

    assert joined(second(facts=ours), first(facts=theirs))["facts"] == [*theirs[2:], *ours]


def test_the_tests_of_both_are_counted_together():
    document = join(second(), first())

    assert [t["nodeid"][-4:] for t in document["tests"]] == ["bind", "_hbm"]
    assert document["summary"] == {"passed": 1, "failed": 1, "total": 2, "collected": 2}


def test_a_test_of_a_tier_that_was_run_again_is_not_kept():
    gone = {"nodeid": "test_gpu.py::test_bind[gpu7]", "outcome": "failed", "keywords": ["tier1"]}
    both = join(second(), make.document(tests=[gone]))

    assert [t["nodeid"] for t in join(first(started=T0 + 99), both)["tests"]] == [
        "test_gpu.py::test_hbm",
        "test_gpu.py::test_bind",
    ]


def test_what_this_reporter_does_not_know_is_kept():
    theirs = first(invented=1, checks=[make.check(invented=2)])

    node = joined(second(), theirs)

    assert node["invented"] == 1
    assert node["checks"][0]["invented"] == 2


def may_join(ours=None, theirs=None, window=3600.0):
    ours = {"started": T0 + 60, "rank": 0, **(ours or {})}
    one = msgspec.convert(make.node(**ours), Node)
    return joinable(one, msgspec.convert(make.node(**(theirs or {})), Node), window)


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ({}, True),
        ({"name": "N1", "hostname": "n1", "boot_id": "boot-of-n1"}, True),
        ({"started": T0 - 1e6}, True),
        ({"name": "n2"}, False),
        ({"run_id": "other"}, False),
        ({"partial": True}, False),
        ({"replay_of": "x"}, False),
        ({"rehearsal": True}, False),
        ({"hostname": "other"}, False),
        ({"boot_id": "other"}, False),
        ({"rank": 1}, True),
        ({"rank": 0}, True),
    ],
)
def test_only_the_same_node_and_run_are_joined(theirs, expected):
    assert may_join(theirs=theirs) is expected


GIVEN = {"options": {"shm_min_gb": {"value": 8, "source": "flag"}}}
OTHER = {"options": {"shm_min_gb": {"value": 4, "source": "flag"}}}
DEFAULT = {"options": {"shm_min_gb": {"value": 4, "source": "default"}}}
REAL = {"options": {"system_root": {"value": "/", "source": "default"}}}
RECORDED = {"options": {"system_root": {"value": "/x/root", "source": "flag"}}}


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({}, {}, True),
        ({}, {"boot_id": "other"}, False),
        ({}, {"started": T0 - 3541}, False),
        ({}, {"started": T0 - 3539}, True),
        (GIVEN, GIVEN, True),
        (GIVEN, OTHER, True),
        (GIVEN, DEFAULT, True),
        ({}, DEFAULT, True),
        (GIVEN, {"options": {}}, True),
        ({}, {"options": {}}, True),
        (RECORDED, RECORDED, True),
        (REAL, RECORDED, False),
        (RECORDED, REAL, False),
        (RECORDED, {"options": {}}, True),
    ],
)
def test_without_a_run_id_boot_time_and_what_was_looked_at_must_agree(ours, theirs, expected):
    """Limits need not: a flag given to tier 2 alone must not lose a FAIL of tier 1."""
    local = {"run_id": "local"}

    assert may_join(local | ours, local | theirs) is expected


def test_with_a_run_id_other_options_are_no_other_run():
    assert may_join(GIVEN, OTHER)
