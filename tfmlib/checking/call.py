"""One call of an answer, here and now: what came of it, and everything that can go wrong."""

import builtins
import contextlib
import dis
import inspect
import io
import linecache
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

from tfmlib.checking import Answer, Args
from tfmlib.checking.outcome import Outcome, tell
from tfmlib.checking.wire import decode, encode

MAX_PRINTED = 2_000  # characters that are kept
FLOOD = 2_000_000  # characters that no answer needs to print
LIBRARIES = ("tfmlib", "torch", "scipy", "sklearn", "transformers", "jax", "tensorflow")


@dataclass(frozen=True)
class Reply:
    """What came of one call: a value, or a problem with its sentence."""

    value: Any = None
    problem: Outcome | None = None
    sentence: str = ""
    raised: str = ""  # the exception's type
    message: str = ""  # what it said
    operation: str = ""  # which instruction failed, so that two errors can be told apart
    printed: str = ""
    changed: bool = False  # the call changed its inputs in place
    drew: bool = False  # the call showed a figure
    used: str = ""  # a library's function that the exercise forbids

    def as_data(self) -> dict[str, Any]:
        """The fields as plain data."""
        return {**vars(self), "problem": self.problem and self.problem.value}

    @classmethod
    def from_data(cls, fields: dict[str, Any]) -> "Reply":
        """The reply that `as_data` described."""
        problem = fields["problem"]
        return cls(**{**fields, "problem": problem and Outcome(problem)})


# --- one call -----------------------------------------------------------------------------------


def perform(answer: Answer, args: Args, forbidden: frozenset[str] = frozenset()) -> Reply:
    """Call the answer once, here and now."""
    try:
        inspect.signature(answer).bind(*args)
    except TypeError:
        return _problem(Outcome.SIGNATURE, **_signature(answer, args))
    except ValueError:
        pass  # a builtin that tells no signature: the call will show
    before = encode(args)
    stage = _Stage(forbidden)
    try:
        with stage:
            value = answer(*args)
    except NotImplementedError:
        return _problem(Outcome.BLANK)
    except _InputAskedError:
        return _problem(Outcome.ASKED)
    except _FloodError:
        return _problem(Outcome.FLOODED, most=FLOOD)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _raised(answer, error, stage)
    if inspect.iscoroutine(value):
        value.close()
        return _problem(Outcome.COROUTINE)
    return Reply(
        value=value,
        printed=stage.printed,
        changed=encode(args) != before,
        drew=stage.drew,
        used=stage.used,
    )


def endless(seconds: float) -> Reply:
    return _problem(Outcome.ENDLESS, seconds=seconds)


def waited(seconds: float) -> Reply:
    return _problem(Outcome.WAITED, seconds=seconds)


def decode_reply(reply: Reply) -> Reply:
    """The same reply with its value made plain data, as if it had crossed a pipe."""
    return Reply.from_data(decode(encode(reply.as_data())))


def _problem(outcome: Outcome, **facts: Any) -> Reply:
    return Reply(problem=outcome, sentence=tell(outcome, **facts))


DIED = _problem(Outcome.DIED)


def _signature(answer: Answer, args: Args) -> dict[str, Any]:
    takes = f"{getattr(answer, '__name__', 'your function')}{inspect.signature(answer)}"
    return {"count": len(args), "plural": "s" if len(args) != 1 else "", "yours": takes}


def _raised(answer: Answer, error: BaseException, stage: "_Stage") -> Reply:
    message = " ".join(str(error).split())[:200]
    name = type(error).__name__
    own = _own_frame(answer, error)
    where = _own_line(*own) if own else "."
    return Reply(
        problem=Outcome.RAISED,
        sentence=tell(Outcome.RAISED, error=f"{name}: {message}" if message else name, where=where),
        raised=name,
        message=message,
        operation=_operation(own[0]) if own else "",
        printed=stage.printed,
        used=stage.used,
    )


