"""What can come of an answer, as values; and the one place where they are put into words."""

from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How an exercise stands."""

    PASSED = "passed"
    FAILED = "failed"
    BLANK = "not attempted"
    MISSING = "not found"  # in a submission: no function of that name


class Outcome(StrEnum):
    """What went wrong, of all that can."""

    # of the function itself
    NOT_A_FUNCTION = "not a function"
    SIGNATURE = "signature"
    # of a call that returned nothing
    BLANK = "blank"
    HALF_WRITTEN = "half written"
    RAISED = "raised"
    ENDLESS = "endless"
    WAITED = "waited"
    ASKED = "asked"
    FLOODED = "flooded"
    DIED = "died"
    # of what a call returned
    NONE = "none"
    PRINTED = "printed"
    DRAWN = "drawn"
    COROUTINE = "coroutine"
    FOREIGN = "foreign"
    CHANGED_INPUT = "changed its input"
    KIND = "kind"
    LENGTH = "length"
    SHAPE = "shape"
    DTYPE = "dtype"
    NOT_FINITE = "not finite"
    VALUE = "value"
    VALUES = "values"
    INVARIANT = "invariant"
    UNUSABLE = "unusable"
    # of several calls together, and of how they were made
    MEMORY = "memory"
    FORBIDDEN = "forbidden"
    # of the judge, which met values that it could not bear
    UNJUDGED = "unjudged"


SENTENCES = {
    Outcome.NOT_A_FUNCTION: "check expects your function itself, as in {call}, and got {got}.",
    Outcome.SIGNATURE: "It should take {count} argument{plural}, but yours is {yours}.",
    Outcome.BLANK: "not attempted",
    Outcome.HALF_WRITTEN: "It returns a value for some inputs and raises NotImplementedError for "
    "this one: the part that handles it is still to be written.",
    Outcome.RAISED: "It raised {error}{where}",
    Outcome.ENDLESS: "It was still running after {seconds:g} seconds and was stopped: look for a "
    "loop that never ends.",
    Outcome.WAITED: "It did nothing for {seconds:g} seconds and was stopped: look for something "
    "that it waits for.",
    Outcome.ASKED: "It calls input(), and nobody is there to type: its arguments are all it gets.",
    Outcome.FLOODED: "It printed more than {most:,} characters: take the print out of the loop.",
    Outcome.DIED: "It ended its own process instead of returning a value: look for exit() or for "
    "an array far too large.",
    Outcome.NONE: "It returned None: is there a `return` at its end?",
    Outcome.PRINTED: "It printed a value and returned None: end with `return`, not with print.",
    Outcome.DRAWN: "It drew a figure and returned None: end with `return` and the value.",
    Outcome.COROUTINE: "It is an async function, so a call returns a coroutine and no value: "
    "begin with `def`, not with `async def`.",
    Outcome.FOREIGN: "It returned {got}: return {expected}.",
    Outcome.CHANGED_INPUT: "It changed its input in place: work on a copy, or build a new array.",
    Outcome.KIND: "Expected {expected}, got {got}.",
    Outcome.LENGTH: "Expected {expected} items, got {got}.",
    Outcome.SHAPE: "Expected shape {expected}, got {got}.",
    Outcome.DTYPE: "The values are right, but their type is {got} and should be {expected}.",
    Outcome.NOT_FINITE: "It gives NaN or infinity in {count} of {size} places.",
    Outcome.VALUE: "It returned {got}, which is not right.",
    Outcome.VALUES: "{count} of {size} values are not right{place}.",
    Outcome.INVARIANT: "This does not hold for your function.",
    Outcome.UNUSABLE: "Your values could not be used: {error}",
    Outcome.MEMORY: "Called again with the same input, it gave another value: something is kept "
    "from one call to the next.",
    Outcome.FORBIDDEN: "It calls {name}, which does what you are asked to write: write it out.",
    Outcome.UNJUDGED: "Its values could not be judged ({error}).",
}
# What the failures of a class have in common, where no known mistake explains them.
IN_GENERAL = {
    Outcome.NOT_A_FUNCTION: "It is no function.",
    Outcome.SIGNATURE: "It takes other arguments.",
    Outcome.HALF_WRITTEN: "It is half written.",
    Outcome.RAISED: "It raised an exception.",
    Outcome.ENDLESS: "It did not end.",
    Outcome.WAITED: "It waited for something.",
    Outcome.ASKED: "It calls input().",
    Outcome.FLOODED: "It prints without end.",
    Outcome.DIED: "It ended its own process, or used too much memory.",
    Outcome.NONE: "It returned None.",
    Outcome.PRINTED: "It printed its value instead of returning it.",
    Outcome.DRAWN: "It drew a figure and returned None.",
    Outcome.COROUTINE: "It is an async function.",
    Outcome.FOREIGN: "It returned something else than plain data.",
    Outcome.CHANGED_INPUT: "It changed its input in place.",
    Outcome.KIND: "The result is of another kind.",
    Outcome.LENGTH: "The result has another length.",
    Outcome.SHAPE: "The result has another shape.",
    Outcome.DTYPE: "The values are right, their type is not.",
    Outcome.NOT_FINITE: "It gives NaN or infinity.",
    Outcome.VALUE: "The value is not right.",
    Outcome.VALUES: "The values are not right.",
    Outcome.INVARIANT: "The values do not have a property that they must have.",
    Outcome.UNUSABLE: "The values could not be used.",
    Outcome.MEMORY: "It keeps something from one call to the next.",
    Outcome.FORBIDDEN: "It calls the library's own function.",
    Outcome.UNJUDGED: "The values could not be judged.",
}
# After these nothing more is asked of an answer.
FINAL = frozenset({Outcome.BLANK, Outcome.SIGNATURE, Outcome.ENDLESS, Outcome.WAITED, Outcome.DIED})


def tell(outcome: Outcome, **facts: Any) -> str:
    """The sentence for a learner.

    >>> tell(Outcome.SHAPE, expected=(2, 3), got=(3, 2))
    'Expected shape (2, 3), got (3, 2).'
    """
    return SENTENCES[outcome].format(**facts)


class AnswerError(Exception):
    """What is wrong with a value: an outcome, and its sentence."""

    def __init__(self, outcome: Outcome, sentence: str = "", **facts: Any) -> None:
        super().__init__(sentence or tell(outcome, **facts))
        self.outcome = outcome

    def within(self, place: str) -> "AnswerError":
        """The same, said of a part of a value."""
        return AnswerError(self.outcome, f"{place}: {self}")


def unmet(sentence: str) -> AnswerError:
    """For the test of an invariant: what does not hold, and by how much, in a sentence."""
    return AnswerError(Outcome.INVARIANT, sentence)
