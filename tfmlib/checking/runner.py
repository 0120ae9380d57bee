"""Calling an answer so that nothing it does can hurt the caller.

The answer runs in a forked copy of the process where the system has fork that works (Linux): an
endless loop, even one inside NumPy, is ended by ending the copy. Elsewhere it runs in the same
process and is interrupted between two Python instructions.
"""

import _thread
import contextlib
import inspect
import io
import linecache
import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfmlib.checking.wire import WireError, decode, encode

SECONDS = 4.0  # for one call of an answer
MAX_REPLY = 64 * 2**20
MAX_PRINTED = 2_000

HAS_SAFE_FORK = sys.platform == "linux"


@dataclass(frozen=True)
class Reply:
    """What came of one call: a value, or a problem of a known kind with its sentence."""

    value: Any = None
    problem: str | None = None  # "blank", "raised", "signature", "endless", "died"
    sentence: str = ""
    raised: str = ""  # the exception's type
    printed: str = ""
    changed: bool = False  # the call changed its inputs in place


def perform(answer: Callable, args: tuple) -> Reply:
    """Call the answer once, here and now."""
    try:
        inspect.signature(answer).bind(*args)
    except TypeError:
        return Reply(problem="signature", sentence=_signature_sentence(answer, args))
    except ValueError:
        pass  # a builtin that tells no signature: the call will show
    before = encode(args)
    out = io.StringIO()
    try:
        with _quiet(out):
            value = answer(*args)
    except NotImplementedError:
        return Reply(problem="blank", sentence="not attempted")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sentence = f"It raised {_short(error)}{_own_line(answer, error)}"
        return Reply(
            problem="raised",
            sentence=sentence,
            raised=type(error).__name__,
            printed=out.getvalue()[:MAX_PRINTED],
        )
    changed = encode(args) != before
    return Reply(value=value, printed=out.getvalue()[:MAX_PRINTED], changed=changed)


@contextlib.contextmanager
def _quiet(out: io.StringIO):
    """Keep what the answer prints, and its warnings, out of the notebook."""
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _signature_sentence(answer: Callable, args: tuple) -> str:
    takes = f"{getattr(answer, '__name__', 'your function')}{inspect.signature(answer)}"
    plural = "s" if len(args) != 1 else ""
    return f"It should take {len(args)} argument{plural}, but yours is {takes}."


def _short(error: BaseException) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:200]}" if message else type(error).__name__


def _own_line(answer: Callable, error: BaseException) -> str:
    """The line of the learner's own file in which the error arose."""
    code = getattr(answer, "__code__", None)
    if code is None:
        return "."
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == code.co_filename
    ]
    if not own:
        return "."
    line = own[-1].line or linecache.getline(own[-1].filename, own[-1].lineno).strip()
    # Counted from the function's first line, as a learner counts in a cell.
    number = own[-1].lineno - code.co_firstlineno + 1
    return f" in line {number} of your function: {line}" if line else f" in line {number}."


class Runner:
    """Calls one answer, as often as asked; after an endless call or a death, no more."""

    def __init__(self, answer: Callable, seconds: float = SECONDS) -> None:
        self.answer = answer
        self.seconds = seconds
        self.over: Reply | None = None
        self._copy = ForkedCopy(answer) if HAS_SAFE_FORK else None

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        if self._copy:
            self._copy.end()

    def call(self, args: tuple) -> Reply:
        if self.over:
            return self.over
        if self._copy:
            reply = self._copy.call(args, self.seconds)
        else:
            reply = interruptible(self.answer, decode(encode(args)), self.seconds)
        if reply.problem in ("endless", "died"):
            self.over = reply
        return reply


def endless(seconds: float) -> Reply:
    return Reply(
        problem="endless",
        sentence=f"It was still running after {seconds:g} seconds and was stopped: "
        "look for a loop that never ends.",
    )


DIED = Reply(
    problem="died",
    sentence="It ended its own process instead of returning a value: "
    "look for exit() or for an array far too large.",
)


class ForkedCopy:
    """A copy of this process that calls the answer and sends back what came of it."""

    def __init__(self, answer: Callable) -> None:
        ask_read, self._ask = os.pipe()
        self._reply, reply_write = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads: the copy touches nothing that theirs hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._reply)
            _serve(answer, ask_read, reply_write)
        os.close(ask_read)
        os.close(reply_write)

    def call(self, args: tuple, seconds: float) -> Reply:
        try:
            send(self._ask, encode(args))
            message = receive(self._reply, time.monotonic() + seconds)
            fields = decode(message)
            return Reply(**fields)
        except TimeoutError:
            self.end()
            return endless(seconds)
        except (OSError, EOFError, WireError, TypeError):
            self.end()
            return DIED

    def end(self) -> None:
        if self._pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._ask)
        os.close(self._reply)
        self._pid = None


def _serve(answer: Callable, ask: int, reply: int) -> None:
    """The copy's life: read arguments, call, reply, until the pipe closes."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
        if "torch" in sys.modules:
            # torch's worker threads did not survive the fork: waiting for them would never end.
            sys.modules["torch"].set_num_threads(1)
        while True:
            args = decode(receive(ask, deadline=None))
            send(reply, encode(vars(perform(answer, args))))
    except BaseException:
        pass
    finally:
        os._exit(0)  # no clean-up of what belongs to the parent


def send(pipe: int, message: bytes) -> None:
    """Write one message with its length before it."""
    data = memoryview(struct.pack("<Q", len(message)) + message)
    while data:
        data = data[os.write(pipe, data) :]


def receive(pipe: int, deadline: float | None) -> bytes:
    """Read one message; TimeoutError when the deadline passes, EOFError when the pipe closes."""
    (length,) = struct.unpack("<Q", _read(pipe, 8, deadline))
    if length > MAX_REPLY:
        raise WireError(f"expected a message of at most {MAX_REPLY} bytes, got {length}")
    return _read(pipe, length, deadline)


def _read(pipe: int, length: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([pipe], [], [], wait)[0]:
            raise TimeoutError
        part = os.read(pipe, min(2**20, length - len(parts)))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def interruptible(answer: Callable, args: tuple, seconds: float) -> Reply:
    """Call in this process, interrupted by a timer where it runs in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return perform(answer, args)
    lock, state = threading.Lock(), {"done": False, "stopped": False}

    def stop() -> None:
        with lock:
            if not state["done"]:
                state["stopped"] = True
                _thread.interrupt_main()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        reply = perform(answer, args)
        with lock:
            state["done"] = True
        return decode_reply(reply)
    except KeyboardInterrupt:
        if not state["stopped"]:
            raise
        return endless(seconds)
    finally:
        timer.cancel()


def decode_reply(reply: Reply) -> Reply:
    """The same reply with its value made plain data, as if it had crossed a pipe."""
    return Reply(**decode(encode(vars(reply))))
