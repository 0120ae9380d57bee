"""The diagrams of chapter 6 show what was computed: sums, means and norms."""

import numpy as np
import pytest
from pictures import rows

from tfmlib import ref
from tfmlib.plots import diagrams

FEATURES = ["finance", "nature", "open", "none"]
BANK, MIXTURE = np.array([1.0, 1, 1, 0]), np.array([1.757, 0.012, 0, 0])
STREAM = np.random.default_rng(6).normal(size=(4, 4)).cumsum(axis=0)
CAT = np.array([2.0, 4, 6, 8])
GAIN, BIAS = np.array([1, 1, 2, 1]), np.array([0, 0, 0, 1])
TABLE = np.array([[1, 4, 0, 3], [2, 0, 1, 1], [5, 1, 2, 4], [0, 3, 1, 8]])
WORDS = ["Show", "me", "the", "money"]
POST = np.array([[2, 4, 6, 8], [3, -3, 0, 6], [5, 1, 6, 14], [-0.32, -1.17, -0.11, 1.59]])
PRE = np.array([[2, 4, 6, 8], [-1.34, -0.45, 0.45, 1.34], [1, -1, 0, 3], [3, 3, 6, 11]])

PICTURES = {
    "skip connection": diagrams.skip_connection(BANK, MIXTURE, FEATURES),
    "residual stream": diagrams.residual_stream(STREAM),
    "layer norm steps": diagrams.layer_norm_steps(CAT, 5.0, np.sqrt(5 + 1e-5), GAIN, BIAS),
    "whose mean": diagrams.whose_mean(TABLE, WORDS, ["1", "2", "3", "4"]),
    "norm orders": diagrams.norm_orders(POST, PRE),
}


def texts(picture):
    """{text: its places as (x, y) in inches from the upper left corner}"""
    found = {}
    for text in picture.axes[0].texts:
        found.setdefault(text.get_text(), []).append(text.get_position())
    return found


def test_the_skip_connection_ends_in_the_sum_of_both_ways():
    x, mixture, total = rows(PICTURES["skip connection"])
    np.testing.assert_allclose(np.add(x, mixture), total, atol=0.011)
    np.testing.assert_allclose(total, [2.757, 1.012, 1, 0], atol=0.006)
    assert "[2.76, 1.01, 1.00, 0.00]" in PICTURES["skip connection"].alt


def test_a_layer_adds_the_difference_of_two_states_of_the_stream():
    stream = rows(PICTURES["residual stream"], right=2.4)
    added = rows(PICTURES["residual stream"], left=2.6)
    np.testing.assert_allclose(stream, STREAM, atol=0.006)
    np.testing.assert_allclose(added, STREAM[1:] - STREAM[:-1], atol=0.006)
    names = texts(PICTURES["residual stream"])
    assert {"layer 1", "layer 2", "layer 3", "x₀", "x₁", "x₂", "x₃"} <= set(names)


def test_the_steps_of_layer_norm_end_where_the_library_does():
    drawn = rows(PICTURES["layer norm steps"], right=2.0)
    expected = [CAT, CAT - 5, ref.layer_norm(CAT), GAIN, BIAS, ref.layer_norm(CAT, GAIN, BIAS)]
    np.testing.assert_allclose(drawn, expected, atol=0.006)


def test_each_points_line_names_the_mean_of_its_row():
    means = [t for t in texts(PICTURES["layer norm steps"]) if t.startswith("mean ")]
    result = ref.layer_norm(CAT, GAIN, BIAS)
    assert means == ["mean 5", "mean 0", f"mean {result.mean():.2f}"]
    assert len(texts(PICTURES["layer norm steps"])["mean 0"]) == 2


def test_batch_norm_averages_down_a_column_and_layer_norm_along_a_row():
    places = texts(PICTURES["whose mean"])
    bold = [t for t in PICTURES["whose mean"].axes[0].texts if t.get_fontweight() == "bold"]
    means = [float(t.get_text()) for t in bold if t.get_text().isdigit()]
    assert means == [*TABLE.mean(axis=0), *TABLE.mean(axis=1)]
    assert len(places["money"]) == 2  # in both halves
    assert "2, 2, 1 and 4" in PICTURES["whose mean"].alt
    assert "2, 1, 3 and 3" in PICTURES["whose mean"].alt


def test_the_norm_is_last_in_post_norm_and_first_in_pre_norm():
    places = texts(PICTURES["norm orders"])
    (post, after), (pre, before) = sorted(places["layer norm"])
    assert post < 2.4 < pre
    assert after > max(y for x, y in places["+"] if x < 2.4)
    assert before < min(y for x, y in places["sublayer"] if x > 2.4)
    assert before < min(y for x, y in places["+"] if x > 2.4)
    np.testing.assert_allclose(rows(PICTURES["norm orders"], right=2.4), POST, atol=0.006)
    np.testing.assert_allclose(rows(PICTURES["norm orders"], left=2.6), PRE, atol=0.006)


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: diagrams.skip_connection([1, 2], [1], ["a", "b"]), "added must have 2 numbers"),
        (lambda: diagrams.skip_connection([1, 2], [1, 2], ["a"]), "columns must have 2 labels"),
        (lambda: diagrams.residual_stream([[1, 2]]), "before and after a layer, but has 1"),
        (lambda: diagrams.layer_norm_steps(CAT, 5, 0, GAIN, BIAS), "root must be above 0"),
        (lambda: diagrams.layer_norm_steps(CAT, 5, 1, GAIN[:3], BIAS), "gain must have 4 numbers"),
        (lambda: diagrams.whose_mean(TABLE, WORDS[:2], "1234"), "rows must have 4 labels"),
        (lambda: diagrams.norm_orders(POST[:3], PRE), "post must have 4 rows"),
    ],
)
def test_what_cannot_be_drawn_gets_its_sentence(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
