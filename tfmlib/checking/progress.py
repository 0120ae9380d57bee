"""What a learner has tried and solved: one line of JSON per attempt, where the host keeps it.

Lines are only ever added, each in a single write, so two notebooks can record at once and a line
damaged by a full disk costs that line alone.
"""

import json
import time
from pathlib import Path

from tfmlib.checking import host


def path() -> Path | None:
    """The file in which a process keeps the attempts; None for none."""
    return host.current().progress_path()


def record(id: str, event: str, mistake: str = "") -> None:
    """Add one line, with the name of the mistake if one is known."""
    host.current().add_progress(line_of(id, event, mistake))


def line_of(id: str, event: str, mistake: str = "") -> str:
    """An attempt as a line."""
    entry = {"exercise": id, "event": event, "time": round(time.time())}
    return json.dumps(entry | ({"mistake": mistake} if mistake else {})) + "\n"


def events() -> dict[str, set[str]]:
    """Exercise id -> what happened to it so far: "failed", "passed"."""
    found: dict[str, set[str]] = {}
    for line in host.current().read_progress().splitlines():
        try:
            entry = json.loads(line)
            found.setdefault(str(entry["exercise"]), set()).add(str(entry["event"]))
        except (ValueError, KeyError, TypeError):
            continue  # a damaged line
    return found
