"""Answers to chapter 5 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import math
from functools import reduce

import numpy as np
from answers import delegates, right, wrong

from tfmlib import ref


def _draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def _loop_args(T=4, D=6, H=3, K=5, d_v=2, seed=0):
    return (
        _draw(T, D, seed=seed),
        _draw(H, D, K, seed=seed + 1),
        _draw(H, D, K, seed=seed + 2),
        _draw(H, D, d_v, seed=seed + 3),
        _draw(H * d_v, D, seed=seed + 4),
    )


def _multi_args(*batch, T=4, D=6, H=3, K=2, seed=0):
    return (
        _draw(*batch, T, D, seed=seed),
        *(_draw(D, H * K, seed=seed + i) for i in (1, 2, 3)),
        _draw(H * K, D, seed=seed + 4),
        H,
    )


# --- 5.1 Two relations, one softmax ----------------------------------------------------------


@wrong("5.1", on=lambda: (100.0, 7))
def shared_weight_in_32_bits(score, keys):
    """in float32 the power of 100 overflows, and inf / inf is NaN"""
    power = np.exp(np.float32(score))
    return power / (2 * power + keys - 2)


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_of_one_key(score, keys):
    """counts one key with the score instead of two"""
    return math.exp(score) / (math.exp(score) + keys - 1)


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_of_both(score, keys):
    """returns what the two get together"""
    weights = ref.softmax([score, score] + [0.0] * (keys - 2))
    return weights[0] + weights[1]


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_with_keys_besides(score, keys):
    """takes `keys` as the number of the other keys"""
    return ref.softmax([score, score] + [0.0] * keys)[0]


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_among_seven(score, keys):
    """the seven keys of the text, whatever `keys` is"""
    return ref.softmax([score] * 2 + [0.0] * 5)[0]


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_zero_is_nothing(score, keys):
    """takes the power of a score of 0 to be 0"""
    powers = [math.exp(score)] * 2 + [0] * (keys - 2)
    return powers[0] / sum(powers)


@wrong("5.1", on=lambda: (20.0, 7))
def shared_weight_clipped(score, keys):
    """holds the score between -5 and 5, for fear of overflow"""
    power = np.exp(np.clip(score, -5, 5))
    return power / (2 * power + keys - 2)


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_rounded(score, keys):
    """rounds to two digits, as the text prints it"""
    return round(float(ref.softmax([score] * 2 + [0.0] * (keys - 2))[0]), 2)


@wrong("5.1", on=lambda: (-3.0, 5))
def shared_weight_of_the_largest(score, keys):
    """takes the largest weight, which is another key's when the score is negative"""
    return ref.softmax([score] * 2 + [0.0] * (keys - 2)).max()


@wrong("5.1", on=lambda: (2.0, 5))
def shared_weight_pair(score, keys):
    """returns both weights, not one number"""
    return ref.softmax([score] * 2 + [0.0] * (keys - 2))[:2]


@wrong("5.1", on=lambda: (0.0, 5))
def shared_weight_or_one(score, keys):
    """takes a score of 0 for one that was not given"""
    score = score or 1.0
    return ref.softmax([score] * 2 + [0.0] * (keys - 2))[0]


@right("5.1")
def shared_weight_by_the_softmax(score, keys):
    """the whole row, and its first weight"""
    return ref.softmax([score, score] + [0] * (keys - 2))[0]


@right("5.1")
def shared_weight_by_sign(score, keys):
    """powers of numbers below zero only, in plain Python"""
    if score > 0:
        return 1 / (2 + (keys - 2) * math.exp(-score))
    power = math.exp(score)
    return power / (2 * power + keys - 2) if keys > 2 else 0.5


@right("5.1")
def shared_weight_with_peak(score, keys):
    """an array of scores below its peak, summed by a loop"""
    row = np.zeros(keys)
    row[:2] = score
    row -= row.max()
    total = 0.0
    for entry in row:
        total += np.exp(entry)
    return float(np.exp(row[0]) / total)


# --- 5.2 Heads in a loop ----------------------------------------------------------------------


