"""Chapter 6: skip connections, scaling, layer norm and its slope, norm before or after."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, same, show
from tfmlib.checking.draw import ANY_MAGNITUDE, KINDS, axis, chance, choice, leading, length, values
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers
from tfmlib.checking.outcome import unmet


def _layers(rng, size, x):
    """Square matrices for the rows of x, none at first, and of a size that keeps roundings small.

    A right answer may multiply in any order: no result may be far smaller than its terms.
    """
    D = x.shape[-1]
    matrices = values(rng, (axis(rng, size, 0), D, D), ANY_MAGNITUDE)
    while not _is_tame(np.atleast_2d(x), matrices):
        matrices = matrices / 4
    return matrices


def _is_tame(x, matrices):
    terms, result = np.abs(x).astype(float), x.astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        for matrix in matrices:
            terms, result = terms + terms @ np.abs(matrix), result + result @ matrix
        cancels = terms.max(axis=-1) > 1e4 * np.abs(result).max(axis=-1)
    return bool(terms.max() < 2**50 and not cancels.any())  # whole numbers stay whole


# --- 6.1 ----------------------------------------------------------------------------------------


def _stack(x, matrices):
    for matrix in matrices:
        x = np.matmul(x, np.eye(len(matrix)) + matrix)
    return x


STACK = Exercise(
    id="6.1",
    title="A stack with skip connections",
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
    clauses={
        "multiplies what it is given by its matrix, from the right": "two layers",
        "each layer has a skip connection of its own": "sublayers of zeros change nothing",
        "The first matrix belongs to the bottom layer": "a stack is its parts one after the other",
        "x (T, D), matrices (L, D, D)": DRAWN,
        "L may be 0": "no layer at all",
    },
)
_x, _matrices = numbers(601, 3, 5), 0.5 * numbers(602, 7, 5, 5)
STACK.case("seven layers", "each layer adds x W to the x it was given", _x, _matrices)
STACK.case("two layers", "each layer adds x W to x", numbers(603, 2, 3), numbers(604, 2, 3, 3))
STACK.case("no layer at all", "x comes back as it went in", _x, np.zeros((0, 5, 5)))


@STACK.draws
def _(rng, size):
    x = values(rng, (axis(rng, size), axis(rng, min(size, 12))), ANY_MAGNITUDE)
    return x, _layers(rng, size, x)


@STACK.invariant(
    "sublayers of zeros change nothing",
    "with zero matrices only the skip connections are left, and they carry x as it is",
)
def _(answer):
    return same(answer(_x, np.zeros((11, 5, 5))), _x)


@STACK.invariant(
    "a stack is its parts one after the other",
    "the first three layers and then the other four give what all seven give",
)
def _(answer):
    parts = answer(np.asarray(answer(_x, _matrices[:3])), _matrices[3:])
    return same(parts, answer(_x, _matrices))


@STACK.right
def multiplies_all_factors_first(x, matrices):
    whole = np.eye(x.shape[1])
    for matrix in matrices:
        whole = whole @ (np.eye(len(matrix)) + matrix)
    return x @ whole


@STACK.right
def goes_row_by_row(x, matrices):
    rows = []
    for row in x.tolist():
        for matrix in matrices:
            added = [sum(a * w for a, w in zip(row, column, strict=True)) for column in matrix.T]
            row = [a + b for a, b in zip(row, added, strict=True)]
        rows.append(row)
    return rows


@STACK.right
def sums_with_einsum(x, matrices):
    stream = np.array(x, dtype=float)
    for matrix in matrices:
        stream += np.einsum("td,de->te", stream, matrix)
    return stream


@STACK.mistake("There is no skip connection: you replaced x by x W. Add it to x.")
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


@STACK.mistake("You put one skip connection around the whole stack: each layer has its own.")
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


@STACK.mistake("You began with the last matrix: the first one comes first.")
def begins_with_the_last(x, matrices):
    for matrix in matrices[::-1]:
        x = x + x @ matrix
    return x


@STACK.mistake("You multiplied by the transpose: it is x W, with W as it comes.")
def transposes_the_matrices(x, matrices):
    for matrix in matrices:
        x = x + x @ matrix.T
    return x


@STACK.mistake("You returned inside the loop: only the first layer ran.")
def returns_after_the_first(x, matrices):
    for matrix in matrices:
        return x + x @ matrix
    return x


# --- 6.2 ----------------------------------------------------------------------------------------


def _bottom(gradient, jacobians):
    for jacobian in reversed(list(jacobians)):
        gradient = gradient @ (np.eye(len(jacobian)) + jacobian)
    return gradient


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
    clauses={
        "the gradient at the top": "layers that do nothing let it pass",
        "$J_1$ first": "three layers",
        r"Entry $i, j$ of a Jacobian is $\partial f_i / \partial x_j$": "it predicts a small step",
        "The check compares with small steps": "it predicts a small step",
        "gradient (D,), jacobians (L, D, D)": DRAWN,
        "L may be 0": "no layer at all",
    },
)
_jacobians = 0.5 * numbers(605, 3, 5, 5)
BOTTOM.case("three layers", "from the top down, identity and all", numbers(606, 5), _jacobians)
BOTTOM.case(
    "eleven layers", "from the top down, identity and all", numbers(607, 2), numbers(608, 11, 2, 2)
)
BOTTOM.case("no layer at all", "the gradient as it is", numbers(639, 5), np.zeros((0, 5, 5)))


@BOTTOM.draws
def _(rng, size):
    gradient = values(rng, (axis(rng, min(size, 12)),), ANY_MAGNITUDE)
    return gradient, np.ascontiguousarray(_layers(rng, size, gradient)[::-1])


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
    return same(answer(top, _jacobians), np.array(moved), atol=1e-5)


@BOTTOM.invariant(
    "layers that do nothing let it pass", "with zero Jacobians the gradient arrives unchanged"
)
def _(answer):
    return same(answer(numbers(611, 7), np.zeros((13, 7, 7))), numbers(611, 7))


@BOTTOM.right
def multiplies_the_factors_first(gradient, jacobians):
    whole = np.eye(len(gradient))
    for jacobian in jacobians:  # the Jacobian of the stack so far, from the bottom up
        whole = whole + jacobian @ whole
    return gradient @ whole


@BOTTOM.right
def walks_every_entry(gradient, jacobians):
    gradient = list(gradient)
    for jacobian in reversed(jacobians.tolist()):
        through = [0.0] * len(gradient)
        for g, row in zip(gradient, jacobian, strict=True):
            for j, slope in enumerate(row):
                through[j] += slope * g
        gradient = [g + t for g, t in zip(gradient, through, strict=True)]
    return gradient


@BOTTOM.right
def passes_down_with_einsum(gradient, jacobians):
    for layer in range(len(jacobians) - 1, -1, -1):
        gradient = gradient + np.einsum("ij,i->j", jacobians[layer], gradient)
    return gradient


@BOTTOM.mistake(
    "The skip connection is missing: the gradient also goes around each layer, g + Jᵀ g."
)
def forgets_the_skip(gradient, jacobians):
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
    "You led the gradient around the whole stack once: every layer has its own skip connection."
)
def goes_around_once(gradient, jacobians):
    return gradient + forgets_the_skip(gradient, jacobians)


@BOTTOM.mistake(
    "You added up what each layer alone sends down: a gradient also passes through several layers."
)
def adds_single_layers(gradient, jacobians):
    return gradient + sum(jacobian.T @ gradient for jacobian in jacobians)


@BOTTOM.mistake(
    "You carried a change from the bottom to the top, J g in the order of the layers: a gradient "
    "goes the other way, by Jᵀ g from the last layer to the first."
)
def goes_up(gradient, jacobians):
    for jacobian in jacobians:
        gradient = gradient + jacobian @ gradient
    return gradient


@BOTTOM.mistake(
    "`gradient += …` writes into the array that you were given: gradient = gradient + … makes a "
    "new one."
)
def writes_into_the_gradient(gradient, jacobians):
    for jacobian in jacobians[::-1]:
        gradient += jacobian.T @ gradient
    return gradient


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
    clauses={
        "the new rows in standard scaling": "two new houses",
        "by the means and standard deviations": "the old table becomes standard",
        "divided by $N$, as `np.std` does": "two old houses",
        "of the columns of `train`": "a house does not depend on its neighbours",
        "train (N, D), new (M, D) -> (M, D)": DRAWN,
    },
)
_houses = np.array([50.0, 3.0, 400.0]) + np.array([20.0, 1.0, 90.0]) * numbers(612, 11, 3)
_offered = np.array([70.0, 4.0, 300.0]) + np.array([9.0, 2.0, 50.0]) * numbers(613, 2, 3)
LIKE.case("two new houses", "each column by the old mean and deviation", _houses, _offered)
LIKE.case("five columns", "each column by its own scale", numbers(614, 7, 5), numbers(615, 13, 5))
LIKE.case(
    "two old houses",
    "the deviation of two numbers is half their distance",
    np.array([[30, 2], [50, 8]]),
    np.array([[40, 5], [70, 2], [30, 11]]),
)


@LIKE.draws
def _(rng, size):
    N, M, D = axis(rng, size, 2), axis(rng, size), axis(rng, size)
    train, new = values(rng, (N, D), ("plain", "ties", "whole")), values(rng, (M, D))
    train[0, np.ptp(train, axis=0) == 0] += 1  # no column is constant
    if train.dtype.kind == "f" and chance(rng):  # columns of other units, far from zero or not
        unit, centre = 10.0 ** rng.integers(-30, 4, size=D), choice(rng, (0, 3, 20))
        train, new = unit * (centre + train), unit * (centre + new)
    return train, new


@LIKE.invariant(
    "the old table becomes standard", "train scaled like itself has columns of mean 0, deviation 1"
)
def _(answer):
    scaled = np.asarray(answer(_houses, _houses))
    return same(scaled.mean(axis=0), np.zeros(3)) and same(scaled.std(axis=0), np.ones(3))


@LIKE.invariant(
    "a house does not depend on its neighbours", "a new house alone is scaled as it is among others"
)
def _(answer):
    return same(answer(_houses, _offered[:1]), answer(_houses, _offered)[:1])


@LIKE.right
def goes_house_by_house(train, new):
    columns = list(zip(*train.tolist(), strict=True))
    means = [sum(column) / len(column) for column in columns]
    spreads = [
        (sum((a - mean) ** 2 for a in column) / len(column)) ** 0.5
        for column, mean in zip(columns, means, strict=True)
    ]
    return [
        [(a - m) / s for a, m, s in zip(row, means, spreads, strict=True)] for row in new.tolist()
    ]


@LIKE.right
def goes_column_by_column(train, new):
    scaled = np.empty(new.shape)
    for d in range(train.shape[1]):
        scaled[:, d] = (new[:, d] - train[:, d].mean()) / np.sqrt(train[:, d].var())
    return scaled


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


@LIKE.mistake("You did not subtract the mean of train.")
def leaves_out_the_mean(train, new):
    return new / train.std(axis=0)


@LIKE.mistake("You did not divide by the standard deviation of train.")
def leaves_out_the_deviation(train, new):
    return new - train.mean(axis=0)


@LIKE.mistake("You scaled the old table: the new one is asked for.")
def scales_the_old_table(train, new):
    return (train - train.mean(axis=0)) / train.std(axis=0)


@LIKE.mistake(
    "You subtracted the mean of the new table and divided by the deviation of the old one: both "
    "come from train."
)
def takes_the_mean_of_the_new(train, new):
    return (new - new.mean(axis=0)) / train.std(axis=0)


@LIKE.mistake("You measured each row (axis=1): a column has a mean and a deviation, axis=0.")
def measures_rows(train, new):
    return (new - train.mean(axis=1, keepdims=True)) / train.std(axis=1, keepdims=True)


# --- 6.4 ----------------------------------------------------------------------------------------

NORM = Exercise(
    id="6.4",
    title="Layer norm, with gain and bias",
    answer="layer_norm",
    signature="layer_norm(x, gain, bias, eps)",
    oracle=lambda x, gain, bias, eps: ref.layer_norm(x, gain, bias, eps),
    stands_for="layer_norm",
    clauses={
        "Write {eq}`eq-notes-15`": "every row is standard",
        "and {eq}`eq-gain`": "three words",
        "for any number of leading axes": "a batch, and a large eps",
        "x (..., D), gain (D,), bias (D,)": DRAWN,
        "eps > 0": "a constant row gives the bias",
    },
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


@NORM.draws
def _(rng, size):
    D = axis(rng, size)
    x = values(rng, (*leading(rng, size), D), ANY_MAGNITUDE)
    if x.dtype.kind == "f" and chance(rng, 0.2):
        x = x + choice(rng, (100.0, 1e7))  # where the square of the mean swallows the variance
    # Beside large numbers eps would differ in the sixth digit, where nobody sees it.
    eps = 1e-5 if x.std() > 30 else choice(rng, (1e-5, 1e-3, 0.5, 1, 3.0))
    return x, values(rng, (D,)), values(rng, (D,)), eps


@NORM.invariant("every row is standard", "with gain 1 and bias 0, rows have mean 0 and variance 1")
def _(answer):
    rows = np.asarray(answer(5 + 3 * numbers(623, 3, 13), np.ones(13), np.zeros(13), 1e-12))
    return same(rows.mean(axis=-1), np.zeros(3)) and same(rows.var(axis=-1), np.ones(3))


@NORM.invariant("a constant row gives the bias", "eps keeps 0/0 away: nothing is left but the bias")
def _(answer):
    return same(answer(np.full((2, 5), 7.0), _gain, _bias, 1e-5), np.array([_bias, _bias]))


@NORM.right
def norms_row_by_row(x, gain, bias, eps):
    if x.ndim > 1:
        return np.array([norms_row_by_row(row, gain, bias, eps) for row in x])
    mean = sum(x) / len(x)
    spread = (sum((a - mean) ** 2 for a in x) / len(x) + eps) ** 0.5
    return [g * (a - mean) / spread + b for a, g, b in zip(x, gain, bias, strict=True)]


@NORM.right
def centres_by_a_matrix(x, gain, bias, eps):
    D = x.shape[-1]
    centred = x @ (np.eye(D) - 1 / D)
    variance = np.einsum("...d,...d->...", centred, centred)[..., None] / D
    return centred * (variance + eps) ** -0.5 * gain + bias


# The mistakes have the defaults of ref.layer_norm, in whose place they are tried elsewhere.


def _normed(x, gain=1.0, bias=0.0, axis=-1, eps=0.0, **kwargs):
    centred = x - x.mean(axis=axis, keepdims=True)
    return gain * centred / np.sqrt(x.var(axis=axis, keepdims=True, **kwargs) + eps) + bias


@NORM.mistake(
    "Your variance divides by D - 1: layer norm takes the population variance, divided by D."
)
def divides_by_one_less(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, eps=eps, ddof=1)


@NORM.mistake("eps stands under the root, beside the variance; yours is added to the deviation.")
def adds_eps_outside_the_root(x, gain=1.0, bias=0.0, eps=1e-5):
    deviation = x.std(axis=-1, keepdims=True)
    return gain * (x - x.mean(axis=-1, keepdims=True)) / (deviation + eps) + bias


@NORM.mistake("You forgot eps: a constant row gives 0/0.")
def forgets_eps(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias)


_OVER_WORDS = (
    "You standardised over the words, not the features: each word has its own mean, axis=-1."
)


@NORM.mistake(_OVER_WORDS)
def standardises_columns(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, axis=0, eps=eps)


@NORM.mistake(_OVER_WORDS)
def standardises_over_each_sentence(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, axis=-2, eps=eps)


@NORM.mistake("You standardised each feature over all words, which is batch norm: use axis=-1.")
def standardises_as_batch_norm(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, axis=tuple(range(x.ndim - 1)), eps=eps)


@NORM.mistake("One mean and one variance for the whole array: each word has its own, axis=-1.")
def standardises_everything(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, axis=None, eps=eps)


@NORM.mistake(
    "Mean and variance lost their last axis, so NumPy lines words up with features: keepdims=True."
)
def forgets_keepdims(x, gain=1.0, bias=0.0, eps=1e-5):
    return gain * (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + eps) + bias


@NORM.mistake("You divided by the variance: take its root.")
def forgets_the_root(x, gain=1.0, bias=0.0, eps=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / (x.var(axis=-1, keepdims=True) + eps) + bias


@NORM.mistake("You added the bias before the gain: first times gain, then plus bias.")
def adds_the_bias_first(x, gain=1.0, bias=0.0, eps=1e-5):
    return gain * (_normed(x, 1, 0, eps=eps) + bias)


@NORM.mistake("You left out gain and bias.")
def leaves_out_gain_and_bias(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, 1, 0, eps=eps)


@NORM.mistake("You left out the gain: multiply by it before you add the bias.")
def leaves_out_the_gain(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, 1, bias, eps=eps)


@NORM.mistake("You left out the bias: add it at the end.")
def leaves_out_the_bias(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, 0, eps=eps)


@NORM.mistake("You did not subtract the mean.")
def forgets_to_centre(x, gain=1.0, bias=0.0, eps=1e-5):
    return gain * x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) + bias


@NORM.mistake("You wrote 1e-5 for eps: take the one that the function is given.")
def has_an_eps_of_its_own(x, gain=1.0, bias=0.0, eps=1e-5):
    return _normed(x, gain, bias, eps=1e-5)


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
    clauses={
        r"an $n \times n$ table": DRAWN,
        "both give the same result": "both norms agree on 5 by 5",
        "the $n$ numbers of each row are all different": "no number stands twice in a row",
        "by 0.01 or more": "no number stands twice in a row",
        "each row of the result has a variance of at least 0.99": "rows come out standard",
        "a whole number, 1 or more": "a single number",
    },
)


def _fault_of_square(value, n):
    """What is wrong with a table, in a sentence; None if nothing is."""
    table = as_array(value)
    if table is None or table.shape != (n, n):
        return f"Expected {n} rows of {n} numbers, got {describe(value)}."
    if not np.isfinite(table).all():
        return "Every entry must be a finite number."
    table = table.astype(float)
    if n == 1:
        return None
    gap = np.diff(np.sort(table, axis=1), axis=1).min()
    if gap < 0.01 - 1e-9:
        return f"Two numbers of a row are {show(gap)} apart, and 0.01 is the least."
    by_rows, by_columns = ref.layer_norm(table), ref.batch_norm(table)
    off = np.abs(by_rows - by_columns).max()
    if off > 1e-4:
        return f"Layer norm and batch norm give tables that are up to {show(off)} apart."
    variance = by_rows.var(axis=1).min()
    if variance < 0.99 - 1e-9:
        return f"After the norm a row has variance {show(variance)}, not 0.99 or more: ε shows."
    return None


@SQUARE.accepting
def _(value, n):
    return _fault_of_square(value, n)


@SQUARE.draws
def _(rng, size):
    return (length(rng, size),)


def _square(answer, n):
    """The table as an array of numbers; anything but n rows of n is not one."""
    table = as_array(answer(n))
    if table is None or table.shape != (n, n):
        raise unmet(f"Expected {n} rows of {n} numbers.")
    return table.astype(float)


SQUARE.case("a single number", "any finite number: both norms make 0 of it", 1)
SQUARE.case("an even number of rows", "both norms give the same table", 6)


@SQUARE.invariant("both norms agree on 5 by 5", "batch norm and layer norm give the same table")
def _(answer):
    table = _square(answer, 5)
    return same(ref.batch_norm(table), ref.layer_norm(table), atol=1e-4)


@SQUARE.invariant("both norms agree on 11 by 11", "batch norm and layer norm give the same table")
def _(answer):
    table = _square(answer, 11)
    return same(ref.batch_norm(table), ref.layer_norm(table), atol=1e-4)


@SQUARE.invariant(
    "no number stands twice in a row", "the n numbers of a row differ by 0.01 or more"
)
def _(answer):
    gap = np.diff(np.sort(_square(answer, 7), axis=1), axis=1).min()
    return gap >= 0.01 - 1e-9 or f"Two numbers of a row are {show(gap)} apart."


@SQUARE.invariant(
    "rows come out standard",
    "each row of the normalised 3 by 3 table has a variance of 0.99 or more",
)
def _(answer):
    variance = ref.layer_norm(_square(answer, 3)).var(axis=1).min()
    return variance >= 0.99 - 1e-9 or f"A row has variance {show(variance)} after the norm."


@SQUARE.right
def turns_a_list(n):
    numbers = [3.5 * i - 1 for i in range(n)]
    return [numbers[i:] + numbers[:i] for i in range(n)]


@SQUARE.right
def permutes_a_latin_square(n):
    rng = np.random.default_rng(n)
    square = np.subtract.outer(rng.permutation(n), rng.permutation(n)) % n
    return np.cumsum(rng.random(n) + 0.5)[square]


@SQUARE.right
def steps_by_little(n):
    return np.array([np.roll(np.arange(n) / 8, i) for i in range(n)])


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


@SQUARE.mistake("A table of equal numbers: the n numbers of a row must differ by 0.01 or more.")
def repeats_one_number(n):
    return np.ones((n, n))


@SQUARE.mistake(
    "Your numbers are only 0.01 apart, so ε is not small beside their variance and the rows do not "
    "come out standard: spread them."
)
def stays_too_small(n):
    return np.add.outer(np.arange(n), np.arange(n)) % n / 100


@SQUARE.mistake(
    "Distances from the diagonal: rows near the edge hold other numbers than those in the middle."
)
def takes_distances(n):
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


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
    clauses={
        "Derive the three terms on paper and write their sum": "five features",
        r"whose entry $i, j$ is $\partial y_i / \partial x_j$": "it predicts a small step",
        "without gain and bias": "it predicts a small step",
        "The check compares with small steps": "it predicts a small step",
        "x (D,)": DRAWN,
        "eps >= 0": "eps may be 0",
        "> 0 where x is constant": "features that are all equal",
    },
)
SLOPE.case("five features", "the slope of each output by each input", 2 + 3 * numbers(624, 5), 1e-3)
SLOPE.case("eleven features, a large eps", "eps stands under the root", numbers(625, 11), 0.25)
SLOPE.case("eps may be 0", "the same formula without eps", numbers(640, 6), 0.0)
SLOPE.case(
    "features that are all equal", "y is zero, so only I - 1/D is left", np.full(4, 7.0), 0.25
)


@SLOPE.draws
def _(rng, size):
    x = values(rng, (axis(rng, size),), ANY_MAGNITUDE)
    eps, spread = choice(rng, (0.0, 1e-5, 1e-3, 0.25, 1)), x.std()
    if spread**2 > 1e-6 * eps and spread < 0.1:
        eps = 1.0  # else roundings are as large as the slopes
    return x, eps if eps or np.ptp(x) else 1e-5


@SLOPE.invariant(
    "it predicts a small step",
    "moving a feature by 1e-6 moves the normalised vector by the Jacobian's column times 1e-6",
)
def _(answer):
    x, step = 3 * numbers(626, 7), 1e-6
    start = ref.layer_norm(x, eps=0.1)
    moved = [(ref.layer_norm(x + step * e, eps=0.1) - start) / step for e in np.eye(7)]
    return same(answer(x, 0.1), np.array(moved).T, atol=1e-5)


@SLOPE.invariant(
    "adding the same to all features moves nothing", "J times a vector of ones is zero"
)
def _(answer):
    return same(np.sum(answer(numbers(627, 13), 1e-5), axis=-1), np.zeros(13))


@SLOPE.right
def goes_entry_by_entry(x, eps):
    D, mean = len(x), sum(x) / len(x)
    s = (sum((a - mean) ** 2 for a in x) / D + eps) ** 0.5
    y = [(a - mean) / s for a in x]
    return [[((i == j) - 1 / D - y[i] * y[j] / D) / s for j in range(D)] for i in range(D)]


@SLOPE.right
def applies_the_chain_rule(x, eps):
    D = len(x)
    centre = np.eye(D) - np.ones((D, D)) / D
    centred, s = x - x.mean(), np.sqrt(x.var() + eps)
    slope_of_s = centred / (D * s)
    return (centre * s - np.einsum("i,j->ij", centred, slope_of_s)) / s**2


@SLOPE.mistake("You forgot that the mean moves, too: subtract 1/D everywhere.")
def forgets_the_mean(x, eps):
    y = ref.layer_norm(x, eps=eps)
    return (np.eye(len(x)) - np.outer(y, y) / len(x)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("You forgot that the deviation moves, too: subtract y yᵀ / D.")
def forgets_the_deviation(x, eps):
    return (np.eye(len(x)) - 1 / len(x)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("You took x yᵀ for y yᵀ: it is the normalised vector that occurs twice.")
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


@SLOPE.mistake("You subtracted y yᵀ as it is: it is divided by D, as the mean is.")
def forgets_to_divide_the_square(x, eps):
    y = ref.layer_norm(x, eps=eps)
    return (np.eye(len(x)) - 1 / len(x) - np.outer(y, y)) / np.sqrt(x.var() + eps)


@SLOPE.mistake("eps is missing: it stands under the root, in s and in y.")
def leaves_out_eps(x, eps):
    return _slope(x, 0.0)


@SLOPE.mistake("Your variance divides by D - 1: layer norm takes the one divided by D.")
def takes_the_sample_variance(x, eps):
    D, s = len(x), np.sqrt(x.var(ddof=1) + eps)
    y = (x - x.mean()) / s
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / s


@SLOPE.mistake("The diagonal alone is not enough: every output depends on every feature.")
def keeps_the_diagonal(x, eps):
    return np.diag(np.diag(_slope(x, eps)))


@SLOPE.mistake("1/D was subtracted on the diagonal only: the mean moves every output.")
def moves_the_mean_on_the_diagonal(x, eps):
    D, y = len(x), ref.layer_norm(x, eps=eps)
    return (np.eye(D) * (1 - 1 / D) - np.outer(y, y) / D) / np.sqrt(x.var() + eps)


# --- 6.7 ----------------------------------------------------------------------------------------


def _pre(x, w1, b1, w2, b2):
    return ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2) + x


PRE = Exercise(
    id="6.7",
    title="Find the bug: a pre-norm layer",
    answer="pre_norm_layer",
    signature="pre_norm_layer(x, w1, b1, w2, b2)",
    oracle=_pre,
    hints=(
        "If the feed-forward network gives zeros, what should come out, and what does?",
        "x + FFN(LayerNorm(x)): the norm belongs to the branch, not to the skip connection.",
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
    clauses={
        "When the weights are all zero, a pre-norm layer returns its input": (
            "a branch of zeros changes nothing"
        ),
        "write `pre_norm_layer` as it should be": "three words of five features",
        r"with the $\epsilon$ that `ref.layer_norm` has by itself, $10^{-5}$": "very small numbers",
        "x (T, D), w1 (D, F), b1 (F,), w2 (F, D), b2 (D,) -> (T, D)": DRAWN,
    },
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
PRE.case("very small numbers", "eps counts where the variance is small", 0.003 * _row, *_ffn)


@PRE.draws
def _(rng, size):
    T, D, F = axis(rng, size), axis(rng, size), axis(rng, size)
    kinds = (*KINDS, "tiny")
    network = (values(rng, shape, kinds) for shape in ((D, F), (F,), (F, D), (D,)))
    return values(rng, (T, D), ANY_MAGNITUDE), *network


@PRE.invariant(
    "a branch of zeros changes nothing", "with weights of zero, x comes out as it went in"
)
def _(answer):
    return same(answer(_row, *(0 * w for w in _ffn)), _row)


@PRE.invariant(
    "the branch does not see the scale of x",
    "ten times x, less what the skip connection brings, is the same branch",
)
def _(answer):
    branch = np.asarray(answer(_row, *_ffn)) - _row
    return same(np.asarray(answer(10 * _row, *_ffn)) - 10 * _row, branch, atol=1e-4)


@PRE.right
def writes_every_step(x, w1, b1, w2, b2):
    centred = x - x.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    hidden = normed @ w1 + b1
    hidden[hidden < 0] = 0
    return hidden @ w2 + b2 + x


@PRE.right
def goes_word_by_word(x, w1, b1, w2, b2):
    rows = []
    for word in x:
        normed = ref.layer_norm(word)
        hidden = [max(0.0, normed @ column + b) for column, b in zip(w1.T, b1, strict=True)]
        branch = np.einsum("f,fd->d", hidden, w2) + b2
        rows.append((word + branch).tolist())
    return rows


@PRE.mistake(
    "This is still the bug: x was overwritten by its norm, so the skip connection passes through "
    "the norm. Keep x as it is and normalise only what enters the branch."
)
def keeps_the_bug(x, w1, b1, w2, b2):
    x = ref.layer_norm(x)
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@PRE.mistake("That is post-norm, Eq. (16): here the norm stands before the sublayer.")
def norms_after(x, w1, b1, w2, b2):
    return ref.layer_norm(x + ref.feed_forward(x, w1, b1, w2, b2))


@PRE.mistake("The skip connection is missing: add x.")
def loses_the_skip(x, w1, b1, w2, b2):
    return ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2)


@PRE.mistake("The norm is missing: the branch reads LayerNorm(x).")
def loses_the_norm(x, w1, b1, w2, b2):
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@PRE.mistake("You normalised what leaves the branch: normalise what enters it.")
def norms_the_branch(x, w1, b1, w2, b2):
    return x + ref.layer_norm(ref.feed_forward(x, w1, b1, w2, b2))


@PRE.mistake("You normalised twice, before the branch and after the sum: before is enough.")
def norms_twice(x, w1, b1, w2, b2):
    return ref.layer_norm(x + ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2))


@PRE.mistake("You normalised each feature over the words: layer norm takes each word by itself.")
def norms_columns(x, w1, b1, w2, b2):
    return x + ref.feed_forward(ref.batch_norm(x), w1, b1, w2, b2)


@PRE.mistake("You added the normalised x besides x: the skip connection carries x alone.")
def adds_both(x, w1, b1, w2, b2):
    normed = ref.layer_norm(x)
    return x + normed + ref.feed_forward(normed, w1, b1, w2, b2)
