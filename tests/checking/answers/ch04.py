"""Answers to chapter 4 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import math

import numpy as np
from answers import right, wrong

from tfmlib import ref


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


# --- 4.1 ------------------------------------------------------------------------------------


def pooling(s=3, d=2):
    return ref.softmax(normal(0, s)), normal(1, s, d)


@wrong("4.1", on=pooling)
def pool_mean(weights, values):
    """the mean of the weighted rows"""
    return (weights[:, None] * values).mean(axis=0)


@wrong("4.1", on=lambda: pooling(3, 3))
def pool_other_side(weights, values):
    """values times weights: columns instead of rows, which a square does not show"""
    return values @ weights


@wrong("4.1", on=lambda: pooling(3, 3))
def pool_broadcast(weights, values):
    """the weights lie along the wrong axis"""
    return (weights * values).sum(axis=0)


@wrong("4.1", on=pooling)
def pool_not_summed(weights, values):
    """weighted rows, not added up"""
    return weights[:, None] * values


@wrong("4.1", on=pooling)
def pool_wrong_axis(weights, values):
    """adds up each row"""
    return (weights[:, None] * values).sum(axis=1)


@wrong("4.1", on=pooling)
def pool_largest(weights, values):
    """the row with the largest weight: a look-up"""
    return values[np.argmax(weights)]


@wrong("4.1", on=lambda: (np.array([2.0, 1.0]), np.array([[1.0, 2.0], [3.0, 4.0]])))
def pool_normalised(weights, values):
    """makes the weights sum to one"""
    return weights @ values / weights.sum()


@wrong("4.1", on=pooling)
def pool_softmax(weights, values):
    """softmax of weights that are already known"""
    return ref.softmax(weights) @ values


@wrong("4.1", on=lambda: (np.array([0.5, 0.5]), np.array([[1, 2], [2, 4]])))
def pool_whole_numbers(weights, values):
    """whole-number values make a whole-number sum"""
    total = np.zeros_like(values[0])
    for w, v in zip(weights, values):
        total = total + (w * v).astype(total.dtype)
    return total


@wrong("4.1", on=pooling)
def pool_in_place(weights, values):
    """weights the caller's values"""
    for i, w in enumerate(weights):
        values[i] *= w
    return values.sum(axis=0)


@wrong("4.1", on=lambda: pooling(3, 2))
def pool_two(weights, values):
    """two words, as in the example"""
    return weights[0] * values[0] + weights[1] * values[1]


@wrong("4.1", on=lambda: pooling(3, 1))
def pool_squeezed(weights, values):
    """values of one number: no longer a vector"""
    return np.squeeze(weights @ values)


@wrong("4.1", on=lambda: (np.array([-0.5, 1.5]), np.array([[1.0, 2.0], [3.0, 4.0]])))
def pool_positive(weights, values):
    """leaves out what is not positive"""
    kept = weights > 0
    return weights[kept] @ values[kept]


@wrong("4.1", on=pooling)
def pool_starts_with_first(weights, values):
    """begins the sum with the first row as it is"""
    total = values[0].copy()
    for w, v in zip(weights[1:], values[1:]):
        total = total + w * v
    return total


@right("4.1")
def pool_loop(weights, values):
    """a list"""
    return [sum(w * v[j] for w, v in zip(weights, values)) for j in range(len(values[0]))]


@right("4.1")
def pool_einsum(weights, values):
    """einsum"""
    return np.einsum("s,sd->d", weights, values)


@right("4.1")
def pool_average(weights, values):
    """np.average, times the sum by which it divides; else a sum of rows"""
    total = np.sum(weights)
    if total == 0:
        return sum(w * v for w, v in zip(weights, values))
    return np.average(values, axis=0, weights=weights) * total


# --- 4.2 ------------------------------------------------------------------------------------


@wrong("4.2", on=lambda: (np.array([[1000.0, 0.0]]),))
def softmax_naive(x):
    """exponentials overflow for large scores"""
    with np.errstate(all="ignore"):
        e = np.exp(x)
        return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([1000.0, 990.0]),))
def softmax_clipped(x):
    """clips the scores to where exp works"""
    e = np.exp(np.clip(x, -700, 700))
    return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([[1000.0, 999.0], [-3000.0, -3001.0]]),))