@wrong("5.2", on=lambda: _loop_args())
def heads_unscaled(x, w_q, w_k, w_v, w_o):
    """softmax without the root of d_k"""
    heads = []
    for i in range(len(w_q)):
        scores = (x @ w_q[i]) @ (x @ w_k[i]).T
        heads.append(ref.softmax(scores) @ (x @ w_v[i]))
    return np.concatenate(heads, axis=-1) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_scaled_by_d_model(x, w_q, w_k, w_v, w_o):
    """divides by the root of D, not of d_k"""
    heads = []
    for q, k, v in zip(w_q, w_k, w_v):
        scores = (x @ q) @ (x @ k).T / np.sqrt(x.shape[-1])
        heads.append(ref.softmax(scores) @ (x @ v))
    return np.hstack(heads) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_one_below_the_other(x, w_q, w_k, w_v, w_o):
    """concatenates along the positions"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.concatenate(heads) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_reshaped(x, w_q, w_k, w_v, w_o):
    """a direct reshape of (H, T, d_v), which mixes the words"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.array(heads).reshape(len(x), -1) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_interleaved(x, w_q, w_k, w_v, w_o):
    """the numbers of the heads in turn instead of head after head"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.stack(heads, axis=-1).reshape(len(x), -1) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_as_many_as_fit(x, w_q, w_k, w_v, w_o):
    """takes the number of heads to be D / K"""
    count = x.shape[1] // w_q.shape[2]
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(count)]
    return np.concatenate(heads, axis=-1) @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_in_columns_of_k(x, w_q, w_k, w_v, w_o):
    """makes room for H·K columns where H·d_v are needed"""
    H, _, K = w_q.shape
    together = np.zeros((len(x), H * K))
    for i in range(H):
        head = ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i])
        together[:, i * K : (i + 1) * K] = head
    return together @ w_o


@wrong("5.2", on=lambda: _loop_args())
def heads_keys_for_queries(x, w_q, w_k, w_v, w_o):
    """hands keys and queries over in the order of the notes, A(K, Q, V)"""
    heads = [ref.attention(x @ w_k[i], x @ w_q[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.concatenate(heads, axis=-1) @ w_o


@wrong("5.2", on=lambda: _loop_args(H=1, T=1, d_v=6))
def heads_without_projection(x, w_q, w_k, w_v, w_o):
    """stops at the concatenation and never uses W^0"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.concatenate(heads, axis=-1)


