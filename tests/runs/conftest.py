"""Runs that take a second, for all tests of this folder."""

import os
import shutil
from pathlib import Path

import pytest

from tfmlib.__main__ import main

pytest.register_assert_rewrite("run_helpers")


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
