"""The log of a run: JSON lines, one for each step and each score."""

import json
import os
from pathlib import Path
from typing import Any

from tfmlib.runs.folder import RunError
from tfmlib.support.files import write_whole


class Log:
    """JSON lines at the end of a file; each is handed to the system at once."""

    def __init__(self, path: Path):
        # Without a buffer nothing is left to write, and to fail, when the file is closed.
        self.file = open(path, "ab", buffering=0)  # noqa: SIM115

    def write(self, entry: dict[str, Any]) -> None:
        """Append one entry."""
        line = (json.dumps(entry) + "\n").encode()
        while line:  # a nearly full disk takes a part of it, and then refuses the rest
            line = line[self.file.write(line) :]

    def sync(self) -> None:
        """Make sure that all entries are on the disk."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        self.file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The entries of a log; a last line that was not written to the end is left out."""
    if not path.exists():
        return []
    entries = []
    *lines, torn = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            entries.append(_read_entry(line))
            if entries[-1] is None:
                raise RunError(
                    f"{path}, line {number}: expected a JSON object with a whole number as its "
                    f"step, got {_shortened(line)}; remove this line."
                )
    return [*entries, *filter(None, [_read_entry(torn)])]


def _read_entry(line: bytes) -> dict[str, Any] | None:
    """The entry of a line; None if it is none of ours."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(entry, dict) and type(entry.get("step")) is int
    return entry if is_ours else None


def _shortened(line: bytes) -> str:
    text = repr(line.decode("utf-8", "replace"))
    return text if len(text) <= 60 else f"{text[:60]}…"


def cut_back(path: Path, step: int) -> list[dict[str, Any]]:
    """Leave in a log only what came before the checkpoint of a step: that is where it goes on."""
    entries = [entry for entry in read_log(path) if _came_before(entry, step)]
    write_whole(path, "".join(json.dumps(entry) + "\n" for entry in entries).encode())
    return entries


def _came_before(entry: dict[str, Any], step: int) -> bool:
    # A step is logged and validated before its checkpoint is saved; the test comes last of all.
    return entry["step"] < step or (entry["step"] == step and "test" not in entry)
