"""Answers to chapter 11 as learners write them.

Wrong ones come with an input that shows it, right ones in other forms.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from answers import right, wrong

from tfmlib import ref

# --- 11.1 -----------------------------------------------------------------------------------


@wrong("11.1", on=lambda: (119, 1, 1))
def longest_rounded(memory, matrices, bytes_each):
    """rounds to the nearest: the last token does not fit"""
    return round(math.sqrt(memory / (matrices * bytes_each)))


@wrong("11.1", on=lambda: (101, 1, 1))
def longest_rounded_up(memory, matrices, bytes_each):
    """rounds up"""
    return math.ceil(math.sqrt(memory / (matrices * bytes_each)))


@wrong("11.1", on=lambda: (10_000, 4, 2))
def longest_one_matrix(memory, matrices, bytes_each):
    """forgets how many matrices there are"""
    return math.isqrt(memory // bytes_each)


@wrong("11.1", on=lambda: (10_000, 4, 2))
def longest_one_byte(memory, matrices, bytes_each):
    """forgets the bytes of a score"""
    return math.isqrt(memory // matrices)


@wrong("11.1", on=lambda: (10_000, 4, 2))
def longest_without_root(memory, matrices, bytes_each):
    """one score for each token"""
    return memory // (matrices * bytes_each)


@wrong("11.1", on=lambda: (10_000, 4, 2))
def longest_root_of_memory_only(memory, matrices, bytes_each):
    """divides after the root"""
    return int(math.sqrt(memory) / (matrices * bytes_each))


@wrong("11.1", on=lambda: (800, 4, 2))
def longest_strictly_less(memory, matrices, bytes_each):
    """what fills the memory exactly counts as too much"""
    n = 0
    while (n + 1) ** 2 * matrices * bytes_each < memory:
        n += 1
    return n


@wrong("11.1", on=lambda: (1000, 4, 2))
def longest_with_decimals(memory, matrices, bytes_each):
    """a number of tokens with decimals"""
    return math.sqrt(memory / (matrices * bytes_each))


@wrong("11.1", on=lambda: (10_000, 4, 2))
def longest_in_bits(memory, matrices, bytes_each):
    """counts bits"""
    return math.isqrt(memory // (matrices * bytes_each * 8))


@wrong("11.1", on=lambda: (47 * 47 * 6, 3, 2))
def longest_two_roots(memory, matrices, bytes_each):
    """the quotient of two roots falls a little short of a whole number"""
    return int(math.sqrt(memory) / math.sqrt(matrices) / math.sqrt(bytes_each))


@wrong("11.1", on=lambda: (7, 4, 2))
def longest_at_least_one(memory, matrices, bytes_each):
    """one token always fits"""
    return max(1, int(math.sqrt(memory / (matrices * bytes_each))))


@wrong("11.1", on=lambda: (16_000_000_000, 288, 4))
def longest_power_of_two(memory, matrices, bytes_each):
    """doubles until it does not fit"""
    if matrices * bytes_each > memory:
        return 0
    n = 1
    while (2 * n) ** 2 * matrices * bytes_each <= memory:
        n *= 2
    return n


@wrong("11.1", on=lambda: (10**12, 1, 4))
def longest_up_to_a_hundred_thousand(memory, matrices, bytes_each):
    """searches up to a fixed number"""
    return max(n for n in range(100_000) if n * n * matrices * bytes_each <= memory)


@wrong("11.1", on=lambda: (300_000_000, 1, 1))
def longest_triangle(memory, matrices, bytes_each):
    """keeps only the scores that a look-ahead mask leaves"""
    n = 0
    while (n + 1) * (n + 2) // 2 * matrices * bytes_each <= memory:
        n += 1
    return n


@wrong("11.1", on=lambda: (20_000**2 - 1, 1, 1))
def longest_in_float32(memory, matrices, bytes_each):
    """float32 has too few digits"""
    return int(np.sqrt(np.float32(memory) / np.float32(matrices * bytes_each)))


@right("11.1")
def longest_isqrt(memory, matrices, bytes_each):
    """whole numbers all the way"""
    return math.isqrt(memory // (matrices * bytes_each))


@right("11.1")
def longest_bisection(memory, matrices, bytes_each):
    """bisection"""
    low, high = 0, memory + 1
    while high - low > 1:
        middle = (low + high) // 2
        if matrices * bytes_each * middle**2 <= memory:
            low = middle
        else:
            high = middle
    return low


@right("11.1")
def longest_whole_float(memory, matrices, bytes_each):
    """a whole float"""
    return float(math.isqrt(memory // matrices // bytes_each))


# --- 11.2 -----------------------------------------------------------------------------------


def _parts():
    return (
        np.array([1.0, 5.0, -3.0]),
        np.array([1.5, 2.0, 1.0]),
        np.array([4.0, 2.0, -3.0]),
        np.array([1.0, 3.0, 2.5]),
    )


@wrong("11.2", on=lambda: (1.0, 1.5, 3.0, 2.0))
def merge_totals_added(peak_a, total_a, peak_b, total_b):
    """adds the totals as they are"""
    return [np.maximum(peak_a, peak_b), total_a + total_b]


@wrong("11.2", on=lambda: (1000.0, 1.5, 998.0, 2.0))
def merge_naive(peak_a, total_a, peak_b, total_b):
    """goes back to the plain sums, which overflow"""
    peak = np.maximum(peak_a, peak_b)
    with np.errstate(all="ignore"):
        plain = total_a * np.exp(peak_a) + total_b * np.exp(peak_b)
        return [peak, plain / np.exp(peak)]


@wrong("11.2", on=_parts)
def merge_numbers_only(peak_a, total_a, peak_b, total_b):
    """Python's max cannot compare arrays"""
    peak = max(peak_a, peak_b)
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


