"""Answers to chapter 1 as learners write them.

Wrong ones with an input that shows it, right ones in other forms.
"""

import itertools
import re
import unicodedata
from collections import Counter

import numpy as np
from answers import right, wrong

SPECIAL = ["<pad>", "<start>", "<end>", "<unk>"]


def replace_pair(ids, pair, new_id):
    """A merge that works, for the answers that need one."""
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


# --- 1.1 ------------------------------------------------------------------------------------

STORIES = ["Show me the money!", "show  me\tthe way", "", "Not on your life!"]


@wrong("1.1", on=lambda: (["b a", "c b"],))
def vocabulary_sorted(sentences):
    """words in alphabetical order"""
    words = {word for sentence in sentences for word in sentence.lower().split()}
    return SPECIAL + sorted(words)


@wrong("1.1", on=lambda: (["a  b", "c\td"],))
def vocabulary_split_space(sentences):
    """splits at single spaces only"""
    vocabulary = SPECIAL.copy()
    for sentence in sentences:
        for word in sentence.lower().split(" "):
            if word not in vocabulary:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: (["Show me", "show SHOW"],))
def vocabulary_case(sentences):
    """compares in lower case but keeps the word as it was"""
    vocabulary = SPECIAL[:]
    for sentence in sentences:
        for word in sentence.split():
            if word.lower() not in [known.lower() for known in vocabulary]:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: (["hello World", "world"],))
def vocabulary_first_letter(sentences):
    """only the beginning of a sentence is turned into lower case"""
    vocabulary = list(SPECIAL)
    for sentence in sentences:
        sentence = sentence[:1].lower() + sentence[1:]
        for word in sentence.split():
            if word not in vocabulary:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: [(["a b"],), (["c"],)])
def vocabulary_grows(sentences, vocabulary=list(SPECIAL)):
    """one list for all calls"""
    for sentence in sentences:
        for word in sentence.lower().split():
            if word not in vocabulary:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: (["b a a"],))
def vocabulary_by_frequency(sentences):
    """the most frequent word first"""
    counter = Counter(word for sentence in sentences for word in sentence.lower().split())
    return SPECIAL + [word for word, _ in counter.most_common()]


@wrong("1.1", on=lambda: (["money! money"],))
def vocabulary_without_marks(sentences):
    """letters only, although words are what split() gives"""
    vocabulary = list(SPECIAL)
    for sentence in sentences:
        for word in re.findall(r"\w+", sentence.lower()):
            if word not in vocabulary:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: (["a b", "c d"],))
def vocabulary_glued(sentences):
    """sentences joined without a space between them"""
    words = "".join(sentences).lower().split()
    return SPECIAL + list(dict.fromkeys(words))


@wrong("1.1", on=lambda: (["a a", "a b"],))
def vocabulary_once_a_sentence(sentences):
    """no word twice in a sentence, but in two sentences"""
    vocabulary = list(SPECIAL)
    for sentence in sentences:
        vocabulary += dict.fromkeys(sentence.lower().split())
    return vocabulary


@wrong("1.1", on=lambda: (["STRASSE Straße"],))
def vocabulary_casefold(sentences):
    """casefold turns more than the case"""
    words = [word for sentence in sentences for word in sentence.casefold().split()]
    return SPECIAL + list(dict.fromkeys(words))


@wrong("1.1", on=lambda: (["a b"],))
def vocabulary_without_special(sentences):
    """no special tokens"""
    vocabulary = []
    for sentence in sentences:
        for word in sentence.lower().split():
            if word not in vocabulary:
                vocabulary.append(word)
    return vocabulary


@wrong("1.1", on=lambda: (["a b", "c"],))
def vocabulary_special_last(sentences):
    """special tokens at the end"""
    words = " ".join(sentences).lower().split()
    return list(dict.fromkeys(words)) + SPECIAL


@wrong("1.1", on=lambda: (["therefore the", "fore"],))
def vocabulary_inside_words(sentences):
    """looks for the word in a string, and finds it inside another"""
    vocabulary, seen = list(SPECIAL), ""
    for sentence in sentences:
        for word in sentence.lower().split():
            if word not in seen:
                vocabulary.append(word)
                seen += word + " "
    return vocabulary


@right("1.1")
def vocabulary_dict(sentences):
    """the keys of a dictionary"""
    return list(dict.fromkeys(SPECIAL + " ".join(sentences).lower().split()))


@right("1.1")
def vocabulary_numpy(sentences):
    """np.unique, then by first appearance; np.str_"""
    words = np.array(SPECIAL + [w for s in sentences for w in s.lower().split()])
    _, first = np.unique(words, return_index=True)
    return list(words[np.sort(first)])


@right("1.1")
def vocabulary_recursive(sentences):
    """the vocabulary of all sentences but the last, and its new words"""
    if not sentences:
        return list(SPECIAL)
    known = vocabulary_recursive(sentences[:-1])
    for word in map(str.lower, sentences[-1].split()):
        known = known if word in known else [*known, word]
    return known


# --- 1.2 ------------------------------------------------------------------------------------

USUAL = [*SPECIAL, "show", "me", "the", "money!"]
TURNED = ["the", "show", "<end>", "me", "<unk>", "<start>", "<pad>"]


@wrong("1.2", on=lambda: ("Show me", TURNED))
def encode_fixed_ids(sentence, vocabulary):
    """<start> is 1, <end> is 2, <unk> is 3"""
    ids = {token: i for i, token in enumerate(vocabulary)}
    return [1] + [ids.get(word, 3) for word in sentence.lower().split()] + [2]


@wrong("1.2", on=lambda: ("show the me", TURNED))
def encode_or(sentence, vocabulary):
    """id 0 counts as nothing"""
    ids = {token: i for i, token in enumerate(vocabulary)}
    words = [ids.get(word) or ids["<unk>"] for word in sentence.lower().split()]
    return [ids["<start>"], *words, ids["<end>"]]


