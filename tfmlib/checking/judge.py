"""Judging an answer: every expectation, many drawn inputs, and the smallest that it fails on."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from tfmlib.checking import Answer, Args
from tfmlib.checking.call import Reply
from tfmlib.checking.compare import describe, plain, same_value, show
from tfmlib.checking.diagnose import diagnose, where_to_look
from tfmlib.checking.exercise import (
    BY_ITSELF,
    DRAWN,
    SAME_AGAIN,
    THE_EXAMPLE,
    Exercise,
    Expectation,
    require_met,
)
from tfmlib.checking.outcome import AnswerError, Outcome, Status
from tfmlib.checking.runner import SECONDS, Runner
from tfmlib.checking.trial import Call, Trial
from tfmlib.checking.wire import Foreign

AGAIN = 6  # calls that are made a second time


@dataclass(frozen=True)
class Line:
    """One expectation's outcome; None: not reached."""

    name: str
    met: bool | None


@dataclass
class Report:
    """All that `check` tells about an answer."""

    exercise: Exercise
    status: Status
    lines: list[Line] = field(default_factory=list)
    outcome: Outcome | None = None  # what went wrong
    expected: str = ""  # the first expectation that is not met, in words
    problem: str = ""  # what came instead
    input: str = ""  # the smallest input on which it is wrong, as a call
    yours: str = ""  # what the answer gives there
    due: str = ""  # and what it should give
    diagnosis: str = ""  # the sentence of the mistake that reproduces the answer
    mistake: str = ""  # that mistake's name
    raised: str = ""  # the type of the exception, if one was raised

    @property
    def passed(self) -> bool:
        return self.status is Status.PASSED


def judge(exercise: Exercise, answer: Answer, seconds: float = SECONDS, seed: int = 0) -> Report:
    """Run the answer through every expectation of the exercise."""
    if not callable(answer):
        call = f"check({exercise.id!r}, {exercise.answer})"
        problem = AnswerError(Outcome.NOT_A_FUNCTION, call=call, got=describe(plain(answer)))
        return Report(exercise, Status.FAILED, outcome=problem.outcome, problem=str(problem))
    name = getattr(answer, "__name__", "")
    with Runner(answer, seconds, exercise.forbidden) as runner:
        return judge_calls(exercise, runner.call, name, seed, runner.call_afresh)


def judge_calls(
    exercise: Exercise,
    call: Callable[[Args], Reply],
    name: str = "",
    seed: int = 0,
    call_afresh: Callable[[Args], Reply] | None = None,
) -> Report:
    """The same for an answer known only by what its calls reply.

    `call_afresh` calls it as if for the first time, where that can be had.
    """
    trial = Trial(exercise, call)
    report = Report(exercise, Status.PASSED)
    failures: list[tuple[Expectation, AnswerError]] = []
    for expectation in _expectations(exercise, trial, seed, call_afresh):
        if trial.is_over:
            report.lines.append(Line(expectation.name, None))
            continue
        problem = _unmet(expectation, trial)
        if problem is not None and problem.outcome is Outcome.BLANK:
            if not _works_elsewhere(trial):
                return Report(exercise, Status.BLANK)
            problem = trial.call_half_written()
        report.lines.append(Line(expectation.name, problem is None))
        if problem is not None:
            failures.append((expectation, problem))
    if failures:
        _explain(report, trial, failures, name)
    return report


def refuses(exercise: Exercise, answer: Answer, seconds: float = SECONDS, seed: int = 0) -> bool:
    """Whether an answer fails, found out as soon as it does, without a word on why."""
    with Runner(answer, seconds, exercise.forbidden) as runner:
        trial = Trial(exercise, runner.call, most_wrong=1)
        return any(
            _unmet(expectation, trial) is not None
            for expectation in _expectations(exercise, trial, seed, None)
        )


def _works_elsewhere(trial: Trial) -> bool:
    """Whether an answer that begins with NotImplementedError returns on other inputs."""
    replies = [trial.call(case.args or ()) for case in trial.exercise.cases]
    return any(reply.problem is None for reply in replies)


# --- what is expected ---------------------------------------------------------------------------


def _expectations(
    exercise: Exercise, trial: Trial, seed: int, call_afresh: Callable[[Args], Reply] | None
) -> list[Expectation]:
    """All that an answer must do: what the chapter says, and what is asked of every answer."""
    example = exercise.example
    first = Expectation(
        THE_EXAMPLE, example.words, lambda a: exercise.require(a(*example.args), example.args)
    )
    found = [first, *exercise.expectations]
    if exercise.draw is not None:
        words = "a right value on every input that the exercise allows"
        found.append(Expectation(DRAWN, words, lambda answer: _agrees_on_draws(trial, seed)))
    again = "nothing is kept from one call to the next"
    found.append(Expectation(SAME_AGAIN, again, lambda _: _is_the_same_again(trial, call_afresh)))
    if exercise.forbidden:
        own = "written out, without the function that does it already"
        found.append(Expectation(BY_ITSELF, own, lambda _: _is_by_itself(trial)))
    return found


