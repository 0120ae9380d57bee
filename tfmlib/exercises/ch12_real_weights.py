"""Chapter 12: word pieces, one word in two sentences, heads switched off, sentence vectors."""

from functools import cache
from itertools import pairwise

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, describe, is_of_kind, same, show
from tfmlib.checking.draw import ANY_MAGNITUDE, axis, chance, choice, mask, text, values
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise, numbers
from tfmlib.checking.outcome import AnswerError, Outcome


def _vectors_of_somestretch(rng, shape):
    """Rows of any magnitude, none of which is zero, since zero has no direction."""
    x = values(rng, shape, ANY_MAGNITUDE)
    return np.where(x.any(axis=-1, keepdims=True), x, 1)


def _unit(x):
    """The vector's direction; scaled first, so that no square vanishes."""
    x = x / np.abs(x).max(axis=-1, keepdims=True)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


# --- 12.1 ---------------------------------------------------------------------------------------


def _longest_first(word, vocabulary, mark, stuck, fits=max):
    """Piece by piece; what stands before a piece, and what comes out when none fits, are given."""
    pieces = []
    while word:
        before = mark(pieces)
        fitting = [n for n in range(1, len(word) + 1) if before + word[:n] in vocabulary]
        if not fitting:
            return stuck(pieces)
        pieces.append(before + word[: fits(fitting)])
        word = word[fits(fitting) :]
    return pieces


def _mark(pieces):
    return "##" if pieces else ""


def _unknown(pieces):
    return ["[UNK]"]


def _word_pieces(word, vocabulary):
    return _longest_first(word, vocabulary, _mark, _unknown)


_EMPTY = "a beginning of no letters is in no vocabulary"
PIECES = Exercise(
    id="12.1",
    title="The longest piece first",
    answer="word_pieces",
    signature="word_pieces(word, vocabulary)",
    oracle=_word_pieces,
    clauses={
        "the longest beginning of the word that is in the vocabulary": "three pieces",
        "then the longest beginning of the rest, with `##` before it": "two ways to end",
        'If at some place nothing fits, the whole word is `["[UNK]"]`': "no piece fits",
        "and so on": "a longest piece after which nothing fits",
        "a word and a list of pieces -> a list of pieces": DRAWN,
    },
    hints=(
        "Which is the longest beginning of the word that the vocabulary holds, and what is left?",
        "While something is left: take its longest beginning that is a piece, ## before all but "
        "the first.",
        "A word and a list of pieces in, a list of pieces out; ['[UNK]'] if the word gets stuck.",
    ),
    example=Example(
        ("banks", ["bank", "ban", "##s", "##ks"]), "'banks' should give ['bank', '##s']."
    ),
    equivalent={
        "ends = range(len(rest), 0, -1) -> ends = range(len(rest) + 1, 0, -1)": "a slice that "
        "reaches beyond the end is the whole rest",
        "ends = range(len(rest), 0, -1) -> ends = range(len(rest), 0 - 1, -1)": _EMPTY,
        "ends = range(len(rest), 0, -1) -> ends = range(len(rest), -1, -1)": _EMPTY,
    },
)
_vocabulary = "un bank ban b ##er ##ers ##s ##k ##bank ##able ##a ##ble ##ed re ##re ed".split()  # noqa: SIM905
PIECES.case("three pieces", "each time the longest piece that fits", "unbankable", _vocabulary)
PIECES.case("two ways to end", "##ers goes before ##er and ##s", "bankers", _vocabulary)
PIECES.case("a last letter", "a piece may be a single letter", "unbanks", _vocabulary)
PIECES.case("no piece fits", "a word that gets stuck is unknown as a whole", "bankx", _vocabulary)
PIECES.case("a word that is one piece", "a piece may be the whole word", "bank", _vocabulary)
PIECES.case(
    "a beginning that only continues",
    "##able may not begin a word, although able is in the text",
    "able",
    _vocabulary,
)
PIECES.case(
    "an ending that only begins",
    "ed may not continue a word unless ##ed is a piece",
    "baned",
    ["ban", "ed", "bane"],
)
PIECES.case(
    "a longest piece after which nothing fits",
    "['[UNK]'], although a shorter first piece would go through: no piece is taken back",
    "banks",
    ["bank", "ban", "##ks"],
)


