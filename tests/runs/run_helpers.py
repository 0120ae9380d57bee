"""What the tests of a run share: its command, and what is in its folder."""

import json
from pathlib import Path

from tfmlib import train
from tfmlib.__main__ import main

SECONDS = 120  # for a subprocess on a busy machine


def entries(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def resume(folder: Path, *more: str) -> int:
    return main(["train", "--resume", "--device=cpu", f"--out={folder}", *more])


def refused(capsys, folder: Path, *arguments: str) -> str:
    """The one line with which a command is refused, if it has changed nothing."""
    before = content(folder) if folder.is_dir() else None
    assert main([*arguments, f"--out={folder}"]) == 1
    assert (content(folder) if folder.is_dir() else None) == before
    (line,) = capsys.readouterr().err.splitlines()
    return line


def at_step(monkeypatch, number: int, happen) -> None:
    """Let something happen when the loop has taken a step, before anyone hears of it."""
    real = train.train

    def wrapped(*args, **kwargs):
        for step in real(*args, **kwargs):
            if step.number == number:
                happen()
            yield step

    monkeypatch.setattr(train, "train", wrapped)


def fail(error: BaseException):
    def raise_it(*_):
        raise error

    return raise_it
