"""Chapter 5: what one head cannot do; split, attend, merge, project; heads built and counted."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 5.1 ----------------------------------------------------------------------------------------


def _shared_weight(score, keys):
    return ref.softmax([score] * 2 + [0.0] * (keys - 2))[0]


SHARED = Exercise(
    id="5.1",
    title="Two relations, one softmax",
    answer="shared_weight",
    signature="shared_weight(score, keys)",
    oracle=_shared_weight,
    hints=(
        "How many exponentials stand in the denominator, and what is the exponential of 0?",
        "exp(score) / (2 exp(score) + (keys - 2) exp(0)).",
        "Two numbers in, one number out: the weight of one of the two keys.",
    ),
    example=Example((0.0, 4), "score 0 among 4 keys should give 0.25: all keys are alike."),
)
SHARED.case("seven keys", "two exponentials of the score, five of 0", 2.0, 7)
SHARED.case("thirteen keys", "two exponentials of the score, eleven of 0", 0.5, 13)
SHARED.case("a score below the others", "a negative score makes both weights small", -1.5, 5)


@SHARED.invariant("never more than one half", "two equal weights cannot add up to more than 1")
def _(answer):
    weights = [answer(float(score), 11) for score in range(30)]
    return max(weights) <= 0.5 and weights[-1] > 0.499


@SHARED.invariant("two keys share evenly", "with no other key, each of the two has one half")
def _(answer):
    return all(np.isclose(answer(score, 2), 0.5) for score in (-3.0, 0.0, 7.0))


@SHARED.mistake("You left out the other keys: a score of 0 has the exponential 1, not 0.")
def leaves_out_the_others(score, keys):
    return np.exp(score) / (2 * np.exp(score))


@SHARED.mistake("You counted all keys as others: two of them have the score, keys - 2 have 0.")
def counts_all_keys_as_others(score, keys):
    return np.exp(score) / (2 * np.exp(score) + keys)


@SHARED.mistake("You gave the score to one key only: the other one's exponential counts as well.")
def scores_one_key_only(score, keys):
    return np.exp(score) / (np.exp(score) + keys - 1)


@SHARED.mistake("That is what both get together: each of them gets half of it.")
def returns_both_together(score, keys):
    return 2 * np.exp(score) / (2 * np.exp(score) + keys - 2)


@SHARED.mistake("You divided the score itself: softmax takes exponentials first.")
def forgets_the_exponentials(score, keys):
    return score / (2 * score + keys - 2)


# --- 5.2 ----------------------------------------------------------------------------------------


def _side_by_side(w):
    return np.concatenate(list(w), axis=-1)  # (D, H·K)


def _heads_by_loop(x, w_q, w_k, w_v, w_o):
    params = {
        "w_q": _side_by_side(w_q),
        "w_k": _side_by_side(w_k),
        "w_v": _side_by_side(w_v),
        "w_o": w_o,
    }
    return ref.multi_head_attention(x, x, params, heads=len(w_q))


def _loop_arguments(seed, T, D, H, K, d_v):
    """x, w_q, w_k, w_v, w_o of one sentence, small enough that no head looks at one word alone."""
    w_q, w_k = numbers(seed + 1, H, D, K) / 3, numbers(seed + 2, H, D, K) / 3
    w_v, w_o = numbers(seed + 3, H, D, d_v), numbers(seed + 4, H * d_v, D)
    return numbers(seed, T, D), w_q, w_k, w_v, w_o


_two_words = np.array([[1.0, 0.0], [0.0, 1.0]])
LOOP = Exercise(
    id="5.2",
    title="Heads in a loop",
    answer="heads_by_loop",
    signature="heads_by_loop(x, w_q, w_k, w_v, w_o)",
    oracle=_heads_by_loop,
    hints=(
        "What does one head compute from x and its own three matrices?",
        "h_i = attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]); then Concat(h_1, …, h_h) @ w_o.",
        "x (T, D); w_q, w_k (H, D, K); w_v (H, D, d_v); each head (T, d_v); side by side "
        "(T, H·d_v); w_o (H·d_v, D).",
    ),
    example=Example(
        (
            _two_words,
            np.zeros((2, 2, 1)),
            np.zeros((2, 2, 1)),
            np.array([[[4.0], [8.0]], [[2.0], [0.0]]]),
            np.eye(2),
        ),
        "queries of zero attend to both words equally, so the heads find 6 and 1: it should give "
        "[[6, 1], [6, 1]].",
    ),
)
_loop_args = _loop_arguments(1, T=5, D=7, H=3, K=2, d_v=11)
LOOP.case(
    "three heads", "attend with each head, lay the results side by side, project", *_loop_args
)
LOOP.case(
    "two heads of other sizes",
    "every head has matrices of its own",
    *_loop_arguments(11, T=11, D=5, H=2, K=3, d_v=7),
)


@LOOP.invariant("one head is plain attention", "with one head, nothing but W^0 comes after it")
def _(answer):
    x, w_q, w_k, w_v, w_o = _loop_arguments(21, T=3, D=5, H=1, K=7, d_v=2)
    return np.allclose(
        answer(x, w_q, w_k, w_v, w_o), ref.attention(x @ w_q[0], x @ w_k[0], x @ w_v[0]) @ w_o
    )


@LOOP.invariant(
    "the order of the heads is free",
    "turning the heads round, together with their rows of W^0, changes nothing",
)
def _(answer):
    x, w_q, w_k, w_v, w_o = _loop_args
    turned = w_o.reshape(3, 11, 7)[::-1].reshape(33, 7)
    return np.allclose(answer(x, w_q[::-1], w_k[::-1], w_v[::-1], turned), answer(*_loop_args))


def _each_head(x, w_q, w_k, w_v):
    return [ref.attention(x @ q, x @ k, x @ v) for q, k, v in zip(w_q, w_k, w_v, strict=True)]


@LOOP.mistake("You stopped before the projection: multiply the concatenated heads with w_o.")
def forgets_the_projection(x, w_q, w_k, w_v, w_o):
    return np.concatenate(_each_head(x, w_q, w_k, w_v), axis=-1)


@LOOP.mistake(
    "You added the heads up or stacked them in rows, and the result does not fit w_o: lay them "
    "side by side, np.concatenate(…, axis=-1)."
)
def adds_the_heads_up(x, w_q, w_k, w_v, w_o):
    return sum(_each_head(x, w_q, w_k, w_v)) @ w_o


@LOOP.mistake("Every head used the first head's queries: head i has its own w_q[i].")
def shares_the_first_queries(x, w_q, w_k, w_v, w_o):
    same = [w_q[0]] * len(w_q)
    return np.concatenate(_each_head(x, same, w_k, w_v), axis=-1) @ w_o


@LOOP.mistake("You laid the heads side by side in reverse order: W^0 expects the first one first.")
def reverses_the_heads(x, w_q, w_k, w_v, w_o):
    return np.concatenate(_each_head(x, w_q, w_k, w_v)[::-1], axis=-1) @ w_o


@LOOP.mistake("You scaled by the width of x: a head divides its scores by √d_k of that head.")
def scales_by_the_width_of_x(x, w_q, w_k, w_v, w_o):
    wider = w_q * np.sqrt(w_q.shape[-1] / x.shape[-1])
    return np.concatenate(_each_head(x, wider, w_k, w_v), axis=-1) @ w_o


@LOOP.mistake("You took queries for keys: ref.attention wants queries, keys, values.")
def swaps_queries_and_keys(x, w_q, w_k, w_v, w_o):
    return np.concatenate(_each_head(x, w_k, w_q, w_v), axis=-1) @ w_o


# --- 5.3 ----------------------------------------------------------------------------------------

SPLIT = Exercise(
    id="5.3",
    title="Cut into heads",
    answer="split_heads",
    signature="split_heads(x, heads)",
    oracle=lambda x, heads: ref.split_heads(x, heads),
    hints=(
        "Which of the axes T and D is cut in two, and which two axes then change places?",
        "Reshape the last axis D into (heads, D / heads); then swap the axes of T and heads.",
        "(..., T, D) -> (..., T, H, K) -> (..., H, T, K).",
    ),
    example=Example(
        (np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]), 2),
        "rows [1, 2, 3, 4] and [5, 6, 7, 8] in 2 heads should give [[1, 2], [5, 6]] and "
        "[[3, 4], [7, 8]].",
    ),
    equivalent={
        "return x.swapaxes(-2, -3) -> return x.swapaxes(-3, -2)": "swapping is symmetric",
    },
)
_split_args = numbers(31, 2, 7, 15), 3
SPLIT.case("one sentence", "two heads of three columns each", numbers(30, 5, 6), 2)
SPLIT.case("a batch of two", "each sentence is cut by itself", *_split_args)
SPLIT.case("two batch axes", "any number of leading axes", numbers(32, 2, 3, 11, 35), 5)


@SPLIT.invariant("a head holds neighbouring columns", "head 2 of 3 holds columns 5 to 9 of 15")
def _(answer):
    x = _split_args[0]
    return np.allclose(answer(x, 3)[:, 1], x[:, :, 5:10])


@SPLIT.invariant("one head changes nothing but the shape", "with one head, x gets one more axis")
def _(answer):
    x = numbers(33, 3, 5)
    return np.array_equal(answer(x, 1), x[None])


@SPLIT.mistake(
    "You reshaped straight to (H, T, K): that deals out numbers row by row, so a head gets pieces "
    "of other positions. Cut the last axis first, then swap."
)
def reshapes_in_one_step(x, heads):
    *batch, T, D = x.shape
    return x.reshape(*batch, heads, T, D // heads)


@SPLIT.mistake(
    "This cuts one sentence, and stumbles over a batch, whose shape has more than two numbers: "
    "write *batch, T, D = x.shape and count axes from the end."
)
def knows_one_sentence_only(x, heads):
    T, D = x.shape
    return x.reshape(T, heads, D // heads).swapaxes(0, 1)


@SPLIT.mistake("The heads must come before the positions: swap the axes of T and H.")
def leaves_positions_first(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1)


@SPLIT.mistake("You dealt the columns out one by one: a head gets neighbouring columns.")
def deals_columns_out(x, heads):
    return np.moveaxis(x.reshape(*x.shape[:-1], -1, heads), -1, -3)


@SPLIT.mistake("You took the number of heads for their width: `heads` says how many there are.")
def takes_heads_for_the_width(x, heads):
    return x.reshape(*x.shape[:-1], -1, heads).swapaxes(-2, -3)


@SPLIT.mistake("Positions and columns changed places within each head: a head is (T, K).")
def transposes_each_head(x, heads):
    return ref.split_heads(x, heads).swapaxes(-1, -2)


@SPLIT.mistake("You cut the sentence in pieces: every head sees all positions, and some columns.")
def cuts_the_positions(x, heads):
    return np.stack(np.array_split(x, heads, axis=-2), axis=-3)


# --- 5.4 ----------------------------------------------------------------------------------------

MERGE = Exercise(
    id="5.4",
    title="Find the bug: heads side by side",
    answer="merge_heads",
    signature="merge_heads(x)",
    oracle=lambda x: ref.merge_heads(x),
    hints=(
        "A reshape keeps the order in which the numbers lie: which axis must lie next to K first?",
        "Swap the axes of H and T, then join the last two.",
        "(..., H, T, K) -> (..., T, H, K) -> (..., T, H·K).",
    ),
    example=Example(
        (np.array([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]),),
        "heads [[1, 2], [5, 6]] and [[3, 4], [7, 8]] should give rows [1, 2, 3, 4] and "
        "[5, 6, 7, 8].",
    ),
    equivalent={
        "return x.swapaxes(-2, -3).reshape(*batch, T, H * K) -> "
        "return x.swapaxes(-3, -2).reshape(*batch, T, H * K)": "swapping is symmetric",
    },
)
_merge_args = numbers(41, 2, 3, 7, 5)
MERGE.case("two heads", "row t holds row t of every head", numbers(40, 2, 5, 3))
MERGE.case("a batch of two", "each sentence is merged by itself", _merge_args)
MERGE.case("two batch axes", "any number of leading axes", numbers(42, 2, 3, 5, 11, 7))


@MERGE.invariant("it undoes split_heads", "cut into heads and merged, x is what it was")
def _(answer):
    x = numbers(43, 2, 7, 15)
    return np.allclose(answer(ref.split_heads(x, 5)), x)


@MERGE.invariant(
    "a position stays where it is", "row 4 of the result holds nothing but row 4 of the heads"
)
def _(answer):
    other = _merge_args.copy()
    other[:, :, :4] = 0.0
    return np.allclose(np.asarray(answer(other))[:, 4], np.asarray(answer(_merge_args))[:, 4])


@MERGE.mistake(
    "This is still the bug: reshape joins axes that lie next to each other, here T with K of the "
    "same head. Swap H and T first."
)
def keeps_the_bug(x):
    *batch, H, T, K = x.shape
    return x.reshape(*batch, T, H * K)


@MERGE.mistake(
    "This merges one sentence, and stumbles over a batch, whose shape has more than three numbers: "
    "keep *batch, and count axes from the end."
)
def merges_one_sentence_only(x):
    H, T, K = x.shape
    return x.swapaxes(0, 1).reshape(T, H * K)


@MERGE.mistake("You swapped the last two axes: it is the heads and the positions that must swap.")
def swaps_the_last_two(x):
    *batch, H, T, K = x.shape
    return x.swapaxes(-1, -2).reshape(*batch, T, H * K)


@MERGE.mistake("You interleaved the heads: the columns of one head stay together.")
def interleaves_the_heads(x):
    *batch, H, T, K = x.shape
    return np.moveaxis(x, -3, -1).reshape(*batch, T, H * K)


@MERGE.mistake("You put the heads under each other: position t of all heads belongs in one row.")
def stacks_the_heads(x):
    *batch, H, T, K = x.shape
    return x.reshape(*batch, H * T, K)


@MERGE.mistake("You averaged the heads: merging keeps every number of every head.")
def averages_the_heads(x):
    return x.mean(axis=-3)


# --- 5.5 ----------------------------------------------------------------------------------------


def _multi_head(x, w_q, w_k, w_v, w_o, heads):
    params = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
    return ref.multi_head_attention(x, x, params, heads)


MULTI = Exercise(
    id="5.5",
    title="Multi-head attention, in batches",
    answer="multi_head_attention",
    signature="multi_head_attention(x, w_q, w_k, w_v, w_o, heads)",
    oracle=_multi_head,
    hints=(
        "Where does the cutting into heads belong: before or after the product with w_q?",
        "merge(attention(split(x W^q), split(x W^k), split(x W^v))) W^0.",
        "x (..., T, D); x @ w_q (..., T, H·K); split (..., H, T, K); merged (..., T, H·K); result "
        "(..., T, D).",
    ),
    example=Example(
        (
            _two_words,
            np.zeros((2, 2)),
            np.zeros((2, 2)),
            np.array([[4.0, 2.0], [8.0, 0.0]]),
            np.eye(2),
            2,
        ),
        "the two heads of exercise 5.2, side by side in one matrix, should give [[6, 1], [6, 1]].",
    ),
)


def _matrices(seed, D, width):
    w_q, w_k, w_v = (numbers(seed + i, D, width) / 2 for i in range(3))
    return w_q, w_k, w_v, numbers(seed + 3, width, D)


_multi_args = (numbers(51, 2, 7, 15), *_matrices(52, 15, 15), 3)
MULTI.case("one sentence", "two heads of three", numbers(50, 5, 6), *_matrices(56, 6, 6), 2)
MULTI.case("a batch of two", "three heads of five", *_multi_args)
MULTI.case(
    "heads narrower than D / heads",
    "the projections may be of any width that the heads divide",
    numbers(60, 3, 5, 11),
    *_matrices(61, 11, 14),
    7,
)


@MULTI.invariant("one head is plain attention", "with heads=1, it is attention, then W^0")
def _(answer):
    x, w_q, w_k, w_v, w_o, _heads = _multi_args
    plain = ref.attention(x @ w_q, x @ w_k, x @ w_v) @ w_o
    return np.allclose(answer(x, w_q, w_k, w_v, w_o, 1), plain)


@MULTI.invariant("a batch is its sentences one by one", "sentences do not see each other")
def _(answer):
    x, *rest = _multi_args
    return np.allclose(answer(x, *rest), [answer(x[i], *rest) for i in range(2)])


def _attended(x, w_q, w_k, w_v, heads):
    return ref.attention(*(ref.split_heads(x @ w, heads) for w in (w_q, w_k, w_v)))


@MULTI.mistake("You stopped at the merged heads: multiply with w_o.")
def skips_the_output_projection(x, w_q, w_k, w_v, w_o, heads):
    return ref.merge_heads(_attended(x, w_q, w_k, w_v, heads))


@MULTI.mistake("You did not cut into heads: this is one wide head.")
def attends_with_one_wide_head(x, w_q, w_k, w_v, w_o, heads):
    return ref.attention(x @ w_q, x @ w_k, x @ w_v) @ w_o


@MULTI.mistake(
    "You scaled by the whole width: after the cut, d_k is the width of one head, H times smaller."
)
def scales_by_the_whole_width(x, w_q, w_k, w_v, w_o, heads):
    return ref.merge_heads(_attended(x, w_q / np.sqrt(heads), w_k, w_v, heads)) @ w_o


def _cut_by_reshape(x, heads):
    *batch, T, D = x.shape
    return x.reshape(*batch, heads, T, D // heads)


@MULTI.mistake("You cut into heads by one reshape, which mixes positions: reshape, then swap.")
def cuts_by_reshape_alone(x, w_q, w_k, w_v, w_o, heads):
    q, k, v = (_cut_by_reshape(x @ w, heads) for w in (w_q, w_k, w_v))
    return ref.merge_heads(ref.attention(q, k, v)) @ w_o


@MULTI.mistake("You merged by one reshape, which mixes positions: swap, then reshape.")
def merges_by_reshape_alone(x, w_q, w_k, w_v, w_o, heads):
    attended = _attended(x, w_q, w_k, w_v, heads)
    return attended.reshape(*x.shape[:-1], w_v.shape[-1]) @ w_o


@MULTI.mistake("You took keys for queries: attention wants queries, keys, values, in this order.")
def exchanges_queries_and_keys(x, w_q, w_k, w_v, w_o, heads):
    return ref.merge_heads(_attended(x, w_k, w_q, w_v, heads)) @ w_o


# --- 5.6 ----------------------------------------------------------------------------------------

BACK = Exercise(
    id="5.6",
    title="A head that looks back",
    answer="looks_back",
    signature="looks_back(offset, d_model, sharpness)",
    hints=(
        "Which matrix turns the encoding of position i into that of position i - offset?",
        "ref.shift_matrix(-offset, d_model) @ PE_i = PE_(i - offset), and row x of X is "
        "multiplied from the right, so transpose it. Keys may stay as they are.",
        "Two numbers and a factor in; two matrices (D, D) out, w_q and w_k.",
    ),
    example=Example(
        (0, 2, 3.0),
        "offset 0 needs no turn: 3 × the identity and the identity are one right answer.",
    ),
)


def _two_matrices(value, d_model):
    """w_q and w_k, or the sentence that says what came instead."""
    from tfmlib.checking.judge import AnswerError  # the judge knows exercises, not the reverse

    shape = (2, d_model, d_model)
    if np.shape(value) != shape:
        raise AnswerError(
            f"Return two matrices, w_q and w_k, each of shape {shape[1:]}; what came has the shape "
            f"{np.shape(value)}."
        )
    return value


def _weights_of(answer, offset, d_model, sharpness, length):
    """The attention of the learner's head on a sentence that consists of positions alone."""
    x = ref.sinusoidal_encoding(length, d_model)
    w_q, w_k = _two_matrices(answer(offset, d_model, sharpness), d_model)
    with np.errstate(invalid="ignore"):  # a wrong answer may hold infinities
        return ref.attention_weights(x @ w_q, x @ w_k)