@PIECES.draws
def _(rng, size):
    word = text(rng, size, choice(rng, ("ab", "abc", "aAb", "übank")), least=1)
    cuts = sorted({0, len(word), *rng.integers(len(word) + 1, size=axis(rng, min(size, 9), 0))})
    whole = [word[a:b] for a, b in pairwise(cuts)]
    pieces = [_mark([] if place == 0 else [1]) + piece for place, piece in enumerate(whole)]
    if chance(rng, 0.2):
        pieces = pieces[1:]
    for _ in range(axis(rng, size, 0)):
        start, length = int(rng.integers(len(word))), 1 + int(rng.integers(4))
        pieces.append(choice(rng, ("", "##")) + word[start : start + length])
    if chance(rng):
        pieces += [f"##{letter}" for letter in word]
    return word, [pieces[i] for i in rng.permutation(len(pieces))]


@PIECES.invariant("the pieces make the word", "joined without their ##, the pieces are the word")
def _(answer):
    for word in ("unbankable", "bankers", "bankered"):
        pieces = answer(word, _vocabulary)
        if "".join(pieces).replace("##", "") != word:
            return f"For {word!r} the pieces are {show(pieces)}, which do not make the word."
    return None


@PIECES.right
def tries_everystretch(word, vocabulary):
    known, pieces, start = set(vocabulary), [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else f"##{word[start:end]}"
            if piece in known:
                pieces.append(piece)
                start = end
                break
        else:
            return ["[UNK]"]
    return pieces


@PIECES.right
def sorts_the_vocabulary(word, vocabulary):
    pieces, rest = (), word
    by_length = sorted(vocabulary, key=len, reverse=True)
    while rest:
        rest_marked = rest if not pieces else "##" + rest
        fitting = [
            piece
            for piece in by_length
            if rest_marked.startswith(piece) and (not pieces or piece.startswith("##"))
        ]
        if not fitting:
            return ("[UNK]",)
        pieces += (fitting[0],)
        rest = rest_marked[len(fitting[0]) :]
    return pieces


@PIECES.mistake("You took the shortest piece that fits: look for the longest one.")
def takes_the_shortest(word, vocabulary):
    return _longest_first(word, vocabulary, _mark, _unknown, fits=min)


@PIECES.mistake("You forgot the ##: a piece that continues a word is looked up with ## before it.")
def forgets_the_mark(word, vocabulary):
    return _longest_first(word, vocabulary, lambda pieces: "", _unknown)


@PIECES.mistake("The pieces are right, but you took their ## away: return them as they are listed.")
def takes_the_mark_away(word, vocabulary):
    return [piece.removeprefix("##") for piece in _word_pieces(word, vocabulary)]


@PIECES.mistake("You keep the pieces found before the word got stuck: the whole word is unknown.")
def keeps_what_was_found(word, vocabulary):
    return _longest_first(word, vocabulary, _mark, lambda pieces: [*pieces, "[UNK]"])


@PIECES.mistake("You found the first piece only: go on with what is left of the word.")
def stops_after_one_piece(word, vocabulary):
    return _longest_first(word, vocabulary, _mark, lambda pieces: pieces or ["[UNK]"])[:1]


@PIECES.mistake("You put ## before the first piece as well: only continuations have it.")
def marks_every_piece(word, vocabulary):
    return _longest_first(word, vocabulary, lambda pieces: "##", _unknown)


@PIECES.mistake(
    "You took a piece back to try a shorter one: the longest piece is final, and a word that gets "
    "stuck is unknown."
)
def takes_pieces_back(word, vocabulary):
    @cache
    def rest(start):
        if start == len(word):
            return ()
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary and (found := rest(end)) is not None:
                return (piece, *found)
        return None

    found = rest(0)
    return ["[UNK]"] if found is None else list(found)


@PIECES.mistake("You left out a letter at which nothing fits: then the whole word is unknown.")
def leaves_letters_out(word, vocabulary):
    pieces, start = [], 0
    while start < len(word):
        ends = range(len(word), start, -1)
        fitting = [end for end in ends if _mark(pieces) + word[start:end] in vocabulary]
        pieces += [_mark(pieces) + word[start : fitting[0]]] if fitting else []
        start = fitting[0] if fitting else start + 1
    return pieces or ["[UNK]"]


# --- 12.2 ---------------------------------------------------------------------------------------


def _by_layer(first, i, second, j):
    return ref.cosine_similarity(first[:, i], second[:, j])


BY_LAYER = Exercise(
    id="12.2",
    title="One word, layer by layer",
    answer="similarity_by_layer",
    signature="similarity_by_layer(first, i, second, j)",
    oracle=_by_layer,
    clauses={
        "given the states of two sentences, `first` (L, T, D) and `second` (L, S, D)": (DRAWN),
        "the cosine of word `i` of the first with word `j` of the second": "three layers",
        "in each layer": "a word agrees with itself",
        "two places -> (L,)": "vectors of different length",
    },
    hints=(
        "Which axis of the states is the layer, which the word? Which one stays?",
        "cos(a, b) = a·b / (|a| |b|), for a = first[layer, i] and b = second[layer, j].",
        "first (L, T, D), second (L, S, D), i and j whole numbers; the result is (L,).",
    ),
    example=Example(
        (np.array([[[1.0, 0.0]], [[3.0, 4.0]]]), 0, np.array([[[2.0, 0.0]], [[5.0, 0.0]]]), 0),
        "vectors that agree in the first layer and are [3, 4] and [5, 0] in the second should "
        "give [1, 0.6].",
    ),
)
_first, _second = numbers(1, 3, 5, 7), numbers(2, 3, 11, 7)
BY_LAYER.case("three layers", "the cosine of the two words in each layer", _first, 2, _second, 9)
BY_LAYER.case(
    "vectors of different length",
    "a cosine does not depend on the vectors' length",
    13 * numbers(3, 2, 3, 5),
    1,
    0.2 * numbers(4, 2, 7, 5),
    6,
)


@BY_LAYER.draws
def _(rng, size):
    L, T, S = axis(rng, min(size, 12)), axis(rng, min(size, 30)), axis(rng, size)
    D = axis(rng, min(size, 40))
    first, second = (_vectors_of_somestretch(rng, (L, n, D)) for n in (T, S))
    return first, int(rng.integers(T)), second, int(rng.integers(S))


@BY_LAYER.invariant("a word agrees with itself", "the same word of the same sentence gives ones")
def _(answer):
    return same(answer(_first, 3, _first, 3), np.ones(3))


@BY_LAYER.right
def goes_layer_by_layer(first, i, second, j):
    cosines = []
    for a, b in zip(first[:, i], second[:, j], strict=True):
        cosines.append(float(a / np.linalg.norm(a) @ b / np.linalg.norm(b)))
    return cosines


@BY_LAYER.right
def multiplies_units(first, i, second, j):
    return np.einsum("ld,ld->l", _unit(first[:, i]), _unit(second[:, j]))


@BY_LAYER.mistake("You did not divide by the lengths: a dot product grows with its vectors.")
def forgets_the_lengths(first, i, second, j):
    return (first[:, i] * second[:, j]).sum(axis=-1)


@BY_LAYER.mistake("You used i for both sentences: the word stands at place j in the second.")
def uses_one_place_for_both(first, i, second, j):
    return _by_layer(first, i, second, i)


@BY_LAYER.mistake(
    "You divided by one length for all layers: each layer's vectors have lengths of their own."
)
def norms_over_all_layers(first, i, second, j):
    a, b = first[:, i], second[:, j]
    return (a * b).sum(axis=-1) / (np.linalg.norm(a) * np.linalg.norm(b))


@BY_LAYER.mistake("You took the distance: the cosine is the dot product over the lengths.")
def takes_the_distance(first, i, second, j):
    return np.linalg.norm(first[:, i] - second[:, j], axis=-1)


@BY_LAYER.mistake("You returned the top layer only: the question is how the layers get there.")
def top_layer_only(first, i, second, j):
    return _by_layer(first, i, second, j)[-1]


@BY_LAYER.mistake("You divided by the squared length of one vector: divide by both lengths.")
def projects_on_the_first(first, i, second, j):
    a, b = first[:, i], second[:, j]
    return (a * b).sum(axis=-1) / (a * a).sum(axis=-1)


# --- 12.3 ---------------------------------------------------------------------------------------


def _without_head(w_o, head, heads):
    rows = np.arange(len(w_o)) // (len(w_o) // heads)
    return np.where((rows == head)[:, None], 0.0, w_o)


HEAD_OFF = Exercise(
    id="12.3",
    title="Switch a head off",
    answer="without_head",
    signature="without_head(w_o, head, heads)",
    oracle=_without_head,
    clauses={
        "a copy of $W^0$": "the given matrix stays as it was",
        "the rows that belong to the given head": "the middle one of three",
        "counted from 0": "the first of seven",
        "are zero": "the head is not heard any more",
        "w_o (D, D), a head's number, how many heads -> (D, D)": DRAWN,
    },
    hints=(
        "The heads lie side by side in the input of W^0: which rows does one head multiply with?",
        "Head h owns rows h·K to (h + 1)·K - 1, with K = D / H.",
        "w_o (D, D), head from 0 to heads - 1; the result is a new (D, D).",
    ),
    example=Example(
        (np.array([[1.0, 2.0], [3.0, 4.0]]), 1, 2),
        "head 1 of 2 in [[1, 2], [3, 4]] should give [[1, 2], [0, 0]].",
    ),
)
_w15, _w14 = numbers(5, 15, 15), numbers(6, 14, 14)
HEAD_OFF.case("the middle one of three", "five rows become zero", _w15, 1, 3)
HEAD_OFF.case("the first of seven", "two rows become zero", _w14, 0, 7)
HEAD_OFF.case("the last of seven", "two rows become zero", _w14, 6, 7)


def _heads_and_width(rng, size):
    """How many heads, and a width that they divide."""
    heads, K = axis(rng, min(size, 9)), axis(rng, min(size, 7))
    return (heads, heads * K) if size < 40 else choice(rng, ((size, size), (1, size), (2, 78)))


@HEAD_OFF.draws
def _(rng, size):
    heads, D = _heads_and_width(rng, size)
    return values(rng, (D, D), ANY_MAGNITUDE), int(rng.integers(heads)), heads


@HEAD_OFF.invariant(
    "the head is not heard any more",
    "whatever the head says, the result stays; what another says still counts",
)
def _(answer):
    w = answer(_w15, 2, 3)
    quiet, loud = np.zeros((2, 15)), np.zeros((2, 15))
    quiet[:, 10:], loud[:, 5:10] = 1.0, 1.0
    return same(quiet @ w, np.zeros((2, 15))) and same(loud @ w, loud @ _w15)


@HEAD_OFF.invariant("the given matrix stays as it was", "work on a copy")
def _(answer):
    given = _w15.copy()
    return same(answer(given, 1, 3), _without_head(_w15, 1, 3)) and same(given, _w15)


@HEAD_OFF.right
def multiplies_with_ones_and_zeros(w_o, head, heads):
    loud = np.ones(heads)
    loud[head] = 0
    return w_o * np.repeat(loud, len(w_o) // heads)[:, None]


@HEAD_OFF.right
def builds_row_by_row(w_o, head, heads):
    width = len(w_o) // heads
    return [
        [0] * len(row) if number // width == head else row
        for number, row in enumerate(w_o.tolist())
    ]


@HEAD_OFF.mistake("You cleared columns: W^0 multiplies from the right, so a head owns rows.")
def clears_columns(w_o, head, heads):
    return _without_head(w_o.T, head, heads).T


@HEAD_OFF.mistake("You cleared one row: a head is D / H rows wide.")
def clears_one_row(w_o, head, heads):
    w = w_o.copy()
    w[head] = 0
    return w


@HEAD_OFF.mistake("You kept the head and cleared the others.")
def keeps_only_the_head(w_o, head, heads):
    return w_o - _without_head(w_o, head, heads)


@HEAD_OFF.mistake("You counted heads from one: head 0 is the first.")
def counts_from_one(w_o, head, heads):
    return _without_head(w_o, head - 1, heads)


@HEAD_OFF.mistake("You took every H-th row: a head's rows lie together, as split_heads cuts them.")
def takes_every_h_th_row(w_o, head, heads):
    w = w_o.copy()
    w[head::heads] = 0
    return w


@HEAD_OFF.mistake("You took rows out: the matrix must keep its shape, with zeros in these rows.")
def deletes_the_rows(w_o, head, heads):
    K = len(w_o) // heads
    return np.delete(w_o, np.s_[head * K : (head + 1) * K], axis=0)


# --- 12.4 ---------------------------------------------------------------------------------------


def _mean_pool(vectors, mask):
    return np.array([rows[kept].mean(axis=0) for rows, kept in zip(vectors, mask, strict=True)])


POOL = Exercise(
    id="12.4",
    title="The mean of the real tokens",
    answer="mean_pool",
    signature="mean_pool(vectors, mask)",
    oracle=_mean_pool,
    clauses={
        "for each sentence of a batch": "three sentences",
        "the mean of the vectors at which the mask is True": "padding in front",
        "vectors (B, T, D), mask (B, T) boolean -> (B, D)": DRAWN,
    },
    hints=(
        "How many tokens does the mean of a short sentence run over?",
        "The sum of the vectors where the mask is True, divided by how often it is True.",
        "vectors (B, T, D), mask (B, T), boolean; the result is (B, D).",
    ),
    example=Example(
        (np.array([[[2.0, 4.0], [4.0, 8.0], [9.0, 9.0]]]), np.array([[True, True, False]])),
        "[2, 4], [4, 8] and a pad should give [[3, 6]].",
    ),
)
_vectors = numbers(8, 3, 5, 7) + 1
_lengths = np.arange(5) < np.array([[5], [2], [3]])
POOL.case("three sentences", "each over its own tokens", _vectors, _lengths)
POOL.case(
    "padding in front",
    "the means of the real tokens, wherever they stand",
    numbers(9, 2, 7, 3),
    np.arange(7) >= np.array([[2], [6]]),
)


@POOL.draws
def _(rng, size):
    B, T, D = axis(rng, min(size, 15)), axis(rng, size), axis(rng, min(size, 30))
    return values(rng, (B, T, D), ANY_MAGNITUDE), mask(rng, (B, T))


@POOL.invariant("padding says nothing", "whatever stands in the padding, the mean is the same")
def _(answer):
    other = np.where(_lengths[..., None], _vectors, 1000.0)
    return same(answer(other, _lengths), _mean_pool(_vectors, _lengths))


@POOL.right
def averages_sentence_by_sentence(vectors, mask):
    means = []
    for rows, real in zip(vectors.tolist(), mask.tolist(), strict=True):
        kept = [row for row, is_real in zip(rows, real, strict=True) if is_real]
        means.append([sum(column) / len(kept) for column in zip(*kept, strict=True)])
    return means


@POOL.right
def weighs_with_einsum(vectors, mask):
    weights = mask / mask.sum(axis=1, keepdims=True)
    return np.einsum("bt,btd->bd", weights, vectors)


@POOL.mistake("You averaged over the padding, too: sum where the mask is True.")
def averages_everything(vectors, mask):
    return vectors.mean(axis=1)


@POOL.mistake("You left padding out of the sum but not of the count: divide by mask.sum.")
def divides_by_the_paddedstretch(vectors, mask):
    return (vectors * mask[..., None]).sum(axis=1) / mask.shape[1]


@POOL.mistake("You summed without dividing: a long sentence would get a long vector.")
def forgets_to_divide(vectors, mask):
    return (vectors * mask[..., None]).sum(axis=1)


@POOL.mistake("You divided by all real tokens of the batch: each sentence has a count of its own.")
def counts_the_whole_batch(vectors, mask):
    return (vectors * mask[..., None]).sum(axis=1) / mask.sum()


@POOL.mistake("You averaged the padding: the mask is True where a token is real.")
def turns_the_mask_round(vectors, mask):
    kept = ~mask[..., None]
    return (vectors * kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)


@POOL.mistake("You took the first token's vector: this model was trained with the mean of all.")
def takes_the_first_token(vectors, mask):
    return vectors[:, 0]


@POOL.mistake(
    "You took as many tokens from the front as the mask has True: it says which ones, too."
)
def takes_them_from_the_front(vectors, mask):
    counts = mask.sum(axis=1)
    return np.array(
        [rows[:count].mean(axis=0) for rows, count in zip(vectors, counts, strict=True)]
    )


# --- 12.5 ---------------------------------------------------------------------------------------


def _cosines(query, paragraphs):
    return _unit(paragraphs) @ _unit(query)


def _search(query, paragraphs, k):
    return np.argsort(-_cosines(query, paragraphs), kind="stable")[:k].tolist()


SEARCH = Exercise(
    id="12.5",
    title="Find the bug: semantic search",
    answer="search",
    signature="search(query, paragraphs, k)",
    clauses={
        "vectors of any length": "lengths do not count",
        "the numbers of the `k` paragraphs with the largest cosine": "the best five of thirteen",
        "the best first": "all of them",
        "query (D,), paragraphs (N, D) -> a list of k row numbers": (DRAWN),
    },
    hints=(
        "Which paragraph comes first in the given code? And why does a long vector win?",
        "Order by -cos(query, paragraph), and keep the first k.",
        "query (D,), paragraphs (N, D), k a number; the result is a list of k row numbers.",
    ),
    example=Example(
        (np.array([1.0, 0.0]), np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 0.1]]), 2),
        "query [1, 0] and paragraphs [0, 1], [2, 2], [1, 0.1] should give [2, 1].",
    ),
    equivalent={
        "return np.argsort(-scores)[:k].tolist() -> return np.argsort(-scores)[:k]": "an array of "
        "the same row numbers is as good as a list"
    },
)
_query, _texts = numbers(10, 7), numbers(11, 13, 7) * np.exp(1.5 * numbers(12, 13, 1))
SEARCH.case("the best five of thirteen", "best first, by the cosine", _query, _texts, 5)
SEARCH.case("the best one", "a list of one number", numbers(13, 3), 5 * numbers(14, 11, 3), 1)
SEARCH.case("all of them", "all 13, the best first", -_query, _texts, 13)
SEARCH.case(
    "the best six hundred of a thousand",
    "six hundred row numbers, the best first",
    _query,
    numbers(26, 1009, 7),
    600,
)
SEARCH.case(
    "a paragraph that is there twice",
    "both of them, in either order, and then the third",
    np.array([1.0, 1.0]),
    np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]),
    3,
)


