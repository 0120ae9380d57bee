"""What the page has in place of the figures says and shows what they do."""

import inspect
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from page_figures import BESIDE, CALLS, DRAWN, ROOT, STAND_IN, STORED, book_calls, figure, stand_in

from tfmlib import plots

FUNCTIONS = [name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))]
# Settings of Matplotlib, and the names in a picture that the page keeps.
NOT_IN_THE_PAGE = {"STYLE", "PARTS"}


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def as_numbers(values):
    """Back from JSON: "-inf" and its like are numbers again."""
    if isinstance(values, list):
        return [as_numbers(value) for value in values]
    return float(values)


def meshes(picture):
    """The cells of each panel; a colour bar has no ticks' worth of rows and is left out."""
    drawn = [[c for c in axes.collections if isinstance(c, QuadMesh)] for axes in picture.axes]
    panels = [(axes, found[0]) for axes, found in zip(picture.axes, drawn, strict=True) if found]
    return [(axes, mesh) for axes, mesh in panels if axes.get_label() != "<colorbar>"]


def tick_texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# --- the same names, sentences and words ----------------------------------------------------------


def test_functions_have_the_same_signatures():
    assert {*DRAWN, *STORED} < {*FUNCTIONS}
    for name in FUNCTIONS:
        assert parameters(getattr(stand_in(), name)) == parameters(getattr(plots, name)), name


def test_every_name_is_there_and_constants_are_equal():
    assert {*plots.__all__} - {*dir(stand_in())} == NOT_IN_THE_PAGE
    for name in {*plots.__all__} - NOT_IN_THE_PAGE:
        if not callable(getattr(plots, name)) and name != "diagrams":
            assert getattr(stand_in(), name) == getattr(plots, name), name


def test_a_diagram_is_not_drawn_anew_whichever_it_is():
    for name in plots.diagrams.__all__:
        assert getattr(stand_in().diagrams, name)(1, two=2).spec == {"kind": "stored"}
    with pytest.raises(AttributeError):
        _ = stand_in().diagrams.__path__


def test_text_is_black_or_white_as_in_the_figures():
    for colour in ("#0072b2", "#f0e442", plots.ACCENT, plots.BLOCKED, (0.2, 0.9, 0.1)):
        assert stand_in().text_colour(colour) == plots.text_colour(colour)


