"""The student's process as the grader sees it: started behind walls, spoken to over two pipes.

Only descriptions of plain data cross (`checking.wire`), each of bounded size and within a bounded
time. Whatever else happens, the process and all that it started are ended.
"""

import compileall
import contextlib
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tfmlib
from tfmlib.checking.runner import DIED, Reply, endless
from tfmlib.checking.wire import decode, encode

LEVELS = {
    "full": "No network; only Python and the library can be read; nothing outside can be written.",
    "user": "Notebooks run as another user: nothing of yours can be written, but the network is "
    "open, and a submission that knows where the solutions are can read them.",
    "weak": "Notebooks run with your own rights: the network is open, and your files can be read "
    "and written. Grade only submissions that you trust.",
}
MOST_BYTES = 4 * 2**20  # of one reply: right answers are far smaller
MOST_ITEMS = 2**20
PACKAGE = Path(tfmlib.__file__).resolve().parent
# Not for the student's process: the checks, and what leads to solutions.
WITHHELD = ("exercises", "grade", "judge.py", "verify.py", "mutants.py", "check.py", "plots")
WITHHELD += ("listing.py", "__main__.py", "progress.py", "__pycache__")
STUB_CHECK = '''"""In place of the learner's check: remembers its calls, checks nothing."""

calls = []


def check(id, answer):
    if len(calls) < 100:
        calls.append((str(id), answer))


def hint(*args):
    pass


solution = progress = hint
'''
STUB_PLOTS = '''"""In place of the figures, which nobody would see."""


class Nothing:
    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        return __getattr__(name)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()
'''


@dataclass(frozen=True)
class Limits:
    """How much a notebook may use; times in seconds."""

    cell: float = 20.0
    cells: float = 60.0  # all cells of a notebook together, restarts included
    call: float = 4.0  # one call of an answer
    exercise: float = 10.0  # all calls of one exercise
    judge: float = 30.0  # all that is done about one exercise, comparing included
    memory_bytes: int = 4 * 2**30
    processes: int = 32
    file_bytes: int = 16 * 2**20
    restarts: int = 6

    @property
    def start(self) -> float:
        return 30.0


class BrokenError(Exception):
    """The student's process is gone, or sent what is no message: it is not listened to again."""


class JailError(Exception):
    """The walls could not be put up on this system."""


# --- what the process may see -------------------------------------------------------------------


def make_stage(folder: Path) -> Path:
    """Copy the library without its checks, for the student's process to import."""
    stage = folder / "stage"
    ignore = shutil.ignore_patterns("__pycache__")
    (stage / "tfmlib").mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name in WITHHELD:
            continue
        if path.is_dir():
            shutil.copytree(path, stage / "tfmlib" / path.name, ignore=ignore)
        else:
            shutil.copy(path, stage / "tfmlib" / path.name)
    (stage / "tfmlib" / "check.py").write_text(STUB_CHECK, encoding="utf-8")
    (stage / "tfmlib" / "plots.py").write_text(STUB_PLOTS, encoding="utf-8")
    shutil.copy(Path(__file__).parent / "inside/student.py", stage / "tfm_student.py")
    compileall.compile_dir(stage, quiet=2)  # once, not once a student
    for place, _, files in os.walk(folder):
        os.chmod(place, 0o755)
        for name in files:
            os.chmod(Path(place, name), 0o644)
    return stage


def visible_places(stage: Path) -> list[str]:
    """What a notebook needs to read: Python, its packages, system libraries, the stage."""
    system = ["/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"]
    system += ["/etc/localtime", "/usr/share/zoneinfo", "/sys/devices/system/cpu"]
    wanted = [*system, sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), str(stage)]
    exist = sorted({p for p in wanted if os.path.exists(p) and p != "/"}, key=len)
    return [p for i, p in enumerate(exist) if not any(_inside(p, other) for other in exist[:i])]


def _inside(path: str, folder: str) -> bool:
    return not os.path.islink(folder) and path.startswith(folder.rstrip("/") + "/")


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


