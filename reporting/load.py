"""Files of a dump path into entries: each is read once, and none of them can stop the merge."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from .model import SCHEMA_VERSION, Document, Mark, Node
from .names import fold, name_of_stem

LARGEST = 8 * 1024 * 1024
"""A result of eight GPUs stays below 160 KiB; what is larger than this was not written by us."""

Sort = Literal["result", "partial", "mark"]


class Entry(msgspec.Struct, frozen=True):
    """One file: what it says, or why that can't be told."""

    path: Path
    stem: str
    sort: Sort
    stamp: tuple[int, int, int]
    name: str
    run_id: str | None = None
    said: Node | Mark | None = None
    error: str = ""


class _Named(msgspec.Struct):
    """As much of a document as names its node."""

    name: str
    run_id: str | None = None


class _Outline(msgspec.Struct):
    """A result whose other fields are not what they should be."""

    node: _Named


_document = msgspec.json.Decoder(Document)
_mark = msgspec.json.Decoder(Mark)
_outline = msgspec.json.Decoder(_Outline)
_named_mark = msgspec.json.Decoder(_Named)


class Folder:
    """The results and marks below a dump path; unchanged files are not read again."""

    def __init__(self, dump: Path, only: str | None = None) -> None:
        self.dump = dump
        self.company = False
        """Whether other nodes than the *only* one left anything."""
        self._only = only
        self._known: dict[Path, Entry] = {}

    def scan(self) -> list[Entry]:
        """Return what lies there now; OSError when the dump path itself can't be read."""
        if not stat.S_ISDIR(self.dump.stat().st_mode):
            raise NotADirectoryError(20, "Not a directory", str(self.dump))
        found: list[Entry] = []
        for folder, partial in ((self.dump / "smoke", False), (self.dump / "smoke/partial", True)):
            found += self._scan(folder, partial)
        self._known = {entry.path: entry for entry in found}
        found = [entry for entry in found if not _is_replay(entry)]
        if self._only is None:
            return found
        own = [entry for entry in found if fold(entry.name) == fold(self._only)]
        self.company = len(own) < len(found)
        return own

    def _scan(self, folder: Path, partial: bool) -> list[Entry]:
        """Return the entries of one folder, sorted by file name."""
        try:
            with os.scandir(folder) as listing:
                files = sorted(
                    (f for f in listing if not f.name.startswith(".") and _sort(f.name, partial)),
                    key=lambda f: f.name,
                )
        except FileNotFoundError:
            return []
        entries = (self._entry(folder / file.name, file, partial) for file in files)
        return [entry for entry in entries if entry is not None]

    def _entry(self, path: Path, file: os.DirEntry[str], partial: bool) -> Entry | None:
        """Return what *file* says, None for one that vanished or is not for the merge."""
        try:
            info = file.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            return _broken(path, _sort(path.name, partial) or "result", (0, 0, 0), str(error))
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        return _read(path, _sort(path.name, partial) or "result", info, stamp)


def _is_replay(entry: Entry) -> bool:
    """Tell whether this is a second judgement of recorded facts, which says nothing of today."""
    return isinstance(entry.said, Node) and bool(entry.said.replay_of)


def _sort(name: str, partial: bool) -> Sort | None:
    """Return what a file of this name is, None when it is not ours."""
    if name.endswith(".json"):
        return "partial" if partial else "result"
    return "mark" if name.endswith(".started") and not partial else None


def _read(
    path: Path, sort: Sort, info: os.stat_result, stamp: tuple[int, int, int]
) -> Entry | None:
    """Return the entry of one file, whatever lies there."""
    if not stat.S_ISREG(info.st_mode):
        return _broken(path, sort, stamp, "not a regular file")
    if info.st_size > LARGEST:
        return _broken(path, sort, stamp, f"{info.st_size} bytes, expected at most {LARGEST}")
    try:
        raw = contents(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _broken(path, sort, stamp, f"[Errno {error.errno}] {error.strerror}")
    try:
        said = _mark.decode(raw) if sort == "mark" else _document.decode(raw).node
    except (ValueError, RecursionError) as error:
        return _broken(path, sort, stamp, str(error) if raw else "the file is empty", raw)
    return _accepted(path, sort, stamp, said)


def _accepted(path: Path, sort: Sort, stamp: tuple[int, int, int], said: Node | Mark) -> Entry:
    """Return the entry of a document that could be read, refused when it is not for us."""
    wrong = ""
    if said.schema != SCHEMA_VERSION:
        wrong = f"schema {said.schema}, this reporter reads {SCHEMA_VERSION}: use the newer one"
    elif not said.name:
        wrong = "it names no node"
    if sort == "result" and isinstance(said, Node) and said.partial:
        sort = "partial"
    return Entry(
        path=path,
        stem=path.name.rpartition(".")[0],
        sort=sort,
        stamp=stamp,
        name=said.name or name_of_stem(path.name.rpartition(".")[0]),
        run_id=said.run_id,
        said=None if wrong else said,
        error=wrong,
    )


def _broken(
    path: Path, sort: Sort, stamp: tuple[int, int, int], error: str, raw: bytes = b""
) -> Entry:
    """Return the entry of a file that can't be used, under the name in it where there is one."""
    named = None
    with suppress(ValueError, RecursionError):
        named = _named_mark.decode(raw) if sort == "mark" else _outline.decode(raw).node
    file_stem = path.name.rpartition(".")[0]
    return Entry(
        path=path,
        stem=file_stem,
        sort=sort,
        stamp=stamp,
        name=(named.name if named else "") or name_of_stem(file_stem),
        run_id=named.run_id if named else None,
        error=error,
    )


def contents(path: Path) -> bytes:
    """Return what is in *path*, at most as much as is accepted, and never wait for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGEST + 1)


def one(path: Path) -> Entry | None:
    """Return the entry of the single file *path*, None when there is none."""
    try:
        info = path.stat()
    except FileNotFoundError:
        return None
    stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
    return _read(path, _sort(path.name, path.parent.name == "partial") or "result", info, stamp)
