"""The tokenizers: merges against a trainer that recounts, every string back, every file checked."""

import doctest
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfmlib import tokenizer as module
from tfmlib.tokenizer import BPETokenizer, WordTokenizer, learn_merges, split_pieces, split_words

PROSE = (
    "The encoder reads the whole sentence at once; the decoder writes one word after the other.\n"
    "    It reads what it has written, it never reads what it will write: 2017, 2018 and 2019.\n"
    "Schöne Grüße aus Köln — größer, öfter, überall! 日本語の日本人は日本に。 🙂🙂 🙃🙂\n\n"
)
SMALL_ALPHABET = st.text(alphabet="abc é", max_size=60)
OFFSET = 3  # the id of byte 0


def bpe(vocab_size=331):
    return BPETokenizer.train(PROSE, vocab_size)


def word():
    return WordTokenizer.train(PROSE)


BOTH = pytest.mark.parametrize("make", [word, bpe])


# --- a second implementation, which recounts everything after every merge -------------------


def merge_list(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def recounting_merges(words, wanted):
    """`words` maps a word to how often it occurs."""
    sequences = [([byte + OFFSET for byte in word.encode()], n) for word, n in words.items()]
    merges = []
    while len(merges) < wanted:
        counts = Counter()
        for ids, n in sequences:
            for i in range(len(ids) - 1):
                counts[ids[i], ids[i + 1]] += n
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        new = OFFSET + 256 + len(merges)
        sequences = [(merge_list(ids, best, new), n) for ids, n in sequences]
        merges.append(best)
    return merges


def merges_in_order(piece, merges):
    """Encode one piece by trying every merge once, from the first to the last."""
    ids = [byte + OFFSET for byte in piece.encode()]
    for k, pair in enumerate(merges):
        ids = merge_list(ids, pair, OFFSET + 256 + k)
    return ids


# --- words ----------------------------------------------------------------------------------


def test_help_me_is_two_tokens():
    tokenizer = WordTokenizer.train("Help me!")
    assert tokenizer.tokens(tokenizer.encode("help me!")) == ["help", "me"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Not on YOUR life...", ["not", "on", "your", "life"]),
        ("twenty-one", ["twenty", "one"]),
        ("don't 'quote' rock’n’roll", ["don't", "quote", "rock’n’roll"]),
        ("order_104: 2x", ["order_104", "2x"]),
        ("Größe ΣΑΣ", ["größe", "σας"]),
        ("<start> \t\n <pad>", ["start", "pad"]),
        ("?! \ud800 —", []),
    ],
)
def test_words_follow_the_stated_rule(text, words):
    assert split_words(text) == words


def test_the_two_spellings_of_an_accent_are_one_word():
    assert split_words("cafe\u0301") == split_words("caf\u00e9") == ["café"]


def test_words_are_numbered_by_falling_frequency_then_alphabet():
    tokenizer = WordTokenizer.train(["d b c a", "C b", "b"])
    assert tokenizer.vocabulary == {
        "<pad>": 0,
        "<start>": 1,
        "<end>": 2,
        "<unk>": 3,
        "b": 4,
        "c": 5,
        "a": 6,
        "d": 7,
    }


def test_a_small_vocabulary_keeps_the_most_frequent_words():
    tokenizer = WordTokenizer.train("b c a c b b", vocab_size=6)
    assert tokenizer.vocab_size == 6
    assert tokenizer.encode("a b c") == [3, 4, 5]
    assert WordTokenizer.train("b c", vocab_size=4).encode("b") == [3]
    with pytest.raises(ValueError, match="at least 4, the special tokens, got 3"):
        WordTokenizer.train("b c", vocab_size=3)


def test_an_unknown_word_is_shown_while_padding_is_not():
    tokenizer = WordTokenizer(["help"])
    ids = tokenizer.encode("help us", start=True, end=True)
    assert ids == [1, 4, 3, 2]
    assert tokenizer.decode([*ids, 0, 0]) == "help <unk>"


