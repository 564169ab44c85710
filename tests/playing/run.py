"""One play: the tree, the tools, and the real suite as a process of its own on top of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import answers, fs, node, tools
from .case import Case, Variant
from .topics import LIMITS, SELECTION

CLONE = Path(__file__).parents[2]
_STUBS = CLONE / "tests" / "stubs"
_KEPT = ("HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE")
_LONGEST = 300.0
"""Seconds after which the suite itself counts as hung: it promises to end long before."""


class NotPlayedError(RuntimeError):
    """The suite left no result; the text says what it said."""


@dataclass(frozen=True)
class Order:
    """How to play: `timeout` is the snapshot's deadline (None: the suite's own)."""

    timeout: float | None = None
    arguments: Sequence[str] = ()


def play(case: Case, variant: Variant, folder: Path, order: Order) -> dict[str, Any]:
    """Play *variant* in the empty *folder* and return the object `node` of the suite's result.

    NotPlayedError when there is none, fs.NoFuseError when its files can't be served here.
    """
    around = node.around(case, variant)
    root, path = folder / "root", folder / "bin"
    root.mkdir()
    path.mkdir()
    around.lay(root)
    failing = fs.lay(root, variant.tree)
    for tool, rows in answers.rows(case, variant, around).items():
        tools.write(path, tool, rows)
    more = LIMITS if case.topic == "host-limits" else ()
    order = replace(order, arguments=(*order.arguments, *more))
    with (
        fs.of_size(root / "dev/shm", variant.shm_kib),
        fs.served(root, failing, folder / "mount") as shown,
    ):
        said = _suite(shown, path, folder / "dump", variant.environment, order)
    (folder / "run.log").write_text(said)
    results = sorted((folder / "dump").glob("smoke/**/*.json"))
    if len(results) != 1:
        raise NotPlayedError(f"no result: {' | '.join(said.strip().splitlines()[-3:])}")
    result: dict[str, Any] = json.loads(results[0].read_bytes())["node"]
    if not any(fact.get("fact") == "end" for fact in result["facts"]):
        raise NotPlayedError(f"the recorder broke: {' | '.join(result['unknowns'][:1])}")
    return result


def _suite(root: Path, path: Path, dump: Path, environment: dict[str, str], order: Order) -> str:
    # One process judges a handful of checks sooner than two workers have started.
    argv = [sys.executable, "-m", "pytest", "-n", "0", *SELECTION, "--rehearse", "--no-merge"]
    argv += [f"--system-root={root}", f"--dump-path={dump}"]
    argv += [f"--snapshot-timeout-sec={order.timeout:g}"] if order.timeout else []
    clean = {name: os.environ[name] for name in _KEPT if name in os.environ}
    clean |= {"PATH": str(path), "PYTHONPATH": str(_STUBS), **environment}
    process = subprocess.Popen(
        [*argv, *order.arguments],
        cwd=CLONE,
        env=clean,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise NotPlayedError(f"the suite did not end in {_LONGEST:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return said
