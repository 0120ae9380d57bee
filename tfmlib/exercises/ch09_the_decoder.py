"""Chapter 9: cross-attention, scoring a sentence, and the ways to choose the next token."""

from itertools import pairwise

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 9.1 ----------------------------------------------------------------------------------------

CROSS = Exercise(
    id="9.1",
    title="Cross-attention",
    answer="cross_attention",
    signature="cross_attention(x, memory, w_q, w_k, w_v)",
    oracle=lambda x, memory, w_q, w_k, w_v: ref.attention(x @ w_q, memory @ w_k, memory @ w_v),
    hints=(
        "Who asks, and who answers? Whose rows must the result have?",
        "Q = x W^q, K = memory W^k, V = memory W^v, then softmax(Q Kᵀ / sqrt(d_k)) V.",
        "x (T, D), memory (S, D), w_q and w_k (D, K), w_v (D, d_v): weights (T, S), result "
        "(T, d_v).",
    ),
    example=Example(
        (np.zeros((1, 2)), np.array([[2.0, 4.0], [6.0, 0.0]]), np.eye(2), np.eye(2), np.eye(2)),
        "a query of zeros takes equal parts of the source's rows [2, 4] and [6, 0]: [[4, 2]] "
        "should come out.",
    ),
)
_x, _memory = numbers(1, 3, 7), numbers(2, 5, 7)
_wq, _wk, _wv = numbers(3, 7, 2), numbers(4, 7, 2), numbers(5, 7, 11)
CROSS.case(
    "three tokens ask five", "queries of x, keys and values of memory", _x, _memory, _wq, _wk, _wv
)
CROSS.case(
    "five tokens ask three",
    "queries of x, keys and values of memory",
    numbers(6, 5, 3),
    numbers(7, 3, 3),
    numbers(8, 3, 7),
    numbers(9, 3, 7),
    numbers(10, 3, 2),
)


@CROSS.invariant(
    "the order of the source's rows does not matter", "attention takes the source as a set"
)
def _(answer):
    order = [3, 0, 4, 1, 2]
    shuffled = answer(_x, _memory[order], _wq, _wk, _wv)
    return np.allclose(shuffled, answer(_x, _memory, _wq, _wk, _wv))


@CROSS.invariant(
    "each place asks for itself", "changing one row of x moves that row of the result alone"
)
def _(answer):
    x = _x.copy()
    x[1] += 1.0
    change = np.abs(answer(x, _memory, _wq, _wk, _wv) - answer(_x, _memory, _wq, _wk, _wv))
    return (change[[0, 2]] < 1e-12).all() and change[1].max() > 1e-3


@CROSS.mistake("That is self-attention: the keys and values must come from the memory.")
def attends_to_itself(x, memory, w_q, w_k, w_v):
    return ref.attention(x @ w_q, x @ w_k, x @ w_v)


@CROSS.mistake("The roles are swapped: the target x asks, the memory answers.")
def lets_the_source_ask(x, memory, w_q, w_k, w_v):
    return ref.attention(memory @ w_q, x @ w_k, x @ w_v)


@CROSS.mistake("You never used x: the queries come from the target.")
def asks_the_source_about_itself(x, memory, w_q, w_k, w_v):
    return ref.attention(memory @ w_q, memory @ w_k, memory @ w_v)


@CROSS.mistake("The values come from the memory, like the keys: whoever is found hands over.")
def takes_values_of_the_target(x, memory, w_q, w_k, w_v):
    return ref.attention_weights(x @ w_q, memory @ w_k) @ (x @ w_v)


@CROSS.mistake("You did not divide the scores by √d_k.")
def forgets_to_scale(x, memory, w_q, w_k, w_v):
    return ref.softmax(x @ w_q @ (memory @ w_k).T) @ memory @ w_v


@CROSS.mistake("There is no look-ahead mask here: the source is all there.")
def hides_the_source(x, memory, w_q, w_k, w_v):
    mask = np.tri(len(x), len(memory), dtype=bool)
    return ref.attention(x @ w_q, memory @ w_k, memory @ w_v, mask)


# --- 9.2 ----------------------------------------------------------------------------------------


