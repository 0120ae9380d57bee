"""Marking one submission: its notebooks are run, its answers called, its result made plain data."""

import re
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from tfmlib.checking.call import Reply
from tfmlib.checking.catalogue import find as find_exercise
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.judge import Line, Report, judge_calls
from tfmlib.checking.outcome import Outcome, Status, tell
from tfmlib.grade import submissions
from tfmlib.grade.levels import Limits
from tfmlib.grade.sandbox import Run
from tfmlib.grade.submissions import Submission
from tfmlib.support import notebooks

WAYS_TO_CALL = 2  # the last definition: as it stood when written, and at the end
TEXTS = ("expected", "problem", "input", "yours", "due", "diagnosis", "mistake", "raised")
CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069"
UNPRINTABLE = re.compile(f"[{CONTROLS}]")
RANK = list(Status)  # the best first


@dataclass
class Mark:
    """What one exercise got: the report that `check` would give, as plain data."""

    id: str
    status: Status
    lines: list[tuple[str, bool | None]] = field(default_factory=list)
    outcome: Outcome | None = None
    expected: str = ""
    problem: str = ""
    input: str = ""
    yours: str = ""
    due: str = ""
    diagnosis: str = ""
    mistake: str = ""
    raised: str = ""

    @property
    def points(self) -> int:
        return int(self.status is Status.PASSED)

    def report(self) -> Report:
        """The judge's report again, for `tfmlib.check.feedback`."""
        lines = [Line(name, met) for name, met in self.lines]
        texts = {name: getattr(self, name) for name in TEXTS}
        return Report(find_exercise(self.id), self.status, lines, self.outcome, **texts)

    @classmethod
    def from_data(cls, data: dict) -> "Mark":
        """The mark that `asdict` described."""
        outcome = data["outcome"] and Outcome(data["outcome"])
        return cls(**{**data, "status": Status(data["status"]), "outcome": outcome})


@dataclass
class Result:
    """What a submission got, and what could not be graded."""

    student: str
    marks: dict[str, Mark]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return sum(mark.points for mark in self.marks.values())

    def as_data(self) -> dict:
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict) -> "Result":
        marks = {id: Mark.from_data(mark) for id, mark in data["marks"].items()}
        return cls(**{**data, "marks": marks})


def mark_submission(
    submission: Submission, ids: list[str], level: str, stage: Path, limits: Limits
) -> Result:
    """Grade all notebooks of one student; an exercise in several gets its best mark."""
    start = time.monotonic()
    result = Result(submission.student, {}, list(submission.notes))
    exercises = [find_exercise(id) for id in ids]
    for path in submission.notebooks:
        try:
            data = submissions.content(path)
            sources = submissions.cells(data, path.name)
        except ValueError as error:
            result.notes.append(str(error))
            continue
        chapters = submissions.mentioned_chapters(data, path.name)
        wanted = [e for e in exercises if not chapters or e.chapter in chapters]
        for mark in _mark_notebook(sources, wanted, level, stage, limits, path.name, result.notes):
            known = result.marks.get(mark.id)
            if known is None or _is_better(mark, known):
                result.marks[mark.id] = mark
    result.marks = {id: result.marks.get(id) or Mark(id, Status.MISSING) for id in ids}
    result.seconds = round(time.monotonic() - start, 2)
    return result


def _mark_notebook(
    sources: list[str],
    exercises: list[Exercise],
    level: str,
    stage: Path,
    limits: Limits,
    name: str,
    notes: list[str],
) -> list[Mark]:
    if not exercises:
        return []
    answers = {e.id: e.answer for e in exercises}
    forbidden = {e.id: e.forbidden for e in exercises if e.forbidden}
    published = published_cells()
    light = [number for number, source in enumerate(sources) if source.strip() in published]
    while True:
        with Run(sources, answers, forbidden, level, stage, limits, light) as run:
            marks = [_mark_exercise(run, exercise) for exercise in exercises]
        if not light or not _misses_a_name(run, marks):
            break
        light = []  # something of the student's needs what the book's cells compute
    for cell, problem in run.problems.items():
        # A blank that was called stands in every notebook that is not finished.
        if problem.raised != "NotImplementedError":
            notes.append(_clean(f"{name}, code cell {cell + 1}: {problem}"))
    if run.definitions_only:
        notes.append(f"{name}: run without anything but imports, definitions, assignments.")
    return marks


@cache
def published_cells() -> frozenset[str]:
    """The book's own cells, as handed out: they hold no answer, and some train for minutes.

    Of such a cell, unchanged, only functions and imports are run, unless a name is missed then.
    """
    found: set[str] = set()
    for code in notebooks.read_folder("notebooks"):
        cells = (cell for cell in code if not notebooks.is_setup(cell))
        found |= {notebooks.source_of(cell).strip() for cell in cells}
    return frozenset(found)


def _misses_a_name(run: Run, marks: list[Mark]) -> bool:
    raised = [trouble.raised for trouble in run.problems.values()]
    raised += [mark.raised for mark in marks]
    return "NameError" in raised or "UnboundLocalError" in raised


def _mark_exercise(run: Run, exercise: Exercise) -> Mark:
    """The best of what the notebook holds for one exercise."""
    deadline = time.monotonic() + run.limits.exercise
    best = Mark(exercise.id, Status.MISSING)
    number, alone = 0, False
    while run.ensure() and number < run.found.get(exercise.id, 0):
        if number >= WAYS_TO_CALL and best.status is Status.FAILED:
            break  # an earlier definition counts only when a blank was copied after it
        was_fresh, run.fresh = run.fresh, False
        mark = _judged(exercise, run.caller(exercise.id, number, deadline), run.limits.judge)
        if _is_better(mark, best):
            best = mark
        if best.status is Status.PASSED or time.monotonic() > deadline:
            break
        if run.sandbox is not None:
            number += 1
        elif mark.outcome is not Outcome.DIED:
            break  # it did not end
        elif not was_fresh:
            continue  # was it this answer, or what an earlier one left running? Ask again
        elif not run.definitions_only:
            run.definitions_only = alone = True  # or what a cell left running?
        else:
            break
    if alone and run.sandbox is None:  # it was this answer: the others get the whole notebook
        run.definitions_only = False
    return best


def _is_better(mark: Mark, other: Mark) -> bool:
    return RANK.index(mark.status) < RANK.index(other.status)


class OverdueError(BaseException):
    """The judge itself takes too long: not an Exception, which a test would take for its own."""


def _judged(exercise: Exercise, call: Callable[[tuple], Reply], seconds: float) -> Mark:
    """The judge's mark; values that it cannot bear cost this exercise, not the submission."""

    def overdue(*_: object) -> None:
        raise OverdueError

    previous = signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)  # again, should a test swallow the first
    try:
        return _as_mark(judge_calls(exercise, call))
    except (Exception, OverdueError) as error:
        problem = tell(Outcome.UNJUDGED, error=type(error).__name__)
        return Mark(exercise.id, Status.FAILED, outcome=Outcome.UNJUDGED, problem=problem)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _as_mark(report: Report) -> Mark:
    texts = {name: _clean(getattr(report, name)) for name in TEXTS}
    lines = [(line.name, line.met) for line in report.lines]
    return Mark(report.exercise.id, report.status, lines, report.outcome, **texts)


def _clean(text: str) -> str:
    """Without control characters, and of a length that a page can bear."""
    return UNPRINTABLE.sub(" ", text)[:1000]
