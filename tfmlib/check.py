"""What a learner calls in a notebook: check, hint, progress, solution."""

from collections.abc import Callable

from tfmlib.checking import progress as log
from tfmlib.checking.catalogue import all_exercises, find, modules
from tfmlib.checking.exercise import HINTS, Exercise
from tfmlib.checking.judge import Report, judge
from tfmlib.checking.message import Item, Message
from tfmlib.checking.outcome import Status

__all__ = ["check", "hint", "progress", "solution"]

_hints_shown: dict[str, int] = {}
_attempted: set[str] = set()


def check(id: str, answer: Callable) -> None:
    """Check an answer and say what is right, what is wrong, and why."""
    exercise = _find(id)
    if exercise is None:
        return
    report = judge(exercise, answer)
    if report.status is not Status.BLANK:
        _attempted.add(exercise.id)
        log.record(exercise.id, report.status, report.mistake)
    feedback(report).show()


def hint(id: str) -> None:
    """Show one more step of the exercise's hints."""
    exercise = _find(id)
    if exercise is None:
        return
    shown = min(_hints_shown.get(exercise.id, 0) + 1, len(exercise.hints))
    _hints_shown[exercise.id] = shown
    items = [
        Item(text, label=name.capitalize())
        for name, text in zip(HINTS[:shown], exercise.hints, strict=False)
    ]
    Message(f"{_name(exercise)}: hint {shown} of {len(exercise.hints)}", tuple(items)).show()


def solution(id: str) -> None:
    """Link to the solution, once there has been an attempt."""
    exercise = _find(id)
    if exercise is None:
        return
    if exercise.id not in _attempted and exercise.id not in log.events():
        text = f"Try first: write {exercise.signature}, then check({exercise.id!r}, …)."
        Message(f"{_name(exercise)}: no attempt yet", (Item(text),)).show()
        return
    Message(f"{_name(exercise)}: solution", (Item("See", link=solution_path(exercise)),)).show()


def progress() -> None:
    """Show how many exercises of each chapter are solved."""
    solved = {id for id, events in log.events().items() if Status.PASSED in events}
    chapters: dict[int, list[str]] = {}
    for exercise in all_exercises():
        chapters.setdefault(exercise.chapter, []).append(exercise.id)
    items = []
    for chapter, ids in chapters.items():
        done = sum(id in solved for id in ids)
        bar = "█" * done + "░" * (len(ids) - done)
        items.append(Item(f"{bar} {done} of {len(ids)}", label=f"Chapter {chapter:02}"))
    total, done = sum(map(len, chapters.values())), len(solved & set().union(*chapters.values()))
    Message(f"{done} of {total} exercises solved", tuple(items)).show()


def feedback(report: Report) -> Message:
    """A report as a message for the learner."""
    name = _name(report.exercise)
    if report.status is Status.BLANK:
        text = f'Write {report.exercise.signature}; hint("{report.exercise.id}") helps.'
        return Message(f"{name}: not attempted", (Item(text),))
    lines = [Item(line.name, mark=line.met, is_marked=True) for line in report.lines]
    if report.passed:
        return Message(f"{name}: passed", tuple(lines), tone="passed")
    yours = f" Yours gives {report.yours}." if report.yours else ""
    told = (
        ("Expected", report.expected),
        ("Yours", report.problem),
        ("Diagnosis", report.diagnosis),
        ("For example", report.input and f"{report.input.rstrip('.')}.{yours}"),
    )
    lines += [Item(text, label=label) for label, text in told if text]
    if report.due:
        lines.append(Item(report.due, label="What it should give", is_folded=True))
    return Message(f"{name}: not yet", tuple(lines), tone="failed")


def solution_path(exercise: Exercise) -> str:
    """Where the solved exercise is, seen from a notebook: JupyterLab opens it at its cell."""
    topic = modules()[exercise.chapter][5:].replace("_", "-")
    cell = f"sol-{exercise.id.replace('.', '-')}"
    return f"../solutions/{exercise.chapter:02}-{topic}.ipynb#cell-id={cell}"


def _name(exercise: Exercise) -> str:
    return f"Exercise {exercise.id} · {exercise.title}"


def _find(id: str) -> Exercise | None:
    try:
        return find(id)
    except LookupError as error:
        Message(error.args[0]).show()
        return None
