"""Python in the page: what the pages load, and what each page says of its cells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging

from .numbering import chapter_number

sys.path.append(str(Path(__file__).parents[3]))  # Jupyter Book does not look in its own folder
from book.live import assets, cells, npm

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "live"
DATA = '<script type="application/json" id="tfm-live-cells">{json}</script>'
# Nothing that a learner types leaves the page: it loads the book's own files, and connects nowhere.
# Inline scripts are the theme's; the rest of script-src is what a worker with Python needs.
POLICY = (
    "default-src 'self' data: blob:; connect-src data: blob:; form-action 'self'; "
    "object-src 'none'; base-uri 'self'; style-src 'self' 'unsafe-inline'; worker-src blob:; "
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' 'unsafe-eval' blob:"
)
logger = logging.getLogger(__name__)


def get_files(app: Sphinx) -> None:
    """Before the first page: without the files no page offers what it could not do."""
    app.has_python = False
    if app.builder.format != "html":
        return
    try:
        assets.make(Path(app.outdir, "_static", FOLDER))
        app.has_python = True
    except npm.OutOfReachError as reason:
        logger.info("The book is built without Python in its pages: %s.", reason)
    except npm.NpmError as error:
        raise ExtensionError(str(error)) from error


def describe_cells(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Tell the page's script which of its cells can run, and which are exercises."""
    if not app.has_python or chapter_number(docname) is None:
        return
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    about = cells.describe(path)
    text = json.dumps(about, ensure_ascii=False).replace("</", "<\\/")
    doctree += nodes.raw("", DATA.format(json=text), format="html")


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    if app.has_python and chapter_number(page) is not None:
        app.add_js_file(f"{FOLDER}/live.js", loading_method="defer")
        app.add_css_file(f"{FOLDER}/live.css", priority=901)
        context["policy"] = POLICY


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", get_files)
    app.connect("doctree-resolved", describe_cells)
    app.connect("html-page-context", add_scripts)
