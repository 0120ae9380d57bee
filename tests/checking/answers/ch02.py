"""Answers to chapter 2 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import math
from collections import Counter

import numpy as np
from answers import delegates, right, wrong

from tfmlib import ref


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


# --- 2.1 ------------------------------------------------------------------------------------


def looking(*shape, v=5, d=3):
    ids = np.random.default_rng(1).integers(v, size=shape)
    return ids, normal(0, v, d)


@wrong("2.1", on=lambda: (np.array(2), normal(0, 5, 3)))
def embed_row_by_row(ids, table):
    """a single id has no rows to go through"""
    return np.array([table[i] for i in ids])


@wrong("2.1", on=lambda: looking(2, 3))
def embed_compare(ids, table):
    """one-hot rows by comparison, for a list of ids only"""
    one_hot = (ids[:, None] == np.arange(len(table))).astype(float)
    return one_hot @ table


@wrong("2.1", on=lambda: looking(2, 3))
def embed_flat(ids, table):
    """all ids in one row, and left there"""
    return np.array([table[i] for i in np.asarray(ids).flatten()])


@wrong("2.1", on=lambda: looking(2, 3, 4))
def embed_two_cases(ids, table):
    """one axis or two"""
    if ids.ndim == 1:
        return np.stack([table[i] for i in ids])
    out = np.zeros((ids.shape[0], ids.shape[1], table.shape[1]))
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            out[b, t] = table[ids[b, t].item()]
    return out


@wrong("2.1", on=lambda: (np.array([1, 0]), normal(0, 3, 2)))
def embed_take(ids, table):
    """np.take without an axis reads single numbers"""
    return np.take(table, ids)


@wrong("2.1", on=lambda: (np.array([0, 2]), normal(0, 3, 2)))
def embed_from_one(ids, table):
    """the first word is number 1"""
    return table[ids - 1]


@wrong("2.1", on=lambda: (np.array([[1], [2]]), normal(0, 3, 2)))
def embed_squeezed(ids, table):
    """texts of one token lose an axis"""
    return table[ids].squeeze()


@wrong("2.1", on=lambda: (np.array([2, 0, 2]), normal(0, 3, 2)))
def embed_unique(ids, table):
    """each row once, in the order of the table"""
    return table[np.unique(ids)]


@wrong("2.1", on=lambda: (np.array([1, 0]), normal(0, 3, 3)))
def embed_columns(ids, table):
    """columns instead of rows"""
    return table[:, ids].T


@wrong("2.1", on=lambda: looking(4))
def embed_whole_numbers(ids, table):
    """room for whole numbers, because the ids are whole"""
    out = np.zeros(ids.shape + table.shape[1:], dtype=ids.dtype)
    for place in np.ndindex(*ids.shape):
        out[place] = table[ids[place]]
    return out


@wrong("2.1", on=lambda: (np.array([0, 1]), normal(0, 3, 2)))
def embed_padding(ids, table):
    """id 0 is padding and becomes zeros"""
    out = table[ids]
    out[ids == 0] = 0
    return out


@wrong("2.1", on=lambda: (np.array([[0, 1], [2, 1]]), normal(0, 3, 2)))
def embed_reshape(ids, table):
    """puts the new axis first by a wrong reshape"""
    rows = table[ids.ravel()]
    return rows.T.reshape(*ids.shape, table.shape[1])


@wrong("2.1", on=lambda: (np.array([[0, 1], [2, 1]]), normal(0, 3, 2)))
def embed_sum(ids, table):
    """adds up the rows of a sentence"""
    one_hot = np.eye(len(table))[ids]
    while one_hot.ndim > 2:
        one_hot = one_hot.sum(axis=-2)
    return one_hot @ table


@right("2.1")
def embed_product(ids, table):
    """the product with one-hot rows"""
    return np.eye(len(table))[ids] @ table


@right("2.1")
def embed_recursive(ids, table):
    """lists of lists of any depth"""
    if np.ndim(ids) == 0:
        return list(table[int(ids)])
    return np.array([embed_recursive(i, table) for i in ids]).reshape(
        *np.shape(ids), table.shape[1]
    )


@right("2.1")
def embed_ndindex(ids, table):
    """place by place"""
    out = np.empty(np.shape(ids) + (table.shape[1],))
    for place in np.ndindex(np.shape(ids)):
        out[place] = table[ids[place]]
    return out


@right("2.1")
def embed_take_rows(ids, table):
    """np.take with its axis"""
    return np.take(table, ids, axis=0)


# --- 2.2 ------------------------------------------------------------------------------------


def twice(ids=(1, 3, 1), v=5, d=2):
    return np.array(ids), normal(3, len(ids), d), v


@wrong("2.2", on=twice)
def gradient_last(ids, upstream, vocab_size):
    """a loop that overwrites"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    for token, row in zip(ids, upstream):
        gradient[token] = row
    return gradient