@given(st.text())
@settings(deadline=None)
def test_words_that_come_back_are_the_same_words(text):
    tokenizer = WordTokenizer.train(text)
    ids = tokenizer.encode(text)
    assert tokenizer.unk_id not in ids
    assert tokenizer.encode(tokenizer.decode(ids)) == ids


@pytest.mark.parametrize("words", [["Help"], ["two words"], ["<pad>"], [""], [7], [None]])
def test_what_is_not_a_word_is_no_vocabulary(words):
    with pytest.raises(ValueError, match="expected single lower-case words"):
        WordTokenizer(["fine", *words])


def test_a_word_is_in_the_vocabulary_once():
    with pytest.raises(ValueError, match="got 'me' twice"):
        WordTokenizer(["help", "me", "on", "me"])


def test_a_string_is_no_list_of_words():
    with pytest.raises(TypeError, match="expected a list of words"):
        WordTokenizer("help")


# --- learning byte pairs --------------------------------------------------------------------


def test_the_worked_example_of_the_docstring():
    b, a, n, space, d = (byte + OFFSET for byte in b"ban d")
    tokenizer = BPETokenizer.train("banana bandana", 300)
    assert tokenizer.merges == [(a, n), (b, 259), (259, a)]
    assert tokenizer.encode("banana bandana") == [260, 261, space, 260, d, 261]


@given(st.lists(SMALL_ALPHABET, max_size=5), st.integers(0, 40))
@example(["aaaa aaaaa aaaaaaa"], 10)
@example(["a" * 60, "aa" * 17], 10)
@settings(max_examples=300, deadline=None)
def test_merges_equal_those_of_a_trainer_that_recounts(texts, wanted):
    words = Counter(piece for text in texts for piece in split_pieces(text))
    tokenizer = BPETokenizer.train(texts, OFFSET + 256 + wanted)
    assert tokenizer.merges == recounting_merges(words, wanted)


@given(st.dictionaries(st.text(min_size=1, max_size=11), st.integers(1, 13), max_size=13))
@settings(max_examples=200, deadline=None)
def test_merges_of_any_words_equal_those_of_a_trainer_that_recounts(words):
    assert learn_merges(words, 31) == recounting_merges(words, 31)


def test_merges_of_prose_equal_those_of_a_trainer_that_recounts():
    text = PROSE * 2 + module.__doc__ + BPETokenizer.__doc__
    tokenizer = BPETokenizer.train(text, 500)
    assert tokenizer.merges == recounting_merges(Counter(split_pieces(text)), 500 - 259)
    assert tokenizer.vocab_size == 500


def test_between_equals_the_smaller_left_id_wins_then_the_smaller_right_id():
    def first(*texts):
        return bytes(part - OFFSET for part in BPETokenizer.train(texts, 260).merges[0])

    assert first("zb", "zb", "ya", "ya") == b"ya"  # met later, but the left byte is smaller
    assert first("yb", "yb", "ya", "ya") == b"ya"  # equal left bytes: the right one decides
    assert first("zb", "zb", "zb", "ya", "ya") == b"zb"  # frequency comes before age
    assert first("by", "by", "az", "az") == b"az"  # left before right


def test_an_old_token_wins_against_a_new_one():
    a, b, c, d = (byte + OFFSET for byte in b"abcd")
    merges = learn_merges({"abx": 5, "cdab": 2, "cd": 1, "abab": 2}, 3)
    assert merges[:2] == [(a, b), (259, ord("x") + OFFSET)]
    assert merges[2] == (c, d)  # 3 times


def test_training_stops_when_no_pair_occurs_twice():
    assert BPETokenizer.train("abcdef", 300).merges == []
    assert BPETokenizer.train("", 300).merges == []
    assert BPETokenizer.train([], 300).vocab_size == 259
    assert len(BPETokenizer.train("xyxy", 300).merges) == 1


