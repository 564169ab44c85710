"""The merge from end to end: exit status, files, what is printed."""

import re

import pytest

from tests.reporting import make
from tests.reporting.make import T0

LISTS = ("passing_nodes.txt", "failing_nodes.txt", "expected_nodes.txt")


def listed(dump):
    """Return what each list holds."""
    return {name.partition("_")[0]: make.lines(dump / name) for name in LISTS}


def nothing_written(dump):
    """Tell whether no output lies in the dump path."""
    return not any(dump.rglob("*.txt")) and not any(dump.rglob("*.md"))


def file_of(tmp_path, *names):
    """Return the path of a list of expected nodes."""
    return str(make.put(tmp_path / "expected", "\n".join(names)))


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump path"
    path.mkdir()
    return path


def test_all_passed_is_0_and_says_where_the_outputs_lie(dump, capsys):
    make.result(dump, "n1")

    assert make.merge(dump, expected_nodes=1) == 0

    assert listed(dump) == {"passing": ["n1"], "failing": [], "expected": ["n1"]}
    assert capsys.readouterr().out.splitlines() == [
        "PASS: 1 of 1 expected nodes passed",
        f"report {dump}/smoke_report.md",
        f"passing {dump}/passing_nodes.txt",
        f"failing {dump}/failing_nodes.txt",
        f"page {dump}/smoke_report.html",
        f"junit {dump}/smoke_junit.xml",
        f"passing-hostlist {dump}/passing_nodes.hostlist",
        f"failing-hostlist {dump}/failing_nodes.hostlist",
    ]


def test_some_failed_is_1_and_every_expected_node_is_in_exactly_one_list(dump, tmp_path, capsys):
    make.result(dump, "n10")
    make.result(dump, "n9")
    make.result(dump, "sick", **make.failing("gpu3: does not bind"))
    make.result(dump, "part", partial=True)
    make.started(dump, "dead", bound=0.0, started=0.0)
    make.result(dump, "late", run_id="before", started=T0 - 100)
    make.put(dump / "smoke/broken.json", b"{")
    names = ["n9", "n10", "sick", "part", "dead", "late", "broken", "gone"]

    status = make.merge(dump, expected_nodelist_file=file_of(tmp_path, *names), run_id=make.RUN)

    assert status == 1
    assert listed(dump) == {
        "passing": ["n9", "n10"],
        "failing": ["broken", "dead", "gone", "late", "part", "sick"],
        "expected": ["broken", "dead", "gone", "late", "n9", "n10", "part", "sick"],
    }
    out = capsys.readouterr().out
    assert "FAIL: 6 of 8 nodes did not pass" in out
    assert "gpu3: does not bind" in out


def test_a_missing_node_alone_is_1(dump, tmp_path):
    make.result(dump, "n1")

    assert make.merge(dump, expected_nodelist_file=file_of(tmp_path, "n1", "n2")) == 1
    assert listed(dump)["failing"] == ["n2"]


def test_a_nameless_missing_node_is_counted_and_shown_and_in_no_list(dump):
    make.result(dump, "n1")

    assert make.merge(dump, expected_nodes=2) == 1

    assert listed(dump) == {"passing": ["n1"], "failing": [], "expected": ["n1"]}
    report = (dump / "smoke_report.md").read_text()
    assert "- Expected nodes: 2\n- Reported nodes: 1\n- PASS: 1  FAIL: 1\n" in report
    assert "&lt;missing-0&gt;" in report


def test_a_part_does_not_pass(dump):
    make.result(dump, "n1", partial=True, verdict="PARTIAL")

    assert make.merge(dump) == 1
    assert listed(dump)["failing"] == ["n1"]


def test_names_win_over_a_count(dump, tmp_path):
    make.result(dump, "n1")

    file = file_of(tmp_path, "n1")
    assert make.merge(dump, expected_nodes=5, expected_nodelist_file=file) == 0


