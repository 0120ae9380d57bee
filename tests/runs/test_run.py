"""Runs: what a folder holds, what a flag may change, and a sentence for each thing that stops one.

What really kills a process is in test_resume.py; what several of them do in test_parallel.py.
"""

import doctest
import errno
import io
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path

import portalocker
import pytest
import torch

from tfmlib import checkpoint, data, train
from tfmlib.__main__ import main
from tfmlib.model import TransformerConfig
from tfmlib.runs import console as onlooker
from tfmlib.runs import folder as run
from tfmlib.runs import session
from tfmlib.runs.folder import Run, RunError, Settings
from tfmlib.runs.log import cut_back, read_log
from tfmlib.tokenizer import BPETokenizer

SECONDS = 120  # for a subprocess on a busy machine
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No trace of a torchrun that may have started these tests."""
    for name in list(os.environ):
        if name.startswith("TORCHELASTIC_") or name.endswith(("RANK", "WORLD_SIZE")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def flags(parallel_text) -> list[str]:
    """A run that takes a second."""
    sizes = ("d_model=12", "heads=3", "d_ff=17", "encoder_layers=1", "decoder_layers=1")
    return [
        *(
            "train",
            *parallel_text,
            "--vocab-size=271",
            "--validation=7",
            "--test=5",
            "--batch-size=11",
        ),
        *("--warmup=5", "--validate-every=4", "--save-every=3", "--device=cpu"),
        *("--precision=float32", *(f"--set={size}" for size in sizes)),
    ]


@pytest.fixture(scope="module")
def _finished(flags, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    assert main([*flags, "--steps=11", f"--out={folder}"]) == 0
    return folder


@pytest.fixture
def finished(_finished, tmp_path) -> Path:
    """A copy of a run of 11 steps."""
    return Path(shutil.copytree(_finished, tmp_path / "run"))


def entries(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def resume(folder: Path, *more: str) -> int:
    return main(["train", "--resume", "--device=cpu", f"--out={folder}", *more])


# --- what a run leaves behind -------------------------------------------------------------------


def test_a_run_leaves_two_checkpoints_the_best_weights_a_log_and_its_settings(finished):
    assert sorted(content(finished)) == [
        *(".lock", "best.safetensors", "log.jsonl", "run.json"),
        *("step-000009.safetensors", "step-000011.safetensors", "tokenizer.json"),
    ]
    about = json.loads((finished / "run.json").read_text())
    assert about["settings"]["batch_size"] == 11
    assert about["settings"]["changes"]["d_ff"] == about["config"]["d_ff"] == 17
    assert checkpoint.load(finished / "step-000011.safetensors").settings == about["settings"]


def test_the_log_has_each_step_once_the_validations_and_the_test(finished):
    log = entries(finished)
    steps = [entry for entry in log if "loss" in entry]
    assert [entry["step"] for entry in steps] == list(range(1, 12))
    assert steps[4]["rate"] == pytest.approx(1e-3)  # the warm-up ends with step 5
    assert all(entry["tokens"] > 11 and entry["seconds"] >= 0 for entry in steps)
    assert [entry["step"] for entry in log if "validation" in entry] == [4, 8, 11]
    assert [entry["step"] for entry in log if "test" in entry] == [11]


def test_scores_are_exact_matches_and_bleu(monkeypatch):
    tokenizer = data.number_task(below=100, train=10, validation=1, test=1).tokenizer
    pairs = [("a", "Zwei hundert"), ("b", "ein und vierzig tausend zwei")]
    monkeypatch.setattr(train, "translate", lambda *_: ["zwei hundert", "ein und vierzig tausend"])
    scores = session.score(None, tokenizer, pairs)
    assert scores["exact_match"] == 0.5
    # What is written is right, but one word of seven is missing: BLEU's penalty for short texts.
    assert scores["bleu"] == pytest.approx(100 * math.exp(1 - 7 / 6))


def test_the_best_weights_are_those_of_the_best_validation_and_they_are_tested(
    flags, tmp_path, monkeypatch, capsys
):
    # In the order of steps 4, 8, 11, and the test.
    scores = iter([(0.2, 50.0), (0.4, 10.0), (0.4, 9.0), (0.3, 77.7)])
    tested = []

    def score(model, *_):
        tested.append(model.embedding.weight.detach().clone())
        return dict(zip(("exact_match", "bleu"), next(scores), strict=True))

    monkeypatch.setattr(session, "score", score)
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 0
    best = checkpoint.load(tmp_path / "run/best.safetensors")
    assert (best.step, best.best["exact_match"], best.best["bleu"]) == (8, 0.4, 10.0)
    assert torch.equal(best.weights["embedding.weight"], tested[1])
    assert torch.equal(tested[3], tested[1])
    assert not torch.equal(tested[2], tested[1])
    assert not best.moments
    assert entries(tmp_path / "run")[-1]["test"] == {
        "exact_match": 0.3,
        "bleu": 77.7,
        "best_step": 8,
    }
    assert "test of 5 unseen sentences, 30.0 % exact, BLEU 77.7" in capsys.readouterr().out


def test_where_hardly_a_sentence_is_exact_bleu_decides(flags, tmp_path, monkeypatch):
    scores = iter([(0.0, 3.0), (0.0, 5.0), (0.0, 4.0), (0.0, 0.0)])
    names = ("exact_match", "bleu")
    monkeypatch.setattr(session, "score", lambda *_: dict(zip(names, next(scores), strict=True)))
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 0
    assert checkpoint.load(tmp_path / "run/best.safetensors").step == 8


def test_a_misspelt_flag_is_told_with_the_flags_of_the_command(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train", "--stpes", "5", "--out", str(tmp_path / "run")])
    told = capsys.readouterr().err
    assert told.startswith("usage: python -m tfmlib train")
    assert told.endswith("error: unrecognized arguments: --stpes 5\n")


def test_without_a_terminal_progress_is_plain_lines(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(onlooker, "SECONDS_BETWEEN_LINES", 0.0)
    assert main([*flags, "--steps=2", f"--out={tmp_path / 'run'}"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "\r" not in "".join(lines)
    assert lines[0].startswith("step 1 of 2: loss ")
    assert lines[0].endswith(" left")
    assert " tokens/s, " in lines[1]
    assert lines[2].startswith("step 2: validation ")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal], ids=["pipe", "terminal"])
def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(
    flags, tmp_path, monkeypatch, capsys, kind
):
    class Closed(kind):
        def write(self, text):
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(onlooker, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", Closed())
    assert main([*flags, "--steps=5", "--resume", f"--out={tmp_path / 'run'}"]) == 0
    assert "test of 5 unseen sentences" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stderr", None)  # closed before it began
    assert main([*flags, "--steps=6", "--resume", f"--out={tmp_path / 'run'}"]) == 0
    assert [e["step"] for e in entries(tmp_path / "run") if "loss" in e] == [1, 2, 3, 4, 5, 6]


def test_a_terminal_gets_a_bar_with_loss_speed_and_time_left(flags, tmp_path, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main([*flags, "--steps=5", f"--out={tmp_path / 'run'}"]) == 0
    last = terminal.getvalue().split("\r")[-1]
    assert re.search(r"100%.*5/5 \[\d\d:\d\d<\d\d:\d\d, .*loss \d\.\d{3}, [\d,]+ tokens/s\]", last)


# --- resuming -----------------------------------------------------------------------------------


def test_a_run_in_two_parts_ends_like_one_in_one(finished, flags, tmp_path):
    other = tmp_path / "other"
    assert main([*flags, "--steps=8", f"--out={other}"]) == 0
    assert resume(other, "--steps=11") == 0
    for name in ("step-000009.safetensors", "step-000011.safetensors"):
        assert (other / name).read_bytes() == (finished / name).read_bytes()
    best, same = (checkpoint.load(folder / "best.safetensors") for folder in (finished, other))
    assert best.best == same.best
    assert all(torch.equal(best.weights[name], same.weights[name]) for name in best.weights)
    times = [[{**e, "seconds": 0} for e in entries(folder)] for folder in (finished, other)]
    assert times[0] == times[1]


def test_resuming_what_has_ended_tests_it_again_and_changes_nothing(finished, capsys):
    before = content(finished)
    assert resume(finished) == 0
    assert content(finished) == before
    assert "test of 5 unseen sentences" in capsys.readouterr().out


def test_resuming_where_nothing_was_saved_begins_at_the_first_step(finished, flags, tmp_path):
    other = Path(shutil.copytree(finished, tmp_path / "other"))
    for path in other.glob("*.safetensors"):
        path.unlink()
    assert resume(other) == 0
    name = "step-000011.safetensors"
    assert (other / name).read_bytes() == (finished / name).read_bytes()
    assert [e["step"] for e in entries(other) if "loss" in e] == list(range(1, 12))


def test_resume_may_be_said_before_there_is_a_run(finished, flags, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "tokenizer.json").write_text("{")  # the process was killed while it wrote this
    (other / "run.json.tmp").write_text("{")
    assert main([*flags, "--steps=11", f"--out={other}", "--resume"]) == 0
    assert content(other).keys() == content(finished).keys()
    assert content(other)["tokenizer.json"] == content(finished)["tokenizer.json"]


def test_what_a_killed_process_had_begun_to_write_is_removed(finished):
    (finished / "step-000012.safetensors.tmp").write_bytes(b"half")
    (finished / "notes.tmp").write_bytes(b"not ours")
    assert resume(finished) == 0
    assert not (finished / "step-000012.safetensors.tmp").exists()
    assert (finished / "notes.tmp").exists()


def test_torchruns_restart_resumes_what_the_same_torchrun_began(
    flags, tmp_path, monkeypatch, capsys
):
    command = [*flags, "--steps=3", f"--out={tmp_path / 'run'}"]
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    assert main(command) == 0
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main([*command, "--steps=5"]) == 0
    assert [e["step"] for e in entries(tmp_path / "run") if "loss" in e] == [1, 2, 3, 4, 5]
    assert "run goes on after step 3 of 5." in capsys.readouterr().err
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "11")
    assert "holds a run already; add" in refused(capsys, tmp_path / "run", *flags)


def test_a_torchrun_that_calls_its_job_none_is_known_by_its_process(
    flags, tmp_path, monkeypatch, capsys
):
    """As every torchrun does that is given no id; each of its processes has it as a parent."""
    command = [*flags, "--steps=3", f"--out={tmp_path / 'run'}"]
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setattr(os, "getppid", lambda: 7)
    assert main(command) == 0
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main([*command, "--steps=5"]) == 0
    assert [e["step"] for e in entries(tmp_path / "run") if "loss" in e] == [1, 2, 3, 4, 5]
    capsys.readouterr()
    monkeypatch.setattr(os, "getppid", lambda: 11)
    assert "holds a run already; add" in refused(capsys, tmp_path / "run", *flags)
    monkeypatch.setattr(os, "getppid", lambda: 7)
    monkeypatch.setattr(run.socket, "gethostname", lambda: "another machine")
    assert "holds a run already; add" in refused(capsys, tmp_path / "run", *flags)


def test_who_resumes_is_told_where_the_run_stands(finished, flags, tmp_path, capsys):
    assert resume(finished) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"{finished} has taken its 11 steps; for more, ask for more --steps."
    assert resume(finished, "--steps=12") == 0
    assert capsys.readouterr().err.splitlines()[0] == f"{finished} goes on after step 11 of 12."
    assert main([*flags, "--steps=1", f"--out={tmp_path / 'new'}", "--resume"]) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"{tmp_path / 'new'} holds no run to resume: a new one begins."


def test_what_the_run_began_with_may_be_said_again(finished):
    assert resume(finished, "--set=d_ff=17", "--set=heads=3", "--seed=0", "--preset=tiny") == 0


def test_steps_can_be_raised_and_text_can_move(finished, parallel_text, tmp_path):
    for place in (1, 3):
        shutil.copy(parallel_text[place], tmp_path)
    moved = [f"--source={tmp_path / 'source'}", f"--target={tmp_path / 'target'}"]
    assert resume(finished, "--steps=12", "--validate-every=100", *moved) == 0
    about = json.loads((finished / "run.json").read_text())
    assert about["settings"]["steps"] == 12
    assert about["settings"]["source"] == str(tmp_path / "source")
    assert (finished / "step-000012.safetensors").exists()


# --- what is refused, in a sentence and without a trace of it -----------------------------------


def refused(capsys, folder: Path, *arguments: str) -> str:
    """The one line with which a command is refused, if it has changed nothing."""
    before = content(folder) if folder.is_dir() else None
    assert main([*arguments, f"--out={folder}"]) == 1
    assert (content(folder) if folder.is_dir() else None) == before
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_folder_with_a_run_is_refused_without_resume(finished, flags, capsys):
    assert "holds a run already; add --resume" in refused(capsys, finished, *flags)


def test_a_folder_in_which_another_process_trains_is_refused(finished, capsys):
    before = (finished / "log.jsonl").read_bytes()
    with Run(finished).hold():
        assert resume(finished, "--steps=12") == 1
        assert f"another process is training in {finished}; end it" in capsys.readouterr().err
        assert (finished / "log.jsonl").read_bytes() == before
    assert resume(finished, "--steps=12") == 0


def test_a_run_that_another_process_took_on_before_the_lock_is_left_alone(
    finished, monkeypatch, capsys
):
    """It ended between our look at the folder and our lock: what we loaded is not the last."""
    real = Run.hold

    def hold(run):
        (run.folder / "step-000011.safetensors").rename(run.folder / "step-000013.safetensors")
        return real(run)

    monkeypatch.setattr(Run, "hold", hold)
    log = (finished / "log.jsonl").read_bytes()
    assert resume(finished, "--steps=12") == 1
    assert f"another process has trained in {finished} just now" in capsys.readouterr().err
    assert (finished / "log.jsonl").read_bytes() == log


def test_a_run_that_another_process_began_before_the_lock_is_left_alone(
    flags, finished, tmp_path, monkeypatch, capsys
):
    real = Run.hold

    def hold(run):
        shutil.copy(finished / "run.json", run.folder)
        return real(run)

    monkeypatch.setattr(Run, "hold", hold)
    assert main([*flags, f"--out={tmp_path / 'new'}"]) == 1
    assert "just now; resume it again, or choose another" in capsys.readouterr().err
    assert (tmp_path / "new/run.json").read_bytes() == (finished / "run.json").read_bytes()


def test_a_folder_that_cannot_be_locked_is_not_called_busy(finished, monkeypatch, capsys):
    def lock(file, flags):
        raise portalocker.LockException("x", "[Errno 37] No locks available", fh=file)

    monkeypatch.setattr(portalocker, "lock", lock)
    assert resume(finished, "--steps=12") == 1
    told = capsys.readouterr().err
    assert told == (
        f"{finished / '.lock'}: its file system cannot lock it ([Errno 37] No locks available); "
        "choose a folder elsewhere.\n"
    )


def test_a_folder_with_other_files_and_a_file_are_refused(flags, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("The work of years.")
    assert "such as thesis.txt; choose a new" in refused(capsys, tmp_path, *flags)
    assert "is a file" in refused(capsys, tmp_path / "thesis.txt", *flags)


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--smoothing=0.5", "--smoothing 0.5 contradicts the run, which began with 0.1"),
        ("--seed=1", "--seed 1 contradicts the run, which began with 0"),
        ("--set=d_ff=18", "--set d_ff=18 contradicts the run, which began with d_model=12 heads"),
        ("--task=en-fr", "--task contradicts the run, which began with --source and --target"),
        ("--precision=bfloat16", "--precision bfloat16 contradicts the run"),
        ("--steps=10", "has 11 steps behind it, more than --steps 10"),
        ("--steps=0", "expected at least 1 for --steps, got 0"),
    ],
)
def test_a_flag_that_contradicts_the_run_is_refused(finished, capsys, flag, sentence):
    assert sentence in refused(capsys, finished, "train", "--resume", flag)


def test_only_what_does_not_spoil_a_run_may_change():
    for name in ("steps", "validate_every", "save_every", "batch_size", "warmup", "peak", "clip"):
        assert getattr(Settings().with_flags({name: 7}), name) == 7
    text = Settings(task=None, source="old", target="old too")
    assert text.with_flags({"source": "new"}).source == "new"
    other = {"task": "en-fr", "preset": "big", "precision": "bfloat16", "changes": {"d_ff": 3}}
    settings = Settings(precision="float32")
    for field in fields(Settings):
        value = other.get(field.name) or 0.25
        if field.name not in run.MAY_CHANGE:
            with pytest.raises(ValueError, match="contradicts the run"):
                settings.with_flags({field.name: value})
    assert settings.with_flags({"precision": "auto", "seed": 0}) == settings


def test_text_that_has_changed_is_refused(finished, parallel_text, tmp_path, capsys):
    other = tmp_path / "en"
    other.write_text(Path(parallel_text[1]).read_text().replace("seven", "eleven", 1))
    sentence = refused(capsys, finished, "train", "--resume", f"--source={other}")
    assert "the sentences are not those" in sentence


def number_run(tmp_path) -> tuple[Path, list[str]]:
    """A run of numbers, and the command that began it."""
    sizes = ("d_model=4", "heads=2", "d_ff=3", "encoder_layers=1", "decoder_layers=1")
    command = ["train", "--task=en-de", "--device=cpu", "--steps=1", "--batch-size=2"]
    command += ["--validation=1", "--test=1", *(f"--set={size}" for size in sizes)]
    assert main([*command, f"--out={tmp_path / 'numbers'}"]) == 0
    return tmp_path / "numbers", command


def test_numbers_that_have_changed_and_text_for_them_are_refused(
    parallel_text, tmp_path, capsys, monkeypatch
):
    folder, _ = number_run(tmp_path)
    capsys.readouterr()
    sentence = refused(capsys, folder, "train", "--resume", *parallel_text)
    assert sentence.startswith("--source contradicts the run, which began with --task en-de; leave")
    real = data.number_words
    monkeypatch.setattr(data, "number_words", lambda *a: real(*a).replace("seven", "sefen"))
    sentence = refused(capsys, folder, "train", "--resume")
    assert "num2words may be of another version: install the one from then, or" in sentence


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs the files of a shell's <(…)")
def test_text_may_come_from_a_pipe(flags, parallel_text, tmp_path):
    source, target = Path(parallel_text[1]).read_bytes(), parallel_text[3]
    reader, writer = os.pipe()
    assert os.write(writer, source) == len(source)
    os.close(writer)
    arguments = [f"--source=/dev/fd/{reader}", f"--target={target}", "--steps=1"]
    assert main([*flags, *arguments, f"--out={tmp_path / 'run'}"]) == 0
    os.close(reader)
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert about["settings"]["source"] == f"/dev/fd/{reader}"


def test_a_damaged_checkpoint_is_refused_and_the_one_before_offered(finished, capsys):
    newest, before = finished / "step-000011.safetensors", finished / "step-000009.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    sentence = refused(capsys, finished, "train", "--resume")
    assert f"{newest} is cut short" in sentence
    assert f"{before.name} is whole: delete {newest} and resume" in sentence
    newest.unlink()  # as it says
    assert resume(finished) == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 12))


def test_when_all_checkpoints_are_damaged_none_is_offered(finished, capsys):
    paths = [finished / f"step-{step:06d}.safetensors" for step in (11, 9)]
    for path in paths:
        path.write_bytes(b"")
    sentence = refused(capsys, finished, "train", "--resume")
    assert "No other checkpoint is whole" in sentence
    assert f"delete {paths[0]} and {paths[1]} and resume to begin at step 1." in sentence
    for path in paths:  # as it says
        path.unlink()
    assert resume(finished) == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 12))


@pytest.mark.parametrize(("steps", "best_step"), [(11, 11), (13, 13)])  # with a lower loss than 12
@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_best_weights_that_are_lost_are_told_and_the_next_validation_writes_others(
    finished, capsys, harm, steps, best_step
):
    best = finished / "best.safetensors"
    harm(best)
    assert resume(finished, f"--steps={steps}") == 0
    line = capsys.readouterr().err.splitlines()[0]
    assert line.startswith(f"{best} is no ")
    assert line.endswith(". The next validation writes it again.")
    found = checkpoint.load(best)
    assert found.step == found.best["step"] == best_step
    newest = checkpoint.load(finished / f"step-{steps:06d}.safetensors")
    assert newest.best == found.best
    validated = [e["step"] for e in entries(finished) if "validation" in e]
    assert validated == [4, 8, 11, *([12, 13] if steps == 13 else [])]
    assert entries(finished)[-1]["test"]["best_step"] == best_step
    before = content(finished)
    assert resume(finished) == 0  # and now there is nothing to tell
    assert content(finished) == before
    assert "best.safetensors" not in capsys.readouterr().err


BEST_OF_ALL = {"step": 9, "exact_match": 1.0, "bleu": 100.0, "loss": 0.0}


@pytest.mark.parametrize(
    ("changes", "best_step"),
    [
        ({}, 9),  # written after the checkpoint that the run goes on from
        ({"settings": {"seed": 3}}, 11),  # by another run
        ({"config": TransformerConfig(vocab_size=7)}, 11),
    ],
)
def test_better_weights_of_the_run_are_kept_and_those_of_another_give_way(
    finished, changes, best_step
):
    (finished / "step-000011.safetensors").unlink()
    best = checkpoint.load(finished / "best.safetensors")
    found = replace(best, step=9, best=BEST_OF_ALL, **changes)
    checkpoint.save(finished / "best.safetensors", found)
    assert resume(finished) == 0
    assert checkpoint.load(finished / "best.safetensors").step == best_step
    assert checkpoint.load(finished / "step-000011.safetensors").best["step"] == best_step


def test_as_long_as_nothing_comes_out_right_the_loss_decides(flags, tmp_path, monkeypatch):
    losses = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(session, "score", lambda *_: {"exact_match": 0.0, "bleu": 0.0})
    monkeypatch.setattr(train, "mean_loss", lambda *_: next(losses))
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 0
    assert checkpoint.load(tmp_path / "run/best.safetensors").step == 8


def test_a_checkpoint_that_contradicts_run_json_is_named_with_the_difference(finished, capsys):
    path = finished / "run.json"
    path.write_text(path.read_text().replace('"d_ff": 17', '"d_ff": 18'))
    about = json.loads(path.read_text())
    about["settings"]["changes"]["d_ff"] = 17
    path.write_text(json.dumps(about))
    assert refused(capsys, finished, "train", "--resume") == (
        f"{finished / 'step-000011.safetensors'} does not go with run.json: the checkpoint is of "
        "another model: d_ff is 17, expected 18. Move it elsewhere, or bring the right run.json "
        "back."
    )


def test_a_run_that_has_lost_its_run_json_is_not_taken_for_none(finished, capsys):
    (finished / "run.json").unlink()
    sentence = f"{finished} has checkpoints but no run.json. {run.BRING_BACK}"
    assert refused(capsys, finished, "train", "--resume") == sentence
    assert main(["translate", str(finished), "seven"]) == 1
    assert capsys.readouterr().err == f"{sentence}\n"


def test_a_batch_is_not_halved_from_more_than_there_are_sentences(
    flags, tmp_path, monkeypatch, capsys
):
    at_step(monkeypatch, 2, fail(MemoryError()))
    assert main([*flags, "--batch-size=9999", "--steps=3", f"--out={tmp_path / 'run'}"]) == 1
    message = capsys.readouterr().err
    assert "lower --batch-size, now 37," in message
    assert "--batch-size 18" in message


def test_a_checkpoint_of_another_run_is_refused(finished, flags, tmp_path, capsys):
    assert main([*flags, "--set=d_ff=18", "--steps=1", f"--out={tmp_path / 'other'}"]) == 0
    capsys.readouterr()
    shutil.copy(tmp_path / "other/step-000001.safetensors", finished / "step-000099.safetensors")
    (finished / "step-000009.safetensors").unlink()
    sentence = refused(capsys, finished, "train", "--resume", "--steps=100")
    assert sentence.startswith(f"{finished / 'step-000099.safetensors'} belongs to another run: ")
    assert "d_ff=18" in sentence


def test_a_checkpoint_that_was_made_with_other_settings_is_refused(
    finished, flags, tmp_path, capsys
):
    assert main([*flags, "--seed=3", "--steps=12", f"--out={tmp_path / 'other'}"]) == 0
    capsys.readouterr()
    strange = finished / "step-000012.safetensors"
    shutil.copy(tmp_path / "other/step-000012.safetensors", strange)
    sentence = refused(capsys, finished, "train", "--resume", "--steps=12")
    assert sentence == (
        f"{strange} belongs to another run: it was made with --seed 3, expected 0; "
        "move it elsewhere."
    )


def test_the_vocabulary_of_another_run_is_refused(finished, capsys):
    path = finished / "tokenizer.json"
    BPETokenizer.train(["sieben und achtzig"] * 3, 271).save(path)
    sentence = refused(capsys, finished, "train", "--resume", "--steps=12")
    assert sentence.startswith(f"{path} is not the vocabulary that the run began with")


def test_files_with_names_of_a_persons_own_are_no_checkpoints(finished):
    mine = finished / "step-000030-backup.safetensors"
    shutil.copy(finished / "step-000011.safetensors", mine)
    (finished / "step-.safetensors").touch()
    names = [path.name for path in Run(finished).checkpoints()]
    assert names == ["step-000009.safetensors", "step-000011.safetensors"]
    before = mine.read_bytes()
    assert resume(finished, "--steps=13") == 0
    assert mine.read_bytes() == before


def test_the_newest_checkpoint_is_that_of_the_last_step_however_many_digits_it_has(tmp_path):
    for step in (1_000_000, 999_999, 7):
        Run(tmp_path).checkpoint(step).touch()
    assert [run.step_in_name(p) for p in Run(tmp_path).checkpoints()] == [7, 999_999, 1_000_000]


def test_a_checkpoint_with_the_name_of_another_step_is_refused_as_that(finished, capsys):
    renamed = finished / "step-000013.safetensors"
    (finished / "step-000011.safetensors").rename(renamed)
    sentence = refused(capsys, finished, "train", "--resume", "--steps=20")
    assert sentence.startswith(f"{renamed} holds step 11, which contradicts its name; give it")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--source=nowhere"], "expected both --source and --target, got one"),
        (["--source=nowhere", "--target=nowhere"], "nowhere: No such file or directory."),
        (["--source=x", "--target=y", "--task=en-de"], "expected either --task, or --source"),
        (["--task=en-it"], "expected a language of en, de, fr, got 'it'"),
        (["--batch-size=0"], "expected at least 1 for --batch-size, got 0"),
        (["--peak=nan"], "expected a finite number above 0 for --peak, got nan"),
        (["--clip=-1"], "expected a finite number above 0 for --clip, got -1.0"),
        (["--smoothing=1"], "expected at least 0 and below 1 for --smoothing, got 1.0"),
        (["--seed=-1"], "expected at least 0 and below 2**63 for --seed, got -1"),
        ([f"--seed={2**63}"], f"below 2**63 for --seed, got {2**63}"),
        (["--precision=int8"], "expected one of auto, float32, bfloat16 for --precision"),
        ([f"--warmup=1{'0' * 400}"], "expected a number below 2**63 for --warmup, got 1000"),
        (["--validation=2000000"], "+ 1,000 for training, validation and test; ask for fewer."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_setting_that_cannot_be_is_refused(tmp_path, capsys, arguments, sentence):
    assert sentence in refused(capsys, tmp_path / "run", "train", *arguments)


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--set=legs=2", "--set legs: expected one of d_ff, d_model"),
        ("--set=vocab_size=300", "--set vocab_size: expected one of d_ff, d_model"),
        ("--set=d_model=13", "d_model must be even"),
        ("--preset=small", "preset must be one of tiny, base, big, got 'small'"),
        ("--validation=45", "than the 49 that differ in"),
        ("--vocab-size=20", "expected a vocab_size from 259"),
        ("--set=dropout=null", "dropout must be a number, got None of type NoneType."),
        ('--set=norm_first="no"', "norm_first must be True or False, got 'no' of type str."),
        ("--set=d_ff=true", "d_ff must be an integer, got True of type bool."),
        (f"--set=d_ff={2**62}", "There is not enough memory for the model: make it smaller"),
        (f"--set=d_model={12 * 10**20}", "There is not enough memory for the model: make it"),
        (f"--set=encoder_layers={10**18}", "There is not enough memory for the model: make it"),
    ],
)
def test_a_size_that_cannot_be_is_refused(flags, tmp_path, capsys, flag, sentence):
    assert sentence in refused(capsys, tmp_path / "run", *flags, flag)


def test_a_run_json_that_was_harmed_is_refused(finished, capsys):
    path = finished / "run.json"
    about = json.loads(path.read_text())
    impossible = about["settings"] | {"steps": 0}
    for change in ({"format": "x"}, {"settings": impossible}, {"settings": {"legs": 2}}):
        path.write_text(json.dumps(about | change))
        assert f"{path} cannot be read: " in refused(capsys, finished, "train", "--resume")
    for wrong, sentence in (
        ({"task": 5}, "expected a text for --task, got 5."),
        ({"batch_size": 16.5}, "expected a whole number for --batch-size, got 16.5."),
        ({"steps": True}, "expected a whole number for --steps, got True."),
        ({"peak": "high"}, "expected a number for --peak, got high."),
        ({"preset": None}, "expected a text for --preset, got None."),
        ({"changes": [3]}, "expected names with their values for --set, got [3]."),
    ):
        path.write_text(json.dumps(about | {"settings": about["settings"] | wrong}))
        told = refused(capsys, finished, "train", "--resume")
        assert told == f"{path} cannot be read: {sentence} {run.BRING_BACK}"
    for name in ("format", "settings", "config", "data"):
        path.write_text(json.dumps({key: about[key] for key in about if key != name}))
        told = refused(capsys, finished, "train", "--resume")
        sentence = f"expected {name!r} in it, got none."
        assert told == f"{path} cannot be read: {sentence} {run.BRING_BACK}"
        path.write_text(json.dumps(about | {name: 5}))
        assert f"as {name!r}, got 5." in refused(capsys, finished, "train", "--resume")
    for harmed in ("{", "[]", "{}"):
        path.write_text(harmed)
        assert f"{path} cannot be read: " in refused(capsys, finished, "train", "--resume")
    path.write_text(json.dumps(about))
    (finished / "tokenizer.json").write_text("{}")
    told = refused(capsys, finished, "train", "--resume")
    assert told.startswith(f"{finished / 'tokenizer.json'}, the vocabulary of the run, cannot be ")
    assert told.endswith(run.BRING_BACK)


# --- what stops a run ---------------------------------------------------------------------------


def at_step(monkeypatch, number: int, happen) -> None:
    """Let something happen when the loop has taken a step, before anyone hears of it."""
    real = train.train

    def wrapped(*args, **kwargs):
        for step in real(*args, **kwargs):
            if step.number == number:
                happen()
            yield step

    monkeypatch.setattr(train, "train", wrapped)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_is_answered_after_the_step_and_nothing_is_lost(
    flags, finished, tmp_path, monkeypatch, capfd, name
):
    other, number = tmp_path / "other", getattr(signal, name)
    handler = signal.getsignal(number)

    def press_twice():
        signal.raise_signal(number)
        signal.raise_signal(number)

    with monkeypatch.context() as patch:
        at_step(patch, 7, press_twice)
        assert main([*flags, "--steps=11", f"--out={other}"]) == 128 + number
    *lines, message = capfd.readouterr().err.splitlines()
    assert lines.count("Stopping when this step is done and saved.") == 1
    assert message == (
        f"Stopped by {name} after step 7, and saved. The last checkpoint is "
        f"{other / 'step-000007.safetensors'}. Go on with: "
        f"{run.python()} -m tfmlib train --resume --out {shlex.quote(str(other))} --device cpu"
    )
    assert signal.getsignal(number) is handler
    assert resume(other) == 0
    name = "step-000011.safetensors"
    assert (other / name).read_bytes() == (finished / name).read_bytes()


def test_a_signal_before_a_validation_leaves_that_for_later(
    flags, finished, tmp_path, monkeypatch, capsys
):
    other = tmp_path / "other"
    with monkeypatch.context() as patch:
        at_step(patch, 8, lambda: signal.raise_signal(signal.SIGINT))
        assert main([*flags, "--steps=11", f"--out={other}"]) == 130
    assert entries(other)[-1]["step"] == 8
    assert [e["step"] for e in entries(other) if "validation" in e] == [4]
    assert resume(other) == 0
    log = [[{**e, "seconds": 0} for e in entries(folder)] for folder in (finished, other)]
    assert log[0] == log[1]


def test_a_signal_in_a_validation_that_is_made_up_leaves_it_for_later_once_more(
    flags, tmp_path, monkeypatch
):
    other, real = tmp_path / "other", session.score
    interrupt = lambda: signal.raise_signal(signal.SIGINT)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(session, "score", lambda *arguments: (interrupt(), real(*arguments))[1])
        assert main([*flags, "--steps=11", f"--out={other}"]) == 130
        assert resume(other) == 130
    assert [(e["step"], "loss" in e) for e in entries(other)] == [(n, True) for n in range(1, 5)]
    assert resume(other) == 0
    assert [e["step"] for e in entries(other) if "validation" in e] == [4, 8, 11]


def test_a_signal_while_an_error_is_told_raises_nothing(flags, tmp_path, monkeypatch, capsys):
    """Of a validation that has failed, though `scoring` still names it for the message."""

    def sentence(*arguments):
        signal.raise_signal(signal.SIGTERM)
        return real(*arguments)

    real = session._sentence
    monkeypatch.setattr(session, "_sentence", sentence)
    monkeypatch.setattr(session, "score", fail(MemoryError()))
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 1
    assert "not enough memory for the validation" in capsys.readouterr().err


def test_under_torchrun_the_way_on_is_torchruns(tmp_path, monkeypatch):
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "run.json").touch()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    told = Run(folder).how_to_resume()
    launch = f"{run.torchrun()} --standalone --nproc-per-node 3 -m tfmlib train --resume"
    assert told.startswith(f"There is no checkpoint yet. Go on with: {launch} --out '")
    assert told.endswith("my run'")  # quoted for the shell
    monkeypatch.setenv("GROUP_WORLD_SIZE", "2")
    assert Run(folder).how_to_resume().endswith("Go on with the same commands and --resume.")


def test_the_way_on_names_the_python_that_runs_us_unless_a_shell_finds_it(monkeypatch):
    """Outside of its environment, another one without tfmlib might be found, or none."""
    found = {"python": "/usr/bin/python", "torchrun": "/usr/bin/torchrun"}
    monkeypatch.setattr(run.shutil, "which", found.get)
    monkeypatch.setattr(sys, "executable", "/my book/.venv/bin/python")
    assert run.python() == "'/my book/.venv/bin/python'"
    assert run.torchrun() == "'/my book/.venv/bin/python' -m torch.distributed.run"
    found["python"] = sys.executable
    assert run.python() == "python"
    assert run.torchrun() == "python -m torch.distributed.run"
    found["torchrun"] = "/my book/.venv/bin/torchrun"
    assert run.torchrun() == "torchrun"
    found.clear()
    assert run.python() == "'/my book/.venv/bin/python'"


def test_the_way_on_repeats_what_no_file_keeps(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch, "compile", lambda model: model)
    at_step(monkeypatch, 2, fail(OSError(errno.EIO, "Input/output error")))
    folder = tmp_path / "run"
    assert main([*flags, "--compile", f"--out={folder}"]) == 1
    assert capsys.readouterr().err.endswith(f"--resume --out {folder} --device cpu --compile\n")


def test_before_its_flags_are_in_a_file_a_command_is_to_be_given_again(
    finished, monkeypatch, capsys
):
    monkeypatch.setattr(session, "cut_back", fail(KeyboardInterrupt()))
    assert resume(finished, "--steps=12") == 130
    assert capsys.readouterr().err == "Interrupted. Give the same command again.\n"
    monkeypatch.setattr(session, "cut_back", fail(MemoryError()))
    assert resume(finished, "--steps=12") == 1
    assert capsys.readouterr().err.endswith("Give the same command again, with --batch-size 5.\n")


def test_who_interrupts_before_the_run_has_begun_is_not_told_to_resume_it(
    flags, tmp_path, monkeypatch, capsys
):
    """Its settings are nowhere: resumed, another run would begin."""
    monkeypatch.setattr(session, "Transformer", fail(KeyboardInterrupt()))
    assert main([*flags, f"--out={tmp_path / 'run'}"]) == 130
    assert capsys.readouterr().err == (
        "Interrupted. The run had not begun: give the same command again.\n"
    )
    assert not (tmp_path / "run").exists()


def test_an_interrupt_while_torch_is_imported_is_quiet(flags, tmp_path, monkeypatch, capsys):
    class Interrupted:
        def find_spec(self, name, *_):
            if name == "tfmlib.runs.session":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "tfmlib.runs.session")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert main([*flags, f"--out={tmp_path / 'run'}"]) == 130
    assert capsys.readouterr() == ("", "")


def fail(error: BaseException):
    def raise_it(*_):
        raise error

    return raise_it


@pytest.mark.parametrize(
    ("error", "sentences"),
    [
        (
            FloatingPointError("the loss of step 8 is nan, expected a finite number."),
            ["the loss of step 8 is nan", "step-000006", "lower --peak", "--resume --peak 0.0005"],
        ),
        (MemoryError(), ["memory for step 8", "lower --batch-size, now 11"]),
        (torch.OutOfMemoryError("CUDA out of memory."), ["memory for step 8", "--batch-size"]),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried"),
            ["memory for step 8", "step-000006", "--resume --batch-size 5"],
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            ["The disk is full; what was saved before is whole", "step-000006", "--resume"],
        ),
        (OSError(errno.EIO, "Input/output error"), ["Could not write (Input/output error)"]),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), ["memory for step 8"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_is_told_with_the_way_on(
    flags, tmp_path, monkeypatch, capsys, error, sentences
):
    at_step(monkeypatch, 8, fail(error))
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    for sentence in sentences:
        assert sentence in message
    assert checkpoint.load(tmp_path / "run/step-000006.safetensors").step == 6
    assert entries(tmp_path / "run")[-1]["step"] == 7


@pytest.mark.parametrize(
    ("error", "flag"),
    [
        (FloatingPointError("the loss of step 8 is nan."), "--peak 0.0005"),
        (MemoryError(), "--batch-size 5"),
    ],
)
def test_a_run_goes_on_with_the_command_that_it_has_told(
    flags, tmp_path, monkeypatch, capsys, error, flag
):
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        at_step(patch, 8, fail(error))
        assert main([*flags, "--steps=11", f"--out={folder}"]) == 1
    command = capsys.readouterr().err.partition(f"Go on with: {run.python()} -m tfmlib ")[2]
    assert flag in command
    assert main(shlex.split(command)) == 0
    steps = [entry for entry in entries(folder) if "loss" in entry]
    assert [entry["step"] for entry in steps] == list(range(1, 12))
    peak = float(flag.split()[1]) if "peak" in flag else 1e-3
    wanted = [train.learning_rate(n, 12, 5, 1e-3 if n <= 6 else peak) for n in range(1, 12)]
    assert [entry["rate"] for entry in steps] == pytest.approx(wanted)
    settings = json.loads((folder / "run.json").read_text())["settings"]
    assert (settings["peak"], settings["batch_size"]) == (peak, 5 if "batch" in flag else 11)


@pytest.mark.parametrize(("call", "what"), [(1, "the validation"), (4, "the test")])
def test_memory_that_is_not_enough_for_a_score_is_told_as_that(
    flags, tmp_path, monkeypatch, capsys, call, what
):
    calls, real = [], session.score

    def score(*arguments):
        calls.append(1)
        return fail(MemoryError())() if len(calls) == call else real(*arguments)

    monkeypatch.setattr(session, "score", score)
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"not enough memory for {what}: free some, or begin another run" in message


def test_a_fault_of_the_program_is_not_hidden(flags, tmp_path, monkeypatch):
    at_step(monkeypatch, 2, fail(RuntimeError("a mistake of ours")))
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        main([*flags, "--steps=3", f"--out={tmp_path / 'run'}"])


def test_a_model_that_does_not_fit_is_told_before_there_is_a_run(
    flags, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(session, "Transformer", fail(MemoryError()))
    told = refused(capsys, tmp_path / "run", *flags)
    assert told == "There is not enough memory for the model: make it smaller (--preset, --set)."


class Compiled:
    """As torch's own: it can be called like the model, but has no length and so no truth value."""

    calls = 0

    def __init__(self, model):
        self.model = model

    def __call__(self, *inputs):
        Compiled.calls += 1
        return self.model(*inputs)

    def __len__(self):
        raise TypeError("a model does not support len()")


