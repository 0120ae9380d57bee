"""Chapter 10: the loss at each position, smoothed targets, the rate, and a step of training."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from tfmlib.plots.colours import ACCENT, BLUE, GREY, INK, MUTED, PALE, WIDTH
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import number_text, quoted
from tfmlib.support.arrays import Array, ArrayLike

# --- the loss -----------------------------------------------------------------------------------


@house_style()
def loss_per_position(
    logits: ArrayLike,
    probabilities: ArrayLike,
    words: Sequence[str],
    reads: Sequence[str],
    answers: Sequence[str],
    pad: str = "<pad>",
) -> Picture:
    """Draw logits, their softmax, and the surprise at each position that is not padding.

    >>> picture = loss_per_position([[0.0, 0.0]], [[0.5, 0.5]], ["on", "off"], ["<start>"], ["on"])
    >>> picture.alt.split(". ")[-1]
    'The loss is the mean over 1 position: 0.69.'
    """
    z, p = (np.asarray(matrix, float) for matrix in (logits, probabilities))  # (T, V)
    if not z.shape == p.shape == (len(answers), len(words)) or len(reads) != len(answers):
        raise ValueError(
            "loss_per_position expects one row per answer and one column per word, "
            f"got {z.shape} and {p.shape} for {len(answers)} answers and {len(words)} words."
        )
    right = [(t, list(words).index(a)) for t, a in enumerate(answers) if a != pad]
    surprises = {t: -float(np.log(p[t, w])) for t, w in right}
    loss = float(np.mean(list(surprises.values())))
    counted = f"{len(right)} position" + "s" * (len(right) != 1)
    told = ", ".join(f"{answers[t]} {s:.2f}" for t, s in surprises.items())
    alt = (
        f"Two tables of {len(answers)} positions: logits, and below them the probabilities that "
        f"softmax makes of each row. The surprise at the right token is {told}; positions with "
        f"padding are crossed out. The loss is the mean over {counted}: {loss:.2f}."
    )
    cell, left, top = (0.47, 0.23), 0.92, 0.62
    below = top + cell[1] * len(answers) + 0.72
    picture, sketch = sheet(below + cell[1] * len(answers) + 0.5, alt)
    side = left + cell[0] * len(words)
    _logit_rows(sketch, (left, top), cell, z, words, reads)
    table = _probability_rows(sketch, (left, below), cell, p, answers, right, pad)
    sketch.path((table.top[0], top + table.height + 0.08), (table.top[0], below - 0.3))
    sketch.note(table.top[0] + 0.1, below - 0.45, "softmax, row by row")
    sketch.text(table.top[0], below - 0.14, "probabilities p", ha="center", fontweight="bold")
    sketch.text(left - 0.06, below - 0.14, "should say", ha="right", fontweight="bold")
    sketch.text(side + 0.12, below - 0.14, "−ln p", fontweight="bold")
    for t in range(len(answers)):
        y = below + cell[1] * (t + 0.5)
        text = f"{surprises[t]:.2f}" if t in surprises else "not counted"
        (sketch.text if t in surprises else sketch.note)(side + 0.12, y, text)
    foot = below + table.height + 0.24
    sketch.text(side + 0.12, foot, f"L = {loss:.2f}", fontweight="bold")
    sketch.note(side, foot, f"the mean of the {len(right)}:", ha="right")
    return picture


def _logit_rows(
    sketch: Sketch,
    corner: tuple[float, float],
    cell: tuple[float, float],
    logits: Array,
    words: Sequence[str],
    reads: Sequence[str],
) -> None:
    texts = [[number_text(v) for v in row] for row in logits]
    sketch.matrix(
        *corner, logits, "logits z", list(reads), list(words), cell, texts,
    )  # fmt: skip
    sketch.text(corner[0] - 0.06, corner[1] - 0.09, "reads", ha="right", fontweight="bold")


def _probability_rows(
    sketch: Sketch,
    corner: tuple[float, float],
    cell: tuple[float, float],
    p: Array,
    answers: Sequence[str],
    right: list[tuple[int, int]],
    pad: str,
) -> Box:
    """Draw the probabilities, those of the right tokens framed and rows of padding left empty."""
    texts = [[f"{v:.2f}" for v in row] for row in p]
    padding = [(t, w) for t in range(len(p)) if answers[t] == pad for w in range(p.shape[1])]
    box = sketch.matrix(
        *corner, p, rows=list(answers), cell=cell, texts=texts, limit=1, lit=right, blank=padding
    )
    for t in sorted({t for t, _ in padding}):
        y = corner[1] + cell[1] * (t + 0.5)
        sketch.axes.plot([box.x + 0.06, box.x + box.width - 0.06], [y, y], color=MUTED, linewidth=1)
    return box


@house_style()
def smoothed_target(words: Sequence[str], right: int, epsilon: float) -> Picture:
    """Draw what the model should say before and after label smoothing, as bars.

    >>> smoothed_target(["on", "off"], 0, 0.1).alt.split(". ")[-1]
    'After: “on” 0.95, “off” 0.05.'
    """
    if not 0 <= right < len(words) or not 0 < epsilon < 1:
        raise ValueError(
            f"smoothed_target expects right from 0 to {len(words) - 1} and epsilon between 0 and "
            f"1, got {right} and {epsilon}."
        )
    before = np.eye(len(words))[right]
    after = before * (1 - epsilon) + epsilon / len(words)
    told = (
        ", ".join(f"{quoted(w)} {number_text(v)}" for w, v in zip(words, row, strict=True))
        for row in (before, after)
    )
    alt = "Two rows of bars: the distribution that the model should give. Before: {}. After: {}."
    picture, sketch = sheet(3.65, alt.format(*told))
    bottoms = 1.4, 3.25
    for row, bottom in zip((before, after), bottoms, strict=True):
        _bars(sketch, row, words, bottom)
    _ghost(sketch, right, after, bottoms[1])
    sketch.text(0.1, bottoms[0] - 0.9, "before", fontweight="bold")
    sketch.note(0.1, bottoms[0] - 0.72, "ε = 0")
    sketch.text(0.1, bottoms[1] - 0.9, "after", fontweight="bold")
    sketch.note(0.1, bottoms[1] - 0.72, f"ε = {number_text(epsilon)}")
    share = number_text(epsilon / len(words))
    taken = f"take {number_text(epsilon)} away, hand {share} to each of the {len(words)}"
    sketch.path((1.0, bottoms[0] + 0.34), (1.0, bottoms[0] + 0.62))
    sketch.note(1.12, bottoms[0] + 0.48, taken)
    return picture


def _ghost(sketch: Sketch, right: int, heights: Array, bottom: float) -> None:
    """Show with a dashed line what the right token's bar has lost of its height of 1."""
    x, width = _bar(right, heights.size)
    corner, height = (x, bottom - 1), 1 - heights[right]
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": MUTED, "linestyle": "--"}
    sketch.axes.add_patch(Rectangle(corner, width, height, **look))