@SEARCH.accepting
def _(value, query, paragraphs, k):
    found = as_array(value)
    if found is None or found.shape != (k,):
        got = describe(value if found is None else found)
        raise AnswerError(Outcome.KIND, expected=f"a list of {k} row numbers", got=got)
    if not is_of_kind(found, np.zeros(0, int), is_listed=True):
        return f"It returned {show(value)}, and should return the numbers of the rows."
    found = found.astype(int)
    cosines = _cosines(query, paragraphs)
    best, taken = np.sort(cosines)[::-1], set()
    for place, row in enumerate(found.tolist()):
        if not 0 <= row < len(paragraphs):
            return f"Item {place} is {row}, but the rows go from 0 to {len(paragraphs) - 1}."
        if row in taken:
            return f"Item {place} is row {row}, which is in the list already."
        taken.add(row)
        if abs(cosines[row] - best[place]) > 1e-9:
            return (
                f"Item {place} is row {row} with the cosine {cosines[row]:.4f}; the one due there "
                f"has {best[place]:.4f}."
            )
    return None


@SEARCH.draws
def _(rng, size):
    N, D = axis(rng, size), axis(rng, min(size, 40))
    paragraphs = _vectors_of_somestretch(rng, (N, D))
    if chance(rng, 0.3):
        paragraphs = paragraphs[rng.integers(N, size=N)]  # some of them more than once
    if chance(rng):
        paragraphs = paragraphs * 10.0 ** rng.integers(-30, 5, size=(N, 1))
    return _vectors_of_somestretch(rng, (D,)), paragraphs, 1 + int(rng.integers(N))


