"""A training run: its settings, its folder, and the command that begins or resumes it.

A run is a folder:

    run.json                  settings, sizes of the model, checksums of data and vocabulary
    tokenizer.json            the vocabulary
    log.jsonl                 one line a step or score, as JSON
    step-000400.safetensors   the last two checkpoints, to go on from
    best.safetensors          the weights that did best in validation, to translate with
    .lock                     held by the process that trains, so that there is only one

torch is imported only when training begins (`runs.session`): asking for help should be quick.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from tfmlib import data
from tfmlib.support.files import TEMPORARY, hold, write_whole
from tfmlib.tokenizer import BPETokenizer, Tokenizer, WordTokenizer

FORMAT = "tfmlib run 1"
FILES = ("run.json", "tokenizer.json", "log.jsonl", "*.safetensors")
CHECKPOINT = re.compile(r"step-([0-9]+)\.safetensors")  # any other name is a person's own
BRING_BACK = "Bring the old file back, or begin another run."
KEPT = 2  # checkpoints: the newest, and the one before in case the newest is damaged


class RunError(Exception):
    """What a person has to change before the run can begin or go on, in a sentence."""


# --- settings -----------------------------------------------------------------------------------


def _setting(default: Any, kind: type, about: str) -> Any:
    return field(default=default, metadata={"kind": kind, "help": about})


# What a value has to be, in words; a whole number is a number, but true and false are none.
_KINDS = {
    str: ("a text", str),
    int: ("a whole number", int),
    float: ("a number", int | float),
    dict: ("names with their values", dict),
}


@dataclass(frozen=True)
class Settings:
    """All that decides what a run computes; two runs with equal settings train equal models.

    >>> Settings(steps=0)
    Traceback (most recent call last):
        ...
    ValueError: expected at least 1 for --steps, got 0.
    """

    task: str | None = _setting("en-de", str, "numbers in words: en-de, de-fr, …")
    source: str | None = _setting(None, str, "your own text instead: one sentence a line")
    target: str | None = _setting(None, str, "its translation, line by line")
    vocab_size: int = _setting(8000, int, "how many byte-pair tokens your own text is cut into")
    validation: int = _setting(500, int, "sentences to choose the best weights by")
    test: int = _setting(1000, int, "sentences to test these on in the end")
    preset: str = _setting("tiny", str, "the size of the model: tiny, base or big")
    changes: dict[str, Any] = field(default_factory=dict)  # of the preset
    steps: int = _setting(1000, int, "how many steps to train in all")
    batch_size: int = _setting(256, int, "sentences a step, over all processes")
    warmup: int = _setting(200, int, "steps until the learning rate is highest")
    peak: float = _setting(1e-3, float, "the highest learning rate")
    smoothing: float = _setting(0.1, float, "the share of the target spread over all tokens")
    clip: float = _setting(1.0, float, "the length to which longer gradients are cut")
    seed: int = _setting(0, int, "of the first weights, the batches and the dropout")
    validate_every: int = _setting(200, int, "steps between two validations")
    save_every: int = _setting(100, int, "steps between two checkpoints")
    precision: str = _setting("auto", str, "auto, float32 or bfloat16")

    def __post_init__(self):
        for setting in fields(self):
            self._require_kind(setting.name, setting.metadata.get("kind", dict))
        counts = ("validation", "test", "steps", "batch_size", "warmup")
        for name in (*counts, "validate_every", "save_every"):
            self._require(name, "at least 1", getattr(self, name) >= 1)
            self._require(name, "a number below 2**63", getattr(self, name) < 2**63)
        self._require("seed", "at least 0 and below 2**63", 0 <= self.seed < 2**63)
        self._require("smoothing", "at least 0 and below 1", 0 <= self.smoothing < 1)
        for name in ("peak", "clip"):
            self._require(name, "a finite number above 0", 0 < getattr(self, name) < float("inf"))
        known = ("auto", "float32", "bfloat16")
        self._require("precision", f"one of {', '.join(known)}", self.precision in known)
        if (self.source is None) != (self.target is None):
            raise ValueError("expected both --source and --target, got one of them.")
        if (self.source is None) == (self.task is None):
            raise ValueError("expected either --task, or --source and --target.")

    def _require_kind(self, name: str, kind: type) -> None:
        what, accepted = _KINDS[kind]
        value = getattr(self, name)
        is_left_out = value is None and name in ("task", "source", "target")
        fits = isinstance(value, accepted) and not isinstance(value, bool)
        self._require(name, what, is_left_out or fits)

    def _require(self, name: str, what: str, holds: bool) -> None:
        if not holds:
            raise ValueError(f"expected {what} for {_flag(name)}, got {getattr(self, name)}.")

    @classmethod
    def from_flags(cls, given: dict[str, Any]) -> Self:
        """The settings of a new run."""
        own_text = {"source", "target"} & given.keys()
        return cls(**({"task": None} if own_text else {}) | given)

    def with_flags(self, given: dict[str, Any]) -> Self:
        """The settings of this run, resumed: what would spoil it cannot be changed any more."""
        if self.task is not None:
            others, began = ("source", "target"), f"--task {self.task}"
        else:
            others, began = ("task",), "--source and --target"
        for name in others:
            if name in given:
                raise ValueError(
                    f"{_flag(name)} contradicts the run, which began with {began}; "
                    "leave the flag out, or begin another run."
                )
        for name, value in given.items():
            stored = getattr(self, name)
            is_free = name in MAY_CHANGE or (name, value) == ("precision", "auto")
            is_same = value.items() <= stored.items() if name == "changes" else value == stored
            if not is_free and not is_same:
                raise ValueError(
                    f"{_flag(name)} {_shown(value)} contradicts the run, which began with "
                    f"{_shown(stored)}; leave the flag out, or begin another run."
                )
        return replace(self, **{name: given[name] for name in MAY_CHANGE if name in given})

    def make_task(self, tokenizer: Tokenizer | None = None) -> data.Task:
        """The sentence pairs; with the tokenizer of a run that goes on, or a new one.

        The split into parts is the same for every seed, so that runs can be compared.
        """
        if self.task is not None:
            task = data.number_task(self.task, validation=self.validation, test=self.test)
            return task if tokenizer is None else replace(task, tokenizer=tokenizer)

        def make_tokenizer(texts: list[str]) -> Tokenizer:
            return tokenizer or BPETokenizer.train(texts, self.vocab_size)

        return data.text_task(
            self.source, self.target, self.validation, self.test, make_tokenizer=make_tokenizer
        )


# What does not spoil a run that goes on. A place of the text is one of these, as the checksum in
# run.json tells whether the text is the same; and so is what a person lowers when the loss was not
# finite or the memory not enough, though the weights then are not those of a run left alone.
MAY_CHANGE = (
    *("steps", "validate_every", "save_every", "source", "target"),
    *("batch_size", "warmup", "peak", "clip"),
)


def first_difference(found: dict[str, Any], wanted: Settings) -> str | None:
    """Where settings that a file tells of are not those of a run, of all that may not change.

    >>> first_difference({"seed": 3, "steps": 7}, Settings())
    '--seed 3, expected 0'
    """
    for name, value in asdict(wanted).items():
        if name not in MAY_CHANGE and found.get(name, value) != value:
            return f"{_flag(name)} {_shown(found[name])}, expected {_shown(value)}"
    return None


def _flag(name: str) -> str:
    return "--set" if name == "changes" else "--" + name.replace("_", "-")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={json.dumps(v)}" for name, v in value.items()) or "none"
    return "none" if value is None else str(value)


# --- the folder ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """The folder of a run, and the names of what is in it."""

    folder: Path

    @property
    def best(self) -> Path:
        return self.folder / "best.safetensors"

    @property
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    @property
    def tokenizer(self) -> Path:
        return self.folder / "tokenizer.json"

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step is kept."""
        return self.folder / f"step-{step:06d}.safetensors"

    def checkpoints(self) -> list[Path]:
        """Those that are there, the newest last."""
        found = [p for p in self.folder.glob("step-*") if CHECKPOINT.fullmatch(p.name)]
        return sorted(found, key=step_in_name)

    def forget_old_checkpoints(self) -> None:
        """Remove all but the last ones; call it when a new one is on the disk."""
        for path in self.checkpoints()[:-KEPT]:
            path.unlink(missing_ok=True)

    # --- run.json

    def has_begun(self) -> bool:
        return (self.folder / "run.json").exists()

    def require_room(self) -> None:
        """Refuse a folder that holds something else, which the run might overwrite."""
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(f"{self.folder} is a file; choose a folder for the run.")
        self._require_not_lost()
        begun = {self.tokenizer, *self._leftovers()}  # by a run that was killed at once
        other = sorted(set(self.folder.glob("[!.]*")) - begun)
        if other:
            raise RunError(
                f"{self.folder} holds no run but other files, such as {other[0].name}; "
                "choose a new folder."
            )

    def hold(self) -> BinaryIO:
        """Keep others from training in the folder, until the file that is returned is closed."""
        held = hold(self.folder / ".lock")
        if held is None:
            raise RunError(
                f"another process is training in {self.folder}; end it first, or wait for it."
            )
        return held

    def remove_leftovers(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for path in self._leftovers():
            path.unlink(missing_ok=True)

    def _leftovers(self) -> list[Path]:
        return [path for name in FILES for path in self.folder.glob(name + TEMPORARY)]

    def write_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Keep the vocabulary; do so before `write`, after which it has to be there."""
        tokenizer.save(self.tokenizer)

    def write(self, settings: Settings, config: dict[str, Any], data_checksum: str) -> None:
        """Note what the run is about; from now on there is something to resume."""
        about = {
            "format": FORMAT,
            "settings": asdict(settings),
            "config": config,
            "data": data_checksum,
            "tokenizer": self._tokenizer_checksum(),
            "job": torchrun_job(),
        }
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        write_whole(self.folder / "run.json", text.encode())

    def read(self) -> dict[str, Any]:
        """What `write` noted, its settings checked again."""
        path = self.folder / "run.json"
        try:
            about = json.loads(path.read_bytes())
            _require_parts(about)
            return {**about, "settings": Settings(**about["settings"])}
        except PermissionError as error:
            raise RunError(f"{path}: {error.strerror}.") from None
        except OSError:
            self._require_not_lost()
            raise RunError(
                f"{self.folder} holds no run: there is no run.json in it; "
                f"train one with: {python()} -m tfmlib train "
                f"--out {shlex.quote(str(self.folder))}"
            ) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise RunError(
                f"{path} cannot be read: {str(error).rstrip('.')}. {BRING_BACK}"
            ) from None

    def _require_not_lost(self) -> None:
        """Refuse a folder in which a run has been, as its checkpoints tell, but is no more."""
        if not self.has_begun() and (self.checkpoints() or self.best.exists()):
            raise RunError(f"{self.folder} has checkpoints but no run.json. {BRING_BACK}")

    def has_begun_in_this_job(self) -> bool:
        """Whether the torchrun that started this process began the run; never an error."""
        try:
            job = self.read().get("job")
        except RunError:  # `read` will tell whoever needs more
            return False
        return job is not None and job == torchrun_job()

    def read_tokenizer(self, about: dict[str, Any]) -> Tokenizer:
        """The vocabulary, of words for numbers, of byte pairs for your own text; `read` first."""
        kind = BPETokenizer if about["settings"].task is None else WordTokenizer
        try:
            tokenizer = kind.load(self.tokenizer)
            found = self._tokenizer_checksum()
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self.tokenizer}, the vocabulary of the run, cannot be read: {error} {BRING_BACK}"
            ) from None
        if about.get("tokenizer", found) != found:
            raise RunError(
                f"{self.tokenizer} is not the vocabulary that the run began with: its checksum is "
                f"not the one in run.json. {BRING_BACK}"
            )
        return tokenizer

    def _tokenizer_checksum(self) -> str:
        return hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()

    # --- what to tell a person

    def last_checkpoint(self) -> str:
        """Where it is, as a sentence."""
        found = self.checkpoints()
        return f"The last checkpoint is {found[-1]}." if found else "There is no checkpoint yet."

    def how_to_resume(self, *flags: str, options: Sequence[str] = ()) -> str:
        """The last checkpoint, and the command that goes on from it, with flags and options."""
        if not self.has_begun():  # and its settings are nowhere but in the command
            return "The run had not begun: give the same command again."
        return f"{self.last_checkpoint()} {self.go_on(*flags, options=options)}"

    def go_on(self, *flags: str, options: Sequence[str] = ()) -> str:
        """The command that goes on from the last checkpoint."""
        resume = " ".join(["--resume", *flags])
        if os.environ.get("GROUP_WORLD_SIZE", "1") != "1":  # torchrun's: on several machines
            return f"Go on with the same commands and {resume}."
        processes = os.environ.get("LOCAL_WORLD_SIZE", "1")
        launch = python()
        if processes != "1":
            launch = f"{torchrun()} --standalone --nproc-per-node {processes}"
        out = " ".join([shlex.quote(str(self.folder)), *options])
        return f"Go on with: {launch} -m tfmlib train {resume} --out {out}"


def step_in_name(path: Path) -> int:
    """The step that the name of a checkpoint tells.

    >>> step_in_name(Path("step-000400.safetensors"))
    400
    """
    return int(CHECKPOINT.fullmatch(path.name)[1])


def _require_parts(about: Any) -> None:
    """What a run.json must have, each of its kind."""
    if not isinstance(about, dict):
        raise ValueError(f"expected an object with names, got {about!r}")
    for name, kind in {"format": str, "settings": dict, "config": dict, "data": str}.items():
        if name not in about:
            raise ValueError(f"expected {name!r} in it, got none")
        if not isinstance(about[name], kind):
            raise ValueError(f"expected {_KINDS[kind][0]} as {name!r}, got {about[name]!r}")
    if about["format"] != FORMAT:
        raise ValueError(f"expected the format {FORMAT!r}, got {about['format']!r}")


def python() -> str:
    """What a person types to run the Python that runs us."""
    return "python" if _is_found("python", sys.executable) else shlex.quote(sys.executable)


def torchrun() -> str:
    """What a person types to run the torchrun of the Python that runs us."""
    beside = os.path.join(os.path.dirname(sys.executable), "torchrun")
    is_ours = _is_found("torchrun", beside)
    return "torchrun" if is_ours else f"{python()} -m torch.distributed.run"


def _is_found(command: str, path: str) -> bool:
    """Whether a shell that is given the command runs this file; a link to it is another file."""
    found = shutil.which(command)
    return found is not None and _plain(found) == _plain(path)


def _plain(path: str) -> str:
    return os.path.normcase(os.path.abspath(path)).removesuffix(".exe")  # Windows adds that


def torchrun_job() -> str | None:
    """The id of the job that started this process, the same for all that it starts or restarts.

    On one machine `torchrun --standalone` makes up a new one each time; for several it is their
    --rdzv-id, so that has to be another one for each job. Where torchrun was given none, every job
    is called "none"; then it is known by its own process, the parent of all that it restarts.
    """
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{socket.gethostname()} {os.getppid()}" if name == "none" else name


def checksum(task: data.Task) -> str:
    """Tells whether sentence pairs are the same, wherever they were read from."""
    parts = [task.train, task.validation, task.test]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


_NO_MEMORY = re.compile(
    "out of memory|not enough memory|can(no|')t allocate memory"
    "|size calculation overflowed|overflow when unpacking",  # torch's, of more than there can be
    re.IGNORECASE,
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether that is why something failed: torch has a kind of error for it, but not always.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory."))
    True
    """
    return isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)) is not None


