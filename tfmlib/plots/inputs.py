"""What figures are drawn from: arrays, labels and named series, or a sentence that refuses them."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np

from tfmlib.support.arrays import Array, ArrayLike

Labels = Iterable[object]  # shown as their strings
Values = TypeVar("Values")


def as_array(values: ArrayLike, ndim: int, what: str) -> Array:
    """Return the values as a float array of `ndim` axes, or say what is wrong with them."""
    if hasattr(values, "detach"):  # a torch tensor, perhaps with gradient, on a device, in bf16
        values = values.detach().cpu().double()
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} must be an array of numbers of dimension {ndim}, but came as "
            f"{type(values).__name__} that NumPy cannot turn into one; look at its rows."
        ) from None
    if array.ndim != ndim:
        raise ValueError(
            f"{what} must be an array of dimension {ndim}, but came with the shape "
            f"{array.shape}; index or reshape it first."
        )
    if array.size == 0:
        raise ValueError(f"{what} must not be empty, but came with the shape {array.shape}.")
    bad = np.isnan(array) | (array == np.inf)
    if bad.any():
        where = ", ".join(str(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{what} must hold numbers that can be drawn, but has {array[bad][0]} at index "
            f"[{where}]; find where it arises before you plot."
        )
    return array


def as_finite(values: ArrayLike, ndim: int, what: str) -> Array:
    """Return the values as `as_array` does, without minus infinity."""
    array = as_array(values, ndim, what)
    if np.isinf(array).any():
        raise ValueError(f"{what} must be finite, but contains -inf; draw the finite part of it.")
    return array


def as_labels(labels: Labels | None, count: int, what: str) -> list[str]:
    """Return one string for each of `count` things: the given labels, or 0, 1, 2, ..."""
    if labels is None:
        return [str(i) for i in range(count)]
    if isinstance(labels, str):
        raise ValueError(f"{what} must be a list of labels, but came as one string, {labels!r}.")
    texts = [str(label) for label in labels]
    if len(texts) != count:
        raise ValueError(
            f"{what} must have {count} labels, one for each in the data, but has {len(texts)}."
        )
    return texts


def as_series(series: Mapping[str, Values], what: str) -> dict[str, Values]:
    """Return a dictionary of named series, or say that it is none."""
    if not isinstance(series, dict) or not series:
        came = "an empty dictionary" if series == {} else type(series).__name__
        raise ValueError(f"{what} must be a dictionary of name: values, but came as {came}.")
    return {str(name): values for name, values in series.items()}


def as_values(name: str, values: ArrayLike, count: int, what: str) -> Array:
    """Return the values of a series as an array of `count` numbers."""
    values = as_finite(values, 1, f"series {name!r}")
    if len(values) != count:
        raise ValueError(
            f"series {name!r} must have {count} values, one for each {what}, but has {len(values)}."
        )
    return values
