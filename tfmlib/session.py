"""Training that survives: checkpoints, validation, and a sentence for whatever stops it.

A session takes a run from where it stands to its last step. Under torchrun each process has a
session of its own; the main one alone writes files and prints.
"""

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from typing import Any, BinaryIO

import torch
from sacrebleu import corpus_bleu
from tqdm import tqdm

from tfmlib import checkpoint, data, parallel, train
from tfmlib.checkpoint import Checkpoint, CheckpointError
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.parallel import WorkerLost, World
from tfmlib.run import Log, Run, RunError, Settings, checksum, cut_back, torchrun_job
from tfmlib.tokenizer import Tokenizer

SECONDS_BETWEEN_LINES = 10.0  # where no terminal shows a bar
SECONDS_FOR_THE_MAIN_PROCESS = 3.0  # to speak for all


class Stopped(Exception):  # noqa: N818
    """A signal asked the run to stop; it did so after a step, and was saved."""

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number  # as shells have it


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
        about = _look_at(run, resume, _is_restart(world))
        self.is_new = about is None
        self.settings = _settle(about, given, device)
        world.wait()  # all have looked at the folder before one of them writes
        tokenizer = run.read_tokenizer(self.settings) if about else None
        self.task = self.settings.make_task(tokenizer)
        self.config = _configure(about, self.settings, self.task.tokenizer)
        self.checksum = _compare_data(about, self.task, run)
        self.batches, self.validation = (
            data.Batches(part, self.task.tokenizer, self.settings.batch_size, self.settings.seed)
            for part in (self.task.train, self.task.validation)
        )
        torch.manual_seed(self.settings.seed)
        self.model = Transformer(self.config).to(device)
        self.optimizer = train.make_optimizer(self.model, fused=True)
        self.step, self.best = 0, None
        self.lock: BinaryIO | None = None  # of the folder
        self.scoring = ""  # what is being scored, if not a step is taken
        self._go_on_from(_load_newest(run))
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
        checkpoint.restore(last, self.model, self.optimizer)
        self.step, self.best = last.step, last.best

    def open_folder(self) -> None:
        """Make the folder say what the run is about, and nothing of what it has yet to do."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        self.lock = self.run.hold()
        self._require_untouched()
        self.run.remove_leftovers()
        if self.is_new:
            self.run.write_tokenizer(self.task.tokenizer)
        self.run.write(self.settings, asdict(self.config), self.checksum)
        cut_back(self.run.log, self.step)

    def _require_untouched(self) -> None:
        """Until the folder was ours, another process may have trained in it."""
        newest = (self.run.checkpoints() or [None])[-1]
        loaded = self.run.checkpoint(self.step) if self.step else None
        if newest != loaded or self.run.has_begun() == self.is_new:
            raise RunError(
                f"another process has trained in {self.run.folder} just now; resume it again, "
                "or choose another folder."
            )

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
        forward = torch.compile(forward) if compiled else forward
        log = Log(self.run.log) if self.world.is_main else None
        progress = Progress(self.step, self.settings.steps, self.world.is_main)
        try:
            for step in progress.watch(self._steps(forward)):
                self.step = step.number
                if log is not None:
                    log.write(_entry(step, progress.seconds))
                    self._validate_and_save(log, progress)
                if self._is_anyone_asked_to_stop(caught):
                    if log is not None:
                        self._save(log)
                    self.world.wait()  # torchrun ends all as soon as one has ended
                    raise Stopped(caught[0] if caught else signal.SIGTERM)
        finally:
            progress.close()
            if log is not None:
                log.close()

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

    def _validate_and_save(self, log: Log, progress: "Progress") -> None:
        is_last = self.step == self.settings.steps
        if is_last or self.step % self.settings.validate_every == 0:
            scores = self._validate(log)
            progress.tell(f"step {self.step}: validation {told(scores)}")
        if is_last or self.step % self.settings.save_every == 0:
            self._save(log)

    def _validate(self, log: Log) -> dict[str, float]:
        self.scoring = "the validation"
        scores = score(self.model, self.task.tokenizer, self.task.validation)
        scores["loss"] = train.mean_loss(self.model, self.validation)
        self.scoring = ""
        log.write({"step": self.step, "validation": scores})
        if self.best is None or _standing(scores) > _standing(self.best):
            self.best = {"step": self.step, **scores}
            checkpoint.save(self.run.best, self._take(optimizer=None))
        return scores

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


def _standing(scores: dict[str, float]) -> tuple[float, float]:
    # Of long sentences hardly one comes out exactly: then the other score decides.
    return scores["exact_match"], scores["bleu"]


def told(scores: dict[str, float]) -> str:
    """Scores in words.

    >>> told({"exact_match": 0.994, "bleu": 99.71})
    '99.4 % exact, BLEU 99.7'
    """
    return f"{scores['exact_match']:.1%} exact, BLEU {scores['bleu']:.1f}".replace("%", " %")


# --- how a session begins -----------------------------------------------------------------------


def _is_restart(world: World) -> bool:
    """Whether torchrun has started us again; on several machines it may tell only some of us."""
    return world.total(int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))) > 0


def _look_at(run: Run, resume: bool, is_restart: bool) -> dict[str, Any] | None:
    """What the folder says of a run that has begun in it; nothing if none has.

    Who is started again goes on with what the same torchrun began, and with no other run.
    """
    if not run.has_begun():
        run.require_room()
        return None
    about = run.read() if resume or is_restart else {}
    if not resume and (not is_restart or about.get("job") != torchrun_job()):
        raise RunError(
            f"{run.folder} holds a run already; add --resume to go on with it, "
            "or choose another folder."
        )
    return about


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
        raise RunError(
            f"the sentences are not those that {run.folder} began with; "
            "bring the old files back, or begin another run."
        )
    return found


def _load_newest(run: Run) -> Checkpoint | None:
    """The last checkpoint; if it is damaged, say how to go on from the one before."""
    *earlier, newest = run.checkpoints() or [None]
    if newest is None:
        return None
    try:
        return checkpoint.load(newest)
    except CheckpointError as error:
        raise RunError(f"{error} {_way_out(newest, earlier)}") from None


def _way_out(damaged, earlier) -> str:
    for path in reversed(earlier):
        try:
            step = checkpoint.load(path).step
        except CheckpointError:
            continue
        return f"{path.name} is whole: delete {damaged} and resume to go on from step {step}."
    return f"No other checkpoint is whole: delete {damaged} and resume to begin at step 1."


# --- progress -----------------------------------------------------------------------------------


class Onlooker:
    """Standard error; if nobody reads it, training goes on all the same, and the log tells all."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)

    def isatty(self) -> bool:
        return sys.stderr is not None and sys.stderr.isatty()  # None: closed before we began

    def write(self, text: str) -> None:
        with suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            if sys.stderr is not None:
                sys.stderr.flush()

    def interrupt(self, text: str) -> None:
        """For a signal's handler: `write` may be at work, and must not be called within itself."""
        with suppress(OSError):
            if sys.stderr is not None:
                os.write(sys.stderr.fileno(), text.encode())


