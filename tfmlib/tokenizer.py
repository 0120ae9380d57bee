"""From text to token ids and back: whole words first, then byte pairs.

Both tokenizers have the same methods, so that a model can change from one to the other; the
protocol `Tokenizer` says which of them a model needs. Text never turns into a special token: a
sentence that contains the five characters `<pad>` cannot inject padding.
"""

import heapq
import json
import operator
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tfmlib import ref
from tfmlib.support.arrays import Array, ArrayLike
from tfmlib.support.files import write_whole
from tfmlib.support.validate import short_repr, text_of


class Tokenizer(Protocol):
    """What a model needs of its tokenizer: text to ids, ids to text, padding, and a file."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def pad_id(self) -> int: ...
    @property
    def start_id(self) -> int: ...
    @property
    def end_id(self) -> int: ...
    @property
    def unk_id(self) -> int | None: ...
    def encode(self, text: str, *, start: bool = ..., end: bool = ...) -> list[int]: ...
    def decode(self, ids: Iterable[int]) -> str: ...
    def tokens(self, ids: Iterable[int]) -> list[str]: ...
    def pad(self, batch: Iterable[Sequence[int]]) -> NDArray[np.int64]: ...
    def save(self, path: str | Path) -> None: ...


class BaseTokenizer:
    """What all tokenizers share: the special tokens, padding, one-hot vectors and files.

    A child class keeps `_pieces`, the piece of text behind each id, special tokens first.
    """

    special: ClassVar[tuple[str, ...]] = ("<pad>", "<start>", "<end>")
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2
    unk_id: int | None = None
    _pieces: list[Any]

    @property
    def vocab_size(self) -> int:
        """How many ids there are, V; they run from 0 to V - 1."""
        return len(self._pieces)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.vocab_size} tokens>"

    def pad(self, batch: Iterable[Sequence[int]]) -> NDArray[np.int64]:
        """Fill the shorter sequences with `<pad>` on the right, which makes one array of them.

        >>> WordTokenizer(["help", "me"]).pad([[4, 5], [4]])
        array([[4, 5],
               [4, 0]])
        """
        rows = [self._checked(ids) for ids in batch]
        if not rows:
            raise ValueError("expected a batch of at least one sequence, got none; nothing to pad.")
        padded = np.full((len(rows), max(map(len, rows))), self.pad_id, dtype=np.int64)  # (B, T)
        for row, ids in enumerate(rows):
            padded[row, : len(ids)] = ids
        return padded  # (B, T)

    def one_hot(self, ids: ArrayLike) -> Array:
        """Give each id a row of zeros with a single one, in the column of that id.

        >>> WordTokenizer(["help", "me"]).one_hot([5, 4]).astype(int)
        array([[0, 0, 0, 0, 0, 1],
               [0, 0, 0, 0, 1, 0]])
        """
        return ref.one_hot(ids, self.vocab_size)  # (..., V)

    def save(self, path: str | Path) -> None:
        """Write a JSON file that a person can read: a header, then one line for each token."""
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in self._rows())
        text = (
            f'{{"format": {json.dumps(self._format())},\n'
            f'"special": {json.dumps(self.special)},\n'
            f'"rows": [\n{lines}\n]}}\n'
        )
        write_whole(path, text.encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote; any other file gives a ValueError that says what is wrong."""
        rows = cls._read_rows(path)
        try:
            return cls._from_rows(rows)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error} Save the tokenizer again.") from None

    @classmethod
    def _format(cls) -> str:
        return f"tfmlib {cls.__name__} 1"

    @classmethod
    def _read_rows(cls, path: str | Path) -> list[Any]:
        """Check everything about a file that is not a matter of words or merges."""
        try:
            content = json.loads(Path(path).read_bytes().decode("utf-8"))
        except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested without end
            raise ValueError(f"{path} is not a tokenizer file: no valid JSON ({error}).") from None
        found = content.get("format") if isinstance(content, dict) else None
        if found != cls._format():
            raise ValueError(
                f'{path} is not a {cls.__name__} file: expected "format" to be '
                f'"{cls._format()}", got {short_repr(found)}; load it with the class that saved it.'
            )
        if content.get("special") != list(cls.special):
            raise ValueError(
                f'{path} is damaged: expected "special" to be {list(cls.special)}, '
                f"got {short_repr(content.get('special'))}. Save the tokenizer again."
            )
        rows = content.get("rows")
        if not isinstance(rows, list):
            raise ValueError(
                f'{path} is damaged: expected "rows" to be a list, '
                f"got {short_repr(rows)}. Save the tokenizer again."
            )
        return rows

    def _rows(self) -> Iterable[Any]:
        raise NotImplementedError

    @classmethod
    def _from_rows(cls, rows: list[Any]) -> Self:
        raise NotImplementedError

    def _with_ends(self, ids: list[int], start: bool, end: bool) -> list[int]:
        return [self.start_id] * start + ids + [self.end_id] * end

    def _checked(self, ids: Iterable[int]) -> list[int]:
        """Turn ids of any kind (list, NumPy array, torch tensor) into plain ints within range."""
        try:
            numbers = [operator.index(number) for number in ids]
        except TypeError:
            raise TypeError(
                f"expected a flat sequence of whole numbers as token ids, got {short_repr(ids)}; "
                "take a batch row by row."
            ) from None
        for position, number in enumerate(numbers):
            if not 0 <= number < self.vocab_size:
                raise ValueError(
                    f"expected token ids from 0 to {self.vocab_size - 1}, got {number} at position "
                    f"{position}; use the tokenizer that made the ids."
                )
        return numbers


