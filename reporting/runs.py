"""Which run is merged, and what each node left in it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from .digest import Digest
from .load import Entry
from .model import LOCAL, LOCAL_RUN_SECONDS, Mark, Node, same_machine
from .names import fold

_CLOCK_SLACK = 3600.0
"""A node whose clock is this far ahead has a wrong one: its run is not the newest."""


class Run(msgspec.Struct, frozen=True):
    """One run: an id, and for runs without one also when it can have begun at the earliest."""

    id: str
    since: float = float("-inf")

    def has(self, said: Node | Mark | Entry) -> bool:
        """Tell whether a document belongs to this run."""
        return said.run_id == self.id and said.started >= self.since


class Left(msgspec.Struct):
    """All that one node left: in the run that is merged, and besides."""

    name: str
    whole: list[Node] = []
    partial: list[Node] = []
    marks: list[Mark] = []
    broken: list[Entry] = []
    others: list[Entry] = []
    """What is of other runs, whether it can be read or not."""
    files: list[Entry] = []

    @property
    def here(self) -> bool:
        """Whether the node left anything in this run, or something that may belong to it."""
        return bool(self.whole or self.partial or self.marks or self.broken)

    @property
    def said(self) -> tuple[Node | Mark, ...]:
        """All that could be read of the node in this run."""
        return (*self.whole, *self.partial, *self.marks)

    @property
    def result(self) -> Node | None:
        """The node's whole result of this run, the last one where there are more."""
        return _last(self.whole)

    @property
    def part(self) -> Node | None:
        """The node's last partial result of this run."""
        return _last(self.partial)

    @property
    def open_mark(self) -> Mark | None:
        """The mark that no result answers yet: the node began (again) and is not done."""
        if not self.marks:
            return None
        mark = max(self.marks, key=lambda m: m.started)
        answer = self.result or self.part
        return None if answer is not None and mark.started <= answer.ended else mark

    def entry_of(self, node: Node) -> Entry:
        """Return the file that *node* was read from."""
        return next(entry for entry in self.files if entry.said is node)

    def digest_of(self, node: Node) -> Digest:
        """Return what was kept of the checks and facts of *node*."""
        return self.entry_of(node).digest or Digest()

    @property
    def machines(self) -> list[Node | Mark]:
        """One document of each machine that goes by this name in this run."""
        apart: list[Node | Mark] = []
        for said in self.said:
            if not any(same_machine(said, known) for known in apart):
                apart.append(said)
        return apart


def _last(nodes: list[Node]) -> Node | None:
    """Return the result that ended last; nearly always there is one at most."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    return max(nodes, key=lambda node: node.ended)


class Sight(msgspec.Struct):
    """What was seen of a run at one moment, by the folded names of the nodes."""

    run: Run
    nodes: dict[str, Left] = {}
    tiers: list[str] = []
    """The tiers that were asked of this run's nodes, as results and marks say."""
    now: float = math.inf
    """When this was seen: a node whose own bound lies ahead may still be at work."""

    @property
    def here(self) -> dict[str, Left]:
        """The nodes that left anything in this run."""
        return {key: left for key, left in self.nodes.items() if left.here}

    @property
    def only_parts(self) -> bool:
        """Whether nothing but partial results was asked for."""
        here = self.here.values()
        return any(left.partial for left in here) and not any(x.whole or x.marks for x in here)

    def lacking(self, node: Node) -> list[str]:
        """Return the tiers that were asked for and that *node* did not judge."""
        return [tier for tier in self.tiers if tier not in node.tiers]

    def complete(self, left: Left) -> bool:
        """Tell whether nothing more is to be waited for from a node."""
        if left.open_mark is not None or any(x.sort == "result" for x in left.broken):
            return False
        if left.result is not None:
            return not self.lacking(left.result)
        return bool(left.partial) and self.only_parts


def choose(entries: Iterable[Entry], wanted: str | None, now: float) -> Run:
    """Return the run to merge: the one *wanted*, else that of the node that began last."""
    told = [entry for entry in entries if entry.run_id is not None]
    whole = [entry for entry in told if entry.sort != "partial"]
    parts = [entry for entry in told if entry.sort == "partial"]
    newest = _newest(whole, wanted, now) or _newest(parts, wanted, now)
    if newest is None:
        return Run(LOCAL if wanted is None else wanted)
    if newest.run_id == LOCAL:
        return Run(LOCAL, newest.started - LOCAL_RUN_SECONDS)
    return Run(newest.run_id or "")


def _newest(told: list[Entry], run_id: str | None, now: float) -> Entry | None:
    """Return the document that began last, of a run when one is named.

    Also one that can't be used: else the run before it would pass in its place.
    """
    asked = [x for x in told if run_id in {None, x.run_id}]
    sane = [x for x in asked if x.started <= now + _CLOCK_SLACK]
    return max(sane or asked, key=lambda x: x.started, default=None)


def look(entries: Iterable[Entry], run: Run, now: float = math.inf) -> Sight:
    """Return what each node left, sorted by what it means to *run*."""
    sight = Sight(run, now=now)
    tiers: set[str] = set()
    for entry in entries:
        left = sight.nodes.setdefault(fold(entry.name), Left(entry.name))
        left.files.append(entry)
        _file(left, entry, run)
    for left in sight.nodes.values():
        tiers.update(tier for node in left.whole for tier in node.tiers)
        tiers.update(tier for mark in left.marks for tier in mark.tiers)
    sight.tiers = sorted(tiers)
    return sight


def _file(left: Left, entry: Entry, run: Run) -> None:
    """Put *entry* where it belongs in what a node left."""
    said = entry.said
    if entry.run_id is not None and not run.has(entry):
        left.others.append(entry)
    elif said is None:
        left.broken.append(entry)
    elif isinstance(said, Mark):
        left.marks.append(said)
    elif entry.sort == "partial":
        left.partial.append(said)
    else:
        left.whole.append(said)
