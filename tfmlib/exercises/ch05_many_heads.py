"""Chapter 5: what one head cannot do; split, attend, merge, project; heads built and counted."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same, show
from tfmlib.checking.draw import (
    ANY_MAGNITUDE,
    KINDS,
    axis,
    chance,
    choice,
    even,
    leading,
    stretch,
    together,
    values,
)
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome


def _layer(rng, x_shape, *shapes):
    """An input, at times a large one, and matrices for it."""
    x, *matrices = together(rng, (*KINDS, "tiny"), x_shape, *shapes)
    return x * 10.0 ** rng.integers(2, 5) if chance(rng, 0.15) else x, *matrices


# --- 5.1 ----------------------------------------------------------------------------------------


def _shared_weight(score, keys):
    return ref.softmax([score] * 2 + [0.0] * (keys - 2))[0]


SHARED = Exercise(
    id="5.1",
    title="Two relations, one softmax",
    answer="shared_weight",
    signature="shared_weight(score, keys)",
    oracle=_shared_weight,
    clauses={
        "Among `keys` keys, two have the same score": "seven keys",
        "all others have the score 0": "thirteen keys",
        "the softmax weight that each of the two gets": "never more than one half",
        "for any score from $-20$ to 1000": "a score of 1000",
        "a whole number of at least 2": "two keys share evenly",
    },
    hints=(
        "How many exponentials stand in the denominator, and what is the exponential of 0?",
        "exp(score) / (2 exp(score) + (keys - 2) exp(0)), with numerator and denominator divided "
        "by exp(score), which overflows at 1000.",
        "Two numbers in, one number out: the weight of one of the two keys.",
    ),
    example=Example((0.0, 4), "score 0 among 4 keys should give 0.25: all keys are alike."),
)
SHARED.case("seven keys", "two exponentials of the score, five of 0", 2.0, 7)
SHARED.case("thirteen keys", "two exponentials of the score, eleven of 0", 0.5, 13)
SHARED.case("a score below the others", "weights below those of the other keys", -1.5, 5)
SHARED.case("a score of 1000", "one half, though exp(1000) is infinite", 1000.0, 5)


@SHARED.draws
def _(rng, size):
    scores = (0.0, float(rng.normal()), float(rng.uniform(-20, 20)), int(rng.integers(-9, 10)))
    far = (-20, 1000, 710.5, float(rng.uniform(20, 1000)))
    keys = choice(rng, (100, 5000)) if size and chance(rng, 0.15) else axis(rng, size, least=2)
    return choice(rng, far if size and chance(rng, 0.3) else scores), keys


@SHARED.invariant("never more than one half", "two equal weights cannot add up to more than 1")
def _(answer):
    weights = [float(answer(float(score), 11)) for score in range(30)]
    if not max(weights) <= 0.5 + 1e-9:
        return f"Two weights of {show(max(weights))} add up to more than 1."
    if not weights[-1] > 0.499:
        return f"At a score of 29 among 11 keys it gives {show(weights[-1])}, not nearly one half."


@SHARED.invariant("two keys share evenly", "with no other key, each of the two has one half")
def _(answer):
    return all(same(answer(score, 2), 0.5) for score in (-3.0, 0.0, 7.0))


@SHARED.right
def asks_the_softmax(score, keys):
    scores = np.zeros(keys)
    scores[:2] = score
    powers = np.exp(scores - scores.max())
    return powers[0] / powers.sum()


@SHARED.right
def halves_a_sigmoid(score, keys):
    if keys == 2:
        return 0.5
    shifted = score + np.log(2) - np.log(keys - 2)  # of both together, against the rest
    return 0.5 * np.exp(-np.logaddexp(0, -shifted))


@SHARED.mistake(
    "exp(1000) is infinite, and ∞/∞ is NaN: divide numerator and denominator by exp(score) first, "
    "or subtract the largest score, as in exercise 4.2."
)
def overflows(score, keys):
    return np.exp(score) / (2 * np.exp(score) + keys - 2)


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
def returns_bothtogether(score, keys):
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
    forbids=("multi_head_attention", "multi_head_attention_forward"),
    clauses={
        "to {eq}`eq-notes-14` as a loop": "two heads of other sizes",
        "are the matrices of head $i$": "three heads",
        "`w_o` is $W^0$": "one head is plain attention",
        "x (T, D), w_q, w_k (H, D, K), w_v (H, D, d_v), w_o (H·d_v, D) -> (T, D)": "inputs of "
        "every size and kind",
    },
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
    "each head by its own matrices, side by side, projected",
    *_loop_arguments(11, T=11, D=5, H=2, K=3, d_v=7),
)


@LOOP.draws
def _(rng, size):
    T, D, H = stretch(rng, size), min(axis(rng, size), 16), min(axis(rng, size), 8)
    K, d_v = min(axis(rng, size), 16), min(axis(rng, size), 16)
    return _layer(rng, (T, D), (H, D, K), (H, D, K), (H, D, d_v), (H * d_v, D))


@LOOP.invariant("one head is plain attention", "with one head, nothing but W^0 comes after it")
def _(answer):
    x, w_q, w_k, w_v, w_o = _loop_arguments(21, T=3, D=5, H=1, K=7, d_v=2)
    plain = ref.attention(x @ w_q[0], x @ w_k[0], x @ w_v[0]) @ w_o
    return same(answer(x, w_q, w_k, w_v, w_o), plain)


@LOOP.invariant(
    "the order of the heads is free",
    "reversing the heads, together with their rows of W^0, changes nothing",
)
def _(answer):
    x, w_q, w_k, w_v, w_o = _loop_args
    turned = w_o.reshape(3, 11, 7)[::-1].reshape(33, 7)
    backwards = [w[::-1].copy() for w in (w_q, w_k, w_v)]
    return same(answer(x, *backwards, turned), answer(*_loop_args))


def _each_head(x, w_q, w_k, w_v):
    return [ref.attention(x @ q, x @ k, x @ v) for q, k, v in zip(w_q, w_k, w_v, strict=True)]


@LOOP.right
def adds_what_each_head_contributes(x, w_q, w_k, w_v, w_o):
    blocks = np.split(w_o, len(w_q))
    heads = _each_head(x, w_q, w_k, w_v)
    return sum(head @ block for head, block in zip(heads, blocks, strict=True)).tolist()


@LOOP.right
def fills_columns(x, w_q, w_k, w_v, w_o):
    d_v = w_v.shape[2]
    side_by_side = np.zeros((len(x), len(w_o)))
    for i in range(len(w_q)):
        weights = ref.softmax((x @ w_q[i]) @ (x @ w_k[i]).T / np.sqrt(w_k.shape[2]))
        side_by_side[:, i * d_v : (i + 1) * d_v] = weights @ (x @ w_v[i])
    return side_by_side @ w_o


@LOOP.right
def attends_with_all_heads_at_once(x, w_q, w_k, w_v, w_o):
    q, k, v = (np.einsum("td,hdk->htk", x, w) for w in (w_q, w_k, w_v))
    return np.hstack(list(ref.attention(q, k, v))) @ w_o


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


@LOOP.mistake("Every head used the first head's values: head i has its own w_v[i].")
def shares_the_first_values(x, w_q, w_k, w_v, w_o):
    same = [w_v[0]] * len(w_v)
    return np.concatenate(_each_head(x, w_q, w_k, same), axis=-1) @ w_o


@LOOP.mistake("You laid the heads side by side in reverse order: W^0 expects the first one first.")
def reverses_the_heads(x, w_q, w_k, w_v, w_o):
    return np.concatenate(_each_head(x, w_q, w_k, w_v)[::-1], axis=-1) @ w_o


@LOOP.mistake("You scaled by the width of x: a head divides its scores by √d_k of that head.")
def scales_by_the_width_of_x(x, w_q, w_k, w_v, w_o):
    wider = w_q * np.sqrt(w_q.shape[-1] / x.shape[-1])
    return np.concatenate(_each_head(x, wider, w_k, w_v), axis=-1) @ w_o


@LOOP.mistake(
    "You interleaved the heads column by column: the columns of one head stay together, "
    "np.concatenate(…, axis=-1)."
)
def interleaves_columns(x, w_q, w_k, w_v, w_o):
    return np.stack(_each_head(x, w_q, w_k, w_v), axis=-1).reshape(len(x), -1) @ w_o


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
    stands_for="split_heads",
    clauses={
        "for any number of leading axes": DRAWN,
        "the last axis is cut into `heads` equal parts": "a head holds neighbouring columns",
        "the heads come before the positions": "one sentence",
        "x (..., T, D) -> (..., H, T, K) with K = D / heads": "two batch axes",
    },
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
SPLIT.case("two batch axes", "five heads of seven columns", numbers(32, 2, 3, 11, 35), 5)


@SPLIT.draws
def _(rng, size):
    batch, T = leading(rng, size, most=3 if size < 40 else 2), stretch(rng, size)
    H, K = min(axis(rng, size), 12), min(axis(rng, size), 8)
    return values(rng, (*batch, T, H * K), ("whole", *ANY_MAGNITUDE)), H


@SPLIT.invariant("a head holds neighbouring columns", "head 2 of 3 holds columns 5 to 9 of 15")
def _(answer):
    x = _split_args[0]
    return same(np.asarray(answer(x, 3))[:, 1], x[:, :, 5:10])


@SPLIT.invariant("one head changes nothing but the shape", "with one head, x gets one more axis")
def _(answer):
    x = numbers(33, 3, 5)
    return same(answer(x, 1), x[None])


@SPLIT.right
def slices_the_columns(x, heads):
    width = x.shape[-1] // heads
    parts = [x[..., h * width : (h + 1) * width] for h in range(heads)]
    return np.stack(parts, axis=-3)


@SPLIT.right
def splits_and_lists(x, heads):
    return np.moveaxis(np.array(np.split(x, heads, axis=-1)), 0, -3).tolist()


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
    stands_for="merge_heads",
    clauses={
        "for a sentence of one word even the right numbers": DRAWN,
        "`merge_heads(x)` as it should be": "it undoes split_heads",
        "x (..., H, T, K) -> (..., T, H·K)": "two batch axes",
    },
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
MERGE.case("two batch axes", "row t holds row t of all five heads", numbers(42, 2, 3, 5, 11, 7))


@MERGE.draws
def _(rng, size):
    batch, T = leading(rng, size, most=3 if size < 40 else 2), stretch(rng, size)
    H, K = min(axis(rng, size), 12), min(axis(rng, size), 8)
    return (values(rng, (*batch, H, T, K), ("whole", *ANY_MAGNITUDE)),)


@MERGE.invariant("it undoes split_heads", "cut into heads and merged, x is what it was")
def _(answer):
    x = numbers(43, 2, 7, 15)
    return same(answer(ref.split_heads(x, 5)), x)


@MERGE.invariant(
    "a position stays where it is", "row 4 of the result holds nothing but row 4 of the heads"
)
def _(answer):
    other = _merge_args.copy()
    other[:, :, :4] = 0.0
    before, after = np.asarray(answer(_merge_args)), np.asarray(answer(other))
    if before.shape != (2, 7, 15):
        raise AnswerError(Outcome.SHAPE, expected=(2, 7, 15), got=before.shape)
    return same(after[:, 4], before[:, 4])


@MERGE.right
def concatenates_the_heads(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


@MERGE.right
def writes_row_by_row(x):
    if x.ndim > 3:
        return [writes_row_by_row(part) for part in x]
    return [[number for head in x for number in head[t]] for t in range(x.shape[1])]


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


@MERGE.mistake("You added the heads up: merging keeps every number of every head.")
def adds_the_heads(x):
    return x.sum(axis=-3)


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
    forbids=("multi_head_attention", "multi_head_attention_forward"),
    clauses={
        "multi-head self-attention": "one head is plain attention",
        "with one matrix for all heads": "a batch of two",
        "x (..., T, D), w_q, w_k, w_v (D, H·K), w_o (H·K, D) -> (..., T, D)": "inputs of every "
        "size and kind",
    },
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
    "seven heads of two, projected back to eleven",
    numbers(60, 3, 5, 11),
    *_matrices(61, 11, 14),
    7,
)


@MULTI.invariant("one head is plain attention", "with heads=1, it is attention, then W^0")
def _(answer):
    x, w_q, w_k, w_v, w_o, _heads = _multi_args
    plain = ref.attention(x @ w_q, x @ w_k, x @ w_v) @ w_o
    return same(answer(x, w_q, w_k, w_v, w_o, 1), plain)


@MULTI.invariant("a batch is its sentences one by one", "sentences do not see each other")
def _(answer):
    x, *rest = _multi_args
    return same(answer(x, *rest), np.stack([answer(x[i], *rest) for i in range(2)]))


@MULTI.draws
def _(rng, size):
    batch, T = leading(rng, size, most=3 if size < 40 else 1), stretch(rng, size)
    D = min(axis(rng, size), 16)
    H, K = min(axis(rng, size), 6), min(axis(rng, size), 6)
    shapes = [(D, H * K)] * 3 + [(H * K, D)]
    return *_layer(rng, (*batch, T, D), *shapes), H


@MULTI.right
def attends_head_by_head(x, w_q, w_k, w_v, w_o, heads):
    columns = np.split(np.arange(w_q.shape[1]), heads)
    parts = [ref.attention(x @ w_q[:, c], x @ w_k[:, c], x @ w_v[:, c]) for c in columns]
    return np.concatenate(parts, axis=-1) @ w_o


@MULTI.right
def writes_it_with_einsum(x, w_q, w_k, w_v, w_o, heads):
    cut = (-1, heads, w_q.shape[1] // heads)
    q, k, v = (np.einsum("...td,dhk->...htk", x, w.reshape(cut)) for w in (w_q, w_k, w_v))
    weights = ref.softmax(np.einsum("...htk,...hsk->...hts", q, k) / np.sqrt(cut[2]))
    out = w_o.reshape(heads, cut[2], -1)
    return np.einsum("...hts,...hsk,hkd->...td", weights, v, out, optimize=True).tolist()


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
    clauses={
        "returns two matrices $W^q$ and $W^k$": THE_EXAMPLE,
        "sentences of up to 100 words": DRAWN,
        "the one that is `offset` positions before it": "five tokens before",
        "a negative offset looks ahead": "a negative offset looks ahead",
        "must be proportional to `sharpness`": "twice the sharpness doubles the scores",
        "at a sharpness of 60 the wanted position must get more than 0.9 of the weight": "the "
        "token before",
        "Several answers are right": DRAWN,
        "an even number ≥ 8": DRAWN,
        "a factor ≥ 0": "sharpness 0 looks everywhere",
    },
    hints=(
        "Which matrix turns the encoding of position i into that of position i - offset?",
        "ref.shift_matrix(-offset, d_model) @ PE_i = PE_(i - offset), and row x of X is "
        "multiplied from the right, so transpose it. Keys may stay as they are.",
        "Two numbers and a factor in; two matrices (D, D) out, w_q and w_k.",
    ),
    example=Example(
        (0, 8, 3.0),
        "offset 0 needs no turn: with d_model = 8 and sharpness 3, 3 × the identity and the "
        "identity are one right answer.",
    ),
)
_LONGEST = 100  # words, as the statement says: in a shorter sentence nothing is harder
_ENOUGH = 60.0  # the sharpness at which the wanted position must win


@BACK.draws
def _(rng, size):
    d_model = 64 if size and chance(rng, 0.1) else even(rng, size, least=8)
    offset = int(rng.integers(-size, size + 1)) if chance(rng, 0.8) else choice(rng, (-99, 61))
    sharpness = choice(rng, (60, 60.0, 0, 1, float(rng.uniform(0, 100)), 1e-3, 1e4))
    return offset if size else 0, d_model, sharpness


@BACK.accepting
def _(value, offset, d_model, sharpness):
    w_q, w_k = _two_matrices(value, d_model)
    x = ref.sinusoidal_encoding(_LONGEST, d_model)
    rows = _rows_that_find(offset, _LONGEST)
    rows = rows[np.linspace(0, len(rows) - 1, 24).astype(int)]  # enough, and quick
    scores = x[rows] @ w_q @ w_k.T @ x.T / np.sqrt(d_model)
    if sharpness == 0:
        if np.ptp(scores) > 1e-6:
            return f"At sharpness 0 the scores differ by {show(float(np.ptp(scores)))}."
    else:
        # Proportional to the sharpness, so what they are at 60 is known.
        problem = _misses(ref.softmax(scores * (_ENOUGH / sharpness)), rows, offset)
        if problem:
            return problem
    if not is_of_kind(w_q, np.zeros(1)):
        raise AnswerError(Outcome.DTYPE, got=w_q.dtype, expected="float64")


def _two_matrices(value, d_model):
    """w_q and w_k, or the sentence that says what came instead."""
    pair, shape = as_array(value), (2, d_model, d_model)
    if pair is None or pair.shape != shape:
        got = describe(value) if pair is None else f"shape {pair.shape}"
        if isinstance(value, list | tuple) and len(value) == 2:
            got = " and ".join(describe(item) for item in value)
        raise AnswerError(
            Outcome.KIND, expected=f"two matrices of shape {shape[1:]}, w_q and w_k", got=got
        )
    if not np.isfinite(pair).all():
        raise AnswerError(Outcome.NOT_FINITE, count=(~np.isfinite(pair)).sum(), size=pair.size)
    return pair


def _rows_that_find(offset, length):
    """The positions from which the one `offset` places before is in the sentence."""
    rows = np.arange(length)
    return rows[(rows >= offset) & (rows - offset < length)]


def _misses(weights, rows, offset):
    """Which of some positions does not give most of its weight to the one it should find."""
    found = weights[np.arange(len(rows)), rows - offset]
    is_missed = found <= 0.9 - 1e-9
    if not is_missed.any():
        return ""
    worst = int(is_missed.argmax())  # the first: which is worst by a hair depends on the machine
    row, most = int(rows[worst]), int(weights[worst].argmax())
    elsewhere = "" if most == row - offset else f", and most to position {most}"
    return (
        f"At sharpness 60, position {row} gives {found[worst]:.2f} of its weight to position "
        f"{row - offset}{elsewhere}."
    )


def _weights_of(answer, offset, d_model, sharpness, length):
    """The attention of the learner's head on a sentence that consists of positions alone."""
    x = ref.sinusoidal_encoding(length, d_model)
    w_q, w_k = _two_matrices(answer(offset, d_model, sharpness), d_model)
    return ref.attention_weights(x @ w_q, x @ w_k)