def _own_frame(answer: Answer, error: BaseException) -> tuple[TracebackType, CodeType] | None:
    """The innermost place in the learner's own file at which the error passed."""
    code = getattr(answer, "__code__", None)
    found, at = None, error.__traceback__
    while at is not None and code is not None:
        if at.tb_frame.f_code.co_filename == code.co_filename:
            found = at
        at = at.tb_next
    return (found, code) if found is not None and code is not None else None


def _own_line(at: TracebackType, code: CodeType) -> str:
    """The line of the learner's own file in which the error arose."""
    frame = traceback.extract_tb(at, limit=1)[0]
    line = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
    # Counted from the function's first line, as a learner counts in a cell.
    number = at.tb_lineno - code.co_firstlineno + 1
    return f" in line {number} of your function: {line}" if line else f" in line {number}."


def _operation(at: TracebackType) -> str:
    """The instruction that failed, such as 'BINARY_OP @'."""
    for instruction in dis.get_instructions(at.tb_frame.f_code):
        if instruction.offset == at.tb_lasti:
            # Python 3.11 makes one of the other as it learns what is called.
            name = instruction.opname.replace("PRECALL", "CALL")
            return f"{name} {instruction.argrepr}"
    return ""


class _InputAskedError(Exception):
    """The answer called input()."""


class _FloodError(Exception):
    """The answer printed more than anyone reads."""


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, and refuses a flood."""

    def __init__(self) -> None:
        self.kept, self.count = "", 0

    def write(self, text: str) -> int:
        self.kept += text[: MAX_PRINTED - len(self.kept)]
        self.count += len(text)
        if self.count > FLOOD:
            raise _FloodError
        return len(text)


class _Stage:
    """Where an answer is called: what it prints, shows, asks for and uses is noted, not done."""

    def __init__(self, forbidden: frozenset[str]) -> None:
        self.forbidden = forbidden
        self.drew, self.used = False, ""
        self._out = _Printed()
        self._undo = contextlib.ExitStack()

    @property
    def printed(self) -> str:
        return self._out.kept

    def __enter__(self) -> None:
        enter = self._undo.enter_context
        enter(contextlib.redirect_stdout(self._out))
        enter(contextlib.redirect_stderr(io.StringIO()))
        enter(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        enter(_replaced(builtins, "input", _ask))
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            # A function, not a method: pyplot gives it a signature when it chooses a backend.
            enter(_replaced(pyplot, "show", lambda *_, **__: self._note_drawing()))
        if self.forbidden:
            self._undo.callback(sys.setprofile, sys.getprofile())
            sys.setprofile(self._watch)

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _note_drawing(self) -> None:
        self.drew = True

    def _watch(self, frame: FrameType, event: str, arg: Any) -> None:
        """Note the first call of a library's function that has a forbidden name.

        "attention:mask" forbids it only where it is given a mask.
        """
        if event == "call" and self._is_forbidden(frame):
            name, module = frame.f_code.co_name, str(frame.f_globals.get("__name__", ""))
        elif event == "c_call" and getattr(arg, "__name__", "") in self.forbidden:
            name, module = arg.__name__, _module_of(arg)
        else:
            return
        if module.split(".")[0] in LIBRARIES and not self.used:
            self.used = f"{module}.{name}"

    def _is_forbidden(self, frame: FrameType) -> bool:
        name = frame.f_code.co_name
        if name in self.forbidden:
            return True
        given = [rule.split(":")[1] for rule in self.forbidden if rule.startswith(f"{name}:")]
        return any(frame.f_locals.get(argument) is not None for argument in given)


def _module_of(function: Any) -> str:
    """Where a function in C comes from; torch's have no module, but an owner that has one."""
    owner = getattr(function, "__self__", None)
    named = (getattr(part, "__module__", None) for part in (function, owner, type(owner)))
    return str(next(filter(None, named), ""))


def _ask(*_: object) -> str:
    raise _InputAskedError


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
