"""What runs in the student's process: the notebook, then its answers, called when asked.

A copy of this file is all of the grader that enters that process. It knows the names of the
answers and nothing of what they should return. Whatever a submission does to it, the grader only
ever reads plain data from the pipe.
"""

import ast
import builtins
import inspect
import io
import json
import linecache
import os
import struct
import sys
import time
import types
from collections.abc import Callable

import numpy as np

from tfmlib import check as recorder  # the stub that stands in its place
from tfmlib import ref
from tfmlib.checking import call as one_call
from tfmlib.checking import pipe, wire

BODY_MAGICS = ("time", "timeit", "capture", "prun")  # the rest of such a cell is Python
FUNCTIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
DEFINITIONS = (*FUNCTIONS, ast.Assign, ast.AnnAssign)
STANDARD = (builtins, sys, os, io, json, struct, time, inspect, linecache)
GUARDED: tuple[types.ModuleType, ...] = (*STANDARD, np, ref, one_call, pipe, wire)
MOST_TRIES = 4
CALLS: list[tuple[str, object]] = vars(recorder)["calls"]


class Original:
    """The modules as they were, so that a cell that patches one does not spoil the next."""

    def __init__(self) -> None:
        self._contents = [(module, dict(vars(module))) for module in GUARDED]
        self._modules = dict(sys.modules)
        self._modules_dict = sys.modules

    def restore(self) -> None:
        for module, contents in self._contents:
            vars(module).update(contents)
        self._modules_dict.update(self._modules)


class Notebook:
    """The cells' common namespace, and every function seen in it under an answer's name."""

    def __init__(self, answers: dict[str, str], forbidden: dict[str, list[str]]) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names = vars(module)
        self.names["display"] = lambda *args, **kwargs: None
        self.answers, self.forbidden = answers, forbidden
        self.found: dict[str, list[tuple[Callable, dict]]] = {id: [] for id in answers}

    def run(self, number: int, source: str, only: tuple | None = None) -> tuple[str, str] | None:
        """Run one cell, or only statements of some kinds; return what went wrong, if anything."""
        problem = None
        try:
            exec(self._compiled(number, source, only), self.names)
        except BaseException as error:
            problem = (type(error).__name__, str(error)[:300])
        self._look_for_answers()
        return problem

    def _compiled(self, number: int, source: str, only: tuple | None) -> types.CodeType:
        name = f"<cell {number + 1}>"
        tree = parse(source, name)
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        if only:
            tree.body = [node for node in tree.body if isinstance(node, only)]
        return compile(tree, name, "exec")

    def _look_for_answers(self) -> None:
        for id, name in self.answers.items():
            self._remember(id, self.names.get(name))
        for id, answer in CALLS:
            self._remember(id, answer)
        CALLS.clear()

    def _remember(self, id: str, answer: object) -> None:
        of_library = str(getattr(answer, "__module__", "")).split(".")[0] == "tfmlib"
        if id not in self.found or not callable(answer) or of_library:
            return
        known = self.found[id]
        if not known or known[-1][0] is not answer:
            known.append((answer, dict(self.names)))

    def tries(self, id: str) -> list[tuple[Callable, dict]]:
        """What may be meant, likeliest first: a function, and the namespace to call it in.

        A later cell may have taken the name of a helper, or brought it: so an answer is tried
        as it stood when it was written, and as it stands at the end.
        """
        known = self.found[id][::-1]
        if not known:
            return []
        return [known[0], (known[0][0], self.final), *known[1:]][:MOST_TRIES]

    def finish(self) -> None:
        self.final = dict(self.names)

    def call(self, id: str, number: int, args: tuple) -> one_call.Reply:
        answer, names = self.tries(id)[number]
        self.names.clear()
        self.names.update(names)
        return one_call.perform(answer, args, frozenset(self.forbidden.get(id, ())))


def parse(source: str, name: str) -> ast.Module:
    """Python's tree of a cell; lines for IPython or the shell are left out."""
    try:
        return ast.parse(source, name)
    except SyntaxError:
        lines = source.splitlines()
        first = lines[0].strip() if lines else ""
        if first.startswith("%%") and first[2:].split(" ")[0] not in BODY_MAGICS:
            return ast.parse("", name)
        # Emptied, not removed: the line numbers stay.
        kept = ["" if _is_magic(line) else line for line in lines]
        return ast.parse("\n".join(kept), name)


def _is_magic(line: str) -> bool:
    return line.lstrip().startswith(("%", "!", "?")) or line.rstrip().endswith("?")


def serve(ask: int, reply: int) -> None:
    """Run the notebook, say how it went, then answer calls until the pipe closes."""
    send, receive, encode, decode = pipe.send, pipe.receive, wire.encode, wire.decode
    send(reply, encode({"ready": True}))
    job = decode(receive(ask))
    original = Original()
    notebook = Notebook(job["answers"], job["forbidden"])
    everything = DEFINITIONS if job["definitions_only"] else None
    problems = {}
    for number, source in enumerate(job["cells"]):
        send(reply, encode({"cell": number}))
        if number not in job["skipped"]:
            only = FUNCTIONS if number in job["light"] else everything
            problem = notebook.run(number, source, only)
            original.restore()
            if problem:
                problems[number] = problem
    notebook.finish()
    found = {id: len(notebook.tries(id)) for id in notebook.found}
    send(reply, encode({"problems": problems, "found": found}))
    while True:
        request = decode(receive(ask))
        outcome = notebook.call(request["id"], request["try"], request["args"])
        original.restore()
        send(reply, encode({"call": request["call"], "reply": outcome.as_data()}))
