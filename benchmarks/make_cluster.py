#!/usr/bin/env python3
"""Writes the results of a cluster as it might be: `make_cluster.py --nodes N DIR`.

The real suite is run on a recorded vendor's node (tests/vendor_node.py) and in a rehearsal; what
GPUs alone can tell is put into the facts, faults are planted in the facts, and `--replay` judges
them: no verdict, check or number of a check is made up. A replay is no result for a merge, so that
`replay_of` is taken out of the copies. The copies have names, boot ids, times, serial numbers and
UUIDs of their own, and tier 2's numbers (facts and checks alike), temperatures and the tools'
answers vary by a few per cent, with a seed: the same call writes the same cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

CLONE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CLONE))

from benchmarks.made_up import FAULTS, healthy, with_fault  # noqa: E402
from tests.healthy import rdma  # noqa: E402
from tests.vendor_node import VendorNode  # noqa: E402

Json = dict[str, Any]
RUN = "4711.0"
BEGAN = 1_790_000_000.0
TIERS = ("-m", "tier1 or tier2", "--tier2-perf")


def _run(dump: Path, *arguments: str, path: str = "", **environment: str) -> Json:
    """Run the suite; return the one document that it left."""
    argv = [sys.executable, "-m", "pytest", f"--dump-path={dump}", "--no-merge", *arguments]
    known = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "HOME": str(Path.home())}
    done = subprocess.run(
        argv, cwd=CLONE, env={**known, **environment}, capture_output=True, text=True, check=False
    )
    found = sorted(dump.glob("smoke/**/*.json"))
    if len(found) != 1:
        raise SystemExit(f"{' '.join(argv)} left {len(found)} results:\n{done.stdout}{done.stderr}")
    return json.loads(found[0].read_bytes())


def templates(folder: Path, gpus: int, faults: int) -> dict[str, Json]:
    """Return the documents that are multiplied: the healthy node's, then one a fault."""
    node = VendorNode(folder / "vendor", "nvidia", count=gpus)
    rdma.tree(node.root, count=gpus)
    tree = [f"--system-root={node.root}", f"--run-id={RUN}", "-n0", *TIERS]
    base = _run(folder / "recorded", *tree, path=str(node.bin), SLURM_NODEID="0")
    rehearsal = ["--rehearse", f"--expected-gpus={gpus}", *TIERS]
    other = _run(folder / "rehearsed", *rehearsal)
    facts = healthy(base["node"]["facts"], other["node"]["facts"])
    planted = dict.fromkeys([*FAULTS][:faults] if faults else [])
    found = {}
    for name in ("", *planted):
        told = with_fault(facts, name) if name else facts
        recorded = {**base, "node": {**base["node"], "facts": told}}
        found[name] = _judged(folder / (name or "healthy"), recorded, str(node.root))
    return found


def _judged(folder: Path, recorded: Json, root: str) -> Json:
    """Return what `--replay` makes of a document, without the traces of where it was made."""
    folder.mkdir()
    path = folder / "recorded.json"
    path.write_text(json.dumps(recorded).replace(root, ""))
    document = _run(folder / "dump", f"--replay={path}", "-n0", *TIERS)
    document["node"]["replay_of"] = ""
    return document


class Template:
    """A document to be multiplied: `tests` as it is, `node` with what varies found beforehand."""

    def __init__(self, document: Json) -> None:
        self.node = document["node"]
        self.fixed = {
            (check["id"], check.get("device", ""))
            for check in self.node["checks"]
            if check["outcome"] not in {"PASS", "N/A"}
        }
        """What was found: its numbers stand in messages and reasons as well, and stay."""
        text = msgspec.json.encode(document["tests"])
        self.document = {**document, "tests": msgspec.Raw(text)}

    def write(self, path: Path, index: int, name: str) -> None:
        """Write one node."""
        chance = random.Random(index)
        began = round(BEGAN + chance.uniform(0, 2), 3)
        seconds = round(chance.uniform(55, 62), 3)
        facts, factors = self._facts(chance, began)
        node = {
            **self.node,
            "name": name,
            "hostname": name,
            "rank": index,
            "boot_id": f"{chance.getrandbits(128):032x}",
            "started": began,
            "finished": round(began + seconds, 3),
            "durations": {**self.node["durations"], "total": seconds},
            "checks": [_varied(check, factors, chance) for check in self.node["checks"]],
            "facts": facts,
        }
        data = msgspec.json.encode({"node": node, **{**self.document, "node": node}})
        own = f"-4{index % 4096:03x}-8{index // 4096:03x}-".encode()
        data = data.replace(b"-4000-8000-", own)
        path.write_bytes(data.replace(b'"serial":"16500', f'"serial":"{16500 + index}'.encode()))

    def _facts(self, chance: random.Random, began: float) -> tuple[list[Json], dict[Any, float]]:
        """Return the facts with numbers of their own, and by how much tier 2's were changed."""
        facts: list[Json] = []
        factors: dict[Any, float] = dict.fromkeys(self.fixed, 1.0)
        of_node = chance.gauss(1, 0.008)
        for fact in self.node["facts"]:
            kind, values = fact["fact"], fact.get("values")
            if kind == "stage" and values:
                fact = {**fact, "values": _measured(fact, factors, of_node, chance)}
            elif kind == "sensors":
                fact = {**fact, "values": {k: _warmed(k, v, chance) for k, v in values.items()}}
            elif kind == "clock":
                fact = {**fact, "wall": began + fact["at"] + chance.gauss(0, 0.02)}
            facts.append(fact)
        return facts, factors


