"""A learner's ways: to the notebook from each chapter, and to the list from each exercise.

The note on top of a chapter says how to work it, in the page and in Jupyter; its blank notebook
lies beside the page. From an
exercise a link leads to its solution, which the manuscript has, and one to the list of them all.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx_exercise.nodes import is_exercise_node

from .numbering import chapter_number, exercise_number

if TYPE_CHECKING:
    from sphinx.application import Sphinx

IN_JUPYTER = """In Jupyter: in your clone of the book, run <code>make lab</code> and open
<code>{notebook}</code>. Or <a href="{name}" download>download the blank notebook</a> and put it
into the clone’s <code>notebooks</code> folder first: it needs the book’s library
<code>tfmlib</code>, and its links lead to files there. An exercise has the same number here and
there."""
NOTE = """<div class="tfm-work" role="note">
<strong>Work this chapter.</strong> {how}
</div>
"""
# Closed until asked for: who can work here and now need not read how to install anything.
BOTH_DOORS = """Here in the page: press <em>Try it here</em> at an exercise or <em>Run</em> at a
cell. Your answers stay in this browser.
<details class="tfm-fold"><summary>Work in Jupyter instead, or take your answers there</summary>
<p>{in_jupyter}</p>
<p><em>Download as a notebook</em> fills in your answers to this chapter. For all that this browser
keeps, press <em>Save my answers</em> and run
<code>python -m tfmlib answers load my-answers.json</code>; what you solve there comes back with
<code>python -m tfmlib answers save my-answers.json</code> and
<em>Open saved answers</em>.</p>
</details>"""
ALL_EXERCISES = "book/pages/generated/exercises"


def add_note(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Say how to come to the notebook, in place of the notebook's cell on the way back."""
    if app.builder.format != "html" or chapter_number(docname) is None:
        return
    title = next(doctree.findall(nodes.title))
    in_jupyter = IN_JUPYTER.format(
        notebook=f"{docname}.ipynb", name=f"{PurePosixPath(docname).name}.ipynb"
    )
    how = BOTH_DOORS.format(in_jupyter=in_jupyter) if app.has_python else in_jupyter
    html = NOTE.format(how=how)
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", html, format="html"))


def link_to_list(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Beside the link to its solution, an exercise gets one to its chapter in the list of all."""
    if app.builder.format != "html" or ALL_EXERCISES not in app.env.found_docs:
        return
    uri = app.builder.get_relative_uri(docname, ALL_EXERCISES)
    for exercise in doctree.findall(is_exercise_node):
        chapter, _ = exercise_number(exercise["label"])
        solution = next(reversed(list(exercise.findall(nodes.paragraph))))
        place = f"{uri}#exercises-of-{chapter}"
        link = nodes.reference("", "All exercises", refuri=place, internal=True)
        solution += [nodes.Text(" · "), link]


def copy_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Put each blank notebook beside its page, where the note's link expects it."""
    if exception is not None or app.builder.format != "html":
        return
    for docname in app.env.found_docs:
        if chapter_number(docname) is not None:
            shutil.copy2(app.env.doc2path(docname), Path(app.outdir, f"{docname}.ipynb"))


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", add_note)
    app.connect("doctree-resolved", link_to_list)
    app.connect("build-finished", copy_notebooks)
