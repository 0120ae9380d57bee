"""Chapter 3: sinusoidal encodings, what a step does to them, and rotary positions."""

import numpy as np

from tfmlib.checking.exercise import Example, Exercise, numbers


def _omega(d, base=10000.0):
    return np.array([base ** (-2 * j / d) for j in range(d // 2)])


def _encoding(positions, d):
    """PE of any positions, whole or not, from complex exponentials."""
    turns = np.exp(1j * np.multiply.outer(np.asarray(positions, float), _omega(d)))
    return np.stack([turns.imag, turns.real], axis=-1).reshape(*turns.shape[:-1], d)


# --- 3.1 ----------------------------------------------------------------------------------------

FREQUENCIES = Exercise(
    id="3.1",
    title="One frequency for each pair",
    answer="frequencies",
    signature="frequencies(d)",
    oracle=_omega,
    hints=(
        "How many pairs do d dimensions make, and what is the frequency of the very first one?",
        "ω_j = 10000^(-2j/d) for j = 0, 1, …, d/2 - 1.",
        "d is an even number, the result is (D/2,).",
    ),
    example=Example((4,), "d = 4 has two pairs and should give [1, 0.01]."),
)
FREQUENCIES.case("six dimensions", "three pairs, the first of which has ω = 1", 6)
FREQUENCIES.case("fourteen dimensions", "seven pairs", 14)
FREQUENCIES.case("two dimensions", "a single pair", 2)


@FREQUENCIES.invariant(
    "each is the one before times a constant",
    "the frequencies fall by the same factor from pair to pair, 10000^(2/d)",
)
def _(answer):
    omega = np.asarray(answer(22))
    return len(omega) == 11 and np.allclose(omega[:-1], omega[1:] * 10000 ** (1 / 11))


@FREQUENCIES.mistake("Your frequencies grow with j: the exponent is negative, -2j/d.")
def forgets_the_minus(d):
    return 1 / _omega(d)


@FREQUENCIES.mistake("The exponent is -2j/d; yours is -j/d, so the slow half is missing.")
def forgets_the_two(d):
    return 10000.0 ** (-np.arange(d // 2) / d)


@FREQUENCIES.mistake(
    "np.arange(0, d, 2) is 2j already: you doubled it once more, so the exponent is -4j/d."
)
def counts_the_two_twice(d):
    return 10000.0 ** (-2 * np.arange(0, d, 2) / d)


@FREQUENCIES.mistake(
    "You gave each dimension a frequency: a sine and its cosine share one, so there are d/2."
)
def gives_one_to_each_dimension(d):
    return 10000.0 ** (-np.arange(d) / d)


@FREQUENCIES.mistake("These are the wavelengths 2π/ω: return ω itself.")
def returns_wavelengths(d):
    return 2 * np.pi / _omega(d)


@FREQUENCIES.mistake("You wrote each frequency twice: return one for each pair.")
def writes_each_twice(d):
    return np.repeat(_omega(d), 2)


# --- 3.2 ----------------------------------------------------------------------------------------

ENCODING = Exercise(
    id="3.2",
    title="Sines and cosines for every position",
    answer="positional_encoding",
    signature="positional_encoding(length, d)",
    oracle=lambda length, d: _encoding(range(length), d),
    hints=(
        "Which product holds the angle of every position in every pair?",
        "PE[i, 2j] = sin(i ω_j) and PE[i, 2j + 1] = cos(i ω_j), ω_j = 10000^(-2j/d).",
        "positions (T, 1) times frequencies (D/2,) are angles (T, D/2); the result is (T, D).",
    ),
    example=Example(
        (2, 4), "two positions of four numbers should give [[0, 1, 0, 1], [0.84, 0.54, 0.01, 1]]."
    ),
)
ENCODING.case("seven positions of six numbers", "Eq. (2) and (3)", 7, 6)
ENCODING.case("three positions of twenty-two numbers", "Eq. (2) and (3)", 3, 22)
ENCODING.case("thirteen positions of one pair", "a sine and a cosine of i itself", 13, 2)


@ENCODING.invariant("no entry leaves [-1, 1]", "sines and cosines lie between -1 and 1")
def _(answer):
    return np.abs(answer(101, 10)).max() <= 1 + 1e-12


@ENCODING.invariant(
    "every pair lies on the unit circle", "in each pair, sin² + cos² of one angle is 1"
)
def _(answer):
    table = np.asarray(answer(11, 14))
    return np.allclose(table[:, 0::2] ** 2 + table[:, 1::2] ** 2, 1)


@ENCODING.mistake(
    "You took the sine of degrees: i ω_j is an angle in radians, as np.sin expects it. "
    "The notes fell into the same trap."
)
def takes_degrees(length, d):
    angles = np.radians(np.outer(np.arange(length), _omega(d)))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d)


@ENCODING.mistake(
    "You put all sines first and all cosines after them: they alternate, dimension by dimension."
)
def puts_sines_first(length, d):
    angles = np.outer(np.arange(length), _omega(d))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


@ENCODING.mistake("Your first position is 1: positions count from 0.")
def counts_from_one(length, d):
    return _encoding(range(1, length + 1), d)


@ENCODING.mistake("Sine and cosine have changed places: even dimensions are sines.")
def swaps_sine_and_cosine(length, d):
    angles = np.outer(np.arange(length), _omega(d))
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(length, d)


@ENCODING.mistake(
    "Your cosines have a frequency of their own, with 2j + 1 in the exponent: a pair shares ω_j."
)
def gives_cosines_their_own_frequency(length, d):
    k = np.arange(d)
    angles = np.arange(length)[:, None] * 10000.0 ** (-k / d)
    return np.where(k % 2 == 0, np.sin(angles), np.cos(angles))


@ENCODING.mistake("The exponent is -2j/d, where j counts pairs; yours is -j/d.")
def halves_the_exponent(length, d):
    angles = np.outer(np.arange(length), 10000.0 ** (-np.arange(d // 2) / d))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d)


# --- 3.3 ----------------------------------------------------------------------------------------


def _positions_added(x):
    return x + _encoding(range(x.shape[-2]), x.shape[-1])


ADD = Exercise(
    id="3.3",
    title="Positions for a batch",
    answer="add_positions",
    signature="add_positions(x)",
    oracle=_positions_added,
    hints=(
        "Which axis of a batch holds the words of one sentence, and does P depend on any other?",
        "X = X' + P, the same P for every sentence of the batch.",
        "x is (..., T, D); P is (T, D), and NumPy adds it to each sentence.",
    ),
    example=Example(
        (np.zeros((1, 4)),), "one word of four zeros should give position 0, [[0, 1, 0, 1]]."
    ),
)
_batch = numbers(301, 3, 5, 14)
ADD.case("one sentence", "row i of x plus row i of P", numbers(302, 7, 6))
ADD.case("a batch of three", "each sentence begins at position 0", _batch)
ADD.case("two batch axes", "any number of leading axes", numbers(303, 2, 3, 11, 10))


@ADD.invariant("a batch is its sentences one by one", "the batch gives what each sentence gives")
def _(answer):
    return np.allclose(answer(_batch), [answer(sentence) for sentence in _batch])


@ADD.invariant(
    "the same word in two places gets two vectors", "equal rows of x differ once they have places"
)
def _(answer):
    rows = np.asarray(answer(np.ones((13, 6))))
    return len(np.unique(rows.round(6), axis=0)) == 13


@ADD.mistake("You numbered the sentences of the batch: positions count the words, axis -2.")
def numbers_the_sentences(x):
    return x + _encoding(range(x.shape[0]), x.shape[-1]).reshape(
        -1, *[1] * (x.ndim - 2), x.shape[-1]
    )


@ADD.mistake("You counted on from one sentence to the next: each begins at position 0.")
def counts_through_the_batch(x):
    return x + _encoding(range(x.size // x.shape[-1]), x.shape[-1]).reshape(x.shape)


@ADD.mistake(
    "You multiplied: Eq. (6) adds, and a product with PE_0 would wipe out every second number."
)
def multiplies_instead(x):
    return x * _encoding(range(x.shape[-2]), x.shape[-1])


@ADD.mistake("Your first word stands at position 1: positions count from 0.")
def starts_at_one(x):
    return x + _encoding(range(1, x.shape[-2] + 1), x.shape[-1])


@ADD.mistake(
    "You multiplied the embeddings by √d first. The 2017 paper does so in its embedding layer; "
    "Eq. (6) takes X' as it comes."
)
def scales_by_the_root(x):
    return x * np.sqrt(x.shape[-1]) + _encoding(range(x.shape[-2]), x.shape[-1])


@ADD.mistake("You returned P alone: add it to x.")
def returns_the_encoding_alone(x):
    return _encoding(range(x.shape[-2]), x.shape[-1])


# --- 3.4 ----------------------------------------------------------------------------------------


def _shifted(encoding, offset):
    pairs = (encoding[1::2] + 1j * encoding[0::2]) * np.exp(1j * offset * _omega(len(encoding)))
    return np.stack([pairs.imag, pairs.real], axis=-1).ravel()


SHIFT = Exercise(
    id="3.4",
    title="A step is a rotation",
    answer="shift",
    signature="shift(encoding, offset)",
    oracle=_shifted,
    hints=(
        "Write sin((i + δ)ω) with sin(iω) and cos(iω): what of it do you know without knowing i?",
        "new sine = cos(δω_j) · sine + sin(δω_j) · cosine; "
        "new cosine = -sin(δω_j) · sine + cos(δω_j) · cosine.",
        "encoding (D,): sines encoding[0::2] and cosines encoding[1::2], (D/2,) each; result (D,).",
    ),
    example=Example(
        (np.array([0.0, 1.0, 0.0, 1.0]), 1),
        "PE_0 = [0, 1, 0, 1] moved by 1 should give PE_1 = [0.84, 0.54, 0.01, 1].",
    ),
)
SHIFT.case("from position 5 to 8", "PE_5 moved by 3 is PE_8", _encoding(5, 6), 3)
SHIFT.case("eleven positions on", "PE_2 moved by 11 is PE_13", _encoding(2, 10), 11)
SHIFT.case("seven positions back", "PE_13 moved by -7 is PE_6", _encoding(13, 14), -7)


@SHIFT.invariant("there and back", "moving by δ and then by -δ gives back what you had")
def _(answer):
    start = _encoding(17, 22)
    return np.allclose(answer(np.asarray(answer(start, 5)), -5), start)


@SHIFT.invariant(
    "one matrix for all positions",
    "the map is linear: the sum of two encodings moves to the sum of the moved ones",
)
def _(answer):
    a, b = _encoding(3, 10), _encoding(47, 10)
    return np.allclose(answer(a + b, 7), np.add(answer(a, 7), answer(b, 7)))


@SHIFT.mistake("You turned the wrong way: this is the encoding of i - δ. Look at the two signs.")
def turns_backwards(encoding, offset):
    return _shifted(encoding, -offset)


@SHIFT.mistake("You added PE_δ: the sine of a sum is not the sum of the sines.")
def adds_the_encoding_of_the_offset(encoding, offset):
    return encoding + _encoding(offset, len(encoding))


@SHIFT.mistake("You turned all pairs by the same angle: pair j turns by δ ω_j.")
def turns_all_pairs_alike(encoding, offset):
    pairs = (encoding[1::2] + 1j * encoding[0::2]) * np.exp(1j * offset)
    return np.stack([pairs.imag, pairs.real], axis=-1).ravel()


@SHIFT.mistake("One minus sign is missing: with two pluses it is no rotation, and lengths change.")
def forgets_the_minus_sign(encoding, offset):
    angles = offset * _omega(len(encoding))
    sine, cosine = encoding[0::2], encoding[1::2]
    moved = (
        np.cos(angles) * sine + np.sin(angles) * cosine,
        np.cos(angles) * cosine + np.sin(angles) * sine,
    )
    return np.stack(moved, axis=-1).ravel()


@SHIFT.mistake(
    "You paired the first half with the second: a pair is two neighbours, 2j and 2j + 1."
)
def pairs_the_halves(encoding, offset):
    angles = offset * _omega(len(encoding))
    sine, cosine = np.split(encoding, 2)
    moved = (
        np.cos(angles) * sine + np.sin(angles) * cosine,
        np.cos(angles) * cosine - np.sin(angles) * sine,
    )
    return np.concatenate(moved)


@SHIFT.mistake("You rolled the numbers along the vector: they stay where they are and turn.")
def rolls_the_vector(encoding, offset):
    return np.roll(encoding, offset)


# --- 3.5 ----------------------------------------------------------------------------------------


def _angle(a, b, pair=-1):
    """How far pair number `pair` turns from a to b."""
    a, b = (complex(x[1::2][pair], x[0::2][pair]) for x in (a, b))
    return np.angle(b * a.conjugate())


def _offset(a, b):
    return _angle(a, b) / _omega(len(a))[-1]


OFFSET = Exercise(
    id="3.5",
    title="Reading the offset from two encodings",
    answer="offset_between",
    signature="offset_between(a, b)",
    oracle=_offset,
    hints=(
        "Which pair has certainly not gone full circle between the two positions?",
        "sin(β - α) = sin β cos α - cos β sin α and cos(β - α) = cos β cos α + sin β sin α; "
        "np.arctan2(sine, cosine) is the angle, and angle = δ ω_j.",
        "a, b (D,): the slowest pair is their last two numbers; the result is one number.",
    ),
    example=Example((_encoding(2, 6), _encoding(5, 6)), "PE_2 and PE_5 with d = 6 should give 3."),
)
OFFSET.case("seven words later", "b stands seven positions after a", *_encoding([2, 9], 6))
OFFSET.case(
    "eleven words earlier", "b stands before a: the offset is -11", *_encoding([24, 13], 10)
)
OFFSET.case(
    "a thousand words later",
    "more than a quarter turn of the slowest pair",
    *_encoding([3, 1003], 6),
)


@OFFSET.invariant(
    "moving both changes nothing", "both moved by the same number of positions: the same offset"
)
def _(answer):
    found = [answer(*_encoding([start, start + 5], 14)) for start in (0, 2, 41, 307)]
    return np.allclose(found, 5)


@OFFSET.invariant("the way back is the negative", "from b to a is minus from a to b")
def _(answer):
    a, b = _encoding([7, 20], 22)
    return np.allclose(answer(a, b), np.negative(answer(b, a)))


@OFFSET.mistake(
    "You read the fastest pair, which has gone full circle after 6.28 positions: read the slowest."
)
def reads_the_fastest_pair(a, b):
    return _angle(a, b, 0)


@OFFSET.mistake("The sign is turned round: from a to b, not from b to a.")
def turns_the_direction(a, b):
    return -_offset(a, b)


@OFFSET.mistake("That is the angle δ ω: divide it by the pair's frequency.")
def returns_the_angle(a, b):
    return _angle(a, b)


@OFFSET.mistake(
    "The arccosine gives no sign: three words before and three words after look alike. "
    "Use sine and cosine, np.arctan2."
)
def loses_the_sign(a, b):
    return abs(_offset(a, b))


@OFFSET.mistake(
    "The arcsine comes back down after a quarter turn: np.arctan2(sine, cosine) knows the whole "
    "circle."
)
def stops_at_a_quarter_turn(a, b):
    return np.arcsin(np.sin(_angle(a, b))) / _omega(len(a))[-1]


@OFFSET.mistake(
    "The frequency of the last pair is 10000^(-(d - 2)/d): j is d/2 - 1 there, not d/2."
)
def takes_the_next_frequency(a, b):
    return _angle(a, b) * 10000.0


@OFFSET.mistake("You subtracted the sines: the sine of a difference is not a difference of sines.")
def subtracts_the_sines(a, b):
    return (b[-2] - a[-2]) / _omega(len(a))[-1]


# --- 3.6 ----------------------------------------------------------------------------------------


def _turned(x, positions):
    turns = np.exp(1j * np.outer(positions, _omega(x.shape[-1])))
    pairs = (x[:, 0::2] + 1j * x[:, 1::2]) * turns
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


ROTATE = Exercise(
    id="3.6",
    title="Find the bug: a rotation that stretches",
    answer="rotate",
    signature="rotate(x, positions)",
    oracle=_turned,
    hints=(
        "When the line for odd runs, what does even hold?",
        "new even = even · cos - odd · sin; new odd = even · sin + odd · cos, with the old even.",
        "x (T, K), positions (T,), angles (T, K/2); the result is (T, K) and x stays as it was.",
    ),
    example=Example(
        (np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([1])),
        "[[1, 0, 1, 0]] at position 1 should give [[0.54, 0.84, 1, 0.01]].",
    ),
)
_x = numbers(304, 5, 6)
ROTATE.case("five vectors in a row", "each pair turned by its angle", _x, np.arange(5))
ROTATE.case(
    "positions in any order",
    "row t turns by positions[t]",
    numbers(305, 3, 14),
    np.array([11, 2, 7]),
)


@ROTATE.invariant("lengths stay", "a rotation keeps the length of every vector")
def _(answer):
    turned = np.asarray(answer(_x, np.array([13, 2, 0, 5, 101])))
    return np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(_x, axis=1))


@ROTATE.invariant(
    "scores see the offset alone", "moving query and key by the same 97 positions changes no score"
)
def _(answer):
    q, k, places = numbers(306, 3, 10), numbers(307, 3, 10), np.array([2, 3, 5])
    near = np.asarray(answer(q, places)) @ np.asarray(answer(k, places)).T
    far = np.asarray(answer(q, places + 97)) @ np.asarray(answer(k, places + 97)).T
    return np.allclose(near, far)


@ROTATE.mistake(
    "This is still the bug: even is a view of turned, so the second line sees the new even. "
    "Keep the old values, for instance as views of x."
)
def keeps_the_view(x, positions):
    angles = np.outer(positions, _omega(x.shape[-1]))
    turned = x.copy()
    even, odd = turned[:, 0::2], turned[:, 1::2]
    even[:] = even * np.cos(angles) - odd * np.sin(angles)
    odd[:] = even * np.sin(angles) + odd * np.cos(angles)
    return turned


@ROTATE.mistake("The values are right, but x is overwritten: write them into a new array.")
def changes_its_input(x, positions):
    result = _turned(x, positions)
    x[:] = result
    return result


@ROTATE.mistake("You turned the other way: even loses odd · sin, odd gains even · sin.")
def turns_the_other_way(x, positions):
    return _turned(x, -np.asarray(positions))


@ROTATE.mistake("Both lines have a plus: without the minus it is no rotation.")
def rotates_without_the_minus(x, positions):
    angles = np.outer(positions, _omega(x.shape[-1]))
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = (
        even * np.cos(angles) + odd * np.sin(angles),
        even * np.sin(angles) + odd * np.cos(angles),
    )
    return np.stack(turned, axis=-1).reshape(x.shape)


@ROTATE.mistake("You put the turned halves one after the other: even and odd alternate again.")
def lays_halves_side_by_side(x, positions):
    turned = _turned(x, positions)
    return np.concatenate([turned[:, 0::2], turned[:, 1::2]], axis=1)


@ROTATE.mistake("You added an encoding: rotary positions turn the vector, they add nothing to it.")
def adds_an_encoding(x, positions):
    return x + _encoding(positions, x.shape[-1])


# --- 3.7 ----------------------------------------------------------------------------------------

HOURS = Exercise(
    id="3.7",
    title="A code for the hours of a day",
    answer="cyclic_code",
    signature="cyclic_code(length, period)",
    hints=(
        "The hour hand of a clock passes from 23 to 0 without a jump: what describes where it is?",
        "The angle 2π i / period, once as sine and once as cosine, is one answer of many.",
        "two whole numbers in; out comes (length, any number of columns).",
    ),
    example=Example(
        (5, 4),
        "five positions with period 4: row 4 equals row 0, for instance "
        "[[0, 1], [1, 0], [0, -1], [-1, 0], [0, 1]].",
    ),
)


def _rows(answer, length, period):
    """The code as an array of one row a position; anything else is not one."""
    table = np.asarray(answer(length, period), dtype=float)
    if table.ndim != 2 or len(table) != length:
        raise ValueError(f"expected {length} rows of numbers, got shape {table.shape}")
    return table


def _distances(table):
    return np.linalg.norm(table[:, None] - table[None], axis=-1)


@HOURS.invariant("no number leaves [-1, 1]", "one row a position, all numbers between -1 and 1")
def _(answer):
    return np.abs(_rows(answer, 101, 7)).max() <= 1 + 1e-9


@HOURS.invariant("no two hours are alike", "within one round all rows differ by 0.1 or more")
def _(answer):
    apart = _distances(_rows(answer, 23, 23)) + np.eye(23)
    return apart.min() >= 0.1


@HOURS.invariant("it comes round", "position i + period has the row of position i")
def _(answer):
    table = _rows(answer, 29, 11)
    return np.allclose(table[11:], table[:-11])


@HOURS.invariant(
    "every step is as long as every other", "also the one from the last hour to the first"
)
def _(answer):
    table = _rows(answer, 27, 13)
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    return np.ptp(steps) < 1e-6


@HOURS.invariant("near hours are nearer than far ones", "the next hour is nearest of all others")
def _(answer):
    apart = _distances(_rows(answer, 17, 17))[5]  # from hour 5
    others = np.delete(apart, [4, 5, 6])
    return others.min() > apart[[4, 6]].max() + 1e-6


@HOURS.invariant("a longer table begins alike", "a row depends on its position, not on the length")
def _(answer):
    return np.allclose(_rows(answer, 19, 7)[:5], _rows(answer, 5, 7))


@HOURS.mistake(
    "The part of the day that has passed jumps at midnight: hour 23 and hour 0 are farthest apart."
)
def takes_the_share_of_the_day(length, period):
    return (np.arange(length) % period / period)[:, None]


@HOURS.mistake(
    "A sine alone takes each value twice on its way up and down: add the cosine to tell them apart."
)
def takes_the_sine_alone(length, period):
    return np.sin(2 * np.pi * np.arange(length) / period)[:, None]


@HOURS.mistake("np.sin takes radians: a full turn is 2π, not 360.")
def turns_by_degrees(length, period):
    angles = 360 * np.arange(length) / period
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@HOURS.mistake(
    "In a one-hot code every hour is as far from every other: 3 is no nearer to 4 than to 15."
)
def takes_one_hot(length, period):
    return np.eye(period)[np.arange(length) % period]


@HOURS.mistake("You divided by period - 1: the last hour of the day falls on the first one.")
def divides_by_one_less(length, period):
    angles = 2 * np.pi * np.arange(length) / (period - 1)
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@HOURS.mistake("You divided by the length of the table: the round is `period` positions long.")
def divides_by_the_length(length, period):
    angles = 2 * np.pi * np.arange(length) / length
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@HOURS.mistake("ω = 1 comes round after 2π positions: a step must be 2π / period.")
def forgets_the_period(length, period):
    return _encoding(range(length), 2)
