"""Maps: one cell for each pair, as in attention, masks and positional encodings."""

import math

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tfmlib.plots.cells import Fit, colour_bar, colour_scale, draw_cells, write_cells
from tfmlib.plots.inputs import Labels, as_array, as_finite, as_labels
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.style import ACCENT, BLOCKED, SIGNED, WIDTH, house_style
from tfmlib.plots.words import alt_text, listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike, Mask


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
    told = _tell_heat_map(matrix, rows, columns, xlabel, ylabel)
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


def _tell_heat_map(
    matrix: Array, rows: list[str], columns: list[str], xlabel: str, ylabel: str
) -> str:
    """Say the size of a map and where its largest and smallest entries are."""

    def tell(word: str, value: float) -> str:
        places = np.argwhere(np.isclose(matrix, value, rtol=1e-9, atol=0))
        row, column = places[0]
        many = f" (in {len(places)} cells, the first" if len(places) > 1 else ""
        at = f"at {ylabel} {quoted(rows[row])}, {xlabel} {quoted(columns[column])}"
        return f"{word}: {number_text(value)}{many} {at}{')' if many else ''}"

    finite = matrix[np.isfinite(matrix)]
    T, S = matrix.shape
    told = f"Heat map of {_size(T, S, ylabel, xlabel)}. "
    if finite.size == 0:
        return told + "Every cell is −∞."
    if finite.min() == finite.max():
        told += f"Every value is {number_text(finite[0])}"
    else:
        told += f"{tell('Largest', finite.max())}; {tell('smallest', finite.min())}"
    blocked = matrix.size - finite.size
    return told + (f"; {blocked} cells are −∞." if blocked else ".")


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
    figure = Picture(figsize=(WIDTH, 3.4), alt=alt_text(alt, title, _tell_encoding(encoding)))
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


def _tell_encoding(encoding: Array) -> str:
    """Say how fast the first and the last dimension turn."""
    T, D = encoding.shape

    def turns(j: int) -> str:
        signs = np.sign(encoding[:, j])
        signs = signs[signs != 0]
        return f"{(signs[1:] != signs[:-1]).sum()} in dimension {j}"

    low, high = number_text(encoding.min()), number_text(encoding.max())
    return (
        f"Map of {T} positional encodings of {D} dimensions, values from {low} to {high}. "
        f"Sign changes down the positions: {', '.join(turns(j) for j in sorted({0, D - 1}))}."
    )


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
    mask = as_array(mask, 2, "mask")  # (T, S)
    if not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"mask must be boolean, True where attention is allowed, but contains "
            f"{number_text(mask[~np.isin(mask, (0, 1))][0])}; draw scores with heat_map."
        )
    T, S = mask.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    fit = Fit(rows, columns, WIDTH)
    told = _tell_mask(mask == 1, columns, xlabel, ylabel)
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


def _tell_mask(mask: Mask, columns: list[str], xlabel: str, ylabel: str) -> str:
    """Say how much a mask allows, and which of the usual masks it is."""
    T, S = mask.shape
    told = [
        f"Mask of {_size(T, S, ylabel, xlabel)}: {mask.sum()} of {mask.size} pairs are allowed."
    ]
    if mask.all():
        told += [f"Every {ylabel} sees every {xlabel}."]
    elif T > 1 and not np.triu(mask, 1).any():
        told += [f"No {ylabel} sees a later {xlabel}."]
    unseen = np.flatnonzero(~mask.any(axis=0))
    if unseen.size and mask.any():
        names = listed(dict.fromkeys(quoted(columns[j]) for j in unseen))
        told += [f"Seen by none: {xlabel} {names}."]
    blind = int((~mask.any(axis=1)).sum())
    if blind:
        told += [f"{blind} of the {T} rows {'sees' if blind == 1 else 'see'} nothing."]
    return " ".join(told)


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
    told = _tell_heads(weights, xlabel, ylabel)
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


def _tell_heads(weights: Array, xlabel: str, ylabel: str) -> str:
    """Say which head is the sharpest and which the most even."""
    H, T, S = weights.shape
    peaks = weights.max(axis=-1).mean(axis=-1)  # (H,)
    sharp, even = int(peaks.argmax()), int(peaks.argmin())
    told = f"Attention of {H} {'head,' if H == 1 else 'heads, each'} "
    told += f"{_size(T, S, ylabel, xlabel)}. "
    if np.isclose(peaks[sharp], peaks[even]):
        told += f"In {'it' if H == 1 else 'each'} the strongest {xlabel} takes "
        return told + f"{peaks[0]:.2f} of the weight on average."
    told += f"Head {sharp + 1} is the sharpest: its strongest {xlabel} takes "
    told += f"{peaks[sharp]:.2f} of the weight on average; "
    return told + f"head {even + 1} is the most even, with {peaks[even]:.2f}."


def _size(rows: int, columns: int, ylabel: str, xlabel: str) -> str:
    """Say how large a map is: 2 rows (query) by 1 column (key)."""
    names = "row" if rows == 1 else "rows", "column" if columns == 1 else "columns"
    return f"{rows} {names[0]} ({ylabel}) by {columns} {names[1]} ({xlabel})"
