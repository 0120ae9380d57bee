"""Chapter 2: look-up and its gradient, likeness of vectors, learning from neighbours."""

import math

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, same
from tfmlib.checking.draw import (
    ANY_MAGNITUDE,
    KINDS,
    axis,
    chance,
    choice,
    ids,
    leading,
    stretch,
    values,
)
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers

# --- 2.1 ----------------------------------------------------------------------------------------

EMBED = Exercise(
    id="2.1",
    title="Look-up",
    answer="embed",
    signature="embed(ids, table)",
    oracle=lambda ids, table: ref.embed(ids, table),
    stands_for="embed",
    forbids=("embedding",),
    clauses={
        "for an array of ids of any shape": "a batch of two sentences",
        "from a single id": "a single id",
        "each id is replaced by its row": "a row for itself",
        "ids (...) whole numbers, table (V, D) -> (..., D)": DRAWN,
    },
    hints=(
        "What does table[2] give, and what does table[[2, 0]] give?",
        "X' = O E: ref.one_hot(ids, V) @ table, where V is the number of rows; or table[ids].",
        "ids has any shape (...), table is (V, D); the result is (..., D).",
    ),
    example=Example(
        (np.array([2, 0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
        "ids [2, 0] and the table [[1, 2], [3, 4], [5, 6]] should give [[5, 6], [1, 2]].",
    ),
)
# Tables with fewer rows than columns, so that a column can be taken by mistake.
_ids, _table = np.array([4, 0, 4, 2]), numbers(1, 5, 7)
_batch, _wide = np.array([[1, 0, 2], [2, 2, 1]]), numbers(2, 3, 11)
EMBED.case("four tokens", "the row of each id, in the order of the ids", _ids, _table)
EMBED.case("a batch of two sentences", "ids (B, T) give vectors (B, T, D)", _batch, _wide)
EMBED.case("a single id", "one id without an axis gives one row, (D,)", np.array(3), _table)


@EMBED.draws
def _(rng, size):
    V, D = stretch(rng, size), axis(rng, min(size, 12))
    shape = leading(rng, size + 1, most=4) if chance(rng, 0.8) else (axis(rng, size),)
    return ids(rng, shape, V), values(rng, (V, D), ANY_MAGNITUDE)


@EMBED.invariant("a row for itself", "the id of each row gives back that row")
def _(answer):
    return same(answer(np.arange(5), _table), _table)


@EMBED.invariant("a shuffled text gives shuffled rows", "each position is looked up by itself")
def _(answer):
    order = [2, 0, 3, 1]
    return same(answer(_ids[order], _table), answer(_ids, _table)[order])


@EMBED.right
def takes_the_rows_in_a_loop(ids, table):
    rows = [table[i] for i in ids.ravel()]
    return np.array(rows).reshape(*ids.shape, table.shape[1])


@EMBED.right
def takes_the_rows_of_nested_lists(ids, table):
    def rows(item):
        return [rows(part) for part in item] if isinstance(item, list) else table[item].tolist()

    return rows(ids.tolist())


@EMBED.right
def multiplies_one_hot_rows(ids, table):
    return np.einsum("...v,vd->...d", ids[..., None] == np.arange(len(table)), table)


@EMBED.mistake("You took columns: the vector of a token is a row of the table, table[ids].")
def takes_columns(ids, table):
    return table[:, ids]


@EMBED.mistake("You counted rows from 1: id 0 is the first row.")
def counts_rows_from_one(ids, table):
    return table[ids - 1]


@EMBED.mistake("You returned the one-hot rows: multiply them with the table.")
def returns_one_hot_rows(ids, table):
    return ref.one_hot(ids, len(table))


@EMBED.mistake("You added up the rows of a sentence: each token keeps a row of its own.")
def adds_the_rows(ids, table):
    return table[ids].sum(axis=0)


@EMBED.mistake("A batch has lost its axes: the result has the shape of the ids, and one axis more.")
def flattens_the_batch(ids, table):
    return table[ids.ravel()]


@EMBED.mistake("You multiplied each row by its id: an id is a name, not a quantity.")
def multiplies_by_the_id(ids, table):
    return table[ids] * ids[..., None]


@EMBED.mistake("You left out repetitions: an id that stands twice in the text gives its row twice.")
def leaves_out_repetitions(ids, table):
    return table[np.unique(ids)]


@EMBED.mistake(
    "You looked at one sentence only: a batch has an array of ids, and all are embedded."
)
def embeds_the_first_sentence(ids, table):
    return table[ids[0] if ids.ndim > 1 else ids]


# --- 2.2 ----------------------------------------------------------------------------------------


def _table_gradient(ids, upstream, vocab_size):
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    np.add.at(gradient, ids, upstream)
    return gradient


TABLE_GRADIENT = Exercise(
    id="2.2",
    title="Find the bug: a word that occurs twice",
    answer="table_gradient",
    signature="table_gradient(ids, upstream, vocab_size)",
    oracle=_table_gradient,
    hints=(
        "Try g = np.zeros(2); g[[0, 0]] += 1. What is g[0], and what should it be?",
        "Row i is the sum of upstream[t] over all t with ids[t] = i: one_hot(ids).T @ upstream.",
        "ids (T,), upstream (T, D): one-hot rows (T, V), so their transpose is (V, T); the result "
        "is (V, D).",
    ),
    example=Example(
        (np.array([1, 1]), np.array([[2.0, 3.0], [5.0, 7.0]]), 3),
        "token 1 with the gradients [2, 3] and [5, 7] should give [[0, 0], [7, 10], [0, 0]].",
    ),
    clauses={
        "right as long as no word occurs twice": "words that occur twice and three times",
        "one row for each token of the vocabulary": "no word twice",
        "zeros for those that do not occur": "no word twice",
        "ids (T,), upstream (T, D), a number V -> (V, D)": DRAWN,
    },
)
_repeated, _upstream = np.array([4, 1, 4, 0, 4, 1, 6]), numbers(3, 7, 3)
TABLE_GRADIENT.case(
    "words that occur twice and three times", "all their positions add up", _repeated, _upstream, 11
)
TABLE_GRADIENT.case(
    "no word twice",
    "each row goes to its token, the other rows are zero",
    np.array([2, 0, 1]),
    numbers(4, 3, 5),
    7,
)


@TABLE_GRADIENT.draws
def _(rng, size):
    T, V, D = stretch(rng, size), stretch(rng, size), axis(rng, min(size, 12))
    return ids(rng, (T,), V), values(rng, (T, D), (*KINDS, "tiny", "huge")), V


@TABLE_GRADIENT.invariant("nothing is lost", "the rows add up to what came in")
def _(answer):
    return same(np.sum(answer(_repeated, _upstream, 13), axis=0), _upstream.sum(axis=0))


@TABLE_GRADIENT.invariant(
    "it predicts a small step",
    "moving a number of the table by 1e-6 moves the loss by the gradient times 1e-6",
)
def _(answer):
    table, step = numbers(5, 7, 3), 1e-6

    def loss(table):
        return (np.sin(table[_repeated]) * _upstream).sum()

    gradient = answer(_repeated, np.cos(table[_repeated]) * _upstream, 7)
    moved = np.array(
        [(loss(table + step * e.reshape(7, 3)) - loss(table)) / step for e in np.eye(21)]
    ).reshape(7, 3)
    return same(gradient, moved, atol=1e-4)


@TABLE_GRADIENT.right
def adds_in_a_loop(ids, upstream, vocab_size):
    rows = [[0.0] * upstream.shape[1] for _ in range(vocab_size)]
    for token, gradient in zip(ids, upstream, strict=True):
        for d, number in enumerate(gradient):
            rows[token][d] += number
    return rows


@TABLE_GRADIENT.right
def selects_each_tokens_positions(ids, upstream, vocab_size):
    return np.stack([upstream[ids == token].sum(axis=0) for token in range(vocab_size)])


@TABLE_GRADIENT.right
def counts_with_weights(ids, upstream, vocab_size):
    columns = [np.bincount(ids, weights=column, minlength=vocab_size) for column in upstream.T]
    return np.array(columns).T


@TABLE_GRADIENT.mistake(
    "This is still the bug: of several positions of a word only the last one counts, because "
    "gradient[ids] += writes each row once. Add with np.add.at, in a loop, or by one-hot rows."
)
def keeps_the_bug(ids, upstream, vocab_size):
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    gradient[ids] += upstream
    return gradient


@TABLE_GRADIENT.mistake("You averaged over a word's positions: their gradients add up.")
def averages_the_positions(ids, upstream, vocab_size):
    times = np.bincount(ids, minlength=vocab_size)[:, None]
    return _table_gradient(ids, upstream, vocab_size) / np.maximum(times, 1)


@TABLE_GRADIENT.mistake("You kept a word's first position only: the gradients of all add up.")
def keeps_the_first_position(ids, upstream, vocab_size):
    return keeps_the_bug(ids[::-1], upstream[::-1], vocab_size)


@TABLE_GRADIENT.mistake("Rows of words that do not occur are missing: they are there, and zero.")
def leaves_out_absent_words(ids, upstream, vocab_size):
    return _table_gradient(ids, upstream, vocab_size)[np.unique(ids)]


@TABLE_GRADIENT.mistake("Features stand in rows: the gradient has the shape of the table, (V, D).")
def returns_the_transpose(ids, upstream, vocab_size):
    return _table_gradient(ids, upstream, vocab_size).T


@TABLE_GRADIENT.mistake(
    "You gave the rows back in the order of the text: row i belongs to token i of the vocabulary."
)
def leaves_rows_in_text_order(ids, upstream, vocab_size):
    gradient = np.zeros((vocab_size, upstream.shape[1]))
    gradient[: len(ids)] = upstream
    return gradient


@TABLE_GRADIENT.mistake(
    "You made as many rows as the largest id needs: there are vocab_size of them, whichever occur."
)
def stops_at_the_largest_id(ids, upstream, vocab_size):
    return _table_gradient(ids, upstream, ids.max() + 1)


# --- 2.3 ----------------------------------------------------------------------------------------


def _cosines(table):
    return ref.cosine_similarity(table[:, None], table[None])


COSINES = Exercise(
    id="2.3",
    title="The cosine of every pair",
    answer="cosine_matrix",
    signature="cosine_matrix(table)",
    oracle=_cosines,
    forbids=("cosine_similarity",),
    clauses={
        "row $i$, column $j$ is the cosine of rows $i$ and $j$": "five rows of different lengths",
        "has no direction: its cosine with everything is 0": "a row of zeros",
        "whether its length is $10^{-30}$ or $10^4$": "very short and very long rows",
        "table (V, D) -> (V, V)": DRAWN,
    },
    hints=(
        "If all rows had length 1, which product would hold every cosine?",
        "Divide each row by its length, the root of the sum of its squares; then unit @ unit.T. A "
        "length of 0 needs care.",
        "table (V, D); the lengths are (V, 1), so keep the axis; the result is (V, V).",
    ),
    example=Example(
        (np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 5.0]]),),
        "the whiteboard's vectors [1, 0, 2] and [0, 1, 5] should give [[1, 0.877], [0.877, 1]].",
    ),
)
_long = numbers(6, 5, 3) * np.array([[0.1], [7.0], [1.0], [3.0], [0.5]])
_with_zero = numbers(7, 3, 7) * np.array([[2.0], [0.0], [0.3]])
COSINES.case("five rows of different lengths", "dot products divided by both lengths", _long)
COSINES.case("a row of zeros", "no direction: a cosine of 0 with everything, not NaN", _with_zero)
COSINES.case(
    "very short and very long rows",
    "a short row has a direction as well: nothing may be added to its length",
    numbers(27, 3, 2) * np.array([[1e-30], [1.0], [1e4]]),
)


