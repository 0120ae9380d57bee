"""Answers to chapter 10 as learners write them.

Wrong ones come with an input that shows it, right ones in other forms.
"""

import math

import numpy as np
from answers import delegates, right, wrong

from tfmlib import ref


def _numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# --- 10.1 -----------------------------------------------------------------------------------


def _padded():
    return np.array([[1, 5, 6, 2, 0], [1, 7, 2, 0, 0]])


@wrong("10.1", on=lambda: (_padded(),))
def shift_wrong_order(target):
    """first what it should say, then what it reads"""
    return target[:, 1:], target[:, :-1]


@wrong("10.1", on=lambda: (_padded(),))
def shift_sentences(target):
    """shifts the sentences of the batch, not the tokens"""
    return target[:-1], target[1:]


@wrong("10.1", on=lambda: (_padded(),))
def shift_rolled(target):
    """what falls out on the left comes in on the right"""
    return target, np.roll(target, -1, axis=1)


@wrong("10.1", on=lambda: (_padded(),))
def shift_filled_up(target):
    """keeps the length and fills with padding"""
    says = np.zeros_like(target)
    says[:, :-1] = target[:, 1:]
    return target.copy(), says


@wrong("10.1", on=lambda: (_padded(),))
def shift_end_is_not_read(target):
    """takes <end> out of what the decoder reads"""
    reads = target[:, :-1].copy()
    for b, row in enumerate(target):
        last = np.flatnonzero(row != 0)[-1]
        if last < reads.shape[1]:
            reads[b, last] = 0
    return reads, target[:, 1:]


@wrong("10.1", on=lambda: (_padded(),))
def shift_without_padding(target):
    """throws the padding away"""
    rows = [[int(token) for token in row if token != 0] for row in target]
    return [row[:-1] for row in rows], [row[1:] for row in rows]


@wrong("10.1", on=lambda: (np.array([[1, 4, 5, 2]]),))
def shift_squeezed(target):
    """a batch of one sentence loses its axis"""
    return target[:, :-1].squeeze(), target[:, 1:].squeeze()


@wrong("10.1", on=lambda: (_padded(),))
def shift_in_place(target):
    """moves the tokens in the caller's array"""
    reads = target[:, :-1].copy()
    target[:, :-1] = target[:, 1:]
    return reads, target[:, :-1]


@wrong("10.1", on=lambda: (np.array([[1, 3, 2]]),))
def shift_drops_both_ends(target):
    """neither <start> nor <end> is to be said"""
    return target[:, :-1], target[:, 1:-1]


@wrong("10.1", on=lambda: (np.array([[1, 3, 4, 5, 6, 7, 2]]),))
def shift_five_tokens(target):
    """cut for sentences of five tokens"""
    return target[:, 0:4], target[:, 1:5]


@wrong("10.1", on=lambda: (np.array([[1, 4, 2], [1, 2, 0]]),))
def shift_flat(target):
    """shifts the flattened batch: <start> of the next sentence is to be said"""
    flat = target.ravel()
    width = target.shape[1] - 1
    return target[:, :-1], flat[1 : 1 + len(target) * width].reshape(len(target), width)


@right("10.1")
def shift_lists(target):
    """lists of rows"""
    return [list(row[:-1]) for row in target], [list(row[1:]) for row in target]


@right("10.1")
def shift_delete(target):
    """delete the last column, and the first"""
    return [np.delete(target, -1, axis=1), np.delete(target, 0, axis=1)]


@right("10.1")
def shift_windows(target):
    """two windows, stacked"""
    T = np.shape(target)[1]
    return np.stack([np.take(target, range(first, first + T - 1), axis=1) for first in (0, 1)])


# --- 10.2 -----------------------------------------------------------------------------------


def _batch(V=5, pad=0, scale=1.0):
    targets = np.array([[3, 1, 2, 4], [4, 2, pad, pad], [1, pad, pad, pad]])
    return scale * _numbers(3, 4, V), targets, pad


def _pad_last():
    """Padding is the last token, and 0 is a word."""
    return _numbers(2, 3, 4), np.array([[0, 2, 3], [1, 0, 0]]), 3


@wrong("10.2", on=lambda: _batch())
def entropy_divided_by_all_places(logits, targets, pad_id):
    """padding is left out of the sum, but not of N"""
    logs = ref.log_softmax(logits)
    own = np.take_along_axis(logs, targets[..., None], axis=-1)[..., 0]
    return -(own * (targets != pad_id)).mean()


@wrong("10.2", on=lambda: _batch())
def entropy_with_padding(logits, targets, pad_id):
    """padding counts like any answer"""
    B, T = targets.shape
    logs = ref.log_softmax(logits)
    return -np.mean([logs[b, t, targets[b, t]] for b in range(B) for t in range(T)])


@wrong("10.2", on=lambda: _batch())
def entropy_mean_of_means(logits, targets, pad_id):
    """the mean of each sentence first"""
    logs, means = ref.log_softmax(logits), []
    for rows, tokens in zip(logs, targets, strict=True):
        real = tokens != pad_id
        means.append(-rows[real, tokens[real]].mean())
    return np.mean(means)


@wrong("10.2", on=_pad_last)
def entropy_padding_is_zero(logits, targets, pad_id):
    """padding is always 0"""
    kept = targets != 0
    logs = ref.log_softmax(logits)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@wrong("10.2", on=lambda: _batch(scale=1000.0))
