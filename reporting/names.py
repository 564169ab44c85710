"""Names that others chose: as file names, as keys, in order, and on a line of text.

Every name, message and run id comes from a file that anybody may have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FILE_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_STEM = 200
_LONGEST_LISTED = 255
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_DIGITS = re.compile(r"([0-9]+)")
_DEVICE = re.compile(r"((?:WARN: |HUNG: |LOST: )?gpu[0-9]{1,6}) \([^)]{0,200}\)(?=: )")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")


def fold(name: str) -> str:
    """Return *name* as a key: schedulers and resolvers do not agree on the case of a name."""
    return name.casefold()


def same_host(name: str, hostname: str) -> bool:
    """Tell whether *hostname*, with its domain or without, is what *name* says already."""
    host = fold(hostname)
    return fold(name) in {host, host.partition(".")[0]}


def stem(name: str) -> str:
    """Return *name* as a file name without suffix that cannot leave its folder, nor be hidden."""
    raw = name.encode("utf-8", "replace")
    coded = "".join(chr(b) if b in _FILE_SAFE else f"%{b:02X}" for b in raw) or "%"
    if coded.startswith("."):
        coded = "%2E" + coded[1:]
    return _shortened(coded)


def stem_of_machine(name: str, hostname: str) -> str:
    """Return the file name for a second machine that goes by the *name* of another."""
    return _shortened(f"{stem(name)}~{stem(hostname)}")


def _shortened(coded: str) -> str:
    """Return *coded* cut to what a file system takes, still distinct from others cut alike."""
    if len(coded) <= _LONGEST_STEM:
        return coded
    import hashlib

    digest = hashlib.sha256(coded.encode("ascii")).hexdigest()[:16]
    return f"{coded[: _LONGEST_STEM - 17]}~{digest}"


def name_of_stem(file_stem: str) -> str:
    """Return the node name that a file name stands for, for files that do not say it themselves."""
    coded = file_stem.partition("~")[0]
    raw = re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), coded.encode("utf-8", "replace")
    )
    return raw.decode("utf-8", "replace") or file_stem


def natural(name: str) -> tuple[list[tuple[str | int, ...]], str]:
    """Return the key that puts `node9` in front of `node10`, the same way on every run."""
    parts: list[tuple[str | int, ...]] = []
    for position, part in enumerate(_DIGITS.split(fold(name))):
        digits = part.lstrip("0")
        parts.append((len(digits), digits) if position % 2 else (part,))
    return parts, name


def plain(value: str, limit: int = 300) -> str:
    """Return *value* as one line of at most *limit* printable characters, safe on a terminal."""
    if len(value) <= limit and value.isprintable():
        return " ".join(value.split())
    start = value[: 8 * limit]
    printable = (
        c if c.isprintable() else " " if c.isspace() else ""
        for c in _ESCAPE_SEQUENCE.sub("", start)
    )
    line = " ".join("".join(printable).split())
    if len(line) > limit or len(value) > len(start):
        return line[: limit - 1] + "…"
    return line


def unaddressed(reason: str) -> str:
    """Return *reason* without the bus address and the UUID, which hide it in a table."""
    return _DEVICE.sub(r"\1", reason, count=1) if _DEVICE.match(reason) else reason


def listed(name: str) -> str:
    """Return *name* as it stands in a node list; coded where it could be read as anything else.

    That is a second name, a range, a group, an option or a file, to whatever reads the list.
    """
    if name.startswith("-"):
        return stem(name).replace("-", "%2D", 1)
    safe = _FILE_SAFE.issuperset(name.encode("utf-8", "replace"))
    return name if safe and 0 < len(name) <= _LONGEST_LISTED else stem(name)


def hostlist(names: Iterable[str]) -> str:
    """Return *names* folded, `n[1-3,07],login`, as ClusterShell and Slurm both read it.

    Slurm refuses a range that is not the end of a name, so only last numbers are folded. A name
    that could be read as something else, as in `a[1-9]` or `@all`, stands there coded as a stem.
    """
    numbers: dict[tuple[str, bool], list[str]] = {}
    for name in sorted(set(names), key=natural):
        safe = listed(name)
        numbered = _NUMBERED.fullmatch(safe)
        prefix, number = numbered.groups() if numbered else (safe, "")
        numbers.setdefault((prefix, bool(number)), []).append(number)
    return ",".join(prefix + _range(found) for (prefix, _), found in numbers.items())


def _range(numbers: list[str]) -> str:
    """Return the numbers of one prefix in brackets; a single one needs none."""
    if len(numbers) == 1:
        return numbers[0]
    from ClusterShell.RangeSet import RangeSet  # type: ignore[import-untyped]

    return f"[{RangeSet(','.join(numbers))}]"