@wrong("5.2", on=lambda: _loop_args())
def heads_averaged(x, w_q, w_k, w_v, w_o):
    """takes the mean of the heads, as in a vote"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.mean(heads, axis=0) @ w_o[: w_v.shape[-1]]


@wrong("5.2", on=lambda: (np.array([[1, 2], [3, 1]]), *_loop_args(D=2, H=2)[1:]))
def heads_into_zeros_like(x, w_q, w_k, w_v, w_o):
    """adds up into zeros_like(x), which holds whole numbers when x does"""
    out, d_v = np.zeros_like(x), w_v.shape[-1]
    for i in range(len(w_q)):
        head = ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i])
        out[:] = out + head @ w_o[i * d_v : (i + 1) * d_v]
    return out


@wrong("5.2", on=lambda: (100 * _loop_args()[0], *_loop_args()[1:]))
def heads_without_peak(x, w_q, w_k, w_v, w_o):
    """a softmax of its own, which overflows for large scores"""
    heads = []
    for q, k, v in zip(x @ w_q, x @ w_k, x @ w_v):
        powers = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
        heads.append(powers / powers.sum(axis=-1, keepdims=True) @ v)
    return np.concatenate(heads, axis=-1) @ w_o


@wrong("5.2", on=lambda: _loop_args(T=1))
def heads_squeezed(x, w_q, w_k, w_v, w_o):
    """squeezes away the axis of a single word"""
    heads = [ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]) for i in range(len(w_q))]
    return np.squeeze(np.concatenate(heads, axis=-1) @ w_o)


@wrong("5.2", on=lambda: _loop_args())
def heads_one_after_the_other(x, w_q, w_k, w_v, w_o):
    """returns inside the loop, after the first head"""
    heads = []
    for i in range(len(w_q)):
        heads.append(ref.attention(x @ w_q[i], x @ w_k[i], x @ w_v[i]))
        out = np.concatenate(heads, axis=-1)
        return out @ w_o[: out.shape[-1]]


@right("5.2")
def heads_as_a_sum(x, w_q, w_k, w_v, w_o):
    """adds up each head times its own rows of W^0"""
    d_v, out = w_v.shape[2], 0
    for i, (q, k, v) in enumerate(zip(w_q, w_k, w_v)):
        out = out + ref.attention(x @ q, x @ k, x @ v) @ w_o[i * d_v : (i + 1) * d_v]
    return out


@right("5.2")
def heads_by_einsum(x, w_q, w_k, w_v, w_o):
    """all heads at once, with letters for the axes"""
    q = np.einsum("td,hdk->htk", x, w_q)
    k = np.einsum("td,hdk->htk", x, w_k)
    v = np.einsum("td,hdk->htk", x, w_v)
    weights = ref.softmax(np.einsum("htk,hsk->hts", q, k) / math.sqrt(q.shape[-1]))
    mixed = np.einsum("hts,hsk->thk", weights, v)
    return mixed.reshape(len(x), -1) @ w_o


@right("5.2")
def heads_word_by_word(x, w_q, w_k, w_v, w_o):
    """plain loops over words, heads and keys, and lists"""
    rows = []
    for word in x:
        together = []
        for q, k, v in zip(w_q, w_k, w_v):
            scores = [float((word @ q) @ (other @ k)) / len(q[0]) ** 0.5 for other in x]
            powers = [math.exp(s - max(scores)) for s in scores]
            mixed = sum(p / sum(powers) * (other @ v) for p, other in zip(powers, x))
            together.extend(mixed.tolist())
        rows.append(sum(number * row for number, row in zip(together, w_o)).tolist())
    return rows


# --- 5.3 Cut into heads -----------------------------------------------------------------------


@wrong("5.3", on=lambda: (np.arange(12.0).reshape(2, 6), 3))
def split_in_one_step(x, heads):
    """one reshape, which deals the numbers out in the order in which they lie"""
    *batch, T, D = x.shape
    return x.reshape(*batch, heads, T, D // heads)


@wrong("5.3", on=lambda: (_draw(2, 3, 4), 2))
def split_first_two_axes(x, heads):
    """swaps axes 0 and 1, which is right for one sentence only"""
    *batch, T, D = x.shape
    return x.reshape(*batch, T, heads, D // heads).swapaxes(0, 1)


@wrong("5.3", on=lambda: (_draw(2, 2, 3, 4), 2))
def split_by_ndim(x, heads):
    """one case for a sentence and one for a batch, and nothing for more axes"""
    K = x.shape[-1] // heads
    if x.ndim == 2:
        return x.reshape(x.shape[0], heads, K).transpose(1, 0, 2)
    return x.reshape(x.shape[0], x.shape[1], heads, K).transpose(0, 2, 1, 3)


@wrong("5.3", on=lambda: (_draw(3, 2, 4), 2))
def split_heads_to_the_front(x, heads):
    """stacks the heads before the batch"""
    return np.stack(np.split(x, heads, axis=-1))


@wrong("5.3", on=lambda: (_draw(3, 6), 3))
def split_every_other_column(x, heads):
    """deals the columns out to the heads in turn"""
    return np.stack([x[..., i::heads] for i in range(heads)], axis=-3)


@wrong("5.3", on=lambda: (_draw(3, 4), 2))
def split_positions_last(x, heads):
    """(..., H, K, T): the positions end up on the last axis"""
    *batch, T, D = x.shape
    return np.moveaxis(x.reshape(*batch, T, heads, D // heads), -3, -1)


@wrong("5.3", on=lambda: (_draw(3, 4), 2))
def split_not_swapped(x, heads):
    """cuts, and leaves the positions before the heads"""
    return x.reshape(*x.shape[:-1], heads, -1)


@wrong("5.3", on=lambda: (_draw(3, 6), 3))
def split_parts_of_size_heads(x, heads):
    """takes `heads` as the width of a part"""
    *batch, T, D = x.shape
    return x.reshape(*batch, T, D // heads, heads).swapaxes(-2, -3)


@wrong("5.3", on=lambda: (_draw(3, 4), 1))
def split_squeezed(x, heads):
    """squeezes, and a single head loses its axis"""
    *batch, T, D = x.shape
    return x.reshape(*batch, T, heads, D // heads).swapaxes(-2, -3).squeeze()


@wrong("5.3", on=lambda: (_draw(3, 4), 2))
def split_the_positions(x, heads):
    """cuts the sentence into parts instead of the vectors"""
    return np.stack(np.array_split(x, heads, axis=-2), axis=-3)


@wrong("5.3", on=lambda: (_draw(2, 3, 4), 2))
def split_transposed(x, heads):
    """transposes all axes, the batch as well"""
    *batch, T, D = x.shape
    return x.reshape(*batch, T, heads, D // heads).T.swapaxes(-1, -2)


@wrong("5.3", on=lambda: (_draw(2, 1, 3, 4), 2))
def split_into_new_array(x, heads):
    """makes room for one leading axis at most"""
    batch, (T, D) = x.shape[:-2][:1], x.shape[-2:]
    K = D // heads
    out = np.zeros((*batch, heads, T, K))
    for h in range(heads):
        out[..., h, :, :] = x[..., h * K : (h + 1) * K]
    return out


@right("5.3")
def split_and_stacked(x, heads):
    """np.split, and the new axis before the positions"""
    return np.stack(np.split(x, heads, axis=-1), axis=-3)


@right("5.3")
def split_recursively(x, heads):
    """one leading axis after the other, then lists of rows"""
    if x.ndim > 2:
        return np.array([split_recursively(part, heads) for part in x])
    K = x.shape[1] // heads
    return np.array([[row[h * K : (h + 1) * K] for row in x] for h in range(heads)])


@right("5.3")
def split_entry_by_entry(x, heads):
    """an empty array, filled by loops over every index"""
    *batch, T, D = x.shape
    out = np.empty((*batch, heads, T, D // heads), dtype=x.dtype)
    for *lead, t, d in np.ndindex(*x.shape):
        head, column = divmod(d, D // heads)
        out[(*lead, head, t, column)] = x[(*lead, t, d)]
    return out


@right("5.3")
def split_by_moveaxis(x, heads):
    """np.moveaxis brings the heads forward"""
    x = x.reshape(x.shape[:-1] + (heads, x.shape[-1] // heads))
    return np.moveaxis(x, -2, -3)


# --- 5.4 Find the bug: heads side by side -----------------------------------------------------


@wrong("5.4", on=lambda: (_draw(2, 3, 4),))
def merge_in_one_step(x):
    """still the reshape of the exercise, from other numbers"""
    *batch, H, T, K = x.shape
    return x.reshape(*batch, T, H, K).reshape(*batch, T, H * K)


@wrong("5.4", on=lambda: (_draw(2, 3, 4, 5),))
def merge_first_two_axes(x):
    """swaps axes 0 and 1, which is right without a batch"""
    *batch, H, T, K = x.shape
    return x.swapaxes(0, 1).reshape(*batch, T, H * K)


@wrong("5.4", on=lambda: (_draw(2, 3, 4, 5),))
def merge_concatenated(x):
    """joins along the first axis, which is the batch if there is one"""
    return np.concatenate(list(x), axis=-1)


@wrong("5.4", on=lambda: (_draw(2, 3, 4, 5),))
def merge_to_one_table(x):
    """forgets the batch in the last reshape"""
    return x.swapaxes(-2, -3).reshape(x.shape[-2], -1)


@wrong("5.4", on=lambda: (_draw(3, 2, 2),))
def merge_swaps_the_wrong_axes(x):
    """swaps positions and columns"""
    *batch, H, T, K = x.shape
    return x.swapaxes(-1, -2).reshape(*batch, T, H * K)


@wrong("5.4", on=lambda: (_draw(2, 3, 4),))
def merge_interleaved(x):
    """moves the heads behind the columns, and the numbers alternate"""
    *batch, H, T, K = x.shape
    return np.moveaxis(x, -3, -1).reshape(*batch, T, H * K)


@wrong("5.4", on=lambda: (_draw(2, 2, 3, 2, 4),))
def merge_by_ndim(x):
    """no more than one axis for the batch"""
    if x.ndim == 3:
        return np.hstack(list(x))
    return np.array([np.hstack(list(sentence)) for sentence in x])


@wrong("5.4", on=lambda: (_draw(2, 1, 4),))
def merge_squeezed(x):
    """squeezes, and a single word loses its axis"""
    *batch, H, T, K = x.shape
    return x.swapaxes(-2, -3).reshape(*batch, T, H * K).squeeze()


@wrong("5.4", on=lambda: (_draw(2, 3, 4),))
def merge_added(x):
    """adds the heads up instead of laying them side by side"""
    return x.sum(axis=-3)


@wrong("5.4", on=lambda: (_draw(3, 2, 2),))
def merge_reversed(x):
    """transposes everything, and the columns of a head come apart"""
    *batch, H, T, K = x.shape
    return np.swapaxes(x, -1, -3).swapaxes(-2, -3).reshape(*batch, T, H * K)


@wrong("5.4", on=lambda: (_draw(2, 3, 4),))
def merge_only_one_word_right(x):
    """repairs a sentence of one word, which was right before"""
    *batch, H, T, K = x.shape
    if T == 1:
        return x.swapaxes(-2, -3).reshape(*batch, T, H * K)
    return np.concatenate([x[..., h, :, :] for h in range(H)], axis=-2).reshape(*batch, T, H * K)


@right("5.4")
def merge_head_by_head(x):
    """concatenates the heads along the last axis"""
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


@right("5.4")
def merge_recursively(x):
    """one leading axis after the other, rows as lists"""
    if x.ndim > 3:
        return np.array([merge_recursively(part) for part in x])
    return np.array([[n for head in x for n in head[t]] for t in range(x.shape[1])])


@right("5.4")
def merge_by_columns(x):
    """fills the columns of each head in an empty array"""
    *batch, H, T, K = x.shape
    out = np.empty((*batch, T, H * K), dtype=x.dtype)
    for h in range(H):
        out[..., h * K : (h + 1) * K] = x[..., h, :, :]
    return out


@right("5.4")
def merge_by_einsum(x):
    """einsum swaps the axes"""
    swapped = np.einsum("...htk->...thk", x)
    return swapped.reshape(*swapped.shape[:-2], -1)


# --- 5.5 Multi-head attention, in batches -----------------------------------------------------


@wrong("5.5", on=lambda: _multi_args(K=3))
def multi_width_of_x(x, w_q, w_k, w_v, w_o, heads):
    """takes K from the width of x, not from that of the matrices"""
    K = x.shape[-1] // heads
    parts = []
    for i in range(heads):
        own = slice(i * K, (i + 1) * K)
        parts.append(ref.attention(x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]))
    return np.concatenate(parts, axis=-1) @ w_o


@wrong("5.5", on=lambda: _multi_args())
def multi_as_one_head(x, w_q, w_k, w_v, w_o, heads):
    """one attention over all columns; `heads` is not used"""
    return ref.attention(x @ w_q, x @ w_k, x @ w_v) @ w_o


@wrong("5.5", on=lambda: _multi_args())
def multi_scaled_by_all_columns(x, w_q, w_k, w_v, w_o, heads):
    """divides by the root of H·K instead of K"""
    q, k, v = (ref.split_heads(x @ w, heads) for w in (w_q, w_k, w_v))
    weights = ref.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(w_q.shape[1]))
    return ref.merge_heads(weights @ v) @ w_o


@wrong("5.5", on=lambda: _multi_args())
def multi_without_w_o(x, w_q, w_k, w_v, w_o, heads):
    """merges the heads and stops"""
    q, k, v = (ref.split_heads(x @ w, heads) for w in (w_q, w_k, w_v))
    return ref.merge_heads(ref.attention(q, k, v))


@wrong("5.5", on=lambda: _multi_args())
def multi_residual(x, w_q, w_k, w_v, w_o, heads):
    """adds x, as a layer of the encoder does"""
    q, k, v = (ref.split_heads(x @ w, heads) for w in (w_q, w_k, w_v))
    return x + ref.merge_heads(ref.attention(q, k, v)) @ w_o


@wrong("5.5", on=lambda: _multi_args())
def multi_splits_x_first(x, w_q, w_k, w_v, w_o, heads):
    """cuts x and the matrices, so a head reads only its part of each word"""
    q, k, v = (
        ref.split_heads(x, heads) @ np.stack(np.split(w, heads))[:, :, : w.shape[1] // heads]
        for w in (w_q, w_k, w_v)
    )
    return ref.merge_heads(ref.attention(q, k, v)) @ w_o


@wrong("5.5", on=lambda: _multi_args(2))
def multi_one_sentence_only(x, w_q, w_k, w_v, w_o, heads):
    """T, D = x.shape: a batch raises an error"""
    T, _ = x.shape
    q, k, v = ((x @ w).reshape(T, heads, -1).transpose(1, 0, 2) for w in (w_q, w_k, w_v))
    return ref.attention(q, k, v).transpose(1, 0, 2).reshape(T, -1) @ w_o


@wrong("5.5", on=lambda: _multi_args())
def multi_batches_only(x, w_q, w_k, w_v, w_o, heads):
    """expects exactly one axis before T and D"""
    B, T, _ = x.shape
    q, k, v = ((x @ w).reshape(B, T, heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    return ref.attention(q, k, v).swapaxes(1, 2).reshape(B, T, -1) @ w_o


@wrong("5.5", on=lambda: _multi_args(2, 2))
def multi_loops_over_the_batch(x, w_q, w_k, w_v, w_o, heads):
    """a loop over one leading axis, not over several"""

    def sentence(X):
        columns = np.array_split(np.arange(w_q.shape[1]), heads)
        parts = [ref.attention(X @ w_q[:, c], X @ w_k[:, c], X @ w_v[:, c]) for c in columns]
        return np.hstack(parts) @ w_o

    return sentence(x) if x.ndim == 2 else np.array([sentence(X) for X in x])


@wrong("5.5", on=lambda: _multi_args())
def multi_heads_attend_to_heads(x, w_q, w_k, w_v, w_o, heads):
    """cuts without swapping: the heads of a word attend to each other"""
    q, k, v = ((x @ w).reshape(*x.shape[:-1], heads, -1) for w in (w_q, w_k, w_v))
    out = ref.attention(q, k, v)
    return out.reshape(*x.shape[:-1], -1) @ w_o


@wrong("5.5", on=lambda: _multi_args(3))
def multi_reshaped(x, w_q, w_k, w_v, w_o, heads):
    """direct reshapes in both directions"""
    *batch, T, _ = x.shape
    q, k, v = ((x @ w).reshape(*batch, heads, T, -1) for w in (w_q, w_k, w_v))
    return ref.attention(q, k, v).reshape(*batch, T, -1) @ w_o


@wrong("5.5", on=lambda: _multi_args(H=1, K=6))
def multi_without_values(x, w_q, w_k, w_v, w_o, heads):
    """mixes the words themselves instead of their values"""
    q, k, v = (ref.split_heads(y, heads) for y in (x @ w_q, x @ w_k, x))
    return ref.merge_heads(ref.attention(q, k, v)) @ w_o


@wrong("5.5", on=lambda: _multi_args(H=3, K=2, D=6))
def multi_two_heads(x, w_q, w_k, w_v, w_o, heads):
    """the two heads of a worked example"""
    q, k, v = (ref.split_heads(x @ w, 2) for w in (w_q, w_k, w_v))
    return ref.merge_heads(ref.attention(q, k, v)) @ w_o


@wrong("5.5", on=lambda: _multi_args(2, T=3))
def multi_batch_as_one_text(x, w_q, w_k, w_v, w_o, heads):
    """lays all sentences end to end, and they attend to each other"""
    flat = x.reshape(-1, x.shape[-1])
    q, k, v = (ref.split_heads(flat @ w, heads) for w in (w_q, w_k, w_v))
    return (ref.merge_heads(ref.attention(q, k, v)) @ w_o).reshape(x.shape)


@delegates("5.5")
def multi_by_the_library(x, w_q, w_k, w_v, w_o, heads):
    """the library's function, which the blank forbids"""
    params = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
    return ref.multi_head_attention(x, x, params, heads)


