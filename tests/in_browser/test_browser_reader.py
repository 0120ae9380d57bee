"""What a reader does in the built book: search, answer, print, go on by keyboard, from disk too."""

import pytest
from playwright.sync_api import expect

from browser import (
    DESKTOP,
    MATHEMATICS_IS_SET,
    NEXT_FRAMES,
    READ_TO_THE_END,
    TELEPHONE,
    UNSET_FORMULAS,
    Visit,
    open_page,
)

pytestmark = pytest.mark.browser

# A chapter that has everything: equations, figures, verdicts, exercises, quizzes.
CHAPTER = "notebooks/04-queries-keys-values.html"
ONE_OF_EACH_KIND = (
    CHAPTER,
    CHAPTER.replace("notebooks", "solutions"),
    "book/pages/written/preface.html",
    "book/pages/generated/welcome.html",
    "book/pages/generated/equations.html",
    "book/pages/generated/exercises.html",
    "book/pages/generated/ledger.html",
)


@pytest.fixture
def chapter(address, chromium):
    """The chapter, open in light mode."""
    page = open_page(chromium, f"{address}/{CHAPTER}")
    yield page
    page.close()


@pytest.fixture(params=["served", "from disk"])
def place(request, book, address) -> str:
    """Where the book is: on a server, or in a folder."""
    return address if request.param == "served" else book.html.as_uri()


def found(page, query: str, what: str) -> list[str]:
    """Ask the search page and return the names of the places or exercises that it lists."""
    page.goto(f"{page.url.split('?')[0]}?q={query}")
    page.locator(".tfm-said").wait_for()
    return page.locator(f"#tfm-found-{what} li > a").all_text_contents()


def test_search_finds_an_exercise_by_number_title_and_statement(place, chromium):
    page = open_page(chromium, f"{place}/search.html")
    weights = "Exercise 4.3: Attention weights"
    assert found(page, "4.3", "exercises") == [weights]
    assert found(page, "exercise+4.3", "exercises") == [weights]
    assert found(page, "attention+weights", "exercises")[0] == weights
    assert found(page, "unit_scale", "exercises") == [
        "Exercise 4.5: The factor that keeps scores at variance 1"
    ]
    assert "Exercise 8.4: Both together" in found(page, "masks", "exercises")  # it says mask
    assert found(page, "zyzzyva", "exercises") == []
    assert "Nothing found" in page.locator(".tfm-said").inner_text()
    page.close()


def test_search_finds_chapters_sections_and_equations_by_number(place, chromium):
    page = open_page(chromium, f"{place}/search.html")
    for query, places in (
        ("4.3", ["Section 4.3: “help me!” by hand", "Equation 4.3"]),
        ("chapter+4", ["Chapter 4: Queries, keys and values"]),
        ("equation+4.3", ["Equation 4.3"]),
    ):
        assert found(page, query, "places") == places, query
    page.locator("#tfm-found-places a").click()
    page.wait_for_url(f"{place}/{CHAPTER}#equation-*")
    assert page.locator(f"[id='{page.url.partition('#')[2]}']").is_visible()
    page.close()


@pytest.mark.parametrize(
    ("query", "chapter"), [("causal+mask", "08-masks"), ("beam+search", "09-the-decoder")]
)
def test_search_leads_to_the_section_with_the_words_around(place, chromium, query, chapter):
    page = open_page(chromium, f"{place}/search.html?q={query}")
    best = page.locator("#tfm-found-places li").first
    assert f"Chapter {int(chapter[:2])}: " in best.locator(".tfm-within").inner_text()
    marked = " ".join(best.locator(".context mark").all_inner_texts()).lower()
    assert query.split("+")[1] in marked
    best.locator("a").click()
    page.wait_for_url(f"{place}/notebooks/{chapter}.html#*")
    heading = page.locator(f"section[id='{page.url.partition('#')[2]}'] > h2")
    expect(heading).to_be_in_viewport()
    page.close()


def test_no_solution_is_found_by_chance(address, chromium):
    page = open_page(chromium, f"{address}/search.html?q=softmax")
    addresses = page.locator(".tfm-found a").evaluate_all("links => links.map(a => a.href)")
    assert len(addresses) > 20
    assert not [link for link in addresses if "/solutions/" in link]
    page.close()


def test_excerpts_are_prose_with_the_signs_of_a_formula(place, chromium):
    page = open_page(chromium, f"{place}/search.html?q=softmax")
    texts = page.locator(".tfm-found .context").all_text_contents()
    assert any("√d_k" in text for text in texts)
    assert not [text for text in texts if "Work this chapter" in text or "\\" in text]
    assert not [text for text in texts if "eq-" in text]
    page.close()


def test_results_fit_a_telephone(address, chromium):
    page = open_page(chromium, f"{address}/search.html?q=softmax")
    page.set_viewport_size(TELEPHONE)
    page.locator("summary", has_text="more").first.click()
    page.evaluate(NEXT_FRAMES)
    assert page.evaluate("document.documentElement.scrollWidth") <= TELEPHONE["width"]
    page.close()