def _sentence(logits, ids):
    return sum(float(ref.log_softmax(row)[token]) for row, token in zip(logits, ids, strict=True))


SENTENCE = Exercise(
    id="9.2",
    title="The log-probability of a sentence",
    answer="sentence_log_probability",
    signature="sentence_log_probability(logits, ids)",
    oracle=_sentence,
    hints=(
        "Which entry of each row belongs to the token that was written?",
        "The sum over t of log_softmax(logits[t])[ids[t]].",
        "logits (T, V), ids (T,), log-probabilities (T, V), one number out.",
    ),
    example=Example(
        (np.log([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1])),
        "probabilities 0.5 and 0.8 should give ln 0.4 = -0.916.",
    ),
)
_logits, _tokens = 2 * numbers(11, 5, 7), np.array([3, 0, 6, 6, 2])
SENTENCE.case("five tokens", "one logarithm a token, summed", _logits, _tokens)
SENTENCE.case(
    "another vocabulary", "each row has its own softmax", numbers(12, 3, 11), np.array([10, 0, 4])
)
SENTENCE.case(
    "a thousand tokens",
    "the sum of logarithms stays a number where the product of probabilities is 0",
    numbers(13, 1009, 5),
    np.arange(1009) % 5,
)


@SENTENCE.invariant(
    "a number added to a row changes nothing", "logits count up to a constant in each row"
)
def _(answer):
    shifted = _logits + np.array([[1.0], [-2.0], [3.0], [5.0], [-7.0]])
    return np.allclose(answer(shifted, _tokens), answer(_logits, _tokens))


@SENTENCE.invariant(
    "all sentences together are certain",
    "the probabilities of all sentences of two tokens sum to 1",
)
def _(answer):
    logits = numbers(14, 2, 3)
    sentences = [np.array([i, j]) for i in range(3) for j in range(3)]
    return np.allclose(sum(np.exp(answer(logits, ids)) for ids in sentences), 1)


def _picked(values, ids):
    return values[np.arange(len(ids)), ids]


@SENTENCE.mistake("That is the mean: the logarithm of a product is the sum.")
def takes_the_mean(logits, ids):
    return _picked(ref.log_softmax(logits), ids).mean()


@SENTENCE.mistake("You added the logits: each row must go through log_softmax first.")
def adds_the_logits(logits, ids):
    return _picked(logits, ids).sum()


@SENTENCE.mistake("That is the probability: the question is for its logarithm.")
def multiplies_probabilities(logits, ids):
    return np.prod(_picked(ref.softmax(logits), ids))


@SENTENCE.mistake(
    "You multiplied first: over a thousand tokens the product is 0, and its logarithm -∞. Add the "
    "logarithms."
)
def takes_the_logarithm_of_a_product(logits, ids):
    return np.log(np.prod(_picked(ref.softmax(logits), ids)))


@SENTENCE.mistake("You normalised over the places: each row is a distribution over words, axis -1.")
def normalises_over_places(logits, ids):
    return _picked(ref.log_softmax(logits, axis=0), ids).sum()


@SENTENCE.mistake("That is the likeliest sentence's: use the tokens that were written, ids.")
def scores_the_likeliest(logits, ids):
    return ref.log_softmax(logits).max(axis=-1).sum()


@SENTENCE.mistake("You took all columns for each token: one entry a row, logs[np.arange(T), ids].")
def takes_whole_columns(logits, ids):
    return ref.log_softmax(logits)[:, ids].sum()


# --- 9.3 ----------------------------------------------------------------------------------------


def _greedy(table, start, end, most):
    path = [start]
    for _ in range(most):
        if path[-1] != end:
            path.append(int(np.argmax(table[path[-1]])))
    return path[1:]


GREEDY = Exercise(
    id="9.3",
    title="Greedy decoding",
    answer="greedy",
    signature="greedy(table, start, end, most)",
    oracle=_greedy,
    hints=(
        "Which row of the table do you look at in the first step, and which in the second?",
        "token = argmax of table[token], appended, until it is end or there are `most` of them.",
        "table (V, V), row i for the token after i; a list of at most `most` ids comes out.",
    ),
    example=Example(
        (np.array([[0.0, 0.2, 0.8], [0.0, 1.0, 0.0], [0.1, 0.6, 0.3]]), 0, 1, 5),
        "0 is followed by 2, and 2 by the end, 1: [2, 1] should come out.",
    ),
)


