"""What other runs left goes when they are over, and nothing else does."""

import pytest

from reporting.clean import clean
from reporting.load import Folder
from reporting.runs import choose, look
from tests.reporting import make
from tests.reporting.make import T0


def cleaned(dump, now=T0 + 1000, run=make.RUN, between=lambda: None):
    """Clean; return the names of the files that are left."""
    entries = Folder(dump).scan()
    sight = look(entries, choose(entries, run, now))
    between()
    clean(dump, sight, wall=lambda: now)
    return sorted(str(p.relative_to(dump)) for p in dump.rglob("*") if p.is_file())


@pytest.fixture
def dump(tmp_path):
    make.result(tmp_path, "now")
    return tmp_path


def test_results_marks_and_junit_of_a_run_that_is_over_go(dump):
    old = {"run_id": "old", "started": T0 - 500, "bound": 60.0}
    make.result(dump, "a", **old)
    make.put(dump / "junit/a.xml", b"<x/>")
    make.started(dump, "b", **old)
    make.result(dump, "c", partial=True, **old)
    make.put(dump / "junit/c.xml", b"<x/>")
    make.result(dump, "d", partial=True, **old)
    make.put(dump / "junit/partial/d.xml", b"<x/>")

    assert cleaned(dump) == ["smoke/now.json"]


@pytest.mark.parametrize(("now", "kept"), [(T0 + 59, True), (T0 + 61, False)])
def test_a_run_whose_bound_has_not_passed_stays(dump, now, kept):
    make.started(dump, "busy", run_id="live", started=T0 - 100, bound=100.0)

    assert ("smoke/busy.started" in cleaned(dump, now=now)) is kept


def test_a_run_that_began_after_this_one_stays(dump):
    make.result(dump, "a", run_id="later", started=T0 + 1)

    assert "smoke/a.json" in cleaned(dump, now=T0 + 1e6)


def test_this_runs_own_files_stay(dump):
    make.started(dump, "dead", started=T0 - 5000)
    make.result(dump, "part", partial=True, started=T0 - 5000)

    assert len(cleaned(dump, now=T0 + 1e6)) == 3


def test_nothing_goes_when_the_run_that_was_asked_for_left_nothing(dump):
    assert cleaned(dump, now=T0 + 1e6, run="mistyped") == ["smoke/now.json"]


def test_what_is_broken_a_replay_or_not_ours_stays(dump):
    old = {"run_id": "old", "started": T0 - 500}
    make.put(dump / "smoke/bad.json", b"{")
    make.result(dump, "wrong", rank="x", **old)
    make.put(dump / "smoke/replay/r.json", make.document("r", **old))
    make.put(dump / "smoke/notes.txt", b"")
    make.put(dump / "junit/stranger.xml", b"")

    assert len(cleaned(dump)) == 6


def test_without_a_run_id_results_of_hours_ago_stay(tmp_path):
    make.result(tmp_path, "a", run_id="local", started=T0 - 9000)
    make.result(tmp_path, "b", run_id="local")

    assert len(cleaned(tmp_path, run="local")) == 2


def test_what_another_run_has_replaced_since_stays(dump):
    make.result(dump, "a", run_id="old", started=T0 - 500)

    left = cleaned(dump, between=lambda: make.result(dump, "a", run_id="newest", rank=7))

    assert "smoke/a.json" in left


def test_what_cannot_be_removed_harms_nobody(dump, monkeypatch):
    make.result(dump, "a", run_id="old", started=T0 - 500)
    monkeypatch.setattr("reporting.clean.one", lambda path: path.joinpath("x").stat())

    assert "smoke/a.json" in cleaned(dump)


def test_a_wholes_junit_does_not_go_with_a_part(dump):
    make.result(dump, "now", run_id="old", started=T0 - 500, partial=True)
    make.put(dump / "junit/now.xml", b"<x/>")

    assert cleaned(dump) == ["junit/now.xml", "smoke/now.json"]
