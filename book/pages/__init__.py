"""The pages of the book that are made and not written.

python -m book.pages
"""

from pathlib import Path

from book.pages.api import api_page
from book.pages.chapters import CHAPTERS, ROOT, ledger_uses
from book.pages.equations import equations_page
from book.pages.exercises import exercises_page
from book.pages.ledger import ledger_page


def made() -> dict[Path, str]:
    """Each made page with its text."""
    folder = ROOT / "book"
    return {
        folder / "ledger.md": ledger_page(ledger_uses(CHAPTERS)),
        folder / "equations.md": equations_page(),
        folder / "exercises.md": exercises_page(),
        folder / "api.md": api_page(),
    }


def write() -> None:
    """Write the pages that changed."""
    for path, text in made().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
