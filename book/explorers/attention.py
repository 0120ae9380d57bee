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

from tfmlib import ledger, ref
from tfmlib.ledger import masked_softmax
from tfmlib.ledger.printed import digits, tolerance
from tfmlib.ledger.whiteboard import MONEY, RIVER

STORED = Path(__file__).with_suffix(".json")
DECIMALS = 3  # of a stored score: it moves no weight by 0.001
FEATURES = 4  # of a real head's output, the first of 32


def data() -> dict:
    """The examples by name.

    >>> data()["presets"]["help-me"]["heads"][0]["scores"]
    [[6.0, 4.0], [3.0, 8.0]]
    """
    stored = json.loads(STORED.read_text("utf-8"))
    presets = {
        "money": money(),
        "help-me": help_me(),
        "masked": masked(),
        "heads": built_by_hand(),
        "bank-money": bank(MONEY, "money", stored),
        "bank-river": bank(RIVER, "river", stored),
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


# --- examples of the documents --------------------------------------------------------------


def money() -> dict:
    entry, d_k = ledger.find("notes.S"), 64
    scores = np.log(entry.values("S")) * np.sqrt(d_k)
    return {
        "title": "Show me the money",
        "text": "The notes print these weights and no scores, so the scores here are made to fit "
        f"at d_k = {d_k}. They stay as they are when you move d_k, which only divides them. Make "
        "it small, then large. When does each word see only itself, and when everyone alike?",
        "ledger": verdicts(entry.id),
        "keys": ["Show", "me", "the", "money"],
        "heads": one_head(scores.round(DECIMALS)),
        **in_print(weights=[entry.printed["S"]]),
        "start": {"dk": d_k, "query": 2},
    }


def help_me() -> dict:
    rows = [ledger.find("notes.help-me-1"), ledger.find("notes.help-me-2")]
    return {
        "title": "help me!",
        "text": "Scores 6, 4 and 3, 8 with d_k = 16: the scaled scores and the weights come out as "
        "printed. Move d_k away from 16, and they do not.",
        "ledger": verdicts(*(row.id for row in rows)),
        "keys": ["help", "me!"],
        "heads": one_head([row.values("scores") for row in rows]),
        **in_print(
            scaled=[row.printed["scaled"] for row in rows],
            weights=[row.printed["weights"] for row in rows],
        ),
        "start": {"dk": int(rows[0].values("d_k")[0])},
    }


def masked() -> dict:
    pair = masked_softmax.inversions()[0]
    return {
        "title": "<start> not on your life <end>",
        "text": "The notes print the scores and the weights, but not d_k. Move it: the curve never "
        "comes down to the dashed line, so no d_k gives the printed weights. In the last row the "
        f"score {pair.larger_score} weighs {pair.its_weight} and the smaller {pair.smaller_score} "
        f"weighs {pair.other_weight}, which no softmax can do.",
        "ledger": verdicts("notes.mask-scores", "notes.mask-softmax"),
        "keys": masked_softmax.TOKENS,
        "heads": one_head(masked_softmax.scores()),
        **in_print(weights=[masked_softmax.WEIGHTS]),
        "start": {"dk": 64, "ahead": True, "query": 5},
    }


def board_softmax() -> dict:
    entry = ledger.find("board.softmax")
    return {
        "title": "Whiteboard: I, river, bank",
        "text": "The whiteboard turns 0.5, 0.6, 10 and 20 into 0.01, 0.01, 0.28 and 0.7. Softmax "
        "leaves everything to “bank”. Move d_k: does any value help?",
        "ledger": verdicts(entry.id),
        "queries": ["I"],
        "keys": ["went", "to", "river", "bank"],
        "heads": one_head(entry.values("scores")),
        **in_print(weights=[entry.printed["weights"]]),
        "start": {"dk": 1},
    }


def good_morning() -> dict:
    dot, scores = ledger.find("board.good-morning"), ledger.find("board.scores")
    values, d_k = ledger.find("board.new-embedding").values("values"), 2
    first = scores.values("scores")[0] * np.sqrt(d_k)  # the board has it scaled only
    return {
        "title": "Whiteboard: Good morning",
        "text": "The whiteboard divides 7.9 by √2 and writes 6.8; then 1 and 6.8 become 0.3 and "
        "0.7. Look at the scaled scores, then at the weights. Does any d_k repair both?",
        "ledger": verdicts(dot.id, scores.id),
        "queries": ["Good"],
        "keys": ["Good", "morning"],
        "heads": one_head([first, *dot.values("dot product")], values=values.tolist()),
        **in_print(scaled=[scores.given["scores"]], weights=[scores.printed["weights"]]),
        "start": {"dk": d_k, "stage": "scaled"},
    }


# --- heads built by hand, and real ones -----------------------------------------------------


def built_by_hand() -> dict:
    return {
        "title": "Your own sentence",
        "text": "Type up to twelve words, some of them twice. Three heads built by hand read them: "
        "one looks at the word before, one at the same word, one at the first.",
        "ledger": [],
        "start": {"dk": 16, "text": "the dog saw the cat and the dog ran", "query": 7},
    }


def bank(words: list[str], word: str, stored: dict) -> dict:
    """A sentence of the whiteboard, at the head in which “bank” looks most at the given word."""
    example, d_k = stored["sentences"][" ".join(words)], stored["d_k"]
    query, key = example["keys"].index("bank"), example["keys"].index(word)
    looks = [attends(np.array(head["scores"]), d_k)[query, key] for head in example["heads"]]
    return {
        "title": " ".join(words),
        "text": "Four real heads, from layer 1 of the encoder in chapter 12. They were picked out "
        "of 12: the two in which “bank” looks most at “money” in one sentence, and the two in "
        "which it looks most at “river” in the other. Compare the sentences, head by head. ([CLS] "
        f"and [SEP] mark the ends. Output: the first {FEATURES} of {d_k} numbers.)",
        "ledger": [],
        **example,
        "start": {"dk": d_k, "query": query, "head": int(np.argmax(looks))},
    }


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
