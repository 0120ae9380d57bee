"""Answers to chapter 3 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import cmath
import math

import numpy as np
from answers import right, wrong

from tfmlib import ref


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def at(position, d):
    """The encoding of any position, also a negative one."""
    angles = position * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).ravel()


# --- 3.1 ------------------------------------------------------------------------------------


@wrong("3.1", on=lambda: (4,))
def frequencies_no_two(d):
    """j/d instead of 2j/d"""
    return 10000.0 ** (-np.arange(d // 2) / d)


@wrong("3.1", on=lambda: (8,))
def frequencies_two_twice(d):
    """steps of two, and once more times two"""
    j = np.arange(0, d, 2)
    return 1 / 10000 ** (2 * j / d)


@wrong("3.1", on=lambda: (4,))
def frequencies_each_dimension(d):
    """one for each dimension instead of each pair"""
    return 10000.0 ** (-2 * np.arange(d) / d)


@wrong("3.1", on=lambda: (4,))
def frequencies_from_one(d):
    """counts the hands from 1"""
    return np.array([10000 ** (-2 * j / d) for j in range(1, d // 2 + 1)])


@wrong("3.1", on=lambda: (4,))
def frequencies_upside_down(d):
    """the fraction upside down"""
    return 10000.0 ** (np.arange(0, d, 2) / d)


@wrong("3.1", on=lambda: (4,))
def frequencies_whole_division(d):
    """division without a remainder"""
    return np.array([1 / 10000 ** (2 * j // d) for j in range(d // 2)])


@wrong("3.1", on=lambda: (6,))
def frequencies_to_the_end(d):
    """evenly spaced down to 1/10000 itself"""
    return np.logspace(0, -4, d // 2)


@wrong("3.1", on=lambda: (2,))
def frequencies_squeezed(d):
    """one hand: a number instead of an array"""
    return np.squeeze(10000.0 ** (-np.arange(0, d, 2) / d))


@wrong("3.1", on=lambda: (10,))
def frequencies_rounded(d):
    """four digits, as in the table of the book"""
    return np.round(10000.0 ** (-np.arange(0, d, 2) / d), 4)


@wrong("3.1", on=lambda: (12,))
def frequencies_tenth(d):
    """each hand ten times slower, which holds for d = 8 only"""
    return 0.1 ** np.arange(d // 2)


@wrong("3.1", on=lambda: [(8,), (4,)])
def frequencies_kept(d, kept=[]):
    """keeps the hands of the first call"""
    if not kept:
        kept.extend(10000.0 ** (-2 * j / d) for j in range(d // 2))
    return np.array(kept)


@wrong("3.1", on=lambda: (600,))
def frequencies_512(d):
    """a table for d up to 512"""
    j = np.arange(0, min(d, 512), 2)
    return 10000.0 ** (-j / d)


@wrong("3.1", on=lambda: (6,))
def frequencies_half(d):
    """2j over d/2"""
    half = d // 2
    return 1 / np.power(10000.0, 2 * np.arange(half) / half)


@right("3.1")
def frequencies_loop(d):
    """a list"""
    return [1 / 10000 ** (2 * j / d) for j in range(d // 2)]


@right("3.1")
def frequencies_exp(d):
    """by exp and log"""
    return np.exp(-np.arange(0, d, 2) * (math.log(10000) / d))


@right("3.1")
def frequencies_logspace(d):
    """logspace without its end"""
    return np.logspace(0, -4, int(d) // 2, endpoint=False)


@right("3.1")
def frequencies_cumulative(d):
    """each hand from the one before"""
    ratio = 10000 ** (-2 / d)
    hands = [1.0]
    while len(hands) < d // 2:
        hands.append(hands[-1] * ratio)
    return np.array(hands)


# --- 3.2 ------------------------------------------------------------------------------------


@wrong("3.2", on=lambda: (3, 4))
def encoding_halves(length, d):
    """all sines, then all cosines"""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.2", on=lambda: (3, 4))
def encoding_from_one(length, d):
    """positions from 1"""
    angles = np.arange(1, length + 1)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    table = np.zeros((length, d))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


@wrong("3.2", on=lambda: (3, 4))
def encoding_cosine_first(length, d):
    """cosines in the even dimensions"""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(length, d)


@wrong("3.2", on=lambda: (3, 4))
def encoding_every_dimension(length, d):
    """the odd dimensions have a frequency of their own"""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(d) / d)
    table = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, 1::2])
    return table


@wrong("3.2", on=lambda: (3, 6))
def encoding_two_k(length, d):
    """the dimension's number times two"""
    table = np.zeros((length, d))
    for i in range(length):
        for k in range(d):
            angle = i / 10000 ** (2 * k / d)
            table[i, k] = np.cos(angle) if k % 2 else np.sin(angle)
    return table


