"""Pen and paper of the drawings that are no charts: cards, matrices and arrows, in inches."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

from tfmlib.plots.cells import colour_scale
from tfmlib.plots.colours import BLOCKED, INK, MUTED, ON_ACCENT, PALE, PAPER, VERMILLION, WIDTH
from tfmlib.plots.picture import Picture
from tfmlib.plots.style import house_style, text_colour
from tfmlib.plots.words import number_texts
from tfmlib.support.arrays import Array, ArrayLike

Point = tuple[float, float]
NARROW = 0.058  # inches: about the width of a letter at 9 points


@dataclass(frozen=True)
class Box:
    """Where something was drawn, and the middles of its sides, for arrows to begin and end at."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def left(self) -> Point:
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> Point:
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> Point:
        return self.x + self.width / 2, self.y + self.height


class Sketch:
    """Draws cards, texts, matrices and arrows; x and y are inches from the upper left corner."""

    def __init__(self, axes: Axes):
        self.axes = axes

    def card(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        face: str = PAPER,
        edge: str = MUTED,
        line: float = 1.0,
        dash: str = "-",
    ) -> Box:
        style = "round,pad=0,rounding_size=0.06"
        look: dict[str, Any] = {
            "facecolor": face,
            "edgecolor": edge,
            "linewidth": line,
            "linestyle": dash,
        }
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, style, **look))
        return Box(x, y, width, height)

    def text(self, x: float, y: float, text: str, hot: bool = False, **kwargs: Any) -> None:
        look: dict[str, Any] = {"color": INK, "fontsize": 9, "ha": "left", "va": "center_baseline"}
        look |= kwargs
        if hot:
            look["color"] = ON_ACCENT
        self.axes.text(x, y, text, **look)

    def note(self, x: float, y: float, text: str, **kwargs: Any) -> None:
        """Write a remark beside a drawing, smaller and paler than its labels."""
        look: dict[str, Any] = {"color": MUTED, "fontsize": 8.5}
        self.text(x, y, text, **look | kwargs)

    def labelled(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        label: str,
        face: str = PALE,
        edge: str = MUTED,
        **kwargs: Any,
    ) -> Box:
        """Draw a card with a text in its middle, black or white on a strong colour."""
        box = self.card(x, y, width, height, face, edge)
        colour = INK if face in (PAPER, PALE) else text_colour(face)
        look: dict[str, Any] = {"ha": "center", "color": colour}
        self.text(*box.centre, label, **look | kwargs)
        return box

    def chips(
        self, x: float, y: float, words: Sequence[str], faces: Sequence[str] = ()
    ) -> list[Box]:
        """Draw words as chips in a row, each as wide as its text."""
        boxes = []
        for k, word in enumerate(words):
            face = faces[k] if faces else PALE
            width = NARROW * 1.2 * max(len(word), 1) + 0.12
            boxes.append(self.labelled(x, y, width, 0.24, word, face))
            x += width + 0.06
        return boxes

    def matrix(
        self,
        x: float,
        y: float,
        values: ArrayLike,
        name: str = "",
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        cell: tuple[float, float] = (0.4, 0.24),
        texts: Sequence[Sequence[str]] | None = None,
        limit: float | None = None,
        lit: Collection[tuple[int, int]] = (),
        blank: Collection[tuple[int, int]] = (),
    ) -> Box:
        """Draw numbers as coloured cells, the first row on top; return where the cells are.

        `lit` cells are framed, `blank` ones are left empty; −∞ is grey. `limit` is the value of the
        strongest colour, to be shared by matrices that are compared; a negative one gives signed
        colours also where no value is negative. `texts=[]` writes no numbers.
        """
        matrix = np.atleast_2d(np.asarray(values, float))
        box = Box(x, y, cell[0] * matrix.shape[1], cell[1] * matrix.shape[0])
        if texts is None:
            written = np.array(number_texts(matrix.ravel())).reshape(matrix.shape).tolist()
        else:
            written = texts or [[""] * matrix.shape[1]] * matrix.shape[0]
        faces = _faces(matrix, limit)
        for i, j in np.ndindex(matrix.shape):
            corner = (x + cell[0] * j, y + cell[1] * i)
            face = PALE if (i, j) in blank else faces[i][j]
            self.axes.add_patch(Rectangle(corner, *cell, facecolor=face, edgecolor=PAPER, lw=1.2))
            if (i, j) not in blank:
                middle = (corner[0] + cell[0] / 2, corner[1] + cell[1] / 2)
                self.text(*middle, written[i][j], ha="center", fontsize=8, color=text_colour(face))
        for i, j in lit:
            self.frame(x + cell[0] * j, y + cell[1] * i, *cell)
        for i, label in enumerate(rows):
            self.text(x - 0.06, y + cell[1] * (i + 0.5), label, ha="right", fontsize=8.5)
        for j, label in enumerate(columns):
            self.text(x + cell[0] * (j + 0.5), y - 0.09, label, ha="center", fontsize=8.5)
        if name:
            above = 0.26 if columns else 0.11
            self.text(x + box.width / 2, y - above, name, ha="center", fontweight="bold")
        return box

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """Frame what matters, above everything else."""
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": VERMILLION, "lw": 2, "zorder": 4}
        self.axes.add_patch(Rectangle((x, y), width, height, **look))

    def path(self, *points: Point, colour: str = MUTED) -> None:
        """Draw a line through the points; the arrow head is at the last one."""
        x, y = zip(*points, strict=True)
        self.axes.plot(x, y, color=colour, linewidth=1.1, solid_joinstyle="round")
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length * 0.08, (y1 - y0) / length * 0.08
        tip = [(x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)]
        self.axes.add_patch(Polygon(tip, facecolor=colour, edgecolor=colour, linewidth=0))


def sheet(height: float, alt: str, width: float = WIDTH) -> tuple[Picture, Sketch]:
    """Return an empty picture of so many inches, and the sketch to draw on it."""
    with house_style():
        picture = Picture(figsize=(width, height), layout="none", alt=alt)
        axes = picture.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
    return picture, Sketch(axes)


def _faces(matrix: Array, limit: float | None) -> list[list[str]]:
    """Give each value its colour: signed ones around zero, others from zero up, −∞ grey."""
    colours, norm = colour_scale(matrix if limit is None else np.append(matrix, limit))
    return [
        [to_hex(colours(norm(v))) if np.isfinite(v) else BLOCKED for v in row] for row in matrix
    ]
