"""The diagrams of chapter 5 draw what its heads compute."""

import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Rectangle

from tfmlib.plots import diagrams

NOTEBOOK = Path(__file__).parents[2] / "notebooks/05-many-heads.ipynb"
WORDS = ["dog", "bit", "man"]
X = np.array([[1, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 1]], dtype=float)
W_Q, W_K, W_V = np.zeros((3, 2, 4, 2))
W_Q[:, 2, 0] = -6, 6
W_K[:, 3, 0] = W_K[:, 2, 1] = 1
W_V[:, 0, 0] = W_V[:, 1, 1] = 1
W_0 = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-1, 0, 1, 0], [0, -1, 0, 1]])
MATRICES = {"W_q": W_Q, "W_k": W_K, "W_v": W_V, "W_0": W_0}
NUMBERS = np.arange(1, 13).reshape(2, 6)
CUT = np.stack([NUMBERS[:, 0:2], NUMBERS[:, 2:4], NUMBERS[:, 4:6]])
VISIT = ["I", "went", "to", "bank", "to", "withdraw", "money"]
POWERS = [1, 1, 1, 1, 1, math.exp(2), math.exp(4)]  # the scores of bank, from 0 to 8, over √4
SUBJECT = [power / sum(POWERS) for power in POWERS]
FOUND = [2 * SUBJECT[6] + SUBJECT[5] + SUBJECT[3], SUBJECT[3]]
LOOKS = {"subject": SUBJECT, "previous word": [0, 0, 1, 0, 0, 0, 0]}
BRINGS = {"subject": FOUND, "previous word": [0, 1]}
FEATURES = ["finance", "nature", "open", "none"]
SENTENCE = ["the", "dog", "saw", "the", "cat", "and", "the", "dog", "ran"]
TOLD = ["the", *SENTENCE[:-1]]
FOLLOWS = [0, 0, 0.5, 0, 0, 0, 0, 0, 0.5]
APART = [[1, 0, 0, 1], [0, 1, 1, 0]]

