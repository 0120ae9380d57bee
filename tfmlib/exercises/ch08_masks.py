"""Chapter 8: padding and look-ahead masks, masked attention, and what a printed softmax betrays."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers


def _softmax(x):
    """The plain softmax: a row of -∞ gives NaN."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# --- 8.1 ----------------------------------------------------------------------------------------

PADDING = Exercise(
    id="8.1",
    title="Padding mask",
    answer="padding_mask",
    signature="padding_mask(ids, pad_id)",
    oracle=lambda ids, pad_id: ref.padding_mask(ids, pad_id),
    hints=(
        "Which keys may a query use, and does the answer depend on the query?",
        "ids != pad_id, with a new axis of length 1 for the queries: ids[..., None, :].",
        "ids is (..., S), the mask is (..., 1, S); one sentence of five tokens gives (1, 5).",
    ),
    example=Example(
        (np.array([[5, 3, 0], [5, 7, 2]]), 0),
        "ids [[5, 3, 0], [5, 7, 2]] with padding 0 should give "
        "[[[True, True, False]], [[True, True, True]]].",
    ),
)
_ids = np.array([[1, 3, 5, 0, 0], [1, 7, 0, 0, 0]])
_sevens = np.array([[1, 0, 3, 5, 2, 7, 7], [0, 3, 7, 7, 7, 7, 7], [1, 2, 3, 4, 5, 6, 0]])
PADDING.case("two sentences of five", "False where the padding is", _ids, 0)
PADDING.case("padding that is not 0", "pad_id says which token is padding", _sevens, 7)
PADDING.case("one sentence", "any number of leading axes, here none", np.array([3, 5, 0]), 0)


@PADDING.invariant("it fits the scores", "the mask broadcasts against scores (B, T, S), any T")
def _(answer):
    mask = np.asarray(answer(_ids, 0))
    fits = np.broadcast_shapes(mask.shape, (2, 11, 5)) == (2, 11, 5)
    return fits and (np.broadcast_to(mask, (2, 11, 5)).sum(axis=-1) == [[3], [2]]).all()


@PADDING.mistake("The mask is turned round: True means allowed, so the padding must be False.")
def marks_the_padding(ids, pad_id):
    return ids[..., None, :] == pad_id


@PADDING.mistake("The axis of the queries is missing: (B, S) would meet the scores as (T, S).")
def forgets_the_axis_of_queries(ids, pad_id):
    return ids != pad_id


@PADDING.mistake("You hid the padding as a query, in rows: it must be hidden as a key, in columns.")
def hides_rows(ids, pad_id):
    return ids[..., :, None] != pad_id


@PADDING.mistake("You took 0 for the padding: pad_id says which token it is.")
def takes_zero_for_padding(ids, pad_id):
    return ids[..., None, :] != 0


@PADDING.mistake("That is B, which is added to the scores: return the boolean mask.")
def returns_what_is_added(ids, pad_id):
    return ref.additive(ref.padding_mask(ids, pad_id))


@PADDING.mistake(
    "You repeated the row for every query: one row is enough, and it also fits when there are "
    "more queries than keys."
)
def repeats_for_every_query(ids, pad_id):
    return np.repeat(ids[..., None, :] != pad_id, ids.shape[-1], axis=-2)


# --- 8.2 ----------------------------------------------------------------------------------------

LOOK_AHEAD = Exercise(
    id="8.2",
    title="Look-ahead mask",
    answer="look_ahead_mask",
    signature="look_ahead_mask(n)",
    oracle=lambda n: ref.look_ahead_mask(n),
    hints=(
        "Which tokens may the first one use, and which the last one?",
        "True where the query's position is at least the key's.",
        "Compare positions as a column (T, 1) with positions as a row (T,): the mask is (T, T).",
    ),
    example=Example(
        (3,),
        "3 should give [[True, False, False], [True, True, False], [True, True, True]].",
    ),
)
LOOK_AHEAD.case("five tokens", "itself and all before it", 5)
LOOK_AHEAD.case("eleven tokens", "itself and all before it", 11)


