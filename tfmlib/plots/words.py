"""What figures say: numbers as prose has them, labels that can be seen, alt text."""

import math
import re
from collections.abc import Iterable

import numpy as np

from tfmlib.support.arrays import Array, ArrayLike


def number_text(value: float) -> str:
    """Write a number as prose has it: 0.74, 3, 1,234,567, −∞."""
    return number_texts([value])[0]


def number_texts(values: ArrayLike) -> list[str]:
    """Write numbers with the same decimals, as few as show two digits of the largest."""
    values = np.asarray(values, float)
    finite = values[np.isfinite(values)]
    largest = np.abs(finite).max(initial=0)
    if largest and not 1e-4 <= largest < 1e12:
        texts = [f"{v:.2g}" for v in values]
    else:
        most = 0 if largest >= 1000 else 2
        if 0 < largest < 0.1:
            most = 1 - math.floor(math.log10(largest))
        enough = (d for d in range(most) if (finite.round(d) == finite.round(most)).all())
        decimals = next(enough, most)
        texts = [f"{v:,.{decimals}f}" for v in values.round(decimals) + 0.0]  # no minus zero
    return [text.replace("-", "−").replace("inf", "∞") for text in texts]


def probability_texts(probabilities: Array) -> list[str]:
    """Write probabilities with two decimals; what would look like none is "< 0.01"."""
    return ["< 0.01" if 0 < p < 0.005 else f"{p:.2f}" for p in probabilities]


def quoted(label: str) -> str:
    """Put a label in quotation marks, as prose does."""
    return f"“{label}”"


def listed(words: Iterable[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    words = list(words)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def alt_text(alt: str | None, title: str | None, told: str) -> str:
    """Prefer the author's alt text; otherwise the title and what the data tell."""
    if alt is not None:
        return alt
    return f"{title.rstrip('.')}. {told}" if title else told


def visible_label(label: str, longest: int = 14) -> str:
    """Make a label visible, spaces at its ends and line breaks too, and cut a long one short."""
    label = re.sub("^ +| +$", lambda spaces: "␣" * len(spaces[0]), label)
    label = "".join(c if c.isprintable() else repr(c)[1:-1] for c in label)
    return label if len(label) <= longest else label[: longest - 1] + "…"
