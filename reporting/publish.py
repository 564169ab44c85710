"""`publish`: puts one node's result where the merge looks for it.

It runs in a process of its own under a deadline, for the file system may hang.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import msgspec

from .join import Json, join, joinable
from .load import LARGEST, Entry, one
from .model import LOCAL, SCHEMA_VERSION, Document, Mark, Node, Result, same_machine
from .names import fold, plain, stem, stem_of_machine
from .outputs import replacing, say, write


class CannotPublish(Exception):
    """The result can't be published; the message says why."""


def publish(result: Path, dump: Path, window: float) -> int:
    """Publish the file *result* below *dump*; return the exit status."""
    try:
        _publish(result, dump, window)
    except CannotPublish as error:
        print(f"node-smoke: {plain(str(error), 2000)}", file=sys.stderr)
    except OSError as error:
        reason = f"{error.filename or dump}: [Errno {error.errno}] {error.strerror}"
        print(f"node-smoke: {plain(reason, 2000)}", file=sys.stderr)
    else:
        return 0
    return 2


def _publish(result: Path, dump: Path, window: float) -> None:
    """Publish, saying each file that was written."""
    document = _parsed(result)
    node = _node(document, result)
    name = free_stem(dump, node, window)
    if _is_whole(node):
        document = _with_prior(document, node, dump / "smoke" / f"{name}.json", window)
        own, node = node.tiers, _node(document, result)
        if node.tiers != own:
            earlier = ", ".join(tier for tier in node.tiers if tier not in own)
            say(f"joined with {earlier} of the same run: {node.verdict} in all")
    target = dump / "smoke" / _folder(node) / f"{name}.json"
    say(f"result {write(target, _encoded(document))}")
    if not node.replay_of:
        answer_mark(dump, node)
    say(f"junit {_write_junit(dump, node, name)}")


def _is_whole(node: Node) -> bool:
    """Tell whether a result is a verdict on the node."""
    return not node.partial and not node.replay_of


def _folder(node: Node) -> str:
    """Return the folder below `smoke` (and `junit`) for results of this kind."""
    if node.replay_of:
        return "replay"
    return "partial" if node.partial else ""


def _parsed(path: Path) -> Json:
    """Return the document in *path*, even one with NaN, which Python writes and few read."""
    try:
        document = json.loads(path.read_bytes(), parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise CannotPublish(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise CannotPublish(f"{path}: no result, it holds a {type(document).__name__}")
    return document


def _finite(text: str) -> float | None:
    """Return a number that JSON can hold, None for one that is too large for it."""
    number = float(text)
    return number if math.isfinite(number) else None


def _node(document: Json, path: Path) -> Result:
    """Return what the merge will understand of *document*."""
    try:
        node = msgspec.convert(document, Document).node
    except msgspec.ValidationError as error:
        raise CannotPublish(f"{path}: {error}") from error
    if not node.name or node.schema != SCHEMA_VERSION:
        raise CannotPublish(f"{path}: schema {node.schema} of node {node.name!r} is not ours")
    return node


def free_stem(dump: Path, node: Node | Mark, window: float) -> str:
    """Return the file name for the node: another one when a second machine goes by its name."""
    usual = stem(node.name)
    taken = [f"{usual}.json", f"{usual}.started"]
    if isinstance(node, Node):
        taken.append(f"{_folder(node)}/{usual}.json")
    lying = (one(dump / "smoke" / path) for path in taken)
    replay = isinstance(node, Node) and node.replay_of
    if replay or not any(_is_strangers(entry, node, window) for entry in lying):
        return usual
    return stem_of_machine(node.name, node.hostname)


def _is_strangers(entry: Entry | None, node: Node | Mark, window: float) -> bool:
    """Tell whether a file was left by another machine of the same name, in the same run."""
    said = entry.said if entry is not None else None
    if said is None or fold(said.name) != fold(node.name) or said.run_id != node.run_id:
        return False
    if node.run_id == LOCAL and abs(said.started - node.started) > window:
        return False
    return not same_machine(said, node)


def _with_prior(document: Json, node: Node, path: Path, window: float) -> Json:
    """Return the document joined with the result of the same node and run, where there is one."""
    prior = one(path)
    if prior is None or not isinstance(prior.said, Node):
        return document
    if not joinable(node, prior.said, window):
        return document
    try:
        return join(document, _parsed(path))
    except CannotPublish:
        return document


def _encoded(document: Json) -> bytes:
    """Return the document as a file, `node` in front, without the tests where they are too much."""
    ordered: dict[str, Any] = {"node": document["node"], **document}
    data = _compact(ordered)
    if len(data) > LARGEST:
        data = _compact({"node": document["node"], "tests": []})
    if len(data) > LARGEST:
        raise CannotPublish(f"the result is {len(data)} bytes, expected at most {LARGEST}")
    return data


def _compact(document: Json) -> bytes:
    """Return JSON without blanks, and without the halves of characters that nobody can read."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def answer_mark(dump: Path, node: Node | Mark) -> None:
    """Remove the mark that *node* answers, and no other machine's or later run's.

    A part answers only the mark that its own run left.
    """
    first = latest = node.started
    if isinstance(node, Node) and not node.partial:
        first, latest = 0.0, node.ended
    for name in (stem(node.name), stem_of_machine(node.name, node.hostname)):
        path = dump / "smoke" / f"{name}.started"
        entry = one(path)
        mark = entry.said if entry is not None else None
        if not isinstance(mark, Mark) or mark.run_id != node.run_id:
            continue
        if same_machine(mark, node) and first <= mark.started <= latest:
            path.unlink(missing_ok=True)


def _write_junit(dump: Path, node: Result, name: str) -> Path:
    """Write the node's checks for a JUnit reader; a part never takes the place of a whole."""
    from . import junit

    folder = _folder(node)
    if folder == "partial" and not (dump / "smoke" / f"{name}.json").exists():
        folder = ""
    path = dump / "junit" / folder / f"{name}.xml"
    with replacing(path) as file, junit.document(file) as xml:
        junit.suite(xml, node)
    return path
