"""Chapter 0: what a recurrent network loses, measured, and how long one has to wait for it."""

import numpy as np

from tfmlib.checking.exercise import Example, Exercise, numbers


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
)
_x, _w, _u = numbers(1, 5, 3), numbers(2, 7, 7) / 2, numbers(3, 3, 7)
STATES.case("five tokens of three numbers", "one state after each token", _x, _w, _u)
STATES.case(
    "two tokens of seven numbers",
    "the state may be smaller than a token",
    numbers(4, 2, 7),
    numbers(5, 3, 3),
    numbers(6, 7, 3),
)


@STATES.invariant("the past does not know the future", "cutting the text short keeps the states")
def _(answer):
    return np.allclose(answer(_x[:3], _w, _u), np.asarray(answer(_x, _w, _u))[:3])


@STATES.invariant("every number lies between -1 and 1", "tanh comes last")
def _(answer):
    return np.abs(answer(_x, _w, 11 * _u)).max() <= 1


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
)
_hidden = numbers(11, 3, 5) * np.array([1.0, 1.0, 1.0, 2.0, 3.0])


def _mixed(seed, count):
    """States of three numbers with noise, and tokens of five that they tell something about."""
    states = numbers(seed, count, 3)
    return states, states @ _hidden + numbers(seed + 1, count, 5)


_fit, _new = _mixed(12, 29), _mixed(14, 11)
READABLE.case("tokens with noise", "fitted on the first pair, tested on the second", *_fit, *_new)
READABLE.case("the other way about", "any number of sequences", *_new, *_fit)


@READABLE.invariant("a state that holds the token gives 1", "what can be read exactly counts as 1")
def _(answer):
    states, new = numbers(16, 13, 3), numbers(17, 7, 3)
    return np.isclose(answer(states, states @ _hidden, new, new @ _hidden), 1)


@READABLE.invariant(
    "another basis changes nothing", "mixing the numbers of the state loses nothing"
)
def _(answer):
    turn = _orthogonal(18, 3)
    turned = answer(_fit[0] @ turn, _fit[1], _new[0] @ turn, _new[1])
    return np.isclose(turned, answer(*_fit, *_new))


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
)


def _final_states(w, u, n):
    """The state after n steps, for each of the n texts in which a single number is 1."""
    w, u = np.asarray(w, float), np.asarray(u, float)
    if w.shape != (n, n) or u.shape != (1, n):
        raise ValueError(f"w must be ({n}, {n}) and u (1, {n}), got {w.shape} and {u.shape}.")
    state = np.zeros((n, n))
    for t in range(n):
        state = state @ w + np.eye(n)[:, t : t + 1] @ u
    return state


def _holds_all(answer, n):
    return np.linalg.cond(_final_states(*answer(n), n)) < 1e6


@DELAY.invariant("two numbers come back", "from a state of two both numbers can be read")
def _(answer):
    return _holds_all(answer, 2)


@DELAY.invariant("five numbers come back", "from a state of five all five numbers can be read")
def _(answer):
    return _holds_all(answer, 5)


@DELAY.invariant(
    "a random text of eleven comes back",
    "a linear map of the final state returns the eleven numbers in order",
)
def _(answer):
    w, u = answer(11)
    text, state = numbers(19, 11), np.zeros(11)
    for number in text:
        state = state @ np.asarray(w) + number * np.ravel(u)
    reader = np.linalg.inv(_final_states(w, u, 11))
    return np.allclose(state @ reader, text)


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
    "the state may be larger than a token",
    np.tanh(numbers(22, 3, 11)),
    numbers(23, 11, 11) / 3,
    numbers(24, 2, 11),
)


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
    return np.allclose(answer(_seen, _w, _u), np.array(columns).T, atol=1e-5)


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
)


def _with_norm(seed, n, norm):
    w = numbers(seed, n, n)
    return w * norm / np.linalg.norm(w, 2)


REACH.case("a matrix that only turns and shrinks", "0.9 a step", 0.9 * _orthogonal(25, 5), 0.01)
REACH.case("a random matrix", "the largest singular value counts", _with_norm(26, 7, 0.8), 0.001)
REACH.case("a strong decay", "half a step more is a step more", _with_norm(27, 3, 0.7), 0.05)


@REACH.invariant("after that many steps the share is gone", "‖Wⁿ‖ is below the share")
def _(answer):
    w = _with_norm(28, 11, 0.85)
    return np.linalg.norm(np.linalg.matrix_power(w, int(answer(w, 0.02))), 2) < 0.02


@REACH.invariant(
    "one step earlier it is not", "where W shrinks all vectors alike, one step less is too few"
)
def _(answer):
    w = 0.75 * _orthogonal(29, 3)
    before = np.linalg.matrix_power(w, int(answer(w, 0.03)) - 1)
    return np.linalg.norm(before, 2) >= 0.03


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
)
ROUNDS.case("a recurrent network of seven tokens", "a chain", [[], [0], [1], [2], [3], [4], [5]])
ROUNDS.case(
    "five tokens that all look at all",
    "five at once, then five at once",
    [[]] * 5 + [[0, 1, 2, 3, 4]] * 5,
)
ROUNDS.case(
    "a long way and a short way",
    "a step waits for the latest of what it needs",
    [[], [], [1], [2, 0], [0, 3], [1, 0], []],
)


@ROUNDS.invariant("independent steps take one round", "what needs nothing is done at once")
def _(answer):
    return answer([[]] * 11) == 1


@ROUNDS.invariant("one more link, one more round", "a step after the last one must wait for it")
def _(answer):
    chain = [[], [0], [1]]
    return answer([*chain, [2]]) == answer(chain) + 1


@ROUNDS.mistake("You counted all steps: those that do not need each other share a round.")
def counts_the_steps(needs):
    return len(needs)


@ROUNDS.mistake("You counted what the neediest step needs: ask how long its needs take.")
def counts_the_needs(needs):
    return max(len(earlier) for earlier in needs)


@ROUNDS.mistake("You counted the arrows of the longest chain: its steps are one more.")
def counts_arrows(needs):
    return _rounds(needs) - 1


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
