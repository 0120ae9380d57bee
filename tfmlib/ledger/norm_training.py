"""Small networks trained with a norm and without: what layer norm does to gradients and time.

A stack of feed-forward networks with residual paths learns 32 random points in four classes by
heart, by plain gradient descent. The norm stands after each sum, as in eq. (16) of the notes, or
before each network, or nowhere. Each kind is given the step size that suits it best.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tfmlib import ref
from tfmlib.support.arrays import Array

AFTER, BEFORE, NONE = "after", "before", "none"
D, F, POINTS, CLASSES = 16, 32, 32, 4
STARTS = 3  # networks that differ in their first weights alone, side by side
RATES = 10.0 ** np.arange(-3.5, 0.5, 0.5)  # step sizes
STEPS, LEARNED = 50, 0.2  # a network has learned when its loss is below this

Stack = Sequence[tuple[Array, Array]]  # the two matrices of each feed-forward network
Tape = list[tuple[Array, Array, Array, Array]]  # what the way back needs of each layer


def new_stack(depth: int, scale: float = 1) -> tuple[Stack, Array]:
    """The first weights: those of each layer, and of the output."""
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int, variance: float) -> Array:
        return scale * np.sqrt(variance) * rng.normal(size=(STARTS, rows, columns))

    stack = [(matrix(D, F, 2 / D), matrix(F, D, 1 / F)) for _ in range(depth)]
    return stack, rng.normal(size=(STARTS, D, CLASSES)) / 4


def forward(x: Array, stack: Stack, norm: str) -> tuple[Array, Tape]:
    tape: Tape = []
    for w1, w2 in stack:
        read = ref.layer_norm(x) if norm == BEFORE else x
        hidden = np.maximum(0, read @ w1)
        total = x + hidden @ w2
        tape.append((x, read, hidden, total))
        x = ref.layer_norm(total) if norm == AFTER else total
    return (ref.layer_norm(x) if norm == BEFORE else x), tape


def norm_backward(g: Array, x: Array) -> Array:
    """The gradient of a layer norm's input, from that of its output."""
    y = ref.layer_norm(x)
    along = (g * y).mean(axis=-1, keepdims=True)
    centred = g - g.mean(axis=-1, keepdims=True) - y * along
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def backward(g: Array, stack: Stack, tape: Tape, norm: str) -> Stack:
    """The gradients of all matrices, from that of the stack's output."""
    if norm == BEFORE:
        g = norm_backward(g, tape[-1][-1])
    gradients = []
    for (w1, w2), (x, read, hidden, total) in zip(reversed(stack), reversed(tape), strict=True):
        if norm == AFTER:
            g = norm_backward(g, total)
        to_hidden = (g @ w2.swapaxes(-1, -2)) * (hidden > 0)
        gradients.append((read.swapaxes(-1, -2) @ to_hidden, hidden.swapaxes(-1, -2) @ g))
        to_read = to_hidden @ w1.swapaxes(-1, -2)
        g = g + (norm_backward(to_read, x) if norm == BEFORE else to_read)
    return gradients[::-1]


def loss_and_gradients(stack: Stack, output: Array, norm: str) -> tuple[Array, Stack, Array]:
    points = np.random.default_rng(5).normal(size=(POINTS, D))
    targets = ref.one_hot(np.arange(POINTS) % CLASSES, CLASSES)
    out, tape = forward(points, stack, norm)
    losses = -(ref.log_softmax(out @ output) * targets).sum(axis=-1).mean(axis=-1)
    g = (ref.softmax(out @ output) - targets) / POINTS
    gradients = backward(g @ output.swapaxes(-1, -2), stack, tape, norm)
    return losses, gradients, out.swapaxes(-1, -2) @ g


def gradient_size(depth: int, norm: str, scale: float = 1) -> float:
    """The mean size of a layer's gradient before the first step."""
    _, gradients, _ = loss_and_gradients(*new_stack(depth, scale), norm)
    return float(np.mean([np.linalg.norm(w2, axis=(-1, -2)) for _, w2 in gradients]))


def growth(depth: int, norm: str) -> float:
    """How many times larger the gradients become when all weights of the stack are doubled."""
    return gradient_size(depth, norm, scale=2) / gradient_size(depth, norm)


class Run(NamedTuple):
    """The fewest steps in which a kind of network learned (inf: never), and its step size."""

    steps: float
    rate: float


@cache
def fastest(depth: int, norm: str) -> Run:
    """Train at every step size at once, until at one of them most starts have learned."""
    stack, output = new_stack(depth)
    rate, learned = RATES[:, None, None, None], np.zeros((len(RATES), STARTS), dtype=bool)
    with np.errstate(all="ignore"):  # too long a step diverges, and then it has not learned
        for step in range(STEPS):
            loss, gradients, to_output = loss_and_gradients(stack, output, norm)
            learned |= loss < LEARNED
            most = learned.sum(axis=-1) > STARTS / 2
            if most.any():
                return Run(step, float(RATES[most.argmax()]))
            stack = [
                (w1 - rate * g1, w2 - rate * g2)
                for (w1, w2), (g1, g2) in zip(stack, gradients, strict=True)
            ]
            output = output - rate * to_output
    return Run(np.inf, np.nan)
