"""Comparing an answer's value with the right one, and saying how they differ.

The rules, everywhere the same: floats are float64; whole numbers may be of any integer type, and
alone or in a list they may be floats; a list may take an array's place; booleans are booleans.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfmlib.checking.outcome import AnswerError, Outcome, unmet
from tfmlib.checking.wire import Foreign, decode, encode

TOLERANCE = 1e-6
NOISE = 1e-12  # of the inputs' magnitude: what rounding may leave where zero is due
LONGEST_SHOWN = 400
NAMES = {str: "a string", dict: "a dict", type(None): "None", set: "a set"}
FOREIGN_NAMES = {
    "set": "a set",
    "frozenset": "a set",
    "generator": "a generator",
    "function": "a function",
    "method": "a method",
    "Tensor": "a torch tensor",
    "complex": "a complex number",
    "matrix": "a np.matrix",
    "map": "a map object",
    "zip": "a zip object",
    "filter": "a filter object",
    "bytes": "bytes",
}


def require_same(
    value: Any, expected: Any, tolerance: float = TOLERANCE, magnitude: float = 1.0
) -> None:
    """Raise the AnswerError that says how a value differs, without telling the right one.

    `magnitude` is that of the inputs: a right answer may differ by the rounding of such numbers.
    """
    if isinstance(expected, str | dict | type(None)):
        if type(value) is not type(expected):
            raise _of_another_kind(value, expected)
        if isinstance(expected, dict) and same_value(value, expected):
            return
        if value != expected:
            raise AnswerError(Outcome.VALUE, got=show(value))
    elif isinstance(expected, list | tuple) and as_array(expected) is None:
        _require_same_items(value, expected, tolerance, magnitude)
    else:
        _require_same_array(value, expected, tolerance, magnitude)


def _require_same_items(
    value: Any, expected: Sequence[Any], tolerance: float, magnitude: float
) -> None:
    if isinstance(value, np.ndarray) and value.ndim:
        value = list(value)
    if not isinstance(value, list | tuple):
        raise _of_another_kind(value, expected)
    if len(value) != len(expected):
        raise AnswerError(Outcome.LENGTH, expected=len(expected), got=len(value))
    for index, (one, other) in enumerate(zip(value, expected, strict=True)):
        try:
            require_same(one, other, tolerance, magnitude)
        except AnswerError as problem:
            raise problem.within(f"Item {index}") from None


def _of_another_kind(value: Any, expected: Any) -> AnswerError:
    due, got = describe(expected), describe(value)
    if due == got:  # what differs is inside, where these words do not reach
        return AnswerError(Outcome.VALUE, got=show(value))
    return AnswerError(Outcome.KIND, expected=due, got=got)


def _require_same_array(value: Any, due: Any, tolerance: float, magnitude: float) -> None:
    expected = np.asarray(due)
    array = _empty_like(value, expected) if expected.size == 0 else as_array(value)
    if array is None:
        raise _of_another_kind(value, due)
    if array.shape != expected.shape:
        if isinstance(due, list | tuple) and len(expected) != len(np.atleast_1d(array)):
            raise AnswerError(Outcome.LENGTH, expected=len(due), got=len(np.atleast_1d(array)))
        raise AnswerError(Outcome.SHAPE, expected=expected.shape, got=array.shape)
    bad = ~np.isfinite(array) & np.isfinite(expected)
    if bad.any():
        raise AnswerError(Outcome.NOT_FINITE, count=bad.sum(), size=array.size)
    close = _close(array, expected, tolerance, magnitude)
    is_listed = isinstance(value, list | tuple)
    if (
        not is_of_kind(array, expected, is_listed)
        and _close(array, expected, 100 * tolerance, 1e4).all()
    ):
        raise AnswerError(Outcome.DTYPE, got=_named(array.dtype), expected=_named(expected.dtype))
    if not close.all():
        where = tuple(int(i) for i in np.argwhere(~close)[0])
        place = f", first at index {list(where)}" if where else ""
        raise AnswerError(Outcome.VALUES, count=(~close).sum(), size=array.size, place=place)


def _empty_like(value: Any, expected: np.ndarray) -> np.ndarray | None:
    """A value where nothing is due: an empty list has no type, an array has its own."""
    if isinstance(value, list | tuple) and not np.size(np.asarray(value, dtype=object)):
        return np.asarray(value, dtype=expected.dtype)
    return as_array(value)


def _close(
    array: np.ndarray, expected: np.ndarray, tolerance: float, magnitude: float
) -> np.ndarray:
    """Where two arrays agree, each row measured by its own largest value."""
    if array.dtype.kind in "biu" and expected.dtype.kind in "biu":
        return np.asarray(array == expected)
    finite = np.where(np.isfinite(expected), np.abs(expected), 0.0)
    scale = finite.max(axis=-1, keepdims=True) if expected.ndim and expected.size else finite
    room = tolerance * np.minimum(scale, 1.0) + NOISE * magnitude
    close = np.isclose(array, expected, rtol=tolerance, atol=room, equal_nan=True)
    return np.asarray(close)


def _named(dtype: np.dtype[Any]) -> str:
    """A type's name; the usual integers have 64 bits here and 32 in a page, so they are "int"."""
    return "int" if dtype == np.dtype(int) else str(dtype)


