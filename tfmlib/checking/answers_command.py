"""The command `answers`: save what a learner has written and tried, or load it into notebooks."""

import argparse
import sys
from collections.abc import Callable, Sized
from pathlib import Path

from tfmlib.support.notebooks import ROOT


def add_command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("answers", help="carry answers between the page and Jupyter")
    actions = parser.add_subparsers(dest="action", required=True)
    saving = actions.add_parser("save", help="write answers and progress into one file")
    saving.add_argument("file", type=Path, help="such as my-answers.json")
    saving.set_defaults(run=save)
    loading = actions.add_parser("load", help="put answers into the notebooks, attempts in the log")
    loading.add_argument("file", type=Path, help="answers (.json), a notebook or attempts (.jsonl)")
    loading.set_defaults(run=load)
    for action in (saving, loading):
        action.add_argument(
            "--notebooks",
            type=Path,
            default=ROOT / "notebooks",
            metavar="DIR",
            help="where your notebooks are (default: those of the clone)",
        )


def save(options: argparse.Namespace) -> int:
    return _told(_save, options)


def load(options: argparse.Namespace) -> int:
    return _told(_load, options)


def _save(file: Path, folder: Path) -> list[str]:
    from tfmlib.checking import answers
    from tfmlib.support.files import write_whole

    carried = answers.in_folder(folder)
    content = answers.as_text(carried).encode()
    told = carried.ignored
    if file.exists() and (before := file.read_bytes()) != content:
        if not answers.is_file_of_answers(before):
            raise ValueError(f"Expected a new file, but {file} is there: choose another name.")
        copy = answers.keep_copy(file, before, "save")
        told = [*told, f"The file that was there is kept as {copy.name}."]
    write_whole(file, content)
    what = f"{_count(carried.answers, 'answer')} and {_count(carried.progress, 'attempt')}"
    return [*told, f"{file}: {what}."]


def _load(file: Path, folder: Path) -> list[str]:
    from tfmlib.checking import answers
    from tfmlib.checking.catalogue import all_exercises

    carried = answers.read(_content(file, answers.MOST_BYTES), file.name)
    carried = answers.only_known(carried, {exercise.id for exercise in all_exercises()})
    told = list(carried.ignored)
    if carried.blank:
        told.append(f"Still blank: {', '.join(sorted(carried.blank, key=answers.order))}.")
    changed = answers.put_answers(carried.answers, folder)
    if carried.answers and not changed:
        told.append("The notebooks have all of its answers already.")
    told += changed
    log = answers.log_of(folder)
    if not carried.progress:
        return told
    if log is None:
        told.append("Attempts were left out: TFM_PROGRESS is off.")
    else:
        new = answers.add_attempts(carried.progress, log)
        told.append(f"{log}: {new} of {_count(carried.progress, 'attempt')} added.")
    return told


def _content(file: Path, most: int) -> bytes:
    """The file, or so much of it that it is known to be too large."""
    with open(file, "rb") as opened:
        return opened.read(most + 1)


def _told(act: Callable[[Path, Path], list[str]], options: argparse.Namespace) -> int:
    """Do it and say what was done; what cannot be done is told in one sentence."""
    folder: Path = options.notebooks
    try:
        if not folder.is_dir():
            raise ValueError(
                f"Expected a folder of notebooks, but {folder} is none: use --notebooks."
            )
        told = act(options.file, folder)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or options.file}: {error.strerror}.", file=sys.stderr)
        return 1
    print(*told, sep="\n")
    return 0


def _count(things: Sized, noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
