"""Coincidences in an exercise's inputs, which a wrong answer may rely on without being found out.

If in every input the longest list is the last, nobody notices an answer that takes the last for
the longest. A coincidence is reported unless a draw breaks it or the exercise says why it is meant.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfmlib.checking import Args


def coincidences(inputs: list[Args]) -> Iterator[str]:
    """What holds in all inputs without having to."""
    if not inputs:
        return
    for place in range(min(map(len, inputs))):
        column = [args[place] for args in inputs]
        for name, kind, holds in _LOOKED_FOR:
            fitting = [value for value in column if kind(value)]
            if len(fitting) > len(column) / 2 and all(map(holds, fitting)):
                yield f"argument {place + 1}: {name}"
    yield from _between(inputs)


def _between(inputs: list[Args]) -> Iterator[str]:
    """The largest id is always one less than a size that comes with it."""
    for i, j in ((i, j) for i in range(len(inputs[0])) for j in range(len(inputs[0])) if i != j):
        pairs = [(a[i], a[j]) for a in inputs if len(a) > max(i, j)]
        fitting = [
            (x, n)
            for x, n in pairs
            if _is_ids(x) and isinstance(n, int | np.integer) and not isinstance(n, bool)
        ]
        if len(fitting) > len(pairs) / 2 and all(np.max(x) + 1 == n for x, n in fitting):
            yield f"the largest id of argument {i + 1} is argument {j + 1} less one"


def _is_ids(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size > 0


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > 0


def _is_float_array(value: Any) -> bool:
    return _is_array(value) and value.dtype.kind == "f"


def _is_lists(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(v, list) for v in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | str) and len(value) > 0


_LOOKED_FOR: list[tuple[str, Callable[[Any], bool], Callable[[Any], bool]]] = [
    ("no axis has length 1", lambda v: _is_array(v) and v.ndim > 0, lambda v: 1 not in v.shape),
    (
        "every axis is odd",
        lambda v: _is_array(v) and v.ndim > 0,
        lambda v: all(n % 2 for n in v.shape),
    ),
    ("no whole numbers as integers", _is_array, lambda v: v.dtype.kind == "f"),
    (
        "at most two decimals",
        _is_float_array,
        lambda v: bool(np.allclose(v, np.round(v, 2), equal_nan=True)),
    ),
    ("no value occurs twice", _is_array, lambda v: len(np.unique(v)) == v.size),
    ("no item occurs twice", _is_list, lambda v: len({repr(item) for item in v}) == len(v)),
    ("never a single item", _is_list, lambda v: len(v) > 1),
    ("the longest list is the last", _is_lists, lambda v: len(v[-1]) == max(map(len, v))),
    ("the longest list is the first", _is_lists, lambda v: len(v[0]) == max(map(len, v))),
]
