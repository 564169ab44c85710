"""A healthy node of either vendor, to be made sick: its tree, and tools that log their calls."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from fixtures.vendors.amd import calls as amd_calls
from fixtures.vendors.nvidia import calls as nvidia_calls
from fixtures.vendors.telling import Call
from tests.healthy import amd as healthy_amd
from tests.healthy import nvidia as healthy_nvidia
from tests.playing import tools
from tests.playing.tools import Output, Row

QUICK = ("-n0", "-m", "tier1 and quick", "--shm-min-gb=0", "--no-merge")
"""The checks that need no torch, judged in one process."""
_CALLS = {"amd": amd_calls, "nvidia": nvidia_calls}


def quiet(folder: Path) -> None:
    """Put a `dmesg` into *folder* that has nothing to tell: the real log is not the node's."""
    (folder / "dmesg").write_text("#!/bin/sh\n")
    (folder / "dmesg").chmod(0o755)


class VendorNode:
    """A tree for --system-root, and a PATH with nothing but the vendor's tools.

    `shape` is what tests/healthy takes: `count`, `model`, `addresses`, and the age of its software.
    """

    def __init__(self, folder: Path, vendor: str, **shape: Any):
        self.root, self.bin, self._log = folder / "root", folder / "bin", folder / "calls"
        self.shape, self._vendor = {"count": 8, **shape}, vendor
        self.bin.mkdir(parents=True)
        quiet(self.bin)
        if vendor == "nvidia":
            self.shape.setdefault("driver", "580.159.04")
        (healthy_amd if vendor == "amd" else healthy_nvidia).tree(self.root, **self.shape)
        calls = [c for c in vars(_CALLS[vendor]).values() if isinstance(c, Call)]
        self._outputs = {call.command: Output(self.healthy(call.command)) for call in calls}
        self._before: dict[str, str] = {}
        for tool in {call.argv[0] for call in calls}:
            self._write(tool)

    def healthy(self, command: str) -> str:
        """Return what the healthy node's tool prints for *command*; nothing where it knows none."""
        argv = command.split()
        if self._vendor == "amd":
            return healthy_amd.answer(argv, **self.shape) or ""
        return healthy_nvidia.answer(argv, **self.shape) or ""

    def records(self, command: str) -> Any:
        """Return the healthy answer to a `--json` command, to be changed and told."""
        return json.loads(self.healthy(command))

    def tell(self, command: str, told: Any, **how: Any) -> None:
        """Have *command* print *told* (text, or what becomes JSON), and end with a `status`."""
        text = told if isinstance(told, str) else json.dumps(told)
        self._outputs[command] = Output(text, **how)
        self._write(command.split()[0])

    def refuse(self, *commands: str) -> None:
        """Have each of *commands* be one that its tool is too old to know."""
        for command in commands:
            tool = command.split()[0]
            self._outputs[command] = tools.usage_error(tool)
            self._write(tool)

    def first(self, command: str, lines: str) -> None:
        """Have *command* run these *lines* of shell before it answers, if it still does then."""
        self._before[command] = lines
        self._write(command.split()[0])

    def script(self, tool: str, lines: str) -> None:
        """Put a shell script of these *lines* in the place of *tool*, or beside the others."""
        path = self.bin / tool
        path.write_text(f"{self._head(tool)}{lines}\n")
        path.chmod(0o755)

    def remove(self, *names: str) -> None:
        """Take commands out of PATH."""
        for name in names:
            (self.bin / name).unlink()

    @property
    def calls(self) -> list[str]:
        """Every call of a tool, in the order in which they were made."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    @property
    def arguments(self) -> list[str]:
        return [f"--system-root={self.root}", *QUICK]

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": str(self.bin)}

    def _write(self, tool: str) -> None:
        known = {c: out for c, out in self._outputs.items() if c.split()[0] == tool}
        rows = [Row(tools.words(c.split()[1:]), out) for c, out in known.items()]
        if tool == "lsof":
            rows = [Row(tools.ANYTHING, Output(status=1))]
        shutil.rmtree(self.bin / f".{tool}", ignore_errors=True)
        path = tools.write(self.bin, tool, rows)
        before = "".join(
            f'if [ {shlex.quote(command)} = "{tool} $*" ]; then\n{lines}\nfi\n'
            for command, lines in self._before.items()
            if command.split()[0] == tool
        )
        path.write_text(path.read_text().replace("#!/bin/sh\n", self._head(tool) + before, 1))

    def _head(self, tool: str) -> str:
        return f'#!/bin/sh\necho "{tool} $*" >>{self._log}\n'


def outcomes(ended, check):
    """Return the outcome of a check for each GPU."""
    return {c["device"]: c["outcome"] for c in ended.node["checks"] if c["id"] == check}


def of_kind(ended, kind, **which):
    """Return the recorded facts of one kind."""
    facts = [f for f in ended.node["facts"] if f["fact"] == kind]
    return [f for f in facts if which.items() <= f.items()]


def unhappy(ended):
    """Return the checks of GPUs and tools that neither pass nor are without an object."""
    told = [c for c in ended.node["checks"] if c["id"].startswith(("gpu.", "tools."))]
    return {(c["id"], c.get("device", "")) for c in told if c["outcome"] not in {"PASS", "N/A"}}


def once(smoke, node, *arguments):
    """Run the suite on *node* for all tests of a module, and end whatever is left after them."""
    yield smoke(*node.arguments, *arguments, environment=node.environment)
    for started in smoke.started:
        started.kill()


@pytest.fixture
def make_node(tmp_path):
    """Make a healthy node: `make_node("nvidia", model="NVIDIA L40S", count=2)`."""
    return lambda vendor, **shape: VendorNode(tmp_path, vendor, **shape)


@pytest.fixture
def amd(make_node):
    """Give a healthy node with eight MI300X."""
    return make_node("amd")
