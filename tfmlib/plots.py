"""The figures of the book: matplotlib figures that also tell their message in words.

A figure is drawn once, in light colours; its dark twin is the same figure repainted. Nothing here
touches pyplot, and the reader's own matplotlib settings neither change a picture nor are changed.
"""

import base64
import functools
import html
import io
import math
import re

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap, Normalize, to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import FancyBboxPatch, Patch, Polygon, Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from PIL import Image

# The house colours, and what each turns into on a dark page.
PAPER, INK, MUTED = "#ffffff", "#1f2328", "#57606a"  # page, text, axes and arrows
PALE, GRID, GREY = "#f1f4f8", "#d8dee6", "#7a7f87"  # boxes, grid lines, bars beside the main one
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"  # Okabe and Ito
DARK = {
    PAPER: "#121212",
    INK: "#e6e6e6",
    MUTED: "#a0a7b0",
    PALE: "#23272d",
    GRID: "#3a3f46",
    GREY: "#8b9098",
    BLUE: "#56b4e9",  # Okabe and Ito's sky blue: 8 to 1 against the dark page, blue only 3.6
}
# Series differ in dash and marker too, so that colour never carries the message alone.
SERIES = [(BLUE, "-", "o"), (VERMILLION, "--", "s"), (GREEN, "-.", "^"), (PURPLE, ":", "D")]
SERIES += [(INK, (0, (6, 1, 1, 1, 1, 1)), "v")]

# Colours of cells: the same in both themes, because the text on them is chosen to match.
MAGNITUDE, SIGNED = "viridis", "RdBu_r"  # both made to be told apart by colour-blind readers
ACCENT, BLOCKED = "#0a68a4", "#c3c9d2"

WIDTH = 4.8  # inches; at 96 pixels an inch a phone of 375 pixels shrinks it to seven tenths
DPI = 144  # one and a half image pixels for each pixel of the page
STYLE = {name: v for name, v in matplotlib.rcParamsDefault.items() if "backend" not in name} | {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.titlesize": 10.5,
    "figure.titleweight": "bold",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "text.color": INK,
    "text.parse_math": False,  # a token "$x$" is drawn as it is written
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}
house_style = functools.partial(matplotlib.rc_context, STYLE)  # a context, or a decorator