def test_a_compiled_model_takes_the_steps(finished, flags, tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "compile", Compiled)
    assert main([*flags, "--compile", "--steps=11", f"--out={tmp_path / 'other'}"]) == 0
    assert Compiled.calls == 11
    name = "step-000011.safetensors"
    assert (tmp_path / "other" / name).read_bytes() == (finished / name).read_bytes()


def test_a_model_that_torch_cannot_compile_is_told(flags, tmp_path, monkeypatch, capsys):
    broken = type("Broken", (RuntimeError,), {"__module__": "torch._inductor.exc"})
    monkeypatch.setattr(torch, "compile", lambda _: fail(broken("no compiler")))
    assert main([*flags, "--compile", "--steps=3", f"--out={tmp_path / 'run'}"]) == 1
    assert "could not compile the model (Broken); leave out --compile" in capsys.readouterr().err


def test_a_loss_that_is_no_number_really_stops_a_run(flags, finished, tmp_path, capsys):
    """The last checkpoint holds an infinite weight, as a fault in memory may leave one."""
    path = finished / "step-000011.safetensors"
    found = checkpoint.load(path)
    found.weights["embedding.weight"].fill_(math.inf)
    checkpoint.save(path, found)
    before = content(finished)
    assert resume(finished, "--steps=20") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert "of step 12 is nan" in message
    assert f"The weights of {path} lead there, whatever the rate: delete that file" in message
    assert {name for name in before if content(finished)[name] != before[name]} == {
        *("run.json", "log.jsonl")  # more steps are wanted; the test is to be done again
    }
    step, command = re.search(r"to go on from step (\d+) .* -m tfmlib (.*)", message).groups()
    path.unlink()  # as it says
    assert main(shlex.split(command)) == 0
    assert f"goes on after step {step} of 20." in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_log_on_a_full_disk_is_told(finished, capsys, monkeypatch):
    monkeypatch.setattr(session, "cut_back", lambda *_: [])
    (finished / "log.jsonl").unlink()
    (finished / "log.jsonl").symlink_to("/dev/full")
    assert resume(finished, "--steps=20") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("The disk is full; what was saved before is whole.")
    assert checkpoint.load(finished / "step-000011.safetensors").step == 11