@SEARCH.invariant("lengths do not count", "paragraphs scaled by 1 to 13 come in the same order")
def _(answer):
    scaled = _texts * np.arange(1, 14)[:, None]
    return same(answer(_query, scaled, 13), _search(_query, _texts, 13))


@SEARCH.right
def sorts_pairs(query, paragraphs, k):
    scored = [(ref.cosine_similarity(query, row), number) for number, row in enumerate(paragraphs)]
    return [number for _, number in sorted(scored, reverse=True)][:k]


@SEARCH.right
def scales_the_rows_first(query, paragraphs, k):
    rows = paragraphs / np.sqrt(np.einsum("nd,nd->n", paragraphs, paragraphs))[:, None]
    return np.argsort(rows @ query)[::-1][:k]


@SEARCH.mistake("This is still the given code: argsort puts the worst first, and lengths count.")
def keeps_both_bugs(query, paragraphs, k):
    return np.argsort(paragraphs @ query)[:k].tolist()


@SEARCH.mistake("The order is right now, but a long vector still wins: divide by its length.")
def keeps_the_lengths(query, paragraphs, k):
    return np.argsort(-(paragraphs @ query))[:k].tolist()


@SEARCH.mistake("The lengths are gone, but the worst paragraphs still come first.")
def keeps_the_order(query, paragraphs, k):
    return _search(-query, paragraphs, k)


