"""Each function of `tfmlib.ref` against torch's own implementation of the same thing."""

import inspect
import math

import numpy as np
import pytest

from tfmlib import ref

torch = pytest.importorskip("torch")
F = torch.nn.functional

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
B, T, S, D, H, K, FF, V = 2, 5, 7, 12, 3, 4, 13, 11  # D = H·K; all others prime
CHECKS = {}


def parity(name):
    """Register a check: given a Source of arrays, it yields pairs (ours, torch's)."""

    def register(check):
        assert name not in CHECKS, f"two parity checks for {name}"
        CHECKS[name] = check
        return check

    return register


class Source:
    """Random arrays of one dtype; `both` gives the same numbers to NumPy and to torch."""

    def __init__(self, dtype):
        self.rng = np.random.default_rng(20170612)
        self.dtype = dtype
        self.torch_dtype = getattr(torch, dtype)

    def array(self, *shape):
        return self.rng.standard_normal(shape).astype(self.dtype)

    def both(self, *shape):
        array = self.array(*shape)
        return array, torch.from_numpy(array.copy())

    def ids(self, *shape):
        ids = self.rng.integers(0, V, shape)
        return ids, torch.from_numpy(ids.copy())


PUBLIC = [
    name
    for name, function in inspect.getmembers(ref, inspect.isfunction)
    if function.__module__ == ref.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("name", PUBLIC)
def test_no_public_function_lacks_a_parity_check(name):
    assert name in CHECKS


def test_no_parity_check_is_for_a_function_that_is_gone():
    assert set(CHECKS) <= set(PUBLIC)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", PUBLIC)
def test_equations_agree_with_torch(name, dtype):
    pairs = list(CHECKS[name](Source(dtype)))
    assert pairs, f"{name}: nothing was compared"
    for ours, theirs in pairs:
        theirs = theirs.detach().numpy()
        assert np.shape(ours) == theirs.shape
        assert (theirs != theirs.flat[0]).any() or theirs.ndim == 0, "a constant proves little"
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE[dtype])


# --- words and positions ------------------------------------------------------------------------


@parity("one_hot")
def one_hot(source):
    ids, ids_t = source.ids(B, T)
    yield ref.one_hot(ids, V), F.one_hot(ids_t, V)


@parity("embed")
def embed(source):
    (ids, ids_t), (table, table_t) = source.ids(B, T), source.both(V, D)
    yield ref.embed(ids, table), F.embedding(ids_t, table_t)


@parity("cosine_similarity")
def cosine_similarity(source):
    (a, a_t), (b, b_t) = source.both(B, T, D), source.both(T, D)
    yield ref.cosine_similarity(a, b), F.cosine_similarity(a_t, b_t, dim=-1)


@parity("score_gradient")
def score_gradient(source):
    counts = source.rng.integers(0, 5, (V, S))
    counts[3] = 0  # a word without neighbours
    scores, scores_t = source.both(V, S)
    scores_t.requires_grad_()
    counts_t = torch.from_numpy(counts)
    loss = -(counts_t * F.log_softmax(scores_t, dim=-1)).sum() / counts_t.sum()
    yield ref.score_gradient(counts, scores), torch.autograd.grad(loss, scores_t)[0]


def turns(positions, width, dtype=torch.float64):
    """Complex numbers e^(i · position · ω_j), by torch."""
    exponents = torch.arange(0, width, 2, dtype=dtype) / width
    angles = torch.outer(torch.as_tensor(positions, dtype=dtype), torch.pow(1e4, -exponents))
    return torch.polar(torch.ones_like(angles), angles)


@parity("sinusoidal_encoding")
def sinusoidal_encoding(source):
    cosine_sine = torch.view_as_real(turns(range(T), D))
    yield ref.sinusoidal_encoding(T, D), cosine_sine.flip(-1).flatten(-2)


