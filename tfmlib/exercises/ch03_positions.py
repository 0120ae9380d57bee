"""Chapter 3: sinusoidal encodings, what a step does to them, and rotary positions."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same, show
from tfmlib.checking.draw import ANY_MAGNITUDE, axis, chance, choice, even, leading, stretch, values
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome


def _omega(d, base=10000.0):
    return np.array([base ** (-2 * j / d) for j in range(d // 2)])


def _encoding(positions, d):
    """PE of any positions, whole or not, from complex exponentials."""
    turns = np.exp(1j * np.multiply.outer(np.asarray(positions, float), _omega(d)))
    return np.stack([turns.imag, turns.real], axis=-1).reshape(*turns.shape[:-1], d)


def _perhaps_whole(rng, encoding):
    """PE_0 holds zeros and ones alone, so it may come as integers."""
    is_whole = np.array_equal(encoding, np.round(encoding)) and chance(rng)
    return encoding.astype(int) if is_whole else encoding


# --- 3.1 ----------------------------------------------------------------------------------------

FREQUENCIES = Exercise(
    id="3.1",
    title="One frequency for each pair",
    answer="frequencies",
    signature="frequencies(d)",
    oracle=_omega,
    stands_for="_frequencies",
    clauses={
        "for all $j$ at once": "fourteen dimensions",
        "$\\omega_0, \\dots, \\omega_{d/2-1}$": "each is the one before times a constant",
        "for an even number $d$ of dimensions": DRAWN,
        "an even number -> (D/2,)": "two dimensions",
    },
    hints=(
        "How many pairs do d dimensions make, and what is the frequency of the very first one?",
        "ω_j = 10000^(-2j/d) for j = 0, 1, …, d/2 - 1.",
        "d is an even number, the result is (D/2,).",
    ),
    example=Example((4,), "d = 4 has two pairs and should give [1, 0.01]."),
)
FREQUENCIES.case("six dimensions", "three pairs, the first of which has ω = 1", 6)
FREQUENCIES.case("fourteen dimensions", "seven pairs", 14)
FREQUENCIES.case("two dimensions", "a single pair, whose ω is 1", 2)


@FREQUENCIES.draws
def _(rng, size):
    return (choice(rng, (64, 100, 512, 768)) if size and chance(rng, 0.15) else even(rng, size),)


@FREQUENCIES.invariant(
    "each is the one before times a constant",
    "the frequencies fall by the same factor from pair to pair, 10000^(2/d)",
)
def _(answer):
    omega = np.asarray(answer(22))
    if omega.shape != (11,):
        raise AnswerError(Outcome.SHAPE, expected=(11,), got=omega.shape)
    return same(omega[1:] * 10000 ** (1 / 11), omega[:-1], atol=0.0)


@FREQUENCIES.right
def divides_again_and_again(d):
    omega = [1.0]
    while len(omega) < d // 2:
        omega.append(omega[-1] / 10000 ** (2 / d))
    return omega


@FREQUENCIES.right
def takes_exponentials(d):
    return np.exp(np.arange(d // 2) * (-2 * np.log(10000) / d))


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


@FREQUENCIES.mistake(
    "Your last frequency is 1/10000, which ω_j would reach only at j = d/2: the last pair has "
    "j = d/2 - 1."
)
def goes_down_to_the_end(d):
    return np.logspace(0, -4, d // 2)


@FREQUENCIES.mistake("Your pairs count from 1: j begins at 0, so that the first frequency is 1.")
def counts_pairs_from_one(d):
    return 10000.0 ** (-2 * np.arange(1, d // 2 + 1) / d)


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
    oracle=lambda length, d: ref.sinusoidal_encoding(length, d),
    stands_for="sinusoidal_encoding",
    clauses={
        "one row for each position $0, \\dots": "thirteen positions of one pair",
        "{eq}`eq-notes-2` and {eq}`eq-notes-3`": "seven positions of six numbers",
        "a length, an even number -> (T, D)": DRAWN,
    },
    hints=(
        "Which product holds the angle of every position in every pair?",
        "PE[i, 2j] = sin(i ω_j) and PE[i, 2j + 1] = cos(i ω_j), ω_j = 10000^(-2j/d).",
        "positions (T, 1) times frequencies (D/2,) are angles (T, D/2); the result is (T, D).",
    ),
    example=Example(
        (2, 4), "two positions of four numbers should give [[0, 1, 0, 1], [0.84, 0.54, 0.01, 1]]."
    ),
)
ENCODING.case("seven positions of six numbers", "sines and cosines in turn", 7, 6)
ENCODING.case("three positions of twenty-two numbers", "sines and cosines in turn", 3, 22)
ENCODING.case("thirteen positions of one pair", "a sine and a cosine of i itself", 13, 2)


@ENCODING.draws
def _(rng, size):
    if size and chance(rng, 0.1):
        return choice(rng, ((300, 6), (1100, 2), (2, 128), (1, 512)))
    return (6000, 6) if size > 40 else (stretch(rng, size), even(rng, size))


@ENCODING.invariant("no entry leaves [-1, 1]", "sines and cosines lie between -1 and 1")
def _(answer):
    largest = np.abs(answer(101, 10)).max()
    if not largest <= 1 + 1e-9:
        return f"Its largest number is {show(float(largest))}."


@ENCODING.invariant(
    "every pair lies on the unit circle", "in each pair, sin² + cos² of one angle is 1"
)
def _(answer):
    table = np.asarray(answer(11, 14))
    return same(table[:, 0::2] ** 2 + table[:, 1::2] ** 2, np.ones((11, 7)))


@ENCODING.right
def loops_over_positions_and_pairs(length, d):
    table = []
    for i in range(length):
        angles = [i / 10000 ** (2 * j / d) for j in range(d // 2)]
        table.append([f(angle) for angle in angles for f in (np.sin, np.cos)])
    return table


@ENCODING.right
def shifts_a_sine(length, d):
    k = np.arange(d)
    angles = np.outer(np.arange(length), 10000.0 ** (-(k - k % 2) / d))
    return np.sin(angles + np.pi / 2 * (k % 2))


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
    return x + ref.sinusoidal_encoding(*x.shape[-2:])


ADD = Exercise(
    id="3.3",
    title="Positions for a batch",
    answer="add_positions",
    signature="add_positions(x)",
    oracle=_positions_added,
    clauses={
        "for any number of leading axes": DRAWN,
        "adds to each sentence of a batch the encodings of its positions": "a batch of three",
        "x (..., T, D) -> (..., T, D)": "two batch axes",
    },
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
ADD.case("two batch axes", "each of six sentences begins at position 0", numbers(303, 2, 3, 11, 10))


@ADD.draws
def _(rng, size):
    if size > 40:
        return (values(rng, (6000, 2)),)
    shape = (*leading(rng, size), stretch(rng, size), min(even(rng, size), 20))
    return (values(rng, shape, ("whole", *ANY_MAGNITUDE)),)


@ADD.invariant("a batch is its sentences one by one", "the batch gives what each sentence gives")
def _(answer):
    return same(answer(_batch), np.stack([answer(sentence) for sentence in _batch]))


@ADD.invariant(
    "the same word in two places gets two vectors", "equal rows of x differ once they have places"
)
def _(answer):
    rows = np.asarray(answer(np.ones((13, 6))))
    different = len(np.unique(rows.round(6), axis=0))
    if different != 13:
        return f"The same word in 13 places gets {different} different vectors."


@ADD.right
def goes_word_by_word(x):
    if x.ndim > 2:
        return np.array([goes_word_by_word(sentence) for sentence in x])
    table = ref.sinusoidal_encoding(*x.shape)
    return [(word + place).tolist() for word, place in zip(x, table, strict=True)]


@ADD.right
def repeats_the_table(x):
    table = ref.sinusoidal_encoding(x.shape[-2], x.shape[-1])
    return np.broadcast_to(table, x.shape) + x.astype(float)


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


@ADD.mistake(
    "np.empty_like(x) and x.copy() have the type of x: whole numbers in cut the sum to whole "
    "numbers. Let x + P make the array."
)
def keeps_the_whole_numbers(x):
    return _positions_added(x).astype(x.dtype)


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
    oracle=lambda encoding, offset: ref.shift_matrix(offset, len(encoding)) @ encoding,
    forbids=("shift_matrix", "rope"),
    clauses={
        "gets $\\mathrm{PE}_i$ and $\\delta$, but not $i$": "the start does not matter",
        "returns $\\mathrm{PE}_{i+\\delta}$": "from position 5 to 8",
        "$\\delta$ may be negative": "seven positions back",
        "or a fraction": "a step and a half",
        "$i + \\delta$ may lie below 0": "back beyond the beginning",
        "encoding (D,), offset a number -> (D,)": DRAWN,
    },
    coincidences={"argument 1: no axis has length 1": "numbers come in pairs"},
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
SHIFT.case("a step and a half", "sines and cosines of 5.5 ω_j", _encoding(4, 6), 1.5)
SHIFT.case("back beyond the beginning", "sines and cosines of -3 ω_j", _encoding(2, 6), -5)


@SHIFT.draws
def _(rng, size):
    position = int(rng.integers(10 * size + 1)) if chance(rng, 0.6) else 0
    if size and chance(rng, 0.25):
        position = int(rng.integers(1000, 10_000))
    offset = int(rng.integers(-size, size + 1))
    if size and chance(rng, 0.3):
        offset = choice(rng, (-1000, 317, 10_000, -0.5, 3 * float(rng.normal())))
    return _perhaps_whole(rng, _encoding(position, min(even(rng, size), 40))), offset


@SHIFT.invariant("there and back", "moving by δ and then by -δ gives back what you had")
def _(answer):
    start = _encoding(17, 22)
    return same(answer(np.asarray(answer(start, 5)), -5), start)


@SHIFT.invariant(
    "the start does not matter", "the same δ leads from PE_0, PE_3 and PE_47 to PE_7, PE_10, PE_54"
)
def _(answer):
    return all(same(answer(_encoding(i, 10), 7), _encoding(i + 7, 10)) for i in (0, 3, 47))


@SHIFT.right
def turns_complex_numbers(encoding, offset):
    return _shifted(encoding, offset)


@SHIFT.right
def reads_the_angles(encoding, offset):
    moved = []
    for j in range(len(encoding) // 2):
        angle = np.arctan2(encoding[2 * j], encoding[2 * j + 1])
        angle += offset / 10000 ** (2 * j / len(encoding))
        moved += [float(np.sin(angle)), float(np.cos(angle))]
    return moved


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
    "The new cosine needs the old sine, which you have overwritten: compute both before you write."
)
def uses_the_new_sine(encoding, offset):
    angles = offset * _omega(len(encoding))
    sine, cosine = encoding[0::2], encoding[1::2]
    sine = np.cos(angles) * sine + np.sin(angles) * cosine
    cosine = np.cos(angles) * cosine - np.sin(angles) * sine
    return np.stack([sine, cosine], axis=-1).ravel()


@SHIFT.mistake(
    "np.empty_like(encoding) has the type of the encoding, and PE_0 may come as whole numbers, to "
    "which it cuts the result: write into np.empty(d)."
)
def keeps_the_type_of_the_encoding(encoding, offset):
    moved = np.empty_like(encoding)
    moved[:] = _shifted(encoding, offset)
    return moved


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
    clauses={
        "returns $\\delta$, a whole number that may be negative": "eleven words earlier",
        "between the two positions the slowest hand turns by less than half a circle": "a thousand "
        "words later",
        "a, b (D,) -> one number": DRAWN,
    },
    coincidences={
        "argument 1: no axis has length 1": "numbers come in pairs",
        "argument 2: no axis has length 1": "numbers come in pairs",
    },
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
    "1000, more than a quarter turn of the slowest pair",
    *_encoding([3, 1003], 6),
)
OFFSET.case(
    "past half a circle",
    "3, although the slowest hand passes half a circle on its way from 2 to 5",
    *_encoding([2, 5], 2),
)


@OFFSET.draws
def _(rng, size):
    d = min(even(rng, size), 40)
    farthest = int(0.99 * np.pi / _omega(d)[-1])
    near = min(farthest, size)
    offset = int(rng.integers(-near, near + 1))
    if size and chance(rng, 0.4):
        offset = int(rng.integers(-farthest, farthest + 1))
    most = 1000 if size and chance(rng, 0.3) else size
    first = max(0, -offset) + int(rng.integers(most + 1))
    a, b = _encoding([first, first + offset], d)
    return _perhaps_whole(rng, a), _perhaps_whole(rng, b)


@OFFSET.invariant(
    "moving both changes nothing", "both moved by the same number of positions: the same offset"
)
def _(answer):
    return all(same(answer(*_encoding([i, i + 5], 14)), 5) for i in (0, 2, 41, 307))


@OFFSET.invariant("the way back is the negative", "from b to a is minus from a to b")
def _(answer):
    a, b = _encoding([7, 20], 22)
    return same(answer(a, b), np.negative(answer(b, a)))


@OFFSET.right
def rounds_to_a_whole_number(a, b):
    return round(float(_offset(a, b)))


@OFFSET.right
def divides_complex_numbers(a, b):
    turn = (b[-1] + 1j * b[-2]) / (a[-1] + 1j * a[-2])
    return np.log(turn).imag * 10000.0 ** (1 - 2 / len(a))


@OFFSET.right
def brings_a_difference_of_angles_back(a, b):
    angle = np.arctan2(b[-2], b[-1]) - np.arctan2(a[-2], a[-1])
    return ((angle + np.pi) % (2 * np.pi) - np.pi) / 10000.0 ** ((2 - len(a)) / len(a))


@OFFSET.mistake(
    "You subtracted two angles, each between -π and π: on the way past half a circle the "
    "difference jumps by 2π. Take the angle of the difference, by sin(β - α) and cos(β - α)."
)
def subtracts_the_angles(a, b):
    angle = np.arctan2(b[-2], b[-1]) - np.arctan2(a[-2], a[-1])
    return angle / _omega(len(a))[-1]


@OFFSET.mistake(
    "You read the fastest pair, which has gone full circle after 6.28 positions: read the slowest."
)
def reads_the_fastest_pair(a, b):
    return _angle(a, b, 0)


@OFFSET.mistake("The sign is reversed: count from a to b, not from b to a.")
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
    "The arctangent of a quotient knows half of the circle only: np.arctan2(sine, cosine) knows "
    "the whole."
)
def takes_the_arctangent_of_a_quotient(a, b):
    return np.arctan(np.tan(_angle(a, b))) / _omega(len(a))[-1]


@OFFSET.mistake(
    "int cuts towards zero, so that 2.9999999 becomes 2: use round, or return the number as it is."
)
def cuts_to_a_whole_number(a, b):
    return int(_offset(a, b))


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
    oracle=lambda x, positions: ref.rope(x, positions),
    stands_for="rope",
    clauses={
        "longer or shorter than they were, which no rotation does": "lengths stay",
        "`rotate(x, positions)` as it should be": "five vectors in a row",
        "x (T, K), positions (T,) -> (T, K)": DRAWN,
    },
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


@ROTATE.draws
def _(rng, size):
    T = stretch(rng, size)
    most = choice(rng, (1, size + 1, size + 1, 20_000))
    positions = np.arange(T) if chance(rng, 0.4) else rng.integers(0, most, size=T)
    return values(rng, (T, min(even(rng, size), 40)), ("whole", *ANY_MAGNITUDE)), positions


@ROTATE.invariant("lengths stay", "a rotation keeps the length of every vector")
def _(answer):
    turned = np.asarray(answer(_x, np.array([13, 2, 0, 5, 101])))
    return same(np.linalg.norm(turned, axis=1), np.linalg.norm(_x, axis=1))


@ROTATE.invariant(
    "scores see the offset alone", "moving query and key by the same 97 positions changes no score"
)
def _(answer):
    q, k, places = numbers(306, 3, 10), numbers(307, 3, 10), np.array([2, 3, 5])
    near = np.asarray(answer(q, places)) @ np.asarray(answer(k, places)).T
    far = np.asarray(answer(q, places + 97)) @ np.asarray(answer(k, places + 97)).T
    return same(far, near)


@ROTATE.right
def multiplies_complex_numbers(x, positions):
    return _turned(x, positions)


@ROTATE.right
def turns_pair_by_pair(x, positions):
    turned = []
    for row, position in zip(x, positions, strict=True):
        new = []
        for j in range(len(row) // 2):
            angle = position / 10000 ** (2 * j / len(row))
            even, odd = row[2 * j : 2 * j + 2]
            new += [even * np.cos(angle) - odd * np.sin(angle)]
            new += [even * np.sin(angle) + odd * np.cos(angle)]
        turned.append(new)
    return turned


@ROTATE.mistake(
    "np.empty_like(x) and x.copy() have the type of x: whole numbers in cut the result to whole "
    "numbers. Write into np.empty(x.shape)."
)
def keeps_the_type_of_x(x, positions):
    turned = np.empty_like(x)
    turned[:] = _turned(x, positions)
    return turned


@ROTATE.mistake("Row t turns by positions[t]: you turned it by t.")
def ignores_the_positions(x, positions):
    return _turned(x, np.arange(len(x)))


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


@ROTATE.mistake(
    "You paired the first half with the second, as some libraries do: here a pair is two "
    "neighbours, 2j and 2j + 1."
)
def rotates_halves(x, positions):
    angles = np.outer(positions, _omega(x.shape[-1]))
    first, second = np.split(x, 2, axis=1)
    turned = (
        first * np.cos(angles) - second * np.sin(angles),
        first * np.sin(angles) + second * np.cos(angles),
    )
    return np.concatenate(turned, axis=1)


@ROTATE.mistake("You added an encoding: rotary positions turn the vector, they add nothing to it.")
def adds_an_encoding(x, positions):
    return x + _encoding(positions, x.shape[-1])


# --- 3.7 ----------------------------------------------------------------------------------------

HOURS = Exercise(
    id="3.7",
    title="A code for the hours of a day",
    answer="cyclic_code",
    signature="cyclic_code(length, period)",
    clauses={
        "a table with one row for each of the positions": THE_EXAMPLE,
        "with as many columns as you like": DRAWN,
        "all numbers lie between −1 and 1": "no number leaves [-1, 1]",
        "within one round no two rows are alike": DRAWN,
        "for a period of 23, any two are at least 0.1 apart": "no two hours are alike",
        "position $i + \\text{period}$ has the row of position $i$": "it comes round",
        "every step is as long as every other": "every step is as long as every other",
        "also the one from the last hour to the first": "every step is as long as every other",
        "the next and the one before are nearer than all others": "near hours are nearer than far "
        "ones",
        "a row does not depend on how long the table is": "a longer table begins alike",
        "a length and a period of at least 3": DRAWN,
    },
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


@HOURS.draws
def _(rng, size):
    period = choice(rng, (7, 12, 23, 24)) if size and chance(rng, 0.3) else axis(rng, size, least=3)
    lengths = (axis(rng, size), period, period + 1, 2 * period + axis(rng, size))
    return choice(rng, lengths) if size else 1, period


@HOURS.accepting
def _(value, length, period):
    table = _table(value, length)
    for rule in (_stays_small, _comes_round, _tells_apart, _steps_evenly, _keeps_neighbours_near):
        problem = rule(table, period)
        if problem:
            return problem
    if not is_of_kind(table, np.zeros(1)):
        raise AnswerError(Outcome.DTYPE, got=table.dtype, expected="float64")


def _table(value, length):
    """The code as an array of one row for each position, or the sentence that says what came."""
    table = as_array(value)
    wanted = f"a table of {length} row{'s' if length > 1 else ''}"
    if table is None:
        raise AnswerError(Outcome.KIND, expected=wanted, got=describe(value))
    if table.ndim != 2 or len(table) != length or not table.size:
        raise AnswerError(Outcome.KIND, expected=wanted, got=f"an array of shape {table.shape}")
    if not np.isfinite(table).all():
        raise AnswerError(Outcome.NOT_FINITE, count=(~np.isfinite(table)).sum(), size=table.size)
    return table


# What the statement asks of a table: each rule gives a sentence when it is broken.


def _stays_small(table, period):
    largest = np.abs(table).max()
    return "" if largest <= 1 + 1e-6 else f"It holds {show(float(largest))}, which is beyond 1."


def _comes_round(table, period):
    apart = np.abs(table[period:] - table[:-period]).max(axis=1, initial=0.0)
    if apart.max(initial=0.0) <= 1e-4:
        return ""
    i = int(apart.argmax())
    return (
        f"The rows of positions {i} and {i + period} differ by {apart[i]:.4g}, with a period of "
        f"{period}."
    )


def _tells_apart(table, period):
    """Rows of one round differ, in a day of 23 hours by a tenth."""
    least = 0.1 - 1e-6 if period == 23 else 1e-6
    apart = _distances(table[:period])
    np.fill_diagonal(apart, np.inf)
    if apart.min() >= least:
        return ""
    i, j = sorted(int(n) for n in np.unravel_index(apart.argmin(), apart.shape))
    return f"The rows of positions {i} and {j} are only {apart[i, j]:.4g} apart."


def _steps_evenly(table, period):
    steps = np.linalg.norm(np.diff(table, axis=0), axis=1)
    if len(table) >= period:
        steps = np.append(steps, np.linalg.norm(table[period - 1] - table[0]))
    if np.ptp(steps if len(steps) else [0.0]) <= 1e-4:
        return ""
    return f"The shortest step is {steps.min():.4g} long and the longest {steps.max():.4g}."


def _keeps_neighbours_near(table, period):
    apart = _distances(table[:period])
    i = np.arange(len(apart))
    around = np.abs(i[:, None] - i)
    around = np.minimum(around, period - around)  # steps from hour to hour, the shorter way
    for hour in i:
        near, far = apart[hour][around[hour] == 1], apart[hour][around[hour] > 1]
        if near.size and far.size and not near.max() < far.min() - 1e-9:
            return (
                f"From position {hour}, a neighbour is {near.max():.4g} away and a position that "
                f"is none {far.min():.4g}."
            )
    return ""


def _distances(table):
    return np.linalg.norm(table[:, None] - table[None], axis=-1)


@HOURS.invariant(
    "no number leaves [-1, 1]", "one row for each position, all numbers between -1 and 1"
)
def _(answer):
    return _stays_small(_table(answer(101, 7), 101), 7) or True


@HOURS.invariant("no two hours are alike", "within one round all rows differ by 0.1 or more")
def _(answer):
    return _tells_apart(_table(answer(23, 23), 23), 23) or True


@HOURS.invariant("it comes round", "position i + period has the row of position i")
def _(answer):
    return _comes_round(_table(answer(29, 11), 29), 11) or True


@HOURS.invariant(
    "every step is as long as every other", "also the one from the last hour to the first"
)
def _(answer):
    return _steps_evenly(_table(answer(13, 13), 13), 13) or True


@HOURS.invariant("near hours are nearer than far ones", "the next hour is nearest of all others")
def _(answer):
    return _keeps_neighbours_near(_table(answer(17, 17), 17), 17) or True


@HOURS.invariant("a longer table begins alike", "a row depends on its position, not on the length")
def _(answer):
    return same(_table(answer(19, 7), 19)[:5], _table(answer(5, 7), 5))


@HOURS.right
def lights_half_of_a_ring(length, period):
    return [[int((c - i) % period < period // 2) for c in range(period)] for i in range(length)]


@HOURS.right
def tilts_the_circle(length, period):
    turns = np.exp(2j * np.pi * (np.arange(length) % period) / period)
    return np.stack([turns.real, 0.6 * turns.imag, 0.8 * turns.imag, turns.real * 0], axis=1)


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
def divides_by_thestretch(length, period):
    angles = 2 * np.pi * np.arange(length) / length
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@HOURS.mistake("ω = 1 comes round after 2π positions: a step must be 2π / period.")
def forgets_the_period(length, period):
    return _encoding(range(length), 2)
