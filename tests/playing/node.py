"""Which node stands around a case: its vendor, its GPUs, and how old its driver is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.vendors import pci
from tests.healthy import amd, nvidia

from . import seen
from .case import Case, Variant

GPUS, GPUS_BESIDE_A_LOST_ONE = 2, 8
_ROCM_SMI_ONLY = ("rocm-smi", "lsof")
_DRIVERS = ("535.183.01", "550.54.15", "580.159.04")
_FIRST_OF_ROCM_7 = 26
"""The major version of the amd-smi that came with ROCm 7."""


@dataclass(frozen=True)
class Node:
    """A healthy node; `addresses` are of its GPUs in the order in which its tools count them."""

    vendor: str
    model: str
    version: str
    addresses: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def given(self) -> dict[str, Any]:
        """The node as the functions that print its tools' answers are told of it."""
        given = {"count": len(self.addresses), "model": self.model, "addresses": self.addresses}
        return given | {"version" if self.vendor == "amd" else "driver": self.version}

    def lay(self, root: Path) -> None:
        """Write the node's sysfs and /proc below *root*."""
        (amd if self.vendor == "amd" else nvidia).tree(root, **self.given)


def around(case: Case, variant: Variant) -> Node:
    """Return the node whose GPUs agree with what *variant* shows of them."""
    if _vendor(case, variant) == "amd":
        shown = seen.amd(variant.stdout) if variant.answered else seen.Seen()
        places = _places(shown, variant, amd_addresses)
        tools = (
            ("rocm-smi", "lsof") if case.topic == "rocm-smi" else ("amd-smi", "rocm-smi", "lsof")
        )
        return Node("amd", "MI300X", _rocm(case.version), places, tools)
    shown = seen.nvidia(variant.stdout)
    places = _places(shown, variant, nvidia_addresses)
    model = "NVIDIA L40S" if seen.of_cards(variant.stdout) else "NVIDIA H200"
    return Node("nvidia", model, _driver(case.version), places, ("nvidia-smi",))


def nvidia_addresses(count: int) -> list[str]:
    """Return made-up addresses of *count* GPUs, ascending."""
    return [f"{n // 16:04x}:{0x0A + n % 16 * 0x0C:02x}:00.0" for n in range(count)]


def amd_addresses(count: int) -> list[str]:
    """Return made-up addresses of *count* GPUs, ascending."""
    return [f"{n // 8:04x}:{5 + n % 8 * 16:02x}:00.0" for n in range(count)]


def _vendor(case: Case, variant: Variant) -> str:
    if case.topic in {"amd-smi", "rocm-smi"}:
        return "amd"
    told = " ".join(e.content for e in variant.tree if e.path.endswith("/vendor"))
    return "amd" if "0x1002" in told or "amd-smi" in case.tool else "nvidia"


def _places(shown: seen.Seen, variant: Variant, made_up: Any) -> tuple[str, ...]:
    in_tree = seen.in_tree(variant.tree)
    if in_tree:
        return tuple(in_tree)
    count = shown.count or (GPUS_BESIDE_A_LOST_ONE if shown.any_lost else GPUS)
    known = [*shown.addresses.values(), *shown.lost]
    spare = [a for a in made_up(count + len(known)) if a not in known]
    if shown.lost:
        count = max(count, len(known))
        return tuple(sorted([*known, *spare[: count - len(known)]], key=pci.order))
    return tuple(shown.addresses.get(n) or spare.pop(0) for n in range(count))


def _rocm(version: str) -> str:
    """Return which ROCm's amd-smi prints so: what the case says first of its versions counts."""
    first = re.search(r"\d+", version)
    number = int(first[0]) if first else _FIRST_OF_ROCM_7
    return "7.0" if number in range(7, 20) or number >= _FIRST_OF_ROCM_7 else "6.4"


def _driver(version: str) -> str:
    """Return the newest driver that is not newer than what the case says first."""
    first = re.search(r"\d{3}", version)
    number = int(first[0]) if first else 0
    return next((d for d in reversed(_DRIVERS) if int(d[:3]) <= number), _DRIVERS[0])
