"""`tfmlib.model` against `tfmlib.ref`, against torch's own layers, and against what it claims."""

import doctest
import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from tfmlib import model as tm
from tfmlib import ref
from tfmlib.support import validate_torch

B, T, S, H, K, F, V = 3, 5, 11, 2, 7, 13, 19
D = H * K
CONFIG = tm.TransformerConfig(
    vocab_size=V, d_model=D, heads=H, d_ff=F, encoder_layers=2, decoder_layers=3, dropout=0.0
)
PRECISIONS = [(torch.float64, 1e-10), (torch.float32, 1e-5)]
few = settings(max_examples=20, deadline=None)


# --- helpers --------------------------------------------------------------------------------


def randomised(module, seed=0):
    """Give every parameter, biases and gains too, a value that would show if it were ignored."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape) + name.endswith("norm.weight"))
    return module.eval()


def make(dtype=torch.float64, **changes):
    return randomised(tm.Transformer(replace(CONFIG, **changes)).to(dtype))


def normal(*shape, dtype=torch.float64, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def tokens(*shape, seed=2):
    """Ids without padding."""
    return torch.randint(1, V, shape, generator=torch.Generator().manual_seed(seed))


def padded_source():
    src = tokens(B, S)
    src[0, 4:] = CONFIG.pad_id
    src[2, 9:] = CONFIG.pad_id
    return src


def array(x):
    return x.detach().double().numpy()


def close(got, wanted, tolerance):
    wanted = torch.as_tensor(wanted)
    torch.testing.assert_close(got.double(), wanted.double(), rtol=tolerance, atol=tolerance)


def attention_params(module):
    """The weights of a MultiHeadAttention, as `ref` wants them."""
    weights = (*module.qkv.weight.chunk(3, -1), module.output.weight)
    biases = (*module.qkv.bias.chunk(3), module.output.bias)
    names = ["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"]
    return dict(zip(names, map(array, weights + biases), strict=True))


def layer_params(layer):
    inner, outer = layer.feed_forward[0], layer.feed_forward[3]
    params = {
        "feed_forward": {
            "w1": array(inner.weight),
            "b1": array(inner.bias),
            "w2": array(outer.weight),
            "b2": array(outer.bias),
        }
    }
    for name, child in layer.named_children():
        if isinstance(child, tm.MultiHeadAttention):
            params[name] = attention_params(child)
        if isinstance(child, tm.AddNorm):
            gain, bias = array(child.norm.weight), array(child.norm.bias)
            params[name.replace("add_norm", "norm")] = {"gain": gain, "bias": bias}
    return params


def ref_transformer(model, src, tgt):
    """The whole post-norm encoder-decoder from the functions of `ref` alone."""
    table = array(model.embedding.weight)

    def embed(ids):
        vectors = ref.embed(ids, table) * math.sqrt(D)
        return vectors + ref.sinusoidal_encoding(len(ids[0]), D)

    src, tgt = src.numpy(), tgt.numpy()
    mask = ref.padding_mask(src, CONFIG.pad_id)
    memory, x = embed(src), embed(tgt)
    for layer in model.encoder:
        memory = ref.encoder_layer(memory, layer_params(layer), H, mask)
    for layer in model.decoder:
        look_ahead = ref.look_ahead_mask(tgt.shape[1])
        x = ref.decoder_layer(x, memory, layer_params(layer), H, look_ahead, mask)
    return x @ table.T


# --- against ref ----------------------------------------------------------------------------


SHARED = {
    "sinusoidal_encoding",
    "padding_mask",
    "look_ahead_mask",
    "attention_weights",
    "attention",
    "split_heads",
    "merge_heads",
}


def test_functions_that_ref_has_too_take_the_same_arguments_in_the_same_order():
    public = {
        name
        for name, value in vars(tm).items()
        if inspect.isfunction(value) and value.__module__ == tm.__name__ and name[0] != "_"
    }
    assert {name for name in public if hasattr(ref, name)} == SHARED
    for name in SHARED:
        wanted = list(inspect.signature(getattr(ref, name)).parameters)
        assert list(inspect.signature(getattr(tm, name)).parameters)[: len(wanted)] == wanted


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_sinusoidal_encoding_equals_ref(dtype, tolerance):
    close(tm.sinusoidal_encoding(29, D, dtype), ref.sinusoidal_encoding(29, D), tolerance)


def test_half_precision_positions_are_the_exact_ones_rounded_once():
    rounded = tm.sinusoidal_encoding(997, D, torch.float32).bfloat16()
    assert torch.equal(tm.sinusoidal_encoding(997, D, torch.bfloat16), rounded)


def test_masks_equal_ref():
    src = padded_source()
    assert np.array_equal(tm.padding_mask(src, 0).numpy(), ref.padding_mask(src.numpy(), 0))
    assert np.array_equal(tm.look_ahead_mask(7).numpy(), ref.look_ahead_mask(7))


def test_splitting_and_merging_heads_equals_ref():
    x = normal(B, T, D)
    split = tm.split_heads(x, H)
    close(split, ref.split_heads(x.numpy(), H), 0)
    close(tm.merge_heads(split), ref.merge_heads(split.numpy()), 0)
    close(tm.merge_heads(split), x, 0)


def masks():
    """Every shape a mask may have, one of them with rows where nothing is allowed."""
    some = torch.rand(B, T, S, generator=torch.Generator().manual_seed(3)) < 0.6
    some[1, 3] = False
    return {"none": None, "full": some, "rows": some[0], "keys": some[:, :1], "flat": some[0, 0]}


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_attention_and_its_weights_equal_ref(mask, dtype, tolerance):
    q, k, v = (normal(B, n, K, dtype=dtype, seed=n) for n in (T, S, S))
    arrays = [array(x) for x in (q, k, v)]
    numpy_mask = None if mask is None else mask.numpy()
    weights = tm.attention_weights(q, k, mask)
    close(weights, ref.attention_weights(*arrays[:2], numpy_mask), tolerance)
    close(tm.attention(q, k, v, mask), ref.attention(*arrays, numpy_mask), tolerance)
    close(tm.attention(q, k, v, mask), weights @ v, tolerance)


@pytest.mark.parametrize("mask", [None, torch.arange(T) % 3 < 2], ids=["no mask", "mask"])
def test_causal_attention_equals_ref_with_the_look_ahead_mask(mask):
    q, k, v = (normal(B, H, T, K, seed=seed) for seed in (5, 7, 11))
    allowed = ref.look_ahead_mask(T) & (True if mask is None else mask.numpy())
    wanted = ref.attention(array(q), array(k), array(v), allowed)
    close(tm.attention(q, k, v, mask, causal=True), wanted, 1e-10)
    close(tm.attention_weights(q, k, mask, causal=True) @ v, wanted, 1e-10)


@pytest.mark.parametrize("mask", masks().values(), ids=masks())
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_multi_head_attention_equals_ref(mask, dtype, tolerance):
    module = randomised(tm.MultiHeadAttention(D, H).to(dtype))
    x, context = normal(B, T, D, dtype=dtype), normal(B, S, D, dtype=dtype, seed=5)
    params, numpy_mask = attention_params(module), None if mask is None else mask.numpy()
    wanted = ref.multi_head_attention(array(x), array(context), params, H, numpy_mask)
    close(module(x, context, mask), wanted, tolerance)


@pytest.mark.parametrize("batch", [(), (1,), (2, 3)], ids=str)
def test_attention_takes_any_leading_batch_shape(batch):
    module = randomised(tm.MultiHeadAttention(D, H).double())
    x, context, mask = normal(*batch, T, D), normal(*batch, S, D, seed=5), masks()["rows"]
    params = attention_params(module)
    wanted = ref.multi_head_attention(array(x), array(context), params, H, mask.numpy())
    close(module(x, context, mask), wanted, 1e-10)
    close(module(x, causal=True), module(x, x, tm.look_ahead_mask(T)), 1e-12)


def test_self_attention_multiplies_once_and_equals_attention_to_oneself():
    module = randomised(tm.MultiHeadAttention(D, H).double())
    x = normal(B, T, D)
    close(module(x), module(x, x), 1e-12)
    wanted = ref.multi_head_attention(array(x), array(x), attention_params(module), H)
    close(module(x), wanted, 1e-10)
    look_ahead = tm.look_ahead_mask(T)
    close(module(x, causal=True), module(x, mask=look_ahead), 1e-12)


def test_weights_to_look_at_are_those_that_forward_uses():
    module = randomised(tm.MultiHeadAttention(D, H).double())
    x, context, mask = normal(B, T, D), normal(B, S, D, seed=5), masks()["full"]
    _, _, v = module.project(x, context)
    weights = module.weights(x, context, mask)
    close(module.output(tm.merge_heads(weights @ v)), module(x, context, mask), 1e-12)
    close(module.weights(x, causal=True), module.weights(x, mask=tm.look_ahead_mask(T)), 1e-12)


def test_feed_forward_and_add_norm_equal_ref():
    layer = randomised(tm.EncoderLayer(CONFIG).double())
    params, x = layer_params(layer), normal(B, T, D)
    wanted = ref.feed_forward(array(x), **params["feed_forward"])
    close(layer.feed_forward(x), wanted, 1e-10)
    got = layer.add_norm2(x, lambda x: 3 * x)
    close(got, ref.add_norm(array(x), array(3 * x), **params["norm2"]), 1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_layers_equal_ref(dtype, tolerance):
    model = make(dtype)
    x, memory = normal(B, T, D, dtype=dtype), normal(B, S, D, dtype=dtype, seed=5)
    mask = tm.padding_mask(padded_source(), CONFIG.pad_id)
    layer = model.encoder[1]
    wanted = ref.encoder_layer(array(memory), layer_params(layer), H, mask.numpy())
    close(layer(memory, mask), wanted, tolerance)
    layer = model.decoder[1]
    wanted = ref.decoder_layer(
        array(x), array(memory), layer_params(layer), H, ref.look_ahead_mask(T), mask.numpy()
    )
    close(layer(x, memory, mask), wanted, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_whole_model_equals_ref(dtype, tolerance):
    model, src, tgt = make(dtype), padded_source(), tokens(B, T)
    close(model(src, tgt), ref_transformer(model, src, tgt), tolerance)


# --- against torch's own transformer --------------------------------------------------------


def torch_transformer(model):
    """torch.nn.Transformer with the model's weights."""
    options = {"dropout": 0.0, "batch_first": True, "norm_first": model.config.norm_first}
    norms = [nn.LayerNorm(D) if model.config.norm_first else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, F, **options), 2, norms[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, H, F, **options), 3, norms[1])
    peer = nn.Transformer(
        D, H, 2, 3, F, custom_encoder=encoder, custom_decoder=decoder, **options
    ).eval()
    renamed = {
        "self_attention.qkv.": "self_attn.in_proj_",
        "self_attention.output.": "self_attn.out_proj.",
        "cross_attention.qkv.": "multihead_attn.in_proj_",
        "cross_attention.output.": "multihead_attn.out_proj.",
        "feed_forward.0.": "linear1.",
        "feed_forward.3.": "linear2.",
        "encoder_norm.": "encoder.norm.",
        "decoder_norm.": "decoder.norm.",
        "coder.": "coder.layers.",
        ".add_norm": ".norm",
        ".norm.": ".",
    }
    state = {}
    for name, value in model.state_dict().items():
        if name != "embedding.weight":
            if name.endswith("coder_norm.weight") or name.endswith("coder_norm.bias"):
                name = name.replace("_norm", ".norm")
            else:
                for ours, theirs in renamed.items():
                    name = name.replace(ours, theirs)
            state[name] = value.t() if value.ndim == 2 else value
    peer.load_state_dict(state)
    return peer


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
def test_whole_model_equals_torch_nn_transformer_with_the_same_weights(norm_first):
    model = make(torch.float32, norm_first=norm_first)
    peer = torch_transformer(model)
    src, tgt = padded_source(), tokens(B, T)
    hidden = ~tm.padding_mask(src, CONFIG.pad_id).squeeze(1)
    out = peer(
        model.embed(src),
        model.embed(tgt),
        tgt_mask=~tm.look_ahead_mask(T),
        src_key_padding_mask=hidden,
        memory_key_padding_mask=hidden,
    )
    close(model(src, tgt), out @ model.embedding.weight.t(), 1e-5)


