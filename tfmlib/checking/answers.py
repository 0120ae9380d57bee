"""A learner's answers and attempts, carried between the page and Jupyter.

They travel in a file of answers, in a notebook or in a log of attempts. Whatever cannot be taken
is named, and the rest is taken. `book/live/page/answers.js` does the same in the page, in the same
words.
"""

import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tfmlib.checking import progress
from tfmlib.checking.catalogue import modules
from tfmlib.support import json_text
from tfmlib.support.files import write_whole
from tfmlib.support.notebooks import code_cells, source_of

FORMAT, VERSION = "tfm-answers", 1
MOST_BYTES = 20 * 2**20
MOST_NAMED = 8  # in one sentence
ID = re.compile(r"(0|[1-9][0-9]{0,2})\.[1-9][0-9]{0,2}")
CELL_ID = re.compile(r"answer-([0-9]+)-([0-9]+)")
TITLE = re.compile(r"# Exercise ([0-9]+\.[0-9]+)\b")
# What the book prints where an answer is to be written, in this edition or in another.
BLANK = re.compile(
    r"(# Exercise [0-9.]+:[^\n]*\n)?"
    r"def \w+\([^\n]*\):\n"
    r'    """[^"]*"""\n'
    r"    # Your code here(, without a call of [\w. ]+)?\.\n"
    r"    raise NotImplementedError\s*"
)
COPY = re.compile(r"\.before-load(-[0-9]+)?$")  # ends the stem of a copy
EXPECTED = (
    "Expected a file of answers (.json), a notebook (.ipynb) or a log of attempts (.jsonl), "
    "but {name} {what}: choose a file that the book or Jupyter saved."
)


class Attempt(NamedTuple):
    """One line of a learner's log."""

    exercise: str
    event: str
    time: int
    mistake: str = ""

    def entry(self) -> dict[str, str | int]:
        """As the log has it."""
        return {key: value for key, value in self._asdict().items() if value != ""}


@dataclass
class Carried:
    """What was found in one place, and in sentences what could not be taken."""

    answers: dict[str, str] = field(default_factory=dict)
    progress: list[Attempt] = field(default_factory=list)
    blank: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


# --- what is in a text ---------------------------------------------------------------------------


def is_blank(source: str) -> bool:
    """Whether nothing has been written in an answer's cell.

    >>> is_blank("def f(x):\\n    return x")
    False
    """
    source = source.replace("\r\n", "\n").strip()
    return not source or BLANK.fullmatch(source) is not None


