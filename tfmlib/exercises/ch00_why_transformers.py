"""Chapter 0: what a recurrent network loses, measured, and how long one has to wait for it."""

import numpy as np

from tfmlib.checking.compare import as_array, same
from tfmlib.checking.draw import LONG, axis, chance, choice, stretch, values
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers


def _states(x, w, u):
    states = [np.zeros(len(w))]
    for token in x:
        states.append(np.tanh(states[-1] @ w + token @ u))
    return np.array(states[1:])


def _orthogonal(seed, n):
    return np.linalg.qr(numbers(seed, n, n))[0]


# --- 0.1 ----------------------------------------------------------------------------------------

STATES = Exercise(
    id="0.1",
    title="A recurrent network",
    answer="rnn_states",
    signature="rnn_states(x, w, u)",
    oracle=_states,
    stands_for="rnn_states",
    hints=(
        "What does the network know before it has read anything?",
        "h starts at zeros; for each token, h = tanh(h W + x U), and each h is kept.",
        "x is (T, D), w is (F, F), u is (D, F); one state is (F,), all of them are (T, F).",
    ),
    example=Example(
        (np.array([[1.0], [0.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([[0.5, 0.0]])),
        "x = [[1], [0]], w = [[0, 2], [0, 0]], u = [[0.5, 0]] should give "
        "[[0.4621, 0], [0, 0.7279]]: what was read moves from the first number to the second.",
    ),
    equivalent={"return np.array(states) -> return states": "a list of rows is as good"},
    clauses={
        "for a whole text": DRAWN,
        "the state after each token": "five tokens of three numbers",
        "one row per token": "the past does not know the future",
        "(T, D), w (F, F), u (D, F) -> (T, F)": "two tokens of seven numbers",
    },
)
_x, _w, _u = numbers(1, 5, 3), numbers(2, 7, 7) / 2, numbers(3, 3, 7)
STATES.case("five tokens of three numbers", "one state after each token", _x, _w, _u)
STATES.case(
    "two tokens of seven numbers",
    "one state after each token; it may be smaller than a token",
    numbers(4, 2, 7),
    numbers(5, 3, 3),
    numbers(6, 7, 3),
)


def _recurrent(rng, size, T):
    """A W of whole numbers or not, that does not stir up rounding errors in T steps."""
    F = axis(rng, min(size, 9))
    if chance(rng, 0.2):
        return np.eye(F, k=choice(rng, (-1, 0, 1)), dtype=int)
    w = values(rng, (F, F))
    norm = np.linalg.norm(w, 2)
    return w if T <= 4 or norm <= 1 else w / norm


@STATES.draws
def _(rng, size):
    T, D = stretch(rng, size), axis(rng, min(size, 9))
    w = _recurrent(rng, size, T)
    return values(rng, (T, D)), w, values(rng, (D, len(w)))


@STATES.invariant("the past does not know the future", "cutting the text short keeps the states")
def _(answer):
    return same(answer(_x[:3], _w, _u), answer(_x, _w, _u)[:3])


@STATES.invariant("every number lies between -1 and 1", "tanh comes last")
def _(answer):
    largest = np.abs(answer(_x, _w, 11 * _u)).max()
    return largest <= 1 or f"The largest number is {largest:.4g}, and tanh never exceeds 1."


@STATES.right
def sums_up_by_hand(x, w, u):
    rows = [[0.0] * len(w)]
    for token in x:
        sums = np.einsum("f,fg->g", rows[-1], w) + np.einsum("d,dg->g", token, u)
        rows.append([float(np.tanh(number)) for number in sums])
    return rows[1:]


@STATES.right
def fills_an_array(x, w, u):
    inputs = np.asarray(x @ u, dtype=float)
    states = np.empty(inputs.shape)
    for t in range(len(x)):
        states[t] = np.tanh(inputs[t] + (states[t - 1] @ w if t else 0))
    return states


@STATES.mistake("You left out tanh: the state is squeezed after each token.")
def forgets_tanh(x, w, u):
    h, states = np.zeros(len(w)), []
    for token in x:
        h = h @ w + token @ u
        states.append(h)
    return np.array(states)


@STATES.mistake("Each of your states knows its own token only: add the previous state times W.")
def forgets_the_past(x, w, u):
    return np.tanh(x @ u)


@STATES.mistake("You returned the last state alone: keep one for each token.")
def returns_the_last_state(x, w, u):
    return _states(x, w, u)[-1]


@STATES.mistake("You squeezed the old state and then added the token: tanh goes around the sum.")
def adds_after_tanh(x, w, u):
    h, states = np.zeros(len(w)), []
    for token in x:
        h = np.tanh(h @ w) + token @ u
        states.append(h)
    return np.array(states)


@STATES.mistake("You turned W round: with states as rows, the product is h @ w.")
def transposes_w(x, w, u):
    return _states(x, w.T, u)


@STATES.mistake("You began with ones: before the first token the state is all zeros.")
def begins_with_ones(x, w, u):
    h, states = np.ones(len(w)), []
    for token in x:
        h = np.tanh(h @ w + token @ u)
        states.append(h)
    return np.array(states)


@STATES.mistake(
    "You kept each state before its token was read: the first row is the state after the first "
    "token."
)
def keeps_states_too_early(x, w, u):
    return np.vstack([np.zeros(len(w)), _states(x, w, u)[:-1]])


@STATES.mistake("You kept the zeros of the beginning as well: there is one row for each token.")
def keeps_the_beginning(x, w, u):
    return np.vstack([np.zeros(len(w)), _states(x, w, u)])


# --- 0.2 ----------------------------------------------------------------------------------------


def _readable(states, tokens, new_states, new_tokens):
    guess = new_states @ np.linalg.pinv(states) @ tokens
    return 1 - np.sum((new_tokens - guess) ** 2) / np.sum(new_tokens**2)


READABLE = Exercise(
    id="0.2",
    title="How much can be read back?",
    answer="readable",
    signature="readable(states, tokens, new_states, new_tokens)",
    oracle=_readable,
    stands_for="readable",
    hints=(
        "Which matrix M makes states @ M come as near to tokens as possible, and on which "
        "sequences should you test it?",
        "M from np.linalg.lstsq(states, tokens)[0]; then 1 - |new_tokens - new_states M|² / "
        "|new_tokens|², each a sum over all entries.",
        "states (N, F), tokens (N, D): M is (F, D). The new ones are (L, F) and (L, D). "
        "The result is one number.",
    ),
    example=Example(
        (
            np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            np.array([[2.0], [0.0], [2.0]]),
            np.array([[1.0, 3.0], [2.0, 0.0]]),
            np.array([[3.0], [4.0]]),
        ),
        "the tokens are twice the states' first number; the new ones are 3 and 4 where 2 and 4 "
        "are read, so the result should be 1 - 1/25 = 0.96.",
    ),
    clauses={
        "find $M$ from `states` and `tokens`": "tokens with noise",
        "for `new_states` and `new_tokens`": "the other way about",
        "(N, F), (N, D), (L, F), (L, D) -> one number": DRAWN,
    },
)
_hidden = numbers(11, 3, 5) * np.array([1.0, 1.0, 1.0, 2.0, 3.0])


def _mixed(seed, count):
    """States of three numbers with noise, and tokens of five that they tell something about."""
    states = numbers(seed, count, 3)
    return states, states @ _hidden + numbers(seed + 1, count, 5)


_fit, _new = _mixed(12, 29), _mixed(14, 11)
READABLE.case("tokens with noise", "fitted on the first pair, tested on the second", *_fit, *_new)
READABLE.case("the other way about", "the same with the pairs exchanged", *_new, *_fit)


def _independent_columns(rng, rows, columns):
    """States of which one best M can be read."""
    for _ in range(20):
        states = values(rng, (rows, columns), ("plain", "whole", "ties"))
        if np.linalg.cond(states) < 1e3:
            return states
    return np.eye(rows, columns, dtype=int)


@READABLE.draws
def _(rng, size):
    F, D, L = axis(rng, min(size, 9)), axis(rng, min(size, 9)), axis(rng, size)
    N = F + stretch(rng, size) - 1
    states, new_states = _independent_columns(rng, N, F), values(rng, (L, F))
    kind = choice(rng, (("plain",), ("whole",), ("ties",), ("equal",)))
    tokens, new_tokens = values(rng, (N, D), kind), values(rng, (L, D), kind)
    if chance(rng):  # tokens that the states tell something about
        hidden = values(rng, (F, D), kind)
        tokens, new_tokens = tokens + 3 * states @ hidden, new_tokens + 3 * new_states @ hidden
    if not new_tokens.any():
        new_tokens[0, 0] = 1
    # The units in which states and tokens are measured do not matter.
    s, t = (10.0 ** rng.integers(-12, 5) if chance(rng, 0.2) else 1 for _ in range(2))
    return s * states, t * tokens, s * new_states, t * new_tokens


@READABLE.invariant("a state that holds the token gives 1", "what can be read exactly counts as 1")
def _(answer):
    states, new = numbers(16, 13, 3), numbers(17, 7, 3)
    return same(answer(states, states @ _hidden, new, new @ _hidden), 1.0)


@READABLE.invariant(
    "another basis changes nothing", "mixing the numbers of the state loses nothing"
)
def _(answer):
    turn = _orthogonal(18, 3)
    turned = answer(_fit[0] @ turn, _fit[1], _new[0] @ turn, _new[1])
    return same(turned, answer(*_fit, *_new))


@READABLE.right
def solves_the_normal_equations(states, tokens, new_states, new_tokens):
    reader = np.linalg.solve(states.T @ states, states.T @ tokens)
    missed = np.linalg.norm(new_tokens - new_states @ reader) ** 2
    return float(1 - missed / np.linalg.norm(new_tokens) ** 2)


@READABLE.right
def fits_each_column_by_itself(states, tokens, new_states, new_tokens):
    q, triangle = np.linalg.qr(states)
    missed = total = 0.0
    for d in range(tokens.shape[1]):
        column = np.linalg.solve(triangle, q.T @ tokens[:, d])
        for state, token in zip(new_states, new_tokens[:, d], strict=True):
            missed += (token - state @ column) ** 2
            total += token**2
    return 1 - missed / total


@READABLE.mistake(
    "You tested on the sequences that you fitted: with enough numbers any state fits. Use the new."
)
def tests_on_its_own_data(states, tokens, new_states, new_tokens):
    return _readable(states, tokens, states, tokens)


@READABLE.mistake("You fitted on the new sequences: they are for testing.")
def fits_the_new_data(states, tokens, new_states, new_tokens):
    return _readable(new_states, new_tokens, new_states, new_tokens)


@READABLE.mistake("That is the share that was lost: subtract it from 1.")
def returns_what_is_lost(states, tokens, new_states, new_tokens):
    return 1 - _readable(states, tokens, new_states, new_tokens)


@READABLE.mistake("You took the root of the share: compare sums of squares, not lengths.")
def compares_lengths(states, tokens, new_states, new_tokens):
    return 1 - np.sqrt(1 - _readable(states, tokens, new_states, new_tokens))


@READABLE.mistake("You averaged the shares of the columns: add up all squares, then divide once.")
def averages_columns(states, tokens, new_states, new_tokens):
    guess = new_states @ np.linalg.pinv(states) @ tokens
    return np.mean(1 - np.sum((new_tokens - guess) ** 2, 0) / np.sum(new_tokens**2, 0))


@READABLE.mistake("You divided by the number of entries: divide by the sum of the squared tokens.")
def divides_by_the_count(states, tokens, new_states, new_tokens):
    guess = new_states @ np.linalg.pinv(states) @ tokens
    return 1 - np.mean((new_tokens - guess) ** 2)


@READABLE.mistake(
    "You measured against the tokens' mean, as the usual R² does: here a guess of zeros counts 0, "
    "so divide by the sum of the squared tokens."
)
def subtracts_the_mean(states, tokens, new_states, new_tokens):
    guess = new_states @ np.linalg.pinv(states) @ tokens
    spread = new_tokens - new_tokens.mean(axis=0)
    return 1 - np.sum((new_tokens - guess) ** 2) / np.sum(spread**2)


@READABLE.mistake("You added a constant to the states: M alone reads the tokens, h M.")
def adds_a_constant(states, tokens, new_states, new_tokens):
    with_one, new_with_one = (np.c_[s, np.ones(len(s))] for s in (states, new_states))
    return _readable(with_one, tokens, new_with_one, new_tokens)


# --- 0.3 ----------------------------------------------------------------------------------------

DELAY = Exercise(
    id="0.3",
    title="A state that holds n numbers",
    answer="memory_of",
    signature="memory_of(n)",
    hints=(
        "If the newest number always goes to the first place of the state, where must the "
        "older ones go?",
        "h W moves the numbers of the state by one place; x U writes the new one where nothing "
        "stands. np.eye(n, k=1) is the identity with its ones one column further right.",
        "w is (n, n), u is (1, n); return them as a list, [w, u].",
    ),
    example=Example(
        (1,), "for n = 1 the state is the newest number: w = [[0]] and u = [[1]] will do."
    ),
    clauses={
        "as a list `[w, u]`": DRAWN,
        "a state of $n$ numbers, after reading $n$ tokens, holds all of them": "two numbers "
        "come back",
        "a linear map can get each one back": "a random text of eleven comes back",
        "Several answers are right": DRAWN,
        "n -> [w (n, n), u (1, n)]": "five numbers come back",
    },
)


def _matrices(value, n):
    """W and U as arrays, or the sentence that says what is wrong with them."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
        return "Return two matrices as a list, [w, u]."
    w, u = map(as_array, value)
    if w is None or u is None:
        return "w and u must each be an array of numbers."
    if w.shape != (n, n) or u.shape != (1, n):
        return f"For n = {n}, w must be ({n}, {n}) and u (1, {n}); got {w.shape} and {u.shape}."
    if not (np.isfinite(w).all() and np.isfinite(u).all()):
        return "w or u holds NaN or infinity."
    return w.astype(float), u.astype(float)


def _final_states(w, u):
    """The state after n steps, for each of the n texts in which a single number is 1."""
    n = len(w)
    state = np.zeros((n, n))
    for t in range(n):
        state = state @ w + np.eye(n)[:, t : t + 1] @ u
    return state


@DELAY.accepting
def _(value, n):
    found = _matrices(value, n)
    if isinstance(found, str):
        return found
    states = _final_states(*found)
    if not np.isfinite(states).all():
        return f"After {n} tokens the state has grown beyond all numbers."
    back = states @ np.linalg.lstsq(states, np.eye(n), rcond=1e-13)[0]
    lost = np.flatnonzero(np.abs(back - np.eye(n)).max(axis=1) > 1e-6)
    if lost.size:
        return (
            f"Of {n} tokens {lost.size} cannot be read back, the first of them token "
            f"{lost[0] + 1}: best it comes back as {back[lost[0], lost[0]]:.3f} where it was 1."
        )
    return True


def _holds(answer, n):
    return DELAY.accepts(answer(n), n)


@DELAY.draws
def _(rng, size):
    return (axis(rng, min(size, 15)),)


@DELAY.invariant("two numbers come back", "from a state of two both numbers can be read")
def _(answer):
    return _holds(answer, 2)


@DELAY.invariant("five numbers come back", "from a state of five all five numbers can be read")
def _(answer):
    return _holds(answer, 5)


@DELAY.invariant(
    "a random text of eleven comes back",
    "a linear map of the final state returns the eleven numbers in order",
)
def _(answer):
    found = _matrices(answer(11), 11)
    if isinstance(found, str):
        return found
    w, u = found
    text, state = numbers(19, 11), np.zeros(11)
    for number in text:
        state = state @ w + number * u[0]
    return same(state @ np.linalg.pinv(_final_states(w, u)), text)


@DELAY.right
def turns_in_a_circle(n):
    return np.roll(np.eye(n, dtype=int), 1, axis=1), np.eye(1, n)


@DELAY.right
def writes_at_the_other_end(n):
    w = [[1.0 if i == j + 1 else 0.0 for j in range(n)] for i in range(n)]
    return [w, [[0.0] * (n - 1) + [1.0]]]


@DELAY.right
def shifts_in_another_basis(n):
    basis = np.tri(n)
    return [np.linalg.inv(basis) @ np.eye(n, k=1) @ basis, np.eye(1, n) @ basis]


@DELAY.mistake("Your W is the identity, so the numbers pile up: the state holds only their sum.")
def keeps_everything_in_place(n):
    return [np.eye(n), np.eye(1, n)]


@DELAY.mistake("Your W is zero: the state holds the last number and nothing else.")
def forgets_at_once(n):
    return [np.zeros((n, n)), np.eye(1, n)]


@DELAY.mistake(
    "Each number fades, but all stand in the same place: a weighted sum cannot be taken apart."
)
def lets_them_fade(n):
    return [np.eye(n) / 2, np.ones((1, n))]


@DELAY.mistake(
    "You move towards the place where you write: the number falls out of the state at once."
)
def shifts_the_wrong_way(n):
    return [np.eye(n, k=-1), np.eye(1, n)]


@DELAY.mistake("The two matrices have changed places: return [w, u].")
def returns_u_first(n):
    return [np.eye(1, n), np.eye(n, k=1)]


@DELAY.mistake(
    "You write each number into all places at once, and move them by one: with ones in U the "
    "places hold sums, and in a circle all of them the same sum."
)
def writes_everywhere_in_a_circle(n):
    return [np.roll(np.eye(n), 1, axis=1), np.ones((1, n))]


@DELAY.mistake("Your U has one number for each row of W, (n, 1): tokens are rows, so u is (1, n).")
def turns_u_round(n):
    return [np.eye(n, k=1), np.eye(n, 1)]


# --- 0.4 ----------------------------------------------------------------------------------------


def _gradient(states, w, u):
    product = np.diag(1 - states[0] ** 2) @ u.T
    for h in states[1:]:
        product = np.diag(1 - h**2) @ w.T @ product
    return product


GRADIENT = Exercise(
    id="0.4",
    title="Find the bug: the gradient on its way back",
    answer="first_token_gradient",
    signature="first_token_gradient(states, w, u)",
    oracle=_gradient,
    stands_for="rnn_gradient",
    hints=(
        "A state is tanh of a sum. What is computed last on the way forward: the product with W "
        "or the tanh?",
        "∂h_t/∂x_1 = diag(1 - h_t²) Wᵀ ∂h_{t-1}/∂x_1, and ∂h_1/∂x_1 = diag(1 - h_1²) Uᵀ.",
        "states (T, F), w (F, F), u (D, F); the result is (F, D), one row for each number of "
        "the last state.",
    ),
    example=Example(
        (np.array([[0.0], [0.5]]), np.array([[2.0]]), np.array([[3.0]])),
        "states [[0], [0.5]], w = [[2]], u = [[3]] should give 0.75 · 2 · 1 · 3 = [[4.5]].",
    ),
    clauses={
        "when the first token is moved a little": "it predicts a small step",
        "as it should be": "five tokens",
        "states (T, F), w (F, F), u (D, F) -> (F, D)": DRAWN,
    },
)
_text = numbers(20, 5, 3)
_seen = _states(_text, _w, _u)
GRADIENT.case("five tokens", "five slopes, four times W, once U", _seen, _w, _u)
GRADIENT.case(
    "a single token", "the slope of the first state times Uᵀ", numbers(21, 1, 2) / 3, _w[:2, :2],
    _u[:, :2],
)  # fmt: skip
GRADIENT.case(
    "a state of eleven",
    "three slopes, twice W, once U, for a state larger than a token",
    np.tanh(numbers(22, 3, 11)),
    numbers(23, 11, 11) / 3,
    numbers(24, 2, 11),
)


@GRADIENT.draws
def _(rng, size):
    T, D, F = stretch(rng, size), axis(rng, min(size, 9)), axis(rng, min(size, 9))
    w = values(rng, (F, F))
    if T > 6:  # a gradient that vanishes, stays or explodes
        w = rng.normal(size=(F, F)) / np.sqrt(F) * choice(rng, (0.5, 1.0, 2.0))
    states = np.tanh(rng.normal(size=(T, F)) * choice(rng, (0.3, 1.0, 3.0)))
    if chance(rng, 0.25):
        states = choice(rng, (-1, 1)) * (rng.random((T, F)) < 0.2)  # slopes of 1 and 0
    return states, w, values(rng, (D, F))


@GRADIENT.invariant(
    "it predicts a small step",
    "moving the first token by 1e-6 moves the last state by the gradient times 1e-6",
)
def _(answer):
    step = 1e-6
    columns = []
    for d in range(3):
        moved = _text.copy()
        moved[0, d] += step
        columns.append((_states(moved, _w, _u)[-1] - _seen[-1]) / step)
    return same(answer(_seen, _w, _u), np.array(columns).T, rtol=1e-4, atol=1e-5)


@GRADIENT.right
def multiplies_diagonal_matrices(states, w, u):
    product = u.T
    for t, h in enumerate(states):
        product = np.diag(1 - h * h) @ (w.T @ product if t else product)
    return product.tolist()


@GRADIENT.right
def goes_from_the_last_state_back(states, w, u):
    product = np.eye(len(w))
    for h in states[:0:-1]:
        product = product @ np.einsum("f,gf->fg", 1 - h**2, w)
    return product @ np.einsum("f,df->fd", 1 - states[0] ** 2, u)


@GRADIENT.mistake(
    "This is still the bug: the slope of step t is applied before W, where it belongs to the state "
    "that W has made. Multiply by Wᵀ first, then by 1 - h²."
)
def keeps_the_bug(states, w, u):
    gradient = (1 - states[0] ** 2)[:, None] * u.T
    for h in states[1:]:
        gradient = w.T @ ((1 - h**2)[:, None] * gradient)
    return gradient


@GRADIENT.mistake("You left the slopes out: tanh multiplies by 1 - h² at each step.")
def forgets_the_slopes(states, w, u):
    return np.linalg.matrix_power(w.T, len(states) - 1) @ u.T


@GRADIENT.mistake("You turned W round: forward it is h @ w, so backward it is w.T.")
def uses_w_as_it_is(states, w, u):
    return _gradient(states, w.T, u)


@GRADIENT.mistake("The slope of tanh is 1 - h², the square of the state, not 1 - h.")
def forgets_the_square(states, w, u):
    product = np.diag(1 - states[0]) @ u.T
    for h in states[1:]:
        product = np.diag(1 - h) @ w.T @ product
    return product


@GRADIENT.mistake("You began with Uᵀ: the first token goes through a tanh as well.")
def forgets_the_first_slope(states, w, u):
    product = u.T
    for h in states[1:]:
        product = np.diag(1 - h**2) @ w.T @ product
    return product


@GRADIENT.mistake("That is the gradient of the last token: the first has further to go.")
def takes_the_last_token(states, w, u):
    return np.diag(1 - states[-1] ** 2) @ u.T


@GRADIENT.mistake(
    "You returned the transpose: the result has a row for each number of the last state, (F, D)."
)
def returns_the_transpose(states, w, u):
    return _gradient(states, w, u).T


@GRADIENT.mistake(
    "You multiplied by W once more: from the first state to the last there are T - 1 steps."
)
def multiplies_once_more(states, w, u):
    product = u.T
    for h in states:
        product = (1 - h**2)[:, None] * (w.T @ product)
    return product


# --- 0.5 ----------------------------------------------------------------------------------------


def _reach(w, share):
    strongest, left, steps = np.linalg.svd(w)[1][0], 1.0, 0
    while left >= share:
        left, steps = left * strongest, steps + 1
    return steps


REACH = Exercise(
    id="0.5",
    title="How far back a network can learn",
    answer="reach",
    signature="reach(w, share)",
    oracle=_reach,
    hints=(
        "By how much can one multiplication with W lengthen a vector at most?",
        "σ = np.linalg.norm(w, 2), the largest singular value; the smallest n with σⁿ < share.",
        "w is (F, F) with σ below 1, share lies between 0 and 1; the result is a whole number.",
    ),
    example=Example(
        (np.array([[0.0, 0.5], [0.5, 0.0]]), 0.1),
        "each step halves: 1/8 is not below 0.1, 1/16 is, so the result should be 4.",
    ),
    clauses={
        "the largest singular value of $W$": "a random matrix",
        "the smallest number $n$ of steps": "one step earlier it is not",
        "*must* have shrunk below the given share": "after that many steps the share is gone",
        "because $\\sigma^n$ is below it": "exactly the share is not below it",
        "-> a whole number of steps": DRAWN,
    },
    coincidences={
        "argument 1: no whole numbers as integers": "of whole numbers only 0 has σ below 1",
    },
)


def _with_norm(seed, n, norm):
    w = numbers(seed, n, n)
    return w * norm / np.linalg.norm(w, 2)


REACH.case(
    "a matrix that only turns and shrinks",
    "the first n with 0.9ⁿ below 0.01",
    0.9 * _orthogonal(25, 5),
    0.01,
)
REACH.case("a random matrix", "the largest singular value counts", _with_norm(26, 7, 0.8), 0.001)
REACH.case("a strong decay", "the first n with 0.7ⁿ below 0.05", _with_norm(27, 3, 0.7), 0.05)
REACH.case(
    "exactly the share is not below it",
    "0.5³ is 0.125 and not below it, so one step more",
    np.array([[0.5]]),
    0.125,
)


@REACH.draws
def _(rng, size):
    F = axis(rng, min(size, 12))
    if chance(rng, 0.15):  # a share that is reached exactly, with numbers that are exact
        return 0.5 * np.eye(F)[rng.permutation(F)], 0.5 ** int(rng.integers(1, 11))
    norm = choice(rng, (0.999, 0.99, 0.9, 0.5, 0.1, 1e-3, float(rng.uniform(0.02, 0.98))))
    w = rng.normal(size=(F, F))
    if chance(rng, 0.3):
        w = np.linalg.qr(w)[0]
    elif chance(rng, 0.3):
        w = np.triu(w, k=min(1, F - 1))  # eigenvalues of 0
    elif chance(rng, 0.3):
        w = np.outer(w[0], w[:, 0])
    w = norm * w / np.linalg.norm(w, 2)
    # Not within rounding of a power of the norm: between two of them.
    most = choice(rng, (1, 3, 12, 200, 3000 if norm > 0.9 else 12))
    power = int(rng.integers(most // 2, most))
    share = float(norm ** (power + rng.uniform(0.05, 0.95)))
    return w, max(share, 1e-200 ** rng.uniform(0.05, 0.95))


@REACH.invariant("after that many steps the share is gone", "‖Wⁿ‖ is below the share")
def _(answer):
    w = _with_norm(28, 11, 0.85)
    left = np.linalg.norm(np.linalg.matrix_power(w, int(answer(w, 0.02))), 2)
    return left < 0.02 or f"After your steps {left:.4f} is left, and the share is 0.02."


@REACH.invariant(
    "one step earlier it is not", "where W shrinks all vectors alike, one step less is too few"
)
def _(answer):
    w = 0.75 * _orthogonal(29, 3)
    before = np.linalg.matrix_power(w, max(0, int(answer(w, 0.03)) - 1))
    left = np.linalg.norm(before, 2)
    return left >= 0.03 or f"One step earlier {left:.4f} is left: less than 0.03 already."


@REACH.right
def counts_powers(w, share):
    strongest, n = np.sqrt(np.linalg.eigvalsh(w.T @ w).max()), 0
    while strongest**n >= share:
        n += 1
    return n


@REACH.right
def takes_logarithms(w, share):
    strongest = np.linalg.svd(w, compute_uv=False).max()
    return np.floor(np.log(share) / np.log(strongest)) + 1


@REACH.mistake(
    "You took the largest eigenvalue: it rules in the long run, but a single step can lengthen a "
    "vector by the largest singular value."
)
def takes_the_eigenvalue(w, share):
    return int(np.floor(np.log(share) / np.log(np.abs(np.linalg.eigvals(w)).max()))) + 1


@REACH.mistake("np.linalg.norm(w) adds up all entries; the second argument 2 asks for σ.")
def takes_the_frobenius_norm(w, share):
    return int(np.floor(np.log(share) / np.log(np.linalg.norm(w)))) + 1


@REACH.mistake("You are one step short: σⁿ must be below the share, so round up.")
def rounds_down(w, share):
    return _reach(w, share) - 1


@REACH.mistake("You rounded to the nearest step: σⁿ must be below the share, so round up.")
def rounds_to_the_nearest(w, share):
    return int(np.rint(np.log(share) / np.log(np.linalg.norm(w, 2))))


@REACH.mistake(
    "You stop where σⁿ is exactly the share: it must be below, so one step more. np.ceil leaves "
    "a whole number as it is; cut it with np.floor and add 1."
)
def stops_at_the_share(w, share):
    return int(np.ceil(np.log(share) / np.log(np.linalg.norm(w, 2))))


@REACH.mistake("You took the largest entry of W: the largest singular value is asked for.")
def takes_the_largest_entry(w, share):
    return int(np.floor(np.log(share) / np.log(np.abs(w).max()))) + 1


@REACH.mistake("You returned the quotient of the logarithms: steps are whole numbers.")
def returns_the_quotient(w, share):
    return np.log(share) / np.log(np.linalg.norm(w, 2))


@REACH.mistake("You subtracted the same amount at each step: a factor multiplies, so take logs.")
def shrinks_by_equal_amounts(w, share):
    return int(np.ceil((1 - share) / (1 - np.linalg.norm(w, 2))))


# --- 0.6 ----------------------------------------------------------------------------------------


def _rounds(needs):
    """The longest chain, by taking away in rounds what can be done."""
    done, rounds = set(), 0
    while len(done) < len(needs):
        done |= {i for i, earlier in enumerate(needs) if done.issuperset(earlier)}
        rounds += 1
    return rounds


ROUNDS = Exercise(
    id="0.6",
    title="How long you have to wait",
    answer="rounds",
    signature="rounds(needs)",
    oracle=_rounds,
    hints=(
        "In which round can a step be done that needs the results of rounds 1, 3 and 2?",
        "round of step i = 1 + the largest round of what it needs, or 1 if it needs nothing.",
        "needs is a list of lists of earlier steps' numbers; the result is a whole number.",
    ),
    example=Example(
        ([[], [0], [0], [1, 2]],),
        "step 0, then 1 and 2 at once, then 3: needs [[], [0], [0], [1, 2]] should give 3.",
    ),
    clauses={
        "the steps whose results step `i` needs": "a long way and a short way",
        "all of them are smaller than `i`": DRAWN,
        "Steps that are ready are done at once, in one round": "independent steps take one round",
        "how many rounds it takes until all is done": "a recurrent network of seven tokens",
        "a list of lists of step numbers -> a whole number": DRAWN,
    },
)
ROUNDS.case(
    "a recurrent network of seven tokens",
    "each step waits for the one before: seven rounds",
    [[], [0], [1], [2], [3], [4], [5]],
)
ROUNDS.case(
    "five tokens that all look at all",
    "five at once, then five at once: two rounds",
    [[]] * 5 + [[0, 1, 2, 3, 4]] * 5,
)
ROUNDS.case(
    "a long way and a short way",
    "a step waits for the latest of what it needs",
    [[], [], [1], [2, 0], [0, 3], [1, 0], []],
)


@ROUNDS.draws
def _(rng, size):
    steps = stretch(rng, size)
    if size >= min(LONG):
        # A chain, with a single way, so that a program may also walk through all the ways.
        return ([[] if i in (0, size // 8) else [i - 1 - i // size] for i in range(steps)],)
    most, reach = choice(rng, ((1, 3), (2, 3), (3, 99), (99, 99)))
    needs = []
    for i in range(steps):
        earlier = [int(j) for j in rng.permutation(i) if j >= i - reach]
        needs.append(earlier[: int(rng.integers(min(most, len(earlier)) + 1))])
    return (needs,)


@ROUNDS.invariant("independent steps take one round", "what needs nothing is done at once")
def _(answer):
    taken = answer([[]] * 11)
    return taken == 1 or f"Eleven steps that need nothing take {taken} rounds, and 1 is enough."


@ROUNDS.invariant("one more link, one more round", "a step after the last one must wait for it")
def _(answer):
    short, long = answer([[], [0], [1]]), answer([[], [0], [1], [2]])
    return long == short + 1 or f"A chain of three takes {short} rounds, and one of four {long}."


@ROUNDS.right
def goes_back_by_recursion(needs):
    def when(i):
        return 1 + max((when(j) for j in needs[i]), default=0)

    return max(when(i) for i in range(len(needs)))


@ROUNDS.right
def fills_an_array_of_rounds(needs):
    when = np.ones(len(needs))
    for i, earlier in enumerate(needs):
        for j in earlier:
            when[i] = max(when[i], when[j] + 1)
    return when.max()


@ROUNDS.mistake("You counted all steps: those that do not need each other share a round.")
def counts_the_steps(needs):
    return len(needs)


@ROUNDS.mistake("You counted what the neediest step needs: ask how long its needs take.")
def counts_the_needs(needs):
    return max(len(earlier) for earlier in needs)


@ROUNDS.mistake("You counted the arrows of the longest chain: its steps are one more.")
def counts_arrows(needs):
    return _rounds(needs) - 1


@ROUNDS.mistake(
    "You looked at the first of its needs alone: a step waits for the latest, wherever it stands "
    "in the list."
)
def looks_at_the_first_need(needs):
    rounds = []
    for earlier in needs:
        rounds.append(1 + (rounds[earlier[0]] if earlier else 0))
    return max(rounds)


@ROUNDS.mistake(
    "You took the need with the largest number for the latest: a later number may be done earlier."
)
def looks_at_the_largest_number(needs):
    rounds = []
    for earlier in needs:
        rounds.append(1 + (rounds[max(earlier)] if earlier else 0))
    return max(rounds)


@ROUNDS.mistake("You added up the rounds of all that a step needs: they run at the same time.")
def adds_up_the_rounds(needs):
    rounds = []
    for earlier in needs:
        rounds.append(1 + sum(rounds[i] for i in earlier))
    return max(rounds)


@ROUNDS.mistake("A step can begin when the last of its needs is there, not the first.")
def waits_for_the_earliest(needs):
    rounds = []
    for earlier in needs:
        rounds.append(1 + min([rounds[i] for i in earlier], default=0))
    return max(rounds)


@ROUNDS.mistake("You looked at the last step alone: another may be done later.")
def looks_at_the_last_step(needs):
    rounds = []
    for earlier in needs:
        rounds.append(1 + max([rounds[i] for i in earlier], default=0))
    return rounds[-1]
