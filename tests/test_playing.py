"""The parts of the player: reading a case, the node around it, the fake tools."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import CLONE
from tests.playing import case, node, report, seen, target, tools, topics


def _case(tool, topic="amd-smi", version="", **variant):
    return case.Case("made", topic, tool, version, {"": "ok"}, (_variant(**variant),))


def _variant(stdout="", **more):
    return case.Variant("", answered=True, stdout=stdout, **more)


def test_variants_keep_their_pieces_apart(tmp_path):
    files = {"a.stdout": "A", "a.rc": "3", "b.stderr": "B", "stdout": "plain", "tree.tsv": "x\ty"}
    for name, text in files.items():
        (tmp_path / f"input.{name}").write_text(text)
    (tmp_path / "case.json").write_text('{"topic": "amd-smi", "tool": "amd-smi"}')

    plain, a, b = case.read(tmp_path).variants

    assert (plain.name, plain.stdout, len(plain.tree)) == ("", "plain", 1)
    assert (a.name, a.stdout, a.status, a.stderr, a.tree) == ("a", "A", 3, "", ())
    assert (b.name, b.stdout, b.status, b.stderr, b.answered) == ("b", "", 0, "B", True)


def test_variants_of_the_environment_share_a_tree(tmp_path):
    (tmp_path / "input.tree.tsv").write_text("/sys/a\t1\n/sys/b/\t\n/sys/c\t!EINVAL\n")
    (tmp_path / "input.good.env").write_text("NCCL_IB_GID_INDEX=3\n")
    (tmp_path / "case.json").write_text('{"topic": "rdma-sysfs", "play": {"good": "ok"}}')

    (good,) = case.read(tmp_path).variants

    assert good.environment == {"NCCL_IB_GID_INDEX": "3"}
    assert good.tree == (
        case.Entry("sys/a", "1"),
        case.Entry("sys/b", directory=True),
        case.Entry("sys/c", error="EINVAL"),
    )


@pytest.mark.parametrize(
    ("text", "count", "addresses"),
    [
        ('[{"gpu": 0, "bdf": "0000:05:00.0"}, {"gpu": 3}]', 4, {0: "0000:05:00.0"}),
        (
            'warning\n{"gpu_data": [{"gpu": 1, "bus": {"bdf": "0000:26:00.0"}}]}',
            2,
            {1: "0000:26:00.0"},
        ),
        ("GPU: 0\n    BUS:\n        BDF: 0000:05:00.0\nGPU: 1\n", 2, {0: "0000:05:00.0"}),
        ('{"card0": {"GPU use (%)": "0"}, "card2": {}}', 3, {}),
        ("GPU[0]\t\t: RAS INFO\nGPU[1]\t\t: RAS INFO\n", 2, {}),
        ("       GPU0         GPU1         \nGPU0   0            52\n", 2, {}),
        (
            "LINK TYPE TABLE:\n     0000:05:00.0 00001:26:00.0\n0000:05:00.0 SELF XGMI\n",
            2,
            {0: "0000:05:00.0", 1: "0001:26:00.0"},
        ),
        ("ERROR: Driver not loaded (amdgpu not found in modules)", 0, {}),
        ('[{"gpu": true}, {"gpu": -1}, {"gpu": 1e9}, {"gpu": "x"}, [[[]]]]', 0, {}),
        ("[" * 5000, 0, {}),
    ],
)
def test_what_amds_tools_show_of_the_gpus(text, count, addresses):
    shown = seen.amd(text)

    assert (shown.count, shown.addresses) == (count, addresses)


@pytest.mark.parametrize(
    ("text", "count", "lost"),
    [
        ('<gpu id="00000000:41:00.0"></gpu><gpu id="00000000:01:00.0"/>', 2, []),
        ('<attached_gpus>8</attached_gpus><gpu id="00000000:41:00.0"/>', 8, []),
        ("\t\x1b[4mGPU0\tGPU1\tNIC0\x1b[0m\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n", 2, []),
        ("GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 3: NVIDIA H200 (UUID: GPU-2)", 4, []),
        (
            "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.",
            0,
            ["0000:02:00.0"],
        ),
        ("Unable to determine the device handle for GPU0000:03:00.0: Unknown", 0, ["0000:03:00.0"]),
        ("Unable to determine the device handle for GPU 000:BA:80.0: Unknown Error", 0, []),
    ],
)
def test_what_nvidia_smi_shows_of_the_gpus(text, count, lost):
    shown = seen.nvidia(text)

    assert (shown.count, shown.lost) == (count, lost)
    assert shown.any_lost == ("Unable" in text)


@pytest.mark.parametrize(
    ("tool", "stdout", "addresses"),
    [
        ("nvidia-smi", "device handle for GPU 0000:02:00.0: GPU is lost", 8),
        ("nvidia-smi", "device handle for GPU 000:BA:80.0: Unknown Error", 8),
        ("nvidia-smi", "No devices were found", 2),
        ("nvidia-smi", '<gpu id="0000:41:00.0"/><gpu id="0000:01:00.0"/>', 2),
        ("amd-smi process", "GPU: 0\n", 1),
    ],
)
def test_the_node_has_as_many_gpus_as_the_case_shows(tool, stdout, addresses):
    each = _case(tool, tool.split()[0], stdout=stdout)

    around = node.around(each, each.variants[0])

    assert len(set(around.addresses)) == addresses
    for told in ("0000:02:00.0", "0000:41:00.0", "0000:01:00.0"):
        assert (told in stdout) == (told in around.addresses)


def _matrix(*rows):
    words = {"X": " X ", "N": "NV12", "S": "SYS"}
    lines = ("\t".join(words[cell] for cell in row) for row in rows)
    return "".join(f"GPU{i}\t{line}\n" for i, line in enumerate(lines))


@pytest.mark.parametrize(
    ("stdout", "model"),
    [
        ("GPU0\t X \tSYS\nGPU1\tSYS\t X \n", "NVIDIA L40S"),
        ("GPU0\t X \tNV18\nGPU1\tNV18\t X \n", "NVIDIA H200"),
        (_matrix("XNS", "NXN", "SNX"), "NVIDIA H200"),
        (_matrix("XNSS", "NXSS", "SSXN", "SSNX"), "NVIDIA L40S"),
        (_matrix("XNSS", "NXSS", "SSXS", "SSSX"), "NVIDIA L40S"),
        ("GPU 0: NVIDIA H100 NVL (UUID: GPU-1)\n\t Link 4: <inactive>\n", "NVIDIA L40S"),
        ("GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-1)\n", "NVIDIA L40S"),
        ("GPU 0: NVIDIA A40 (UUID: GPU-1)\n", "NVIDIA L40S"),
        ("GPU 0: NVIDIA H200 (UUID: GPU-1)\n", "NVIDIA H200"),
        ("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n", "NVIDIA H200"),
    ],
)
def test_gpus_that_do_not_all_reach_one_another_are_cards(stdout, model):
    each = _case("nvidia-smi topo -m", "nvidia-smi", stdout=stdout)

    assert node.around(each, each.variants[0]).model == model


@pytest.mark.parametrize(
    ("topic", "version", "expected"),
    [
        ("nvidia-smi", "369-550", "535.183.01"),
        ("nvidia-smi", "550-590", "550.54.15"),
        ("nvidia-smi", "590.48.01", "580.159.04"),
        ("nvidia-smi", "any", "535.183.01"),
        ("amd-smi", "24.7-27.x (ROCm 6.3-10.x)", "6.4"),
        ("amd-smi", ">= 7.13 CLI", "7.0"),
        ("amd-smi", "26.x (ROCm 7.x)", "7.0"),
        ("amd-smi", "any", "7.0"),
    ],
)
def test_the_node_is_as_old_as_the_case(topic, version, expected):
    each = _case(topic, topic, version)

    assert node.around(each, each.variants[0]).version == expected


RECORDS = '[{"gpu": 0, "process_list": []}]'
ERROR = '{"error": "AMDSMI has returned error", "code": -1010}'


@pytest.mark.parametrize(
    ("tool", "stdout", "yes", "no"),
    [
        ("amd-smi process --json", RECORDS, ["process --json"], ["process", "metric --json"]),
        ("amd-smi <any> --json", RECORDS, ["process --json"], ["process", "metric --json"]),
        ("amd-smi <any>", ERROR, ["process --json", "metric", "version"], []),
        ("amd-smi via wrapper", "[]", ["process --json", "metric", "version"], []),
        ("amd-smi metric --json", ERROR, ["metric --json", "metric"], ["process --json"]),
        ("amd-smi process", "GPU: 0\n    PROCESS_INFO: none\n", ["process"], ["process --json"]),
        (
            "amd-smi static --json",
            '[{"asic": {}}]',
            ["static --json"],
            ["static --partition --json"],
        ),
        (
            "rocm-smi --showtopo",
            "ROCm System Management Interface",
            ["--showtopo", "--showtopotype"],
            ["--showtopotype --json"],
        ),
        (
            "rocm-smi --showpids --json",
            "",
            ["--showpids --json", "--showpids"],
            ["--showuse --json"],
        ),
        ("nvidia-smi", "GPU is lost", ["-q -x", "topo -m", "--version"], []),
        ("nvidia-smi -q -x", "", ["-q -x"], ["topo -m", "--version"]),
        ("nvidia-smi -q", "GPU 00000000:01:00.0\nGPU 0", ["-q"], ["-q -x", "topo -m"]),
        ("lsof /dev/kfd", "p1\n", ["-Fpcn -- /dev/kfd"], []),
    ],
)
def test_which_calls_a_case_answers(tool, stdout, yes, no):
    each = _case(tool, stdout=stdout)
    mine = target.of(each, each.variants[0])

    name = tool.split()[0]
    assert [call for call in [*yes, *no] if mine.answers((name, *call.split()))] == yes


def test_a_case_in_text_comes_from_a_tool_without_json():
    each = _case("amd-smi process", stdout="GPU: 0\n    PROCESS_INFO: none\n")
    mine = target.of(each, each.variants[0])

    assert mine.refuses(("amd-smi", "process", "--json"))
    assert not mine.refuses(("amd-smi", "metric", "--json"))


def test_a_fake_tool_answers_what_it_knows_and_nothing_else(tmp_path):
    known = tools.Output("out\udcff\n", "err\n", 34)
    rows = [tools.Row(tools.words(["process", "--json"]), known)]
    script = tools.write(tmp_path, "amd-smi", rows)

    answered = subprocess.run([script, "process", "--json"], capture_output=True, check=False)
    refused = subprocess.run([script, "process"], capture_output=True, check=False)

    assert (answered.stdout, answered.stderr) == (b"out\xff\n", b"err\n")
    assert answered.returncode == 34
    assert refused.returncode == 2
    assert refused.stderr.startswith(b"usage: amd-smi")


@pytest.mark.parametrize(
    ("outcomes", "finding"),
    [
        ([], None),
        (["PASS", "N/A"], "ok"),
        (["PASS", "UNKNOWN"], "unknown"),
        (["UNKNOWN", "WARN", "PASS"], "warn"),
        (["WARN", "LOST"], "fail"),
        (["HUNG"], "fail"),
        (["FAIL", "WARN"], "fail"),
        (["NEW WORD"], "fail"),
    ],
)
def test_the_finding_is_the_worst_outcome(outcomes, finding):
    assert report.finding(outcomes) == finding


def test_the_page_lists_the_checks_of_each_topic():
    text = (CLONE / "docs/play.md").read_text()

    for topic, ids in topics.TOPICS.items():
        (row,) = (
            line
            for line in text.splitlines()
            if line.startswith("| `") and f"`{topic}`" in line.split("|")[1]
        )
        assert row.split("|")[2].strip() == ", ".join(f"`{each}`" for each in ids)
