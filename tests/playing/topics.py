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
    "rdma-sysfs": (
        "rdma.selection",
        "rdma.port_state",
        "rdma.gid",
        "rdma.rate",
        "rdma.lag",
        "rdma.counters",
    ),
    "pcie": ("gpu.pcie",),
    "dmesg": ("kernel.gpu", "kernel.pcie", "kernel.machine", "kernel.network"),
    "host-limits": ("host.memlock", "host.shm", "host.nofile"),
}
"""The ids of the checks whose worst outcome is the finding of a case; docs/play.md prints it."""

LIMITS = ("--ulimit-l-min-gb=32", "--shm-min-gb=8", "--nofile-min=65536")
"""What a rehearsal sets aside and a case of the topic `host-limits` is about."""
SELECTION = ("-m", "tier1 and quick")
"""What of the suite is run for a case."""
