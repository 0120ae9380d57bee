"""What waits behind a click: outputs to be predicted first, and checks, which ran on a blank.

On paper everything is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

from .cells import INPUT, OUTPUT, parts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TAG = "tag_predict"
OPEN = '<details class="{kind}"><summary>{told}</summary>'
PREDICT = OPEN.format(kind="tfm-predict", told="You have a prediction? Show the output")
CHECK = OPEN.format(kind="tfm-check", told="How Jupyter checks it")
CLOSE = "</details>"


def fold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    for cell in list(doctree.findall(nodes.container)):
        if TAG in cell["classes"]:
            for output in parts(cell, OUTPUT):
                wrap(cell, output, output, PREDICT)
        elif is_blank_check(cell):
            wrap(cell, cell[0], cell[-1], CHECK)


def is_blank_check(cell: nodes.container) -> bool:
    """Say whether a cell of a chapter checks an answer that nobody has given yet."""
    return any(source.astext().startswith("check(") for source in parts(cell, INPUT)) and any(
        "not attempted" in output.astext() for output in parts(cell, OUTPUT)
    )


def wrap(cell: nodes.container, first: nodes.Node, last: nodes.Node, opening: str) -> None:
    cell.insert(cell.index(last) + 1, nodes.raw("", CLOSE, format="html"))
    cell.insert(cell.index(first), nodes.raw("", opening, format="html"))


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", fold)
