"""What is said of hosts, tools, and GPUs as they were found."""

from __future__ import annotations

from .base import Section
from .view import View, issues, number, rank, shown, table, who


def host_limits(view: View) -> Section:
    """Return what the checks found of the host's limits and settings."""
    about = "No host-limit issues."
    return issues("Host limits issues", about, view, lambda check: check.startswith("host."))


def visibility(view: View) -> Section:
    """Return where GPUs were not to be seen."""
    calm = "GPUs are visible as expected on every node, and their tools list the same ones."
    seen = {"gpu.visible", "gpu.enumerated"}
    return issues("GPU visibility issues", calm, view, lambda check: check in seen)


def links(view: View) -> Section:
    """Return where GPUs are not linked by XGMI or NVLink as they should be."""
    calm = "No issue with XGMI or NVLink."
    about = {"gpu.links", "performance.links"}
    return issues("XGMI link issues", calm, view, lambda check: check in about)


def latency(view: View) -> Section:
    """Return how long the vendors' tools took to answer at all."""
    limit = view.limits.tool_warn_sec
    rows = []
    for row, digest in view.rows:
        seconds = digest.values.get("tools.answer")
        flags = [c.message for c in digest.findings if c.id == "tools.answer"]
        if seconds is not None and seconds > limit and not flags:
            flags = [f"over {limit:g} s"]
        if flags:
            took = f"{seconds:.2f} s" if seconds is not None else "-"
            rows.append([rank(row), shown(row), took, flags[0]])
    lines = [] if rows else [f"No tool took longer than {limit:g} s or did not answer."]
    heading = "Tooling self-latency (`rocm-smi --version`)"
    return table(heading, lines, ["Node", "Hostname", "Latency", "Flag"], rows, calm=True)


def tooling(view: View) -> Section:
    """Return which expected tools are not there."""
    found: dict[tuple[str, ...], list[str]] = {}
    tools = sorted({name for _, digest in view.rows for name in digest.tools})[:12]
    for row, digest in view.rows:
        if not all(digest.tools.values()):
            words = {True: "OK", False: "MISSING"}
            has = tuple(words[digest.tools[t]] if t in digest.tools else "-" for t in tools)
            found.setdefault(has, []).append(row.name)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    rows = [[who(nodes), *has] for has, nodes in ordered]
    lines = [] if rows else ["Every expected tool is there on every node."]
    return table("Tooling availability", lines, ["Nodes", *tools], rows, calm=True)


def busy(view: View) -> Section:
    """Return which processes of others held GPUs."""
    calm = "No process of others on any GPU."
    about = {"gpu.processes", "gpu.unplaced_processes"}
    heading = "Busy GPUs / leaked processes"
    return issues(heading, calm, view, lambda check: check in about)


def memory(view: View) -> Section:
    """Return whose memory was in use before this test touched it; nothing is rounded first."""
    limit = view.limits.hbm_busy_threshold_gib
    rows = [
        [rank(row), shown(row), gpu.name, f"{gpu.memory_used / 2**30:.2f}"]
        for row, digest in view.rows
        for gpu in digest.gpus
        if gpu.memory_used is not None and gpu.memory_used >= limit * 2**30
    ]
    lines = [] if rows else [f"No GPU had {limit:g} GiB or more in use (--hbm-busy-threshold-gib)."]
    columns = ["Node", "Hostname", "GPU", "GiB"]
    return table("GPU pre-touch HBM usage outliers", lines, columns, rows, calm=True)


def activity(view: View) -> Section:
    """Return which GPUs were at work before this test began."""
    limit = view.limits.gpu_activity_warn_pct
    rows = [
        [rank(row), shown(row), gpu.name, number(gpu.activity)]
        for row, digest in view.rows
        for gpu in digest.gpus
        if gpu.activity is not None and gpu.activity >= limit
    ]
    lines = [] if rows else [f"No GPU was {limit:g} % busy or more (--gpu-activity-warn-pct)."]
    columns = ["Node", "Hostname", "GPU", "%"]
    return table("GPU compute-activity outliers", lines, columns, rows, calm=True)
