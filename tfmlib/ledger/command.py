"""The command `ledger`: prints every entry, as a table or as JSON."""

import argparse
import sys

from tfmlib import ledger
from tfmlib.ledger.table import text_table


def add_command(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register `ledger` with the command line."""
    summary = "every number of the documents, computed again"
    parser = subparsers.add_parser("ledger", help=summary, description=summary.capitalize() + ".")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the ledger."""
    text = ledger.as_json() if args.json else text_table(ledger.entries(), ledger.counts())
    sys.stdout.write(text + "\n")
    return 0
