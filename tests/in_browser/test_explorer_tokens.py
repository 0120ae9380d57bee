"""The tokens explorer of chapter 1, in a real browser, against tfmlib.tokenizer."""

import random

import pytest
from explorer_reader import visiting

from book import explorers
from book.explorers import tokens
from tfmlib.tokenizer import WordTokenizer, split_pieces, split_words

pytestmark = pytest.mark.browser

PAGE = "notebooks/01-tokens.html"
DATA = explorers.data("tokens")
PRESETS, MERGES = DATA["presets"], len(DATA["merges"])
ALPHABET = "ab theisland  \t,.!?_-'’0123²½Ⅷéöß\u0301äñ漢字ひ🙂👩‍🚀שלום\u00a0\u2003\x1c\x85\ufeff"
TEXTS = [
    "The island needs bread",
    "  two  spaces ",
    "it's 2017!",
    "schön 🙂",
    "x" * 70,
    " ",
    "e\u0301",
]
CHIPS = """box => [...box.querySelectorAll('.tfm-chips [data-id]')].map(
    chip => [Number(chip.dataset.id), chip.querySelector('b').textContent])"""


@pytest.fixture(scope="module")
def first_visit(chromium, address):
    """One page for all tests that only move the controls."""
    with visiting(chromium) as visit:
        yield visit(address, PAGE, "story").open()


@pytest.fixture
def reader(first_visit):
    first_visit.start_over()
    yield first_visit
    assert first_visit.troubles == []


@pytest.fixture
def visit(chromium, address):
    with visiting(chromium) as visit:
        yield lambda **options: visit(address, PAGE, "story", **options)


def random_texts() -> list[str]:
    source = random.Random(5)
    return ["".join(source.choices(ALPHABET, k=source.randrange(1, 40))) for _ in range(150)]


def chips(reader) -> list[tuple[int, str]]:
    return [tuple(chip) for chip in reader.box.evaluate(CHIPS)]


def wanted(text: str, merges: int) -> list[tuple[int, str]]:
    tokenizer = tokens.bpe(merges)
    ids = tokenizer.encode(text)
    return list(zip(ids, [t.replace(" ", "␣") for t in tokenizer.tokens(ids)], strict=True))


# --- what is computed -----------------------------------------------------------------------------


def test_any_text_is_cut_and_encoded_as_the_library_does_it(reader):
    data = [DATA["merges"], MERGES]
    for text in [*TEXTS, *random_texts()]:
        found = reader.page.evaluate(
            "([text, merges, count]) => [tfm.tokens.splitPieces(text), tfm.tokens.splitWords(text),"
            " tfm.tokens.encode(text, merges, count).flat()]",
            [text, *data],
        )
        assert found[0] == split_pieces(text), repr(text)
        assert found[1] == split_words(text), repr(text)
        assert found[2] == tokens.bpe().encode(text), repr(text)


@pytest.mark.parametrize("merges", [0, 1, 7, 100, MERGES - 1])
def test_fewer_merges_are_a_smaller_vocabulary(reader, merges):
    for text in [*TEXTS, *(preset["text"] for preset in PRESETS.values())]:
        found = reader.page.evaluate(
            "([text, merges, count]) => tfm.tokens.encode(text, merges, count).flat()",
            [text, DATA["merges"], merges],
        )
        assert found == tokens.bpe(merges).encode(text)


def test_the_stored_merges_and_words_are_what_the_story_of_the_chapter_teaches():
    assert tokens.trained()["words"] == DATA["words"]
    assert [list(pair) for pair in tokens.trained()["merges"]] == DATA["merges"]
    assert tokens.FIRST + MERGES == tokens.SIZE


# --- what is shown --------------------------------------------------------------------------------


def test_every_token_is_shown_with_its_id_at_every_number_of_merges(reader):
    for preset in PRESETS:
        reader.control("preset").select_option(preset)
        for merges in (0, 3, 60, MERGES):
            reader.control("merges").fill(str(merges))
            assert chips(reader) == wanted(PRESETS[preset]["text"], merges)


def test_a_step_is_the_next_merge_that_changes_the_text(reader):
    text = PRESETS["story"]["text"]
    reader.control("merges").fill("0")
    before, lengths = None, [len(chips(reader))]
    while reader.control("forward").get_attribute("aria-disabled") == "false":
        reader.control("forward").click()
        merges = reader.settings["merges"]
        assert chips(reader) == wanted(text, merges)
        assert len(wanted(text, merges - 1)) > len(chips(reader))  # this very merge did it
        newest = reader.box.locator(".tfm-newest").first.get_attribute("data-id")
        assert int(newest) == tokens.FIRST + merges - 1
        lengths.append(len(chips(reader)))
        before = merges
    assert lengths == sorted(lengths, reverse=True)
    assert chips(reader) == wanted(text, MERGES)
    reader.control("back").click()
    assert reader.settings["merges"] == before - 1
    assert len(chips(reader)) == lengths[-2]


def test_words_outside_the_story_are_unknown_to_a_list_of_words(reader):
    vocabulary = WordTokenizer(DATA["words"])
    for text in ("The island needs bread", "HENRY's honey, twice"):
        reader.control("text").fill(text)
        shown = reader.box.locator(".tfm-words li").all_inner_texts()
        assert shown == vocabulary.tokens(vocabulary.encode(text))
        assert f"{shown.count('<unk>')} unknown" in reader.box.inner_text()


def test_the_right_choice_is_what_the_picture_shows(reader):
    right = reader.ask("story")
    whole = [text.strip("␣") for _, text in chips(reader) if text.startswith("␣")]
    assert right in whole
    assert not {"needs", "bread"} & set(whole)
    for preset in ("ships", "emoji"):
        assert reader.ask(preset) == str(len(chips(reader)))
    right = reader.ask("german")
    german = len(chips(reader))
    reader.control("text").fill(PRESETS["ships"]["text"])
    assert ("Ein gutes Brot" in right) == (german > len(chips(reader)))


def test_what_is_said_counts_bytes_and_tokens(reader):
    reader.control("preset").select_option("emoji")
    reader.control("merges").fill("0")
    assert reader.said == "11 bytes, 11 tokens. No merge yet: every token is a byte."
    reader.control("text").fill("")
    assert reader.said == "Type a text, and see it fall into tokens."


# --- by keyboard, by touch, for all ---------------------------------------------------------------


def test_keys_alone_type_step_and_link(visit):
    reader = visit().open(merges=0)
    reader.control("text").focus()
    reader.page.keyboard.press("End")
    reader.page.keyboard.type(" & honey")
    reader.control("forward").focus()
    reader.page.keyboard.press("Enter")
    assert reader.focused() == "forward"
    settings, shown = reader.settings, chips(reader)
    assert settings["text"].endswith(" & honey")
    assert settings["merges"] > 0
    reader.go(reader.address_when_settled())
    assert (reader.settings, chips(reader)) == (settings, shown)


def test_a_finger_steps_on_a_telephone_and_nothing_sticks_out(visit):
    telephone = {"viewport": {"width": 375, "height": 800}, "has_touch": True}
    reader = visit(**telephone).open(merges=0, text="Donaudampfschifffahrtsgesellschaft " * 2)
    assert reader.sticking_out() == []
    reader.control("forward").tap()
    reader.page.wait_for_function("id => tfm.running[id].settings.merges > 0", arg=reader.id)
    assert reader.sticking_out() == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_violation_with_bytes_or_tokens(visit, mode):
    reader = visit(color_scheme=mode)
    for merges in (0, MERGES):
        assert reader.open(merges=merges, text="schön 🙂 & bread").violations() == []
