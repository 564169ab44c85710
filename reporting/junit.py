"""Nodes as JUnit test suites, streamed: one test case a check, the node in the class name.

A document of ten thousand nodes is written as text, for no tree of it fits into memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

from .digest import Digest
from .model import FAILING, Check, Cluster, Kind, Node, Result, Row, coverage, named
from .names import plain

MOST_WHOLE = 200
"""Up to so many nodes each check of each node is a test case."""
_LONGEST_NAME = 300
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"[\w .,:;/()\[\]=+-]*", re.ASCII)
_TAGS = {
    "FAIL": "failure",
    "HUNG": "error",
    "LOST": "error",
    "UNKNOWN": "skipped",
    "N/A": "skipped",
}
ChecksOf = Callable[[Row], Iterable[Check]]
"""Reads the checks of a row's node again."""


class Document:
    """A document that test suites are written into; no two of them go by one name."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._taken: set[str] = set()

    def write(self, text: str) -> None:
        """Write *text* that is XML already."""
        self._file.write(text.encode())

    def name_of(self, node: str) -> str:
        """Return what *node* goes by: names may differ in nothing that XML holds."""
        usual = name = plain(node, _LONGEST_NAME)
        number = 1
        while name in self._taken:
            number += 1
            name = f"{usual}~{number}"
        self._taken.add(name)
        return name


@contextmanager
def document(file: BinaryIO) -> Iterator[Document]:
    """Open the document that test suites are written into."""
    xml = Document(file)
    xml.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n')
    yield xml
    xml.write("</testsuites>\n")


def suite(xml: Document, node: Result) -> None:
    """Write the test suite of one node."""
    name = xml.name_of(node.name)
    _suite(xml, name, coverage(node.checks), _cases(name, node.checks), node)


def cluster(file: BinaryIO, merged: Cluster, checks_of: ChecksOf) -> None:
    """Write the merge: a suite for each of its rows, also for who did not report."""
    folded = len(merged.rows) > MOST_WHOLE
    with document(file) as xml:
        for row in merged.rows:
            _row(xml, row, checks_of, folded)


def _row(xml: Document, row: Row, checks_of: ChecksOf, folded: bool) -> None:
    """Write the test suite of one row; what no check says of it is a case of its own."""
    name = xml.name_of(row.name)
    if row.node is None:
        checks: list[Check] = []
    elif folded and _is_quiet(row):
        _suite(xml, name, {"checks": 1}, [_quiet(name, row.digest)], row.node)
        return
    else:
        checks = list(checks_of(row))
    counts = coverage(checks)
    cases = _cases(name, checks)
    unsaid = _unsaid(row, checks)
    cases += [_verdict(name, row.kind, number, text) for number, text in enumerate(unsaid, 1)]
    counts["checks"] += len(unsaid)
    counts["FAIL" if row.kind is Kind.FAIL else "LOST"] += len(unsaid)
    _suite(xml, name, counts, cases, row.node)


def _is_quiet(row: Row) -> bool:
    """Tell whether a node passed without a warning."""
    found = row.digest.findings if row.digest is not None else []
    return row.kind is Kind.PASS and not any(check.outcome == "WARN" for check in found)


def _unsaid(row: Row, checks: list[Check]) -> list[str]:
    """Return why a node does not pass where none of its checks would say so.

    Of a node that failed that is each reason by itself; whatever else it is, is one thing.
    """
    if row.kind is Kind.PASS:
        return []
    if row.kind is not Kind.FAIL:
        return ["\n".join(row.reasons) or row.kind.value]
    failing = [check for check in checks if check.outcome in FAILING]
    known = {text for check in failing for text in (check.message, named(check))}
    unsaid = [reason for reason in dict.fromkeys(row.reasons) if reason not in known]
    return unsaid if unsaid or failing else [row.kind.value]


def _suite(
    xml: Document, name: str, counts: dict[str, int], cases: list[str], node: Node | None
) -> None:
    """Write a suite around its *cases*."""
    attributes = {
        "name": name,
        "tests": str(counts["checks"]),
        "failures": str(counts.get("FAIL", 0)),
        "errors": str(counts.get("HUNG", 0) + counts.get("LOST", 0)),
        "skipped": str(counts.get("UNKNOWN", 0) + counts.get("N/A", 0)),
        "time": f"{node.seconds:.3f}" if node is not None else "0",
        "hostname": plain(node.hostname, _LONGEST_NAME) if node is not None else "",
    }
    xml.write(f"<testsuite{_attributes(attributes)}>\n{''.join(cases)}</testsuite>\n")


def _cases(node: str, checks: Iterable[Check]) -> list[str]:
    """Return the test cases of a node's checks; one that ran in two tiers has two names."""
    taken: set[tuple[str, str]] = set()
    cases = []
    for check in checks:
        subsystem, _, rest = check.id.partition(".")
        usual = title = (
            f"{rest or subsystem}[{check.device}]" if check.device else rest or subsystem
        )
        number = 1
        while (subsystem, title) in taken:
            number += 1
            title = f"{usual}~{number}"
        taken.add((subsystem, title))
        cases.append(_case(f"{node}.{subsystem}", title, _numbers(check), _outcome(check)))
    return cases


