"""Skip connections and layer norm: what is added, what is averaged, and in which order."""

from collections.abc import Sequence

import numpy as np

from tfmlib.plots.colours import ACCENT, BLUE, GRID, INK, MUTED, ON_ACCENT, VERMILLION
from tfmlib.plots.inputs import as_finite, as_labels
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import number_text, number_texts
from tfmlib.support.arrays import Array, ArrayLike


@house_style()
def skip_connection(
    x: ArrayLike, added: ArrayLike, columns: Sequence[str], sublayer: str = "attention"
) -> Picture:
    """Draw a vector that goes through a sublayer and around it, and the sum of both.

    >>> skip_connection([1, 0], [2, 1], ["a", "b"]).alt.split(". ")[-1]
    'The sum is [3, 1].'
    """
    x = as_finite(x, 1, "x")
    added = _like(added, x, "added")
    names = as_labels(columns, len(x), "columns")
    alt = (
        f"A vector x = {_vector(x)} takes two ways: through {sublayer}, which makes "
        f"{_vector(added)} of it, and around it, unchanged. The sum is {_vector(x + added)}."
    )
    picture, sketch = sheet(2.75, alt)
    cell, left = (min(2.16 / len(x), 0.54), 0.26), 1.3
    limit = _signed(x, added, x + added)
    top = sketch.matrix(left, 0.3, x, rows=["x"], columns=names, cell=cell, limit=limit)
    card = sketch.labelled(left, 0.85, top.width, 0.3, sublayer)
    label = f"{sublayer}(x)"
    middle = sketch.matrix(left, 1.4, added, rows=[label], cell=cell, limit=limit)
    plus = _plus(sketch, middle.centre[0], 1.97)
    out = sketch.matrix(left, 2.35, x + added, rows=[f"x + {label}"], cell=cell, limit=limit)
    for one, other in ((top, card), (card, middle), (middle, plus), (plus, out)):
        sketch.path(one.bottom, other.top)
    around = left + top.width + 0.35
    sketch.path(
        top.right, (around, top.right[1]), (around, plus.right[1]), plus.right, colour=VERMILLION
    )
    sketch.text(around + 0.08, 1.0, "skip\nconnection:\nx itself", fontsize=8.5, va="center")
    return picture


@house_style()
def residual_stream(stream: ArrayLike) -> Picture:
    """Draw a vector before and after each layer, and beside it what each layer adds.

    >>> residual_stream([[1, 2], [1, 5], [0, 5]]).alt.split(": ")[-1]
    '[1, 2] + [0, 3] + [−1, 0] = [0, 5].'
    """
    rows = as_finite(stream, 2, "stream")
    if len(rows) < 2:
        raise ValueError(f"stream must have a row before and after a layer, but has {len(rows)}.")
    added = np.diff(rows, axis=0)
    sums = " + ".join(_vector(row) for row in (rows[0], *added))
    alt = (
        f"The stream runs from top to bottom past {len(added)} layers. Each layer reads it and "
        f"adds a vector to it; nothing is overwritten: {sums} = {_vector(rows[-1])}."
    )
    step = 1.02
    picture, sketch = sheet(0.72 + step * len(added), alt)
    cell, limit = (min(1.8 / rows.shape[1], 0.46), 0.25), _signed(rows, added)
    width = cell[0] * rows.shape[1]
    left, right = 0.42, 2.72
    sketch.text(left + width / 2, 0.12, "the stream", ha="center", fontweight="bold")
    sketch.text(right + width / 2, 0.12, "what a layer adds", ha="center", fontweight="bold")
    above = sketch.matrix(left, 0.32, rows[0], rows=["x₀"], cell=cell, limit=limit)
    for k, (update, row) in enumerate(zip(added, rows[1:], strict=True)):
        y = 0.32 + step * k
        layer = sketch.labelled(right + width / 2 - 0.45, y, 0.9, 0.25, f"layer {k + 1}")
        sketch.path(above.right, layer.left)
        written = sketch.matrix(right, y + 0.46, update, cell=cell, limit=limit)
        sketch.path(layer.bottom, written.top)
        plus = _plus(sketch, left + width / 2, written.left[1])
        sketch.path(written.left, plus.right)
        sketch.path(above.bottom, plus.top, colour=VERMILLION)
        name = "x" + "₀₁₂₃₄₅₆₇₈₉"[(k + 1) % 10]
        below = sketch.matrix(left, y + step, row, rows=[name], cell=cell, limit=limit)
        sketch.path(plus.bottom, below.top, colour=VERMILLION)
        above = below
    return picture


