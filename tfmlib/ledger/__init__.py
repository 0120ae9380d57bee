"""The ledger: what four lecture documents and the 2017 paper claim, computed again.

python -m tfmlib ledger [--json]

An entry's verdict is derived by computing, when it is first asked for:
reproduced (the printed figure is the computed one, to half a unit of its last digit), erratum (the
document's own equation gives something else), illustrative (a valid example that no printed input
determines), quoted (a result of the literature), property (a claim that is tested and holds), data
(an input that others start from). An erratum has a grade: cut instead of rounded, dated, true in
part, wrong, or impossible, if no value of what the document leaves open gives what it prints.
"""

from collections import Counter
from dataclasses import replace
from difflib import get_close_matches
from functools import cache

from tfmlib.ledger import table
from tfmlib.ledger.entry import VERDICTS, Entry, Grade
from tfmlib.ledger.handwritten import HAND
from tfmlib.ledger.notes_practice import NOTES
from tfmlib.ledger.paper import PAPER
from tfmlib.ledger.slides import SLIDES
from tfmlib.ledger.whiteboard import BOARD

__all__ = [
    "VERDICTS",
    "Entry",
    "Grade",
    "as_json",
    "badge",
    "counts",
    "entries",
    "find",
]

DOCUMENTS = (NOTES, HAND, SLIDES, BOARD, PAPER)


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its id, a document after the other.

    >>> entries()["notes.pe1"].verdict
    'erratum'
    """
    declared = [entry for document in DOCUMENTS for entry in document.entries]
    users = {
        entry.id: tuple(other.id for other in declared if entry.id in other.inputs)
        for entry in declared
    }
    return {entry.id: replace(entry, used_by=users[entry.id]) for entry in declared}


def find(id: str) -> Entry:
    """The entry with this id.

    >>> find("notes.help-me-1").sentence
    'Reproduced: printed 1.5, 1 and 0.62, 0.38; computed 1.5, 1.0 and 0.62, 0.38.'
    """
    if id in entries():
        return entries()[id]
    near = get_close_matches(str(id), entries(), n=1, cutoff=0)
    raise LookupError(f"There is no ledger entry {id!r}. Did you mean {near[0]!r}?")


def counts() -> dict[str, int]:
    """How many entries each verdict has.

    >>> sum(counts().values()) == len(entries())
    True
    """
    found = Counter(entry.verdict for entry in entries().values())
    return {verdict: found[verdict] for verdict in VERDICTS}


def as_json() -> str:
    """The ledger as JSON text: counts and a list of entries.

    >>> as_json()[:16]
    '{\\n  "counts": {\\n'
    """
    return table.json_text(entries(), counts())


def badge(id: str) -> str:
    """A Markdown link from a chapter to an entry, whose text is the verdict.

    >>> badge("notes.help-me-1").split(' "')[0]
    '[reproduced](../book/pages/generated/ledger.md#notes.help-me-1'
    """
    entry = find(id)
    title = entry.sentence.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{entry.verdict}](../book/pages/generated/ledger.md#{entry.id} "{title}")'
