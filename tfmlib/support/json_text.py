"""Changing values in a JSON text, and nothing else: every other byte stays as it is."""

import json
import re
from typing import Any

Span = tuple[int, int]  # from, to

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def members(text: str, start: int) -> dict[str, Span]:
    """Where the values of the object at `start` are.

    >>> members('{"a": 1, "b": [2]}', 0)
    {'a': (6, 7), 'b': (14, 17)}
    """
    found = {}
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # over the colon
        end = _DECODER.raw_decode(text, at)[1]
        found[key] = (at, end)
        at = _next(text, end)
    return found


def items(text: str, start: int) -> list[Span]:
    """Where the items of the list at `start` are.

    >>> items('[1, "two"]', 0)
    [(1, 2), (4, 9)]
    """
    found = []
    at = _skip(text, start + 1)
    while text[at] != "]":
        end = _DECODER.raw_decode(text, at)[1]
        found.append((at, end))
        at = _next(text, end)
    return found


def replace(text: str, changes: dict[Span, str]) -> str:
    """The text with other JSON in these places.

    >>> replace('{"a": 1, "b": [2]}', {(6, 7): "null", (14, 17): "[]"})
    '{"a": null, "b": []}'
    """
    for (start, end), value in sorted(changes.items(), reverse=True):
        text = text[:start] + value + text[end:]
    return text


def written(value: Any, text: str, at: int, depth: int) -> str:
    """A value as JSON, indented as the text around it, `depth` levels deep, is.

    >>> written(["x"], '{\\n  "a": []\\n}', 9, 1)
    '[\\n    "x"\\n  ]'
    >>> written(["x"], '{"a": []}', 6, 1)
    '["x"]'
    """
    line = text[text.rfind("\n", 0, at) + 1 : at]
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    step = margin[: len(margin) // depth]
    if not step:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{margin}")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _next(text: str, end: int) -> int:
    """Over the comma, if there is one."""
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at
