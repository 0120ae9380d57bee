"""The folder of a run: what is refused, in a sentence and without a trace of it."""

import errno
import json
import shutil
from pathlib import Path

import portalocker
import pytest
from run_helpers import entries, fail, refused, resume

from tfmlib.__main__ import main
from tfmlib.runs.failures import RESTORE, RunError
from tfmlib.runs.folder import Run, step_in_name
from tfmlib.tokenizer import BPETokenizer

pytestmark = pytest.mark.usefixtures("one_thread")


def test_what_a_killed_process_had_begun_to_write_is_removed(finished):
    (finished / "step-000012.safetensors.tmp").write_bytes(b"half")
    (finished / "notes.tmp").write_bytes(b"not ours")
    assert resume(finished) == 0
    assert not (finished / "step-000012.safetensors.tmp").exists()
    assert (finished / "notes.tmp").exists()


def test_a_folder_with_a_run_is_refused_without_resume(finished, flags, capsys):
    assert "already holds a run; add --resume" in refused(capsys, finished, *flags)


def test_a_folder_in_which_another_process_trains_is_refused(finished, capsys):
    before = (finished / "log.jsonl").read_bytes()
    with Run(finished).lock():
        assert resume(finished, "--steps=12") == 1
        assert f"another process is training in {finished}; stop it" in capsys.readouterr().err
        assert (finished / "log.jsonl").read_bytes() == before
    assert resume(finished, "--steps=12") == 0


def test_a_run_that_another_process_took_on_before_the_lock_is_left_alone(
    finished, monkeypatch, capsys
):
    """It ended between our look at the folder and our lock: what we loaded is not the last."""
    real = Run.lock

    def lock(run):
        (run.folder / "step-000011.safetensors").rename(run.folder / "step-000013.safetensors")
        return real(run)

    monkeypatch.setattr(Run, "lock", lock)
    log = (finished / "log.jsonl").read_bytes()
    assert resume(finished, "--steps=12") == 1
    assert f"another process has just trained in {finished}" in capsys.readouterr().err
    assert (finished / "log.jsonl").read_bytes() == log


def test_a_run_that_another_process_began_before_the_lock_is_left_alone(
    flags, finished, tmp_path, monkeypatch, capsys
):
    real = Run.lock

    def lock(run):
        shutil.copy(finished / "run.json", run.folder)
        return real(run)

    monkeypatch.setattr(Run, "lock", lock)
    assert main([*flags, f"--out={tmp_path / 'new'}"]) == 1
    assert "; resume it again, or choose another" in capsys.readouterr().err
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


def test_a_damaged_checkpoint_is_refused_and_the_one_before_offered(finished, capsys):
    newest, before = finished / "step-000011.safetensors", finished / "step-000009.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    sentence = refused(capsys, finished, "train", "--resume")
    assert f"{newest} is cut short" in sentence
    assert f"{before.name} is intact: delete {newest} and resume" in sentence
    newest.unlink()  # as it says
    assert resume(finished) == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 12))


def test_when_all_checkpoints_are_damaged_none_is_offered(finished, capsys):
    paths = [finished / f"step-{step:06d}.safetensors" for step in (11, 9)]
    for path in paths:
        path.write_bytes(b"")
    sentence = refused(capsys, finished, "train", "--resume")
    assert "No other checkpoint is intact" in sentence
    assert f"delete {paths[0]} and {paths[1]} and resume to start from step 1." in sentence
    for path in paths:  # as it says
        path.unlink()
    assert resume(finished) == 0
    assert [e["step"] for e in entries(finished) if "loss" in e] == list(range(1, 12))


def test_a_checkpoint_that_contradicts_run_json_is_named_with_the_difference(finished, capsys):
    path = finished / "run.json"
    path.write_text(path.read_text().replace('"d_ff": 17', '"d_ff": 18'))
    about = json.loads(path.read_text())
    about["settings"]["changes"]["d_ff"] = 17
    path.write_text(json.dumps(about))
    assert refused(capsys, finished, "train", "--resume") == (
        f"{finished / 'step-000011.safetensors'} does not match run.json: the checkpoint is of "
        "another model: d_ff is 17, expected 18. Move it elsewhere, or restore the right "
        "run.json."
    )


def test_a_run_that_has_lost_its_run_json_is_not_taken_for_none(finished, capsys):
    (finished / "run.json").unlink()
    sentence = f"{finished} has checkpoints but no run.json. {RESTORE}"
    assert refused(capsys, finished, "train", "--resume") == sentence
    assert main(["translate", str(finished), "seven"]) == 1
    assert capsys.readouterr().err == f"{sentence}\n"


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
    assert sentence.startswith(f"{path} is not the vocabulary that the run started with")


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
    assert [step_in_name(p) for p in Run(tmp_path).checkpoints()] == [7, 999_999, 1_000_000]


def test_a_checkpoint_with_the_name_of_another_step_is_refused_as_that(finished, capsys):
    renamed = finished / "step-000013.safetensors"
    (finished / "step-000011.safetensors").rename(renamed)
    sentence = refused(capsys, finished, "train", "--resume", "--steps=20")
    assert sentence.startswith(f"{renamed} holds step 11, which contradicts its name; rename it")


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
        assert told == f"{path} cannot be read: {sentence} {RESTORE}"
    for name in ("format", "settings", "config", "data"):
        path.write_text(json.dumps({key: about[key] for key in about if key != name}))
        told = refused(capsys, finished, "train", "--resume")
        sentence = f"expected {name!r} in it, got none."
        assert told == f"{path} cannot be read: {sentence} {RESTORE}"
        path.write_text(json.dumps(about | {name: 5}))
        assert f"as {name!r}, got 5." in refused(capsys, finished, "train", "--resume")
    for harmed in ("{", "[]", "{}"):
        path.write_text(harmed)
        assert f"{path} cannot be read: " in refused(capsys, finished, "train", "--resume")
    path.write_text(json.dumps(about))
    (finished / "tokenizer.json").write_text("{}")
    told = refused(capsys, finished, "train", "--resume")
    assert told.startswith(f"{finished / 'tokenizer.json'}, the vocabulary of the run, cannot be ")
    assert told.endswith(RESTORE)


def test_a_folder_without_a_run_cannot_be_read(tmp_path):
    with pytest.raises(RunError, match=r"holds no run: there is no run\.json in it"):
        Run(tmp_path).read()


def test_a_folder_that_may_not_be_read_is_not_called_empty(tmp_path, monkeypatch):
    refusal = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "run.json"))
    monkeypatch.setattr(Path, "read_bytes", fail(refusal))
    with pytest.raises(RunError, match=r"run\.json: Permission denied\.$"):
        Run(tmp_path).read()
