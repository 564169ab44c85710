"""A node as a JUnit test suite, streamed: one test case a check, the node in the class name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from .model import Check, Node, coverage

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@contextmanager
def document(file: BinaryIO) -> Iterator[XMLGenerator]:
    """Open the document that test suites are written into."""
    xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
    xml.startDocument()
    with _element(xml, "testsuites"):
        xml.characters("\n")
        yield xml
    xml.endDocument()


@contextmanager
def _element(xml: XMLGenerator, tag: str, **attributes: str) -> Iterator[None]:
    """Write one element around what is written inside; what XML can't hold is left out."""
    clean = {name: _ILLEGAL.sub("", value) for name, value in attributes.items()}
    xml.startElement(tag, AttributesImpl(clean))
    yield
    xml.endElement(tag)


def suite(xml: XMLGenerator, node: Node) -> None:
    """Write the test suite of one node."""
    counts = coverage(node.checks)
    attributes = {
        "name": node.name,
        "tests": str(counts["checks"]),
        "failures": str(counts["FAIL"]),
        "errors": str(counts["HUNG"] + counts["LOST"]),
        "skipped": str(counts["UNKNOWN"] + counts["N/A"]),
        "time": f"{node.seconds:.3f}",
        "hostname": node.hostname,
    }
    with _element(xml, "testsuite", **attributes):
        xml.characters("\n")
        for check in node.checks:
            _case(xml, node.name, check)
            xml.characters("\n")
    xml.characters("\n")


def _case(xml: XMLGenerator, node: str, check: Check) -> None:
    """Write the test case of one check."""
    subsystem, _, name = check.id.partition(".")
    device = f"[{check.device}]" if check.device else ""
    classname = f"{node}.{subsystem}"
    title = f"{name or subsystem}{device}"
    with _element(xml, "testcase", classname=classname, name=title, time="0"):
        _properties(xml, check)
        _outcome(xml, check)


def _properties(xml: XMLGenerator, check: Check) -> None:
    """Write what a check measured, and its warning."""
    values = {
        "warning": check.message if check.outcome == "WARN" else "",
        "value": "" if check.value is None else f"{check.value:.9g}",
        "unit": check.unit,
        "limit": "" if check.limit is None else f"{check.limit:.9g}",
    }
    known = {name: value for name, value in values.items() if value}
    if not known:
        return
    with _element(xml, "properties"):
        for name, value in known.items():
            with _element(xml, "property", name=name, value=value):
                pass


def _outcome(xml: XMLGenerator, check: Check) -> None:
    """Write how a check ended, where that is not well."""
    tag = {
        "FAIL": "failure",
        "HUNG": "error",
        "LOST": "error",
        "UNKNOWN": "skipped",
        "N/A": "skipped",
    }.get(check.outcome)
    if tag is not None:
        with _element(xml, tag, message=check.message, type=check.outcome):
            pass
