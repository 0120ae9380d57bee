"""Maps: one cell for each pair, as in attention, masks and positional encodings."""

import math

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tfmlib.plots.cells import Fit, colour_bar, colour_scale, draw_cells, write_cells
from tfmlib.plots.colours import ACCENT, BLOCKED, SIGNED, WIDTH
from tfmlib.plots.inputs import Labels, as_array, as_finite, as_labels, as_mask
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.style import house_style
from tfmlib.plots.told import tell_encoding, tell_heads, tell_heat_map, tell_mask
from tfmlib.plots.words import alt_text, number_texts
from tfmlib.support.arrays import ArrayLike


@house_style()
def heat_map(
    matrix: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    values: bool = True,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
) -> Picture:
    """Draw a matrix as coloured cells; up to ten columns carry their values, −∞ is grey.

    >>> heat_map([[0.62, 0.38], [0.22, 0.78]], ["help", "me!"], ["help", "me!"]).alt
    'Heat map of 2 rows (query) by 2 columns (key). Largest: 0.78 at query “me!”, key “me!”; \
smallest: 0.22 at query “me!”, key “help”.'
    """
    matrix = as_array(matrix, 2, "matrix")  # (T, S)
    T, S = matrix.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    written = values and S <= 10
    bar = 0 if written else 0.6  # the room of the colour bar, where it stands in for the values
    fit = Fit(rows, columns, WIDTH - bar)
    told = tell_heat_map(matrix, rows, columns, xlabel, ylabel)
    figure = Picture(
        figsize=(fit.left + fit.width + bar, fit.height + fit.top + 0.35 + 0.25 * bool(title)),
        alt=alt_text(alt, title, told),
    )
    axes = figure.add_subplot()
    colours, norm = colour_scale(matrix)
    mesh = draw_cells(axes, matrix, colours, norm, gap=1.5 if max(T, S) <= 16 else 0)
    fit.name_cells(axes)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if written:
        size = 9 if fit.cell_width >= 0.44 else 8
        write_cells(axes, matrix, number_texts(matrix.ravel()), mesh, size)
    else:
        colour_bar(figure, mesh, axes, aspect=min(28, 9 * fit.height))  # never a hair's breadth
    return titled(figure, title)


@house_style()
def encoding_map(encoding: ArrayLike, title: str | None = None, alt: str | None = None) -> Picture:
    """Draw positional encodings, one row a position and one column a dimension.

    >>> angles = np.arange(50)[:, None] / [1, 100]
    >>> encoding_map(np.sin(angles)).alt
    'Map of 50 positional encodings of 2 dimensions, values from −1 to 1. \
Sign changes down the positions: 15 in dimension 0, 0 in dimension 1.'
    """
    encoding = as_finite(encoding, 2, "encoding")  # (T, D)
    T, D = encoding.shape
    figure = Picture(figsize=(WIDTH, 3.4), alt=alt_text(alt, title, tell_encoding(encoding)))
    axes = figure.add_subplot()
    colours = matplotlib.colormaps[SIGNED]
    largest = max(1.0, np.abs(encoding).max())
    mesh = draw_cells(axes, encoding, colours, Normalize(-largest, largest), gap=0)
    for axis, count in ((axes.yaxis, T), (axes.xaxis, D)):
        ticks = [t for t in MaxNLocator(6, integer=True).tick_values(0, count - 1) if t < count]
        axis.set_ticks([t + 0.5 for t in ticks if t >= 0], [f"{t:.0f}" for t in ticks if t >= 0])
    axes.set(xlabel="dimension", ylabel="position")
    colour_bar(figure, mesh, axes).set_ticks([-largest, 0, largest])
    return titled(figure, title)


@house_style()
def mask_map(
    mask: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
    names: tuple[str, str] = ("allowed", "blocked"),
) -> Picture:
    """Draw a mask: a tick where attention is allowed, a cross where it is not.

    >>> mask_map(np.tri(3), ["not", "on", "your"], ["not", "on", "your"]).alt
    'Mask of 3 rows (query) by 3 columns (key): 6 of 9 pairs are allowed. \
No query sees a later key.'
    """
    mask = as_mask(mask)  # (T, S)
    T, S = mask.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    fit = Fit(rows, columns, WIDTH)
    told = tell_mask(mask == 1, columns, xlabel, ylabel)
    figure = Picture(
        figsize=(max(fit.left + fit.width, 2.4), fit.height + fit.top + 0.65 + 0.25 * bool(title)),
        alt=alt_text(alt, title, told),
    )
    axes = figure.add_subplot()
    roomy = fit.cell_width > 0.2
    colours = ListedColormap([BLOCKED, ACCENT])
    mesh = draw_cells(axes, mask, colours, Normalize(0, 1), gap=1.5 if roomy else 0.5)
    if roomy:
        write_cells(axes, mask, ["✓" if allowed else "×" for allowed in mask.ravel()], mesh, 10)
    fit.name_cells(axes)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    cells = zip((ACCENT, BLOCKED), "✓×", names, strict=True)
    key = [Patch(facecolor=colour, label=f"{sign} {name}") for colour, sign, name in cells]
    figure.legend(handles=key, loc="outside lower center", ncols=2, handlelength=1.0)
    return titled(figure, title)


@house_style()
def attention_heads(
    weights: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
) -> Picture:
    """Draw the attention of several heads side by side, all on one colour scale.

    >>> sharp, even = np.eye(2), np.full((2, 2), 0.5)
    >>> attention_heads([sharp, even]).alt
    'Attention of 2 heads, each 2 rows (query) by 2 columns (key). Head 1 is the sharpest: its \
strongest key takes 1.00 of the weight on average; head 2 is the most even, with 0.50.'
    """
    weights = as_finite(weights, 3, "weights")  # (H, T, S)
    H, T, S = weights.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    across = {1: 1, 2: 2, 4: 2, 7: 4, 8: 4}.get(H, 3 if H <= 9 else 4)
    down = math.ceil(H / across)
    fit = Fit(rows, columns, WIDTH, across, 8.5)
    height = (fit.height + 0.25) * down + fit.top + 0.9 + 0.25 * bool(title)
    told = tell_heads(weights, xlabel, ylabel)
    figure = Picture(figsize=(fit.left + fit.width, height), alt=alt_text(alt, title, told))
    colours, norm = colour_scale(weights)
    for h in range(H):
        axes = figure.add_subplot(down, across, h + 1)
        mesh = draw_cells(axes, weights[h], colours, norm, gap=0.6 if fit.cell_width > 0.08 else 0)
        fit.name_cells(axes)
        axes.tick_params(labeltop=h < across, labelleft=h % across == 0, pad=1)
        axes.xaxis.set_label_position("bottom")
        axes.set_xlabel(f"head {h + 1}", fontsize=9, labelpad=2)
        if h < across:
            axes.set_title(xlabel, loc="center", fontsize=9.5, fontweight="normal", pad=5)
    figure.supylabel(ylabel, fontsize=9.5)
    bar = colour_bar(figure, mesh, figure.axes, orientation="horizontal", shrink=0.6)
    bar.set_label("weight", labelpad=1)
    return titled(figure, title)
