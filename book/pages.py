"""Two pages of the book that are made and not written: the ledger, and where each equation is.

python -m book.pages

The ledger's page comes from tfmlib.ledger, the equations' page from the docstrings of tfmlib.ref,
the parity tests and the labels in the chapters. An equation without a function or a test is an
error.
"""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from tfmlib import ledger, ref
from tfmlib.ledger import Entry

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS, PARITY = ROOT / "book/chapters", ROOT / "tests/test_ref_parity.py"
PARITY_TEST = "test_equations_agree_with_torch"
LEDGER_PAGE, EQUATIONS_PAGE = ROOT / "book/ledger.md", ROOT / "book/equations.md"

Uses = Mapping[str, Sequence[tuple[str, str]]]  # ledger id -> chapters as (file stem, title)


class GapError(ValueError):
    """An equation that no function computes or no test covers."""


def main() -> int:
    for path in write():
        print(f"{path.relative_to(ROOT)} is up to date.")
    return 0


def write(uses: Uses | None = None) -> list[Path]:
    """Write both pages where they changed."""
    uses = ledger_uses(CHAPTERS) if uses is None else uses
    pages = {LEDGER_PAGE: ledger_page(uses), EQUATIONS_PAGE: equations_page()}
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
    return list(pages)


# --- what the chapters say ----------------------------------------------------------------------

USE = re.compile(r"\{ledger\}`(?P<id>[^`]+)`")
TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
LABEL = re.compile(r"^:label: *(?P<label>eq-\S+) *$", re.MULTILINE)


def chapter_title(path: Path) -> str:
    title = TITLE.search(path.read_text(encoding="utf-8"))
    return title["title"].strip() if title else path.stem


