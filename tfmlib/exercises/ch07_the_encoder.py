"""Chapter 7: the feed-forward network, a whole encoder layer, a stack of them, and their size."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 7.1 ----------------------------------------------------------------------------------------

FEED = Exercise(
    id="7.1",
    title="The feed-forward network",
    answer="feed_forward",
    signature="feed_forward(x, w1, b1, w2, b2)",
    oracle=lambda x, w1, b1, w2, b2: ref.feed_forward(x, w1, b1, w2, b2),
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
FEED.case("a batch of two", "any number of leading axes", _batch, *_narrow)


@FEED.invariant(
    "every position by itself", "all positions together give what each of them gives alone"
)
def _(answer):
    alone = [np.asarray(answer(row[None], *_wide))[0] for row in _five_rows]
    return np.allclose(answer(_five_rows, *_wide), alone)


@FEED.invariant(
    "a silent hidden layer leaves b2", "when no hidden unit is positive, every row is b2"
)
def _(answer):
    w1, _, w2, b2 = _wide
    return np.allclose(answer(_five_rows, w1, np.full(11, -1000.0), w2, b2), b2)


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


# --- 7.2 ----------------------------------------------------------------------------------------

ONE_MAP = Exercise(
    id="7.2",
    title="Without the ReLU",
    answer="one_map",
    signature="one_map(w1, b1, w2, b2)",
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


def _as_many(value, names):
    """The arrays that were asked for, or the sentence that says that others came."""
    from tfmlib.checking.judge import AnswerError  # the judge knows exercises, not the reverse

    if not isinstance(value, list | tuple) or len(value) != len(names):
        raise AnswerError(f"Return {len(names)} arrays in this order: {', '.join(names)}.")
    return value


def _is_one_map(answer, x, w1, b1, w2, b2):
    w, b = _as_many(answer(w1, b1, w2, b2), ("w", "b"))
    return np.shape(b) == np.shape(b2) and np.allclose(x @ w + b, (x @ w1 + b1) @ w2 + b2)


@ONE_MAP.invariant("a wide hidden layer", "x w + b is what the two maps give, for seven numbers")
def _(answer):
    return _is_one_map(answer, _five_rows, *_wide)


@ONE_MAP.invariant("a narrow hidden layer", "the same for thirteen numbers and five hidden units")
def _(answer):
    return _is_one_map(answer, _batch, *_narrow)


@ONE_MAP.invariant("an input of zeros", "for x = 0, only b is left")
def _(answer):
    w1, b1, w2, b2 = _network(11, 3, 2)
    _, b = _as_many(answer(w1, b1, w2, b2), ("w", "b"))
    return np.allclose(b, b1 @ w2 + b2)


@ONE_MAP.invariant("no biases, no bias", "with b1 = 0 and b2 = 0, b is 0")
def _(answer):
    w1, b1, w2, b2 = _network(15, 5, 7)
    return _is_one_map(answer, numbers(19, 2, 5), w1, 0 * b1, w2, 0 * b2)


@ONE_MAP.mistake("b1 passes through the second map as well: it arrives as b1 @ w2.")
def forgets_the_first_bias(w1, b1, w2, b2):
    return w1 @ w2, b2


@ONE_MAP.mistake("You forgot b2, which is added at the end.")
def loses_the_second_bias(w1, b1, w2, b2):
    return w1 @ w2, b1 @ w2


@ONE_MAP.mistake("You added b1 and b2, which differ in length: b1 must pass through w2 first.")
def adds_the_biases(w1, b1, w2, b2):
    return w1 @ w2, b1 + b2


@ONE_MAP.mistake("The order is turned round: x meets w1 first, so it is w1 @ w2.")
def turns_the_order(w1, b1, w2, b2):
    return w2 @ w1, b1 @ w2 + b2


@ONE_MAP.mistake("w is transposed: x is a row and is multiplied from the right, x @ w1 @ w2.")
def transposes_the_map(w1, b1, w2, b2):
    return (w1 @ w2).T, b1 @ w2 + b2


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
)


def _all_bits(d_model):
    """Every row of zeros and ones, 2**d_model of them."""
    return (np.arange(2**d_model)[:, None] >> np.arange(d_model) & 1).astype(float)


def _run(x, network):
    return ref.feed_forward(x, *_as_many(network, ("w1", "b1", "w2", "b2")))


def _notices(answer, d_model, a, b, c):
    x = _all_bits(d_model)
    out = _run(x, answer(d_model, a, b, c))
    wanted = np.zeros_like(x)
    wanted[:, c] = x[:, a] * x[:, b]
    return np.allclose(out, wanted)


@BOTH.invariant("five features", "1 and 3 together write a 1 to feature 4, and nothing else")
def _(answer):
    return _notices(answer, 5, 1, 3, 4)


@BOTH.invariant("seven features", "0 and 5 together write a 1 to feature 2, and nothing else")
def _(answer):
    return _notices(answer, 7, 0, 5, 2)


@BOTH.invariant("written where it was read", "the result may go to one of the two features")
def _(answer):
    return _notices(answer, 3, 2, 0, 2)


@BOTH.invariant("an empty vector stays empty", "a position without features gets zeros")
def _(answer):
    return not _run(np.zeros((2, 11)), answer(11, 3, 7, 5)).any()


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
    "a batch of two", "any number of leading axes", numbers(40, 2, 3, 10), _layer(41, 10, 7), 5
)


@LAYER.invariant("words move with their positions", "shuffling the words shuffles the result")
def _(answer):
    x, params, heads = _layer_args
    order = [3, 0, 4, 1, 2]
    return np.allclose(answer(x[order], params, heads), np.asarray(answer(x, params, heads))[order])


@LAYER.invariant(
    "the last norm has the last word",
    "with gain 1 and bias 0 in norm2, every row has mean 0 and deviation 1",
)
def _(answer):
    x, params, heads = _layer_args
    plain = {"gain": np.ones(6), "bias": np.zeros(6)}
    out = np.asarray(answer(x, params | {"norm2": plain}, heads))
    return np.allclose(out.mean(axis=-1), 0) and np.allclose(out.std(axis=-1), 1, atol=1e-3)


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
    return ref.encoder_layer(x, params | {"norm2": params["norm1"]}, heads)


@LAYER.mistake("You left out the gains and biases of the norms: pass **params['norm1'] and norm2.")
def leaves_out_gain_and_bias(x, params, heads):
    return ref.encoder_layer(x, params | {"norm1": {}, "norm2": {}}, heads)


@LAYER.mistake("The feed-forward network came first: attention gathers, then it works on that.")
def starts_with_the_network(x, params, heads):
    y = ref.add_norm(x, _think(x, params), **params["norm1"])
    return ref.add_norm(y, _attend(y, params, heads), **params["norm2"])


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
)
_layers = [_layer(60, 6, 11), _layer(80, 6, 5), _layer(100, 6, 7)]
_words = numbers(59, 5, 6)
STACK.case("three layers", "each layer works on what the one before it made", _words, _layers, 3)
STACK.case("two layers, a batch", "any leading axes", numbers(58, 2, 7, 6), _layers[:2], 2)


@STACK.invariant("a stack can be cut", "three layers are the first, and then the other two")
def _(answer):
    first = answer(_words, _layers[:1], 3)
    return np.allclose(answer(first, _layers[1:], 3), answer(_words, _layers, 3))


@STACK.invariant("one layer is that layer", "a stack of one gives what its layer gives")
def _(answer):
    return np.allclose(answer(_words, _layers[2:], 2), ref.encoder_layer(_words, _layers[2], 2))


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


# --- 7.6 ----------------------------------------------------------------------------------------


def _layer_parameters(d_model, d_ff):
    norms = {f"{which}{i}": (d_model,) for which in ("gain", "bias") for i in (1, 2)}
    attention = {f"w_{name}": (d_model, d_model) for name in "qkvo"}
    biases = {f"b_{name}": (d_model,) for name in "qkvo"}
    network = {"w1": (d_model, d_ff), "b1": (d_ff,), "w2": (d_ff, d_model), "b2": (d_model,)}
    return sum(int(np.prod(shape)) for shape in (norms | attention | biases | network).values())


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
)
COUNT.case("a small layer", "attention, feed-forward network and two norms", 7, 11)
COUNT.case("a narrow network", "the network may be narrower than the model", 13, 5)


@COUNT.invariant(
    "a hidden unit costs the same each time",
    "one hidden unit more adds a column of W1, a row of W2 and one bias: 2D + 1",
)
def _(answer):
    return all(answer(17, units + 1) - answer(17, units) == 35 for units in (2, 3, 19))


@COUNT.invariant(
    "four square matrices", "the only squares are those of D, in the four matrices of attention"
)
def _(answer):
    less, here, more = (answer(d_model, 19) for d_model in (22, 23, 24))
    return more - 2 * here + less == 2 * 4


@COUNT.mistake(
    "You are 4 D short: that is what the two norms have, a gain and a bias each, and also what the "
    "four biases of attention are. One of these is missing."
)
def forgets_norms_or_biases_of_attention(d_model, d_ff):
    return _layer_parameters(d_model, d_ff) - 4 * d_model


@COUNT.mistake("You counted one norm: there is one after attention and one after the network.")
def counts_one_norm(d_model, d_ff):
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


# --- 7.7 ----------------------------------------------------------------------------------------


def _fitting_vocabularies(rest, d_model, millions):
    """By trying them all."""
    sizes = np.arange(int((millions + 1) * 1e6 / d_model) + 2)
    fits = np.flatnonzero(abs(rest + sizes * d_model - millions * 10**6) <= 500_000)
    return [int(fits[0]), int(fits[-1])]


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
)
FIT.case("a small model", "the lowest rounded up, the highest rounded down", 1_234_577, 1009, 3)
FIT.case("a larger model", "the same for another model", 17_000_003, 2003, 29)
FIT.case(
    "limits that are met exactly", "a total just half a million away still counts", 0, 3125, 37
)


@FIT.invariant("both ends fit, their neighbours do not", "one token more or fewer is too many")
def _(answer):
    low, high = (int(v) for v in answer(2_345_679, 1987, 5))
    fits = {
        v: abs(2_345_679 + 1987 * v - 5_000_000) <= 500_000 for v in (low - 1, low, high, high + 1)
    }
    return list(fits.values()) == [False, True, True, False]


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
