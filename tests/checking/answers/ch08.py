"""Answers to chapter 8 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import math

import numpy as np
from answers import delegates, right, wrong

from tfmlib import ref


def _draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def _attention(*batch, T=3, S=4, K=5, D=2, mask=None, seed=0):
    """q, k, v and a mask, by default of random places with one allowed at least."""
    if mask is None:
        mask = _draw(*batch, T, S, seed=seed + 3) > 0
        mask[..., 0] = True
    return (
        _draw(*batch, T, K, seed=seed),
        _draw(*batch, S, K, seed=seed + 1),
        _draw(*batch, S, D, seed=seed + 2),
        np.asarray(mask),
    )


def _nothing_for_the_second(T=3, S=4):
    mask = np.ones((T, S), dtype=bool)
    mask[1] = False
    mask[0, 2] = False
    return mask


def _masked_softmax_of(n, seed=0):
    return ref.softmax(_draw(n, n, seed=seed) + ref.additive(ref.look_ahead_mask(n)))


# --- 8.1 Padding mask -------------------------------------------------------------------------


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_where_it_is(ids, pad_id):
    """True at the padding instead of the words"""
    return (ids == pad_id)[..., None, :]


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_without_axis(ids, pad_id):
    """no axis for the queries"""
    return ids != pad_id


@wrong("8.1", on=lambda: (np.array([1, 2, 0]), 0))
def padding_of_batches(ids, pad_id):
    """ids[:, None, :] needs a batch"""
    return ids[:, None, :] != pad_id


@wrong("8.1", on=lambda: (np.array([[[1, 0], [2, 3]], [[4, 5], [6, 0]]]), 0))
def padding_behind_the_first_axis(ids, pad_id):
    """puts the new axis behind the first: wrong for two leading axes, right for one"""
    if ids.ndim == 1:
        return (ids != pad_id)[None]
    return (ids != pad_id)[:, None]


@wrong("8.1", on=lambda: (np.array([[0, 2, 7], [3, 7, 7]]), 7))
def padding_is_zero(ids, pad_id):
    """takes 0 for the padding, whatever pad_id is"""
    return ids.astype(bool)[..., None, :]


@wrong("8.1", on=lambda: (np.array([[0, 2, 7], [9, 7, 7]]), 7))
def padding_is_lowest(ids, pad_id):
    """>, as if every word had a higher number than the padding"""
    return (ids > pad_id)[..., None, :]


@wrong("8.1", on=lambda: (np.array([[0, 0, 3], [4, 0, 5]]), 0))
def padding_to_the_end(ids, pad_id):
    """forbids everything from the first padding on"""
    allowed = np.logical_and.accumulate(ids != pad_id, axis=-1)
    return allowed[..., None, :]


@wrong("8.1", on=lambda: (np.array([[0, 0, 3], [4, 0, 5]]), 0))
def padding_by_length(ids, pad_id):
    """counts the words and allows as many places from the left"""
    lengths = (ids != pad_id).sum(axis=-1, keepdims=True)
    return (np.arange(ids.shape[-1]) < lengths)[..., None, :]


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_as_columns(ids, pad_id):
    """the new axis last: forbids queries, not keys"""
    return (ids != pad_id)[..., None]


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_in_squares(ids, pad_id):
    """a row for every query, though one a sentence is enough"""
    allowed = ids != pad_id
    return np.repeat(allowed[..., None, :], ids.shape[-1], axis=-2)


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_to_add(ids, pad_id):
    """0 and -∞ instead of True and False"""
    return np.where(ids != pad_id, 0.0, -np.inf)[..., None, :]


@wrong("8.1", on=lambda: (np.array([[1], [0]]), 0))
def padding_squeezed(ids, pad_id):
    """squeezes, and a sentence of one token loses its axis"""
    mask = np.squeeze(ids) != pad_id
    return mask[..., None, :]


@wrong("8.1", on=lambda: (np.array([[1, 2, 0], [3, 4, 5]]), 0))
def padding_of_any(ids, pad_id):
    """one mask for the whole batch"""
    return (ids != pad_id).all(axis=tuple(range(ids.ndim - 1)))[None]


@right("8.1")
def padding_expanded(ids, pad_id):
    """np.expand_dims and np.not_equal"""
    return np.expand_dims(np.not_equal(ids, pad_id), -2)


@right("8.1")
def padding_recursively(ids, pad_id):
    """lists of Python's own truth values"""
    if np.ndim(ids) == 1:
        return [[bool(token != pad_id) for token in ids]]
    return [padding_recursively(part, pad_id) for part in ids]


