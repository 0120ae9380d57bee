"""The built book in a real browser: offline, in light and dark, on a telephone, by keyboard.

Every page is opened once in each mode; what was seen there is gathered, and each test is a claim
about it.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.browser

MODES = ("light", "dark")
DESKTOP, TELEPHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 800}

MATHEMATICS_IS_SET = """async () => {
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
    await document.fonts.ready;
    // The page's own scripts have finished: one more frame.
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)));
}"""
UNSET_FORMULAS = """() => [...document.querySelectorAll('.math')]
    .filter(box => !box.querySelector('mjx-container') || box.querySelector('mjx-merror'))
    .map(box => box.textContent)"""
# What sticks out of the window and is not inside a box that scrolls.
STICKING_OUT = """() => {
    const width = document.documentElement.clientWidth, found = [];
    if (document.documentElement.scrollWidth > width) found.push('the page itself');
    for (const box of document.querySelectorAll('article *')) {
        if (box.getBoundingClientRect().right <= width + 1) continue;
        let parent = box, scrolls = false;
        while (parent && parent.tagName !== 'ARTICLE' && !scrolls) {
            scrolls = ['auto', 'scroll'].includes(getComputedStyle(parent).overflowX);
            parent = parent.parentElement;
        }
        if (!scrolls && !box.closest('mjx-assistive-mml')) found.push(box.outerHTML.slice(0, 160));
    }
    return found;
}"""
SHOWN_FIGURES = """() => [...document.querySelectorAll('.tfm-light, .tfm-dark')]
    .filter(image => image.getBoundingClientRect().width > 0)
    .map(image => image.classList.contains('tfm-dark') ? 'dark' : 'light')"""
WITHOUT_VISIBLE_FOCUS = """() => [...document.querySelectorAll('a[href], button, summary, input')]
    .filter(control => control.getClientRects().length && !control.closest('dialog'))
    .filter(control => {
        control.focus();
        const style = getComputedStyle(control);
        return document.activeElement === control
            && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 1);
    })
    .map(control => control.outerHTML.slice(0, 160))"""


@dataclass
class Visit:
    """What one page did in one mode."""

    page: str
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unset_formulas: list[str] = field(default_factory=list)
    formulas: int = 0
    sticking_out: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    shown_figures: list[str] = field(default_factory=list)


def watch(page, visit: Visit, own_host: str) -> None:
    """Record script errors and failed loads; let no request leave this machine."""

    def route(request_route):
        address = request_route.request.url
        if urlsplit(address).netloc == own_host:
            request_route.continue_()
        else:
            visit.outside.append(address)
            request_route.abort()

    page.route("**/*", route)
    page.on("pageerror", lambda error: visit.errors.append(str(error)))
    page.on(
        "console", lambda line: visit.errors.append(line.text) if line.type == "error" else None
    )
    page.on(
        "response",
        lambda answer: (
            visit.errors.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        ),
    )


def violations(page, colours: bool = True) -> list[str]:
    """What axe-core objects to, one line a place, with its advice."""
    from axe_playwright_python.sync_playwright import Axe

    options = {
        "resultTypes": ["violations"],
        "preload": False,  # else axe fetches style sheets again, some from a wrong folder
        "rules": {"color-contrast": {"enabled": colours}},  # the slowest rule by far
    }
    # The drawing of a formula is hidden from screen readers, which get its MathML instead.
    context = {"exclude": [["mjx-math"]]}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:200]} -- {node.get('failureSummary', '')}"
        for rule in found
        for node in rule["nodes"]
    ]


def open_page(chromium, address: str, mode: str, visit: Visit):
    page = chromium.new_page(viewport=DESKTOP, color_scheme=mode)
    watch(page, visit, urlsplit(address).netloc)
    page.goto(address)
    page.evaluate(MATHEMATICS_IS_SET)
    return page


def see(chromium, address: str, mode: str, name: str) -> Visit:
    visit = Visit(name)
    page = open_page(chromium, f"{address}/{name}", mode, visit)
    visit.unset_formulas = page.evaluate(UNSET_FORMULAS)
    visit.formulas = page.locator(".math mjx-container").count()
    visit.shown_figures = page.evaluate(SHOWN_FIGURES)
    visit.violations = violations(page)
    page.set_viewport_size(TELEPHONE)
    page.evaluate(MATHEMATICS_IS_SET)
    visit.sticking_out = page.evaluate(STICKING_OUT)
    visit.violations += violations(page, colours=False)  # they do not depend on the width
    page.close()
    return visit


@pytest.fixture(scope="module", params=MODES)
def visits(request, book, address, chromium) -> list[Visit]:
    """Every page of the book, opened in this mode; index.html only leads on to another."""
    names = [page.relative_to(book.html).as_posix() for page in book.pages]
    names.remove("index.html")
    return [see(chromium, address, request.param, name) for name in names]


def report(visits: list[Visit], what: str) -> str:
    """One line for each thing of this kind that was seen, with its page."""
    return "\n".join(f"{visit.page}: {line}" for visit in visits for line in getattr(visit, what))


def test_no_page_asks_another_host_for_anything(visits):
    assert not (found := report(visits, "outside")), found


def test_no_page_has_a_script_error_or_a_failed_load(visits):
    assert not (found := report(visits, "errors")), found


def test_every_formula_is_set(visits):
    assert not (found := report(visits, "unset_formulas")), found
    assert sum(visit.formulas for visit in visits) > 0


def test_nothing_sticks_out_at_telephone_width(visits):
    assert not (found := report(visits, "sticking_out")), found


def test_axe_finds_no_violation(visits):
    # Where it objects to a table header: a header needs words, a formula alone is none to axe.
    assert not (found := report(visits, "violations")), found


def test_figures_show_the_image_of_the_mode(visits, request):
    mode = request.node.callspec.params["visits"]
    shown = {kind for visit in visits for kind in visit.shown_figures}
    assert shown == {mode}


@pytest.fixture(scope="module")
def chapter() -> str:
    """A chapter that has everything: equations, figures, verdicts, exercises, quizzes."""
    return "notebooks/04-queries-keys-values.html"


@pytest.mark.parametrize("mode", MODES)
def test_every_control_shows_that_it_has_focus(chapter, address, chromium, mode):
    page = open_page(chromium, f"{address}/{chapter}", mode, Visit(chapter))
    page.keyboard.press("Tab")  # from here on the browser knows a keyboard is in use
    assert not page.evaluate(WITHOUT_VISIBLE_FOCUS)
    page.close()


def test_a_verdict_shows_its_sentence_on_hover_and_on_focus(chapter, address, chromium):
    page = open_page(chromium, f"{address}/{chapter}", "light", Visit(chapter))
    badge = page.locator('article a[href*="ledger.html#"]').first
    bubble = "badge => getComputedStyle(badge, '::after').content"
    sentence = badge.get_attribute("aria-description")
    assert badge.evaluate(bubble) == "none"
    badge.hover()
    assert sentence in badge.evaluate(bubble).replace('\\"', '"')
    page.mouse.move(0, 0)
    assert badge.evaluate(bubble) == "none"
    page.keyboard.press("Tab")
    badge.focus()
    assert sentence in badge.evaluate(bubble).replace('\\"', '"')
    page.close()


def test_a_long_equation_can_be_scrolled_by_keyboard(chapter, address, chromium):
    page = open_page(chromium, f"{address}/{chapter}", "light", Visit(chapter))
    page.set_viewport_size({"width": 200, "height": 800})
    page.evaluate(MATHEMATICS_IS_SET)
    wide = "box => box.scrollWidth > box.clientWidth + 1"
    equations = page.locator('mjx-container[display="true"]').all()
    scrolling = [box for box in equations if box.evaluate(wide)]
    assert scrolling
    assert all(box.get_attribute("tabindex") == "0" for box in scrolling)
    page.close()


def test_the_index_leads_to_the_preface(address, chromium):
    page = chromium.new_page()
    page.goto(f"{address}/")
    page.wait_for_url(f"{address}/book/preface.html")
    page.close()


def test_the_book_works_from_disk(book, chapter, chromium):
    visit = Visit(chapter)
    page = open_page(chromium, (book.html / chapter).as_uri(), "light", visit)
    assert page.locator(".math mjx-container").count() > 0
    assert page.evaluate(UNSET_FORMULAS) == []
    page.goto((book.html / "search.html").as_uri() + "?q=softmax")
    page.locator("#search-results li a").first.wait_for()
    found = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    assert any(chapter in link for link in found)
    assert (visit.outside, visit.errors) == ([], [])
    page.close()


def test_the_printed_page_has_no_navigation(chapter, address, chromium):
    page = open_page(chromium, f"{address}/{chapter}", "dark", Visit(chapter))
    page.emulate_media(media="print")
    for hidden in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer", ".tfm-dark"):
        assert page.locator(hidden).count() > 0
        assert not any(box.is_visible() for box in page.locator(hidden).all()), hidden
    assert page.locator(".tfm-light").first.is_visible()
    page.close()
