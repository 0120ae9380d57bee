"""The scripts of a page: those that have something to do there, and no others.

The theme's layout would add three that nobody needs to read a page: Font Awesome (the few icons are
drawn in book.css), Bootstrap (book.js does what was left of it) and the search index (the search
page loads it). The templates beside this file leave them out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

TEMPLATES = Path(__file__).with_name("templates")

# A word in a script's file name or text, and what the script works on.
WORKS_ON = {
    # sphinx-thebe declares its address twice, a script error on every page: it works on nothing.
    "thebe": re.compile(r"(?!)"),
    "toggle": re.compile(r'class="(?:[^"]* )?(?:toggle|dropdown)[ "]'),
    "design-tabs": re.compile("sd-tab-set"),
    "clipboard": re.compile('class="highlight'),
    "copybutton.js": re.compile('class="highlight'),
}


def has_work(asset: object, body: str) -> bool:
    """Whether there is something on the page for this script or style sheet."""
    text = getattr(asset, "attributes", {}).get("body") or ""
    text = f"{getattr(asset, 'filename', '')} {text}".lower()
    return all(work.search(body) for word, work in WORKS_ON.items() if word in text)


def drop_idle(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    body = context.get("body", "")
    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context.get(kind, []) if has_work(asset, body)]


def use_templates(app: Sphinx, config: object) -> None:
    config.templates_path.append(str(TEMPLATES))


def setup(app: Sphinx) -> None:
    app.connect("config-inited", use_templates)
    app.connect("html-page-context", drop_idle, priority=900)