# --- invariants -----------------------------------------------------------------------------

ids = st.integers(1, V - 1)
sequences = st.lists(ids, min_size=1, max_size=7)


@few
@given(sequences, st.lists(ids, min_size=2, max_size=7), st.data())
def test_future_tokens_do_not_move_the_past(src, tgt, data):
    model = make()
    src, tgt = torch.tensor([src]), torch.tensor([tgt])
    t = data.draw(st.integers(1, tgt.shape[1] - 1))
    changed = tgt.clone()
    changed[:, t:] = 1 + changed[:, t:] % (V - 1)
    before, after = model(src, tgt), model(src, changed)
    close(after[:, :t], before[:, :t], 1e-12)
    assert not torch.allclose(after[:, t], before[:, t])


@few
@given(sequences, sequences, st.integers(1, 5), st.booleans())
def test_padding_does_not_matter(src, tgt, more, norm_first):
    model, pad = make(norm_first=norm_first), torch.zeros(1, more, dtype=torch.long)
    src, tgt = torch.tensor([src]), torch.tensor([tgt])
    wanted = model(src, tgt)
    close(model(torch.cat([src, pad], 1), tgt), wanted, 1e-11)
    padded = model(src, torch.cat([tgt, pad], 1))
    close(padded[:, : tgt.shape[1]], wanted, 1e-11)


