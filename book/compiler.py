"""Compile the manuscript: book/chapters/*.md -> notebooks/*.ipynb and solutions/*.ipynb.

    python -m book.compiler [--only 04] [--force]

Only what changed is compiled. A notebook is written when all of its cells have run; a cell that
fails leaves the notebook of before untouched.
"""

import argparse
import asyncio
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import nbclient
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tqdm import tqdm

from book.citations import linked
from book.manuscript import (
    FIGURE,
    LEDGER,
    LEVELS,
    Block,
    Chapter,
    Exercise,
    ManuscriptError,
    blank,
    figure_numbers,
    read_all,
    solved,
)
from book.quiz import markdown as quiz_markdown
from book.quiz import read_quiz
from tfmlib import ref
from tfmlib.checking.catalogue import find
from tfmlib.support.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS, NOTEBOOKS, SOLUTIONS = ROOT / "book/chapters", ROOT / "notebooks", ROOT / "solutions"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SECONDS_PER_CELL = 300
# A cell under a chapter's title, for JupyterLab, whose own view of a page has no style and no
# scripts. The tag has myst-nb leave it out of the page, which says how to come to the notebook.
WAY_BACK = (
    "To read on in the book, open `_build/html/notebooks/{name}.html` in your browser; "
    "`make book` builds it."
)
NOT_IN_THE_PAGE = "remove-cell"
# What draws a figure is folded away in the page, and nbval does not compare pictures.
OF_A_FIGURE = ("hide-input", "nbval-ignore-output")


class CompileError(Exception):
    """A cell that failed, with chapter, cell and traceback."""


# --- from manuscript to cells -------------------------------------------------------------------


def learner_notebook(chapter: Chapter) -> nbformat.NotebookNode:
    """The chapter with every exercise blank."""
    by_block = {id(e.statement): e for e in chapter.exercises}
    captioned = {id(one) for one, other in pairwise(chapter.blocks) if other.kind == "caption"}
    answers = {id(e.answer): e for e in chapter.exercises}
    cells: list[nbformat.NotebookNode] = []
    quizzes = 0
    for block in chapter.blocks:
        if block.kind == "exercise":
            cells.append(_statement_cell(chapter, by_block[id(block)]))
        elif block.kind == "quiz":
            quizzes += 1
            quiz = read_quiz(chapter.path, block)
            label = f"{chapter.number}.{chr(96 + quizzes)}"
            cells.append(_prose_cell(chapter, block, quiz_markdown(quiz, label)))
        elif block.kind == "prose" and not cells:
            cells += _opening_cells(chapter, block)
        elif block.kind == "prose":
            cells.append(_prose_cell(chapter, block, block.source))
        elif block.kind == "code":
            exercise = answers.get(id(block))
            if exercise:
                cells.append(_answer_cell(exercise, blank(block.source, _forbidden(exercise))))
            else:
                cells.append(_code_cell(block, OF_A_FIGURE if id(block) in captioned else ()))
        elif block.kind == "caption":
            cells.append(_caption_cell(chapter, block))
    return _notebook(cells)


def _forbidden(exercise: Exercise) -> list[str]:
    """The functions of `ref` that do what the learner is to write, as the check knows them."""
    try:
        names = find(exercise.id).forbidden
    except LookupError:  # a test will say that the library does not know it
        return []
    told = {rule.replace(":", " with a ") for rule in names}  # "attention:mask"
    known = [text for text in sorted(told) if text.split()[0] in dir(ref) and text[0] != "_"]
    return [f"ref.{text}" for text in known]


def solutions_notebook(chapter: Chapter) -> nbformat.NotebookNode:
    """Only the exercises: statement, solution, check and discussion of each."""
    back = f"../notebooks/{chapter.name}.ipynb"
    opening = (
        f"# Solutions to chapter {chapter.number}\n\n"
        f"The exercises of [{chapter.title}]({back}), solved. "
        "Try yours first: a solution read is not a solution found."
    )
    cells = [_markdown(opening)]
    cells += [_code_cell(b) for b in chapter.blocks if b.kind == "code" and "setup" in b.tags]
    for exercise in chapter.exercises:
        cells += _solution_cells(chapter, exercise)
    return _notebook(cells)


def _solution_cells(chapter: Chapter, exercise: Exercise) -> list[nbformat.NotebookNode]:
    slug = exercise.id.replace(".", "-")
    back = f"../notebooks/{chapter.name}.ipynb#cell-id=ex-{slug}"
    heading = f"## Exercise {exercise.id}: {exercise.title}"
    statement = _with_links(chapter, exercise.statement, _body(exercise))
    discussion = _with_links(chapter, exercise.discussion, exercise.discussion.source)
    return [
        _markdown(
            f"{heading}\n\n{statement}\n\n[Back to the exercise]({back})", cell_id=f"sol-{slug}"
        ),
        _answer_cell(exercise, solved(exercise.answer.source)),
        _code_cell(exercise.check),
        _markdown(f"````{{solution}} ex-{slug}\n:label: sol-{slug}\n\n{discussion}\n````"),
    ]


