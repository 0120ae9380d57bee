"""What the book adds to Jupyter Book: numbers, links, explorers, pages light and for everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import (
    access,
    explorers,
    figures,
    folds,
    footer,
    highlighting,
    images,
    links,
    live,
    note,
    numbering,
    offline,
    scripts,
    search,
    styles,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = (
    numbering,
    figures,
    links,
    offline,
    note,
    footer,
    explorers,
    folds,
    live,
    search,
    access,
    highlighting,
    images,
    scripts,
    styles,
)


def setup(app: Sphinx) -> dict[str, object]:
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
