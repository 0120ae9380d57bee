"""Chapter 11: the square of the length, softmax in blocks, rounding, and many processes."""

import math

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import describe, same, show
from tfmlib.checking.draw import ANY_MAGNITUDE, KINDS, axis, chance, choice, leading, values
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome, unmet

# --- 11.1 ---------------------------------------------------------------------------------------


def _longest(memory, matrices, bytes_each):
    return math.isqrt(memory // (matrices * bytes_each))


LONGEST = Exercise(
    id="11.1",
    title="The longest input that fits",
    answer="longest_input",
    signature="longest_input(memory, matrices, bytes_each)",
    oracle=_longest,
    clauses={
        "the largest $n$": "one byte is missing",
        "`matrices` matrices of $n \\times n$ scores, with `bytes_each` bytes a score": (
            "three matrices"
        ),
        "fit into `memory` bytes": "it fits exactly",
        "three whole numbers -> a whole number of tokens": DRAWN,
    },
    hints=(
        "How many bytes do all matrices of scores take together for n tokens?",
        "matrices · n² · bytes_each must not exceed memory: solve for n and round down.",
        "Three whole numbers in, one whole number out.",
    ),
    example=Example(
        (1000, 2, 4), "two matrices of 4 bytes a score in 1000 bytes: 2 · 11² · 4 = 968, so 11."
    ),
)
LONGEST.case("three matrices", "what fits, and not one token more", 5000, 3, 2)
LONGEST.case("it fits exactly", "13: a full memory is allowed", 7 * 5 * 13**2, 7, 5)
LONGEST.case("one byte is missing", "12: the 13th token does not fit", 7 * 5 * 13**2 - 1, 7, 5)
LONGEST.case("one byte of many is missing", "16: the 17th does not fit", 9216 * 17**2 - 1, 1152, 8)
LONGEST.case("no room at all", "0, if not even one score fits", 5, 3, 2)
LONGEST.case("80 gigabytes", "tens of thousands of tokens", 80 * 10**9, 96, 2)


@LONGEST.draws
def _(rng, size):
    matrices = choice(rng, (axis(rng, size), axis(rng, size), 1152 if size > 4 else 6))
    bytes_each = choice(rng, (1, 2, 4, 8, 3))
    far = 300 * axis(rng, size) if size < 40 else 3000 * size  # past 100,000
    n = choice(rng, (0, axis(rng, size, 0), far)) if size < 40 else far
    exact = matrices * bytes_each * n**2
    more = matrices * bytes_each * (2 * n + 1)  # with which one token more would fit
    return exact + choice(rng, (0, more - 1, int(rng.integers(more)))), matrices, bytes_each


@LONGEST.invariant("four times the memory, twice the length", "the length grows as a square root")
def _(answer):
    return same(answer(3 * 2 * 11**2, 3, 2), 11) and same(answer(4 * 3 * 2 * 11**2, 3, 2), 22)


@LONGEST.right
def counts_up(memory, matrices, bytes_each):
    n = 0
    while matrices * bytes_each * (n + 1) ** 2 <= memory:
        n += 1
    return n


@LONGEST.right
def halves_an_interval(memory, matrices, bytes_each):
    low, high = 0, memory + 1
    while high - low > 1:
        middle = (low + high) // 2
        if matrices * bytes_each * middle**2 <= memory:
            low = middle
        else:
            high = middle
    return float(low)


@LONGEST.mistake("You divided and took no root: n tokens have n² scores.")
def forgets_the_root(memory, matrices, bytes_each):
    return memory // (matrices * bytes_each)


@LONGEST.mistake("You rounded to the nearest length: what does not fit does not fit.")
def rounds_to_the_nearest(memory, matrices, bytes_each):
    return int(np.rint(np.sqrt(memory / (matrices * bytes_each))))


@LONGEST.mistake("You did not round: a text has a whole number of tokens, so round down.")
def does_not_round(memory, matrices, bytes_each):
    return float(np.sqrt(memory / (matrices * bytes_each)))


@LONGEST.mistake("You counted one matrix: each head of each layer has its own.")
def counts_one_matrix(memory, matrices, bytes_each):
    return int(np.sqrt(memory / bytes_each))


@LONGEST.mistake("You forgot how many bytes a score takes.")
def forgets_the_bytes(memory, matrices, bytes_each):
    return int(np.sqrt(memory / matrices))


@LONGEST.mistake("You counted each pair once: a query's score of a key is not the reverse one.")
def counts_pairs_once(memory, matrices, bytes_each):
    return int(np.sqrt(2 * memory / (matrices * bytes_each)))


@LONGEST.mistake("You rounded up: a token for which there is not enough room does not fit.")
def rounds_up(memory, matrices, bytes_each):
    return math.ceil(np.sqrt(memory / (matrices * bytes_each)))


@LONGEST.mistake("You wanted room to spare: scores that fill the memory to the last byte fit.")
def wants_room_to_spare(memory, matrices, bytes_each):
    return math.isqrt(max(memory - 1, 0) // (matrices * bytes_each))


# --- 11.2 ---------------------------------------------------------------------------------------


def _merge(peak_a, total_a, peak_b, total_b):
    peak = np.maximum(peak_a, peak_b)
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


MERGE = Exercise(
    id="11.2",
    title="Prove it: parts of a softmax can be merged",
    answer="merge",
    signature="merge(peak_a, total_a, peak_b, total_b)",
    oracle=_merge,
    is_exact=True,
    clauses={
        "returns `[peak, total]` of both together": "two parts of a row",
        "neither the order": "the order does not matter",
        "nor the grouping of the parts matters": "the grouping does not matter",
        "numbers or arrays of one shape -> [peak, total]": DRAWN,
    },
    hints=(
        "total_a is a sum of exp(x - peak_a). By what must you multiply it to get the sum of "
        "exp(x - peak)?",
        "peak = the larger peak; total = total_a exp(peak_a - peak) + total_b exp(peak_b - peak).",
        "All four may be numbers or arrays of one shape; return the list [peak, total].",
    ),
    example=Example(
        (0.0, 1.0, 0.0, 2.0), "two parts with the peak 0 and totals 1 and 2 should give [0, 3]."
    ),
    equivalent={
        "peak = np.maximum(peak_a, peak_b) -> "
        "peak = np.maximum(peak_b, peak_a)": "the larger of two does not mind their order"
    },
)


def _part(seed, *shape, scale=1.0):
    """Peak and total of random rows."""
    x = scale * numbers(seed, *shape)
    return x.max(axis=-1), np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1)


MERGE.case("two parts of a row", "one peak, and totals that refer to it", 2.0, 1.5, 3.0, 1.25)
MERGE.case("three rows at once", "each row has its own peak", *_part(1, 3, 5), *_part(2, 3, 7))
MERGE.case("peaks far apart", "the part with the higher peak alone", 1000.0, 2.0, -1000.0, 3.0)
MERGE.case(
    "peaks far apart, the other way",
    "the part with the higher peak alone, now the second",
    -900.0,
    2.0,
    900.0,
    3.0,
)


@MERGE.draws
def _(rng, size):
    shape = choice(rng, ((), (*leading(rng, size, 2), axis(rng, size))))
    parts = []
    for _ in range(2):
        scores = values(rng, (*shape, axis(rng, size)), ANY_MAGNITUDE)
        if chance(rng, 0.15):
            scores = scores + 1e12  # a peak in which a logarithm drowns
        peak = scores.max(axis=-1)
        total = np.exp(scores - peak[..., None]).sum(axis=-1)
        if chance(rng, 0.2):
            total = np.rint(total).astype(int)  # of equal scores the total is their number
        parts += [peak, total] if shape else [peak.item(), total.item()]
    if chance(rng, 0.1):  # a part with nothing in it yet
        parts[0], parts[1] = parts[0] * 0 - np.inf, parts[1] * 0.0
    return tuple(parts)


@MERGE.invariant("the order does not matter", "a merged with b is b merged with a")
def _(answer):
    one, other = _part(3, 5, 7), _part(4, 5, 2)
    return same(answer(*one, *other), _merge(*one, *other)) and same(
        answer(*other, *one), answer(*one, *other)
    )


@MERGE.invariant(
    "the grouping does not matter", "(a with b) with c is a with (b with c), and is the whole row"
)
def _(answer):
    a, b, c = _part(5, 3, 5, scale=7), _part(6, 3, 2, scale=7), _part(7, 3, 11, scale=7)
    left, right = answer(*answer(*a, *b), *c), answer(*a, *answer(*b, *c))
    row = 7 * np.concatenate([numbers(5, 3, 5), numbers(6, 3, 2), numbers(7, 3, 11)], axis=-1)
    whole = np.exp(row - row.max(axis=-1, keepdims=True)).sum(axis=-1)
    return same(left, right) and same(left, [row.max(axis=-1), whole])


@MERGE.right
def asks_which_is_higher(peak_a, total_a, peak_b, total_b):
    if np.ndim(peak_a):
        merged = map(asks_which_is_higher, peak_a, total_a, peak_b, total_b)
        peaks, totals = zip(*merged, strict=True)
        return list(peaks), list(totals)
    if peak_a < peak_b:
        return asks_which_is_higher(peak_b, total_b, peak_a, total_a)
    return float(peak_a), float(total_a + total_b * math.exp(peak_b - peak_a))


@MERGE.mistake("You added totals that refer to different peaks: rescale each to the common one.")
def adds_the_totals(peak_a, total_a, peak_b, total_b):
    return [np.maximum(peak_a, peak_b), total_a + total_b]


@MERGE.mistake("Your exponents have the wrong sign: the part with the lower peak must shrink.")
def turns_the_sign(peak_a, total_a, peak_b, total_b):
    peak = np.maximum(peak_a, peak_b)
    return [peak, total_a * np.exp(peak - peak_a) + total_b * np.exp(peak - peak_b)]


@MERGE.mistake("You rescaled b only: either part may have the lower peak.")
def rescales_b_only(peak_a, total_a, peak_b, total_b):
    peak = np.maximum(peak_a, peak_b)
    return [peak, total_a + total_b * np.exp(peak_b - peak)]


@MERGE.mistake("You kept the lower peak: exponentials of large differences overflow.")
def keeps_the_lower_peak(peak_a, total_a, peak_b, total_b):
    peak = np.minimum(peak_a, peak_b)
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


@MERGE.mistake("You added the peaks: the peak of both is the larger one.")
def adds_the_peaks(peak_a, total_a, peak_b, total_b):
    peak = peak_a + peak_b
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


@MERGE.mistake("You went back to exp(peak), which is infinite for a peak of 1000: use differences.")
def goes_back_to_exponentials(peak_a, total_a, peak_b, total_b):
    peak = np.maximum(peak_a, peak_b)
    return [peak, (total_a * np.exp(peak_a) + total_b * np.exp(peak_b)) / np.exp(peak)]


@MERGE.mistake("Python's max cannot compare arrays entry by entry: np.maximum can.")
def asks_for_the_max_of_arrays(peak_a, total_a, peak_b, total_b):
    peak = max(peak_a, peak_b)
    return [peak, total_a * np.exp(peak_a - peak) + total_b * np.exp(peak_b - peak)]


# --- 11.3 ---------------------------------------------------------------------------------------


def _absorb(peak, total, mix, scores, values):
    higher = np.concatenate([peak, scores], axis=1).max(axis=1, keepdims=True)
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    sums = powers.sum(axis=1, keepdims=True)
    return [higher, shrink * total + sums, shrink * mix + np.einsum("ts,sd->td", powers, values)]


ABSORB = Exercise(
    id="11.3",
    title="Attention, one block at a time",
    answer="absorb",
    signature="absorb(peak, total, mix, scores, values)",
    oracle=_absorb,
    clauses={
        "given what has been carried so far for $T$ queries": "a block with lower scores",
        "their scores for the next block of keys with its values": "a block with higher scores",
        "return the new `[peak, total, mix]`": "peak and total are those of the row",
        "Before the first block `peak` is $-\\infty$ and the sums are 0": (
            "the first block is a softmax"
        ),
        "Nothing is divided yet: that is done once, at the end": "two blocks are as one",
        "(T, 1), (T, 1), (T, D), (T, S), (S, D) -> [peak, total, mix]": (DRAWN),
    },
    hints=(
        "When a higher score arrives, what happens to everything that was summed below the old "
        "peak?",
        "higher = max(peak, the row's largest score); total and mix shrink by exp(peak - higher) "
        "and gain exp(scores - higher), summed and times the values.",
        "peak, total (T, 1); mix (T, D); scores (T, S); values (S, D). Return a list of the new "
        "[peak, total, mix], in the same shapes.",
    ),
    example=Example(
        (
            np.array([[0.0]]),
            np.array([[1.0]]),
            np.array([[5.0]]),
            np.array([[0.0]]),
            np.array([[7.0]]),
        ),
        "one value 5 so far, and a 7 with the same score: should give peak 0, total 2, mix 12.",
    ),
    equivalent={
        "higher = np.maximum(peak, scores.max(axis=-1, keepdims=True)) -> "
        "higher = np.maximum(scores.max(axis=-1, keepdims=True), peak)": "the larger of two does "
        "not mind their order",
        "higher = np.maximum(peak, scores.max(axis=-1, keepdims=True)) -> "
        "higher = np.maximum(peak, scores.max(axis=1, keepdims=True))": "of two axes the last is "
        "axis 1",
        "total = total * shrink + powers.sum(axis=-1, keepdims=True) -> "
        "total = total * shrink + powers.sum(axis=1, keepdims=True)": "of two axes the last is "
        "axis 1",
    },
)


def _folded(answer, scores, values, sizes):
    """What the answer makes of the blocks, from nothing to the last."""
    T = len(scores)
    state = [np.full((T, 1), -np.inf), np.zeros((T, 1)), np.zeros((T, values.shape[1]))]
    start = 0
    for size in sizes:
        block = slice(start, start + size)
        state = [np.asarray(part) for part in answer(*state, scores[:, block], values[block])]
        start += size
    return state


_scores, _values = 3 * numbers(11, 3, 13), numbers(12, 13, 5)
_carried = [np.array([[0.0], [2.0]]), np.array([[1.5], [1.0]]), numbers(15, 2, 3)]
ABSORB.case(
    "a block with higher scores",
    "the new peak, and sums that have shrunk before the block is added",
    *_carried,
    numbers(16, 2, 5) + 5,
    numbers(17, 5, 3),
)
ABSORB.case(
    "a block with lower scores",
    "the old peak, and sums to which a little is added",
    *_carried,
    numbers(18, 2, 7) - 5,
    numbers(19, 7, 3),
)


@ABSORB.draws
def _(rng, size):
    T, S, D = axis(rng, size), axis(rng, size), axis(rng, size)
    if chance(rng, 0.3):  # before the first block
        kind = choice(rng, (float, int))
        state = np.full((T, 1), -np.inf), np.zeros((T, 1), kind), np.zeros((T, D), kind)
    else:
        earlier = values(rng, (T, axis(rng, size)), ANY_MAGNITUDE)
        peak = earlier.max(axis=1, keepdims=True)
        powers = np.exp(earlier - peak)
        mix = powers @ values(rng, (earlier.shape[1], D), ANY_MAGNITUDE)
        state = peak, powers.sum(axis=1, keepdims=True), mix
    return *state, values(rng, (T, S), ANY_MAGNITUDE), values(rng, (S, D), ANY_MAGNITUDE)


@ABSORB.invariant(
    "the first block is a softmax", "from nothing, mix / total is the softmax times the values"
)
def _(answer):
    _, total, mix = _folded(answer, _scores, _values, [13])
    return same(mix / total, ref.softmax(_scores) @ _values)


@ABSORB.invariant("two blocks are as one", "undivided, mix is the same sum in one block and in two")
def _(answer):
    mix = np.exp(_scores - _scores.max(axis=1, keepdims=True)) @ _values
    return same(_folded(answer, _scores, _values, [6, 7])[2], mix)


@ABSORB.invariant("blocks of 2, 7, 3 and 1 give the same", "any blocks give the whole softmax")
def _(answer):
    _, total, mix = _folded(answer, _scores, _values, [2, 7, 3, 1])
    return same(mix / total, ref.softmax(_scores) @ _values)


@ABSORB.invariant(
    "peak and total are those of the row",
    "the largest score so far, and the sum of exp(score - peak)",
)
def _(answer):
    peak, total, _ = _folded(answer, _scores, _values, [5, 2, 6])
    highest = _scores.max(axis=1, keepdims=True)
    powers = np.exp(_scores - highest).sum(axis=1, keepdims=True)
    return same(peak, highest) and same(total, powers)


@ABSORB.invariant("large scores do not overflow", "scores in the thousands, rising and falling")
def _(answer):
    scores = 1000 * numbers(13, 2, 11)
    _, total, mix = _folded(answer, scores, numbers(14, 11, 3), [3, 5, 3])
    return same(mix / total, ref.softmax(scores) @ numbers(14, 11, 3))


@ABSORB.right
def returns_nested_lists(peak, total, mix, scores, values):
    peaks, totals, mixes = [], [], []
    for old, so_far, mixed, row in zip(peak[:, 0], total[:, 0], mix, scores, strict=True):
        higher = max(old, *row)
        powers = [math.exp(score - higher) for score in row]
        shrink = math.exp(old - higher)
        peaks.append([float(higher)])
        totals.append([float(so_far * shrink + sum(powers))])
        added = sum(power * value for power, value in zip(powers, values, strict=True))
        mixes.append((mixed * shrink + added).tolist())
    return [peaks, totals, mixes]


@ABSORB.right
def takes_the_carried_for_a_key(peak, total, mix, scores, values):
    every = np.hstack([peak, scores])
    higher = every.max(axis=1, keepdims=True)
    powers = np.exp(every - higher)
    total = powers[:, :1] * total + powers[:, 1:].sum(axis=1, keepdims=True)
    return higher, total, powers[:, :1] * mix + powers[:, 1:] @ values


@ABSORB.mistake(
    "The old sums still refer to the old peak: shrink total and mix by exp(peak - higher)."
)
def forgets_to_shrink(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores - higher)
    return [higher, total + powers.sum(axis=-1, keepdims=True), mix + powers @ values]


@ABSORB.mistake("You shrank the total and not the mix: both are sums below the old peak.")
def shrinks_the_total_only(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores - higher)
    total = total * np.exp(peak - higher) + powers.sum(axis=-1, keepdims=True)
    return [higher, total, mix + powers @ values]


@ABSORB.mistake("You took the new block's peak even if it is lower than the old one.")
def forgets_the_old_peak(peak, total, mix, scores, values):
    higher = scores.max(axis=-1, keepdims=True)
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    total = total * shrink + powers.sum(axis=-1, keepdims=True)
    return [higher, total, mix * shrink + powers @ values]


@ABSORB.mistake("You divided already: divide once, after the last block; mix is a sum until then.")
def divides_each_time(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    total = total * shrink + powers.sum(axis=-1, keepdims=True)
    return [higher, total, (mix * shrink + powers @ values) / total]


@ABSORB.mistake(
    "You averaged the softmaxes of the blocks: a block with higher scores must count for more."
)
def averages_softmaxes(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    return [higher, total + 1, mix + ref.softmax(scores) @ values]


@ABSORB.mistake("You took one peak for all rows: each query has its own, so keep axis -1.")
def takes_one_peak_for_all(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max())
    shrink, powers = np.exp(peak - higher), np.exp(scores - higher)
    total = total * shrink + powers.sum(axis=-1, keepdims=True)
    return [higher, total, mix * shrink + powers @ values]


@ABSORB.mistake("You forgot to subtract the peak: exp of a large score is infinite.")
def forgets_the_peak(peak, total, mix, scores, values):
    higher = np.maximum(peak, scores.max(axis=-1, keepdims=True))
    powers = np.exp(scores)
    return [higher, total + powers.sum(axis=-1, keepdims=True), mix + powers @ values]


@ABSORB.mistake("You lost the last axis of peak and total: keep it, keepdims=True.")
def loses_an_axis(peak, total, mix, scores, values):
    higher, sums, mix = _absorb(peak, total, mix, scores, values)
    return [higher[:, 0], sums[:, 0], mix]


# --- 11.4 ---------------------------------------------------------------------------------------


def _intensity(rows, d_in, d_out, bytes_each):
    moved = sum(a * b for a, b in ((rows, d_in), (d_in, d_out), (rows, d_out)))
    return 2 * rows * d_in * d_out / moved / bytes_each


INTENSITY = Exercise(
    id="11.4",
    title="Operations for each byte",
    answer="intensity",
    signature="intensity(rows, d_in, d_out, bytes_each)",
    oracle=_intensity,
    clauses={
        "`intensity(rows, d_in, d_out, bytes_each)`": "five rows",
        "four numbers -> operations for each byte": DRAWN,
    },
    hints=(
        "Which three matrices have to pass between memory and processor?",
        "2 · rows · d_in · d_out operations, divided by bytes_each times "
        "(rows · d_in + d_in · d_out + rows · d_out).",
        "Four numbers in, one number out.",
    ),
    example=Example(
        (1, 2, 3, 4),
        "a row of 2 times a 2 × 3 matrix at 4 bytes: 12 operations, 11 numbers, 12/44 = 0.27.",
    ),
)
INTENSITY.case("five rows", "operations over bytes", 5, 7, 11, 2)
INTENSITY.case("one row", "operations over bytes, most of them the weights'", 1, 13, 17, 4)


@INTENSITY.draws
def _(rng, size):
    sizes = [choice(rng, (axis(rng, size), axis(rng, size), 4096)) for _ in range(3)]
    return *sizes, choice(rng, (1, 2, 4, 8, 0.5))


@INTENSITY.invariant(
    "one row never gets above 2 / bytes_each", "each weight is fetched for two operations"
)
def _(answer):
    found = np.asarray(answer(1, 997, 1009, 2)).item()
    if not 1.9 / 2 < found < 2 / 2:
        return f"One row in two bytes a number gives {found:.4g}, and should be just below 1."
    return None


@INTENSITY.invariant("half the bytes, twice the intensity", "a number in half the bytes")
def _(answer):
    return same(answer(3, 5, 7, 4), _intensity(3, 5, 7, 4)) and same(
        answer(3, 5, 7, 2), 2 * answer(3, 5, 7, 4)
    )


@INTENSITY.right
def divides_through_by_the_product(rows, d_in, d_out, bytes_each):
    return 2 / bytes_each / (1 / d_out + 1 / rows + 1 / d_in)


@INTENSITY.right
def counts_sizes(rows, d_in, d_out, bytes_each):
    shapes = [(rows, d_in), (d_in, d_out), (rows, d_out)]
    moved = sum(math.prod(shape) * bytes_each for shape in shapes)
    return np.float64(rows * d_out * (d_in + d_in)) / moved


@INTENSITY.mistake("A multiplication and an addition are two operations for each product.")
def counts_multiplications_only(rows, d_in, d_out, bytes_each):
    return _intensity(rows, d_in, d_out, bytes_each) / 2


@INTENSITY.mistake("You counted numbers: each takes bytes_each bytes.")
def counts_numbers(rows, d_in, d_out, bytes_each):
    return _intensity(rows, d_in, d_out, 1)


@INTENSITY.mistake("You counted the weights only: inputs and results are moved as well.")
def moves_the_weights_only(rows, d_in, d_out, bytes_each):
    return 2 * rows / bytes_each


@INTENSITY.mistake("You left out the result: it has to be written to memory.")
def forgets_the_result(rows, d_in, d_out, bytes_each):
    return 2 * rows * d_in * d_out / (bytes_each * (rows * d_in + d_in * d_out))


@INTENSITY.mistake("That is bytes for each operation: turn the fraction round.")
def turns_the_fraction_round(rows, d_in, d_out, bytes_each):
    return 1 / _intensity(rows, d_in, d_out, bytes_each)


@INTENSITY.mistake("You fetched the weights again for each row: one product reads them once.")
def fetches_weights_for_each_row(rows, d_in, d_out, bytes_each):
    return _intensity(1, d_in, d_out, bytes_each)


@INTENSITY.mistake("You rounded down: `//` gives a whole number, `/` the fraction.")
def divides_whole_numbers(rows, d_in, d_out, bytes_each):
    moved = rows * d_in + d_in * d_out + rows * d_out
    return 2 * rows * d_in * d_out // (bytes_each * moved)


# --- 11.5 ---------------------------------------------------------------------------------------


def _round_bits(x, bits):
    _, exponent = np.frexp(x)
    unit = np.ldexp(1.0, exponent - bits)  # of the last digit
    return np.rint(x / unit) * unit


ROUND = Exercise(
    id="11.5",
    title="Fewer bits",
    answer="round_bits",
    signature="round_bits(x, bits)",
    oracle=_round_bits,
    tolerance=1e-12,  # of 24 binary digits the last is 6e-8
    clauses={
        "each number rounded to the nearest one that has `bits` binary digits": (
            "large and small numbers in 8 bits"
        ),
        "half-way cases to the even neighbour": "half-way cases",
        "Exponents may have any size": "any exponent",
        "x (...), bits a whole number -> (...)": DRAWN,
    },
    hints=(
        "np.frexp writes x as fraction × 2^exponent with a fraction from ½ to 1: how many whole "
        "steps does the fraction have if it may use `bits` binary digits?",
        "np.ldexp(np.round(fraction · 2^bits), exponent - bits).",
        "x is an array of any shape, bits a whole number; the result has the shape of x.",
    ),
    example=Example(
        (np.array([1.0, 3.14159, 257.0, -0.1]), 8),
        "with 8 bits [1, 3.14159, 257, -0.1] should give [1, 3.140625, 256, -0.10009765625].",
    ),
)
_reals = np.concatenate([numbers(21, 11) * 10.0 ** np.arange(-5, 6), [0.0, 1.0, 257.0, 259.0]])
ROUND.case("large and small numbers in 8 bits", "the same number of digits for each", _reals, 8)
ROUND.case("a table in 3 bits", "a table of numbers with three digits", numbers(22, 5, 7), 3)
ROUND.case("11 bits", "the numbers that float16 has", 7 * numbers(23, 13), 11)
ROUND.case(
    "half-way cases",
    "the even neighbour: 5 and 7 become 4 and 8 in two bits",
    np.array([5, 7, -5, -7, 9, 11, 13, 15]),
    2,
)


@ROUND.draws
def _(rng, size):
    shape = (*leading(rng, size, 2), axis(rng, size)) if size else ()
    x = np.asarray(values(rng, shape, (*KINDS, "mixed")))
    if x.dtype.kind == "f" and chance(rng, 0.3):
        x = x * 10.0 ** int(rng.integers(-8, 300))
    if x.dtype.kind == "f" and chance(rng, 0.1):
        return x * 1e-310, choice(rng, (1, 2, 3))  # numbers that have few digits themselves
    return x, choice(rng, (1, 2, 3, 1 + int(rng.integers(12)), 8, 11, 24, 30, 40, 53))


@ROUND.invariant("11 bits are float16", "NumPy's float16 rounds the same way")
def _(answer):
    x = numbers(24, 101)
    x = x[np.abs(x) > 1e-3]  # below, float16 has fewer digits left
    return same(answer(x, 11), x.astype(np.float16).astype(float), rtol=1e-15, atol=0)


@ROUND.invariant("24 bits are float32", "NumPy's float32 rounds the same way")
def _(answer):
    x = 1000 * numbers(25, 101)
    return same(answer(x, 24), x.astype(np.float32).astype(float), rtol=1e-15, atol=0)


@ROUND.invariant("twice is once", "what has been rounded stays as it is")
def _(answer):
    once = answer(_reals, 5)
    return same(once, _round_bits(_reals, 5)) and same(answer(once, 5), once, rtol=1e-15, atol=0)


@ROUND.invariant("any exponent", "numbers 2^-700 and 2^700 times as large have the same digits")
def _(answer):
    due = _round_bits(_reals, 8)
    return all(
        same(np.asarray(answer(_reals * factor, 8)) / factor, due, rtol=1e-15, atol=0)
        for factor in (2.0**-700, 2.0**700)
    )


@ROUND.right
def rounds_one_by_one(x, bits):
    if np.ndim(x):
        return [rounds_one_by_one(part, bits) for part in x]
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(fraction, bits)), exponent - bits)


@ROUND.right
def divides_by_the_last_digit(x, bits):
    size = np.floor(np.log2(np.abs(np.where(x == 0, 1.0, x))))
    unit = 2.0 ** (size - bits + 1)
    return np.round(x / unit) * unit


@ROUND.mistake("You cut the digits off: round to the nearest.")
def truncates(x, bits):
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.trunc(fraction * 2**bits), exponent - bits)


