"""The parameters of the 2017 paper's two models, counted part by part.

The paper prints totals alone, in millions. Its embedding matrix serves source, target and output.
"""

from math import ceil, floor
from typing import Any

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
