"""Answers as learners write them, gathered from the modules in the folder `answers`.

They were written from the statements alone, without a look at the checks.
"""

import importlib.util
from collections.abc import Callable
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
