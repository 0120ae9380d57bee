"""The page "Every number, checked", made from tfmlib.ledger."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from book.pages.chapters import chapter_link
from tfmlib import ledger
from tfmlib.ledger import Entry, Grade

Uses = Mapping[str, Sequence[tuple[str, str]]]  # ledger id -> chapters as (file stem, title)

LEDGER_INTRODUCTION = """\
# Every number, checked

Four lecture documents stand behind this book: printed notes, handwritten notes, slides and a
whiteboard; and behind these the paper of 2017. This page lists the numbers that they print and the
claims that a computation of seconds can try, with what was printed and what came out.

{counts}

An erratum has a grade:

{grades}

A printed figure counts as *reproduced* when it is the computed one to half a unit of its last
printed digit. A whole number among decimals has dropped its zeros: a 1 beside 0.02 means 1.00. No
verdict was written by hand: each follows from a computation in `tfmlib.ledger`, and so does each
grade but *dated*; `python -m tfmlib ledger` shows them again. Claims about trained models were
tried on one published encoder or on small networks, as each entry says: another model may do
otherwise.

Some of what the documents say is not on this page:

- what people use: that most language models are transformers (notes), and that most recent ones
  have rotary positions (slides). That is for a survey to find, not for a computation;
- what no measurement could refute: that attention imitates how people concentrate, or that after
  itself a word attends to the next most similar *or important* one (notes);
- what takes larger models or more time: that layer norm makes a model better in the end (notes).
  The results of RoFormer and BERT and the whiteboard's list of uses are on the page, but as
  quotations;
- how much time is saved by computing all positions at once (notes): that depends on the machine;
- what cannot be read in the scans;
- what recurrent networks forget, and how long they take. A computer can try that, and
  [chapter 0](../../../notebooks/00-why-transformers.ipynb) does so in its text.
"""

MEANINGS = {
    "reproduced": "the printed figure is the computed one",
    "erratum": "the document's own equation, a count or a measurement gives something else",
    "illustrative": "a valid example that no printed input determines",
    "quoted": "a result from the literature, which cannot be computed again here",
    "property": "a claim that was tested and holds",
    "data": "an input that others start from",
}

GRADES = {
    Grade.CUT: "the right figure, but its last digits were cut off",
    Grade.DATED: "right when it was written",
    Grade.IN_PART: "one half of a claim holds, or some cases of it",
    Grade.WRONG: "something else comes out",
    Grade.IMPOSSIBLE: "no value of what the document leaves open gives it",
}

STYLE = Path(__file__).with_suffix(".css")


def ledger_page(uses: Uses) -> str:
    """The page "Every number, checked"."""
    entries = ledger.entries().values()
    documents = {entry.id.partition(".")[0]: entry.document for entry in entries}
    parts = [
        LEDGER_INTRODUCTION.format(counts=_counts(), grades=_grades()),
        _style(documents),
        _filter("document", documents, "All documents"),
        _filter("verdict", {verdict: verdict for verdict in ledger.VERDICTS}, "All verdicts"),
        '<p class="ledger-none">No entry of this document has this verdict.</p>\n',
    ]
    for prefix, document in documents.items():
        parts.append(f"## {document.capitalize()}\n")
        parts += [_card(e, uses.get(e.id, ())) for e in entries if e.id.startswith(f"{prefix}.")]
    return "\n".join(parts)


def _style(documents: Mapping[str, str]) -> str:
    """The page's style: how it looks, and a rule for each button."""
    rules = "\n".join(_filter_rules(documents))
    return f"<style>\n{STYLE.read_text(encoding='utf-8')}{rules}\n</style>\n"


def _counts() -> str:
    counts = ledger.counts()
    lines = [f"- **{counts[verdict]} {verdict}**: {MEANINGS[verdict]}" for verdict in counts]
    return f"{sum(counts.values())} entries:\n\n" + "\n".join(lines)


def _grades() -> str:
    found = Counter(entry.grade for entry in ledger.entries().values())
    return "\n".join(f"- **{found[grade]} {grade}**: {GRADES[grade]}" for grade in Grade)