def softmax_one_peak(x):
    """one peak for all rows: rows far below become 0/0"""
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x))
        return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (normal(0, 3, 4),))
def softmax_axis_0(x):
    """over the first axis"""
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


@wrong("4.2", on=lambda: (normal(0, 2, 3, 4),))
def softmax_axis_1(x):
    """axis 1 is the last one of a matrix only"""
    if x.ndim == 1:
        e = np.exp(x - x.max())
        return e / e.sum()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@wrong("4.2", on=lambda: (normal(0, 3, 4),))
def softmax_no_keepdims(x):
    """works for a single row"""
    e = np.exp(x - x.max(axis=-1))
    return e / e.sum(axis=-1)


@wrong("4.2", on=lambda: (np.array([[1.0, 2.0], [3.0, 1.0]]),))
def softmax_in_place(x):
    """subtracts the peak from the given scores"""
    x -= x.max(axis=-1, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([[1, 2], [3, 1]]),))
def softmax_whole_numbers(x):
    """whole-number scores make whole-number weights"""
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape[:-1]):
        e = np.exp(x[place] - x[place].max())
        out[place] = e / e.sum()
    return out


@wrong("4.2", on=lambda: (np.array([1000.0] + [-3000.0] * 3),))
def softmax_minus_mean(x):
    """the mean instead of the peak"""
    with np.errstate(all="ignore"):
        e = np.exp(x - x.mean(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([1.0, 2.0, 4.0]),))
def softmax_divided(x):
    """divides by the peak, which the formula does notice"""
    peak = np.abs(x).max(axis=-1, keepdims=True)
    e = np.exp(x / np.where(peak == 0, 1, peak))
    return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([0.0, 1000.0]),))
def softmax_minus_first(x):
    """subtracts the first score"""
    with np.errstate(all="ignore"):
        e = np.exp(x - x[..., :1])
        return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([-3000.0, -3001.0]),))
def softmax_minus_thousand(x):
    """subtracts 1000, the largest score there is"""
    with np.errstate(all="ignore"):
        e = np.exp(x - 1000.0)
        return e / e.sum(axis=-1, keepdims=True)


@wrong("4.2", on=lambda: (np.array([-800.0, -801.0]),))
def softmax_peak_not_negative(x):
    """a peak of at least 0, so that only large scores are brought down"""
    with np.errstate(all="ignore"):
        e = np.exp(x - np.maximum(x.max(axis=-1, keepdims=True), 0))
        return e / (e.sum(axis=-1, keepdims=True) + 1e-12)


@wrong("4.2", on=lambda: (normal(0, 2, 1, 3),))
def softmax_squeezed(x):
    """axes of size 1 are lost"""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.squeeze(e / e.sum(axis=-1, keepdims=True))


@wrong("4.2", on=lambda: (normal(0, 2, 2, 3, 4),))
def softmax_whole_array(x):
    """two axes at most: beyond that over everything"""
    if x.ndim <= 2:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)
    e = np.exp(x - x.max())
    return e / e.sum()


@right("4.2")
def softmax_log(x):
    """by the logarithm of the sum"""
    return np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True))


@right("4.2")
def softmax_recursive(x):
    """lists of lists of any depth, and math.exp"""
    if np.ndim(x) > 1:
        return [softmax_recursive(row) for row in x]
    peak = max(x)
    e = [math.exp(score - peak) for score in x]
    return [number / sum(e) for number in e]


@right("4.2")
def softmax_pairs(x):
    """1 over the sum of exp of the differences"""
    x = np.asarray(x, dtype=float)
    with np.errstate(over="ignore"):
        return 1 / np.exp(x[..., None, :] - x[..., :, None]).sum(axis=-1)


@right("4.2")
def softmax_along(x):
    """np.apply_along_axis"""

    def one(row):
        e = np.exp(row - row.max())
        return e / e.sum()

    return np.apply_along_axis(one, -1, np.asarray(x, dtype=float))


# --- 4.3 ------------------------------------------------------------------------------------


def asking(t=3, s=4, k=2):
    return normal(0, t, k), normal(1, s, k)


@wrong("4.3", on=asking)
def weights_no_root(q, k):
    """not scaled"""
    return ref.softmax(q @ k.T)


@wrong("4.3", on=asking)
def weights_divided(q, k):
    """by d_k, not by its root"""
    return ref.softmax(q @ k.T / q.shape[-1])


