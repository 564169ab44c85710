"""What the reporter knows of a node and of a cluster, and the rules by which checks judge a node.

The structs read what the nodes wrote: unknown fields are ignored, so that an older reporter reads a
newer result, and a field of the wrong type refuses the document, so that nothing is guessed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from .names import fold

if TYPE_CHECKING:
    from .digest import Digest

SCHEMA_VERSION = 1
LOCAL = "local"
"""The run id of a node that was given none: such results are told apart by their times."""
LOCAL_RUN_SECONDS = 3600.0

Outcome = Literal["PASS", "WARN", "FAIL", "UNKNOWN", "N/A", "HUNG", "LOST"]
OUTCOMES: tuple[Outcome, ...] = ("PASS", "WARN", "FAIL", "UNKNOWN", "N/A", "HUNG", "LOST")
FAILING = frozenset({"FAIL", "HUNG", "LOST"})


class Check(msgspec.Struct, frozen=True, gc=False):
    """What one check said about one device; `id` is `<subsystem>.<property>`."""

    id: str
    outcome: Outcome
    device: str = ""
    tier: str = ""
    message: str = ""
    value: float | None = None
    unit: str = ""
    limit: float | None = None
    cause: str = ""


class Option(msgspec.Struct, frozen=True, gc=False):
    """An option that was in force on the node, and where it came from."""

    value: Any = None
    source: str = ""


class Mark(msgspec.Struct, frozen=True):
    """What a node leaves when it begins."""

    name: str
    run_id: str
    started: float
    bound: float
    tiers: list[str]
    schema: int = SCHEMA_VERSION
    hostname: str = ""
    boot_id: str = ""
    rehearsal: bool = False
    rank: int | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What stands in the object `node` of a result beside its options, checks and facts."""

    name: str
    run_id: str
    started: float
    verdict: Literal["PASS", "FAIL", "PARTIAL"]
    tiers: list[str]
    reasons: list[str]
    schema: int = SCHEMA_VERSION
    tool_version: str = ""
    hostname: str = ""
    rank: int | None = None
    boot_id: str = ""
    finished: float = 0.0
    bound: float = 0.0
    partial: bool = False
    rehearsal: bool = False
    replay_of: str = ""
    interrupted: str = ""
    coverage: dict[str, int] = {}
    warnings: list[str] = []
    unknowns: list[str] = []
    durations: dict[str, float] = {}

    @property
    def ended(self) -> float:
        """When the node was done, never before it began."""
        return max(self.started, self.finished)

    @property
    def seconds(self) -> float:
        """How long the node took, without the pause between two runs that were joined."""
        return self.durations.get("total", self.ended - self.started)


class Node(Header, frozen=True, kw_only=True, gc=False):
    """What a node says of itself; its checks and facts are in its digest, or in its file."""

    options: dict[str, Option] = {}


class Result(Node, frozen=True, kw_only=True, gc=False):
    """A node with all that it checked: one at a time, ten thousand do not fit into memory."""

    checks: list[Check]


class Document(msgspec.Struct, frozen=True):
    """A result file: a pytest-json-report document of which only `node` is read."""

    node: Result


class Kind(str, Enum):
    """How a node stands in the merge; all but PASS keep it out of the passing list."""

    PASS = "PASS"
    FAIL = "FAIL"
    PARTIAL = "PARTIAL"
    LACKS_TIER = "LACKS TIER"
    DUPLICATE = "DUPLICATE"
    REHEARSAL = "REHEARSAL"
    BROKEN = "BROKEN"
    STARTED = "STARTED"
    OTHER_RUN = "OTHER RUN"
    MISSING = "MISSING"


REPORTED = frozenset({Kind.PASS, Kind.FAIL, Kind.PARTIAL, Kind.DUPLICATE, Kind.REHEARSAL})
"""The kinds of a node that reported what it was asked for, well or badly."""
ITS_OWN_FAULT = frozenset({Kind.FAIL, Kind.DUPLICATE})
"""The kinds that turn a run red even when the node was not expected."""


