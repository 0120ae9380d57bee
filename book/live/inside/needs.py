"""Which cells above a cell must run before it: computed from the names that each of them handles.

A cell needs the cells that made its names, and those that changed them in place since. Drawing from
a random generator changes it, so whoever draws later needs all who drew before.
"""

import ast
import builtins
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

CHANGING_METHODS = frozenset({
    "add", "append", "clear", "discard", "extend", "fill", "insert", "pop", "popitem", "put",
    "remove", "resize", "reverse", "setdefault", "setflags", "sort", "update",
})  # fmt: skip
GENERATORS = frozenset({"default_rng", "Generator", "RandomState"})
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Names:
    """What a cell does to the names of its chapter."""

    used: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()  # anew, whatever they were before
    changed: frozenset[str] = frozenset()  # in place, or only sometimes
    streams: frozenset[str] = frozenset()  # bound to what every use changes
    functions: tuple[tuple[str, frozenset[str]], ...] = ()  # and the names inside them
    imported: tuple[tuple[str, str], ...] = ()  # name -> module, or module.name


@cache
def names_of(source: str) -> Names:
    """The names of a cell; a cell that is no Python has none, and will say so when it runs.

    >>> sorted(names_of("y = f(x)").used), sorted(names_of("y[0] = 1").changed)
    (['f', 'x'], ['y'])
    """
    try:
        tree, table = ast.parse(source), symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError):
        return Names()
    bound = frozenset(name for statement in tree.body for name in _bound_by(statement))
    assigned = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
    functions = tuple(
        (child.get_name(), _globals_of(child))
        for child in table.get_children()
        if child.get_type() == "function" and child.get_name() in bound
    )
    return Names(
        used=(_globals_of(table) | _augmented(tree)) - frozenset(dir(builtins)),
        bound=bound,
        changed=frozenset(_changed_in(tree)) | (assigned - bound),
        streams=frozenset(_streams_of(tree)),
        functions=functions,
        imported=tuple(_imported_by(tree)),
    )


def needs(sources: list[str], target: int, always: frozenset[int] = frozenset()) -> list[int]:
    """The cells to run before the one at `target`, in order; `always` those of the set-up.

    >>> needs(["x = 1", "y = 2", "x += 1", "print(x)"], 3)
    [0, 2]
    """
    chapter = Chapter.of(sources[: target + 1])
    wanted = set(names_of(sources[target]).used)
    found = []
    for number in reversed(range(target)):
        names = names_of(sources[number])
        touched = chapter.touched_by(names)
        if number not in always and not (touched & wanted):
            continue
        found.append(number)
        wanted = (wanted - names.bound) | names.used
    return found[::-1]


@dataclass(frozen=True)
class Chapter:
    """What only all cells together tell of a name."""

    streams: frozenset[str]  # every use changes them: generators, functions that draw from one
    modules: frozenset[str]  # nothing changes them: np.sort(x) does not sort np

    @classmethod
    def of(cls, sources: list[str]) -> "Chapter":
        streams: set[str] = set()
        modules: set[str] = set()
        for source in sources:
            names = names_of(source)
            streams |= names.streams
            streams |= {name for name, inside in names.functions if inside & streams}
            modules |= {name for name, _ in names.imported}
        return cls(frozenset(streams), frozenset(modules))

    def touched_by(self, names: Names) -> frozenset[str]:
        """The names that are not what they were once a cell has run."""
        return names.bound | (names.changed - self.modules) | (names.used & self.streams)


# --- what a piece of syntax does ----------------------------------------------------------------


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement of the cell binds in any case."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (name for name, _ in _imported_by(statement))
    elif isinstance(statement, DEFINITIONS):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node.id for target in targets for node in ast.walk(target) if _is_store(node))


def _imported_by(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)


def _globals_of(table: symtable.SymbolTable) -> frozenset[str]:
    """The chapter's names that a piece of code reads, functions' own variables left out."""
    is_module = table.get_type() == "module"
    own = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (is_module or symbol.is_global())
    }
    return frozenset(own).union(*map(_globals_of, table.get_children()))


def _augmented(tree: ast.Module) -> frozenset[str]:
    """Names such as x in `x += 1`, which are read as well."""
    targets = [node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    return frozenset(target.id for target in targets if isinstance(target, ast.Name))


def _changed_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            yield from _base(node.target)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(
            node.ctx, ast.Store | ast.Del
        ):
            yield from _base(node)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CHANGING_METHODS
        ):
            yield from _base(node.func.value)


def _base(node: ast.AST) -> Iterator[str]:
    """The name that a chain such as `a.b[0]` begins with."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _streams_of(tree: ast.Module) -> Iterator[str]:
    """Names of the cell that are bound to a generator itself, not to what was drawn from it."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _is_generator(statement.value):
            yield from _bound_by(statement)


def _is_generator(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in GENERATORS
