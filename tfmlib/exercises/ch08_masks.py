"""Chapter 8: padding and look-ahead masks, masked attention, and what a printed softmax betrays."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, same
from tfmlib.checking.draw import ANY_MAGNITUDE, KINDS, axis, chance, choice, leading, length, values
from tfmlib.checking.draw import ids as draw_ids
from tfmlib.checking.draw import mask as draw_mask
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers


def _padded_ids(rng, size):
    """Ids with the padding anywhere or nowhere, and what the padding is."""
    vocab_size = choice(rng, (2, 3, 13, 40_000))
    batch = leading(rng, size, 3 if size < 20 else 1)
    ids = draw_ids(rng, (*batch, axis(rng, size)), vocab_size)
    pad_id = choice(rng, (0, int(ids.flat[-1]), int(rng.integers(vocab_size)), vocab_size, -1))
    if chance(rng, 0.3):
        ids[rng.random(ids.shape) < 0.4] = pad_id
    return ids, pad_id


def _sizes(rng, size):
    """Leading axes and two lengths; what is long does not come in batches."""
    return leading(rng, size if size < 20 else 0), axis(rng, size), axis(rng, size)


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
    stands_for="padding_mask",
    clauses={
        "the boolean mask": "two sentences of five",
        "allows every key but the padding": "padding that is not 0",
        "one row per sentence": "it fits the scores",
        "ids (..., S), integers -> (..., 1, S)": DRAWN,
        "True where allowed": "two sentences of five",
    },
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
PADDING.case("one sentence", "a mask (1, S), with no axis for a batch", np.array([3, 5, 0]), 0)
PADDING.draws(_padded_ids)


@PADDING.invariant("it fits the scores", "the mask broadcasts against scores (B, T, S), any T")
def _(answer):
    mask = np.asarray(answer(_ids, 0))
    if mask.ndim > 3 or mask.shape[-1:] != (5,) or mask.shape[:-1] not in ((2, 1), (2, 11)):
        return f"A mask of shape {mask.shape} does not fit scores of shape (2, 11, 5)."
    allowed = np.broadcast_to(mask, (2, 11, 5)).sum(axis=-1)
    return same(allowed, np.broadcast_to([[3], [2]], (2, 11)))


@PADDING.right
def goes_token_by_token(ids, pad_id):
    if ids.ndim > 1:
        return [goes_token_by_token(sentence, pad_id) for sentence in ids]
    return [[bool(token != pad_id) for token in ids]]


@PADDING.right
def turns_the_padding_round(ids, pad_id):
    return ~np.expand_dims(np.isin(ids, [pad_id]), axis=-2)


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
    return np.where(ids[..., None, :] != pad_id, 0.0, -np.inf)


@PADDING.mistake(
    "You repeated the row for every query: one row is enough, and it also fits when there are "
    "more queries than keys."
)
def repeats_for_every_query(ids, pad_id):
    return np.repeat(ids[..., None, :] != pad_id, ids.shape[-1], axis=-2)


@PADDING.mistake(
    "Only ids above pad_id are allowed in yours: every other id is a token, != pad_id."
)
def allows_larger_ids_only(ids, pad_id):
    return ids[..., None, :] > pad_id


@PADDING.mistake(
    "You looked for the first padding and hid all that follows: padding may stand anywhere, and "
    "what comes after it counts."
)
def hides_all_after_the_first(ids, pad_id):
    return np.logical_and.accumulate(ids != pad_id, axis=-1)[..., None, :]


@PADDING.mistake("The pattern is right, but a mask is boolean: leave the comparison as it is.")
def returns_zeros_and_ones(ids, pad_id):
    return (ids[..., None, :] != pad_id).astype(int)


@PADDING.mistake("The new axis is in front: it belongs before the last one, where the queries are.")
def puts_the_axis_in_front(ids, pad_id):
    return (ids != pad_id)[None]


@PADDING.mistake("Two axes of length 1 are for scores with heads: here the mask is (..., 1, S).")
def leaves_an_axis_for_heads(ids, pad_id):
    return ids[..., None, None, :] != pad_id


# --- 8.2 ----------------------------------------------------------------------------------------

LOOK_AHEAD = Exercise(
    id="8.2",
    title="Look-ahead mask",
    answer="look_ahead_mask",
    signature="look_ahead_mask(n)",
    oracle=lambda n: ref.look_ahead_mask(n),
    stands_for="look_ahead_mask",
    clauses={
        "the boolean mask of $n$ tokens": "five tokens",
        "each allows itself and all before it": "token t may use t + 1 keys",
        "a whole number, 1 or more": "a single token",
        "(T, T), True where allowed": DRAWN,
    },
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
LOOK_AHEAD.case("a single token", "it may use itself", 1)


@LOOK_AHEAD.draws
def _(rng, size):
    return (length(rng, size),)


@LOOK_AHEAD.invariant(
    "token t may use t + 1 keys", "counted from 0, each row allows one key more than the one above"
)
def _(answer):
    return same(np.sum(answer(7), axis=-1), np.arange(1, 8))


@LOOK_AHEAD.invariant(
    "a longer sentence begins alike", "the mask of 7 tokens is the corner of the mask of 13"
)
def _(answer):
    return same(np.asarray(answer(13))[:7, :7], answer(7))


@LOOK_AHEAD.right
def writes_row_after_row(n):
    return [[key <= query for key in range(n)] for query in range(n)]


@LOOK_AHEAD.right
def takes_the_lower_triangle(n):
    return np.tril(np.ones((n, n))).astype(bool)


@LOOK_AHEAD.right
def forbids_the_upper_triangle(n):
    return ~np.triu(np.ones((n, n), dtype=bool), k=1)


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
    return np.where(np.tri(n, dtype=bool), 0.0, -np.inf)


@LOOK_AHEAD.mistake("The pattern is right, but a mask is boolean: compare, or use dtype=bool.")
def returns_numbers(n):
    return np.tri(n)


@LOOK_AHEAD.mistake("Each token sees itself alone: all before it are allowed as well.")
def shows_the_diagonal_only(n):
    return np.eye(n, dtype=bool)


@LOOK_AHEAD.mistake("Nothing is hidden: a token must not see those that come after it.")
def hides_nothing(n):
    return np.ones((n, n), dtype=bool)


# --- 8.3 ----------------------------------------------------------------------------------------

MASKED = Exercise(
    id="8.3",
    title="Masked attention",
    answer="masked_attention",
    signature="masked_attention(q, k, v, mask)",
    oracle=lambda q, k, v, mask: ref.attention(q, k, v, mask),
    forbids=("attention:mask", "attention_weights:mask", "scaled_dot_product_attention"),
    clauses={
        "Write {eq}`eq-notes-18` for a boolean mask": "five tokens, look-ahead mask",
        "The mask broadcasts against the scores": "a batch with padding",
        "A query that may use nothing gets zeros": "a query that may use nothing",
        "q (..., T, K), k (..., S, K), v (..., S, D)": DRAWN,
        "mask broadcasts to (..., T, S), True where allowed": "one mask for a whole batch",
    },
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
MASKED.case(
    "a forbidden score that is much larger",
    "as if the forbidden key did not exist",
    np.array([[1.0], [-10.0]]),
    np.array([[2.0], [3.0], [4000.0]]),
    np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 7.0]]),
    np.array([True, True, False]),
)
MASKED.case(
    "allowed scores far below zero",
    "as if the forbidden key did not exist, however low the others are",
    np.array([[-100.0]]),
    np.array([[500.0], [500.01], [3.0]]),
    np.array([[1.0], [2.0], [9.0]]),
    np.array([[True, True, False]]),
)
MASKED.case("one mask for a whole batch", "a mask (T, S) holds for each", _bq, _bk, _bv, _some)


@MASKED.draws
def _(rng, size):
    batch, T, S = _sizes(rng, size)
    K, D = axis(rng, min(size, 12)), axis(rng, min(size, 12))
    kinds = [(*KINDS, "tiny"), (*KINDS, "huge")]
    if chance(rng):
        kinds.reverse()
    q = values(rng, (*batch, T, K), kinds[0])
    k = values(rng, (*batch, S, K), kinds[1])
    v = values(rng, (*batch, S, D), ANY_MAGNITUDE)
    return q, k, v, _drawn_mask(rng, (*batch, T, S))


def _drawn_mask(rng, scores):
    """A mask that broadcasts to the scores: some leading axes left out, some axes of length 1."""
    shape = scores[int(rng.integers(len(scores))) :] if chance(rng) else scores
    shape = tuple(1 if chance(rng, 0.15) else n for n in shape)
    return draw_mask(rng, shape, empty_rows=chance(rng))


@MASKED.invariant(
    "what is hidden does not matter", "changing the last key and value moves no other row"
)
def _(answer):
    k, v = _k.copy(), _v.copy()
    k[-1], v[-1] = 100.0, -100.0
    before = np.asarray(answer(_q, _k, _v, _ahead))
    return same(np.asarray(answer(_q, k, v, _ahead))[:-1], before[:-1])


@MASKED.invariant("all allowed is plain attention", "a mask of True changes nothing")
def _(answer):
    return same(answer(_q, _k, _v, np.ones((5, 5), bool)), ref.attention(_q, _k, _v))


@MASKED.right
def attends_query_by_query(q, k, v, mask):
    if q.ndim > 2:
        mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        return np.array([attends_query_by_query(*each) for each in zip(q, k, v, mask, strict=True)])
    rows = []
    for query, allowed in zip(q, np.broadcast_to(mask, (len(q), len(k))), strict=True):
        row = [0.0] * v.shape[1]
        if allowed.any():
            scores = k[allowed] @ query / len(query) ** 0.5
            powers = np.exp(scores - scores.max())
            row = (powers / powers.sum()) @ v[allowed]
        rows.append(list(row))
    return rows


@MASKED.right
def adds_minus_infinity(q, k, v, mask):
    added = np.where(mask, 0.0, -np.inf)
    scores = (np.einsum("...tk,...sk->...ts", q, k) + added) / np.sqrt(q.shape[-1])
    return ref.softmax(scores) @ v


@MASKED.right
def multiplies_the_exponentials(q, k, v, mask):
    scores = np.matmul(q, np.moveaxis(k, -1, -2)) * q.shape[-1] ** -0.5
    scores = np.where(mask, scores, scores.min(axis=-1, keepdims=True))
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros(powers.shape), where=total > 0) @ v


def _scores(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


@MASKED.mistake(
    "You set forbidden scores to 0, as a product with the mask does: a score of 0 still gets "
    "weight, -∞ none."
)
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
    used = np.broadcast_to(mask, _scores(q, k).shape).any(axis=-2)
    return ref.softmax(_scores(q, k)) @ np.where(used[..., None], v, 0)


@MASKED.mistake("You divided by d_k: it is the square root that keeps the variance at 1.")
def divides_by_d_k(q, k, v, mask):
    return ref.softmax(np.where(mask, q @ k.swapaxes(-1, -2) / q.shape[-1], -np.inf)) @ v


@MASKED.mistake(
    "You hid the weights after the softmax and divided again: beside a large forbidden score the "
    "allowed weights are 0 already. Mask the scores."
)
def divides_again_after_hiding(q, k, v, mask):
    weights = ref.softmax(_scores(q, k)) * mask
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@MASKED.mistake(
    "You did not subtract the row's largest score before the exponential: large scores overflow. "
    "ref.softmax does it."
)
def lets_scores_overflow(q, k, v, mask):
    powers = np.exp(_scores(q, k)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ v


@MASKED.mistake("The mask is not used: this is plain attention.")
def ignores_the_mask(q, k, v, mask):
    return ref.softmax(_scores(q, k)) @ v


@MASKED.mistake("You returned the weights: multiply them with the values.")
def returns_masked_weights(q, k, v, mask):
    return ref.softmax(np.where(mask, _scores(q, k), -np.inf))


@MASKED.mistake("You normalised over the queries: the softmax runs over the keys, axis -1.")
def normalises_over_queries(q, k, v, mask):
    return ref.softmax(np.where(mask, _scores(q, k), -np.inf), axis=-2) @ v


@MASKED.mistake(
    "You used .T, which reverses all axes of a batch: swap the last two, k.swapaxes(-1, -2)."
)
def transposes_the_whole_batch(q, k, v, mask):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    return ref.softmax(np.where(mask, scores, -np.inf)) @ v


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
    clauses={
        "the boolean mask of the decoder's self-attention": "two sentences of five",
        "for a batch of targets": "another padding",
        "or a single one": "a single target",
        "a square for each": DRAWN,
        "ids (..., T), integers -> (..., T, T), True where allowed": DRAWN,
    },
)
BOTH.case("two sentences of five", "neither padding nor later", _ids, 0)
BOTH.case("another padding", "pad_id says which token is padding", _sevens, 7)
BOTH.case("a single target", "one square, with no axis for a batch", np.array([1, 3, 0]), 0)
BOTH.case(
    "padding on the left",
    "the first rows may have nothing allowed",
    np.array([[0, 0, 1, 3, 5], [0, 1, 7, 3, 2]]),
    0,
)
BOTH.draws(_padded_ids)


@BOTH.invariant(
    "without padding it is the look-ahead mask", "a padding that does not occur hides nothing"
)
def _(answer):
    return same(answer(_sevens, 13), np.array([ref.look_ahead_mask(7)] * 3))


@BOTH.right
def fills_square_after_square(ids, pad_id):
    if ids.ndim > 1:
        return np.array([fills_square_after_square(target, pad_id) for target in ids])
    T = len(ids)
    return [[bool(s <= t and ids[s] != pad_id) for s in range(T)] for t in range(T)]


@BOTH.right
def cuts_the_upper_triangle(ids, pad_id):
    T = ids.shape[-1]
    keys = np.broadcast_to((ids != pad_id)[..., None, :], (*ids.shape, T))
    return np.tril(keys)


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


@BOTH.mistake("The pattern is right, but a mask is boolean: join the two by &, not by *.")
def multiplies_to_numbers(ids, pad_id):
    return (ids != pad_id)[..., None, :] * np.tri(ids.shape[-1])


@BOTH.mistake("That is B, which is added to the scores: return the boolean mask.")
def returns_what_the_decoder_adds(ids, pad_id):
    both = (ids != pad_id)[..., None, :] & np.tri(ids.shape[-1], dtype=bool)
    return np.where(both, 0.0, -np.inf)


@BOTH.mistake("You hid the diagonal: a token may see itself, unless it is padding.")
def hides_itself(ids, pad_id):
    return (ids != pad_id)[..., None, :] & np.tri(ids.shape[-1], k=-1, dtype=bool)


@BOTH.mistake("You let a padded position see itself: padding is hidden from every query.")
def shows_padding_to_itself(ids, pad_id):
    T = ids.shape[-1]
    both = (ids != pad_id)[..., None, :] & np.tri(T, dtype=bool)
    return both | np.eye(T, dtype=bool)


# --- 8.5 ----------------------------------------------------------------------------------------

NOTHING = Exercise(
    id="8.5",
    title="Find the bug: nothing allowed",
    answer="masked_softmax",
    signature="masked_softmax(scores, mask)",
    oracle=lambda scores, mask: ref.softmax(np.where(mask, scores, -np.inf)),
    forbids=("softmax", "log_softmax", "attention_weights", "attention", "masked_softmax"),
    clauses={
        "such a row gives zeros": "padding on the left",
        "all others stay as they are": "a row sums to one or to zero",
        "scores, mask both (..., T, S)": DRAWN,
        "scores within ±1e6": "a forbidden score that is much larger",
    },
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
NOTHING.case(
    "a batch", "each row over its own keys, the last axis", numbers(9, 2, 3, 7), _batch_mask
)
NOTHING.case(
    "a forbidden score that is much larger",
    "the largest score must be that of an allowed key",
    np.array([[1.0, 2.0, 3000.0], [-2000.0, -2001.0, 5.0]]),
    np.array([[True, True, False], [True, True, False]]),
)


@NOTHING.draws
def _(rng, size):
    batch, T, S = _sizes(rng, size)
    scores = values(rng, (*batch, T, S), ANY_MAGNITUDE)
    return scores, draw_mask(rng, scores.shape, empty_rows=chance(rng))


@NOTHING.invariant(
    "a row sums to one or to zero", "one where something is allowed, zero where nothing is"
)
def _(answer):
    return same(np.sum(answer(_left_padded, _left), axis=-1), np.array([0, 0, 1, 1, 1]))


@NOTHING.right
def goes_row_by_row(scores, mask):
    weights = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        allowed = scores[row][mask[row]]
        if len(allowed):
            powers = np.exp(allowed - max(allowed))
            weights[row][mask[row]] = powers / sum(powers)
    return weights


@NOTHING.right
def repairs_the_nan(scores, mask):
    hidden = np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True))
    return np.nan_to_num(powers / powers.sum(axis=-1, keepdims=True)).tolist()


@NOTHING.right
def empties_the_rows_afterwards(scores, mask):
    scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.where(mask.any(axis=-1, keepdims=True), weights, 0.0)


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


@NOTHING.mistake("The mask is turned round: True means allowed.")
def turns_the_mask(scores, mask):
    hidden = np.where(mask, -1e9, scores)
    powers = np.exp(hidden - hidden.max(axis=-1, keepdims=True)) * ~mask
    return powers / powers.sum(axis=-1, keepdims=True).clip(1)


@NOTHING.mistake("You did not subtract the row's largest score: large scores overflow.")
def overflows(scores, mask):
    powers = np.exp(scores) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@NOTHING.mistake("You returned the exponentials: divide each row by its sum.")
def forgets_to_divide(scores, mask):
    scores = np.where(mask, scores, -1e9)
    return np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask


@NOTHING.mistake("You divided by the sum over all rows: each row has a sum of its own.")
def sums_over_everything(scores, mask):
    scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    return powers / powers.sum().clip(1)


# --- 8.6 ----------------------------------------------------------------------------------------

ROOT = Exercise(
    id="8.6",
    title="Two weights give the scale away",
    answer="implied_root",
    signature="implied_root(scores, weights)",
    oracle=lambda scores, weights: (np.diff(scores) / np.diff(np.log(weights)))[0],
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
    clauses={
        r"Derive $\sqrt{d_k}$ from the softmax": "two scores at d_k = 49",
        "two unscaled scores of a row and their weights": "a pair out of a longer row",
        "takes the softmax with your root and looks whether the weights come back": (
            "the weights come back"
        ),
        "the root comes out negative": DRAWN,
        "scores (2,) that differ, weights (2,) above 0 that differ": DRAWN,
    },
    coincidences={
        "argument 1: no axis has length 1": "there are two scores",
        "argument 1: no value occurs twice": "the two differ",
        "argument 2: no axis has length 1": "there are two weights",
        "argument 2: no value occurs twice": "the two differ",
        "argument 2: no whole numbers as integers": "weights are fractions",
    },
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
ROOT.case("scores below zero", "only their difference counts", *_pair([-3.0, -8.0], 2.0))


@ROOT.draws
def _(rng, size):
    scores = rng.integers(-9, 10, size=2)
    if chance(rng, 0.6):
        scores = rng.normal(size=2) * choice(rng, (1.0, 10.0, 1000.0))
    if abs(scores[1] - scores[0]) < 0.1:
        scores[1] += 1
    gap = abs(scores[1] - scores[0])
    root = np.sqrt(choice(rng, (1, 2, 16, 64, int(rng.integers(1, 4097)))))
    root = np.clip(root, gap / 200, 50 * gap)  # neither 0 nor two equal weights
    others = choice(rng, (0.0, 0.0, rng.random(), 0.99))  # that is what the other keys get
    if chance(rng, 0.2):
        root = -root  # the larger score has the smaller weight, as no softmax has it
    return scores, (1 - others) * ref.softmax(scores / root)


@ROOT.invariant(
    "the weights come back", "the softmax of the scores over your root is what you were given"
)
def _(answer):
    scores, weights = _pair([1.9, 4.3], 2.45)
    root = float(answer(scores, weights))
    return same(ref.softmax(scores / root), weights) if root else "A root of 0 divides nothing."


@ROOT.right
def subtracts_logarithms(scores, weights):
    first, second = (float(np.log(weight)) for weight in weights)
    return float(scores[0] - scores[1]) / (first - second)


@ROOT.right
def takes_base_two(scores, weights):
    return np.diff(scores)[0] / (np.log2(weights[1] / weights[0]) * np.log(2))


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


@ROOT.mistake("That is the logarithm to base 10: softmax uses e, so take np.log.")
def takes_the_decimal_logarithm(scores, weights):
    return (scores[1] - scores[0]) / np.log10(weights[1] / weights[0])


@ROOT.mistake("That is √√d_k: the ratio gives √d_k already, so take no further root.")
def takes_another_root(scores, weights):
    return np.sqrt((scores[1] - scores[0]) / np.log(weights[1] / weights[0]))


@ROOT.mistake(
    "You took one score and one weight, as if the sum in the denominator were 1: it takes a "
    "difference of two."
)
def takes_a_single_score(scores, weights):
    return scores[0] / np.log(weights[0])


@ROOT.mistake("You rounded to a whole number: √d_k need not be one.")
def rounds_the_root(scores, weights):
    return round((scores[1] - scores[0]) / np.log(weights[1] / weights[0]))


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
    clauses={
        "any matrix of *finite* scores": "every score is a number",
        "whose softmax, after adding the look-ahead mask, is the given matrix": (
            "the printed weights come back"
        ),
        "The weights are zero above the diagonal and positive elsewhere": (
            "very small weights come back"
        ),
        "weights (T, T), a masked softmax -> finite scores (T, T)": DRAWN,
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


@BEHIND.accepting
def _(value, weights):
    scores, T = as_array(value), len(weights)
    if scores is None or scores.shape != (T, T):
        return f"Expected a score for each weight, shape {(T, T)}, got {describe(value)}."
    if not np.isfinite(scores).all():
        bad = int((~np.isfinite(scores)).sum())
        return f"{bad} of {scores.size} scores are infinite or NaN: all must be finite."
    below = np.tri(T, dtype=bool)
    back = _masked(scores)
    off = np.where(below, np.abs(back / np.where(below, weights, 1) - 1), 0)
    t, s = np.unravel_index(off.argmax(), off.shape)
    if off[t, s] <= 1e-6:
        return None
    return (
        f"The masked softmax of your scores has {back[t, s]:.7g} in row {t}, column {s}, "
        f"where {weights[t, s]:.7g} was given."
    )


@BEHIND.draws
def _(rng, size):
    T = axis(rng, size)
    if T == 1 and chance(rng):
        return (np.array([[1]]),)
    spread = choice(rng, (0.0, 0.5, 3.0, 15.0))
    return (_masked(spread * rng.normal(size=(T, T))),)


_given = _masked(2 * numbers(10, 7, 7))
BEHIND.case("a single weight", "any finite score: alone it has weight 1", np.ones((1, 1)))


@BEHIND.invariant(
    "the printed weights come back", "the masked softmax of your scores is the printed S' again"
)
def _(answer):
    return same(_masked(answer(_PRINTED)), _PRINTED)


@BEHIND.invariant(
    "random weights come back", "the masked softmax of your scores is what you were given"
)
def _(answer):
    return same(_masked(answer(_given)), _given)


@BEHIND.invariant("every score is a number", "no score is infinite, above the diagonal either")
def _(answer):
    bad = int((~np.isfinite(answer(_masked(numbers(11, 5, 5))))).sum())
    return f"{bad} of 25 scores are infinite or NaN." if bad else True


@BEHIND.invariant("very small weights come back", "a weight of 1e-12 is a weight, too")
def _(answer):
    tiny = np.array([[1.0, 0, 0], [1e-12, 1 - 1e-12, 0], [0.5, 1e-9, 0.5 - 1e-9]])
    below = np.tri(3, dtype=bool)
    return same(_masked(answer(tiny))[below], tiny[below], atol=0)


@BEHIND.right
def goes_down_the_rows(weights):
    T = len(weights)
    return [[float(np.log(weights[t][s])) if s <= t else -7 for s in range(T)] for t in range(T)]


@BEHIND.right
def measures_from_the_first(weights):
    scores = np.full(weights.shape, 1e4)
    below = np.tri(len(weights), dtype=bool)
    first = np.broadcast_to(weights[:, :1], weights.shape)
    scores[below] = np.log(weights[below]) - np.log(first[below])
    return scores


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


@BEHIND.mistake(
    "You raised small weights to 1e-9 before the logarithm: that moves those below it. Treat only "
    "the zeros."
)
def lifts_small_weights(weights):
    return np.log(np.maximum(weights, 1e-9))


@BEHIND.mistake("That is the exponential: the logarithm undoes it.")
def takes_the_exponential(weights):
    return np.exp(weights)


@BEHIND.mistake("You replaced -∞ by NaN or kept it as NaN: put a finite number there.")
def leaves_nan(weights):
    return np.where(weights > 0, np.log(weights), np.nan)
