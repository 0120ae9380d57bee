"""Judging an answer: run every expectation, and find out which known mistake explains a failure.

A diagnosis is computed, never guessed: each known mistake is run on the very inputs on which the
answer failed, and named only if it gives what the answer gave, on all of them.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.runner import SECONDS, Reply, Runner, perform
from tfmlib.checking.wire import Foreign, decode, encode

PASSED, FAILED, BLANK = "passed", "failed", "not attempted"


class AnswerError(Exception):
    """What is wrong with a value, as a sentence for the learner."""


@dataclass(frozen=True)
class Line:
    """One expectation's outcome; None: not reached."""

    name: str
    met: bool | None


@dataclass
class Report:
    """All that `check` tells about an answer."""

    exercise: Exercise
    status: str
    lines: list[Line] = field(default_factory=list)
    expected: str = ""  # the first expectation that is not met, in words
    problem: str = ""  # what came instead
    example: str = ""  # the answer's own value on the public example
    diagnosis: str = ""  # the sentence of the mistake that reproduces the answer
    mistake: str = ""  # that mistake's name

    @property
    def passed(self) -> bool:
        return self.status == PASSED


@dataclass(frozen=True)
class Call:
    """One call of the answer: its inputs and what came of it."""

    args: tuple
    reply: Reply


def judge(exercise: Exercise, answer: Callable, seconds: float = SECONDS) -> Report:
    """Run the answer through every expectation of the exercise."""
    if not callable(answer):
        return Report(
            exercise,
            FAILED,
            problem=f"check expects your function itself, as in check({exercise.id!r}, "
            f"{exercise.answer}), and got {_describe(_plain(answer))}.",
        )
    with Runner(answer, seconds) as runner:
        return judge_calls(exercise, runner.call, name=getattr(answer, "__name__", ""))


def judge_calls(exercise: Exercise, call: Callable[[tuple], Reply], name: str = "") -> Report:
    """The same for an answer known only by what its calls reply."""
    log: list[Call] = []
    answer = _recorder(call, log, keep_lists=exercise.answers_with_lists)
    report = Report(exercise, PASSED)
    for expectation in exercise.expectations:
        if log and log[-1].reply.problem in ("blank", "signature", "endless", "died"):
            report.lines.append(Line(expectation.name, None))
            continue
        problem = _unmet(expectation.test, answer)
        report.lines.append(Line(expectation.name, problem is None))
        if problem is not None and report.status == PASSED:
            report.status, report.expected, report.problem = FAILED, expectation.words, problem
        if log and log[-1].reply.problem == "blank":
            return Report(exercise, BLANK)
    if report.status == FAILED:
        report.mistake, report.diagnosis = diagnose(exercise, log, name)
        report.example = _example_text(exercise, call, report.problem)
    return report