def _finds(answer, offset, d_model, length):
    rows = _rows_that_find(offset, length)
    weights = _weights_of(answer, offset, d_model, _ENOUGH, length)
    return _misses(weights[rows], rows, offset) or True


@BACK.invariant("the token before", "with offset 1, the token before gets more than 0.9")
def _(answer):
    return _finds(answer, 1, 14, 7)


@BACK.invariant("five tokens before", "with offset 5, the fifth token before gets more than 0.9")
def _(answer):
    return _finds(answer, 5, 22, 13)


@BACK.invariant("a negative offset looks ahead", "with offset -2, the next but one gets it")
def _(answer):
    return _finds(answer, -2, 14, 11)


@BACK.invariant("sharpness 0 looks everywhere", "with sharpness 0, all weights are equal")
def _(answer):
    return same(_weights_of(answer, 3, 14, 0.0, 7), np.full((7, 7), 1 / 7))


@BACK.invariant(
    "twice the sharpness doubles the scores",
    "the scores q·k are proportional to the sharpness: at 2 they are twice those at 1",
)
def _(answer):
    x = ref.sinusoidal_encoding(5, 10)
    once, twice = (_two_matrices(answer(1, 10, sharpness), 10) for sharpness in (1.0, 2.0))
    once, twice = ((x @ w_q) @ (x @ w_k).T for w_q, w_k in (once, twice))
    return same(twice, 2 * once)