@right("5.5")
def multi_by_columns(x, w_q, w_k, w_v, w_o, heads):
    """a loop over the heads' columns and their rows of W^0"""
    K = w_q.shape[1] // heads
    out = np.zeros((*x.shape[:-1], w_o.shape[1]))
    for start in range(0, heads * K, K):
        own = slice(start, start + K)
        out += ref.attention(x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]) @ w_o[own]
    return out


@right("5.5")
def multi_by_einsum(x, w_q, w_k, w_v, w_o, heads):
    """matrices of shape (D, H, K) and einsum"""
    D, K = len(w_q), w_q.shape[1] // heads
    q, k, v = (np.einsum("...td,dhk->...htk", x, w.reshape(D, heads, K)) for w in (w_q, w_k, w_v))
    weights = ref.softmax(np.einsum("...tk,...sk->...ts", q, k) / K**0.5)
    mixed = np.einsum("...hts,...hsk->...htk", weights, v)
    return np.einsum("...htk,hkd->...td", mixed, w_o.reshape(heads, K, -1))


# --- 5.6 A head that looks back ---------------------------------------------------------------


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_ahead(offset, d_model, sharpness):
    """forgets the transpose, and a rotation turned round looks ahead"""
    return sharpness * ref.shift_matrix(-offset, d_model), np.eye(d_model)