@SEARCH.mistake("These are the best k with the best one last: turn them round.")
def best_comes_last(query, paragraphs, k):
    return _search(query, paragraphs, k)[::-1]


@SEARCH.mistake("You returned the scores: return the numbers of the rows.")
def returns_the_scores(query, paragraphs, k):
    return sorted(_cosines(query, paragraphs).tolist(), reverse=True)[:k]


@SEARCH.mistake("You ordered by distance, in which lengths count: use the cosine.")
def orders_by_distance(query, paragraphs, k):
    return np.argsort(np.linalg.norm(paragraphs - query, axis=1))[:k].tolist()


@SEARCH.mistake("These are the best k, but in the order of their rows: the best comes first.")
def sorts_them_by_row(query, paragraphs, k):
    return sorted(_search(query, paragraphs, k))


@SEARCH.mistake(
    "You looked each score up by its value: of equal ones you found the first each time."
)
def looks_them_up_by_value(query, paragraphs, k):
    scores = _cosines(query, paragraphs).round(9).tolist()
    return [scores.index(score) for score in sorted(scores, reverse=True)[:k]]


# --- 12.6 ---------------------------------------------------------------------------------------

HALFWAY = Exercise(
    id="12.6",
    title="A query for two things",
    answer="halfway",
    signature="halfway(a, b)",
    clauses={
        "a vector that has the same cosine with both": "as near to one as to the other",
        "as large as possible": "no vector does better",
        "Its length is up to you": THE_EXAMPLE,
        "do not point in opposite directions": DRAWN,
        "a (D,), b (D,) of any lengths -> (D,)": DRAWN,
    },
    hints=(
        "Why does a + b lean towards the longer of the two?",
        "a / |a| + b / |b| makes the same angle with both.",
        "a (D,) and b (D,) in, a vector (D,) out; its length is up to you.",
    ),
    example=Example(
        (np.array([3.0, 0.0]), np.array([0.0, 1.0])),
        "[3, 0] and [0, 1] should give a vector along [1, 1], of any length.",
    ),
)
_pairs = [(numbers(s, 7), numbers(s + 1, 7) * scale) for s, scale in ((15, 1), (17, 13), (19, 0.1))]


