"""Answers to chapter 0 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import functools
import itertools
import math

import numpy as np
from answers import right, wrong


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def text(t=3, d=2, f=4, seed=0):
    """x (T, D), w (F, F), u (D, F)"""
    return normal(seed, t, d), 0.5 * normal(seed + 1, f, f), normal(seed + 2, d, f)


# --- 0.1 ------------------------------------------------------------------------------------


@wrong("0.1", on=lambda: text())
def states_column_convention(x, w, u):
    """multiplies W from the left, as with column vectors"""
    h = np.zeros(len(w))
    states = []
    for token in x:
        h = np.tanh(w @ h + token @ u)
        states.append(h)
    return np.array(states)


@wrong("0.1", on=lambda: text())
def states_only_last(x, w, u):
    """returns the last state only"""
    h = np.zeros(len(w))
    for token in x:
        h = np.tanh(h @ w + token @ u)
    return h


@wrong("0.1", on=lambda: text())
def states_with_zero_state(x, w, u):
    """the state of zeros before the first token is a row as well"""
    states = [np.zeros(len(w))]
    for token in x:
        states.append(np.tanh(states[-1] @ w + token @ u))
    return np.array(states)


@wrong("0.1", on=lambda: text())
def states_one_array(x, w, u):
    """one and the same array is appended at every step"""
    h = np.zeros(len(w))
    states = []
    for token in x:
        h[:] = np.tanh(h @ w + token @ u)
        states.append(h)
    return np.array(states)


@wrong("0.1", on=lambda: text(d=2, f=4))
def states_like_x(x, w, u):
    """room for the states taken from x: only if D = F"""
    states = np.zeros_like(x)
    h = np.zeros(len(w))
    for t in range(len(x)):
        h = np.tanh(h @ w + x[t] @ u)
        states[t] = h
    return states


@wrong("0.1", on=lambda: (np.array([[1, 0], [2, 1]]), 0.3 * np.eye(2), 0.5 * np.ones((2, 2))))
def states_like_x_integers(x, w, u):
    """whole-number tokens make whole-number states"""
    states = np.zeros((len(x), w.shape[0]), dtype=x.dtype)
    for t, token in enumerate(x):
        before = states[t - 1] if t else np.zeros(w.shape[0])
        states[t] = np.tanh(before @ w + token @ u)
    return states


@wrong("0.1", on=lambda: text())
def states_wrap_around(x, w, u):
    """before the first token stands the last row, states[-1], filled with something else"""
    states = np.ones((len(x), len(w)))
    for t in range(len(x)):
        states[t] = np.tanh(states[t - 1] @ w + x[t] @ u)
    return states


@wrong("0.1", on=lambda: text())
def states_tanh_inside(x, w, u):
    """tanh only around the new token"""
    h = np.zeros(w.shape[0])
    states = []
    for token in x:
        h = h @ w + np.tanh(token @ u)
        states.append(h)
    return np.stack(states)


@wrong("0.1", on=lambda: text())
def states_all_at_once(x, w, u):
    """no recurrence: the old state is replaced by the token before"""
    come_in = x @ u
    before = np.vstack([np.zeros(len(w)), np.tanh(come_in[:-1])])
    return np.tanh(before @ w + come_in)


@wrong("0.1", on=lambda: (normal(0, 3, 4), normal(1, 4, 4), normal(2, 4, 4)))
def states_written_into_x(x, w, u):
    """writes the states into the tokens, which changes the input"""
    h = np.zeros(len(w))
    if x.shape[1] == len(w):
        for t in range(len(x)):
            h = np.tanh(h @ w + x[t] @ u)
            x[t] = h
        return x
    rows = []
    for token in x:
        h = np.tanh(h @ w + token @ u)
        rows.append(h)
    return np.array(rows)


@wrong("0.1", on=lambda: [text(), text()])
def states_remember(x, w, u, memory={}):
    """goes on from the state in which the last call ended"""
    h = memory.get(len(w), np.zeros(len(w)))
    states = []
    for token in x:
        h = np.tanh(h @ w + token @ u)
        states.append(h)
    memory[len(w)] = h
    return np.array(states)


@wrong("0.1", on=lambda: text(t=1))
def states_squeezed(x, w, u):
    """a text of one token loses its axis"""
    h = np.zeros((1, len(w)))
    states = []
    for t in range(len(x)):
        h = np.tanh(h @ w + x[t : t + 1] @ u)
        states.append(h)
    return np.array(states).squeeze()


@right("0.1")
def states_pure_python(x, w, u):
    """lists and math.tanh"""
    h = [0.0] * len(w)
    states = []
    for token in x:
        h = [
            math.tanh(
                sum(h[i] * w[i][j] for i in range(len(w)))
                + sum(token[i] * u[i][j] for i in range(len(u)))
            )
            for j in range(len(w))
        ]
        states.append(h)
    return states


@right("0.1")
def states_accumulate(x, w, u):
    """itertools.accumulate"""
    steps = itertools.accumulate(x @ u, lambda h, c: np.tanh(h @ w + c), initial=np.zeros(len(w)))
    return np.array(list(steps)[1:])


@right("0.1")
def states_recursive(x, w, u):
    """the states of a text are those of the text without its last token, and one more"""
    if len(x) == 1:
        return np.tanh(x @ u)
    before = states_recursive(x[:-1], w, u)
    return np.vstack([before, np.tanh(before[-1:] @ w + x[-1:] @ u)])


@right("0.1")
def states_one_product(x, w, u):
    """state and token side by side, W on top of U"""
    both = np.concatenate([w, u])
    states = np.zeros((len(x) + 1, len(w)))
    for t, token in enumerate(x, start=1):
        states[t] = np.tanh(np.concatenate([states[t - 1], token]) @ both)
    return states[1:]


# --- 0.2 ------------------------------------------------------------------------------------


def reading(n=30, new=20, f=4, d=3, noise=0.5, seed=0):
    states, new_states = normal(seed, n, f), normal(seed + 1, new, f)
    m = normal(seed + 2, f, d)
    tokens = states @ m + noise * normal(seed + 3, n, d)
    return states, tokens, new_states, new_states @ m + noise * normal(seed + 4, new, d)


def dead_unit():
    """One number of the state is always 0: it never learned anything."""
    states, tokens, new_states, new_tokens = reading()
    states[:, 1] = new_states[:, 1] = 0
    return states, tokens, new_states, new_tokens


def unreadable():
    """Tokens that have nothing to do with the states: r is negative."""
    return normal(0, 6, 5), normal(1, 6, 2), normal(2, 9, 5), normal(3, 9, 2)


@wrong("0.2", on=reading)
def readable_fitted_on_new(states, tokens, new_states, new_tokens):
    """finds M from the texts on which it is tried"""
    m = np.linalg.lstsq(new_states, new_tokens, rcond=None)[0]
    missed = new_tokens - new_states @ m
    return 1 - (missed**2).sum() / (new_tokens**2).sum()


@wrong("0.2", on=reading)
def readable_tried_on_old(states, tokens, new_states, new_tokens):
    """r of the texts from which M was found"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0]
    return 1 - np.sum((tokens - states @ m) ** 2) / np.sum(tokens**2)


