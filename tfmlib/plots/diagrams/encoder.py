"""The encoder: the feed-forward network, one layer from inside, and a stack of layers."""

from collections.abc import Mapping, Sequence

import numpy as np

from tfmlib.plots.colours import ACCENT, ON_ACCENT, VERMILLION
from tfmlib.plots.inputs import as_finite, as_labels, as_series
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, number_texts
from tfmlib.support.arrays import Array, ArrayLike

STAGES = ("X", "M(X)", "Y", "FFN(Y)", "Z")  # of an encoder layer, each of the shape (T, D)


@house_style()
def feed_forward_rows(
    x: ArrayLike, before: ArrayLike, out: ArrayLike, words: Sequence[str]
) -> Picture:
    """Draw the feed-forward network on each row: x, before the ReLU, after it, and the result.

    >>> feed_forward_rows([[1]], [[2, -3]], [[5]], ["a"]).alt.split(". ")[-1]
    'The ReLU turns 1 of 2 numbers into 0.'
    """
    x, before, out = (
        as_finite(values, 2, what) for values, what in ((x, "x"), (before, "before"), (out, "out"))
    )
    if not len(x) == len(before) == len(out):
        counts = listed(str(len(rows)) for rows in (x, before, out))
        raise ValueError(f"x, before and out must have one row per word, but have {counts} rows.")
    names = as_labels(words, len(x), "words")
    hidden = np.maximum(0, before)
    asleep = np.argwhere(before < 0)
    alt = (
        f"Each of {len(x)} words goes through the same small network by itself, from "
        f"{x.shape[1]} numbers to {before.shape[1]} hidden units and back to {out.shape[1]}: "
        + "; ".join(
            f"{n} from {_vector(i)} to {_vector(o)}" for n, i, o in zip(names, x, out, strict=True)
        )
        + f". The ReLU turns {len(asleep)} of {before.size} numbers into 0."
    )
    high = 0.25 * len(x)
    picture, sketch = sheet(2 * high + 1.42, alt)
    limit = _signed(x, before, out)
    left, cards, right = 0.56, 1.62, 2.72
    wide = (min(1.88 / before.shape[1], 0.47), 0.25)
    slim = (min(0.84 / max(x.shape[1], out.shape[1]), 0.42), 0.25)
    upper, lower = 0.34, high + 1.22
    top = sketch.matrix(left, upper, x, f"x {_shape(x)}", names, cell=slim, limit=limit)
    first = sketch.labelled(cards, upper, 0.62, high, "× W₁\n+ b₁", va="center")
    name = f"x W₁ + b₁ {_shape(before)}"
    fresh = sketch.matrix(right, upper, before, name, cell=wide, limit=limit)
    relu = sketch.labelled(fresh.centre[0] - 0.5, upper + high + 0.17, 1.0, 0.26, "max(0, ·)")
    kept = sketch.matrix(
        right, lower, hidden, f"hidden {_shape(hidden)}", cell=wide, limit=limit,
        lit=[(int(i), int(j)) for i, j in asleep],
    )  # fmt: skip
    second = sketch.labelled(cards, lower, 0.62, high, "× W₂\n+ b₂", va="center")
    name = f"FFN(x) {_shape(out)}"
    result = sketch.matrix(left, lower, out, name, names, cell=slim, limit=limit)
    for one, other in ((top, first), (first, fresh), (kept, second), (second, result)):
        _row_arrows(sketch, len(x), one, other)
    sketch.path(fresh.bottom, relu.top)
    sketch.path(relu.bottom, (relu.bottom[0], kept.y - 0.2))
    return picture


def _row_arrows(sketch: Sketch, rows: int, start: Box, end: Box) -> None:
    """Draw one arrow per row between two neighbours, to the right or to the left."""
    rightwards = start.x < end.x
    x0, x1 = (start.right[0], end.x) if rightwards else (start.x, end.right[0])
    gap = 0.03 if rightwards else -0.03
    for i in range(rows):
        y = start.y + start.height * (i + 0.5) / rows
        sketch.path((x0 + gap, y), (x1 - gap, y))


