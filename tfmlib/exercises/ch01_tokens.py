"""Chapter 1: vocabularies, padding, one-hot rows, and byte-pair encoding from scratch."""

import re
from collections import Counter
from itertools import chain, pairwise

import numpy as np

from tfmlib import ref
from tfmlib.checking.compare import as_array, same, show
from tfmlib.checking.draw import LONG, axis, chance, choice, stretch
from tfmlib.checking.draw import ids as draw_ids
from tfmlib.checking.exercise import DRAWN, THE_EXAMPLE, Example, Exercise

SPECIAL = ["<pad>", "<start>", "<end>", "<unk>"]

# Words as people type them: capitals, marks, numbers, letters that English has not.
_TYPED: tuple[str, ...] = (
    "me",
    "Me",
    "the",
    "THE",
    "money",
    "Money!",
    "money",
    "don't",
    "way,",
    "way",
    "7",
    "a",
)
_TYPED += ("zoo", "über", "ÜBER", "Straße", "ご飯", "–", "e-mail", "A")
_GAPS = (" ", " ", " ", "  ", "\t", "\n", " \n ")


def _sentence(rng, size):
    """Words with gaps of all sorts between them, and sometimes before and after."""
    words = [choice(rng, _TYPED) for _ in range(stretch(rng, size, 0))]
    typed = "".join(word + choice(rng, _GAPS) for word in words)
    return choice(rng, _GAPS) + typed if chance(rng, 0.3) else typed.strip()


def _in_any_order(rng, items):
    return [items[i] for i in rng.permutation(len(items))]


def _names(rng, count):
    """Different ids: all the small ones, or some of one to four digits, in any order."""
    if chance(rng, 0.4):
        return list(range(count))
    top = choice(rng, (count + 3, 130, 300, 2_000))
    found = rng.choice(max(top, count), size=count, replace=False)
    return [int(i) for i in found]


# --- 1.1 ----------------------------------------------------------------------------------------


def _vocabulary(sentences):
    words = chain.from_iterable(sentence.lower().split() for sentence in sentences)
    return list(dict.fromkeys([*SPECIAL, *words]))


VOCABULARY = Exercise(
    id="1.1",
    title="A vocabulary",
    answer="build_vocabulary",
    signature="build_vocabulary(sentences)",
    oracle=_vocabulary,
    hints=(
        "When you meet a word, how do you know whether it is new?",
        "Start with a copy of SPECIAL; for each word of each sentence.lower().split(), append it "
        "unless it is there already.",
        "A list of strings in, one flat list of strings out: 4 special tokens and each word once.",
    ),
    example=Example(
        (["Help me", "help us"],),
        '["Help me", "help us"] should give '
        "['<pad>', '<start>', '<end>', '<unk>', 'help', 'me', 'us'].",
    ),
    clauses={
        "the special tokens, then": "three sentences",
        "every word once": "no token stands twice",
        "in the order in which the words first appear": "words in no alphabetical order",
        "*Show* and *show* are the same word": "three sentences",
        "Words are what `split()` gives": "gaps and marks",
        "a sentence may have no words": "sentences without words",
        "there may be no sentences": DRAWN,
        "a list of strings -> a list of tokens, in order of ids": "more text keeps the old ids",
    },
)
_WAY = ["Show me the money", "show me the way", "the money the way"]
_LIFE = ["Not on your life", "your life on the line", "not the Line"]
VOCABULARY.case("three sentences", "the special tokens, then each word once, in lower case", _WAY)
VOCABULARY.case(
    "words in no alphabetical order", "words keep the order in which they first appear", _LIFE
)
VOCABULARY.case(
    "gaps and marks",
    "split() cuts at gaps of any length and leaves the marks on the words",
    ["Show me  the\tmoney!", " the money,\nthe way "],
)
VOCABULARY.case(
    "sentences without words", "nothing comes from an empty sentence", ["", "me and you", "  "]
)


@VOCABULARY.draws
def _(rng, size):
    return ([_sentence(rng, min(size, 20)) for _ in range(axis(rng, size, 0))],)


@VOCABULARY.invariant("no token stands twice", "each token has one place in the list")
def _(answer):
    tokens = list(answer([*_WAY, *_LIFE, "Show your LINE"]))
    again = [token for token, times in Counter(tokens).items() if times > 1]
    if again:
        return f"{show(again[0])} stands in the list {tokens.count(again[0])} times."
    if len(tokens) != 4 + 5 + 5:
        return f"Text of ten different words gives {len(tokens)} tokens: 14 are due."
    return True


@VOCABULARY.invariant(
    "more text keeps the old ids", "sentences that come later only add to the end of the list"
)
def _(answer):
    before, after = list(answer(_WAY)), list(answer(_WAY + _LIFE))
    if len(after) <= len(before):
        return f"More text gives {len(after)} tokens, and {len(before)} were there before."
    return same(after[: len(before)], before)


@VOCABULARY.right
def joins_the_text_first(sentences):
    return SPECIAL + list(dict.fromkeys(" ".join(sentences).lower().split()))


@VOCABULARY.right
def numbers_the_words_in_a_dictionary(sentences):
    ids = {token: number for number, token in enumerate(SPECIAL)}
    for sentence in sentences:
        for word in re.split(r"\s+", sentence):
            if word:
                ids.setdefault(word.lower(), len(ids))
    return tuple(ids)


@VOCABULARY.mistake(
    "You sorted the words: they keep the order in which they first appear, or every new text "
    "would change the ids of the old words."
)
def sorts_the_words(sentences):
    return SPECIAL + sorted(set(_vocabulary(sentences)) - set(SPECIAL))


@VOCABULARY.mistake("You added a word each time it occurs: add it only if it is not there yet.")
def keeps_repetitions(sentences):
    return SPECIAL + [word for sentence in sentences for word in sentence.lower().split()]


@VOCABULARY.mistake(
    "You looked for repetitions within each sentence only: a word may have come in an earlier one."
)
def keeps_repetitions_across_sentences(sentences):
    return SPECIAL + [w for text in sentences for w in dict.fromkeys(text.lower().split())]


@VOCABULARY.mistake("The special tokens are missing: they come first.")
def forgets_the_special_tokens(sentences):
    return _vocabulary(sentences)[4:]


@VOCABULARY.mistake("The special tokens stand at the end: they come first, so that <pad> is 0.")
def puts_the_special_tokens_last(sentences):
    return _vocabulary(sentences)[4:] + SPECIAL


@VOCABULARY.mistake("You collected letters: split each sentence into words first.")
def collects_letters(sentences):
    return SPECIAL + list(dict.fromkeys("".join(sentences).lower()))


@VOCABULARY.mistake("Show and show are two words in yours: turn the letters into lower case first.")
def tells_capitals_apart(sentences):
    return SPECIAL + list(dict.fromkeys(" ".join(sentences).split()))


@VOCABULARY.mistake(
    "You looked the word up before you turned it into lower case: Show is then new each time."
)
def lowers_after_the_question(sentences):
    found = list(SPECIAL)
    for sentence in sentences:
        for word in sentence.split():
            if word not in found:
                found.append(word.lower())
    return found


