"""A file system that shows a folder as it is, but for files that fail when they are read.

`python -m tests.playing.failing SOURCE MOUNT '{"sys/…/state": "ENODEV"}'` serves it until SIGTERM.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mfusepy import FUSE, FuseOSError, Operations  # type: ignore[import-untyped]

from .fs import number

_SHOWN = ("st_gid", "st_mode", "st_nlink", "st_size", "st_uid")
_TIMES = ("st_atime", "st_ctime", "st_mtime")
_PAGE = 4096
"""What sysfs says of the size of each of its files: one of size 0 would not even be read."""


class Failing(Operations):  # type: ignore[misc]
    """Reads from a folder; opening goes well, as in sysfs, and reading fails where it should."""

    use_ns = True

    def __init__(self, source: Path, failing: dict[str, str]) -> None:
        self._source = source
        self._failing = {f"/{path}": number(name) for path, name in failing.items()}

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        found = os.lstat(self._at(path))
        shown = {name: getattr(found, name) for name in _SHOWN}
        shown |= {name: getattr(found, f"{name}_ns") for name in _TIMES}
        if path in self._failing:
            shown["st_size"] = _PAGE
        return shown

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *os.listdir(self._at(path))]

    def readlink(self, path: str) -> str:
        return os.readlink(self._at(path))

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._at(path))
        return {name: getattr(found, name) for name in dir(found) if name.startswith("f_")}

    def open(self, path: str, flags: int) -> int:
        return os.open(self._at(path), os.O_RDONLY | os.O_CLOEXEC)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        if path in self._failing:
            raise FuseOSError(self._failing[path])
        return os.pread(fh, size, offset)

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def _at(self, path: str) -> str:
        return f"{self._source}{path}"


def main() -> None:
    source, mount, failing = sys.argv[1:]
    FUSE(
        Failing(Path(source), json.loads(failing)), mount, foreground=True, ro=True, nothreads=True
    )


if __name__ == "__main__":
    main()
