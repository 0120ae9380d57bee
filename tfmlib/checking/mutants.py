"""Automatic wrong answers: a solution with one small thing changed, made from its syntax tree.

A check that accepts such a mutant would accept a learner's slip. `mutants` changes operators,
comparisons, constants, axes, argument order, ranges and slices, and drops terms, calls, keywords
and statements, one change at a time.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

OPERATORS = {
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
COMPARISONS = {
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


def mutants(source: str) -> list[Mutant]:
    """Every solution that differs from this one by a single change.

    >>> [m.change for m in mutants("def f(x):\\n    return x + y")][:2]
    ['return x + y -> return x - y', 'return x + y -> return x']
    """
    tree = ast.parse(source)
    made: dict[str, Mutant] = {}
    for position, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            mutated = copy.deepcopy(tree)
            twin = next(n for i, n in enumerate(ast.walk(mutated)) if i == position)
            if not _apply(mutated, twin, change):
                continue
            _fill_empty_bodies(mutated)
            text = ast.unparse(ast.fix_missing_locations(mutated))
            if text != ast.unparse(tree) and text not in made:
                made[text] = Mutant(_difference(ast.unparse(tree), text), text)
    return list(made.values())


Change = Callable[[ast.AST], ast.AST | None]


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
        if isinstance(getattr(node, "body", None), list) and not node.body:
            node.body = [ast.Pass()]


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


def _changes(node: ast.AST) -> Iterator[Change]:
    """All changes that this node allows."""
    for kind, changes in _KINDS:
        if isinstance(node, kind):
            yield from changes(node)


def _operator(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    for other in OPERATORS.get(type(node.op), []):
        yield lambda n, other=other: _with(n, op=other())


def _dropped_term(node: ast.BinOp) -> Iterator[Change]:
    yield lambda n: n.left
    yield lambda n: n.right


def _comparison(node: ast.Compare) -> Iterator[Change]:
    for other in COMPARISONS.get(type(node.ops[0]), []):
        yield lambda n, other=other: _with(n, ops=[other(), *n.ops[1:]])


def _boolean(node: ast.BoolOp) -> Iterator[Change]:
    yield lambda n: _with(n, op=ast.Or() if isinstance(n.op, ast.And) else ast.And())
    for index in range(len(node.values)):
        yield lambda n, index=index: _only(n.values, index)


def _only(values: list[ast.expr], dropped: int) -> ast.expr:
    kept = [value for i, value in enumerate(values) if i != dropped]
    return kept[0] if len(kept) == 1 else ast.BoolOp(ast.And(), kept)


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
        yield lambda n, i=index: _with(
            n, args=[*n.args[:i], n.args[i + 1], n.args[i], *n.args[i + 2 :]]
        )
    for index in range(len(node.keywords)):
        yield lambda n, i=index: _with(n, keywords=n.keywords[:i] + n.keywords[i + 1 :])
    if isinstance(node.func, ast.Name) and node.func.id == "range":
        for index in range(len(node.args)):
            for step in (ast.Add(), ast.Sub()):
                yield lambda n, i=index, step=step: _with(
                    n,
                    args=[
                        ast.BinOp(a, step, ast.Constant(1)) if j == i else a
                        for j, a in enumerate(n.args)
                    ],
                )


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
                yield lambda n, side=side, step=step: _with(
                    n, **{side: ast.BinOp(getattr(n, side), step, ast.Constant(1))}
                )
    if node.step is not None:
        yield lambda n: _with(n, step=None)


def _statement(node: ast.stmt) -> Iterator[Change]:
    yield lambda n: None


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    yield lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))
    if not isinstance(node, ast.While):
        yield lambda n: _with(n, test=ast.Constant(True))
        yield lambda n: _with(n, test=ast.Constant(False))


def _with(node: ast.AST, **fields) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


_KINDS = [
    ((ast.BinOp, ast.AugAssign), _operator),
    (ast.BinOp, _dropped_term),
    (ast.Compare, _comparison),
    (ast.BoolOp, _boolean),
    (ast.UnaryOp, _unary),
    (ast.Constant, _constant),
    (ast.Call, _call),
    (ast.Call, _method_chain),
    (ast.Attribute, _attribute),
    (ast.Name, _name),
    (ast.Slice, _slice),
    ((ast.AugAssign, ast.If, ast.Continue, ast.Break), _statement),
    ((ast.If, ast.IfExp, ast.While), _condition),
]
