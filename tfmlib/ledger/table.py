"""The ledger as text and as JSON."""

import json
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfmlib.ledger.entry import Entry
from tfmlib.ledger.printed import digits
from tfmlib.support.arrays import ArrayLike

WIDTH = 100
COLUMNS = (28, 14)  # id and verdict; the finding takes the rest


def text_table(entries: Mapping[str, Entry], counts: Mapping[str, int]) -> str:
    """The whole ledger, a document after the other, at most 100 columns wide."""
    lines: list[str] = []
    document = ""
    for entry in entries.values():
        if entry.document != document:
            document = entry.document
            lines += ["", document.capitalize(), "-" * len(document)]
        lines += _rows(entry)
    found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return "\n".join([*lines[1:], "", f"{len(entries)} entries: {found}"])


def _rows(entry: Entry) -> list[str]:
    label = f"{entry.id:<{COLUMNS[0]}}{entry.verdict:<{COLUMNS[1]}}"
    grade = f"{entry.grade}: " if entry.grade else ""
    return textwrap.wrap(
        grade + entry.finding, WIDTH, initial_indent=label, subsequent_indent=" " * sum(COLUMNS)
    )


def json_text(entries: Mapping[str, Entry], counts: Mapping[str, int]) -> str:
    """The whole ledger as JSON: counts and entries."""
    document = {"counts": counts, "entries": [_as_dict(entry) for entry in entries.values()]}
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _as_dict(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "document": entry.document,
        "section": entry.section,
        "claim": entry.claim,
        "given": {label: digits(text) for label, text in entry.given.items()},
        "printed": {label: digits(text) for label, text in entry.printed.items()},
        "computed": {label: _finite(value) for label, value in entry.computed.items()},
        "verdict": entry.verdict,
        "grade": entry.grade,
        "sentence": entry.sentence,
        "explanation": entry.explanation,
        "evidence": dict(entry.findings),
        "source": entry.source,
        "used_by": list(entry.used_by),
    }


def _finite(value: ArrayLike) -> Any:
    """Numbers with eight decimals; JSON has no infinity, so it is written as text."""
    value = np.asarray(value)
    if value.ndim:
        return [_finite(item) for item in value]
    return round(float(value), 8) + 0.0 if np.isfinite(value) else str(float(value))
