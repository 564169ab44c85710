"""Many files read by several processes, with the same result as by one.

A process that dies costs no file: what it did not deliver is read here.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_T = TypeVar("_T")
_R = TypeVar("_R")

FEWEST = 200
"""For fewer files than this another process is not worth its start."""
_MOST_WORKERS = 4
_CHUNK = 64
"""Files whose answers travel together: what they share travels once, and little is in flight."""


def read_all(read: Callable[[_T], _R], files: Sequence[_T]) -> list[_R]:
    """Return what *read* returns for each of *files*, in their order."""
    workers = min(_MOST_WORKERS, _processors()) if len(files) >= FEWEST and _may_fork() else 1
    if workers < 2:
        return [read(file) for file in files]
    found: dict[int, list[_R]] = {}
    starts = range(0, len(files), _CHUNK)
    with _many_objects():
        _gather(read, files, [starts[k::workers] for k in range(workers)], found)
    answers: list[_R] = []
    for start in starts:
        chunk = files[start : start + _CHUNK]
        answers += found.pop(start) if start in found else [read(file) for file in chunk]
    return answers


@contextmanager
def _many_objects() -> Iterator[None]:
    """Keep the search for cycles away from what is read: it stays, and would be gone through often.

    What is there at the end is frozen: all that follows looks at it, and none of it is garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _may_fork() -> bool:
    """Tell whether a fork is safe: no other thread may hold a lock that its copy would wait for."""
    return sys.platform == "linux" and threading.active_count() == 1


def _gather(
    read: Callable[[_T], _R],
    files: Sequence[_T],
    shares: list[range],
    found: dict[int, list[_R]],
) -> None:
    """Have each share read by a process of its own; fill *found* with what they deliver."""
    import multiprocessing.connection  # only a large merge needs it

    context = multiprocessing.get_context("fork")
    readers, processes = [], []
    for share in shares:
        reader, writer = context.Pipe(duplex=False)
        readers.append(reader)
        arguments = (read, files, share, writer, [*readers])
        process = context.Process(target=_work, args=arguments, daemon=True)
        with suppress(OSError):  # no more processes are to be had: this share is read here
            process.start()
            processes.append(process)
        writer.close()
    while readers:
        ready = multiprocessing.connection.wait(readers)
        for reader in [one for one in readers if one in ready]:
            if not _take(reader, found):
                readers.remove(reader)
                reader.close()
    for process in processes:
        process.join()


def _take(reader: Connection, found: dict[int, list[_R]]) -> bool:
    """Take one chunk into *found*; False when there is no more to come."""
    try:
        start, answers = pickle.loads(reader.recv_bytes())
    except (EOFError, OSError, pickle.UnpicklingError):
        return False
    found[start] = answers
    return True


def _work(
    read: Callable[[_T], _R],
    files: Sequence[_T],
    share: range,
    writer: Connection,
    others: list[Connection],
) -> None:
    """Read a share of the files, chunk by chunk, for as long as somebody takes them."""
    for reader in others:  # ours to close, or a write would wait for ourselves to read it
        reader.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked us hears it as well, and ends us
    gc.disable()  # nothing here outlives its chunk
    with suppress(BrokenPipeError):
        for start in share:
            answers = [read(file) for file in files[start : start + _CHUNK]]
            try:
                data = pickle.dumps((start, answers), pickle.HIGHEST_PROTOCOL)
            except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
                continue  # what can't travel is read by who asked
            writer.send_bytes(data)