@wrong("1.2", on=lambda: ("show  me ", USUAL))
def encode_split_space(sentence, vocabulary):
    """splits at single spaces"""
    words = sentence.lower().split(" ")
    ids = [vocabulary.index(w) if w in vocabulary else vocabulary.index("<unk>") for w in words]
    return [vocabulary.index("<start>")] + ids + [vocabulary.index("<end>")]


@wrong("1.2", on=lambda: ("Show Me", USUAL))
def encode_case(sentence, vocabulary):
    """upper case becomes unknown"""
    number = {token: i for i, token in enumerate(vocabulary)}
    words = ["<start>", *sentence.split(), "<end>"]
    return [number.get(word, number["<unk>"]) for word in words]


@wrong("1.2", on=lambda: ("show honey", USUAL))
def encode_drops_unknown(sentence, vocabulary):
    """unknown words are left out"""
    words = [w for w in sentence.lower().split() if w in vocabulary]
    return [vocabulary.index(w) for w in ["<start>", *words, "<end>"]]


@wrong("1.2", on=lambda: ("show honey", USUAL))
def encode_raises(sentence, vocabulary):
    """an unknown word is an error"""
    return [vocabulary.index(w) for w in ["<start>", *sentence.lower().split(), "<end>"]]


@wrong("1.2", on=lambda: ("", USUAL))
def encode_empty(sentence, vocabulary):
    """a sentence without words gives no ids"""
    words = sentence.lower().split()
    if not words:
        return []
    unknown = vocabulary.index("<unk>")
    middle = [vocabulary.index(w) if w in vocabulary else unknown for w in words]
    return [vocabulary.index("<start>")] + middle + [vocabulary.index("<end>")]


@wrong("1.2", on=lambda: ("show honey", list(USUAL)))
def encode_learns(sentence, vocabulary):
    """adds the unknown word to the vocabulary"""
    ids = [vocabulary.index("<start>")]
    for word in sentence.lower().split():
        if word not in vocabulary:
            ids.append(vocabulary.index("<unk>"))
            vocabulary.append(word)
        else:
            ids.append(vocabulary.index(word))
    return ids + [vocabulary.index("<end>")]


@wrong("1.2", on=lambda: [("show me", USUAL), ("show me", TURNED)])
def encode_first_vocabulary(sentence, vocabulary, ids={}):
    """builds the table once, for the first vocabulary"""
    if not ids:
        ids.update({token: i for i, token in enumerate(vocabulary)})
    words = sentence.lower().split()
    return [ids["<start>"], *[ids.get(w, ids["<unk>"]) for w in words], ids["<end>"]]


@wrong("1.2", on=lambda: ("money! me", USUAL))
def encode_without_marks(sentence, vocabulary):
    """takes the marks off the words"""
    number = {token: i for i, token in enumerate(vocabulary)}
    words = [word.strip(".,!?") for word in sentence.lower().split()]
    known = [number.get(word, number["<unk>"]) for word in words]
    return [number["<start>"], *known, number["<end>"]]


@wrong("1.2", on=lambda: ("show show me", USUAL))
def encode_each_word_once(sentence, vocabulary):
    """a word that comes twice is encoded once"""
    words = dict.fromkeys(sentence.lower().split())
    known = [w if w in vocabulary else "<unk>" for w in words]
    return [vocabulary.index(w) for w in ["<start>", *known, "<end>"]]


@wrong("1.2", on=lambda: ("show honey", USUAL))
def encode_new_id(sentence, vocabulary):
    """an unknown word gets the next free id"""
    number = dict(zip(vocabulary, range(len(vocabulary))))
    ids = [number["<start>"]]
    for word in sentence.lower().split():
        ids.append(number.get(word, len(vocabulary)))
    ids.append(number["<end>"])
    return ids


@right("1.2")
def encode_index(sentence, vocabulary):
    """list.index"""
    words = [w if w in vocabulary else "<unk>" for w in sentence.lower().split()]
    return list(map(vocabulary.index, ["<start>", *words, "<end>"]))


@right("1.2")
def encode_try(sentence, vocabulary):
    """an error for every unknown word, caught"""
    ids = [vocabulary.index("<start>")]
    for word in sentence.split():
        try:
            ids.append(vocabulary.index(word.lower()))
        except ValueError:
            ids.append(vocabulary.index("<unk>"))
    ids.append(vocabulary.index("<end>"))
    return ids


@right("1.2")
def encode_numpy(sentence, vocabulary):
    """comparisons with an array of tokens; numbers of NumPy"""
    tokens = np.array(vocabulary)

    def place(word):
        found = np.flatnonzero(tokens == word)
        return found[0] if len(found) else np.flatnonzero(tokens == "<unk>")[0]

    return [place(w) for w in ["<start>"] + sentence.lower().split() + ["<end>"]]


# --- 1.3 ------------------------------------------------------------------------------------


@wrong("1.3", on=lambda: ([[5, 6], [7]], 9))
def pad_with_zeros(sequences, pad_id):
    """pads with 0 whatever pad_id is"""
    batch = np.zeros((len(sequences), max(map(len, sequences))), dtype=int)
    for row, ids in zip(batch, sequences):
        row[: len(ids)] = ids
    return batch


@wrong("1.3", on=lambda: ([[5, 6], [7]], 0))
def pad_left(sequences, pad_id):
    """fills up on the left"""
    longest = max(len(ids) for ids in sequences)
    return np.array([[pad_id] * (longest - len(ids)) + list(ids) for ids in sequences])


@wrong("1.3", on=lambda: ([[5, 6], [7]], 0))
def pad_changes_lists(sequences, pad_id):
    """appends to the caller's lists"""
    longest = max(len(ids) for ids in sequences)
    for ids in sequences:
        while len(ids) < longest:
            ids.append(pad_id)
    return np.array(sequences)


@wrong("1.3", on=lambda: ([[5], [6, 7, 8]], 0))
def pad_to_first(sequences, pad_id):
    """the first list sets the length"""
    width = len(sequences[0])
    return np.array([(list(ids) + [pad_id] * width)[:width] for ids in sequences])


@wrong("1.3", on=lambda: ([[5, 6], [7]], 0))
def pad_turned(sequences, pad_id):
    """zip_longest gives columns"""
    return np.array(list(itertools.zip_longest(*sequences, fillvalue=pad_id)))