def is_same(one: str, other: str) -> bool:
    """Whether two sources differ in nothing but line ends."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()


def exercise_of(cell: dict[str, Any]) -> str:
    """The exercise that a cell answers, or "": by its metadata, its id or its first line."""
    metadata = cell.get("metadata")
    told = metadata.get("exercise") if isinstance(metadata, dict) else None
    if isinstance(told, str) and ID.fullmatch(told):
        return told
    by_id = CELL_ID.fullmatch(cell["id"]) if isinstance(cell.get("id"), str) else None
    title = TITLE.match(source_of(cell))
    id = f"{by_id[1]}.{by_id[2]}" if by_id else title[1] if title else ""
    return id if ID.fullmatch(id) else ""


def places(cells: list[Any]) -> dict[str, list[int]]:
    """Exercise id -> the indices of its cells, that of the answer last.

    Of several cells the last one that is not blank is the answer, as it is for the kernel.
    """
    found: dict[str, list[int]] = {}
    for index, cell in enumerate(cells):
        is_code = isinstance(cell, dict) and cell.get("cell_type") == "code"
        if is_code and (id := exercise_of(cell)):
            found.setdefault(id, []).append(index)
    for indices in found.values():
        written = [index for index in indices if not is_blank(source_of(cells[index]))]
        answer = written[-1] if written else indices[0]
        indices.remove(answer)
        indices.append(answer)
    return found


def in_notebook(notebook: Any) -> Carried:
    """What is in a notebook of any format: its cells, and what the page put into its metadata."""
    cells = code_cells(notebook)
    metadata = notebook.get("metadata")
    extra = metadata.get("tfm") if isinstance(metadata, dict) else None
    found = _in_object(extra if isinstance(extra, dict) else {})
    several = []
    for id, indices in places(cells).items():
        sources = [source_of(cells[index]) for index in indices]
        if is_blank(sources[-1]):
            found.blank += [] if id in found.answers else [id]
            continue
        found.answers[id] = _sound(sources[-1])
        if any(not is_blank(s) and not is_same(s, sources[-1]) for s in sources):
            several.append(id)
    found.ignored += _named("Answered more than once, so the last answer was taken", several)
    return found


def in_log(text: str) -> Carried:
    """What is in a log of attempts."""
    lines = [line for line in text.split("\n") if line.strip()]
    return _with_attempts(Carried(), [_json(line) for line in lines])


def read(data: bytes, name: str) -> Carried:
    """What is in a file; ValueError with a sentence where it is none of those expected."""
    if len(data) > MOST_BYTES:
        what = f"is larger than {MOST_BYTES // 2**20} MB"
        raise ValueError(EXPECTED.format(name=name, what=what))
    text = data.decode("utf-8-sig", "replace")
    whole = _json(text)
    if isinstance(whole, dict) and whole.get("format") == FORMAT:
        return _in_file(whole, name)
    if isinstance(whole, dict) and any(
        isinstance(whole.get(key), list) for key in ("cells", "worksheets")
    ):
        return in_notebook(whole)
    log = in_log(text)
    if log.progress:
        return log
    what = "is not JSON, or not all of it" if whole is None else "is JSON of another kind"
    raise ValueError(EXPECTED.format(name=name, what=what if text.strip() else "is empty"))


def is_file_of_answers(data: bytes) -> bool:
    """Whether this is such a file, of whatever version."""
    whole = _json(data.decode("utf-8-sig", "replace"))
    return isinstance(whole, dict) and whole.get("format") == FORMAT


def _in_file(whole: dict[str, Any], name: str) -> Carried:
    version = whole.get("version")
    if version != VERSION or isinstance(version, bool):
        told = json.dumps(version)[:40]
        raise ValueError(
            f"Expected version {VERSION} of a file of answers, but {name} has version {told}: "
            "take the newest edition of the book."
        )
    return _in_object(whole)


def _in_object(found: dict[str, Any]) -> Carried:
    """Answers and progress from JSON that may hold anything."""
    carried = Carried()
    answers, attempts = found.get("answers", {}), found.get("progress", [])
    if not isinstance(answers, dict):
        carried.ignored.append("Its answers are not an object with an exercise for each.")
        answers = {}
    if not isinstance(attempts, list):
        carried.ignored.append("Its progress is not a list of attempts.")
        attempts = []
    numbered = {id: source for id, source in answers.items() if ID.fullmatch(id)}
    texts = {id: source for id, source in numbered.items() if isinstance(source, str)}
    others = [json.dumps(id[:40], ensure_ascii=False) for id in answers if id not in numbered]
    carried.ignored += _named("Not the number of an exercise", sorted(others))
    carried.ignored += _named("Not text", [id for id in numbered if id not in texts])
    carried.blank = [id for id, source in texts.items() if is_blank(source)]
    carried.answers = {id: _sound(s) for id, s in texts.items() if id not in carried.blank}
    return _with_attempts(carried, attempts)


def _with_attempts(carried: Carried, entries: list[Any]) -> Carried:
    attempts = [_attempt(entry) for entry in entries]
    damaged = [str(number) for number, one in enumerate(attempts, 1) if one is None]
    carried.progress = unite(one for one in attempts if one)
    carried.ignored += _named("Attempts that could not be read, by their position", damaged)
    return carried


def _attempt(entry: Any) -> Attempt | None:
    if not isinstance(entry, dict):
        return None
    id, event, time = (entry.get(key) for key in ("exercise", "event", "time"))
    mistake = entry.get("mistake", "")
    if not isinstance(id, str) or not ID.fullmatch(id):
        return None
    if not isinstance(event, str) or not 1 <= len(event) <= 40:
        return None
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < 2**53:
        return None
    if not isinstance(mistake, str) or len(mistake) > 200:
        return None
    return Attempt(id, _sound(event), math.floor(time), _sound(mistake))


def _json(text: str) -> Any:
    """The value, or None where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sound(text: str) -> str:
    """Half a character, which JSON can hold and a file cannot, becomes the sign for one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _named(what: str, things: list[str]) -> list[str]:
    """One sentence that names them, or none; a long list is cut short."""
    if not things:
        return []
    rest = len(things) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return [f"{what}: {', '.join(things[:MOST_NAMED])}{more}."]


# --- several places together ---------------------------------------------------------------------


def order(id: str) -> list[int]:
    """In the order of the book: 4.10 comes after 4.9."""
    return [int(part) for part in id.split(".")]


def unite(*logs: Iterable[Attempt]) -> list[Attempt]:
    """All attempts, each once, in the order of their times."""
    attempts = set(itertools.chain(*logs))
    return sorted(attempts, key=lambda a: (a.time, order(a.exercise), a.event, a.mistake))


def merge(first: Carried, second: Carried) -> Carried:
    """Both together; where they answer the same exercise, the first one's answer."""
    return Carried(
        second.answers | first.answers,
        unite(first.progress, second.progress),
        [*first.blank, *second.blank],
        [*first.ignored, *second.ignored],
    )


