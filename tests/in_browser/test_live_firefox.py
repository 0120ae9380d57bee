"""Python in the page in a stock Firefox too, from a server and from disk.

One visit for each of the two; what was seen there is gathered, and each test is a claim about it.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from learner import CHECK, RUN, address_of, stored_cells, text_of
from tfmlib.checking.catalogue import find
from tfmlib.support import notebooks

pytestmark = pytest.mark.browser

CHAPTER, ID = 4, "4.3"
HEAD = "def attention_weights(q, k):\n"
MISTAKE = f"{HEAD}    return ref.softmax(q @ np.swapaxes(k, -1, -2), axis=-1)\n"
ENDLESS = f"{HEAD}    while True: pass\n"
# Presses the button that the page shows, and waits until Python is there or could not be started.
TRY_IT = """async index => {
    const cell = tfmLive.chapter.cells[index];
    const label = cell.opener.textContent;
    cell.opener.click();
    while (!/Ready|could not/.test(cell.status.textContent))
        await new Promise(done => setTimeout(done, 50));
    return { label, status: cell.status.textContent, text: cell.text };
}"""
SAVE = """() => {
    document.querySelector('.tfm-live-panel button').click();
    return document.querySelector('.tfm-live-panel .tfm-live-status').textContent;
}"""


@dataclass
class Seen:
    """What the chapter's page did."""

    address: str
    opened: dict = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # answer -> what was told
    printed: dict = field(default_factory=dict)
    reopened: dict = field(default_factory=dict)
    saved: str = ""
    elsewhere: list[str] = field(default_factory=list)  # exercises another chapter knows answers to
    requests: list[str] = field(default_factory=list)


def solution() -> str:
    return notebooks.exercise_cells("solutions")[ID].source


def text_cell() -> int:
    """The first cell that can run and whose text is compared."""
    cells, kinds = stored_cells(CHAPTER)
    return next(
        index
        for index, (cell, about) in enumerate(zip(cells, kinds, strict=True))
        if about["kind"] == "run"
        and cell["outputs"]
        and "nbval-ignore-output" not in cell["metadata"].get("tags", [])
    )


def see(firefox, address: str, next_chapter: str) -> Seen:
    seen, begin = Seen(address), len(firefox.requests)
    _, kinds = stored_cells(CHAPTER)
    index = next(i for i, about in enumerate(kinds) if about.get("exercise") == ID)
    firefox.goto(address)
    seen.opened = firefox.evaluate(TRY_IT, index)
    answers = {"blank": None, "mistake": MISTAKE, "endless": ENDLESS, "solution": solution()}
    for name, answer in answers.items():
        seen.said[name] = firefox.evaluate(CHECK, [index, answer])
    seen.printed = firefox.evaluate(RUN, text_cell())
    firefox.reload()
    seen.saved = firefox.evaluate(SAVE)
    seen.reopened = firefox.evaluate(TRY_IT, index)
    firefox.goto(next_chapter)
    seen.elsewhere = firefox.evaluate("() => tfmLive.chapter.store.ids()")
    firefox.goto("about:blank")  # what this page still loads is not counted as the next one's
    seen.requests = firefox.requests[begin:]
    return seen


@pytest.fixture(scope="module", params=["served", "from disk"])
def seen(request, firefox, book, address) -> Seen:
    pages = [address_of(book.html, chapter) for chapter in (CHAPTER, CHAPTER + 1)]
    if request.param == "served":
        pages = [page.replace(book.html.resolve().as_uri(), address) for page in pages]
    return see(firefox, *pages)


def test_try_it_here_starts_python_with_the_blank(seen):
    assert (seen.opened["label"], seen.opened["status"]) == ("Try it here", "Ready.")
    assert "raise NotImplementedError" in seen.opened["text"]
    assert "not attempted" in seen.said["blank"]


def test_a_known_mistake_is_diagnosed(seen):
    sentence = next(m.sentence for m in find(ID).mistakes if m.name == "forgets_to_scale")
    assert sentence in seen.said["mistake"]


def test_an_endless_loop_ends_with_the_engines_sentence(seen):
    assert "look for a loop that never ends" in seen.said["endless"]


def test_the_solution_passes_whatever_came_before(seen):
    assert ": passed" in seen.said["solution"]


def test_a_cell_prints_what_is_stored(seen):
    cells, _ = stored_cells(CHAPTER)
    stored = "".join(map(text_of, cells[text_cell()]["outputs"]))
    assert stored.strip()
    assert seen.printed == {"out": stored, "err": ""}


def test_the_answer_survives_a_reload(seen):
    assert seen.reopened["label"] == "Go on here"
    assert seen.reopened["text"] == solution()
    assert seen.reopened["status"] == "Ready."


def test_from_disk_each_chapter_keeps_its_own_answers_and_saving_says_so(seen):
    """To Firefox every file is a place of its own; a server's pages share theirs."""
    is_from_disk = seen.address.startswith("file:")
    assert seen.elsewhere == ([] if is_from_disk else [ID])
    assert seen.saved.startswith("Your answers to chapter 4 are in my-answers.json.")
    assert ("save them in each chapter" in seen.saved) == is_from_disk


def test_no_request_leaves(seen):
    """Firefox reports no files from disk, but whatever a page there asks of a host."""
    own = urlsplit(seen.address)[:2]
    assert seen.requests
    others = [url for url in seen.requests if urlsplit(url)[:2] != own]
    assert [url for url in others if urlsplit(url).scheme not in ("data", "blob", "about")] == []