@few
@given(st.permutations(range(T)), st.booleans())
def test_without_positions_an_encoder_layer_is_permutation_equivariant(order, norm_first):
    layer = randomised(tm.EncoderLayer(replace(CONFIG, norm_first=norm_first)).double())
    x = normal(B, T, D)
    close(layer(x[:, order]), layer(x)[:, order], 1e-12)


def test_with_positions_the_encoder_is_not_permutation_equivariant():
    model, src = make(), tokens(1, T)
    assert not torch.allclose(model.encode(src.flip(1)), model.encode(src).flip(1), atol=0.1)


@few
@given(st.integers(0, 2**20))
def test_weights_of_a_query_sum_to_one_or_to_zero_where_nothing_is_allowed(seed):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(B, T, S, generator=generator) < 0.2
    weights = tm.attention_weights(normal(B, T, K, seed=seed), normal(B, S, K, seed=seed + 1), mask)
    close(weights.sum(-1), mask.any(-1), 1e-12)
    assert not weights[~mask].any()


def test_sequences_of_a_batch_do_not_meet():
    model, src, tgt = make(), padded_source(), tokens(B, T)
    together = model(src, tgt)
    for b in range(B):
        close(model(src[b : b + 1], tgt[b : b + 1])[0], together[b], 1e-11)