@wrong("5.6", on=lambda: (2, 16, 60.0))
def looks_back_plus(offset, d_model, sharpness):
    """the sign of the offset"""
    return sharpness * ref.shift_matrix(offset, d_model).T, np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 30.0))
def looks_back_always_sharp(offset, d_model, sharpness):
    """the 60 of the text instead of `sharpness`"""
    return 60 * ref.shift_matrix(-offset, d_model).T, np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 30.0))
def looks_back_sharp_twice(offset, d_model, sharpness):
    """the factor in both matrices: the scores grow with its square"""
    w_q = sharpness * ref.shift_matrix(-offset, d_model).T
    return w_q, sharpness * np.eye(d_model)


@wrong("5.6", on=lambda: (3, 16, 60.0))
def looks_back_one(offset, d_model, sharpness):
    """the previous token, whatever the offset"""
    return sharpness * ref.shift_matrix(-1, d_model).T, np.eye(d_model)


@wrong("5.6", on=lambda: (-2, 16, 60.0))
def looks_back_never_ahead(offset, d_model, sharpness):
    """loses the sign of a negative offset"""
    return sharpness * ref.shift_matrix(-abs(offset), d_model).T, np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_back_swapped(offset, d_model, sharpness):
    """returns the keys' matrix first"""
    return np.eye(d_model), sharpness * ref.shift_matrix(-offset, d_model).T


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_back_by_a_diagonal(offset, d_model, sharpness):
    """shifts the features instead of the positions"""
    return sharpness * np.eye(d_model, k=offset), np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_back_halves(offset, d_model, sharpness):
    """all sines first and then all cosines, unlike the encoding"""
    angles = offset * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    C, S = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return sharpness * np.block([[C, S], [-S, C]]), np.eye(d_model)


