"""`calibrate`: a site's profile from good nodes, which the loader of profiles reads."""

import os
import re
import socket
from pathlib import Path

import pytest

from reporting import calibrate
from reporting.cli import main
from tests.reporting import make
from tests.reporting.good_nodes import H200, HBM, calibrated, checks, facts, leave, measured


@pytest.fixture
def site(tmp_path):
    """Calibrate by what lies in the temporary folder."""
    return lambda *arguments: calibrated(tmp_path, *arguments)


def test_a_proposal_is_a_profile_of_just_these_gpus(tmp_path, site, capsys):
    gbs = [measured(HBM, f"gpu{i}", 4200.0 + i, "GB/s") for i in range(8)]
    host = [measured("performance.h2d_gbs", f"gpu{i}", 55.5, "GB/s") for i in range(8)]
    back = [measured("performance.d2h_gbs", f"gpu{i}", 55.1, "GB/s") for i in range(8)]
    together = [
        measured("performance.all_reduce", "", 346.0, "GB/s"),
        measured("performance.all_reduce_large", "", 463.0, "GB/s"),
    ]
    leave(tmp_path, more=[*gbs, *host, *back, *together])

    profile, text = site()

    assert profile.matches(H200)
    assert not profile.matches(f"{H200} NVL")
    limits = {name: number.value for name, number in profile.limits.items()}
    assert limits == {
        "gemm_tflops_min": 750,
        "hbm_gbs_min": 3990,
        "h2d_gbs_min": 52.7,
        "d2h_gbs_min": 52.3,
        "expected_gpus": 8,
    }
    rows = [(r.gpus, r.size_mib, r.gbs_min.value) for r in profile.all_reduce]
    assert rows == [(8, 64, 328), (8, 1024, 439)]
    assert profile.limit("hbm_gbs_min").source == (
        "4200 GB/s less 0.05: the 5th percentile of 8 GPUs in 1 node, median 4204,"
        " 0 set aside as slow, run 123.0"
    )
    assert "1 value of 8 GPUs in 1 node" in profile.all_reduce[0].gbs_min.source
    assert {n.date for n in profile.limits.values()} == {"2023-11-14"}
    assert "# driver 570.1\n# torch 2.11\n" in text
    assert capsys.readouterr().out == f"profile {tmp_path}/site.toml\n"


def test_the_proposal_goes_to_standard_output_unless_a_file_is_named(tmp_path, capsys):
    leave(tmp_path)

    assert main(["calibrate", f"--dump-path={tmp_path}"]) == 0
    assert "[limits]\ngemm-tflops-min = { value = 750, " in capsys.readouterr().out
    assert make.left(tmp_path) == ["smoke/n1.json"]


def test_the_same_results_give_the_same_bytes(tmp_path, site):
    for i in range(12):
        leave(tmp_path, f"n{i}", [780.0 + i + g for g in range(8)], finished=make.T0 + i)
    _, first = site()
    for path in sorted((tmp_path / "smoke").iterdir(), reverse=True):
        os.utime(path, (1, 1))
        path.rename(path.with_name("moved"))
        path.with_name("moved").rename(path)

    assert site()[1] == first
    assert "from 96 GPUs of 12 nodes" in first


@pytest.mark.parametrize(
    "fields",
    [
        make.failing(),
        {"verdict": "PARTIAL", "partial": True},
        {"partial": True},
        {"rehearsal": True},
        {"replay_of": "old.json"},
        {"run_id": "another", "started": make.T0 - 9},
        {"schema": 2},
    ],
)
def test_only_good_nodes_of_the_run_count(tmp_path, site, fields):
    leave(tmp_path, "good")
    leave(tmp_path, "bad", [100.0] * 8, **{"checks": checks([100.0] * 8), **fields})

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 750
    assert "from 8 GPUs of 1 node," in text


def test_a_run_can_be_chosen(tmp_path, site):
    leave(tmp_path, "new", [100.0] * 8, run_id="new", started=make.T0 + 99)
    leave(tmp_path, "old", run_id="old")

    assert site()[0].limit("gemm_tflops_min").value == 95
    assert site("--run-id=old")[0].limit("gemm_tflops_min").value == 750


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda dump: None, "No such file or directory"),
        (lambda dump: dump.mkdir(), "no node of run local in .* passed as a whole"),
        (lambda dump: leave(dump, **make.failing()), "no node of run 123.0 in .* passed"),
        (lambda dump: leave(dump, rehearsal=True), "no node of run"),
        (lambda dump: leave(dump, told=[]), "results name no GPU"),
        (lambda dump: leave(dump, gemm=()), "no performance figure: run them with --tier2-perf"),
        (lambda dump: make.put(dump, "a file"), "Not a directory"),
    ],
)
def test_nothing_to_go_by_is_2(tmp_path, capsys, prepare, told):
    prepare(tmp_path / "dump")

    assert main(["calibrate", f"--dump-path={tmp_path}/dump", f"--output={tmp_path}/out"]) == 2
    assert re.search(told, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "argument",
    ["--margin=1", "--margin=-0.1", "--margin=nan", "--min-gpus=0", "--min=3", "--margin=x"],
)
def test_a_wrong_command_line_is_2(argument, capsys):
    assert main(["calibrate", argument]) == 2
    assert "error: " in capsys.readouterr().err


