"""Answers to chapter 9 as learners write them.

Wrong ones come with an input that shows it, right ones in other forms.
"""

import heapq
import math

import numpy as np
from answers import right, wrong

from tfmlib import ref


def _numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def _cross(T, S, D, K, d_v, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    shapes = ((T, D), (S, D), (D, K), (D, K), (D, d_v))
    return tuple(scale * rng.normal(size=shape) for shape in shapes)


# --- 9.1 ------------------------------------------------------------------------------------


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 2))
def cross_from_the_target_alone(x, memory, w_q, w_k, w_v):
    """keys and values come from x: that is self-attention"""
    return ref.attention(x @ w_q, x @ w_k, x @ w_v)


@wrong("9.1", on=lambda: _cross(3, 3, 4, 2, 2))
def cross_source_asks(x, memory, w_q, w_k, w_v):
    """the source asks and the target answers"""
    return ref.attention(memory @ w_q, x @ w_k, x @ w_v)


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 3))
def cross_values_of_the_target(x, memory, w_q, w_k, w_v):
    """keys from the memory, values from x, cut or repeated to fit"""
    weights = ref.attention_weights(x @ w_q, memory @ w_k)
    values = np.resize(x, memory.shape) @ w_v
    return weights @ values


@wrong("9.1", on=lambda: _cross(2, 3, 8, 2, 3))
def cross_scaled_by_the_width(x, memory, w_q, w_k, w_v):
    """divides by the root of D, not of K"""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    return ref.softmax(q @ k.T / np.sqrt(x.shape[-1])) @ v


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 7))
def cross_scaled_by_the_values(x, memory, w_q, w_k, w_v):
    """divides by the root of the width of the values"""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    return ref.softmax(q @ k.T / np.sqrt(v.shape[-1])) @ v


@wrong("9.1", on=lambda: _cross(2, 3, 4, 3, 2))
def cross_without_scaling(x, memory, w_q, w_k, w_v):
    """forgets the scaling"""
    return ref.softmax((x @ w_q) @ (memory @ w_k).T) @ (memory @ w_v)


@wrong("9.1", on=lambda: _cross(3, 3, 4, 2, 2))
def cross_with_look_ahead_mask(x, memory, w_q, w_k, w_v):
    """hides the later words of the source, too"""
    mask = np.tri(len(x), len(memory), dtype=bool)
    return ref.attention(x @ w_q, memory @ w_k, memory @ w_v, mask)


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 2, scale=10.0))
def cross_with_naive_softmax(x, memory, w_q, w_k, w_v):
    """the exponentials overflow"""
    scores = (x @ w_q) @ (memory @ w_k).T / np.sqrt(w_q.shape[1])
    with np.errstate(all="ignore"):
        powers = np.exp(scores)
        return powers / powers.sum(axis=-1, keepdims=True) @ (memory @ w_v)


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 2))
def cross_softmax_over_queries(x, memory, w_q, w_k, w_v):
    """the weights of each key sum to one, not those of each query"""
    scores = (x @ w_q) @ (memory @ w_k).T / np.sqrt(w_q.shape[1])
    return ref.softmax(scores, axis=0) @ (memory @ w_v)


@wrong("9.1", on=lambda: _cross(2, 3, 4, 2, 4))
def cross_with_residual(x, memory, w_q, w_k, w_v):
    """adds x where it fits"""
    out = ref.attention(x @ w_q, memory @ w_k, memory @ w_v)
    return x + out if out.shape == x.shape else out


@wrong("9.1", on=lambda: _cross(1, 3, 4, 2, 2))
def cross_squeezed(x, memory, w_q, w_k, w_v):
    """a target of one token loses its axis"""
    return ref.attention(x @ w_q, memory @ w_k, memory @ w_v).squeeze()


@wrong(
    "9.1",
    on=lambda: (
        np.array([[1, 0], [0, 2]]),
        np.array([[1, 1], [0, 1], [2, 0]]),
        np.array([[1, 0], [0, 1]]),
        np.array([[0, 1], [1, 0]]),
        np.array([[1, 2], [3, 5]]),
    ),
)
def cross_into_whole_numbers(x, memory, w_q, w_k, w_v):
    """whole numbers in, whole numbers out"""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    out = np.zeros((len(q), v.shape[1]), dtype=v.dtype)
    for t in range(len(q)):
        out[t] = ref.softmax(k @ q[t] / np.sqrt(len(q[t]))) @ v
    return out


