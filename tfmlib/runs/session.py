"""Training from wherever a run is to its last step: checkpoints, validation, and a clean stop.

Under torchrun each process has a session of its own; the main one alone writes files and prints.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import torch
from sacrebleu import corpus_bleu
from torch import Tensor

from tfmlib import checkpoint, data, generate, parallel, train
from tfmlib.checkpoint import Checkpoint, CheckpointError
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.parallel import ALONE, World
from tfmlib.runs import failures
from tfmlib.runs.console import CONSOLE, Progress, print_result
from tfmlib.runs.failures import Position, RunError, Situation, Stopped
from tfmlib.runs.folder import Run, RunInfo, data_checksum, step_in_name
from tfmlib.runs.log import Log, is_validated, truncate_log
from tfmlib.runs.settings import Settings, first_difference
from tfmlib.tokenizer import Tokenizer

SECONDS_FOR_THE_MAIN_PROCESS = 3.0  # to speak for all
BYTES_PER_WEIGHT = 16  # in float32: the weight, its gradient and Adam's two moments
MOST_BYTES = 2**50  # more than any machine has

Scores = dict[str, float]
T = TypeVar("T")


# --- a run from start to end --------------------------------------------------------------------


def train_run(
    run: Run, given: dict[str, Any], resume: bool, device_name: str, compiled: bool
) -> int:
    """Start or resume a run and take it to its end; return the exit code."""
    session: Session | None = None
    world = ALONE
    options = _options_to_repeat(device_name, compiled)
    with ExitStack() as lock:
        try:
            with failures.user_errors():
                world = parallel.world_from_env()
                device = choose_device(device_name)
                world = parallel.join(device)
                session = prepare(run, given, resume, device, world)
                if world.is_main:
                    run.folder.mkdir(parents=True, exist_ok=True)
                    lock.enter_context(run.lock())
                    session.open_folder()
                    if resume or not session.is_new:  # torchrun may have started us again
                        print(session.describe_start(), file=CONSOLE)
            with stop_signals(world) as stop:
                try:
                    session.fit(stop, compiled)
                except Exception as error:  # torchrun may ask us to end before we have told why
                    return _report(error, run, options, session, world)
            parallel.leave(world)  # the others need not wait for the test
            if world.is_main:
                scores = session.test()
                count = len(session.task.test)
                result = f"test of {count:,} unseen sentences, {format_scores(scores)}"
                print_result(f"{run.folder}: {result}")
            return 0
        except Exception as error:
            return _report(error, run, options, session, world)
        except KeyboardInterrupt:
            if world.is_main:
                print(failures.interrupted(_situation(run, options, session)), file=CONSOLE)
            return 128 + signal.SIGINT


def _options_to_repeat(device_name: str, compiled: bool) -> list[str]:
    """What no file keeps of the command."""
    device = [] if device_name == "auto" else ["--device", device_name]
    return [*device, *(["--compile"] if compiled else [])]


def _report(
    error: Exception, run: Run, options: list[str], session: "Session | None", world: World
) -> int:
    """Tell a person why the session ends and return the exit code; a bug is raised again."""
    if isinstance(error, RunError):
        message: str | None = str(error)
    else:
        message = failures.explain(error, _situation(run, options, session))
    if message is None:
        raise error
    if isinstance(error, RunError | FloatingPointError) and not world.is_main:
        # The main process has found the same, and torchrun will end this one. Whoever is still
        # there after a while has a problem of its own, such as a file that only others see.
        time.sleep(SECONDS_FOR_THE_MAIN_PROCESS)
    if world.is_main or not isinstance(error, Stopped):
        print(message, file=CONSOLE)
    return error.exit_code if isinstance(error, Stopped) else 1


def _situation(run: Run, options: list[str], session: "Session | None") -> Situation:
    checkpoints = {step_in_name(path): path for path in run.checkpoints()}
    if session is None:
        return Situation(run.folder, run.has_begun(), False, checkpoints, options)
    settings = session.settings
    size = min(settings.batch_size, len(session.task.train))  # no batch holds more
    position = Position(session.state.step, settings.peak, size)
    try:
        is_saved = run.read().settings == settings
    except RunError:
        is_saved = False
    return Situation(run.folder, run.has_begun(), is_saved, checkpoints, options, position)


# --- signals ------------------------------------------------------------------------------------


class ValidationInterrupted(BaseException):
    """A signal came during a validation, which changes nothing and can be made up for.

    It is no Exception, as code that computes a score might take that for its own.
    """


@dataclass
class StopSignals:
    """The signals that have asked this process to stop."""

    is_announced: bool  # whether this process tells a person
    received: list[int] = field(default_factory=list)
    may_interrupt: bool = False  # what is being done

    def handle(self, number: int, _frame: FrameType | None) -> None:
        if self.is_announced and not self.received:
            CONSOLE.write_from_signal_handler("\nStopping once this step is done and saved.\n")
        self.received.append(number)
        if self.may_interrupt:
            self.may_interrupt = False  # once is enough
            raise ValidationInterrupted

    def interruptible(self, compute: Callable[[], T]) -> T | None:
        """What it computes; None if a signal comes before that is done."""
        try:
            try:
                self.may_interrupt = True  # only within, or the exception might get past us
                if self.received:
                    raise ValidationInterrupted
                return compute()
            finally:
                self.may_interrupt = False
        except ValidationInterrupted:
            return None


@contextmanager
def stop_signals(world: World) -> Iterator[StopSignals]:
    """Ctrl-C and a request to end are only noted: the step is finished and saved first.

    A validation is interrupted, as torchrun soon kills what does not end. A second signal changes
    nothing; whoever cannot wait may kill the process, as no file suffers.
    """
    stop = StopSignals(is_announced=world.is_main)
    old = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


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


@dataclass
class TrainState:
    """How far training has come: all that changes, apart from weights and moments."""

    step: int = 0  # the last that was taken
    best: dict[str, Any] | None = None  # the scores of the best validation, and its step


@dataclass(frozen=True)
class Session:
    """A model, its data and its optimizer, as the last checkpoint left them or new."""

    run: Run
    is_new: bool  # there was no run in the folder
    loaded: Path | None  # the checkpoint that the run resumes from
    settings: Settings
    task: data.Task
    batches: data.Batches
    validation_batches: data.Batches
    model: Transformer
    optimizer: torch.optim.Adam
    device: torch.device
    world: World
    state: TrainState

    def describe_start(self) -> str:
        """What a person who resumes a run wants to know first."""
        folder, steps = self.run.folder, self.settings.steps
        if self.is_new:
            return f"{folder} holds no run to resume: starting a new one."
        if self.is_last_step:
            return f"{folder} has taken all its {steps} steps; raise --steps to take more."
        return f"{folder} resumes after step {self.state.step} of {steps}."

    @property
    def is_last_step(self) -> bool:
        return self.state.step == self.settings.steps

    @property
    def is_validation_due(self) -> bool:
        return self.is_last_step or self.state.step % self.settings.validate_every == 0

    @property
    def is_checkpoint_due(self) -> bool:
        return self.is_last_step or self.state.step % self.settings.save_every == 0

    # --- the folder, which the main process has locked

    def open_folder(self) -> None:
        """Make the folder say what the run is about, and nothing of what it has yet to do."""
        self._require_untouched()
        if not self.is_new:  # first of all, as it may refuse
            truncate_log(self.run.log, self.state.step)
        self.run.remove_temporary_files()
        if self.is_new:
            self.run.write_tokenizer(self.task.tokenizer)
        config, checksum = asdict(self.model.config), data_checksum(self.task)
        self.run.write(self.settings, config, checksum, torchrun_job())
        self.state.best = self._find_best()

    def _require_untouched(self) -> None:
        """Until the folder was locked, another process may have trained in it."""
        if _newest(self.run) != self.loaded or self.run.has_begun() == self.is_new:
            raise failures.was_trained_meanwhile(self.run.folder)

    def _find_best(self) -> dict[str, Any] | None:
        """The score to beat is that of the best weights there are.

        They may be newer than the checkpoint that we resume from; or lost, or of another run: then
        others count.
        """
        if self.state.best is None and not self.run.best.exists():
            return None
        try:
            found = checkpoint.load(self.run.best)
        except CheckpointError as error:
            print(f"{error} The next validation writes it again.", file=CONSOLE)
            return None
        is_ours = found.config == self.model.config
        is_ours = is_ours and not first_difference(found.settings, self.settings)
        return found.best if is_ours else None

    # --- training

    def fit(self, stop: StopSignals, compiled: bool = False) -> None:
        """Take the steps that are left, and save the last one; a signal ends them earlier."""
        forward: Callable[..., Tensor] = self.world.wrap(self.model, self.device)
        forward = torch.compile(forward) if compiled else forward
        bar = Progress(self.state.step, self.settings.steps, self.world.is_main)
        with closing(bar) as progress, self._open_log() as log:
            if self.state.step > 0:
                if log is not None:
                    self._make_up_validation(log, progress, stop)
                self._stop_if_asked(log, stop)
            for step in progress.track(self._steps(forward)):
                self.state.step = step.number
                if log is not None:
                    log.write(_log_entry(step, progress.seconds))
                    self._validate_and_save(log, progress, stop)
                self._stop_if_asked(log, stop)

    def _open_log(self) -> AbstractContextManager[Log | None]:
        return closing(Log(self.run.log)) if self.world.is_main else nullcontext()

    def _steps(self, forward: Callable[..., Tensor]) -> Iterator[train.Step]:
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
            first=self.state.step + 1,
            seed=s.seed,
            world=self.world,
            forward=forward,
            precision=torch.bfloat16 if s.precision == "bfloat16" else None,
        )

    def _stop_if_asked(self, log: Log | None, stop: StopSignals) -> None:
        with parallel.during(f"step {self.state.step}"):
            if self.world.total(len(stop.received)) == 0:  # others may have got a signal
                return
        if log is not None:
            self._save(log)
        self.world.wait()  # torchrun ends all as soon as one has ended
        raise Stopped(stop.received[0] if stop.received else signal.SIGTERM, self.state.step)

    # --- what the main process does between steps

    def _validate_and_save(self, log: Log, progress: Progress, stop: StopSignals) -> None:
        scores = self._validate(stop) if self.is_validation_due else None
        if scores is not None:
            self._log_validation(log, scores)
            self._keep_if_best(scores)
            self._print_validation(progress, scores)
        if self.is_checkpoint_due:
            self._save(log)

    def _make_up_validation(self, log: Log, progress: Progress, stop: StopSignals) -> None:
        """Validate the step that a run resumes from, if a signal or a lost file makes it needed."""
        if not self.is_validation_due:
            return
        is_logged = is_validated(self.run.log, self.state.step)
        is_best_missing = self.is_last_step and self.state.best is None
        scores = None if is_logged and not is_best_missing else self._validate(stop)
        if scores is None:
            return
        self._keep_if_best(scores)
        # The checkpoint of the step is there, but of an earlier best. What the log tells comes
        # last: were we killed before, all this would be done again.
        self._save(log)
        if not is_logged:
            self._log_validation(log, scores)
        self._print_validation(progress, scores)

    def _validate(self, stop: StopSignals) -> Scores | None:
        """How well the weights of this step do; None if a signal has asked for an end before."""

        def compute() -> Scores:
            scores = score(self.model, self.task.tokenizer, self.task.validation)
            return scores | {"loss": train.mean_loss(self.model, self.validation_batches)}

        with failures.out_of_memory_during("the validation"):
            return stop.interruptible(compute)

    def _log_validation(self, log: Log, scores: Scores) -> None:
        log.write({"step": self.state.step, "validation": scores})

    def _print_validation(self, progress: Progress, scores: Scores) -> None:
        progress.print(f"step {self.state.step}: validation {format_scores(scores)}")

    def _keep_if_best(self, scores: Scores) -> None:
        best = self.state.best
        if best is None or _ranking(scores) > _ranking(best):
            self.state.best = {"step": self.state.step, **scores}
            checkpoint.save(self.run.best, self._snapshot(optimizer=None))

    def _save(self, log: Log) -> None:
        log.sync()  # what is before a checkpoint is never logged again
        checkpoint.save(self.run.checkpoint(self.state.step), self._snapshot(self.optimizer))
        self.run.prune_checkpoints()

    def _snapshot(self, optimizer: torch.optim.Adam | None) -> Checkpoint:
        settings = asdict(self.settings)
        return checkpoint.take(self.state.step, self.model, optimizer, settings, self.state.best)

    def test(self) -> Scores:
        """How well the best weights do on sentences that nothing was chosen by."""
        with failures.out_of_memory_during("the test"):
            best = checkpoint.load(self.run.best)
            checkpoint.restore(best, self.model)
            scores = score(self.model, self.task.tokenizer, self.task.test)
        with closing(Log(self.run.log)) as log:
            log.write({"step": self.state.step, "test": scores | {"best_step": best.step}})
        return scores


def _newest(run: Run) -> Path | None:
    return next(reversed(run.checkpoints()), None)


def _log_entry(step: train.Step, seconds: float) -> dict[str, Any]:
    return {
        "step": step.number,
        "loss": step.loss,
        "rate": step.rate,
        "tokens": step.tokens,
        "seconds": round(seconds, 3),
    }


# --- scores -------------------------------------------------------------------------------------


def score(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[data.Pair]) -> Scores:
    """The share of exact translations, and BLEU as sacrebleu has it, up to 100."""
    written = generate.translate(model, tokenizer, [source for source, _ in pairs])
    wanted = train.writable_targets(tokenizer, pairs)
    bleu = corpus_bleu(written, [wanted], force=True).score
    return {"exact_match": train.share_equal(written, wanted), "bleu": bleu}


def _ranking(scores: Scores) -> tuple[float, float, float]:
    # Of long sentences hardly one comes out exactly: then BLEU decides, and at first the loss.
    return scores["exact_match"], scores["bleu"], -scores["loss"]


def format_scores(scores: Scores) -> str:
    """Scores in words.

    >>> format_scores({"exact_match": 0.994, "bleu": 99.71})
    '99.4 % exact, BLEU 99.7'
    """
    return f"{scores['exact_match']:.1%} exact, BLEU {scores['bleu']:.1f}".replace("%", " %")


# --- how a session begins -----------------------------------------------------------------------


def prepare(
    run: Run, given: dict[str, Any], resume: bool, device: torch.device, world: World
) -> Session:
    """Load the run from its folder, or make a new one; nothing is written yet."""
    info = _read_existing(run, resume or is_elastic_restart(run, world))
    settings = _resolve_settings(info, given, device)
    world.wait()  # all have looked at the folder before one of them writes
    task = settings.make_task(run.read_tokenizer(info) if info else None)
    config = _model_config(info, settings, task.tokenizer)
    if info and info.data_checksum != data_checksum(task):
        raise failures.other_sentences(run.folder, info.settings.task is not None)
    batches, validation_batches = (
        data.Batches(part, task.tokenizer, settings.batch_size, settings.seed)
        for part in (task.train, task.validation)
    )
    torch.manual_seed(settings.seed)
    _require_possible_size(config)
    model = Transformer(config).to(device)
    optimizer = train.make_optimizer(model, fused=True)
    loaded = _newest(run)
    state = _restore(loaded, run, settings, model, optimizer) if loaded else TrainState()
    if world.total(state.step) != world.size * state.step:
        raise failures.is_not_shared(state.step)
    return Session(
        run=run,
        is_new=info is None,
        loaded=loaded,
        settings=settings,
        task=task,
        batches=batches,
        validation_batches=validation_batches,
        model=model,
        optimizer=optimizer,
        device=device,
        world=world,
        state=state,
    )


def is_elastic_restart(run: Run, world: World) -> bool:
    """Whether torchrun has started us again, to continue what it began, and no other run.

    On several machines it may tell only some of us of the restart, and the main process alone has
    the torchrun that noted itself. So all must call, whatever they find.
    """
    is_restart = world.total(int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))) > 0
    is_same_job = world.total(world.is_main and _has_begun_in_this_job(run)) > 0
    return is_restart and is_same_job


def _has_begun_in_this_job(run: Run) -> bool:
    try:
        job = run.read().job
    except RunError:  # `read` will tell whoever needs more
        return False
    return job is not None and job == torchrun_job()


def torchrun_job() -> str | None:
    """The id of the job that started this process, the same for all that it starts or restarts.

    On one machine `torchrun --standalone` makes up a new one each time; for several it is their
    --rdzv-id, so that has to be another one for each job. Where torchrun was given none, every job
    is called "none"; then it is known by its own process, the parent of all that it restarts.
    """
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    return f"{socket.gethostname()} {os.getppid()}" if name == "none" else name


def _read_existing(run: Run, may_resume: bool) -> RunInfo | None:
    """What the folder says of a run that has begun in it; nothing if none has."""
    if not run.has_begun():
        run.require_room()
        return None
    if not may_resume:
        raise failures.holds_a_run(run.folder)
    return run.read()


def _resolve_settings(
    info: RunInfo | None, given: dict[str, Any], device: torch.device
) -> Settings:
    if info:
        return info.settings.with_flags(given)
    settings = Settings.from_flags(given)
    return replace(settings, precision=choose_precision(settings.precision, device))


def _model_config(
    info: RunInfo | None, settings: Settings, tokenizer: Tokenizer
) -> TransformerConfig:
    if info:
        return TransformerConfig(**info.config)
    fixed = {"vocab_size", "pad_id", "start_id", "end_id"}  # by the tokenizer
    known = {field.name for field in fields(TransformerConfig)} - fixed
    for name in settings.changes:
        if name not in known:
            raise failures.unknown_size(name, sorted(known), is_fixed=name in fixed)
    sizes = settings.changes | {"vocab_size": tokenizer.vocab_size}
    return TransformerConfig.preset(settings.preset, **sizes)


def _require_possible_size(config: TransformerConfig) -> None:
    """Tell of sizes that no machine can hold, which torch would not even try, or try forever."""
    D, F, layers = config.d_model, config.d_ff, config.encoder_layers + config.decoder_layers
    weights = config.vocab_size * D + layers * (4 * D * D + 2 * D * F)  # at least
    if weights * BYTES_PER_WEIGHT > MOST_BYTES:
        raise MemoryError


def _restore(
    path: Path, run: Run, settings: Settings, model: Transformer, optimizer: torch.optim.Adam
) -> TrainState:
    """Give model and optimizer what the newest checkpoint holds, if it belongs to the run."""
    try:
        last = checkpoint.load(path)
    except CheckpointError as error:
        raise failures.damaged_checkpoint(
            error, *checkpoint.split_damaged(run.checkpoints())
        ) from None
    if last.step > settings.steps:
        raise failures.too_few_steps(run.folder, last.step, settings.steps)
    difference = first_difference(last.settings, settings)
    if difference:
        raise failures.checkpoint_of_another_run(path, difference)
    if step_in_name(path) != last.step:
        raise failures.misnamed_checkpoint(path, last.step)
    try:
        checkpoint.restore(last, model, optimizer)
    except CheckpointError as error:
        raise failures.checkpoint_contradicts_run_json(path, error) from None
    return TrainState(last.step, last.best)