ONE_OR_TWO = diagrams.one_head_or_two(
    ["dog bites man", "man bites dog"], [[0.5, 0.5], [0.5, 0.5]], APART, ["dog", "man"]
)
JOINED = diagrams.heads_joined(
    WORDS, X, ["dog", "man", "verb", "side"], MATRICES, ["subject", "object"], row=1
)
CUT_UP = diagrams.cut_into_heads(NUMBERS, CUT, NUMBERS.reshape(3, 2, 2))
LOOK = diagrams.two_heads_look("bank", VISIT, LOOKS, BRINGS, FEATURES)
INDUCTION = diagrams.induction_steps(SENTENCE, TOLD, 7, FOLLOWS)
PICTURES = {
    "one head or two": ONE_OR_TWO,
    "heads joined": JOINED,
    "cut into heads": CUT_UP,
    "two heads look": LOOK,
    "induction steps": INDUCTION,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def lines(picture):
    """The numbers of a diagram, line by line as a reader sees them."""
    rows = {}
    for text in picture.axes[0].texts:
        if re.fullmatch("−?[0-9.]+", text.get_text()):
            x, y = text.get_position()
            rows.setdefault(round(y, 2), []).append((x, text.get_text()))
    return [[text for _, text in sorted(row)] for _, row in sorted(rows.items())]


def softmax_by_hand(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


@pytest.fixture(scope="module")
def printed():
    cells = nbformat.read(NOTEBOOK, 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text", "") for output in outputs)


# --- the numbers of the chapter, computed a second time ------------------------------------------


def test_the_chapter_prints_what_the_two_heads_of_bank_find(printed):
    assert (
        f"subject       -> money {SUBJECT[6]:.2f}, brings [{FOUND[0]:.2f} {FOUND[1]:.2f}]"
        in printed
    )
    assert "previous word -> to    1.00, brings [0. 1.]" in printed


def test_the_chapter_tells_who_bit_whom(printed):
    near, middle, far = softmax_by_hand([6 / math.sqrt(2), 0, -6 / math.sqrt(2)])
    assert near > 0.98
    difference, sum_ = round(near - far, 2), round(near + far, 2)
    dog = [difference, -difference, sum_, sum_]
    man = [-difference, difference, sum_, sum_]
    for name, row in {"dog bit man": dog, "man bit dog": man}.items():
        line = re.search(rf"{name}: bit becomes \[(.*)\]", printed)[1]
        assert [float(number) for number in line.split()] == row
    assert middle < 0.02


# --- what is drawn is what was computed -----------------------------------------------------------


def test_one_head_tells_the_sentences_apart_no_more_but_two_do():
    first, second = lines(ONE_OR_TWO)
    assert first[:2] == second[:2] == ["0.5", "0.5"]
    assert first[2:] == ["1", "0", "0", "1"]
    assert second[2:] == ["0", "1", "1", "0"]


def test_the_heads_are_drawn_from_x_to_the_output():
    drawn = lines(JOINED)
    assert drawn[1] == ["0", "0", "1", "0"]  # bit: a verb
    assert drawn[4] == [
        "−6",
        "0",
        "0",
        "1",
        "0",
        "0",
        "6",
        "0",
        "0",
        "1",
        "0",
        "0",
    ]  # Q, K, V twice
    near, middle, far = (
        f"{w:.2f}" for w in softmax_by_hand([6 / math.sqrt(2), 0, -6 / math.sqrt(2)])
    )
    head_1, head_2 = [near, middle, far, near, far], [far, middle, near, far, near]
    assert drawn[7] == head_1 + head_2
    assert drawn[10] == [near, far, far, near, "0", "1", "0", "1", "0.99", "−0.99", "0.99", "0.99"]


def test_cut_heads_have_one_colour_each_and_a_reshape_mixes_them():
    cells = [p for p in CUT_UP.axes[0].patches if type(p) is Rectangle]
    faces = [to_hex(p.get_facecolor()) for p in cells]
    whole, cut, reshaped = faces[:12], faces[12:24], faces[24:]
    assert len({*whole}) == 3
    assert [len({*cut[4 * h : 4 * h + 4]}) for h in range(3)] == [1, 1, 1]
    assert [len({*reshaped[4 * h : 4 * h + 4]}) for h in range(3)] == [2, 2, 2]
    assert lines(CUT_UP)[2] == ["1", "2", "3", "4", "5", "6"]
    assert lines(CUT_UP)[4] == ["1", "2", "5", "6", "9", "10"]
    assert "head 1 holds 1, 2 and 7, 8, a part of every row." in CUT_UP.alt


def test_both_heads_of_bank_are_drawn_and_their_findings_side_by_side():
    drawn = lines(LOOK)
    assert [row[0] for row in drawn[:7]] == [f"{w:.2f}" for w in SUBJECT]
    assert [row[1] for row in drawn[:7]] == ["0.00", "0.00", "1.00", "0.00", "0.00", "0.00", "0.00"]
    assert drawn[7] == [f"{FOUND[0]:.2f}", f"{FOUND[1]:.2f}", "0.00", "1.00"]
    assert "0.82, on “money”" in LOOK.alt
    assert "1, on “to”" in LOOK.alt


def test_bars_show_the_weights_of_both_heads_on_one_scale():
    plain = [p for p in LOOK.axes[0].patches if type(p) is Rectangle and p.get_linewidth() == 0]
    widths = np.array([p.get_width() for p in plain])
    np.testing.assert_allclose(widths / widths[9], [*SUBJECT, *LOOKS["previous word"]], atol=1e-12)


def test_the_second_dog_finds_the_tokens_that_were_told_dog():
    cards = [p for p in INDUCTION.axes[0].patches if isinstance(p, FancyBboxPatch)]
    tokens, told = cards[0:18:2], cards[1:18:2]
    strong = [i for i, card in enumerate(told) if card.get_facecolor() != told[0].get_facecolor()]
    assert [TOLD[i] for i in strong] == ["dog", "dog"]
    assert [SENTENCE[i] for i in strong] == ["saw", "ran"]
    assert len(tokens) == len(told) == len(SENTENCE)
    assert "finds “saw” (0.5) and “ran” (0.5)" in INDUCTION.alt
    assert lines(INDUCTION) == [[f"{w:.2f}" for w in FOLLOWS]]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: diagrams.one_head_or_two(["a"], [[1, 2]], [[1, 2, 3]], ["p", "q"]),
            "two heads side by side, but has",
        ),
        (
            lambda: diagrams.heads_joined(
                WORDS, X, list("abcd"), MATRICES | {"W_q": W_Q[:1]}, ["a", "b"], 0
            ),
            "W_q must hold two heads, but holds 1",
        ),
        (
            lambda: diagrams.cut_into_heads(NUMBERS, CUT[:2], CUT[:2]),
            "must hold the numbers of x",
        ),
        (lambda: diagrams.induction_steps(["a"], ["a", "b"], 0, [1]), "told must have 1 labels"),
    ],
)
def test_bad_input_gets_its_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
