"""A learner at a chapter's page: opens exercises, types answers, checks, and reads what is said."""

import json
from pathlib import Path

from book.live.cells import describe
from tfmlib.checking.catalogue import modules
from tfmlib.support import notebooks

ROOT = Path(__file__).resolve().parents[1]

PATIENT = 180_000  # ms: a busy machine is no reason to fail
IS_IDLE = "node => node.getAttribute('aria-busy') === 'false'"
# Runs one cell and gives what the page shows of it, without a wait for each click.
RUN = """async index => {
    const cell = tfmLive.chapter.cells[index];
    cell.opened = () => {};
    await cell.open();
    await cell.run();
    const all = kind => [...cell.out.querySelectorAll('pre.tfm-' + kind)];
    const text = kind => all(kind).map(part => part.textContent).join('');
    return { out: text('out'), err: text('err') };
}"""
CHECK = """async ([index, answer]) => {
    const cell = tfmLive.chapter.cells[index];
    if (!cell.editor) { cell.opened = () => {}; await cell.open(); }
    if (answer !== null) cell.editor.set(answer);
    await cell.go();
    return cell.out.innerText;
}"""


def address_of(book: Path, chapter: int) -> str:
    """A chapter's page on disk."""
    topic = modules()[chapter][5:].replace("_", "-")
    return (book / f"notebooks/{chapter:02}-{topic}.html").resolve().as_uri()


def stored_cells(chapter: int) -> tuple[list[dict], list[dict]]:
    """A chapter's code cells, as committed, and their kinds."""
    path = next((ROOT / "notebooks").glob(f"{chapter:02}-*.ipynb"))
    return notebooks.code_cells(json.loads(path.read_text("utf-8"))), describe(path)["cells"]


def text_of(output: dict) -> str:
    """What Jupyter printed, or showed of the last value."""
    if output["output_type"] == "stream":
        return "".join(output["text"])
    return "".join(output["data"]["text/plain"]) + "\n"


class Learner:
    def __init__(self, page):
        self.page = page
        page.set_default_timeout(PATIENT)

    def cell(self, id: str):
        """The cell of an exercise."""
        index = self.page.evaluate(
            "id => tfmLive.chapter.cells.findIndex(cell => cell.id === id)", id
        )
        assert index >= 0, f"exercise {id} is not on this page"
        return self.numbered(index)

    def numbered(self, index: int):
        """The code cell with this number, from 0."""
        return self.page.locator("div.cell:has(.cell_input)").nth(index)

    def open(self, id: str):
        """Press "Try it here", and wait for the editor and for Python."""
        cell = self.cell(id)
        cell.get_by_role("button", name="Try it here").click()
        cell.locator(".tfm-live-status", has_text="Ready").wait_for()
        return cell

    def type(self, id: str, answer: str) -> None:
        """Replace all that the editor has, as by pasting."""
        editor = self.cell(id).locator(".cm-content")
        editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(answer)

    def press(self, id: str, name: str) -> str:
        """Press a button and wait until Python has done; return what the page shows."""
        cell = self.cell(id)
        self.button(cell, name).click()
        return self.result(cell)

    def button(self, cell, name: str):
        return cell.locator(".tfm-live-bar button").get_by_text(name, exact=True)

    def check(self, id: str, answer: str) -> str:
        self.type(id, answer)
        return self.press(id, "Check")

    def result(self, cell) -> str:
        self.page.wait_for_function(IS_IDLE, arg=cell.element_handle())
        return cell.locator(".tfm-live-out").inner_text()

    def status(self, id: str) -> str:
        return self.cell(id).locator(".tfm-live-status").inner_text()
