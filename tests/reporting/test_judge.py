"""One row for each expected node, of the right kind, with a message that says what to do."""

import os
import re

import pytest

from reporting.expected import Expected
from reporting.judge import judge
from reporting.load import LARGEST
from reporting.model import Kind
from tests.reporting import make
from tests.reporting.make import T0


def rows(dump, *names, count=None, run_id=make.RUN):
    """Return the rows by name."""
    cluster = judge(make.sight(dump, run_id), Expected(names=list(names) or None, count=count))
    assert len({row.name for row in cluster.rows}) == len(cluster.rows)
    return {row.name: row for row in cluster.rows}


def row(dump, name="n1", **asked):
    """Return the row of the one node that is expected."""
    return rows(dump, name, **asked)[name]


def test_a_node_that_passed_passes(tmp_path):
    make.result(tmp_path)

    assert row(tmp_path).kind is Kind.PASS
    assert row(tmp_path).reasons == []


def test_a_node_that_failed_fails_with_its_own_reasons(tmp_path):
    make.result(tmp_path, verdict="FAIL", reasons=["one", "two"])

    assert row(tmp_path).kind is Kind.FAIL
    assert row(tmp_path).reasons == ["one", "two"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"verdict": "FAIL"}, "says FAIL and gives no reason"),
        ({"checks": []}, "judged nothing"),
        ({"checks": [make.check(outcome="HUNG", message="stuck")]}, r"gpu.bind\[gpu0\]: stuck"),
        ({"reasons": ["a reason"]}, "a reason"),
        ({"verdict": "PARTIAL"}, "PARTIAL"),
    ],
)
def test_a_pass_that_does_not_follow_from_the_checks_is_a_fail(tmp_path, fields, said):
    make.result(tmp_path, **fields)

    bad = row(tmp_path)
    assert bad.kind is Kind.FAIL
    assert re.search(said, bad.reasons[0])


def test_a_part_is_partial_and_says_what_was_judged(tmp_path):
    make.result(tmp_path, partial=True, verdict="PARTIAL")

    part = row(tmp_path)
    assert part.kind is Kind.PARTIAL
    assert part.reasons[0].startswith("judged in part only (tier1; 1 checks: 1 pass)")


def test_a_part_that_failed_is_a_fail(tmp_path):
    make.result(tmp_path, partial=True, **make.failing("bad gpu"))

    assert row(tmp_path).kind is Kind.FAIL
    assert row(tmp_path).reasons[0] == "bad gpu"


def test_a_part_beside_a_whole_changes_nothing(tmp_path):
    make.result(tmp_path)
    make.result(tmp_path, partial=True, started=T0 + 100, **make.failing())

    assert row(tmp_path).kind is Kind.PASS


def test_a_node_of_which_nothing_is_known_is_missing(tmp_path):
    make.result(tmp_path, "n2")

    missing = rows(tmp_path, "n1", "n2")["n1"]
    assert missing.kind is Kind.MISSING
    assert missing.reasons[0].startswith("no result and no mark: it never started")


def test_a_node_that_is_listed_by_its_host_name_is_missing_with_a_hint(tmp_path):
    make.result(tmp_path, "slurm-7", hostname="host-7.site.example")

    bad = rows(tmp_path, "host-7")
    assert bad["host-7"].kind is Kind.MISSING
    assert "host-7 is the host name of the node slurm-7" in bad["host-7"].reasons[0]


def test_a_mark_without_a_result_says_when_and_how_long(tmp_path):
    make.started(tmp_path, started=T0, bound=75.0)

    began = row(tmp_path)
    assert began.kind is Kind.STARTED
    assert "began at 2027-01-15 08:00:00 UTC and left no result" in began.reasons[0]
    assert "bound of 75 s: killed, or the node died" in began.reasons[0]


def test_a_mark_that_its_result_answers_is_nothing(tmp_path):
    make.started(tmp_path, started=T0)
    make.result(tmp_path, started=T0)

    assert row(tmp_path).kind is Kind.PASS


def test_a_mark_after_the_result_means_that_a_later_tier_did_not_come_back(tmp_path):
    make.result(tmp_path, finished=T0 + 5)
    make.started(tmp_path, started=T0 + 10, tiers=["tier1"])

    bad = row(tmp_path)
    assert bad.kind is Kind.LACKS_TIER
    assert "began again (tier1)" in bad.reasons[0]