def only_known(carried: Carried, known: Collection[str]) -> Carried:
    """Without the exercises that this edition of the book does not have."""
    ids = {*carried.answers, *(attempt.exercise for attempt in carried.progress)}
    unknown = sorted((id for id in ids if id not in known), key=order)
    return Carried(
        {id: source for id, source in carried.answers.items() if id in known},
        [attempt for attempt in carried.progress if attempt.exercise in known],
        carried.blank,
        carried.ignored + _named("Exercises that this book does not have", unknown),
    )


def as_text(carried: Carried) -> str:
    """The file of answers."""
    answers = {id: carried.answers[id] for id in sorted(carried.answers, key=order)}
    attempts = [attempt.entry() for attempt in unite(carried.progress)]
    whole = {"format": FORMAT, "version": VERSION, "answers": answers, "progress": attempts}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


# --- into a notebook -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Filled:
    """A notebook with answers put in: which have a cell, are new, took another's place."""

    text: str
    found: list[str]
    new: list[str]
    replaced: list[str]


def fill(text: str, answers: Mapping[str, str]) -> Filled:
    """Put answers into their cells; their outputs go, and every other byte stays."""
    notebook = _json(text.removeprefix("\ufeff"))
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it is not a notebook of format 4")
    spans = json_text.items(text, json_text.members(text, text.index("{"))["cells"][0])
    filled = Filled(text, [], [], [])
    changes: dict[json_text.Span, str] = {}
    for id, indices in places(cells).items():
        cell, (start, _) = cells[indices[-1]], spans[indices[-1]]
        if id not in answers or "source" not in cell:
            continue
        filled.found.append(id)
        before = source_of(cell)
        if not is_same(before, answers[id]):
            (filled.new if is_blank(before) else filled.replaced).append(id)
            changes |= _changes(text, start, answers[id])
    return Filled(json_text.replace(text, changes), filled.found, filled.new, filled.replaced)


def _changes(text: str, start: int, answer: str) -> dict[json_text.Span, str]:
    inside = json_text.members(text, start)
    source, lines = inside["source"], answer.splitlines(keepends=True)
    changes = {source: json_text.written(lines, text, source[0], depth=3)}
    cleared = {"outputs": "[]", "execution_count": "null"}
    return changes | {inside[key]: value for key, value in cleared.items() if key in inside}


# --- files ---------------------------------------------------------------------------------------


