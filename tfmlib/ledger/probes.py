"""Small models with random weights, on which the documents' claims are tried."""

import numpy as np

from tfmlib import ref
from tfmlib.support.arrays import Array, ArrayLike

EXACT = 1e-12  # two float64 computations of the same thing
MOVED = 1e-3  # two things that differ


def same(a: ArrayLike, b: ArrayLike) -> bool:
    """Say whether two computations gave the same numbers.

    >>> same(np.array([0.1 + 0.2]), np.array([0.3]))
    True
    """
    return np.shape(a) == np.shape(b) and bool(np.abs(np.subtract(a, b)).max() < EXACT)


def moved(a: ArrayLike, b: ArrayLike) -> bool:
    """Say whether two computations differ by far more than rounding.

    >>> moved(np.array([0.1 + 0.2]), np.array([0.3]))
    False
    """
    return bool(np.abs(np.subtract(a, b)).max() > MOVED)


def attention_params(rng: np.random.Generator, d_model: int) -> dict[str, Array]:
    """Random projections of one attention sublayer."""
    return {name: rng.normal(size=(d_model, d_model)) for name in ("w_q", "w_k", "w_v", "w_o")}


def feed_forward_params(rng: np.random.Generator, d_model: int, d_ff: int) -> dict[str, Array]:
    """Random weights of one feed-forward sublayer."""
    return {
        "w1": rng.normal(size=(d_model, d_ff)),
        "b1": rng.normal(size=d_ff),
        "w2": rng.normal(size=(d_ff, d_model)),
        "b2": rng.normal(size=d_model),
    }


def layer_params(
    rng: np.random.Generator, d_model: int, d_ff: int = 13
) -> dict[str, dict[str, Array]]:
    """Random weights that serve an encoder layer and a decoder layer."""
    return {
        "self_attention": attention_params(rng, d_model),
        "cross_attention": attention_params(rng, d_model),
        "feed_forward": feed_forward_params(rng, d_model, d_ff),
    }


class Decoder:
    """Two decoder layers of ref above a random memory, without the output layer."""

    D, HEADS = 10, 2

    def __init__(self, vocab_size: int, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.table = rng.normal(size=(vocab_size, self.D))
        self.memory = rng.normal(size=(7, self.D))  # (S, D)
        self.layers = [layer_params(rng, self.D) for _ in range(2)]
        self.output = rng.normal(size=(self.D, vocab_size))

    def states(self, ids: list[int]) -> Array:
        """The decoder's output for each position of its input."""
        x = ref.embed(ids, self.table) + ref.sinusoidal_encoding(len(ids), self.D)  # (T, D)
        mask = ref.look_ahead_mask(len(ids))
        for params in self.layers:
            x = ref.decoder_layer(x, self.memory, params, self.HEADS, self_mask=mask)
        return x

    def probabilities(self, ids: list[int]) -> Array:
        """A distribution over the next token for each position."""
        return ref.softmax(self.states(ids) @ self.output)  # (T, V)

    def learn(self, ids: list[int]) -> None:
        """Fit the output layer so that each prefix of one sequence is continued as it was."""
        wanted = ref.one_hot(ids[1:], len(self.table))
        self.output = 10 * np.linalg.pinv(self.states(ids[:-1])) @ wanted

    def greedy(self, start: int, end: int, most: int = 13) -> list[list[int]]:
        """The inputs of each step of greedy decoding, and last the finished sequence."""
        steps = [[start]]
        while steps[-1][-1] != end and len(steps) < most:
            steps.append([*steps[-1], int(self.probabilities(steps[-1])[-1].argmax())])
        return steps