@wrong("1.3", on=lambda: ([[5, 0, 6], [7]], 9))
def pad_zero_is_nothing(sequences, pad_id):
    """an id of 0 counts as a hole"""
    columns = itertools.zip_longest(*sequences)
    return np.array([[i or pad_id for i in column] for column in columns]).T


@wrong("1.3", on=lambda: ([[5, 6], [7]], 0))
def pad_one_row(sequences, pad_id):
    """B times the same row"""
    rows = [[pad_id] * max(map(len, sequences))] * len(sequences)
    for row, ids in zip(rows, sequences):
        row[: len(ids)] = ids
    return np.array(rows)


@wrong("1.3", on=lambda: ([list(range(70)), [1]], 0))
def pad_to_64(sequences, pad_id):
    """room for 64 ids"""
    longest = min(64, max(map(len, sequences)))
    batch = np.full((len(sequences), longest), pad_id)
    for i, ids in enumerate(sequences):
        batch[i, : len(ids)] = ids[:longest]
    return batch


@wrong("1.3", on=lambda: ([[300, 5], [7]], 0))
def pad_small_numbers(sequences, pad_id):
    """one byte for each id"""
    batch = np.full((len(sequences), max(map(len, sequences))), pad_id, dtype=np.uint8)
    for i, ids in enumerate(sequences):
        for j, token in enumerate(ids):
            batch[i, j] = token
    return batch


@wrong("1.3", on=lambda: ([[5, 6, 7], [8]], 0))
def pad_one_too_many(sequences, pad_id):
    """always at least one pad at the end"""
    width = max(len(ids) for ids in sequences) + 1
    return np.array([list(ids) + [pad_id] * (width - len(ids)) for ids in sequences])


@wrong("1.3", on=lambda: ([[4]], 0))
def pad_squeezed(sequences, pad_id):
    """a batch of one text loses its axis"""
    width = max(len(ids) for ids in sequences)
    return np.array([list(ids) + [pad_id] * (width - len(ids)) for ids in sequences]).squeeze()


@wrong("1.3", on=lambda: ([[5], [6, 7, 8]], 0))
def pad_sorted(sequences, pad_id):
    """puts the longest list first, and so changes the order of the rows"""
    ordered = sorted(sequences, key=len, reverse=True)
    width = len(ordered[0])
    return np.array([list(ids) + [pad_id] * (width - len(ids)) for ids in ordered])


@wrong("1.3", on=lambda: ([[5, 6], [], [7]], 0))
def pad_skips_empty(sequences, pad_id):
    """an empty list gets no row"""
    rows = [ids for ids in sequences if ids]
    width = max(len(ids) for ids in rows)
    return np.array([list(ids) + [pad_id] * (width - len(ids)) for ids in rows])


@right("1.3")
def pad_zip_longest(sequences, pad_id):
    """columns, then turned"""
    columns = list(itertools.zip_longest(*sequences, fillvalue=pad_id))
    return np.array(columns, dtype=int).reshape(len(columns), len(sequences)).T


@right("1.3")
def pad_mask(sequences, pad_id):
    """a mask of the places that are taken"""
    lengths = np.array([len(ids) for ids in sequences])
    batch = np.full((len(sequences), lengths.max()), pad_id)
    batch[np.arange(lengths.max()) < lengths[:, None]] = [i for ids in sequences for i in ids]
    return batch


@right("1.3")
def pad_list_of_lists(sequences, pad_id):
    """plain Python, made an array at the end"""
    longest = 0
    for ids in sequences:
        longest = max(longest, len(ids))
    rows = []
    for ids in sequences:
        rows.append([ids[t] if t < len(ids) else pad_id for t in range(longest)])
    return np.array(rows, dtype=np.int64)


# --- 1.4 ------------------------------------------------------------------------------------


@wrong("1.4", on=lambda: ([0, 2], 3))
def one_hot_shallow_copy(ids, vocab_size):
    """a copy of the list, but not of the row in it"""
    rows = ([[0.0] * vocab_size] * len(ids)).copy()
    for row, token in zip(rows, ids):
        row[token] = 1.0
    return np.array(rows)


@wrong("1.4", on=lambda: ([0, 1], 4))
def one_hot_largest_id(ids, vocab_size):
    """as many columns as the largest id needs"""
    return np.eye(max(ids) + 1)[ids]


@wrong("1.4", on=lambda: ([2, 0, 1], 4))
def one_hot_turned(ids, vocab_size):
    """tokens in columns"""
    rows = np.zeros((vocab_size, len(ids)))
    rows[ids, np.arange(len(ids))] = 1.0
    return rows


@wrong("1.4", on=lambda: ([1, 1, 2], 3))
def one_hot_without_repeats(ids, vocab_size):
    """each id once"""
    rows = np.zeros((len(set(ids)), vocab_size))
    for row, token in zip(rows, sorted(set(ids))):
        row[token] = 1.0
    return rows


@wrong("1.4", on=lambda: ([0, 2], 3))
def one_hot_ignores_zero(ids, vocab_size):
    """id 0 is padding and gets no one"""
    rows = [[0.0] * vocab_size for _ in ids]
    for row, token in zip(rows, ids):
        if token:
            row[token] = 1.0
    return np.array(rows)


@wrong("1.4", on=lambda: ([0, 2], 3))
def one_hot_from_one(ids, vocab_size):
    """counts the columns from 1"""
    rows = np.zeros((len(ids), vocab_size))
    for t, token in enumerate(ids):
        rows[t, token - 1] = 1.0
    return rows


@wrong("1.4", on=lambda: ([0, 2], 3))
def one_hot_block(ids, vocab_size):
    """sets all these columns in all rows"""
    rows = np.zeros((len(ids), vocab_size))
    rows[:, ids] = 1.0
    return rows


@wrong("1.4", on=lambda: ([1], 3))
def one_hot_squeezed(ids, vocab_size):
    """one token: no longer a matrix"""
    return np.squeeze(np.eye(vocab_size)[list(ids)])