@COSINES.draws
def _(rng, size):
    V, D = axis(rng, min(size, 40)), stretch(rng, size)
    if chance(rng, 0.3):
        return (values(rng, (V, D)) * 10.0 ** rng.integers(-30, 5, size=(V, 1)),)
    table = values(rng, (V, D), (*KINDS, "tiny", "huge"))
    return (table * (rng.random((V, 1)) < 0.8) if chance(rng, 0.3) else table,)


@COSINES.invariant("lengths do not matter", "rows times 2, 3, 5, 7 and 11 give the same cosines")
def _(answer):
    return same(answer(_long * np.array([[2], [3], [5], [7], [11]])), answer(_long))


@COSINES.invariant("a row agrees with itself", "the diagonal is 1, and the matrix is symmetric")
def _(answer):
    cosines = answer(_long)
    return same(np.diag(cosines), np.ones(5)) and same(cosines, cosines.T)


@COSINES.right
def compares_pair_by_pair(table):
    def cosine(a, b):
        lengths = math.hypot(*a) * math.hypot(*b)
        return float(a @ b) / lengths if lengths else 0.0

    return [[cosine(a, b) for b in table] for a in table]


@COSINES.right
def divides_the_dot_products(table):
    dots = np.einsum("id,jd->ij", table, table, dtype=float)
    lengths = np.sqrt(np.diag(dots))
    both = np.outer(lengths, lengths)
    return np.divide(dots, both, out=np.zeros_like(dots), where=both > 0)


