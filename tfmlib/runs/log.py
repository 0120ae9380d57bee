"""The log of a run: JSON lines, one per step and one per score."""

import json
import os
from pathlib import Path
from typing import Any

from tfmlib.runs import failures
from tfmlib.support.files import write_whole

Entry = dict[str, Any]


class Log:
    """JSON lines at the end of a file; each is handed to the system at once."""

    def __init__(self, path: Path):
        # Without a buffer nothing is left to write, and to fail, when the file is closed.
        self.file = open(path, "ab", buffering=0)  # noqa: SIM115

    def write(self, entry: Entry) -> None:
        """Append one entry."""
        line = (json.dumps(entry) + "\n").encode()
        while line:  # a nearly full disk takes a part of it, and then refuses the rest
            line = line[self.file.write(line) :]

    def sync(self) -> None:
        """Make sure that all entries are on the disk."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        self.file.close()


def read_log(path: Path) -> list[Entry]:
    """The entries of a log; a last line that was not written to the end is left out."""
    if not path.exists():
        return []
    entries = []
    *lines, torn = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            entry = _parse(line)
            if entry is None:
                raise failures.foreign_log_line(path, number, _abbreviate(line))
            entries.append(entry)
    last = _parse(torn)
    return entries if last is None else [*entries, last]


def _parse(line: bytes) -> Entry | None:
    """The entry of a line; None if it is none of ours."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(entry, dict) and type(entry.get("step")) is int
    return entry if is_ours else None


def _abbreviate(line: bytes) -> str:
    text = repr(line.decode("utf-8", "replace"))
    return text if len(text) <= 60 else f"{text[:60]}…"


def truncate_log(path: Path, step: int) -> None:
    """Leave in a log only what came before the checkpoint of a step: the run resumes from there."""
    entries = [entry for entry in read_log(path) if _came_before(entry, step)]
    write_whole(path, "".join(json.dumps(entry) + "\n" for entry in entries).encode())


def _came_before(entry: Entry, step: int) -> bool:
    # A step is logged and validated before its checkpoint is saved; the test comes last of all.
    return entry["step"] < step or (entry["step"] == step and "test" not in entry)


def is_validated(path: Path, step: int) -> bool:
    """Whether the log has a validation of that step."""
    return any(entry["step"] == step and "validation" in entry for entry in read_log(path))
