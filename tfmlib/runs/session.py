"""Training that survives: checkpoints, validation, and a sentence for whatever stops it.

A session takes a run from where it stands to its last step. Under torchrun each process has a
session of its own; the main one alone writes files and prints.
"""

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

import torch
from sacrebleu import corpus_bleu

from tfmlib import checkpoint, data, parallel, train
from tfmlib.checkpoint import Checkpoint, CheckpointError
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.parallel import ALONE, WorkerLost, World
from tfmlib.runs.console import ONLOOKER, Progress
from tfmlib.runs.folder import (
    Run,
    RunError,
    Settings,
    checksum,
    first_difference,
    is_out_of_memory,
    step_in_name,
)
from tfmlib.runs.log import Log, cut_back
from tfmlib.tokenizer import Tokenizer

SECONDS_FOR_THE_MAIN_PROCESS = 3.0  # to speak for all
BYTES_A_WEIGHT = 16  # in float32: the weight, its gradient and Adam's two moments
MOST_BYTES = 2**50  # more than any machine has


class Stopped(Exception):  # noqa: N818
    """A signal asked the run to stop; it did so after a step, and was saved."""

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number  # as shells have it


class GivenUp(BaseException):
    """A signal came while the run was validated, which changes nothing and can be made up.

    It is no Exception, as those that compute a score might take that for their own.
    """


# --- where and how to compute -------------------------------------------------------------------


