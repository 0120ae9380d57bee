"""Thirty made-up submissions of one chapter, graded: python -m tfmlib.grade.demo_class -o OUT.

Each student's marks are decided first and the notebook is made for them: right answers are the
book's solutions, wrong ones the known mistakes of the exercises. So it is known what the grader
must find, mistakes included, and the command fails when it finds anything else.
"""

import argparse
import ast
import builtins
import inspect
import json
import random
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.exercise import Exercise
from tfmlib.checking.outcome import Status
from tfmlib.grade.class_run import grade
from tfmlib.support.notebooks import ROOT, exercise_cells

STUDENTS = 30
CHAPTER = 4
NAMES = "Ada Blaise Carl Dorothy Emmy Felix Grace Hedy Isaac Joan Kurt Leonhard Mary Niels Olga"
NAMES += " Pierre Quirin Rosalind Sofia Tycho Ursula Vera Werner Xenia Yutaka Zhang Alan Barbara"
NAMES += " Donald Radia"


@dataclass(frozen=True)
class Planned:
    """What a student hands in for one exercise, and what must come of it."""

    source: str
    status: str
    mistake: str = ""


def plan(exercises: list[Exercise], students: int, seed: int = 4) -> dict[str, dict[str, Planned]]:
    """Student -> exercise id -> what is handed in; the first blank, the second all right."""
    rng = random.Random(seed)
    names = NAMES.split() + [f"Student{n}" for n in range(students)]
    made = {}
    for number, name in enumerate(names[:students]):
        able = (0.0, 1.0)[number] if number < 2 else rng.uniform(0.2, 0.95)
        made[name] = {e.id: _choose(e, rng, able, blank=number == 0) for e in exercises}
    return made


def _choose(exercise: Exercise, rng: random.Random, able: float, blank: bool) -> Planned:
    mistakes = mistaken_sources(exercise)
    if not blank and rng.random() < able:
        return Planned(exercise_cells("solutions")[exercise.id].source, Status.PASSED)
    if blank or not mistakes or rng.random() < 0.25:
        return Planned(exercise_cells("notebooks")[exercise.id].source, Status.BLANK)
    name = rng.choice(sorted(mistakes))
    return Planned(mistakes[name], Status.FAILED, name)


def mistaken_sources(exercise: Exercise) -> dict[str, str]:
    """The exercise's mistakes as a student would write them, where they stand on their own."""
    sources = {}
    for mistake in exercise.mistakes:
        source = own_source(mistake.function, exercise.answer)
        if source is not None:
            sources[mistake.name] = source
    return sources


def own_source(function: Callable, name: str) -> str | None:
    """A function's source under another name; None when it uses more than np, ref and builtins."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return None
    definition.name, definition.decorator_list = name, []
    given = {*vars(builtins), "np", "ref"}
    if set(inspect.getclosurevars(function).globals) - given or function.__closure__:
        return None
    return ast.unparse(tree)


def notebook(blank: dict, planned: dict[str, Planned], rng: random.Random) -> dict:
    """The chapter's notebook with these answers, mistreated as students mistreat notebooks."""
    made = json.loads(json.dumps(blank))
    for cell in made["cells"]:
        id = cell["metadata"].get("exercise")
        if id in planned:
            cell["source"] = planned[id].source
    treatment = rng.choice(TREATMENTS)
    return treatment(made)


def untouched(made: dict) -> dict:
    return made


def without_metadata(made: dict) -> dict:
    for cell in made["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    return made | {"metadata": {"kernelspec": {"name": "my-own", "display_name": "?"}}}


def merged(made: dict) -> dict:
    """Every answer in the cell of its check."""
    kept, before = [], ""
    for cell in made["cells"]:
        if cell["cell_type"] == "code" and "exercise" in cell["metadata"]:
            before = "".join(cell["source"]) + "\n\n"
        elif cell["cell_type"] == "code" and before:
            kept.append(cell | {"source": before + "".join(cell["source"])})
            before = ""
        else:
            kept.append(cell)
    return made | {"cells": kept}


def with_errors(made: dict) -> dict:
    """Cells of one's own, some of which raise, with lines for IPython."""
    sources = ("1 / 0", "%matplotlib inline\n!ls\nnp.zeros(3)?", "def broken(:", "not_defined")
    extra = [{"cell_type": "code", "metadata": {}, "source": text} for text in sources]
    return made | {"cells": [*extra[:2], *made["cells"], *extra[2:]]}


def old_format(made: dict) -> dict:
    """As IPython 1 to 2 wrote it."""
    old = []
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            code = {"cell_type": "code", "language": "python", "input": cell["source"]}
            old.append(code | {"collapsed": False, "metadata": {}, "outputs": []})
        else:
            old.append({k: cell[k] for k in ("cell_type", "source", "metadata")})
    sheets = [{"cells": old, "metadata": {}}]
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": sheets}


TREATMENTS = (untouched, without_metadata, merged, with_errors, old_format)


def write_class(folder: Path, students: int = STUDENTS, chapter: int = CHAPTER) -> dict:
    """Write the submissions; return the plan they were made for."""
    exercises = [e for e in all_exercises() if e.chapter == chapter]
    paths = list((ROOT / "notebooks").glob(f"{chapter:02}-*.ipynb"))
    if not paths:
        raise SystemExit(
            f"The demo class needs the notebook of chapter {chapter}, and {ROOT / 'notebooks'} has "
            "none: run it in a clone of the repository."
        )
    blank = json.loads(paths[0].read_text(encoding="utf-8"))
    made, rng = plan(exercises, students), random.Random(chapter)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, planned in made.items():
        text = json.dumps(notebook(blank, planned, rng))
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    return made


def differences(made: dict, graded: list) -> list[str]:
    """Where the grader found something else than the plan says."""
    found = []
    results = {submission.student: result for submission, result in graded}
    for student, planned in made.items():
        for id, wanted in planned.items():
            mark = results[student].marks[id]
            if (mark.status, mark.mistake) != (wanted.status, wanted.mistake):
                found.append(
                    f"{student}, {id}: made to be {wanted.status} {wanted.mistake}, "
                    f"graded {mark.status} {mark.mistake} {mark.problem}"
                )
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tfmlib.grade.demo_class", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "_build" / "demo-class")
    parser.add_argument("--students", type=int, default=STUDENTS)
    parser.add_argument("--chapter", type=int, default=CHAPTER)
    options = parser.parse_args(arguments)
    made = write_class(options.out / "submissions", options.students, options.chapter)
    graded, remarks = grade(
        options.out / "submissions", options.out / "graded", [options.chapter], progress=True
    )
    wrong = differences(made, graded)
    totals = Counter(p.status for planned in made.values() for p in planned.values())
    print(*remarks, *wrong, sep="\n")
    print(f"{len(made)} students: " + ", ".join(f"{n} {status}" for status, n in totals.items()))
    print(f"See {options.out / 'graded' / 'class.html'}")
    print("The marks are those the class was made for." if not wrong else "The marks differ.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
