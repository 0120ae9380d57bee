"""The notes: positions, attention, masks and the decoder."""

from collections.abc import Callable

import numpy as np

from tfmlib import ref
from tfmlib.ledger import masked_softmax
from tfmlib.ledger.entry import Document, Entry, Trial, Values, agree
from tfmlib.ledger.printed import numbers, shown
from tfmlib.ledger.probes import Decoder, feed_forward_params, layer_params, moved, same
from tfmlib.support.arrays import Array, ArrayLike

NOTES = Document("notes", "the notes")

# --- §3.2, positions ------------------------------------------------------------------------

POSITIONS = "§3.2, eq. (2)-(3)"
D = 4  # the notes' examples have four features


def encoding(position: int) -> Array:
    return ref.sinusoidal_encoding(position + 1, D)[position]


def encoding_in_degrees(position: int) -> Array:
    """What a calculator in degree mode makes of the same equations."""
    angles = np.deg2rad(position * np.array([1, 0.01]))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).ravel()


def listed(values: ArrayLike, places: int = 2) -> str:
    return "[" + ", ".join(shown(value, places) for value in np.ravel(values)) + "]"


def position_entry(position: int, printed: str, word: str) -> Entry:
    label = f"PE_{position}"

    def in_degrees() -> Values:
        return {label: encoding_in_degrees(position)}

    def evidence() -> dict[str, str]:
        fits = "fits" if agree({label: printed}, in_degrees()) else "does not fit"
        return {"read in degrees": f"{listed(in_degrees()[label])}, which {fits}"}

    def explain() -> str:
        sine = np.sin(np.deg2rad(position))
        first = printed.split()[0]
        if agree({label: printed}, in_degrees()):
            slip = f"The printed {first} is sin {position}°: the sine was taken in degrees."
        else:
            slip = (
                f"Neither unit gives {first}: in degrees sin {position}° = {shown(sine, 4)} would "
                f"print as {shown(sine, 2)}."
            )
        return f"{slip} In radians the equations give {listed(encoding(position))}."

    return NOTES.add(
        f"pe{position}",
        POSITIONS,
        f"The encoding of “{word}”, at position {position} with d = 4.",
        printed={label: printed},
        recompute=lambda: {label: encoding(position)},
        explain=explain,
        evidence=evidence if position else None,
    )


PE = [
    position_entry(0, "0 1 0 1", "show"),
    position_entry(1, "0.02 1 0 1", "me"),
    position_entry(2, "0.04 1 0 1", "the"),
    position_entry(3, "0.05 1 0 1", "money"),
]

EMBEDDINGS = NOTES.add(
    "embeddings",
    "§3.2",
    "The embeddings of the four words of “Show me the money”.",
    given={
        "show": "0.12 0.63 0.29 0.41",
        "me": "0.83 0.34 0.04 0.53",
        "the": "0.39 0.77 0.64 0.09",
        "money": "0.41 0.08 0.51 0.87",
    },
)


def explain_sum() -> str:
    with_printed = EMBEDDINGS.values("money") + PE[3].values("PE_3")
    right = agree(SUM.printed, {"money + PE_3": with_printed})
    return (
        f"The addition itself is {'right' if right else 'wrong too'} for the printed PE_3, whose "
        f"sine was taken in degrees. With PE_3 from eq. (2)-(3) the sum is "
        f"{listed(SUM.computed['money + PE_3'])}."
    )


SUM = NOTES.add(
    "sum",
    "§3.2, eq. (5)",
    "The embedding of “money” plus its positional encoding.",
    printed={"money + PE_3": "0.46 1.08 0.51 1.87"},
    recompute=lambda: {"money + PE_3": EMBEDDINGS.values("money") + encoding(3)},
    inputs=("notes.embeddings",),
    explain=explain_sum,
)


@NOTES.tested("pe-range", "§3.2", "Every entry of an encoding lies between -1 and 1.")
def pe_range() -> Trial:
    largest = max(np.abs(ref.sinusoidal_encoding(5000, d)).max() for d in (2, 4, 26, 512))
    return Trial(largest <= 1, "no entry of the first 5,000 encodings leaves [-1, 1]")


