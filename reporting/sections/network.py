"""What is said of RDMA ports beside what drifts."""

from __future__ import annotations

from ..alike import vote
from .base import Section
from .drifting import majority, outliers
from .view import View, fold_devices, issues, rank, shown, table, who


def roll_call(view: View) -> Section:
    """Return what the checks found on ports."""
    heading = "NIC / RDMA roll-call issues"
    return issues(heading, "No NIC issues.", view, lambda check: check.startswith("rdma."))


def port_count(view: View) -> Section:
    """Return how many ports train; a node that did not report has no number, not 0."""
    lines: list[str] = []
    rows: list[list[str]] = []
    kinds = view.found.groups
    for kind, like in kinds.items():
        counts = {row.name: str(sum(not p.aside for p in d.ports)) for row, d in like}
        spread = vote(((node,), "", count) for node, count in counts.items())
        group = f" ({kind})" if len(kinds) > 1 else ""
        if spread is None:
            count = next(iter(counts.values()))
            lines.append(f"{count} ports on each of {len(counts)} nodes{group}.")
        elif not spread.majority:
            lines.append(f"No majority{group}: {outliers(spread)}.")
        else:
            lines.append(f"Most nodes{group} have {majority(spread)} ports.")
            rows += [
                [rank(row), shown(row), counts[row.name]]
                for row, _ in like
                if counts[row.name] != spread.majority
            ]
    columns = ["Node", "Hostname", "Ports"]
    return table("NIC port-count summary", lines, columns, rows, calm=not rows)


def excluded(view: View) -> Section:
    """Return which ports do not train and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for row, digest in view.rows:
        reasons: dict[str, list[str]] = {}
        for port in digest.ports:
            if port.aside:
                reasons.setdefault(port.aside, []).append(port.name)
        for reason, names in reasons.items():
            found.setdefault((fold_devices(names), reason), []).append(row.name)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = [[ports, reason, who(nodes)] for (ports, reason), nodes in ordered]
    lines = [] if rows else ["No port was excluded."]
    columns = ["Ports", "Reason", "Nodes"]
    heading = "NIC excluded ports (informational)"
    return table(heading, lines, columns, rows, calm=True)
