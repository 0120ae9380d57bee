"""The manuscript: what it compiles to, and how it says what is wrong with it."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from book_text import FRONT

from book import compiler
from book.manuscript import ManuscriptError, blank, read, read_all, solved
from tfmlib import ref
from tfmlib.checking.catalogue import all_exercises

EXERCISE = """
```{exercise} Double
:label: ex-4-1
:level: 2

Return twice `x`.
```

```{code-cell} ipython3
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

```{code-cell} ipython3
check("4.1", double)
```

```{solution} ex-4-1
Add it to itself.
```
"""
SETUP = """
# A title

Some prose about doubling.

```{code-cell} ipython3
:tags: [setup]

check = lambda id, answer: print("checked", id)
```
"""
GOOD = FRONT + SETUP + EXERCISE + "\n```{code-cell} ipython3\nprint(6 * 7)\n```\n\nThe end.\n"


# --- what is wrong ------------------------------------------------------------------------------

BROKEN = {
    "an unclosed solution": (
        GOOD.replace("    ### END SOLUTION\n", ""),
        "### BEGIN SOLUTION",
        "never closed",
    ),
    "an end without a beginning": (
        GOOD.replace("    ### BEGIN SOLUTION\n", ""),
        "### END SOLUTION",
        "without ### BEGIN SOLUTION",
    ),
    "a solution in a solution": (
        GOOD.replace("    return 2 * x\n", "    ### BEGIN SOLUTION\n    return 2 * x\n"),
        None,
        "inside another",
    ),
    "a duplicate id": (GOOD + EXERCISE, None, "exercise 4.1 stands twice"),
    "an exercise without a check": (
        GOOD.replace('check("4.1", double)', "double(1)"),
        "{exercise} Double",
        "has no check",
    ),
    "an exercise without a solution": (
        GOOD.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", ""),
        "{exercise} Double",
        "has no solution",
    ),
    "an exercise without a discussion": (
        GOOD.replace("```{solution} ex-4-1\nAdd it to itself.\n```\n", ""),
        "{exercise} Double",
        "has no discussion",
    ),
    "a check without an exercise": (
        FRONT + SETUP + '\n```{code-cell} ipython3\ncheck("4.1", len)\n```\n',
        'check("4.1", len)',
        "without its exercise",
    ),
    "a check of another exercise": (
        GOOD.replace('check("4.1"', 'check("4.2"'),
        'check("4.2"',
        "without its exercise",
    ),
    "an id of another chapter": (
        GOOD.replace("ex-4-1", "ex-5-1").replace('"4.1"', '"5.1"'),
        "{exercise} Double",
        "is not one of chapter 4",
    ),
    "an id out of order": (
        GOOD.replace("ex-4-1", "ex-4-2").replace('"4.1"', '"4.2"'),
        "{exercise} Double",
        "expected exercise number 1",
    ),
    "an exercise without a label": (
        GOOD.replace(":label: ex-4-1\n", ""),
        "{exercise} Double",
        "expected a line ':label:",
    ),
    "an exercise without a level": (
        GOOD.replace(":level: 2\n", ""),
        "{exercise} Double",
        "expected a line ':level: 1', 2 or 3",
    ),
    "a level that there is not": (
        GOOD.replace(":level: 2", ":level: 4"),
        ":level: 4",
        "expected level 1, 2 or 3, got '4'",
    ),
    "a level that is no number": (
        GOOD.replace(":level: 2", ":level: hard"),
        ":level: hard",
        "expected level 1, 2 or 3, got 'hard'",
    ),
    "an empty level": (
        GOOD.replace(":level: 2", ":level:"),
        ":level:",
        "expected level 1, 2 or 3, got ''",
    ),
    "an unclosed block": (GOOD + "\n```{quiz}\nquestion: x\n", "{quiz}", "never closed"),
    "a stray discussion": (
        GOOD.replace("{solution} ex-4-1", "{solution} ex-4-7"),
        "{solution}",
        "does not follow its exercise",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_bad_manuscript_is_refused_with_file_and_line(project, fault):
    text, place, sentence = BROKEN[fault]
    path = project(text)
    with pytest.raises(ManuscriptError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(str(path)), message
    assert sentence in message
    if place:
        line = next(n for n, t in enumerate(text.splitlines(), 1) if place in t)
        assert f":{line}: " in message, f"expected line {line}: {message}"


def test_two_chapters_with_one_number_are_refused(project):
    folder = project(GOOD).parent
    project(GOOD, "04-other.md")
    with pytest.raises(ManuscriptError, match="has the number 04 already"):
        read_all(folder)


def test_a_bad_manuscript_ends_the_command_with_one_sentence(project, capsys):
    path = project(BROKEN["an unclosed solution"][0])
    assert compiler.main([]) == 1
    assert str(path) in capsys.readouterr().err


def test_an_unknown_chapter_is_named(project, capsys):
    project(GOOD)
    assert compiler.main(["--only", "77"]) == 2
    assert "no chapter '77'" in capsys.readouterr().err


# --- blanks and solutions -----------------------------------------------------------------------


def test_blank_keeps_everything_but_the_solution():
    region = "    ### BEGIN SOLUTION\n    y = x\n    return y\n    ### END SOLUTION"
    source = f"a = 1\ndef f(x):\n{region}\nb = 2"
    assert blank(source).splitlines() == [
        "a = 1",
        "def f(x):",
        "    # Your code here.",
        "    raise NotImplementedError",
        "b = 2",
    ]
    assert "y = x" in solved(source)
    assert "###" not in solved(source) + blank(source)


def test_a_blank_says_which_function_must_not_be_called():
    source = "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"
    assert "# Your code here, without a call of ref.f or ref.g." in blank(
        source, ["ref.f", "ref.g"]
    )


def test_every_rule_of_an_exercise_is_told_in_its_blank():
    told = {}
    for chapter in read_all(compiler.CHAPTERS):
        notebook = compiler.learner_notebook(chapter)
        told |= {
            c.metadata["exercise"]: c.source for c in notebook.cells if "exercise" in c.metadata
        }
    for exercise in all_exercises():
        rules = [rule.split(":")[0] for rule in exercise.forbidden]
        names = [name for name in rules if name in dir(ref) and not name.startswith("_")]
        assert all(f"ref.{name}" in told[exercise.id] for name in names), exercise.id


def test_a_blank_raises_not_implemented(project):
    chapter = read(project(GOOD))
    names = {}
    exec(blank(chapter.exercises[0].answer.source), names)
    with pytest.raises(NotImplementedError):
        names["double"](1)


def test_the_learners_notebook_holds_no_solution(project):
    text = json.dumps(compiler.learner_notebook(read(project(GOOD))))
    assert "return 2 * x" not in text
    assert "Add it to itself" not in text
    assert "Return twice" in text


def test_the_solutions_notebook_holds_only_the_exercises(project):
    text = json.dumps(compiler.solutions_notebook(read(project(GOOD))))
    for part in ("return 2 * x", "Add it to itself", "Return twice", "checked"):
        assert part in text
    assert "The end." not in text
    assert "6 * 7" not in text


def test_a_statement_begins_with_its_difficulty_in_words(project):
    chapter = read(project(GOOD))
    for notebook in (compiler.learner_notebook(chapter), compiler.solutions_notebook(chapter)):
        [statement] = [cell.source for cell in notebook.cells if "Return twice" in cell.source]
        assert "\n\nDifficulty: 2 of 3\n\nReturn twice `x`." in statement
        assert ":level:" not in statement


def test_the_way_back_is_a_cell_of_its_own_that_the_page_leaves_out(project):
    title, way_back, prose, *_ = compiler.learner_notebook(read(project(GOOD))).cells
    assert title.source == "# A title"
    assert "_build/html/notebooks/04-doubling.html" in way_back.source
    assert way_back.metadata.tags == ["remove-cell"]
    assert prose.source == "Some prose about doubling."
    assert "tags" not in title.metadata
    assert "tags" not in prose.metadata


# --- compiling ----------------------------------------------------------------------------------


def compiled(project_path: Path) -> dict[str, bytes]:
    root = project_path.parent.parent
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*.ipynb"))}


def test_compiling_twice_changes_nothing_and_one_word_changes_one_cell(project):
    path = project(GOOD)
    assert compiler.main([]) == 0
    first = compiled(path)
    assert len(first) == 2
    assert compiler.main(["--force"]) == 0
    assert compiled(path) == first

    path.write_text(GOOD.replace("Some prose", "A word of prose"), encoding="utf-8")
    assert compiler.main([]) == 0
    second = compiled(path)
    changed = [name for name in first if first[name] != second[name]]
    assert changed == ["notebooks/04-doubling.ipynb"]
    before, after = (nbformat.reads(side[changed[0]].decode(), 4) for side in (first, second))
    differing = [a for a, b in zip(before.cells, after.cells, strict=True) if a != b]
    assert len(differing) == 1
    assert "Some prose" in differing[0].source


def test_compiled_notebooks_have_outputs_and_counts(project):
    path = project(GOOD)
    compiler.main([])
    notebook = nbformat.read(path.parent.parent / "notebooks/04-doubling.ipynb", 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    assert code[-1].outputs[0].text == "42\n"


def test_a_failing_cell_names_itself_and_leaves_the_notebook_untouched(project, capsys):
    path = project(GOOD)
    compiler.main([])
    before = compiled(path)
    path.write_text(GOOD.replace("print(6 * 7)", "x = 1\nprint(1 / 0)"), encoding="utf-8")
    assert compiler.main([]) == 1
    message = capsys.readouterr().err
    assert "notebooks/04-doubling.ipynb, cell 8" in message
    assert "ZeroDivisionError" in message
    assert "print(1 / 0)" in message
    assert compiled(path) == before


def test_an_unchanged_chapter_is_not_compiled_again(project, capsys, monkeypatch):
    project(GOOD)
    compiler.main([])
    capsys.readouterr()
    monkeypatch.setattr(compiler, "run", lambda *_: pytest.fail("ran an unchanged notebook"))
    assert compiler.main([]) == 0
    assert "up to date" in capsys.readouterr().out


# --- quizzes ------------------------------------------------------------------------------------

QUIZ = """
```{quiz}
question: "What is 2 + 2?"
choices:
  - {text: "3", holds: "2 + 2 == 3", why: "One too few."}
  - {text: "4", holds: "2 + 2 == 4", why: "Count."}
  - {text: "5", holds: "2 + 2 == 5", why: "One too many."}
```
"""


def test_the_right_choice_of_a_quiz_is_computed(project):
    cells = compiler.learner_notebook(read(project(GOOD + QUIZ))).cells
    text = cells[-1].source
    assert "4\n✓ **Right.** Count." in text
    assert text.count("✗ **No.**") == 2


def test_the_choices_of_a_quiz_are_shuffled_with_their_explanations(project):
    orders = set()
    for n in range(20):
        quiz = QUIZ.replace("What is 2 + 2?", f"{n}: what is 2 + 2?")
        text = compiler.learner_notebook(read(project(GOOD + quiz))).cells[-1].source
        assert text == compiler.learner_notebook(read(project(GOOD + quiz))).cells[-1].source
        letters = re.findall(r"^:::\{dropdown\} ([A-Z])\. (\d)$", text, re.MULTILINE)
        assert [letter for letter, _ in letters] == ["A", "B", "C"]
        orders.add("".join(choice for _, choice in letters))
        for choice, why in (("3", "One too few."), ("4", "Count."), ("5", "One too many.")):
            assert re.search(rf"\. {choice}\n. \*\*\w+\.\*\* {why}\n:::", text)
    assert len(orders) == 6


@pytest.mark.parametrize("choice", ["None of these", "Neither.", "All of the above."])
def test_a_choice_about_the_others_comes_last(project, choice):
    for n in range(20):
        quiz = QUIZ.replace("What is 2 + 2?", f"{n}: what is 2 + 2?")
        quiz = quiz.replace('text: "3"', f'text: "{choice}"')
        text = compiler.learner_notebook(read(project(GOOD + quiz))).cells[-1].source
        assert f"C. {choice}\n" in text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("2 + 2 == 4", "2 + 2 == 6"), "exactly one choice must be right, 0 are"),
        (("2 + 2 == 5", "2 + 2 == 4"), "exactly one choice must be right, 2 are"),
        (("2 + 2 == 5", "2 + 3"), "not True or False"),
        (("2 + 2 == 5", "unknown"), "raised"),
        (("question:", "quest:"), "expected `question` and `choices`"),
    ],
)
def test_a_badly_put_quiz_is_refused(project, change, sentence):
    with pytest.raises(ManuscriptError, match=r"04-doubling\.md") as error:
        compiler.learner_notebook(read(project(GOOD + QUIZ.replace(*change))))
    assert sentence in str(error.value)


def test_an_unknown_ledger_id_is_refused(project):
    chapter = read(project(GOOD + "\nA number {ledger}`notes.nothing` here.\n"))
    with pytest.raises(ManuscriptError, match=r"04-doubling\.md.*notes\.nothing"):
        compiler.learner_notebook(chapter)
