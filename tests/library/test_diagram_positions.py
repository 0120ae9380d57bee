"""The diagrams of chapter 3 draw the encodings, sums and rotations that the chapter computes."""

import numpy as np
import pytest
from matplotlib.patches import Circle, Polygon

from tfmlib import ref
from tfmlib.plots import diagrams

ENCODING = ref.sinusoidal_encoding(16, 32)
WORDS = ["Show", "me", "the", "money"]
X = np.array(
    [
        [0.12, 0.63, 0.29, 0.41],
        [0.83, 0.34, 0.04, 0.53],
        [0.39, 0.77, 0.64, 0.09],
        [0.41, 0.08, 0.51, 0.87],
    ]
)  # (T, D)
P = ref.sinusoidal_encoding(4, 4)
GOOD, MORNING = np.array([1, 3]), np.array([3, 9])
Q, K = np.array([1, 0.2]), np.array([0.8, 0.3])


def rotation(angle):
    """A turn in the plane, written out anew."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


PLACES = [(0, 3), (8, 11), (8, 13)]
TURNED = {(m, n): (rotation(0.3 * m) @ Q, rotation(0.3 * n) @ K) for m, n in PLACES}

WAVES = diagrams.digits_and_waves(ENCODING, 4)
CLOCKS = diagrams.encoding_clocks(ref.sinusoidal_encoding(4, 16)[:, :6])
ADDED = diagrams.positions_added(X, P, WORDS)
BOTH = diagrams.multiply_or_add(
    {"Good": GOOD, "morning": MORNING}, ref.sinusoidal_encoding(6, 2), [1, 2, 3]
)
ROTARY = diagrams.turned_vectors(Q, K, TURNED)
PICTURES = {
    "digits and waves": WAVES,
    "clocks": CLOCKS,
    "clocks with names": diagrams.encoding_clocks(P, ["fast", "slow"]),
    "positions added": ADDED,
    "multiply or add": BOTH,
    "turned vectors": ROTARY,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def arrows(picture):
    """Tip and middle of the base of each arrow head, in inches from the upper left."""
    heads = [patch.get_xy() for patch in picture.axes[0].patches if type(patch) is Polygon]
    return [(head[0], (head[1] + head[2]) / 2) for head in heads]


def directions(picture):
    """The angle of each arrow, counter-clockwise from the right."""
    along = [tip - back for tip, back in arrows(picture)]
    return np.array([np.arctan2(-y, x) for x, y in along])


def dots(picture):
    """The points that are drawn with a marker, y upwards."""
    marked = [line for line in picture.axes[0].lines if line.get_marker() not in ("", "None", None)]
    return [np.array(line.get_data()).T * [1, -1] for line in marked]


def test_the_digits_drawn_are_the_binary_numbers_of_the_positions():
    cells = [text for text in WAVES.axes[0].texts if text.get_text() in ("0", "1")]
    rows = sorted({round(text.get_position()[1], 3) for text in cells})[1:]  # the first: positions
    written = np.array(
        [[t.get_text() for t in cells if round(t.get_position()[1], 3) == y] for y in rows]
    )
    for i in range(16):
        assert "".join(written[::-1, i]) == f"{i:04b}"


def test_the_dots_of_a_wave_are_the_sines_of_the_encoding_and_lie_on_its_curve():
    curves = [line for line in WAVES.axes[0].lines if len(line.get_xdata()) > 16]
    for j, (points, curve) in enumerate(zip(dots(WAVES), curves, strict=True)):
        heights = points[:, 1] - points[0, 1]
        np.testing.assert_allclose(heights, 0.2 * ENCODING[:, 2 * j], atol=1e-9)
        x, y = curve.get_data()
        np.testing.assert_allclose(np.interp(points[:, 0], x, -y), points[:, 1], atol=0.005)
    assert "dimension 0 comes round in 6.3 positions" in WAVES.alt
    assert f"dimension 6 in {2 * np.pi * 10000 ** (6 / 32):.1f}" in WAVES.alt


def test_every_hand_points_where_its_sine_and_cosine_say():
    # Column by column, straight up at 0 and clockwise from there.
    wanted = [i * 10000 ** (-2 * j / 16) for i in range(4) for j in range(3)]
    clockwise = (np.pi / 2 - directions(CLOCKS)) % (2 * np.pi)
    np.testing.assert_allclose(clockwise, wanted, atol=1e-9)
    assert sum(type(patch) is Circle for patch in CLOCKS.axes[0].patches) == 12
    assert {"0.84 0.54", "0.14 −0.99"} <= set(texts(CLOCKS))
    assert "hand 0 turns by 57°, hand 1 by 18°, hand 2 by 6°" in CLOCKS.alt


def test_the_sum_is_written_below_its_two_parts():
    numbers = [float(t.replace("−", "-")) for t in texts(ADDED) if "." in t]
    assert np.allclose(numbers, np.concatenate([X, P, X + P]).ravel(), atol=0.005)
    assert "“money” at position 3: 0.41, 0.08, 0.51, 0.87 plus 0.14, −0.99, 0.03, 1.00" in ADDED.alt
    assert ADDED.alt.endswith("is 0.55, −0.91, 0.54, 1.87.")


def test_multiplied_words_meet_and_share_a_label():
    drawn = set(texts(BOTH))
    assert "Good × 3 = morning × 1" in drawn
    assert {"Good × 3", "morning × 1"}.isdisjoint(drawn)
    assert "“Good” at position 3 is “morning” at position 1" in BOTH.alt
    good, morning = np.concatenate(dots(BOTH)[:3]), np.concatenate(dots(BOTH)[9:12])
    np.testing.assert_allclose(good[2], morning[0])
    np.testing.assert_allclose(morning[1] - morning[0], 3 * (good[1] - good[0]))
    apart = diagrams.multiply_or_add({"a": [1, 3], "b": [3, 7]}, [[0, 1], [1, 0]], [1, 2, 3])
    assert " is “b” at" not in apart.alt
    assert "lie on one line" not in apart.alt


def test_added_words_stay_on_circles_that_do_not_meet():
    one, other = (patch for patch in BOTH.axes[0].patches if type(patch) is Circle)
    between = np.hypot(*np.subtract(one.center, other.center))
    assert between > one.radius + other.radius
    assert np.isclose(between / one.radius, np.hypot(*(MORNING - GOOD)))
    for circle, points in ((one, dots(BOTH)[3:9]), (other, dots(BOTH)[12:])):
        away = np.concatenate(points) * [1, -1] - circle.center
        np.testing.assert_allclose(np.hypot(*away.T), circle.radius)
        np.testing.assert_allclose(away[1] / circle.radius, [np.sin(1), -np.cos(1)])


def test_the_same_offset_gives_the_same_angle_and_score_and_another_one_does_not():
    # Turned vectors only: at position 0 a query is where it was, and no dashed one is drawn.
    solid = [line for line in ROTARY.axes[0].lines if line.get_linewidth() == 2]
    assert len(solid) == 6
    ends = [np.array(line.get_data()) for line in solid]
    angles = [np.arctan2(-(y[1] - y[0]), x[1] - x[0]) for x, y in ends]
    between = np.diff(np.reshape(angles, (3, 2)), axis=1)[:, 0] % (2 * np.pi)
    assert np.isclose(between[0], between[1])
    assert not np.isclose(between[0], between[2], atol=0.1)
    scores = [t for t in texts(ROTARY) if t.startswith("score")]
    expected = [f"score {q @ k:.2f}".replace("-", "−") for q, k in TURNED.values()]
    assert scores == expected
    assert scores[0] == scores[1] != scores[2]
    degrees = [t for t in texts(ROTARY) if t.endswith("°")]
    assert degrees == [f"{np.degrees(angle):.0f}°" for angle in between]
    assert f"Query at 8, key at 11: {degrees[0]} apart, {expected[0]}" in ROTARY.alt


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: diagrams.digits_and_waves(P, 3), "6 dimensions or more, but is \\(4, 4\\)"),
        (lambda: diagrams.encoding_clocks(P[:, :3]), "positions and pairs"),
        (lambda: diagrams.encoding_clocks(P, ["one"]), "rows must have 2 labels"),
        (lambda: diagrams.positions_added(X, P[:2], WORDS), "the shape \\(4, 4\\) of embeddings"),
        (lambda: diagrams.multiply_or_add({"a": [1, 3]}, P[:, :2], [1]), "must be two"),
        (
            lambda: diagrams.multiply_or_add({"a": GOOD, "b": MORNING}, [[1, 1]], [1]),
            "one hand of length 1",
        ),
        (lambda: diagrams.turned_vectors(Q, K, {(0, 1): (Q, 2 * K)}), "must keep lengths"),
    ],
)
def test_what_cannot_be_drawn_gets_its_sentence(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