@right("8.1")
def padding_filled(ids, pad_id):
    """all True, and then False where the padding stands"""
    mask = np.ones(ids.shape, dtype=bool)
    for index in zip(*np.where(ids == pad_id)):
        mask[index] = False
    return mask.reshape(*ids.shape[:-1], 1, ids.shape[-1])


@right("8.1")
def padding_not_in(ids, pad_id):
    """np.isin, inverted"""
    return np.isin(ids, [pad_id], invert=True)[..., np.newaxis, :]


# --- 8.2 Look-ahead mask ----------------------------------------------------------------------


@wrong("8.2", on=lambda: (4,))
def ahead_upper(n):
    """the upper triangle: each token sees what comes"""
    return np.triu(np.ones((n, n), dtype=bool))


@wrong("8.2", on=lambda: (4,))
def ahead_without_itself(n):
    """only what stands before, not the token itself"""
    return np.tril(np.ones((n, n), dtype=bool), k=-1)


@wrong("8.2", on=lambda: (4,))
def ahead_by_one(n):
    """one place of the future as well"""
    i, j = np.indices((n, n))
    return j <= i + 1


@wrong("8.2", on=lambda: (4,))
def ahead_to_add(n):
    """0 and -∞, to be added, instead of True and False"""
    return np.where(np.tri(n), 0.0, -np.inf)


@wrong("8.2", on=lambda: (4,))
def ahead_forbidden(n):
    """True where it is forbidden"""
    return ~np.tri(n, dtype=bool)


@wrong("8.2", on=lambda: (4,))
def ahead_of_six(n):
    """the six tokens of the text"""
    return np.tri(6, dtype=bool)


@wrong("8.2", on=lambda: (200,))
def ahead_of_a_table(n):
    """cuts the mask out of a table for 128 tokens"""
    return np.tri(128, dtype=bool)[:n, :n]


@wrong("8.2", on=lambda: (1,))
def ahead_squeezed(n):
    """one token gives a single truth value"""
    return np.squeeze(np.tri(n, dtype=bool))


@wrong("8.2", on=lambda: (5,))
def ahead_of_neighbours(n):
    """itself and the one before it, but not all before it"""
    i, j = np.indices((n, n))
    return (j == i) | (j == i - 1)


@wrong("8.2", on=lambda: (4,))
def ahead_mirrored(n):
    """the triangle on the other side of the other diagonal"""
    return np.array([[True] * (n - i) + [False] * i for i in range(n)])


@wrong("8.2", on=lambda: (4,))
def ahead_in_rows_of_their_own(n):
    """rows of growing length, which are no square"""
    return [[True] * (i + 1) for i in range(n)]


@wrong("8.2", on=lambda: (300,))
def ahead_in_bytes(n):
    """numbers the places in eight bits, which end at 255"""
    place = np.arange(n).astype(np.uint8)
    return place[:, None] >= place[None, :]


_masks = [np.tri(1, dtype=bool)]


@wrong("8.2", on=lambda: [(4,), (3,)])
def ahead_remembered(n):
    """keeps the largest mask so far and returns it whole"""
    if n > len(_masks[-1]):
        _masks.append(np.tri(n, dtype=bool))
    return _masks[-1]


@right("8.2")
def ahead_by_comparing(n):
    """places of queries and keys"""
    return np.arange(n)[:, None] >= np.arange(n)


@right("8.2")
def ahead_in_lists(n):
    """lists of True and False"""
    return [[key <= query for key in range(n)] for query in range(n)]


