"""The notes, continued: what they say of trained models, tried on a published and on small ones."""

from functools import cache

import numpy as np

from tfmlib import ref
from tfmlib.ledger import norm_training, published
from tfmlib.ledger.entry import Trial, Values
from tfmlib.ledger.norm_training import AFTER, BEFORE, NONE
from tfmlib.ledger.notes_cost import NOTES
from tfmlib.ledger.printed import percent, shown
from tfmlib.support.arrays import Array

__all__ = ["NOTES"]  # complete with what follows

# --- §3.2, longer sequences ------------------------------------------------------------------

BACK = 3  # the head is to look so many tokens back
SEEN, LONGEST, WIDTH = 16, 64, 16
KINDS = ("rotary positions", "added sinusoids", "a learned table")


def pair_features(kind: str, length: int) -> Array:
    """What the entries of W^q W^kᵀ are multiplied by in the score of every two positions."""
    places = np.arange(length)
    if kind == "rotary positions":
        each = np.broadcast_to(np.eye(WIDTH)[:, None], (WIDTH, length, WIDTH))
        turned = ref.rope(each, places)  # every feature alone, at every position
        factors = np.einsum("aid,bjd->ijab", turned, turned)
    else:
        rows = ref.sinusoidal_encoding(length, WIDTH)
        if kind == "a learned table":  # as long as the longest; what was not seen stays as drawn
            rows = np.random.default_rng(79).normal(size=(LONGEST, WIDTH))[:length]
        factors = np.einsum("ia,jb->ijab", rows, rows)
    return factors.reshape(length, length, -1)  # (T, T, D²)


def head_weights(features: Array, w: Array) -> Array:
    return ref.softmax(np.where(ref.look_ahead_mask(len(features)), features @ w, -np.inf))


@cache
def looking_back(kind: str) -> Array:
    """Teach a head on SEEN positions to look BACK, and test it on LONGEST: right or not, by row."""
    features, rows = pair_features(kind, SEEN), np.arange(BACK, SEEN)
    w = np.zeros(features.shape[-1])
    rate = 20 / (features**2).sum(axis=-1).mean() / len(rows)
    for _ in range(300):  # the loss is convex in w: there is one thing to be learned
        error = head_weights(features, w)[rows]
        error[np.arange(len(rows)), rows - BACK] -= 1
        w -= rate * np.einsum("ij,ijf->f", error, features[rows])
    rows = np.arange(BACK, LONGEST)
    found = head_weights(pair_features(kind, LONGEST), w)[rows].argmax(axis=-1)
    return found == rows - BACK


def unseen(kind: str) -> float:
    """The share of positions beyond those seen at which the head still looks BACK."""
    return float(looking_back(kind)[SEEN - BACK :].mean())


def longer_evidence() -> dict[str, str]:
    return {
        f"{kind}, right at": f"{percent(looking_back(kind)[: SEEN - BACK].mean())} of the "
        f"positions seen, {percent(unseen(kind))} of those beyond"
        for kind in KINDS
    }


@NOTES.tested(
    "longer",
    "§3.2",
    "Where offsets alone count, a model does well on sequences longer than those seen in training.",
    evidence=longer_evidence,
)
def longer() -> Trial:
    learned = all(looking_back(kind)[: SEEN - BACK].all() for kind in KINDS)
    rotary, added, table = map(unseen, KINDS)
    return Trial(
        learned and rotary > 0.9 and max(added, table) < rotary,
        f"taught on {SEEN} positions to look {BACK} tokens back, a head does so on the next "
        f"{LONGEST - SEEN} too: at {percent(rotary)} with rotary positions, at {percent(added)} "
        f"with added sinusoids and at {percent(table)} with a learned table",
    )


# --- §3.3 and §3.4, a published encoder ---------------------------------------------------------


def own_word_values() -> Values:
    shares = [attention.own_largest for attention in published.measured().values()]
    return {"share of rows whose largest weight is the word's own": np.array(shares)}


def own_word_evidence() -> dict[str, str]:
    rows = {
        f"mean weight of a word on itself, {reading}": (
            f"{shown(found.own_weight, 2)}, where an even row would give "
            f"{shown(found.even_weight, 2)}"
        )
        for reading, found in published.measured().items()
    }
    return rows | {"figures of all-MiniLM-L6-v2": published.where()}


