"""Answers and attempts in the page: kept, carried to Jupyter and back, in a real browser."""

import base64
import json
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from tfmlib.__main__ import main
from tfmlib.checking import answers
from tfmlib.checking.outcome import Status
from tfmlib.grade.class_run import grade
from tfmlib.grade.levels import Limits
from tfmlib.support.notebooks import ROOT
from tfmlib.support.notebooks import exercise_cells as cells

pytestmark = pytest.mark.browser

LIMITS = Limits(cell=10, cells=40, call=5, exercise=10, restarts=2)
MODULE = ROOT / "book/live/page/answers.js"
CHAPTER = "04-queries-keys-values.ipynb"
BLANKS = {id: cell.source for id, cell in cells("notebooks").items()}
MINE, OTHER = "def attention_weights(q, k):\n    return q @ k.T  # √\n", "def f():\n    return 2"
FAILED = {"exercise": "4.3", "event": "failed", "time": 1763460000, "mistake": "no_scale"}
PASSED = {"exercise": "4.3", "event": "passed", "time": 1763460060}
LATER = {"exercise": "5.1", "event": "failed", "time": 1763460060}

# A storage like localStorage that can be full, or forbidden altogether.
HELPERS = """() => {
globalThis.storageOf = (stored = {}, trouble = {}) => {
    const map = new Map(Object.entries(stored));
    const guard = () => { if (trouble.name) throw new DOMException("no", trouble.name); };
    return {
        map, trouble,
        get length() { if (trouble.unreadable) guard(); return map.size; },
        key: (i) => [...map.keys()][i],
        getItem: (key) => { if (trouble.unreadable) guard(); return map.get(key) ?? null; },
        setItem: (key, text) => { guard(); map.set(key, text); },
        removeItem: (key) => { if (trouble.unreadable) guard(); map.delete(key); },
    };
};
globalThis.attemptsOf = (store) =>
    store.progressText().split("\\n").filter(Boolean).map((line) => JSON.parse(line));
globalThis.contentOf = (store) => [
    Object.fromEntries(store.ids().map((id) => [id, store.answer(id)])), attemptsOf(store)];
}"""


@pytest.fixture(scope="module")
def page(chromium):
    """An empty page that knows the module as `live`."""
    page = chromium.new_page()
    code = base64.b64encode(MODULE.read_bytes()).decode()
    page.evaluate(HELPERS)
    page.evaluate(
        "async (url) => { globalThis.live = await import(url); }",
        f"data:text/javascript;base64,{code}",
    )
    yield page
    page.close()


def run(page, body: str, given=None):
    """What a function of `given` returns; `store` is a new one, `told` what it complained of."""
    start = "const told = [], storage = storageOf(); "
    start += "const store = live.createStore(storage, (why) => told.push(why)); "
    return page.evaluate(f"(given) => {{ {start} {body} }}", given)


def taken(page, text, name: str = "my-answers.json", blanks=None):
    """What an import into an empty store says, and what is in the store afterwards."""
    body = """
        try {
            const result = live.importText(store, given.name, given.text, given.blanks);
            return [result, ...contentOf(store)];
        } catch (error) { return error.message; }"""
    return run(page, body, {"name": name, "text": text, "blanks": blanks or {}})


def content(found, progress=(), **more) -> str:
    whole = {"format": "tfm-answers", "version": 1, "answers": found, "progress": progress}
    return json.dumps(whole | more)


# --- the store ------------------------------------------------------------------------------------


def test_answers_are_kept_and_forgotten(page):
    body = """
        const empty = store.answer("4.3");
        for (const id of ["10.1", "4.10", "4.9", "4.3"]) store.keep(id, `answer ${id}`);
        store.keep("4.3", "");
        store.forget("4.9"); store.forget("7.7");
        const again = live.createStore(storage);
        return [empty, ...contentOf(again), [...storage.map.keys()]];"""
    empty, kept, _, keys = run(page, body)
    assert empty is None
    assert [*kept.items()] == [("4.3", ""), ("4.10", "answer 4.10"), ("10.1", "answer 10.1")]
    assert len(keys) == 3
    assert all(key.startswith("tfm-live:") for key in keys)


@pytest.mark.parametrize(
    "id", ["__proto__", "4", "", "04.3", "4.3 ", "4.3.1", "constructor", None, 4.3]
)
def test_what_is_no_exercise_is_refused(page, id):
    body = """
        const say = (act) => { try { act(); return "" } catch (error) { return error.message } };
        return [say(() => store.answer(given)), say(() => store.keep(given, "x")),
                say(() => store.forget(given)), storage.map.size];"""
    *refused, size = run(page, body, id)
    assert all(s.startswith("Expected the number of an exercise such as 4.3") for s in refused)
    assert size == 0