ONLOOKER = Onlooker()


class Progress:
    """Loss, tokens per second and time left: a bar on a terminal, else a line now and then."""

    def __init__(self, done: int, steps: int, is_shown: bool):
        self.done, self.steps, self.is_shown = done, steps, is_shown
        self.has_bar = is_shown and ONLOOKER.isatty()
        self.bar = tqdm(
            initial=done, total=steps, unit="step", disable=not self.has_bar, file=ONLOOKER
        )
        self.seconds = 0.0  # that the last step took
        self.tokens, self.all_seconds = 0, 0.0
        self.began = self.told = time.monotonic()

    def watch(self, steps: Iterator[train.Step]) -> Iterator[train.Step]:
        """Hand on the steps, and show each of them."""
        first = self.done
        while True:
            began = time.perf_counter()
            step = next(steps, None)
            if step is None:
                return
            self.seconds = time.perf_counter() - began
            self.all_seconds += self.seconds
            self.tokens += step.tokens
            self.done = step.number
            speed = f"{self.tokens / self.all_seconds:,.0f}"
            self.bar.set_postfix_str(f"loss {step.loss:.3f}, {speed} tokens/s", refresh=False)
            self.bar.update()
            now = time.monotonic()
            if not self.has_bar and now - self.told >= SECONDS_BETWEEN_LINES:
                self.told = now
                each = (now - self.began) / (self.done - first)
                left = tqdm.format_interval(each * (self.steps - self.done))
                self.tell(
                    f"step {self.done} of {self.steps}: loss {step.loss:.3f}, "
                    f"{speed} tokens/s, {left} left"
                )
            yield step

    def tell(self, message: str) -> None:
        """Print a line above the bar."""
        if self.is_shown:
            self.bar.write(message, file=ONLOOKER)

    def close(self) -> None:
        self.bar.close()