def entropy_log_of_softmax(logits, targets, pad_id):
    """the logarithm of a probability that has become 0"""
    kept = targets != pad_id
    p = ref.softmax(logits)[kept]
    with np.errstate(divide="ignore"):
        return -np.log(p[np.arange(len(p)), targets[kept]]).mean()


@wrong("10.2", on=lambda: _batch(scale=30.0))
def entropy_small_number_added(logits, targets, pad_id):
    """a small number added against log 0"""
    kept = targets != pad_id
    p = ref.softmax(logits)[kept]
    return -np.log(p[np.arange(len(p)), targets[kept]] + 1e-9).mean()


@wrong("10.2", on=lambda: (np.array([[[3.0, 0.0, 1.0], [0.0, 1.0, 2.0]]]), np.array([[1, 2]]), 0))
def entropy_where_padding_was_predicted(logits, targets, pad_id):
    """leaves out the places where the model says padding, too"""
    kept = (targets != pad_id) & (logits.argmax(axis=-1) != pad_id)
    logs = ref.log_softmax(logits)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@wrong("10.2", on=lambda: _batch())
def entropy_sum(logits, targets, pad_id):
    """the sum, not the mean"""
    kept = targets != pad_id
    logs = ref.log_softmax(logits)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].sum()


@wrong("10.2", on=lambda: _batch())
def entropy_without_the_pad_token(logits, targets, pad_id):
    """takes the pad token out of the softmax as well"""
    logits = logits.copy()
    logits[..., pad_id] = -np.inf
    kept = targets != pad_id
    logs = ref.log_softmax(logits)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@wrong("10.2", on=lambda: _batch())
def entropy_length_of_the_last(logits, targets, pad_id):
    """cuts all sentences at the length of the last one"""
    n = int((targets[-1] != pad_id).sum())
    logs = ref.log_softmax(logits[:, :n])
    return -np.take_along_axis(logs, targets[:, :n, None], axis=-1).mean()


