"""NumPy's `blocked_attention` against torch's scaled_dot_product_attention, float32, one thread.

Both read the same memory: the tensors of torch are views of the arrays of NumPy. Scores of
queries and keys drawn from a normal distribution stay below about ±10, where no exponential
overflows and the running maximum is not needed; larger scores need it, and have their own lines.
"""

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.harness import Row, compare, peak_memory
from tfmlib.ref import blocked_attention

LENGTHS, HEADS, D_K = (512, 1024, 2048), 8, 64
TIMES_SDPA = 1.6  # how many times as long as SDPA it may take
LINEAR = 2.0  # growth of the peak from 2n to 4n over that from n to 2n; n² would give 4


def inputs(length: int, scale: float = 1.0) -> list[np.ndarray]:
    """Queries, keys and values of one sentence; `scale` makes the scores larger."""
    generator = np.random.default_rng(length)
    q, k, v = generator.normal(size=(3, 1, HEADS, length, D_K)).astype(np.float32)
    return [q * np.float32(scale), k, v]  # (B, H, T, K) each


def times_sdpa(length: int, causal: bool, scale: float = 1.0) -> float:
    """How many times as long as SDPA it takes to reach the same array."""
    arrays = inputs(length, scale)
    tensors = [torch.from_numpy(array) for array in arrays]
    calls = {
        "blocked": lambda: blocked_attention(*arrays, causal=causal),
        "sdpa": lambda: scaled_dot_product_attention(*tensors, is_causal=causal),
    }
    np.testing.assert_allclose(calls["blocked"](), calls["sdpa"](), atol=1e-5)
    return compare(calls).ratio("blocked", "sdpa")


def growth(causal: bool) -> float:
    """Compare differences of peaks, so that a constant share cannot hide a square one."""
    peaks = []
    for length in (1024, 2048, 4096):
        arrays = inputs(length)
        peaks.append(peak_memory(lambda a=arrays: blocked_attention(*a, causal=causal)))
    return (peaks[2] - peaks[1]) / (peaks[1] - peaks[0])


def rows() -> list[Row]:
    """Time for each length, time for large scores, then memory; with and without a causal mask."""
    table = []
    for causal in (False, True):
        name = f"NumPy attention{', causal' if causal else ''}"
        for length in LENGTHS:
            claim = f"{name}, n = {length}: time of SDPA"
            table.append(Row(claim, times_sdpa(length, causal), TIMES_SDPA))
        claim = f"{name}, n = 1024, scores of ±100: time of SDPA"
        table.append(Row(claim, times_sdpa(1024, causal, scale=20), TIMES_SDPA, stretch=True))
        claim = f"{name}: memory grows as n (2), not n² (4)"
        table.append(Row(claim, growth(causal), 1.05 * LINEAR))
    return table
