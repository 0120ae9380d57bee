"""The handwritten notes: positions by hand, layer norm by hand, heads, masks and residuals."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from tfmlib import ref
from tfmlib.ledger.entry import Document, Trial, Values
from tfmlib.ledger.printed import agreeing, shown
from tfmlib.ledger.probes import attention_params, feed_forward_params, layer_params, moved, same
from tfmlib.support.arrays import Array

HAND = Document("hand", "the handwritten notes")
D = 4


def encoding(position: int) -> Array:
    return ref.sinusoidal_encoding(position + 1, D)[position]


# --- positions ------------------------------------------------------------------------------


@HAND.recomputed(
    "pe0",
    "positional encoding",
    "The encoding of “The”, at position 0 with d_model = 4.",
    printed={"PE(0)": "0 1 0 1"},
)
def pe0() -> Values:
    return {"PE(0)": encoding(0)}


def explain_pe1() -> str:
    last, right = encoding(1)[-1], agreeing(PE1.printed["PE(1)"], encoding(1))
    return (
        f"{right.sum()} of the 4 figures are right, and they decide against the degrees of the "
        f"notes. The last, cos 0.01 = {shown(last, 10)}, was cut off and not rounded: to four "
        f"decimals it is {shown(last, 4)}. The printed one misses it by a hair more than half a "
        "unit of its last digit."
    )


PE1 = HAND.add(
    "pe1",
    "positional encoding",
    "The encoding of “cat”, at position 1 with d_model = 4.",
    printed={"PE(1)": "0.84 0.54 0.01 0.9999"},
    recompute=lambda: {"PE(1)": encoding(1)},
    explain=explain_pe1,
    evidence=lambda: {"last figure with ten decimals": shown(encoding(1)[-1], 10)},
)


def the_with_position() -> Values:
    return {"The + PE(0)": THE.values("The") + encoding(0)}


THE = HAND.add(
    "the",
    "positional encoding",
    "The embedding of “The” plus its positional encoding.",
    given={"The": "0.1 0.2 0.3 0.4"},
    recompute=the_with_position,
    places=1,
)


def cat_with_position() -> Values:
    return {"cat + PE(1)": CAT.values("cat") + encoding(1)}


CAT = HAND.add(
    "cat",
    "positional encoding",
    "The embedding of “cat”, hard to read in the scan, plus its positional encoding.",
    given={"cat": "0.5 0.6 0.7 0.8"},
    recompute=cat_with_position,
)


# --- normalisation --------------------------------------------------------------------------


def layer_norm_by_steps() -> Values:
    x = LAYER_NORM.values("x")
    return {
        "μ": x.mean(keepdims=True),
        "σ²": x.var(keepdims=True),
        "√(σ² + ε)": np.sqrt(x.var(keepdims=True) + 1e-5),
        "x̂": ref.layer_norm(x),
        "y": ref.layer_norm(x, gain=np.ones(4), bias=np.zeros(4)),
    }


def layer_norm_summary() -> str:
    steps = LAYER_NORM.computed_text.items()
    return "computed " + ", ".join(f"{label} = {text.replace(' ', ', ')}" for label, text in steps)


def with_sample_variance() -> dict[str, str]:
    x = LAYER_NORM.values("x")
    standardised = (x - x.mean()) / np.sqrt(x.var(ddof=1) + 1e-5)
    return {"with ÷3 for ÷4": ", ".join(shown(value, 2) for value in standardised)}


LAYER_NORM = HAND.add(
    "layernorm",
    "layer normalisation",
    "Layer norm of 2, 4, 6, 8 by hand, with ε = 1e-5, γ = 1 and β = 0.",
    given={"x": "2 4 6 8"},
    printed={
        "μ": "5",
        "σ²": "5",
        "√(σ² + ε)": "2.236",
        "x̂": "-1.34 -0.45 0.45 1.34",
        "y": "-1.34 -0.45 0.45 1.34",
    },
    recompute=layer_norm_by_steps,
    summary=layer_norm_summary,
    evidence=with_sample_variance,
)

# Size in square metres, rooms, price in thousands.
HOUSES = np.array([[50, 2, 110], [65, 3, 150], [80, 3, 190], [120, 4, 310], [200, 7, 560.0]])


@HAND.tested(
    "bn-ln",
    "normalisation",
    "Batch norm standardises a feature over the rows, layer norm a row over its features; standard "
    "scaling gives mean 0 and deviation 1, min-max scaling the range from 0 to 1.",
)
def bn_ln() -> Trial:
    by_column, by_row = ref.batch_norm(HOUSES, eps=0), ref.layer_norm(HOUSES, eps=0)
    is_standard = (
        same(by_column.mean(axis=0), np.zeros(3)) and same(by_column.std(axis=0), np.ones(3))
    ) and (same(by_row.mean(axis=1), np.zeros(5)) and same(by_row.std(axis=1), np.ones(5)))
    other = HOUSES.copy()
    other[0] *= 3  # one other house
    row_depends = moved(ref.batch_norm(other)[1:], ref.batch_norm(HOUSES)[1:])
    row_alone = same(ref.layer_norm(other)[1:], ref.layer_norm(HOUSES)[1:])
    scaled = ref.min_max_scale(HOUSES)
    in_range = same(scaled.min(axis=0), np.zeros(3)) and same(scaled.max(axis=0), np.ones(3))
    return Trial(
        is_standard
        and row_depends
        and row_alone
        and in_range
        and same(ref.standard_scale(HOUSES), by_column),
        "on a table of 5 houses both hold; changing one house moves the others under batch norm "
        "and not under layer norm",
    )


# --- attention ------------------------------------------------------------------------------


def variance_of_scores(d_k: int) -> float:
    """The exact variance of q·k over all queries and keys with entries ±1."""
    keys = np.array(list(product((-1, 1), repeat=d_k)))  # (2^K, K)
    return float((keys @ keys.T).var())


def entropy_and_gradient(scores: Array) -> tuple[float, float]:
    """The entropy of the softmax, and the size of its derivative by the scores."""
    p = ref.softmax(scores)  # (B, S)
    jacobian = p[..., None] * np.eye(p.shape[-1]) - p[..., None] * p[..., None, :]
    entropy = -(p * ref.log_softmax(scores)).sum(axis=-1)
    gradient = np.sqrt((jacobian**2).sum(axis=(-2, -1)))
    return float(entropy.mean()), float(gradient.mean())


@HAND.tested(
    "scaling",
    "scaled dot product",
    "Dot products grow with d_k until the softmax saturates and its gradient vanishes; dividing by "
    "√d_k prevents it.",
)
def scaling() -> Trial:
    sizes = (2, 3, 5, 7)
    grows = all(abs(variance_of_scores(d_k) - d_k) < 1e-9 for d_k in sizes)
    rng, d_k = np.random.default_rng(29), 512
    q, k = rng.normal(size=(211, 1, d_k)), rng.normal(size=(211, 7, d_k))
    scores = (q * k).sum(axis=-1)
    raw_entropy, raw_gradient = entropy_and_gradient(scores)
    entropy, gradient = entropy_and_gradient(scores / np.sqrt(d_k))
    return Trial(
        bool(grows and raw_entropy < entropy / 10 and raw_gradient < gradient / 4),
        "the variance of q·k is d_k exactly for entries ±1; at d_k = 512 leaving √d_k out costs "
        "nine tenths of the entropy and three quarters of the gradient",
    )


@HAND.tested(
    "8-heads",
    "multi-head attention",
    "The input is split into 8 heads, whose outputs are laid side by side and multiplied by W^O.",
)
def eight_heads() -> Trial:
    rng, n, d_model, heads, d_k = np.random.default_rng(31), 3, 512, 8, 64
    x, params = rng.normal(size=(n, d_model)) / 8, attention_params(rng, d_model)
    q, k, v = (x @ params[name] / 8 for name in ("w_q", "w_k", "w_v"))
    columns = [slice(h * d_k, (h + 1) * d_k) for h in range(heads)]
    outputs = [ref.attention(q[:, c], k[:, c], v[:, c]) for c in columns]
    by_hand = np.concatenate(outputs, axis=-1) @ params["w_o"] / 64
    scaled = {name: params[name] / 8 for name in ("w_q", "w_k", "w_v")}
    whole = ref.multi_head_attention(x, x, scaled | {"w_o": params["w_o"] / 64}, heads)
    shapes = ref.split_heads(q, heads).shape == (heads, n, d_k) and whole.shape == (n, d_model)
    return Trial(
        shapes and same(whole, by_hand),
        "with d_model = 512 and d_k = 64, 8 heads computed one by one give the same as all at once",
    )


@HAND.tested("pad-mask", "masking", "Padded positions do not affect the result.")
def pad_mask() -> Trial:
    rng, ids = np.random.default_rng(37), [5, 3, 7, 0, 0]
    x, params = rng.normal(size=(5, 6)), layer_params(rng, 6)
    changed = x.copy()
    changed[3:] = rng.normal(size=(2, 6))
    mask = ref.padding_mask(ids, pad_id=0)
    before, after = (ref.encoder_layer(y, params, 2, mask)[:3] for y in (x, changed))
    unmasked = [ref.encoder_layer(y, params, 2)[:3] for y in (x, changed)]
    return Trial(
        same(before, after) and moved(*unmasked),
        "with the mask, other vectors at 2 padded positions leave the 3 real ones where they were",
    )


@HAND.tested("lookahead", "masking", "Position t sees only positions up to t.")
def lookahead() -> Trial:
    rng = np.random.default_rng(41)
    x, params, memory = rng.normal(size=(7, 6)), layer_params(rng, 6), rng.normal(size=(5, 6))
    mask = ref.look_ahead_mask(7)
    before = ref.decoder_layer(x, memory, params, 2, self_mask=mask)
    holds = True
    for t in range(6):
        changed = x.copy()
        changed[t + 1 :] += rng.normal(size=(6 - t, 6))
        after = ref.decoder_layer(changed, memory, params, 2, self_mask=mask)
        holds &= same(before[: t + 1], after[: t + 1]) and moved(before[t + 1 :], after[t + 1 :])
    return Trial(holds, "changing the tokens after t moves nothing up to t, for each t of 7")


# --- depth ----------------------------------------------------------------------------------


def jacobian(function: Callable[[Array], Array], x: Array, step: float = 1e-6) -> Array:
    """The derivative of a function of one row, by central differences."""
    moves = step * np.eye(len(x))
    return np.array([(function(x + m) - function(x - m)) / (2 * step) for m in moves])  # (D, D)


def residual_layer(row: Array, residual: int, weights: dict[str, Array]) -> Array:
    return residual * row + ref.feed_forward(row[None], **weights)[0]


def gradient_norms(depth: int = 24, d_model: int = 7, d_ff: int = 11) -> list[float]:
    """The size of the gradient that passes a stack of layers, without and with a residual path."""
    norms = []
    for residual in (0, 1):
        rng = np.random.default_rng(43)
        x, gradient = rng.normal(size=d_model), np.eye(d_model)
        for _ in range(depth):
            weights = feed_forward_params(rng, d_model, d_ff)
            weights["w1"], weights["w2"] = weights["w1"] / 5, weights["w2"] / 5

            layer = partial(residual_layer, residual=residual, weights=weights)
            gradient, x = gradient @ jacobian(layer, x), layer(x)
        norms.append(float(np.linalg.norm(gradient)))
    return norms


@HAND.tested(
    "residual",
    "residual connections",
    "A residual path keeps the gradient alive through many layers.",
)
def residual() -> Trial:
    without, with_path = gradient_norms()
    return Trial(
        bool(without < 1e-6 and with_path > 0.1),
        "after 24 layers less than a millionth of the gradient is left without the residual path, "
        "more than a tenth with it",
    )