def test_a_file_that_can_not_be_written_is_2(tmp_path, capsys):
    leave(tmp_path)
    make.put(tmp_path / "file", "")

    assert main(["calibrate", f"--dump-path={tmp_path}", f"--output={tmp_path}/file/x"]) == 2
    assert "file/x: [Errno" in capsys.readouterr().err


def lay(sort, path):
    """Put something that is no regular file at *path*, or a link to such a thing."""
    if sort == "FIFO":
        os.mkfifo(path)
    elif sort == "directory":
        path.mkdir()
    elif sort == "socket":
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(str(path))
    else:
        path.symlink_to(sort)


@pytest.mark.parametrize(
    ("sort", "told"),
    [
        ("FIFO", "a FIFO"),
        ("directory", "a directory"),
        ("socket", "a socket"),
        ("/dev/null", "a symbolic link"),
        ("smoke/n1.json", "a symbolic link"),
        ("nowhere", "a symbolic link"),
    ],
)
def test_what_is_no_regular_file_is_not_replaced(tmp_path, capsys, monkeypatch, sort, told):
    monkeypatch.chdir(tmp_path)
    leave(tmp_path)
    lay(sort, Path("out"))
    before = Path("out").lstat()

    assert main(["calibrate", f"--dump-path={tmp_path}", "--output=out"]) == 2
    assert f"--output=out is {told}, expected a regular file" in capsys.readouterr().err
    assert os.path.samestat(Path("out").lstat(), before)


def test_a_device_is_not_replaced(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(calibrate, "write", lambda path, data: pytest.fail(f"{path} is replaced"))
    leave(tmp_path)

    assert main(["calibrate", f"--dump-path={tmp_path}", "--output=/dev/full"]) == 2
    assert "--output=/dev/full is a device, expected" in capsys.readouterr().err


def test_a_file_of_before_is_replaced(tmp_path, site):
    make.put(tmp_path / "site.toml", "old")
    leave(tmp_path)

    assert site()[0].limit("gemm_tflops_min").value == 750


def test_too_few_gpus_leave_a_comment(tmp_path, site):
    leave(tmp_path, gemm=[790.0] * 7, told=facts(7))

    profile, text = site()

    assert profile.limit("gemm_tflops_min") is None
    assert "# too few GPUs for gemm-tflops-min: 7, expected at least 8\n" in text
    assert site("--min-gpus=7")[0].limit("gemm_tflops_min").value == 750


def test_a_margin_of_ones_own(tmp_path, site):
    leave(tmp_path)

    profile, text = site("--margin=0.1")

    assert profile.limit("gemm_tflops_min").value == 711
    assert "790 TFLOPS less 0.1: " in text


def test_a_slow_gpu_is_set_aside_and_named(tmp_path, site):
    leave(tmp_path, "n1", [790.0] * 8)
    leave(tmp_path, "n2", [788.0] * 7 + [610.0])

    profile, text = site()

    assert profile.limit("gemm_tflops_min").value == 748
    assert "# set aside for gemm-tflops-min: n2 gpu7 with 610 TFLOPS\n" in text
    assert "1 set aside as slow" in profile.limit("gemm_tflops_min").source


def test_several_models_want_a_choice(tmp_path, site, capsys):
    leave(tmp_path, "n1")
    leave(tmp_path, "n2", [1500.0] * 8, told=facts(8, "NVIDIA B200", "NVIDIA B200"))
    argv = ["calibrate", f"--dump-path={tmp_path}"]

    assert main(argv) == 2
    assert "with --model: NVIDIA B200 (8 GPUs), NVIDIA H200 (8 GPUs)" in capsys.readouterr().err
    assert main([*argv, "--model=B200"]) == 2
    assert "no GPU of model B200, found NVIDIA B200 (8 GPUs)" in capsys.readouterr().err
    profile, _ = site("--model=NVIDIA B200")
    assert (profile.name, profile.limit("gemm_tflops_min").value) == ("NVIDIA B200", 1420)


def test_a_node_of_two_models_is_told_apart_by_gpu(tmp_path, site):
    both = [*facts(4, "A", "A"), *(f for f in facts(8, "B", "B") if f.get("device", "") > "gpu3")]
    together = measured("performance.all_reduce", "", 300.0, "GB/s")
    leave(tmp_path, gemm=[1.0] * 4 + [2.0] * 4, more=[together], told=both)

    profile, _ = site("--model=B", "--min-gpus=4")

    assert profile.limit("gemm_tflops_min").value == 1.9
    assert profile.all_reduce == ()


@pytest.mark.parametrize(
    ("model", "bound", "matched"),
    [
        ("AMD Instinct MI300X OAM", "AMD Instinct MI300X", 2),
        ("", "AMD Instinct MI300X", 1),
        ("AMD Instinct MI300X OAM", "", 1),
    ],
)
def test_a_model_is_known_by_all_its_names(tmp_path, site, model, bound, matched):
    leave(tmp_path, told=facts(8, model, bound))

    profile, _ = site()

    assert profile.name == model or bound
    assert sum(map(profile.matches, {"AMD Instinct MI300X OAM", "AMD Instinct MI300X"})) == matched
