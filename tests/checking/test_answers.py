"""Answers written from the statements alone: no wrong one passes, no right one fails."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tfmlib.checking.catalogue import all_exercises

IDS = [exercise.id for exercise in all_exercises()]
SHOWN_BAR = 0.9  # of the refusals name the error, or show an input on which it can be seen


@pytest.fixture(scope="module")
def found() -> dict[str, dict]:
    """What the checks make of every answer, by exercise."""
    script = Path(__file__).with_name("answers.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return {row["id"]: row for row in json.loads(run.stdout)}


@pytest.mark.parametrize("id", IDS)
def test_no_wrong_answer_passes(id, found):
    assert found[id]["accepted"] == []


@pytest.mark.parametrize("id", IDS)
def test_no_right_answer_is_refused(id, found):
    assert found[id]["refused"] == {}


def test_a_refusal_shows_what_is_wrong(found):
    silent = [name for row in found.values() for name in row["silent"]]
    assert len(silent) <= (1 - SHOWN_BAR) * sum(row["told"] for row in found.values()), silent


def test_an_answer_that_calls_the_librarys_own_is_told_so(found):
    assert [name for row in found.values() for name in row["unnoticed"]] == []


def test_there_are_enough_of_them(found):
    assert sum(row["wrong"] for row in found.values()) >= 300
    assert sum(row["right"] for row in found.values()) >= 150
    assert all(found[id]["wrong"] >= 3 and found[id]["right"] for id in IDS)
