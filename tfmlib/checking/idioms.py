"""Mistakes as real programs have them: right on tame inputs and wrong on others.

Mutants of a syntax tree are small edits. What learners write is another program: it squeezes axes,
keeps results, works for one rank, or takes its dtype from an input. Each idiom here makes such a
program of any solution.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfmlib.checking import Answer

# --- around the solution ------------------------------------------------------------------------


def squeezes(solution: Answer) -> Answer:
    """drops every axis of length 1 from its result"""
    return lambda *args: _on_arrays(solution(*args), np.squeeze)


def takes_the_inputs_dtype(solution: Answer) -> Answer:
    """fills zeros_like(its input), so that whole numbers in give whole numbers out"""

    def answer(*args: Any) -> Any:
        first = next((a for a in args if isinstance(a, np.ndarray)), None)
        result = solution(*args)
        if first is None or first.dtype.kind not in "iu":
            return result
        return _on_arrays(result, lambda x: x.astype(first.dtype) if x.dtype.kind == "f" else x)

    return answer


def clips_its_inputs(solution: Answer) -> Answer:
    """clips numbers to ±50, for fear of an overflow"""
    return lambda *args: solution(*(_on_floats(a, lambda x: np.clip(x, -50, 50)) for a in args))


def adds_a_little(solution: Answer) -> Answer:
    """adds 1e-9 to its inputs, for fear of a zero"""
    return lambda *args: solution(*(_on_floats(a, lambda x: x + 1e-9) for a in args))


def rounds_its_inputs(solution: Answer) -> Answer:
    """works with two decimals"""
    return lambda *args: solution(*(_on_floats(a, lambda x: np.round(x, 2)) for a in args))


def knows_two_axes_only(solution: Answer) -> Answer:
    """flattens arrays of more than two axes to two"""

    def flat(x: np.ndarray) -> np.ndarray:
        return x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x

    return lambda *args: solution(*(flat(a) if isinstance(a, np.ndarray) else a for a in args))


def knows_three_axes_only(solution: Answer) -> Answer:
    """flattens arrays of more than three axes to three"""

    def flat(x: np.ndarray) -> np.ndarray:
        return x.reshape(-1, *x.shape[-2:]) if x.ndim > 3 else x

    return lambda *args: solution(*(flat(a) if isinstance(a, np.ndarray) else a for a in args))


def remembers_by_shape(solution: Answer) -> Answer:
    """keeps its results by the shapes of the inputs"""
    kept: dict[str, Any] = {}

    def answer(*args: Any) -> Any:
        key = repr([np.shape(a) if isinstance(a, np.ndarray) else type(a) for a in args])
        return kept.setdefault(key, solution(*args))

    return answer


def fills_an_integer_buffer(solution: Answer) -> Answer:
    """writes its result into an array of whole numbers"""
    return lambda *args: _on_arrays(
        solution(*args), lambda x: x.astype(np.int64) if x.dtype.kind == "f" and x.ndim else x
    )


def has_a_table_of_eight(solution: Answer) -> Answer:
    """cuts every axis at eight, the length of its table"""

    def cut(x: np.ndarray) -> np.ndarray:
        return x[tuple(slice(0, 8) for _ in x.shape)]

    return lambda *args: _on_arrays(solution(*args), cut)


def fails_for_one(solution: Answer) -> Answer:
    """returns nothing of use when an input has a single item"""

    def answer(*args: Any) -> Any:
        short = any(isinstance(a, list | np.ndarray | str) and np.size(a) == 1 for a in args)
        result = solution(*args)
        return _on_arrays(result, np.zeros_like) if short else result

    return answer


AROUND = (
    squeezes,
    takes_the_inputs_dtype,
    clips_its_inputs,
    adds_a_little,
    rounds_its_inputs,
    knows_two_axes_only,
    knows_three_axes_only,
    remembers_by_shape,
    fills_an_integer_buffer,
    has_a_table_of_eight,
    fails_for_one,
)


def _on_arrays(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return change(np.asarray(value))
    if isinstance(value, tuple):
        return tuple(_on_arrays(item, change) for item in value)
    return value


def _on_floats(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return change(value) if is_float else value


# --- in its text --------------------------------------------------------------------------------

# What a call is written as, and what learners write instead.
CALLS: dict[str, tuple[str, ...]] = {
    "np.zeros": ("np.zeros_like({first})",),
    "np.empty": ("np.zeros({args}, dtype=int)",),
    "dict.fromkeys": ("set({args})", "sorted(set({args}))"),
    "np.argsort": ("np.argpartition({args}, -1)",),
    "np.swapaxes": ("{first}.reshape({first}.shape[::-1])",),
    "np.transpose": ("{first}.reshape({first}.shape[::-1])",),
    "np.log": ("np.log({args} + 1e-9)", "np.log(np.clip({args}, 1e-9, None))"),
    "np.exp": ("np.exp(np.clip({args}, -50, 50))",),
    "np.sqrt": ("np.sqrt({args} + 1e-9)",),
}
METHODS: dict[str, tuple[str, ...]] = {
    "split": ('{owner}.split(" ")',),
    "swapaxes": ("{owner}.T", "{owner}.reshape({owner}.shape[::-1])"),
    "transpose": ("{owner}.T", "{owner}.reshape({owner}.shape[::-1])"),
    "sum": ("({call} + 1e-9)",),
    "copy": ("{owner}",),
    "lower": ("{owner}",),
    "strip": ("{owner}",),
    "astype": ("{owner}",),
}


def in_its_text(source: str) -> Iterator[tuple[str, str]]:
    """Each rewriting of one call of the solution, and what it is."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for text in _rewritings(node):
                yield from _replaced(source, node, text)
        elif isinstance(node, ast.IfExp) and _is_default(node):
            text = f"({ast.unparse(node.body)} or {ast.unparse(node.orelse)})"
            yield from _replaced(source, node, text)


def _rewritings(node: ast.Call) -> Iterator[str]:
    args = ", ".join(map(ast.unparse, (*node.args, *node.keywords)))
    first = ast.unparse(node.args[0]) if node.args else ""
    for text in CALLS.get(ast.unparse(node.func), ()):
        if first or "{first}" not in text:
            yield text.format(args=args, first=first)
    if isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value)
        for text in METHODS.get(node.func.attr, ()) if owner not in ("np", "ref") else ():
            if node.func.attr != "split" or not node.args:
                yield text.format(owner=owner, call=ast.unparse(node))


def _is_default(node: ast.IfExp) -> bool:
    """x if x is not None else …, which many write as x or …."""
    test = node.test
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.IsNot)
        and ast.unparse(test.left) == ast.unparse(node.body)
    )


def _replaced(source: str, node: ast.expr, text: str) -> Iterator[tuple[str, str]]:
    before = ast.get_source_segment(source, node)
    if not before or source.count(before) == 0:
        return
    changed = source.replace(before, text, 1)
    try:
        ast.parse(changed)
    except SyntaxError:
        return
    yield f"{before} -> {text}", changed