@right("8.2")
def ahead_recursively(n):
    """the mask of one token less, with a row and a column more"""
    if n == 1:
        return np.array([[True]])
    mask = np.zeros((n, n), dtype=bool)
    mask[:-1, :-1] = ahead_recursively(n - 1)
    mask[-1] = True
    return mask


@right("8.2")
def ahead_by_upper(n):
    """what is not strictly above the diagonal"""
    return np.logical_not(np.triu(np.ones((n, n)), k=1))


# --- 8.3 Masked attention ---------------------------------------------------------------------


@wrong("8.3", on=lambda: _attention())
def masked_too_late(q, k, v, mask):
    """zeros after the softmax: the rows no longer sum to one"""
    return np.where(mask, ref.attention_weights(q, k), 0) @ v


@wrong("8.3", on=lambda: _attention(mask=_nothing_for_the_second()))
def masked_by_a_large_number(q, k, v, mask):
    """-1e9: a query that may use nothing gets the mean of all"""
    scores = q @ k.swapaxes(-1, -2)
    scores = np.where(mask, scores, -1e9)
    return ref.softmax(scores / np.sqrt(q.shape[-1])) @ v


@wrong("8.3", on=lambda: _attention())
def masked_the_other_way(q, k, v, mask):
    """-∞ where it is allowed"""
    scores = np.where(mask, -np.inf, q @ k.swapaxes(-1, -2))
    return ref.softmax(scores / np.sqrt(q.shape[-1])) @ v


@wrong("8.3", on=lambda: _attention())
def masked_unscaled(q, k, v, mask):
    """no root of d_k"""
    return ref.softmax(q @ k.swapaxes(-1, -2) + ref.additive(mask)) @ v


@wrong("8.3", on=lambda: _attention())
def masked_scaled_by_values(q, k, v, mask):
    """the root of the width of the values"""
    scores = q @ k.swapaxes(-1, -2) + ref.additive(mask)
    return ref.softmax(scores / np.sqrt(v.shape[-1])) @ v


@wrong("8.3", on=lambda: _attention())
def masked_by_multiplying(q, k, v, mask):
    """scores times the mask: a score of 0 still counts"""
    scores = (q @ k.swapaxes(-1, -2)) * mask
    return ref.softmax(scores / np.sqrt(q.shape[-1])) @ v


