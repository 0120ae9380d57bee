"""Checkpoints: what comes back is what was saved, and a file that was harmed is refused."""

import errno
import json
import os
import pickle
import random
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save as write_tensors

from tfmlib import checkpoint, data, train
from tfmlib.checkpoint import CheckpointError
from tfmlib.model import Transformer, TransformerConfig
from tfmlib.support import files

PAIRS = data.number_pairs(range(7, 60, 5))
SETTINGS = {"steps": 11, "seed": 3}
BEST = {"step": 3, "exact_match": 0.25, "bleu": 17.5}
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def tokenizer():
    return data.number_task(below=100, train=10, validation=1, test=1).tokenizer


def small(tokenizer, **changes):
    torch.manual_seed(5)
    sizes = {"d_model": 6, "heads": 3, "d_ff": 7, "encoder_layers": 1, "decoder_layers": 1}
    return Transformer(TransformerConfig(tokenizer.vocab_size, **(sizes | changes)))


def trained(tokenizer, model, optimizer, last, first=1):
    batches = data.Batches(PAIRS, tokenizer, batch_size=3)
    for _ in train.train(model, batches, last, optimizer=optimizer, first=first, seed=2):
        pass


@pytest.fixture(scope="module")
def saved(tokenizer, tmp_path_factory):
    """A checkpoint after three steps, in a file."""
    model = small(tokenizer)
    optimizer = train.make_optimizer(model)
    trained(tokenizer, model, optimizer, 3)
    path = tmp_path_factory.mktemp("run") / "step-000003.safetensors"
    checkpoint.save(path, checkpoint.take(3, model, optimizer, SETTINGS, BEST))
    return path


@pytest.fixture
def copy(saved, tmp_path):
    path = tmp_path / "step-000003.safetensors"
    path.write_bytes(saved.read_bytes())
    return path


# --- what comes back ----------------------------------------------------------------------------


@pytest.mark.parametrize("fused", [False, True])
def test_training_goes_on_from_a_file_bit_for_bit(tokenizer, tmp_path, fused):
    whole, first_half, second_half = (small(tokenizer) for _ in range(3))
    trained(tokenizer, whole, train.make_optimizer(whole, fused), 7)
    optimizer = train.make_optimizer(first_half, fused)
    trained(tokenizer, first_half, optimizer, 3)
    checkpoint.save(tmp_path / "file", checkpoint.take(3, first_half, optimizer))
    with torch.no_grad():
        for parameter in second_half.parameters():
            parameter.normal_()
    optimizer = train.make_optimizer(second_half, fused)
    checkpoint.restore(checkpoint.load(tmp_path / "file"), second_half, optimizer)
    trained(tokenizer, second_half, optimizer, 7, first=4)
    for name, parameter in whole.named_parameters():
        assert torch.equal(parameter, second_half.get_parameter(name)), name


def test_a_file_keeps_step_settings_best_score_and_sizes(tokenizer, saved):
    found = checkpoint.load(saved)
    assert (found.step, found.settings, found.best) == (3, SETTINGS, BEST)
    assert found.config == small(tokenizer).config


def test_equal_checkpoints_are_equal_files(saved):
    found = checkpoint.load(saved)
    assert {checkpoint.to_bytes(found) for _ in range(5)} == {saved.read_bytes()}


def test_without_an_optimizer_a_checkpoint_is_a_model_to_use_but_not_to_train_on(
    tokenizer, saved, tmp_path
):
    model = small(tokenizer)
    checkpoint.restore(checkpoint.load(saved), model)
    checkpoint.save(tmp_path / "best", checkpoint.take(3, model))
    found, again = checkpoint.load(tmp_path / "best"), small(tokenizer)
    checkpoint.restore(found, again)
    assert torch.equal(model.embedding.weight, again.embedding.weight)
    assert (tmp_path / "best").stat().st_size < 0.5 * saved.stat().st_size
    with pytest.raises(CheckpointError, match=r"not the moments.*is none, expected \("):
        checkpoint.restore(found, again, train.make_optimizer(again))


# --- what is refused ----------------------------------------------------------------------------


def test_one_changed_byte_anywhere_is_refused(saved):
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    draw = random.Random(7)
    places = [*range(header), *draw.sample(range(header, len(content)), 300), len(content) - 1]
    for place in places:
        harmed = bytearray(content)
        harmed[place] ^= draw.randrange(1, 256)
        with pytest.raises(CheckpointError):
            checkpoint.from_bytes(bytes(harmed))


def test_white_space_in_the_header_counts_too(saved):
    """JSON reads a tab as it reads a space, but the file is no longer the one that was written."""
    found = checkpoint.load(saved)
    for length in range(8):  # the header is filled with spaces up to a multiple of eight
        content = checkpoint.to_bytes(replace(found, settings={"name": "a" * length}))
        header = 8 + int.from_bytes(content[:8], "little")
        if content[header - 1 : header] == b" ":
            break
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        checkpoint.from_bytes(content[: header - 1] + b"\t" + content[header:])