@wrong("3.2", on=lambda: (3, 4))
def encoding_stack_wrong(length, d):
    """stacks along the wrong axis, so that reshape mixes the positions"""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)]).reshape(length, d)


@wrong("3.2", on=lambda: (3, 4))
def encoding_turned(length, d):
    """positions in columns"""
    angles = np.outer(10000.0 ** (-np.arange(0, d, 2) / d), np.arange(length))
    table = np.zeros((d, length))
    table[0::2], table[1::2] = np.sin(angles), np.cos(angles)
    return table


@wrong("3.2", on=lambda: (3, 4))
def encoding_whole_numbers(length, d):
    """room for whole numbers"""
    table = np.zeros((length, d), dtype=int)
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


@wrong("3.2", on=lambda: (1, 4))
def encoding_squeezed(length, d):
    """one position: a row instead of a table"""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.dstack([np.sin(angles), np.cos(angles)]).reshape(length, d).squeeze()


@wrong("3.2", on=lambda: [(3, 4), (3, 6)])
def encoding_kept(length, d, kept={}):
    """keeps the tables by their length, whatever d is"""
    if length not in kept:
        angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        kept[length] = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d)
    return kept[length]


@wrong("3.2", on=lambda: (600, 2))
def encoding_512(length, d):
    """a table of 512 positions"""
    angles = np.arange(512)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(512, d)
    return table[:length]


@wrong("3.2", on=lambda: (4, 4))
def encoding_sine_only(length, d):
    """the cosine as the sine of the next position"""
    angles = np.arange(length + 1)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    table = np.zeros((length, d))
    table[:, 0::2] = np.sin(angles[:-1])
    table[:, 1::2] = np.sin(angles[1:])
    return table


@wrong("3.2", on=lambda: (3, 4))
def encoding_degrees(length, d):
    """takes the angles for degrees"""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    table = np.empty((length, d))
    table[:, 0::2], table[:, 1::2] = np.sin(np.radians(angles)), np.cos(np.radians(angles))
    return table


@wrong("3.2", on=lambda: (3000, 4))
def encoding_float32(length, d):
    """single precision"""
    angles = np.arange(length, dtype=np.float32)[:, None] * (
        10000.0 ** (-np.arange(0, d, 2, dtype=np.float32) / np.float32(d))
    ).astype(np.float32)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d)