@wrong("8.3", on=lambda: _attention(mask=_nothing_for_the_second()))
def masked_nan(q, k, v, mask):
    """a softmax of its own: -∞ less -∞ is NaN where nothing is allowed"""
    scores = np.where(mask, q @ k.swapaxes(-1, -2), -np.inf) / np.sqrt(q.shape[-1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ v


@wrong("8.3", on=lambda: _attention(2))
def masked_by_t(q, k, v, mask):
    """k.T turns all axes of a batch"""
    scores = (q @ k.T) / np.sqrt(q.shape[-1])
    return ref.softmax(np.where(mask, scores, -np.inf)) @ v


@wrong("8.3", on=lambda: _attention(mask=[[True, True, False, True]]))
def masked_by_index(q, k, v, mask):
    """an index needs a mask of the full shape, and one row does not have it"""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores[~mask] = -np.inf
    return ref.softmax(scores) @ v


@wrong(
    "8.3",
    on=lambda: (np.array([[9.0]]), np.array([[0.0], [99.0]]), np.eye(2), np.array([[True, False]])),
)
def masked_and_normed_again(q, k, v, mask):
    """divides by what is left of the weights, which may be nothing"""
    weights = ref.attention_weights(q, k) * mask
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@wrong("8.3", on=lambda: _attention())
def masked_over_queries(q, k, v, mask):
    """the softmax along the queries"""
    scores = np.where(mask, q @ k.swapaxes(-1, -2), -np.inf) / np.sqrt(q.shape[-1])
    return ref.softmax(scores, axis=-2) @ v


@wrong("8.3", on=lambda: (40 * _attention()[0], *_attention()[1:]))
def masked_by_minus_ten(q, k, v, mask):
    """a number that is not low enough"""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + np.where(mask, 0, -10)
    return np.where(mask.any(axis=-1, keepdims=True), ref.softmax(scores), 0) @ v


@wrong("8.3", on=lambda: _attention(mask=_nothing_for_the_second()))
def masked_keeps_the_query(q, k, v, mask):
    """a query that may use nothing gets the plain mean of the values"""
    out = ref.attention(q, k, v, mask)
    empty = ~mask.any(axis=-1, keepdims=True)
    return np.where(empty, v.mean(axis=-2, keepdims=True), out)


@wrong("8.3", on=lambda: _attention(2, mask=[[[True, True, False, False]], [[True] * 4]]))
def masked_by_the_first(q, k, v, mask):
    """leaves the forbidden keys out, by the mask of the first sentence"""
    allowed = mask.reshape(-1, mask.shape[-1])[0]
    return ref.attention(q, k[..., allowed, :], v[..., allowed, :])


@wrong("8.3", on=lambda: _attention(2, 2))
def masked_in_batches_of_one_axis(q, k, v, mask):
    """a loop over one leading axis at most"""

    def one(q, k, v, mask):
        scores = np.where(mask, q @ k.T, -np.inf)
        return ref.softmax(scores / np.sqrt(q.shape[1])) @ v

    if q.ndim == 2:
        return one(q, k, v, mask)
    mask = np.broadcast_to(mask, (len(q), q.shape[1], k.shape[1]))
    return np.array([one(*parts) for parts in zip(q, k, v, mask)])


@delegates("8.3")
def masked_by_the_library(q, k, v, mask):
    """the library's attention with a mask"""
    return ref.attention(q, k, v, mask)


@right("8.3")
def masked_by_leaving_out(q, k, v, mask):
    """for each query only the keys that it may use"""
    T, S = q.shape[-2], k.shape[-2]
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (q, k, v))
    mask = np.broadcast_to(mask, (*batch, T, S))
    out = np.zeros((*batch, T, v.shape[-1]))
    for index in np.ndindex(*batch, T):
        *lead, t = index
        lead, allowed = tuple(lead), mask[index]
        if allowed.any():
            out[index] = ref.attention(q[lead][t : t + 1], k[lead][allowed], v[lead][allowed])[0]
    return out


@right("8.3")
def masked_by_einsum(q, k, v, mask):
    """einsum, with the mask added after the root"""
    scores = np.einsum("...tk,...sk->...ts", q, k) / q.shape[-1] ** 0.5
    weights = ref.softmax(scores + np.where(mask, 0, -np.inf))
    return np.einsum("...ts,...sd->...td", weights, v)


@right("8.3")
def masked_by_powers(q, k, v, mask):
    """its own softmax: the peak of what is allowed, and 0 over 1 where nothing is"""
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    low = np.where(mask, scores, -np.inf).max(axis=-1, keepdims=True)
    peak = np.where(np.isfinite(low), low, 0)
    powers = np.where(mask, np.exp(np.where(mask, scores - peak, 0)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return (powers / np.where(total > 0, total, 1)) @ v


# --- 8.4 Both together ------------------------------------------------------------------------


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_look_ahead_only(ids, pad_id):
    """the triangle for every sentence, padding or not"""
    T = ids.shape[-1]
    return np.broadcast_to(ref.look_ahead_mask(T), (*ids.shape, T))


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_padding_only(ids, pad_id):
    """no look-ahead mask"""
    T = ids.shape[-1]
    return np.broadcast_to(ref.padding_mask(ids, pad_id), (*ids.shape, T))


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_either(ids, pad_id):
    """or: allowed by one of the two"""
    return ref.padding_mask(ids, pad_id) | ref.look_ahead_mask(ids.shape[-1])


@wrong("8.4", on=lambda: (np.array([[1, 3, 0, 0], [1, 2, 3, 0]]), 0))
def decoder_by_len(ids, pad_id):
    """len(ids), which is the number of sentences in a batch"""
    return ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(len(ids))


@wrong("8.4", on=lambda: (np.array([1, 3, 0]), 0))
def decoder_of_batches(ids, pad_id):
    """B, T = ids.shape: a single target raises an error"""
    B, T = ids.shape
    mask = np.zeros((B, T, T), dtype=bool)
    for b in range(B):
        for t in range(T):
            mask[b, t, : t + 1] = ids[b, : t + 1] != pad_id
    return mask


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_hides_queries(ids, pad_id):
    """forbids everything to the padded queries as well"""
    real = ids != pad_id
    return ref.look_ahead_mask(ids.shape[-1]) & real[..., None, :] & real[..., :, None]


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_hides_only_queries(ids, pad_id):
    """the padding on the wrong axis: rows are forbidden instead of columns"""
    return ref.look_ahead_mask(ids.shape[-1]) & (ids != pad_id)[..., None]


@wrong("8.4", on=lambda: (np.array([1, 3, 0]), 0))
def decoder_always_a_batch(ids, pad_id):
    """makes a batch of one out of a single target"""
    ids = np.atleast_2d(ids)
    return ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(ids.shape[-1])


@wrong("8.4", on=lambda: (np.array([[9, 0, 2], [9, 9, 1]]), 9))
def decoder_padding_is_zero(ids, pad_id):
    """0 as the padding, whatever pad_id is"""
    return ref.padding_mask(ids, 0) & ref.look_ahead_mask(ids.shape[-1])


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_without_itself(ids, pad_id):
    """no token may see itself"""
    T = ids.shape[-1]
    return ref.padding_mask(ids, pad_id) & np.tri(T, k=-1, dtype=bool)


@wrong("8.4", on=lambda: (np.array([[0, 0, 1, 3], [1, 2, 0, 3]]), 0))
def decoder_padding_on_the_right(ids, pad_id):
    """counts the words and lets as many columns stand"""
    T = ids.shape[-1]
    lengths = (ids != pad_id).sum(axis=-1)[..., None, None]
    return np.tri(T, dtype=bool) & (np.arange(T) < lengths)


@wrong("8.4", on=lambda: (np.array([[0, 1, 3], [1, 2, 3]]), 0))
def decoder_keeps_the_diagonal(ids, pad_id):
    """lets every token see itself, so that no row is empty"""
    T = ids.shape[-1]
    mask = ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(T)
    return mask | np.eye(T, dtype=bool)


@wrong("8.4", on=lambda: (np.array([[1, 3, 0], [1, 2, 3]]), 0))
def decoder_one_for_all(ids, pad_id):
    """one square for the whole batch"""
    T = ids.shape[-1]
    return (ref.padding_mask(ids, pad_id) & ref.look_ahead_mask(T)).reshape(-1, T, T).all(axis=0)


@wrong("8.4", on=lambda: (np.array([[[1, 0], [2, 3]], [[4, 5], [6, 0]]]), 0))
def decoder_with_the_axis_behind_the_first(ids, pad_id):
    """ids[:, None]: right for one leading axis, not for two"""
    if ids.ndim == 1:
        return (ids != pad_id) & ref.look_ahead_mask(len(ids))
    return (ids[:, None] != pad_id) & ref.look_ahead_mask(ids.shape[-1])


@right("8.4")
def decoder_by_comparing(ids, pad_id):
    """NumPy alone"""
    place = np.arange(ids.shape[-1])
    return (place <= place[:, None]) & (ids != pad_id)[..., None, :]


@right("8.4")
def decoder_recursively(ids, pad_id):
    """lists, one target after the other"""
    if ids.ndim > 1:
        return [decoder_recursively(part, pad_id) for part in ids]
    T = len(ids)
    return [[bool(s <= t and ids[s] != pad_id) for s in range(T)] for t in range(T)]


@right("8.4")
def decoder_by_tril(ids, pad_id):
    """the padding in squares, and the lower triangle of each"""
    T = ids.shape[-1]
    return np.tril(np.repeat(ref.padding_mask(ids, pad_id), T, axis=-2))


@right("8.4")
def decoder_by_multiplying(ids, pad_id):
    """a product of truth values"""
    both = ref.padding_mask(ids, pad_id) * ref.look_ahead_mask(ids.shape[-1])
    return both.astype(bool)


# --- 8.5 Find the bug: nothing allowed --------------------------------------------------------


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_lower_still(scores, mask):
    """an even larger negative number, and the same bug"""
    scores = np.where(mask, scores, -1e300)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_nan(scores, mask):
    """back to -∞, and to NaN"""
    scores = np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("8.5", on=lambda: (1000 + _draw(3, 4), _nothing_for_the_second()))
def weights_without_peak(scores, mask):
    """powers of the bare scores overflow"""
    powers = np.exp(scores) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (np.array([[0.0, 1.0, 2000.0]]), np.array([[True, True, False]])))
def weights_below_a_forbidden_peak(scores, mask):
    """the peak of all scores: one that is forbidden presses the others to 0"""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (np.array([[-40.0, -41.0, 0.0]]), np.array([[True, True, False]])))
def weights_with_a_small_number(scores, mask):
    """1e-9 in the denominator, which is large next to small powers"""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    return powers / (powers.sum(axis=-1, keepdims=True) + 1e-9)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_if_all_is_forbidden(scores, mask):
    """zeros only when the whole mask is empty"""
    if not mask.any():
        return np.zeros(scores.shape)
    scores = np.where(mask, scores, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_of_complete_rows(scores, mask):
    """zeros for every row in which anything is forbidden"""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.where(mask.all(axis=-1, keepdims=True), weights, 0)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_not_shared_out(scores, mask):
    """zeros after a softmax over everything"""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) * mask


@wrong("8.5", on=lambda: (_draw(2, 3, 4), np.stack([_nothing_for_the_second()] * 2)))
def weights_row_by_row(scores, mask):
    """a loop over the rows of one table"""
    out = np.zeros(scores.shape)
    for t in range(len(scores)):
        if mask[t].any():
            row = np.where(mask[t], scores[t], -np.inf)
            powers = np.exp(row - row.max())
            out[t] = powers / powers.sum()
    return out


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_in_place(scores, mask):
    """writes -∞ into the scores of the caller"""
    scores[~mask] = -np.inf
    peak = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (np.array([[1, 2], [3, 4]]), np.array([[True, False], [False, False]])))
