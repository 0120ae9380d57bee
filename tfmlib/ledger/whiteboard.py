"""The whiteboard: dot products, two softmaxes by hand, positions, context and heads."""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from tfmlib import ref
from tfmlib.ledger.entry import Document, Trial, Values
from tfmlib.ledger.printed import shown
from tfmlib.ledger.probes import attention_params, layer_params, moved, same
from tfmlib.support.arrays import Array, ArrayLike

BOARD = Document("board", "the whiteboard")

# --- scores and weights ---------------------------------------------------------------------


def dot_product() -> Values:
    return {"x_1 · x_2": np.array([DOT.values("x_1") @ DOT.values("x_2")])}


DOT = BOARD.add(
    "dot",
    "scaled dot product",
    "The dot product of two vectors of length 3, to be divided by √3.",
    given={"x_1": "1 0 2", "x_2": "0 1 5"},
    printed={"x_1 · x_2": "10"},
    recompute=dot_product,
    evidence=lambda: {"10/√3, left as a fraction on the board": shown(10 / np.sqrt(3), 2)},
)


def softmax_of_scores() -> Values:
    return {"weights": ref.softmax(SOFTMAX.values("scores"))}


def farthest(weights: ArrayLike) -> float:
    return float(np.abs(np.asarray(weights, dtype=float) - SOFTMAX.values("weights")).max())


def by_sum() -> Array:
    scores = SOFTMAX.values("scores")
    return scores / scores.sum()


def listed(values: Iterable[float], places: int) -> str:
    return ", ".join(shown(value, places) for value in values)


def explain_softmax() -> str:
    softmax = SOFTMAX.computed["weights"]
    return (
        f"A softmax of these scores leaves everything to “bank”: {listed(softmax, 5)}. The printed "
        f"weights are nearer to the scores divided by their sum, {listed(by_sum(), 3)}, though not "
        f"equal to them: the worst is off by {shown(farthest(by_sum()), 2)}, from the softmax by "
        f"{shown(farthest(softmax), 2)}."
    )


def softmax_evidence() -> dict[str, str]:
    table = SOFTMAX.values("scores in the table above")
    return {
        "scores divided by their sum": listed(by_sum(), 3),
        "softmax of the table's scores, 0.1 and 2.0 for 10 and 20": listed(ref.softmax(table), 3),
    }


SOFTMAX = BOARD.add(
    "softmax",
    "similarity scores",
    "“I” scores 0.5, 0.6, 10 and 20 against “went”, “to”, “river”, “bank”; then the softmax.",
    given={"scores": "0.5 0.6 10 20", "scores in the table above": "0.5 0.6 0.1 2.0"},
    printed={"weights": "0.01 0.01 0.28 0.7"},
    recompute=softmax_of_scores,
    places=5,
    explain=explain_softmax,
    evidence=softmax_evidence,
)


def scaled_good_morning() -> Values:
    return {"scaled": GOOD_MORNING.values("dot product") / np.sqrt(2)}


GOOD_MORNING = BOARD.add(
    "good-morning",
    "good morning",
    "The dot product of “good” and “morning”, 7.9, divided by √2.",
    given={"dot product": "7.9"},
    printed={"scaled": "6.8"},
    recompute=scaled_good_morning,
    places=2,
    explain=lambda: (
        f"7.9/√2 is {shown(7.9 / np.sqrt(2), 2)}. A scaled score of 6.8 would need a dot product "
        f"of {shown(6.8 * np.sqrt(2), 1)}."
    ),
)


def weights_of_good_morning() -> Values:
    return {"weights": ref.softmax(SCORES.values("scores"))}


def explain_scores() -> str:
    return (
        f"The softmax of 1 and 6.8 is {listed(SCORES.computed['weights'], 3)}. Weights of 0.3 and "
        f"0.7 belong to scores that lie {shown(np.log(0.7 / 0.3), 2)} apart, not 5.8."
    )


SCORES = BOARD.add(
    "scores",
    "good morning",
    "The scores 1 and 6.8 as weights.",
    given={"scores": "1 6.8"},
    printed={"weights": "0.3 0.7"},
    recompute=weights_of_good_morning,
    places=3,
    explain=explain_scores,
)


