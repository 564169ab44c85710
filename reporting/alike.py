"""Which nodes are alike, and what most of them have: what is compared is compared among these."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import msgspec

from .digest import Digest
from .model import Cluster, Kind, Row
from .names import natural

ABSENT = "absent"
_TOLERANCE = 1.02
"""Amounts this close are alike: 191.69 GiB and 191.98 GiB are one size of memory."""
_NOT_COMPARED = frozenset({Kind.REHEARSAL, Kind.DUPLICATE})
"""Where it can't be told whose figures they are, or they are nobody's."""


class Other(msgspec.Struct, kw_only=True):
    """Those that have another value than most; `devices` by node where it is one of devices."""

    value: str
    nodes: list[str]
    devices: dict[str, list[str]] = {}
    count: int = 0


class Vote(msgspec.Struct, kw_only=True):
    """How a value is spread: a majority is more than half, a split has none."""

    total: int
    majority: str = ""
    """Empty for a split, of which every value is among the others."""
    count: int = 0
    others: list[Other] = []


def told(cluster: Cluster) -> list[tuple[Row, Digest]]:
    """Return the nodes that can be compared, each with what it told."""
    rows = (row for row in cluster.rows if row.kind not in _NOT_COMPARED)
    return [(row, row.digest) for row in rows if row.digest is not None]


Groups = dict[str, list[tuple[Row, Digest]]]


def groups(cluster: Cluster) -> Groups:
    """Return the nodes by model and number of GPUs, the largest group first."""
    found: Groups = {}
    for row, digest in told(cluster):
        found.setdefault(f"{len(digest.gpus)} x {digest.model}", []).append((row, digest))
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), natural(item[0]))))


def vote(values: Iterable[tuple[Sequence[str], str, str]]) -> Vote | None:
    """Return how *values* (nodes, device, value) are spread; None where all are the same."""
    camps: dict[str, list[tuple[Sequence[str], str]]] = {}
    for nodes, device, value in values:
        camps.setdefault(value or ABSENT, []).append((nodes, device))
    if len(camps) < 2:
        return None
    sizes = {value: sum(len(nodes) for nodes, _ in camp) for value, camp in camps.items()}
    ordered = sorted(camps, key=lambda value: (-sizes[value], natural(value)))
    total, first = sum(sizes.values()), sizes[ordered[0]]
    split = 2 * first <= total
    told = ordered if split else ordered[1:]
    others = [_other(value, camps[value], sizes[value]) for value in told]
    if split:
        return Vote(total=total, others=others)
    return Vote(total=total, majority=ordered[0], count=first, others=others)


def _other(value: str, camp: list[tuple[Sequence[str], str]], count: int) -> Other:
    """Return one camp of a vote."""
    nodes: dict[str, list[str]] = {}
    for those, device in camp:
        for node in those:
            nodes.setdefault(node, []).append(device)
    ordered = sorted(nodes, key=natural)
    of_devices = any(device for _, device in camp)
    devices = {node: nodes[node] for node in ordered} if of_devices else {}
    return Other(value=value, nodes=ordered, devices=devices, count=count)


def classes(
    like: Iterable[tuple[Row, Digest]], signature: Callable[[Digest], Hashable]
) -> list[tuple[list[str], Digest]]:
    """Return those of *like* that are the same by *signature* as one, with all their names.

    Ten thousand nodes are a handful of classes: what is compared is compared among these.
    """
    found: dict[Hashable, tuple[list[str], Digest]] = {}
    for row, digest in like:
        found.setdefault(signature(digest), ([], digest))[0].append(row.name)
    return list(found.values())


def rounded(amounts: Iterable[tuple[float, int]]) -> Mapping[float, float]:
    """Return what each amount (how often there) stands for: of those close to it the commonest."""
    counts: dict[float, int] = {}
    for amount, times in amounts:
        counts[amount] = counts.get(amount, 0) + times
    stands: dict[float, float] = {}
    near: list[float] = []
    for amount in [*sorted(counts), math.inf]:
        if near and amount > near[0] * _TOLERANCE:
            common = min(near, key=lambda value: (-counts[value], value))
            stands.update(dict.fromkeys(near, common))
            near = []
        near.append(amount)
    return stands
