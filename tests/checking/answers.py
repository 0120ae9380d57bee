"""Answers as learners write them, gathered from the modules in the folder `answers`.

They were written from the statements alone, without a look at the checks.

    python tests/checking/answers.py

judges them all and prints what it found as JSON: in a process without torch, of which copies are
made in a moment.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_suffix("")


@dataclass(frozen=True)
class Answer:
    """A learner's function for an exercise."""

    id: str
    function: Callable
    on: Callable | None  # for a wrong one: legal inputs on which it is wrong

    @property
    def name(self) -> str:
        return f"{self.id} {self.function.__name__}"

    @property
    def calls(self) -> list[tuple]:
        """The inputs that show the mistake, one call after the other."""
        given = self.on()
        return given if isinstance(given, list) else [given]


WRONG: list[Answer] = []
RIGHT: list[Answer] = []
DELEGATED: list[Answer] = []


def wrong(id: str, on: Callable) -> Callable:
    """Know the decorated function as wrong, on these inputs at least."""

    def remember(function: Callable) -> Callable:
        WRONG.append(Answer(id, function, on))
        return function

    return remember


def right(id: str) -> Callable:
    """Know the decorated function as right."""

    def remember(function: Callable) -> Callable:
        RIGHT.append(Answer(id, function, None))
        return function

    return remember


def delegates(id: str) -> Callable:
    """Know the decorated function as one that lets the library do what it is to do itself."""

    def remember(function: Callable) -> Callable:
        DELEGATED.append(Answer(id, function, None))
        return function

    return remember


@cache
def load() -> None:
    """Import every chapter's answers, once."""
    for path in sorted(FOLDER.glob("ch*.py")):
        spec = importlib.util.spec_from_file_location(f"answers_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


# --- judged -------------------------------------------------------------------------------------


def findings(id: str) -> dict:
    """Of one exercise: who was accepted, refused, told nothing, or not told that it delegates."""
    from tfmlib.checking.catalogue import find
    from tfmlib.checking.judge import judge, refuses
    from tfmlib.checking.outcome import Outcome

    load()
    exercise = find(id)
    wrong, right, delegated = (
        [a for a in kind if a.id == id] for kind in (WRONG, RIGHT, DELEGATED)
    )
    told = {a.name: judge(exercise, a.function) for a in wrong[::3]}  # a diagnosis takes longer
    others = {a.name: judge(exercise, a.function) for a in right}
    return {
        "id": id,
        "wrong": len(wrong),
        "right": len(right),
        "told": len(told),
        "accepted": [a.name for a in wrong if not refuses(exercise, a.function)],
        "silent": [name for name, report in told.items() if not (report.diagnosis or report.input)],
        "refused": {n: f"{r.problem} {r.input}" for n, r in others.items() if not r.passed},
        "unnoticed": [
            a.name
            for a in delegated
            if judge(exercise, a.function).outcome is not Outcome.FORBIDDEN
        ],
    }


if __name__ == "__main__":
    sys.modules["answers"] = sys.modules["__main__"]  # whose lists the chapters' modules fill
    load()
    ids = sorted({answer.id for answer in (*WRONG, *RIGHT)})
    with ProcessPoolExecutor(max_workers=2) as pool:
        print(json.dumps(list(pool.map(findings, ids))))