def new_embeddings() -> Values:
    return {"new embeddings": NEW_EMBEDDING.values("weights") @ NEW_EMBEDDING.values("values")}


NEW_EMBEDDING = BOARD.add(
    "new-embedding",
    "good morning",
    "The weights times the values of “good” and “morning” make their new embeddings.",
    given={"weights": "0.3 0.7 / 0.7 0.3", "values": "1 3 / 3 9"},
    recompute=new_embeddings,
    places=1,
)


# --- positions ------------------------------------------------------------------------------


@BOARD.tested(
    "positions",
    "positional encoding",
    "“Good” at position 1 and at position 5 must get different vectors: multiply by the position.",
    given={"“good” at position 5, as far as legible": "15 45"},
    inputs=("board.new-embedding",),
    evidence=lambda: {
        f"“{word}” times 5": listed(5 * value, 0)
        for word, value in zip(("good", "morning"), NEW_EMBEDDING.values("values"), strict=True)
    },
)
def positions() -> Trial:
    good = NEW_EMBEDDING.values("values")[0]
    multiplied = np.arange(1, 1001)[:, None] * good
    differ = moved(multiplied[0], multiplied[4])
    unbounded = np.abs(multiplied).max() == 1000 * np.abs(good).max()
    encodings = ref.sinusoidal_encoding(1000, 8)
    lengths = np.linalg.norm(encodings, axis=-1)
    distances = np.linalg.norm(encodings[:, None] - encodings[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    sinusoids_do_better = same(lengths, np.full(1000, 2.0)) and distances.min() > 1e-3
    return Trial(
        bool(differ and unbounded and sinusoids_do_better),
        "the vectors differ but grow without bound, a thousandfold at position 1,000, where "
        "sinusoidal encodings all differ and keep one length",
    )


@BOARD.tested(
    "parity",
    "positional encoding",
    "Odd dimensions 1, 3, 5, 7 are cosines, even dimensions 2, 4, 6, 8 sines.",
)
def parity() -> Trial:
    encodings, i = ref.sinusoidal_encoding(13, 10), np.arange(13)
    holds = True
    for dimension in range(1, 9):
        wave = np.cos if dimension % 2 else np.sin
        omega = 10000.0 ** (-(dimension - dimension % 2) / 10)
        holds &= same(encodings[:, dimension], wave(i * omega))
    return Trial(holds, "agrees with eq. (2)-(3) of the notes when dimensions count from 0")


# --- what attention does --------------------------------------------------------------------

MONEY = ["I", "went", "to", "bank", "to", "withdraw", "money"]
RIVER = ["I", "went", "to", "river", "bank", "to", "get", "fresh", "air"]
BIKING = ["I", "have", "interest", "in", "biking"]
LOAN = ["The", "interest", "in", "the", "loan", "is", "increasing"]


def before_and_after(
    word: str, sentences: Sequence[list[str]], rng: np.random.Generator
) -> tuple[list[Array], list[Array]]:
    """The word's vector in each sentence: as embedded, and after attention over the sentence."""
    vocabulary = sorted({w for words in sentences for w in words})
    table = rng.normal(size=(len(vocabulary), 13))
    before, after = [], []
    for words in sentences:
        x = ref.embed([vocabulary.index(w) for w in words], table)
        at = words.index(word)
        before.append(x[at])
        after.append(ref.attention(x, x, x)[at])
    return before, after


@cache
def published_similarities() -> Array | None:
    """Cosine of “interest” in two sentences, layer by layer, in a published encoder.

    None where torch or the published weights are not installed.
    """
    try:
        import torch

        from tfmlib.pretrained import find_weights, load_encoder, load_tokenizer
    except ImportError:
        return None
    if find_weights() is None:
        return None
    encoder, tokenizer, layers = load_encoder(), load_tokenizer(), []
    for words in (BIKING, LOAN):
        ids = tokenizer.encode(" ".join(words))
        at = ids.index(tokenizer.vocabulary["interest"])
        layers.append(encoder.layers(torch.tensor([ids]))[:, 0, at].detach().numpy())  # (layers, D)
    return np.atleast_1d(ref.cosine_similarity(*layers))


def published_evidence() -> dict[str, str]:
    similarities = published_similarities()
    if similarities is None:
        return {"in a published encoder": "not tried: its weights are not installed"}
    first, last = similarities[0], similarities[-1]
    return {
        "in all-MiniLM-L6-v2, cosine of “interest” (biking) and “interest” (loan)": (
            f"{shown(first, 2)} at the embedding, {shown(last, 2)} after the last layer"
        )
    }


@BOARD.tested(
    "context",
    "why transformers",
    "“bank” and “interest” mean two things each: one embedding cannot serve both, attention "
    "updates it.",
    evidence=published_evidence,
)
def context() -> Trial:
    rng, holds = np.random.default_rng(71), True
    if (similarities := published_similarities()) is not None:
        holds &= bool(similarities[0] > 0.9 and similarities[-1] < 0.6)
    for word, sentences in (("bank", (MONEY, RIVER)), ("interest", (BIKING, LOAN))):
        before, after = before_and_after(word, sentences, rng)
        holds &= same(*before) and moved(*after)
    return Trial(
        holds,
        "before attention a word has one vector in both of its sentences, after it two",
    )


# Each arrow of the whiteboard, with a paper in which a transformer does it.
DIRECTIONS = {
    "image → image": "Parmar et al., Image Transformer (arXiv:1802.05751)",
    "text → image": "Ramesh et al., Zero-Shot Text-to-Image Generation (arXiv:2102.12092)",
    "image → text": "Cornia et al., Meshed-Memory Transformer (arXiv:1912.08226)",
    "voice → text": "Radford et al., Whisper (arXiv:2212.04356)",
    "text → voice": "Li et al., Speech Synthesis with Transformer Network (arXiv:1809.08895)",
    "diffusion": "Peebles and Xie, Diffusion Models with Transformers (arXiv:2212.09748)",
}


def patches(picture: Array, size: int) -> Array:
    """Cut a picture into square patches, one row of numbers each.

    >>> patches(np.arange(16).reshape(4, 4), 2)[1]
    array([2, 3, 6, 7])
    """
    height, width = np.array(picture.shape) // size
    cut = picture.reshape(height, size, width, size).swapaxes(1, 2)
    return cut.reshape(height * width, size * size)


def worked_case() -> dict[str, str]:
    """A picture and a sound as tokens of one and the same encoder layer."""
    rng, d_model, rows = np.random.default_rng(89), 6, {}
    params = layer_params(rng, d_model)
    picture, sound = rng.normal(size=(12, 15)), rng.normal(size=77)
    inputs = {
        "a picture of 12 × 15 pixels": patches(picture, 3),
        "a sound of 77 samples": sound.reshape(-1, 7),
    }
    for name, tokens in inputs.items():
        x = tokens @ rng.normal(size=(tokens.shape[1], d_model))
        out = ref.encoder_layer(x, params, 2)
        rows[name] = (
            f"{len(tokens)} tokens of {tokens.shape[1]} numbers; the layer turns them into "
            f"{len(out)} vectors of {out.shape[1]}"
        )
    return rows


BOARD.add(
    "modalities",
    "why transformers",
    "Transformers turn images, text and voice into each other, in diffusion models, too.",
    source="the papers beside the uses",
    summary=lambda: (
        f"a list of {len(DIRECTIONS)} uses, each with a paper in which a transformer does it; what "
        "can be shown here is that pictures and sounds become tokens for the same layer"
    ),
    evidence=lambda: DIRECTIONS | worked_case(),
)


@BOARD.valid(
    "ensemble",
    "multi-head attention",
    "Several heads are to one head what a random forest is to a tree.",
)
def ensemble() -> Trial:
    rng, heads = np.random.default_rng(73), 3
    x, params = rng.normal(size=(5, 6)), attention_params(rng, 6)
    whole = ref.multi_head_attention(x, x, params, heads)
    parts = []
    for h in range(heads):
        c = slice(2 * h, 2 * h + 2)
        one = {name: params[name][:, c] for name in ("w_q", "w_k", "w_v")}
        parts.append(ref.multi_head_attention(x, x, one | {"w_o": params["w_o"][c]}, 1))
    adds_up = same(sum(parts), whole)
    weights = [np.abs(part).mean() for part in parts]
    return Trial(
        bool(adds_up and np.ptp(weights) > 1e-3),
        "an analogy: heads are computed apart and added up like votes, but W^O weighs them and "
        "they are trained together, not each on its own",
    )