@right("3.2")
def encoding_lists(length, d):
    """loops; a list of lists"""
    table = []
    for i in range(length):
        row = []
        for j in range(d // 2):
            angle = i * 10000 ** (-2 * j / d)
            row += [math.sin(angle), math.cos(angle)]
        table.append(row)
    return table


@right("3.2")
def encoding_complex(length, d):
    """hands as complex numbers"""
    hands = np.exp(1j * np.outer(np.arange(length), 10000.0 ** (-np.arange(0, d, 2) / d)))
    table = np.empty((length, d))
    table[:, ::2], table[:, 1::2] = hands.imag, hands.real
    return table


@right("3.2")
def encoding_phase(length, d):
    """a cosine is a sine a quarter of a circle ahead"""
    k = np.arange(d)
    angles = np.arange(length)[:, None] / 10000 ** ((k - k % 2) / d)
    return np.sin(angles + (k % 2) * np.pi / 2)


# --- 3.3 ------------------------------------------------------------------------------------


@wrong("3.3", on=lambda: (normal(0, 2, 3, 4),))
def add_first_axis(x):
    """the first axis is taken for the positions"""
    return x + ref.sinusoidal_encoding(x.shape[0], x.shape[-1])


@wrong("3.3", on=lambda: (normal(0, 3, 4),))
def add_three_axes(x):
    """only batches"""
    return x + ref.sinusoidal_encoding(x.shape[1], x.shape[2])


@wrong("3.3", on=lambda: (normal(0, 2, 2, 3, 4),))
def add_two_cases(x):
    """one sentence or one batch"""
    if x.ndim == 2:
        length, d = x.shape
        return x + ref.sinusoidal_encoding(length, d)
    batch, length, d = x.shape
    return x + ref.sinusoidal_encoding(length, d)[None]


@wrong("3.3", on=lambda: (normal(0, 3, 4),))
def add_in_place(x):
    """changes the embeddings"""
    x += ref.sinusoidal_encoding(x.shape[-2], x.shape[-1])
    return x


@wrong("3.3", on=lambda: (np.ones((3, 4), dtype=int),))
def add_whole_numbers(x):
    """whole numbers stay whole"""
    out = np.zeros_like(x)
    out[...] = x + ref.sinusoidal_encoding(*x.shape[-2:])
    return out


@wrong("3.3", on=lambda: (normal(0, 2, 3, 4),))
def add_counts_on(x):
    """the second sentence begins where the first ended"""
    rows = x.reshape(-1, x.shape[-1])
    return (rows + ref.sinusoidal_encoding(*rows.shape)).reshape(x.shape)


@wrong("3.3", on=lambda: (normal(0, 3, 4),))
def add_scaled(x):
    """embeddings times the root of d, as in the paper"""
    length, d = x.shape[-2:]
    return x * np.sqrt(d) + ref.sinusoidal_encoding(length, d)


@wrong("3.3", on=lambda: (normal(0, 2, 1, 4),))
def add_squeezed(x):
    """sentences of one token lose an axis"""
    return np.squeeze(x + ref.sinusoidal_encoding(x.shape[-2], x.shape[-1]))


@wrong("3.3", on=lambda: (normal(0, 4, 4),))
def add_swapped(x):
    """length and d the wrong way round"""
    d, length = x.shape[-2:]
    return x + ref.sinusoidal_encoding(length, d).T


@wrong("3.3", on=lambda: (normal(0, 3, 4),))
def add_from_one(x):
    """positions from 1"""
    length, d = x.shape[-2], x.shape[-1]
    return x + ref.sinusoidal_encoding(length + 1, d)[1:]


@wrong("3.3", on=lambda: (normal(0, 2, 2, 3, 4),))
def add_batch_loop(x):
    """goes through the batch, one axis deep"""
    if x.ndim == 2:
        return x + ref.sinusoidal_encoding(len(x), x.shape[1])
    return np.array([s + ref.sinusoidal_encoding(len(s), s.shape[-1]) for s in x])


@wrong("3.3", on=lambda: (normal(0, 3, 4),))
def add_side_by_side(x):
    """puts the encodings beside the embeddings"""
    encoding = ref.sinusoidal_encoding(x.shape[-2], x.shape[-1])
    return np.concatenate([x, np.broadcast_to(encoding, x.shape)], axis=-1)


@wrong("3.3", on=lambda: (np.zeros((2, 4)),))
def add_skips_zeros(x):
    """a vector of zeros is padding and stays as it is"""
    moved = x + ref.sinusoidal_encoding(x.shape[-2], x.shape[-1])
    return np.where((x == 0).all(axis=-1, keepdims=True), x, moved)


@right("3.3")
def add_recursive(x):
    """down to single sentences"""
    if np.ndim(x) > 2:
        return np.stack([add_recursive(part) for part in x])
    return ref.sinusoidal_encoding(*np.shape(x)) + x


@right("3.3")
def add_loops(x):
    """place by place"""
    out = np.array(x, dtype=float)
    d = out.shape[-1]
    for place in np.ndindex(out.shape):
        i, k = place[-2:]
        angle = i / 10000 ** ((k - k % 2) / d)
        out[place] += math.cos(angle) if k % 2 else math.sin(angle)
    return out


@right("3.3")
def add_flat(x):
    """all sentences in one batch, then back; nested lists"""
    length, d = x.shape[-2:]
    flat = x.reshape(-1, length, d)
    encoding = np.tile(ref.sinusoidal_encoding(length, d), (len(flat), 1, 1))
    return (flat + encoding).reshape(x.shape).tolist()


# --- 3.4 ------------------------------------------------------------------------------------


def hands(d):
    return 10000.0 ** (-np.arange(0, d, 2) / d)


@wrong("3.4", on=lambda: (at(3, 4), 2))
def shift_wrong_way(encoding, offset):
    """turns the other way, as with (cos, sin)"""
    angles = offset * hands(len(encoding))
    s, c = encoding[0::2], encoding[1::2]
    out = np.zeros(len(encoding))
    out[0::2] = s * np.cos(angles) - c * np.sin(angles)
    out[1::2] = s * np.sin(angles) + c * np.cos(angles)
    return out


@wrong("3.4", on=lambda: (at(5, 4), -2))
def shift_forward_only(encoding, offset):
    """the way without its sign"""
    angles = abs(offset) * hands(len(encoding))
    s, c = encoding[0::2], encoding[1::2]
    out = np.empty(len(encoding))
    out[0::2] = s * np.cos(angles) + c * np.sin(angles)
    out[1::2] = c * np.cos(angles) - s * np.sin(angles)
    return out


@wrong("3.4", on=lambda: (at(3, 4), 2))
def shift_overwrites(encoding, offset):
    """the new sine is used for the new cosine"""
    out = encoding.copy()
    angles = offset * hands(len(encoding))
    out[0::2] = out[0::2] * np.cos(angles) + out[1::2] * np.sin(angles)
    out[1::2] = out[1::2] * np.cos(angles) - out[0::2] * np.sin(angles)
    return out


@wrong("3.4", on=lambda: (at(3, 4), 1))
def shift_in_place(encoding, offset):
    """changes the given encoding"""
    for j, angle in enumerate(offset * hands(len(encoding))):
        s, c = encoding[2 * j], encoding[2 * j + 1]
        encoding[2 * j] = s * np.cos(angle) + c * np.sin(angle)
        encoding[2 * j + 1] = c * np.cos(angle) - s * np.sin(angle)
    return encoding


@wrong("3.4", on=lambda: (at(2, 4), 1))
def shift_arcsine(encoding, offset):
    """the sine alone does not know the angle"""
    angles = np.arcsin(encoding[0::2]) + offset * hands(len(encoding))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).ravel()