def test_a_file_that_ends_too_early_is_refused_with_its_length(copy):
    content = copy.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for length in (9, 100, header - 1, header, header + 1, len(content) - 1):
        copy.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match=f"000003.* is cut short: it has {length:,} of"):
            checkpoint.load(copy)
    for length in range(9):
        with pytest.raises(CheckpointError, match=r"no checkpoint|cut short"):
            checkpoint.from_bytes(content[:length])


def test_a_file_that_goes_on_too_long_is_refused(saved):
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        checkpoint.from_bytes(saved.read_bytes() + b"\0")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "got an empty file"),
        (b"step 3 went well\n", "expected a safetensors file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "expected a safetensors file"),
        (b"\xff" * 8 + b"{}", "cut short"),
        (b"\x02" + bytes(7) + b"{]", "header cannot be read"),
        (b"\x0a" + bytes(7) + b'{"a": [1]}', "header cannot be read"),
        (write_tensors({"a": torch.zeros(3)}), "no checkpoint of a run"),
        (write_tensors({"a": torch.zeros(3)}, {"tfmlib": "[]"}), "header cannot be read"),
        (write_tensors({"a": torch.zeros(3)}, {"tfmlib": "[" * 10**5}), "header cannot be read"),
        (write_tensors({}, {"tfmlib": '{"format": "tfmlib checkpoint 9"}'}), "checkpoint 9"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_kind_of_file_is_refused(tmp_path, content, reason):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(CheckpointError, match=reason):
        checkpoint.load(tmp_path / "file")


def test_no_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(CheckpointError, match="is no file"):
            checkpoint.load(path)


def test_damaged_files_are_parted_from_the_last_whole_one(copy, tmp_path):
    first, second, third = copy, tmp_path / "second", tmp_path / "third"
    second.write_bytes(copy.read_bytes()[:-1])
    third.touch()
    assert checkpoint.split_damaged([first, second, third]) == (first, [third, second])
    assert checkpoint.split_damaged([third, first]) == (first, [])
    assert checkpoint.split_damaged([second]) == (None, [second])
    assert checkpoint.split_damaged([]) == (None, [])


class Trap:
    """What a pickle of it does when it is loaded: it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_loading_runs_no_code_from_the_file(tmp_path):
    trap = tmp_path / "sprung"
    (tmp_path / "pickle").write_bytes(pickle.dumps(Trap(str(trap))))
    torch.save(Trap(str(trap)), tmp_path / "torch")
    for name in ("pickle", "torch"):
        with pytest.raises(CheckpointError):
            checkpoint.load(tmp_path / name)
    assert not trap.exists()


@pytest.mark.parametrize(
    "about", [{}, {"config": {"d_model": 7}}, {"config": {"legs": 2}}, {"config": 3}], ids=str
)
def test_a_right_checksum_over_nonsense_is_refused_all_the_same(saved, monkeypatch, about):
    found = checkpoint.load(saved)
    dumps = json.dumps
    wrong = {"format": checkpoint.FORMAT, "sha256": checkpoint.BLANK.decode()} | about
    monkeypatch.setattr(checkpoint.json, "dumps", lambda _: dumps(wrong))
    content = checkpoint.to_bytes(found)
    with pytest.raises(CheckpointError, match="right checksum but no checkpoint in it"):
        checkpoint.from_bytes(content)


def test_a_checkpoint_of_another_model_is_refused_with_the_difference(tokenizer, saved):
    found = checkpoint.load(saved)
    with pytest.raises(CheckpointError, match="another model: d_ff is 7, expected 11"):
        checkpoint.restore(found, small(tokenizer, d_ff=11))
    weights = dict(found.weights)
    weights["embedding.weight"] = torch.zeros(2, 3)
    with pytest.raises(CheckpointError, match=r"embedding.weight is \(2, 3\), expected \("):
        checkpoint.restore(replace(found, weights=weights), small(tokenizer))
    del weights["embedding.weight"]
    with pytest.raises(CheckpointError, match=r"embedding.weight is none, expected \("):
        checkpoint.restore(replace(found, weights=weights), small(tokenizer))


# --- how it is written --------------------------------------------------------------------------


def test_a_file_is_on_the_disk_before_it_takes_the_old_ones_place(tmp_path, monkeypatch):
    path, happened = tmp_path / "file", []
    path.write_bytes(b"old")
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor):
        is_folder = os.path.samestat(os.fstat(descriptor), tmp_path.stat())
        happened.append("folder synced" if is_folder else "file synced")
        real_sync(descriptor)

    def put(source, target):
        assert (path.read_bytes(), os.path.getsize(source)) == (b"old", 5)
        happened.append("renamed")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", put)
    files.write_whole(path, b"newer")
    folder = [] if os.name == "nt" else ["folder synced"]
    assert happened == ["file synced", "renamed", *folder]
    assert path.read_bytes() == b"newer"


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(copy, monkeypatch, failing):
    before = copy.read_bytes()
    found = checkpoint.load(copy)

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(copy, replace(found, step=4))
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    assert copy.read_bytes() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is full")
def test_a_disk_that_is_really_full_leaves_the_old_file(copy):
    before = copy.read_bytes()
    copy.with_name(copy.name + files.TEMPORARY).symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(copy, checkpoint.load(copy))
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    assert copy.read_bytes() == before
