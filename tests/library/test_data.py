"""The translation task: right words, no leak between the parts, and errors that name the line."""

import re
from collections import Counter

import numpy as np
import pytest
from num2words import num2words

from tfmlib import data
from tfmlib.tokenizer import BPETokenizer, WordTokenizer

KNOWN = {
    0: ("zero", "null", "zéro"),
    17: ("seventeen", "siebzehn", "dix sept"),
    21: ("twenty one", "ein und zwanzig", "vingt et un"),
    76: ("seventy six", "sechs und siebzig", "soixante seize"),
    80: ("eighty", "achtzig", "quatre vingts"),
    301: ("three hundred and one", "drei hundert eins", "trois cent un"),
    1100: ("one thousand one hundred", "ein tausend ein hundert", "mille cent"),
    71_018: (
        "seventy one thousand and eighteen",
        "ein und siebzig tausend achtzehn",
        "soixante et onze mille dix huit",
    ),
    999_999: (
        "nine hundred and ninety nine thousand nine hundred and ninety nine",
        "neun hundert neun und neunzig tausend neun hundert neun und neunzig",
        "neuf cent quatre vingt dix neuf mille neuf cent quatre vingt dix neuf",
    ),
}
SAMPLE = [*range(1000), *range(1000, 1_000_000, 7919)]


# --- numbers in words ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", KNOWN)
def test_known_numbers_are_written_right_in_three_languages(n):
    assert tuple(data.number_words(n, language) for language in data.LANGUAGES) == KNOWN[n]


def test_german_morphemes_joined_are_the_german_word():
    for n in SAMPLE:
        assert data.number_words(n, "de").replace(" ", "") == num2words(n, lang="de")


def test_english_and_french_lose_only_hyphens_and_commas():
    for n in SAMPLE:
        for language in ("en", "fr"):
            plain = re.sub("[-,] ?", " ", num2words(n, lang=language))
            assert data.number_words(n, language) == plain


def test_no_two_numbers_are_written_alike():
    for language in data.LANGUAGES:
        assert len({data.number_words(n, language) for n in SAMPLE}) == len(SAMPLE)


def test_german_says_units_before_tens_and_english_after():
    assert data.number_pairs([85]) == [("eighty five", "fünf und achtzig")]
    assert data.number_pairs([85], "de", "en") == [("fünf und achtzig", "eighty five")]


@pytest.mark.parametrize("n", [-1, 1_000_000, 2.0, True, "7"])
def test_a_number_out_of_range_is_refused(n):
    with pytest.raises(ValueError, match="from 0 to 999,999, got"):
        data.number_words(n, "en")


@pytest.mark.parametrize("name", ["en", "en-en", "en-it", "xx-de", ""])
def test_an_unknown_task_is_refused_by_name(name):
    with pytest.raises(ValueError, match=r"expected a (task of two languages|language of)"):
        data.number_task(name, below=100, train=10, validation=1, test=1)


# --- the split ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("below", "train"), [(997, 700), (997, 797), (100_000, 1300), (10, 7)])
def test_the_parts_share_no_number_and_have_the_sizes_asked_for(below, train):
    held = 100 if below > 100 else 1
    parts = data.split_numbers(below, train, validation=held, test=held)
    assert [len(part) for part in parts] == [train, held, held]
    everything = [n for part in parts for n in part]
    assert len(set(everything)) == len(everything)
    assert min(everything) >= 0
    assert max(everything) < below


def test_training_sees_each_length_and_the_test_is_drawn_evenly():
    train, _, test = data.split_numbers(1_000_000, train=3000, validation=0, test=2000)
    lengths = Counter(len(str(n)) for n in train)
    assert lengths[1] in (9, 10)
    assert min(lengths[d] for d in (3, 4, 5, 6)) > 600
    assert np.mean(np.array(test) >= 100_000) > 0.85


def test_the_split_depends_on_the_seed_alone():
    one, again, other = (data.split_numbers(1000, 300, 50, 50, seed) for seed in (3, 3, 5))
    assert one == again
    assert one != other


def test_asking_for_more_numbers_than_there_are_is_refused():
    with pytest.raises(ValueError, match=r"at most 100 numbers, got 90 \+ 10 \+ 1"):
        data.split_numbers(100, 90, 10, 1)


