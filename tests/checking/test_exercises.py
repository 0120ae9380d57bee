"""Every exercise is proved; and the prover itself can tell a weak check from a strong one."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tfmlib import ref
from tfmlib.checking import verify
from tfmlib.checking.catalogue import all_exercises, find
from tfmlib.checking.draw import axis, leading, values
from tfmlib.checking.exercise import DECLARED, Example, Exercise, numbers
from tfmlib.checking.mutants import mutants
from tfmlib.checking.verify import Proof
from tfmlib.support import notebooks
from tfmlib.support.notebooks import Cell

IDS = [exercise.id for exercise in all_exercises()]


@pytest.fixture(scope="module")
def proofs() -> dict[str, Proof]:
    """All proofs, from a process without torch, of which copies are made in a moment."""
    command = [sys.executable, "-m", "tfmlib", "verify", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = json.loads(run.stdout)["exercises"] if run.stdout else []
    return {row["id"]: Proof(**row) for row in rows}


@pytest.mark.parametrize("id", IDS)
def test_every_exercise_withstands_its_wrong_answers(id, proofs):
    assert not proofs[id].faults
    assert verify.kill_rate([proofs[id]]) >= verify.KILL_BAR, proofs[id].survivors


def test_the_command_lists_every_exercise():
    result = subprocess.run(
        [sys.executable, "-m", "tfmlib", "exercises", "--json"], capture_output=True, text=True
    )
    rows = json.loads(result.stdout)
    assert [row["id"] for row in rows] == IDS
    assert all(row["hints"] == 3 and row["mistakes"] >= 4 for row in rows)


def test_verify_gives_its_findings_as_data():
    command = [sys.executable, "-m", "tfmlib", "verify", "--only", "4.2", "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(result.stdout)
    assert found["holds"] is True
    assert [e["id"] for e in found["exercises"]] == ["4.2"]
    assert result.returncode == 0


def test_verify_refuses_an_unknown_id():
    command = [sys.executable, "-m", "tfmlib", "verify", "--only", "99.9"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert "no exercise '99.9'" in result.stderr


# --- a weak exercise is found out ---------------------------------------------------------------

SOLUTION = Cell("import numpy as np", "def scale(x):\n    return x / np.sqrt(x.shape[-1])")
BLANK = Cell("import numpy as np", "def scale(x):\n    raise NotImplementedError")


def oracle(x):
    return x / np.sqrt(x.shape[-1])


def give_cells(monkeypatch, solution: Cell, blank: Cell) -> None:
    cells = {"solutions": {"99.1": solution}, "notebooks": {"99.1": blank}}
    monkeypatch.setattr(notebooks, "exercise_cells", lambda folder: cells[folder])


@pytest.fixture
def weak(monkeypatch):
    """An exercise that can be made weak in one place; not one of the book's."""
    exercise = Exercise(
        id="99.1",
        title="Scale",
        answer="scale",
        signature="scale(x)",
        oracle=oracle,
        hints=("a", "b", "c"),
        example=Example((np.ones(4),), "four ones give four halves."),
    )
    exercise.case("a matrix", "x over the root", numbers(1, 3, 5))
    exercise.case("a row", "x over the root", numbers(2, 7))
    exercise.invariant("homogeneous", "twice x gives twice the result")(
        lambda answer: np.allclose(answer(2 * numbers(3, 5)), 2 * answer(numbers(3, 5)))
    )
    for name, wrong in {
        "no root": lambda x: x / x.shape[-1],
        "no scale": lambda x: x + 0,
        "times": lambda x: x * np.sqrt(x.shape[-1]),
        "first axis": lambda x: x / np.sqrt(x.shape[0]),
    }.items():
        wrong.__name__ = name
        exercise.mistake(f"{name}.")(wrong)
    exercise.clauses["x over the root"] = "a row"
    exercise.draws(lambda rng, size: (values(rng, (*leading(rng, size), axis(rng, size))),))
    exercise.right(lambda x: np.einsum("...,->...", x, x.shape[-1] ** -0.5))
    give_cells(monkeypatch, SOLUTION, BLANK)
    monkeypatch.setattr(notebooks, "statements", lambda: {"99.1": "Return x over the root."})
    yield exercise
    del DECLARED["99.1"]


def test_a_sound_exercise_is_proved(weak):
    proof = verify.prove("99.1")
    assert proof.faults == []
    assert proof.survivors == []
    assert proof.killed == proof.mutants > 3


def test_a_check_of_shapes_alone_is_found_out(weak):
    weak.expectations.clear()
    weak.draw = None
    weak.example = Example((np.zeros(4),), "four zeros stay zeros.")
    for size in (3, 5):
        weak.invariant(f"shape {size}", "the same shape")(
            lambda answer, size=size: np.shape(answer(np.ones(size))) == (size,)
        )
    proof = verify.prove("99.1")
    assert "mistake no root passes" in proof.faults
    assert "lacks two independent inputs" in proof.faults
    assert verify.kill_rate([proof]) < verify.KILL_BAR


