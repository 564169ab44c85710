"""The command line, and what it costs to start it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reporting.cli import main
from tests.reporting import make

ROOT = Path(__file__).resolve().parents[2]


def run(*argv, code=None):
    """Run the reporter as a process of its own."""
    start = ["-m", "reporting"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *map(str, argv)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_command_prints_the_help_and_is_2(capsys):
    assert main([]) == 2
    assert "aggregate" in capsys.readouterr().err


def test_the_version_is_that_of_the_clone(capsys):
    assert main(["--version"]) == 0

    version = (ROOT / "fixtures/version.py").read_text().partition('VERSION = "')[2]
    assert capsys.readouterr().out == f"node-smoke {version.partition(chr(34))[0]}\n"


@pytest.mark.parametrize(
    "argv",
    [
        ["nonsense"],
        ["aggregate", "--expected-nodes", "0"],
        ["aggregate", "--expected-nodes", "many"],
        ["aggregate", "--wait-timeout-sec", "-1"],
        ["aggregate", "--wait-timeout-sec", "nan"],
        ["aggregate", "--wait-timeout-sec", "inf"],
        ["aggregate", "--dump", "x"],
        ["publish", "--dump-path=x"],
    ],
)
def test_a_wrong_command_line_is_2(argv, capsys):
    assert main(argv) == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize("together", [True, False])
def test_the_dump_path_is_taken_in_both_forms(tmp_path, together):
    make.result(tmp_path)
    dump = [f"--dump-path={tmp_path}"] if together else ["--dump-path", str(tmp_path)]

    assert main(["aggregate", *dump]) == 0


def test_every_option_reaches_the_merge(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("reporting.aggregate.aggregate", lambda ask, env: asked.append(ask) or 7)
    file = tmp_path / "list"

    status = main([
        "aggregate", "--dump-path=d", "--expected-nodes=3", f"--expected-nodelist-file={file}",
        "--wait-timeout-sec=1.5", "--run-id=r", "--no-clean-dump-path", "--alone=n",
    ])  # fmt: skip

    (ask,) = asked
    assert status == 7
    assert (ask.dump, ask.expected_nodes, ask.expected_nodelist_file) == (Path("d"), 3, str(file))
    assert (ask.wait_timeout_sec, ask.run_id, ask.keep, ask.alone) == (1.5, "r", True, "n")


def test_a_merge_and_a_publication_as_processes(tmp_path):
    local = make.put(tmp_path / "local.json", make.document("n1", **make.failing("gpu é: bad")))

    published = run("publish", f"--result={local}", f"--dump-path={tmp_path}")
    merged = run("aggregate", f"--dump-path={tmp_path}", "--wait-timeout-sec=0")

    assert (published.returncode, published.stderr) == (0, "")
    assert (merged.returncode, merged.stderr) == (1, "")
    assert "gpu é: bad" in merged.stdout


@pytest.mark.parametrize("command", ["aggregate", "publish"])
def test_a_reader_that_has_gone_does_not_change_the_verdict(tmp_path, command):
    make.result(tmp_path, "n1")
    local = make.put(tmp_path / "local.json", make.document("n2"))
    argv = [command, f"--dump-path={tmp_path}"] + [f"--result={local}"] * (command == "publish")
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "reporting", *argv],
        cwd=ROOT,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / ("passing_nodes.txt" if command == "aggregate" else "junit/n2.xml")).exists()


@pytest.mark.parametrize("traceback", ["", "1"])
def test_an_error_that_nobody_foresaw_is_a_line_and_no_verdict(monkeypatch, capsys, traceback):
    def broken(*_):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("reporting.aggregate.aggregate", broken)
    monkeypatch.setenv("NODE_SMOKE_TRACEBACK", traceback)
    if traceback:
        with pytest.raises(ZeroDivisionError):
            main(["aggregate"])
        return

    assert main(["aggregate"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("node-smoke: aggregate: ZeroDivisionError: two lines (")


def test_a_page_that_cannot_be_made_is_status_2_with_all_lists(tmp_path, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError

    make.result(tmp_path, "n1", **make.failing())
    monkeypatch.setattr("reporting.html.write", broken)

    assert main(["aggregate", f"--dump-path={tmp_path}"]) == 2
    assert (tmp_path / "failing_nodes.txt").read_text() == "n1\n"
    said = capsys.readouterr()
    assert "smoke_report.html: ZeroDivisionError" in said.err
    words = [line.split()[0] for line in said.out.splitlines()[-6:]]
    assert words == [
        "report", "passing", "failing", "junit", "passing-hostlist", "failing-hostlist",
    ]  # fmt: skip


def test_a_disk_that_is_full_on_the_way_out_changes_no_verdict(tmp_path, small):
    make.result(tmp_path, "n1")
    out = small(tmp_path / "full", "4k") / "out"
    out.write_bytes(b"x" * 4096)

    with out.open("ab") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "reporting", "aggregate", f"--dump-path={tmp_path}"],
            cwd=ROOT,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "passing_nodes.txt").read_text() == "n1\n"


def test_a_merge_imports_nothing_that_it_does_not_need(tmp_path):
    make.result(tmp_path, "n1")
    code = (
        "import sys; from reporting.cli import main; "
        "assert main(sys.argv[1:]) == 0; print(*sys.modules)"
    )

    done = run("aggregate", f"--dump-path={tmp_path}", code=code)

    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert {"reporting", "msgspec", "jinja2"} <= loaded
    assert not loaded & {"pytest", "torch", "numpy", "fixtures", "multiprocessing", "asyncio"}
