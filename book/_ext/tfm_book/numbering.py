"""Numbers that come from names: chapter 04 is number 4, exercise `ex-4-3` is Exercise 4.3.

Sphinx counts the chapters it finds, so the first one would be number 1 whatever its name. Here the
file name decides; equations (4.1) and exercises follow from it, also while chapters are missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx_exercise.directive import ExerciseDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

CHAPTER = re.compile(r"notebooks/(\d\d)-")
EXERCISE = re.compile(r"ex-(\d+)-(\d+)")


def chapter_number(docname: str) -> int | None:
    """The number in a chapter's file name, None for any other page.

    >>> chapter_number("notebooks/04-queries-keys-values")
    4
    """
    match = CHAPTER.match(docname)
    return int(match[1]) if match else None


def exercise_number(label: str) -> tuple[int, int] | None:
    """The number in an exercise's label, None for a label of another form.

    >>> exercise_number("ex-4-3")
    (4, 3)
    """
    match = EXERCISE.fullmatch(label)
    return (int(match[1]), int(match[2])) if match else None


def number_sections_by_file(env: BuildEnvironment) -> None:
    """Replace the first component of every section number of a chapter by the file's number."""
    for docname, by_anchor in env.toc_secnumbers.items():
        chapter = chapter_number(docname)
        if chapter is None:
            continue
        for anchor, number in by_anchor.items():
            if number:
                by_anchor[anchor] = (chapter, *number[1:])
        for node in (env.titles[docname], *env.tocs[docname].findall(nodes.reference)):
            if node.get("secnumber"):
                node["secnumber"] = [chapter, *node["secnumber"][1:]]


def number_exercises_by_label(env: BuildEnvironment) -> None:
    """Give each exercise the number that its label and its check carry."""
    for by_type in env.toc_fignumbers.values():
        exercises = by_type.get("exercise", {})
        for label in exercises:
            exercises[label] = exercise_number(label) or exercises[label]


def setup(app: Sphinx) -> None:
    count_figures = TocTreeCollector.assign_figure_numbers

    def assign_figure_numbers(collector: TocTreeCollector, env: BuildEnvironment) -> list[str]:
        # Runs right after the sections are counted, by whichever extension has the last word there.
        number_sections_by_file(env)
        changed = count_figures(collector, env)
        number_exercises_by_label(env)
        return changed

    TocTreeCollector.assign_figure_numbers = assign_figure_numbers
    # JupyterLab numbers an exercise by this option; here the label says the same.
    ExerciseDirective.option_spec["enumerator"] = directives.unchanged
