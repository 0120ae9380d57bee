"""The engine in the page's Python: every answer is told what it is told in CPython.

In node, which runs the same WebAssembly as a browser does.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from book.live import assets, npm
from tfmlib.checking.catalogue import all_exercises, modules
from tfmlib.checking.outcome import Status

HERE = Path(__file__).parent
CHAPTERS = sorted(modules())
# NumPy 2.0 still takes an array of one value for a number; np.argpartition leaves another order.
DIFFERENT_NUMPY = {("2.4", "takes_single_numbers_only"), ("9.6", "does_not_sort_them")}
IN_NODE = """
import json
for row in told([{chapter}]):
    emit(json.dumps(row))
"""
IN_CPYTHON = """
import json, sys
sys.path.insert(0, {here!r})
from answers_told import told
print(json.dumps(list(told({chapters}, briefly=True))))
"""


@pytest.fixture(scope="module")
def in_page(tmp_path_factory):
    """What a chapter's answers are told in the page's Python."""
    folder = tmp_path_factory.mktemp("page")
    modules = npm.packages()
    zips = {"numpy.zip": assets.numpy_files(modules), "library.zip": assets.library_files()}
    for name, files in zips.items():
        (folder / name).write_bytes(assets.stored_zip(files))
    begin = (HERE / "answers_told.py").read_text("utf-8")

    def ask(chapter: int) -> list[list]:
        job = folder / "job.py"
        job.write_text(begin + IN_NODE.format(chapter=chapter), "utf-8")
        places = [str(modules), *(str(folder / name) for name in zips), str(job)]
        run = subprocess.run(
            [npm.program("node"), str(HERE / "in_node.mjs"), *places],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert run.returncode == 0, run.stderr[-2000:]
        return [json.loads(line) for line in run.stdout.splitlines()]

    return ask


@pytest.fixture(scope="module")
def in_cpython() -> dict[tuple[str, str], str]:
    """What solutions and first mistakes are told here, without torch, as in the page."""
    code = IN_CPYTHON.format(here=str(HERE), chapters=CHAPTERS)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return {(id, name): words for id, name, _, _, words in json.loads(run.stdout)}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_answer_is_told_the_same(chapter, in_page, in_cpython):
    """`verify` proves the names of mistakes in CPython; whole messages are compared besides."""
    sentences = {(e.id, m.name): m.sentence for e in all_exercises() for m in e.mistakes}
    rows = in_page(chapter)
    assert len(rows) > 20
    for id, name, status, mistake, words in rows:
        if (id, name) in sentences:
            assert (status, mistake) == (Status.FAILED, name), f"{id} {name}: {words}"
            assert sentences[id, name] in words
        else:
            assert status == Status.PASSED, f"{id} {name}: {words}"
        if (id, name) in in_cpython.keys() - DIFFERENT_NUMPY:
            assert words == in_cpython[id, name], f"{id} {name}"
