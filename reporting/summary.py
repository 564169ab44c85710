"""`summary.json`: the merge for machines, written node by node."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import msgspec

from .limits import Limits
from .model import Cluster, Row
from .outliers import Outlier
from .sections import Cause, Found, is_compared

SCHEMA = 1
_MOST_REASONS = 200
_LONGEST = 2000
_MOST_DEVICES = 1000


class _Node(msgspec.Struct, kw_only=True):
    """One node of the summary."""

    name: str
    named: bool
    """False for one that is known by count alone."""
    expected: bool
    status: str
    kind: str
    """Why a node that did not report has none: MISSING, STARTED, BROKEN, …"""
    hostname: str | None
    rank: int | None
    seconds: float | None
    group: str | None
    """The number and model of its GPUs: what it is compared with."""
    counts: dict[str, int]
    """How many checks ended in each outcome."""
    warnings: int
    unknown: int
    reasons: list[str]
    more_reasons: int


def chunks(cluster: Cluster, limits: Limits, found: Found) -> Iterator[bytes]:
    """Yield the summary piece by piece; together they are one JSON document."""
    yield _encoded(_head(cluster, limits))[:-1]
    for name, items in (
        ("causes", map(_cause, found.causes)),
        ("drift", found.drift),
        ("outliers", map(_outlier, found.outliers)),
        ("hashes", found.hashes),
        ("nodes", _nodes(cluster, found)),
    ):
        yield b',\n"' + name.encode() + b'":['
        for place, item in enumerate(items):
            yield (b",\n" if place else b"\n") + _encoded(item)
        yield b"]"
    yield b"}\n"


_encoder = msgspec.json.Encoder(order="deterministic")


def _encoded(item: object) -> bytes:
    """Return *item* as JSON; what is no text, as a name of a file may be, is replaced."""
    try:
        return _encoder.encode(item)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(item), ensure_ascii=False, sort_keys=True)
        return text.encode("utf-8", "replace")


def _head(cluster: Cluster, limits: Limits) -> dict[str, object]:
    """Return what is said of the run as a whole."""
    kinds: dict[str, int] = {}
    for row in cluster.rows:
        kinds[row.kind.value] = kinds.get(row.kind.value, 0) + 1
    return {
        "schema": SCHEMA,
        "run_id": cluster.run_id,
        "verdict": "FAIL" if cluster.red else "PASS",
        "rehearsal": cluster.rehearsal,
        "tiers": cluster.tiers,
        "expected": cluster.expected,
        "reported": cluster.reported,
        "passed": len(cluster.passing),
        "failed": len(cluster.failing),
        "kinds": kinds,
        "notes": cluster.notes,
        "limits": limits,
    }


def _cause(cause: Cause) -> dict[str, object]:
    """Return a cause with as much of its message and devices as anybody needs."""
    told: dict[str, object] = msgspec.to_builtins(cause)
    told["message"] = cause.message[:_LONGEST]
    told["devices"] = cause.devices[:_MOST_DEVICES]
    return told


def _outlier(outlier: Outlier) -> dict[str, object]:
    told: dict[str, object] = msgspec.to_builtins(outlier)
    told["off_percent"] = round(100 * outlier.off, 2)
    return told


def _nodes(cluster: Cluster, found: Found) -> Iterator[_Node]:
    """Yield the nodes in the report's order."""
    kinds = {row.name: kind for kind, like in found.groups.items() for row, _ in like}
    told = (cause for cause in found.causes if is_compared(cause))
    compared = Counter(node for cause in told for node in cause.nodes)
    for row in cluster.rows:
        yield _node(row, kinds.get(row.name), compared.get(row.name, 0))


def _node(row: Row, group: str | None, compared: int) -> _Node:
    """Return one node; *compared* are the warnings that only comparing it has shown."""
    counts = row.digest.counts if row.digest is not None else {}
    return _Node(
        name=row.name,
        named=row.named,
        expected=row.expected,
        status=row.status,
        kind=row.kind.value,
        hostname=row.node.hostname if row.node is not None else None,
        rank=row.node.rank if row.node is not None else None,
        seconds=row.node.seconds if row.node is not None else None,
        group=group,
        counts=counts,
        warnings=counts.get("WARN", 0) + compared,
        unknown=counts.get("UNKNOWN", 0),
        reasons=[reason[:_LONGEST] for reason in row.reasons[:_MOST_REASONS]],
        more_reasons=max(0, len(row.reasons) - _MOST_REASONS),
    )