@house_style()
def layer_norm_steps(
    x: ArrayLike, mean: float, root: float, gain: ArrayLike, bias: ArrayLike
) -> Picture:
    """Draw a layer norm of one row step by step, as numbers and as points on a line.

    >>> layer_norm_steps([1, 3], 2, 1, [1, 2], [0, 1]).alt.split("; ")[-1]
    'times the gain [1, 2] plus the bias [0, 1]: [−1, 3].'
    """
    x = as_finite(x, 1, "x")
    gain, bias = _like(gain, x, "gain"), _like(bias, x, "bias")
    if root <= 0:
        raise ValueError(f"root must be above 0, since it divides, but is {root}.")
    centred = x - mean
    normed = centred / root
    result = gain * normed + bias
    told = (
        f"Layer norm of the row {_vector(x)}. Minus its mean, {number_text(mean)}: "
        f"{_vector(centred)}; divided by {number_text(root)}: {_vector(normed)}; times the gain "
        f"{_vector(gain)} plus the bias {_vector(bias)}: {_vector(result)}."
    )
    picture, sketch = sheet(3.75, told)
    cell, limit = (min(1.84 / len(x), 0.46), 0.25), _signed(x, centred, normed, result, gain, bias)
    line = _NumberLine(sketch, 2.5, 4.6, np.concatenate([x, centred, normed, result]))
    places = {0.28: x, 1.06: centred, 1.84: normed, 2.16: gain, 2.46: bias, 3.22: result}
    boxes = {y: sketch.matrix(0.1, y, row, cell=cell, limit=limit) for y, row in places.items()}
    for y in (0.28, 1.06, 1.84, 3.22):
        line.points(boxes[y].right[1], places[y])
    for y, label in ((2.16, "× gain"), (2.46, "+ bias")):
        sketch.text(boxes[y].right[0] + 0.08, boxes[y].right[1], label)
    minus, divide = f"− {number_text(mean)}, the mean", f"÷ {number_text(root)}, the deviation"
    for one, other, label in ((0.28, 1.06, minus), (1.06, 1.84, divide), (2.46, 3.22, "")):
        start, end = boxes[one].bottom, boxes[other].top
        sketch.path(start, end)
        sketch.text(start[0] + 0.1, (start[1] + end[1]) / 2, label)
    return picture


class _NumberLine:
    """A line from the smallest to the largest number, drawn anew beside each step."""

    def __init__(self, sketch: Sketch, left: float, right: float, values: Array):
        self.sketch, self.left, self.right = sketch, left, right
        self.low, self.high = min(values.min(), 0), max(values.max(), 0)

    def at(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1)
        return float(self.left + share * (self.right - self.left))

    def points(self, y: float, values: Array) -> None:
        """Draw the values as points above the line's zero and their own mean."""
        axes, zero, mean = self.sketch.axes, self.at(0), self.at(values.mean())
        axes.plot([self.left - 0.08, self.right + 0.08], [y, y], color=GRID, linewidth=2, zorder=1)
        axes.plot([zero, zero], [y - 0.09, y + 0.09], color=MUTED, linewidth=1.2, zorder=2)
        self.sketch.note(zero, y - 0.17, "0", ha="center")
        axes.plot([self.at(v) for v in values], [y] * len(values), "o", color=BLUE, zorder=3)
        axes.plot(mean, y + 0.11, "^", color=VERMILLION, zorder=3)
        label = f"mean {number_text(values.mean())}"
        self.sketch.text(mean, y + 0.25, label, ha="center", fontsize=8.5)