@LOOK_AHEAD.invariant(
    "token t may use t + 1 keys", "counted from 0, each row allows one key more than the one above"
)
def _(answer):
    return (np.sum(answer(7), axis=-1) == np.arange(1, 8)).all()


@LOOK_AHEAD.invariant(
    "a longer sentence begins alike", "the mask of 7 tokens is the corner of the mask of 13"
)
def _(answer):
    return np.array_equal(answer(13)[:7, :7], answer(7))


@LOOK_AHEAD.mistake(
    "A token must see itself: it predicts the next one, and the first has nothing else."
)
def hides_the_diagonal(n):
    return np.tri(n, k=-1, dtype=bool)


@LOOK_AHEAD.mistake("That is turned round: rows are queries, and a query sees what is before it.")
def shows_the_future(n):
    return np.tri(n, dtype=bool).T


@LOOK_AHEAD.mistake("It sees one token too far: the very one that it has to predict.")
def sees_one_too_far(n):
    return np.tri(n, k=1, dtype=bool)


@LOOK_AHEAD.mistake("You marked what is forbidden: True means allowed.")
def marks_the_future(n):
    return ~np.tri(n, dtype=bool)


@LOOK_AHEAD.mistake("That is B, which is added to the scores: return the boolean mask.")
def returns_zeros_and_infinities(n):
    return ref.additive(ref.look_ahead_mask(n))


@LOOK_AHEAD.mistake("The pattern is right, but a mask is boolean: compare, or use dtype=bool.")
def returns_numbers(n):
    return np.tri(n)


# --- 8.3 ----------------------------------------------------------------------------------------

MASKED = Exercise(
    id="8.3",
    title="Masked attention",
    answer="masked_attention",
    signature="masked_attention(q, k, v, mask)",
    oracle=lambda q, k, v, mask: ref.attention(q, k, v, mask),
    hints=(
        "Which score has the weight zero after a softmax?",
        "softmax((q kᵀ + B) / sqrt(d_k)) v, with B = 0 where the mask is True and -∞ elsewhere; "
        "np.where(mask, scores, -np.inf) does both.",
        "q (..., T, K), k (..., S, K), v (..., S, D), mask broadcasts to (..., T, S); the result "
        "is (..., T, D).",
    ),
    example=Example(
        (
            np.zeros((2, 2)),
            np.array([[1.0, 2.0], [3.0, 4.0]]),
            np.array([[3.0, 5.0], [7.0, 11.0]]),
            np.array([[True, False], [True, True]]),
        ),
        "two queries of zeros with a look-ahead mask and values [3, 5], [7, 11] should give "
        "[[3, 5], [5, 8]].",
    ),
    equivalent={
        "scores = np.where(mask, q @ k.swapaxes(-1, -2), -np.inf) -> "
        "scores = np.where(mask, q @ k.swapaxes(-2, -1), -np.inf)": "swapping two axes is symmetric"
    },
)
_q, _k, _v = numbers(1, 5, 7), numbers(2, 5, 7), numbers(3, 5, 3)
_ahead = ref.look_ahead_mask(5)
_bq, _bk, _bv = numbers(4, 2, 3, 7), numbers(5, 2, 5, 7), numbers(6, 2, 5, 11)
_some = np.array([[True, False, True, True, False], [False] * 5, [False, True, False, False, True]])
MASKED.case("five tokens, look-ahead mask", "no query uses a later key", _q, _k, _v, _ahead)
MASKED.case(
    "a batch with padding",
    "a mask (B, 1, S) holds for every query of its sentence",
    _bq,
    _bk,
    _bv,
    ref.padding_mask(_ids, 0),
)
MASKED.case(
    "a query that may use nothing",
    "its row is zeros, neither NaN nor a mixture",
    _bq[0],
    _bk[0],
    _bv[0],
    _some,
)


