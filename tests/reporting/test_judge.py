"""One row for each expected node, of the right kind, with a message that says what to do."""

import os
import re

import pytest

from reporting.expected import Expected
from reporting.judge import judge
from reporting.load import LARGEST, Folder
from reporting.model import Kind
from reporting.runs import Run, look
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
    assert "began at 2023-11-14 22:13:20 UTC and left no result" in began.reasons[0]
    assert "bound of 75 s: killed, or the node died" in began.reasons[0]


def test_a_node_that_is_listed_by_its_full_name_is_missing_with_a_hint(tmp_path):
    make.result(tmp_path, "n7", hostname="n7")

    bad = rows(tmp_path, "n7.site.example")["n7.site.example"]
    assert bad.kind is Kind.MISSING
    assert "n7.site.example is the host name of the node n7" in bad.reasons[0]


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (74.0, "no result so far: its own bound ends at 2023-11-14 22:14:35 UTC"),
        (76.0, "killed, or the node died"),
    ],
)
def test_a_node_is_not_called_dead_before_its_own_bound_has_passed(tmp_path, later, said):
    make.started(tmp_path, started=T0, bound=75.0)
    entries = Folder(tmp_path).scan()

    cluster = judge(look(entries, Run(make.RUN), T0 + later), Expected(names=["n1"]))

    assert cluster.rows[0].kind is Kind.STARTED
    assert said in cluster.rows[0].reasons[0]
    assert ("killed" in cluster.rows[0].reasons[0]) is (later > 75)


def test_a_whole_result_of_no_tier_is_no_pass_and_says_so(tmp_path):
    make.result(tmp_path, tiers=[])

    none = row(tmp_path)
    assert none.kind is Kind.LACKS_TIER
    assert none.reasons == ["judged no whole tier: run one for a verdict"]


def test_an_outcome_that_is_not_known_and_that_no_check_had_is_nothing(tmp_path):
    make.result(tmp_path, coverage={"checks": 1, "PASS": 1, "SKIPPED": 0})

    assert row(tmp_path).kind is Kind.PASS


def test_a_link_to_nothing_is_broken_and_not_missing(tmp_path):
    (tmp_path / "smoke").mkdir()
    (tmp_path / "smoke/n1.json").symlink_to("gone.json")

    assert row(tmp_path).kind is Kind.BROKEN
    assert "a link to nothing" in row(tmp_path).reasons[0]


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

    other = row(tmp_path)
    assert other.kind is Kind.OTHER_RUN
    assert other.reasons[0].startswith("its file is of run before and can't be read: ")


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
    assert "an earlier run (began 2023-11-14 20:13:20 UTC)" in old.reasons[0]


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