class Picture(Figure):
    """A figure with alt text that shows itself in a notebook for light and for dark pages.

    >>> Picture(alt="One bar, at 0.5.")
    <Picture: One bar, at 0.5.>
    """

    def __init__(self, *args, alt="", **kwargs):
        kwargs.setdefault("layout", "constrained")
        super().__init__(*args, **kwargs)
        self.alt = alt

    def __repr__(self):
        return f"<Picture: {self.alt}>"

    def png(self, dark=False):
        """Return the image as the bytes of a PNG file, the same bytes each time."""
        with house_style():
            self.draw_without_rendering()  # a tick exists, and can be repainted, once it is drawn
            undo = _repaint(self) if dark else []
            file = io.BytesIO()
            try:
                look = {"dpi": DPI, "bbox_inches": "tight", "pad_inches": 0.06}
                self.savefig(file, format="png", pil_kwargs={"compress_level": 1}, **look)
            finally:
                for setter, colour in undo:
                    setter(colour)
        return _compact(file)

    def _repr_html_(self):
        return '<figure class="tfm-figure">{}{}</figure>'.format(
            _image_tag(self.png(), self.alt, "tfm-light"),
            _image_tag(self.png(dark=True), self.alt, "tfm-dark", hidden=True),
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _ipython_display_(self):
        # Published by hand: matplotlib's inline backend would add a PNG of every Figure.
        from IPython.display import publish_display_data

        publish_display_data(self._repr_mimebundle_())


def _compact(file):
    """Rewrite a PNG with at most 256 colours: a third of the size, and no trace of versions.

    The palette takes the commonest colour, leaves out those that look the same, and so on: plain
    areas keep their colour, and only edge pixels of letters move to a near one.
    """
    pixels = np.asarray(Image.open(file).convert("RGB"), int)
    codes, place, counts = np.unique(
        pixels @ (65536, 256, 1), return_inverse=True, return_counts=True
    )
    colours = codes[:, None] // (65536, 256, 1) % 256  # (colours, 3)
    left, palette = colours[np.argsort(-counts, kind="stable")], []
    while len(left) and len(palette) < 256:
        palette.append(left[0])
        left = left[np.abs(left - left[0]).max(axis=-1) > 2]
    nearest = np.square(colours[:, None] - palette).sum(axis=-1).argmin(axis=-1)
    image = Image.fromarray(nearest[place].reshape(pixels.shape[:2]).astype(np.uint8))
    image.putpalette(np.array(palette, np.uint8).tobytes())
    small = io.BytesIO()
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


def _image_tag(png, alt, theme, hidden=False):
    """Write an <img>; the class dark-light keeps the theme of the book from dimming it."""
    width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))  # PNG header, IHDR
    style = ("display:none;" if hidden else "") + "max-width:100%;height:auto"
    return (
        f'<img class="{theme} dark-light" style="{style}" alt="{html.escape(alt)}" '
        f'width="{round(width * 96 / DPI)}" height="{round(height * 96 / DPI)}" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    )


def _repaint(figure):
    """Turn each house colour of a figure dark; return what undoes it, as (setter, old colour)."""
    undo = []
    for artist in figure.findobj():
        is_text = hasattr(artist, "get_text")
        for name in ("color", "facecolor", "edgecolor"):
            getter = getattr(artist, f"get_{name}", None)
            if getter is None or (name == "facecolor" and _is_mapped(artist)):
                continue
            old = getter()
            colours = to_rgba_array(old)
            new = [_dark(colour, keep_paper=is_text) for colour in colours]
            if any(new):
                new = [twin or tuple(colour) for twin, colour in zip(new, colours, strict=True)]
                setter = getattr(artist, f"set_{name}")
                undo.append((setter, old))
                setter(new[0] if len(new) == 1 else new)
    return undo


def _is_mapped(artist):
    """Tell whether data give the face colours: thousands of cells, none of them the theme's."""
    return getattr(artist, "get_array", lambda: None)() is not None


def _dark(rgba, keep_paper):
    """Return a colour's dark twin, or None; white text stands on a cell, and stays as it is."""
    colour = to_hex(rgba[:3])
    if rgba[3] == 0 or (keep_paper and colour == PAPER):
        return None
    return DARK.get(colour)


# --- what a figure is made of -------------------------------------------------------------------


def _array(values, ndim, what):
    """Return the values as a float array of `ndim` axes, or say what is wrong with them."""
    if hasattr(values, "detach"):  # a torch tensor, perhaps with gradient, on a device, in bf16
        values = values.detach().cpu().double()
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} must be an array of numbers of dimension {ndim}, but came as "
            f"{type(values).__name__} that NumPy cannot turn into one; look at its rows."
        ) from None
    if array.ndim != ndim:
        raise ValueError(
            f"{what} must be an array of dimension {ndim}, but came with the shape "
            f"{array.shape}; index or reshape it first."
        )
    if array.size == 0:
        raise ValueError(f"{what} must not be empty, but came with the shape {array.shape}.")
    bad = np.isnan(array) | (array == np.inf)
    if bad.any():
        where = ", ".join(str(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{what} must hold numbers that can be drawn, but has {array[bad][0]} at index "
            f"[{where}]; find where it arises before you plot."
        )
    return array


def _finite(values, ndim, what):
    """Return the values as `_array` does, without minus infinity."""
    array = _array(values, ndim, what)
    if np.isinf(array).any():
        raise ValueError(f"{what} must be finite, but contains -inf; draw the finite part of it.")
    return array


def _labels(labels, count, what):
    """Return one string for each of `count` things: the given labels, or 0, 1, 2, ..."""
    if labels is None:
        return [str(i) for i in range(count)]
    if isinstance(labels, str):
        raise ValueError(f"{what} must be a list of labels, but came as one string, {labels!r}.")
    labels = [str(label) for label in labels]
    if len(labels) != count:
        raise ValueError(
            f"{what} must have {count} labels, one for each in the data, but has {len(labels)}."
        )
    return labels


def _named(series, what):
    """Return a dictionary of named series, or say that it is none."""
    if not isinstance(series, dict) or not series:
        came = "an empty dictionary" if series == {} else type(series).__name__
        raise ValueError(f"{what} must be a dictionary of name: values, but came as {came}.")
    return {str(name): values for name, values in series.items()}


def _matching(name, values, count, what):
    """Return the values of a series as an array of `count` numbers."""
    values = _finite(values, 1, f"series {name!r}")
    if len(values) != count:
        raise ValueError(
            f"series {name!r} must have {count} values, one for each {what}, but has {len(values)}."
        )
    return values


@functools.cache
def _glyphs():
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def _drawn(label, longest=14):
    """Make a label visible: spaces at its ends, line breaks, letters that the font lacks."""
    label = re.sub("^ +| +$", lambda spaces: "␣" * len(spaces[0]), label)
    label = "".join(c if c.isprintable() else repr(c)[1:-1] for c in label)
    label = "".join(c if ord(c) in _glyphs() else "□" for c in label)
    return label if len(label) <= longest else label[: longest - 1] + "…"


def _number(value):
    """Write a number as prose has it: 0.74, 3, 1,234,567, −∞."""
    return _alike([value])[0]


def _alike(values):
    """Write numbers with the same decimals, as few as show two digits of the largest."""
    values = np.asarray(values, float)
    finite = values[np.isfinite(values)]
    largest = np.abs(finite).max(initial=0)
    if largest and not 1e-4 <= largest < 1e12:
        texts = [f"{v:.2g}" for v in values]
    else:
        most = 0 if largest >= 1000 else 2
        if 0 < largest < 0.1:
            most = 1 - math.floor(math.log10(largest))
        enough = (d for d in range(most) if (finite.round(d) == finite.round(most)).all())
        decimals = next(enough, most)
        texts = [f"{v:,.{decimals}f}" for v in values.round(decimals) + 0.0]  # no minus zero
    return [text.replace("-", "−").replace("inf", "∞") for text in texts]


def _quoted(label):
    return f"“{label}”"


def _size(rows, columns, ylabel, xlabel):
    """Say how large a map is: 2 rows (query) by 1 column (key)."""
    names = "row" if rows == 1 else "rows", "column" if columns == 1 else "columns"
    return f"{rows} {names[0]} ({ylabel}) by {columns} {names[1]} ({xlabel})"


def _listed(words):
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _alt(alt, title, told):
    """Prefer the author's alt text; otherwise the title and what the data tell."""
    if alt is not None:
        return alt
    return f"{title.rstrip('.')}. {told}" if title else told


def _text_width(labels, size=9.5):
    """Estimate in inches the width of the widest label."""
    return max(len(_drawn(label)) for label in labels) * 0.6 * size / 72


def _luminance(colour):
    """Return a colour's relative luminance, as WCAG 2 defines it."""
    rgb = to_rgba_array(colour)[0, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def text_colour(background):
    """Return black or white, whichever is easier to read on a background.

    >>> text_colour("#0072b2"), text_colour("#f0e442")
    ('white', 'black')
    """
    # (L + 0.05) / 0.05 is the contrast with black, 1.05 / (L + 0.05) with white.
    return "black" if (_luminance(background) + 0.05) ** 2 > 0.05 * 1.05 else "white"


# --- maps: one cell for each pair ---------------------------------------------------------------


def _scale(matrix):
    """Choose the colour map and its range: around zero when there are signs, else from zero up."""
    finite = matrix[np.isfinite(matrix)]
    largest = float(np.abs(finite).max(initial=0)) or 1.0
    signed = bool((finite < 0).any())
    colours = matplotlib.colormaps[SIGNED if signed else MAGNITUDE].with_extremes(bad=BLOCKED)
    return colours, Normalize(-largest if signed else 0, largest)


def _cells(axes, matrix, colours, norm, gap=1.5):
    """Draw one coloured cell for each entry, the first row on top."""
    edges = {"edgecolors": PAPER if gap else "none", "linewidth": gap}
    mesh = axes.pcolormesh(np.ma.masked_invalid(matrix), cmap=colours, norm=norm, **edges)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return mesh


def _write(axes, matrix, texts, mesh, size):
    """Write a text into each cell, black or white by the cell's own colour."""
    for ((row, column), value), text in zip(np.ndenumerate(matrix), texts, strict=True):
        colour = text_colour(mesh.to_rgba(np.ma.masked_invalid([value]))[0])
        where = {"ha": "center", "va": "center_baseline", "fontsize": size}
        axes.text(column + 0.5, row + 0.5, text, color=colour, **where)


class _Fit:
    """The measures of maps side by side, in inches: cells, and room for labels left and on top."""

    def __init__(self, rows, columns, room, across=1, size=9.5):
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

    def name_cells(self, axes):
        """Put the labels at the rows and above the columns."""
        for axis, labels, step in (
            (axes.yaxis, self.rows, self.row_step),
            (axes.xaxis, self.columns, self.column_step),
        ):
            shown = [(i + 0.5, _drawn(labels[i])) for i in range(0, len(labels), step)]
            axis.set_ticks(*zip(*shown, strict=True), fontsize=self.size)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        if self.slant:
            where = {"ha": "left", "va": "center" if self.slant == 90 else "bottom"}
            for label in axes.get_xticklabels():
                label.set(rotation=self.slant, rotation_mode="anchor", **where)


@house_style()
def heat_map(
    matrix, rows=None, columns=None, title=None, values=True, xlabel="key", ylabel="query", alt=None
):
    """Draw a matrix as coloured cells; up to ten columns carry their values, −∞ is grey.

    >>> heat_map([[0.62, 0.38], [0.22, 0.78]], ["help", "me!"], ["help", "me!"]).alt
    'Heat map of 2 rows (query) by 2 columns (key). Largest: 0.78 at query “me!”, key “me!”; \
smallest: 0.22 at query “me!”, key “help”.'
    """
    matrix = _array(matrix, 2, "matrix")  # (T, S)
    T, S = matrix.shape
    rows, columns = _labels(rows, T, "rows"), _labels(columns, S, "columns")
    written = values and S <= 10
    bar = 0 if written else 0.6  # the room of the colour bar, where it stands in for the values
    fit = _Fit(rows, columns, WIDTH - bar)
    told = _tell_heat_map(matrix, rows, columns, xlabel, ylabel)
    figure = Picture(
        figsize=(fit.left + fit.width + bar, fit.height + fit.top + 0.35 + 0.25 * bool(title)),
        alt=_alt(alt, title, told),
    )
    axes = figure.add_subplot()
    mesh = _cells(axes, matrix, *_scale(matrix), gap=1.5 if max(T, S) <= 16 else 0)
    fit.name_cells(axes)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if written:
        _write(axes, matrix, _alike(matrix.ravel()), mesh, 9 if fit.cell_width >= 0.44 else 8)
    else:
        _colour_bar(figure, mesh, axes, aspect=min(28, 9 * fit.height))  # never a hair's breadth
    return _finish(figure, title)


def _colour_bar(figure, mesh, axes, aspect=28, **kwargs):
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=aspect, **kwargs)
    bar.outline.set_visible(False)
    return bar


def _finish(figure, title):
    if title:
        figure.suptitle(title, x=0.02, ha="left")
    return figure


def _tell_heat_map(matrix, rows, columns, xlabel, ylabel):
    """Say the size of a map and where its largest and smallest entries are."""

    def tell(word, value):
        places = np.argwhere(np.isclose(matrix, value, rtol=1e-9, atol=0))
        row, column = places[0]
        many = f" (in {len(places)} cells, the first" if len(places) > 1 else ""
        at = f"at {ylabel} {_quoted(rows[row])}, {xlabel} {_quoted(columns[column])}"
        return f"{word}: {_number(value)}{many} {at}{')' if many else ''}"

    finite = matrix[np.isfinite(matrix)]
    told = f"Heat map of {_size(*matrix.shape, ylabel, xlabel)}. "
    if finite.size == 0:
        return told + "Every cell is −∞."
    if finite.min() == finite.max():
        told += f"Every value is {_number(finite[0])}"
    else:
        told += f"{tell('Largest', finite.max())}; {tell('smallest', finite.min())}"
    blocked = matrix.size - finite.size
    return told + (f"; {blocked} cells are −∞." if blocked else ".")


@house_style()
def encoding_map(encoding, title=None, alt=None):
    """Draw positional encodings, one row a position and one column a dimension.

    >>> angles = np.arange(50)[:, None] / [1, 100]
    >>> encoding_map(np.sin(angles)).alt
    'Map of 50 positional encodings of 2 dimensions, values from −1 to 1. \
Sign changes down the positions: 15 in dimension 0, 0 in dimension 1.'
    """
    encoding = _finite(encoding, 2, "encoding")  # (T, D)
    T, D = encoding.shape
    figure = Picture(figsize=(WIDTH, 3.4), alt=_alt(alt, title, _tell_encoding(encoding)))
    axes = figure.add_subplot()
    colours = matplotlib.colormaps[SIGNED]
    largest = max(1.0, np.abs(encoding).max())
    mesh = _cells(axes, encoding, colours, Normalize(-largest, largest), gap=0)
    for axis, count in ((axes.yaxis, T), (axes.xaxis, D)):
        ticks = [t for t in MaxNLocator(6, integer=True).tick_values(0, count - 1) if t < count]
        axis.set_ticks([t + 0.5 for t in ticks if t >= 0], [f"{t:.0f}" for t in ticks if t >= 0])
    axes.set(xlabel="dimension", ylabel="position")
    _colour_bar(figure, mesh, axes).set_ticks([-largest, 0, largest])
    return _finish(figure, title)


def _tell_encoding(encoding):
    """Say how fast the first and the last dimension turn."""
    T, D = encoding.shape

    def turns(j):
        signs = np.sign(encoding[:, j])
        signs = signs[signs != 0]
        return f"{(signs[1:] != signs[:-1]).sum()} in dimension {j}"

    low, high = _number(encoding.min()), _number(encoding.max())
    return (
        f"Map of {T} positional encodings of {D} dimensions, values from {low} to {high}. "
        f"Sign changes down the positions: {', '.join(turns(j) for j in sorted({0, D - 1}))}."
    )


@house_style()
def mask_map(mask, rows=None, columns=None, title=None, xlabel="key", ylabel="query", alt=None):
    """Draw a mask: a tick where attention is allowed, a cross where it is not.

    >>> mask_map(np.tri(3), ["not", "on", "your"], ["not", "on", "your"]).alt
    'Mask of 3 rows (query) by 3 columns (key): 6 of 9 pairs are allowed. \
No query sees a later key.'
    """
    mask = _array(mask, 2, "mask")  # (T, S)
    if not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"mask must be boolean, True where attention is allowed, but contains "
            f"{_number(mask[~np.isin(mask, (0, 1))][0])}; draw scores with heat_map."
        )
    T, S = mask.shape
    rows, columns = _labels(rows, T, "rows"), _labels(columns, S, "columns")
    fit = _Fit(rows, columns, WIDTH)
    told = _tell_mask(mask == 1, columns, xlabel, ylabel)
    figure = Picture(
        figsize=(max(fit.left + fit.width, 2.4), fit.height + fit.top + 0.65 + 0.25 * bool(title)),
        alt=_alt(alt, title, told),
    )
    axes = figure.add_subplot()
    roomy = fit.cell_width > 0.2
    colours = ListedColormap([BLOCKED, ACCENT])
    mesh = _cells(axes, mask, colours, Normalize(0, 1), gap=1.5 if roomy else 0.5)
    if roomy:
        _write(axes, mask, ["✓" if allowed else "×" for allowed in mask.ravel()], mesh, 10)
    fit.name_cells(axes)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    key = [Patch(facecolor=ACCENT, label="✓ allowed"), Patch(facecolor=BLOCKED, label="× blocked")]
    figure.legend(handles=key, loc="outside lower center", ncols=2, handlelength=1.0)
    return _finish(figure, title)


