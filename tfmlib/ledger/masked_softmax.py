"""The notes' masked softmax: a search over all scales for one that gives the printed weights.

The notes print scores and weights but no d_k. If any d_k led from the ones to the others, the
search would find it.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from tfmlib import ref
from tfmlib.ledger.printed import numbers, shown, tolerance
from tfmlib.support.arrays import Array, ArrayLike

SCORES = """
    16.2 7.7 2.0 4.6 3.1 8.9 /
    3.2 21.5 6.1 8.4 8.1 5.2 /
    1.9 4.3 18.7 6.5 7.2 3.3 /
    2.7 4.1 7.6 22.3 9.0 3.8 /
    4.4 5.8 6.9 5.6 24.5 4.7 /
    4.0 3.9 6.7 7.3 6.1 16.8"""
MASKED_SCORES = """
    16.2 -inf -inf -inf -inf -inf /
    3.2 21.5 -inf -inf -inf -inf /
    1.9 4.3 18.7 -inf -inf -inf /
    2.7 4.1 7.6 22.3 -inf -inf /
    4.4 5.8 6.9 5.6 24.5 -inf /
    4.0 3.9 6.7 7.3 6.1 16.8"""
WEIGHTS = """
    1 0 0 0 0 0 /
    0.13 0.87 0 0 0 0 /
    0.06 0.16 0.78 0 0 0 /
    0.03 0.06 0.11 0.80 0 0 /
    0.05 0.06 0.09 0.06 0.74 0 /
    0.02 0.04 0.14 0.15 0.13 0.52"""
TOKENS = ["<start>", "not", "on", "your", "life", "<end>"]


class Fit(NamedTuple):
    """A scale √d_k, the weights it gives, and how far the worst of them is from the printed one."""

    scale: float
    weights: Array
    deviation: float


class Inversion(NamedTuple):
    """Two entries of a row of which the larger score has the smaller weight."""

    row: str
    larger_score: float
    its_weight: float
    smaller_score: float
    other_weight: float


def scores() -> Array:
    return numbers(SCORES)


def weights_at(scales: ArrayLike) -> Array:
    """The masked softmax at each of several scales."""
    scaled = numbers(MASKED_SCORES) / np.reshape(scales, (-1, 1, 1))
    return ref.softmax(scaled)  # (scales, T, T)


def deviations(scales: ArrayLike) -> Array:
    """The largest distance to a printed weight, row by row, at each of several scales.

    >>> deviations([8.0]).max().round(3).item()
    0.076
    """
    return np.abs(weights_at(scales) - numbers(WEIGHTS)).max(axis=-1)  # (scales, T)


def at(scale: float) -> Fit:
    return Fit(float(scale), weights_at([scale])[0], float(deviations([scale]).max()))


def _search(deviation: Callable[[Array], Array]) -> float:
    """Find the scale with the smallest deviation: a coarse grid, then ever finer ones."""
    grid = np.geomspace(0.01, 1000, 4001)  # d_k from 0.0001 to a million
    for _ in range(4):
        best = int(deviation(grid).argmin())
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        grid = np.linspace(low, high, 101)
    return float(grid[deviation(grid).argmin()])


@cache
def closest() -> Fit:
    """The best fit over all scales.

    >>> round(closest().scale, 2), round(closest().deviation, 3)
    (7.07, 0.06)
    """
    return at(_search(lambda scales: deviations(scales).max(axis=-1)))


def closest_by_row() -> list[float]:
    """The scale that fits each row best, from the second row on (the first fits any).

    >>> [round(scale, 1) for scale in closest_by_row()]
    [9.6, 7.9, 6.9, 7.9, 5.9]
    """
    return [_search(partial(_deviations_of_row, t)) for t in range(1, len(TOKENS))]


def _deviations_of_row(t: int, scales: Array) -> Array:
    return deviations(scales)[:, t]


def inversions() -> list[Inversion]:
    """Pairs in one row whose order no softmax can produce, beyond what rounding could explain.

    >>> [(pair.row, pair.larger_score, pair.its_weight) for pair in inversions()]
    [('<end>', 4.0, 0.02)]
    """
    score, weight, half = scores(), numbers(WEIGHTS), tolerance(WEIGHTS)
    found = []
    for t, token in enumerate(TOKENS):
        for i in range(t + 1):
            for j in range(t + 1):
                rounding = half[t, i] + half[t, j]
                if score[t, i] > score[t, j] and weight[t, j] - weight[t, i] > rounding:
                    pairs = (score[t, i], weight[t, i], score[t, j], weight[t, j])
                    found.append(Inversion(token, *map(float, pairs)))
    return found


def is_impossible() -> bool:
    """Say whether every scale misses some printed weight by more than rounding."""
    return bool(closest().deviation > tolerance(WEIGHTS).max())


def summary() -> str:
    best = closest()
    return (
        f"no d_k gives the printed weights: the closest, √d_k = {best.scale:.2f}, misses one of "
        f"them by {best.deviation:.3f}"
    )


def explain() -> str:
    best, base = closest(), at(8)
    sums = np.abs(numbers(WEIGHTS).sum(axis=-1) - 1).max() < 1e-9
    text = (
        f"The printed rows {'sum' if sums else 'do not even sum'} to 1, but they are no softmax of "
        f"the printed scores. Over all scales the closest is √d_k = {best.scale:.2f}, which still "
        f"misses a weight by {best.deviation:.3f}; d_k = 64 misses one by {base.deviation:.3f}."
    )
    for pair in inversions():
        text += (
            f" In the row of {pair.row} the score {pair.larger_score} has the weight "
            f"{pair.its_weight} and the smaller score {pair.smaller_score} the larger weight "
            f"{pair.other_weight}: no softmax turns an order around."
        )
    return text


def evidence() -> dict[str, str]:
    best, base = closest(), at(8)
    rows = (f"{token} {shown(s, 2)}" for token, s in zip(TOKENS[1:], closest_by_row(), strict=True))
    whole = [at(np.sqrt(d_k)) for d_k in range(1, 257)]
    integer = min(range(256), key=lambda i: whole[i].deviation)
    return {
        "closest scale √d_k": f"{best.scale:.2f}, worst weight off by {best.deviation:.3f}",
        "closest whole d_k": f"{integer + 1}, off by {whole[integer].deviation:.3f}",
        "d_k = 64": f"off by {base.deviation:.3f}",
        "closest √d_k of each row alone": ", ".join(rows),
        "orders that no softmax can give": "; ".join(
            f"{p.row}: score {p.larger_score} weighs {p.its_weight}, "
            f"score {p.smaller_score} weighs {p.other_weight}"
            for p in inversions()
        ),
    }
