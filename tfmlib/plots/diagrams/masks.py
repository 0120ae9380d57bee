"""Chapter 8: what a mask lets through: between words, in a batch, in the scores, through layers."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from tfmlib.plots.colours import ACCENT, BLOCKED, GRID, INK, MUTED, PALE, PAPER, VERMILLION
from tfmlib.plots.inputs import Labels, as_array, as_finite, as_labels, as_mask
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, quoted
from tfmlib.support.arrays import Array, ArrayLike

CHIP = 0.24  # inches: the height of a word's box


def _spread(
    sketch: Sketch, y: float, words: Sequence[str], left: float, right: float = 4.76
) -> list[Box]:
    """Draw words as chips at equal distances, so that several rows of them align."""
    pitch = (right - left) / len(words)
    width = min(pitch - 0.06, 0.66)
    return [
        sketch.labelled(left + pitch * (k + 0.5) - width / 2, y, width, CHIP, word, fontsize=8.5)
        for k, word in enumerate(words)
    ]


def _frame(sketch: Sketch, box: Box) -> None:
    """Put a strong frame around what was drawn."""
    sketch.card(box.x, box.y, box.width, box.height, "none", VERMILLION, 1.8)


def _thin_line(sketch: Sketch, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw a line in the background, without an arrow head."""
    sketch.axes.plot(*zip(start, end, strict=True), color=GRID, linewidth=0.8, zorder=0.9)


# --- between words ------------------------------------------------------------------------------


@house_style()
def who_sees_whom(words: Labels, masks: Mapping[str, ArrayLike], query: int) -> Picture:
    """Draw a line from each query to each key that it may use, one panel per mask; follow a query.

    The word after the query, which its position must predict, is framed among the keys.

    >>> who_sees_whom(["not", "on"], {"Free": np.ones((2, 2)), "Masked": np.tri(2)}, 0).alt
    'Lines from each of 2 queries to the keys that it may use. Free: 4 lines; “not”, which must \
predict “on”, sees “not” and “on”. Masked: 3 lines; “not”, which must predict “on”, sees “not”.'
    """
    names = [str(word) for word in words]
    if not 0 <= query < len(names) - 1:
        raise ValueError(
            f"query must be a position with a word after it, 0 to {len(names) - 2}, "
            f"but came as {query}."
        )
    panels = {title: _square(mask, len(names)) for title, mask in masks.items()}
    told = [
        f"{title}: {int(mask.sum())} lines; {quoted(names[query])}, which must predict "
        f"{quoted(names[query + 1])}, sees "
        f"{listed(quoted(names[j]) for j in np.flatnonzero(mask[query]))}."
        for title, mask in panels.items()
    ]
    tall = 1.58
    picture, sketch = sheet(
        tall * len(panels),
        f"Lines from each of {len(names)} queries to the keys that it may use. {' '.join(told)}",
    )
    for k, (title, mask) in enumerate(panels.items()):
        _draw_looks(sketch, tall * k, title, names, mask, query)
    return picture


def _draw_looks(
    sketch: Sketch, y: float, title: str, words: list[str], mask: Array, query: int
) -> None:
    """Draw the keys above, the queries below and the lines between them."""
    sketch.text(0.06, y + 0.12, title, fontweight="bold")
    sketch.note(0.06, y + 0.44, "keys")
    sketch.note(0.06, y + 1.14, "queries")
    keys = _spread(sketch, y + 0.32, words, 0.6)
    queries = _spread(sketch, y + 1.02, words, 0.6)
    for i, j in np.argwhere(mask):
        if i != query:
            _thin_line(sketch, queries[i].top, keys[j].bottom)
    for j in np.flatnonzero(mask[query]):
        sketch.path(queries[query].top, keys[j].bottom, colour=VERMILLION)
    _frame(sketch, queries[query])
    _frame(sketch, keys[query + 1])
    x, bottom = queries[query].bottom
    sketch.note(x, bottom + 0.12, f"must predict {quoted(words[query + 1])}", ha="center")


def _square(mask: ArrayLike, count: int) -> Array:
    """Return a mask with one row and one column per word, or say what came instead."""
    square = as_mask(mask)
    if square.shape != (count, count):
        raise ValueError(
            f"mask must be ({count}, {count}), one row and one column per word, "
            f"but came with the shape {square.shape}."
        )
    return square


