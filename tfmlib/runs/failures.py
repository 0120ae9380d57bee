"""Why a run cannot start, continue or be used, and how to resume it: every sentence about that.

What it needs to know is handed in as plain values, so every other module here may import this one.
torch is imported late: asking for help should be quick.
"""

import errno
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

RESTORE = "Restore the original file, or start a new run."


class RunError(Exception):
    """What a person has to change before the run can start or continue, in a sentence."""


class Stopped(Exception):  # noqa: N818
    """A signal asked the run to stop, and it did so after saving a step."""

    def __init__(self, number: int, step: int):
        super().__init__(number, step)
        self.signal_name, self.step = signal.Signals(number).name, step
        self.exit_code = 128 + number  # as shells have it


class OutOfMemory(Exception):  # noqa: N818
    """There was not enough memory for something other than a step."""

    def __init__(self, what: str):
        super().__init__(what)
        self.what = what


# --- recognising errors -------------------------------------------------------------------------

_NO_MEMORY = re.compile(
    "out of memory|not enough memory|can(no|')t allocate memory"
    "|size calculation overflowed|overflow when unpacking",  # torch's, of more than there can be
    re.IGNORECASE,
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether that is why something failed: torch has a type of error for it, but not always.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory."))
    True
    """
    return isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)) is not None


@contextmanager
def out_of_memory_during(what: str) -> Iterator[None]:
    """Say what there was not enough memory for; other errors pass as they are."""
    try:
        yield
    except Exception as error:
        if is_out_of_memory(error):
            raise OutOfMemory(what) from error
        raise


@contextmanager
def user_errors() -> Iterator[None]:
    """A setting, a file or a device that does not fit is not a bug: it becomes a RunError."""
    try:
        yield
    except OSError as error:
        if error.filename is None:  # a disk that is full, say
            raise
        raise RunError(f"{error.filename}: {error.strerror}.") from None
    except (ValueError, TypeError) as error:
        raise RunError(str(error)) from None


# --- how to resume ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Position:
    """How far training has come, and the settings that a person may have to lower."""

    step: int  # the last that was taken
    peak: float
    batch_size: int  # as many sentences as a batch really holds


@dataclass(frozen=True)
class Situation:
    """A run at the moment of a failure: all that advice depends on."""

    folder: Path
    has_run_json: bool = False
    has_these_settings: bool = False  # in run.json, so that nobody need repeat them
    checkpoints: Mapping[int, Path] = field(default_factory=dict)  # by step, the newest last
    options: Sequence[str] = ()  # of the command, which no file keeps
    position: Position | None = None  # None before there is a model


def resume_hint(situation: Situation, *flags: str) -> str:
    """The last checkpoint and the command that resumes; until settings are saved, the same one."""
    if not situation.has_run_json:
        return "The run had not started: give the same command again."
    if not situation.has_these_settings:
        return f"Give the same command again{', with ' * bool(flags)}{' '.join(flags)}."
    paths = list(situation.checkpoints.values())
    last = f"The last checkpoint is {paths[-1]}." if paths else "There is no checkpoint yet."
    return f"{last} {_resume_command(situation, *flags)}"


def _resume_command(situation: Situation, *flags: str) -> str:
    resume = " ".join(["--resume", *flags])
    if os.environ.get("GROUP_WORLD_SIZE", "1") != "1":  # torchrun's: on several machines
        return f"Resume with the same commands and {resume}."
    processes = os.environ.get("LOCAL_WORLD_SIZE", "1")
    launch = python_command()
    if processes != "1":
        launch = f"{torchrun_command()} --standalone --nproc-per-node {processes}"
    out = " ".join([shlex.quote(str(situation.folder)), *situation.options])
    return f"Resume with: {launch} -m tfmlib train {resume} --out {out}"


def python_command() -> str:
    """What a person types to run the Python that runs us."""
    return "python" if _is_found("python", sys.executable) else shlex.quote(sys.executable)


def torchrun_command() -> str:
    """What a person types to run the torchrun of the Python that runs us."""
    beside = os.path.join(os.path.dirname(sys.executable), "torchrun")
    is_ours = _is_found("torchrun", beside)
    return "torchrun" if is_ours else f"{python_command()} -m torch.distributed.run"


def _is_found(command: str, path: str) -> bool:
    """Whether a shell that is given the command runs this file; a link to it is another file."""
    found = shutil.which(command)
    return found is not None and _normalise(found) == _normalise(path)


def _normalise(path: str) -> str:
    return os.path.normcase(os.path.abspath(path)).removesuffix(".exe")  # Windows adds that


# --- training failed or was stopped -------------------------------------------------------------


def explain(error: Exception, situation: Situation) -> str | None:
    """What to tell a person about an error; None if it is a bug."""
    from tfmlib.checkpoint import CheckpointError
    from tfmlib.parallel import WorkerLost

    hint = resume_hint(situation)
    match error:
        case CheckpointError():
            return str(error)
        case Stopped():
            return f"Stopped by {error.signal_name} after saving step {error.step}. {hint}"
        case WorkerLost():
            return f"{error} {hint}"
        case FloatingPointError() if situation.position is not None:
            advice = _after_a_loss_not_finite(situation, situation.position)
            return f"{error} Nothing was overwritten. {advice}"
        case OutOfMemory():
            return _out_of_memory(situation, scoring=error.what)
        case _ if is_out_of_memory(error):
            return _out_of_memory(situation)
        case OSError():
            return f"{_could_not_write(error)} {hint}"
        case _ if "--compile" in situation.options and _is_from_the_compiler(error):
            name = type(error).__name__
            return f"torch could not compile the model ({name}); leave out --compile."
    return None


def interrupted(situation: Situation) -> str:
    return f"Interrupted. {resume_hint(situation)}"


def _after_a_loss_not_finite(situation: Situation, position: Position) -> str:
    lower = ("--peak", f"{position.peak / 2:g}")
    spoilt = situation.checkpoints.get(position.step)
    if spoilt is None:
        again = "The same settings would fail here again: lower --peak, and if that does not help, "
        return f"{again}start a new run. {resume_hint(situation, *lower)}"
    # A loss comes before the rate has any effect: it is the weights before that step.
    earlier = [step for step in situation.checkpoints if step != position.step]
    goal = f"resume from step {earlier[-1]}" if earlier else "start from step 1"
    return (
        f"The weights in {spoilt} cause this at any learning rate: delete that file to {goal} with "
        f"a lower --peak. {_resume_command(situation, *lower)}"
    )


def _out_of_memory(situation: Situation, scoring: str = "") -> str:
    position = situation.position
    if position is None:
        return "There is not enough memory for the model: make it smaller (--preset, --set)."
    lacking = f"There is not enough memory for {scoring or f'step {position.step + 1}'}: "
    size = position.batch_size
    if scoring or size == 1:
        smaller = "free some, or start a new run with a smaller model (--preset, --set). "
        return lacking + smaller + resume_hint(situation)
    return (
        f"{lacking}lower --batch-size, now {size}, let torchrun share the batch among more "
        "machines, or start a new run with a smaller model. "
        + resume_hint(situation, "--batch-size", str(size // 2))
    )


def _could_not_write(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full; what was saved before is intact. Free some space first."
    return f"Could not write ({error.strerror}); what was saved before is intact."


def _is_from_the_compiler(error: Exception) -> bool:
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))


# --- the folder cannot be used ------------------------------------------------------------------


def is_a_file(folder: Path) -> RunError:
    return RunError(f"{folder} is a file; choose a folder for the run.")


def holds_other_files(folder: Path, name: str) -> RunError:
    return RunError(f"{folder} holds no run but other files, such as {name}; choose a new folder.")


def holds_a_run(folder: Path) -> RunError:
    return RunError(
        f"{folder} already holds a run; add --resume to continue it, or choose another folder."
    )


def holds_no_run(folder: Path) -> RunError:
    train = f"{python_command()} -m tfmlib train --out {shlex.quote(str(folder))}"
    return RunError(f"{folder} holds no run: there is no run.json in it; train one with: {train}")


def has_lost_run_json(folder: Path) -> RunError:
    return RunError(f"{folder} has checkpoints but no run.json. {RESTORE}")


def is_locked(folder: Path) -> RunError:
    return RunError(
        f"another process is training in {folder}; stop it first, or wait for it to finish."
    )


def was_trained_meanwhile(folder: Path) -> RunError:
    return RunError(
        f"another process has just trained in {folder}; resume it again, or choose another folder."
    )


def is_not_shared(step: int) -> RunError:
    return RunError(
        f"not every process finds the checkpoint of step {step}; --out must be a folder that all "
        "machines share."
    )


# --- a file in it cannot be used ----------------------------------------------------------------


def not_permitted(path: Path, error: PermissionError) -> RunError:
    return RunError(f"{path}: {error.strerror}.")


def unreadable_run_json(path: Path, error: Exception) -> RunError:
    return RunError(f"{path} cannot be read: {str(error).rstrip('.')}. {RESTORE}")


def unreadable_tokenizer(path: Path, error: Exception) -> RunError:
    return RunError(f"{path}, the vocabulary of the run, cannot be read: {error} {RESTORE}")


def other_tokenizer(path: Path) -> RunError:
    return RunError(
        f"{path} is not the vocabulary that the run started with: its checksum is not the one in "
        f"run.json. {RESTORE}"
    )


def foreign_log_line(path: Path, number: int, line: str) -> RunError:
    return RunError(
        f"{path}, line {number}: expected a JSON object with a whole number as its step, got "
        f"{line}; remove this line."
    )


def damaged_checkpoint(error: Exception, intact: Path | None, damaged: Sequence[Path]) -> RunError:
    """The newest checkpoint cannot be read; the last one that is intact comes before the others."""
    delete = f"delete {' and '.join(map(str, damaged))} and resume"
    if intact is None:
        return RunError(f"{error} No other checkpoint is intact: {delete} to start from step 1.")
    return RunError(f"{error} {intact.name} is intact: {delete} to continue from there.")


def checkpoint_of_another_run(path: Path, difference: str) -> RunError:
    return RunError(
        f"{path} belongs to another run: it was made with {difference}; move it elsewhere."
    )


def misnamed_checkpoint(path: Path, step: int) -> RunError:
    return RunError(
        f"{path} holds step {step}, which contradicts its name; rename it after its step, or move "
        "it elsewhere."
    )


def checkpoint_contradicts_run_json(path: Path, error: Exception) -> RunError:
    return RunError(
        f"{path} does not match run.json: {error} Move it elsewhere, or restore the right run.json."
    )


# --- settings or data do not fit the run --------------------------------------------------------


def too_few_steps(folder: Path, taken: int, steps: int) -> RunError:
    return RunError(
        f"{folder} has already taken {taken} steps, more than --steps {steps}; ask for more steps."
    )


def unknown_size(name: str, known: Sequence[str], is_fixed: bool) -> RunError:
    return RunError(
        f"--set {name}: expected one of {', '.join(known)}."
        + (" The vocabulary decides this one." if is_fixed else "")
    )


def other_sentences(folder: Path, are_from_num2words: bool) -> RunError:
    restore = "restore the original files"
    if are_from_num2words:
        restore = "num2words may have changed: install the version of that time"
    return RunError(
        f"the sentences are not those that {folder} started with; {restore}, or start a new run."
    )


# --- a run cannot translate ---------------------------------------------------------------------


def no_such_run(path: Path) -> RunError:
    return RunError(f"there is no {path}; expected the folder of a run, or a checkpoint in it.")


def outside_a_run(path: Path) -> RunError:
    return RunError(
        f"{path} is a file, and not in the folder of a run; expected such a folder, or a "
        "checkpoint in it."
    )


def no_checkpoint_yet(folder: Path) -> RunError:
    return RunError(f"{folder} has no checkpoint yet; train it for longer.")


def unusable_weights(error: Exception, intact: Path | None) -> RunError:
    """Say what a person may translate with instead."""
    if intact is None:
        return RunError(
            f"{error} No other weights of the run are intact: train it again, in another folder."
        )
    return RunError(f"{error} {intact} is intact: name it to translate with that.")


def weights_without_their_vocabulary(path: Path, tokens: int, vocab_size: int) -> RunError:
    return RunError(
        f"{path} is of a model with {tokens} tokens, but the run's vocabulary has {vocab_size}; "
        "they belong to different runs."
    )


def out_of_memory_to_translate(beams: int) -> str:
    if beams == 1:
        return "There is not enough memory to translate; free some."
    return f"There is not enough memory for {beams:,} beams; lower --beam."