def notebooks_in(folder: Path) -> list[Path]:
    """A folder's notebooks, those that bear a chapter's own name first; no copies of ours."""
    own = {f"{number:02}-{m[5:].replace('_', '-')}.ipynb" for number, m in modules().items()}
    paths = [path for path in sorted(folder.glob("*.ipynb")) if not COPY.search(path.stem)]
    return sorted(paths, key=lambda path: path.name not in own)


def log_of(folder: Path) -> Path | None:
    """Where a notebook in this folder logs its attempts: the folder is where its kernel runs."""
    place = progress.path()
    return None if place is None else folder / place


def in_folder(folder: Path) -> Carried:
    """All answers in a folder's notebooks, with its log of attempts."""
    found, several = Carried(), []
    for path in notebooks_in(folder):
        try:
            one = in_notebook(_notebook(path))
        except (OSError, ValueError) as error:
            found.ignored.append(_unreadable(path, error))
            continue
        several += [
            f"{id} in {path.name}"
            for id, source in one.answers.items()
            if id in found.answers and not is_same(source, found.answers[id])
        ]
        one.ignored = [f"{path.name}: {sentence}" for sentence in one.ignored]
        found = merge(found, one)
    found.ignored += _named("Another notebook's answer was taken instead of", several)
    log = log_of(folder)
    if log is not None and log.is_file():
        attempts = in_log(log.read_text(encoding="utf-8", errors="replace"))
        attempts.ignored = [f"{log.name}: {sentence}" for sentence in attempts.ignored]
        found = merge(found, attempts)
    return found


def put_answers(answers: Mapping[str, str], folder: Path) -> list[str]:
    """Put answers into the notebooks of a folder; return in sentences what was done and why not."""
    told, left = [], dict(answers)
    for path in notebooks_in(folder):
        try:
            before = path.read_bytes()
            filled = fill(before.decode(), left)
        except (OSError, ValueError) as error:
            told.append(_unreadable(path, error))
            continue
        for id in filled.found:
            del left[id]
        if filled.new or filled.replaced:
            told.append(_write(path, before, filled))
    return told + _named(f"No notebook in {folder} has a cell for", sorted(left, key=order))


def _write(path: Path, before: bytes, filled: Filled) -> str:
    told = f"{path.name}: " + "; ".join(
        f"{what} {', '.join(ids)}"
        for what, ids in (("new", filled.new), ("replaced", filled.replaced))
        if ids
    )
    if filled.replaced:
        told += f"; the notebook of before is kept as {keep_copy(path, before, 'load').name}"
    write_whole(path, filled.text.encode())
    return f"{told}."


def keep_copy(path: Path, content: bytes, event: str) -> Path:
    """Keep a file beside itself before something happens to it; no earlier copy is lost."""
    for number in itertools.count(1):
        ending = "" if number == 1 else f"-{number}"
        copy = path.with_name(f"{path.stem}.before-{event}{ending}{path.suffix}")
        if not copy.exists():
            write_whole(copy, content)
        if copy.read_bytes() == content:
            break
    return copy


def add_attempts(attempts: Iterable[Attempt], log: Path) -> int:
    """Add those attempts to a log that it does not have, and return how many.

    They go to its end in a single write, as `progress.record` does it: a notebook may be
    recording at this moment.
    """
    before = log.read_bytes() if log.exists() else b""
    known = set(in_log(before.decode("utf-8", "replace")).progress)
    new = [attempt for attempt in unite(attempts) if attempt not in known]
    lines = "".join(f"{json.dumps(attempt.entry())}\n" for attempt in new)
    if new:
        is_cut = bool(before) and not before.endswith(b"\n")  # by a full disk
        with open(log, "ab", buffering=0) as file:
            file.write(("\n" * is_cut + lines).encode())
    return len(new)


def _notebook(path: Path) -> dict[str, Any]:
    notebook = _json(path.read_text(encoding="utf-8-sig"))
    if not isinstance(notebook, dict):
        raise ValueError("it is not a notebook")
    return notebook


def _unreadable(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"{path.name} was left alone: {error.strerror}."
    reason = "it is not in UTF-8" if isinstance(error, UnicodeError) else error
    return f"{path.name} was left alone: {reason}."