def test_a_result_without_a_tier_that_others_judged_lacks_it(tmp_path):
    make.result(tmp_path, "n1", tiers=["tier1"])
    make.result(tmp_path, "n2", tiers=["tier1", "tier2"])

    both = rows(tmp_path, "n1", "n2")
    assert both["n1"].kind is Kind.LACKS_TIER
    assert both["n1"].reasons[0].startswith("asked for tier1, tier2; judged tier1 only")
    assert both["n2"].kind is Kind.PASS


def test_a_failed_node_that_lacks_a_tier_keeps_its_reasons_in_front(tmp_path):
    make.result(tmp_path, "n1", **make.failing("bad gpu"))
    make.result(tmp_path, "n2", tiers=["tier1", "tier2"])

    bad = rows(tmp_path, "n1", "n2")["n1"]
    assert bad.kind is Kind.FAIL
    assert bad.reasons[0] == "bad gpu"
    assert "asked for tier1, tier2" in bad.reasons[1]


def test_a_broken_file_is_named_with_its_error(tmp_path):
    path = make.put(tmp_path / "smoke/n1.json", b"{")

    bad = row(tmp_path)
    assert bad.kind is Kind.BROKEN
    assert bad.reasons[0].startswith(f"{path} can't be read: Input data was truncated")
    assert "remove it" in bad.reasons[0]


def test_an_oversized_file_is_a_broken_row(tmp_path):
    os.truncate(make.result(tmp_path), LARGEST + 1)

    assert row(tmp_path).kind is Kind.BROKEN


def test_a_broken_file_of_nobody_is_a_row_named_after_it(tmp_path):
    make.put(tmp_path / "smoke/a%7Cb.json", b"{")

    assert rows(tmp_path, count=1)["a|b"].kind is Kind.BROKEN


@pytest.mark.parametrize("file", ["smoke/n1.started", "smoke/partial/n1.json"])
def test_a_broken_mark_or_part_matters_only_without_a_result(tmp_path, file):
    make.put(tmp_path / file, b"{")
    assert row(tmp_path).kind is Kind.BROKEN

    make.result(tmp_path)
    assert row(tmp_path).kind is Kind.PASS


def test_a_broken_file_of_another_run_is_not_of_this_one(tmp_path):
    make.result(tmp_path, rank="first", run_id="before")

    assert row(tmp_path).kind is Kind.MISSING


def test_a_node_with_another_runs_result_names_that_run(tmp_path):
    make.result(tmp_path, "n1", run_id="122.0")
    make.result(tmp_path, "n2")

    old = rows(tmp_path, "n1", "n2")["n1"]
    assert old.kind is Kind.OTHER_RUN
    assert "its result is of run 122.0" in old.reasons[0]
    assert "not of run 123.0" in old.reasons[0]
    assert "--run-id=122.0" in old.reasons[0]


def test_without_a_run_id_a_result_of_hours_ago_is_of_another_run(tmp_path):
    make.result(tmp_path, "n1", run_id="local", started=T0 - 7200)
    make.result(tmp_path, "n2", run_id="local")

    old = rows(tmp_path, "n1", "n2", run_id=None)["n1"]
    assert old.kind is Kind.OTHER_RUN
    assert "an earlier run (began 2027-01-15 06:00:00 UTC)" in old.reasons[0]


def test_two_machines_under_one_name_are_both_named(tmp_path):
    make.result(tmp_path, "n1", hostname="left")
    make.result(tmp_path, "n1", file="n1~right", hostname="right", **make.failing("bad gpu"))

    bad = row(tmp_path)
    assert bad.kind is Kind.DUPLICATE
    assert "2 machines report as n1: host left, host right" in bad.reasons[0]
    assert bad.reasons[1] == "bad gpu"


def test_a_second_machine_is_seen_by_its_mark_and_by_its_boot(tmp_path):
    make.result(tmp_path, "n1", boot_id="one")
    make.started(tmp_path, "n1", boot_id="two")

    bad = row(tmp_path)
    assert bad.kind is Kind.DUPLICATE
    assert "host n1 (boot one), host n1 (boot two)" in bad.reasons[0]


def test_two_files_of_one_machine_are_one_node_and_the_last_counts(tmp_path):
    make.result(tmp_path, "n1", **make.failing())
    make.result(tmp_path, "N1", hostname="n1", boot_id="boot-of-n1", started=T0 + 60)

    assert row(tmp_path).kind is Kind.PASS


def test_a_rehearsal_among_real_results_is_a_fail(tmp_path):
    make.result(tmp_path, "n1", rehearsal=True)
    make.result(tmp_path, "n2")

    bad = rows(tmp_path, "n1", "n2")["n1"]
    assert bad.kind is Kind.REHEARSAL
    assert bad.status == "FAIL"
    assert "a rehearsal among real results proves nothing about the hardware" in bad.reasons[0]