def _bar(k: int, count: int) -> tuple[float, float]:
    """Where the k-th of some bars begins, and how wide it is."""
    step = (WIDTH - 1.0) / count
    return 0.95 + step * (k + 0.18), step * 0.64


def _bars(sketch: Sketch, heights: Array, words: Sequence[str], bottom: float) -> None:
    """Draw bars upwards from a line, each with its value above and its word below."""
    sketch.axes.plot([0.9, WIDTH - 0.1], [bottom, bottom], color=MUTED, linewidth=1)
    for k, (height, word) in enumerate(zip(heights, words, strict=True)):
        x, width = _bar(k, len(heights))
        face = ACCENT if height == max(heights) else GREY
        bar = Rectangle((x, bottom - height), width, height, facecolor=face)
        sketch.axes.add_patch(bar)
        above = bottom - max(height, 0.02) - 0.11 - 0.09 * (0.9 < height < 1)
        sketch.text(x + width / 2, above, number_text(height), ha="center")
        sketch.text(x + width / 2, bottom + 0.13, word, ha="center")


@house_style()
def logit_gradient(words: Sequence[str], probabilities: ArrayLike, wanted: ArrayLike) -> Picture:
    """Draw what the model says, what it should say, and the difference: the gradient.

    >>> logit_gradient(["on", "off"], [0.3, 0.7], [1, 0]).alt.split(". ")[-1]
    'Their difference, the gradient at the logits: “on” −0.7, “off” 0.7.'
    """
    p, q = (np.asarray(row, float) for row in (probabilities, wanted))  # (V,)
    if not p.shape == q.shape == (len(words),):
        raise ValueError(
            f"logit_gradient expects two distributions over {len(words)} words, "
            f"got {p.shape} and {q.shape}."
        )
    gradient = p - q
    told = ", ".join(f"{quoted(w)} {number_text(g)}" for w, g in zip(words, gradient, strict=True))
    alt = (
        "Three rows of numbers, one column per word: what the model says, what it should say. "
        f"Their difference, the gradient at the logits: {told}."
    )
    cell, left, tops = ((WIDTH - 1.75) / len(words), 0.27), 1.65, (0.38, 0.86, 1.34)
    picture, sketch = sheet(2.28, alt)
    names = "p, what it says", "q, what it should", "p − q, the gradient"
    for row, y, name in zip((p, q, gradient), tops, names, strict=True):
        texts = [[f"{v + 0.0:.2f}".replace("-", "−") for v in row]]
        sketch.matrix(
            left, y, row, cell=cell, texts=texts, limit=1, columns=words if y < 0.5 else ()
        )
        sketch.text(left - 0.08, y + 0.135, name, ha="right", fontsize=8.5)
    middle = left + cell[0] * len(words) / 2
    sketch.text(middle, 0.755, "−", ha="center", fontsize=12)
    sketch.text(middle, 1.235, "=", ha="center", fontsize=12)
    sketch.text(left - 0.08, 1.83, "a step against it", ha="right", fontsize=8.5)
    for k, g in enumerate(gradient):
        x = left + cell[0] * (k + 0.5)
        if abs(g) >= 0.005:
            ends = ((x, 1.72), (x, 1.94)) if g > 0 else ((x, 1.94), (x, 1.72))
            sketch.path(*ends, colour=INK)
            sketch.note(x, 2.1, "down" if g > 0 else "up", ha="center")
    return picture


