"""The diagrams of chapter 12 draw what the published encoder computes."""

import numpy as np
import pytest
from matplotlib.patches import Polygon, Rectangle

from tfmlib.plots import diagrams
from tfmlib.pretrained import published_names

RNG = np.random.default_rng(12)
PIECES = ["[CLS]", "un", "##bank", "##able", "loans", "[SEP]"]
IDS = [101, 4895, 9299, 3085, 10940, 102]
STATES = RNG.normal(size=(7, 6, 11))
WAY = diagrams.sentence_to_vector("Unbankable loans", PIECES, IDS, STATES, STATES[-1].mean(axis=0))

OURS = {ours: names for ours, names in published_names(1).items() if ours.endswith(".weight")}
SHAPES = {ours: (384,) if "norm" in ours else (384, 384 * len(OURS[ours])) for ours in OURS}
NAMES = diagrams.weight_names(OURS, SHAPES)

TOKENS = ["[CLS]", "interest", "in", "the", "loan"]
BACK = np.eye(5, k=-1) * 0.96 + 0.01  # each token looks at the one before it
SPREAD = np.full((5, 5), 0.2)
SPREAD[1] = [0.02, 0.01, 0.01, 0.01, 0.95]
ARCS = diagrams.head_arcs(TOKENS, {"Head 2": SPREAD, "Head 3": BACK}, least=0.5)

RAIN, WET = RNG.normal(size=(5, 11)), RNG.normal(size=(3, 11))
MEANS = diagrams.two_means({"It rains": (TOKENS, RAIN), "It is wet": (TOKENS[:3], WET)})

COSINES = RNG.uniform(-0.1, 0.3, size=(5, 5)) + np.eye(5) / 2
POWERS = np.exp(20 * COSINES)
SHARES = POWERS / POWERS.sum(axis=1, keepdims=True)
FIRSTS, SECONDS = (
    ["guitar", "rate", "dog", "dinner", "train"],
    ["tune", "loans", "pet", "meal", "rail"],
)
BATCH = diagrams.contrastive_batch(COSINES, SHARES, 20, FIRSTS, SECONDS, row=3)

PICTURES = {
    "sentence to vector": WAY,
    "weight names": NAMES,
    "head arcs": ARCS,
    "two means": MEANS,
    "contrastive batch": BATCH,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def written(values):
    return [f"{value:.2f}".replace("-", "−") for value in np.ravel(values)]


# --- from a sentence to one vector --------------------------------------------------------------


def test_the_way_shows_the_first_numbers_of_embeddings_states_and_mean():
    mean = [sum(row[j] for row in STATES[-1]) / 6 for j in range(3)]
    shown = written(STATES[0, :, :3]) + written(STATES[-1, :, :3]) + written(mean)
    assert [text for text in texts(WAY) if "." in text] == shown
    assert WAY.alt.endswith(f"{shown[-3]}, {shown[-2]} and {shown[-1]}.")


def test_the_way_shows_each_piece_with_its_id_and_as_many_layers_as_there_are():
    assert {*PIECES, *map(str, IDS), "6 layers", *"123456", "6 × 11", "1 × 11"} <= set(texts(WAY))
    assert "7" not in texts(WAY)
    assert "6 pieces: [CLS], un, ##bank, ##able, loans and [SEP]" in WAY.alt


def test_vectors_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="must have 11 numbers, one per feature, but has 5"):
        diagrams.sentence_to_vector("x", PIECES, IDS, STATES, np.ones(5))
    with pytest.raises(ValueError, match="pieces must have 6 labels"):
        diagrams.sentence_to_vector("x", PIECES[:4], IDS, STATES, np.ones(11))


# --- the names of the weights -------------------------------------------------------------------


def test_every_published_weight_is_named_and_has_an_arrow():
    published = [name for names in OURS.values() for name in names]
    drawn = texts(NAMES)
    for name in published:
        short = name.removesuffix(".weight").removeprefix("embeddings.")
        assert short.removeprefix("encoder.layer.0.") in drawn
    arrows = [patch for patch in NAMES.axes[0].patches if type(patch) is Polygon]
    assert len(arrows) == len(published) == 12
    assert "query, attention.self.key and attention.self.value are, side by side," in NAMES.alt


