"""Explorers in the page: a place for each, after its picture, and scripts where one is used."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

from .cells import OUTPUT, parts

sys.path.append(str(Path(__file__).parents[3]))  # Jupyter Book does not look in its own folder
from book import explorers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

TAG = re.compile(r"tag_explorer-(?P<kind>[a-z]+)-(?P<preset>[a-z0-9-]+)")
PLACE = (
    '<div class="tfm-explorer" id="explorer-{preset}" data-explorer="{kind}" '
    'data-preset="{preset}" hidden></div>'
)
DATA = '<script type="application/json" id="explorer-data-{kind}">{json}</script>'
logger = logging.getLogger(__name__)


def tagged_cells(doctree: nodes.document) -> Iterator[tuple[nodes.container, str, str]]:
    """The cells of a page whose figure an explorer replaces, with its kind and its preset."""
    for cell in list(doctree.findall(nodes.container)):
        for name in cell["classes"]:
            if match := TAG.fullmatch(name):
                yield cell, match["kind"], match["preset"]


def add_places(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html":
        return
    used: list[str] = []
    for cell, kind, preset in tagged_cells(doctree):
        if kind not in explorers.kinds() or preset not in explorers.data(kind)["presets"]:
            logger.warning("there is no explorer %s with a preset %s", kind, preset, location=cell)
            continue
        html = PLACE.format(kind=kind, preset=preset)
        if kind not in used:  # once a page
            used.append(kind)
            html += DATA.format(kind=kind, json=explorers.as_json(kind))
        output = parts(cell, OUTPUT)[0]
        # Right behind the picture, so before its caption.
        cell.insert(cell.index(output) + 1, nodes.raw("", html, format="html"))
    app.env.metadata[docname]["explorers"] = used


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    used = app.env.metadata.get(page, {}).get("explorers", [])
    if not used:
        return
    for name in ("explorer", "ref", *used):
        app.add_js_file(f"explorers/{name}.js", loading_method="defer")
    for name in ("explorer", *used):
        app.add_css_file(f"explorers/{name}.css", priority=901)


def copy_files(app: Sphinx, exception: Exception | None) -> None:
    """Not through html_static_path: Jupyter Book would put each file there on every page."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", "explorers")
    target.mkdir(parents=True, exist_ok=True)
    for path in [*explorers.FOLDER.glob("*.js"), *explorers.FOLDER.glob("*.css")]:
        shutil.copy2(path, target / path.name)


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", add_places)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_files)