def _tell_mask(mask, columns, xlabel, ylabel):
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
        names = _listed(dict.fromkeys(_quoted(columns[j]) for j in unseen))
        told += [f"Seen by none: {xlabel} {names}."]
    blind = int((~mask.any(axis=1)).sum())
    if blind:
        told += [f"{blind} of the {T} rows {'sees' if blind == 1 else 'see'} nothing."]
    return " ".join(told)


@house_style()
def attention_heads(
    weights, rows=None, columns=None, title=None, xlabel="key", ylabel="query", alt=None
):
    """Draw the attention of several heads side by side, all on one colour scale.

    >>> sharp, even = np.eye(2), np.full((2, 2), 0.5)
    >>> attention_heads([sharp, even]).alt
    'Attention of 2 heads, each 2 rows (query) by 2 columns (key). Head 1 is the sharpest: its \
strongest key takes 1.00 of the weight on average; head 2 is the most even, with 0.50.'
    """
    weights = _finite(weights, 3, "weights")  # (H, T, S)
    H, T, S = weights.shape
    rows, columns = _labels(rows, T, "rows"), _labels(columns, S, "columns")
    across = {1: 1, 2: 2, 4: 2, 7: 4, 8: 4}.get(H, 3 if H <= 9 else 4)
    down = math.ceil(H / across)
    fit = _Fit(rows, columns, WIDTH, across, 8.5)
    height = (fit.height + 0.25) * down + fit.top + 0.9 + 0.25 * bool(title)
    told = _tell_heads(weights, xlabel, ylabel)
    figure = Picture(figsize=(fit.left + fit.width, height), alt=_alt(alt, title, told))
    colours, norm = _scale(weights)
    for h in range(H):
        axes = figure.add_subplot(down, across, h + 1)
        mesh = _cells(axes, weights[h], colours, norm, gap=0.6 if fit.cell_width > 0.08 else 0)
        fit.name_cells(axes)
        axes.tick_params(labeltop=h < across, labelleft=h % across == 0, pad=1)
        axes.xaxis.set_label_position("bottom")
        axes.set_xlabel(f"head {h + 1}", fontsize=9, labelpad=2)
        if h < across:
            axes.set_title(xlabel, loc="center", fontsize=9.5, fontweight="normal", pad=5)
    figure.supylabel(ylabel, fontsize=9.5)
    bar = _colour_bar(figure, mesh, figure.axes, orientation="horizontal", shrink=0.6)
    bar.set_label("weight", labelpad=1)
    return _finish(figure, title)