def explain_own_word() -> str:
    every, words = published.measured().values()
    return (
        "Nothing in training asks for it: the residual path carries a word past the attention, "
        "which is free to look elsewhere. Over all layers and heads of all-MiniLM-L6-v2, on "
        f"{len(published.SENTENCES)} sentences of the documents, a word gives itself the largest "
        f"weight in {percent(every.own_largest)} of the rows. Much goes to [CLS] and [SEP]; among "
        f"words alone the share is {percent(words.own_largest)}, and the mean weight of a word on "
        f"itself, {shown(words.own_weight, 2)}, somewhat above an even "
        f"{shown(words.even_weight, 2)}."
    )


@NOTES.tested(
    "own-word",
    "§3.3",
    "A word's score with itself is usually the highest.",
    recompute=own_word_values,
    places=2,
    explain=explain_own_word,
    evidence=own_word_evidence,
)
def own_word() -> Trial:
    every, words = published.measured().values()
    return Trial(
        min(every.own_largest, words.own_largest) > 0.5,
        "in all-MiniLM-L6-v2 it is the highest in most rows",
        "in all-MiniLM-L6-v2 a word's largest weight is the one on itself in "
        f"{percent(every.own_largest)} of the rows, and in {percent(words.own_largest)} if [CLS] "
        "and [SEP] are left out",
        in_part=max(every.own_largest, words.own_largest) > 0.5,
    )


def head_values() -> Values:
    return {
        "heads unlike all others of their layer": np.array(
            [attention.apart for attention in published.measured().values()]
        )
    }


def head_evidence() -> dict[str, str]:
    rows = {
        f"mean likeness of two heads, {reading}": shown(found.likeness, 2)
        for reading, found in published.measured().items()
    }
    return rows | {"figures of all-MiniLM-L6-v2": published.where()}


def explain_heads() -> str:
    every, words = published.measured().values()
    return (
        "Likeness is the attention that two heads of a layer share, counted from 0 for what "
        "unrelated heads share by chance to 1 for equal heads. Among words it is "
        f"{shown(words.likeness, 2)} on average, hardly more than chance, and {words.apart} of "
        f"{published.HEADS} heads have no other that is more like them than not. But many rest on "
        f"[CLS] and [SEP], and there they are alike: {every.apart} heads remain if these tokens "
        "count."
    )


@NOTES.tested(
    "head-features",
    "§3.4",
    "Each head learns a feature of its own.",
    recompute=head_values,
    places=0,
    explain=explain_heads,
    evidence=head_evidence,
)
def head_features() -> Trial:
    every, words = published.measured().values()
    return Trial(
        min(every.apart, words.apart) == published.HEADS,
        "no head of all-MiniLM-L6-v2 is like another of its layer",
        f"in all-MiniLM-L6-v2 {words.apart} of {published.HEADS} heads share little with any other "
        f"of their layer in how they look at words, but {every.apart} if [CLS] and [SEP] count",
        in_part=words.apart > published.HEADS / 2,
    )


# --- §3.5, residual connections -----------------------------------------------------------------


def random_layer(rng: np.random.Generator, d: int = 16) -> dict[str, Array]:
    """An encoder layer of weights that neither stretch nor shrink what they multiply."""
    sizes = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), (d, d))
    sizes |= {"w1": (d, 4 * d), "w2": (4 * d, d)}
    return {
        name: rng.normal(size=size) * np.sqrt(2 / sum(size)) for name, size in sizes.items()
    } | {"b1": np.zeros(4 * d), "b2": np.zeros(d)}


def sublayers(x: Array, params: dict[str, Array], residual: bool) -> Array:
    """Attention and the network, each with add and norm, or with the norm alone."""
    projections = {name: params[name] for name in ("w_q", "w_k", "w_v", "w_o")}
    network = {name: params[name] for name in ("w1", "b1", "w2", "b2")}
    attended = ref.multi_head_attention(x, x, projections, 2)
    x = ref.add_norm(x, attended) if residual else ref.layer_norm(attended)
    hidden = ref.feed_forward(x, **network)
    return ref.add_norm(x, hidden) if residual else ref.layer_norm(hidden)


