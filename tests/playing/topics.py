"""Which checks of the suite a case is about, by its topic."""

from __future__ import annotations

_SMI = (
    "gpu.enumerated",
    "gpu.processes",
    "gpu.unplaced_processes",
    "gpu.memory_in_use",
    "gpu.ecc",
    "gpu.repairs",
    "gpu.recovery",
    "gpu.throttle",
    "gpu.pcie",
    "gpu.activity",
    "gpu.mode",
    "gpu.links",
    "tools.answer",
    "tools.present",
)
TOPICS = {
    "amd-smi": _SMI,
    "nvidia-smi": _SMI,
    "rocm-smi": (
        "gpu.processes",
        "gpu.unplaced_processes",
        "gpu.memory_in_use",
        "gpu.ecc",
        "gpu.activity",
        "gpu.links",
        "tools.answer",
    ),
    "pcie": ("gpu.pcie",),
}
"""The ids of the checks whose worst outcome is the finding of a case; docs/play.md prints it."""

SELECTION = ("-m", "tier1 and quick")
"""What of the suite is run for a case."""
