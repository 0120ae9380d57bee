"""A learner at a page: the keyboard, hints, the solution, a reload, a file to take home."""

import json

import pytest

from browser import AT_REST, DESKTOP, TELEPHONE, Visit, open_page, violations, watch
from learner import PATIENT, Learner, address_of
from tfmlib.support import notebooks

pytestmark = pytest.mark.browser

SOLUTION = notebooks.exercise_cells("solutions")["8.1"].source
CHAPTER = "notebooks/08-masks.html"


@pytest.fixture(scope="module")
def visit() -> Visit:
    return Visit(CHAPTER)


@pytest.fixture(scope="module")
def context(chromium):
    """One reader's browser: what it keeps outlasts a page."""
    made = chromium.new_context(viewport=DESKTOP, accept_downloads=True, **AT_REST)
    yield made
    made.close()


@pytest.fixture(scope="module")
def learner(context, address, visit) -> Learner:
    """At chapter 8, over http, with exercise 8.1 open."""
    page = context.new_page()
    watch(page, visit, address.removeprefix("http://"))
    page.goto(f"{address}/{CHAPTER}")
    made = Learner(page)
    made.open("8.1")
    return made


def test_shift_enter_checks_and_the_outcome_is_announced(learner):
    learner.type("8.1", SOLUTION)
    learner.page.keyboard.press("Shift+Enter")
    said = learner.result(learner.cell("8.1"))
    assert "Exercise 8.1" in said
    assert "passed" in said
    status = learner.cell("8.1").get_by_role("status")
    assert "passed" in status.inner_text()


def test_tab_indents_and_escape_then_tab_leaves(learner):
    learner.type("8.1", "x = 1")
    learner.page.keyboard.press("Home")
    learner.page.keyboard.press("Tab")
    cell = learner.cell("8.1")
    assert cell.locator(".cm-line").first.inner_text() == "    x = 1"
    assert "Esc, then Tab" in cell.locator(".tfm-live-keys").inner_text()
    learner.page.keyboard.press("Escape")
    learner.page.keyboard.press("Tab")
    focused = learner.page.evaluate("document.activeElement.textContent")
    assert focused == "Check"


def test_hints_come_step_by_step(learner):
    assert "hint 1 of 3" in learner.press("8.1", "Hint")
    assert "hint 2 of 3" in learner.press("8.1", "Hint")


def test_start_over_takes_nothing_away_for_good(learner):
    learner.type("8.1", SOLUTION)
    cell = learner.cell("8.1")
    learner.button(cell, "Start over").click()
    assert "raise NotImplementedError" in cell.locator(".cm-content").inner_text()
    learner.button(cell, "Bring my answer back").click()
    assert "raise NotImplementedError" not in cell.locator(".cm-content").inner_text()
    assert "passed" in learner.press("8.1", "Check")


def test_the_solution_waits_for_an_attempt(learner):
    cell = learner.open("8.2")
    assert learner.button(cell, "Solution").is_disabled()
    learner.check("8.2", "def look_ahead_mask(n):\n    return n\n")
    assert "return" in learner.press("8.2", "Solution")
    link = cell.get_by_role("link", name="the discussion")
    assert link.get_attribute("href").endswith("solutions/08-masks.html#sol-8-2")


def test_where_the_link_to_the_discussion_leads_there_is_one(book):
    page = (book.html / "solutions/08-masks.html").read_text("utf-8")
    assert 'id="sol-8-2"' in page


def test_answers_and_progress_survive_a_reload(learner):
    learner.check("8.1", SOLUTION)
    learner.page.reload()
    cell = learner.cell("8.1")
    assert "Solved" in cell.get_by_role("status").inner_text()
    learner.open("8.1")
    text = cell.locator(".cm-content").inner_text()
    assert SOLUTION.strip().splitlines()[-1].strip() in text


