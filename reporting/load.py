"""Files of a dump path into entries: each is read once, and none of them can stop the merge."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from . import crew, wire
from .digest import Digest
from .distil import distil, wanted
from .model import SCHEMA_VERSION, Check, Header, Mark, Node, Option
from .names import fold, name_of_stem
from .outline import began, outline

LARGEST = 8 * 1024 * 1024
"""A result of eight GPUs and both tiers stays below 256 KiB: what is larger is not ours."""

_STEP = 65536
Sort = Literal["result", "partial", "mark"]
Stamp = tuple[int, int, int]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One file: what it says, or why that can't be told; a result's digest comes with it."""

    path: Path
    stem: str
    sort: Sort
    stamp: Stamp
    name: str
    run_id: str | None = None
    said: Node | Mark | None = None
    error: str = ""
    digest: Digest | None = None
    started: float = 0.0
    """When the node began; of a file that does not say, when it was written."""


class _Checks(msgspec.Struct):
    """Of a result its checks alone."""

    checks: list[Check]


class _Checked(msgspec.Struct):
    node: _Checks


_document = msgspec.json.Decoder(wire.Document)
_tests = msgspec.json.Decoder(list[msgspec.Raw])
_any_document = msgspec.json.Decoder(wire.AnyDocument)
_checked = msgspec.json.Decoder(_Checked)
_options = msgspec.json.Decoder(dict[str, Option])
_mark = msgspec.json.Decoder(Mark)


class Folder:
    """The results and marks below a dump path; unchanged files are not read again."""

    def __init__(self, dump: Path, only: str | None = None) -> None:
        self.dump = dump
        self.company = False
        """Whether other nodes than the *only* one left anything."""
        self.notes: list[str] = []
        """What could not be looked at, without which a merge is possible."""
        self._only = only
        self._known: dict[Path, Entry] = {}

    def scan(self) -> list[Entry]:
        """Return what lies there now; OSError when the dump path itself can't be read."""
        if not stat.S_ISDIR(self.dump.stat().st_mode):
            raise NotADirectoryError(20, "Not a directory", str(self.dump))
        found = self._scan(self.dump / "smoke", partial=False) + self._parts()
        self._known = {entry.path: entry for entry in found}
        found = [entry for entry in found if not _is_replay(entry)]
        if self._only is None:
            return found
        own = [entry for entry in found if fold(entry.name) == fold(self._only)]
        self.company = len(own) < len(found)
        return own

    def _parts(self) -> list[Entry]:
        """Return the partial results: no whole one is lost because these can't be read."""
        folder, self.notes = self.dump / "smoke/partial", []
        try:
            return self._scan(folder, partial=True)
        except OSError as error:
            reason = f"[Errno {error.errno}] {error.strerror}"
            self.notes = [f"partial results are left out, {folder} can't be read: {reason}"]
            return []

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
        seen = [self._look(folder / file.name, file, partial) for file in files]
        unread = [file for file in seen if isinstance(file, _Unread)]
        read = iter(crew.read_all(_read, unread))
        entries = (next(read) if isinstance(file, _Unread) else file for file in seen)
        return [entry for entry in entries if entry is not None]

    def _look(self, path: Path, file: os.DirEntry[str], partial: bool) -> Entry | _Unread | None:
        """Return what is known of *file*, None for one that vanished."""
        sort = _sort(path.name, partial) or "result"
        try:
            info = file.stat()
        except FileNotFoundError:
            gone = not os.path.lexists(path)
            return None if gone else _broken(path, sort, (0, 0, 0), "a link to nothing")
        except OSError as error:
            return _broken(path, sort, (0, 0, 0), str(error))
        unread = _Unread(path, sort, _stamp(info), info.st_mode)
        known = self._known.get(path)
        return known if known is not None and known.stamp == unread.stamp else unread


class _Unread(NamedTuple):
    """A file as it lies there."""

    path: Path
    sort: Sort
    stamp: Stamp
    mode: int


def _stamp(info: os.stat_result) -> Stamp:
    """Return what changes with the content of a file."""
    return info.st_mtime_ns, info.st_size, info.st_ino


def _is_replay(entry: Entry) -> bool:
    """Tell whether this is a second judgement of recorded facts, which says nothing of today."""
    return isinstance(entry.said, Node) and bool(entry.said.replay_of)


def _sort(name: str, partial: bool) -> Sort | None:
    """Return what a file of this name is, None when it is not ours."""
    if name.endswith(".json"):
        return "partial" if partial else "result"
    return "mark" if name.endswith(".started") and not partial else None


