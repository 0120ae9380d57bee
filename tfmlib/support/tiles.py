"""Attention tile by tile: one small buffer, written again and again, instead of T × S scores.

`tfmlib.ref.blocked_attention` is the equation; here is what makes it as fast as a fused kernel.
"""

import numpy as np

from tfmlib.support.arrays import Floats, Mask


def attend(
    q: Floats,  # (T, K)
    k: Floats,  # (S, K)
    v: Floats,  # (S, K)
    diagonal: Floats | None,
    block: int,
    out: Floats,  # (T, K), zeros
) -> None:
    """Fill `out` for one head, and see its scores one `block` × `block` tile at a time.

    `diagonal` is added to the tiles that the diagonal crosses, and no tile right of it is computed.

    >>> out = np.zeros((1, 2))
    >>> attend(np.zeros((1, 2)), np.eye(2), np.array([[3.0, 5], [7, 11]]), None, 1, out)
    >>> out
    array([[5., 8.]])
    """
    (T, K), S, dtype = q.shape, len(k), q.dtype
    q = q * dtype.type(K**-0.5)
    tile = np.empty(min(block, T) * min(block, S), dtype)
    ones = np.ones((block, 1), dtype)
    tame = _score_bound(q, k) < np.log(np.finfo(dtype).max) / 2
    least = 0.9 * np.log(np.finfo(dtype).tiny)
    for t in range(0, T, block):
        q_t, out_t = q[t : t + block], out[t : t + block]
        peak, total = np.full((len(q_t), 1), -np.inf, dtype), np.zeros((len(q_t), 1), dtype)
        last = S if diagonal is None else min(S, t + block)  # later keys are masked
        for s in range(0, last, block):
            k_s, v_s = k[s : s + block], v[s : s + block]
            powers = tile[: len(q_t) * len(k_s)].reshape(len(q_t), len(k_s))
            np.matmul(q_t, k_s.T, out=powers)
            visible: bool | Mask = True
            if diagonal is not None and s == t:
                powers += diagonal[: len(q_t), : len(k_s)]
                visible = np.isfinite(diagonal[: len(q_t), : len(k_s)])
            if not tame:  # a higher peak shrinks what was summed below the old one
                higher = np.maximum(peak, powers.max(axis=-1, keepdims=True))
                total *= np.exp(peak - higher)
                out_t *= np.exp(peak - higher)
                peak = higher
                powers -= peak
                # Less than this is lost in the sum, yet slow to add; the masked stay at -∞.
                np.maximum(powers, least, out=powers, where=visible)
            np.exp(powers, out=powers)
            total += powers @ ones[: len(k_s)]  # a product sums rows faster than sum() does
            out_t += powers @ v_s
        out_t /= total


def _score_bound(q: Floats, k: Floats) -> float:
    """Return the largest |q_i| |k_j|, which no score exceeds: if small, exp needs no peak."""
    return float(np.linalg.norm(q, axis=-1).max() * np.linalg.norm(k, axis=-1).max())
