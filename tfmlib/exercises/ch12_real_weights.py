"""Chapter 12: word pieces, one word in two sentences, heads switched off, sentence vectors."""

import numpy as np

from tfmlib import ref
from tfmlib.checking.exercise import Example, Exercise, numbers

# --- 12.1 ---------------------------------------------------------------------------------------


def _word_pieces(word, vocabulary):
    pieces = []
    while word:
        mark = "##" if pieces else ""
        fitting = [n for n in range(1, len(word) + 1) if mark + word[:n] in vocabulary]
        if not fitting:
            return ["[UNK]"]
        pieces.append(mark + word[: fitting[-1]])
        word = word[fitting[-1] :]
    return pieces


_EMPTY = "a beginning of no letters is in no vocabulary"
PIECES = Exercise(
    id="12.1",
    title="The longest piece first",
    answer="word_pieces",
    signature="word_pieces(word, vocabulary)",
    oracle=_word_pieces,
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


@PIECES.invariant("the pieces make the word", "joined without their ##, the pieces are the word")
def _(answer):
    words = ["unbankable", "bankers", "bankered"]
    return all("".join(answer(w, _vocabulary)).replace("##", "") == w for w in words)


@PIECES.mistake("You took the shortest piece that fits: look for the longest one.")
def takes_the_shortest(word, vocabulary):
    pieces = []
    while word:
        mark = "##" if pieces else ""
        fitting = [n for n in range(1, len(word) + 1) if mark + word[:n] in vocabulary]
        if not fitting:
            return ["[UNK]"]
        pieces.append(mark + word[: fitting[0]])
        word = word[fitting[0] :]
    return pieces


@PIECES.mistake("You forgot the ##: a piece that continues a word is looked up with ## before it.")
def forgets_the_mark(word, vocabulary):
    bare = [piece.removeprefix("##") for piece in vocabulary]
    return [p.removeprefix("##") for p in _greedy(word, bare, lambda pieces: "")]


@PIECES.mistake("You keep the pieces found before the word got stuck: the whole word is unknown.")
def keeps_what_was_found(word, vocabulary):
    pieces, rest = [], word
    while rest:
        mark = "##" if pieces else ""
        fitting = [n for n in range(1, len(rest) + 1) if mark + rest[:n] in vocabulary]
        if not fitting:
            return [*pieces, "[UNK]"]
        pieces.append(mark + rest[: fitting[-1]])
        rest = rest[fitting[-1] :]
    return pieces


@PIECES.mistake("You found the first piece only: go on with what is left of the word.")
def stops_after_one_piece(word, vocabulary):
    return _word_pieces(word, vocabulary)[:1]


@PIECES.mistake("You put ## before the first piece as well: only continuations have it.")
def marks_every_piece(word, vocabulary):
    return _greedy(word, vocabulary, lambda pieces: "##")


def _greedy(word, vocabulary, mark):
    pieces = []
    while word:
        fitting = [n for n in range(1, len(word) + 1) if mark(pieces) + word[:n] in vocabulary]
        if not fitting:
            return ["[UNK]"]
        pieces.append(mark(pieces) + word[: fitting[-1]])
        word = word[fitting[-1] :]
    return pieces


# --- 12.2 ---------------------------------------------------------------------------------------


def _by_layer(first, i, second, j):
    return np.array([_cosine(a[i], b[j]) for a, b in zip(first, second, strict=True)])


def _cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


BY_LAYER = Exercise(
    id="12.2",
    title="One word, layer by layer",
    answer="similarity_by_layer",
    signature="similarity_by_layer(first, i, second, j)",
    oracle=_by_layer,
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


@BY_LAYER.invariant("a word agrees with itself", "the same word of the same sentence gives ones")
def _(answer):
    return np.allclose(answer(_first, 3, _first, 3), np.ones(3))


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


@HEAD_OFF.invariant(
    "the head is not heard any more",
    "whatever the head says, the result stays; what another says still counts",
)
def _(answer):
    w = answer(_w15, 2, 3)
    quiet, loud = np.zeros((2, 15)), np.zeros((2, 15))
    quiet[:, 10:], loud[:, 5:10] = 1.0, 1.0
    return np.allclose(quiet @ w, 0) and np.allclose(loud @ w, loud @ _w15)


@HEAD_OFF.invariant("the given matrix stays as it was", "work on a copy")
def _(answer):
    given = _w15.copy()
    answer(given, 1, 3)
    return np.array_equal(given, _w15)


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
    "the mask says which tokens are real, wherever they stand",
    numbers(9, 2, 7, 3),
    np.arange(7) >= np.array([[2], [6]]),
)


@POOL.invariant("padding says nothing", "whatever stands in the padding, the mean is the same")
def _(answer):
    other = np.where(_lengths[..., None], _vectors, 1000.0)
    return np.allclose(answer(other, _lengths), answer(_vectors, _lengths))


@POOL.mistake("You averaged over the padding, too: sum where the mask is True.")
def averages_everything(vectors, mask):
    return vectors.mean(axis=1)


@POOL.mistake("You left padding out of the sum but not of the count: divide by mask.sum.")
def divides_by_the_padded_length(vectors, mask):
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


# --- 12.5 ---------------------------------------------------------------------------------------


def _search(query, paragraphs, k):
    scores = [_cosine(query, paragraph) for paragraph in paragraphs]
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:k]


