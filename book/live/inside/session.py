"""The cells of one chapter at work: what they need is run first, and all they say goes to the page.

The worker hands in three functions: `send(kind, text)`, `now()` in seconds, and `set_deadline`,
after which a KeyboardInterrupt is raised in whatever runs.
"""

import ast
import builtins
import contextlib
import io
import json
import linecache
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from tfmlib import check as learner
from tfmlib.checking import Answer, Args, host, progress
from tfmlib.checking.call import Reply, decode_reply, endless, perform
from tfmlib.checking.callers import Caller, InProcess
from tfmlib.checking.catalogue import find
from tfmlib.checking.judge import Report
from tfmlib.checking.message import Message
from tfmlib.checking.outcome import Outcome, Status, tell
from tfmlib.checking.runner import SECONDS as SECONDS_PER_CALL
from tfmlib.support import notebooks

from .absent import NotHereError
from .needs import Chapter, names_of, needs

SECONDS = 30.0  # for a cell
SECONDS_FOR_A_CHECK = 120.0  # each call of the answer has its own limit besides
MOST_PRINTED = 200_000  # characters that one run may send to the page
AT_ONCE = 4_000  # characters that are sent together
NO_INPUT = "input() has nobody to ask here: give the value to a name instead."


class Page:
    """The browser, as Python sees it."""

    def __init__(
        self,
        send: Callable[[str, str], None],
        now: Callable[[], float],
        set_deadline: Callable[[float], None],
    ) -> None:
        self._send, self._now, self._set_deadline = send, now, set_deadline
        self._deadline = math.inf

    def send(self, kind: str, content: Any) -> None:
        self._send(kind, json.dumps(content))

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Interrupt what runs inside once the time is over, or that of a limit around it."""
        before = self._deadline
        self._limit(min(before, self._now() + seconds))
        try:
            yield
        finally:
            self._limit(before)

    def _limit(self, deadline: float) -> None:
        self._deadline = deadline
        self._set_deadline(deadline if math.isfinite(deadline) else 0)


class Stream(io.TextIOBase):
    """What a cell prints, sent in pieces, and no more than a page can bear."""

    def __init__(self, page: Page, kind: str) -> None:
        self.page, self.kind = page, kind
        self.begin()

    def begin(self) -> None:
        self._waiting: list[str] = []
        self._length = self._sent = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._sent <= MOST_PRINTED:
            self._waiting.append(text[: MOST_PRINTED + 1 - self._sent])
            self._length += len(text)
            self._sent += len(text)
            if self._length > AT_ONCE or self._sent > MOST_PRINTED:
                self.flush()
            if self._sent > MOST_PRINTED:
                self.page.send(self.kind, "\n… the rest is not shown.\n")
        return len(text)

    def flush(self) -> None:
        if self._waiting:
            self.page.send(self.kind, "".join(self._waiting))
        self._waiting, self._length = [], 0


class PageHost(host.Host):
    """Messages go to the page, and attempts into its storage."""

    def __init__(self, page: Page, attempts: str) -> None:
        self.page, self.attempts = page, attempts

    def show(self, message: object) -> None:
        assert isinstance(message, Message)
        self.page.send("message", asdict(message))

    def read_progress(self) -> str:
        return self.attempts

    def add_progress(self, line: str) -> None:
        self.attempts += line
        self.page.send("progress", line)

    def caller(self, answer: Answer, forbidden: frozenset[str]) -> Caller:
        return PageCaller(self.page, answer, forbidden)


class PageCaller(InProcess):
    """Calls an answer under the page's own alarm."""

    def __init__(self, page: Page, answer: Answer, forbidden: frozenset[str]) -> None:
        super().__init__(answer, forbidden)
        self.page = page

    def within(self, seconds: float, args: Args) -> Reply:
        try:
            with self.page.within(seconds):
                return decode_reply(perform(self.answer, args, self.forbidden))
        except KeyboardInterrupt:
            return endless(seconds)


