"""The diagrams of chapter 9 draw how a decoder reads, is trained and writes."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from tfmlib.plots import diagrams
from tfmlib.plots.colours import ACCENT, VERMILLION

SOURCE, TARGET = ["show", "me", "the", "money"], ["<start>", "not", "on"]
ANSWER = ["<start>", "not", "on", "your", "life", "<end>"]
RIGHT = np.array([0.89, 0.51, 0.92, 0.95, 0.94])
RNG = np.random.default_rng(0)
LOGITS = np.array([0.5, 2.5, -1.0])
CHANCES = np.exp(LOGITS) / np.exp(LOGITS).sum()
PICTURES = {
    "memory": diagrams.memory_feeds_every_layer(SOURCE, TARGET, (4, 16), layers=3),
    "two attentions": diagrams.two_attentions(SOURCE, TARGET, np.tri(3), query=1),
    "decoding step": diagrams.decoding_step(
        RNG.normal(size=(2, 7)), LOGITS, CHANCES, ["not", "on", "your"], ["<start>", "not"]
    ),
    "shifted target": diagrams.shifted_target(ANSWER),
    "teacher forcing": diagrams.teacher_forcing(ANSWER, RIGHT, RIGHT),
    "cache": diagrams.cache_steps(ANSWER[:-1], d_model=16),
    "pieces": diagrams.pieces_of_a_line([0.3, 0, 0.4, 0.3], ["a", "b", "c", "d"], [0.5, 0.1]),
}


def texts(name):
    """(text, x, y) of everything written, x and y in inches."""
    return [(t.get_text(), *t.get_position()) for t in PICTURES[name].axes[0].texts]


def words(name):
    return [text for text, _, _ in texts(name)]


def lines(name, colour):
    return [line for line in PICTURES[name].axes[0].lines if line.get_color() == colour]


def test_the_memory_reaches_the_cross_attention_of_every_layer_and_nothing_else():
    ways = lines("memory", VERMILLION)
    starts = {(line.get_xdata()[0], line.get_ydata()[0]) for line in ways}
    ends = sorted(line.get_ydata()[-1] for line in ways)
    cross = sorted(y for text, _, y in texts("memory") if text == "cross-attention")
    assert len(starts) == 1
    assert ends == pytest.approx(cross)
    assert len(cross) == 3
    ((memory, _, y),) = [one for one in texts("memory") if one[0].startswith("memory")]
    assert memory == "memory, 4 × 16"
    assert starts.pop()[1] == pytest.approx(y)
    last = max(y for text, _, y in texts("memory") if text.startswith("encoder layer"))
    assert y > last


def test_a_query_sees_all_of_the_source_and_of_the_target_what_the_mask_allows():
    ways = lines("two attentions", VERMILLION)
    upwards = [line.get_xdata() for line in ways if line.get_ydata()[1] < line.get_ydata()[0]]
    downwards = [line.get_xdata() for line in ways if line.get_ydata()[1] > line.get_ydata()[0]]
    at = {text: x for text, x, y in texts("two attentions") if y < 1.5}  # above the lowest row
    assert [end for _, end in upwards] == pytest.approx([at[word] for word in SOURCE])
    assert [end for _, end in downwards] == pytest.approx([at["<start>"], at["not"]])
    assert {start for start, _ in upwards + downwards} == {upwards[0][0]}
    assert upwards[0][0] == pytest.approx(at["not"])
    assert "all 4 words of the source" in PICTURES["two attentions"].alt


def test_a_decoding_step_writes_logits_and_probabilities_and_takes_the_largest():
    drawn = words("decoding step")
    assert [t for t in drawn if re.fullmatch(r"−?\d\.\d+", t)] == [
        "0.5", "0.12", "2.5", "0.86", "−1.0", "0.03",
    ]  # fmt: skip
    assert drawn.count("on") == 2  # in the list, and as the next token
    assert "“on”, logit 2.5, probability 0.86, the next token" in PICTURES["decoding step"].alt


def test_the_bars_of_a_decoding_step_are_as_long_as_the_probabilities():
    bars = [
        patch
        for patch in PICTURES["decoding step"].axes[0].patches
        if isinstance(patch, Rectangle) and patch.get_height() == pytest.approx(0.12)
    ]
    lengths = [bar.get_width() for bar in bars]
    assert np.array(lengths) / lengths[1] == pytest.approx(CHANCES / CHANCES[1])


def test_each_position_predicts_what_the_next_one_reads():
    rows = {}
    for text, _, y in texts("shifted target"):
        if text in ANSWER:
            rows.setdefault(round(y, 3), []).append(text)
    assert list(rows.values()) == [ANSWER[:-1], ANSWER[1:]]
    dotted = lines("shifted target", VERMILLION)
    assert len(dotted) == 4  # <end> is read by no position
    for line in dotted:
        (predicted, read), (low, high) = line.get_xdata(), line.get_ydata()
        assert predicted < read
        assert low > high


def test_training_takes_one_pass_and_writing_one_per_token():
    rows = {}
    for text, _, y in texts("teacher forcing"):
        if text in ANSWER:
            rows.setdefault(round(y, 3), []).append(text)
    one_pass, predicted, *passes = rows.values()
    assert one_pass == ANSWER[:-1]
    assert predicted == ANSWER[1:]
    assert passes == [ANSWER[: k + 2] for k in range(5)]  # what is read, and the new token
    numbers = [text for text in words("teacher forcing") if re.fullmatch(r"0\.\d\d", text)]
    assert numbers == [f"{p:.2f}" for p in [*RIGHT, *RIGHT]]


def test_the_numbers_of_both_ways_are_drawn_from_their_own_values():
    picture = diagrams.teacher_forcing(["<start>", "a", "<end>"], [0.25, 0.5], [0.75, 0.125])
    numbers = [t.get_text() for t in picture.axes[0].texts if t.get_text().startswith("0.")]
    assert numbers == ["0.25", "0.50", "0.75", "0.12"]


def test_each_step_computes_one_token_and_keeps_the_others():
    drawn = words("cache")[:-4]  # without the key below
    assert drawn.count("q  k  v") == 5
    assert drawn.count("k  v") == 0 + 1 + 2 + 3 + 4
    kept = [int(text) for text in drawn if text.isdigit()]
    assert kept == [32, 64, 96, 128, 160]
    assert PICTURES["cache"].alt.endswith("The cache then holds 160 numbers.")


def test_pieces_are_as_long_as_the_probabilities_and_points_light_theirs():
    cards = PICTURES["pieces"].axes[0].patches[:3]
    widths = np.array([card.get_width() for card in cards])
    assert widths / widths.sum() == pytest.approx([0.3, 0.4, 0.3])
    assert [text for text in words("pieces") if text[0] in "abcd"] == ["a 0.3", "c 0.4", "d 0.3"]
    assert [to_hex(card.get_facecolor()) == ACCENT for card in cards] == [True, True, False]
    assert "point 0.50 falls into “c”, the point 0.10 into “a”" in PICTURES["pieces"].alt


def test_a_point_on_a_border_belongs_to_the_piece_that_begins_there():
    assert "0.25 falls into “b”" in diagrams.pieces_of_a_line([0.25, 0.75], ["a", "b"], [0.25]).alt


def test_what_does_not_fit_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="memory must have one vector per word of the source"):
        diagrams.memory_feeds_every_layer(SOURCE, TARGET, (3, 16), layers=3)
    with pytest.raises(ValueError, match=r"self_mask must be \(3, 3\).*shape \(2, 2\) and 0"):
        diagrams.two_attentions(SOURCE, TARGET, np.tri(2), query=0)
    with pytest.raises(ValueError, match="must have 3 values, one for each logit, but has 2"):
        diagrams.decoding_step(np.ones((1, 2)), LOGITS, [0.5, 0.5], list("abc"), ["a"])
    with pytest.raises(ValueError, match="words must be 3 or more"):
        diagrams.shifted_target(["<start>", "<end>"])
    with pytest.raises(ValueError, match="must have 5 values, one for each next token"):
        diagrams.teacher_forcing(ANSWER, RIGHT, RIGHT[:4])
    with pytest.raises(ValueError, match="words must be 2 or more"):
        diagrams.cache_steps(["<start>"], 16)
    with pytest.raises(
        ValueError, match=r"points must be on the line from 0 to 1, but come as 1\.5"
    ):
        diagrams.pieces_of_a_line([0.5, 0.5], ["a", "b"], [1.5])
