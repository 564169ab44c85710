"""A number of each GPU as a colour: by node from left to right, by GPU from top to bottom."""

from __future__ import annotations

from markupsafe import Markup

from .bands import Bands
from .png import Colour, data_url
from .series import ABSENT, Series

PALETTE: list[Colour] = [
    (0, 0, 0, 0),
    (96, 165, 220, 150),
    (128, 150, 170, 70),
    (214, 178, 84, 150),
    (196, 118, 16, 255),
    (222, 96, 30, 255),
    (205, 45, 50, 255),
    (190, 20, 140, 255),
]
"""By level; each can be told from a white and from a black page."""


def picture(found: Series, layout: Bands) -> Markup:
    """Return the picture as a data URL, a pixel a GPU, with an empty row between two bands."""
    pixels: list[bytes] = []
    for band in layout.each():
        filled = [found.levels[i].ljust(found.gpus, bytes([ABSENT])) for i in band]
        for gpu in range(found.gpus):
            line = bytes(levels[gpu] for levels in filled)
            pixels.append(line.ljust(layout.columns, bytes([ABSENT])))
        pixels.append(bytes(layout.columns))
    return Markup(data_url(pixels[:-1], PALETTE))