def _statement_cell(chapter: Chapter, exercise: Exercise) -> nbformat.NotebookNode:
    slug = exercise.id.replace(".", "-")
    body = _with_links(chapter, exercise.statement, _body(exercise))
    link = f"[Solution](../solutions/{chapter.name}.ipynb#cell-id=sol-{slug})"
    # JupyterLab shows the enumerator; the book takes the number from the label.
    options = f":label: ex-{slug}\n:enumerator: {exercise.id}"
    source = f"````{{exercise}} {exercise.title}\n{options}\n\n{body}\n\n{link}\n````"
    return _markdown(source, cell_id=f"ex-{slug}")


def _body(exercise: Exercise) -> str:
    """How hard an exercise is, in words that a screen reader can say, and its text."""
    lines = exercise.statement.source.splitlines()
    while lines and (lines[0].startswith(":") or not lines[0].strip()):
        lines.pop(0)
    text = "\n".join(lines).strip()
    return f"Difficulty: {exercise.level} of {len(LEVELS)}\n\n{text}"


def _opening_cells(chapter: Chapter, block: Block) -> list[nbformat.NotebookNode]:
    """The title, the way back to the page, and what follows."""
    title, _, rest = block.source.partition("\n")
    cells = [
        _prose_cell(chapter, block, title),
        _markdown(WAY_BACK.format(name=chapter.name), tags=[NOT_IN_THE_PAGE]),
    ]
    return [*cells, _prose_cell(chapter, block, rest.strip("\n"))] if rest.strip() else cells


def _prose_cell(chapter: Chapter, block: Block, source: str) -> nbformat.NotebookNode:
    return _markdown(_with_links(chapter, block, source))


def _with_links(chapter: Chapter, block: Block, source: str) -> str:
    """Make badges, figures' numbers and citations of {ledger}`id`, {fig}`name` and {cite}`key`."""

    def number(match: re.Match) -> str:
        numbers = figure_numbers(chapter.path.parent)
        if match["name"] not in numbers:
            raise LookupError(f"there is no figure {match['name']!r}.")
        path, number = numbers[match["name"]]
        # Solutions are in another folder: from there as from here the link leads to the chapter.
        return f"[Figure {number}](../notebooks/{path.stem}.ipynb#cell-id=fig-{match['name']})"

    def badge(match: re.Match) -> str:
        from tfmlib import ledger

        return ledger.badge(match["id"])

    try:
        return linked(FIGURE.sub(number, LEDGER.sub(badge, source)))
    except LookupError as error:
        raise ManuscriptError(chapter.path, block.line, str(error.args[0])) from error


def _markdown(
    source: str, cell_id: str = "", tags: list[str] | None = None
) -> nbformat.NotebookNode:
    metadata = {"tags": tags} if tags else {}
    cell_id = cell_id or _content_id("markdown", source)
    return new_markdown_cell(source, id=cell_id, metadata=metadata)


def _caption_cell(chapter: Chapter, block: Block) -> nbformat.NotebookNode:
    """The caption as a paragraph that begins with the figure's number."""
    number = figure_numbers(chapter.path.parent)[block.title][1]
    label = f"fig-{block.title}"
    text = _with_links(chapter, block, block.source.strip())
    return _markdown(f"({label})=\n**Figure {number}.** {text}", cell_id=label)


def _code_cell(block: Block, more_tags: Sequence[str] = ()) -> nbformat.NotebookNode:
    tags = list(dict.fromkeys([*block.tags, *more_tags]))
    metadata = {"tags": tags} if tags else {}
    return new_code_cell(block.source, id=_content_id("code", block.source), metadata=metadata)


def _answer_cell(exercise: Exercise, source: str) -> nbformat.NotebookNode:
    tags = ["exercise", *exercise.answer.tags]
    source = f"# Exercise {exercise.id}: {exercise.title}\n{source}"
    cell_id = f"answer-{exercise.id.replace('.', '-')}"
    return new_code_cell(source, id=cell_id, metadata={"exercise": exercise.id, "tags": tags})


def _content_id(kind: str, source: str) -> str:
    """An id that depends on the cell alone: other cells keep theirs when this one changes."""
    return hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:12]


