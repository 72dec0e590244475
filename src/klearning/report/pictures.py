"""Pictures that need no script: figures 3 and 4 as tiny images, and the sketch of DeepSea."""

import base64
import struct
import zlib

import numpy as np

from klearning.compiled import Floats
from klearning.experiments.store import Record
from klearning.papers.odonoghue2021 import heatmaps
from klearning.report.markup import Html, element

BLUE = (30, 111, 200)
SHADES = 64


def heat_image(picture: Floats) -> str:
    """A PNG in an address, a pixel a cell: blue, the less the value the more transparent, so that it suits any theme."""
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


def strip(record: Record) -> Html:
    """Value above, visits below, one column a snapshot: the layout of the paper's figures 3 and 4."""
    depth = record.spec.world["depth"]
    values = record.arrays["snapshot_values"]
    visits = record.arrays["snapshot_visits"].sum(axis=1)
    cells = []
    for t, value, visit in zip(record.spec.snapshots, values, visits):
        reached = int(np.flatnonzero(np.nansum(heatmaps.grid(visit, depth), axis=0) > 0).max()) + 1
        said_value = f"Values at t = {t}: from {value.min():.3g} to {value.max():.3g}; {value[0]:.3g} at the start"
        said_visits = f"Visits until t = {t}: columns 1 to {reached} of {depth} were reached"
        shown = [
            element(
                "img", src=heat_image(heatmaps.grid(picture, depth)), alt=said, title=said, width=depth, height=depth
            )
            for picture, said in ((value, said_value), (np.log1p(visit), said_visits))
        ]
        cells.append(element("div", element("span", f"t = {t:,}", class_="t"), *shown, class_="moment"))
    names = element(
        "div", element("span", "", class_="t"), element("span", "value"), element("span", "visits, log"), class_="names"
    )
    return element("div", names, *cells, class_="strip")


def sketch(depth: int = 6, cell: int = 44) -> Html:
    """DeepSea as an SVG: cells, the two moves, the one path that pays."""
    size = depth * cell + 8
    parts = []
    for row in range(depth):
        for column in range(row + 1):
            goal = row == column == depth - 1
            kind = "cell goal" if goal else ("cell path" if row == column else "cell")
            parts.append(
                element(
                    "rect", x=column * cell + 4, y=row * cell + 4, width=cell - 3, height=cell - 3, rx=6, class_=kind
                )
            )
    for row in range(depth - 1):
        for column in range(row + 1):
            parts.append(_move(column, row, column + 1, cell, "move path" if row == column else "move"))
            parts.append(_move(column, row, max(column - 1, 0), cell, "move"))
    middle = cell / 2 + 3
    end = (depth - 1) * cell + middle
    parts.append(element("text", "1", x=f"{end:g}", y=f"{end + 6:g}", class_="prize"))
    parts.append(element("circle", cx=f"{middle:g}", cy=f"{middle:g}", r=10, class_="diver", id="diver"))
    said = f"DeepSea of depth {depth}: a triangle of cells; the diver starts at the top left, the treasure is at the bottom right"
    return element("svg", *parts, viewBox=f"0 0 {size} {size}", role="img", aria_label=said, class_="sketch", id="sea",
                   data_depth=depth, data_cell=cell)  # fmt: skip


def _move(column: int, row: int, to: int, cell: int, kind: str) -> Html:
    x, y = column * cell + cell / 2 + 3, row * cell + cell / 2 + 3
    dx, dy = (to - column) * cell, float(cell)
    a, b = 0.34, 0.60
    return element(
        "line", x1=f"{x + a * dx:g}", y1=f"{y + a * dy:g}", x2=f"{x + b * dx:g}", y2=f"{y + b * dy:g}", class_=kind
    )
