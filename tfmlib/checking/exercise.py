"""The exercises: what each asks, what its answer must do, and the wrong answers it must refuse.

A chapter's exercises live in `chNN_topic.py` beside this file. An exercise is declared once and
then told, by decorators, what to expect of an answer and which mistakes to know:

    SOFTMAX = Exercise("4.2", "Softmax", answer="softmax", oracle=ref.softmax, ...)
    SOFTMAX.case("a single row", "the exponentials divided by their sum", row)

    @SOFTMAX.invariant("every row sums to one", "the weights of each row add up to 1")
    def rows_sum_to_one(answer):
        return np.allclose(answer(rows).sum(axis=-1), 1)

    @SOFTMAX.mistake("You divided by the sum over all rows: each row has a sum of its own.")
    def sums_over_everything(x):
        return np.exp(x) / np.exp(x).sum()
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

HINTS = ("a question", "the formula", "the shapes")
DECLARED: dict[str, "Exercise"] = {}  # by id


@dataclass(frozen=True)
class Expectation:
    """One named thing that an answer must do, said in words and tested by a function."""

    name: str
    words: str
    test: Callable[[Callable], bool | None]  # gets the answer to call; False or raising: not met
    args: tuple | None = None  # a case's inputs; None for an invariant


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer, with the sentence that explains it to whoever gave it."""

    name: str
    sentence: str
    function: Callable


@dataclass(frozen=True)
class Example:
    """A public example: its result may be told, because it is not graded."""

    args: tuple
    words: str  # what it is and what it should give


@dataclass
class Exercise:
    id: str
    title: str
    answer: str  # the name of the function that the learner writes
    signature: str  # as the manuscript gives it: "softmax(x)"
    hints: tuple[str, str, str]  # a question, the formula, the shapes
    example: Example
    oracle: Callable | None = None  # None: several answers are right, invariants decide
    equivalent: dict[str, str] = field(default_factory=dict)  # mutant that changes nothing: why
    expectations: list[Expectation] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.id in DECLARED:
            raise ValueError(f"exercise {self.id} is declared twice; ids must be unique")
        DECLARED[self.id] = self

    @property
    def chapter(self) -> int:
        return int(self.id.split(".")[0])

    @cached_property
    def answers_with_lists(self) -> bool:
        """Whether a right answer is a list or a string rather than an array or a number."""
        return self.oracle is not None and isinstance(
            self.oracle(*self.example.args), list | tuple | str | dict
        )

    @property
    def cases(self) -> list[Expectation]:
        return [e for e in self.expectations if e.args is not None]

    @property
    def invariants(self) -> list[Expectation]:
        return [e for e in self.expectations if e.args is None]

    def case(self, name: str, words: str, *args: Any) -> None:
        """Expect the oracle's value on these inputs."""
        from tfmlib.checking.judge import require_same  # the judge knows exercises, not the reverse

        def agrees(answer: Callable) -> None:
            require_same(answer(*args), self.oracle(*args), self.tolerance)

        self.expectations.append(Expectation(name, words, agrees, args))

    def invariant(self, name: str, words: str) -> Callable:
        """Expect that the decorated predicate holds for the answer."""

        def remember(test: Callable) -> Callable:
            self.expectations.append(Expectation(name, words, test))
            return test

        return remember

    def mistake(self, sentence: str) -> Callable:
        """Know the decorated function as a wrong answer."""

        def remember(function: Callable) -> Callable:
            self.mistakes.append(Mistake(function.__name__, sentence, function))
            return function

        return remember


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Standard normal inputs, the same on each run.

    >>> numbers(0, 2, 3).shape
    (2, 3)
    """
    return np.random.default_rng(seed).normal(size=shape)