def far_from_zero():
    states, tokens, new_states, new_tokens = reading()
    return states, tokens + 5, new_states, new_tokens + 5


@wrong("0.2", on=far_from_zero)
def readable_r_squared(states, tokens, new_states, new_tokens):
    """the R² of statistics: squares about the mean"""
    m, *_ = np.linalg.lstsq(states, tokens, rcond=None)
    missed = new_tokens - new_states @ m
    about = new_tokens - new_tokens.mean(axis=0)
    return 1 - (missed**2).sum() / (about**2).sum()


@wrong("0.2", on=far_from_zero)
def readable_with_constant(states, tokens, new_states, new_tokens):
    """a column of ones: a reader that is not only a matrix"""
    one = np.hstack([states, np.ones((len(states), 1))])
    new_one = np.hstack([new_states, np.ones((len(new_states), 1))])
    m = np.linalg.lstsq(one, tokens, rcond=None)[0]
    return 1 - ((new_tokens - new_one @ m) ** 2).sum() / (new_tokens**2).sum()


@wrong("0.2", on=unreadable)
def readable_at_least_zero(states, tokens, new_states, new_tokens):
    """a share cannot be negative, can it?"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0]
    missed = new_tokens - new_states @ m
    return max(0, 1 - (missed**2).sum() / (new_tokens**2).sum())


@wrong("0.2", on=reading)
def readable_lengths(states, tokens, new_states, new_tokens):
    """lengths instead of their squares"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0]
    missed = np.linalg.norm(new_tokens - new_states @ m, axis=1)
    return 1 - missed.sum() / np.linalg.norm(new_tokens, axis=1).sum()


