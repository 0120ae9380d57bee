"""The data of the explorers: the same as the chapters and the ledger have."""

import numpy as np
import pytest

from book import explorers
from book.explorers import decoding
from book.manuscript import read
from conftest import ROOT
from tfmlib import ledger
from tfmlib.ledger.printed import agreeing, numbers


def test_the_table_of_the_decoding_explorer_is_the_chapters():
    blocks = read(ROOT / "book/chapters/09-the-decoder.md").blocks
    [cell] = [b.source for b in blocks if b.kind == "code" and "P = np.zeros" in b.source]
    made = {"np": np}
    exec(cell, made)
    assert made["names"] == decoding.TOKENS
    table = [[decoding.TABLE[word].get(other, 0.0) for other in decoding.TOKENS]
             for word in decoding.TOKENS]  # fmt: skip
    np.testing.assert_array_equal(table, made["P"])


EXAMPLES = [(kind, name) for kind in explorers.kinds() for name in explorers.data(kind)["presets"]]


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_every_example_asks_first_and_says_why(kind, name):
    asked = explorers.data(kind)["presets"][name]["question"]
    assert asked["ask"].endswith("?")
    assert 2 <= len(asked["choices"]) <= 4
    assert asked["choices"][asked["right"]] not in asked["ask"].rpartition(". ")[2]
    assert len(asked["reason"]) > 40


@pytest.mark.parametrize(
    ("choices", "right"), [(["1"], "1"), (["1", "1"], "1"), (["1", "2"], "3"), ([*"12345"], "1")]
)
def test_a_question_whose_key_is_no_choice_of_two_to_four_is_refused(choices, right):
    with pytest.raises(ValueError, match=r"^Expected 2 to 4 choices with '\d' among them, got \["):
        explorers.question("Which?", choices, right, "Because.")


# (preset, stage) of the attention explorer -> where the ledger has its figures, text under text.
TEXTS = {
    ("money", "weights"): [("notes.S", "S")],
    ("help-me", "scaled"): [("notes.help-me-1", "scaled"), ("notes.help-me-2", "scaled")],
    ("help-me", "weights"): [("notes.help-me-1", "weights"), ("notes.help-me-2", "weights")],
    ("masked", "weights"): [("notes.mask-softmax", "S'")],
    ("board-softmax", "weights"): [("board.softmax", "weights")],
    ("good-morning", "scaled"): [("board.scores", "scores")],
    ("good-morning", "weights"): [("board.scores", "weights")],
}


def assert_tolerances(texts, figures, tolerances):
    """A number just within its tolerance agrees for the ledger, one just beyond it does not."""
    figures, tolerances = np.array(figures, dtype=float), np.array(tolerances)
    for text in texts:
        rows = text.count("/") + 1
        shape = numbers(text).shape
        values, allowed = figures[:rows].reshape(shape), tolerances[:rows].reshape(shape)
        figures, tolerances = figures[rows:], tolerances[rows:]
        for sign in (-1, 1):
            assert agreeing(text, values + sign * 0.999 * allowed).all()
            assert not agreeing(text, values + sign * 1.001 * allowed).any()
    assert len(figures) == len(tolerances) == 0


def test_the_attention_explorer_has_the_ledgers_tolerances():
    presets = explorers.data("attention")["presets"]
    compared = {(name, stage) for name, one in presets.items() for stage in one.get("printed", ())}
    assert compared == set(TEXTS)
    for (name, stage), places in TEXTS.items():
        entries = [(ledger.find(id), label) for id, label in places]
        texts = [{**entry.given, **entry.printed}[label] for entry, label in entries]
        preset = presets[name]
        assert_tolerances(texts, preset["printed"][stage], preset["tolerance"][stage])


def test_the_encoding_explorer_has_the_ledgers_tolerances():
    presets = explorers.data("encoding")["presets"].values()
    compared = [preset for preset in presets if "printed" in preset]
    assert compared
    for preset in compared:
        texts = [*ledger.find(preset["entry"]["id"]).printed.values()]
        assert_tolerances(texts, [preset["printed"]], [preset["tolerance"]])
