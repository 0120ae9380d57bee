"""Citations read as text and lead to the bibliography, where every work has a link and a use."""

import doctest
import re
from pathlib import Path

import nbformat
import pytest

from book import citations
from book.citations import CITE, entries, linked

ROOT = Path(__file__).resolve().parents[2]
PLACE = "../book/pages/written/bibliography.md#ref-"


def test_the_worked_line_is_true():
    result = doctest.testmod(citations)
    assert result.attempted
    assert not result.failed


def test_one_author_two_and_many_are_told_apart():
    assert "[Gage, 1994](" in linked("{cite}`gage1994`")
    assert "[Press and Wolf, 2017](" in linked("{cite}`press2017`")
    assert "[Vaswani et al., 2017](" in linked("{cite}`vaswani2017attention`")
    assert "[van den Oord et al. (2018)](" in linked("{cite:t}`oord2018`")


def test_several_keys_share_one_pair_of_brackets():
    text = linked("{cite}`ba2016layer, he2016deep`")
    assert text == (
        rf"\[[Ba et al., 2016]({PLACE}ba2016layer); [He et al., 2016]({PLACE}he2016deep)\]"
    )


def test_an_unknown_key_is_named():
    with pytest.raises(LookupError, match="has no entry 'nobody1900'"):
        linked("{cite}`nobody1900`")


@pytest.mark.parametrize("key", entries())
def test_every_work_has_authors_a_year_and_a_place_where_it_can_be_read(key):
    work = entries()[key]
    assert re.search(r"\w\.?, \d{4}\]", linked(f"{{cite}}`{key}`"))
    link = work.fields.get("url") or f"https://doi.org/{work.fields['doi']}"
    assert re.fullmatch(r"https?://[\w.-]+/\S*", link)


def test_every_work_is_cited_and_every_citation_has_a_work():
    sources = [*ROOT.glob("book/chapters/*.md"), *ROOT.glob("book/pages/written/*.md")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    cited = {key.strip() for match in CITE.finditer(text) for key in match["keys"].split(",")}
    assert set(entries()) == cited


def test_no_work_is_there_twice():
    titles = [re.sub(r"\W", "", work.fields["title"]).lower() for work in entries().values()]
    assert len(titles) == len(set(titles))


def test_no_notebook_has_a_citation_that_jupyterlab_cannot_read():
    paths = [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("solutions/*.ipynb")]
    assert paths
    for path in paths:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not CITE.search(cell.source), path.name
