"""A Python behind a line of shell: what a user's own shell does to a run before it begins."""

import shlex
import sys
from pathlib import Path


def python(folder: Path, line: str) -> Path:
    """Return a program that stands in for this Python; *line* starts it as `"$python" "$@"`."""
    path = folder / "behind-a-shell"
    path.write_text(f"#!/bin/bash\npython={shlex.quote(sys.executable)}\n{line}\n")
    path.chmod(0o755)
    return path