@BACK.right
def turns_the_keys(offset, d_model, sharpness):
    return [
        (sharpness * np.eye(d_model)).tolist(),
        ref.shift_matrix(offset, d_model).T.tolist(),
    ]


@BACK.right
def shares_the_sharpness(offset, d_model, sharpness):
    angles = offset * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    w_q = np.zeros((d_model, d_model))
    for j, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        w_q[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, s], [-s, c]]
    return np.stack([w_q, np.eye(d_model)]) * sharpness**0.5


@BACK.right
def is_twice_as_sharp(offset, d_model, sharpness):
    return 2 * sharpness * ref.shift_matrix(offset, d_model), np.eye(d_model)


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
    clauses={
        "The equations leave $d_k$ and $d_v$ free": "wide values",
        "the number of parameters of multi-head attention": "three heads",
        "with a bias for each column of its matrices": "cutting costs nothing",
        "four whole numbers -> a whole number": DRAWN,
    },
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
PARAMETERS.case("one head", "four matrices with their biases", 13, 1, 11, 3)
PARAMETERS.case("wide values", "matrices of 2·3 and of 2·17 columns", 5, 2, 3, 17)


@PARAMETERS.draws
def _(rng, size):
    if size and chance(rng, 0.25):  # as large as models are, and beyond 32 bits
        d_model = 2 ** int(rng.integers(6, 21))
        return d_model, 2 ** int(rng.integers(0, 13)), *(int(n) for n in rng.integers(1, 257, 2))
    return tuple(axis(rng, size) for _ in range(4))


