"""The note on top of each chapter that says how to work it, with the blank notebook to download."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from docutils import nodes

from .numbering import chapter_number

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NOTE = """<div class="tfm-work" role="note">
<strong>Work this chapter.</strong>
Open <code>{notebook}</code> in JupyterLab (<code>make lab</code>), or
<a href="{name}" download>download the blank notebook</a>.
</div>
"""


def add_note(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html" or chapter_number(docname) is None:
        return
    title = next(doctree.findall(nodes.title))
    html = NOTE.format(notebook=f"{docname}.ipynb", name=f"{PurePosixPath(docname).name}.ipynb")
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", html, format="html"))


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Put each blank notebook beside its page, where the note's link expects it."""
    if exception is not None or app.builder.format != "html":
        return
    for docname in app.env.found_docs:
        if chapter_number(docname) is not None:
            shutil.copy2(app.env.doc2path(docname), Path(app.outdir, f"{docname}.ipynb"))


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", add_note)
    app.connect("build-finished", copy_notebooks)
