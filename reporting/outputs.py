"""Writing, so that a reader sees the old file or the new one and never half of one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .model import Check, Cluster, Row
from .names import hostlist, listed, natural, stem

REPORT, PAGE, SUMMARY, JUNIT = (
    "smoke_report.md",
    "smoke_report.html",
    "summary.json",
    "smoke_junit.xml",
)
PASSING, FAILING, EXPECTED = "passing_nodes.txt", "failing_nodes.txt", "expected_nodes.txt"
PASSING_FOLDED, FAILING_FOLDED = "passing_nodes.hostlist", "failing_nodes.hostlist"
LISTS = (PASSING, FAILING, EXPECTED, PASSING_FOLDED, FAILING_FOLDED)

Writer = Callable[[BinaryIO], object]
"""Writes the content of a file, a piece at a time where it is long."""
_PIECE = 1 << 20


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file beside *path* that takes its place when all of it is written.

    OSError names *path*, and nothing is left beside it.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with beside.open("xb") as file:
            yield file
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write(path: Path, data: bytes) -> Path:
    """Write *data* in place of *path*."""
    with replacing(path) as file:
        file.write(data)
    return path


def say(line: str) -> None:
    """Print *line* at once: the caller may lose patience; one that has gone changes no verdict."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def folder_of(dump: Path, run_id: str) -> Path:
    """Return the folder of one run's outputs."""
    return dump / "runs" / stem(run_id)


def write_all(
    dump: Path, cluster: Cluster, report: str, more: Mapping[str, Writer] | None = None
) -> list[Path]:
    """Write all that is said of a run into its folder, then as the latest.

    *more* are the files, by name, that others write. The latest are replaced when all of them are
    whole; returned are the report and the lists of who passed and who did not.
    """
    folder = folder_of(dump, cluster.run_id)
    names = []
    for name, writer in {**_writers(cluster, report), **(more or {})}.items():
        with replacing(folder / name) as file:
            writer(file)
        names.append(name)
    with ExitStack() as latest:
        for name in names:
            target = latest.enter_context(replacing(dump / name))
            with (folder / name).open("rb") as source:
                shutil.copyfileobj(source, target, _PIECE)
    return [dump / name for name in (REPORT, PASSING, FAILING)]


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
        for name in (REPORT, PAGE, SUMMARY, JUNIT, *LISTS):
            (folder / name).unlink(missing_ok=True)