@wrong("3.4", on=lambda: (at(2, 4), 1))
def shift_arctangent(encoding, offset):
    """arctan knows half of the circle"""
    angles = np.arctan(encoding[0::2] / encoding[1::2]) + offset * hands(len(encoding))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).ravel()


@wrong("3.4", on=lambda: (at(2, 4), 1))
def shift_halves(encoding, offset):
    """sines in the first half, cosines in the second"""
    half = len(encoding) // 2
    angles = offset * hands(len(encoding))
    s, c = encoding[:half], encoding[half:]
    return np.concatenate(
        [s * np.cos(angles) + c * np.sin(angles), c * np.cos(angles) - s * np.sin(angles)]
    )


@wrong("3.4", on=lambda: (at(150, 4), 100))
def shift_search(encoding, offset):
    """looks the position up in a table of 200, which begins anew at its end"""
    table = ref.sinusoidal_encoding(200, len(encoding))
    i = np.abs(table - encoding).sum(axis=1).argmin()
    return table[(i + offset) % 200]


@wrong("3.4", on=lambda: (at(1500, 4), 2))
def shift_search_thousand(encoding, offset):
    """a table of a thousand positions"""
    table = np.array([at(i, len(encoding)) for i in range(-50, 1000)])
    i = np.linalg.norm(table - encoding, axis=1).argmin() - 50
    return at(i + offset, len(encoding))


@wrong("3.4", on=lambda: (at(3, 6), 4))
def shift_one_hand(encoding, offset):
    """all pairs turn at the speed of the first"""
    s, c = encoding[0::2], encoding[1::2]
    turned = [s * np.cos(offset) + c * np.sin(offset), c * np.cos(offset) - s * np.sin(offset)]
    return np.stack(turned, axis=-1).ravel()


@wrong("3.4", on=lambda: (at(3, 4), 2))
def shift_adds(encoding, offset):
    """adds the encoding of the offset"""
    return encoding + at(offset, len(encoding))


@wrong("3.4", on=lambda: (at(3, 4), 2))
def shift_rolls(encoding, offset):
    """moves the entries along"""
    return np.roll(encoding, 2 * offset)


@wrong("3.4", on=lambda: (np.array([0, 1, 0, 1]), 1))
def shift_whole_numbers(encoding, offset):
    """position 0 is 0, 1, 0, 1, and then whole numbers stay whole"""
    out = np.zeros_like(encoding)
    angles = offset * hands(len(encoding))
    out[0::2] = encoding[0::2] * np.cos(angles) + encoding[1::2] * np.sin(angles)
    out[1::2] = encoding[1::2] * np.cos(angles) - encoding[0::2] * np.sin(angles)
    return out


@wrong("3.4", on=lambda: (at(3, 8), 2))
def shift_wrong_speed(encoding, offset):
    """the speeds of d/2 dimensions"""
    half = len(encoding) // 2
    angles = offset * 10000.0 ** (-2 * np.arange(half) / half)
    s, c = encoding.reshape(half, 2).T
    return np.stack(
        [s * np.cos(angles) + c * np.sin(angles), c * np.cos(angles) - s * np.sin(angles)], axis=1
    ).reshape(-1)