def ledger_uses(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Ledger id -> the chapters, as (file stem, title), that carry its badge."""
    uses: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(folder.glob("*.md")):
        for id in dict.fromkeys(USE.findall(path.read_text(encoding="utf-8"))):
            uses.setdefault(id, []).append((path.stem, chapter_title(path)))
    return uses


def equation_labels(folder: Path) -> dict[str, tuple[str, str]]:
    """Label -> the chapter, as (file stem, title), in which the equation stands."""
    return {
        label: (path.stem, chapter_title(path))
        for path in sorted(folder.glob("*.md"))
        for label in LABEL.findall(path.read_text(encoding="utf-8"))
    }


def chapter_link(stem: str, title: str) -> str:
    """A link to a chapter, with its number.

    >>> chapter_link("04-queries-keys-values", "Queries, keys and values")
    '[4. Queries, keys and values](../notebooks/04-queries-keys-values.ipynb)'
    """
    return f"[{int(stem[:2])}. {title}](../notebooks/{stem}.ipynb)"


# --- the ledger ---------------------------------------------------------------------------------

LEDGER_INTRODUCTION = """\
# Every number, checked

Four lecture documents stand behind this book: printed notes, handwritten notes, slides and a
whiteboard. Every number and every claim in them that a computer can try has been tried. This page
lists them all, with what was printed and what came out.

{counts}

A printed figure counts as *reproduced* when it is the computed one to half a unit of its last
printed digit. No verdict was written by hand: each follows from a computation in `tfmlib.ledger`,
and `python -m tfmlib ledger` shows them again.
"""

MEANINGS = {
    "reproduced": "the printed figure is the computed one",
    "erratum": "the document's own equation gives something else",
    "illustrative": "a valid example that no printed input determines",
    "quoted": "a result from the literature, which cannot be computed again here",
    "property": "a claim that was tested and holds",
    "data": "an input that others start from",
}

# Works without a script: a checked radio button decides which entries are displayed.
STYLE = """\
<style>
.ledger-filter { border: 1px solid var(--tfm-line, #ccc); border-radius: .35rem; margin: 1rem 0;
  padding: .4rem .9rem .6rem; display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; }
.ledger-filter legend { float: none; width: auto; font-size: 1rem; font-weight: 650;
  margin: 0 -.3rem; padding: 0 .3rem; }
.ledger-filter label { display: inline-flex; align-items: center; gap: .4rem; min-height: 2rem;
  margin: 0; cursor: pointer; }
.ledger-entry { border: 1px solid var(--tfm-line, #ccc); border-left-width: .25rem;
  border-radius: .35rem; margin: 1rem 0; padding: .7rem 1rem .2rem; scroll-margin-top: 5rem; }
.ledger-entry > :is(h3, p, dl) { margin: 0 0 .5rem; }
.ledger-entry > h3 { font-size: 1.05rem; display: flex; flex-wrap: wrap; gap: .3rem .7rem;
  align-items: baseline; }
.ledger-verdict { font-size: .85rem; font-weight: 600; border: 1px solid currentColor;
  border-radius: 1em; padding: 0 .6em; }
.ledger-where { color: var(--tfm-quiet, #555); font-size: .92em; }
.ledger-entry dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr;
  gap: .15rem 1rem; font-size: .95em; }
.ledger-entry dt { font-weight: 600; }
.ledger-entry dd { margin: 0; min-width: 0; overflow-x: auto; font-variant-numeric: tabular-nums; }
.ledger-reproduced, .ledger-property { border-left-color: var(--tfm-pass, #1b6b3a); }
.ledger-erratum { border-left-color: var(--tfm-fail, #a13612); }
.ledger-reproduced .ledger-verdict, .ledger-property .ledger-verdict
  { color: var(--tfm-pass, #1b6b3a); }
.ledger-erratum .ledger-verdict { color: var(--tfm-fail, #a13612); }
.ledger-entry:target { outline: .16rem solid var(--tfm-accent, #0b5f73); }
.ledger-none { display: none; }
@media (max-width: 575px) {
  .ledger-entry dl { grid-template-columns: 1fr; gap: 0; }
  .ledger-entry dd { margin-bottom: .35rem; } }
@media print { .ledger-filter { display: none; } .ledger-entry { break-inside: avoid; } }
{rules}
</style>
"""


def ledger_page(uses: Uses) -> str:
    """The page "Every number, checked"."""
    entries = ledger.entries().values()
    documents = {entry.id.partition(".")[0]: entry.document for entry in entries}
    parts = [
        LEDGER_INTRODUCTION.format(counts=_counts()),
        STYLE.replace("{rules}", "\n".join(_filter_rules(documents))),
        _filter("document", documents, "All documents"),
        _filter("verdict", {verdict: verdict for verdict in ledger.VERDICTS}, "All verdicts"),
        '<p class="ledger-none">No entry of this document has this verdict.</p>\n',
    ]
    for prefix, document in documents.items():
        parts.append(f"## {document.capitalize()}\n")
        parts += [_card(e, uses.get(e.id, ())) for e in entries if e.id.startswith(f"{prefix}.")]
    return "\n".join(parts)


def _counts() -> str:
    counts = ledger.counts()
    lines = [f"- **{counts[verdict]} {verdict}**: {MEANINGS[verdict]}" for verdict in counts]
    return f"{sum(counts.values())} entries:\n\n" + "\n".join(lines)


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
    classes = " ".join(f"ledger-{name}" for name in ("entry", *_classes(entry)))
    where = f"{entry.document.capitalize()}, {entry.section}"
    lines = [
        f'<article class="{classes}" id="{entry.id}">',
        f'<h3><code>{entry.id}</code> <span class="ledger-verdict">{entry.verdict}</span></h3>',
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
    if entry.computed and not entry.outcome:
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


# --- the equations ------------------------------------------------------------------------------


class Equation(NamedTuple):
    """A numbered equation of the notes or of the 2017 paper."""

    document: str  # "notes" or "2017 paper"
    number: int
    title: str
    tex: str

    @property
    def label(self) -> str:
        """How a chapter labels it."""
        return f"eq-{'notes' if self.document == 'notes' else 'paper'}-{self.number}"

    @property
    def name(self) -> str:
        return f"Eq. ({self.number}) of the {self.document}"


def _numbered(document: str, *equations: tuple[str, str]) -> list[Equation]:
    return [Equation(document, n, title, tex) for n, (title, tex) in enumerate(equations, 1)]


EQUATIONS = [
    *_numbered(
        "notes",
        (
            "Attention pooling",
            r"A(\mathbf q, D) = \sum_i \alpha(\mathbf q, \mathbf k_i)\,\mathbf v_i",
        ),
        ("Position, even dimensions", r"\mathrm{PE}_{i,2j} = \sin(i / 10000^{2j/d})"),
        ("Position, odd dimensions", r"\mathrm{PE}_{i,2j+1} = \cos(i / 10000^{2j/d})"),
        ("Shift by rotation", r"M_\delta\,\mathrm{PE}_i = \mathrm{PE}_{i+\delta}"),
        ("A word with its position", r"\mathbf x_i = \mathbf x'_i + \mathrm{PE}_i"),
        ("All words with their positions", "X = X' + P"),
        ("Queries", "Q = XW^q"),
        ("Keys", "K = XW^k"),
        ("Values", "V = XW^v"),
        ("Scaled dot-product attention", r"A = \operatorname{softmax}(QK^\top / \sqrt{d_k})\,V"),
        ("Softmax", r"S_{ij} = \exp F_{ij} / \sum_k \exp F_{ik}"),
        ("A head", r"h_i = A(K_i, Q_i, V_i)"),
        ("A head's projections", r"K_i = XW^k_i, \quad Q_i = XW^q_i, \quad V_i = XW^v_i"),
        ("Multi-head attention", r"M = \operatorname{Concat}(h_1, \dots, h_h)\,W^0"),
        ("Layer norm", r"Y'_{ij} = (Y_{ij} - \mu_i) / \sqrt{\sigma_i^2 + \epsilon}"),
        ("Add and norm", r"\operatorname{LayerNorm}[x + \operatorname{Sublayer}(x)]"),
        ("Feed-forward network", r"\max(0, xW_1 + b_1)\,W_2 + b_2"),
        ("Masked attention", r"A = \operatorname{softmax}((QK^\top + B) / \sqrt{d_k})\,V"),
    ),
    *_numbered(
        "2017 paper",
        ("Scaled dot-product attention", r"\operatorname{softmax}(QK^\top / \sqrt{d_k})\,V"),
        ("Feed-forward network", r"\max(0, xW_1 + b_1)\,W_2 + b_2"),
        (
            "Learning rate",
            r"d_{\text{model}}^{-0.5} \cdot \min(s^{-0.5},\; s \cdot s_{\text{warmup}}^{-1.5})",
        ),
    ),
]

EQUATIONS_INTRODUCTION = """\
# Every equation, where

Each numbered equation of the notes and of {cite:t}`vaswani2017attention`, with the chapter that
explains it, the functions of `tfmlib.ref` that compute it, and the tests that hold these functions
to a second implementation. The page is made from the docstrings, the tests and the chapters'
labels; it cannot be made while an equation has no function or no test.
"""

CITATION = re.compile(
    r"^Eq\. (?P<numbers>\(\d+\)(?:-\(\d+\))?(?:, \(\d+\)(?:-\(\d+\))?)*), "
    r"(?P<document>notes|2017 paper) §[\d.]+$"
)
RANGE = re.compile(r"\((\d+)\)(?:-\((\d+)\))?")


def cited(docstring: str) -> list[tuple[str, range]]:
    """The equations that the last line of a docstring names, as (document, range of numbers).

    >>> cited("Mix.\\n\\nEq. (10)-(11), notes §3.3; Eq. (1), 2017 paper §3.2.1; slides.")
    [('notes', range(10, 12)), ('2017 paper', range(1, 2))]
    """
    found = []
    last = docstring.strip().splitlines()[-1].strip().rstrip(".")
    for clause in last.split("; "):
        if match := CITATION.match(clause):
            for first, end in RANGE.findall(match["numbers"]):
                found.append((match["document"], range(int(first), int(end or first) + 1)))
        elif clause.startswith("Eq."):
            raise GapError(f"expected 'Eq. (10)-(11), notes §3.3', got {clause!r} in a docstring.")
    return found


def reference_functions() -> dict[str, list[tuple[str, range]]]:
    """Each public function of tfmlib.ref with the equations that it cites."""
    return {
        name: cited(inspect.getdoc(function) or "-")
        for name, function in vars(ref).items()
        if inspect.isfunction(function)
        and function.__module__ == ref.__name__
        and not name.startswith("_")
    }


def parity_checks(path: Path) -> dict[str, str]:
    """Each function of tfmlib.ref that `@parity("name")` registers a check for, with its test."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if PARITY_TEST not in [function.name for function in functions]:
        raise GapError(f"expected a test {PARITY_TEST} in {path.name}, which runs every check.")
    registered = [
        decorator.args[0].value
        for function in functions
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "parity"
    ]
    return {name: f"{PARITY_TEST}[{name}-float64]" for name in registered}


def equations_page(chapters: Path = CHAPTERS, parity: Path = PARITY) -> str:
    """The page "Every equation, where"; a gap raises an error that names the equation."""
    functions, tests = reference_functions(), parity_checks(parity)
    labels = equation_labels(chapters)
    parts, document = [EQUATIONS_INTRODUCTION], ""
    for equation in EQUATIONS:
        if equation.document != document:
            document = equation.document
            parts.append(f"## The {document}\n")
        parts.append(_equation_card(equation, functions, tests, labels))
    return "\n".join(parts)


def _equation_card(equation: Equation, functions, tests, labels) -> str:
    computing = [name for name, cites in functions.items() if _covers(cites, equation)]
    if not computing:
        raise GapError(f"{equation.name} has no function: no docstring of tfmlib.ref cites it.")
    for name in computing:
        if name not in tests:
            raise GapError(f"{equation.name} has no test: no check in {PARITY.name} for {name}.")
    return "\n".join(
        [
            f"({equation.label}-where)=",
            f"### ({equation.number}) {equation.title}\n",
            f"$$\n{equation.tex}\n$$\n",
            f"- Chapter: {_chapter_of(equation, functions, labels)}",
            f"- Functions: {', '.join(f'`tfmlib.ref.{name}`' for name in computing)}",
            f"- Tests in `tests/{PARITY.name}`: {', '.join(f'`{tests[n]}`' for n in computing)}\n",
        ]
    )


def _covers(cites: list[tuple[str, range]], equation: Equation) -> bool:
    return any(document == equation.document and equation.number in n for document, n in cites)


def _chapter_of(equation: Equation, functions, labels: Mapping[str, tuple[str, str]]) -> str:
    """The chapter with the equation's label, or with that of one it stands together with."""
    together = {
        numbers[0]
        for cites in functions.values()
        for document, numbers in cites
        if document == equation.document and equation.number in numbers
    }
    for number in (equation.number, *sorted(together, reverse=True)):
        label = equation._replace(number=number).label
        if label in labels:
            return f"{chapter_link(*labels[label])}, there {{eq}}`{label}`"
    return "—"


if __name__ == "__main__":
    raise SystemExit(main())