@ROUND.mistake("np.round(x, bits) keeps decimal places: bits are binary digits that float.")
def rounds_decimals(x, bits):
    return np.round(x, bits)


@ROUND.mistake(
    "You kept a fixed number of places behind the point: small numbers need a smaller unit."
)
def fixes_the_point(x, bits):
    return np.round(x * 2**bits) / 2**bits


@ROUND.mistake("One digit too many: the fraction from frexp is below 1, so it has bits digits.")
def keeps_one_bit_more(x, bits):
    return _round_bits(x, bits + 1)


@ROUND.mistake("One digit too few: the leading 1 counts among the bits.")
def keeps_one_bit_less(x, bits):
    return _round_bits(x, bits - 1)


@ROUND.mistake("Half-way cases go to the even neighbour, as np.round does; floor(x + ½) does not.")
def rounds_half_up(x, bits):
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.floor(fraction * 2**bits + 0.5), exponent - bits)


@ROUND.mistake(
    "You rounded half-way cases away from zero: they go to the even neighbour, as np.round does."
)
def rounds_half_away(x, bits):
    fraction, exponent = np.frexp(x)
    whole = np.floor(np.abs(fraction) * 2**bits + 0.5)
    return np.ldexp(np.sign(fraction) * whole, exponent - bits)


