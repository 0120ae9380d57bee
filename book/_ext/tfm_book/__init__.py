"""What the book adds to Jupyter Book: numbers, links, offline mathematics, accessible pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import access, links, note, numbering, offline

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, object]:
    for part in (numbering, links, offline, note, access):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
