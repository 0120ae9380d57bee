"""Counts and indices of 64 bits, as every other NumPy takes them.

In the page an index has 32 bits, and a few functions refuse whole numbers of more, which
`rng.integers` and others give: an answer that is right in Jupyter would fail there.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

# The arguments that NumPy turns into indices without loss, by place and name.
ARGUMENTS = {"bincount": (0, "x"), "repeat": (1, "repeats")}


def install() -> None:
    for name, (place, keyword) in ARGUMENTS.items():
        setattr(np, name, narrowing(getattr(np, name), place, keyword))


def narrowing(function: Callable[..., Any], place: int, keyword: str) -> Callable[..., Any]:
    """The same function, which takes whole numbers of any width if their values fit an index."""

    @functools.wraps(function)
    def narrowed(*args: Any, **kwargs: Any) -> Any:
        if keyword in kwargs:
            kwargs[keyword] = as_index(kwargs[keyword])
        elif len(args) > place:
            args = (*args[:place], as_index(args[place]), *args[place + 1 :])
        return function(*args, **kwargs)

    return narrowed


def as_index(value: Any) -> Any:
    """Whole numbers as indices where nothing is lost; all else as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        return value
    narrow = value.astype(np.intp)
    return narrow if np.array_equal(narrow, value) else value
