"""Byte-pair encoding in pure Python against the Rust `tokenizers`, both in one thread.

Both read the same lines, know the same 256 bytes and three special tokens, and stop at the same
size. Rust runs twice, with our way to cut a text into words and with its own, which it does
faster; the reported ratio is the worse of the two. What still differs: between equally frequent
pairs Rust orders bytes by its own alphabet, and it gives two merges of the same bytes one id.
"""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from benchmarks.harness import Row, compare
from tfmlib.tokenizer import PIECE, BPETokenizer

SIZE, VOCABULARY = 2_000_000, 4096  # bytes of text, tokens
SKIPPED = {"test", "tests", "site-packages", "dist-packages", "pydoc_data"}


def prose(source: str) -> Iterator[str]:
    """What people wrote for people in a Python file: its docstrings, then its comments."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text
    for line in source.splitlines():
        if line.lstrip().startswith("#"):
            yield line.strip(" #")


def library() -> Iterator[str]:
    """What every machine with Python has to read: its help pages, then its library's prose."""
    yield from (topics[name] for name in sorted(topics))
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if not SKIPPED & set(path.relative_to(root).parts):
            try:
                yield from prose(path.read_text("utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue  # some files are broken on purpose, for the tests of other tools


def english() -> list[str]:
    """Two megabytes of lines in which words are as frequent as people use them."""
    lines, size = [], 0
    for text in library():
        for line in f"{text}\n".splitlines(keepends=True):
            lines.append(line)
            size += len(line.encode())
            if size >= SIZE:
                return lines
    raise SystemExit(f"Expected {SIZE} bytes of prose in Python's library, found {size}.")


def our_cut() -> pre_tokenizers.PreTokenizer:
    """Rust with our regular expression: the same words as ours, character by character."""
    cut = pre_tokenizers.Split(Regex(f"(?x){PIECE.pattern}"), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([cut, to_bytes])


def its_own_cut() -> pre_tokenizers.PreTokenizer:
    """Rust with GPT-2's regular expression, which it has built in."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


def train_rust(lines: list[str], cut: pre_tokenizers.PreTokenizer) -> Tokenizer:
    """Train the peer as nearly as possible as `BPETokenizer.train` does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cut
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        show_progress=False,
        special_tokens=list(BPETokenizer.special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def rows() -> list[Row]:
    """Training against Rust; encoding with a new tokenizer that remembers no word."""
    lines = english()
    text = "".join(lines)
    ours, theirs = BPETokenizer.train(lines, VOCABULARY), train_rust(lines, our_cut())
    assert ours.vocab_size == theirs.get_vocab_size() == VOCABULARY
    assert ours.decode(ours.encode(text)) == text
    short, long = sorted((len(ours.encode(text)), len(theirs.encode(text).ids)))
    assert long <= 1.002 * short, "the two learnt different things"
    times = compare(
        {
            "train, tfmlib": lambda: BPETokenizer.train(lines, VOCABULARY),
            "train, Rust": lambda: train_rust(lines, our_cut()),
            "train, Rust's own cut": lambda: train_rust(lines, its_own_cut()),
            "encode, tfmlib": lambda: BPETokenizer(ours.merges).encode(text),
        },
        rounds=7,
    )
    speed = len(text.encode()) / 1e6 / times.seconds("encode, tfmlib")
    peers = ("train, Rust", "train, Rust's own cut")
    training = max(times.ratio("train, tfmlib", peer) for peer in peers)
    return [
        Row("BPE training, 2 MB to 4096 tokens: time of Rust's tokenizers", training, 1.6),
        Row("BPE encoding, empty cache", speed, 1.0, at_least=True, unit=" MB/s"),
    ]
