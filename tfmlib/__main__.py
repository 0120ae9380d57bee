"""The command line: tfmlib COMMAND, or python -m tfmlib COMMAND."""

import argparse
import errno
import io
import os
import sys
from pathlib import Path

EXTRAS = {  # what `import` may miss -> the optional dependencies that bring it (pyproject.toml)
    "matplotlib": "plots",
    "tqdm": "grade",
    **dict.fromkeys(("num2words", "portalocker", "sacrebleu", "safetensors", "torch"), "train"),
}
FULL_OR_GONE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
READER_LEFT = (errno.EPIPE, errno.EINVAL)  # Windows says the latter


def main(arguments: list[str] | None = None) -> int:
    """Run a command; what the command line itself can lack is told in one sentence."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        how = f'pip install ".[{EXTRAS[package]}]" in the folder of the book'
        return _fail(f"This command needs {package}, which is not installed: {how}.")
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        hint = "set PYTHONIOENCODING=utf-8"
        return _fail(f"The output in {error.encoding} cannot have {letter!r}; {hint}.")
    except OSError as error:
        if error.filename is not None or error.errno not in (*FULL_OR_GONE, *READER_LEFT):
            raise
        _forget_output()
        if error.errno in READER_LEFT:
            return 0
        return _fail(f"Could not write the output: {error.strerror}.")


def _run(arguments: list[str] | None) -> int:
    options = _parse(arguments)
    # Files and pipes are in UTF-8 on every system; a terminal has its own way.
    is_chosen = "PYTHONIOENCODING" in os.environ or sys.stdout is None or sys.stdout.isatty()
    if not is_chosen and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    code: int = options.run(options)
    return code


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    from tfmlib import __version__
    from tfmlib.checking import answers_command as answers
    from tfmlib.checking import command as checking
    from tfmlib.grade import command as grade
    from tfmlib.ledger import command as ledger
    from tfmlib.runs import command as runs

    arguments = sys.argv[1:] if arguments is None else arguments
    is_script = Path(sys.argv[0]).stem == "tfmlib"
    prog = "tfmlib" if is_script else "python -m tfmlib"
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    parser.add_argument("--version", action="version", version=f"tfmlib {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True)
    for room in (ledger, checking, answers, grade, runs):
        room.add_command(subparsers)
    options, rest = parser.parse_known_args(arguments)
    unknown = options.take_rest(options, rest) if "take_rest" in options else rest
    if unknown:  # told with the usage of this command, not with that of all
        command = subparsers.choices[options.command]
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def _forget_output() -> None:
    """Nothing more can be written, and Python would complain again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
