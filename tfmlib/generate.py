"""Write a target token by token: greedily, by sampling, or with a beam.

All three run `CachedDecoder`, which feeds in one token at a time and keeps the keys and values of
those before it. Each returns ids of shape (B, T), without the start token and with the end token;
a sequence that ends before the others is filled up with padding.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from tfmlib import data
from tfmlib.model import (
    DecoderLayer,
    Linear,
    Transformer,
    attention,
    merge_heads,
    padding_mask,
    sinusoidal_encoding,
    split_heads,
)
from tfmlib.support import validate
from tfmlib.tokenizer import Tokenizer

TOKENS_AT_ONCE = 16_384  # that are translated; short ones would wait for long ones
Map = Callable[[Tensor], Tensor]  # from rows to rows
Writer = TypeVar("Writer", bound=Callable[..., Tensor])

# --- one token at a time --------------------------------------------------------------------


def _bare(linear: Linear, columns: slice = slice(None)) -> Map:
    """x W + b for rows x: a module's bookkeeping would cost as much as the product of one row."""
    weight, bias = linear.weight[:, columns], linear.bias[columns]
    return lambda x: torch.addmm(bias, x, weight)


class CachedLayer:
    """A decoder layer that remembers the keys and values of the tokens it has seen.

    Each row of x is the newest token of one sequence; `beams` sequences share one memory.

    >>> from tfmlib.model import TransformerConfig
    >>> layer, memory = DecoderLayer(TransformerConfig.preset("tiny")), torch.zeros(1, 3, 128)
    >>> CachedLayer(layer, memory, memory_mask=None, length=5, beams=1).step(memory[0, :1]).shape
    torch.Size([1, 128])

    notes §4.1.
    """

    def __init__(
        self,
        layer: DecoderLayer,
        memory: Tensor,
        memory_mask: Tensor | None,
        length: int,
        beams: int,
    ):
        B, _, D = memory.shape
        own, cross, feed = layer.self_attention, layer.cross_attention, layer.feed_forward
        self.heads, self.beams, self.norm_first = own.heads, beams, layer.add_norm1.norm_first
        self.qkv, self.own_output = _bare(own.qkv), _bare(own.output)
        self.q, self.cross_output = _bare(cross.qkv, slice(D)), _bare(cross.output)
        self.inner, self.outer = _bare(feed.inner), _bare(feed.outer)
        self.sublayers: tuple[tuple[Map, Map], ...] = (
            (layer.add_norm1.norm, self.attend_to_past),
            (layer.add_norm2.norm, self.attend_to_memory),
            (layer.add_norm3.norm, lambda x: self.outer(feed.activation(self.inner(x)))),
        )
        # The memory does not change, so its keys and values are computed once. Those of the
        # target are written, one row a step, into space reserved for the longest target.
        _, self.k, self.v = cross.project(memory[:, :1], memory)  # (B, H, S, K) each
        self.memory_mask = memory_mask
        self.past = memory.new_empty(B * beams, 2, own.heads, length, D // own.heads)
        self.t = 0  # how many tokens the past holds

    def step(self, x: Tensor) -> Tensor:
        """The layer's output for the newest token, whose input is x: as `DecoderLayer` has it."""
        for norm, sublayer in self.sublayers:
            x = x + sublayer(norm(x)) if self.norm_first else norm(x + sublayer(x))
        return x  # (N, D)

    def attend_to_past(self, x: Tensor) -> Tensor:
        """Self-attention of the newest token, after its key and value have joined the past."""
        N, D = x.shape
        qkv = self.qkv(x).view(N, 3, self.heads, D // self.heads)
        self.past[:, :, :, self.t] = qkv[:, 1:]
        self.t += 1
        k, v = self.past[:, :, :, : self.t].unbind(1)  # (N, H, t, K) each
        out = attention(qkv[:, 0].unsqueeze(2), k, v)  # (N, H, 1, K)
        return self.own_output(out.view(N, D))

    def attend_to_memory(self, x: Tensor) -> Tensor:
        """Cross-attention: the beams of one source are so many queries to the same memory."""
        N, D = x.shape
        q = split_heads(self.q(x).view(N // self.beams, self.beams, D), self.heads)
        out = attention(q, self.k, self.v, self.memory_mask)  # (B, H, beams, K)
        return self.cross_output(merge_heads(out).view(N, D))

    def reorder(self, rows: Tensor) -> None:
        """Let sequence n go on from the past of sequence rows[n]."""
        self.past[..., : self.t, :] = self.past[rows, ..., : self.t, :]


class CachedDecoder:
    """The decoder for a batch of sources; `step` takes the newest tokens and gives the next logits.

    It takes the weights as they are now. Let the model be in eval mode: the encoder has dropout.

    >>> from tfmlib.model import TransformerConfig
    >>> model = Transformer(TransformerConfig.preset("tiny"))
    >>> decoder = CachedDecoder(model, torch.tensor([[5, 7, 3]]), max_length=2)
    >>> decoder.step(torch.tensor([1])).shape
    torch.Size([1, 256])

    notes §4.1.
    """

    def __init__(self, model: Transformer, src: Tensor, max_length: int, beams: int = 1):
        memory = model.encode(src)  # (B, S, D)
        allowed = padding_mask(src, model.config.pad_id)  # (B, 1, S)
        mask = None if allowed.all() else allowed.unsqueeze(1)  # (B, 1, 1, S), for every head
        self.model, self.t = model, 0
        self.layers = [
            CachedLayer(cast(DecoderLayer, layer), memory, mask, max_length, beams)
            for layer in model.decoder
        ]
        D = memory.shape[-1]
        self.positions = sinusoidal_encoding(max_length, D, memory.dtype, memory.device)
        unembedding = model.embedding.weight.t()  # (D, V)
        # One row is multiplied as fast either way; for more, order in memory pays for a copy.
        self.unembedding = unembedding if len(src) * beams == 1 else unembedding.contiguous()

    def step(self, ids: Tensor) -> Tensor:
        """Logits, in single precision at least, for the token after `ids`, the newest ones."""
        x = self.model.embedding(ids) * math.sqrt(self.positions.shape[-1])  # (N, D)
        x = x + self.positions[self.t]
        for layer in self.layers:
            x = layer.step(x)
        self.t += 1
        logits = self.model.decoder_norm(x) @ self.unembedding  # (N, V)
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def reorder(self, rows: Tensor) -> None:
        """Let sequence n go on from the past of sequence rows[n], of the same source."""
        for layer in self.layers:
            layer.reorder(rows)


def _inference(function: Writer) -> Writer:
    """Run with dropout and gradients off; leave the model in the mode it was in."""

    @functools.wraps(function)
    def wrapped(
        model: Transformer, src: Tensor, max_length: int, *args: Any, **kwargs: Any
    ) -> Tensor:
        validate.positive(max_length, "max_length")
        training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                ids = function(model, src, max_length, *args, **kwargs)
            return ids.clone()  # a tensor like any other, fit for training on
        finally:
            model.train(training)

    return cast(Writer, wrapped)


# --- three ways to choose -------------------------------------------------------------------


@_inference
def greedy(model: Transformer, src: Tensor, max_length: int) -> Tensor:
    """Take the likeliest token at each step.

    >>> from tfmlib.model import TransformerConfig
    >>> greedy(Transformer(TransformerConfig.preset("tiny")), torch.tensor([[5, 7]]), 1).shape
    torch.Size([1, 1])

    notes §4.1.
    """
    return _write(model, src, max_length, choose=lambda logits: logits.argmax(dim=-1))


@_inference
def sample(
    model: Transformer,
    src: Tensor,
    max_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw each token from the model's distribution, sharpened or cut as you like.

    A generator with the same seed draws the same tokens again.

    >>> from tfmlib.model import TransformerConfig
    >>> model, src = Transformer(TransformerConfig.preset("tiny")), torch.tensor([[5, 7]])
    >>> a, b = (sample(model, src, 5, generator=torch.Generator().manual_seed(0)) for _ in "ab")
    >>> torch.equal(a, b)
    True

    notes §4.1.
    """

    def draw(logits: Tensor) -> Tensor:
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)

    return _write(model, src, max_length, choose=draw)


def next_token_probabilities(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Softmax of logits / temperature, kept for the `top_k` likeliest tokens and for the fewest
    that together reach `top_p`.

    >>> next_token_probabilities(torch.tensor([0.0, 0.0, -99.0]), top_p=0.9)
    tensor([0.5000, 0.5000, 0.0000])

    Eq. (11), notes §3.3.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}; 0 would be `greedy`.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}.")
    probabilities, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    if top_k is not None:
        probabilities[..., validate.positive(top_k, "top_k") :] = 0.0
    if top_p is not None:
        before = probabilities.cumsum(dim=-1) - probabilities  # what the likelier ones reach
        probabilities = probabilities.masked_fill(before >= top_p, 0.0)
    kept = torch.zeros_like(probabilities).scatter(-1, order, probabilities)
    return kept / kept.sum(dim=-1, keepdim=True)  # (..., V)


def _write(model: Transformer, src: Tensor, max_length: int, choose: Map) -> Tensor:
    """Feed each chosen token back in, until every sequence has ended."""
    config, decoder = model.config, CachedDecoder(model, src, max_length)
    written = src.new_full((len(src), max_length), config.pad_id)  # (B, T)
    ids = src.new_full((len(src),), config.start_id)  # (B,)
    ended = torch.zeros_like(ids, dtype=torch.bool)
    for t in range(max_length):
        ids = choose(decoder.step(ids)).masked_fill(ended, config.pad_id)
        written[:, t] = ids
        ended |= ids == config.end_id
        if ended.all():
            return written[:, : t + 1]
    return written


@_inference
def beam_search(
    model: Transformer,
    src: Tensor,
    max_length: int,
    beams: int = 4,
    length_penalty: float = 0.6,
) -> Tensor:
    """Follow the `beams` likeliest beginnings side by side and return the best finished sequence.

    A sequence of n tokens scores its log-probability over ((5 + n) / 6)^length_penalty: the sum
    alone would favour short ones. A beginning that ends leaves its place to those that go on.

    >>> from tfmlib.model import TransformerConfig
    >>> model, src = Transformer(TransformerConfig.preset("tiny")), torch.tensor([[5, 7]])
    >>> torch.equal(beam_search(model, src, 5, beams=1), greedy(model, src, 5))
    True

    2017 paper §6.1.
    """
    validate.positive(beams, "beams")
    if length_penalty < 0:
        raise ValueError(f"length_penalty must not be negative, got {length_penalty}.")
    config, B = model.config, len(src)
    decoder = CachedDecoder(model, src, max_length, beams)
    penalty = [((5 + n) / 6) ** length_penalty for n in range(max_length + 1)]
    sources = torch.arange(B, device=src.device)  # (B,)

    ids = src.new_full((B, beams, max_length), config.pad_id)
    newest = src.new_full((B, beams), config.start_id)
    log_p = decoder.positions.new_full((B, beams), -math.inf)
    log_p[:, 0] = 0.0  # all beams begin alike: only one of them counts
    best, best_length = ids[:, 0], torch.zeros_like(sources)  # the best finished sequence so far
    best_score = log_p.new_full((B,), -math.inf)

    for t in range(max_length):
        logits = decoder.step(newest.flatten()).view(B, beams, -1)
        candidates = log_p[:, :, None] + logits.log_softmax(dim=-1)  # (B, beams, V)
        log_p, chosen = candidates.flatten(1).topk(beams)  # (B, beams)
        parent, newest = chosen // config.vocab_size, chosen % config.vocab_size
        decoder.reorder((sources[:, None] * beams + parent).flatten())
        ids = ids.gather(1, parent[:, :, None].expand_as(ids))
        ids[:, :, t] = newest

        ends = (newest == config.end_id) | (t + 1 == max_length)
        score, winner = log_p.masked_fill(~ends, -math.inf).max(dim=-1)  # (B,)
        score = score / penalty[t + 1]
        better = score > best_score
        best = torch.where(better[:, None], ids[sources, winner], best)
        best_score = torch.where(better, score, best_score)
        best_length = best_length.masked_fill(better, t + 1)

        log_p = log_p.masked_fill(ends, -math.inf)
        # A log-probability only falls, so no beginning can score more than this in the end.
        if (log_p.amax(dim=-1) / penalty[-1] <= best_score).all():
            break
    return best[:, : int(best_length.max())]


# --- whole texts ----------------------------------------------------------------------------


def translate(
    model: Transformer,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    batch_size: int = 256,
    beams: int = 1,
) -> list[str]:
    """Translate each text, greedily or with beams, into at most twice its tokens and ten more."""
    device = next(model.parameters()).device
    sources = [data.encode_source(tokenizer, text) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(sources[i]))  # little padding
    translations = [""] * len(texts)
    for rows in _batches_by_length(order, [len(source) for source in sources], batch_size):
        src = torch.from_numpy(tokenizer.pad(sources[i] for i in rows)).to(device)  # (B, S)
        choose = greedy if beams == 1 else functools.partial(beam_search, beams=beams)
        ids = choose(model, src, _max_length(src.shape[1]))  # (B, T)
        for i, row in zip(rows, ids.tolist(), strict=True):
            translations[i] = tokenizer.decode(row[: _max_length(len(sources[i]))])
    return translations


def _batches_by_length(
    order: list[int], lengths: list[int], batch_size: int
) -> Iterator[list[int]]:
    """Rows in the order of their lengths, as many at once as may be: of long ones only a few."""
    rows: list[int] = []
    for i in order:
        if len(rows) == batch_size or ((len(rows) + 1) * lengths[i] > TOKENS_AT_ONCE and rows):
            yield rows
            rows = []
        rows.append(i)
    if rows:
        yield rows


def _max_length(source_length: int) -> int:
    """How long a translation may get; it depends on its own source, not on its batch."""
    return 2 * source_length + 10