# --- in a batch ---------------------------------------------------------------------------------


@house_style()
def padded_batch(sentences: Sequence[Labels], mask: ArrayLike, pad: str = "<pad>") -> Picture:
    """Draw a batch as rows of words filled up with padding, and beside each its row of the mask.

    >>> padded_batch([["help", "<pad>"], ["help", "me"]], [[[1, 0]], [[1, 1]]]).alt
    'A batch of 2 sentences, all filled up to 2 tokens, with one row of the mask per sentence. \
Keys that may be used: 1 of “help”, 2 of “help me”.'
    """
    rows = [[str(word) for word in sentence] for sentence in sentences]
    allowed = as_array(mask, 3, "mask")  # (B, 1, S)
    if allowed.shape != (len(rows), 1, len(rows[0])):
        raise ValueError(
            f"mask must be ({len(rows)}, 1, {len(rows[0])}), one row per sentence, "
            f"but came with the shape {allowed.shape}."
        )
    allowed = as_mask(allowed[:, 0])
    told = [
        f"{int(keys.sum())} of {quoted(' '.join(word for word in row if word != pad))}"
        for row, keys in zip(rows, allowed, strict=True)
    ]
    picture, sketch = sheet(
        0.42 + 0.34 * len(rows),
        f"A batch of {len(rows)} sentences, all filled up to {len(rows[0])} tokens, with one row "
        f"of the mask per sentence. Keys that may be used: {', '.join(told)}.",
    )
    wide = 2.86 / len(rows[0])
    sketch.text(0.06, 0.14, f"the batch, {len(rows)} × {len(rows[0])}", fontweight="bold")
    sketch.text(3.3, 0.14, "its padding mask", fontweight="bold")
    for i, row in enumerate(rows):
        y = 0.36 + 0.34 * i
        for j, word in enumerate(row):
            x = 0.06 + wide * j
            if word == pad:
                sketch.card(x, y, wide - 0.06, CHIP, PAPER, MUTED, dash="--")
                sketch.note(x + wide / 2 - 0.03, y + CHIP / 2, word, ha="center")
            else:
                sketch.labelled(x, y, wide - 0.06, CHIP, word)
        sketch.path((2.95, y + CHIP / 2), (3.24, y + CHIP / 2))
        for j, may in enumerate(allowed[i]):
            face = ACCENT if may else BLOCKED
            x = 3.3 + 1.4 / len(row) * j
            sketch.labelled(x, y, 1.4 / len(row) - 0.04, CHIP, "✓" if may else "×", face, face)
    return picture


# --- in the scores ------------------------------------------------------------------------------


@house_style()
def masked_scores(
    scores: ArrayLike, added: ArrayLike, weights: ArrayLike, words: Labels, divisor: float
) -> Picture:
    """Draw scores + B = masked scores, and what the softmax makes of them.

    >>> scores, B, weights = [[2, 7], [1, 1]], [[0, -np.inf], [0, 0]], [[1, 0], [0.5, 0.5]]
    >>> masked_scores(scores, B, weights, ["a", "b"], divisor=4).alt
    'Scores of 2 queries and 2 keys plus B: 1 of 4 becomes minus infinity, the others stay. \
Divided by 4, the softmax gives these the weight 0 and each row the sum 1. Last row, “b”: \
0.5 and 0.5.'
    """
    before, B = as_finite(scores, 2, "scores"), as_array(added, 2, "B")
    S = as_finite(weights, 2, "weights")
    names = as_labels(words, len(before), "words")
    masked = before + B
    if (S[np.isinf(masked)] != 0).any():
        raise ValueError("weights must be 0 where B is minus infinity; mask before the softmax.")
    hidden = int(np.isinf(B).sum())
    told = (
        f"Scores of {len(names)} queries and {B.shape[1]} keys plus B: {hidden} of {B.size} "
        f"{'become' if hidden > 1 else 'becomes'} minus infinity, the others stay. Divided by "
        f"{number_text(divisor)}, the softmax gives these the weight 0 and each row the sum 1. "
        f"Last row, {quoted(names[-1])}: {listed(number_text(w) for w in S[-1])}."
    )
    cell = (min(0.44, 1.76 / len(names)), 0.26)
    tall, wide = cell[1] * len(names), cell[0] * len(names)
    picture, sketch = sheet(2 * tall + 1.02, told)
    left, right, top, low = 0.68, 0.68 + wide + 0.42, 0.44, 0.98 + tall
    sketch.matrix(left, top, before, "scores", names, names, cell)
    sketch.text(right - 0.21, top + tall / 2, "+", ha="center", fontsize=13)
    _draw_added(sketch, right, top, B, names, cell)
    sketch.matrix(left, low, masked, "= scores + B", names, (), cell, limit=float(before.max()))
    sketch.path((left + wide + 0.06, low + tall / 2), (right - 0.06, low + tall / 2))
    seen = np.where(np.isinf(masked), -np.inf, S)  # grey where the mask leaves nothing
    texts = [[f"{w:.2f}" if np.isfinite(w) else "0" for w in row] for row in seen]
    sketch.matrix(right, low, seen, "weights", (), (), cell, texts)
    sketch.note(right + wide / 2, low - 0.31, f"÷ {number_text(divisor)}, softmax", ha="center")
    return picture


