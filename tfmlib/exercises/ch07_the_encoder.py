"""Chapter 7: the feed-forward network, a whole encoder layer, a stack of them, and their size."""

import math

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, same, show
from tfmlib.checking.draw import ANY_MAGNITUDE, KINDS, axis, chance, choice, leading, values
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers

# --- 7.1 ----------------------------------------------------------------------------------------

FEED = Exercise(
    id="7.1",
    title="The feed-forward network",
    answer="feed_forward",
    signature="feed_forward(x, w1, b1, w2, b2)",
    oracle=lambda x, w1, b1, w2, b2: ref.feed_forward(x, w1, b1, w2, b2),
    stands_for="feed_forward",
    clauses={
        "Write {eq}`eq-notes-17`": "five positions",
        "for any number of leading axes": "a batch of two",
        "x (..., T, D), w1 (D, F), b1 (F,), w2 (F, D), b2 (D,)": DRAWN,
    },
    hints=(
        "Which of the two linear maps is followed by the ReLU?",
        "Eq. (17): max(0, x W1 + b1) W2 + b2.",
        "x (..., T, D), w1 (D, F), b1 (F,), w2 (F, D), b2 (D,): hidden (..., T, F), result "
        "(..., T, D).",
    ),
    example=Example(
        (np.array([[1.0, -2.0]]), np.eye(2), np.zeros(2), np.eye(2), np.array([0.5, 0.5])),
        "[[1, -2]] with identities for both matrices and b2 = [0.5, 0.5] should give [[1.5, 0.5]].",
    ),
    equivalent={
        "hidden = np.maximum(0, x @ w1 + b1) -> "
        "hidden = np.maximum(x @ w1 + b1, 0)": "the larger of two numbers, in any order"
    },
)


def _network(seed, D, F):
    """w1, b1, w2, b2"""
    return (
        numbers(seed, D, F),
        numbers(seed + 1, F),
        numbers(seed + 2, F, D),
        numbers(seed + 3, D),
    )


_five_rows, _wide = numbers(1, 5, 7), _network(2, 7, 11)
_batch, _narrow = numbers(6, 2, 3, 13), _network(7, 13, 5)
FEED.case("five positions", "two linear maps, a ReLU between them", _five_rows, *_wide)
FEED.case("a batch of two", "each sentence as it would be alone", _batch, *_narrow)


def _drawn_network(rng, D, F, kinds=(*KINDS, "tiny")):
    return tuple(values(rng, shape, kinds) for shape in ((D, F), (F,), (F, D), (D,)))


@FEED.draws
def _(rng, size):
    D, F = axis(rng, min(size, 12)), axis(rng, min(size, 40))
    x = values(rng, (*leading(rng, size), axis(rng, size), D), ANY_MAGNITUDE)
    return x, *_drawn_network(rng, D, F)


@FEED.invariant(
    "every position by itself", "all positions together give what each of them gives alone"
)
def _(answer):
    alone = [np.asarray(answer(row[None], *_wide))[0] for row in _five_rows]
    return same(answer(_five_rows, *_wide), np.array(alone))


@FEED.invariant(
    "a silent hidden layer leaves b2", "when no hidden unit is positive, every row is b2"
)
def _(answer):
    w1, _, w2, b2 = _wide
    return same(answer(_five_rows, w1, np.full(11, -1000.0), w2, b2), np.tile(b2, (5, 1)))


@FEED.right
def goes_unit_by_unit(x, w1, b1, w2, b2):
    out = np.zeros(x.shape) + b2
    for column, bias, row in zip(w1.T, b1, w2, strict=True):
        fires = np.clip((x * column).sum(axis=-1) + bias, 0, None)
        out = out + fires[..., None] * row
    return out


@FEED.right
def multiplies_with_einsum(x, w1, b1, w2, b2):
    hidden = np.einsum("...d,df->...f", x, w1) + b1
    return (np.einsum("...f,fd->...d", hidden * (hidden > 0), w2) + b2).tolist()


@FEED.mistake("There is no ReLU: without it the two maps are no more than one.")
def forgets_the_relu(x, w1, b1, w2, b2):
    return (x @ w1 + b1) @ w2 + b2


@FEED.mistake("You put a ReLU behind the second map as well: the output may be negative.")
def ends_with_a_relu(x, w1, b1, w2, b2):
    return np.maximum(0, np.maximum(0, x @ w1 + b1) @ w2 + b2)


@FEED.mistake("You put the ReLU at the end: it belongs between the two maps.")
def puts_the_relu_last(x, w1, b1, w2, b2):
    return np.maximum(0, (x @ w1 + b1) @ w2 + b2)


@FEED.mistake("You added b1 after the ReLU: the bias decides when a unit begins to fire.")
def adds_the_bias_too_late(x, w1, b1, w2, b2):
    return (np.maximum(0, x @ w1) + b1) @ w2 + b2


@FEED.mistake("You forgot b2, the bias of the second map.")
def forgets_the_second_bias(x, w1, b1, w2, b2):
    return np.maximum(0, x @ w1 + b1) @ w2


@FEED.mistake("You took absolute values: the ReLU sets negative numbers to 0.")
def takes_absolute_values(x, w1, b1, w2, b2):
    return np.abs(x @ w1 + b1) @ w2 + b2


@FEED.mistake("You kept the negative part: the ReLU is max(0, ·), not min(0, ·).")
def keeps_the_negative_part(x, w1, b1, w2, b2):
    return np.minimum(0, x @ w1 + b1) @ w2 + b2


@FEED.mistake("You forgot b1, the bias of the first map.")
def forgets_the_bias_of_the_units(x, w1, b1, w2, b2):
    return np.maximum(0, x @ w1) @ w2 + b2


