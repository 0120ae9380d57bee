"""Every page of the built book in a real browser: offline, light, whole, in both modes.

Every page is opened once in each mode; what was seen there is gathered, and each test is a claim
about it.
"""

import re
from importlib.metadata import files
from urllib.parse import urlsplit

import pytest
import tinycss2

from book._ext.tfm_book.styles import NESTED, split
from browser import (
    MATHEMATICS_IS_SET,
    MODES,
    READ_TO_THE_END,
    TELEPHONE,
    UNSET_FORMULAS,
    Visit,
    open_page,
    report,
)

pytestmark = pytest.mark.browser

HEAVIEST_CHAPTER = 1_500_000  # bytes, with all that it loads, as it lies on the disk

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
HIDDEN_FIGURES = """mode => [...document.querySelectorAll('.tfm-light, .tfm-dark')]
    .filter(image => !image.classList.contains('tfm-' + mode))
    .map(image => image.src)"""
CONTROLS = "a[href], button, summary, input, select, textarea"
WITHOUT_VISIBLE_FOCUS = """controls => [...document.querySelectorAll(controls)]
    .filter(control => control.getClientRects().length && !control.closest('dialog'))
    .filter(control => {
        control.focus({ preventScroll: true });
        const style = getComputedStyle(control);
        return document.activeElement === control
            && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 1);
    })
    .map(control => control.outerHTML.slice(0, 160))"""
MOVING = """() => [...document.querySelectorAll('*')]
    .filter(box => {
        const style = getComputedStyle(box);
        const lasts = (style.transitionDuration + ', ' + style.animationDuration).split(', ')
            .some(time => parseFloat(time) > 0);
        return lasts || style.scrollBehavior === 'smooth';
    })
    .map(box => box.outerHTML.slice(0, 160))"""


PSEUDO = re.compile(r"::?[\w-]+(\([^()]*\))?")
MATCHING = """selectors => selectors.filter(selector => {
    try { return document.querySelector(selector); } catch { return false; }
})"""


def see(chromium, address: str, mode: str, name: str) -> Visit:
    visit = Visit(name)
    page = open_page(chromium, f"{address}/{name}", mode, visit)
    page.evaluate(READ_TO_THE_END)
    visit.unset_formulas = page.evaluate(UNSET_FORMULAS)
    visit.formulas = page.locator(".math mjx-container").count()
    visit.shown_figures = page.evaluate(SHOWN_FIGURES)
    visit.hidden_figures = page.evaluate(HIDDEN_FIGURES, mode)
    page.keyboard.press("Tab")  # from here on the browser knows a keyboard is in use
    visit.without_focus = page.evaluate(WITHOUT_VISIBLE_FOCUS, CONTROLS)
    page.set_viewport_size(TELEPHONE)
    page.evaluate(MATHEMATICS_IS_SET)
    visit.sticking_out = page.evaluate(STICKING_OUT)
    visit.moving = page.evaluate(MOVING)
    page.close()
    return visit


@pytest.fixture(scope="module", params=MODES)
def visits(request, book, address, chromium) -> list[Visit]:
    """Every page of the book, opened in this mode; index.html only leads on to another."""
    return [see(chromium, address, request.param, name) for name in book.page_names]


def test_no_page_asks_another_host_for_anything(visits):
    assert not (found := report(visits, "outside")), found


def test_no_page_has_a_script_error_or_a_failed_load(visits):
    assert not (found := report(visits, "errors")), found


def test_every_formula_is_set(visits):
    assert not (found := report(visits, "unset_formulas")), found
    assert sum(visit.formulas for visit in visits) > 0


def test_nothing_sticks_out_at_telephone_width(visits):
    assert not (found := report(visits, "sticking_out")), found


def test_figures_show_the_image_of_the_mode(visits, request):
    mode = request.node.callspec.params["visits"]
    shown = {kind for visit in visits for kind in visit.shown_figures}
    assert shown == {mode}


def test_every_control_shows_that_it_has_focus(visits):
    assert not (found := report(visits, "without_focus")), found


def test_nothing_moves_for_whoever_asked_for_less_motion(visits):
    assert not (found := report(visits, "moving")), found


def test_no_chapter_weighs_too_much_when_read_to_the_end(visits):
    chapters = [visit for visit in visits if visit.page.startswith("notebooks/")]
    assert chapters
    too_heavy = [
        f"{visit.page} weighs {sum(visit.loads.values()):,} bytes, most of it in\n{heaviest(visit)}"
        for visit in chapters
        if sum(visit.loads.values()) >= HEAVIEST_CHAPTER
    ]
    assert not too_heavy, "\n".join(too_heavy)


def heaviest(visit: Visit) -> str:
    parts = sorted(visit.loads.items(), key=lambda load: -load[1])[:8]
    return "\n".join(f"{size:>10,} {urlsplit(address).path}" for address, size in parts)


def test_no_page_loads_a_picture_of_the_other_mode(visits):
    assert any(visit.hidden_figures for visit in visits)
    for visit in visits:
        assert not set(visit.hidden_figures) & set(visit.loads), visit.page


def selectors_in(rules: list) -> set[str]:
    """What the rules of a style sheet ask for, without `:hover` and the like."""
    found = set()
    for rule in rules:
        if rule.type == "qualified-rule":
            found |= {PSEUDO.sub("", tinycss2.serialize(s)).strip() for s in split(rule.prelude)}
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            found |= selectors_in(tinycss2.parse_rule_list(rule.content, skip_comments=True))
    return found


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("pydata-sphinx-theme", "styles/pydata-sphinx-theme.css"),
        ("sphinx-book-theme", "styles/sphinx-book-theme.css"),
        ("sphinx-design", "sphinx-design.min.css"),
    ],
)
def test_no_rule_that_a_page_needs_was_cut(package, name, book, address, chromium):
    whole = next(f for f in files(package) if f.as_posix().endswith(name)).read_text("utf-8")
    cut = (book.html / "_static" / name).read_text("utf-8")
    dropped = selectors_in(tinycss2.parse_stylesheet(whole, skip_comments=True))
    dropped -= selectors_in(tinycss2.parse_stylesheet(cut, skip_comments=True))
    assert dropped
    chapter = book.chapters[4].relative_to(book.html).as_posix()
    for page_name in (
        chapter,
        "book/pages/generated/api.html",
        "book/pages/written/bibliography.html",
        "search.html?q=softmax",
    ):
        page = open_page(chromium, f"{address}/{page_name}")
        assert page.evaluate(MATCHING, sorted(dropped)) == []
        page.close()
