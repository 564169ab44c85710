"""Tier 1 against the floor: wall clock and CPU, turn about, on this machine.

    python benchmarks/tier1.py [--gpus N] [--repeats 5] [--only VARIANT]… [--out FILE.json]

CPU is what the whole machine spent (/proc/stat), so that no process of ours is left out: run it on
a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLONE = Path(__file__).parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure, print a table, and leave the numbers in a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", action="append", help="a variant (repeatable; default: all)")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(arguments.gpus, arguments.repeats, folder, arguments.only)
    print(table(figures))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1))
    return 0 if all(f["status"] == [0] * len(f["status"]) for f in figures.values()) else 1


def measure(
    gpus: int, repeats: int, folder: str, only: list[str] | None
) -> dict[str, dict[str, list[float]]]:
    """Return seconds of wall clock and user CPU, and exit statuses, by variant."""
    one_gpu = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    floor = [sys.executable, str(CLONE / "benchmarks/floor.py"), str(gpus)]
    suite = [sys.executable, "-m", "pytest", "-m", "tier1", f"--dump-path={folder}/dump"]
    pinned = ["taskset", "-c", "0"]
    variants = {
        "floor": (floor, {}),
        "suite": (suite, {}),
        "suite, no vendor's tool": (suite, {"PATH": "/nonexistent"}),
        "suite, one GPU": (suite, one_gpu),
        "floor, one core": ([*pinned, *floor], {}),
        "suite, one core": ([*pinned, *suite], {}),
    }
    variants = {name: v for name, v in variants.items() if not only or name in only}
    figures = {name: {"wall": [], "user": [], "status": []} for name in variants}
    for variant in list(variants.values())[:2]:  # warm the page cache; not counted
        run(*variant)
    for _ in range(repeats):
        for name, variant in variants.items():
            for key, value in zip(("wall", "user", "status"), run(*variant), strict=True):
                figures[name][key].append(value)
    return figures


def run(argv: list[str], environment: dict[str, str]) -> tuple[float, float, int]:
    """Return wall clock, user CPU of the machine meanwhile, and exit status of *argv*."""
    user, began = user_seconds(), time.monotonic()
    ended = subprocess.run(
        argv,
        cwd=CLONE,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wall = time.monotonic() - began
    if ended.returncode:
        print(ended.stdout[-3000:])
    return round(wall, 3), round(user_seconds() - user, 2), ended.returncode


def user_seconds() -> float:
    """Return the seconds that all processes of this machine have spent in user mode."""
    _, user, nice, *_ = Path("/proc/stat").read_text().splitlines()[0].split()
    return (int(user) + int(nice)) / _TICK


def table(figures: dict[str, dict[str, list[float]]]) -> str:
    """Return medians, and ratios to the floor (to its one-core run where that applies)."""
    rows = ["| variant | wall s | spread | to the floor | user CPU s | to the floor |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    for name, values in figures.items():
        base = figures.get("floor, one core" if "one core" in name else "floor")
        base = base or next(iter(figures.values()))
        wall, user = statistics.median(values["wall"]), statistics.median(values["user"])
        by_wall = wall / statistics.median(base["wall"])
        by_user = user / statistics.median(base["user"])
        spread = f"{min(values['wall']):.2f} to {max(values['wall']):.2f}"
        rows.append(
            f"| {name} | {wall:.2f} | {spread} | {by_wall:.2f} | {user:.2f} | {by_user:.2f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
