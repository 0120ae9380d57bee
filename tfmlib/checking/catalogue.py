"""The catalogue: every exercise of the book, found by its id.

The engine knows no exercise by name. A chapter's exercises are a module `chNN_topic` of
`tfmlib.exercises`, imported when one of them is asked for.
"""

import difflib
import importlib
import pkgutil
from functools import cache

from tfmlib.checking.exercise import DECLARED, Exercise

CONTENT = "tfmlib.exercises"


@cache
def modules() -> dict[int, str]:
    """Chapter number -> name of the module with its exercises."""
    places = importlib.import_module(CONTENT).__path__
    names = [m.name for m in pkgutil.iter_modules(places) if m.name.startswith("ch")]
    return {int(name[2:4]): name for name in sorted(names)}


def all_exercises() -> list[Exercise]:
    """Every exercise of the book, in order."""
    for name in modules().values():
        importlib.import_module(f"{CONTENT}.{name}")
    return sorted(DECLARED.values(), key=lambda e: [int(part) for part in e.id.split(".")])


def find(id: str) -> Exercise:
    """The exercise with this id, or a LookupError that names the nearest ids."""
    id = str(id).strip()
    chapter = id.split(".")[0]
    if chapter.isdigit() and int(chapter) in modules():
        importlib.import_module(f"{CONTENT}.{modules()[int(chapter)]}")
    if id in DECLARED:
        return DECLARED[id]
    known = [e.id for e in all_exercises()]
    near = difflib.get_close_matches(id, known, n=1, cutoff=0.0)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise LookupError(f"There is no exercise {id!r}.{hint}")