def choose_device(name: str) -> torch.device:
    """The device of that name; auto is the fastest there is.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next((name for name, is_there in there.items() if is_there), "cpu")
    if not there.get(name, True):
        raise ValueError(f"torch finds no device {name} on this machine; leave out --device.")
    return torch.device(name)


def choose_precision(name: str, device: torch.device) -> str:
    """The precision of that name; auto is bfloat16 where the hardware is built for it.

    A processor that has to imitate bfloat16 takes many times longer than with float32.
    """
    if name != "auto":
        return name
    if device.type == "cuda":
        is_good = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        able = torch.cpu.get_capabilities() if device.type == "cpu" else {}
        is_good = able.get("amx_bf16", False) or able.get("avx512_bf16", False)
    return "bfloat16" if is_good else "float32"


# --- the session --------------------------------------------------------------------------------


class Session:
    """A model, its data and its optimizer, as the last checkpoint left them or new."""

    def __init__(
        self, run: Run, given: dict[str, Any], resume: bool, device: torch.device, world: World
    ):
        self.run, self.world, self.device = run, world, device
        about = _look_at(run, resume or _goes_on(run, world))
        self.is_new = about is None
        self.settings = _settle(about, given, device)
        world.wait()  # all have looked at the folder before one of them writes
        tokenizer = run.read_tokenizer(about) if about else None
        self.task = self.settings.make_task(tokenizer)
        self.config = _configure(about, self.settings, self.task.tokenizer)
        self.checksum = _compare_data(about, self.task, run)
        self.batches, self.validation = (
            data.Batches(part, self.task.tokenizer, self.settings.batch_size, self.settings.seed)
            for part in (self.task.train, self.task.validation)
        )
        torch.manual_seed(self.settings.seed)
        _require_possible(self.config)
        self.model = Transformer(self.config).to(device)
        self.optimizer = train.make_optimizer(self.model, fused=True)
        self.step, self.best = 0, None
        self.lock: BinaryIO | None = None  # of the folder
        self.is_kept = False  # whether files tell the settings, so that nobody need repeat them
        self.scoring = ""  # what is being scored, if not a step is taken
        self.may_give_up = False  # whether a signal may break off what is being done
        self.is_validated = False  # whether the log has a validation of this step
        found = run.checkpoints()
        self.loaded = found[-1] if found else None
        self._go_on_from(_load_newest(found))
        if world.total(self.step) != world.size * self.step:
            raise RunError(
                f"not every process finds the checkpoint of step {self.step}; --out must be a "
                "folder that all machines share."
            )

    def _go_on_from(self, last: Checkpoint | None) -> None:
        if last is None:
            return
        if last.step > self.settings.steps:
            raise RunError(
                f"{self.run.folder} has {last.step} steps behind it, more than --steps "
                f"{self.settings.steps}; ask for more steps."
            )
        _require_own(self.loaded, last, self.settings)
        try:
            checkpoint.restore(last, self.model, self.optimizer)
        except CheckpointError as error:
            raise RunError(
                f"{self.loaded} does not go with run.json: {error} Move it elsewhere, or bring the "
                "right run.json back."
            ) from None
        self.step, self.best = last.step, last.best

    def open_folder(self) -> None:
        """Make the folder say what the run is about, and nothing of what it has yet to do."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        self.lock = self.run.hold()
        self._require_untouched()
        if not self.is_new:  # first of all, as it may refuse
            kept = cut_back(self.run.log, self.step)
            self.is_validated = any(e["step"] == self.step and "validation" in e for e in kept)
        self.run.remove_leftovers()
        if self.is_new:
            self.run.write_tokenizer(self.task.tokenizer)
        self.run.write(self.settings, asdict(self.config), self.checksum)
        self.is_kept = True
        self._find_best()

    def _require_untouched(self) -> None:
        """Until the folder was ours, another process may have trained in it."""
        newest = (self.run.checkpoints() or [None])[-1]
        if newest != self.loaded or self.run.has_begun() == self.is_new:
            raise RunError(
                f"another process has trained in {self.run.folder} just now; resume it again, "
                "or choose another folder."
            )

    def _find_best(self) -> None:
        """The score to beat is that of the best weights there are.

        They may be newer than the checkpoint that we go on from; or lost, or of another run: then
        others count.
        """
        if self.best is None and not self.run.best.exists():
            return
        self.best = None
        try:
            found = checkpoint.load(self.run.best)
        except CheckpointError as error:
            print(f"{error} The next validation writes it again.", file=ONLOOKER)
            return
        if found.config == self.config and not first_difference(found.settings, self.settings):
            self.best = found.best

    def where_it_stands(self) -> str:
        """What a person who resumes a run wants to know first."""
        folder, steps = self.run.folder, self.settings.steps
        if self.is_new:
            return f"{folder} holds no run to resume: a new one begins."
        if self.step == steps:
            return f"{folder} has taken its {steps} steps; for more, ask for more --steps."
        return f"{folder} goes on after step {self.step} of {steps}."

    def close(self) -> None:
        """Let others train in the folder."""
        if self.lock is not None:
            self.lock.close()

    def take_steps(self, caught: list[int], compiled: bool = False) -> None:
        """Take the steps that are left, and save the last one; a signal ends them earlier."""
        forward = self.world.wrap(self.model, self.device)
        self.is_kept = True  # the main process has opened the folder before it came here
        forward = torch.compile(forward) if compiled else forward
        log = Log(self.run.log) if self.world.is_main else None
        progress = Progress(self.step, self.settings.steps, self.world.is_main)
        try:
            if self.step > 0:
                if log is not None:
                    self._make_up_validation(log, progress, caught)
                self._stop_if_asked(log, caught)
            for step in progress.watch(self._steps(forward)):
                self.step = step.number
                if log is not None:
                    log.write(_entry(step, progress.seconds))
                    self._validate_and_save(log, progress, caught)
                self._stop_if_asked(log, caught)
        finally:
            progress.close()
            if log is not None:
                log.close()

    def _stop_if_asked(self, log: Log | None, caught: list[int]) -> None:
        if not self._is_anyone_asked_to_stop(caught):
            return
        if log is not None:
            self._save(log)
        self.world.wait()  # torchrun ends all as soon as one has ended
        raise Stopped(caught[0] if caught else signal.SIGTERM)

    def _is_anyone_asked_to_stop(self, caught: list[int]) -> bool:
        """One process may have got a signal that the others have not."""
        with parallel.during(f"step {self.step}"):
            return self.world.total(len(caught)) > 0

    def _steps(self, forward) -> Iterator[train.Step]:
        s = self.settings
        return train.train(
            self.model,
            self.batches,
            s.steps,
            warmup=s.warmup,
            peak=s.peak,
            smoothing=s.smoothing,
            clip=s.clip,
            optimizer=self.optimizer,
            first=self.step + 1,
            seed=s.seed,
            world=self.world,
            forward=forward,
            precision=torch.bfloat16 if s.precision == "bfloat16" else None,
        )

    # --- what the main process does between steps

    def _validate_and_save(self, log: Log, progress: Progress, caught: list[int]) -> None:
        if self._is_validation_due():
            scores = self._validate(caught)
            if scores is not None:
                log.write({"step": self.step, "validation": scores})
                self._keep_if_best(scores)
                progress.tell(f"step {self.step}: validation {told(scores)}")
        if self._is_last() or self.step % self.settings.save_every == 0:
            self._save(log)

    def _is_last(self) -> bool:
        return self.step == self.settings.steps

    def _is_validation_due(self) -> bool:
        return self._is_last() or self.step % self.settings.validate_every == 0

    def _make_up_validation(self, log: Log, progress: Progress, caught: list[int]) -> None:
        """Validate the step that a run goes on from, if a signal or a lost file makes it needed."""
        are_best_missing = self._is_last() and self.best is None
        if not self._is_validation_due() or (self.is_validated and not are_best_missing):
            return
        scores = self._validate(caught)
        if scores is None:
            return
        self._keep_if_best(scores)
        # The checkpoint of the step is there, but of an earlier best. What the log tells comes
        # last: were we killed before, all this would be done again.
        self._save(log)
        if not self.is_validated:
            log.write({"step": self.step, "validation": scores})
        progress.tell(f"step {self.step}: validation {told(scores)}")

    def _validate(self, caught: list[int]) -> dict[str, float] | None:
        """How well the weights of this step do; None if a signal has asked for an end before."""
        self.scoring = "the validation"
        try:
            try:
                self.may_give_up = True  # only within, or a signal's GivenUp might get past us
                if caught:
                    raise GivenUp
                scores = score(self.model, self.task.tokenizer, self.task.validation)
                scores["loss"] = train.mean_loss(self.model, self.validation)
            finally:
                self.may_give_up = False
        except GivenUp:
            scores = None
        self.scoring = ""
        return scores

    def _keep_if_best(self, scores: dict[str, float]) -> None:
        if self.best is None or _standing(scores) > _standing(self.best):
            self.best = {"step": self.step, **scores}
            checkpoint.save(self.run.best, self._take(optimizer=None))

    def _save(self, log: Log) -> None:
        log.sync()  # what is before a checkpoint is never logged again
        checkpoint.save(self.run.checkpoint(self.step), self._take(self.optimizer))
        self.run.forget_old_checkpoints()

    def _take(self, optimizer: torch.optim.Adam | None) -> Checkpoint:
        settings = asdict(self.settings)
        return checkpoint.take(self.step, self.model, optimizer, settings, self.best)

    def test(self) -> dict[str, float]:
        """How well the best weights do on sentences that nothing was chosen by."""
        self.scoring = "the test"
        best = checkpoint.load(self.run.best)
        checkpoint.restore(best, self.model)
        scores = score(self.model, self.task.tokenizer, self.task.test)
        log = Log(self.run.log)
        try:
            log.write({"step": self.step, "test": scores | {"best_step": best.step}})
        finally:
            log.close()
        return scores


