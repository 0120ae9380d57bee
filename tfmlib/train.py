"""The training loop: shifted targets, smoothed cross-entropy, Adam, and a warm-up of its rate."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tfmlib import data, ref
from tfmlib.generate import translate
from tfmlib.model import Transformer
from tfmlib.parallel import ALONE, World, during
from tfmlib.tokenizer import Tokenizer

# --- the objective ------------------------------------------------------------------------------


def shift(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a target into what the decoder reads and what it is to predict, one token later.

    >>> [part.tolist() for part in shift(torch.tensor([[1, 7, 5, 2]]))]
    [[[1, 7, 5]], [[7, 5, 2]]]

    notes §4.2.
    """
    return tgt[:, :-1], tgt[:, 1:]  # (B, T-1) each


def cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, ignore_id: int | None = None
) -> Tensor:
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


def make_optimizer(model: Transformer, fused: bool | None = None) -> torch.optim.Adam:
    """Adam with the constants of the 2017 paper, §5.3; the loop sets its rate.

    `fused` takes all of a step in one kernel: faster, and other in the last digit.
    """
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=fused)


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
    seed: int | None = None,
    world: World = ALONE,
    forward: Callable[[Tensor, Tensor], Tensor] | None = None,
    precision: torch.dtype | None = None,
) -> Iterator[Step]:
    """Take the steps from `first` to `steps`, and report each one as it is done.

    Nothing happens until you ask for the reports: `losses = [s.loss for s in train(…)]`.

    With a `seed`, the random numbers of a step follow from it and the step alone, as its batch
    does, so that a run can go on from any step. `forward` is the model compiled, or wrapped for a
    `world` of several processes: each takes its rows of every batch, and without dropout they
    train as one would. `precision` is that of the products, such as torch.bfloat16.
    """
    optimizer = optimizer or make_optimizer(model)
    forward = model if forward is None else forward  # a compiled model has no truth value
    config, weight = model.config, next(model.parameters())
    for number in range(first, steps + 1):
        model.train()  # again each time: whoever took the last report may have evaluated
        if seed is not None:
            torch.manual_seed(_step_seed(seed, number, world.rank))
        src, tgt, tokens = _own_rows(batches[number - 1], world, config.pad_id)
        inputs, targets = shift(tgt.to(weight.device))  # (B, T-1)
        rate = learning_rate(number, config.d_model, warmup, peak)
        for group in optimizer.param_groups:
            group["lr"] = rate
        with during(f"step {number}"):
            with torch.autocast(weight.device.type, precision, enabled=precision is not None):
                logits = forward(src.to(weight.device), inputs)  # (B, T-1, V)
            loss = cross_entropy(logits.to(weight.dtype), targets, smoothing, config.pad_id)
            loss = loss * (tokens.own / tokens.all * world.size)  # gradients will be averaged
            value = world.total(loss.item()) / world.size
            _check_finite(value, f"loss of step {number}")  # before it spoils the weights
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            _check_finite(norm.item(), f"gradient's length in step {number}")
            optimizer.step()
        yield Step(number, value, rate, tokens.all)


def _step_seed(seed: int, number: int, rank: int) -> int:
    """Another one for each step and process, so that no two of them drop the same entries."""
    return int(np.random.SeedSequence([seed, number, rank]).generate_state(1, np.uint64)[0])


class _Tokens(NamedTuple):
    own: int  # how many target tokens this process predicts
    all: int  # how many all processes predict


def _own_rows(
    batch: tuple[np.ndarray, np.ndarray], world: World, pad_id: int
) -> tuple[Tensor, Tensor, _Tokens]:
    """This process's rows of a batch; if there are none for it, one that counts for nothing.

    It must take part, as the others wait for its gradient.
    """
    src, tgt = map(world.share, batch)
    tokens = _Tokens(*(int((ids[:, 1:] != pad_id).sum()) for ids in (tgt, batch[1])))
    if not tokens.own:
        src, tgt = (ids[:1] for ids in batch)
    return torch.from_numpy(src), torch.from_numpy(tgt), tokens  # (B, S), (B, T)


def _check_finite(value: float, name: str) -> None:
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the {name} is {value}, expected a finite number; "
            "lower the learning rate or lengthen the warm-up."
        )


# --- how good is it? ----------------------------------------------------------------------------


@torch.no_grad()
def mean_loss(model: Transformer, batches: data.Batches) -> float:
    """The cross-entropy of a token, without smoothing and without dropout, over an epoch."""
    device, pad_id = next(model.parameters()).device, model.config.pad_id
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for batch in batches:
        src, tgt = (torch.from_numpy(ids).to(device) for ids in batch)  # (B, S), (B, T)
        inputs, targets = shift(tgt)
        tokens = int((targets != pad_id).sum())
        logits = model(src, inputs)  # (B, T-1, V)
        total += cross_entropy(logits, targets, ignore_id=pad_id).item() * tokens
        count += tokens
    model.train(was_training)
    return total / count


def exact_match(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[data.Pair], batch_size: int = 256
) -> float:
    """The share of the sources that are translated into exactly their targets."""
    written = translate(model, tokenizer, [source for source, _ in pairs], batch_size)
    return share_equal(written, writable_targets(tokenizer, pairs))


def share_equal(written: Sequence[str], wanted: Sequence[str]) -> float:
    """The share of texts that are exactly what was wanted.

    >>> share_equal(["zwei", "drei"], ["zwei", "vier"])
    0.5
    """
    return sum(map(str.__eq__, written, wanted)) / len(wanted)


def writable_targets(tokenizer: Tokenizer, pairs: Sequence[data.Pair]) -> list[str]:
    """Each target as the tokenizer can write it: without capitals and commas, say."""
    return [tokenizer.decode(tokenizer.encode(target)) for _, target in pairs]