def test_the_order_of_the_texts_does_not_matter():
    texts = PROSE.split("\n")
    assert BPETokenizer.train(texts, 331).merges == BPETokenizer.train(texts[::-1], 331).merges


def test_merges_do_not_cross_the_cuts():
    tokenizer = BPETokenizer.train("a1 a1 a1\n\n\na1" * 7, 300)
    digits = set("0123456789")
    for token in tokenizer.tokens(range(OFFSET + 256, tokenizer.vocab_size)):
        assert not (digits & set(token) and set(token) & {"a"})


def test_the_vocabulary_has_room_for_every_byte():
    assert BPETokenizer.train(PROSE, 259).merges == []
    for size in (258, 0, 1_200_000):
        with pytest.raises(ValueError, match=f"vocab_size from 259.* got {size}"):
            BPETokenizer.train(PROSE, size)


# --- cutting and encoding -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Help me!", ["Help", " me", "!"]),
        ("in  2017,\n x_y", ["in", " ", " 2017", ",", "\n", " x", "_", "y"]),
        ("def f():\n    return", ["def", " f", "():", "\n   ", " return"]),
        ("\n\nend \t", ["\n", "\n", "end", " \t"]),
        ("größer²", ["größer²"]),
    ],
)
def test_pieces_follow_the_stated_rule(text, pieces):
    assert split_pieces(text) == pieces


@given(st.text())
@example("a" * 1009 + " " * 1009 + "7" * 1009 + "!" * 1009)
@settings(deadline=None)
def test_pieces_joined_are_the_text_and_never_long(text):
    pieces = split_pieces(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece.encode()) <= module.LONGEST_PIECE for piece in pieces)


def test_the_longest_possible_piece_becomes_a_token():
    tokenizer = BPETokenizer.train((" " + "𝒳" * 64) * 3, 400)
    assert len(max(tokenizer._pieces, key=len)) == module.LONGEST_PIECE == 257


@given(st.text())
@example("\x00\x85\u2028\ufeff\U0010ffff\ufffe <pad><start>\r\n")
@settings(deadline=None)
def test_any_unicode_text_comes_back(text):
    tokenizer = bpe()
    assert tokenizer.decode(tokenizer.encode(text, start=True, end=True)) == text


@given(st.text(alphabet=sorted(set(PROSE)), max_size=40))
@example(PROSE)
@settings(deadline=None)
def test_encoding_applies_the_merges_in_the_order_they_were_learnt(text):
    tokenizer = bpe()
    expected = [i for piece in split_pieces(text) for i in merges_in_order(piece, tokenizer.merges)]
    assert tokenizer.encode(text) == expected


def test_training_text_is_encoded_as_training_left_it():
    """By hand: bc and cd occur 5 times each, b is older than c, so that cd is never a token."""
    tokenizer = BPETokenizer.train("abcd abcd bcd bcd bcd", 300)
    assert tokenizer.tokens(tokenizer.encode("abcd bcd")) == ["abcd", " bcd"]
    assert tokenizer.tokens(tokenizer.encode("ab cd")) == ["a", "b", " ", "c", "d"]


@pytest.mark.parametrize("broken", ["\ud800", "ab\udfff", "\ude42\ud83d"])
def test_half_a_surrogate_pair_is_refused(broken):
    position = min(i for i, letter in enumerate(broken) if "\ud800" <= letter <= "\udfff")
    for use in (bpe().encode, lambda text: BPETokenizer.train(text, 300)):
        with pytest.raises(ValueError, match=f"surrogate pair at position {position}"):
            use(broken)
    cleaned = broken.encode("utf-8", "replace").decode("utf-8")  # what the message advises
    assert bpe().decode(bpe().encode(cleaned)) == cleaned