# --- the rate -----------------------------------------------------------------------------------


@house_style()
def rate_schedule(rates: ArrayLike, warmup: int) -> Picture:
    """Draw the learning rates of the steps from 1: they climb for `warmup` steps, then fall.

    >>> rate_schedule([0.1, 0.2, 0.16, 0.14, 0.13, 0.12, 0.11, 0.1], warmup=2).alt
    'Curve of the learning rate over 8 steps: a straight climb to its peak of 0.2 at step 2, \
then a fall as 1/√step, to half the peak, 0.1, at step 8.'
    """
    heights = np.asarray(rates, float)  # (steps,)
    if heights.size < 4 * warmup or heights.argmax() != warmup - 1:
        raise ValueError(
            f"rate_schedule expects rates that peak at step {warmup} and go on to step "
            f"{4 * warmup}, got {heights.size} that peak at step {heights.argmax() + 1}."
        )
    peak, half = (_rate(heights[step - 1]) for step in (warmup, 4 * warmup))
    alt = (
        f"Curve of the learning rate over {heights.size:,} steps: a straight climb to its peak of "
        f"{peak} at step {warmup:,}, then a fall as 1/√step, to half the peak, {half}, "
        f"at step {4 * warmup:,}."
    )
    picture, sketch = sheet(2.95, alt)
    left, right, top, bottom = 0.9, WIDTH - 0.15, 0.62, 2.4
    across, up = (right - left) / heights.size, (bottom - top) / heights.max()

    def place(step: int) -> tuple[float, float]:
        return left + across * step, bottom - up * heights[step - 1]

    ground = Rectangle((left, top - 0.3), across * warmup, bottom - top + 0.3, facecolor=PALE)
    sketch.axes.add_patch(ground)
    for step in (warmup, 4 * warmup):
        x, y = place(step)
        sketch.axes.plot([left, x, x], [y, y, bottom], color=GREY, linewidth=0.9, linestyle=":")
        sketch.text(left - 0.06, y, _rate(heights[step - 1]), ha="right")
        sketch.text(x, bottom + 0.14, f"{step:,}", ha="center")
    sketch.axes.plot([left, left, right], [top - 0.3, bottom, bottom], color=MUTED, linewidth=1)
    steps = np.unique(np.linspace(1, heights.size, 300).round().astype(int))
    steps = np.union1d(steps, [warmup])
    sketch.axes.plot(*zip(*map(place, steps), strict=True), color=BLUE, linewidth=2)
    sketch.text(left - 0.06, bottom, "0", ha="right")
    sketch.text(right, bottom + 0.36, "step", ha="right")
    sketch.text(0.06, top - 0.22, "rate")
    sketch.text(left + across * warmup / 2, top - 0.17, "warm-up", ha="center", fontweight="bold")
    x, y = place(warmup)
    sketch.text(x + 0.1, y - 0.16, "peak", fontweight="bold")
    x, y = place(round(1.9 * warmup))
    sketch.text(x + 0.25, y - 0.18, "decay, ∝ 1/√step", fontweight="bold")
    x, y = place(4 * warmup)
    sketch.note(x - 0.1, y + 0.17, "4 × the steps: half the rate", ha="right")
    return picture


