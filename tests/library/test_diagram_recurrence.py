"""The diagrams of chapter 0 draw what the chapter computes."""

import math

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Rectangle

from tfmlib import ref
from tfmlib.plots import diagrams
from tfmlib.plots.colours import ACCENT, VERMILLION

SOURCE = ["I", "have", "seen", "the", "red", "boat"]
TARGET = ["ich", "habe", "das", "rote", "Boot", "gesehen"]
RNG = np.random.default_rng(0)
STATES = ref.rnn_states(RNG.normal(size=(6, 5)), RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3)))
WEIGHTS = ref.softmax([0, 2, 3, 0, 0, 0])
BANKRUPT = ["the", "bank", "told", "the", "man", "he", "was", "bankrupt"]
BANK = ["I", "went", "to", "bank", "to", "withdraw", "money"]
BOTTLENECK = diagrams.bottleneck(SOURCE, STATES[-1], TARGET)
LOOK_BACK = diagrams.look_back(SOURCE, WEIGHTS, STATES, "gesehen")
UNROLLED = diagrams.unrolled(SOURCE, STATES)
FACTORS = [0.87, 0.63, 1.6, 0.41]
GRADIENT = diagrams.gradient_back(FACTORS)
PATHS = diagrams.path_lengths(BANKRUPT, "bank")
WAITING = diagrams.waiting(SOURCE, ["q, k, v", "scores", "mixture"])
IN_VIEW = diagrams.in_view(BANK, "bank")
PICTURES = {
    "bottleneck": BOTTLENECK,
    "look back": LOOK_BACK,
    "unrolled": UNROLLED,
    "gradient back": GRADIENT,
    "path lengths": PATHS,
    "waiting": WAITING,
    "in view": IN_VIEW,
    "positive states": diagrams.unrolled(["one", "two"], [[0.5, 0.25], [0.75, 1]]),
    "one step": diagrams.path_lengths(["two", "words"], "two"),
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def written(values):
    return [f"{value:.2f}".replace("-", "−") for value in values]


def cards(picture):
    return [p for p in picture.axes[0].patches if isinstance(p, FancyBboxPatch)]


def arrows(picture, colour):
    return [line for line in picture.axes[0].lines if line.get_color() == colour]


def test_only_the_last_state_passes_the_bottleneck():
    numbers = [t for t in texts(BOTTLENECK) if "." in t]
    assert numbers == written(STATES[-1])
    assert [t for t in texts(BOTTLENECK) if t[0] == "h" and len(t) == 2][-1] == "h₆"
    assert {*SOURCE, *TARGET} <= {*texts(BOTTLENECK)}
    (handed_on,) = arrows(BOTTLENECK, VERMILLION)
    lit = [card for card in cards(BOTTLENECK) if to_hex(card.get_facecolor()) == ACCENT]
    assert lit[0].get_x() < handed_on.get_xdata()[0] < lit[0].get_x() + lit[0].get_width()


def test_looking_back_shows_weights_states_products_and_their_sum():
    numbers = [t for t in texts(LOOK_BACK) if "." in t]
    by_hand = [
        [math.exp(z) * v for v in h] for z, h in zip([0, 2, 3, 0, 0, 0], STATES, strict=True)
    ]
    total = 4 + math.exp(2) + math.exp(3)
    products = [v / total for row in by_hand for v in row]
    mean = [sum(row[j] for row in by_hand) / total for j in range(3)]
    expected = [*written(WEIGHTS), *written(STATES.ravel()), *written(products), *written(mean)]
    assert [t.replace("−0.00", "0.00") for t in numbers] == [
        t.replace("−0.00", "0.00") for t in expected
    ]
    assert "“seen” with 0.64" in LOOK_BACK.alt
    assert LOOK_BACK.alt.endswith(f"{written(mean)[2]}.")


def test_an_unrolled_network_has_one_row_of_numbers_per_word_after_zeros():
    numbers = [t for t in texts(UNROLLED) if t.lstrip("−")[0].isdigit()]
    assert numbers == ["0", "0", "0", *written(STATES.ravel())]
    assert texts(UNROLLED).count("W") == texts(UNROLLED).count("U") == len(SOURCE)


@pytest.mark.parametrize("values", [STATES, [[0.5, 0.25], [0.75, 1]]])
def test_states_are_coloured_around_zero_also_when_none_is_negative(values):
    picture = diagrams.unrolled(SOURCE[: len(values)], values)
    cells = [p for p in picture.axes[0].patches if type(p) is Rectangle and p.get_facecolor()[3]]
    expected = np.vstack([np.zeros_like(values[:1]), values]).ravel()
    faces = [to_hex(matplotlib.colormaps["RdBu_r"]((v + 1) / 2)) for v in expected]
    assert [to_hex(cell.get_facecolor()) for cell in cells] == faces


def test_the_gradient_at_a_state_is_the_product_of_the_factors_behind_it():
    left = [math.prod(FACTORS[t:]) for t in range(5)]
    numbers = [t for t in texts(GRADIENT) if "." in t]
    assert numbers == [*(f"× {f:.2f}" for f in FACTORS), *written(left)]
    bars = [p.get_height() for p in GRADIENT.axes[0].patches if type(p) is Rectangle]
    np.testing.assert_allclose(np.array(bars) / bars[-1], left)
    assert f"{left[0]:.2f} is left at the first" in GRADIENT.alt


def test_the_path_through_the_states_is_as_long_as_the_distance_of_the_words():
    steps = BANKRUPT.index("bankrupt") - BANKRUPT.index("bank")
    numbers = [t for t in texts(PATHS) if t.isdigit()]
    assert numbers == [str(n) for n in range(1, steps + 1)] + ["1"]
    assert len(arrows(PATHS, VERMILLION)) == 1 + steps + 1  # into the state, on, and directly
    assert f"{steps} steps in a recurrent network" in PATHS.alt
    assert "it is 1 step in a recurrent" in PICTURES["one step"].alt


def test_attention_has_an_arrow_from_every_word():
    ends = [tuple(line.get_ydata()) for line in PATHS.axes[0].lines]
    direct = [y for y in ends if y[0] > 2]
    assert len(direct) == len(BANKRUPT)


def test_a_timetable_has_one_word_per_round_or_all_of_them():
    busy = [c for c in cards(WAITING) if to_hex(c.get_facecolor()) == ACCENT]
    recurrent, attention = busy[: len(SOURCE)], busy[len(SOURCE) :]
    assert len({round(c.get_x(), 3) for c in recurrent}) == len(SOURCE)  # each in its own round
    assert len(attention) == 3 * len(SOURCE)
    assert len({round(c.get_x(), 3) for c in attention}) == 3
    assert texts(WAITING).count("scores") == len(SOURCE)
    assert {"Recurrent: 6 rounds, 1 word in each", "Attention: 3 rounds, all 6 words in each"} <= {
        *texts(WAITING)
    }


def test_only_attention_has_the_later_words_in_view():
    seen = [card.get_linestyle() == "-" for card in cards(IN_VIEW)]
    n = len(BANK)
    look_up, recurrent, attention = seen[:n], seen[n : 2 * n], seen[2 * n :]
    assert look_up == [word == "bank" for word in BANK]
    assert recurrent == [t <= BANK.index("bank") for t in range(n)]
    assert all(attention)
    assert "4 of 7, up to “bank”" in IN_VIEW.alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.bottleneck(SOURCE, STATES, TARGET), r"one vector .* shape \(6, 3\)"),
        (
            lambda: diagrams.look_back(SOURCE, WEIGHTS[:5], STATES, "gesehen"),
            r"each of 6 words, got the shapes \(5,\) and \(6, 3\)",
        ),
        (lambda: diagrams.unrolled(SOURCE, STATES[:5]), r"each of 6 words, got the shape \(5, 3\)"),
        (lambda: diagrams.gradient_back([0.5, -1]), r"none below 0, got \[0.5, -1.0\]"),
        (lambda: diagrams.path_lengths(BANKRUPT, "bankrupt"), "before the last .* 'bankrupt'"),
        (lambda: diagrams.waiting(SOURCE, []), "at least one word and one link"),
        (lambda: diagrams.in_view(BANK, "river"), "expected one of the words .* got 'river'"),
    ],
)
def test_bad_input_gets_its_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
