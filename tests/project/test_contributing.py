"""CONTRIBUTING.md: whoever types what it shows has a chapter and an exercise that is proved."""

import importlib.util
import re
from pathlib import Path

import pytest

from book import compiler, manuscript
from tfmlib.checking import verify
from tfmlib.checking.exercise import DECLARED
from tfmlib.support import notebooks
from tfmlib.support.notebooks import Cell

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def shown(name: str) -> str:
    """The block that follows a comment with this name."""
    return re.search(rf"<!-- {name} -->\n(`{{3,}})\w+\n(.+?)\n\1\n", TEXT, re.DOTALL)[2]


@pytest.fixture
def chapter(tmp_path) -> manuscript.Chapter:
    path = tmp_path / "13-temperature.md"
    path.write_text(f"{shown('chapter')}\n\n{shown('exercise')}\n", encoding="utf-8")
    return manuscript.read(path)


@pytest.fixture
def exercise(tmp_path):
    path = tmp_path / "ch13_temperature.py"
    path.write_text(shown("declaration"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.SOFTEN
    del DECLARED["13.1"]


def test_the_two_halves_of_the_exercise_agree(chapter, exercise):
    [written] = chapter.exercises
    assert (written.id, written.title) == (exercise.id, exercise.title)
    assert f"def {exercise.answer}(" in written.answer.source


def test_the_exercise_is_proved(chapter, exercise, monkeypatch):
    [written] = chapter.exercises
    setup = next(block.source for block in chapter.blocks if "setup" in block.tags)
    source = written.answer.source
    answers = {"notebooks": manuscript.blank(source), "solutions": manuscript.solved(source)}
    cells = {folder: {"13.1": Cell(setup, code)} for folder, code in answers.items()}
    monkeypatch.setattr(notebooks, "exercise_cells", cells.get)
    monkeypatch.setattr(notebooks, "statements", lambda: {"13.1": written.statement.source})
    proof = verify.prove("13.1")
    assert proof.faults == proof.survivors == []
    assert proof.killed > 0


def test_the_chapter_compiles(chapter):
    made = [cell.source for cell in compiler.learner_notebook(chapter).cells]
    assert made[0].startswith("# Temperature")
    assert 'check("13.1", soften)' in made


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", TEXT))))
def test_every_test_that_is_said_to_go_red_is_there(name):
    files = (path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py"))
    assert any(f"def {name}(" in text for text in files)
