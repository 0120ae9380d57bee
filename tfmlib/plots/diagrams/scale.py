"""Chapter 11: what grows with the square, attention in tiles, memory, and many processes."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle

from tfmlib.plots.colours import (
    ACCENT,
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    PALE,
    PAPER,
    VERMILLION,
    WIDTH,
)
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text
from tfmlib.support.arrays import Array, ArrayLike

# --- the square ---------------------------------------------------------------------------------


@house_style()
def growing_squares(lengths: Sequence[int]) -> Picture:
    """Draw texts of several lengths as rows of tokens, and below each its square of scores.

    >>> growing_squares([2, 4]).alt
    'Rows of tokens, each above its square of scores: 2 tokens have 4 scores, 4 tokens have 16.'
    """
    if not lengths or min(lengths) < 1 or sum(lengths) > 32:
        raise ValueError(
            f"growing_squares expects lengths from 1, 32 in all at most, got {list(lengths)}."
        )
    first = f"{lengths[0]} tokens have {lengths[0] ** 2} scores"
    told = [first, *(f"{n} tokens have {n * n}" for n in lengths[1:])]
    alt = f"Rows of tokens, each above its square of scores: {', '.join(told)}."
    gap = 0.25
    cell = (WIDTH - 0.2 - gap * (len(lengths) - 1)) / sum(lengths)
    top = 0.72
    picture, sketch = sheet(top + cell * max(lengths) + 0.36, alt)
    x = 0.1
    for n in lengths:
        sketch.text(x, 0.16, f"n = {n}", fontweight="bold")
        _grid(sketch, x, 0.32, 1, n, cell, ACCENT)
        box = _grid(sketch, x, top, n, n, cell, GREY)
        sketch.text(x, box.bottom[1] + 0.16, f"n² = {n * n}", fontweight="bold")
        x += box.width + gap
    return picture


def _grid(
    sketch: Sketch, x: float, y: float, rows: int, columns: int, cell: float, face: str
) -> Box:
    """Draw equal cells without numbers."""
    for i, j in np.ndindex(rows, columns):
        corner = (x + cell * j, y + cell * i)
        patch = Rectangle(corner, cell, cell, facecolor=face, edgecolor=PAPER, linewidth=0.8)
        sketch.axes.add_patch(patch)
    return Box(x, y, cell * columns, cell * rows)


# --- softmax and attention in blocks ------------------------------------------------------------


@house_style()
def online_softmax(scores: ArrayLike, peaks: ArrayLike, totals: ArrayLike) -> Picture:
    """Draw a row of scores and, under each, the peak and the total as they are after it.

    >>> online_softmax([1.0, 3.0], [1.0, 3.0], [1.0, 1.135]).alt
    'A row of scores, with the peak and the total after each: after 1 they are 1 and 1.00; \
after 3 they are 3 and 1.14, the old total having been multiplied by 0.14.'
    """
    x, m, total = (np.asarray(row, float) for row in (scores, peaks, totals))  # (S,)
    if not x.shape == m.shape == total.shape or x.ndim != 1:
        raise ValueError(
            "online_softmax expects one peak and one total per score, "
            f"got {x.shape}, {m.shape} and {total.shape}."
        )
    factors = {k: float(np.exp(m[k - 1] - m[k])) for k in range(1, len(x)) if m[k] > m[k - 1]}
    told = []
    for k, score in enumerate(x):
        after = f"after {number_text(score)} they are {number_text(m[k])} and {total[k]:.2f}"
        if k in factors:
            after += f", the old total having been multiplied by {factors[k]:.2f}"
        told.append(after)
    alt = f"A row of scores, with the peak and the total after each: {'; '.join(told)}."
    picture, sketch = sheet(2.35, alt)
    left, step, wide = 0.95, (WIDTH - 1.0) / len(x), 0.56
    for name, y in (("score", 0.3), ("peak", 0.95), ("total", 1.7)):
        sketch.text(left - 0.1, y, name, ha="right", fontweight="bold")
    for k, score in enumerate(x):
        middle = left + step * (k + 0.5)
        rises = k == 0 or k in factors
        sketch.labelled(middle - wide / 2, 0.16, wide, 0.28, number_text(score), PAPER)
        face = ACCENT if rises else PALE
        peak = sketch.labelled(middle - wide / 2, 0.81, wide, 0.28, number_text(m[k]), face)
        box = sketch.labelled(middle - wide / 2, 1.56, wide, 0.28, f"{total[k]:.2f}")
        sketch.path((middle, 0.44), peak.top)
        if k + 1 < len(x):
            reach = middle + step - wide / 2
            sketch.path(peak.right, (reach, peak.right[1]))
            sketch.path(box.right, (reach, box.right[1]))
            factor = f"× {factors[k + 1]:.2f}" if k + 1 in factors else "× 1"
            sketch.note(middle + step / 2, 1.42, factor, ha="center")
        sketch.note(middle, 2.02, f"+ {np.exp(score - m[k]):.2f}", ha="center")
    return picture


@house_style()
def score_tile(
    scores: ArrayLike,
    block: int,
    row: int,
    column: int,
    carried: Mapping[str, ArrayLike],
) -> Picture:
    """Draw all scores as empty cells, but for the tile that is there, and what is carried on.

    >>> tile = score_tile(np.eye(4), 2, 1, 0, {"peak": [1, 0], "total": [2, 1]})
    >>> tile.alt.split(": ")[0]
    'A square of 4 × 4 cells for the scores, cut into 4 tiles of 2 × 2'
    """
    matrix = np.asarray(scores, float)  # (T, S)
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n % block or max(row, column) >= n // block:
        raise ValueError(
            "score_tile expects a square of scores that the block divides and a tile inside it, "
            f"got {matrix.shape}, block {block} and tile ({row}, {column})."
        )
    rows = slice(row * block, (row + 1) * block)
    columns = slice(column * block, (column + 1) * block)
    alt = (
        f"A square of {n} × {n} cells for the scores, cut into {(n // block) ** 2} tiles of "
        f"{block} × {block}: only one tile is filled with numbers, {matrix[rows, columns].size} of "
        f"{matrix.size} scores. Beside it, for the {block} queries of that row of tiles, "
        f"{listed(carried)}, which are carried from tile to tile."
    )
    cell, x, y = 0.315, 0.62, 0.36
    picture, sketch = sheet(y + cell * n + 0.1, alt)
    _frame_tiles(sketch, x, y, cell, n, block, (row, column))
    corner = (x + cell * columns.start, y + cell * rows.start)
    texts = [[f"{v:.1f}".replace("-", "−") for v in line] for line in matrix[rows, columns]]
    sketch.matrix(*corner, matrix[rows, columns], cell=(cell, cell), texts=texts)
    sketch.text(x + cell * n / 2, 0.16, f"{n} keys", ha="center", fontweight="bold")
    sketch.text(0.06, y + cell * n / 2, f"{n}\nqueries", fontweight="bold", fontsize=8.5)
    _carry(sketch, x + cell * n + 0.08, corner[1], cell * block, carried)
    return picture


def _frame_tiles(
    sketch: Sketch, x: float, y: float, cell: float, n: int, block: int, now: tuple[int, int]
) -> None:
    """Draw the tiles as empty frames: solid what is done with, dashed what is still to come."""
    size = cell * block
    for i, j in np.ndindex(n // block, n // block):
        done = (i, j) < now
        look = (PALE, MUTED) if done else (PAPER, GREY)
        sketch.card(x + size * j, y + size * i, size, size, *look, 0.8, "-" if done else ":")
        if (i, j) != now:
            middle = (x + size * (j + 0.5), y + size * (i + 0.5))
            sketch.note(*middle, "gone" if done else "to come", ha="center", fontsize=8)


def _carry(
    sketch: Sketch, x: float, y: float, height: float, carried: Mapping[str, ArrayLike]
) -> None:
    """Write, beside a row of tiles, what is carried on for each of its queries."""
    columns = {name: np.asarray(values, float) for name, values in carried.items()}
    sketch.text(x, y - 0.32, "carried on", fontweight="bold")
    for name, values in columns.items():
        across = values.size // len(values)
        cell = (0.37, height / len(values))
        texts = [[f"{v:.1f}".replace("-", "−") for v in np.atleast_1d(row)] for row in values]
        box = sketch.matrix(x, y, values.reshape(len(values), across), cell=cell, texts=texts)
        sketch.text(box.top[0], y - 0.12, name, ha="center", fontsize=8.5)
        x += cell[0] * across + 0.04


# --- memory -------------------------------------------------------------------------------------


@house_style()
def memory_blocks(models: Mapping[str, Mapping[str, float]]) -> Picture:
    """Stack for each of two models what it keeps in memory while it trains, in GB.

    >>> small, large = {"weights": 0.25, "gradient": 0.25}, {"weights": 1.0, "gradient": 1.0}
    >>> memory_blocks({"base": small, "big": large}).alt
    'Stacks of blocks, to scale, in GB. base: weights 0.25, gradient 0.25, in all 0.5. \
big: weights 1.00, gradient 1.00, in all 2.0.'
    """
    totals = {name: sum(parts.values()) for name, parts in models.items()}
    if len(models) != 2 or min(totals.values()) <= 0:
        raise ValueError(f"memory_blocks expects two models that keep something, got {totals}.")
    told = [
        f"{name}: {', '.join(f'{part} {size:.2f}' for part, size in parts.items())}, "
        f"in all {totals[name]:.1f}"
        for name, parts in models.items()
    ]
    picture, sketch = sheet(3.75, f"Stacks of blocks, to scale, in GB. {'. '.join(told)}.")
    bottom, scale = 3.4, 3.0 / max(totals.values())
    sketch.axes.plot([0.1, WIDTH - 0.1], [bottom, bottom], color=MUTED, linewidth=1)
    for k, (name, parts) in enumerate(models.items()):
        x = 0.1 + k * WIDTH / 2
        _stack(sketch, x, bottom, scale, parts)
        sketch.text(x + 0.36, bottom + 0.16, name, ha="center", fontweight="bold")
        above = bottom - scale * totals[name] - 0.13
        sketch.text(x + 0.36, above, f"{totals[name]:.1f} GB", ha="center", fontweight="bold")
    return picture


def _stack(
    sketch: Sketch, x: float, bottom: float, scale: float, parts: Mapping[str, float]
) -> None:
    """Pile up blocks from the bottom; the names beside them keep their distance."""
    faces = (BLUE, VERMILLION, GREEN, GREY)
    y, last = bottom, bottom + 0.1
    for k, (part, size) in enumerate(parts.items()):
        height = scale * size
        y -= height
        block = Rectangle(
            (x, y), 0.72, height, facecolor=faces[k % 4], edgecolor=PAPER, linewidth=1.2
        )
        sketch.axes.add_patch(block)
        last = min(y + height / 2, last - 0.2)
        sketch.axes.plot([x + 0.74, x + 0.84], [y + height / 2, last], color=MUTED, linewidth=0.8)
        sketch.text(x + 0.87, last, f"{part} {size:.2f}", fontsize=8.5)


# --- number formats -----------------------------------------------------------------------------


@house_style()
def number_formats(formats: Mapping[str, tuple[int, int]]) -> Picture:
    """Draw the bits of each format: its sign, its exponent and its stored digits.

    >>> number_formats({"float16": (5, 10)}).alt
    'Strips of bits, one per format. float16: 1 bit for the sign, 5 for the exponent, 10 digits.'
    """
    widths = {name: 1 + sum(bits) for name, bits in formats.items()}
    if not formats or max(widths.values()) > 32:
        raise ValueError(f"number_formats expects formats of at most 32 bits, got {widths}.")
    told = [
        f"{name}: 1 bit for the sign, {exponent} for the exponent, {digits} digits"
        for name, (exponent, digits) in formats.items()
    ]
    alt = f"Strips of bits, one per format. {'. '.join(told)}."
    picture, sketch = sheet(0.62 * len(formats) + 0.35, alt)
    cell = (WIDTH - 0.2) / max(widths.values())
    for k, (name, (exponent, digits)) in enumerate(formats.items()):
        y = 0.42 + 0.62 * k
        sketch.text(0.1, y - 0.13, name, fontweight="bold")
        parts = ((1, GREY, "±"), (exponent, ACCENT, "exponent"), (digits, GREEN, "digits"))
        x = 0.1
        for bits, face, label in parts:
            strip = _grid(sketch, x, y, 1, bits, cell, face)
            text = label if bits == 1 else f"{label}: {bits}"
            sketch.note(strip.centre[0], y + cell + 0.11, text, ha="center", color=INK)
            x += strip.width
    return picture


# --- many processes -----------------------------------------------------------------------------


@house_style()
def gradients_averaged(shares: Sequence[str], gradients: ArrayLike) -> Picture:
    """Draw processes with a share each, their gradients, and the mean that all of them get.

    >>> gradients_averaged(["rows 1 to 6", "rows 7 to 12"], [[1.0, 3.0], [2.0, 5.0]]).alt
    'Two columns, one per process, with equal weights. Process 0, rows 1 to 6: gradient 1.00, \
3.00. Process 1, rows 7 to 12: gradient 2.00, 5.00. The all-reduce gives both the mean: 1.50, 4.00.'
    """
    g = np.asarray(gradients, float)  # (P, D)
    if g.ndim != 2 or len(g) != 2 or len(shares) != 2:
        raise ValueError(
            "gradients_averaged expects two shares and two gradients, "
            f"got {len(shares)} and {g.shape}."
        )
    mean = g.mean(axis=0)
    told = [
        f"Process {k}, {share}: gradient {', '.join(_signed(g[k]))}."
        for k, share in enumerate(shares)
    ]
    alt = (
        f"Two columns, one per process, with equal weights. {' '.join(told)} "
        f"The all-reduce gives both the mean: {', '.join(_signed(mean))}."
    )
    picture, sketch = sheet(4.3, alt)
    wide, limit = 2.1, float(np.abs(g).max())
    meeting = sketch.labelled(
        0.6, 2.42, WIDTH - 1.2, 0.34, "all-reduce: add up, divide by 2", ACCENT, fontweight="bold"
    )
    for k, share in enumerate(shares):
        x = 0.15 + k * (WIDTH - 0.3 - wide)
        middle = x + wide / 2
        sketch.card(x, 0.1, wide, 2.05, PAPER)
        sketch.text(middle, 0.28, f"process {k}", ha="center", fontweight="bold")
        same = sketch.labelled(x + 0.15, 0.45, wide - 0.3, 0.26, "the same weights")
        mine = sketch.labelled(x + 0.15, 0.95, wide - 0.3, 0.26, share, PAPER)
        sketch.path(same.bottom, mine.top)
        own = _numbers(sketch, middle, 1.65, g[k], limit, "its gradient")
        sketch.path(mine.bottom, (middle, 1.4))
        sketch.path((middle, own.bottom[1]), (middle, meeting.top[1]))
        both = _numbers(sketch, middle, 3.26, mean, limit, "the mean of both")
        sketch.path((middle, meeting.bottom[1]), (middle, 3.02))
        step = sketch.labelled(x + 0.15, 3.82, wide - 0.3, 0.26, "the same step")
        sketch.path(both.bottom, step.top)
    return picture


def _numbers(sketch: Sketch, middle: float, y: float, row: Array, limit: float, name: str) -> Box:
    """Draw a row of numbers around a middle."""
    cell = (0.56, 0.27)
    matrix = np.append(row, -limit)[None, :-1]  # signed colours even if no number is negative
    return sketch.matrix(
        middle - cell[0] * row.size / 2,
        y,
        matrix,
        name,
        cell=cell,
        texts=[_signed(row)],
        limit=-limit,
    )


def _signed(row: Array) -> list[str]:
    return [f"{v:.2f}".replace("-", "−") for v in row]
