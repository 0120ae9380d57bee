"""Explorers: pictures in the HTML book that the reader can move.

A kind of explorer is three files: `kind.py` gives its data, computed by tfmlib; `kind.js` computes
and draws in the browser; `kind.css` dresses it. `explorer.js` and `explorer.css` hold what all
kinds share: controls, the address that carries the settings, the keyboard. `ref.js` has the
equations of `tfmlib.ref` that they need.

A code cell of the manuscript with the tag `explorer-KIND-PRESET` shows a figure; where scripts run,
the explorer takes its place and begins at that preset. On paper and without scripts the figure
stays.

An example may ask a `question` before it shows anything; which choice is right is computed here.
"""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def kinds() -> list[str]:
    """The kinds of explorers there are.

    >>> "attention" in kinds()
    True
    """
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def data(kind: str) -> dict:
    """What an explorer of this kind has to know: `presets` by name, and what it needs besides."""
    return import_module(f"{__name__}.{kind}").data()


def question(ask: str, choices: list[str], right: str, reason: str, **shows) -> dict:
    """What an example asks first. The settings in `shows` are those that show the answer.

    >>> question("6 × 7?", ["41", "42"], str(6 * 7), "Seven sixes.")["right"]
    1
    """
    if not 2 <= len(choices) <= 4 or len(set(choices)) < len(choices) or right not in choices:
        raise ValueError(f"Expected 2 to 4 choices with {right!r} among them, got {choices}.")
    return {
        "ask": ask,
        "choices": choices,
        "right": choices.index(right),
        "reason": reason,
        "shows": shows,
    }


def uniforms(seed: int) -> Iterator[float]:
    """Numbers between 0 and 1, without end: those that explorer.js draws for the same seed.

    >>> round(next(uniforms(1)), 6)
    0.478003
    """
    factor, modulus = 48271, 2**31 - 1  # the “minimal standard” generator: exact in a browser, too
    state = seed * 1_000_003 % modulus
    while True:
        state = factor * state % modulus
        yield state / modulus


def as_json(kind: str) -> str:
    """The data as they stand in a page."""
    text = json.dumps(data(kind), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/")  # nothing in it may end the page's script element