@FEED.mistake("You added x to the result: the path around the network is not part of it.")
def adds_the_way_around(x, w1, b1, w2, b2):
    return x + np.maximum(0, x @ w1 + b1) @ w2 + b2


@FEED.mistake("You cut x at 0 before the first map: the ReLU stands behind it.")
def cuts_the_input(x, w1, b1, w2, b2):
    return (np.maximum(0, x) @ w1 + b1) @ w2 + b2


@FEED.mistake("You returned the hidden layer: the second map leads back to D numbers.")
def stops_at_the_hidden_layer(x, w1, b1, w2, b2):
    return np.maximum(0, x @ w1 + b1)


# --- 7.2 ----------------------------------------------------------------------------------------


def _one_map(w1, b1, w2, b2):
    through = np.vstack([w1, b1]) @ w2  # the bias is one more row that passes the second map
    return through[:-1], through[-1] + b2


ONE_MAP = Exercise(
    id="7.2",
    title="Without the ReLU",
    answer="one_map",
    signature="one_map(w1, b1, w2, b2)",
    oracle=_one_map,
    clauses={
        "a single matrix `w` and a single bias `b`": "a wide hidden layer",
        "$x W + b = (x W_1 + b_1) W_2 + b_2$ for every $x$": "a narrow hidden layer",
        "w1 (D, F), b1 (F,), w2 (F, D), b2 (D,) -> w (D, D), b (D,)": DRAWN,
    },
    hints=(
        "Multiply (x W1 + b1) W2 + b2 out: what stands behind x, and what is left without x?",
        "W = W1 W2 and b = b1 W2 + b2.",
        "w1 (D, F), b1 (F,), w2 (F, D), b2 (D,); return w (D, D) and b (D,).",
    ),
    example=Example(
        (np.array([[2.0]]), np.array([1.0]), np.array([[3.0]]), np.array([4.0])),
        "x·2 + 1, then ·3 + 4, is x·6 + 7: w = [[6]] and b = [7].",
    ),
)


ONE_MAP.case("seven numbers, eleven hidden units", "w (7, 7) and b (7,)", *_wide)
ONE_MAP.case("thirteen numbers, five hidden units", "w (13, 13) and b (13,)", *_narrow)
ONE_MAP.case("one number", "arrays, also where each holds a single number", *_network(15, 1, 1))


@ONE_MAP.draws
def _(rng, size):
    D, F = axis(rng, min(size, 40)), axis(rng, size)
    return _drawn_network(rng, D, F, (*KINDS, "tiny", "huge"))


def _does_both(answer, x, w1, b1, w2, b2):
    w, b = answer(w1, b1, w2, b2)
    return same(x @ np.asarray(w) + np.asarray(b), (x @ w1 + b1) @ w2 + b2)


@ONE_MAP.invariant("a wide hidden layer", "x w + b is what the two maps give, for seven numbers")
def _(answer):
    return _does_both(answer, _five_rows, *_wide)


@ONE_MAP.invariant("a narrow hidden layer", "the same for thirteen numbers and five hidden units")
def _(answer):
    return _does_both(answer, _batch, *_narrow)


@ONE_MAP.invariant("no biases, no bias", "with b1 = 0 and b2 = 0, b is 0")
def _(answer):
    w1, b1, w2, b2 = _network(15, 5, 7)
    _, b = answer(w1, 0 * b1, w2, 0 * b2)
    return same(b, np.zeros(5))


@ONE_MAP.right
def sends_unit_vectors_through(w1, b1, w2, b2):
    rows = [(unit @ w1) @ w2 for unit in np.eye(len(w1))]
    return [np.array(rows), (np.zeros(len(w1)) @ w1 + b1) @ w2 + b2]


@ONE_MAP.right
def writes_lists(w1, b1, w2, b2):
    w = np.einsum("df,fe->de", w1, w2)
    b = [sum(b1[f] * w2[f, d] for f in range(len(b1))) + b2[d] for d in range(len(b2))]
    return w.tolist(), b


@ONE_MAP.mistake("b1 passes through the second map as well: it arrives as b1 @ w2.")
def forgets_the_first_bias(w1, b1, w2, b2):
    return w1 @ w2, b2


@ONE_MAP.mistake("You forgot b2, which is added at the end.")
def loses_the_second_bias(w1, b1, w2, b2):
    return w1 @ w2, b1 @ w2


@ONE_MAP.mistake("You added b1 to b2 as it is: it must pass through w2 first, b1 @ w2.")
def adds_the_biases(w1, b1, w2, b2):
    return w1 @ w2, b1 + b2


@ONE_MAP.mistake("The order is turned round: x meets w1 first, so it is w1 @ w2.")
def turns_the_order(w1, b1, w2, b2):
    return w2 @ w1, b1 @ w2 + b2


@ONE_MAP.mistake("w is transposed: x is a row and is multiplied from the right, x @ w1 @ w2.")
def transposes_the_map(w1, b1, w2, b2):
    return (w1 @ w2).T, b1 @ w2 + b2


@ONE_MAP.mistake("You put the bias first: return w, then b.")
def returns_the_bias_first(w1, b1, w2, b2):
    return b1 @ w2 + b2, w1 @ w2


@ONE_MAP.mistake("Both biases went through w2: b2 is added behind it.")
def sends_both_biases_through(w1, b1, w2, b2):
    return w1 @ w2, (b1 + b2) @ w2


@ONE_MAP.mistake("You returned the matrix alone: the bias b belongs to it.")
def returns_the_matrix_alone(w1, b1, w2, b2):
    return w1 @ w2


@ONE_MAP.mistake("You added the two matrices: two maps in a row are a product, w1 @ w2.")
def adds_the_matrices(w1, b1, w2, b2):
    return w1 + w2.T, b1 @ w2 + b2