def _entry(step: train.Step, seconds: float) -> dict[str, Any]:
    return {
        "step": step.number,
        "loss": step.loss,
        "rate": step.rate,
        "tokens": step.tokens,
        "seconds": round(seconds, 3),
    }


def score(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[data.Pair]) -> dict[str, float]:
    """The share of exact translations, and BLEU as sacrebleu has it, up to 100."""
    written = train.translate(model, tokenizer, [source for source, _ in pairs])
    wanted = train.writable_targets(tokenizer, pairs)
    bleu = corpus_bleu(written, [wanted], force=True).score
    return {"exact_match": train.share_equal(written, wanted), "bleu": bleu}


def _standing(scores: dict[str, float]) -> tuple[float, float, float]:
    # Of long sentences hardly one comes out exactly: then BLEU decides, and at first the loss.
    return scores["exact_match"], scores["bleu"], -scores["loss"]


def told(scores: dict[str, float]) -> str:
    """Scores in words.

    >>> told({"exact_match": 0.994, "bleu": 99.71})
    '99.4 % exact, BLEU 99.7'
    """
    return f"{scores['exact_match']:.1%} exact, BLEU {scores['bleu']:.1f}".replace("%", " %")


# --- how a session begins -----------------------------------------------------------------------


def _goes_on(run: Run, world: World) -> bool:
    """Whether torchrun has started us again, to go on with what it began, and with no other run.

    On several machines it may tell only some of us of the restart, and the main process alone has
    the torchrun that noted itself. So all must call, whatever they find.
    """
    is_restart = world.total(int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))) > 0
    is_same_job = world.total(world.is_main and run.has_begun_in_this_job()) > 0
    return is_restart and is_same_job


