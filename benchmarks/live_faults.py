"""Faults on a node with real GPUs: memory held by somebody else, a process that stops answering.

    python benchmarks/live_faults.py

Leaves every setting of the GPUs as it is. Prints what the suite said; exit status 1 when it said
anything else than it should.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLONE = Path(__file__).parent.parent
_HOLD = (
    "import torch; x = torch.empty(3 * 2**30, dtype=torch.uint8, device='cuda:0'); x.fill_(1);"
    "torch.cuda.synchronize(); print('held', flush=True); input()"
)


def suite(folder: str, *arguments: str) -> subprocess.Popen[str]:
    """Start tier 1 with its results in *folder*."""
    argv = [sys.executable, "-m", "pytest", "-m", "tier1", "-q", f"--dump-path={folder}"]
    return subprocess.Popen(
        [*argv, *arguments],
        cwd=CLONE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def outcome(folder: str) -> dict[str, str]:
    """Return check and device -> outcome, for what is not a plain pass."""
    (path,) = Path(folder).glob("smoke/*.json")
    checks = json.loads(path.read_bytes())["node"]["checks"]
    bad = [c for c in checks if c["outcome"] not in {"PASS", "N/A"}]
    for check in bad:
        print("  ", check["outcome"], check["message"])
    return {f"{c['id']} {c.get('device', '')}".strip(): c["outcome"] for c in bad}


def held_memory() -> tuple[dict[str, str], dict[str, str]]:
    """Judge while another process holds 3 GiB of the first GPU, and again when it has ended."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with tempfile.TemporaryDirectory() as folder:
        suite(folder).communicate()
        said = outcome(folder)
    holder.communicate("\n")
    with tempfile.TemporaryDirectory() as folder:
        suite(folder).communicate()
        return said, outcome(folder)


def stopped_process() -> dict[str, str]:
    """Stop the last GPU's process as soon as it exists; it never answers."""
    gpus = len(list(Path("/proc/driver/nvidia/gpus").iterdir()))
    with tempfile.TemporaryDirectory() as folder:
        run = suite(folder, "--per-gpu-timeout-sec=8")
        pattern = f"node-smoke-{run.pid}-*/facts.jsonl"
        while run.poll() is None:
            facts = [p.read_text() for p in Path("/dev/shm").glob(pattern)]
            if facts and '"fact":"torch"' in facts[0]:
                break
            time.sleep(0.005)
        workers: list[int] = []
        while run.poll() is None and len(workers) < gpus:
            workers = gpu_processes(run.pid)
        os.kill(max(workers), signal.SIGSTOP)
        print(run.communicate()[0][-1500:])
        return outcome(folder)


def gpu_processes(pytest: int) -> list[int]:
    """Return the children of the process that imports torch: recorder, template, then the GPUs'."""
    found = []
    for recorder in children(pytest):
        for template in children(recorder):
            found += children(template)
    return found


def children(pid: int) -> list[int]:
    """Return the direct children of *pid*."""
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def main() -> int:
    """Play each fault and compare."""
    print("3 GiB held on gpu0:")
    held, freed = held_memory()
    print("a GPU's process stopped:")
    stopped = stopped_process()
    # Whose memory it is can't be told from inside a container: then it is unknown, not clean.
    seen = held.pop("gpu.processes gpu0", "") in {"FAIL", "UNKNOWN"}
    right = seen and held == {"gpu.memory_in_use gpu0": "FAIL"} and not freed
    right = right and bool(stopped) and len({name.split()[-1] for name in stopped}) == 1
    print("as it should be" if right else f"WRONG: {held} {freed} {stopped}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