@wrong("10.2", on=lambda: _batch())
def entropy_in_place(logits, targets, pad_id):
    """takes the peak from the caller's logits"""
    logits -= logits.max(axis=-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    kept = targets != pad_id
    return -logs[kept, targets[kept]].mean()


@wrong("10.2", on=lambda: _batch())
def entropy_in_bits(logits, targets, pad_id):
    """logarithms to base 2"""
    kept = targets != pad_id
    logs = ref.log_softmax(logits)[kept] / np.log(2)
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@wrong("10.2", on=lambda: _batch())
def entropy_softmax_over_places(logits, targets, pad_id):
    """softmax along the sentence"""
    kept = targets != pad_id
    logs = ref.log_softmax(logits, axis=1)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@wrong("10.2", on=lambda: (_numbers(1, 1, 4), np.array([[2]]), 0))
def entropy_squeezed(logits, targets, pad_id):
    """axes of size one are lost, and with one token all of them"""
    logs, targets = ref.log_softmax(np.squeeze(logits)), np.squeeze(targets)
    if targets.ndim == 1:
        logs, targets = logs[None], targets[None]
    kept = targets != pad_id
    return -np.mean([logs[b, t, targets[b, t]] for b, t in np.argwhere(kept)])


@wrong("10.2", on=lambda: (np.array([[[1e9, 1e9 + 3.0, 0.0]]]), np.array([[1]]), 0))
def entropy_in_float32(logits, targets, pad_id):
    """float32 loses the digits of large logits"""
    z = logits.astype(np.float32)
    kept = targets != pad_id
    logs = ref.log_softmax(z)[kept]
    return -logs[np.arange(len(logs)), targets[kept]].mean()


@right("10.2")
def entropy_loop(logits, targets, pad_id):
    """place by place"""
    surprises = []
    for rows, tokens in zip(logits, targets, strict=True):
        for row, token in zip(rows, tokens, strict=True):
            if token != pad_id:
                peak = max(row)
                total = math.log(math.fsum(math.exp(z - peak) for z in row))
                surprises.append(total - (row[token] - peak))
    return sum(surprises) / len(surprises)


@delegates("10.2")
def entropy_of_the_library(logits, targets, pad_id):
    """ref.cross_entropy has it"""
    return ref.cross_entropy(logits, targets, ignore_id=pad_id)


@right("10.2")
def entropy_one_hot(logits, targets, pad_id):
    """one-hot answers, with a row of zeros for padding"""
    real = (targets != pad_id)[..., None]
    answers = (targets[..., None] == np.arange(logits.shape[-1])) & real
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return float(-logs[answers].sum() / real.sum())


# --- 10.3 -----------------------------------------------------------------------------------


@wrong("10.3", on=lambda: (np.array([1, 0]), 4, 0.1))
def smooth_over_the_others(targets, vocab_size, epsilon):
    """spreads the share over the wrong tokens only"""
    certain = ref.one_hot(targets, vocab_size)
    return np.where(certain == 1, 1 - epsilon, epsilon / max(vocab_size - 1, 1))


@wrong("10.3", on=lambda: (np.array([1, 0]), 4, 0.1))
def smooth_right_one_left_out(targets, vocab_size, epsilon):
    """the right token gets no part of the share: a row sums to less than one"""
    certain = ref.one_hot(targets, vocab_size)
    return np.where(certain == 1, 1 - epsilon, epsilon / vocab_size)


@wrong("10.3", on=lambda: (np.array([[1, 0, 2], [3, 3, 1]]), 4, 0.1))
def smooth_one_sentence(targets, vocab_size, epsilon):
    """only for one sentence"""
    q = np.full((len(targets), vocab_size), epsilon / vocab_size)
    q[np.arange(len(targets)), targets] += 1 - epsilon
    return q


@wrong("10.3", on=lambda: (np.array([[1, 0, 2], [3, 3, 1]]), 4, 0.1))
def smooth_flat(targets, vocab_size, epsilon):
    """flattens a batch and does not give the shape back"""
    rows = []
    for token in np.ravel(targets):
        row = np.full(vocab_size, epsilon / vocab_size)
        row[token] += 1 - epsilon
        rows.append(row)
    return np.array(rows)


@wrong("10.3", on=lambda: (np.array([[[1, 0]], [[3, 1]]]), 4, 0.1))
def smooth_up_to_two_axes(targets, vocab_size, epsilon):
    """branches for one and two axes"""
    q = np.full((*targets.shape, vocab_size), epsilon / vocab_size)
    if targets.ndim == 1:
        q[np.arange(len(targets)), targets] += 1 - epsilon
    else:
        for b, row in enumerate(targets):
            q[b, np.arange(len(row)), row] += 1 - epsilon
    return q


@wrong("10.3", on=lambda: (np.array([1, 0]), 6, 0.1))
def smooth_vocabulary_of_the_targets(targets, vocab_size, epsilon):
    """as many tokens as occur"""
    V = int(targets.max()) + 1
    return (1 - epsilon) * np.eye(V)[targets] + epsilon / V


@wrong("10.3", on=lambda: (np.array([3, 0, 1]), 4, 0.1))
def smooth_padding_stays(targets, vocab_size, epsilon):
    """does not smooth token 0, which it takes for padding"""
    certain = ref.one_hot(targets, vocab_size)
    q = (1 - epsilon) * certain + epsilon / vocab_size
    q[targets == 0] = certain[targets == 0]
    return q


@wrong("10.3", on=lambda: (np.array([3, 0, 1]), 4, 0.0))
def smooth_default_for_zero(targets, vocab_size, epsilon):
    """takes an epsilon of 0 for none given"""
    epsilon = epsilon or 0.1
    return (1 - epsilon) * ref.one_hot(targets, vocab_size) + epsilon / vocab_size


@wrong("10.3", on=lambda: (np.array([3, 0, 1]), 4, 0.1))
def smooth_into_whole_numbers(targets, vocab_size, epsilon):
    """the table has the type of the targets: everything becomes 0"""
    q = np.zeros((*targets.shape, vocab_size), dtype=targets.dtype)
    for place in np.ndindex(targets.shape):
        q[place] = epsilon / vocab_size
        q[(*place, targets[place])] = 1 - epsilon + epsilon / vocab_size
    return q


@wrong("10.3", on=lambda: (np.array([3, 0, 1]), 4, 0.1))
def smooth_all_targets_everywhere(targets, vocab_size, epsilon):
    """raises the columns of all targets in every row"""
    q = np.full((*targets.shape, vocab_size), epsilon / vocab_size)
    q[..., targets.ravel()] = 1 - epsilon + epsilon / vocab_size
    return q


@wrong("10.3", on=lambda: (np.array([[2], [0]]), 3, 0.1))
def smooth_squeezed(targets, vocab_size, epsilon):
    """a sentence of one token loses its axis"""
    return np.squeeze((1 - epsilon) * ref.one_hot(targets, vocab_size) + epsilon / vocab_size)


@wrong("10.3", on=lambda: (np.array([2, 0]), 7, 0.1))
def smooth_rounded(targets, vocab_size, epsilon):
    """rounded to two places"""
    return ((1 - epsilon) * ref.one_hot(targets, vocab_size) + epsilon / vocab_size).round(2)


@right("10.3")
def smooth_rows_of_the_identity(targets, vocab_size, epsilon):
    """smooths the identity and takes its rows"""
    every = np.full((vocab_size, vocab_size), epsilon / vocab_size)
    np.fill_diagonal(every, 1 - epsilon + epsilon / vocab_size)
    return every[targets]


@right("10.3")
def smooth_recursive(targets, vocab_size, epsilon):
    """nested lists"""
    if np.ndim(targets) > 0:
        return [smooth_recursive(t, vocab_size, epsilon) for t in targets]
    return [(1 - epsilon) * (w == targets) + epsilon / vocab_size for w in range(vocab_size)]


@right("10.3")
def smooth_mixture(targets, vocab_size, epsilon):
    """a mixture of the answer and the even distribution"""
    q = np.zeros((*np.shape(targets), vocab_size))
    np.put_along_axis(q, np.asarray(targets)[..., None], 1.0, axis=-1)
    return q + epsilon * (1 / vocab_size - q)


# --- 10.4 -----------------------------------------------------------------------------------


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_is_zero(vocab_size, epsilon):
    """a loss can always reach 0"""
    return 0.0


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_minus_log(vocab_size, epsilon):
    """the surprise at the right token alone"""
    return -np.log(1 - epsilon + epsilon / vocab_size)


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_share_of_the_others(vocab_size, epsilon):
    """the share is spread over the wrong tokens only"""
    if vocab_size == 1:
        return 0.0
    even = epsilon / (vocab_size - 1)
    return -(1 - epsilon) * np.log(1 - epsilon) - epsilon * np.log(even)


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_one_wrong_token(vocab_size, epsilon):
    """counts one wrong token, not all of them"""
    even = epsilon / vocab_size
    return -(1 - epsilon + even) * np.log(1 - epsilon + even) - even * np.log(even)


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_right_token_twice(vocab_size, epsilon):
    """counts the right token among the wrong ones as well"""
    even = epsilon / vocab_size
    return -(1 - epsilon + even) * np.log(1 - epsilon + even) - epsilon * np.log(even)


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_in_bits(vocab_size, epsilon):
    """the entropy in bits"""
    q = np.full(vocab_size, epsilon / vocab_size)
    q[0] += 1 - epsilon
    return -(q * np.log2(q)).sum()


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_at_no_idea(vocab_size, epsilon):
    """the loss without any idea"""
    return np.log(vocab_size)


@wrong("10.4", on=lambda: (37, 0.25))
def lowest_on_a_grid(vocab_size, epsilon):
    """tries a hundred confidences: the lowest lies between two"""
    p = np.linspace(0.005, 0.995, 100)
    even = epsilon / vocab_size
    others = (1 - p) / (vocab_size - 1)
    loss = -(1 - epsilon + even) * np.log(p) - (vocab_size - 1) * even * np.log(others)
    return loss.min()


@wrong("10.4", on=lambda: (10**6, 1e-4))
def lowest_small_number_added(vocab_size, epsilon):
    """a small number added in the logarithm"""
    q = np.full(vocab_size, epsilon / vocab_size)
    q[0] += 1 - epsilon
    return -(q * np.log(q + 1e-9)).sum()


@wrong("10.4", on=lambda: (10, 0.4))
def lowest_of_the_paper(vocab_size, epsilon):
    """epsilon is 0.1, as in the chapter"""
    even = 0.1 / vocab_size
    right = 0.9 + even
    return -right * np.log(right) - (vocab_size - 1) * even * np.log(even)


@wrong("10.4", on=lambda: (10, 0.1))
def lowest_difference(vocab_size, epsilon):
    """how much it is above the entropy: that is 0 at the best"""
    q = np.full(vocab_size, epsilon / vocab_size)
    q[0] += 1 - epsilon
    return (q * (np.log(q) - np.log(q))).sum()


@wrong("10.4", on=lambda: (4, 1.0))
def lowest_nothing_right(vocab_size, epsilon):
    """leaves out the right token when epsilon is 1"""
    even = epsilon / vocab_size
    wrong_part = -(vocab_size - 1) * even * np.log(even)
    if epsilon >= 1:
        return wrong_part
    return wrong_part - (1 - epsilon + even) * np.log(1 - epsilon + even)


@wrong("10.4", on=lambda: (1, 0.1))
def lowest_needs_two_tokens(vocab_size, epsilon):
    """counts at least one wrong token"""
    even = epsilon / vocab_size
    total = -(1 - epsilon + even) * np.log(1 - epsilon + even)
    return total - max(vocab_size - 1, 1) * even * np.log(even)


@right("10.4")
def lowest_entropy(vocab_size, epsilon):
    """the entropy of the wanted distribution"""
    q = [epsilon / vocab_size + (1 - epsilon) * (w == 0) for w in range(vocab_size)]
    return -math.fsum(share * math.log(share) for share in q)


@right("10.4")
def lowest_by_the_library(vocab_size, epsilon):
    """the cross-entropy of logits that fit"""
    q = np.full(vocab_size, epsilon / vocab_size)
    q[-1] += 1 - epsilon
    return ref.cross_entropy(np.log(q)[None], [vocab_size - 1], smoothing=epsilon)


@right("10.4")
def lowest_rearranged(vocab_size, epsilon):
    """in terms of V - (V - 1) epsilon"""
    a = vocab_size - (vocab_size - 1) * epsilon
    rest = (vocab_size - 1) * epsilon * math.log(epsilon)
    return math.log(vocab_size) - (a * math.log(a) + rest) / vocab_size


# --- 10.5 -----------------------------------------------------------------------------------


def _lesson(N=5, D=3, V=4, rate=0.5, steps=3):
    rng = np.random.default_rng(1)
    return rng.normal(size=(D, V)), rng.normal(size=(N, D)), np.arange(N) % V, rate, steps


@wrong("10.5", on=_lesson)
def descend_as_found(w, x, answers, rate, steps):
    """both bugs"""
    gradient = np.zeros_like(w)
    for _ in range(steps):
        p = ref.softmax(x @ w)
        y = ref.one_hot(answers, w.shape[1])
        gradient += x.T @ (p - y) / len(x)
        w -= rate * gradient
    return w


@wrong("10.5", on=_lesson)
def descend_still_adds_up(w, x, answers, rate, steps):
    """copies the weights, but the gradients add up"""
    w = w.copy()
    gradient = np.zeros(w.shape)
    y = ref.one_hot(answers, w.shape[1])
    for _ in range(steps):
        gradient += x.T @ (ref.softmax(x @ w) - y) / len(x)
        w = w - rate * gradient
    return w


@wrong("10.5", on=_lesson)
def descend_still_in_place(w, x, answers, rate, steps):
    """a fresh gradient, but the caller's weights change"""
    y = ref.one_hot(answers, w.shape[1])
    for _ in range(steps):
        gradient = x.T @ (ref.softmax(x @ w) - y) / len(x)
        w -= rate * gradient
    return w


@wrong("10.5", on=lambda: (np.zeros((3, 4), dtype=int), *_lesson()[1:]))
def descend_copies_whole_numbers(w, x, answers, rate, steps):
    """a copy of whole numbers cannot take the step"""
    w = w.copy()
    y = ref.one_hot(answers, w.shape[1])
    for _ in range(steps):
        w -= rate * (x.T @ (ref.softmax(x @ w) - y) / len(x))
    return w


@wrong("10.5", on=_lesson)
def descend_probabilities_once(w, x, answers, rate, steps):
    """the same gradient in all steps"""
    gradient = x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x)
    for _ in range(steps):
        w = w - rate * gradient
    return w


