"""Links that work in JupyterLab and in the book alike.

`04-x.ipynb#cell-id=ex-4-3` is JupyterLab's way to name a cell of another notebook; here the same
link leads to the exercise or the solution of that label. A page's targets, labels and HTML ids can
be linked by file, too, as in `ledger.md#notes.pe1`, and a link keeps its title.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from myst_parser.sphinx_ext.myst_refs import MystReferenceResolver
from sphinx_exercise.nodes import is_exercise_node, is_solution_node
from sphinxcontrib.bibtex.nodes import bibliography

from tfmlib.ledger import Grade

from .figures import FIGURE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

HTML_ID = re.compile(r"""\bid=["']([^"']+)["']""")


def named_targets(doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Pairs of (name to link by, id in the HTML) for everything in a page that carries a name."""
    for name, anchor in doctree.nameids.items():
        if anchor:
            yield name, anchor
            yield anchor, anchor
    for raw in doctree.findall(nodes.raw):
        for anchor in HTML_ID.findall(raw.astext()):
            yield anchor, anchor


def cell_targets(doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Pairs of (`cell-id=LABEL`, id in the HTML) for what a notebook numbers."""
    for node in doctree.findall(is_exercise_node):
        yield f"cell-id={node['label']}", node["ids"][0]
    for name in doctree.nameids:
        if name.startswith(FIGURE):
            yield f"cell-id={name}", name
    for node in doctree.findall(is_solution_node):
        # The solved code stands above the discussion: lead to the heading over both.
        section = node
        while section.parent is not None and not isinstance(section.parent, nodes.section):
            section = section.parent
        home = section.parent if section.parent is not None else node
        is_page = isinstance(home.parent, nodes.document)
        yield f"cell-id={node['label']}", (node if is_page else home)["ids"][0]


def cited_targets(app: Sphinx, doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Pairs for the entries of a bibliography, which are set only after the page was read."""
    if any(doctree.findall(bibliography)):
        for key in app.env.get_domain("cite").bibdata.data.entries:
            yield f"ref-{key}", f"ref-{key}"


def register_targets(app: Sphinx, doctree: nodes.document) -> None:
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    targets = (*cell_targets(doctree), *named_targets(doctree), *cited_targets(app, doctree))
    for name, anchor in targets:
        slugs.setdefault(name, (0, anchor, name))


def is_grave(verdict: str, sentence: str) -> bool:
    """Say whether a badge must warn: an erratum whose sentence names no slight grade."""
    slight = tuple(f"Erratum ({grade})" for grade in Grade if grade.is_slight)
    return verdict == "erratum" and not sentence.startswith(slight)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", register_targets)
    resolve = MystReferenceResolver.resolve_myst_ref_doc

    def resolve_with_title(resolver: MystReferenceResolver, node: nodes.Element) -> None:
        parent, index = node.parent, node.parent.index(node)
        slugs = resolver.env.metadata.get(node["reftarget"], {}).get("myst_slugs", {})
        name = node["reftargetid"]
        if name and name not in slugs and name.lower() in slugs:
            node["reftargetid"] = name.lower()  # docutils keeps names in lower case
        resolve(resolver, node)
        link = parent[index]
        if node.get("title") and isinstance(link, nodes.reference):
            link["reftitle"] = node["title"]
            if is_grave(link.astext(), node["title"]):
                link["classes"].append("tfm-erratum")

    MystReferenceResolver.resolve_myst_ref_doc = resolve_with_title