def _rate(value: float) -> str:
    """Write a rate with the digits that a rate has: 0.0007, 0.00035."""
    return f"{value:.2g}"


# --- the step -----------------------------------------------------------------------------------


@house_style()
def training_step(batch: int, source: int, target: int, vocabulary: int, weights: int) -> Picture:
    """Draw one step of training as a loop, with the shape of what goes from part to part.

    >>> training_step(128, 9, 10, 67, 240_195).alt.split(": ")[-1]
    'the next batch meets the new weights.'
    """
    logits = f"({batch}, {target - 1}, {vocabulary})"
    alt = (
        f"A loop of boxes. A batch of {batch} pairs, sources ({batch}, {source}) and targets "
        f"({batch}, {target}), is shifted into what the decoder reads and what it should say. "
        f"The forward pass gives logits {logits}, the loss is one number, the backward pass gives "
        f"{weights:,} derivatives, and Adam changes {weights:,} weights: "
        "the next batch meets the new weights."
    )
    picture, sketch = sheet(4.2, alt)
    all_weights = f"{weights:,} numbers"
    read, said = f"({batch}, {target - 1})", f"({batch}, {target - 1})"
    data = _stage(
        sketch, LEFT, 0.1, "batch", f"src ({batch}, {source})", f"tgt ({batch}, {target})"
    )
    shift = _stage(sketch, LEFT, 1.15, "shift", f"reads {read}", f"should say {said}")
    forward = _stage(sketch, LEFT, 2.2, "forward pass", "logits", logits)
    loss = _stage(sketch, LEFT, 3.25, "loss", "mean surprise", "1 number")
    backward = _stage(sketch, RIGHT, 3.25, "backward pass", "gradient", all_weights)
    adam = _stage(sketch, RIGHT, 2.2, "Adam", "one step per weight", all_weights)
    new = _stage(sketch, RIGHT, 1.15, "weights", "changed a little", all_weights, hot=True)
    for one, other in ((data, shift), (shift, forward), (forward, loss)):
        sketch.path(one.bottom, other.top)
    sketch.path(loss.right, backward.left)
    sketch.path(backward.top, adam.bottom)
    sketch.path(adam.top, new.bottom)
    turn = (forward.right[0] + new.left[0]) / 2
    sketch.path(new.left, (turn, new.left[1]), (turn, forward.right[1]), forward.right)
    sketch.path(new.top, (new.top[0], data.right[1]), data.right)
    sketch.note(turn, data.right[1] - 0.14, "and the next batch")
    return picture


LEFT, RIGHT = 0.1, 2.85  # where the two columns of stages begin


def _stage(
    sketch: Sketch, x: float, y: float, name: str, first: str, second: str, hot: bool = False
) -> Box:
    """Draw a card with a name and two lines on what comes out of it."""
    box = sketch.card(x, y, 1.85, 0.78, *((ACCENT, ACCENT) if hot else (PALE, MUTED)))
    sketch.text(box.centre[0], y + 0.17, name, hot, ha="center", fontweight="bold")
    for k, line in enumerate((first, second)):
        sketch.text(box.centre[0], y + 0.41 + 0.2 * k, line, hot, ha="center", fontsize=8.5)
    return box
