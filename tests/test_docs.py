"""The documentation: generated pages are current, and what it promises is there."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.conftest import CLONE

MARKDOWN = [CLONE / "README.md", CLONE / "CONTRIBUTING.md", *sorted((CLONE / "docs").glob("*.md"))]


def _generated():
    spec = importlib.util.spec_from_file_location("generate", CLONE / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_generated_pages_are_current():
    for name, text in _generated().items():
        assert (CLONE / "docs" / name).read_text(encoding="utf-8") == text, (
            f"docs/{name} is stale: run python docs/generate.py"
        )


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda p: p.name)
def test_links_between_the_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda p: p.name)
def test_options_in_the_pages_exist(path):
    declared = (path.read_text() for path in (CLONE / "fixtures/options").glob("*.py"))
    source = "".join(declared) + (CLONE / "node-smoke").read_text()
    source += (CLONE / "reporting/cli.py").read_text()
    ours = set(re.findall(r"\"(--[a-z0-9-]+)\"|\s(--[a-z-]+)\b", source))
    known = {name for pair in ours for name in pair if name}
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:pytest|node-smoke|aggregate)[^\n`]*?\s(--[a-z0-9-]+)", text))
    pytests = {
        "--pyargs",
        "--help",
        "--junitxml",
        "--extra",
        "--strict",
        "--kill-on-bad-exit",
        "--collect-only",
    }
    slurms = {"--ntasks-per-node", "--nodelist", "--exclude", "--chdir", "--time", "--wait"}

    assert named - known - pytests - slurms == set()


def test_the_version_is_the_same_everywhere():
    version = re.search(r'VERSION = "(.+)"', (CLONE / "fixtures/version.py").read_text())[1]

    assert f"## [{version}]" in (CLONE / "docs/changelog.md").read_text()
