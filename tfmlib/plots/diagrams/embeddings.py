"""Embeddings: rows that are looked up, vectors and their angles, one vector for two meanings."""

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from tfmlib.plots.colours import ACCENT, GREY, MUTED, PALE, PAPER, VERMILLION, WIDTH
from tfmlib.plots.inputs import Labels, as_finite, as_labels
from tfmlib.plots.picture import Picture
from tfmlib.plots.plane import Plane, angle_between, in_their_plane
from tfmlib.plots.sketch import NARROW, Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

CELL = (0.37, 0.25)  # inches: holds −0.12 at 8 points


@house_style()
def row_picked(table: ArrayLike, index: int, words: Labels) -> Picture:
    """Draw a one-hot vector times a table as its sum of rows: all rows but one times 0.

    >>> row_picked(np.eye(3), 1, ["a", "b", "c"]).alt
    'A one-hot vector times a table of 3 rows. The row of “b” is multiplied by 1, all others \
by 0; the sum is the row of “b”: 0, 1, 0.'
    """
    table = as_finite(table, 2, "table")  # (V, D)
    V, D = table.shape
    words = as_labels(words, V, "words")
    _refuse_strange_ids([index], V)
    one_hot = np.eye(V)[index]
    picked = listed(number_texts(table[index])).replace(" and ", ", ")
    word = quoted(words[index])
    alt = (
        f"A one-hot vector times a table of {V} rows. The row of {word} is multiplied by 1, all "
        f"others by 0; the sum is the row of {word}: {picked}."
    )
    limit = float(np.abs(table).max())
    top, bottom = 0.38, 0.38 + CELL[1] * V
    picture, sketch = sheet(bottom + 0.7, alt)
    hot = sketch.matrix(0.62, top, one_hot[:, None], "one-hot", words, cell=(0.3, CELL[1]))
    left = sketch.matrix(1.36, top, table, "table", cell=CELL, limit=limit)
    products = one_hot[:, None] * table
    texts = [number_texts(row) for row in products]
    gone = [(i, j) for i in range(V) for j in range(D) if i != index]
    right = sketch.matrix(
        3.2, top, products, "products", cell=CELL, texts=texts, limit=limit, blank=gone
    )
    for i in range(V):
        y = top + CELL[1] * (i + 0.5)
        for x, sign in ((hot.right[0] + 0.22, "×"), ((left.right[0] + right.x) / 2, "=")):
            sketch.text(x, y, sign, ha="center")
        for j in range(D if i != index else 0):
            sketch.note(right.x + CELL[0] * (j + 0.5), y, "0", ha="center", fontsize=8)
    lit = [(0, j) for j in range(D)]
    total = sketch.matrix(right.x, bottom + 0.3, one_hot @ table, cell=CELL, limit=limit, lit=lit)
    sketch.path((right.bottom[0], bottom + 0.05), (right.bottom[0], bottom + 0.27))
    sketch.text(total.x - 0.1, total.left[1], f"sum = row of {words[index]}", ha="right")
    return picture


@house_style()
def rows_read(ids: Sequence[int], table: ArrayLike, words: Labels) -> Picture:
    """Draw how ids become a matrix: each one reads its row of the table.

    >>> rows_read([2, 0], np.eye(3), ["a", "b", "c"]).alt
    'The ids 2 and 0 (“c” and “a”) read rows of a table of 3. The result has 2 rows: position 0 \
is row 2, position 1 is row 0.'
    """
    table = as_finite(table, 2, "table")  # (V, D)
    words = as_labels(words, len(table), "words")
    ids = _refuse_strange_ids(ids, len(table))
    told = listed(f"position {t} is row {i}" for t, i in enumerate(ids)).replace(" and", ",")
    alt = (
        f"The ids {listed(map(str, ids))} ({listed(quoted(words[i]) for i in ids)}) read rows of a "
        f"table of {len(table)}. The result has {len(ids)} rows: {told}."
    )
    texts = [f"{i}  {word}" for i, word in enumerate(words)]
    read = [f"{i}  {words[i]}" for i in ids]
    names = ("table E", "sentence X′")
    picture, sketch, E, X = _two_tables(alt, (table, table[ids]), names, (texts, read))
    for t, i in enumerate(ids):
        _connect(sketch, E, i, X, t, _label_width(read), lit=t == 0)
    return picture