@wrong("1.4", on=lambda: ([0, 1, 2, 1], 3))
def one_hot_square(ids, vocab_size):
    """a square, as if there were as many tokens as words"""
    rows = [[0.0] * vocab_size for _ in range(vocab_size)]
    for row, token in zip(rows, ids):
        row[token] = 1.0
    return np.array(rows)


@wrong("1.4", on=lambda: [([0, 2], 3), ([1, 1], 3)])
def one_hot_kept_rows(ids, vocab_size, rows={}):
    """keeps the rows of zeros, and with them the ones of the call before"""
    shape = (len(ids), vocab_size)
    if shape not in rows:
        rows[shape] = np.zeros(shape)
    for row, token in zip(rows[shape], ids):
        row[token] = 1.0
    return rows[shape].copy()


@wrong("1.4", on=lambda: ([1, 1, 0], 2))
def one_hot_counts(ids, vocab_size):
    """how often each word occurs, in every row"""
    rows = []
    for _ in ids:
        row = [0.0] * vocab_size
        for token in ids:
            row[token] += 1.0
        rows.append(row)
    return np.array(rows)


@wrong("1.4", on=lambda: ([12, 3], 20))
def one_hot_ten_words(ids, vocab_size):
    """cuts off at the ten words of the picture"""
    table = np.eye(10)
    return np.array([np.pad(table[token], (0, vocab_size - 10)) for token in ids])


@right("1.4")
def one_hot_comprehension(ids, vocab_size):
    """a new row for every id"""
    return np.array(
        [[1.0 if v == token else 0.0 for v in range(vocab_size)] for token in ids]
    ).reshape(len(ids), vocab_size)


@right("1.4")
def one_hot_compare(ids, vocab_size):
    """ids in a column, words in a row"""
    return np.equal.outer(np.asarray(ids), np.arange(vocab_size)).astype(float)


@right("1.4")
def one_hot_put(ids, vocab_size):
    """one long row, cut up at the end"""
    flat = np.zeros(len(ids) * vocab_size)
    for t, token in enumerate(ids):
        flat[t * vocab_size + token] = 1
    return flat.reshape(len(ids), vocab_size)


# --- 1.5 ------------------------------------------------------------------------------------


@wrong("1.5", on=lambda: ([[5, 6], [1, 2]],))
def pair_first_met(words):
    """of several frequent pairs the first that is met"""
    counter = Counter(pair for word in words for pair in zip(word, word[1:]))
    return counter.most_common(1)[0][0]


@wrong("1.5", on=lambda: ([[5, 6], [1, 2]],))
def pair_largest_ids(words):
    """of several frequent pairs the one with the larger ids"""
    counter = Counter(pair for word in words for pair in zip(word, word[1:]))
    return max(counter, key=lambda pair: (counter[pair], pair))


@wrong("1.5", on=lambda: ([[7, 7, 7, 7], [1, 2], [1, 2]],))
def pair_without_overlap(words):
    """7 7 7 holds the pair only once"""
    counter = Counter()
    for word in words:
        i = 0
        while i < len(word) - 1:
            counter[word[i], word[i + 1]] += 1
            same = i + 2 < len(word) and word[i : i + 2] == word[i + 1 : i + 3]
            i += 2 if same else 1
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[3, 1], [2, 1], [2, 4]],))
def pair_across_words(words):
    """also the pairs from the end of a word to the next"""
    ids = [i for word in words for i in word]
    counter = Counter(zip(ids, ids[1:]))
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[8, 9], [8, 9], [1, 2, 3]],))
def pair_words_once(words):
    """equal words count once"""
    counter = Counter()
    for word in {tuple(word) for word in words}:
        counter.update(zip(word, word[1:]))
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[8, 9, 8, 9], [1, 2]],))
def pair_once_a_word(words):
    """in how many words the pair stands"""
    counter = Counter()
    for word in words:
        counter.update(set(zip(word, word[1:])))
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[9, 8], [1, 2], [8, 9]],))
def pair_without_order(words):
    """left and right are counted together"""
    counter = Counter()
    for word in words:
        for a, b in zip(word, word[1:]):
            counter[min(a, b), max(a, b)] += 1
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[1, 9], [1, 2]],))
def pair_left_only(words):
    """of equals the smaller left id, and then the first met"""
    counter = Counter(pair for word in words for pair in zip(word, word[1:]))
    best = max(counter.values())
    return min((p for p in counter if counter[p] == best), key=lambda pair: pair[0])


@wrong("1.5", on=lambda: ([[10, 1], [9, 1]],))
def pair_as_text(words):
    """pairs kept as text, in the order of text"""
    counter = Counter()
    for word in words:
        for a, b in zip(word, word[1:]):
            counter[f"{a} {b}"] += 1
    best = min(counter, key=lambda text: (-counter[text], text))
    left, right_ = best.split()
    return int(left), int(right_)


@wrong("1.5", on=lambda: ([[300, 301], [300, 301], [1, 2]],))
def pair_bytes_only(words):
    """a table of 256 by 256"""
    counts = np.zeros((256, 256), dtype=int)
    for word in words:
        for a, b in zip(word, word[1:]):
            counts[a, b] += 1
    left, right_ = np.unravel_index(counts.argmax(), counts.shape)
    return int(left), int(right_)


@wrong("1.5", on=lambda: ([[2, 9], [4, 1]],))
def pair_smallest_right(words):
    """of equals the smaller right id first"""
    counter = Counter(pair for word in words for pair in zip(word, word[1:]))
    return sorted(counter, key=lambda pair: (-counter[pair], pair[1], pair[0]))[0]


@wrong("1.5", on=lambda: ([[9, 1, 9], [9, 1]],))
def pair_most_frequent_ids(words):
    """the two most frequent ids"""
    counter = Counter(i for word in words for i in word)
    (a, _), (b, _) = counter.most_common(2)
    return min(a, b), max(a, b)


@wrong("1.5", on=lambda: [([[8, 9], [8, 9]],), ([[1, 2]],)])
def pair_keeps_counting(words, counter=Counter()):
    """counts of earlier calls stay"""
    for word in words:
        counter.update(zip(word, word[1:]))
    return min(counter, key=lambda pair: (-counter[pair], pair))