# --- 7.3 ----------------------------------------------------------------------------------------

BOTH = Exercise(
    id="7.3",
    title="A unit that notices two things at once",
    answer="notices_both",
    signature="notices_both(d_model, a, b, c)",
    hints=(
        "How large must x_a + x_b be before the hidden unit may fire?",
        "max(0, x_a + x_b - 1) is 1 when both are 1, and 0 otherwise.",
        "With one hidden unit: w1 (D, 1), b1 (1,), w2 (1, D), b2 (D,).",
    ),
    example=Example(
        (2, 0, 1, 0),
        "with features 0 and 1 written to feature 0, one right answer is w1 = [[1], [1]], "
        "b1 = [-1], w2 = [[1, 0]], b2 = [0, 0].",
    ),
    clauses={
        "the weights of a feed-forward network": DRAWN,
        "on vectors of zeros and ones": DRAWN,
        "writes a 1 to feature `c` when features `a` and `b` are both 1": "five features",
        "Everything else that it writes is 0": "an empty vector stays empty",
        "The feature `c` may be `a` or `b`": "written where it was read",
        "with any F": "five features",
        "four whole numbers, a and b different": "two features",
    },
)
_NAMES = "w1", "b1", "w2", "b2"


def _bits(d_model, a, b):
    """Rows of zeros and ones: all of them for few features, else those that tell most."""
    if d_model <= 7:
        return (np.arange(2**d_model)[:, None] >> np.arange(d_model) & 1).astype(float)
    one = np.eye(d_model)
    some = np.random.default_rng(d_model).integers(0, 2, (64, d_model))
    both = np.maximum(one[a], one[b])
    pairs = np.maximum(one, one[a]), np.maximum(one, one[b]), np.maximum(one, both), 1 - one
    return np.vstack([np.zeros(d_model), np.ones(d_model), one, *pairs, some])


def _arrays_of(value, d_model):
    """The four arrays, or a sentence that says which one is not as it must be."""
    if not isinstance(value, list | tuple) or len(value) != 4:
        return f"Return four arrays, w1, b1, w2 and b2 in this order: yours is {describe(value)}."
    arrays = [as_array(item) for item in value]
    for name, item, array in zip(_NAMES, value, arrays, strict=True):
        if array is None:
            return f"{name} must be an array of numbers: yours is {describe(item)}."
    F = arrays[1].size
    due = (d_model, F), (F,), (F, d_model), (d_model,)
    for name, array, shape in zip(_NAMES, arrays, due, strict=True):
        if array.shape != shape:
            return f"With {F} in b1, {name} must have shape {shape}: yours has {array.shape}."
        if not np.isfinite(array).all():
            return f"{name} holds NaN or infinity."
    return [array.astype(float) for array in arrays]


@BOTH.accepting
def _(value, d_model, a, b, c):
    network = _arrays_of(value, d_model)
    if isinstance(network, str):
        return network
    x = _bits(d_model, a, b)
    due = np.zeros_like(x)
    due[:, c] = x[:, a] * x[:, b]
    out = ref.feed_forward(x, *network)
    wrong = np.argwhere(~np.isclose(out, due, rtol=0, atol=1e-6))
    if not len(wrong):
        return None
    row, feature = wrong[x[wrong[:, 0]].sum(axis=-1).argmin()]
    ones = np.flatnonzero(x[row]).tolist()
    given = (
        f"a 1 in {'feature' if len(ones) == 1 else 'features'} {ones}" if ones else "zeros alone"
    )
    return (
        f"Given {given}, it writes {show(out[row, feature])} to feature {feature}, "
        f"where {int(due[row, feature])} is due."
    )


@BOTH.draws
def _(rng, size):
    d_model = axis(rng, size, 2)
    a, b = (int(feature) for feature in rng.permutation(d_model)[:2])
    return d_model, a, b, choice(rng, (a, b, int(rng.integers(d_model))))


BOTH.case("two features", "0 and 1 together write a 1 to feature 1", 2, 1, 0, 1)
BOTH.case("five features", "1 and 3 together write a 1 to feature 4, and nothing else", 5, 1, 3, 4)
BOTH.case("seven features", "0 and 5 together write a 1 to feature 2, and nothing else", 7, 5, 0, 2)
BOTH.case("written where it was read", "the result may go to one of the two features", 3, 2, 0, 2)


@BOTH.invariant("an empty vector stays empty", "a position without features gets zeros")
def _(answer):
    out = ref.feed_forward(np.zeros((2, 11)), *answer(11, 3, 7, 5))
    return same(out, np.zeros((2, 11)))


@BOTH.right
def counts_twice(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a] = w1[b] = 2.0
    w2[0, c] = 0.5
    return [w1, [-2.0], w2, [0.0] * d_model]


@BOTH.right
def takes_one_unit_off_another(d_model, a, b, c):
    w1 = [[1.0, 1.0] if i == a else [0.0, -1.0] if i == b else [0.0, 0.0] for i in range(d_model)]
    w2 = [[float(i == c) for i in range(d_model)], [-float(i == c) for i in range(d_model)]]
    return w1, [0.0, 0.0], w2, np.zeros(d_model)


@BOTH.right
def writes_whole_numbers(d_model, a, b, c):
    looks = (np.arange(d_model) == a) | (np.arange(d_model) == b)
    writes = np.arange(d_model) == c
    return looks[:, None].astype(int), np.array([-1]), writes[None].astype(int), 0 * writes