class WordTokenizer(BaseTokenizer):
    """One id for each word of a vocabulary, notes §3.1: simple, but it loses what it does not know.

    The rule: text is lower-cased; a word is a run of letters, digits and underscores, in which
    an apostrophe may stand between two of them; all else separates words and is dropped. So
    "help me!" is two tokens, and "twenty-one" is two. A word outside the vocabulary becomes
    `<unk>`.

    >>> tokenizer = WordTokenizer.train("Help me! Not on your life. Don't help me.")
    >>> tokenizer.encode("help me!"), tokenizer.encode("HELP us", start=True, end=True)
    ([4, 5], [1, 4, 3, 2])
    >>> tokenizer.decode([1, 4, 3, 2, 0, 0])
    'help <unk>'
    """

    special = (*BaseTokenizer.special, "<unk>")
    unk_id: int = 3

    def __init__(self, words: Iterable[str]):
        """Number the words in the order in which they come, after the special tokens."""
        if isinstance(words, str):
            raise TypeError(f"expected a list of words, got {short_repr(words)}; train makes one.")
        self._pieces = [*self.special, *words]
        for word in self._pieces[len(self.special) :]:
            if not isinstance(word, str) or split_words(word) != [word]:
                raise ValueError(f"expected single lower-case words, got {short_repr(word)}.")
        self.vocabulary: dict[str, int] = {word: i for i, word in enumerate(self._pieces)}
        if len(self.vocabulary) < len(self._pieces):
            twice = next(word for i, word in enumerate(self._pieces) if self.vocabulary[word] != i)
            raise ValueError(f"expected each word once, got {twice!r} twice.")

    @classmethod
    def train(cls, texts: str | Iterable[str], vocab_size: int | None = None) -> Self:
        """Collect the words of the texts, the most frequent first, equals in alphabetical order.

        With a `vocab_size` only the most frequent words that fit beside the special tokens stay.

        >>> WordTokenizer.train(["to be or not", "not to be", "to"]).vocabulary["to"]
        4
        """
        room = None if vocab_size is None else vocab_size - len(cls.special)
        if room is not None and room < 0:
            raise ValueError(
                f"expected a vocab_size of at least {len(cls.special)}, the special tokens, "
                f"got {vocab_size}."
            )
        counts = Counter(word for text in _as_texts(texts) for word in split_words(text))
        return cls(sorted(counts, key=lambda word: (-counts[word], word))[:room])

    def encode(self, text: str, *, start: bool = False, end: bool = False) -> list[int]:
        """Look up the id of each word; `start` and `end` put those special tokens around them.

        >>> WordTokenizer(["help", "me"]).encode("Me? Help!", end=True)
        [5, 4, 2]
        """
        words = split_words(text_of(text))
        ids = [self.vocabulary.get(word, self.unk_id) for word in words]
        return self._with_ends(ids, start, end)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Show what each id stands for, special tokens included: the labels of a figure.

        >>> WordTokenizer(["help", "me"]).tokens([1, 4, 5, 2])
        ['<start>', 'help', 'me', '<end>']
        """
        return [self._pieces[number] for number in self._checked(ids)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join the words with spaces; `<pad>`, `<start>` and `<end>` are left out, `<unk>` stays.

        >>> WordTokenizer(["help", "me"]).decode([1, 4, 5, 2, 0])
        'help me'
        """
        silent = (self.pad_id, self.start_id, self.end_id)
        return " ".join(self._pieces[i] for i in self._checked(ids) if i not in silent)

    def _rows(self) -> list[str]:
        return self._pieces[len(self.special) :]

    @classmethod
    def _from_rows(cls, rows: list[Any]) -> Self:
        return cls(rows)