@wrong("10.5", on=lambda: _lesson(steps=1))
def descend_sum_of_gradients(w, x, answers, rate, steps):
    """does not divide by N"""
    for _ in range(steps):
        w = w - rate * x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1]))
    return w


@wrong("10.5", on=lambda: _lesson(steps=1))
def descend_divided_by_the_width(w, x, answers, rate, steps):
    """divides by D for N"""
    for _ in range(steps):
        w = w - rate * x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(w)
    return w


@wrong("10.5", on=lambda: _lesson(steps=1))
def descend_upwards(w, x, answers, rate, steps):
    """goes up"""
    for _ in range(steps):
        w = w + rate * x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x)
    return w


@wrong("10.5", on=_lesson)
def descend_one_example_at_a_time(w, x, answers, rate, steps):
    """takes a step after each example"""
    w = np.array(w, dtype=float)
    for _ in range(steps):
        for row, answer in zip(x, answers, strict=True):
            p = ref.softmax(row @ w)
            p[answer] -= 1
            w -= rate * np.outer(row, p) / len(x)
    return w


@wrong("10.5", on=_lesson)
def descend_mean_of_the_gradients(w, x, answers, rate, steps):
    """the mean of all gradients so far"""
    w, seen = np.array(w, dtype=float), []
    for _ in range(steps):
        seen.append(x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x))
        w = w - rate * np.mean(seen, axis=0)
    return w


