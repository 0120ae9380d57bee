"""Multiple-choice questions whose right choice is computed.

Each choice says, as a Python expression, under which condition it is right; the question is
well put when exactly one condition holds. Nobody types in which one, or in which order they come.
"""

import hashlib
import math
import re
import string
from dataclasses import dataclass

import numpy as np
import yaml

from book.manuscript import Block, ManuscriptError

ON_THE_OTHERS = re.compile(r"^(Both|Neither|All|None)\.?$|\b(of the above|of these)\b")


@dataclass(frozen=True)
class Choice:
    text: str
    why: str
    right: bool


@dataclass(frozen=True)
class Quiz:
    question: str
    choices: tuple[Choice, ...]


def read_quiz(path, block: Block) -> Quiz:
    """Read a {quiz} block and compute which choice is right."""

    def refuse(sentence: str) -> ManuscriptError:
        return ManuscriptError(path, block.line, f"quiz: {sentence}")

    try:
        data = yaml.safe_load(block.source)
        question, choices = data["question"], data["choices"]
        fields = [(c["text"], c["why"], c["holds"]) for c in choices]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise refuse(
            f"expected `question` and `choices`, each with text, why and holds ({error})."
        ) from error
    names = _names(data.get("setup", ""))
    read = []
    for text, why, condition in fields:
        try:
            right = eval(str(condition), names)
        except Exception as error:
            raise refuse(f"the condition {condition!r} raised {error!r}.") from error
        if not isinstance(right, bool | np.bool_):
            raise refuse(f"the condition {condition!r} gives {right!r}, not True or False.")
        read.append(Choice(str(text), str(why), bool(right)))
    if sum(choice.right for choice in read) != 1:
        raise refuse(f"exactly one choice must be right, {sum(c.right for c in read)} are.")
    if len(read) < 3:
        raise refuse(f"expected at least 3 choices, got {len(read)}.")
    return Quiz(str(question).strip(), tuple(shuffled(str(question).strip(), read)))


def shuffled(question: str, choices: list[Choice]) -> list[Choice]:
    """The choices in an order that nobody chose, the same each time; those on the others last.

    A writer's right choices are mostly in the middle. An edit of one choice moves it alone.
    """

    def place(choice: Choice) -> tuple[bool, str]:
        digest = hashlib.sha256(f"{question}\n{choice.text}".encode()).hexdigest()
        return bool(ON_THE_OTHERS.search(choice.text)), digest

    return sorted(choices, key=place)


def _names(setup: str) -> dict:
    from tfmlib import ref

    names = {"np": np, "math": math, "ref": ref}
    exec(setup, names)
    return names


def markdown(quiz: Quiz, label: str) -> str:
    """The question with each choice behind a click: no script, no kernel, keyboard works."""
    parts = [f"**Question {label}.** {quiz.question}"]
    for letter, choice in zip(string.ascii_uppercase, quiz.choices, strict=False):
        verdict = "✓ **Right.**" if choice.right else "✗ **No.**"
        parts.append(f":::{{dropdown}} {letter}. {choice.text}\n{verdict} {choice.why}\n:::")
    return "\n\n".join(parts)
