"""Runs that are killed, stopped, damaged and starved of room, and what is left of them afterwards.

Each run is a process that trains by the command line, and is really killed. As torch takes seconds
to import, one process imports it and forks a copy of itself for each run.
"""

import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from tfmlib import checkpoint
from tfmlib.runs.failures import python_command

SECONDS = 300  # far more than any of these runs needs, even on a busy machine
STEPS, SAVE_EVERY = 200, 5

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Windows has no fork, and on macOS torch does not survive it"
)

# --- starting and ending ------------------------------------------------------------------------

DRIVER = """
import json, os, sys, traceback
import torch
from tfmlib.runs import session  # with all that a run imports
from tfmlib.__main__ import main

torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])  # the first one imports still more
torch.set_num_threads(1)
for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            exec(job["before"])
            code = main(job["arguments"])
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Process:
    """The process of the run that was started last, and what it wrote."""

    def __init__(self, folder: Path):
        self.output, self.pid = folder / "output", None
        self.driver = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def start(self, *arguments: str, before: str = "") -> None:
        """Begin a run with these arguments; `before` is Python code that it runs first."""
        self.end()
        job = {"arguments": arguments, "before": before, "output": str(self.output)}
        print(json.dumps(job), file=self.driver.stdin, flush=True)
        self.pid = int(self.driver.stdout.readline())

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code, or minus the signal that ended it; one that hangs is killed."""
        watchdog = threading.Timer(SECONDS, self.send, [signal.SIGKILL])
        watchdog.start()
        try:
            return int(self.driver.stdout.readline())
        finally:
            watchdog.cancel()
            self.pid = None

    def end(self) -> None:
        """End what a test that failed has left running."""
        if self.pid is not None:
            self.send(signal.SIGKILL)
            self.wait()

    def run(self, *arguments: str, before: str = "") -> int:
        self.start(*arguments, before=before)
        return self.wait()

    def wait_until(self, is_so) -> None:
        """Look again and again without a pause, as it may be so for a moment only; or it ends."""
        patience = time.monotonic() + SECONDS
        with suppress(ProcessLookupError):
            while not is_so():
                os.kill(self.pid, 0)  # raises an error if it has ended
                assert time.monotonic() < patience, self.text

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def close(self) -> None:
        self.end()
        self.driver.stdin.close()  # the driver ends when there is no more to do
        self.driver.stdout.close()
        self.driver.wait(SECONDS)


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    process = Process(tmp_path_factory.mktemp("process"))
    yield process
    process.close()


# --- runs ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flags(parallel_text) -> list[str]:
    """A model that is small, but wide enough that writing it down takes a while."""
    sizes = ("d_model=16", "heads=2", "d_ff=1000", "encoder_layers=1", "decoder_layers=1")
    return [
        *("train", *parallel_text, "--vocab-size=300", "--validation=5", "--test=5"),
        "--batch-size=11",
        *(f"--save-every={SAVE_EVERY}", "--validate-every=50", "--warmup=20", "--device=cpu"),
        *("--precision=float32", *(f"--set={size}" for size in sizes)),
    ]


@pytest.fixture(scope="module")
def undisturbed(process, flags, tmp_path_factory) -> Path:
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert process.run(*flags, f"--steps={STEPS}", f"--out={folder}") == 0, process.text
    return folder