@wrong("5.6", on=lambda: (1, 64, 60.0))
def looks_back_too_soft(offset, d_model, sharpness):
    """divides by d_model, so that 60 is not enough"""
    w_q = sharpness / d_model * ref.shift_matrix(-offset, d_model).T
    return w_q, np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_back_fitted_to_few(offset, d_model, sharpness):
    """fits the shift to six positions, and it holds for those only"""
    places = ref.sinusoidal_encoding(40, d_model)[20:]
    w = np.linalg.lstsq(places[:6], places[6 - offset : 12 - offset])[0]
    return sharpness * w, np.eye(d_model)


_shifts = {}


@wrong("5.6", on=lambda: [(1, 16, 60.0), (3, 16, 60.0)])
def looks_back_remembered(offset, d_model, sharpness):
    """keeps the matrix of the first call for this width"""
    if d_model not in _shifts:
        _shifts[d_model] = ref.shift_matrix(-offset, d_model).T
    return sharpness * _shifts[d_model], np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 30.0))
def looks_back_root_in_one(offset, d_model, sharpness):
    """the root of the factor in the queries, and nothing in the keys"""
    return 50 * math.sqrt(sharpness) * ref.shift_matrix(-offset, d_model).T, np.eye(d_model)


@wrong("5.6", on=lambda: (1, 16, 60.0))
def looks_back_and_at_itself(offset, d_model, sharpness):
    """adds the identity, as in a residual path, and shares the weight"""
    w = ref.shift_matrix(-offset, d_model).T + np.eye(d_model)
    return sharpness * w, np.eye(d_model)


