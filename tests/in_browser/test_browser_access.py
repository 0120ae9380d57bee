"""Every page of the built book as axe-core sees it: in light and dark, and on a telephone."""

import pytest

from browser import MATHEMATICS_IS_SET, TELEPHONE, Visit, open_page, report, violations

pytestmark = pytest.mark.browser


COLOURS_ALONE = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
ALL_BUT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}


def look_at(chromium, address: str, name: str) -> Visit:
    """Every rule in light; in dark, colours on a desk and all else, which is quick, on a telephone.

    Colours, the slowest rule by far, do not depend on the width.
    """
    visit = Visit(name)
    page = open_page(chromium, f"{address}/{name}", "light", visit)
    visit.violations += violations(page)
    page.emulate_media(color_scheme="dark")
    page.locator('html[data-theme="dark"]').wait_for(state="attached")
    visit.violations += [f"in dark: {line}" for line in violations(page, **COLOURS_ALONE)]
    page.set_viewport_size(TELEPHONE)
    page.evaluate(MATHEMATICS_IS_SET)
    visit.violations += [f"on a telephone: {line}" for line in violations(page, **ALL_BUT_COLOURS)]
    page.close()
    return visit


def test_axe_finds_no_violation(book, address, chromium):
    # Where it objects to a table header: a header needs words, a formula alone is none to axe.
    visits = [look_at(chromium, address, name) for name in book.page_names]
    assert not (found := report(visits, "violations")), found


def test_axe_finds_no_violation_among_search_results(address, chromium):
    visit = look_at(chromium, address, "search.html?q=softmax")
    assert not visit.violations, visit.violations
