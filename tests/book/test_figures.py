"""Figures have numbers and captions, the text leads to them, and every chapter shows its idea."""

import re
from pathlib import Path

import nbformat
import pytest
from book_text import FRONT

from book import compiler
from book.manuscript import CAPTION, FIGURE, ManuscriptError, figure_numbers, read, read_all
from tfmlib.plots import diagrams

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "book/chapters").glob("*.md"))
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
DRAWN = "\n```{code-cell} ipython3\nprint(6 * 7)\n```\n"
GOOD = (
    FRONT
    + "\n# A title\n\nSee {fig}`forty-two`.\n"
    + DRAWN
    + "\n```{caption} forty-two\nSix times seven.\n```\n"
    + DRAWN
    + "\n```{caption} again\nAs in {fig}`forty-two`.\n```\n"
)


# --- from the manuscript to the notebook ----------------------------------------------------------


def compiled(path) -> list[nbformat.NotebookNode]:
    return compiler.learner_notebook(read(path)).cells


def test_figures_are_numbered_in_their_order_within_the_chapter(project):
    cells = {cell["id"]: cell for cell in compiled(project(GOOD))}
    assert cells["fig-forty-two"].source.endswith("**Figure 4.1.** Six times seven.")
    assert "**Figure 4.2.** As in" in cells["fig-again"].source


def test_a_reference_leads_to_the_figure_by_its_number_also_from_another_chapter(project):
    project(GOOD)
    other = project(FRONT + "\n# Another\n\n{fig}`again` and {fig}`forty-two`.\n", "05-other.md")
    assert compiled(other)[2].source == (
        "[Figure 4.2](../notebooks/04-doubling.ipynb#cell-id=fig-again) and "
        "[Figure 4.1](../notebooks/04-doubling.ipynb#cell-id=fig-forty-two)."
    )


def test_the_code_of_a_figure_is_folded_and_its_output_not_compared(project):
    code = [cell for cell in compiled(project(GOOD)) if cell.cell_type == "code"]
    assert [cell.metadata.tags for cell in code] == [["hide-input", "nbval-ignore-output"]] * 2


BROKEN = {
    "no name": (GOOD.replace("{caption} again", "{caption}"), "expected a figure's name"),
    "a name of capitals": (GOOD.replace("{caption} again", "{caption} Again"), "got 'Again'"),
    "no cell": (GOOD.replace("\n```{caption} again", "Text.\n\n```{caption} again"), "right above"),
    "no text": (GOOD.replace("Six times seven.", ""), "the caption of forty-two is empty"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_bad_caption_is_refused_with_file_and_line(project, fault):
    text, sentence = BROKEN[fault]
    path = project(text)
    with pytest.raises(ManuscriptError, match=sentence) as error:
        read(path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(error.value))


def test_an_unknown_figure_is_refused(project):
    path = project(GOOD.replace("{fig}`forty-two`.", "{fig}`forty-three`."))
    with pytest.raises(ManuscriptError, match="there is no figure 'forty-three'"):
        compiled(path)


def test_two_figures_of_one_name_are_refused(project):
    project(GOOD)
    path = project(GOOD, "05-other.md")
    with pytest.raises(ManuscriptError, match="a figure 'forty-two' already"):
        read_all(path.parent)


# --- the chapters ---------------------------------------------------------------------------------


def pictures(path: Path) -> dict[str, str]:
    """The figures of a chapter: name -> the code that draws it."""
    blocks = read(path).blocks
    return {
        block.title: blocks[place - 1].source
        for place, block in enumerate(blocks)
        if block.kind == "caption"
    }


@each_chapter
def test_a_chapter_has_six_figures_of_which_three_are_diagrams(path):
    drawn = pictures(path)
    assert len(drawn) >= 6
    assert sum("plots.diagrams." in code for code in drawn.values()) >= 3


@each_chapter
def test_the_text_leads_to_every_figure(path):
    text = CAPTION.sub("", path.read_text("utf-8"))
    named = {match["name"] for match in FIGURE.finditer(text)}
    assert not set(pictures(path)) - named


def test_every_diagram_is_in_a_chapter():
    text = "\n".join(path.read_text("utf-8") for path in CHAPTERS)
    assert len(diagrams.__all__) >= 39
    assert not [name for name in diagrams.__all__ if f"plots.diagrams.{name}(" not in text]


def test_names_and_numbers_agree_with_the_notebooks():
    for name, (path, number) in figure_numbers(ROOT / "book/chapters").items():
        notebook = nbformat.read(ROOT / f"notebooks/{path.stem}.ipynb", as_version=4)
        caption = next(cell for cell in notebook.cells if cell["id"] == f"fig-{name}")
        assert caption.source.startswith(f"(fig-{name})=\n**Figure {number}.** ")