def _read(file: _Unread) -> Entry | None:
    """Return the entry of one file, whatever lies there; None for one that vanished."""
    path, sort, stamp, mode = file
    size = stamp[1]
    if not stat.S_ISREG(mode):
        return _broken(path, sort, stamp, "not a regular file")
    if size > LARGEST:
        return _broken(path, sort, stamp, f"{size} bytes, expected at most {LARGEST}")
    try:
        raw = contents(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _broken(path, sort, stamp, f"[Errno {error.errno}] {error.strerror}")
    try:
        said, digest = (_mark.decode(raw), None) if sort == "mark" else _node(raw)
    except (ValueError, RecursionError) as error:
        return _broken(path, sort, stamp, str(error) if raw else "the file is empty", raw)
    return _accepted(path, sort, stamp, said, digest)


_HEADER = Header.__struct_fields__
_of_header = attrgetter(*_HEADER)
_TESTS, _TEST = b',"tests":[', b'{"nodeid":'
_known_options: dict[bytes, dict[str, Option]] = {}
_MOST_OPTIONS = 64
"""So many different sets of options are kept to be shared by the nodes that have them."""


def _node(raw: bytes) -> tuple[Node, Digest]:
    """Return what is kept of a result; ValueError when it is none."""
    facts: Iterable[object]
    try:
        told: wire.Told | wire.ToldOtherwise = _told(raw)
        facts = told.facts
    except ValueError:  # it may be newer than we are
        told = _any_document.decode(raw).node
        facts = wanted(told.facts)
    header = dict(zip(_HEADER, _of_header(told), strict=True))
    node = Node(**header, options=_shared(bytes(told.options)))
    return node, distil(told.checks, facts)


def _told(raw: bytes) -> wire.Told:
    """Return the object `node`; ValueError when it is not as we know it.

    pytest's own account of its tests stands last, and is a third of a result that nothing here
    needs: only its end is parsed, which tells whether the file was cut short. What is looked
    for is a key and no text, which would have its quotes escaped.
    """
    start = raw.rfind(_TESTS)
    last = raw.rfind(_TEST, start) if start > 0 else -1
    if last > 0 and raw.endswith(b"]}"):
        with suppress(ValueError):  # cut short, or the key is that of an inner object
            _tests.decode(b"[" + raw[last:-1])
            return _document.decode(b"".join((memoryview(raw)[:start], b"}"))).node
    return _document.decode(raw).node


def _shared(raw: bytes) -> dict[str, Option]:
    """Return the options that *raw* says: most nodes of a cluster have the same."""
    known = _known_options.get(raw)
    if known is None:
        known = _options.decode(raw)
        if len(_known_options) < _MOST_OPTIONS:
            _known_options[raw] = known
    return known


def checks_of(path: Path) -> list[Check]:
    """Return all checks of the result *path*; OSError or ValueError when it can't be read now."""
    try:
        return _checked.decode(contents(path)).node.checks
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _accepted(
    path: Path, sort: Sort, stamp: Stamp, said: Node | Mark, digest: Digest | None
) -> Entry:
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
        digest=None if wrong else digest,
        started=said.started,
    )


def _broken(path: Path, sort: Sort, stamp: Stamp, error: str, raw: bytes = b"") -> Entry:
    """Return the entry of a file that can't be used, under the name in it where there is one."""
    named = outline(raw, of_mark=sort == "mark")
    file_stem = path.name.rpartition(".")[0]
    return Entry(
        path=path,
        stem=file_stem,
        sort=sort,
        stamp=stamp,
        name=named.name or name_of_stem(file_stem),
        run_id=named.run_id,
        error=error,
        started=began(named.started, stamp[0] / 1e9),
    )


def contents(path: Path) -> bytes:
    """Return what is in *path*, at most as much as is accepted, and never wait for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        step = min(os.fstat(descriptor).st_size, LARGEST) + 1
        parts, left = [], LARGEST + 1
        while left > 0 and (part := os.read(descriptor, min(step, left))):
            parts.append(part)
            left -= len(part)
            step = _STEP
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(descriptor)


def one(path: Path) -> Entry | None:
    """Return the entry of the single file *path*, None when there is none."""
    try:
        info = path.stat()
    except FileNotFoundError:
        return None
    sort = _sort(path.name, path.parent.name == "partial") or "result"
    return _read(_Unread(path, sort, _stamp(info), info.st_mode))
