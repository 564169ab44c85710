"""The player of cases: every recorded case comes out as it should, and the player itself."""

from __future__ import annotations

import json

import pytest

from tests import play
from tests.conftest import CLONE
from tests.healthy import amd, nvidia
from tests.playing import case, fs, report, run

CASES = CLONE / "tests/cases"
FUSE = pytest.mark.skipif(bool(fs.missing()), reason=fs.missing() or "FUSE is there")


def _recorded():
    for path in sorted(CASES.glob("*/case.json")):
        each = case.read(path.parent)
        for variant in each.variants:
            if each.play and each.play[variant.name] is not None:
                name = f"{each.name}-{variant.name}".removesuffix("-")
                marks = [FUSE] if any(e.error not in {"", "ENOENT"} for e in variant.tree) else []
                yield pytest.param(each, variant, id=name, marks=marks)


@pytest.fixture
def make(tmp_path):
    """Write a case into a folder of its own: case.json, and files by their ending."""

    def write(topic, tool, finding=None, name="made", **files):
        folder = tmp_path / name
        folder.mkdir()
        told = {"topic": topic, "tool": tool, "play": {"": finding} if finding else None}
        (folder / "case.json").write_text(json.dumps(told))
        for ending, text in files.items():
            (folder / f"input.{ending.replace('_', '.')}").write_text(text)
        return folder

    return write


@pytest.fixture
def played(tmp_path):
    """Play a folder's one variant, and return its line."""

    def run_it(folder):
        each = case.read(folder)
        return play.play(play.Task(each, each.variants[0]), tmp_path / "plays", run.Order())

    return run_it


@pytest.mark.parametrize(("each", "variant"), list(_recorded()))
def test_a_recorded_case_is_read_rightly(each, variant, tmp_path):
    line = play.play(play.Task(each, variant), tmp_path, run.Order())

    assert line["finding"] == each.play[variant.name], json.dumps(line, indent=1)[:6000]


@pytest.mark.parametrize(
    ("topic", "tool", "printed"),
    [
        ("amd-smi", "amd-smi process --json", {"stdout": amd.process(count=4)}),
        ("amd-smi", "amd-smi metric", {"stdout": amd.metric(count=2, text=True)}),
        ("amd-smi", "amd-smi topology --json", {"stdout": amd.topology(count=8)}),
        ("rocm-smi", "rocm-smi --showpids", {"stdout": amd.rocm_smi(["--showpids"], count=2)}),
        ("nvidia-smi", "nvidia-smi -q -x", {"xml": nvidia.query(count=8)}),
        ("nvidia-smi", "nvidia-smi topo -m", {"stdout": nvidia.topo(count=4)}),
    ],
)
def test_a_node_without_a_fault_is_ok(topic, tool, printed, make, played):
    line = played(make(topic, tool, "ok", **printed))

    assert line["finding"] == "ok", json.dumps(line["checks"], indent=1)
    assert line["checks"] == []
    assert {fact["fact"] for fact in line["facts"]} >= {"processes", "memory_in_use", "call"}


def test_a_sick_gpu_is_found_and_named(make, played):
    text = json.loads(amd.metric(count=2, version="7.0"))
    text["gpu_data"][1]["ecc"]["total_uncorrectable_count"] = 3

    line = played(make("amd-smi", "amd-smi metric --json", "fail", stdout=json.dumps(text)))

    assert line["finding"] == "fail"
    failed = [(c["id"], c["device"]) for c in line["checks"] if c["outcome"] == "FAIL"]
    assert failed == [("gpu.ecc", "gpu1")]


@pytest.mark.parametrize("said", ["", "Segmentation fault (core dumped)\n", '{"gpu": [[[', "[]"])
@pytest.mark.parametrize("tool", ["nvidia-smi -q -x", "amd-smi process --json"])
def test_what_is_no_answer_is_never_ok(tool, said, make, played):
    line = played(make(tool.split()[0], tool, "unknown", stdout=said))

    assert line["finding"] == "unknown", json.dumps(line["checks"], indent=1)


@FUSE
def test_a_file_that_fails_is_read_by_the_real_suite(make, tmp_path):
    folder = make("pcie", "sysfs", "unknown", tree_tsv="/proc/self/limits\t!EINVAL\n")
    each = case.read(folder)

    result = run.play(each, each.variants[0], folder, run.Order())

    (limit,) = (f for f in result["facts"] if f["fact"] == "host_limit" and f["name"] == "memlock")
    assert "value" not in limit
    assert "Invalid argument" in limit["message"]
    assert not (folder / "mount").is_mount()


@FUSE
def test_files_that_fail_do_so_each_in_its_way_and_the_others_do_not(tmp_path):
    tree = case.entries("/sys/a\t!ENODEV\n/sys/b\t4X\n/sys/c\t!EACCES\n/sys/empty/\t\n")
    (tmp_path / "root").mkdir()
    failing = fs.lay(tmp_path / "root", tree)

    with fs.served(tmp_path / "root", failing, tmp_path / "mount") as shown:
        assert (shown / "sys/b").read_text() == "4X\n"
        assert sorted(p.name for p in (shown / "sys").iterdir()) == ["a", "b", "c", "empty"]
        with pytest.raises(OSError, match="No such device"):
            (shown / "sys/a").read_text()
        with pytest.raises(PermissionError):
            (shown / "sys/c").read_text()


def test_an_unknown_topic_is_not_played_and_says_so(make, capsys):
    status = play.main([str(make("weather", "barometer", "fail", stdout="falling"))])

    line = json.loads(capsys.readouterr().out)
    assert line["finding"] is None
    assert line["skipped"] == report.NO_CHECKS
    assert status == 1  # it expects a finding


def test_knowledge_is_not_played_and_is_as_expected(make, capsys):
    assert play.main([str(make("gpudirect", "lsmod", stdout="nvidia 1 0"))]) == 0

    assert json.loads(capsys.readouterr().out)["finding"] is None


@pytest.mark.parametrize(
    "text", [None, "", "[]", '{"tool": "x"}', '{"topic": "pcie", "play": {"": "ok"}}', "\udcff"]
)
def test_a_folder_that_is_no_case_is_an_error_of_usage(text, tmp_path, capsys):
    if text is not None:
        (tmp_path / "case.json").write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(SystemExit) as left:
        play.main([str(tmp_path)])

    assert left.value.code == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_tree_can_not_lead_out_of_itself(make):
    folder = make("pcie", "sysfs", "ok", tree_tsv="/sys/../../etc/passwd\troot\n")

    with pytest.raises(case.NotACaseError):
        case.read(folder)