def weights_of_floats_only(scores, mask):
    """a copy of whole numbers cannot hold -∞"""
    scores = scores.copy()
    scores[~mask] = -np.inf
    peak = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(peak == -np.inf, 0, peak))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (np.array([[60.0, 80.0]]), np.array([[True, True]])))
def weights_clipped(scores, mask):
    """holds the scores between -50 and 50"""
    powers = np.where(mask, np.exp(np.clip(scores, -50, 50)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_along_the_queries(scores, mask):
    """along the columns"""
    low = np.where(mask, scores, -np.inf)
    peak = low.max(axis=-2, keepdims=True)
    powers = np.exp(low - np.where(peak == -np.inf, 0, peak))
    total = powers.sum(axis=-2, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@wrong("8.5", on=lambda: (_draw(3, 4), _nothing_for_the_second()))
def weights_without_empty_rows(scores, mask):
    """leaves the empty rows out"""
    rows = mask.any(axis=-1)
    low = np.where(mask, scores, -np.inf)[rows]
    powers = np.exp(low - low.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@right("8.5")
def weights_corrected_at_the_end(scores, mask):
    """-∞, and NaN replaced by 0 without a warning"""
    scores = np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.nan_to_num(powers / powers.sum(axis=-1, keepdims=True))


@right("8.5")
def weights_of_every_row(scores, mask):
    """row by row for any number of leading axes, in lists"""
    out = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        allowed = [s for s, ok in zip(scores[index].tolist(), mask[index]) if ok]
        powers = [math.exp(s - max(allowed)) for s in allowed]
        out[index][mask[index]] = [power / sum(powers) for power in powers]
    return out


@right("8.5")
def weights_recursively(scores, mask):
    """one axis after the other down to a row"""
    if scores.ndim > 1:
        return np.array([weights_recursively(s, m) for s, m in zip(scores, mask)])
    if not mask.any():
        return np.zeros(len(scores))
    powers = np.exp(np.where(mask, scores - scores[mask].max(), -np.inf))
    return powers / powers.sum()


@right("8.5")
def weights_with_initial(scores, mask):
    """the peak of the allowed by `where` and `initial`"""
    scores, low = scores.astype(float), np.finfo(float).min
    peak = np.max(scores, axis=-1, keepdims=True, where=mask, initial=low)
    powers = np.where(mask, np.exp(np.minimum(scores - np.where(peak == low, 0, peak), 0)), 0)
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), np.finfo(float).tiny)


# --- 8.6 Two weights give the scale away ------------------------------------------------------


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_upside_down(scores, weights):
    """logarithm over difference"""
    return np.log(weights[0] / weights[1]) / (scores[0] - scores[1])


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_by_log10(scores, weights):
    """the logarithm to base 10"""
    return (scores[0] - scores[1]) / math.log10(weights[0] / weights[1])


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_of_the_wrong_pair(scores, weights):
    """turns the weights round, and with them the sign"""
    return (scores[0] - scores[1]) / np.log(weights[1] / weights[0])


@wrong("8.6", on=lambda: (np.array([4.0, 3.9]), np.array([0.02, 0.04])))
def root_never_negative(scores, weights):
    """the absolute value, which hides that no softmax gives these weights"""
    return abs((scores[0] - scores[1]) / np.log(weights[0] / weights[1]))


@wrong("8.6", on=lambda: (np.array([4.0, 3.9]), np.array([0.02, 0.04])))
def root_of_sorted_pairs(scores, weights):
    """larger less smaller in both, each for itself"""
    high, low = max(weights), min(weights)
    return (max(scores) - min(scores)) / math.log(high / low)


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_squared(scores, weights):
    """d_k instead of its root"""
    return ((scores[0] - scores[1]) / np.log(weights[0] / weights[1])) ** 2


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_of_a_row_of_two(scores, weights):
    """takes the two weights to be the whole row"""
    return (scores[0] - scores[1]) / np.log(weights[0] / (1 - weights[0]))


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_rounded(scores, weights):
    """rounds to one digit, as the text prints it"""
    return round(float((scores[0] - scores[1]) / np.log(weights[0] / weights[1])), 1)


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.59])))
def root_by_search(scores, weights):
    """tries the roots from 2 to 20, as the text does"""
    roots = np.arange(4000, 40001) / 2000
    ratio = np.exp((scores[0] - scores[1]) / roots)
    return roots[np.abs(ratio - weights[0] / weights[1]).argmin()]


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_of_log_ratio(scores, weights):
    """the quotient of the logarithms instead of the logarithm of the quotient"""
    return (scores[0] - scores[1]) / (np.log(weights[0]) / np.log(weights[1]))