def phases(length: int, d_model: int) -> Array:
    """The angle that each pair of dimensions has reached at each position."""
    pairs = ref.sinusoidal_encoding(length, d_model).reshape(length, -1, 2)
    return np.arctan2(pairs[..., 0], pairs[..., 1])  # (T, D/2)


def phase_steps(length: int = 101, d_model: int = 8) -> Array:
    """The angle by which each pair turns from one position to the next."""
    return np.diff(phases(length, d_model), axis=0) % (2 * np.pi)  # (T - 1, D/2)


def explain_frequency() -> str:
    return (
        "The position i is what the wave is read at; its frequency is 10000^(-2j/d), in which only "
        "the dimension index j occurs. Measured from the encodings, a pair turns by the same angle "
        "at every step, and a smaller j turns faster."
    )


@NOTES.tested(
    "pe-frequency",
    "§3.2",
    "The waves have a higher frequency the smaller the position i is.",
    recompute=lambda: {"radians a step for j = 0, 1, 2, 3": phase_steps()[0]},
    places=3,
    explain=explain_frequency,
)
def pe_frequency() -> Trial:
    rises_towards_small_i = bool((np.diff(phase_steps(), axis=0) < -1e-9).all())
    return Trial(
        rises_towards_small_i,
        "the frequency rises towards small positions",
        "the frequency is the same at every position i and falls with the dimension index j",
    )


@NOTES.tested(
    "pe-shift",
    "§3.2, eq. (4)",
    "The encoding at i + δ is that at i, rotated pair by pair by angles that depend on δ alone.",
)
def pe_shift() -> Trial:
    length, d_model = 41, 26
    encodings = ref.sinusoidal_encoding(length, d_model)
    holds = True
    for offset in range(1 - length, length):
        moved_on = encodings @ ref.shift_matrix(offset, d_model).T  # row i is M PE_i
        start, stop = max(0, -offset), min(length, length - offset)
        holds &= same(moved_on[start:stop], encodings[start + offset : stop + offset])
    return Trial(holds, "holds to 1e-12 for all positions below 41, all offsets and all 13 pairs")


@NOTES.tested("pe-offset", "§3.2", "Two encodings tell the offset between their positions.")
def pe_offset() -> Trial:
    length, slowest = 101, phases(101, D)[:, -1]
    turned = slowest[:, None] - slowest[None, :]  # by every pair of positions
    turned = (turned + np.pi) % (2 * np.pi) - np.pi
    offsets = np.arange(length)[:, None] - np.arange(length)[None, :]
    recovered = turned / 0.01  # the slowest pair turns by 0.01 a step and not once around
    return Trial(
        bool(np.abs(recovered - offsets).max() < 1e-9),
        "the angle between the slowest pairs gives δ back for all positions below 101",
    )


@NOTES.tested(
    "bank-distance",
    "§3.2",
    "“bank” and “man” are as far apart in a sentence as in the same one after “then”.",
)
def bank_distance() -> Trial:
    sentence = ["the", "bank", "told", "the", "man", "he", "was", "bankrupt"]
    first, second = (
        words.index("man") - words.index("bank") for words in (sentence, ["then", *sentence])
    )
    return Trial(first == second, f"“man” comes {first} and {second} words after “bank”")


# --- §3.3-3.7, the encoder ------------------------------------------------------------------


def is_attention_filter() -> Trial:
    weights = FILTER.values("S")
    is_softmax = same(ref.softmax(np.log(weights)), weights)  # log S is a score matrix for it
    diagonal_wins = (weights.argmax(axis=-1) == np.arange(4)).all()
    second_of_the = weights[2].argsort()[-2]
    return Trial(
        bool(is_softmax and diagonal_wins and second_of_the == 3),
        "the rows sum to 1 and are the softmax of log S, but no printed Q and K determine them",
    )


FILTER = NOTES.add(
    "S",
    "§3.3",
    "The attention filter of “Show me the money”, in which “the” attends next to “money”.",
    printed={
        "S": "0.61 0.18 0.04 0.17 / 0.16 0.57 0.08 0.19 / 0.03 0.07 0.74 0.16 / 0.17 0.23 0.12 0.48"
    },
    is_valid=is_attention_filter,
)