# --- 11.6 ---------------------------------------------------------------------------------------

SHARDS = Exercise(
    id="11.6",
    title="A share for each process",
    answer="shards",
    signature="shards(n, processes)",
    equivalent={
        "return [list(range(rank, n, processes)) for rank in ranks] -> "
        "return [range(rank, n, processes) for rank in ranks]": "a range holds the same numbers"
    },
    clauses={
        "a list with one list for each process": "everyone gets a list",
        "Every example from 0 to $n - 1$ belongs to exactly one process": (
            "each example is in one share"
        ),
        "the shares differ by at most one example": "nobody waits for long",
        "two whole numbers -> a list of lists of whole numbers": DRAWN,
    },
    hints=(
        "If you deal cards to three players in turn, who gets card number 7?",
        "process r takes r, r + processes, r + 2 · processes, …: range(r, n, processes).",
        "Two whole numbers in; a list of `processes` lists of whole numbers out.",
    ),
    example=Example(
        (4, 2), "four examples for two: [[0, 2], [1, 3]] is right, and so is [[0, 1], [2, 3]]."
    ),
)


def _as_shares(value, processes):
    """The value as a list of lists of whole numbers, one for each process."""
    if not isinstance(value, list | tuple | np.ndarray):
        due = f"a list of {processes} lists"
        raise AnswerError(Outcome.KIND, expected=due, got=describe(value))
    if len(value) != processes:
        raise unmet(f"There should be {processes} shares, one a process; there are {len(value)}.")
    for rank, share in enumerate(value):
        is_list = isinstance(share, list | tuple | np.ndarray) and np.ndim(share) == 1
        if not is_list:
            raise unmet(f"Share {rank} is {describe(share)}, and should be a list of numbers.")
        if len(share) and np.asarray(share).dtype.kind not in "iu":
            raise unmet(f"Share {rank} is {show(share)}, and should hold whole numbers.")
    return [[int(i) for i in share] for share in value]