@wrong("10.5", on=_lesson)
def descend_rate_falls(w, x, answers, rate, steps):
    """against overshooting: a rate that falls"""
    for step in range(1, steps + 1):
        gradient = x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x)
        w = w - rate / step * gradient
    return w


@wrong(
    "10.5",
    on=lambda: (np.array([[6.0, -1.0]]), np.array([[1.0], [2.0]]), np.array([0, 0]), 1.0, 50),
)
def descend_stops_early(w, x, answers, rate, steps):
    """stops when the gradient is small"""
    for _ in range(steps):
        gradient = x.T @ (ref.softmax(x @ w) - ref.one_hot(answers, w.shape[1])) / len(x)
        if np.abs(gradient).max() < 1e-2:
            break
        w = w - rate * gradient
    return w


@wrong("10.5", on=lambda: (_numbers(2, 4), _numbers(3, 2, seed=1), np.array([0, 2, 1]), 0.5, 2))
def descend_classes_that_occur(w, x, answers, rate, steps):
    """as many classes as occur in the answers"""
    y = np.eye(int(max(answers)) + 1)[answers]
    for _ in range(steps):
        w = w - rate * x.T @ (ref.softmax(x @ w) - y) / len(x)
    return w


@wrong("10.5", on=lambda: _lesson(steps=0))
def descend_at_least_once(w, x, answers, rate, steps):
    """takes the first step before it counts"""
    y = ref.one_hot(answers, w.shape[1])
    done = 0
    while True:
        w = w - rate * x.T @ (ref.softmax(x @ w) - y) / len(x)
        done += 1
        if done >= steps:
            return w


@wrong(
    "10.5",
    on=lambda: (np.array([[1.0, 2.0]]), np.array([[900.0], [-900.0]]), np.array([1, 1]), 1e-4, 2),
)
def descend_naive_softmax(w, x, answers, rate, steps):
    """the exponentials overflow"""
    y = ref.one_hot(answers, w.shape[1])
    for _ in range(steps):
        with np.errstate(all="ignore"):
            powers = np.exp(x @ w)
            p = powers / powers.sum(axis=1, keepdims=True)
        w = w - rate * x.T @ (p - y) / len(x)
    return w


@wrong("10.5", on=_lesson)
def descend_softmax_over_examples(w, x, answers, rate, steps):
    """softmax over the examples"""
    y = ref.one_hot(answers, w.shape[1])
    for _ in range(steps):
        w = w - rate * x.T @ (ref.softmax(x @ w, axis=0) - y) / len(x)
    return w


@right("10.5")
def descend_copy(w, x, answers, rate, steps):
    """a copy in floats, then in place"""
    w = np.array(w, dtype=float)
    for _ in range(steps):
        p = ref.softmax(x @ w)
        p[np.arange(len(x)), answers] -= 1
        w -= rate * np.einsum("nd,nv->dv", x, p) / len(x)
    return w


@right("10.5")
def descend_recursive(w, x, answers, rate, steps):
    """one step, then the others"""
    if steps == 0:
        return w
    y = np.eye(w.shape[1])[answers]
    return descend_recursive(
        w - rate * x.T @ (ref.softmax(x @ w) - y) / len(x), x, answers, rate, steps - 1
    )


@right("10.5")
def descend_lists(w, x, answers, rate, steps):
    """loops over numbers, lists of rows"""
    w = [[float(entry) for entry in row] for row in w]
    D, V, N = len(w), len(w[0]), len(x)
    for _ in range(steps):
        change = [[0.0] * V for _ in range(D)]
        for row, answer in zip(x, answers, strict=True):
            z = [sum(row[d] * w[d][v] for d in range(D)) for v in range(V)]
            powers = [math.exp(score - max(z)) for score in z]
            for v in range(V):
                off = powers[v] / sum(powers) - (v == answer)
                for d in range(D):
                    change[d][v] += row[d] * off / N
        w = [[w[d][v] - rate * change[d][v] for v in range(V)] for d in range(D)]
    return w