@house_style()
def gradients_added(ids: Sequence[int], upstream: ArrayLike, words: Labels) -> Picture:
    """Draw how the gradients of positions reach the table: those of one token add up in its row.

    >>> gradients_added([1, 1], [[1, 2], [3, -5]], ["a", "b"]).alt
    'The gradients of 2 positions, added up in a table of 2 rows. “b” gets the sum of positions \
0 and 1: 4, −3. “a” does not occur and gets zeros.'
    """
    upstream = as_finite(upstream, 2, "upstream")  # (T, D)
    words = as_labels(words, len(list(words)), "words")
    ids = _refuse_strange_ids(ids, len(words))
    if len(ids) != len(upstream):
        raise ValueError(
            f"upstream must have a row for each of the {len(ids)} ids, but has {len(upstream)}."
        )
    gradient = np.zeros((len(words), upstream.shape[1]))
    np.add.at(gradient, ids, upstream)
    read = [f"{t}  {words[i]}" for t, i in enumerate(ids)]
    names = ("gradient of X′", "gradient of E")
    picture, sketch, X, E = _two_tables(
        _tell_gradients(ids, gradient, words), (upstream, gradient), names, (read, words)
    )
    for t, i in enumerate(ids):
        _connect(sketch, X, t, E, i, _label_width(words), lit=ids.count(i) > 1)
    return picture


def _tell_gradients(ids: list[int], gradient: Array, words: list[str]) -> str:
    """Say which rows are sums, and which tokens get nothing."""
    told = f"The gradients of {len(ids)} positions, added up in a table of {len(words)} rows. "
    for i, word in enumerate(words):
        places = [str(t) for t, other in enumerate(ids) if other == i]
        if len(places) > 1:
            row = ", ".join(number_texts(gradient[i]))
            told += f"{quoted(word)} gets the sum of positions {listed(places)}: {row}. "
    absent = [quoted(word) for i, word in enumerate(words) if i not in ids]
    verb = "does not occur and gets" if len(absent) == 1 else "do not occur and get"
    return told + (f"{listed(absent)} {verb} zeros." if absent else "Every token occurs.")


def _two_tables(
    alt: str,
    tables: tuple[Array, Array],
    names: tuple[str, str],
    rows: tuple[list[str], list[str]],
) -> tuple[Picture, Sketch, Box, Box]:
    """Draw two tables side by side, with room for arrows between them."""
    both = np.concatenate(tables)
    limit = float(np.abs(both).max()) * (-1 if (both < 0).any() else 1)  # one scale for both
    picture, sketch = sheet(0.4 + CELL[1] * max(map(len, tables)) + 0.05, alt)
    D = tables[0].shape[1]
    x = 0.05 + _label_width(rows[0])
    one = sketch.matrix(x, 0.36, tables[0], names[0], rows[0], cell=CELL, limit=limit)
    x = WIDTH - 0.05 - CELL[0] * D
    other = sketch.matrix(x, 0.36, tables[1], names[1], rows[1], cell=CELL, limit=limit)
    return picture, sketch, one, other


def _label_width(labels: list[str]) -> float:
    return 0.1 + NARROW * max(1.35 * len(text) - 0.75 * text.count(" ") for text in labels)


def _connect(
    sketch: Sketch, one: Box, i: int, other: Box, j: int, label: float, lit: bool = False
) -> None:
    """Draw an arrow from row i of a table to row j of another, in front of its label."""
    start = (one.right[0] + 0.05, one.y + CELL[1] * (i + 0.5))
    end = (other.x - label - 0.05, other.y + CELL[1] * (j + 0.5))
    sketch.path(start, end, colour=VERMILLION if lit else MUTED)


def _refuse_strange_ids(ids: Sequence[int], count: int) -> list[int]:
    """Return ids as numbers, or say which one has no row."""
    ids = [int(i) for i in ids]
    strange = [i for i in ids if not 0 <= i < count]
    if strange:
        raise ValueError(f"ids must be from 0 to {count - 1}, a row each, but one is {strange[0]}.")
    return ids