def _dealing_fault(shares, n):
    dealt = sorted(i for share in shares for i in share)
    for example in range(n):
        if (times := dealt.count(example)) != 1:
            found = f"in {times} places" if times else "in no share"
            return f"Example {example} of {n} is {found}, and should be in exactly one."
    strange = [i for i in dealt if not 0 <= i < n]
    if strange:
        return f"Example {strange[0]} does not exist: there are {n}, numbered from 0."
    return None


def _balance_fault(shares):
    sizes = sorted(map(len, shares))
    if sizes[-1] - sizes[0] > 1:
        return f"One share has {sizes[-1]} examples and another {sizes[0]}: at most one apart."
    return None


@SHARDS.accepting
def _(value, n, processes):
    shares = _as_shares(value, processes)
    return _dealing_fault(shares, n) or _balance_fault(shares)


@SHARDS.draws
def _(rng, size):
    if size >= 40:  # as many as make a fraction of floats come out too small
        return 1, choice(rng, (49, 98))
    return axis(rng, choice(rng, (size, 4 * size)), 0), axis(rng, size)


@SHARDS.invariant("each example is in one share", "13 examples for 3: none is lost, none is twice")
def _(answer):
    return _dealing_fault(_as_shares(answer(13, 3), 3), 13)


@SHARDS.invariant(
    "nobody waits for long", "shares differ by at most one example: 11 for 4, 7 for 5"
)
def _(answer):
    faults = [_balance_fault(_as_shares(answer(n, p), p)) for n, p in ((11, 4), (7, 5))]
    return next(filter(None, faults), None)


