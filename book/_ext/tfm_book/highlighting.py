"""Code without marks that change nothing: a fifth of a chapter's page would be spans of them.

Pygments marks every token. Names, punctuation and spaces look like plain text in both of the book's
styles, so their marks go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

PLAIN = ("n", "p", "w")
MARK = re.compile(rf'<span class="(?:{"|".join(PLAIN)})">([^<]*)</span>')


def unmark(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Leave plain tokens without a mark.

    >>> context = {"body": '<pre><span class="k">def</span> <span class="n">f</span></pre>'}
    >>> unmark(None, "", "", context, None)
    >>> context["body"]
    '<pre><span class="k">def</span> f</pre>'
    """
    if "body" in context:
        context["body"] = MARK.sub(r"\1", context["body"])


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", unmark)
