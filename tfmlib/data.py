"""The translation task: numbers in words, or two files of your own, split and cut into batches.

Texts come in pairs, source and target. A `Task` holds three lists of them that share no source,
and the tokenizer that turns both languages into ids of one vocabulary. NumPy alone is needed; the
numbers in words come from the package num2words.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tfmlib.tokenizer import Tokenizer, WordTokenizer

Pair = tuple[str, str]  # source, target
Batch = tuple[NDArray[np.int64], NDArray[np.int64]]  # ids of sources (B, S) and targets (B, T)
LANGUAGES = ("en", "de", "fr")
LARGEST = 1_000_000  # numbers stay below it
LONGEST = 5000  # characters of a line: no sentence has more, and one that had would stall training

# --- numbers in words ---------------------------------------------------------------------------


def number_words(n: int, language: str) -> str:
    """Write a number in words, with spaces where a token ends.

    German writes a number as one word; its parts are cut apart, so that they can be tokens.
    The words are num2words' own, which says eins tausend where Germans say ein tausend in 101,000.

    >>> [number_words(21, language) for language in LANGUAGES]
    ['twenty one', 'ein und zwanzig', 'vingt et un']
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n < LARGEST:
        raise ValueError(f"expected a whole number from 0 to {LARGEST - 1:,}, got {n!r}.")
    words = _num2words()(int(n), lang=_language(language))
    if language == "de":
        return " ".join(_morphemes().findall(words))
    return " ".join(re.findall(r"\w+", words))  # without hyphens and commas


def _language(language: str) -> str:
    if language not in LANGUAGES:
        raise ValueError(f"expected a language of {', '.join(LANGUAGES)}, got {language!r}.")
    return language


def _num2words() -> Callable[..., str]:
    try:
        from num2words import num2words
    except ImportError:
        raise ModuleNotFoundError(
            "numbers in words need the package num2words; install it with: pip install num2words",
            name="num2words",
        ) from None
    return num2words


@cache
def _morphemes() -> re.Pattern[str]:
    """What German numbers are made of, the longest first: siebzehn before sieben."""
    small = [_num2words()(n, lang="de") for n in [*range(21), *range(30, 100, 10)]]
    parts = [*small, "ein", "und", "hundert", "tausend"]
    return re.compile("|".join(sorted(parts, key=len, reverse=True)))


def number_pairs(numbers: Iterable[int], source: str = "en", target: str = "de") -> list[Pair]:
    """Write each number in two languages.

    >>> number_pairs([7, 85])
    [('seven', 'sieben'), ('eighty five', 'fünf und achtzig')]
    """
    return [(number_words(n, source), number_words(n, target)) for n in numbers]


def split_numbers(
    below: int, train: int, validation: int, test: int, seed: int = 0
) -> tuple[list[int], list[int], list[int]]:
    """Draw three lists of numbers, no number in two of them.

    Validation and test are drawn evenly from all numbers. Most of these are long, so training
    takes an equal share of each length, as far as there are as many: it must see short ones too.

    >>> [len(part) for part in split_numbers(1000, train=200, validation=20, test=30)]
    [200, 20, 30]
    """
    if not 1 <= below <= LARGEST:
        raise ValueError(f"expected numbers below at most {LARGEST:,}, got {below:,}.")
    if min(train, validation, test) < 0 or train + validation + test > below:
        more = "raise `below` or " if below < LARGEST else ""
        raise ValueError(
            f"expected counts that add up to at most {below:,} numbers, got {train:,} + "
            f"{validation:,} + {test:,} for training, validation and test; {more}ask for fewer."
        )
    draw = random.Random(seed)
    held_out = draw.sample(range(below), validation + test)
    chosen = _draw_by_length(set(held_out), below, train, draw)
    return chosen, held_out[:validation], held_out[validation:]