@house_style()
def layer_stack(stages: ArrayLike, tokens: Sequence[str], label: str = "points to") -> Picture:
    """Draw what each token holds before and after each layer: each layer reads the one before.

    >>> layer_stack([[1, 2, 2], [2, 2, 2]], ["a", "b", "c"]).alt.split(". ")[-1]
    'The first token: 1, then 2.'
    """
    rows = as_finite(stages, 2, "stages")
    if len(rows) < 2:
        raise ValueError(f"stages must have a row before and after a layer, but has {len(rows)}.")
    names = as_labels(tokens, rows.shape[1], "tokens")
    alt = (
        f"A stack of {len(rows) - 1} layers: what leaves one goes into the next. "
        f"The first token: {', then '.join(number_texts(rows[:, 0]))}."
    )
    step = 0.86
    picture, sketch = sheet(0.62 + step * (len(rows) - 1) + 0.1, alt)
    left, limit = 0.92, _signed(rows)
    cell = (min(3.78 / len(names), 0.42), 0.26)
    texts = np.array(number_texts(rows.ravel())).reshape(rows.shape).tolist()
    sketch.note(left - 0.06, 0.21, "token", ha="right")
    box = None
    for k, row in enumerate(rows):
        y = 0.3 + step * k
        columns = names if k == 0 else []
        below = sketch.matrix(
            left, y, row, rows=[label], columns=columns, cell=cell, texts=[texts[k]],
            limit=limit, lit=[(0, 0)],
        )  # fmt: skip
        if box is not None:
            card = sketch.labelled(left, y - 0.43, below.width, 0.26, f"layer {k}")
            sketch.path(box.bottom, card.top)
            sketch.path(card.bottom, below.top)
        box = below
    return picture


@house_style()
def encoder_layer(
    stages: Mapping[str, ArrayLike], row: int, columns: Sequence[str], hidden: int
) -> Picture:
    """Draw an encoder layer as blocks, with the numbers of one row at each stage.

    `stages` are the matrices X, M(X), Y, FFN(Y) and Z, and `hidden` the size of the network.

    >>> encoder_layer(dict.fromkeys(STAGES, [[1, 2]]), 0, ["a", "b"], 3).alt.split(". ")[-1]
    'Every stage has the shape (1, 2).'
    """
    matrices = {name: as_finite(m, 2, name) for name, m in as_series(stages, "stages").items()}
    if tuple(matrices) != STAGES:
        raise ValueError(f"stages must be {listed(STAGES)}, but are {listed(matrices)}.")
    x, attended, y, refined, z = (m[row] for m in matrices.values())
    names = as_labels(columns, len(x), "columns")
    T, D = matrices["X"].shape
    rows = {
        "X": x,
        "M(X)": attended,
        "X + M(X)": x + attended,
        "Y": y,
        "FFN(Y)": refined,
        "Y + FFN(Y)": y + refined,
        "Z": z,
    }
    told = "; ".join(f"{name} {_vector(numbers)}" for name, numbers in rows.items())
    alt = (
        f"An encoder layer from top to bottom, with one of {T} rows at each stage: {told}. "
        "Attention, add, norm; feed-forward network, add, norm. "
        f"Every stage has the shape {(T, D)}."
    )
    picture, sketch = sheet(5.42, alt)
    limit, left, cell = _signed(*rows.values()), 1.12, (min(2.2 / D, 0.55), 0.25)
    parts = [
        f"attention: weights {(T, T)}", "+", "layer norm",
        f"feed-forward: hidden {(T, hidden)}", "+", "layer norm",
    ]  # fmt: skip
    tops = [0.28, 1.1, 1.86, 2.68, 3.5, 4.26, 5.08]
    boxes: list[Box] = []
    for k, (name, numbers) in enumerate(rows.items()):
        labels = names if k == 0 else []
        box = sketch.matrix(
            left, tops[k], numbers, rows=[name], columns=labels, cell=cell, limit=limit
        )
        if boxes:
            between = (boxes[-1].bottom[1] + tops[k]) / 2
            part = _part(sketch, box, between, parts[k - 1])
            sketch.path(boxes[-1].bottom, part.top)
            sketch.path(part.bottom, box.top)
            if parts[k - 1] == "+":
                _around(sketch, boxes[-2], part)
        boxes.append(box)
    for k in (0, 3, 6):
        sketch.note(boxes[k].right[0] + 0.42, boxes[k].right[1], f"shape {(T, D)}")
    return picture


