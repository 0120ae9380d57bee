"""The training loop: shifted targets, smoothed cross-entropy, Adam, and a warm-up of its rate."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tfmlib import data, ref
from tfmlib.generate import greedy
from tfmlib.model import Transformer
from tfmlib.tokenizer import Tokenizer

# --- the objective ------------------------------------------------------------------------------


def shift(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a target into what the decoder reads and what it is to predict, one token later.

    >>> [part.tolist() for part in shift(torch.tensor([[1, 7, 5, 2]]))]
    [[[1, 7, 5]], [[7, 5, 2]]]

    notes §4.2.
    """
    return tgt[:, :-1], tgt[:, 1:]  # (B, T-1) each


def cross_entropy(logits: Tensor, targets: Tensor, smoothing=0.0, ignore_id=None) -> Tensor:
    """Average the surprise at the right token; smoothing spreads that share over all tokens.

    >>> logits = torch.tensor([[6.0, 4.0], [3.0, 8.0]])
    >>> cross_entropy(logits, torch.tensor([0, 1])).round(decimals=3)
    tensor(0.0670)

    notes §4.2; 2017 paper §5.4.
    """
    return functional.cross_entropy(
        logits.flatten(0, -2),  # (N, V)
        targets.flatten(),  # (N,)
        ignore_index=-100 if ignore_id is None else ignore_id,
        label_smoothing=smoothing,
    )


def learning_rate(step: int, d_model: int, warmup: int, peak: float | None = None) -> float:
    """The rate of the 2017 paper; with a `peak`, scaled so that its highest point is there.

    >>> round(learning_rate(400, d_model=64, warmup=200, peak=1e-3), 6)
    0.000707

    Eq. (3), 2017 paper §5.3.
    """
    rate = ref.learning_rate(step, d_model, warmup)
    scale = 1.0 if peak is None else peak / ref.learning_rate(warmup, d_model, warmup)
    return float(scale * rate)


# --- the loop -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """What one step of training has to tell."""

    number: int  # from 1
    loss: float  # smoothed cross-entropy of its batch, before the step
    rate: float  # the learning rate it used
    tokens: int  # how many target tokens it predicted


def make_optimizer(model: Transformer) -> torch.optim.Adam:
    """Adam with the constants of the 2017 paper, §5.3; the loop sets its rate."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)


def train(
    model: Transformer,
    batches: data.Batches,
    steps: int,
    *,
    warmup: int = 200,
    peak: float | None = None,
    smoothing: float = 0.1,
    clip: float = 1.0,
    optimizer: torch.optim.Optimizer | None = None,
    first: int = 1,
) -> Iterator[Step]:
    """Take the steps from `first` to `steps`, and report each one as it is done.

    Nothing happens until you ask for the reports: `losses = [s.loss for s in train(…)]`.
    """
    optimizer = optimizer or make_optimizer(model)
    config, device = model.config, next(model.parameters()).device
    for number in range(first, steps + 1):
        model.train()  # again each time: whoever took the last report may have evaluated
        src, tgt = (torch.from_numpy(ids).to(device) for ids in batches[number - 1])
        inputs, targets = shift(tgt)  # (B, T-1)
        loss = cross_entropy(model(src, inputs), targets, smoothing, config.pad_id)
        value = _finite(loss, number)  # before the step, which would spoil the weights
        rate = learning_rate(number, config.d_model, warmup, peak)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        yield Step(number, value, rate, int((targets != config.pad_id).sum()))


def _finite(loss: Tensor, number: int) -> float:
    value = loss.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the loss of step {number} is {value}, expected a finite number; "
            "lower the learning rate or lengthen the warm-up."
        )
    return value


# --- how good is it? ----------------------------------------------------------------------------


@torch.no_grad()
def mean_loss(model: Transformer, batches: data.Batches) -> float:
    """The cross-entropy of a token, without smoothing and without dropout, over an epoch."""
    device, pad_id = next(model.parameters()).device, model.config.pad_id
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for src, tgt in batches:
        inputs, targets = shift(torch.from_numpy(tgt).to(device))
        logits = model(torch.from_numpy(src).to(device), inputs)  # (B, T-1, V)
        tokens = int((targets != pad_id).sum())
        total += cross_entropy(logits, targets, ignore_id=pad_id).item() * tokens
        count += tokens
    model.train(was_training)
    return total / count


def translate(
    model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], batch_size: int = 256
) -> list[str]:
    """Translate each text greedily, into at most twice its tokens and ten more."""
    device = next(model.parameters()).device
    sources = [data.encode_source(tokenizer, text) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(sources[i]))  # little padding
    translations = [""] * len(texts)
    for begin in range(0, len(order), batch_size):
        rows = order[begin : begin + batch_size]
        src = torch.from_numpy(tokenizer.pad(sources[i] for i in rows)).to(device)  # (B, S)
        ids = greedy(model, src, _longest(src.shape[1]))  # (B, T)
        for i, row in zip(rows, ids.tolist(), strict=True):
            translations[i] = tokenizer.decode(row[: _longest(len(sources[i]))])
    return translations


def _longest(source_length: int) -> int:
    """How long a translation may get; it depends on its own source, not on its batch."""
    return 2 * source_length + 10


def exact_match(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[data.Pair], batch_size: int = 256
) -> float:
    """The share of the sources that are translated into exactly their targets."""
    written = translate(model, tokenizer, [source for source, _ in pairs], batch_size)
    # A target as the tokenizer can write it: without capitals and commas, say.
    wanted = [tokenizer.decode(tokenizer.encode(target)) for _, target in pairs]
    return sum(map(str.__eq__, written, wanted)) / len(pairs)
