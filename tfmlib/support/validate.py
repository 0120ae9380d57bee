"""Checks on what comes in: each either returns the value in the wanted form or raises one sentence.

They are apart so that `tfmlib.ref` can read like its equations. NumPy alone is needed.
"""

import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tfmlib.support.arrays import Array, ArrayLike, Floats, Ids, Mask, Shape, Shaped

Value = TypeVar("Value")


def floats(x: ArrayLike, name: str, least_ndim: int = 0) -> Array:
    """Return `x` as a non-empty float64 array with at least `least_ndim` axes.

    >>> floats([1, 2], "x")
    array([1., 2.])
    """
    return numbers(x, name, least_ndim).astype(np.float64, copy=False)


def numbers(x: ArrayLike, name: str, least_ndim: int = 0) -> NDArray[Any]:
    """Return `x` as a non-empty array of real numbers, in the dtype it came with.

    >>> numbers([[1, 2]], "x", least_ndim=2).shape
    (1, 2)
    """
    try:
        x = np.asarray(x)
    except ValueError as error:
        raise ValueError(
            f"{name} must be a rectangular array, got rows of unequal length."
        ) from error
    if x.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}.")
    at_least_axes(x, least_ndim, name)
    if x.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {x.shape}.")
    return x


def at_least_axes(x: Shaped, least_ndim: int, name: str) -> None:
    """Raise unless `x` has at least `least_ndim` axes.

    >>> at_least_axes(np.ones((2, 3)), 2, "q")
    """
    if len(x.shape) < least_ndim:
        axes = "axis" if least_ndim == 1 else "axes"
        raise ValueError(
            f"{name} must have at least {least_ndim} {axes}, got shape {tuple(x.shape)}."
        )


def integers(x: ArrayLike, name: str, least_ndim: int = 0) -> Ids:
    """Return `x` as a non-empty integer array with at least `least_ndim` axes.

    >>> integers([3, 5], "ids")
    array([3, 5])
    """
    x = numbers(x, name, least_ndim)
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got dtype {x.dtype}.")
    return x


def token_ids(ids: ArrayLike, vocab_size: int, name: str = "ids") -> Ids:
    """Return `ids` as an integer array whose entries all lie in the vocabulary.

    >>> token_ids([0, 4], vocab_size=5)
    array([0, 4])
    """
    ids = integers(ids, name)
    wrong = ids[(ids < 0) | (ids >= vocab_size)]
    if wrong.size:
        raise ValueError(
            f"{name} must lie between 0 and {vocab_size - 1} for a vocabulary of {vocab_size}, "
            f"got {wrong.flat[0]}."
        )
    return ids


# In words, and what is accepted: numbers of any make, but true and false are none.
_KINDS = {int: ("an integer", Integral), float: ("a number", Real), bool: ("True or False", bool)}


def of_kind(value: Value, kind: type[float], name: str) -> Value:
    """Return `value` if it is an integer, a number, or true or false, as `kind` says.

    >>> of_kind(0, float, "dropout")
    0
    """
    what, accepted = _KINDS[kind]
    if not isinstance(value, accepted) or isinstance(value, bool) != (kind is bool):
        raise TypeError(f"{name} must be {what}, got {value!r} of type {type(value).__name__}.")
    return value


def positive(n: int, name: str) -> int:
    """Return `n` as a positive int.

    >>> positive(3, "length")
    3
    """
    if of_kind(n, int, name) < 1:
        raise ValueError(f"{name} must be at least 1, got {n}.")
    return int(n)


def even(n: int, name: str) -> int:
    """Return `n` as a positive even int: sines and cosines come in pairs.

    >>> even(4, "d_model")
    4
    """
    if positive(n, name) % 2:
        raise ValueError(f"{name} must be even, because sines and cosines come in pairs, got {n}.")
    return int(n)


def heads_divide(d_model: int, heads: int, name: str = "d_model") -> int:
    """Return the width of one head, `d_model // heads`.

    >>> heads_divide(512, 8)
    64
    """
    if d_model % positive(heads, "heads"):
        raise ValueError(
            f"{name} must be divisible by heads, got {name} = {d_model}, heads = {heads}."
        )
    return d_model // heads


def mask(allowed: ArrayLike, shape: Shape, name: str = "mask") -> Mask:
    """Return `allowed` as a boolean array that broadcasts to `shape` without enlarging it.

    >>> mask([True, False], shape=(3, 2)).dtype
    dtype('bool')
    """
    allowed = np.asarray(allowed)
    if allowed.dtype != bool:
        raise TypeError(
            f"{name} must be boolean, True where attention is allowed, got dtype {allowed.dtype}."
        )
    broadcasts_to(allowed, shape, name)
    return allowed


def broadcasts_to(x: Shaped, shape: Shape, name: str) -> None:
    """Raise unless `x` broadcasts to `shape` without enlarging it.

    >>> broadcasts_to(np.ones((3, 1)), (2, 3, 5), "x")
    """
    try:
        fits = np.broadcast_shapes(x.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} must broadcast to shape {tuple(shape)}, got shape {x.shape}.")


def shaped(x: ArrayLike, shape: Shape, name: str) -> Array:
    """Return `x` as a float64 array of exactly this shape.

    >>> shaped([1, 2, 3], (3,), "bias")
    array([1., 2., 3.])
    """
    x = floats(x, name)
    if x.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got shape {x.shape}.")
    return x


