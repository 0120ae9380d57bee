"""The 2017 paper: the parameters of its two models, counted part by part.

The paper prints totals alone, in millions. Its embedding matrix serves source, target and output.
"""

from math import ceil, floor
from typing import Any

import numpy as np

from tfmlib.ledger.entry import Document

PAPER = Document("paper", "the 2017 paper")
VOCABULARY = 37000  # shared byte-pair tokens of the English-German models
SIZES: dict[str, dict[str, Any]] = {
    "base": {"d_model": 512, "d_ff": 2048},
    "big": {"d_model": 1024, "d_ff": 4096},
}
PRINTED_MILLIONS = {"base": "65", "big": "213"}  # Table 3


def parameters(
    d_model: int, d_ff: int, vocabulary: int = VOCABULARY, layers: int = 6, biases: bool = True
) -> dict[str, int]:
    """Count the weights of an encoder-decoder, part by part.

    >>> sum(parameters(d_model=512, d_ff=2048).values())
    63082496
    """
    bias = int(biases)
    attention = 4 * (d_model * d_model + bias * d_model)  # W^q, W^k, W^v, W^0
    feed_forward = 2 * d_model * d_ff + bias * (d_ff + d_model)
    norm = 2 * d_model  # gain and bias
    return {
        "embedding, shared with the output": vocabulary * d_model,
        "encoder self-attention": layers * attention,
        "encoder feed-forward": layers * feed_forward,
        "encoder norms": layers * 2 * norm,
        "decoder self-attention": layers * attention,
        "decoder cross-attention": layers * attention,
        "decoder feed-forward": layers * feed_forward,
        "decoder norms": layers * 3 * norm,
    }


def total(size: str, **changes: Any) -> int:
    """Count all weights of the paper's `base` or `big` model.

    >>> total("big")
    214245376
    """
    return sum(parameters(**SIZES[size], **changes).values())


def fitting_vocabularies(size: str, biases: bool = True) -> range:
    """The vocabulary sizes with which the count rounds to the printed number of millions.

    >>> fitting_vocabularies("base")
    range(39769, 41722)
    """
    millions, d_model = int(PRINTED_MILLIONS[size]), SIZES[size]["d_model"]
    rest = total(size, vocabulary=0, biases=biases)
    lowest = ceil((1e6 * (millions - 0.5) - rest) / d_model)
    highest = floor((1e6 * (millions + 0.5) - rest) / d_model)
    return range(lowest, highest + 1)


def fitting_both() -> list[int]:
    """The vocabulary sizes with which both counts round to the printed millions.

    >>> fitting_both()
    []
    """
    base, big = (
        {v for biases in (True, False) for v in fitting_vocabularies(size, biases)}
        for size in SIZES
    )
    return sorted(base & big)


def nearest_layers(size: str) -> int:
    """The number of layers whose count comes nearest to the printed one.

    >>> nearest_layers("base")
    6
    """
    printed = 1e6 * int(PRINTED_MILLIONS[size])
    return min(range(1, 25), key=lambda layers: abs(total(size, layers=layers) - printed))


def summary() -> str:
    base, big = (round(total(size) / 1e6) for size in SIZES)
    return (
        f"the models count {base} and {big} million parameters where "
        f"{' and '.join(PRINTED_MILLIONS.values())} are printed; "
        f"{len(fitting_both()) or 'no'} vocabulary size gives both"
    )


def explain() -> str:
    base, big = (fitting_vocabularies(size) for size in SIZES)
    return (
        f"The totals do not follow from the sizes that the paper gives: with {VOCABULARY:,} shared "
        f"tokens the models count {total('base'):,} and {total('big'):,} parameters. Only a "
        f"vocabulary of {base[0]:,} to {base[-1]:,} tokens would print as "
        f"{PRINTED_MILLIONS['base']} million, and only one of {big[0]:,} to {big[-1]:,} as "
        f"{PRINTED_MILLIONS['big']} million."
    )


def evidence() -> dict[str, str]:
    base, big = (parameters(**size) for size in SIZES.values())
    rows = {part: f"{base[part]:,} (base), {big[part]:,} (big)" for part in base}
    rows["total"] = f"{total('base'):,} (base), {total('big'):,} (big)"
    without = [total(size, biases=False) for size in SIZES]
    rows["total without biases"] = f"{without[0]:,} (base), {without[1]:,} (big)"
    rows["vocabulary sizes that fit both printed totals"] = str(len(fitting_both()) or "none")
    return rows


PAPER.add(
    "parameters",
    "Table 3",
    "The base model has 65 million parameters, the big model 213 million.",
    printed={f"{size} model, million parameters": PRINTED_MILLIONS[size] for size in SIZES},
    recompute=lambda: {
        f"{size} model, million parameters": np.array([total(size) / 1e6]) for size in SIZES
    },
    places=1,
    summary=summary,
    explain=explain,
    evidence=evidence,
    impossible=lambda: not fitting_both(),
)
