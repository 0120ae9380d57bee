"""The transformer's equations in NumPy float64, one short function each.

Shapes use one alphabet: B batch, T target length, S source length, D d_model, H heads, K d_k,
F d_ff, V vocabulary; `...` is any number of leading batch axes. A mask is boolean, True where
attention is allowed. The last line of a docstring says where the equation stands.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfmlib.support import tiles, validate
from tfmlib.support.arrays import Array, ArrayLike, Floats, Mask, Scalar

Params = Mapping[str, ArrayLike]  # the arrays of a sublayer, by name
LayerParams = Mapping[str, Mapping[str, Any]]  # the arguments of each sublayer, by name

# --- words as vectors -----------------------------------------------------------------------


def one_hot(ids: ArrayLike, vocab_size: int) -> Array:
    """Write each token id as a row of zeros with a single one.

    >>> one_hot([2, 0], vocab_size=3)
    array([[0., 0., 1.],
           [1., 0., 0.]])

    notes §3.1; slides.
    """
    ids = validate.token_ids(ids, validate.positive(vocab_size, "vocab_size"))
    hot: Mask = ids[..., None] == np.arange(vocab_size)  # (..., T, V)
    return hot.astype(np.float64)


def embed(ids: ArrayLike, table: ArrayLike) -> Array:
    """Look up each token's row of the embedding table, which is `one_hot(ids, V) @ table`.

    >>> embed([1], [[0.12, 0.63], [0.83, 0.34]])
    array([[0.83, 0.34]])

    notes §3.1; 2017 paper §3.4; slides.
    """
    table = validate.matrix(table, "table")  # (V, D)
    return table[validate.token_ids(ids, len(table))]  # (..., T, D)


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> Array | Scalar:
    """Compare the directions of two vectors: their dot product over the product of their lengths.

    >>> float(cosine_similarity([1, 0, 2], [0, 1, 5]).round(2))
    0.88

    whiteboard.
    """
    a, b = validate.floats(a, "a", least_ndim=1), validate.floats(b, "b", least_ndim=1)
    validate.same_size(a, -1, "a", b, -1, "b")
    a, b = _scaled_to_one(a), _scaled_to_one(b)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    product: Array | Scalar = (a * b).sum(axis=-1)
    return product / np.where(lengths == 0, 1, lengths)


def _scaled_to_one(x: Array) -> Array:
    """Divide each vector by its largest entry: its squares then neither vanish nor overflow."""
    largest = np.abs(x).max(axis=-1, keepdims=True)
    return x / np.where(largest == 0, 1, largest)


def score_gradient(counts: ArrayLike, scores: ArrayLike) -> Array:
    """Differentiate the skip-gram loss, the mean surprise at all counted pairs, by the scores.

    >>> score_gradient([[3, 1]], [[0, 0]])
    array([[-0.25,  0.25]])

    notes §3.1.
    """
    counts, scores = validate.matrix(counts, "counts"), validate.matrix(scores, "scores")  # (V, W)
    occurrences = counts.sum(axis=1, keepdims=True)  # (V, 1)
    gradient: Array = (occurrences * softmax(scores) - counts) / counts.sum()
    return gradient


# --- positions ------------------------------------------------------------------------------


def _frequencies(d_model: int) -> Array:
    """ω_j = 10000^(-2j/d), one for each pair of dimensions."""
    return 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (D/2,)


def sinusoidal_encoding(length: int, d_model: int) -> Array:
    """Encode positions 0 … length - 1 as sines (even dimensions) and cosines (odd dimensions).

    The result P is added to the embeddings: X = X' + P.

    >>> sinusoidal_encoding(2, 4)[1].round(2)
    array([0.84, 0.54, 0.01, 1.  ])

    Eq. (2)-(3), notes §3.2; Eq. (5)-(6), notes §3.2; 2017 paper §3.5; handwritten notes.
    """
    length, d_model = validate.positive(length, "length"), validate.even(d_model, "d_model")
    angles = np.arange(length)[:, None] * _frequencies(d_model)  # (T, D/2)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


def shift_matrix(offset: float, d_model: int) -> Array:
    """Build the rotation M, pair by pair, that moves an encoding: M @ PE_i = PE_{i + offset}.

    >>> (shift_matrix(1, 4) @ [0, 1, 0, 1]).round(2)
    array([0.84, 0.54, 0.01, 1.  ])

    Eq. (4), notes §3.2.
    """
    d_model = validate.even(d_model, "d_model")
    angles = validate.shaped(offset, (), "offset") * _frequencies(d_model)  # (D/2,)
    sine, cosine = np.arange(0, d_model, 2), np.arange(1, d_model, 2)
    m = np.zeros((d_model, d_model))
    m[sine, sine] = m[cosine, cosine] = np.cos(angles)
    m[sine, cosine], m[cosine, sine] = np.sin(angles), -np.sin(angles)
    return m


def rope(x: ArrayLike, positions: ArrayLike) -> Array:
    """Rotate each pair of dimensions by position × ω_j, so that a score sees only the offset.

    >>> rope([[1, 0, 1, 0]], positions=[1]).round(2)
    array([[0.54, 0.84, 1.  , 0.01]])

    slides.
    """
    x = validate.floats(x, "x", least_ndim=2)  # (..., T, K)
    positions = validate.floats(positions, "positions")  # (T,) or (..., T)
    validate.broadcasts_to(positions, x.shape[:-1], "positions")
    frequencies = _frequencies(validate.even(x.shape[-1], "the length of x's last axis"))
    angles = positions[..., None] * frequencies  # (..., T, K/2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (..., T, K/2) each
    turned = (
        even * np.cos(angles) - odd * np.sin(angles),
        even * np.sin(angles) + odd * np.cos(angles),
    )
    return np.stack(turned, axis=-1).reshape(x.shape)


# --- masks ----------------------------------------------------------------------------------


def padding_mask(ids: ArrayLike, pad_id: int) -> Mask:
    """Allow attention to every token but the padding.

    >>> padding_mask([7, 5, 0], pad_id=0)
    array([[ True,  True, False]])

    notes §5; handwritten notes.
    """
    ids = validate.integers(ids, "ids", least_ndim=1)
    allowed: Mask = ids[..., None, :] != validate.of_kind(pad_id, int, "pad_id")  # (..., 1, S)
    return allowed


def look_ahead_mask(n: int) -> Mask:
    """Allow position t to attend to positions up to t and to none after.

    >>> look_ahead_mask(3).sum(axis=-1)
    array([1, 2, 3])

    Eq. (18), notes §4.2; 2017 paper §3.2.3.
    """
    return np.tri(validate.positive(n, "n"), dtype=bool)  # (T, T)


def additive(mask: ArrayLike) -> Array:
    """Turn a boolean mask into the matrix B that is added to the scores: 0 or -∞.

    >>> additive([True, False])
    array([  0., -inf])

    Eq. (18), notes §4.2.
    """
    return np.where(validate.mask(mask, np.shape(mask)), 0.0, -np.inf)


# --- attention ------------------------------------------------------------------------------


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """Turn scores into weights that are positive and sum to one; a row of -∞ gives zeros.

    >>> softmax([1.5, 1]).round(2)
    array([0.62, 0.38])

    Eq. (11), notes §3.3.
    """
    powers = np.exp(_below_peak(x, axis))
    total = powers.sum(axis=axis, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """Take the logarithm of the softmax without leaving the range of floating point.

    >>> log_softmax([1000, 1000]).round(2)
    array([-0.69, -0.69])

    Eq. (11), notes §3.3.
    """
    x = _below_peak(x, axis)
    total = np.exp(x).sum(axis=axis, keepdims=True)
    return x - np.log(np.where(total == 0, 1, total))


def _below_peak(x: ArrayLike, axis: int) -> Array:
    """Subtract the largest entry: softmax does not change, and exp cannot overflow."""
    x = validate.floats(x, "x", least_ndim=1)
    peak = x.max(axis=axis, keepdims=True)
    return x - np.where(peak == -np.inf, 0, peak)  # -∞ - (-∞) would be NaN


def attention_pool(
    query: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    similarity: Callable[[Array, Array], ArrayLike],
) -> Array:
    """Pool the values of a database, each weighted by the similarity of its key to the query.

    >>> attention_pool([0, 1], np.eye(2), [[3, 5], [7, 11]], similarity=np.dot)
    array([ 7., 11.])

    Eq. (1), notes §1; slides.
    """
    keys, values = validate.matrix(keys, "keys"), validate.matrix(values, "values")
    validate.same_size(keys, 0, "keys", values, 0, "values")
    query = validate.floats(query, "query", least_ndim=1)
    weights = np.stack([similarity(query, key) for key in keys], axis=-1)  # (..., S)
    return weights @ values


def attention_weights(q: ArrayLike, k: ArrayLike, mask: ArrayLike | None = None) -> Array:
    """Say how much each query attends to each key: softmax of their scaled dot products.

    >>> attention_weights([[1, 0, 2]], [[0, 1, 5], [1, 0, 2]]).round(2)
    array([[0.95, 0.05]])

    Eq. (10)-(11), notes §3.3; Eq. (18), notes §4.2; Eq. (1), 2017 paper §3.2.1.
    """
    q, k = validate.floats(q, "q", least_ndim=2), validate.floats(k, "k", least_ndim=2)
    validate.same_size(q, -1, "q", k, -1, "k")
    validate.batch(q=q, k=k)
    scores = q @ k.swapaxes(-1, -2)  # (..., T, S)
    if mask is not None:
        scores = scores + additive(validate.mask(mask, scores.shape))
    return softmax(scores / np.sqrt(q.shape[-1]))


def attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, mask: ArrayLike | None = None) -> Array:
    """Mix the values by the attention weights of their keys.

    >>> attention([[0, 0]], [[1, 2], [3, 4]], [[3, 5], [7, 11]])
    array([[5., 8.]])

    Eq. (10), notes §3.3; Eq. (18), notes §4.2; Eq. (1), 2017 paper §3.2.1.
    """
    q, k, v, _ = validate.queries_keys_values(q, k, v)
    return attention_weights(q, k, mask) @ v  # (..., T, K)


def blocked_attention(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, causal: bool = False, block: int = 256
) -> Floats:
    """Compute `attention` by online softmax, block by block: the score matrix never exists whole.

    Memory grows with n, not n². Unlike its neighbours, it keeps float32 input in float32.

    >>> blocked_attention([[0, 0]], [[1, 2], [3, 4]], [[3, 5], [7, 11]], block=1)
    array([[5., 8.]])

    Eq. (10)-(11), notes §3.3; Eq. (18), notes §4.2; Eq. (1), 2017 paper §3.2.1.
    """
    q, k, v, batch = validate.queries_keys_values(q, k, v, keep_float32=True)
    block = min(validate.positive(block, "block"), max(q.shape[-2], k.shape[-2]))
    out = np.zeros((*batch, q.shape[-2], v.shape[-1]), q.dtype)
    B = additive(look_ahead_mask(block)).astype(q.dtype) if causal else None
    for index in np.ndindex(batch):
        tiles.attend(q[index], k[index], v[index], B, block, out[index])
    return out


def split_heads(x: ArrayLike, heads: int) -> Array:
    """Cut the last axis into heads and bring the heads before the positions.

    >>> split_heads([[1, 2, 3, 4]], heads=2)
    array([[[1., 2.]],
    <BLANKLINE>
           [[3., 4.]]])

    Eq. (12)-(13), notes §3.4; 2017 paper §3.2.2.
    """
    x = validate.floats(x, "x", least_ndim=2)
    *batch, T, D = x.shape
    K = validate.heads_divide(D, heads)
    return x.reshape(*batch, T, heads, K).swapaxes(-2, -3)  # (..., H, T, K)


def merge_heads(x: ArrayLike) -> Array:
    """Lay the heads side by side again, as `split_heads` found them.

    >>> merge_heads([[[1, 2]], [[3, 4]]])
    array([[1., 2., 3., 4.]])

    Eq. (14), notes §3.4; 2017 paper §3.2.2.
    """
    x = validate.floats(x, "x", least_ndim=3)
    *batch, H, T, K = x.shape
    return x.swapaxes(-2, -3).reshape(*batch, T, H * K)  # (..., T, H·K)


def multi_head_attention(
    x: ArrayLike, context: ArrayLike, params: Params, heads: int, mask: ArrayLike | None = None
) -> Array:
    """Let each position of x attend to the context in several heads, each with its own projection.

    `params` holds w_q, w_k, w_v, w_o and, if wanted, b_q, b_k, b_v, b_o.

    >>> eye = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), np.eye(2))
    >>> multi_head_attention([[1, 0]], [[1, 0], [0, 1]], eye, heads=2).round(2)
    array([[0.73, 0.5 ]])

    Eq. (7)-(9), notes §3.3; Eq. (12)-(14), notes §3.4; 2017 paper §3.2.2.
    """
    x, context = validate.floats(x, "x", 2), validate.floats(context, "context", 2)
    q = split_heads(_project(x, params, "q"), heads)  # (..., H, T, K)
    k = split_heads(_project(context, params, "k"), heads)  # (..., H, S, K)
    v = split_heads(_project(context, params, "v"), heads)  # (..., H, S, K)
    if mask is not None:
        batch = validate.batch(x=x, context=context)
        mask = validate.mask(mask, (*batch, x.shape[-2], context.shape[-2]))
        mask = np.atleast_2d(mask)[..., None, :, :]  # the same for every head
    return _project(merge_heads(attention(q, k, v, mask)), params, "o")  # (..., T, D)


def _project(x: Array, params: Params, name: str) -> Array:
    """Take weight and optional bias of one projection out of `params`."""
    validate.has_keys(params, [f"w_{name}"], "params")
    return _linear(x, params[f"w_{name}"], params.get(f"b_{name}"), f"_{name}")


def _linear(x: Array, w: ArrayLike, b: ArrayLike | None, suffix: str) -> Array:
    """x W + b; the suffix names weight and bias when they do not fit."""
    w = validate.matrix(w, f"w{suffix}")
    validate.same_size(x, -1, f"the input of w{suffix}", w, 0, f"w{suffix}")
    return x @ w + (0.0 if b is None else validate.shaped(b, w.shape[1:], f"b{suffix}"))


# --- the rest of a layer --------------------------------------------------------------------


def layer_norm(
    x: ArrayLike, gain: ArrayLike | None = None, bias: ArrayLike | None = None, eps: float = 1e-5
) -> Array:
    """Standardise each row by its own mean and population variance, then scale and shift it.

    >>> layer_norm([2, 4, 6, 8]).round(2)
    array([-1.34, -0.45,  0.45,  1.34])

    Eq. (15), notes §3.6; handwritten notes.
    """
    x = validate.floats(x, "x", least_ndim=1)
    return _scale_and_shift(_standardise(x, -1, eps), gain, bias)


def batch_norm(
    x: ArrayLike, gain: ArrayLike | None = None, bias: ArrayLike | None = None, eps: float = 1e-5
) -> Array:
    """Standardise each feature over all rows of the batch, then scale and shift it.

    >>> batch_norm([[2, 40], [4, 80]]).round(2)
    array([[-1., -1.],
           [ 1.,  1.]])

    handwritten notes.
    """
    x = validate.floats(x, "x", least_ndim=2)
    return _scale_and_shift(_standardise(x, tuple(range(x.ndim - 1)), eps), gain, bias)


def _standardise(x: Array, axis: int | tuple[int, ...], eps: float) -> Array:
    mean: Array = x.mean(axis=axis, keepdims=True)
    variance: Array = x.var(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


def _scale_and_shift(x: Array, gain: ArrayLike | None, bias: ArrayLike | None) -> Array:
    gain = 1.0 if gain is None else validate.shaped(gain, x.shape[-1:], "gain")
    bias = 0.0 if bias is None else validate.shaped(bias, x.shape[-1:], "bias")
    return x * gain + bias


def standard_scale(x: ArrayLike) -> Array:
    """Give each column mean 0 and standard deviation 1; a constant column becomes 0.

    >>> standard_scale([[2], [4], [6], [8]]).ravel().round(2)
    array([-1.34, -0.45,  0.45,  1.34])

    handwritten notes.
    """
    x = validate.floats(x, "x", least_ndim=2)
    x = x - x[..., :1, :]  # of equal numbers the mean may be off by a rounding; of zeros it is 0
    mean: Array = x.mean(axis=-2, keepdims=True)
    deviation: Array = x.std(axis=-2, keepdims=True)
    return (x - mean) / np.where(deviation == 0, 1, deviation)


def min_max_scale(x: ArrayLike) -> Array:
    """Stretch each column to the range from 0 to 1; a constant column becomes 0.

    >>> min_max_scale([[2], [4], [6], [8]]).ravel().round(2)
    array([0.  , 0.33, 0.67, 1.  ])

    handwritten notes.
    """
    x = validate.floats(x, "x", least_ndim=2)
    low: Array = x.min(axis=-2, keepdims=True)
    span: Array = x.max(axis=-2, keepdims=True) - low
    return (x - low) / np.where(span == 0, 1, span)


def add_norm(
    x: ArrayLike,
    sublayer_output: ArrayLike,
    gain: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: float = 1e-5,
) -> Array:
    """Add what a sublayer made of x to x itself, then normalise the sum (post-norm).

    >>> add_norm([1, 2, 3, 4], [1, 2, 3, 4]).round(2)
    array([-1.34, -0.45,  0.45,  1.34])

    Eq. (16), notes §3.6; 2017 paper §3.1.
    """
    x = validate.floats(x, "x", least_ndim=1)
    sublayer_output = validate.shaped(sublayer_output, x.shape, "sublayer_output")
    return layer_norm(x + sublayer_output, gain, bias, eps)


def feed_forward(
    x: ArrayLike, w1: ArrayLike, b1: ArrayLike | None, w2: ArrayLike, b2: ArrayLike | None
) -> Array:
    """Send each position through the same two linear maps with a ReLU between them.

    >>> feed_forward([[1, -2]], np.eye(2), [0, 0], np.eye(2), [0.5, 0.5])
    array([[1.5, 0.5]])

    Eq. (17), notes §3.7; Eq. (2), 2017 paper §3.3.
    """
    x = validate.floats(x, "x", least_ndim=1)
    hidden = np.maximum(0, _linear(x, w1, b1, "1"))  # (..., T, F)
    return _linear(hidden, w2, b2, "2")  # (..., T, D)


def encoder_layer(
    x: ArrayLike,
    params: LayerParams,
    heads: int,
    mask: ArrayLike | None = None,
    norm_first: bool = False,
) -> Array:
    """Apply self-attention and the feed-forward network, each followed by add and norm.

    `params` holds the dicts "self_attention" and "feed_forward" (their arguments by name) and,
    if wanted, "norm1" and "norm2" (gain, bias). With `norm_first` a sublayer reads a normed copy
    of x and the sum is not normed (pre-norm).

    >>> zero = {"self_attention": dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), np.zeros((4, 4)))}
    >>> zero["feed_forward"] = dict(w1=np.zeros((4, 7)), b1=None, w2=np.zeros((7, 4)), b2=None)
    >>> encoder_layer([[2, 4, 6, 8]], zero, heads=2).round(2)
    array([[-1.34, -0.45,  0.45,  1.34]])

    Eq. (16), notes §3.6; Eq. (17), notes §3.7; 2017 paper §3.1.
    """
    validate.has_keys(params, ["self_attention", "feed_forward"], "params")
    x = validate.floats(x, "x", least_ndim=2)
    norm1, norm2 = params.get("norm1", {}), params.get("norm2", {})

    def attend(x: Array) -> Array:
        return multi_head_attention(x, x, params["self_attention"], heads, mask)

    def refine(x: Array) -> Array:
        return feed_forward(x, **params["feed_forward"])

    if norm_first:
        x = x + attend(layer_norm(x, **norm1))
        return x + refine(layer_norm(x, **norm2))
    x = add_norm(x, attend(x), **norm1)
    return add_norm(x, refine(x), **norm2)


def decoder_layer(
    x: ArrayLike,
    memory: ArrayLike,
    params: LayerParams,
    heads: int,
    self_mask: ArrayLike | None = None,
    cross_mask: ArrayLike | None = None,
) -> Array:
    """Apply self-attention, attention to the encoder's memory and the feed-forward network.

    `params` is an encoder layer's with "cross_attention" and "norm3" besides.

    >>> zero = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), np.zeros((4, 4)))
    >>> zero = {"self_attention": zero, "cross_attention": zero}
    >>> zero["feed_forward"] = dict(w1=np.zeros((4, 7)), b1=None, w2=np.zeros((7, 4)), b2=None)
    >>> decoder_layer([[2, 4, 6, 8]], np.ones((3, 4)), zero, heads=2).round(2)
    array([[-1.34, -0.45,  0.45,  1.34]])

    Eq. (16), notes §3.6; Eq. (17), notes §3.7; Eq. (18), notes §4.2; 2017 paper §3.1.
    """
    validate.has_keys(params, ["self_attention", "cross_attention", "feed_forward"], "params")
    attended = multi_head_attention(x, x, params["self_attention"], heads, self_mask)
    x = add_norm(x, attended, **params.get("norm1", {}))
    attended = multi_head_attention(x, memory, params["cross_attention"], heads, cross_mask)
    x = add_norm(x, attended, **params.get("norm2", {}))
    return add_norm(x, feed_forward(x, **params["feed_forward"]), **params.get("norm3", {}))


# --- training -------------------------------------------------------------------------------


def cross_entropy(
    logits: ArrayLike, targets: ArrayLike, smoothing: float = 0.0, ignore_id: int | None = None
) -> Scalar:
    """Average the surprise at the right token; smoothing spreads that share over all tokens.

    >>> float(cross_entropy([[6, 4], [3, 8]], [0, 1]).round(3))
    0.067

    notes §4.2; 2017 paper §5.4.
    """
    logs = log_softmax(validate.floats(logits, "logits", least_ndim=1))  # (..., V)
    kept, targets = validate.targets(targets, logs.shape, ignore_id)  # (...), (N,)
    smoothing, V = validate.fraction(smoothing, "smoothing"), logs.shape[-1]
    p = (1 - smoothing) * one_hot(targets, V) + smoothing / V  # (N, V)
    surprise = np.where(p == 0, 0, 0 - logs[kept])  # 0 · ∞ would be NaN
    return np.float64((p * surprise).sum(axis=-1).mean())


def learning_rate(step: ArrayLike, d_model: int, warmup: int) -> Array | Scalar:
    """Raise the rate linearly for `warmup` steps, then lower it as 1/√step.

    >>> float(learning_rate(4000, d_model=512, warmup=4000).round(6))
    0.000699

    Eq. (3), 2017 paper §5.3.
    """
    step = validate.at_least_one(step, "step")
    d_model, warmup = validate.positive(d_model, "d_model"), validate.positive(warmup, "warmup")
    rate: Array | Scalar = d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)
    return rate


# --- before the transformer -----------------------------------------------------------------


def rnn_states(x: ArrayLike, w: ArrayLike, u: ArrayLike) -> Array:
    """Read tokens one after another; return the state after each, tanh(h W + x U).

    >>> rnn_states([[1], [0]], w=[[0, 2], [0, 0]], u=[[0.5, 0]]).round(2)
    array([[0.46, 0.  ],
           [0.  , 0.73]])

    notes.
    """
    x, w, u = (
        validate.floats(x, "x", least_ndim=2),
        validate.matrix(w, "w"),
        validate.matrix(u, "u"),
    )
    validate.same_size(w, 0, "w", w, 1, "w")
    validate.same_size(x, -1, "x", u, 0, "u")
    validate.same_size(u, 1, "u", w, 0, "w")
    inputs = x @ u  # (..., T, F)
    states = np.empty_like(inputs)
    h = np.zeros_like(inputs[..., 0, :])  # (..., F)
    for t in range(inputs.shape[-2]):
        h = states[..., t, :] = np.tanh(h @ w + inputs[..., t, :])
    return states


def rnn_gradient(states: ArrayLike, w: ArrayLike, u: ArrayLike) -> Array:
    """Differentiate the last state of a recurrent network by its first token.

    >>> rnn_gradient([[0], [0.5]], w=[[2]], u=[[3]])
    array([[4.5]])

    notes.
    """
    states, w, u = (
        validate.matrix(a, name) for a, name in ((states, "states"), (w, "w"), (u, "u"))
    )
    validate.same_size(states, 1, "states", w, 0, "w")
    slopes = 1 - states**2  # (T, F): those of tanh
    gradient = slopes[0, :, None] * u.T  # (F, D)
    for slope in slopes[1:]:
        gradient = slope[:, None] * (w.T @ gradient)
    return gradient


def readable(
    states: ArrayLike, tokens: ArrayLike, new_states: ArrayLike, new_tokens: ArrayLike
) -> float:
    """Fit a matrix that reads tokens from states; return the share that it reads from new ones.

    >>> states, tokens = [[1, 0], [0, 1], [1, 1]], [[2], [0], [2]]
    >>> round(readable(states, tokens, new_states=[[1, 3], [2, 0]], new_tokens=[[3], [4]]), 2)
    0.96

    notes.
    """
    states, tokens = validate.matrix(states, "states"), validate.matrix(tokens, "tokens")
    new_states = validate.matrix(new_states, "new_states")
    new_tokens = validate.matrix(new_tokens, "new_tokens")
    reader = np.linalg.lstsq(states, tokens)[0]  # (F, D)
    missed = new_tokens - new_states @ reader  # (L, D)
    return float(1 - (missed**2).sum() / (new_tokens**2).sum())
