"""Grading a class: what counts is what an answer computes, wherever in the notebook it stands."""

import contextlib
import csv
import doctest
import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfmlib.check import feedback
from tfmlib.checking.catalogue import find
from tfmlib.checking.judge import judge
from tfmlib.checking.outcome import Status
from tfmlib.grade import class_run as grading
from tfmlib.grade import demo_class, marking, report, sandbox, submissions
from tfmlib.grade.class_run import grade
from tfmlib.grade.levels import Limits
from tfmlib.grade.stage import make_stage
from tfmlib.support.notebooks import ROOT
from tfmlib.support.notebooks import exercise_cells as cells

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux to shut in a process")
SOLVED = {id: cell.source for id, cell in cells("solutions").items() if id.startswith("4.")}
SETUP = cells("solutions")["4.1"].setup
LIMITS = Limits(cell=10, cells=40, call=5, exercise=10, restarts=2)
WRONG_SOFTMAX = "def softmax(x):\n    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)\n"


def code(*sources: str) -> list[dict]:
    return [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]


def notebook(cell_list: list[dict], **more) -> str:
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cell_list} | more
    )


def old(sources: list[str], nbformat: int) -> str:
    """A notebook as formats 2 and 3 had it: worksheets, and "input" for "source"."""
    made = [
        {"cell_type": "code", "language": "python", "input": s.splitlines(True)} for s in sources
    ]
    sheets = [{"cells": made}]
    return json.dumps({"nbformat": nbformat, "metadata": {"name": "x"}, "worksheets": sheets})


def halves(source: str) -> tuple[str, str]:
    """A cell split in two: a helper, then the answer that uses it."""
    return "def helper(x):\n    return x\n", source.replace("return ", "return helper(") + ")"


ALL = [SETUP, *SOLVED.values()]
SPLIT_POOL = halves("def pool(weights, values):\n    return weights @ values")
# Each is a class member; all of these deserve full marks.
DISTORTED = {
    "as it is": notebook(code(*ALL)),
    "copied": notebook(code(*ALL, *ALL[1:])),
    "copied, the blank last": notebook(
        code(*ALL, *(c.source for id, c in cells("notebooks").items() if id in SOLVED))
    ),
    "split": notebook(code(SETUP, *SPLIT_POOL, *ALL[2:])),
    "merged": notebook(code("\n\n".join(ALL))),
    "reordered": notebook(code(SETUP, *reversed(ALL[1:]))),
    "imports at the end": notebook(code(*ALL[1:], SETUP)),
    "changed kernel": notebook(code(*ALL), metadata={"kernelspec": {"name": "julia"}}),
    "no metadata": json.dumps(
        {"cells": [{"cell_type": "code", "source": source} for source in ALL]}
    ),
    "metadata of other cells": notebook(
        [c | {"metadata": {"exercise": "4.8", "tags": ["exercise"]}} for c in code(*ALL)]
    ),
    "format 3": old(ALL, 3),
    "format 2": old(ALL, 2),
    "byte order mark": "\ufeff" + notebook(code(*ALL)),
    "extra cells": notebook(code("1 / 0", *ALL, "undefined", "raise SystemExit", "def broken(:")),
    "magics": notebook(
        code("%matplotlib inline\n!pip list\n" + SETUP, *ALL[1:], "%%bash\nrm -r *", "pool?")
    ),
    "a cell that raises after its answer": notebook(code(*(source + "\n1 / 0" for source in ALL))),
    "a helper's name is taken later": notebook(
        code(SETUP, *SPLIT_POOL, *ALL[2:], "helper = np.eye(3)\npool_of_three = 3")
    ),
    "an answer's name is taken later": notebook(code(*ALL, "softmax = np.eye(3)")),
    "another name, checked by its id": notebook(
        code(SETUP, ALL[1].replace("pool(", "my_pool("), 'check("4.1", my_pool)', *ALL[2:])
    ),
}


