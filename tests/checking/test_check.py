"""What a learner reads: feedback for right, wrong and hopeless answers."""

import html
import multiprocessing
import os
import re
import signal
import sys
import time

import numpy as np
import pytest

from tfmlib import check as learner
from tfmlib import ref
from tfmlib.checking import callers, progress
from tfmlib.checking.catalogue import find
from tfmlib.checking.compare import require_same
from tfmlib.checking.judge import judge
from tfmlib.checking.message import Item, Message
from tfmlib.checking.outcome import AnswerError

WEIGHTS = "4.3"


def weights(q, k):
    """A right answer to 4.3, in the learner's own words."""
    return ref.softmax(q @ k.T / np.sqrt(q.shape[1]))


def softmax(x):
    """A right answer to 4.2."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.fixture(autouse=True)
def own_progress_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TFM_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr(learner, "_hints_shown", {})
    monkeypatch.setattr(learner, "_attempted", set())


@pytest.fixture(params=["forked", "same process"])
def both_runners(request, monkeypatch):
    """Every sentence must be the same where the system has no safe fork."""
    if request.param == "forked" and not callers.HAS_SAFE_FORK:
        pytest.skip("this system has no safe fork: the same-process runner is the one used")
    monkeypatch.setattr(callers, "HAS_SAFE_FORK", request.param == "forked")


def told(capsys, answer, id=WEIGHTS) -> str:
    learner.check(id, answer)
    return capsys.readouterr().out


# --- bad answers --------------------------------------------------------------------------------


def blank(q, k):
    raise NotImplementedError


def raises(q, k):
    wrong = q @ k
    return wrong


def changes_its_input(q, k):
    weights = ref.attention_weights(q, k)
    q *= 2
    return weights


def prints(q, k):
    print(ref.attention_weights(q, k))


BAD = {
    "blank": (blank, "not attempted"),
    "raises, with the learner's own line": (
        raises,
        "in line 2 of your function: wrong = q @ k",
    ),
    "None": (lambda q, k: None, "returned None"),
    "printed": (prints, "printed a value and returned None"),
    "a string": (lambda q, k: "0.5", "Expected an array of shape (2, 2), got a string"),
    "an object": (lambda q, k: object(), "something of type object: return an array"),
    "a wrong shape": (lambda q, k: np.ones((5, 3)), "Expected shape (2, 2), got (5, 3)"),
    "a ragged list": (lambda q, k: [[1.0], [1.0, 2.0]], "shape (2, 2), got a list of 2 items"),
    "NaN": (lambda q, k: np.full((len(q), len(k)), np.nan), "NaN or infinity in 4 of 4"),
    "float32": (
        lambda q, k: ref.attention_weights(q, k).astype(np.float32),
        "type is float32 and should be float64",
    ),
    "changed inputs": (changes_its_input, "changed its input in place"),
    "too few parameters": (lambda q: q, "should take 2 arguments"),
    "too many parameters": (lambda q, k, v: q, "should take 2 arguments"),
    "rounded": (lambda q, k: ref.attention_weights(q, k).round(3), "right but rounded"),
    "transposed": (lambda q, k: ref.attention_weights(q, k).T, "right but transposed"),
    "sys.exit": (lambda q, k: sys.exit(3), "raised SystemExit"),
    "not a function": (np.ones((3, 5)), "expects your function itself"),
}


@pytest.mark.usefixtures("both_runners")
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_gets_one_clear_sentence(kind, capsys):
    answer, sentence = BAD[kind]
    assert sentence in told(capsys, answer)


@pytest.mark.slow
def test_an_endless_loop_is_stopped():
    def endless(q, k):
        while True:
            pass

    report = judge(find(WEIGHTS), endless, seconds=0.5)
    assert "still running after 2.5 seconds" in report.problem
    assert report.lines[0].met is False
    assert all(line.met is None for line in report.lines[1:])


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["heard", "ignored"])
def ctrl_c(request):
    """A job in the background ignores Ctrl-C, and its answers must end all the same."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