@wrong("8.6", on=lambda: (np.array([50.0, 0.0]), np.array([1.0, 1e-12])))
def root_with_a_small_number(scores, weights):
    """1e-9 added for safety, which is large next to a small weight"""
    first, second = weights + 1e-9
    return (scores[0] - scores[1]) / np.log(first / second)


@wrong("8.6", on=lambda: (np.array([50.0, 0.0]), np.array([1.0, 1e-12])))
def root_of_clipped_weights(scores, weights):
    """weights below a thousandth are lifted to it"""
    w = np.clip(weights, 1e-3, 1)
    return np.diff(scores)[0] / np.diff(np.log(w))[0]


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_in_an_array(scores, weights):
    """an array of one entry, not a number"""
    return np.diff(scores) / np.diff(np.log(weights))


@wrong("8.6", on=lambda: (np.array([16.2, 7.7]), np.array([0.6, 0.1])))
def root_of_a_difference(scores, weights):
    """the logarithm of the difference of the weights"""
    return (scores[0] - scores[1]) / np.log(weights[0] - weights[1])


@right("8.6")
def root_by_differences(scores, weights):
    """differences of scores and of logarithms, as a Python float"""
    a, b = np.log(weights).tolist()
    return float(scores[0] - scores[1]) / (a - b)