def _filter(name: str, choices: Mapping[str, str], everything: str) -> str:
    """A group of radio buttons, the first of which shows all."""
    buttons = [f'<label><input type="radio" name="{name}" checked> {everything}</label>']
    for value, text in choices.items():
        count = sum(value in _classes(entry) for entry in ledger.entries().values())
        label = f"{escape(text.capitalize())} ({count})"
        buttons.append(
            f'<label><input type="radio" name="{name}" id="only-{value}"> {label}</label>'
        )
    inner = "\n".join(buttons)
    return (
        f'<fieldset class="ledger-filter">\n<legend>Show by {name}</legend>\n{inner}\n</fieldset>\n'
    )


def _classes(entry: Entry) -> tuple[str, str]:
    return entry.id.partition(".")[0], entry.verdict


def _filter_rules(documents: Mapping[str, str]) -> Iterator[str]:
    """For each button, hide what it leaves out: entries, and documents without any entry left.

    An entry that a link leads to stays visible whatever is chosen.
    """
    for value in (*documents, *ledger.VERDICTS):
        chosen, wanted = f":root:has(#only-{value}:checked)", f".ledger-{value}"
        yield f"{chosen} .ledger-entry:not({wanted}, :target) {{ display: none; }}"
        section = f"section section:has(.ledger-entry):not(:has({wanted}), :has(:target))"
        yield f"{chosen} {section} {{ display: none; }}"
    present = {_classes(entry) for entry in ledger.entries().values()}
    for document in documents:
        for verdict in ledger.VERDICTS:
            if (document, verdict) not in present:
                both = f":root:has(#only-{document}:checked):has(#only-{verdict}:checked)"
                yield f"{both} .ledger-none {{ display: block; }}"


def _card(entry: Entry, chapters: Sequence[tuple[str, str]]) -> str:
    slight = ("slight",) if entry.grade and entry.grade.is_slight else ()
    classes = " ".join(f"ledger-{name}" for name in ("entry", *_classes(entry), *slight))
    grade = f' <span class="ledger-grade">{entry.grade}</span>' if entry.grade else ""
    where = f"{entry.document.capitalize()}, {entry.section}"
    lines = [
        f'<article class="{classes}" id="{entry.id}">',
        f'<h3><code>{entry.id}</code> <span class="ledger-verdict">{entry.verdict}</span>'
        f"{grade}</h3>",
        f'<p class="ledger-where">{escape(where)}</p>',
        f"<p>{escape(entry.claim)}</p>",
        *_facts(entry),
    ]
    if found := _prose(entry):
        lines.append(f"<p>{escape(found)}</p>")
    links = ", ".join(chapter_link(stem, title) for stem, title in chapters)
    return "\n".join(lines) + f"\n\nUsed in: {links or '—'}\n\n</article>\n"


def _prose(entry: Entry) -> str:
    """What was found, unless the figures above it say it already."""
    if entry.explanation:
        return entry.explanation
    if entry.computed and not entry.trial:
        return ""
    return f"{entry.finding[0].upper()}{entry.finding[1:]}."


def _facts(entry: Entry) -> list[str]:
    rows = [(f"given: {label}", _figures(text)) for label, text in entry.given.items()]
    rows += [(f"printed: {label}", _figures(text)) for label, text in entry.printed.items()]
    rows += [(f"computed: {label}", _figures(text)) for label, text in entry.computed_text.items()]
    rows += [(label, escape(text)) for label, text in entry.findings.items()]
    if entry.source:
        rows.append(("source", escape(entry.source)))
    if not rows:
        return []
    return ["<dl>", *(f"<dt>{escape(label)}</dt><dd>{text}</dd>" for label, text in rows), "</dl>"]


def _figures(text: str) -> str:
    """Numbers with commas between them, the rows of a matrix under each other."""
    rows = [", ".join(row.split()) for row in text.replace("-inf", "-∞").split("/")]
    return "<br>".join(escape(row) for row in rows)