@right("9.1")
def cross_einsum(x, memory, w_q, w_k, w_v):
    """einsum and a softmax of its own"""
    scores = np.einsum("td,dk,se,ek->ts", x, w_q, memory, w_k) / math.sqrt(w_q.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.einsum("ts,sd,de->te", powers, memory, w_v) / powers.sum(axis=1)[:, None]


@right("9.1")
def cross_loops(x, memory, w_q, w_k, w_v):
    """a loop over the target, a list of rows"""
    rows = []
    for token in x:
        q = token @ w_q
        scores = [q @ (m @ w_k) / len(q) ** 0.5 for m in memory]
        peak = max(scores)
        powers = [math.exp(s - peak) for s in scores]
        mixed = sum(p * (m @ w_v) for p, m in zip(powers, memory, strict=True))
        rows.append(mixed / sum(powers))
    return rows


@right("9.1")
def cross_joined_projection(x, memory, w_q, w_k, w_v):
    """projects keys and values in one product"""
    both = memory @ np.concatenate([w_k, w_v], axis=1)
    k, v = np.split(both, [w_k.shape[1]], axis=1)
    return ref.attention((x @ w_q)[None], k[None], v[None])[0]


# --- 9.2 ------------------------------------------------------------------------------------


@wrong("9.2", on=lambda: (np.array([[0.0, -1000.0]]), np.array([1])))
def sentence_log_of_softmax(logits, ids):
    """the logarithm of a probability that has become 0"""
    with np.errstate(divide="ignore"):
        logs = np.log(ref.softmax(logits))
    return sum(logs[t, token] for t, token in enumerate(ids))


@wrong("9.2", on=lambda: (np.zeros((400, 10)), np.arange(400) % 10))
def sentence_log_of_product(logits, ids):
    """multiplies first: a long sentence has probability 0"""
    p = ref.softmax(logits)[np.arange(len(ids)), ids]
    with np.errstate(divide="ignore"):
        return np.log(np.prod(p))


@wrong("9.2", on=lambda: (np.array([[1000.0, 0.0], [0.0, 1.0]]), np.array([0, 1])))
def sentence_naive_logsumexp(logits, ids):
    """exp overflows for large logits"""
    with np.errstate(over="ignore"):
        totals = np.log(np.exp(logits).sum(axis=1))
    return (logits[np.arange(len(ids)), ids] - totals).sum()


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([1, 0, 3])))
def sentence_mean(logits, ids):
    """the mean for each token, not the sum"""
    return ref.log_softmax(logits)[np.arange(len(ids)), ids].mean()


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([1, 0, 3])))
def sentence_shifted(logits, ids):
    """thinks that row t is what comes after ids[t]"""
    logs = ref.log_softmax(logits)
    return sum(logs[t, ids[t + 1]] for t in range(len(ids) - 1))


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([0, 2, 3])))
def sentence_skips_the_first(logits, ids):
    """takes the first token for <start>, which is given"""
    logs = ref.log_softmax(logits)
    return sum(logs[t, ids[t]] for t in range(1, len(ids)))


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([1, 0, 3])))
def sentence_all_pairs(logits, ids):
    """takes each token in each row"""
    return ref.log_softmax(logits)[:, ids].sum()


@wrong("9.2", on=lambda: (np.array([[0.0, 50.0], [0.0, 1.0]]), np.array([0, 1])))
def sentence_small_number_added(logits, ids):
    """a small number added against log 0"""
    p = ref.softmax(logits)
    return sum(np.log(p[t, i] + 1e-9) for t, i in enumerate(ids))


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([1, 0, 3])))
def sentence_of_logits(logits, ids):
    """adds up the logits themselves"""
    return sum(logits[t, i] for t, i in enumerate(ids))


@wrong("9.2", on=lambda: (np.array([[3.0, 0.0], [3.0, 0.0]]), np.array([1, 1])))
def sentence_of_the_likeliest(logits, ids):
    """scores the greedy sentence, whatever was written"""
    return ref.log_softmax(logits).max(axis=-1).sum()


@wrong("9.2", on=lambda: (_numbers(4, 3), np.array([2, 1, 0, 2])))
def sentence_stops_at_end(logits, ids):
    """stops at token 1, which it takes for <end>"""
    logs, total = ref.log_softmax(logits), 0.0
    for row, token in zip(logs, ids, strict=True):
        total += row[token]
        if token == 1:
            break
    return total


@wrong("9.2", on=lambda: (_numbers(4, 3), np.array([2, 1, 0, 2])))
def sentence_by_index(logits, ids):
    """looks up the row of a token by the token: repeated tokens go wrong"""
    ids = list(ids)
    logs = ref.log_softmax(logits)
    return sum(logs[ids.index(token), token] for token in ids)


@wrong("9.2", on=lambda: (_numbers(3, 4), np.array([1, 0, 3])))
def sentence_normalised_over_places(logits, ids):
    """softmax along the sentence"""
    return ref.log_softmax(logits, axis=0)[np.arange(len(ids)), ids].sum()


@right("9.2")
def sentence_loop(logits, ids):
    """one place after the other, with its own log-sum-exp"""
    total = 0.0
    for row, token in zip(logits, ids, strict=True):
        peak = max(row)
        total += row[token] - peak - math.log(sum(math.exp(z - peak) for z in row))
    return total


@right("9.2")
def sentence_one_hot(logits, ids):
    """picks by a mask"""
    chosen = np.arange(np.shape(logits)[1]) == np.asarray(ids, dtype=int)[:, None]
    return float(np.sum(ref.log_softmax(logits), where=chosen))


@right("9.2")
def sentence_take_along(logits, ids):
    """take_along_axis and logaddexp"""
    totals = np.logaddexp.reduce(logits, axis=-1)
    own = np.take_along_axis(logits, np.reshape(ids, (-1, 1)).astype(int), axis=1)[:, 0]
    return np.sum(own - totals)


# --- 9.3 ------------------------------------------------------------------------------------


def _chain():
    """0 -> 2 -> 3 -> 1, and 4 stays with itself."""
    table = np.full((5, 5), 0.1)
    for a, b in ((0, 2), (2, 3), (3, 1), (1, 1), (4, 4)):
        table[a, b] = 0.6
    return table


def _loop():
    """0 -> 2 -> 3 -> 2 -> 3 ... and never the end."""
    table = np.full((4, 4), 0.1)
    for a, b in ((0, 2), (2, 3), (3, 2), (1, 1)):
        table[a, b] = 0.7
    return table


@wrong("9.3", on=lambda: (_chain(), 0, 1, 10))
def greedy_with_start(table, start, end, most):
    """returns the start, too"""
    ids = [start]
    while ids[-1] != end and len(ids) <= most:
        ids.append(int(table[ids[-1]].argmax()))
    return ids


