"""The file system below a path: results written to a node's own disk never meet."""

from __future__ import annotations

import os
import re
from pathlib import Path

LOCAL = frozenset({
    "aufs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "jfs",
    "nilfs2", "overlay", "ramfs", "reiserfs", "rootfs", "tmpfs", "udf", "vfat", "xfs", "zfs",
})  # fmt: skip
"""Those that one machine alone writes to; what is not listed may be shared."""

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def fstype(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the type of the file system that *path* lies on, empty when that can't be told."""
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    real = os.path.abspath(path.resolve())
    best, found = -1, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5 or not after.split():
            continue
        point = _OCTAL.sub(lambda m: chr(int(m[1], 8)), fields[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, found = len(point), after.split()[0]
    return found