def _direction(value, a):
    """The direction of a vector like a."""
    c = as_array(value)
    if c is None:
        raise AnswerError(Outcome.KIND, expected=describe(a), got=describe(value))
    if c.shape != a.shape:
        raise AnswerError(Outcome.SHAPE, expected=a.shape, got=c.shape)
    if not np.isfinite(c).all():
        raise AnswerError(Outcome.NOT_FINITE, count=(~np.isfinite(c)).sum(), size=c.size)
    if not c.any():
        raise AnswerError(Outcome.INVARIANT, "It is the zero vector, which has no direction.")
    return _unit(c.astype(float))


def _unequal(value, a, b):
    c = _direction(value, a)
    with_a, with_b = c @ _unit(a), c @ _unit(b)
    if abs(with_a - with_b) > 1e-6:
        return f"Its cosine with a is {with_a:.4g} and with b {with_b:.4g}, not the same."
    return None


def _not_the_largest(value, a, b):
    c, best = _direction(value, a), _unit(_unit(a) + _unit(b))
    reached, largest = c @ _unit(a), best @ _unit(a)
    if reached < largest - 1e-6:
        return f"Its cosine with a is {reached:.4g}, where {largest:.4g} can be had with both."
    if np.linalg.norm(c - best) > 1e-6:
        return f"It is off the middle by an angle of {np.linalg.norm(c - best):.2g}."
    return None