@wrong("11.2", on=lambda: (5.0, 1.5, 3.0, 2.0))
def merge_second_is_higher(peak_a, total_a, peak_b, total_b):
    """shrinks the first part only, as in a loop that goes up"""
    return [np.maximum(peak_a, peak_b), total_a * np.exp(peak_a - peak_b) + total_b]


@wrong("11.2", on=_parts)
def merge_all_or_nothing(peak_a, total_a, peak_b, total_b):
    """decides once for the whole array"""
    if np.all(np.greater_equal(peak_a, peak_b)):
        return [peak_a, total_a + total_b * np.exp(peak_b - peak_a)]
    return [peak_b, total_b + total_a * np.exp(peak_a - peak_b)]


@wrong("11.2", on=lambda: (1e12, 1.5, 1e12, 2.0))
def merge_through_logarithms(peak_a, total_a, peak_b, total_b):
    """the logarithm of the total drowns in a large peak"""
    peak = np.maximum(peak_a, peak_b)
    both = np.logaddexp(peak_a + np.log(total_a), peak_b + np.log(total_b))
    return [peak, np.exp(both - peak)]


@wrong("11.2", on=lambda: (1.0, 1.5, 3.0, 2.0))
def merge_total_first(peak_a, total_a, peak_b, total_b):
    """[total, peak]"""
    peak = np.maximum(peak_a, peak_b)
    return [total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak), peak]


@wrong("11.2", on=lambda: (np.array([1, 5]), np.array([2, 1]), np.array([3, 4]), np.array([1, 2])))
def merge_into_whole_numbers(peak_a, total_a, peak_b, total_b):
    """whole numbers in, whole numbers out"""
    peak = np.maximum(peak_a, peak_b)
    total = np.zeros_like(total_a)
    total[...] = total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)
    return [peak, total]


@wrong("11.2", on=lambda: (0.0, 1.5, 900.0, 2.0))
def merge_relative_to_the_first(peak_a, total_a, peak_b, total_b):
    """measures all by the first peak, then shifts: overflow if the second is far higher"""
    with np.errstate(all="ignore"):
        total = total_a + total_b * np.exp(peak_b - peak_a)
        peak = np.maximum(peak_a, peak_b)
        return [peak, total * np.exp(peak_a - peak)]


@wrong("11.2", on=_parts)
def merge_in_place(peak_a, total_a, peak_b, total_b):
    """changes the caller's totals"""
    peak = np.maximum(peak_a, peak_b)
    total_a *= np.exp(peak_a - peak)
    total_a += total_b * np.exp(peak_b - peak)
    return [peak, total_a]


@wrong("11.2", on=lambda: (2.0, 1.5, 2.0, 1.0))
def merge_equal_peaks(peak_a, total_a, peak_b, total_b):
    """equal peaks: neither part is the higher one"""
    peak = np.maximum(peak_a, peak_b)
    with_a = total_a + total_b * np.exp(np.minimum(peak_b - peak_a, 0))
    with_b = total_b + total_a * np.exp(np.minimum(peak_a - peak_b, 0))
    return [peak, (peak_a > peak_b) * with_a + (peak_b > peak_a) * with_b]


@wrong("11.2", on=lambda: (-np.inf, 0.0, 2.0, 1.5))
def merge_peak_by_difference(peak_a, total_a, peak_b, total_b):
    """nothing yet has the peak -inf, and -inf + inf is not a number"""
    with np.errstate(all="ignore"):
        peak = peak_a + np.maximum(np.subtract(peak_b, peak_a), 0)
        return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


@wrong("11.2", on=lambda: (-5.0, 1.5, -3.0, 2.0))
def merge_peak_not_below_zero(peak_a, total_a, peak_b, total_b):
    """starts the peak at 0"""
    peak = np.maximum(0.0, np.maximum(peak_a, peak_b))
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


