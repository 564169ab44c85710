"""Tier 2 against plain torch: the same numbers, turn about, and the wall clock of both tiers.

python benchmarks/tier2.py [--gpus N] [--repeats 5] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CLONE = Path(__file__).parent.parent
CHECKS = ("gemm_tflops", "hbm_gbs", "h2d_gbs", "d2h_gbs", "all_reduce", "all_reduce_large")
WITHOUT = ("--memory-pattern-gib=0", "--rccl-large-size-mb=0")


def main() -> int:
    """Measure, print two tables, and leave the numbers in a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    bare: dict[str, list[float]] = {}
    suite: dict[str, list[float]] = {}
    wall: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeats):
            add(bare, measure_bare(arguments.gpus))
            add(suite, measure_suite(folder, wall, "both tiers, all of it"))
            measure_suite(folder, wall, "both tiers, no whole memory, 64 MiB alone", *WITHOUT)
    print(compare(bare, suite))
    print(clocks(wall))
    if arguments.out:
        figures = {"bare": bare, "suite": suite, "wall": wall}
        arguments.out.write_text(json.dumps(figures, indent=1))
    return 0


def measure_bare(gpus: int) -> dict[str, list[float]]:
    """Return what plain torch measures, by name: a number a GPU."""
    argv = [sys.executable, str(CLONE / "benchmarks/bare_tier2.py"), str(gpus)]
    ended = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(ended.stdout.splitlines()[-1])["gpus"]
    return {name: [each[name] for each in told] for name in told[0]}


def measure_suite(
    folder: str, wall: dict[str, list[float]], what: str, *options: str
) -> dict[str, list[float]]:
    """Run both tiers; return what its checks measured, and add the wall clock to *wall*."""
    argv = [sys.executable, "-m", "pytest", "--tier2-perf", f"--dump-path={folder}", *options]
    began = time.monotonic()
    ended = subprocess.run(argv, cwd=CLONE, stdout=subprocess.PIPE, text=True)
    wall.setdefault(what, []).append(round(time.monotonic() - began, 3))
    if ended.returncode:
        print(ended.stdout[-3000:])
    (result,) = Path(folder, "smoke").glob("*.json")
    node: dict[str, Any] = json.loads(result.read_text())["node"]
    found: dict[str, list[float]] = {}
    for check in node["checks"]:
        name = check["id"].partition(".")[2]
        if check["tier"] == "tier2" and name in CHECKS and check.get("value") is not None:
            found.setdefault(name, []).append(check["value"])
    return found


def add(all_of_them: dict[str, list[float]], told: dict[str, list[float]]) -> None:
    """Add the median over the GPUs of each number."""
    for name, values in told.items():
        all_of_them.setdefault(name, []).append(statistics.median(values))


def compare(bare: dict[str, list[float]], suite: dict[str, list[float]]) -> str:
    """Return a table of medians, their ratio, and how far the suite's runs lie apart."""
    rows = ["| number | plain torch | suite | ratio | spread of the suite's runs |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for name in (name for name in CHECKS if name in suite and name in bare):
        ours, theirs = statistics.median(suite[name]), statistics.median(bare[name])
        spread = (max(suite[name]) - min(suite[name])) / ours
        rows.append(f"| {name} | {theirs:.4g} | {ours:.4g} | {ours / theirs:.3f} | {spread:.1%} |")
    return "\n".join(rows)


def clocks(wall: dict[str, list[float]]) -> str:
    """Return a table of the wall clocks."""
    rows = ["", "| run | wall s | spread |", "| --- | --- | --- |"]
    for what, took in wall.items():
        rows.append(
            f"| {what} | {statistics.median(took):.2f} | {min(took):.2f} to {max(took):.2f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
