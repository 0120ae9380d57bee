"""Diagnosis: which known mistake explains what an answer gave.

A diagnosis is computed, never guessed. A mistake is named if it gives what the answer gave on every
input on which the answer is wrong, contradicts it nowhere else, and no other known mistake does so.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from tfmlib import ref
from tfmlib.checking import Answer, Args
from tfmlib.checking.call import Reply, perform
from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.compare import as_array, plain, same_value
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.outcome import Outcome
from tfmlib.checking.runner import Runner
from tfmlib.checking.trial import Call, Trial
from tfmlib.support import notebooks

MOST_CALLS = 24  # of each sort that a mistake is tried on
ROUNDINGS = (None, 2, 3, 4, 5, 6)
SECONDS_FOR_A_MUTANT = 0.1
MOST_PAIRS = 400  # of mistakes in two parts
FRESH = 48  # more inputs, where two mistakes explain the same
LATER_SEED = 1_000_003


@dataclass(frozen=True)
class Diagnosis:
    """The name of a mistake, and the sentence that explains it; both empty: none is known."""

    mistake: str = ""
    sentence: str = ""


@dataclass(frozen=True)
class Suspect:
    """A program that may be what the learner wrote."""

    name: str
    sentence: str
    function: Answer
    roundings: tuple[int | None, ...] = ROUNDINGS


def diagnose(trial: Trial, name: str = "") -> Diagnosis:
    """What explains the answer's values."""
    exercise = trial.exercise
    for other in _neighbours(exercise):
        if other.answer == name != exercise.answer:
            return _answer_to(other)
    if not trial.has_returned or _is_right_but_for_its_type(trial):
        return Diagnosis()  # there is nothing to explain, or it has been said
    for suspects in _groups(trial):
        found = _explaining(suspects, trial)
        if len({suspect.sentence for suspect in found}) == 1:
            return Diagnosis(found[0].name, found[0].sentence)
        if found:
            return Diagnosis()  # several explain it, and nothing tells them apart
    return Diagnosis()


def _is_right_but_for_its_type(trial: Trial) -> bool:
    """Then a mistake whose effect a change undoes would seem to explain it; own ones may."""
    own = trial.exercise.mistakes
    faults = [call.fault.outcome for call in trial.calls if call.fault is not None]
    return all(fault is Outcome.DTYPE for fault in faults) and not any(
        reproduces(mistake.function, trial.calls) for mistake in own
    )


def _explaining(suspects: Iterable[Suspect], trial: Trial) -> list[Suspect]:
    """Those that give what the answer gave; where there are several, on more inputs."""
    found = [s for s in suspects if reproduces(s.function, trial.calls, s.roundings)]
    if len({suspect.sentence for suspect in found}) < 2 or trial.is_over:
        return found
    before = len(trial.calls)
    for args in trial.exercise.inputs(LATER_SEED, FRESH):
        if trial.is_over:
            break
        with contextlib.suppress(Exception):
            trial.answer(*args)
    later = trial.calls[before:]
    return [s for s in found if reproduces(s.function, later, s.roundings)] or found


def reproduces(
    function: Answer, calls: list[Call], roundings: tuple[int | None, ...] = ROUNDINGS
) -> bool:
    """Whether a function that is known to end may be what the answer is."""
    return _agrees(lambda args: perform(function, args), calls, roundings)


def _agrees(
    ask: Callable[[Args], Reply], calls: list[Call], roundings: tuple[int | None, ...]
) -> bool:
    """Whether a function, known by its replies, may be what the answer is."""
    wrong = [call for call in calls if call.fault is not None][:MOST_CALLS]
    right = [call for call in calls if call.fault is None][:MOST_CALLS]
    possible, has_returned = list(roundings), False
    for call in (*wrong, *right):
        other = ask(plain(call.args))
        if call.fault is None and other.problem is not None:
            continue  # where the answer is right, nothing is said of the mistake
        possible = [digits for digits in possible if _same_outcome(call.reply, other, digits)]
        if not possible:
            return False
        has_returned = has_returned or call.reply.problem is None
    return has_returned


def _same_outcome(given: Reply, other: Reply, digits: int | None) -> bool:
    if given.problem or other.problem:
        # Two errors are alike if their type, their message and what failed are.
        return (given.problem, given.raised, given.message, given.operation) == (
            other.problem,
            other.raised,
            other.message,
            other.operation,
        )
    if given.changed != other.changed:
        return False
    expected = plain(other.value)
    return same_value(given.value, expected if digits is None else _rounded(expected, digits))


def _rounded(value: Any, digits: int) -> Any:
    array = as_array(value)
    if array is not None and array.dtype.kind == "f":
        return np.round(array, digits)
    return value


# --- who is suspected, the likeliest first ------------------------------------------------------


def _groups(trial: Trial) -> Iterator[list[Suspect]]:
    exercise = trial.exercise
    own = [Suspect(m.name, m.sentence, m.function) for m in exercise.mistakes]
    yield own
    oracle = exercise.oracle
    if oracle is None:
        return
    yield list(_changed(oracle, ""))
    inherited = list(_inherited(exercise))
    yield [suspect for suspect, _ in inherited]
    yield [s for m in exercise.mistakes for s in _changed(m.function, f"{m.sentence} And: ")]
    yield list(islice(_pairs(exercise, inherited), MOST_PAIRS))
    yield [
        Suspect("other exercise", _answer_to(e).sentence, e.oracle)
        for e in _neighbours(exercise)
        if e.oracle is not None
    ]


