"""The slides: look-up and attention, order and offsets, rotary encoding, the output layer."""

import numpy as np

from tfmlib import ref
from tfmlib.ledger.entry import Document, Trial
from tfmlib.ledger.probes import layer_params, moved, same

SLIDES = Document("slides", "the slides")

# --- look-up --------------------------------------------------------------------------------

ORDERS = [f"order_{number}" for number in range(100, 111)]
DETAILS = [(f"{letter}1", f"{letter}2") for letter in "abcdefghijk"]


@SLIDES.tested(
    "orders",
    "query, key and value",
    "Asking a store of eleven orders for order_104 returns its items e1 and its date e2.",
)
def orders() -> Trial:
    keys, values = np.eye(len(ORDERS)), np.eye(len(ORDERS))  # a value is the row it stands for
    query = ref.one_hot(ORDERS.index("order_104"), len(ORDERS))
    hard = ref.attention_pool(query, keys, values, similarity=np.dot)
    found = DETAILS[int(hard.argmax())] == ("e1", "e2") and same(hard, values[4])
    sharp = ref.attention(1000 * query[None], keys, values)[0]
    blurred = ref.attention(0 * query[None], keys, values)[0]
    soft = same(sharp, hard) and same(blurred, values.mean(axis=0))
    return Trial(
        found and soft,
        "attention with one-hot keys returns e1, e2; a sharper query tends to that look-up, a "
        "blurred one to the mean of all orders",
    )


@SLIDES.tested(
    "one-hot",
    "tokenization and embeddings",
    "A one-hot row times the embedding matrix is a row of that matrix.",
)
def one_hot() -> Trial:
    table, ids = np.random.default_rng(47).normal(size=(11, 5)), [3, 7, 3, 0, 10]
    product = ref.one_hot(ids, 11) @ table
    return Trial(
        same(product, ref.embed(ids, table)) and same(product, table[ids]),
        "the product and the look-up agree for 5 tokens of a vocabulary of 11",
    )


# --- order ----------------------------------------------------------------------------------


@SLIDES.tested(
    "order-matters",
    "position matters",
    "“ate an apple” and “apple ate an” must get different representations.",
)
def order_matters() -> Trial:
    rng, vocabulary = np.random.default_rng(53), ["ate", "an", "apple", "<eos>"]
    table, params = rng.normal(size=(4, 6)), layer_params(rng, 6)
    order = [vocabulary.index(word) for word in ["apple", "ate", "an", "<eos>"]]
    positions = ref.sinusoidal_encoding(4, 6)
    plain = ref.encoder_layer(table, params, 2)
    shuffled = ref.encoder_layer(table[order], params, 2)
    placed = ref.encoder_layer(table + positions, params, 2)
    placed_shuffled = ref.encoder_layer(table[order] + positions, params, 2)
    return Trial(
        same(shuffled, plain[order]) and moved(placed_shuffled, placed[order]),
        "without positions an encoder layer gives each word the same vector in both orders, with "
        "positions it does not",
    )


WALKS = (
    ["I", "walk", "my", "dog", "every", "day"],
    ["every", "single", "day", "I", "walk", "my", "dog"],
)


@SLIDES.tested(
    "relative",
    "position encodings",
    "“my dog” follows “I walk” at the same offset wherever the phrase stands.",
)
def relative() -> Trial:
    offsets = [words.index("my") - words.index("I") for words in WALKS]
    rng, vocabulary = np.random.default_rng(59), sorted({*WALKS[0], *WALKS[1]})
    queries, keys = rng.normal(size=(2, len(vocabulary), 6))
    phrase = ["I", "walk", "my", "dog"]
    rotary, absolute = [], []
    for words in WALKS:
        places = [words.index(word) for word in phrase]
        ids = [vocabulary.index(word) for word in phrase]
        q, k = queries[ids], keys[ids]
        rotary.append(ref.rope(q, places) @ ref.rope(k, places).T)
        encoded = ref.sinusoidal_encoding(len(words), 6)[places]
        absolute.append((q + encoded) @ (k + encoded).T)
    return Trial(
        offsets[0] == offsets[1] and same(*rotary) and moved(*absolute),
        f"the offset is {offsets[0]} in both sentences; the scores within the phrase are the same "
        "in both with rotary positions, and differ with added ones",
    )


@SLIDES.tested(
    "rope",
    "rotary position embedding",
    "With rotary embedding the score of a query and a key depends on their offset alone.",
)
def rope() -> Trial:
    q, k = np.random.default_rng(61).normal(size=(2, 1, 26))
    places = range(0, 400, 13)
    holds = True
    for offset in (-11, -2, 0, 3, 7):
        scores = [
            (ref.rope(q, [place + offset + 11]) @ ref.rope(k, [place + 11]).T).item()
            for place in places
        ]
        holds &= bool(np.ptp(scores) < 1e-10)
    length = np.linalg.norm(ref.rope(q, [397]))
    return Trial(
        holds and bool(abs(length - np.linalg.norm(q)) < 1e-10),
        "moving both by up to 390 positions changes no score by 1e-10, for 5 offsets",
    )


# --- what others measured -------------------------------------------------------------------

TASKS = ("MRPC", "SST-2", "QNLI", "STS-B", "QQP", "MNLI")


def tasks_won() -> tuple[list[str], list[str]]:
    """Names of the tasks on which RoFormer is ahead, and of those on which it is behind."""
    rows = {name: ROFORMER.values(name) for name in ("RoFormer", "BERT")}
    ahead: list[str] = []
    behind: list[str] = []
    for index, task in enumerate(TASKS):
        columns = [index] if task != "MNLI" else [5, 6]  # matched and mismatched
        wins = (rows["RoFormer"][columns] > rows["BERT"][columns]).all()
        loses = (rows["RoFormer"][columns] < rows["BERT"][columns]).all()
        ahead += [task] * int(wins)
        behind += [task] * int(loses)
    return ahead, behind


def roformer_summary() -> str:
    ahead, behind = tasks_won()
    return (
        f"results of {ROFORMER.source}; RoFormer is ahead of BERT on {len(ahead)} of "
        f"{len(TASKS)} tasks and behind on {len(behind)}"
    )


def roformer_evidence() -> dict[str, str]:
    ahead, behind = tasks_won()
    return {
        "RoFormer ahead": ", ".join(ahead),
        "RoFormer behind": ", ".join(behind),
        "so the claim of better results": f"holds on {len(ahead)} of {len(TASKS)} tasks",
    }


ROFORMER = SLIDES.add(
    "roformer",
    "rotary position embedding",
    "RoFormer against BERT, fine-tuned on six tasks: relative positions are said to do better.",
    printed={
        "RoFormer": "89.5 90.7 88.0 87.0 86.4 80.2 79.8",
        "BERT": "88.9 93.5 90.5 85.8 71.2 84.6 83.4",
    },
    source="Su et al., RoFormer (arXiv:2104.09864), Table 2",
    summary=roformer_summary,
    evidence=roformer_evidence,
)


# --- the output layer -----------------------------------------------------------------------


@SLIDES.tested(
    "argmax",
    "final linear and softmax layer",
    "The index of the largest logit is that of the largest log-probability.",
)
def argmax() -> Trial:
    logits = 5 * np.random.default_rng(67).normal(size=(101, 13))
    chosen = logits.argmax(axis=-1)
    agree = (chosen == ref.log_softmax(logits).argmax(axis=-1)).all()
    agree &= (chosen == ref.softmax(logits).argmax(axis=-1)).all()
    return Trial(
        bool(agree), "logits, probabilities and log-probabilities have one argmax on 101 rows of 13"
    )