def test_a_square_input_lets_swapped_axes_survive(weak):
    del weak.expectations[0:2]
    weak.draw = None
    weak.case("square", "x over the root", numbers(1, 5, 5))
    weak.case("square again", "x over the root", numbers(2, 5, 5))
    assert any("first axis" in fault for fault in verify.prove("99.1").faults)


def test_two_mistakes_that_cannot_be_told_apart_are_an_error(weak):
    weak.mistake("The same again.")(lambda x: x / x.shape[-1] * 1.0)
    assert "mistake no root is diagnosed as nothing known" in verify.prove("99.1").faults


def test_a_mistake_that_is_right_is_an_error(weak):
    weak.mistake("Not wrong at all.")(oracle)
    assert "mistake oracle passes" in verify.prove("99.1").faults


def test_a_wrong_solution_is_an_error(weak, monkeypatch):
    wrong = Cell("import numpy as np", "def scale(x):\n    return x")
    give_cells(monkeypatch, wrong, BLANK)
    assert any("the solution fails" in fault for fault in verify.prove("99.1").faults)


def test_a_blank_that_passes_is_an_error(weak, monkeypatch):
    give_cells(monkeypatch, SOLUTION, SOLUTION)
    assert any("blank" in fault for fault in verify.prove("99.1").faults)


def test_a_recorded_equivalent_that_is_killed_is_an_error(weak):
    weak.equivalent["return x / np.sqrt(x.shape[-1]) -> return x"] = "no reason at all"
    assert any("recorded as equivalent" in fault for fault in verify.prove("99.1").faults)


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("hints", ("a", "b"), "lacks three hints"),
        ("mistakes", [], "lacks at least 4 mistakes"),
        ("expectations", [], "lacks an invariant"),
    ],
)
def test_an_exercise_that_lacks_something_is_an_error(weak, field, value, fault):
    setattr(weak, field, value)
    assert fault in verify.design_faults(weak)


def test_an_id_cannot_be_declared_twice(weak):
    with pytest.raises(ValueError, match=r"99\.1 is declared twice"):
        Exercise("99.1", "Again", "f", "f(x)", ("a", "b", "c"), weak.example)


def test_one_fault_or_a_low_kill_rate_fails_the_whole():
    good = Proof("1.1", "a", 3, 4, mutants=10, killed=10)
    assert verify.holds([good])
    assert not verify.holds([good, Proof("1.2", "b", 3, 4, mutants=100, killed=97)])
    assert verify.holds([good, Proof("1.2", "b", 3, 4, mutants=100, killed=96, equivalent=3)])
    assert not verify.holds([Proof("1.2", "b", 3, 4, faults=["x"])])


# --- mutants ------------------------------------------------------------------------------------

KINDS = {
    "operator": ("x + y", "x - y"),
    "matrix product": ("x @ y", "x * y"),
    "comparison": ("x < y", "x <= y"),
    "constant": ("x * 3", "x * 4"),
    "small constant": ("x + 1e-05", "x + 2e-05"),
    "axis": ("x.sum(axis=-1)", "x.sum(axis=-2)"),
    "argument order": ("f(x, y)", "f(y, x)"),
    "dropped term": ("x + y", "y"),
    "dropped call": ("np.sqrt(x)", "x"),
    "dropped keyword": ("x.sum(keepdims=True)", "x.sum()"),
    "range": ("range(x)", "range(x + 1)"),
    "sine": ("np.sin(x)", "np.cos(x)"),
    "maximum": ("max(x)", "min(x)"),
    "transpose": ("x.T", "x"),
    "sign": ("-x", "x"),
    "slice": ("x[1:y]", "x[1:y - 1]"),
    "slice step": ("x[::2]", "x[:]"),
    "boolean": ("x and y", "x or y"),
    "negation": ("not x", "x"),
    "choice": ("a if x else b", "a if not x else b"),
    "truth": ("f(x, True)", "f(x, False)"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_slip_is_made(kind):
    before, after = KINDS[kind]
    made = [m.source for m in mutants(f"def f(x):\n    return {before}")]
    assert f"def f(x):\n    return {after}" in made


def test_mutants_differ_from_the_solution_and_from_each_other():
    source = "def f(x):\n    y = x + 1\n    if y > 2:\n        y += 3\n    return max(y, 2 * x)"
    made = [m.source for m in mutants(source)]
    assert len(made) == len(set(made)) > 10
    assert source not in made
    for text in made:
        compile(text, "mutant", "exec")


def test_statements_are_dropped():
    made = [m.source for m in mutants("def f(x):\n    x += 1\n    return x")]
    assert "def f(x):\n    return x" in made


# --- what peers' checks let through -------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "wrong"),
    [
        ("4.3", lambda q, k: ref.softmax(q @ k.T)),
        ("4.4", lambda q, k, v: ref.attention(q * 1.01, k, v)),
        (
            "4.4",
            lambda q, k, v: np.broadcast_to(
                v.mean(-2, keepdims=True), (*q.shape[:-1], v.shape[-1])
            ),
        ),
    ],
    ids=["no root", "one per cent off", "uniform attention"],
)
def test_wrong_answers_that_are_nearly_right_are_refused(id, wrong):
    from tfmlib.checking.judge import judge

    assert not judge(find(id), wrong).passed
