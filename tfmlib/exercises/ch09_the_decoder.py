"""Chapter 9: cross-attention, scoring a sentence, and the ways to choose the next token."""

import math
from itertools import pairwise

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same, show
from tfmlib.checking.draw import (
    ANY_MAGNITUDE,
    KINDS,
    axis,
    chance,
    choice,
    ids,
    leading,
    positive,
    probabilities,
    values,
)
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome, unmet


def _shaped(value, shape):
    """The value as an array of this shape."""
    array = as_array(value)
    if array is None:
        raise AnswerError(Outcome.KIND, expected=describe(np.zeros(shape)), got=describe(value))
    if array.shape != shape:
        raise AnswerError(Outcome.SHAPE, expected=shape, got=array.shape)
    if not np.isfinite(array).all():
        raise AnswerError(Outcome.NOT_FINITE, count=(~np.isfinite(array)).sum(), size=array.size)
    return array


def _require_type(array, natural):
    """Raise if the values of an array, right as they are, have another type than is natural."""
    if not is_of_kind(array, np.zeros(0, natural)):
        raise AnswerError(Outcome.DTYPE, got=array.dtype, expected=np.dtype(natural))


# --- 9.1 ----------------------------------------------------------------------------------------

CROSS = Exercise(
    id="9.1",
    title="Cross-attention",
    answer="cross_attention",
    signature="cross_attention(x, memory, w_q, w_k, w_v)",
    oracle=lambda x, memory, w_q, w_k, w_v: ref.attention(x @ w_q, memory @ w_k, memory @ w_v),
    clauses={
        "Write one head of it": "three tokens ask five",
        "followed by scaled dot-product attention": "five tokens ask three",
        "x (T, D), memory (S, D), w_q and w_k (D, K), w_v (D, d_v) -> (T, d_v)": (DRAWN),
    },
    hints=(
        "Who asks, and who answers? Whose rows must the result have?",
        "Q = x W^q, K = memory W^k, V = memory W^v, then softmax(Q Kᵀ / sqrt(d_k)) V.",
        "x (T, D), memory (S, D), w_q and w_k (D, K), w_v (D, d_v): weights (T, S), result "
        "(T, d_v).",
    ),
    example=Example(
        (np.zeros((1, 2)), np.array([[2.0, 4.0], [6.0, 0.0]]), np.eye(2), np.eye(2), np.eye(2)),
        "a query of zeros takes equal parts of the source's rows [2, 4] and [6, 0]: [[4, 2]] "
        "should come out.",
    ),
)
_x, _memory = numbers(1, 3, 7), numbers(2, 5, 7)
_wq, _wk, _wv = numbers(3, 7, 2), numbers(4, 7, 2), numbers(5, 7, 11)
CROSS.case(
    "three tokens ask five", "queries of x, keys and values of memory", _x, _memory, _wq, _wk, _wv
)
CROSS.case(
    "five tokens ask three",
    "queries of x, keys and values of memory",
    numbers(6, 5, 3),
    numbers(7, 3, 3),
    numbers(8, 3, 7),
    numbers(9, 3, 7),
    numbers(10, 3, 2),
)


@CROSS.draws
def _(rng, size):
    T, S, D, K, d_v = (axis(rng, size) for _ in range(5))
    x = values(rng, (T, D), ANY_MAGNITUDE)
    memory = values(rng, (S, D), (*KINDS, "tiny"))
    if chance(rng, 0.15):  # whole numbers wherever one looks
        shapes = ((T, D), (S, D), (D, K), (D, K), (D, d_v))
        return tuple(rng.integers(-2, 3, size=shape) for shape in shapes)
    return x, memory, values(rng, (D, K)), values(rng, (D, K)), values(rng, (D, d_v))


@CROSS.invariant(
    "the order of the source's rows does not matter", "attention takes the source as a set"
)
def _(answer):
    order = [3, 0, 4, 1, 2]
    given = answer(_x, _memory, _wq, _wk, _wv)
    return np.shape(given) == (3, 11) and same(answer(_x, _memory[order], _wq, _wk, _wv), given)


@CROSS.invariant(
    "each place asks for itself", "changing one row of x moves that row of the result alone"
)
def _(answer):
    x = _x.copy()
    x[1] += 1.0
    change = np.abs(answer(x, _memory, _wq, _wk, _wv) - answer(_x, _memory, _wq, _wk, _wv))
    if change[[0, 2]].max() > 1e-9:
        return f"Row 1 of x was changed, and other rows moved by up to {change[[0, 2]].max():.4g}."
    return None if change[1].max() > 1e-3 else "Row 1 of x was changed, and its result stayed."


@CROSS.right
def asks_token_by_token(x, memory, w_q, w_k, w_v):
    keys, contents = memory @ w_k, memory @ w_v
    rows = []
    for query in x @ w_q:
        scores = np.array([query @ key for key in keys]) / w_q.shape[1] ** 0.5
        powers = np.exp(scores - scores.max())
        rows.append((powers / powers.sum() @ contents).tolist())
    return rows


@CROSS.right
def writes_it_with_einsum(x, memory, w_q, w_k, w_v):
    scores = np.einsum("td,dk,ek,se->ts", x, w_q, w_k, memory) / math.sqrt(w_k.shape[-1])
    return np.einsum("ts,sd,dv->tv", ref.softmax(scores), memory, w_v)


@CROSS.mistake("That is self-attention: the keys and values must come from the memory.")
def attends_to_itself(x, memory, w_q, w_k, w_v):
    return ref.attention(x @ w_q, x @ w_k, x @ w_v)


@CROSS.mistake("The roles are swapped: the target x asks, the memory answers.")
def lets_the_source_ask(x, memory, w_q, w_k, w_v):
    return ref.attention(memory @ w_q, x @ w_k, x @ w_v)


@CROSS.mistake("You never used x: the queries come from the target.")
def asks_the_source_about_itself(x, memory, w_q, w_k, w_v):
    return ref.attention(memory @ w_q, memory @ w_k, memory @ w_v)


