"""Who may import whom: records, judgements and reports meet in two published formats only."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import CLONE

PACKAGES = ("fixtures", "reporting", "smoke_tests")
FORBIDDEN = {
    "fixtures": {"reporting", "smoke_tests", "torch"},
    "reporting": {"fixtures", "smoke_tests", "torch", "pytest", "_pytest"},
    "smoke_tests": {"fixtures", "reporting", "torch"},
}
TOUCHES_DEVICES = ("fixtures/recorder/stages/", "fixtures/recorder/template.py")
SOURCES = [p for name in PACKAGES for p in sorted((CLONE / name).rglob("*.py"))]


def imported(path):
    """Return (level, top-level name) of every import in *path*."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, (node.module or "").split(".")[0]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(CLONE)))
def test_a_package_imports_nothing_of_another(path):
    name = str(path.relative_to(CLONE))
    package = name.split("/")[0]
    forbidden = FORBIDDEN[package] - ({"torch"} if name.startswith(TOUCHES_DEVICES) else set())

    absolute = {top for level, top in imported(path) if level == 0}

    assert absolute & (forbidden | {package}) == set()


@pytest.mark.parametrize("name", ["smoke_tests/test_gpu.py", "smoke_tests/test_host.py"])
def test_a_check_stands_on_pytest_alone(name):
    assert {top for _, top in imported(CLONE / name)} == {"pytest"}


def test_the_recorder_never_imports_pytest():
    """It starts beside pytest, and its start is on the path to the verdict."""
    for path in sorted((CLONE / "fixtures/recorder").rglob("*.py")):
        assert not {"pytest", "_pytest"} & {top for _, top in imported(path)}, path
