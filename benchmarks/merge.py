#!/usr/bin/env python3
"""How long a merge takes, and how much memory: `merge.py DIR [DIR]` (of N and of 2N nodes).

The directories are made by make_cluster.py. Each figure is the best of some runs: wall time, CPU
time, and the peak of the memory of the merge and its processes together (shared pages count once,
as PSS, where the kernel tells it). `--wait-timeout-sec=0`, so that nothing is waited for.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
MARKDOWN = """
import sys, time
from pathlib import Path
from reporting.expected import Expected
from reporting.judge import judge
from reporting.load import Folder
from reporting.render import markdown
from reporting.runs import choose, look
entries = Folder(Path(sys.argv[1])).scan()
cluster = judge(look(entries, choose(entries, None, time.time())), Expected())
sys.stdout.write(markdown(cluster))
"""
KINDS = {
    "load and Markdown": ["-c", MARKDOWN],
    "all outputs": ["-m", "reporting", "aggregate", "--wait-timeout-sec=0", "--no-clean-dump-path"],
}


def _memory(root: int) -> tuple[int, int]:
    """Return the resident and the proportional size of a process and its children, in bytes."""
    resident = shared = 0
    for pid in [root, *_children(root)]:
        try:
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        for row in rows:
            name, _, rest = row.partition(":")
            if name == "Rss":
                resident += int(rest.split()[0]) * 1024
            elif name == "Pss":
                shared += int(rest.split()[0]) * 1024
    return resident, shared


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    direct = [int(word) for word in text.split()]
    return [*direct, *(grand for child in direct for grand in _children(child))]


def _watch(process: subprocess.Popen[bytes], peak: list[int]) -> None:
    while process.poll() is None:
        resident, shared = _memory(process.pid)
        peak[0], peak[1] = max(peak[0], resident), max(peak[1], shared)
        time.sleep(0.25)


def measure(kind: str, dump: Path) -> tuple[float, float, int, int]:
    """Return wall seconds, CPU seconds, and the peaks of RSS and PSS of one merge."""
    argv = [sys.executable, *KINDS[kind]]
    argv.append(str(dump) if kind != "all outputs" else f"--dump-path={dump}")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(argv, cwd=CLONE, stdout=subprocess.DEVNULL)
    peak = [0, 0]
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    status = process.wait()
    wall = time.monotonic() - began
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status not in {0, 1}:
        raise SystemExit(f"{argv} ended with {status}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, peak[0], peak[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kind", choices=sorted(KINDS), help="measure this alone")
    parser.add_argument("dirs", type=Path, nargs="+")
    asked = parser.parse_args()
    print(
        f"{'what':18} {'nodes':>6} {'wall s':>7} {'CPU s':>7} {'RSS MiB':>8} {'PSS MiB':>8}  load"
    )
    for kind in [asked.kind] if asked.kind else KINDS:
        walls = []
        for folder in asked.dirs:
            with tempfile.TemporaryDirectory(dir=folder.parent) as outputs:
                # outputs apart from the cluster, which is read where it lies
                dump = Path(outputs)
                (dump / "smoke").symlink_to(folder.resolve() / "smoke")
                found = [measure(kind, dump) for _ in range(asked.runs)]
            best = [min(column) for column in zip(*found, strict=True)]
            nodes = sum(1 for _ in (folder / "smoke").iterdir())
            rss, pss = (size / 2**20 for size in best[2:])
            print(
                f"{kind:18} {nodes:6} {best[0]:7.2f} {best[1]:7.2f} {rss:8.0f} {pss:8.0f}"
                f"  {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            walls.append((nodes, best[0]))
        for (few, short), (many, long) in pairwise(walls):
            print(f"  {many / few:.1f} x the nodes: {long / short:.2f} x the time")


if __name__ == "__main__":
    main()