@right("3.4")
def shift_angles(encoding, offset):
    """reads the angles, adds, and writes them"""
    pairs = np.reshape(encoding, (-1, 2))
    angles = np.arctan2(pairs[:, 0], pairs[:, 1]) + offset * hands(len(encoding))
    return np.column_stack([np.sin(angles), np.cos(angles)]).ravel()


@right("3.4")
def shift_complex(encoding, offset):
    """a product of complex numbers, pair by pair; a list"""
    d, out = len(encoding), []
    for j in range(d // 2):
        hand = complex(encoding[2 * j + 1], encoding[2 * j])
        hand *= cmath.exp(1j * offset / 10000 ** (2 * j / d))
        out += [hand.imag, hand.real]
    return out


@right("3.4")
def shift_einsum(encoding, offset):
    """a small matrix for each pair"""
    angles = offset * hands(len(encoding))
    c, s = np.cos(angles), np.sin(angles)
    turn = np.array([[c, s], [-s, c]])
    return np.einsum("abj,jb->ja", turn, np.reshape(encoding, (-1, 2))).reshape(-1)


# --- 3.5 ------------------------------------------------------------------------------------


@wrong("3.5", on=lambda: (at(0, 8), at(40, 8)))
def offset_fastest(a, b):
    """reads the fastest hand, which has gone round several times"""
    return np.arctan2(b[0] * a[1] - b[1] * a[0], b[1] * a[1] + b[0] * a[0])


@wrong("3.5", on=lambda: (at(10, 8), at(4, 8)))
def offset_without_sign(a, b):
    """the angle from the cosine has no sign"""
    cosine = np.clip(a[-2:] @ b[-2:], -1, 1)
    return np.arccos(cosine) * 10000 ** ((len(a) - 2) / len(a))


@wrong("3.5", on=lambda: (at(3, 2), at(4, 2)))
def offset_difference(a, b):
    """the difference of two angles, which jumps by a circle"""
    omega = 10000 ** (-(len(a) - 2) / len(a))
    return (np.arctan2(b[-2], b[-1]) - np.arctan2(a[-2], a[-1])) / omega


@wrong("3.5", on=lambda: (at(10, 8), at(4, 8)))
def offset_wrong_way(a, b):
    """from b to a"""
    omega = 10000 ** (-(len(a) - 2) / len(a))
    return np.arctan2(a[-2] * b[-1] - a[-1] * b[-2], a[-1] * b[-1] + a[-2] * b[-2]) / omega


@wrong("3.5", on=lambda: (at(0, 4), at(200, 4)))
def offset_arcsine(a, b):
    """beyond a quarter of a circle the sine falls again"""
    omega = 10000 ** (-(len(a) - 2) / len(a))
    return np.arcsin(np.clip(b[-2] * a[-1] - b[-1] * a[-2], -1, 1)) / omega


@wrong("3.5", on=lambda: (at(0, 4), at(50, 4)))
def offset_small_angle(a, b):
    """a small angle is its sine, but it is not small"""
    return (b[-2] * a[-1] - b[-1] * a[-2]) * 10000 ** ((len(a) - 2) / len(a))


@wrong("3.5", on=lambda: (at(0, 8), at(300, 8)))
def offset_search(a, b):
    """tries the offsets from −100 to 100"""
    tries = range(-100, 101)
    m = [np.linalg.norm(ref.shift_matrix(o, len(a)) @ a - b) for o in tries]
    return tries[int(np.argmin(m))]


@wrong("3.5", on=lambda: (at(0, 6), at(3, 6)))
def offset_d_is_eight(a, b):
    """the slowest hand of the book's example, of eight dimensions"""
    omega = 10000 ** (-6 / 8)
    return np.arctan2(b[-2] * a[-1] - b[-1] * a[-2], b[-1] * a[-1] + b[-2] * a[-2]) / omega


@wrong("3.5", on=lambda: (at(0, 8), at(30, 8)))
def offset_mean(a, b):
    """the mean of all hands, of which some have gone round"""
    omega = 10000.0 ** (-np.arange(0, len(a), 2) / len(a))
    sines = b[0::2] * a[1::2] - b[1::2] * a[0::2]
    cosines = b[1::2] * a[1::2] + b[0::2] * a[0::2]
    return (np.arctan2(sines, cosines) / omega).mean()


@wrong("3.5", on=lambda: (at(2, 8), at(9, 8)))
def offset_slowest_of_d(a, b):
    """the slowest hand as if there were one hand for each dimension"""
    omega = 10000 ** (-(len(a) - 1) / len(a))
    return np.arctan2(b[-2] * a[-1] - b[-1] * a[-2], b[-1] * a[-1] + b[-2] * a[-2]) / omega


@wrong("3.5", on=lambda: (at(0, 4), at(170, 4)))
def offset_arctangent(a, b):
    """arctan knows half of the circle"""
    omega = 10000 ** (-(len(a) - 2) / len(a))
    sine, cosine = b[-2] * a[-1] - b[-1] * a[-2], b[-1] * a[-1] + b[-2] * a[-2]
    return np.arctan(sine / cosine) / omega


@wrong("3.5", on=lambda: (at(5, 8), at(12, 8)))
def offset_from_zero(a, b):
    """the position of b"""
    return np.arctan2(b[-2], b[-1]) * 10000 ** ((len(b) - 2) / len(b))


@wrong("3.5", on=lambda: (at(100, 4), at(0, 4)))
def offset_modulo(a, b):
    """makes every angle positive, and so every offset"""
    omega = 10000 ** (-(len(a) - 2) / len(a))
    angle = np.arctan2(b[-2], b[-1]) - np.arctan2(a[-2], a[-1])
    return (angle % (2 * np.pi)) / omega


@right("3.5")
def offset_complex(a, b):
    """the angle of a quotient of complex numbers"""
    turned = complex(b[-1], b[-2]) / complex(a[-1], a[-2])
    return cmath.phase(turned) * 10000 ** (1 - 2 / len(a))


@right("3.5")
def offset_wrapped(a, b):
    """the difference of two angles, brought back to half a circle"""
    angle = math.atan2(b[-2], b[-1]) - math.atan2(a[-2], a[-1])
    angle = (angle + math.pi) % (2 * math.pi) - math.pi
    return angle / hands(len(a))[-1]


@right("3.5")
def offset_half_angle(a, b):
    """length of the chord for the size, area for the sign"""
    chord = np.hypot(*(b[-2:] - a[-2:]))
    size = 2 * np.arcsin(min(1.0, chord / 2))
    sign = np.sign(b[-2] * a[-1] - b[-1] * a[-2])
    return sign * size / hands(len(a))[-1]


@right("3.5")
def offset_whole(a, b):
    """positions are whole numbers, and so is what lies between two of them"""
    sine, cosine = b[-2] * a[-1] - b[-1] * a[-2], b[-1] * a[-1] + b[-2] * a[-2]
    return round(math.atan2(sine, cosine) * 10000 ** ((len(a) - 2) / len(a)))


# --- 3.6 ------------------------------------------------------------------------------------


def turning(t=3, k=4):
    return normal(1, t, k), np.arange(t) + 2.0


@wrong("3.6", on=turning)
def rotate_copies_one(x, positions):
    """a copy of the odd ones, but the even ones are overwritten first"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.copy()
    even, odd = turned[:, 0::2], turned[:, 1::2].copy()
    even[:] = even * np.cos(angles) - odd * np.sin(angles)
    turned[:, 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return turned


@wrong("3.6", on=turning)
def rotate_rescaled(x, positions):
    """repairs the lengths, not the bug"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.copy()
    even, odd = turned[:, 0::2], turned[:, 1::2]
    even[:] = even * np.cos(angles) - odd * np.sin(angles)
    odd[:] = even * np.sin(angles) + odd * np.cos(angles)
    before, after = np.linalg.norm(x, axis=1), np.linalg.norm(turned, axis=1)
    return turned * (before / after)[:, None]


@wrong("3.6", on=turning)
def rotate_in_place(x, positions):
    """turns the given array"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    even, odd = x[:, 0::2].copy(), x[:, 1::2].copy()
    x[:, 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    x[:, 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return x


@wrong("3.6", on=turning)
def rotate_halves(x, positions):
    """pairs a dimension with one half of the vector further, as other programs do"""
    half = x.shape[1] // 2
    angles = positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = x[:, :half], x[:, half:]
    return np.hstack(
        [
            first * np.cos(angles) - second * np.sin(angles),
            first * np.sin(angles) + second * np.cos(angles),
        ]
    )


@wrong("3.6", on=turning)
def rotate_wrong_way(x, positions):
    """turns the other way"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = np.empty(x.shape)
    turned[:, 0::2] = even * np.cos(angles) + odd * np.sin(angles)
    turned[:, 1::2] = -even * np.sin(angles) + odd * np.cos(angles)
    return turned


@wrong("3.6", on=lambda: (normal(1, 3, 4), np.array([7, 2, 2])))
def rotate_counts(x, positions):
    """0, 1, 2, … whatever the positions are"""
    t, d = x.shape
    angles = np.arange(t)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = [
        even * np.cos(angles) - odd * np.sin(angles),
        even * np.sin(angles) + odd * np.cos(angles),
    ]
    return np.stack(turned, axis=-1).reshape(t, d)


@wrong("3.6", on=lambda: (np.array([[1, 0, 1, 0]]), np.array([1])))
def rotate_whole_numbers(x, positions):
    """a copy of whole numbers holds whole numbers"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.copy()
    even, odd = x[:, 0::2], x[:, 1::2]
    turned[:, 0::2] = even * np.cos(angles) - odd * np.sin(angles)
    turned[:, 1::2] = even * np.sin(angles) + odd * np.cos(angles)
    return turned


@wrong("3.6", on=turning)
def rotate_not_interleaved(x, positions):
    """leaves even and odd apart"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    even, odd = x[:, 0::2], x[:, 1::2]
    return np.concatenate(
        [
            even * np.cos(angles) - odd * np.sin(angles),
            even * np.sin(angles) + odd * np.cos(angles),
        ],
        axis=1,
    )


@wrong("3.6", on=lambda: turning(1, 4))
def rotate_squeezed(x, positions):
    """one token: a row instead of a matrix"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = np.stack(
        [
            even * np.cos(angles) - odd * np.sin(angles),
            even * np.sin(angles) + odd * np.cos(angles),
        ],
        axis=-1,
    )
    return turned.reshape(x.shape).squeeze()


@wrong("3.6", on=turning)
def rotate_adds(x, positions):
    """adds sines and cosines, as with added encodings"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.astype(float)
    turned[:, 0::2] += np.sin(angles)
    turned[:, 1::2] += np.cos(angles)
    return turned


@wrong("3.6", on=lambda: (normal(1, 2, 4), np.array([1, 5000])))
def rotate_table(x, positions):
    """sines and cosines from a table of 1024 positions"""
    table = ref.sinusoidal_encoding(1024, x.shape[1])
    sines, cosines = table[positions.astype(int), 0::2], table[positions.astype(int), 1::2]
    turned = np.empty(x.shape)
    turned[:, 0::2] = x[:, 0::2] * cosines - x[:, 1::2] * sines
    turned[:, 1::2] = x[:, 0::2] * sines + x[:, 1::2] * cosines
    return turned


@wrong("3.6", on=turning)
def rotate_in_order(x, positions):
    """first the odd ones, then the even ones: the same bug the other way round"""
    d = x.shape[1]
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    turned = x.astype(float)
    turned[:, 1::2] = turned[:, 0::2] * np.sin(angles) + turned[:, 1::2] * np.cos(angles)
    turned[:, 0::2] = turned[:, 0::2] * np.cos(angles) - turned[:, 1::2] * np.sin(angles)
    return turned


@wrong("3.6", on=lambda: turning(2, 6))
def rotate_one_speed(x, positions):
    """all pairs at the speed of the first"""
    c, s = np.cos(positions)[:, None], np.sin(positions)[:, None]
    even, odd = x[:, 0::2], x[:, 1::2]
    return np.stack([even * c - odd * s, even * s + odd * c], axis=-1).reshape(x.shape)


@right("3.6")
def rotate_complex(x, positions):
    """complex numbers"""
    d = x.shape[1]
    z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * np.outer(positions, hands(d)))
    return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)


