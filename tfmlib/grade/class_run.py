"""Grading a class, two submissions at a time.

Every notebook runs in a process of its own, which never sees a check. The judge stays here, sends
inputs and compares what comes back.
"""

import contextlib
import ctypes
import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tfmlib.checking.catalogue import all_exercises
from tfmlib.checking.outcome import Status
from tfmlib.grade import report, submissions
from tfmlib.grade.levels import LEVELS, Limits
from tfmlib.grade.marking import Mark, Result, mark_submission, published_cells
from tfmlib.grade.sandbox import JailError, Sandbox
from tfmlib.grade.stage import PACKAGE, make_stage
from tfmlib.grade.submissions import Submission, digest

AT_A_TIME = 2
SHARE = 0.2  # of the class that must have a chapter for it to be graded unasked
GRADER_MEMORY = 8 * 2**30  # of the process that grades one student


@dataclass(frozen=True)
class Job:
    """All that grading a submission depends on, besides the submission."""

    ids: list[str]
    level: str
    stage: Path
    limits: Limits
    results: Path
    version: str

    def result_file(self, submission: Submission) -> Path:
        """Named by all that a result depends on: the same name, the same result."""
        parts = [submission.student, self.version, self.level]
        parts += [json.dumps([self.ids, asdict(self.limits), submission.notes])]
        for path in submission.notebooks:
            parts.append(path.name)
            try:
                parts.append(digest(submissions.content(path)))
            except ValueError as error:
                parts.append(str(error))
        return self.results / f"{digest(*parts)}.json"


def grade(
    folder: Path,
    out: Path,
    chapters: list[int] | None = None,
    level: str | None = None,
    limits: Limits | None = None,
    progress: bool = False,
) -> tuple[report.Graded, list[str]]:
    """Grade a folder of submissions into `out`; returns what was graded, and remarks."""
    found = submissions.find(folder)
    if not found:
        raise SystemExit(f"Expected notebooks in {folder}, found none: one file a student, .ipynb.")
    ids = _exercise_ids(found, chapters)
    place = Path(tempfile.mkdtemp(prefix="tfm-grade-"))
    try:
        stage, limits = make_stage(place), limits or Limits()
        level = choose_level(stage, limits, level)
        (out / "results").mkdir(parents=True, exist_ok=True)
        job = Job(ids, level, stage, limits, out / "results", checks_version())
        graded, new = _grade_all(found, job, progress)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    remarks = [LEVELS[level], f"{new} of {len(found)} graded now, the others were known already."]
    report.write_all(out, graded, ids, remarks)
    return graded, remarks


def _exercise_ids(found: list[Submission], chapters: list[int] | None) -> list[str]:
    """The exercises of the chapters asked for, or of those that a fair part of the class has."""
    known = {exercise.chapter for exercise in all_exercises()}
    if chapters is None:
        counts = Counter(c for submission in found for c in _chapters_of(submission))
        chapters = [c for c, n in counts.items() if n >= SHARE * len(found) and c in known]
        if not chapters:
            raise SystemExit(
                "No exercise of this book was found in the notebooks: expected cells such as "
                'check("4.1", pool). Say which chapter to grade: --chapter 4.'
            )
    if unknown := set(chapters) - known:
        raise SystemExit(f"There are no exercises of chapter {min(unknown)}.")
    return [exercise.id for exercise in all_exercises() if exercise.chapter in chapters]


def _chapters_of(submission: Submission) -> set[int]:
    chapters = set()
    for path in submission.notebooks:
        with contextlib.suppress(ValueError):
            chapters |= submissions.mentioned_chapters(submissions.content(path), path.name)
    return chapters


def checks_version() -> str:
    """Changes when anything does that a mark may depend on."""
    modules = (path.read_bytes() for path in sorted(PACKAGE.rglob("*.py")))
    return digest(*modules, *sorted(published_cells()))


