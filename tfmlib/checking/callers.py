"""How an answer is called so that nothing it does can hurt the caller.

Where the system has a fork that works (Linux), an answer runs in a copy of the process: an endless
loop, even one inside NumPy, is ended by ending the copy. Elsewhere it runs in the same process and
is interrupted between two Python instructions.
"""

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from typing import Protocol

from tfmlib.checking import Answer, Args
from tfmlib.checking.call import DIED, Reply, decode_reply, endless, perform, waited
from tfmlib.checking.pipe import is_ready, receive, send
from tfmlib.checking.wire import decode, encode

SECONDS_IN_ALL = 60.0  # of computing, for all calls of a check
MEMORY_BYTES = 4 * 2**30  # more than the process has already
HAS_SAFE_FORK = sys.platform == "linux"


class Caller(Protocol):
    """Calls one answer within a time; after `end`, no more."""

    is_apart: bool  # in a process of its own, which remembers nothing of another's calls

    def call(self, args: Args, seconds: float) -> Reply: ...

    def end(self) -> object: ...


def caller_of(answer: Answer, forbidden: frozenset[str]) -> Caller:
    """The safest way that this system has."""
    return (ForkedCopy if HAS_SAFE_FORK else InProcess)(answer, forbidden)


class ForkedCopy:
    """A copy of this process that calls the answer and sends back what came of it.

    Time is what the copy computes, not what the clock shows: a busy machine costs nobody a pass.
    """

    is_apart = True

    def __init__(self, answer: Answer, forbidden: frozenset[str] = frozenset()) -> None:
        ask_read, self._ask = os.pipe()
        self._reply, reply_write = os.pipe()
        self._used = 0.0  # seconds of computing so far
        with warnings.catch_warnings():
            # Python 3.12 warns of threads: the copy touches nothing that theirs hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid: int | None = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._reply)
            _serve(answer, forbidden, ask_read, reply_write)
        os.close(ask_read)
        os.close(reply_write)

    def call(self, args: Args, seconds: float) -> Reply:
        if self._pid is None:
            return DIED
        seconds = min(seconds, SECONDS_IN_ALL - self._used)
        if seconds <= 0:
            self.end()
            return endless(SECONDS_IN_ALL)
        try:
            send(self._ask, encode((args, seconds)))
            message = decode(self._wait(seconds))
            self._used += message["seconds"]
            return Reply.from_data(message["reply"])
        except TimeoutError:
            self.end()
            return waited(seconds)
        except (OSError, EOFError, ValueError, TypeError, KeyError):
            return endless(seconds) if self.end() == signal.SIGPROF else DIED

    def _wait(self, seconds: float) -> bytes:
        """The copy's next message; TimeoutError once it has slept for so long without computing."""
        computed, since = -1.0, time.monotonic()
        while True:
            if is_ready(self._reply, 0.1):  # and then the whole message is under way
                return receive(self._reply)
            now = _computed(self._pid)
            if now != computed:
                computed, since = now, time.monotonic()
            elif time.monotonic() - since > seconds:
                raise TimeoutError

    def end(self) -> int:
        """End the copy; return the signal that had ended it before, or 0."""
        if self._pid is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid == 0:
                os.kill(self._pid, signal.SIGKILL)
                _, status = os.waitpid(self._pid, 0)
        os.close(self._ask)
        os.close(self._reply)
        self._pid = None
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _computed(pid: int | None) -> float:
    """The ticks of computing that a process has had, and 1 more while it wants to compute."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return -1.0
    running = time.monotonic() if fields[0] in "RD" else 0.0  # always another number
    return int(fields[11]) + int(fields[12]) + running


def _serve(answer: Answer, forbidden: frozenset[str], ask: int, reply: int) -> None:
    """The copy's life: read arguments, call, reply, until the pipe closes."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the copy
        _limit_memory()
        if "torch" in sys.modules:
            # torch's worker threads did not survive the fork: waiting for them would never end.
            sys.modules["torch"].set_num_threads(1)
        while True:
            args, seconds = decode(receive(ask))
            signal.setitimer(signal.ITIMER_PROF, seconds)
            began = time.process_time()
            message = perform(answer, args, forbidden).as_data()
            signal.setitimer(signal.ITIMER_PROF, 0)
            send(reply, encode({"reply": message, "seconds": time.process_time() - began}))
    except BaseException:
        pass
    finally:
        os._exit(0)  # no clean-up of what belongs to the parent


def _limit_memory() -> None:
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = now + MEMORY_BYTES
    resource.setrlimit(
        resource.RLIMIT_AS, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard)
    )


class InProcess:
    """Calls the answer in this process, and interrupts it when its time is over."""

    is_apart = False

    def __init__(self, answer: Answer, forbidden: frozenset[str] = frozenset()) -> None:
        self.answer, self.forbidden = answer, forbidden
        self._used = 0.0  # seconds so far

    def call(self, args: Args, seconds: float) -> Reply:
        seconds = min(seconds, SECONDS_IN_ALL - self._used)
        if seconds <= 0:
            return endless(SECONDS_IN_ALL)
        began = time.perf_counter()
        try:
            return self.within(seconds, decode(encode(args)))
        finally:
            self._used += time.perf_counter() - began

    def within(self, seconds: float, args: Args) -> Reply:
        """Call once; the reply of an endless loop when the time is over."""
        return interruptible(self.answer, args, seconds, self.forbidden)

    def end(self) -> None:
        """There is nothing to clean up."""


class _TimeIsUpError(KeyboardInterrupt):
    """Raised in the middle of an answer; an answer that catches all errors does not catch it."""


def interruptible(
    answer: Answer, args: Args, seconds: float, forbidden: frozenset[str] = frozenset()
) -> Reply:
    """Call in this process, interrupted by a timer where it runs in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return perform(answer, args, forbidden)
    lock, is_done = threading.Lock(), False

    def stop() -> None:
        with lock:
            if not is_done:
                _raise_in_main_thread(_TimeIsUpError)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        reply = perform(answer, args, forbidden)
        with lock:
            is_done = True
        return decode_reply(reply)
    except _TimeIsUpError:
        return endless(seconds)
    finally:
        timer.cancel()


def _raise_in_main_thread(error: type[BaseException]) -> None:
    """Not by a signal: where Ctrl-C is ignored, as for a job in the background, none arrives."""
    import ctypes

    main = ctypes.c_ulong(threading.main_thread().ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(error))
