"""The engine: what an answer may do, how it is named, and the input that shows what is wrong."""

import time

import numpy as np
import pytest

from tfmlib import ref
from tfmlib.checking import call, callers
from tfmlib.checking.call import perform
from tfmlib.checking.catalogue import find
from tfmlib.checking.compare import require_same, same
from tfmlib.checking.exercise import DRAWN
from tfmlib.checking.judge import judge, refuses
from tfmlib.checking.outcome import SENTENCES, AnswerError, Outcome, Status

WEIGHTS = find("4.3")


def weights(q, k):
    return ref.softmax(q @ k.T / np.sqrt(q.shape[1]))


# --- what went wrong is a value -----------------------------------------------------------------


def half(q, k):
    if len(q) > 3:
        raise NotImplementedError
    return weights(q, k)


def begins_blank(q, k):
    if q.shape == (2, 16):  # the public example
        raise NotImplementedError
    return weights(q, k)


def asks(q, k):
    return float(input("scale? ")) * weights(q, k)


def floods(q, k):
    while True:
        print("x" * 1000)


async def is_async(q, k):
    return weights(q, k)


def draws(q, k):
    import matplotlib.pyplot as plt

    plt.plot(weights(q, k))
    plt.show()
    plt.close("all")


_kept = []


def remembers(q, k):
    _kept.append(len(q))
    return weights(q, k) * len(_kept)


_by_shape = {}


def caches_by_shape(q, k):
    return _by_shape.setdefault((q.shape, k.shape), weights(q, k))