def _tell_heads(weights, xlabel, ylabel):
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


# --- charts: bars and lines ---------------------------------------------------------------------


@house_style()
def distribution(probabilities, labels=None, title=None, xlabel="probability", alt=None):
    """Draw probabilities as bars, in the order given, the largest one emphasised.

    >>> distribution([0.05, 0.74, 0.21], ["on", "life", "<end>"]).alt
    'Bar chart of 3 probabilities. Largest: “life” with 0.74, then “<end>” 0.21 and “on” 0.05.'
    """
    heights = _finite(probabilities, 1, "probabilities")  # (V,)
    if heights.min() < 0 or heights.sum() > 1.01:  # printed figures are rounded
        raise ValueError(
            "probabilities must not be negative and add up to at most 1, but the smallest is "
            f"{_number(heights.min())} and their sum {heights.sum():.4g}; take the softmax."
        )
    labels = _labels(labels, heights.size, "labels")
    order = np.argsort(-heights, kind="stable")
    told = [f"{_quoted(labels[i])} {_number(heights[i])}" for i in order[1:4]]
    told = (
        f"Bar chart of {heights.size} probabilities. Largest: {_quoted(labels[order[0]])} with "
        f"{_number(heights[order[0]])}{', then ' + _listed(told) if told else ''}."
    )
    figure = Picture(figsize=(WIDTH, 0.27 * heights.size + 0.75), alt=_alt(alt, title, told))
    axes = figure.add_subplot()
    colours = [ACCENT if i == order[0] else GREY for i in range(heights.size)]
    drawn = axes.barh(range(heights.size), heights, height=0.72, color=colours)
    texts = ["< 0.01" if 0 < p < 0.005 else f"{p:.2f}" for p in heights]
    axes.bar_label(drawn, texts, padding=3, fontsize=9)
    axes.set_yticks(range(heights.size), [_drawn(label) for label in labels])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=xlabel, xlim=(0, heights.max() * 1.15 or 1), ylim=(heights.size - 0.5, -0.5))
    _set_ticks(axes.xaxis)
    return _finish(figure, title)