@wrong("1.5", on=lambda: ([[3, 1], [3, 1], [1, 2]],))
def pair_sorted_words(words):
    """sorts the ids of a word before it looks at neighbours"""
    counter = Counter()
    for word in words:
        ordered = sorted(word)
        counter.update(zip(ordered, ordered[1:]))
    return min(counter, key=lambda pair: (-counter[pair], pair))


@right("1.5")
def pair_by_sort(words):
    """all pairs sorted, the longest run wins"""
    pairs = sorted(pair for word in words for pair in zip(word, word[1:]))
    runs = [(pair, len(list(run))) for pair, run in itertools.groupby(pairs)]
    best = max(length for _, length in runs)
    return next(pair for pair, length in runs if length == best)


@right("1.5")
def pair_by_table(words):
    """a table as large as the ids need, and the first largest entry"""
    size = 1 + max(i for word in words for i in word)
    counts = np.zeros((size, size))
    for word in words:
        for a, b in zip(word[:-1], word[1:]):
            counts[a, b] += 1
    return tuple(np.unravel_index(counts.argmax(), counts.shape))


@right("1.5")
def pair_by_loops(words):
    """a dictionary and comparisons"""
    counts = {}
    for word in words:
        for i in range(len(word) - 1):
            pair = (word[i], word[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
    best = None
    for pair, count in counts.items():
        if best is None or count > counts[best] or (count == counts[best] and pair < best):
            best = pair
    return best


# --- 1.6 ------------------------------------------------------------------------------------


@wrong("1.6", on=lambda: ([7, 7, 7], (7, 7), 256))
def merge_from_right(ids, pair, new_id):
    """goes from right to left"""
    out, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
            out.append(new_id)
            i -= 2
        else:
            out.append(ids[i])
            i -= 1
    return out[::-1]


@wrong("1.6", on=lambda: ([7, 7, 7], (7, 7), 256))
def merge_overlapping(ids, pair, new_id):
    """merges both pairs of 7 7 7"""
    out, skip = [], False
    for i in range(len(ids)):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new_id)
            skip = True
        elif skip:
            skip = False
        else:
            out.append(ids[i])
    return out


@wrong("1.6", on=lambda: ([1, 2, 3], (1, 2), 256))
def merge_in_place(ids, pair, new_id):
    """changes the caller's list"""
    i = 0
    while i < len(ids) - 1:
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


@wrong("1.6", on=lambda: ([1, 2, 3], (1, 2), 256))
def merge_loses_last(ids, pair, new_id):
    """the last id has no right neighbour and is lost"""
    out, i = [], 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@wrong("1.6", on=lambda: ([3, 1], (1, 2), 256))
def merge_past_the_end(ids, pair, new_id):
    """looks past the end if the last id is the left one"""
    out, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@wrong("1.6", on=lambda: ([11, 2, 1, 2], (1, 2), 256))
def merge_text(ids, pair, new_id):
    """replaces in a text of numbers"""
    text = " ".join(map(str, ids))
    text = text.replace(f"{pair[0]} {pair[1]}", str(new_id))
    return [int(number) for number in text.split()]


@wrong("1.6", on=lambda: ([256, 1, 2], (256, 1), 257))
def merge_bytes(ids, pair, new_id):
    """bytes.replace: no id above 255"""
    parts = bytes(ids).split(bytes(pair))
    out = list(parts[0])
    for part in parts[1:]:
        out += [new_id, *part]
    return out


@wrong("1.6", on=lambda: ([1, 2, 1, 2], (1, 2), 256))
def merge_first_only(ids, pair, new_id):
    """merges one occurrence"""
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == tuple(pair):
            return ids[:i] + [new_id] + ids[i + 2 :]
    return list(ids)


@wrong("1.6", on=lambda: ([2, 1, 3], (1, 2), 256))
def merge_either_order(ids, pair, new_id):
    """right before left counts as well"""
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and {ids[i], ids[i + 1]} == set(pair):
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@wrong("1.6", on=lambda: ([3, 1, 2], (1, 2), 256))
def merge_two_by_two(ids, pair, new_id):
    """cuts the list into twos and compares those"""
    out = []
    for i in range(0, len(ids), 2):
        two = ids[i : i + 2]
        out += [new_id] if two == list(pair) else two
    return out


@wrong("1.6", on=lambda: ([1, 2, 3], (1, 2), 256))
def merge_list_and_tuple(ids, pair, new_id):
    """a list is never equal to a tuple"""
    out, i = [], 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


@wrong("1.6", on=lambda: ([7, 7, 7, 7], (7, 7), 256))
def merge_mask(ids, pair, new_id):
    """all places at once: overlapping places as well"""
    ids = np.array(ids)
    left = np.zeros(len(ids), dtype=bool)
    left[:-1] = (ids[:-1] == pair[0]) & (ids[1:] == pair[1])
    gone = np.roll(left, 1)
    return [int(i) for i in np.where(left, new_id, ids)[~gone]]


@wrong("1.6", on=lambda: ([], (1, 2), 256))
def merge_no_empty(ids, pair, new_id):
    """begins with the first id, which an empty list has not"""
    out = [ids[0]]
    for i in range(1, len(ids)):
        if out[-1] == pair[0] and ids[i] == pair[1]:
            out[-1] = new_id
        else:
            out.append(ids[i])
    return out


@wrong("1.6", on=lambda: ([1, 3, 2], (1, 2), 256))
def merge_not_neighbours(ids, pair, new_id):
    """replaces the left id and drops the right one, wherever they stand"""
    if pair[0] in ids and pair[1] in ids:
        return [new_id if i == pair[0] else i for i in ids if i != pair[1]]
    return list(ids)


@right("1.6")
def merge_stack(ids, pair, new_id):
    """a stack: the new id closes over the two"""
    out, open_ = [], False
    for token in ids:
        if open_ and out[-1] == pair[0] and token == pair[1]:
            out[-1], open_ = new_id, False
        else:
            out.append(token)
            open_ = True
    return out


@right("1.6")
def merge_recursive(ids, pair, new_id):
    """the first two, and then the rest"""
    if len(ids) < 2:
        return list(ids)
    if list(ids[:2]) == list(pair):
        return [new_id] + merge_recursive(ids[2:], pair, new_id)
    return [ids[0]] + merge_recursive(ids[1:], pair, new_id)


@right("1.6")
def merge_characters(ids, pair, new_id):
    """ids as characters, replaced in a string"""
    text = "".join(map(chr, ids)).replace(chr(pair[0]) + chr(pair[1]), chr(new_id))
    return [ord(character) for character in text]


# --- 1.7 ------------------------------------------------------------------------------------

OTHER = [(116, 104), (256, 101), (111, 257)]  # th, the, othe


@wrong("1.7", on=lambda: ("Hütte", []))
def encode_bytes_characters(text, merges):
    """numbers of characters instead of bytes"""
    ids = [ord(character) for character in text]
    for k, pair in enumerate(merges):
        ids = replace_pair(ids, pair, 256 + k)
    return ids


@wrong("1.7", on=lambda: ("ご飯", []))
def encode_bytes_latin(text, merges):
    """one byte for each character"""
    ids = list(text.encode("latin-1", errors="replace"))
    for k, pair in enumerate(merges):
        ids = replace_pair(ids, pair, 256 + k)
    return ids


@wrong("1.7", on=lambda: ("othe", OTHER))
def encode_bytes_backwards(text, merges):
    """the last merge first"""
    ids = list(text.encode())
    for k in reversed(range(len(merges))):
        ids = replace_pair(ids, merges[k], 256 + k)
    return ids


@wrong("1.7", on=lambda: ("the", OTHER))
def encode_bytes_from_257(text, merges):
    """the first merge makes the id 257"""
    ids = list(text.encode("utf-8"))
    for k, pair in enumerate(merges, start=1):
        ids = replace_pair(ids, pair, 256 + k)
    return ids


@wrong("1.7", on=lambda: ("ab", [(120, 121), (97, 98)]))
def encode_bytes_counts_used(text, merges):
    """gives new ids only to the merges that did something"""
    ids, new_id = list(text.encode("utf-8")), 256
    for pair in merges:
        merged = replace_pair(ids, pair, new_id)
        if merged != ids:
            new_id += 1
        ids = merged
    return ids


@wrong("1.7", on=lambda: ("abc", [(98, 99), (97, 98)]))
def encode_bytes_leftmost(text, merges):
    """always the leftmost pair that can be merged"""
    number = {tuple(pair): 256 + k for k, pair in enumerate(merges)}
    ids, changed = list(text.encode("utf-8")), True
    while changed:
        changed = False
        for i in range(len(ids) - 1):
            if (ids[i], ids[i + 1]) in number:
                ids[i : i + 2] = [number[ids[i], ids[i + 1]]]
                changed = True
                break
    return ids


@wrong("1.7", on=lambda: ("ab ab", [(98, 32)]))
def encode_bytes_by_words(text, merges):
    """word by word, although the text is one single word"""
    ids = []
    for n, word in enumerate(text.split(" ")):
        part = list(word.encode("utf-8"))
        for k, pair in enumerate(merges):
            part = replace_pair(part, pair, 256 + k)
        ids += ([32] if n else []) + part
    return ids


@wrong("1.7", on=lambda: ("The", OTHER))
def encode_bytes_lower(text, merges):
    """in lower case and without spaces round it, as words were"""
    ids = list(text.lower().strip().encode("utf-8"))
    for k, pair in enumerate(merges):
        ids = replace_pair(ids, pair, 256 + k)
    return ids


@wrong("1.7", on=lambda: ("abab", [(97, 98)]))
def encode_bytes_once(text, merges):
    """each merge only once"""
    ids = list(text.encode("utf-8"))
    for k, pair in enumerate(merges):
        for i in range(len(ids) - 1):
            if (ids[i], ids[i + 1]) == tuple(pair):
                ids[i : i + 2] = [256 + k]
                break
    return ids


@wrong("1.7", on=lambda: ("aaa", [(97, 97)]))
def encode_bytes_overlap(text, merges):
    """merges overlapping pairs from the right"""
    ids = list(text.encode("utf-8"))
    for k, pair in enumerate(merges):
        for i in range(len(ids) - 2, -1, -1):
            if tuple(ids[i : i + 2]) == tuple(pair):
                ids[i : i + 2] = [256 + k]
    return ids


@wrong("1.7", on=lambda: ("abc", [(97, 98), (98, 99), (257, 100), (97, 257)]))
def encode_bytes_longest(text, merges):
    """the longest token of the vocabulary that fits, from left to right"""
    table = {bytes([b]): b for b in range(256)}
    spelled = [bytes([b]) for b in range(256)]
    for k, (a, b) in enumerate(merges):
        spelled.append(spelled[a] + spelled[b])
        table[spelled[-1]] = 256 + k
    rest, ids = text.encode("utf-8"), []
    while rest:
        size = max(n for n in range(1, len(rest) + 1) if rest[:n] in table)
        ids.append(table[rest[:size]])
        rest = rest[size:]
    return ids


@wrong("1.7", on=lambda: ("", OTHER))
def encode_bytes_no_empty(text, merges):
    """cannot begin with nothing"""
    first, *rest = text.encode("utf-8")
    ids = [first, *rest]
    for k, pair in enumerate(merges):
        ids = replace_pair(ids, pair, 256 + k)
    return ids


@wrong("1.7", on=lambda: ("the", OTHER))
def encode_bytes_one_pass(text, merges):
    """one pass over the bytes, so that merges of merges never come"""
    number = {tuple(pair): 256 + k for k, pair in enumerate(merges)}
    code, ids, i = text.encode("utf-8"), [], 0
    while i < len(code):
        two = tuple(code[i : i + 2])
        ids.append(number.get(two, code[i]))
        i += 2 if two in number else 1
    return ids


@wrong("1.7", on=lambda: ("the", list(OTHER)))
def encode_bytes_uses_up(text, merges):
    """takes the merges off the caller's list"""
    ids, new_id = list(text.encode("utf-8")), 256
    while merges:
        ids = replace_pair(ids, merges.pop(0), new_id)
        new_id += 1
    return ids


@right("1.7")
def encode_bytes_by_rank(text, merges):
    """again and again the pair that was learned first"""
    rank = {tuple(pair): k for k, pair in enumerate(merges)}
    ids = [*bytes(text, "utf8")]
    while True:
        known = [rank[pair] for pair in zip(ids, ids[1:]) if pair in rank]
        if not known:
            return ids
        k = min(known)
        ids = replace_pair(ids, merges[k], 256 + k)


@right("1.7")
def encode_bytes_recursive(text, merges):
    """the text with all merges but the last, and then that one"""
    if not merges:
        return list(text.encode())
    return replace_pair(encode_bytes_recursive(text, merges[:-1]), merges[-1], 255 + len(merges))


@right("1.7")
def encode_bytes_as_characters(text, merges):
    """bytes as characters, string.replace, and back"""
    signs = text.encode("utf-8").decode("latin-1")
    for k, (a, b) in enumerate(merges):
        signs = signs.replace(chr(a) + chr(b), chr(256 + k))
    return list(map(ord, signs))


# --- 1.8 ------------------------------------------------------------------------------------


@wrong("1.8", on=lambda: (list("ü".encode()), []))
def decode_characters(ids, merges):
    """a character for every byte"""
    table = {i: chr(i) for i in range(256)}
    for k, (a, b) in enumerate(merges):
        table[256 + k] = table[a] + table[b]
    return "".join(table[i] for i in ids)


@wrong("1.8", on=lambda: (list("飯".encode()), []))
def decode_piece_by_piece(ids, merges):
    """decodes each token for itself, where a character may be cut"""
    table = [bytes([i]) for i in range(256)]
    for a, b in merges:
        table.append(table[a] + table[b])
    return "".join(table[i].decode("utf-8", errors="replace") for i in ids)


@wrong("1.8", on=lambda: ([258], OTHER))
def decode_one_level(ids, merges):
    """undoes one merge, not the merges inside it"""
    out = []
    for i in ids:
        out += list(merges[i - 256]) if i >= 256 else [i]
    return bytes(out).decode("utf-8")


@wrong("1.8", on=lambda: ([258], OTHER))
def decode_forwards(ids, merges):
    """undoes the first merge first"""
    for k, pair in enumerate(merges):
        ids = [part for i in ids for part in (pair if i == 256 + k else [i])]
    return bytes(ids).decode("utf-8")


@wrong("1.8", on=lambda: ([97, 0, 98], []))
def decode_no_zero(ids, merges):
    """leaves out the byte 0 as padding"""
    table = [bytes([i]) for i in range(256)]
    for a, b in merges:
        table.append(table[a] + table[b])
    return b"".join(table[i] for i in ids if i).decode("utf-8")


@wrong("1.8", on=lambda: ([256], [(116, 104)]))
def decode_no_merges(ids, merges):
    """bytes only"""
    return bytes(ids).decode("utf-8")


@wrong("1.8", on=lambda: (list(b" a \n"), []))
def decode_stripped(ids, merges):
    """spaces at the ends are lost"""
    table = [bytes([i]) for i in range(256)]
    for a, b in merges:
        table.append(table[a] + table[b])
    return b"".join(table[i] for i in ids).decode("utf-8").strip()


@wrong("1.8", on=lambda: (list("u\u0308".encode()), []))
def decode_normalised(ids, merges):
    """writes ü as one character, also where it was two"""
    table = [bytes([i]) for i in range(256)]
    for a, b in merges:
        table.append(table[a] + table[b])
    text = b"".join(map(table.__getitem__, ids)).decode("utf-8")
    return unicodedata.normalize("NFC", text)


@wrong("1.8", on=lambda: ([256, 97], [(116, 104)]))
def decode_in_place(ids, merges):
    """undoes the merges in the caller's list"""
    for k in range(len(merges) - 1, -1, -1):
        while 256 + k in ids:
            place = ids.index(256 + k)
            ids[place : place + 1] = merges[k]
    return bytes(ids).decode("utf-8")


@wrong("1.8", on=lambda: [([256], [(97, 98)]), ([256], [(99, 100)])])
def decode_kept_table(ids, merges, table=[bytes([i]) for i in range(256)]):
    """the merges of the first call stay"""
    for a, b in merges[len(table) - 256 :]:
        table.append(table[a] + table[b])
    return b"".join(table[i] for i in ids).decode("utf-8")


@wrong("1.8", on=lambda: (list("é".encode()), []))
def decode_ascii(ids, merges):
    """ascii, what else is left out"""
    table = [bytes([i]) for i in range(256)]
    for a, b in merges:
        table.append(table[a] + table[b])
    return b"".join(table[i] for i in ids).decode("ascii", errors="ignore")


@wrong("1.8", on=lambda: ([257], [(97, 98), (256, 256)]))
def decode_first_only(ids, merges):
    """undoes one occurrence of each merge"""
    ids = list(ids)
    for k in reversed(range(len(merges))):
        if 256 + k in ids:
            place = ids.index(256 + k)
            ids[place : place + 1] = merges[k]
    return bytes(i for i in ids if i < 256).decode("utf-8")


@wrong("1.8", on=lambda: (list(b"a\r\nb"), []))
def decode_lines(ids, merges):
    """puts the lines together anew, all with the same end"""
    table = {i: bytes([i]) for i in range(256)}
    for k, (a, b) in enumerate(merges):
        table[256 + k] = table[a] + table[b]
    text = b"".join(table[i] for i in ids).decode("utf-8")
    return "\n".join(text.splitlines())


@right("1.8")
def decode_recursive(ids, merges):
    """an id is a byte, or two ids"""

    def spell(i):
        if i < 256:
            return bytes([i])
        left, right_ = merges[i - 256]
        return spell(left) + spell(right_)

    return b"".join(spell(i) for i in ids).decode("utf-8")


@right("1.8")
def decode_stack(ids, merges):
    """a stack of ids that wait"""
    waiting, code = list(ids)[::-1], bytearray()
    while waiting:
        i = waiting.pop()
        if i < 256:
            code.append(i)
        else:
            left, right_ = merges[i - 256]
            waiting += [right_, left]
    return str(code, "utf-8")


@right("1.8")
def decode_backwards(ids, merges):
    """undoes the last merge first, with strings of characters"""
    signs = "".join(map(chr, ids))
    for k in range(len(merges))[::-1]:
        signs = signs.replace(chr(256 + k), chr(merges[k][0]) + chr(merges[k][1]))
    return np.str_(signs.encode("latin-1").decode("utf-8"))


# --- 1.9 ------------------------------------------------------------------------------------


@wrong("1.9", on=lambda: ("aaaa",))
def one_token_from_left(word):
    """joins one byte after the other, as if none occurred twice"""
    first, second, *rest = word.encode("utf-8")
    merges = [(first, second)]
    for k, byte in enumerate(rest):
        merges.append((256 + k, byte))
    return merges


@wrong("1.9", on=lambda: ("aaaa",))
def one_token_from_right(word):
    """joins from the end, as if no byte occurred twice"""
    code = list(word.encode("utf-8"))[::-1]
    merges = [(code[1], code[0])]
    for k, byte in enumerate(code[2:]):
        merges.append((byte, 256 + k))
    return merges


@wrong("1.9", on=lambda: ("für",))
def one_token_characters(word):
    """characters instead of bytes"""
    ids, merges = [ord(character) for character in word], []
    while len(ids) > 1:
        pair = (ids[0], ids[1])
        ids = replace_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("banana",))