@VOCABULARY.mistake(
    'You cut at single spaces: split(" ") makes empty words of two spaces and does not cut at tabs '
    "and new lines. split() without an argument does."
)
def cuts_at_single_spaces(sentences):
    words = [word for sentence in sentences for word in sentence.lower().split(" ")]
    return list(dict.fromkeys([*SPECIAL, *words]))


@VOCABULARY.mistake(
    "You took the marks off the words: a word is what split() gives, marks and all."
)
def takes_off_the_marks(sentences):
    words = [word for sentence in sentences for word in re.findall(r"\w+", sentence.lower())]
    return list(dict.fromkeys([*SPECIAL, *words]))


# --- 1.2 ----------------------------------------------------------------------------------------


def _encode(sentence, vocabulary):
    def find(token):
        return vocabulary.index(token if token in vocabulary else "<unk>")

    return [find(token) for token in ("<start>", *sentence.lower().split(), "<end>")]


ENCODE = Exercise(
    id="1.2",
    title="From words to ids",
    answer="encode",
    signature="encode(sentence, vocabulary)",
    oracle=_encode,
    hints=(
        "What should happen to a word that the vocabulary does not contain?",
        "A dictionary {token: id}; then [id of <start>] + the words' ids + [id of <end>], where "
        "a missing word gets the id of <unk>: ids.get(word, ids['<unk>']).",
        "A string and a list of strings in, a list of whole numbers out, two more than words.",
    ),
    example=Example(
        ("Help us", [*SPECIAL, "help", "me"]),
        '"Help us" with the words help (4) and me (5) should give [1, 4, 3, 2].',
    ),
    clauses={
        "the id of `<start>`, the ids of the words": "known words only",
        "in lower case": "known words come back",
        "Words are again what `split()` gives": "gaps and marks",
        "A word that is not in the vocabulary becomes `<unk>`": "an unknown word",
        "not every vocabulary has them in the same places": "a vocabulary in another order",
        "A sentence without words gives `<start>` and `<end>`": "an empty sentence has two ends",
        "a string and a list of tokens -> a list of ids": DRAWN,
    },
    coincidences={
        "argument 2: never a single item": "every vocabulary has the special tokens",
        "argument 2: no item occurs twice": "a token has one id",
    },
)
_WORDS = _vocabulary(_WAY)
_FOREIGN = ["line", "<unk>", "your", "<end>", "life", "on", "<start>", "not", "<pad>"]
ENCODE.case("known words only", "the place of each word in the list", "show the way", _WORDS)
ENCODE.case("an unknown word", "honey becomes <unk>", "Show me the honey or money", _WORDS)
ENCODE.case(
    "a vocabulary in another order",
    "special tokens are where this list has them, not at 1, 2 and 3",
    "Not on your boat",
    _FOREIGN,
)
ENCODE.case(
    "gaps and marks",
    "“money!” is not in the list, and two spaces are one gap",
    " the  money!\tthe\nway ",
    _WORDS,
)


@ENCODE.draws
def _(rng, size):
    words = list(dict.fromkeys(word.lower() for word in _TYPED))
    known = _in_any_order(rng, words)[: axis(rng, size, 0)]
    vocabulary = [*SPECIAL, *known]
    return _sentence(rng, size), _in_any_order(rng, vocabulary) if chance(rng) else vocabulary


@ENCODE.invariant("an empty sentence has two ends", "no words give <start> and <end>")
def _(answer):
    return same(answer("", _WORDS), [1, 2]) and same(answer(" ", _FOREIGN), [6, 3])


@ENCODE.invariant("known words come back", "vocabulary[id] is the word again")
def _(answer):
    ids = answer("THE way the money", _WORDS)
    return same([_WORDS[int(i)] for i in ids], ["<start>", "the", "way", "the", "money", "<end>"])


@ENCODE.right
def looks_each_token_up(sentence, vocabulary):
    found = []
    for token in f"<start> {sentence.lower()} <end>".split():
        found.append(vocabulary.index(token) if token in vocabulary else vocabulary.index("<unk>"))
    return tuple(found)


@ENCODE.right
def gives_an_array(sentence, vocabulary):
    tokens = np.array(["<start>", *sentence.lower().split(), "<end>"])
    matches = tokens[:, None] == np.array(vocabulary)
    return np.where(matches.any(1), matches.argmax(1), vocabulary.index("<unk>"))


def _with_ends(ids, vocabulary):
    return [vocabulary.index("<start>"), *ids, vocabulary.index("<end>")]


@ENCODE.mistake("You left unknown words out: each of them becomes <unk>.")
def leaves_out_unknown_words(sentence, vocabulary):
    words = [word for word in sentence.lower().split() if word in vocabulary]
    return _with_ends(map(vocabulary.index, words), vocabulary)


@ENCODE.mistake("You gave unknown words the id of <pad>, which means nothing is there: use <unk>.")
def takes_pad_for_unknown(sentence, vocabulary):
    pad, unk = vocabulary.index("<pad>"), vocabulary.index("<unk>")
    return [pad if i == unk else i for i in _encode(sentence, vocabulary)]


@ENCODE.mistake(
    "You took 1, 2 and 3 for the ids of the special tokens: look them up in this vocabulary."
)
def assumes_the_special_ids(sentence, vocabulary):
    ids = {token: number for number, token in enumerate(vocabulary)}
    return [1, *(ids.get(word, 3) for word in sentence.lower().split()), 2]


@ENCODE.mistake("You took 3 for the id of <unk>: look it up in this vocabulary.")
def assumes_the_id_of_unk(sentence, vocabulary):
    ids = {token: number for number, token in enumerate(vocabulary)}
    return _with_ends((ids.get(word, 3) for word in sentence.lower().split()), vocabulary)


@ENCODE.mistake("<start> and <end> are missing around the words.")
def forgets_the_ends(sentence, vocabulary):
    return _encode(sentence, vocabulary)[1:-1]


@ENCODE.mistake("<end> is missing: without it a model never learns where to stop.")
def forgets_the_end(sentence, vocabulary):
    return _encode(sentence, vocabulary)[:-1]


@ENCODE.mistake("Words with a capital became unknown: turn the letters into lower case first.")
def does_not_lower(sentence, vocabulary):
    ids = {token: number for number, token in enumerate(vocabulary)}
    words = [ids.get(word, ids["<unk>"]) for word in sentence.split()]
    return _with_ends(words, vocabulary)


@ENCODE.mistake(
    'You cut at single spaces: split(" ") makes empty words of two spaces, and one of no text at '
    "all. split() without an argument does not."
)
def cuts_at_each_space(sentence, vocabulary):
    ids = {token: number for number, token in enumerate(vocabulary)}
    words = [ids.get(word, ids["<unk>"]) for word in sentence.lower().split(" ")]
    return _with_ends(words, vocabulary)


@ENCODE.mistake("You took the marks off the words: a word is what split() gives, marks and all.")
def ignores_the_marks(sentence, vocabulary):
    return _encode(" ".join(re.findall(r"\w+", sentence)), vocabulary)