def _unmet(test: Callable, answer: Callable) -> str | None:
    """The sentence that says how an expectation is not met; None when it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a test that computes with wrong values
            verdict = test(answer)
            holds = verdict is None or bool(verdict)
    except AnswerError as problem:
        return str(problem)
    except Exception as error:
        # The values were plain, yet the test could not compute with them: a wrong kind of value.
        return f"Your values could not be used: {type(error).__name__}: {error}"
    return None if holds else "This does not hold for your function."


def _recorder(call: Callable[[tuple], Reply], log: list[Call], keep_lists: bool) -> Callable:
    """The answer as a test sees it: returns a usable value or raises an AnswerError."""

    def answer(*args: Any) -> Any:
        reply = call(args)
        log.append(Call(decode(encode(args)), reply))
        value = usable(reply)
        if isinstance(value, list | tuple) and not keep_lists and as_array(value) is not None:
            return as_array(value)  # a list where an array is due is as good
        return value

    return answer


def usable(reply: Reply) -> Any:
    """The value of a reply that has one and kept its hands off the inputs."""
    if reply.problem:
        raise AnswerError(reply.sentence)
    if reply.changed:
        raise AnswerError("It changed its input in place: work on a copy, or build a new array.")
    if reply.value is None and reply.printed:
        raise AnswerError(
            "It printed a value and returned None: end with `return`, not with print."
        )
    if reply.value is None:
        raise AnswerError("It returned None: is there a `return` at its end?")
    if isinstance(reply.value, Foreign):
        raise AnswerError(
            f"It returned {_describe(reply.value)}: return an array, a number or a list."
        )
    return reply.value


# --- comparing values ---------------------------------------------------------------------------


def require_same(value: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """Raise the AnswerError that says how a value differs, without telling the right one."""
    if isinstance(expected, str | dict | type(None)):
        if type(value) is not type(expected):
            raise AnswerError(f"Expected {_describe(expected)}, got {_describe(value)}.")
        if value != expected:
            raise AnswerError(f"It returned {_describe(value)}, which is not right.")
    elif isinstance(expected, list | tuple) and as_array(expected) is None:
        _require_same_items(value, expected, tolerance)
    else:
        _require_same_array(value, expected, tolerance)


def _require_same_items(value: Any, expected: list | tuple, tolerance: float) -> None:
    if not isinstance(value, list | tuple):
        raise AnswerError(f"Expected {_describe(expected)}, got {_describe(value)}.")
    if len(value) != len(expected):
        raise AnswerError(f"Expected {len(expected)} items, got {len(value)}.")
    for index, (one, other) in enumerate(zip(value, expected, strict=True)):
        try:
            require_same(one, other, tolerance)
        except AnswerError as problem:
            raise AnswerError(f"Item {index}: {problem}") from None


def _require_same_array(value: Any, expected: Any, tolerance: float) -> None:
    expected = np.asarray(expected)
    array = as_array(value)
    if array is None:
        raise AnswerError(f"Expected {_describe(expected)}, got {_describe(value)}.")
    if array.shape != expected.shape:
        raise AnswerError(f"Expected shape {expected.shape}, got {array.shape}.")
    bad = ~np.isfinite(array) & np.isfinite(expected)
    if bad.any():
        raise AnswerError(f"It gives NaN or infinity in {bad.sum()} of {array.size} places.")
    loose = np.isclose(array, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    if loose.all() and not _same_kind(value, array, expected):
        raise AnswerError(
            f"The values are right, but their type is {array.dtype} and should be {expected.dtype}."
        )
    close = np.isclose(array, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not close.all():
        where = tuple(int(i) for i in np.argwhere(~close)[0])
        place = f", first at index {list(where)}" if where else ""
        raise AnswerError(f"{(~close).sum()} of {array.size} values are not right{place}.")


def _same_kind(value: Any, array: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind == "f":
        # A list of whole numbers is as good as an array of floats; float32 has lost digits.
        return array.dtype == np.float64 or not isinstance(value, np.ndarray)
    if expected.dtype.kind in "iu":
        return array.dtype.kind in "iu"
    return array.dtype.kind == expected.dtype.kind


def as_array(value: Any) -> np.ndarray | None:
    """A number, array or nested list of numbers as an array; None for anything else."""
    if not _is_numeric(value):
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" else None


def _is_numeric(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_numeric(item) for item in value)
    return isinstance(value, bool | int | float | np.ndarray | np.generic)


def _plain(value: Any) -> Any:
    return decode(encode(value))


def _describe(value: Any) -> str:
    """A value's kind in words: 'an array of shape (2, 3)', 'a string'."""
    if isinstance(value, Foreign):
        return f"something of type {value.type_name}"
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    if isinstance(value, bool | np.bool_):
        return "True or False"
    if isinstance(value, int | float | np.number | np.ndarray):
        return "a number"
    names = {str: "a string", list: "a list", tuple: "a tuple", dict: "a dict", type(None): "None"}
    return names.get(type(value), f"something of type {type(value).__name__}")


# --- diagnosis ----------------------------------------------------------------------------------


