"""What a case's own output shows of its node: how many GPUs, where, and which command told it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fixtures.vendors import pci

from .case import Entry

_MARKS = {
    "process": ("process_list", "process_info"),
    "metric": ("ecc", "usage", "mem_usage", "throttle", "temperature"),
    "topology": ("links", "link_type", "link_accessibility"),
    "static": ("asic", "bus", "vbios", "board", "ras"),
    "list": ("kfd_id", "uuid"),
    "version": ("amdsmi_library_version", "tool"),
}
"""What only the answer of one subcommand of amd-smi holds; the first that fits counts."""
_ADDRESS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]"
_LOST = re.compile(r"device handle for GPU\s*([0-9A-Fa-f:.]+\.[0-9A-Fa-f])", re.I)
_NUMBERED = re.compile(r"\bGPU(?:\[|: ?| )?(\d{1,3})\b|\"card(\d{1,3})\"", re.I)
_DEVICE = re.compile(rf"sys/bus/pci/devices/({_ADDRESS})/(\w+)$")
_DISPLAYS = ("0x0300", "0x0302", "0x0380", "0x1200")
_CARD = re.compile(r"PCIE|\bNVL\b|RTX|GeForce|Quadro|\b(?:A|L|T)\d{1,2}[GS]?\b", re.I)
_MOST_PEERS = 0.6
MOST = 64


@dataclass
class Seen:
    """GPUs by index as far as they were shown; `count` is 0 where none was."""

    count: int = 0
    addresses: dict[int, str] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    any_lost: bool = False
    """Whether a GPU was said to be lost, be its address well formed or not."""
    subject: str = ""
    """The subcommand of amd-smi that prints such an answer; empty for an error or garbage."""


def documents(text: str) -> list[Any]:
    """Return the JSON documents in *text*, each beginning on a line of its own."""
    found: list[Any] = []
    end = 0
    for match in re.finditer(r"^\s*[\[{]", text, re.M):
        if match.end() <= end:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            continue
        found.append(value)
    return found


def amd(text: str) -> Seen:
    """Return what an answer of amd-smi or rocm-smi shows."""
    seen = Seen()
    keys: set[str] = set()
    for value in documents(text):
        keys |= _walk(value, seen)
    if not keys:
        keys = {w.lower() for w in re.findall(r"^\s*([A-Z][A-Z_]+)\b.*:", text, re.M)}
        keys |= {"tool"} if "AMDSMI Tool:" in text else set()
        _lines(text, seen)
        table = re.search(r"^[A-Z ]+ TABLE:[ \t]*\r?\n(.*)$", text, re.M)
        keys |= {"link_type"} if table else set()
        for index, told in enumerate(re.findall(_ADDRESS, table[1]) if table else ()):
            _note(seen, index, told)
    seen.subject = next((s for s, marks in _MARKS.items() if keys & {*marks}), "")
    return seen


def nvidia(text: str) -> Seen:
    """Return what an answer of nvidia-smi shows: documents, matrices, lists, lost GPUs."""
    listed = re.findall(rf"<gpu id=[\"']({_ADDRESS})[\"']", text)
    listed = listed or re.findall(rf"^GPU ({_ADDRESS})$", text, re.M)
    seen = Seen(len(listed), {n: _address(a) for n, a in enumerate(listed)})
    attached = re.search(r"<attached_gpus>\s*(\d{1,3})", text)
    seen.count = max(seen.count, int(attached[1]) if attached else 0)
    told = _LOST.findall(text)
    seen.any_lost = bool(told)
    seen.lost = [a for a in map(_address, told) if a]
    if not seen.count and not seen.any_lost:
        _lines(text, seen)
    seen.count = min(seen.count, MOST)
    return seen


def of_cards(text: str) -> bool:
    """Return whether an answer of nvidia-smi is about GPUs that not all reach one another.

    These are cards, bridged in pairs or not at all, and the boards on which links form a cube: on
    others at least one GPU reaches most of them, even when some links are broken.
    """
    rows = re.findall(r"^(?:\x1b\[[0-9;]*m)?GPU\d+\s.*\bX\b.*$", text, re.M)
    if len(rows) > 1:
        most = max(len(re.findall(r"\bNV\d+\b", row)) for row in rows)
        return most < _MOST_PEERS * (len(rows) - 1)
    models = re.findall(r"^GPU \d+: (.+?) \(UUID", text, re.M)
    return bool(models) and all(map(_CARD.search, models))


def in_tree(tree: tuple[Entry, ...]) -> list[str]:
    """Return the addresses of the GPUs that a case's own tree describes, ascending."""
    told: dict[str, dict[str, str]] = {}
    for entry in tree:
        match = _DEVICE.match(entry.path)
        if match:
            told.setdefault(_address(match[1]), {})[match[2]] = entry.content
    return sorted(a for a, f in told.items() if f.get("class", "0x0300").startswith(_DISPLAYS))


def _walk(value: Any, seen: Seen) -> set[str]:
    """Note every GPU that a JSON document names, and return all its keys."""
    keys: set[str] = set()
    for record in _objects(value):
        keys |= {str(k).lower() for k in record}
        index = record.get("gpu")
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < MOST:
            bus = record.get("bus")
            told = record.get("bdf") or (bus.get("bdf") if isinstance(bus, dict) else "")
            _note(seen, index, str(told or ""))
        for key in record:
            match = re.fullmatch(r"(?:gpu|card)_?(\d{1,2})", str(key))
            if match:
                _note(seen, int(match[1]), "")
    return keys


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _lines(text: str, seen: Seen) -> None:
    """Note the GPUs of a text: `GPU: 0`, `GPU[0]`, `GPU0`, and the address that stands below."""
    index = None
    for line in text.splitlines():
        for match in _NUMBERED.finditer(re.sub(r"\x1b\[[0-9;]*m", "", line)):
            index = int(match[1] or match[2])
            _note(seen, index, "")
        told = re.search(rf"\b(?:BDF|PCI Bus)\S*:\s*({_ADDRESS})", line, re.I)
        if told and index is not None:
            _note(seen, index, told[1])


def _note(seen: Seen, index: int, told: str) -> None:
    if index < MOST:
        seen.count = max(seen.count, index + 1)
        address = _address(told)
        if address:
            seen.addresses.setdefault(index, address)


def _address(text: str) -> str:
    """Return *text* as sysfs spells an address, or nothing when it is not well formed."""
    return pci.address(text) if re.fullmatch(_ADDRESS, text) else ""
