"""Answers and attempts that a learner takes along: nothing is lost, nothing else is touched."""

import doctest
import json
import shutil
from pathlib import Path

import nbformat
import pytest

from tfmlib.__main__ import main
from tfmlib.checking import answers
from tfmlib.checking.answers import Attempt
from tfmlib.support import json_text
from tfmlib.support.notebooks import ROOT
from tfmlib.support.notebooks import exercise_cells as cells

CHAPTER, NEXT = "04-queries-keys-values.ipynb", "05-many-heads.ipynb"
LOG = ".tfm-progress.jsonl"
MINE = (
    "# Exercise 4.3: Attention weights\ndef attention_weights(q, k):\n    return q @ k.T\n\n\n# √"
)
OTHER = "def attention_weights(q, k):\n    return k"
BLANK = cells("notebooks")["4.3"].source
FAILED = {"exercise": "4.3", "event": "failed", "time": 1763460000, "mistake": "no_scale"}
PASSED = {"exercise": "4.3", "event": "passed", "time": 1763460060}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A learner's folder of notebooks, as the clone has them."""
    monkeypatch.delenv("TFM_PROGRESS", raising=False)
    (tmp_path / "notebooks").mkdir()
    for name in (CHAPTER, NEXT):
        shutil.copy(ROOT / "notebooks" / name, tmp_path / "notebooks")
    return tmp_path / "notebooks"


def content(found: dict, progress=(), **more) -> bytes:
    whole = {"format": "tfm-answers", "version": 1, "answers": found, "progress": list(progress)}
    return json.dumps(whole | more).encode()


def run(action: str, file: Path, folder: Path) -> int:
    return main(["answers", action, str(file), "--notebooks", str(folder)])


def load(folder: Path, data: bytes, name: str = "my-answers.json") -> int:
    (folder.parent / name).write_bytes(data)
    return run("load", folder.parent / name, folder)


def cell(path: Path, id: str) -> nbformat.NotebookNode:
    found = nbformat.read(path, as_version=4).cells
    return next(c for c in found if c.metadata.get("exercise") == id)


def edit(path: Path, id: str, source: str) -> None:
    """Write an answer as Jupyter does."""
    notebook = nbformat.read(path, as_version=4)
    [found] = [c for c in notebook.cells if c.metadata.get("exercise") == id]
    found.source = source
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


@pytest.mark.parametrize("module", [answers, json_text], ids=lambda module: module.__name__)
def test_the_worked_lines_are_right(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


# --- what is an answer ----------------------------------------------------------------------------


@pytest.mark.parametrize("id", cells("notebooks"))
def test_a_blank_is_no_answer_and_a_solution_is(id):
    assert answers.is_blank(cells("notebooks")[id].source)
    assert not answers.is_blank(cells("solutions")[id].source)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("raise NotImplementedError", "return q"),
        lambda s: s + "\n# first the scores",
        lambda s: s.replace("# Your code here", "# Your code here: scores first"),
        lambda s: "import numpy\n" + s,
        lambda s: s.replace("    raise", "    x = 1\n    raise"),
    ],
)
def test_whatever_is_added_to_a_blank_makes_it_an_answer(change):
    assert not answers.is_blank(change(cells("notebooks")["4.3"].source))


CELLS = {
    "metadata": {"metadata": {"exercise": "4.3"}, "source": OTHER},
    "id": {"id": "answer-4-3", "metadata": {}, "source": OTHER.splitlines(True)},
    "title": {"source": f"# Exercise 4.3: Attention weights\n{OTHER}"},
    "metadata first": {"metadata": {"exercise": "4.3"}, "id": "answer-4-1", "source": OTHER},
    "wrong metadata": {"metadata": {"exercise": ["4.1"]}, "id": "answer-4-3", "source": OTHER},
}


@pytest.mark.parametrize("name", CELLS)
def test_the_cell_of_an_answer_is_found(name):
    noise = [None, 7, {"cell_type": "markdown", "metadata": {"exercise": "4.3"}, "source": "x"}]
    notebook = {"cells": [*noise, {"cell_type": "code"} | CELLS[name]]}
    found = answers.in_notebook(notebook).answers
    assert [*found] == ["4.3"]
    assert found["4.3"].endswith(OTHER)


def test_answers_of_old_formats_are_found():
    cell = {"cell_type": "code", "input": f"# Exercise 4.3: Attention weights\n{OTHER}"}
    old = {"nbformat": 3, "worksheets": [{"cells": [cell]}]}
    assert answers.read(json.dumps(old).encode(), "old.ipynb").answers == {"4.3": cell["input"]}


