"""Finding the notebooks of a class, and reading each without trusting its name or its content."""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from tfmlib.support.notebooks import code_cells, source_of

MOST_BYTES = 50 * 2**20
MOST_NOTEBOOKS = 40  # of one student
MOST_CELLS = 2_000
NOT_STUDENTS = (".ipynb_checkpoints", "__MACOSX", ".DS_Store", ".git")
CANVAS = re.compile(r"^(?P<name>[^\W_]+)(_LATE)?_(?P<id>\d+)_\d+_.+$", re.IGNORECASE)
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_\w+$")
READ = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # as far as the system has them
    READ |= getattr(os, _flag, 0)
MENTION = re.compile(r"""check\(\s*\\?["'](\d+)\.\d+""")


@dataclass
class Submission:
    """One student's notebooks, and what was found wrong with them before any was run."""

    student: str
    notebooks: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    id: str = ""  # the student's number, where a Moodle or Canvas download tells it
    slug: str = ""  # a safe file name, unique in the class


def find(folder: Path) -> list[Submission]:
    """The submissions in a folder: a notebook or a folder for each student."""
    if not folder.is_dir():
        raise SystemExit(f"Expected a folder of notebooks, got {folder}, which is no folder.")
    found = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.name in NOT_STUDENTS or entry.name.startswith("._"):
            continue
        if entry.is_symlink():
            note = "This is a symbolic link: links are not followed, hand in the file itself."
            found.append(_named(path.stem, notes=[note]))
        elif entry.is_dir():
            notebooks, notes = _in_folder(path)
            found.append(_named(path.name, notebooks, notes))
        elif path.suffix.lower() == ".ipynb":
            found.append(_named(path.stem, [path]))
    _give_slugs(found)
    return found


def _named(
    name: str, notebooks: list[Path] | None = None, notes: list[str] | None = None
) -> Submission:
    name = name.encode("utf-8", "replace").decode()
    known = MOODLE.match(name) or CANVAS.match(name)
    student, id = (known["name"], known["id"]) if known else (name, "")
    student = " ".join("".join(c if c.isprintable() else " " for c in student).split())
    return Submission(student or "(no name)", notebooks or [], notes or [], id)


def _in_folder(folder: Path) -> tuple[list[Path], list[str]]:
    notebooks, notes = [], []
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if f not in NOT_STUDENTS)
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix.lower() != ".ipynb":
                continue
            if path.is_symlink():
                notes.append(f"{name} is a symbolic link and was not followed.")
            else:
                notebooks.append(path)
    if len(notebooks) > MOST_NOTEBOOKS:
        notes.append(f"Only the first {MOST_NOTEBOOKS} of {len(notebooks)} notebooks were graded.")
    if not notebooks and not notes:
        notes.append("No notebook was found.")
    return notebooks[:MOST_NOTEBOOKS], notes


def _give_slugs(submissions: list[Submission]) -> None:
    taken = set()
    for submission in submissions:
        name = f"{submission.student}_{submission.id}" if submission.id else submission.student
        slug = re.sub(r"[^\w.-]+", "_", name).strip("._-")[:60] or "student"
        unique, number = slug, 2
        while unique.lower() in taken:
            unique, number = f"{slug}_{number}", number + 1
        taken.add(unique.lower())
        submission.slug = unique


def content(path: Path) -> bytes:
    """A notebook's bytes; ValueError with a sentence when it is no ordinary file of fair size."""
    try:
        # Not through a link that took the file's place, nor from a pipe that never ends.
        descriptor = os.open(path, READ)
    except OSError as error:
        raise ValueError(f"{path.name} could not be read: {error.strerror}.") from error
    with open(descriptor, "rb") as file:
        if not path.is_file():
            raise ValueError(f"{path.name} is not an ordinary file.")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path.name} is larger than {MOST_BYTES // 2**20} MB.")
    return data


def cells(data: bytes, name: str) -> list[str]:
    """The code of a notebook of any format, cell by cell, or a ValueError with a sentence."""
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not a notebook: its content is not JSON.") from error
    found = [text for cell in code_cells(notebook) if (text := source_of(cell)).strip()]
    if not found:
        raise ValueError(f"{name} is not a notebook, or has no code cell.")
    return found[:MOST_CELLS]


def mentioned_chapters(data: bytes, name: str) -> set[int]:
    """The chapters whose exercises a notebook checks, or that its name begins with."""
    text = data.decode("utf-8", "replace")
    numbers = {int(n) for n in MENTION.findall(text) if len(n) < 4}
    if not numbers and (begins := re.match(r"^(\d\d)-", name)):
        numbers = {int(begins[1])}
    return numbers


def digest(*parts: bytes | str) -> str:
    """A short name for these contents together.

    >>> digest("a", b"b") == digest("ab")
    False
    """
    whole = hashlib.sha256()
    for part in parts:
        part = part.encode("utf-8", "replace") if isinstance(part, str) else part
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:24]