# --- 10.6 -----------------------------------------------------------------------------------


@wrong("10.6", on=lambda: (np.array([1, 100, 9000]), 512, 4000))
def rate_maximum(step, d_model, warmup):
    """the larger of the two"""
    return d_model**-0.5 * np.maximum(step**-0.5, step * warmup**-1.5)


@wrong("10.6", on=lambda: (10, 16, 4))
def rate_without_width(step, d_model, warmup):
    """forgets the width"""
    return np.minimum(step**-0.5, step * warmup**-1.5)


@wrong("10.6", on=lambda: (10, 16, 4))
def rate_times_root_of_width(step, d_model, warmup):
    """a wider model gets a higher rate"""
    return d_model**0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


@wrong("10.6", on=lambda: (np.array([1, 5, 50]), 64, 10))
def rate_one_step_only(step, d_model, warmup):
    """an if cannot decide for an array"""
    if step < warmup:
        return d_model**-0.5 * step * warmup**-1.5
    return d_model**-0.5 * step**-0.5


@wrong("10.6", on=lambda: (3, 64, 10))
def rate_steps_from_zero(step, d_model, warmup):
    """counts from 0"""
    step = step + 1
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


@wrong("10.6", on=lambda: (3, 64, 10))
def rate_rises_too_fast(step, d_model, warmup):
    """the root of the warm-up, not its power of three halves"""
    return d_model**-0.5 * np.minimum(step**-0.5, step / warmup**0.5)


@wrong("10.6", on=lambda: (np.array([1, 5, 50]), 64, 10))
def rate_into_whole_numbers(step, d_model, warmup):
    """the rates have the type of the steps: all 0"""
    step = np.asarray(step)
    rates = np.zeros_like(step)
    early = step < warmup
    rates[early] = d_model**-0.5 * step[early] * warmup**-1.5
    rates[~early] = d_model**-0.5 * step[~early] ** -0.5
    return rates


@wrong("10.6", on=lambda: (np.array([[1, 5], [50, 500]]), 64, 10))
def rate_flat(step, d_model, warmup):
    """a table of steps becomes a list"""
    rates = [d_model**-0.5 * min(s**-0.5, s * warmup**-1.5) for s in np.ravel(step).tolist()]
    return rates[0] if np.ndim(step) == 0 else np.array(rates)


@wrong("10.6", on=lambda: (7, 64, 10))
def rate_always_an_array(step, d_model, warmup):
    """one step becomes an array of one"""
    step = np.atleast_1d(step)
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


@wrong("10.6", on=lambda: (np.array([1.0, 5.0, 50.0]), 64, 10))
def rate_in_place(step, d_model, warmup):
    """writes the rates over the caller's steps"""
    step = np.asarray(step, dtype=float)
    late = step > warmup
    step[late] = step[late] ** -0.5
    step[~late] *= warmup**-1.5
    return step * d_model**-0.5


@wrong("10.6", on=lambda: (3, 512, 4000))
def rate_rounded(step, d_model, warmup):
    """rounded to six places"""
    return np.round(d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5), 6)


@wrong("10.6", on=lambda: (np.array([10, 50]), 64, 10))
def rate_stays(step, d_model, warmup):
    """stays at the peak after the warm-up"""
    return d_model**-0.5 * np.minimum(step, warmup) * warmup**-1.5


@wrong("10.6", on=lambda: (40, 64, 10))
def rate_counts_again(step, d_model, warmup):
    """counts anew after the warm-up"""
    late = np.maximum(step - warmup, 1)
    rates = np.where(np.less_equal(step, warmup), step * warmup**-1.5, (warmup * late) ** -0.5)
    return d_model**-0.5 * rates


@wrong("10.6", on=lambda: (np.array([1, 5000]), 512, 8000))
def rate_warmup_of_the_paper(step, d_model, warmup):
    """4000 steps of warm-up, always"""
    return d_model**-0.5 * np.minimum(step**-0.5, step * 4000**-1.5)


@right("10.6")
def rate_where(step, d_model, warmup):
    """two cases"""
    s = np.asarray(step, dtype=float)
    return np.where(s < warmup, s / (warmup * math.sqrt(warmup)), 1 / np.sqrt(s)) / math.sqrt(
        d_model
    )


@right("10.6")
def rate_recursive(step, d_model, warmup):
    """nested lists"""
    if np.ndim(step) > 0:
        return [rate_recursive(s, d_model, warmup) for s in step]
    return min(1 / math.sqrt(step), step / warmup**1.5) / math.sqrt(d_model)


@right("10.6")
def rate_vectorized(step, d_model, warmup):
    """np.vectorize, through logarithms"""

    def one(s):
        return math.exp(
            min(-0.5 * math.log(s), math.log(s) - 1.5 * math.log(warmup)) - 0.5 * math.log(d_model)
        )

    return np.vectorize(one, otypes=[float])(step)


# --- 10.7 (several answers are right: what is wrong here breaks the statement) -----------------


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_of_the_paper(steps, warmup, peak):
    """one over the root falls too slowly"""
    step = np.arange(1, steps + 1)
    return peak * np.minimum(step / warmup, np.sqrt(warmup / step))


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_down_to_zero(steps, warmup, peak):
    """a straight line that reaches 0 in the last step"""
    rising = peak * np.arange(1, warmup + 1) / warmup
    return np.concatenate([rising, np.linspace(peak, 0, steps - warmup + 1)[1:]])


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_cosine_to_zero(steps, warmup, peak):
    """half a cosine that reaches 0 in the last step"""
    step = np.arange(1, steps + 1)
    falling = (1 + np.cos(np.pi * (step - warmup) / (steps - warmup))) / 2
    return peak * np.where(step <= warmup, step / warmup, falling)


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_cosine_of_all_steps(steps, warmup, peak):
    """divides by all steps, not by those after the warm-up: too high at the end"""
    step = np.arange(1, steps + 1)
    falling = (1 + np.cos(np.pi * (step - warmup) / steps)) / 2
    return peak * np.where(step <= warmup, step / warmup, falling)