SEARCH = Exercise(
    id="12.5",
    title="Find the bug: semantic search",
    answer="search",
    signature="search(query, paragraphs, k)",
    oracle=_search,
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
SEARCH.case("the best one", "k may be one", numbers(13, 3), 5 * numbers(14, 11, 3), 1)
SEARCH.case("all of them", "k may be the number of paragraphs", -_query, _texts, 13)


@SEARCH.invariant("lengths do not count", "paragraphs scaled by 1 to 13 come in the same order")
def _(answer):
    scaled = _texts * np.arange(1, 14)[:, None]
    return list(answer(_query, scaled, 13)) == list(answer(_query, _texts, 13))


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
    return sorted((_cosine(query, p) for p in paragraphs), reverse=True)[:k]


@SEARCH.mistake("You ordered by distance, in which lengths count: use the cosine.")
def orders_by_distance(query, paragraphs, k):
    return np.argsort(np.linalg.norm(paragraphs - query, axis=1))[:k].tolist()


# --- 12.6 ---------------------------------------------------------------------------------------

HALFWAY = Exercise(
    id="12.6",
    title="A query for two things",
    answer="halfway",
    signature="halfway(a, b)",
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


@HALFWAY.invariant("as near to one as to the other", "its cosine with a and with b is the same")
def _(answer):
    return all(
        np.isclose(_cosine(c, a), _cosine(c, b))
        for a, b in _pairs
        for c in [np.asarray(answer(a, b))]
    )


@HALFWAY.invariant(
    "nearer to both than they are to each other", "its cosine with a is above that of a with b"
)
def _(answer):
    return all(_cosine(np.asarray(answer(a, b)), a) > _cosine(a, b) + 1e-6 for a, b in _pairs)


@HALFWAY.invariant(
    "no vector does better",
    "cos(a, b) = cos(2θ) for the angle θ between your vector and a: it lies in between",
)
def _(answer):
    a, b = numbers(21, 11), 3 * numbers(22, 11)
    angle = np.arccos(_cosine(np.asarray(answer(a, b)), a))
    return np.isclose(np.cos(2 * angle), _cosine(a, b))


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
def divides_by_one_length(a, b):
    return (a + b) / np.linalg.norm(a)


@HALFWAY.mistake("You returned the first vector, which is nearer to itself than to the other.")
def returns_the_first(a, b):
    return a


@HALFWAY.mistake("The sign is turned round: your vector points away from both.")
def points_away(a, b):
    return -a / np.linalg.norm(a) - b / np.linalg.norm(b)


# --- 12.7 ---------------------------------------------------------------------------------------


def _unscaled(w_q, heads):
    return w_q * np.sqrt(w_q.shape[1] // heads)


UNSCALED = Exercise(
    id="12.7",
    title="No scaling, without touching the code",
    answer="unscaled_queries",
    signature="unscaled_queries(w_q, heads)",
    oracle=_unscaled,
    hints=(
        "The code will divide each score by √d_k. By what must a query grow to make up for it?",
        "(c q)·k / √d_k = q·k for c = √d_k, and c q = x (c W^q).",
        "w_q (D, D) holds the queries of all heads side by side: d_k = D / H. Result (D, D).",
    ),
    example=Example(
        (np.eye(8), 2), "the identity of width 8 with 2 heads, so d_k = 4, should give 2 × it."
    ),
    equivalent={
        "d_k = w_q.shape[1] // heads -> d_k = w_q.shape[1] / heads": "heads divides the width"
    },
)
UNSCALED.case("three heads of five", "the width of one head counts", _w15, 3)
UNSCALED.case("seven heads of two", "the width of one head counts", _w14, 7)
UNSCALED.case("fewer inputs", "the queries' width counts", numbers(25, 11, 14), 2)


@UNSCALED.invariant(
    "scaled attention becomes unscaled attention",
    "the weights that the library computes are the softmax of q·k itself",
)
def _(answer):
    x, w_k = numbers(23, 5, 14), numbers(24, 14, 14) / 14
    q = ref.split_heads(x @ np.asarray(answer(_w14 / 14, 2)), 2)
    k = ref.split_heads(x @ w_k, 2)
    plain = ref.split_heads(x @ _w14 / 14, 2) @ k.swapaxes(-1, -2)
    return np.allclose(ref.attention_weights(q, k), ref.softmax(plain))


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
