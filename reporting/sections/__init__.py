"""What the report says, section by section, as texts and tables that any format can show."""

from __future__ import annotations

from collections.abc import Callable

from ..limits import Limits
from ..model import Cluster
from . import clock, drifting, network, node, ours, tier2
from .base import Cause, Section
from .causes import causes
from .compared import is_compared, unfailed, worst
from .view import Found, View, fail_outliers, find

__all__ = [
    "Cause",
    "Found",
    "Section",
    "all_sections",
    "causes",
    "fail_outliers",
    "find",
    "is_compared",
    "unfailed",
    "worst",
]

_SEEDS: tuple[Callable[[View], Section], ...] = (
    drifting.stack,
    drifting.nics,
    network.roll_call,
    network.port_count,
    network.excluded,
    node.host_limits,
    node.visibility,
    drifting.parts,
    node.links,
    clock.clock,
    node.latency,
    node.tooling,
    node.busy,
    node.memory,
    node.activity,
    tier2.summary,
)
"""Those whose headings are scraped, in the order that is expected."""
_OURS: tuple[Callable[[View], Section], ...] = (
    ours.events,
    ours.warnings,
    ours.outliers,
    ours.arithmetic,
    ours.coverage,
    ours.options,
)


def all_sections(cluster: Cluster, limits: Limits, found: Found | None = None) -> list[Section]:
    """Return the sections below the status table, without the failing nodes in full.

    *found* is what `find` returned, where somebody needs it for more than the sections.
    """
    seeds, own = split_sections(cluster, limits, found)
    return seeds + own


def split_sections(
    cluster: Cluster, limits: Limits, found: Found | None = None
) -> tuple[list[Section], list[Section]]:
    """Return the sections that stand before the failing nodes, and those after them."""
    view = View(cluster, limits, found or find(cluster))
    sections = [make(view) for make in (*_SEEDS, *_OURS)]
    if not view.rows:
        sections[: len(_SEEDS)] = [_nobody(section) for section in sections[: len(_SEEDS)]]
    return sections[: len(_SEEDS)], sections[len(_SEEDS) :]


def _nobody(section: Section) -> Section:
    """Return a section of a run in which nobody said anything: not a word of praise."""
    return Section(
        heading=section.heading,
        lines=["No node reported."],
        omitted=section.omitted,
        calm=True,
    )