@wrong("10.7", on=lambda: (200, 20, 1e-3))
def schedule_from_step_zero(steps, warmup, peak):
    """counts from step 0, so that the peak comes a step late"""
    step = np.arange(steps)
    return np.interp(step, [0, warmup, steps], [0, peak, 0])


@wrong("10.7", on=lambda: (200, 20, 1e-3))
def schedule_first_rate_zero(steps, warmup, peak):
    """the warm-up starts at 0"""
    rising = np.linspace(0, peak, warmup)
    return np.concatenate([rising, np.geomspace(peak, peak / 30, steps - warmup + 1)[1:]])


@wrong("10.7", on=lambda: (6000, 10, 1e-3))
def schedule_halved(steps, warmup, peak):
    """half of the rate in each step: 0 after a thousand"""
    step = np.arange(1, steps + 1)
    return np.where(
        step <= warmup, peak * step / warmup, peak * 0.5 ** np.maximum(step - warmup, 0.0)
    )


@wrong("10.7", on=lambda: (60, 10, 1e-3))
def schedule_one_percent(steps, warmup, peak):
    """a hundredth less in each step: too high at the end of a short run"""
    rates = [peak * s / warmup for s in range(1, warmup + 1)]
    while len(rates) < steps:
        rates.append(0.99 * rates[-1])
    return np.array(rates)


@wrong("10.7", on=lambda: (300, 20, 1e-3))
def schedule_with_a_floor(steps, warmup, peak):
    """falls to a twentieth and stays there"""
    step = np.arange(1, steps + 1)
    falling = np.maximum(peak * 0.97 ** np.maximum(step - warmup, 0), peak / 20)
    return np.where(step <= warmup, peak * step / warmup, falling)


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_plateau(steps, warmup, peak):
    """stays at the peak for a while"""
    step = np.arange(1, steps + 1)
    return np.interp(step, [0, warmup, 2 * warmup, steps], [0, peak, peak, peak / 25])


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_cliff(steps, warmup, peak):
    """falls to a twentieth at once, then slowly"""
    rising = np.arange(1, warmup + 1) / warmup
    return peak * np.concatenate([rising, 0.05 * 0.999 ** np.arange(steps - warmup)])


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_one_too_long(steps, warmup, peak):
    """has a rate for step 0 as well"""
    step = np.arange(steps + 1)
    return np.interp(step, [0, warmup, steps], [0, peak, peak / 25])


@wrong("10.7", on=lambda: (120, 20, 1e-3))
def schedule_whole_numbers(steps, warmup, peak):
    """the rates have the type of the steps"""
    rates = np.arange(1, steps + 1)
    step = rates.copy()
    rates[:] = np.interp(step, [0, warmup, steps], [0, peak, peak / 25])
    return rates


@wrong("10.7", on=lambda: (120, 20, 3.0))
def schedule_peak_of_one(steps, warmup, peak):
    """the peak is 1, whatever was asked for"""
    step = np.arange(1, steps + 1)
    return np.interp(step, [0, warmup, steps], [0, 1, 1 / 25])


@wrong("10.7", on=lambda: (60, 1, 1e-3))
def schedule_warmup_of_one(steps, warmup, peak):
    """the rise from peak / warm-up needs two points"""
    rising = peak / warmup + np.arange(warmup) * (peak - peak / warmup) / (warmup - 1 or np.nan)
    return np.concatenate([rising, np.geomspace(peak, peak / 30, steps - warmup + 1)[1:]])


@right("10.7")
def schedule_line(steps, warmup, peak):
    """a straight line to a thirtieth"""
    step = np.arange(1, steps + 1)
    return np.interp(step, [0, warmup, steps], [0, peak, peak / 30])


@right("10.7")
def schedule_powers(steps, warmup, peak):
    """the same factor in each step, as a list"""
    factor = 0.04 ** (1 / (steps - warmup))
    return [
        peak * (s / warmup if s <= warmup else factor ** (s - warmup)) for s in range(1, steps + 1)
    ]


@right("10.7")
def schedule_cosine(steps, warmup, peak):
    """half a cosine down to a hundredth"""
    rates = np.empty(steps)
    rates[:warmup] = peak / warmup * np.arange(1, warmup + 1)
    part = np.arange(1, steps - warmup + 1) / (steps - warmup)
    rates[warmup:] = peak * (0.01 + 0.99 * (1 + np.cos(np.pi * part)) / 2)
    return rates


# --- 10.8 -----------------------------------------------------------------------------------


def _said():
    """Five of seven tokens and one of three sentences are right; there is noise in the padding."""
    targets = np.array([[4, 5, 2, 0], [6, 2, 0, 0], [3, 2, 0, 0]])
    predicted = np.array([[4, 5, 2, 9], [6, 3, 0, 0], [1, 2, 7, 7]])
    return predicted, targets, 0


def _said_pad_last():
    """0 is a word here, and 9 the padding."""
    return np.array([[0, 3, 0], [4, 0, 5]]), np.array([[0, 3, 0], [4, 1, 9]]), 9


