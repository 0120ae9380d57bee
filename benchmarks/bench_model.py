"""Attention, multi-head attention and a training step of `tfmlib.model` against their peers."""

import torch
from torch import nn
from torch.nn import functional

from benchmarks.bench_decode import SMALL, marian
from benchmarks.harness import Call, Row, compare, peak_memory
from tfmlib.model import (
    MultiHeadAttention,
    Transformer,
    attention,
    look_ahead_mask,
    padding_mask,
    sinusoidal_encoding,
)

N = 2048  # positions in the attention benchmarks
BATCH, LENGTH = 32, 64  # the training step: 32 × 64 tokens on either side


def rows() -> list[Row]:
    """The bars of attention, multi-head attention and training."""
    return [*attention_rows(), *multi_head_rows(), *training_rows()]


# --- attention ------------------------------------------------------------------------------


def forward_and_backward(function, *inputs) -> Call:
    """A call that computes the function and its gradient."""
    inputs = [tensor.requires_grad_() for tensor in inputs]
    cotangent = torch.ones_like(function(*inputs))

    def call():
        return torch.autograd.grad(function(*inputs), inputs, cotangent)

    return call


def textbook(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Scores, mask, softmax, product: each an n × n array that gradients need again."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    hidden = ~look_ahead_mask(q.shape[-2])
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ v


def attention_rows() -> list[Row]:
    """Causal attention at 8 heads of 64, against the bare kernel and the textbook formula."""
    torch.manual_seed(0)
    functions = {
        "model": lambda q, k, v: attention(q, k, v, causal=True),
        "sdpa": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        "textbook": textbook,
    }
    inputs = torch.randn(3, 1, 8, N, 64)
    calls = {name: forward_and_backward(f, *inputs.clone()) for name, f in functions.items()}
    times = compare(calls, rounds=7)
    memory = {name: peak_memory(calls[name]) for name in ("model", "textbook")}
    what = f"causal attention, n = {N}, forward and backward: "
    return [
        Row(what + "time over bare SDPA's", times.ratio("model", "sdpa"), 1.05),
        Row(what + "faster than the textbook", times.ratio("textbook", "model"), 4, at_least=True),
        Row(what + "memory over the textbook's", memory["model"] / memory["textbook"], 1 / 15),
    ]


# --- multi-head attention -------------------------------------------------------------------


def multi_head_rows() -> list[Row]:
    """Self-attention against nn.MultiheadAttention(need_weights=False), forward and backward."""
    torch.manual_seed(0)
    D, H = 512, 8
    ours, theirs = MultiHeadAttention(D, H), nn.MultiheadAttention(D, H, batch_first=True)
    table = []
    for batch, length in ((8, 128), (1, 1024)):
        x = torch.randn(batch, length, D)
        calls = {
            "model": forward_and_backward(ours, x.clone()),
            "nn": forward_and_backward(lambda x: theirs(x, x, x, need_weights=False)[0], x.clone()),
        }
        ratio = compare(calls, rounds=15).ratio("model", "nn")
        name = (
            f"multi-head attention, {batch} × {length}, D = {D}: time over nn.MultiheadAttention's"
        )
        table.append(Row(name, ratio, 1.0))
    return table


# --- a training step ------------------------------------------------------------------------


class Peer(nn.Module):
    """torch.nn.Transformer between the embeddings and the logits that the task needs."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        positions = sinusoidal_encoding(LENGTH, config.d_model)
        self.register_buffer("positions", positions)
        self.register_buffer("hidden", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def embed(self, ids):
        """Embeddings and positions, as in the model."""
        return self.dropout(self.embedding(ids) * self.config.d_model**0.5 + self.positions)

    def forward(self, src, tgt):
        """Logits."""
        padding = ~padding_mask(src, self.config.pad_id).squeeze(1)
        padding = torch.zeros_like(padding, dtype=torch.float32).masked_fill(padding, -torch.inf)
        x = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=self.hidden,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return x @ self.embedding.weight.t()


def training_rows() -> list[Row]:
    """One step of Adam on 32 × 64 tokens, the same dropout for all three."""
    torch.manual_seed(0)
    config = SMALL
    src = torch.randint(3, config.vocab_size, (BATCH, LENGTH))
    src[::2, LENGTH - 7 :] = config.pad_id
    tgt = torch.randint(3, config.vocab_size, (BATCH, LENGTH + 1))
    source_mask = (src != config.pad_id).long()

    def step(model, logits) -> Call:
        model.train()
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-4)

        def call():
            optimiser.zero_grad()
            out = logits(model, tgt[:, :-1])
            functional.cross_entropy(out.flatten(0, 1), tgt[:, 1:].flatten()).backward()
            optimiser.step()

        return call

    def of_marian(model, inputs):
        out = model(input_ids=src, attention_mask=source_mask, decoder_input_ids=inputs)
        return out.logits

    calls = {
        "model": step(Transformer(config), lambda model, inputs: model(src, inputs)),
        "nn": step(Peer(config), lambda model, inputs: model(src, inputs)),
        "marian": step(marian(config), of_marian),
    }
    times = compare(calls, rounds=7)
    what = f"training step, d 256, 3 + 3 layers, {BATCH} × {LENGTH} tokens: time over "
    return [
        Row(what + "nn.Transformer's", times.ratio("model", "nn"), 1.05),
        Row(what + "MarianMTModel's", times.ratio("model", "marian"), 1.05),
    ]
