"""A trained run at work: it translates texts, and shows what it looked at.

torch is imported only when a run is loaded: asking for help should be quick.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tfmlib.data import LONGEST, encode_source, encode_target
from tfmlib.runs import failures
from tfmlib.runs.folder import Run
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
        from tfmlib import generate

        texts = [text.removeprefix("\ufeff").strip() for text in texts]  # PowerShell's mark
        for text in filter(None, texts):
            self._require_known(text)
        full = [text for text in texts if text]
        written = iter(generate.translate(self.model, self.tokenizer, full, beams=beams))
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
            raise UnknownText(f"expected text in UTF-8, got other bytes in {text!r}.")
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
        raise failures.no_such_run(path)
    if not path.is_dir() and not run.has_begun():
        raise failures.outside_a_run(path)
    info = run.read()
    try:
        found, path = _load_best(run) if path.is_dir() else (checkpoint.load(path), path)
    except CheckpointError as error:
        intact, _ = checkpoint.split_damaged([*run.checkpoints(), run.best])
        raise failures.unusable_weights(error, intact) from None
    tokenizer = run.read_tokenizer(info)
    tokens = found.config.vocab_size
    if tokens != tokenizer.vocab_size:
        raise failures.weights_without_their_vocabulary(path, tokens, tokenizer.vocab_size)
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
        raise failures.no_checkpoint_yet(run.folder)
    last = run.checkpoints()[-1]
    found = checkpoint.load(last)
    if found.best is not None:  # so there were best weights
        checkpoint.load(run.best)
    return found, last