def diagnose(exercise: Exercise, log: list[Call], name: str = "") -> tuple[str, str]:
    """The name and sentence of what explains the answer's values; empty when nothing does."""
    for mistake in exercise.mistakes:
        if reproduces(mistake.function, log):
            return mistake.name, mistake.sentence
    return next(_general(exercise, log, name), ("", ""))


def reproduces(function: Callable, log: list[Call], digits=(None, 2, 3, 4, 5, 6)) -> bool:
    """Whether the function gives what the answer gave, on every call of the log.

    `digits` are the roundings to allow for; None is none.
    """
    pairs = [(call.reply, perform(function, decode(encode(call.args)))) for call in log]
    return any(all(_same_outcome(given, other, n) for given, other in pairs) for n in digits)


def _same_outcome(given: Reply, other: Reply, digits: int | None) -> bool:
    if given.problem or other.problem:
        return given.problem == other.problem and given.raised == other.raised
    if given.changed != other.changed:
        return False
    value, expected = given.value, _plain(other.value)
    if digits is not None:
        expected = _rounded(expected, digits)
    return same_value(value, expected)


def same_value(value: Any, expected: Any) -> bool:
    """Equal to within float rounding, whatever the dtype and the kind of sequence."""
    one, other = as_array(value), as_array(expected)
    if one is not None and other is not None:
        if one.dtype.kind in "biu" and other.dtype.kind in "biu":
            return np.array_equal(one, other)
        return one.shape == other.shape and np.allclose(
            one, other, rtol=1e-5, atol=1e-8, equal_nan=True
        )
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    return type(value) is type(expected) and value == expected


def _rounded(value: Any, digits: int) -> Any:
    array = as_array(value)
    if array is not None and array.dtype.kind == "f":
        return np.round(array, digits)
    return value


def _general(exercise: Exercise, log: list[Call], name: str) -> Iterator[tuple[str, str]]:
    """Mistakes that any exercise can meet, found by the same means."""
    others = [e for e in all_exercises() if e.chapter == exercise.chapter and e is not exercise]
    for other in others:
        if other.answer == name != exercise.answer:
            yield "other exercise", f"This is an answer to exercise {other.id} ({other.title})."
    if all(call.reply.problem for call in log):
        return  # nothing was returned that could be compared
    oracle = exercise.oracle
    if oracle is not None and not reproduces(oracle, log, digits=(None,)):
        if reproduces(oracle, log, digits=(1, 2, 3, 4, 5, 6)):
            yield "rounded", "Your values are right but rounded: return them as they are."
        for change, sentence in _CHANGES.items():
            if reproduces(_then(oracle, change), log):
                yield change.__name__, sentence
    for other in others:
        if other.oracle is not None and reproduces(other.oracle, log):
            yield "other exercise", f"This is an answer to exercise {other.id} ({other.title})."


def _then(oracle: Callable, change: Callable) -> Callable:
    return lambda *args: change(oracle(*args))


def transposed(value: Any) -> Any:
    return np.swapaxes(value, -1, -2)


def negated(value: Any) -> Any:
    return -np.asarray(value)


_CHANGES = {
    transposed: "Your values are right but transposed: rows and columns have changed places.",
    negated: "Your values are right but for their sign.",
}


# --- the public example -------------------------------------------------------------------------


def _example_text(exercise: Exercise, call: Callable[[tuple], Reply], told: str) -> str:
    """The public example, with the answer's own value or a problem that was not told yet."""
    try:
        given = " Yours gives " + show(usable(call(exercise.example.args))) + "."
    except AnswerError as problem:
        given = "" if str(problem)[:30] == told[:30] else f" Yours: {problem}"
    return exercise.example.words + given


def show(value: Any) -> str:
    """A value in few words: arrays rounded to four digits and cut.

    >>> show(np.array([0.62245933, 0.37754067]))
    '[0.6225, 0.3775]'
    """
    if isinstance(value, np.ndarray | np.generic):
        text = np.array2string(
            np.asarray(value), precision=4, separator=", ", suppress_small=True, threshold=24
        )
    else:
        text = repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 240 else text[:237] + "..."
