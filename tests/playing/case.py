"""A recorded case: a folder with what was seen, and what the suite should make of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

TREES = ("tree.tsv", "proc.tsv", "module.tsv")
ANSWERS = ("stdout", "xml", "txt", "csv", "dmesg", "journal", "lines")
"""What a tool printed, by the file's ending; the first that is there counts."""
_TOOLS = {"dmesg": "dmesg", "lines": "dmesg", "journal": "journalctl"}
"""Whose answer it is, where the ending says so."""
_PREFIX = "input."


class NotACaseError(ValueError):
    """The folder holds no case that can be read; the text says why."""


@dataclass(frozen=True)
class Entry:
    """One line of a tree: a file with `content`, one that fails with `error`, or a directory."""

    path: str
    content: str = ""
    error: str = ""
    directory: bool = False


@dataclass(frozen=True)
class Variant:
    """One recording of a case: what the tool answered, and the files that lay around it."""

    name: str
    answered: bool = False
    stdout: str = ""
    stderr: str = ""
    status: int = 0
    seconds: float = 0.0
    tool: str = ""
    """The tool that answered, where the file's ending tells it and not the case."""
    shm_kib: int | None = None
    """How large /dev/shm is, in KiB."""
    tree: tuple[Entry, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """What case.json says, and the variants to be played; `play` is None for knowledge only."""

    name: str
    topic: str
    tool: str
    version: str
    play: dict[str, str | None] | None
    variants: tuple[Variant, ...]


def read(folder: Path) -> Case:
    """Return the case in *folder*; NotACaseError when there is none."""
    try:
        told = json.loads((folder / "case.json").read_bytes())
        topic, play = told["topic"], told.get("play", {})
        pieces = _pieces(folder)
        names = sorted(pieces if not play and play is not None else play or {})
        return Case(
            name=folder.resolve().name,
            topic=str(topic),
            tool=str(told.get("tool", "")),
            version=str(told.get("version", "")),
            play=None if play is None else {str(k): v for k, v in play.items()},
            variants=tuple(_variant(name, pieces) for name in names),
        )
    except OSError as e:
        raise NotACaseError(f"{folder}: {e.strerror}: {e.filename}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise NotACaseError(f"{folder} can't be read: {e!r}") from None


def _pieces(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the files of each variant by their ending; `""` is the variant without a name."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob(f"{_PREFIX}*")):
        rest = path.name.removeprefix(_PREFIX)
        ending = next((t for t in TREES if f".{rest}".endswith(f".{t}")), rest.rpartition(".")[2])
        name = rest.removesuffix(ending).removesuffix(".")
        found.setdefault(name, {})[ending] = path
    return found


def _variant(name: str, pieces: dict[str, dict[str, Path]]) -> Variant:
    mine = pieces.get(name, {})
    if not mine:
        raise NotACaseError(f"there is no file of the variant {name!r}, which is to be played")
    answers = [mine[ending] for ending in ANSWERS if ending in mine]
    answered = bool(answers) or "stderr" in mine
    # An answer is whole as it is, but variants that differ in something else share one tree.
    trees = mine if answered or any(t in mine for t in TREES) else pieces.get("", {})
    files = [e for t in TREES if t in trees for e in entries(_text(trees[t]))]
    if "limits" in mine:
        files.append(Entry("proc/self/limits", _text(mine["limits"])))
    return Variant(
        name=name,
        answered=answered,
        tool=next((_TOOLS[ending] for ending in _TOOLS if ending in mine), ""),
        shm_kib=_shm(_text(mine.get("df"))),
        stdout=_text(answers[0]) if answers else "",
        stderr=_text(mine.get("stderr")),
        status=int(_text(mine.get("rc")).strip() or 0),
        seconds=float(_text(mine.get("wall_s")).strip() or 0),
        tree=tuple(files),
        environment=_environment(_text(mine.get("env"))),
    )


def entries(text: str) -> list[Entry]:
    """Return the files of a tree: `path<TAB>content` a line."""
    found = []
    for line in text.splitlines():
        path, tab, content = line.partition("\t")
        if not path.strip("/ "):
            continue
        if ".." in path.split("/"):
            raise NotACaseError(f"{path}: leads out of the tree")
        directory = not content and path.endswith("/")
        error = content[1:] if tab and content.startswith("!E") else ""
        content = "" if error or directory else content
        found.append(Entry(path.strip("/"), content, error, directory))
    return found


def _shm(text: str) -> int | None:
    """Return the size that a line of `df -k` tells of /dev/shm."""
    rows = (line.split() for line in text.splitlines())
    return next((int(r[1]) for r in rows if r and r[-1] == "/dev/shm" and r[1].isdecimal()), None)


def _environment(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {
        name.removeprefix("export ").strip(): value.strip() for name, sep, value in pairs if sep
    }


def _text(path: Path | None) -> str:
    return path.read_bytes().decode(errors="surrogateescape") if path else ""
