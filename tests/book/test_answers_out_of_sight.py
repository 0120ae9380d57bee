"""No cell near an exercise gives its answer away."""

import doctest
from pathlib import Path

import pytest

from book import sight
from book.manuscript import read, read_all
from book.sight import sightings

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = read_all(ROOT / "book/chapters")
FRONT = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A title

## A section
"""
EXERCISE = """
```{exercise} Attention weights
:label: ex-4-1
:level: 1

Write `weights(q, k)`.
```

```{code-cell} ipython3
def weights(q, k):
    \"\"\"q (T, K), k (S, K) -> (T, S)\"\"\"
    ### BEGIN SOLUTION
    scores = q @ k.T / np.sqrt(q.shape[-1])
    return ref.softmax(scores)
    ### END SOLUTION
```

```{code-cell} ipython3
check("4.1", weights)
```

```{solution} ex-4-1
As the equation says.
```
"""
COPIES = {
    "verbatim": "scores = q @ k.T / np.sqrt(q.shape[-1])\nprint(ref.softmax(scores))",
    "under other names": "def f(a, b):\n    'Mix.'\n    c = b.T\n    d = a @ c\n"
    "    return ref.softmax(d / np.sqrt(b.shape[1]))",
    "inside a longer line": "print('S', (ref.softmax(X @ Y.T / np.sqrt(X.shape[1])) @ V).round(2))",
    "row by row": "S = [ref.softmax(q @ K.T / np.sqrt(q.shape[0])) for q in Q]",
}
HARMLESS = {
    "a call of the library": "S = ref.attention_weights(Q, K)\nprint(S @ V)",
    "one step of it": "print(ref.softmax(Q @ K.T).round(2))",
    "other code": "x = np.arange(6).reshape(2, 3)\nprint(np.sqrt((x**2).sum()) / x.shape[0])",
}


def chapter(tmp_path, text):
    path = tmp_path / "04-made-up.md"
    path.write_text(FRONT + text, encoding="utf-8")
    return read(path)


def cell(source):
    return f"\n```{{code-cell}} ipython3\n{source}\n```\n"


def test_the_examples_of_the_module_hold():
    result = doctest.testmod(sight)
    assert result.attempted >= 2
    assert result.failed == 0


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_before_or_behind_the_exercise_is_found(tmp_path, copy):
    for text in (cell(COPIES[copy]) + EXERCISE, EXERCISE + "\nSo:\n" + cell(COPIES[copy])):
        (found,) = sightings(chapter(tmp_path, text))
        assert found.exercise == "4.1"
        first = COPIES[copy].splitlines()[0]
        assert (FRONT + text).splitlines()[found.line - 1] == first


@pytest.mark.parametrize("code", HARMLESS)
def test_what_does_not_give_the_answer_away_may_stand_anywhere(tmp_path, code):
    both = cell(HARMLESS[code]) + EXERCISE + cell(HARMLESS[code])
    assert sightings(chapter(tmp_path, both)) == []


def test_a_later_section_may_use_what_an_exercise_was_about(tmp_path):
    later = EXERCISE + "\n## The next section\n" + cell(COPIES["verbatim"])
    assert sightings(chapter(tmp_path, later)) == []


def test_a_solution_of_another_exercise_is_blank_and_shows_nothing(tmp_path):
    second = EXERCISE.replace("ex-4-1", "ex-4-2").replace('"4.1"', '"4.2"')
    assert sightings(chapter(tmp_path, EXERCISE + second)) == []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_answers_are_out_of_sight(chapter):
    seen = [
        f"exercise {s.exercise}: the cell at {chapter.path.name}:{s.line} "
        f"takes {s.share:.0%} of the solution's steps"
        for s in sightings(chapter)
    ]
    assert not seen, "\n".join(seen)