OUTCOMES = {
    "half written": (half, Outcome.HALF_WRITTEN),
    "half written from the start": (begins_blank, Outcome.HALF_WRITTEN),
    "asks": (asks, Outcome.ASKED),
    "floods": (floods, Outcome.FLOODED),
    "async": (is_async, Outcome.COROUTINE),
    "remembers": (remembers, Outcome.MEMORY),
    "caches by shape": (caches_by_shape, Outcome.MEMORY),
    "calls the library's own": (lambda q, k: ref.attention_weights(q, k), Outcome.FORBIDDEN),
    "is the library's own": (ref.attention_weights, Outcome.FORBIDDEN),
    "a set": (lambda q, k: {1, 2}, Outcome.FOREIGN),
    "complex": (lambda q, k: weights(q, k) + 0j, Outcome.FOREIGN),
    "empty": (lambda q, k: np.zeros((0, 5)), Outcome.SHAPE),
    "too few axes": (lambda q, k: weights(q, k).squeeze(), Outcome.SHAPE),
    "a number": (lambda q, k: 0.5, Outcome.SHAPE),
    "no function": (3, Outcome.NOT_A_FUNCTION),
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_went_wrong_is_named(kind):
    answer, outcome = OUTCOMES[kind]
    report = judge(WEIGHTS, answer)
    assert report.status is Status.FAILED
    assert report.outcome is outcome
    assert report.problem


def test_an_answer_that_draws_and_returns_nothing_is_told_so():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot  # noqa: F401  # as a notebook has done

    assert judge(WEIGHTS, draws).outcome is Outcome.DRAWN


def test_an_answer_that_waits_is_not_called_a_loop():
    def sleeps(q, k):
        time.sleep(600)

    if not callers.HAS_SAFE_FORK:
        pytest.skip("in the same process, waiting cannot be told from computing")
    assert judge(WEIGHTS, sleeps, seconds=0.2).outcome is Outcome.WAITED


@pytest.mark.skipif(not callers.HAS_SAFE_FORK, reason="needs a process of its own")
def test_memory_without_end_costs_the_answer_alone():
    report = judge(WEIGHTS, lambda q, k: np.ones(10**12))
    assert report.outcome is Outcome.RAISED
    assert report.raised.endswith("MemoryError")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_its_sentence(outcome):
    assert SENTENCES[outcome].rstrip("}")


def test_no_sentence_shows_the_inside_of_the_engine():
    """A learner reads of a range, a set or a NumPy number by its name."""
    for value in (lambda q, k: {1}, lambda q, k: np.float32(0.5), lambda q, k: iter([1])):
        report = judge(WEIGHTS, value)
        for text in (report.problem, report.yours, report.input):
            assert "Foreign" not in text
            assert "np.float" not in text


# --- the smallest input that shows it -----------------------------------------------------------


def test_the_counterexample_is_small_and_shows_both_values():
    def squeezes(q, k):
        return np.squeeze(weights(q, k))

    report = judge(WEIGHTS, squeezes)
    assert report.input.startswith("attention_weights(q=[[")
    assert len(report.input) < 120
    assert report.yours
    assert report.due == "[[1.]]"
    assert [line.name for line in report.lines if line.met is False] == [
        "one query of thirteen numbers",
        DRAWN,
    ]


def test_an_example_on_which_the_answer_is_right_is_never_shown():
    def wrong_for_many(q, k):
        return weights(q, k) * (0.5 if len(k) > 4 else 1.0)

    report = judge(WEIGHTS, wrong_for_many)
    assert WEIGHTS.example.words not in report.input
    assert report.yours != report.due


def test_other_draws_find_the_same_mistake_and_none_in_a_right_answer():
    """Grading draws from a seed of its own."""

    def squeezed(q, k):
        return np.squeeze(weights(q, k))

    for seed in (1, 2, 3):
        assert judge(WEIGHTS, weights, seed=seed).passed
        assert refuses(WEIGHTS, squeezed, seed=seed)


# --- diagnosis ----------------------------------------------------------------------------------


def naive(x):
    powers = np.exp(x)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_a_mistake_of_a_part_is_named_in_the_whole():
    report = judge(WEIGHTS, lambda q, k: naive(q @ k.T / np.sqrt(q.shape[1])))
    assert report.mistake == "overflows"
    assert report.diagnosis.startswith("In softmax (exercise 4.2): ")


def test_errors_of_one_type_are_not_taken_for_the_same():
    def raises(q, k, v):
        raise ValueError("something of my own")

    assert judge(find("4.4"), raises).mistake == ""


def test_one_changed_thing_of_the_solution_says_where_to_look():
    report = judge(WEIGHTS, lambda q, k: ref.softmax(q @ k.T / np.sqrt(q.shape[0])))
    assert report.mistake == ""
    assert "a constant, an axis or an index" in report.diagnosis


def test_the_name_of_the_mistake_goes_into_the_log(tmp_path, monkeypatch, capsys):
    from tfmlib import check

    monkeypatch.setenv("TFM_PROGRESS", str(tmp_path / "log"))
    check.check("4.3", lambda q, k: ref.softmax(q @ k.T))
    assert '"mistake": "forgets_to_scale"' in (tmp_path / "log").read_text()


# --- comparing ----------------------------------------------------------------------------------


def outcome_of(value, expected, **options) -> Outcome | None:
    try:
        require_same(value, expected, **options)
    except AnswerError as error:
        return error.outcome
    return None


@pytest.mark.parametrize(
    ("value", "expected", "outcome"),
    [
        (np.float32([0.5]), np.array([0.5]), Outcome.DTYPE),
        (np.float32(0.5), 0.5, Outcome.DTYPE),
        ([1, 2], np.array([1.0, 2.0]), None),
        (np.array([1, 2]), np.array([1.0, 2.0]), None),
        (3.0, 3, None),
        (3.5, 3, Outcome.VALUES),
        ([1.0, 2.0], np.array([1, 2]), None),
        ([1.5, 2.0], np.array([1, 2]), Outcome.VALUES),
        (np.array([1.0, 2.0]), np.array([1, 2]), Outcome.DTYPE),
        (np.array([1, 0]), np.array([True, False]), Outcome.DTYPE),
        (True, np.bool_(True), None),
        ([], np.zeros(0), None),
        (np.zeros((0, 3)), np.zeros(0), Outcome.SHAPE),
        (np.zeros(0), np.ones(3), Outcome.SHAPE),
        ((1, 2), (1, 2, 3), Outcome.LENGTH),
        (np.array([0.0]), np.array([1e-30]), Outcome.VALUES),
        (np.array([1e-17]), np.array([0.0]), None),
        ({"a": 1.0}, {"a": 1.0}, None),
        ("b", "a", Outcome.VALUE),
        (["a", 1], ["a", 2], Outcome.VALUES),
    ],
)
def test_one_rule_for_every_kind_of_value(value, expected, outcome):
    magnitude = 1e-30 if np.array_equal(expected, [1e-30]) else 1.0
    assert outcome_of(value, expected, magnitude=magnitude) is outcome


def test_an_empty_array_satisfies_no_invariant():
    with pytest.raises(AnswerError):
        same(np.zeros(0), np.ones(3))
    with pytest.raises(AnswerError):
        same(np.zeros((0, 3)), 1.0)
    assert same(np.zeros(0), np.zeros(0))


def test_an_invariant_says_by_how_much_it_is_off():
    with pytest.raises(AnswerError, match=r"It gives 0\.25 where 1\. is due, off in 1 of 3"):
        same(np.array([1.0, 0.25, 1.0]), np.ones(3))


# --- one call -----------------------------------------------------------------------------------


def test_a_reply_survives_the_pipe():
    reply = call.decode_reply(perform(lambda q: 1 / 0, (1,)))
    assert reply.problem is Outcome.RAISED
    assert (reply.raised, reply.message) == ("ZeroDivisionError", "division by zero")
    assert reply.operation.startswith("BINARY_OP")


def test_input_and_print_are_as_before_after_a_call(capsys):
    before = input
    perform(asks, (np.ones((1, 1)), np.ones((1, 1))))
    assert input is before
    print("seen")
    assert capsys.readouterr().out == "seen\n"
