"""What each tool of a node prints: the case where it says so, a healthy node everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from fixtures.vendors.amd import calls as amd_calls
from fixtures.vendors.nvidia import calls as nvidia_calls
from fixtures.vendors.telling import Call
from tests.healthy import amd, nvidia

from . import target
from .case import Case, Variant
from .node import Node
from .tools import ANYTHING, Output, Row, among, usage_error, words


def rows(case: Case, variant: Variant, node: Node) -> dict[str, list[Row]]:
    """Return the answers of every tool on the node by its name, the case's own first.

    Beside a tool that fails there is no other: what that says would be found in its stead.
    """
    mine = target.of(case, variant)
    alone = mine is not None and mine.kind == target.FAULT
    found = {tool: _healthy(node, tool) for tool in node.tools if not alone}
    if mine:
        said = Output(variant.stdout, variant.stderr, variant.status, variant.seconds)
        calls = [argv for argv in _calls(node) if argv[0] == mine.tool]
        around = _healthy(node, mine.tool) if mine.tool in node.tools else []
        found[mine.tool] = [*_of_case(mine, said, calls), *around, *_others(mine, said)]
    if mine and mine.tool == "lsof":  # nobody asks it where another tool lists the processes
        for tool in ("amd-smi", "rocm-smi"):
            blind = [c for c in _calls(node) if c[0] == tool and target.subject(c) == "process"]
            refusal = [Row(words(c[1:]), usage_error(tool)) for c in blind]
            found[tool] = [*refusal, *_healthy(node, tool)]
    return found


def _of_case(mine: target.Target, said: Output, calls: Sequence[Sequence[str]]) -> list[Row]:
    """Return what the case answers of the suite's calls, and what its tool is too old for."""
    if not mine.subject:
        return [Row(ANYTHING, said)]
    found = [Row(words(c[1:]), said) for c in calls if mine.answers(c)]
    old = usage_error(mine.tool)
    return [*found, *(Row(words(c[1:]), old) for c in calls if mine.refuses(c))]


def _others(mine: target.Target, said: Output) -> list[Row]:
    """Return the same for calls that only begin alike: with options that nobody foresaw."""
    if mine.tool == "rocm-smi" or not mine.subject:
        return []
    if mine.tool != "amd-smi" or mine.kind == target.FAULT:
        return [Row(among([mine.subject]), said)]
    as_json = Row(among([mine.subject], and_also="--json"), said)
    if mine.kind == target.JSON:
        return [as_json]
    old = Row(as_json.pattern, usage_error(mine.tool))
    return [old, Row(among([mine.subject]), said)]


def _healthy(node: Node, tool: str) -> list[Row]:
    if tool == "lsof":
        return [Row(ANYTHING, Output(status=1))]
    calls = [argv for argv in _calls(node) if argv[0] == tool]
    said = [(argv, _says(node, argv)) for argv in calls]
    return [Row(words(argv[1:]), Output(text)) for argv, text in said if text is not None]


def _calls(node: Node) -> list[tuple[str, ...]]:
    """Return every call of the node's tools that the suite may make, wherever it is declared."""
    vendor = amd_calls if node.vendor == "amd" else nvidia_calls
    waiting: list[object] = list(vars(vendor).values())
    found = []
    while waiting:
        each = waiting.pop()
        if isinstance(each, Call):
            found.append(each.argv)
        elif isinstance(each, tuple | list):
            waiting += each
        elif isinstance(each, dict):
            waiting += [value for value in each.values() if isinstance(value, Call | tuple)]
    return sorted(set(found))


def _says(node: Node, argv: tuple[str, ...]) -> str | None:
    if node.vendor == "amd":
        return amd.answer(argv, **node.given)
    return nvidia.answer(argv, **node.given)