@wrong("4.3", on=asking)
def weights_length(q, k):
    """the root of the number of queries"""
    return ref.softmax(q @ k.T / np.sqrt(len(q)))


@wrong("4.3", on=asking)
def weights_keys(q, k):
    """the root of the number of keys"""
    return ref.softmax(q @ k.T / np.sqrt(k.shape[0]))


@wrong("4.3", on=asking)
def weights_columns(q, k):
    """columns sum to one"""
    return ref.softmax((q @ k.T / np.sqrt(q.shape[1])).T).T


@wrong("4.3", on=lambda: asking(3, 3, 3))
def weights_not_turned(q, k):
    """keys not turned, which squares do not show"""
    if k.shape[0] == q.shape[1]:
        scores = q @ k
    else:
        scores = q @ k.T
    return ref.softmax(scores / np.sqrt(q.shape[1]))


@wrong("4.3", on=asking)
def weights_reshaped(q, k):
    """reshape does not turn"""
    return ref.softmax(q @ k.reshape(k.shape[1], k.shape[0]) / np.sqrt(k.shape[1]))


@wrong("4.3", on=asking)
def weights_scaled_after(q, k):
    """the root after the softmax"""
    return ref.softmax(q @ k.T) / np.sqrt(k.shape[1])


@wrong("4.3", on=lambda: (np.array([[3, 0]]), np.array([[1, 2], [0, 1]])))
def weights_whole_numbers(q, k):
    """divides whole numbers where they lie"""
    scores = q @ k.T
    scores /= np.sqrt(q.shape[1])
    return ref.softmax(scores)


@wrong("4.3", on=lambda: (np.array([[100.0, 100.0]]), np.array([[100.0, 0.0], [0.0, 0.0]])))
def weights_own_softmax(q, k):
    """exponentials of large scores"""
    with np.errstate(all="ignore"):
        e = np.exp(q @ k.T / np.sqrt(q.shape[1]))
        return e / e.sum(axis=1, keepdims=True)


@wrong("4.3", on=asking)
def weights_cosine(q, k):
    """the cosine instead of the dot product"""
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    k = k / np.linalg.norm(k, axis=1, keepdims=True)
    return ref.softmax(q @ k.T / np.sqrt(q.shape[1]))


@wrong("4.3", on=lambda: asking(1, 4, 2))
def weights_squeezed(q, k):
    """one query: a row instead of a matrix"""
    return ref.softmax((q @ k.T).squeeze() / np.sqrt(q.shape[1]))


@wrong("4.3", on=asking)
def weights_scale_in_place(q, k):
    """scales the given queries"""
    q /= np.sqrt(q.shape[1])
    return ref.softmax(q @ k.T)


@wrong("4.3", on=asking)
def weights_turned(q, k):
    """a row for each key"""
    return ref.softmax(k @ q.T / np.sqrt(q.shape[1]))


@wrong("4.3", on=lambda: asking(3, 4, 2))
def weights_d_k_64(q, k):
    """d_k is 64"""
    return ref.softmax(q @ k.T / 8)


@right("4.3")
def weights_loops(q, k):
    """query by query, key by key; a list of lists"""
    out = []
    for one in q:
        scores = [sum(a * b for a, b in zip(one, key)) / math.sqrt(len(one)) for key in k]
        e = [math.exp(score - max(scores)) for score in scores]
        out.append([number / sum(e) for number in e])
    return out


@right("4.3")
def weights_einsum(q, k):
    """einsum, with the root shared between queries and keys"""
    root = q.shape[1] ** 0.25
    return ref.softmax(np.einsum("tk,sk->ts", q / root, k / root))


@right("4.3")
def weights_row_by_row(q, k):
    """one query at a time"""
    return np.stack([ref.softmax(k @ one / len(one) ** 0.5) for one in q])


# --- 4.4 ------------------------------------------------------------------------------------


def batches(*lead, t=3, s=4, k=2, d=5):
    return normal(0, *lead, t, k), normal(1, *lead, s, k), normal(2, *lead, s, d)


@wrong("4.4", on=lambda: batches(2))
def attention_t(q, k, v):
    """.T turns all axes round"""
    return ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


@wrong("4.4", on=lambda: batches())
def attention_three_axes(q, k, v):
    """batches only"""
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    return ref.softmax(scores) @ v


