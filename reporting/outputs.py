"""Writing, so that a reader sees the old file or the new one and never half of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .model import Cluster, Row
from .names import listed, natural, stem

REPORT, PASSING, FAILING, EXPECTED = (
    "smoke_report.md",
    "passing_nodes.txt",
    "failing_nodes.txt",
    "expected_nodes.txt",
)
LISTS = (PASSING, FAILING, EXPECTED)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a file beside *path* that takes its place when all of it is written.

    OSError names *path*, and nothing is left beside it.
    """
    beside = path.with_name(f".{path.stem}.{os.getpid()}.tmp")
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


def write_all(dump: Path, cluster: Cluster, report: str) -> list[Path]:
    """Write a run's report and lists into its folder, then as the latest; return the latter."""
    contents = {
        PASSING: _list(cluster.passing),
        FAILING: _list(cluster.failing),
        EXPECTED: _lines(cluster.expected_names),
        REPORT: report.encode("utf-8", "replace"),
    }
    for folder in (folder_of(dump, cluster.run_id), dump):
        for name, data in contents.items():
            write(folder / name, data)
    return [dump / name for name in (REPORT, PASSING, FAILING)]


def _list(rows: list[Row]) -> bytes:
    """Return the rows' names as the lines of a list; a node without a name can't be listed."""
    return _lines(row.name for row in rows if row.named)


def _lines(names: Iterator[str] | list[str]) -> bytes:
    """Return *names* one a line, sorted naturally; nothing at all for none."""
    text = "".join(f"{listed(name)}\n" for name in sorted(names, key=natural))
    return text.encode("utf-8", "replace")


def withdraw(dump: Path, run_id: str) -> None:
    """Remove the report and lists that a run may have left: they would be taken for its verdict."""
    for folder in (dump, folder_of(dump, run_id)):
        for name in (REPORT, *LISTS):
            (folder / name).unlink(missing_ok=True)
