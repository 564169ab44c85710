"""The wheel: one top-level name, the same suite from any folder, and nobody else's run touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import CLONE, STUBS

NOT_SHIPPED = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", "*.egg-info", "build", "dist", "output", ".*_cache"
)
NAMES = ("xdist", "timeout", "pytest_jsonreport", "metadata", "node_smoke")
PLUGINS = [word for name in NAMES for word in ("-p", name)]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """Build the sdist from a clean copy, and the wheel from the sdist."""
    source = tmp_path_factory.mktemp("source") / "clone"
    shutil.copytree(CLONE, source, ignore=NOT_SHIPPED)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "."],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    (path,) = source.glob("dist/*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """Install the wheel into an environment of its own, beside this one's libraries."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [sys.executable, "-m", "pip", "--python", home, "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return home


def test_a_wheel_installs_one_top_level_name(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {n for n in names if not n.endswith(".dist-info")} == {"node_smoke"}


def test_a_wheel_holds_what_the_code_reads_beside_itself(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())

    assert "node_smoke/fixtures/profiles/rehearsal.toml" in names
    assert "node_smoke/reporting/templates/smoke_report.md.j2" in names
    assert not any("/tests/" in name or "conftest" in name for name in names)


@pytest.mark.parametrize("autoload", [True, False], ids=["autoload", "named-plugins"])
def test_the_installed_suite_runs_from_an_empty_folder_with_workers(
    smoke, installed, tmp_path, autoload
):
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {} if autoload else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    named = [] if autoload else [*PLUGINS, "-p", "no:cacheprovider"]

    ended = smoke(
        *named,
        *["--pyargs", "node_smoke.smoke_tests", "-m", "tier1", "--rehearse"],
        python=installed / "bin/python",
        cwd=empty,
        environment=environment,
    )

    assert ended.status == 0, ended.text
    assert "2/2 workers" in ended.text
    assert ended.node["verdict"] == "PASS"
    assert ended.node["coverage"]["checks"] == 68
    assert [p.name for p in empty.iterdir()] == ([".pytest_cache"] if autoload else [])


@pytest.fixture
def with_torch(installed) -> Path:
    """Install a torch into that environment's own folder, where a user's pip puts it."""
    (packages,) = installed.glob("lib/python*/site-packages")
    shutil.copytree(STUBS / "torch", packages / "torch")
    yield installed
    shutil.rmtree(packages / "torch")


def test_the_installed_suite_finds_the_torch_that_lies_beside_it(smoke, with_torch, tmp_path):
    """That folder stands in the path for our sake and for its own: it must not be hidden."""
    ended = smoke(
        *["--pyargs", "node_smoke.smoke_tests", "-m", "tier1", "--rehearse"],
        python=with_torch / "bin/python",
        cwd=tmp_path,
        stub=False,
    )

    assert ended.status == 0, ended.text
    assert ended.outcome("host.torch") == "PASS"
    (torch,) = (fact for fact in ended.node["facts"] if fact["fact"] == "torch")
    assert torch["version"] == "0.0+stub"


def test_the_installed_suite_judges_a_hung_gpu_all_the_same(smoke, installed, tmp_path):
    ended = smoke(
        *["--pyargs", "node_smoke.smoke_tests", "--rehearse", "--per-gpu-timeout-sec=1"],
        "--rehearse-fault=gpu1:bind:hang",
        python=installed / "bin/python",
        cwd=tmp_path,
    )

    assert ended.status == 1
    assert ended.outcome("gpu.bind", "gpu1") == "FAIL"


def test_the_installed_command_merges(installed, smoke, tmp_path):
    smoke.rehearse("--no-merge")

    merged = subprocess.run(
        [installed / "bin/node-smoke", "aggregate", f"--dump-path={smoke.dump}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert merged.returncode == 0, merged.stderr
    assert (smoke.dump / "smoke_report.md").is_file()


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["--help"]], ids=["plain", "n2", "help"])
def test_an_unrelated_project_in_that_environment_is_not_touched(
    installed, smoke, tmp_path, arguments
):
    """It has options of its own under our names, and a test of its own named like ours."""
    project = tmp_path / "project"
    (project / "smoke_tests").mkdir(parents=True)
    (project / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--profile')\n"
        "    parser.addoption('--replay')\n"
        "    parser.addoption('--dump-path', default='theirs')\n"
    )
    (project / "smoke_tests/test_gpu.py").write_text(
        "def test_theirs(pytestconfig):\n"
        "    assert pytestconfig.getoption('dump_path') == 'theirs'\n"
    )
    before = sorted(project.rglob("*.*"))

    ended = smoke(
        "smoke_tests",
        *arguments,
        python=installed / "bin/python",
        cwd=project,
        dump=False,
        environment={"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"},
    )

    assert ended.status == 0, ended.text
    assert "node-smoke 0." not in ended.text  # our header; pytest itself lists the plugin
    assert "1 passed" in ended.text or "--help" in arguments
    assert sorted(project.rglob("*.*")) == before


def test_a_clone_in_that_environment_uses_its_own_code(installed, smoke):
    ended = smoke.rehearse(
        python=installed / "bin/python", environment={"PYTHONPATH": os.fspath(STUBS)}
    )

    assert ended.status == 0, ended.text
    assert ended.node["verdict"] == "PASS"