def test_of_several_answers_the_last_is_taken_and_the_others_are_named():
    blank = cells("notebooks")["4.3"].source
    made = [
        {"cell_type": "code", "metadata": {"exercise": "4.3"}, "source": source}
        for source in (MINE, OTHER, blank)
    ]
    found = answers.in_notebook({"cells": made})
    assert found.answers == {"4.3": OTHER}
    assert found.ignored == ["Answered more than once, so the last answer was taken: 4.3."]


# --- what is in a file ----------------------------------------------------------------------------


def test_the_rest_of_a_damaged_file_is_taken():
    blank = cells("notebooks")["4.1"].source
    given = {"4.3": MINE, "__proto__": "x", "4.2": 7, "4.1": blank, "04.3": "y", "4.4": " \n"}
    wrong = [None, 7, {"exercise": "4.3"}, FAILED | {"time": True}, FAILED | {"time": -1}]
    wrong += [FAILED | {"mistake": 3}, FAILED | {"event": ""}, FAILED | {"exercise": "../x"}]
    found = answers.read(content(given, [FAILED, *wrong, PASSED, FAILED]), "a.json")
    assert found.answers == {"4.3": MINE}
    assert found.progress == [Attempt(**FAILED), Attempt(**PASSED)]
    assert found.blank == ["4.1", "4.4"]
    assert found.ignored == [
        'Not the number of an exercise: "04.3", "__proto__".',
        "Not text: 4.2.",
        "Attempts that could not be read, by their position: 2, 3, 4, 5, 6, 7, 8, 9.",
    ]


def test_answers_and_progress_of_a_wrong_type_are_named():
    found = answers.read(content([MINE], [FAILED]), "a.json")
    assert (found.answers, len(found.progress)) == ({}, 1)
    assert found.ignored == ["Its answers are not an object with an exercise for each."]
    found = answers.read(content({"4.3": MINE}, progress="all"), "a.json")
    assert [*found.answers] == ["4.3"]


def test_a_long_list_is_cut_short():
    [sentence] = answers.in_log(json.dumps(FAILED) + "\nx" * 100).ignored
    assert sentence.endswith(": 2, 3, 4, 5, 6, 7, 8, 9 and 92 more.")


UNUSABLE = {
    b"": "is empty",
    b"hello": "is not JSON, or not all of it",
    content({"4.3": MINE})[:-5]: "is not JSON, or not all of it",
    b"[" * 100_000: "is not JSON, or not all of it",
    b'{"time": ' + b"9" * 5000 + b"}": "is not JSON, or not all of it",
    b"\xff\xfe\x00\x01": "is not JSON, or not all of it",
    b"{}": "is JSON of another kind",
    b'["4.3"]': "is JSON of another kind",
    b" " * (20 * 2**20 + 1): "is larger than 20 MB",
}


@pytest.mark.parametrize("data", UNUSABLE, ids=range(len(UNUSABLE)))
def test_what_is_no_file_of_ours_is_refused_in_one_sentence(data, folder, capsys):
    before = (folder / CHAPTER).read_bytes()
    assert load(folder, data, "some.txt") == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error == (
        "Expected a file of answers (.json), a notebook (.ipynb) or a log of attempts (.jsonl), "
        f"but some.txt {UNUSABLE[data]}: choose a file that the book or Jupyter saved.\n"
    )
    assert (folder / CHAPTER).read_bytes() == before


@pytest.mark.parametrize("version", [2, True, "1", None])
def test_another_version_is_refused(version):
    with pytest.raises(ValueError, match=r"^Expected version 1 .*: take the newest edition"):
        answers.read(content({"4.3": MINE}, version=version), "a.json")


def test_of_several_blanks_the_first_is_filled():
    blank = {"cell_type": "code", "id": "answer-4-3", "source": BLANK}
    filled = answers.fill(json.dumps({"cells": [blank, blank]}), {"4.3": OTHER})
    first, second = json.loads(filled.text)["cells"]
    assert ("".join(first["source"]), second["source"]) == (OTHER, BLANK)


def test_half_a_character_in_a_cell_does_no_harm():
    cell = {"cell_type": "code", "id": "answer-4-3", "source": "x\ud800"}
    assert answers.in_notebook({"cells": [cell]}).answers == {"4.3": "x\ufffd"}


def test_half_a_character_does_no_harm(folder):
    assert (
        load(folder, b'{"format": "tfm-answers", "version": 1, "answers": {"4.3": "x\\ud800"}}')
        == 0
    )
    assert cell(folder / CHAPTER, "4.3").source == "x\ufffd"


# --- into notebooks -------------------------------------------------------------------------------


