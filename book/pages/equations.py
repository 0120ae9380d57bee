"""The page "The equations and their code", made from docstrings and the chapters' labels.

An equation that no function computes is an error.
"""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from book.pages.chapters import CHAPTERS, chapter_link, equation_labels
from tfmlib import ref

Citations = list[tuple[str, range]]  # (document, range of its equations' numbers)


class GapError(ValueError):
    """An equation that no function computes, or a citation that cannot be read."""


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
# The equations and their code

Each numbered equation of the notes and of {cite:t}`vaswani2017attention`, with the chapter that
explains it and the functions of `tfmlib.ref` that compute it. The page is made from the docstrings
and the chapters' labels; it cannot be made while an equation has no function. Each function is held
to a second implementation, torch's, by the check that has its name in
`tests/library/test_ref_parity.py`.
"""

CITATION = re.compile(
    r"^Eq\. (?P<numbers>\(\d+\)(?:-\(\d+\))?(?:, \(\d+\)(?:-\(\d+\))?)*), "
    r"(?P<document>notes|2017 paper) §[\d.]+$"
)
RANGE = re.compile(r"\((\d+)\)(?:-\((\d+)\))?")


def cited(docstring: str) -> Citations:
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


def reference_functions() -> dict[str, Citations]:
    """Each public function of tfmlib.ref with the equations that it cites."""
    return {
        name: cited(inspect.getdoc(function) or "-")
        for name, function in vars(ref).items()
        if inspect.isfunction(function)
        and function.__module__ == ref.__name__
        and not name.startswith("_")
    }


def computing(equation: Equation, functions: Mapping[str, Citations]) -> list[str]:
    """The functions that cite an equation.

    >>> computing(EQUATIONS[3], reference_functions())
    ['shift_matrix']
    """
    return [name for name, cites in functions.items() if _covers(cites, equation)]


def equations_page(chapters: Path = CHAPTERS) -> str:
    """The page "The equations and their code"; a gap raises an error that names the equation."""
    functions = reference_functions()
    labels = equation_labels(chapters)
    parts, document = [EQUATIONS_INTRODUCTION], ""
    for equation in EQUATIONS:
        if equation.document != document:
            document = equation.document
            parts.append(f"## The {document}\n")
        parts.append(_equation_card(equation, functions, labels))
    return "\n".join(parts)


def _equation_card(
    equation: Equation, functions: Mapping[str, Citations], labels: Mapping[str, tuple[str, str]]
) -> str:
    names = computing(equation, functions)
    if not names:
        raise GapError(f"{equation.name} has no function: no docstring of tfmlib.ref cites it.")
    return "\n".join(
        [
            f"({equation.label}-where)=",
            f"### ({equation.number}) {equation.title}\n",
            f"$$\n{equation.tex}\n$$\n",
            f"- Chapter: {_chapter_of(equation, functions, labels)}",
            f"- Functions: {', '.join(f'`tfmlib.ref.{name}`' for name in names)}\n",
        ]
    )


def _covers(cites: Citations, equation: Equation) -> bool:
    return any(document == equation.document and equation.number in n for document, n in cites)


def _chapter_of(
    equation: Equation, functions: Mapping[str, Citations], labels: Mapping[str, tuple[str, str]]
) -> str:
    """The chapter with the equation's label, or with that of one it stands together with.

    Where the 2017 paper has an equation of the notes, a chapter may show it under the notes' label.
    """
    together = {
        numbers[0]
        for cites in functions.values()
        for document, numbers in cites
        if document == equation.document and equation.number in numbers
    }
    beside = [equation._replace(number=number) for number in sorted(together, reverse=True)]
    elsewhere = [other for other in EQUATIONS if other.title == equation.title]
    for label in [one.label for one in (equation, *beside, *elsewhere)]:
        if label in labels:
            return f"{chapter_link(*labels[label])}, there {{eq}}`{label}`"
    return "—"