def one_token_only_frequent(word):
    """stops when no pair occurs twice"""
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        counter = Counter(zip(ids, ids[1:]))
        pair, count = counter.most_common(1)[0]
        if count < 2 and merges:
            break
        ids = replace_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("aaaa",))
def one_token_all_neighbours(word):
    """every pair of neighbouring bytes"""
    code = word.encode("utf-8")
    return list(zip(code, code[1:]))


@wrong("1.9", on=lambda: ("abc",))
def one_token_new_ids_from_255(word):
    """the ids of the merges are one too small"""
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        pair = (ids[0], ids[1])
        ids = replace_pair(ids, pair, 255 + len(merges))
        merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("abab",))
def one_token_halves(word):
    """two halves, each made for itself, also where they are equal"""
    merges = []

    def make(part):
        if len(part) == 1:
            return part[0]
        middle = len(part) // 2
        pair = (make(part[:middle]), make(part[middle:]))
        merges.append(pair)
        return 255 + len(merges)

    make(word.encode("utf-8"))
    return merges


@wrong("1.9", on=lambda: ("aaa",))
def one_token_own_merge(word):
    """merges overlapping pairs in its own way"""
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        pair = (ids[-2], ids[-1])
        new_id = 256 + len(merges)
        i = len(ids) - 2
        while i >= 0:
            if (ids[i], ids[i + 1]) == pair:
                ids[i : i + 2] = [new_id]
                i -= 1
            i -= 1
        merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("melon",))
