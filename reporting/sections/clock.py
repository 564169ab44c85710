"""Clocks: nodes are compared at the moment that they began, and not by how long they took."""

from __future__ import annotations

import math

from ..digest import Digest
from ..model import LOCAL, Row
from ..outliers import middle
from .base import Section
from .view import View, issues, rank, shown, table

HEADING = "Cluster clock + time daemons"


def clock(view: View) -> Section:
    """Return how far the clocks are apart, and what the checks found about who keeps them."""
    kept = issues(HEADING, "Every node's clock is kept.", view, lambda c: c.startswith("clock."))
    times = [(_began(digest), row, digest) for row, digest in view.rows]
    lines, rows = _spread(view, [(when, r, d) for when, r, d in times if when is not None])
    rows += kept.rows
    columns = ["Node", "Hostname", "Issue"]
    return table(HEADING, lines + kept.lines, columns, rows, calm=not rows)


def _began(digest: Digest) -> float | None:
    """Return when a node's run began by its own clock, wherever in the run it was read."""
    if digest.wall is None:
        return None
    when = digest.wall - digest.wall_at
    return when if math.isfinite(when) else None


def _spread(
    view: View, began: list[tuple[float, Row, Digest]]
) -> tuple[list[str], list[list[str]]]:
    """Return the spread, and the nodes that are further off the middle than may be."""
    limit = view.limits.clock_skew_warn_sec
    if view.cluster.run_id == LOCAL and len(began) > 1:
        return ["Clocks are not compared: without a run id nodes need not begin together."], []
    if len(began) < 2:
        return ["Fewer than two nodes told their clock: there is nothing to compare."], []
    ordered = sorted(began, key=lambda one: (one[0], one[1].name))
    first, last = ordered[0], ordered[-1]
    spread = last[0] - first[0]
    said = "over" if spread > limit else "within"
    line = (
        f"Clocks are at most {spread:.1f} s apart, {said} {limit:g} s (--clock-skew-warn-sec):"
        f" {shown(first[1])} is the earliest, {shown(last[1])} the latest of {len(began)}. This"
        " takes it that all began at one moment, as the tasks of one srun step do within seconds."
    )
    if spread <= limit:
        return [line], []
    usual = middle([when for when, _, _ in ordered])
    off = [one for one in ordered if abs(one[0] - usual) > limit]
    return [line], [_row(when - usual, row, digest) for when, row, digest in off]


def _row(offset: float, row: Row, digest: Digest) -> list[str]:
    """Return one node whose clock is off, and what speaks for another reason."""
    side = "ahead of" if offset > 0 else "behind"
    issue = f"its clock is {abs(offset):.1f} s {side} the others'"
    if digest.synchronised and offset > 0:
        issue += "; its kernel says that it is synchronised, so it may have begun later"
    elif digest.synchronised is False:
        issue += "; its kernel says that it is not synchronised"
    return [rank(row), shown(row), issue]