def _neighbours(exercise: Exercise) -> list[Exercise]:
    return [e for e in all_exercises() if e.chapter == exercise.chapter and e is not exercise]


def _answer_to(other: Exercise) -> Diagnosis:
    sentence = f"This is an answer to exercise {other.id} ({other.title})."
    return Diagnosis("other exercise", sentence)


def _changed(function: Answer, before: str) -> Iterator[Suspect]:
    """The same values, rounded, transposed or with another sign."""
    if not before:
        rounded = "Your values are right but rounded: return them as they are."
        yield Suspect("rounded", rounded, function, (1, 2, 3, 4, 5, 6))
    for change, sentence in _CHANGES.items():
        text = f"{before}{sentence}" if before else f"Your values are right but {sentence}"
        yield Suspect(change.__name__, text, _then(function, change))


def _then(function: Answer, change: Answer) -> Answer:
    return lambda *args: change(function(*args))


def transposed(value: Any) -> Any:
    return np.swapaxes(value, -1, -2)


def negated(value: Any) -> Any:
    return -np.asarray(value)


_CHANGES = {
    transposed: "transposed: rows and columns have changed places.",
    negated: "of the wrong sign.",
}


# --- mistakes of a part are mistakes of the whole -----------------------------------------------


def _inherited(exercise: Exercise) -> Iterator[tuple[Suspect, dict[str, Answer]]]:
    """The oracle with one of its parts replaced by a known mistake of that part."""
    oracle = exercise.oracle
    if oracle is None:
        return
    used = _parts_of(exercise, oracle)
    for other in all_exercises():
        if other.stands_for not in used or other is exercise:
            continue
        for mistake in other.mistakes:
            parts = {other.stands_for: mistake.function}
            sentence = f"In {other.answer} (exercise {other.id}): {mistake.sentence}"
            yield Suspect(mistake.name, sentence, _with_parts(oracle, parts)), parts


def _pairs(
    exercise: Exercise, inherited: list[tuple[Suspect, dict[str, Answer]]]
) -> Iterator[Suspect]:
    for (one, parts), (two, others) in combinations(inherited, 2):
        if exercise.oracle is not None and parts.keys() != others.keys():
            both = _with_parts(exercise.oracle, parts | others)
            yield Suspect(f"{one.name} and {two.name}", f"{one.sentence} {two.sentence}", both)


def _parts_of(exercise: Exercise, oracle: Answer) -> set[str]:
    """The functions of `ref` that the oracle calls on the public example."""
    codes = {function.__code__: name for name, function in _functions_of_ref().items()}
    used: set[str] = set()

    def watch(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code in codes:
            used.add(codes[frame.f_code])

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        oracle(*exercise.example.args)
    finally:
        sys.setprofile(before)
    return used - {exercise.stands_for}


def _functions_of_ref() -> dict[str, Answer]:
    return {name: f for name, f in vars(ref).items() if inspect.isfunction(f)}


def _with_parts(oracle: Answer, parts: dict[str, Answer]) -> Answer:
    def whole(*args: Any) -> Any:
        originals = {name: getattr(ref, name) for name in parts}
        for name, part in parts.items():
            setattr(ref, name, _in_place_of(originals[name], part))
        try:
            return oracle(*args)
        finally:
            for name, original in originals.items():
                setattr(ref, name, original)

    return whole


def _in_place_of(original: Answer, part: Answer) -> Answer:
    """The part, called as the original is; where it is given more than it takes, the original."""
    taken = len(inspect.signature(part).parameters)

    def called(*args: Any, **options: Any) -> Any:
        bound = inspect.signature(original).bind(*args, **options)
        given = list(bound.arguments.items())
        defaults = inspect.signature(original).parameters
        if any(value is not defaults[name].default for name, value in given[taken:]):
            return original(*args, **options)
        return part(*(value for _, value in given[:taken]))

    return called


# --- where to look, when nothing is known -------------------------------------------------------


def where_to_look(trial: Trial) -> str:
    """Which kind of thing the answer has otherwise than the solution, if one change explains it."""
    from tfmlib.checking.mutants import mutants  # not needed for an answer that is right

    exercise = trial.exercise
    solution = notebooks.exercise_cells("solutions").get(exercise.id)
    if solution is None or all(call.reply.problem is not None for call in trial.wrong):
        return ""
    kinds = set()
    for mutant in mutants(solution.source):
        with contextlib.suppress(Exception):
            function = solution.function(exercise.answer, mutant.source)
            with Runner(function, SECONDS_FOR_A_MUTANT) as runner:  # it may never end
                if _agrees(runner.call, trial.calls, (None,)):
                    kinds.add(mutant.kind)
    if len(kinds) != 1:
        return ""
    return (
        "No mistake that is known gives these values, but the solution would give them with one "
        f"thing changed, {kinds.pop()}: look there first."
    )
