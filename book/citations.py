"""Citations as text: {cite}`key` becomes a link that names authors and year.

JupyterLab knows nothing of a bibliography; a link reads the same there and in the book.
"""

import functools
import re
from pathlib import Path

from pybtex.database import Entry, Person, parse_file

REFERENCES = Path(__file__).parent / "references.bib"
CITE = re.compile(r"\{cite(?P<in_text>:t)?\}`(?P<keys>[^`]+)`")
PLACE = "../book/pages/written/bibliography.md#ref-{key}"


def linked(source: str) -> str:
    """Replace each citation by links into the bibliography; LookupError names an unknown key.

    >>> linked("as {cite:t}`ba2016layer` show")
    'as [Ba et al. (2016)](../book/pages/written/bibliography.md#ref-ba2016layer) show'
    """
    return CITE.sub(_links, source)


def _links(match: re.Match[str]) -> str:
    keys = [key.strip() for key in match["keys"].split(",")]
    if match["in_text"]:
        return ", ".join(_link(key, "{authors} ({year})") for key in keys)
    links = "; ".join(_link(key, "{authors}, {year}") for key in keys)
    return rf"\[{links}\]"


def _link(key: str, form: str) -> str:
    if key not in entries():
        raise LookupError(f"{REFERENCES.name} has no entry {key!r}.")
    entry = entries()[key]
    text = form.format(authors=authors(entry), year=entry.fields["year"])
    return f"[{text}]({PLACE.format(key=key)})"


@functools.cache
def entries() -> dict[str, Entry]:
    return dict(parse_file(REFERENCES).entries.items())


def authors(entry: Entry) -> str:
    """One name, two, or the first of many; an institution by its whole name."""
    people = entry.persons.get("author") or entry.persons["editor"]
    names = [_family_name(person) for person in people]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)


def _family_name(person: Person) -> str:
    return " ".join([*person.prelast_names, *person.last_names]).strip("{}")
