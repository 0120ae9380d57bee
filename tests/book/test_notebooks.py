"""The committed notebooks: fresh, run, and linked both ways."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from book import compiler
from book.manuscript import read_all
from book.quiz import read_quiz
from tfmlib.checking.catalogue import all_exercises

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = read_all(ROOT / "book/chapters")
COMMITTED = sorted([*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "solutions").glob("*.ipynb")])
NAMES = [f"{path.parent.name}/{path.name}" for path in COMMITTED]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_committed_notebooks_are_what_the_manuscript_compiles_to(chapter):
    for notebook, path in compiler.targets(chapter):
        assert path.is_file(), f"{path} is missing: run make notebooks"
        assert compiler.bare(nbformat.read(path, 4)) == compiler.bare(notebook), (
            f"{path.relative_to(ROOT)} is stale: run make notebooks"
        )


def test_every_committed_notebook_has_a_chapter():
    wanted = {path for chapter in CHAPTERS for _, path in compiler.targets(chapter)}
    assert wanted == set(COMMITTED)


@pytest.mark.parametrize("path", COMMITTED, ids=NAMES)
def test_outputs_are_stored(path):
    """nbval passes a notebook that has none, comparing nothing."""
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    shows = [c for c in code if re.search(r"^(print|check|plots\.)\b", c.source, re.MULTILINE)]
    assert shows
    for cell in shows:
        assert cell.outputs, f"cell {cell['id']} has no stored output"


@pytest.mark.parametrize("path", COMMITTED, ids=NAMES)
def test_no_output_is_an_error_or_a_path_of_the_machine_it_ran_on(path):
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr", f"cell {cell['id']} writes to stderr"
            assert str(ROOT) not in json.dumps(output)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_blanks_are_not_attempted_and_solutions_pass(chapter):
    for folder, words in (("notebooks", "not attempted"), ("solutions", "passed")):
        notebook = nbformat.read(ROOT / folder / f"{chapter.name}.ipynb", 4)
        checks = [c for c in notebook.cells if re.match(r"check\(", c.source)]
        assert len(checks) == len(chapter.exercises)
        for cell in checks:
            assert words in cell.outputs[0].data["text/plain"], cell.source


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_manuscript_and_library_know_the_same_exercises(chapter):
    declared = [e for e in all_exercises() if e.chapter == chapter.number]
    assert [(e.id, e.title) for e in declared] == [(e.id, e.title) for e in chapter.exercises]
    for exercise, written in zip(declared, chapter.exercises, strict=True):
        assert f"def {exercise.answer}(" in written.answer.source
        assert f'check("{exercise.id}", {exercise.answer})' in written.check.source


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_every_quiz_has_one_right_choice_and_no_condition_is_typed_in(chapter):
    quizzes = [block for block in chapter.blocks if block.kind == "quiz"]
    assert len(quizzes) >= 5
    for block in quizzes:
        quiz = read_quiz(chapter.path, block)
        assert all(len(choice.why) > 10 for choice in quiz.choices)
        assert not re.search(r"holds: *[\"']?(True|False)\b[\"']?\s*$", block.source, re.MULTILINE)


def unevenness(shares: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Pearson's chi-square of how often each letter is right; `shares` (N, 4), `keys` (..., N)."""
    expected = shares.sum(axis=0)
    counts = (keys[..., None] == np.arange(shares.shape[1])).sum(axis=-2)
    return ((counts - expected) ** 2 / expected).sum(axis=-1)


def test_no_letter_is_right_more_often_than_chance_would_have_it():
    quizzes = [
        read_quiz(chapter.path, block)
        for chapter in CHAPTERS
        for block in chapter.blocks
        if block.kind == "quiz"
    ]
    sizes = np.array([len(quiz.choices) for quiz in quizzes])
    shares = (np.arange(sizes.max()) < sizes[:, None]) / sizes[:, None]
    keys = np.array([[choice.right for choice in quiz.choices].index(True) for quiz in quizzes])
    rng = np.random.default_rng(0)
    by_chance = unevenness(shares, rng.integers(0, sizes, size=(2000, len(sizes))))
    assert unevenness(shares, keys) < np.quantile(by_chance, 0.999)
    # The same questions with half of the keys in one place: it would be noticed.
    one_place = np.where(np.arange(len(keys)) % 2, keys, 1)
    assert unevenness(shares, one_place) > np.quantile(by_chance, 0.999)


def nbval(path: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )


@pytest.mark.slow
def test_a_wrong_stored_number_fails_and_names_the_cell(tmp_path):
    source = ROOT / "notebooks/04-queries-keys-values.ipynb"
    notebook = nbformat.read(source, 4)
    keep = [c for c in notebook.cells if c.cell_type == "markdown" or "plots" not in c.source]
    notebook.cells = [c for c in keep if c.cell_type == "markdown" or "with_root" not in c.source]
    position, cell = next(
        (n, c)
        for n, c in enumerate([c for c in notebook.cells if c.cell_type == "code"])
        if "weights ['0.62'" in str(c.outputs)
    )
    stored = cell.outputs[0].text
    cell.outputs[0].text = stored.replace("'0.62'", "'0.63'")
    assert cell.outputs[0].text != stored
    # The chapter up to the changed cell is enough.
    notebook.cells = notebook.cells[: notebook.cells.index(cell) + 1]
    path = tmp_path / "changed.ipynb"
    nbformat.write(notebook, path)
    result = nbval(path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"Cell {position}" in result.stdout
    assert "0.63" in result.stdout