def recovered(states: Array, inputs: Array) -> float:
    """The share of the inputs that a linear map, fitted on one half, finds in the other half."""
    d, half = inputs.shape[-1], len(inputs) // 2
    seen, wanted, x, y = (
        part.reshape(-1, d) - part.mean(axis=(0, 1))
        for part in (states[:half], inputs[:half], states[half:], inputs[half:])
    )
    w = np.linalg.lstsq(seen, wanted, rcond=None)[0]
    return max(0.0, float(1 - ((x @ w - y) ** 2).sum() / (y**2).sum()))


@cache
def kept(residual: bool) -> list[float]:
    """The share of a word's vector that is left after each of six layers."""
    rng = np.random.default_rng(83)
    inputs = rng.normal(size=(211, 7, 16))  # sentences of 7 words
    x, shares = inputs, []
    for _ in range(6):
        x = sublayers(x, random_layer(rng), residual)
        shares.append(recovered(x, inputs))
    return shares


@NOTES.tested(
    "residual-information",
    "§3.5",
    "Residual connections preserve information that would be lost on the way up.",
    evidence=lambda: {
        f"share recovered after 1, 2, … 6 layers, {how} residual connections": ", ".join(
            shown(share, 2) for share in kept(residual)
        )
        for how, residual in (("with", True), ("without", False))
    },
)
def residual_information() -> Trial:
    around, without = kept(True), kept(False)
    return Trial(
        all(a > 2 * b for a, b in zip(around, without, strict=True)) and around[-1] > 0.1,
        f"a linear map recovers {percent(around[0])} of a word's vector after one random layer and "
        f"{percent(around[-1])} after six; without residual connections {percent(without[0])} and "
        f"{percent(without[-1])}",
    )


# --- §3.6, layer norm ---------------------------------------------------------------------------

DEPTHS = (6, 12)


def steps_to_learn(norm: str) -> list[float]:
    return [norm_training.fastest(depth, norm).steps for depth in DEPTHS]


def norm_values() -> Values:
    return {
        f"steps to learn with {' and '.join(map(str, DEPTHS))} layers, {how}": np.array(
            steps_to_learn(norm)
        )
        for how, norm in (("norm after", AFTER), ("norm before", BEFORE), ("no norm", NONE))
    }


def norm_evidence() -> dict[str, str]:
    rows = {}
    for how, norm in (("norm after", AFTER), ("norm before", BEFORE), ("no norm", NONE)):
        grown = [norm_training.growth(depth, norm) for depth in DEPTHS]
        rates = [norm_training.fastest(depth, norm).rate for depth in DEPTHS]
        rows[f"gradient with all weights doubled, {how}"] = " and ".join(
            f"{factor:.1f} times" if factor < 10 else f"{factor:,.0f} times" for factor in grown
        )
        rows[f"best step size, {how}"] = " and ".join(f"{rate:.1g}" for rate in rates)
    return rows


def explain_norm() -> str:
    after, before, none = (steps_to_learn(norm) for norm in (AFTER, BEFORE, NONE))
    return (
        "The first half holds: with a norm the gradients hardly depend on the size of the weights, "
        "and much the same step size suits 6 layers and 12; without it the deeper network needs a "
        "far smaller one. The second half does not follow from it. On a small task, with plain "
        "gradient descent and the step size that suits each best, 6 layers learn in "
        f"{after[0]:.0f} steps with the norm where the notes put it, after the sum, and in "
        f"{none[0]:.0f} without; 12 layers in {after[1]:.0f} and {none[1]:.0f}. With the norm "
        f"before each network it is {before[0]:.0f} and {before[1]:.0f}."
    )


@NOTES.tested(
    "norm-training",
    "§3.6",
    "Layer norm normalises the gradients, and so shortens training.",
    recompute=norm_values,
    places=0,
    explain=explain_norm,
    evidence=norm_evidence,
)
def norm_training_trial() -> Trial:
    normed, plain = norm_training.growth(6, AFTER), norm_training.growth(6, NONE)
    after, none = steps_to_learn(AFTER), steps_to_learn(NONE)
    normalises = 0.5 < normed < 2 and plain > 100
    shortens = all(a < b for a, b in zip(after, none, strict=True))
    return Trial(
        normalises and shortens,
        "gradients no longer grow with the weights, and training takes fewer steps",
        f"doubling all weights multiplies the gradients by {normed:.1f}, without a norm by "
        f"{plain:.0f}; but at its best step size a small network learns in {after[0]:.0f} steps "
        f"with the norm and in {none[0]:.0f} without",
        in_part=normalises or shortens,
    )
