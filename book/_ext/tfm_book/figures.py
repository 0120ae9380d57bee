"""Figures with their captions: a picture, its number and what it shows belong together.

A notebook has the caption as a paragraph behind the cell that draws; here both become one figure.
A page that is no notebook can show a chapter's figure as `{book-figure} name`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .cells import OUTPUT, parts

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FIGURE = "fig-"  # how the label of a figure begins
OPEN = '<figure class="tfm-captioned" id="{label}">'
CAPTION, CLOSE = "<figcaption>", "</figcaption></figure>"


def join_captions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Move each caption into its cell, behind the output, and the code that draws behind both."""
    for caption in list(doctree.findall(nodes.paragraph)):
        label = next((name for name in caption["names"] if name.startswith(FIGURE)), None)
        if label is None:
            continue
        cell = previous_cell(caption)
        caption.parent.remove(caption)
        caption["ids"] = [id for id in caption["ids"] if id != label]  # the figure has it now
        output = parts(cell, OUTPUT)[0]
        rest = [node for node in cell.children if node is not output]
        cell[:] = [
            html(OPEN.format(label=label)), output, html(CAPTION), caption, html(CLOSE), *rest
        ]  # fmt: skip


def previous_cell(caption: nodes.paragraph) -> nodes.Element:
    """The nearest code cell above a caption, in its section."""
    before = caption.parent.children[: caption.parent.index(caption)]
    return next(node for node in reversed(before) if "cell" in node.get("classes", []))


def html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


class BookFigure(SphinxDirective):
    """A figure of a chapter, with a link to the place where it is explained."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        label = FIGURE + self.arguments[0]
        for path in sorted(Path(self.env.srcdir, "notebooks").glob("*.ipynb")):
            picture = stored_picture(path, label)
            if picture is not None:
                self.env.note_dependency(str(path))
                there = f"../../../notebooks/{path.stem}.ipynb#cell-id={label}"
                link = self.parse_text_to_nodes(f"[Follow it step by step]({there})")
                opening = html('<figure class="tfm-captioned">')
                return [opening, html(picture), html(CAPTION), *link, html(CLOSE)]
        raise self.error(f"there is no figure {self.arguments[0]} in the notebooks.")


def stored_picture(path: Path, label: str) -> str | None:
    """The HTML of a notebook's figure as it was stored, or None."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    for drawing, caption in pairwise(cells):
        if caption.get("id") == label:
            (output,) = drawing["outputs"]
            return "".join(output["data"]["text/html"])
    return None


def setup(app: Sphinx) -> None:
    app.add_directive("book-figure", BookFigure)
    # After MyST-NB has folded the code, before the others look at the cells.
    app.connect("doctree-resolved", join_captions, priority=400)
