"""The command line: python -m tfmlib COMMAND."""

import argparse
import sys

from tfmlib import grade, ledger, listing, run, translator, verify


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tfmlib", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    for module in (ledger, listing, verify, grade, run, translator):
        module.add_command(subparsers)
    options = parser.parse_args(arguments)
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
