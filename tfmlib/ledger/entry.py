"""An entry of the ledger: what a document prints, and how its verdict follows from computing.

A verdict is never written down. It follows from what an entry carries: a printed figure and a
recomputation are compared, a claim is tested, an example is checked for validity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tfmlib.ledger.printed import agreeing, cut_off, decimals, numbers, shown
from tfmlib.support.arrays import Array

VERDICTS = ("reproduced", "erratum", "illustrative", "quoted", "property", "data")
MOST_FIGURES_IN_A_SENTENCE = 8

Figures = Mapping[str, str]  # label -> numbers as printed; a matrix has its rows between slashes
Values = Mapping[str, Array]  # the same labels -> the numbers computed


class Grade(StrEnum):
    """How bad an erratum is, from the lightest to the gravest."""

    CUT = "cut instead of rounded"
    DATED = "dated"
    IN_PART = "true in part"
    WRONG = "wrong"
    IMPOSSIBLE = "impossible"

    @property
    def is_slight(self) -> bool:
        """Whether the document is right but for a last digit, its date or a case left out."""
        return self in (Grade.CUT, Grade.DATED, Grade.IN_PART)


class Trial(NamedTuple):
    """What a test found: whether the claim holds, and a clause for either case."""

    holds: bool
    if_so: str
    if_not: str = "the claim was tested and does not hold"
    in_part: bool = False  # whether a claim that does not hold is right in one half or one case

    @property
    def measured(self) -> str:
        """The clause that the test bears out."""
        return self.if_so if self.holds else self.if_not


def agree(printed: Figures, computed: Values) -> bool:
    """Say whether every printed figure is the computed one.

    >>> agree({"x": "0.62"}, {"x": [0.6225]}), agree({"x": "0.63"}, {"x": [0.6225]})
    (True, False)
    """
    if printed.keys() != computed.keys():
        raise ValueError(f"expected values for {[*printed]}, got values for {[*computed]}.")
    return all(agreeing(text, computed[label]).all() for label, text in printed.items())


def only_cut(printed: Figures, computed: Values) -> bool:
    """Say whether every printed figure that disagrees is the computed one, cut off.

    >>> only_cut({"x": "0.9999 0.5"}, {"x": [0.99995, 0.5]}), only_cut({"x": "6.8"}, {"x": [5.59]})
    (True, False)
    """
    return all(
        (agreeing(text, computed[label]) | cut_off(text, computed[label])).all()
        for label, text in printed.items()
    )


@dataclass(frozen=True, eq=False)
class Entry:
    """One number or claim of a document, with what decides about it."""

    id: str  # the document's prefix, a dot and a name
    document: str  # "the notes", "the handwritten notes", "the slides", "the whiteboard"
    section: str  # where it stands in the document
    claim: str  # what it says, in the book's words
    given: Figures = field(default_factory=dict)  # inputs that the document prints
    printed: Figures = field(default_factory=dict)  # results that the document prints
    recompute: Callable[[], Values] | None = None  # the results, computed
    test: Callable[[], Trial] | None = None  # tries a claim that is not a number
    is_valid: Callable[[], Trial] | None = None  # for an example without inputs
    source: str = ""  # the literature that a result was taken from
    inputs: tuple[str, ...] = ()  # ids of entries whose printed figures this one starts from
    used_by: tuple[str, ...] = ()  # ids of entries that start from this one
    summary: Callable[[], str] | None = None  # the clause of the sentence, where figures are many
    explain: Callable[[], str] | None = None  # where the slip comes from
    impossible: Callable[[], bool] | None = None  # whether no value of what is left open helps
    dated: bool = False  # whether a claim that fails was right when it was written
    evidence: Callable[[], Mapping[str, str]] | None = None  # label -> what else was found
    places: int | None = None  # decimals of a computed value, where the printed ones are too few

    @cached_property
    def trial(self) -> Trial | None:
        """What the test of the claim, or of the example's validity, found."""
        test = self.test or self.is_valid
        return test() if test else None

    @cached_property
    def computed(self) -> Values:
        """The recomputed values, {} where there is nothing to compute."""
        return self.recompute() if self.recompute else {}

    @cached_property
    def verdict(self) -> str:
        """One of VERDICTS, found by computing."""
        if self.test:
            return self._unless_refuted("property")
        if self.printed and self.recompute:
            return "reproduced" if agree(self.printed, self.computed) else "erratum"
        if self.is_valid:
            return self._unless_refuted("illustrative")
        if self.source:
            return "quoted"
        if self.given and (self.used_by or self.recompute):
            return "data"
        raise ValueError(f"{self.id} carries nothing from which a verdict follows: give it a test.")

    def _unless_refuted(self, verdict: str) -> str:
        return verdict if self.trial and self.trial.holds else "erratum"

    @cached_property
    def grade(self) -> Grade | None:
        """How bad the erratum is; None unless the verdict is one."""
        if self.verdict != "erratum":
            return None
        if self.dated:
            return Grade.DATED
        if self.trial and self.trial.in_part:
            return Grade.IN_PART
        if self.impossible and self.impossible():
            return Grade.IMPOSSIBLE
        if self.printed and self.recompute and only_cut(self.printed, self.computed):
            return Grade.CUT
        return Grade.WRONG

    @property
    def is_grave(self) -> bool:
        """Whether a reader must be warned: an erratum, and no slight one."""
        return self.grade is not None and not self.grade.is_slight

    @cached_property
    def sentence(self) -> str:
        """The verdict in one sentence, as a badge's tooltip tells it."""
        grade = f" ({self.grade})" if self.grade else ""
        return f"{self.verdict.capitalize()}{grade}: {self.finding}."

    @cached_property
    def finding(self) -> str:
        """What the computation found, as a clause."""
        if self.summary:
            return self.summary()
        if self.trial:
            return self.trial.measured
        if self.verdict == "data":
            return self._finding_of_data()
        if self.verdict == "quoted":
            return f"a result of {self.source}, which cannot be computed again here"
        count = sum(numbers(text).size for text in self.printed.values())
        if count > MOST_FIGURES_IN_A_SENTENCE:
            word = "all" if self.verdict == "reproduced" else "not all"
            return f"{word} {count} printed figures agree with the computed ones"
        return f"printed {self._listed(self.printed)}; computed {self._listed(self.computed_text)}"

    def _finding_of_data(self) -> str:
        if self.recompute:
            result = self._listed(self.computed_text)
            return f"inputs without a legible result beside them; computed {result}"
        return f"the printed input of {' and '.join(self.used_by)}"

    @staticmethod
    def _listed(figures: Figures) -> str:
        rows = (row.split() for text in figures.values() for row in text.split("/"))
        return " and ".join(", ".join(row) for row in rows)

    @cached_property
    def computed_text(self) -> Figures:
        """The computed values with the decimals of the most precise printed figure."""
        return {label: self._text(label, value) for label, value in self.computed.items()}

    def _text(self, label: str, value: Array) -> str:
        places = self.places
        if places is None:
            places = max(decimals(self.printed.get(label, "0.00")))
        rows = np.atleast_2d(value)
        return " / ".join(" ".join(shown(number, places) for number in row) for row in rows)

    @cached_property
    def explanation(self) -> str:
        """Where the slip comes from and what the equation gives; empty unless an erratum."""
        if self.verdict != "erratum":
            return ""
        return self.explain() if self.explain else f"{self.finding[0].upper()}{self.finding[1:]}."

    @cached_property
    def findings(self) -> Mapping[str, str]:
        """What else was found, label by label."""
        return self.evidence() if self.evidence else {}

    def values(self, label: str) -> Array:
        """Read a figure that the document prints, input or result, as an array."""
        return numbers({**self.given, **self.printed}[label])