@SHARDS.invariant("everyone gets a list", "one list for each process, even if it is empty: 2 for 5")
def _(answer):
    few = _as_shares(answer(2, 5), 5)
    return _dealing_fault(few, 2) or _dealing_fault(_as_shares(answer(7, 7), 7), 7)


@SHARDS.invariant("one process does it all", "for a single process, the whole batch")
def _(answer):
    return _dealing_fault(_as_shares(answer(5, 1), 1), 5)


@SHARDS.right
def splits_an_array(n, processes):
    return np.array_split(np.arange(n), processes)


@SHARDS.right
def gives_the_first_ones_one_more(n, processes):
    size, rest = divmod(n, processes)
    shares, start = [], 0
    for rank in range(processes):
        end = start + size + (rank < rest)
        shares.append(tuple(range(start, end)))
        start = end
    return tuple(shares)


@SHARDS.right
def deals_from_the_end(n, processes):
    shares = [[] for _ in range(processes)]
    for example in reversed(range(n)):
        shares[-1 - example % processes].append(np.int32(example))
    return shares


@SHARDS.mistake("The remainder is lost: 13 examples for 3 are 4, 4 and 5, not 4, 4 and 4.")
def drops_the_rest(n, processes):
    size = n // processes
    return [list(range(r * size, (r + 1) * size)) for r in range(processes)]


