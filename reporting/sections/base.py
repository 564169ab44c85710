"""What a section of the report is made of, in whatever format it is shown.

Texts are foreign and unescaped: whoever shows them escapes them for what they are shown in.
"""

from __future__ import annotations

import msgspec


class Section(msgspec.Struct, kw_only=True):
    """One section: sentences, and a table below them; rows beyond a stated length are counted."""

    heading: str
    lines: list[str] = []
    columns: list[str] = []
    rows: list[list[str]] = []
    cut: int = 0
    """How many rows are left out; summary.json or the nodes' results have all."""
    omitted: bool = False
    """Whether the heading is left out as well: this run has nothing that it is about."""
    calm: bool = False
    """Whether its lines only say that there is nothing to say."""


class Cause(msgspec.Struct, kw_only=True):
    """What several nodes may have in common: one message of one check."""

    message: str
    """Without the name of the device; figures may differ from node to node."""
    check: str
    """The check's id, or how a node stands that has no result (`MISSING`)."""
    severity: str
    """The outcome: FAIL, HUNG, LOST, WARN or UNKNOWN."""
    nodes: list[str]
    devices: list[str] = []
    """The devices that it was said of on any node, without repetition."""
    count: int = 0
    """How often it was said: each device of each node counts."""
    varies: bool = False
    """Whether the nodes' own messages differ in their figures: `message` is the first one's."""
