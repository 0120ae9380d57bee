"""What a page's script must know of a chapter's cells: which can run, and which are exercises."""

import json
import re
from pathlib import Path
from typing import Any

from book.live.inside.absent import is_absent
from book.live.inside.needs import names_of, needs
from tfmlib.support import notebooks

CHECK = re.compile(r'check\("(?P<id>\d+\.\d+)",\s*(?P<answer>\w+)\)\s*')
PICTURE = re.compile(r"^plots\.(architecture|diagrams\.\w+)\(", re.MULTILINE)


def describe(path: Path) -> dict[str, Any]:
    """The code cells of a chapter's notebook, in their order, each with its kind."""
    code = notebooks.code_cells(json.loads(path.read_text("utf-8")))
    sources = [notebooks.source_of(cell) for cell in code]
    setup = frozenset(n for n, cell in enumerate(code) if notebooks.is_setup(cell))
    answers = {match["id"]: match["answer"] for match in map(CHECK.fullmatch, sources) if match}
    cells = []
    for number, cell in enumerate(code):
        exercise = cell["metadata"].get("exercise")
        if exercise:
            page = f"../solutions/{path.stem}.html#sol-{exercise.replace('.', '-')}"
            cells.append({"kind": "exercise", "exercise": exercise, "answer": answers[exercise],
                          "solution": page})  # fmt: skip
        else:
            cells.append({"kind": _kind(sources, number, setup)})
    return {"name": path.stem, "cells": cells}


def _kind(sources: list[str], number: int, setup: frozenset[int]) -> str:
    if CHECK.fullmatch(sources[number]):
        return "check"  # the exercise's own button does that
    if number in setup:
        return "setup"
    if PICTURE.search(sources[number]):
        return "picture"  # nothing in it to change
    return "jupyter" if missing(sources, number, setup) else "run"


def missing(sources: list[str], number: int, setup: frozenset[int]) -> set[str]:
    """The names that a cell or one that it needs uses, and that a page does not have."""
    chain = [*needs(sources, number, setup), number]
    absent = {
        name
        for cell in chain
        for name, module in names_of(sources[cell]).imported
        if is_absent(module)
    }
    return {name for cell in chain for name in names_of(sources[cell]).used & absent}