def test_other_keys_of_the_storage_are_left_alone(page):
    body = """
        const odd = { "tfm-live:answer:__proto__": "x", "tfm-live:progress": "{cut" };
        const shared = storageOf({ theme: "dark", ...odd });
        const one = live.createStore(shared);
        one.keep("4.3", "x"); one.restore({ answers: [], progress: "" });
        return [one.ids(), one.status("4.3"), Object.fromEntries(shared.map)];"""
    ids, status, left = run(page, body)
    assert (ids, status) == ([], "")
    assert left["theme"] == "dark"
    assert "tfm-live:answer:4.3" not in left


def test_attempts_are_recorded_once_and_in_order(page):
    body = """
        const [failed, passed, later] = given;
        const bad = ["{cut", null, { exercise: "4.3" }];
        const lines = [passed, later, failed, failed, JSON.stringify(passed), ...bad];
        const news = lines.map((line) => store.record(line));
        return [news, attemptsOf(store), ["4.3", "5.1", "6.1"].map(store.status)];"""
    news, attempts, status = run(page, body, [FAILED, PASSED, LATER])
    assert news == [True, True, True, False, False, False, False, False]
    assert attempts == [FAILED, PASSED, LATER]
    assert status == ["passed", "failed", ""]


def test_two_tabs_do_not_lose_each_others_work(page):
    body = """
        const [failed, passed, later] = given, other = live.createStore(storage);
        store.record(failed); other.record(passed); store.record(later);
        store.keep("4.3", "one"); other.keep("5.1", "two");
        return [contentOf(store), contentOf(other), store.status("4.3")];"""
    mine, theirs, status = run(page, body, [FAILED, PASSED, LATER])
    assert mine == theirs == [{"4.3": "one", "5.1": "two"}, [FAILED, PASSED, LATER]]
    assert status == "passed"


def test_the_log_is_one_that_python_reads(page, tmp_path, monkeypatch):
    from tfmlib.checking import progress

    log = tmp_path / "log.jsonl"
    log.write_text(
        run(page, "given.map(store.record); return store.progressText();", [FAILED, LATER])
    )
    monkeypatch.setenv("TFM_PROGRESS", str(log))
    assert progress.events() == {"4.3": {"failed"}, "5.1": {"failed"}}


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ({"name": "QuotaExceededError"}, "full"),
        ({"name": "NS_ERROR_DOM_QUOTA_REACHED"}, "full"),
        ({"name": "SecurityError"}, "forbidden"),
        ({"name": "SecurityError", "unreadable": True}, "forbidden"),
        (None, "forbidden"),
    ],
)
def test_without_storage_everything_is_kept_in_memory_and_that_is_said_once(page, trouble, why):
    body = """
        const [trouble, failed] = given, heard = [];
        const one = live.createStore(trouble && storageOf({}, trouble), (why) => heard.push(why));
        const before = [one.answer("4.3"), one.ids(), one.progressText(), [...heard]];
        one.keep("4.3", "mine"); one.keep("4.1", "x"); one.forget("4.1"); one.record(failed);
        const seen = one.snapshot();
        one.keep("4.2", "y"); one.restore(seen);
        return [before, contentOf(one), one.status("4.3"), heard];"""
    before, found, status, told = run(page, body, [trouble, FAILED])
    assert before == [None, [], "", []]
    assert found == [{"4.3": "mine"}, [FAILED]]
    assert status == "failed"
    assert told == [why]


def test_an_answer_that_did_not_fit_hides_the_old_one_and_is_stored_when_there_is_room(page):
    body = """
        store.keep("4.3", "old");
        storage.trouble.name = "QuotaExceededError"; store.keep("4.3", "new");
        const inMemory = [store.answer("4.3"), storage.getItem("tfm-live:answer:4.3"), [...told]];
        storage.trouble.name = ""; store.keep("4.3", "newer");
        return [...inMemory, storage.getItem("tfm-live:answer:4.3"), told];"""
    assert run(page, body) == ["new", "old", ["full"], "newer", ["full"]]


