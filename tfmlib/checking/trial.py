"""An answer on trial: every call that is made of it, and what is wrong with what came of each."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfmlib.checking import Args
from tfmlib.checking.call import Reply
from tfmlib.checking.compare import as_array, describe, is_of_kind, plain
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.outcome import FINAL, AnswerError, Outcome
from tfmlib.checking.wire import Foreign, encode


@dataclass(frozen=True)
class Call:
    """One call of the answer: its inputs, what came of it, and what is wrong with that."""

    args: Args
    reply: Reply
    fault: AnswerError | None

    @property
    def size(self) -> int:
        """How much there is to read, and the same on every machine."""
        return len(encode(_widened(self.args)))


def _widened(value: Any) -> Any:
    """The same values with integers of 64 bits, where the machine's own may have 32."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value.astype(np.int64)
    if isinstance(value, list | tuple):
        return type(value)(_widened(item) for item in value)
    return value


@dataclass
class Trial:
    """Calls an answer known only by what its calls reply, and remembers every call."""

    exercise: Exercise
    call: Callable[[Args], Reply]
    most_wrong: int = 24  # drawn inputs that are enough to know what is wrong
    calls: list[Call] = field(default_factory=list)

    def answer(self, *args: Any) -> Any:
        """The answer as a test sees it: returns a usable value or raises an AnswerError."""
        copy = plain(args)
        reply = self.call(args)
        try:
            value = self._usable(reply)
        except AnswerError as fault:
            self.calls.append(Call(copy, reply, fault))
            raise
        self.calls.append(Call(copy, reply, self._fault(value, copy)))
        return value

    def _usable(self, reply: Reply) -> Any:
        if reply.problem is Outcome.BLANK and self.has_returned:
            raise AnswerError(Outcome.HALF_WRITTEN)
        value = usable(reply, self.exercise.returns)
        if isinstance(value, list | tuple) and not self.exercise.answers_with_lists:
            array = as_array(value)  # a list where an array is due is as good
            natural = as_array(self.exercise.at_example)
            if array is not None and natural is not None and natural.dtype.kind in "iu":
                return array.astype(np.int64) if is_of_kind(array, natural, True) else array
            return value if array is None else array
        return value

    def _fault(self, value: Any, args: Args) -> AnswerError | None:
        try:
            self.exercise.require(value, args)
        except AnswerError as fault:
            return fault
        except Exception as error:
            # The value was plain, yet the test could not compute with it: a wrong kind of value.
            return AnswerError(Outcome.UNUSABLE, error=f"{type(error).__name__}: {error}")
        return None

    def call_half_written(self) -> AnswerError:
        """Say so of the last call, which was taken for one of a blank."""
        fault = AnswerError(Outcome.HALF_WRITTEN)
        self.calls[-1] = replace(self.calls[-1], fault=fault)
        return fault

    @property
    def has_returned(self) -> bool:
        return any(call.reply.problem is None for call in self.calls)

    @property
    def is_over(self) -> bool:
        """Whether the last call was the last that makes sense."""
        if not self.calls:
            return False
        fault = self.calls[-1].fault
        return fault is not None and fault.outcome in FINAL

    @property
    def wrong(self) -> list[Call]:
        return [call for call in self.calls if call.fault is not None]


def usable(reply: Reply, wanted: str = "an array, a number or a list") -> Any:
    """The value of a reply that has one and kept its hands off the inputs."""
    if reply.problem:
        raise AnswerError(reply.problem, reply.sentence)
    if reply.changed:
        raise AnswerError(Outcome.CHANGED_INPUT)
    if reply.value is None and reply.drew:
        raise AnswerError(Outcome.DRAWN)
    if reply.value is None:
        raise AnswerError(Outcome.PRINTED if reply.printed else Outcome.NONE)
    if isinstance(reply.value, Foreign):
        raise AnswerError(Outcome.FOREIGN, got=describe(reply.value), expected=wanted)
    return reply.value