@COSINES.mistake("These are dot products: divide by the lengths of both rows.")
def forgets_the_lengths(table):
    return table @ table.T


@COSINES.mistake("You divided by one of the two lengths: the other belongs there as well.")
def divides_by_onestretch(table):
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return table @ table.T / np.where(lengths == 0, 1, lengths)


@COSINES.mistake("You divided columns by their lengths: a vector is a row, axis 1.")
def normalises_columns(table):
    unit = table / np.linalg.norm(table, axis=0)
    return unit @ unit.T


@COSINES.mistake("A row of zeros gives 0/0 here: its cosines must be 0.")
def divides_zero_by_zero(table):
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return unit @ unit.T


@COSINES.mistake(
    "You subtracted each row's mean first: that is a correlation; a cosine takes rows as they are."
)
def subtracts_the_means(table):
    return _cosines(table - table.mean(axis=1, keepdims=True))


@COSINES.mistake("These are distances: alike vectors should have a large value, not a small one.")
def returns_distances(table):
    return np.linalg.norm(table[:, None] - table[None], axis=-1)


@COSINES.mistake("You divided by the squares of the lengths: take the root of the sum of squares.")
def forgets_the_root(table):
    squares = (table**2).sum(axis=1, keepdims=True)
    unit = table / np.where(squares == 0, 1, squares)
    return unit @ unit.T