# --- the command --------------------------------------------------------------------------------


def add_command(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("train", help="train a translator, or resume its training")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the run")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the last checkpoint in it"
    )
    parser.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="where to compute"
    )
    parser.add_argument("--compile", action="store_true", help="let torch compile the model first")
    group = parser.add_argument_group(
        "settings", "they are kept: a resumed run takes them as they were"
    )
    for setting in fields(Settings):
        if setting.metadata:
            default = "" if setting.default is None else f" ({setting.default})"
            group.add_argument(
                _flag(setting.name),
                type=setting.metadata["kind"],
                default=argparse.SUPPRESS,
                metavar=setting.name.upper(),
                help=setting.metadata["help"] + default,
            )
    group.add_argument(
        "--set",
        dest="changes",
        action="append",
        type=_change,
        default=argparse.SUPPRESS,
        metavar="NAME=VALUE",
        help="change a size of the preset, such as d_model=64 or dropout=0 (may be repeated)",
    )
    parser.set_defaults(run=run)


def _change(text: str) -> tuple[str, Any]:
    """A size of the model and its new value.

    >>> _change("d_model=64")
    ('d_model', 64)
    """
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected NAME=VALUE with a number, true or false, got {text!r}"
        ) from None


def _lasting(path: Path) -> Path:
    """A path that leads to the same file from elsewhere, as a run may be resumed from there.

    What is no file on a disk, such as a shell's <(…), has no other name than the one it came with.
    """
    return path.resolve() if path.is_file() else path.absolute()


def run(options: argparse.Namespace) -> int:
    try:
        from tfmlib import parallel
        from tfmlib.runs.session import train_run  # takes seconds, and a person may think again
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    given = {s.name: getattr(options, s.name) for s in fields(Settings) if s.name in options}
    if "changes" in given:
        given["changes"] = dict(given["changes"])
    for name in {"source", "target"} & given.keys():
        given[name] = str(_lasting(Path(given[name])))
    code = train_run(Run(options.out), given, options.resume, options.device, options.compile)
    return code if parallel.announced().size == 1 else parallel.end(code)
