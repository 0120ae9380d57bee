"""The diagrams of chapter 10 draw what the chapter computes."""

import numpy as np
import pytest

from tfmlib import ref
from tfmlib.plots import diagrams

WORDS = ["fünf", "drei", "und", "achtzig", "<end>", "<pad>"]
READS = ["<start>", "fünf", "und", "achtzig", "<end>"]
ANSWERS = ["fünf", "und", "achtzig", "<end>", "<pad>"]
LOGITS = np.random.default_rng(10).integers(-2, 5, size=(5, 6)).astype(float)
LOSS = diagrams.loss_per_position(LOGITS, ref.softmax(LOGITS), WORDS, READS, ANSWERS)
RATES = ref.learning_rate(np.arange(1, 20_001), 512, 4000)
SCHEDULE = diagrams.rate_schedule(RATES, 4000)
STEP = diagrams.training_step(128, 11, 13, 67, 243_267)
SMOOTHED = diagrams.smoothed_target(WORDS[:5], 3, 0.1)
GRADIENT = diagrams.logit_gradient(["a", "b", "c"], [0.5, 0.3, 0.2], [0, 1, 0])
PICTURES = {
    "loss per position": LOSS,
    "smoothed target": SMOOTHED,
    "logit gradient": GRADIENT,
    "rate schedule": SCHEDULE,
    "training step": STEP,
}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def test_the_loss_in_the_picture_is_the_librarys_and_leaves_padding_out():
    ids = [WORDS.index(answer) for answer in ANSWERS]
    loss = ref.cross_entropy(LOGITS, ids, ignore_id=WORDS.index("<pad>"))
    assert f"L = {loss:.2f}" in texts(LOSS)
    assert texts(LOSS).count("not counted") == 1
    assert LOSS.alt.endswith(f"the mean over 4 positions: {loss:.2f}.")


def test_each_position_shows_its_own_surprise():
    for t, answer in enumerate(ANSWERS[:-1]):
        surprise = ref.cross_entropy(LOGITS[t : t + 1], [WORDS.index(answer)])
        assert f"{surprise:.2f}" in texts(LOSS)
        assert f"{answer} {surprise:.2f}" in LOSS.alt


def test_the_smoothed_target_is_where_the_librarys_loss_is_lowest():
    """The loss falls no further, whichever way the logits of the drawn distribution are moved."""
    drawn = np.array([0.02, 0.02, 0.02, 0.92, 0.02])
    assert texts(SMOOTHED).count("0.02") == 4
    assert "0.92" in texts(SMOOTHED)
    lowest = ref.cross_entropy(np.log(drawn)[None], [3], smoothing=0.1)
    for move in np.random.default_rng(3).normal(scale=0.1, size=(50, 5)):
        assert ref.cross_entropy((np.log(drawn) + move)[None], [3], smoothing=0.1) > lowest


def test_the_gradient_is_drawn_with_the_direction_of_the_step_against_it():
    assert {"0.50", "−0.70", "0.20"} <= set(texts(GRADIENT))
    assert [t for t in texts(GRADIENT) if t in ("up", "down")] == ["down", "up", "down"]
    assert GRADIENT.alt.endswith("“a” 0.5, “b” −0.7, “c” 0.2.")


def test_the_schedule_names_its_peak_and_where_half_of_it_is_left():
    assert {"0.0007", "4,000", "0.00035", "16,000"} <= set(texts(SCHEDULE))
    assert RATES[15_999] == pytest.approx(RATES.max() / 2)
    assert "peak of 0.0007 at step 4,000" in SCHEDULE.alt


def test_a_step_tells_the_shapes_that_the_model_gives():
    assert {"src (128, 11)", "tgt (128, 13)", "(128, 12, 67)"} <= set(texts(STEP))
    assert {"reads (128, 12)", "should say (128, 12)"} <= set(texts(STEP))
    assert texts(STEP).count("243,267 numbers") == 3
    assert "logits (128, 12, 67)" in STEP.alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.smoothed_target(["a", "b"], 2, 0.1), "expects right from 0 to 1"),
        (lambda: diagrams.smoothed_target(["a", "b"], 0, 0.0), "got 0 and 0.0"),
        (lambda: diagrams.logit_gradient(["a", "b"], [1, 0, 0], [1, 0]), r"got \(3,\) and \(2,\)"),
        (lambda: diagrams.rate_schedule(RATES, 3000), "got 20000 that peak at step 4000"),
        (lambda: diagrams.rate_schedule(RATES[:9000], 4000), "go on to step 16000, got 9000"),
        (
            lambda: diagrams.loss_per_position(LOGITS, LOGITS, WORDS, READS, ANSWERS[1:]),
            "for 4 answers and 6 words",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