@wrong("0.2", on=reading)
def readable_mean_of_columns(states, tokens, new_states, new_tokens):
    """a share for each column, and then their mean"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0]
    missed = ((new_tokens - new_states @ m) ** 2).sum(axis=0)
    return (1 - missed / (new_tokens**2).sum(axis=0)).mean()


@wrong("0.2", on=lambda: reading(d=1))
def readable_squeezed(states, tokens, new_states, new_tokens):
    """tokens of one number: a row minus a column is a square"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0].squeeze()
    missed = new_tokens - new_states @ m
    return 1 - (missed**2).sum() / (new_tokens**2).sum()


def tiny_states():
    states, tokens, new_states, new_tokens = reading()
    return 1e-6 * states, tokens, 1e-6 * new_states, new_tokens


@wrong("0.2", on=tiny_states)
def readable_ridge(states, tokens, new_states, new_tokens):
    """a small number on the diagonal, so that the inverse exists"""
    gram = states.T @ states + 1e-6 * np.eye(states.shape[1])
    m = np.linalg.solve(gram, states.T @ tokens)
    missed = new_tokens - new_states @ m
    return 1 - (missed**2).sum() / (new_tokens**2).sum()


@wrong("0.2", on=reading)
def readable_other_way(states, tokens, new_states, new_tokens):
    """finds how the tokens make the states, and turns that round"""
    back = np.linalg.lstsq(tokens, states, rcond=None)[0]
    missed = new_tokens - new_states @ np.linalg.pinv(back)
    return 1 - (missed**2).sum() / (new_tokens**2).sum()


@wrong("0.2", on=lambda: reading(n=30, new=7))
def readable_means(states, tokens, new_states, new_tokens):
    """divides by the squares of the tokens from which M was found"""
    m = np.linalg.lstsq(states, tokens, rcond=None)[0]
    missed = ((new_tokens - new_states @ m) ** 2).mean()
    return 1 - missed / (tokens**2).mean()


@right("0.2")
def readable_pinv(states, tokens, new_states, new_tokens):
    """by the pseudoinverse"""
    missed = new_tokens - new_states @ (np.linalg.pinv(states) @ tokens)
    return float(1 - np.linalg.norm(missed) ** 2 / np.linalg.norm(new_tokens) ** 2)


@right("0.2")
def readable_column_by_column(states, tokens, new_states, new_tokens):
    """each column of M by itself, loops for the sums"""
    lost = total = 0.0
    for j in range(tokens.shape[1]):
        column = np.linalg.lstsq(states, tokens[:, j], rcond=None)[0]
        for state, token in zip(new_states, new_tokens[:, j]):
            lost += (token - state @ column) ** 2
            total += token**2
    return 1 - lost / total


@right("0.2")
def readable_svd(states, tokens, new_states, new_tokens):
    """by singular values; those of 0 are left out"""
    left, sizes, right_ = np.linalg.svd(states, full_matrices=False)
    kept = sizes > 1e-12 * sizes.max()
    m = right_[kept].T @ ((left[:, kept].T @ tokens) / sizes[kept, None])
    missed = new_tokens - np.einsum("lf,fd->ld", new_states, m)
    return (np.vdot(new_tokens, new_tokens) - np.vdot(missed, missed)) / np.vdot(
        new_tokens, new_tokens
    )


# --- 0.3 ------------------------------------------------------------------------------------


@wrong("0.3", on=lambda: (3,))
def memory_identity(n):
    """keeps the whole state and adds: the tokens become one sum"""
    return [np.eye(n), np.ones((1, n))]


@wrong("0.3", on=lambda: (3,))
def memory_wrong_direction(n):
    """the shift goes out at the left, where the token comes in"""
    u = np.zeros((1, n))
    u[0, 0] = 1
    return [np.eye(n, k=-1), u]


@wrong("0.3", on=lambda: (4,))
def memory_ones(n):
    """ones everywhere"""
    return [np.ones((n, n)), np.ones((1, n))]


