"""Removing what other runs left, when they are over beyond doubt."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .load import Entry, one
from .model import Mark, Node
from .runs import Sight

_GRACE = 60.0


def clean(dump: Path, sight: Sight, wall: Callable[[], float] = time.time) -> int:
    """Remove the results and marks of earlier runs whose own bound has passed; return how many.

    Never what began after this run did: whoever merges an old run again keeps the newer ones. Nor
    what another run has replaced since it was read.
    """
    began = min((said.started for left in sight.here.values() for said in left.said), default=None)
    if began is None:
        return 0
    removed = 0
    for left in sight.nodes.values():
        for entry in left.files:
            said = entry.said
            if said is None or said.run_id == sight.run.id or said.started >= began:
                continue
            if _over(said, wall()):
                removed += _remove(dump, entry)
    return removed


def _over(said: Node | Mark, now: float) -> bool:
    """Tell whether the run of a document has ended by its own account."""
    return said.started + max(said.bound, 0.0) + _GRACE < now


def _remove(dump: Path, entry: Entry) -> bool:
    """Remove one file and the JUnit file that was written with it; False when it is not the same.

    A file that can't be removed harms nobody, it never counts.
    """
    with suppress(OSError):
        now = one(entry.path)
        if now is None or now.stamp != entry.stamp:
            return False
        entry.path.unlink()
        for path in _junit(dump, entry):
            path.unlink(missing_ok=True)
        return True
    return False


def _junit(dump: Path, entry: Entry) -> list[Path]:
    """Return the JUnit files that belong to a result."""
    name = f"{entry.stem}.xml"
    if entry.sort == "result":
        return [dump / "junit" / name]
    if entry.sort == "partial":
        alone = not (dump / "smoke" / f"{entry.stem}.json").exists()
        return [dump / "junit/partial" / name, *([dump / "junit" / name] if alone else [])]
    return []