def test_a_stranger_that_passed_is_listed_and_does_not_fail_the_run(dump, tmp_path):
    make.result(dump, "n1")
    make.result(dump, "stranger")

    assert make.merge(dump, expected_nodelist_file=file_of(tmp_path, "n1")) == 0

    assert listed(dump) == {"passing": ["n1", "stranger"], "failing": [], "expected": ["n1"]}
    report = (dump / "smoke_report.md").read_text()
    assert "Expected nodes: 1\n- Reported nodes: 2\n" in report
    assert "not expected, and yet here: stranger" in report


def test_the_steps_nodes_are_expected_when_the_run_is_named(dump):
    make.result(dump, "n1")
    slurm = {"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_JOB_NODELIST": "n[1-9]"}

    assert make.merge(dump, slurm, run_id=make.RUN) == 1
    assert listed(dump)["failing"] == ["n2"]
    assert make.merge(dump, slurm) == 0
    assert make.merge(dump, {**slurm, "SLURM_STEP_ID": "0"}) == 1


@pytest.mark.parametrize("asked", [{"expected_nodelist_file": "absent"}, {"run_id": make.RUN}])
def test_a_bad_list_is_2_in_one_line_and_writes_nothing(dump, capsys, asked):
    make.result(dump, "n1")

    assert make.merge(dump, {"SLURM_JOB_NODELIST": "n[2-"}, **asked) == 2

    assert len(capsys.readouterr().err.splitlines()) == 1
    assert nothing_written(dump)


def test_nothing_at_all_and_nothing_expected_is_2(dump, capsys):
    assert make.merge(dump) == 2

    error = capsys.readouterr().err
    assert f"no result and no mark in {dump}: is this the run's --dump-path?" in error
    assert nothing_written(dump)


def test_a_run_id_that_left_nothing_is_2_and_removes_nothing(dump, capsys):
    make.result(dump, "n1", started=1000.0)

    assert make.merge(dump, run_id="mistyped") == 2

    assert "no result and no mark of run mistyped" in capsys.readouterr().err
    assert (dump / "smoke/n1.json").exists()


@pytest.mark.parametrize("expected", [None, 2])
def test_a_dump_path_that_is_not_there_is_2_and_is_not_made(tmp_path, capsys, expected):
    assert make.merge(tmp_path / "typo", expected_nodes=expected) == 2

    error = capsys.readouterr().err
    assert f"{tmp_path}/typo: [Errno 2] No such file or directory: is this the run's" in error
    assert not (tmp_path / "typo").exists()


def test_a_dump_path_that_cannot_be_read_is_2(dump, capsys):
    (dump / "smoke").write_text("in the way")

    assert make.merge(dump, expected_nodes=1) == 2
    assert f"{dump}/smoke: [Errno 20] Not a directory" in capsys.readouterr().err


def test_a_dump_path_that_cannot_be_written_is_2_and_the_verdict_is_printed(dump, capsys):
    make.result(dump, "n1")
    (dump / "runs").write_text("in the way")

    assert make.merge(dump) == 2

    printed = capsys.readouterr()
    assert printed.out.startswith("PASS: 1 of 1 expected nodes passed")
    assert f"{dump}/runs/123.0/passing_nodes.txt: [Errno 20]" in printed.err


def own_disk(dump, fstype="ext4", **asked):
    return make.merge(dump, fstype=fstype, **{"expected_nodes": 4, **asked})


@pytest.mark.parametrize("left", [0, 1])
def test_nodes_that_wrote_to_their_own_disks_are_2_and_leave_no_lists(dump, capsys, left):
    for name in LISTS:
        make.put(dump / name, "of last week\n")
        make.put(dump / "runs/123.0" / name, "of this run\n")
    if left:
        make.result(dump, "n1")

    assert own_disk(dump, run_id=make.RUN) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert f"{dump}, which is on a local file system (ext4)" in line
    assert "Give a --dump-path that all nodes share" in line
    assert nothing_written(dump)


def test_a_shared_file_system_with_one_result_is_an_ordinary_failure(dump):
    make.result(dump, "n1")

    assert own_disk(dump, fstype="lustre") == 1


def test_two_nodes_on_a_local_disk_share_it(dump):
    make.result(dump, "n1")
    make.started(dump, "n2", bound=0.0, started=0.0)

    assert own_disk(dump) == 1


