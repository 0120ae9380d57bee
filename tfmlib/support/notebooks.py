"""Reading notebooks as JSON: the code of their cells, and the cells that hold exercises."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]  # of a clone: notebooks/ and solutions/ are there


@dataclass(frozen=True)
class Cell:
    """The code of an answer, with the chapter's set-up that it relies on."""

    setup: str
    source: str

    def function(self, name: str, source: str | None = None) -> Callable[..., Any]:
        """The answer itself, or what other code makes of it."""
        names: dict[str, Any] = {}
        exec(self.setup, names)
        exec(self.source if source is None else source, names)
        found: Callable[..., Any] = names[name]
        return found


def code_cells(notebook: Any) -> list[dict[str, Any]]:
    """The code cells of a notebook of any format, as far as it is one."""
    if not isinstance(notebook, dict):
        return []
    sheets = notebook.get("worksheets")  # formats 1 to 3
    holders = [notebook, *(sheets if isinstance(sheets, list) else [])]
    lists = [holder.get("cells") for holder in holders if isinstance(holder, dict)]
    cells = [cell for found in lists if isinstance(found, list) for cell in found]
    return [c for c in cells if isinstance(c, dict) and c.get("cell_type") == "code"]


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell, whatever the notebook's format."""
    source = cell.get("source", cell.get("input", ""))  # "input" up to format 3
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def is_setup(cell: dict[str, Any]) -> bool:
    return "setup" in cell["metadata"].get("tags", [])


def read_folder(folder: str) -> list[list[dict[str, Any]]]:
    """The code cells of each notebook in a folder of the clone; none where there is no clone."""
    paths = sorted((ROOT / folder).glob("*.ipynb"))
    return [code_cells(json.loads(path.read_text(encoding="utf-8"))) for path in paths]


@cache
def exercise_cells(folder: str) -> dict[str, Cell]:
    """Exercise id -> its answer's cell in a folder of compiled notebooks."""
    found = {}
    for code in read_folder(folder):
        setup = "\n".join(source_of(cell) for cell in code if is_setup(cell))
        for cell in code:
            if "exercise" in cell["metadata"]:
                found[cell["metadata"]["exercise"]] = Cell(setup, source_of(cell))
    return found


@cache
def statements() -> dict[str, str]:
    """Exercise id -> the text that stands before its blank: what the learner is told."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                text = source_of(cell)
            elif "exercise" in cell["metadata"]:
                found[cell["metadata"]["exercise"]] = f"{text}\n{source_of(cell)}"
    return found