@right("8.6")
def root_by_diff(scores, weights):
    """np.diff, second less first in both"""
    return (np.diff(scores) / np.diff(np.log(weights))).item()


@right("8.6")
def root_by_a_line(scores, weights):
    """the slope of a line through the two points"""
    (s1, s2), (w1, w2) = scores, weights
    return 1 / ((math.log(w2) - math.log(w1)) / (s2 - s1))


# --- 8.7 Scores behind a masked softmax -------------------------------------------------------


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_infinite(weights):
    """log(0) = -∞ above the diagonal"""
    with np.errstate(divide="ignore"):
        return np.log(weights)


@wrong("8.7", on=lambda: (np.array([[1.0, 0.0], [1e-12, 1 - 1e-12]]),))
def behind_a_small_number(weights):
    """1e-9 added before the logarithm, which is large next to a small weight"""
    return np.log(weights + 1e-9)


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_the_weights(weights):
    """the weights themselves: the softmax of a softmax"""
    return weights


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_nan(weights):
    """-∞ times 0 is NaN"""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(weights) * np.tri(len(weights))


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_base_two(weights):
    """logarithms to base 2"""
    return np.log2(np.where(weights > 0, weights, 1))


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_scaled(weights):
    """multiplied by a root, which the exercise does not divide by again"""
    return np.log(np.where(weights > 0, weights, 1)) * np.sqrt(len(weights))


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_in_place(weights):
    """fills the zeros of the caller's matrix"""
    weights[weights == 0] = 1
    return np.log(weights)


