"""The list of all exercises: python -m tfmlib exercises [--json]."""

import argparse
import json

from tfmlib.checking.catalogue import all_exercises


def rows() -> list[dict]:
    """One row an exercise, as data."""
    return [
        {
            "id": e.id,
            "title": e.title,
            "chapter": e.chapter,
            "answer": e.answer,
            "expectations": len(e.expectations),
            "hints": len(e.hints),
            "mistakes": len(e.mistakes),
        }
        for e in all_exercises()
    ]


def add_command(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("exercises", help="list the exercises")
    parser.add_argument("--json", action="store_true", help="the same as data")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps(rows(), indent=2))
        return 0
    print(f"{'id':>5}  {'answer':28} {'expect.':>7} {'hints':>5} {'mistakes':>8}  title")
    for row in rows():
        print(
            f"{row['id']:>5}  {row['answer']:28} {row['expectations']:7} {row['hints']:5} "
            f"{row['mistakes']:8}  {row['title']}"
        )
    return 0
