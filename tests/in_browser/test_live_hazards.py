"""Nothing that an answer does hurts the page: loops, crashes, memory, words that look like HTML."""

import pytest

from browser import AT_REST, DESKTOP, Visit, watch
from learner import Learner, address_of

pytestmark = pytest.mark.browser

HEAD = "def attention_weights(q, k):\n"
RIGHT = (
    HEAD + "    return ref.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), axis=-1)\n"
)


@pytest.fixture(scope="module")
def visit() -> Visit:
    return Visit("chapter 4")


@pytest.fixture(scope="module")
def learner(book, chromium, visit) -> Learner:
    """At exercise 4.3, from disk, with every request elsewhere refused."""
    page = chromium.new_page(viewport=DESKTOP, **AT_REST)
    watch(page, visit, "")
    page.goto(address_of(book.html, 4))
    made = Learner(page)
    made.open("4.3")
    yield made
    page.close()


def still_works(learner: Learner) -> None:
    """The page takes the right answer, whatever came before."""
    assert "passed" in learner.check("4.3", RIGHT)


@pytest.mark.parametrize(
    "body",
    ["while True: pass", "while True:\n        try: q = q\n        except Exception: pass"],
    ids=["plain", "catching errors"],
)
def test_an_endless_loop_ends_by_itself_and_variables_are_kept(learner, body):
    learner.check("4.3", f"{RIGHT}kept = 7\n")
    said = learner.check("4.3", f"{HEAD}    {body}\n")
    assert "It was still running after" in said
    assert "look for a loop that never ends" in said
    learner.type("4.3", "print(kept)\n")
    assert learner.press("4.3", "Run").strip() == "7"
    still_works(learner)


def test_an_answer_that_swallows_the_interrupt_is_ended_with_the_same_sentence(learner):
    loop = "    while True:\n        try:\n            while True: pass\n        except: pass\n"
    said = learner.check("4.3", HEAD + loop)
    assert "look for a loop that never ends" in said
    still_works(learner)


def test_a_loop_inside_c_is_ended_and_the_answer_is_still_there(learner):
    answer = f"{HEAD}    return sum(iter(int, 1))\n"
    said = learner.check("4.3", answer)
    assert "look for a loop that never ends" in said
    assert "sum(iter(int, 1))" in learner.cell("4.3").locator(".cm-content").inner_text()
    still_works(learner)


def test_memory_without_end_is_an_error_like_any_other(learner):
    said = learner.check("4.3", f"{HEAD}    return [np.ones((2000, 2000)) for _ in range(10**6)]\n")
    assert "MemoryError" in said
    still_works(learner)


def test_a_crash_of_python_is_told_and_another_takes_over(learner):
    crash = f"{HEAD}    import ctypes\n    ctypes.string_at(0xFFFFFFF0, 10**9)\n"
    deep = f"{HEAD}    x = []\n    for _ in range(10**6): x = [x]\n    return repr(x)\n"
    for answer in (crash, deep):
        said = learner.check("4.3", answer)
        assert "not yet" in said
    still_works(learner)


def test_stop_ends_it_at_once(learner):
    learner.type("4.3", "while True: pass\n")
    cell = learner.cell("4.3")
    learner.button(cell, "Run").click()
    learner.button(cell, "Stop").click()
    learner.result(cell)
    assert "Stopped." in learner.status("4.3")
    still_works(learner)


def test_a_flood_of_prints_is_cut_off(learner):
    learner.type("4.3", "for i in range(10**6): print(i)\n")
    said = learner.press("4.3", "Run")
    assert said.rstrip().endswith("the rest is not shown.")
    assert len(said) < 300_000
    still_works(learner)


def test_what_looks_like_html_stays_text(learner):
    trap = "<img src=x onerror=document.title=1>"
    learner.type("4.3", f"print({trap!r})\nraise ValueError({trap!r})\n")
    assert trap in learner.press("4.3", "Run")
    said = learner.check("4.3", f"{HEAD}    return {trap!r}\n")
    assert trap in said
    assert learner.page.title() != "1"
    assert learner.cell("4.3").locator("img").count() == 0


def test_input_has_nobody_to_ask(learner):
    learner.type("4.3", "input('name? ')\n")
    assert "nobody to ask" in learner.press("4.3", "Run")


def test_nothing_can_be_sent_from_python(learner, visit):
    ways = (
        "import js\njs.fetch('http://127.0.0.1:9/leak')\n",
        "from js import XMLHttpRequest\nr = XMLHttpRequest.new()\n",
        "from js import Object, self\nprint(self.WebSocket)\n",
        "from pyodide.code import run_js\n"
        'run_js("new (Object.getPrototypeOf(async function(){}).constructor)'
        '(\'return import(\\"http://127.0.0.1:9/leak.js\\")\')()")\n',
    )
    for way in ways:
        learner.type("4.3", way)
        learner.press("4.3", "Run")
    learner.page.wait_for_timeout(300)
    assert visit.outside == []


def test_all_this_leaves_the_page_as_it_was(learner, visit):
    still_works(learner)
    assert visit.outside == []
