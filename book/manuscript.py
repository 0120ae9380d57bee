"""Reading a chapter of the manuscript: its cells, its exercises, and what is wrong with it.

A chapter is a MyST notebook. Four directives mean something to the compiler: `{exercise}` is
followed by a code cell with a solution region and a cell that checks it, `{solution}` holds the
discussion, `{quiz}` a multiple-choice question, `{caption} name` follows a cell that draws a
figure. {ledger}`id` becomes a badge, {fig}`name` a link to a figure by its number.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import jupytext

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
DIRECTIVE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<name>exercise|solution|quiz|caption)\} ?(?P<title>.*)$"
)
CODE_CELL = re.compile(r"^(?P<fence>`{3,})\{code-cell\}")
FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})(?P<rest>.*)$")
CHECK = re.compile(r"""^check\(\s*["'](?P<id>[^"']+)["']""", re.MULTILINE)
LABEL = re.compile(r"^:label: *ex-(?P<chapter>\d+)-(?P<number>\d+) *$", re.MULTILINE)
LEVEL = re.compile(r"^:level: *(?P<level>.*?) *$", re.MULTILINE)
LEDGER = re.compile(r"\{ledger\}`(?P<id>[^`]+)`")
FIGURE = re.compile(r"\{fig\}`(?P<name>[^`]+)`")
CAPTION = re.compile(r"^`{3,}\{caption\} *(?P<name>.*?) *$", re.MULTILINE)
FIGURE_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SOLVES = re.compile(r"^ex-(?P<chapter>\d+)-(?P<number>\d+)$")
TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)

LEVELS = {  # how hard an exercise is
    1: "takes a line or two, with the idea just read",
    2: "has a catch or combines ideas",
    3: "is hard: you have to think or to derive",
}


class ManuscriptError(Exception):
    """What is wrong with a manuscript, with file and line."""

    def __init__(self, path: Path, line: int, sentence: str) -> None:
        super().__init__(f"{path}:{line}: {sentence}")


@dataclass
class Block:
    """A cell of the manuscript: prose, code, or one directive that the compiler knows."""

    kind: str  # "prose", "code", "exercise", "solution", "quiz", "caption"
    source: str  # a directive's body without its fences
    line: int
    title: str = ""
    tags: list[str] = field(default_factory=list)


@dataclass
class Exercise:
    """What the manuscript says of one exercise."""

    id: str
    title: str
    level: int  # how hard it is, one of LEVELS
    statement: Block
    answer: Block | None = None
    check: Block | None = None
    discussion: Block | None = None


@dataclass
class Chapter:
    path: Path
    blocks: list[Block]
    exercises: list[Exercise]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def title(self) -> str:
        for block in self.blocks:
            if heading := TITLE.search(block.source):
                return heading["title"].strip()
        raise ManuscriptError(self.path, 1, "expected a title, a line that begins with '# '.")


def read(path: Path) -> Chapter:
    """Read and check one chapter."""
    if not re.match(r"^\d\d-[a-z0-9-]+$", path.stem):
        raise ManuscriptError(path, 1, f"expected a name like 04-topic.md, got {path.name}.")
    text = path.read_text(encoding="utf-8")
    blocks = list(_blocks(path, text.splitlines()))
    _add_cell_options(path, text, [block for block in blocks if block.kind == "code"])
    for block in blocks:
        if block.kind == "code":
            check_regions(path, block)
    _check_captions(path, blocks)
    return Chapter(path, blocks, list(_exercises(path, blocks)))


def read_all(folder: Path, only: str = "") -> list[Chapter]:
    """Read the chapters, or those whose name begins with `only`."""
    paths = sorted(folder.glob("*.md"))
    for one, other in pairwise(paths):
        # An exercise id begins with its chapter's number, so unique numbers make unique ids.
        if one.stem[:2] == other.stem[:2]:
            raise ManuscriptError(other, 1, f"{one.name} has the number {other.stem[:2]} already.")
    figure_numbers(folder)
    return [read(path) for path in paths if path.stem.startswith(only)]


# --- cells --------------------------------------------------------------------------------------


def _blocks(path: Path, lines: list[str]) -> Iterator[Block]:
    """Cut the text into cells, each with the line on which it begins."""
    start = _after_front_matter(path, lines)
    prose, index = start, start
    while index < len(lines):
        line = lines[index]
        opening = DIRECTIVE.match(line) or CODE_CELL.match(line)
        if opening:
            yield from _prose(lines, prose, index)
            end = _closing(path, lines, index, opening["fence"])
            yield _fenced(lines, index, end, opening)
            index = prose = end + 1
        elif line.strip() == "+++":
            yield from _prose(lines, prose, index)
            index = prose = index + 1
        elif fence := FENCE.match(line):
            index = _closing(path, lines, index, fence["fence"]) + 1
        else:
            index += 1
    yield from _prose(lines, prose, len(lines))


def _after_front_matter(path: Path, lines: list[str]) -> int:
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        raise ManuscriptError(path, 1, "expected jupytext's front matter between two lines of ---.")
    return lines.index("---", 1) + 1


def _closing(path: Path, lines: list[str], start: int, fence: str) -> int:
    for index in range(start + 1, len(lines)):
        if lines[index].strip() == fence:
            return index
    raise ManuscriptError(path, start + 1, f"this block is never closed: expected a line {fence}.")


def _prose(lines: list[str], start: int, end: int) -> Iterator[Block]:
    source = "\n".join(lines[start:end])
    if source.strip():
        leading = len(source) - len(source.lstrip("\n"))
        yield Block("prose", source.strip("\n").rstrip(), start + leading + 1)


def _fenced(lines: list[str], start: int, end: int, opening: re.Match) -> Block:
    if opening.re is DIRECTIVE:
        body = "\n".join(lines[start + 1 : end]).strip("\n")
        return Block(opening["name"], body, start + 1, opening["title"].strip())
    return Block("code", "", start + 1)


def _add_cell_options(path: Path, text: str, blocks: list[Block]) -> None:
    """Let jupytext read what a code cell holds: its tags and its source."""
    cells = [c for c in jupytext.reads(text, fmt="md:myst").cells if c.cell_type == "code"]
    if len(cells) != len(blocks):
        raise ManuscriptError(path, 1, "expected every {code-cell} to stand at the margin.")
    lines = text.splitlines()
    for cell, block in zip(cells, blocks, strict=True):
        block.source, block.tags = cell.source, list(cell.metadata.get("tags", []))
        first = cell.source.splitlines()[0] if cell.source else ""
        while block.line < len(lines) and lines[block.line - 1] != first:
            block.line += 1


# --- solution regions ---------------------------------------------------------------------------


def check_regions(path: Path, block: Block) -> None:
    """Refuse solution regions that are not closed, not opened or nested."""
    opened = None
    for offset, line in enumerate(block.source.splitlines()):
        number = block.line + offset
        if line.strip() == BEGIN:
            if opened is not None:
                raise ManuscriptError(path, number, "a solution region begins inside another one.")
            opened = number
        elif line.strip() == END:
            if opened is None:
                raise ManuscriptError(path, number, f"{END} without {BEGIN} before it.")
            opened = None
    if opened is not None:
        raise ManuscriptError(path, opened, f"this solution is never closed: expected {END}.")


def blank(source: str, without: Sequence[str] = ()) -> str:
    """Replace each solution region by a line that says that nothing has been written yet.

    `without` are functions that the answer must not call.

    >>> print(blank("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION"))
    def f(x):
        # Your code here.
        raise NotImplementedError
    """
    rule = f", without a call of {' or '.join(without)}" if without else ""
    kept, inside = [], False
    for line in source.splitlines():
        if line.strip() == BEGIN:
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [f"{indent}# Your code here{rule}.", f"{indent}raise NotImplementedError"]
        elif line.strip() == END:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def solved(source: str) -> str:
    """Keep the solution, drop the lines that mark it."""
    return "\n".join(line for line in source.splitlines() if line.strip() not in (BEGIN, END))


# --- figures ------------------------------------------------------------------------------------


def figure_numbers(folder: Path) -> dict[str, tuple[Path, str]]:
    """Where each figure of the book is and its number: name -> (chapter, "4.3")."""
    numbers: dict[str, tuple[Path, str]] = {}
    for path in sorted(folder.glob("[0-9][0-9]-*.md")):
        text = path.read_text(encoding="utf-8")
        for count, caption in enumerate(CAPTION.finditer(text), 1):
            if caption["name"] in numbers:
                line = text[: caption.start()].count("\n") + 1
                sentence = (
                    f"there is a figure {caption['name']!r} already: name this one otherwise."
                )
                raise ManuscriptError(path, line, sentence)
            numbers[caption["name"]] = (path, f"{int(path.stem[:2])}.{count}")
    return numbers


def _check_captions(path: Path, blocks: list[Block]) -> None:
    """Refuse a caption without a name, a text or the cell that draws its figure."""
    for before, block in pairwise([None, *blocks]):
        if block is None or block.kind != "caption":
            continue
        if not FIGURE_NAME.fullmatch(block.title):
            raise ManuscriptError(
                path, block.line, f"expected a figure's name like two-banks, got {block.title!r}."
            )
        if before is None or before.kind != "code":
            raise ManuscriptError(
                path, block.line, "expected the cell that draws the figure right above its caption."
            )
        if not block.source.strip():
            raise ManuscriptError(path, block.line, f"the caption of {block.title} is empty.")


# --- exercises ----------------------------------------------------------------------------------


def _exercises(path: Path, blocks: list[Block]) -> Iterator[Exercise]:
    """Gather each exercise's statement, answer, check and discussion, in the book's order."""
    found: list[Exercise] = []
    for block in blocks:
        if block.kind == "exercise":
            found.append(_declared(path, block, found))
        elif block.kind == "solution":
            _add_discussion(path, block, found)
        elif block.kind == "code":
            _add_code(path, block, found)
    for exercise in found:
        _require_complete(path, exercise)
        yield exercise


def _declared(path: Path, block: Block, before: list[Exercise]) -> Exercise:
    label = LABEL.search(block.source)
    if label is None:
        raise ManuscriptError(path, block.line, "expected a line ':label: ex-CHAPTER-NUMBER'.")
    id = f"{label['chapter']}.{label['number']}"
    if int(label["chapter"]) != int(path.stem[:2]):
        raise ManuscriptError(
            path, block.line, f"exercise {id} is not one of chapter {int(path.stem[:2])}."
        )
    if any(exercise.id == id for exercise in before):
        raise ManuscriptError(path, block.line, f"exercise {id} stands twice in this chapter.")
    if int(label["number"]) != len(before) + 1:
        raise ManuscriptError(
            path, block.line, f"expected exercise number {len(before) + 1} here, got {id}."
        )
    if not block.title:
        raise ManuscriptError(path, block.line, f"exercise {id} has no title.")
    return Exercise(id, block.title, _level(path, block), block)


def _level(path: Path, block: Block) -> int:
    """How hard an exercise is, by its option line."""
    level = LEVEL.search(block.source)
    if level is None:
        raise ManuscriptError(path, block.line, "expected a line ':level: 1', 2 or 3.")
    if level["level"] not in map(str, LEVELS):
        line = block.line + 1 + block.source[: level.start()].count("\n")
        raise ManuscriptError(path, line, f"expected level 1, 2 or 3, got {level['level']!r}.")
    return int(level["level"])


def _add_code(path: Path, block: Block, found: list[Exercise]) -> None:
    if BEGIN in block.source:
        if not found or found[-1].answer is not None:
            raise ManuscriptError(path, block.line, "a solution region without its {exercise}.")
        found[-1].answer = block
    for match in CHECK.finditer(block.source):
        line = block.line + block.source[: match.start()].count("\n")
        if not found or found[-1].id != match["id"]:
            raise ManuscriptError(
                path, line, f"check({match['id']!r}, …) without its exercise before it."
            )
        found[-1].check = block


def _add_discussion(path: Path, block: Block, found: list[Exercise]) -> None:
    label = SOLVES.match(block.title)
    id = f"{label['chapter']}.{label['number']}" if label else block.title
    if not found or found[-1].id != id:
        raise ManuscriptError(path, block.line, f"{{solution}} {id} does not follow its exercise.")
    found[-1].discussion = block


def _require_complete(path: Path, exercise: Exercise) -> None:
    missing = {
        "a solution (a code cell with a solution region)": exercise.answer,
        f"a check (a line that begins with check({exercise.id!r}, …))": exercise.check,
        "a discussion (a {solution} block)": exercise.discussion,
    }
    for what, block in missing.items():
        if block is None:
            line = exercise.statement.line
            raise ManuscriptError(path, line, f"exercise {exercise.id} has no {what[2:]}.")