def _chain(*path, size, seed):
    """A table whose likeliest path is the given one."""
    table = ref.softmax(numbers(seed, size, size))
    for token, following in pairwise(path):
        table[token, following] += 1.0
    return table / table.sum(axis=-1, keepdims=True)


_five = _chain(0, 3, 2, 4, 1, size=5, seed=15)
_seven = _chain(2, 5, 0, 6, 3, size=7, seed=16)
_circle = _chain(0, 3, 2, 4, 0, size=5, seed=17)
GREEDY.case("a sentence of four tokens", "each token chooses the next", _five, 0, 1, 11)
GREEDY.case("other start and end", "start and end are given", _seven, 2, 3, 11)
GREEDY.case("a circle that never ends", "stop after `most` tokens", _circle, 0, 1, 7)
GREEDY.case("exactly long enough", "the last token may be the end", _five, 0, 1, 4)


@GREEDY.invariant("a shorter limit gives a beginning", "with most = 3 the first three come out")
def _(answer):
    return list(answer(_circle, 0, 1, 3)) == list(answer(_circle, 0, 1, 5))[:3]


@GREEDY.mistake("You kept the start token: it is an input, not something that was written.")
def keeps_the_start(table, start, end, most):
    return [start, *_greedy(table, start, end, most)]


@GREEDY.mistake("You kept the start token, and let it count: `most` is for what was written.")
def keeps_and_counts_the_start(table, start, end, most):
    return [start, *_greedy(table, start, end, most - 1)]


@GREEDY.mistake("You left the end token out: it tells a finished sentence from one that was cut.")
def drops_the_end(table, start, end, most):
    return [token for token in _greedy(table, start, end, most) if token != end]


@GREEDY.mistake("Your loop goes on behind the end token: stop as soon as that is the one chosen.")
def ignores_the_end(table, start, end, most):
    return _greedy(table, start, -1, most)


@GREEDY.mistake("You looked at the same row each time: the chosen token is the next input.")
def feeds_nothing_back(table, start, end, most):
    token = int(table[start].argmax())
    return [token] if token == end else [token] * most


@GREEDY.mistake("You looked down a column: row i holds what follows token i.")
def looks_down_columns(table, start, end, most):
    return _greedy(table.T, start, end, most)


@GREEDY.mistake("You stopped one token early: `most` counts the tokens written, without start.")
def counts_the_start(table, start, end, most):
    return _greedy(table, start, end, most - 1)


# --- 9.4 ----------------------------------------------------------------------------------------

TEMPERATURE = Exercise(
    id="9.4",
    title="Find the bug: temperature",
    answer="with_temperature",
    signature="with_temperature(logits, temperature)",
    oracle=lambda logits, temperature: ref.softmax(logits / temperature),
    hints=(
        "If you divide all probabilities by 2 and then by their sum, what have you changed?",
        "softmax(logits / temperature).",
        "logits and probabilities are (..., V), the temperature is a number.",
    ),
    example=Example(
        (np.log([9.0, 1.0]), 2.0),
        "logits ln 9 and ln 1 at temperature 2 should give [0.75, 0.25], because √9 is 3.",
    ),
)
_row, _rows = numbers(18, 7), numbers(19, 3, 5)
TEMPERATURE.case("a hot row", "the logits are divided before the softmax", _row, 3.0)
TEMPERATURE.case("three cold rows", "each row is a softmax of its own", _rows, 0.5)


@TEMPERATURE.invariant(
    "heat makes it flatter", "a higher temperature lowers the largest probability"
)
def _(answer):
    largest = [np.max(answer(_row, t)) for t in (0.5, 1.0, 2.0, 5.0)]
    return bool((np.diff(largest) < 0).all() and largest[0] > largest[-1] + 0.1)


@TEMPERATURE.invariant("temperature 1 changes nothing", "at 1 it is the softmax")
def _(answer):
    return np.allclose(answer(_rows, 1.0), ref.softmax(_rows))


