"""A picture as a data URL: half a million cells as elements of a page would not open."""

from __future__ import annotations

import base64
import struct
import zlib

Colour = tuple[int, int, int, int]
"""Red, green, blue, and how far it covers what lies behind it."""
_WITH_PALETTE = 3
"""The colour type of a picture whose pixels are numbers of a palette."""


def data_url(pixels: list[bytes], palette: list[Colour]) -> str:
    """Return the picture of which each row of *pixels* is a row of numbers in *palette*."""
    raw = zlib.compress(b"".join(b"\0" + row for row in pixels), 9)
    return f"data:image/png;base64,{base64.b64encode(_file(pixels, palette, raw)).decode('ascii')}"


def _file(pixels: list[bytes], palette: list[Colour], raw: bytes) -> bytes:
    """Return the PNG file around the compressed rows."""
    size = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, _WITH_PALETTE, 0, 0, 0)
    return b"".join((
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", size),
        _chunk(b"PLTE", bytes(part for colour in palette for part in colour[:3])),
        _chunk(b"tRNS", bytes(colour[3] for colour in palette)),
        _chunk(b"IDAT", raw),
        _chunk(b"IEND", b""),
    ))  # fmt: skip


def _chunk(name: bytes, data: bytes) -> bytes:
    """Return a chunk with its length and check sum."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