@house_style()
def bars(labels, groups, ylabel, title=None, alt=None):
    """Draw named values for each label, side by side.

    >>> bars(["base", "big"], {"printed": [65, 213], "counted": [63.1, 214.2]}, "million").alt
    'Bar chart of million. “base”: printed 65, counted 63.1; “big”: printed 213, counted 214.2.'
    """
    groups = _named(groups, "groups")
    labels = _labels(labels, len(list(labels)), "labels")
    groups = {n: _matching(n, values, len(labels), "label") for n, values in groups.items()}
    if len(groups) > len(SERIES):
        raise ValueError(
            f"groups must be at most {len(SERIES)}, but are {len(groups)}; draw two figures."
        )
    figure = Picture(figsize=(WIDTH, 2.9), alt=_alt(alt, title, _tell_bars(labels, groups, ylabel)))
    axes = figure.add_subplot()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    width = 0.8 / len(groups)
    few = len(labels) * len(groups) <= 12
    for g, (name, values) in enumerate(groups.items()):
        middle = np.arange(len(labels)) + (g - (len(groups) - 1) / 2) * width
        drawn = axes.bar(middle, values, width * 0.92, color=SERIES[g][0], label=name)
        if few:
            axes.bar_label(drawn, _alike(values), padding=2, fontsize=8.5)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set_ylabel(ylabel)
    axes.margins(y=0.1)
    _set_ticks(axes.yaxis)
    axes.set_xticks(range(len(labels)), [_drawn(label, 24) for label in labels])
    axes.tick_params(axis="x", length=0)
    if max(len(label) for label in labels) * 0.08 > (WIDTH - 0.7) / len(labels):
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
    _legend_above(axes, groups)
    return _finish(figure, title)


def _tell_bars(labels, groups, ylabel):
    """Say all values when they are few, else the highest and the lowest."""
    if len(labels) * len(groups) <= 8:
        told = [
            f"{_quoted(label)}: "
            + ", ".join(f"{name} {_number(v[i])}".strip() for name, v in groups.items())
            for i, label in enumerate(labels)
        ]
    else:
        values = np.array(list(groups.values()))  # (groups, labels)
        told = []
        for word, place in (("Highest", values.argmax()), ("lowest", values.argmin())):
            g, i = np.unravel_index(place, values.shape)
            told += [f"{word}: {list(groups)[g]} at {_quoted(labels[i])}, {_number(values[g, i])}"]
    return f"Bar chart of {ylabel}. {'; '.join(told)}."