@pytest.fixture(scope="module")
def distorted(tmp_path_factory, level):
    base = tmp_path_factory.mktemp("distorted")
    (base / "in").mkdir()
    for name, text in DISTORTED.items():
        (base / "in" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    missing = [source for id, source in SOLVED.items() if id not in ("4.3", "4.5")]
    several = code(SETUP, *missing, WRONG_SOFTMAX, 'raise ValueError("<b>mine</b>")')
    (base / "in" / "partly.ipynb").write_text(notebook(several), encoding="utf-8")
    graded, _ = grade(base / "in", base / "out", [4], level, LIMITS)
    return {s.student: r for s, r in graded}, base


@linux
@pytest.mark.parametrize("name", DISTORTED)
def test_answers_are_found_however_the_cells_were_treated(distorted, name):
    result = distorted[0][name]
    assert {id: mark.status for id, mark in result.marks.items()} == dict.fromkeys(
        SOLVED, Status.PASSED
    )


@linux
def test_what_could_not_be_graded_is_said(distorted):
    results, base = distorted
    marks = results["partly"].marks
    assert {id for id, mark in marks.items() if mark.status == Status.MISSING} == {"4.3", "4.5"}
    page = (base / "out" / "feedback" / "partly.html").read_text(encoding="utf-8")
    assert "No function named attention_weights was found" in page
    assert "code cell 9: ValueError: &lt;b&gt;mine&lt;/b&gt;" in page
    notes = results["extra cells"].notes
    assert [note.split(": ")[1] for note in notes] == [
        "ZeroDivisionError",
        "NameError",
        "SystemExit",
        "SyntaxError",
    ]


@linux
def test_the_feedback_is_the_one_that_check_gives(distorted):
    results, base = distorted
    names: dict = {}
    exec(SETUP + "\n" + WRONG_SOFTMAX, names)
    own = judge(find("4.2"), names["softmax"])
    assert results["partly"].marks["4.2"].mistake == own.mistake == "overflows"
    page = (base / "out" / "feedback" / "partly.html").read_text(encoding="utf-8")
    assert feedback(own).html() in page


# --- a class made for its marks -----------------------------------------------------------------


def these_checks() -> str:
    """A version of the checks that an edit beside a running test does not change."""
    return "these checks"


@pytest.fixture(scope="module")
def demo(tmp_path_factory, level):
    base = tmp_path_factory.mktemp("demo")
    made = demo_class.write_class(base / "in", students=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "checks_version", these_checks)
        graded, _ = grade(base / "in", base / "out", None, level, LIMITS)
    return made, graded, base


@linux
def test_the_demo_class_gets_the_marks_it_was_made_for(demo):
    made, graded, _ = demo
    assert demo_class.differences(made, graded) == []
    kinds = {planned.status for student in made.values() for planned in student.values()}
    assert kinds == {Status.PASSED, Status.FAILED, Status.BLANK}


def test_a_demo_class_of_thirty_has_every_kind_of_answer_and_treatment():
    exercises = [find(id) for id in SOLVED]
    made = demo_class.plan(exercises, 30)
    assert len(made) == 30
    assert {p.status for p in made["Ada"].values()} == {Status.BLANK}
    assert {p.status for p in made["Blaise"].values()} == {Status.PASSED}
    mistakes = {(id, p.mistake) for planned in made.values() for id, p in planned.items()}
    assert len(mistakes) > 30


@linux
def test_the_table_has_a_row_a_student_and_a_column_an_exercise(demo):
    made, _, base = demo
    with (base / "out" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["Student"] for row in rows] == sorted(made)
    for row in rows:
        points = [int(row[f"{id} {find(id).title}"]) for id in SOLVED]
        assert points == [int(made[row["Student"]][id].status == Status.PASSED) for id in SOLVED]
        assert int(row["Total"]) == sum(points)
    assert list(rows[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]


@linux
def test_the_class_page_counts_and_puts_the_hardest_first(demo):
    made, _, base = demo
    page = (base / "out" / "class.html").read_text(encoding="utf-8")
    order = re.findall(r"<h2>Exercise (\d+\.\d+)", page)
    solved = {id: sum(p[id].status == Status.PASSED for p in made.values()) for id in SOLVED}
    assert [solved[id] for id in order] == sorted(solved.values())
    assert set(order) == set(SOLVED)
    for id, number in solved.items():
        section = page.split(f"<h2>Exercise {id} ")[1].split("<h2>")[0]
        assert f"<p>{number} solved" in section
        wrong = [p[id].mistake for p in made.values() if p[id].status == Status.FAILED]
        for mistake in find(id).mistakes:
            told = f"{wrong.count(mistake.name)} ×</td><td>{html.escape(mistake.sentence)}"
            assert (told in section) == (mistake.name in wrong)
    assert page.count("<rect") == 3 * len(SOLVED) + 3
    assert "<script" not in page


@linux
def test_unchanged_cells_of_the_book_are_run_only_when_they_are_needed(
    tmp_path, level, monkeypatch
):
    long, needed = "import time\ntime.sleep(60)", "unit = 1.0"
    monkeypatch.setattr(marking, "published_cells", lambda: frozenset([long, needed]))
    pool = "def pool(weights, values):\n    return unit * weights @ values"
    (tmp_path / "in").mkdir()
    for name, cells_ in {"long": [*ALL, long], "needed": [SETUP, needed, pool, *ALL[2:]]}.items():
        (tmp_path / "in" / f"{name}.ipynb").write_text(notebook(code(*cells_)), encoding="utf-8")
    graded, _ = grade(tmp_path / "in", tmp_path / "out", [4], level, LIMITS)
    assert [(r.total, r.notes) for _, r in graded] == [(8, []), (8, [])]


def test_the_books_cells_are_known_but_for_the_setup():
    published = marking.published_cells()
    assert len(published) > 100
    assert SETUP.strip() not in published


@linux
@pytest.mark.parametrize("how", ["raises", "never ends"])
def test_values_that_the_judge_cannot_bear_cost_one_exercise_only(
    how, tmp_path, level, monkeypatch
):
    judged = marking.judge_calls

    def overwhelmed(exercise, call):
        if exercise.id == "4.2":
            if how == "raises":
                raise MemoryError
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(0.1)
        return judged(exercise, call)

    monkeypatch.setattr(marking, "judge_calls", overwhelmed)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ipynb").write_text(notebook(code(*ALL)), encoding="utf-8")
    limits = Limits(exercise=5, judge=1.5)
    [(_, result)], _ = grade(tmp_path / "in", tmp_path / "out", [4], level, limits)
    assert [id for id, mark in result.marks.items() if not mark.points] == ["4.2"]
    assert "could not be judged" in result.marks["4.2"].problem


# --- again, and after a kill --------------------------------------------------------------------


@linux
def test_a_rerun_grades_only_what_changed(demo, monkeypatch, level):
    _, graded, base = demo
    started = []
    start = grading._start
    monkeypatch.setattr(grading, "checks_version", these_checks)
    monkeypatch.setattr(grading, "_start", lambda s, *a: started.append(s.student) or start(s, *a))
    again, _ = grade(base / "in", base / "out", None, level, LIMITS)
    assert started == []
    assert [(s.student, r) for s, r in again] == [(s.student, r) for s, r in graded]
    (base / "in" / "Ada.ipynb").write_text(notebook(code(*ALL)), encoding="utf-8")
    changed, _ = grade(base / "in", base / "out", [4], level, LIMITS)
    assert started == ["Ada"]
    assert {s.student: r.total for s, r in changed}["Ada"] == 8
    monkeypatch.setattr(grading, "checks_version", lambda: "other checks")
    monkeypatch.setattr(grading, "_start", lambda s, *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        grade(base / "in", base / "out", [4], level, LIMITS)


GRADER = """
import sys
from pathlib import Path
from tfmlib.grade import class_run as grade
grade.checks_version = lambda: "these checks"
grade.grade(Path(sys.argv[1]), Path(sys.argv[2]), [4], sys.argv[3])
"""


@linux
def test_a_grader_killed_midway_loses_nothing_and_leaves_nothing_running(
    tmp_path, level, monkeypatch
):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.ipynb").write_text(notebook(code(*ALL)), encoding="utf-8")
    slow = notebook(code(*ALL, "import time\ntime.sleep(600)"))
    (folder / "c.ipynb").write_text(slow, encoding="utf-8")
    command = [sys.executable, "-c", GRADER, str(folder), str(out), level]
    # What a killed process cannot clear away goes where the test's folder goes.
    grader = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)})
    monkeypatch.setattr(grading, "checks_version", these_checks)
    results = out / "results"
    patience = time.monotonic() + 30
    while len(list(results.glob("[!.]*.json")) if results.exists() else []) < 2:
        assert time.monotonic() < patience
        time.sleep(0.05)
    while len(below := descendants(grader.pid)) < 3:
        assert time.monotonic() < patience
        time.sleep(0.05)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    patience = time.monotonic() + 10  # less than the cell that sleeps may take
    kept = {path: path.read_bytes() for path in results.glob("[!.]*.json")}
    assert all(
        json.loads(data)["marks"]["4.1"]["status"] == Status.PASSED for data in kept.values()
    )
    while left := [path for path in below if path.exists()]:
        assert time.monotonic() < patience, left
        time.sleep(0.05)
    started = []
    start = grading._start
    monkeypatch.setattr(grading, "_start", lambda s, *a: started.append(s.student) or start(s, *a))
    (folder / "c.ipynb").write_text(notebook(code(*ALL)), encoding="utf-8")
    graded, _ = grade(folder, out, [4], level)
    assert started == ["c"]
    assert [r.total for _, r in graded] == [8, 8, 8]
    assert all(path.read_bytes() == data for path, data in kept.items())


