"""Search that finds what has a number: an exercise, a chapter, a section, an equation.

Sphinx's own index knows pages and headings, but leaves out numbers, and an exercise is neither. So
the search page gets a list of what has one, and search.js looks there too: exercises also by title
and by words of their statements.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx_exercise.nodes import exercise_subtitle, is_exercise_node

from .numbering import chapter_number, exercise_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

SCRIPT = Path(__file__).with_name("search.js")
LIST = "search-list.js"


def describe(exercise: nodes.Element) -> dict[str, str]:
    """What a reader may look for in an exercise, and its anchor."""
    title = next(exercise.findall(exercise_subtitle))
    statement = " ".join(part.astext() for part in exercise.children[1:])
    return {
        "number": _dotted(exercise_number(exercise["label"])),
        "title": " ".join(title.astext().split()),
        # The link at its end is no part of it: else a search for "solution" would find them all.
        "statement": " ".join(statement.split()).removesuffix("Solution").rstrip(),
        "anchor": exercise["ids"][0],
    }


def gather(app: Sphinx, doctree: nodes.document) -> None:
    found = [describe(node) for node in doctree.findall(is_exercise_node)]
    app.env.metadata[app.env.docname]["exercises"] = found


def numbered_parts(env: BuildEnvironment, docname: str) -> Iterator[dict[str, str]]:
    """The chapter itself, its sections and its equations."""
    for heading in env.tocs[docname].findall(nodes.reference):
        number = heading.get("secnumber")
        if number:
            kind = "Chapter" if len(number) == 1 else "Section"
            place = {"number": _dotted(number), "anchor": heading["anchorname"].removeprefix("#")}
            yield {"kind": kind, "title": heading.astext(), **place}
    equations = env.toc_fignumbers.get(docname, {}).get("displaymath", {})
    for anchor, number in equations.items():
        yield {"kind": "Equation", "number": _dotted(number), "title": "", "anchor": anchor}


def _dotted(number: Iterable[int]) -> str:
    return ".".join(map(str, number))


def entries(app: Sphinx) -> Iterator[dict[str, str]]:
    """All that has a number, each with its page."""
    for docname, metadata in sorted(app.env.metadata.items()):
        found = [{"kind": "Exercise", **exercise} for exercise in metadata.get("exercises", [])]
        if chapter_number(docname) is not None:
            found += numbered_parts(app.env, docname)
        page = app.builder.get_target_uri(docname)
        yield from ({**entry, "page": page} for entry in found)


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
    static = Path(app.outdir, "_static")
    data = json.dumps(list(entries(app)), ensure_ascii=False)
    static.joinpath(LIST).write_text(f"window.tfmNumbered = {data};\n", encoding="utf-8")
    shutil.copy2(SCRIPT, static / SCRIPT.name)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", gather)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_files)
