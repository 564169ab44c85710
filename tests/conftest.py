"""What the end-to-end tests stand on: the real suite, run as a user runs it, in the clone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.healthy import nvidia as healthy_nvidia
from tests.vendor_node import amd as amd
from tests.vendor_node import make_node as make_node
from tests.vendor_node import quiet

CLONE = Path(__file__).parent.parent
STUBS = CLONE / "tests" / "stubs"
_FOREIGN = ("SLURM", "PYTEST_", "NODE_RANK", "CUDA_", "ROCR_", "HIP_", "LOCAL_WORLD", "GPUS_PER")
MARK = "NODE_SMOKE_SELFTEST"


@dataclass
class Ended:
    """A run that has ended: what the terminal showed, and what lies in the dump path."""

    status: int
    text: str
    seconds: float
    dump: Path
    pid: int
    left: list[str] = field(default_factory=list)

    @property
    def document(self) -> dict:
        """The one result file of the run."""
        (path,) = self.results
        return json.loads(path.read_bytes())

    @property
    def node(self) -> dict:
        """The object `node` of the result."""
        return self.document["node"]

    @property
    def results(self) -> list[Path]:
        return sorted(self.dump.glob("smoke/**/*.json"))

    def outcome(self, check: str, device: str = "") -> str:
        """Return the outcome of one check."""
        return self.check(check, device)["outcome"]

    def check(self, check: str, device: str = "") -> dict:
        """Return one check as the result has it."""
        (found,) = (
            c for c in self.node["checks"] if c["id"] == check and c.get("device", "") == device
        )
        return found


class Started:
    """A run that is under way."""

    def __init__(self, argv, cwd, environment, dump):
        self.dump, self._token = dump, uuid.uuid4().hex
        self._began = time.monotonic()
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environment, MARK: self._token},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def ours(self) -> list[int]:
        """Return every process of this run that is alive, wherever it was reparented to."""
        return [pid for pid in _pids() if self._is_ours(pid) and pid != self.process.pid]

    def wait_for(self, what, timeout=20.0):
        """Return what *what* returns as soon as it is true."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if found := what():
                return found
            time.sleep(0.02)
        raise AssertionError(f"waited {timeout} s in vain; the run said: {self.process.poll()}")

    def fact(self, text: str) -> str:
        """Return the first line of the facts that holds *text*, waiting for it."""
        pattern = f"node-smoke-{self.process.pid}-*/facts.jsonl"

        def look():
            for path in Path("/dev/shm").glob(pattern):
                for line in path.read_text().splitlines():
                    if text in line:
                        return line
            return ""

        return self.wait_for(look)

    def collected(self, by: int = 1) -> None:
        """Wait until *by* processes have collected the checks: from then on some are judged."""
        pattern = f"node-smoke-{self.process.pid}-*/collected-*.json"
        self.wait_for(lambda: len(list(Path("/dev/shm").glob(pattern))) >= by)

    def end(self, timeout: float = 60.0, patience: float = 2.0) -> Ended:
        """Wait for the end of the run; who is alive *patience* seconds later was left behind."""
        text, _ = self.process.communicate(timeout=timeout)
        seconds = time.monotonic() - self._began
        deadline = time.monotonic() + patience
        while (alive := self.ours()) and time.monotonic() < deadline:
            time.sleep(0.02)
        left = [f"process {pid}: {_name(pid)}" for pid in alive]
        left += map(str, Path("/dev/shm").glob(f"node-smoke-{self.process.pid}-*"))
        return Ended(self.process.returncode, text, seconds, self.dump, self.process.pid, left)

    def kill(self):
        """End everything of this run: the test is over."""
        for pid in [*self.ours(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for path in Path("/dev/shm").glob(f"node-smoke-{self.process.pid}-*"):
            shutil.rmtree(path, ignore_errors=True)

    def _is_ours(self, pid: int) -> bool:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return self._token.encode() in environment and state not in "ZX"


class Smoke:
    """Runs the suite; with torch's stand-in unless told otherwise, so that a run is short."""

    def __init__(self, tmp_path: Path):
        self.dump = tmp_path / "dump"
        self.started: list[Started] = []

    def start(
        self,
        *arguments,
        stub=True,
        cwd=CLONE,
        dump=None,
        environment=None,
        python=None,
        prelude="",
    ):
        """Start `pytest *arguments*` with a dump path of this test's own, after *prelude*."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}
        if stub:
            clean["PYTHONPATH"] = str(STUBS)
        clean |= environment or {}
        dump = self.dump if dump is None else dump
        where = [f"--dump-path={dump}"] if dump else []
        code = f"import sys; {prelude}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
        module = ["-c", code] if prelude else ["-m", "pytest"]
        argv = [str(python or sys.executable), *module, *where, *map(str, arguments)]
        started = Started(argv, cwd, clean, Path(dump) if dump else Path(cwd))
        self.started.append(started)
        return started

    def __call__(self, *arguments, leaves_nothing=True, **options) -> Ended:
        """Run to the end; unless told otherwise nothing of ours may be left after it."""
        ended = self.start(*arguments, **options).end()
        if leaves_nothing:
            assert ended.left == []
        return ended

    def rehearse(self, *arguments, **options) -> Ended:
        """Run a rehearsal to the end."""
        return self("--rehearse", *arguments, **options)


def _pids():
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
    except OSError:
        return "?"


@pytest.fixture
def smoke(tmp_path):
    """Run the real suite in this clone, and end whatever of it is left."""
    runner = Smoke(tmp_path)
    yield runner
    for started in runner.started:
        started.kill()


ADDRESSES = ("0000:00:06.0", "0000:00:07.0")
UUIDS = ("GPU-8b0e7153-bf7c-3706-d85c-524e44006655", "GPU-9a6656c9-0bd5-482a-90a2-9b9fa5ff5180")


class NvidiaNode:
    """A healthy node with two H200: a tree for --system-root, a tool on PATH, devices in torch."""

    def __init__(self, folder: Path):
        self.root, self._bin = folder / "root", folder / "bin"
        self._bin.mkdir()
        quiet(self._bin)
        self.used, self.there = [0, 0], [0, 1]
        healthy_nvidia.tree(self.root, **self._shape)
        for file in (self.root / "proc/driver/nvidia/gpus").glob("*/information"):
            file.write_text(self._named(file.read_text()))
        self.answers = {
            "-q -x": self._query,
            "topo -m": lambda: healthy_nvidia.topo(**self._shape),
            "nvlink -s": lambda: self._named(healthy_nvidia.nvlink(**self._shape)),
            "nvlink -e": lambda: self._named(healthy_nvidia.nvlink_errors(**self._shape)),
            "--version": lambda: healthy_nvidia.version(**self._shape),
        }
        self._install()

    def tool(self, text: str, call: str = "-q -x") -> None:
        """Let `nvidia-smi` print *text* for *call*, or be the script that starts with `#!`."""
        if text.startswith("#!"):
            self._script(text)
        else:
            self.answers[call] = lambda: text
            self._install()

    def in_use(self, *mib: int) -> None:
        """Have the tool report *mib* in use, one number a GPU."""
        self.used = list(mib)
        self._install()

    def lose(self, position: int) -> None:
        """Take a GPU off the bus, where its driver and its tool do not find it either."""
        self.there.remove(position)
        self._install()
        shutil.rmtree(self.root / "sys/bus/pci/devices" / ADDRESSES[position])
        shutil.rmtree(self.root / "proc/driver/nvidia/gpus" / ADDRESSES[position])

    @property
    def arguments(self) -> list[str]:
        return [f"--system-root={self.root}", "--shm-min-gb=0"]

    @property
    def environment(self) -> dict[str, str]:
        gpus = ",".join(f"{a}/{u}" for a, u in zip(ADDRESSES, UUIDS, strict=True))
        return {"PATH": f"{self._bin}:{os.environ['PATH']}", "STUB_GPUS": gpus}

    def _query(self) -> str:
        used = [self.used[position] for position in self.there]
        parts = self._named(healthy_nvidia.query(**self._shape)).split("<fb_memory_usage>")
        texts = [
            re.sub(r"<used>\d+", f"<used>{n}", p, count=1)
            for n, p in zip(used, parts[1:], strict=True)
        ]
        return "<fb_memory_usage>".join([parts[0], *texts])

    def _install(self) -> None:
        lines = ["#!/bin/sh", 'case "$*" in']
        for number, (call, answer) in enumerate(self.answers.items()):
            path = self._bin / f"answer{number}"
            path.write_text(answer())
            lines.append(f"'{call}') exec cat {path} ;;")
        self._script("\n".join([*lines, "esac", "echo unknown option >&2; exit 2", ""]))

    def _script(self, text: str) -> None:
        path = self._bin / "nvidia-smi"
        path.write_text(text)
        path.chmod(0o755)

    @property
    def _shape(self) -> dict:
        there = [ADDRESSES[position] for position in self.there]
        return {"count": len(there), "driver": "580.159.04", "addresses": there}

    def _named(self, text: str) -> str:
        """Return *text* of a healthy node with this node's UUIDs in it."""
        for index, position in enumerate(self.there):
            text = text.replace(healthy_nvidia.Node.uuid(index), UUIDS[position])
        return text


@pytest.fixture
def nvidia(tmp_path):
    """Record a healthy node with two H200."""
    return NvidiaNode(tmp_path)