@wrong("2.2", on=twice)
def gradient_as_printed(ids, upstream, vocab_size):
    """the sum written out, but NumPy still writes each row once"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    gradient[ids] = gradient[ids] + upstream
    return gradient


@wrong("2.2", on=twice)
def gradient_mean(ids, upstream, vocab_size):
    """the mean of the positions"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    for token in set(ids.tolist()):
        gradient[token] = upstream[ids == token].mean(axis=0)
    return gradient


@wrong("2.2", on=twice)
def gradient_times_count(ids, upstream, vocab_size):
    """one of the rows, as many times as the word occurs"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    gradient[ids] = upstream
    counts = np.bincount(ids, minlength=vocab_size)
    return gradient * counts[:, None]


@wrong("2.2", on=twice)
def gradient_short(ids, upstream, vocab_size):
    """as many rows as the largest id needs"""
    gradient = np.zeros((max(ids) + 1, upstream.shape[1]))
    np.add.at(gradient, ids, upstream)
    return gradient


@wrong("2.2", on=lambda: twice((2, 2, 2)))
def gradient_two_only(ids, upstream, vocab_size):
    """first and second occurrence, but no third"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    _, first = np.unique(ids, return_index=True)
    gradient[ids[first]] += upstream[first]
    again = np.setdiff1d(np.arange(len(ids)), first)
    gradient[ids[again]] += upstream[again]
    return gradient


@wrong("2.2", on=twice)
def gradient_neighbours(ids, upstream, vocab_size):
    """adds up equal words only where they stand side by side"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    total = np.zeros(upstream.shape[1])
    for t in range(len(ids)):
        total = total + upstream[t] if t and ids[t] == ids[t - 1] else upstream[t]
        gradient[ids[t]] = total
    return gradient


@wrong("2.2", on=lambda: (np.array([1, 0, 1]), np.array([[1, 2], [3, 4], [5, 6]]), 4))
def gradient_in_upstream(ids, upstream, vocab_size):
    """adds up in the given array"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    for t, token in enumerate(ids):
        first = list(ids).index(token)
        if first < t:
            upstream[first] += upstream[t]
        gradient[token] = upstream[first]
    return gradient


@wrong("2.2", on=lambda: twice((0, 1, 0)))
def gradient_without_padding(ids, upstream, vocab_size):
    """id 0 is padding and learns nothing"""
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    for token, row in zip(ids, upstream):
        if token:
            gradient[token] += row
    return gradient


@wrong("2.2", on=lambda: twice(d=3))
def gradient_bincount(ids, upstream, vocab_size):
    """sums of the rows of upstream, the same in every column"""
    sums = np.bincount(ids, weights=upstream.sum(axis=1), minlength=vocab_size)
    return np.repeat(sums[:, None], upstream.shape[1], axis=1) / upstream.shape[1]


@wrong("2.2", on=lambda: twice(d=1))
def gradient_squeezed(ids, upstream, vocab_size):
    """one number a row: the axis is lost"""
    columns = [np.bincount(ids, weights=c, minlength=vocab_size) for c in upstream.T]
    return np.array(columns).T.squeeze()


@wrong("2.2", on=lambda: twice((1, 1, 2)))
def gradient_only_present(ids, upstream, vocab_size):
    """rows for the words that occur"""
    return np.array([upstream[ids == token].sum(axis=0) for token in np.unique(ids)])