def test_teacher_forcing_equals_one_token_at_a_time():
    model, src, tgt = make(torch.float32), padded_source(), tokens(B, T)
    memory, mask = model.encode(src), tm.padding_mask(src, CONFIG.pad_id)
    at_once = model(src, tgt)
    for t in range(T):
        close(model.decode(tgt[:, : t + 1], memory, mask)[:, -1], at_once[:, t], 1e-5)


# --- no NaN ---------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_a_query_with_no_allowed_key_gives_zeros_and_finite_gradients(backend):
    q, k, v = (normal(B, H, n, K, seed=n).requires_grad_() for n in (T, S, S))
    mask = masks()["full"][:, None]
    with sdpa_kernel(backend):
        out = tm.attention(q, k, v, mask)
        fast = torch.autograd.grad(out.square().sum(), (q, k, v))
    assert not out[1, :, 3].any()
    assert out[1, :, 2].all()
    slow_out = tm.attention_weights(q, k, mask) @ v
    slow = torch.autograd.grad(slow_out.square().sum(), (q, k, v))
    for one, other in zip(fast, slow, strict=True):
        assert one.isfinite().all()
        close(one, other, 1e-10)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_source_of_padding_alone_gives_finite_logits_and_gradients(mode):
    model = make(dropout=0.5).train(mode == "train")
    src = padded_source()
    src[1] = CONFIG.pad_id
    loss = model(src, tokens(B, T)).square().mean()
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