@wrong("0.3", on=lambda: (2,))
def memory_forgets(n):
    """only the last token is kept"""
    u = np.zeros((1, n))
    u[0, -1] = 1
    return [np.zeros((n, n)), u]


@wrong("0.3", on=lambda: (3,))
def memory_one_short(n):
    """the loop ends one place too early"""
    w, u = np.zeros((n, n)), np.zeros((1, n))
    for i in range(n - 2):
        w[i, i + 1] = 1
    u[0, 0] = 1
    return [w, u]


@wrong("0.3", on=lambda: (3,))
def memory_flat_u(n):
    """U is a vector, not a matrix of one row"""
    return [np.eye(n, k=1), np.eye(n)[0]]


@wrong("0.3", on=lambda: (3,))
def memory_column_u(n):
    """U as a column"""
    return [np.eye(n, k=1), np.eye(n)[:, :1]]


@wrong("0.3", on=lambda: (5,))
def memory_of_four(n):
    """the shift of four places, written down"""
    w = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    return [w[:n, :n], np.array([[1, 0, 0, 0]])[:, :n]]


@wrong("0.3", on=lambda: (4,))
def memory_ring_of_ones(n):
    """a ring, but the token comes in everywhere"""
    return [np.roll(np.eye(n), 1, axis=1), np.ones((1, n))]


@wrong("0.3", on=lambda: (4,))
def memory_steps_of_two(n):
    """moves by two places, so even and odd places share"""
    w, u = np.zeros((n, n)), np.zeros((1, n))
    for i in range(n):
        w[i, (i + 2) % n] = 1
    u[0, 0] = 1
    return [w, u]


@wrong("0.3", on=lambda: (3,))
def memory_decay(n):
    """every number fades at the same speed"""
    return [0.5 * np.eye(n), np.arange(1.0, n + 1)[None]]