def is_of_kind(array: np.ndarray, expected: np.ndarray, is_listed: bool = False) -> bool:
    """Whether the type of a value, of which a list has none, will do where another is natural."""
    if expected.dtype.kind == "f":
        return array.dtype == np.float64 or array.dtype.kind in "iu"
    if expected.dtype.kind in "iu":
        may_be_floats = (array.ndim == 0 or is_listed) and array.dtype == np.float64
        return array.dtype.kind in "iu" or (may_be_floats and bool((array % 1 == 0).all()))
    return array.dtype.kind == expected.dtype.kind


def in_kind(expected: Any, natural: Any) -> Any:
    """A right value as floats where floats are natural: whole numbers in may give either out."""
    if isinstance(expected, list | tuple) and isinstance(natural, list | tuple):
        if len(expected) == len(natural) and as_array(expected) is None:
            return type(expected)(map(in_kind, expected, natural))
        return expected
    one, other = as_array(expected), as_array(natural)
    if one is None or other is None or one.dtype.kind not in "iu" or other.dtype.kind != "f":
        return expected
    return one.astype(float)


def magnitude_of(value: Any) -> float:
    """The largest finite number in some arguments, at least 0.

    >>> magnitude_of((np.array([-3.0, np.inf]), [[2.0]], 99))
    3.0
    """
    if isinstance(value, list | tuple):
        return max(map(magnitude_of, value), default=0.0)
    if isinstance(value, dict):
        return max(map(magnitude_of, value.values()), default=0.0)
    array = as_array(value)
    if array is None or not array.size or isinstance(value, int):  # an id or a count, no quantity
        return 0.0
    finite = np.where(np.isfinite(array), np.abs(array.astype(float)), 0.0)
    return float(finite.max())


# --- for the tests of invariants ----------------------------------------------------------------


def same(value: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """True if two results agree; else the AnswerError that says by how much they are apart.

    A value of another shape never agrees, so an empty one agrees with nothing but an empty one.
    """
    one, two = as_array(value), as_array(other)
    if one is None or two is None:
        if same_value(value, other):
            return True
        raise unmet(f"{show(value)} is not {show(other)}.")
    if one.shape != two.shape and two.ndim:
        raise AnswerError(Outcome.SHAPE, expected=two.shape, got=one.shape)
    if not one.size and two.size:
        raise unmet("It returned nothing where values are due.")
    close = np.isclose(one, two, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return True
    gap = np.abs(np.where(close, 0.0, one.astype(float) - two.astype(float)))
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(gap, nan=np.inf))), close.shape)
    got, due = np.broadcast_arrays(one, two)
    raise unmet(
        f"It gives {show(got[worst])} where {show(due[worst])} is due, "
        f"off in {int((~close).sum())} of {close.size} values."
    )


# --- kinds of values ----------------------------------------------------------------------------


def as_array(value: Any) -> np.ndarray | None:
    """A number, array or nested list of numbers as an array; None for anything else."""
    if not _is_numeric(value):
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" else None


def _is_numeric(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_numeric(item) for item in value)
    return isinstance(value, bool | int | float | np.ndarray | np.generic)


def same_value(value: Any, expected: Any) -> bool:
    """Equal to within float rounding, whatever the dtype and the kind of sequence."""
    one, other = as_array(value), as_array(expected)
    if one is not None and other is not None:
        if one.shape != other.shape:
            return False
        if one.dtype.kind in "biu" and other.dtype.kind in "biu":
            return np.array_equal(one, other)
        return bool(_close(one.astype(float), other.astype(float), 1e-5, 1e-2).all())
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return list(value) == list(expected) and all(
            same_value(value[key], expected[key]) for key in value
        )
    if isinstance(value, np.ndarray) or isinstance(expected, np.ndarray):
        return False
    return type(value) is type(expected) and bool(value == expected)


def plain(value: Any) -> Any:
    """The value as it is after it has crossed a pipe."""
    return decode(encode(value))


def describe(value: Any) -> str:
    """A value's kind in words.

    >>> describe(np.ones((2, 3))), describe((1.5, 2.5)), describe([])
    ('an array of shape (2, 3)', 'a tuple of 2 items', 'an empty list')
    """
    if isinstance(value, Foreign):
        return FOREIGN_NAMES.get(value.type_name, f"something of type {value.type_name}")
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if isinstance(value, bool | np.bool_):
        return "True or False"
    if isinstance(value, int | float | np.number | np.ndarray):
        return "a number"
    if isinstance(value, list | tuple):
        name = type(value).__name__
        items = "1 item" if len(value) == 1 else f"{len(value)} items"
        return f"a {name} of {items}" if value else f"an empty {name}"
    return NAMES.get(type(value), f"something of type {type(value).__name__}")


def kind(value: Any) -> str:
    """A value's kind in a word or two, without its size."""
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__}"
    return "an array" if isinstance(value, np.ndarray) and value.ndim else describe(value)


def show(value: Any) -> str:
    """A value in few words: arrays rounded to four digits, and cut when they are long.

    >>> show(np.array([0.62245933, 0.37754067])), show([np.float64(0.5), "a"])
    ('[0.6225, 0.3775]', "[0.5, 'a']")
    """
    text = " ".join(_shown(value).split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _shown(value: Any) -> str:
    if isinstance(value, Foreign):
        return describe(value)
    if isinstance(value, np.ndarray) and value.size == 0:
        return f"an empty array of shape {value.shape}"
    if isinstance(value, np.ndarray | np.generic):
        return np.array2string(
            np.asarray(value), precision=4, separator=", ", threshold=64, floatmode="maxprec"
        )
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_shown, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_shown(k)}: {_shown(v)}" for k, v in value.items()) + "}"
    return repr(value)
