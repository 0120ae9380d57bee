"""What a learner has tried and solved: one line of JSON an attempt, in the learner's own folder.

Lines are only ever added, each in a single write, so two notebooks can record at once and a line
damaged by a full disk costs that line alone.
"""

import json
import os
import time
from pathlib import Path

FILE = ".tfm-progress.jsonl"


def path() -> Path | None:
    """Where the attempts are kept; TFM_PROGRESS names another file, or `off` for none."""
    place = os.environ.get("TFM_PROGRESS", FILE)
    return None if place == "off" else Path(place)


def record(id: str, event: str, mistake: str = "") -> None:
    """Add one line, with the name of the mistake if one is known.

    A folder that cannot be written to is no reason to stop a learner.
    """
    place = path()
    if place is None:
        return
    entry = {"exercise": id, "event": event, "time": round(time.time())}
    line = json.dumps(entry | ({"mistake": mistake} if mistake else {})) + "\n"
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError:
        pass


def events() -> dict[str, set[str]]:
    """Exercise id -> what happened to it so far: "failed", "passed"."""
    found: dict[str, set[str]] = {}
    place = path()
    if place is None or not place.is_file():
        return found
    for line in place.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            found.setdefault(str(entry["exercise"]), set()).add(str(entry["event"]))
        except (ValueError, KeyError, TypeError):
            continue  # a damaged line
    return found