@TEMPERATURE.mistake(
    "This is still the bug: a factor on all probabilities is divided out by their sum. Divide the "
    "logits."
)
def keeps_the_bug(logits, temperature):
    p = ref.softmax(logits) / temperature
    return p / p.sum(axis=-1, keepdims=True)


@TEMPERATURE.mistake("You multiplied: then heat would make it sharper.")
def multiplies_the_logits(logits, temperature):
    return ref.softmax(logits * temperature)


@TEMPERATURE.mistake("You took the softmax twice: the logits go in, divided, once.")
def takes_the_softmax_twice(logits, temperature):
    return ref.softmax(ref.softmax(logits) / temperature)


@TEMPERATURE.mistake("The probabilities no longer sum to one: divide the logits, not the result.")
def divides_the_result(logits, temperature):
    return ref.softmax(logits) / temperature


@TEMPERATURE.mistake("That is the right power, p to the 1/τ, but it must be divided by its sum.")
def forgets_to_normalise(logits, temperature):
    return ref.softmax(logits) ** (1 / temperature)


@TEMPERATURE.mistake("You subtracted the temperature: a shift of all logits changes nothing.")
def subtracts_the_temperature(logits, temperature):
    return ref.softmax(np.sign(logits) * np.maximum(np.abs(logits) - temperature, 0))


# --- 9.5 ----------------------------------------------------------------------------------------


def _nucleus(probabilities, p):
    kept, reached = np.zeros(len(probabilities)), 0.0
    for token in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        if reached >= p:
            break
        kept[token] = probabilities[token]
        reached += probabilities[token]
    return kept / kept.sum()


NUCLEUS = Exercise(
    id="9.5",
    title="Top-p",
    answer="nucleus",
    signature="nucleus(probabilities, p)",
    oracle=_nucleus,
    hints=(
        "Going down from the likeliest token: what must the sum of those before it not have "
        "reached yet, if a token is to be kept?",
        "Sort from the likeliest down; keep where cumsum minus the own probability is below p.",
        "probabilities (V,) in and out, each token in its old place, sum 1.",
    ),
    example=Example(
        (np.array([0.1, 0.5, 0.15, 0.25]), 0.7),
        "of 0.1, 0.5, 0.15, 0.25 the two likeliest reach 0.7: [0, 0.667, 0, 0.333] should come "
        "out.",
    ),
)
_p11, _p7 = ref.softmax(2 * numbers(20, 11)), ref.softmax(numbers(21, 7))
NUCLEUS.case("eleven tokens", "the fewest that reach 0.9", _p11, 0.9)
NUCLEUS.case("seven tokens", "the fewest that reach a half", _p7, 0.5)
NUCLEUS.case(
    "a sum that is reached exactly",
    "no token is added once p is reached",
    np.array([0.25, 0.5, 0.125, 0.125]),
    0.75,
)
NUCLEUS.case("a very small p", "the likeliest token always stays", _p7, 0.01)


@NUCLEUS.invariant("with p = 1 nothing changes", "every token is needed to reach 1")
def _(answer):
    return np.allclose(answer(_p7, 1.0), _p7)


@NUCLEUS.invariant("what is kept keeps its proportions", "the kept ones are all divided alike")
def _(answer):
    result = np.asarray(answer(_p11, 0.8))
    ratios = (result / _p11)[result > 0]
    return len(ratios) > 1 and np.allclose(ratios, ratios[0]) and np.isclose(result.sum(), 1)


def _sorted_kept(probabilities, keeps):
    """Probabilities from the likeliest down, and where to keep them by a rule on their sums."""
    order = np.argsort(-probabilities)
    likely = probabilities[order]
    kept = np.where(keeps(np.cumsum(likely), likely), likely, 0)
    return order, kept


def _in_place(order, kept):
    result = np.empty(len(kept))
    result[order] = kept
    return result