@MASKED.invariant(
    "what is hidden does not matter", "changing the last key and value moves no other row"
)
def _(answer):
    k, v = _k.copy(), _v.copy()
    k[-1], v[-1] = 100.0, -100.0
    return np.allclose(answer(_q, k, v, _ahead)[:-1], answer(_q, _k, _v, _ahead)[:-1])


@MASKED.invariant("all allowed is plain attention", "a mask of True changes nothing")
def _(answer):
    return np.allclose(answer(_q, _k, _v, np.ones((5, 5), bool)), ref.attention(_q, _k, _v))


def _scores(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


@MASKED.mistake("You multiplied the scores by the mask: a score of 0 still gets weight, -∞ none.")
def multiplies_the_scores(q, k, v, mask):
    return ref.softmax(_scores(q, k) * mask) @ v


@MASKED.mistake(
    "You hid the weights after the softmax: its sum has already seen what is forbidden, and the "
    "rows no longer sum to one. Mask the scores."
)
def masks_after_the_softmax(q, k, v, mask):
    return (ref.softmax(_scores(q, k)) * mask) @ v


@MASKED.mistake("The mask is turned round: True means allowed, so -∞ goes where it is False.")
def turns_the_mask_round(q, k, v, mask):
    return ref.softmax(np.where(mask, -np.inf, _scores(q, k))) @ v


@MASKED.mistake("You added the mask itself, 0 and 1, to the scores: add 0 and -∞.")
def adds_the_boolean_mask(q, k, v, mask):
    return ref.softmax((q @ k.swapaxes(-1, -2) + mask) / np.sqrt(q.shape[-1])) @ v


@MASKED.mistake("You did not divide the scores by √d_k.")
def forgets_to_scale(q, k, v, mask):
    return ref.softmax(np.where(mask, q @ k.swapaxes(-1, -2), -np.inf)) @ v


@MASKED.mistake(
    "A row with nothing allowed becomes NaN: -∞ minus -∞ is not a number. ref.softmax gives zeros."
)
def gives_nan_where_nothing_is_allowed(q, k, v, mask):
    return _softmax(np.where(mask, _scores(q, k), -np.inf)) @ v


@MASKED.mistake(
    "With a large negative number instead of -∞, a query that may use nothing uses everything."
)
def uses_a_large_number(q, k, v, mask):
    return ref.softmax(np.where(mask, _scores(q, k), -1e9)) @ v


@MASKED.mistake(
    "You added a large negative number instead of -∞: where nothing is allowed, the differences "
    "between the scores survive it, and the query uses everything."
)
def adds_a_large_number(q, k, v, mask):
    return ref.softmax(_scores(q, k) + np.where(mask, 0, -1e9)) @ v


@MASKED.mistake("You masked the values: a hidden key still takes its share of the weight.")
def masks_the_values(q, k, v, mask):
    return ref.softmax(_scores(q, k)) @ np.where(mask.any(axis=-2)[..., None], v, 0)


# --- 8.4 ----------------------------------------------------------------------------------------

BOTH = Exercise(
    id="8.4",
    title="Both together",
    answer="decoder_mask",
    signature="decoder_mask(ids, pad_id)",
    oracle=lambda ids, pad_id: ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(ids.shape[-1]),
    hints=(
        "A key is padding, but not in the future: allowed or not?",
        "The padding mask and the look-ahead mask, joined by &.",
        "ids is (..., T); the padding mask (..., 1, T) and the look-ahead mask (T, T) make "
        "(..., T, T).",
    ),
    example=Example(
        (np.array([[5, 3, 0]]), 0),
        "ids [[5, 3, 0]] with padding 0 should give "
        "[[[True, False, False], [True, True, False], [True, True, False]]].",
    ),
)
BOTH.case("two sentences of five", "neither padding nor later", _ids, 0)
BOTH.case("another padding", "pad_id says which token is padding", _sevens, 7)
BOTH.case("a single target", "any number of leading axes, here none", np.array([1, 3, 0]), 0)
BOTH.case(
    "padding on the left",
    "the first rows may have nothing allowed",
    np.array([[0, 0, 1, 3, 5], [0, 1, 7, 3, 2]]),
    0,
)


@BOTH.invariant(
    "without padding it is the look-ahead mask", "a padding that does not occur hides nothing"
)
def _(answer):
    return (np.asarray(answer(_sevens, 13)) == ref.look_ahead_mask(7)).all()


@BOTH.mistake("You joined the masks by or: a key must pass both, so it is &.")
def joins_by_or(ids, pad_id):
    return ref.padding_mask(ids, pad_id) | ref.look_ahead_mask(ids.shape[-1])


@BOTH.mistake("The padding is still visible: that is the look-ahead mask alone.")
def forgets_the_padding(ids, pad_id):
    return np.broadcast_to(ref.look_ahead_mask(ids.shape[-1]), (*ids.shape, ids.shape[-1])).copy()


@BOTH.mistake("The future is still visible: that is the padding mask alone.")
def forgets_the_future(ids, pad_id):
    return np.repeat(ref.padding_mask(ids, pad_id), ids.shape[-1], axis=-2)


@BOTH.mistake("You hid the rows of the padding: hide its columns, where it is a key.")
def hides_padded_rows(ids, pad_id):
    return (ids != pad_id)[..., None] & ref.look_ahead_mask(ids.shape[-1])


@BOTH.mistake(
    "You hid the rows of the padding besides its columns: that makes rows with nothing allowed, "
    "and gains nothing, since nobody reads them."
)
def hides_rows_and_columns(ids, pad_id):
    real = ids != pad_id
    return real[..., None] & real[..., None, :] & ref.look_ahead_mask(ids.shape[-1])


@BOTH.mistake("The look-ahead mask is turned round: row t allows columns up to t.")
def looks_ahead_only(ids, pad_id):
    return ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(ids.shape[-1]).T


# --- 8.5 ----------------------------------------------------------------------------------------

NOTHING = Exercise(
    id="8.5",
    title="Find the bug: nothing allowed",
    answer="masked_softmax",
    signature="masked_softmax(scores, mask)",
    oracle=lambda scores, mask: ref.softmax(np.where(mask, scores, -np.inf)),
    hints=(
        "If all scores of a row are -1e9, what is left after you subtract the largest of them?",
        "Multiply the exponentials by the mask, and divide by their sum where that is not 0.",
        "scores, mask and weights are all (..., T, S); the sum is (..., T, 1).",
    ),
    example=Example(
        (
            np.array([[0.0, 0.0, 9.0], [1.0, 2.0, 3.0]]),
            np.array([[True, True, False], [False] * 3]),
        ),
        "the first row may use two equal scores, the second nothing: "
        "[[0.5, 0.5, 0], [0, 0, 0]] should come out.",
    ),
    equivalent={
        "scores = np.where(mask, scores, -1000000000.0) -> "
        "scores = np.where(mask, scores, -2000000000.0)": "any number far below the scores will do",
        "scores = np.where(mask, scores, -1000000000.0) -> "
        "scores = np.where(mask, scores, -500000000.0)": "any number far below the scores will do",
    },
)
_left = ref.padding_mask(np.array([0, 0, 1, 3, 5]), 0) & ref.look_ahead_mask(5)
_left_padded = numbers(7, 5, 5)
_batch_mask = numbers(8, 2, 3, 7) > 0
_batch_mask[1, 2] = False
NOTHING.case("padding on the left", "zeros where nothing is allowed", _left_padded, _left)
NOTHING.case("a batch", "the last axis holds the keys", numbers(9, 2, 3, 7), _batch_mask)
NOTHING.case(
    "a forbidden score that is much larger",
    "the largest score must be that of an allowed key",
    np.array([[1.0, 2.0, 3000.0], [-2000.0, -2001.0, 5.0]]),
    np.array([[True, True, False], [True, True, False]]),
)


@NOTHING.invariant(
    "a row sums to one or to zero", "one where something is allowed, zero where nothing is"
)
def _(answer):
    return np.allclose(np.sum(answer(_left_padded, _left), axis=-1), [0, 0, 1, 1, 1])


@NOTHING.mistake(
    "This is still the bug: a row with nothing allowed has equal scores of -1e9, and attends "
    "evenly to all that is forbidden."
)
def keeps_the_bug(scores, mask):
    return _softmax(np.where(mask, scores, -1e9))


@NOTHING.mistake("A row with nothing allowed is now NaN: 0/0, or -∞ minus -∞. It must be zeros.")
def gives_nan(scores, mask):
    return _softmax(np.where(mask, scores, -np.inf))


@NOTHING.mistake(
    "You added 1 to every sum to avoid 0/0: then no row sums to one. Change the empty rows alone."
)
def adds_one_to_every_sum(scores, mask):
    scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    return powers / (powers.sum(axis=-1, keepdims=True) + 1)


@NOTHING.mistake(
    "You subtracted the largest of all scores, forbidden ones included: next to a large forbidden "
    "score the allowed ones vanish."
)
def takes_the_peak_of_hidden_scores(scores, mask):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@NOTHING.mistake("You multiplied the scores by the mask: a score of 0 still gets weight.")
def multiplies_scores_by_the_mask(scores, mask):
    return _softmax(scores * mask)


@NOTHING.mistake(
    "You hid the weights after the softmax: the rows that may use something no longer sum to one."
)
def hides_the_weights(scores, mask):
    return _softmax(scores) * mask


# --- 8.6 ----------------------------------------------------------------------------------------

ROOT = Exercise(
    id="8.6",
    title="Two weights give the scale away",
    answer="implied_root",
    signature="implied_root(scores, weights)",
    oracle=lambda scores, weights: np.ptp(scores) / np.abs(np.diff(np.log(weights))[0]),
    hints=(
        "Divide two weights of one softmax: what becomes of the sum in the denominator?",
        "w_1 / w_0 = exp((s_1 - s_0) / √d_k): take the logarithm of both sides.",
        "Two scores and two weights in, one number out.",
    ),
    example=Example(
        (np.array([6.0, 4.0]), ref.softmax([1.5, 1.0])),
        'the "help me!" scores 6 and 4 with their weights 0.62 and 0.38 should give 4, the root '
        "of 16.",
    ),
)


def _pair(scores, root):
    scores = np.array(scores)
    return scores, ref.softmax(scores / root)


ROOT.case("two scores at d_k = 49", "the root behind the weights", *_pair([3.0, 11.0], 7.0))
ROOT.case("the larger score first", "the order does not matter", *_pair([13.0, 2.0], 5.0))
ROOT.case(
    "a pair out of a longer row",
    "the other keys take their share from both alike",
    np.array([2.0, 5.0]),
    ref.softmax(np.array([2.0, 5.0, 7.0]) / 3)[:2],
)


@ROOT.invariant(
    "the weights come back", "the softmax of the scores over your root is what you were given"
)
def _(answer):
    scores, weights = _pair([1.9, 4.3], 2.45)
    root = float(answer(scores, weights))
    return root != 0 and np.allclose(ref.softmax(scores / root), weights)


@ROOT.mistake("You forgot the logarithm: the exponent is what the logarithm of the ratio gives.")
def forgets_the_logarithm(scores, weights):
    return (scores[1] - scores[0]) / (weights[1] / weights[0])


@ROOT.mistake("That is d_k: the question is for its root.")
def returns_d_k(scores, weights):
    return ((scores[1] - scores[0]) / np.log(weights[1] / weights[0])) ** 2


@ROOT.mistake("That is 1/√d_k: turn the fraction round.")
def turns_the_fraction_round(scores, weights):
    return np.log(weights[1] / weights[0]) / (scores[1] - scores[0])


@ROOT.mistake("The sign is wrong: both differences must be taken the same way round.")
def mixes_up_the_order(scores, weights):
    return (scores[1] - scores[0]) / np.log(weights[0] / weights[1])


@ROOT.mistake("You divided the scores: a softmax turns differences of scores into ratios.")
def divides_the_scores(scores, weights):
    return scores[1] / scores[0] / np.log(weights[1] / weights[0])


@ROOT.mistake("You subtracted the weights: it is their ratio from which the sum cancels.")
def subtracts_the_weights(scores, weights):
    return (scores[1] - scores[0]) / (weights[1] - weights[0])


# --- 8.7 ----------------------------------------------------------------------------------------

BEHIND = Exercise(
    id="8.7",
    title="Scores behind a masked softmax",
    answer="scores_behind_mask",
    signature="scores_behind_mask(weights)",
    hints=(
        "What does the mask do to the scores above the diagonal, whatever they are?",
        "log(w) where w is positive, and any finite number where it is 0.",
        "weights (T, T) with zeros above the diagonal, scores (T, T) without any infinity.",
    ),
    example=Example(
        (np.array([[1.0, 0.0], [0.5, 0.5]]),),
        "weights [[1, 0], [0.5, 0.5]] come, for instance, from the scores [[0, 0], [0, 0]].",
    ),
    equivalent={
        "return np.log(np.where(weights > 0, weights, 1)) -> "
        "return np.log(np.where(weights > 0, weights, 2))": "hidden scores are free"
    },
)
_PRINTED = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [0.13, 0.87, 0, 0, 0, 0],
        [0.06, 0.16, 0.78, 0, 0, 0],
        [0.03, 0.06, 0.11, 0.80, 0, 0],
        [0.05, 0.06, 0.09, 0.06, 0.74, 0],
        [0.02, 0.04, 0.14, 0.15, 0.13, 0.52],
    ]
)


