"""The landing page: what the book is, three ways in, its chapters, and what was checked."""

from collections import Counter

from book.pages.chapters import CHAPTERS, chapter_line, chapter_link, chapter_title, notebook
from tfmlib import ledger
from tfmlib.checking.catalogue import all_exercises
from tfmlib.ledger.paper import PRINTED_MILLIONS, total

PICTURE = "attention-whole"
PAGE = """\
# The Verified Transformer

::::{{div}} tfm-lead
The transformer, taken apart and put together again. Every number in this book is computed, every
exercise is checked, every check has been tried against wrong answers, and every page runs Python:
read it, change it and solve it where you are.
::::

::::{{div}} tfm-ways
[**Read** Begin with chapter 0]({first})

[**Do** Solve {exercises} exercises in the page](exercises.md)

[**Teach** Grade a class, adapt a chapter](../written/instructors.md)
::::

:::{{book-figure}} {picture}
:::

## Nothing is taken on trust

The paper that introduced the transformer says in its Table 3 that the base model has {printed}
million parameters. Count them as the paper describes the model, and you get {counted:.1f} million.
[Chapter 7]({encoder}) finds out where the difference comes from.

This book grew out of four lecture documents, and it checks them in the same way: {entries} numbers
and claims so far. Of these {good} hold, {errata} do not or only in part, and {other} are inputs,
examples or quotations. [The ledger](ledger.md) lists them all, with what was printed and what comes
out. The exercises are held to the same standard: {mistakes} plausible mistakes are known by name,
and each is refused with a sentence that says what went wrong.

## The chapters

{chapters}

## What you need to know

- **Python**: functions, lists and loops; NumPy arrays and their axes; from chapter 5 on a little
  PyTorch, which is explained where it appears.
- **Mathematics**: how to multiply matrices, what a derivative says, and that probabilities add up
  to 1. Where more is needed, the section or the exercise is marked, and you can pass over it.

You need no account, no accelerator and no installation: Python runs in the pages themselves, even
if you open them from disk without a network. [About this book](../written/preface.md) says more,
and [the notation](../written/notation.md) explains every symbol.
"""


def welcome_page() -> str:
    """The page that a reader sees first."""
    exercises = all_exercises()
    verdicts = Counter(entry.verdict for entry in ledger.entries().values())
    good, errata = verdicts["reproduced"] + verdicts["property"], verdicts["erratum"]
    stems = [path.stem for path in sorted(CHAPTERS.glob("*.md"))]
    return PAGE.format(
        first=notebook(stems[0]),
        exercises=len(exercises),
        picture=PICTURE,
        printed=PRINTED_MILLIONS["base"],
        counted=total("base") / 1e6,
        encoder=notebook("07-the-encoder"),
        entries=verdicts.total(),
        good=good,
        errata=errata,
        other=verdicts.total() - good - errata,
        mistakes=sum(len(exercise.mistakes) for exercise in exercises),
        chapters="\n".join(_row(stem) for stem in stems),
    )


def _row(stem: str) -> str:
    path = CHAPTERS / f"{stem}.md"
    line = chapter_line(path)
    return f"- {chapter_link(stem, chapter_title(path))}" + (f": {line}" if line else "")