@PARAMETERS.invariant(
    "cutting costs nothing", "heads of D / heads each learn as much, however many they are"
)
def _(answer):
    return all(
        same(answer(30, heads, 30 // heads, 30 // heads), 4 * (30 * 30 + 30))
        for heads in (1, 2, 3, 5)
    )


@PARAMETERS.invariant("every head adds the same", "from 2 to 3 heads as much as from 3 to 4")
def _(answer):
    two, three, four = (answer(7, heads, 5, 3) for heads in (2, 3, 4))
    if not three > two:
        return f"A third head adds {show(three - two)} parameters."
    return same(four - three, three - two)


@PARAMETERS.right
def counts_the_entries_of_arrays(d_model, heads, d_k, d_v):
    wide = [heads * d_k, heads * d_k, heads * d_v]
    into = sum(d_model * width + width for width in wide)
    return into + wide[2] * d_model + d_model


@PARAMETERS.right
def counts_head_by_head(d_model, heads, d_k, d_v):
    each = 2 * (d_model * d_k + d_k) + (d_model * d_v + d_v) + d_v * d_model
    return float(heads * each + d_model)


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


@PARAMETERS.mistake("You left out the bias of W^0, which has D columns.")
def forgets_the_bias_of_the_output(d_model, heads, d_k, d_v):
    return _attention_parameters(d_model, heads, d_k, d_v) - d_model


@PARAMETERS.mistake("You counted the bias of W^0 once for each head: there is one W^0 for all.")
def counts_the_output_bias_for_each_head(d_model, heads, d_k, d_v):
    return _attention_parameters(d_model, heads, d_k, d_v) + (heads - 1) * d_model


@PARAMETERS.mistake("A bias has one number for each column of its matrix, which is not always D.")
def makes_every_bias_as_long_as_the_model(d_model, heads, d_k, d_v):
    return 2 * d_model * heads * (d_k + d_v) + 4 * d_model


@PARAMETERS.mistake("You took d_k for the width of the values: they and W^0 have d_v.")
def takes_d_k_for_the_values(d_model, heads, d_k, d_v):
    return _attention_parameters(d_model, heads, d_k, d_k)


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
    clauses={
        "for each head its own part of the output": "three heads",
        "parts add up to $\\operatorname{Concat}": "they add up to the whole",
        "heads (H, T, K), w_o (H·K, D) -> (H, T, D)": DRAWN,
    },
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


@PARTS.draws
def _(rng, size):
    H, T = min(axis(rng, size), 12), stretch(rng, size)
    K, D = min(axis(rng, size), 12), min(axis(rng, size), 30)
    return tuple(together(rng, ANY_MAGNITUDE, (H, T, K), (H * K, D)))


@PARTS.invariant("they add up to the whole", "the contributions sum to merged heads times W^0")
def _(answer):
    heads, w_o = _parts_args
    return same(np.sum(answer(heads, w_o), axis=0), ref.merge_heads(heads) @ w_o)


@PARTS.invariant("a head of zeros contributes nothing", "without its output, its part is zero")
def _(answer):
    heads, w_o = _parts_args[0].copy(), _parts_args[1]
    heads[1] = 0.0
    parts = np.asarray(answer(heads, w_o))
    if not (parts[0].any() and parts[2].any()):
        return "A head that is not zero contributes nothing."
    return same(parts[1], np.zeros((5, 7)))


@PARTS.right
def multiplies_block_by_block(heads, w_o):
    blocks = np.split(w_o, len(heads))
    return [(head @ block).tolist() for head, block in zip(heads, blocks, strict=True)]


@PARTS.right
def silences_all_other_heads(heads, w_o):
    alone = np.eye(len(heads))[:, :, None, None] * heads  # (H, H, T, K)
    return ref.merge_heads(alone) @ w_o


@PARTS.right
def contracts_with_einsum(heads, w_o):
    return np.einsum("htk,hkd->htd", heads, w_o.reshape(len(heads), heads.shape[2], -1))


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