@parity("shift_matrix")
def shift_matrix(source):
    """A rotation is the exponential of its generator."""
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    speeds = torch.pow(1e4, -torch.arange(0, D, 2, dtype=torch.float64) / D)
    generator = torch.block_diag(*(speed * quarter for speed in speeds))
    for offset in (1, 5, -3):
        yield ref.shift_matrix(offset, D), torch.linalg.matrix_exp(offset * generator)


@parity("rope")
def rope(source):
    """Rotating a pair is multiplying a complex number."""
    x, x_t = source.both(B, H, T, K)
    positions = [0, 1, 2, 7, 11]
    pairs = torch.view_as_complex(x_t.double().unflatten(-1, (K // 2, 2)))
    turned = torch.view_as_real(pairs * turns(positions, K)).flatten(-2)
    yield ref.rope(x, positions), turned


# --- masks --------------------------------------------------------------------------------------


@parity("look_ahead_mask")
def look_ahead_mask(source):
    forbidden = torch.nn.Transformer.generate_square_subsequent_mask(T).isinf()
    yield ref.look_ahead_mask(T), ~forbidden


@parity("additive")
def additive(source):
    theirs = torch.nn.Transformer.generate_square_subsequent_mask(T, dtype=source.torch_dtype)
    yield ref.additive(np.tri(T, dtype=bool)), theirs


@parity("padding_mask")
def padding_mask(source):
    """torch marks the padding instead: `key_padding_mask` is True where it is ignored."""
    x, x_t = source.both(B, S, D)
    ids = np.array([[3, 5, 2, 2, 7, 0, 0], [1, 2, 0, 0, 0, 0, 0]])
    params, module = attention_module(source)
    theirs, _ = module(x_t, x_t, x_t, key_padding_mask=torch.from_numpy(ids == 0))
    mask = ref.padding_mask(ids, pad_id=0)
    yield ref.multi_head_attention(x, x, params, H, mask), theirs


# --- attention ----------------------------------------------------------------------------------


@parity("softmax")
def softmax(source):
    x, x_t = source.both(B, T, S)
    for axis in (-1, 0, 1):
        yield ref.softmax(30 * x, axis), F.softmax(30 * x_t, dim=axis)


@parity("log_softmax")
def log_softmax(source):
    x, x_t = source.both(B, T, S)
    for axis in (-1, 0, 1):
        yield ref.log_softmax(x, axis), F.log_softmax(x_t, dim=axis)


@parity("attention_pool")
def attention_pool(source):
    """With a Gaussian kernel, whose distances torch has of its own."""
    (q, q_t), (k, k_t), (v, v_t) = source.both(B, T, K), source.both(S, K), source.both(S, D)

    def gaussian(query, key):
        return np.exp(-((query - key) ** 2).sum(axis=-1) / 2)

    weights = torch.exp(
        -(torch.cdist(q_t, k_t, compute_mode="donot_use_mm_for_euclid_dist") ** 2) / 2
    )
    yield ref.attention_pool(q, k, v, gaussian), weights @ v_t


def some_mask(source):
    """Random, with one row where nothing is allowed: there both give zeros."""
    mask = source.rng.random((B, 1, T, S)) < 0.5
    mask[1, 0, 2] = False
    return mask, torch.from_numpy(mask.copy())


@parity("attention_weights")
def attention_weights(source):
    """With the identity as values, attention returns its weights."""
    (q, q_t), (k, k_t) = source.both(B, H, T, K), source.both(B, H, S, K)
    identity = torch.eye(S, dtype=source.torch_dtype).expand(B, H, S, S)
    mask, mask_t = some_mask(source)
    sdpa = F.scaled_dot_product_attention
    yield ref.attention_weights(q, k), sdpa(q_t, k_t, identity)
    yield ref.attention_weights(q, k, mask), sdpa(q_t, k_t, identity, attn_mask=mask_t)


@parity("attention")
def attention(source):
    (q, q_t), (k, k_t) = source.both(B, H, T, K), source.both(B, H, S, K)
    (v, v_t), (mask, mask_t) = source.both(B, H, S, D), some_mask(source)
    sdpa, causal = F.scaled_dot_product_attention, np.tri(T, S, dtype=bool)
    yield ref.attention(q, k, v), sdpa(q_t, k_t, v_t)
    yield ref.attention(q, k, v, mask), sdpa(q_t, k_t, v_t, attn_mask=mask_t)
    yield ref.attention(q, k, v, causal), sdpa(q_t, k_t, v_t, is_causal=True)


@parity("blocked_attention")
def blocked_attention(source):
    (q, q_t), (k, k_t) = source.both(B, H, 31, K), source.both(B, H, 31, K)
    v, v_t = source.both(B, H, 31, D)
    for causal in (False, True):
        theirs = F.scaled_dot_product_attention(q_t, k_t, v_t, is_causal=causal)
        for block in (1, 7, 256):
            ours = ref.blocked_attention(q, k, v, causal, block)
            assert ours.dtype == source.dtype
            yield ours, theirs


@parity("split_heads")
def split_heads(source):
    x, x_t = source.both(B, T, D)
    yield ref.split_heads(x, H), torch.stack(x_t.chunk(H, dim=-1), dim=1)


@parity("merge_heads")
def merge_heads(source):
    x, x_t = source.both(B, H, T, K)
    yield ref.merge_heads(x), torch.cat(x_t.unbind(dim=1), dim=-1)


def attention_module(source):
    """Random parameters, ours, and torch's module that holds the same ones, transposed."""
    params = {f"w_{name}": source.array(D, D) / math.sqrt(D) for name in "qkvo"}
    params |= {f"b_{name}": source.array(D) for name in "qkvo"}
    module = torch.nn.MultiheadAttention(D, H, batch_first=True, dtype=source.torch_dtype)
    copy_attention(module, params)
    return params, module


@torch.no_grad()
def copy_attention(module, params):
    def tensor(array):
        return torch.from_numpy(np.ascontiguousarray(array))

    module.in_proj_weight.copy_(tensor(np.concatenate([params[f"w_{n}"].T for n in "qkv"])))
    module.in_proj_bias.copy_(tensor(np.concatenate([params[f"b_{n}"] for n in "qkv"])))
    module.out_proj.weight.copy_(tensor(params["w_o"].T))
    module.out_proj.bias.copy_(tensor(params["b_o"]))


@parity("multi_head_attention")
def multi_head_attention(source):
    (x, x_t), (context, context_t) = source.both(B, T, D), source.both(B, S, D)
    params, module = attention_module(source)
    yield ref.multi_head_attention(x, context, params, H), module(x_t, context_t, context_t)[0]
    mask = np.tri(T, S, dtype=bool)
    theirs, _ = module(x_t, context_t, context_t, attn_mask=torch.from_numpy(~mask))
    yield ref.multi_head_attention(x, context, params, H, mask), theirs
    without = {name: w for name, w in params.items() if name.startswith("w")}
    copy_attention(module, without | {f"b_{name}": np.zeros(D) for name in "qkvo"})
    theirs, _ = module(x_t, context_t, context_t)
    yield ref.multi_head_attention(x, context, without, H), theirs


# --- the rest of a layer ------------------------------------------------------------------------


@parity("layer_norm")
def layer_norm(source):
    (x, x_t), (gain, gain_t), (bias, bias_t) = source.both(B, T, D), source.both(D), source.both(D)
    yield ref.layer_norm(x), F.layer_norm(x_t, (D,))
    yield ref.layer_norm(x, gain, bias, 0.5), F.layer_norm(x_t, (D,), gain_t, bias_t, 0.5)


@parity("batch_norm")
def batch_norm(source):
    (x, x_t), (gain, gain_t), (bias, bias_t) = source.both(B, T, D), source.both(D), source.both(D)
    features_second = x_t.movedim(-1, 1)

    def theirs(**options):
        return F.batch_norm(features_second, None, None, training=True, **options).movedim(1, -1)

    yield ref.batch_norm(x), theirs()
    yield ref.batch_norm(x, gain, bias, 0.5), theirs(weight=gain_t, bias=bias_t, eps=0.5)


@parity("standard_scale")
def standard_scale(source):
    x, x_t = source.both(B, T, D)
    deviation, mean = torch.std_mean(x_t, dim=-2, keepdim=True, correction=0)
    yield ref.standard_scale(x), (x_t - mean) / deviation


@parity("min_max_scale")
def min_max_scale(source):
    x, x_t = source.both(B, T, D)
    low, high = torch.aminmax(x_t, dim=-2, keepdim=True)
    yield ref.min_max_scale(x), (x_t - low) / (high - low)


@parity("add_norm")
def add_norm(source):
    (x, x_t), (y, y_t) = source.both(B, T, D), source.both(B, T, D)
    (gain, gain_t), (bias, bias_t) = source.both(D), source.both(D)
    yield ref.add_norm(x, y), F.layer_norm(x_t + y_t, (D,))
    theirs = F.layer_norm(x_t + y_t, (D,), gain_t, bias_t, 0.5)
    yield ref.add_norm(x, y, gain, bias, 0.5), theirs


def feed_forward_params(source):
    return {
        "w1": source.array(D, FF) / math.sqrt(D),
        "b1": source.array(FF),
        "w2": source.array(FF, D) / math.sqrt(FF),
        "b2": source.array(D),
    }


@torch.no_grad()
def copy_feed_forward(linear1, linear2, params):
    for linear, i in ((linear1, 1), (linear2, 2)):
        linear.weight.copy_(torch.from_numpy(params[f"w{i}"].T.copy()))
        linear.bias.copy_(torch.from_numpy(params[f"b{i}"]))


@parity("feed_forward")
def feed_forward(source):
    (x, x_t), params = source.both(B, T, D), feed_forward_params(source)
    network = torch.nn.Sequential(
        torch.nn.Linear(D, FF), torch.nn.ReLU(), torch.nn.Linear(FF, D)
    ).to(source.torch_dtype)
    copy_feed_forward(network[0], network[2], params)
    yield ref.feed_forward(x, **params), network(x_t)


def layer(source, kind, **options):
    """Random parameters of a whole layer, ours, and torch's layer that holds the same ones."""
    module = kind(D, H, FF, dropout=0.0, batch_first=True, dtype=source.torch_dtype, **options)
    params = {"feed_forward": feed_forward_params(source)}
    copy_feed_forward(module.linear1, module.linear2, params["feed_forward"])
    for ours, theirs in (("self_attention", "self_attn"), ("cross_attention", "multihead_attn")):
        if hasattr(module, theirs):
            params[ours], _ = attention_module(source)
            copy_attention(getattr(module, theirs), params[ours])
    for norm in ("norm1", "norm2", "norm3"):
        if hasattr(module, norm):
            params[norm] = {"gain": source.array(D), "bias": source.array(D)}
            with torch.no_grad():
                getattr(module, norm).weight.copy_(torch.from_numpy(params[norm]["gain"]))
                getattr(module, norm).bias.copy_(torch.from_numpy(params[norm]["bias"]))
    return params, module


@parity("encoder_layer")
def encoder_layer(source):
    (x, x_t), mask = source.both(B, S, D), np.arange(S) < 5
    params, module = layer(source, torch.nn.TransformerEncoderLayer)
    yield ref.encoder_layer(x, params, H), module(x_t)
    padding = torch.from_numpy(~mask).expand(B, S)
    yield ref.encoder_layer(x, params, H, mask), module(x_t, src_key_padding_mask=padding)
    params, module = layer(source, torch.nn.TransformerEncoderLayer, norm_first=True)
    yield ref.encoder_layer(x, params, H, norm_first=True), module(x_t)


@parity("decoder_layer")
def decoder_layer(source):
    (x, x_t), (memory, memory_t) = source.both(B, T, D), source.both(B, S, D)
    params, module = layer(source, torch.nn.TransformerDecoderLayer)
    yield ref.decoder_layer(x, memory, params, H), module(x_t, memory_t)
    causal, padding = np.tri(T, dtype=bool), np.arange(S) < 5
    theirs = module(
        x_t,
        memory_t,
        tgt_mask=torch.from_numpy(~causal),
        memory_key_padding_mask=torch.from_numpy(~padding).expand(B, S),
    )
    yield ref.decoder_layer(x, memory, params, H, causal, padding), theirs


# --- training -----------------------------------------------------------------------------------


@parity("cross_entropy")
def cross_entropy(source):
    (logits, logits_t), (ids, ids_t) = source.both(B, T, V), source.ids(B, T)
    rows, targets = logits_t.flatten(0, 1), ids_t.flatten()
    for smoothing in (0.0, 0.1, 1.0):
        theirs = F.cross_entropy(rows, targets, label_smoothing=smoothing)
        yield ref.cross_entropy(logits, ids, smoothing), theirs
        ignored = int(ids[0, 0])
        theirs = F.cross_entropy(rows, targets, ignore_index=ignored, label_smoothing=smoothing)
        yield ref.cross_entropy(logits, ids, smoothing, ignored), theirs


@parity("learning_rate")
def learning_rate(source):
    """By torch's schedulers: a linear rise, then the inverse root of the step."""
    warmup, steps = 5, 13
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=(D * warmup) ** -0.5)
    rise = torch.optim.lr_scheduler.LinearLR(optimiser, 1 / warmup, 1.0, warmup - 1)
    fall = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda i: math.sqrt(warmup / (warmup + i)))
    schedule = torch.optim.lr_scheduler.SequentialLR(optimiser, [rise, fall], [warmup - 1])
    rates = []
    for _ in range(steps):
        rates.append(schedule.get_last_lr()[0])
        optimiser.step()
        schedule.step()
    ours = ref.learning_rate(np.arange(1, steps + 1), D, warmup)
    yield ours, torch.tensor(rates, dtype=torch.float64)


# --- before the transformer ---------------------------------------------------------------------


def recurrent(source):
    """Tokens, W and U, and torch's network with the same weights."""
    (x, x_t), (w, w_t), (u, u_t) = source.both(B, T, D), source.both(FF, FF), source.both(D, FF)
    network = torch.nn.RNN(D, FF, bias=False, batch_first=True, dtype=source.torch_dtype)
    with torch.no_grad():
        network.weight_hh_l0.copy_(w_t.T)
        network.weight_ih_l0.copy_(u_t.T)
    return (x, w, u), (x_t, network)


@parity("rnn_states")
def rnn_states(source):
    (x, w, u), (x_t, network) = recurrent(source)
    theirs = network(x_t)[0]
    yield ref.rnn_states(x, w, u), theirs
    yield ref.rnn_states(x[1], w, u), theirs[1]


@parity("rnn_gradient")
def rnn_gradient(source):
    (x, w, u), (x_t, network) = recurrent(source)
    w, network.weight_hh_l0.data = w / 8, network.weight_hh_l0.data / 8  # not to explode
    whole = torch.autograd.functional.jacobian(lambda x: network(x)[0][-1], x_t[0])  # (F, T, D)
    yield ref.rnn_gradient(ref.rnn_states(x[0], w, u), w, u), whole[:, 0]


@parity("readable")
def readable(source):
    (states, states_t), (tokens, tokens_t) = source.both(FF, T), source.both(FF, D)
    (new, new_t), (wanted, wanted_t) = source.both(S, T), source.both(S, D)
    missed = wanted_t - new_t @ torch.linalg.lstsq(states_t, tokens_t).solution
    yield ref.readable(states, tokens, new, wanted), 1 - (missed**2).sum() / (wanted_t**2).sum()