def split_words(text: str) -> list[str]:
    """Cut a text into words by the rule of `WordTokenizer`.

    >>> split_words("Don't: help me!")
    ["don't", 'help', 'me']
    """
    # é has two spellings in Unicode, one character or e and an accent: NFC makes them equal
    return re.findall(r"\w+(?:['’]\w+)*", unicodedata.normalize("NFC", text.lower()))


class BPETokenizer(BaseTokenizer):
    r"""Byte-pair encoding: frequent neighbours become one token, until the vocabulary is full.

    The ids are 0-2 for the special tokens, 3-258 for the 256 bytes (byte b has id b + 3), then
    one for each merge. Every string is made of bytes in UTF-8, so there is no unknown token and
    any Unicode text comes back exactly. (Half a surrogate pair, such as "\ud800", is a Python
    string but not Unicode text: it gives a ValueError.)

    Training starts from single bytes and repeats: count all pairs of neighbours within words,
    merge the most frequent one everywhere. Between equally frequent pairs the one with the
    smaller left id wins, then the one with the smaller right id: older tokens come first.
    It stops early when no pair occurs twice, for then there is nothing left to learn.

    By hand, with the words "banana" and " bandana":

        b a n a n a      ␣ b a n d a n a      an 4, na 3, ba 2, ␣b, nd, da 1: merge an
        b an an a        ␣ b an d an a        b·an 2, an·a 2, others 1: b is older, merge ban
        ban an a         ␣ ban d an a         an·a 2, others 1: merge ana
        ban ana          ␣ ban d ana          all pairs occur once: stop

    >>> tokenizer = BPETokenizer.train("banana bandana", vocab_size=300)
    >>> tokenizer.tokens([259, 260, 261]), tokenizer.vocab_size
    (['an', 'ban', 'ana'], 262)
    >>> tokenizer.encode("banana bandana"), tokenizer.tokens(tokenizer.encode("bananas"))
    ([260, 261, 35, 260, 103, 261], ['ban', 'ana', 's'])
    >>> tokenizer.decode(tokenizer.encode("schön 🙂"))
    'schön 🙂'
    """

    def __init__(self, merges: Iterable[tuple[int, int]]):
        """Number the merges, pairs of older ids, in the order in which they were learned."""
        self.merges: list[tuple[int, int]] = []
        self._pieces = [name.encode() for name in self.special]
        self._pieces += [bytes([value]) for value in range(256)]
        self._merged: dict[str, str] = {}  # two symbols -> the symbol they become
        self._cache: dict[str, list[int]] = {}  # word -> its ids
        for pair in merges:
            self._add_merge(pair)

    def _add_merge(self, pair: tuple[int, int]) -> None:
        """Make the next id of two older ones, after a look at whether that is possible."""
        left, right = _as_pair(pair)
        if not all(len(self.special) <= part < self.vocab_size for part in (left, right)):
            raise ValueError(
                f"expected merge {len(self.merges)} to join ids from {len(self.special)} to "
                f"{self.vocab_size - 1}, got {left} and {right}."
            )
        symbols = _symbol(left) + _symbol(right)
        if symbols in self._merged:
            raise ValueError(f"expected each merge once, got {left} and {right} twice.")
        piece = self._pieces[left] + self._pieces[right]
        if len(piece) > LONGEST_PIECE:  # else thirty lines of a file could ask for a gigabyte
            raise ValueError(
                f"expected tokens of at most {LONGEST_PIECE} bytes, got one of {len(piece)} "
                f"from ids {left} and {right}."
            )
        self._merged[symbols] = _symbol(self.vocab_size)
        self._pieces.append(piece)
        self.merges.append((left, right))

    @classmethod
    def train(cls, texts: str | Iterable[str], vocab_size: int) -> Self:
        """Learn merges from the texts until there are `vocab_size` tokens or no pair repeats.

        >>> BPETokenizer.train(["ab ab", "ab"], vocab_size=262).merges
        [(100, 101)]
        """
        smallest = len(cls.special) + 256
        if not smallest <= vocab_size <= sys.maxunicode:
            raise ValueError(
                f"expected a vocab_size from {smallest}, the special tokens and the bytes, "
                f"to {sys.maxunicode}, got {vocab_size}."
            )
        counts: Counter[str] = Counter()
        for text in _as_texts(texts):
            counts.update(split_pieces(text))
        return cls(learn_merges(counts, vocab_size - smallest))

    def encode(self, text: str, *, start: bool = False, end: bool = False) -> list[int]:
        """Encode word by word; `start` and `end` put those special tokens around the ids.

        >>> BPETokenizer.train("to be or not to be", 300).encode("to be", start=True)
        [1, 260, 261]
        """
        ids: list[int] = []
        for word in split_pieces(text):
            found = self._cache.get(word)  # most words of a text are repeated
            if found is None:
                found = self._remember(word)
            ids += found
        return self._with_ends(ids, start, end)

    def _remember(self, word: str) -> list[int]:
        if len(self._cache) >= LARGEST_CACHE:  # endless new words must not fill the memory
            self._cache.clear()
        ids = self._cache[word] = self._encode_word(word)
        return ids

    def _encode_word(self, word: str) -> list[int]:
        """Apply the merges in the order in which they were learned, the oldest that fits first."""
        symbols = _to_symbols(word)
        while pairs := [pair for pair in _neighbours(symbols) if pair in self._merged]:
            oldest = min(pairs, key=self._merged.__getitem__)
            symbols = symbols.replace(oldest, self._merged[oldest])
        return [_id(symbol) for symbol in symbols]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        r"""Show what each id stands for; a part of a character appears as \x and its byte.

        >>> BPETokenizer([(0x68 + 3, 0x69 + 3)]).tokens([1, 259, 0xC3 + 3])
        ['<start>', 'hi', '\\xc3']
        """
        return [_readable(self._pieces[number]) for number in self._checked(ids)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join the bytes of the tokens and read them as UTF-8; special tokens are left out.

        Ids that a model invents may cut a character in two: what is no UTF-8 becomes �.

        >>> BPETokenizer([]).decode([1, 0x68 + 3, 0x69 + 3, 0xC3 + 3, 2, 0])
        'hi�'
        """
        numbers = self._checked(ids)
        joined = b"".join(self._pieces[i] for i in numbers if i >= len(self.special))
        return joined.decode("utf-8", errors="replace")

    def _rows(self) -> Iterator[list[int | str]]:
        """Two ids and the text they make: the text is for the eye, and a check when loading."""
        first = len(self.special) + 256
        for pair, piece in zip(self.merges, self._pieces[first:], strict=True):
            yield [*pair, _readable(piece)]

    @classmethod
    def _from_rows(cls, rows: list[Any]) -> Self:
        tokenizer = cls([])
        for row in rows:
            if not isinstance(row, list) or [type(part) for part in row] != [int, int, str]:
                raise ValueError(f"expected rows of two ids and a text, got {short_repr(row)}.")
            tokenizer._add_merge((row[0], row[1]))
            made = _readable(tokenizer._pieces[-1])
            if made != row[2]:
                raise ValueError(
                    f"the ids of {short_repr(row)} make {short_repr(made)}, not that text."
                )
        return tokenizer


# How GPT-2 cuts a text before it merges, in the standard library's regular expressions. Merges
# never cross a cut. No run is longer than 64 characters: one endless word costs no endless time.
PIECE = re.compile(
    r"""[ ]?[^\W\d_]{1,64}          # letters, with the space before them
    |   [ ]?\d{1,64}                # digits
    |   [ ]?(?:[^\w\s]|_){1,64}     # neither letters, digits nor white space
    |   \s{1,64}(?!\S)              # white space, but not the last space before a word
    |   \s""",
    re.VERBOSE,
)
LONGEST_PIECE = 1 + 64 * 4  # bytes: a space, and 64 characters of at most four bytes
LARGEST_CACHE = 100_000  # words


def split_pieces(text: str) -> list[str]:
    """Cut a text into the pieces within which byte pairs are merged; joined, they are the text.

    >>> split_pieces("Help me, it's 2017!  ")
    ['Help', ' me', ',', ' it', "'", 's', ' 2017', '!', '  ']
    """
    try:
        text_of(text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"expected Unicode text, got half a surrogate pair at position {error.start}; "
            'replace what is broken with text.encode("utf-8", "replace").decode("utf-8").'
        ) from None
    return PIECE.findall(text)


# During training and encoding a token is a *symbol*, one character of a Python string: byte b is
# chr(b), merge k is chr(256 + k). A word is a string of symbols, a pair a string of two, and
# str.replace merges a pair from left to right at the speed of C. Strings compare by the numbers
# of their characters, so the order of symbols is the order of ids.
def _to_symbols(word: str) -> str:
    return word.encode("utf-8").decode("latin-1")


def _symbol(token_id: int) -> str:
    return chr(token_id - len(BaseTokenizer.special))


def _id(symbol: str) -> int:
    return ord(symbol) + len(BaseTokenizer.special)


def _neighbours(symbols: str) -> Iterator[str]:
    """Pairs of neighbours: of "abc" they are "ab" and "bc"."""
    return map(operator.add, symbols, symbols[1:])


def learn_merges(counts: dict[str, int], wanted: int) -> list[tuple[int, int]]:
    """Find up to `wanted` merges, given how often each word occurs, without ever recounting.

    A merge changes only the words that contain its pair. An index says which those are, and only
    their pairs are counted anew. A heap keeps the most frequent pair on top: old pairs can only
    become rarer, so an entry whose count is out of date is put back when it comes up.

    >>> learn_merges({"banana": 1, " bandana": 1}, 1)
    [(100, 113)]
    """
    words = [_to_symbols(word) for word in counts]
    times = list(counts.values())
    pair_counts, found_in = _index_pairs(words, times)
    heap = [(-count, pair) for pair, count in pair_counts.items()]
    heapq.heapify(heap)
    merges: list[str] = []
    while len(merges) < wanted and (pair := _pop_most_frequent(heap, pair_counts)):
        symbol = chr(256 + len(merges))
        merges.append(pair)
        created = set()
        for w in found_in.pop(pair):
            if pair not in words[w]:  # seen already, or lost to an earlier merge
                continue
            old, words[w] = words[w], words[w].replace(pair, symbol)
            for gone in _neighbours(old):
                pair_counts[gone] -= times[w]
            for present in _neighbours(words[w]):
                pair_counts[present] += times[w]
                if symbol in present:
                    created.add(present)
                    found_in[present].append(w)
        for new in created:
            heapq.heappush(heap, (-pair_counts[new], new))
    return [(_id(pair[0]), _id(pair[1])) for pair in merges]


def _index_pairs(words: list[str], times: list[int]) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Count the pairs of all words, and note for each pair the words in which it stands."""
    pair_counts: dict[str, int] = defaultdict(int)
    found_in: dict[str, list[int]] = defaultdict(list)
    for w, symbols in enumerate(words):
        for pair in _neighbours(symbols):
            pair_counts[pair] += times[w]
            found_in[pair].append(w)
    return pair_counts, found_in


def _pop_most_frequent(heap: list[tuple[int, str]], pair_counts: dict[str, int]) -> str | None:
    """Take the best pair from the heap; None if no pair occurs twice.

    An entry is (-count, pair), so the smallest one has the highest count and then the oldest ids.
    """
    while heap:
        count, pair = -heap[0][0], heap[0][1]
        if count == pair_counts[pair]:
            return heapq.heappop(heap)[1] if count > 1 else None
        heapq.heapreplace(heap, (-pair_counts[pair], pair))
    return None


def _readable(piece: bytes) -> str:
    return piece.decode("utf-8", errors="backslashreplace")


def _as_pair(pair: Iterable[int]) -> tuple[int, int]:
    try:
        left, right = map(operator.index, pair)
    except (TypeError, ValueError):
        raise TypeError(f"expected a merge to be two token ids, got {short_repr(pair)}.") from None
    return left, right


def _as_texts(texts: str | Iterable[str]) -> Iterable[str]:
    """A single string is one text, not a sequence of letters."""
    return [texts] if isinstance(texts, str) else map(text_of, texts)
