"""The checks of `validate` for tensors of torch: each raises one sentence, or lets the value pass.

They look at types and shapes, which cost nothing; at values only on a CPU.
"""

import torch
from torch import Tensor

from tfmlib.support import validate
from tfmlib.support.arrays import Shape


def tensor(x: object, name: str, least_ndim: int = 0) -> None:
    """Raise unless `x` is a tensor with at least `least_ndim` axes.

    >>> tensor(torch.ones(2, 3), "x", least_ndim=2)
    """
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name} must be a tensor, got {validate.short_repr(x)} of type {type(x).__name__}; "
            "make one with torch.tensor."
        )
    validate.at_least_axes(x, least_ndim, name)


def floats(x: Tensor, name: str, least_ndim: int = 0) -> None:
    """Raise unless `x` is a tensor of floating-point numbers with at least `least_ndim` axes.

    >>> floats(torch.ones(2, 3), "x", least_ndim=2)
    """
    tensor(x, name, least_ndim)
    if not x.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, got dtype {x.dtype}; "
            f"convert it with {name}.float()."
        )


def token_ids(ids: Tensor, vocab_size: int, name: str) -> None:
    """Raise unless `ids` are a batch of ids within the vocabulary, such as an embedding takes.

    >>> token_ids(torch.tensor([[0, 4]]), vocab_size=5, name="src")
    """
    tensor(ids, name)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(f"{name} must be integers, got dtype {ids.dtype}.")
    if ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"{name} must be integers of 32 or 64 bits, got dtype {ids.dtype}; "
            f"convert them with {name}.long()."
        )
    if ids.ndim != 2:
        raise ValueError(f"{name} must have shape (batch, length), got shape {tuple(ids.shape)}.")
    if 0 in ids.shape:
        raise ValueError(f"{name} must not be empty, got shape {tuple(ids.shape)}.")
    if ids.device.type != "cpu" or torch.compiler.is_compiling():
        return  # looking at the values would make an accelerator wait, or break the graph
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= vocab_size:
        raise ValueError(
            f"{name} must lie between 0 and {vocab_size - 1} for a vocabulary of {vocab_size}, "
            f"got {low if low < 0 else high}."
        )


def mask(allowed: Tensor, shape: Shape) -> None:
    """Raise unless `allowed` is boolean and broadcasts to `shape` without enlarging it.

    >>> mask(torch.tensor([True, False]), shape=(3, 2))
    """
    tensor(allowed, "mask")
    if allowed.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean, True where attention is allowed, got dtype {allowed.dtype}."
        )
    fits = zip(reversed(allowed.shape), reversed(shape), strict=False)
    if allowed.ndim > len(shape) or any(size not in (1, wanted) for size, wanted in fits):
        raise ValueError(f"mask must broadcast to {shape}, got shape {tuple(allowed.shape)}.")


def width(x: Tensor, d_model: int, name: str) -> None:
    """Raise unless `x` holds a sequence of vectors of this width.

    >>> width(torch.ones(2, 3, 4), 4, "x")
    """
    floats(x, name)
    if x.ndim < 2 or x.shape[-1] != d_model:
        raise ValueError(
            f"{name} must have shape (..., length, {d_model}), got shape {tuple(x.shape)}."
        )


def queries_keys(q: Tensor, k: Tensor, allowed: Tensor | None, causal: bool) -> None:
    """Raise unless the queries can be compared with the keys, under this mask.

    >>> queries_keys(torch.ones(2, 3, 7), torch.ones(5, 7), None, causal=False)
    """
    floats(q, "q", least_ndim=2)
    floats(k, "k", least_ndim=2)
    T, S = q.shape[-2], k.shape[-2]
    validate.same_size(q, -1, "q", k, -1, "k")
    if q.shape[:-2] != k.shape[:-2]:
        validate.batch(q=q, k=k)
    if causal and T != S:
        raise ValueError(f"causal attention needs as many queries as keys, got {T} and {S}.")
    if allowed is not None:
        mask(allowed, (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), T, S))


def queries_keys_values(
    q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, causal: bool
) -> None:
    """Raise unless values can be mixed by the weights of these queries and keys.

    >>> queries_keys_values(torch.ones(3, 7), torch.ones(5, 7), torch.ones(5, 2), None, False)
    """
    queries_keys(q, k, allowed, causal)
    floats(v, "v", least_ndim=2)
    validate.same_size(k, -2, "k", v, -2, "v")
    if k.shape[:-2] != v.shape[:-2]:
        validate.batch(q=q, k=k, v=v)