def _look_at(run: Run, may_go_on: bool) -> dict[str, Any] | None:
    """What the folder says of a run that has begun in it; nothing if none has."""
    if not run.has_begun():
        run.require_room()
        return None
    if not may_go_on:
        raise RunError(
            f"{run.folder} holds a run already; add --resume to go on with it, "
            "or choose another folder."
        )
    return run.read()


def _settle(about: dict[str, Any] | None, given: dict[str, Any], device: torch.device) -> Settings:
    if about:
        return about["settings"].with_flags(given)
    settings = Settings.from_flags(given)
    return replace(settings, precision=choose_precision(settings.precision, device))


def _configure(
    about: dict[str, Any] | None, settings: Settings, tokenizer: Tokenizer
) -> TransformerConfig:
    if about:
        return TransformerConfig(**about["config"])
    known = {field.name for field in fields(TransformerConfig)}
    fixed = {"vocab_size", "pad_id", "start_id", "end_id"}  # by the tokenizer
    for name in settings.changes:
        if name not in known - fixed:
            raise RunError(
                f"--set {name}: expected one of {', '.join(sorted(known - fixed))}."
                + (" The vocabulary decides on this one." if name in fixed else "")
            )
    sizes = settings.changes | {"vocab_size": tokenizer.vocab_size}
    return TransformerConfig.preset(settings.preset, **sizes)


def _compare_data(about: dict[str, Any] | None, task: data.Task, run: Run) -> str:
    found = checksum(task)
    if about and about["data"] != found:
        old = "bring the old files back"
        if about["settings"].task is not None:  # they come from a package, not from files
            old = "num2words may be of another version: install the one from then"
        raise RunError(
            f"the sentences are not those that {run.folder} began with; "
            f"{old}, or begin another run."
        )
    return found


def _require_possible(config: TransformerConfig) -> None:
    """Tell of sizes that no machine can hold, which torch would not even try, or try forever."""
    D, F, layers = config.d_model, config.d_ff, config.encoder_layers + config.decoder_layers
    weights = config.vocab_size * D + layers * (4 * D * D + 2 * D * F)  # at least
    if weights * BYTES_A_WEIGHT > MOST_BYTES:
        raise MemoryError