@CROSS.mistake("The values come from the memory, like the keys: whoever is found hands over.")
def takes_values_of_the_target(x, memory, w_q, w_k, w_v):
    return ref.attention_weights(x @ w_q, memory @ w_k) @ (x @ w_v)


@CROSS.mistake("You did not divide the scores by √d_k.")
def forgets_to_scale(x, memory, w_q, w_k, w_v):
    return ref.softmax(x @ w_q @ (memory @ w_k).T) @ memory @ w_v


@CROSS.mistake("There is no look-ahead mask here: the source is all there.")
def hides_the_source(x, memory, w_q, w_k, w_v):
    mask = np.tri(len(x), len(memory), dtype=bool)
    return ref.attention(x @ w_q, memory @ w_k, memory @ w_v, mask)


# --- 9.2 ----------------------------------------------------------------------------------------


def _sentence(logits, ids):
    return sum(float(ref.log_softmax(row)[token]) for row, token in zip(logits, ids, strict=True))


SENTENCE = Exercise(
    id="9.2",
    title="The log-probability of a sentence",
    answer="sentence_log_probability",
    signature="sentence_log_probability(logits, ids)",
    oracle=_sentence,
    clauses={
        "row $t$ of `logits` is what the model gives before token `ids[t]`": "five tokens",
        "Logits may be of any size": "logits in the thousands",
        "logits (T, V), ids (T,), integers -> a number": DRAWN,
    },
    hints=(
        "Which entry of each row belongs to the token that was written?",
        "The sum over t of log_softmax(logits[t])[ids[t]].",
        "logits (T, V), ids (T,), log-probabilities (T, V), one number out.",
    ),
    example=Example(
        (np.log([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1])),
        "probabilities 0.5 and 0.8 should give ln 0.4 = -0.916.",
    ),
)
_logits, _tokens = 2 * numbers(11, 5, 7), np.array([3, 0, 6, 6, 2])
SENTENCE.case("five tokens", "one logarithm a token, summed", _logits, _tokens)
SENTENCE.case(
    "another vocabulary", "each row has its own softmax", numbers(12, 3, 11), np.array([10, 0, 4])
)
SENTENCE.case(
    "a thousand tokens",
    "the sum of logarithms stays a number where the product of probabilities is 0",
    numbers(13, 1009, 5),
    np.arange(1009) % 5,
)
SENTENCE.case(
    "logits in the thousands",
    "a finite sum, although the probability of a token is too small for a float",
    np.array([[3000.0, -2000.0, 1000.0], [-1500.0, 2500.0, 500.0]]),
    np.array([2, 1]),
)


@SENTENCE.draws
def _(rng, size):
    T, V = axis(rng, size), axis(rng, size)
    return values(rng, (T, V), ANY_MAGNITUDE), ids(rng, (T,), V)


@SENTENCE.invariant(
    "a number added to a row changes nothing", "logits count up to a constant in each row"
)
def _(answer):
    shifted = _logits + np.array([[1.0], [-2.0], [3.0], [5.0], [-7.0]])
    return same(answer(shifted, _tokens), _sentence(_logits, _tokens))


@SENTENCE.invariant(
    "all sentences together are certain",
    "the probabilities of all sentences of two tokens sum to 1",
)
def _(answer):
    logits = numbers(14, 2, 3)
    sentences = [np.array([i, j]) for i in range(3) for j in range(3)]
    return same(sum(np.exp(answer(logits, ids)) for ids in sentences), 1.0)


@SENTENCE.right
def adds_row_by_row(logits, ids):
    total = 0.0
    for row, token in zip(logits.tolist(), ids.tolist(), strict=True):
        rest = sum(math.exp(score - max(row)) for score in row)
        total += row[token] - max(row) - math.log(rest)
    return total


@SENTENCE.right
def subtracts_the_log_of_the_sums(logits, ids):
    sums = np.logaddexp.reduce(np.asarray(logits, dtype=float), axis=1)
    return np.einsum("tv,tv->", np.eye(logits.shape[1])[ids], logits - sums[:, None])


def _picked(table, tokens):
    return table[np.arange(len(tokens)), tokens]


@SENTENCE.mistake("That is the mean: the logarithm of a product is the sum.")
def takes_the_mean(logits, ids):
    return _picked(ref.log_softmax(logits), ids).mean()


@SENTENCE.mistake("You added the logits: each row must go through log_softmax first.")
def adds_the_logits(logits, ids):
    return _picked(logits, ids).sum()


@SENTENCE.mistake("That is the probability: the question is for its logarithm.")
def multiplies_probabilities(logits, ids):
    return np.prod(_picked(ref.softmax(logits), ids))


@SENTENCE.mistake(
    "You multiplied first: over a thousand tokens the product is 0, and its logarithm -∞. Add the "
    "logarithms."
)
def takes_the_logarithm_of_a_product(logits, ids):
    return np.log(np.prod(_picked(ref.softmax(logits), ids)))


@SENTENCE.mistake("You normalised over the places: each row is a distribution over words, axis -1.")
def normalises_over_places(logits, ids):
    return _picked(ref.log_softmax(logits, axis=0), ids).sum()


@SENTENCE.mistake("That is the likeliest sentence's: use the tokens that were written, ids.")
def scores_the_likeliest(logits, ids):
    return ref.log_softmax(logits).max(axis=-1).sum()


@SENTENCE.mistake("You took all columns for each token: one entry a row, logs[np.arange(T), ids].")
def takes_whole_columns(logits, ids):
    return ref.log_softmax(logits)[:, ids].sum()


@SENTENCE.mistake(
    "You took the logarithm of the softmax: of a very small probability only 0 is left, and its "
    "logarithm is -∞. ref.log_softmax does both at once."
)
def takes_the_log_of_the_softmax(logits, ids):
    return np.log(_picked(ref.softmax(logits), ids)).sum()


# --- 9.3 ----------------------------------------------------------------------------------------


def _greedy(table, start, end, most):
    path = [start]
    for _ in range(most):
        if path[-1] != end:
            path.append(int(np.argmax(table[path[-1]])))
    return path[1:]


