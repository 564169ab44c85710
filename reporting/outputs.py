"""Writing, so that a reader sees the old file or the new one and never half of one."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from .model import Check, Cluster, Row
from .names import hostlist, listed, natural, plain, stem

REPORT, PAGE, SUMMARY, JUNIT = (
    "smoke_report.md",
    "smoke_report.html",
    "summary.json",
    "smoke_junit.xml",
)
PASSING, FAILING, EXPECTED = "passing_nodes.txt", "failing_nodes.txt", "expected_nodes.txt"
PASSING_FOLDED, FAILING_FOLDED = "passing_nodes.hostlist", "failing_nodes.hostlist"
LISTS = (PASSING, FAILING, EXPECTED, PASSING_FOLDED, FAILING_FOLDED)
_TOLD = {"report": REPORT, "passing": PASSING, "failing": FAILING}
_TOLD_OF_MANY = {
    **_TOLD,
    "page": PAGE,
    "junit": JUNIT,
    "passing-hostlist": PASSING_FOLDED,
    "failing-hostlist": FAILING_FOLDED,
}
"""What the terminal calls the files that it names."""
_ALL = (REPORT, PAGE, SUMMARY, JUNIT, *LISTS)

Writer = Callable[[BinaryIO], object]
"""Writes the content of a file, a piece at a time where it is long."""
_PIECE = 1 << 20
_BESIDE = re.compile(r"\.(.+)\.[0-9a-z_]+\.tmp")
"""A file that was not yet whole when its merge ended."""
_DEAD_SEC = 86400.0


class Written(msgspec.Struct):
    """What a merge left: the latest files, by name, and those that could not be made."""

    paths: dict[str, Path]
    broken: list[str]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file beside *path* that takes its place when all of it is written.

    OSError names *path*, and nothing is left beside it.
    """
    with _beside(path) as beside, _named(path, beside):
        with beside.open("xb") as file:
            yield file
        beside.replace(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give the name of a file beside *path* that is nobody else's; at the end it is gone.

    Process ids are no such names: those of two containers or hosts may be the same.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with _named(path, beside):
            path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def _named(path: Path, beside: Path) -> Iterator[None]:
    """Name *path* in an OSError that names no file, or one that nobody has heard of."""
    try:
        yield
    except OSError as error:
        if error.filename not in {None, str(beside), str(path.parent)}:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _whole(path: Path, writer: Writer) -> Iterator[Path]:
    """Give a file beside *path* that holds all that *writer* writes, and is closed."""
    with _beside(path) as beside:
        with _named(path, beside), beside.open("xb") as file:
            writer(file)
        yield beside


def write(path: Path, data: bytes) -> Path:
    """Write *data* in place of *path*."""
    with replacing(path) as file:
        file.write(data)
    return path


def say(line: str) -> None:
    """Print *line* at once: the caller may lose patience.

    One that has gone, or whose disk is full, changes no verdict and hears no more.
    """
    try:
        print(line, flush=True)
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def folder_of(dump: Path, run_id: str) -> Path:
    """Return the folder of one run's outputs."""
    return dump / "runs" / stem(run_id)


def write_all(
    dump: Path, cluster: Cluster, report: str, more: Mapping[str, Writer] | None = None
) -> Written:
    """Write all that is said of a run into its folder, and as the latest.

    *more* are the files, by name, that others write: one that can't be made stops no other, and
    an earlier one is removed. Nothing is replaced before all is whole.
    """
    folder = folder_of(dump, cluster.run_id)
    written = Written({}, [])
    moves: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        for name, writer in {**_writers(cluster, report), **(more or {})}.items():
            try:
                own = stack.enter_context(_whole(folder / name, writer))
            except Exception as error:
                if name not in (more or {}) or isinstance(error, OSError):
                    raise
                written.broken.append(f"{dump / name}: {type(error).__name__}: {error}")
                continue
            latest = stack.enter_context(_whole(dump / name, _copier(own)))
            moves += [(own, folder / name), (latest, dump / name)]
            written.paths[name] = dump / name
        for beside, path in moves:
            with _named(path, beside):
                beside.replace(path)
    for name in (more or {}).keys() - written.paths.keys():
        _remove(folder / name, dump / name)
    _sweep(dump, folder)
    return written


def told(written: Written, *, alone: bool) -> list[str]:
    """Return the lines that say where the files are, and complain of those that are not there.

    Of a node that is *alone* nobody looks for lists of nodes that were folded.
    """
    for problem in written.broken:
        complain(problem)
    named = _TOLD if alone else _TOLD_OF_MANY
    paths = {what: written.paths[name] for what, name in named.items() if name in written.paths}
    return [f"{what} {os.path.abspath(path)}" for what, path in paths.items()]


def complain(problem: str) -> None:
    """Tell *problem* in one line on stderr, which may be full as well."""
    with suppress(OSError):
        print(f"node-smoke: {plain(problem, 2000)}", file=sys.stderr)


def _copier(source: Path) -> Writer:
    """Return what writes the content of *source*."""

    def copy(file: BinaryIO) -> None:
        with source.open("rb") as content:
            shutil.copyfileobj(content, file, _PIECE)

    return copy


def _sweep(*folders: Path) -> None:
    """Remove what merges that died left beside their files; what is in use is younger."""
    for folder in folders:
        for path in folder.glob(".*.tmp"):
            beside = _BESIDE.fullmatch(path.name)
            if beside is None or beside[1] not in _ALL:
                continue
            with suppress(OSError):
                if path.lstat().st_mtime < time.time() - _DEAD_SEC:
                    path.unlink()


def _writers(cluster: Cluster, report: str) -> dict[str, Writer]:
    """Return what writes each file that a merge always leaves."""
    passing = [row.name for row in cluster.passing if row.named]
    failing = [row.name for row in cluster.failing if row.named]
    contents = {
        PASSING: _lines(passing),
        FAILING: _lines(failing),
        EXPECTED: _lines(cluster.expected_names),
        PASSING_FOLDED: _folded(passing),
        FAILING_FOLDED: _folded(failing),
        REPORT: report.encode("utf-8", "replace"),
    }
    fixed = {name: _writer(data) for name, data in contents.items()}
    return {**fixed, JUNIT: lambda file: _junit(file, cluster)}


def _writer(data: bytes) -> Writer:
    """Return what writes *data*."""
    return lambda file: file.write(data)


def _junit(file: BinaryIO, cluster: Cluster) -> None:
    """Write the merge for a JUnit reader."""
    from . import junit

    junit.cluster(file, cluster, _checks_of)


def _checks_of(row: Row) -> list[Check]:
    """Return the checks of a node from its file, its findings where that has gone since."""
    from .load import checks_of

    if row.path is not None:
        with suppress(OSError, ValueError):
            return checks_of(row.path)
    return row.digest.findings if row.digest is not None else []


def _lines(names: Iterable[str]) -> bytes:
    """Return *names* one a line, sorted naturally; nothing at all for none."""
    text = "".join(f"{listed(name)}\n" for name in sorted(names, key=natural))
    return text.encode("utf-8", "replace")


def _folded(names: Iterable[str]) -> bytes:
    """Return *names* folded into one line; nothing at all for none."""
    text = hostlist(names)
    return f"{text}\n".encode() if text else b""


def withdraw(dump: Path, run_id: str) -> None:
    """Remove what a merge of this run may have left: it would be taken for its verdict."""
    for folder in (dump, folder_of(dump, run_id)):
        _remove(*(folder / name for name in _ALL))


def _remove(*paths: Path) -> None:
    """Remove files, also those that are not there."""
    for path in paths:
        path.unlink(missing_ok=True)
