"""Which cells a cell needs: by rule, and proved on every NumPy cell of the book."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from book.live.cells import describe
from book.live.inside.needs import needs
from tfmlib.support import notebooks

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["x = 1", "y = 2", "print(x)"], [0]),
        (["x = 1", "x = 2", "print(x)"], [1]),
        (["x = [1]", "x.append(2)", "print(x)"], [0, 1]),
        (["x = [1]", "x[0] = 2", "print(x)"], [0, 1]),
        (["x = 1", "x += 1", "print(x)"], [0, 1]),
        (["x = 1", "if x: x = 2", "print(x)"], [0, 1]),
        (["x = 1", "def f(x): return x", "print(f(2))"], [1]),
        (["x = 1", "def f(): return x", "print(f())"], [0, 1]),
        (["x = 1", "y = [x for x in 'ab']", "print(y)"], [1]),
        (["r = default_rng(0)", "a = r.normal()", "b = 1", "print(r.normal())"], [0, 1]),
        (["r = default_rng(0)", "def d(): return r.normal()", "a = d()", "print(d())"], [0, 1, 2]),
        (["a = default_rng(0).normal()", "print(a)", "print(a)"], [0]),
        (["import numpy as np", "np.sort([2])", "print(np.pi)"], [0]),
        (["x = 1", "this is no Python", "print(x)"], [0]),
    ],
)
def test_a_cell_needs_what_made_its_names(sources, expected):
    assert needs(sources, len(sources) - 1) == expected


def test_the_set_up_comes_first_in_any_case():
    assert needs(["import numpy", "x = 1", "print(2)"], 2, always=frozenset({0})) == [0]


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem[:2])
def test_a_cell_prints_what_is_stored_after_its_needs_alone(path, monkeypatch):
    """Each cell in a namespace of its own, in which only what it needs has run."""
    monkeypatch.setenv("TFM_PROGRESS", "off")
    monkeypatch.setenv("MPLBACKEND", "agg")
    cells = notebooks.code_cells(json.loads(path.read_text("utf-8")))
    sources = [notebooks.source_of(cell) for cell in cells]
    setup = frozenset(n for n, cell in enumerate(cells) if notebooks.is_setup(cell))
    for number, about in enumerate(describe(path)["cells"]):
        outputs = cells[number]["outputs"]
        if about["kind"] != "run" or any(o["output_type"] != "stream" for o in outputs):
            continue
        if "nbval-ignore-output" in cells[number]["metadata"].get("tags", []):
            continue
        names, printed = {"__name__": "__main__"}, io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()):
            for needed in needs(sources, number, setup):
                exec(sources[needed], names)
        with contextlib.redirect_stdout(printed):
            exec(sources[number], names)
        stored = "".join("".join(output["text"]) for output in outputs)
        assert printed.getvalue() == stored, f"cell {number + 1}"
