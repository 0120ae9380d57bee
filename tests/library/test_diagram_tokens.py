"""The diagrams of chapter 1 draw what its tokenizers compute."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Rectangle

from tfmlib.plots import diagrams
from tfmlib.plots.colours import ACCENT, GREEN, GRID
from tfmlib.tokenizer import BPETokenizer, WordTokenizer, split_words

SIX_WORDS = "the other brother of the mother"
STEPS = [BPETokenizer.train(SIX_WORDS, size) for size in range(259, 264)]
CUTS = [step.tokens(step.encode(SIX_WORDS)) for step in STEPS]
PAIRS = [step.tokens(step.merges[-1]) for step in STEPS[1:]]
COUNTS = [5, 5, 3, 3]  # by hand, as the chapter's table has them
WORDS = WordTokenizer.train(["Show me the money!", "Show me the way.", "Not on your life!"])
NAMES = WORDS.tokens(range(WORDS.vocab_size))
HONEY = ["<start>", *split_words("Show me the honey!"), "<end>"]
HONEY_IDS = WORDS.encode("Show me the honey!", start=True, end=True)
TEXTS = ["Show me the money!", "Not on your life!", "Show me!"]
BATCH = WORDS.pad([WORDS.encode(text, end=True) for text in TEXTS])
CHEESE = "Käse 😀"
WAYS = {"words": CHEESE.split(), "characters": list(CHEESE), "bytes": list(CHEESE.encode())}
BPE = BPETokenizer.train("to be or not to be, that is the question", 300)
TO_BE = "not to be"
CUT = diagrams.cut_ways(CHEESE, WAYS)
MERGE = diagrams.merge_steps(CUTS, PAIRS, COUNTS)
LOOKED_UP = diagrams.looked_up(HONEY, HONEY_IDS, NAMES)
FILLED = diagrams.batch_of_ids(BATCH, NAMES, WORDS.pad_id)
BACK = diagrams.there_and_back(TO_BE, BPE.tokens(BPE.encode(TO_BE)), BPE.encode(TO_BE))
TRADE = diagrams.trade_off([259, 300, 500], [2306, 1460, 772], [132608, 153600, 256000])
PICTURES = {
    "cut ways": CUT,
    "merge steps": MERGE,
    "looked up": LOOKED_UP,
    "batch of ids": FILLED,
    "there and back": BACK,
    "trade-off": TRADE,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def chips(picture):
    """(left, right, colour) of each chip, row by row."""
    plain = [p for p in picture.axes[0].patches if type(p) is Rectangle]
    rows = {}
    for chip in plain:
        x = chip.get_x()
        face = to_hex(chip.get_facecolor())
        rows.setdefault(round(chip.get_y(), 3), []).append((x, x + chip.get_width(), face))
    return list(rows.values())


def cards(picture):
    return [p for p in picture.axes[0].patches if isinstance(p, FancyBboxPatch)]


def test_every_piece_is_as_wide_as_its_bytes_and_lies_above_them():
    words, characters, single = chips(CUT)
    byte = 4.6 / 10
    widths = [(right - left) / byte for left, right, _ in characters]
    np.testing.assert_allclose(widths, [1, 2, 1, 1, 1, 4])
    assert len(single) == 10
    for word, first, last in ((words[0], 0, 4), (words[1], 6, 9)):
        assert word[0] == pytest.approx(single[first][0])
        assert word[1] == pytest.approx(single[last][1])
        assert {face for _, _, face in single[first : last + 1]} == {word[2]}
    assert len({words[0][2], words[1][2], single[5][2]}) == 3
    assert single[5][2] == GRID  # the space is in no word
    assert {"2 words", "6 characters", "10 bytes", "195", "164", "␣"} <= {*texts(CUT)}


def test_each_merge_joins_the_pair_that_is_counted_and_makes_the_next_row():
    for cut, pair, count, following in zip(CUTS, PAIRS, COUNTS, CUTS[1:], strict=False):
        assert Counter(pairwise(cut))[tuple(pair)] == count
        joined = "|".join(cut).replace("|".join(pair), "".join(pair))
        assert joined == "|".join(following)
    titles = ["1.  h + e, 5 times", "2.  t + he, 5 times", "3.  o + the, 3 times"]
    assert {*titles, "4.  othe + r, 3 times", "31 tokens", "15 tokens"} <= {*texts(MERGE)}


def test_the_newest_chips_are_blue_and_older_ones_green():
    rows = chips(MERGE)
    assert [len(row) for row in rows] == [len(cut) for cut in CUTS] == [31, 26, 21, 18, 15]
    newest = [sum(face == ACCENT for _, _, face in row) for row in rows]
    assert newest == [0, *COUNTS]
    older = [sum(face == GREEN for _, _, face in row) for row in rows]
    assert older == [0, 0, 0, 2, 2]  # "the" as a word, twice


def test_every_line_leads_to_the_row_of_its_id():
    number_at = {
        text.get_position()[1]: int(text.get_text())
        for text in LOOKED_UP.axes[0].texts
        if text.get_text().isdigit()
    }
    lines = LOOKED_UP.axes[0].lines
    ends = [line.get_ydata()[-1] for line in lines]
    rows = [min(number_at, key=lambda y: abs(y - end)) for end in ends]
    assert [number_at[y] for y in rows] == HONEY_IDS
    assert "   ".join(map(str, HONEY_IDS)) in texts(LOOKED_UP)
    assert "“honey” is not on the list and becomes “<unk>”, 3" in LOOKED_UP.alt
    assert [c.get_linestyle() for c in cards(LOOKED_UP)].count("--") == 1


def test_padding_is_dashed_and_counted():
    dashed = [card.get_linestyle() == "--" for card in cards(FILLED)]
    assert dashed == (BATCH == 0).ravel().tolist()
    numbers = [int(t) for t in texts(FILLED) if t.isdigit()]
    assert numbers == BATCH.ravel().tolist()
    assert "shape (3, 5), 2 of 15 cells padding" in texts(FILLED)
    assert "“show me <end>” and 2 <pad>" in FILLED.alt


def test_there_and_back_shows_each_piece_with_its_id():
    ids = BPE.encode(TO_BE)
    assert BPE.decode(ids) == TO_BE
    drawn = texts(BACK)
    shown = [piece.replace(" ", "␣") for piece in BPE.tokens(ids)]
    columns = list(zip(drawn[1 : 2 * len(ids) : 2], drawn[2 : 2 * len(ids) + 1 : 2], strict=True))
    assert columns == list(zip(shown, map(str, ids), strict=True))
    assert drawn[0] == TO_BE


def test_bars_are_as_long_as_their_numbers():
    bars = [(left, right) for left, right, _ in (bar for row in chips(TRADE) for bar in row)]
    lengths = np.array([right - left for left, right in bars]).reshape(3, 2)
    np.testing.assert_allclose(lengths[:, 0] / lengths[0, 0], np.array([2306, 1460, 772]) / 2306)
    weights = np.array([132608, 153600, 256000])
    np.testing.assert_allclose(lengths[:, 1] / lengths[2, 1], weights / 256000)
    assert {"2,306", "772", "256,000", "500"} <= {*texts(TRADE)}
    assert "falls from 2,306 tokens to 772" in TRADE.alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.cut_ways("a b", {"words": ["b", "a"]}), "in their order, got 'a' there"),
        (lambda: diagrams.merge_steps(CUTS, PAIRS[:2], COUNTS), "5 cuts, 2 pairs and 4 counts"),
        (lambda: diagrams.looked_up(["a"], [13], NAMES), r"below 13 .* 1 pieces, got \[13\]"),
        (lambda: diagrams.batch_of_ids([1, 2], NAMES, 0), r"one row per sentence, .* \(2,\)"),
        (lambda: diagrams.there_and_back("ab", ["a", "c"], [1, 2]), "make up the text 'ab'"),
        (lambda: diagrams.trade_off([1, 2], [1], [1, 2]), "got 2 sizes, 1 and 2"),
    ],
)
def test_bad_input_gets_its_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
