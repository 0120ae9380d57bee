"""The transformer of 2017 in torch: the functions of `tfmlib.ref` again, built for speed.

Names, argument order and masks are those of `tfmlib.ref` (True where attention is allowed), and so
is the alphabet of shapes: B batch, T target length, S source length, D d_model, H heads, K d_k,
F d_ff, V vocabulary. Nothing here names a device or a dtype: both follow the inputs.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, cast, get_type_hints

import torch
from torch import Tensor, nn
from torch.nn import functional

from tfmlib.support import validate, validate_torch

# --- configuration --------------------------------------------------------------------------


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a model; the defaults are the base model of the 2017 paper.

    >>> TransformerConfig.preset("big").d_k
    64

    2017 paper §6.2.
    """

    vocab_size: int = 37_000  # V, one vocabulary for source and target
    d_model: int = 512  # D, the width of every vector between layers
    heads: int = 8  # H, each d_model / heads wide
    d_ff: int = 2048  # F, the hidden width of the feed-forward network
    encoder_layers: int = 6  # how many layers read the source
    decoder_layers: int = 6  # how many layers write the target
    dropout: float = 0.1  # the share of entries that training sets to zero
    norm_first: bool = False  # normalise before each sublayer instead of after it
    pad_id: int = 0  # fills short sequences up; never attended to
    start_id: int = 1  # the decoder's first input
    end_id: int = 2  # the decoder stops after writing it

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A named configuration, with fields changed as you like."""
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}.")
        return cls(**{**PRESETS[name], **changes})

    @property
    def d_k(self) -> int:
        """The width of one head."""
        return self.d_model // self.heads

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            validate.of_kind(getattr(self, name), kind, name)
        for name in ("vocab_size", "d_ff", "encoder_layers", "decoder_layers"):
            validate.positive(getattr(self, name), name)
        validate.even(self.d_model, "d_model")
        validate.heads_divide(self.d_model, self.heads)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}.")
        for name in ("pad_id", "start_id", "end_id"):
            validate.token_ids(getattr(self, name), self.vocab_size, name)


PRESETS: dict[str, dict[str, Any]] = {  # what differs from the defaults
    "tiny": {
        "vocab_size": 256,
        "d_model": 128,
        "heads": 4,
        "d_ff": 512,
        "encoder_layers": 2,
        "decoder_layers": 2,
    },
    "base": {},
    "big": {"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3},
}

# --- the equations --------------------------------------------------------------------------


def sinusoidal_encoding(
    length: int,
    d_model: int,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Encode positions 0 … length - 1 as sines (even dimensions) and cosines (odd dimensions).

    >>> sinusoidal_encoding(2, 4)[1]
    tensor([0.8415, 0.5403, 0.0100, 0.9999])

    Eq. (2)-(3), notes §3.2; 2017 paper §3.5.
    """
    length, d_model = validate.positive(length, "length"), validate.even(d_model, "d_model")
    dtype = dtype or torch.get_default_dtype()
    exact = torch.promote_types(dtype, torch.float32)  # half precision cannot count to 300
    pairs = torch.arange(0, d_model, 2, dtype=exact, device=device) / d_model
    positions = torch.arange(length, dtype=exact, device=device)
    angles = positions[:, None] * 10000.0**-pairs  # (T, D/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).to(dtype)  # (T, D)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Allow attention to every token but the padding.

    >>> padding_mask(torch.tensor([7, 5, 0]), pad_id=0)
    tensor([[ True,  True, False]])

    notes §5; handwritten notes.
    """
    validate_torch.tensor(ids, "ids", least_ndim=1)
    return (ids != validate.of_kind(pad_id, int, "pad_id")).unsqueeze(-2)  # (..., 1, S)


def look_ahead_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Allow position t to attend to positions up to t and to none after.

    >>> look_ahead_mask(3).sum(dim=-1)
    tensor([1, 2, 3])

    Eq. (18), notes §4.2; 2017 paper §3.2.3.
    """
    n = validate.positive(n, "n")
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()  # (T, T)


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """Say how much each query attends to each key; a query that may see no key gets zeros.

    This is the path to look at: it holds all T × S weights. `attention` is the fast one.

    >>> attention_weights(torch.tensor([[1.0, 0, 2]]), torch.tensor([[0.0, 1, 5], [1, 0, 2]]))
    tensor([[0.9472, 0.0528]])

    Eq. (10)-(11), notes §3.3; Eq. (18), notes §4.2; Eq. (1), 2017 paper §3.2.1.
    """
    validate_torch.queries_keys(q, k, mask, causal)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # (..., T, S)
    mask = _with_look_ahead(mask, q) if causal else mask
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)  # a row of -∞ became NaN


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Mix the values by the attention weights of their keys, without storing those weights.

    torch's fused kernel gives a query that may see no key zeros, and it skips what `causal` hides,
    which an equal mask cannot tell it.

    >>> attention(torch.zeros(1, 2), torch.ones(2, 2), torch.tensor([[3.0, 5], [7, 11]]))
    tensor([[5., 8.]])

    Eq. (10), notes §3.3; Eq. (18), notes §4.2; Eq. (1), 2017 paper §3.2.1.
    """
    validate_torch.queries_keys_values(q, k, v, mask, causal)
    if mask is not None:
        mask = torch.atleast_2d(mask)  # the fused kernel wants an axis of queries
        if causal:  # and it takes either a mask or the word causal
            mask, causal = _with_look_ahead(mask, q), False
    return functional.scaled_dot_product_attention(q, k, v, mask, dropout, causal)  # (..., T, K)


def _with_look_ahead(mask: Tensor | None, q: Tensor) -> Tensor:
    look_ahead = look_ahead_mask(q.shape[-2], q.device)
    return look_ahead if mask is None else mask & look_ahead


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cut the last axis into heads and bring the heads before the positions.

    >>> split_heads(torch.tensor([[1, 2, 3, 4]]), heads=2).tolist()
    [[[1, 2]], [[3, 4]]]

    Eq. (12)-(13), notes §3.4; 2017 paper §3.2.2.
    """
    validate_torch.tensor(x, "x", least_ndim=2)
    K = validate.heads_divide(x.shape[-1], heads, "the last axis of x")
    return x.unflatten(-1, (heads, K)).transpose(-2, -3)  # (..., H, T, K)