@wrong("8.7", on=lambda: (np.array([[1.0, 0.0], [1e-12, 1 - 1e-12]]),))
def behind_clipped(weights):
    """lifts every weight to a millionth"""
    return np.log(np.clip(weights, 1e-6, None))


@wrong("8.7", on=lambda: (_masked_softmax_of(4),))
def behind_six_tokens(weights):
    """the triangle of the six tokens of the text"""
    return np.log(np.where(np.tri(6, dtype=bool), weights, 1))


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_odds(weights):
    """the inverse of the sigmoid, which is infinite at a weight of 1"""
    with np.errstate(divide="ignore"):
        inside = np.where(weights > 0, weights, 0.5)
        return np.log(inside / (1 - inside))


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_rounded(weights):
    """rounds the scores to one digit, as in the notes"""
    return np.log(np.where(weights > 0, weights, 1)).round(1)


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_relative_to_columns(weights):
    """subtracts a score of each column, where only one of each row may be subtracted"""
    scores = np.log(np.where(weights > 0, weights, 1))
    return scores - np.diag(scores)


@wrong("8.7", on=lambda: (_masked_softmax_of(3),))
def behind_log1p(weights):
    """log(1 + w), which is finite at 0"""
    return np.log1p(weights)


@wrong("8.7", on=lambda: (_masked_softmax_of(1),))
def behind_squeezed(weights):
    """one token gives a number, not a table"""
    return np.squeeze(np.log(np.where(weights > 0, weights, 1)))


@wrong("8.7", on=lambda: (np.array([[1.0, 0.0], [1e-12, 1 - 1e-12]]),))
def behind_almost_zero(weights):
    """takes weights below 1e-9 for hidden"""
    scores = np.full(weights.shape, -20.0)
    scores[weights > 1e-9] = np.log(weights[weights > 1e-9])
    return scores


@right("8.7")
def behind_with_zeros(weights):
    """0 wherever the mask hides"""
    return np.log(np.where(np.tri(len(weights), dtype=bool), weights, 1.0))


@right("8.7")
def behind_relative_to_itself(weights):
    """each row relative to its diagonal, in lists, with 100 above it"""
    scores = []
    for t, row in enumerate(weights.tolist()):
        own = math.log(row[t])
        scores.append([math.log(row[s]) - own if s <= t else 100.0 for s in range(len(row))])
    return scores


@right("8.7")
def behind_shifted_rows(weights):
    """a number of its own for each row, and numbers far below in the future"""
    T = len(weights)
    lower = np.tril_indices(T)
    scores = np.full((T, T), -50.0)
    scores[lower] = np.log(weights[lower]) + np.arange(T)[lower[0]]
    return scores


@right("8.7")
def behind_the_lowest(weights):
    """nan_to_num makes the lowest float of -∞"""
    with np.errstate(divide="ignore"):
        return np.nan_to_num(np.log(weights))
