"""What figures are drawn from: arrays, labels and named series, or a sentence that refuses them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from tfmlib.plots.colours import SERIES
from tfmlib.plots.words import number_text
from tfmlib.support.arrays import Array, ArrayLike

Labels = Iterable[object]  # shown as their strings
Losses = Sequence[float] | Mapping[int, float]  # one for each step, or step: loss
Lines = Mapping[str, tuple[Array, Array]]  # name: (x, y)
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


def as_probabilities(values: ArrayLike) -> Array:
    """Return probabilities as an array; they may leave out the rest of the vocabulary."""
    array = as_finite(values, 1, "probabilities")
    if array.min() < 0 or array.sum() > 1.01:  # printed figures are rounded
        raise ValueError(
            "probabilities must not be negative and add up to at most 1, but the smallest is "
            f"{number_text(array.min())} and their sum {array.sum():.4g}; take the softmax."
        )
    return array


def as_groups(groups: Mapping[str, ArrayLike], count: int) -> dict[str, Array]:
    """Return the named heights of bars, `count` for each name."""
    heights = {
        name: as_values(name, y, count, "label") for name, y in as_series(groups, "groups").items()
    }
    if len(heights) > len(SERIES):
        raise ValueError(
            f"groups must be at most {len(SERIES)}, but are {len(heights)}; draw two figures."
        )
    return heights


def as_lines(x: ArrayLike, series: Mapping[str, ArrayLike]) -> Lines:
    """Return named series over the same x, each as its pair (x, y)."""
    x = as_finite(x, 1, "x")
    named = as_series(series, "series").items()
    return {name: (x, as_values(name, y, len(x), "x")) for name, y in named}


def as_curves(curves: Mapping[str, Losses]) -> Lines:
    """Return losses as lines over their steps."""
    pairs = {}
    for name, losses in as_series(curves, "curves").items():
        values = list(losses.values()) if isinstance(losses, Mapping) else losses
        numbers = list(losses) if isinstance(losses, Mapping) else range(1, len(losses) + 1)
        steps = as_finite(numbers, 1, f"the steps of {name!r}")
        pairs[name] = steps, as_values(name, values, len(steps), "step")
    return pairs


def refuse_logarithms(pairs: Lines, log_x: bool, log_y: bool) -> None:
    """Refuse a logarithmic axis to lines that come down to zero or below."""
    for name, (x, y) in pairs.items():
        if (log_x and x.min() <= 0) or (log_y and y.min() <= 0):
            raise ValueError(
                f"series {name!r} must be positive on a logarithmic axis, but comes down to "
                f"{number_text(x.min() if log_x and x.min() <= 0 else y.min())}; use a linear axis."
            )


def as_mask(mask: ArrayLike) -> Array:
    """Return a mask as an array of ones, where attention is allowed, and zeros."""
    array = as_array(mask, 2, "mask")
    if not np.isin(array, (0, 1)).all():
        raise ValueError(
            f"mask must be boolean, True where attention is allowed, but contains "
            f"{number_text(array[~np.isin(array, (0, 1))][0])}; draw scores with heat_map."
        )
    return array
