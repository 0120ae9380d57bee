"""Answers written from the statements alone: no wrong one passes, no right one fails."""

import answers
import pytest

from tfmlib.checking.catalogue import all_exercises, find
from tfmlib.checking.judge import Report, judge
from tfmlib.checking.outcome import Outcome, Status

answers.load()
IDS = [exercise.id for exercise in all_exercises()]
SHOWN_BAR = 0.9  # of the refusals name the error, or show an input on which it can be seen


def of(id: str, kind: list[answers.Answer]) -> list[answers.Answer]:
    return [answer for answer in kind if answer.id == id]


@pytest.mark.parametrize("id", IDS)
def test_no_wrong_answer_passes(id):
    reports = {a.name: judge(find(id), a.function) for a in of(id, answers.WRONG)}
    assert [name for name, report in reports.items() if report.passed] == []
    silent = [name for name, report in reports.items() if not tells_something(report)]
    assert len(silent) <= (1 - SHOWN_BAR) * len(reports), silent


def tells_something(report: Report) -> bool:
    """Whether a learner can see what is wrong: by name, or on an input with both values."""
    shows = bool(report.input and (report.yours or report.raised or report.problem))
    return bool(report.diagnosis) or shows or report.status is Status.BLANK


@pytest.mark.parametrize("id", IDS)
def test_no_right_answer_is_refused(id):
    reports = {a.name: judge(find(id), a.function) for a in of(id, answers.RIGHT)}
    refused = {n: f"{r.problem} {r.input}" for n, r in reports.items() if not r.passed}
    assert refused == {}


@pytest.mark.parametrize("answer", answers.DELEGATED, ids=lambda answer: answer.name)
def test_an_answer_that_calls_the_librarys_own_is_told_so(answer):
    assert judge(find(answer.id), answer.function).outcome is Outcome.FORBIDDEN


def test_there_are_enough_of_them():
    assert len(answers.WRONG) >= 300
    assert len(answers.RIGHT) >= 150
    for id in IDS:
        assert len(of(id, answers.WRONG)) >= 3, id
        assert of(id, answers.RIGHT), id