def help_me(name: str, word: str, scores: str, scaled: str, weights: str) -> Entry:
    d_k = 16

    def recompute() -> Values:
        divided = numbers(scores) / np.sqrt(d_k)
        return {"scaled": divided, "weights": ref.softmax(divided)}

    return NOTES.add(
        name,
        "Appendix, eq. (10)-(11)",
        f"“{word}” in “help me!”: scores {scores.replace(' ', ' and ')} with d_k = {d_k}, scaled "
        "and through the softmax.",
        given={"scores": scores, "d_k": str(d_k)},
        printed={"scaled": scaled, "weights": weights},
        recompute=recompute,
    )


help_me("help-me-1", "help", "6 4", "1.5 1", "0.62 0.38")
help_me("help-me-2", "me", "3 8", "0.75 2", "0.22 0.78")


@NOTES.tested(
    "shapes",
    "§3.3-3.4, eq. (7)-(10), (12)-(14)",
    "Queries and keys have the same width, W^0 is (h d_v) × d, and the output is n × d.",
)
def shapes() -> Trial:
    n, d, h, d_k, d_v = 11, 7, 3, 5, 2
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, d))
    sizes = {"w_q": (d, h * d_k), "w_k": (d, h * d_k), "w_v": (d, h * d_v), "w_o": (h * d_v, d)}
    params = {name: rng.normal(size=size) for name, size in sizes.items()}
    fits = ref.multi_head_attention(x, x, params, h).shape == (n, d)
    unequal = params | {"w_q": rng.normal(size=(d, h * (d_k + 1)))}
    refused = refuses(lambda: ref.multi_head_attention(x, x, unequal, h))
    narrow = params | {"w_o": rng.normal(size=(d, d))}
    refused &= refuses(lambda: ref.multi_head_attention(x, x, narrow, h))
    return Trial(
        fits and refused,
        "holds with n, d, h, d_k, d_v = 11, 7, 3, 5, 2, and other widths are refused",
    )


def refuses(call: Callable[[], object]) -> bool:
    try:
        call()
    except ValueError:
        return True
    return False


@NOTES.tested(
    "layernorm",
    "§3.6, eq. (15)",
    "Layer norm standardises each row by the row's own mean and standard deviation.",
)
def layernorm() -> Trial:
    x = np.random.default_rng(5).normal(3, 2, size=(5, 7))
    rows = []
    for row in x.tolist():
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)  # over n, not n - 1
        rows.append([(value - mean) / (variance + 1e-5) ** 0.5 for value in row])
    return Trial(
        same(ref.layer_norm(x), np.array(rows)) and not ref.layer_norm(np.full((2, 3), 7.0)).any(),
        "equals eq. (15) written as loops, with the population variance; constant rows give zeros",
    )


@NOTES.tested(
    "add-norm",
    "§3.6, eq. (16)",
    "A sublayer's output is added to its input and the sum is normalised (post-norm).",
)
def add_norm() -> Trial:
    rng = np.random.default_rng(11)
    x, d = rng.normal(2, 3, size=(5, 6)), 6
    params = layer_params(rng, d)
    attended = x + ref.multi_head_attention(x, x, params["self_attention"], 2)
    middle = ref.layer_norm(attended)
    outside = ref.layer_norm(middle + ref.feed_forward(middle, **params["feed_forward"]))
    layer = ref.encoder_layer(x, params, 2)
    pre_norm = x + ref.feed_forward(ref.layer_norm(x), **params["feed_forward"])
    return Trial(
        same(layer, outside)
        and same(layer, ref.layer_norm(layer, eps=0) * row_scale(layer))
        # A pre-norm layer ends with the sum, whose rows are not standardised.
        and moved(pre_norm.mean(axis=-1), np.zeros(5)),
        "the encoder layer is norm(x + sublayer(x)) twice, and its rows leave it standardised",
    )


def row_scale(x: Array) -> Array:
    return x.std(axis=-1, keepdims=True)


