"""Python in the page, in Chromium from disk: how long a reader waits, and what it takes.

Seconds of the clock, unlike everywhere else, as they are what a reader waits for: run it on a
machine at rest.
"""

import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.harness import Row

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "_build/html/notebooks/04-queries-keys-values.html"
ROUNDS = 5


def measure() -> dict[str, float]:
    """Medians over several visits, each with a browser of its own: nothing is warm."""
    sys.path.append(str(ROOT / "tests"))
    import psutil
    from playwright.sync_api import sync_playwright

    from browser import FLAGS, find_chromium
    from learner import Learner
    from tfmlib.support import notebooks

    if not PAGE.is_file():
        sys.exit("The benchmark of the page needs the book: run `make book` first.")
    solution = notebooks.exercise_cells("solutions")["4.3"].source
    ready, check, memory = [], [], []
    with sync_playwright() as playwright:
        for _ in range(ROUNDS):
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
            before = _resident(psutil)
            learner = Learner(browser.new_page())
            learner.page.goto(PAGE.as_uri())
            begun = time.perf_counter()
            learner.open("4.3")
            ready.append(time.perf_counter() - begun)
            learner.type("4.3", solution)
            begun = time.perf_counter()
            assert "passed" in learner.press("4.3", "Check")
            check.append(time.perf_counter() - begun)
            memory.append(_resident(psutil) - before)
            browser.close()
    return {"ready": median(ready), "check": median(check), "memory": median(memory)}


def _resident(psutil) -> int:
    """Bytes that all of this process's children hold."""
    return sum(child.memory_info().rss for child in psutil.Process().children(recursive=True))


def rows() -> list[Row]:
    found = measure()
    return [
        Row("page: from the first click to Python ready", found["ready"], 8, unit=" s"),
        Row("page: a check of the solution of 4.3", found["check"], 1, unit=" s"),
        Row("page: memory of the browser, with the page", found["memory"] / 1e6, 900, unit=" MB"),
    ]
