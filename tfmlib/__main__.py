"""The command line: python -m tfmlib COMMAND."""

import sys


def main(arguments: list[str] | None = None) -> int:
    try:
        options = _parse(arguments)
    except KeyboardInterrupt:  # the imports take a moment, and a person may think again
        return 130
    return options.run(options)


def _parse(arguments: list[str] | None):
    import argparse

    from tfmlib import ledger
    from tfmlib.checking import command as listing
    from tfmlib.checking import verify
    from tfmlib.grade import class_run as grade
    from tfmlib.runs import folder as run
    from tfmlib.runs import translator

    parser = argparse.ArgumentParser(prog="python -m tfmlib", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", required=True)
    for module in (ledger, listing, verify, grade, run, translator):
        module.add_command(subparsers)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:  # told with the usage of this command, not with that of all
        command = subparsers.choices[options.command]
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
