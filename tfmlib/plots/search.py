"""A beam search as a tree: what each step keeps, and what it drops."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from tfmlib.plots.colours import ACCENT, INK, MUTED, PALE, PAPER, WIDTH
from tfmlib.plots.font import drawn_label
from tfmlib.plots.inputs import as_finite, as_series
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.sketch import Sketch
from tfmlib.plots.style import house_style
from tfmlib.plots.words import alt_text, listed, quoted

END = "<end>"  # a beginning with this as its last word has ended
ROWS = 5  # as many candidates of a step are drawn
TALL, GAP, GAP_ACROSS = 0.36, 0.1, 0.22  # inches: a box, and what is between two of them
HEAD = 0.24  # the line above the first
Words = tuple[str, ...]
Column = list[tuple[Words, float]]  # the beginnings of a step and their probabilities
WAY: dict[bool, dict[str, Any]] = {  # of what is kept, and of what is dropped
    True: {"color": ACCENT, "linewidth": 1.8, "linestyle": "-"},
    False: {"color": MUTED, "linewidth": 1.0, "linestyle": "--"},
}


@house_style()
def search_tree(
    steps: Iterable[Mapping[str, float]],
    width: int,
    title: str | None = None,
    alt: str | None = None,
) -> Picture:
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
    best = max(ended, key=lambda one: one[1])[0] if ended else None
    pitch = min(WIDTH / (len(columns) + 1), 1.1)  # of the columns, the first has <start> alone
    rows = max(len(column) for column in columns)
    height = HEAD + rows * (TALL + GAP) + 0.3 + 0.25 * bool(title)
    told = _tell_search(columns, width, best)
    size = (pitch * (len(columns) + 1), height)
    figure = Picture(figsize=size, layout="none", alt=alt_text(alt, title, told))
    top = -0.25 if title else 0
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(height + top, top))
    axes.set_axis_off()
    _draw_search(axes, columns, width, best, pitch)
    key = [Patch(facecolor=PAPER, edgecolor=ACCENT, linewidth=1.8, label="kept")]
    key += [Patch(facecolor=PAPER, edgecolor=MUTED, linestyle="--", label="dropped")]
    key += [Patch(facecolor=ACCENT, label="★ best that has ended")]
    figure.legend(handles=key, loc="lower center", ncols=3, handlelength=1.2, borderaxespad=0.2)
    return titled(figure, title)


def _columns(steps: Iterable[Mapping[str, float]]) -> list[Column]:
    """Return for each step its likeliest beginnings as (words, probability), the best first."""
    columns: list[Column] = []
    known: set[Words] = {()}
    for number, chosen in enumerate(steps, start=1):
        step = {tuple(name.split()): p for name, p in as_series(chosen, f"step {number}").items()}
        chances = as_finite(list(step.values()), 1, f"the probabilities of step {number}")
        for words in step:
            if words[:-1] not in known:
                raise ValueError(
                    f"step {number} must continue beginnings of the step before it, but "
                    f"{quoted(' '.join(words))} does not; look at its first words."
                )
        likely = sorted(zip(step, chances, strict=True), key=lambda one: -one[1])
        columns.append([one for one in likely if one[1] > 0][:ROWS])
        known = {words for words, _ in columns[-1]}
    if not columns:
        raise ValueError("steps must hold at least one step, but is empty.")
    return columns


def _tell_search(columns: list[Column], width: int, best: Words | None) -> str:
    """Say what each step keeps, and which sentence is the best in the end."""
    told = []
    for number, column in enumerate(columns, start=1):
        kept = [f"{quoted(' '.join(words))} ({p:.3f})" for words, p in column[:width]]
        told.append(f"Step {number} keeps {listed(kept)}.")
    if best:
        told.append(f"The best that has ended is {quoted(' '.join(best))}.")
    return f"Beam search of width {width}. {' '.join(told)}"


def _draw_search(
    axes: Axes, columns: list[Column], width: int, best: Words | None, pitch: float
) -> None:
    """Draw the boxes of all beginnings, the way to each, and the band of those that are kept."""
    sketch, wide = Sketch(axes), pitch - GAP_ACROSS
    look: dict[str, Any] = {"facecolor": PALE, "edgecolor": PALE, "zorder": 0.5}
    corner, size = (pitch - 0.1, HEAD - 0.05), (pitch * len(columns) - 0.02, width * (TALL + GAP))
    axes.add_patch(Rectangle(corner, *size, **look))
    middles: dict[Words, float] = {(): HEAD + TALL / 2}  # of the boxes of the column before
    _draw_beginning(sketch, 0.02, HEAD, wide, ["<start>"], kept=True)
    for number, column in enumerate(columns, start=1):
        x = number * pitch
        below: dict[Words, float] = {}
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


def _draw_beginning(
    sketch: Sketch,
    x: float,
    y: float,
    wide: float,
    lines: Sequence[str],
    kept: bool,
    hot: bool = False,
) -> None:
    """Draw the box of a beginning, with its last word and its probability."""
    look = WAY[kept]
    face = ACCENT if hot else PAPER
    sketch.card(x, y, wide, TALL, face, look["color"], look["linewidth"], look["linestyle"])
    ink: dict[str, Any] = {"ha": "center", "color": INK if kept else MUTED, "fontsize": 8.5}
    for line, text in enumerate(lines, start=1):
        middle = y + TALL * line / (len(lines) + 1) + (line - 1.5) * 0.04 * (len(lines) > 1)
        sketch.text(x + wide / 2, middle, drawn_label(text, int(wide / 0.075)), hot, **ink)