@house_style()
def same_direction(base: ArrayLike, vectors: Mapping[str, ArrayLike], name: str = "x1") -> Picture:
    """Draw a vector and multiples of another in their plane, with dot products and cosines.

    >>> same_direction([2, 0], {"b": [1, 1], "-3 b": [-3, -3]}, "a").alt
    'Vectors in a plane. With a, b has the dot product 2 and the cosine 0.71; −3 b has −6 \
and −0.71. The cosine depends on the direction alone.'
    """
    base, names, rows = _vectors(base, vectors)
    flat = in_their_plane(base, rows)
    lengths = np.linalg.norm([base, *rows], axis=1)
    if not np.allclose(np.linalg.norm(flat, axis=1), lengths):
        raise ValueError("vectors must lie in one plane with the base, but one of them does not.")
    told = [
        (number_text(float(base @ v)), number_text(math.cos(angle_between(base, v)))) for v in rows
    ]
    alt = f"Vectors in a plane. With {name}, {names[0]} has the dot product {told[0][0]} and the "
    alt += f"cosine {told[0][1]}; "
    alt += "; ".join(f"{n} has {d} and {c}" for n, (d, c) in zip(names[1:], told[1:], strict=True))
    alt += ". The cosine depends on the direction alone."
    left, right = min(flat[:, 0].min(), 0), max(flat[:, 0].max(), 0)
    low, high = min(flat[:, 1].min(), 0), max(flat[:, 1].max(), 0)
    unit = (WIDTH - 1.6) / (right - left)
    picture, sketch = sheet(unit * (high - low) + 0.95, alt)
    plane = Plane(sketch, (0.3 - unit * left, 0.35 + unit * high), unit)
    for row in flat[:1:-1]:
        plane.arrow(row, colour=GREY)
    plane.arrow(flat[1])  # over its multiples
    plane.arrow(flat[0], colour=VERMILLION)
    turn = angle_between(flat[0], flat[1])
    plane.arc(0.42, 0, turn)
    sketch.note(*plane.beside(0.5, turn / 2), f"{math.degrees(turn):.0f}°")
    x, y = plane.at(flat[0])
    sketch.text(x + 0.08, y, name, fontweight="bold")
    for i, (label, (dot, cosine)) in enumerate(zip(names, told, strict=True)):
        x, y = plane.at(flat[i + 1])
        x = x + 0.12 if flat[i + 1, 0] >= 0 else max(x - 0.2, 0.1)
        y = y + 0.03 if flat[i + 1, 1] >= 0 else y + 0.17
        sketch.text(x, y, label, fontweight="bold")
        sketch.text(x, y + 0.17, f"dot product {dot}")
        sketch.text(x, y + 0.34, f"cosine {cosine}")
    return picture


@house_style()
def word_angles(word: str, vector: ArrayLike, others: Mapping[str, ArrayLike]) -> Picture:
    """Draw a word's vector beside each of some others, in the plane that the two span.

    >>> word_angles("loan", [1, 0, 0], {"debt": [1, 1, 0], "river": [0, 0, 2]}).alt
    'The vector of “loan” forms an angle of 45° with “debt”, cosine 0.71; of 90° with \
“river”, cosine 0.00.'
    """
    vector, names, rows = _vectors(vector, others)
    turns = [angle_between(vector, row) for row in rows]
    cosines = number_texts([math.cos(turn) for turn in turns])
    told = [
        f"of {math.degrees(turn):.0f}° with {quoted(name)}, cosine {cosine}"
        for turn, name, cosine in zip(turns, names, cosines, strict=True)
    ]
    alt = f"The vector of {quoted(word)} forms an angle {'; '.join(told)}."
    room = WIDTH / len(rows)
    flats = [in_their_plane(vector, [row]) for row in rows]
    unit = min(1.3, room - 0.35) / max(np.abs(flat).max() for flat in flats)
    high = unit * max(flat[:, 1].max() for flat in flats)
    picture, sketch = sheet(high + 0.9, alt)
    for k, (name, flat, turn) in enumerate(zip(names, flats, turns, strict=True)):
        left = unit * min(flat[:, 0].min(), 0)
        plane = Plane(sketch, (room * k + 0.15 - left, high + 0.3), unit)
        plane.arrow(flat[0], colour=VERMILLION)
        plane.arrow(flat[1])
        plane.arc(0.3, 0, turn)
        sketch.note(*plane.beside(0.38, turn / 2), f"{math.degrees(turn):.0f}°")
        x, y = plane.at(flat[0])
        sketch.text(x, y + 0.16, word, ha="right")
        x, y = plane.at(flat[1])
        sketch.text(x, y - 0.12, name, ha="center")
        sketch.text(room * k + 0.15, high + 0.72, f"cosine {cosines[k]}", fontweight="bold")
    return picture


