"""The diagrams of chapter 8 draw what a mask lets through, and nothing else."""

import math
import re

import numpy as np
import pytest

from tfmlib.plots import diagrams
from tfmlib.plots.colours import GRID, VERMILLION

TOKENS = ["<start>", "not", "on", "your", "life"]
AHEAD = np.tri(5, dtype=bool)
SENTENCES = [["help", "me", "<pad>"], ["show", "the", "money"]]
PADDING = np.array([[[True, True, False]], [[True, True, True]]])
SCORES = np.array([[5.0, 3.0, 7.0], [2.0, 13.0, 11.0], [1.0, 0.5, 4.0]])
ADDED = np.where(np.tri(3, dtype=bool), 0.0, -np.inf)


def by_hand(row, divisor):
    """The softmax of what is not hidden, in plain Python."""
    powers = [math.exp(score / divisor) for score in row]
    return [power / sum(powers) for power in powers]


WEIGHTS = np.array([by_hand(SCORES[i, : i + 1], 2) + [0.0] * (2 - i) for i in range(3)])
MOVED = np.array([[0, 0, 1, 0, 0], [0, 0, 0.73, 0.16, 0.04], [0, 0, 0.71, 0.3, 0.1]])
PICTURES = {
    "who sees whom": diagrams.who_sees_whom(
        TOKENS, {"Without a mask": np.ones((5, 5)), "With the mask": AHEAD}, query=1
    ),
    "padded batch": diagrams.padded_batch(SENTENCES, PADDING),
    "masked scores": diagrams.masked_scores(SCORES, ADDED, WEIGHTS, TOKENS[:3], divisor=2),
    "change spreads": diagrams.change_spreads(MOVED, AHEAD, TOKENS),
}


def texts(name):
    return [text.get_text() for text in PICTURES[name].axes[0].texts]


def lines(name, colour):
    return [line for line in PICTURES[name].axes[0].lines if line.get_color() == colour]


def test_each_allowed_pair_has_one_line_and_the_followed_query_strong_ones():
    # 25 pairs without a mask and 15 with it; query 1 has five of the first, two of the others.
    assert len(lines("who sees whom", VERMILLION)) == 5 + 2
    assert len(lines("who sees whom", GRID)) == 25 + 15 - 7


def test_with_the_mask_no_line_leads_to_the_right():
    """In the lower panel: a line runs from its query up to a key that is not further right."""
    below = [
        line
        for line in lines("who sees whom", GRID) + lines("who sees whom", VERMILLION)
        if min(line.get_ydata()) > 1.6  # inches from the top, where the second panel begins
    ]
    assert len(below) == 15
    for line in below:
        (query, key), (low, high) = line.get_xdata(), line.get_ydata()
        assert low > high
        assert key <= query + 1e-9


def test_the_position_says_what_it_must_predict_and_whether_it_sees_it():
    assert texts("who sees whom").count("must predict “on”") == 2
    free, masked = re.findall(r"sees ([^.]*)\.", PICTURES["who sees whom"].alt)
    assert "“on”" in free
    assert masked == "“<start>” and “not”"


def test_a_batch_shows_its_words_and_a_row_of_ticks_per_sentence():
    drawn = texts("padded batch")
    assert drawn[2:5] + drawn[8:11] == SENTENCES[0] + SENTENCES[1]
    assert [sign for sign in drawn if sign in "✓×"] == list("✓✓×✓✓✓")
    assert "2 of “help me”, 3 of “show the money”" in PICTURES["padded batch"].alt


def test_scores_b_their_sum_and_the_weights_are_written_out():
    drawn = [text for text in texts("masked scores") if re.fullmatch(r"[\d.]+|−∞", text)]
    scores, rest = drawn[:9], drawn[9:]
    assert [float(text) for text in scores] == SCORES.ravel().tolist()
    b, masked, weights = rest[:9], rest[9:18], rest[18:]
    assert sorted(b) == ["0"] * 6 + ["−∞"] * 3
    expected = [f"{s:.1f}" if j <= i else "−∞" for (i, j), s in np.ndenumerate(SCORES)]
    assert masked == expected
    written = [f"{w:.2f}" if j <= i else "0" for (i, j), w in np.ndenumerate(WEIGHTS)]
    assert weights == written
    assert "3 of 9 become minus infinity" in PICTURES["masked scores"].alt


def test_a_change_is_carried_along_every_allowed_line_from_what_has_moved():
    # From input 2 to outputs 2, 3, 4; then from 2, 3, 4 to three, two and one.
    assert len(lines("change spreads", VERMILLION)) == 3 + 6
    assert len(lines("change spreads", GRID)) == 2 * 15 - 9
    for line in lines("change spreads", VERMILLION):
        start, end = line.get_xdata()
        assert end >= start - 1e-9  # never to the left
    numbers = [text for text in texts("change spreads") if re.fullmatch(r"[\d.]+", text)]
    assert numbers == ["0" if m == 0 else f"{m:.2f}" for m in MOVED.ravel()]
    assert PICTURES["change spreads"].alt.count("“<start>” and “not” do not move.") == 2


def test_a_layer_that_moves_everything_or_nothing_is_told_as_such():
    everything = diagrams.change_spreads([[1, 0], [2, 3]], np.ones((2, 2)), ["a", "b"])
    assert everything.alt.endswith("After layer 1: “a” 2, “b” 3.")
    nothing = diagrams.change_spreads([[1, 0], [0, 0]], np.ones((2, 2)), ["a", "b"])
    assert nothing.alt.endswith("After layer 1: nothing moves; “a” and “b” do not move.")


def test_what_does_not_fit_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"query must be a position with a word after it, 0 to 3"):
        diagrams.who_sees_whom(TOKENS, {"": AHEAD}, query=4)
    with pytest.raises(ValueError, match=r"mask must be \(5, 5\).*came with the shape \(3, 3\)"):
        diagrams.who_sees_whom(TOKENS, {"": np.tri(3)}, query=0)
    with pytest.raises(ValueError, match=r"mask must be \(2, 1, 3\), one row per sentence"):
        diagrams.padded_batch(SENTENCES, PADDING[:, :, :2])
    with pytest.raises(ValueError, match="weights must be 0 where B is minus infinity"):
        diagrams.masked_scores(SCORES, ADDED, np.full((3, 3), 1 / 3), TOKENS[:3], 2)
    with pytest.raises(ValueError, match=r"mask must be \(5, 5\)"):
        diagrams.change_spreads(MOVED, np.tri(3), TOKENS)