def test_rehearsals_alone_are_judged_and_called_that(tmp_path):
    make.result(tmp_path, "n1", rehearsal=True)
    make.started(tmp_path, "n2", rehearsal=True)
    sight = make.sight(tmp_path)

    cluster = judge(sight, Expected(names=["n1", "n2", "n3"]))

    assert cluster.rehearsal
    assert [row.kind for row in cluster.rows] == [Kind.PASS, Kind.STARTED, Kind.MISSING]


def test_one_real_mark_makes_rehearsals_worthless(tmp_path):
    make.result(tmp_path, "n1", rehearsal=True)
    make.started(tmp_path, "n2")

    assert rows(tmp_path, "n1", "n2")["n1"].kind is Kind.REHEARSAL


def test_nothing_at_all_is_no_rehearsal(tmp_path):
    assert not judge(make.sight(tmp_path), Expected(names=["n1"])).rehearsal


def test_a_count_adds_nameless_rows_for_the_missing(tmp_path):
    make.result(tmp_path, "n1")
    make.result(tmp_path, "old", run_id="before")

    found = rows(tmp_path, count=3)

    assert list(found) == ["n1", "<missing-0>", "<missing-1>"]
    assert not found["<missing-1>"].named


def test_more_nodes_than_the_count_are_shown_and_noted(tmp_path):
    for name in ("n1", "n2"):
        make.result(tmp_path, name)

    cluster = judge(make.sight(tmp_path), Expected(count=1))

    assert [row.kind for row in cluster.rows] == [Kind.PASS, Kind.PASS]
    assert "1 nodes were expected, 2 are here" in cluster.notes


@pytest.mark.parametrize(
    ("fields", "red"), [({}, False), (make.failing(), True), ({"partial": True}, False)]
)
def test_a_stranger_is_shown_and_noted_and_red_only_by_its_own_fault(tmp_path, fields, red):
    make.result(tmp_path, "n1")
    make.result(tmp_path, "stranger", **fields)

    cluster = judge(make.sight(tmp_path), Expected(names=["n1"]))

    assert cluster.expected == 1
    assert cluster.reported == 2
    assert bool(cluster.red) is red
    assert "not expected, and yet here: stranger" in cluster.notes


def test_a_stranger_still_at_work_is_a_note_and_no_row(tmp_path):
    make.result(tmp_path, "n1")
    make.started(tmp_path, "stranger")

    cluster = judge(make.sight(tmp_path), Expected(names=["n1"]))

    assert [row.name for row in cluster.rows] == ["n1"]
    assert any("stranger" in note for note in cluster.notes)


def test_names_compare_without_case_and_are_written_as_expected(tmp_path):
    make.result(tmp_path, "NODE1")

    assert rows(tmp_path, "node1")["node1"].kind is Kind.PASS


def test_addresses_as_names_stay_whole(tmp_path):
    make.result(tmp_path, "10.0.0.1")
    make.result(tmp_path, "10.0.0.2", **make.failing())

    found = rows(tmp_path, "10.0.0.1", "10.0.0.2")
    assert [found[name].kind for name in found] == [Kind.PASS, Kind.FAIL]


def test_a_file_under_another_name_counts_for_the_node_in_it_and_is_noted(tmp_path):
    make.result(tmp_path, "inside", file="outside")

    cluster = judge(make.sight(tmp_path), Expected(names=["inside"]))

    assert [(row.name, row.kind) for row in cluster.rows] == [("inside", Kind.PASS)]
    assert any("outside.json (about inside)" in note for note in cluster.notes)


def test_a_second_machines_file_is_no_stray(tmp_path):
    make.result(tmp_path, "n1", file="n1~right", hostname="right")

    assert judge(make.sight(tmp_path), Expected(names=["n1"])).notes == []


def test_rows_are_sorted_by_rank_then_name_and_the_missing_stand_last(tmp_path):
    make.result(tmp_path, "b10", rank=1)
    make.result(tmp_path, "b9", rank=1)
    make.result(tmp_path, "z", rank=0)
    make.result(tmp_path, "a")

    found = rows(tmp_path, "b10", "b9", "z", "a", "0gone")

    assert list(found) == ["z", "b9", "b10", "a", "0gone"]


def test_of_those_without_a_rank_the_nameless_stand_last(tmp_path):
    make.result(tmp_path, "zz")

    assert list(rows(tmp_path, count=2)) == ["zz", "<missing-0>"]
