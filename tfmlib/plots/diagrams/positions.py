"""Positions: digits and waves, the hands of clocks, adding an encoding, turning by a position."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tfmlib.plots.colours import BLUE, GRID, MUTED, VERMILLION, WIDTH
from tfmlib.plots.inputs import Labels, as_finite, as_labels
from tfmlib.plots.picture import Picture
from tfmlib.plots.plane import Plane, angle_between
from tfmlib.plots.sketch import Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

Pair = tuple[int, int]
LOOKS = ((BLUE, "o", 9), (VERMILLION, "s", 5))  # of two words: not by colour alone


@house_style()
def digits_and_waves(encoding: ArrayLike, count: int) -> Picture:
    """Draw the first binary digits of each position above the first sines of its encoding.

    >>> angles = np.arange(8)[:, None] / [1, 2]
    >>> encoding = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(8, 4)
    >>> digits_and_waves(encoding, 2).alt
    'Positions 0 to 7. Above, 2 binary digits: digit 0 flips 7 times, digit 1 flips 3 times. \
Below, 2 sine waves: dimension 0 comes round in 6.3 positions, dimension 2 in 12.6.'
    """
    encoding = as_finite(encoding, 2, "encoding")  # (T, D)
    T, D = encoding.shape
    if T < 2 or 2 * count > D:
        raise ValueError(
            f"encoding must have 2 positions and {2 * count} dimensions or more, but is ({T}, {D})."
        )
    digits = np.arange(T) // 2 ** np.arange(count)[:, None] % 2  # (count, T)
    speeds = np.arctan2(encoding[1, 0::2], encoding[1, 1::2])[:count]  # radians per position
    changes = np.abs(np.diff(digits, axis=1)).sum(axis=1)
    flips = [f"digit {j} flips {n} time{'' if n == 1 else 's'}" for j, n in enumerate(changes)]
    rounds = [f"{2 * math.pi / speed:.1f}" for speed in speeds]
    waves = [f"dimension {2 * j} in {r}" for j, r in enumerate(rounds)]
    waves[0] = f"dimension 0 comes round in {rounds[0]} positions"
    alt = (
        f"Positions 0 to {T - 1}. Above, {count} binary digits: {', '.join(flips)}. "
        f"Below, {count} sine waves: {', '.join(waves)}."
    )
    picture, sketch = sheet(0.38 + 0.28 * count + 0.52 * count, alt)
    left, cell = 1.02, (WIDTH - 1.07) / T
    for i in range(T):
        sketch.note(left + cell * (i + 0.5), 0.12, str(i), ha="center", fontsize=8)
    sketch.note(left - 0.08, 0.12, "position", ha="right")
    for j in range(count):
        y = 0.25 + 0.28 * j
        texts = [[str(digit) for digit in digits[j]]]
        sketch.matrix(left, y, digits[j], cell=(cell, 0.24), texts=texts)
        sketch.text(left - 0.08, y + 0.12, f"digit {j}", ha="right")
        y = 0.6 + 0.28 * count + 0.52 * j
        _wave(sketch, left + cell / 2, cell, y, encoding[:, 2 * j], speeds[j])
        sketch.text(left - 0.08, y, f"dimension {2 * j}", ha="right")
    return picture


def _wave(sketch: Sketch, left: float, cell: float, y: float, values: Array, speed: float) -> None:
    """Draw a sine at whole positions as dots, and what its hand does between them as a line."""
    T = len(values)
    x, fine = np.arange(T), np.linspace(0, T - 1, 6 * T)
    sketch.axes.plot(left + cell * x[[0, -1]], [y, y], color=GRID, linewidth=1)
    sketch.axes.plot(left + cell * fine, y - 0.2 * np.sin(speed * fine), color=BLUE, linewidth=1.2)
    sketch.axes.plot(left + cell * x, y - 0.2 * values, "o", color=BLUE, markersize=3.5)


@house_style()
def encoding_clocks(encoding: ArrayLike, rows: Labels | None = None) -> Picture:
    """Draw each pair of dimensions as the hand of a clock, one clock per position.

    >>> encoding_clocks([[0, 1, 0, 1], [1, 0, 0.6, 0.8]]).alt
    '2 hands at positions 0 to 1, all beginning straight up. From one position to the next, \
hand 0 turns by 90°, hand 1 by 37°.'
    """
    encoding = as_finite(encoding, 2, "encoding")  # (T, D)
    T, D = encoding.shape
    if T < 2 or D % 2:
        raise ValueError(f"encoding must have positions and pairs, but has the shape {(T, D)}.")
    hands = encoding.reshape(T, D // 2, 2)
    names = [f"hand {j}" for j in range(D // 2)]
    names = names if rows is None else as_labels(rows, D // 2, "rows")
    steps = [math.degrees(angle_between(hands[0, j], hands[1, j])) for j in range(D // 2)]
    told = ", ".join(f"{name} by {step:.0f}°" for name, step in zip(names, steps, strict=True))
    alt = (
        f"{D // 2} hands at positions 0 to {T - 1}, all beginning straight up. From one position "
        f"to the next, {told.replace(' by', ' turns by', 1)}."
    )
    left = 0.68
    room = min((WIDTH - left) / T, 0.82)
    face, tall = room - 0.3, room + 0.04
    picture, sketch = sheet(0.3 + tall * (D // 2), alt)
    for i in range(T):
        sketch.note(left + room * (i + 0.5), 0.12, str(i), ha="center")
        for j in range(D // 2):
            _clock(sketch, left + room * (i + 0.5), 0.28 + tall * j, face, hands[i, j])
    sketch.note(left - 0.02, 0.12, "position", ha="right")
    for j, name in enumerate(names):
        sketch.text(0.02, 0.28 + tall * j + face / 2, name)
        sketch.note(0.02, 0.28 + tall * j + face + 0.16, "sin, cos", fontsize=8)
    return picture


def _clock(sketch: Sketch, x: float, y: float, size: float, hand: Array) -> None:
    """Draw a face with its hand, straight up for (0, 1), and write the two numbers below."""
    plane = Plane(sketch, (x, y + size / 2), size / 2)
    plane.circle()
    plane.arrow(0.92 * hand, colour=VERMILLION)
    sine, cosine = (f"{v:.2f}".replace("-", "−") for v in hand.round(2) + 0.0)
    sketch.note(x, y + size + 0.16, f"{sine} {cosine}", ha="center", fontsize=8)


@house_style()
def positions_added(embeddings: ArrayLike, encoding: ArrayLike, words: Labels) -> Picture:
    """Draw the embeddings of a sentence, the encodings of its positions and their sum.

    >>> positions_added([[0.5, 0.1], [0.2, 0.2]], [[0, 1], [0.84, 0.54]], ["a", "b"]).alt
    'Two tables of 2 rows and their sum. For the last row, “b” at position 1: 0.20, 0.20 plus \
0.84, 0.54 is 1.04, 0.74.'
    """
    X, P = as_finite(embeddings, 2, "embeddings"), as_finite(encoding, 2, "encoding")  # (T, D)
    T, D = X.shape
    if P.shape != X.shape:
        raise ValueError(
            f"encoding must have the shape {X.shape} of embeddings, but has {P.shape}."
        )
    words = as_labels(words, T, "words")
    last = [", ".join(_decimals(table[-1])) for table in (X, P, X + P)]
    alt = (
        f"Two tables of {T} rows and their sum. For the last row, {quoted(words[-1])} at position "
        f"{T - 1}: {last[0]} plus {last[1]} is {last[2]}."
    )
    cell, tall = (0.42, 0.25), 0.25 * T
    limit = -float(np.abs([X, P, X + P]).max())  # below 0: all in the colours of signed numbers
    picture, sketch = sheet(1.0 + 2 * tall, alt)
    lit = [(T - 1, j) for j in range(D)]
    numbers = [str(i) for i in range(T)]
    places = (
        (X, 0.62, 0.34, "embeddings X′", words),
        (P, 1.12 + cell[0] * D, 0.34, "encodings P", numbers),
        (X + P, 0.87 + cell[0] * D / 2, 0.9 + tall, "X = X′ + P", words),
    )
    for table, x, y, name, rows in places:
        texts = [_decimals(row) for row in table]
        sketch.matrix(x, y, table, name, rows, cell=cell, texts=texts, limit=limit, lit=lit)
    plus = 0.87 + cell[0] * D
    sketch.text(plus - 0.04, 0.34 + tall / 2, "+", ha="center", fontsize=14)
    sketch.path((plus, 0.4 + tall), (plus, 0.66 + tall))
    return picture


def _decimals(row: Array) -> list[str]:
    """Write each number with two decimals, so that a sum can be followed."""
    return [f"{v:.2f}".replace("-", "−") for v in np.round(row, 2) + 0.0]


@house_style()
def multiply_or_add(
    vectors: Mapping[str, ArrayLike], encoding: ArrayLike, positions: Sequence[int]
) -> Picture:
    """Draw two words of two numbers each, multiplied by positions and added to their encodings.

    >>> hands = [[0, 1], [0.84, 0.54], [0.91, -0.42], [0.14, -0.99]]
    >>> multiply_or_add({"Good": [1, 3], "morning": [3, 9]}, hands, [1, 2, 3]).alt
    'Two panels. Multiplied by positions 1, 2 and 3, “Good” at position 3 is “morning” at position \
1. With an encoding added, each stays within 1 of its own vector.'
    """
    hands = as_finite(encoding, 2, "encoding")  # (T, 2)
    names, rows = list(vectors), [as_finite(v, 1, f"vector {n!r}") for n, v in vectors.items()]
    if len(rows) != 2 or hands.shape[1] != 2 or any(row.shape != (2,) for row in rows):
        raise ValueError("vectors must be two, of two numbers each, and so must the encodings.")
    if not np.allclose(np.linalg.norm(hands, axis=1), 1, atol=0.01):
        raise ValueError("encoding must be one hand of length 1 per position, but is not.")
    meet = next(
        ((m, n) for m in positions for n in positions if np.allclose(m * rows[0], n * rows[1])),
        None,
    )
    alt = f"Two panels. Multiplied by positions {listed(map(str, positions))}"
    if meet:
        alt += f", {quoted(names[0])} at position {meet[0]} is "
        alt += f"{quoted(names[1])} at position {meet[1]}"
    else:
        alt += f", {listed(map(quoted, names))} do not meet"
    alt += ". With an encoding added, each stays within 1 of its own vector."
    high = max(m * float(row[1]) for m in positions for row in rows)
    picture, sketch = sheet(3.45, alt)
    by, to = Plane(sketch, (0.4, 3.2), 2.7 / high), Plane(sketch, (2.95, 3.2), 0.27)
    sketch.text(0.2, 0.12, "times the position", fontweight="bold")
    sketch.text(2.75, 0.12, "plus an encoding", fontweight="bold")
    for plane in (by, to):
        plane.arrow((0, 2.78 / plane.unit), colour=MUTED, line=1)
        plane.arrow((1.5 / plane.unit, 0), colour=MUTED, line=1)
        for value in {*(row[1] for row in rows), high if plane is by else rows[1][1]}:
            x, y = plane.at((0, value))
            sketch.note(x - 0.06, y, number_text(value), ha="right")
    labels: dict[tuple[float, ...], list[str]] = {}
    for (colour, marker, size), name, row in zip(LOOKS, names, rows, strict=True):
        for m in positions:
            sketch.axes.plot(*by.at(m * row), marker, color=colour, markersize=size)
            labels.setdefault(tuple(m * row), []).append(f"{name} × {m}")
        plane = Plane(sketch, to.at(row), to.unit)
        plane.circle()
        sketch.text(plane.origin[0] + 0.35, plane.origin[1], name)
        for hand in hands:
            sketch.axes.plot(*plane.at(hand), marker, color=colour, markersize=4)
    for point, texts in labels.items():  # two words at one point share a label
        x, y = by.at(point)
        sketch.text(x + 0.12, y, " = ".join(texts))
    return picture


@house_style()
def turned_vectors(
    query: ArrayLike, key: ArrayLike, places: Mapping[Pair, tuple[ArrayLike, ArrayLike]]
) -> Picture:
    """Draw a query and a key before and after they were turned by their positions.

    >>> turned_vectors([1, 0], [1, 0], {(0, 1): ([1, 0], [0, 1]), (1, 2): ([0, 1], [-1, 0])}).alt
    'A query and a key, turned by their positions. Query at 0, key at 1: 90° apart, score 0. \
Query at 1, key at 2: 90° apart, score 0.'
    """
    q, k = as_finite(query, 1, "query"), as_finite(key, 1, "key")
    panels = []
    for (m, n), (one, other) in places.items():
        pair = as_finite(one, 1, "a query"), as_finite(other, 1, "a key")
        lengths = [np.linalg.norm(v) for v in (q, k, *pair)]
        if not np.allclose(lengths[:2], lengths[2:]):
            raise ValueError(f"turning must keep lengths, but the vectors at {m} and {n} differ.")
        panels.append((m, n, *pair))
    scores = number_texts([one @ other for _, _, one, other in panels])
    degrees = [round(math.degrees(angle_between(one, other))) for _, _, one, other in panels]
    told = [
        f"Query at {m}, key at {n}: {d}° apart, score {score}."
        for (m, n, _, _), d, score in zip(panels, degrees, scores, strict=True)
    ]
    alt = f"A query and a key, turned by their positions. {' '.join(told)}"
    room = WIDTH / len(panels)
    size = room / 2 - 0.2
    picture, sketch = sheet(2 * size + 1.25, alt)
    unit = size / float(max(np.linalg.norm(q), np.linalg.norm(k)))
    for i, (m, n, one, other) in enumerate(panels):
        x = room * (i + 0.5)
        plane = Plane(sketch, (x, 0.35 + size), unit)
        plane.circle(GRID, size / unit)
        for vector, now, colour, name in ((q, one, VERMILLION, "q"), (k, other, BLUE, "k")):
            if not np.allclose(vector, now):
                plane.arrow(vector, colour=colour, dash=(0, (2, 1)), line=1)
            plane.arrow(now, colour=colour)
            angle = math.atan2(now[1], now[0])
            radius = unit * float(np.linalg.norm(now)) + 0.1
            sketch.text(*plane.beside(radius, angle), name, ha="center", fontweight="bold")
        first = math.atan2(one[1], one[0])
        last = first + math.atan2(one[0] * other[1] - one[1] * other[0], float(one @ other))
        plane.arc(size * 0.4, first, last)
        middle = plane.beside(size * 0.4 + 0.17, (first + last) / 2)
        sketch.text(*middle, f"{degrees[i]}°", ha="center", fontsize=8.5)
        y = 0.55 + 2 * size
        sketch.text(x, 0.12, f"offset {n - m}", ha="center", fontweight="bold")
        for line, text in enumerate((f"query at {m}", f"key at {n}", f"score {scores[i]}")):
            sketch.text(x, y + 0.19 * line, text, ha="center")
    return picture
