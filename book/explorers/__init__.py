"""Explorers: pictures in the HTML book that the reader can move.

A kind of explorer is three files: `kind.py` gives its data, computed by tfmlib; `kind.js` computes
and draws in the browser; `kind.css` dresses it. `explorer.js` and `explorer.css` hold what all
kinds share: controls, the address that carries the settings, the keyboard. `ref.js` has the
equations of `tfmlib.ref` that they need.

A code cell of the manuscript with the tag `explorer-KIND-PRESET` shows a figure; where scripts run,
the explorer takes its place and begins at that preset. On paper and without scripts the figure
stays.
"""

import json
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


def as_json(kind: str) -> str:
    """The data as they stand in a page."""
    text = json.dumps(data(kind), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/")  # nothing in it may end the page's script element