@wrong("0.3", on=lambda: (4,))
def memory_mirrored(n):
    """the order of the state is turned round at every step"""
    u = np.zeros((1, n))
    u[0, n // 2] = 1
    return [np.eye(n)[::-1], u]


@right("0.3")
def memory_ring(n):
    """a ring: the oldest number would come round again"""
    return [np.roll(np.eye(n), 1, axis=1), np.eye(1, n)]


@right("0.3")
def memory_from_the_end(n):
    """tokens come in at the last place and move down"""
    return [np.eye(n, k=-1), np.eye(n)[-1:]]


@right("0.3")
def memory_lists(n):
    """lists of whole numbers"""
    w = [[1 if j == i + 1 else 0 for j in range(n)] for i in range(n)]
    return [w, [[1] + [0] * (n - 1)]]


@right("0.3")
def memory_staircase(n):
    """every token comes in everywhere, and leaves one place after another"""
    return [np.eye(n, k=1), np.ones((1, n))]


@right("0.3")
def memory_minus_ring(n):
    """a ring that changes signs"""
    w = np.zeros((n, n))
    for i in range(n):
        w[i, i - 1] = -1
    return [w, 2 * np.eye(n)[:1]]


# --- 0.4 ------------------------------------------------------------------------------------


def on_the_way(t=4, d=2, f=3, seed=0):
    x, w, u = text(t, d, f, seed)
    h, states = np.zeros(f), []
    for token in x:
        h = np.tanh(h @ w + token @ u)
        states.append(h)
    return np.array(states), w, u


@wrong("0.4", on=on_the_way)
def gradient_as_printed(states, w, u):
    """the code of the statement, only the transposes moved about"""
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states[1:]:
        gradient = w.T @ (np.diag(1 - h**2) @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_without_transpose(states, w, u):
    """W instead of its transpose"""
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states[1:]:
        gradient = (1 - h**2)[:, None] * (w @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_backwards(states, w, u):
    """goes from the last state to the second, but multiplies from the same side"""
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states[:0:-1]:
        gradient = (1 - h**2)[:, None] * (w.T @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_first_twice(states, w, u):
    """the first state counts twice"""
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states:
        gradient = (1 - h**2)[:, None] * (w.T @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_no_first_slope(states, w, u):
    """begins with U alone"""
    gradient = u.T
    for h in states[1:]:
        gradient = (1 - h**2)[:, None] * (w.T @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_slope_of_slope(states, w, u):
    """takes the states for what stands inside tanh"""
    slopes = 1 - np.tanh(states) ** 2
    gradient = slopes[0][:, None] * u.T
    for slope in slopes[1:]:
        gradient = slope[:, None] * (w.T @ gradient)
    return gradient


@wrong("0.4", on=lambda: on_the_way(d=2, f=3))
def gradient_turned(states, w, u):
    """the other layout: (D, F)"""
    gradient = u * (1 - states[0] ** 2)
    for h in states[1:]:
        gradient = (gradient @ w) * (1 - h**2)
    return gradient


@wrong("0.4", on=lambda: on_the_way(d=3, f=3))
def gradient_row_slopes(states, w, u):
    """slopes along the wrong axis"""
    gradient = (1 - states[0] ** 2) * u.T
    for h in states[1:]:
        gradient = (1 - h**2) * (w.T @ gradient)
    return gradient


@wrong("0.4", on=on_the_way)
def gradient_slopes_apart(states, w, u):
    """all slopes first, then all matrices: they do not change places"""
    slope = np.prod(1 - states**2, axis=0)
    power = np.linalg.matrix_power(w.T, len(states) - 1)
    return slope[:, None] * (power @ u.T)


@wrong("0.4", on=on_the_way)
def gradient_changes_states(states, w, u):
    """squares the states where they lie"""
    states *= states
    gradient = (1 - states[0])[:, None] * u.T
    for square in states[1:]:
        gradient = (1 - square)[:, None] * (w.T @ gradient)
    return gradient


@wrong("0.4", on=lambda: on_the_way(t=1))
def gradient_at_least_two(states, w, u):
    """counts the last step apart, also where it is the first"""
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states[1:-1]:
        gradient = (1 - h**2)[:, None] * (w.T @ gradient)
    return (1 - states[-1] ** 2)[:, None] * (w.T @ gradient)


@wrong("0.4", on=lambda: on_the_way(d=1))
def gradient_squeezed(states, w, u):
    """tokens of one number lose their axis"""
    product = np.diag(1 - states[0] ** 2) @ u.T
    for h in states[1:]:
        product = np.diag(1 - h**2) @ w.T @ product
    return np.squeeze(product)


@right("0.4")
def gradient_by_reduce(states, w, u):
    """a chain of matrices, from left to right"""
    steps = [np.diag(1 - h**2) @ w.T for h in states[:0:-1]]
    chain = functools.reduce(np.matmul, steps, np.eye(len(w)))
    return chain @ np.diag(1 - states[0] ** 2) @ u.T


@right("0.4")
def gradient_recursive(states, w, u):
    """the gradient of the last state from that of the one before"""
    slope = np.diag(1 - states[-1] ** 2)
    if len(states) == 1:
        return slope @ u.T
    return slope @ w.T @ gradient_recursive(states[:-1], w, u)


@right("0.4")
def gradient_loops(states, w, u):
    """four loops, a list of lists"""
    size, d = len(w), len(u)
    gradient = [[(1 - states[0][i] ** 2) * u[j][i] for j in range(d)] for i in range(size)]
    for h in states[1:]:
        gradient = [
            [(1 - h[i] ** 2) * sum(w[k][i] * gradient[k][j] for k in range(size)) for j in range(d)]
            for i in range(size)
        ]
    return gradient


@right("0.4")
def gradient_einsum(states, w, u):
    """einsum, carried as (D, F) and turned at the end"""
    g = np.einsum("f,df->df", 1 - states[0] ** 2, u)
    for h in states[1:]:
        g = np.einsum("f,df->df", 1 - h**2, np.einsum("de,ef->df", g, w))
    return g.T


# --- 0.5 ------------------------------------------------------------------------------------


@wrong("0.5", on=lambda: (0.5 * np.eye(3), 0.25))
def reach_rounded_up(w, share):
    """at an equal power the share is reached, but not gone below"""
    sigma = np.linalg.norm(w, 2)
    return math.ceil(math.log(share) / math.log(sigma))


@wrong("0.5", on=lambda: (np.array([[0.0, 0.9], [0.1, 0.0]]), 0.01))
def reach_eigenvalues(w, share):
    """the largest eigenvalue instead of the largest singular value"""
    size = np.abs(np.linalg.eigvals(w)).max()
    n = 1
    while size**n >= share:
        n += 1
    return n


@wrong("0.5", on=lambda: (0.5 * np.eye(3), 0.01))
def reach_frobenius(w, share):
    """np.linalg.norm without a 2 is another norm"""
    size = np.linalg.norm(w)
    return int(np.floor(np.log(share) / np.log(size))) + 1


@wrong("0.5", on=lambda: (0.999 * np.eye(2), 1e-3))
def reach_at_most_thousand(w, share):
    """gives up after a thousand steps"""
    sigma = np.linalg.svd(w, compute_uv=False)[0]
    for n in range(1, 1001):
        if sigma**n < share:
            return n
    return 1000


@wrong("0.5", on=lambda: (0.5 * np.eye(2), 0.1))
def reach_one_more(w, share):
    """counts the state before the first step"""
    sigma = np.linalg.svd(w, compute_uv=False).max()
    size, n = 1.0, 1
    while size >= share:
        size *= sigma
        n += 1
    return n


@wrong("0.5", on=lambda: (np.diag([0.9, 0.1]), 0.05))
def reach_smallest(w, share):
    """svd sorts downwards, so the last is the smallest"""
    sigma = np.linalg.svd(w)[1][-1]
    n = 1
    while sigma**n >= share:
        n += 1
    return n


@wrong("0.5", on=lambda: (np.array([[0.45, 0.45], [0.45, 0.45]]), 0.01))
def reach_largest_entry(w, share):
    """the largest number in the matrix"""
    sigma = np.abs(w).max()
    n = 1
    while sigma**n >= share:
        n += 1
    return n


@wrong("0.5", on=lambda: (np.array([[0.5, 0.4], [0.0, 0.5]]), 0.01))
def reach_power_of_matrix(w, share):
    """the matrix itself is raised, not its largest singular value"""
    n, power = 1, w
    while np.linalg.norm(power, 2) >= share:
        n, power = n + 1, power @ w
    return n


@wrong("0.5", on=lambda: (np.array([[0.5, 0.0], [0.8, 0.1]]), 0.01))
def reach_column_sums(w, share):
    """the norm 1 is the largest sum of a column"""
    sigma = np.linalg.norm(w, 1)
    n = 1
    while sigma**n >= share:
        n += 1
        if n > 10**6:
            return n
    return n


@wrong("0.5", on=lambda: (0.5 * np.eye(2), 0.01))
def reach_before(w, share):
    """the last step that is still above the share"""
    sigma = np.linalg.norm(w, ord=2)
    n = 0
    while sigma ** (n + 1) >= share:
        n += 1
    return n


@wrong("0.5", on=lambda: (0.5 * np.eye(2), 0.01))
def reach_not_whole(w, share):
    """where the curve meets the share, not a whole number"""
    sigma = np.linalg.norm(w, 2)
    return np.log(share) / np.log(sigma)


@right("0.5")
def reach_by_squares(w, share):
    """the root of the largest eigenvalue of WᵀW; a float that is whole"""
    sigma = np.sqrt(max(np.linalg.eigvalsh(w.T @ w).max(), 0))
    n = 1.0
    while sigma**n >= share:
        n += 1
    return n


@right("0.5")
def reach_product(w, share):
    """one multiplication a step"""
    sigma = np.linalg.svd(w, compute_uv=False).max()
    size, n = sigma, 1
    while not size < share:
        size, n = size * sigma, n + 1
    return n


@right("0.5")
def reach_count(w, share):
    """itertools"""
    sigma = float(np.linalg.norm(w, 2))
    return next(n for n in itertools.count(1) if sigma**n < share)


# --- 0.6 ------------------------------------------------------------------------------------

DIAMOND = [[], [0], [0], [1, 2], []]


@wrong("0.6", on=lambda: (DIAMOND,))
def rounds_of_last(needs):
    """the last step need not be the last to be done"""
    depth = []
    for need in needs:
        depth.append(1 + max((depth[i] for i in need), default=0))
    return depth[-1] if depth else 0


@wrong("0.6", on=lambda: ([[], [0], [1], []],))
def rounds_longest_list(needs):
    """the longest list of needs"""
    return max((len(need) for need in needs), default=0) + 1 if needs else 0


@wrong("0.6", on=lambda: ([[], [0], [], [1, 2]],))
def rounds_last_need(needs):
    """only the last in the list, which is the largest number but not the latest result"""
    depth = []
    for need in needs:
        depth.append(depth[need[-1]] + 1 if need else 1)
    return max(depth, default=0)


@wrong("0.6", on=lambda: ([[], [], [1], [0, 2]],))
def rounds_first_need(needs):
    """follows the first need only"""
    depth = []
    for need in needs:
        depth.append(depth[need[0]] + 1 if need else 1)
    return max(depth, default=0)


@wrong("0.6", on=lambda: ([[], [0], [1]],))
def rounds_within_a_round(needs):
    """what is done in a round serves already in the same round"""
    done, count = set(), 0
    while len(done) < len(needs):
        for i, need in enumerate(needs):
            if i not in done and all(j in done for j in need):
                done.add(i)
        count += 1
    return count


@wrong("0.6", on=lambda: ([[], [0], [1]],))
def rounds_edges_of_chain(needs):
    """counts the waits, not the rounds"""
    depth = [0] * len(needs)
    for i, need in enumerate(needs):
        for j in need:
            depth[i] = max(depth[i], depth[j] + 1)
    return max(depth, default=0)


@wrong("0.6", on=lambda: ([[], [], [0], [1]],))
def rounds_different_needs(needs):
    """counts different lists of needs: steps with the same needs go together"""
    return len({tuple(need) for need in needs})


@wrong("0.6", on=lambda: ([[], [0], [0, 0, 0]],))
def rounds_sums(needs):
    """adds the waits of all needs"""
    depth = []
    for need in needs:
        depth.append(1 + sum(depth[i] for i in need))
    return max(depth, default=0)


@wrong("0.6", on=lambda: ([[], [0], [0, 1]],))
def rounds_changes_needs(needs):
    """strikes out what is done, in the caller's lists"""
    count, left = 0, set(range(len(needs)))
    while left:
        ready = [i for i in left if not needs[i]]
        for i in left:
            for j in ready:
                while j in needs[i]:
                    needs[i].remove(j)
        left -= set(ready)
        count += 1
    return count


@wrong("0.6", on=lambda: [([[], [0], [1]],), ([[], []],)])
def rounds_memo(needs, memo={}):
    """remembers the steps of the last call"""

    def depth(i):
        if i not in memo:
            memo[i] = 1 + max([depth(j) for j in needs[i]], default=0)
        return memo[i]

    return max([depth(i) for i in range(len(needs))], default=0)


@wrong("0.6", on=lambda: ([[], [], [0, 1], []],))
def rounds_adjacent(needs):
    """a new round begins wherever a step needs the one before"""
    count = 1 if needs else 0
    for i, need in enumerate(needs):
        if i - 1 in need or (len(need) == 0 and i > 0 and needs[i - 1]):
            count += 1
    return count


@wrong("0.6", on=lambda: ([[], [], []],))
def rounds_one_at_a_time(needs):
    """does one ready step a round"""
    done, count = [], 0
    while len(done) < len(needs):
        for i, need in enumerate(needs):
            if i not in done and set(need) <= set(done):
                done.append(i)
                break
        count += 1
    return count


@right("0.6")
def rounds_simulated(needs):
    """round by round, with what was done before the round"""
    done, count = set(), 0
    while len(done) < len(needs):
        done |= {i for i, need in enumerate(needs) if set(need) <= done}
        count += 1
    return count


@right("0.6")
def rounds_recursive(needs):
    """recursion that remembers within the call"""

    @functools.lru_cache(None)
    def depth(i):
        return 1 + max((depth(j) for j in needs[i]), default=0)

    return max((depth(i) for i in range(len(needs))), default=0)


@right("0.6")
def rounds_matrix(needs):
    """powers of the matrix of needs; the last one that is not zero"""
    n = len(needs)
    arrows = np.zeros((n, n), dtype=bool)
    for i, need in enumerate(needs):
        arrows[i, list(need)] = True
    paths, count = np.eye(n, dtype=bool), 0
    while paths.any():
        paths, count = (paths.astype(int) @ arrows.astype(int)) > 0, count + 1
    return float(count)