@house_style()
def whose_mean(table: ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> Picture:
    """Draw a table twice: batch norm takes the mean of each column, layer norm of each row.

    >>> whose_mean([[1, 3], [5, 3]], ["a", "b"], ["1", "2"]).alt.split(". ")[-1]
    'Layer norm takes the mean of each row, of a word over its features: 2 and 4.'
    """
    table = as_finite(table, 2, "table")
    words = as_labels(rows, len(table), "rows")
    features = as_labels(columns, table.shape[1], "columns")
    by_column, by_row = number_texts(table.mean(axis=0)), number_texts(table.mean(axis=1))
    alt = (
        f"The same table of {len(words)} words and {len(features)} features twice. Batch norm "
        f"takes the mean of each column, of a feature over all words: {_told(by_column)}. Layer "
        f"norm takes the mean of each row, of a word over its features: {_told(by_row)}."
    )
    cell, gap = (0.34, 0.28), 0.1
    down, across = cell[1] * len(words), cell[0] * len(features)
    picture, sketch = sheet(down + gap * len(words) + 0.96, alt)
    limit, top, left, right = _signed(table), 0.52, 0.6, 2.86
    wide = across + gap * (len(features) - 1)
    sketch.text(left + wide / 2, 0.12, "batch norm", ha="center", fontweight="bold")
    for j, mean in enumerate(by_column):
        x = left + (cell[0] + gap) * j
        box = sketch.matrix(x, top, table[:, j : j + 1], cell=cell, limit=limit)
        _frame(sketch, box)
        sketch.text(box.top[0], top - 0.14, features[j], ha="center")
        sketch.text(box.bottom[0], box.bottom[1] + 0.16, mean, ha="center", fontweight="bold")
    for i, word in enumerate(words):
        sketch.text(left - 0.1, top + cell[1] * (i + 0.5), word, ha="right")
    sketch.note(left - 0.1, top + down + 0.16, "mean", ha="right")
    sketch.text(right + across / 2, 0.12, "layer norm", ha="center", fontweight="bold")
    for i, mean in enumerate(by_row):
        y = top + (cell[1] + gap) * i
        box = sketch.matrix(right, y, table[i], cell=cell, limit=limit)
        _frame(sketch, box)
        sketch.text(right - 0.1, box.left[1], words[i], ha="right")
        sketch.text(box.right[0] + 0.29, box.right[1], mean, ha="center", fontweight="bold")
    for j, feature in enumerate(features):
        sketch.text(right + cell[0] * (j + 0.5), top - 0.14, feature, ha="center")
    sketch.note(right + across + 0.29, top - 0.14, "mean", ha="center")
    low = top + down + gap * (len(words) - 1) + 0.27
    sketch.note(left + wide / 2, low, "a feature over all words", ha="center")
    sketch.note(right + across / 2, low, "a word over its features", ha="center")
    return picture


def _frame(sketch: Sketch, box: Box) -> None:
    """Draw a line around the numbers that share a mean."""
    pad = 0.03
    sketch.card(
        box.x - pad, box.y - pad, box.width + 2 * pad, box.height + 2 * pad, "none", INK, 1.5
    )


@house_style()
def norm_orders(post: ArrayLike, pre: ArrayLike) -> Picture:
    """Draw post-norm beside pre-norm, each with a vector at its four stages.

    The stages of post-norm are x, the sublayer's result, the sum and its norm; those of pre-norm
    are x, its norm, the sublayer's result and the sum.

    >>> norm_orders(np.ones((4, 2)), np.ones((4, 2))).alt.split(". ")[0]
    'Two block diagrams for x = [1, 1]'
    """
    post, pre = as_finite(post, 2, "post"), as_finite(pre, 2, "pre")
    for what, stages in (("post", post), ("pre", pre)):
        if len(stages) != 4:
            raise ValueError(f"{what} must have 4 rows, one for each stage, but has {len(stages)}.")
    alt = (
        f"Two block diagrams for x = {_vector(post[0])}. Post-norm: the sublayer gives "
        f"{_vector(post[1])}, x is added, {_vector(post[2])}, and the layer norm of the sum goes "
        f"on, {_vector(post[3])}: the skip connection ends in a norm. Pre-norm: the sublayer reads "
        f"the layer norm of x, {_vector(pre[1])}, gives {_vector(pre[2])}, and the sum with x "
        f"goes on, {_vector(pre[3])}: the skip connection meets no norm."
    )
    picture, sketch = sheet(3.8, alt)
    limit = _signed(post, pre)
    sub, norm = "sublayer", "layer norm"
    _order(sketch, 0.42, "post-norm", post, [sub, "+", norm], limit)
    _order(sketch, 2.84, "pre-norm", pre, [norm, sub, "+"], limit)
    return picture


def _order(
    sketch: Sketch, left: float, name: str, stages: Array, parts: list[str], limit: float
) -> None:
    """Draw one order of sublayer, sum and norm from top to bottom, and the line around it."""
    cell = (min(1.76 / stages.shape[1], 0.44), 0.25)
    first = box = sketch.matrix(left, 0.34, stages[0], name, cell=cell, limit=limit)
    plus = box
    for k, (part, row) in enumerate(zip(parts, stages[1:], strict=True)):
        y = 0.84 + 1.06 * k
        if part == "+":
            card = plus = _plus(sketch, box.centre[0], y + 0.14)
        else:
            hot = part == "layer norm"
            look = {"face": ACCENT, "edge": ACCENT, "color": ON_ACCENT} if hot else {}
            card = sketch.labelled(left, y, box.width, 0.28, part, **look)
        below = sketch.matrix(left, y + 0.53, row, cell=cell, limit=limit)
        sketch.path(box.bottom, card.top)
        sketch.path(card.bottom, below.top)
        box = below
    around = left - 0.22
    start, end = first.left, plus.left
    sketch.path(start, (around, start[1]), (around, end[1]), end, colour=VERMILLION)
    sketch.text(
        around - 0.1, 1.2, "skip connection", rotation=90, fontsize=8.5, ha="center", va="center"
    )


def _plus(sketch: Sketch, x: float, y: float) -> Box:
    """Draw the sign at which two vectors are added."""
    return sketch.labelled(x - 0.13, y - 0.12, 0.26, 0.24, "+", fontweight="bold", fontsize=11)


def _like(values: ArrayLike, x: Array, what: str) -> Array:
    """Return a vector as long as x, or say how long it is."""
    array = as_finite(values, 1, what)
    if len(array) != len(x):
        raise ValueError(f"{what} must have {len(x)} numbers, like x, but has {len(array)}.")
    return array


def _signed(*arrays: Array) -> float:
    """Return the limit of the colours that all matrices share: negative, so that 0 is white."""
    return -max(float(np.abs(array).max()) for array in arrays)


def _vector(values: Array) -> str:
    """Write a vector as prose has it."""
    return f"[{', '.join(number_texts(values))}]"


def _told(texts: Sequence[str]) -> str:
    return ", ".join(texts[:-1]) + f" and {texts[-1]}"