@NUCLEUS.mistake("You dropped the token that reaches p: the sum of what is kept must reach it.")
def drops_the_token_that_reaches(probabilities, p):
    order, kept = _sorted_kept(probabilities, lambda total, own: total <= p)
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You did not divide by what is left: the result must sum to one.")
def forgets_to_divide(probabilities, p):
    return _in_place(*_sorted_kept(probabilities, lambda total, own: total - own < p))


@NUCLEUS.mistake("The values are right but sorted: each must go back to its token's place.")
def leaves_them_sorted(probabilities, p):
    _, kept = _sorted_kept(probabilities, lambda total, own: total - own < p)
    return kept / kept.sum()


@NUCLEUS.mistake("You began with the rarest tokens: begin with the likeliest.")
def begins_with_the_rarest(probabilities, p):
    order = np.argsort(probabilities)
    rare = probabilities[order]
    kept = np.where(np.cumsum(rare) - rare < p, rare, 0)
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You kept one token too many: stop as soon as the sum has reached p.")
def keeps_one_too_many(probabilities, p):
    order, kept = _sorted_kept(
        probabilities, lambda total, own: np.concatenate([[True], (total - own < p)[:-1]])
    )
    return _in_place(order, kept) / kept.sum()


@NUCLEUS.mistake("You did not sort: the sum must run from the likeliest token down.")
def forgets_to_sort(probabilities, p):
    before = np.cumsum(probabilities) - probabilities
    kept = np.where(before < p, probabilities, 0)
    return kept / kept.sum()


# --- 9.6 ----------------------------------------------------------------------------------------


def _beam_step(log_p, next_log_p, width):
    pairs = [(n, token) for n in range(len(log_p)) for token in range(next_log_p.shape[1])]
    pairs.sort(key=lambda pair: -(log_p[pair[0]] + next_log_p[pair]))
    return np.array(pairs[:width])


BEAM = Exercise(
    id="9.6",
    title="One step of beam search",
    answer="beam_step",
    signature="beam_step(log_p, next_log_p, width)",
    oracle=_beam_step,
    hints=(
        "How many continuations compete, and what is the log-probability of each?",
        "log_p[n] + next_log_p[n, token], the `width` largest of all; np.divmod(index, V) gives "
        "row and column of a flat index.",
        "log_p (N,), next_log_p (N, V), candidates (N, V), result (width, 2).",
    ),
    example=Example(
        (np.log([0.6, 0.4]), np.log([[0.3, 0.3, 0.4], [0.05, 0.9, 0.05]]), 2),
        "0.4 · 0.9 is the best of six, 0.6 · 0.4 the next: [[1, 1], [0, 2]] should come out.",
    ),
)
_log_p, _next = np.log([0.5, 0.3, 0.2]), ref.log_softmax(2 * numbers(22, 3, 7))
_log_p5, _next5 = ref.log_softmax(numbers(23, 5)), ref.log_softmax(3 * numbers(24, 5, 11))
BEAM.case("three beginnings, seven tokens", "the best five of 21", _log_p, _next, 5)
BEAM.case("five beginnings, eleven tokens", "the best three of 55", _log_p5, _next5, 3)


@BEAM.invariant("width 1 is greedy", "the single best continuation of all")
def _(answer):
    totals = _log_p[:, None] + _next
    n, token = answer(_log_p, _next, 1)[0]
    return np.array_equal(totals[n, token], totals.max())


@BEAM.invariant(
    "one certain beginning has all the heirs",
    "when the others are hopeless, nothing is left of them",
)
def _(answer):
    return (np.asarray(answer(np.array([-99.0, 0.0, -99.0]), _next, 5))[:, 0] == 1).all()


def _best(totals, width):
    best = np.argsort(-totals, axis=None)[:width]
    return np.stack(np.divmod(best, totals.shape[1]), axis=1)


@BEAM.mistake(
    "You kept the best token of each beginning: all continuations compete, and one beginning may "
    "have several heirs or none."
)
def keeps_one_of_each(log_p, next_log_p, width):
    tokens = next_log_p.argmax(axis=-1)
    order = np.argsort(-(log_p + next_log_p.max(axis=-1)))[:width]
    return np.stack([order, tokens[order]], axis=1)