@wrong("11.2", on=lambda: (1.0, 1.5, 3.0, 2.0))
def merge_normalised(peak_a, total_a, peak_b, total_b):
    """the mean of the two shrunk totals"""
    peak = np.maximum(peak_a, peak_b)
    return [peak, (total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)) / 2]


@right("11.2")
def merge_where(peak_a, total_a, peak_b, total_b):
    """the lower one shrinks, the higher one stays"""
    shrink = np.exp(-np.abs(np.subtract(peak_a, peak_b)))
    above = np.greater(peak_a, peak_b)
    total = np.where(above, total_a, total_b) + shrink * np.where(above, total_b, total_a)
    return np.where(above, peak_a, peak_b), total


@right("11.2")
def merge_element_by_element(peak_a, total_a, peak_b, total_b):
    """math on single numbers, broadcast by np.vectorize"""

    def one(a, s, b, t):
        if a < b:
            a, s, b, t = b, t, a, s
        return float(a), s + t * math.exp(b - a)

    return list(np.vectorize(one, otypes=[float, float])(peak_a, total_a, peak_b, total_b))


@right("11.2")
def merge_stacked(peak_a, total_a, peak_b, total_b):
    """stack the parts and sum them"""
    peaks, totals = np.stack([peak_a, peak_b]), np.stack([total_a, total_b])
    peak = peaks.max(axis=0)
    return np.stack([peak, (totals * np.exp(peaks - peak)).sum(axis=0)])


# --- 11.3 -----------------------------------------------------------------------------------


def _carried(T=3, S=4, D=2, seed=0):
    rng = np.random.default_rng(seed)
    peak, total = rng.normal(size=(T, 1)), 1 + rng.random(size=(T, 1))
    return (
        peak,
        total,
        rng.normal(size=(T, D)),
        2 * rng.normal(size=(T, S)),
        rng.normal(size=(S, D)),
    )


def _nothing_yet(T=2, S=3, D=2, shift=0.0):
    rng = np.random.default_rng(1)
    empty = np.full((T, 1), -np.inf), np.zeros((T, 1)), np.zeros((T, D))
    return (*empty, rng.normal(size=(T, S)) + shift, rng.normal(size=(S, D)))


@wrong("11.3", on=_carried)
def absorb_mix_not_shrunk(peak, total, mix, scores, values):
    """shrinks the total, but not the mixture"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores - higher)
    total = total * np.exp(peak - higher) + powers.sum(axis=-1, keepdims=True)
    return [higher, total, mix + powers @ values]


@wrong("11.3", on=_carried)
def absorb_total_not_shrunk(peak, total, mix, scores, values):
    """shrinks the mixture, but not the total"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores - higher)
    mix = mix * np.exp(peak - higher) + powers @ values
    return [higher, total + powers.sum(axis=-1, keepdims=True), mix]


@wrong(
    "11.3",
    on=lambda: (
        np.array([[3.0]]),
        np.array([[1.0]]),
        np.array([[2.0]]),
        np.array([[1.0, 0.0]]),
        np.ones((2, 1)),
    ),
)
def absorb_peak_of_the_block(peak, total, mix, scores, values):
    """forgets that the old peak may be the higher one"""
    new = scores.max(axis=-1, keepdims=True)
    shrink, powers = np.exp(peak - new), np.exp(scores - new)
    return [
        new,
        total * shrink + powers.sum(axis=-1, keepdims=True),
        mix * shrink + powers @ values,
    ]


@wrong("11.3", on=_carried)
def absorb_divided(peak, total, mix, scores, values):
    """divides the mixture already"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    total = total * shrink + powers.sum(axis=-1, keepdims=True)
    return [higher, total, (mix * shrink + powers @ values) / total]


@wrong("11.3", on=lambda: _carried(T=3, S=3, D=3))
def absorb_without_keepdims(peak, total, mix, scores, values):
    """peaks in a row instead of a column"""
    higher = np.maximum(peak[:, 0], scores.max(axis=-1))
    shrink, powers = np.exp(peak[:, 0] - higher), np.exp(scores - higher)
    total = total[:, 0] * shrink + powers.sum(axis=-1)
    return [higher[:, None], total[:, None], mix * shrink + powers @ values]


@wrong("11.3", on=_carried)
def absorb_one_peak_for_all(peak, total, mix, scores, values):
    """one peak for all queries"""
    higher = np.full_like(peak, max(peak.max(), scores.max()))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    return [
        higher,
        total * shrink + powers.sum(axis=-1, keepdims=True),
        mix * shrink + powers @ values,
    ]


@wrong("11.3", on=_carried)
def absorb_in_place(peak, total, mix, scores, values):
    """works in the caller's arrays"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    total *= shrink
    total += powers.sum(axis=-1, keepdims=True)
    mix *= shrink
    mix += powers @ values
    return [higher, total, mix]