@wrong("9.3", on=lambda: (_chain(), 0, 1, 10))
def greedy_without_end(table, start, end, most):
    """drops the end"""
    ids, token = [], start
    for _ in range(most):
        token = int(np.argmax(table[token]))
        if token == end:
            break
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_chain(), 0, 1, 2))
def greedy_end_not_counted(table, start, end, most):
    """the end may come on top of the most tokens"""
    ids, token = [], start
    while len(ids) < most:
        token = int(np.argmax(table[token]))
        if token == end:
            break
        ids.append(token)
    if int(np.argmax(table[token])) == end or token == end:
        ids.append(end)
    return ids


@wrong("9.3", on=lambda: (_loop(), 0, 1, 3))
def greedy_one_too_many(table, start, end, most):
    """compares before it appends: one token too many"""
    ids = [start]
    while ids[-1] != end:
        ids.append(int(table[ids[-1]].argmax()))
        if len(ids) > most + 1:
            break
    return ids[1:]


@wrong("9.3", on=lambda: (_chain(), 0, 1, 4))
def greedy_from_the_start_row(table, start, end, most):
    """reads the row of the start again and again"""
    ids = []
    for _ in range(most):
        ids.append(int(table[start].argmax()))
        if ids[-1] == end:
            break
    return ids


@wrong("9.3", on=lambda: (_chain(), 0, 3, 10))
def greedy_fixed_end(table, start, end, most):
    """the end is always token 1"""
    ids, token = [], start
    while token != 1 and len(ids) < most:
        token = int(table[token].argmax())
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_chain(), 2, 1, 10))
def greedy_fixed_start(table, start, end, most):
    """the start is always token 0"""
    ids, token = [], 0
    while token != end and len(ids) < most:
        token = int(table[token].argmax())
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_loop(), 0, 1, 6))
def greedy_stops_at_repetition(table, start, end, most):
    """stops when a token comes again"""
    ids, token = [], start
    while len(ids) < most:
        token = int(table[token].argmax())
        if token in ids:
            break
        ids.append(token)
        if token == end:
            break
    return ids


@wrong("9.3", on=lambda: (_chain(), 4, 1, 3))
def greedy_never_twice_the_same(table, start, end, most):
    """forbids a token to follow itself, in the caller's table"""
    np.fill_diagonal(table, 0.0)
    ids, token = [], start
    while token != end and len(ids) < most:
        token = int(table[token].argmax())
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_chain(), 0, 1, 6))
def greedy_filled_up(table, start, end, most):
    """goes on after the end until the list is full"""
    ids, token = [], start
    for _ in range(most):
        token = end if token == end else int(table[token].argmax())
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_loop(), 0, 1, 3))
def greedy_forces_the_end(table, start, end, most):
    """writes the end as the last token if it did not come"""
    ids, token = [], start
    while token != end and len(ids) < most - 1:
        token = int(table[token].argmax())
        ids.append(token)
    return ids if token == end else [*ids, end]


@wrong("9.3", on=lambda: (np.array([[0.1, 0.9, 0.0], [0.2, 0.1, 0.7], [0.8, 0.1, 0.1]]), 0, 2, 5))
def greedy_columns(table, start, end, most):
    """reads columns for rows"""
    ids, token = [], start
    while token != end and len(ids) < most:
        token = int(table[:, token].argmax())
        ids.append(token)
    return ids


@wrong("9.3", on=lambda: (_loop(), 0, 1, 9))
def greedy_as_long_as_the_table(table, start, end, most):
    """never writes more tokens than there are in the vocabulary"""
    ids, token = [], start
    for _ in range(min(most, len(table))):
        token = int(table[token].argmax())
        ids.append(token)
        if token == end:
            break
    return ids


@wrong("9.3", on=lambda: [(_chain(), 0, 1, 10), (_chain(), 0, 1, 10)])
def greedy_remembers(table, start, end, most, ids=[]):  # noqa: B006
    """keeps what it wrote the last time"""
    token = start
    while token != end and len(ids) < most:
        token = int(table[token].argmax())
        ids.append(token)
    return list(ids)


@wrong("9.3", on=lambda: (np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.4, 0.0]]), 1, 0, 5))
def greedy_end_zero(table, start, end, most):
    """an end of 0 counts as none given"""
    end = end or 1
    ids, token = [], start
    while len(ids) < most:
        token = int(table[token].argmax())
        ids.append(token)
        if token == end:
            break
    return ids


@right("9.3")
def greedy_for(table, start, end, most):
    """a for loop with a break, whole floats for tokens"""
    ids, token = [], int(start)
    for _ in range(int(most)):
        if token == end:
            break
        row = list(table[token])
        token = row.index(max(row))
        ids.append(float(token))
    return ids


@right("9.3")
def greedy_recursive(table, start, end, most):
    """first token, then the rest"""
    if start == end or most < 1:
        return []
    token = int(np.argmax(table[start]))
    return [token, *greedy_recursive(table, token, end, most - 1)]


@right("9.3")
def greedy_all_then_cut(table, start, end, most):
    """the favourite after each token first, then follow and cut"""
    favourite = np.argmax(table, axis=1)
    path = [start]
    for _ in range(most):
        path.append(favourite[path[-1]])
    stops = [t for t, token in enumerate(path) if token == end]
    return path[1 : stops[0] + 1] if stops else path[1:]


# --- 9.4 ------------------------------------------------------------------------------------