@right("3.6")
def rotate_loops(x, positions):
    """pair by pair; a list of lists"""
    d, out = len(x[0]), []
    for row, position in zip(x, positions):
        turned = []
        for j in range(0, d, 2):
            angle = position / 10000 ** (j / d)
            c, s = math.cos(angle), math.sin(angle)
            turned += [row[j] * c - row[j + 1] * s, row[j] * s + row[j + 1] * c]
        out.append(turned)
    return out


@right("3.6")
def rotate_matrices(x, positions):
    """a matrix for each position: the shift matrix, turned"""
    return np.array([ref.shift_matrix(-p, x.shape[1]) @ row for row, p in zip(x, positions)])


@right("3.6")
def rotate_swapped(x, positions):
    """every dimension with its partner"""
    d = x.shape[1]
    angles = np.repeat(np.outer(positions, hands(d)), 2, axis=1)
    partner = np.empty(x.shape)
    partner[:, 0::2], partner[:, 1::2] = -x[:, 1::2], x[:, 0::2]
    return x * np.cos(angles) + partner * np.sin(angles)


# --- 3.7 ------------------------------------------------------------------------------------


@wrong("3.7", on=lambda: (48, 24))
def hours_sine_only(length, period):
    """sines only: two hours have the same"""
    return np.sin(2 * np.pi * np.arange(length) / period)[:, None]


