"""The page "All exercises", made from what library and manuscript know of them."""

from book.manuscript import LEVELS, read_all
from book.pages.chapters import CHAPTERS, chapter_link, chapter_title, notebook
from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.exercise import Exercise

INTRODUCTION = """\
# All exercises

{count} exercises in {chapters} chapters. Each has a check that accepts the solution and refuses its
known mistakes and automatic mutants; `make verify` proves it.

An exercise's difficulty is

{meanings}
"""


def exercises_page() -> str:
    """One list a chapter, each exercise a link."""
    exercises = all_exercises()
    chapters = {path: _of(path.stem, exercises) for path in sorted(CHAPTERS.glob("*.md"))}
    levels = {e.id: e.level for chapter in read_all(CHAPTERS) for e in chapter.exercises}
    meanings = "\n".join(f"- {level} if it {meaning};" for level, meaning in LEVELS.items())
    counts = {"count": len(exercises), "chapters": len(chapters)}
    parts = [INTRODUCTION.format(**counts, meanings=f"{meanings.removesuffix(';')}.")]
    for path, own in chapters.items():
        parts.append(f"(exercises-of-{int(path.stem[:2])})=")  # where a chapter's exercises lead
        parts.append(f"## {chapter_link(path.stem, chapter_title(path))}\n")
        parts += [_row(exercise, levels[exercise.id], path.stem) for exercise in own]
        parts.append("")
    return "\n".join(parts)


def _of(stem: str, exercises: list[Exercise]) -> list[Exercise]:
    return [exercise for exercise in exercises if exercise.chapter == int(stem[:2])]


def _row(exercise: Exercise, level: int, stem: str) -> str:
    place = f"{notebook(stem)}#cell-id=ex-{exercise.id.replace('.', '-')}"
    known = f"{len(exercise.mistakes)} known mistakes"
    told = f"`{exercise.signature}`, difficulty {level} of {len(LEVELS)}, {known}"
    return f"- [{exercise.id} {exercise.title}]({place}): {told}"