@wrong("11.3", on=lambda: _nothing_yet(shift=-20.0))
def absorb_starts_at_zero(peak, total, mix, scores, values):
    """takes a peak of -inf for 0"""
    peak = np.where(np.isinf(peak), 0.0, peak)
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    return [
        higher,
        total * shrink + powers.sum(axis=-1, keepdims=True),
        mix * shrink + powers @ values,
    ]


@wrong(
    "11.3",
    on=lambda: (
        np.array([[800.0]]),
        np.array([[1.0]]),
        np.array([[2.0]]),
        np.array([[799.0, 801.0]]),
        np.ones((2, 1)),
    ),
)
def absorb_naive(peak, total, mix, scores, values):
    """takes the peak off at the end: the exponentials overflow"""
    with np.errstate(all="ignore"):
        powers, old = np.exp(scores), np.exp(peak)
        higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
        off = np.exp(-higher)
        sums = powers.sum(axis=-1, keepdims=True)
        return [higher, (total * old + sums) * off, (mix * old + powers @ values) * off]


@wrong("11.3", on=_nothing_yet)
def absorb_mean_so_far(peak, total, mix, scores, values):
    """takes the mean so far and weights it again: 0 / 0 when there is nothing yet"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores - higher)
    with np.errstate(all="ignore"):
        mean = mix / total
    old = total * np.exp(peak - higher)
    return [higher, old + powers.sum(axis=-1, keepdims=True), mean * old + powers @ values]


@wrong("11.3", on=_carried)
def absorb_weights_of_the_block(peak, total, mix, scores, values):
    """mixes with a softmax of the block"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink = np.exp(peak - higher)
    total = total * shrink + np.exp(scores - higher).sum(axis=-1, keepdims=True)
    return [higher, total, mix * shrink + ref.softmax(scores) @ values]


@wrong("11.3", on=_carried)
def absorb_grows(peak, total, mix, scores, values):
    """the old grows instead of shrinking"""
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    grow, powers = np.exp(higher - peak), np.exp(scores - higher)
    return [higher, total * grow + powers.sum(axis=-1, keepdims=True), mix * grow + powers @ values]


@wrong(
    "11.3",
    on=lambda: (
        np.array([[0.0], [5.0]]),
        np.ones((2, 1)),
        np.ones((2, 1)),
        np.array([[2.0], [1.0]]),
        np.ones((1, 1)),
    ),
)
def absorb_if_all_are_higher(peak, total, mix, scores, values):
    """shrinks only if all queries found a higher score"""
    new = scores.max(axis=-1, keepdims=True)
    if (new > peak).all():
        total, mix, peak = total * np.exp(peak - new), mix * np.exp(peak - new), new
    powers = np.exp(scores - peak)
    return [peak, total + powers.sum(axis=-1, keepdims=True), mix + powers @ values]


@wrong("11.3", on=lambda: _carried(T=3, S=1, D=2))
def absorb_squeezed(peak, total, mix, scores, values):
    """a block of one key loses its axis"""
    scores, values = np.squeeze(scores), np.squeeze(values)
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    return [
        higher,
        total * shrink + powers.sum(axis=-1, keepdims=True),
        mix * shrink + powers @ values,
    ]


@wrong(
    "11.3",
    on=lambda: (
        np.array([[1]]),
        np.array([[2]]),
        np.array([[3, 1]]),
        np.array([[2, 0]]),
        np.array([[1, 2], [4, 3]]),
    ),
)
def absorb_into_whole_numbers(peak, total, mix, scores, values):
    """keeps the type of what was carried"""
    new_peak, new_total, new_mix = np.empty_like(peak), np.empty_like(total), np.empty_like(mix)
    for t in range(len(scores)):
        new_peak[t] = max(peak[t, 0], scores[t].max())
        shrink, powers = np.exp(peak[t] - new_peak[t]), np.exp(scores[t] - new_peak[t])
        new_total[t] = total[t] * shrink + powers.sum()
        new_mix[t] = mix[t] * shrink + powers @ values
    return [new_peak, new_total, new_mix]


@right("11.3")
def absorb_by_query(peak, total, mix, scores, values):
    """one query after the other"""
    rows = []
    for p, t, m, s in zip(peak, total, mix, scores, strict=True):
        top = max(p[0], max(s))
        powers = [math.exp(score - top) for score in s]
        shrink = math.exp(p[0] - top)
        mixed = shrink * m + sum(w * v for w, v in zip(powers, values, strict=True))
        rows.append(([top], [t[0] * shrink + sum(powers)], mixed))
    return [np.array(part) for part in zip(*rows, strict=True)]