@HALFWAY.accepting
def _(value, a, b):
    broken = _unequal(value, a, b) or _not_the_largest(value, a, b)
    if broken is None and not is_of_kind(as_array(value), np.zeros(0)):
        raise AnswerError(Outcome.DTYPE, got=as_array(value).dtype, expected=np.dtype(float))
    return broken


@HALFWAY.draws
def _(rng, size):
    D = axis(rng, size)
    a, b = _vectors_of_somestretch(rng, (D,)), _vectors_of_somestretch(rng, (D,))
    if chance(rng, 0.15):  # whole numbers, both
        a, b = (rng.integers(1, 10, size=D) for _ in range(2))
    if chance(rng, 0.1):
        b = 3 * a
    return a, b if _unit(a) @ _unit(b) > -0.99 else -b


@HALFWAY.invariant("as near to one as to the other", "its cosine with a and with b is the same")
def _(answer):
    return next(filter(None, (_unequal(answer(a, b), a, b) for a, b in _pairs)), None)


@HALFWAY.invariant(
    "nearer to both than they are to each other", "its cosine with a is above that of a with b"
)
def _(answer):
    for a, b in _pairs:
        ours, theirs = _direction(answer(a, b), a) @ _unit(a), _unit(a) @ _unit(b)
        if ours < theirs + 1e-6:
            return f"Its cosine with a is {ours:.4g}, and that of b with a is {theirs:.4g}."
    return None


@HALFWAY.invariant(
    "no vector does better",
    "cos(a, b) = cos(2θ) for the angle θ between your vector and a: it lies in between",
)
def _(answer):
    a, b = numbers(21, 11), 3 * numbers(22, 11)
    return _not_the_largest(answer(a, b), a, b)


@HALFWAY.right
def crosses_the_lengths(a, b):
    return a * np.sqrt(b @ b) + b * np.sqrt(a @ a)


@HALFWAY.right
def averages_units_in_a_list(a, b):
    length_a = sum(float(number) ** 2 for number in a) ** 0.5
    length_b = sum(float(number) ** 2 for number in b) ** 0.5
    return [(x / length_a + y / length_b) / 2 for x, y in zip(a, b, strict=True)]


@HALFWAY.mistake("You added the vectors as they are: the longer one pulls the sum to its side.")
def adds_as_they_are(a, b):
    return a + b


@HALFWAY.mistake("You took the difference: it has opposite cosines with the two.")
def takes_the_difference(a, b):
    return a / np.linalg.norm(a) - b / np.linalg.norm(b)


