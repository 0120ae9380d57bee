"""Drawing legal inputs for an exercise, the smallest first: sizes, arrays, ids, masks, words.

Every function takes a random generator first. NumPy alone, so that a check runs in a browser.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

# How the numbers of an array may look; a statement that says nothing allows all but "tiny", "huge".
KINDS = ("plain", "whole", "ties", "equal", "zeros")
ANY_MAGNITUDE = (*KINDS, "tiny", "huge", "mixed")
LONG = (40, 70)  # sizes of two last draws, for tables and buffers of a fixed length
WORDS = ("me", "the", "money", "Show", "help", "not", "on", "your", "LIFE", "river", "bank", "a")


def chance(rng: Generator, share: float = 0.5) -> bool:
    """True in that share of the draws."""
    return bool(rng.random() < share)


def choice(rng: Generator, options: Sequence[Any]) -> Any:
    """One of the options, as it is."""
    return options[int(rng.integers(len(options)))]


def axis(rng: Generator, size: int, least: int = 1) -> int:
    """The length of an axis: the least there may be at size 0, and often also later.

    >>> axis(np.random.default_rng(0), 0), axis(np.random.default_rng(0), 0, least=2)
    (1, 2)
    """
    if size == 0 or chance(rng, 0.15):
        return least
    return least + int(rng.integers(size + 1))


def stretch(rng: Generator, size: int, least: int = 1) -> int:
    """The length of an axis that is as long as it can be in the long draws."""
    return axis(rng, size, least) if size < min(LONG) else least + size


def length(rng: Generator, size: int, least: int = 1) -> int:
    """The same for an input that is cheap when it is long: then longer than a table of 256."""
    return axis(rng, size, least) if size < min(LONG) else int(rng.integers(257, 300))


def even(rng: Generator, size: int, least: int = 2) -> int:
    """The length of an axis that must be even."""
    return least + 2 * (axis(rng, size, 0) // 2)


def leading(rng: Generator, size: int, most: int = 3) -> tuple[int, ...]:
    """Leading axes: none at first, then up to three, each of them perhaps of length 1."""
    count = int(rng.integers(min(size, most) + 1))
    return tuple(int(n) for n in rng.integers(1, 4, size=count))


def values(rng: Generator, shape: Sequence[int], kinds: Sequence[str] = KINDS) -> np.ndarray:
    """Numbers of one of the kinds: plain floats, whole numbers as integers, ties, all equal, zeros;

    and where the statement allows them, tiny, huge, or of magnitudes from 1e-30 to 1e4 at once.
    """
    kind = "plain" if chance(rng, 0.4) and "plain" in kinds else choice(rng, kinds)
    normal = rng.normal(size=tuple(shape))
    if kind == "whole":
        return rng.integers(-9, 10, size=tuple(shape))
    if kind == "ties":
        return np.round(2 * normal) / 2
    if kind == "equal":
        return np.full(tuple(shape), rng.normal())
    if kind == "zeros":
        return np.zeros(tuple(shape))
    if kind == "tiny":
        return normal * 10.0 ** rng.integers(-30, -8)
    if kind == "huge":
        return normal * 10.0 ** rng.integers(2, 5)
    if kind == "mixed":
        return normal * 10.0 ** rng.integers(-6, 5, size=tuple(shape))
    return normal


def together(
    rng: Generator, kinds: Sequence[str], *shapes: Sequence[int]
) -> tuple[np.ndarray, ...]:
    """The arrays of one call, often whole numbers; in half of the draws all of one kind."""
    kinds = ("whole", "whole", *kinds)
    if chance(rng):
        kinds = (choice(rng, kinds),)
    return tuple(values(rng, shape, kinds) for shape in shapes)


def positive(rng: Generator, shape: Sequence[int]) -> np.ndarray:
    """Numbers above zero, of which some are small and some large."""
    spread: float = choice(rng, (0.1, 1.0, 3.0))
    return np.asarray(np.exp(rng.normal(size=tuple(shape)) * spread))


def probabilities(rng: Generator, shape: Sequence[int], zeros: bool = False) -> np.ndarray:
    """Rows that sum to one; with `zeros`, some of their entries are 0."""
    weights = rng.random(tuple(shape)) + 1e-3
    if zeros and shape[-1] > 1:
        mask = rng.random(tuple(shape)) < 0.3
        mask[..., 0] = False
        weights = np.where(rng.permuted(mask, axis=-1), 0.0, weights)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def mask(rng: Generator, shape: Sequence[int], empty_rows: bool = False) -> np.ndarray:
    """True where something is allowed, gaps anywhere; each row has one, unless it may be empty."""
    allowed = np.asarray(rng.random(tuple(shape)) < choice(rng, (0.3, 0.7, 1.0)))
    if empty_rows or not shape[-1]:
        return allowed
    keep = rng.integers(shape[-1], size=(*shape[:-1], 1))
    return np.asarray(allowed | (np.arange(shape[-1]) == keep))


def ids(rng: Generator, shape: Sequence[int], vocab_size: int) -> np.ndarray:
    """Ids below the size of the vocabulary, with repeats, and often without the largest."""
    top = vocab_size if chance(rng) else max(1, int(rng.integers(1, vocab_size + 1)))
    return rng.integers(0, top, size=tuple(shape))


def text(rng: Generator, size: int, alphabet: str = "abcab ", least: int = 0) -> str:
    """Letters of an alphabet, in which some may come more often."""
    return "".join(choice(rng, alphabet) for _ in range(axis(rng, size, least)))