def _draw_by_length(held_out: set[int], below: int, wanted: int, draw: random.Random) -> list[int]:
    chosen: list[int] = []
    lengths = range(1, len(str(below - 1)) + 1)
    for digits in lengths:  # the short ones first: what they cannot give, the longer ones do
        low, high = (0 if digits == 1 else 10 ** (digits - 1)), min(10**digits, below)
        free = [n for n in range(low, high) if n not in held_out]
        share = -(-(wanted - len(chosen)) // (len(lengths) - digits + 1))
        chosen += draw.sample(free, min(share, len(free)))
    rest = set(range(below)) - held_out - set(chosen) if len(chosen) < wanted else ()
    chosen += draw.sample(sorted(rest), wanted - len(chosen))
    draw.shuffle(chosen)
    return chosen


# --- your own text ------------------------------------------------------------------------------


def read_pairs(source: str | Path, target: str | Path) -> list[Pair]:
    """Read two files with one sentence a line; line n of one is the translation of line n."""
    sources, targets = _read_lines(Path(source)), _read_lines(Path(target))
    if len(sources) != len(targets):
        longer, other = (source, target) if len(sources) > len(targets) else (target, source)
        first = min(len(sources), len(targets)) + 1
        raise ValueError(
            f"{longer}, line {first}: no partner in {other}, which has {first - 1} lines; "
            "both files need one sentence a line, in the same order."
        )
    return list(zip(sources, targets, strict=True))


def _read_lines(path: Path) -> list[str]:
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")  # some editors begin with a mark
    lines = content.split(b"\n" if b"\n" in content else b"\r")  # the latter on old Macs
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise ValueError(f"{path}, line 1: the file is empty; expected one sentence a line.")
    return [_read_line(path, number, line) for number, line in enumerate(lines, start=1)]


def _read_line(path: Path, number: int, line: bytes) -> str:
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number}: byte {error.start + 1} of the line is not UTF-8; "
            "save the file in UTF-8."
        ) from None
    if not text:
        raise ValueError(f"{path}, line {number}: empty; remove this line from both files.")
    if len(text) > LONGEST:
        raise ValueError(
            f"{path}, line {number}: {len(text):,} characters, expected one sentence of at most "
            f"{LONGEST:,}; split this line in both files, or remove it."
        )
    return text


# --- the task -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Pairs to train on, to choose by and to test with, and the tokenizer for all of them."""

    train: list[Pair]
    validation: list[Pair]  # looked at while training, never trained on
    test: list[Pair]  # looked at once, at the end
    tokenizer: Tokenizer  # one vocabulary for both languages


def number_task(
    name: str = "en-de",
    below: int = LARGEST,
    train: int = 29_000,
    validation: int = 500,
    test: int = 1000,
    seed: int = 0,
) -> Task:
    """Make the pairs of a task such as en-de, from numbers drawn by `split_numbers`.

    >>> task = number_task("en-fr", below=100, train=70, validation=5, test=20)
    >>> len(task.train), len(task.test), task.tokenizer.decode(task.tokenizer.encode("Vingt-deux"))
    (70, 20, 'vingt deux')
    """
    source, dash, target = name.partition("-")
    if not dash or source == target:
        raise ValueError(f"expected a task of two languages such as en-de, got {name!r}.")
    languages = _language(source), _language(target)
    numbers = split_numbers(below, train, validation, test, seed)
    in_words = [number_pairs(part, *languages) for part in numbers]
    # The vocabulary is that of the languages, not of the draw: no number has an unknown word.
    every = [*range(101), 101, 200, 1000, 1001, 2000, 80_000, 200_000]
    texts = [text for pair in number_pairs(every, *languages) for text in pair]
    return Task(in_words[0], in_words[1], in_words[2], WordTokenizer.train(texts))