@wrong("3.7", on=lambda: (48, 24))
def hours_ramp(length, period):
    """a line that jumps at midnight"""
    return (np.arange(length) % period / period)[:, None]


@wrong("3.7", on=lambda: (48, 24))
def hours_one_hot(length, period):
    """one-hot rows: all hours are equally far"""
    return np.eye(period)[np.arange(length) % period]


@wrong("3.7", on=lambda: (30, 24))
def hours_of_length(length, period):
    """once round for the whole table"""
    angles = 2 * np.pi * np.arange(length) / length
    return np.column_stack([np.cos(angles), np.sin(angles)])


@wrong("3.7", on=lambda: (48, 24))
def hours_wrapped_encoding(length, period):
    """the usual encoding, begun anew every day"""
    return ref.sinusoidal_encoding(period, 8)[np.arange(length) % period]


@wrong("3.7", on=lambda: (14, 7))
def hours_of_a_day(length, period):
    """24 hours, whatever the period"""
    angles = 2 * np.pi * np.arange(length) / 24
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (48, 24))
def hours_without_pi(length, period):
    """forgets 2π: the circle does not close"""
    angles = np.arange(length) / period
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (48, 24))
def hours_half_circle(length, period):
    """half a circle in a day"""
    angles = np.pi * (np.arange(length) % period) / period
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (48, 24))
def hours_minus_one(length, period):
    """linspace to the end: the last hour is the first"""
    angles = np.linspace(0, 2 * np.pi, period)[np.arange(length) % period]
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (46, 23))
def hours_small(length, period):
    """a circle so small that the hours nearly touch"""
    angles = 2 * np.pi * np.arange(length) / period
    return 0.1 * np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (48, 24))
