"""The diagrams of chapter 11 draw what the chapter computes."""

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle

from tfmlib.plots import diagrams

RNG = np.random.default_rng(11)
SCORES = RNG.normal(size=(6, 6))
CARRIED = {"peak": [[1.25], [0.5]], "total": [[2.0], [3.0]], "mixture": [[1.0, -2.0], [0.0, 7.5]]}
SQUARES = diagrams.growing_squares([3, 5, 7])
ONLINE = diagrams.online_softmax([2, 1, 4, 3], [2, 2, 4, 4], [1, 1.368, 1.185, 1.553])
TILE = diagrams.score_tile(SCORES, 2, 1, 2, CARRIED)
KEPT = {
    "base": {"weights": 0.25, "gradient": 0.25, "Adam's moments": 0.5, "activations": 3.0},
    "big": {"weights": 1.0, "gradient": 1.0, "Adam's moments": 2.0, "activations": 6.0},
}
MEMORY = diagrams.memory_blocks(KEPT)
FORMATS = diagrams.number_formats({"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)})
GRADIENTS = np.array([[3.0, -2.0, 0.5], [1.0, 0.0, -0.7]])
REDUCED = diagrams.gradients_averaged(["examples 1 to 6", "examples 7 to 12"], GRADIENTS)
PICTURES = {
    "growing squares": SQUARES,
    "online softmax": ONLINE,
    "score tile": TILE,
    "memory blocks": MEMORY,
    "number formats": FORMATS,
    "gradients averaged": REDUCED,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def blocks(picture):
    return [p for p in picture.axes[0].patches if type(p) is Rectangle]


def test_each_square_has_as_many_cells_as_it_says():
    assert len(blocks(SQUARES)) == sum(n + n * n for n in (3, 5, 7))
    assert {"n² = 9", "n² = 25", "n² = 49"} <= set(texts(SQUARES))
    assert "7 tokens have 49" in SQUARES.alt


def test_the_factor_drawn_is_what_brings_the_total_down_to_the_new_peak():
    assert texts(ONLINE).count("× 1") == 2
    (factor,) = [t for t in texts(ONLINE) if t.startswith("× 0")]
    assert factor == f"× {np.exp(2 - 4):.2f}"
    assert "the old total having been multiplied by 0.14" in ONLINE.alt
    assert {"+ 1.00", "+ 0.37"} <= set(texts(ONLINE))


def test_only_the_scores_of_one_tile_are_there():
    numbers = [f"{v:.1f}".replace("-", "−") for v in SCORES[2:4, 4:6].ravel()]
    carried = ["1.2", "0.5", "2.0", "3.0", "1.0", "−2.0", "0.0", "7.5"]
    drawn = [t for t in texts(TILE) if "." in t]
    assert sorted(drawn) == sorted(numbers + carried)
    assert texts(TILE).count("gone") == 5
    assert texts(TILE).count("to come") == 3
    assert "4 of 36 scores" in TILE.alt


def test_blocks_of_memory_are_to_scale():
    heights = np.array([block.get_height() for block in blocks(MEMORY)])
    sizes = [size for parts in KEPT.values() for size in parts.values()]
    np.testing.assert_allclose(heights / heights[0], np.array(sizes) / sizes[0])
    assert {"4.0 GB", "10.0 GB", "activations 6.00"} <= set(texts(MEMORY))
    assert "big: weights 1.00" in MEMORY.alt


@pytest.mark.parametrize(("name", "bits"), [("float32", 32), ("float16", 16), ("bfloat16", 16)])
def test_the_bits_of_a_format_are_torchs(name, bits):
    info = torch.finfo(getattr(torch, name))
    digits = round(-np.log2(info.eps))
    assert f"{name}: 1 bit for the sign, {bits - 1 - digits} for the exponent" in FORMATS.alt
    assert f"digits: {digits}" in texts(FORMATS)


def test_both_processes_get_the_mean_of_their_gradients():
    for number in (GRADIENTS[0] + GRADIENTS[1]) / 2:
        assert texts(REDUCED).count(f"{number:.2f}".replace("-", "−")) >= 2
    assert "The all-reduce gives both the mean: 2.00, −1.00, −0.10." in REDUCED.alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.growing_squares([20, 30]), r"got \[20, 30\]"),
        (lambda: diagrams.online_softmax([1, 2], [1], [1, 2]), "one peak and one total per score"),
        (lambda: diagrams.score_tile(SCORES, 4, 0, 0, CARRIED), "block 4"),
        (lambda: diagrams.score_tile(SCORES, 2, 3, 0, CARRIED), r"tile \(3, 0\)"),
        (lambda: diagrams.memory_blocks({"base": {"weights": 1.0}}), "expects two models"),
        (lambda: diagrams.number_formats({"float64": (11, 52)}), "at most 32 bits"),
        (lambda: diagrams.gradients_averaged(["all"], GRADIENTS[:1]), r"got 1 and \(1, 3\)"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
