"""The diagrams of chapter 2 draw the rows, angles and cosines that the chapter computes."""

import numpy as np
import pytest

from tfmlib import ref
from tfmlib.plots import diagrams
from tfmlib.plots.plane import angle_between, in_their_plane

RNG = np.random.default_rng(2)
WORDS = ["show", "me", "the", "money"]
TABLE = np.array(
    [[0.12, 0.63, 0.29], [0.83, 0.34, 0.04], [0.39, 0.77, 0.64], [0.41, 0.08, 0.51]]
)  # (V, D)
IDS = [2, 3, 2]
UPSTREAM = np.array([[0.1, -0.2, 0.3], [0.5, 0.5, -0.5], [0.4, 0.9, -0.7]])  # (T, D)
X1, X2 = np.array([1, 0, 2]), np.array([0, 1, 5])
LOAN, DEBT, RIVER = [3, 0, 0, 4], [3, 1, 0, 5], [-4, 0, 2, 3.5]
SENTENCES = ["I went to bank to withdraw money", "I went to river bank to get fresh air"]
ASKS = ["the", "bank", "asks", "for", "interest", "on", "the", "loan"]
MIXTURES = {SENTENCES[0]: [0.86, 0.01], SENTENCES[1]: [0.5, 0.71]}

PICKED = diagrams.row_picked(TABLE, 2, WORDS)
READ = diagrams.rows_read(IDS, TABLE, WORDS)
ADDED = diagrams.gradients_added(IDS, UPSTREAM, WORDS)
DIRECTIONS = diagrams.same_direction(X1, {"x2": X2, "2 x2": 2 * X2, "-x2": -X2})
ANGLES = diagrams.word_angles("loan", LOAN, {"debt": DEBT, "river": RIVER})
WINDOW = diagrams.neighbour_window(ASKS, 4, 2)
SHARED = diagrams.shared_row("bank", [-0.57, 1.05, -0.81, 0.57, 0.26, -0.16, 1.16, 0.75], SENTENCES)
PARTED = diagrams.senses_parted("bank", [0.4, 0.45], MIXTURES, ["money", "river"])
PICTURES = {
    "row picked": PICKED,
    "rows read": READ,
    "gradients added": ADDED,
    "same direction": DIRECTIONS,
    "word angles": ANGLES,
    "neighbour window": WINDOW,
    "shared row": SHARED,
    "senses parted": PARTED,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def as_numbers(picture):
    """What is written as a number with a point, in the order in which it was drawn."""
    found = [text.replace("−", "-") for text in texts(picture)]
    return [float(text) for text in found if "." in text and text.lstrip("-")[0].isdigit()]


def arrows(picture):
    """The tips of the arrows that vectors are drawn with, in inches from the upper left."""
    heads = [patch for patch in picture.axes[0].patches if len(patch.get_xy()) == 4]
    return np.array([patch.get_xy()[0] for patch in heads])


def lines(picture):
    return [np.array(line.get_data()).T for line in picture.axes[0].lines]


def test_all_rows_but_the_picked_one_become_zero_and_the_sum_is_that_row():
    numbers = as_numbers(PICKED)
    assert numbers[:12] == TABLE.ravel().tolist()
    assert numbers[12:] == [*TABLE[2], *TABLE[2]]  # among the products, and as their sum
    hot, products = ref.one_hot(2, 4), texts(PICKED).count("0")
    assert products == (hot == 0).sum() + (hot[:, None] * TABLE == 0).sum()
    assert "sum = row of the" in texts(PICKED)
    assert "the row of “the”: 0.39, 0.77, 0.64" in PICKED.alt


def test_the_rows_read_are_those_that_the_library_embeds():
    numbers = as_numbers(READ)
    assert numbers == [*TABLE.ravel(), *ref.embed(IDS, TABLE).ravel()]
    assert texts(READ).count("2  the") == 3  # in the table, and twice in the sentence
    assert "position 0 is row 2, position 1 is row 3, position 2 is row 2" in READ.alt


def test_an_arrow_leads_from_each_row_that_is_read_to_its_position():
    starts, ends = zip(*(line[[0, -1], 1] for line in lines(READ)), strict=True)
    height = (starts[1] - starts[0]) / (IDS[1] - IDS[0])  # of a row
    assert np.allclose((np.array(starts) - starts[0]) / height, np.array(IDS) - IDS[0])
    assert np.allclose(np.diff(ends) / height, 1)


def test_the_gradients_drawn_are_those_of_a_linear_layer():
    expected = ref.one_hot(IDS, 4).T @ UPSTREAM
    assert np.allclose(as_numbers(ADDED), [*UPSTREAM.ravel(), *expected.ravel()])
    assert "“the” gets the sum of positions 0 and 2: 0.5, 0.7, −0.4" in ADDED.alt
    assert "“show” and “me” do not occur and get zeros" in ADDED.alt


def test_doubling_a_vector_doubles_its_dot_product_and_leaves_its_cosine():
    assert [t for t in texts(DIRECTIONS) if t.startswith("dot")] == [
        "dot product 10",
        "dot product 20",
        "dot product −10",
    ]
    cosine = f"{ref.cosine_similarity(X1, X2):.2f}"
    assert texts(DIRECTIONS).count(f"cosine {cosine}") == 2
    assert texts(DIRECTIONS).count(f"cosine −{cosine}") == 1


def test_arrows_have_the_true_lengths_and_angles():
    minus, double, once, base = arrows(DIRECTIONS)
    origin = (minus + once) / 2  # the two are opposite
    one, two = base - origin, once - origin
    assert np.allclose(double - origin, 2 * two)
    ratio = np.linalg.norm(two) / np.linalg.norm(one)
    assert np.isclose(ratio, np.linalg.norm(X2) / np.linalg.norm(X1))
    cosine = one @ two / (np.linalg.norm(one) * np.linalg.norm(two))
    assert np.isclose(cosine, ref.cosine_similarity(X1, X2))


def test_each_pair_of_words_has_its_own_angle():
    for name, vector in (("debt", DEBT), ("river", RIVER)):
        cosine = float(ref.cosine_similarity(LOAN, vector))
        degrees = f"{np.degrees(np.arccos(cosine)):.0f}°"
        assert degrees in texts(ANGLES)
        assert f"of {degrees} with “{name}”" in ANGLES.alt
        assert f"cosine {cosine:.2f}".replace("-", "−") in texts(ANGLES)


def test_coordinates_in_the_plane_of_two_vectors_keep_lengths_and_angles():
    for _ in range(20):
        one, other = RNG.normal(size=(2, 7))
        flat = in_their_plane(one, [other])
        assert flat[0, 1] == pytest.approx(0)
        np.testing.assert_allclose(
            flat @ flat.T, [[one @ one, one @ other], [one @ other, other @ other]]
        )
        assert angle_between(*flat) == pytest.approx(angle_between(one, other))


def test_the_window_leads_to_its_neighbours_and_to_nothing_else():
    assert len(lines(WINDOW)) == 4
    assert [t for t in texts(WINDOW) if t[0] in "−+"] == ["−2", "−1", "+1", "+2"]
    assert "neighbours are “asks”, “for”, “on” and “the”" in WINDOW.alt
    at_the_end = diagrams.neighbour_window(["fish", "swim", "in"], 2, 1)
    assert len(lines(at_the_end)) == 1


def test_both_sentences_lead_to_the_one_row():
    assert texts(SHARED).count("bank") == 2
    (one, other) = (line[-1] for line in lines(SHARED))
    assert one[1] < other[1]  # one from above, one from below,
    assert other[1] - one[1] < 0.4  # and nothing but the row between them
    assert as_numbers(SHARED)[:3] == [-0.57, 1.05, -0.81]


def test_mixtures_end_on_their_side_of_the_line():
    (bank,) = (line for line in lines(PARTED) if len(line) == 1)
    for tip, cosines in zip(arrows(PARTED)[2:], MIXTURES.values(), strict=True):  # after the axes
        across, down = (tip - bank[0]) / 2.6  # inches to the unit
        np.testing.assert_allclose([across, -down], np.subtract(cosines, [0.4, 0.45]))
    assert "“bank” alone: 0.40 and 0.45, nearer to river" in PARTED.alt
    assert f"“{SENTENCES[0]}”: 0.86 and 0.01, nearer to money" in PARTED.alt
    assert f"“{SENTENCES[1]}”: 0.50 and 0.71, nearer to river" in PARTED.alt
    assert {"0.40, 0.45", "0.86, 0.01", "0.50, 0.71"} <= set(texts(PARTED))


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: diagrams.row_picked(TABLE, 4, WORDS), "from 0 to 3, a row each, but one is 4"),
        (lambda: diagrams.rows_read([0, -1], TABLE, WORDS), "a row each, but one is -1"),
        (lambda: diagrams.rows_read([0], TABLE, WORDS[:3]), "must have 4 labels"),
        (
            lambda: diagrams.gradients_added([0, 1], UPSTREAM, WORDS),
            "upstream must have a row for each of the 2 ids, but has 3",
        ),
        (lambda: diagrams.same_direction(X1, {"a": X2, "b": [5, 1, 1]}), "in one plane"),
        (lambda: diagrams.word_angles("a", [1, 2], {"b": [0, 0]}), "must have a direction"),
        (lambda: diagrams.word_angles("a", [1, 2], {"b": [1, 2, 3]}), "must have 2 numbers"),
        (lambda: diagrams.shared_row("bank", [1, 2], ["a bank", "a river"]), "two with 'bank'"),
        (lambda: diagrams.senses_parted("b", [0, 2], {}, ["m", "r"]), "two cosines from −1 to 1"),
    ],
)
def test_what_cannot_be_drawn_gets_its_sentence(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