def test_search_leads_to_the_exercise(place, chromium):
    page = open_page(chromium, f"{place}/search.html?q=4.3")
    page.get_by_role("link", name="Exercise 4.3: Attention weights").click()
    page.wait_for_url(f"{place}/{CHAPTER}#ex-4-3")
    assert page.locator("#ex-4-3").is_visible()
    page.close()


def test_the_search_field_leads_to_the_search_page(chapter):
    chapter.keyboard.press("Control+k")
    chapter.keyboard.type("softmax")
    chapter.keyboard.press("Enter")
    chapter.wait_for_url("**/search.html?q=softmax")


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_a_page_works_from_disk(name, book, chromium):
    visit = Visit(name)
    page = open_page(chromium, (book.html / name).as_uri(), "light", visit)
    page.evaluate(READ_TO_THE_END)
    assert page.evaluate(UNSET_FORMULAS) == []
    assert (visit.outside, visit.errors) == ([], [])
    assert all(page.locator("img").evaluate_all(
        "images => images.map(i => !i.getClientRects().length || i.naturalWidth > 0)"
    ))  # fmt: skip
    page.close()


def test_mathematics_fonts_and_quizzes_work_from_disk(book, chromium):
    page = open_page(chromium, (book.html / CHAPTER).as_uri())
    assert page.locator(".math mjx-container").count() > 0
    assert page.evaluate("document.fonts.check('16px MJXTEX-I')")
    quiz = page.locator("article details.sd-dropdown").first
    quiz.locator("summary").click()
    assert quiz.locator(".sd-summary-content").is_visible()
    page.close()


def test_a_quiz_opens_and_closes_by_keyboard(chapter):
    quiz = chapter.locator("article details.sd-dropdown").first
    answer = quiz.locator(".sd-summary-content")
    quiz.locator("summary").focus()
    for key in ("Enter", "Space"):
        assert not answer.is_visible()
        chapter.keyboard.press(key)
        assert answer.is_visible()
        chapter.keyboard.press(key)
    assert not answer.is_visible()


def test_the_skip_link_is_the_first_stop_and_leads_past_the_navigation(chapter):
    chapter.keyboard.press("Tab")
    link = chapter.locator("#pst-skip-link a")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport(ratio=1)
    chapter.keyboard.press("Enter")
    chapter.wait_for_url("**#main-content")
    chapter.keyboard.press("Tab")
    assert chapter.evaluate("!!document.activeElement.closest('main')")


def test_a_button_says_by_keyboard_what_it_does(chapter):
    button = chapter.locator(".theme-switch-button")
    bubble = "button => getComputedStyle(button, '::after').content"
    assert button.evaluate(bubble) == "none"
    chapter.keyboard.press("Tab")
    button.focus()
    assert button.evaluate(bubble) == f'"{button.get_attribute("title")}"'


def test_every_icon_is_drawn(chapter):
    drawn = "icons => icons.map(icon => getComputedStyle(icon).maskImage.startsWith('url('))"
    width = "icons => icons.map(icon => icon.getBoundingClientRect().width)"
    assert all(chapter.locator(":is(.fa-solid, .fas)").evaluate_all(drawn))
    shown = chapter.locator(":is(.fa-solid, .fas):visible")
    assert shown.count() > 5
    assert min(shown.evaluate_all(width)) > 8


def test_the_mode_button_goes_through_the_modes(chapter):
    seen = set()
    for _ in range(3):
        chapter.locator(".theme-switch-button").click()
        seen.add(chapter.locator("html").get_attribute("data-mode"))
        assert chapter.locator(".theme-switch:visible").count() == 1
    assert seen == {"light", "dark", "auto"}


def test_the_mode_button_keeps_the_focus_of_a_keyboard(chapter):
    chapter.locator(".theme-switch-button").focus()
    seen = []
    for _ in range(3):
        chapter.keyboard.press("Enter")
        seen.append(chapter.locator("html").get_attribute("data-mode"))
    assert sorted(seen) == ["auto", "dark", "light"]


@pytest.mark.parametrize("button", [".primary-toggle", ".secondary-toggle", ".search-button"])
def test_who_closes_what_a_button_opened_is_back_at_the_button(chapter, button):
    chapter.set_viewport_size(TELEPHONE)
    chapter.locator(f"{button}:visible").first.focus()
    chapter.keyboard.press("Enter")
    chapter.wait_for_function("document.querySelector('dialog[open]')")
    chapter.keyboard.press("Escape")
    chapter.wait_for_function("!document.querySelector('dialog[open]')")
    expect(chapter.locator(f"{button}:visible").first).to_be_focused()


def test_the_menu_opens_on_a_telephone(chapter):
    chapter.set_viewport_size(TELEPHONE)
    chapter.locator(".primary-toggle").click()
    link = chapter.get_by_role("link", name="5. Many heads").first
    link.click()
    chapter.wait_for_url("**/notebooks/05-many-heads.html")