def test_an_import_can_be_undone(page):
    body = """
        const [failed, passed, file] = given;
        store.keep("4.3", "mine"); store.record(failed);
        const before = store.snapshot(), start = contentOf(store);
        const result = live.importText(store, "a.json", file);
        const after = contentOf(store);
        store.restore(before);
        return [start, after, contentOf(store), result];"""
    file = content({"4.3": OTHER, "4.1": "x = 1"}, [PASSED])
    start, after, undone, result = run(page, body, [FAILED, PASSED, file])
    assert after == [{"4.1": "x = 1", "4.3": OTHER}, [FAILED, PASSED]]
    assert result == {"answers": 2, "replaced": 1, "attempts": 1, "ignored": []}
    assert undone == start == [{"4.3": "mine"}, [FAILED]]


# --- files brought along --------------------------------------------------------------------------


def test_a_file_that_is_imported_twice_brings_nothing_new(page):
    body = """
        live.importText(store, "a.json", given);
        return live.importText(store, "a.json", given.replace("√", "√  "));"""
    text = json.dumps(json.loads(content({"4.3": MINE}, [FAILED])), ensure_ascii=False)
    assert run(page, body, text) == {"answers": 0, "replaced": 0, "attempts": 0, "ignored": []}


def test_a_blank_is_no_answer_neither_a_new_one_nor_one_to_replace(page):
    body = """
        store.keep("4.1", given.blanks["4.1"]); store.keep("4.2", "unlike any blank of the book");
        const result = live.importText(store, "a.json", given.file, given.blanks);
        return [result, store.answer("4.3")];"""
    blanks = {"4.1": BLANKS["4.1"], "4.2": "unlike any blank of the book", "4.4": "another blank"}
    file = content({"4.1": "a", "4.2": "b", "4.3": BLANKS["4.3"], "4.4": "another blank\r\n"})
    result, untouched = run(page, body, {"blanks": blanks, "file": file})
    assert result["answers"] == 2
    assert result["replaced"] == 0
    assert result["ignored"] == ["Still blank: 4.3, 4.4."]
    assert untouched is None


def notebook(*made: dict, **more) -> str:
    found = [{"cell_type": "code", "metadata": {}, "outputs": []} | cell for cell in made]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": found} | more)


ANSWER = f"# Exercise 4.3: Attention weights\n{OTHER}"
OLD_CELL = {"cell_type": "code", "input": ANSWER.splitlines(True)}
TFM = {"tfm": {"answers": {"4.3": "older", "4.9": "x = 9"}, "progress": [PASSED, 7]}}
HOSTILE = {
    "all": content({"4.3": MINE, "10.1": "x"}, [PASSED, FAILED, FAILED]),
    "byte order mark": "\ufeff" + content({"4.3": MINE}),
    "odd ids": content({"__proto__": "x", "constructor": "y", "4": "z", "04.1": "", "4.3": MINE}),
    "a long id": content({"√" * 1000: "x"}, [FAILED]),
    "odd sources": content({"4.1": 7, "4.2": None, "4.3": [MINE], "4.4": {"x": 1}, "4.5": "x"}),
    "odd attempts": content(
        {},
        [
            *(None, 7, "x", [], {}, PASSED | {"time": "1"}, PASSED | {"time": -1}),
            *(PASSED | {"time": True}, PASSED | {"time": 2.0**53}, PASSED | {"time": 1.75}),
            *(PASSED | {"mistake": 1}, PASSED | {"mistake": ""}, PASSED | {"event": "x" * 41}),
            *(PASSED | {"exercise": "__proto__"}, PASSED | {"more": {"__proto__": 1}}),
        ],
    ),
    "no answers": content([MINE], {}),
    "blanks": content({id: BLANKS[id] for id in ("4.1", "4.3", "10.2")} | {"4.2": " \n"}),
    "version 2": content({}, version=2),
    "version true": content({}, version=True),
    "no version": '{"format": "tfm-answers"}',
    "by metadata": notebook({"metadata": {"exercise": "4.3"}, "id": "answer-4-1", "source": OTHER}),
    "by id": notebook({"id": "answer-4-3", "source": OTHER.splitlines(True)}),
    "by title": notebook({"source": ANSWER}, {"source": "# Exercise 4.30: x\ny"}),
    "not by these": notebook({"metadata": {"exercise": 4.3}, "id": 7, "source": f"\n{ANSWER}"}),
    "format 3": json.dumps({"nbformat": 3, "worksheets": [{"cells": [OLD_CELL]}, None]}),
    "odd cells": json.dumps({"cells": [None, 7, [], {"cell_type": "code", "metadata": 7}]}),
    "odd sources of cells": notebook(*({"id": "answer-4-3", "source": s} for s in (7, [7, "x"]))),
    "two answers": notebook(*({"id": "answer-4-3", "source": s} for s in (MINE, OTHER, ""))),
    "markdown": notebook({"cell_type": "markdown", "source": ANSWER}),
    "from the page": notebook({"source": ANSWER}, metadata=TFM),
    "odd metadata": notebook({"source": ANSWER}, metadata={"tfm": []}),
    "a log": f"{json.dumps(FAILED)}\r\n\n{{cut\n{json.dumps(LATER)}",
    "a log of one line": json.dumps(FAILED),
    "a damaged log": "x\n" * 50 + json.dumps(FAILED),
    "empty": " \n",
    "words": "hello",
    "cut off": content({"4.3": MINE})[:-4],
    "a page": "<!doctype html><title>404</title>",
    "another kind": '{"cells": 7}',
    "a number": "7",
    "deep": "[" * 200_000,
    "a deep answer": '{"format": "tfm-answers", "version": 1, "answers": ' + "[" * 5000,
}