def test_an_endless_loop_in_the_same_process_is_stopped(monkeypatch):
    monkeypatch.setattr(callers, "HAS_SAFE_FORK", False)

    def endless(q, k):
        while True:
            pass

    assert "still running" in judge(find(WEIGHTS), endless, seconds=0.5).problem


@pytest.mark.skipif(not callers.HAS_SAFE_FORK, reason="needs a process to end")
@pytest.mark.slow
def test_a_loop_inside_numpy_is_stopped():
    def endless(q, k):
        return np.linalg.matrix_power(np.ones((1500, 1500)), 10**9)

    start = time.monotonic()
    assert "still running" in judge(find(WEIGHTS), endless, seconds=0.5).problem
    assert time.monotonic() - start < 30


@pytest.mark.skipif(not callers.HAS_SAFE_FORK, reason="needs a process to end")
def test_an_answer_that_ends_its_process_leaves_the_notebook_alive():
    report = judge(find(WEIGHTS), lambda q, k: os._exit(1))
    assert "ended its own process" in report.problem


def test_an_answer_cannot_reach_the_callers_variables():
    """It runs on copies: not even its inputs are the check's own."""
    kept = []

    def keeps(q, k):
        kept.append(q)
        q[:] = 0
        return ref.attention_weights(q, k)

    exercise = find(WEIGHTS)
    before = exercise.cases[0].args[0].copy()
    judge(exercise, keeps)
    assert np.array_equal(exercise.cases[0].args[0], before)


def test_an_unknown_exercise_names_the_nearest(capsys):
    assert "no exercise '4.33'. Did you mean 4.3?" in told(capsys, blank, "4.33")


def test_an_answer_to_another_exercise_is_named(capsys):
    def pool(weights, values):
        return np.asarray(weights) @ np.asarray(values)

    assert "answer to exercise 4.1" in told(capsys, pool)


def test_values_of_another_exercise_are_recognised(capsys):
    assert "answer to exercise 4.2" in told(capsys, lambda s: ref.softmax(s), "4.6")


def test_an_object_that_claims_to_equal_anything_does_not_pass(capsys):
    class Liar(float):
        def __eq__(self, other):
            return True

        def __abs__(self):
            return 0.0

        __hash__ = float.__hash__

    assert "passed" not in told(capsys, lambda d, q, k: Liar(1), "4.5")


def test_a_list_of_arrays_of_different_shapes_is_compared_item_by_item():
    right = [np.ones((2, 3)), np.zeros(5)]
    require_same([np.ones((2, 3)), np.zeros(5)], right)
    with pytest.raises(AnswerError, match=r"Item 1: Expected shape \(5,\), got \(3,\)"):
        require_same([np.ones((2, 3)), np.zeros(3)], right)


# --- right answers ------------------------------------------------------------------------------


@pytest.mark.usefixtures("both_runners")
@pytest.mark.parametrize(
    "answer",
    [weights, lambda q, k: weights(q, k).tolist()],
    ids=["array", "list"],
)
def test_a_right_answer_passes_also_as_a_list(answer, capsys):
    text = told(capsys, answer)
    assert "passed" in text
    assert "✗" not in text


# --- diagnosis ----------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [None, 2, 4])
def test_a_known_mistake_is_diagnosed_also_when_rounded(digits):
    def no_root(q, k):
        weights = ref.softmax(q @ k.T)
        return weights if digits is None else weights.round(digits)

    report = judge(find(WEIGHTS), no_root)
    assert report.mistake == "forgets_to_scale"
    assert "√d_k" in report.diagnosis


def test_a_mistake_on_some_inputs_only_is_not_taken_for_a_known_one():
    def sometimes(q, k):
        return ref.softmax(q @ k.T) if len(q) == 3 else ref.attention_weights(q, k)

    report = judge(find(WEIGHTS), sometimes)
    assert not report.passed
    assert report.mistake == ""


def test_feedback_never_tells_the_oracles_values():
    exercise = find(WEIGHTS)
    text = str(learner.feedback(judge(exercise, lambda q, k: np.zeros((len(q), len(k))))))
    for case in exercise.cases:
        for value in exercise.oracle(*case.args).ravel():
            assert f"{value:.4f}"[1:] not in text