GREEDY = Exercise(
    id="9.3",
    title="Greedy decoding",
    answer="greedy",
    signature="greedy(table, start, end, most)",
    oracle=_greedy,
    clauses={
        "the list of tokens that greedy decoding writes": "a sentence of four tokens",
        "without `start`": "other start and end",
        "with `end` if it gets there": "exactly long enough",
        "at most `most` tokens": "a circle that never ends",
        "`end` counted": "exactly long enough",
        "table (V, V), three numbers -> a list of token ids": DRAWN,
    },
    coincidences={
        "argument 1: no axis has length 1": "a vocabulary has at least a start and an end"
    },
    hints=(
        "Which row of the table do you look at in the first step, and which in the second?",
        "token = argmax of table[token], appended, until it is end or there are `most` of them.",
        "table (V, V), row i for the token after i; a list of at most `most` ids comes out.",
    ),
    example=Example(
        (np.array([[0.0, 0.2, 0.8], [0.0, 1.0, 0.0], [0.1, 0.6, 0.3]]), 0, 1, 5),
        "0 is followed by 2, and 2 by the end, 1: [2, 1] should come out.",
    ),
)


def _chain(*path, size, seed):
    """A table whose likeliest path is the given one."""
    table = ref.softmax(numbers(seed, size, size))
    for token, following in pairwise(path):
        table[token, following] += 1.0
    return table / table.sum(axis=-1, keepdims=True)


_five = _chain(0, 3, 2, 4, 1, size=5, seed=15)
_seven = _chain(2, 5, 0, 6, 3, size=7, seed=16)
_circle = _chain(0, 3, 2, 4, 0, size=5, seed=17)
GREEDY.case("a sentence of four tokens", "each token chooses the next", _five, 0, 1, 11)
GREEDY.case(
    "other start and end", "the tokens after `start`, up to `end` and with it", _seven, 2, 3, 11
)
GREEDY.case("a circle that never ends", "exactly `most` tokens", _circle, 0, 1, 7)
GREEDY.case("a circle for long", "exactly `most` tokens, however many", _circle, 0, 1, 211)
GREEDY.case("exactly long enough", "`most` tokens, the last of which is the end", _five, 0, 1, 4)


@GREEDY.draws
def _(rng, size):
    V = axis(rng, size, 2)
    order = rng.permutation(V)
    following = np.empty(V, dtype=int)
    following[order] = np.roll(order, -1)  # a way through all tokens
    table = probabilities(rng, (V, V), zeros=True)
    if chance(rng) or size >= 40:
        table = 0.4 * table + 0.6 * np.eye(V)[following]
    elif chance(rng, 0.3):
        table = np.eye(V, dtype=int)[following]
    start, end = (int(token) for token in rng.permutation(V)[:2])
    return table, start, end, axis(rng, size + 2, 0) if size < 40 else 2 * size


@GREEDY.invariant("a shorter limit gives a beginning", "with most = 3 the first three come out")
def _(answer):
    return same(answer(_circle, 0, 1, 3), _greedy(_circle, 0, 1, 5)[:3])


@GREEDY.right
def calls_itself(table, start, end, most):
    if start == end or most == 0:
        return []
    token = max(range(len(table)), key=lambda following: table[start][following])
    return [token, *calls_itself(table, token, end, most - 1)]


@GREEDY.right
def breaks_at_the_end(table, start, end, most):
    best, written, token = table.argmax(axis=1), [], start
    for _ in range(most):
        token = best[token]
        written.append(token)
        if token == end:
            break
    return tuple(written)


@GREEDY.mistake("You kept the start token: it is an input, not something that was written.")
def keeps_the_start(table, start, end, most):
    return [start, *_greedy(table, start, end, most)]


@GREEDY.mistake("You kept the start token, and let it count: `most` is for what was written.")
def keeps_and_counts_the_start(table, start, end, most):
    return [start, *_greedy(table, start, end, most - 1)]


@GREEDY.mistake("You left the end token out: it tells a finished sentence from one that was cut.")
def drops_the_end(table, start, end, most):
    return [token for token in _greedy(table, start, end, most) if token != end]


@GREEDY.mistake("Your loop goes on behind the end token: stop as soon as that is the one chosen.")
def ignores_the_end(table, start, end, most):
    return _greedy(table, start, -1, most)


@GREEDY.mistake("You looked at the same row each time: the chosen token is the next input.")
def feeds_nothing_back(table, start, end, most):
    written = []
    while len(written) < most and written[-1:] != [end]:
        written.append(int(table[start].argmax()))
    return written


@GREEDY.mistake("You looked down a column: row i holds what follows token i.")
def looks_down_columns(table, start, end, most):
    return _greedy(table.T, start, end, most)


@GREEDY.mistake("You stopped one token early: `most` counts the tokens written, without start.")
def counts_the_start(table, start, end, most):
    return _greedy(table, start, end, most - 1)


@GREEDY.mistake(
    "You write a token before you look at `most`: of at most 0 tokens, none is written."
)
def writes_before_it_counts(table, start, end, most):
    return _greedy(table, start, end, max(most, 1))


@GREEDY.mistake("You began at token 0 and stopped at token 1: take `start` and `end` as given.")
def begins_at_0_and_stops_at_1(table, start, end, most):
    return _greedy(table, 0, 1, most)


# --- 9.4 ----------------------------------------------------------------------------------------

TEMPERATURE = Exercise(
    id="9.4",
    title="Find the bug: temperature",
    answer="with_temperature",
    signature="with_temperature(logits, temperature)",
    oracle=lambda logits, temperature: ref.softmax(logits / temperature),
    clauses={
        "nothing happens": "heat makes it flatter",
        "for logits of any size": "logits in the thousands",
        "logits (..., V), a positive number -> (..., V)": DRAWN,
    },
    hints=(
        "If you divide all probabilities by 2 and then by their sum, what have you changed?",
        "softmax(logits / temperature).",
        "logits and probabilities are (..., V), the temperature is a number.",
    ),
    example=Example(
        (np.log([9.0, 1.0]), 2.0),
        "logits ln 9 and ln 1 at temperature 2 should give [0.75, 0.25], because √9 is 3.",
    ),
)
_row, _rows = numbers(18, 7), numbers(19, 3, 5)
TEMPERATURE.case("a hot row", "the logits are divided before the softmax", _row, 3.0)
TEMPERATURE.case("three cold rows", "each row is a softmax of its own", _rows, 0.5)
TEMPERATURE.case(
    "logits in the thousands",
    "probabilities, without overflow",
    np.array([[5000.0, 4998.0], [-5000.0, -5001.0]]),
    2.0,
)