@COSINES.mistake(
    "You added a small number to the lengths: for a short row that is no small number. Divide by "
    "1, or by infinity, where the length is 0."
)
def adds_a_small_number(table):
    unit = table / (np.linalg.norm(table, axis=1, keepdims=True) + 1e-8)
    return unit @ unit.T


@COSINES.mistake(
    "You set the whole diagonal to 1: a row of zeros has a cosine of 0 with itself, too."
)
def fills_the_diagonal(table):
    cosines = np.array(_cosines(table))
    np.fill_diagonal(cosines, 1)
    return cosines


# --- 2.4 ----------------------------------------------------------------------------------------

DISTANCE = Exercise(
    id="2.4",
    title="Distance and cosine",
    answer="distance_from_cosine",
    signature="distance_from_cosine(cosine)",
    oracle=lambda cosine: np.sqrt(2 - 2 * np.asarray(cosine)),
    hints=(
        "Multiply out (a - b)·(a - b). What is a·a for a vector of length 1?",
        "‖a - b‖² = a·a + b·b - 2 a·b = 1 + 1 - 2 cosine.",
        "A number gives a number, an array gives an array of the same shape.",
    ),
    example=Example((0.0,), "a cosine of 0 (a right angle) should give √2 = 1.414."),
    clauses={
        "of two vectors of length 1 whose cosine is given": "it agrees with measured distances",
        "the distance falls whenever the cosine rises": "it falls as the cosine rises",
        "a number or an array": "a single number",
        "from -1 to 1": "opposite and equal",
        "the same shape": DRAWN,
    },
)
DISTANCE.case("five cosines", "‖a - b‖ for such a and b", np.array([-0.9, -0.3, 0.2, 0.5, 0.95]))
DISTANCE.case("a single number", "a number in, a number out", 0.125)
DISTANCE.case(
    "opposite and equal", "opposite vectors are 2 apart, equal ones 0", np.array([-1.0, 1.0])
)


@DISTANCE.draws
def _(rng, size):
    shape = leading(rng, size + 1, most=4) if chance(rng) else (stretch(rng, size),)
    kind = choice(rng, ("any", "any", "whole", "tenths", "equal"))
    cosines = {
        "any": rng.uniform(-1, 1, size=shape),
        "whole": rng.integers(-1, 2, size=shape),
        "tenths": rng.integers(-10, 11, size=shape) / 10,
        "equal": np.full(shape, rng.uniform(-1, 1)),
    }[kind]
    if size == 0 or (not shape and chance(rng)):
        return (cosines.ravel()[0].item(),)  # a plain number
    return (np.asarray(cosines),)


@DISTANCE.invariant(
    "it agrees with measured distances", "for 11 random pairs of length 1, the distance is yours"
)
def _(answer):
    a, b = (
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (numbers(8, 11, 5), numbers(9, 11, 5))
    )
    return same(answer((a * b).sum(axis=1)), np.linalg.norm(a - b, axis=1))


@DISTANCE.invariant("it falls as the cosine rises", "so nearest and most alike are the same")
def _(answer):
    rises = np.flatnonzero(np.diff(answer(np.linspace(-1, 1, 13))) >= 0)
    if rises.size:
        return (
            f"Of 12 steps by which the cosine rises, your distance does not fall in {rises.size}."
        )
    return True


@DISTANCE.right
def takes_the_chord_of_the_angle(cosine):
    return 2 * np.sin(np.arccos(cosine) / 2)


@DISTANCE.right
def builds_two_such_vectors(cosine):
    if np.ndim(cosine):
        return [builds_two_such_vectors(one) for one in cosine]
    return math.dist((1, 0), (float(cosine), math.sqrt(1 - float(cosine) ** 2)))


@DISTANCE.mistake("That is the square of the distance: take the root.")
def returns_the_square(cosine):
    return 2 - 2 * cosine


@DISTANCE.mistake(
    "1 - cosine is often called the cosine distance, but ‖a - b‖ is another one: multiply out its "
    "square."
)
def returns_the_cosine_distance(cosine):
    return 1 - cosine


@DISTANCE.mistake("√(1 - c²) is the sine, the height of a above b: b reaches farther.")
def returns_the_sine(cosine):
    return np.sqrt(1 - cosine**2)


@DISTANCE.mistake("That is the length of a + b: in a - b the mixed term has a minus.")
def takes_the_sum(cosine):
    return np.sqrt(2 + 2 * cosine)