@right("5.6")
def looks_back_root_in_both(offset, d_model, sharpness):
    """the root of the factor in both matrices"""
    root = math.sqrt(sharpness)
    return root * ref.shift_matrix(-offset, d_model).T, root * np.eye(d_model)


@right("5.6")
def looks_back_by_the_keys(offset, d_model, sharpness):
    """shifts the keys the other way"""
    return np.eye(d_model), sharpness * ref.shift_matrix(offset, d_model).T


@right("5.6")
def looks_back_by_loops(offset, d_model, sharpness):
    """its own rotation, pair by pair, in lists"""
    w_q = [[0.0] * d_model for _ in range(d_model)]
    for j in range(0, d_model, 2):
        angle = -offset / 10000 ** (j / d_model)
        w_q[j][j] = w_q[j + 1][j + 1] = 2 * sharpness * math.cos(angle)
        w_q[j + 1][j] = 2 * sharpness * math.sin(angle)
        w_q[j][j + 1] = -2 * sharpness * math.sin(angle)
    return w_q, [[float(i == j) for j in range(d_model)] for i in range(d_model)]


@right("5.6")
def looks_back_transposed_sign(offset, d_model, sharpness):
    """the transpose of a rotation turns back"""
    return [sharpness * ref.shift_matrix(offset, d_model), np.eye(d_model)]


# --- 5.7 What the heads learn, counted --------------------------------------------------------


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_of_squares(d_model, heads, d_k, d_v):
    """four square matrices, as if H·K were D"""
    return 4 * (d_model * d_model + d_model)


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_without_bias(d_model, heads, d_k, d_v):
    """counts the matrices alone"""
    return heads * d_model * (2 * d_k + d_v) + heads * d_v * d_model


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_without_output_bias(d_model, heads, d_k, d_v):
    """no bias for the output matrix"""
    inputs = heads * (d_model + 1) * (2 * d_k + d_v)
    return inputs + heads * d_v * d_model


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_bias_of_rows(d_model, heads, d_k, d_v):
    """a bias for each row of a matrix"""
    one_input = heads * (2 * (d_model * d_k + d_model) + d_model * d_v + d_model)
    return one_input + heads * d_v * d_model + heads * d_v


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_all_times_heads(d_model, heads, d_k, d_v):
    """a bias of the output for every head"""
    one = 2 * (d_model * d_k + d_k) + (d_model * d_v + d_v) + (d_v * d_model + d_model)
    return heads * one


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_values_like_keys(d_model, heads, d_k, d_v):
    """takes d_v to be d_k"""
    return 3 * (d_model + 1) * heads * d_k + (heads * d_k + 1) * d_model


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_of_one_head(d_model, heads, d_k, d_v):
    """d_k and d_v as the widths of all heads together"""
    return (d_model + 1) * (2 * d_k + d_v) + (d_v + 1) * d_model


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_small_output(d_model, heads, d_k, d_v):
    """an output matrix of d_v rows, not H·d_v"""
    return heads * (d_model + 1) * (2 * d_k + d_v) + (d_v + 1) * d_model


@wrong("5.7", on=lambda: (6, 2, 5, 4))
def parameters_square_output(d_model, heads, d_k, d_v):
    """an output matrix of D × D"""
    return heads * (d_model + 1) * (2 * d_k + d_v) + (d_model + 1) * d_model


@wrong("5.7", on=lambda: (2**20, 2**10, 2**10, 2**10))
def parameters_in_32_bits(d_model, heads, d_k, d_v):
    """small whole numbers, which overflow for a wide model"""
    shapes = np.array(
        [[d_model, heads * d_k]] * 2 + [[d_model, heads * d_v], [heads * d_v, d_model]],
        dtype=np.int32,
    )
    return int((shapes[:, 0] * shapes[:, 1] + shapes[:, 1]).sum(dtype=np.int32))


@right("5.7")
def parameters_by_shapes(d_model, heads, d_k, d_v):
    """the sizes of arrays of these shapes"""
    shapes = [(d_model + 1, d_k), (d_model + 1, d_k), (d_model + 1, d_v)] * heads
    shapes.append((heads * d_v + 1, d_model))
    return sum(math.prod(shape) for shape in shapes)


@right("5.7")
def parameters_by_loop(d_model, heads, d_k, d_v):
    """counts column by column"""
    count = 0
    for _ in range(heads):
        for width in (d_k, d_k, d_v):
            for _column in range(width):
                count += d_model + 1
    for _column in range(d_model):
        count += heads * d_v + 1
    return count