@wrong("9.4", on=lambda: (np.array([1.0, 2.0, 4.0]), 0.5))
def temperature_as_found(logits, temperature):
    """the bug itself: the division cancels"""
    p = ref.softmax(logits) / temperature
    return p / p.sum(axis=-1, keepdims=True)


@wrong("9.4", on=lambda: (np.array([1.0, 2.0, 4.0]), 0.5))
def temperature_multiplied(logits, temperature):
    """hot and cold the wrong way round"""
    return ref.softmax(logits * temperature)


@wrong("9.4", on=lambda: (np.array([10.0, 20.0, 5.0]), 0.01))
def temperature_naive(logits, temperature):
    """cold makes the exponentials overflow"""
    with np.errstate(all="ignore"):
        powers = np.exp(logits / temperature)
        return powers / powers.sum(axis=-1, keepdims=True)


@wrong("9.4", on=lambda: (_numbers(2, 3), 2.0))
def temperature_over_everything(logits, temperature):
    """all rows together sum to one"""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max())
    return powers / powers.sum()


@wrong("9.4", on=lambda: (_numbers(2, 2, 3), 2.0))
def temperature_axis_one(logits, temperature):
    """the last axis of a matrix is axis 1, but of nothing else"""
    if np.ndim(logits) == 1:
        return ref.softmax(logits / temperature)
    return ref.softmax(logits / temperature, axis=1)


@wrong("9.4", on=lambda: (np.array([1.0, 2.0, 4.0]), 2.0))
def temperature_as_power(logits, temperature):
    """the power should be one over the temperature"""
    p = ref.softmax(logits) ** temperature
    return p / p.sum(axis=-1, keepdims=True)


@wrong("9.4", on=lambda: (np.array([1.0, 2.0, 4.0]), 0.5))
def temperature_in_place(logits, temperature):
    """changes the caller's logits"""
    logits /= temperature
    return ref.softmax(logits)


@wrong("9.4", on=lambda: (np.array([1.0, 1.01, 1.02]), 0.01))
def temperature_clipped(logits, temperature):
    """never colder than 0.1"""
    return ref.softmax(logits / max(temperature, 0.1))


@wrong("9.4", on=lambda: (np.array([1.0, 1.001, 1.0]), 0.001))
def temperature_cold_is_greedy(logits, temperature):
    """takes a low temperature for zero"""
    if temperature < 0.01:
        return (logits == logits.max(axis=-1, keepdims=True)).astype(float)
    return ref.softmax(logits / temperature)


@wrong("9.4", on=lambda: (np.array([[0.0, 1.0], [-3000.0, -3001.0]]), 2.0))
def temperature_one_peak(logits, temperature):
    """one peak for all rows: the low row vanishes"""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max())
    with np.errstate(invalid="ignore"):
        return powers / powers.sum(axis=-1, keepdims=True)


@wrong("9.4", on=lambda: (np.array([[0.0, 1.0], [3.0, 5.0]]), 2.0))
def temperature_without_keepdims(logits, temperature):
    """the totals of the rows are divided into the columns"""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1)


@wrong("9.4", on=lambda: (_numbers(1, 3), 2.0))
def temperature_squeezed(logits, temperature):
    """axes of size one are lost"""
    return ref.softmax(np.squeeze(logits) / temperature)


@wrong("9.4", on=lambda: (np.array([3, 5, 8]), 2))
def temperature_whole_numbers(logits, temperature):
    """keeps the kind of numbers that came in"""
    scaled = np.zeros_like(logits)
    scaled[...] = logits / temperature
    return ref.softmax(scaled)


@right("9.4")
def temperature_by_logs(logits, temperature):
    """exp of the log-softmax"""
    return np.exp(ref.log_softmax(np.multiply(logits, 1 / temperature)))


@right("9.4")
def temperature_recursive(logits, temperature):
    """nested lists, one row at a time"""
    if np.ndim(logits) > 1:
        return [temperature_recursive(row, temperature) for row in logits]
    peak = max(logits)
    powers = [math.exp((z - peak) / temperature) for z in logits]
    return [power / sum(powers) for power in powers]


@right("9.4")
def temperature_pairwise(logits, temperature):
    """one over the sum of the odds against it"""
    z = np.asarray(logits, dtype=float)
    with np.errstate(over="ignore"):
        odds = np.exp((z[..., None, :] - z[..., :, None]) / temperature)
    return 1 / odds.sum(axis=-1)


# --- 9.5 ------------------------------------------------------------------------------------


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.6))
def nucleus_reaching_one_left_out(probabilities, p):
    """leaves out the token that reaches p"""
    order = np.argsort(-probabilities)
    kept = np.zeros(len(probabilities))
    total = 0.0
    for i in order:
        total += probabilities[i]
        if total >= p and kept.any():
            break
        kept[i] = probabilities[i]
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.25, 0.5, 0.25]), 0.5))
def nucleus_one_too_many(probabilities, p):
    """goes on when p is reached exactly"""
    kept, total = np.zeros(len(probabilities)), 0.0
    for i in np.argsort(-probabilities, kind="stable"):
        if total > p:
            break
        kept[i] = probabilities[i]
        total += probabilities[i]
    return kept / total


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.6))
def nucleus_not_divided(probabilities, p):
    """does not divide by what is left"""
    order = np.argsort(-probabilities)
    n = np.sum(np.cumsum(probabilities[order]) < p) + 1
    kept = np.zeros(len(probabilities))
    kept[order[:n]] = probabilities[order[:n]]
    return kept


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.6))
def nucleus_sorted(probabilities, p):
    """returns the tokens in the order of their probability"""
    likely = np.sort(probabilities)[::-1]
    before = np.cumsum(likely) - likely
    kept = np.where(before < p, likely, 0)
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.9))
def nucleus_divided_by_p(probabilities, p):
    """divides by p, not by what is left"""
    order = np.argsort(-probabilities)
    n = np.sum(np.cumsum(probabilities[order]) < p) + 1
    kept = np.zeros(len(probabilities))
    kept[order[:n]] = probabilities[order[:n]] / p
    return kept