@wrong("4.4", on=lambda: batches(2, 2))
def attention_two_cases(q, k, v):
    """a sentence or a batch"""
    if q.ndim == 2:
        return ref.softmax(q @ k.T / np.sqrt(q.shape[1])) @ v
    scores = np.einsum("btk,bsk->bts", q, k) / np.sqrt(q.shape[2])
    return np.einsum("bts,bsd->btd", ref.softmax(scores), v)


@wrong("4.4", on=lambda: batches(2))
def attention_reshaped(q, k, v):
    """reshape does not turn"""
    turned = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    return ref.softmax(q @ turned / np.sqrt(q.shape[-1])) @ v


@wrong("4.4", on=lambda: batches(2))
def attention_axis_1(q, k, v):
    """softmax over the queries"""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return (e / e.sum(axis=-2, keepdims=True)) @ v


@wrong("4.4", on=lambda: batches(2))
def attention_shape_1(q, k, v):
    """shape[1] is d_k only without a batch"""
    return ref.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[1])) @ v


@wrong("4.4", on=lambda: batches(2))
def attention_root_of_values(q, k, v):
    """the root of the values' size"""
    return ref.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(v.shape[-1])) @ v


@wrong("4.4", on=lambda: batches(2))
def attention_no_root(q, k, v):
    """not scaled"""
    return ref.softmax(q @ np.swapaxes(k, -1, -2)) @ v


@wrong("4.4", on=lambda: batches(2, t=1))
def attention_squeezed(q, k, v):
    """one query: the axis is lost"""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.squeeze(ref.softmax(scores) @ v)


@wrong("4.4", on=lambda: batches(2, t=3, s=3))
def attention_masked(q, k, v):
    """nobody looks ahead, although nobody asked for that"""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    t, s = scores.shape[-2:]
    scores = np.where(np.tri(t, s, s - t, dtype=bool), scores, -1e9)
    return ref.softmax(scores) @ v


@wrong("4.4", on=lambda: tuple(100 * array for array in batches(2)))
def attention_own_softmax(q, k, v):
    """exponentials of large scores"""
    with np.errstate(all="ignore"):
        e = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
        return e / e.sum(axis=-1, keepdims=True) @ v


@wrong("4.4", on=lambda: batches(2))
def attention_one_sentence(q, k, v):
    """all sentences of the batch look at each other"""
    lead, t = q.shape[:-1], v.shape[-1]
    q, k, v = (array.reshape(-1, array.shape[-1]) for array in (q, k, v))
    return (ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v).reshape(*lead, t)


@wrong("4.4", on=lambda: batches(2, 2))
def attention_loop(q, k, v):
    """goes through the first axis, one level deep"""
    if q.ndim == 2:
        return ref.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v
    return np.array([ref.softmax(a @ b.T / np.sqrt(a.shape[-1])) @ c for a, b, c in zip(q, k, v)])


@wrong("4.4", on=lambda: batches(2))
def attention_in_place(q, k, v):
    """scales the given queries"""
    q *= q.shape[-1] ** -0.5
    return ref.softmax(q @ np.swapaxes(k, -1, -2)) @ v


@wrong("4.4", on=lambda: batches(2, t=3, s=4, d=2, k=2))
def attention_like_queries(q, k, v):
    """writes the keys over the values"""
    weights = ref.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    return weights @ k


@right("4.4")
def attention_einsum(q, k, v):
    """einsum with dots"""
    scores = np.einsum("...tk,...sk->...ts", q, k) / np.sqrt(k.shape[-1])
    return np.einsum("...ts,...sd->...td", ref.softmax(scores), v)


@right("4.4")
def attention_recursive(q, k, v):
    """down to single sentences; nested lists"""
    if np.ndim(q) > 2:
        return [attention_recursive(*one) for one in zip(q, k, v)]
    out = []
    for query in q:
        scores = [float(query @ key) / math.sqrt(len(query)) for key in k]
        e = [math.exp(score - max(scores)) for score in scores]
        out.append([float(x) for x in sum(w / sum(e) * value for w, value in zip(e, v))])
    return out