@ENCODE.mistake(
    "The first token of this vocabulary became <unk>: 0 counts as false in Python, so ask whether "
    "the word is in the list, not whether its id is true."
)
def takes_zero_for_unknown(sentence, vocabulary):
    ids = {token: number for number, token in enumerate(vocabulary)}
    return _with_ends((ids.get(w) or ids["<unk>"] for w in sentence.lower().split()), vocabulary)


# --- 1.3 ----------------------------------------------------------------------------------------


def _pad(sequences, pad_id):
    longest = max(len(ids) for ids in sequences)
    return np.array([list(ids) + [pad_id] * (longest - len(ids)) for ids in sequences])


PAD = Exercise(
    id="1.3",
    title="A batch with padding",
    answer="pad_batch",
    signature="pad_batch(sequences, pad_id)",
    oracle=_pad,
    hints=(
        "How long must each row be, and what stands in the places that a short list leaves free?",
        "np.full((rows, columns), pad_id), then write each list into the beginning of its row.",
        "B lists in; (B, T) out, where T is the length of the longest list.",
    ),
    example=Example(([[7, 5], [4]], 0), "[[7, 5], [4]] and pad_id 0 should give [[7, 5], [4, 0]]."),
    clauses={
        "one row for each list of ids": "nothing but padding is added",
        "filled up on the right": "three lists",
        "with `pad_id`": "another pad_id",
        "to the length of the longest list": "the longest in the middle",
        "A list may be empty": "an empty list",
        "(B, T), whole numbers": DRAWN,
    },
)
_RAGGED = [[4, 7, 9], [5], [8, 6, 4, 11, 2]]
PAD.case("three lists", "each row filled up on the right to five places", _RAGGED, 0)
PAD.case("another pad_id", "the padding is pad_id, whatever it is", [[3, 1], [2] * 7], 13)
PAD.case(
    "the longest in the middle",
    "the longest list decides, wherever it stands",
    [[3], [2, 0], []],
    0,
)
PAD.case("an empty list", "a row of padding alone", [[], [5, 9, 5]], 300)


@PAD.draws
def _(rng, size):
    names = _names(rng, choice(rng, (1, 3, 13)))
    lengths = [axis(rng, size, 0) for _ in range(axis(rng, size))]
    place = int(rng.integers(len(lengths)))
    lengths[place] = max(1, lengths[place], size if size >= min(LONG) else 0)
    sequences = [[choice(rng, names) for _ in range(length)] for length in lengths]
    return sequences, choice(rng, (0, 0, 1, -1, -100, 300, names[0]))


@PAD.invariant("nothing but padding is added", "without the padding, the lists come back")
def _(answer):
    rows = np.asarray(answer(_RAGGED, -1))
    return same([[int(i) for i in row if i != -1] for row in rows], _RAGGED)


@PAD.invariant("equal lengths need no padding", "a batch of equal lengths stays as it is")
def _(answer):
    return same(answer([[2, 3, 5], [7, 11, 13]], 0), [[2, 3, 5], [7, 11, 13]])


@PAD.right
def appends_until_long_enough(sequences, pad_id):
    rows = [list(ids) for ids in sequences]
    while len({len(row) for row in rows}) > 1:
        longest = max(map(len, rows))
        for row in rows:
            if len(row) < longest:
                row.append(pad_id)
    return rows


@PAD.right
def asks_each_place(sequences, pad_id):
    longest = len(max(sequences, key=len))
    return np.array(
        [[ids[t] if t < len(ids) else pad_id for t in range(longest)] for ids in sequences],
        dtype=np.int32,
    )


@PAD.mistake("You padded on the left: the tokens come first, the padding follows.")
def pads_on_the_left(sequences, pad_id):
    longest = max(map(len, sequences))
    return np.array([[pad_id] * (longest - len(ids)) + list(ids) for ids in sequences])


@PAD.mistake("You cut all lists to the shortest: padding must not lose tokens.")
def cuts_to_the_shortest(sequences, pad_id):
    return np.array([ids[: min(map(len, sequences))] for ids in sequences])


@PAD.mistake("You took the last list for the longest: the longest may stand anywhere.")
def takes_the_last_for_the_longest(sequences, pad_id):
    length = len(sequences[-1])
    return np.array([(ids + [pad_id] * length)[:length] for ids in sequences])


@PAD.mistake("You took the first list for the longest: the longest may stand anywhere.")
def takes_the_first_for_the_longest(sequences, pad_id):
    length = len(sequences[0])
    return np.array([(ids + [pad_id] * length)[:length] for ids in sequences])


@PAD.mistake("You padded with 0: pad_id says which id to use, and it need not be 0.")
def pads_with_zero(sequences, pad_id):
    return _pad(sequences, 0)


@PAD.mistake("You repeated the last token: the free places get pad_id.")
def repeats_the_last_token(sequences, pad_id):
    longest = max(map(len, sequences))
    return np.array([ids + [ids[-1]] * (longest - len(ids)) for ids in sequences])


@PAD.mistake("There is a column too many: the longest list needs no padding.")
def adds_a_column(sequences, pad_id):
    return np.pad(_pad(sequences, pad_id), ((0, 0), (0, 1)), constant_values=pad_id)


@PAD.mistake("These are floats: ids must be whole numbers; np.full takes its type from pad_id.")
def makes_floats(sequences, pad_id):
    return _pad(sequences, pad_id).astype(float)


# --- 1.4 ----------------------------------------------------------------------------------------

ONE_HOT = Exercise(
    id="1.4",
    title="Find the bug: one-hot rows",
    answer="one_hot",
    signature="one_hot(ids, vocab_size)",
    oracle=lambda ids, vocab_size: ref.one_hot(ids, vocab_size),
    stands_for="one_hot",
    hints=(
        "Run a = [[0]] * 2, then a[0][0] = 1, and look at a. How many rows are there really?",
        "Row t has a 1 in column ids[t] and 0 elsewhere; make each row anew, or start from "
        "np.zeros((len(ids), vocab_size)).",
        "T ids in, (T, V) out.",
    ),
    example=Example(([2, 0], 3), "ids [2, 0] of 3 should give [[0, 0, 1], [1, 0, 0]]."),
    clauses={
        "Every row of the result has several ones": "a single one in each row",
        "all rows are the same": "five ids of seven",
        "(T, V)": DRAWN,
    },
)
ONE_HOT.case("five ids of seven", "one 1 in each row, in the column of its id", [3, 6, 1, 4, 2], 7)
ONE_HOT.case("an id that occurs twice", "two equal ids give two equal rows", [10, 2, 10], 11)
ONE_HOT.case("one id", "one row, and still two axes", [1], 5)


@ONE_HOT.draws
def _(rng, size):
    vocab_size = stretch(rng, 2 * size)
    return draw_ids(rng, (stretch(rng, size),), vocab_size).tolist(), vocab_size


@ONE_HOT.invariant("a single one in each row", "each row sums to 1")
def _(answer):
    return same(np.sum(answer([2, 0, 1, 2, 4], 5), axis=1), np.ones(5))


