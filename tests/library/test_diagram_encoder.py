"""The diagrams of chapter 7 show what was computed: networks, layers and stacks of them."""

from pathlib import Path

import numpy as np
import pytest
from pictures import rows

from tfmlib.plots import diagrams

ROOT = Path(__file__).resolve().parents[2]
FEATURES = ["finance", "nature", "open", "none"]
TABLE = {
    "bank": [1, 1, 1, 0],
    "money": [2, 0, 0, 0],
    "withdraw": [1, 0, 0, 0],
    "river": [0, 2, 0, 0],
    "fresh": [0, 1, 0, 0],
    "air": [0, 1, 0, 0],
}
MONEY = ["I", "went", "to", "bank", "to", "withdraw", "money"]
RIVER = ["I", "went", "to", "river", "bank", "to", "get", "fresh", "air"]


def norm(row):
    return (row - row.mean()) / np.sqrt(((row - row.mean()) ** 2).mean() + 1e-5)


def bank_by_hand(words):
    """The stages of bank in the chapter's layer, word by word and without the library."""
    vectors = [np.array(TABLE.get(word, [0, 0, 0, 1]), float) for word in words]
    bank = vectors[words.index("bank")]
    scores = [np.exp((4 * v[0] + 4 * v[1] - 8 * v[2]) / 2) for v in vectors]
    shares = np.array(scores) / sum(scores)
    finance, nature = (sum(s * v[k] for s, v in zip(shares, vectors, strict=True)) for k in (0, 1))
    attended = np.array([finance, nature, 0, 0])
    y = norm(bank + attended)
    refined = (y[0] - y[1]) * np.array([1, -1, 0, 0])  # one of the two units writes it
    return {
        "X": bank,
        "M(X)": attended,
        "Y": y,
        "FFN(Y)": refined,
        "Z": norm(y + refined),
    }


BANK = bank_by_hand(MONEY)
STAGES = {name: np.stack([np.zeros(4), row, np.ones(4)]) for name, row in BANK.items()}
X = np.array([[1, 0], [-1, 2], [0, -2], [2, 1]])
BEFORE = np.array([[1, -1, 1, -1], [-3, 3, 1, -3], [2, -2, -2, 1], [1, -1, 3, -2]])
OUT = np.array([[2, -2], [1, 1], [2, 1], [4, -4]])
TARGETS = np.array([np.minimum(np.arange(9) + 2**k, 8) for k in range(4)])
PARTS = ["attention, add and norm", "feed-forward network, add and norm"]
PAIR = [{name: bank_by_hand(words)[name] for name in "XYZ"} for words in (MONEY, RIVER)]

PICTURES = {
    "feed-forward": diagrams.feed_forward_rows(X, BEFORE, OUT, ["Show", "me", "the", "money"]),
    "stack": diagrams.layer_stack(TARGETS, range(9)),
    "layer": diagrams.encoder_layer(STAGES, 1, FEATURES, hidden=2),
    "side by side": diagrams.side_by_side(*PAIR, ["… money", "river …"], FEATURES, PARTS),
}


def labels(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def test_the_network_leads_from_x_to_the_hidden_units_and_back():
    narrow = rows(PICTURES["feed-forward"], right=1.5)
    wide = rows(PICTURES["feed-forward"], left=2.5)
    assert narrow == [*X.tolist(), *OUT.tolist()]
    assert wide == [*BEFORE.tolist(), *np.where(BEFORE > 0, BEFORE, 0).tolist()]


def test_what_the_relu_turns_into_zero_is_framed():
    frames = [p for p in PICTURES["feed-forward"].axes[0].patches if p.get_zorder() == 4]
    assert len(frames) == 8 == (BEFORE < 0).sum()
    assert PICTURES["feed-forward"].alt.endswith("The ReLU turns 8 of 16 numbers into 0.")


def test_a_stack_shows_what_goes_into_each_layer_and_what_comes_out():
    tokens, *drawn = rows(PICTURES["stack"])
    assert tokens == list(range(9))
    assert drawn == TARGETS.tolist()
    places = {t.get_text(): t.get_position()[1] for t in PICTURES["stack"].axes[0].texts}
    heights = [places[f"layer {k}"] for k in (1, 2, 3)]
    assert heights == sorted(heights)
    assert "1, then 2, then 4, then 8" in PICTURES["stack"].alt


def test_a_layer_shows_its_row_at_every_stage_and_both_sums():
    x, attended, y, refined, z = BANK.values()
    expected = [x, attended, x + attended, y, refined, y + refined, z]
    np.testing.assert_allclose(rows(PICTURES["layer"]), expected, atol=0.006)
    written = labels(PICTURES["layer"])
    assert written.count("+") == written.count("layer norm") == 2
    assert "attention: weights (3, 3)" in written
    assert "feed-forward: hidden (3, 2)" in written
    assert written.count("shape (3, 4)") == 3


def test_the_two_banks_part_as_far_as_the_chapter_says():
    apart = [np.linalg.norm(PAIR[0][name] - PAIR[1][name]) for name in "XYZ"]
    assert [f"{a:.2f}" for a in apart] == ["0.00", "2.46", "3.68"]
    written = labels(PICTURES["side by side"])
    assert [t for t in written if t.endswith("apart")] == ["0 apart", "2.46 apart", "3.68 apart"]
    chapter = (ROOT / "book/chapters/07-the-encoder.md").read_text(encoding="utf-8")
    summary = chapter.partition("## Summary")[2].partition("## Quiz")[0]
    assert "2.46" in summary
    assert "3.68" in summary


def test_the_two_sentences_are_drawn_each_on_its_side():
    for k, (left, right) in enumerate(((0, 2), (2.8, 4.8))):
        drawn = rows(PICTURES["side by side"], left, right)
        np.testing.assert_allclose(drawn, list(PAIR[k].values()), atol=0.006)


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: diagrams.feed_forward_rows(X, BEFORE[:3], OUT, "abcd"), "4, 3 and 4 rows"),
        (lambda: diagrams.feed_forward_rows(X, BEFORE, OUT, ["a"]), "words must have 4 labels"),
        (lambda: diagrams.layer_stack(TARGETS[:1], range(9)), "before and after a layer, but has"),
        (lambda: diagrams.encoder_layer({"X": X}, 0, "ab", 2), "stages must be X, M"),
        (
            lambda: diagrams.side_by_side({"X": [1]}, {"Y": [1]}, ["a", "b"], ["c"], []),
            "the same stages, but have X and Y",
        ),
        (
            lambda: diagrams.side_by_side(*PAIR, ["a", "b"], FEATURES, PARTS[:1]),
            "parts must have 2 labels",
        ),
    ],
)
def test_what_cannot_be_drawn_gets_its_sentence(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
