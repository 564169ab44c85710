"""`calibrate`: proposes a site's profile from what the good nodes of a run reached."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .expected import CannotMerge
from .load import Entry, Folder, contents
from .model import Node, Result
from .names import natural, plain
from .outputs import write
from .proposal import proposal
from .runs import Run, choose
from .samples import PARTITIONS, Samples, samples

DONE, IMPOSSIBLE = 0, 2
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Ask(msgspec.Struct, kw_only=True):
    """What an operator asked of a calibration."""

    dump: Path
    run_id: str | None = None
    model: str | None = None
    margin: float = 0.05
    min_gpus: int = 8
    output: Path | None = None


class _Facts(Result, frozen=True, kw_only=True):
    """A result with what was measured on what."""

    facts: list[object] = msgspec.field(default_factory=list)


class _Document(msgspec.Struct):
    node: _Facts


_document = msgspec.json.Decoder(_Document)


def calibrate(ask: Ask) -> int:
    """Propose as asked, to the file that was named or to standard output; return the status."""
    try:
        text = _calibrate(ask)
        if ask.output is not None:
            _must_be_a_file(ask.output)
            print(f"profile {write(ask.output, text.encode())}")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    except CannotMerge as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename or ask.dump}: [Errno {error.errno}] {error.strerror}")
    return DONE


def _must_be_a_file(path: Path) -> None:
    """Refuse a path that holds anything else: to be written means to be replaced.

    A link is refused whatever it leads to: /dev/stdout is one, and would be lost.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise CannotMerge(
            f"--output={path} is {what}, expected a regular file or nothing there: name another"
            " file, or leave --output out and redirect standard output"
        )


def _refuse(why: str) -> int:
    print(f"node-smoke: {plain(why, 2000)}", file=sys.stderr)
    return IMPOSSIBLE


def _calibrate(ask: Ask) -> str:
    entries = Folder(ask.dump).scan()
    run = choose(entries, ask.run_id, time.time())
    said = [(entry, entry.said) for entry in entries if entry.sort == "result"]
    good = [(e, node) for e, node in said if isinstance(node, Node) and _good(node, run)]
    good.sort(key=lambda pair: (natural(pair[1].name), pair[0].path.name))
    if not good:
        raise CannotMerge(
            f"no node of run {run.id} in {os.path.abspath(ask.dump)} passed as a whole:"
            " a profile is made from nodes that are known to be good"
        )
    found = list(_samples(good))
    return proposal(_of_model(found, ask.model), run.id, ask.margin, ask.min_gpus)


def _good(node: Node, run: Run) -> bool:
    """Tell whether a result is this run's, whole, of a real machine, and a pass."""
    real = not (node.partial or node.rehearsal or node.replay_of)
    return real and node.verdict == "PASS" and run.has(node)


def _samples(good: list[tuple[Entry, Node]]) -> Iterator[Samples]:
    """Read the nodes' facts, one file at a time; one that has just changed is left out."""
    for entry, _ in good:
        try:
            node = _document.decode(contents(entry.path)).node
        except (OSError, ValueError, RecursionError):
            continue
        yield from samples(node, node.facts)


def _of_model(found: list[Samples], wanted: str | None) -> list[Samples]:
    """Return what was measured on one model of GPU."""
    counts: dict[str, int] = {}
    for one in found:
        if one.gpus:
            counts[one.model] = counts.get(one.model, 0) + len(one.gpus)
    told = ", ".join(f"{plain(name)} ({counts[name]} GPUs)" for name in sorted(counts)[:20])
    if not counts and (parts := sum(one.parts for one in found)):
        raise CannotMerge(
            f"the good nodes have no whole GPU, found {parts} parts of GPUs"
            f" (MIG, {', '.join(PARTITIONS)}): calibrate on GPUs that are not divided"
        )
    if not counts:
        raise CannotMerge("the good nodes' results name no GPU: was torch left out of the run?")
    if wanted is None and len(counts) > 1:
        raise CannotMerge(f"there are several models of GPU: choose one with --model: {told}")
    chosen = next((m for m in sorted(counts) if wanted in {None, m, plain(m)}), None)
    if chosen is None:
        raise CannotMerge(f"no GPU of model {plain(wanted or '')}, found {told}")
    return [one for one in found if one.model == chosen]