# --- what may stop a session --------------------------------------------------------------------


@contextmanager
def caught_signals(is_told: bool) -> Iterator[list[int]]:
    """Ctrl-C and a request to end are only noted: the step is finished and saved first.

    A second one changes nothing; who cannot wait may kill the process, as no file suffers.
    """
    caught: list[int] = []

    def note(number: int, _) -> None:
        if is_told and not caught:  # at once, as a validation may take a while
            ONLOOKER.interrupt("\nStopping when this step is done and saved.\n")
        caught.append(number)

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
    session = None
    is_main = os.environ.get("RANK", "0") == "0"
    try:
        with _mistakes():
            device = choose_device(device_name)
            world = parallel.join(device)
            session = Session(run, given, resume, device, world)
            if is_main:
                session.open_folder()
                if resume or not session.is_new:  # torchrun may have started us again
                    print(session.where_it_stands(), file=ONLOOKER)
        with caught_signals(is_main) as caught:
            try:
                session.take_steps(caught, compiled)
            except Exception as error:  # torchrun may ask us to end before we have told why
                return _give_up(error, session, run, compiled, is_main)
        parallel.leave(world)  # the others need not wait for the test
        if is_main:
            scores = session.test()
            count = len(session.task.test)
            print(f"{run.folder}: test of {count:,} unseen sentences, {told(scores)}")
        return 0
    except Exception as error:
        return _give_up(error, session, run, compiled, is_main)
    except KeyboardInterrupt:
        if is_main:
            print(f"Interrupted. {run.how_to_resume()}", file=ONLOOKER)
        return 128 + signal.SIGINT
    finally:
        if session is not None:
            session.close()


def _give_up(
    error: Exception, session: Session | None, run: Run, compiled: bool, is_main: bool
) -> int:
    """Tell a person why the session ends; a fault of the program goes its usual way."""
    message = _sentence(error, session, run, compiled)
    if message is None:
        raise error
    if isinstance(error, RunError | FloatingPointError) and not is_main:
        # The main process has found the same, and torchrun will end this one. Who is still
        # there after a while has a problem of its own, such as a file that only others see.
        time.sleep(SECONDS_FOR_THE_MAIN_PROCESS)
    if is_main or not isinstance(error, Stopped):
        print(message, file=ONLOOKER)
    return error.exit_code if isinstance(error, Stopped) else 1


def _out_of_memory(session: Session | None, run: Run) -> str:
    if session is None:
        return "There is not enough memory for the model: make it smaller (--preset, --set)."
    lacking = f"There is not enough memory for {session.scoring or f'step {session.step + 1}'}: "
    size = session.settings.batch_size
    if session.scoring or size == 1:
        smaller = "free some, or begin another run with a smaller model (--preset, --set). "
        return lacking + smaller + run.how_to_resume()
    return (
        f"{lacking}lower --batch-size, now {size}, let torchrun share the batch among more "
        "machines, or begin another run with a smaller model. "
        + run.how_to_resume("--batch-size", str(size // 2))
    )


_NO_MEMORY = re.compile("out of memory|not enough memory|can(no|')t allocate memory", re.IGNORECASE)


def _sentence(error: Exception, session: Session | None, run: Run, compiled: bool) -> str | None:
    """What to tell a person of an error; None if it is a fault of the program."""
    if isinstance(error, RunError | CheckpointError):
        return str(error)
    if isinstance(error, Stopped):
        return f"Stopped by {error} after step {session.step}, and saved. {run.how_to_resume()}"
    if isinstance(error, WorkerLost):
        return f"{error} {run.how_to_resume()}"
    if isinstance(error, FloatingPointError):
        lower = f"{session.settings.peak / 2:g}"
        return (
            f"{error} Nothing was overwritten. The same settings would lead here again: lower "
            "--peak, and if that does not help, begin another run. "
            f"{run.how_to_resume('--peak', lower)}"
        )
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or _NO_MEMORY.search(str(error)):
        return _out_of_memory(session, run)
    if isinstance(error, OSError):
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "The disk is full" if is_full else f"Could not write ({error.strerror})"
        return f"{what}; what was saved before is whole. {run.how_to_resume()}"
    if compiled and type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
        return f"torch could not compile the model ({type(error).__name__}); leave out --compile."
    return None