def _measured(
    stage: Json, factors: dict[Any, float], of_node: float, chance: random.Random
) -> Json:
    """Return what a stage measured, its rates varied: a node's together, a GPU's by itself."""
    told = dict(stage["values"])
    for key, value in stage["values"].items():
        if not key.endswith(("tflops", "gbs")) or not value:
            continue
        name = stage["stage"] if key in {"gbs", "bus_gbs", "tflops"} else key
        if key == "bus_gbs":
            factor = factors.setdefault((f"performance.{name}", ""), of_node)
        else:
            own = max(0.95, min(chance.gauss(1, 0.012), 1.04))
            factor = factors.setdefault((f"performance.{name}", stage["device"]), own)
        told[key] = round(value * factor, 4)
    return told


def _varied(check: Json, factors: dict[Any, float], chance: random.Random) -> Json:
    """Return a check with the number that its fact has now."""
    factor = factors.get((check["id"], check.get("device", "")))
    if check["id"] == "tools.answer":
        factor = chance.uniform(0.8, 1.3)
    value = check.get("value")
    if factor is None or not value:
        return check
    changed = {**check, "value": round(value * factor, 6)}
    if "message" in check:
        changed["message"] = re.sub(
            re.escape(f"{value:.4g}"), f"{value * factor:.4g}", check["message"], count=1
        )
    return changed


def _warmed(name: str, value: float | None, chance: random.Random) -> float | None:
    if value is None or not name.startswith(("temperature_", "power_w", "clock_sm_mhz")):
        return value
    return round(value * chance.gauss(1, 0.02 if name.startswith("t") else 0.005), 1)


def name_of(index: int, nodes: int) -> str:
    """Return the name of one node: racks of 32."""
    return f"r{index // 32:03d}n{index % 32:02d}" if nodes > 32 else f"n{index:02d}"


def _write_share(part: tuple[dict[str, Json], list[str], Path, int, int]) -> int:
    """Write every second node, or what is a process's share."""
    documents, sick, smoke, first, step = part
    made = {name: Template(document) for name, document in documents.items()}
    for index in range(first, len(sick), step):
        name = name_of(index, len(sick))
        made[sick[index]].write(smoke / f"{name}.json", index, name)
    return first


def multiply(found: dict[str, Json], smoke: Path, nodes: int, sick_nodes: int) -> None:
    """Write *nodes* results into *smoke*; every fault goes round among the sick ones."""
    smoke.mkdir(parents=True, exist_ok=True)
    fault = [name for name in found if name]
    which = [""] * nodes
    chance = random.Random(nodes)
    for count, index in enumerate(sorted(chance.sample(range(nodes), min(nodes, sick_nodes)))):
        which[index] = fault[count % len(fault)] if fault else ""
    step = os.cpu_count() or 1
    with ProcessPoolExecutor(step) as pool:
        list(pool.map(_write_share, [(found, which, smoke, k, step) for k in range(step)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--faults", type=int, default=len(FAULTS), help="how many kinds of fault")
    parser.add_argument("--sick", type=float, default=0.01, help="share of the nodes with a fault")
    parser.add_argument("--templates", type=Path, help="keep what is multiplied here, and reuse it")
    parser.add_argument("dir", type=Path)
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.templates and asked.templates.exists():
        found = json.loads(asked.templates.read_bytes())
    else:
        with tempfile.TemporaryDirectory() as folder:
            found = templates(Path(folder), asked.gpus, asked.faults)
        if asked.templates:
            asked.templates.write_text(json.dumps(found))
    verdicts = {name or "healthy": d["node"]["verdict"] for name, d in found.items()}
    print(f"judged in {time.monotonic() - began:.1f} s: {verdicts}")
    began = time.monotonic()
    sick = max(len(found) - 1, round(asked.nodes * asked.sick))
    multiply(found, asked.dir / "smoke", asked.nodes, sick)
    size = sum(path.stat().st_size for path in (asked.dir / "smoke").iterdir())
    print(
        f"{asked.nodes} results of {size / asked.nodes / 1024:.0f} KiB each in"
        f" {asked.dir}, {sick} of them with a fault, written in {time.monotonic() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