def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again, as `split_heads` found them.

    >>> merge_heads(torch.tensor([[[1, 2]], [[3, 4]]]))
    tensor([[1, 2, 3, 4]])

    Eq. (14), notes §3.4; 2017 paper §3.2.2.
    """
    validate_torch.tensor(x, "x", least_ndim=3)
    return x.transpose(-2, -3).flatten(-2)  # (..., T, H·K)


# --- the layers -----------------------------------------------------------------------------


class Linear(nn.Module):
    """Multiply by W and add b, with W stored as the equations write it: one row per input.

    `torch.nn.Linear` stores the transpose. Both train equally fast, but a product with a few rows,
    which is what writing token by token needs, is faster on a CPU with this order in memory.

    >>> Linear(3, 5)(torch.zeros(2, 3)).shape
    torch.Size([2, 5])

    Eq. (7)-(9), notes §3.3.
    """

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """x W + b, for x of any leading shape."""
        validate_torch.tensor(x, "x", least_ndim=1)
        validate.same_size(x, -1, "x", self.weight, 0, "weight")
        return functional.linear(x, self.weight.t(), self.bias)


class MultiHeadAttention(nn.Module):
    """Let each position of x attend to the context in several heads; the context is x by default.

    W^q, W^k and W^v of all heads stand side by side in one matrix, so that self-attention
    multiplies once.

    >>> MultiHeadAttention(d_model=4, heads=2)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])

    Eq. (7)-(9), notes §3.3; Eq. (12)-(14), notes §3.4; 2017 paper §3.2.2.
    """

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0):
        super().__init__()
        validate.heads_divide(d_model, heads)
        self.d_model, self.heads, self.dropout = d_model, heads, dropout
        self.qkv = Linear(d_model, 3 * d_model)  # W^q, W^k, W^v
        self.output = Linear(d_model, d_model)  # W^0
        for matrix in self.qkv.weight.chunk(3, dim=-1):  # three matrices, not one wide one
            nn.init.xavier_uniform_(matrix)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """The mask, if any, broadcasts to (..., T, S) and holds for every head."""
        q, k, v = self.project(x, context)
        dropout = self.dropout if self.training else 0.0
        mask = _for_all_heads(mask, x, context)
        heads = attention(q, k, v, mask, causal, dropout)  # (..., H, T, K)
        return self.output(merge_heads(heads))  # (..., T, D)

    def weights(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """What `forward` attends to, to be looked at."""
        q, k, _ = self.project(x, context)
        mask = _for_all_heads(mask, x, context)
        return attention_weights(q, k, mask, causal)  # (..., H, T, S)

    def project(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of x, keys and values of the context, all cut into heads."""
        validate_torch.width(x, self.d_model, "x")
        if context is None:
            q, k, v = self.qkv(x).chunk(3, dim=-1)  # (..., T, D) each
        else:
            validate_torch.width(context, self.d_model, "context")
            if x.shape[:-2] != context.shape[:-2]:
                raise ValueError(
                    f"x and context must have the same batch shape, "
                    f"got shapes {tuple(x.shape)} and {tuple(context.shape)}."
                )
            sizes = (self.d_model, 2 * self.d_model)
            w_q, w_kv = self.qkv.weight.split(sizes, dim=-1)
            b_q, b_kv = self.qkv.bias.split(sizes)
            q = functional.linear(x, w_q.t(), b_q)  # (..., T, D)
            k, v = functional.linear(context, w_kv.t(), b_kv).chunk(2, dim=-1)  # (..., S, D) each
        return split_heads(q, self.heads), split_heads(k, self.heads), split_heads(v, self.heads)


