"""Search that finds exercises: by number, by title, by a word of the statement.

Sphinx's own index knows pages and headings; an exercise is neither, and it leaves out numbers. So
the search page gets a list of all exercises, and search.js looks there too.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx_exercise.nodes import exercise_subtitle, is_exercise_node

from .numbering import exercise_number

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT = Path(__file__).with_name("search.js")
LIST = "exercises-list.js"


def describe(exercise: nodes.Element) -> dict[str, str]:
    """What a reader may look for in an exercise, and its anchor."""
    title = next(exercise.findall(exercise_subtitle))
    statement = " ".join(part.astext() for part in exercise.children[1:])
    return {
        "number": ".".join(map(str, exercise_number(exercise["label"]))),
        "title": " ".join(title.astext().split()),
        # The link at its end is no part of it: else a search for "solution" would find them all.
        "statement": " ".join(statement.split()).removesuffix("Solution").rstrip(),
        "anchor": exercise["ids"][0],
    }


def gather(app: Sphinx, doctree: nodes.document) -> None:
    found = [describe(node) for node in doctree.findall(is_exercise_node)]
    app.env.metadata[app.env.docname]["exercises"] = found


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    if page == "search":
        app.add_js_file(LIST)
        app.add_js_file(SCRIPT.name, loading_method="defer")


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """A script, not JSON: a page opened from disk may load the one, but not read the other."""
    if exception is not None or app.builder.format != "html":
        return
    exercises = [
        {**exercise, "page": app.builder.get_target_uri(docname)}
        for docname, metadata in sorted(app.env.metadata.items())
        for exercise in metadata.get("exercises", [])
    ]
    static = Path(app.outdir, "_static")
    data = json.dumps(exercises, ensure_ascii=False)
    static.joinpath(LIST).write_text(f"window.tfmExercises = {data};\n", encoding="utf-8")
    shutil.copy2(SCRIPT, static / SCRIPT.name)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", gather)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_files)