def _finds(weights, offset):
    """Whether each position gives most of its weight to the one `offset` places before."""
    T = len(weights)
    rows = [i for i in range(T) if 0 <= i - offset < T]
    return all(weights[i, i - offset] > 0.9 for i in rows)


@BACK.invariant("the token before", "with offset 1, the token before gets more than 0.9")
def _(answer):
    return _finds(_weights_of(answer, 1, 14, 60.0, 7), 1)


@BACK.invariant("five tokens before", "with offset 5, the fifth token before gets more than 0.9")
def _(answer):
    return _finds(_weights_of(answer, 5, 22, 60.0, 13), 5)


@BACK.invariant("a negative offset looks ahead", "with offset -2, the next but one gets it")
def _(answer):
    return _finds(_weights_of(answer, -2, 14, 60.0, 11), -2)


@BACK.invariant("sharpness 0 looks everywhere", "with sharpness 0, all weights are equal")
def _(answer):
    return np.allclose(_weights_of(answer, 3, 14, 0.0, 7), 1 / 7)


@BACK.invariant(
    "twice the sharpness doubles the scores",
    "the scores q·k are proportional to the sharpness: at 2 they are twice those at 1",
)
def _(answer):
    x = ref.sinusoidal_encoding(5, 6)
    once, twice = (_two_matrices(answer(1, 6, sharpness), 6) for sharpness in (1.0, 2.0))
    with np.errstate(invalid="ignore"):
        once, twice = (x @ w_q @ w_k.T @ x.T for w_q, w_k in (once, twice))
    return np.allclose(twice, 2 * once)


