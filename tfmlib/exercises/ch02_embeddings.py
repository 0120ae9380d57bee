"""Chapter 2: look-up and its gradient, likeness of vectors, learning from neighbours."""

import math

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 2.1 ----------------------------------------------------------------------------------------

EMBED = Exercise(
    id="2.1",
    title="Look-up",
    answer="embed",
    signature="embed(ids, table)",
    oracle=lambda ids, table: ref.embed(ids, table),
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


@EMBED.invariant("a row for itself", "the id of each row gives back that row")
def _(answer):
    return np.allclose(answer(np.arange(5), _table), _table)


@EMBED.invariant("a shuffled text gives shuffled rows", "each position is looked up by itself")
def _(answer):
    order = [2, 0, 3, 1]
    return np.allclose(answer(_ids[order], _table), answer(_ids, _table)[order])


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
    return table[ids].sum(axis=-2)


@EMBED.mistake("A batch has lost its axes: the result has the shape of the ids, and one axis more.")
def flattens_the_batch(ids, table):
    return table[ids.ravel()]


@EMBED.mistake("You multiplied each row by its id: an id is a name, not a quantity.")
def multiplies_by_the_id(ids, table):
    return table[ids] * ids[..., None]


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
)
_repeated, _upstream = np.array([4, 1, 4, 0, 4, 1, 6]), numbers(3, 7, 3)
TABLE_GRADIENT.case(
    "words that occur twice and three times", "all their positions add up", _repeated, _upstream, 11
)
TABLE_GRADIENT.case(
    "no word twice", "each row goes to its token", np.array([2, 0, 1]), numbers(4, 3, 5), 7
)


@TABLE_GRADIENT.invariant("nothing is lost", "the rows add up to what came in")
def _(answer):
    return np.allclose(np.sum(answer(_repeated, _upstream, 13), axis=0), _upstream.sum(axis=0))


@TABLE_GRADIENT.invariant(
    "it predicts a small step",
    "moving a number of the table by 1e-6 moves the loss by the gradient times 1e-6",
)
def _(answer):
    table, step = numbers(5, 7, 3), 1e-6

    def loss(table):
        return (np.sin(table[_repeated]) * _upstream).sum()

    gradient = np.asarray(answer(_repeated, np.cos(table[_repeated]) * _upstream, 7))
    moved = np.array(
        [(loss(table + step * e.reshape(7, 3)) - loss(table)) / step for e in np.eye(21)]
    ).reshape(7, 3)
    return gradient.shape == (7, 3) and np.allclose(gradient, moved, atol=1e-4)


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


# --- 2.3 ----------------------------------------------------------------------------------------


def _cosines(table):
    return ref.cosine_similarity(table[:, None], table[None])


COSINES = Exercise(
    id="2.3",
    title="The cosine of every pair",
    answer="cosine_matrix",
    signature="cosine_matrix(table)",
    oracle=_cosines,
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


@COSINES.invariant("lengths do not matter", "rows times 2, 3, 5, 7 and 11 give the same cosines")
def _(answer):
    return np.allclose(answer(_long * np.array([[2], [3], [5], [7], [11]])), answer(_long))


@COSINES.invariant("a row agrees with itself", "the diagonal is 1, and the matrix is symmetric")
def _(answer):
    cosines = np.asarray(answer(_long))
    return np.allclose(np.diag(cosines), 1) and np.allclose(cosines, cosines.T)


@COSINES.mistake("These are dot products: divide by the lengths of both rows.")
def forgets_the_lengths(table):
    return table @ table.T


@COSINES.mistake("You divided by one of the two lengths: the other belongs there as well.")
def divides_by_one_length(table):
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
)
DISTANCE.case("five cosines", "‖a - b‖ for such a and b", np.array([-0.9, -0.3, 0.2, 0.5, 0.95]))
DISTANCE.case("a single number", "a number in, a number out", 0.125)
DISTANCE.case(
    "opposite and equal", "opposite vectors are 2 apart, equal ones 0", np.array([-1.0, 1.0])
)


@DISTANCE.invariant(
    "it agrees with measured distances", "for 11 random pairs of length 1, the distance is yours"
)
def _(answer):
    a, b = (
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (numbers(8, 11, 5), numbers(9, 11, 5))
    )
    return np.allclose(answer((a * b).sum(axis=1)), np.linalg.norm(a - b, axis=1))


@DISTANCE.invariant("it falls as the cosine rises", "so nearest and most alike are the same")
def _(answer):
    return bool((np.diff(answer(np.linspace(-1, 1, 13))) < 0).all())


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
)
_near = [2, 5, 1, 5, 5, 0, 3, 2]
COUNTS.case("a window of two", "two places before and two after", _near, 7, 2)
COUNTS.case("a window of three", "three places before and three after", [1, 0, 4, 2, 0, 1, 3], 5, 3)
COUNTS.case("a window longer than the text", "the text ends where it ends", [3, 8, 3], 11, 5)