@wrong("10.8", on=_said)
def accuracy_padding_counts(predicted, targets, pad_id):
    """padding counts like any token"""
    right_ones = predicted == targets
    return right_ones.mean(), right_ones.all(axis=1).mean()


@wrong("10.8", on=_said)
def accuracy_padding_counts_in_sentences(predicted, targets, pad_id):
    """the padding must be right for a sentence"""
    real = targets != pad_id
    right_ones = predicted == targets
    return right_ones[real].mean(), right_ones.all(axis=1).mean()


@wrong("10.8", on=_said)
def accuracy_padding_is_right(predicted, targets, pad_id):
    """padding counts as a right token"""
    fine = (predicted == targets) | (targets == pad_id)
    return fine.mean(), fine.all(axis=1).mean()


@wrong("10.8", on=lambda: (np.array([[4, 0, 2]]), np.array([[4, 5, 2]]), 0))
def accuracy_by_predicted_padding(predicted, targets, pad_id):
    """leaves out the places where padding was predicted"""
    real = predicted != pad_id
    fine = predicted == targets
    return fine[real].mean(), (fine | ~real).all(axis=1).mean()


@wrong("10.8", on=_said)
def accuracy_mean_of_sentences(predicted, targets, pad_id):
    """the mean of the shares of the sentences"""
    shares = [
        np.mean(p[t != pad_id] == t[t != pad_id]) for p, t in zip(predicted, targets, strict=True)
    ]
    return np.mean(shares), np.mean([share == 1 for share in shares])


@wrong("10.8", on=_said)
def accuracy_wrong_order(predicted, targets, pad_id):
    """sentences first"""
    real = targets != pad_id
    fine = predicted == targets
    return (fine | ~real).all(axis=1).mean(), fine[real].mean()


@wrong("10.8", on=_said)
def accuracy_in_place(predicted, targets, pad_id):
    """writes padding into the caller's predictions"""
    predicted[targets == pad_id] = pad_id
    fine = predicted == targets
    return fine[targets != pad_id].mean(), fine.all(axis=1).mean()


@wrong("10.8", on=_said_pad_last)
def accuracy_padding_is_zero(predicted, targets, pad_id):
    """padding is always 0"""
    real = targets != 0
    fine = predicted == targets
    return fine[real].mean(), (fine | ~real).all(axis=1).mean()


@wrong("10.8", on=_said)
def accuracy_counts(predicted, targets, pad_id):
    """counts, not shares"""
    real = targets != pad_id
    fine = predicted == targets
    return fine[real].sum(), (fine | ~real).all(axis=1).sum()


@wrong("10.8", on=lambda: (np.array([[5, 4, 2]]), np.array([[4, 5, 2]]), 0))
def accuracy_sets(predicted, targets, pad_id):
    """a sentence is right if it has the right words in any order"""
    real = targets != pad_id
    same = [set(p[r]) == set(t[r]) for p, t, r in zip(predicted, targets, real, strict=True)]
    return (predicted == targets)[real].mean(), np.mean(same)


@wrong("10.8", on=lambda: (np.array([[4, 0, 2]]), np.array([[4, 5, 2]]), 0))
def accuracy_both_stripped(predicted, targets, pad_id):
    """takes the padding out of both and compares what is left"""
    hits = total = whole = 0
    for p, t in zip(predicted.tolist(), targets.tolist(), strict=True):
        p, t = [i for i in p if i != pad_id], [i for i in t if i != pad_id]
        hits += sum(a == b for a, b in zip(p, t, strict=False))
        total += len(t)
        whole += p == t
    return hits / total, whole / len(targets)


@wrong("10.8", on=_said)
def accuracy_any(predicted, targets, pad_id):
    """a sentence is right if one of its words is"""
    real = targets != pad_id
    fine = (predicted == targets) & real
    return fine.sum() / real.sum(), fine.any(axis=1).mean()


@wrong("10.8", on=_said)
def accuracy_rounded(predicted, targets, pad_id):
    """rounded to two places"""
    real = targets != pad_id
    fine = predicted == targets
    return round(fine[real].mean(), 2), round((fine | ~real).all(axis=1).mean(), 2)


@wrong(
    "10.8", on=lambda: (np.array([[4, 5], [6, 2], [3, 2]]), np.array([[4, 5], [6, 3], [3, 2]]), 0)
)
def accuracy_columns(predicted, targets, pad_id):
    """places for sentences"""
    real = targets != pad_id
    fine = predicted == targets
    return fine[real].mean(), (fine | ~real).all(axis=0).mean()


@right("10.8")
def accuracy_loop(predicted, targets, pad_id):
    """sentence by sentence"""
    hits = total = whole = 0
    for p, t in zip(predicted, targets, strict=True):
        pairs = [(a, b) for a, b in zip(p, t, strict=True) if b != pad_id]
        good = sum(int(a == b) for a, b in pairs)
        hits, total, whole = hits + good, total + len(pairs), whole + (good == len(pairs))
    return [hits / total, whole / len(targets)]


@right("10.8")
def accuracy_by_mistakes(predicted, targets, pad_id):
    """counts the mistakes"""
    mistakes = np.where(np.equal(targets, pad_id), False, np.not_equal(predicted, targets))
    tokens = 1 - np.count_nonzero(mistakes) / np.count_nonzero(np.not_equal(targets, pad_id))
    return np.array([tokens, np.mean(mistakes.sum(axis=1) == 0)])
