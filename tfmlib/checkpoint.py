"""A checkpoint: all that training needs to go on from a step, in one safetensors file.

The file holds the weights and the two moments that Adam keeps of each. Its metadata hold, as JSON,
the step, the sizes of the model and the settings of the run. The learning rate, the place in
the data and the random numbers of the next step all follow from these, so they need no room.

Loading runs no code from the file: it is JSON and numbers. A checksum over every byte finds what
accidents do to a file; it is no signature, as whoever changes a file on purpose can renew it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from torch import Tensor

from tfmlib.model import Transformer, TransformerConfig
from tfmlib.support.files import write_whole

FORMAT = "tfmlib checkpoint 1"
KEY = "tfmlib"  # one entry of metadata: several would come in a new order each time
MOMENTS = ("exp_avg", "exp_avg_sq")  # what Adam calls them
BLANK = b"0" * 64  # stands in the place of the checksum while it is computed


class CheckpointError(ValueError):
    """The file cannot be used, and why."""


@dataclass(frozen=True)
class Checkpoint:
    """A run as it stood after a step; without moments, a model to use but not to train on."""

    step: int
    config: TransformerConfig
    weights: dict[str, Tensor]
    moments: dict[str, Tensor] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # what the run was asked for
    best: dict[str, Any] | None = None  # the best validation so far, if there was one


# --- from a model and back ----------------------------------------------------------------------


def take(
    step: int,
    model: Transformer,
    optimizer: torch.optim.Adam | None = None,
    settings: dict[str, Any] | None = None,
    best: dict[str, Any] | None = None,
) -> Checkpoint:
    """What the model, and the optimizer if there is one, hold now: no copy, so save it at once."""
    moments = {}
    if optimizer is not None:
        for name, parameter in model.named_parameters():
            for moment in MOMENTS:
                moments[f"{name}.{moment}"] = optimizer.state[parameter][moment]
    return Checkpoint(step, model.config, model.state_dict(), moments, settings or {}, best)


def restore(
    checkpoint: Checkpoint, model: Transformer, optimizer: torch.optim.Adam | None = None
) -> None:
    """Give the model its weights back, and the optimizer its moments."""
    if checkpoint.config != model.config:
        raise CheckpointError(
            f"the checkpoint is of another model: {_difference(checkpoint.config, model.config)}."
        )
    _require_names("weights", checkpoint.weights, model.state_dict())
    model.load_state_dict(checkpoint.weights)
    if optimizer is None:
        return
    parameters = dict(model.named_parameters())
    wanted = {f"{name}.{m}": p for name, p in parameters.items() for m in MOMENTS}
    _require_names("moments", checkpoint.moments, wanted)
    state = optimizer.state_dict()  # numbers the parameters in their order
    for number, name in enumerate(parameters):
        moments = {m: checkpoint.moments[f"{name}.{m}"] for m in MOMENTS}
        state["state"][number] = {"step": torch.tensor(float(checkpoint.step)), **moments}
    optimizer.load_state_dict(state)


def _difference(found: TransformerConfig, wanted: TransformerConfig) -> str:
    pairs = zip(asdict(found).items(), asdict(wanted).values(), strict=True)
    return ", ".join(f"{name} is {a}, expected {b}" for (name, a), b in pairs if a != b)


def _require_names(what: str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """The same names, each of the same shape, or say which is the first that differs."""
    for name in sorted(found.keys() | wanted.keys()):
        shapes = [tuple(t[name].shape) if name in t else "none" for t in (found, wanted)]
        if shapes[0] != shapes[1]:
            raise CheckpointError(
                f"the checkpoint has not the {what} of the model: "
                f"the shape of {name} is {shapes[0]}, expected {shapes[1]}."
            )


# --- to a file and back -------------------------------------------------------------------------


def save(path: str | Path, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all; the old one stays until the new one is on the disk."""
    write_whole(path, to_bytes(checkpoint))


def to_bytes(checkpoint: Checkpoint) -> bytes:
    """The content of the file: equal checkpoints give equal bytes."""
    about = {
        "format": FORMAT,
        "sha256": BLANK.decode(),
        "step": checkpoint.step,
        "config": asdict(checkpoint.config),
        "settings": checkpoint.settings,
        "best": checkpoint.best,
    }
    parts = {"weights": checkpoint.weights, "moments": checkpoint.moments}
    tensors = {f"{part}/{name}": t for part, named in parts.items() for name, t in named.items()}
    content = bytearray(write_tensors(tensors, metadata={KEY: json.dumps(about)}))
    place = content.index(BLANK)
    content[place : place + len(BLANK)] = _digest(content)
    return bytes(content)


def _digest(content: bytes | bytearray) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def load(path: str | Path) -> Checkpoint:
    """Read what `save` wrote; a CheckpointError says what is wrong with any other file."""
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise CheckpointError(f"{path} is no file; expected a checkpoint there.") from None
    try:
        return from_bytes(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path} {error}") from None


def split_damaged(paths: Sequence[Path]) -> tuple[Path | None, list[Path]]:
    """The last of the files that is a whole checkpoint, if one is, and those after it."""
    damaged: list[Path] = []
    for path in reversed(paths):
        try:
            load(path)
        except CheckpointError:
            damaged.append(path)
        else:
            return path, damaged
    return None, damaged


def from_bytes(content: bytes) -> Checkpoint:
    """The checkpoint in the content of a file; a CheckpointError goes on after the file's name."""
    about = _check_header(content)
    _check_digest(content, about)
    try:
        tensors = read_tensors(content)
        config = TransformerConfig(**about["config"])
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "moments": {}}
        for key, tensor in tensors.items():
            part, _, name = key.partition("/")
            parts[part][name] = tensor
        return Checkpoint(
            about["step"], config, **parts, settings=about["settings"], best=about["best"]
        )
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"has the right checksum but no checkpoint in it: {error}.") from None


def _check_header(content: bytes) -> dict[str, Any]:
    """What the file says about itself, if it is a whole checkpoint of ours.

    A safetensors file is the length of a header in 8 bytes, the header as JSON, and numbers, of
    which the header says where each tensor ends.
    """
    length = int.from_bytes(content[:8], "little")
    if content[8:9] != b"{":
        raise CheckpointError(
            "is no checkpoint: expected a safetensors file, "
            f"got {'an empty file' if not content else 'something else'}."
        )
    if len(content) < 8 + length:
        raise CheckpointError(_cut_short(content, "more than " + f"{8 + length:,}"))
    try:
        header = json.loads(content[8 : 8 + length])
        about = json.loads(header.pop("__metadata__", {}).get(KEY, "{}"))
        whole = 8 + length + max((t["data_offsets"][1] for t in header.values()), default=0)
        found = about.get("format")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise CheckpointError("is damaged: its header cannot be read.") from None
    if found != FORMAT:
        raise CheckpointError(
            f"is a safetensors file but no checkpoint of a run: expected the format {FORMAT!r}, "
            f"got {found!r}."
        )
    if len(content) < whole:
        raise CheckpointError(_cut_short(content, f"{whole:,}"))
    return about


def _cut_short(content: bytes, wanted: str) -> str:
    return f"is cut short: it has {len(content):,} of {wanted} bytes."


def _check_digest(content: bytes, about: dict[str, Any]) -> None:
    stored = str(about.get("sha256")).encode()
    blanked = content.replace(stored, BLANK, 1) if len(stored) == len(BLANK) else b""
    if _digest(blanked) != stored:
        raise CheckpointError("is damaged: its content does not match its checksum.")