@right("11.3")
def absorb_by_key(peak, total, mix, scores, values):
    """one key after the other"""
    for column, value in zip(np.transpose(scores), values, strict=True):
        column = column[:, None]
        higher = np.maximum(peak, column)
        total = total * np.exp(peak - higher) + np.exp(column - higher)
        mix = mix * np.exp(peak - higher) + np.exp(column - higher) * value
        peak = higher
    return peak, total, mix


@right("11.3")
def absorb_old_as_a_key(peak, total, mix, scores, values):
    """what was carried is one more column"""
    higher = np.concatenate([peak, scores], axis=1).max(axis=1, keepdims=True)
    old, powers = np.exp(peak - higher), np.exp(scores - higher)
    sums = np.einsum(
        "ti,ti->t", np.hstack([old, powers]), np.hstack([total, np.ones(np.shape(scores))])
    )
    return [
        higher,
        sums[:, None],
        np.einsum("ti,td->td", old, mix) + np.einsum("ts,sd->td", powers, values),
    ]


# --- 11.4 -----------------------------------------------------------------------------------


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_half(rows, d_in, d_out, bytes_each):
    """counts multiplications only"""
    return rows * d_in * d_out / (bytes_each * (rows * d_in + d_in * d_out + rows * d_out))


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_weights_only(rows, d_in, d_out, bytes_each):
    """only the weights are fetched"""
    return 2 * rows * d_in * d_out / (bytes_each * d_in * d_out)


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_nothing_written(rows, d_in, d_out, bytes_each):
    """forgets the result"""
    return 2 * rows * d_in * d_out / (bytes_each * (rows * d_in + d_in * d_out))


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_whole(rows, d_in, d_out, bytes_each):
    """whole division"""
    return 2 * rows * d_in * d_out // (bytes_each * (rows * d_in + d_in * d_out + rows * d_out))


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_without_brackets(rows, d_in, d_out, bytes_each):
    """divides by the bytes and multiplies by the sum"""
    return 2 * rows * d_in * d_out / bytes_each * (rows * d_in + d_in * d_out + rows * d_out)


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_upside_down(rows, d_in, d_out, bytes_each):
    """bytes for each operation"""
    return bytes_each * (rows * d_in + d_in * d_out + rows * d_out) / (2 * rows * d_in * d_out)


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_bytes_of_the_first(rows, d_in, d_out, bytes_each):
    """only the first summand is in bytes"""
    return 2 * rows * d_in * d_out / (bytes_each * rows * d_in + d_in * d_out + rows * d_out)


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_square(rows, d_in, d_out, bytes_each):
    """takes the matrix for a square, as in the chapter's table"""
    d = d_in
    return 2 * rows * d * d / (bytes_each * (rows * d + d * d + rows * d))


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_one_addition_less(rows, d_in, d_out, bytes_each):
    """d products need d - 1 additions"""
    operations = rows * d_out * (d_in + d_in - 1)
    return operations / (bytes_each * (rows * d_in + d_in * d_out + rows * d_out))


@wrong("11.4", on=lambda: (8, 16, 32, 2))
def intensity_rounded(rows, d_in, d_out, bytes_each):
    """rounded to one place, as the chapter prints it"""
    return round(
        2 * rows * d_in * d_out / (bytes_each * (rows * d_in + d_in * d_out + rows * d_out)), 1
    )


@wrong("11.4", on=lambda: (1, 16, 32, 2))
def intensity_one_row_is_a_vector(rows, d_in, d_out, bytes_each):
    """for one row counts the weights only"""
    if rows == 1:
        return 2 / bytes_each
    return 2 * rows * d_in * d_out / (bytes_each * (rows * d_in + d_in * d_out + rows * d_out))


@wrong("11.4", on=lambda: (8, 16, 32, 4))
def intensity_two_bytes(rows, d_in, d_out, bytes_each):
    """two bytes, always"""
    return rows * d_in * d_out / (rows * d_in + d_in * d_out + rows * d_out)


@right("11.4")
def intensity_harmonic(rows, d_in, d_out, bytes_each):
    """divided through by the product"""
    return 2 / bytes_each / (1 / rows + 1 / d_in + 1 / d_out)


@right("11.4")
def intensity_fraction(rows, d_in, d_out, bytes_each):
    """exact fractions"""
    moved = Fraction(rows) * d_in + Fraction(d_in) * d_out + Fraction(rows) * d_out
    return float(2 * Fraction(rows) * d_in * d_out / (bytes_each * moved))


@right("11.4")
def intensity_sizes(rows, d_in, d_out, bytes_each):
    """the sizes of three matrices"""
    shapes = np.array([(rows, d_in), (d_in, d_out), (rows, d_out)], dtype=float)
    return np.sqrt(np.prod(shapes)) * 2 / (bytes_each * shapes.prod(axis=1).sum())


# --- 11.5 -----------------------------------------------------------------------------------