@pytest.mark.parametrize(("text", "symbol"), [("wx", 0x7878), ("א", 0xD890), ("é", 0xC4A9)])
def test_a_symbol_in_the_surrogate_range_is_like_any_other(text, symbol):
    """With all pairs of bytes as tokens, the one of the bytes of א has the symbol U+D890."""
    tokenizer = BPETokenizer((left, right) for left in range(3, 259) for right in range(3, 259))
    assert tokenizer.encode(text) == [symbol + OFFSET]
    assert tokenizer.decode([symbol + OFFSET]) == text


def test_the_cache_changes_nothing_and_stays_small(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_CACHE", 5)
    tokenizer, text = bpe(), PROSE * 2
    ids = []
    for piece in split_pieces(text):
        ids += tokenizer.encode(piece)
        assert 0 < len(tokenizer._cache) <= 5
    assert ids == tokenizer.encode(text) == bpe().encode(text)
    tokenizer.encode("the").append(7)
    assert tokenizer.encode("the") == bpe().encode("the")


@pytest.mark.parametrize(
    ("merges", "error", "message"),
    [
        ([(3, 259)], ValueError, "merge 0 to join ids from 3 to 258, got 3 and 259"),
        ([(3, 4), (2, 259)], ValueError, "merge 1 to join ids from 3 to 259, got 2 and 259"),
        ([(-1, 3)], ValueError, "got -1 and 3"),
        ([(3, 4), (4, 3), (3, 4)], ValueError, "got 3 and 4 twice"),
        ([(3, 4.0)], TypeError, "two token ids"),
        ([(3, 4, 5)], TypeError, "two token ids"),
        ([7], TypeError, "two token ids"),
        (
            [(3, 3), *((k, k) for k in range(259, 299))],
            ValueError,
            "at most 257 bytes, got one of 512",
        ),
    ],
)
def test_impossible_merges_are_refused(merges, error, message):
    with pytest.raises(error, match=message):
        BPETokenizer(merges)


def test_bytes_that_are_no_text_show_as_a_replacement_character():
    tokenizer = BPETokenizer([])
    assert tokenizer.decode([0xC3 + OFFSET]) == "�"
    assert tokenizer.decode([0xC3 + OFFSET, 0xA4 + OFFSET]) == "ä"
    assert tokenizer.tokens([0xC3 + OFFSET, ord("a") + OFFSET]) == ["\\xc3", "a"]


# --- what both share ------------------------------------------------------------------------


@BOTH
def test_special_tokens_have_the_first_ids(make):
    tokenizer = make()
    assert (tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id) == (0, 1, 2)
    assert tokenizer.tokens([0, 1, 2]) == ["<pad>", "<start>", "<end>"]
    assert tokenizer.decode([0, 1, 2, 0]) == ""
    plain = tokenizer.encode("the word")
    assert tokenizer.encode("the word", start=True) == [1, *plain]
    assert tokenizer.encode("the word", end=True) == [*plain, 2]
    assert tokenizer.encode("", start=True, end=True) == [1, 2]


def test_every_tokenizer_has_what_the_protocol_declares():
    declared = {name for name in vars(module.Tokenizer) if name[0] != "_"}
    assert {"encode", "decode", "tokens", "pad", "save", "pad_id", "vocab_size"} <= declared
    for tokenizer in (word(), bpe()):
        assert not declared - set(dir(tokenizer))


def test_only_words_can_be_unknown():
    assert word().tokens([word().unk_id]) == ["<unk>"]
    assert bpe().unk_id is None


@BOTH
@pytest.mark.parametrize("text", ["<pad>", "<start>the<end>", "<unk>"])
def test_text_never_becomes_a_special_token(make, text):
    tokenizer = make()
    assert not {0, 1, 2} & set(tokenizer.encode(text))


@BOTH
def test_padding_goes_to_the_right_and_only_where_it_is_needed(make):
    tokenizer = make()
    batch = [[5, 7, 11], [13], [], [4, 6, 8, 10, 12]]
    padded = tokenizer.pad(batch)
    assert padded.dtype == np.int64
    assert padded.tolist() == [[5, 7, 11, 0, 0], [13, 0, 0, 0, 0], [0] * 5, [4, 6, 8, 10, 12]]
    assert tokenizer.pad(np.array(ids) for ids in ([5, 7], [11, 13])).tolist() == [[5, 7], [11, 13]]
    assert tokenizer.pad([[], []]).shape == (2, 0)
    with pytest.raises(ValueError, match="at least one sequence"):
        tokenizer.pad([])


@BOTH
def test_one_hot_times_a_table_looks_up_its_rows(make):
    tokenizer = make()
    table = np.random.default_rng(7).normal(size=(tokenizer.vocab_size, 5))  # (V, D)
    ids = np.array([[4, 7, 11], [4, 0, tokenizer.vocab_size - 1]])
    rows = tokenizer.one_hot(ids)
    assert rows.shape == (2, 3, tokenizer.vocab_size)
    np.testing.assert_array_equal(rows @ table, table[ids])
    np.testing.assert_array_equal(rows.sum(axis=-1), 1)


@BOTH
@pytest.mark.parametrize("wrong", [-1, "size", 10**9])
def test_ids_out_of_range_are_named(make, wrong):
    tokenizer = make()
    wrong = tokenizer.vocab_size if wrong == "size" else wrong
    last = tokenizer.vocab_size - 1
    tokenizer.decode([last])
    for use in (tokenizer.decode, tokenizer.tokens, lambda ids: tokenizer.pad([[3], ids])):
        with pytest.raises(ValueError, match=f"from 0 to {last}, got {wrong} at position 2"):
            use([4, 5, wrong])


@BOTH
@pytest.mark.parametrize("wrong", [[[4, 5], [6, 7]], [4.0], ["4"], 4, None, np.ones((2, 3), int)])
def test_ids_are_a_flat_sequence_of_whole_numbers(make, wrong):
    tokenizer = make()
    for use in (tokenizer.decode, tokenizer.tokens):
        with pytest.raises(TypeError, match="expected a flat sequence of whole numbers"):
            use(wrong)


@BOTH
def test_ids_may_come_in_an_array(make):
    tokenizer = make()
    ids = tokenizer.encode("the word")
    assert tokenizer.decode(np.array(ids)) == tokenizer.decode(iter(ids)) == "the word"


@BOTH
@pytest.mark.parametrize("wrong", [b"bytes", 7, None, ["the"]])
def test_only_text_is_encoded(make, wrong):
    tokenizer = make()
    with pytest.raises(TypeError, match="expected text as a str"):
        tokenizer.encode(wrong)
    with pytest.raises(TypeError, match="expected text as a str"):
        type(tokenizer).train([PROSE, wrong], 300)


@pytest.mark.parametrize("cls", [WordTokenizer, BPETokenizer])
def test_one_string_is_one_text(cls):
    one, many = cls.train(PROSE, 331), cls.train(iter([PROSE]), 331)
    assert one._pieces == many._pieces
    assert one.decode(one.encode("encoder")) == "encoder"  # it has learnt more than letters
    assert len(one.encode("reads what")) <= 4


@BOTH
def test_the_name_and_size_are_shown(make):
    tokenizer = make()
    expected = f"<{type(tokenizer).__name__} of {tokenizer.vocab_size} tokens>"
    assert repr(tokenizer) == expected


# --- files ----------------------------------------------------------------------------------


@BOTH
def test_a_saved_tokenizer_comes_back(make, tmp_path):
    tokenizer, path = make(), tmp_path / "saved.json"
    tokenizer.save(path)
    loaded = type(tokenizer).load(str(path))
    assert loaded._pieces == tokenizer._pieces
    assert loaded.encode(PROSE + " unseen") == tokenizer.encode(PROSE + " unseen")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@given(texts=st.lists(st.text(), max_size=5))
@settings(deadline=None)
def test_any_training_text_gives_a_file_that_loads(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "saved.json"
    for cls in (WordTokenizer, BPETokenizer):
        tokenizer = cls.train(texts, 300)
        tokenizer.save(path)
        assert cls.load(path)._pieces == tokenizer._pieces


def test_a_file_can_be_read_by_a_person(tmp_path):
    WordTokenizer(["größe", "me"]).save(tmp_path / "word.json")
    assert (tmp_path / "word.json").read_bytes().decode().split("\n") == [
        '{"format": "tfmlib WordTokenizer 1",',
        '"special": ["<pad>", "<start>", "<end>", "<unk>"],',
        '"rows": [',
        '"größe",',
        '"me"',
        "]}",
        "",
    ]
    BPETokenizer.train("banana bandana ää ää", 261).save(tmp_path / "bpe.json")
    assert (tmp_path / "bpe.json").read_bytes().decode().split("\n") == [
        '{"format": "tfmlib BPETokenizer 1",',
        '"special": ["<pad>", "<start>", "<end>"],',
        '"rows": [',
        '[100, 113, "an"],',
        '[198, 167, "ä"]',
        "]}",
        "",
    ]


def test_two_tokens_of_the_same_bytes_stay_two(tmp_path):
    a, b, c = (byte + OFFSET for byte in b"abc")
    merges = [(a, b), (b, c), (259, c), (a, 260)]
    tokenizer = BPETokenizer(merges)
    assert tokenizer.tokens([261, 262]) == ["abc", "abc"]
    tokenizer.save(tmp_path / "saved.json")
    assert BPETokenizer.load(tmp_path / "saved.json").merges == merges


WORD_FILE = {
    "format": "tfmlib WordTokenizer 1",
    "special": ["<pad>", "<start>", "<end>", "<unk>"],
    "rows": ["help", "me"],
}
BPE_FILE = {
    "format": "tfmlib BPETokenizer 1",
    "special": ["<pad>", "<start>", "<end>"],
    "rows": [[100, 113, "an"], [101, 259, "ban"]],
}


def test_the_files_that_get_damaged_below_are_sound(tmp_path):
    path = tmp_path / "sound.json"
    path.write_text(json.dumps(WORD_FILE))
    assert WordTokenizer.load(path).encode("help me") == [4, 5]
    path.write_text(json.dumps(BPE_FILE))
    assert BPETokenizer.load(path).encode("ban") == [260]


@pytest.mark.parametrize("cls", [WordTokenizer, BPETokenizer])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no valid JSON"),
        (b"not JSON at all", "no valid JSON"),
        (b'{"format": "tfmlib', "no valid JSON"),
        (b"\x80\x81\xff", "no valid JSON"),
        (b"[" * 100_000, "no valid JSON"),
        (b"[1, 2, 3]", "got None"),
        (b"null", "got None"),
        (b'"text"', "got None"),
        (b"{}", "got None"),
        (b'{"format": 7}', "got 7"),
        (b'{"format": ["tfmlib WordTokenizer 1"]}', "got \\['tfmlib"),
        (b'{"version": "1.0", "model": {"type": "BPE"}}', "got None"),
        (b'{"format": "tfmlib WordTokenizer 2"}', "got 'tfmlib WordTokenizer 2'"),
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(cls, content, message, tmp_path):
    path = tmp_path / "foreign.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"foreign.json is not a .*{message}") as caught:
        cls.load(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("cls", "changes", "message"),
    [
        (WordTokenizer, {"special": None}, "special"),
        (WordTokenizer, {"special": ["<pad>", "<start>", "<end>"]}, "special"),
        (WordTokenizer, {"rows": None}, 'expected "rows" to be a list, got None'),
        (WordTokenizer, {"rows": {"help": 4}}, 'expected "rows" to be a list'),
        (WordTokenizer, {"rows": "help"}, 'expected "rows" to be a list'),
        (WordTokenizer, {"rows": ["help", 5]}, "single lower-case words, got 5"),
        (WordTokenizer, {"rows": ["help", ["me"]]}, "single lower-case words"),
        (WordTokenizer, {"rows": ["help", "\ud800"]}, "single lower-case words"),
        (WordTokenizer, {"rows": ["help", "help"]}, "'help' twice"),
        (BPETokenizer, {"special": ["<pad>", "<start>", "<end>", "<unk>"]}, "special"),
        (BPETokenizer, {"rows": None}, 'expected "rows" to be a list, got None'),
        (BPETokenizer, {"rows": [[100, 113]]}, "two ids and a text, got \\[100, 113\\]"),
        (BPETokenizer, {"rows": [[100, 113, "an", 1]]}, "two ids and a text"),
        (BPETokenizer, {"rows": [[100.0, 113, "an"]]}, "two ids and a text"),
        (BPETokenizer, {"rows": [[True, 113, "an"]]}, "two ids and a text"),
        (BPETokenizer, {"rows": [["a", "n", "an"]]}, "two ids and a text"),
        (BPETokenizer, {"rows": ["ann"]}, "two ids and a text"),
        (BPETokenizer, {"rows": [[100, 113, None]]}, "two ids and a text"),
        (BPETokenizer, {"rows": [[100, 999, "an"]]}, "ids from 3 to 258, got 100 and 999"),
        (BPETokenizer, {"rows": [[100, 259, "an"]]}, "ids from 3 to 258, got 100 and 259"),
        (BPETokenizer, {"rows": [[100, 2, "an"]]}, "ids from 3 to 258, got 100 and 2"),
        (BPETokenizer, {"rows": [[100, -113, "an"]]}, "got 100 and -113"),
        (BPETokenizer, {"rows": [[100, 113, "an"], [100, 113, "an"]]}, "100 and 113 twice"),
        (BPETokenizer, {"rows": [[100, 114, "an"]]}, "make 'ao', not that text"),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(cls, changes, message, tmp_path):
    content = {**(WORD_FILE if cls is WordTokenizer else BPE_FILE), **changes}
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=f"saved.json is damaged: .*{message}"):
        cls.load(path)


@pytest.mark.parametrize("key", ["format", "special", "rows"])
@pytest.mark.parametrize(("cls", "sound"), [(WordTokenizer, WORD_FILE), (BPETokenizer, BPE_FILE)])
def test_a_missing_key_is_named(cls, sound, key, tmp_path):
    path = tmp_path / "saved.json"
    path.write_text(json.dumps({name: value for name, value in sound.items() if name != key}))
    with pytest.raises(ValueError, match=f'expected "{key}" to be .*got None'):
        cls.load(path)


def test_the_file_of_the_other_tokenizer_is_refused(tmp_path):
    word().save(tmp_path / "word.json")
    bpe().save(tmp_path / "bpe.json")
    with pytest.raises(ValueError, match=r"not a BPETokenizer file.*'tfmlib WordTokenizer 1'"):
        BPETokenizer.load(tmp_path / "word.json")
    with pytest.raises(ValueError, match=r"not a WordTokenizer file.*'tfmlib BPETokenizer 1'"):
        WordTokenizer.load(tmp_path / "bpe.json")


def test_a_file_of_doubling_merges_does_not_eat_the_memory(tmp_path):
    rows = [[100, 100, "aa"]]
    rows += [[258 + k, 258 + k, "a" * 2 ** (k + 1)] for k in range(1, 10)]
    path = tmp_path / "bomb.json"
    path.write_text(json.dumps({**BPE_FILE, "rows": rows}))
    with pytest.raises(ValueError, match="tokens of at most 257 bytes, got one of 512"):
        BPETokenizer.load(path)


def test_a_file_that_is_not_there_is_reported_by_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        BPETokenizer.load(tmp_path / "absent.json")


def test_the_examples_in_the_docstrings_are_true():
    result = doctest.testmod(module)
    assert result.attempted > 15
    assert result.failed == 0
