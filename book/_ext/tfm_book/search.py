"""Search that leads to the place: a section, an exercise, an equation, by word and by number.

Sphinx's own index knows pages, and reads them again for its excerpts, which a browser does not
allow from disk. So the search page gets a script with the text of every section, and search.js
looks there. Solutions are left out: nobody shall meet an answer while looking for something else.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx_exercise.nodes import exercise_subtitle, is_exercise_node

from .numbering import chapter_number, exercise_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

SCRIPT = Path(__file__).with_name("search.js")
INDEX = "search-list.js"
WORD = re.compile(r"[^\W\d]\w*")
LEVEL = re.compile(r"^Difficulty: \d of \d ")
# Cells, quizzes (an excerpt must not tell the answer), pictures, display equations; and what has a
# place of its own.
NOT_PROSE = (
    nodes.section, nodes.title, nodes.container, nodes.raw, nodes.image, nodes.comment,
    nodes.math_block, nodes.literal_block, nodes.system_message,
)  # fmt: skip
SIGNS = {
    "sqrt": "√", "sum": "∑", "prod": "∏", "top": "⊤", "times": "×", "cdot": "·", "cdots": "…",
    "dots": "…", "ldots": "…", "infty": "∞", "le": "≤", "ge": "≥", "ne": "≠", "neq": "≠",
    "approx": "≈", "in": "∈", "partial": "∂", "odot": "⊙", "propto": "∝", "to": "→", "alpha": "α",
    "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "theta": "θ",
    "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
    "Delta": "Δ", "Sigma": "Σ", "Phi": "Φ",
}  # fmt: skip
FUNCTIONS = ("exp", "log", "ln", "sin", "cos", "tan", "tanh", "max", "min")


# --- what a page says ---------------------------------------------------------------------------


def plain_formula(tex: str) -> str:
    r"""A formula as a line of text: signs for commands that have one.

    >>> plain_formula(r"\frac{\mathbf q \cdot \mathbf k}{\sqrt{d_k}}")
    'q · k / √d_k'
    """
    text = re.sub(r"\\(?:begin|end|label|tag)\{[^}]*\}", " ", tex)
    text = re.sub(r"\}\s*\{", " / ", text)  # the two parts of a fraction
    text = re.sub(r"\\([a-zA-Z]+)\*?", lambda match: _sign(match[1]), text)
    text = re.sub(r"\\.|[{}&]", " ", text)
    return " ".join(re.sub(r"√\s+", "√", text).split())


def _sign(command: str) -> str:
    return command if command in FUNCTIONS else SIGNS.get(command, " ")


def prose(node: nodes.Node) -> str:
    """What a reader reads in a node; for an equation's number, its label between two NULs."""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, nodes.math):
        return plain_formula(node.astext())
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "math":
        return f"\0{node['reftarget']}\0"
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        return ""
    if isinstance(node, NOT_PROSE) or is_exercise_node(node):
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(map(prose, node.children))


def line(parts: Iterable[nodes.Node]) -> str:
    """The prose of all parts in one line."""
    text = " ".join(" ".join(map(prose, parts)).split())
    return re.sub(r" (?=[.,;:)])", "", text)  # where a citation was left out


def has_heading(node: nodes.Node) -> bool:
    """Whether it is a section that a reader sees as one; an exercise's statement is another."""
    return isinstance(node, nodes.section) and isinstance(node[0], nodes.title)


def describe_section(section: nodes.section) -> dict[str, str]:
    """The words of a section without its subsections, and its anchor."""
    text = line(section.children)
    introduced = [
        prose(term)
        for part in section.children
        if not isinstance(part, NOT_PROSE)
        for term in part.findall(lambda n: isinstance(n, nodes.emphasis | exercise_subtitle))
    ]
    code = " ".join(
        block.astext()
        for cell in section.children
        if isinstance(cell, nodes.container) and "cell" in cell["classes"]
        for block in cell.findall(nodes.literal_block)
        if "output" not in block["classes"]
    )
    return {
        "title": "".join(map(prose, section[0].children)),
        "text": text,
        # What is set in italics, or practised, has its place here.
        "terms": "; ".join(dict.fromkeys(introduced)),
        "code": " ".join(sorted(set(WORD.findall(code)) - set(WORD.findall(text)))),
        "anchor": section["ids"][0],
    }


