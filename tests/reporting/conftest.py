"""What the tests of publishing stand on."""

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
