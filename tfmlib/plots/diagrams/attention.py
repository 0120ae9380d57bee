"""Attention, number by number: from queries, keys and values to scores, weights and a mixture."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from tfmlib.plots.colours import ACCENT, BLUE, GREY, INK, MUTED, SERIES, WIDTH
from tfmlib.plots.inputs import as_finite, as_labels
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

LINE, SMALL = 0.22, 1 / 6  # inches: the height of a row of numbers, and where many are on a sheet
MINUS = "−"


@house_style()
def look_up_and_mixture(
    keys: Sequence[str], values: ArrayLike, matching: Mapping[str, ArrayLike]
) -> Picture:
    """Draw two questions to one table, each as weights times values, added up.

    >>> look_up_and_mixture(["a", "b"], [3, 5], {"b": [0, 1], "both": [0.5, 0.5]}).alt
    'The same table of 2 keys, asked twice. Asked for b, the weights are 0 and 1, and the weighted \
values add up to 5. Asked for both, the weights are 0.5 and 0.5, and the weighted values add up \
to 4.'
    """
    values = as_finite(values, 1, "values")
    keys = as_labels(keys, len(values), "keys")
    if len(matching) != 2:
        raise ValueError(f"matching must have two questions, but has {len(matching)}.")
    rows = {name: _as_long(w, values, f"weights of {name!r}") for name, w in matching.items()}
    told = [
        f"Asked for {name}, the weights are {listed(number_texts(w))}, and the weighted values "
        f"add up to {number_text(float(w @ values))}."
        for name, w in rows.items()
    ]
    alt = f"The same table of {len(keys)} keys, asked twice. {' '.join(told)}"
    picture, sketch = sheet(1.15 + LINE * len(keys), alt)
    for x, (name, weights) in zip((0.05, 2.48), rows.items(), strict=True):
        sketch.text(x, 0.13, f"Asked for {name}", fontweight="bold")
        _table_asked(sketch, x + 0.78, 0.62, keys, weights, values)
    return picture


def _table_asked(
    sketch: Sketch, x: float, y: float, keys: list[str], weights: Array, values: Array
) -> None:
    """Draw one question: weight × value for each key, and their sum."""
    chosen = [(int(i), 0) for i in np.flatnonzero(weights)]
    cell = (0.42, LINE)
    sketch.note(x - 0.06, y - 0.14, "key", ha="right")
    for column, name in enumerate(("weight", "value", "product")):
        sketch.note(x + 0.54 * column + 0.21, y - 0.14, name, ha="center")
    sketch.matrix(x, y, weights[:, None], rows=keys, cell=cell, lit=chosen, limit=1)
    strongest = -1.4 * float(values.max())
    vectors(sketch, x + 0.54, y, values[:, None], cell=cell, lit=chosen)
    products = vectors(sketch, x + 1.08, y, (weights * values)[:, None], cell=cell, limit=strongest)
    total = np.array([[weights @ values]])
    below = products.bottom[1] + 0.26
    sketch.path(products.bottom, (products.bottom[0], below - 0.03))
    sketch.text(x + 1.02, below + LINE / 2, "added up:", ha="right")
    vectors(sketch, x + 1.08, below, total, cell=cell, lit=[(0, 0)], limit=strongest)


@house_style()
def three_roles(
    word: str,
    x: ArrayLike,
    features: Sequence[str],
    matrices: Mapping[str, ArrayLike],
    meanings: Sequence[str],
) -> Picture:
    """Draw how one vector becomes a query, a key and a value: one product each.

    >>> matrices = {"query": [[0, 4], [1, 1]], "key": [[1, 0], [0, 1]], "value": [[1], [0]]}
    >>> meanings = ["what it looks for", "what it is found by", "what it gives"]
    >>> three_roles("bank", [2, 0], ["money", "river"], matrices, meanings).alt
    'The vector of “bank”, 2 and 0, times three matrices: its query, what it looks for, is 0 and \
8; its key, what it is found by, is 2 and 0; its value, what it gives, is 2.'
    """
    x = as_finite(x, 1, "x")
    features = as_labels(features, len(x), "features")
    maps = {name: _as_rows(w, len(x), f"matrix of the {name}") for name, w in matrices.items()}
    meanings = as_labels(meanings, len(maps), "meanings")
    told = [
        f"its {name}, {meaning}, is {listed(number_texts(x @ w))}"
        for (name, w), meaning in zip(maps.items(), meanings, strict=True)
    ]
    alt = (
        f"The vector of {quoted(word)}, {listed(number_texts(x))}, times three matrices: "
        f"{'; '.join(told)}."
    )
    band = LINE * len(x) + 0.42
    picture, sketch = sheet(band * len(maps) + 0.05, alt)
    for i, ((name, w), meaning) in enumerate(zip(maps.items(), meanings, strict=True)):
        _role(sketch, band * i + 0.34, word, x, features, name, w, meaning)
    return picture


def _role(
    sketch: Sketch,
    y: float,
    word: str,
    x: Array,
    features: list[str],
    name: str,
    w: Array,
    meaning: str,
) -> None:
    """Draw vector × matrix = result in one band, and what the result is for."""
    cell = (0.26, LINE)
    middle = y + LINE * (len(x) - 1) / 2
    sketch.text(0.05, y - 0.18, f"{name}: {meaning}", fontweight="bold")
    vector = vectors(sketch, 0.5, middle, x[None], rows=[word], cell=cell)
    left = vector.right[0] + 0.86
    sketch.text(vector.right[0] + 0.14, middle + LINE / 2, "×", ha="center")
    matrix = vectors(sketch, left, y, w, rows=features, cell=cell)
    sketch.note(matrix.top[0], y - 0.11, f"W_{name[0]}", ha="center")
    right = left + cell[0] * x.size + 0.3  # equal signs under each other, whatever the width
    sketch.text(right - 0.15, middle + LINE / 2, "=", ha="center")
    lit = [(0, j) for j in range(w.shape[1])]
    vectors(sketch, right, middle, (x @ w)[None], cell=cell, lit=lit)


@house_style()
def query_meets_keys(
    word: str,
    query: ArrayLike,
    features: Sequence[str],
    words: Sequence[str],
    keys: ArrayLike,
    scores: ArrayLike,
) -> Picture:
    """Draw one query against all keys: the products of their entries, and their sum, the score.

    >>> keys = [[2, 0], [0, 1]]
    >>> query_meets_keys("bank", [4, -1], ["p", "q"], ["money", "to"], keys, [8, -1]).alt
    'The query of “bank”, p 4 and q −1, meets the keys of 2 words. Scores: “money” 8, “to” −1.'
    """
    query, keys = as_finite(query, 1, "query"), as_finite(keys, 2, "keys")
    words = as_labels(words, len(keys), "words")
    scores = _as_long(scores, keys[:, 0], "scores")
    told = ", ".join(f"{quoted(w)} {t}" for w, t in zip(words, number_texts(scores), strict=True))
    features = as_labels(features, query.size, "features")
    asked_for = [f"{f} {t}" for f, t in zip(features, number_texts(query), strict=True)]
    alt = (
        f"The query of {quoted(word)}, {listed(asked_for)}, meets the keys of "
        f"{len(words)} words. Scores: {told}."
    )
    picture, sketch = sheet(1.0 + LINE * len(words), alt)
    cell, y = (0.34, LINE), 0.92
    first, second = 0.78, 0.78 + cell[0] * query.size + 0.3
    third = second + cell[0] * query.size + 0.42
    asked = vectors(sketch, first, 0.08, query[None], rows=["query"], cell=cell)
    sketch.note(asked.right[0] + 0.12, asked.right[1], f"columns: {', '.join(features)}")
    sketch.path((asked.bottom[0], asked.bottom[1] + 0.03), (asked.bottom[0], y - 0.22))
    sketch.note(
        asked.bottom[0] + 0.12, asked.bottom[1] + 0.17, f"the query of {word} meets each key"
    )
    vectors(sketch, first, y, keys, "keys", rows=words, cell=cell)
    parts = vectors(sketch, second, y, keys * query, "query × key", cell=cell)
    sketch.path((parts.right[0] + 0.05, parts.right[1]), (third - 0.05, parts.right[1]))
    sketch.note(parts.right[0] + 0.21, parts.right[1] - 0.13, "sum", ha="center")
    lit = [(int(scores.argmax()), 0)]
    vectors(sketch, third, y, scores[:, None], "score", cell=(0.46, LINE), lit=lit)
    return picture


@house_style()
def scores_to_weights(
    words: Sequence[str], columns: Mapping[str, ArrayLike], sums: Mapping[str, float]
) -> Picture:
    """Draw the way from scores to weights, one column per step, the last one with bars.

    >>> steps = {"score": [8, 0], "weight": [0.75, 0.25]}
    >>> scores_to_weights(["money", "to"], steps, {"weight": 1}).alt
    'From score to weight, one row per word. “money”: 8, 0.750; “to”: 0, 0.250.'
    """
    steps = {name: as_finite(c, 1, f"column {name!r}") for name, c in columns.items()}
    words = as_labels(words, len(next(iter(steps.values()))), "words")
    written = [_column_texts(column) for column in steps.values()]
    told = "; ".join(
        f"{quoted(word)}: {', '.join(row)}"
        for word, row in zip(words, zip(*written, strict=True), strict=True)
    )
    names = list(steps)
    alt = f"From {names[0]} to {names[-1]}, one row per word. {told}."
    picture, sketch = sheet(0.55 + LINE * len(words), alt)
    y, width, gap = 0.24, 0.5, 0.28
    for i, (name, column) in enumerate(steps.items()):
        x = 0.78 + (width + gap) * i
        rows = words if i == 0 else ()
        draw = sketch.matrix if name == names[-1] else functools.partial(vectors, sketch)
        texts = [[text] for text in written[i]]
        box = draw(x, y, column[:, None], name, rows, cell=(width, LINE), texts=texts)
        if i:
            sketch.path((x - gap + 0.04, box.left[1]), (x - 0.03, box.left[1]))
        if name in sums:
            total = number_text(sums[name])
            sketch.text(box.bottom[0], box.bottom[1] + 0.15, total, ha="center")
    if sums:
        sketch.note(0.72, y + LINE * len(words) + 0.15, "sum", ha="right")
    left = 0.78 + (width + gap) * len(steps) - gap + 0.08
    _bars(sketch, left, y, list(steps.values())[-1], WIDTH - left - 0.06)
    return picture


def _column_texts(column: Array) -> list[str]:
    """Write whole numbers as they are, others with three decimals: rounded weights still add up."""
    if (column == column.round()).all():
        return number_texts(column)
    return [f"{v:.3f}".replace("-", MINUS) for v in column]


def _bars(sketch: Sketch, x: float, y: float, weights: Array, room: float) -> None:
    """Draw a bar beside each row, as long as its weight."""
    sketch.axes.plot([x, x], [y, y + LINE * weights.size], color=MUTED, linewidth=1)
    for i, weight in enumerate(weights):
        colour = ACCENT if weight == weights.max() else GREY
        size = (room * weight / weights.max(), LINE * 0.6)
        sketch.axes.add_patch(Rectangle((x, y + LINE * (i + 0.2)), *size, facecolor=colour, lw=0))


@house_style()
def weights_to_mixture(
    words: Sequence[str], weights: ArrayLike, values: ArrayLike, features: Sequence[str]
) -> Picture:
    """Draw the weighted sum at the end of attention: each value times its weight, added up.

    >>> weights_to_mixture(["money", "to"], [0.75, 0.25], [[2, 0], [0, 1]], ["fin.", "nat."]).alt
    'Each value times its weight: “money” 0.750 × (2, 0), “to” 0.250 × (0, 1). Added up, the \
mixture is fin. 1.500, nat. 0.250.'
    """
    values = as_finite(values, 2, "values")
    weights = _as_long(weights, values[:, 0], "weights")
    words = as_labels(words, len(values), "words")
    features = as_labels(features, values.shape[1], "features")
    mixture, shares = weights @ values, _column_texts(weights)
    terms = [
        f"{quoted(word)} {share} × ({', '.join(number_texts(value))})"
        for word, share, value in zip(words, shares, values, strict=True)
    ]
    sums = _column_texts(mixture)
    mixed = ", ".join(f"{f} {text}" for f, text in zip(features, sums, strict=True))
    alt = f"Each value times its weight: {', '.join(terms)}. Added up, the mixture is {mixed}."
    picture, sketch = sheet(1.02 + LINE * len(words), alt)
    cell, y, second = (0.56, LINE), 0.4, 1.62
    third = second + cell[0] * len(features) + 0.34
    texts = [[text] for text in shares]
    share = sketch.matrix(0.78, y, weights[:, None], "weight", words, cell=cell, texts=texts)
    given = vectors(sketch, second, y, values, "value", columns=features, cell=cell)
    products = weights[:, None] * values
    texts = [_column_texts(row) for row in products]
    heads = {"name": "weight × value", "columns": features}
    taken = vectors(sketch, third, y, products, cell=cell, texts=texts, **heads)
    sketch.text((share.right[0] + given.left[0]) / 2, share.left[1], "×", ha="center")
    sketch.text((given.right[0] + taken.left[0]) / 2, share.left[1], "=", ha="center")
    below = taken.bottom[1] + 0.32
    for j in range(len(features)):
        middle = third + cell[0] * (j + 0.5)
        sketch.path((middle, taken.bottom[1] + 0.03), (middle, below - 0.04))
    sketch.text(third - 0.1, below + LINE / 2, "the mixture, all rows added up:", ha="right")
    lit = [(0, j) for j in range(len(features))]
    vectors(sketch, third, below, mixture[None], cell=cell, texts=[sums], lit=lit)
    return picture


@house_style()
def score_grid(
    words: Sequence[str], queries: ArrayLike, keys: ArrayLike, row: int, column: int
) -> Picture:
    """Draw which query meets which key: the score matrix, filled up to one cell, worked out below.

    >>> score_grid(["a", "b"], [[1, 2], [3, 4]], [[1, 0], [0, -1]], 1, 1).alt
    'A grid of 2 by 2 scores, one row per query and one column per key, filled up to the query of \
“b” and the key of “b”: 3·0 + 4·(−1) = −4.'
    """
    queries, keys = as_finite(queries, 2, "queries"), as_finite(keys, 2, "keys")
    words = as_labels(words, len(queries), "words")
    if keys.shape != queries.shape:
        raise ValueError(
            f"keys must have the shape of the queries, {queries.shape}, but have {keys.shape}."
        )
    scores = queries @ keys.T
    later = [(i, j) for i, j in np.ndindex(scores.shape) if (i, j) > (row, column)]
    sum_text = _dot_text(queries[row], keys[column])
    alt = (
        f"A grid of {len(words)} by {len(words)} scores, one row per query and one column per key, "
        f"filled up to the query of {quoted(words[row])} and the key of "
        f"{quoted(words[column])}: {sum_text}."
    )
    T, K = queries.shape
    longest = max(map(len, words)) * 0.075 + 0.1  # the room of the upright words
    left, top, wide = 0.72 + 0.27 * K + 0.3, longest + LINE * K + 0.3, 0.34
    picture, sketch = sheet(top + LINE * T + 0.36, alt)
    asking, asked = [(row, j) for j in range(K)], [(i, column) for i in range(K)]
    above = vectors(sketch, left, longest, keys.T, cell=(wide, LINE), lit=asked)
    _column_words(sketch, above, words)
    sketch.text(left - 0.1, above.left[1], "keys, as columns", ha="right", fontweight="bold")
    vectors(sketch, 0.72, top, queries, "queries", words, cell=(0.27, LINE), lit=asking)
    here = [(row, column)]
    grid = vectors(sketch, left, top, scores, "scores", cell=(wide, LINE), lit=here, blank=later)
    sketch.text(grid.right[0], grid.bottom[1] + 0.24, sum_text, ha="right")
    who = f"query of {words[row]} · key of {words[column]}"
    sketch.note(0.05, grid.bottom[1] + 0.24, who)
    return picture


def _column_words(sketch: Sketch, box: Box, words: list[str]) -> None:
    """Name columns that are narrower than their words: upright, reading upwards."""
    width = box.width / len(words)
    for j, word in enumerate(words):
        x = box.x + width * (j + 0.5)
        sketch.text(x, box.y - 0.05, word, rotation=90, ha="center", va="bottom", fontsize=8.5)


def _dot_text(query: Array, key: Array) -> str:
    """Write a dot product out: 4·2 + (−8)·0 = 8."""
    pairs = zip(number_texts(query), number_texts(key), strict=True)
    parts = [f"{q}·{f'({k})' if k.startswith(MINUS) else k}" for q, k in pairs]
    first, *others = parts
    sum_text = first + "".join(
        f" {MINUS} {part[1:]}" if part.startswith(MINUS) else f" + {part}" for part in others
    )
    return f"{sum_text} = {number_text(float(query @ key))}"


@house_style()
def attention_whole(
    words: Sequence[str],
    features: Sequence[str],
    x: ArrayLike,
    matrices: Mapping[str, ArrayLike],
    scaled: ArrayLike,
    weights: ArrayLike,
    row: int,
) -> Picture:
    """Draw attention on one sheet, top to bottom: X, Q K V, scores, scaled, weights, mixture.

    >>> x, features = [[1, 0], [0, 1]], ["p", "q"]
    >>> matrices = {"W_q": [[1], [0]], "W_k": [[0], [4]], "W_v": [[1], [3]]}
    >>> weights = [[0.02, 0.98], [0.5, 0.5]]
    >>> attention_whole(["a", "b"], features, x, matrices, [[0, 4], [0, 0]], weights, 0).alt
    'Attention from X to the mixture, top to bottom, with the row of “a” framed: its vector 1, 0 \
becomes the query 1; its scores are 0, 4, divided by the root 0, 4, as weights 0.02, 0.98; its \
mixture is 2.96.'
    """
    x, weights = as_finite(x, 2, "x"), as_finite(weights, 2, "weights")
    scaled = as_finite(scaled, 2, "scaled")
    words = as_labels(words, len(x), "words")
    q, k, v = (x @ _as_rows(w, x.shape[1], name) for name, w in matrices.items())
    if scaled.shape != (len(x), len(x)) or weights.shape != scaled.shape:
        raise ValueError(
            f"scaled and weights must have one row and one column per word, {len(x)}, but have "
            f"the shapes {scaled.shape} and {weights.shape}."
        )
    scores, mixture = q @ k.T, weights @ v
    said = [", ".join(number_texts(m[row])) for m in (x, q, scores, scaled, weights, mixture)]
    alt = (
        f"Attention from X to the mixture, top to bottom, with the row of {quoted(words[row])} "
        f"framed: its vector {said[0]} becomes the query {said[1]}; its scores are {said[2]}, "
        f"divided by the root {said[3]}, as weights {said[4]}; its mixture is {said[5]}."
    )
    tall = SMALL * len(words)
    tops = [0.25, tall + 0.75, 2 * tall + 1.375, 3 * tall + 2.0]
    picture, sketch = sheet(tops[3] + tall + 0.62, alt)
    first = _small(sketch, 1.75, tops[0], x, "X", 0.25, row, words)
    names = "\n".join(as_labels(features, x.shape[1], "features"))
    sketch.note(first.right[0] + 0.15, first.right[1], f"columns:\n{names}", va="center")
    roles = [
        _small(sketch, 0.75, tops[1], q, "Q", 0.25, row, words),
        _small(sketch, 2.25, tops[1], k, "K", 0.25),
        _small(sketch, 3.75, tops[1], v, "V", 0.3125),
    ]
    for box, name in zip(roles, matrices, strict=True):
        turn, end = tall + 0.4, (box.top[0], tops[1] - 0.22)
        sketch.path(first.bottom, (first.bottom[0], turn), (box.top[0], turn), end)
        sketch.note(box.top[0] + 0.1, turn + 0.1, f"× {name}")
    raw = _small(sketch, 0.75, tops[2], scores, "scores: Q times K, all pairs", 0.25, row, words)
    divided = _small(sketch, 2.75, tops[2], scaled, "scores ÷ √d_k", 0.25, row)
    for box in roles[:2]:
        turn = box.bottom[1] + 0.18
        end = (raw.top[0], tops[2] - 0.22)
        sketch.path(box.bottom, (box.bottom[0], turn), (raw.top[0], turn), end)
    sketch.path((raw.right[0] + 0.03, raw.right[1]), (divided.x - 0.03, divided.left[1]))
    shares = _small(
        sketch, 0.75, tops[3], weights, "weights: softmax of each row", 0.3125, row, words
    )
    _down(sketch, divided, shares)
    again = _small(sketch, 3.125, tops[3], v, "V", 0.3125)
    lane = WIDTH - 0.12
    turn = tops[3] - 0.3
    sketch.path(
        roles[2].right, (lane, roles[2].right[1]), (lane, turn), (again.top[0], turn),
        (again.top[0], tops[3] - 0.2),
    )  # fmt: skip
    mixed = _small(sketch, 4.0, tops[3], mixture, "mixture", 0.375, row)
    sketch.text((shares.right[0] + again.x) / 2, shares.right[1], "×", ha="center")
    sketch.text((again.right[0] + mixed.x) / 2, shares.right[1], "=", ha="center")
    for j, word in enumerate(words):
        place = (shares.x + 0.3125 * (j + 0.5), shares.bottom[1] + 0.05)
        sketch.text(*place, word, rotation=90, ha="center", va="top", fontsize=8.5)
    return picture


def _down(sketch: Sketch, above: Box, below: Box) -> None:
    """Draw an arrow from under one matrix to above the title of another."""
    turn = above.bottom[1] + 0.14
    end = (below.top[0], below.y - 0.22)
    sketch.path(above.bottom, (above.bottom[0], turn), (below.top[0], turn), end)


def _small(
    sketch: Sketch,
    x: float,
    y: float,
    numbers: Array,
    name: str,
    wide: float,
    row: int | None = None,
    words: Sequence[str] = (),
) -> Box:
    """Draw a matrix in small cells, with one row framed."""
    draw = sketch.matrix if name.startswith("weights") else functools.partial(vectors, sketch)
    box: Box = draw(x, y, numbers, name, words, cell=(wide, SMALL))
    if row is not None:
        sketch.frame(x, y + SMALL * row, box.width, SMALL)
    return box


@house_style()
def meanings_part(
    word: str, before: ArrayLike, after: Mapping[str, ArrayLike], features: Sequence[str]
) -> Picture:
    """Draw one word as a point of two features, and where each sentence moves it.

    >>> after = {"money": [1.76, 0.01], "river": [0.01, 1.66]}
    >>> meanings_part("bank", [1, 1], after, ["finance", "nature"]).alt
    'The plane of finance and nature. Before attention “bank” is one point, (1, 1), in every \
sentence; after it is at (1.76, 0.01) with “money” and at (0.01, 1.66) with “river”.'
    """
    start = as_finite(before, 1, "before")
    features = as_labels(features, 2, "features")
    ends = {name: _as_long(v, start, f"vector with {name!r}") for name, v in after.items()}
    told = [f"at ({', '.join(number_texts(v))}) with {quoted(n)}" for n, v in ends.items()]
    here = ", ".join(number_texts(start))
    alt = (
        f"The plane of {features[0]} and {features[1]}. Before attention {quoted(word)} is one "
        f"point, ({here}), in every sentence; after it is {listed(told)}."
    )
    picture = Picture(figsize=(WIDTH, 3.5), alt=alt)
    axes = picture.add_subplot(xlabel=features[0], ylabel=features[1])
    top = float(max(np.max(v) for v in (start, *ends.values())))
    axes.set(xlim=(-0.1, top * 1.5), ylim=(-0.2, top * 1.2))
    axes.grid()
    axes.set_axisbelow(True)
    for (name, end), (colour, _, marker) in zip(ends.items(), SERIES, strict=False):
        look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 12, "linewidth": 1.6}
        ends_of = (start[0], start[1]), (end[0], end[1])
        axes.add_patch(FancyArrowPatch(*ends_of, color=colour, shrinkA=7, shrinkB=5, **look))
        axes.plot(*end, marker, color=colour, markersize=8)
        text = f"{word} with {name}\n({', '.join(number_texts(end))})"
        above = end[1] > start[1]  # on the side of the point that its arrow does not come from
        va = "bottom" if above else "top" if end[0] < start[0] else "center"
        offset = (9, 3 if above else -3)
        axes.annotate(text, (end[0], end[1]), offset, textcoords="offset points", ha="left", va=va)
    axes.plot(*start, "o", color=INK, markersize=9)
    text = f"{word} in every sentence\n({here})"
    axes.annotate(text, (start[0], start[1]), (9, 2), textcoords="offset points", va="bottom")
    return picture


@house_style()
def scores_spread(scores: Mapping[str, ArrayLike], weights: Mapping[str, ArrayLike]) -> Picture:
    """Draw how far scores spread, and beside it the weights that softmax makes of one query's.

    >>> scores_spread({"d_k = 4": [2, -2]}, {"d_k = 4": [0.98, 0.02]}).alt
    'Scores and the weights that softmax makes of them. d_k = 4: typical score 2, largest weight \
0.98 of 2.'
    """
    drawn = {name: as_finite(np.ravel(s), 1, f"scores of {name!r}") for name, s in scores.items()}
    shares = {name: as_finite(weights[name], 1, f"weights of {name!r}") for name in drawn}
    told = [
        f"{name}: typical score {number_text(round(float(drawn[name].std()), 1))}, largest weight "
        f"{number_text(w.max())} of {len(w)}"
        for name, w in shares.items()
    ]
    alt = f"Scores and the weights that softmax makes of them. {'; '.join(told)}."
    picture = Picture(figsize=(WIDTH, 1.15 * len(drawn) + 0.5), alt=alt)
    grid = picture.subplots(len(drawn), 2, sharex="col", squeeze=False)
    reach = max(np.abs(s).max() for s in drawn.values())
    for (left, right), (name, values) in zip(grid, drawn.items(), strict=True):
        _histogram(left, name, values, reach)
        colours = [ACCENT if w == shares[name].max() else GREY for w in shares[name]]
        heights = right.bar(range(1, len(shares[name]) + 1), shares[name], color=colours)
        texts = [f"{w:.2f}" if w == shares[name].max() else "" for w in shares[name]]
        right.bar_label(heights, texts, fontsize=8.5, padding=1)
        right.set(ylim=(0, 1.25), yticks=(0, 1))
    grid[0, 0].set_title("scores", fontsize=9.5)
    grid[0, 1].set_title("weights of one query", fontsize=9.5)
    grid[-1, 0].set_xlabel("score")
    grid[-1, 1].set(xlabel="key", xticks=range(1, len(shares[name]) + 1))
    return picture


def _histogram(axes: Axes, name: str, values: Array, reach: float) -> None:
    """Draw how often each score occurs, with the typical size written beside."""
    axes.hist(values, bins=80, range=(-reach, reach), color=BLUE)
    axes.set(yticks=[])
    look: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "fontsize": 8.5}
    axes.text(0.01, 0.95, name.replace(", ", "\n"), fontweight="bold", **look)
    axes.spines["left"].set_visible(False)
    size = f"typical\nsize {number_text(round(float(values.std()), 1))}"
    axes.text(0.99, 0.95, size, ha="right", **look)


def vectors(sketch: Sketch, x: float, y: float, numbers: Array, *args: Any, **kwargs: Any) -> Box:
    """Draw numbers with pale zeros, red above and blue below: all that is no weight."""
    # A negative limit makes the scale a signed one, also where no number is negative; the factor
    # keeps the largest number from being nearly black.
    limit = -1.4 * float(np.abs(numbers).max() or 1)
    return sketch.matrix(x, y, numbers, *args, **{"limit": limit} | kwargs)


def _as_long(values: ArrayLike, like: Array, what: str) -> Array:
    """Return values as a vector as long as another."""
    vector = as_finite(values, 1, what)
    if len(vector) != len(like):
        raise ValueError(f"{what} must have {len(like)} numbers, but has {len(vector)}.")
    return vector


def _as_rows(values: ArrayLike, rows: int, what: str) -> Array:
    """Return values as a matrix of so many rows."""
    matrix = as_finite(values, 2, what)
    if len(matrix) != rows:
        raise ValueError(f"{what} must have {rows} rows, but has the shape {matrix.shape}.")
    return matrix