@HALFWAY.mistake("You multiplied entry by entry: that says where both are large, not half-way.")
def multiplies(a, b):
    return a * b


@HALFWAY.mistake("You divided both by the same length: each vector has its own.")
def divides_by_onestretch(a, b):
    return (a + b) / np.linalg.norm(a)


@HALFWAY.mistake("You returned the first vector, which is nearer to itself than to the other.")
def returns_the_first(a, b):
    return a


@HALFWAY.mistake("The sign is turned round: your vector points away from both.")
def points_away(a, b):
    return -a / np.linalg.norm(a) - b / np.linalg.norm(b)


@HALFWAY.mistake("You divided each vector by the length of the other one: divide by its own.")
def divides_by_the_otherstretch(a, b):
    return a / np.linalg.norm(b) + b / np.linalg.norm(a)


# --- 12.7 ---------------------------------------------------------------------------------------


def _unscaled(w_q, heads):
    return w_q * np.sqrt(w_q.shape[1] // heads)


UNSCALED = Exercise(
    id="12.7",
    title="No scaling, without touching the code",
    answer="unscaled_queries",
    signature="unscaled_queries(w_q, heads)",
    oracle=_unscaled,
    clauses={
        "the matrix with which to replace $W^q$": "three heads of five",
        "the attention weights become the softmax of the *unscaled* scores": (
            "scaled attention becomes unscaled attention"
        ),
        "w_q (D, D), all heads side by side -> (D, D)": DRAWN,
    },
    hints=(
        "The code will divide each score by √d_k. By what must a query grow to make up for it?",
        "(c q)·k / √d_k = q·k for c = √d_k, and c q = x (c W^q).",
        "w_q (D, D) holds the queries of all heads side by side: d_k = D / H. Result (D, D).",
    ),
    example=Example(
        (np.eye(8), 2), "the identity of width 8 with 2 heads, so d_k = 4, should give 2 × it."
    ),
    equivalent={
        "d_k = w_q.shape[1] // heads -> d_k = w_q.shape[1] / heads": "heads divides the width",
        "d_k = w_q.shape[1] // heads -> d_k = w_q.shape[0] // heads": "the matrix is square",
    },
)
UNSCALED.case("three heads of five", "the matrix times √5", _w15, 3)
UNSCALED.case("seven heads of two", "the matrix times √2", _w14, 7)


@UNSCALED.draws
def _(rng, size):
    heads, D = _heads_and_width(rng, size)
    return values(rng, (D, D), ANY_MAGNITUDE), heads


@UNSCALED.invariant(
    "scaled attention becomes unscaled attention",
    "the weights that the library computes are the softmax of q·k itself",
)
def _(answer):
    x, w_k = numbers(23, 5, 14), numbers(24, 14, 14) / 14
    q = ref.split_heads(x @ np.asarray(answer(_w14 / 14, 2)), 2)
    k = ref.split_heads(x @ w_k, 2)
    plain = ref.split_heads(x @ _w14 / 14, 2) @ k.swapaxes(-1, -2)
    return same(ref.attention_weights(q, k), ref.softmax(plain))


@UNSCALED.right
def scales_head_by_head(w_q, heads):
    parts = np.split(w_q, heads, axis=1)
    return np.hstack([part * part.shape[1] ** 0.5 for part in parts])


@UNSCALED.right
def multiplies_entry_by_entry(w_q, heads):
    factor = (len(w_q) / heads) ** 0.5
    return [[factor * number for number in row] for row in w_q.tolist()]


@UNSCALED.mistake("That is √D: the code divides by the root of one head's width, D / H.")
def uses_the_whole_width(w_q, heads):
    return w_q * np.sqrt(w_q.shape[1])


@UNSCALED.mistake("You divided: then the scores are scaled twice.")
def scales_twice(w_q, heads):
    return w_q / np.sqrt(w_q.shape[1] // heads)


@UNSCALED.mistake("That is d_k: the code divides by its root.")
def forgets_the_root(w_q, heads):
    return w_q * (w_q.shape[1] // heads)


@UNSCALED.mistake("That is the root of the number of heads: it is their width that counts.")
def uses_the_number_of_heads(w_q, heads):
    return w_q * np.sqrt(heads)


@UNSCALED.mistake(
    "That is the fourth root: right if you also change the keys, but you return only queries."
)
def shares_with_the_keys(w_q, heads):
    return w_q * (w_q.shape[1] // heads) ** 0.25


@UNSCALED.mistake("You returned the matrix as it was: the code would still divide the scores.")
def changes_nothing(w_q, heads):
    return w_q.copy()
