"""What a person sees while a command works: standard error, progress, and the last line."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfmlib.train import Step

SECONDS_BETWEEN_LINES = 10.0  # where no terminal shows a bar


class Console:
    """Standard error; if nobody reads it, the work continues all the same.

    Where it was closed before we began, sys.stderr is None, and `print` would take standard output
    instead: its lines would come among the results.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def isatty(self) -> bool:
        return sys.stderr is not None and sys.stderr.isatty()

    def write(self, text: str) -> None:
        with suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.flush()

    def write_from_signal_handler(self, text: str) -> None:
        """`write` may be at work already, and must not be called within itself."""
        with suppress(OSError):
            if sys.stderr is not None:
                os.write(sys.stderr.fileno(), text.encode())


CONSOLE = Console()


class Progress:
    """Loss, tokens per second and time left: a bar on a terminal, else a line now and then."""

    def __init__(self, done: int, steps: int, is_shown: bool):
        # Here, as commands that only print a line do without it.
        from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]

        self.done, self.steps, self.is_shown = done, steps, is_shown
        self.has_bar = is_shown and CONSOLE.isatty()
        self.bar = tqdm(
            initial=done, total=steps, unit="step", disable=not self.has_bar, file=CONSOLE
        )
        self.seconds = 0.0  # that the last step took
        self.tokens, self.all_seconds = 0, 0.0
        self.began = self.last_line = time.monotonic()

    def track(self, steps: Iterator["Step"]) -> Iterator["Step"]:
        """Hand on the steps, and show each of them."""
        first = self.done
        while True:
            began = time.perf_counter()
            step = next(steps, None)
            if step is None:
                return
            self.seconds = time.perf_counter() - began
            self.all_seconds += self.seconds
            self.tokens += step.tokens
            self.done = step.number
            speed = f"{self.tokens / self.all_seconds:,.0f}"
            self.bar.set_postfix_str(f"loss {step.loss:.3f}, {speed} tokens/s", refresh=False)
            self.bar.update()
            now = time.monotonic()
            if not self.has_bar and now - self.last_line >= SECONDS_BETWEEN_LINES:
                self.last_line = now
                each = (now - self.began) / (self.done - first)
                left = self.bar.format_interval(each * (self.steps - self.done))
                self.print(
                    f"step {self.done} of {self.steps}: loss {step.loss:.3f}, "
                    f"{speed} tokens/s, {left} left"
                )
            yield step

    def print(self, message: str) -> None:
        """Print a line above the bar."""
        if self.is_shown:
            self.bar.write(message, file=CONSOLE)

    def close(self) -> None:
        self.bar.close()


def print_result(line: str) -> None:
    """Print the last line of a run: all is done and saved, so nothing can make it fail."""
    try:
        try:
            print(line, flush=True)
        except UnicodeEncodeError as error:  # of the folder's name
            writable = line.encode(error.encoding, "backslashreplace")
            print(writable.decode(error.encoding), flush=True)
    except OSError as error:
        print(f"{line} (Could not write to standard output: {error.strerror}.)", file=CONSOLE)
        with suppress(OSError):  # or Python would try, and complain, again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