@BEAM.mistake("You forgot how likely the beginnings are: add log_p of each to its row.")
def forgets_the_beginnings(log_p, next_log_p, width):
    return _best(next_log_p, width)


@BEAM.mistake("You multiplied log-probabilities: probabilities multiply, their logarithms add.")
def multiplies_logarithms(log_p, next_log_p, width):
    return _best(log_p[:, None] * next_log_p, width)


@BEAM.mistake("You took the least likely: the best are the largest, argsort of the negative.")
def takes_the_worst(log_p, next_log_p, width):
    return _best(-(log_p[:, None] + next_log_p), width)


@BEAM.mistake("The columns are swapped: the beginning comes first, then the token.")
def swaps_the_columns(log_p, next_log_p, width):
    return _best(log_p[:, None] + next_log_p, width)[:, ::-1]


@BEAM.mistake("These are the right ones, but the worst of them comes first.")
def puts_the_best_last(log_p, next_log_p, width):
    return _best(log_p[:, None] + next_log_p, width)[::-1]


# --- 9.7 ----------------------------------------------------------------------------------------

FOOL = Exercise(
    id="9.7",
    title="A table that fools greedy",
    answer="fools_greedy",
    signature="fools_greedy(size)",
    hints=(
        "What must be true of the first token that greedy takes, and what of those after it?",
        "A likely first token that leads nowhere in particular, and a less likely one after which "
        "the end is certain: 0.45 · 1 against 0.55 · something small.",
        "The table is (size, size); row i holds what follows token i and sums to 1.",
    ),
    example=Example(
        (5,),
        "for 5 tokens a table (5, 5) with rows that sum to 1, in which greedy, from 0, ends at 1.",
    ),
)


def _is_a_table(table, size):
    table = np.asarray(table)
    sound = table.shape == (size, size) and (table >= 0).all()
    return bool(sound and np.allclose(table.sum(axis=-1), 1))


def _along(table, path):
    return float(np.prod([table[a, b] for a, b in pairwise(path)]))


def _greedy_probability(table):
    """Of greedy's sentence of at most three tokens; 0 if it has not ended by then."""
    path = [0, *_greedy(table, 0, 1, 3)]
    return _along(table, path) if path[-1] == 1 else 0.0


def _best_probability(table):
    """Of the likeliest sentence of at most three tokens, by brute force."""
    others = [i for i in range(len(table)) if i != 1]
    paths = [(0, 1), *((0, a, 1) for a in others)]
    paths += [(0, a, b, 1) for a in others for b in others]
    return max(_along(table, path) for path in paths)


@FOOL.invariant("it is a table", "(size, size), nothing negative, each row with sum 1, any size")
def _(answer):
    return all(_is_a_table(answer(size), size) for size in (5, 7, 13))


@FOOL.invariant(
    "greedy finishes", "in a vocabulary of 7 it gets from token 0 to token 1 within three steps"
)
def _(answer):
    table = answer(7)
    return _is_a_table(table, 7) and _greedy_probability(table) > 0


@FOOL.invariant(
    "another sentence is twice as probable",
    "in a vocabulary of 5, the best of all is at least twice greedy's",
)
def _(answer):
    table = answer(5)
    return _is_a_table(table, 5) and _best_probability(table) >= 2 * _greedy_probability(table) > 0


@FOOL.invariant("the same with more tokens", "and with a vocabulary of 11")
def _(answer):
    table = answer(11)
    return _is_a_table(table, 11) and _best_probability(table) >= 2 * _greedy_probability(table) > 0


def _trap(size, first=0.55):
    token = np.eye(size)
    table = np.full((size, size), 1 / (size + 1))
    table[:, 1] *= 2
    table[0] = first * token[2] + (1 - first) * token[3]
    table[3] = token[1]
    return table


@FOOL.mistake(
    "Every row is even: then nothing misleads greedy. Its first step must prefer a token after "
    "which everything is uncertain."
)
def is_even(size):
    return np.full((size, size), 1 / size)


@FOOL.mistake("Greedy finds the best sentence of this table: its first step must mislead it.")
def leads_greedy_right(size):
    return _trap(size, first=0.45)