def _vectors(
    base: ArrayLike, vectors: Mapping[str, ArrayLike]
) -> tuple[Array, list[str], list[Array]]:
    """Return a vector, and the names and values of those to compare with it; none may be zero."""
    base = as_finite(base, 1, "the vector")
    rows = [as_finite(vector, 1, f"vector {name!r}") for name, vector in vectors.items()]
    for name, row in zip(["the vector", *vectors], [base, *rows], strict=True):
        if row.shape != base.shape:
            raise ValueError(
                f"{name} must have {len(base)} numbers as the first, but has {len(row)}."
            )
        if not row.any():
            raise ValueError(f"{name} must have a direction, but all of its numbers are 0.")
    return base, [name.replace("-", "−") for name in vectors], rows


@house_style()
def neighbour_window(words: Sequence[str], centre: int, size: int) -> Picture:
    """Draw the neighbours of one word of a sentence, at most `size` positions away.

    >>> neighbour_window(["fish", "swim", "in", "the", "water"], 1, 2).alt
    'A window of 2 around “swim”, at position 1 of “fish swim in the water”. Its neighbours are \
“fish”, “in” and “the”.'
    """
    words = as_labels(words, len(words), "words")
    _refuse_strange_ids([centre], len(words))
    near = [i for i in range(len(words)) if 0 < abs(i - centre) <= size]
    alt = (
        f"A window of {size} around {quoted(words[centre])}, at position {centre} of "
        f"{quoted(' '.join(words))}. Its neighbours are {listed(quoted(words[i]) for i in near)}."
    )
    picture, sketch = sheet(1.2, alt)
    faces = [ACCENT if i == centre else PALE if i in near else PAPER for i in range(len(words))]
    boxes = sketch.chips((WIDTH - _chips_width(words)) / 2, 0.62, words, faces)
    for i in near:
        side, steps = np.sign(i - centre), abs(i - centre)
        start, end = boxes[centre].top[0] + side * 0.2 / steps, boxes[i].top[0]
        high = 0.5 - 0.15 * (steps - 1) / max(size - 1, 1) - 0.08
        sketch.path((start, 0.61), (start, high), (end, high), (end, 0.61))
    for i in [centre, *near]:
        offset = f"{i - centre:+d}".replace("-", "−") if i != centre else "the word"
        sketch.note(boxes[i].bottom[0], 1.0, offset, ha="center")
    return picture


def _chips_width(words: Sequence[str]) -> float:
    """Say how wide `Sketch.chips` draws words."""
    return sum(NARROW * 1.2 * len(word) + 0.12 for word in words) + 0.06 * (len(words) - 1)


@house_style()
def shared_row(word: str, row: ArrayLike, sentences: Sequence[str]) -> Picture:
    """Draw two sentences with the same word, and the one row of the table that both read.

    >>> shared_row("bank", [0.5, -1.2], ["to the bank", "a river bank"]).alt
    'The word “bank” in “to the bank” and in “a river bank”: both read the same row of the table, \
0.5, −1.2.'
    """
    row = as_finite(row, 1, "row")
    if len(sentences) != 2 or not all(word in sentence.split() for sentence in sentences):
        raise ValueError(f"sentences must be two with {word!r} in them, but are {sentences}.")
    alt = (
        f"The word {quoted(word)} in {quoted(sentences[0])} and in {quoted(sentences[1])}: both "
        f"read the same row of the table, {', '.join(number_texts(row))}."
    )
    picture, sketch = sheet(1.8, alt)
    cell = min(0.5, (WIDTH - 0.4) / len(row))
    x = (WIDTH - cell * len(row)) / 2
    cells = sketch.matrix(x, 0.78, row, cell=(cell, CELL[1]))
    for sentence, y in zip(sentences, (0.08, 1.48), strict=True):
        words = sentence.split()
        faces = [ACCENT if other == word else PALE for other in words]
        box = sketch.chips(x, y, words, faces)[words.index(word)]
        start, end = (box.bottom, cells.y - 0.04) if y < cells.y else (box.top, cells.y + 0.29)
        sketch.path(start, (start[0], end))
    sketch.note(x + cell * len(row), 0.6, f"the row of {word}", ha="right")
    return picture


