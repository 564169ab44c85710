"""What the tests of publishing stand on."""

import subprocess

import pytest

from reporting.cli import main
from tests.reporting import make


@pytest.fixture
def dump(tmp_path):
    return tmp_path / "dump path"


@pytest.fixture
def send(tmp_path, dump):
    """Publish a result given by its fields, or any content; return the exit status."""

    def run(content=None, **fields):
        local = make.put(tmp_path / "run/result.json", content or make.document(**fields))
        return main(["publish", "--result", str(local), f"--dump-path={dump}"])

    return run


@pytest.fixture
def small():
    """Make a folder a file system of so many bytes, where the machine allows it."""
    made = []

    def mount(folder, size):
        folder.mkdir()
        argv = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
        try:
            done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
        except FileNotFoundError:
            pytest.skip("no mount command here")
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
        made.append(folder)
        return folder

    yield mount
    for folder in made:
        subprocess.run(["umount", "-l", str(folder)], timeout=10, check=True)