# --- the process --------------------------------------------------------------------------------


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
            "hidden": [str(PACKAGE), str(PACKAGE.parent)],
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
        self._calls = 0

    def wait_until_ready(self) -> None:
        try:
            if self.receive(time.monotonic() + self.limits.start) == {"ready": True}:
                return
        except (BrokenError, TimeoutError):
            pass
        self._kill()
        said = self._process.stderr.read(2000).decode("utf-8", "replace").strip()
        raise JailError(said or "The student's process did not start.")

    def send(self, message: Any, deadline: float) -> None:
        data = encode(message)
        rest = memoryview(struct.pack("<Q", len(data)) + data)
        while rest:
            wait = max(0.0, deadline - time.monotonic())
            if not select.select([], [self._ask], [], wait)[1]:
                raise TimeoutError
            try:
                rest = rest[os.write(self._ask, rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise BrokenError("the pipe was closed") from error

    def receive(self, deadline: float) -> Any:
        """One message as plain data; nothing that comes can do more than be refused."""
        (length,) = struct.unpack("<Q", self._read(8, deadline))
        if length > MOST_BYTES:
            raise BrokenError(f"a message of {length} bytes")
        try:
            value = decode(self._read(length, deadline))
        except (BrokenError, TimeoutError):
            raise
        except Exception as error:
            raise BrokenError("no message") from error
        if not is_small(value):
            raise BrokenError("values of a vast shape")
        return value

    def _read(self, length: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < length:
            wait = max(0.0, deadline - time.monotonic())
            if not select.select([self._reply], [], [], wait)[0]:
                raise TimeoutError
            part = os.read(self._reply, min(2**16, length - len(parts)))
            if not part:
                raise BrokenError("the pipe was closed")
            parts += part
        return bytes(parts)

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
        self._process.stderr.close()
        for pipe in (self._ask, self._reply):
            os.close(pipe)
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


PROBLEMS = ("blank", "raised", "signature", "endless", "died")


def as_reply(fields: Any) -> Reply:
    """A reply from fields that anyone may have written."""
    if not isinstance(fields, dict):
        raise BrokenError("no reply")
    problem, texts = fields.get("problem"), ("sentence", "raised", "printed")
    if problem is not None and problem not in PROBLEMS:
        raise BrokenError("an unknown problem")
    if not all(isinstance(fields.get(name, ""), str) for name in texts):
        raise BrokenError("a sentence that is no text")
    return Reply(
        value=fields.get("value"),
        problem=problem,
        changed=fields.get("changed") is not False,
        **{name: fields.get(name, "")[:600] for name in texts},
    )


# --- a notebook in it ---------------------------------------------------------------------------


@dataclass
class Run:
    """A notebook that is run, and run again without what broke it, until its answers can be asked.

    A cell that ends its process or never ends is left out of the next run. When no cell can be
    blamed, only imports, definitions and assignments are run.
    """

    sources: list[str]
    answers: dict[str, str]  # exercise id -> name of the answer
    level: str
    stage: Path
    limits: Limits
    light: list[int] = field(default_factory=list)  # cells of which only functions are wanted
    problems: dict[int, str] = field(default_factory=dict)  # cell -> what went wrong
    found: dict[str, int] = field(default_factory=dict)  # id -> how many functions to try

    def __post_init__(self) -> None:
        self.sandbox: Sandbox | None = None
        self.harmful: dict[int, str] = {}
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
            cell, problem = self._run_cells()
            if cell is None:
                return True
            self.stop()
            if self.definitions_only:
                return False
            self.harmful[cell] = problem
            too_late = time.monotonic() > self._cells_end
            if too_late or len(self.harmful) > self.limits.restarts:
                self.definitions_only = True
        return True

    def _run_cells(self) -> tuple[int | None, str]:
        """Run the cells; return the one that broke the process, if one did, and how."""
        at = 0
        job = {
            "cells": self.sources,
            "answers": self.answers,
            "skipped": list(self.harmful),
            "light": self.light,
            "definitions_only": self.definitions_only,
        }
        try:
            self.sandbox.send(job, time.monotonic() + self.limits.cell)
            for number in range(len(self.sources)):
                message = self.sandbox.receive(self._cell_deadline())
                if message != {"cell": number}:
                    raise BrokenError("out of turn")
                at = number
            self._take_findings(self.sandbox.receive(self._cell_deadline()))
        except TimeoutError:
            return at, "It was still running after its time and was left out."
        except (BrokenError, ValueError):
            return at, "It ended or disturbed its own process and was left out."
        return None, ""

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
            cell: str(text)[:300]
            for cell, text in problems.items()
            if type(cell) is int and 0 <= cell < len(self.sources)
        }
        self.problems = dict(sorted((told | self.harmful).items()))
        counts = {id: found.get(id) for id in self.answers}
        self.found = {id: min(n, 4) if type(n) is int and n > 0 else 0 for id, n in counts.items()}

    def caller(self, id: str, number: int, deadline: float) -> Callable[[tuple], Reply]:
        """A function that calls one answer, for `judge_calls`; after a break it calls no more."""
        over: list[Reply] = []

        def call(args: tuple) -> Reply:
            if over:
                return over[0]
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