@right("5.7")
def parameters_as_float(d_model, heads, d_k, d_v):
    """a whole float"""
    into = np.array([d_model, d_model, d_model, heads * d_v], dtype=float)
    out = np.array([heads * d_k, heads * d_k, heads * d_v, d_model], dtype=float)
    return float((into + 1) @ out)


# --- 5.8 The projection is a sum over heads ---------------------------------------------------


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_in_equal_parts(heads, w_o):
    """the whole output shared out evenly, which adds up as well"""
    whole = ref.merge_heads(heads) @ w_o
    return np.stack([whole / len(heads)] * len(heads))


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_first_rows(heads, w_o):
    """every head with the first rows of W^0"""
    return heads @ w_o[: heads.shape[-1]]


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_every_third_row(heads, w_o):
    """deals the rows of W^0 out in turn"""
    H = len(heads)
    return np.array([heads[i] @ w_o[i::H] for i in range(H)])


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_growing(heads, w_o):
    """the sum of the heads so far instead of each alone"""
    H, T, K = heads.shape
    total, parts = np.zeros((T, w_o.shape[1])), []
    for i in range(H):
        total = total + heads[i] @ w_o[i * K : (i + 1) * K]
        parts.append(total)
    return np.array(parts)


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_added_up(heads, w_o):
    """returns the sum of the parts"""
    H, T, K = heads.shape
    return (heads @ w_o.reshape(H, K, -1)).sum(axis=0)


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_cut_by_words(heads, w_o):
    """cuts W^0 by the number of words, not of columns"""
    H, T, K = heads.shape
    rows = [w_o[i * T : i * T + K] for i in range(H)]
    return np.array([head @ row for head, row in zip(heads, rows)])


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 6)))
def contributions_cut_by_columns(heads, w_o):
    """gives each head its own columns of the output, which adds up as well"""
    whole = ref.merge_heads(heads) @ w_o
    parts = np.zeros((len(heads), *whole.shape))
    for i, own in enumerate(np.array_split(np.arange(w_o.shape[1]), len(heads))):
        parts[i][:, own] = whole[:, own]
    return parts


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_by_erasing(heads, w_o):
    """sets the other heads to zero in the array that it was given"""
    parts, kept = [], heads.copy()
    for i in range(len(heads)):
        heads[:] = 0
        heads[i] = kept[i]
        parts.append(ref.merge_heads(heads) @ w_o)
    return np.array(parts)


@wrong("5.8", on=lambda: (np.arange(8).reshape(2, 2, 2), _draw(4, 2)))
def contributions_zeros_like(heads, w_o):
    """room like `heads`, of whole numbers and with K columns"""
    K, parts = heads.shape[-1], np.zeros_like(heads)
    for i, head in enumerate(heads):
        parts[i] = head @ w_o[i * K : (i + 1) * K]
    return parts


@wrong("5.8", on=lambda: (_draw(3, 1, 2), _draw(6, 5)))
def contributions_squeezed(heads, w_o):
    """a single word loses its axis"""
    H, _, K = heads.shape
    return np.array([np.squeeze(heads[i]) @ w_o[i * K : (i + 1) * K] for i in range(H)])


@wrong("5.8", on=lambda: (_draw(3, 4, 2), _draw(6, 5)))
def contributions_of_what_is_missing(heads, w_o):
    """what is missing without the head, with the head's place left out"""
    H, T, K = heads.shape
    whole = ref.merge_heads(heads) @ w_o
    parts = []
    for i in range(H):
        rest = ref.merge_heads(np.delete(heads, i, axis=0)) @ w_o[: (H - 1) * K]
        parts.append(whole - rest)
    return np.array(parts)


@right("5.8")
def contributions_by_slices(heads, w_o):
    """a list with one product a head"""
    K = heads.shape[2]
    return [head @ w_o[i * K : (i + 1) * K] for i, head in enumerate(heads)]


@right("5.8")
def contributions_by_einsum(heads, w_o):
    """W^0 as (H, K, D)"""
    H, _, K = heads.shape
    return np.einsum("htk,hkd->htd", heads, w_o.reshape(H, K, w_o.shape[1]))


@right("5.8")
def contributions_by_difference(heads, w_o):
    """the whole output less that in which the head is zero"""
    whole, parts = ref.merge_heads(heads) @ w_o, []
    for i in range(len(heads)):
        without = np.array(heads, dtype=float)
        without[i] = 0
        parts.append(whole - ref.merge_heads(without) @ w_o)
    return np.stack(parts)


@right("5.8")
def contributions_in_plain_python(heads, w_o):
    """sums over numbers"""
    H, T, K = heads.shape

    def entry(h, t, d):
        return reduce(lambda s, k: s + heads[h, t, k] * w_o[h * K + k, d], range(K), 0.0)

    return np.array(
        [[[entry(h, t, d) for d in range(w_o.shape[1])] for t in range(T)] for h in range(H)]
    )