def test_only_the_answers_cell_changes_and_as_jupyter_would_write_it(folder, capsys):
    path = folder / CHAPTER
    notebook = nbformat.read(path, as_version=4)
    [found] = [c for c in notebook.cells if c.metadata.get("exercise") == "4.3"]
    found.outputs = [nbformat.v4.new_output("stream", text="old\n")]
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    found.source, found.outputs, found.execution_count = MINE, [], None
    beside = (folder / NEXT).read_bytes()
    assert load(folder, content({"4.3": MINE})) == 0
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"
    assert (folder / NEXT).read_bytes() == beside
    assert sorted(p.name for p in folder.iterdir()) == [CHAPTER, NEXT]
    assert f"{CHAPTER}: new 4.3.\n" in capsys.readouterr().out


FORMS = {
    "compact": lambda n: json.dumps(n, separators=(",", ":")),
    "two spaces": lambda n: json.dumps(n, indent=2),
    "tabs": lambda n: json.dumps(n, indent="\t", ensure_ascii=False),
    "byte order mark": lambda n: "\ufeff" + json.dumps(n, indent=1),
    "Windows": lambda n: json.dumps(n, indent=1).replace("\n", "\r\n"),
}


def shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_notebook_is_left_as_it_is(form):
    notebook = json.loads((ROOT / "notebooks" / CHAPTER).read_text(encoding="utf-8"))
    text = FORMS[form](notebook)
    filled = answers.fill(text, {"4.3": OTHER}).text
    [found] = [c for c in notebook["cells"] if c.get("id") == "answer-4-3"]
    found |= {"source": OTHER.splitlines(True), "outputs": [], "execution_count": None}
    assert json.loads(filled.removeprefix("\ufeff")) == notebook
    same_start, same_end = shared(text, filled), shared(text[::-1], filled[::-1])
    assert '"cell_type"' not in text[same_start : len(text) - same_end]  # within a single cell
    if form not in ("compact", "Windows"):
        assert filled == FORMS[form](notebook)


def test_an_answer_is_replaced_only_after_a_copy_is_kept(folder, capsys):
    path, copy = folder / CHAPTER, folder / "04-queries-keys-values.before-load.ipynb"
    edit(path, "4.3", OTHER)
    before = path.read_bytes()
    assert load(folder, content({"4.3": MINE, "4.1": "def pool(): ..."})) == 0
    told = f"{CHAPTER}: new 4.1; replaced 4.3; the notebook of before is kept as {copy.name}.\n"
    assert told in capsys.readouterr().out
    assert copy.read_bytes() == before
    assert cell(path, "4.3").source == MINE
    second = path.read_bytes()
    assert load(folder, content({"4.3": OTHER})) == 0
    assert copy.read_bytes() == before
    assert copy.with_name("04-queries-keys-values.before-load-2.ipynb").read_bytes() == second
    found = answers.in_folder(folder)
    assert (found.answers["4.3"], found.ignored) == (OTHER, [])  # copies are not asked


def test_a_copy_that_cannot_be_kept_leaves_the_answer_where_it_is(folder, capsys, monkeypatch):
    edit(folder / CHAPTER, "4.3", OTHER)
    before = (folder / CHAPTER).read_bytes()

    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(answers, "write_whole", full)
    assert load(folder, content({"4.3": MINE})) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("04-queries-keys-values.before-load.ipynb: No space left on device.")
    assert (folder / CHAPTER).read_bytes() == before


def test_loading_twice_changes_nothing(folder, capsys):
    data = content({"4.3": MINE, "5.1": "x = 1"}, [FAILED])
    load(folder, data)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert load(folder, data.replace(b"x = 1", b"x = 1\\r\\n")) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert "The notebooks have all of its answers already.\n" in capsys.readouterr().out


def test_what_has_no_place_is_named_and_the_rest_is_taken(folder, capsys):
    (folder / NEXT).write_text("{", encoding="utf-8")
    given = {"4.3": MINE, "4.99": "x", "5.1": "y", "6.1": "z"}
    assert load(folder, content(given, [PASSED | {"exercise": "77.7"}, FAILED])) == 0
    told = capsys.readouterr().out.splitlines()
    assert "Exercises that this book does not have: 4.99, 77.7." in told
    assert f"{NEXT} was left alone: it is not a notebook of format 4." in told
    assert f"No notebook in {folder} has a cell for: 5.1, 6.1." in told
    assert cell(folder / CHAPTER, "4.3").source == MINE
    assert (folder / LOG).read_text() == json.dumps(FAILED) + "\n"