@TEMPERATURE.draws
def _(rng, size):
    logits = values(rng, (*leading(rng, size), axis(rng, size)), ANY_MAGNITUDE)
    # Of any size, but no further apart than their probabilities can be told from 0.
    logits = np.maximum(logits, logits.max(axis=-1, keepdims=True) - 600)
    cold = 0.005 if logits.shape[-1] < 20 else 0.01
    temperature = choice(rng, (1.0, 2, 0.5, cold, 100.0, float(positive(rng, ()))))
    if chance(rng, 0.3):
        logits = logits * temperature  # close to each other where it is cold
    return logits, temperature


@TEMPERATURE.invariant(
    "heat makes it flatter", "a higher temperature lowers the largest probability"
)
def _(answer):
    largest = [np.max(answer(_row, t)) for t in (0.5, 1.0, 2.0, 5.0)]
    if (np.diff(largest) < 0).all() and largest[0] > largest[-1] + 0.1:
        return None
    return f"At temperatures 0.5, 1, 2 and 5 the largest probabilities are {show(largest)}."


@TEMPERATURE.invariant("temperature 1 changes nothing", "at 1 it is the softmax")
def _(answer):
    return same(answer(_rows, 1.0), ref.softmax(_rows))


@TEMPERATURE.right
def goes_row_by_row(logits, temperature):
    if logits.ndim > 1:
        return [goes_row_by_row(part, temperature) for part in logits]
    powers = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    return [power / sum(powers) for power in powers]