@pytest.fixture(scope="module")
def _short_run(process, flags, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("short") / "run"
    assert process.run(*flags, "--steps=40", f"--out={folder}") == 0, process.text
    return folder


@pytest.fixture
def short_run(_short_run, tmp_path) -> Path:
    """A copy of a run of 40 steps, whose checkpoints are those of steps 35 and 40."""
    return Path(shutil.copytree(_short_run, tmp_path / "run"))


def entries(run: Path) -> list[dict]:
    """What is in the log but for the times; a last line may still be in the making."""
    log = run / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    found = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [{key: entry[key] for key in entry if key != "seconds"} for entry in found]


def last_step(run: Path) -> int:
    """The last step that is in the log."""
    return max((entry["step"] for entry in entries(run)), default=0)


def last_saved(run: Path) -> int:
    """The step of the last checkpoint that has its name; none of these may be damaged."""
    names = sorted(path.name for path in run.glob("step-*.safetensors"))
    for name in names:
        assert checkpoint.load(run / name).step == int(name[5:11])
    return int(names[-1][5:11]) if names else 0


def version(path: Path) -> tuple[int, int] | None:
    """Another one whenever the file was replaced or written to."""
    try:
        return path.stat().st_ino, path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def unfinished(run: Path, name: str = "step-*") -> set:
    """Files that are, or were, being written: they have not got their names yet."""
    found = ((path.name, version(path)) for path in run.glob(f"{name}.tmp"))
    return {(name, version) for name, version in found if version}


def content(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def assert_same_end(run: Path, undisturbed: Path) -> None:
    """Weights, moments and best weights bit for bit; each step once in the log."""
    found, wanted = content(run), content(undisturbed)
    assert found.keys() == wanted.keys()
    assert [n for n in wanted if n.endswith(".safetensors") and found[n] != wanted[n]] == []
    assert [e["step"] for e in entries(run) if "loss" in e] == list(range(1, STEPS + 1))
    assert entries(run) == entries(undisturbed)


def assert_same_weights(run: Path, undisturbed: Path) -> None:
    """For a run with other settings on the way, of which its files tell."""
    found, wanted = end(run), end(undisturbed)
    for ours, theirs in ((found.weights, wanted.weights), (found.moments, wanted.moments)):
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def end(run: Path) -> checkpoint.Checkpoint:
    return checkpoint.load(run / f"step-{STEPS:06d}.safetensors")


# --- killed -------------------------------------------------------------------------------------


# Files take their time to get there, so that a kill comes before they are: on a busy machine a
# test may look at them too late.
SLOW_DISK = """
import time
sync = os.fsync
os.fsync = lambda descriptor: (time.sleep(0.1), sync(descriptor))
"""


def kill(process: Process, command: list[str], run: Path, moment: str, wanted: int) -> int:
    """Start a run and kill it at some moment; its exit code is 0 if that came too late."""
    old_log, old_checkpoint = version(run / "log.jsonl"), unfinished(run)
    old_file = unfinished(run, "*")
    process.start(*command, before=SLOW_DISK if moment == "in a checkpoint" else "")
    if moment == "in a file":  # at the very beginning as a rule
        process.wait_until(lambda: unfinished(run, "*") - old_file)
    elif moment == "in a checkpoint":
        process.wait_until(lambda: unfinished(run) - old_checkpoint)
    else:
        process.wait_until(lambda: version(run / "log.jsonl") != old_log)
        process.wait_until(lambda: last_step(run) >= wanted)
    process.send(signal.SIGKILL)
    return process.wait()


def test_kills_at_twenty_random_moments_change_nothing_in_the_end(
    process, flags, undisturbed, tmp_path
):
    draw, moments = random.Random(7), ("in a file", "in a checkpoint", "any", "in a checkpoint")
    kills = inside = ended = 0
    while kills < 20 or inside < 5:
        assert kills < 60, f"only {inside} of {kills} kills came while a checkpoint was written"
        assert ended < 10, f"only {kills} kills came before the end"
        run = tmp_path / f"run-{ended}"
        command = [*flags, f"--steps={STEPS}", f"--out={run}", "--resume"]
        saved, old_checkpoint = last_saved(run), unfinished(run)
        wanted = saved + draw.randrange(2 * SAVE_EVERY)
        code = kill(process, command, run, moments[kills % 4], wanted)
        if code == 0:  # begin another run
            assert_same_end(run, undisturbed)
            ended += 1
            continue
        assert code == -signal.SIGKILL, process.text
        kills += 1
        inside += bool(unfinished(run) - old_checkpoint)  # begun, and not finished any more
        assert saved <= last_saved(run)
        assert 0 <= last_step(run) - last_saved(run) <= SAVE_EVERY
    run.joinpath("step-000003.safetensors.tmp").write_bytes(b"left by a kill")  # no step's any more
    assert process.run(*command) == 0, process.text
    assert_same_end(run, undisturbed)


# --- stopped ------------------------------------------------------------------------------------


# From outside it might come after the last step, on a busy machine.
SIGNAL_AT_STEP = """
from tfmlib import train
take_steps = train.train

def take_steps_and_signal(*args, **kwargs):
    for step in take_steps(*args, **kwargs):
        if step.number == {step}:
            os.kill(os.getpid(), {number:d})
        yield step

train.train = take_steps_and_signal
"""


@pytest.mark.parametrize(("number", "step"), [(signal.SIGINT, 7), (signal.SIGTERM, 157)])
def test_a_run_that_is_asked_to_stop_saves_its_last_step_and_goes_on_from_there(
    number, step, process, flags, undisturbed, tmp_path
):
    run = tmp_path / "run"
    command = [*flags, f"--steps={STEPS}", f"--out={run}", "--save-every=1000"]
    signalling = SIGNAL_AT_STEP.format(step=step, number=number)
    assert process.run(*command, before=signalling) == 128 + number, process.text
    assert last_step(run) == last_saved(run) == step
    assert f"Stopped by {number.name} after saving step {step}." in process.text
    assert f"train --resume --out {run}" in process.text
    assert process.run("train", "--resume", f"--out={run}") == 0, process.text
    assert_same_weights(run, undisturbed)
    assert end(run).best == end(undisturbed).best
    assert entries(run) == entries(undisturbed)


# A validation that a signal does not end would take longer than torchrun waits.
SIGNAL_IN_VALIDATION = """
import time
from tfmlib.runs import session
score, calls = session.score, []

def score_and_signal(model, *others):
    calls.append(1)
    if len(calls) == {call}:
        model.eval()
        os.kill(os.getpid(), {number:d})
        time.sleep(40)
        print("The validation went on.")
    return score(model, *others)

session.score = score_and_signal
"""


@pytest.mark.parametrize(("number", "step"), [(signal.SIGINT, 50), (signal.SIGTERM, STEPS)])
def test_a_signal_ends_a_validation_at_once_and_it_is_made_up_later(
    number, step, process, flags, undisturbed, tmp_path
):
    run = tmp_path / "run"
    signalling = SIGNAL_IN_VALIDATION.format(call=step // 50, number=number)
    command = [*flags, f"--steps={STEPS}", f"--out={run}"]
    assert process.run(*command, before=signalling) == 128 + number, process.text
    assert "The validation went on." not in process.text
    assert f"Stopped by {number.name} after saving step {step}." in process.text
    assert last_step(run) == last_saved(run) == step
    validated = [entry["step"] for entry in entries(run) if "validation" in entry]
    assert validated == list(range(50, step, 50))
    assert process.run("train", "--resume", f"--out={run}") == 0, process.text
    assert_same_end(run, undisturbed)


def test_a_loss_that_is_not_finite_stops_the_run_and_spoils_no_file(process, flags, tmp_path):
    """Weights of 1e36 are finite; their products are not."""
    run = tmp_path / "run"
    command = [*flags, "--peak=1e36", "--save-every=1", "--steps=9", f"--out={run}"]
    assert process.run(*command) == 1
    step = last_step(run)
    assert f"of step {step + 1} is" in process.text or f"in step {step + 1} is" in process.text
    assert str(run / f"step-{step:06d}.safetensors") in process.text
    assert "lower --peak" in process.text
    assert "Traceback" not in process.text
    assert last_saved(run) == step >= 1
    weights = checkpoint.load(run / f"step-{step:06d}.safetensors").weights
    assert all(tensor.isfinite().all() for tensor in weights.values())
    before = content(run)
    assert process.run(*command, "--resume") == 1  # and again, with nothing lost
    assert content(run) == before


# --- damaged ------------------------------------------------------------------------------------


def header_end(file: bytes) -> int:
    """A safetensors file begins with the length of its header."""
    return 8 + int.from_bytes(file[:8], "little")


def flipped(file: bytes, place: int) -> bytes:
    return file[:place] + bytes([file[place] ^ 1]) + file[place + 1 :]


DRAW = random.Random(5)
DAMAGE = {
    "empty": lambda file: b"",
    "cut in the length": lambda file: file[:5],
    "cut in the header": lambda file: file[: DRAW.randrange(9, header_end(file))],
    "cut in the numbers": lambda file: file[: DRAW.randrange(header_end(file), len(file))],
    "last byte gone": lambda file: file[:-1],
    "one byte more": lambda file: file + b"0",
    "length flipped": lambda file: flipped(file, DRAW.randrange(8)),
    "step flipped": lambda file: flipped(file, file.index(b"step") + len(b'step\\": ')),
    "metadata flipped": lambda file: flipped(
        file, DRAW.randrange(file.index(b"__metadata__"), file.index(b"}}"))
    ),
    "header flipped": lambda file: flipped(file, DRAW.randrange(8, header_end(file))),
    "number flipped": lambda file: flipped(file, DRAW.randrange(header_end(file), len(file))),
    "last byte flipped": lambda file: flipped(file, len(file) - 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_offered(damage, process, short_run):
    newest = short_run / "step-000040.safetensors"
    newest.write_bytes(DAMAGE[damage](newest.read_bytes()))
    before = content(short_run)
    command = ["train", "--resume", f"--steps={STEPS}", f"--out={short_run}"]
    assert process.run(*command) == 1
    assert process.text.startswith(f"{newest} is ")
    assert f"step-000035.safetensors is intact: delete {newest}" in process.text
    assert process.text.count("\n") == 1
    assert content(short_run) == before


def test_after_a_damaged_checkpoint_the_one_before_leads_to_the_same_end(
    process, short_run, undisturbed
):
    newest = short_run / "step-000040.safetensors"
    newest.write_bytes(DAMAGE["number flipped"](newest.read_bytes()))
    newest.unlink()  # as the message says
    assert process.run("train", "--resume", f"--steps={STEPS}", f"--out={short_run}") == 0
    assert [e["step"] for e in entries(short_run) if "loss" in e] == list(range(1, STEPS + 1))
    assert_same_weights(short_run, undisturbed)


class Malice:
    """Whoever unpickles it makes a folder."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("dump", [pickle.dump, torch.save], ids=["pickle", "torch.save"])
def test_a_pickle_that_calls_itself_a_checkpoint_is_refused_and_not_run(
    dump, process, short_run, tmp_path
):
    malice, marker = Malice(tmp_path / "marker"), tmp_path / "marker"
    for name in ("step-000045.safetensors", "best.safetensors"):
        with (short_run / name).open("wb") as file:
            dump(malice, file)
    assert process.run("train", "--resume", f"--steps={STEPS}", f"--out={short_run}") == 1
    assert "step-000045.safetensors is no checkpoint" in process.text
    assert process.run("translate", str(short_run), "three") == 1
    assert "best.safetensors is no checkpoint" in process.text
    assert not marker.exists()
    pickle.loads(pickle.dumps(malice))
    assert marker.exists()  # it could have happened


# --- out of room --------------------------------------------------------------------------------


def assert_nothing_lost(run: Path, before: dict[str, bytes], text: str) -> None:
    """The old checkpoints are there, no file is half written, and a sentence says how to go on."""
    after = content(run)
    names = {name for name in before if name.endswith(".safetensors")}
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    assert not any(name.endswith(".tmp") for name in after)
    assert "what was saved before is intact" in text
    hint = f"Resume with: {python_command()} -m tfmlib train --resume"
    assert f"step-000040.safetensors. {hint}" in text
    assert "Traceback" not in text


@pytest.mark.parametrize("stopped", ["checkpoint", "log"])
def test_a_file_that_may_not_grow_leaves_the_last_checkpoint_whole(
    stopped, process, short_run, undisturbed
):
    """The system itself refuses to write more than so many bytes, in the middle of the file."""
    before = content(short_run)
    largest = {"checkpoint": len(before["step-000040.safetensors"]) - 100}
    largest["log"] = len(before["log.jsonl"]) + 100
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, 2 * ({largest[stopped]},))"
    command = ["train", "--resume", f"--steps={STEPS}", f"--out={short_run}"]
    assert process.run(*command, before=limit) == 1
    assert "Could not write (File too large)" in process.text
    assert_nothing_lost(short_run, before, process.text)
    assert last_step(short_run) in {"checkpoint": [45], "log": range(40, 45)}[stopped]
    assert process.run(*command) == 0, process.text
    assert_same_weights(short_run, undisturbed)


FULL_DISK = """
mount -t tmpfs -o size="$1" none "$2" || exit 99
cp -R "$3"/. "$2"
OMP_NUM_THREADS=1 "$4" -m tfmlib train --resume --steps 200 --out "$2"
code=$?
cp -R "$2" "$5"
exit $code
"""


def test_a_full_disk_leaves_the_last_checkpoint_whole(short_run, tmp_path):
    """A file system of its own has room for the old files and half a new one."""
    before = content(short_run)
    room = sum(map(len, before.values())) + len(before["step-000040.safetensors"]) // 2
    disk, after = tmp_path / "disk", tmp_path / "after"
    disk.mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]
    command += [str(room), str(disk), str(short_run), sys.executable, str(after)]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError:
        pytest.skip("no unshare here; the limit on the size of a file is tested anyway")
    if ended.returncode == 99 or not after.exists():
        pytest.skip(f"no user namespaces here: {ended.stderr}")
    assert ended.returncode == 1
    assert "The disk is full" in ended.stderr
    assert_nothing_lost(after, before, ended.stderr)
    assert last_step(after) == 45
