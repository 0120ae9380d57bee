"""Coloured cells under the labels of their rows and columns: what maps are made of."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from tfmlib.plots.colours import BLOCKED, MAGNITUDE, PAPER, SIGNED
from tfmlib.plots.font import drawn_label
from tfmlib.plots.style import text_colour
from tfmlib.support.arrays import Array


def colour_scale(matrix: Array) -> tuple[Colormap, Normalize]:
    """Choose the colour map and its range: around zero when there are signs, else from zero up."""
    finite = matrix[np.isfinite(matrix)]
    largest = float(np.abs(finite).max(initial=0)) or 1.0
    signed = bool((finite < 0).any())
    colours = matplotlib.colormaps[SIGNED if signed else MAGNITUDE].with_extremes(bad=BLOCKED)
    return colours, Normalize(-largest if signed else 0, largest)


def draw_cells(
    axes: Axes, matrix: Array, colours: Colormap, norm: Normalize, gap: float = 1.5
) -> QuadMesh:
    """Draw one coloured cell for each entry, the first row on top."""
    edges: dict[str, Any] = {"edgecolors": PAPER if gap else "none", "linewidth": gap}
    mesh = axes.pcolormesh(np.ma.masked_invalid(matrix), cmap=colours, norm=norm, **edges)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return mesh


def write_cells(
    axes: Axes, matrix: Array, texts: Iterable[str], mesh: QuadMesh, size: float
) -> None:
    """Write a text into each cell, black or white by the cell's own colour."""
    for ((row, column), value), text in zip(np.ndenumerate(matrix), texts, strict=True):
        colour = text_colour(mesh.to_rgba(np.ma.masked_invalid([value]))[0])
        where: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": size}
        axes.text(column + 0.5, row + 0.5, text, color=colour, **where)


def colour_bar(
    figure: Figure, mesh: QuadMesh, axes: Axes | list[Axes], aspect: float = 28, **kwargs: Any
) -> Colorbar:
    """Put a colour bar beside the cells; return it."""
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=aspect, **kwargs)
    bar.outline.set_visible(False)
    return bar


class Fit:
    """The measures of maps side by side, in inches: cells, and room for labels left and on top."""

    def __init__(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        room: float,
        across: int = 1,
        size: float = 9.5,
    ):
        self.rows, self.columns, self.size = rows, columns, size
        self.left = min(_text_width(rows, size), 1.2) + 0.4
        between = 0.1 if across > 1 else 0
        self.cell_width = min(((room - self.left) / across - between) / len(columns), 0.62)
        # Square where it can be: not above the height of a screen, nor flat with one or two rows.
        self.cell_height = min(max(self.cell_width, 0.9 / len(rows)), 6.5 / len(rows), 0.5)
        # In narrow cells there is room for only each second, third, ... label.
        line = size / 72 * 1.02
        self.row_step = math.ceil(line / self.cell_height)
        self.column_step = math.ceil(line / self.cell_width)
        longest, room = _text_width(columns, size), self.cell_width * self.column_step
        self.slant = 0 if longest < room else 45 if room > 1.5 * line else 90
        self.top = max(longest * math.sin(math.radians(self.slant)), 0.15)
        self.width = (self.cell_width * len(columns) + between) * across
        self.height = self.cell_height * len(rows)

    def name_cells(self, axes: Axes) -> None:
        """Put the labels at the rows and above the columns."""
        for axis, labels, step in (
            (axes.yaxis, self.rows, self.row_step),
            (axes.xaxis, self.columns, self.column_step),
        ):
            shown = [(i + 0.5, drawn_label(labels[i])) for i in range(0, len(labels), step)]
            axis.set_ticks(*zip(*shown, strict=True), fontsize=self.size)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        if self.slant:
            where = {"ha": "left", "va": "center" if self.slant == 90 else "bottom"}
            for label in axes.get_xticklabels():
                label.set(rotation=self.slant, rotation_mode="anchor", **where)


def _text_width(labels: Sequence[str], size: float = 9.5) -> float:
    """Estimate in inches the width of the widest label."""
    return max(len(drawn_label(label)) for label in labels) * 0.6 * size / 72
