"""A reader of an explorer: opens its page in a browser, moves its controls, reads what it shows."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from browser import AT_REST, violations

ROOT = Path(__file__).resolve().parent.parent
TAG = re.compile(r"explorer-(?P<kind>[a-z]+)-(?P<preset>[a-z0-9-]+)")
STICKING_OUT = """explorer => {
    const right = box => box.getBoundingClientRect().right;
    const edge = Math.min(right(explorer), document.documentElement.clientWidth);
    return [explorer, ...explorer.querySelectorAll('*')]
        .filter(box => right(box) > edge + 1 && !box.parentElement.closest('.tfm-scroll'))
        .map(box => box.outerHTML.slice(0, 160));
}"""

# The rest of the page goes away: axe would look through all of it.
ALONE = """box => {
    const main = document.createElement('main');
    main.className = 'bd-article';
    document.body.replaceChildren(main);
    main.append(box);
}"""


def tags() -> Iterator[tuple[str, str, str]]:
    """Where the manuscript asks for an explorer: (page, kind, preset)."""
    for chapter in sorted((ROOT / "book/chapters").glob("*.md")):
        for tag in TAG.finditer(chapter.read_text("utf-8")):
            yield f"notebooks/{chapter.stem}.html", tag["kind"], tag["preset"]


class Reader:
    """One explorer on one page, watched: whatever goes wrong is in `troubles`."""

    def __init__(self, page, home: str, name: str, preset: str):
        self.page, self.home, self.name, self.id = page, home, name, f"explorer-{preset}"
        self.troubles: list[str] = []
        page.route("**/*", self._only_from_home)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda line: line.type == "error" and self.troubles.append(line.text))

    def _only_from_home(self, route) -> None:
        if "mathjax" in route.request.url:  # without formulas a page is ready in a moment
            route.fulfill(status=200, content_type="text/javascript", body="")
        elif urlsplit(route.request.url)[:2] == urlsplit(self.home)[:2]:
            route.continue_()
        else:
            self.troubles.append(f"asked for {route.request.url}")
            route.abort()

    def open(self, **settings) -> "Reader":
        """Open the page by the address that has these settings; have no question asked."""
        self.go(self.address(**settings))
        self.page.evaluate("Object.values(tfm.running).forEach(explorer => explorer.skip())")
        return self

    def address(self, **settings) -> str:
        query = urlencode({f"{self.id}.{key}": value for key, value in settings.items()})
        return f"{self.home}/{self.name}?{query}"

    def read(self, address: str) -> dict:
        """The settings that the explorer finds in an address."""
        read = "([id, address]) => tfm.running[id].fromAddress(new URL(address).searchParams)"
        return self.page.evaluate(read, [self.id, address])

    def go(self, address: str) -> "Reader":
        self.page.goto("about:blank")  # or one that differs from this in its hash is no new page
        self.page.goto(address, wait_until="domcontentloaded")
        self.box.wait_for()
        return self

    @property
    def box(self):
        return self.page.locator(f"#{self.id}")

    @property
    def settings(self) -> dict:
        return self.page.evaluate("id => tfm.running[id].settings", self.id)

    def until(self, **settings) -> None:
        """Wait for these settings: a tap is over before the browser makes a click of it."""
        have = """([id, wanted]) => Object.entries(wanted).every(
            ([key, value]) => tfm.running[id].settings[key] === value)"""
        self.page.wait_for_function(have, arg=[self.id, settings])

    @property
    def said(self) -> str:
        return self.box.locator(".tfm-said").inner_text()

    @property
    def is_waiting(self) -> bool:
        """Whether a question waits for an answer."""
        return self.page.evaluate("id => tfm.running[id].isWaiting()", self.id)

    @property
    def reason(self) -> str:
        return self.box.get_by_role("status").inner_text()

    def control(self, key: str):
        return self.page.locator(f'[data-key="{self.id}.{key}"]')

    def ask(self, preset: str) -> str:
        """Answer the question of a preset somehow; return the choice that is marked right."""
        self.control("preset").select_option(preset)
        self.control("ask").click()
        self.control("answer-0").click()
        right = self.box.locator(".tfm-right").inner_text().removesuffix(" ✓")
        self.page.evaluate("id => tfm.running[id].skip()", self.id)
        return right

    def start_over(self) -> None:
        """Make all settings those with which the page opens, and have no question asked."""
        self.page.evaluate("id => tfm.running[id].skip()", self.id)
        self.control("preset").select_option(self.id.removeprefix("explorer-"))
        self.control("reset").click()

    def focused(self) -> str:
        """The name of the control that has the focus."""
        key = self.page.evaluate("document.activeElement.dataset.key || ''")
        return key.removeprefix(f"{self.id}.")

    def address_when_settled(self) -> str:
        """The address once the settings stand in it."""
        settled = "id => location.href === tfm.running[id].toAddress().href"
        self.page.wait_for_function(settled, arg=self.id)
        return self.page.url

    def violations(self) -> list[str]:
        """What axe-core objects to in the explorer, one line a place."""
        self.box.evaluate(ALONE)
        return violations(self.page, {"include": [[f"#{self.id}"]]})

    def sticking_out(self) -> list[str]:
        """What leaves the explorer or the window to the right, but for a box that scrolls."""
        return self.box.evaluate(STICKING_OUT)


def assert_written(text: str, value: float) -> None:
    """A number is written as it rounds, with as many decimals as it shows."""
    if text == "< 0.001":
        assert 0 < value < 0.0005, value
        return
    assert re.fullmatch(r"−?\d+(\.\d+)?", text), text
    decimals = len(text.partition(".")[2])
    assert abs(float(text.replace("−", "-")) - value) <= 0.5 * 10**-decimals + 1e-12, (text, value)


@contextmanager
def visiting(chromium, kind: type[Reader] = Reader) -> Iterator[Callable[..., Reader]]:
    """A function `visit(home, page, preset, **options of the context)`; in the end, no troubles."""
    contexts, readers = [], []

    def visit(home: str, page: str, preset: str, **options) -> Reader:
        contexts.append(chromium.new_context(**AT_REST, **options))
        readers.append(kind(contexts[-1].new_page(), home, page, preset))
        return readers[-1]

    yield visit
    for context in contexts:
        context.close()
    assert [trouble for reader in readers for trouble in reader.troubles] == []
