"""Drift: what most of like nodes have, and which have something else."""

from __future__ import annotations

from ..alike import Other, Vote
from ..drift import COUNT, Drift
from .base import Section
from .view import View, fold_devices, table, who

_MOST_NODES = 12
_IN_STACK = frozenset({COUNT, "VBIOS"})


def stack(view: View) -> Section:
    """Return what differs in software, and in what the hosts are set to."""
    found = [one for one in view.found.drift if one.area in {"software", "host"}]
    found += [one for one in view.found.drift if one.key in _IN_STACK]
    kinds = view.found.groups
    rows = [[_key(one, len(kinds)), majority(one.vote), outliers(one.vote)] for one in found]
    columns = ["Key", "Majority (count/total)", "Outlier nodes"]
    lines = [] if rows else ["All nodes match."]
    return table("Stack drift across cluster", lines + _kinds(view), columns, rows, calm=True)


def _kinds(view: View) -> list[str]:
    """Return which kinds of nodes there are, where there is more than one."""
    kinds = view.found.groups
    if len(kinds) < 2:
        return []
    several = {kind: like for kind, like in kinds.items() if len(like) > 1}
    alone = {kind: like[0][0].name for kind, like in kinds.items() if len(like) == 1}
    lines = []
    if several:
        told = "; ".join(
            f"{kind}: {who(row.name for row, _ in like)}" for kind, like in [*several.items()][:8]
        )
        lines.append(f"Nodes are compared with those of the same GPUs only. {told}.")
    if alone:
        told = "; ".join(f"{name} ({kind})" for kind, name in [*alone.items()][:_MOST_NODES])
        lines.append(f"Alone of its kind, and compared with nobody: {told}.")
    return lines


def _key(one: Drift, kinds: int) -> str:
    """Return what drifts, and among which nodes where there are several kinds."""
    return f"{one.key} ({one.group})" if kinds > 1 else one.key


def nics(view: View) -> Section:
    """Return what differs in NICs: firmware, model, board, rate, MTU, or that one is not there."""
    found = [one for one in view.found.drift if one.area == "nic"]
    kinds = len(view.found.groups)
    rows = []
    for one in found:
        key = _key(one, kinds).replace("firmware", "", 1).strip()
        nic = f"{fold_devices(one.names)} {key}".strip()
        rows.append([nic, majority(one.vote), outliers(one.vote)])
    there = any(digest.ports for _, digest in view.rows)
    lines = [] if rows else ["All NICs match." if there else "No NICs reported."]
    columns = ["NIC", "Majority FW", "Outliers"]
    return table("NIC firmware drift across cluster", lines, columns, rows, calm=True)


def parts(view: View) -> Section:
    """Return which GPUs have other links or memory than their likes."""
    found = [one for one in view.found.drift if one.area == "gpu" and one.key not in _IN_STACK]
    kinds = len(view.found.groups)
    rows = [[_key(one, kinds), majority(one.vote), outliers(one.vote)] for one in found]
    lines = [] if rows else ["All GPUs equal the majority."]
    columns = ["Metric", "Majority", "Outliers"]
    heading = "GPU low-level outliers (PCIe link / HBM)"
    return table(heading, lines, columns, rows, calm=True)


def majority(vote: Vote) -> str:
    """Return what most have, or that there is no such thing."""
    if not vote.majority:
        return f"none: split among {vote.total}"
    return f"{vote.majority} ({vote.count}/{vote.total})"


def outliers(vote: Vote) -> str:
    """Return who has something else, or in a split who has what."""
    return "; ".join(f"{other.value} ({other.count}): {whose(other)}" for other in vote.others[:6])


def whose(other: Other) -> str:
    """Return the nodes of one camp, with the devices where it is about some of them."""
    if not other.devices:
        return who(other.nodes)
    camps: dict[str, list[str]] = {}
    for node, devices in other.devices.items():
        camps.setdefault(fold_devices(devices), []).append(node)
    told = [f"{who(nodes)} {devices}" for devices, nodes in camps.items()]
    more = f" and {len(told) - _MOST_NODES} more" if len(told) > _MOST_NODES else ""
    return ", ".join(told[:_MOST_NODES]) + more
