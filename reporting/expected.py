"""Which nodes should have reported: without that, a node that died cannot be missed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from .load import contents
from .names import fold

_LARGEST_RANGE = 1_000_000
_RANGE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_SCHEDULED = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")


class CannotMerge(Exception):
    """The merge can't be done as asked; the message says why and what to do."""


class Expected(msgspec.Struct):
    """The nodes that should report: by name, by number alone, or only those that show up."""

    names: list[str] | None = None
    count: int | None = None
    _keys: set[str] = set()

    def __post_init__(self) -> None:
        self._keys = {fold(name) for name in self.names or ()}

    def has(self, name: str) -> bool:
        """Tell whether a node is expected; all that show up are, when no names were given."""
        return self.names is None or fold(name) in self._keys

    @property
    def size(self) -> int:
        """How many nodes are expected; 0 when nobody said."""
        return len(self.names) if self.names is not None else self.count or 0


def find(
    listed: str | None, count: int | None, environment: Mapping[str, str], *, scheduled: bool
) -> Expected:
    """Return the nodes to expect: the file's, else the scheduler's step's or job's, else a count.

    *scheduled* says whether the scheduler's variables are about the run that is merged. CannotMerge
    when a list can't be read: an empty list in its place would make every node look unexpected.
    """
    if listed is not None:
        return Expected(names=_of_file(listed))
    for variable in _SCHEDULED if scheduled else ():
        value = environment.get(variable, "").strip()
        if value:
            return Expected(names=expand([value], variable))
    return Expected(count=count)


def _of_file(listed: str) -> list[str]:
    """Return the names in the file *listed*."""
    try:
        lines = contents(Path(listed)).decode("utf-8-sig").splitlines()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        raise CannotMerge(f"the list of expected nodes {listed} can't be read: {reason}") from error
    except ValueError as error:
        raise CannotMerge(f"the list of expected nodes {listed} is no text: {error}") from error
    return expand((_COMMENT.sub("", line) for line in lines), listed)


def expand(lines: Iterable[str], source: str) -> list[str]:
    """Return the names in *lines*, brackets expanded, each once, in the order given."""
    names: dict[str, str] = {}
    for word in (word for line in lines for word in line.split()):
        for name in _brackets(word, source) if "[" in word or "]" in word else word.split(","):
            if name:
                names.setdefault(fold(name), name)
    if not names:
        raise CannotMerge(f"{source} names no node: list one name a line, or leave it out")
    return list(names.values())


def _brackets(word: str, source: str) -> list[str]:
    """Return the names that a node set like `node[01-04],login1` stands for."""
    sizes = [int(last) - int(first) for first, last in _RANGE.findall(word)]
    if max(sizes, default=0) >= _LARGEST_RANGE:
        raise CannotMerge(f"{source}: {word!r} stands for more nodes than there can be")
    try:
        from ClusterShell.NodeSet import (  # type: ignore[import-untyped]
            RESOLVER_NOGROUP,
            NodeSet,
            NodeSetException,
        )
    except ImportError as error:
        raise CannotMerge(f"{source}: {word!r} needs ClusterShell: {error}") from error
    try:
        return [str(name) for name in NodeSet(word, resolver=RESOLVER_NOGROUP)]
    except NodeSetException as error:
        raise CannotMerge(f"{source}: {word!r} can't be expanded: {error}") from error
