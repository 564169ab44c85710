"""The node that stands behind what AMD's tools print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

TOTAL_MB = {"MI300X": 196592, "MI210": 65520}
BLOCKS = ("UMC", "SDMA", "GFX", "MMHUB", "ATHUB", "PCIE_BIF", "HDP", "XGMI_WAFL")


@dataclass(frozen=True)
class Node:
    """A node of equal GPUs."""

    count: int = 8
    version: str = "7.0"
    model: str = "MI300X"
    addresses: Sequence[str] = ()
    used_mb: int = 283

    @property
    def new(self) -> bool:
        """Whether its amd-smi is of ROCm 7."""
        return self.version >= "7"

    @property
    def xgmi(self) -> bool:
        """Whether its GPUs are linked with each other."""
        return self.model == "MI300X"

    @property
    def gts(self) -> int:
        """Its GPUs' PCIe speed in GT/s."""
        return 32 if self.xgmi else 16

    @cached_property
    def places(self) -> list[str]:
        """The addresses, made up where none were given."""
        made = (f"{i // 8:04x}:{5 + i % 8 * 16:02x}:00.0" for i in range(self.count))
        return list(self.addresses) or list(made)

    def serial(self, index: int) -> str:
        """Return the made-up serial number of a GPU."""
        return f"0x5A1E{index:012X}"