def _legend_above(axes, names):
    """Name the series above the axes, where no line can run through the names."""
    if len(names) > 1:
        per_row = max(1, int(WIDTH // (max(len(str(n)) for n in names) * 0.085 + 0.55)))
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "borderaxespad": 0}
        axes.legend(ncols=min(len(names), per_row), handlelength=2.4, columnspacing=1.4, **place)


@house_style()
def lines(x, series, xlabel, ylabel, log_x=False, log_y=False, title=None, alt=None):
    """Draw named series over the same x.

    >>> lines([1, 2, 4], {"time": [1, 4, 16]}, "length", "seconds").alt
    'Line chart of seconds against length. “time” rises from 1 at 1 to 16 at 4.'
    """
    x = _finite(x, 1, "x")
    series = _named(series, "series")
    pairs = {name: (x, _matching(name, y, len(x), "x")) for name, y in series.items()}
    return _line_chart(pairs, xlabel, ylabel, log_x, log_y, title, alt)


@house_style()
def loss_curves(curves, xlabel="step", ylabel="loss", log=False, title=None, alt=None):
    """Draw losses: a list has one value for each step from 1, a dictionary is {step: value}.

    >>> loss_curves({"training": [4.6, 2.0, 0.9], "validation": {1: 4.7, 3: 1.1}}).alt
    'Line chart of loss against step. “training” falls from 4.6 at 1 to 0.9 at 3; \
“validation” falls from 4.7 at 1 to 1.1 at 3.'
    """
    pairs = {}
    for name, losses in _named(curves, "curves").items():
        steps = losses if isinstance(losses, dict) else range(1, len(losses) + 1)
        losses = list(losses.values()) if isinstance(losses, dict) else losses
        steps = _finite(list(steps), 1, f"the steps of {name!r}")
        pairs[name] = steps, _matching(name, losses, len(steps), "step")
    return _line_chart(pairs, xlabel, ylabel, False, log, title, alt)


def _line_chart(pairs, xlabel, ylabel, log_x, log_y, title, alt):
    told = f"Line chart of {ylabel} against {xlabel}. {_tell_lines(pairs)}."
    for name, (x, y) in pairs.items():
        if (log_x and x.min() <= 0) or (log_y and y.min() <= 0):
            raise ValueError(
                f"series {name!r} must be positive on a logarithmic axis, but comes down to "
                f"{_number(x.min() if log_x and x.min() <= 0 else y.min())}; use a linear axis."
            )
    figure = Picture(figsize=(WIDTH, 2.9), alt=_alt(alt, title, told))
    axes = figure.add_subplot()
    axes.grid()
    for i, (name, (x, y)) in enumerate(pairs.items()):
        colour = SERIES[i % len(SERIES)][0]
        _, dash, marker = SERIES[(i + i // len(SERIES)) % len(SERIES)]  # no pair occurs twice
        marker = marker if len(x) <= 20 else ""
        axes.plot(x, y, color=colour, linestyle=dash, marker=marker, label=name)
    scales = {"xscale": "log" if log_x else "linear", "yscale": "log" if log_y else "linear"}
    axes.set(xlabel=xlabel, ylabel=ylabel, **scales)
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        _set_ticks(axis, is_log)
    places = np.unique(np.concatenate([x for x, _ in pairs.values()]))
    if log_x and places.size <= 8:
        axes.set_xticks(places)
    _legend_above(axes, pairs)
    return _finish(figure, title)


def _set_ticks(axis, is_log=False):
    """Put a handful of ticks with plain numbers; on a logarithmic axis at 1, 2, 5 or at decades."""
    low, high = axis.get_view_interval()
    if is_log:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 500 else (1,)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if is_log or high >= 10_000:
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.10g}".replace("-", "−")))


def _tell_lines(pairs):
    """Say how each line runs, or of many lines which one ends highest and which lowest."""
    if len(pairs) <= 4:
        return "; ".join(_tell_line(name, x, y) for name, (x, y) in pairs.items())
    ends = sorted((y[-1], name) for name, (x, y) in pairs.items())
    (low, lowest), (high, highest) = ends[0], ends[-1]
    return (
        f"Of {len(pairs)} lines {_quoted(highest)} ends highest, at {_number(high)}, "
        f"and {_quoted(lowest)} lowest, at {_number(low)}"
    )


def _tell_line(name, x, y):
    """Say where a line begins and ends, and its turning point where it has one."""
    first, last = y[0], y[-1]
    if y.min() == y.max():
        return f"{_quoted(name)} stays at {_number(first)}"
    verb = "rises" if last > first else "falls" if last < first else "returns"
    told = f"{_quoted(name)} {verb} from {_number(first)} at {_number(x[0])} "
    told += f"to {_number(last)} at {_number(x[-1])}"
    noticed = 0.05 * (y.max() - y.min())
    if min(first, last) - y.min() > noticed:
        told += f", lowest {_number(y.min())} at {_number(x[y.argmin()])}"
    if y.max() - max(first, last) > noticed:
        told += f", highest {_number(y.max())} at {_number(x[y.argmax()])}"
    return told


# --- a search -----------------------------------------------------------------------------------

END = "<end>"  # a beginning with this as its last word has ended
ROWS = 5  # as many candidates of a step are drawn
TALL, GAP, GAP_ACROSS = 0.36, 0.1, 0.22  # inches: a box, and what is between two of them
HEAD = 0.24  # the line above the first
WAY = {  # of what is kept, and of what is dropped
    True: {"color": ACCENT, "linewidth": 1.8, "linestyle": "-"},
    False: {"color": MUTED, "linewidth": 1.0, "linestyle": "--"},
}


@house_style()
def search_tree(steps, width, title=None, alt=None):
    """Draw a beam search, a column for each step: the likeliest on top, and `width` of them kept.

    A step is a dictionary of beginnings, words with spaces between them, and their probabilities.

    >>> search_tree([{"a": 0.6, "b": 0.4}, {"a b": 0.2, "a <end>": 0.3}], width=1).alt
    'Beam search of width 1. Step 1 keeps “a” (0.600). Step 2 keeps “a <end>” (0.300). \
The best that has ended is “a <end>”.'
    """
    columns = _columns(steps)
    if not isinstance(width, int | np.integer) or width < 1:
        raise ValueError(f"width must be a whole number from 1 on, but came as {width!r}.")
    ended = [one for column in columns for one in column[:width] if one[0][-1] == END]
    best = max(ended, key=lambda one: one[1], default=(None, 0.0))[0]
    pitch = min(WIDTH / (len(columns) + 1), 1.1)  # of the columns, the first has <start> alone
    rows = max(len(column) for column in columns)
    height = HEAD + rows * (TALL + GAP) + 0.3 + 0.25 * bool(title)
    told = _tell_search(columns, width, best)
    size = (pitch * (len(columns) + 1), height)
    figure = Picture(figsize=size, layout="none", alt=_alt(alt, title, told))
    top = -0.25 if title else 0
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(height + top, top))
    axes.set_axis_off()
    _draw_search(axes, columns, width, best, pitch)
    key = [Patch(facecolor=PAPER, edgecolor=ACCENT, linewidth=1.8, label="kept")]
    key += [Patch(facecolor=PAPER, edgecolor=MUTED, linestyle="--", label="dropped")]
    key += [Patch(facecolor=ACCENT, label="★ best that has ended")]
    figure.legend(handles=key, loc="lower center", ncols=3, handlelength=1.2, borderaxespad=0.2)
    return _finish(figure, title)


def _columns(steps):
    """Return for each step its likeliest beginnings as (words, probability), the best first."""
    columns, known = [], {()}
    for number, step in enumerate(steps, start=1):
        step = {tuple(name.split()): p for name, p in _named(step, f"step {number}").items()}
        chances = _finite(list(step.values()), 1, f"the probabilities of step {number}")
        for words in step:
            if words[:-1] not in known:
                raise ValueError(
                    f"step {number} must continue beginnings of the step before it, but "
                    f"{_quoted(' '.join(words))} does not; look at its first words."
                )
        likely = sorted(zip(step, chances, strict=True), key=lambda one: -one[1])
        columns.append([one for one in likely if one[1] > 0][:ROWS])
        known = {words for words, _ in columns[-1]}
    if not columns:
        raise ValueError("steps must hold at least one step, but is empty.")
    return columns


def _tell_search(columns, width, best):
    """Say what each step keeps, and which sentence is the best in the end."""
    told = []
    for number, column in enumerate(columns, start=1):
        kept = [f"{_quoted(' '.join(words))} ({p:.3f})" for words, p in column[:width]]
        told.append(f"Step {number} keeps {_listed(kept)}.")
    if best:
        told.append(f"The best that has ended is {_quoted(' '.join(best))}.")
    return f"Beam search of width {width}. {' '.join(told)}"


def _draw_search(axes, columns, width, best, pitch):
    """Draw the boxes of all beginnings, the way to each, and the band of those that are kept."""
    sketch, wide = _Sketch(axes, set()), pitch - GAP_ACROSS
    look = {"facecolor": PALE, "edgecolor": PALE, "zorder": 0.5}
    corner, size = (pitch - 0.1, HEAD - 0.05), (pitch * len(columns) - 0.02, width * (TALL + GAP))
    axes.add_patch(Rectangle(corner, *size, **look))
    middles = {(): HEAD + TALL / 2}  # of the boxes of the column before
    _draw_beginning(sketch, 0.02, HEAD, wide, ["<start>"], kept=True)
    for number, column in enumerate(columns, start=1):
        x, below = number * pitch, {}
        sketch.text(x, 0.08, f"step {number}", color=MUTED, fontsize=8.5)
        for row, (words, p) in enumerate(column):
            y, hot, from_y = HEAD + row * (TALL + GAP), words == best, middles[words[:-1]]
            lines = [words[-1], f"{p:.3f}" + " ★" * hot]
            _draw_beginning(sketch, x, y, wide, lines, row < width, hot)
            below[words] = y + TALL / 2
            bend = (1 - np.cos(np.linspace(0, np.pi, 20))) / 2  # 0 to 1, level at both ends
            across = np.linspace(x - GAP_ACROSS + 0.02 * (number == 1), x, 20)
            look = WAY[row < width]
            axes.plot(across, from_y + (below[words] - from_y) * bend, zorder=0.9, **look)
        middles = below


def _draw_beginning(sketch, x, y, wide, lines, kept, hot=False):
    """Draw the box of a beginning, with its last word and its probability."""
    look = WAY[kept]
    face = ACCENT if hot else PAPER
    sketch.card(x, y, wide, TALL, face, look["color"], look["linewidth"], look["linestyle"])
    ink = {"ha": "center", "color": INK if kept else MUTED, "fontsize": 8.5}
    for line, text in enumerate(lines, start=1):
        middle = y + TALL * line / (len(lines) + 1) + (line - 1.5) * 0.04 * (len(lines) > 1)
        sketch.text(x + wide / 2, middle, _drawn(text, int(wide / 0.075)), hot, **ink)


# --- the architecture ---------------------------------------------------------------------------

# part: (chapter, what it is)
PARTS = {
    "tokens": (1, "text cut into numbered pieces"),
    "embeddings": (2, "a vector for each token"),
    "positions": (3, "where each token stands, added to its vector"),
    "attention": (4, "each token gathers what it needs from the others"),
    "heads": (5, "several attentions side by side"),
    "add-norm": (6, "a way around each step, and a rescaling after it"),
    "feed-forward": (7, "the same small network at each position"),
    "encoder": (7, "the layers that read the source"),
    "masks": (8, "who may look at whom"),
    "decoder": (9, "the layers that write the target"),
    "cross-attention": (9, "the target looks at the source"),
    "linear": (9, "a score for each word of the vocabulary"),
    "softmax": (9, "scores become probabilities"),
    "training": (10, "learning all the weights from examples"),
    "scale": (11, "longer texts, larger models, more machines"),
    "real weights": (12, "the same encoder with published weights"),
}
ON_ACCENT = "#fdfdfd"  # not PAPER: what stands on the accent stays light on a dark page
BOX, LEFT, RIGHT = 1.76, 0.12, 2.46  # width of a box, left edges of the two columns, in inches
TOP, FLOW = 1.96, 1.2  # where the first step begins; how far right in a box the arrows run


@house_style()
def architecture(highlight=None, title=None, alt=None):
    """Draw the transformer, its parts numbered by chapter, with one part or several emphasised.

    >>> architecture("masks").alt.split(". ")[-1]
    'Highlighted: masks (chapter 8), who may look at whom.'
    """
    hot = [highlight] if isinstance(highlight, str) else list(highlight or [])
    for name in hot:
        if name not in PARTS:
            raise ValueError(f"highlight must name parts of {list(PARTS)}, but has {name!r}.")
    told = (
        "The transformer on one page, its parts numbered by chapter: source tokens pass "
        "embeddings, positions and the layers of the encoder; target tokens pass the layers of "
        "the decoder, which also look at the encoder's result, and a linear layer with softmax "
        "gives the next token."
    )
    if hot:
        parts = (f"{name} (chapter {PARTS[name][0]}), {PARTS[name][1]}" for name in hot)
        told += f" Highlighted: {'; '.join(parts)}."
    height = 6.2 if title else 5.9
    figure = Picture(figsize=(4.6, height), layout="none", alt=_alt(alt, title, told))
    axes = figure.add_axes((0, 0, 1, 5.9 / height), xlim=(0, 4.6), ylim=(5.9, 0))
    axes.set_axis_off()
    _draw_transformer(_Sketch(axes, set(hot)))
    return _finish(figure, title)


class _Sketch:
    """Draws boxes, badges and arrows; x and y are inches from the upper left corner."""

    def __init__(self, axes, hot):
        self.axes, self.hot = axes, hot

    def card(self, x, y, width, height, face=PAPER, edge=MUTED, line=1.0, dash="-"):
        style = "round,pad=0,rounding_size=0.06"
        look = {"facecolor": face, "edgecolor": edge, "linewidth": line, "linestyle": dash}
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, style, **look))

    def text(self, x, y, text, hot=False, **kwargs):
        kwargs = {"color": INK, "fontsize": 9, "ha": "left", "va": "center_baseline"} | kwargs
        if hot:
            kwargs["color"] = ON_ACCENT
        self.axes.text(x, y, text, **kwargs)

    def badge(self, x, y, part):
        hot = part in self.hot
        face, edge = (ACCENT, ON_ACCENT) if hot else (PALE, MUTED)
        self.card(x - 0.12, y - 0.085, 0.24, 0.17, face, edge, 0.8)
        number = f"{PARTS[part][0]:02d}"
        self.text(x, y, number, hot, fontsize=7.5, ha="center", fontweight="bold")

    def box(self, x, y, part, label, height=0.28, heads=False):
        """Draw a named part; a stack of cards stands for its heads."""
        hot = part in self.hot
        face, edge = (ACCENT, ON_ACCENT) if "heads" in self.hot else (PALE, MUTED)
        for offset in (0.08, 0.04) if heads else ():
            self.card(x + offset, y - offset, BOX, height, face, edge)
        self.card(x, y, BOX, height, *([ACCENT, ACCENT] if hot else []))
        self.badge(x + 0.19, y + height / 2, part)
        self.text(x + 0.38, y + height / 2, label, hot)

    def path(self, *points):
        """Draw a line through the points; the arrow head is at the last one."""
        x, y = zip(*points, strict=True)
        self.axes.plot(x, y, color=MUTED, linewidth=1.1, solid_joinstyle="round")
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length * 0.08, (y1 - y0) / length * 0.08
        tip = [(x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)]
        self.axes.add_patch(Polygon(tip, facecolor=MUTED, edgecolor=MUTED, linewidth=0))