@NOTES.tested(
    "ffn",
    "§3.7, eq. (17)",
    "The feed-forward network applies the same weights at each position.",
)
def ffn() -> Trial:
    rng = np.random.default_rng(13)
    x, weights = rng.normal(size=(7, 5)), feed_forward_params(rng, 5, 11)
    order = rng.permutation(7)
    permuted = ref.feed_forward(x[order], **weights)
    alone = np.concatenate([ref.feed_forward(row[None], **weights) for row in x])
    whole = ref.feed_forward(x, **weights)
    return Trial(
        same(permuted, whole[order]) and same(alone, whole),
        "permuting 7 positions permutes the outputs, and a position alone gives the same row",
    )


# --- §4, the decoder ------------------------------------------------------------------------

TOKENS = ["<start>", "not", "on", "your", "life", "<end>"]


@NOTES.recomputed(
    "mask-scores",
    "§4.2, eq. (18)",
    "The scores of “<start> not on your life <end>” plus the look-ahead mask B.",
    given={"QK^T": masked_softmax.SCORES},
    printed={"QK^T + B": masked_softmax.MASKED_SCORES},
)
def mask_scores() -> Values:
    mask = ref.look_ahead_mask(len(TOKENS))
    return {"QK^T + B": masked_softmax.scores() + ref.additive(mask)}


NOTES.add(
    "mask-softmax",
    "§4.2, eq. (18)",
    "The masked scores, scaled and through the softmax of each row.",
    printed={"S'": masked_softmax.WEIGHTS},
    recompute=lambda: {"S'": masked_softmax.closest().weights},
    inputs=("notes.mask-scores",),
    summary=masked_softmax.summary,
    impossible=masked_softmax.is_impossible,
    explain=masked_softmax.explain,
    evidence=masked_softmax.evidence,
)


@NOTES.tested(
    "mask-inside",
    "§4.2, eq. (18)",
    "The mask is added before the scores are divided by √d_k.",
)
def mask_inside() -> Trial:
    rng = np.random.default_rng(17)
    q, k = rng.normal(size=(2, 7, 5))
    mask = ref.look_ahead_mask(7)
    before = ref.attention_weights(q, k, mask)
    after = ref.softmax(q @ k.T / np.sqrt(5) + ref.additive(mask))
    finite = ref.softmax((q @ k.T + np.where(mask, 0, -5.0)) / np.sqrt(5))
    return Trial(
        same(before, after) and moved(finite, after),
        "adding B after the division gives the same weights, because -∞/√d_k is -∞",
    )


@NOTES.tested(
    "teacher-forcing",
    "§4.2",
    "The whole target at once gives the distributions of one token at a time.",
)
def teacher_forcing() -> Trial:
    decoder, ids = Decoder(vocab_size=11), [1, 5, 3, 7, 2, 9]
    at_once = decoder.probabilities(ids)
    one_by_one = [decoder.probabilities(ids[: t + 1])[-1] for t in range(len(ids))]
    return Trial(
        same(at_once, np.array(one_by_one)),
        "two masked decoder layers give the same 6 distributions both ways, to 1e-12",
    )


@NOTES.tested(
    "greedy",
    "§4.1",
    "Decoding starts from <start> and adds one token a step until <end>.",
    evidence=lambda: {f"input of step {i}": words for i, words in enumerate(greedy_inputs(), 1)},
)
def greedy() -> Trial:
    steps = greedy_inputs()
    expected = [" ".join(TOKENS[: length + 1]) for length in range(len(TOKENS) - 1)]
    return Trial(
        steps == expected,
        "the loop is fed <start>, then each time one token more, and stops after 5 steps at <end>",
    )


def greedy_inputs() -> list[str]:
    """What a decoder that has learnt the sentence is fed, step by step."""
    decoder = Decoder(vocab_size=len(TOKENS))
    decoder.learn(list(range(len(TOKENS))))
    *inputs, finished = decoder.greedy(start=0, end=TOKENS.index("<end>"))
    words = [" ".join(TOKENS[i] for i in ids) for ids in (*inputs, finished)]
    return words[:-1] if words[-1].endswith("<end>") else words
