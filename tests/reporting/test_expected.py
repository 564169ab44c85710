"""Which nodes should have reported."""

import pytest

from reporting.expected import CannotMerge, find

SLURM = {"SLURM_STEP_NODELIST": "s[1-2]", "SLURM_JOB_NODELIST": "j[1-4]"}


def listed(tmp_path, content):
    path = tmp_path / "nodes.txt"
    path.write_bytes(content)
    return str(path)


def test_a_file_is_one_name_a_line_with_blanks_and_comments_dropped(tmp_path):
    file = listed(tmp_path, b"\xef\xbb\xbfn2\r\n\n# all\n n1 # rack 3\n\tN2\n")

    assert find(file, None, {}, scheduled=False).names == ["n2", "n1"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("node[01-03,7]", ["node7", "node01", "node02", "node03"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a,b", ["a", "b"]),
        ("login1,n[1-2]", ["login1", "n1", "n2"]),
        ("10.0.0.1", ["10.0.0.1"]),
        ("node-a.site.example", ["node-a.site.example"]),
        ("@group", ["@group"]),
    ],
)
def test_node_sets_are_expanded_and_other_names_left_as_they_are(tmp_path, line, names):
    assert find(listed(tmp_path, line.encode()), None, {}, scheduled=False).names == names


@pytest.mark.parametrize(
    "content", [b"", b"# none\n\n", b"n[1-", b"n[a-b]", b"n]", b"n[1-99999999]", b"\xff\xfe"]
)
def test_a_bad_list_is_refused_by_name_and_never_an_empty_one(tmp_path, content):
    file = listed(tmp_path, content)

    with pytest.raises(CannotMerge, match=r"nodes\.txt"):
        find(file, 4, SLURM, scheduled=True)


def test_a_list_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(CannotMerge, match=r"absent\.txt can't be read: \[Errno 2\]"):
        find(str(tmp_path / "absent.txt"), None, {}, scheduled=False)


def test_a_file_wins_over_the_step_the_step_over_the_job_the_job_over_a_count(tmp_path):
    file = listed(tmp_path, b"f1")
    job = {"SLURM_JOB_NODELIST": "j[1-2]"}

    assert find(file, 4, SLURM, scheduled=True).names == ["f1"]
    assert find(None, 4, SLURM, scheduled=True).names == ["s1", "s2"]
    assert find(None, 4, job, scheduled=True).names == ["j1", "j2"]
    assert find(None, 4, {}, scheduled=True).size == 4


def test_the_schedulers_lists_of_another_run_are_not_looked_at():
    expected = find(None, None, SLURM, scheduled=False)

    assert (expected.names, expected.size) == (None, 0)


def test_a_list_of_the_scheduler_that_cannot_be_expanded_is_refused_by_name():
    with pytest.raises(CannotMerge, match="SLURM_STEP_NODELIST"):
        find(None, None, {"SLURM_STEP_NODELIST": "n[3-1]"}, scheduled=True)


def test_names_are_expected_without_case_and_without_names_all_are(tmp_path):
    named = find(listed(tmp_path, b"N1"), None, {}, scheduled=False)

    assert named.has("n1")
    assert not named.has("n2")
    assert find(None, 2, {}, scheduled=False).has("anyone")
