"""What comparing nodes has shown, as warnings: no check of any one node can say it."""

from __future__ import annotations

from collections.abc import Iterable

from ..drift import Hashes
from ..model import FAILING, Cluster
from ..names import natural
from ..outliers import Outlier
from .base import Cause

_WORST = 2
_HASH = 12
_PREFIX = "outliers."
_CHECK_OF = {"rate": "rdma.rate"}


def compared(cluster: Cluster, outliers: Iterable[Outlier], hashes: list[Hashes]) -> list[Cause]:
    """Return outliers and disagreeing hashes as causes of warnings, one for each number."""
    found: dict[str, list[Outlier]] = {}
    for one in unfailed(cluster, outliers):
        found.setdefault(one.name, []).append(one)
    return [*map(_far, found.values()), *map(_bits, hashes)]


def is_compared(cause: Cause) -> bool:
    """Tell whether a cause is one of these."""
    return cause.check.startswith(_PREFIX)


def unfailed(cluster: Cluster, outliers: Iterable[Outlier]) -> list[Outlier]:
    """Return the outliers of nodes that do not fail by the same number already."""
    failed = {
        (row.name, check.id)
        for row in cluster.rows
        if row.digest is not None
        for check in row.digest.findings
        if check.outcome in FAILING
    }
    return [one for one in outliers if failed.isdisjoint((one.node, x) for x in _checks(one.name))]


def _checks(number: str) -> tuple[str, str]:
    """Return the ids of the checks that judge a number by a limit."""
    return _CHECK_OF.get(number, number), f"performance.{number}"


def worst(outliers: Iterable[Outlier]) -> str:
    """Return the worst two of some outliers as a phrase, each node once."""
    apart: dict[tuple[str, str], Outlier] = {}
    for one in sorted(outliers, key=lambda one: -one.off):
        apart.setdefault((one.node, one.name), one)
    return ", ".join(map(_phrase, [*apart.values()][:_WORST]))


def _phrase(one: Outlier) -> str:
    """Return who is off, by how much."""
    where = f"{one.node} {one.device}" if one.device else one.node
    side = "above" if one.value > one.median else "below"
    return f"{where} {one.title} {100 * one.off:.1f} % {side}"


def _far(ones: list[Outlier]) -> Cause:
    """Return all that are far off by one number."""
    first = ones[0]
    return Cause(
        message=f"{first.title} is far off the median of like nodes, the worst: {worst(ones)}",
        check=f"{_PREFIX}{first.name}",
        severity="WARN",
        nodes=list(dict.fromkeys(one.node for one in ones)),
        devices=sorted({one.device for one in ones if one.device}, key=natural),
        count=len(ones),
    )


def _bits(one: Hashes) -> Cause:
    """Return who has other bits than most; where there is no majority all are named."""
    others = one.vote.others
    nodes = {node for other in others for node in other.nodes}
    devices = {device for other in others for those in other.devices.values() for device in those}
    most = one.vote.majority[:_HASH]
    like = f"the {one.vote.count} that have {most}" if most else "others, and there is no majority"
    return Cause(
        message=f"a product on {one.model} has other bits than on {like}",
        check=f"{_PREFIX}hash",
        severity="WARN",
        nodes=sorted(nodes, key=natural),
        devices=sorted(devices, key=natural),
        count=sum(other.count for other in others),
    )
