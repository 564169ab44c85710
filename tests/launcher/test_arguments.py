"""The scripts as such, and what the launcher hands over of its command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from fixtures import options
from tests.launcher.conftest import ROOT

SCRIPTS = ["node-smoke", ".ci/run"]
DUMP_PATH = "--dump-path={user}/output/preflight"
AGGREGATE = ["reporting", "aggregate"]
SELFTEST = ["pytest", "-n", "2", "-o", "testpaths=tests"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_executable_and_parses(script):
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing():
    command = ["shellcheck", *SCRIPTS]
    assert subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout == b""


def test_launcher_keeps_to_bash_42(launcher):
    assert not re.search(r"@[QEPAaUuLKk]\}|wait -n|(local|declare) -n", launcher)
    never_empty = (
        '*) run_args+=(tests) ;;\n    esac\n    exec "$python" -m pytest -n 2 "${run_args[@]}"'
    )
    bare = re.findall(r'(?<!\+)"\$\{(\w+)\[@\]\}"', launcher.replace(never_empty, ""))
    assert set(bare) == {"candidates", "what"}  # which are never empty either


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], ["pytest", DUMP_PATH]),
        (["-m", "tier1", "-k", "a b"], ["pytest", DUMP_PATH, "-m", "tier1", "-k", "a b"]),
        (["--dump-path", "/d"], ["pytest", "--dump-path=/d"]),
        # Without a value: pytest says so.
        (["--dump-path"], ["pytest", "--dump-path"]),
        (["--dump-path", "--rehearse"], ["pytest", "--dump-path", "--rehearse"]),
        # A replay writes nothing unless it is told where.
        (["--replay=/r.json"], ["pytest", "--replay=/r.json"]),
        (["--replay=/r", "--dump-path=d"], ["pytest", "--replay=/r", "--dump-path={user}/d"]),
        # A profile is a name, or a file.
        (["--profile=H200"], ["pytest", DUMP_PATH, "--profile=H200"]),
        (["--profile", "none"], ["pytest", DUMP_PATH, "--profile=none"]),
        (["--profile==a b"], ["pytest", DUMP_PATH, "--profile=={user}/a b"]),
        (["--profile", "s.toml"], ["pytest", DUMP_PATH, "--profile=={user}/s.toml"]),
        (["--profile=/s/x"], ["pytest", DUMP_PATH, "--profile==/s/x"]),
        (["--profile"], ["pytest", DUMP_PATH, "--profile"]),
        # The launcher's own flags and words end at two dashes, or at the first of pytest's.
        (["--with-torch", "--unknown", "--"], ["pytest", DUMP_PATH, "--unknown"]),
        (["--", "--help"], ["pytest", DUMP_PATH, "--help"]),
        (["-v", "--", "--version", "--"], ["pytest", DUMP_PATH, "-v", "--version", "--"]),
        (["--", "--with-torch"], ["pytest", DUMP_PATH, "--with-torch"]),
        (["-m", "help"], ["pytest", DUMP_PATH, "-m", "help"]),
        (["-k", "selftest"], ["pytest", DUMP_PATH, "-k", "selftest"]),
        (["--", "aggregate"], ["pytest", DUMP_PATH, "aggregate"]),
        (["--with-torch", "selftest", "--version"], [*SELFTEST, "--version"]),
        (
            ["selftest", "--", "-x", "--junitxml", "a"],
            [*SELFTEST, "-x", "--junitxml={user}/a"],
        ),
        # All of the self-tests, unless some are named.
        (["selftest"], [*SELFTEST]),
        (["selftest", "-k", "x y"], [*SELFTEST, "-k", "x y"]),
        (["selftest", "--ignore=tests/x"], [*SELFTEST, "--ignore=tests/x"]),
        (["selftest", "tests/x"], [*SELFTEST, "tests/x"]),
        (
            ["selftest", "-v", "tests/a.py::b", "tests/c"],
            [*SELFTEST, "-v", "tests/a.py::b", "tests/c"],
        ),
        (["aggregate", "--dump-path", "d"], [*AGGREGATE, "--dump-path={user}/d"]),
        (["aggregate", "--", "--help"], [*AGGREGATE, DUMP_PATH, "--help"]),
    ],
)
def test_what_is_handed_over(ready, given, passed):
    assert ready.argv(*given) == [word.format(user=ready.user) for word in passed]


def test_path_options_are_those_of_the_plugin_and_of_pytest(path_options):
    ours = {option.flag for option in options.ALL if option.path}
    assert set(path_options) == ours | {"--junitxml", "--junit-xml"}


@pytest.mark.parametrize("spaced", [True, False])
def test_paths_become_absolute(ready, path_options, spaced):
    user, home = ready.user, ready.env["HOME"]
    become = {"/x/y": "/x/y", "../x": f"{user}/../x", "~/x": f"{home}/x", "~": home}
    become |= {"~x": f"{user}/~x", "": "", "a=b": f"{user}/a=b", "a b*": f"{user}/a b*"}
    pairs = [("--dump-path", path) for path in become]
    pairs += [(option, "a b*") for option in path_options]
    given = [word for pair in pairs for word in (pair if spaced else ["=".join(pair)])]
    expected = [f"{option}={become[path]}" for option, path in pairs]
    assert ready.argv(*given, "", "-v") == ["pytest", *expected, "", "-v"]


def test_from_the_root_folder(ready):
    assert ready.argv(cwd="/") == ["pytest", "--dump-path=/output/preflight"]


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_needs_no_python(clone, word):
    out, err = clone.run(word)
    assert out.splitlines()[0].startswith("./node-smoke --rehearse ")
    assert out.splitlines()[1].startswith("./node-smoke selftest ")
    assert out.endswith("\npytest's options: ./node-smoke -- --help\n")
    assert err == ""


def test_version_needs_no_python(clone):
    version = re.search(r'VERSION = "(.+)"', (ROOT / "fixtures/version.py").read_text())[1]
    assert clone.run("-v", "--version") == (f"node-smoke {version}\n", "")


def test_through_a_symlink(ready):
    (ready.user / "link").symlink_to("../my clone/node-smoke")
    assert ready.argv("-v", script="./link")[2:] == ["-v"]


def test_outside_a_clone(clone):
    copy = shutil.copy(clone.path / "node-smoke", clone.tmp / "slurm_script")
    assert "[ERROR] [node-smoke] no clone of the project in" in clone.err(script=copy)


def test_python_takes_the_place_of_the_launcher(ready):
    process = ready.start(STUB_STATUS="3")
    assert process.wait(timeout=30) == 3
    assert ready.calls()[-1]["pid"] == process.pid


@pytest.mark.parametrize(("args", "unset"), [([], set()), (["aggregate"], {"PYTHONSAFEPATH"})])
def test_environment_is_left_alone(ready, args, unset):
    own = {"PWD", "OLDPWD", "SHLVL", "_"}
    given = {"PYTHONSAFEPATH": "1", "PYTHONPATH": "/x"}
    found = ready.ran(*args, **given)["env"]
    expected = ready.env | {k: v for k, v in given.items() if k not in unset}
    assert {k: v for k, v in found.items() if k not in own} == expected


def test_aggregate_finds_the_reporter_under_pythonsafepath(tmp_path):
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    (tmp_path / "activate").touch()  # so that nothing is installed, whatever is missing
    env = os.environ | {"PATH": path, "VENV_ACTIVATE": str(tmp_path / "activate")}
    command = [ROOT / "node-smoke", "aggregate", "--help"]
    done = subprocess.run(
        command, env=env | {"PYTHONSAFEPATH": "1"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--expected-nodelist-file" in done.stdout


@pytest.mark.parametrize("status", [0, 1])
def test_ci_tests_the_commit_and_keeps_the_status(tmp_path, status):
    write = f'#!/bin/sh\necho "${{0##*/}} $*" >>"{tmp_path}/log"\n'
    launcher = f'{write}[ "$*" != selftest ] || exit {status}\n'
    repo = tmp_path / "a repo"
    (repo / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", repo / ".ci/run")
    (tmp_path / "bin").mkdir()
    files = {repo / "node-smoke": launcher}
    files |= {tmp_path / "bin" / name: write for name in ("python3", "shellcheck", "dpkg")}
    for path, text in files.items():
        path.write_text(text)
        path.chmod(0o755)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", repo]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    (repo / "node-smoke").write_text("not committed")
    env = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "VENV_ACTIVATE": "/x"}
    env |= {"TMPDIR": str(tmp_path), "PYTHON": "python3"}
    assert subprocess.run([repo / ".ci/run"], env=env, check=False).returncode == status
    log = [line for line in (tmp_path / "log").read_text().splitlines() if "dpkg" not in line]
    assert log == [
        "node-smoke selftest --collect-only -q",
        "python3 -m ruff check .",
        "python3 -m ruff format --check .",
        "python3 -m mypy",
        "shellcheck node-smoke .ci/run",
        "node-smoke selftest",
    ]
    assert list(tmp_path.glob("tmp.*")) == []