def _draw_added(
    sketch: Sketch, x: float, y: float, B: Array, words: list[str], cell: tuple[float, float]
) -> None:
    """Draw B: its zeros, which change nothing, on a pale ground, −∞ on grey."""
    zeros = {(int(i), int(j)) for i, j in np.argwhere(B == 0)}
    sketch.matrix(x, y, B, "B", (), words, cell, blank=zeros)
    for i, j in zeros:
        middle = (x + cell[0] * (j + 0.5), y + cell[1] * (i + 0.5))
        sketch.text(*middle, "0", ha="center", fontsize=8, color=INK)


# --- through layers -----------------------------------------------------------------------------


@house_style()
def change_spreads(moved: ArrayLike, mask: ArrayLike, words: Labels) -> Picture:
    """Draw how far a change of one input travels: a row per layer, lines where it may pass.

    `moved` says how far each vector moved, the inputs in row 0, then the outputs of each layer.

    >>> change_spreads([[0, 1, 0], [0, 0.5, 0.25]], np.tri(3), ["not", "on", "your"]).alt
    'How far each vector moves when the input “on” changes. After layer 1: “on” 0.5, “your” 0.25; \
“not” does not move.'
    """
    distances = as_finite(moved, 2, "moved")  # (layers + 1, T)
    names = as_labels(words, distances.shape[1], "words")
    allowed = _square(mask, len(names))
    changed = listed(quoted(names[j]) for j in np.flatnonzero(distances[0]))
    told = [_tell_moved(layer, row, names) for layer, row in enumerate(distances) if layer]
    picture, sketch = sheet(
        0.4 + 0.94 * len(distances) - 0.6,
        f"How far each vector moves when the input {changed} changes. {' '.join(told)}",
    )
    left, right = 0.9, 4.76
    pitch = (right - left) / len(names)
    rows: list[list[Box]] = []
    for layer, row in enumerate(distances):
        y = 0.34 + 0.94 * layer
        sketch.note(0.06, y + CHIP / 2, f"after layer {layer}" if layer else "input")
        boxes = []
        for j, distance in enumerate(row):
            face = ACCENT if distance else PALE
            text = f"{distance:.2f}" if distance else "0"
            boxes.append(sketch.labelled(left + pitch * j + 0.05, y, pitch - 0.1, CHIP, text, face))
        rows.append(boxes)
    for j, box in enumerate(rows[0]):
        sketch.text(box.top[0], 0.2, names[j], ha="center", fontsize=8.5)
    for layer, (above, below) in enumerate(pairwise(rows)):
        for i, j in np.argwhere(allowed):
            if distances[layer, j]:
                sketch.path(above[j].bottom, below[i].top, colour=VERMILLION)
            else:
                _thin_line(sketch, above[j].bottom, below[i].top)
    return picture


def _tell_moved(layer: int, distances: Array, words: list[str]) -> str:
    """Say which vectors a layer gives that have moved, and which have not."""
    far = [f"{quoted(words[j])} {number_text(distances[j])}" for j in np.flatnonzero(distances)]
    still = [quoted(words[j]) for j in np.flatnonzero(distances == 0)]
    told = f"After layer {layer}: {', '.join(far) or 'nothing moves'}"
    if not still:
        return told + "."
    return f"{told}; {listed(still)} {'does' if len(still) == 1 else 'do'} not move."