# --- devices, dtypes, compilation -----------------------------------------------------------


@pytest.mark.parametrize("norm_first", [False, True])
def test_model_lives_on_the_meta_device_without_a_single_number(norm_first):
    with torch.device("meta"):
        model = tm.Transformer(replace(CONFIG, norm_first=norm_first))
    src, tgt = (torch.zeros(B, n, dtype=torch.long, device="meta") for n in (S, T))
    logits = model(src, tgt)
    assert logits.device.type == "meta"
    assert logits.shape == (B, T, V)
    logits.sum().backward()
    assert all(parameter.grad.device.type == "meta" for parameter in model.parameters())


def test_nothing_is_created_on_the_default_device_behind_the_users_back():
    model, src, tgt = make(), padded_source(), tokens(B, T)
    wanted, x = model(src, tgt), normal(B, T, D)
    with torch.device("meta"):  # a tensor made without a device would now hold no number
        got = model(src, tgt)
        weights = model.encoder[0].self_attention.weights(x, causal=True)
        maps = tm.attention_maps(model, src, tgt)
    close(got, wanted, 0)
    assert {tensor.device.type for tensor in (weights, *maps.values())} == {"cpu"}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_model_computes_in_the_dtype_of_its_weights(dtype):
    model = tm.Transformer(CONFIG).to(dtype).eval()
    logits = model(padded_source(), tokens(B, T).int())
    assert logits.dtype == dtype
    close(logits, model.double()(padded_source(), tokens(B, T)), 40 * torch.finfo(dtype).eps)


@pytest.mark.slow
def test_model_compiles_into_one_graph():
    model = make(torch.float32, encoder_layers=1, decoder_layers=1).train()
    src, tgt = padded_source(), tokens(B, T)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    got, wanted = compiled(src, tgt), model(src, tgt)
    close(got, wanted, 1e-5)
    parameters = list(model.parameters())
    gradients = [torch.autograd.grad(out.square().mean(), parameters) for out in (got, wanted)]
    for one, other in zip(*gradients, strict=True):
        close(one, other, 1e-4)


# --- how it is built ------------------------------------------------------------------------


def count(name):
    with torch.device("meta"):
        model = tm.Transformer(tm.TransformerConfig.preset(name))
    parts = model.parameter_count_by_part()
    assert sum(parts.values()) == sum(p.numel() for p in model.parameters())
    return parts


def test_base_and_big_models_have_the_parameters_counted_by_hand():
    assert sum(count("base").values()) == 63_082_496
    assert sum(count("big").values()) == 214_245_376
    d, f = 512, 2048
    assert count("base") == {
        "embedding": 37_000 * d,
        "encoder.self_attention": 6 * 4 * (d * d + d),
        "encoder.feed_forward": 6 * (2 * d * f + d + f),
        "encoder.add_norm": 6 * 2 * 2 * d,
        "decoder.self_attention": 6 * 4 * (d * d + d),
        "decoder.cross_attention": 6 * 4 * (d * d + d),
        "decoder.feed_forward": 6 * (2 * d * f + d + f),
        "decoder.add_norm": 6 * 3 * 2 * d,
    }


def test_norm_first_adds_one_norm_to_each_stack():
    parts = tm.Transformer(replace(CONFIG, norm_first=True)).parameter_count_by_part()
    assert parts["encoder_norm"] == parts["decoder_norm"] == 2 * D


def test_each_matrix_is_initialised_by_xavier_and_each_bias_with_zeros():
    torch.manual_seed(0)
    model = tm.Transformer(tm.TransformerConfig.preset("tiny"))
    d, f = 128, 512
    for layer in (*model.encoder, *model.decoder):
        attentions = [m for m in layer.children() if isinstance(m, tm.MultiHeadAttention)]
        square = [w for m in attentions for w in (*m.qkv.weight.chunk(3, -1), m.output.weight)]
        wide = [layer.feed_forward[0].weight, layer.feed_forward[3].weight]
        for matrices, bound in ((square, math.sqrt(6 / (2 * d))), (wide, math.sqrt(6 / (d + f)))):
            for matrix in matrices:
                assert 0.99 * bound < matrix.abs().max() <= bound
                assert matrix.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert not any(p.any() for name, p in model.named_parameters() if name.endswith("bias"))
    assert model.embedding.weight.std().item() == pytest.approx(d**-0.5, rel=0.02)