@wrong("2.2", on=lambda: [twice(), twice()])
def gradient_kept(ids, upstream, vocab_size, kept={}):
    """adds to the gradient of the call before"""
    shape = (vocab_size, upstream.shape[1])
    gradient = kept.setdefault(shape, np.zeros(shape))
    np.add.at(gradient, ids, upstream)
    return gradient.copy()


@right("2.2")
def gradient_product(ids, upstream, vocab_size):
    """the equation: one-hot rows, turned, times upstream"""
    return np.eye(vocab_size)[np.asarray(ids, dtype=int)].T @ upstream


@right("2.2")
def gradient_each_token(ids, upstream, vocab_size):
    """for each token the sum over its positions"""
    places = np.asarray(ids)
    return [upstream[places == token].sum(axis=0) for token in range(vocab_size)]


@right("2.2")
def gradient_python(ids, upstream, vocab_size):
    """lists, number by number"""
    rows = [[0.0] * len(upstream[0]) for _ in range(vocab_size)]
    for token, row in zip(ids, upstream):
        for j, number in enumerate(row):
            rows[token][j] += number
    return np.array(rows)


# --- 2.3 ------------------------------------------------------------------------------------


def with_zero():
    return (np.array([[3.0, 4.0], [0.0, 0.0], [1.0, -1.0]]),)


@wrong("2.3", on=with_zero)
def cosine_nan(table):
    """a row of zeros gives nan"""
    lengths = np.sqrt((table**2).sum(axis=1))
    with np.errstate(all="ignore"):
        return table @ table.T / np.outer(lengths, lengths)


@wrong("2.3", on=lambda: (1e-6 * normal(0, 3, 2),))
def cosine_small_number(table):
    """a small number in the denominator, too large for small rows"""
    lengths = np.linalg.norm(table, axis=1)
    return table @ table.T / (np.outer(lengths, lengths) + 1e-9)


@wrong("2.3", on=lambda: (1e-9 * normal(0, 3, 2),))
def cosine_at_least(table):
    """small rows count as zeros"""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    units = table / np.maximum(lengths, 1e-8)
    return units @ units.T


@wrong("2.3", on=lambda: (1e-9 * normal(0, 3, 2),))
def cosine_isclose(table):
    """np.isclose takes small rows for zeros"""
    lengths = np.linalg.norm(table, axis=1)
    lengths = np.where(np.isclose(lengths, 0), np.inf, lengths)
    units = table / lengths[:, None]
    return units @ units.T


@wrong("2.3", on=with_zero)
def cosine_diagonal(table):
    """every word is like itself, also the one without a direction"""
    n = len(table)
    out = np.eye(n)
    for i in range(n):
        for j in range(i):
            lengths = np.linalg.norm(table[i]) * np.linalg.norm(table[j])
            out[i, j] = out[j, i] = table[i] @ table[j] / lengths if lengths else 0
    return out


@wrong("2.3", on=lambda: (np.array([[3.0, 4.0], [1.0, -1.0]]),))
def cosine_changes_table(table):
    """divides the table where it lies"""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(lengths == 0, 1, lengths)
    return table @ table.T


@wrong("2.3", on=lambda: (np.array([[3, 4], [1, 2]]),))
def cosine_whole_numbers(table):
    """unit vectors kept as whole numbers"""
    units = np.zeros_like(table)
    for i, row in enumerate(table):
        if row.any():
            units[i] = row / np.linalg.norm(row)
    return units @ units.T


@wrong("2.3", on=lambda: (np.array([[3.0, 4.0], [-3.0, 1.0]]),))
def cosine_not_negative(table):
    """clips to the range from 0 to 1"""
    lengths = np.linalg.norm(table, axis=1)
    lengths[lengths == 0] = 1
    return np.clip(table @ table.T / np.outer(lengths, lengths), 0, 1)


@wrong("2.3", on=lambda: (normal(0, 3, 4),))
def cosine_correlation(table):
    """the correlation, which takes off the mean"""
    out = np.corrcoef(table)
    return np.nan_to_num(np.atleast_2d(out))


