"""Several processes train as one: torchrun really starts them, and one of them is really killed."""

import doctest
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import torch

from tfmlib import parallel
from tfmlib.parallel import ALONE, World
from tfmlib.runs.failures import RunError, torchrun_command
from tfmlib.runs.folder import Run
from tfmlib.runs.session import Session, prepare

SECONDS = 300  # far more than any of these runs needs, even on a busy machine

no_torchrun = pytest.mark.skipif(
    sys.platform == "win32", reason="torchrun and kill -9 are for Linux and macOS"
)

# --- starting and ending ------------------------------------------------------------------------


class Job:
    """What one command started, and what it has written so far."""

    def __init__(self, command: list[str], output: Path):
        self.output = output
        with output.open("wb") as file:
            self.process = psutil.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )

    def wait(self) -> int:
        """The exit code, once it has ended."""
        try:
            return self.process.wait(SECONDS)
        except psutil.TimeoutExpired:
            pytest.fail(f"it has not ended after {SECONDS} s:\n{self.text}")

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")


@contextmanager
def started(
    *command: str,
    output: Path,
    processes: int = 1,
    restarts: int = 0,
    meeting: tuple[str, ...] = ("--standalone",),
):
    """Whatever happens in the test, no process of the job is left behind."""
    launch = ["-m", "torch.distributed.run", *meeting, f"--nproc-per-node={processes}"]
    launch += [f"--max-restarts={restarts}"]
    job = Job([*(launch if processes > 1 or restarts else []), *command], output)
    try:
        yield job
    finally:
        if job.process.is_running():
            job.process.suspend()  # or it might start others while these are ended
            family = [*job.process.children(recursive=True), job.process]
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(family, SECONDS)


# --- one world ----------------------------------------------------------------------------------


def test_every_row_goes_to_one_process_and_the_first_ones_get_more():
    rows = list(range(7))
    shares = [World(rank, size=3).share(rows) for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4], [2, 5]]
    assert World(rank=2, size=3).share(rows[:2]) == []


