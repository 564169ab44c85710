"""What is shown of each node that failed or warned, as far as a page can hold it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from markupsafe import Markup

from ..digest import Digest
from ..model import Check, Kind, Row
from ..names import hostlist, plain, unaddressed
from .grid import OK, WARN, Line

MOST_BYTES = 7_000_000
"""Of drill-downs: a page of more does not open."""
_MOST_REASONS, _MOST_FINDINGS = 40, 60
_MOST_LISTED = 4000
_MOST_GPUS, _MOST_NUMBERS = 64, 12


class Detail(msgspec.Struct):
    """One node in full."""

    index: int
    """Its place among the cluster's rows."""
    line: Line
    reasons: list[str]
    more_reasons: int
    findings: list[Check]
    more_findings: int
    numbers: list[str]
    """The names of its GPUs' numbers."""

    @property
    def row(self) -> Row:
        """The row of the cluster."""
        return self.line.row

    @property
    def state(self) -> str:
        """How it stands, in the terms of the grid."""
        return WARN if self.line.verdict == OK else self.line.verdict

    @property
    def word(self) -> str:
        """How it stands, in a word."""
        return "WARN" if self.line.verdict == OK else self.row.kind.value

    @property
    def first(self) -> str:
        """What to know of it first."""
        said = (check.message for check in self.findings if check.outcome == "WARN")
        return unaddressed(self.row.reasons[0] if self.row.reasons else next(said, ""))

    @property
    def counts(self) -> str:
        """How its checks ended."""
        counts = self.digest.counts
        parts = (f"{n} {o.lower()}" for o, n in counts.items() if n and o != "checks")
        return f"{counts.get('checks', 0)} checks: {', '.join(parts)}"

    @property
    def digest(self) -> Digest:
        """What is known of it."""
        return self.line.row.digest or Digest()


class Details(msgspec.Struct):
    """The nodes that are shown in full, and how many are not."""

    shown: list[Detail]
    cut: int
    left: str = ""
    """The folded names of those that are not shown."""


def details(found: list[Line]) -> Details:
    """Return the nodes that need a look: who does not pass first, then who warned."""
    wanted = sorted(_wanted(found), key=lambda item: item[0])
    shown: list[Detail] = []
    size = 0
    for _, index in wanted:
        detail = _detail(index, found[index])
        size += _size(detail)
        if size > MOST_BYTES:
            break
        shown.append(detail)
    rest = [found[index].row for _, index in wanted[len(shown) :]]
    return Details(shown, len(rest), folded(rest))


def _wanted(found: list[Line]) -> Iterator[tuple[bool, int]]:
    """Give whether it passes, and the place, of each node with something to look at."""
    for index, line in enumerate(found):
        passes = line.row.kind is Kind.PASS
        digest = line.row.digest
        if not passes or (digest and any(c.outcome == "WARN" for c in digest.findings)):
            yield passes, index


def _detail(index: int, line: Line) -> Detail:
    """Return one node in full."""
    row = line.row
    findings = row.digest.findings if row.digest is not None else []
    said = {check.message for check in findings}
    reasons = [reason for reason in row.reasons if reason not in said]
    gpus = row.digest.gpus if row.digest is not None else []
    return Detail(
        index=index,
        line=line,
        reasons=reasons[:_MOST_REASONS],
        more_reasons=max(0, len(reasons) - _MOST_REASONS),
        findings=findings[:_MOST_FINDINGS],
        more_findings=max(0, len(findings) - _MOST_FINDINGS),
        numbers=sorted({key for gpu in gpus for key in gpu.numbers})[:_MOST_NUMBERS],
    )


def _size(detail: Detail) -> int:
    """Return about how many bytes a node takes in the page."""
    findings = sum(250 + min(len(c.message), 1000) for c in detail.findings)
    reasons = sum(20 + min(len(reason), 1000) for reason in detail.reasons)
    numbers = len(detail.digest.gpus) * (70 + 25 * len(detail.numbers))
    return 900 + findings + reasons + numbers


def gpus(detail: Detail) -> Markup:
    """Return the numbers of a node's GPUs as the rows of a table; there are very many of them."""
    keys = detail.numbers
    return Markup("").join(
        Markup("<tr><td><code>{}</code></td>{}</tr>\n").format(
            plain(gpu.name, 40), Markup("".join([_cell(gpu.numbers.get(key)) for key in keys]))
        )
        for gpu in detail.digest.gpus[:_MOST_GPUS]
    )


def _cell(value: float | None) -> str:
    """Return a number as a cell of a table."""
    return f'<td class="n">{number(value)}</td>'


def number(value: float | None) -> str:
    """Return a number to be read by people."""
    return "-" if value is None else f"{value:.5g}"


def folded(rows: list[Row]) -> str:
    """Return the names of *rows* as a list to copy, cut where it is too long to be read."""
    text = hostlist(row.name for row in rows if row.named)
    return text if len(text) <= _MOST_LISTED else f"{text[: text.rfind(',', 0, _MOST_LISTED)]},…"