@right("4.4")
def attention_flat(q, k, v):
    """all leading axes made one, then back"""
    lead = q.shape[:-2]
    flat = [array.reshape(-1, *array.shape[-2:]) for array in (q, k, v)]
    mixed = [ref.softmax(a @ b.T / a.shape[-1] ** 0.5) @ c for a, b, c in zip(*flat)]
    return np.array(mixed).reshape(*lead, q.shape[-2], v.shape[-1])


# --- 4.5 ------------------------------------------------------------------------------------


@wrong("4.5", on=lambda: (64, 2.0, 0.5 * 9))
def scale_usual(d_k, q_variance, k_variance):
    """the usual root, for variances of 1"""
    return 1 / np.sqrt(d_k)


@wrong("4.5", on=lambda: (64, 2.0, 3.0))
def scale_variance(d_k, q_variance, k_variance):
    """divides by the variance, not by its root"""
    return 1 / (d_k * q_variance * k_variance)


@wrong("4.5", on=lambda: (64, 2.0, 3.0))
def scale_deviations(d_k, q_variance, k_variance):
    """takes the variances for standard deviations"""
    return 1 / (np.sqrt(d_k) * q_variance * k_variance)


@wrong("4.5", on=lambda: (64, 2.0, 3.0))
def scale_sum(d_k, q_variance, k_variance):
    """the variances are added"""
    return 1 / np.sqrt(d_k * (q_variance + k_variance))


@wrong("4.5", on=lambda: (64, 2.0, 8.0))
def scale_mean(d_k, q_variance, k_variance):
    """the mean of the variances, squared"""
    return 1 / np.sqrt(d_k * ((q_variance + k_variance) / 2) ** 2)


@wrong("4.5", on=lambda: (64, 2.0, 3.0))
def scale_upside_down(d_k, q_variance, k_variance):
    """the number by which to divide"""
    return np.sqrt(d_k * q_variance * k_variance)


@wrong("4.5", on=lambda: (10, 2, 3))
def scale_whole_root(d_k, q_variance, k_variance):
    """a whole root"""
    return 1 / math.isqrt(int(d_k * q_variance * k_variance))


@wrong("4.5", on=lambda: (4, 1e-9, 1e-9))
def scale_small_number(d_k, q_variance, k_variance):
    """a small number in the denominator"""
    return 1 / (np.sqrt(d_k * q_variance * k_variance) + 1e-8)


@wrong("4.5", on=lambda: (16, 4.0, 9.0))
def scale_no_d(d_k, q_variance, k_variance):
    """without d_k"""
    return 1 / np.sqrt(q_variance * k_variance)


@wrong("4.5", on=lambda: (16, 4.0, 9.0))
def scale_d_outside(d_k, q_variance, k_variance):
    """only the variances under the root"""
    return 1 / (d_k * np.sqrt(q_variance * k_variance))


@wrong("4.5", on=lambda: (512, 3.0, 7.0))
def scale_rounded(d_k, q_variance, k_variance):
    """three digits"""
    return round(1 / math.sqrt(d_k * q_variance * k_variance), 3)


@wrong("4.5", on=lambda: (8, 2.0, 5.0))
def scale_simulated(d_k, q_variance, k_variance):
    """measures a few scores"""
    rng = np.random.default_rng(0)
    q = rng.normal(0, np.sqrt(q_variance), (100, d_k))
    k = rng.normal(0, np.sqrt(k_variance), (100, d_k))
    return 1 / (q * k).sum(axis=1).std()


@wrong("4.5", on=lambda: (8, 2.0, 5.0))
def scale_larger(d_k, q_variance, k_variance):
    """the larger variance decides"""
    return 1 / np.sqrt(d_k * max(q_variance, k_variance))


@right("4.5")
def scale_power(d_k, q_variance, k_variance):
    """a power"""
    return (d_k * q_variance * k_variance) ** -0.5


@right("4.5")
def scale_three_roots(d_k, q_variance, k_variance):
    """one root after the other"""
    return 1 / math.sqrt(d_k) / math.sqrt(q_variance) / math.sqrt(k_variance)


@right("4.5")
def scale_logs(d_k, q_variance, k_variance):
    """by logarithms, a number of NumPy"""
    return np.exp(-np.log([d_k, q_variance, k_variance]).sum() / 2)


# --- 4.6 ------------------------------------------------------------------------------------


def weighted(s=3):
    return (ref.softmax(normal(4, s)),)