@wrong("9.5", on=lambda: (np.array([0.1, 0.2, 0.7]), 0.6))
def nucleus_in_the_order_of_the_vocabulary(probabilities, p):
    """adds up from token 0 on, without sorting"""
    before = np.cumsum(probabilities) - probabilities
    kept = np.where(before < p, probabilities, 0)
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.25, 0.25, 0.25, 0.25]), 0.5))
def nucleus_by_threshold(probabilities, p):
    """keeps everything as likely as the last one: equals come in, too"""
    likely = np.sort(probabilities)[::-1]
    last = likely[np.sum(np.cumsum(likely) < p)]
    kept = np.where(probabilities >= last, probabilities, 0)
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.4))
def nucleus_by_share_of_the_best(probabilities, p):
    """keeps what has at least p times the probability of the likeliest"""
    kept = np.where(probabilities >= p * probabilities.max(), probabilities, 0)
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.6))
def nucleus_in_place(probabilities, p):
    """sets the caller's probabilities to 0"""
    order = np.argsort(-probabilities)
    n = np.sum(np.cumsum(probabilities[order]) < p) + 1
    probabilities[order[n:]] = 0
    return probabilities / probabilities.sum()


@wrong("9.5", on=lambda: (np.full(10, 0.1), 1.0))
def nucleus_runs_out(probabilities, p):
    """ten tenths are a little less than 1: the loop looks for an eleventh"""
    order = np.argsort(-probabilities, kind="stable")
    kept, total, i = np.zeros(len(probabilities)), 0.0, 0
    while total < p:
        kept[order[i]] = probabilities[order[i]]
        total += probabilities[order[i]]
        i += 1
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.6))
def nucleus_softmax_again(probabilities, p):
    """softmax over what is left instead of a division"""
    order = np.argsort(-probabilities)
    n = np.sum(np.cumsum(probabilities[order]) < p) + 1
    kept = np.full(len(probabilities), -np.inf)
    kept[order[:n]] = probabilities[order[:n]]
    return ref.softmax(kept)


@wrong("9.5", on=lambda: (np.array([0.1, 0.3, 0.3, 0.3]), 0.8))
def nucleus_by_dictionary(probabilities, p):
    """finds the place by the probability: equals are lost"""
    place = {q: i for i, q in enumerate(probabilities)}
    kept, total = np.zeros(len(probabilities)), 0.0
    for q in sorted(place, reverse=True):
        if total >= p:
            break
        kept[place[q]] = q
        total += q
    return kept / kept.sum()


@wrong("9.5", on=lambda: (np.array([0.2, 0.5, 0.3]), 0.4))
def nucleus_from_the_rarest(probabilities, p):
    """starts with the rarest token"""
    kept, total = np.zeros(len(probabilities)), 0.0
    for i in np.argsort(probabilities):
        if total >= p:
            break
        kept[i] = probabilities[i]
        total += probabilities[i]
    return kept / total


@wrong("9.5", on=lambda: (np.array([0.5, 0.396, 0.104]), 0.9))
def nucleus_rounded(probabilities, p):
    """rounds the sums, so that 0.896 reaches 0.9"""
    order = np.argsort(-probabilities)
    n = np.sum(np.cumsum(probabilities[order]).round(2) < p) + 1
    kept = np.zeros(len(probabilities))
    kept[order[:n]] = probabilities[order[:n]]
    return kept / kept.sum()


@right("9.5")
def nucleus_loop(probabilities, p):
    """one token after the other, in Python"""
    places = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])
    kept, total = [0.0] * len(places), 0.0
    for i in places:
        kept[i] = probabilities[i]
        total += probabilities[i]
        if total >= p:
            break
    return [q / total for q in kept]


@right("9.5")
def nucleus_rank(probabilities, p):
    """for each token the sum of those before it"""
    q = np.asarray(probabilities, dtype=float)
    order = np.lexsort((np.arange(len(q)), -q))
    n = min(len(q), 1 + np.searchsorted(np.cumsum(q[order]), p, side="left"))
    mask = np.isin(np.arange(len(q)), order[:n])
    return q * mask / q[mask].sum()


# --- 9.6 ------------------------------------------------------------------------------------


def _beams():
    """Two beginnings, three tokens; the best two continue the first."""
    return np.array([-1.0, -3.0]), np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])


@wrong("9.6", on=lambda: (np.array([-1.0, -2.0]), np.array([[-1.0, -5.0], [-0.4, -0.6]]), 2))
def beam_multiplied(log_p, next_log_p, width):
    """multiplies logarithms"""
    totals = log_p[:, None] * next_log_p
    best = np.argsort(-totals, axis=None)[:width]
    return np.stack(np.unravel_index(best, totals.shape), axis=1)


@wrong("9.6", on=lambda: (*_beams(), 2))
def beam_without_the_past(log_p, next_log_p, width):
    """forgets how likely the beginnings are"""
    best = np.argsort(-next_log_p, axis=None)[:width]
    return np.stack(np.unravel_index(best, next_log_p.shape), axis=1)


