"""Chapter 4: pooling, softmax, scaled dot-product attention, and why it is scaled."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same, show
from tfmlib.checking.draw import (
    ANY_MAGNITUDE,
    WORDS,
    axis,
    chance,
    choice,
    leading,
    probabilities,
    stretch,
    together,
    values,
)
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome

_SIZES = ("plain", "whole", "ties", "equal", "zeros", "tiny", "huge")


# --- 4.1 ----------------------------------------------------------------------------------------


def _pool(weights, values):
    return np.asarray(weights) @ np.asarray(values)


POOL = Exercise(
    id="4.1",
    title="Attention pooling",
    answer="pool",
    signature="pool(weights, values)",
    oracle=_pool,
    hints=(
        "If one weight is 1 and the others are 0, which row must come out?",
        r"Eq. (1): the sum over i of weights[i] times values[i].",
        "weights is (S,), values is (S, D), the result is (D,).",
    ),
    example=Example(
        (np.array([0.25, 0.75]), np.array([[0.0, 4.0], [8.0, 0.0]])),
        "weights [0.25, 0.75] and values [[0, 4], [8, 0]] should give [6, 1].",
    ),
    equivalent={
        "for weight, value in zip(weights, values): -> "
        "for weight, value in zip(values, weights):": "a product does not mind its order"
    },
    clauses={
        "weights that are already known": "five values of three numbers",
        "which need not sum to 1": "weights that do not sum to one",
        "the sum of the rows": "five values of three numbers",
        "each times its weight": "a weight of one returns its value",
    },
)
_w5, _v53 = ref.softmax(numbers(1, 5)), numbers(2, 5, 3)
POOL.case("five values of three numbers", "each value times its weight, summed", _w5, _v53)
POOL.case(
    "weights that do not sum to one",
    "Eq. (1) takes the weights as they are",
    numbers(3, 7),
    numbers(4, 7, 2),
)


@POOL.draws
def _(rng, size):
    S, D = stretch(rng, size), axis(rng, size)
    return together(rng, ANY_MAGNITUDE, (S,), (S, D))


@POOL.invariant("a weight of one returns its value", "with one weight at 1, that row comes out")
def _(answer):
    return all(same(answer(np.eye(5)[i], _v53), _v53[i]) for i in range(5))


@POOL.right
def adds_in_two_loops(weights, values):
    total = [0.0] * values.shape[1]
    for weight, row in zip(weights, values, strict=True):
        for d, number in enumerate(row):
            total[d] += weight * number
    return total


@POOL.right
def sums_with_einsum(weights, values):
    return np.einsum("s,sd->d", weights, values)


@POOL.mistake("You averaged: the weights already say how much of each value to take.")
def divides_by_the_number_of_values(weights, values):
    return weights @ values / len(values)


@POOL.mistake("You normalised the weights first: Eq. (1) uses them as they come.")
def normalises_the_weights(weights, values):
    return weights @ values / weights.sum()


@POOL.mistake("You weighted each value but did not add them up: sum over the first axis.")
def forgets_the_sum(weights, values):
    return weights[:, None] * values


@POOL.mistake("You added up over the features: the sum runs over the values, axis 0.")
def sums_over_features(weights, values):
    return (weights[:, None] * values).sum(axis=1)


@POOL.mistake("You took the value with the largest weight: pooling mixes them all.")
def takes_the_largest(weights, values):
    return values[np.argmax(weights)]


# --- 4.2 ----------------------------------------------------------------------------------------

SOFTMAX = Exercise(
    id="4.2",
    title="Softmax that cannot overflow",
    answer="softmax",
    signature="softmax(x)",
    oracle=lambda x: ref.softmax(x),
    stands_for="softmax",
    forbids=("log_softmax",),
    clauses={
        "over the last axis": "two blocks of rows",
        "of any shape": DRAWN,
        "for scores as large as 1000 and as small as": "scores in the thousands",
        "none negative": "three rows of seven",
        "each row sums to 1": "every row sums to one",
    },
    hints=(
        "What does softmax give when you add the same number to every score?",
        "exp(x - m) / sum of exp(x - m), where m is the largest entry of the row.",
        "x is (..., S); m and the sum are (..., 1), so keep their last axis: keepdims=True.",
    ),
    example=Example((np.array([1.5, 1.0]),), "scores [1.5, 1.0] should give [0.62, 0.38]."),
)
_rows = numbers(5, 3, 7)
SOFTMAX.case("one row", "exponentials divided by their sum", numbers(6, 5))
SOFTMAX.case("three rows of seven", "each row is a softmax of its own", _rows)
SOFTMAX.case("two blocks of rows", "the last axis is the one that sums to one", numbers(7, 2, 3, 5))
SOFTMAX.case(
    "scores in the thousands",
    "large scores must not overflow: subtract the row's largest entry first",
    np.array([[-1000.0, 1000.0, 999.0], [-3000.0, -3002.0, -3001.0]]),
)


@SOFTMAX.draws
def _(rng, size):
    shape = (*leading(rng, size), stretch(rng, size))
    scores = values(rng, shape, ("whole", *ANY_MAGNITUDE))
    return (np.clip(scores, -3000, 1000),)


@SOFTMAX.invariant("every row sums to one", "the weights of each row add up to 1")
def _(answer):
    return same(np.sum(answer(_rows), axis=-1), np.ones(3))


@SOFTMAX.right
def goes_row_by_row(x):
    if x.ndim > 1:
        return np.array([goes_row_by_row(row) for row in x])
    powers = [np.exp(score - max(x)) for score in x]
    return [power / sum(powers) for power in powers]


@SOFTMAX.right
def takes_the_log_of_the_sum(x):
    return np.exp(x - np.logaddexp.reduce(np.asarray(x, dtype=float), axis=-1, keepdims=True))


@SOFTMAX.invariant(
    "a shift changes nothing", "adding the same number to a row leaves its softmax as it was"
)
def _(answer):
    return same(answer(_rows + 11.0), answer(_rows))


@SOFTMAX.mistake(
    "You divided by the sum without exponentials: negative scores would get negative weights."
)
def divides_by_the_sum(x):
    return x / x.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake("You divided by the sum over all rows: each row has a sum of its own.")
def sums_over_everything(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum()


@SOFTMAX.mistake("You normalised columns: the weights of one query stand in a row, axis -1.")
def normalises_columns(x):
    powers = np.exp(x - x.max(axis=0, keepdims=True))
    return powers / powers.sum(axis=0, keepdims=True)


@SOFTMAX.mistake(
    "You did not subtract the row's largest entry: exp(1000) is infinite, and ∞/∞ is NaN."
)
def overflows(x):
    powers = np.exp(x)
    return powers / powers.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake(
    "You subtracted the largest entry of the whole array: a row far below it becomes 0/0. "
    "Each row needs its own."
)
def subtracts_one_maximum_for_all(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake("You returned the exponentials: divide each row by its sum.")
def forgets_to_divide(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


# --- 4.3 ----------------------------------------------------------------------------------------

WEIGHTS = Exercise(
    id="4.3",
    title="Attention weights",
    answer="attention_weights",
    signature="attention_weights(q, k)",
    oracle=lambda q, k: ref.attention_weights(q, k),
    stands_for="attention_weights",
    clauses={
        "how much each query attends to each key": "three queries, five keys",
        "(T, K), k (S, K) -> (T, S)": DRAWN,
    },
    hints=(
        "Which product of q and k holds the dot product of every query with every key?",
        "softmax(q @ k.T / sqrt(d_k)), where d_k is the number of entries of one key.",
        "q is (T, K), k is (S, K); the scores and the weights are (T, S).",
    ),
    example=Example(
        (
            np.array([[6.0, *[0.0] * 15], [0.0, 1.0, *[0.0] * 14]]),
            np.array([[1.0, 3.0, *[0.0] * 14], [4 / 6, 8.0, *[0.0] * 14]]),
        ),
        'the "help me!" vectors should give [[0.62, 0.38], [0.22, 0.78]].',
    ),
    equivalent={
        "return ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) -> "
        "return ref.softmax(q @ k.T / np.sqrt(q.shape[1]))": "of two axes the last is axis 1"
    },
)
_q, _k = numbers(8, 3, 7), numbers(9, 5, 7)
WEIGHTS.case("three queries, five keys", "the softmax of the scaled dot products", _q, _k)
WEIGHTS.case(
    "one query of thirteen numbers", "d_k is 13 here", numbers(10, 1, 13), numbers(11, 2, 13)
)


@WEIGHTS.draws
def _(rng, size):
    T, S, K = stretch(rng, size), stretch(rng, size), axis(rng, size)
    return together(rng, _SIZES, (T, K), (S, K))


@WEIGHTS.invariant("every row sums to one", "the weights of each query add up to 1")
def _(answer):
    return same(np.sum(answer(_q, _k), axis=-1), np.ones(3))


@WEIGHTS.right
def scores_one_pair_at_a_time(q, k):
    scores = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in k] for x in q]
    return ref.softmax(np.array(scores) / len(k[0]) ** 0.5)


@WEIGHTS.right
def scales_the_queries_first(q, k):
    scores = np.einsum("tk,sk->ts", q / np.sqrt(q.shape[1]), k)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@WEIGHTS.invariant(
    "keys in another order give weights in that order",
    "permuting the keys permutes the columns and changes nothing else",
)
def _(answer):
    order = [3, 0, 4, 1, 2]
    return same(answer(_q, _k[order]), answer(_q, _k)[:, order])


def _scores(q, k):
    return q @ k.swapaxes(-1, -2)  # also of a batch, for exercises that inherit these mistakes


@WEIGHTS.mistake("You did not divide by √d_k: the scores grow with the number of entries.")
def forgets_to_scale(q, k):
    return ref.softmax(_scores(q, k))


@WEIGHTS.mistake("You divided by d_k: it is the square root that keeps the variance at 1.")
def divides_by_d_k(q, k):
    return ref.softmax(_scores(q, k) / q.shape[-1])


@WEIGHTS.mistake(
    "You divided by the root of the number of keys: d_k counts the entries of one key."
)
def scales_by_the_number_of_keys(q, k):
    return ref.softmax(_scores(q, k) / np.sqrt(k.shape[-2]))


@WEIGHTS.mistake("You multiplied by √d_k: the scores must become smaller, not larger.")
def multiplies_by_the_root(q, k):
    return ref.softmax(_scores(q, k) * np.sqrt(q.shape[-1]))


@WEIGHTS.mistake("You normalised over the queries: each query's row must sum to one, axis -1.")
def normalises_over_queries(q, k):
    return ref.softmax(_scores(q, k) / np.sqrt(q.shape[-1]), axis=-2)


@WEIGHTS.mistake("You put keys in rows and queries in columns: the scores are q @ k.T.")
def swaps_queries_and_keys(q, k):
    return ref.softmax(_scores(k, q) / np.sqrt(q.shape[-1]))


@WEIGHTS.mistake("You scaled after the softmax: then the rows no longer sum to one.")
def scales_the_weights(q, k):
    return ref.softmax(_scores(q, k)) / np.sqrt(q.shape[-1])


# --- 4.4 ----------------------------------------------------------------------------------------

ATTENTION = Exercise(
    id="4.4",
    title="Scaled dot-product attention, in batches",
    answer="attention",
    signature="attention(q, k, v)",
    oracle=lambda q, k, v: ref.attention(q, k, v),
    stands_for="attention",
    forbids=("blocked_attention", "scaled_dot_product_attention"),
    clauses={
        "for any number of leading axes": DRAWN,
        "for each query, the mixture of the values": "equal values come back unchanged",
        "The leading axes of all three arrays are the same": "two batch axes",
        "q (..., T, K), k (..., S, K), v (..., S, D) -> (..., T, D)": "a batch of two",
    },
    hints=(
        "In a batch, which two axes of k must change places for q @ k to be the scores?",
        "softmax(q kᵀ / sqrt(d_k)) v, with kᵀ swapping the last two axes only.",
        "q (..., T, K), k (..., S, K), v (..., S, D): weights (..., T, S), result (..., T, D).",
    ),
    example=Example(
        (np.zeros((1, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 5.0], [7.0, 11.0]])),
        "a query of zeros attends to both keys equally: values [3, 5] and [7, 11] should give "
        "[5, 8].",
    ),
    equivalent={
        "scores = q @ k.swapaxes(-1, -2) -> "
        "scores = q @ k.swapaxes(-2, -1)": "swapping two axes is symmetric"
    },
)
_bq, _bk, _bv = numbers(12, 2, 3, 7), numbers(13, 2, 5, 7), numbers(14, 2, 5, 11)
ATTENTION.case("one sentence", "weights times values", _q, _k, numbers(15, 5, 2))
ATTENTION.case("a batch of two", "each sentence attends within itself", _bq, _bk, _bv)
ATTENTION.case(
    "two batch axes",
    "each of the six sentences attends within itself",
    numbers(16, 2, 3, 5, 7),
    numbers(17, 2, 3, 11, 7),
    numbers(18, 2, 3, 11, 13),
)


@ATTENTION.draws
def _(rng, size):
    batch = leading(rng, size, most=3 if size < 40 else 1)
    T, S, K, D = stretch(rng, size), stretch(rng, size), axis(rng, size), axis(rng, size)
    return together(rng, _SIZES, (*batch, T, K), (*batch, S, K), (*batch, S, D))


@ATTENTION.invariant(
    "a batch is its sentences one by one", "the batch gives what each sentence gives alone"
)
def _(answer):
    alone = [answer(_bq[i], _bk[i], _bv[i]) for i in range(2)]
    return same(answer(_bq, _bk, _bv), np.stack(alone))


@ATTENTION.invariant(
    "equal values come back unchanged", "a mixture of copies of one value is that value"
)
def _(answer):
    value = numbers(19, 11)
    copies = np.broadcast_to(value, (2, 5, 11)).copy()
    return same(answer(_bq, _bk, copies), np.broadcast_to(value, (2, 3, 11)))


@ATTENTION.right
def attends_sentence_by_sentence(q, k, v):
    if q.ndim > 2:
        parts = zip(q, k, v, strict=True)
        return np.array([attends_sentence_by_sentence(*part) for part in parts])
    weights = ref.softmax((q @ k.T) * k.shape[1] ** -0.5)
    return [sum(w * row for w, row in zip(line, v, strict=True)) for line in weights]


@ATTENTION.right
def divides_after_the_mixture(q, k, v):
    scores = np.einsum("...tk,...sk->...ts", q, k) / np.sqrt(k.shape[-1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("...ts,...sd->...td", powers, v) / powers.sum(axis=-1, keepdims=True)


@ATTENTION.mistake(
    "You used .T, which reverses all axes of a batch: swap the last two, k.swapaxes(-1, -2)."
)
def transposes_the_whole_batch(q, k, v):
    return ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


@ATTENTION.mistake("You returned the weights: multiply them with the values.")
def returns_the_weights(q, k, v):
    return ref.attention_weights(q, k)


@ATTENTION.mistake("You scaled by the length of the values: d_k is the length of a key.")
def scales_by_the_values(q, k, v):
    return ref.softmax(_scores(q, k) / np.sqrt(v.shape[-1])) @ v


@ATTENTION.mistake("You mixed the keys: the weights say how much of each value to take.")
def mixes_the_keys(q, k, v):
    return ref.attention_weights(q, k) @ k


@ATTENTION.mistake("You left out the softmax: scores are not weights, and do not sum to one.")
def leaves_out_the_softmax(q, k, v):
    return _scores(q, k) / np.sqrt(q.shape[-1]) @ v


# --- 4.5 ----------------------------------------------------------------------------------------


def _unit_scale(d_k, q_variance, k_variance):
    return 1 / np.sqrt(d_k * q_variance * k_variance)


UNIT_SCALE = Exercise(
    id="4.5",
    title="The factor that keeps scores at variance 1",
    answer="unit_scale",
    signature="unit_scale(d_k, q_variance, k_variance)",
    oracle=_unit_scale,
    clauses={
        "Extend it to any": DRAWN,
        "so that the result has variance 1": "simulated scores get variance 1",
        "independent with mean 0 and the given variances": "queries that vary more",
        "The check simulates it": "simulated scores get variance 1",
        "three positive numbers -> one number": THE_EXAMPLE,
    },
    hints=(
        "The variance of a sum of independent terms is the sum of their variances: how many terms "
        "has a dot product?",
        "Var(q·k) = d_k · Var(q_i) · Var(k_i), and Var(c·s) = c² Var(s).",
        "Three numbers in, one number out.",
    ),
    example=Example((64, 1.0, 1.0), "d_k = 64 with unit variances should give 0.125, i.e. 1/8."),
)
UNIT_SCALE.case("unit variances", "1/√7, the paper's case", 7, 1.0, 1.0)
UNIT_SCALE.case("queries that vary more", "1/√(5 · 9 · 1)", 5, 9.0, 1.0)
UNIT_SCALE.case("keys that vary less", "1/√(11 · 1 · 0.25)", 11, 1.0, 0.25)


@UNIT_SCALE.draws
def _(rng, size):
    d_k = choice(rng, (64, 128, 1000)) if chance(rng, 0.2) and size else axis(rng, size)
    variances = [_variance(rng, size) for _ in range(2)]
    return d_k, *(variances if chance(rng, 0.9) else variances[:1] * 2)


def _variance(rng, size):
    """A number above zero: whole, near 1, or of a magnitude from 1e-30 to 1e4."""
    kind = choice(rng, ("whole", "near", "any"))
    if kind == "whole":
        return int(rng.integers(1, size + 2))
    return float(np.exp(rng.normal()) if kind == "near" else 10.0 ** rng.uniform(-30, 4))


@UNIT_SCALE.invariant(
    "simulated scores get variance 1",
    "20,000 random dot products times your factor have a variance within 5 % of 1",
)
def _(answer):
    rng = np.random.default_rng(20)
    q, k = rng.normal(0, 2, (20_000, 13)), rng.normal(0, 0.5, (20_000, 13))
    variance = np.var((q * k).sum(axis=1) * answer(13, 4.0, 0.25))
    if not abs(variance - 1) < 0.05:
        return f"Multiplied by your factor, the simulated scores have a variance of {variance:.4g}."


@UNIT_SCALE.right
def multiplies_three_deviations(d_k, q_variance, k_variance):
    return d_k**-0.5 * q_variance**-0.5 * k_variance**-0.5


@UNIT_SCALE.right
def adds_up_the_terms(d_k, q_variance, k_variance):
    variance = sum(q_variance * k_variance for _ in range(d_k))
    return np.array(1 / variance**0.5)


@UNIT_SCALE.mistake("That is 1/d_k: a factor c changes the variance by c², so take the root.")
def forgets_the_root(d_k, q_variance, k_variance):
    return 1 / (d_k * q_variance * k_variance)


@UNIT_SCALE.mistake("That is the deviation itself: multiplying by it makes the scores larger.")
def returns_the_deviation(d_k, q_variance, k_variance):
    return np.sqrt(d_k * q_variance * k_variance)


@UNIT_SCALE.mistake("1/√d_k is right only when queries and keys have variance 1.")
def ignores_the_variances(d_k, q_variance, k_variance):
    return 1 / np.sqrt(d_k)


@UNIT_SCALE.mistake("Variances of the factors multiply in each term of a dot product; you added.")
def adds_the_variances(d_k, q_variance, k_variance):
    return 1 / np.sqrt(d_k * (q_variance + k_variance))


@UNIT_SCALE.mistake(
    "The variances belong under the root as well: a deviation is the root of a variance."
)
def takes_variances_for_deviations(d_k, q_variance, k_variance):
    return 1 / (np.sqrt(d_k) * q_variance * k_variance)


@UNIT_SCALE.mistake("You left out d_k: a dot product is a sum of d_k terms, and each adds to it.")
def leaves_out_the_number_of_terms(d_k, q_variance, k_variance):
    return 1 / np.sqrt(q_variance * k_variance)


# --- 4.6 ----------------------------------------------------------------------------------------


def _jacobian(s):
    return np.diag(s) - np.outer(s, s)


JACOBIAN = Exercise(
    id="4.6",
    title="Find the bug: how softmax moves",
    answer="softmax_jacobian",
    signature="softmax_jacobian(s)",
    oracle=_jacobian,
    clauses={
        "Its rows do not sum to zero": "rows sum to zero",
        "as it should be": "it predicts a small step",
        "s (S,), weights that sum to one -> (S, S)": DRAWN,
    },
    hints=(
        "What is the shape of s * s, and what does NumPy do when you subtract it from a matrix?",
        "J[i, j] = s_i (1 if i = j else 0) - s_i s_j.",
        "s is (S,); the diagonal matrix and the product of every s_i with every s_j are (S, S).",
    ),
    example=Example(
        (np.array([0.5, 0.5]),), "weights [0.5, 0.5] should give [[0.25, -0.25], [-0.25, 0.25]]."
    ),
)
JACOBIAN.case(
    "five weights", "s_i - s_i² on the diagonal, -s_i s_j off it", ref.softmax(numbers(21, 5))
)
JACOBIAN.case(
    "three uneven weights", "[[0.21, -0.14, -0.07], …], entry by entry", np.array([0.7, 0.2, 0.1])
)


@JACOBIAN.draws
def _(rng, size):
    S = stretch(rng, size)
    kind = choice(rng, ("scores", "scores", "zeros", "equal", "one", "whole"))
    if kind in ("one", "whole"):  # all on one place, as floats or as integers
        one = np.eye(S, dtype=int if kind == "whole" else float)
        return (one[int(rng.integers(S))],)
    if kind == "equal":
        return (np.full(S, 1 / S),)
    if kind == "zeros":
        return (probabilities(rng, (S,), zeros=True),)
    return (ref.softmax(rng.normal(size=S) * choice(rng, (0.1, 1.0, 10.0, 40.0))),)


@JACOBIAN.invariant(
    "it predicts a small step",
    "moving a score by 1e-6 moves the weights by the Jacobian's column times 1e-6",
)
def _(answer):
    x, step = numbers(22, 5), 1e-6
    moved = [(ref.softmax(x + step * e) - ref.softmax(x)) / step for e in np.eye(5)]
    return same(answer(ref.softmax(x)), np.array(moved).T, atol=1e-5)


@JACOBIAN.invariant("rows sum to zero", "the weights always sum to one, so their changes cancel")
def _(answer):
    return same(np.sum(answer(ref.softmax(numbers(23, 7))), axis=-1), np.zeros(7))


@JACOBIAN.right
def fills_it_entry_by_entry(s):
    return [[a * (1 - a) if i == j else -a * b for j, b in enumerate(s)] for i, a in enumerate(s)]


@JACOBIAN.right
def scales_the_rows(s):
    return s[:, None] * (np.eye(len(s)) - s)


@JACOBIAN.mistake(
    "This is still the bug: s * s has one entry for each weight, and NumPy subtracts it from every "
    "row. You need the product of every pair, np.outer(s, s)."
)
def keeps_the_bug(s):
    return np.diag(s) - s * s


@JACOBIAN.mistake("The sign is reversed: a weight grows with its own score.")
def turns_the_sign(s):
    return np.outer(s, s) - np.diag(s)


@JACOBIAN.mistake("You kept the diagonal only: every weight depends on every score.")
def keeps_the_diagonal_only(s):
    return np.diag(s - s * s)


@JACOBIAN.mistake("The diagonal holds the weights s, not ones.")
def starts_from_the_identity(s):
    return np.eye(len(s)) - np.outer(s, s)


@JACOBIAN.mistake("You forgot the diagonal: a weight also depends on its own score.")
def forgets_the_diagonal(s):
    return -np.outer(s, s)


@JACOBIAN.mistake(
    "s @ s is one number, the sum of the squares, and NumPy subtracts it everywhere: you need the "
    "product of every pair, np.outer(s, s)."
)
def subtracts_one_number(s):
    return np.diag(s) - s @ s


# --- 4.7 ----------------------------------------------------------------------------------------

_FILTER = np.array(
    [
        [0.61, 0.18, 0.04, 0.17],
        [0.16, 0.57, 0.08, 0.19],
        [0.03, 0.07, 0.74, 0.16],
        [0.17, 0.23, 0.12, 0.48],
    ]
)
INVERT = Exercise(
    id="4.7",
    title="Scores behind the weights",
    answer="scores_behind",
    signature="scores_behind(weights)",
    clauses={
        "any matrix of scores whose softmax, row by row, is the given matrix": "inputs of every "
        "size and kind",
        "positive weights": "very small weights come back",
        "Several answers are right": "the scores give back exponentials",
        "weights (T, S), positive, rows sum to one -> scores (T, S)": "random weights come back",
    },
    hints=(
        "Softmax exponentiates and divides: which function undoes an exponential?",
        "log(S) is one answer, and so is log(S) plus any constant in each row.",
        "weights (T, S) with positive entries, scores (T, S).",
    ),
    example=Example(
        (np.array([[0.5, 0.5]]),),
        "weights [[0.5, 0.5]] come from any two equal scores, for instance [[0, 0]].",
    ),
)
_given = ref.softmax(numbers(24, 3, 5))


@INVERT.draws
def _(rng, size):
    T, S = stretch(rng, size), stretch(rng, size)
    kind = choice(rng, ("scores", "scores", "shares", "equal"))
    if kind == "equal" or (S == 1 and chance(rng)):
        return (np.full((T, S), 1 if S == 1 and chance(rng) else 1 / S),)
    if kind == "shares":
        return (probabilities(rng, (T, S)),)
    # Some weights as small as 1e-30.
    return (ref.softmax(np.clip(rng.normal(size=(T, S)) * choice(rng, (0.1, 1, 20)), -35, 34)),)


@INVERT.accepting
def _(value, weights):
    scores = as_array(value)
    if scores is None:
        raise AnswerError(Outcome.KIND, expected=describe(weights), got=describe(value))
    if scores.shape != weights.shape:
        raise AnswerError(Outcome.SHAPE, expected=weights.shape, got=scores.shape)
    bad = ~np.isfinite(scores)
    if bad.any():
        raise AnswerError(Outcome.NOT_FINITE, count=bad.sum(), size=scores.size)
    is_float64 = is_of_kind(scores, np.zeros(1))
    apart = np.abs(ref.log_softmax(scores) - np.log(weights))  # relative, also for tiny weights
    if apart.max() > (2e-6 if is_float64 else 1e-3):
        at = np.unravel_index(np.argmax(apart), apart.shape)
        return (
            f"The softmax of your scores has {show(float(ref.softmax(scores)[at]))} where the "
            f"weight is {show(float(weights[at]))}, at index {[int(i) for i in at]}."
        )
    if not is_float64:
        raise AnswerError(Outcome.DTYPE, got=scores.dtype, expected="float64")


@INVERT.invariant(
    "the filter of Show me the money comes back",
    "the softmax of your scores is the printed filter again",
)
def _(answer):
    return same(ref.softmax(answer(_FILTER)), _FILTER)


@INVERT.invariant("random weights come back", "the softmax of your scores is what you were given")
def _(answer):
    return same(ref.softmax(answer(_given)), _given)


@INVERT.invariant("very small weights come back", "a weight of 1e-12 is a weight, too")
def _(answer):
    tiny = np.array([[1e-12, 1 - 1e-12], [0.25, 0.75]])
    return same(np.log(ref.softmax(answer(tiny))), np.log(tiny), atol=1e-5)


@INVERT.invariant(
    "the scores give back exponentials",
    "within a row, exp of a difference of scores is the ratio of the weights",
)
def _(answer):
    scores = np.asarray(answer(_given))
    return same(np.exp(scores[:, 1] - scores[:, 0]), _given[:, 1] / _given[:, 0])


@INVERT.right
def compares_with_the_first_weight(weights):
    return [[float(np.log(weight / row[0])) for weight in row] for row in weights]


@INVERT.right
def puts_the_largest_score_at_zero(weights):
    return np.log(weights) - np.log(weights.max(axis=1, keepdims=True))


@INVERT.mistake("You exponentiated again: softmax does that already; take the logarithm.")
def exponentiates_again(weights):
    return np.exp(weights)


@INVERT.mistake("You returned the weights: the softmax of weights is much flatter than they are.")
def returns_its_input(weights):
    return weights


@INVERT.mistake("That is the logarithm to base 10: softmax uses e, so take np.log.")
def takes_base_ten(weights):
    return np.log10(weights)


@INVERT.mistake("That is the logarithm to base 2: softmax uses e, so take np.log.")
def takes_base_two(weights):
    return np.log2(weights)


@INVERT.mistake(
    "log(p / (1 - p)) undoes the sigmoid, the softmax of two scores of which one is 0; "
    "in a longer row, log(p) alone is right."
)
def undoes_a_sigmoid(weights):
    return np.log(weights / (1 - weights))


@INVERT.mistake(
    "That is -log: it reverses the order, and the largest weight would become the smallest."
)
def turns_the_order_round(weights):
    return -np.log(weights)


@INVERT.mistake(
    "You added a small number before the logarithm: weights are positive, and a very small one "
    "must come back as it is."
)
def adds_a_little(weights):
    return np.log(weights + 1e-9)


# --- 4.8 ----------------------------------------------------------------------------------------


def _attends_most(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), -np.inf, weights)
    return [tokens[i] for i in others.argmax(axis=-1)]


WHOM = Exercise(
    id="4.8",
    title="Whom does each word look at?",
    answer="attends_most",
    signature="attends_most(weights, tokens)",
    oracle=_attends_most,
    clauses={
        "the *other* word to which it attends most": "five words that attend to themselves",
        "as a list of words": THE_EXAMPLE,
        "Of several equally large weights take the first": "equally large weights",
        "treat a word that occurs twice as two words": "a word that occurs twice",
        "scores, which may be whole numbers or negative": "scores instead of weights",
        "tokens a list of T words, at least two": DRAWN,
    },
    coincidences={
        "argument 1: no axis has length 1": "one word has no other to attend to",
        "argument 2: never a single item": "one word has no other to attend to",
    },
    hints=(
        "In most rows the diagonal is largest: what must you do to it first?",
        "For each row, the argmax over the other columns, as a word.",
        "weights (T, T), tokens a list of T words; the result is a list of T words.",
    ),
    example=Example(
        (_FILTER, ["Show", "me", "the", "money"]),
        'in "Show me the money", the row of "the" should give "money": '
        "['me', 'money', 'money', 'me'].",
    ),
    equivalent={
        "return [tokens[column] for column in others.argmax(axis=-1)] -> "
        "return [tokens[column] for column in others.argmax(axis=1)]": "the last of two axes is 1"
    },
)
_words = ["we", "walk", "the", "old", "dog"]
_own = ref.softmax(numbers(25, 5, 5) + 3 * np.eye(5))
WHOM.case("five words that attend to themselves", "the largest weight but its own", _own, _words)
WHOM.case(
    "words that do not attend to themselves",
    "the largest weight of each row, which is not always the second largest",
    ref.softmax(numbers(26, 7, 7) - 2 * np.eye(7)),
    list("abcdefg"),
)
WHOM.case("scores instead of weights", "the least negative score", -np.exp(_own), _words)
WHOM.case("equally large weights", "the first of the largest", np.full((4, 4), 0.25), list("abcd"))
WHOM.case(
    "a word that occurs twice",
    "the other place, though the same word stands there",
    np.array([[0.5, 0.1, 0.4], [0.1, 0.7, 0.2], [0.4, 0.1, 0.5]]),
    ["the", "old", "the"],
)


@WHOM.draws
def _(rng, size):
    T = axis(rng, size, least=2) if size < 40 else size
    kinds = ANY_MAGNITUDE if size < 40 else ("whole", "ties")  # ties in rows too long for luck
    scores = values(rng, (T, T), ("whole", *kinds))
    sign = choice(rng, ("as it is", "negative", "far below zero", "weights"))
    if sign == "weights":
        scores = ref.softmax(np.clip(scores, -30, 30) + choice(rng, (-3, 0, 3)) * np.eye(T))
    elif sign != "as it is":
        scores = -np.abs(scores) - 1 if sign == "negative" else (-np.abs(scores) - 1) * 10**10
    if chance(rng, 0.6):
        tokens = [f"{choice(rng, WORDS)}{n}" for n in range(T)]
    else:
        tokens = [choice(rng, WORDS) for _ in range(T)]
    return scores, tokens


@WHOM.invariant("nobody names itself", "a word's own weight is left out")
def _(answer):
    named = answer(_own, _words)
    if len(named) != 5:
        return f"It returned {len(named)} words for 5 words."
    for word, other in zip(_words, named, strict=True):
        if word == other:
            return f"It says that {word!r} attends most to itself."


@WHOM.right
def asks_each_word(weights, tokens):
    named = []
    for i, row in enumerate(weights):
        best = max((j for j in range(len(tokens)) if j != i), key=lambda j: row[j])
        named.append(tokens[best])
    return named


@WHOM.right
def takes_words_from_an_array(weights, tokens):
    scores = weights.astype(float)
    scores[np.diag_indices(len(tokens))] = -np.inf
    return list(np.array(tokens)[scores.argmax(axis=1)])


@WHOM.mistake("You left each word's own weight in: leave out the diagonal.")
def names_itself(weights, tokens):
    return [tokens[i] for i in weights.argmax(axis=-1)]


@WHOM.mistake("You looked down the columns: a word's own attention stands in its row.")
def looks_down_columns(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), -np.inf, weights)
    return [tokens[i] for i in others.argmax(axis=0)]


@WHOM.mistake("You returned positions: return the words themselves, tokens[i].")
def returns_positions(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), -np.inf, weights)
    return others.argmax(axis=-1).tolist()


@WHOM.mistake(
    "You took the second largest of each row: that is right only if the largest is the word's own."
)
def takes_the_second_largest(weights, tokens):
    return [tokens[i] for i in np.argsort(weights, axis=-1)[:, -2]]


@WHOM.mistake("You set the diagonal to 0, which is still larger than a negative score: use -inf.")
def puts_zero_on_the_diagonal(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), 0, weights)
    return [tokens[i] for i in others.argmax(axis=-1)]


@WHOM.mistake("You took the smallest weight: argmax, not argmin.")
def takes_the_smallest(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), np.inf, weights)
    return [tokens[i] for i in others.argmin(axis=-1)]


@WHOM.mistake("Of equally large weights you took the last: take the first of them.")
def takes_the_last_of_equals(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), -np.inf, weights)
    return [tokens[len(tokens) - 1 - i] for i in others[:, ::-1].argmax(axis=-1)]


@WHOM.mistake(
    "You left out every place where the same word stands: only the word's own place is left out."
)
def leaves_out_equal_words(weights, tokens):
    alike = np.array(tokens)[:, None] == np.array(tokens)
    return [tokens[i] for i in np.where(alike, -np.inf, weights).argmax(axis=-1)]


@WHOM.mistake(
    "You put a large negative number on the diagonal: scores may lie even farther below zero, so "
    "use -inf."
)
def puts_a_large_number_on_the_diagonal(weights, tokens):
    others = np.where(np.eye(len(tokens), dtype=bool), -1e9, weights)
    return [tokens[i] for i in others.argmax(axis=-1)]