def _case(classname: str, title: str, properties: dict[str, str], inside: str = "") -> str:
    """Return a test case: its *properties*, and *inside*, which is XML already."""
    known = "".join(
        f"<property{_attributes({'name': name, 'value': value})}/>"
        for name, value in properties.items()
        if value
    )
    body = (f"<properties>{known}</properties>" if known else "") + inside
    head = f'<testcase{_attributes({"classname": classname, "name": title})} time="0"'
    return f"{head}>{body}</testcase>\n" if body else f"{head}/>\n"


def _numbers(check: Check) -> dict[str, str]:
    """Return what a check measured, and its warning."""
    return {
        "warning": check.message if check.outcome == "WARN" else "",
        "value": _number(check.value),
        "unit": check.unit,
        "limit": _number(check.limit),
    }


def _number(value: float | None) -> str:
    """Return a number with the digits that it was measured with."""
    return "" if value is None else f"{value:.9g}"


def _outcome(check: Check) -> str:
    """Return how a check ended, where that is not well."""
    tag = _TAGS.get(check.outcome)
    if tag is None:
        return ""
    return f"<{tag}{_attributes({'message': check.message, 'type': check.outcome})}/>"


def _quiet(name: str, digest: Digest | None) -> str:
    """Return the one test case of a node that passed: its numbers, those of its GPUs in order."""
    known = digest or Digest()
    properties = {"checks": str(known.counts.get("checks", ""))}
    properties.update((key, _number(value)) for key, value in sorted(known.values.items()))
    for key in sorted({key for gpu in known.gpus for key in gpu.numbers}):
        values = (gpu.numbers.get(key) for gpu in known.gpus)
        properties[key] = " ".join(_number(value) or "-" for value in values)
    return _case(f"{name}.node", "verdict", properties)


def _verdict(name: str, kind: Kind, number: int, message: str) -> str:
    """Return the test case of what only the merge knows of a node, such as that it is missing."""
    tag = "failure" if kind is Kind.FAIL else "error"
    inside = f"<{tag}{_attributes({'message': message, 'type': kind.value})}/>"
    return _case(f"{name}.node", "verdict" if number == 1 else f"verdict~{number}", {}, inside)


def _attributes(values: dict[str, str]) -> str:
    """Return attributes, without what XML can't hold."""
    return "".join([f" {name}={_quoted(value)}" for name, value in values.items()])


def _quoted(value: str) -> str:
    """Return *value* as an attribute's; of a million, nearly all need no look at each character."""
    return f'"{value}"' if _PLAIN.fullmatch(value) else quoteattr(_ILLEGAL.sub("", value))