def _draw_transformer(sketch):
    """Draw the two columns, the bridge between them, and what concerns the whole model."""
    _panel(sketch, LEFT, 3.66, "encoder")
    _panel(sketch, RIGHT, 4.58, "decoder")
    _inputs(sketch, LEFT, "source", ["forty", "two"])
    _inputs(sketch, RIGHT, "target so far", ["<start>", "zwei", "und"])
    encoder = [("attention", "attention"), ("feed-forward", "feed-forward")]
    decoder = [
        ("masks", "masked attention"),
        ("cross-attention", "cross-attention"),
        ("feed-forward", "feed-forward"),
    ]
    for column, steps in ((LEFT, encoder), (RIGHT, decoder)):
        for k, (part, label) in enumerate(steps):
            _step(sketch, column, TOP + 0.92 * k, part, label)
    hot = "attention" in sketch.hot
    sketch.text(LEFT + 1.26, TOP + 0.14, "heads", hot, color=MUTED, fontsize=8.5)
    sketch.badge(LEFT + BOX, TOP - 0.02, "heads")
    _mask_icon(sketch, RIGHT + BOX - 0.23, TOP + 0.05)
    # The bridge: the encoder's result goes to every cross-attention.
    cross = TOP + 0.92 + 0.14
    sketch.path(
        (LEFT + FLOW, 3.54), (LEFT + FLOW, 3.82), (2.28, 3.82), (2.28, cross), (RIGHT, cross)
    )
    sketch.text(LEFT + FLOW - 0.08, 3.84, "keys, values", color=MUTED, fontsize=8.5, ha="right")
    _outputs(sketch)
    sketch.card(LEFT - 0.06, 4.3, BOX + 0.34, 1.5, face=PALE, edge=PALE)
    sketch.text(LEFT + 0.07, 4.47, "the whole model", fontweight="bold")
    for k, part in enumerate(("training", "scale", "real weights")):
        sketch.box(LEFT, 4.65 + 0.38 * k, part, part)