@DISTANCE.mistake("That is the angle, the way along the circle: the distance is the straight line.")
def returns_the_angle(cosine):
    return np.arccos(cosine)


@DISTANCE.mistake("You forgot that the mixed term comes twice: (a - b)² has -2ab.")
def forgets_the_two(cosine):
    return np.sqrt(2 - cosine)


@DISTANCE.mistake(
    "√(1 - c) is too small by a factor: a·a and b·b are 1 each, so the square is 2 - 2 cosine."
)
def takes_half_the_sum_of_squares(cosine):
    return np.sqrt(1 - cosine)


@DISTANCE.mistake("math.sqrt takes single numbers only: np.sqrt takes arrays as well.")
def takes_single_numbers_only(cosine):
    return math.sqrt(2 - 2 * cosine)


# --- 2.5 ----------------------------------------------------------------------------------------


def _cooccurrence(ids, vocab_size, window):
    counts = np.zeros((vocab_size, vocab_size))
    for offset in range(1, window + 1):
        for left, right in zip(ids, ids[offset:], strict=False):
            counts[left, right] += 1
            counts[right, left] += 1
    return counts


COUNTS = Exercise(
    id="2.5",
    title="Who stands near whom",
    answer="cooccurrence",
    signature="cooccurrence(ids, vocab_size, window)",
    oracle=_cooccurrence,
    hints=(
        "For the token at position i, which positions j are its neighbours?",
        "Positions i and j are neighbours if 0 < |i - j| <= window; then counts[ids[i], ids[j]] "
        "grows by 1.",
        "T ids in, counts (V, V) out.",
    ),
    example=Example(
        ([0, 1, 2, 1], 3, 1),
        "ids [0, 1, 2, 1] with a window of 1 should give [[0, 1, 0], [1, 0, 2], [0, 2, 0]].",
    ),
    clauses={
        "how often token $o$ occurs": "every pair is counted",
        "at most `window` positions from token $c$": "a window of two",
        "for one sentence": "a window longer than the text",
        "A position is not its own neighbour": "one token",
        "a word that occurs twice can be near itself": "a word beside itself",
        "-> counts (V, V)": DRAWN,
    },
)
_near = [2, 5, 1, 5, 5, 0, 3, 2]
COUNTS.case("a window of two", "two places before and two after", _near, 7, 2)
COUNTS.case("a window of three", "three places before and three after", [1, 0, 4, 2, 0, 1, 3], 5, 3)
COUNTS.case("a window longer than the text", "the text ends where it ends", [3, 8, 3], 11, 5)
COUNTS.case("one token", "no neighbours: zeros", [2], 4, 1)
COUNTS.case("a word beside itself", "each of the two is the other's neighbour", [1, 1], 3, 2)


@COUNTS.draws
def _(rng, size):
    V, T = axis(rng, min(size, 40)), stretch(rng, size)
    return ids(rng, (T,), V).tolist(), V, axis(rng, min(size + 1, 12))


@COUNTS.invariant("nearness is mutual", "the counts are symmetric")
def _(answer):
    counts = answer(_near, 7, 3)
    return same(counts, counts.T)


@COUNTS.invariant(
    "every pair is counted", "a text of 11 tokens has 20 pairs at distance 1 and 18 at distance 2"
)
def _(answer):
    text = [0, 1, 2, 0, 1, 2, 2, 2, 1, 0, 1]
    for window, due in ((1, 20), (2, 38)):
        counted = np.sum(answer(text, 3, window))
        if counted != due:
            return f"With a window of {window} you count {counted:g} pairs where there are {due}."
    return True


@COUNTS.right
def slices_around_each_place(ids, vocab_size, window):
    counts = [[0] * vocab_size for _ in range(vocab_size)]
    for i, centre in enumerate(ids):
        for other in ids[max(0, i - window) : i] + ids[i + 1 : i + window + 1]:
            counts[centre][other] += 1
    return counts


@COUNTS.right
def counts_whole_numbers(ids, vocab_size, window):
    counts = np.zeros((vocab_size, vocab_size), dtype=int)
    for offset in range(1, min(window, len(ids) - 1) + 1):
        np.add.at(counts, (ids[offset:], ids[:-offset]), 1)
    return counts + counts.T


@COUNTS.right
def multiplies_by_a_band(ids, vocab_size, window):
    rows, place = np.eye(vocab_size)[ids], np.arange(len(ids))
    apart = np.abs(place[:, None] - place)
    return rows.T @ ((apart > 0) & (apart <= window)) @ rows


def _count(ids, vocab_size, near):
    counts = np.zeros((vocab_size, vocab_size))
    for i, centre in enumerate(ids):
        for j, other in enumerate(ids):
            if near(i, j):
                counts[centre, other] += 1
    return counts


@COUNTS.mistake("You counted each position as its own neighbour: leave out i = j.")
def counts_itself(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: abs(i - j) <= window)


