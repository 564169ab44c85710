"""A result is published where another lies: a later tier joins it, a second machine keeps away."""

import pytest

from tests.reporting import make
from tests.reporting.make import T0, left, published


def test_a_later_tier_joins_the_result_that_lies_there(dump, send):
    send(**make.failing("bad gpu"))

    send(started=T0 + 60, tiers=["tier2"], checks=[make.check("gpu.hbm", tier="tier2")])

    assert published(dump)["tiers"] == ["tier1", "tier2"]
    assert published(dump)["reasons"] == ["bad gpu"]
    assert "bad gpu" in (dump / "junit/n1.xml").read_text()


TIER2 = {"started": T0 + 60, "tiers": ["tier2"], "checks": [make.check("gpu.hbm", tier="tier2")]}
"""A later run of tier 2 that passes."""


@pytest.mark.parametrize(
    ("prior", "verdict"), [({}, "PASS"), (make.failing("bad gpu"), "FAIL")], ids=["pass", "fail"]
)
def test_who_joins_is_told_what_the_whole_comes_to(dump, send, capsys, prior, verdict):
    """The node's own line speaks of its own tier alone, and may say PASS."""
    send(**prior)
    assert "joined" not in capsys.readouterr().out

    assert send(**TIER2) == 0

    assert capsys.readouterr().out.splitlines() == [
        f"joined with tier1 of the same run: {verdict} in all",
        f"result {dump}/smoke/n1.json",
        f"junit {dump}/junit/n1.xml",
    ]


def test_who_judges_all_tiers_again_joins_nothing_and_is_told_nothing(dump, send, capsys):
    send(**make.failing("bad gpu"))
    send(**TIER2)
    capsys.readouterr()

    send(started=T0 + 90, tiers=["tier1", "tier2"])

    assert "joined" not in capsys.readouterr().out
    assert published(dump)["verdict"] == "PASS"


def test_without_a_run_id_a_failure_outlives_a_later_tier_with_limits_of_its_own(dump, send):
    """`pytest -m tier2 --hbm-gbs-min=4000` is no other run than the `pytest -m tier1` before it."""
    limit = {"value": 4000, "source": "flag"}
    send(run_id="local", **make.failing("bad gpu"))

    send(**TIER2, run_id="local", options={"hbm_gbs_min": limit})

    assert (published(dump)["verdict"], published(dump)["reasons"]) == ("FAIL", ["bad gpu"])
    assert published(dump)["options"]["hbm_gbs_min"] == limit
    assert make.merge(dump) == 1


def test_without_a_run_id_another_tree_is_not_joined(dump, send):
    root = {"system_root": {"value": "/x/root", "source": "flag"}}
    send(run_id="local", options=root, **make.failing("bad gpu"))

    send(**TIER2, run_id="local", options={"system_root": {"value": "/", "source": "default"}})

    assert (published(dump)["verdict"], published(dump)["tiers"]) == ("PASS", ["tier2"])


@pytest.mark.parametrize(
    "prior", [{"run_id": "before"}, {"rehearsal": True}, {"partial": True, "verdict": "PARTIAL"}]
)
def test_a_result_of_another_kind_or_run_is_not_joined(dump, send, prior):
    send(**prior)

    send(started=T0 + 60, tiers=["tier2"])

    assert published(dump)["tiers"] == ["tier2"]


def test_without_a_run_id_another_boot_is_not_joined_and_no_other_machine(dump, send):
    send(run_id="local")

    send(run_id="local", started=T0 + 60, tiers=["tier2"], boot_id="next")

    assert published(dump)["tiers"] == ["tier2"]
    assert left(dump) == ["junit/n1.xml", "smoke/n1.json"]


@pytest.mark.parametrize("other", [{"hostname": "right"}, {"boot_id": "other"}])
def test_a_second_machine_under_one_name_gets_files_of_its_own(dump, send, other):
    host = other.get("hostname", "n1")
    send(rank=0)

    assert send(**{"rank": 0, **other}, **make.failing()) == 0

    assert left(dump) == [
        "junit/n1.xml",
        f"junit/n1~{host}.xml",
        "smoke/n1.json",
        f"smoke/n1~{host}.json",
    ]
    assert make.merge(dump, expected_nodes=1) == 1
    assert "2 machines report as n1" in (dump / "smoke_report.md").read_text()


def test_the_second_machines_later_tier_joins_its_own_result(dump, send):
    send()
    send(hostname="right")

    send(hostname="right", started=T0 + 60, tiers=["tier2"])

    assert published(dump, "smoke/n1~right.json")["tiers"] == ["tier1", "tier2"]
    assert published(dump)["tiers"] == ["tier1"]


def test_a_machine_whose_name_is_marked_by_another_keeps_out_of_its_way(dump, send):
    make.started(dump, hostname="right")

    send()

    assert left(dump) == ["junit/n1~n1.xml", "smoke/n1.started", "smoke/n1~n1.json"]


def test_without_a_run_id_another_rank_is_the_same_machine(dump, send):
    """A node that is judged alone has none; the next day it may be the second of a job."""
    send(run_id="local", rank=1)

    send(run_id="local", rank=0, started=T0 + 60)

    assert left(dump) == ["junit/n1.xml", "smoke/n1.json"]


def test_another_machines_leftover_of_an_old_run_is_replaced(dump, send):
    send(hostname="right", run_id="local", started=T0 - 9000)

    send(run_id="local")

    assert left(dump) == ["junit/n1.xml", "smoke/n1.json"]