@COUNTS.invariant("nearness is mutual", "the counts are symmetric")
def _(answer):
    counts = np.asarray(answer(_near, 7, 3))
    return np.array_equal(counts, counts.T)


@COUNTS.invariant(
    "every pair is counted", "a text of 11 tokens has 20 pairs at distance 1 and 18 at distance 2"
)
def _(answer):
    ids = [0, 1, 2, 0, 1, 2, 2, 2, 1, 0, 1]
    return np.sum(answer(ids, 3, 1)) == 20 and np.sum(answer(ids, 3, 2)) == 38


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


@COUNTS.mistake(
    "The counts are right, but as whole numbers: they should be floats, as of np.zeros."
)
def counts_whole_numbers(ids, vocab_size, window):
    return _cooccurrence(ids, vocab_size, window).astype(int)


# --- 2.6 ----------------------------------------------------------------------------------------


def _loss(counts, scores):
    return -(counts * ref.log_softmax(scores)).sum() / counts.sum()


def _score_gradient(counts, scores):
    """Pair by pair, as the text says it: prediction minus one-hot row, times how often."""
    gradient = np.zeros(scores.shape)
    predictions, truths = ref.softmax(scores), np.eye(scores.shape[1])
    for (c, o), times in np.ndenumerate(counts):
        gradient[c] += times * (predictions[c] - truths[o])
    return gradient / counts.sum()


SCORE_GRADIENT = Exercise(
    id="2.6",
    title="The gradient of all pairs",
    answer="score_gradient",
    signature="score_gradient(counts, scores)",
    oracle=_score_gradient,
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


@SCORE_GRADIENT.invariant(
    "it predicts a small step", "moving a score by 1e-6 moves the loss by the gradient times 1e-6"
)
def _(answer):
    step, base = 1e-6, _loss(_pairs, _scores)
    moved = [(_loss(_pairs, _scores + step * e.reshape(5, 7)) - base) / step for e in np.eye(35)]
    return np.allclose(answer(_pairs, _scores), np.reshape(moved, (5, 7)), atol=1e-5)


@SCORE_GRADIENT.invariant("rows sum to zero", "what one neighbour gains, others lose")
def _(answer):
    return np.allclose(np.sum(answer(_pairs, _scores), axis=1), 0)


@SCORE_GRADIENT.invariant(
    "a perfect prediction needs no change", "where the softmax is the share of each neighbour"
)
def _(answer):
    counts = _pairs + 1
    return np.allclose(answer(counts, np.log(counts)), 0)


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
    pairs = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return (ref.softmax(scores) * (pairs > 0) - counts / pairs) / len(counts)


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
        "[3, 0] and [0, 1] are at a right angle: any multiple of [1, 1] should come out.",
    ),
)


def _smaller_cosine(vector, a, b):
    vector = np.asarray(vector, dtype=float)
    return min(float(ref.cosine_similarity(vector, x)) for x in (a, b))


def _best(a, b):
    """The cosine of half the angle."""
    return float(np.sqrt((1 + ref.cosine_similarity(a, b)) / 2))


def _is_best(answer, a, b):
    return abs(_smaller_cosine(answer(a, b), a, b) - _best(a, b)) < 1e-9


@COMPROMISE.invariant(
    "two directions in the plane", "for [3, 0] and [0, 1], both cosines are cos 45°"
)
def _(answer):
    return _is_best(answer, np.array([3.0, 0.0]), np.array([0.0, 1.0]))


@COMPROMISE.invariant(
    "random vectors of different lengths", "the smaller cosine is that of half the angle"
)
def _(answer):
    return all(
        _is_best(answer, numbers(seed, 7), 5 * numbers(seed + 1, 7)) for seed in (13, 17, 19)
    )


@COMPROMISE.invariant("directions that point apart", "at more than a right angle, too")
def _(answer):
    a = np.array([2.0, 0.5, -1.0])
    return _is_best(answer, a, np.array([-7.0, 0.0, 2.0]))


@COMPROMISE.invariant("no random vector does better", "2,000 others stay below yours")
def _(answer):
    a, b = numbers(23, 3), 0.2 * numbers(24, 3)
    others = numbers(25, 2000, 3)
    rivals = np.minimum(ref.cosine_similarity(others, a), ref.cosine_similarity(others, b))
    return _smaller_cosine(answer(a, b), a, b) >= rivals.max()


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
