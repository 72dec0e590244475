"""A table of numbers as a tiny image, for pages: it needs no script and no Matplotlib."""

import base64
import struct
import zlib

import numpy as np

from klearning.numerics.types import Floats

BLUE = (30, 111, 200)
SHADES = 64


def heat_image(picture: Floats) -> str:
    """A PNG in an address, a pixel a cell: blue, the lower the more transparent, so that it suits any theme."""
    low, high = np.nanmin(picture), np.nanmax(picture)
    share = (picture - low) / (high - low) if high > low else np.where(np.isnan(picture), np.nan, 0.0)
    shade = np.where(np.isnan(share), 0, 1 + np.round(share * (SHADES - 2))).astype(np.uint8)
    alpha = bytes([0, *(int(20 + 235 * k / (SHADES - 2)) for k in range(SHADES - 1))])
    lines = b"".join(b"\0" + row.tobytes() for row in shade)
    height, width = picture.shape
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
    data += _chunk(b"PLTE", bytes(BLUE) * SHADES) + _chunk(b"tRNS", alpha)
    data += _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