def said_by_python(text: str) -> list | str:
    """What Python finds in a file, told as `taken` tells it."""
    try:
        found = answers.read(text.encode(), "a.json")
    except ValueError as error:
        return str(error)
    blank = f"Still blank: {', '.join(sorted(found.blank, key=answers.order))}."
    attempts = [attempt.entry() for attempt in found.progress]
    result = {
        "answers": len(found.answers),
        "replaced": 0,
        "attempts": len(attempts),
        "ignored": found.ignored + ([blank] if found.blank else []),
    }
    return [result, found.answers, attempts]


@pytest.mark.parametrize("name", HOSTILE)
def test_page_and_python_find_the_same_and_say_the_same(page, name):
    assert taken(page, HOSTILE[name], "a.json") == said_by_python(HOSTILE[name])


def test_the_comparison_has_files_of_both_kinds():
    """Were every file refused, or none, it would say little."""
    refused = [name for name, text in HOSTILE.items() if isinstance(said_by_python(text), str)]
    assert 8 < len(refused) < len(HOSTILE) - 15


def test_half_a_character_is_carried(page):
    text = '{"format": "tfm-answers", "version": 1, "answers": {"4.3": "x\\ud800"}}'
    body = "live.importText(store, 'a', given); return live.exportFile(store);"
    assert '"4.3": "x\\ud800"' in run(page, body, text)


def test_a_file_of_50_mb_is_refused_before_it_is_read(page):
    body = """
        const text = '{"format": "tfm-answers", "version": 1, "answers": {"4.3": "'
            + "x".repeat(50 * 2 ** 20) + '"}}';
        try { live.importText(store, "big.json", text); } catch (error) {
            return [error.message, storage.map.size, text.length > live.MOST_BYTES];
        }"""
    message, size, is_over = run(page, body)
    assert "big.json is larger than 20 MB: choose" in message
    assert (size, is_over) == (0, True)


def test_one_answer_cannot_fill_the_storage(page):
    text = content({"4.1": "x" * 200_001, "4.3": MINE})
    result, found, _ = taken(page, text)
    assert result["ignored"] == ["Too long: 4.1."]
    assert found == {"4.3": MINE}


@pytest.mark.parametrize("value", [None, 7, {}])
def test_what_is_not_even_text_is_refused(page, value):
    assert "but my-answers.json is not text: choose" in taken(page, value)


def test_a_hostile_name_is_cut_short(page):
    message = taken(page, "hello", "x" * 10_000)
    assert len(message) < 300


# --- files to take along --------------------------------------------------------------------------


def blank_notebook() -> dict:
    """A chapter as compiled, without outputs."""
    found = json.loads((ROOT / "notebooks" / CHAPTER).read_text(encoding="utf-8"))
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            del cell["outputs"], cell["execution_count"]
    return found


def exported(page, found: dict, attempts=()) -> str:
    body = """
        for (const [id, text] of Object.entries(given.answers)) store.keep(id, text);
        given.attempts.map(store.record);
        const before = JSON.stringify(given.notebook);
        const text = live.exportNotebook(store, given.notebook);
        return [text, before === JSON.stringify(given.notebook)];"""
    given = {"answers": found, "attempts": list(attempts), "notebook": blank_notebook()}
    text, is_untouched = run(page, body, given)
    assert is_untouched
    return text


