"""The tree that stands in for /sys and /proc: files, and files that fail when they are read."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .case import Entry

_MOUNT_SEC = 10.0
_GONE = "ENOENT"


class NoFuseError(RuntimeError):
    """Files that fail can't be served here; the text says what is missing."""


def lay(root: Path, entries: Iterable[Entry]) -> dict[str, str]:
    """Write *entries* into *root*; return the files that must fail, with the error of each."""
    failing = {}
    for entry in entries:
        path = root / entry.path
        if entry.error == _GONE:
            _remove(path)
            continue
        folder = path if entry.directory else path.parent
        if not folder.is_dir():
            folder.mkdir(parents=True)
        if not entry.directory:
            path.write_bytes(f"{entry.content}\n".encode(errors="surrogateescape"))
        if entry.error:
            failing[entry.path] = entry.error
    return failing


@contextlib.contextmanager
def of_size(folder: Path, kib: int | None) -> Iterator[None]:
    """Have *folder* be a file system of *kib* KiB meanwhile; NoFuseError where that needs root."""
    if kib is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    argv = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)]
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=_MOUNT_SEC)
    except (OSError, subprocess.SubprocessError) as e:
        raise NoFuseError(f"a file system of a size of its own needs root: {e}") from None
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, timeout=_MOUNT_SEC)


def missing() -> str:
    """Return why no file can be made to fail on this machine, or nothing when it can."""
    if importlib.util.find_spec("mfusepy") is None:
        return "the Python package mfusepy is not installed"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is missing or refuses this user"
    if os.geteuid() and not shutil.which("fusermount3") and not shutil.which("fusermount"):
        return "this user needs fusermount3 (Debian's fuse3) to mount"
    return ""


@contextlib.contextmanager
def served(root: Path, failing: dict[str, str], mount: Path) -> Iterator[Path]:
    """Give *root* itself, or, when files must fail, the folder *mount* that shows it with them.

    The file system lives in a process of its own and ends with it.
    """
    if not failing:
        yield root
        return
    if why := missing():
        raise NoFuseError(why)
    mount.mkdir()
    argv = [sys.executable, "-m", "tests.playing.failing", str(root), str(mount)]
    argv.append(json.dumps(failing))
    clone = Path(__file__).parents[2]
    with (mount.parent / "fuse.log").open("wb") as log:
        server = subprocess.Popen(argv, cwd=clone, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _await(server, mount)
        yield mount
    finally:
        _end(server, mount)


def number(name: str) -> int:
    """Return the errno of *name* (`EINVAL`); EIO for one that this system does not know."""
    return int(getattr(errno, name, errno.EIO))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _await(server: subprocess.Popen[bytes], mount: Path) -> None:
    deadline = time.monotonic() + _MOUNT_SEC
    while not mount.is_mount():
        if server.poll() is not None or time.monotonic() > deadline:
            said = (mount.parent / "fuse.log").read_text(errors="replace").strip().splitlines()
            raise NoFuseError(f"the file system did not start: {said[-1] if said else 'no word'}")
        time.sleep(0.01)


def _end(server: subprocess.Popen[bytes], mount: Path) -> None:
    """End the server; libfuse unmounts at SIGTERM, and a mount that is left is taken off."""
    for stop in (signal.SIGTERM, signal.SIGKILL):
        server.send_signal(stop)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=5)
            break
    if mount.is_mount():
        subprocess.run(["umount", "-l", mount], check=False)