def _require_own(path: Path, found: Checkpoint, settings: Settings) -> None:
    """Refuse a checkpoint that came from another run, or has not the name that it was given."""
    difference = first_difference(found.settings, settings)
    if difference:
        raise RunError(
            f"{path} belongs to another run: it was made with {difference}; move it elsewhere."
        )
    if step_in_name(path) != found.step:
        raise RunError(
            f"{path} holds step {found.step}, which contradicts its name; "
            "give it the name of its step, or move it elsewhere."
        )


def _load_newest(found: list[Path]) -> Checkpoint | None:
    """The last of the checkpoints; if it is damaged, say how to go on from the one before."""
    if not found:
        return None
    try:
        return checkpoint.load(found[-1])
    except CheckpointError as error:
        raise RunError(f"{error} {_way_out(found)}") from None


def _way_out(found: list[Path]) -> str:
    whole, damaged = checkpoint.split_damaged(found)
    delete = f"delete {' and '.join(map(str, damaged))} and resume"
    if whole is None:
        return f"No other checkpoint is whole: {delete} to begin at step 1."
    return f"{whole.name} is whole: {delete} to go on from step {step_in_name(whole)}."


# --- what may stop a session --------------------------------------------------------------------


@contextmanager
def caught_signals(session: Session) -> Iterator[list[int]]:
    """Ctrl-C and a request to end are only noted: the step is finished and saved first.

    A validation is given up, as torchrun kills who does not end soon. A second signal changes
    nothing; who cannot wait may kill the process, as no file suffers.
    """
    caught: list[int] = []

    def note(number: int, _) -> None:
        if session.world.is_main and not caught:
            ONLOOKER.interrupt("\nStopping when this step is done and saved.\n")
        caught.append(number)
        if session.may_give_up:
            session.may_give_up = False  # one is enough
            raise GivenUp

    old = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def _mistakes() -> Iterator[None]:
    """A setting, a file or a device that does not fit is no error of the program."""
    try:
        yield
    except OSError as error:
        if error.filename is None:  # a disk that is full, say
            raise
        raise RunError(f"{error.filename}: {error.strerror}.") from None
    except (ValueError, TypeError) as error:
        raise RunError(str(error)) from None


def train_run(
    run: Run, given: dict[str, Any], resume: bool, device_name: str, compiled: bool
) -> int:
    """Begin or resume a run and take it to its end; return the exit code."""
    session, world = None, ALONE
    options = _options(device_name, compiled)
    try:
        with _mistakes():
            world = parallel.announced()
            device = choose_device(device_name)
            world = parallel.join(device)
            session = Session(run, given, resume, device, world)
            if world.is_main:
                session.open_folder()
                if resume or not session.is_new:  # torchrun may have started us again
                    print(session.where_it_stands(), file=ONLOOKER)
        with caught_signals(session) as caught:
            try:
                session.take_steps(caught, compiled)
            except Exception as error:  # torchrun may ask us to end before we have told why
                return _give_up(error, session, run, options, world)
        parallel.leave(world)  # the others need not wait for the test
        if world.is_main:
            scores = session.test()
            count = len(session.task.test)
            _print(f"{run.folder}: test of {count:,} unseen sentences, {told(scores)}")
        return 0
    except Exception as error:
        return _give_up(error, session, run, options, world)
    except KeyboardInterrupt:
        if world.is_main:
            print(f"Interrupted. {_way_on(session, run, options)}", file=ONLOOKER)
        return 128 + signal.SIGINT
    finally:
        if session is not None:
            session.close()


def _options(device_name: str, compiled: bool) -> list[str]:
    """What no file keeps of the command, so that it has to be said again."""
    device = [] if device_name == "auto" else ["--device", device_name]
    return [*device, *(["--compile"] if compiled else [])]


def _way_on(session: Session | None, run: Run, options: list[str], *flags: str) -> str:
    """The command that goes on; before the flags of this one are in a file, it is this one."""
    if not run.has_begun() or (session is not None and session.is_kept):
        return run.how_to_resume(*flags, options=options)
    return f"Give the same command again{', with ' * bool(flags)}{' '.join(flags)}."


