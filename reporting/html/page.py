"""The page: what it shows is put together here, how it looks is in the templates."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from markupsafe import Markup

from ..model import Cluster, Row
from ..names import hostlist, plain, unaddressed
from ..render import headline
from . import grid, heat, series, strip
from .bands import Bands, bands
from .nodes import details, folded, gpus, number

if TYPE_CHECKING:
    from ..sections import Cause, Section

TEMPLATES = Path(__file__).parent.parent / "templates"
MOST_IN_TABLE = 30
"""Up to so many nodes a table says more than a picture."""
_MOST_ROWS = 200
_MOST_COLUMNS = 16
_MOST_CAUSES = 40
_LONGEST, _SHORT, _LONGEST_NAME, _LONGEST_WORD = 1000, 240, 120, 36
_MOST_NAMED, _MOST_GROUPS = 12, 6


def write(
    file: BinaryIO, cluster: Cluster, sections: Sequence[Section], causes: Sequence[Cause]
) -> None:
    """Write the page of a merge piece by piece."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        name=lambda text: plain(text, _LONGEST_NAME),
        word=lambda text: plain(text, _LONGEST_WORD),
        unaddressed=unaddressed,
        short=lambda text: plain(text, _SHORT),
        few=_few,
        folded=folded,
        number=lambda value: Markup(number(value)),
        gpus=gpus,
        outcome=grid.outcome,
        sign=grid.sign,
    )
    template = environment.get_template("smoke_report.html.j2")
    stream = template.stream(**_context(cluster, sections, causes))
    stream.enable_buffering(200)
    stream.dump(file, encoding="utf-8")


def _context(
    cluster: Cluster, sections: Sequence[Section], causes: Sequence[Cause]
) -> dict[str, Any]:
    """Return all that the template prints."""
    lines = grid.lines(cluster)
    shown = grid.areas(lines)
    layout = bands(len(lines))
    names = [row.name for row in cluster.rows]
    return {
        **_style_and_script(),
        "cluster": cluster,
        "verdict": "FAIL" if cluster.red else "PASS",
        "headline": headline(cluster),
        "facts": _facts(cluster, causes),
        "causes": causes[:_MOST_CAUSES],
        "more_causes": max(0, len(causes) - _MOST_CAUSES),
        "lines": lines,
        "areas": shown,
        "state_of": grid.state_of,
        "small": len(lines) <= MOST_IN_TABLE,
        "tabled": len(lines) <= _MOST_ROWS,
        "picture": grid.picture(lines, shown, layout) if len(lines) > MOST_IN_TABLE else "",
        "legend": grid.legend(),
        "numbers": [_number_of(found, layout, names) for found in series.series(cluster)],
        "levels": series.LEVELS,
        "columns": layout.columns,
        "details": details(lines),
        "sections": sections,
        "names": _names(names),
    }


def _style_and_script() -> dict[str, Any]:
    """Return the style and the script with their hashes: the page allows nothing else to run."""
    found: dict[str, Any] = {}
    for what, file in (("style", "smoke_report.css"), ("script", "smoke_report.js")):
        text = (TEMPLATES / file).read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        found[what], found[f"{what}_hash"] = Markup(text), Markup(f"sha256-{digest}")
    return found


def _facts(cluster: Cluster, causes: Sequence[Cause]) -> list[tuple[str, str, str]]:
    """Return the counts on top: what, how many, and how they are shown."""
    warned = {node for cause in causes if cause.severity == "WARN" for node in cause.nodes}
    warned |= {row.name for row in cluster.rows if _has(row, "WARN")}
    unknown = [row for row in cluster.rows if _has(row, "UNKNOWN")]
    silent = len(cluster.rows) - cluster.reported
    return [
        ("expected", str(cluster.expected), ""),
        ("reported", str(cluster.reported), "gone" if silent else ""),
        ("passed", str(len(cluster.passing)), "ok"),
        ("did not pass", str(len(cluster.failing)), "fail" if cluster.failing else ""),
        ("with warnings", str(len(warned)), "warn" if warned else ""),
        ("not checked in full", str(len(unknown)), "unknown" if unknown else ""),
    ]


def _has(row: Row, outcome: str) -> bool:
    """Tell whether any check of a node ended in *outcome*."""
    return row.digest is not None and any(c.outcome == outcome for c in row.digest.findings)


def _number_of(found: series.Series, layout: Bands, names: list[str]) -> dict[str, Any]:
    """Return one number as the page shows it."""
    small = layout.nodes <= MOST_IN_TABLE and found.gpus <= _MOST_COLUMNS
    return {
        "found": found,
        "plots": [
            {"text": strip.describe(group, found.unit), "svg": strip.plot(group, found)}
            for group in found.groups[:_MOST_GROUPS]
        ],
        "picture": "" if small else heat.picture(found, layout),
        "rows": layout.count * (found.gpus + 1) - 1,
        "table": _table(found, names) if small else [],
        "summary": series.summary(found),
        "worst": series.worst(found, names),
    }


def _table(found: series.Series, names: list[str]) -> list[tuple[str, list[Any]]]:
    """Return the values of the nodes that have any, each with its level."""
    rows = zip(names, found.values, found.levels, strict=True)
    return [
        (name, list(zip(values, levels, strict=True))) for name, values, levels in rows if values
    ]


def _names(names: list[str]) -> Markup:
    """Return the names for the script that says which node lies under the pointer."""
    text = json.dumps([plain(name, _LONGEST_NAME) for name in names], separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _finalize(value: object) -> object:
    """Make foreign text one line without controls; the template escapes it."""
    return value if isinstance(value, Markup | int | float) else plain(str(value), _LONGEST)


def _few(names: list[str]) -> str:
    """Return the first of *names*, folded, and how many more there are."""
    every = _readable(names)
    more = len(names) - _MOST_NAMED
    if more <= 0 or len(every) <= _LONGEST_NAME:
        return every
    return f"{_readable(names[:_MOST_NAMED])} and {more} more"


def _readable(names: list[str]) -> str:
    """Return *names* folded; one that a list would code, as `<missing-0>`, as it is."""
    coded = [name for name in names if hostlist([name]) != name]
    folded_names = hostlist(set(names).difference(coded))
    return ", ".join(filter(None, [folded_names, *(plain(name, 40) for name in coded)]))