def test_one_expected_node_on_its_own_disk_is_as_it_should_be(dump):
    make.result(dump, "n1")

    assert own_disk(dump, expected_nodes=1) == 0
    assert own_disk(dump, expected_nodes=None) == 0


def test_rehearsals_alone_fill_the_lists_and_are_called_that(dump, capsys):
    make.result(dump, "n1", rehearsal=True)

    assert make.merge(dump) == 0

    assert listed(dump)["passing"] == ["n1"]
    assert capsys.readouterr().out.startswith("REHEARSAL, no verdict on hardware: PASS")
    title = make.lines(dump / "smoke_report.md")[0]
    assert title.endswith("(REHEARSAL — no verdict on hardware)")


def test_a_rehearsal_among_real_results_fails_and_is_listed_so(dump):
    make.result(dump, "n1", rehearsal=True)
    make.result(dump, "n2")

    assert make.merge(dump) == 1
    assert listed(dump)["failing"] == ["n1"]


def test_a_fast_nodes_result_is_not_removed_by_the_merge_of_the_run_before(dump):
    make.result(dump, "fast", run_id="next", started=T0 + 10)
    make.result(dump, "n1", started=T0)

    make.merge(dump, run_id=make.RUN)

    assert (dump / "smoke/fast.json").exists()


@pytest.mark.parametrize("keep", [False, True])
def test_what_earlier_runs_left_never_counts_and_goes_unless_it_is_to_be_kept(dump, keep):
    make.result(dump, "removed-since", run_id="before", started=1000.0)
    make.result(dump, "n1", started=2000.0)

    assert make.merge(dump, keep=keep) == 0

    assert listed(dump)["passing"] == ["n1"]
    assert (dump / "smoke/removed-since.json").exists() is keep


def test_merging_again_gives_the_same_bytes(dump):
    make.result(dump, "n1", **make.failing())
    make.merge(dump, expected_nodes=2)
    first = {p: p.read_bytes() for p in dump.rglob("*") if p.is_file()}

    make.merge(dump, expected_nodes=2)

    assert {p: p.read_bytes() for p in dump.rglob("*") if p.is_file()} == first


def test_an_address_is_no_short_name_and_a_node_name_is_no_host_name(dump, tmp_path):
    make.result(dump, "10.1.2.3", hostname="a")
    make.result(dump, "slurm-7", hostname="host-7.site")

    file = file_of(tmp_path, "10.1.2.3", "SLURM-7")
    assert make.merge(dump, expected_nodelist_file=file) == 0

    assert listed(dump)["passing"] == ["10.1.2.3", "SLURM-7"]
    assert "slurm-7 (host host-7.site)" in (dump / "smoke_report.md").read_text().lower()


def test_an_old_run_does_not_pass_in_place_of_one_that_cannot_be_read(tmp_path, capsys):
    make.result(tmp_path, "n3", run_id="5", started=T0)
    for name in ("n1", "n2"):
        make.result(tmp_path, name, run_id="9", started=T0 + 100, schema=2)

    assert make.merge(tmp_path) == 1
    assert "FAIL: 2 of 2 nodes did not pass: n1, n2" in capsys.readouterr().out


def test_nothing_of_the_run_that_is_asked_for_says_what_cannot_be_read(tmp_path, capsys):
    make.result(tmp_path, "n1", run_id="9", schema=2)

    assert make.merge(tmp_path, run_id="7") == 2
    assert re.search(r"run 7 in .*\(1 can't be read, .*n1.json: schema 2", capsys.readouterr().err)


def test_parts_that_cannot_be_listed_are_a_note(tmp_path):
    make.result(tmp_path, "n1")
    make.put(tmp_path / "smoke/partial", b"no folder")

    assert make.merge(tmp_path) == 0
    report = tmp_path / "smoke_report.md"
    assert "Note: partial results are left out" in report.read_text()


def test_results_that_cannot_be_listed_stop_the_merge(tmp_path):
    make.put(tmp_path / "smoke", b"no folder")

    assert make.merge(tmp_path) == 2