@ONE_HOT.invariant("it picks rows of a matrix", "one-hot rows times a matrix are rows of it")
def _(answer):
    matrix, ids = np.arange(39.0).reshape(13, 3), [12, 5, 0, 5, 7]
    return same(answer(ids, 13) @ matrix, matrix[ids])


@ONE_HOT.right
def makes_each_row_anew(ids, vocab_size):
    rows = [[0.0] * vocab_size for _ in ids]
    for row, token in zip(rows, ids, strict=True):
        row[token] = 1.0
    return rows


@ONE_HOT.right
def picks_whole_numbers(ids, vocab_size):
    return np.eye(vocab_size, dtype=int)[ids]


@ONE_HOT.right
def compares_with_each_column(ids, vocab_size):
    return (np.array(ids)[:, None] == np.arange(vocab_size)).astype(float)


@ONE_HOT.mistake(
    "All rows are still the same, because each 1 is written into all of them: [row] * n is one "
    "list n times, and rows[:, ids] means every row. Each row gets the 1 of its own id alone."
)
def keeps_the_bug(ids, vocab_size):
    rows = [[0.0] * vocab_size] * len(ids)
    for row, token in zip(rows, ids, strict=True):
        row[token] = 1.0
    return np.array(rows)


@ONE_HOT.mistake("You wrote the id itself into its column: one-hot rows hold a 1.")
def writes_the_id(ids, vocab_size):
    return (np.asarray(ids)[:, None] == np.arange(vocab_size)) * np.asarray(ids)[:, None]


@ONE_HOT.mistake("These are True and False: turn them into numbers, with .astype(float).")
def makes_booleans(ids, vocab_size):
    return np.array(ids)[:, None] == np.arange(vocab_size)


@ONE_HOT.mistake("You counted from 1: id 0 belongs to the first column.")
def counts_from_one(ids, vocab_size):
    rows = np.zeros((len(ids), vocab_size))
    rows[np.arange(len(ids)), np.array(ids) - 1] = 1.0
    return rows


@ONE_HOT.mistake("You added all rows up into one: each id needs a row of its own.")
def adds_the_rows_up(ids, vocab_size):
    return np.eye(vocab_size)[ids].sum(axis=0)


@ONE_HOT.mistake("Tokens stand in columns: each token has a row, (T, V).")
def puts_tokens_in_columns(ids, vocab_size):
    return np.eye(vocab_size)[ids].T


@ONE_HOT.mistake("These are the rows of np.eye in order: pick the row of each id, np.eye(V)[ids].")
def takes_the_first_rows(ids, vocab_size):
    return np.eye(len(ids), vocab_size)


@ONE_HOT.mistake(
    "You made as many columns as the largest id needs: there are vocab_size of them, whichever "
    "ids occur."
)
def stops_at_the_largest_id(ids, vocab_size):
    return np.eye(max(ids) + 1)[ids]


# --- 1.5 ----------------------------------------------------------------------------------------


def _pair_counts(words):
    return Counter(pair for word in words for pair in pairwise(word))


def _first_of_most(counts):
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _most_frequent(words):
    counts = _pair_counts(words)
    most = max(counts.values())
    return min(pair for pair, count in counts.items() if count == most)


PAIR = Exercise(
    id="1.5",
    title="The most frequent pair",
    answer="most_frequent_pair",
    signature="most_frequent_pair(words)",
    oracle=_most_frequent,
    hints=(
        "Which pairs of neighbours does the word [7, 5, 7, 5] have, and how often each?",
        "counts = Counter(pair for word in words for pair in zip(word, word[1:])); then the pair "
        "with the largest count, and among equals the smallest pair.",
        "A list of lists of ids in, one pair of ids out.",
    ),
    example=Example(
        ([[7, 5, 7, 5], [5, 7]],),
        "[[7, 5, 7, 5], [5, 7]] has 7·5 twice and 5·7 twice: of equals the smaller, so (5, 7).",
    ),
    clauses={
        "the pair of neighbours that occurs most often": "nine words",
        "in all words together": "a word that occurs three times",
        "the one with the smaller left id": "equally frequent pairs",
        "and then with the smaller right id": "equal left ids",
        "Count every pair of neighbours": "a pair that overlaps itself",
        "7 7 7 holds the pair (7, 7) twice": "a pair that overlaps itself",
        "others may have one or none": DRAWN,
        "a list of lists of ids -> (left, right)": "the order of the words does not matter",
    },
)
# 5·9 occurs four times; across the words 8·2 would occur five times; 9·3 is in most words.
_SPLIT = [[2, 9, 3, 8], [2, 3, 9, 3, 8], [2, 11, 8], [2, 13, 8], [2, 5, 9]]
_SPLIT += [[5, 9, 5, 9, 5, 9, 8], [2, 7], [8], [9, 3]]
# 13·2, 11·3 and 3·17 occur three times each, 13·2 first.
_TIES = [[13, 2, 13, 2], [11, 3, 17], [11, 3, 17, 13, 2], [5, 11, 3, 17, 5]]
PAIR.case("nine words", "pairs are counted within words, in all words together", _SPLIT)
PAIR.case("equally frequent pairs", "of equals the one with the smaller left id", _TIES)
PAIR.case(
    "equal left ids", "of equals with one left id the smaller right id", [[4, 10, 4, 9], [4, 30]]
)
PAIR.case(
    "a word that occurs three times",
    "a pair counts in each word, also in one that was there before",
    [[4, 8], [3, 5], [6, 3, 5], [4, 8], [4, 8]],
)
PAIR.case("a pair that overlaps itself", "2·2 occurs three times in 2 2 2 2", [[2] * 4, [3, 5] * 2])


@PAIR.draws
def _(rng, size):
    names = _names(rng, choice(rng, (1, 2, 3, 5, 13)))
    lengths = [axis(rng, size, 0) for _ in range(axis(rng, size))]
    place = int(rng.integers(len(lengths)))
    lengths[place] = max(2, lengths[place], size if size >= min(LONG) else 0)
    words = [[choice(rng, names) for _ in range(length)] for length in lengths]
    again = words if chance(rng, 0.3) else []  # a word that occurs several times
    return (words + [list(choice(rng, again)) for _ in range(axis(rng, 3, 0)) if again],)


@PAIR.invariant(
    "the order of the words does not matter", "the same words in another order, the same pair"
)
def _(answer):
    return all(
        same(answer(words[::-1]), answer(words)) and same(answer(words), _most_frequent(words))
        for words in (_SPLIT, _TIES)
    )


@PAIR.right
def counts_in_a_dictionary(words):
    counts, best = {}, None
    for word in words:
        for i in range(len(word) - 1):
            pair = word[i], word[i + 1]
            counts[pair] = counts.get(pair, 0) + 1
    for pair in sorted(counts):
        if best is None or counts[pair] > counts[best]:
            best = pair
    return list(best)


@PAIR.right
def counts_with_unique(words):
    pairs = np.array([pair for word in words for pair in pairwise(word)])
    found, counts = np.unique(pairs, axis=0, return_counts=True)  # sorted, so argmax is the first
    return found[counts.argmax()]


