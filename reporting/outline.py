"""What can be told of a document that can't be used: its node, its run, and when it began."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import msgspec


class Named(msgspec.Struct):
    """As much of a document as names its node and its run."""

    name: str
    run_id: str | None = None
    started: Any = None


class _Outline(msgspec.Struct):
    """A result whose other fields are not what they should be."""

    node: Named


_outline = msgspec.json.Decoder(_Outline)
_mark = msgspec.json.Decoder(Named)


def outline(raw: bytes, *, of_mark: bool) -> Named:
    """Return what *raw* says of itself; without a name where it says nothing."""
    with suppress(ValueError, RecursionError):
        return _mark.decode(raw) if of_mark else _outline.decode(raw).node
    return Named("")


def began(claimed: object, written: float) -> float:
    """Return when a run began as it *claimed*, at the latest when its file was *written*."""
    if isinstance(claimed, int | float) and not isinstance(claimed, bool):
        with suppress(OverflowError):  # JSON has whole numbers of any size
            if math.isfinite(claimed):
                return float(claimed)
    return written
