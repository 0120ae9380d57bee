"""After "Predict before you run" the output waits behind a click; on paper it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TAG = "tag_predict"
OPEN = '<details class="tfm-predict"><summary>You have a prediction? Show the output</summary>'


def fold_outputs(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    for cell in list(doctree.findall(nodes.container)):
        if TAG not in cell["classes"]:
            continue
        for output in [n for n in cell.children if "cell_output" in n.get("classes", [])]:
            place = cell.index(output)
            cell.insert(place + 1, nodes.raw("", "</details>", format="html"))
            cell.insert(place, nodes.raw("", OPEN, format="html"))


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", fold_outputs)
