"""What a person sees while a command works: standard error, and how far training is."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfmlib.train import Step

SECONDS_BETWEEN_LINES = 10.0  # where no terminal shows a bar


class Onlooker:
    """Standard error; if nobody reads it, the work goes on all the same.

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

    def interrupt(self, text: str) -> None:
        """For a signal's handler: `write` may be at work, and must not be called within itself."""
        with suppress(OSError):
            if sys.stderr is not None:
                os.write(sys.stderr.fileno(), text.encode())


ONLOOKER = Onlooker()


class Progress:
    """Loss, tokens per second and time left: a bar on a terminal, else a line now and then."""

    def __init__(self, done: int, steps: int, is_shown: bool):
        from tqdm import tqdm  # here, as commands that only print a line do without it

        self.done, self.steps, self.is_shown = done, steps, is_shown
        self.has_bar = is_shown and ONLOOKER.isatty()
        self.bar = tqdm(
            initial=done, total=steps, unit="step", disable=not self.has_bar, file=ONLOOKER
        )
        self.seconds = 0.0  # that the last step took
        self.tokens, self.all_seconds = 0, 0.0
        self.began = self.told = time.monotonic()

    def watch(self, steps: Iterator["Step"]) -> Iterator["Step"]:
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
            if not self.has_bar and now - self.told >= SECONDS_BETWEEN_LINES:
                self.told = now
                each = (now - self.began) / (self.done - first)
                left = self.bar.format_interval(each * (self.steps - self.done))
                self.tell(
                    f"step {self.done} of {self.steps}: loss {step.loss:.3f}, "
                    f"{speed} tokens/s, {left} left"
                )
            yield step

    def tell(self, message: str) -> None:
        """Print a line above the bar."""
        if self.is_shown:
            self.bar.write(message, file=ONLOOKER)

    def close(self) -> None:
        self.bar.close()
