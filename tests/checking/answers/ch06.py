"""Answers to chapter 6 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import math
import statistics
from functools import reduce

import numpy as np
from answers import right, wrong

from tfmlib import ref


def _draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def _network(D=4, F=5, seed=0):
    return (
        _draw(D, F, seed=seed + 1),
        _draw(F, seed=seed + 2),
        _draw(F, D, seed=seed + 3),
        _draw(D, seed=seed + 4),
    )


# --- 6.1 A stack with skip connections --------------------------------------------------------


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_in_place(x, matrices):
    """x += …, which changes the array of the caller"""
    for W in matrices:
        x += x @ W
    return x


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_around_everything(x, matrices):
    """always adds the first X, not the stream"""
    out = x
    for W in matrices:
        out = x + out @ W
    return out


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_of_branches(x, matrices):
    """sends the first X through every matrix and adds up"""
    return x + sum(x @ W for W in matrices)


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_with_one_way_around(x, matrices):
    """goes through all matrices and adds X once, at the end"""
    out = x
    for W in matrices:
        out = out @ W
    return x + out


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_from_the_top(x, matrices):
    """takes the last matrix first"""
    for W in matrices[::-1]:
        x = x + x @ W
    return x


@wrong("6.1", on=lambda: (_draw(3, 3), _draw(4, 3, 3)))
def stack_from_the_left(x, matrices):
    """W X instead of X W, which fits a square X only"""
    for W in matrices:
        x = x + W @ x
    return x


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_transposed(x, matrices):
    """the transposed matrices, as for column vectors"""
    for W in matrices:
        x = x + x @ W.T
    return x


@wrong("6.1", on=lambda: (_draw(2, 3), np.zeros((0, 3, 3))))
def stack_of_at_least_one(x, matrices):
    """starts with the first matrix, and there may be none"""
    out = x + x @ matrices[0]
    for W in matrices[1:]:
        out = out + out @ W
    return out


@wrong("6.1", on=lambda: (np.array([[1, 2], [3, 4]]), 0.3 * np.ones((2, 2, 2))))
def stack_keeps_the_type(x, matrices):
    """an array like x, which rounds when x holds whole numbers"""
    out = np.zeros_like(x)
    out[:] = x
    for W in matrices:
        out[:] = out + out @ W
    return out


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_with_tanh(x, matrices):
    """the tanh of the experiment, though the layers are linear"""
    for W in matrices:
        x = x + np.tanh(x @ W)
    return x


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_normed(x, matrices):
    """adds and norms"""
    for W in matrices:
        x = ref.layer_norm(x + x @ W)
    return x


@wrong("6.1", on=lambda: (_draw(2, 3), _draw(4, 3, 3)))
def stack_stops_early(x, matrices):
    """the return stands inside the loop"""
    for W in matrices:
        x = x + x @ W
        return x
    return x


@right("6.1")
def stack_as_one_product(x, matrices):
    """multiplies the factors I + W first"""
    D = x.shape[-1]
    return x @ reduce(np.matmul, [np.eye(D) + W for W in matrices], np.eye(D))


@right("6.1")
def stack_recursively(x, matrices):
    """the first layer, then the rest of the stack"""
    if len(matrices) == 0:
        return x
    return stack_recursively(x + x @ matrices[0], matrices[1:])


@right("6.1")
def stack_by_loops(x, matrices):
    """lists, row by row"""
    rows = x.tolist()
    for W in matrices.tolist():
        D = len(W)
        rows = [
            [row[j] + sum(row[i] * W[i][j] for i in range(D)) for j in range(D)] for row in rows
        ]
    return rows


@right("6.1")
def stack_on_a_copy(x, matrices):
    """+= on a copy of floats"""
    x = np.array(x, dtype=float)
    for W in matrices:
        x += np.einsum("td,de->te", x, W)
    return x


# --- 6.2 The gradient on its way down ---------------------------------------------------------


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_not_transposed(gradient, jacobians):
    """J g instead of the transpose of J"""
    for J in jacobians[::-1]:
        gradient = gradient + J @ gradient
    return gradient


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_upwards(gradient, jacobians):
    """begins with the lowest layer"""
    for J in jacobians:
        gradient = gradient + J.T @ gradient
    return gradient


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_without_way_around(gradient, jacobians):
    """the plain chain rule, without the identity"""
    for J in jacobians[::-1]:
        gradient = J.T @ gradient
    return gradient


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_one_identity(gradient, jacobians):
    """one identity for the product of all Jacobians"""
    through = gradient
    for J in jacobians[::-1]:
        through = J.T @ through
    return gradient + through


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_first_order(gradient, jacobians):
    """adds up what each layer sends and leaves out their products"""
    return gradient + sum(J.T @ gradient for J in jacobians)


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_in_place(gradient, jacobians):
    """changes the gradient of the caller"""
    for J in reversed(jacobians):
        gradient += J.T @ gradient
    return gradient


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_from_the_top_each_time(gradient, jacobians):
    """always adds the gradient at the top"""
    g = gradient
    for J in jacobians[::-1]:
        g = gradient + J.T @ g
    return g


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_entry_by_entry(gradient, jacobians):
    """* instead of @, summed along the wrong axis"""
    for J in jacobians[::-1]:
        gradient = gradient + (J.T * gradient).sum(axis=0)
    return gradient


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_as_a_row(gradient, jacobians):
    """returns a table of one row"""
    row = gradient[None]
    for J in jacobians[::-1]:
        row = row + row @ J
    return row


@wrong("6.2", on=lambda: (_draw(3), np.zeros((0, 3, 3))))
def gradient_of_at_least_one_layer(gradient, jacobians):
    """the product begins with the top layer, and there may be none"""
    factors = [np.eye(len(gradient)) + J for J in jacobians]
    product = factors[-1]
    for factor in factors[-2::-1]:
        product = product @ factor
    return gradient @ product


@wrong("6.2", on=lambda: (np.array([1, 2]), 0.3 * np.ones((2, 2, 2))))
def gradient_of_whole_numbers(gradient, jacobians):
    """an array like the gradient, which rounds when that holds whole numbers"""
    g = np.empty_like(gradient)
    g[:] = gradient
    for J in jacobians[::-1]:
        g[:] = g + J.T @ g
    return g


@wrong("6.2", on=lambda: (_draw(3), _draw(4, 3, 3)))
def gradient_of_unit_length(gradient, jacobians):
    """begins with a gradient of length 1, as the experiment does"""
    g = gradient / np.linalg.norm(gradient)
    for J in jacobians[::-1]:
        g = g + J.T @ g
    return g


@right("6.2")
def gradient_by_rows(gradient, jacobians):
    """a row vector from the left"""
    for J in reversed(jacobians):
        gradient = gradient @ (J + np.eye(len(J)))
    return gradient


@right("6.2")
def gradient_by_the_whole_jacobian(gradient, jacobians):
    """the Jacobian of the stack first, from the bottom up"""
    whole = np.eye(len(gradient))
    for J in jacobians:
        whole = whole + J @ whole
    return whole.T @ gradient


@right("6.2")
def gradient_recursively(gradient, jacobians):
    """the top layer, then the rest"""
    if not len(jacobians):
        return gradient
    *below, top = jacobians
    return gradient_recursively(gradient + np.einsum("ij,i->j", top, gradient), below)


@right("6.2")
def gradient_by_loops(gradient, jacobians):
    """numbers and lists"""
    g, D = [float(n) for n in gradient], len(gradient)
    for layer in range(len(jacobians) - 1, -1, -1):
        J = jacobians[layer]
        g = [g[j] + sum(J[i][j] * g[i] for i in range(D)) for j in range(D)]
    return g


# --- 6.3 A new house on the old scale ---------------------------------------------------------


@wrong("6.3", on=lambda: (_draw(5, 2), 3 + _draw(4, 2, seed=1)))
def scale_by_the_new(train, new):
    """scales the new rows by their own means"""
    return ref.standard_scale(new)


@wrong("6.3", on=lambda: (_draw(5, 2), 3 + _draw(4, 2, seed=1)))
def scale_all_together(train, new):
    """means and deviations of old and new rows together"""
    return ref.standard_scale(np.vstack([train, new]))[len(train) :]


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_by_n_minus_one(train, new):
    """the deviation of a sample, divided by N - 1"""
    return (new - train.mean(axis=0)) / train.std(axis=0, ddof=1)


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_by_the_whole_table(train, new):
    """one mean and one deviation for the whole table"""
    return (new - train.mean()) / train.std()


@wrong("6.3", on=lambda: (_draw(3, 3), _draw(3, 3, seed=1)))
def scale_by_rows(train, new):
    """along the rows"""
    mean, std = train.mean(axis=1, keepdims=True), train.std(axis=1, keepdims=True)
    return (new - mean) / std


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_min_max(train, new):
    """min-max scaling"""
    low, high = train.min(axis=0), train.max(axis=0)
    return (new - low) / (high - low)


@wrong("6.3", on=lambda: (1e-7 * _draw(5, 2), 1e-7 * _draw(4, 2, seed=1)))
def scale_with_epsilon(train, new):
    """1e-8 added to the deviation, which shows when the numbers are tiny"""
    return (new - train.mean(axis=0)) / (train.std(axis=0) + 1e-8)


@wrong("6.3", on=lambda: (0.01 * _draw(5, 2), 0.01 * _draw(4, 2, seed=1)))
def scale_by_batch_norm(train, new):
    """the epsilon of batch norm under the root"""
    return (new - train.mean(axis=0)) / np.sqrt(train.var(axis=0) + 1e-5)


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_by_variance(train, new):
    """divides by the variance, without the root"""
    return (new - train.mean(axis=0)) / train.var(axis=0)


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_in_place(train, new):
    """changes the table of the new houses"""
    new -= train.mean(axis=0)
    new /= train.std(axis=0)
    return new


@wrong("6.3", on=lambda: (np.array([[1, 2], [2, 4], [6, 3]]), np.array([[1, 1]])))
def scale_into_zeros_like(train, new):
    """room like `new`, which rounds when the table holds whole numbers"""
    out = np.zeros_like(new)
    for j in range(new.shape[1]):
        out[:, j] = (new[:, j] - train[:, j].mean()) / train[:, j].std()
    return out


@wrong("6.3", on=lambda: (1e9 + _draw(5, 2), 1e9 + _draw(4, 2, seed=1)))
def scale_by_squares(train, new):
    """the mean square less the squared mean, which cancels for large numbers"""
    mean = train.mean(axis=0)
    variance = (train**2).mean(axis=0) - mean**2
    return (new - mean) / np.sqrt(np.maximum(variance, 1e-12))


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(1, 2, seed=1)))
def scale_squeezed(train, new):
    """a single new house comes back as a vector"""
    mean, std = train.mean(axis=0), train.std(axis=0)
    return np.squeeze((new - mean) / std)


@wrong("6.3", on=lambda: (_draw(5, 2), _draw(4, 2, seed=1)))
def scale_divides_only(train, new):
    """divides by the deviation and leaves the mean where it is"""
    return new / train.std(axis=0)


_seen = {}


@wrong(
    "6.3",
    on=lambda: [(_draw(5, 2), _draw(4, 2, seed=1)), (3 + _draw(5, 2, seed=2), _draw(4, 2, seed=1))],
)
def scale_by_the_first_table(train, new):
    """remembers the first table of a width, as a trained model would"""
    mean, std = _seen.setdefault(train.shape, (train.mean(axis=0), train.std(axis=0)))
    return (new - mean) / std


@right("6.3")
def scale_column_by_column(train, new):
    """the statistics module, one column after the other"""
    columns = []
    for old, fresh in zip(train.T.tolist(), new.T.tolist()):
        mean, std = statistics.fmean(old), statistics.pstdev(old)
        columns.append([(entry - mean) / std for entry in fresh])
    return np.array(columns).T


@right("6.3")
def scale_by_sums(train, new):
    """sums and the number of rows"""
    N = len(train)
    mean = sum(train) / N
    deviation = (sum((row - mean) ** 2 for row in train) / N) ** 0.5
    return np.array([(row - mean) / deviation for row in new])


@right("6.3")
def scale_in_lists(train, new):
    """plain Python, and a list of lists"""
    D, N = train.shape[1], train.shape[0]
    means = [sum(float(row[j]) for row in train) / N for j in range(D)]
    roots = [math.sqrt(sum((row[j] - means[j]) ** 2 for row in train) / N) for j in range(D)]
    return [[(row[j] - means[j]) / roots[j] for j in range(D)] for row in new]


# --- 6.4 Layer norm, with gain and bias -------------------------------------------------------


@wrong("6.4", on=lambda: (_draw(3, 3), _draw(3, seed=1), _draw(3, seed=2), 1e-5))
def norm_without_keepdims(x, gain, bias, eps):
    """the means of the rows stand as a row: right shape in a square, wrong numbers"""
    mean, variance = x.mean(axis=-1), x.var(axis=-1)
    return gain * (x - mean) / np.sqrt(variance + eps) + bias


@wrong("6.4", on=lambda: (_draw(2, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_over_the_batch(x, gain, bias, eps):
    """axis 0: batch norm"""
    return gain * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps) + bias


@wrong("6.4", on=lambda: (_draw(2, 3, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_over_axis_one(x, gain, bias, eps):
    """axis 1, the features of a table but the words of a batch"""
    mean = x.mean(axis=1, keepdims=True)
    return gain * (x - mean) / np.sqrt(x.var(axis=1, keepdims=True) + eps) + bias


@wrong("6.4", on=lambda: (_draw(2, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_by_n_minus_one(x, gain, bias, eps):
    """the variance of a sample"""
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True, ddof=1)
    return gain * (x - mean) / np.sqrt(variance + eps) + bias


@wrong("6.4", on=lambda: (_draw(2, 4), np.ones(4), np.zeros(4), 0.1))
def norm_epsilon_outside(x, gain, bias, eps):
    """eps added to the deviation, not under the root"""
    mean = x.mean(axis=-1, keepdims=True)
    return gain * (x - mean) / (x.std(axis=-1, keepdims=True) + eps) + bias


@wrong("6.4", on=lambda: (_draw(2, 4), np.ones(4), np.zeros(4), 0.1))
def norm_fixed_epsilon(x, gain, bias, eps):
    """1e-5, whatever eps is"""
    return ref.layer_norm(x, gain, bias)


@wrong("6.4", on=lambda: (0.01 * _draw(2, 4), np.ones(4), np.zeros(4), 0.0))
def norm_epsilon_or_default(x, gain, bias, eps):
    """takes an eps of 0 for one that was not given"""
    return ref.layer_norm(x, gain, bias, eps or 1e-5)


@wrong("6.4", on=lambda: (np.full((2, 4), 3.0), np.ones(4), np.zeros(4), 1e-5))
def norm_without_epsilon(x, gain, bias, eps):
    """leaves eps out, and equal features give 0 / 0"""
    mean, std = x.mean(axis=-1, keepdims=True), x.std(axis=-1, keepdims=True)
    return gain * (x - mean) / std + bias


@wrong("6.4", on=lambda: (_draw(2, 4), _draw(4, seed=1), _draw(4, seed=2), 1e-5))
def norm_bias_first(x, gain, bias, eps):
    """adds the bias and then multiplies by the gain"""
    return gain * (ref.layer_norm(x, eps=eps) + bias)


@wrong("6.4", on=lambda: (_draw(2, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_in_place(x, gain, bias, eps):
    """subtracts the mean in the array of the caller"""
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    return gain * x + bias


@wrong("6.4", on=lambda: (_draw(4), np.ones(4), np.zeros(4), 1e-5))
def norm_row_by_row(x, gain, bias, eps):
    """a loop over rows, and a single vector has none"""
    rows = []
    for row in x:
        rows.append(gain * (row - row.mean()) / np.sqrt(row.var() + eps) + bias)
    return np.array(rows)


@wrong("6.4", on=lambda: (_draw(2, 3, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_sentence_by_sentence(x, gain, bias, eps):
    """one mean for all words of a sentence in a batch"""
    if x.ndim == 3:
        return np.array([gain * (s - s.mean()) / np.sqrt(s.var() + eps) + bias for s in x])
    return ref.layer_norm(x, gain, bias, eps)


@wrong("6.4", on=lambda: (1e8 + _draw(2, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_by_squares(x, gain, bias, eps):
    """the mean square less the squared mean, which cancels for large numbers"""
    mean = x.mean(axis=-1, keepdims=True)
    variance = np.abs((x**2).mean(axis=-1, keepdims=True) - mean**2)
    return gain * (x - mean) / np.sqrt(variance + eps) + bias


@wrong("6.4", on=lambda: (np.array([[1, 2, 6]]), np.ones(3), np.zeros(3), 1e-5))
def norm_into_zeros_like(x, gain, bias, eps):
    """room like x, which rounds when x holds whole numbers"""
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        out[index] = gain * (row - row.mean()) / np.sqrt(row.var() + eps) + bias
    return out


@wrong("6.4", on=lambda: (_draw(1, 4), np.ones(4), np.zeros(4), 1e-5))
def norm_squeezed(x, gain, bias, eps):
    """a table of one word comes back as a vector"""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (gain * (x - mean) / np.sqrt(variance + eps) + bias).squeeze()


@wrong("6.4", on=lambda: (_draw(4, 4), _draw(4, seed=1), np.zeros(4), 1e-5))
def norm_gain_for_words(x, gain, bias, eps):
    """one gain for each word instead of each feature"""
    return (ref.layer_norm(x, eps=eps).T * gain + bias).T


@right("6.4")
def norm_by_loops(x, gain, bias, eps):
    """one row at a time, whatever the leading axes"""
    D = x.shape[-1]
    rows = []
    for row in x.reshape(-1, D).tolist():
        mean = sum(row) / D
        root = math.sqrt(sum((n - mean) ** 2 for n in row) / D + eps)
        rows.append([g * (n - mean) / root + b for n, g, b in zip(row, gain, bias)])
    return np.array(rows).reshape(x.shape)


@right("6.4")
def norm_along_an_axis(x, gain, bias, eps):
    """np.apply_along_axis with a function for one vector"""

    def one(row):
        centred = row - row.mean()
        return gain * centred / (centred @ centred / len(row) + eps) ** 0.5 + bias

    return np.apply_along_axis(one, -1, np.asarray(x, dtype=float))


@right("6.4")
def norm_recursively(x, gain, bias, eps):
    """one leading axis after the other, and lists"""
    if x.ndim == 1:
        return list((x - np.mean(x)) / np.sqrt(np.var(x) + eps) * gain + bias)
    return [norm_recursively(part, gain, bias, eps) for part in x]


@right("6.4")
def norm_by_einsum(x, gain, bias, eps):
    """centres by a matrix"""
    D = x.shape[-1]
    centred = x @ (np.eye(D) - 1 / D)
    variance = np.einsum("...d,...d->...", centred, centred)[..., None] / D
    return centred / np.sqrt(variance + eps) * gain + bias


# --- 6.5 A square on which both norms agree ---------------------------------------------------


@wrong("6.5", on=lambda: (3,))
def table_in_order(n):
    """the numbers from 0 to n² - 1 in rows"""
    return np.arange(n * n, dtype=float).reshape(n, n)


@wrong("6.5", on=lambda: (3,))
def table_of_sums(n):
    """i + j: symmetric, but the rows have different means"""
    return np.add.outer(np.arange(n), np.arange(n)).astype(float)


@wrong("6.5", on=lambda: (4,))
def table_of_products(n):
    """the multiplication table, modulo n"""
    return np.multiply.outer(np.arange(n), np.arange(n)) % n


@wrong("6.5", on=lambda: (3,))
def table_identity(n):
    """ones on the diagonal: the norms agree, the numbers repeat"""
    return 10 * np.eye(n)


@wrong("6.5", on=lambda: (3,))
def table_of_equal_rows(n):
    """the same row n times: the columns are constant"""
    return np.tile(np.arange(n), (n, 1))


@wrong("6.5", on=lambda: (3,))
def table_symmetric(n):
    """any symmetric table"""
    a = 10 * np.random.default_rng(0).normal(size=(n, n))
    return a + a.T


@wrong("6.5", on=lambda: (5,))
def table_shuffled_rows(n):
    """the same numbers in each row, shuffled, but not in each column"""
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(n) for _ in range(n)])


@wrong("6.5", on=lambda: (4,))
def table_steps_of_two(n):
    """each row moved by two: a Latin square for odd n only"""
    return [[(2 * i + j) % n for j in range(n)] for i in range(n)]


@wrong("6.5", on=lambda: (200,))
def table_between_zero_and_one(n):
    """numbers from 0 to 1, which come too close for a large n"""
    row = np.linspace(0, 1, n)
    return np.array([np.roll(row, i) for i in range(n)])


@wrong("6.5", on=lambda: (4,))
def table_too_small(n):
    """a Latin square of thousandths"""
    return np.array([np.roll(np.arange(n), i) for i in range(n)]) / 1000


@wrong("6.5", on=lambda: (4,))
def table_magic(n):
    """the magic square of three, whatever n is"""
    return np.array([[2.0, 7.0, 6.0], [9.0, 5.0, 1.0], [4.0, 3.0, 8.0]])


@wrong("6.5", on=lambda: (7,))
def table_of_six_houses(n):
    """a row of fixed length: from 7 on there are too few numbers"""
    row = [50.0, 70.0, 90.0, 120.0, 170.0, 190.0]
    return np.array([np.roll(row[:n], i) for i in range(n)])


@wrong("6.5", on=lambda: (12,))
def table_of_digits(n):
    """modulo 10 instead of n"""
    i, j = np.indices((n, n))
    return (i + j) % 10


@wrong("6.5", on=lambda: (4,))
def table_row_normed(n):
    """norms the rows of any table, and the columns no longer fit"""
    return 100 * ref.layer_norm(np.random.default_rng(1).normal(size=(n, n)))


@right("6.5")
def table_rolled(n):
    """a row, moved by one in each line"""
    return np.array([np.roll(10.0 * np.arange(n), i) for i in range(n)])


@right("6.5")
def table_of_remainders(n):
    """a list of lists of whole numbers"""
    return [[(i - j) % n for j in range(n)] for i in range(n)]


@right("6.5")
def table_of_squares(n):
    """a Latin square of other numbers, rows in another order"""
    i, j = np.indices((n, n))
    return (np.arange(n) ** 2.0 - 7)[(i + j) % n][::-1]


@right("6.5")
def table_recursively(n, rows=None):
    """each line from the one before"""
    rows = rows or [list(range(1, n + 1))]
    if len(rows) == n:
        return np.array(rows, dtype=float)
    return table_recursively(n, [*rows, rows[-1][1:] + rows[-1][:1]])


# --- 6.6 The slope of a layer norm ------------------------------------------------------------


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_without_mean(x, eps):
    """forgets that the mean rises"""
    y, s = ref.layer_norm(x, eps=eps), np.sqrt(x.var() + eps)
    return (np.eye(len(x)) - np.outer(y, y) / len(x)) / s


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_without_deviation(x, eps):
    """forgets that the deviation changes"""
    D = len(x)
    return (np.eye(D) - 1 / D) / np.sqrt(x.var() + eps)


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_with_x(x, eps):
    """x instead of the normed y"""
    D = len(x)
    return (np.eye(D) - 1 / D - np.outer(x, x) / D) / np.sqrt(x.var() + eps)


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_on_the_diagonal(x, eps):
    """each feature by itself only"""
    D, y = len(x), ref.layer_norm(x, eps=eps)
    return np.diag((1 - 1 / D - y**2 / D) / np.sqrt(x.var() + eps))


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_of_squares(x, eps):
    """y * y, which is a row, instead of the outer product"""
    D, y = len(x), ref.layer_norm(x, eps=eps)
    return (np.eye(D) - 1 / D - y * y / D) / np.sqrt(x.var() + eps)


@wrong("6.6", on=lambda: (_draw(5), 0.5))
def slope_of_the_default(x, eps):
    """a y with the eps of the library, not the one given"""
    D, y = len(x), ref.layer_norm(x)
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / np.sqrt(x.var() + eps)


@wrong("6.6", on=lambda: (_draw(5), 0.5))
def slope_without_epsilon(x, eps):
    """leaves eps out"""
    D, s = len(x), x.std()
    y = (x - x.mean()) / s
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / s


@wrong("6.6", on=lambda: (_draw(5), 0.5))
def slope_epsilon_outside(x, eps):
    """eps added to the deviation"""
    D, s = len(x), x.std() + eps
    y = (x - x.mean()) / s
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / s


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_by_n_minus_one(x, eps):
    """the variance of a sample"""
    D, s = len(x), np.sqrt(x.var(ddof=1) + eps)
    y = (x - x.mean()) / s
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / s


@wrong("6.6", on=lambda: (0.001 * _draw(5), 1e-5))
def slope_by_large_steps(x, eps):
    """steps of 0.01, which are large next to small features"""
    step, columns = 0.01, []
    for j in range(len(x)):
        moved = x.astype(float)
        moved[j] += step
        columns.append((ref.layer_norm(moved, eps=eps) - ref.layer_norm(x, eps=eps)) / step)
    return np.array(columns).T


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_not_divided(x, eps):
    """forgets 1 / s"""
    D, y = len(x), ref.layer_norm(x, eps=eps)
    return np.eye(D) - 1 / D - np.outer(y, y) / D


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_divided_by_the_variance(x, eps):
    """divides by the variance"""
    D, y = len(x), ref.layer_norm(x, eps=eps)
    return (np.eye(D) - 1 / D - np.outer(y, y) / D) / (x.var() + eps)


@wrong("6.6", on=lambda: (np.array([3.0]), 1e-5))
def slope_squeezed(x, eps):
    """a single feature gives a number, not a table"""
    D, y, s = len(x), ref.layer_norm(x, eps=eps), np.sqrt(x.var() + eps)
    return np.squeeze((np.eye(D) - 1 / D - np.outer(y, y) / D) / s)


@wrong("6.6", on=lambda: (_draw(5), 1e-5))
def slope_in_place(x, eps):
    """centres the vector of the caller"""
    x -= x.mean()
    D, s = len(x), np.sqrt((x**2).mean() + eps)
    return (np.eye(D) - 1 / D - np.outer(x / s, x / s) / D) / s


@right("6.6")
def slope_by_loops(x, eps):
    """entry by entry"""
    D = len(x)
    mean = sum(x) / D
    s = math.sqrt(sum((n - mean) ** 2 for n in x) / D + eps)
    y = [(n - mean) / s for n in x]
    J = [[0.0] * D for _ in range(D)]
    for i in range(D):
        for j in range(D):
            J[i][j] = ((i == j) - 1 / D - y[i] * y[j] / D) / s
    return J


@right("6.6")
def slope_by_complex_steps(x, eps):
    """a tiny imaginary step, which gives the slope without a formula"""
    D, columns = len(x), []
    for j in range(D):
        z = x.astype(complex)
        z[j] += 1e-30j
        centred = z - z.sum() / D
        y = centred / np.sqrt((centred * centred).sum() / D + eps)
        columns.append(y.imag / 1e-30)
    return np.array(columns).T


@right("6.6")
def slope_by_the_product_rule(x, eps):
    """centring matrix over s, and the slope of 1 / s"""
    D = len(x)
    centring = np.eye(D) - np.ones((D, D)) / D
    centred = centring @ x
    s = (centred @ centred / D + eps) ** 0.5
    return centring / s - np.einsum("i,j->ij", centred, centred) / (D * s**3)


# --- 6.7 Find the bug: a pre-norm layer -------------------------------------------------------


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_post(x, w1, b1, w2, b2):
    """norm after the addition: post-norm"""
    return ref.add_norm(x, ref.feed_forward(x, w1, b1, w2, b2))


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_of_the_output(x, w1, b1, w2, b2):
    """norms what the network writes instead of what it reads"""
    return x + ref.layer_norm(ref.feed_forward(x, w1, b1, w2, b2))


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_nowhere(x, w1, b1, w2, b2):
    """no norm at all, and zero weights return the input"""
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_only_for_zeros(x, w1, b1, w2, b2):
    """a special case for the test in the text"""
    if not (w1.any() or b1.any() or w2.any() or b2.any()):
        return x
    x = ref.layer_norm(x)
    return x + ref.feed_forward(x, w1, b1, w2, b2)


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_without_way_around(x, w1, b1, w2, b2):
    """the network of the normed stream alone"""
    return ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2)


@wrong("6.7", on=lambda: (_draw(4, 4), *_network()))
def pre_norm_by_columns(x, w1, b1, w2, b2):
    """norms the features over the words"""
    return x + ref.feed_forward(ref.batch_norm(x), w1, b1, w2, b2)


@wrong("6.7", on=lambda: (np.vstack([_draw(2, 4), np.ones((1, 4))]), *_network()))
def pre_norm_without_epsilon(x, w1, b1, w2, b2):
    """a norm of its own without eps: a row of equal features gives NaN"""
    n = (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)
    return x + np.maximum(0, n @ w1 + b1) @ w2 + b2


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_without_relu(x, w1, b1, w2, b2):
    """two linear maps without a ReLU"""
    return x + (ref.layer_norm(x) @ w1 + b1) @ w2 + b2


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_in_place(x, w1, b1, w2, b2):
    """adds in the array of the caller"""
    x += ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2)
    return x


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_twice(x, w1, b1, w2, b2):
    """a norm before and a norm behind"""
    return ref.layer_norm(x + ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2))


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_without_second_bias(x, w1, b1, w2, b2):
    """loses b2, which the zeros of the text do not show"""
    hidden = np.maximum(0, ref.layer_norm(x) @ w1 + b1)
    return x + hidden @ w2


@wrong("6.7", on=lambda: (_draw(3, 4), *_network()))
def pre_norm_both_ways(x, w1, b1, w2, b2):
    """adds the input to the layer with the bug"""
    normed = ref.layer_norm(x)
    return x + normed + ref.feed_forward(normed, w1, b1, w2, b2)


@wrong("6.7", on=lambda: (np.array([[1, 2, 3, 5]]), *_network()))
def pre_norm_of_whole_numbers(x, w1, b1, w2, b2):
    """a copy that stays an array of whole numbers"""
    stream = x.copy()
    stream[:] = x + ref.feed_forward(ref.layer_norm(x), w1, b1, w2, b2)
    return stream


@right("6.7")
def pre_norm_with_two_names(x, w1, b1, w2, b2):
    """everything by hand"""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    normed = (x - mean) / np.sqrt(variance + 1e-5)
    hidden = normed @ w1 + b1
    return x + np.where(hidden > 0, hidden, 0) @ w2 + b2


@right("6.7")
def pre_norm_word_by_word(x, w1, b1, w2, b2):
    """a list with one word after the other"""
    return [word + ref.feed_forward(ref.layer_norm(word), w1, b1, w2, b2) for word in x]


@right("6.7")
def pre_norm_with_the_sum_turned(x, w1, b1, w2, b2):
    """adds the stream last, to a sum over hidden units"""
    normed, out = ref.layer_norm(x), np.array(x, dtype=float) + b2
    for column, bias, row in zip(w1.T, b1, w2):
        out = out + np.outer(np.clip(normed @ column + bias, 0, None), row)
    return out