def test_where_there_are_no_more_numbers_nobody_is_told_to_raise_their_limit():
    with pytest.raises(ValueError, match="validation and test; ask for fewer"):
        data.split_numbers(data.LARGEST, 29_000, 2_000_000, 1000)
    with pytest.raises(ValueError, match="; raise `below` or ask for fewer"):
        data.split_numbers(100, 90, 10, 1)


@pytest.mark.parametrize("name", ["en-de", "de-en", "en-fr", "fr-de"])
def test_no_number_has_an_unknown_word(name):
    tokenizer = data.number_task(name, below=100, train=50, validation=5, test=5).tokenizer
    for n in SAMPLE[::3]:
        for text in data.number_pairs([n], *name.split("-"))[0]:
            assert tokenizer.unk_id not in tokenizer.encode(text)


def test_no_test_sentence_is_trained_on():
    task = data.number_task("en-de", below=500, train=300, validation=50, test=100)
    parts = [{source for source, _ in part} for part in (task.train, task.validation, task.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 450


# --- your own text ------------------------------------------------------------------------------


def write(folder, source, target):
    paths = folder / "source.txt", folder / "target.txt"
    for path, content in zip(paths, (source, target), strict=True):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


def test_two_files_become_pairs_line_by_line(tmp_path):
    paths = write(tmp_path, "\ufeffhelp me\r\nshow me\r\n", "hilf mir\nzeig\u2028es mir")
    assert data.read_pairs(*paths) == [("help me", "hilf mir"), ("show me", "zeig\u2028es mir")]


def test_lines_of_an_old_mac_are_lines_and_a_stray_return_is_white_space(tmp_path):
    paths = write(tmp_path, "help me\rshow me\r", "hilf\rmir\nzeig es mir\n")
    assert data.read_pairs(*paths) == [("help me", "hilf\rmir"), ("show me", "zeig es mir")]
    assert data.read_pairs(*write(tmp_path, 5000 * "a", "b")) == [(5000 * "a", "b")]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a\nb\nc\n", "a\nb\n", r"source\.txt, line 3: no partner in .*target\.txt"),
        ("a\n", "a\nb\n", r"target\.txt, line 2: no partner in .*source\.txt"),
        ("a\n \nc\n", "a\nb\nc\n", r"source\.txt, line 2: empty"),
        ("a\nb\n", "a\nb\n\n", r"target\.txt, line 3: empty"),
        ("a\nb\n", b"a\nsch\xf6n\n", r"target\.txt, line 2: byte 4 of the line is not UTF-8"),
        ("", "a\n", r"source\.txt, line 1: the file is empty"),
        ("a\nb\n", "a\n" + 5001 * "b", r"target\.txt, line 2: 5,001 char.* at most 5,000; split"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_line(tmp_path, source, target, message):
    with pytest.raises(ValueError, match=message):
        data.read_pairs(*write(tmp_path, source, target))


def test_a_sentence_that_occurs_twice_stays_in_one_part(tmp_path):
    source = "".join(f"s{i % 40}\n" for i in range(100))
    target = "".join(f"t{i % 80}\n" for i in range(100))
    task = data.text_task(*write(tmp_path, source, target), validation=7, test=11)
    parts = [{s for s, _ in part} for part in (task.train, task.validation, task.test)]
    assert [len(part) for part in parts] == [22, 7, 11]
    assert len(set.union(*parts)) == 40
    assert sum(len(part) for part in (task.train, task.validation, task.test)) == 80


def test_the_tokenizer_of_a_text_learns_from_training_alone_and_can_be_another(tmp_path):
    paths = write(tmp_path, *("".join(f"{c}{i}\n" for i in range(20)) for c in "st"))
    task = data.text_task(*paths, validation=3, test=5)
    assert task.tokenizer.unk_id in task.tokenizer.encode(task.test[0][0])
    assert task.tokenizer.vocab_size == 4 + 2 * 12
    task = data.text_task(*paths, 3, 5, make_tokenizer=lambda t: BPETokenizer.train(t, 300))
    assert task.tokenizer.decode(task.tokenizer.encode(task.test[0][0])) == task.test[0][0]


def test_holding_out_everything_is_refused(tmp_path):
    paths = write(tmp_path, "a\nb\nc\n", "a\nb\nc\n")
    with pytest.raises(ValueError, match=r"the 3 that differ in .*, got 2 for validation \+ 1 for"):
        data.text_task(*paths, validation=2, test=1)
    with pytest.raises(ValueError, match="; hold out fewer, or bring at least 9 different"):
        data.text_task(*paths, validation=3, test=5)
    paths = write(tmp_path, "a\nb\n", "a\nb\n")  # where there is nothing to lower
    with pytest.raises(ValueError, match="1 for test; bring at least 3 different sentences"):
        data.text_task(*paths, validation=1, test=1)


# --- batches ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def task():
    return data.number_task("en-de", below=10_000, train=503, validation=10, test=10)


def as_texts(task, batches):
    decode = task.tokenizer.decode
    return [(decode(s), decode(t)) for src, tgt in batches for s, t in zip(src, tgt, strict=True)]


def test_an_epoch_has_each_pair_once_and_the_next_one_again(task):
    batches = data.Batches(task.train, task.tokenizer, batch_size=32)
    assert len(batches) == 16
    assert sorted(as_texts(task, batches)) == sorted(task.train)
    second = [batches[step] for step in range(16, 32)]
    assert sorted(as_texts(task, second)) == sorted(task.train)
    assert as_texts(task, second) != as_texts(task, batches)


def test_sources_end_and_targets_start_and_end(task):
    for src, tgt in data.Batches(task.train, task.tokenizer, 32):
        assert (tgt[:, 0] == 1).all()
        assert ((src == 2).sum(axis=1) == 1).all()
        assert ((tgt == 2).sum(axis=1) == 1).all()
        assert (src != 1).all()
        for row in (*src, *tgt):
            assert (row[np.flatnonzero(row == 2)[0] + 1 :] == 0).all()


def test_batches_hold_similar_lengths(task):
    batches = list(data.Batches(task.train, task.tokenizer, 16))
    spread = [np.ptp((src != 0).sum(axis=1)) for src, _ in batches]
    padding = np.mean([(src == 0).mean() for src, _ in batches])
    order = np.random.default_rng(0).permutation(len(task.train))
    mixed = [task.tokenizer.encode(task.train[i][0], end=True) for i in order]
    unsorted = np.mean(
        [(task.tokenizer.pad(mixed[i : i + 16]) == 0).mean() for i in range(0, 480, 16)]
    )
    assert max(spread) <= 3
    assert np.mean(spread) < 1
    assert padding < unsorted / 5


def test_batches_do_not_come_in_order_of_length(task):
    lengths = [src.shape[1] for src, _ in data.Batches(task.train, task.tokenizer, 32)]
    assert lengths != sorted(lengths)


def test_a_step_has_the_same_batch_wherever_you_come_from(task):
    one, other = (data.Batches(task.train, task.tokenizer, 32, seed=7) for _ in range(2))
    in_order = [one[step] for step in range(40)]
    for step in (39, 0, 17, 16, 15):
        for a, b in zip(in_order[step], other[step], strict=True):
            np.testing.assert_array_equal(a, b)
    different = data.Batches(task.train, task.tokenizer, 32, seed=8)
    assert as_texts(task, different) != as_texts(task, one)


def test_pairs_of_one_length_meet_in_other_batches_in_the_next_epoch(task):
    batches = data.Batches(task.train, task.tokenizer, 32)
    groups = [{frozenset(rows.tolist()) for rows in batches.order(epoch)} for epoch in (0, 1)]
    assert len(groups[0] & groups[1]) <= 1


def test_empty_or_impossible_batches_are_refused(task):
    with pytest.raises(ValueError, match="at least one pair"):
        data.Batches([], task.tokenizer, 3)
    with pytest.raises(ValueError, match="batch_size of at least 1, got 0"):
        data.Batches([("a", "b")], WordTokenizer(["a", "b"]), 0)
    with pytest.raises(IndexError, match="from 0, got -1"):
        data.Batches([("a", "b")], WordTokenizer(["a", "b"]), 1)[-1]