@SHARDS.mistake("The last process gets all of the remainder, and the others wait for it.")
def leaves_the_rest_to_the_last(n, processes):
    size = n // processes
    parts = [list(range(r * size, (r + 1) * size)) for r in range(processes)]
    parts[-1] += range(processes * size, n)
    return parts


@SHARDS.mistake("You rounded the size up: the last processes get little or nothing.")
def rounds_the_size_up(n, processes):
    size = -(-n // processes)
    return [list(range(n))[r * size : (r + 1) * size] for r in range(processes)]


@SHARDS.mistake("Every process does everything: that is as slow as one.")
def gives_everyone_all(n, processes):
    return [list(range(n)) for _ in range(processes)]


@SHARDS.mistake("Neighbouring shares overlap by one: a range ends before its end.")
def overlaps(n, processes):
    size = n // processes
    return [list(range(r * size, min(n, (r + 1) * size + 1))) for r in range(processes)]


@SHARDS.mistake("You cut shares of `processes` examples: it is the number of shares that is given.")
def takes_processes_for_the_size(n, processes):
    return [list(range(i, min(n, i + processes))) for i in range(0, n, processes)]


@SHARDS.mistake("You counted the examples from 1: they go from 0 to n - 1.")
def counts_from_one(n, processes):
    return [list(range(rank + 1, n + 1, processes)) for rank in range(processes)]


# --- 11.7 ---------------------------------------------------------------------------------------


def _all_reduce(gradients, counts):
    return np.average(gradients, axis=0, weights=counts)


REDUCE = Exercise(
    id="11.7",
    title="Find the bug: the mean of means",
    answer="all_reduce",
    signature="all_reduce(gradients, counts)",
    oracle=_all_reduce,
    clauses={
        "With 12 examples and 2 processes it is right. With 13 it is a little wrong": (
            "it is the gradient of the whole batch"
        ),
        "`counts` says over how many examples each process took its mean": "three processes",
        "gradients (P, D), counts (P,) -> (D,)": DRAWN,
    },
    hints=(
        "One process has a single example, another has nine. Whose gradient should count for more?",
        "Multiply each mean by its count, add up, and divide by the sum of all counts.",
        "gradients (P, D), one row a process; counts (P,); the result is (D,).",
    ),
    example=Example(
        (np.array([[1.0, 0.0], [5.0, 4.0]]), np.array([3, 1])),
        "means [1, 0] of three examples and [5, 4] of one should give [2, 1].",
    ),
)
_grads, _counts = numbers(31, 3, 5), np.array([7, 2, 4])
REDUCE.case("three processes", "means weighted by their counts", _grads, _counts)
REDUCE.case(
    "five processes",
    "means weighted by their counts",
    numbers(32, 5, 2),
    np.array([1, 11, 3, 1, 5]),
)


@REDUCE.draws
def _(rng, size):
    P, D = axis(rng, size), axis(rng, size)
    even = np.full(P, int(rng.integers(1, 30)))
    counts = choice(rng, (even, even + (np.arange(P) == 0), rng.integers(1, 30, size=P)))
    gradients = values(rng, (P, D), ANY_MAGNITUDE)
    if P > 1 and chance(rng, 0.2):  # a process that had no examples, and so no gradient
        counts, gradients = counts * (np.arange(P) > 0), gradients.copy()
        gradients[0] = 0
    return gradients, counts


@REDUCE.invariant(
    "it is the gradient of the whole batch",
    "a regression on 13 examples in shares of 2, 8 and 3 gives the gradient of all 13 at once",
)
def _(answer):
    x, y, w = numbers(33, 13, 3), numbers(34, 13), numbers(35, 3)
    parts = np.split(np.arange(13), [2, 10])

    def gradient(rows):
        return 2 * x[rows].T @ (x[rows] @ w - y[rows]) / len(rows)

    merged = answer(np.array([gradient(rows) for rows in parts]), np.array([2, 8, 3]))
    return same(merged, gradient(np.arange(13)))


@REDUCE.invariant("equal gradients stay as they are", "if all agree, that is the result")
def _(answer):
    return same(answer(np.tile(_grads[0], (3, 1)), _counts), _grads[0])


@REDUCE.right
def adds_process_by_process(gradients, counts):
    total = [0.0] * gradients.shape[1]
    for row, count in zip(gradients, counts, strict=True):
        total = [so_far + count * number for so_far, number in zip(total, row, strict=True)]
    return [number / sum(counts) for number in total]


@REDUCE.right
def averages_repeated_rows(gradients, counts):
    return np.repeat(gradients, counts, axis=0).mean(axis=0)


@REDUCE.mistake(
    "This is still the bug: the plain mean counts a share of two examples as much as one of seven."
)
def keeps_the_bug(gradients, counts):
    return gradients.mean(axis=0)


@REDUCE.mistake("You added the gradients up: more processes would mean larger steps.")
def adds_up(gradients, counts):
    return gradients.sum(axis=0)


@REDUCE.mistake("You weighted by the counts and did not divide by their sum.")
def forgets_to_divide(gradients, counts):
    return counts @ gradients


@REDUCE.mistake("You divided by the number of processes: divide by the number of examples.")
def divides_by_the_processes(gradients, counts):
    return counts @ gradients / len(counts)


@REDUCE.mistake("You divided by the counts: a mean over many examples must weigh more, not less.")
def divides_by_the_counts(gradients, counts):
    return np.average(gradients, axis=0, weights=1 / counts)


@REDUCE.mistake("The counts must stand as a column, counts[:, None], to multiply the rows.")
def forgets_the_column(gradients, counts):
    return (gradients * counts).sum(axis=0) / counts.sum()
