"""Chapter 0: one state for everything, against attention, which looks wherever it needs to."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.patches import Polygon, Rectangle

from tfmlib.plots.colours import ACCENT, GRID, INK, MUTED, ON_ACCENT, PALE, PAPER, VERMILLION
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
LEFT, RIGHT = 0.1, 4.7  # the margins of a sheet
SIGNED = -1.0  # the end of a tanh's colours; a negative one colours all states around zero


@house_style()
def bottleneck(source: Sequence[str], state: ArrayLike, target: Sequence[str]) -> Picture:
    """Draw an encoder and a decoder with the one vector through which a sentence must pass.

    >>> bottleneck(["red", "boat"], [0.5, -1], ["rotes", "Boot"]).alt
    'An encoder reads 2 words and a decoder writes 2. All that passes between them is the last \
state, 2 numbers: 0.5 and −1.0.'
    """
    vector = np.asarray(state, float)
    if vector.ndim != 1:
        raise ValueError(f"expected one vector as the state, got the shape {vector.shape}.")
    alt = (
        f"An encoder reads {len(source)} words and a decoder writes {len(target)}. All that passes "
        f"between them is the last state, {vector.size} numbers: {listed(number_texts(vector))}."
    )
    picture, sketch = sheet(2.72, alt)
    sketch.text(LEFT, 0.12, "The encoder reads, word by word", fontweight="bold")
    read = _in_columns(sketch, 0.28, source)
    states = [_state(sketch, box.centre[0], 0.7, t + 1, len(read)) for t, box in enumerate(read)]
    for word, box in zip(read, states, strict=True):
        sketch.path(word.bottom, box.top)
    for one, other in pairwise(states):
        sketch.path(one.right, other.left)
    width = 0.5 * vector.size
    cells = Box(2.4 - width / 2, 1.38, width, 0.26)
    _funnel(sketch, 1.0, cells.y, cells)
    _funnel(sketch, 2.02, cells.bottom[1], cells)
    sketch.matrix(cells.x, cells.y, vector, cell=(0.5, 0.26), limit=SIGNED)
    last = states[-1].bottom
    sketch.path(last, (last[0], 1.51), (cells.right[0] + 0.03, 1.51), colour=VERMILLION)
    sketch.note(cells.x - 0.12, 1.42, "the last state:", ha="right")
    sketch.note(cells.x - 0.12, 1.6, f"{vector.size} numbers, {len(source)} words", ha="right")
    written = _in_columns(sketch, 2.08, target)
    for one, other in pairwise(written):
        sketch.path(one.right, other.left)
    sketch.text(LEFT, 2.52, "The decoder writes, word by word", fontweight="bold")
    return picture


@house_style()
def look_back(source: Sequence[str], weights: ArrayLike, states: ArrayLike, word: str) -> Picture:
    """Draw the weighted mean of all states that a decoder takes before it writes a word.

    >>> look_back(["red", "boat"], [0.75, 0.25], [[1.0, 0], [0, 2]], "rotes").alt
    'To write “rotes”, the decoder weights the states of “red” with 0.75 and “boat” with 0.25. \
Their weighted mean is 0.75 and 0.50.'
    """
    h, alpha = np.asarray(states, float), np.asarray(weights, float)
    if h.ndim != 2 or alpha.shape != (len(source),) or len(h) != len(source):
        raise ValueError(
            f"expected a weight and a row of numbers for each of {len(source)} words, "
            f"got the shapes {alpha.shape} and {h.shape}."
        )
    mixed = alpha @ h
    named = [f"{quoted(w)} with {a}" for w, a in zip(source, number_texts(alpha), strict=True)]
    alt = (
        f"To write {quoted(word)}, the decoder weights the states of {listed(named)}. "
        f"Their weighted mean is {listed(number_texts(mixed))}."
    )
    foot = 0.46 + 0.26 * len(source)  # where the matrices end
    picture, sketch = sheet(foot + 1.1, alt)
    cell = (1.38 / h.shape[1], 0.26)
    left = sketch.matrix(0.66, 0.46, alpha[:, None], "weight", source, cell=(0.5, 0.26))
    middle = sketch.matrix(1.46, 0.46, h, "state", cell=cell, limit=SIGNED)
    products = alpha[:, None] * h
    right = sketch.matrix(3.2, 0.46, products, "weight × state", cell=cell, limit=SIGNED)
    for before, sign, after in ((left, "×", middle), (middle, "=", right)):
        gap = (before.right[0] + after.x) / 2
        sketch.text(gap, left.centre[1], sign, ha="center", fontsize=12)
    sketch.note(left.centre[0], foot + 0.12, "sum: 1", ha="center")
    total = sketch.matrix(right.x, foot + 0.22, mixed, cell=cell, limit=SIGNED)
    sketch.path(right.bottom, (right.bottom[0], total.y - 0.02))
    sketch.text(total.x - 0.1, total.left[1], "the rows added up:", ha="right")
    width = 0.08 * len(word) + 0.2
    written = sketch.labelled(
        total.bottom[0] - width / 2, foot + 0.78, width, 0.26, word, ACCENT, ACCENT
    )
    sketch.path(total.bottom, written.top)
    sketch.text(written.x - 0.1, written.left[1], "from which the decoder writes", ha="right")
    return picture


@house_style()
def unrolled(words: Sequence[str], states: ArrayLike) -> Picture:
    """Draw a recurrent network step by step: each word changes the state that the last one left.

    >>> unrolled(["red", "boat"], [[0.5, -0.5], [0.2, 0.9]]).alt
    'A recurrent network reads 2 words, one per step, and changes one state of 2 numbers, at first \
zeros. After “boat” it is 0.2 and 0.9, all that is left of the text.'
    """
    h = _one_row_each(words, states)
    alt = (
        f"A recurrent network reads {len(h)} words, one per step, and changes one state of "
        f"{h.shape[1]} numbers, at first zeros. After {quoted(words[-1])} it is "
        f"{listed(number_texts(h[-1]))}, all that is left of the text."
    )
    step, top, cell = 0.46, 0.3, (0.5, 0.26)
    picture, sketch = sheet(top + step * len(h) + 0.56, alt)
    x = 3.2 - 0.25 * h.shape[1]
    texts = _rows_of_texts(h)
    sketch.text(0.8, 0.14, "word", ha="center", fontweight="bold")
    sketch.text(3.2, 0.14, "state", ha="center", fontweight="bold")
    before = sketch.matrix(x, top, np.zeros(h.shape[1]), cell=cell, limit=SIGNED)
    sketch.note(before.right[0] + 0.1, before.right[1], "at first zeros")
    for t, word in enumerate(words):
        y = top + step * (t + 1)
        chip = sketch.labelled(0.35, y, 0.9, 0.26, word)
        last = t == len(h) - 1
        lit = [(0, j) for j in range(h.shape[1])] if last else []
        state = sketch.matrix(x, y, h[t], cell=cell, limit=SIGNED, texts=[texts[t]], lit=lit)
        sketch.path(chip.right, (state.x - 0.03, y + 0.13))
        sketch.text((chip.right[0] + x) / 2, y + 0.02, "U", ha="center", style="italic")
        sketch.path(before.bottom, (state.top[0], y - 0.01))
        sketch.text(state.top[0] + 0.1, y - 0.1, "W", style="italic")
        before = state
    sketch.note(3.2, before.bottom[1] + 0.16, "all that is left of the text", ha="center")
    return picture


@house_style()
def gradient_back(factors: ArrayLike) -> Picture:
    """Draw a gradient on its way back to the first state, multiplied by one factor per step.

    >>> gradient_back([0.5, 0.4]).alt
    'The gradient goes back from state 3 to state 1 and is multiplied by 0.4 and 0.5. Of 1.0 at \
the last state, 0.2 is left at the first.'
    """
    steps = np.asarray(factors, float)
    if steps.ndim != 1 or not steps.size or (steps < 0).any():
        raise ValueError(f"expected one factor per step, none below 0, got {steps.tolist()}.")
    left = np.append(np.cumprod(steps[::-1])[::-1], 1.0)  # at each state, the last one is given
    texts, times = number_texts(left), number_texts(steps)
    alt = (
        f"The gradient goes back from state {left.size} to state 1 and is multiplied by "
        f"{listed(times[::-1])}. Of {texts[-1]} at the last state, {texts[0]} is left at the first."
    )
    picture, sketch = sheet(2.0, alt)
    apart = (RIGHT - LEFT - 0.6) / steps.size
    middles = LEFT + 0.3 + apart * np.arange(left.size)
    states = [_state(sketch, x, 0.3, t + 1) for t, x in enumerate(middles)]
    for (one, other), factor in zip(pairwise(states), times, strict=True):
        sketch.path(other.left, one.right, colour=VERMILLION)
        sketch.text((one.right[0] + other.x) / 2, 0.2, f"× {factor}", ha="center", fontsize=8.5)
    for x, share, text in zip(middles, left, texts, strict=True):
        height = 0.8 * share / left.max()
        bar = Rectangle((x - 0.15, 1.66 - height), 0.3, height, facecolor=ACCENT)
        sketch.axes.add_patch(bar)
        sketch.text(x, 1.66 - height - 0.1, text, ha="center", fontsize=8.5)
    sketch.note(LEFT, 1.84, "the gradient that is left")
    return picture


@house_style()
def path_lengths(words: Sequence[str], word: str) -> Picture:
    """Draw how a word reaches the last one: through every state between them, or directly.

    >>> path_lengths(["the", "red", "boat", "sinks"], "red").alt
    'From “red” to “sinks” it is 2 steps in a recurrent network, through every state between \
them, and 1 step by attention, as from every other word.'
    """
    if word not in words[:-1]:
        raise ValueError(f"expected a word before the last one of {list(words)}, got {word!r}.")
    first, last = list(words).index(word), len(words) - 1
    steps = last - first
    plural = "step" if steps == 1 else "steps"
    alt = (
        f"From {quoted(word)} to {quoted(words[-1])} it is {steps} {plural} in a recurrent "
        "network, through every state between them, and 1 step by attention, as from every "
        "other word."
    )
    picture, sketch = sheet(3.3, alt)
    title = f"Recurrent: from {word} to {words[-1]} in {steps} {plural}"
    sketch.text(LEFT, 0.14, title, fontweight="bold")
    low = _in_columns(sketch, 1.08, words, hot=(first, last))
    states = [_state(sketch, box.centre[0], 0.56, t + 1) for t, box in enumerate(low)]
    for t, (chip, state) in enumerate(zip(low, states, strict=True)):
        sketch.path(chip.top, state.bottom, colour=VERMILLION if t == first else MUTED)
    for t, (one, other) in enumerate(pairwise(states)):
        on_path = t >= first
        sketch.path(one.right, other.left, colour=VERMILLION if on_path else MUTED)
        if on_path:
            middle = (one.right[0] + other.x) / 2
            sketch.text(middle, 0.44, str(t - first + 1), ha="center", fontweight="bold")
    title = f"Attention: from {word}, as from every word, in 1 step"
    sketch.text(LEFT, 1.66, title, fontweight="bold")
    high = _in_columns(sketch, 1.84, words, hot=(first, last))
    out = sketch.labelled(2.4 - 0.8, 2.88, 1.6, 0.28, f"new vector of {words[-1]}")
    for t, chip in enumerate(high):
        end = (out.x + out.width * (t + 0.5) / len(words), out.y)
        if t != first:
            sketch.path(chip.bottom, end)
    end = (out.x + out.width * (first + 0.5) / len(words), out.y)
    sketch.path(high[first].bottom, end, colour=VERMILLION)
    half = [(a + b) / 2 for a, b in zip(high[first].bottom, end, strict=True)]
    sketch.text(half[0] + 0.16, half[1] - 0.02, "1", ha="center", fontweight="bold")
    return picture


@house_style()
def waiting(words: Sequence[str], links: Sequence[str]) -> Picture:
    """Draw which steps can be done in which round: one per round, or one link for all words.

    >>> waiting(["red", "boat", "sinks"], ["q, k, v", "mix"]).alt
    'A timetable of 3 words. The recurrent network takes 3 rounds with one word in each; \
attention takes 2 rounds (q, k, v; mix) with all 3 words in each.'
    """
    if not words or not links:
        raise ValueError("expected at least one word and one link of the chain, got none.")
    n = len(words)
    alt = (
        f"A timetable of {n} words. The recurrent network takes {n} rounds with one word in each; "
        f"attention takes {len(links)} rounds ({'; '.join(links)}) with all {n} words in each."
    )
    tall = 0.23 * n
    picture, sketch = sheet(1.3 + 2 * tall, alt)
    labels = [[_numbered("h", t + 1) if t == r else "" for r in range(n)] for t in range(n)]
    _timetable(sketch, 0.12, f"Recurrent: {n} rounds, 1 word in each", words, labels)
    title = f"Attention: {len(links)} rounds, all {n} words in each"
    _timetable(sketch, 0.76 + tall, title, words, [list(links)] * n)
    return picture


@house_style()
def in_view(words: Sequence[str], word: str) -> Picture:
    """Draw which words of a sentence can change the vector of one of them, for three ways to read.

    >>> in_view(["the", "bank", "of", "sand"], "bank").alt
    'Which words can change the vector of “bank”: by look-up 1 of 4, only “bank”; in a \
recurrent network 2 of 4, up to “bank”; by attention all 4.'
    """
    if word not in words:
        raise ValueError(f"expected one of the words {list(words)}, got {word!r}.")
    n, place = len(words), list(words).index(word)
    alt = (
        f"Which words can change the vector of {quoted(word)}: by look-up 1 of {n}, only "
        f"{quoted(word)}; in a recurrent network {place + 1} of {n}, up to {quoted(word)}; "
        f"by attention all {n}."
    )
    picture, sketch = sheet(2.1, alt)
    ways = [("Look-up in a table", [place]), ("Recurrent, from left to right", range(place + 1))]
    ways += [("Attention", range(n))]
    for row, (name, seen) in enumerate(ways):
        y = 0.14 + 0.7 * row
        sketch.text(LEFT, y, f"{name}: {len(seen)} of {n} words", fontweight="bold")
        _in_columns(sketch, y + 0.16, words, hot=[place], faint=set(range(n)) - set(seen))
    return picture


# --- parts of drawings --------------------------------------------------------------------------


def _one_row_each(words: Sequence[str], states: ArrayLike) -> Array:
    h = np.asarray(states, float)
    if h.ndim != 2 or not len(h) or len(h) != len(words):
        raise ValueError(
            f"expected one row of numbers for each of {len(words)} words, got the shape {h.shape}."
        )
    return h


def _rows_of_texts(matrix: Array) -> list[list[str]]:
    """Write all numbers of a matrix with the same decimals."""
    texts = number_texts(matrix.ravel())
    return np.array(texts).reshape(matrix.shape).tolist()


def _numbered(letter: str, number: int) -> str:
    return letter + str(number).translate(SUBSCRIPTS)


def _state(sketch: Sketch, x: float, y: float, number: int, lit: int = 0) -> Box:
    """Draw the state after so many words, centred at x; number `lit` is emphasised."""
    face = ACCENT if number == lit else PAPER
    return sketch.labelled(x - 0.15, y, 0.3, 0.26, _numbered("h", number), face)


def _in_columns(
    sketch: Sketch,
    y: float,
    words: Sequence[str],
    hot: Collection[int] = (),
    faint: Collection[int] = (),
) -> list[Box]:
    """Draw words as cards from margin to margin; the faint ones are dashed."""
    widths = [0.075 * len(word) + 0.16 for word in words]
    gap = (RIGHT - LEFT - sum(widths)) / max(len(words) - 1, 1)
    boxes, x = [], LEFT
    for t, (word, width) in enumerate(zip(words, widths, strict=True)):
        face = ACCENT if t in hot else PAPER if t in faint else PALE
        box = sketch.card(x, y, width, 0.26, face, MUTED, dash=":" if t in faint else "-")
        colour = ON_ACCENT if t in hot else MUTED if t in faint else INK
        sketch.text(*box.centre, word, ha="center", color=colour, fontsize=8.5)
        boxes.append(box)
        x += width + gap
    return boxes


def _funnel(sketch: Sketch, wide_y: float, narrow_y: float, cells: Box) -> None:
    """Shade the way from a whole row of words to the few cells of a vector."""
    corners = [(LEFT, wide_y), (RIGHT, wide_y), (cells.right[0], narrow_y), (cells.x, narrow_y)]
    sketch.axes.add_patch(Polygon(corners, facecolor=GRID, edgecolor="none", zorder=0))


def _timetable(
    sketch: Sketch, y: float, title: str, words: Sequence[str], labels: Sequence[Sequence[str]]
) -> None:
    """Draw one row per word and one column per round; a step without a label does not happen."""
    sketch.text(LEFT, y, title, fontweight="bold")
    wide, x = 3.9 / len(words), 0.75
    for r in range(len(words)):
        sketch.note(x + wide * (r + 0.5), y + 0.24, str(r + 1), ha="center")
    sketch.note(LEFT, y + 0.24, "round")
    for t, word in enumerate(words):
        top = y + 0.36 + 0.23 * t
        sketch.text(x - 0.08, top + 0.1, word, ha="right", fontsize=8.5)
        for r, label in enumerate(labels[t]):
            face = ACCENT if label else PALE
            box = Box(x + wide * r + 0.015, top, wide - 0.03, 0.2)
            sketch.labelled(box.x, box.y, box.width, box.height, label, face, face, fontsize=8)
    rounds = len(labels[0])
    if rounds < len(words):
        middle = (x + wide * rounds + x + wide * len(words)) / 2
        sketch.note(middle, y + 0.36 + 0.23 * len(words) / 2, "done", ha="center")