def _notebook(cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    seen: dict[str, int] = {}
    for cell in cells:
        seen[cell["id"]] = seen.get(cell["id"], 0) + 1
        if seen[cell["id"]] > 1:  # the same content twice
            cell["id"] = f"{cell['id']}-{seen[cell['id']]}"
    notebook = new_notebook(cells=cells, metadata=METADATA)
    notebook.nbformat_minor = 5
    return notebook


# --- from cells to files ------------------------------------------------------------------------


def bare(notebook: nbformat.NotebookNode) -> list[tuple]:
    """The cells without what running them adds."""
    return [(c["id"], c.cell_type, c.source, c.metadata.get("tags", [])) for c in notebook.cells]


def bare_code(notebook: nbformat.NotebookNode) -> list[tuple]:
    return [(c.source, c.metadata.get("tags", [])) for c in notebook.cells if c.cell_type == "code"]


def stored(path: Path) -> nbformat.NotebookNode | None:
    """The committed notebook, or None where there is none that can be read."""
    try:
        return nbformat.read(path, as_version=4)
    except (FileNotFoundError, nbformat.reader.NotJSONError, nbformat.ValidationError):
        return None


def is_stale(notebook: nbformat.NotebookNode, path: Path) -> bool:
    before = stored(path)
    return before is None or bare(before) != bare(notebook)


def run(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Fill in outputs: those of before where no code changed, fresh ones otherwise."""
    client = nbclient.NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # else a slow cell's prints fall into several boxes by chance
        extra_arguments=["--IPKernelApp.log_level=40"],  # a local kernel: no word on encryption
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        # A loop of its own for each notebook, closed with it: two run at a time, in threads.
        asyncio.run(client.async_execute(env={**os.environ, "TFM_PROGRESS": "off"}))
    except nbclient.exceptions.CellExecutionError as error:
        number, cell = next(
            (n, c) for n, c in enumerate(notebook.cells, 1) if c.source in str(error)
        )
        trace = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        raise CompileError(
            f"{path.parent.name}/{path.name}, cell {number} ({cell['id']}):\n{trace}"
        ) from None
    notebook.metadata = nbformat.from_dict(METADATA)


def reuse_outputs(notebook: nbformat.NotebookNode, path: Path) -> bool:
    """Carry outputs over from the stored notebook when only prose changed."""
    before = stored(path)
    if before is None or bare_code(before) != bare_code(notebook):
        return False
    old = [cell for cell in before.cells if cell.cell_type == "code"]
    new = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for one, other in zip(old, new, strict=True):
        other.outputs, other.execution_count = one.outputs, one.execution_count
    return all(cell.execution_count is not None for cell in new)


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Replace the file in one step, so that it is never half written."""
    write_whole(path, f"{nbformat.writes(notebook)}\n".encode())


def compile_notebook(notebook: nbformat.NotebookNode, path: Path, force: bool) -> None:
    if force or not reuse_outputs(notebook, path):
        run(notebook, path)
    write(notebook, path)


def targets(chapter: Chapter) -> list[tuple[nbformat.NotebookNode, Path]]:
    """The notebooks that a chapter compiles to, with where they belong."""
    name = f"{chapter.name}.ipynb"
    both = [(learner_notebook(chapter), NOTEBOOKS / name)]
    if chapter.exercises:
        both.append((solutions_notebook(chapter), SOLUTIONS / name))
    return both


def write_pages() -> None:
    """Write the pages that are made from the ledger, the exercises and the docstrings."""
    from book import pages

    pages.write()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m book.compiler", description=__doc__)
    parser.add_argument("--only", default="", help="compile one chapter, by its number: 04")
    parser.add_argument("--force", action="store_true", help="run every cell again")
    options = parser.parse_args(arguments)
    try:
        chapters = read_all(CHAPTERS, options.only)
        if not chapters:
            print(f"There is no chapter {options.only!r} in {CHAPTERS}.", file=sys.stderr)
            return 2
        work = [t for chapter in chapters for t in targets(chapter)]
        work = [(nb, path) for nb, path in work if options.force or is_stale(nb, path)]
        _compile_all(work, options.force)
        write_pages()
    except (ManuscriptError, CompileError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _compile_all(work: list[tuple[nbformat.NotebookNode, Path]], force: bool) -> None:
    if not work:
        print("All notebooks are up to date.")
        return
    with (
        tqdm(total=len(work), unit="notebook", desc="compiling") as bar,
        ThreadPoolExecutor(max_workers=2) as pool,
    ):
        jobs = [pool.submit(compile_notebook, nb, path, force) for nb, path in work]
        for job in jobs:
            job.result()
            bar.update()


if __name__ == "__main__":
    sys.exit(main())