def matrix(x: ArrayLike, name: str) -> Array:
    """Return `x` as a float64 array of two axes.

    >>> matrix([[1, 2]], "w")
    array([[1., 2.]])
    """
    x = floats(x, name)
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix with two axes, got shape {x.shape}.")
    return x


def has_keys(params: Mapping[str, object], keys: Sequence[str], name: str) -> None:
    """Raise unless the dict `params` holds every key.

    >>> has_keys({"w_q": 1}, ["w_q"], "params")
    """
    missing = [key for key in keys if key not in params]
    if missing:
        raise ValueError(
            f"{name} must hold {', '.join(keys)}, but {', '.join(missing)} is missing: "
            f"got {', '.join(map(str, params)) or 'nothing'}."
        )


def same_size(a: Shaped, axis_a: int, name_a: str, b: Shaped, axis_b: int, name_b: str) -> None:
    """Raise unless axis `axis_a` of `a` is as long as axis `axis_b` of `b`.

    >>> same_size(np.ones((2, 3)), -1, "x", np.ones((3, 5)), 0, "w")
    """
    if a.shape[axis_a] != b.shape[axis_b]:
        raise ValueError(
            f"axis {axis_a} of {name_a} must be as long as axis {axis_b} of {name_b}, "
            f"got shapes {tuple(a.shape)} and {tuple(b.shape)}."
        )


def batch(**arrays: Shaped) -> Shape:
    """Return the leading shape to which all arrays broadcast (all axes but the last two).

    >>> batch(q=np.ones((2, 1, 5, 7)), k=np.ones((3, 5, 7)))
    (2, 3)
    """
    shapes = [tuple(a.shape) for a in arrays.values()]
    try:
        return np.broadcast_shapes(*(shape[:-2] for shape in shapes))
    except ValueError:
        names, found = " and ".join(arrays), " and ".join(map(str, shapes))
        raise ValueError(f"the leading axes of {names} must agree, got shapes {found}.") from None


@overload
def queries_keys_values(
    q: ArrayLike, k: ArrayLike, v: ArrayLike
) -> tuple[Array, Array, Array, Shape]: ...
@overload
def queries_keys_values(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, keep_float32: Literal[True]
) -> tuple[Floats, Floats, Floats, Shape]: ...
def queries_keys_values(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, keep_float32: bool = False
) -> tuple[Floats, Floats, Floats, Shape]:
    """Return q, k, v in one float dtype, with one leading shape, and that shape.

    >>> *_, leading = queries_keys_values(np.ones((2, 3, 7)), np.ones((5, 7)), np.ones((5, 11)))
    >>> leading
    (2,)
    """
    q, k, v = numbers(q, "q", 2), numbers(k, "k", 2), numbers(v, "v", 2)
    same_size(q, -1, "q", k, -1, "k")
    same_size(k, -2, "k", v, -2, "v")
    leading = batch(q=q, k=k, v=v)
    single = keep_float32 and np.result_type(q, k, v) == np.float32
    dtype = np.float32 if single else np.float64

    def spread(a: NDArray[Any]) -> Floats:
        return np.broadcast_to(a.astype(dtype, copy=False), (*leading, *a.shape[-2:]))

    return spread(q), spread(k), spread(v), leading


def targets(ids: ArrayLike, logits_shape: Shape, ignore_id: int | None) -> tuple[Mask, Ids]:
    """Return which targets count, and the token ids of those.

    >>> targets([1, 0, 2], logits_shape=(3, 5), ignore_id=0)
    (array([ True, False,  True]), array([1, 2]))
    """
    ids = integers(ids, "targets")
    *rows, vocab_size = logits_shape
    if ids.shape != tuple(rows):
        raise ValueError(
            f"targets must have shape {tuple(rows)}, one for each row of logits, "
            f"got shape {ids.shape}."
        )
    kept = np.ones(ids.shape, dtype=bool) if ignore_id is None else ids != ignore_id
    if not kept.any():
        raise ValueError(
            f"targets must hold a token to score, but every one is ignore_id = {ignore_id}."
        )
    return kept, token_ids(ids[kept], vocab_size, "targets")


def fraction(x: float, name: str) -> float:
    """Return `x` if it is a number from 0 to 1.

    >>> fraction(0.1, "smoothing")
    0.1
    """
    if not 0 <= x <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {x}.")
    return x


def at_least_one(x: ArrayLike, name: str) -> Array:
    """Return `x` as a float64 array with no entry below 1.

    >>> at_least_one(4, "step")
    array(4.)
    """
    x = floats(x, name)
    if x.min() < 1:
        raise ValueError(f"{name} must be at least 1, got {x.min():g}.")
    return x


def text_of(value: object) -> str:
    """Return `value` if it is text.

    >>> text_of("help me")
    'help me'
    """
    if not isinstance(value, str):
        raise TypeError(
            f"expected text as a str, got {short_repr(value)}; decode bytes or files first."
        )
    return value


def short_repr(value: object) -> str:
    """Name a wrong value on one line, without printing a page of it.

    >>> len(short_repr("a" * 10_000))
    60
    """
    written = re.sub(r"\s*\n\s*", " ", repr(value))  # arrays are written row by row
    return written if len(written) <= 60 else f"{written[:57]}..."
