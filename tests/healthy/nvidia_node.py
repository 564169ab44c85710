"""A made-up healthy node with NVIDIA GPUs, from which all of its answers are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """What differs between a GPU on an NVSwitch board and a card in a slot."""

    architecture: str
    device: str
    mib: int
    watts: int
    generation: int
    links: int


MODELS = {
    "NVIDIA H200": Model("Hopper", "2335", 143771, 700, 5, 18),
    "NVIDIA L40S": Model("Ada Lovelace", "26B9", 46068, 350, 4, 0),
}
CUDA = {515: "11.7", 535: "12.2", 550: "12.4", 580: "13.0", 590: "13.1"}
SPEEDS = {1: "2.5", 4: "16.0", 5: "32.0"}


@dataclass(frozen=True)
class Node:
    """The parameters of a node, all of them as a caller may give them."""

    count: int = 8
    driver: str = "535.183.01"
    model: str = "NVIDIA H200"
    addresses: Sequence[str] = ()
    idle: bool = True

    @property
    def places(self) -> list[str]:
        """The GPUs' addresses as sysfs spells them."""
        made_up = [f"0000:{0x18 + i:02x}:00.0" for i in range(self.count)]
        return [*self.addresses] or made_up

    @property
    def part(self) -> Model:
        """The GPUs' model."""
        return MODELS[self.model]

    @property
    def branch(self) -> int:
        """The driver's branch, by which its dialect goes."""
        return int(self.driver.split(".")[0])

    @property
    def generation(self) -> int:
        """The PCIe generation at which the links run: cards let them slow down when idle."""
        return 1 if self.idle and not self.part.links else self.part.generation

    @staticmethod
    def uuid(index: int) -> str:
        """Return the UUID of one GPU."""
        return f"GPU-{index:08x}-0000-4000-8000-{index:012x}"

    def numa(self, index: int) -> int:
        """Return the socket that a GPU hangs on: half of them on each."""
        return 2 * index // max(1, len(self.places))