def hours_large(length, period):
    """a circle as long as the day"""
    angles = 2 * np.pi * np.arange(length) / period
    radius = period / (2 * np.pi)
    return radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)


@wrong("3.7", on=lambda: (8, 4))
def hours_two_hands(length, period):
    """a second hand twice as fast: in a short day the opposite hour comes near"""
    angles = 2 * np.pi * np.outer(np.arange(length) / period, [1, 2])
    return np.hstack([np.sin(angles), np.cos(angles)])


@wrong("3.7", on=lambda: (48, 24))
def hours_tent(length, period):
    """a way round a diamond, with longer and shorter steps at the corners"""
    t = np.arange(length) % period / period
    x = 1 - 4 * np.abs(t - 0.5)
    y = np.where(t < 0.5, 1 - np.abs(x), np.abs(x) - 1) ** 3
    return np.stack([x, y], axis=1)


@wrong("3.7", on=lambda: (48, 24))
def hours_binary(length, period):
    """the hour in binary digits"""
    hours = np.arange(length) % period
    digits = max(1, int(period - 1).bit_length())
    return ((hours[:, None] >> np.arange(digits)) & 1).astype(float)


@wrong("3.7", on=lambda: (10, 24))
def hours_at_least_a_day(length, period):
    """always whole days"""
    angles = 2 * np.pi * np.arange(max(length, period)) / period
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)


@right("3.7")
def hours_lists(length, period):
    """a circle, as a list of lists, twelve o'clock on top"""
    table = []
    for i in range(length):
        angle = 2 * math.pi * (i % period) / period
        table.append([math.sin(angle), math.cos(angle)])
    return table


@right("3.7")
def hours_three_phases(length, period):
    """three cosines, a third of a circle apart"""
    angles = 2 * np.pi * np.arange(length)[:, None] / period
    return np.cos(angles + 2 * np.pi * np.arange(3) / 3)


@right("3.7")
def hours_other_way(length, period):
    """the other way round, from another hour, with a column of zeros"""
    hand = np.exp(-2j * np.pi * (np.arange(length) + 5) / period)
    return np.stack([hand.real, np.zeros(length), hand.imag], axis=1)


@right("3.7")
def hours_step_by_step(length, period):
    """the same small rotation again and again"""
    c, s = math.cos(2 * math.pi / period), math.sin(2 * math.pi / period)
    day = [(0.9, 0.0)]
    for _ in range(period - 1):
        x, y = day[-1]
        day.append((c * x - s * y, s * x + c * y))
    return np.array([day[i % period] for i in range(length)])