def test_a_file_carries_answers_to_another_browser_and_back(learner, chromium, address, tmp_path):
    with learner.page.expect_download() as download:
        learner.page.get_by_role("button", name="Save my answers").click()
    saved = tmp_path / "my-answers.json"
    download.value.save_as(saved)
    assert json.loads(saved.read_text("utf-8"))["answers"]["8.1"] == SOLUTION.rstrip("\n")
    elsewhere = chromium.new_page(viewport=DESKTOP, **AT_REST)
    elsewhere.set_default_timeout(PATIENT)
    elsewhere.goto(f"{address}/{CHAPTER}")
    elsewhere.locator("input[type=file]").set_input_files(saved)
    panel = elsewhere.locator(".tfm-live-panel").get_by_role("status")
    panel.get_by_text("taken from my-answers.json").wait_for()
    other = Learner(elsewhere)
    assert "Solved" in other.status("8.1")
    elsewhere.get_by_role("button", name="Undo").click()
    assert "Solved" not in other.status("8.1")
    elsewhere.close()


def test_a_notebook_to_take_home_has_the_answers_in_it(learner, tmp_path):
    with learner.page.expect_download() as download:
        learner.page.get_by_role("button", name="Download as a notebook").click()
    saved = tmp_path / "08-masks.ipynb"
    download.value.save_as(saved)
    cells = notebooks.code_cells(json.loads(saved.read_text("utf-8")))
    answer = next(cell for cell in cells if cell["metadata"].get("exercise") == "8.1")
    assert notebooks.source_of(answer).rstrip() == SOLUTION.rstrip()


def test_what_is_no_file_of_answers_is_told_in_a_sentence(learner, tmp_path):
    bad = tmp_path / "holiday.json"
    bad.write_text("not json at all", "utf-8")
    learner.page.locator("input[type=file]").set_input_files(bad)
    panel = learner.page.locator(".tfm-live-panel").get_by_role("status")
    panel.get_by_text("holiday.json").wait_for()


def test_a_changed_cell_draws_and_prints_anew(learner):
    """And the cells that it needs are run first, with what a reader made of them."""
    index = learner.page.evaluate(
        "tfmLive.chapter.cells.findIndex(c => c.source.includes('plots.') && c.offered)"
    )
    cell = learner.numbered(index)
    cell.locator("details.hide > summary").click()  # what draws a figure is folded away
    learner.button(cell, "Run").click()
    learner.result(cell)
    assert cell.locator(".tfm-live-out svg.tfm-drawing").count() == 1


def test_on_a_telephone_nothing_sticks_out_and_axe_is_content(learner):
    learner.page.set_viewport_size(TELEPHONE)
    width = learner.page.evaluate("document.documentElement.scrollWidth")
    assert width <= TELEPHONE["width"]
    assert violations(learner.page) == []
    learner.page.emulate_media(color_scheme="dark")
    learner.page.locator('html[data-theme="dark"]').wait_for(state="attached")
    assert violations(learner.page) == []
    learner.page.set_viewport_size(DESKTOP)


def test_no_request_left_and_no_error_was_printed(learner, visit):
    assert visit.outside == []
    assert visit.errors == []


def test_a_second_chapter_runs_over_http(chromium, address):
    seen = Visit("chapter 4")
    page = open_page(chromium, f"{address}/notebooks/04-queries-keys-values.html", visit=seen)
    learner = Learner(page)
    learner.open("4.3")
    solution = notebooks.exercise_cells("solutions")["4.3"].source
    assert "passed" in learner.check("4.3", solution)
    assert seen.outside == []
    page.close()


def test_without_storage_the_page_says_so_and_works(book, chromium):
    page = chromium.new_page(viewport=DESKTOP, **AT_REST)
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('forbidden'); }})"
    )
    page.goto(address_of(book.html, 8))
    learner = Learner(page)
    learner.open("8.1")
    assert "passed" in learner.check("8.1", SOLUTION)
    panel = page.locator(".tfm-live-panel").get_by_role("status")
    panel.get_by_text("keeps nothing").wait_for()
    page.close()