@wrong(
    "9.6", on=lambda: (np.array([-2000.0, -1990.0]), np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), 2)
)
def beam_of_probabilities(log_p, next_log_p, width):
    """multiplies probabilities that have become 0"""
    totals = np.exp(log_p)[:, None] * np.exp(next_log_p)
    best = np.argsort(-totals, axis=None, kind="stable")[:width]
    return np.stack(np.unravel_index(best, totals.shape), axis=1)


@wrong("9.6", on=lambda: (*_beams(), 2))
def beam_one_for_each_beginning(log_p, next_log_p, width):
    """only the best token of each beginning"""
    tokens = next_log_p.argmax(axis=1)
    totals = log_p + next_log_p.max(axis=1)
    best = np.argsort(-totals)[:width]
    return np.stack([best, tokens[best]], axis=1)


@wrong("9.6", on=lambda: (*_beams(), 4))
def beam_divided_by_the_beginnings(log_p, next_log_p, width):
    """finds the row by N, not by V"""
    totals = log_p[:, None] + next_log_p
    best = np.argsort(-totals, axis=None)[:width]
    return np.array([[i // len(log_p), i % len(log_p)] for i in best])


@wrong("9.6", on=lambda: (*_beams(), 3))
def beam_token_first(log_p, next_log_p, width):
    """[token, beginning]"""
    totals = log_p[:, None] + next_log_p
    best = np.argsort(-totals, axis=None)[:width]
    row, token = np.unravel_index(best, totals.shape)
    return np.stack([token, row], axis=1)


@wrong("9.6", on=lambda: (*_beams(), 3))
def beam_best_last(log_p, next_log_p, width):
    """the last ones of an ascending order, the best at the end"""
    totals = log_p[:, None] + next_log_p
    best = np.argsort(totals, axis=None)[-width:]
    return np.stack(np.unravel_index(best, totals.shape), axis=1)


@wrong("9.6", on=lambda: (np.array([0.0]), -np.array([[5.0, 4, 3, 2, 1, 0]]), 4))
def beam_partition(log_p, next_log_p, width):
    """argpartition finds the best, but does not order them"""
    totals = (log_p[:, None] + next_log_p).ravel()
    if width < len(totals):
        best = np.sort(np.argpartition(-totals, width)[:width])
    else:
        best = np.argsort(-totals)
    return np.stack(np.divmod(best, next_log_p.shape[1]), axis=1)


@wrong("9.6", on=lambda: (*_beams(), 2))
def beam_width_for_each(log_p, next_log_p, width):
    """as many for each beginning"""
    rows = []
    for n in range(len(log_p)):
        for token in np.argsort(-next_log_p[n])[:width]:
            rows.append([n, token])
    rows.sort(key=lambda r: -(log_p[r[0]] + next_log_p[r[0], r[1]]))
    return np.array(rows)


@wrong("9.6", on=lambda: (*_beams(), 3))
def beam_in_place(log_p, next_log_p, width):
    """adds into the caller's array"""
    next_log_p += log_p[:, None]
    best = np.argsort(-next_log_p, axis=None)[:width]
    return np.stack(np.divmod(best, next_log_p.shape[1]), axis=1)


@wrong("9.6", on=lambda: (np.array([0.0, -9.0]), np.log([[0.6, 0.4], [0.7, 0.3]]), 2))
def beam_added_to_the_tokens(log_p, next_log_p, width):
    """adds the beginnings along the wrong axis, if it fits"""
    if len(log_p) == next_log_p.shape[1]:
        totals = next_log_p + log_p
    else:
        totals = next_log_p + log_p[:, None]
    best = np.argsort(-totals, axis=None)[:width]
    return np.stack(np.divmod(best, totals.shape[1]), axis=1)


@wrong("9.6", on=lambda: (*_beams(), 1))
def beam_squeezed(log_p, next_log_p, width):
    """a single best one loses its axis"""
    totals = log_p[:, None] + next_log_p
    best = np.argsort(-totals, axis=None)[:width]
    return np.squeeze(np.stack(np.divmod(best, totals.shape[1]), axis=1))


@wrong("9.6", on=lambda: (np.array([-1.0, -1.5]), np.log([[0.6, 0.4], [0.9, 0.1]]), 3))
def beam_each_token_once(log_p, next_log_p, width):
    """takes each token only once"""
    totals = log_p[:, None] + next_log_p
    rows, seen = [], set()
    for i in np.argsort(-totals, axis=None):
        n, token = divmod(int(i), totals.shape[1])
        if token not in seen:
            seen.add(token)
            rows.append([n, token])
    return np.array(rows[:width])


@wrong("9.6", on=lambda: (np.array([-1.0, -1.0]), np.array([[-1.0, -2.0], [-1.0, -3.0]]), 4))
def beam_by_dictionary(log_p, next_log_p, width):
    """the total as a key: equal totals are lost"""
    found = {}
    for n, row in enumerate(next_log_p):
        for token, log in enumerate(row):
            found[float(log_p[n] + log)] = [n, token]
    return np.array([found[total] for total in sorted(found, reverse=True)[:width]])


@right("9.6")
def beam_sorted(log_p, next_log_p, width):
    """a sorted list of Python"""
    places = [(n, token) for n in range(len(log_p)) for token in range(len(next_log_p[n]))]
    places.sort(key=lambda place: log_p[place[0]] + next_log_p[place[0]][place[1]], reverse=True)
    return [list(place) for place in places[: int(width)]]


@right("9.6")
def beam_heap(log_p, next_log_p, width):
    """a heap"""
    totals = np.add(np.reshape(log_p, (-1, 1)), next_log_p)
    best = heapq.nlargest(width, np.ndindex(*totals.shape), key=lambda place: totals[place])
    return np.array(best)


@right("9.6")
def beam_one_by_one(log_p, next_log_p, width):
    """the best, then the best of the others"""
    totals = np.add(np.reshape(log_p, (-1, 1)), next_log_p)
    rows, left = [], np.ones(totals.shape, dtype=bool)
    for _ in range(width):
        places = np.argwhere(left)
        best = places[totals[left].argmax()]
        rows.append(best)
        left[tuple(best)] = False
    return np.stack(rows)


# --- 9.7 (several answers are right: what is wrong here breaks the statement) ------------------


@wrong("9.7", on=lambda: (6,))
def fools_always_five(size):
    """a table of five tokens, whatever the size"""
    table = np.zeros((5, 5))
    table[0, 2], table[0, 3] = 0.6, 0.4
    table[2] = [0.1, 0.3, 0.2, 0.2, 0.2]
    table[3, 1] = table[4, 1] = table[1, 1] = 1.0
    return table


@wrong("9.7", on=lambda: (5,))
def fools_not_by_half(size):
    """the other sentence is better, but not twice as probable"""
    table = np.zeros((size, size))
    table[0, 2], table[0, 3] = 0.6, 0.4
    table[2, 1], table[2, 4], table[2, 3] = 0.4, 0.3, 0.3
    table[3, 1], table[3, 4] = 0.9, 0.1
    table[4:, 1] = table[1, 1] = 1.0
    return table


@wrong("9.7", on=lambda: (5,))
def fools_too_long(size):
    """greedy needs four tokens"""
    table = np.zeros((size, size))
    table[0, 2], table[0, 3] = 0.6, 0.4
    table[2, 4], table[2, 1] = 0.55, 0.45
    table[4, 2], table[4, 1] = 0.6, 0.4
    table[3, 1] = table[1, 1] = 1.0
    table[5:, 1] = 1.0
    return table


@wrong("9.7", on=lambda: (20,))
def fools_rows_grow(size):
    """the small entries make the rows of a large table too large"""
    table = np.full((size, size), 0.01)
    table[0, 2], table[0, 3] = 0.58, 0.39
    table[2, 1] = 0.3
    table[2, [0, 2, 3, 4]] = 0.175
    table[3, 1] = 0.96
    table[1, 1] = table[4, 1] = 0.96
    return table


@wrong("9.7", on=lambda: (5,))
def fools_rows_of_zeros(size):
    """the rows that nobody visits stay empty"""
    table = np.zeros((size, size))
    table[0, 2], table[0, 3] = 0.51, 0.49
    table[2, 1], table[2, 3], table[2, 4] = 0.34, 0.33, 0.33
    table[3, 1] = 1.0
    return table


@wrong("9.7", on=lambda: (5,))
def fools_columns(size):
    """the columns sum to one"""
    table = np.full((size, size), 1 / (size + 1))
    table[:, 1] *= 2
    table[0] = 0
    table[0, 2], table[0, 3] = 0.55, 0.45
    table[3] = 0
    table[3, 1] = 1
    return table.T


@wrong("9.7", on=lambda: (7,))
def fools_even_row(size):
    """after the bait all tokens are equally likely: greedy goes back to <start>"""
    table = np.full((size, size), 1 / size)
    table[0] = 0
    table[0, 2], table[0, 3] = 0.6, 0.4
    table[3] = 0
    table[3, 1] = 1
    return table


@wrong("9.7", on=lambda: (5,))
def fools_nobody(size):
    """greedy finds the best sentence"""
    table = np.zeros((size, size))
    table[:, 1] = 1.0
    table[0] = 0
    table[0, 2], table[0, 3] = 0.6, 0.4
    return table


@wrong("9.7", on=lambda: (5,))
def fools_tie_at_five(size):
    """with five tokens the end is no likelier than the others"""
    table = np.full((size, size), 0.8 / (size - 1))
    table[:, 1] = 0.2
    table[0] = 0
    table[0, 2], table[0, 3] = 0.55, 0.45
    table[3] = 0
    table[3, 1] = 1
    return table


@wrong("9.7", on=lambda: (6,))
def fools_other_without_end(size):
    """the other path is probable, but does not end within three tokens"""
    table = np.zeros((size, size))
    table[:, 1] = 1.0
    table[0] = 0
    table[0, 2], table[0, 3] = 0.51, 0.49
    table[2, 1], table[2, 3], table[2, 4], table[2, 5] = 0.4, 0.2, 0.2, 0.2
    table[3, 1], table[3, 4] = 0.0, 1.0
    table[4, 1], table[4, 5] = 0.0, 1.0
    return table


@wrong("9.7", on=lambda: (5,))
def fools_in_percent(size):
    """rows sum to a hundred"""
    table = np.zeros((size, size), dtype=int)
    table[:, 1] = 100
    table[0] = 0
    table[0, 2], table[0, 3] = 60, 40
    table[2, 1], table[2, 3], table[2, 4] = 34, 33, 33
    return table


@right("9.7")
def fools_in_two_steps(size):
    """one bait at the start, the weight after it spread over all"""
    table = [[1.0 if token == 1 else 0.0 for token in range(size)] for _ in range(size)]
    table[0] = [0.0] * size
    table[0][2], table[0][4] = 0.6, 0.4
    table[2] = [0.9 / size] * size
    table[2][1] += 0.1
    return table


@right("9.7")
def fools_with_three_tokens(size):
    """the better sentence is the longer one"""
    table = np.eye(size)
    table[0, [0, 2, 3]] = 0, 0.51, 0.49
    table[2, [1, 2, 3, 4]] = 0.4, 0, 0.3, 0.3
    table[3, [3, size - 1]] = 0, 1
    table[size - 1] = np.eye(size)[1]
    return table


@right("9.7")
def fools_at_the_very_start(size):
    """nearly even at the start, then a quarter against a certain end"""
    table = np.zeros((size, size))
    table[:, 1] = 1
    table[0, :] = 0
    table[0, [2, 3]] = 0.5 + 1e-3, 0.5 - 1e-3
    table[2, :] = np.where(np.arange(size) == 1, 0.24, 0.76 / (size - 1))
    return table


# --- 9.8 ------------------------------------------------------------------------------------


@wrong("9.8", on=lambda: (3, 5, True))
def count_projections_only(n, d, cached):
    """forgets the scores and the mixing when there is a cache"""
    if cached:
        return 4 * n * d**2
    return sum(4 * t * d**2 + 2 * t**2 * d for t in range(1, n + 1))


@wrong("9.8", on=lambda: (3, 5, False))
def count_three_projections(n, d, cached):
    """forgets W^0"""
    total = 0
    for t in range(1, n + 1):
        total += 3 * d**2 + 2 * t * d if cached else 3 * t * d**2 + 2 * t**2 * d
    return total


@wrong("9.8", on=lambda: (3, 5, False))
def count_last_pass_only(n, d, cached):
    """without a cache: one pass over all tokens, not one for each"""
    if cached:
        return sum(4 * d**2 + 2 * t * d for t in range(1, n + 1))
    return 4 * n * d**2 + 2 * n**2 * d


@wrong("9.8", on=lambda: (3, 5, False))
def count_under_the_mask(n, d, cached):
    """counts only the pairs that the mask leaves"""
    total = 0
    for t in range(1, n + 1):
        pairs = t if cached else t * (t + 1) // 2
        total += 4 * (1 if cached else t) * d**2 + 2 * pairs * d
    return total


@wrong("9.8", on=lambda: (3, 5, True))
def count_scores_only(n, d, cached):
    """forgets the mixing of the values"""
    t = np.arange(1, n + 1)
    return int((4 * d**2 + t * d).sum() if cached else (4 * t * d**2 + t**2 * d).sum())


@wrong("9.8", on=lambda: (3, 5, True))
def count_from_zero(n, d, cached):
    """the steps count from 0, as if the new token did not see itself"""
    total = 0
    for t in range(n):
        total += 4 * d**2 + 2 * t * d if cached else 4 * (t + 1) * d**2 + 2 * (t + 1) ** 2 * d
    return total


@wrong("9.8", on=lambda: (2, 3, False))
def count_additions(n, d, cached):
    """counts additions as well"""
    t = np.arange(1, n + 1)
    return 2 * int((4 * d**2 + 2 * t * d).sum() if cached else (4 * t * d**2 + 2 * t**2 * d).sum())


@wrong("9.8", on=lambda: (5, 2, True))
def count_half_rounded(n, d, cached):
    """n // 2 before the product: wrong for odd n"""
    if cached:
        return 4 * n * d**2 + 2 * d * (n // 2) * (n + 1)
    return 4 * d**2 * (n // 2) * (n + 1) + 2 * d * (n * (n + 1) * (2 * n + 1) // 6)


@wrong("9.8", on=lambda: (3, 5, True))
def count_upside_down(n, d, cached):
    """with and without the cache confused"""
    t = np.arange(1, n + 1)
    return int((4 * d**2 + 2 * t * d).sum() if not cached else (4 * t * d**2 + 2 * t**2 * d).sum())


@wrong("9.8", on=lambda: (2000, 1024, False))
def count_in_32_bits(n, d, cached):
    """32 bits overflow"""
    t = np.arange(1, n + 1, dtype=np.int32)
    if cached:
        return (4 * d**2 + 2 * t * d).sum(dtype=np.int32)
    return (4 * t * d**2 + 2 * t**2 * d).sum(dtype=np.int32)


@wrong("9.8", on=lambda: (4, 3, True))
def count_cached_keys_only(n, d, cached):
    """with a cache only the keys and values of the new token: two projections"""
    total = 0
    for t in range(1, n + 1):
        total += 2 * d * d + 2 * t * d if cached else 4 * t * d * d + 2 * t * t * d
    return total


@wrong("9.8", on=lambda: (3, 5, False))
def count_square_of_the_sum(n, d, cached):
    """takes the square of the sum for the sum of the squares"""
    s = n * (n + 1) // 2
    return 4 * n * d**2 + 2 * s * d if cached else 4 * s * d**2 + 2 * s**2 * d


@right("9.8")
def count_closed_form(n, d, cached):
    """Gauss's sums"""
    ones, squares = n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) // 6
    if cached:
        return 4 * n * d**2 + 2 * d * ones
    return 4 * d**2 * ones + 2 * d * squares


@right("9.8")
def count_product_by_product(n, d, cached):
    """each product of matrices, as a whole float"""

    def product(rows, inner, columns):
        return float(rows) * inner * columns

    total = 0.0
    for t in range(1, n + 1):
        new = 1 if cached else t
        total += 4 * product(new, d, d) + product(new, d, t) + product(new, t, d)
    return total


@right("9.8")
def count_recursive(n, d, cached):
    """the last token and those before it"""
    if n == 0:
        return 0
    new = 1 if cached else n
    return 2 * new * d * (2 * d + n) + count_recursive(n - 1, d, cached)
