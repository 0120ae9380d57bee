"""A trained run at work: it translates texts, and shows what it looked at.

torch is imported only when a run is loaded: asking for help should be quick.
"""

import argparse
import errno
import io
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tfmlib.data import LONGEST, encode_source, encode_target
from tfmlib.runs.console import ONLOOKER
from tfmlib.runs.folder import Run, RunError, is_out_of_memory
from tfmlib.tokenizer import Tokenizer, split_words

if TYPE_CHECKING:
    from tfmlib.checkpoint import Checkpoint
    from tfmlib.model import Transformer
    from tfmlib.plots import Picture


class UnknownText(ValueError):  # noqa: N818
    """A text that the vocabulary of a run has no words for."""


@dataclass(frozen=True)
class Translator:
    """A model and the vocabulary it was trained with."""

    model: "Transformer"
    tokenizer: Tokenizer

    def translate(self, texts: Sequence[str], beams: int = 1) -> list[str]:
        """The translation of each text, greedily or with beams; nothing becomes nothing."""
        from tfmlib import train

        texts = [text.removeprefix("\ufeff").strip() for text in texts]  # PowerShell's mark
        for text in filter(None, texts):
            self._require_known(text)
        full = [text for text in texts if text]
        written = iter(train.translate(self.model, self.tokenizer, full, beams=beams))
        return [next(written) if text else "" for text in texts]

    def show_attention(self, text: str, translation: str) -> "Picture":
        """Which words of the text the last layer looks at before it writes each token."""
        import torch

        from tfmlib import plots
        from tfmlib.model import attention_maps

        src, tgt = encode_source(self.tokenizer, text), encode_target(self.tokenizer, translation)
        maps = attention_maps(self.model, torch.tensor([src]), torch.tensor([tgt[:-1]]))
        *_, last = (maps[name] for name in maps if name.endswith("cross_attention"))
        return plots.attention_heads(
            last[0],  # (H, T, S)
            rows=self.tokenizer.tokens(tgt[1:]),
            columns=self.tokenizer.tokens(src),
            xlabel="source",
            ylabel="target",
            title="Cross-attention of the last layer",
        )

    def _require_known(self, text: str) -> None:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UnknownText(f"expected text in UTF-8, got bytes that are none in {text!r}.")
        if len(text) > LONGEST:
            raise UnknownText(f"expected at most {LONGEST:,} characters, got {len(text):,}.")
        unknown = self.tokenizer.unk_id
        if unknown is None:  # byte pairs can spell any text
            return
        ids = self.tokenizer.encode(text)
        words = zip(split_words(text), ids, strict=True)
        strange = list(dict.fromkeys(word for word, i in words if i == unknown))
        if strange:
            raise UnknownText(
                f"the run has not learned {', '.join(map(repr, strange))}; "
                "the words that it knows are in its tokenizer.json."
            )
        if not ids:
            raise UnknownText(f"expected words, got {text!r}.")


def load(path: str | Path) -> Translator:
    """Load the best weights of a run, or the checkpoint that the path names.

    The weights that did best in validation come first; before there are any, the last checkpoint.
    """
    from tfmlib import checkpoint
    from tfmlib.checkpoint import CheckpointError
    from tfmlib.model import Transformer

    path = Path(path)
    run = Run(path if path.is_dir() else path.parent)
    if not path.exists():
        raise RunError(f"there is no {path}; expected the folder of a run, or a checkpoint in it.")
    if not path.is_dir() and not run.has_begun():
        raise RunError(
            f"{path} is a file, and not in the folder of a run; expected such a folder, "
            "or a checkpoint in it."
        )
    about = run.read()
    try:
        found, path = _load_best(run) if path.is_dir() else (checkpoint.load(path), path)
    except CheckpointError as error:
        raise RunError(f"{error} {_other_weights(run)}") from None
    tokenizer = run.read_tokenizer(about)
    if found.config.vocab_size != tokenizer.vocab_size:
        raise RunError(
            f"{path} is of a model with {found.config.vocab_size} tokens, but the run's "
            f"vocabulary has {tokenizer.vocab_size}; they belong to different runs."
        )
    model = Transformer(found.config).eval()
    checkpoint.restore(found, model)
    return Translator(model, tokenizer)


def _load_best(run: Run) -> tuple["Checkpoint", Path]:
    """The best weights of a run, or its last ones as long as none were validated, and their path.

    If they are lost, that is a CheckpointError: others might not do as well.
    """
    from tfmlib import checkpoint

    if run.best.exists():
        return checkpoint.load(run.best), run.best
    if not run.checkpoints():
        raise RunError(f"{run.folder} has no checkpoint yet; train it for longer.")
    last = run.checkpoints()[-1]
    found = checkpoint.load(last)
    if found.best is not None:  # so there were best weights
        checkpoint.load(run.best)
    return found, last


def _other_weights(run: Run) -> str:
    """What a person may translate with when the weights that were wanted cannot be used."""
    from tfmlib import checkpoint

    whole, _ = checkpoint.split_damaged([*run.checkpoints(), run.best])
    if whole is None:
        return "No other weights of the run are whole: train it again, in another folder."
    return f"{whole} is whole: name it to translate with that."


