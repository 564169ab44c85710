"""Two results of one node in one run, into one: a later tier adds to a result, never replaces it.

The documents are handled as they were written, so that nothing in them is lost that this reporter
does not know.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from .model import LOCAL, Check, Document, Node, Result, coverage, failures, same_machine
from .names import fold

Json = dict[str, Any]
_FACT_KEY = ("fact", "device", "stage", "name")


def joinable(ours: Node, theirs: Node, window: float) -> bool:
    """Tell whether *theirs*, the result that lies there, is of the same node and run as *ours*."""
    if theirs.partial or theirs.replay_of or theirs.rehearsal != ours.rehearsal:
        return False
    if theirs.run_id != ours.run_id or fold(theirs.name) != fold(ours.name):
        return False
    if not same_machine(ours, theirs):
        return False
    if ours.run_id != LOCAL:
        return True
    near = abs(ours.started - theirs.started) <= window
    return near and ours.boot_id == theirs.boot_id and _same_machine_seen(ours, theirs)


def _same_machine_seen(ours: Node, theirs: Node) -> bool:
    """Tell whether both looked at the same tree.

    Limits may differ: who gives a flag of tier 2 to tier 2 alone must not lose a FAIL of tier 1.
    """
    roots = [node.options.get("system_root") for node in (ours, theirs)]
    return len({root.value for root in roots if root is not None}) < 2


def join(ours: Json, theirs: Json) -> Json:
    """Return one document of two; each tier that *ours* judged replaces that of *theirs*."""
    one, other = _node(ours), _node(theirs)
    if not set(other.tiers) - set(one.tiers):
        return ours
    tests = _tests(ours, theirs, set(one.tiers))
    return {
        **theirs,
        **ours,
        "node": _joined_node(ours["node"], theirs["node"], one, other),
        "tests": tests,
        "summary": {
            **Counter(str(test.get("outcome", "unknown")) for test in tests),
            "total": len(tests),
            "collected": len(tests),
        },
    }


def _node(document: Json) -> Result:
    """Return what this reporter understands of a document."""
    return msgspec.convert(document, Document).node


def _joined_node(ours: Json, theirs: Json, one: Result, other: Result) -> Json:
    """Return the object `node` of two."""
    raw, checks = _checks(ours, theirs, one, other)
    kept = [reason for reason in _beside(other.reasons, other) if reason not in one.reasons]
    reasons = [*failures(checks), *kept, *_beside(one.reasons, one)]
    return {
        **theirs,
        **ours,
        "rank": one.rank if one.rank is not None else other.rank,
        "started": min(one.started, other.started),
        "finished": max(one.ended, other.ended),
        "bound": max(one.bound, other.bound),
        "tiers": sorted({*one.tiers, *other.tiers}),
        "interrupted": one.interrupted,  # theirs is among the checks of their tier
        "verdict": "FAIL" if reasons else "PASS",
        "reasons": reasons,
        "warnings": _said("WARN", checks, one.warnings, other.warnings, one, other),
        "unknowns": _said("UNKNOWN", checks, one.unknowns, other.unknowns, one, other),
        "coverage": coverage(checks),
        "options": _options(ours.get("options", {}), theirs.get("options", {}), one, other),
        "durations": {**other.durations, **one.durations},
        "checks": raw,
        "facts": _facts(ours, theirs),
    }


def _checks(ours: Json, theirs: Json, one: Result, other: Result) -> tuple[list[Json], list[Check]]:
    """Return the checks of both, as written and as understood, those of *theirs* in front."""
    again = {(check.id, check.device, check.tier) for check in one.checks}
    kept = [
        (raw, check)
        for raw, check in zip(theirs["checks"], other.checks, strict=True)
        if check.tier not in one.tiers and (check.id, check.device, check.tier) not in again
    ]
    raws = [raw for raw, _ in kept] + ours["checks"]
    return raws, [check for _, check in kept] + one.checks


def _options(ours: Json, theirs: Json, one: Result, other: Result) -> Json:
    """Return the options of both: what somebody chose for one tier is not undone by a default."""
    chosen = {
        name
        for name, option in other.options.items()
        if option.source != "default"
        and name in one.options
        and one.options[name].source == "default"
    }
    return {**theirs, **ours, **{name: theirs[name] for name in chosen}}


def _beside(messages: list[str], node: Result) -> list[str]:
    """Return the *messages* of a node that no check of it gave: they can't be worked out again."""
    given = {check.message for check in node.checks}
    return [message for message in messages if message not in given]


def _said(
    outcome: str,
    checks: list[Check],
    ours: list[str],
    theirs: list[str],
    one: Result,
    other: Result,
) -> list[str]:
    """Return the messages of the checks that ended in *outcome*, and those beside the checks."""
    of_checks = [check.message for check in checks if check.outcome == outcome]
    beside = dict.fromkeys([*_beside(theirs, other), *_beside(ours, one)])
    return [*of_checks, *beside]


def _facts(ours: Json, theirs: Json) -> list[Any]:
    """Return the facts of both; what was looked at again is known from *ours*."""
    mine, old = ours.get("facts") or [], theirs.get("facts") or []
    again = {_about(fact) for fact in mine}
    return [fact for fact in old if _about(fact) not in again] + mine


def _about(fact: Any) -> tuple[str, ...]:
    """Return what a fact is about."""
    known = fact if isinstance(fact, dict) else {}
    return tuple(str(known.get(name, "")) for name in _FACT_KEY)


def _tests(ours: Json, theirs: Json, tiers: set[str]) -> list[Json]:
    """Return the tests of both, without those of *theirs* that *ours* ran again."""
    mine = [test for test in ours.get("tests") or [] if isinstance(test, dict)]
    again = {test.get("nodeid") for test in mine}
    kept = [
        test
        for test in theirs.get("tests") or []
        if isinstance(test, dict)
        and test.get("nodeid") not in again
        and tiers.isdisjoint(map(str, test.get("keywords") or ()))
    ]
    return kept + mine