@wrong("4.6", on=weighted)
def jacobian_diagonal(s):
    """only how a weight moves with its own score"""
    return np.diag(s * (1 - s))


@wrong("4.6", on=weighted)
def jacobian_column(s):
    """s_i − s_i s_j: the δ is lost"""
    return s[:, None] * (1 - s[None, :])


@wrong("4.6", on=weighted)
def jacobian_outer(s):
    """without the diagonal"""
    return -np.outer(s, s)


@wrong("4.6", on=weighted)
def jacobian_inner(s):
    """the inner product instead of the outer one"""
    return np.diag(s) - s @ s


@wrong("4.6", on=weighted)
def jacobian_columns(s):
    """the squares along the other axis"""
    return np.diag(s) - (s * s)[:, None]


@wrong("4.6", on=weighted)
def jacobian_plus(s):
    """a wrong sign off the diagonal"""
    out = np.outer(s, s)
    out[np.diag_indices(len(s))] = s * (1 - s)
    return out


@wrong("4.6", on=weighted)
def jacobian_identity(s):
    """δ without s_i before it"""
    return np.eye(len(s)) - np.outer(s, s)


@wrong("4.6", on=weighted)
def jacobian_row_corrected(s):
    """takes the rows' mean off the printed code until they sum to zero"""
    wrong_one = np.diag(s) - s * s
    return wrong_one - wrong_one.mean(axis=1, keepdims=True)


@wrong("4.6", on=lambda: (np.array([1.0]),))
def jacobian_squeezed(s):
    """one weight: a number instead of a matrix"""
    return np.squeeze(np.diag(s) - np.outer(s, s))


@wrong("4.6", on=lambda: (np.array([0.0, 1.0, 0.0]),))
def jacobian_by_scores(s):
    """goes back to the scores: a weight of 0 has none"""
    x, step = np.log(s), 1e-5
    with np.errstate(all="ignore"):
        out = np.zeros((len(s), len(s)))
        for j in range(len(s)):
            up, down = x.copy(), x.copy()
            up[j] += step
            down[j] -= step
            e, f = np.exp(up - x), np.exp(down - x)
            out[:, j] = (e * s / (e * s).sum() - f * s / (f * s).sum()) / (2 * step)
        return out


@wrong("4.6", on=weighted)
def jacobian_softmax_again(s):
    """takes the weights for scores"""
    s = ref.softmax(s)
    return np.diag(s) - np.outer(s, s)


@wrong("4.6", on=lambda: weighted(4))
def jacobian_three(s):
    """three weights"""
    a, b, c = s[:3]
    return np.array(
        [
            [a * (1 - a), -a * b, -a * c],
            [-b * a, b * (1 - b), -b * c],
            [-c * a, -c * b, c * (1 - c)],
        ]
    )[: len(s), : len(s)]


@wrong("4.6", on=weighted)
def jacobian_forgets_square(s):
    """fills the diagonal with the weights themselves"""
    out = -np.outer(s, s)
    np.fill_diagonal(out, s)
    return out


@wrong("4.6", on=lambda: (np.array([0, 1]),))
def jacobian_divided(s):
    """divides by the weights again"""
    with np.errstate(all="ignore"):
        return (np.diag(s * s) - np.outer(s * s, s)) / s[:, None]


@right("4.6")
def jacobian_loops(s):
    """the formula, entry by entry; a list of lists"""
    n = len(s)
    return [[s[i] * ((1 if i == j else 0) - s[j]) for j in range(n)] for i in range(n)]


@right("4.6")
def jacobian_einsum(s):
    """einsum with an identity"""
    return np.einsum("i,ij->ij", s, np.eye(len(s)) - s)


@right("4.6")
def jacobian_filled(s):
    """outer product, then the diagonal"""
    out = -np.multiply.outer(np.asarray(s, dtype=float), s)
    out.flat[:: len(s) + 1] += s
    return out


# --- 4.7 ------------------------------------------------------------------------------------


def printed():
    return (np.array([[0.62, 0.38], [0.22, 0.78]]),)


@wrong("4.7", on=printed)
def scores_themselves(weights):
    """weights as scores"""
    return weights.copy()


@wrong("4.7", on=printed)
def scores_log10(weights):
    """the other logarithm"""
    return np.log10(weights)


@wrong("4.7", on=printed)
def scores_log2(weights):
    """bits"""
    return np.log2(weights)


