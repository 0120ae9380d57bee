"""Printed figures: how they are read, and when one agrees with a computed number.

This is the one place that decides it. Who compares elsewhere, as the explorers of the book do, is
given the tolerance of each figure.
"""

from typing import Any

import numpy as np

from tfmlib.support.arrays import Array, ArrayLike, Mask

# Room for floating point only: nine orders of magnitude below the finest digit printed.
SLACK = 1e-12


def digits(text: str) -> list[Any]:
    """Split printed figures into strings: a list, or a list of rows.

    >>> digits("0.13 0.87 / 0.06 0.16")
    [['0.13', '0.87'], ['0.06', '0.16']]
    """
    rows = [row.split() for row in text.split("/")]
    return rows if len(rows) > 1 else rows[0]


def numbers(text: str) -> Array:
    """Read printed figures as an array.

    >>> numbers("0.13 -inf")
    array([0.13, -inf])
    """
    return np.array(digits(text), dtype=float)


def decimals(text: str) -> list[int]:
    """Count the digits after the point of each figure.

    A whole number among decimals has dropped its zeros: it has as many as the least precise of
    them.

    >>> decimals("0.84 1 0.9999"), decimals("10 4")
    ([2, 2, 4], [0, 0])
    """
    figures = text.replace("/", " ").split()
    counts = [len(figure.partition(".")[2]) for figure in figures]
    fewest = min((count for count in counts if count), default=0)
    return [count or fewest for count in counts]


def tolerance(text: str) -> Array:
    """How far a number may be from each figure: half a unit of its last digit.

    >>> tolerance("0.13 2.236 1")
    array([0.005 , 0.0005, 0.005 ])
    """
    halves = [0.5 * 10.0**-count for count in decimals(text)]
    return np.array(halves).reshape(numbers(text).shape) + SLACK


def agreeing(text: str, computed: ArrayLike) -> Mask:
    """Say of each printed figure whether it is the computed one.

    >>> agreeing("0.62 0.39", [0.6225, 0.3775])
    array([ True, False])
    """
    expected, computed = numbers(text), np.asarray(computed)
    if expected.shape != computed.shape:
        raise ValueError(f"printed figures have shape {expected.shape}, computed {computed.shape}.")
    masked = np.isinf(expected) | np.isinf(computed)  # ∞ - ∞ would be NaN
    difference = np.abs(np.where(masked, 0, computed) - np.where(masked, 0, expected))
    return np.where(masked, expected == computed, difference <= tolerance(text))


def cut_off(text: str, computed: ArrayLike) -> Mask:
    """Say of each printed figure whether it is the computed one, cut off after its last digit.

    >>> cut_off("0.9999 0.03", [0.99995, 0.0287])
    array([ True, False])
    """
    units = 10.0 ** np.reshape(decimals(text), numbers(text).shape)
    finite = np.isfinite(computed) & np.isfinite(numbers(text))
    whole = np.round(np.where(finite, computed, 0) * units, 9)  # 0.29 · 100 is no 28.999…
    return finite & (np.trunc(whole) == np.round(np.where(finite, numbers(text), 0) * units))


def shown(value: float, places: int) -> str:
    """Write a number with so many decimals, without the sign of a zero.

    >>> shown(-0.0001, 2), shown(float("-inf"), 1)
    ('0.00', '-∞')
    """
    if np.isinf(value):
        return "-∞" if value < 0 else "∞"
    return f"{round(float(value), places) + 0.0:.{places}f}"


def percent(share: float) -> str:
    """Write a share in whole per cent.

    >>> percent(0.2454)
    '25 %'
    """
    return f"{100 * share:.0f} %"