BAD = {
    "vector": ("heat_map", ([1, 2],), {}),
    "nothing": ("heat_map", (np.ones((0, 3)),), {}),
    "not a number": ("heat_map", ([[0.5, np.nan]],), {}),
    "too few labels": ("heat_map", (np.eye(3), ["a"]), {}),
    "infinite encoding": ("encoding_map", ([[-np.inf]],), {}),
    "half a mask": ("mask_map", ([[0, 0.5]],), {}),
    "one head": ("attention_heads", (np.eye(2),), {}),
    "above one": ("distribution", ([0.5, 0.513],), {}),
    "a bar too many": ("bars", (["a"], {"g": [1, 2]}, "y"), {}),
    "six groups": ("bars", (["a"], {i: [1] for i in range(6)}, "y"), {}),
    "no series": ("lines", ([1], {}, "x", "y"), {}),
    "a value too many": ("lines", ([1, 2], {"a": [1, 2, 3]}, "x", "y"), {}),
    "zero on a log axis": ("lines", ([0, 2], {"a": [1, 2]}, "x", "y"), {"log_x": True}),
    "negative loss": ("loss_curves", ({"a": [1, -2]},), {"log": True}),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_the_same_sentence(name):
    function, args, kwargs = BAD[name]
    with pytest.raises(ValueError, match="must") as wanted:
        getattr(plots, function)(*args, **kwargs)
    with pytest.raises(ValueError, match="must") as found:
        figure(BAD[name])
    assert str(found.value) == str(wanted.value)


# --- the same data --------------------------------------------------------------------------------


def compare(call):
    """Raise unless the page draws what the book's figure shows, and tells the same."""
    name, args, kwargs = call
    picture, drawn = getattr(plots, name)(*args, **kwargs), figure(call)
    assert drawn.alt == picture.alt
    assert repr(drawn) == repr(picture)
    spec = json.loads(json.dumps(drawn.spec, allow_nan=False))
    assert spec["alt"] == picture.alt
    assert spec["title"] == (picture.get_suptitle() or None)
    {"lines": same_lines, "bars": same_bars, "distribution": same_distribution}.get(
        spec["kind"], same_map
    )(picture, spec)


def same_lines(picture, spec):
    (axes,) = picture.axes
    assert [line.get_label() for line in axes.lines] == [one["name"] for one in spec["series"]]
    for line, one in zip(axes.lines, spec["series"], strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.transpose([one["x"], one["y"]]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == (spec["xlabel"], spec["ylabel"])
    assert (axes.get_xscale() == "log", axes.get_yscale() == "log") == (
        spec["log_x"],
        spec["log_y"],
    )


def same_bars(picture, spec):
    (axes,) = picture.axes
    for bars, group in zip(axes.containers, spec["groups"], strict=True):
        assert bars.get_label() == group["name"]
        assert [bar.get_height() for bar in bars] == group["values"]
    assert [t.get_text() for t in axes.texts] == [t for g in spec["groups"] for t in g["texts"]]
    assert tick_texts(axes.xaxis) == spec["labels"]
    assert axes.get_ylabel() == spec["ylabel"]


def same_distribution(picture, spec):
    (axes,) = picture.axes
    assert [bar.get_width() for bar in axes.containers[0]] == spec["values"]
    assert [text.get_text() for text in axes.texts] == spec["texts"]
    assert tick_texts(axes.yaxis) == spec["labels"]
    assert axes.get_xlabel() == spec["xlabel"]


def same_map(picture, spec):
    panels = meshes(picture)
    for (axes, mesh), panel in zip(panels, spec["panels"], strict=True):
        cells = np.array(as_numbers(panel["cells"]))
        np.testing.assert_array_equal(mesh.get_array().filled(-np.inf).reshape(cells.shape), cells)
        if spec["kind"] == "map":
            assert [mesh.norm.vmin, mesh.norm.vmax] == spec["scale"]
            assert [t.get_text() for t in axes.texts] == [t for row in panel["texts"] for t in row]
            names = [axes.get_xlabel()] if len(panels) > 1 else [None]
            assert [panel.get("name")] == names
        assert (len(spec["rows"]), len(spec["columns"])) == cells.shape
    axes = panels[0][0]
    for axis, labels in ((axes.xaxis, spec["columns"]), (axes.yaxis, spec["rows"])):
        shown = dict(zip((int(t) for t in axis.get_ticklocs()), tick_texts(axis), strict=True))
        assert {i: labels[i] for i in shown} == shown
    if spec["kind"] == "mask":
        key = [text.get_text() for text in picture.legends[0].get_texts()]
        assert key == [f"{sign} {name}" for sign, name in zip("✓×", spec["names"], strict=True)]
        assert [t.get_text() for t in axes.texts] in (
            [],  # no room in the figure
            [text for row in spec["panels"][0]["texts"] for text in row],
        )


@pytest.mark.parametrize("name", CALLS)
def test_the_page_draws_what_the_figure_shows(name):
    compare(CALLS[name])


@pytest.mark.slow
def test_the_page_draws_what_the_figures_of_the_chapters_show():
    drawn = {name: call for name, call in book_calls().items() if call[0] in DRAWN}
    assert {call[0] for call in drawn.values()} == {*DRAWN}
    assert len({name[:2] for name in drawn}) == 10  # chapters
    for call in drawn.values():
        compare(call)


def test_a_figure_that_the_page_cannot_draw_leaves_the_one_of_the_book():
    page = stand_in()
    assert page.architecture("masks").spec == {"kind": "stored"}
    assert page.search_tree([{"a": 1.0}], width=1).spec == {"kind": "stored"}

    @page.house_style()
    def drawn_by_hand():
        picture = page.Picture(figsize=(page.WIDTH, 4.0), alt="By hand.")
        axes = picture.add_subplot(xlabel="x")
        axes.grid()
        axes.plot([1, 2], "o", color=page.SERIES[0][0])
        picture.legend(loc="outside upper center")
        return picture

    assert drawn_by_hand().spec == {"kind": "stored"}
    assert repr(drawn_by_hand()) == "<Picture: By hand.>"


# --- in the page ----------------------------------------------------------------------------------

# As in the page: the package has the stand-in for its own file, and there is no Matplotlib.
PROGRAM = """
import sys
for name in ("matplotlib", "PIL", "IPython", "torch"):
    sys.modules[name] = None
from tfmlib import plots
assert plots.__file__.startswith(sys.argv[1])
print(plots.heat_map([[1.5, float("-inf")]], ["a"]).spec)
"""


def test_the_stand_in_needs_numpy_alone_and_says_nothing_when_it_is_imported(tmp_path):
    room = tmp_path / "tfmlib"
    for name in ("__init__.py", "support/__init__.py", "support/arrays.py"):
        (room / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tfmlib" / name, room / name)
    (room / "plots").mkdir()
    for name in BESIDE:
        shutil.copy(ROOT / f"tfmlib/plots/{name}.py", room / "plots")
    shutil.copy(STAND_IN, room / "plots/__init__.py")
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    wanted = figure(("heat_map", ([[1.5, -np.inf]], ["a"]), {}))
    assert run.stdout == f"{wanted.spec}\n"
    assert wanted.spec["panels"] == [{"cells": [[1.5, "-inf"]], "texts": [["1.5", "−∞"]]}]