def test_an_exported_notebook_is_the_chapter_with_its_answers(page):
    text = exported(page, {"4.3": MINE, "4.99": "y", "5.1": "z"}, [FAILED, LATER])
    found = nbformat.reads(text, as_version=4)
    nbformat.validate(found)
    assert (found.nbformat, found.nbformat_minor) == (4, 5)
    assert found.metadata.pop("tfm") == {"answers": {"4.99": "y"}, "progress": [FAILED]}
    committed = nbformat.read(ROOT / "notebooks" / CHAPTER, as_version=4)
    for cell in committed.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        if cell.metadata.get("exercise") == "4.3":
            cell.source = MINE
    assert found == committed
    result, back, attempts = taken(page, text, "04.ipynb", BLANKS)
    assert back == {"4.3": MINE, "4.99": "y"}
    assert attempts == [FAILED]
    assert (result["answers"], result["ignored"]) == (
        2,
        ["Still blank: 4.1, 4.2, 4.4, 4.5, 4.6, 4.7, 4.8."],
    )


def test_of_several_blanks_the_first_is_filled(page):
    body = """
        const blank = { cell_type: "code", id: "answer-4-3", source: given };
        store.keep("4.3", "x");
        const text = live.exportNotebook(store, { cells: [blank, { ...blank }], metadata: {} });
        return JSON.parse(text).cells.map((cell) => cell.source);"""
    assert run(page, body, BLANKS["4.3"]) == [["x"], BLANKS["4.3"]]


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux to shut in a process")
def test_an_exported_notebook_gets_the_marks_of_its_answers(page, tmp_path, level):
    wrong = "def softmax(x):\n    return x"
    solved = {id: cells("solutions")[id].source for id in ("4.1", "4.3", "4.8")}
    (tmp_path / "in").mkdir()
    text = exported(page, solved | {"4.2": wrong, "5.1": 'check("5.1", 1)'}, [FAILED, LATER])
    (tmp_path / "in" / "learner.ipynb").write_text(text, encoding="utf-8")
    [(_, result)], _ = grade(tmp_path / "in", tmp_path / "out", None, level, LIMITS)
    expected = dict.fromkeys((id for id in BLANKS if id.startswith("4.")), Status.BLANK)
    expected |= dict.fromkeys(solved, Status.PASSED) | {"4.2": Status.FAILED}
    assert {id: mark.status for id, mark in result.marks.items()} == expected


# --- there and back -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A learner's notebooks, as the clone has them."""
    monkeypatch.delenv("TFM_PROGRESS", raising=False)
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for path in ROOT.glob("notebooks/*.ipynb"):
        shutil.copy(path, folder)
    return folder


def jupyter(action: str, file: Path, folder: Path) -> None:
    assert main(["answers", action, str(file), "--notebooks", str(folder)]) == 0


def test_from_the_page_to_jupyter_and_back_nothing_changes(page, folder, tmp_path):
    answered = {id: cell.source for id, cell in cells("solutions").items()}
    answered |= {"4.3": MINE, "4.4": '\t# only tabs, "quotes" and \\ \u2028 \U0001f600\n\n'}
    body = """
        for (const [id, text] of Object.entries(given.answers)) store.keep(id, text);
        given.attempts.map(store.record);
        return live.exportFile(store);"""
    given = {"answers": answered, "attempts": [LATER, PASSED, FAILED]}
    text = run(page, body, given)
    saved = tmp_path / "saved.json"
    (tmp_path / "my-answers.json").write_text(text, encoding="utf-8")
    jupyter("load", tmp_path / "my-answers.json", folder)
    jupyter("save", saved, folder)
    assert saved.read_text(encoding="utf-8") == text
    result, found, attempts = taken(page, saved.read_text(encoding="utf-8"), blanks=BLANKS)
    assert found == answered
    assert attempts == [FAILED, PASSED, LATER]
    assert result["ignored"] == []


def test_a_notebook_from_the_page_is_loaded_and_one_from_jupyter_imported(page, folder, tmp_path):
    (tmp_path / "04.ipynb").write_text(exported(page, {"4.3": MINE}, [FAILED]), encoding="utf-8")
    jupyter("load", tmp_path / "04.ipynb", folder)
    found = answers.in_folder(folder)
    assert found.answers == {"4.3": MINE}
    assert [attempt.entry() for attempt in found.progress] == [FAILED]
    _, back, _ = taken(page, (folder / CHAPTER).read_text(encoding="utf-8"), CHAPTER, BLANKS)
    assert back == {"4.3": MINE}
