"""For every test and notebook: what a run of the suite must not do, and what it may leave out."""

import functools
import os
from pathlib import Path

os.environ["TFM_PROGRESS"] = "off"  # solutions that pass are no learner's progress


@functools.cache
def leaves_out_real_weights() -> bool:
    """Chapter 12 runs published weights; without them it is left out, but never in CI."""
    from tfmlib.pretrained import find_weights  # imports torch, which not every test needs

    return find_weights() is None and os.environ.get("CI") != "true"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    is_real_weights = collection_path.match("notebooks/12-*.ipynb")
    return True if is_real_weights and leaves_out_real_weights() else None


def pytest_terminal_summary(terminalreporter) -> None:
    if leaves_out_real_weights():
        from tfmlib.pretrained import HOW_TO_GET_WEIGHTS

        terminalreporter.write_line(f"Chapter 12 was left out. {HOW_TO_GET_WEIGHTS}")
