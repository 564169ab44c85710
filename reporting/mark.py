"""`mark`: says in the dump path that a node has begun, and how long it may take at most.

From the mark the merge knows a node that died from one that never started.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from .model import Mark
from .names import plain
from .outputs import write
from .publish import answer_mark, free_stem

_WINDOW = 3600.0


def mark(content: str, dump: Path, *, withdraw: bool) -> int:
    """Leave the mark *content* (JSON) below *dump*, or take it back; return the exit status."""
    try:
        said = msgspec.json.decode(content, type=Mark)
        if withdraw:
            answer_mark(dump, said)
        else:
            name = free_stem(dump, said, _WINDOW)
            write(dump / "smoke" / f"{name}.started", content.encode("utf-8", "replace"))
    except (msgspec.DecodeError, OSError) as error:
        print(f"node-smoke: the mark: {plain(str(error), 2000)}", file=sys.stderr)
        return 2
    return 0