@wrong("11.5", on=lambda: (np.array([3.14159, 1234.5678]), 3))
def bits_decimals(x, bits):
    """decimal places"""
    return np.round(x, bits)


@wrong("11.5", on=lambda: (np.array([1.9, -1.9]), 3))
def bits_cut(x, bits):
    """cuts the other digits off"""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.trunc(fraction * 2**bits), exponent - bits)


@wrong("11.5", on=lambda: (np.array([1.125, 1.375]), 3))
def bits_half_up(x, bits):
    """half-way cases always up"""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.floor(fraction * 2**bits + 0.5), exponent - bits)


@wrong("11.5", on=lambda: (np.array([-1.125, 1.125]), 3))
def bits_half_away(x, bits):
    """half-way cases away from zero"""
    fraction, exponent = np.frexp(np.abs(x))
    return np.sign(x) * np.ldexp(np.floor(fraction * 2**bits + 0.5), exponent - bits)


@wrong("11.5", on=lambda: (np.array([0.3, 100.3]), 4))
def bits_after_the_point(x, bits):
    """binary places after the point"""
    return np.round(np.asarray(x) * 2**bits) / 2**bits


@wrong("11.5", on=lambda: (np.array([0.0, 1.3]), 4))
def bits_logarithm_of_zero(x, bits):
    """0 has no logarithm"""
    with np.errstate(all="ignore"):
        step = 2.0 ** (np.floor(np.log2(np.abs(x))) + 1 - bits)
        return np.round(x / step) * step


@wrong("11.5", on=lambda: (np.array([-2.7, 2.7]), 3))
def bits_sign_lost(x, bits):
    """the sign is lost"""
    fraction, exponent = np.frexp(np.abs(x))
    return np.ldexp(np.round(fraction * 2**bits), exponent - bits)


@wrong("11.5", on=lambda: (np.array([1.3, 5.6]), 4))
def bits_one_too_few(x, bits):
    """takes one digit for the sign"""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.round(fraction * 2 ** (bits - 1)), exponent - (bits - 1))


@wrong("11.5", on=lambda: (np.array([1.3, 5.6]), 4))
def bits_one_too_many(x, bits):
    """does not count the leading 1"""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.round(fraction * 2 ** (bits + 1)), exponent - (bits + 1))


@wrong("11.5", on=lambda: (np.array([70_000.0, 1e-8]), 11))
def bits_through_float16(x, bits):
    """eleven digits are float16, whose range is small"""
    if bits == 11:
        with np.errstate(over="ignore"):
            return np.asarray(x, dtype=np.float16).astype(float)
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.round(fraction * 2**bits), exponent - bits)


@wrong("11.5", on=lambda: (np.array([1e300, 1.0]), 8))
def bits_through_float32(x, bits):
    """starts from float32, whose range is smaller"""
    with np.errstate(over="ignore"):
        fraction, exponent = np.frexp(np.asarray(x).astype(np.float32))
    return np.ldexp(np.round(fraction.astype(float) * 2**bits), exponent - bits)


@wrong("11.5", on=lambda: (np.array([[1.3, 5.6], [0.7, 9.9]]), 4))
def bits_one_axis(x, bits):
    """a loop over one axis"""
    out = []
    for number in x:
        fraction, exponent = math.frexp(number)
        out.append(math.ldexp(round(fraction * 2**bits), exponent - bits))
    return np.array(out)


@wrong("11.5", on=lambda: (np.float64(2.7), 3))
def bits_needs_an_axis(x, bits):
    """a single number becomes an array of one"""
    fraction, exponent = np.frexp(np.atleast_1d(x))
    return np.ldexp(np.round(fraction * 2**bits), exponent - bits)


@wrong("11.5", on=lambda: (np.array([1.3e-310, 3.7]), 4))
def bits_scale_overflows(x, bits):
    """the scale of a tiny number is too large for a float"""
    _, exponent = np.frexp(x)
    with np.errstate(all="ignore"):
        scale = np.exp2((bits - exponent).astype(float))
        return np.round(x * scale) / scale


@wrong("11.5", on=lambda: (np.array([2.7, 5.6]), 3))
def bits_in_place(x, bits):
    """rounds the caller's numbers"""
    fraction, exponent = np.frexp(x)
    x[...] = np.ldexp(np.round(fraction * 2**bits), exponent - bits)
    return x


@wrong("11.5", on=lambda: (np.array([3e-7, 2.7]), 3))
def bits_small_is_zero(x, bits):
    """takes small numbers for 0"""
    fraction, exponent = np.frexp(x)
    return np.where(np.abs(x) < 1e-6, 0.0, np.ldexp(np.round(fraction * 2**bits), exponent - bits))


