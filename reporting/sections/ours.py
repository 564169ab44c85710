"""The sections that no scraper expects: events, warnings, outliers, hashes, coverage, options."""

from __future__ import annotations

from collections import Counter

from ..digest import Event
from ..drift import Hashes
from ..outliers import OFF, PEERS, SIGMAS, Outlier
from .base import Section
from .drifting import whose
from .view import View, fold_devices, table, text, who

_GRAVE = {"fail": 0, "FAIL": 0, "warn": 1, "WARN": 1}
_HASH = 12


def events(view: View) -> Section:
    """Return what the kernels' logs tell, by kind."""
    found: dict[tuple[str, str, str], list[tuple[str, Event]]] = {}
    for row, digest in view.rows:
        for event in digest.events:
            kind = event.kind if event.code is None else f"{event.kind} {event.code}"
            key = (event.severity, kind, event.means)
            found.setdefault(key, []).append((row.name, event))
    ordered = sorted(found.items(), key=lambda i: (_GRAVE.get(i[0][0], 2), -len(i[1]), i[0]))
    rows = []
    for (severity, kind, means), told in ordered:
        devices = fold_devices(event.device for _, event in told if event.device)
        count = sum(event.count for _, event in told)
        nodes = dict.fromkeys(node for node, _ in told)
        rows.append([severity.upper(), kind, means, devices or "-", str(count), who(nodes)])
    lines = [] if rows else ["No event in any kernel's log."]
    columns = ["Severity", "Event", "Means", "Devices", "Count", "Nodes"]
    return table("Kernel events", lines, columns, rows, calm=True)


def warnings(view: View) -> Section:
    """Return every warning once, the commonest first."""
    found = [cause for cause in view.found.causes if cause.severity == "WARN"]
    rows = [
        [c.check, text(c), fold_devices(c.devices) or "-", str(len(c.nodes)), who(c.nodes)]
        for c in found
    ]
    lines = [] if rows else ["No warnings."]
    columns = ["Check", "Warning", "Devices", "Count", "Nodes"]
    return table("Warnings and unknowns", lines, columns, rows, calm=True)


def outliers(view: View) -> Section:
    """Return the numbers that are far off those of their peers, several of a node in one row."""
    found: dict[tuple[str, str], list[Outlier]] = {}
    for one in view.found.outliers:
        found.setdefault((one.node, one.name), []).append(one)
    ordered = sorted(found.values(), key=lambda ones: -max(one.off for one in ones))
    rows = [_outlier(ones) for ones in ordered]
    lines = (
        [_RULE + (" With --fail-outliers each fails its node." if not _fails(view) else "")]
        if rows
        else ["No number is far off those of its peers."]
    )
    columns = ["Node", "Number", "Devices", "Value", "Median", "Off", "Sigmas", "Peers"]
    return table("Outliers against peers", lines, columns, rows, calm=not rows)


_RULE = (
    f"More than {SIGMAS:g} robust sigmas and more than {100 * OFF:g} % off the median of at least"
    f" {PEERS} peers with the same GPUs."
)


def _fails(view: View) -> bool:
    return view.limits.fail_outliers


def _outlier(ones: list[Outlier]) -> list[str]:
    """Return what one number of one node is like."""
    worst = max(ones, key=lambda one: one.off)
    mild = min(ones, key=lambda one: one.off)
    value = f"{worst.value:.4g}"
    if worst.value != mild.value:
        value += f" to {mild.value:.4g}"
    side = "above" if worst.value > worst.median else "below"
    sigmas = "all others alike" if worst.sigmas is None else f"{worst.sigmas:.1f}"
    return [
        worst.node,
        worst.title,
        fold_devices(one.device for one in ones if one.device) or "-",
        f"{value} {worst.unit}",
        f"{worst.median:.4g} {worst.unit}",
        f"{100 * worst.off:.1f} % {side}",
        sigmas,
        str(worst.peers),
    ]


def arithmetic(view: View) -> Section:
    """Return which GPUs compute other bits than their likes do."""
    rows = [_camps(one) for one in view.found.hashes]
    lines = [] if rows else ["No product has other bits on one GPU than on its likes."]
    columns = ["GPU and software", "Most have", "Others"]
    return table("Arithmetic hashes that disagree", lines, columns, rows, calm=True)


def _camps(one: Hashes) -> list[str]:
    """Return who has which bits; where no camp is the larger half nobody is called wrong."""
    vote = one.vote
    most = f"{vote.majority[:_HASH]} ({vote.count} of {vote.total} GPUs)"
    if not vote.majority:
        most = f"no majority among {vote.total} GPUs: which are wrong can't be told by this"
    others = "; ".join(f"{o.value[:_HASH]} ({o.count}): {whose(o)}" for o in vote.others[:6])
    return [f"{one.model}, {one.software}" if one.software else one.model, most, others]


def coverage(view: View) -> Section:
    """Return what could not be looked at, and where."""
    found = [cause for cause in view.found.causes if cause.severity == "UNKNOWN"]
    rows = [
        [c.check, text(c), fold_devices(c.devices) or "-", str(len(c.nodes)), who(c.nodes)]
        for c in found
    ]
    absent = [row.name for row in view.cluster.rows if row.digest is None]
    lines = [] if rows else ["All that was asked could be looked at."]
    if absent:
        lines = [f"Nothing is known of {who(absent)}."] + (lines if rows else [])
    columns = ["Check", "Why", "Devices", "Count", "Nodes"]
    return table("Coverage", lines, columns, rows, calm=not absent)


def options(view: View) -> Section:
    """Return the options that were in force, as the results say; a default of ours is never one."""
    counts: Counter[tuple[str, str, str]] = Counter()
    told = [row.node.options for row in view.cluster.rows if row.node is not None]
    alike = Counter(map(id, told))  # nodes that were told the same share one object
    for same in {id(each): each for each in told}.values():
        for name, option in same.items():
            counts[name, str(option.value)[:200], option.source] += alike[id(same)]
    rows = [[*key, str(count)] for key, count in sorted(counts.items())]
    lines = [] if rows else ["No result says which options were in force."]
    columns = ["Option", "Value", "From", "Nodes"]
    return table("Options in force", lines, columns, rows, calm=True)
