"""Figures that the page draws: the stand-in for `tfmlib.plots`, and what to call it with."""

import contextlib
import functools
import importlib.util
import io
from pathlib import Path
from types import ModuleType
from unittest import mock

import nbformat
import numpy as np

from tfmlib import plots

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = ROOT / "book/live/inside/plots.py"
BESIDE = ("colours", "inputs", "told", "words")  # the modules of the package that the page has too
DRAWN = (
    "heat_map",
    "encoding_map",
    "mask_map",
    "attention_heads",
    "distribution",
    "bars",
    "lines",
    "loss_curves",
)
STORED = ("search_tree", "architecture")
Call = tuple[str, tuple, dict]  # the name of a function, and its arguments

RNG = np.random.default_rng(0)
TOKENS = ["<start>", "not", "on", "your", "life", "!", "<end>"]
WEIGHTS = RNG.dirichlet(np.full(5, 0.5), size=(3, 7))  # (H, T, S)
SIGNED = RNG.normal(size=(3, 5))
CALLS: dict[str, Call] = {
    "heat map": ("heat_map", (WEIGHTS[0], TOKENS, TOKENS[:5]), {"title": "Who looks at whom"}),
    "signed heat map": ("heat_map", (SIGNED,), {"xlabel": "dimension", "ylabel": "token"}),
    "masked heat map": ("heat_map", (np.where(np.tri(5) == 1, 2.5, -np.inf),), {}),
    "large heat map": ("heat_map", (RNG.random((11, 13)),), {}),
    "heat map without values": ("heat_map", (SIGNED,), {"values": False}),
    "encoding": ("encoding_map", (np.sin(np.arange(23)[:, None] / [1, 5, 25]),), {}),
    "mask": ("mask_map", (np.tri(7) == 1, TOKENS, TOKENS), {}),
    "named mask": ("mask_map", (RNG.random((3, 5)) < 0.5,), {"names": ("moved", "not moved")}),
    "heads": ("attention_heads", (WEIGHTS, TOKENS, TOKENS[:5]), {"title": "Three heads"}),
    "distribution": ("distribution", ([0.02, 0.004, 0.13, 0.81], TOKENS[:4]), {"title": "Next"}),
    "bars": ("bars", (["base", "big"], {"printed": [65, 213], "counted": [63.1, -214]}, "m"), {}),
    "many bars": ("bars", (list("abcde"), {"p": [1, 2, 3, 4, 5], "q": [9, 8, 7, 0, 6]}, "s"), {}),
    "wide bars": ("bars", (["a long label", "another label"] * 3, {"p": [2, 3, 5] * 2}, "s"), {}),
    "five groups": ("bars", (["a", "b"], {f"group {i}": [i, 2] for i in range(5)}, "s"), {}),
    "lines": ("lines", ([2, 3, 5], {"a": [1, 7, 2], "b": [5, 3, 11]}, "n", "ms"), {"title": "T."}),
    "log lines": (
        "lines",
        ([2, 30, 500], {"a": [1, 70, 2000]}, "n", "ms"),
        {"log_x": True, "log_y": True},
    ),
    "seven lines": ("lines", ([1, 2], {f"line {i}": [i, 7 - i] for i in range(7)}, "x", "y"), {}),
    "one point": ("lines", ([3], {"a": [5]}, "x", "y"), {"alt": "A point."}),
    "tiny numbers": ("lines", ([1, 2], {"a": [1e-12, 5e-12]}, "x", "y"), {}),
    "huge numbers": ("lines", ([1e7, 9e7], {"a": [-3e12, 5e13]}, "x", "y"), {}),
    "loss": (
        "loss_curves",
        ({"train": np.geomspace(5, 0.1, 97), "valid": {50: 1.1, 97: 0.3}},),
        {"log": True},
    ),
}


@functools.cache
def stand_in() -> ModuleType:
    """The module that the page has in place of `tfmlib.plots`."""
    spec = importlib.util.spec_from_file_location("page_plots", STAND_IN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figure(call: Call):
    """What the page makes of a call."""
    name, args, kwargs = call
    return getattr(stand_in(), name)(*args, **kwargs)


@functools.cache
def book_calls() -> dict[str, Call]:
    """Every call for a figure in the chapters that need NumPy alone, by chapter and number.

    Cells that measure time are left out, since their figures differ from run to run.
    """
    calls: dict[str, Call] = {}
    for notebook in sorted((ROOT / "notebooks").glob("0[0-9]-*.ipynb")):
        variables = {"__name__": notebook.stem}
        for cell in nbformat.read(notebook, as_version=4).cells:
            if cell.cell_type == "code" and not cell.source.startswith("check("):
                found = _calls_of(cell.source, variables)
                if "perf_counter" not in cell.source:
                    calls |= {
                        f"{notebook.stem} {len(calls) + n}": call for n, call in enumerate(found)
                    }
    return calls


def _calls_of(source: str, variables: dict) -> list[Call]:
    """Execute a cell; return its calls for figures, which are not drawn."""
    calls: list[Call] = []

    def record(name: str, *args: object, **kwargs: object) -> None:
        calls.append((name, args, kwargs))

    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        for name in (*DRAWN, *STORED):
            stack.enter_context(mock.patch.object(plots, name, functools.partial(record, name)))
        exec(source, variables)
    return calls
