"""The command line: python -m tfmlib COMMAND."""

import argparse
import sys

from tfmlib import grade, ledger, listing, run, translator, verify


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tfmlib", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    for module in (ledger, listing, verify, grade, run, translator):
        module.add_command(subparsers)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:  # told with the usage of this command, not with that of all
        command = subparsers.choices[options.command]
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
