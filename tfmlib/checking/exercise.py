"""What an exercise is: its inputs, what it expects of an answer, and the answers it knows.

An exercise is declared once and then told, by decorators, what to expect and what to know:

    SOFTMAX = Exercise("4.2", "Softmax", answer="softmax", oracle=ref.softmax, ...)
    SOFTMAX.case("a single row", "the exponentials divided by their sum", row)

    @SOFTMAX.draws
    def _(rng, size):
        return (values(rng, (*leading(rng, size), axis(rng, size))),)

    @SOFTMAX.invariant("every row sums to one", "the weights of each row add up to 1")
    def _(answer):
        return same(answer(rows).sum(axis=-1), np.ones(3))

    @SOFTMAX.right
    def loops_over_rows(x):
        ...

    @SOFTMAX.mistake("You divided by the sum over all rows: each row has a sum of its own.")
    def sums_over_everything(x):
        return np.exp(x) / np.exp(x).sum()
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from tfmlib.checking import Answer, Args
from tfmlib.checking.compare import TOLERANCE, in_kind, kind, magnitude_of, require_same
from tfmlib.checking.draw import LONG
from tfmlib.checking.outcome import AnswerError, Outcome, unmet

# What is expected of every answer, by name.
THE_EXAMPLE = "the example of the exercise"
DRAWN = "inputs of every size and kind"
SAME_AGAIN = "the same input again gives the same"
BY_ITSELF = "your own code, not the library's"
HINTS = ("a question", "the formula", "the shapes")
DRAWS = 96  # inputs that a check draws, the smallest first
LARGEST = 9  # the size of the last of them
DECLARED: dict[str, "Exercise"] = {}  # by id

Draw = Callable[[np.random.Generator, int], Args]


@dataclass(frozen=True)
class Expectation:
    """One named thing that an answer must do, said in words and tested by a function."""

    name: str
    words: str
    # Gets the answer to call. Raising, False or a sentence: not met.
    test: Callable[[Answer], bool | str | None]
    args: Args | None = None  # a case's inputs; None for an invariant


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer, with the sentence that explains it to whoever gave it."""

    name: str
    sentence: str
    function: Answer


@dataclass(frozen=True)
class Example:
    """The public example: what it is and what it should give, in words."""

    args: Args
    words: str


@dataclass
class Exercise:
    id: str
    title: str
    answer: str  # the name of the function that the learner writes
    signature: str  # as the manuscript gives it: "softmax(x)"
    hints: tuple[str, str, str]  # a question, the formula, the shapes
    example: Example
    oracle: Answer | None = None  # None: several answers are right, and `accepts` decides
    stands_for: str = ""  # the function of `ref` that the answer is: its mistakes are inherited
    forbids: tuple[str, ...] = ()  # functions that the answer must not call: "attention:mask"
    equivalent: dict[str, str] = field(default_factory=dict)  # mutant that changes nothing: why
    coincidences: dict[str, str] = field(default_factory=dict)  # in all inputs, and meant: why
    clauses: dict[str, str] = field(default_factory=dict)  # words of the statement: expectation
    expectations: list[Expectation] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    forms: list[Answer] = field(default_factory=list)  # right answers written otherwise
    draw: Draw | None = None  # legal inputs of a size, from the smallest upward
    accepts: Callable[..., bool | str | None] | None = None  # gets a value and its inputs
    tolerance: float = TOLERANCE
    is_exact: bool = False  # large inputs are no excuse for roundings of their size

    def __post_init__(self) -> None:
        if self.id in DECLARED:
            raise ValueError(f"exercise {self.id} is declared twice; ids must be unique")
        DECLARED[self.id] = self

    @property
    def chapter(self) -> int:
        return int(self.id.split(".")[0])

    @property
    def forbidden(self) -> frozenset[str]:
        """Names of functions that a library has and the learner is to write."""
        return frozenset(filter(None, (self.stands_for, *self.forbids)))

    @cached_property
    def at_example(self) -> Any:
        """The right value on the public example, where there is only one."""
        return None if self.oracle is None else self.oracle(*self.example.args)

    @property
    def returns(self) -> str:
        """The kind of a right value, in words."""
        return "an array, a number or a list" if self.oracle is None else kind(self.at_example)

    @property
    def answers_with_lists(self) -> bool:
        """Whether a right answer is a list or a string rather than an array or a number."""
        return isinstance(self.at_example, list | tuple | str | dict)

    @property
    def cases(self) -> list[Expectation]:
        return [e for e in self.expectations if e.args is not None]

    @property
    def invariants(self) -> list[Expectation]:
        return [e for e in self.expectations if e.args is None]

    def inputs(self, seed: int = 0, count: int = DRAWS, largest: int = LARGEST) -> Iterator[Args]:
        """Legal inputs, the smallest first; the same for the same seed."""
        if self.draw is None:
            return
        sizes = [number * (largest + 1) // count for number in range(count)]
        for number, size in enumerate((*sizes, *LONG)):
            rng = np.random.default_rng([seed, crc32(self.id.encode()), number])
            yield self.draw(rng, size)

    def require(self, value: Any, args: Args) -> None:
        """Raise the AnswerError that says what is wrong with a value on these inputs."""
        if self.oracle is not None:
            with np.errstate(all="ignore"):
                expected = in_kind(self.oracle(*args), self.at_example)
            magnitude = 0.0 if self.is_exact else magnitude_of(args)
            require_same(value, expected, self.tolerance, magnitude)
        elif self.accepts is not None:
            require_met(self.accepts(value, *args))

    # --- what a chapter's module tells of an exercise

    def case(self, name: str, words: str, *args: Any) -> None:
        """Expect a right value on these inputs."""
        self.expectations.append(
            Expectation(name, words, lambda answer: self.require(answer(*args), args), args)
        )

    def invariant(self, name: str, words: str) -> Answer:
        """Expect that the decorated predicate holds for the answer."""

        def remember(test: Answer) -> Answer:
            self.expectations.append(Expectation(name, words, test))
            return test

        return remember

    def mistake(self, sentence: str) -> Answer:
        """Know the decorated function as a wrong answer."""

        def remember(function: Answer) -> Answer:
            self.mistakes.append(Mistake(function.__name__, sentence, function))
            return function

        return remember

    def right(self, function: Answer) -> Answer:
        """Know the decorated function as a right answer in another form."""
        self.forms.append(function)
        return function

    def draws(self, draw: Draw) -> Draw:
        """Take the inputs from the decorated function of a random generator and a size."""
        self.draw = draw
        return draw

    def accepting(self, accepts: Answer) -> Answer:
        """Let the decorated function of a value and its inputs decide, for want of an oracle."""
        self.accepts = accepts
        return accepts


def require_met(verdict: bool | str | None) -> None:
    """Raise unless a test's verdict is good: None or true, not false or a sentence."""
    if isinstance(verdict, str):
        raise unmet(verdict)
    if verdict is not None and not bool(verdict):
        raise AnswerError(Outcome.INVARIANT)


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Standard normal inputs, the same on each run.

    >>> numbers(0, 2, 3).shape
    (2, 3)
    """
    return np.random.default_rng(seed).normal(size=shape)
