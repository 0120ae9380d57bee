"""Automatic wrong answers: a solution with one small thing changed, made from its syntax tree.

A check that accepts such a mutant would accept a learner's slip. `mutants` changes operators,
comparisons, constants, axes, argument order, ranges and slices, and drops terms, calls, keywords
and statements, one change at a time.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[type[ast.operator], list[type[ast.operator]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.MatMult: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
}
COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
NAMES = {
    "sin": "cos",
    "max": "min",
    "maximum": "minimum",
    "argmax": "argmin",
    "mean": "sum",
    "zeros": "ones",
    "zeros_like": "ones_like",
    "tril": "triu",
    "any": "all",
    "var": "std",
    "cumsum": "cumprod",
}
SWAPS = NAMES | {other: name for name, other in NAMES.items()}


@dataclass(frozen=True)
class Mutant:
    """A changed solution; `change` says what, as 'before -> after' of the changed line."""

    change: str
    source: str
    kind: str  # what was changed, in words


def mutants(source: str) -> list[Mutant]:
    """Every solution that differs from this one by a single change.

    >>> [m.change for m in mutants("def f(x):\\n    return x + y")][:2]
    ['return x + y -> return x - y', 'return x + y -> return x']
    """
    tree = ast.parse(source)
    made: dict[str, Mutant] = {}
    for position, node in enumerate(ast.walk(tree)):
        for kind, change in _changes(node):
            mutated = copy.deepcopy(tree)
            twin = next(n for i, n in enumerate(ast.walk(mutated)) if i == position)
            if not _apply(mutated, twin, change):
                continue
            _fill_empty_bodies(mutated)
            text = ast.unparse(ast.fix_missing_locations(mutated))
            if text != ast.unparse(tree) and text not in made:
                made[text] = Mutant(_difference(ast.unparse(tree), text), text, kind)
    return list(made.values())


Change = Callable[[Any], Any]


def _apply(tree: ast.AST, twin: ast.AST, change: Change) -> bool:
    """Put what the change makes of the twin in its place; None removes a statement."""
    replacement = change(twin)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is twin:
                setattr(parent, name, replacement)
                return replacement is not None
            if isinstance(value, list) and any(item is twin for item in value):
                index = next(i for i, item in enumerate(value) if item is twin)
                value[index : index + 1] = [] if replacement is None else [replacement]
                return True
    return False


def _fill_empty_bodies(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if getattr(node, "body", None) == []:
            vars(node)["body"] = [ast.Pass()]


def _difference(before: str, after: str) -> str:
    """The first changed line of each side."""
    one, other = before.splitlines(), after.splitlines()
    index = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    lines = [text[index].strip() if index < len(text) else "(nothing)" for text in (one, other)]
    return f"{lines[0]} -> {lines[1]}"


# --- the kinds of change ------------------------------------------------------------------------


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """All changes that this node allows, each with its kind in words."""
    for kind, changes, words in _KINDS:
        if isinstance(node, kind):
            yield from ((words, change) for change in changes(node))


def _operator(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    for other in OPERATORS.get(type(node.op), []):
        yield _bind(lambda n, other: _with(n, op=other()), other)


def _dropped_term(node: ast.BinOp) -> Iterator[Change]:
    yield lambda n: n.left
    yield lambda n: n.right


def _comparison(node: ast.Compare) -> Iterator[Change]:
    for other in COMPARISONS.get(type(node.ops[0]), []):
        yield _bind(lambda n, other: _with(n, ops=[other(), *n.ops[1:]]), other)


def _boolean(node: ast.BoolOp) -> Iterator[Change]:
    yield lambda n: _with(n, op=ast.Or() if isinstance(n.op, ast.And) else ast.And())
    for index in range(len(node.values)):
        yield _bind(_without, index)


def _without(node: ast.BoolOp, dropped: int) -> ast.expr:
    kept = [value for i, value in enumerate(node.values) if i != dropped]
    return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    yield lambda n: n.operand


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield lambda n: ast.Constant(not n.value)
    elif isinstance(value, int):
        yield lambda n: ast.Constant(n.value + 1)
        yield lambda n: ast.Constant(n.value - 1)
    elif isinstance(value, float):
        # Twice and half: a constant such as eps must matter, however small it is.
        yield lambda n: ast.Constant(n.value * 2 if n.value else 1.0)
        yield lambda n: ast.Constant(n.value / 2 if n.value else -1.0)


def _call(node: ast.Call) -> Iterator[Change]:
    if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
        yield lambda n: n.args[0]
    elif isinstance(node.func, ast.Attribute) and not node.args:
        yield lambda n: n.func.value
    for index in range(len(node.args) - 1):
        yield _bind(_with_arguments_swapped, index)
    for index in range(len(node.keywords)):
        yield _bind(lambda n, i: _with(n, keywords=n.keywords[:i] + n.keywords[i + 1 :]), index)
    if isinstance(node.func, ast.Name) and node.func.id == "range":
        for index in range(len(node.args)):
            for step in (ast.Add(), ast.Sub()):
                yield _bind(_with_argument_moved, index, step)


def _method_chain(node: ast.Call) -> Iterator[Change]:
    """x.sum(axis=-1) -> x."""
    is_array_method = isinstance(node.func, ast.Attribute) and not (
        isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "ref", "math")
    )
    if is_array_method and node.args:
        yield lambda n: n.func.value


def _attribute(node: ast.Attribute) -> Iterator[Change]:
    if node.attr in SWAPS:
        yield lambda n: _with(n, attr=SWAPS[n.attr])
    if node.attr in ("T", "mT"):
        yield lambda n: n.value


def _name(node: ast.Name) -> Iterator[Change]:
    if node.id in SWAPS and isinstance(node.ctx, ast.Load):
        yield lambda n: _with(n, id=SWAPS[n.id])


def _slice(node: ast.Slice) -> Iterator[Change]:
    for side in ("lower", "upper"):
        bound = getattr(node, side)
        if bound is not None and not isinstance(bound, ast.Constant):
            for step in (ast.Add(), ast.Sub()):
                yield _bind(_with_bound_moved, side, step)
    if node.step is not None:
        yield lambda n: _with(n, step=None)


def _statement(node: ast.stmt) -> Iterator[Change]:
    yield lambda n: None


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    yield lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))
    if not isinstance(node, ast.While):
        yield lambda n: _with(n, test=ast.Constant(True))
        yield lambda n: _with(n, test=ast.Constant(False))


def _bind(change: Callable[..., Any], *values: Any) -> Change:
    """A change that is told more than the node; a loop's variable would have moved on by then."""
    return lambda node: change(node, *values)