@FOOL.mistake("The other sentence is better, but not twice as probable: make the fog thicker.")
def fools_it_a_little(size):
    table = _trap(size)
    table[2] = np.eye(size)[1] * 0.6 + 0.4 * np.eye(size)[4]
    return table


@FOOL.mistake("The columns sum to one: row i must hold the probabilities after token i.")
def fills_columns(size):
    return _trap(size).T


@FOOL.mistake(
    "Greedy never ends here: from its first token it must reach token 1 as the likeliest."
)
def lets_greedy_go_round(size):
    table = _trap(size)
    table[2] = np.eye(size)[2]
    return table


@FOOL.mistake("The rows do not sum to one: divide each by its sum.")
def forgets_that_rows_sum_to_one(size):
    table = _trap(size)
    table[2] = 1.0
    table[2, 1] = 2.0
    return table


# --- 9.8 ----------------------------------------------------------------------------------------


def _multiplications(n, d, cached):
    """Counted product by product: (a, b) times (b, c) takes a·b·c."""
    total = 0
    for tokens in range(1, n + 1):
        rows = 1 if cached else tokens
        total += 4 * (rows * d * d)  # queries, keys, values, output
        total += rows * d * tokens  # scores
        total += rows * tokens * d  # mixing the values
    return total


COST = Exercise(
    id="9.8",
    title="What a cache saves",
    answer="multiplications",
    signature="multiplications(n, d, cached)",
    oracle=_multiplications,
    hints=(
        "When t tokens are there, how many rows go through the four projections: t, or one?",
        "Step t costs 4 t d² + 2 t² d without a cache, 4 d² + 2 t d with it; sum over t = 1 … n.",
        "Three inputs, one whole number out.",
    ),
    example=Example(
        (2, 10, False),
        "two tokens of width 10 take 420 and 880 multiplications without a cache: 1300.",
    ),
)
COST.case("seven tokens anew", "each step computes for all tokens so far", 7, 5, False)
COST.case("seven tokens with a cache", "each step computes for the newest token", 7, 5, True)
COST.case("more tokens anew", "the same for other sizes", 13, 3, False)
COST.case("more tokens with a cache", "the same for other sizes", 13, 3, True)


@COST.invariant("the first token costs the same", "with one token there is nothing to keep")
def _(answer):
    return np.array_equal(answer(1, 11, True), answer(1, 11, False))


@COST.invariant(
    "in a wide model it saves (n + 1)/2", "when d is far larger than n, the projections decide"
)
def _(answer):
    anew, cached = answer(11, 100_000, False), answer(11, 100_000, True)
    return np.allclose(anew, np.multiply(6, cached), rtol=1e-3)


@COST.mistake("You counted tokens from 0: the first step has one token already.")
def counts_from_zero(n, d, cached):
    return _multiplications(n - 1, d, cached)


@COST.mistake("You counted the last step only: add up all n steps.")
def counts_the_last_step(n, d, cached):
    return _multiplications(n, d, cached) - _multiplications(n - 1, d, cached)


@COST.mistake("There are four projections: the output has one, too.")
def forgets_the_output(n, d, cached):
    rows = n if cached else n * (n + 1) // 2
    return _multiplications(n, d, cached) - rows * d * d


@COST.mistake("The weights must also be multiplied with the values: t·d more for each query.")
def forgets_the_values(n, d, cached):
    steps = np.arange(1, n + 1)
    pairs = steps if cached else steps**2
    return _multiplications(n, d, cached) - d * pairs.sum()


@COST.mistake("With a cache, one query meets t keys: t·d multiplications, not t²·d.")
def pairs_all_with_a_cache(n, d, cached):
    steps = np.arange(1, n + 1)
    extra = 2 * d * (steps**2 - steps).sum() if cached else 0
    return _multiplications(n, d, cached) + extra


@COST.mistake("Without a cache you counted one pass over n tokens: there are n passes.")
def makes_one_pass(n, d, cached):
    return _multiplications(n, d, True) if cached else 4 * n * d**2 + 2 * n**2 * d


@COST.mistake("The two cases are swapped: the cache is the cheaper one.")
def swaps_the_cases(n, d, cached):
    return _multiplications(n, d, not cached)