def _panel(sketch, x, bottom, part):
    """Draw the frame around the layers of the encoder or the decoder."""
    hot = part in sketch.hot
    line = 2.5 if hot else 1.0
    sketch.card(x - 0.06, 1.5, BOX + 0.34, bottom - 1.5, PALE, ACCENT if hot else PALE, line)
    if hot:
        sketch.card(x - 0.06, 1.5, BOX + 0.34, 0.28, ACCENT, ACCENT)
    sketch.badge(x + 0.19, 1.64, part)
    sketch.text(x + 0.38, 1.64, part, hot, fontweight="bold")
    sketch.text(x + BOX + 0.2, 1.64, "× N", hot, ha="right")


def _inputs(sketch, x, caption, tokens):
    """Draw the tokens, their embeddings and their positions."""
    sketch.text(x + 0.07, 0.12, caption, color=MUTED, fontsize=8.5)
    sketch.card(x, 0.23, BOX, 0.32, face=PALE, edge=PALE)
    sketch.badge(x + 0.19, 0.39, "tokens")
    _chips(sketch, x + 0.37, 0.28, tokens)
    sketch.box(x, 0.68, "embeddings", "embeddings")
    sketch.box(x, 1.10, "positions", "positions")
    _vector_icon(sketch, x + BOX - 0.42, 0.75)
    wave = np.linspace(0, 4 * np.pi, 60)
    colour = ON_ACCENT if "positions" in sketch.hot else MUTED
    sketch.axes.plot(
        x + BOX - 0.42 + wave / wave[-1] * 0.32, 1.24 + 0.07 * np.sin(wave), color=colour, lw=1.2
    )
    sketch.path((x + FLOW, 0.55), (x + FLOW, 0.68))
    sketch.text(x + FLOW, 1.03, "+", ha="center", fontsize=10, fontweight="bold")
    sketch.path((x + FLOW, 1.38), (x + FLOW, TOP - 0.08))


def _chips(sketch, x, y, tokens):
    """Draw tokens as chips in a row."""
    hot = "tokens" in sketch.hot
    for token in tokens:
        width = 0.066 * len(token) + 0.08
        sketch.card(x, y, width, 0.22, *([ACCENT, ACCENT] if hot else []))
        sketch.text(x + width / 2, y + 0.11, token, hot, ha="center", fontsize=8.5)
        x += width + 0.04


def _step(sketch, x, y, part, label):
    """Draw a step, the way around it, and the add & norm where both meet."""
    around = x + BOX + 0.17
    sketch.path((x + FLOW, y - 0.12), (around, y - 0.12), (around, y + 0.54), (x + BOX, y + 0.54))
    sketch.box(x, y, part, label, heads="feed" not in part)
    sketch.path((x + FLOW, y + 0.28), (x + FLOW, y + 0.42))
    sketch.box(x, y + 0.42, "add-norm", "add & norm", height=0.24)
    if part != "feed-forward":
        sketch.path((x + FLOW, y + 0.66), (x + FLOW, y + 0.92 - (part == "masks") * 0.08))


def _outputs(sketch):
    """Draw what follows the decoder: scores, probabilities, the next token."""
    x = RIGHT
    sketch.path((x + FLOW, 4.46), (x + FLOW, 4.74))
    sketch.box(x, 4.74, "linear", "linear")
    sketch.path((x + FLOW, 5.02), (x + FLOW, 5.14))
    sketch.box(x, 5.14, "softmax", "softmax")
    colour = ON_ACCENT if "softmax" in sketch.hot else MUTED
    for k, height in enumerate((0.05, 0.16, 0.09)):
        bar = Rectangle((x + BOX - 0.3 + 0.08 * k, 5.36), 0.055, -height, facecolor=colour)
        sketch.axes.add_patch(bar)
    sketch.path((x + FLOW, 5.42), (x + FLOW, 5.56))
    sketch.text(x + 0.07, 5.68, "next token", color=MUTED, fontsize=8.5)
    _chips(sketch, x + 0.92, 5.56, ["vierzig"])


def _vector_icon(sketch, x, y):
    """Draw a vector as four cells of different shade."""
    for k, value in enumerate((0.15, 0.75, 0.4, 0.95)):
        face = to_hex(matplotlib.colormaps[MAGNITUDE](value))
        cell = Rectangle((x + 0.08 * k, y), 0.08, 0.14, facecolor=face, edgecolor=PAPER, lw=0.6)
        sketch.axes.add_patch(cell)


def _mask_icon(sketch, x, y):
    """Draw a look-ahead mask of three tokens."""
    ink = ON_ACCENT if "masks" in sketch.hot else MUTED
    for row, column in np.ndindex(3, 3):
        face = ink if column <= row else "none"
        corner = (x + 0.06 * column, y + 0.06 * row)
        cell = Rectangle(corner, 0.06, 0.06, facecolor=face, edgecolor=ink, lw=0.5)
        sketch.axes.add_patch(cell)
