"""Vendors' tools as shell scripts: each knows a list of calls, and what it prints for them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Output:
    """What one call prints, with which status it ends and after how long."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Row:
    """The answer to all calls that `pattern` fits: the arguments as a shell's `case` has them."""

    pattern: str
    output: Output


def words(argv: Sequence[str]) -> str:
    """Return the pattern of exactly these arguments."""
    return shlex.quote(" ".join(argv))


def among(argv: Sequence[str], *, and_also: str = "") -> str:
    """Return the pattern of a call with these arguments and any others, or none.

    With *and_also* that word must be among the others.
    """
    first = words(argv)
    if and_also:
        return f"{first}*' {and_also}'*"
    return f"{first} | {first}' '*"


ANYTHING = "*"


def usage_error(tool: str) -> Output:
    """Return what *tool* prints for arguments that it does not know."""
    said = f"usage: {tool} [-h] ...\n{tool}: error: unrecognized arguments\n"
    return Output(stderr=said, status=2)


def write(folder: Path, tool: str, rows: Sequence[Row]) -> Path:
    """Write the script *tool* into *folder*; the first row that fits answers, else the usage.

    A shell and nothing else starts for a call, since a check may bound how long a tool takes.
    """
    answers = folder / f".{tool}"
    answers.mkdir(parents=True)
    lines = ["#!/bin/sh", 'case "$*" in']
    for number, row in enumerate([*rows, Row(ANYTHING, usage_error(tool))]):
        lines.append(f"{row.pattern})")
        lines += [f"  {line}" for line in _answer(answers / str(number), row.output)]
        lines.append("  ;;")
    script = folder / tool
    script.write_text("\n".join([*lines, "esac", ""]))
    script.chmod(0o755)
    return script


def _answer(path: Path, output: Output) -> list[str]:
    cat, sleep = (shutil.which(name) or f"/bin/{name}" for name in ("cat", "sleep"))
    lines = [f"{sleep} {output.seconds:g}"] if output.seconds else []
    for text, ending, target in ((output.stderr, "err", " >&2"), (output.stdout, "out", "")):
        if text:
            file = path.with_suffix(f".{ending}")
            file.write_bytes(text.encode(errors="surrogateescape"))
            lines.append(f"{cat} {shlex.quote(str(file))}{target}")
    return [*lines, f"exit {output.status & 0xFF}"]