def describe_exercise(exercise: nodes.Element) -> dict[str, str]:
    """What a reader may look for in an exercise, and its anchor."""
    title = next(exercise.findall(exercise_subtitle))
    statement = line(child for part in exercise.children[1:] for child in part.children)
    return {
        "number": _dotted(exercise_number(exercise["label"])),
        "title": " ".join(title.astext().split()),
        # Neither its level nor the link at its end: else "difficulty" would find them all.
        "text": LEVEL.sub("", statement).removesuffix("Solution").rstrip(),
        "anchor": exercise["ids"][0],
    }


def gather(app: Sphinx, doctree: nodes.document) -> None:
    metadata = app.env.metadata[app.env.docname]
    metadata["exercises"] = [describe_exercise(e) for e in doctree.findall(is_exercise_node)]
    metadata["sections"] = [describe_section(s) for s in doctree.findall(has_heading)]


# --- the index ----------------------------------------------------------------------------------


def sections(env: BuildEnvironment, docname: str) -> Iterator[dict[str, str]]:
    """The page and its sections, with the numbers that they have in a chapter."""
    numbers = env.toc_secnumbers.get(docname, {})
    page = None
    for section in env.metadata[docname].get("sections", []):
        anchor = section["anchor"] if page else ""  # a page begins at its top
        number = numbers.get(f"#{anchor}" if anchor else "") or ()
        kind = "" if not number else "Section" if page else "Chapter"
        place = {"kind": kind, "number": _dotted(number), "within": page or "", "anchor": anchor}
        yield {**section, **place}
        page = page or f"{kind} {_dotted(number)}: {section['title']}".removeprefix(" : ")


def equations(env: BuildEnvironment, docname: str) -> Iterator[dict[str, str]]:
    for anchor, number in env.toc_fignumbers.get(docname, {}).get("displaymath", {}).items():
        yield {"kind": "Equation", "number": _dotted(number), "title": "", "anchor": anchor}


def _with_numbers(env: BuildEnvironment, text: str) -> str:
    """Put an equation's number where its label is."""

    def number(match: re.Match) -> str:
        anchor = f"equation-{match[1]}"
        for by_kind in env.toc_fignumbers.values():
            if anchor in by_kind.get("displaymath", {}):
                return f"({_dotted(by_kind['displaymath'][anchor])})"
        return ""

    return re.sub("\0([^\0]*)\0", number, text)


def _dotted(number: Iterable[int]) -> str:
    return ".".join(map(str, number))


def entries(app: Sphinx) -> Iterator[dict[str, str]]:
    """Every place that a search may lead to, each with its page; chapters come first."""
    names = sorted(app.env.metadata, key=lambda name: (chapter_number(name) is None, name))
    for docname in names:
        if docname.startswith("solutions/"):
            continue
        exercises = app.env.metadata[docname].get("exercises", [])
        found = [{"kind": "Exercise", **exercise} for exercise in exercises]
        found += [*sections(app.env, docname), *equations(app.env, docname)]
        page = app.builder.get_target_uri(docname)
        for entry in found:
            text = _with_numbers(app.env, entry.get("text", ""))
            yield {**entry, "text": text, "page": page}


def add_scripts(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    if page == "search":
        app.add_js_file(INDEX)
        app.add_js_file(SCRIPT.name, loading_method="defer")


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """A script, not JSON: a page opened from disk may load the one, but not read the other."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    data = json.dumps(list(entries(app)), ensure_ascii=False, separators=(",", ":"))
    static.joinpath(INDEX).write_text(f"window.tfmPlaces = {data};\n", encoding="utf-8")
    shutil.copy2(SCRIPT, static / SCRIPT.name)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", gather)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", write_files)