@COUNTS.mistake("You looked to the right only: neighbours stand before and after.")
def looks_right_only(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: 0 < j - i <= window)


@COUNTS.mistake("Your window is one place too small: a distance of exactly window counts.")
def stops_short_of_the_window(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: 0 < abs(i - j) < window)


@COUNTS.mistake("You noted whether, not how often: add 1 each time.")
def marks_instead_of_counting(ids, vocab_size, window):
    return np.minimum(_cooccurrence(ids, vocab_size, window), 1)


@COUNTS.mistake(
    "You left out pairs of the same word: positions differ, so a word can be its own neighbour."
)
def leaves_out_the_same_word(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: 0 < abs(i - j) <= window and ids[i] != ids[j])


@COUNTS.mistake("You counted only the pairs at distance window: nearer ones count as well.")
def counts_the_edge_only(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: abs(i - j) == window)


@COUNTS.mistake(
    "The text closes into a ring in yours: ids[-1] is the last token in Python, not none at all."
)
def wraps_around(ids, vocab_size, window):
    counts = np.zeros((vocab_size, vocab_size))
    for i, centre in enumerate(ids):
        for offset in range(1, window + 1):
            counts[centre, ids[i - offset]] += 1
            if i + offset < len(ids):
                counts[centre, ids[i + offset]] += 1
    return counts


@COUNTS.mistake("Your window is one place too large: at most window places away.")
def goes_beyond_the_window(ids, vocab_size, window):
    return _count(ids, vocab_size, lambda i, j: 0 < abs(i - j) <= window + 1)


@COUNTS.mistake("You counted each pair from both ends: entry [c, o] is twice what it should be.")
def counts_twice(ids, vocab_size, window):
    return 2 * _cooccurrence(ids, vocab_size, window)


@COUNTS.mistake("You divided each row by its sum: the entries say how often, not which share.")
def returns_shares(ids, vocab_size, window):
    counts = _cooccurrence(ids, vocab_size, window)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


# --- 2.6 ----------------------------------------------------------------------------------------


def _loss(counts, scores):
    return -(counts * ref.log_softmax(scores)).sum() / counts.sum()


def _score_gradient(counts, scores):
    """Pair by pair, as the text says it: prediction minus one-hot row, times how often."""
    gradient = np.zeros(scores.shape)
    predictions, truths = ref.softmax(scores), np.eye(scores.shape[1])
    for c, o in np.argwhere(counts):
        gradient[c] += counts[c, o] * (predictions[c] - truths[o])
    return gradient / counts.sum()


SCORE_GRADIENT = Exercise(
    id="2.6",
    title="The gradient of all pairs",
    answer="score_gradient",
    signature="score_gradient(counts, scores)",
    oracle=_score_gradient,
    stands_for="score_gradient",
    hints=(
        "Word c takes part in several pairs. How often is its row of predictions added up?",
        "(N_c p - N) / n: row c of the softmax times the number of pairs of c, minus the counts, "
        "divided by the number of all pairs.",
        "counts and scores are (V, W); the pairs of each word are (V, 1); the result is (V, W).",
    ),
    example=Example(
        (np.array([[3.0, 1.0]]), np.zeros((1, 2))),
        "counts [[3, 1]] and scores of zero should give [[-0.25, 0.25]].",
    ),
    clauses={
        "Add that up over all pairs": "five words, seven neighbours",
        "the gradient of {eq}`eq-skip-gram-loss`": "a perfect prediction needs no change",
        "more or fewer neighbours (columns, W) than words (rows, V)": "inputs of every size "
        "and kind",
        "words without any": "a word that never occurs",
        "compares with small steps in each score": "it predicts a small step",
        "counts (V, W), a row per word; scores (V, W) -> (V, W)": DRAWN,
    },
    coincidences={"argument 1: at most two decimals": "how often is a whole number"},
)
_pairs = np.random.default_rng(10).integers(0, 5, (5, 7)).astype(float)
_scores = numbers(11, 5, 7)
SCORE_GRADIENT.case("five words, seven neighbours", "prediction minus truth", _pairs, _scores)
SCORE_GRADIENT.case(
    "a word that never occurs",
    "a row of counts without a pair has no gradient",
    np.array([[2.0, 0.0, 5.0], [0.0, 0.0, 0.0]]),
    numbers(12, 2, 3),
)


@SCORE_GRADIENT.draws
def _(rng, size):
    V, W = axis(rng, min(size, 40)), stretch(rng, min(size, 40))
    counts = rng.integers(0, choice(rng, (2, 5, 2000)), size=(V, W))
    counts[rng.random(V) < 0.2] = 0  # words without a pair
    if not counts.any():
        counts[rng.integers(V), rng.integers(W)] = choice(rng, (1, 3))
    scores = values(rng, (V, W)) * choice(rng, (1, 1, 10, 1000))
    return counts if chance(rng) else counts.astype(float), scores


