"""Compare contenders fairly: one process, one thread, CPU time, interleaved, medians of ratios.

A module `bench_*.py` has a function `rows()` that returns a list of `Row`;
`python -m benchmarks` runs them all and prints one table.
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Call = Callable[[], object]
SHORTEST = 0.02  # seconds; a call faster than this is repeated within its turn


@dataclass(frozen=True)
class Times:
    """The CPU seconds of every contender, round by round."""

    rounds: dict[str, list[float]]

    def seconds(self, name: str) -> float:
        """Median CPU seconds of one call."""
        return median(self.rounds[name])

    def ratio(self, name: str, peer: str) -> float:
        """How many times as long as its peer a contender takes: below 1 it is the faster one.

        Both were timed one after the other in each round, so the ratio is taken round by round
        and a machine that slows down half-way does not distort it.
        """
        pairs = zip(self.rounds[name], self.rounds[peer], strict=True)
        return median(own / other for own, other in pairs)

    def show(self) -> None:
        """Print the medians, and every contender against the first one."""
        first = next(iter(self.rounds))
        width = max(map(len, self.rounds))
        for name in self.rounds:
            milliseconds = 1000 * self.seconds(name)
            print(f"  {name:<{width}} {milliseconds:10.3f} ms {self.ratio(name, first):8.3f}×")


def one_thread() -> None:
    """Hold torch, if somebody has imported it, to a single thread."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def cpu_seconds(call: Call, repeats: int = 1) -> float:
    """CPU seconds that one call takes, averaged over `repeats` calls in a row."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def compare(contenders: dict[str, Call], rounds: int = 15) -> Times:
    """Time the contenders in turns; the order rotates, so that nobody always has a warm cache."""
    one_thread()
    names = list(contenders)
    repeats = {}
    for name, call in contenders.items():
        call()  # the first call allocates, compiles, caches: it is not timed
        repeats[name] = max(1, int(SHORTEST / max(cpu_seconds(call), 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            start = turn % len(names)
            for name in names[start:] + names[:start]:
                times[name].append(cpu_seconds(contenders[name], repeats[name]))
            gc.collect()
    finally:
        gc.enable()
    return Times(times)


def peak_memory(call: Call) -> int:
    """Bytes that one call has allocated, at its peak, beyond what was there before.

    Python's tracemalloc counts NumPy's buffers, torch's profiler counts torch's; a contender
    uses one of the two, so their sum is its peak.
    """
    one_thread()
    call()  # caches fill up in the first call
    gc.collect()
    if "torch" not in sys.modules:
        return _numpy_peak(call)
    profile = sys.modules["torch"].profiler.profile(profile_memory=True, acc_events=True)
    with profile:
        numpy_peak = _numpy_peak(call)
    changes = [
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]"
    ]
    held = torch_peak = 0
    for _, change in sorted(changes, key=lambda pair: pair[0]):
        held += change
        torch_peak = max(torch_peak, held)
    return numpy_peak + torch_peak


def _numpy_peak(call: Call) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the bar it must clear, and whether it does."""

    claim: str
    measured: float
    bar: float
    at_least: bool = False  # the bar is a floor (how many times faster), else a ceiling
    stretch: bool = False  # worth having, not required
    unit: str = "×"

    @property
    def holds(self) -> bool:
        """Whether the measured number is on the right side of the bar."""
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def cells(self) -> list[str]:
        """The row as the words that the table prints."""
        sign = "≥" if self.at_least else "≤"
        verdict = "holds" if self.holds else ("not reached" if self.stretch else "FAILS")
        bar = f"{sign} {self.bar:.3g}{self.unit}" + (" (stretch)" if self.stretch else "")
        return [self.claim, f"{self.measured:.3g}{self.unit}", bar, verdict]


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [["claim", "measured", "bar", "verdict"]] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text[0], rule, *text[1:]])
