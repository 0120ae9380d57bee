"""Several heads: who gets which columns, what each one finds, and how the findings are joined."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from tfmlib import ref
from tfmlib.plots.colours import ACCENT, GREY, MAGNITUDE, MUTED, PAPER, VERMILLION, WIDTH
from tfmlib.plots.diagrams.attention import vectors
from tfmlib.plots.inputs import as_array, as_finite, as_labels
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style, text_colour
from tfmlib.plots.words import listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

ROW = 2 / 9  # inches: 32 pixels, so that all cells fall on whole pixels and the file is small


@house_style()
def one_head_or_two(
    sentences: Sequence[str], mixed: ArrayLike, apart: ArrayLike, columns: Sequence[str]
) -> Picture:
    """Draw what one head, which mixes, and two heads, side by side, tell of two sentences.

    >>> mixed, apart = [[0.5, 0.5], [0.5, 0.5]], [[1, 0, 0, 1], [0, 1, 1, 0]]
    >>> one_head_or_two(["dog bites man", "man bites dog"], mixed, apart, ["dog", "man"]).alt
    'One head or two. “dog bites man”: one head gives 0.5 and 0.5, two heads give 1, 0 and 0, 1. \
“man bites dog”: one head gives 0.5 and 0.5, two heads give 0, 1 and 1, 0.'
    """
    mixed, apart = as_finite(mixed, 2, "mixed"), as_finite(apart, 2, "apart")
    sentences = as_labels(sentences, len(mixed), "sentences")
    columns = as_labels(columns, mixed.shape[1], "columns")
    if apart.shape != (len(mixed), 2 * len(columns)):
        raise ValueError(
            f"apart must have the shape {(len(mixed), 2 * len(columns))}, two heads side by side, "
            f"but has {apart.shape}."
        )
    halves = np.split(apart, 2, axis=1)
    told = [
        f"{quoted(sentence)}: one head gives {listed(number_texts(mixed[i]))}, two heads give "
        f"{' and '.join(', '.join(number_texts(half[i])) for half in halves)}."
        for i, sentence in enumerate(sentences)
    ]
    picture, sketch = sheet(0.5 + ROW * len(mixed), f"One head or two. {' '.join(told)}")
    cell, y = (0.5, ROW), 0.48
    vectors(sketch, 1.12, y, mixed, "one head: a mixture", sentences, columns, cell, limit=-1.4)
    for half, name, x in zip(
        halves, ("head 1: subject", "head 2: object"), (2.5, 3.7), strict=True
    ):
        vectors(sketch, x, y, half, name, columns=columns, cell=cell, limit=-1.4)
    return picture


@house_style()
def heads_joined(
    words: Sequence[str],
    x: ArrayLike,
    features: Sequence[str],
    matrices: Mapping[str, ArrayLike],
    jobs: Sequence[str],
    row: int,
) -> Picture:
    """Draw multi-head attention on one sheet: X, two heads, side by side, times W_0.

    >>> eye = np.eye(2)
    >>> matrices = {"W_q": [0 * eye, 0 * eye], "W_k": [eye, eye], "W_v": [eye, 2 * eye]}
    >>> matrices |= {"W_0": [[1, 0], [0, 1], [1, 0], [0, 1]]}
    >>> heads_joined(["a", "b"], eye, ["p", "q"], matrices, ["plain", "double"], 0).alt
    'Two heads, split and joined. The row of “a”: head 1 (plain) weighs 0.5, 0.5 and finds 0.5, \
0.5; head 2 (double) weighs 0.5, 0.5 and finds 1, 1; side by side and times W_0 they give 1.5, 1.5.'
    """
    x = as_finite(x, 2, "x")
    words = as_labels(words, len(x), "words")
    w_q, w_k, w_v = (as_finite(matrices[name], 3, name) for name in ("W_q", "W_k", "W_v"))
    if len(w_q) != 2:
        raise ValueError(f"W_q must hold two heads, but holds {len(w_q)}.")
    q, k, v = x @ w_q, x @ w_k, x @ w_v  # (H, T, K) each
    weights = ref.attention_weights(q, k)  # (H, T, T)
    found = weights @ v  # (H, T, d_v)
    joined, w_0 = np.hstack(list(found)), as_finite(matrices["W_0"], 2, "W_0")
    out = joined @ w_0
    told = [
        f"head {h + 1} ({job}) weighs {', '.join(number_texts(weights[h, row]))} and finds "
        f"{', '.join(number_texts(found[h, row]))}"
        for h, job in enumerate(as_labels(jobs, 2, "jobs"))
    ]
    alt = (
        f"Two heads, split and joined. The row of {quoted(words[row])}: {'; '.join(told)}; side by "
        f"side and times W_0 they give {', '.join(number_texts(out[row]))}."
    )
    tall = ROW * len(words)
    tops = [0.42, tall + 1.25, 2 * tall + 1.9, 3 * tall + 2.65]
    bottom = tops[3] + max(tall, ROW * len(w_0)) + 0.08
    picture, sketch = sheet(bottom, alt)
    first = _rows(sketch, 1.75, tops[0], x, "", 0.3125, row, words)
    sketch.text(first.top[0], 0.1, "X", ha="center", fontweight="bold")
    for j, feature in enumerate(as_labels(features, x.shape[1], "features")):
        sketch.text(first.x + 0.3125 * (j + 0.5), 0.32, feature, ha="center", fontsize=8.5)
    ends = []
    for h, left in enumerate((0.4, 2.85)):
        middle = left + 0.95
        turn, title = first.bottom[1] + 0.18, tops[1] - 0.42
        sketch.path(first.bottom, (first.bottom[0], turn), (middle, turn), (middle, title - 0.12))
        sketch.text(middle, title, f"head {h + 1}: {jobs[h]}", ha="center", fontweight="bold")
        ends.append(
            _one_head(sketch, left, tops[1:3], (q[h], k[h], v[h]), weights[h], found[h], row, words)
        )
    side = _rows(sketch, 0.4, tops[3], joined, "side by side", 0.3125, row, words)
    for box, x_end in zip(
        ends, (side.x + side.width / 4, side.x + 3 * side.width / 4), strict=True
    ):
        turn = box.bottom[1] + (0.14 if box is ends[0] else 0.24)
        sketch.path(box.bottom, (box.bottom[0], turn), (x_end, turn), (x_end, side.y - 0.22))
    last = vectors(sketch, side.right[0] + 0.25, tops[3], w_0, "W_0", cell=(0.25, ROW))
    _rows(sketch, last.right[0] + 0.25, tops[3], out, "output", 0.375, row)
    sketch.text(side.right[0] + 0.125, side.right[1], "×", ha="center")
    sketch.text(last.right[0] + 0.125, side.right[1], "=", ha="center")
    return picture


def _one_head(
    sketch: Sketch,
    left: float,
    tops: Sequence[float],
    roles: Sequence[Array],
    weights: Array,
    found: Array,
    row: int,
    words: list[str],
) -> Box:
    """Draw one head: its Q, K and V, below them its filter, and what it finds."""
    x = left
    for numbers, name in zip(roles, "QKV", strict=True):
        framed = row if name == "Q" else None
        box = _rows(sketch, x, tops[0], numbers, name, 0.25, framed, () if x > left else words)
        x = box.right[0] + 0.17
    filter_box = _rows(sketch, left, tops[1], weights, "weights", 0.3125, row, words)
    middle = (filter_box.top[0], filter_box.y - 0.22)
    sketch.path((middle[0], tops[0] + box.height + 0.04), middle)
    x = filter_box.right[0] + 0.38
    sketch.text(x - 0.19, filter_box.right[1], "× V =", ha="center", fontsize=8)
    return _rows(sketch, x, tops[1], found, "found", 0.3125, row)


def _rows(
    sketch: Sketch,
    x: float,
    y: float,
    numbers: Array,
    name: str,
    wide: float,
    row: int | None,
    words: Sequence[str] = (),
) -> Box:
    """Draw a matrix, weights in their own colours, with one row framed."""
    cell = (wide, ROW)
    if name == "weights":
        box = sketch.matrix(x, y, numbers, name, words, cell=cell, limit=1)
    else:
        box = vectors(sketch, x, y, numbers, name, words, cell=cell)
    if row is not None:
        sketch.frame(x, y + ROW * row, box.width, ROW)
    return box


@house_style()
def cut_into_heads(x: ArrayLike, cut: ArrayLike, reshaped: ArrayLike) -> Picture:
    """Draw rows cut into heads by columns, and what a reshape alone makes of them.

    >>> x = np.arange(1, 9).reshape(2, 4)
    >>> cut_into_heads(x, [[[1, 2], [5, 6]], [[3, 4], [7, 8]]], x.reshape(2, 2, 2)).alt
    'Two rows of 4 numbers, for 2 heads. Cut by columns, head 1 holds 1, 2 and 5, 6, a part of \
every row. Reshaped only, head 1 holds 1, 2 and 3, 4, all from the first row.'
    """
    x = as_finite(x, 2, "x")
    cut, reshaped = as_array(cut, 3, "cut"), as_array(reshaped, 3, "reshaped")
    H, T, K = cut.shape
    if x.shape != (T, H * K) or reshaped.shape != cut.shape:
        raise ValueError(
            f"cut and reshaped must hold the numbers of x, {x.shape}, in heads, but have the "
            f"shapes {cut.shape} and {reshaped.shape}."
        )
    owner = {value: j // K for row in x for j, value in enumerate(row)}  # which head's column
    held = [" and ".join(", ".join(number_texts(r)) for r in head[0]) for head in (cut, reshaped)]
    rows = "Two rows" if T == 2 else f"{T} rows"
    whole = ", all from the first row" if set(reshaped[0].ravel()) <= set(x[0]) else ""
    alt = (
        f"{rows} of {x.shape[1]} numbers, for {H} heads. Cut by columns, head 1 holds {held[0]}, "
        f"a part of every row. Reshaped only, head 1 holds {held[1]}{whole}."
    )
    tall = ROW * T
    picture, sketch = sheet(3 * tall + 1.85, alt)
    left = 1.25
    sketch.text(left, 0.12, "words in rows, heads in columns", fontweight="bold")
    whole_box = _tinted(sketch, left, 0.5, x, owner, H, gap=0)
    for h in range(H):
        sketch.note(left + 0.36 * K * (h + 0.5), 0.38, f"head {h + 1}", ha="center")
    for t in range(T):
        sketch.text(left - 0.08, 0.5 + ROW * (t + 0.5), f"word {t + 1}", ha="right", fontsize=8.5)
    y = 0.5 + tall + 0.6
    for name, parts in (("cut by columns", cut), ("reshaped only", reshaped)):
        sketch.text(0.05, y + tall / 2, name.replace(" ", "\n", 1), fontweight="bold")
        for h in range(H):
            box = _tinted(sketch, left + (0.36 * K + 0.3) * h, y, parts[h], owner, H)
            if name == "cut by columns":
                start = left + 0.36 * K * (h + 0.5)
                sketch.path((start, whole_box.bottom[1] + 0.05), (box.top[0], y - 0.24))
            sketch.note(box.top[0], y - 0.12, f"head {h + 1}", ha="center")
        y += tall + 0.5
    return picture


def _tinted(
    sketch: Sketch,
    x: float,
    y: float,
    numbers: Array,
    owner: Mapping[float, int],
    heads: int,
    gap: float = 0,
) -> Box:
    """Draw numbers in cells that have the colour of the head to which their column belongs."""
    shades = matplotlib.colormaps[MAGNITUDE](np.linspace(0.3, 0.9, heads))
    wide = 0.36
    for (i, j), value in np.ndenumerate(numbers):
        face = to_hex(shades[owner[float(value)]])
        corner = (x + wide * j, y + ROW * i)
        sketch.axes.add_patch(Rectangle(corner, wide, ROW, facecolor=face, edgecolor=PAPER, lw=1.2))
        middle = (corner[0] + wide / 2, corner[1] + ROW / 2)
        sketch.text(*middle, number_text(float(value)), ha="center", color=text_colour(face))
    return Box(x, y, wide * numbers.shape[1], ROW * len(numbers))


@house_style()
def two_heads_look(
    word: str,
    words: Sequence[str],
    weights: Mapping[str, ArrayLike],
    found: Mapping[str, ArrayLike],
    features: Sequence[str],
) -> Picture:
    """Draw where one word looks in two heads, what each brings back, and both side by side.

    >>> weights = {"subject": [0.1, 0.9], "previous": [1, 0]}
    >>> found = {"subject": [1.8], "previous": [1]}
    >>> two_heads_look("bank", ["to", "money"], weights, found, ["finance", "none"]).alt
    'The word “bank” in two heads. Head 1, subject: most weight, 0.9, on “money”. Head 2, \
previous: most weight, 1, on “to”. Side by side they bring back finance 1.8, none 1.0.'
    """
    names = list(weights)
    shares = [as_finite(w, 1, f"weights of {name!r}") for name, w in weights.items()]
    words = as_labels(words, len(shares[0]), "words")
    brought = [as_finite(found[name], 1, f"what {name!r} found") for name in names]
    joined = np.concatenate(brought)
    features = as_labels(features, len(joined), "features")
    told = [
        f"Head {h + 1}, {name}: most weight, {number_text(w.max())}, on "
        f"{quoted(words[int(w.argmax())])}."
        for h, (name, w) in enumerate(zip(names, shares, strict=True))
    ]
    pairs = zip(features, number_texts(joined), strict=True)
    alt = (
        f"The word {quoted(word)} in two heads. {' '.join(told)} Side by side they bring back "
        f"{', '.join(f'{name} {text}' for name, text in pairs)}."
    )
    y, room = 0.3, 1.35
    bottom = y + ROW * len(words)
    picture, sketch = sheet(bottom + 1.0, alt)
    cell = (0.5, ROW)
    ends = []
    for h, (left, name) in enumerate(zip((0.85, 2.95), names, strict=True)):
        title = f"head {h + 1}: {name}"
        sketch.text(left, 0.14, title, fontweight="bold")
        rows = () if h else words
        texts = [[f"{w:.2f}"] for w in shares[h]]
        box = sketch.matrix(left, y, shares[h][:, None], "", rows, cell=cell, texts=texts, limit=1)
        _bars(sketch, box.right[0] + 0.06, y, shares[h], room - cell[0])
        ends.append(box.bottom)
    last, wide = bottom + 0.72, 0.55
    x = ends[1][0] - wide * (len(joined) - len(brought[1]) / 2)  # the second head's part below it
    place = x
    for end, part in zip(ends, brought, strict=True):
        middle = place + wide * len(part) / 2
        turn = bottom + 0.2
        sketch.path((end[0], bottom + 0.03), (end[0], turn), (middle, turn), (middle, last - 0.22))
        place += wide * len(part)
    texts = [[f"{v:.2f}" for v in joined]]
    vectors(sketch, x, last, joined[None], columns=features, cell=(wide, ROW), texts=texts)
    sketch.text(x - 0.1, last + ROW / 2, f"{word}, side by side", ha="right", fontsize=8.5)
    return picture


def _bars(sketch: Sketch, x: float, y: float, weights: Array, room: float) -> None:
    """Draw a bar beside each row, as long as its weight."""
    sketch.axes.plot([x, x], [y, y + ROW * weights.size], color=MUTED, linewidth=1)
    for i, weight in enumerate(weights):
        colour = ACCENT if weight == weights.max() else GREY
        size = (room * weight, ROW * 0.6)
        sketch.axes.add_patch(Rectangle((x, y + ROW * (i + 0.2)), *size, facecolor=colour, lw=0))


@house_style()
def induction_steps(
    words: Sequence[str], told: Sequence[str], query: int, weights: ArrayLike
) -> Picture:
    """Draw the two steps of an induction head: tell each token the word before; look for one's own.

    >>> induction_steps(["a", "b", "a"], ["a", "a", "b"], 2, [0.5, 0.5, 0]).alt
    'An induction head in two layers. Layer 1 tells each token the word before it: “a” “a”, “b” \
“a”, “a” “b”. Layer 2: the token “a” at position 2 looks for tokens that were told “a”, and finds \
“a” (0.5) and “b” (0.5).'
    """
    shares = as_finite(weights, 1, "weights")
    words = as_labels(words, len(shares), "words")
    told = as_labels(told, len(words), "told")
    matches = [int(i) for i in np.flatnonzero(shares > 0.05)]
    pairs = ", ".join(f"{quoted(w)} {quoted(t)}" for w, t in zip(words, told, strict=True))
    finds = listed(f"{quoted(words[i])} ({number_text(shares[i])})" for i in matches)
    alt = (
        f"An induction head in two layers. Layer 1 tells each token the word before it: {pairs}. "
        f"Layer 2: the token {quoted(words[query])} at position {query} looks for tokens that were "
        f"told {quoted(words[query])}, and finds {finds}."
    )
    picture, sketch = sheet(3.0, alt)
    step = (WIDTH - 0.1) / len(words)
    wide = step - 0.08
    sketch.text(0.05, 0.12, "Layer 1: each token is told the word before it", fontweight="bold")
    tokens, notes = [], []
    for i, (word, before) in enumerate(zip(words, told, strict=True)):
        x = 0.09 + step * i
        tokens.append(sketch.labelled(x, 0.3, wide, 0.26, word))
        face, edge = (ACCENT, VERMILLION) if i in matches else (PAPER, MUTED)
        notes.append(sketch.labelled(x, 0.98, wide, 0.26, before, face, edge))
    for one, other in zip(tokens, notes[1:], strict=False):
        sketch.path(one.bottom, (other.top[0], other.top[1] - 0.02))
    title = f"Layer 2: the second {words[query]} looks for who was told “{words[query]}”"
    sketch.text(0.05, 1.5, title, fontweight="bold")
    asks = sketch.labelled(tokens[query].x, 2.66, wide, 0.26, words[query])
    y = 1.72
    texts = [[f"{w:.2f}" for w in shares]]
    sketch.matrix(
        0.05, y, shares[None], cell=(step, ROW), texts=texts, lit=[(0, i) for i in matches]
    )
    for i, word in enumerate(words):
        sketch.text(0.05 + step * (i + 0.5), y + ROW + 0.14, word, ha="center")
    for i in matches:
        turn = y + ROW + 0.46
        x = 0.05 + step * (i + 0.5)
        sketch.path(asks.top, (asks.top[0], turn), (x, turn), (x, y + ROW + 0.27))
    return picture