def _print(line: str) -> None:
    """Print the last line of a run: all is done and saved, so nothing can make it fail."""
    try:
        try:
            print(line, flush=True)
        except UnicodeEncodeError as error:  # of the folder's name
            writable = line.encode(error.encoding, "backslashreplace")
            print(writable.decode(error.encoding), flush=True)
    except OSError as error:
        print(f"{line} (Standard output could not take this: {error.strerror}.)", file=ONLOOKER)
        with suppress(OSError):  # or Python would try, and complain, again when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _give_up(
    error: Exception, session: Session | None, run: Run, options: list[str], world: World
) -> int:
    """Tell a person why the session ends; a fault of the program goes its usual way."""
    message = _sentence(error, session, run, options)
    if message is None:
        raise error
    if isinstance(error, RunError | FloatingPointError) and not world.is_main:
        # The main process has found the same, and torchrun will end this one. Who is still
        # there after a while has a problem of its own, such as a file that only others see.
        time.sleep(SECONDS_FOR_THE_MAIN_PROCESS)
    if world.is_main or not isinstance(error, Stopped):
        print(message, file=ONLOOKER)
    return error.exit_code if isinstance(error, Stopped) else 1


def _out_of_memory(session: Session | None, run: Run, options: list[str]) -> str:
    if session is None:
        return "There is not enough memory for the model: make it smaller (--preset, --set)."
    lacking = f"There is not enough memory for {session.scoring or f'step {session.step + 1}'}: "
    size = min(session.settings.batch_size, len(session.task.train))  # no batch holds more
    if session.scoring or size == 1:
        smaller = "free some, or begin another run with a smaller model (--preset, --set). "
        return lacking + smaller + _way_on(session, run, options)
    return (
        f"{lacking}lower --batch-size, now {size}, let torchrun share the batch among more "
        "machines, or begin another run with a smaller model. "
        + _way_on(session, run, options, "--batch-size", str(size // 2))
    )


def _way_past(session: Session, run: Run, options: list[str]) -> str:
    """How to go on after a step whose loss or gradient was not finite."""
    lower = ("--peak", f"{session.settings.peak / 2:g}")
    spoilt = run.checkpoint(session.step)
    if not spoilt.exists():
        again = "The same settings would lead here again: lower --peak, and if that does not help, "
        return f"{again}begin another run. {_way_on(session, run, options, *lower)}"
    # A loss comes before the rate has any effect: it is the weights before that step.
    earlier = [path for path in run.checkpoints() if path != spoilt]
    goal = f"go on from step {step_in_name(earlier[-1])}" if earlier else "begin at step 1"
    return (
        f"The weights of {spoilt} lead there, whatever the rate: delete that file to {goal} with a "
        f"lower --peak. {run.go_on(*lower, options=options)}"
    )


def _sentence(
    error: Exception, session: Session | None, run: Run, options: list[str]
) -> str | None:
    """What to tell a person of an error; None if it is a fault of the program."""
    if isinstance(error, RunError | CheckpointError):
        return str(error)
    way_on = _way_on(session, run, options)
    if isinstance(error, Stopped):
        return f"Stopped by {error} after step {session.step}, and saved. {way_on}"
    if isinstance(error, WorkerLost):
        return f"{error} {way_on}"
    if isinstance(error, FloatingPointError):
        return f"{error} Nothing was overwritten. {_way_past(session, run, options)}"
    if is_out_of_memory(error):
        return _out_of_memory(session, run, options)
    if isinstance(error, OSError):
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "The disk is full" if is_full else f"Could not write ({error.strerror})"
        room = " Make room first." if is_full else ""
        return f"{what}; what was saved before is whole.{room} {way_on}"
    is_compiled = "--compile" in options
    if is_compiled and type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
        return f"torch could not compile the model ({type(error).__name__}); leave out --compile."
    return None