def descendants(pid: int) -> set[Path]:
    """The processes below one, by their folders in /proc: a worker, its jail, the notebook."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found |= new
    return {Path(f"/proc/{child}") for child in found}


def test_a_changed_module_is_another_version_of_the_checks(tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "PACKAGE", tmp_path)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "ch04.py").write_text("tolerance = 1")
    before = grading.checks_version()
    assert grading.checks_version() == before
    (tmp_path / "exercises" / "ch04.py").write_text("tolerance = 2")
    assert grading.checks_version() != before


def test_a_damaged_result_is_graded_again(tmp_path):
    file = tmp_path / "x.json"
    for text in ("", "{", "[]", '{"student": "a"}', '{"student": "a", "marks": {"4.1": 3}}'):
        file.write_text(text)
        assert grading._known(file) is None
    result = marking.Result(
        "a", {"4.1": marking.Mark("4.1", Status.PASSED, [("one", True)])}, ["note"]
    )
    grading._save(file, result)
    assert grading._known(file).marks["4.1"].points == 1


# --- finding and reading ------------------------------------------------------------------------


def test_one_notebook_or_one_folder_a_student(tmp_path):
    (tmp_path / "Ada.ipynb").write_text("{}")
    (tmp_path / "notes.txt").write_text("mine")
    for name in (
        "Emmy/week 4/04.ipynb",
        "Emmy/week 4/.ipynb_checkpoints/04.ipynb",
        "Emmy/05.ipynb",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = submissions.find(tmp_path)
    assert [(s.student, [p.name for p in s.notebooks]) for s in found] == [
        ("Ada", ["Ada.ipynb"]),
        ("Emmy", ["05.ipynb", "04.ipynb"]),
    ]


def test_names_of_moodle_and_canvas_downloads_give_the_students_number(tmp_path):
    (tmp_path / "Ada Lovelace_1234_assignsubmission_file").mkdir()
    (tmp_path / "noetheremmy_LATE_77_991_04-queries.ipynb").write_text("{}")
    found = submissions.find(tmp_path)
    assert [(s.student, s.id) for s in found] == [("Ada Lovelace", "1234"), ("noetheremmy", "77")]


def test_no_two_students_share_a_feedback_page(tmp_path):
    for name in ("a b", "a_b", "a!b", "a-b"):
        (tmp_path / name).mkdir()
    slugs = [s.slug.lower() for s in submissions.find(tmp_path)]
    assert len(set(slugs)) == 4


def test_chapters_that_one_student_alone_mentions_are_not_graded(tmp_path):
    for n in range(11):
        (tmp_path / f"s{n}.ipynb").write_text(notebook(code('check("4.1", pool)')))
    (tmp_path / "s0.ipynb").write_text(notebook(code('check("4.1", 1)', 'check("2.1", 1)')))
    ids = grading._exercise_ids(submissions.find(tmp_path), None)
    assert ids == list(SOLVED)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", None), "Expected a folder of notebooks"),
        (("empty", None), "found none"),
        (("other", None), "No exercise of this book was found"),
        (("other", [99]), "no exercises of chapter 99"),
    ],
)
def test_a_folder_that_cannot_be_graded_gets_one_sentence(tmp_path, arguments, sentence):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.ipynb").write_text(notebook(code("1 + 1")))
    folder, chapters = arguments
    with pytest.raises(SystemExit, match=sentence):
        grade(tmp_path / folder, tmp_path / "out", chapters)


def test_the_students_process_gets_no_check(tmp_path):
    stage = make_stage(tmp_path)
    files = {str(p.relative_to(stage)) for p in stage.rglob("*") if p.is_file()}
    assert {"tfm_student.py", "tfmlib/ref.py", "tfmlib/check.py"} <= files
    drawing = {name for name in files if "plots" in name and name.endswith(".py")}
    assert drawing == {"tfmlib/plots.py"}  # which draws nothing
    text = "".join(p.read_text(encoding="utf-8") for p in stage.rglob("*.py"))
    for word in ("oracle=", "judge_calls", "BEGIN SOLUTION", ".mistake("):
        assert word not in text
    assert not [name for name in files if "exercises" in name or "solution" in name]


def test_the_students_process_inherits_no_environment():
    given = sandbox.environment("/x")
    assert not set(given.values()) & {
        v for k, v in os.environ.items() if k not in given and len(v) > 3
    }
    assert "TFM_SECRET" not in given


@pytest.mark.parametrize("module", [sandbox, report, submissions, marking, demo_class])
def test_worked_lines_of_the_grader_hold(module):
    assert doctest.testmod(module).failed == 0
