"""What the chapters say that the generated pages need: badges, labels and titles."""

import re
from pathlib import Path

from book.manuscript import LEDGER, TITLE

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "book/chapters"
DESCRIPTION = re.compile(r"^description: *(?P<line>.+)$", re.MULTILINE)
LABEL = re.compile(r"^:label: *(?P<label>eq-\S+) *$", re.MULTILINE)


def chapter_title(path: Path) -> str:
    title = TITLE.search(path.read_text(encoding="utf-8"))
    return title["title"].strip() if title else path.stem


def chapter_line(path: Path) -> str:
    """What a chapter is about in one line, as its front matter has it; or nothing."""
    front_matter = path.read_text(encoding="utf-8").split("\n---\n", 1)[0]
    line = DESCRIPTION.search(front_matter)
    return line["line"].strip() if line else ""


def ledger_uses(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Ledger id -> the chapters, as (file stem, title), that carry its badge."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(folder.glob("*.md")):
        for id in dict.fromkeys(LEDGER.findall(path.read_text(encoding="utf-8"))):
            uses.setdefault(id, []).append((path.stem, chapter_title(path)))
    return uses


def equation_labels(folder: Path) -> dict[str, tuple[str, str]]:
    """Label -> the chapter, as (file stem, title), in which the equation stands."""
    return {
        label: (path.stem, chapter_title(path))
        for path in sorted(folder.glob("*.md"))
        for label in LABEL.findall(path.read_text(encoding="utf-8"))
    }


def chapter_link(stem: str, title: str) -> str:
    """A link to a chapter, with its number.

    >>> chapter_link("04-queries-keys-values", "Queries, keys and values")
    '[4. Queries, keys and values](../../../notebooks/04-queries-keys-values.ipynb)'
    """
    return f"[{int(stem[:2])}. {title}]({notebook(stem)})"


def notebook(stem: str) -> str:
    """Where a chapter's notebook is, seen from a generated page."""
    return f"../../../notebooks/{stem}.ipynb"