@BACK.mistake(
    "Your head looks the other way, ahead: ref.shift_matrix acts on columns, and x is a row, so "
    "it takes the transpose."
)
def looks_ahead(offset, d_model, sharpness):
    return sharpness * ref.shift_matrix(-offset, d_model), np.eye(d_model)


@BACK.mistake("You moved queries and keys alike, so each position finds itself: move one of them.")
def moves_both(offset, d_model, sharpness):
    shift = ref.shift_matrix(-offset, d_model).T
    return sharpness * shift, shift


@BACK.mistake("You did not move anything: each position finds itself.")
def moves_nothing(offset, d_model, sharpness):
    return sharpness * np.eye(d_model), np.eye(d_model)


@BACK.mistake("You left the sharpness out: without it, the weights hardly differ.")
def forgets_the_sharpness(offset, d_model, sharpness):
    return ref.shift_matrix(-offset, d_model).T, np.eye(d_model)


@BACK.mistake("You sharpened queries and keys: the scores then grow with the sharpness squared.")
def sharpens_twice(offset, d_model, sharpness):
    return sharpness * ref.shift_matrix(-offset, d_model).T, sharpness * np.eye(d_model)


# --- 5.7 ----------------------------------------------------------------------------------------


def _attention_parameters(d_model, heads, d_k, d_v):
    weights = [(d_model, heads * d_k)] * 2 + [(d_model, heads * d_v), (heads * d_v, d_model)]
    return sum(rows * columns + columns for rows, columns in weights)