def _part(sketch: Sketch, box: Box, y: float, label: str) -> Box:
    """Draw the block between two rows: a sublayer, a sum or a norm."""
    if label == "+":
        x = box.centre[0] - 0.13
        return sketch.labelled(x, y - 0.12, 0.26, 0.24, "+", fontweight="bold", fontsize=11)
    hot = label == "layer norm"
    look = {"face": ACCENT, "edge": ACCENT, "color": ON_ACCENT} if hot else {}
    return sketch.labelled(box.x, y - 0.14, box.width, 0.28, label, **look)


def _around(sketch: Sketch, start: Box, plus: Box) -> None:
    """Draw the skip connection from a row to the sum further down."""
    x = start.right[0] + 0.32
    points = (start.right, (x, start.right[1]), (x, plus.right[1]), plus.right)
    sketch.path(*points, colour=VERMILLION)
    y = (start.right[1] + plus.right[1]) / 2
    sketch.text(x + 0.08, y, "skip\nconnection", fontsize=8.5, va="center")


@house_style()
def side_by_side(
    first: Mapping[str, ArrayLike],
    second: Mapping[str, ArrayLike],
    titles: Sequence[str],
    columns: Sequence[str],
    parts: Sequence[str],
) -> Picture:
    """Draw a vector in two sentences before and after each part, and how far apart the two are.

    >>> one, two = {"X": [1, 0], "Z": [1, 0]}, {"X": [1, 0], "Z": [1, 2]}
    >>> side_by_side(one, two, ["one", "two"], ["a", "b"], ["a layer"]).alt.split("; ")[-1]
    'Z after a layer: [1, 0] and [1, 2], 2 apart.'
    """
    ones, others = as_series(first, "first"), as_series(second, "second")
    if list(ones) != list(others):
        raise ValueError(
            f"first and second must have the same stages, but have {listed(ones)} "
            f"and {listed(others)}."
        )
    steps = as_labels(parts, len(ones) - 1, "parts")
    pairs = [(as_finite(ones[s], 1, s), as_finite(others[s], 1, s)) for s in ones]
    labels = as_labels(columns, len(pairs[0][0]), "columns")
    names = as_labels(titles, 2, "titles")
    apart = [number_text(float(np.linalg.norm(a - b))) for a, b in pairs]
    told = "; ".join(
        f"{stage}{after}: {_vector(a)} and {_vector(b)}, {distance} apart"
        for stage, after, (a, b), distance in zip(
            ones, ["", *(f" after {step}" for step in steps)], pairs, apart, strict=True
        )
    )
    alt = f"One word in two sentences, “{names[0]}” and “{names[1]}”. {told}."
    step, width, middle = 0.98, 1.92, 2.4
    picture, sketch = sheet(0.92 + step * len(steps), alt)
    limit, cell = _signed(*(v for pair in pairs for v in pair)), (width / len(labels), 0.27)
    lefts = (0.04, 4.76 - width)
    for left, name in zip(lefts, names, strict=True):
        sketch.text(left + width / 2, 0.12, name, ha="center", fontweight="bold")
    above: list[Box] = []
    for k, (stage, pair) in enumerate(zip(ones, pairs, strict=True)):
        y = 0.56 + step * k
        boxes = [
            sketch.matrix(left, y, v, columns=[] if k else labels, cell=cell, limit=limit)
            for left, v in zip(lefts, pair, strict=True)
        ]
        sketch.text(middle, y + 0.04, stage, ha="center", fontweight="bold")
        sketch.text(middle, y + 0.24, f"{apart[k]} apart", ha="center", fontsize=8.5)
        if above:
            card = sketch.labelled(0.04, y - 0.5, 4.72, 0.28, steps[k - 1])
            for one, other in zip(above, boxes, strict=True):
                sketch.path(one.bottom, (one.bottom[0], card.top[1]))
                sketch.path((other.top[0], card.bottom[1]), other.top)
        above = boxes
    return picture


def _signed(*arrays: Array) -> float:
    """Return the limit of the colours that all matrices share: negative, so that 0 is white."""
    return -max(float(np.abs(array).max()) for array in arrays)


def _vector(values: Array) -> str:
    """Write a vector as prose has it."""
    return f"[{', '.join(number_texts(values))}]"


def _shape(matrix: Array) -> str:
    """Write the shape of a matrix."""
    return f"({matrix.shape[0]}, {matrix.shape[1]})"
