"""The commands `exercises`, which lists them all, and `verify`, which proves them."""

import argparse
import json
import re
import sys
from dataclasses import asdict
from typing import Any

from tfmlib.checking.catalogue import all_exercises
from tfmlib.support import notebooks


def add_command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    listing = subparsers.add_parser("exercises", help="list the exercises")
    listing.add_argument("--json", action="store_true", help="the same as data")
    listing.set_defaults(run=list_exercises)
    proof = subparsers.add_parser("verify", help="prove every exercise against wrong answers")
    proof.add_argument("--only", default="", metavar="ID", help="one exercise (4.3) or chapter (4)")
    proof.add_argument("--json", action="store_true", help="the same as data")
    proof.set_defaults(run=verify_exercises)


def rows() -> list[dict[str, Any]]:
    """One row per exercise, as data."""
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


def list_exercises(options: argparse.Namespace) -> int:
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


def verify_exercises(options: argparse.Namespace) -> int:
    from tfmlib.checking.verify import holds, prove_all, table  # no other command needs it

    if not notebooks.read_folder("solutions"):
        print(
            f"verify needs the book's notebooks, and {notebooks.ROOT} has no solutions/: run it in "
            "a clone of the repository.",
            file=sys.stderr,
        )
        return 2
    known = [exercise.id for exercise in all_exercises()]
    wanted = re.compile(rf"^{re.escape(options.only)}(\.|$)") if options.only else re.compile("")
    ids = [id for id in known if wanted.match(id)]
    if not ids:
        print(f"There is no exercise {options.only!r}.", file=sys.stderr)
        return 2
    proofs = prove_all(ids)
    if options.json:
        found = {"holds": holds(proofs), "exercises": [asdict(proof) for proof in proofs]}
        print(json.dumps(found, indent=2))
    else:
        print(table(proofs))
        print("All checks are proved." if holds(proofs) else "Not all checks are proved.")
    return 0 if holds(proofs) else 1