@wrong("2.3", on=lambda: (normal(0, 3, 3),))
def cosine_columns(table):
    """lengths of the columns"""
    lengths = np.linalg.norm(table, axis=0)
    units = table / np.where(lengths == 0, 1, lengths)
    return units @ units.T


@wrong("2.3", on=lambda: (normal(0, 3, 3),))
def cosine_one_length(table):
    """divides by one of the two lengths"""
    lengths = np.linalg.norm(table, axis=1)
    return table @ table.T / np.where(lengths == 0, 1, lengths)


@wrong("2.3", on=lambda: (normal(0, 3, 2),))
def cosine_squares(table):
    """forgets the root"""
    squares = (table**2).sum(axis=1)
    products = np.outer(squares, squares)
    return table @ table.T / np.where(products == 0, 1, products)


@wrong("2.3", on=lambda: (np.array([[2.0, 1.0]]),))
def cosine_squeezed(table):
    """a table of one word is still a matrix"""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    units = table / np.where(lengths > 0, lengths, 1)
    return np.squeeze(units @ units.T)


@wrong("2.3", on=lambda: (np.array([[1.0, -1.0], [2.0, 1.0]]),))
def cosine_sum_is_zero(table):
    """takes a row whose numbers add up to 0 for a row of zeros"""
    n = len(table)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if table[i].sum() and table[j].sum():
                out[i, j] = (
                    table[i] @ table[j] / np.linalg.norm(table[i]) / np.linalg.norm(table[j])
                )
    return out


@right("2.3")
def cosine_loops(table):
    """pair by pair, a list of lists"""

    def cosine(a, b):
        lengths = math.hypot(*a) * math.hypot(*b)
        return sum(x * y for x, y in zip(a, b)) / lengths if lengths else 0.0

    return [[cosine(a, b) for b in table] for a in table]


@right("2.3")
def cosine_einsum(table):
    """einsum, division only where it is allowed"""
    products = np.einsum("id,jd->ij", table, table).astype(float)
    lengths = np.sqrt(np.diag(products))
    both = np.outer(lengths, lengths)
    return np.divide(products, both, out=np.zeros_like(products), where=both > 0)


@delegates("2.3")
def cosine_ref(table):
    """the library's cosine, broadcast"""
    return ref.cosine_similarity(table[:, None], table[None])


# --- 2.4 ------------------------------------------------------------------------------------


@wrong("2.4", on=lambda: (0.5,))
def distance_one_minus(cosine):
    """the cosine distance, which is no length"""
    return 1 - np.asarray(cosine)


@wrong("2.4", on=lambda: (np.array([0.0, 0.5]),))
def distance_no_root(cosine):
    """the square of the distance"""
    return 2 - 2 * np.asarray(cosine)


@wrong("2.4", on=lambda: (-0.5,))
def distance_sine(cosine):
    """the sine: the height of a triangle"""
    return np.sqrt(1 - np.asarray(cosine) ** 2)


@wrong("2.4", on=lambda: (0.0,))
def distance_angle(cosine):
    """the angle: the way along the circle"""
    return np.arccos(cosine)


@wrong("2.4", on=lambda: (0.3,))
def distance_plus(cosine):
    """a wrong sign: the length of the sum"""
    return np.sqrt(2 + 2 * np.asarray(cosine))


@wrong("2.4", on=lambda: (np.array([0.1, 0.2]),))
def distance_math(cosine):
    """math.sqrt, for one number"""
    return math.sqrt(2 - 2 * cosine)


@wrong("2.4", on=lambda: (0.25,))
def distance_row(cosine):
    """a number comes back as an array"""
    return np.array([(2 - 2 * c) ** 0.5 for c in np.atleast_1d(cosine)])


@wrong("2.4", on=lambda: (np.array([[0.1, 0.2], [0.3, 0.4]]),))
def distance_one_axis(cosine):
    """goes through one axis only"""
    if np.ndim(cosine) == 0:
        return math.sqrt(2 * (1 - cosine))
    return np.array([math.sqrt(2 * (1 - c)) for c in np.ravel(cosine)])


