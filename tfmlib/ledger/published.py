"""What a published encoder does: the attention of all-MiniLM-L6-v2 on the documents' sentences.

Where torch or the weights are not installed, the figures that were measured with them stand in;
a test holds these against the weights.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tfmlib.support.arrays import Array

SENTENCES = (
    "I went to bank to withdraw money",
    "I went to river bank to get fresh air",
    "I have interest in biking",
    "The interest in the loan is increasing",
    "Show me the money",
    "Not on your life",
    "the bank told the man he was bankrupt",
    "I walk my dog every day",
    "every single day I walk my dog",
)


class Attention(NamedTuple):
    """What was measured over all sentences, layers and heads, to four decimals."""

    own_largest: float  # share of rows whose largest weight is that of the word itself
    own_weight: float  # mean weight of a word on itself
    even_weight: float  # the same if a row were spread evenly
    likeness: float  # of two heads of a layer: 0 for unrelated ones, 1 for equal ones
    apart: int  # heads that are more unlike than like every other head of their layer


HEADS = 72  # twelve in each of six layers
RECORDED = {
    "with [CLS] and [SEP]": Attention(0.0207, 0.0672, 0.1184, 0.4024, apart=16),
    "words alone": Attention(0.2454, 0.2122, 0.1579, 0.0721, apart=63),
}


def where() -> str:
    """Say whether the figures were computed just now."""
    return "recorded, as its weights are not installed" if attention_maps() is None else "computed"


def measured() -> dict[str, Attention]:
    """The attention of words to all tokens, and among words alone."""
    maps = attention_maps()
    if maps is None:
        return RECORDED
    return {name: summary([take(m) for m in maps]) for name, take in READINGS.items()}


@cache
def attention_maps() -> tuple[Array, ...] | None:
    """The weights of all heads for each sentence; None where they cannot be computed."""
    try:
        import torch

        from tfmlib import model
        from tfmlib.pretrained import find_weights, load_encoder, load_tokenizer
    except ImportError:
        return None
    if find_weights() is None:
        return None
    encoder, tokenizer = load_encoder(), load_tokenizer()
    maps = []
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer.encode(sentence)])
        layers = [*model.attention_maps(encoder, ids).values()]
        maps.append(torch.stack(layers)[:, 0].double().numpy())  # (layers, H, T, T)
    return tuple(maps)


def of_words(weights: Array) -> Array:
    """The rows of the words; the word itself comes first in each, then the other tokens."""
    T = weights.shape[-1]
    rows = [np.roll(weights[:, :, t], -t, axis=-1) for t in range(1, T - 1)]
    return np.stack(rows, axis=2)  # (layers, H, T - 2, T)


def among_words(weights: Array) -> Array:
    """The same without [CLS] and [SEP], each row shared out anew."""
    inner = weights[:, :, 1:-1, 1:-1]
    T = inner.shape[-1]
    rows = np.stack([np.roll(inner[:, :, t], -t, axis=-1) for t in range(T)], axis=2)
    return rows / rows.sum(axis=-1, keepdims=True)


READINGS: dict[str, Callable[[Array], Array]] = {
    "with [CLS] and [SEP]": of_words,
    "words alone": among_words,
}


def summary(rows: Sequence[Array]) -> Attention:
    """Measure the rows of several sentences, in each of which the word itself comes first."""
    own = np.concatenate([row[..., 0].ravel() for row in rows])
    largest = np.concatenate([(row.argmax(axis=-1) == 0).ravel() for row in rows])
    even = np.concatenate([np.full(row[..., 0].size, 1 / row.shape[-1]) for row in rows])
    alike = likeness(rows)
    pairs = alike[:, ~np.eye(alike.shape[-1], dtype=bool)]
    apart = (alike > 0.5).sum(axis=-1) == 1  # like itself alone
    return Attention(
        own_largest=_rounded(largest),
        own_weight=_rounded(own),
        even_weight=_rounded(even),
        likeness=_rounded(pairs),
        apart=int(apart.sum()),
    )


def _rounded(figures: Array) -> float:
    return round(float(figures.mean()), 4)


def likeness(rows: Sequence[Array]) -> Array:
    """How much of their attention each two heads of a layer share; with itself a head shares all.

    0 is what two unrelated heads share by chance: the same rows with their tokens shuffled.
    """
    shared, by_chance = 0.0, 0.0
    for row in rows:
        first, second = row[:, :, None], row[:, None]  # every head with every head
        shared += np.minimum(first, second).sum(axis=(-2, -1))
        every = np.minimum(first[..., :, None], second[..., None, :])  # every token with every one
        by_chance += every.sum(axis=(-3, -2, -1)) / row.shape[-1]
    count = sum(row.shape[2] for row in rows)
    return np.asarray((shared - by_chance) / (count - by_chance))  # (layers, H, H)