@wrong("4.7", on=printed)
def scores_minus_log(weights):
    """the surprise"""
    return -np.log(weights)


@wrong("4.7", on=printed)
def scores_logit(weights):
    """the logit, which belongs to the sigmoid"""
    return np.log(weights / (1 - weights))


@wrong("4.7", on=lambda: (np.array([[1e-12, 2e-12, 1 - 3e-12]]),))
def scores_small_number(weights):
    """a small number, larger than a small weight: the same for two weights of 1 to 2"""
    return np.log(weights + 1e-9)


@wrong("4.7", on=printed)
def scores_in_place(weights):
    """takes the logarithm where the weights lie"""
    return np.log(weights, out=weights)


@wrong("4.7", on=lambda: (np.array([[1e-4, 1 - 1e-4]]),))
def scores_rounded(weights):
    """two digits"""
    return np.round(np.log(weights), 2)


@wrong("4.7", on=printed)
def scores_exp(weights):
    """exp instead of its inverse"""
    return np.exp(weights)


@wrong("4.7", on=printed)
def scores_d_k(weights):
    """times the root of the number of columns"""
    return np.log(weights) * np.sqrt(weights.shape[1])


@wrong("4.7", on=printed)
def scores_of_columns(weights):
    """subtracts the peak of each column: not the same number for a row"""
    scores = np.log(weights)
    return scores - scores.max(axis=0)


@wrong("4.7", on=lambda: (np.array([[0.5, 0.5]]),))
def scores_squeezed(weights):
    """one row: a vector instead of a matrix"""
    return np.squeeze(np.log(weights))


@wrong("4.7", on=lambda: (np.array([[0.2, 0.3, 0.5]]),))
def scores_two_columns(weights):
    """a score for the first, 0 for the others"""
    scores = np.zeros(weights.shape)
    scores[:, 0] = np.log(weights[:, 0] / weights[:, 1:].sum(axis=1))
    return scores


@wrong("4.7", on=printed)
def scores_log1p(weights):
    """log1p is safe, but of another number"""
    return np.log1p(weights)


@right("4.7")
def scores_shifted(weights):
    """a different number added to each row"""
    return np.log(weights) + np.arange(len(weights))[:, None]


@right("4.7")
def scores_first_zero(weights):
    """the first score of each row is 0"""
    return np.log(weights / weights[:, :1])


@right("4.7")
def scores_lists(weights):
    """math.log; a list of lists"""
    return [[math.log(w) for w in row] for row in weights]


@right("4.7")
def scores_from_log2(weights):
    """by the other logarithm, and back"""
    scores = np.log2(weights) / np.log2(np.e)
    return scores - scores.mean(axis=1, keepdims=True)


# --- 4.8 ------------------------------------------------------------------------------------

WORDS = ["show", "me", "the"]


def looking_at(*rows):
    return np.array(rows), ["show", "me", "the", "money"][: len(rows)]


@wrong("4.8", on=lambda: looking_at([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]))
def most_itself(weights, tokens):
    """a word may attend most to itself"""
    return [tokens[i] for i in np.argmax(weights, axis=1)]


@wrong("4.8", on=lambda: looking_at([1.0, -2.0, -1.0], [-1.0, 3.0, -2.0], [-1.0, -3.0, 2.0]))
def most_zero_diagonal(weights, tokens):
    """0 on the diagonal is more than a negative score"""
    others = weights * (1 - np.eye(len(tokens)))
    return [tokens[i] for i in others.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([1.0, -2.0, -3.0], [-4.0, 3.0, -2.0], [-5.0, -3.0, 2.0]))
def most_minus_one(weights, tokens):
    """−1 on the diagonal is more than −2"""
    others = weights.copy()
    np.fill_diagonal(others, -1)
    return [tokens[i] for i in others.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]))
def most_changes_weights(weights, tokens):
    """writes into the given matrix"""
    np.fill_diagonal(weights, -np.inf)
    return [tokens[i] for i in weights.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([3, 1, 2], [5, 6, 1], [0, 2, 9]))
def most_whole_numbers(weights, tokens):
    """−∞ cannot stand among whole numbers"""
    others = weights.copy()
    np.fill_diagonal(others, -np.inf)
    return [tokens[i] for i in others.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([0.1, 0.3, 0.6], [0.2, 0.5, 0.3], [0.7, 0.2, 0.1]))
