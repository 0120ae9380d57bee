"""Several processes that train one model: who takes part, and what they have to share.

torch.distributed does the work, and torchrun starts the processes. Each one holds the whole model,
takes its own rows of every batch, and meets the others where gradients are averaged.
"""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn, Protocol, Self, TypeVar

import torch
from torch import distributed, nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

TIME_TO_MEET = timedelta(minutes=30)
# Of those who wait for the first to validate; that one of them has died is noticed at once.
LONGEST_WAIT = timedelta(days=1)


class _Sliceable(Protocol):
    """A list or an array of rows."""

    def __getitem__(self, rows: slice, /) -> Self: ...


_Rows = TypeVar("_Rows", bound=_Sliceable)


class WorkerLost(RuntimeError):  # noqa: N818
    """Another process of this run has ended, or has not answered for too long."""


@contextmanager
def during(what: str) -> Iterator[None]:
    """Name what was going on when another process was lost; other errors pass as they are.

    gloo reports a lost connection as a plain RuntimeError, and only its text tells.
    """
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, WorkerLost | distributed.DistError) or "gloo" in str(error):
            raise WorkerLost(f"Another process was lost during {what}.") from error
        raise


@dataclass(frozen=True)
class World:
    """Who takes part in a run: this process, and how many there are.

    >>> World(rank=1, size=3).share([2, 3, 5, 7, 11])
    [3, 11]
    """

    rank: int = 0  # this process's number, from 0
    size: int = 1  # how many processes there are

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def share(self, rows: _Rows) -> _Rows:
        """This process's rows of what all processes hold; perhaps none, if there are few."""
        return rows[self.rank :: self.size]

    def total(self, value: float) -> float:
        """The sum of what all processes hand in; each of them must call."""
        if self.size == 1:
            return value
        numbers = torch.tensor(value, dtype=torch.float64)  # on the CPU: gloo adds it, not a GPU
        with during("a sum over all processes"):
            distributed.all_reduce(numbers)
        return numbers.item()

    def wait(self) -> None:
        """Go on when all processes have come here."""
        self.total(0)

    def wrap(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model, made to begin with the main process's weights and to average gradients."""
        if self.size == 1:
            return model
        with during("the start"):
            return DistributedDataParallel(
                model, device_ids=[torch.cuda.current_device()] if _is_cuda(device) else None
            )


ALONE = World()


def world_from_env() -> World:
    """Who will take part, as torchrun tells each process that it starts, before they have met."""
    size = int(os.environ.get("WORLD_SIZE", 1))
    return World(int(os.environ.get("RANK", 0)), size) if size > 1 else ALONE


def join(device: torch.device | str) -> World:
    """Meet the processes that torchrun started with this one; without torchrun there are none."""
    world = world_from_env()
    if world.size == 1:
        return ALONE
    rank, size = world.rank, world.size
    device = torch.device(device)
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"several processes need the device cpu or cuda, got {device.type}.")
    if _is_cuda(device):
        torch.cuda.set_device(_own_gpu())  # "cuda" now means this one
    backend = "cpu:gloo,cuda:nccl" if _is_cuda(device) else "gloo"
    with during("the start"):
        store, *_ = next(rendezvous("env://", rank, size, timeout=TIME_TO_MEET))
        store = PrefixStore(_agree(store, rank, size), store)
        distributed.init_process_group(
            backend, store=store, rank=rank, world_size=size, timeout=LONGEST_WAIT
        )
    return world


def _agree(store: Store, rank: int, size: int) -> str:
    """A word that all living processes know, and none that died before them.

    After a restart, torchrun's store still has the addresses of the dead. So the main process tells
    its new word to whoever shows a new word of its own, until each of the others has heard it.
    """
    word = uuid.uuid4().hex
    if rank > 0:
        store.set(f"new/{rank}", word)
        answer = store.get(f"answer/{word}").decode()
        store.set(f"heard/{rank}/{answer}", "")
        return answer
    patience = time.monotonic() + TIME_TO_MEET.total_seconds()
    for other in range(1, size):
        while not store.check([f"heard/{other}/{word}"]):
            if time.monotonic() > patience:
                raise WorkerLost  # and `during` tells when
            store.set(f"answer/{store.get(f'new/{other}').decode()}", word)
            time.sleep(0.01)
    return word


def _own_gpu() -> int:
    number, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if number >= count:
        raise ValueError(
            f"expected at most one process for each of the {count} GPUs of this machine, got "
            f"more; lower --nproc-per-node to {count}."
        )
    return number


def leave(world: World) -> None:
    """End what `join` began."""
    if world.size > 1:
        distributed.destroy_process_group()


def end(exit_code: int) -> NoReturn:
    """End a process that has met others; what it wrote has to be in its files already.

    A thread of gloo may still hold the last tensor that was added up. It would let go of it while
    Python ends, and that aborts the process: torchrun would call a finished job a failed one.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # full, closed, or never there
            stream.flush()
    os._exit(exit_code)


def _is_cuda(device: torch.device | str) -> bool:
    return torch.device(device).type == "cuda"
