"""The rows of a cluster together: rehearsals, strangers, the nameless, names and order."""

import pytest

from reporting.expected import Expected
from reporting.judge import judge
from reporting.model import Kind
from tests.reporting import make


def rows(dump, *names, count=None):
    """Return the rows by name."""
    expected = Expected(names=list(names) or None, count=count)
    return {row.name: row for row in judge(make.sight(dump, make.RUN), expected).rows}


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


def test_strangers_do_not_make_up_the_number_of_those_that_are_expected(tmp_path):
    for name in ("n1", "s1", "s2"):
        make.result(tmp_path, name)

    cluster = judge(make.sight(tmp_path), Expected(names=["n1", "n2", "n3"]))

    assert "reported: 1 of 3 expected, 2 others" in cluster.notes
