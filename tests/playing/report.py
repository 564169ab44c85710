"""What came of a play: the finding of the case's topic, and the facts that it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .case import Case, Variant
from .topics import TOPICS

OK, WARN, UNKNOWN, FAIL = "ok", "warn", "unknown", "fail"
_WORST_FIRST = (FAIL, WARN, UNKNOWN, OK)
_FINDINGS = {
    "PASS": OK,
    "N/A": OK,
    "WARN": WARN,
    "UNKNOWN": UNKNOWN,
    "FAIL": FAIL,
    "HUNG": FAIL,
    "LOST": FAIL,
}
_PLUMBING = frozenset({"run", "inventory", "torch", "stage", "host_limit", "probe", "end"})
"""Facts of the run itself, not of what vendors' tools and drivers told."""
NO_CHECKS = "no checks for this topic yet"
KNOWLEDGE = "knowledge only: its case.json says that it is not to be played"


def finding(outcomes: Iterable[str]) -> str | None:
    """Return the worst of the checks' *outcomes*; None when there was no check."""
    found = {_FINDINGS.get(outcome, FAIL) for outcome in outcomes}
    return next((each for each in _WORST_FIRST if each in found), None)


def played(case: Case, variant: Variant, node: dict[str, Any]) -> dict[str, Any]:
    """Return the line for a play that left *node*, the result's object of that name."""
    ids = TOPICS.get(case.topic, ())
    checks = [check for check in node["checks"] if check["id"] in ids]
    told = [_shown(check) for check in checks if check["outcome"] not in {"PASS", "N/A"}]
    facts = [fact for fact in node["facts"] if fact.get("fact") not in _PLUMBING]
    line = _line(case, variant.name, finding(check["outcome"] for check in checks))
    if line["finding"] is None:
        line["skipped"] = "the suite has none of this topic's checks"
    return line | {"checks": told, "facts": facts}


def skipped(case: Case, variant: str, why: str) -> dict[str, Any]:
    """Return the line for what was not played."""
    return _line(case, variant, None) | {"skipped": why}


def as_expected(case: Case, line: dict[str, Any]) -> bool:
    """Return whether *line* says what the case does; a case that says nothing is content."""
    play = case.play or {}
    return bool(line["variant"] not in play or line["finding"] == play[line["variant"]])


def _line(case: Case, variant: str, found: str | None) -> dict[str, Any]:
    return {"case": case.name, "variant": variant, "finding": found}


def _shown(check: dict[str, Any]) -> dict[str, Any]:
    return {name: check.get(name, "") for name in ("id", "device", "outcome", "message")}