@wrong("11.5", on=lambda: (np.array([1.3, -0.7]), 40))
def bits_in_32_bits(x, bits):
    """the digits do not fit into 32 bits"""
    fraction, exponent = np.frexp(x)
    with np.errstate(all="ignore"):
        digits = np.round(fraction * 2**bits).astype(np.int64).astype(np.int32)
    return np.ldexp(digits.astype(float), exponent - bits)


@right("11.5")
def bits_recursive(x, bits):
    """nested lists, Python's round"""
    if np.ndim(x) > 0:
        return [bits_recursive(part, bits) for part in x]
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(fraction * 2**bits), exponent - bits)


@right("11.5")
def bits_exact(x, bits):
    """exact fractions"""

    def one(number):
        number = Fraction(float(number))
        if number == 0:
            return 0.0
        step = Fraction(2) ** (math.frexp(float(number))[1] - int(bits))
        return float(round(number / step) * step)

    return np.vectorize(one, otypes=[float])(x)


@right("11.5")
def bits_by_rest(x, bits):
    """whole digits and a rest, the half-way case by hand"""
    fraction, exponent = np.frexp(np.asarray(x, dtype=float))
    whole, rest = np.divmod(np.ldexp(np.abs(fraction), bits), 1)
    up = (rest > 0.5) | ((rest == 0.5) & (whole % 2 == 1))
    return np.ldexp(np.copysign(whole + up, fraction), exponent - bits)


# --- 11.6 (several answers are right: what is wrong here breaks the statement) -----------------


@wrong("11.6", on=lambda: (11, 4))
def shards_remainder_lost(n, processes):
    """the remainder belongs to nobody"""
    size = n // processes
    return [list(range(r * size, (r + 1) * size)) for r in range(processes)]


@wrong("11.6", on=lambda: (11, 4))
def shards_remainder_to_the_last(n, processes):
    """the last one takes all that is left"""
    size = n // processes
    shares = [list(range(r * size, (r + 1) * size)) for r in range(processes)]
    shares[-1] += range(processes * size, n)
    return shares


