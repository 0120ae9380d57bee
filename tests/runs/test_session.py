"""Training: what a run leaves behind, resuming, the best weights, signals and devices.

What really kills a process is in test_resume.py; what several of them do in test_parallel.py.
"""

import json
import math
import os
import shlex
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from run_helpers import at_step, content, entries, fail, refused, resume

from tfmlib import checkpoint, data, generate, train
from tfmlib.__main__ import main
from tfmlib.model import TransformerConfig
from tfmlib.runs import failures, session
from tfmlib.runs.failures import python_command

pytestmark = pytest.mark.usefixtures("one_thread")


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
    monkeypatch.setattr(
        generate, "translate", lambda *_: ["zwei hundert", "ein und vierzig tausend"]
    )
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


def test_torchruns_restart_resumes_what_the_same_torchrun_began(
    flags, tmp_path, monkeypatch, capsys
):
    command = [*flags, "--steps=3", f"--out={tmp_path / 'run'}"]
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    assert main(command) == 0
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert main([*command, "--steps=5"]) == 0
    assert [e["step"] for e in entries(tmp_path / "run") if "loss" in e] == [1, 2, 3, 4, 5]
    assert "run resumes after step 3 of 5." in capsys.readouterr().err
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "11")
    assert "already holds a run; add" in refused(capsys, tmp_path / "run", *flags)


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
    assert "already holds a run; add" in refused(capsys, tmp_path / "run", *flags)
    monkeypatch.setattr(os, "getppid", lambda: 7)
    monkeypatch.setattr(session.socket, "gethostname", lambda: "another machine")
    assert "already holds a run; add" in refused(capsys, tmp_path / "run", *flags)


def test_who_resumes_is_told_where_the_run_stands(finished, flags, tmp_path, capsys):
    assert resume(finished) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"{finished} has taken all its 11 steps; raise --steps to take more."
    assert resume(finished, "--steps=12") == 0
    assert capsys.readouterr().err.splitlines()[0] == f"{finished} resumes after step 11 of 12."
    assert main([*flags, "--steps=1", f"--out={tmp_path / 'new'}", "--resume"]) == 0
    told = capsys.readouterr().err.splitlines()[0]
    assert told == f"{tmp_path / 'new'} holds no run to resume: starting a new one."


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
    assert lines.count("Stopping once this step is done and saved.") == 1
    assert message == (
        f"Stopped by {name} after saving step 7. The last checkpoint is "
        f"{other / 'step-000007.safetensors'}. Resume with: "
        f"{python_command()} -m tfmlib train --resume --out {shlex.quote(str(other))} --device cpu"
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
    """Of a validation that has failed, which the message names."""

    def explain(*arguments):
        signal.raise_signal(signal.SIGTERM)
        return real(*arguments)

    real = failures.explain
    monkeypatch.setattr(failures, "explain", explain)
    monkeypatch.setattr(session, "score", fail(MemoryError()))
    assert main([*flags, "--steps=11", f"--out={tmp_path / 'run'}"]) == 1
    assert "not enough memory for the validation" in capsys.readouterr().err


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


def test_a_rank_without_a_world_is_no_rank(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    assert main([*flags, "--steps=1", f"--out={tmp_path / 'run'}"]) == 0
    assert "test of 5 unseen sentences" in capsys.readouterr().out
    assert (tmp_path / "run/step-000001.safetensors").exists()
