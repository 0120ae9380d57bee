"""The page "The library", made from the docstrings of tfmlib."""

import ast
import doctest
import re

from book.pages.chapters import ROOT

LIBRARY = ROOT / "tfmlib"
PACKAGES = ("plots", "plots.diagrams", "ledger")  # those that a learner calls
# What is read first; a module that is not named here comes last.
ORDER = ("ref", "model", "generate", "tokenizer", "data", "train", "parallel", "checkpoint")
ORDER += ("pretrained", "plots", "plots.diagrams", "check", "ledger")
# The last paragraph of a docstring, when it names equations or documents.
SOURCE = re.compile(r"(Eq\.|Table|notes|slides|whiteboard|handwritten|2017 paper)[^\n]*\.$")
INTRODUCTION = """\
# The library

`tfmlib` in the order in which the book uses it. Each entry is a function's or a class's own
docstring; its example is run by the tests. Read the source, too: it is short.
"""


def api_page() -> str:
    """One section a module, one entry a public function or class that has something to say."""
    return "\n".join([INTRODUCTION, *map(_module, modules())])


def modules() -> list[str]:
    """What a learner may call: every module at the top of tfmlib, and the packages beside them.

    >>> modules()[:2]
    ['ref', 'model']
    """
    top = [path.stem for path in LIBRARY.glob("*.py") if not path.stem.startswith("_")]
    rank = {name: place for place, name in enumerate(ORDER)}
    return sorted([*top, *PACKAGES], key=lambda name: (rank.get(name, len(ORDER)), name))


def _source(name: str) -> str:
    """A module's text: read, not imported, so that the page needs no torch."""
    name = name.replace(".", "/")
    module, package = LIBRARY / f"{name}.py", LIBRARY / name / "__init__.py"
    return (module if module.is_file() else package).read_text(encoding="utf-8")


def _module(name: str) -> str:
    tree = ast.parse(_source(name))
    entries = [
        _entry(node)
        for node in _definitions(tree) or _gathered(tree)
        if not node.name.startswith("_") and ast.get_docstring(node)
    ]
    return "\n".join([f"## tfmlib.{name}\n", _prose(ast.get_docstring(tree)), *entries])


def _definitions(tree: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _gathered(package: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    """What a package without definitions of its own takes from its modules, as __all__ has it."""
    defined, public = {}, []
    for node in package.body:
        if isinstance(node, ast.ImportFrom):
            module = node.module.removeprefix("tfmlib.")
            defined |= {one.name: one for one in _definitions(ast.parse(_source(module)))}
        elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            public = ast.literal_eval(node.value)
    return [defined[name] for name in public if name in defined]


def _entry(node: ast.FunctionDef | ast.ClassDef) -> str:
    return "\n".join([f"### {node.name}\n", _signature(node), _prose(ast.get_docstring(node))])


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """How it is called, without the types."""
    function = node
    if isinstance(node, ast.ClassDef):
        inits = [n for n in node.body if getattr(n, "name", "") == "__init__"]
        if not inits:
            return ""
        function = inits[0]
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    arguments.args = [a for a in arguments.args if a.arg not in ("self", "cls")]
    return f"```python\n{node.name}({ast.unparse(arguments)})\n```\n"


def _prose(docstring: str | None) -> str:
    """A docstring as Markdown: its text, and its example as code."""
    parts = []
    for piece in doctest.DocTestParser().parse(docstring or ""):
        if isinstance(piece, str):
            parts.append(piece.strip())
        else:
            example = "".join(
                f"{'>>>' if n == 0 else '...'} {line}\n"
                for n, line in enumerate(piece.source.splitlines())
            )
            parts.append(f"```pycon\n{example}{piece.want}```")
    if parts and SOURCE.match(parts[-1]):
        parts[-1] = f"Where it stands: {parts[-1]}"
    return "\n\n".join(part for part in parts if part).replace("```\n\n```pycon\n", "") + "\n"
