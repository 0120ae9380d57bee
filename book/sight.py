"""Whether the answer to an exercise can be copied from a cell nearby.

A solution and a cell are compared by what they do, step by step: the operations of their syntax
trees in the order in which Python evaluates them, without the names, literals and indices that
they are applied to. A cell gives an answer away when a run of its operations is nearly the
solution's, whatever its variables are called and however it is cut into statements.
"""

import ast
import builtins
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from book.manuscript import BEGIN, END, Block, Chapter, Exercise, blank

NEARLY_ALL = 0.75  # of the solution's operations, less what differs
TOO_FEW = 3  # a solution of fewer operations cannot help looking like other code
SECTION = re.compile(r"^## ", re.MULTILINE)
ORDERLESS = (ast.Add, ast.Mult)


@dataclass(frozen=True)
class Sighting:
    """A cell in which an answer can be read."""

    exercise: str
    line: int  # of the cell
    share: float  # of the solution that is in the cell


def sightings(chapter: Chapter) -> list[Sighting]:
    """The answers of a chapter that are in sight of their exercises, each where it is clearest."""
    found = []
    for exercise in chapter.exercises:
        solution = operations(_region(exercise.answer.source))
        cells = list(_in_sight(chapter, exercise))
        if len(solution) < TOO_FEW or not cells:
            continue
        shares = overlaps(solution, [operations(blank(cell.source)) for cell in cells])
        clearest = int(np.argmax(shares))
        if shares[clearest] >= NEARLY_ALL:
            found.append(Sighting(exercise.id, cells[clearest].line, float(shares[clearest])))
    return found


def _in_sight(chapter: Chapter, exercise: Exercise) -> Iterator[Block]:
    """The code before an exercise is checked, and behind it to the end of its section."""
    behind = False
    for block in chapter.blocks:
        if behind and block.kind == "prose" and SECTION.search(block.source):
            return
        behind = behind or block is exercise.check
        if block.kind == "code" and block is not exercise.answer and block is not exercise.check:
            yield block


def _region(source: str) -> str:
    """The lines of a solution."""
    inside = source.partition(BEGIN)[2].partition(END)[0]
    return textwrap.dedent(inside.partition("\n")[2].rpartition("\n")[0])


# --- operations ---------------------------------------------------------------------------------


def operations(source: str) -> list[str]:
    """The operations of a piece of code in the order of their evaluation.

    >>> operations("def f(x):\\n    powers = np.exp(x)\\n    return powers / powers.sum()")
    ['.exp', '.sum', 'Div']
    """
    tree = ast.parse(source)
    return list(_Operations(tree).of(tree))


class _Operations:
    def __init__(self, tree: ast.AST) -> None:
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        written = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
        read = Counter(n.id for n in names if isinstance(n.ctx, ast.Load))
        # A name that is written once and read once: it may as well not be there.
        self.passing = {name for name in written if written[name] == read[name] == 1}
        self.values: dict[str, list[str]] = {}

    def of(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in self.passing:
                self.values[name] = list(self.of(node.value))
            case ast.Name(id=name, ctx=ast.Load()):
                is_builtin = [name] if hasattr(builtins, name) else []
                yield from self.values.pop(name, is_builtin)
            case ast.Attribute():
                yield from self.of(node.value)
                yield f".{node.attr}"
            case ast.Call(func=ast.Attribute(attr="append")):  # a list that grows in a loop
                yield from self._each(node.args)
            case ast.Call():
                yield from self._each([*node.args, *node.keywords, node.func])
            case ast.BinOp():
                yield from self._binary(node.left, node.op, node.right)
            case ast.AugAssign():
                yield from self._binary(node.target, node.op, node.value)
            case ast.UnaryOp(operand=ast.Constant()) | ast.Slice():  # -1, ::2
                pass
            case ast.For() | ast.While():
                yield from self.of(node.iter if isinstance(node, ast.For) else node.test)
                yield "loop"
                yield from self._each([*node.body, *node.orelse])
            case ast.DictComp():
                yield from self._comprehension(node.generators, [node.key, node.value])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                yield from self._comprehension(node.generators, [node.elt])
            case ast.operator() | ast.unaryop() | ast.cmpop() | ast.boolop():
                yield type(node).__name__
            case _:
                yield from self._each(ast.iter_child_nodes(node))

    def _each(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        for node in nodes:
            yield from self.of(node)

    def _binary(self, left: ast.AST, operator: ast.operator, right: ast.AST) -> Iterator[str]:
        operands = [list(self.of(left)), list(self.of(right))]
        if isinstance(operator, ORDERLESS):
            operands.sort()
        yield from chain(*operands, self.of(operator))

    def _comprehension(
        self, generators: list[ast.comprehension], result: list[ast.expr]
    ) -> Iterator[str]:
        """As the loop that it stands for."""
        for part in generators:
            yield from self.of(part.iter)
            yield "loop"
            yield from self._each(part.ifs)
        yield from self._each(result)


# --- overlap ------------------------------------------------------------------------------------


def overlaps(solution: Sequence[str], cells: Sequence[Sequence[str]]) -> np.ndarray:
    """For each cell how much of the solution its best run holds: 1 all of it, in order.

    The best local alignment (Smith and Waterman): one point for each operation of the solution
    that is found, one off for each that is missing, other or too much.

    >>> overlaps("abcd", ["xabcd", "bcxd", ""]).tolist()
    [1.0, 0.5, 0.0]
    """
    longest = max(map(len, cells), default=0)
    table = np.array([[*cell, *[""] * (longest - len(cell))] for cell in cells], dtype=object)
    column = np.arange(longest + 1)
    points = best = np.zeros((len(cells), longest + 1))
    for operation in solution:
        found = points[:, :-1] + np.where(table == operation, 1, -1)
        with_one_missing = points - 1
        points = with_one_missing.clip(0)
        points[:, 1:] = np.maximum(points[:, 1:], found)
        # One off for each operation of the cell that the solution does not have.
        points = np.maximum.accumulate(points + column, axis=1) - column
        best = np.maximum(best, points)
    return best.max(axis=1) / len(solution)
