"""What stops a run, and the sentence that says why and how to resume."""

import errno
import json
import math
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import torch
from run_helpers import at_step, content, entries, fail, refused, resume

from tfmlib import checkpoint, train
from tfmlib.__main__ import main
from tfmlib.runs import failures, session
from tfmlib.runs.failures import Situation, python_command, resume_hint, torchrun_command

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_batch_is_not_halved_from_more_than_there_are_sentences(
    flags, tmp_path, monkeypatch, capsys
):
    at_step(monkeypatch, 2, fail(MemoryError()))
    assert main([*flags, "--batch-size=9999", "--steps=3", f"--out={tmp_path / 'run'}"]) == 1
    message = capsys.readouterr().err
    assert "lower --batch-size, now 37," in message
    assert "--batch-size 18" in message


def test_under_torchrun_the_resume_hint_is_torchruns(tmp_path, monkeypatch):
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "run.json").touch()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    situation = Situation(folder, has_run_json=True, has_these_settings=True)
    told = resume_hint(situation)
    launch = f"{torchrun_command()} --standalone --nproc-per-node 3 -m tfmlib train --resume"
    assert told.startswith(f"There is no checkpoint yet. Resume with: {launch} --out '")
    assert told.endswith("my run'")  # quoted for the shell
    monkeypatch.setenv("GROUP_WORLD_SIZE", "2")
    assert resume_hint(situation).endswith("Resume with the same commands and --resume.")


def test_the_resume_hint_names_the_python_that_runs_us_unless_a_shell_finds_it(monkeypatch):
    """Outside of its environment, another one without tfmlib might be found, or none."""
    found = {"python": "/usr/bin/python", "torchrun": "/usr/bin/torchrun"}
    monkeypatch.setattr(failures.shutil, "which", found.get)
    monkeypatch.setattr(sys, "executable", "/my book/.venv/bin/python")
    assert python_command() == "'/my book/.venv/bin/python'"
    assert torchrun_command() == "'/my book/.venv/bin/python' -m torch.distributed.run"
    found["python"] = sys.executable
    assert python_command() == "python"
    assert torchrun_command() == "python -m torch.distributed.run"
    found["torchrun"] = "/my book/.venv/bin/torchrun"
    assert torchrun_command() == "torchrun"
    found.clear()
    assert python_command() == "'/my book/.venv/bin/python'"


def test_the_resume_hint_repeats_what_no_file_keeps(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch, "compile", lambda model: model)
    at_step(monkeypatch, 2, fail(OSError(errno.EIO, "Input/output error")))
    folder = tmp_path / "run"
    assert main([*flags, "--compile", f"--out={folder}"]) == 1
    assert capsys.readouterr().err.endswith(f"--resume --out {folder} --device cpu --compile\n")


def test_before_its_flags_are_in_a_file_a_command_is_to_be_given_again(
    finished, monkeypatch, capsys
):
    monkeypatch.setattr(session, "truncate_log", fail(KeyboardInterrupt()))
    assert resume(finished, "--steps=12") == 130
    assert capsys.readouterr().err == "Interrupted. Give the same command again.\n"
    monkeypatch.setattr(session, "truncate_log", fail(MemoryError()))
    assert resume(finished, "--steps=12") == 1
    assert capsys.readouterr().err.endswith("Give the same command again, with --batch-size 5.\n")


def test_who_interrupts_before_the_run_has_begun_is_not_told_to_resume_it(
    flags, tmp_path, monkeypatch, capsys
):
    """Its settings are nowhere: resumed, another run would begin."""
    monkeypatch.setattr(session, "Transformer", fail(KeyboardInterrupt()))
    assert main([*flags, f"--out={tmp_path / 'run'}"]) == 130
    assert capsys.readouterr().err == (
        "Interrupted. The run had not started: give the same command again.\n"
    )
    assert not (tmp_path / "run").exists()


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
            ["The disk is full; what was saved before is intact", "step-000006", "--resume"],
        ),
        (OSError(errno.EIO, "Input/output error"), ["Could not write (Input/output error)"]),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), ["memory for step 8"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_goes_wrong_is_told_with_the_resume_hint(
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
    command = capsys.readouterr().err.partition(f"Resume with: {python_command()} -m tfmlib ")[2]
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
    assert f"not enough memory for {what}: free some, or start a new run" in message


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
    assert f"The weights in {path} cause this at any learning rate: delete that file" in message
    assert {name for name in before if content(finished)[name] != before[name]} == {
        *("run.json", "log.jsonl")  # more steps are wanted; the test is to be done again
    }
    step, command = re.search(r"to resume from step (\d+) .* -m tfmlib (.*)", message).groups()
    path.unlink()  # as it says
    assert main(shlex.split(command)) == 0
    assert f"resumes after step {step} of 20." in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_log_on_a_full_disk_is_told(finished, capsys, monkeypatch):
    monkeypatch.setattr(session, "truncate_log", lambda *_: [])
    (finished / "log.jsonl").unlink()
    (finished / "log.jsonl").symlink_to("/dev/full")
    assert resume(finished, "--steps=20") == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("The disk is full; what was saved before is intact.")
    assert checkpoint.load(finished / "step-000011.safetensors").step == 11


def test_all_sentences_about_a_failed_run_are_in_one_place():
    rooms = Path(failures.__file__).parent.glob("*.py")
    composing = [path.name for path in rooms if re.search(r"\bRunError\(", path.read_text("utf-8"))]
    assert composing == ["failures.py"]