@SCORE_GRADIENT.invariant(
    "it predicts a small step", "moving a score by 1e-6 moves the loss by the gradient times 1e-6"
)
def _(answer):
    step, base = 1e-6, _loss(_pairs, _scores)
    moved = [(_loss(_pairs, _scores + step * e.reshape(5, 7)) - base) / step for e in np.eye(35)]
    return same(answer(_pairs, _scores), np.reshape(moved, (5, 7)), rtol=1e-4, atol=1e-5)


@SCORE_GRADIENT.invariant("rows sum to zero", "what one neighbour gains, others lose")
def _(answer):
    return same(np.sum(answer(_pairs, _scores), axis=1), np.zeros(5))


@SCORE_GRADIENT.invariant(
    "a perfect prediction needs no change", "where the softmax is the share of each neighbour"
)
def _(answer):
    counts = _pairs + 1
    return same(answer(counts, np.log(counts)), np.zeros((5, 7)))


@SCORE_GRADIENT.right
def adds_pair_by_pair(counts, scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    p, n = powers / powers.sum(axis=1, keepdims=True), counts.sum()
    rows = []
    for c in range(len(counts)):
        times = sum(counts[c])
        rows.append([float(times * p[c, o] - counts[c, o]) / n for o in range(len(counts[c]))])
    return rows


@SCORE_GRADIENT.right
def weighs_the_share_of_each_word(counts, scores):
    pairs = np.einsum("vw->v", counts)
    shares = counts / np.where(pairs > 0, pairs, 1)[:, None]
    return (pairs / pairs.sum())[:, None] * (ref.softmax(scores) - shares)


@SCORE_GRADIENT.mistake(
    "You took the prediction once a word: it is made once for each of the word's pairs."
)
def predicts_once_a_word(counts, scores):
    return (ref.softmax(scores) - counts) / counts.sum()


@SCORE_GRADIENT.mistake("The sign is turned round: it is prediction minus truth, not the reverse.")
def turns_the_sign(counts, scores):
    return -_score_gradient(counts, scores)


@SCORE_GRADIENT.mistake("You added up, but the loss is a mean: divide by the number of all pairs.")
def forgets_the_mean(counts, scores):
    return _score_gradient(counts, scores) * counts.sum()


@SCORE_GRADIENT.mistake(
    "You divided each row by its own pairs: the loss is a mean over all pairs, so frequent words "
    "weigh more."
)
def weighs_words_equally(counts, scores):
    pairs = counts.sum(axis=1, keepdims=True)
    return (ref.softmax(scores) * (pairs > 0) - counts / np.maximum(pairs, 1)) / len(counts)


@SCORE_GRADIENT.mistake(
    "You divided by the number of words: the mean is over all pairs, counts.sum()."
)
def divides_by_the_number_of_words(counts, scores):
    return _score_gradient(counts, scores) * counts.sum() / len(counts)


@SCORE_GRADIENT.mistake("You took the softmax over the words: a row holds one word's neighbours.")
def softmax_over_words(counts, scores):
    pairs = counts.sum(axis=1, keepdims=True)
    return (pairs * ref.softmax(scores, axis=0) - counts) / counts.sum()


@SCORE_GRADIENT.mistake("You used the scores as they are: the prediction is their softmax.")
def forgets_the_softmax(counts, scores):
    pairs = counts.sum(axis=1, keepdims=True)
    return (pairs * scores - counts) / counts.sum()


# --- 2.7 ----------------------------------------------------------------------------------------

COMPROMISE = Exercise(
    id="2.7",
    title="The best compromise",
    answer="compromise",
    signature="compromise(a, b)",
    hints=(
        "If a and b had the same length, which direction would be as near to one as to the other?",
        "a / ‖a‖ + b / ‖b‖, or any positive multiple of it.",
        "a, b and the result are (D,).",
    ),
    example=Example(
        (np.array([3.0, 0.0]), np.array([0.0, 1.0])),
        "[3, 0] and [0, 1] are at a right angle: any positive multiple of [1, 1] should come out.",
    ),
    clauses={
        "a vector whose smaller cosine, with $\\mathbf a$ or with $\\mathbf b$": "two directions "
        "in the plane",
        "is as large as it can be": "no random vector does better",
        "Several answers are right, since only the direction counts": "inputs of every size "
        "and kind",
        "not opposite to each other": "directions that point apart",
        "they need not have the same length": "random vectors of different lengths",
        "a (D,), b (D,) -> (D,)": DRAWN,
    },
)


def _smaller_cosine(vector, a, b):
    return min(float(ref.cosine_similarity(vector, x)) for x in (a, b))


def _best(a, b):
    """The cosine of half the angle."""
    return float(np.sqrt(max(0.0, 1 + ref.cosine_similarity(a, b)) / 2))


@COMPROMISE.accepting
def _(value, a, b):
    vector = as_array(value)
    if vector is None or vector.dtype.kind not in "iuf":
        return "Return an array of numbers, (D,)."
    if vector.shape != np.shape(a):
        return f"Expected shape {np.shape(a)}, that of a and b; got {vector.shape}."
    if not np.isfinite(vector).all():
        return "Your vector holds NaN or infinity."
    if not vector.any():
        return "Your vector is zero, and has no direction."
    yours, best = _smaller_cosine(vector, a, b), _best(a, b)
    if yours < best - 1e-6:
        return f"The smaller cosine of your vector is {yours:.4f}, and {best:.4f} can be had."
    return True


def _is_best(answer, a, b):
    return COMPROMISE.accepts(answer(a, b), a, b)


@COMPROMISE.draws
def _(rng, size):
    D = stretch(rng, size)
    kinds = ("plain", "whole", "ties", "equal")
    while True:
        a, b = values(rng, (D,), kinds), values(rng, (D,), kinds)
        if chance(rng, 0.1):
            b = 3 * a
        if chance(rng, 0.3):
            b = b * 10.0 ** rng.integers(-30, 5)
        if chance(rng, 0.3):
            a = a * 10.0 ** rng.integers(-30, 5)
        if a.any() and b.any() and ref.cosine_similarity(a, b) > -0.95:
            return a, b


@COMPROMISE.invariant(
    "two directions in the plane", "for [3, 0] and [0, 1], both cosines are cos 45°"
)
def _(answer):
    return _is_best(answer, np.array([3.0, 0.0]), np.array([0.0, 1.0]))


@COMPROMISE.invariant(
    "random vectors of different lengths", "the smaller cosine is that of half the angle"
)
def _(answer):
    verdicts = [_is_best(answer, numbers(seed, 7), 5 * numbers(seed + 1, 7)) for seed in (13, 17)]
    return next((verdict for verdict in verdicts if verdict is not True), True)


@COMPROMISE.invariant("directions that point apart", "at more than a right angle, too")
def _(answer):
    a = np.array([2.0, 0.5, -1.0])
    return _is_best(answer, a, np.array([-7.0, 0.0, 2.0]))


@COMPROMISE.invariant("no random vector does better", "2,000 others stay below yours")
def _(answer):
    a, b = numbers(23, 3), 0.2 * numbers(24, 3)
    others = numbers(25, 2000, 3)
    rivals = np.minimum(ref.cosine_similarity(others, a), ref.cosine_similarity(others, b))
    yours = _smaller_cosine(answer(a, b), a, b)
    if yours < rivals.max():
        return f"A random vector reaches {rivals.max():.4f} where yours has {yours:.4f}."
    return True


@COMPROMISE.right
def weighs_each_by_the_othersstretch(a, b):
    return a * np.sqrt(np.sum(b * b)) + b * np.sqrt(np.sum(a * a))


@COMPROMISE.right
def averages_the_directions(a, b):
    lengths = math.sqrt(sum(x * x for x in a)), math.sqrt(sum(x * x for x in b))
    return [float(x / lengths[0] + y / lengths[1]) / 2 for x, y in zip(a, b, strict=True)]


@COMPROMISE.mistake("You added the vectors as they are: the longer one pulls the sum to its side.")
def adds_as_they_are(a, b):
    return a + b


@COMPROMISE.mistake(
    "You averaged the vectors as they are: the longer one pulls the mean to its side."
)
def averages_as_they_are(a, b):
    return (a + b) / 2


@COMPROMISE.mistake(
    "You brought the sum to length 1, but the longer vector has pulled it already: bring a and b "
    "to length 1 before you add them."
)
def normalises_too_late(a, b):
    return (a + b) / np.linalg.norm(a + b)


@COMPROMISE.mistake("You subtracted: the difference of two directions is near to neither of them.")
def subtracts(a, b):
    return a / np.linalg.norm(a) - b / np.linalg.norm(b)


@COMPROMISE.mistake("You chose one of the two: the cosine with the other counts as well.")
def chooses_one(a, b):
    return a


@COMPROMISE.mistake(
    "You divided by the squares of the lengths: the shorter vector then pulls the sum to its side."
)
def divides_by_squares(a, b):
    return a / (a @ a) + b / (b @ b)


@COMPROMISE.mistake("Your vector points away: near means a large cosine, so add, do not negate.")
def points_away(a, b):
    return -(a / np.linalg.norm(a) + b / np.linalg.norm(b))


@COMPROMISE.mistake(
    "You brought both to the same sum of entries: it is the length, the root of the sum of "
    "squares, that must be the same."
)
def divides_by_the_sum_of_entries(a, b):
    return a / np.abs(a).sum() + b / np.abs(b).sum()
