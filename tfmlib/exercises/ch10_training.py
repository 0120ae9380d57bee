"""Chapter 10: shifted targets, cross-entropy, smoothing, the learning rate, and being right."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

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


@SHIFT.invariant("each answer is the next input", "what it should say at t, it reads at t + 1")
def _(answer):
    inputs, answers = answer(_tgt)
    return np.array_equal(np.asarray(inputs)[:, 1:], np.asarray(answers)[:, :-1])


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


@LOSS.invariant("no idea costs ln V", "equal logits give ln 7, wherever the padding is")
def _(answer):
    return np.isclose(answer(np.zeros((2, 5, 7)), _targets, 0), np.log(7))


@LOSS.invariant("padding does not matter", "other logits at padded places give the same loss")
def _(answer):
    other = np.where((_targets == 0)[..., None], numbers(1003, 2, 5, 7), _logits)
    return np.isclose(answer(other, _targets, 0), answer(_logits, _targets, 0))


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


# --- 10.3 ---------------------------------------------------------------------------------------


def _smooth(targets, vocab_size, epsilon):
    wanted = np.full((*np.shape(targets), vocab_size), epsilon / vocab_size)
    np.put_along_axis(
        wanted, np.asarray(targets)[..., None], 1 - epsilon + epsilon / vocab_size, axis=-1
    )
    return wanted


SMOOTH = Exercise(
    id="10.3",
    title="Smooth the answers",
    answer="smooth",
    signature="smooth(targets, vocab_size, epsilon)",
    oracle=_smooth,
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
    "five targets of seven tokens", "a share for all, the rest for one", _targets[0], 7, 0.1
)
SMOOTH.case("a batch", "any number of leading axes", np.array([[3, 0, 1], [4, 2, 10]]), 11, 0.3)


@SMOOTH.invariant("each answer is a distribution", "the entries of each target add up to 1")
def _(answer):
    return np.allclose(np.sum(answer(_targets, 13, 0.2), axis=-1), 1)


@SMOOTH.invariant("without smoothing it is one-hot", "epsilon 0 gives zeros and a single one")
def _(answer):
    return np.allclose(answer(_targets, 7, 0.0), np.eye(7)[_targets])


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
    hints=(
        "Which distribution p makes the cross-entropy with a given q smallest?",
        "p = q, so the floor is the entropy of q: minus the sum of q ln q.",
        "One entry of q is 1 - epsilon + epsilon / V; the other V - 1 are epsilon / V.",
    ),
    example=Example((2, 1.0), "2 tokens with epsilon 1 should give ln 2 = 0.693."),
)
FLOOR.case("67 tokens, a tenth", "the entropy of the smoothed answer", 67, 0.1)
FLOOR.case("7 tokens, three tenths", "the entropy of the smoothed answer", 7, 0.3)


@FLOOR.invariant("nothing is lower", "of 500 random distributions none has a smaller loss")
def _(answer):
    logs = ref.log_softmax(3 * numbers(1004, 500, 11) + 5 * np.eye(11)[0])
    return (-(logs @ _smooth(np.array(0), 11, 0.2)) > answer(11, 0.2) - 1e-9).all()


@FLOOR.invariant("the wanted distribution reaches it", "with p = q the loss is the floor")
def _(answer):
    wanted = _smooth(np.array([3]), 13, 0.2)
    loss = ref.cross_entropy(np.log(wanted), np.array([3]), smoothing=0.2)
    return np.isclose(answer(13, 0.2), loss)


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
    return x.T @ (ref.softmax(x @ w) - np.eye(w.shape[1])[answers]) / len(x)


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


@DESCEND.invariant("the loss falls", "after each of the first five steps the loss is lower")
def _(answer):
    path = [ref.cross_entropy(_x @ answer(_w, _x, _y, 0.5, n), _y) for n in range(1, 6)]
    start = ref.cross_entropy(_x @ _w, _y)
    return (np.diff([start, *path]) < 0).all()


@DESCEND.invariant("no step, no change", "with zero steps the weights come back as they were")
def _(answer):
    return np.allclose(answer(_w, _x, _y, 0.5, 0), _w)


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
    return _gradient(_descend(w, x, answers, rate, steps - 1), x, answers)


# --- 10.6 ---------------------------------------------------------------------------------------

RATE = Exercise(
    id="10.6",
    title="The schedule of 2017",
    answer="learning_rate",
    signature="learning_rate(step, d_model, warmup)",
    oracle=lambda step, d_model, warmup: ref.learning_rate(step, d_model, warmup),
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
RATE.case("one step", "a number for a number", 2.0, 64, 200)
RATE.case(
    "a wide model",
    "wider models take smaller steps",
    np.array([[4000.0, 1.0], [97, 1e5]]),
    512,
    4000,
)


@RATE.invariant("the peak is at the end of the warm-up", "the largest rate is that of step warmup")
def _(answer):
    return np.argmax(answer(np.arange(1.0, 100.0), 7, 23)) == 22


@RATE.invariant("four times the width, half the rate", "the rate falls with the root of d_model")
def _(answer):
    step = np.arange(1.0, 30.0)
    return np.allclose(answer(step, 28, 11), np.asarray(answer(step, 7, 11)) / 2)


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


# --- 10.7 ---------------------------------------------------------------------------------------

SCHEDULE = Exercise(
    id="10.7",
    title="A schedule of your own",
    answer="schedule",
    signature="schedule(steps, warmup, peak)",
    hints=(
        "How large are the first rate, the one at step warmup, and the last?",
        "peak * step / warmup up to the warm-up; then a line, a cosine, an exponential …",
        "np.arange(1, steps + 1) is (steps,), and so is the result; entry 0 belongs to step 1.",
    ),
    example=Example(
        (12, 2, 1.0),
        "12 steps, warm-up 2 and peak 1 should begin with [0.5, 1] and then fall to at most 0.05 "
        "at the 12th.",
    ),
    equivalent={
        "return np.interp(step, [0, warmup, steps + 1], [0, peak, 0]) -> "
        "return np.interp(step, [0, warmup, steps + 2], [0, peak, 0])": (
            "a line that reaches zero one step later keeps all the rules as well"
        )
    },
)
_RUNS = [(211, 31, 2e-3), (101, 7, 0.5), (97, 13, 3.0)]


def _rates(answer):
    for steps, warmup, peak in _RUNS:
        rates = np.asarray(answer(steps, warmup, peak), dtype=float)
        yield rates, steps, warmup, peak


@SCHEDULE.invariant("one rate for each step", "the result has as many entries as there are steps")
def _(answer):
    return all(rates.shape == (steps,) for rates, steps, _, _ in _rates(answer))


@SCHEDULE.invariant(
    "the rise is proportional to the step", "step s of the warm-up has the rate peak * s / warmup"
)
def _(answer):
    return all(
        np.allclose(rates[:warmup], peak * np.arange(1, warmup + 1) / warmup)
        for rates, _, warmup, peak in _rates(answer)
    )


@SCHEDULE.invariant("it falls in every step", "after step warmup each rate is below the one before")
def _(answer):
    return all((np.diff(rates[warmup - 1 :]) < 0).all() for rates, _, warmup, _ in _rates(answer))


@SCHEDULE.invariant("it never jumps", "no rate lies more than half of peak below the one before")
def _(answer):
    return all((np.diff(rates) > -peak / 2).all() for rates, _, _, peak in _rates(answer))


@SCHEDULE.invariant("it ends low", "the last rate is at most a twentieth of peak")
def _(answer):
    return all(rates[-1] <= peak / 20 for rates, _, _, peak in _rates(answer))


@SCHEDULE.invariant("it stays above zero", "every rate is positive, the last one too")
def _(answer):
    return all((rates > 0).all() for rates, _, _, _ in _rates(answer))


@SCHEDULE.mistake("It falls as 1/√step, like that of 2017: in so few steps it does not get low.")
def falls_with_the_root(steps, warmup, peak):
    step = np.arange(1, steps + 1)
    return peak * np.minimum(step / warmup, np.sqrt(warmup / step))


@SCHEDULE.mistake("It stays at the peak after the warm-up: it must fall in every step.")
def stays_at_the_peak(steps, warmup, peak):
    return peak * np.minimum(np.arange(1, steps + 1) / warmup, 1)


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
ACCURACY.case("five sentences", "20 real tokens, five sentences", _ours, _right, 0)
ACCURACY.case(
    "padding that is not 0",
    "pad_id says which token is padding",
    np.array([[3, 0, 1, 5, 5], [1, 0, 3, 5, 1], [4, 4, 4, 4, 0]]),
    _other,
    5,
)


@ACCURACY.invariant("a perfect answer has 1 and 1", "predicting the targets is entirely right")
def _(answer):
    return np.allclose(answer(_right, _right, 0), [1, 1])


@ACCURACY.invariant(
    "what stands at the padding does not matter", "other tokens after the end change nothing"
)
def _(answer):
    other = np.where(_right == 0, 7, _ours)
    return np.allclose(answer(other, _right, 0), answer(_ours, _right, 0))


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