@wrong("2.4", on=lambda: (np.array([0, 1, -1]),))
def distance_whole_numbers(cosine):
    """whole-number cosines make whole-number distances"""
    cosine = np.asarray(cosine)
    out = np.zeros_like(cosine)
    out[...] = np.sqrt(2 - 2 * cosine)
    return out


@wrong("2.4", on=lambda: (np.array([0.5, -0.5]),))
def distance_in_place(cosine):
    """computes in the given array"""
    if np.ndim(cosine) == 0:
        return np.sqrt(2 - 2 * cosine)
    cosine *= -2
    cosine += 2
    return np.sqrt(cosine)


@wrong("2.4", on=lambda: (1.0,))
def distance_clipped(cosine):
    """never quite zero"""
    return np.sqrt(np.clip(2 - 2 * np.asarray(cosine), 1e-9, None))


@wrong("2.4", on=lambda: (-0.5,))
def distance_without_sign(cosine):
    """the sign of the cosine is lost"""
    return np.sqrt(2 - 2 * np.abs(cosine))


@wrong("2.4", on=lambda: (np.array([[0.5]]),))
def distance_squeezed(cosine):
    """axes of size 1 are lost"""
    return np.squeeze(np.sqrt(2 - 2 * np.asarray(cosine)))


@wrong("2.4", on=lambda: (0.5,))
def distance_line(cosine):
    """√2 at a right angle, 0 at the cosine 1, and a line through the two"""
    return np.sqrt(2) * (1 - np.asarray(cosine))


@right("2.4")
def distance_half_angle(cosine):
    """twice the sine of half the angle"""
    return 2 * np.sin(np.arccos(cosine) / 2)


@right("2.4")
def distance_two_vectors(cosine):
    """the vectors (1, 0) and (cos, sin)"""
    return np.hypot(1 - np.asarray(cosine), np.sqrt(1 - np.square(cosine)))


@right("2.4")
def distance_vectorize(cosine):
    """one number at a time"""
    return np.vectorize(lambda c: math.sqrt(2.0 - 2.0 * c), otypes=[float])(cosine)


# --- 2.5 ------------------------------------------------------------------------------------


@wrong("2.5", on=lambda: ([0, 1, 2], 4, 1))
def near_after_only(ids, vocab_size, window):
    """neighbours after the word, but not before"""
    counts = np.zeros((vocab_size, vocab_size))
    for i in range(len(ids)):
        for j in range(i + 1, min(len(ids), i + window + 1)):
            counts[ids[i], ids[j]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2], 4, 1))
def near_itself(ids, vocab_size, window):
    """a position is its own neighbour"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for o in ids[max(0, i - window) : i + window + 1]:
            counts[c, o] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 0, 1], 2, 1))
def near_other_words(ids, vocab_size, window):
    """a word is never near itself"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for o in ids[max(0, i - window) : i + window + 1]:
            if c != o:
                counts[c, o] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2, 3], 4, 2))
def near_below_window(ids, vocab_size, window):
    """less than window places away"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for j, o in enumerate(ids):
            if i != j and abs(i - j) < window:
                counts[c, o] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2, 3], 4, 2))
def near_negative_slice(ids, vocab_size, window):
    """a slice that begins below 0 is empty"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for o in list(ids[i - window : i]) + list(ids[i + 1 : i + 1 + window]):
            counts[c, o] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2, 3], 4, 1))
def near_ring(ids, vocab_size, window):
    """after the end comes the beginning"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for step in range(1, window + 1):
            counts[c, ids[(i + step) % len(ids)]] += 1
            counts[c, ids[i - step]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 0, 2], 3, 1))
def near_first_place(ids, vocab_size, window):
    """finds the place of a word by index: always its first"""
    counts = np.zeros((vocab_size, vocab_size))
    ids = list(ids)
    for c in ids:
        i = ids.index(c)
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                counts[c, ids[j]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 0, 1], 2, 1))
def near_yes_or_no(ids, vocab_size, window):
    """1 for near, however often"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for j, o in enumerate(ids):
            if 0 < abs(i - j) <= window:
                counts[c, o] = 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 0, 1], 2, 1))
