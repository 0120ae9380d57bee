"""Repairs of the theme for readers who use a keyboard, a screen reader or no scripts."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

EMPTY_HEADER = re.compile(r'<th class="[^"]*">(<p></p>)?</th>')
REPEATED_ID = re.compile(r' id="(exercise|solution)-content"')
SPACE_IN_LINK = re.compile(r'(<a class="reference internal" href="[^"]*">) (?=Exercise )')

# `index.html` only leads on to the first page, but it is a page like any other: it has a language,
# a title and a link for those whose browser does not follow by itself.
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url={url}">
<title>{title}</title>
</head>
<body><main><h1>{title}</h1><p><a href="{url}">Open the book</a></p></main></body>
</html>
"""


def repair_body(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Mend what others write: a deprecated role, repeated ids, empty headers, spaces in links."""
    if "body" in context:
        # Entries of a bibliography are items of its list.
        body = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
        # sphinx-exercise gives the same id to each of its boxes.
        body = REPEATED_ID.sub("", body)
        # The empty corner of a table heads nothing.
        body = EMPTY_HEADER.sub("<td></td>", body)
        context["body"] = SPACE_IN_LINK.sub(r" \1", body)


def write_index(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        url = app.builder.get_target_uri(app.config.root_doc)
        page = INDEX.format(url=url, title=escape(app.config.html_title))
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_css_file("book.css", priority=900)
    app.add_js_file("book.js", loading_method="defer")
    app.connect("html-page-context", repair_body)
    app.connect("build-finished", write_index, priority=100)