def test_one_table_embeds_and_unembeds():
    model = make()
    x = normal(B, T, D)
    close(model.logits(x), x @ model.embedding.weight.t(), 1e-12)
    assert not any("logits" in name or "head" in name for name, _ in model.named_parameters())


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
def test_dropout_acts_on_embeddings_weights_hidden_units_and_sublayer_outputs(
    norm_first, monkeypatch
):
    dropped, attended = [], []

    def dropout(x, p, training, inplace=False):
        dropped.append((*x.shape[1:], p, training))
        return x

    def fused(q, k, v, mask, dropout_p, is_causal):
        attended.append((q.shape[-2], k.shape[-2], dropout_p, is_causal, mask is None))
        return torch.zeros_like(q)

    monkeypatch.setattr(functional, "dropout", dropout)
    monkeypatch.setattr(functional, "scaled_dot_product_attention", fused)
    make(dropout=0.25, norm_first=norm_first).train()(padded_source(), tokens(B, T))
    encoder = [(S, D), (S, F), (S, D)] * CONFIG.encoder_layers
    decoder = [(T, D), (T, D), (T, F), (T, D)] * CONFIG.decoder_layers
    wanted = [(S, D), *encoder, (T, D), *decoder]
    assert dropped == [(*shape, 0.25, True) for shape in wanted]
    # A causal mask is never built: the fused kernel is told, and skips half of the work.
    encoder = [(S, S, 0.25, False, False)] * CONFIG.encoder_layers
    decoder = [(T, T, 0.25, True, True), (T, S, 0.25, False, False)] * CONFIG.decoder_layers
    assert attended == encoder + decoder


def test_dropout_rests_outside_training():
    model, src, tgt = make(dropout=0.5), padded_source(), tokens(B, T)
    close(model(src, tgt), make(dropout=0.0)(src, tgt), 0)
    model.train()
    assert not torch.allclose(model(src, tgt), model(src, tgt))


def test_attention_dropout_drops_weights_only_while_training():
    module = randomised(tm.MultiHeadAttention(D, H, dropout=0.5).double())
    x = normal(B, T, D)
    close(module(x), module(x), 0)
    module.train()
    assert not torch.allclose(module(x), module(x))


def test_attention_maps_are_the_weights_of_a_run_and_leave_the_model_alone():
    model, src, tgt = make(), padded_source(), tokens(B, T)
    wanted = model(src, tgt)
    maps = tm.attention_maps(model, src, tgt)
    assert len(maps) == CONFIG.encoder_layers + 2 * CONFIG.decoder_layers
    first = model.encoder[0].self_attention
    mask = tm.padding_mask(src, CONFIG.pad_id)
    close(maps["encoder.0.self_attention"], first.weights(model.embed(src), mask=mask), 0)
    assert maps["decoder.2.cross_attention"].shape == (B, H, T, S)
    assert not maps["decoder.2.cross_attention"][0, :, :, 4:].any()
    assert not maps["decoder.1.self_attention"].triu(1).any()
    close(model(src, tgt), wanted, 0)
    maps.clear()
    model(src, tgt)
    assert not maps


# --- errors: one sentence -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heads": 3}, "d_model must be divisible by heads, got d_model = 14, heads = 3."),
        ({"d_model": 15, "heads": 3}, "d_model must be even.*got 15."),
        ({"vocab_size": 0}, "vocab_size must be at least 1, got 0."),
        ({"d_ff": 0}, "d_ff must be at least 1, got 0."),
        ({"encoder_layers": 0}, "encoder_layers must be at least 1, got 0."),
        ({"decoder_layers": -1}, "decoder_layers must be at least 1, got -1."),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0."),
        ({"pad_id": V}, f"pad_id must lie between 0 and {V - 1}.*got {V}."),
        ({"end_id": -1}, f"end_id must lie between 0 and {V - 1}.*got -1."),
    ],
)
def test_config_rejects_what_cannot_work(changes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        replace(CONFIG, **changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dropout": None}, "dropout must be a number, got None of type NoneType."),
        ({"dropout": False}, "dropout must be a number, got False of type bool."),
        ({"norm_first": "no"}, "norm_first must be True or False, got 'no' of type str."),
        ({"norm_first": 0}, "norm_first must be True or False, got 0 of type int."),
        ({"d_ff": 17.0}, "d_ff must be an integer, got 17.0 of type float."),
        ({"heads": True}, "heads must be an integer, got True of type bool."),
        ({"pad_id": "0"}, "pad_id must be an integer, got '0' of type str."),
    ],
)
def test_config_names_a_value_of_the_wrong_type(changes, sentence):
    with pytest.raises(TypeError, match=f"^{sentence}$"):
        replace(CONFIG, **changes)
    assert replace(CONFIG, d_ff=np.int64(17), dropout=0).d_ff == 17  # numbers of any make


