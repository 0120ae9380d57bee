"""Marking one submission: its notebooks are run, its answers called, its result made plain data."""

import json
import re
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from tfmlib.checking.catalogue import find as find_exercise
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.judge import BLANK, FAILED, PASSED, Line, Report, judge_calls
from tfmlib.checking.runner import DIED, Reply
from tfmlib.grade import submissions
from tfmlib.grade.sandbox import PACKAGE, Limits, Run
from tfmlib.grade.submissions import Submission

MISSING = "not found"
WAYS_TO_CALL = 2  # the last definition: as it stood when written, and at the end
CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069"
UNPRINTABLE = re.compile(f"[{CONTROLS}]")
RANK = {PASSED: 0, FAILED: 1, BLANK: 2, MISSING: 3}


@dataclass
class Mark:
    """What one exercise got: the report that `check` would give, as plain data."""

    id: str
    status: str
    lines: list[tuple[str, bool | None]] = field(default_factory=list)
    expected: str = ""
    problem: str = ""
    example: str = ""
    diagnosis: str = ""
    mistake: str = ""

    @property
    def points(self) -> int:
        return int(self.status == PASSED)

    def report(self) -> Report:
        """The judge's report again, for `tfmlib.check.feedback`."""
        texts = (self.expected, self.problem, self.example, self.diagnosis, self.mistake)
        lines = [Line(name, met) for name, met in self.lines]
        return Report(find_exercise(self.id), self.status, lines, *texts)


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
        marks = {id: Mark(**mark) for id, mark in data["marks"].items()}
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
            if known is None or RANK[mark.status] < RANK[known.status]:
                result.marks[mark.id] = mark
    result.marks = {id: result.marks.get(id) or Mark(id, MISSING) for id in ids}
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
    published = published_cells()
    light = [number for number, source in enumerate(sources) if source.strip() in published]
    while True:
        with Run(sources, answers, level, stage, limits, light) as run:
            marks = [_mark_exercise(run, exercise) for exercise in exercises]
        if not light or not _misses_a_name(run, marks):
            break
        light = []  # something of the student's needs what the book's cells compute
    for cell, problem in run.problems.items():
        # A blank that was called stands in every notebook that is not finished.
        if not problem.startswith("NotImplementedError"):
            notes.append(_clean(f"{name}, code cell {cell + 1}: {problem}"))
    if run.definitions_only:
        notes.append(f"{name}: run without anything but imports, definitions, assignments.")
    return marks


@cache
def published_cells() -> frozenset[str]:
    """The book's own cells, as handed out: they hold no answer, and some train for minutes.

    Of such a cell, unchanged, only functions and imports are run, unless a name is missed then.
    """
    found = set()
    for path in sorted((PACKAGE.parent / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code" and "setup" not in cell["metadata"].get("tags", []):
                found.add("".join(cell["source"]).strip())
    return frozenset(found)


def _misses_a_name(run: Run, marks: list[Mark]) -> bool:
    told = [*run.problems.values(), *(mark.problem for mark in marks)]
    return any("NameError" in text for text in told)


def _mark_exercise(run: Run, exercise: Exercise) -> Mark:
    """The best of what the notebook holds for one exercise."""
    deadline = time.monotonic() + run.limits.exercise
    best = Mark(exercise.id, MISSING)
    number, alone = 0, False
    while run.ensure() and number < run.found.get(exercise.id, 0):
        if number >= WAYS_TO_CALL and best.status == FAILED:
            break  # an earlier definition counts only when a blank was copied after it
        was_fresh, run.fresh = run.fresh, False
        mark = _judged(exercise, run.caller(exercise.id, number, deadline), run.limits.judge)
        if RANK[mark.status] < RANK[best.status]:
            best = mark
        if best.status == PASSED or time.monotonic() > deadline:
            break
        if run.sandbox is not None:
            number += 1
        elif mark.problem != DIED.sentence:
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
        problem = f"Its values could not be judged ({type(error).__name__})."
        return Mark(exercise.id, FAILED, problem=problem)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _as_mark(report: Report) -> Mark:
    texts = (report.expected, report.problem, report.example, report.diagnosis, report.mistake)
    lines = [(line.name, line.met) for line in report.lines]
    return Mark(report.exercise.id, report.status, lines, *(_clean(text) for text in texts))


def _clean(text: str) -> str:
    """Without control characters, and of a length that a page can bear."""
    return UNPRINTABLE.sub(" ", text)[:1000]
