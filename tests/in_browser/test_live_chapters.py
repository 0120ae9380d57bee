"""Every chapter's page from disk: its cells print what the book stores, its exercises are solved.

One visit per chapter; what was seen there is gathered, and each test is a claim about it.
"""

from dataclasses import dataclass, field
from functools import cache

import pytest

from browser import AT_REST, DESKTOP, Visit, violations, watch
from learner import CHECK, RUN, Learner, address_of, stored_cells, text_of
from tfmlib.checking.catalogue import modules
from tfmlib.support import notebooks

pytestmark = pytest.mark.browser

CHAPTERS = sorted(modules())


@dataclass
class Seen:
    """What one chapter's page did."""

    visit: Visit
    before: list[str] = field(default_factory=list)  # what was loaded before the first click
    printed: dict[int, dict] = field(default_factory=dict)  # cell -> what it printed
    blank: dict[str, str] = field(default_factory=dict)  # exercise -> what was told
    solved: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


def see(page, visit: Visit, chapter: int) -> Seen:
    seen = Seen(visit)
    seen.before = page.evaluate("performance.getEntriesByType('resource').map(r => r.name)")
    cells, kinds = stored_cells(chapter)
    assert len(cells) == len(kinds)
    for index, about in enumerate(kinds):
        if about["kind"] == "run":
            seen.printed[index] = page.evaluate(RUN, index)
        elif about["kind"] == "exercise":
            id = about["exercise"]
            seen.blank[id] = page.evaluate(CHECK, [index, None])
            solution = notebooks.exercise_cells("solutions")[id].source
            seen.solved[id] = page.evaluate(CHECK, [index, solution])
    seen.violations = violations(
        page, {"exclude": [["mjx-math"]]}, rules={"color-contrast": {"enabled": chapter == 4}}
    )
    return seen


@pytest.fixture(scope="module")
def chapters(book, chromium):
    """A chapter as it was seen, each visited once."""

    @cache
    def visited(chapter: int) -> Seen:
        page = chromium.new_page(viewport=DESKTOP, **AT_REST)
        visit = Visit(f"chapter {chapter}")
        watch(page, visit, "")
        Learner(page)
        page.goto(address_of(book.html, chapter))
        seen = see(page, visit, chapter)
        page.close()
        return seen

    return visited


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_numpy_cell_prints_what_is_stored(chapter, chapters):
    cells, _ = stored_cells(chapter)
    for index, shown in chapters(chapter).printed.items():
        assert shown["err"] == "", f"cell {index + 1}: {shown['err']}"
        if "nbval-ignore-output" in cells[index]["metadata"].get("tags", []):
            continue  # a figure, or a time
        assert shown["out"] == "".join(map(text_of, cells[index]["outputs"])), f"cell {index + 1}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_exercise_is_blank_at_first_and_passes_when_solved(chapter, chapters):
    seen = chapters(chapter)
    assert seen.blank
    assert all("not attempted" in said for said in seen.blank.values()), seen.blank
    wrong = {id: said for id, said in seen.solved.items() if ": passed" not in said}
    assert wrong == {}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_is_asked_of_anyone_and_nothing_of_python_before_a_click(chapter, chapters):
    seen = chapters(chapter)
    assert seen.visit.outside == []
    assert seen.visit.errors == []
    assert not [name for name in seen.before if "/live/" in name and "/live/live." not in name]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_axe_finds_nothing_with_all_editors_open(chapter, chapters):
    assert chapters(chapter).violations == []
