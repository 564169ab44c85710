"""What many nodes have in common comes first: one cause, one remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model import FAILING, Check, Cluster, Kind, Row, named
from ..names import natural
from .base import Cause

_LABEL = re.compile(r"(?:(gpu\d{1,6})(?: \([^)]{0,200}\))?|([\w.-]{1,64}:\d{1,5})): ", re.ASCII)
"""What stands in front of a message about a device."""
_FIGURE = re.compile(r"[0-9a-f]{0,11}[0-9][0-9a-fx.:-]*", re.IGNORECASE)
"""Numbers, addresses and identities: what differs where the cause is one."""
_LONGEST = 1000
_MOST_DEVICES = 1000
_FAILING_FIRST = {"FAIL": 0, "HUNG": 0, "LOST": 0, "WARN": 1, "UNKNOWN": 2}


def causes(cluster: Cluster, severities: frozenset[str] = FAILING | {"WARN"}) -> list[Cause]:
    """Return what was found, each kind once: failures first, then the most shared."""
    found: dict[tuple[str, str, str], Cause] = {}
    for row in cluster.rows:
        for severity, check, device, text in _said(row, severities):
            _add(found, row.name, severity, check, device, text)
    for cause in found.values():
        cause.devices.sort(key=natural)
    return sorted(found.values(), key=order)


def order(cause: Cause) -> tuple[object, ...]:
    """Return what causes are sorted by."""
    rank = _FAILING_FIRST.get(cause.severity, 1)
    return (rank, -len(cause.nodes), -cause.count, cause.check, cause.severity, cause.message)


def _add(
    found: dict[tuple[str, str, str], Cause],
    node: str,
    severity: str,
    check: str,
    device: str,
    text: str,
) -> None:
    """Count one message in its cause."""
    key = (severity, check, _FIGURE.sub("#", text))
    cause = found.get(key)
    if cause is None:
        cause = found[key] = Cause(message=text, check=check, severity=severity, nodes=[])
    cause.varies = cause.varies or text != cause.message
    cause.count += 1
    if not cause.nodes or cause.nodes[-1] != node:
        cause.nodes.append(node)
    if device and len(cause.devices) < _MOST_DEVICES and device not in cause.devices:
        cause.devices.append(device)


def _said(row: Row, severities: frozenset[str]) -> Iterator[tuple[str, str, str, str]]:
    """Return what was found on a node, without what another failure of it explains."""
    findings = row.digest.findings if row.digest is not None else []
    failed = {(c.id, c.device) for c in findings if c.outcome == "FAIL"}
    for check in findings:
        if check.outcome in severities and not _explained(check, failed):
            device, text = _split(check.message)
            yield check.outcome, check.id, device or check.device, text
    if row.kind is not Kind.PASS and "FAIL" in severities:
        known = {text for check in findings for text in (check.message, named(check))}
        for reason in row.reasons:
            if reason not in known:
                yield "FAIL", row.kind.value, *_split(reason)


def _explained(check: Check, failed: set[tuple[str, str]]) -> bool:
    """Tell whether another failure of the node is why this one failed."""
    if check.outcome not in FAILING or not check.cause:
        return False
    return not failed.isdisjoint({(check.cause, check.device), (check.cause, "")})


def _split(message: str) -> tuple[str, str]:
    """Return the device in front of a message, and the rest, no longer than can be shown."""
    found = _LABEL.match(message)
    if found is None:
        return "", message[:_LONGEST]
    return found[1] or found[2], message[found.end() :][:_LONGEST]