class Row(msgspec.Struct):
    """One node of the report."""

    name: str
    kind: Kind
    reasons: list[str] = []
    expected: bool = True
    named: bool = True
    """False for a node that is known by count alone."""
    node: Node | None = None
    digest: Digest | None = None
    """What was kept of the node's checks and facts; there whenever `node` is."""
    path: Path | None = None
    """The file that `node` was read from."""

    @property
    def status(self) -> str:
        """The row's word in the status table, of the three that are scraped."""
        return self.kind.value if self.kind in {Kind.PASS, Kind.PARTIAL} else Kind.FAIL.value

    @property
    def red(self) -> bool:
        """Whether this row alone fails the run."""
        wrong = ITS_OWN_FAULT if not self.expected else set(Kind) - {Kind.PASS}
        return self.kind in wrong


class Cluster(msgspec.Struct):
    """The merge of one run: all that a report says, in whatever format."""

    run_id: str
    rows: list[Row]
    expected: int
    expected_names: list[str]
    rehearsal: bool = False
    notes: list[str] = []

    @property
    def reported(self) -> int:
        """How many nodes reported; placeholders and leftovers of other runs are none."""
        return sum(row.kind in REPORTED for row in self.rows)

    @property
    def tiers(self) -> list[str]:
        """The tiers that any node judged."""
        return sorted({tier for row in self.rows if row.node for tier in row.node.tiers})

    @property
    def passing(self) -> list[Row]:
        """The rows of the nodes that may run a job."""
        return [row for row in self.rows if row.kind is Kind.PASS]

    @property
    def failing(self) -> list[Row]:
        """The rows of the nodes that may not."""
        return [row for row in self.rows if row.kind is not Kind.PASS]

    @property
    def red(self) -> list[Row]:
        """The rows that fail the run."""
        return [row for row in self.rows if row.red]


def named(check: Check) -> str:
    """Return a check's message with what it is about, as a reason that the merge gives."""
    device = f"[{check.device}]" if check.device else ""
    return f"{check.id}{device}: {check.message}"


def coverage(checks: Iterable[Check]) -> dict[str, int]:
    """Return how many checks there are (`checks`) and how many ended in each outcome."""
    counts: dict[str, int] = dict.fromkeys(("checks", *OUTCOMES), 0)
    for check in checks:
        counts["checks"] += 1
        counts[check.outcome] += 1
    return counts


def describe(counts: dict[str, int]) -> str:
    """Return *counts* as a phrase: `61 checks: 57 pass, 1 warn, 2 unknown, 1 n/a`."""
    parts = [f"{counts[o]} {o.lower()}" for o in OUTCOMES if counts[o]]
    return f"{counts['checks']} checks: {', '.join(parts) or 'none ran'}"


def failures(checks: Iterable[Check]) -> list[str]:
    """Return the messages of what failed, without those that another failure already explains."""
    failed = [c for c in checks if c.outcome in FAILING]
    known = {(c.id, c.device) for c in failed if c.outcome == "FAIL"}
    own = (
        c
        for c in failed
        if c.cause == c.id or known.isdisjoint({(c.cause, c.device), (c.cause, "")})
    )
    return list(dict.fromkeys(c.message for c in own))


def same_machine(one: Node | Mark, other: Node | Mark) -> bool:
    """Tell whether two documents under one name came from one machine.

    Within a run with an id, a second boot is a second machine: nobody restarts a node in a run.
    """
    if fold(one.hostname) != fold(other.hostname):
        return False
    booted = one.boot_id and other.boot_id and one.boot_id != other.boot_id
    return one.run_id == LOCAL or not booted


def utc(when: float) -> str:
    """Return a time as an operator reads it, whatever number a node wrote."""
    if not math.isfinite(when):
        return "a time that is none"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(when))
    except (OverflowError, ValueError, OSError):
        return "a time that is none"
