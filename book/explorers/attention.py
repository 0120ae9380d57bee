"""The data of the attention explorer: examples with their scores.

    python -m book.explorers.attention

computes the scores of real heads again and stores them in attention.json. That needs torch and the
published weights of chapter 12; building the book does not.

An example has `keys` (and `queries`, where they are others), one or several `heads` with their
scores before scaling, and the settings at which it starts. Where a document prints results,
`printed` has them by stage, as printed, and `tolerance` how far each figure may be off.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from book.explorers import question, uniforms
from tfmlib import ledger, ref
from tfmlib.ledger import masked_softmax
from tfmlib.ledger.printed import digits, tolerance
from tfmlib.ledger.whiteboard import MONEY, RIVER

STORED = Path(__file__).with_suffix(".json")
DECIMALS = 3  # of a stored score: it moves no weight by 0.001
SHARPNESS = 60  # of the heads built by hand, as in chapter 5
FEATURES = 4  # of a real head's output, the first of 32


def data() -> dict:
    """The examples by name.

    >>> data()["presets"]["help-me"]["heads"][0]["scores"]
    [[6.0, 4.0], [3.0, 8.0]]
    """
    stored = json.loads(STORED.read_text("utf-8"))
    presets = {
        "drawn": random_vectors(),
        "money": money(),
        "help-me": help_me(),
        "masked": masked(),
        "heads": built_by_hand(),
        "bank-money": bank(MONEY, "money", "head 1", stored),
        "bank-river": bank(RIVER, "river", "head 5", stored),
        "board-softmax": board_softmax(),
        "good-morning": good_morning(),
    }
    return {"presets": presets}


def verdicts(*ids: str) -> list[dict]:
    entries = [ledger.find(id) for id in ids]
    return [
        {"id": e.id, "verdict": e.verdict, "grave": e.is_grave, "sentence": e.sentence}
        for e in entries
    ]


def one_head(scores, **more) -> list[dict]:
    return [{"name": "", "scores": np.atleast_2d(scores).tolist(), **more}]


def in_print(**stages: Sequence[str]) -> dict:
    """What is printed at each stage, text under text, and how far each figure may be off."""

    def rows(texts: Sequence[str], read: Callable) -> list[list]:
        return [row for text in texts for row in np.atleast_2d(read(text)).tolist()]

    return {
        "printed": {stage: rows(texts, digits) for stage, texts in stages.items()},
        "tolerance": {stage: rows(texts, tolerance) for stage, texts in stages.items()},
    }


# --- random queries and keys ----------------------------------------------------------------------

SENTENCE = ["we", "went", "to", "the", "bank", "of", "the", "river"]


def drawn(d_k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys (8, d_k) each, with mean 0 and variance 1: those that attention.js draws.

    The numbers come dimension by dimension, so longer vectors begin as shorter ones do.
    """
    T, source = len(SENTENCE), uniforms(seed)
    pairs = np.array([[next(source), next(source)] for _ in range(T * d_k)])
    radius, angle = np.sqrt(-2 * np.log(pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)  # by Box and Muller
    queries, keys = normal.reshape(d_k, 2, T).transpose(1, 2, 0)
    return queries, keys


def evenness(weights: np.ndarray) -> float:
    """The rows' mean entropy, as a share of the largest possible: as in chapter 4."""
    entropy = -(weights * np.log(weights + 1e-300)).sum(axis=-1)
    return float((entropy / np.log(weights.shape[-1])).mean())


def random_vectors() -> dict:
    short, long, seed = 4, 256, 1
    scores = {d_k: np.matmul(drawn(d_k, seed)[0], drawn(d_k, seed)[1].T) for d_k in (short, long)}
    plain = [evenness(ref.softmax(one)) for one in scores.values()]
    divided = [evenness(attends(one, d_k)) for d_k, one in scores.items()]
    fates = ["More even", "About as even as before", "Less even: one word gets nearly all"]
    change = plain[1] - plain[0]
    return {
        "title": "Random queries and keys",
        "text": "Every word has a query and a key of d_k random numbers with mean 0 and variance "
        "1, as before training. Another d_k draws them anew. Move d_k with the division and "
        "without it: which of the two keeps the rows as they are?",
        "question": question(
            f"Queries and keys are random, with d_k entries each, and nothing divides the scores. "
            f"How even are the weights of a row if d_k grows from {short} to {long}?",
            fates,
            fates[0] if change > 0.1 else fates[2] if change < -0.1 else fates[1],
            f"The scores grow with d_k, so the evenness falls from {plain[0]:.2f} to {plain[1]:.2f}"
            f". Divided by √d_k it goes from {divided[0]:.2f} to {divided[1]:.2f}.",
            dk=long,
            scaled=False,
        ),
        "ledger": [],
        "keys": SENTENCE,
        "start": {"dk": short, "query": SENTENCE.index("bank"), "seed": seed},
    }


# --- examples of the documents --------------------------------------------------------------


def money() -> dict:
    entry, d_k = ledger.find("notes.S"), 64
    scores = np.log(entry.values("S")) * np.sqrt(d_k)
    words, query = ["Show", "me", "the", "money"], 2
    start, least = (attends(scores, d)[query, query] for d in (d_k, 1))
    stays = "It hardly changes"
    fates = ["Nearly all goes to “the” itself", "All four words get about the same", stays]
    right = fates[0] if least > 0.95 else fates[1] if least < 0.3 else stays
    return {
        "title": "Show me the money",
        "text": "The notes print these weights and no scores, so the scores here are made to fit "
        f"the divisor √{d_k}. They stay as they are: the slider only divides them. Make the "
        "divisor small, then large. When does each word see only itself, and when everyone alike?",
        "question": question(
            f"The scores are fixed, and divided by √{d_k} = {np.sqrt(d_k):.0f} “the” gives itself "
            f"a weight of {start:.2f}. What becomes of its row if the divisor falls to 1?",
            fates,
            right,
            f"Its weight on itself goes from {start:.2f} to {least:.2f}. A smaller divisor makes "
            "the differences between the same scores larger, and softmax sharper.",
            dk=1,
        ),
        "ledger": verdicts(entry.id),
        "keys": words,
        "heads": one_head(scores.round(DECIMALS)),
        **in_print(weights=[entry.printed["S"]]),
        "start": {"dk": d_k, "query": query},
    }


def help_me() -> dict:
    rows = [ledger.find("notes.help-me-1"), ledger.find("notes.help-me-2")]
    words, d_k = ["help", "me!"], int(rows[0].values("d_k")[0])
    scores = np.array([row.values("scores") for row in rows])  # (2, 2)
    gaps, largest = np.ptp(scores, axis=1), attends(scores, d_k).max(axis=1)
    return {
        "title": "help me!",
        "text": f"Scores 6, 4 and 3, 8 with d_k = {d_k}: the scaled scores and the weights come "
        f"out as printed. Move the divisor away from √{d_k}, and they do not.",
        "question": question(
            "The scores of “help” are 6 and 4, those of “me!” are 3 and 8, all divided by "
            f"√{d_k}. Whose largest weight is larger?",
            [*words, "Both are the same"],
            words[largest.argmax()] if np.ptp(largest) > 0.005 else "Both are the same",
            f"The largest weights are {largest[0]:.2f} and {largest[1]:.2f}. Softmax sees only the "
            f"differences of a row: {gaps[0]:.0f} and {gaps[1]:.0f} before they are divided.",
            query=int(largest.argmax()),
        ),
        "ledger": verdicts(*(row.id for row in rows)),
        "keys": words,
        "heads": one_head(scores),
        **in_print(
            scaled=[row.printed["scaled"] for row in rows],
            weights=[row.printed["weights"] for row in rows],
        ),
        "start": {"dk": d_k},
    }


def masked() -> dict:
    pair, words, d_k = masked_softmax.inversions()[0], masked_softmax.TOKENS, 64
    scores, mask = masked_softmax.scores(), ref.look_ahead_mask(len(masked_softmax.TOKENS))
    moved = np.abs(attends(scores, d_k) - attends(scores + ref.additive(mask), d_k))
    kept = [word for word, row in zip(words, moved, strict=True) if row.max() < 1e-9]
    return {
        "title": "<start> not on your life <end>",
        "question": question(
            "With the look-ahead mask no word sees those after it. Take the mask away: whose row "
            "of weights stays as it is?",
            [words[0], words[3], words[-1], "Nobody’s"],
            kept[0] if len(kept) == 1 else "Nobody’s",
            f"For “{words[-1]}” there is nothing to hide: all words are before it. In every other "
            f"row some weight changes, in that of “{words[0]}” by up to {moved[0].max():.2f}.",
            ahead=False,
        ),
        "text": "The notes print the scores and the weights, but not d_k. Move the divisor √d_k: "
        "the curve never comes down to the dashed line, so no d_k gives the printed weights. In "
        f"the last row the score {pair.larger_score} weighs {pair.its_weight} and the smaller "
        f"{pair.smaller_score} weighs {pair.other_weight}, which no softmax can do.",
        "ledger": verdicts("notes.mask-scores", "notes.mask-softmax"),
        "keys": words,
        "heads": one_head(scores),
        **in_print(weights=[masked_softmax.WEIGHTS]),
        "start": {"dk": d_k, "ahead": True, "query": 5},
    }


def board_softmax() -> dict:
    entry = ledger.find("board.softmax")
    words, river = ["went", "to", "river", "bank"], 2
    scores, printed = entry.values("scores"), entry.values("weights")
    weight, share = ref.softmax(scores)[river], scores[river] / scores.sum()
    choices = [f"{printed[river]:.2f}", f"{share:.2f}", "Less than 0.001"]
    right = choices[2] if weight < 0.001 else f"{weight:.2f}"
    return {
        "title": "Whiteboard: I, river, bank",
        "text": "The whiteboard turns 0.5, 0.6, 10 and 20 into 0.01, 0.01, 0.28 and 0.7. Softmax "
        "leaves everything to “bank”. Move the divisor: does any value help?",
        "question": question(
            "The scores are 0.5 for “went”, 0.6 for “to”, 10 for “river” and 20 for “bank”. What "
            "weight does softmax leave to “river”?",
            choices,
            right,
            f"It is {weight:.6f}. Each step of 1 between two scores is a factor of e, so a score "
            f"that is 10 lower gets {np.exp(10):,.0f} times less weight.",
        ),
        "ledger": verdicts(entry.id),
        "queries": ["I"],
        "keys": words,
        "heads": one_head(scores),
        **in_print(weights=[entry.printed["weights"]]),
        "start": {"dk": 1},
    }


def good_morning() -> dict:
    dot, scores = ledger.find("board.good-morning"), ledger.find("board.scores")
    values, d_k = ledger.find("board.new-embedding").values("values"), 2
    first = scores.values("scores")[0] * np.sqrt(d_k)  # the board has it scaled only
    [score], [printed] = dot.values("dot product"), dot.values("scaled")
    scaled = score / np.sqrt(d_k)
    return {
        "title": "Whiteboard: Good morning",
        "text": "The whiteboard divides 7.9 by √2 and writes 6.8; then 1 and 6.8 become 0.3 and "
        "0.7. Look at the scaled scores, then at the weights. Does any divisor repair both?",
        "question": question(
            f"The query of “Good” and the key of “morning” have {d_k} entries each and the dot "
            f"product {score}. What is the scaled score?",
            [f"{score / d_k:.2f}", f"{scaled:.2f}", f"{printed:.2f}"],
            f"{scaled:.2f}",
            f"The divisor is √{d_k} = {np.sqrt(d_k):.2f}. The whiteboard has {printed}, which "
            f"would need a divisor of {score / printed:.2f}.",
        ),
        "ledger": verdicts(dot.id, scores.id),
        "queries": ["Good"],
        "keys": ["Good", "morning"],
        "heads": one_head([first, score], values=values.tolist()),
        **in_print(scaled=[scores.given["scores"]], weights=[scores.printed["weights"]]),
        "start": {"dk": d_k, "stage": "scaled"},
    }


# --- heads built by hand, and real ones -----------------------------------------------------


def built_by_hand() -> dict:
    words, d_k, query = ["the", "dog", "saw", "the", "cat", "and", "the", "dog", "ran"], 16, 7
    same = np.array([[float(one == other) for other in words] for one in words])
    weights = attends(SHARPNESS * same, d_k)[query]  # of the head that looks at the same word
    first = words.index(words[query])
    return {
        "title": "Your own sentence",
        "text": "Type up to twelve words, some of them twice. Three heads built by hand read them: "
        "one looks at the word before, one at the same word, one at the first.",
        "question": question(
            f"“{' '.join(words)}”: one head looks at the same word. What weight does the second "
            f"“{words[query]}” give to the first?",
            ["0.00", f"{1 / len(words):.2f}", "0.50", "1.00"],
            f"{weights[first]:.2f}",
            f"Both “{words[query]}” have the same key, so they get the same score and the same "
            "weight. Positions do not count in this head.",
            head=1,
        ),
        "ledger": [],
        "start": {"dk": d_k, "text": " ".join(words), "query": query},
    }


def bank(words: list[str], word: str, asked: str, stored: dict) -> dict:
    """A sentence of the whiteboard, at the head in which “bank” looks most at the given word.

    The question is about the head `asked`.
    """
    example, d_k = stored["sentences"][" ".join(words)], stored["d_k"]
    query, key = example["keys"].index("bank"), example["keys"].index(word)
    looks = [attends(np.array(head["scores"]), d_k)[query, key] for head in example["heads"]]
    return {
        "title": " ".join(words),
        "text": "Four real heads, from layer 1 of the encoder in chapter 12. They were picked out "
        "of 12: the two in which “bank” looks most at “money” in one sentence, and the two in "
        "which it looks most at “river” in the other. Compare the sentences, head by head. ([CLS] "
        f"and [SEP] mark the ends. Output: the first {FEATURES} of {d_k} numbers.)",
        "question": most_looked_at(example, asked, query, d_k),
        "ledger": [],
        **example,
        "start": {"dk": d_k, "query": query, "head": int(np.argmax(looks))},
    }


def most_looked_at(example: dict, name: str, query: int, d_k: int) -> dict:
    """Ask which word gets most of a word's attention: it, or one of three others."""
    words, names = example["keys"], [head["name"] for head in example["heads"]]
    head = names.index(name)
    weights = attends(np.array(example["heads"][head]["scores"]), d_k)[query]
    most = int(weights.argmax())
    others = [int(i) for i in weights.argsort()[::-1][:3] if i != query]
    told = ", ".join(f"“{words[i]}” {weights[i]:.2f}" for i in others)
    return question(
        f"A real head, {name} of a trained encoder, reads “{' '.join(words[1:-1])}”. Which word "
        f"does “{words[query]}” look at most?",
        [words[i] for i in sorted({query, *others})],
        words[most],
        f"The largest weights: {told}; “{words[query]}” itself has {weights[query]:.2f}. Nobody "
        "told the head what to look for; it was trained.",
        head=head,
    )


def attends(scores: np.ndarray, d_k: int) -> np.ndarray:
    return ref.softmax(scores / np.sqrt(d_k))


def stored_heads() -> dict:
    """What attention.json holds: scores and values of four heads of a published encoder."""
    found = {" ".join(words): real_heads(" ".join(words)) for words in (MONEY, RIVER)}
    d_k = next(iter(found.values()))[2].shape[-1]
    chosen = set()
    for word, (tokens, scores, _) in zip(("money", "river"), found.values(), strict=True):
        looks = attends(scores, d_k)[:, tokens.index("bank"), tokens.index(word)]  # (H,)
        chosen |= {int(head) for head in looks.argsort()[-2:]}
    sentences = {
        sentence: {"keys": tokens, "heads": [named(h, scores, v) for h in sorted(chosen)]}
        for sentence, (tokens, scores, v) in found.items()
    }
    return {"d_k": d_k, "sentences": sentences}


def real_heads(sentence: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The tokens, and all scores and values of the first layer: (H, T, T) and (H, T, K)."""
    import torch

    from tfmlib.pretrained import load_encoder, load_tokenizer

    encoder, tokenizer = load_encoder().double(), load_tokenizer()
    ids = tokenizer.encode(sentence)
    with torch.inference_mode():
        x = encoder.embed(torch.tensor([ids]))
        q, k, v = (part[0].numpy() for part in encoder.encoder[0].self_attention.project(x))
    return tokenizer.tokens(ids), q @ k.swapaxes(-1, -2), v


def named(head: int, scores: np.ndarray, values: np.ndarray) -> dict:
    return {
        "name": f"head {head + 1}",
        "scores": scores[head].round(DECIMALS).tolist(),
        "values": values[head, :, :FEATURES].round(DECIMALS).tolist(),
    }


if __name__ == "__main__":
    text = json.dumps(stored_heads(), separators=(",", ":"))
    STORED.write_text(text + "\n", encoding="utf-8", newline="\n")