def test_alone_there_is_nobody_to_ask(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert parallel.join("cpu") is ALONE
    model = object()
    assert ALONE.wrap(model, "cpu") is model
    assert ALONE.total(3.25) == 3.25
    assert ALONE.is_main
    ALONE.wait()
    parallel.leave(ALONE)


def test_a_device_that_cannot_work_together_is_refused_before_anything_starts(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="need the device cpu or cuda, got mps"):
        parallel.join("mps")


def test_more_processes_than_gpus_are_refused(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(parallel.torch.cuda, "device_count", lambda: 3)
    with pytest.raises(ValueError, match=r"each of the 3 GPUs.*lower --nproc-per-node to 3"):
        parallel.join("cuda")


def test_only_the_loss_of_a_process_is_called_so():
    with pytest.raises(parallel.WorkerLost, match="lost during step 7"), parallel.during("step 7"):
        raise RuntimeError("[third_party/gloo/transport/tcp/pair.cc:553] Connection closed")
    with pytest.raises(RuntimeError, match="not enough memory") as caught, parallel.during("it"):
        raise RuntimeError("DefaultCPUAllocator: not enough memory")
    assert not isinstance(caught.value, parallel.WorkerLost)


def test_processes_agree_on_a_new_word_whatever_the_dead_have_left():
    """The main process comes first and finds what those before it wrote, not yet what is new."""
    store = torch.distributed.HashStore()
    words = []
    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            main = pool.submit(parallel._agree, store, 0, 3)
            time.sleep(0.05)
            others = [pool.submit(parallel._agree, store, rank, 3) for rank in (1, 2)]
            (word,) = {process.result(SECONDS) for process in (main, *others)}
            words.append(word)
    assert len(set(words)) == 3


def test_the_examples_in_the_docstrings_are_true():
    result = doctest.testmod(parallel)
    assert (result.attempted, result.failed) == (1, 0)


# --- the loop in two processes ------------------------------------------------------------------

# Plain descent, as Adam would hide a gradient that is too short or too long by a factor; batches
# of 7, 7, 7 and 1 row, so that the shares differ and one process at times has none.
WORKER = """
import hashlib, json, os, signal, sys
import torch
from tfmlib import data, parallel, train
from tfmlib.model import Transformer, TransformerConfig

folder, last_step = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, before the loss could be told
torch.set_num_threads(1)
task = data.number_task(below=5000, train=22, validation=5, test=0)
world = parallel.join("cpu")
sizes = dict(d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, dropout=0.0)
torch.manual_seed(world.rank)  # the main process's weights are to count
model = Transformer(TransformerConfig(task.tokenizer.vocab_size, **sizes))
forward = world.wrap(model, "cpu")
batches = data.Batches(task.train, task.tokenizer, 7)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
backward_passes = []

def die(gradient):
    backward_passes.append(1)
    if world.rank == 1 and len(backward_passes) == last_step:
        os.kill(os.getpid(), signal.SIGKILL)

model.embedding.weight.register_hook(die)
steps = train.train(model, batches, 24, warmup=5, peak=0.2, optimizer=optimizer, world=world,
                    forward=forward, seed=0)
try:
    losses, tokens = zip(*((step.loss, step.tokens) for step in steps))
except parallel.WorkerLost as error:
    sys.exit(f"rank {world.rank}: {error}")
digest = hashlib.sha256()
for weight in model.parameters():
    digest.update(weight.detach().numpy().tobytes())
results = {"losses": losses, "tokens": tokens, "weights": digest.hexdigest(),
           "validation": train.mean_loss(model, data.Batches(task.validation, task.tokenizer, 2)),
           "ranks": world.total(10 ** world.rank)}
with open(f"{folder}/{world.size}-{world.rank}.json", "w") as file:
    json.dump(results, file)
world.wait()
parallel.leave(world)
parallel.end(0)
"""


@pytest.fixture
def worker(tmp_path) -> str:
    path = tmp_path / "worker.py"
    path.write_text(WORKER, encoding="utf-8")
    return str(path)


@no_torchrun
def test_two_processes_take_the_steps_of_one(worker, tmp_path):
    for processes in (1, 2):
        arguments = (worker, str(tmp_path), "0")
        with started(*arguments, output=tmp_path / "output", processes=processes) as job:
            assert job.wait() == 0, job.text
    one, first, second = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("1-0", "2-0", "2-1")
    )
    assert first == second  # bit for bit, losses and weights
    assert first["losses"] == pytest.approx(one["losses"], abs=1e-5)
    assert one["losses"][0] > one["losses"][-1] + 0.5  # they went somewhere
    assert first["tokens"] == one["tokens"]
    assert len(set(one["tokens"])) >= 4
    assert first["validation"] == pytest.approx(one["validation"], abs=1e-5)
    assert (one["ranks"], first["ranks"]) == (1, 11)


@no_torchrun
def test_a_process_that_is_lost_while_gradients_are_averaged_is_named_with_the_step(
    worker, tmp_path
):
    with started(worker, str(tmp_path), "5", output=tmp_path / "output", processes=2) as job:
        assert job.wait() != 0
        assert "rank 0: Another process was lost during step 5." in job.text
    assert not list(tmp_path.glob("2-*.json"))


# --- the command in two processes ---------------------------------------------------------------

STEPS, SAVE_EVERY = 110, 10

# The command, but one process kills itself after a step: a test that killed it from outside would
# come at another step each time, and on a busy machine after the last.
DYING = """
import os, signal, sys
from tfmlib import train
from tfmlib.__main__ import main

rank, number, *arguments = sys.argv[1:]
take_steps = train.train

def take_steps_and_die(*args, **kwargs):
    is_me = (os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == (rank, "0")
    for step in take_steps(*args, **kwargs):
        if is_me and step.number == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        yield step

train.train = take_steps_and_die
sys.exit(main(arguments))
"""


@pytest.fixture(scope="module")
def train_command(parallel_text) -> list[str]:
    """39 pairs in batches of 19, 19 and 1: one process has no row of the last."""
    sizes = (
        "d_model=16",
        "heads=2",
        "d_ff=32",
        "encoder_layers=1",
        "decoder_layers=1",
        "dropout=0",
    )
    return [
        *("train", *parallel_text),
        *("--vocab-size=300", "--validation=5", "--test=5"),
        *("--batch-size=19", "--warmup=20", f"--steps={STEPS}", f"--save-every={SAVE_EVERY}"),
        *("--validate-every=60", "--device=cpu", "--precision=float32"),
        *(f"--set={size}" for size in sizes),
    ]


def steps(run: Path) -> list[dict]:
    """The steps in the log, up to one whose line is still being written."""
    log = run / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    found = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [entry for entry in found if "loss" in entry]


def in_command(*arguments: str) -> list[str]:
    return ["-m", "tfmlib", *arguments]


def wait_for_steps(run: Path, count: int, job: Job) -> None:
    patience = time.monotonic() + SECONDS
    while len(steps(run)) < count:
        assert job.process.poll() is None, job.text
        assert time.monotonic() < patience, job.text
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed(train_command, tmp_path_factory) -> dict[int, Path]:
    """The folders of two runs that nothing happened to, by their number of processes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for processes in (1, 2):
        command = in_command(*train_command, f"--out={folder / str(processes)}")
        with started(*command, output=folder / "output", processes=processes) as job:
            assert job.wait() == 0, job.text
            assert job.text.count("test of 5 unseen sentences") == 1  # one process tells
    return {processes: folder / str(processes) for processes in (1, 2)}


@no_torchrun
def test_two_processes_log_the_losses_of_one(undisturbed):
    one, two = steps(undisturbed[1]), steps(undisturbed[2])
    assert [s["step"] for s in two] == [s["step"] for s in one] == list(range(1, STEPS + 1))
    assert [s["tokens"] for s in two] == [s["tokens"] for s in one]
    # Rounding differs, and training magnifies it: after hundreds of steps it is more than that.
    losses = [[s["loss"] for s in log] for log in (one, two)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)


def last_saved(run: Path) -> int:
    """The step of the last checkpoint."""
    return max(int(path.name[5:11]) for path in run.glob("step-*.safetensors"))


def assert_same_end(run: Path, undisturbed: Path) -> None:
    name = f"step-{STEPS:06d}.safetensors"
    assert (run / name).read_bytes() == (undisturbed / name).read_bytes()
    assert [s["step"] for s in steps(run)] == list(range(1, STEPS + 1))


@no_torchrun
def test_processes_that_find_different_checkpoints_are_told_to_share_a_folder(undisturbed):
    class Elsewhere(World):
        """The other process is on a machine where there is no checkpoint."""

        def total(self, value):
            return value

    with pytest.raises(RunError, match=f"step {STEPS}; --out must be a folder that all machines"):
        prepare(Run(undisturbed[1]), {}, True, torch.device("cpu"), Elsewhere(rank=0, size=2))


@no_torchrun
def test_a_dead_worker_ends_the_job_and_torchrun_restarts_it_if_it_may(
    train_command, undisturbed, tmp_path
):
    run, output, dying = (tmp_path / name for name in ("run", "output", "dying.py"))
    dying.write_text(DYING, encoding="utf-8")
    command = [*train_command, f"--out={run}"]
    with started(str(dying), "1", "25", *command, output=output, processes=2) as job:
        assert job.wait() != 0
        assert "Another process was lost during step 25." in job.text
        assert f"The last checkpoint is {run}/step-000020.safetensors." in job.text
        how = f"{torchrun_command()} --standalone --nproc-per-node 2 -m tfmlib train --resume --out"
        assert f"{how} {run} --device cpu" in job.text
    assert (last_saved(run), len(steps(run))) == (20, 25)
    command = [str(dying), "0", "45", *command, "--resume"]
    with started(*command, output=output, processes=2, restarts=1) as job:
        assert job.wait() == 0, job.text
        assert f"{run} resumes after step 20 of {STEPS}." in job.text
        assert f"{run} resumes after step 40 of {STEPS}." in job.text
    assert_same_end(run, undisturbed[2])


@no_torchrun
def test_a_restart_resumes_what_its_job_began_but_no_run_that_was_there_before(
    train_command, undisturbed, tmp_path
):
    before = {path.name: path.read_bytes() for path in undisturbed[1].iterdir()}
    command = in_command(*train_command, f"--out={undisturbed[1]}")
    with started(*command, output=tmp_path / "output", restarts=1) as job:
        assert job.wait() != 0
        assert job.text.count("already holds a run; add --resume") == 2
    assert {path.name: path.read_bytes() for path in undisturbed[1].iterdir()} == before


@no_torchrun
def test_jobs_that_are_given_no_name_are_told_apart(train_command, tmp_path):
    """Each of them is called none; the first is restarted, the second refused, twice."""
    run, output, dying = (tmp_path / name for name in ("run", "output", "dying.py"))
    dying.write_text(DYING, encoding="utf-8")
    nameless = {"meeting": ("--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"), "restarts": 1}
    command = [*train_command, f"--out={run}", "--steps=30"]
    with started(str(dying), "0", "25", *command, output=output, **nameless) as job:
        assert job.wait() == 0, job.text
        assert f"{run} resumes after step 20 of 30." in job.text
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with started(*in_command(*command), output=output, **nameless) as job:
        assert job.wait() != 0
        assert job.text.count("already holds a run; add --resume") == 2
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@no_torchrun
def test_the_main_process_tells_all_whether_a_restart_may_go_on(undisturbed, monkeypatch):
    """On another machine the parent of a process is another torchrun."""
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "another machine's")

    class Other(World):
        """The second of two processes; what the main one hands in is given, in order."""

        def total(self, value):
            asked.append(value)
            return value + from_main.pop(0)

    def look(is_same_job: int, folder: Path) -> Session:
        asked.clear()
        from_main[:] = [1, is_same_job, 0, STEPS]
        return prepare(Run(folder), {}, False, torch.device("cpu"), Other(rank=1, size=2))

    asked, from_main = [], []
    assert look(1, undisturbed[1]).state.step == STEPS
    assert asked == [1, 0, 0, STEPS]
    with pytest.raises(RunError, match="already holds a run"):
        look(0, undisturbed[1])
    harmed = undisturbed[1].parent / "harmed"
    harmed.mkdir()
    (harmed / "run.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        look(1, harmed)
    assert asked[:2] == [1, 0]  # whatever it finds, it takes part


@no_torchrun
def test_a_job_that_is_asked_to_stop_saves_its_last_step(train_command, tmp_path):
    run, output = tmp_path / "run", tmp_path / "output"
    endless = ("--save-every=100000", "--steps=100000")  # however late the test wakes up
    command = in_command(*train_command, f"--out={run}", *endless)
    with started(*command, output=output, processes=2) as job:
        wait_for_steps(run, 7, job)
        job.process.terminate()
        assert job.wait() != 0
        step = len(steps(run))
        assert f"Stopped by SIGTERM after saving step {step}." in job.text
    assert last_saved(run) == step >= 7


# The command, but its first validation takes as many seconds, and processes meet in fewer.
VALIDATING = """
import sys, time
from datetime import timedelta
from pathlib import Path
from tfmlib import parallel
from tfmlib.runs import session
from tfmlib.__main__ import main

marker, seconds, *arguments = sys.argv[1:]
parallel.TIME_TO_MEET = timedelta(seconds=0.8 * float(seconds))
score = session.score

def slow_score(*given):
    session.score = score
    Path(marker).touch()
    time.sleep(float(seconds))
    return score(*given)

session.score = slow_score
sys.exit(main(arguments))
"""


@no_torchrun
def test_the_others_wait_for_a_validation_longer_than_they_need_to_meet(train_command, tmp_path):
    run, output, marker, script = (tmp_path / name for name in ("run", "output", "marker", "long"))
    script.write_text(VALIDATING, encoding="utf-8")
    command = [str(script), str(marker), "25", *train_command, f"--out={run}", "--steps=3"]
    with started(*command, output=output, processes=2) as job:
        assert job.wait() == 0, job.text
    assert last_saved(run) == len(steps(run)) == 3


@no_torchrun
def test_a_job_that_is_interrupted_in_a_long_validation_saves_its_step_in_time(
    train_command, tmp_path
):
    run, output, marker, script = (tmp_path / name for name in ("run", "output", "marker", "long"))
    script.write_text(VALIDATING, encoding="utf-8")
    command = [str(script), str(marker), "60"]  # longer than torchrun waits before it kills
    command += [*train_command, f"--out={run}", "--validate-every=7"]
    with started(*command, "--save-every=1000", output=output, processes=2) as job:
        patience = time.monotonic() + SECONDS
        while not marker.exists():
            assert job.process.poll() is None, job.text
            assert time.monotonic() < patience, job.text
            time.sleep(0.01)
        job.process.send_signal(signal.SIGINT)
        assert job.wait() != 0  # one that took too long would have been killed, and said nothing
        assert "Stopped by SIGINT after saving step 7." in job.text
    assert last_saved(run) == len(steps(run)) == 7