PARAMETERS = Exercise(
    id="5.7",
    title="What the heads learn, counted",
    answer="attention_parameters",
    signature="attention_parameters(d_model, heads, d_k, d_v)",
    oracle=_attention_parameters,
    hints=(
        "Which four matrices does multi-head attention have, and how long is the bias of each?",
        "W^q and W^k: D × (H·d_k) with H·d_k biases each; W^v: D × (H·d_v) with H·d_v; "
        "W^0: (H·d_v) × D with D.",
        "Four whole numbers in, one whole number out.",
    ),
    example=Example(
        (512, 8, 64, 64), "8 heads of 64 with d_model = 512 should give 1,050,624 parameters."
    ),
)
PARAMETERS.case("three heads", "four matrices with their biases", 7, 3, 5, 2)
PARAMETERS.case("one head", "the count for a single head", 13, 1, 11, 3)
PARAMETERS.case("wide values", "keys and values may differ in width", 5, 2, 3, 17)


@PARAMETERS.invariant(
    "cutting costs nothing", "heads of D / heads each learn as much, however many they are"
)
def _(answer):
    counts = {int(answer(30, heads, 30 // heads, 30 // heads)) for heads in (1, 2, 3, 5)}
    return counts == {4 * (30 * 30 + 30)}


@PARAMETERS.invariant("every head adds the same", "from 2 to 3 heads as much as from 3 to 4")
def _(answer):
    two, three, four = (answer(7, heads, 5, 3) for heads in (2, 3, 4))
    return three - two == four - three > 0


@PARAMETERS.mistake("You left out the biases: each of the four matrices has one for each column.")
def forgets_the_biases(d_model, heads, d_k, d_v):
    return 2 * d_model * heads * (d_k + d_v)


@PARAMETERS.mistake("You left out W^0, which projects the concatenated heads, and its bias.")
def forgets_the_output_matrix(d_model, heads, d_k, d_v):
    return (d_model + 1) * heads * (2 * d_k + d_v)


@PARAMETERS.mistake("You counted one head: each of the heads has its own W^q, W^k and W^v.")
def counts_one_head(d_model, heads, d_k, d_v):
    return _attention_parameters(d_model, 1, d_k, d_v)


@PARAMETERS.mistake("4 (D² + D) holds only when the heads together are as wide as D.")
def assumes_that_the_heads_fill_the_model(d_model, heads, d_k, d_v):
    return 4 * (d_model**2 + d_model)


@PARAMETERS.mistake("Queries and keys have a matrix each: you counted one for both.")
def counts_queries_and_keys_once(d_model, heads, d_k, d_v):
    return (d_model + 1) * heads * (d_k + d_v) + (heads * d_v + 1) * d_model


@PARAMETERS.mistake("The bias of W^0 is as long as its output, D, not H·d_v.")
def takes_the_wrong_bias_of_the_output(d_model, heads, d_k, d_v):
    return _attention_parameters(d_model, heads, d_k, d_v) - d_model + heads * d_v


# --- 5.8 ----------------------------------------------------------------------------------------


def _contributions(heads, w_o):
    H, _, K = heads.shape
    return np.stack([heads[h] @ w_o[h * K : (h + 1) * K] for h in range(H)])


PARTS = Exercise(
    id="5.8",
    title="The projection is a sum over heads",
    answer="contributions",
    signature="contributions(heads, w_o)",
    oracle=_contributions,
    hints=(
        "When a row is multiplied with a matrix, which of its rows do the first K numbers meet?",
        "Concat(h_1, …, h_h) W^0 = h_1 W^0_1 + … + h_h W^0_h, with W^0_i the i-th block of K rows.",
        "heads (H, T, K), w_o (H·K, D) cut into (H, K, D); the result is (H, T, D).",
    ),
    example=Example(
        (np.array([[[2.0]], [[3.0]]]), np.array([[1.0, 0.0], [0.0, 10.0]])),
        "heads [[2]] and [[3]] with W^0 = [[1, 0], [0, 10]] should give [[2, 0]] and [[0, 30]].",
    ),
)
_parts_args = numbers(71, 3, 5, 2), numbers(72, 6, 7)
PARTS.case("three heads", "each head meets its own rows of W^0", *_parts_args)
PARTS.case(
    "two wide heads", "each head meets its own rows", numbers(73, 2, 3, 11), numbers(74, 22, 5)
)


@PARTS.invariant("they add up to the whole", "the contributions sum to merged heads times W^0")
def _(answer):
    heads, w_o = _parts_args
    return np.allclose(np.sum(answer(heads, w_o), axis=0), ref.merge_heads(heads) @ w_o)


@PARTS.invariant("a head of zeros contributes nothing", "without its output, its part is zero")
def _(answer):
    heads, w_o = _parts_args[0].copy(), _parts_args[1]
    heads[1] = 0.0
    parts = np.asarray(answer(heads, w_o))
    return not parts[1].any() and parts[0].any() and parts[2].any()


@PARTS.mistake("You added them up: return each head's part, the sum is the whole output.")
def returns_the_sum(heads, w_o):
    return ref.merge_heads(heads) @ w_o


@PARTS.mistake("Every head used the first K rows of W^0: head i has rows i·K to (i+1)·K.")
def uses_the_first_block(heads, w_o):
    return heads @ w_o[: heads.shape[-1]]


@PARTS.mistake("You took every H-th row of W^0: the rows of one head lie next to each other.")
def takes_every_hth_row(heads, w_o):
    return np.stack([head @ w_o[h :: len(heads)] for h, head in enumerate(heads)])


@PARTS.mistake("You divided by the number of heads: the parts are added, not averaged.")
def averages_the_parts(heads, w_o):
    return _contributions(heads, w_o) / len(heads)


@PARTS.mistake("You took the blocks of W^0 in reverse order: the first head meets the first rows.")
def reverses_the_blocks(heads, w_o):
    return heads @ w_o.reshape(len(heads), -1, w_o.shape[1])[::-1]
