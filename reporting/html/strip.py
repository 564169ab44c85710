"""Where the values of a number lie: each GPU's position has a line, a limit and the median too."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from .series import Group, Series

_WIDTH, _LEFT, _RIGHT = 1200.0, 46.0, 24.0
_BINS = 560
_HEAD, _LINE, _FOOT = 30.0, 7.0, 18.0
_CLASSES = ("few", "some", "many")


def plot(group: Group, found: Series) -> Markup:
    """Return the plot of one kind of GPUs as SVG; what falls together is drawn once."""
    unit = found.unit
    numbers = [value for _, value in group.values]
    marked = [*numbers, *([group.limit] if group.limit is not None else [])]
    low, high = min(marked), max(marked)
    lines = 1 + max(gpu for gpu, _ in group.values)
    bottom = _HEAD + lines * _LINE
    head = Markup(
        '<svg class="strip" viewBox="0 0 {} {}" role="img" aria-label="{}">'
    ).format(_WIDTH, bottom + _FOOT, f"{found.title}: {describe(group, unit)}")  # fmt: skip
    parts = [head, _dots(group, low, high), _line("median", group.median, low, high, bottom, unit)]
    if group.limit is not None:
        parts.append(_line("limit", group.limit, low, high, bottom, unit))
    parts += [_text(_LEFT, bottom + 13, "start", f"{low:.5g}"), _lanes(found.places[:lines])]
    parts.append(_text(_WIDTH - _RIGHT, bottom + 13, "end", f"{high:.5g} {unit}"))
    return Markup("").join([*parts, Markup("</svg>")])


def describe(group: Group, unit: str) -> str:
    """Return the plot in words."""
    values = [value for _, value in group.values]
    limit = f", limit {group.limit:.5g}" if group.limit is not None else ""
    return (
        f"{group.name}, {len(values)} values: {min(values):.5g} to {max(values):.5g},"
        f" median {group.median:.5g}{limit} {unit}".rstrip()
    )


def _x(value: float, low: float, high: float) -> float:
    """Return where a value lies; in the middle when all are the same."""
    return _LEFT + _part(value, low, high) * (_WIDTH - _LEFT - _RIGHT)


def _part(value: float, low: float, high: float) -> float:
    """Return how far from *low* to *high* a value lies, however small both are."""
    span = high - low
    return (value - low) / span if span > 0 else 0.5


def _dots(group: Group, low: float, high: float) -> Markup:
    """Return the values as marks of three strengths, by how many fall together."""
    step = (_WIDTH - _LEFT - _RIGHT) / _BINS
    cells = Counter([(int(_part(value, low, high) * _BINS), gpu) for gpu, value in group.values])
    most = max(cells.values())
    paths: dict[str, list[str]] = {}
    for (x, gpu), count in sorted(cells.items()):
        strength = _CLASSES[0 if count == 1 else 1 if count <= most / 3 else 2]
        at = f"M{_LEFT + x * step:.5g} {_HEAD + gpu * _LINE:g}"
        paths.setdefault(strength, []).append(f"{at}h{max(step, 2):.3g}v5h-{max(step, 2):.3g}z")
    return Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(name, "".join(paths[name]))
        for name in _CLASSES
        if name in paths
    )


def _line(what: str, value: float, low: float, high: float, bottom: float, unit: str) -> Markup:
    """Return a line with its label, on the side where there is room."""
    x = _x(value, low, high)
    anchor = "end" if x > _WIDTH * 0.8 else "start"
    y = 11 if what == "limit" else 24
    beside = x + (-4 if anchor == "end" else 4)
    mark = Markup('<path class="{}" d="M{:.5g} {}V{:g}"/>').format(what, x, y - 9, bottom)
    return mark + _text(beside, y, anchor, f"{what} {value:.5g} {unit}".rstrip())


def _lanes(places: list[str]) -> Markup:
    """Return the first and the last place's name beside their lines."""
    named = [(0, places[0]), (len(places) - 1, places[-1])][: len(places)]
    return Markup("").join(
        _text(_LEFT - 6, _HEAD + 6 + line * _LINE, "end", place) for line, place in named
    )


def _text(x: float, y: float, anchor: str, text: str) -> Markup:
    """Return a label."""
    return Markup('<text x="{:.5g}" y="{:g}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