# --- the command --------------------------------------------------------------------------------


def add_command(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("translate", help="translate with a trained run")
    parser.add_argument("trained", type=Path, metavar="RUN", help="its folder, or a checkpoint")
    parser.add_argument("texts", nargs="*", help="what to translate (else: standard input)")
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="follow N beginnings (1)")
    parser.add_argument(
        "--show-attention", type=Path, metavar="PNG", help="draw what one text's translation reads"
    )
    parser.set_defaults(run=run)
    _allow_texts_after_options(parser)


def _allow_texts_after_options(parser: argparse.ArgumentParser) -> None:
    """Python 3.11 takes no texts that are parted from RUN by an option, and calls them unknown."""
    parse = parser.parse_known_args

    def parse_known_args(args=None, namespace=None):
        namespace, rest = parse(args, namespace)
        end = rest.index("--") if "--" in rest else len(rest)  # of what may be options
        if not any(word.startswith("-") for word in rest[:end]):
            namespace.texts += rest[:end] + rest[end + 1 :]
            rest = []
        return namespace, rest

    parser.parse_known_args = parse_known_args


def run(options: argparse.Namespace) -> int:
    try:
        _check(options)
        _use_utf8(sys.stdout)
        translator = load(options.trained)
        if options.show_attention:
            return _draw(translator, options)
        texts = options.texts or _standard_input()
        return _filter(translator, texts, options.beam, is_stream=not options.texts)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        hint = "set PYTHONIOENCODING=utf-8"
        print(f"The output in {error.encoding} cannot have {letter!r}; {hint}.", file=ONLOOKER)
        return 1
    except (RunError, ValueError) as error:
        print(error, file=ONLOOKER)
        return 1
    except KeyboardInterrupt:
        return 130
    except (MemoryError, RuntimeError, TypeError) as error:  # torch raises any of them
        if not is_out_of_memory(error):
            raise
        print(_out_of_memory(options.beam), file=ONLOOKER)
        return 1
    except OSError as error:
        return _tell(error)


def _out_of_memory(beams: int) -> str:
    if beams == 1:
        return "There is not enough memory to translate; free some."
    return f"There is not enough memory to follow {beams:,} beginnings; lower --beam."


def _tell(error: OSError) -> int:
    """Say what could not be read or written; a reader that has had enough, as head has, may go."""
    if error.filename is not None:
        print(f"{error.filename}: {error.strerror}.", file=ONLOOKER)
        return 1
    # Nothing more can be written, and Python would complain again when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno in (errno.EPIPE, errno.EINVAL):  # Windows says the latter
        return 0
    print(f"Could not write the translation: {error.strerror}.", file=ONLOOKER)
    return 1


def _check(options: argparse.Namespace) -> None:
    if options.beam < 1:
        raise RunError(f"expected at least 1 for --beam, got {options.beam}.")
    png = options.show_attention
    if png is None:
        return
    if len(options.texts) != 1:
        raise RunError(f"--show-attention draws one text, got {len(options.texts)}; name one.")
    if not options.texts[0].strip():
        raise RunError("--show-attention draws one text, got an empty one; name another.")
    if png.suffix.lower() != ".png" or not png.parent.is_dir():
        raise RunError(f"expected a .png file in a folder that exists, got {png}.")


def _use_utf8(stream: TextIO) -> None:
    """In pipes and files, as in the text that was trained on; a terminal has its own way."""
    is_file = isinstance(stream, io.TextIOWrapper) and not stream.isatty()
    if is_file and "PYTHONIOENCODING" not in os.environ:
        stream.reconfigure(encoding="utf-8")


def _standard_input() -> Iterable[str]:
    if sys.stdin is None:
        raise RunError("there is no standard input to read; name a text.")
    if sys.stdin.isatty():
        print("Type a text and press Enter; Ctrl-C ends.", file=ONLOOKER)
    _use_utf8(sys.stdin)
    # A line that is no text is told when it is its turn, and the others are translated.
    sys.stdin.reconfigure(errors="surrogateescape")
    return sys.stdin


def _filter(translator: Translator, texts: Iterable[str], beams: int, is_stream: bool) -> int:
    """Print a line for each text as soon as it comes, an empty one if it cannot be translated."""
    exit_code = 0
    for number, text in enumerate(texts, start=1):
        try:
            (translation,) = translator.translate([text], beams)
        except UnknownText as error:
            where = f"line {number}: " if is_stream else ""
            print(f"{where}{error}", file=ONLOOKER)
            translation, exit_code = "", 1
        print(translation, flush=True)
    return exit_code


def _draw(translator: Translator, options: argparse.Namespace) -> int:
    (text,) = options.texts
    (translation,) = translator.translate([text], options.beam)
    print(translation)
    picture = translator.show_attention(text.strip(), translation)
    try:
        options.show_attention.write_bytes(picture.png())
    except OSError as error:  # of a full disk it does not say where
        raise OSError(error.errno, error.strerror, str(options.show_attention)) from None
    print(f"{options.show_attention}: {picture.alt}", file=ONLOOKER)
    return 0
