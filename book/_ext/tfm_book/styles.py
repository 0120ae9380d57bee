"""Style sheets of others, cut down to the rules that something in the book can match.

A selector stays when each element, class and id it names occurs as a word in some page's tags or in
some script that a page loads; whatever stands in brackets is taken to match. So a rule is kept too
often rather than lost. The book's own style sheets stay as they are written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import tinycss2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx
    from tinycss2.ast import Node

TAG = re.compile(r"<[a-zA-Z][^>]*>")
WORD = re.compile(r"[A-Za-z_][\w-]*")
SCRIPT = re.compile(r'<script[^>]* src="([^"?]+)')
NESTED = ("media", "supports")
OF_OTHERS = ("styles/*.css", "basic.css", "pygments.css", "mystnb*.css", "sphinx-design*.css")


def words_of(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Every word that may name an element, a class or an id.

    >>> sorted(words_of(['<p class="a b-2">Not me</p>'], ['box.classList.add("open")']))
    ['a', 'add', 'b-2', 'box', 'class', 'classList', 'open', 'p']
    """
    tags = (tag for page in pages for tag in TAG.findall(page))
    return {word for text in (*tags, *scripts) for word in WORD.findall(text)}


def split(prelude: list[Node]) -> Iterator[list[Node]]:
    """The selectors of a rule, which stand between commas."""
    selector = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def names_in(selector: list[Node]) -> Iterator[str]:
    """The elements, classes and ids that a selector asks for; `:hover` and the like are none."""
    before = None
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            yield token.value
        before = token


def purge(rules: list[Node], words: set[str]) -> str:
    """The rules that can match, as text.

    >>> sheet = "a.b, a.c {top: 0} @media print {#d {top: 1px} a:not(.d) {top: 0}}"
    >>> purge(tinycss2.parse_stylesheet(sheet), {"a", "b"})
    'a.b{top: 0}@media print {a:not(.d){top: 0}}'
    """
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in split(rule.prelude) if words.issuperset(names_in(s))]
            if selectors:
                head = ",".join(tinycss2.serialize(s).strip() for s in selectors)
                kept.append(f"{head}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            inner = purge(tinycss2.parse_rule_list(rule.content, skip_comments=True), words)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule":
            kept.append(rule.serialize())
    return "".join(kept)


def scripts_of(folder: Path, pages: dict[Path, str]) -> set[Path]:
    """The scripts that pages load, and all that MathJax may load by itself."""
    named = {(path.parent / src).resolve() for path, page in pages.items()
             for src in SCRIPT.findall(page)}  # fmt: skip
    return named | set(folder.glob("_static/mathjax/**/*.js"))


def cut_style_sheets(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir).resolve()
    pages = {path: path.read_text("utf-8") for path in folder.rglob("*.html")
             if "_static" not in path.relative_to(folder).parts}  # fmt: skip
    scripts = [path.read_text("utf-8") for path in scripts_of(folder, pages)]
    words = words_of(pages.values(), scripts)
    for pattern in OF_OTHERS:
        for sheet in folder.glob(f"_static/{pattern}"):
            rules = tinycss2.parse_stylesheet(sheet.read_text("utf-8"), skip_comments=True)
            sheet.write_text(purge(rules, words), "utf-8")


def setup(app: Sphinx) -> None:
    # Last of all, when every page and every script is in its place.
    app.connect("build-finished", cut_style_sheets, priority=900)