class Session:
    """The namespace that all cells of a page share, and how every name in it came to be."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.names: dict[str, Any] = {"__name__": "__main__", "display": self.show}
        # Name -> the cells, with their text, that made it what it is.
        self.history: dict[str, list[tuple[int, str]]] = {}
        self.out, self.err = Stream(page, "out"), Stream(page, "err")
        sys.stdout, sys.stderr = self.out, self.err
        builtins.input = _no_input

    def run(self, sources: list[str], setup: list[int], target: int, seconds: float) -> bool:
        """Run a cell, after those that it needs; True when all went well."""
        for number in self._due(sources, frozenset(setup), target):
            self.page.send("step", number)
            with contextlib.redirect_stdout(io.StringIO()):
                if not self._run_one(sources, number, seconds, is_shown=False):
                    return False
        self.page.send("step", target)
        return self._run_one(sources, target, seconds, is_shown=True)

    def _due(self, sources: list[str], setup: frozenset[int], target: int) -> list[int]:
        """The needed cells, unless they are just what made the names as they are now."""
        needed = needs(sources, target, setup)
        chapter = Chapter.of(sources[: target + 1])
        expected: dict[str, list[tuple[int, str]]] = {}
        for number in needed:
            _note(expected, number, sources[number], chapter)
        wanted = set(names_of(sources[target]).used).union(
            *(names_of(sources[number]).used for number in needed)
        )
        as_expected = all(
            self.history.get(name, []) == expected.get(name, [])
            for name in wanted & (expected.keys() | self.history.keys())
        )
        return [] if as_expected and all(n in self._have_run() for n in setup) else needed

    def _have_run(self) -> set[int]:
        return {number for cells in self.history.values() for number, _ in cells}

    def _run_one(self, sources: list[str], number: int, seconds: float, is_shown: bool) -> bool:
        source = sources[number]
        self.out.begin()
        self.err.begin()
        went_well = False
        try:
            went_well = self._execute(source, f"<cell {number + 1}>", seconds, is_shown)
        finally:
            self.out.flush()
            self.err.flush()
            # A cell that failed half-way has left its names in no state that is known.
            noted = source if went_well else f"# failed\n{source}"
            _note(self.history, number, noted, Chapter.of(sources[: number + 1]))
        return went_well

    def _execute(self, source: str, file: str, seconds: float, is_shown: bool) -> bool:
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        try:
            tree = ast.parse(source, file)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            with self.page.within(seconds):
                exec(compile(tree, file, "exec"), self.names)
                if isinstance(last, ast.Expr):
                    value = eval(compile(ast.Expression(last.value), file, "eval"), self.names)
                    if is_shown:
                        self.show(value)
            return True
        except KeyboardInterrupt:
            self.err.write(tell(Outcome.ENDLESS, seconds=seconds) + "\n")
        except NotHereError as error:
            self.err.write(f"{error}\n")
        except BaseException as error:
            self.err.write(_told(error, file))
        return False

    def show(self, value: object) -> None:
        """Show the last value of a cell as Jupyter would."""
        if value is None:
            return
        self.out.flush()
        if isinstance(value, Message):
            value.show()
        elif hasattr(value, "spec"):
            self.page.send("figure", value.spec)
        else:
            self.out.write(repr(value) + "\n")

    def check(self, id: str, name: str) -> None:
        """Check an answer; should Python not survive it, the page knows what to say."""
        self.page.send("if-lost", _if_lost(id))
        with self.page.within(SECONDS_FOR_A_CHECK):
            learner.check(id, self.names.get(name))


def _note(
    history: dict[str, list[tuple[int, str]]], number: int, source: str, chapter: Chapter
) -> None:
    """Write down that a cell has run: its names are what it and those before it made of them."""
    names = names_of(source)
    for name in chapter.touched_by(names):
        before = [] if name in names.bound else history.get(name, [])
        history[name] = [*before, (number, source)]


def _if_lost(id: str) -> dict[str, Any]:
    """What to say of an answer that takes the whole of Python with it, and what to record."""
    exercise = find(id)

    def said(outcome: Outcome) -> dict[str, Any]:
        sentence = tell(outcome, seconds=SECONDS_PER_CALL)
        report = Report(exercise, Status.FAILED, outcome=outcome, problem=sentence)
        return asdict(learner.feedback(report))

    return {
        "endless": said(Outcome.ENDLESS),
        "died": said(Outcome.DIED),
        "progress": progress.line_of(exercise.id, Status.FAILED),
    }


def _no_input(*_: object) -> str:
    raise RuntimeError(NO_INPUT)


def _told(error: BaseException, file: str) -> str:
    """The traceback without the frames above the reader's own code."""
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(error))
    frames = traceback.extract_tb(error.__traceback__)
    own = next((i for i, frame in enumerate(frames) if frame.filename == file), 0)
    lines = traceback.format_list(frames[own:])
    return "Traceback (most recent call last):\n" + "".join(
        lines + traceback.format_exception_only(error)
    )


def solution_of(id: str) -> str:
    """The code that solves an exercise."""
    return notebooks.exercise_cells("solutions")[id].source