@wrong("11.6", on=lambda: (5, 4))
def shards_rounded_up(n, processes):
    """rounds the share up: the last one gets too little"""
    size = -(-n // processes)
    return [list(range(n))[r * size : (r + 1) * size] for r in range(processes)]


@wrong("11.6", on=lambda: (11, 4))
def shards_np_split(n, processes):
    """np.split wants equal parts"""
    return [part.tolist() for part in np.split(np.arange(n), processes)]


@wrong("11.6", on=lambda: (6, 3))
def shards_from_one(n, processes):
    """counts the examples from 1"""
    return [list(range(r + 1, n + 1, processes)) for r in range(processes)]


@wrong("11.6", on=lambda: (2, 5))
def shards_no_empty_ones(n, processes):
    """leaves out processes without work"""
    shares = [list(range(r, n, processes)) for r in range(processes)]
    return [share for share in shares if share]


@wrong("11.6", on=lambda: (6, 3))
def shards_same_list(n, processes):
    """all processes share one list"""
    shares = [[]] * processes
    for i in range(n):
        shares[i % processes].append(i)
    return shares


@wrong("11.6", on=lambda: (11, 4))
def shards_filled_up(n, processes):
    """repeats the first examples, so that all shares are equal"""
    size = -(-n // processes)
    padded = [i % n for i in range(size * processes)]
    return [padded[r::processes] for r in range(processes)]


@wrong("11.6", on=lambda: (12, 3))
def shards_batches(n, processes):
    """lists of as many examples as there are processes"""
    return [list(range(i, min(i + processes, n))) for i in range(0, n, processes)]


@wrong("11.6", on=lambda: (1, 49))
def shards_float_borders(n, processes):
    """49 times a 49th is less than 1: the last example is lost"""
    borders = [int(r * (n / processes)) for r in range(processes + 1)]
    return [list(range(a, b)) for a, b in pairwise(borders)]


@wrong("11.6", on=lambda: [(6, 3), (6, 3)])
def shards_remember(n, processes, given=[]):  # noqa: B006
    """remembers what it gave out the last time"""
    shares = []
    for r in range(processes):
        share = [i for i in range(r, n, processes) if i not in given]
        given.extend(share)
        shares.append(share)
    return shares


@wrong("11.6", on=lambda: (11, 4))
def shards_sizes_only(n, processes):
    """says how many, not which"""
    return [[n // processes + (r < n % processes)] for r in range(processes)]


@wrong("11.6", on=lambda: (7, 3))
def shards_halved(n, processes):
    """halves again and again: right for powers of two only"""
    shares = [list(range(n))]
    while len(shares) < processes:
        share = shares.pop(0)
        shares += [share[: len(share) // 2], share[len(share) // 2 :]]
    return shares


@right("11.6")
def shards_array_split(n, processes):
    """np.array_split, as arrays"""
    return np.array_split(np.arange(n), processes)


@right("11.6")
def shards_contiguous(n, processes):
    """contiguous, by whole borders"""
    return [list(range(r * n // processes, (r + 1) * n // processes)) for r in range(processes)]


@right("11.6")
def shards_dealt(n, processes):
    """dealt like cards from a shuffled pack"""
    cards = np.random.default_rng(n).permutation(n).tolist()
    hands = [[] for _ in range(processes)]
    while cards:
        hands[len(cards) % processes].append(cards.pop())
    return hands


# --- 11.7 -----------------------------------------------------------------------------------


def _gradients():
    return np.array([[1.0, -2.0, 4.0], [3.0, 5.0, 0.5]]), np.array([7, 6])


@wrong("11.7", on=_gradients)
def reduce_as_found(gradients, counts):
    """the bug itself"""
    return gradients.mean(axis=0)


@wrong("11.7", on=_gradients)
def reduce_sum(gradients, counts):
    """adds the gradients"""
    return gradients.sum(axis=0)


@wrong("11.7", on=_gradients)
def reduce_divided_by_processes(gradients, counts):
    """divides by the number of processes"""
    return (gradients * counts[:, None]).mean(axis=0)


@wrong("11.7", on=_gradients)
def reduce_relative_to_the_largest(gradients, counts):
    """weights by the largest share"""
    return (counts / counts.max()) @ gradients / len(counts)


@wrong("11.7", on=lambda: (np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([3, 1])))
def reduce_along_the_wrong_axis(gradients, counts):
    """multiplies the columns, if it fits"""
    if gradients.shape[1] == len(counts):
        return (gradients * counts).sum(axis=0) / counts.sum()
    return (gradients * counts[:, None]).sum(axis=0) / counts.sum()


@wrong("11.7", on=lambda: (np.array([[1, 2], [4, 3]]), np.array([2, 1])))
def reduce_whole_division(gradients, counts):
    """whole numbers stay whole"""
    total = np.zeros_like(gradients[0])
    for gradient, count in zip(gradients, counts, strict=True):
        total += gradient * count
    return total // counts.sum() if total.dtype.kind == "i" else total / counts.sum()


@wrong("11.7", on=lambda: (np.array([[1.0], [2.0], [6.0]]), np.array([1, 2, 3])))
def reduce_two_processes(gradients, counts):
    """for two processes only"""
    a, b = counts[0], counts[-1]
    return (a * gradients[0] + b * gradients[-1]) / (a + b)


@wrong("11.7", on=_gradients)
def reduce_softmax(gradients, counts):
    """softmax as weights"""
    return ref.softmax(counts) @ gradients


@wrong("11.7", on=_gradients)
def reduce_in_place(gradients, counts):
    """multiplies the caller's gradients"""
    gradients *= counts[:, None]
    return gradients.sum(axis=0) / counts.sum()


@wrong("11.7", on=lambda: (np.array([[1.0, 2.0], [3.0, 5.0], [9.0, 8.0]]), np.array([2, 2, 2])))
def reduce_two_by_two(gradients, counts):
    """the mean of the mean so far and the next one"""
    mean = gradients[0]
    for k in range(1, len(gradients)):
        last, count = counts[k - 1], counts[k]
        mean = (last * mean + count * gradients[k]) / (last + count)
    return mean


@wrong("11.7", on=lambda: (np.array([[1.0], [2.0]]), np.array([3, 1])))
def reduce_squeezed(gradients, counts):
    """a gradient of one number loses its axis"""
    return np.squeeze(counts @ gradients / counts.sum())


@wrong("11.7", on=_gradients)
def reduce_average_without_axis(gradients, counts):
    """np.average does not know along which axis"""
    return np.average(gradients, weights=counts)


@wrong("11.7", on=lambda: (np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([3, 0])))
def reduce_at_least_one(gradients, counts):
    """counts a process without examples as one"""
    counts = np.maximum(counts, 1)
    return counts @ gradients / counts.sum()


@wrong("11.7", on=_gradients)
def reduce_smaller_count_more(gradients, counts):
    """divides by the counts where it should multiply"""
    return (gradients / counts[:, None]).sum(axis=0) / (1 / counts).sum()


@right("11.7")
def reduce_average(gradients, counts):
    """np.average along the processes"""
    return np.average(gradients, axis=0, weights=counts)


@right("11.7")
def reduce_repeat(gradients, counts):
    """each mean once for each of its examples"""
    return np.repeat(gradients, np.asarray(counts, dtype=int), axis=0).mean(axis=0)


@right("11.7")
def reduce_running(gradients, counts):
    """a running mean, as a list"""
    mean, seen = [0.0] * len(gradients[0]), 0
    for gradient, count in zip(gradients, counts, strict=True):
        if count:
            seen += count
            mean = [m + (g - m) * count / seen for m, g in zip(mean, gradient, strict=True)]
    return mean
