"""Where answers are checked: what differs between a notebook's process and a page of the book.

The engine is one and the same. How a message is shown, where attempts are kept and how an answer is
called within its time is asked of the host; a page hands in its own with `use`.
"""

import os
import sys
from pathlib import Path

from tfmlib.checking import Answer
from tfmlib.checking.callers import Caller, caller_of

PROGRESS = ".tfm-progress.jsonl"


class Host:
    """A process: of a notebook, a terminal or a test."""

    def show(self, message: object) -> None:
        """Display a message in a notebook, print it elsewhere."""
        shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
        if shell is not None and hasattr(shell, "kernel"):
            from IPython.display import display

            display(message)  # type: ignore[no-untyped-call]  # IPython's own
            return
        try:
            print(message)
        except UnicodeEncodeError:  # a console that knows no ✓
            print(str(message).encode("ascii", "replace").decode())

    def progress_path(self) -> Path | None:
        """Where attempts are kept; TFM_PROGRESS names another file, or `off` for none."""
        place = os.environ.get("TFM_PROGRESS", PROGRESS)
        return None if place == "off" else Path(place)

    def read_progress(self) -> str:
        place = self.progress_path()
        if place is None or not place.is_file():
            return ""
        return place.read_text(encoding="utf-8", errors="replace")

    def add_progress(self, line: str) -> None:
        """Add one line; a folder that cannot be written to is no reason to stop a learner."""
        place = self.progress_path()
        if place is None:
            return
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def caller(self, answer: Answer, forbidden: frozenset[str]) -> Caller:
        """What calls an answer within its time."""
        return caller_of(answer, forbidden)


_hosts = [Host()]


def current() -> Host:
    return _hosts[-1]


def use(host: Host) -> None:
    """Check answers there from now on."""
    _hosts[:] = [host]