@house_style()
def senses_parted(
    word: str, alone: ArrayLike, mixtures: Mapping[str, ArrayLike], subjects: Sequence[str]
) -> Picture:
    """Draw the cosines with two subjects: of a word alone, and of its sentences' mixtures.

    >>> senses_parted("bank", [0.4, 0.5], {"a bank loan": [0.9, 0]}, ["money", "river"]).alt
    'Cosines with money and with river. “bank” alone: 0.40 and 0.50, nearer to river. The mixture \
of “a bank loan”: 0.90 and 0.00, nearer to money.'
    """
    alone = as_finite(alone, 1, "alone")
    points = {name: as_finite(point, 1, f"mixture {name!r}") for name, point in mixtures.items()}
    for point in (alone, *points.values()):
        if point.shape != (2,) or len(subjects) != 2 or np.abs(point).max() > 1:
            raise ValueError(f"each point must have two cosines from −1 to 1, but one is {point}.")
    names = {f"{quoted(word)} alone": alone}
    names |= {f"The mixture of {quoted(name)}": point for name, point in points.items()}
    alt = f"Cosines with {listed(f'with {s}' for s in subjects)[5:]}. "
    alt += " ".join(f"{name}: {_tell_cosines(p, subjects)}." for name, p in names.items())
    low = min(0.0, *(float(p.min()) for p in names.values()))
    picture, sketch = sheet(3.5 - 2.6 * low, alt)
    plane = Plane(sketch, (0.75 - 2.6 * low, 2.9), 2.6)
    _axes(plane, low, subjects)
    for name, point in points.items():
        plane.arrow(point, start=alone, line=1.6)
        x, y = plane.at(point)
        over = point[1] > point[0]  # away from the line on which both are alike
        x, y = (x - 0.08, y - 0.5) if over else (x + 0.1, y - 0.48)
        for k, line in enumerate([*textwrap.wrap(name, 20), _pair(point)]):
            sketch.text(x, y + 0.17 * k, line, ha="center" if over else "left")
    x, y = plane.at(alone)
    sketch.axes.plot(x, y, "o", color=VERMILLION, markersize=7, zorder=4)
    sketch.text(x - 0.1, y - 0.1, word, ha="right", fontweight="bold")
    sketch.text(x - 0.1, y + 0.08, _pair(alone), ha="right")
    return picture


def _axes(plane: Plane, low: float, subjects: Sequence[str]) -> None:
    """Draw the axes of two cosines, and the line on which both are alike."""
    sketch = plane.sketch
    for end, start in (((1.06, 0), (low, 0)), ((0, 1.06), (0, low))):
        plane.arrow(end, start, MUTED, line=1)
    plane.curve(np.array([low, 1]), np.array([low, 1]), dash="--")
    for value in (0.5, 1):
        x, y = plane.at((value, 0))
        sketch.note(x, y + 0.14, number_text(value), ha="center")
        x, y = plane.at((0, value))
        sketch.note(x - 0.08, y, number_text(value), ha="right")
    sketch.text(*plane.at((0.5, -0.13)), f"cosine with {subjects[0]}", ha="center")
    sketch.text(*plane.at((-0.17, 0.5)), f"cosine with {subjects[1]}", rotation=90, ha="center")
    x, y = plane.at((1, 1))
    sketch.note(x + 0.06, y, "equally near")
    sketch.note(*plane.at((0.04, 1)), f"nearer to {subjects[1]}")
    sketch.note(*plane.at((0.85, 0.5)), f"nearer to {subjects[0]}")


def _pair(point: Array) -> str:
    return ", ".join(f"{value:.2f}" for value in point.round(2) + 0.0).replace("-", "−")


def _tell_cosines(point: Array, subjects: Sequence[str]) -> str:
    near = subjects[int(point[1] > point[0])]
    return f"{_pair(point).replace(', ', ' and ')}, nearer to {near}"