def text_task(
    source: str | Path,
    target: str | Path,
    validation: int = 500,
    test: int = 1000,
    seed: int = 0,
    make_tokenizer: Callable[[list[str]], Tokenizer] = WordTokenizer.train,
) -> Task:
    """Make a task from two files of your own.

    A sentence that occurs again, with the same or another translation, stays in one part. The
    tokenizer learns from the training part alone, as it will meet new text.
    """
    pairs = list(dict.fromkeys(read_pairs(source, target)))
    sentences = sorted({text for text, _ in pairs})
    if validation < 0 or test < 0 or validation + test >= len(sentences):
        fewer = "hold out fewer, or " if max(validation, test) > 1 else ""
        raise ValueError(
            f"expected fewer held-out sentences than the {len(sentences):,} that differ in "
            f"{source}, got {validation:,} for validation + {test:,} for test; "
            f"{fewer}bring at least {validation + test + 1:,} different sentences."
        )
    held_out = random.Random(seed).sample(sentences, validation + test)
    part_of = dict.fromkeys(sentences, 0)
    part_of.update(dict.fromkeys(held_out[:validation], 1))
    part_of.update(dict.fromkeys(held_out[validation:], 2))
    parts: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    for pair in pairs:
        parts[part_of[pair[0]]].append(pair)
    return Task(*parts, make_tokenizer([text for pair in parts[0] for text in pair]))


# --- batches ------------------------------------------------------------------------------------


def encode_source(tokenizer: Tokenizer, text: str) -> list[int]:
    """The encoder's input: the tokens of the source, and the end token.

    >>> encode_source(WordTokenizer(["help", "me"]), "help me")
    [4, 5, 2]
    """
    return tokenizer.encode(text, end=True)


def encode_target(tokenizer: Tokenizer, text: str) -> list[int]:
    """The whole target, from the start token to the end token.

    >>> encode_target(WordTokenizer(["help", "me"]), "help me")
    [1, 4, 5, 2]
    """
    return tokenizer.encode(text, start=True, end=True)


class Batches:
    """Pairs of similar length put together, in a new order each epoch, the same for each seed.

    `batches[step]` is a pair of padded arrays, source (B, S) and target (B, T), for any step from
    0: after `len(batches)` steps, an epoch, each pair has come once, and the next epoch begins. A
    step's batch depends on nothing but the seed, so that a run can go on from any step.

    >>> pairs = number_pairs([7, 21, 85])
    >>> batches = Batches(pairs, WordTokenizer.train(" ".join(pair) for pair in pairs), 2)
    >>> len(batches), sorted(src.shape for src, tgt in batches)
    (2, [(1, 3), (2, 3)])
    """

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer, batch_size: int, seed: int = 0):
        if not pairs:
            raise ValueError("expected at least one pair of texts, got none.")
        if batch_size < 1:
            raise ValueError(f"expected a batch_size of at least 1, got {batch_size}.")
        self.pad, self.batch_size, self.seed = tokenizer.pad, batch_size, seed
        self.sources = [encode_source(tokenizer, source) for source, _ in pairs]
        self.targets = [encode_target(tokenizer, target) for _, target in pairs]
        self._epoch = -1
        self._order: list[NDArray[np.int64]] = []  # of that epoch

    def __len__(self) -> int:
        return -(-len(self.sources) // self.batch_size)

    def __getitem__(self, step: int) -> Batch:
        if step < 0:
            raise IndexError(f"expected a step from 0, got {step}.")
        epoch, place = divmod(step, len(self))
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self.order(epoch)
        rows = self._order[place]
        src, tgt = (self.pad([ids[row] for row in rows]) for ids in (self.sources, self.targets))
        return src, tgt  # (B, S), (B, T)

    def __iter__(self) -> Iterator[Batch]:
        """The batches of the first epoch."""
        return (self[step] for step in range(len(self)))

    def order(self, epoch: int) -> list[NDArray[np.int64]]:
        """The rows of each batch: shuffled, sorted by length, cut, and the batches shuffled."""
        draw = np.random.default_rng([self.seed, epoch])
        pairs = zip(self.sources, self.targets, strict=True)
        lengths = np.array([(len(s), len(t)) for s, t in pairs])
        rows = draw.permutation(len(lengths))
        rows = rows[np.lexsort(lengths[rows].T[::-1])]  # equal lengths stay shuffled
        cuts = range(self.batch_size, len(rows), self.batch_size)
        batches = np.split(rows, cuts)
        return [batches[i] for i in draw.permutation(len(batches))]
