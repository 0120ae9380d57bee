"""The command `grade`: a folder of notebooks in, marks and feedback out."""

import argparse
import sys
from pathlib import Path

from tfmlib.grade.levels import LEVELS, Limits


def add_command(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("grade", help="grade a folder of notebooks")
    parser.add_argument("submissions", type=Path, help="one notebook, or one folder, per student")
    parser.add_argument("-o", "--out", type=Path, required=True, help="where the grades go")
    parser.add_argument(
        "--chapter", type=int, action="append", help="grade this chapter (may be repeated)"
    )
    parser.add_argument("--level", choices=LEVELS, help="how notebooks are shut in")
    parser.add_argument(
        "--seconds", type=float, default=Limits.cells, help="for all cells of a notebook"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if sys.platform == "win32":
        raise SystemExit("Grading needs Linux or macOS: on Windows, run it in WSL.")
    from tfmlib.grade.class_run import grade  # asking for help should be quick

    limits = Limits(cells=options.seconds, cell=min(Limits.cell, options.seconds))
    graded, remarks = grade(
        options.submissions, options.out, options.chapter, options.level, limits, progress=True
    )
    print(*remarks, sep="\n")
    print(f"{len(graded)} students: {options.out / 'grades.csv'}, {options.out / 'class.html'}")
    return 0
