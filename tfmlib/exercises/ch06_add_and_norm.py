"""Chapter 6: the way around a sublayer, scaling, layer norm and its slope, norm before or after."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 6.1 ----------------------------------------------------------------------------------------


def _stack(x, matrices):
    for matrix in matrices:
        x = np.matmul(x, np.eye(len(matrix)) + matrix)
    return x


STACK = Exercise(
    id="6.1",
    title="A stack with a way around",
    answer="residual_stack",
    signature="residual_stack(x, matrices)",
    oracle=_stack,
    hints=(
        "What must come out if all matrices are zero?",
        "For each W in turn, x becomes x + x W.",
        "x is (T, D), matrices is (L, D, D), the result is (T, D).",
    ),
    example=Example(
        (np.array([[1.0, 2.0]]), np.array([[[1.0, 0.0], [0.0, 1.0]]])),
        "x = [[1, 2]] and one identity matrix should give [[2, 4]].",
    ),
)
_x, _matrices = numbers(601, 3, 5), 0.5 * numbers(602, 7, 5, 5)
STACK.case("seven layers", "each layer adds x W to the x it was given", _x, _matrices)
STACK.case("two layers", "each layer adds x W to x", numbers(603, 2, 3), numbers(604, 2, 3, 3))


@STACK.invariant(
    "sublayers of zeros change nothing", "with zero matrices the input goes all the way around"
)
def _(answer):
    return np.allclose(answer(_x, np.zeros((11, 5, 5))), _x)


@STACK.invariant(
    "a stack is its parts one after the other",
    "the first three layers and then the other four give what all seven give",
)
def _(answer):
    parts = answer(np.asarray(answer(_x, _matrices[:3])), _matrices[3:])
    return np.allclose(parts, answer(_x, _matrices))


@STACK.mistake("There is no way around: you replaced x by x W. Add it to x.")
def replaces_x(x, matrices):
    for matrix in matrices:
        x = x @ matrix
    return x


@STACK.mistake("You added the very first input in each layer: add the x that this layer was given.")
def adds_the_first_input(x, matrices):
    stream = x
    for matrix in matrices:
        stream = x + stream @ matrix
    return stream


@STACK.mistake(
    "All your layers read the first input: each layer reads what the one before it has made."
)
def runs_in_parallel(x, matrices):
    return x + sum(x @ matrix for matrix in matrices)


@STACK.mistake("You went around the whole stack once: go around each layer.")
def goes_around_everything(x, matrices):
    return x + replaces_x(x, matrices)


@STACK.mistake("`x += …` writes into the array that you were given: x = x + … makes a new one.")
def writes_into_its_input(x, matrices):
    for matrix in matrices:
        x += x @ matrix
    return x


@STACK.mistake("You took the mean of x and x W: add them, with nothing halved.")
def takes_the_mean(x, matrices):
    for matrix in matrices:
        x = (x + x @ matrix) / 2
    return x


# --- 6.2 ----------------------------------------------------------------------------------------


def _bottom(gradient, jacobians):
    whole = np.eye(len(gradient))
    for jacobian in jacobians:  # the Jacobian of the stack so far, from the bottom up
        whole = whole + jacobian @ whole
    return gradient @ whole


BOTTOM = Exercise(
    id="6.2",
    title="The gradient on its way down",
    answer="gradient_at_bottom",
    signature="gradient_at_bottom(gradient, jacobians)",
    oracle=_bottom,
    hints=(
        "Which layer does the gradient meet first on its way from the top?",
        "For l = L, …, 1: g becomes g + J_lᵀ g.",
        "gradient (D,), jacobians (L, D, D) with the first layer first, result (D,).",
    ),
    example=Example(
        (np.array([1.0, 1.0]), np.array([[[0.0, 3.0], [0.0, 0.0]]])),
        "gradient [1, 1] and one Jacobian [[0, 3], [0, 0]] should give [1, 4].",
    ),
)
_jacobians = 0.5 * numbers(605, 3, 5, 5)
BOTTOM.case("three layers", "from the top down, identity and all", numbers(606, 5), _jacobians)
BOTTOM.case(
    "eleven layers", "from the top down, identity and all", numbers(607, 2), numbers(608, 11, 2, 2)
)


@BOTTOM.invariant(
    "it predicts a small step",
    "moving an input by 1e-6 moves the stack's output, times the top gradient, by your gradient",
)
def _(answer):
    top, start, step = numbers(609, 5), numbers(610, 5), 1e-6

    def output(x):
        for jacobian in _jacobians:
            x = x + jacobian @ x
        return top @ x

    moved = [(output(start + step * e) - output(start)) / step for e in np.eye(5)]
    return np.allclose(answer(top, _jacobians), moved, atol=1e-5)


@BOTTOM.invariant(
    "layers that do nothing let it pass", "with zero Jacobians the gradient arrives unchanged"
)
def _(answer):
    return np.allclose(answer(numbers(611, 7), np.zeros((13, 7, 7))), numbers(611, 7))


@BOTTOM.mistake("The way around is missing: the gradient also passes beside each layer, g + Jᵀ g.")
def forgets_the_way_around(gradient, jacobians):
    for jacobian in jacobians[::-1]:
        gradient = jacobian.T @ gradient
    return gradient


@BOTTOM.mistake("You began at the bottom: the gradient comes from the top and meets layer L first.")
def begins_at_the_bottom(gradient, jacobians):
    for jacobian in jacobians:
        gradient = gradient + jacobian.T @ gradient
    return gradient


@BOTTOM.mistake("J g carries a change upwards; a gradient goes down by the transpose, Jᵀ g.")
def forgets_the_transpose(gradient, jacobians):
    for jacobian in jacobians[::-1]:
        gradient = gradient + jacobian @ gradient
    return gradient


@BOTTOM.mistake(
    "You led the gradient around the whole stack once: it has a way around every layer."
)
def goes_around_once(gradient, jacobians):
    return gradient + forgets_the_way_around(gradient, jacobians)


@BOTTOM.mistake(
    "You added up what each layer alone sends down: a gradient also passes through several layers."
)
def adds_single_layers(gradient, jacobians):
    return gradient + sum(jacobian.T @ gradient for jacobian in jacobians)


# --- 6.3 ----------------------------------------------------------------------------------------


def _scale_like(train, new):
    spread = np.sqrt(np.square(train - train.mean(axis=0)).mean(axis=0))
    return (new - train.mean(axis=0)) / spread


LIKE = Exercise(
    id="6.3",
    title="A new house on the old scale",
    answer="scale_like",
    signature="scale_like(train, new)",
    oracle=_scale_like,
    hints=(
        "If the new table had a single house, what would its own mean tell you?",
        "(new - mean of train) / standard deviation of train, column by column.",
        "train is (N, D), new is (M, D), means and deviations are (D,), the result is (M, D).",
    ),
    example=Example(
        (np.array([[50.0, 2.0], [70.0, 4.0]]), np.array([[80.0, 3.0]])),
        "with columns 50, 70 and 2, 4, the house [80, 3] should give [2, 0].",
    ),
)
_houses = np.array([50.0, 3.0, 400.0]) + np.array([20.0, 1.0, 90.0]) * numbers(612, 11, 3)
_offered = np.array([70.0, 4.0, 300.0]) + np.array([9.0, 2.0, 50.0]) * numbers(613, 2, 3)
LIKE.case("two new houses", "each column by the old mean and deviation", _houses, _offered)
LIKE.case("five columns", "each column by its own scale", numbers(614, 7, 5), numbers(615, 13, 5))


@LIKE.invariant(
    "the old table becomes standard", "train scaled like itself has columns of mean 0, deviation 1"
)
def _(answer):
    scaled = np.asarray(answer(_houses, _houses))
    return np.allclose(scaled.mean(axis=0), 0) and np.allclose(scaled.std(axis=0), 1)


@LIKE.invariant(
    "a house does not depend on its neighbours", "a new house alone is scaled as it is among others"
)
def _(answer):
    return np.allclose(answer(_houses, _offered[:1]), answer(_houses, _offered)[:1])


@LIKE.mistake(
    "You used the new table's own mean and deviation: then every offer looks average. "
    "Use those of train."
)
def uses_its_own_scale(train, new):
    return ref.standard_scale(new)


@LIKE.mistake("You measured the scale on both tables together: the new houses must not change it.")
def measures_both_tables(train, new):
    return _scale_like(np.vstack([train, new]), new)


@LIKE.mistake(
    "That is the deviation with N - 1 below: standard scaling divides by N, as np.std does."
)
def takes_the_sample_deviation(train, new):
    return (new - train.mean(axis=0)) / train.std(axis=0, ddof=1)


@LIKE.mistake("You divided by the variance: take its root.")
def divides_by_the_variance(train, new):
    return (new - train.mean(axis=0)) / train.var(axis=0)


@LIKE.mistake(
    "One mean for all columns mixes square metres with rooms: each column has its own, axis=0."
)
def takes_one_scale_for_all(train, new):
    return (new - train.mean()) / train.std()


@LIKE.mistake("That is min-max scaling; asked for is mean 0 and standard deviation 1.")
def takes_min_and_max(train, new):
    return (new - train.min(axis=0)) / (train.max(axis=0) - train.min(axis=0))


# --- 6.4 ----------------------------------------------------------------------------------------

NORM = Exercise(
    id="6.4",
    title="Layer norm, with gain and bias",
    answer="layer_norm",
    signature="layer_norm(x, gain, bias, eps)",
    oracle=lambda x, gain, bias, eps: ref.layer_norm(x, gain, bias, eps),
    hints=(
        "Whose mean is it: that of a word's features, or that of a feature over all words?",
        "gain · (x - mean) / sqrt(variance + eps) + bias, the variance divided by D.",
        "x (..., D); mean and variance (..., 1), so keepdims=True; gain and bias (D,).",
    ),
    example=Example(
        (np.array([2.0, 4.0, 6.0, 8.0]), np.ones(4), np.zeros(4), 1e-5),
        "cat = [2, 4, 6, 8] with gain 1 and bias 0 should give [-1.34, -0.45, 0.45, 1.34].",
    ),
)
_gain, _bias = 1 + 0.5 * numbers(616, 5), numbers(617, 5)
NORM.case(
    "three words", "Eq. (15), then gain and bias", 3 + 2 * numbers(618, 3, 5), _gain, _bias, 1e-5
)
NORM.case(
    "a batch, and a large eps",
    "eps stands under the root, beside the variance",
    numbers(619, 2, 3, 7),
    1 + numbers(620, 7),
    numbers(621, 7),
    0.5,
)
NORM.case(
    "very small numbers",
    "eps counts when the variance is as small as it is",
    0.003 * numbers(622, 2, 11),
    np.ones(11),
    np.zeros(11),
    1e-5,
)

NORM.case(
    "a square table",
    "each row by its own mean, also where rows and columns are equally many",
    numbers(638, 5, 5),
    _gain,
    _bias,
    1e-5,
)


@NORM.invariant("every row is standard", "with gain 1 and bias 0, rows have mean 0 and variance 1")
def _(answer):
    rows = np.asarray(answer(5 + 3 * numbers(623, 3, 13), np.ones(13), np.zeros(13), 1e-12))
    return np.allclose(rows.mean(axis=-1), 0) and np.allclose(rows.var(axis=-1), 1)


@NORM.invariant("a constant row gives the bias", "eps keeps 0/0 away: nothing is left but the bias")
def _(answer):
    return np.allclose(answer(np.full((2, 5), 7.0), _gain, _bias, 1e-5), _bias)


def _normed(x, gain, bias, axis=-1, eps=0.0, **kwargs):
    centred = x - x.mean(axis=axis, keepdims=True)
    return gain * centred / np.sqrt(x.var(axis=axis, keepdims=True, **kwargs) + eps) + bias


@NORM.mistake(
    "Your variance divides by D - 1: layer norm takes the population variance, divided by D."
)
def divides_by_one_less(x, gain, bias, eps):
    return _normed(x, gain, bias, eps=eps, ddof=1)


@NORM.mistake("eps stands under the root, beside the variance; yours is added to the deviation.")
def adds_eps_outside_the_root(x, gain, bias, eps):
    deviation = x.std(axis=-1, keepdims=True)
    return gain * (x - x.mean(axis=-1, keepdims=True)) / (deviation + eps) + bias


@NORM.mistake("You forgot eps: a constant row gives 0/0.")
def forgets_eps(x, gain, bias, eps):
    return _normed(x, gain, bias)


@NORM.mistake(
    "You standardised over the words, which is batch norm: each word has its own mean, axis=-1."
)
def standardises_columns(x, gain, bias, eps):
    return _normed(x, gain, bias, axis=tuple(range(x.ndim - 1)), eps=eps)


@NORM.mistake("One mean and one variance for the whole array: each word has its own, axis=-1.")
def standardises_everything(x, gain, bias, eps):
    return _normed(x, gain, bias, axis=None, eps=eps)


@NORM.mistake(
    "Mean and variance lost their last axis, so NumPy lines words up with features: keepdims=True."
)
def forgets_keepdims(x, gain, bias, eps):
    return gain * (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + eps) + bias


@NORM.mistake("You divided by the variance: take its root.")
def forgets_the_root(x, gain, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / (x.var(axis=-1, keepdims=True) + eps) + bias


@NORM.mistake("You added the bias before the gain: first times gain, then plus bias.")
def adds_the_bias_first(x, gain, bias, eps):
    return gain * (_normed(x, 1, 0, eps=eps) + bias)


@NORM.mistake("You left out gain and bias.")
def leaves_out_gain_and_bias(x, gain, bias, eps):
    return _normed(x, 1, 0, eps=eps)


# --- 6.5 ----------------------------------------------------------------------------------------

SQUARE = Exercise(
    id="6.5",
    title="A square on which both norms agree",
    answer="agreeing_table",
    signature="agreeing_table(n)",
    hints=(
        "Layer norm looks at rows, batch norm at columns: when have all of them the same mean and "
        "the same variance?",
        "If every row and every column holds the same n numbers, both norms do the same.",
        "a number n in, a table (n, n) out.",
    ),
    example=Example(
        (2,), "n = 2 has few choices, for instance [[0, 1], [1, 0]], which both norms turn into ±1."
    ),
)


def _square(answer, n):
    """The table as an array; anything but n rows of n numbers is not one."""
    table = np.asarray(answer(n), dtype=float)
    if table.shape != (n, n):
        raise ValueError(f"expected {n} rows of {n} numbers, got shape {table.shape}")
    return table


@SQUARE.invariant("both norms agree on 5 by 5", "batch norm and layer norm give the same table")
def _(answer):
    table = _square(answer, 5)
    return np.allclose(ref.batch_norm(table), ref.layer_norm(table), atol=1e-4)


@SQUARE.invariant("both norms agree on 11 by 11", "batch norm and layer norm give the same table")
def _(answer):
    table = _square(answer, 11)
    return np.allclose(ref.batch_norm(table), ref.layer_norm(table), atol=1e-4)


@SQUARE.invariant(
    "no number stands twice in a row", "the n numbers of a row differ by 0.01 or more"
)
def _(answer):
    gaps = np.diff(np.sort(_square(answer, 7), axis=1), axis=1)
    return gaps.min() >= 0.01


@SQUARE.invariant("rows come out standard", "each row of the normed 3 by 3 table has variance 1")
def _(answer):
    return np.allclose(ref.layer_norm(_square(answer, 3)).var(axis=1), 1, atol=1e-2)


@SQUARE.mistake("All rows are the same, so every column is constant: batch norm gives zeros.")
def repeats_one_row(n):
    return np.tile(np.arange(n), (n, 1))


@SQUARE.mistake(
    "Your rows climb, but each begins where it likes: layer norm takes that out along the rows, "
    "batch norm along the columns. Take the remainder by n."
)
def forgets_the_remainder(n):
    return np.add.outer(np.arange(n), np.arange(n))


@SQUARE.mistake("On the identity both norms agree, but its rows repeat 0: all n must differ.")
def takes_the_identity(n):
    return np.eye(n)


@SQUARE.mistake("Counting through the table gives each row a mean of its own, and each column.")
def counts_through(n):
    return np.arange(n * n).reshape(n, n)


@SQUARE.mistake("A random table has another mean in each row and column: arrange it on purpose.")
def draws_at_random(n):
    return np.random.default_rng(0).normal(size=(n, n))


@SQUARE.mistake("Products make a row and a column of zeros: sums, taken modulo n, do not.")
def takes_products(n):
    return np.outer(np.arange(n), np.arange(n)) % n


# --- 6.6 ----------------------------------------------------------------------------------------


def _slope(x, eps):
    D, spread = len(x), np.sqrt(x.var() + eps)
    centre = np.eye(D) - np.full((D, D), 1 / D)
    centred = centre @ x
    return centre / spread - np.outer(centred, centred) / (D * spread**3)


SLOPE = Exercise(
    id="6.6",
    title="The slope of a layer norm",
    answer="layer_norm_jacobian",
    signature="layer_norm_jacobian(x, eps)",
    oracle=_slope,
    hints=(
        "If one feature grows, what else changes besides that feature itself?",
        "J = (I - 1/D - y yᵀ / D) / sqrt(variance + eps), with y the layer norm of x.",
        "x (D,), y (D,), the result (D, D).",
    ),
    example=Example(
        (np.array([1.0, -1.0]), 0.0),
        "x = [1, -1] gives [1, -1] however large it is, so J should be [[0, 0], [0, 0]].",
    ),
)
SLOPE.case("five features", "Eq. for J, entry by entry", 2 + 3 * numbers(624, 5), 1e-3)
SLOPE.case("eleven features, a large eps", "Eq. for J, entry by entry", numbers(625, 11), 0.25)


@SLOPE.invariant(
    "it predicts a small step",
    "moving a feature by 1e-6 moves the normed vector by the Jacobian's column times 1e-6",
)
def _(answer):
    x, step = 3 * numbers(626, 7), 1e-6
    start = ref.layer_norm(x, eps=0.1)
    moved = [(ref.layer_norm(x + step * e, eps=0.1) - start) / step for e in np.eye(7)]
    return np.allclose(answer(x, 0.1), np.array(moved).T, atol=1e-5)


@SLOPE.invariant(
    "adding the same to all features moves nothing", "J times a vector of ones is zero"
)
def _(answer):
    return np.allclose(np.sum(answer(numbers(627, 13), 1e-5), axis=-1), 0)


@SLOPE.mistake("You forgot that the mean moves, too: subtract 1/D everywhere.")
def forgets_the_mean(x, eps):
    y = ref.layer_norm(x, eps=eps)
    return (np.eye(len(x)) - np.outer(y, y) / len(x)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("You forgot that the deviation moves, too: subtract y yᵀ / D.")
def forgets_the_deviation(x, eps):
    return (np.eye(len(x)) - 1 / len(x)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("You took x yᵀ for y yᵀ: it is the normed vector that stands there twice.")
def mixes_x_and_y(x, eps):
    y = ref.layer_norm(x, eps=eps)
    return (np.eye(len(x)) - 1 / len(x) - np.outer(x, y) / len(x)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("You divided by the variance: norming divides by its root, and so does the slope.")
def slopes_by_the_variance(x, eps):
    return _slope(x, eps) / np.sqrt(x.var() + eps)


@SLOPE.mistake("The division by the deviation is missing.")
def forgets_to_divide(x, eps):
    return _slope(x, eps) * np.sqrt(x.var() + eps)


@SLOPE.mistake(
    "y * y is a vector of squares, which NumPy subtracts from each row: np.outer(y, y) is meant."
)
def squares_instead_of_outer(x, eps):
    y = ref.layer_norm(x, eps=eps)
    return (np.eye(len(x)) - 1 / len(x) - y * y / len(x)) / np.sqrt(x.var() + eps)


# --- 6.7 ----------------------------------------------------------------------------------------


def _pre(x, w1, b1, w2, b2):
    return ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2) + x


PRE = Exercise(
    id="6.7",
    title="Find the bug: a way around that is none",
    answer="pre_norm_layer",
    signature="pre_norm_layer(x, w1, b1, w2, b2)",
    oracle=_pre,
    hints=(
        "If the feed-forward network gives zeros, what should come out, and what does?",
        "x + FFN(LayerNorm(x)): the norm stands on the branch, not on the way around.",
        "x (T, D), w1 (D, F), b1 (F,), w2 (F, D), b2 (D,); the result is (T, D).",
    ),
    example=Example(
        (
            np.array([[2.0, 4.0, 6.0, 8.0]]),
            np.zeros((4, 3)),
            np.zeros(3),
            np.zeros((3, 4)),
            np.zeros(4),
        ),
        "with weights of zero, [[2, 4, 6, 8]] should come out as it went in.",
    ),
)


def _weights(seed, D, F):
    return (
        numbers(seed, D, F) / np.sqrt(D),
        numbers(seed + 1, F),
        numbers(seed + 2, F, D) / np.sqrt(F),
        numbers(seed + 3, D),
    )


_row, _ffn = 4 + 3 * numbers(628, 3, 5), _weights(629, 5, 7)
PRE.case("three words of five features", "x plus what the branch makes of it", _row, *_ffn)
PRE.case(
    "two words of eleven", "x plus the branch", 2 * numbers(633, 2, 11), *_weights(634, 11, 13)
)


@PRE.invariant(
    "a branch of zeros changes nothing", "with weights of zero, x comes out as it went in"
)
def _(answer):
    return np.allclose(answer(_row, *(0 * w for w in _ffn)), _row)


@PRE.invariant(
    "the branch does not see the scale of x",
    "ten times x, less ten times what the way around brings, is the same branch",
)
def _(answer):
    branch = np.asarray(answer(_row, *_ffn)) - _row
    return np.allclose(np.asarray(answer(10 * _row, *_ffn)) - 10 * _row, branch, atol=1e-4)


@PRE.mistake(
    "This is still the bug: x was overwritten by its norm, so the way around passes through the "
    "norm. Keep x as it is and norm only what enters the branch."
)
def keeps_the_bug(x, w1, b1, w2, b2):
    x = ref.layer_norm(x)
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@PRE.mistake("That is post-norm, Eq. (16): here the norm stands before the sublayer.")
def norms_after(x, w1, b1, w2, b2):
    return ref.layer_norm(x + ref.feed_forward(x, w1, b1, w2, b2))


@PRE.mistake("The way around is missing: add x.")
def loses_the_way_around(x, w1, b1, w2, b2):
    return ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2)


@PRE.mistake("The norm is missing: the branch reads LayerNorm(x).")
def loses_the_norm(x, w1, b1, w2, b2):
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@PRE.mistake("You normed what leaves the branch: norm what enters it.")
def norms_the_branch(x, w1, b1, w2, b2):
    return x + ref.layer_norm(ref.feed_forward(x, w1, b1, w2, b2))


@PRE.mistake("You normed twice, before the branch and after the sum: before is enough.")
def norms_twice(x, w1, b1, w2, b2):
    return ref.layer_norm(x + ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2))