def test_the_way_up_is_offered_to_whoever_turns_back(chapter):
    chapter.set_viewport_size(TELEPHONE)
    button = chapter.locator("#pst-back-to-top")
    chapter.evaluate("scrollTo({ top: 5000, behavior: 'instant' })")
    chapter.evaluate(NEXT_FRAMES)
    assert not button.is_visible()
    chapter.mouse.wheel(0, -300)
    button.wait_for(state="visible")
    button.click()
    chapter.wait_for_function("scrollY === 0")


def test_a_verdict_shows_its_sentence_on_hover_and_on_focus(chapter):
    badge = chapter.locator('article a[href*="ledger.html#"]').first
    bubble = "badge => getComputedStyle(badge, '::after').content"
    sentence = badge.get_attribute("aria-description")
    assert badge.evaluate(bubble) == "none"
    badge.hover()
    assert sentence in badge.evaluate(bubble).replace('\\"', '"')
    chapter.mouse.move(0, 0)
    assert badge.evaluate(bubble) == "none"
    chapter.keyboard.press("Tab")
    badge.focus()
    assert sentence in badge.evaluate(bubble).replace('\\"', '"')


def test_a_long_equation_can_be_scrolled_by_keyboard(chapter):
    chapter.set_viewport_size({"width": 200, "height": 800})
    chapter.evaluate(MATHEMATICS_IS_SET)
    wide = "box => box.scrollWidth > box.clientWidth + 1"
    equations = chapter.locator('mjx-container[display="true"]').all()
    scrolling = [box for box in equations if box.evaluate(wide)]
    assert scrolling
    assert all(box.get_attribute("tabindex") == "0" for box in scrolling)
    edge = "box => getComputedStyle(box).boxShadow !== 'none'"
    signs = [box.evaluate(edge) for box in equations]
    assert signs == [box in scrolling for box in equations]  # who reads sees that there is more


def test_the_index_leads_to_the_landing_page(address, chromium):
    page = chromium.new_page()
    page.goto(f"{address}/")
    page.wait_for_url(f"{address}/book/pages/generated/welcome.html")
    page.close()


def test_the_landing_page_has_three_ways_in_within_the_first_screen(address, chromium):
    page = open_page(chromium, f"{address}/book/pages/generated/welcome.html")
    ways = page.locator(".tfm-ways a")
    assert [way.inner_text().split()[0] for way in ways.all()] == ["Read", "Do", "Teach"]
    for way in ways.all():
        box = way.bounding_box()
        assert box["y"] + box["height"] <= DESKTOP["height"]
    figure = page.locator("figure.tfm-captioned")
    assert figure.locator("img:visible").count() == 1
    figure.get_by_role("link").click()
    page.wait_for_url(f"{address}/{CHAPTER}#fig-*")
    page.close()


def test_a_learner_finds_the_way_to_the_solution_and_back(chapter, address):
    exercise = chapter.locator("#ex-4-3")
    exercise.get_by_role("link", name="Solution").click()
    chapter.wait_for_url(f"{address}/solutions/04-queries-keys-values.html#*")
    chapter.get_by_role("link", name="Back to the exercise").nth(2).click()
    chapter.wait_for_url(f"{address}/{CHAPTER}#ex-4-3")


def test_a_learner_finds_the_way_to_the_list_and_back(chapter, address):
    chapter.locator("#ex-4-3").get_by_role("link", name="All exercises").click()
    chapter.wait_for_url(f"{address}/book/pages/generated/exercises.html#exercises-of-4")
    expect(chapter.get_by_role("heading", name="4. Queries, keys and values")).to_be_in_viewport()
    chapter.get_by_role("link", name="4.3 Attention weights").click()
    chapter.wait_for_url(f"{address}/{CHAPTER}#ex-4-3")


def test_the_printed_page_has_no_navigation(address, chromium):
    page = open_page(chromium, f"{address}/{CHAPTER}", "dark")
    page.emulate_media(media="print")
    for hidden in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer", ".tfm-dark"):
        assert page.locator(hidden).count() > 0
        assert not any(box.is_visible() for box in page.locator(hidden).all()), hidden
    assert page.locator(".tfm-light").first.is_visible()
    assert page.locator("article h1").is_visible()
    page.close()


def test_printing_opens_the_quizzes_and_loads_every_figure_of_the_light_page(address, chromium):
    visit = Visit(CHAPTER)
    page = open_page(chromium, f"{address}/{CHAPTER}", "dark", visit)
    light = page.locator("img.tfm-light").evaluate_all("images => images.map(i => i.src)")
    before = page.locator("article details[open]").count()
    page.evaluate("""() => addEventListener('beforeprint', () => setTimeout(() => {
        window.closedQuizzes = document.querySelectorAll('article details:not([open])').length;
    }))""")
    page.pdf()
    assert light
    page.wait_for_function(
        "[...document.querySelectorAll('img.tfm-light')].every(i => i.complete && i.naturalWidth)"
    )
    assert set(light) <= set(visit.loads)
    assert page.evaluate("window.closedQuizzes") == 0
    assert page.locator("article details[open]").count() == before
    page.close()