@PAIR.mistake(
    "Among equally frequent pairs you took the one that occurs first: take the smallest, or the "
    "order of the texts decides what is learned."
)
def takes_the_first_of_equals(words):
    return _pair_counts(words).most_common(1)[0][0]


@PAIR.mistake("Among equally frequent pairs you took the largest: take the smallest.")
def takes_the_largest_of_equals(words):
    counts = _pair_counts(words)
    return max(counts, key=lambda pair: (counts[pair], pair))


@PAIR.mistake(
    "Among equally frequent pairs you looked at the right id first: the left one decides, and "
    "the right one only if the left ones are equal."
)
def compares_right_ids_first(words):
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (-counts[pair], pair[::-1]))


@PAIR.mistake(
    "Among equally frequent pairs with one left id you took the first: take the smaller right id."
)
def compares_left_ids_only(words):
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (-counts[pair], pair[0]))


@PAIR.mistake("Your pairs reach from one word into the next: count within each word.")
def counts_across_words(words):
    return _most_frequent([list(chain.from_iterable(words))])


@PAIR.mistake("You counted a pair once for each word: it counts as often as it occurs.")
def counts_once_a_word(words):
    return _first_of_most(Counter(pair for word in words for pair in set(pairwise(word))))


@PAIR.mistake("You counted each different word once: a word counts as often as it occurs.")
def counts_each_word_once(words):
    return _most_frequent([list(word) for word in dict.fromkeys(map(tuple, words))])


@PAIR.mistake(
    "You returned the pair together with its count, as most_common gives it: the pair alone is "
    "asked for."
)
def returns_the_count_as_well(words):
    return _pair_counts(words).most_common(1)[0]


@PAIR.mistake("You took 5·9 and 9·5 for the same pair: the order of the two matters.")
def ignores_the_order(words):
    pairs = (tuple(sorted(pair)) for word in words for pair in pairwise(word))
    return _first_of_most(Counter(pairs))


@PAIR.mistake("That is the smallest pair of all: the most frequent one is asked for.")
def takes_the_smallest_pair(words):
    return min(_pair_counts(words))


@PAIR.mistake(
    "You cut the word into pairs one after the other and missed those in between: neighbours are "
    "zip(word, word[1:])."
)
def skips_every_other_pair(words):
    pairs = (pair for word in words for pair in zip(word[::2], word[1::2], strict=False))
    return _first_of_most(Counter(pairs))


@PAIR.mistake(
    "You did not count pairs that overlap: 7 7 7 holds 7·7 twice, once from each place but the "
    "last."
)
def skips_overlapping_pairs(words):
    counts = Counter()
    for word in words:
        for pair in set(pairwise(word)):
            counts[pair] += len(word) - len(_merge(word, pair, None))
    return _first_of_most(counts)


# --- 1.6 ----------------------------------------------------------------------------------------