@BOTH.mistake("There is no threshold: with b1 = 0 one of the two features is enough to fire.")
def has_no_threshold(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.zeros(1), w2, np.zeros(d_model)


@BOTH.mistake("The threshold is too high: at b1 = -2 the sum never gets above it.")
def never_fires(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.full(1, -2.0), w2, np.zeros(d_model)


@BOTH.mistake("You wrote the result to the features that you read: it belongs in feature c.")
def writes_where_it_reads(d_model, a, b, c):
    w1 = np.zeros((d_model, 1))
    w1[[a, b]] = 1.0
    return w1, np.full(1, -1.0), w1.T, np.zeros(d_model)


@BOTH.mistake("The unit looks at one feature only: its column of w1 needs a 1 in row b as well.")
def reads_one_feature(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[a] = w2[:, c] = 1.0
    return w1, np.zeros(1), w2, np.zeros(d_model)


@BOTH.mistake("Each feature has a hidden unit of its own: then neither knows of the other.")
def has_a_unit_for_each(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 2)), np.zeros((2, d_model))
    w1[a, 0] = w1[b, 1] = 1.0
    w2[:, c] = 0.5
    return w1, np.zeros(2), w2, np.zeros(d_model)


@BOTH.mistake("The -1 is in b2: it is subtracted after the ReLU, where it makes negative numbers.")
def subtracts_after_the_relu(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.zeros(1), w2, -w2[0]


@BOTH.mistake("You swapped w1 and w2: w1 (D, F) comes in, w2 (F, D) goes out.")
def swaps_the_matrices(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w2, np.full(1, -1.0), w1, np.zeros(d_model)


@BOTH.mistake("The threshold is too low: at b1 = -0.5 one feature alone makes the unit fire.")
def has_half_a_threshold(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.full(1, -0.5), w2, np.zeros(d_model)


@BOTH.mistake("The unit fires at half strength: x_a + x_b - 1.5 is 0.5 when both are 1, not 1.")
def writes_a_half(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.full(1, -1.5), w2, np.zeros(d_model)


@BOTH.mistake("b1 has one number for every hidden unit, not for every feature.")
def biases_every_feature(d_model, a, b, c):
    w1, w2 = np.zeros((d_model, 1)), np.zeros((1, d_model))
    w1[[a, b]] = w2[:, c] = 1.0
    return w1, np.full(d_model, -1.0), w2, np.zeros(d_model)


# --- 7.4 ----------------------------------------------------------------------------------------


def _norm(seed, D):
    return {"gain": 1 + numbers(seed, D) / 5, "bias": numbers(seed + 1, D) / 5}


def _layer(seed, D, F):
    """The parameters of an encoder layer whose gains and biases all matter."""
    w1, b1, w2, b2 = _network(seed, D, F)
    attention = {f"w_{name}": numbers(seed + 4 + i, D, D) / 2 for i, name in enumerate("qkvo")}
    return {
        "self_attention": attention,
        "feed_forward": {"w1": w1, "b1": b1, "w2": w2, "b2": b2},
        "norm1": _norm(seed + 8, D),
        "norm2": _norm(seed + 10, D),
    }


_zeros4 = np.zeros((4, 4))
_plain_norm = {"gain": np.ones(4), "bias": np.zeros(4)}
_idle_layer = {
    "self_attention": dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), _zeros4),
    "feed_forward": {"w1": _zeros4, "b1": np.zeros(4), "w2": _zeros4, "b2": np.zeros(4)},
    "norm1": _plain_norm,
    "norm2": _plain_norm,
}
LAYER = Exercise(
    id="7.4",
    title="A whole encoder layer",
    answer="encoder_layer",
    signature="encoder_layer(x, params, heads)",
    oracle=lambda x, params, heads: ref.encoder_layer(x, params, heads),
    stands_for="encoder_layer",
    clauses={
        "Write {eq}`eq-encoder-layer`": "five positions",
        "with the four matrices for `ref.multi_head_attention(x, x, …, heads)`": "five positions",
        "with the four arguments of `ref.feed_forward` by name": "arrays in another order",
        '`"norm1"` and `"norm2"` with the `gain` and `bias`': "the last norm has the last word",
        "x (..., T, D) -> (..., T, D)": DRAWN,
    },
    hints=(
        "What does the feed-forward network get: the input of the layer, or the result of the "
        "first add and norm?",
        "y = LayerNorm(x + attention(x)), then LayerNorm(y + FFN(y)).",
        "Every step maps (..., T, D) to (..., T, D).",
    ),
    example=Example(
        (np.array([[2.0, 4.0, 6.0, 8.0]]), _idle_layer, 2),
        "with all weights zero only the two norms act: [[2, 4, 6, 8]] should give "
        "[[-1.34, -0.45, 0.45, 1.34]].",
    ),
    equivalent={
        "y = ref.add_norm(x, attended, **params['norm1']) -> "
        "y = ref.add_norm(attended, x, **params['norm1'])": "a sum does not mind its order",
        "return ref.add_norm(y, refined, **params['norm2']) -> "
        "return ref.add_norm(refined, y, **params['norm2'])": "a sum does not mind its order",
    },
)
_layer_args = numbers(20, 5, 6), _layer(21, 6, 11), 3
LAYER.case("five positions", "attention, add and norm, feed-forward, add and norm", *_layer_args)
LAYER.case(
    "a batch of two",
    "each sentence as it would be alone",
    numbers(40, 2, 3, 10),
    _layer(41, 10, 7),
    5,
)


def _turned(params):
    """The same dictionaries, their keys in reverse order."""
    return {
        name: _turned(value) if isinstance(value, dict) else value
        for name, value in reversed(params.items())
    }


LAYER.case(
    "arrays in another order",
    "the keys of a dictionary say what its arrays are, their order does not",
    numbers(120, 3, 4),
    _turned(_layer(121, 4, 4)),
    1,
)


def _shuffled(rng, params):
    names = list(params)
    return {names[i]: params[names[i]] for i in rng.permutation(len(names))}


def _drawn_layer(rng, D, F, draw):
    """Parameters of a layer by a function of a shape, in dictionaries of any order.

    The bias of the first norm is never constant: noise would be all that the second one gets.
    """
    w1, b1, w2, b2 = draw(D, F), draw(F), draw(F, D), draw(D)
    parts = {
        "self_attention": {f"w_{name}": draw(D, D) for name in "qkvo"},
        "feed_forward": {"w1": w1, "b1": b1, "w2": w2, "b2": b2},
        "norm1": {
            "gain": values(rng, (D,), ("plain", "whole", "ties")),
            "bias": rng.normal(size=D),
        },
        "norm2": {"gain": values(rng, (D,)), "bias": values(rng, (D,))},
    }
    return _shuffled(rng, {name: _shuffled(rng, part) for name, part in parts.items()})


@LAYER.draws
def _(rng, size):
    heads = axis(rng, min(size, 3))
    D, F = heads * axis(rng, min(size, 3)), axis(rng, min(size, 12))
    batch = leading(rng, size if size < 20 else 0)  # long ones are not many
    x = values(rng, (*batch, axis(rng, size), D), (*KINDS, "tiny"))
    kinds = ("plain", "whole", "ties", "zeros")
    return x, _drawn_layer(rng, D, F, lambda *shape: values(rng, shape, kinds)), heads


@LAYER.invariant("words move with their positions", "shuffling the words shuffles the result")
def _(answer):
    x, params, heads = _layer_args
    order = [3, 0, 4, 1, 2]
    return same(answer(x[order], params, heads), np.asarray(answer(x, params, heads))[order])


@LAYER.invariant(
    "the last norm has the last word",
    "with gain 1 and bias 0 in norm2, every row has mean 0 and deviation 1",
)
def _(answer):
    x, params, heads = _layer_args
    plain = {"gain": np.ones(6), "bias": np.zeros(6)}
    out = np.asarray(answer(x, params | {"norm2": plain}, heads))
    return same(out.mean(axis=-1), np.zeros(5)) and same(out.std(axis=-1), np.ones(5), atol=1e-3)


@LAYER.right
def writes_everything_out(x, params, heads):
    def norm(x, gain, bias):
        centred = x - x.mean(axis=-1, keepdims=True)
        return gain * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) + bias

    weights, network = params["self_attention"], params["feed_forward"]
    K = x.shape[-1] // heads
    results = []
    for h in range(heads):
        q, k, v = (x @ weights[f"w_{name}"][:, h * K : (h + 1) * K] for name in "qkv")
        scores = np.einsum("...tk,...sk->...ts", q, k) / K**0.5
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        results.append(powers / powers.sum(axis=-1, keepdims=True) @ v)
    y = norm(x + np.concatenate(results, axis=-1) @ weights["w_o"], **params["norm1"])
    hidden = np.maximum(0, y @ network["w1"] + network["b1"])
    return norm(y + hidden @ network["w2"] + network["b2"], **params["norm2"])


@LAYER.right
def goes_sentence_by_sentence(x, params, heads):
    if x.ndim > 2:
        return [goes_sentence_by_sentence(sentence, params, heads) for sentence in x]
    attended = ref.multi_head_attention(x, x, params["self_attention"], heads)
    y = ref.layer_norm(x + attended, **params["norm1"])
    refined = np.array([ref.feed_forward(row, **params["feed_forward"]) for row in y])
    return ref.layer_norm(y + refined, **params["norm2"]).tolist()


def _attend(x, params, heads):
    return ref.multi_head_attention(x, x, params["self_attention"], heads)


def _think(x, params):
    return ref.feed_forward(x, **params["feed_forward"])


@LAYER.mistake(
    "The second add goes back to the layer's input: each sublayer is added to its own input, here "
    "the result of the first add and norm."
)
def goes_back_to_the_input(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    return ref.add_norm(x, _think(y, params), **params["norm2"])


@LAYER.mistake("The feed-forward network got the layer's input: it works on what attention made.")
def feeds_the_input_forward(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    return ref.add_norm(y, _think(x, params), **params["norm2"])


@LAYER.mistake("You normalised before each sublayer (pre-norm): Eq. (16) normalises the sum.")
def normalises_first(x, params, heads):
    x = x + _attend(ref.layer_norm(x, **params["norm1"]), params, heads)
    return x + _think(ref.layer_norm(x, **params["norm2"]), params)


@LAYER.mistake("You left out the paths around the sublayers: add each one's input to its output.")
def leaves_out_the_residuals(x, params, heads):
    y = ref.layer_norm(_attend(x, params, heads), **params["norm1"])
    return ref.layer_norm(_think(y, params), **params["norm2"])


@LAYER.mistake("You left out the first add and norm: there is one after each sublayer.")
def leaves_out_the_first_norm(x, params, heads):
    y = _attend(x, params, heads)
    return ref.add_norm(y, _think(y, params), **params["norm2"])


@LAYER.mistake("You used norm1 twice: the second add and norm has its own gain and bias, norm2.")
def uses_one_norm_twice(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    return ref.add_norm(y, _think(y, params), **params["norm1"])


@LAYER.mistake("You left out the gains and biases of the norms: pass **params['norm1'] and norm2.")
def leaves_out_gain_and_bias(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads))
    return ref.add_norm(y, _think(y, params))


@LAYER.mistake("The feed-forward network came first: attention gathers, then it works on that.")
def starts_with_the_network(x, params, heads):
    y = ref.add_norm(x, _think(x, params), **params["norm1"])
    return ref.add_norm(y, _attend(y, params, heads), **params["norm2"])


@LAYER.mistake("You left out the last norm: the sum of y and the network's result is normed, too.")
def leaves_out_the_last_norm(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    return y + _think(y, params)


@LAYER.mistake("You left out the feed-forward network, the second sublayer.")
def leaves_out_the_network(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    return ref.layer_norm(y, **params["norm2"])


@LAYER.mistake("You attended in a single head: hand the number of heads on.")
def attends_in_one_head(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, 1), **params["norm1"])
    return ref.add_norm(y, _think(y, params), **params["norm2"])


@LAYER.mistake("You swapped the norms: norm1 follows attention, norm2 the feed-forward network.")
def swaps_the_norms(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm2"])
    return ref.add_norm(y, _think(y, params), **params["norm1"])


@LAYER.mistake(
    "You took the arrays in the order in which the dictionary holds them: it may be any order, so "
    "hand them on by name, with **."
)
def takes_arrays_by_their_order(x, params, heads):
    y = ref.add_norm(x, _attend(x, params, heads), **params["norm1"])
    refined = ref.feed_forward(y, *params["feed_forward"].values())
    return ref.add_norm(y, refined, **params["norm2"])


# --- 7.5 ----------------------------------------------------------------------------------------


def _encoder(x, layers, heads):
    return _encoder(ref.encoder_layer(x, layers[0], heads), layers[1:], heads) if layers else x


STACK = Exercise(
    id="7.5",
    title="Find the bug: a stack of layers",
    answer="encoder",
    signature="encoder(x, layers, heads)",
    oracle=_encoder,
    hints=(
        "What is the input of the second layer, and what was it in the given code?",
        "x ← layer(x), once for each layer, in their order.",
        "(..., T, D) in, (..., T, D) out, for any number of layers.",
    ),
    example=Example(
        (np.array([[2.0, 4.0, 6.0, 8.0]]), [_idle_layer] * 3, 2),
        "three layers without weights normalise six times: [[2, 4, 6, 8]] should give "
        "[[-1.34, -0.45, 0.45, 1.34]].",
    ),
    clauses={
        "With one layer it is right": "one layer is that layer",
        "write `encoder(x, layers, heads)` as it should be": "a stack can be cut",
        "layers a list of params, perhaps empty": "no layer at all",
        "x (..., T, D)": DRAWN,
    },
)
_layers = [_layer(60, 6, 11), _layer(80, 6, 5), _layer(100, 6, 7)]
_words = numbers(59, 5, 6)
STACK.case("three layers", "each layer works on what the one before it made", _words, _layers, 3)
STACK.case(
    "two layers, a batch",
    "each sentence as it would be alone",
    numbers(58, 2, 7, 6),
    _layers[:2],
    2,
)
STACK.case("no layer at all", "x comes back as it went in", _words, [], 3)


@STACK.draws
def _(rng, size):
    is_long = size > 20
    heads = axis(rng, min(size, 2))
    D, count = heads * axis(rng, min(size, 3)), axis(rng, min(size, 4), 9 if is_long else 0)
    batch = leading(rng, 0 if is_long else size)
    x = values(rng, (*batch, axis(rng, min(size, 20)), D), (*KINDS, "tiny"))
    unit = 0.1 if is_long else choice(rng, (0.3, 1.0)) / np.sqrt(D)  # roundings must not grow
    layers = [
        _drawn_layer(rng, D, axis(rng, min(size, 5)), lambda *s: unit * rng.normal(size=s))
        for _ in range(count)
    ]
    if count and chance(rng, 0.2):
        layers = [layers[0]] * count  # the same layer again
    return x, layers, heads


@STACK.invariant("a stack can be cut", "three layers are the first, and then the other two")
def _(answer):
    first = answer(_words, _layers[:1], 3)
    return same(answer(first, _layers[1:], 3), answer(_words, _layers, 3))


@STACK.invariant("one layer is that layer", "a stack of one gives what its layer gives")
def _(answer):
    return same(answer(_words, _layers[2:], 2), ref.encoder_layer(_words, _layers[2], 2))


@STACK.right
def calls_itself(x, layers, heads):
    if not layers:
        return x
    return ref.encoder_layer(calls_itself(x, layers[:-1], heads), layers[-1], heads)


@STACK.right
def keeps_every_stage(x, layers, heads):
    stages = [x]
    for number in range(len(layers)):
        stages.append(ref.encoder_layer(stages[-1], layers[number], heads))
    return stages[-1].tolist()


@STACK.mistake(
    "This is still the bug: every layer gets the first input, and only the last one's result "
    "counts. Hand the result on."
)
def keeps_the_bug(x, layers, heads):
    for params in layers:
        output = ref.encoder_layer(x, params, heads)
    return output


@STACK.mistake("You returned inside the loop: only the first layer ran.")
def returns_after_the_first(x, layers, heads):
    for params in layers:
        return ref.encoder_layer(x, params, heads)


@STACK.mistake("You used the first layer's weights throughout: each layer has its own.")
def repeats_the_first_layer(x, layers, heads):
    return _encoder(x, [layers[0]] * len(layers), heads)


@STACK.mistake("The layers ran in reverse order: the first one comes first.")
def runs_backwards(x, layers, heads):
    return _encoder(x, layers[::-1], heads)


@STACK.mistake("You added up what the layers make of the input: a stack is one after the other.")
def adds_the_layers(x, layers, heads):
    return sum(ref.encoder_layer(x, params, heads) for params in layers)


@STACK.mistake("You added x around each layer: the paths around are inside the layer already.")
def adds_the_input_again(x, layers, heads):
    for params in layers:
        x = x + ref.encoder_layer(x, params, heads)
    return x


@STACK.mistake("You left out the last layer.")
def leaves_out_the_last_layer(x, layers, heads):
    return _encoder(x, layers[:-1], heads)


@STACK.mistake("Every layer attended in a single head: hand the number of heads on.")
def stacks_single_heads(x, layers, heads):
    return _encoder(x, layers, 1)


@STACK.mistake("A stack of no layers gives x back; yours fails on an empty list.")
def needs_a_layer(x, layers, heads):
    output = ref.encoder_layer(x, layers[0], heads)
    for params in layers[1:]:
        output = ref.encoder_layer(output, params, heads)
    return output


# --- 7.6 ----------------------------------------------------------------------------------------


def _layer_parameters(d_model, d_ff):
    norms = {f"{which}{i}": (d_model,) for which in ("gain", "bias") for i in (1, 2)}
    attention = {f"w_{name}": (d_model, d_model) for name in "qkvo"}
    biases = {f"b_{name}": (d_model,) for name in "qkvo"}
    network = {"w1": (d_model, d_ff), "b1": (d_ff,), "w2": (d_ff, d_model), "b2": (d_model,)}
    return sum(math.prod(shape) for shape in (norms | attention | biases | network).values())


COUNT = Exercise(
    id="7.6",
    title="One layer, counted",
    answer="layer_parameters",
    signature="layer_parameters(d_model, d_ff)",
    oracle=_layer_parameters,
    hints=(
        "Which arrays does a layer learn? There are sixteen of them, biases and gains included.",
        "4 (D² + D) for attention, D·F + F + F·D + D for the network, 2 · 2D for the norms.",
        "Two whole numbers in, one whole number out.",
    ),
    example=Example((512, 2048), "the base model's layer should give 3,152,384 parameters."),
    clauses={
        "how many numbers an encoder layer learns": "four square matrices",
        "with all biases": "a hidden unit costs the same each time",
        "gain and bias of both norms": "a small layer",
        "two whole numbers -> a whole number": DRAWN,
    },
)
COUNT.case("a small layer", "attention, feed-forward network and two norms", 7, 11)
COUNT.case("a narrow network", "the network may be narrower than the model", 13, 5)
COUNT.case("one of each", "sixteen arrays of one number each", 1, 1)


@COUNT.draws
def _(rng, size):
    def width():
        return int(10 ** rng.uniform(0, 4.6)) if size and chance(rng, 0.3) else axis(rng, size)

    return width(), width()


@COUNT.invariant(
    "a hidden unit costs the same each time",
    "one hidden unit more adds a column of W1, a row of W2 and one bias: 2D + 1",
)
def _(answer):
    return all(same(answer(17, units + 1) - answer(17, units), 35) for units in (2, 3, 19))


@COUNT.invariant(
    "four square matrices", "the only squares are those of D, in the four matrices of attention"
)
def _(answer):
    less, here, more = (answer(d_model, 19) for d_model in (22, 23, 24))
    return same(more - 2 * here + less, 2 * 4)


@COUNT.right
def makes_the_arrays(d_model, d_ff):
    square = d_model * d_model
    matrices = [square] * 4 + [d_model * d_ff] * 2
    vectors = [d_model] * 9 + [d_ff]
    return np.sum(matrices + vectors, dtype=np.int64)


@COUNT.right
def multiplies_out(d_model, d_ff):
    return 4.0 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff


@COUNT.mistake(
    "You are 4 D short: that is what the two norms have, a gain and a bias each, and also what the "
    "four biases of attention are. One of these is missing."
)
def forgets_norms_or_biases_of_attention(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - 4 * d_model


@COUNT.mistake(
    "You are 2 D short: that is one norm, of which there are two, or what both have as gain or as "
    "bias. One of these is missing."
)
def counts_half_of_the_norms(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - 2 * d_model


@COUNT.mistake("You counted three matrices of attention: W^0 is the fourth.")
def forgets_the_output_matrix(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - d_model * d_model - d_model


@COUNT.mistake("You left out all biases; the norms have them, too.")
def forgets_every_bias(d_model, d_ff):
    return 4 * d_model**2 + 2 * d_model * d_ff + 2 * d_model


@COUNT.mistake("You counted the network's first map only: the way back, F to D, is a second one.")
def counts_one_map(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - d_ff * d_model - d_model


@COUNT.mistake("You left out the network's biases, F of the first map and D of the second.")
def forgets_the_biases_of_the_network(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - d_ff - d_model


@COUNT.mistake("You left out the gains and biases of the norms and the biases of attention.")
def forgets_norms_and_biases_of_attention(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - 8 * d_model


@COUNT.mistake("You left out W^0 but counted its bias: the matrix has D² numbers.")
def keeps_the_bias_of_the_output(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - d_model * d_model


@COUNT.mistake("Three norms are a decoder layer's: an encoder layer has two.")
def counts_three_norms(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) + 2 * d_model


@COUNT.mistake("You counted weights alone: biases and norms are learned as well.")
def counts_matrices_only(d_model, d_ff):
    return 4 * d_model**2 + 2 * d_model * d_ff


# --- 7.7 ----------------------------------------------------------------------------------------


def _fitting_vocabularies(rest, d_model, millions):
    """By looking for the two totals among those of all sizes."""
    lowest, highest = millions * 10**6 - 500_000, millions * 10**6 + 500_000
    most = (millions + 1) * 10**6
    first = _first_size(lambda V: rest + V * d_model >= lowest, most)
    return [first, _first_size(lambda V: rest + V * d_model > highest, most) - 1]


def _first_size(is_enough, most):
    """Not by `bisect`: it takes no number above 2³¹ where addresses have 32 bits, as in a page."""
    least = 0
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle + 1, most)
    return least


FIT = Exercise(
    id="7.7",
    title="Which vocabulary would print this number?",
    answer="fitting_vocabularies",
    signature="fitting_vocabularies(rest, d_model, millions)",
    oracle=_fitting_vocabularies,
    hints=(
        "Between which two totals must the count lie, to be written as so many million?",
        "rest + V · d_model ≥ (millions - 0.5) · 10⁶ gives the lowest V; ≤ (millions + 0.5) · 10⁶ "
        "the highest.",
        "Three whole numbers in, a list of two whole numbers out: round the lowest up and the "
        "highest down.",
    ),
    example=Example(
        (1_000_000, 100, 3),
        "1,000,000 parameters and V rows of 100 make 2.5 to 3.5 million for V from 15,000 to "
        "25,000: it should give [15000, 25000].",
    ),
    clauses={
        "the lowest and the highest $V$": "both ends fit, their neighbours do not",
        "at most half a million away": "limits that are met exactly",
        "as a list of two whole numbers": "a small model",
        "`d_model` is at most a million": "a single row fits",
        "three whole numbers -> [lowest, highest]": DRAWN,
    },
)
FIT.case("a small model", "the lowest rounded up, the highest rounded down", 1_234_577, 1009, 3)
FIT.case("a larger model", "the same for another model", 17_000_003, 2003, 29)
FIT.case(
    "limits that are met exactly", "a total just half a million away still counts", 0, 3125, 37
)
FIT.case("a single row fits", "the lowest and the highest are the same", 300_000, 999_999, 1)


@FIT.draws
def _(rng, size):
    large = size and chance(rng, 0.3)
    millions = int(10 ** rng.uniform(0, 4)) if large else axis(rng, size)
    some = int(10 ** rng.uniform(0, 6))
    d_model = choice(rng, (1, 2, 7, 64, 100, 512, 3125, 10**6, some, some))
    d_model = max(d_model, millions)  # about a million tokens at most: some count them one by one
    room = millions * 10**6 - 500_000
    rest = choice(rng, (0, room - 1, int(rng.integers(room)), int(rng.integers(room))))
    if chance(rng, 0.3) and rest >= d_model:
        rest -= (rest - room) % d_model  # the lower limit is met exactly
    return rest, d_model, millions


@FIT.invariant("both ends fit, their neighbours do not", "one token more or fewer is too many")
def _(answer):
    low, high = (int(v) for v in answer(2_345_679, 1987, 5))
    for V, due in ((low - 1, False), (low, True), (high, True), (high + 1, False)):
        fits = abs(2_345_679 + 1987 * V - 5_000_000) <= 500_000
        if fits is not due:
            return f"You return {low} and {high}, but V = {V} {'fits' if fits else 'does not fit'}."
    return True


@FIT.right
def rounds_floats(rest, d_model, millions):
    low, high = (millions - 0.5) * 1e6 - rest, (millions + 0.5) * 1e6 - rest
    return [math.ceil(low / d_model), math.floor(high / d_model)]


@FIT.right
def steps_to_the_ends(rest, d_model, millions):
    low = (millions * 10**6 - 500_000 - rest) // d_model
    while rest + low * d_model < millions * 10**6 - 500_000:
        low += 1
    high = (millions * 10**6 + 500_000 - rest) // d_model + 1
    while rest + high * d_model > millions * 10**6 + 500_000:
        high -= 1
    return np.array([low, high])


@FIT.mistake("You rounded the lowest one down: then its total is a little too small.")
def rounds_the_lowest_down(rest, d_model, millions):
    low, high = ((millions + side) * 1e6 - rest for side in (-0.5, 0.5))
    return [int(low // d_model), int(high // d_model)]


@FIT.mistake("You rounded the highest one up: then its total is a little too large.")
def rounds_the_highest_up(rest, d_model, millions):
    low, high = ((millions + side) * 1e6 - rest for side in (-0.5, 0.5))
    return [int(-(-low // d_model)), int(-(-high // d_model))]


@FIT.mistake("A vocabulary has a whole number of tokens: round the lowest up, the highest down.")
def leaves_fractions(rest, d_model, millions):
    return [((millions + side) * 1e6 - rest) / d_model for side in (-0.5, 0.5)]


@FIT.mistake("You left out the rest of the model: the vocabulary has only what the rest leaves.")
def leaves_out_the_rest(rest, d_model, millions):
    return _fitting_vocabularies(0, d_model, millions)


@FIT.mistake("You allowed a whole million to each side: a printed number is good to half a unit.")
def allows_a_whole_million(rest, d_model, millions):
    low, high = ((millions + side) * 1e6 - rest for side in (-1, 1))
    return [int(-(-low // d_model)), int(high // d_model)]


@FIT.mistake("You solved for the printed total alone: it stands for all totals that round to it.")
def finds_the_nearest_only(rest, d_model, millions):
    nearest = round((millions * 1e6 - rest) / d_model)
    return [nearest, nearest]


@FIT.mistake("You counted the vocabulary twice: source, target and output share one table.")
def counts_two_tables(rest, d_model, millions):
    return _fitting_vocabularies(rest, 2 * d_model, millions)


@FIT.mistake("You put the highest first: return the lowest, then the highest.")
def turns_the_order_round(rest, d_model, millions):
    return _fitting_vocabularies(rest, d_model, millions)[::-1]


@FIT.mistake("A total exactly half a million away still counts: the limits belong to the range.")
def leaves_out_the_limits(rest, d_model, millions):
    low, high = millions * 10**6 - 500_000 - rest, millions * 10**6 + 500_000 - rest
    return [low // d_model + 1, (high - 1) // d_model]


@FIT.mistake("You rounded to the nearest: the lowest must be rounded up, the highest down.")
def rounds_to_the_nearest(rest, d_model, millions):
    return [round(((millions + side) * 1e6 - rest) / d_model) for side in (-0.5, 0.5)]