def _masked(scores):
    scores = np.asarray(scores)
    return ref.softmax(scores + ref.additive(ref.look_ahead_mask(len(scores))))


_given = _masked(2 * numbers(10, 7, 7))


@BEHIND.invariant(
    "the printed weights come back", "the masked softmax of your scores is the printed S' again"
)
def _(answer):
    return np.allclose(_masked(answer(_PRINTED)), _PRINTED)


@BEHIND.invariant(
    "random weights come back", "the masked softmax of your scores is what you were given"
)
def _(answer):
    return np.allclose(_masked(answer(_given)), _given)


@BEHIND.invariant("every score is a number", "no score is infinite, above the diagonal either")
def _(answer):
    return np.isfinite(answer(_masked(numbers(11, 5, 5)))).all()


@BEHIND.invariant("very small weights come back", "a weight of 1e-12 is a weight, too")
def _(answer):
    tiny = np.array([[1.0, 0, 0], [1e-12, 1 - 1e-12, 0], [0.5, 1e-9, 0.5 - 1e-9]])
    back = _masked(answer(tiny))
    return np.allclose(np.log(back[np.tri(3) == 1]), np.log(tiny[np.tri(3) == 1]))


@BEHIND.mistake(
    "log(0) is -∞ above the diagonal: put any finite number there, the mask hides it anyway."
)
def leaves_infinities(weights):
    return np.log(weights)


@BEHIND.mistake("You returned the weights: the softmax of weights is much flatter than they are.")
def returns_the_weights(weights):
    return weights


@BEHIND.mistake(
    "You added a small number to every weight: that keeps log finite, but moves small weights. "
    "Treat only the zeros."
)
def adds_a_small_number(weights):
    return np.log(weights + 1e-6)


@BEHIND.mistake("That is the logarithm to base 10: softmax uses e, so take np.log.")
def takes_base_ten(weights):
    return np.log10(np.where(weights > 0, weights, 1))


@BEHIND.mistake("That is -log: it turns the order of the weights round.")
def turns_the_order_round(weights):
    return -np.log(np.where(weights > 0, weights, 1))