Function = TypeVar("Function", bound=Callable[[], Any])
Decorator = Callable[[Function], Function]


class Document:
    """One of the four documents: gathers its entries in the order in which they are declared."""

    def __init__(self, prefix: str, name: str) -> None:
        self.prefix, self.name = prefix, name
        self.entries: list[Entry] = []

    def add(self, name: str, section: str, claim: str, **fields: Any) -> Entry:
        """Declare an entry."""
        entry = Entry(f"{self.prefix}.{name}", self.name, section, claim, **fields)
        self.entries.append(entry)
        return entry

    def recomputed(self, name: str, section: str, claim: str, **fields: Any) -> Decorator:
        """Declare an entry whose figures the decorated function computes."""
        return _declaring(lambda by: self.add(name, section, claim, recompute=by, **fields))

    def tested(self, name: str, section: str, claim: str, **fields: Any) -> Decorator:
        """Declare an entry whose claim the decorated function tests."""
        return _declaring(lambda by: self.add(name, section, claim, test=by, **fields))

    def valid(self, name: str, section: str, claim: str, **fields: Any) -> Decorator:
        """Declare an example that the decorated function checks for validity."""
        return _declaring(lambda by: self.add(name, section, claim, is_valid=by, **fields))


def _declaring(add: Callable[[Callable[[], Any]], Entry]) -> Decorator:
    """A decorator that hands a function to an entry and leaves the function as it is."""

    def declare(function: Function) -> Function:
        add(function)
        return function

    return declare