def choose_level(stage: Path, limits: Limits, wanted: str | None = None) -> str:
    """The level asked for, by default the strongest, once it is known to work here."""
    level = wanted or "full"
    sandbox = Sandbox(level, stage, limits)
    try:
        sandbox.wait_until_ready()
    except JailError as error:
        raise SystemExit(
            f"This system cannot shut a notebook in: {error}\nGrade on Linux, as root or where "
            "user namespaces are allowed. If you trust every submission: --level user (as root) "
            "or --level weak."
        ) from error
    finally:
        sandbox.end()
    return level


# --- two at a time ------------------------------------------------------------------------------


def _grade_all(
    found: list[Submission], job: Job, progress: bool
) -> tuple[list[tuple[Submission, Result]], int]:
    files = {id(submission): job.result_file(submission) for submission in found}
    waiting = [s for s in found if _known(files[id(s)]) is None]
    new = len(waiting)
    running: dict[int, tuple[BaseProcess, Submission, float]] = {}
    with _bar(len(found), new, progress) as bar:
        try:
            while waiting or running:
                while waiting and len(running) < AT_A_TIME:
                    submission = waiting.pop(0)
                    process = _start(submission, job, files[id(submission)])
                    running[process.sentinel] = (process, submission, _patience(submission, job))
                for process, submission in _finished(running):
                    process.join()
                    process.close()
                    if _known(files[id(submission)]) is None:
                        _save(files[id(submission)], _ungraded(submission, job.ids))
                    bar.update()
        finally:
            for process, _, _ in running.values():
                process.kill()
                process.join()
    return [(s, _known(files[id(s)]) or _ungraded(s, job.ids)) for s in found], new


def _finished(running: dict) -> list[tuple[BaseProcess, Submission]]:
    """Wait a little; take out who has ended, or has had far more than enough time."""
    ended = set(multiprocessing.connection.wait(list(running), timeout=0.5))
    for sentinel, (process, _, deadline) in list(running.items()):
        if sentinel not in ended and time.monotonic() > deadline:
            process.kill()
            ended.add(sentinel)
    return [running.pop(sentinel)[:2] for sentinel in ended]


def _patience(submission: Submission, job: Job) -> float:
    limits = job.limits
    once = limits.start * (limits.restarts + 2) + 2 * limits.cells
    each = once + (limits.judge + limits.start) * len(job.ids)
    return time.monotonic() + 2 * each * max(1, len(submission.notebooks))


def _start(submission: Submission, job: Job, file: Path) -> BaseProcess:
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    process = context.Process(target=_work, args=(submission, job, file, os.getpid()))
    with warnings.catch_warnings():
        # Python 3.12 warns of threads: the copy touches nothing that theirs hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def _work(submission: Submission, job: Job, file: Path, parent: int) -> None:
    """Grade one submission in a process of its own, which a hostile value at most ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import resource

        libc = ctypes.CDLL(None)
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # ends with the grader
        libc.prctl(4, 0, 0, 0, 0)  # its memory cannot be read by others
        if os.getppid() != parent:
            os._exit(1)
        resource.setrlimit(resource.RLIMIT_AS, (GRADER_MEMORY, GRADER_MEMORY))
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        result = mark_submission(submission, job.ids, job.level, job.stage, job.limits)
        _save(file, result)


def _ungraded(submission: Submission, ids: list[str]) -> Result:
    notes = [*submission.notes, "Grading this submission failed: its marks are not its answers'."]
    return Result(submission.student, {id: Mark(id, Status.MISSING) for id in ids}, notes)


def _save(file: Path, result: Result) -> None:
    report.write(file, json.dumps(result.as_data()))


def _known(file: Path) -> Result | None:
    """The result in a file; None when there is none, or it is damaged."""
    try:
        return Result.from_data(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _bar(total: int, new: int, progress: bool) -> Any:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread beside the processes that are started here
    return tqdm(total=total, initial=total - new, unit="student", disable=not progress)