# --- the log ------------------------------------------------------------------------------------


def test_a_log_is_cut_back_to_its_checkpoint_and_a_torn_line_goes(tmp_path):
    path = tmp_path / "log.jsonl"
    kept = [{"step": 1, "loss": 3.5}, {"step": 2, "loss": 2.5}, {"step": 2, "validation": {}}]
    later = [{"step": 2, "test": {}}, {"step": 3, "loss": 1.5}]
    lines = [json.dumps(entry) + "\n" for entry in kept + later]
    path.write_text("".join(lines) + '{"step": 4, "lo')
    cut_back(path, 2)
    assert path.read_text() == "".join(lines[:3])
    cut_back(path, 0)
    assert path.read_text() == ""


@pytest.mark.parametrize(
    "line", ["{", "[3]", '{"loss": 3.5}', '{"step": "3"}', '{"step": true}', "\0", "[" * 10**5]
)
def test_a_line_of_the_log_that_is_none_of_ours_is_told_and_nothing_changed(finished, capsys, line):
    path = finished / "log.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([first, "", line, *others, ""]))
    sentence = refused(capsys, finished, "train", "--resume", "--steps=12")
    assert sentence.startswith(
        f"{path}, line 3: expected a JSON object with a whole number as its step, got "
    )
    assert sentence.endswith("; remove this line.")
    path.write_text("\n".join([first, "", *others, '{"step": 11, "te']))  # blank, and torn
    assert resume(finished, "--steps=12") == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 13))


