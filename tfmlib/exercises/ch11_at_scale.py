"""Chapter 11: the square of the length, softmax in blocks, rounding, and many processes."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 11.1 ---------------------------------------------------------------------------------------


def _longest(memory, matrices, bytes_each):
    n = 0
    while matrices * bytes_each * (n + 1) ** 2 <= memory:
        n += 1
    return n


LONGEST = Exercise(
    id="11.1",
    title="The longest input that fits",
    answer="longest_input",
    signature="longest_input(memory, matrices, bytes_each)",
    oracle=_longest,
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
LONGEST.case("it fits exactly", "a full memory is allowed", 7 * 5 * 13**2, 7, 5)
LONGEST.case("one byte is missing", "then the last token does not fit", 7 * 5 * 13**2 - 1, 7, 5)


@LONGEST.invariant("four times the memory, twice the length", "the length grows as a square root")
def _(answer):
    return answer(4 * 3 * 2 * 11**2, 3, 2) == 2 * answer(3 * 2 * 11**2, 3, 2) > 0


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


# --- 11.2 ---------------------------------------------------------------------------------------


def _merge(peak_a, total_a, peak_b, total_b):
    peak = np.where(np.greater(peak_a, peak_b), peak_a, peak_b)
    logs = np.logaddexp(np.log(total_a) + peak_a, np.log(total_b) + peak_b)
    return [peak, np.exp(logs - peak)]


MERGE = Exercise(
    id="11.2",
    title="Prove it: parts of a softmax can be merged",
    answer="merge",
    signature="merge(peak_a, total_a, peak_b, total_b)",
    oracle=_merge,
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
MERGE.case("peaks far apart", "no exponential may overflow", 1000.0, 2.0, -1000.0, 3.0)
MERGE.case("peaks far apart, the other way", "neither part comes first", -900.0, 2.0, 900.0, 3.0)


@MERGE.invariant("the order does not matter", "a merged with b is b merged with a")
def _(answer):
    one, other = _part(3, 5, 7), _part(4, 5, 2)
    return np.allclose(answer(*one, *other), answer(*other, *one))


@MERGE.invariant(
    "the grouping does not matter", "(a with b) with c is a with (b with c), and is the whole row"
)
def _(answer):
    a, b, c = _part(5, 3, 5, scale=7), _part(6, 3, 2, scale=7), _part(7, 3, 11, scale=7)
    left, right = answer(*answer(*a, *b), *c), answer(*a, *answer(*b, *c))
    row = 7 * np.concatenate([numbers(5, 3, 5), numbers(6, 3, 2), numbers(7, 3, 11)], axis=-1)
    whole = np.exp(row - row.max(axis=-1, keepdims=True)).sum(axis=-1)
    return np.allclose(left, right) and np.allclose(left, [row.max(axis=-1), whole])


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


# --- 11.3 ---------------------------------------------------------------------------------------

ABSORB = Exercise(
    id="11.3",
    title="Attention, one block at a time",
    answer="absorb",
    signature="absorb(peak, total, mix, scores, values)",
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
        state, start = answer(*state, scores[:, block], values[block]), start + size
    return [np.asarray(part) for part in state]


_scores, _values = 3 * numbers(11, 3, 13), numbers(12, 13, 5)


@ABSORB.invariant(
    "the first block is a softmax", "from nothing, mix / total is the softmax times the values"
)
def _(answer):
    _, total, mix = _folded(answer, _scores, _values, [13])
    return np.allclose(mix / total, ref.softmax(_scores) @ _values)


@ABSORB.invariant("blocks of 2, 7, 3 and 1 give the same", "any blocks give the whole softmax")
def _(answer):
    _, total, mix = _folded(answer, _scores, _values, [2, 7, 3, 1])
    return np.allclose(mix / total, ref.softmax(_scores) @ _values)


@ABSORB.invariant(
    "peak and total are those of the row",
    "the largest score so far, and the sum of exp(score - peak)",
)
def _(answer):
    peak, total, _ = _folded(answer, _scores, _values, [5, 2, 6])
    highest = _scores.max(axis=1, keepdims=True)
    powers = np.exp(_scores - highest).sum(axis=1, keepdims=True)
    return (
        peak.shape == total.shape == (3, 1)
        and np.allclose(peak, highest)
        and np.allclose(total, powers)
    )


@ABSORB.invariant("large scores do not overflow", "scores in the thousands, rising and falling")
def _(answer):
    scores = 1000 * numbers(13, 2, 11)
    _, total, mix = _folded(answer, scores, numbers(14, 11, 3), [3, 5, 3])
    return np.allclose(mix / total, ref.softmax(scores) @ numbers(14, 11, 3))


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
INTENSITY.case("one row", "the weights are nearly all that is moved", 1, 13, 17, 4)


@INTENSITY.invariant(
    "one row never gets above 2 / bytes_each", "each weight is fetched for two operations"
)
def _(answer):
    return 1.9 / 2 < answer(1, 997, 1009, 2) < 2 / 2


@INTENSITY.invariant("half the bytes, twice the intensity", "a number in half the bytes")
def _(answer):
    return np.isclose(answer(3, 5, 7, 2), 2 * answer(3, 5, 7, 4))


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


# --- 11.5 ---------------------------------------------------------------------------------------


def _round_bits(x, bits):
    x = np.asarray(x, float)
    unit = 2.0 ** (np.floor(np.log2(np.where(x == 0, 1, np.abs(x)))) + 1 - bits)
    return np.rint(x / unit) * unit


ROUND = Exercise(
    id="11.5",
    title="Fewer bits",
    answer="round_bits",
    signature="round_bits(x, bits)",
    oracle=_round_bits,
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
ROUND.case("a table in 3 bits", "any shape", numbers(22, 5, 7), 3)
ROUND.case("11 bits", "as float16 has", 7 * numbers(23, 13), 11)


@ROUND.invariant("11 bits are float16", "NumPy's float16 rounds the same way")
def _(answer):
    x = numbers(24, 101)
    x = x[np.abs(x) > 1e-3]  # below, float16 has fewer digits left
    return np.array_equal(answer(x, 11), x.astype(np.float16).astype(float))


@ROUND.invariant("24 bits are float32", "NumPy's float32 rounds the same way")
def _(answer):
    x = 1000 * numbers(25, 101)
    return np.array_equal(answer(x, 24), x.astype(np.float32).astype(float))


@ROUND.invariant("twice is once", "what has been rounded stays as it is")
def _(answer):
    once = answer(_reals, 5)
    return np.array_equal(answer(once, 5), once)


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


# --- 11.6 ---------------------------------------------------------------------------------------

SHARDS = Exercise(
    id="11.6",
    title="A share for each process",
    answer="shards",
    signature="shards(n, processes)",
    hints=(
        "If you deal cards to three players in turn, who gets card number 7?",
        "process r takes r, r + processes, r + 2 · processes, …: range(r, n, processes).",
        "Two whole numbers in; a list of `processes` lists of whole numbers out.",
    ),
    example=Example(
        (4, 2), "four examples for two: [[0, 2], [1, 3]] is right, and so is [[0, 1], [2, 3]]."
    ),
)


def _lists(value):
    return [[int(i) for i in shard] for shard in value]


def _dealt(value):
    """All examples that somebody got, in order."""
    return sorted(i for shard in _lists(value) for i in shard)


@SHARDS.invariant("each example is in one share", "13 examples for 3: none is lost, none is twice")
def _(answer):
    return _dealt(answer(13, 3)) == list(range(13))


@SHARDS.invariant(
    "nobody waits for long", "shares differ by at most one example: 11 for 4, 7 for 5"
)
def _(answer):
    sizes = [[len(shard) for shard in _lists(answer(*given))] for given in ((11, 4), (7, 5))]
    return all(max(size) - min(size) <= 1 for size in sizes)


@SHARDS.invariant("everyone gets a list", "one list for each process, even if it is empty: 2 for 5")
def _(answer):
    few = answer(2, 5)
    return len(few) == 5 and _dealt(few) == [0, 1] and len(answer(7, 7)) == 7


@SHARDS.invariant("one process does it all", "for a single process, the whole batch")
def _(answer):
    return sorted(_lists(answer(5, 1))[0]) == [0, 1, 2, 3, 4]


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


# --- 11.7 ---------------------------------------------------------------------------------------


def _all_reduce(gradients, counts):
    return np.average(gradients, axis=0, weights=counts)


REDUCE = Exercise(
    id="11.7",
    title="Find the bug: the mean of means",
    answer="all_reduce",
    signature="all_reduce(gradients, counts)",
    oracle=_all_reduce,
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
REDUCE.case("five processes", "any number of them", numbers(32, 5, 2), np.array([1, 11, 3, 1, 5]))


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
    return np.allclose(merged, gradient(np.arange(13)))


@REDUCE.invariant("equal gradients stay as they are", "if all agree, that is the result")
def _(answer):
    return np.allclose(answer(np.tile(_grads[0], (3, 1)), _counts), _grads[0])


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