def test_a_chapters_own_notebook_comes_before_a_copy_of_it(folder):
    copy = folder / "04-queries-keys-values-Copy1.ipynb"  # sorts before the notebook itself
    shutil.copy(folder / CHAPTER, copy)
    edit(copy, "4.3", OTHER)
    before = copy.read_bytes()
    assert answers.in_folder(folder).answers == {"4.3": OTHER}
    load(folder, content({"4.3": MINE}))
    assert copy.read_bytes() == before
    found = answers.in_folder(folder)
    assert found.answers == {"4.3": MINE}
    assert found.ignored == [
        f"Another notebook's answer was taken instead of: 4.3 in {copy.name}.",
    ]


def test_a_notebook_from_the_page_brings_its_progress(folder):
    notebook = json.loads((folder / CHAPTER).read_text(encoding="utf-8"))
    notebook["metadata"]["tfm"] = {"answers": {"4.3": OTHER, "5.1": "x = 1"}, "progress": [FAILED]}
    [found] = [c for c in notebook["cells"] if c["id"] == "answer-4-3"]
    found["source"] = MINE  # written later than what is in the metadata
    assert load(folder, json.dumps(notebook).encode(), "page.ipynb") == 0
    assert cell(folder / CHAPTER, "4.3").source == MINE
    assert cell(folder / NEXT, "5.1").source == "x = 1"
    assert (folder / LOG).read_text() == json.dumps(FAILED) + "\n"


# --- progress -------------------------------------------------------------------------------------


def test_attempts_are_united_and_every_line_of_the_log_stays(folder, capsys):
    damaged = "{half a line\n" + json.dumps(FAILED) + "\n{cut"
    (folder / LOG).write_text(damaged)
    assert load(folder, f"{json.dumps(PASSED)}\nx\n{json.dumps(FAILED)}\n".encode(), "a.jsonl") == 0
    assert (folder / LOG).read_text() == f"{damaged}\n{json.dumps(PASSED)}\n"
    told = capsys.readouterr().out
    assert "by their position: 2.\n" in told
    assert "1 of 2 attempts added.\n" in told


def test_the_log_is_the_one_that_a_notebook_in_the_folder_writes(folder, monkeypatch):
    from tfmlib.checking import progress

    monkeypatch.chdir(folder)  # as its kernel does
    progress.record("4.3", "failed", "no_scale")
    monkeypatch.chdir(folder.parent)
    [attempt] = answers.in_folder(Path("notebooks")).progress
    assert (attempt.exercise, attempt.event, attempt.mistake) == ("4.3", "failed", "no_scale")
    monkeypatch.setenv("TFM_PROGRESS", str(folder.parent / "elsewhere.jsonl"))
    load(folder, content({}, [PASSED]))
    assert (folder.parent / "elsewhere.jsonl").read_text() == json.dumps(PASSED) + "\n"


def test_where_progress_is_off_the_attempts_are_said_to_be_left_out(folder, monkeypatch, capsys):
    monkeypatch.setenv("TFM_PROGRESS", "off")
    assert load(folder, content({}, [PASSED])) == 0
    assert capsys.readouterr().out == "Attempts were left out: TFM_PROGRESS is off.\n"
    assert not (folder / LOG).exists()


# --- saving ---------------------------------------------------------------------------------------


def test_what_is_saved_is_what_was_loaded(folder, capsys):
    given = {"5.1": "x = 1", "4.3": MINE}
    load(folder, content(given, [PASSED, FAILED]))
    file = folder.parent / "saved.json"
    assert run("save", file, folder) == 0
    assert capsys.readouterr().out.endswith(f"{file}: 2 answers and 2 attempts.\n")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found == json.loads(content(given, [FAILED, PASSED]))
    assert [*found["answers"]] == ["4.3", "5.1"]


def test_saving_over_other_answers_keeps_them_beside(folder, capsys):
    file = folder.parent / "my-answers.json"
    file.write_bytes(content({"4.3": MINE}))
    before = file.read_bytes()
    assert run("save", file, folder) == 0
    assert file.with_name("my-answers.before-save.json").read_bytes() == before
    assert "is kept as my-answers.before-save.json.\n" in capsys.readouterr().out


def test_saving_over_something_else_is_refused(folder, capsys):
    before = (folder / CHAPTER).read_bytes()
    assert run("save", folder / CHAPTER, folder) == 1
    assert capsys.readouterr().err.endswith("is there: choose another name.\n")
    assert (folder / CHAPTER).read_bytes() == before


@pytest.mark.parametrize("action", ["save", "load"])
def test_a_folder_or_file_that_is_not_there_is_told_in_one_sentence(action, folder, capsys):
    assert run(action, folder / "a.json", folder / "nowhere") == 1
    missing = folder / "nowhere" / "a.json"
    assert run(action, missing, folder) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"Expected a folder of notebooks, but {folder / 'nowhere'} is none")
    assert lines[1].endswith(": No such file or directory.")