def _for_all_heads(mask: Tensor | None, x: Tensor, context: Tensor | None) -> Tensor | None:
    if mask is None:
        return None
    validate_torch.mask(mask, (*x.shape[:-1], (x if context is None else context).shape[-2]))
    return mask if mask.ndim < 3 else mask.unsqueeze(-3)  # (..., 1, T, S)


ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU}


class FeedForward(nn.Sequential):
    """Send each position through the same two linear maps with a ReLU (or a GELU) between them.

    >>> FeedForward(d_model=4, d_ff=7)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])

    Eq. (17), notes §3.7; Eq. (2), 2017 paper §3.3.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, activation: str = "relu"):
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"activation must be one of {known}, got {activation!r}.")
        super().__init__(
            Linear(d_model, d_ff),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            Linear(d_ff, d_model),
        )

    # Saved weights know the parts by their numbers, and readers by their names.

    @property
    def inner(self) -> Linear:
        """The map from D to F."""
        return cast(Linear, self[0])

    @property
    def activation(self) -> nn.Module:
        """The function between the two maps."""
        return self[1]

    @property
    def outer(self) -> Linear:
        """The map from F back to D."""
        return cast(Linear, self[3])


class AddNorm(nn.Module):
    """Add what a sublayer makes of x to x itself, and normalise: the sum, or x before the sublayer.

    >>> AddNorm(4)(torch.tensor([1.0, 2, 3, 4]), lambda x: x).round(decimals=2)
    tensor([-1.3400, -0.4500,  0.4500,  1.3400], grad_fn=<RoundBackward1>)

    Eq. (16), notes §3.6; 2017 paper §3.1.
    """

    def __init__(
        self, d_model: int, dropout: float = 0.0, norm_first: bool = False, eps: float = 1e-5
    ):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """`sublayer` is any function from (..., T, D) to (..., T, D)."""
        validate_torch.tensor(x, "x", least_ndim=1)
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class LayerConfig(Protocol):
    """What a layer asks of its configuration, whatever else that holds."""

    @property
    def d_model(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def d_ff(self) -> int: ...
    @property
    def dropout(self) -> float: ...
    @property
    def norm_first(self) -> bool: ...


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each within add and norm.

    Later encoders keep the layer and change two details: `activation` and `norm_eps`.

    >>> EncoderLayer(TransformerConfig.preset("tiny"))(torch.zeros(2, 3, 128)).shape
    torch.Size([2, 3, 128])

    Eq. (16), notes §3.6; Eq. (17), notes §3.7; 2017 paper §3.1.
    """

    def __init__(self, config: LayerConfig, activation: str = "relu", norm_eps: float = 1e-5):
        super().__init__()
        D, dropout = config.d_model, config.dropout
        self.self_attention = MultiHeadAttention(D, config.heads, dropout)
        self.feed_forward = FeedForward(D, config.d_ff, dropout, activation)
        self.add_norm1 = AddNorm(D, dropout, config.norm_first, norm_eps)
        self.add_norm2 = AddNorm(D, dropout, config.norm_first, norm_eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The mask hides padding: it broadcasts to (B, S, S)."""
        x = self.add_norm1(x, lambda x: self.self_attention(x, mask=mask))
        return self.add_norm2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to the past, attention to the memory, then the feed-forward network.

    >>> layer = DecoderLayer(TransformerConfig.preset("tiny"))
    >>> layer(torch.zeros(2, 3, 128), memory=torch.zeros(2, 5, 128)).shape
    torch.Size([2, 3, 128])

    Eq. (16), notes §3.6; Eq. (17), notes §3.7; Eq. (18), notes §4.2; 2017 paper §3.1.
    """

    def __init__(self, config: LayerConfig):
        super().__init__()
        D, dropout = config.d_model, config.dropout
        self.self_attention = MultiHeadAttention(D, config.heads, dropout)
        self.cross_attention = MultiHeadAttention(D, config.heads, dropout)
        self.feed_forward = FeedForward(D, config.d_ff, dropout)
        self.add_norm1 = AddNorm(D, dropout, config.norm_first)
        self.add_norm2 = AddNorm(D, dropout, config.norm_first)
        self.add_norm3 = AddNorm(D, dropout, config.norm_first)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """The mask hides the memory's padding: it broadcasts to (B, T, S)."""
        x = self.add_norm1(x, lambda x: self.self_attention(x, causal=True))
        x = self.add_norm2(x, lambda x: self.cross_attention(x, memory, memory_mask))
        return self.add_norm3(x, self.feed_forward)


# --- the model ------------------------------------------------------------------------------


class Transformer(nn.Module):
    """The encoder-decoder: it reads a source and predicts each next token of a target.

    One table embeds both and, transposed, turns the decoder's vectors into logits. Padding of the
    source is found from `pad_id` and never attended to. A target is padded on the right, where
    the look-ahead mask already hides it from every real token.

    >>> model = Transformer(TransformerConfig.preset("tiny"))
    >>> model(src=torch.tensor([[5, 7, 3]]), tgt=torch.tensor([[1, 11]])).shape
    torch.Size([1, 2, 256])

    notes §2; Eq. (6), notes §3.2; 2017 paper §3.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        D = config.d_model
        self.embedding = nn.Embedding(config.vocab_size, D)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # With norm_first nothing has normalised the last layer's sum.
        self.encoder_norm = nn.LayerNorm(D) if config.norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(D) if config.norm_first else nn.Identity()
        # √D times a row then has unit variance, and so has a logit.
        nn.init.normal_(self.embedding.weight, std=D**-0.5)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Logits for the token after each token of the target."""
        memory = self.encode(src)  # (B, S, D)
        memory_mask = padding_mask(src, self.config.pad_id)  # (B, 1, S)
        return self.decode(tgt, memory, memory_mask)  # (B, T, V)

    def encode(self, src: Tensor) -> Tensor:
        """A vector for each token of the source: the decoder's memory."""
        x = self.embed(src, "src")  # (B, S, D)
        mask = padding_mask(src, self.config.pad_id)  # (B, 1, S)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Logits for the token after each token of the target, given the memory."""
        x = self.embed(tgt, "tgt")  # (B, T, D)
        for layer in self.decoder:
            x = layer(x, memory, memory_mask)
        return self.logits(self.decoder_norm(x))  # (B, T, V)

    def embed(self, ids: Tensor, name: str = "ids") -> Tensor:
        """√D times each token's row of the table, plus its position, with dropout."""
        validate_torch.token_ids(ids, self.config.vocab_size, name)
        x = self.embedding(ids) * math.sqrt(self.config.d_model)  # (B, T, D)
        _, T, D = x.shape
        return self.dropout(x + sinusoidal_encoding(T, D, x.dtype, x.device))

    def logits(self, x: Tensor) -> Tensor:
        """How well each row of the embedding table matches x."""
        return functional.linear(x, self.embedding.weight)  # (..., V)

    def parameter_count_by_part(self) -> dict[str, int]:
        """How many numbers each part of the model learns; they add up to the whole.

        >>> Transformer(TransformerConfig.preset("tiny")).parameter_count_by_part()["embedding"]
        32768

        2017 paper §6.2.
        """
        counts: Counter[str] = Counter()
        for name, parameter in self.named_parameters():
            stack, layer, *rest = name.split(".")  # encoder.0.self_attention.qkv.weight
            part = f"{stack}.{rest[0].rstrip('123')}" if layer.isdigit() else stack
            counts[part] += parameter.numel()
        return dict(counts)


@torch.no_grad()
def attention_maps(model: nn.Module, *inputs: Tensor) -> dict[str, Tensor]:
    """Run the model and keep the weights of each of its attentions, by name.

    >>> model = Transformer(TransformerConfig.preset("tiny"))
    >>> maps = attention_maps(model, torch.tensor([[5, 7, 3]]), torch.tensor([[1, 11]]))
    >>> maps["decoder.1.cross_attention"].shape
    torch.Size([1, 4, 2, 3])

    Eq. (10)-(11), notes §3.3.
    """
    maps: dict[str, Tensor] = {}
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):

            def keep(
                module: MultiHeadAttention,
                args: tuple[Any, ...],
                kwargs: dict[str, Any],
                name: str = name,
            ) -> None:
                maps[name] = module.weights(*args, **kwargs)  # (B, H, T, S)

            handles.append(module.register_forward_pre_hook(keep, with_kwargs=True))
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return maps
