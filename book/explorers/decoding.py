"""The data of the decoding explorer: what may follow each beginning that a search asks about.

The first preset is the table of chapter 9. The others are sentences for a translator of number
words, early in its training and at its end. Their distributions are in decoding.json;

    python -m book.explorers.decoding

writes it anew: it trains the translator, takes its distributions, and compares what a search over
them finds with what tfmlib.generate finds. It takes four to eight minutes on one core.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

STORED = Path(__file__).with_suffix(".json")

WIDTHS = range(1, 6)
ALPHAS = [step / 10 for step in range(21)]  # those of the slider
SHOWN = 6  # tokens of each distribution: the widest search needs 5, the picture shows one more
END = "<end>"
MOST = {"table": 5, "number": 12}  # tokens, END counted: no number below a million has more

# Numbers of the test set, chosen among its thousand because each shows something early in training.
NUMBERS = {
    "greedy-errs": 104_030,  # width 2 finds the right answer, greedy does not
    "penalty-errs": 50_600,  # α from 0.5 on prefers a sentence that is too long
    "model-errs": 164_000,  # no search finds what the model does not believe
}
STEPS = {"early": 240, "trained": 920}

# The chapter's tokens, in its order, which decides between two that are as likely, and its table.
TOKENS = ["<start>", END, "not", "never", "on", "ever", "your", "life"]
TABLE = {
    "<start>": {"not": 0.6, "never": 0.4},
    "not": {"on": 0.4, END: 0.3, "ever": 0.3},
    "never": {"ever": 0.8, "on": 0.2},
    "on": {"your": 0.9, END: 0.1},
    "ever": {END: 0.9, "on": 0.1},
    "your": {"life": 0.9, END: 0.1},
    "life": {END: 0.9, "not": 0.1},
    END: {END: 1.0},
}

Distributions = dict[str, dict[str, float]]  # a beginning, its words with spaces: {word: ln p}


def data() -> dict:
    """Presets with their distributions by model, and how far along and how good each model is."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    presets = {
        name: {"title": f"{NUMBERS[name]:,} in German", "most": MOST["number"], **example}
        for name, example in stored["examples"].items()
    }
    return {"presets": {"table": table_preset(), **presets}, "models": stored["models"]}


def table_preset() -> dict:
    """The table of the chapter, as far as a search asks for it."""

    def ask(beginning: list[str]) -> dict[str, float]:
        following = TABLE[beginning[-1] if beginning else "<start>"]
        return likeliest({name: math.log(following[name]) for name in TOKENS if name in following})

    title = "The chapter’s table: not on your life"
    distributions = reached(ask, MOST["table"])
    return {"title": title, "most": MOST["table"], "distributions": {"table": distributions}}


def likeliest(log_p: dict[str, float]) -> dict[str, float]:
    """The tokens that are kept of a distribution, the likeliest first, equal ones as they came."""
    return dict(sorted(log_p.items(), key=lambda item: -item[1])[:SHOWN])


# --- a search over distributions ----------------------------------------------------------------


def search(ask: Callable, width: int, alpha: float, most: int) -> list[str]:
    """The words that tfmlib.generate.beam_search would write, given what may follow a beginning.

    >>> follow = {"": {"a": -0.1, "b": -2.4}, "a": {"<end>": -0.2}, "b": {"<end>": 0.0}}
    >>> search(lambda words: follow[" ".join(words)], width=2, alpha=0.6, most=3)
    ['a', '<end>']
    """
    beams, best, best_score = [((), 0.0)], (), -math.inf
    for length in range(1, most + 1):
        longer = [
            ((*words, word), log_p + more)
            for words, log_p in beams
            for word, more in ask(list(words)).items()
        ]
        longer.sort(key=lambda beam: -beam[1])
        beams = []
        for words, log_p in longer[:width]:
            if words[-1] != END and length < most:
                beams.append((words, log_p))
            elif (score := log_p / penalty(length, alpha)) > best_score:
                best, best_score = words, score
        if not beams or beams[0][1] / penalty(most, alpha) <= best_score:
            break
    return list(best)


def penalty(length: int, alpha: float) -> float:
    return ((5 + length) / 6) ** alpha


def reached(ask: Callable, most: int) -> Distributions:
    """Every distribution that a search with one of the widths asks for, with any α.

    A search with a smaller α follows the same beginnings and stops no later: the largest will do.
    """
    asked: Distributions = {}

    def remember(beginning: list[str]) -> dict[str, float]:
        key = " ".join(beginning)
        if key not in asked:
            asked[key] = ask(beginning)
        return asked[key]

    for width in WIDTHS:
        search(remember, width, max(ALPHAS), most)
    return asked


# --- those of the trained model -----------------------------------------------------------------


def main() -> None:
    import torch

    from tfmlib import data as texts
    from tfmlib.model import Transformer, TransformerConfig
    from tfmlib.train import exact_match, train

    torch.set_num_threads(1)  # the same sums in the same order each time
    torch.manual_seed(0)
    task = texts.number_task("en-de")
    pairs = dict(task.test)
    sources = {name: texts.number_words(number, "en") for name, number in NUMBERS.items()}
    examples = {
        name: {"source": source, "target": pairs[source], "distributions": {}}
        for name, source in sources.items()
    }
    models = {}
    model = Transformer(TransformerConfig.preset("tiny", vocab_size=task.tokenizer.vocab_size))
    batches = texts.Batches(task.train, task.tokenizer, batch_size=256)
    for step in train(model, batches, max(STEPS.values()), warmup=200, peak=1e-3):
        for name in (name for name, number in STEPS.items() if number == step.number):
            right = exact_match(model, task.tokenizer, task.test)
            models[name] = {"steps": step.number, "right": right}
            print(f"{name}: step {step.number}, {right:.1%} of {len(task.test)} right", flush=True)
            for example in examples.values():
                example["distributions"][name] = take(model, task.tokenizer, example)
    text = json.dumps({"models": models, "examples": examples}, ensure_ascii=False, indent=0)
    STORED.write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {STORED.name}, {len(STORED.read_bytes()) / 1000:.1f} kB")


def take(model, tokenizer, example: dict) -> Distributions:
    """The model's distributions for one source, proved to lead where the model itself leads."""
    import torch

    from tfmlib import data as texts
    from tfmlib import generate

    src = torch.tensor([texts.encode_source(tokenizer, example["source"])])  # (1, S)
    model.eval()

    def ask(beginning: list[str]) -> dict[str, float]:
        tgt = torch.tensor([texts.encode_target(tokenizer, " ".join(beginning))[:-1]])  # (1, T)
        with torch.no_grad():
            log_p = model(src, tgt)[0, -1].double().log_softmax(dim=-1)  # (V,)
        words = tokenizer.tokens(range(tokenizer.vocab_size))
        return likeliest(dict(zip(words, log_p.numpy().round(4).tolist(), strict=True)))

    most = MOST["number"]
    found = reached(ask, most)
    for width in WIDTHS:
        for alpha in ALPHAS:
            ours = search(lambda words: found[" ".join(words)], width, alpha, most)
            theirs = [generate.beam_search(model, src, most, width, alpha)]
            theirs += [generate.greedy(model, src, most)] if width == 1 else []
            if any(tokenizer.tokens(ids[0].tolist()) != ours for ids in theirs):
                raise SystemExit(f"{example['source']}: width {width}, α {alpha}: {ours} differs.")
    return found


if __name__ == "__main__":
    main()
