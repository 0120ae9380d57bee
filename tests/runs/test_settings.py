"""Settings: what each may be, and what a flag may change when a run is resumed."""

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from run_helpers import refused, resume

from tfmlib import data
from tfmlib.__main__ import main
from tfmlib.runs.settings import MAY_CHANGE, Settings

pytestmark = pytest.mark.usefixtures("one_thread")


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


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        ("--smoothing=0.5", "--smoothing 0.5 contradicts the run, which started with 0.1"),
        ("--seed=1", "--seed 1 contradicts the run, which started with 0"),
        ("--set=d_ff=18", "--set d_ff=18 contradicts the run, which started with d_model=12 heads"),
        ("--task=en-fr", "--task contradicts the run, which started with --source and --target"),
        ("--precision=bfloat16", "--precision bfloat16 contradicts the run"),
        ("--steps=10", "has already taken 11 steps, more than --steps 10"),
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
        if field.name not in MAY_CHANGE:
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


@pytest.mark.slow
def test_numbers_that_have_changed_and_text_for_them_are_refused(
    parallel_text, tmp_path, capsys, monkeypatch
):
    folder, _ = number_run(tmp_path)
    capsys.readouterr()
    sentence = refused(capsys, folder, "train", "--resume", *parallel_text)
    assert sentence.startswith(
        "--source contradicts the run, which started with --task en-de; leave"
    )
    real = data.number_words
    monkeypatch.setattr(data, "number_words", lambda *a: real(*a).replace("seven", "sefen"))
    sentence = refused(capsys, folder, "train", "--resume")
    assert "num2words may have changed: install the version of that time, or" in sentence


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
