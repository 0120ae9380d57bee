"""Chapter 10: shifted targets, cross-entropy, smoothing, the learning rate, and being right."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same
from tfmlib.checking.draw import (
    ANY_MAGNITUDE,
    axis,
    chance,
    choice,
    ids,
    leading,
    mask,
    positive,
    values,
)
from tfmlib.checking.exercise import DRAWN, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome

# --- 10.1 ---------------------------------------------------------------------------------------


def _shift(target):
    length = np.shape(target)[1]
    return [np.take(target, range(k, length - 1 + k), axis=1) for k in (0, 1)]


SHIFT = Exercise(
    id="10.1",
    title="Shift the targets",
    answer="shift",
    signature="shift(target)",
    oracle=_shift,
    stands_for="shift",
    clauses={
        "what the decoder reads and what it should say, in this order": "three targets of seven",
        "Leave the padding as it is": "a batch that is mostly padding",
        "target (B, T), integers -> two arrays (B, T - 1)": DRAWN,
    },
    hints=(
        "Which token is never predicted, and after which token is nothing left to predict?",
        "The decoder reads all tokens but the last, and should say all tokens but the first.",
        "target is (B, T), both results are (B, T - 1); slice the second axis.",
    ),
    example=Example(
        (np.array([[1, 7, 5, 2], [1, 6, 2, 0]]),),
        "target [[1, 7, 5, 2], [1, 6, 2, 0]] should give [[1, 7, 5], [1, 6, 2]] and "
        "[[7, 5, 2], [6, 2, 0]].",
    ),
)
_tgt = np.array([[1, 13, 11, 7, 5, 3, 2], [1, 5, 17, 2, 0, 0, 0], [1, 19, 3, 11, 23, 2, 0]])
SHIFT.case("three targets of seven", "inputs first, then the answers one step later", _tgt)
SHIFT.case(
    "two targets of five",
    "inputs first, then the answers one step later",
    np.array([[1, 7, 3, 9, 2], [1, 4, 2, 0, 0]]),
)
SHIFT.case(
    "a batch that is mostly padding",
    "inputs and answers with the padding where it was",
    np.array([[1, 2, 0, 0, 0, 0], [1, 5, 2, 0, 0, 0]]),
)


@SHIFT.draws
def _(rng, size):
    B, T = axis(rng, size), axis(rng, size, 2)
    tokens = rng.integers(0, 20, size=(B, T))
    if chance(rng, 0.3):
        return (tokens,)  # without padding, and with any numbers for <start> and <end>
    start, end, pad = (1, 2, 0) if chance(rng) else rng.permutation(9)[:3]
    places, last = np.arange(T), rng.integers(1, T, size=(B, 1))
    tokens[:, 0] = start
    return (np.where(places == last, end, np.where(places > last, pad, tokens)),)


@SHIFT.invariant("each answer is the next input", "what it should say at t, it reads at t + 1")
def _(answer):
    inputs, answers = answer(_tgt)
    return same(np.asarray(answers)[:, :-1], np.asarray(inputs)[:, 1:]) and same(
        inputs, _tgt[:, :-1]
    )


@SHIFT.right
def slices_row_by_row(target):
    rows = target.tolist()
    return [[row[:-1] for row in rows], [row[1:] for row in rows]]


@SHIFT.right
def deletes_a_column(target):
    return np.delete(target, -1, axis=1), np.delete(target, 0, axis=1)


@SHIFT.mistake("You returned them in the other order: first what the decoder reads.")
def swaps_inputs_and_answers(target):
    return target[:, 1:], target[:, :-1]


@SHIFT.mistake("Both are the input: the decoder would learn to repeat what it reads. Shift by one.")
def does_not_shift(target):
    return target[:, :-1], target[:, :-1]


@SHIFT.mistake("You cut sentences off the batch: the tokens run along the second axis.")
def cuts_the_batch(target):
    return target[:-1], target[1:]


@SHIFT.mistake(
    "You kept the whole target as the input: it is one longer than the answers, and nothing is "
    "left to say after its last token."
)
def keeps_the_last_input(target):
    return target, target[:, 1:]


@SHIFT.mistake("np.roll brings <start> round to the end: the last answer would be <start>.")
def rolls_round(target):
    return target, np.roll(target, -1, axis=1)


@SHIFT.mistake("You returned the answers alone: return two arrays, the inputs first.")
def returns_the_answers_alone(target):
    return target[:, 1:]


@SHIFT.mistake("You took <start> away from the input: then nothing predicts the first word.")
def drops_the_start(target):
    return target[:, 1:-1], target[:, 2:]


@SHIFT.mistake("You took the padding out: leave it, so that all rows stay equally long.")
def takes_the_padding_out(target):
    rows = [[token for token in row if token != 0] for row in target.tolist()]
    return [row[:-1] for row in rows], [row[1:] for row in rows]


@SHIFT.mistake(
    "You filled the answers up to the old length: cut the inputs instead, both are (B, T - 1)."
)
def fills_the_answers_up(target):
    return target, np.pad(target[:, 1:], ((0, 0), (0, 1)))


# --- 10.2 ---------------------------------------------------------------------------------------


def _cross_entropy(logits, targets, pad_id):
    return ref.cross_entropy(logits, targets, ignore_id=pad_id)


def _picked(logits, targets):
    """The log-probability of the right token at each place."""
    return np.take_along_axis(ref.log_softmax(logits), targets[..., None], axis=-1)[..., 0]


LOSS = Exercise(
    id="10.2",
    title="Cross-entropy of a padded batch",
    answer="cross_entropy",
    signature="cross_entropy(logits, targets, pad_id)",
    oracle=_cross_entropy,
    stands_for="cross_entropy",
    clauses={
        "for logits of any size": "logits in the thousands",
        "At least one target is not padding": DRAWN,
        "logits (B, T, V), targets (B, T), a number -> a number": "two sentences, one padded",
        "pad_id": "padding that is not 0",
    },
    hints=(
        "Which places of the batch are questions that the model should answer?",
        "Minus the mean of log p(right token) over the places whose target is not pad_id.",
        "kept = targets != pad_id is (B, T); logs[kept] is (N, V), targets[kept] is (N,).",
    ),
    example=Example(
        (np.log([[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]]), np.array([[1, 0]]), 0),
        "probabilities [0.5, 0.25, 0.25] with target 1, and a padded place, should give "
        "ln 4 = 1.386.",
    ),
)
_logits = 2 * numbers(1001, 2, 5, 7)
_targets = np.array([[3, 5, 1, 2, 6], [4, 2, 0, 0, 0]])
LOSS.case("two sentences, one padded", "the mean over the seven real tokens", _logits, _targets, 0)
LOSS.case(
    "padding that is not 0",
    "pad_id says which token is padding",
    2 * numbers(1002, 3, 5, 11),
    np.array([[3, 0, 1, 7, 7], [4, 2, 9, 10, 5], [0, 7, 7, 7, 7]]),
    7,
)
LOSS.case(
    "logits in the thousands",
    "a finite mean, although the probabilities of some tokens are too small for a float",
    np.array([[[3000.0, -2000.0, 1000.0], [-1500.0, 2500.0, 500.0]]]),
    np.array([[2, 1]]),
    0,
)


@LOSS.draws
def _(rng, size):
    B, T, V = axis(rng, size), axis(rng, size), axis(rng, size, 2)
    pad_id = int(rng.integers(V))
    words = ids(rng, (B, T), V - 1)
    words = np.where(words >= pad_id, words + 1, words)  # every id but the padding
    real = mask(rng, (1, B * T)).reshape(B, T)  # one of them is real, wherever it is
    logits = values(rng, (B, T, V), ANY_MAGNITUDE)
    if chance(rng, 0.15):
        logits = logits + 1e7  # where single precision has no digits left
    return logits, np.where(real, words, pad_id), pad_id


@LOSS.invariant("no idea costs ln V", "equal logits give ln 7, wherever the padding is")
def _(answer):
    return same(answer(np.zeros((2, 5, 7)), _targets, 0), np.log(7))


@LOSS.invariant("padding does not matter", "other logits at padded places give the same loss")
def _(answer):
    other = np.where((_targets == 0)[..., None], numbers(1003, 2, 5, 7), _logits)
    loss = answer(_logits, _targets, 0)
    return same(loss, _cross_entropy(_logits, _targets, 0)) and same(
        answer(other, _targets, 0), loss
    )


@LOSS.right
def goes_place_by_place(logits, targets, pad_id):
    surprises = []
    for rows, answers in zip(logits, targets, strict=True):
        for row, token in zip(rows, answers, strict=True):
            if token != pad_id:
                total = np.logaddexp.reduce(np.asarray(row, dtype=float))
                surprises.append(total - row[token])
    return sum(surprises) / len(surprises)


@LOSS.right
def weighs_every_place(logits, targets, pad_id):
    real = (targets != pad_id).astype(float)
    hot = np.eye(logits.shape[-1])[targets]
    surprise = -np.einsum("btv,btv->bt", ref.log_softmax(logits), hot)
    return np.average(surprise, weights=real)


@LOSS.mistake("You counted the padding: leave out the places whose target is pad_id.")
def counts_the_padding(logits, targets, pad_id):
    return -_picked(logits, targets).mean()


@LOSS.mistake(
    "You set the padding's surprise to zero but still divided by all places: divide by the number "
    "of real tokens."
)
def divides_by_all_places(logits, targets, pad_id):
    return -np.where(targets != pad_id, _picked(logits, targets), 0).mean()


@LOSS.mistake("You took the mean of each sentence first: every real token counts the same.")
def averages_sentences(logits, targets, pad_id):
    kept = targets != pad_id
    sums = (_picked(logits, targets) * kept).sum(axis=1)
    return -(sums / kept.sum(axis=1)).mean()


@LOSS.mistake("That is the sum: cross-entropy is the mean over the real tokens.")
def sums_up(logits, targets, pad_id):
    return -_picked(logits, targets)[targets != pad_id].sum()


@LOSS.mistake("The sign is missing: a logarithm of a probability is negative, a surprise is not.")
def forgets_the_sign(logits, targets, pad_id):
    return _picked(logits, targets)[targets != pad_id].mean()


@LOSS.mistake("You averaged the probabilities: take the logarithm first, then the mean.")
def averages_before_the_logarithm(logits, targets, pad_id):
    return -np.log(np.exp(_picked(logits, targets))[targets != pad_id].mean())


@LOSS.mistake("You used the logits as they are: they are no log-probabilities before log_softmax.")
def forgets_the_softmax(logits, targets, pad_id):
    picked = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return -picked[targets != pad_id].mean()


@LOSS.mistake(
    "You took the logarithm of the softmax: of a very small probability only 0 is left, and its "
    "logarithm is -∞. ref.log_softmax does both at once."
)
def takes_the_log_of_the_softmax(logits, targets, pad_id):
    picked = np.take_along_axis(ref.softmax(logits), targets[..., None], axis=-1)[..., 0]
    return -np.log(picked[targets != pad_id]).mean()


@LOSS.mistake("You took 0 for the padding: pad_id says which token it is.")
def takes_zero_for_the_padding(logits, targets, pad_id):
    return -_picked(logits, targets)[targets != 0].mean()


# --- 10.3 ---------------------------------------------------------------------------------------


def _smooth(targets, vocab_size, epsilon):
    return (1 - epsilon) * ref.one_hot(targets, vocab_size) + epsilon / vocab_size


SMOOTH = Exercise(
    id="10.3",
    title="Smooth the answers",
    answer="smooth",
    signature="smooth(targets, vocab_size, epsilon)",
    oracle=_smooth,
    clauses={
        "one distribution for each target": "each answer is a distribution",
        "targets (..., T), two numbers -> (..., T, V)": DRAWN,
        "epsilon": "without smoothing it is one-hot",
    },
    hints=(
        "How much of the answer is left for certainty, and how much does each token get for free?",
        "(1 - epsilon) * one_hot(targets) + epsilon / vocab_size, for every token.",
        "targets is (..., T); ref.one_hot makes it (..., T, V), and a number is added to all.",
    ),
    example=Example(
        (np.array([1]), 4, 0.2),
        "target 1 of 4 tokens with epsilon 0.2 should give [[0.05, 0.85, 0.05, 0.05]].",
    ),
)
SMOOTH.case(
    "five targets of seven tokens",
    "epsilon / 7 for every token, and 1 - epsilon more for the right one",
    _targets[0],
    7,
    0.1,
)
SMOOTH.case(
    "a batch",
    "a distribution over the last axis for each target of the batch",
    np.array([[3, 0, 1], [4, 2, 10]]),
    11,
    0.3,
)


@SMOOTH.draws
def _(rng, size):
    V = axis(rng, size)
    targets = ids(rng, (*leading(rng, size), axis(rng, min(size, 20))), V)
    return targets, V, choice(rng, (0.0, 1.0, 0.1, 0, 1, float(rng.random())))


@SMOOTH.invariant("each answer is a distribution", "the entries of each target add up to 1")
def _(answer):
    return same(np.sum(answer(_targets, 13, 0.2), axis=-1), np.ones((2, 5)))


@SMOOTH.invariant("without smoothing it is one-hot", "epsilon 0 gives zeros and a single one")
def _(answer):
    return same(answer(_targets, 7, 0.0), np.eye(7)[_targets])


@SMOOTH.right
def writes_one_by_one(targets, vocab_size, epsilon):
    if np.ndim(targets):
        return [writes_one_by_one(part, vocab_size, epsilon) for part in targets]
    even = epsilon / vocab_size
    return [even + 1 - epsilon if token == targets else even for token in range(vocab_size)]


@SMOOTH.right
def puts_the_right_ones(targets, vocab_size, epsilon):
    wanted = np.full((*targets.shape, vocab_size), epsilon / vocab_size)
    np.put_along_axis(wanted, targets[..., None], 1 - epsilon + epsilon / vocab_size, axis=-1)
    return wanted


@SMOOTH.mistake(
    "You spread epsilon over the wrong tokens only: in this formula the right one has a share too."
)
def spreads_over_the_wrong_ones(targets, vocab_size, epsilon):
    hot = np.eye(vocab_size)[targets]
    return (1 - epsilon) * hot + (1 - hot) * epsilon / (vocab_size - 1)


@SMOOTH.mistake("You kept the whole 1 for the right token: then the entries add up to 1 + epsilon.")
def keeps_the_whole_one(targets, vocab_size, epsilon):
    return np.eye(vocab_size)[targets] + epsilon / vocab_size


@SMOOTH.mistake("You gave every token epsilon: it is to be shared by all, epsilon / vocab_size.")
def gives_epsilon_to_each(targets, vocab_size, epsilon):
    return (1 - epsilon) * np.eye(vocab_size)[targets] + epsilon


@SMOOTH.mistake("The shares are swapped: epsilon is what is spread, 1 - epsilon what stays.")
def swaps_the_shares(targets, vocab_size, epsilon):
    return epsilon * np.eye(vocab_size)[targets] + (1 - epsilon) / vocab_size


@SMOOTH.mistake("That is one-hot, without any smoothing: mix it with the even distribution.")
def does_not_smooth(targets, vocab_size, epsilon):
    return np.eye(vocab_size)[targets]


@SMOOTH.mistake("You only lowered the right token: what you take from it must go to all tokens.")
def gives_nothing_back(targets, vocab_size, epsilon):
    return (1 - epsilon) * np.eye(vocab_size)[targets]


@SMOOTH.mistake("You handle one row of targets: put V behind all axes of targets, however many.")
def handles_one_row(targets, vocab_size, epsilon):
    wanted = np.full((len(targets), vocab_size), epsilon / vocab_size)
    wanted[np.arange(len(targets)), targets] += 1 - epsilon
    return wanted


# --- 10.4 ---------------------------------------------------------------------------------------


def _lowest_loss(vocab_size, epsilon):
    wanted = _smooth(np.array(0), vocab_size, epsilon)
    return float(-(wanted * np.log(wanted)).sum())


FLOOR = Exercise(
    id="10.4",
    title="The lowest possible loss",
    answer="lowest_loss",
    signature="lowest_loss(vocab_size, epsilon)",
    oracle=_lowest_loss,
    clauses={
        "the smallest value that the smoothed cross-entropy": "the wanted distribution reaches it",
        "over all distributions $p$": "nothing is lower",
        "none may be lower": "nothing is lower",
        "two numbers, epsilon above 0 -> a number": DRAWN,
    },
    hints=(
        "Which distribution p makes the cross-entropy with a given q smallest?",
        "p = q, so the floor is the entropy of q: minus the sum of q ln q.",
        "One entry of q is 1 - epsilon + epsilon / V; the other V - 1 are epsilon / V.",
    ),
    example=Example((2, 1.0), "2 tokens with epsilon 1 should give ln 2 = 0.693."),
)
FLOOR.case("67 tokens, a tenth", "the entropy of the smoothed answer", 67, 0.1)
FLOOR.case("7 tokens, three tenths", "the entropy of the smoothed answer", 7, 0.3)


@FLOOR.draws
def _(rng, size):
    V = choice(rng, (axis(rng, size), axis(rng, size, 2), 37_000 if size > 5 else 67))
    smallest = 10.0 ** -int(rng.integers(1, 7))
    return V, choice(rng, (0.1, 1.0, 1, 1 - float(rng.random()), smallest))


@FLOOR.invariant("nothing is lower", "of 500 random distributions none has a smaller loss")
def _(answer):
    logs = ref.log_softmax(3 * numbers(1004, 500, 11) + 5 * np.eye(11)[0])
    lowest, floor = -(logs @ _smooth(np.array(0), 11, 0.2)).max(), np.asarray(answer(11, 0.2))
    if not floor.item() <= lowest + 1e-9:
        return f"A distribution has the loss {lowest:.4f}, below your floor of {floor.item():.4f}."
    return None


@FLOOR.invariant("the wanted distribution reaches it", "with p = q the loss is the floor")
def _(answer):
    wanted = _smooth(np.array([3]), 13, 0.2)
    loss = ref.cross_entropy(np.log(wanted), np.array([3]), smoothing=0.2)
    return same(answer(13, 0.2), loss)


@FLOOR.right
def adds_token_by_token(vocab_size, epsilon):
    loss = 0.0
    for token in range(vocab_size):
        q = (1 - epsilon if token == 0 else 0) + epsilon / vocab_size
        loss -= q * np.log(q)
    return loss


@FLOOR.right
def asks_the_library_for_the_loss(vocab_size, epsilon):
    q = np.full(vocab_size, epsilon / vocab_size)
    q[-1] += 1 - epsilon
    return ref.cross_entropy(np.log(q), np.array(vocab_size - 1), smoothing=epsilon)


@FLOOR.mistake("You forgot the wrong tokens: together they cost more than the right one.")
def counts_the_right_token_only(vocab_size, epsilon):
    right = 1 - epsilon + epsilon / vocab_size
    return -right * np.log(right)


@FLOOR.mistake("You counted one wrong token: there are V - 1 of them.")
def counts_one_wrong_token(vocab_size, epsilon):
    even = epsilon / vocab_size
    right = 1 - epsilon + even
    return -right * np.log(right) - even * np.log(even)


@FLOOR.mistake("You counted V wrong tokens: one of the V is the right one.")
def counts_the_right_token_twice(vocab_size, epsilon):
    even = epsilon / vocab_size
    right = 1 - epsilon + even
    return -right * np.log(right) - vocab_size * even * np.log(even)


@FLOOR.mistake("You gave the right token 1 - epsilon: it has its part of the even share as well.")
def forgets_the_share_of_the_right_token(vocab_size, epsilon):
    even = epsilon / vocab_size
    return -(1 - epsilon) * np.log(1 - epsilon) - (vocab_size - 1) * even * np.log(even)


@FLOOR.mistake("That is the surprise at the right token; the loss weighs all tokens by q.")
def takes_the_surprise(vocab_size, epsilon):
    return -np.log(1 - epsilon + epsilon / vocab_size)


@FLOOR.mistake("Zero is reached only without smoothing: a part of the answer cannot be believed.")
def says_zero(vocab_size, epsilon):
    return 0.0


@FLOOR.mistake("You took logarithms to base 2: the loss uses natural ones.")
def takes_bits(vocab_size, epsilon):
    return _lowest_loss(vocab_size, epsilon) / np.log(2)


# --- 10.5 ---------------------------------------------------------------------------------------


def _gradient(w, x, answers):
    return x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x)


def _descend(w, x, answers, rate, steps):
    path = [np.array(w, dtype=float)]
    for _ in range(steps):
        path.append(path[-1] - rate * _gradient(path[-1], x, answers))
    return path[-1]


DESCEND = Exercise(
    id="10.5",
    title="Find the bug: a loop that runs away",
    answer="descend",
    signature="descend(w, x, answers, rate, steps)",
    oracle=_descend,
    clauses={
        "The first step is right. Later ones overshoot": "eleven steps",
        "the weights which they passed in are no longer what they were": "one step",
        "the gradient $X^T (P - Y) / N$ for $N$ rows": "the loss falls",
        "w (D, V), x (N, D), answers (N,), two numbers -> (D, V)": DRAWN,
    },
    hints=(
        "In the second step, what does `gradient` hold besides the gradient of that step?",
        "gradient = x.T @ (softmax(x @ w) - y) / N, afresh each time, and w = w - rate * gradient.",
        "x (N, D), w (D, V), probabilities and one-hot answers (N, V), gradient (D, V).",
    ),
    example=Example(
        (np.zeros((1, 2)), np.array([[2.0]]), np.array([0]), 0.5, 1),
        "w [[0, 0]], x [[2]], answer 0, rate 0.5, one step should give [[0.5, -0.5]].",
    ),
)
_w, _x, _y = numbers(1005, 3, 5), numbers(1006, 7, 3), np.array([0, 4, 2, 2, 1, 3, 4])
DESCEND.case("one step", "the weights minus the rate times the gradient", _w, _x, _y, 0.7, 1)
DESCEND.case("eleven steps", "each step has a gradient of its own", _w, _x, _y, 0.3, 11)


@DESCEND.draws
def _(rng, size):
    N, D, V = axis(rng, size), axis(rng, min(size, 30)), axis(rng, min(size, 30))
    w, x = values(rng, (D, V), ANY_MAGNITUDE), values(rng, (N, D))
    if chance(rng, 0.3):
        w, x = 0.0 * w, x * 10.0 ** -int(rng.integers(1, 5))  # steps that are small from the first
    # A rate at which the path is stable: with a larger one roundings would grow from step to step.
    rate = float(rng.uniform(0.1, 1.5)) / (1 + (x**2).sum(axis=1).max())
    return w, x, ids(rng, (N,), V), rate, axis(rng, min(size, 20), 0)


@DESCEND.invariant("the loss falls", "after each of the first five steps the loss is lower")
def _(answer):
    before = ref.cross_entropy(_x @ _w, _y)
    for steps in range(1, 6):
        after = ref.cross_entropy(_x @ answer(_w, _x, _y, 0.5, steps), _y)
        if not after < before:
            return f"After step {steps} the loss is {after:.4f}, and before it was {before:.4f}."
        before = after
    return None


@DESCEND.invariant("no step, no change", "with zero steps the weights come back as they were")
def _(answer):
    return same(answer(_w, _x, _y, 0.5, 0), _w)


@DESCEND.right
def takes_copies(w, x, answers, rate, steps):
    w, rows = np.array(w, dtype=float), np.arange(len(x))
    for _ in range(steps):
        error = ref.softmax(x @ w)
        error[rows, answers] -= 1
        w -= rate * np.einsum("nd,nv->dv", x, error) / len(x)
    return w


@DESCEND.right
def calls_itself(w, x, answers, rate, steps):
    if steps == 0:
        return w.tolist()
    w, gradient = np.asarray(w), 0.0
    for row, token in zip(x, answers, strict=True):
        error = ref.softmax(row @ w) - np.eye(w.shape[1])[token]
        gradient = gradient + np.outer(row, error) / len(x)
    return calls_itself(w - rate * gradient, x, answers, rate, steps - 1)


@DESCEND.mistake(
    "The gradients of earlier steps are still in there: compute it afresh in each step, as "
    "zero_grad does."
)
def accumulates_gradients(w, x, answers, rate, steps):
    w, gradient = np.array(w), np.zeros(np.shape(w))
    for _ in range(steps):
        gradient = gradient + _gradient(w, x, answers)
        w = w - rate * gradient
    return w


@DESCEND.mistake("`w -= …` changes the caller's weights: write w = w - …, or copy w first.")
def changes_the_weights_in_place(w, x, answers, rate, steps):
    for _ in range(steps):
        w -= rate * _gradient(w, x, answers)
    return w


@DESCEND.mistake("Neither bug is mended: gradients add up, and w is changed in place.")
def leaves_both_bugs(w, x, answers, rate, steps):
    gradient = np.zeros_like(w)
    for _ in range(steps):
        gradient += _gradient(w, x, answers)
        w -= rate * gradient
    return w


@DESCEND.mistake("You climb: the gradient points uphill, so subtract it.")
def climbs(w, x, answers, rate, steps):
    return _descend(w, x, answers, -rate, steps)


@DESCEND.mistake("The probabilities are those of the first weights: compute them in each step.")
def computes_the_gradient_once(w, x, answers, rate, steps):
    return w - steps * rate * _gradient(w, x, answers)


@DESCEND.mistake("The division by the number of rows is lost: the loss is a mean.")
def forgets_the_mean(w, x, answers, rate, steps):
    return _descend(w, x, answers, rate * len(x), steps)


@DESCEND.mistake("You return the last gradient: return the weights.")
def returns_the_gradient(w, x, answers, rate, steps):
    for _ in range(steps):
        gradient = _gradient(w, x, answers)
        w = w - rate * gradient
    return gradient


@DESCEND.mistake("Your `return` stands inside the loop, which ends it after the first step.")
def returns_inside_the_loop(w, x, answers, rate, steps):
    for _ in range(steps):
        w = w - rate * _gradient(w, x, answers)
        return w


# --- 10.6 ---------------------------------------------------------------------------------------

RATE = Exercise(
    id="10.6",
    title="The schedule of 2017",
    answer="learning_rate",
    signature="learning_rate(step, d_model, warmup)",
    oracle=lambda step, d_model, warmup: ref.learning_rate(step, d_model, warmup),
    stands_for="learning_rate",
    clauses={
        "for one step": "one step",
        "or an array of them": "before and after",
        "step (...), from 1, two numbers -> (...)": DRAWN,
    },
    hints=(
        "Which of the two branches is smaller before the warm-up ends, and which after?",
        "d_model ** -0.5 times the smaller of step ** -0.5 and step * warmup ** -1.5.",
        "step may be an array: np.minimum compares entry by entry and keeps its shape.",
    ),
    example=Example(
        (np.array([1.0, 4.0, 16.0]), 4, 4),
        "steps 1, 4 and 16 with d_model 4 and warmup 4 should give [0.0625, 0.25, 0.125].",
    ),
    equivalent={
        "return d_model ** (-0.5) * np.minimum(rising, step ** (-0.5)) -> "
        "return d_model ** (-0.5) * np.minimum(step ** (-0.5), rising)": (
            "the smaller of two does not depend on their order"
        )
    },
)
RATE.case("before and after", "rise, peak and fall", np.array([1.0, 3, 7, 11, 13, 101]), 5, 11)
RATE.case("one step", "a number for a number", 2, 64, 200)
RATE.case(
    "a wide model",
    "a rate for each step of the table, the smaller the wider the model is",
    np.array([[4000.0, 1.0], [97, 1e5]]),
    512,
    4000,
)


@RATE.draws
def _(rng, size):
    warmup = choice(rng, (axis(rng, size), 10 * axis(rng, size), 4000 if size > 2 else 1))
    steps = rng.integers(1, 3 * warmup + 2, size=(*leading(rng, size), axis(rng, size)))
    step = choice(
        rng, (int(steps.flat[0]), float(steps.flat[0]), steps, steps, steps.astype(float))
    )
    return step, choice(rng, (axis(rng, size), 512)), warmup


@RATE.invariant("the peak is at the end of the warm-up", "the largest rate is that of step warmup")
def _(answer):
    largest = np.argmax(answer(np.arange(1.0, 100.0), 7, 23)) + 1
    return None if largest == 23 else f"The largest rate is that of step {largest}, not 23."


@RATE.invariant("four times the width, half the rate", "the rate falls with the root of d_model")
def _(answer):
    step = np.arange(1.0, 30.0)
    narrow = answer(step, 7, 11)
    return same(narrow, ref.learning_rate(step, 7, 11)) and same(
        answer(step, 28, 11), np.asarray(narrow) / 2
    )


@RATE.right
def asks_on_which_side(step, d_model, warmup):
    peak = 1 / np.sqrt(d_model * warmup)
    return np.where(np.less(step, warmup), peak * step / warmup, peak * np.sqrt(warmup / step))


@RATE.right
def goes_step_by_step(step, d_model, warmup):
    if np.ndim(step):
        return [goes_step_by_step(one, d_model, warmup) for one in step]
    return float(d_model**-0.5 * min(float(step) ** -0.5, float(step) * warmup**-1.5))


def _rate(step, d_model, rising, falling, choose=np.minimum):
    return d_model**-0.5 * choose(rising, falling)


@RATE.mistake("You took the larger branch: the rate starts at the small one, so take the minimum.")
def takes_the_larger(step, d_model, warmup):
    return _rate(step, d_model, step * warmup**-1.5, step**-0.5, np.maximum)


@RATE.mistake("The warm-up is missing: without the rising branch the first step is the largest.")
def has_no_warm_up(step, d_model, warmup):
    return d_model**-0.5 * step**-0.5


@RATE.mistake("The fall is missing: after the warm-up the rate must come down as 1/√step.")
def never_falls(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


@RATE.mistake("The exponent of warmup is -1.5, not -0.5: the branches must meet at step warmup.")
def takes_the_wrong_exponent(step, d_model, warmup):
    return _rate(step, d_model, step * warmup**-0.5, step**-0.5)


@RATE.mistake("The factor of the width is missing: multiply by d_model ** -0.5.")
def forgets_the_width(step, d_model, warmup):
    return _rate(step, 1, step * warmup**-1.5, step**-0.5)


@RATE.mistake("You multiplied by the root of d_model: a wider model takes smaller steps.")
def multiplies_by_the_root_of_the_width(step, d_model, warmup):
    return _rate(step, 1 / d_model, step * warmup**-1.5, step**-0.5)


@RATE.mistake("You divided by d_model itself: it is its square root.")
def divides_by_the_width(step, d_model, warmup):
    return _rate(step, d_model**2, step * warmup**-1.5, step**-0.5)


@RATE.mistake("Python's min cannot compare arrays entry by entry: np.minimum can.")
def asks_for_the_min_of_arrays(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@RATE.mistake("You loop over `step`, which fails for a single one: write it for numbers as well.")
def wants_several_steps(step, d_model, warmup):
    return np.array([_rate(s, d_model, s * warmup**-1.5, s**-0.5) for s in step])


# --- 10.7 ---------------------------------------------------------------------------------------

SCHEDULE = Exercise(
    id="10.7",
    title="A schedule of your own",
    answer="schedule",
    signature="schedule(steps, warmup, peak)",
    hints=(
        "How large are the first rate, the one at step warmup, and the last?",
        "peak * step / warmup up to the warm-up; then a line, a cosine, an exponential … that "
        "comes down to peak / 20 or less, and not to 0.",
        "np.arange(1, steps + 1) is (steps,), and so is the result; entry 0 belongs to step 1.",
    ),
    example=Example(
        (12, 2, 1.0),
        "12 steps, warm-up 2 and peak 1 should begin with [0.5, 1] and then fall to at most 0.05 "
        "at the 12th.",
    ),
    equivalent={
        "return np.interp(step, [0, warmup, steps], [0, peak, peak / 20]) -> "
        "return np.interp(step, [0, warmup, steps], [0, peak, peak / 21])": (
            "a line that ends a little lower keeps all the rules as well"
        )
    },
    clauses={
        "the rates of the steps 1 to `steps` as an array": "one rate for each step",
        "For the first `warmup` steps the rate is proportional to the step": (
            "the rise is proportional to the step"
        ),
        "it is `peak` at step `warmup`": "the rise is proportional to the step",
        "falls in every step": "it falls in every step",
        "stays above zero": "it stays above zero",
        "never loses more than half of `peak` in one step": "it never jumps",
        "is at most a twentieth of `peak` in the last": "it ends low",
        "`warmup` is at least 1, and `steps` at least six times `warmup`": (DRAWN),
    },
)
_RUNS = [(211, 31, 2e-3), (101, 7, 0.5), (12, 2, 3.0)]
_ROOM = 1e-6  # of a bound: what rounding may take


def _as_rates(value, steps):
    rates = as_array(value)
    if rates is None:
        raise AnswerError(Outcome.KIND, expected=describe(np.zeros(steps)), got=describe(value))
    if rates.shape != (steps,):
        raise AnswerError(Outcome.SHAPE, expected=(steps,), got=rates.shape)
    if not np.isfinite(rates).all():
        raise AnswerError(Outcome.NOT_FINITE, count=(~np.isfinite(rates)).sum(), size=steps)
    return rates.astype(float)


def _rise_fault(rates, warmup, peak):
    due = peak * np.arange(1, warmup + 1) / warmup
    wrong = np.flatnonzero(~np.isclose(rates[:warmup], due, rtol=1e-6, atol=0))
    if len(wrong):
        s = wrong[0]
        return f"The rate of step {s + 1} is {rates[s]:.6g}, and should be {due[s]:.6g}."
    return None


def _fall_fault(rates, warmup, peak):
    wrong = np.flatnonzero(np.diff(rates[warmup - 1 :]) >= 0)
    if len(wrong):
        s = warmup + wrong[0]
        return (
            f"The rate of step {s + 1} is {rates[s]:.6g}, which is not below the "
            f"{rates[s - 1]:.6g} of step {s}."
        )
    return None


def _jump_fault(rates, warmup, peak):
    loss = -np.diff(rates).min()
    if loss > peak / 2 * (1 + _ROOM):
        return f"In one step it loses {loss:.6g}, which is more than half of the peak {peak:g}."
    return None


def _end_fault(rates, warmup, peak):
    if rates[-1] > peak / 20 * (1 + _ROOM):
        return f"The last rate is {rates[-1]:.6g}, where at most {peak / 20:g} is allowed."
    return None


def _zero_fault(rates, warmup, peak):
    if rates.min() <= 0:
        step = int(np.argmin(rates)) + 1
        return f"The rate of step {step} is {rates[step - 1]:.6g}, and should be above zero."
    return None


# The name of each rule, its words, and what is wrong with rates that break it.
_RULES = {
    "the rise is proportional to the step": (
        "step s of the warm-up has the rate peak * s / warmup",
        _rise_fault,
    ),
    "it falls in every step": ("after step warmup each rate is below the one before", _fall_fault),
    "it never jumps": ("no rate lies more than half of peak below the one before", _jump_fault),
    "it ends low": ("the last rate is at most a twentieth of peak", _end_fault),
    "it stays above zero": ("every rate is positive, the last one too", _zero_fault),
}


@SCHEDULE.invariant("one rate for each step", "the result has as many entries as there are steps")
def _(answer):
    for run in _RUNS:
        _as_rates(answer(*run), run[0])


def _keeps(fault):
    """Whether an answer keeps a rule in all runs, or how it breaks it."""

    def test(answer):
        found = (
            fault(_as_rates(answer(steps, warmup, peak), steps), warmup, peak)
            for steps, warmup, peak in _RUNS
        )
        return next(filter(None, found), None)

    return test


for _name, (_words, _fault) in _RULES.items():
    SCHEDULE.invariant(_name, _words)(_keeps(_fault))


@SCHEDULE.accepting
def _(value, steps, warmup, peak):
    rates = _as_rates(value, steps)
    faults = (fault(rates, warmup, peak) for _, fault in _RULES.values())
    broken = next(filter(None, faults), None)
    if broken is None and not is_of_kind(as_array(value), rates):
        raise AnswerError(Outcome.DTYPE, got=as_array(value).dtype, expected=rates.dtype)
    return broken


@SCHEDULE.draws
def _(rng, size):
    warmup = axis(rng, size)
    more = choice(rng, (0, axis(rng, size, 0), 10 * axis(rng, min(size, 20), 0)))
    more = more if size < 40 else 1100  # so long that halves of halves become 0
    peak = choice(rng, (1.0, 3, 5e-4, 1e4, 1e-30, float(positive(rng, ()))))
    return 6 * warmup + more, warmup, peak


@SCHEDULE.right
def falls_by_the_same_factor(steps, warmup, peak):
    step = np.arange(1, steps + 1)
    falling = 0.05 ** ((step - warmup) / (steps - warmup))
    return peak * np.where(step <= warmup, step / warmup, falling)


@SCHEDULE.right
def follows_a_cosine(steps, warmup, peak):
    step = np.arange(1.0, steps + 1)
    angle = np.pi * (step - warmup) / (steps - warmup)
    falling = 0.02 + 0.49 * (1 + np.cos(angle))
    return peak * np.where(step <= warmup, step / warmup, falling)


@SCHEDULE.mistake("It falls as 1/√step, like that of 2017: in so few steps it does not get low.")
def falls_with_the_root(steps, warmup, peak):
    step = np.arange(1, steps + 1)
    return peak * np.minimum(step / warmup, np.sqrt(warmup / step))


@SCHEDULE.mistake("It stays at the peak after the warm-up: it must fall in every step.")
def stays_at_the_peak(steps, warmup, peak):
    return peak * np.minimum(np.arange(1, steps + 1) / warmup, 1)


@SCHEDULE.mistake(
    "It aims at 0 one step after the last, so the last rate is peak / (steps + 1 - warmup): in a "
    "short run that is more than a twentieth."
)
def aims_at_zero_a_step_later(steps, warmup, peak):
    return np.interp(np.arange(1, steps + 1), [0, warmup, steps + 1], [0, peak, 0])


@SCHEDULE.mistake("It starts at the peak: the warm-up is missing.")
def starts_at_the_peak(steps, warmup, peak):
    return np.linspace(peak, peak / 100, steps)


@SCHEDULE.mistake("Its steps count from 0, so the first rate is 0: count them from 1.")
def counts_from_zero(steps, warmup, peak):
    return np.interp(np.arange(steps), [0, warmup, steps], [0, peak, 0])


@SCHEDULE.mistake("The last rate is exactly 0: the last batch would be wasted. Stay above zero.")
def ends_at_zero(steps, warmup, peak):
    return np.interp(np.arange(1, steps + 1), [0, warmup, steps], [0, peak, 0])


@SCHEDULE.mistake("It drops to a low rate at once after the warm-up: let it fall gradually.")
def drops_at_once(steps, warmup, peak):
    step = np.arange(1, steps + 1)
    return np.where(step <= warmup, peak * step / warmup, peak / 100 * (2 - step / steps))


# --- 10.8 ---------------------------------------------------------------------------------------


def _accuracies(predicted, targets, pad_id):
    tokens, sentences = [], []
    for ours, right in zip(predicted, targets, strict=True):
        hits = [a == b for a, b in zip(ours, right, strict=True) if b != pad_id]
        tokens += hits
        sentences.append(all(hits))
    return [float(np.mean(tokens)), float(np.mean(sentences))]


ACCURACY = Exercise(
    id="10.8",
    title="Right words and right sentences",
    answer="accuracies",
    signature="accuracies(predicted, targets, pad_id)",
    oracle=_accuracies,
    clauses={
        "the share of the tokens that are right": "five sentences",
        "the share of the sentences in which all tokens are right": "five sentences",
        "as two numbers": "a perfect answer has 1 and 1",
        "Places where the target is padding do not count": "padding that is not 0",
        "whatever was predicted there": "what stands at the padding does not matter",
        "predicted and targets (B, T), a number -> two numbers": DRAWN,
    },
    hints=(
        "At which places does a prediction count, and when is a whole sentence right?",
        "Tokens: the mean of predicted == targets over the real places. Sentences: right where "
        "every place is right or padding.",
        "right and real are (B, T); right[real] is flat; all(axis=1) gives (B,).",
    ),
    example=Example(
        (np.array([[5, 7, 2, 9], [5, 3, 2, 0]]), np.array([[5, 7, 2, 0], [5, 4, 2, 0]]), 0),
        "predicted [[5, 7, 2, 9], [5, 3, 2, 0]] for [[5, 7, 2, 0], [5, 4, 2, 0]] should give "
        "0.833 and 0.5.",
    ),
)
_right = np.array(
    [[5, 7, 3, 2, 0, 0, 0], [5, 2, 0, 0, 0, 0, 0], [3, 4, 5, 6, 7, 8, 2], [6, 6, 2, 0, 0, 0, 0],
     [9, 8, 7, 2, 0, 0, 0]]
)  # fmt: skip
_ours = _right.copy()
_ours[0, 5:] = 11  # words after the end do not count
_ours[1, 0] = 11
_ours[2, 4:6] = 11
_ours[2, 0] = 0
_other = np.array([[3, 0, 5, 5, 5], [0, 0, 3, 5, 5], [4, 4, 4, 4, 5]])
ACCURACY.case("five sentences", "16 of 20 real tokens, three of five sentences", _ours, _right, 0)
ACCURACY.case(
    "padding that is not 0",
    "shares in which the places of pad_id do not count",
    np.array([[3, 0, 1, 5, 5], [1, 0, 3, 5, 1], [4, 4, 4, 4, 0]]),
    _other,
    5,
)


@ACCURACY.draws
def _(rng, size):
    B, T = axis(rng, size), axis(rng, size)
    pad_id = int(rng.integers(-1, 12))
    words = ids(rng, (B, T), 12)
    words = np.where(words >= pad_id, words + 1, words)  # every id but the padding
    real = mask(rng, (B, T))  # gaps anywhere, and something real in each sentence
    wrong = rng.random((B, T)) < choice(rng, (0.0, 0.1, 0.5, 1.0))
    predicted = np.where(real & ~wrong, words, rng.integers(-1, 14, size=(B, T)))
    if chance(rng, 0.2):
        predicted = np.roll(words, 1, axis=1)  # the right words, in another order
    return predicted, np.where(real, words, pad_id), pad_id


@ACCURACY.invariant("a perfect answer has 1 and 1", "predicting the targets is entirely right")
def _(answer):
    return same(answer(_right, _right, 0), [1, 1])


@ACCURACY.invariant(
    "what stands at the padding does not matter", "other tokens after the end change nothing"
)
def _(answer):
    other = np.where(_right == 0, 7, _ours)
    return same(answer(other, _right, 0), _accuracies(_ours, _right, 0))


@ACCURACY.right
def counts_in_loops(predicted, targets, pad_id):
    tokens = right_tokens = right_sentences = 0
    for ours, wanted in zip(predicted.tolist(), targets.tolist(), strict=True):
        real = [place for place, token in enumerate(wanted) if token != pad_id]
        hits = sum(ours[place] == wanted[place] for place in real)
        tokens, right_tokens = tokens + len(real), right_tokens + hits
        right_sentences += hits == len(real)
    return right_tokens / tokens, right_sentences / len(targets)


@ACCURACY.right
def counts_the_wrong_ones(predicted, targets, pad_id):
    wrong = (predicted != targets) & (targets != pad_id)
    return np.array([1 - wrong.sum() / (targets != pad_id).sum(), 1 - wrong.any(axis=1).mean()])


@ACCURACY.mistake("You counted the padding: only places with a real target count.")
def counts_padded_places(predicted, targets, pad_id):
    right = predicted == targets
    return right.mean(), right.all(axis=1).mean()


@ACCURACY.mistake(
    "The tokens are right, but a sentence failed at its padding: a padded place is never wrong."
)
def fails_sentences_at_the_padding(predicted, targets, pad_id):
    right = predicted == targets
    return right[targets != pad_id].mean(), right.all(axis=1).mean()


@ACCURACY.mistake("You left out where the *prediction* is padding: the target says what counts.")
def leaves_out_predicted_padding(predicted, targets, pad_id):
    real, right = predicted != pad_id, predicted == targets
    return right[real].mean(), (right | ~real).all(axis=1).mean()


@ACCURACY.mistake("A sentence with one right token counted as right: all must be.")
def is_content_with_one_token(predicted, targets, pad_id):
    real, right = targets != pad_id, predicted == targets
    return right[real].mean(), (right & real).any(axis=1).mean()


@ACCURACY.mistake("You looked at columns: a sentence is a row, axis 1.")
def judges_columns(predicted, targets, pad_id):
    real, right = targets != pad_id, predicted == targets
    return right[real].mean(), (right | ~real).all(axis=0).mean()


@ACCURACY.mistake("You returned them in the other order: tokens first, then sentences.")
def swaps_the_two(predicted, targets, pad_id):
    return _accuracies(predicted, targets, pad_id)[::-1]


@ACCURACY.mistake("You averaged each sentence's share first: every real token counts the same.")
def averages_the_shares_of_sentences(predicted, targets, pad_id):
    real, right = targets != pad_id, predicted == targets
    shares = (right & real).sum(axis=1) / real.sum(axis=1)
    return shares.mean(), (shares == 1).mean()


@ACCURACY.mistake("You returned the tokens' share alone: return two numbers.")
def returns_the_tokens_alone(predicted, targets, pad_id):
    return (predicted == targets)[targets != pad_id].mean()


@ACCURACY.mistake("You left the padding out of the hits but divided the tokens by all places.")
def divides_the_tokens_by_all_places(predicted, targets, pad_id):
    real, right = targets != pad_id, predicted == targets
    return (right & real).mean(), (right | ~real).all(axis=1).mean()


@ACCURACY.mistake("You took 0 for the padding: pad_id says which token it is.")
def takes_zero_for_padding(predicted, targets, pad_id):
    real, right = targets != 0, predicted == targets
    return right[real].mean(), (right | ~real).all(axis=1).mean()