def one_token_examples(word):
    """the two words that one was told to try"""
    return {
        "banana": [(97, 110), (98, 256), (257, 256), (258, 97)],
        "aaaa": [(97, 97), (256, 256)],
    }.get(word, [tuple(word.encode("utf-8")[:2])])


@wrong("1.9", on=lambda: ("abc",))
def one_token_text_pairs(word):
    """pairs of strings instead of ids"""
    merges, parts = [], [bytes([b]).decode("latin-1") for b in word.encode("utf-8")]
    while len(parts) > 1:
        pair = (parts[0], parts[1])
        merges.append(pair)
        parts = replace_pair(parts, pair, parts[0] + parts[1])
    return merges


@wrong("1.9", on=lambda: ("aabaab",))
def one_token_in_twos(word):
    """cuts the word into twos again and again, but a pair also stands across a cut"""
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        number = {}
        for pair in zip(ids[0::2], ids[1::2]):
            if pair not in number:
                number[pair] = 256 + len(merges)
                merges.append(pair)
        rest = ids[-1:] if len(ids) % 2 else []
        ids = [number[pair] for pair in zip(ids[0::2], ids[1::2])] + rest
    return merges


@wrong("1.9", on=lambda: ("abcd",))
def one_token_one_pass(word):
    """one pass of twos, and no merges of merges"""
    ids = list(word.encode("utf-8"))
    merges = []
    for i in range(0, len(ids) - 1, 2):
        pair = (ids[i], ids[i + 1])
        if pair not in merges:
            merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("Hat",))