@TEMPERATURE.right
def takes_a_power_of_the_probabilities(logits, temperature):
    powers = ref.softmax(logits) ** (1 / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


@TEMPERATURE.mistake(
    "The temperature has no effect: a factor on all probabilities is divided out by their sum, and "
    "a shift of all logits changes nothing either. Divide the logits."
)
def keeps_the_bug(logits, temperature):
    p = ref.softmax(logits) / temperature
    return p / p.sum(axis=-1, keepdims=True)


@TEMPERATURE.mistake("You multiplied: then heat would make it sharper.")
def multiplies_the_logits(logits, temperature):
    return ref.softmax(logits * temperature)


@TEMPERATURE.mistake("You took the softmax twice: the logits go in, divided, once.")
def takes_the_softmax_twice(logits, temperature):
    return ref.softmax(ref.softmax(logits) / temperature)


@TEMPERATURE.mistake("The probabilities no longer sum to one: divide the logits, not the result.")
def divides_the_result(logits, temperature):
    return ref.softmax(logits) / temperature


@TEMPERATURE.mistake("That is the right power, p to the 1/τ, but it must be divided by its sum.")
def forgets_to_normalise(logits, temperature):
    return ref.softmax(logits) ** (1 / temperature)


@TEMPERATURE.mistake("You divided by the sum over all rows: each row has a sum of its own.")
def sums_over_everything(logits, temperature):
    z = logits / temperature
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    return powers / powers.sum()


@TEMPERATURE.mistake(
    "You took the exponentials as they are: exp(1000) is infinite, and ∞/∞ is NaN. ref.softmax "
    "subtracts the largest logit first."
)
def overflows(logits, temperature):
    powers = np.exp(logits / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


# --- 9.5 ----------------------------------------------------------------------------------------


NUCLEUS = Exercise(
    id="9.5",
    title="Top-p",
    answer="nucleus",
    signature="nucleus(probabilities, p)",
    clauses={
        "take the likeliest tokens": "eleven tokens",
        "until their sum reaches `p`": "a sum that is reached exactly",
        "the one that reaches it included": "a very small p",
        "set the others to 0": "seven tokens",
        "divide by what is left": "what is kept keeps its proportions",
        "each token in its old place": "eleven tokens",
        "a number above 0, up to 1": "with p = 1 nothing changes",
        "probabilities (V,)": DRAWN,
    },
    hints=(
        "Going down from the likeliest token: what must the sum of those before it not have "
        "reached yet, if a token is to be kept?",
        "Sort from the likeliest down; keep where cumsum minus the own probability is below p.",
        "probabilities (V,) in and out, each token in its old place, sum 1.",
    ),
    example=Example(
        (np.array([0.1, 0.5, 0.15, 0.25]), 0.7),
        "of 0.1, 0.5, 0.15, 0.25 the two likeliest reach 0.7: [0, 0.667, 0, 0.333] should come "
        "out.",
    ),
)
_p11, _p7 = ref.softmax(2 * numbers(20, 11)), ref.softmax(numbers(21, 7))
NUCLEUS.case("eleven tokens", "the fewest that reach 0.9", _p11, 0.9)
NUCLEUS.case("seven tokens", "the fewest that reach a half", _p7, 0.5)
NUCLEUS.case(
    "a sum that is reached exactly",
    "no token is added once p is reached",
    np.array([0.25, 0.5, 0.125, 0.125]),
    0.75,
)
NUCLEUS.case("a very small p", "a 1 for the likeliest token, which always stays", _p7, 0.01)
NUCLEUS.case("four tokens alike", "two of the four, either two of them", np.array([0.25] * 4), 0.5)


@NUCLEUS.accepting
def _(value, probs, p):
    result = _shaped(value, probs.shape)
    kept = result > 0
    if not kept.any():
        return "It keeps no token: the likeliest one always stays."
    weakest, rest = probs[kept].min(), np.where(kept, 0, probs)
    if rest.max() > weakest:
        return (
            f"It keeps a token of probability {weakest:.4g} and drops one of {rest.max():.4g}, "
            "which is likelier."
        )
    total = math.fsum(probs[kept])
    if total < p - 1e-9:
        return f"What it keeps has the sum {total:.4g}, which does not reach p = {p:.4g}."
    if (before := math.fsum([*probs[kept], -weakest])) >= p:
        return (
            f"It keeps {kept.sum()} tokens, but without the last of them the sum is "
            f"{before:.4g}, which reaches p = {p:.4g} already."
        )
    same(result, np.where(kept, probs, 0) / total, rtol=1e-6, atol=1e-12)
    return _require_type(result, float)


@NUCLEUS.draws
def _(rng, size):
    V = axis(rng, size)
    if chance(rng, 0.3):  # sixty-fourths, so that a sum reaches p exactly, and with ties
        parts = rng.multinomial(64, np.full(V, 1 / V)) / 64
        return parts, float(rng.integers(1, 65)) / 64
    if chance(rng, 0.2):
        return np.eye(V, dtype=int)[rng.integers(V)], choice(rng, (1, 1.0, 0.5, 1e-30))
    sharp = ref.softmax(choice(rng, (0.0, 1.0, 5.0)) * rng.normal(size=V))
    probs = choice(rng, (sharp, probabilities(rng, (V,), zeros=True)))
    likely = np.sort(probs)[::-1]
    sums = np.cumsum(likely)
    last = int(
        rng.integers((likely > 1e-6).sum())
    )  # p within this one: nothing hangs by a rounding
    p = choice(rng, (1.0, 1e-30, float(sums[last] - likely[last] / 2)))
    return (probs, p) if likely[likely > 0].min() > 1e-6 or p < 1 else (probs, 0.5 * likely[0])


@NUCLEUS.invariant("with p = 1 nothing changes", "every token is needed to reach 1")
def _(answer):
    return same(answer(_p7, 1.0), _p7)


@NUCLEUS.invariant("what is kept keeps its proportions", "the kept ones are all divided alike")
def _(answer):
    result = np.asarray(answer(_p11, 0.8))
    ratios = (result / _p11)[result > 0]
    if len(ratios) < 2:
        return f"It keeps {len(ratios)} of the tokens, and more are needed to reach 0.8."
    return same(ratios, np.full(len(ratios), ratios[0])) and same(result.sum(), 1.0)


@NUCLEUS.invariant("as few as it takes", "of six equal tokens three are kept to reach a half")
def _(answer):
    kept = np.count_nonzero(answer(np.full(6, 1 / 6), 0.45))
    return None if kept == 3 else f"It keeps {kept} of six equal tokens to reach 0.45, not 3."


@NUCLEUS.right
def adds_the_likeliest_in_a_loop(probabilities, p):
    kept, reached = [0.0] * len(probabilities), 0.0
    for token in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        if reached >= p:
            break
        kept[token] = float(probabilities[token])
        reached += kept[token]
    return [share / reached for share in kept]


@NUCLEUS.right
def turns_the_order_round(probabilities, p):
    order = np.argsort(probabilities)[::-1]
    count = np.searchsorted(np.cumsum(probabilities[order]), p - 1e-12) + 1
    result = np.zeros(len(probabilities))
    result[order[:count]] = probabilities[order[:count]]
    return result / result.sum()


def _sorted_kept(probabilities, keeps):
    """Probabilities from the likeliest down, and where to keep them by a rule on their sums."""
    order = np.argsort(-probabilities, kind="stable")
    likely = probabilities[order]
    kept = np.where(keeps(np.cumsum(likely), likely), likely, 0)
    return order, kept


def _in_place(order, kept):
    result = np.empty(len(kept))
    result[order] = kept
    return result


@NUCLEUS.mistake("You dropped the token that reaches p: the sum of what is kept must reach it.")
def drops_the_token_that_reaches(probabilities, p):
    order, kept = _sorted_kept(probabilities, lambda total, own: total <= p)
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You did not divide by what is left: the result must sum to one.")
def forgets_to_divide(probabilities, p):
    return _in_place(*_sorted_kept(probabilities, lambda total, own: total - own < p))


@NUCLEUS.mistake("The values are right but sorted: each must go back to its token's place.")
def leaves_them_sorted(probabilities, p):
    _, kept = _sorted_kept(probabilities, lambda total, own: total - own < p)
    return kept / kept.sum()


@NUCLEUS.mistake("You began with the rarest tokens: begin with the likeliest.")
def begins_with_the_rarest(probabilities, p):
    order = np.argsort(probabilities)
    rare = probabilities[order]
    kept = np.where(np.cumsum(rare) - rare < p, rare, 0)
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You kept one token too many: stop as soon as the sum has reached p.")
def keeps_one_too_many(probabilities, p):
    order, kept = _sorted_kept(
        probabilities, lambda total, own: np.concatenate([[True], (total - own < p)[:-1]])
    )
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You did not sort: the sum must run from the likeliest token down.")
def forgets_to_sort(probabilities, p):
    before = np.cumsum(probabilities) - probabilities
    kept = np.where(before < p, probabilities, 0)
    return kept / kept.sum()


@NUCLEUS.mistake(
    "You kept every token as likely as the last one that is needed: of equal ones, take only as "
    "many as it takes to reach p."
)
def keeps_all_that_tie(probabilities, p):
    likely = np.sort(probabilities)[::-1]
    needed = likely[np.cumsum(likely) - likely < p]
    kept = np.where(probabilities >= needed[-1], probabilities, 0)
    return kept / kept.sum()


# --- 9.6 ----------------------------------------------------------------------------------------


BEAM = Exercise(
    id="9.6",
    title="One step of beam search",
    answer="beam_step",
    signature="beam_step(log_p, next_log_p, width)",
    clauses={
        "There are $N$ beginnings with log-probabilities `log_p`": "one certain beginning has all",
        "the `width` best continuations": "three beginnings, seven tokens",
        "the best first": "five beginnings, eleven tokens",
        "each as a row `[beginning, token]`": THE_EXAMPLE,
        "log_p (N,), next_log_p (N, V), a number -> (width, 2), integers": (DRAWN),
    },
    hints=(
        "How many continuations compete, and what is the log-probability of each?",
        "log_p[n] + next_log_p[n, token], the `width` largest of all; np.divmod(index, V) gives "
        "row and column of a flat index.",
        "log_p (N,), next_log_p (N, V), candidates (N, V), result (width, 2).",
    ),
    example=Example(
        (np.log([0.6, 0.4]), np.log([[0.3, 0.3, 0.4], [0.05, 0.9, 0.05]]), 2),
        "0.4 · 0.9 is the best of six, 0.6 · 0.4 the next: [[1, 1], [0, 2]] should come out.",
    ),
)
_log_p, _next = np.log([0.5, 0.3, 0.2]), ref.log_softmax(2 * numbers(22, 3, 7))
_log_p5, _next5 = ref.log_softmax(numbers(23, 5)), ref.log_softmax(3 * numbers(24, 5, 11))
BEAM.case("three beginnings, seven tokens", "the best five of 21", _log_p, _next, 5)
BEAM.case("five beginnings, eleven tokens", "the best three of 55", _log_p5, _next5, 3)
BEAM.case(
    "beginnings of a thousand tokens",
    "the best four, although their probabilities are too small for a float",
    _log_p - 1000,
    _next,
    4,
)
BEAM.case(
    "two thousand continuations",
    "the best six hundred of them, in order",
    ref.log_softmax(numbers(25, 40)),
    ref.log_softmax(numbers(26, 40, 50)),
    600,
)
BEAM.case(
    "continuations that tie",
    "three different rows, although four are equally likely",
    np.log([0.5, 0.5]),
    np.log([[0.5, 0.5], [0.5, 0.5]]),
    3,
)


@BEAM.accepting
def _(value, log_p, next_log_p, width):
    pairs = _shaped(value, (width, 2))
    totals = log_p[:, None] + next_log_p
    best, taken = np.sort(totals, axis=None)[::-1], set()
    for row, pair in enumerate(pairs):
        n, token = map(int, pair)
        if not (0 <= n < totals.shape[0] and 0 <= token < totals.shape[1]):
            return (
                f"Row {row} is {show(pair)}, but beginnings end at {totals.shape[0] - 1} and "
                f"tokens at {totals.shape[1] - 1}."
            )
        if (n, token) in taken:
            return f"Row {row} is {show(pair)}, which an earlier row is already."
        taken.add((n, token))
        if not np.isclose(totals[n, token], best[row], rtol=1e-9, atol=1e-9):
            return (
                f"Row {row} is {show(pair)} with the log-probability {totals[n, token]:.4f}; the "
                f"one due there has {best[row]:.4f}."
            )
    return _require_type(pairs, int)


@BEAM.draws
def _(rng, size):
    N, V = (axis(rng, size), axis(rng, size)) if size < 40 else (size, 40)
    log_p = ref.log_softmax(values(rng, (N,))) - choice(rng, (0, 0, 1000))
    if N == 1 and chance(rng):
        log_p = np.zeros(1, dtype=int)  # a single beginning that is certain
    following = probabilities(rng, (N, V), zeros=True)
    with np.errstate(divide="ignore"):
        next_log_p = choice(rng, (ref.log_softmax(values(rng, (N, V))), np.log(following)))
    if V == 1 and chance(rng):
        next_log_p = np.zeros((N, 1), dtype=int)
    return log_p, next_log_p, 1 + int(rng.integers(min(N * V, 30)))


@BEAM.invariant("width 1 is greedy", "the single best continuation of all")
def _(answer):
    totals = _log_p[:, None] + _next
    n, token = answer(_log_p, _next, 1)[0]
    return same(totals[n, token], totals.max())


@BEAM.invariant(
    "one certain beginning has all", "when the others are hopeless, none of them goes on"
)
def _(answer):
    found = np.asarray(answer(np.array([-99.0, 0.0, -99.0]), _next, 5))
    return same(found[:, 0], np.ones(5, dtype=int))


@BEAM.invariant("no continuation comes twice", "of six that tie, all six come out")
def _(answer):
    found = np.asarray(answer(np.zeros(2), np.full((2, 3), -np.log(3)), 6))
    rows = sorted(map(tuple, found.tolist()))
    return same(rows, [(n, token) for n in range(2) for token in range(3)])


@BEAM.right
def sorts_tuples(log_p, next_log_p, width):
    found = [
        (log_p[n] + row[token], n, token)
        for n, row in enumerate(next_log_p.tolist())
        for token in range(len(row))
    ]
    return [[n, token] for _, n, token in sorted(found, reverse=True)[:width]]


@BEAM.right
def takes_one_after_the_other(log_p, next_log_p, width):
    left = log_p[:, None] + next_log_p.astype(float)
    left, found = np.where(np.isnan(left) | np.isneginf(left), -1e300, left), []
    for _ in range(width):
        found.append(np.unravel_index(left.argmax(), left.shape))
        left[found[-1]] = -np.inf
    return np.array(found)


def _best(totals, width):
    best = np.argsort(-totals, axis=None, kind="stable")[:width]
    return np.stack(np.divmod(best, totals.shape[1]), axis=1)


@BEAM.mistake(
    "You kept the best token of each beginning: all continuations compete, and one beginning may "
    "have several heirs or none."
)
def keeps_one_of_each(log_p, next_log_p, width):
    tokens = next_log_p.argmax(axis=-1)
    order = np.argsort(-(log_p + next_log_p.max(axis=-1)))[:width]
    return np.stack([order, tokens[order]], axis=1)


@BEAM.mistake("You forgot how likely the beginnings are: add log_p of each to its row.")
def forgets_the_beginnings(log_p, next_log_p, width):
    return _best(next_log_p, width)


@BEAM.mistake("You multiplied log-probabilities: probabilities multiply, their logarithms add.")
def multiplies_logarithms(log_p, next_log_p, width):
    return _best(log_p[:, None] * next_log_p, width)


@BEAM.mistake(
    "You went back to probabilities: after a thousand tokens they are too small for a float, and "
    "all become 0. Add the logarithms."
)
def goes_back_to_probabilities(log_p, next_log_p, width):
    return _best(np.exp(log_p)[:, None] * np.exp(next_log_p), width)


@BEAM.mistake(
    "You looked each total up by its value: of equal ones you found the first every time."
)
def looks_them_up_by_value(log_p, next_log_p, width):
    totals = log_p[:, None] + next_log_p
    best = np.sort(totals, axis=None)[::-1][:width]
    return np.array([np.argwhere(totals == total)[0] for total in best])


@BEAM.mistake("You took the least likely: the best are the largest, argsort of the negative.")
def takes_the_worst(log_p, next_log_p, width):
    return _best(-(log_p[:, None] + next_log_p), width)


@BEAM.mistake("The columns are swapped: the beginning comes first, then the token.")
def swaps_the_columns(log_p, next_log_p, width):
    return _best(log_p[:, None] + next_log_p, width)[:, ::-1]


@BEAM.mistake("These are the right ones, but the worst of them comes first.")
def puts_the_best_last(log_p, next_log_p, width):
    return _best(log_p[:, None] + next_log_p, width)[::-1]


@BEAM.mistake("These are the right ones, but in no order: np.argpartition does not sort.")
def does_not_sort_them(log_p, next_log_p, width):
    totals = log_p[:, None] + next_log_p
    best = np.argpartition(-totals, width - 1, axis=None)[:width]
    return np.stack(np.divmod(best, totals.shape[1]), axis=1)


# --- 9.7 ----------------------------------------------------------------------------------------

FOOL = Exercise(
    id="9.7",
    title="A table that fools greedy",
    answer="fools_greedy",
    signature="fools_greedy(size)",
    clauses={
        "a table like `P` of `size` tokens (at least 5)": "it is a table",
        "token 0 is `<start>` and token 1 is `<end>`": "greedy finishes",
        "Greedy decoding must finish within three tokens, `<end>` included": "greedy finishes",
        "some other sentence of at most three tokens must be at least *twice* as probable": (
            "another sentence is twice as probable"
        ),
        "a number, at least 5 -> (V, V), rows sum to one": DRAWN,
    },
    hints=(
        "What must be true of the first token that greedy takes, and what of those after it?",
        "A likely first token that leads nowhere in particular, and a less likely one after which "
        "the end is certain: 0.45 · 1 against 0.55 · something small.",
        "The table is (size, size); row i holds what follows token i and sums to 1.",
    ),
    example=Example(
        (5,),
        "for 5 tokens a table (5, 5) with rows that sum to 1, in which greedy, from 0, ends at 1.",
    ),
)


def _as_table(value, size):
    """The value as a table whose rows are distributions, or the error that says what is amiss."""
    table = _shaped(value, (size, size)).astype(float)
    if table.min() < 0:
        raise unmet(f"A probability is {table.min():.4g}, and none may be negative.")
    sums = table.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > 1e-6:
        raise unmet(f"Row {worst} sums to {sums[worst]:.4g}, and each row should sum to 1.")
    return table


def _along(table, path):
    return float(np.prod([table[a, b] for a, b in pairwise(path)]))


def _greedy_probability(table):
    """Of greedy's sentence of at most three tokens, if it has ended by then."""
    path = [0, *_greedy(table, 0, 1, 3)]
    if path[-1] != 1:
        raise unmet(f"Greedy writes {path[1:]} from token 0, and has not reached token 1.")
    return _along(table, path)


def _best_probability(table):
    """Of the likeliest sentence of at most three tokens, out of all there are."""
    others = np.arange(len(table)) != 1
    to_end = table[others, 1]
    two = table[0, others] * to_end
    three = table[0, others, None] * table[np.ix_(others, others)] * to_end
    return float(max(table[0, 1], two.max(), three.max()))


def _ratio_fault(table):
    ours, best = _greedy_probability(table), _best_probability(table)
    if best < 2 * ours * (1 - 1e-9):
        return (
            f"Greedy's sentence has the probability {ours:.4g}, and the best one {best:.4g}: that "
            f"is {best / ours:.2f} times as much, not twice."
        )
    return None


@FOOL.accepting
def _(value, size):
    return _ratio_fault(_as_table(value, size)) or _require_type(as_array(value), float)


@FOOL.draws
def _(rng, size):
    return (axis(rng, size, 5),)


@FOOL.invariant("it is a table", "(size, size), nothing negative, each row with sum 1, any size")
def _(answer):
    for size in (5, 7, 13):
        _as_table(answer(size), size)


@FOOL.invariant(
    "greedy finishes", "in a vocabulary of 7 it gets from token 0 to token 1 within three steps"
)
def _(answer):
    if not _greedy_probability(_as_table(answer(7), 7)) > 0:
        return "Greedy's sentence has the probability 0."
    return None


@FOOL.invariant(
    "another sentence is twice as probable",
    "in a vocabulary of 5, the best of all is at least twice greedy's",
)
def _(answer):
    return _ratio_fault(_as_table(answer(5), 5))


@FOOL.invariant("the same with more tokens", "and with a vocabulary of 11")
def _(answer):
    return _ratio_fault(_as_table(answer(11), 11))


@FOOL.right
def takes_two_foggy_steps(size):
    table = [[0.0] * size for _ in range(size)]
    for row in table:
        row[1] = 1.0
    table[0] = [0.0, 0.0, 0.5, 0.3, 0.2] + [0.0] * (size - 5)
    table[2] = [0.1, 0.28, 0.26, 0.26, 0.1] + [0.0] * (size - 5)
    return table


@FOOL.right
def is_exactly_twice_as_probable(size):
    table = np.zeros((size, size))
    table[:, 1] = 1.0
    table[0, 1], table[0, 2], table[0, 3] = 0.0, 0.5, 0.5  # of equals, greedy takes the first
    table[2, 1], table[2, 2:5] = 0.5, 0.5 / 3
    return table


def _trap(size, first=0.55):
    token = np.eye(size)
    table = np.full((size, size), 1 / (size + 1))
    table[:, 1] *= 2
    table[0] = first * token[2] + (1 - first) * token[3]
    table[3] = token[1]
    return table


@FOOL.mistake(
    "Every row is even: then nothing misleads greedy. Its first step must prefer a token after "
    "which everything is uncertain."
)
def is_even(size):
    return np.full((size, size), 1 / size)


@FOOL.mistake("Greedy finds the best sentence of this table: its first step must mislead it.")
def leads_greedy_right(size):
    return _trap(size, first=0.45)


@FOOL.mistake("The other sentence is better, but not twice as probable: make the fog thicker.")
def fools_it_a_little(size):
    table = _trap(size)
    table[2] = np.eye(size)[1] * 0.6 + 0.4 * np.eye(size)[4]
    return table


@FOOL.mistake("The columns sum to one: row i must hold the probabilities after token i.")
def fills_columns(size):
    return _trap(size).T


@FOOL.mistake(
    "Greedy never ends here: from its first token it must reach token 1 as the likeliest."
)
def lets_greedy_go_round(size):
    table = _trap(size)
    table[2] = np.eye(size)[2]
    return table


@FOOL.mistake("The rows do not sum to one: divide each by its sum.")
def forgets_that_rows_sum_to_one(size):
    table = _trap(size)
    table[2] = 1.0
    table[2, 1] = 2.0
    return table


# --- 9.8 ----------------------------------------------------------------------------------------


def _multiplications(n, d, cached):
    """Counted product by product: (a, b) times (b, c) takes a·b·c."""
    total = 0
    for tokens in range(1, n + 1):
        rows = 1 if cached else tokens
        total += 4 * (rows * d * d)  # queries, keys, values, output
        total += rows * d * tokens  # scores
        total += rows * tokens * d  # mixing the values
    return total


COST = Exercise(
    id="9.8",
    title="What a cache saves",
    answer="multiplications",
    signature="multiplications(n, d, cached)",
    oracle=_multiplications,
    clauses={
        "for writing $n$ tokens through one self-attention sublayer of width $d$": (
            "seven tokens anew"
        ),
        "the projections $W^q, W^k, W^v, W^0$, the scores, and the mixing of the values": (
            "seven tokens with a cache"
        ),
        "Count a full matrix product even where a mask hides half of it": "more tokens anew",
        "two numbers, True or False -> a number": DRAWN,
    },
    hints=(
        "When t tokens are there, how many rows go through the four projections: t, or one?",
        "Step t costs 4 t d² + 2 t² d without a cache, 4 d² + 2 t d with it; sum over t = 1 … n.",
        "Three inputs, one whole number out.",
    ),
    example=Example(
        (2, 10, False),
        "two tokens of width 10 take 420 and 880 multiplications without a cache: 1300.",
    ),
)
COST.case("seven tokens anew", "each step computes for all tokens so far", 7, 5, False)
COST.case("seven tokens with a cache", "each step computes for the newest token", 7, 5, True)
COST.case("more tokens anew", "the same for other sizes", 13, 3, False)
COST.case("more tokens with a cache", "the same for other sizes", 13, 3, True)


@COST.draws
def _(rng, size):
    # Counts above 2³¹ only where the usual integers of NumPy have more bits than in a page.
    if size >= 40:
        wide = 1_000 if np.dtype(np.intp).itemsize == 8 else 1
        return 10 * size, wide * axis(rng, 5), chance(rng)
    n = axis(rng, size, 0)
    wide = (512, 2_000) if n <= 12 else ()
    return n, choice(rng, (axis(rng, size), axis(rng, size), *wide)), chance(rng)


@COST.invariant("the first token costs the same", "with one token there is nothing to keep")
def _(answer):
    return same(answer(1, 11, True), 506) and same(answer(1, 11, False), 506)


@COST.invariant(
    "in a wide model it saves (n + 1)/2", "when d is far larger than n, the projections decide"
)
def _(answer):
    anew, cached = answer(11, 2_000, False), answer(11, 2_000, True)
    return np.min(cached) > 0 and same(float(anew), 6 * float(cached), rtol=1e-3)


@COST.right
def uses_closed_forms(n, d, cached):
    tokens, pairs = n * (n + 1) / 2, n * (n + 1) * (2 * n + 1) / 6
    return 4 * n * d**2 + 2 * tokens * d if cached else 4 * tokens * d**2 + 2 * pairs * d


@COST.right
def adds_step_by_step(n, d, cached):
    if n == 0:
        return 0
    total = 0
    for t in range(1, n + 1):
        rows = 1 if cached else t
        total += sum((rows * d * d, rows * d * d, rows * d * d, rows * d * d))
        total += rows * t * d + rows * t * d
    return total


@COST.mistake("You counted tokens from 0: the first step has one token already.")
def counts_from_zero(n, d, cached):
    return _multiplications(n - 1, d, cached)


@COST.mistake("You counted the last step only: add up all n steps.")
def counts_the_last_step(n, d, cached):
    return _multiplications(n, d, cached) - _multiplications(n - 1, d, cached)


@COST.mistake("There are four projections: the output has one, too.")
def forgets_the_output(n, d, cached):
    rows = n if cached else n * (n + 1) // 2
    return _multiplications(n, d, cached) - rows * d * d


@COST.mistake("The weights must also be multiplied with the values: t·d more for each query.")
def forgets_the_values(n, d, cached):
    steps = np.arange(1, n + 1)
    pairs = steps if cached else steps**2
    return _multiplications(n, d, cached) - d * pairs.sum()


@COST.mistake("With a cache, one query meets t keys: t·d multiplications, not t²·d.")
def pairs_all_with_a_cache(n, d, cached):
    steps = np.arange(1, n + 1)
    extra = 2 * d * (steps**2 - steps).sum() if cached else 0
    return _multiplications(n, d, cached) + extra


@COST.mistake("Without a cache you counted one pass over n tokens: there are n passes.")
def makes_one_pass(n, d, cached):
    return _multiplications(n, d, True) if cached else 4 * n * d**2 + 2 * n**2 * d


@COST.mistake("The two cases are swapped: the cache is the cheaper one.")
def swaps_the_cases(n, d, cached):
    return _multiplications(n, d, not cached)


@COST.mistake("You counted additions as well: the question is for multiplications.")
def counts_additions_too(n, d, cached):
    return 2 * _multiplications(n, d, cached)


@COST.mistake("You left out the pairs that a mask hides: count the full products.")
def counts_visible_pairs_only(n, d, cached):
    if cached:
        return _multiplications(n, d, True)
    return sum(4 * t * d**2 + t * (t + 1) * d for t in range(1, n + 1))