def test_names_without_a_shape_are_refused():
    with pytest.raises(ValueError, match=r"lacks 'token\.weight'"):
        diagrams.weight_names({"token.weight": ["embeddings.word_embeddings.weight"]}, {})
    with pytest.raises(ValueError, match="names nothing"):
        diagrams.weight_names({}, {})


# --- arcs ---------------------------------------------------------------------------------------


def test_an_arc_is_drawn_for_each_large_weight_on_another_token():
    assert [text for text in texts(ARCS) if "." in text] == ["0.95"] + ["0.97"] * 4
    assert len(ARCS.axes[0].lines) == 5
    assert "Head 2: interest to loan 0.95. Head 3: interest to [CLS] 0.97, in to" in ARCS.alt


def test_an_arc_leaves_the_query_and_arrives_at_the_key():
    down, up = ARCS.axes[0].lines[:2]  # interest to loan; interest to the token before it
    assert down.get_ydata()[0] < down.get_ydata()[-1]
    assert up.get_ydata()[0] > up.get_ydata()[-1]
    tip = next(patch for patch in ARCS.axes[0].patches if type(patch) is Polygon)
    assert tip.get_xy()[0, 1] == pytest.approx(down.get_ydata()[-1])


def test_a_head_without_large_weights_is_told_as_such():
    assert diagrams.head_arcs(TOKENS, {"Head 1": np.full((5, 5), 0.2)}).alt.endswith("1: none.")


def test_weights_of_another_sentence_are_refused():
    with pytest.raises(ValueError, match=r"must be \(5, 5\).* came with the shape \(3, 5\)"):
        diagrams.head_arcs(TOKENS, {"Head 2": SPREAD[:3]})


# --- two sentences compared ---------------------------------------------------------------------


def test_the_means_and_their_cosine_are_those_of_all_numbers():
    a, b = (np.add.reduce(vectors) / len(vectors) for vectors in (RAIN, WET))
    drawn = texts(MEANS)
    for mean in (a, b):
        assert set(written(mean[:3])) <= set(drawn)
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    cosine = dot / (a @ a * (b @ b)) ** 0.5
    end = f"{dot:.2f} / ({(a @ a) ** 0.5:.2f} · {(b @ b) ** 0.5:.2f}) = {cosine:.2f}"
    assert any(text.endswith(end.replace("-", "−")) for text in drawn)
    assert sum("." in text for text in drawn) == 3 * (5 + 3 + 2) + 1  # three columns, the cosine
    assert {"mean of 5", "mean of 3", "all 11 numbers"} <= set(drawn)


def test_other_than_two_sentences_of_one_width_are_refused():
    with pytest.raises(ValueError, match=r"must be two.* came as \(5, 11\)\."):
        diagrams.two_means({"It rains": (TOKENS, RAIN)})
    with pytest.raises(ValueError, match=r"came as \(5, 11\) and \(5, 7\)"):
        diagrams.two_means({"x": (TOKENS, RAIN), "y": (TOKENS, RAIN[:, :7])})


# --- contrastive training -----------------------------------------------------------------------


def test_partners_are_framed_and_the_loss_is_that_of_the_row():
    frames = [
        patch
        for patch in BATCH.axes[0].patches
        if type(patch) is Rectangle and patch.get_zorder() == 4
    ]
    assert len(frames) == 5 + 1
    assert [text for text in texts(BATCH) if len(text) == 6 and text[1] == "."] == [
        f"{share:.4f}" for share in SHARES[3]
    ]
    loss = np.log(sum(np.exp(20 * (COSINES[3] - COSINES[3, 3]))))  # −log p, written otherwise
    assert f"{loss:.4f}" in texts(BATCH)[-1]
    assert f"gives its partner meal {SHARES[3, 3]:.4f}" in BATCH.alt


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"must be square and of one size"):
        diagrams.contrastive_batch(COSINES[:3], SHARES, 20, FIRSTS, SECONDS, 0)
    with pytest.raises(ValueError, match="row must be from 0 to 4, but came as 5"):
        diagrams.contrastive_batch(COSINES, SHARES, 20, FIRSTS, SECONDS, 5)