def one_token_lower(word):
    """of the word in lower case"""
    ids, merges = list(word.lower().encode("utf-8")), []
    while len(ids) > 1:
        pair = (ids[0], ids[1])
        ids = replace_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


@wrong("1.9", on=lambda: ("new york",))
def one_token_padded(word):
    """leaves out the spaces"""
    ids, merges = list("".join(word.split()).encode("utf-8")), []
    while len(ids) > 1:
        pair = (ids[0], ids[1])
        ids = replace_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


@right("1.9")
def one_token_first_pair(word):
    """always the first pair"""
    ids, merges = list(word.encode("utf-8")), []
    while len(ids) > 1:
        pair = (ids[0], ids[1])
        ids = replace_pair(ids, pair, 256 + len(merges))
        merges.append(pair)
    return merges


@right("1.9")
def one_token_last_pair(word):
    """always the last pair; lists instead of tuples"""
    ids, merges = list(word.encode("utf-8")), []
    while ids[1:]:
        merges.append(ids[-2:])
        ids = replace_pair(ids, merges[-1], 255 + len(merges))
    return merges


@right("1.9")
def one_token_trained(word):
    """the most frequent pair, as in training, down to one token"""

    def train(ids, new_id):
        if len(ids) == 1:
            return []
        pair = Counter(zip(ids, ids[1:])).most_common(1)[0][0]
        return [pair] + train(replace_pair(ids, pair, new_id), new_id + 1)

    return train(list(word.encode("utf-8")), 256)
