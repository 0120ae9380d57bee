"""The commands `train` and `translate`; torch is imported only when one of them begins."""

import argparse
import io
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfmlib.runs import failures, translator
from tfmlib.runs.console import CONSOLE
from tfmlib.runs.failures import RunError
from tfmlib.runs.folder import Run
from tfmlib.runs.settings import Settings, flag_name

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(subparsers: "Subparsers") -> None:
    _add_train(subparsers)
    _add_translate(subparsers)


# --- train --------------------------------------------------------------------------------------


def _add_train(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser("train", help="train a translator, or resume its training")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the run")
    parser.add_argument(
        "--resume", action="store_true", help="continue from the last checkpoint in it"
    )
    parser.add_argument(
        "--device", default="auto", choices=("auto", "cpu", "cuda", "mps"), help="where to compute"
    )
    parser.add_argument("--compile", action="store_true", help="let torch compile the model first")
    group = parser.add_argument_group(
        "settings", "they are kept: a resumed run takes them as they were"
    )
    for setting in fields(Settings):
        if setting.metadata:
            default = "" if setting.default is None else f" ({setting.default})"
            group.add_argument(
                flag_name(setting.name),
                type=setting.metadata["kind"],
                default=argparse.SUPPRESS,
                metavar=setting.name.upper(),
                help=setting.metadata["help"] + default,
            )
    group.add_argument(
        "--set",
        dest="changes",
        action="append",
        type=_parse_change,
        default=argparse.SUPPRESS,
        metavar="NAME=VALUE",
        help="change a size of the preset, such as d_model=64 or dropout=0 (may be repeated)",
    )
    parser.set_defaults(run=train)


def _parse_change(text: str) -> tuple[str, Any]:
    """A size of the model and its new value.

    >>> _parse_change("d_model=64")
    ('d_model', 64)
    """
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected NAME=VALUE with a number, true or false, got {text!r}"
        ) from None


def train(options: argparse.Namespace) -> int:
    from tfmlib import parallel
    from tfmlib.runs.session import train_run

    given = {s.name: getattr(options, s.name) for s in fields(Settings) if s.name in options}
    if "changes" in given:
        given["changes"] = dict(given["changes"])
    for name in {"source", "target"} & given.keys():
        given[name] = str(_absolute(Path(given[name])))
    code = train_run(Run(options.out), given, options.resume, options.device, options.compile)
    return code if parallel.world_from_env().size == 1 else parallel.end(code)


def _absolute(path: Path) -> Path:
    """A path that leads to the same file from elsewhere, as a run may be resumed from there.

    What is no file on a disk, such as a shell's <(…), has no other name than the one it came with.
    """
    return path.resolve() if path.is_file() else path.absolute()


# --- translate ----------------------------------------------------------------------------------


def _add_translate(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser("translate", help="translate with a trained run")
    parser.add_argument("trained", type=Path, metavar="RUN", help="its folder, or a checkpoint")
    parser.add_argument("texts", nargs="*", help="what to translate (else: standard input)")
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="width of the search (1)")
    parser.add_argument(
        "--show-attention", type=Path, metavar="PNG", help="draw what one text's translation reads"
    )
    parser.set_defaults(run=translate, take_rest=_take_texts)


def _take_texts(options: argparse.Namespace, rest: list[str]) -> list[str]:
    """Take the texts that an option separates from RUN, which argparse leaves over, if all is text.

    Return what is unknown.
    """
    end = rest.index("--") if "--" in rest else len(rest)  # of what may be options
    if any(word.startswith("-") for word in rest[:end]):
        return rest
    options.texts += rest[:end] + rest[end + 1 :]
    return []


def translate(options: argparse.Namespace) -> int:
    try:
        _check(options)
        loaded = translator.load(options.trained)
        if options.show_attention:
            return _draw(loaded, options)
        texts = options.texts or _standard_input()
        return _translate_lines(loaded, texts, options.beam, is_stream=not options.texts)
    except UnicodeEncodeError:  # a ValueError, but of the output
        raise
    except (RunError, ValueError) as error:
        message = str(error)
    except (MemoryError, RuntimeError, TypeError) as error:  # torch raises any of them
        if not failures.is_out_of_memory(error):
            raise
        message = failures.out_of_memory_to_translate(options.beam)
    except OSError as error:
        if error.filename is None:  # standard output
            raise
        message = f"{error.filename}: {error.strerror}."
    print(message, file=CONSOLE)
    return 1


def _check(options: argparse.Namespace) -> None:
    if options.beam < 1:
        raise ValueError(f"expected at least 1 for --beam, got {options.beam}.")
    png = options.show_attention
    if png is None:
        return
    if len(options.texts) != 1:
        raise ValueError(f"--show-attention draws one text, got {len(options.texts)}; name one.")
    if not options.texts[0].strip():
        raise ValueError("--show-attention draws one text, got an empty one; name another.")
    if png.suffix.lower() != ".png" or not png.parent.is_dir():
        raise ValueError(f"expected a .png file in a folder that exists, got {png}.")


def _standard_input() -> Iterable[str]:
    """Its lines, in UTF-8 unless a person types them or has chosen an encoding."""
    stdin = sys.stdin
    if stdin is None:
        raise ValueError("there is no standard input to read; name a text.")
    if stdin.isatty():
        print("Type a text and press Enter; Ctrl-C ends.", file=CONSOLE)
    if isinstance(stdin, io.TextIOWrapper):
        if not stdin.isatty() and "PYTHONIOENCODING" not in os.environ:
            stdin.reconfigure(encoding="utf-8")
        # A line that is no text is told when it is its turn, and the others are translated.
        stdin.reconfigure(errors="surrogateescape")
    return stdin


def _translate_lines(
    loaded: translator.Translator, texts: Iterable[str], beams: int, is_stream: bool
) -> int:
    """Print a line for each text as soon as it comes, an empty one if it cannot be translated."""
    exit_code = 0
    for number, text in enumerate(texts, start=1):
        try:
            (translation,) = loaded.translate([text], beams)
        except translator.UnknownText as error:
            where = f"line {number}: " if is_stream else ""
            print(f"{where}{error}", file=CONSOLE)
            translation, exit_code = "", 1
        print(translation, flush=True)
    return exit_code


def _draw(loaded: translator.Translator, options: argparse.Namespace) -> int:
    (text,) = options.texts
    (translation,) = loaded.translate([text], options.beam)
    print(translation)
    picture = loaded.show_attention(text.strip(), translation)
    try:
        options.show_attention.write_bytes(picture.png())
    except OSError as error:  # of a full disk it does not say where
        raise OSError(error.errno, error.strerror, str(options.show_attention)) from None
    print(f"{options.show_attention}: {picture.alt}", file=CONSOLE)
    return 0
