"""The student's process as the grader sees it: started behind walls, spoken to over two pipes.

Only descriptions of plain data cross (`checking.wire`), each of bounded size and within a bounded
time. Whatever else happens, the process and all that it started are ended.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from tfmlib.checking import pipe
from tfmlib.checking.call import DIED, Reply, endless
from tfmlib.checking.outcome import Outcome
from tfmlib.checking.wire import decode, encode
from tfmlib.grade.levels import Limits
from tfmlib.grade.stage import hidden_places, visible_places

MOST_BYTES = 4 * 2**20  # of one reply: right answers are far smaller
MOST_ITEMS = 2**20


class BrokenError(Exception):
    """The student's process is gone, or sent what is no message: it is not listened to again."""


class JailError(Exception):
    """The walls could not be put up on this system."""


# --- the process --------------------------------------------------------------------------------


def environment(work: str) -> dict[str, str]:
    """Nothing of the grader's own environment, and one thread: two notebooks share two cores."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": work,
        "TMPDIR": work,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TFM_PROGRESS": "off",
    }


@dataclass
class Sandbox:
    """One student's process, from start to end."""

    level: str
    stage: Path
    limits: Limits

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tfm-student-"))
        root, work = self.folder / "root", self.folder / "work"
        root.mkdir()
        work.mkdir()
        # A user of its own for each grading process: two students cannot touch each other.
        self.uid = 1_000_000 + os.getpid() % 1_000_000 if _is_root() and self.level != "weak" else 0
        if self.uid:
            os.chown(work, self.uid, self.uid)
            os.chmod(self.folder, 0o755)
        ask, self._ask = os.pipe()
        self._reply, reply = os.pipe()
        os.set_blocking(self._ask, False)
        config = {
            "level": self.level,
            "root": str(root),
            "work": str(work),
            "stage": str(self.stage),
            "visible": visible_places(self.stage),
            "hidden": hidden_places(),
            "uid": self.uid,
            "pipes": [ask, reply],
            "limits": {
                "cpu_seconds": int(self.limits.cells + 600),
                "file_bytes": self.limits.file_bytes,
                "memory_bytes": self.limits.memory_bytes,
                "processes": self.limits.processes,
            },
        }
        home = "/student" if self.level == "full" else str(work)
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("jail.py")), json.dumps(config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(ask, reply),
            env=environment(home),
            cwd="/",
            start_new_session=True,
        )
        os.close(ask)
        os.close(reply)
        self._errors = cast("IO[bytes]", self._process.stderr)
        self._calls = 0

    def wait_until_ready(self) -> None:
        try:
            if self.receive(time.monotonic() + self.limits.start) == {"ready": True}:
                return
        except (BrokenError, TimeoutError):
            pass
        self._kill()
        said = self._errors.read(2000).decode("utf-8", "replace").strip()
        raise JailError(said or "The student's process did not start.")

    def send(self, message: Any, deadline: float) -> None:
        try:
            pipe.send(self._ask, encode(message), deadline)
        except TimeoutError:
            raise
        except OSError as error:
            raise BrokenError("the pipe was closed") from error

    def receive(self, deadline: float) -> Any:
        """One message as plain data; nothing that comes can do more than be refused."""
        try:
            value = decode(pipe.receive(self._reply, deadline, MOST_BYTES))
        except TimeoutError:
            raise
        except Exception as error:
            raise BrokenError("no message") from error
        if not is_small(value):
            raise BrokenError("values of a vast shape")
        return value

    def call(self, id: str, number: int, args: tuple, seconds: float) -> Reply:
        """Ask for one call of an answer."""
        deadline = time.monotonic() + seconds
        self._calls += 1
        self.send({"call": self._calls, "id": id, "try": number, "args": args}, deadline)
        message = self.receive(deadline)
        if not isinstance(message, dict) or message.get("call") != self._calls:
            raise BrokenError("an answer to no question")
        return as_reply(message.get("reply"))

    def end(self) -> None:
        self._kill()
        self._errors.close()
        for end in (self._ask, self._reply):
            os.close(end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        if self.uid and self.level == "user":
            _kill_all_of(self.uid)


def _is_root() -> bool:
    return os.geteuid() == 0


def _kill_all_of(uid: int) -> None:
    """End what left the process group: a process of that user may signal all of that user."""
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def is_small(value: Any) -> bool:
    """Whether no array has a long axis, be it empty: a test that sums over one would fill memory.

    >>> is_small([np.ones((2, 3))]), is_small(np.ones((0, 2**40)))
    (True, False)
    """
    if isinstance(value, np.ndarray):
        return value.itemsize > 0 and all(n <= MOST_ITEMS for n in value.shape) and value.ndim < 12
    if isinstance(value, list | tuple):
        return all(map(is_small, value))
    if isinstance(value, dict):
        return all(map(is_small, value.values()))
    return True


TEXTS = ("sentence", "raised", "message", "operation", "printed", "used")


def as_reply(fields: Any) -> Reply:
    """A reply from fields that anyone may have written."""
    if not isinstance(fields, dict):
        raise BrokenError("no reply")
    problem = fields.get("problem")
    if problem is not None and problem not in list(Outcome):
        raise BrokenError("an unknown problem")
    if not all(isinstance(fields.get(name, ""), str) for name in TEXTS):
        raise BrokenError("a sentence that is no text")
    return Reply(
        value=fields.get("value"),
        problem=problem and Outcome(problem),
        changed=fields.get("changed") is not False,
        drew=fields.get("drew") is True,
        **{name: fields.get(name, "")[:600] for name in TEXTS},
    )


# --- a notebook in it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Trouble:
    """What went wrong in a cell: the type of the exception, if it was one, and a text."""

    raised: str
    text: str

    def __str__(self) -> str:
        return f"{self.raised}: {self.text}" if self.raised else self.text


@dataclass
class Run:
    """A notebook that is run, and run again without what broke it, until its answers can be asked.

    A cell that ends its process or never ends is left out of the next run. When no cell can be
    blamed, only imports, definitions and assignments are run.
    """

    sources: list[str]
    answers: dict[str, str]  # exercise id -> name of the answer
    forbidden: dict[str, frozenset[str]]  # exercise id -> functions that it must not call
    level: str
    stage: Path
    limits: Limits
    light: list[int] = field(default_factory=list)  # cells of which only functions are wanted
    problems: dict[int, Trouble] = field(default_factory=dict)  # cell -> what went wrong
    found: dict[str, int] = field(default_factory=dict)  # id -> how many functions to try

    def __post_init__(self) -> None:
        self.sandbox: Sandbox | None = None
        self.harmful: dict[int, Trouble] = {}
        self.definitions_only = False
        self.fresh = True
        self._cells_end = time.monotonic() + self.limits.cells

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.sandbox:
            self.sandbox.end()
        self.sandbox = None

    def ensure(self) -> bool:
        """Have a process whose cells have run; False when that cannot be had."""
        while self.sandbox is None:
            self.sandbox = Sandbox(self.level, self.stage, self.limits)
            self.sandbox.wait_until_ready()
            self.fresh = True
            broken = self._run_cells(self.sandbox)
            if broken is None:
                return True
            self.stop()
            if self.definitions_only:
                return False
            cell, trouble = broken
            self.harmful[cell] = trouble
            too_late = time.monotonic() > self._cells_end
            if too_late or len(self.harmful) > self.limits.restarts:
                self.definitions_only = True
        return True

    def _run_cells(self, sandbox: Sandbox) -> tuple[int, Trouble] | None:
        """Run the cells; return the one that broke the process, if one did, and how."""
        at = 0
        job = {
            "cells": self.sources,
            "answers": self.answers,
            "skipped": list(self.harmful),
            "light": self.light,
            "definitions_only": self.definitions_only,
            "forbidden": {id: sorted(names) for id, names in self.forbidden.items()},
        }
        try:
            sandbox.send(job, time.monotonic() + self.limits.cell)
            for number in range(len(self.sources)):
                message = sandbox.receive(self._cell_deadline())
                if message != {"cell": number}:
                    raise BrokenError("out of turn")
                at = number
            self._take_findings(sandbox.receive(self._cell_deadline()))
        except TimeoutError:
            return at, Trouble("", "It was still running after its time and was left out.")
        except (BrokenError, ValueError):
            return at, Trouble("", "It ended or disturbed its own process and was left out.")
        return None

    def _cell_deadline(self) -> float:
        own = time.monotonic() + self.limits.cell
        return own if self.definitions_only else min(own, self._cells_end)

    def _take_findings(self, message: Any) -> None:
        if not isinstance(message, dict) or set(message) != {"problems", "found"}:
            raise BrokenError("no findings")
        problems, found = message["problems"], message["found"]
        if not isinstance(problems, dict) or not isinstance(found, dict):
            raise BrokenError("no findings")
        told = {
            cell: Trouble(str(found[0])[:100], str(found[1])[:300])
            for cell, found in problems.items()
            if type(cell) is int and 0 <= cell < len(self.sources)
            if isinstance(found, list | tuple) and len(found) == 2
        }
        self.problems = dict(sorted((told | self.harmful).items()))
        counts = {id: found.get(id) for id in self.answers}
        self.found = {id: min(n, 4) if type(n) is int and n > 0 else 0 for id, n in counts.items()}

    def caller(self, id: str, number: int, deadline: float) -> Callable[[tuple], Reply]:
        """A function that calls one answer, for `judge_calls`; after a break it calls no more."""
        over: list[Reply] = []

        def call(args: tuple) -> Reply:
            if over or self.sandbox is None:
                return over[0] if over else DIED
            seconds = min(self.limits.call, deadline - time.monotonic())
            try:
                return self.sandbox.call(id, number, args, max(seconds, 0.01))
            except TimeoutError:
                over.append(endless(self.limits.call))
            except BrokenError:
                over.append(DIED)
            self.stop()
            return over[0]

        return call
