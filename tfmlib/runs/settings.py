"""The settings of a run: what each may be, and which of them may change when it is resumed."""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from tfmlib import data
from tfmlib.tokenizer import BPETokenizer, Tokenizer

# What a value has to be, in words; a whole number is a number, but true and false are none.
KINDS: dict[type, tuple[str, Any]] = {
    str: ("a text", str),
    int: ("a whole number", int),
    float: ("a number", int | float),
    dict: ("names with their values", dict),
}

# What does not spoil a run that is resumed. The place of the text is one of these, as the checksum
# in run.json tells whether it is the same; and so is what a person lowers when the loss was not
# finite or the memory not enough, though the weights then are not those of a run left alone.
MAY_CHANGE = (
    *("steps", "validate_every", "save_every", "source", "target"),
    *("batch_size", "warmup", "peak", "clip"),
)


def _setting(default: Any, kind: type, about: str) -> Any:
    return field(default=default, metadata={"kind": kind, "help": about})


@dataclass(frozen=True)
class Settings:
    """All that decides what a run computes; two runs with equal settings train equal models.

    >>> Settings(steps=0)
    Traceback (most recent call last):
        ...
    ValueError: expected at least 1 for --steps, got 0.
    """

    task: str | None = _setting("en-de", str, "numbers in words: en-de, de-fr, …")
    source: str | None = _setting(None, str, "your own text instead: one sentence per line")
    target: str | None = _setting(None, str, "its translation, line by line")
    vocab_size: int = _setting(8000, int, "how many byte-pair tokens your own text is cut into")
    validation: int = _setting(500, int, "sentences to choose the best weights by")
    test: int = _setting(1000, int, "sentences to test these on in the end")
    preset: str = _setting("tiny", str, "the size of the model: tiny, base or big")
    changes: dict[str, Any] = field(default_factory=dict)  # of the preset
    steps: int = _setting(1000, int, "how many steps to train in all")
    batch_size: int = _setting(256, int, "sentences per step, over all processes")
    warmup: int = _setting(200, int, "steps until the learning rate is highest")
    peak: float = _setting(1e-3, float, "the highest learning rate")
    smoothing: float = _setting(0.1, float, "the share of the target spread over all tokens")
    clip: float = _setting(1.0, float, "the length to which longer gradients are cut")
    seed: int = _setting(0, int, "of the first weights, the batches and the dropout")
    validate_every: int = _setting(200, int, "steps between two validations")
    save_every: int = _setting(100, int, "steps between two checkpoints")
    precision: str = _setting("auto", str, "auto, float32 or bfloat16")

    def __post_init__(self) -> None:
        for setting in fields(self):
            self._require_kind(setting.name, setting.metadata.get("kind", dict))
        counts = ("validation", "test", "steps", "batch_size", "warmup")
        for name in (*counts, "validate_every", "save_every"):
            self._require(name, "at least 1", getattr(self, name) >= 1)
            self._require(name, "a number below 2**63", getattr(self, name) < 2**63)
        self._require("seed", "at least 0 and below 2**63", 0 <= self.seed < 2**63)
        self._require("smoothing", "at least 0 and below 1", 0 <= self.smoothing < 1)
        for name in ("peak", "clip"):
            self._require(name, "a finite number above 0", 0 < getattr(self, name) < float("inf"))
        known = ("auto", "float32", "bfloat16")
        self._require("precision", f"one of {', '.join(known)}", self.precision in known)
        if (self.source is None) != (self.target is None):
            raise ValueError("expected both --source and --target, got one of them.")
        if (self.source is None) == (self.task is None):
            raise ValueError("expected either --task, or --source and --target.")

    def _require_kind(self, name: str, kind: type) -> None:
        what, accepted = KINDS[kind]
        value = getattr(self, name)
        is_left_out = value is None and name in ("task", "source", "target")
        fits = isinstance(value, accepted) and not isinstance(value, bool)
        self._require(name, what, is_left_out or fits)

    def _require(self, name: str, what: str, holds: bool) -> None:
        if not holds:
            raise ValueError(f"expected {what} for {flag_name(name)}, got {getattr(self, name)}.")

    @classmethod
    def from_flags(cls, given: dict[str, Any]) -> Self:
        """The settings of a new run."""
        own_text = {"source", "target"} & given.keys()
        return cls(**({"task": None} if own_text else {}) | given)

    def with_flags(self, given: dict[str, Any]) -> Self:
        """The settings of this run, resumed: what would spoil it cannot be changed any more."""
        others, began = ["task"], "--source and --target"
        if self.task is not None:
            others, began = ["source", "target"], f"--task {self.task}"
        for name in others:
            if name in given:
                raise _contradiction(flag_name(name), began)
        for name, value in given.items():
            if not self._accepts(name, value):
                shown = f"{flag_name(name)} {_format_value(value)}"
                raise _contradiction(shown, _format_value(getattr(self, name)))
        return replace(self, **{name: given[name] for name in MAY_CHANGE if name in given})

    def _accepts(self, name: str, value: Any) -> bool:
        """Whether the run can be resumed with that value."""
        stored = getattr(self, name)
        is_free = name in MAY_CHANGE or (name, value) == ("precision", "auto")
        is_same = value.items() <= stored.items() if name == "changes" else value == stored
        return is_free or is_same

    def make_task(self, tokenizer: Tokenizer | None = None) -> data.Task:
        """The sentence pairs; with the tokenizer of a run that is resumed, or a new one.

        The split into parts is the same for every seed, so that runs can be compared.
        """
        if self.task is not None:
            task = data.number_task(self.task, validation=self.validation, test=self.test)
            return task if tokenizer is None else replace(task, tokenizer=tokenizer)
        assert self.source is not None
        assert self.target is not None

        def make_tokenizer(texts: list[str]) -> Tokenizer:
            return tokenizer or BPETokenizer.train(texts, self.vocab_size)

        return data.text_task(
            self.source, self.target, self.validation, self.test, make_tokenizer=make_tokenizer
        )


def _contradiction(flag: str, began: str) -> ValueError:
    return ValueError(
        f"{flag} contradicts the run, which started with {began}; "
        "leave the flag out, or start a new run."
    )


def first_difference(found: dict[str, Any], wanted: Settings) -> str | None:
    """Where settings that a file tells of are not those of a run, of all that may not change.

    >>> first_difference({"seed": 3, "steps": 7}, Settings())
    '--seed 3, expected 0'
    """
    for name, value in asdict(wanted).items():
        if name not in MAY_CHANGE and found.get(name, value) != value:
            return (
                f"{flag_name(name)} {_format_value(found[name])}, expected {_format_value(value)}"
            )
    return None


def flag_name(setting: str) -> str:
    """The flag of the command that sets it.

    >>> flag_name("batch_size")
    '--batch-size'
    """
    return "--set" if setting == "changes" else "--" + setting.replace("_", "-")


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={json.dumps(v)}" for name, v in value.items()) or "none"
    return "none" if value is None else str(value)