def test_preset_names_its_choices():
    with pytest.raises(ValueError, match="one of tiny, base, big, got 'huge'"):
        tm.TransformerConfig.preset("huge")
    assert tm.TransformerConfig.preset("big", dropout=0.0).dropout == 0.0


def test_sinusoids_come_in_pairs_as_in_ref():
    for module in (tm, ref):
        with pytest.raises(ValueError, match=r"d_model must be even.*got 5"):
            module.sinusoidal_encoding(3, 5)
        with pytest.raises(ValueError, match="length must be at least 1, got 0"):
            module.sinusoidal_encoding(0, 4)


def test_feed_forward_names_its_parts_and_saves_them_by_number():
    network = tm.FeedForward(D, F)
    x = torch.randn(B, T, D)
    torch.testing.assert_close(network.outer(network.activation(network.inner(x))), network(x))
    keys = [f"{part}.{kind}" for part in (0, 3) for kind in ("weight", "bias")]
    assert list(network.state_dict()) == keys


def ids_of(*rows):
    return torch.tensor(rows)


@pytest.mark.parametrize(
    ("src", "tgt", "error", "sentence"),
    [
        (ids_of([1, V]), ids_of([1]), ValueError, rf"src must lie between 0 and {V - 1}.*got {V}"),
        (ids_of([1]), ids_of([-1, 3]), ValueError, rf"tgt must lie between 0 and {V - 1}.*got -1"),
        (ids_of([]), ids_of([1]), ValueError, r"src must not be empty, got shape \(1, 0\)"),
        (ids_of([1]), torch.ones(0, 3).long(), ValueError, r"tgt must not be empty"),
        (ids_of(1, 2), ids_of([1]), ValueError, r"src must have shape \(batch, length\), got.*2,"),
        (ids_of([1.0]), ids_of([1]), TypeError, r"src must be integers, got dtype torch.float32"),
        (ids_of([1]).byte(), ids_of([1]), TypeError, r"src must.*32 or 64 bits.*torch.uint8.*long"),
        (ids_of([1]), ids_of([True]), TypeError, r"tgt must be integers, got dtype torch.bool"),
        (ids_of([1], [1]), ids_of([1]), ValueError, r"x and context must have the same batch"),
    ],
)
def test_bad_ids_are_told_in_one_sentence(src, tgt, error, sentence):
    if src.shape == (1, 0):
        src = src.long()
    with pytest.raises(error, match=sentence) as caught:
        make(torch.float32)(src, tgt)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("mask", "error", "sentence"),
    [
        (torch.ones(T, S), TypeError, "mask must be boolean.*got dtype torch.float32"),
        (torch.ones(S, T).bool(), ValueError, r"mask must broadcast to \(3, 5, 11\), got.*11, 5"),
        (torch.ones(B, H, T, S).bool(), ValueError, r"mask must broadcast to \(3, 5, 11\)"),
        (torch.ones(1, B, T, S).bool(), ValueError, r"got shape \(1, 3, 5, 11\)"),
        (torch.ones(2, 1, S).bool(), ValueError, r"mask must broadcast to \(3, 5, 11\)"),
    ],
)
def test_a_mask_of_the_wrong_shape_or_dtype_is_told_in_one_sentence(mask, error, sentence):
    module = tm.MultiHeadAttention(D, H)
    x, context = torch.zeros(B, T, D), torch.zeros(B, S, D)
    for call in (module, module.weights):
        with pytest.raises(error, match=sentence):
            call(x, context, mask)