def _merge(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == tuple(pair)
        out.append(new_id if found else ids[i])
        i += 2 if found else 1
    return out


MERGE = Exercise(
    id="1.6",
    title="Merge a pair",
    answer="merge",
    signature="merge(ids, pair, new_id)",
    oracle=_merge,
    hints=(
        "After you have merged the tokens at places i and i + 1, at which place do you go on?",
        "While i < len(ids): if ids[i] and ids[i + 1] are the pair, append new_id and move on by "
        "2; otherwise append ids[i] and move on by 1.",
        "A list of T ids in, a list of at most T ids out.",
    ),
    example=Example(
        ([7, 5, 2, 7, 5], (7, 5), 256),
        "7·5 in [7, 5, 2, 7, 5] should become 256: [256, 2, 256].",
    ),
    clauses={
        "a new list in which": "no such pair",
        "each occurrence of the pair has become `new_id`": "several pairs",
        "Go from left to right": "overlapping pairs",
        "where occurrences overlap, merge the first": "overlapping pairs",
        "a list of ids, (left, right), an id -> a list of ids": DRAWN,
    },
)
_LONG = [5, 7, 5, 7, 7, 5, 5, 7, 11, 5]
MERGE.case("several pairs", "each 5·7 becomes 256, 7·5 stays", _LONG, (5, 7), 256)
MERGE.case("overlapping pairs", "of 3 3 3 merge the first two", [3, 3, 3, 2, 3, 3], (3, 3), 300)
MERGE.case("a pair at the end", "the last two can be a pair, too", [2, 11, 13], (11, 13), 257)
MERGE.case("no such pair", "a pair that does not occur changes nothing", [2, 3, 5], (5, 2), 258)
MERGE.case("no ids", "an empty list stays empty", [], (2, 3), 256)
MERGE.case("ids of several digits", "11·1 is not 1·11", [1, 11, 1, 111, 1, 11], (11, 1), 2)


@MERGE.draws
def _(rng, size):
    names = _names(rng, choice(rng, (2, 3, 4, 7)))
    new_id = names.pop()
    found = [choice(rng, names) for _ in range(stretch(rng, 2 * size, 0))]
    pair = choice(rng, names), choice(rng, names)
    if len(found) > 1 and chance(rng):
        place = int(rng.integers(len(found) - 1))
        pair = tuple(found[place : place + 2])
    return found, pair, 256 if chance(rng) and 256 not in names else new_id


@MERGE.invariant("it can be undone", "new_id written out as the pair gives the ids again")
def _(answer):
    def undone(ids, pair):
        merged = answer(ids, pair, 999)
        return list(chain.from_iterable(pair if i == 999 else (i,) for i in merged))

    return same(undone(_LONG, (5, 7)), _LONG) and same(undone([3] * 7, (3, 3)), [3] * 7)


@MERGE.invariant("no pair is left", "after merging, the pair does not occur any more")
def _(answer):
    for ids, pair in ((_LONG, (5, 7)), (_LONG, (7, 5)), ([2] * 5, (2, 2))):
        left = list(pairwise(list(answer(ids, pair, 999)))).count(pair)
        if left:
            return f"In {show(ids)} the pair {show(pair)} is left {left} times."
    return True


@MERGE.right
def replaces_in_a_string(ids, pair, new_id):
    symbols = "".join(map(chr, ids))
    return [ord(symbol) for symbol in symbols.replace(chr(pair[0]) + chr(pair[1]), chr(new_id))]


@MERGE.right
def looks_back_at_what_it_wrote(ids, pair, new_id):
    out = []
    for token in ids:
        # new_id is new, so a merged token is never a left partner again.
        if out and (out[-1], token) == pair:
            out[-1] = new_id
        else:
            out.append(token)
    return tuple(out)


@MERGE.mistake(
    "After a merge you went on by one place: both tokens are used up, so move on by two."
)
def uses_the_right_partner_again(ids, pair, new_id):
    out = []
    for i, token in enumerate(ids):
        out.append(new_id if tuple(ids[i : i + 2]) == tuple(pair) else token)
    return out


@MERGE.mistake("You merged from right to left: in 3 3 3 the first two are the pair.")
def merges_from_the_right(ids, pair, new_id):
    return _merge(ids[::-1], tuple(pair)[::-1], new_id)[::-1]


@MERGE.mistake("You merged the first occurrence only: merge every one.")
def merges_once(ids, pair, new_id):
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == tuple(pair):
            return [*ids[:i], new_id, *ids[i + 2 :]]
    return list(ids)


@MERGE.mistake(
    "Nothing was merged: a list never equals a tuple in Python, so compare "
    "tuple(ids[i:i + 2]) with the pair."
)
def compares_list_with_tuple(ids, pair, new_id):
    return list(ids)


@MERGE.mistake("You merged 7·5 as well as 5·7: the order of the two matters.")
def merges_either_order(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        found = sorted(ids[i : i + 2]) == sorted(pair)
        out.append(new_id if found else ids[i])
        i += 2 if found else 1
    return out


@MERGE.mistake("The last token is lost when it is not part of a pair: the loop ends too early.")
def loses_the_last_token(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids) - 1:
        found = (ids[i], ids[i + 1]) == tuple(pair)
        out.append(new_id if found else ids[i])
        i += 2 if found else 1
    return out


@MERGE.mistake("You dropped the tokens that are not part of a pair: they stay as they are.")
def keeps_merged_tokens_only(ids, pair, new_id):
    return [token for token in _merge(ids, pair, new_id) if token == new_id]


# --- 1.7 ----------------------------------------------------------------------------------------


def _encode_bytes(text, merges):
    ids = list(text.encode("utf-8"))
    for number, pair in enumerate(merges):
        ids = _merge(ids, pair, 256 + number)
    return ids


def _learn(text, count):
    """The first merges of a text, as one word."""
    merges = []
    for _ in range(count):
        merges.append(_most_frequent([_encode_bytes(text, merges)]))
    return merges


_ALPHABETS = ("ab", "ab ", "aaab", "one my", "öüöa ", "a\n b", "ご飯a", "🙂é€ x", "\0a", "u\u0308")


def _letters(rng, size, alphabet):
    return "".join(choice(rng, alphabet) for _ in range(stretch(rng, size, 0)))


def _learned(rng, text, count):
    """Merges that a text might teach, not all of them frequent, and some from another text."""
    ids, merges = list(text.encode("utf-8")), []
    for _ in range(count):
        known = [*set(ids), *range(256, 256 + len(merges))]
        if len(ids) > 1 and chance(rng, 0.8):
            place = int(rng.integers(len(ids) - 1))
            pair = ids[place], ids[place + 1]
            if chance(rng):
                pair = _most_frequent([ids])
        elif known:
            pair = choice(rng, known), choice(rng, known)
        else:
            pair = int(rng.integers(256)), int(rng.integers(256))
        if pair not in merges:
            ids = _merge(ids, pair, 256 + len(merges))
            merges.append(pair)
    return merges


ENCODE_BYTES = Exercise(
    id="1.7",
    title="Encode with merges",
    answer="encode_bytes",
    signature="encode_bytes(text, merges)",
    oracle=_encode_bytes,
    hints=(
        "Which merge must come first: the one that is longest, the one that stands first in the "
        "text, or the one that was learned first?",
        "ids = list(text.encode('utf-8')); for number, pair in enumerate(merges): merge the pair "
        "into 256 + number.",
        "A string and a list of pairs in, a list of ids out; without merges, one id a byte.",
    ),
    example=Example(
        ("that", [(97, 116), (104, 256)]),
        '"that" with the merges a·t (256) and h·256 (257) should give [116, 257].',
    ),
    clauses={
        "the bytes of the text": "without merges it is the bytes",
        "then merged": "no merge that was learned is left undone",
        "in the order in which they were learned": "merges that compete",
        "pair number $k$ makes the id $256 + k$": "merges on merges",
        "Treat the text as one single word": "merges across spaces",
        "a string, a list of pairs -> a list of ids": DRAWN,
    },
    coincidences={"argument 2: no item occurs twice": "a merged pair is not left to be learned"},
)
# n·e comes before o·n, so "one" is o·ne although on·e begins earlier; then ney, mo, money, hon.
_MONEY = [(110, 101), (111, 110), (256, 121), (109, 111), (259, 258), (104, 257)]
_BANANA = _learn("bananabandana", 3)
ENCODE_BYTES.case("merges that compete", "the merge learned first wins", "money one honey", _MONEY)
ENCODE_BYTES.case("merges on merges", "later merges join earlier ones", "bananas", _BANANA)
ENCODE_BYTES.case(
    "letters of two bytes", "ids are of bytes, not of characters", "Öl für 5 €", [(195, 182)]
)
ENCODE_BYTES.case(
    "merges across spaces",
    "a space is a byte like any other, and a merge may reach across it",
    "to be or to be",
    [(111, 32), (116, 256), (98, 101), (257, 258)],
)


@ENCODE_BYTES.draws
def _(rng, size):
    alphabet, size = choice(rng, _ALPHABETS), min(size, 40)
    written = _letters(rng, 2 * size, alphabet)
    taught = written if chance(rng, 0.7) else _letters(rng, 2 * size, alphabet)
    return written, _learned(rng, taught, stretch(rng, size, 0))


@ENCODE_BYTES.invariant("without merges it is the bytes", "no merges leave the bytes of UTF-8")
def _(answer):
    texts = ("plain", "schön 🙂", "ご飯")
    return all(same(answer(text, []), list(text.encode("utf-8"))) for text in texts)


@ENCODE_BYTES.invariant(
    "no merge that was learned is left undone", "no learned pair stands in the result"
)
def _(answer):
    ids = list(answer("one money, two moneys, no honey", _MONEY))
    left = set(pairwise(ids)) & set(_MONEY)
    if left:
        return f"The pair {show(min(left))} was learned and still stands in the result."
    return len(ids) > 1 or "A text of 31 bytes and six merges gives more than one token."


@ENCODE_BYTES.right
def merges_the_earliest_pair_that_is_left(text, merges):
    ranks, ids = {tuple(pair): 256 + k for k, pair in enumerate(merges)}, list(text.encode())
    while True:
        known = [ranks[pair] for pair in pairwise(ids) if pair in ranks]
        if not known:
            return ids
        ids = _merge(ids, merges[min(known) - 256], min(known))


@ENCODE_BYTES.right
def deletes_the_right_partner(text, merges):
    ids = [int(byte) for byte in bytearray(text, "utf-8")]
    for number, (left, right) in enumerate(merges):
        i = 0
        while i + 1 < len(ids):
            if ids[i] == left and ids[i + 1] == right:
                ids[i : i + 2] = [256 + number]
            i += 1
    return np.array(ids) if ids else ids


@ENCODE_BYTES.mistake("You applied the last merge first: later merges need what earlier ones make.")
def applies_merges_backwards(text, merges):
    ids = list(text.encode("utf-8"))
    for number, pair in reversed(list(enumerate(merges))):
        ids = _merge(ids, pair, 256 + number)
    return ids


@ENCODE_BYTES.mistake(
    "You took the longest token that fits at each place: merges are applied in the order in which "
    "they were learned."
)
def takes_the_longest(text, merges):
    pieces, rest, ids = _pieces(merges), text.encode("utf-8"), []
    while rest:
        found = max(
            (number for number, piece in enumerate(pieces) if rest.startswith(piece)),
            key=lambda number: len(pieces[number]),
        )
        ids.append(found)
        rest = rest[len(pieces[found]) :]
    return ids


@ENCODE_BYTES.mistake("You used ord of the characters: ö is one character but two bytes.")
def takes_code_points(text, merges):
    ids = [ord(character) for character in text]
    for number, pair in enumerate(merges):
        ids = _merge(ids, pair, 256 + number)
    return ids


@ENCODE_BYTES.mistake("You counted merges from 1: the first one makes the id 256.")
def counts_merges_from_one(text, merges):
    ids = list(text.encode("utf-8"))
    for number, pair in enumerate(merges, 1):
        ids = _merge(ids, pair, 256 + number)
    return ids


@ENCODE_BYTES.mistake("You merged only bytes: later merges join ids that earlier ones have made.")
def merges_bytes_only(text, merges):
    ids = list(text.encode("utf-8"))
    for number, pair in enumerate(merges):
        if max(pair) < 256:
            ids = _merge(ids, pair, 256 + number)
    return ids


@ENCODE_BYTES.mistake("You stopped after the first merge: apply them all.")
def applies_the_first_merge(text, merges):
    return _encode_bytes(text, merges[:1])


@ENCODE_BYTES.mistake("You merged each pair only where it occurs first: merge every occurrence.")
def merges_each_pair_once(text, merges):
    ids = list(text.encode("utf-8"))
    for number, pair in enumerate(merges):
        ids = merges_once(ids, pair, 256 + number)
    return ids


@ENCODE_BYTES.mistake(
    "You cut the text into words first: here it is one single word, and a merge may reach across "
    "a space."
)
def merges_within_words(text, merges):
    return [i for word in re.findall(r"\s?\S+|\s", text) for i in _encode_bytes(word, merges)]


@ENCODE_BYTES.mistake("You left the spaces out: a space is a byte like any other.")
def loses_the_spaces(text, merges):
    return _encode_bytes("".join(text.split()), merges)


# --- 1.8 ----------------------------------------------------------------------------------------


def _pieces(merges):
    pieces = {number: bytes((number,)) for number in range(256)}
    for number, (left, right) in enumerate(merges, 256):
        pieces[number] = pieces[left] + pieces[right]
    return list(pieces.values())


def _decode_bytes(ids, merges):
    pieces = _pieces(merges)
    return b"".join(pieces[i] for i in ids).decode("utf-8")


DECODE_BYTES = Exercise(
    id="1.8",
    title="Nothing is lost",
    answer="decode_bytes",
    signature="decode_bytes(ids, merges)",
    oracle=_decode_bytes,
    hints=(
        "Which bytes does the id 256 stand for, and which the id of a merge of two merges?",
        "pieces = the 256 single bytes; for each merge append pieces[left] + pieces[right]; join "
        "the pieces of all ids, then decode once.",
        "A list of ids and a list of pairs in, one string out.",
    ),
    example=Example(
        ([116, 257], [(97, 116), (104, 256)]),
        '[116, 257] with the merges a·t (256) and h·256 (257) should give "that".',
    ),
    clauses={
        "encoding can be undone": "every text comes back",
        "the text behind the ids": "merges on merges",
        "in several scripts": "every text comes back",
        "with and without merges": "other merges, same text",
        "a list of ids, a list of pairs -> a string": DRAWN,
    },
    coincidences={"argument 2: no item occurs twice": "a merged pair is not left to be learned"},
)
_UMLAUT = [(182, 110), (195, 256), (99, 104)]  # the second byte of ö with n, then the first
DECODE_BYTES.case("merges on merges", "each id is a fixed string of bytes", [98, 260, 261], _MONEY)
DECODE_BYTES.case(
    "a character cut in two",
    "tokens may share a character: join all bytes first, then decode",
    [115, 258, 195, 256, 101, 33],
    _UMLAUT,
)


@DECODE_BYTES.draws
def _(rng, size):
    alphabet, size = choice(rng, _ALPHABETS), min(size, 40)
    written = _letters(rng, 2 * size, alphabet)
    merges = _learned(rng, written, stretch(rng, size, 0))
    share, found = choice(rng, (0.0, 0.3)), []
    for i in _encode_bytes(written, merges):
        # Some ids written out as their pair: other ids of the same text.
        found += merges[i - 256] if i >= 256 and chance(rng, share) else (i,)
    return found, merges


@DECODE_BYTES.invariant("every text comes back", "decoding what was encoded gives the text again")
def _(answer):
    texts = ("one money, no honey", "schön schöne Öne 🙂", "ご飯 on the 飯", "naïve €")
    return all(
        same(answer(_encode_bytes(text, merges), merges), text)
        for text in texts
        for merges in ([], _MONEY, _UMLAUT)
    )


@DECODE_BYTES.invariant(
    "other merges, same text", "a text is the same however it was merged: merges only save tokens"
)
def _(answer):
    text = "banana, one ban"
    return all(
        same(answer(_encode_bytes(text, merges), merges), text) for merges in (_BANANA, _MONEY, [])
    )


@DECODE_BYTES.right
def takes_merges_back_from_the_last(ids, merges):
    ids = list(ids)
    for number, pair in reversed(list(enumerate(merges))):
        ids = [part for i in ids for part in (pair if i == 256 + number else (i,))]
    return bytes(ids).decode("utf-8")


@DECODE_BYTES.right
def opens_each_id_by_recursion(ids, merges):
    def opened(i):
        return [i] if i < 256 else opened(merges[i - 256][0]) + opened(merges[i - 256][1])

    found = bytearray()
    for i in ids:
        found.extend(opened(i))
    return found.decode()


@DECODE_BYTES.mistake(
    "You decoded each token by itself: half a character is no text. Join all bytes first."
)
def decodes_token_by_token(ids, merges):
    pieces = _pieces(merges)
    return "".join(pieces[i].decode("utf-8", errors="replace") for i in ids)


@DECODE_BYTES.mistake(
    "You turned each byte into a character: ö has two bytes. Decode all bytes at once."
)
def takes_bytes_for_characters(ids, merges):
    pieces = _pieces(merges)
    return "".join(chr(byte) for i in ids for byte in pieces[i])


@DECODE_BYTES.mistake("You took ids for characters: a merged id stands for several bytes.")
def takes_ids_for_characters(ids, merges):
    return "".join(map(chr, ids))


@DECODE_BYTES.mistake("You joined each pair the wrong way round: left before right.")
def joins_right_before_left(ids, merges):
    return _join(ids, _pieces([pair[::-1] for pair in merges]))


@DECODE_BYTES.mistake("You put spaces between the tokens: a space is a byte of its own.")
def puts_spaces_between(ids, merges):
    pieces = _pieces(merges)
    return b" ".join(pieces[i] for i in ids).decode("utf-8", errors="replace")


@DECODE_BYTES.mistake("You dropped what is not English: decode as UTF-8, not as ASCII.")
def drops_what_is_not_ascii(ids, merges):
    return b"".join(map(_pieces(merges).__getitem__, ids)).decode("ascii", errors="ignore")


@DECODE_BYTES.mistake("You left out the merged ids: look up the pair behind each of them.")
def leaves_out_merges(ids, merges):
    return _join([i for i in ids if i < 256], _pieces(merges))


@DECODE_BYTES.mistake(
    "You opened each id only once, but a merge may hold an earlier merge: take merges back from "
    "the last to the first, or build the pieces up from the bytes."
)
def takes_merges_back_from_the_first(ids, merges):
    for number, pair in enumerate(merges):
        ids = [part for i in ids for part in (pair if i == 256 + number else (i,))]
    return bytes(i for i in ids if i < 256).decode("utf-8", errors="replace")


@DECODE_BYTES.mistake("You took the spaces at the ends away: they are part of the text.")
def strips_the_text(ids, merges):
    return _decode_bytes(ids, merges).strip()


def _join(ids, pieces):
    return b"".join(pieces[i] for i in ids).decode("utf-8", errors="replace")


# --- 1.9 ----------------------------------------------------------------------------------------

ONE_TOKEN = Exercise(
    id="1.9",
    title="One word, one token",
    answer="one_token",
    signature="one_token(word)",
    hints=(
        "After you have merged a pair everywhere in the word, what does the word look like?",
        "While more than one token is left: take two neighbours, note the pair, merge them into "
        "256 + number of the merge, and look at the word again.",
        "A string in, a list of pairs of ids out; a word of three different bytes needs two.",
    ),
    example=Example(
        ("that",),
        '"that" is the bytes 116, 104, 97, 116: one answer is [(116, 104), (256, 97), (257, 116)].',
    ),
    clauses={
        "makes the whole word a single token": "a word without repetitions",
        "whatever the word": DRAWN,
        "Pair number $k$ makes the id $256 + k$": THE_EXAMPLE,
        "every pair in the list must join something": "no merge is idle",
        "Try *banana* and *aaaa*": "words that repeat themselves",
        "a string of at least two bytes -> a list of pairs": "letters of several bytes",
    },
)


@ONE_TOKEN.accepting
def _(value, word):
    pairs = np.zeros((0, 2)) if isinstance(value, list | tuple) and not value else as_array(value)
    if pairs is None or pairs.ndim != 2 or pairs.shape[1] != 2:
        return "Expected a list of pairs of ids, such as [(116, 104), (256, 97)]."
    if pairs.dtype.kind not in "iuf" or (pairs % 1 != 0).any():
        return "The ids in the pairs must be whole numbers."
    tokens = list(word.encode("utf-8"))
    for number, pair in enumerate(pairs.astype(int).tolist()):
        merged = _merge(tokens, pair, 256 + number)
        if len(merged) == len(tokens):
            return f"Pair number {number}, {show(tuple(pair))}, joins nothing in {show(tokens)}."
        tokens = merged
    if len(tokens) > 1:
        return f"After your {len(pairs)} merges “{word}” still has {len(tokens)} tokens."
    return True


def _become_one_token(answer, words):
    for word in words:
        verdict = ONE_TOKEN.accepts(answer(word), word)
        if isinstance(verdict, str):
            return verdict
    return True


@ONE_TOKEN.draws
def _(rng, size):
    alphabet = choice(rng, ("a", "ab", "aaab", "bAnana", "abC dEfgh", "öüé", "ご飯a", "🙂é€x"))
    word = _letters(rng, min(size, 40), alphabet)
    return (word if len(word.encode("utf-8")) > 1 else choice(rng, ("ab", "aa", "ö", "飯", "🙂")),)


@ONE_TOKEN.invariant("a word without repetitions", "“the” and “bones” become one token each")
def _(answer):
    return _become_one_token(answer, ("the", "bones"))


@ONE_TOKEN.invariant(
    "words that repeat themselves", "“banana” and “mississippi” become one token each"
)
def _(answer):
    return _become_one_token(answer, ("banana", "mississippi", "aaaa"))


@ONE_TOKEN.invariant("one letter many times", "2, 3, 5, 7 and 11 times a become one token each")
def _(answer):
    return _become_one_token(answer, ["a" * n for n in (2, 3, 5, 7, 11)])


@ONE_TOKEN.invariant("letters of several bytes", "“schön”, “ご飯” and “🙂” become one token each")
def _(answer):
    return _become_one_token(answer, ("schön", "ご飯", "🙂"))


@ONE_TOKEN.invariant("no merge is idle", "every merge that you list joins something")
def _(answer):
    return _become_one_token(answer, ("barbara", "aaaaaa"))


@ONE_TOKEN.right
def merges_the_last_two(word):
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        merges.append([ids[-2], ids[-1]])
        ids = _merge(ids, merges[-1], 255 + len(merges))
    return merges


@ONE_TOKEN.right
def trains_on_the_word(word):
    return np.array(_trained(word))


def _trained(word):
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        merges.append(_most_frequent([ids]))
        ids = _merge(ids, merges[-1], 255 + len(merges))
    return merges


def _chain(ids):
    """Merge the first with the second, that with the third, and so on, as planned in advance."""
    return [(ids[0] if n == 0 else 255 + n, ids[n + 1]) for n in range(len(ids) - 1)]


@ONE_TOKEN.mistake(
    "You planned the chain in advance: but the first merge of aaaa merges two places at once, and "
    "the third a is gone. Look at the word again after each merge."
)
def plans_in_advance(word):
    return _chain(word.encode("utf-8"))


@ONE_TOKEN.mistake(
    "You listed neighbouring bytes: once two are merged, the next pair holds the new id, 256."
)
def lists_neighbours(word):
    return list(pairwise(word.encode("utf-8")))


@ONE_TOKEN.mistake("You used ord of the characters: work on the bytes, word.encode('utf-8').")
def works_on_characters(word):
    return _greedy([ord(character) for character in word], 256)


@ONE_TOKEN.mistake("You counted the new ids from 257: merge number 0 makes 256.")
def numbers_from_257(word):
    return _greedy(list(word.encode("utf-8")), 257)


@ONE_TOKEN.mistake("You stopped at two tokens: one more merge joins them.")
def stops_at_two(word):
    return _greedy(list(word.encode("utf-8")), 256)[:-1]


@ONE_TOKEN.mistake("The merges are in the wrong order: what a merge needs must be made before it.")
def lists_merges_backwards(word):
    return _greedy(list(word.encode("utf-8")), 256)[::-1]


@ONE_TOKEN.mistake(
    "You stopped when no pair occurs twice, as training does: here the whole word must become one."
)
def stops_when_nothing_repeats(word):
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        pair = _most_frequent([ids])
        if _pair_counts([ids])[pair] < 2:
            break
        merges.append(pair)
        ids = _merge(ids, pair, 255 + len(merges))
    return merges


def _greedy(ids, first):
    merges = []
    while len(ids) > 1:
        merges.append((ids[0], ids[1]))
        ids = _merge(ids, merges[-1], first + len(merges) - 1)
    return merges
