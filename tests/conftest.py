"""What the end-to-end tests stand on: the real suite, run as a user runs it, in the clone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

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

    def end(self, timeout: float = 60.0) -> Ended:
        """Wait for the end of the run; whatever is still alive a moment later was left behind."""
        text, _ = self.process.communicate(timeout=timeout)
        seconds = time.monotonic() - self._began
        deadline = time.monotonic() + 2
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
    """A recorded node with two H200: a tree for --system-root, a tool on PATH, devices in torch."""

    def __init__(self, folder: Path):
        self.root, self._bin = folder / "root", folder / "bin"
        self.used = [0, 0]
        for minor, (address, gpu) in enumerate(zip(ADDRESSES, UUIDS, strict=True)):
            pci = self.root / "sys/bus/pci/devices" / address
            self._write(pci / "vendor", "0x10de\n")
            self._write(pci / "class", "0x030200\n")
            text = f"Model: \t\t NVIDIA H200\nGPU UUID: \t {gpu}\nDevice Minor: \t {minor}\n"
            self._write(self.root / "proc/driver/nvidia/gpus" / address / "information", text)
        self._write(self.root / "proc/driver/nvidia/version", "NVRM version: 580.159.04\n")
        limits = "Max locked memory         unlimited            unlimited            bytes     \n"
        self._write(self.root / "proc/self/limits", limits)
        (self.root / "dev/shm").mkdir(parents=True)
        self.tool(self._xml)

    def tool(self, text) -> None:
        """Put an `nvidia-smi` on PATH that prints *text*, or runs it when it starts with `#!`."""
        self._bin.mkdir(exist_ok=True)
        body = text if isinstance(text, str) else text()
        path = self._bin / "nvidia-smi"
        if not body.startswith("#!"):
            answer = self._bin / "answer.xml"
            answer.write_text(body)
            body = f"#!/bin/sh\nexec cat {answer}\n"
        path.write_text(body)
        path.chmod(0o755)

    def in_use(self, *mib: int) -> None:
        """Have the tool report *mib* in use, one number a GPU."""
        self.used = list(mib)
        self.tool(self._xml)

    def lose(self, position: int) -> None:
        """Take a GPU off the bus."""
        shutil.rmtree(self.root / "sys/bus/pci/devices" / ADDRESSES[position])
        shutil.rmtree(self.root / "proc/driver/nvidia/gpus" / ADDRESSES[position])

    @property
    def arguments(self) -> list[str]:
        return [f"--system-root={self.root}", "--shm-min-gb=0"]

    @property
    def environment(self) -> dict[str, str]:
        gpus = ",".join(f"{a}/{u}" for a, u in zip(ADDRESSES, UUIDS, strict=True))
        return {"PATH": f"{self._bin}:{os.environ['PATH']}", "STUB_GPUS": gpus}

    def _xml(self) -> str:
        one = "<gpu id='0000{}'><uuid>{}</uuid><fb_memory_usage><total>143771 MiB</total>"
        one += "<used>{} MiB</used></fb_memory_usage></gpu>"
        rows = zip(ADDRESSES, UUIDS, self.used, strict=True)
        return f"<nvidia_smi_log>{''.join(one.format(*row) for row in rows)}</nvidia_smi_log>"

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def nvidia(tmp_path):
    """Record a healthy node with two H200."""
    return NvidiaNode(tmp_path)