def _unmet(expectation: Expectation, trial: Trial) -> AnswerError | None:
    """How an expectation is not met; None when it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a test that computes with wrong values
            require_met(expectation.test(trial.answer))
    except AnswerError as problem:
        return problem
    except Exception as error:
        # The values were plain, yet the test could not compute with them: a wrong kind of value.
        return AnswerError(Outcome.UNUSABLE, error=f"{type(error).__name__}: {error}")
    return None


def _agrees_on_draws(trial: Trial, seed: int) -> None:
    """Try all draws, or as many as it takes to know what is wrong; raise the first problem."""
    before = len(trial.calls)
    for args in trial.exercise.inputs(seed):
        try:
            trial.answer(*args)
        except AnswerError:
            if trial.is_over:
                break
        if sum(call.fault is not None for call in trial.calls[before:]) >= trial.most_wrong:
            break
    for call in trial.calls[before:]:
        if call.fault is not None:
            raise call.fault


def _is_the_same_again(trial: Trial, call_afresh: Callable[[Args], Reply] | None) -> None:
    """Call again, in another order, and what went wrong also as if for the first time."""
    returned = [call for call in trial.calls if not _is_opaque(call.reply)]
    chosen = returned[:: max(1, len(returned) // AGAIN)][::-1]
    replies = [(call, trial.call(call.args)) for call in chosen]
    if call_afresh is not None and trial.wrong:
        smallest = min(trial.wrong, key=lambda call: call.size)
        if not _is_opaque(smallest.reply):
            replies.append((smallest, call_afresh(smallest.args)))
    for call, reply in replies:
        if reply.problem is not None or not same_value(call.reply.value, reply.value):
            raise AnswerError(Outcome.MEMORY)


def _is_opaque(reply: Reply) -> bool:
    """Whether nothing came of a call that could be compared with what comes of another."""
    return reply.problem is not None or isinstance(reply.value, Foreign)


def _is_by_itself(trial: Trial) -> None:
    used = next((call.reply.used for call in trial.calls if call.reply.used), "")
    if used:
        raise AnswerError(Outcome.FORBIDDEN, name=used)


# --- what to tell -------------------------------------------------------------------------------


def _explain(
    report: Report, trial: Trial, failures: list[tuple[Expectation, AnswerError]], name: str
) -> None:
    """Choose what the learner reads: one problem, the smallest input that shows it, and why."""
    report.status = Status.FAILED
    expectation, problem = failures[0]
    counterexample = _counterexample(trial)
    by_memory = [p for _, p in failures if p.outcome is Outcome.MEMORY]
    if by_memory:
        expectation, problem = next(f for f in failures if f[1] is by_memory[0])
    elif counterexample is not None and counterexample.fault is not None:
        problem = counterexample.fault
        _show(report, counterexample)
    report.outcome, report.problem = problem.outcome, str(problem)
    report.raised = counterexample.reply.raised if counterexample else ""
    if counterexample is None or by_memory:
        report.expected = expectation.words
    if not by_memory and trial.wrong:
        found = diagnose(trial, name)
        report.mistake = found.mistake
        report.diagnosis = found.sentence or where_to_look(trial)


def _counterexample(trial: Trial) -> Call | None:
    """The public example, if the answer is wrong there, else the smallest input of all."""
    example = plain(trial.exercise.example.args)
    for call in trial.wrong:
        if same_value(call.args, example):
            return call
    return min(trial.wrong, key=lambda call: call.size, default=None)


def _show(report: Report, call: Call) -> None:
    exercise = report.exercise
    if same_value(call.args, plain(exercise.example.args)):
        report.input = exercise.example.words
    else:
        report.input = as_call(exercise, call.args)
        if exercise.oracle is not None:
            report.due = show(exercise.oracle(*call.args))
    if call.reply.problem is None:
        report.yours = show(call.reply.value)


def as_call(exercise: Exercise, args: Args) -> str:
    """A call with its arguments, as a learner would write it."""
    names = [n.split("=")[0].strip() for n in exercise.signature.split("(", 1)[1][:-1].split(",")]
    names += [""] * (len(args) - len(names))
    given = ", ".join(
        f"{name}={show(arg)}" if name else show(arg) for name, arg in zip(names, args, strict=False)
    )
    return f"{exercise.answer}({given})"