def near_fancy(ids, vocab_size, window):
    """whole arrays at once: a pair that comes twice is added once"""
    ids = np.array(ids)
    counts = np.zeros((vocab_size, vocab_size))
    for step in range(1, min(window, len(ids) - 1) + 1):
        counts[ids[:-step], ids[step:]] += 1
        counts[ids[step:], ids[:-step]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2, 3], 4, 2))
def near_exactly(ids, vocab_size, window):
    """exactly window places away"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for j in (i - window, i + window):
            if 0 <= j < len(ids):
                counts[c, ids[j]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1], 3, 5))
def near_wide_window(ids, vocab_size, window):
    """a window wider than the sentence runs past its end"""
    counts = np.zeros((vocab_size, vocab_size))
    for i in range(len(ids)):
        for step in range(1, window + 1):
            if i - step >= 0:
                counts[ids[i], ids[i - step]] += 1
            if i + step <= len(ids) - 1 or window > len(ids):
                counts[ids[i], ids[i + step]] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1], 4, 1))
def near_small_table(ids, vocab_size, window):
    """a table for the words of the sentence only"""
    size = max(ids) + 1
    counts = np.zeros((size, size))
    for i, c in enumerate(ids):
        for j, o in enumerate(ids):
            if i != j and abs(i - j) <= window:
                counts[c, o] += 1
    return counts


@wrong("2.5", on=lambda: ([0, 1, 2], 3, 1))
def near_twice(ids, vocab_size, window):
    """each pair is found from both ends and entered at both ends"""
    counts = np.zeros((vocab_size, vocab_size))
    for i, c in enumerate(ids):
        for j, o in enumerate(ids):
            if i != j and abs(i - j) <= window:
                counts[c, o] += 1
                counts[o, c] += 1
    return counts


@wrong("2.5", on=lambda: ([1, 0], 2, 1))
def near_positions(ids, vocab_size, window):
    """by places instead of tokens"""
    counts = np.zeros((vocab_size, vocab_size))
    for i in range(len(ids)):
        for j in range(len(ids)):
            if i == j or abs(i - j) > window:
                continue
            counts[min(i, vocab_size - 1), ids[j]] += 1
    return counts


@right("2.5")
def near_product(ids, vocab_size, window):
    """one-hot rows on both sides of a band of ones"""
    one_hot = np.eye(vocab_size)[np.asarray(ids, dtype=int)]
    places = np.arange(len(ids))
    apart = np.abs(places[:, None] - places)
    return one_hot.T @ ((apart > 0) & (apart <= window)).astype(float) @ one_hot


@right("2.5")
def near_counter(ids, vocab_size, window):
    """a Counter of pairs; a list of lists"""
    pairs = Counter()
    for i, c in enumerate(ids):
        around = list(ids[max(0, i - window) : i]) + list(ids[i + 1 : i + 1 + window])
        pairs.update((c, o) for o in around)
    return [[float(pairs[c, o]) for o in range(vocab_size)] for c in range(vocab_size)]


@right("2.5")
def near_one_side(ids, vocab_size, window):
    """neighbours after the word, and the same turned"""
    counts = np.zeros((vocab_size, vocab_size))
    for step in range(1, window + 1):
        for c, o in zip(ids, ids[step:]):
            counts[c, o] += 1
    return counts + counts.T


# --- 2.6 ------------------------------------------------------------------------------------


def company(v=3, w=4):
    counts = np.random.default_rng(5).integers(0, 4, size=(v, w)).astype(float)
    counts[0, 0] += 1
    return counts, normal(6, v, w)


def lonely():
    """A word without neighbours."""
    counts, scores = company(3, 3)
    counts[1] = 0
    return counts, scores


@wrong("2.6", on=company)
def scores_not_mean(counts, scores):
    """the sum of the surprises, not the mean"""
    return ref.softmax(scores) * counts.sum(axis=1, keepdims=True) - counts


@wrong("2.6", on=company)
def scores_without_weights(counts, scores):
    """prediction minus counts, as if each word had one neighbour"""
    return (ref.softmax(scores) - counts) / counts.sum()


@wrong("2.6", on=company)
def scores_shares(counts, scores):
    """each row as if it were all there is"""
    rows = counts.sum(axis=1, keepdims=True)
    return ref.softmax(scores) - counts / np.where(rows == 0, 1, rows)


@wrong("2.6", on=company)
def scores_wrong_sign(counts, scores):
    """truth minus prediction"""
    p = ref.softmax(scores)
    return (counts - p * counts.sum(axis=1, keepdims=True)) / counts.sum()


@wrong("2.6", on=lambda: (np.array([[3.0, 1.0], [0.0, 2.0]]), normal(0, 2, 2)))
def scores_row_of_sums(counts, scores):
    """the sums lie along the wrong axis, which a square does not show"""
    return (ref.softmax(scores) * counts.sum(axis=1) - counts) / counts.sum()


@wrong("2.6", on=company)
def scores_columns(counts, scores):
    """softmax down the columns"""
    p = ref.softmax(scores.T).T
    return (p * counts.sum(axis=0) - counts) / counts.sum()


@wrong("2.6", on=lonely)
def scores_empty_row(counts, scores):
    """a word without neighbours gives nan"""
    rows = counts.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        truth = counts / rows
    return (ref.softmax(scores) - truth) * rows / counts.sum()


@wrong("2.6", on=lambda: (np.ones((2, 2)), np.array([[1000.0, 0.0], [0.0, 0.0]])))
def scores_own_softmax(counts, scores):
    """exponentials of large scores"""
    with np.errstate(all="ignore"):
        e = np.exp(scores)
        p = e / e.sum(axis=1, keepdims=True)
    return (p * counts.sum(axis=1, keepdims=True) - counts) / counts.sum()


@wrong("2.6", on=company)
def scores_divided_by_words(counts, scores):
    """the mean over the words, not over the neighbours"""
    p = ref.softmax(scores)
    return (p * counts.sum(axis=1, keepdims=True) - counts) / len(counts)


@wrong("2.6", on=company)
def scores_in_place(counts, scores):
    """computes in the counts"""
    n = counts.sum()
    p = ref.softmax(scores) * counts.sum(axis=1, keepdims=True)
    counts -= p
    counts /= -n
    return counts


@wrong("2.6", on=lambda: (np.array([[3.0, 1.0], [0.0, 2.0]]), np.zeros((2, 2))))
def scores_different_pairs(counts, scores):
    """n is the number of different pairs"""
    p = ref.softmax(scores)
    return (p * counts.sum(axis=1, keepdims=True) - counts) / np.count_nonzero(counts)


@wrong("2.6", on=lambda: company(3, 4))
def scores_square(counts, scores):
    """as many neighbours as words"""
    v = len(counts)
    gradient = np.zeros((v, v))
    p = ref.softmax(scores)
    for c in range(v):
        for o in range(v):
            gradient[c, o] = (p[c, o] * counts[c].sum() - counts[c, o]) / counts.sum()
    return gradient


@wrong("2.6", on=lambda: (np.array([[3, 1], [0, 2]]), normal(0, 2, 2)))
def scores_whole_numbers(counts, scores):
    """room for whole numbers if the counts are whole"""
    gradient = np.zeros_like(counts)
    p = ref.softmax(scores)
    for c in range(len(counts)):
        gradient[c] = (p[c] * counts[c].sum() - counts[c]) / counts.sum()
    return gradient


@wrong("2.6", on=lambda: (np.array([[3.0, 1.0], [1.0, 2.0]]), normal(0, 2, 2)))
def scores_each_pair_once(counts, scores):
    """each pair once, however often it occurs"""
    p = ref.softmax(scores)
    gradient = np.zeros(scores.shape)
    pairs = np.argwhere(counts)
    for c, o in pairs:
        gradient[c] += p[c]
        gradient[c, o] -= 1
    return gradient / len(pairs)


@right("2.6")
def scores_pair_by_pair(counts, scores):
    """prediction minus truth, added up over the pairs"""
    p, gradient = ref.softmax(scores), np.zeros(np.shape(scores))
    for (c, o), times in np.ndenumerate(counts):
        gradient[c] += times * (p[c] - np.eye(p.shape[1])[o])
    return gradient / np.sum(counts)


@right("2.6")
def scores_einsum(counts, scores):
    """einsum with shares"""
    share = counts / counts.sum()
    return np.einsum("co,cw->cw", share, ref.softmax(scores)) - share


@right("2.6")
def scores_lists(counts, scores):
    """plain Python; a list of lists"""
    n = sum(map(sum, counts))
    out = []
    for row, score in zip(counts, scores):
        peak, total = max(score), sum(row)
        e = [math.exp(s - peak) for s in score]
        out.append([(x / sum(e) * total - number) / n for x, number in zip(e, row)])
    return out


# --- 2.7 ------------------------------------------------------------------------------------


def unequal():
    return np.array([10.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.5])


@wrong("2.7", on=unequal)
def compromise_sum(a, b):
    """the sum: the longer one wins"""
    return a + b


@wrong("2.7", on=unequal)
def compromise_one(a, b):
    """makes only one of them a unit"""
    return a / np.linalg.norm(a) + b


@wrong("2.7", on=unequal)
def compromise_product(a, b):
    """entry by entry"""
    return a * b


@wrong("2.7", on=unequal)
def compromise_sums(a, b):
    """divides by the sum of the entries"""
    return a / a.sum() + b / b.sum()


@wrong("2.7", on=lambda: (np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0])))
def compromise_largest(a, b):
    """divides by the largest entry"""
    return a / np.abs(a).max() + b / np.abs(b).max()


@wrong("2.7", on=unequal)
def compromise_squares(a, b):
    """divides by the squared length"""
    return a / (a @ a) + b / (b @ b)


@wrong("2.7", on=unequal)
def compromise_crossed(a, b):
    """each times its own length, the wrong way round"""
    return a * np.linalg.norm(a) + b * np.linalg.norm(b)


@wrong("2.7", on=lambda: (np.array([1e-9, 0.0]), np.array([0.0, 1.0])))
def compromise_small_number(a, b):
    """a small number in the denominator, too large for a small vector"""
    return a / (np.linalg.norm(a) + 1e-8) + b / (np.linalg.norm(b) + 1e-8)


@wrong("2.7", on=lambda: (np.array([3.0, 4.0]), np.array([1.0, 0.0])))
def compromise_in_place(a, b):
    """divides the given vectors where they lie"""
    a /= np.linalg.norm(a)
    b /= np.linalg.norm(b)
    return a + b


@wrong("2.7", on=lambda: (np.array([3, 4]), np.array([1, 0])))
def compromise_whole_numbers(a, b):
    """keeps whole numbers whole"""
    out = np.zeros_like(a)
    out[:] = a / np.linalg.norm(a) + b / np.linalg.norm(b)
    return out


@wrong("2.7", on=unequal)
def compromise_difference(a, b):
    """the difference of the directions"""
    return b / np.linalg.norm(b) - a / np.linalg.norm(a)


@wrong("2.7", on=lambda: (np.array([1.0, -1.0]), np.array([1.0, 0.0])))
def compromise_roots(a, b):
    """a geometric mean, without the signs"""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return np.sqrt(np.abs(a * b))


@wrong("2.7", on=unequal)
def compromise_nearer(a, b):
    """one of the two: the cosine of both with it is the same"""
    return b if np.linalg.norm(a) > np.linalg.norm(b) else a


@right("2.7")
def compromise_by_lengths(a, b):
    """each times the length of the other"""
    return np.linalg.norm(b) * a + np.linalg.norm(a) * b


@right("2.7")
def compromise_unit(a, b):
    """in plain Python, of length 1"""
    la, lb = math.hypot(*a), math.hypot(*b)
    middle = [x / la + y / lb for x, y in zip(a, b)]
    size = math.hypot(*middle)
    return [x / size for x in middle]


@right("2.7")
def compromise_turned(a, b):
    """turns a towards b by half of the angle"""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    angle = np.arctan2(np.linalg.norm(b - (a @ b) * a), a @ b)
    side = b - (a @ b) * a
    size = np.linalg.norm(side)
    if size < 1e-12:
        return 7 * a
    return 7 * (np.cos(angle / 2) * a + np.sin(angle / 2) * side / size)
