"""The folder of a run:

run.json                  settings, sizes of the model, checksums of data and vocabulary
tokenizer.json            the vocabulary
log.jsonl                 one line per step or score, as JSON
step-000400.safetensors   the last two checkpoints, to resume from
best.safetensors          the weights that did best in validation, to translate with
.lock                     locked by the process that trains, so that there is only one
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tfmlib import data
from tfmlib.runs import failures
from tfmlib.runs.settings import KINDS, Settings
from tfmlib.support.files import TEMPORARY, try_lock, write_whole
from tfmlib.tokenizer import BPETokenizer, Tokenizer, WordTokenizer

FORMAT = "tfmlib run 1"
FILES = ("run.json", "tokenizer.json", "log.jsonl", "*.safetensors")
CHECKPOINT = re.compile(r"step-[0-9]+\.safetensors")  # any other name is a person's own
CHECKPOINTS_KEPT = 2  # the newest, and the one before in case the newest is damaged


@dataclass(frozen=True)
class RunInfo:
    """What run.json says."""

    settings: Settings
    config: dict[str, Any]  # sizes of the model
    data_checksum: str
    tokenizer_checksum: str | None
    job: str | None  # of torchrun, if that started the run


@dataclass(frozen=True)
class Run:
    """The folder of a run, and what is in it."""

    folder: Path

    @property
    def info(self) -> Path:
        return self.folder / "run.json"

    @property
    def best(self) -> Path:
        return self.folder / "best.safetensors"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    @property
    def tokenizer(self) -> Path:
        return self.folder / "tokenizer.json"

    # --- the folder as a whole

    def has_begun(self) -> bool:
        return self.info.exists()

    def require_room(self) -> None:
        """Refuse a folder that holds something else, which the run might overwrite."""
        if self.folder.exists() and not self.folder.is_dir():
            raise failures.is_a_file(self.folder)
        self._require_run_json_if_checkpoints()
        begun = {self.tokenizer, *self._temporary_files()}  # by a run that was killed at once
        other = sorted(set(self.folder.glob("[!.]*")) - begun)
        if other:
            raise failures.holds_other_files(self.folder, other[0].name)

    def lock(self) -> BinaryIO:
        """Keep others from training in the folder, until the file that is returned is closed."""
        locked = try_lock(self.folder / ".lock")
        if locked is None:
            raise failures.is_locked(self.folder)
        return locked

    def remove_temporary_files(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for path in self._temporary_files():
            path.unlink(missing_ok=True)

    def _temporary_files(self) -> list[Path]:
        return [path for name in FILES for path in self.folder.glob(name + TEMPORARY)]

    # --- checkpoints

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step is kept."""
        return self.folder / f"step-{step:06d}.safetensors"

    def checkpoints(self) -> list[Path]:
        """Those that are there, the newest last."""
        found = [p for p in self.folder.glob("step-*") if CHECKPOINT.fullmatch(p.name)]
        return sorted(found, key=step_in_name)

    def prune_checkpoints(self) -> None:
        """Remove all but the last ones; call it when a new one is on the disk."""
        for path in self.checkpoints()[:-CHECKPOINTS_KEPT]:
            path.unlink(missing_ok=True)

    # --- run.json

    def write(
        self, settings: Settings, config: dict[str, Any], data_checksum: str, job: str | None = None
    ) -> None:
        """Note what the run is about; from now on there is something to resume."""
        content = {
            "format": FORMAT,
            "settings": asdict(settings),
            "config": config,
            "data": data_checksum,
            "tokenizer": self._tokenizer_checksum(),
            "job": job,
        }
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_whole(self.info, text.encode())

    def read(self) -> RunInfo:
        """What `write` noted, checked again."""
        try:
            return _parse(json.loads(self.info.read_bytes()))
        except PermissionError as error:
            raise failures.not_permitted(self.info, error) from None
        except OSError:
            self._require_run_json_if_checkpoints()
            raise failures.holds_no_run(self.folder) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise failures.unreadable_run_json(self.info, error) from None

    def _require_run_json_if_checkpoints(self) -> None:
        """Refuse a folder in which a run has been, as its checkpoints tell, but is no more."""
        if not self.has_begun() and (self.checkpoints() or self.best.exists()):
            raise failures.has_lost_run_json(self.folder)

    # --- tokenizer.json

    def write_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Keep the vocabulary; do so before `write`, after which it has to be there."""
        tokenizer.save(self.tokenizer)

    def read_tokenizer(self, info: RunInfo) -> Tokenizer:
        """The vocabulary: of words for numbers, of byte pairs for your own text."""
        kind = BPETokenizer if info.settings.task is None else WordTokenizer
        try:
            tokenizer = kind.load(self.tokenizer)
            found = self._tokenizer_checksum()
        except (OSError, ValueError) as error:
            raise failures.unreadable_tokenizer(self.tokenizer, error) from None
        if info.tokenizer_checksum not in (None, found):
            raise failures.other_tokenizer(self.tokenizer)
        return tokenizer

    def _tokenizer_checksum(self) -> str:
        return hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()


def step_in_name(path: Path) -> int:
    """The step that the name of a checkpoint tells.

    >>> step_in_name(Path("step-000400.safetensors"))
    400
    """
    return int(path.stem.removeprefix("step-"))


def data_checksum(task: data.Task) -> str:
    """Tells whether sentence pairs are the same, wherever they were read from."""
    parts = [task.train, task.validation, task.test]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _parse(content: Any) -> RunInfo:
    """What a run.json says, if it has all parts, each of its kind."""
    if not isinstance(content, dict):
        raise ValueError(f"expected an object with names, got {content!r}")
    for name, kind in {"format": str, "settings": dict, "config": dict, "data": str}.items():
        if name not in content:
            raise ValueError(f"expected {name!r} in it, got none")
        if not isinstance(content[name], kind):
            raise ValueError(f"expected {KINDS[kind][0]} as {name!r}, got {content[name]!r}")
    if content["format"] != FORMAT:
        raise ValueError(f"expected the format {FORMAT!r}, got {content['format']!r}")
    return RunInfo(
        Settings(**content["settings"]),
        content["config"],
        content["data"],
        content.get("tokenizer"),
        content.get("job"),
    )
