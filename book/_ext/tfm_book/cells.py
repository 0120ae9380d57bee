"""A code cell of a page, as MyST-NB builds it: its input and its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes

INPUT, OUTPUT = "cell_input", "cell_output"


def parts(cell: nodes.Element, kind: str) -> list[nodes.Element]:
    """The parts of one kind that are right inside a cell."""
    return [node for node in cell.children if kind in node.get("classes", [])]
