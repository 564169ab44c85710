"""Which run is merged, and what belongs to it."""

import os

import pytest

from reporting.runs import Run
from tests.reporting import make
from tests.reporting.make import T0


def test_the_run_that_began_last_is_merged(tmp_path):
    make.result(tmp_path, "a", run_id="old", started=T0)
    make.started(tmp_path, "b", run_id="new", started=T0 + 1)

    assert make.sight(tmp_path).run == Run("new")


def test_a_run_that_is_named_is_merged_whatever_else_began_later(tmp_path):
    make.result(tmp_path, "a", run_id="old", started=T0)
    make.result(tmp_path, "b", run_id="new", started=T0 + 1)

    assert make.sight(tmp_path, "old").run == Run("old")
    assert make.sight(tmp_path, "none of them").run == Run("none of them")


def test_a_part_does_not_decide_which_run_is_merged_while_there_is_a_whole(tmp_path):
    make.result(tmp_path, "a", run_id="whole", started=T0)
    make.result(tmp_path, "b", run_id="part", started=T0 + 1, partial=True)

    assert make.sight(tmp_path).run.id == "whole"


def test_parts_alone_are_a_run(tmp_path):
    make.result(tmp_path, "b", run_id="part", partial=True)

    assert make.sight(tmp_path).run.id == "part"


def test_a_clock_far_in_the_future_does_not_decide(tmp_path):
    make.result(tmp_path, "a", run_id="now", started=1e9)
    make.result(tmp_path, "b", run_id="wrong clock", started=1e11)

    assert make.sight(tmp_path).run.id == "now"


@pytest.mark.parametrize(("earlier", "same"), [(3599, True), (3601, False)])
def test_without_a_run_id_an_hour_before_the_newest_is_one_run(tmp_path, earlier, same):
    make.result(tmp_path, "a", run_id="local", started=T0 - earlier)
    make.result(tmp_path, "b", run_id="local", started=T0)

    assert ("a" in make.sight(tmp_path).here) is same


def test_names_compare_without_case(tmp_path):
    make.result(tmp_path, "N1")
    make.started(tmp_path, "n1")

    (left,) = make.sight(tmp_path).nodes.values()
    assert left.whole
    assert left.marks


@pytest.mark.parametrize(("at", "still_open"), [(T0, False), (T0 + 5, False), (T0 + 6, True)])
def test_a_mark_is_open_when_no_result_ended_after_it(tmp_path, at, still_open):
    make.result(tmp_path, started=T0, finished=T0 + 5)
    make.started(tmp_path, started=at)

    (left,) = make.sight(tmp_path).nodes.values()
    assert (left.open_mark is not None) is still_open


def test_the_tiers_asked_for_are_those_of_results_and_marks_not_of_parts(tmp_path):
    make.result(tmp_path, "a", tiers=["tier1"])
    make.started(tmp_path, "b", tiers=["tier2"])
    make.result(tmp_path, "c", tiers=["tier3"], partial=True)
    make.result(tmp_path, "d", tiers=["tier4"], run_id="other", started=T0 - 1)

    assert make.sight(tmp_path).tiers == ["tier1", "tier2"]


def test_results_that_cannot_be_used_decide_which_run_is_merged(tmp_path):
    make.result(tmp_path, "n3", run_id="5", started=T0)
    make.result(tmp_path, "n1", run_id="9", started=T0 + 100, schema=2)
    make.result(tmp_path, "n2", run_id="9", started=T0 + 100, rank="first")

    seen = make.sight(tmp_path)

    assert seen.run == Run("9")
    assert sorted(left.name for left in seen.here.values()) == ["n1", "n2"]


@pytest.mark.parametrize("started", [None, True, "soon", 10**400])
def test_what_does_not_say_when_it_began_did_so_when_it_was_written(tmp_path, started):
    make.result(tmp_path, "n3", run_id="5", started=T0)
    path = make.result(tmp_path, "n1", run_id="9", rank="first", started=started)
    os.utime(path, (T0 - 100, T0 - 100))
    assert make.sight(tmp_path).run == Run("5")

    os.utime(path, (T0 + 100, T0 + 100))
    assert make.sight(tmp_path).run == Run("9")


def test_what_cannot_be_read_is_kept_among_what_is_of_other_runs(tmp_path):
    make.result(tmp_path, "n1", run_id="5", schema=2)

    (left,) = make.sight(tmp_path, "9").nodes.values()
    assert "schema 2" in left.others[0].error
