"""Pictures that need no script: figures 3 and 4 as tiny images, and the sketch of DeepSea."""

import base64
import struct
import zlib

import numpy as np

from klearning.arrays.types import Floats
from klearning.experiments.store import Record
from klearning.papers.odonoghue2021 import heatmaps
from klearning.report.markup import Html, element

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


def sketch(depth: int = 6, pitch: int = 50, box: int = 34) -> Html:
    """DeepSea as an SVG: cells, the two moves, the one path that pays."""
    cells, moves = [], []
    for row in range(depth):
        for column in range(row + 1):
            kind = "cell goal" if row == column == depth - 1 else ("cell path" if row == column else "cell")
            corner = {"x": column * pitch + 3, "y": row * pitch + 3}
            cells.append(element("rect", **corner, width=box, height=box, rx=7, class_=kind))
            if row < depth - 1:
                moves.append(_move(column, row, column + 1, pitch, box, good=row == column))
                moves.append(_move(column, row, max(column - 1, 0), pitch, box))
    middle = box / 2 + 3
    end = (depth - 1) * pitch + middle
    prize = element("text", "1", x=f"{end:g}", y=f"{end + 6:g}", class_="prize")
    diver = element("circle", cx=f"{middle:g}", cy=f"{middle:g}", r=9, class_="diver", id="diver")
    head = element("path", d="M0 0 L7 3.5 L0 7 Z", class_="head")
    marker = element("marker", head, id="head", markerWidth=7, markerHeight=7, refX=5, refY=3.5, orient="auto",
                     markerUnits="userSpaceOnUse")  # fmt: skip
    size = (depth - 1) * pitch + box + 6
    said = f"DeepSea of depth {depth}: the diver starts at the top left, the treasure is at the bottom right"
    drawn = [element("defs", marker), *moves, *cells, prize, diver]
    return element("svg", *drawn, viewBox=f"0 0 {size} {size}", role="img", aria_label=said, class_="sketch", id="sea",
                   data_depth=depth, data_pitch=pitch, data_middle=f"{middle:g}")  # fmt: skip


def _move(column: int, row: int, to: int, pitch: int, box: int, good: bool = False) -> Html:
    """A line from one cell's edge to another's."""
    x, y = column * pitch + box / 2 + 3, row * pitch + box / 2 + 3
    dx, dy = (to - column) * pitch, float(pitch)
    a = box / 2 / pitch
    ends = {"x1": x + a * dx, "y1": y + a * dy, "x2": x + (1 - a) * dx, "y2": y + (1 - a) * dy}
    kind = {"class_": "move path", "marker_end": "url(#head)"} if good else {"class_": "move"}
    return element("line", **{key: f"{value:g}" for key, value in ends.items()}, **kind)