def _with_arguments_swapped(node: ast.Call, i: int) -> ast.AST:
    return _with(node, args=[*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]])


def _with_argument_moved(node: ast.Call, i: int, step: ast.operator) -> ast.AST:
    moved = ast.BinOp(node.args[i], step, ast.Constant(1))
    return _with(node, args=[*node.args[:i], moved, *node.args[i + 1 :]])


def _with_bound_moved(node: ast.Slice, side: str, step: ast.operator) -> ast.AST:
    return _with(node, **{side: ast.BinOp(getattr(node, side), step, ast.Constant(1))})


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


_KINDS: list[tuple[Any, Callable[[Any], Iterator[Change]], str]] = [
    ((ast.BinOp, ast.AugAssign), _operator, "an operator"),
    (ast.BinOp, _dropped_term, "a term left out"),
    (ast.Compare, _comparison, "a comparison"),
    (ast.BoolOp, _boolean, "a condition"),
    (ast.UnaryOp, _unary, "a sign"),
    (ast.Constant, _constant, "a constant, an axis or an index"),
    (ast.Call, _call, "a call or the order of its arguments"),
    (ast.Call, _method_chain, "a call left out"),
    (ast.Attribute, _attribute, "which function is called"),
    (ast.Name, _name, "which function is called"),
    (ast.Slice, _slice, "the bound of a slice"),
    ((ast.AugAssign, ast.If, ast.Continue, ast.Break), _statement, "a statement left out"),
    ((ast.If, ast.IfExp, ast.While), _condition, "a condition"),
]