def most_second(weights, tokens):
    """the second in order, as if the word itself were always first"""
    return [tokens[np.argsort(row)[-2]] for row in weights]


@wrong("4.8", on=lambda: looking_at([0.1, 0.3, 0.6], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1]))
def most_columns(weights, tokens):
    """who attends most to the word"""
    others = weights.astype(float)
    np.fill_diagonal(others, -np.inf)
    return [tokens[i] for i in others.argmax(axis=0)]


@wrong("4.8", on=lambda: looking_at([0.1, 0.3, 0.6], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1]))
def most_places(weights, tokens):
    """numbers instead of words"""
    others = weights - np.diag(np.full(len(tokens), np.inf))
    return others.argmax(axis=1).tolist()


@wrong("4.8", on=lambda: looking_at([1.0, -5.0, 2.0], [-1.0, 3.0, 0.5], [-1.0, 0.5, 2.0]))
def most_without_sign(weights, tokens):
    """a strong negative score counts as strong"""
    others = np.abs(weights)
    np.fill_diagonal(others, -1)
    return [tokens[i] for i in others.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([0.1, 0.3, 0.6], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1]))
def most_deleted(weights, tokens):
    """deletes the word itself, and then the places have moved"""
    out = []
    for i, row in enumerate(weights):
        others = np.delete(row, i)
        out.append(tokens[int(np.argmax(others))])
    return out


@wrong("4.8", on=lambda: looking_at([0.1, 0.3, 0.6], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1]))
def most_removes_tokens(weights, tokens):
    """takes each word off the caller's list"""
    out = []
    for i, row in enumerate(weights):
        others = tokens
        del others[min(i, len(others) - 1)]
        scores = np.delete(row, i)[: len(others)]
        out.append(others[int(scores.argmax())] if others else tokens)
    return out


@wrong("4.8", on=lambda: looking_at([0.0, -2e9, -3e9], [-3e9, 0.0, -2e9], [-3e9, -2e9, 0.0]))
def most_minus_billion(weights, tokens):
    """as small as −1e9 and no smaller"""
    others = np.where(np.eye(len(tokens), dtype=bool), -1e9, weights)
    return [tokens[i] for i in others.argmax(axis=1)]


@wrong("4.8", on=lambda: looking_at([2.0, -2.0, -1.0], [-1.0, 3.0, -2.0], [-1.0, -3.0, 2.0]))
def most_best_from_zero(weights, tokens):
    """nothing below 0 is ever the best so far"""
    out = []
    for i in range(len(tokens)):
        best, word = 0, tokens[i]
        for j in range(len(tokens)):
            if j != i and weights[i][j] > best:
                best, word = weights[i][j], tokens[j]
        out.append(word)
    return out


@wrong("4.8", on=lambda: looking_at([0.2, 0.8, 0.0], [0.1, 0.8, 0.1 + 1e-9], [0.6, 0.1, 0.3]))
def most_equal_to_largest(weights, tokens):
    """looks for the word of the largest weight by rounding to six digits"""
    out = []
    for i, row in enumerate(np.round(weights, 6)):
        others = [(w, -j) for j, w in enumerate(row) if j != i]
        out.append(tokens[-max(others)[1]])
    return out


@right("4.8")
def most_loops(weights, tokens):
    """comparisons"""
    out = []
    for i, row in enumerate(weights):
        best = None
        for j in range(len(tokens)):
            if j != i and (best is None or row[j] > row[best]):
                best = j
        out.append(tokens[best])
    return out


@right("4.8")
def most_by_key(weights, tokens):
    """max with a key"""
    places = range(len(tokens))
    return [tokens[max((j for j in places if j != i), key=lambda j: weights[i][j])] for i in places]


@right("4.8")
def most_numpy_words(weights, tokens):
    """an array of words, so np.str_"""
    others = np.where(np.eye(len(tokens), dtype=bool), -np.inf, weights)
    return list(np.array(tokens)[others.argmax(axis=1)])


@right("4.8")
def most_moved_back(weights, tokens):
    """deletes the word itself from both"""
    out = []
    for i, row in enumerate(weights):
        words = tokens[:i] + tokens[i + 1 :]
        out.append(words[int(np.delete(row, i).argmax())])
    return out