def test_feedback_shows_the_learners_own_value_on_the_public_example(capsys):
    text = told(capsys, lambda q, k: ref.softmax(q @ k.T))
    assert "should give [[0.62, 0.38], [0.22, 0.78]]" in text
    assert "Yours gives [[0.8808, 0.1192]" in text


# --- output -------------------------------------------------------------------------------------


def text_of(markup: str) -> str:
    spaced = re.sub(r"<(li|ul|div)[^>]*>", " ", markup)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", spaced)).split())


@pytest.mark.parametrize("kind", BAD)
def test_html_and_text_say_the_same(kind):
    message = learner.feedback(judge(find(WEIGHTS), BAD[kind][0]))
    bundle = message._repr_mimebundle_()
    assert text_of(bundle["text/html"]) == " ".join(bundle["text/plain"].split())


def test_html_escapes_what_an_answer_returns():
    message = Message("<script>", (Item("<img onerror=x>", label="<b>"),))
    assert "<script" not in message.html()
    assert "<img" not in message.html()


def test_marks_have_names_for_a_screen_reader():
    markup = learner.feedback(judge(find(WEIGHTS), lambda q, k: ref.softmax(q @ k.T))).html()
    assert 'aria-label="not met">✗' in markup
    assert 'aria-label="met">✓' in markup


def test_a_console_without_check_marks_still_prints(monkeypatch):
    import io

    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    Message("✓ done").show()
    console.flush()
    assert b"? done" in console.buffer.getvalue()


# --- hints, solutions, progress -----------------------------------------------------------------


def test_each_call_of_hint_shows_one_more_step(capsys):
    exercise = find(WEIGHTS)
    for shown in (1, 2, 3, 3):
        learner.hint(WEIGHTS)
        text = capsys.readouterr().out
        assert [step in text for step in exercise.hints] == [i < shown for i in range(3)]


def test_the_solution_is_linked_only_after_an_attempt(capsys):
    learner.solution(WEIGHTS)
    assert "ipynb" not in capsys.readouterr().out
    learner.check(WEIGHTS, blank)
    learner.solution(WEIGHTS)
    assert "ipynb" not in capsys.readouterr().out
    learner.check(WEIGHTS, lambda q, k: q)
    capsys.readouterr()
    learner.solution(WEIGHTS)
    link = "../solutions/04-queries-keys-values.ipynb#cell-id=sol-4-3"
    assert link in capsys.readouterr().out


def test_progress_counts_what_was_solved_and_survives_a_restart(capsys):
    learner.check(WEIGHTS, weights)
    learner.check("4.1", lambda w, v: v)
    capsys.readouterr()
    learner.progress()
    chapter = next(t for t in capsys.readouterr().out.splitlines() if "Chapter 04" in t)
    assert "1 of 8" in chapter
    assert chapter.count("█") == 1
    assert chapter.count("░") == 7


def test_a_damaged_progress_file_loses_only_the_damaged_line(capsys):
    learner.check(WEIGHTS, weights)
    with open(os.environ["TFM_PROGRESS"], "ab") as file:
        file.write(b'\xff{"exercise"\n[1]\n')
    learner.check("4.2", softmax)
    assert {id for id, e in progress.events().items() if "passed" in e} == {"4.3", "4.2"}


def test_a_folder_that_cannot_be_written_to_does_not_stop_a_learner(capsys, monkeypatch):
    monkeypatch.setenv("TFM_PROGRESS", "/nowhere/at/all/progress.jsonl")
    assert "passed" in told(capsys, weights)


def _record_many(who):
    for _ in range(200):
        progress.record(f"{who}.1", "passed")


def test_two_notebooks_can_write_at_once():
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_record_many, args=(who,)) for who in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(progress.path().read_text(encoding="utf-8").splitlines()) == 600
    assert set(progress.events()) == {"1.1", "2.1", "3.1"}
