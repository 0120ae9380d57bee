"""The notes, continued: what a transformer costs, and how large the first one was."""

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from tfmlib import ref
from tfmlib.ledger import paper
from tfmlib.ledger.entry import Trial
from tfmlib.ledger.notes import NOTES
from tfmlib.ledger.probes import same
from tfmlib.support.arrays import Array

__all__ = ["NOTES"]  # complete with what follows

# --- §5, cost ---------------------------------------------------------------


def count_scores(n: int) -> int:
    """How often attention compares a query with a key, counted one by one."""
    compared = []

    def similarity(query: Array, key: Array) -> float:
        compared.append(1)
        return float(np.dot(query, key))

    x = np.eye(n)
    for query in x:
        ref.attention_pool(query, x, x, similarity)
    return len(compared)


@NOTES.tested("quadratic", "§5", "Self-attention over n tokens computes n² scores.")
def quadratic() -> Trial:
    sizes = (2, 3, 5, 7, 11, 13)
    counts = [count_scores(n) for n in sizes]
    weights = [ref.attention_weights(np.eye(n), np.eye(n)).size for n in sizes]
    return Trial(
        counts == weights == [n * n for n in sizes],
        f"counted {', '.join(map(str, counts))} scores for n = {', '.join(map(str, sizes))}",
    )


def peak_bytes(compute: Callable[[], object]) -> int:
    """The most memory that a computation held at once."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    compute()
    peak = tracemalloc.get_traced_memory()[1] - before
    if not tracing:
        tracemalloc.stop()
    return peak


def explain_page_limit() -> str:
    whole, blocked = memory_growth()
    return (
        "Right when it was written: it holds where all n² weights are kept in memory. "
        "Computed block by block, the same attention needs memory that grows with n alone, so "
        "length costs time and not space; and a decoder that keeps its keys and values does not "
        "compute them again for each new token. Measured at n = 512 and 1,024: twice the length "
        f"takes {whole:.0f} times the memory with the whole matrix, {blocked:.0f} with blocks."
    )


@NOTES.tested(
    "page-limit",
    "§5",
    "The n² weights limit an input to about a page.",
    dated=True,
    recompute=lambda: {"memory for twice the length, whole and in blocks": memory_growth()},
    places=0,
    explain=explain_page_limit,
)
def page_limit() -> Trial:
    whole, blocked = memory_growth()
    x = np.random.default_rng(19).normal(size=(101, 8))
    agrees = same(ref.blocked_attention(x, x, x, block=32), ref.attention(x, x, x))
    avoidable = agrees and whole == 4 and blocked <= 2
    return Trial(
        not avoidable,
        "attention needs memory for all n² weights",
        "attention in blocks gives the same result in memory that grows with n instead of n²",
    )


def memory_growth() -> Array:
    """How many times the memory twice the length needs: with the whole matrix, and in blocks."""
    peaks = []
    for n in (512, 1024):
        x = np.random.default_rng(23).normal(size=(n, 8))
        whole = peak_bytes(partial(ref.attention, x, x, x))
        blocked = peak_bytes(partial(ref.blocked_attention, x, x, x, block=32))
        peaks.append((whole, blocked))
    before, after = np.array(peaks, dtype=float)
    return np.round(after / before)


# --- §3 and §4, size ---------------------------------------------------------------------------


@NOTES.tested(
    "six-layers",
    "§3 and §4",
    "The original model has six encoder and six decoder layers.",
    evidence=lambda: {
        f"{size} model, parameters with {layers} and {layers} layers": (
            f"{paper.total(size, layers=layers):,}, where the paper prints "
            f"{paper.PRINTED_MILLIONS[size]} million"
        )
        for size in paper.SIZES
        for layers in (5, 6, 7)
    },
)
def six_layers() -> Trial:
    nearest = {paper.nearest_layers(size) for size in paper.SIZES}
    return Trial(
        nearest == {6},
        "of all depths from 1 to 24, six and six layers come nearest to the number of parameters "
        "that the 2017 paper prints, for its base model and for its big one",
    )