def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path):
    (tmp_path / "log").write_text('{"step": 1}\n{"step": 2}')
    assert read_log(tmp_path / "log") == [{"step": 1}, {"step": 2}]


# --- where and how to compute -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "able", "chosen"),
    [
        ("cpu", {"avx512_f": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ("cpu", {"avx512_bf16": True}, "bfloat16"),
        ("cpu", {"amx_bf16": True}, "bfloat16"),
        ("cpu", {}, "float32"),
        ("mps", {"amx_bf16": True}, "float32"),
    ],
)
def test_bfloat16_is_chosen_only_where_the_processor_is_built_for_it(
    monkeypatch, device, able, chosen
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert session.choose_precision("auto", torch.device(device)) == chosen
    assert session.choose_precision("float32", torch.device(device)) == "float32"


@pytest.mark.parametrize("is_real", [False, True])
def test_on_a_gpu_bfloat16_is_chosen_if_it_is_not_imitated(monkeypatch, is_real):
    def supported(including_emulation=True):
        return including_emulation or is_real

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    chosen = session.choose_precision("auto", torch.device("cuda"))
    assert chosen == ("bfloat16" if is_real else "float32")


def test_a_run_in_bfloat16_keeps_that_precision(flags, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    asked = []
    real = train.train
    monkeypatch.setattr(
        train, "train", lambda *a, **k: asked.append(k["precision"]) or real(*a, **k)
    )
    folder = tmp_path / "run"
    assert main([*flags, "--precision=auto", "--steps=1", f"--out={folder}"]) == 0
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    assert resume(folder, "--steps=2", "--precision=auto") == 0
    assert asked == [torch.bfloat16, torch.bfloat16]


def test_the_fastest_device_that_is_there_is_chosen(monkeypatch):
    there = {"cuda": True, "mps": True}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there["cuda"])
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: there["mps"])
    assert session.choose_device("auto").type == "cuda"
    there["cuda"] = False
    assert session.choose_device("auto").type == "mps"
    there["mps"] = False
    assert session.choose_device("auto").type == "cpu"
    with pytest.raises(ValueError, match="no device cuda on this machine"):
        session.choose_device("cuda")


# --- the command --------------------------------------------------------------------------------


def in_new_python(code: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_no_other_command_waits_for_torch():
    code = (
        "import sys\n"
        "from tfmlib.__main__ import main\n"
        "main(['exercises'])\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'tqdm' not in sys.modules\n"
    )
    done = in_new_python(code)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_while_the_commands_are_imported_is_quiet():
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'tfmlib.checking.verify':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from tfmlib.__main__ import main\n"
        "sys.exit(main(['exercises']))\n"
    )
    done = in_new_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_rank_without_a_world_is_no_rank(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    assert main([*flags, "--steps=1", f"--out={tmp_path / 'run'}"]) == 0
    assert "test of 5 unseen sentences" in capsys.readouterr().out
    assert (tmp_path / "run/step-000001.safetensors").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_run_whose_last_line_cannot_be_written_has_ended_well(finished):
    command = [sys.executable, "-m", "tfmlib", "train", "--resume", "--device=cpu"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, f"--out={finished}"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0
    *_, line = done.stderr.splitlines()
    assert line.startswith(f"{finished}: test of 5 unseen sentences, ")
    assert line.endswith("(Standard output could not take this: No space left on device.)")


def test_a_folder_whose_name_the_output_cannot_have_is_told_all_the_same(
    finished, tmp_path, monkeypatch
):
    other = finished.rename(tmp_path / "ü")
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert resume(other) == 0
    assert rb"\xfc: test of 5 unseen sentences" in output.getvalue()


def test_every_setting_has_a_flag(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    shown = capsys.readouterr().out
    for name in asdict(Settings()):
        assert run._flag(name) in shown


@pytest.mark.parametrize("text", ["d_model", "d_model=", "d_model=many", "=3 4"])
def test_a_change_that_is_none_is_refused(tmp_path, capsys, text):
    with pytest.raises(SystemExit):
        main(["train", f"--out={tmp_path / 'run'}", f"--set={text}"])
    assert "expected NAME=VALUE with a number, true or false" in capsys.readouterr().err


def test_a_folder_without_a_run_cannot_be_read(tmp_path):
    with pytest.raises(RunError, match=r"holds no run: there is no run\.json in it"):
        Run(tmp_path).read()


def test_a_folder_that_may_not_be_read_is_not_called_empty(tmp_path, monkeypatch):
    refusal = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "run.json"))
    monkeypatch.setattr(Path, "read_bytes", fail(refusal))
    with pytest.raises(RunError, match=r"run\.json: Permission denied\.$"):
        Run(tmp_path).read()


def test_the_examples_in_the_docstrings_are_true():
    for module in (run, session):
        tested = doctest.testmod(module)
        assert tested.attempted > 0
        assert tested.failed == 0