x23, ids12 = torch.ones(2, 3), torch.tensor([[1, 2]])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: make(torch.float32)([[1, 2]], ids12),
            r"src must be a tensor, got \[\[1, 2\]\] of",
        ),
        (lambda: make(torch.float32)(ids12, [[1, 2]]), "tgt must be a tensor.*type list"),
        (lambda: make(torch.float32).decode(ids12, [[0.0]]), "context must be a tensor"),
        (lambda: tm.padding_mask([1, 0], 0), "ids must be a tensor, got .1, 0. of type list"),
        (lambda: tm.attention_weights([[1.0]], x23), "q must be a tensor"),
        (lambda: tm.attention(x23, [[1.0]], x23), "k must be a tensor"),
        (lambda: tm.attention(x23, x23, x23.numpy()), "v must be a tensor.*type ndarray"),
        (lambda: tm.attention(x23, x23, x23, [[True]]), "mask must be a tensor"),
        (lambda: tm.split_heads([[1, 2]], 2), "x must be a tensor"),
        (lambda: tm.merge_heads([[[1, 2]]]), "x must be a tensor"),
        (lambda: tm.Linear(3, 5)([1.0, 2.0, 3.0]), "x must be a tensor"),
        (lambda: tm.AddNorm(3)([1.0, 2.0, 3.0], lambda x: x), "x must be a tensor"),
    ],
)
def test_lists_are_refused_in_one_sentence_that_says_what_to_do(call, sentence):
    with pytest.raises(TypeError, match=sentence + ".*make one with torch.tensor") as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attend", [tm.attention_weights, lambda q, k: tm.attention(q, k, k)])
def test_queries_that_ref_refuses_are_refused_in_the_same_words(attend):
    for q, k in [
        (torch.ones(3), x23),
        (x23, torch.ones(3)),
        (torch.ones(2, 2, 3), torch.ones(5, 2, 3)),
    ]:
        with pytest.raises(ValueError, match=r"at least 2 axes|leading axes of q and k") as ours:
            attend(q, k)
        with pytest.raises(ValueError, match="must") as theirs:
            ref.attention_weights(q.numpy(), k.numpy())
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(
        TypeError, match=r"q must hold floating-point numbers, got dtype torch\.int64"
    ):
        attend(x23.long(), x23)


def test_wrong_shapes_are_told_in_one_sentence():
    module, x = tm.MultiHeadAttention(D, H), torch.zeros(B, T, D)
    with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., length, 14\), got.*13"):
        module(torch.zeros(B, T, 13))
    with pytest.raises(ValueError, match=r"context must have shape .*, got shape \(3, 5, 13\)"):
        module(x, torch.zeros(B, T, 13))
    with pytest.raises(ValueError, match="d_model must be divisible by heads"):
        tm.MultiHeadAttention(D, 4)
    with pytest.raises(ValueError, match="as many queries as keys, got 5 and 11"):
        module(x, torch.zeros(B, S, D), causal=True)
    with pytest.raises(ValueError, match="axis -1 of q must be as long as axis -1 of k"):
        tm.attention(torch.zeros(T, 3), torch.zeros(S, 2), torch.zeros(S, 2))
    with pytest.raises(ValueError, match="axis -2 of k must be as long as axis -2 of v"):
        tm.attention(torch.zeros(T, 2), torch.zeros(S, 2), torch.zeros(T, 2))
    with pytest.raises(ValueError, match="the leading axes of q and k and v must agree"):
        tm.attention(torch.zeros(B, T, 2), torch.zeros(B, S, 2), torch.zeros(2, S, 2))
    with pytest.raises(ValueError, match=r"axis -1 of x must be .* axis 0 of weight, .*\(2, 3\)"):
        tm.Linear(5, 7)(x23)
    with pytest.raises(TypeError, match="pad_id must be an integer, got None"):
        tm.padding_mask(ids12, None)


@pytest.mark.parametrize("module", [tm, validate_torch])
def test_docstring_examples_hold(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted >= 7
