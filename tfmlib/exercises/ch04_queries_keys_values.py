"""Chapter 4: pooling, softmax, scaled dot-product attention, and why it is scaled."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

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
)
_w5, _v53 = ref.softmax(numbers(1, 5)), numbers(2, 5, 3)
POOL.case("five values of three numbers", "each value times its weight, summed", _w5, _v53)
POOL.case(
    "weights that do not sum to one",
    "Eq. (1) takes the weights as they are",
    numbers(3, 7),
    numbers(4, 7, 2),
)


@POOL.invariant("a weight of one returns its value", "with one weight at 1, that row comes out")
def _(answer):
    return all(np.allclose(answer(np.eye(5)[i], _v53), _v53[i]) for i in range(5))


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


@SOFTMAX.invariant("every row sums to one", "the weights of each row add up to 1")
def _(answer):
    return np.allclose(np.sum(answer(_rows), axis=-1), 1)


@SOFTMAX.invariant(
    "a shift changes nothing", "adding the same number to a row leaves its softmax as it was"
)
def _(answer):
    return np.allclose(answer(_rows + 11.0), answer(_rows))


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
    hints=(
        "Which product of q and k holds the dot product of every query with every key?",
        "softmax(q @ k.T / sqrt(d_k)), where d_k is the length of one key.",
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


@WEIGHTS.invariant("every row sums to one", "the weights of each query add up to 1")
def _(answer):
    return np.allclose(np.sum(answer(_q, _k), axis=-1), 1)


@WEIGHTS.invariant(
    "keys in another order give weights in that order",
    "permuting the keys permutes the columns and changes nothing else",
)
def _(answer):
    order = [3, 0, 4, 1, 2]
    return np.allclose(answer(_q, _k[order]), answer(_q, _k)[:, order])


@WEIGHTS.mistake("You did not divide by √d_k: the scores grow with the length of the vectors.")
def forgets_to_scale(q, k):
    return ref.softmax(q @ k.T)


@WEIGHTS.mistake("You divided by d_k: it is the square root that keeps the variance at 1.")
def divides_by_d_k(q, k):
    return ref.softmax(q @ k.T / q.shape[-1])


@WEIGHTS.mistake("You divided by the root of the number of keys: d_k is the length of one key.")
def scales_by_the_number_of_keys(q, k):
    return ref.softmax(q @ k.T / np.sqrt(len(k)))


@WEIGHTS.mistake("You multiplied by √d_k: the scores must become smaller, not larger.")
def multiplies_by_the_root(q, k):
    return ref.softmax(q @ k.T * np.sqrt(q.shape[-1]))


@WEIGHTS.mistake("You normalised over the queries: each query's row must sum to one, axis -1.")
def normalises_over_queries(q, k):
    return ref.softmax(q @ k.T / np.sqrt(q.shape[-1]), axis=0)


@WEIGHTS.mistake("You put keys in rows and queries in columns: the scores are q @ k.T.")
def swaps_queries_and_keys(q, k):
    return ref.softmax(k @ q.T / np.sqrt(q.shape[-1]))


@WEIGHTS.mistake("You scaled after the softmax: then the rows no longer sum to one.")
def scales_the_weights(q, k):
    return ref.softmax(q @ k.T) / np.sqrt(q.shape[-1])


# --- 4.4 ----------------------------------------------------------------------------------------

ATTENTION = Exercise(
    id="4.4",
    title="Scaled dot-product attention, in batches",
    answer="attention",
    signature="attention(q, k, v)",
    oracle=lambda q, k, v: ref.attention(q, k, v),
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
    "any number of leading axes",
    numbers(16, 2, 3, 5, 7),
    numbers(17, 2, 3, 11, 7),
    numbers(18, 2, 3, 11, 13),
)


@ATTENTION.invariant(
    "a batch is its sentences one by one", "the batch gives what each sentence gives alone"
)
def _(answer):
    alone = [answer(_bq[i], _bk[i], _bv[i]) for i in range(2)]
    return np.allclose(answer(_bq, _bk, _bv), alone)


@ATTENTION.invariant(
    "equal values come back unchanged", "a mixture of copies of one value is that value"
)
def _(answer):
    same = np.broadcast_to(numbers(19, 11), (2, 5, 11)).copy()
    return np.allclose(answer(_bq, _bk, same), same[:, :1])


def _scores(q, k):
    return q @ k.swapaxes(-1, -2)


@ATTENTION.mistake("You did not divide by √d_k.")
def attends_without_scaling(q, k, v):
    return ref.softmax(_scores(q, k)) @ v


@ATTENTION.mistake(
    "You used .T, which reverses all axes of a batch: swap the last two, k.swapaxes(-1, -2)."
)
def transposes_the_whole_batch(q, k, v):
    return ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


@ATTENTION.mistake("You returned the weights: multiply them with the values.")
def returns_the_weights(q, k, v):
    return ref.attention_weights(q, k)


@ATTENTION.mistake("You normalised over the queries: the softmax runs over the keys, axis -1.")
def softmax_over_queries(q, k, v):
    return ref.softmax(_scores(q, k) / np.sqrt(q.shape[-1]), axis=-2) @ v


@ATTENTION.mistake("You scaled by the length of the values: d_k is the length of a key.")
def scales_by_the_values(q, k, v):
    return ref.softmax(_scores(q, k) / np.sqrt(v.shape[-1])) @ v


# --- 4.5 ----------------------------------------------------------------------------------------


def _unit_scale(d_k, q_variance, k_variance):
    return 1 / np.sqrt(d_k * q_variance * k_variance)


UNIT_SCALE = Exercise(
    id="4.5",
    title="The factor that keeps scores at variance 1",
    answer="unit_scale",
    signature="unit_scale(d_k, q_variance, k_variance)",
    oracle=_unit_scale,
    hints=(
        "The variance of a sum of independent terms is the sum of their variances: how many terms "
        "has a dot product?",
        "Var(q·k) = d_k · Var(q_i) · Var(k_i), and Var(c·s) = c² Var(s).",
        "Three numbers in, one number out.",
    ),
    example=Example((64, 1.0, 1.0), "d_k = 64 with unit variances should give 0.125, i.e. 1/8."),
)
UNIT_SCALE.case("unit variances", "the paper's case: 1/√d_k", 7, 1.0, 1.0)
UNIT_SCALE.case("queries that vary more", "both variances count", 5, 9.0, 1.0)
UNIT_SCALE.case("keys that vary less", "both variances count", 11, 1.0, 0.25)


@UNIT_SCALE.invariant(
    "simulated scores get variance 1",
    "20,000 random dot products times your factor have a variance within 5 % of 1",
)
def _(answer):
    rng = np.random.default_rng(20)
    q, k = rng.normal(0, 2, (20_000, 13)), rng.normal(0, 0.5, (20_000, 13))
    return abs(np.var((q * k).sum(axis=1) * answer(13, 4.0, 0.25)) - 1) < 0.05


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


# --- 4.6 ----------------------------------------------------------------------------------------


def _jacobian(s):
    return np.diag(s) - np.outer(s, s)


JACOBIAN = Exercise(
    id="4.6",
    title="Find the bug: how softmax moves",
    answer="softmax_jacobian",
    signature="softmax_jacobian(s)",
    oracle=_jacobian,
    hints=(
        "What is the shape of s * s, and what does NumPy do when you subtract it from a matrix?",
        "J[i, j] = s_i (1 if i = j else 0) - s_i s_j.",
        "s is (S,); the diagonal matrix and the product of every s_i with every s_j are (S, S).",
    ),
    example=Example(
        (np.array([0.5, 0.5]),), "weights [0.5, 0.5] should give [[0.25, -0.25], [-0.25, 0.25]]."
    ),
)
JACOBIAN.case("five weights", "Eq. for J, entry by entry", ref.softmax(numbers(21, 5)))
JACOBIAN.case("three uneven weights", "Eq. for J, entry by entry", np.array([0.7, 0.2, 0.1]))


@JACOBIAN.invariant(
    "it predicts a small step",
    "moving a score by 1e-6 moves the weights by the Jacobian's column times 1e-6",
)
def _(answer):
    x, step = numbers(22, 5), 1e-6
    jacobian = np.asarray(answer(ref.softmax(x)))
    moved = [(ref.softmax(x + step * e) - ref.softmax(x)) / step for e in np.eye(5)]
    return np.allclose(jacobian, np.array(moved).T, atol=1e-5)


@JACOBIAN.invariant("rows sum to zero", "the weights always sum to one, so their changes cancel")
def _(answer):
    return np.allclose(np.sum(answer(ref.softmax(numbers(23, 7))), axis=-1), 0)


@JACOBIAN.mistake(
    "This is still the bug: s * s has one entry a weight, and NumPy subtracts it from every row. "
    "You need the product of every pair, np.outer(s, s)."
)
def keeps_the_bug(s):
    return np.diag(s) - s * s


@JACOBIAN.mistake("The sign is turned round: a weight grows with its own score.")
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


@INVERT.invariant(
    "the filter of Show me the money comes back",
    "the softmax of your scores is the printed filter again",
)
def _(answer):
    return np.allclose(ref.softmax(answer(_FILTER)), _FILTER)


@INVERT.invariant("random weights come back", "the softmax of your scores is what you were given")
def _(answer):
    return np.allclose(ref.softmax(answer(_given)), _given)


@INVERT.invariant("very small weights come back", "a weight of 1e-12 is a weight, too")
def _(answer):
    tiny = np.array([[1e-12, 1 - 1e-12], [0.25, 0.75]])
    return np.allclose(np.log(ref.softmax(answer(tiny))), np.log(tiny))


@INVERT.invariant(
    "the scores give back exponentials",
    "within a row, exp of a difference of scores is the ratio of the weights",
)
def _(answer):
    scores = np.asarray(answer(_given))
    ratio = np.exp(scores[:, 1] - scores[:, 0])
    return np.allclose(ratio, _given[:, 1] / _given[:, 0])


@INVERT.mistake("You exponentiated again: softmax does that already; take the logarithm.")
def exponentiates_again(weights):
    return np.exp(weights)


@INVERT.mistake("You returned the weights: the softmax of weights is much flatter than they are.")
def returns_its_input(weights):
    return weights


@INVERT.mistake("That is the logarithm to base 10: softmax uses e, so take np.log.")
def takes_base_ten(weights):
    return np.log10(weights)


@INVERT.mistake(
    "log(p / (1 - p)) undoes the sigmoid, the softmax of two scores of which one is 0; "
    "in a longer row, log(p) alone is right."
)
def undoes_a_sigmoid(weights):
    return np.log(weights / (1 - weights))


@INVERT.mistake("That is -log: it turns the order round, the largest weight would become smallest.")
def turns_the_order_round(weights):
    return -np.log(weights)


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
    "a row may already have its largest weight elsewhere",
    ref.softmax(numbers(26, 7, 7) - 2 * np.eye(7)),
    list("abcdefg"),
)
WHOM.case("scores instead of weights", "negative entries count, too", -np.exp(_own), _words)


@WHOM.invariant("nobody names itself", "a word's own weight is left out")
def _(answer):
    named = answer(_own, _words)
    return len(named) == 5 and all(a != b for a, b in zip(named, _words, strict=True))


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
