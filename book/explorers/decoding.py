"""The data of the decoding explorer: what may follow each beginning that a search asks about.

The first two presets are the table of chapter 9, searched and sampled from. The others are
sentences for a translator of number words, early in its training and at its end. Their
distributions are in decoding.json;

    python -m book.explorers.decoding

writes it anew: it trains the translator, takes its distributions, and compares what a search over
them finds with what tfmlib.generate finds. It takes four to eight minutes on one core.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

from book.explorers import question

STORED = Path(__file__).with_suffix(".json")

WIDTHS = range(1, 6)
ALPHAS = [step / 10 for step in range(21)]  # those of the slider
SHOWN = 6  # tokens of each distribution: the widest search needs 5, the picture shows one more
END = "<end>"
ROUNDING = 1e-9  # a sum that should be p reaches p
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
        name: {
            "title": f"{NUMBERS[name]:,} in German",
            "most": MOST["number"],
            "question": QUESTIONS[name](example),
            **example,
        }
        for name, example in stored["examples"].items()
    }
    tables = {"table": searched_table(), "sampling": sampled_table()}
    return {"presets": {**tables, **presets}, "models": stored["models"]}


def whole_table() -> Distributions:
    """What may follow every beginning that the table of the chapter allows."""

    def ask(beginning: list[str]) -> dict[str, float]:
        following = TABLE[beginning[-1] if beginning else "<start>"]
        return likeliest({name: math.log(following[name]) for name in TOKENS if name in following})

    distributions, beginnings = {}, [[]]
    while beginnings:
        beginning = beginnings.pop(0)
        following = distributions[" ".join(beginning)] = ask(beginning)
        if len(beginning) + 1 < MOST["table"]:
            beginnings += [[*beginning, word] for word in following if word != END]
    return distributions


def searched_table() -> dict:
    follow = whole_table()
    return {
        "title": "The chapter’s table: not on your life",
        "most": MOST["table"],
        "question": where_greedy_loses(follow),
        "distributions": {"table": follow},
    }


def sampled_table() -> dict:
    follow = whole_table()
    return {
        "title": "The same table, sampled from",
        "most": MOST["table"],
        "question": what_cold_does(follow),
        "distributions": {"table": follow},
        "start": {"how": "sample", "seed": 4},  # one that writes five tokens
    }


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


# --- sampling -----------------------------------------------------------------------------------


def to_draw_from(
    row: dict[str, float], temperature: float = 1.0, k: int = SHOWN, p: float = 1.0
) -> dict[str, float]:
    """The probabilities that tfmlib.generate.sample draws from, for a row of log-probabilities.

    >>> row = {"a": math.log(0.6), "b": math.log(0.3), "c": math.log(0.1)}
    >>> {word: round(p, 2) for word, p in to_draw_from(row, p=0.8).items()}
    {'a': 0.67, 'b': 0.33, 'c': 0.0}
    """
    powers = {word: math.exp(value / temperature) for word, value in row.items()}
    total, before, kept = sum(powers.values()), 0.0, {}
    for rank, (word, power) in enumerate(powers.items()):  # the likeliest first
        kept[word] = power if rank < k and before < p - ROUNDING else 0.0
        before += power / total
    return {word: power / sum(kept.values()) for word, power in kept.items()}


def sentences(follow: Distributions, most: int, **cut) -> dict[str, float]:
    """Every sentence that can be drawn, with its probability."""
    shares, beginnings = {}, [((), 1.0)]
    while beginnings:
        words, share = beginnings.pop(0)
        for word, p in to_draw_from(follow[" ".join(words)], **cut).items():
            longer = (*words, word)
            if p > 0 and word != END and len(longer) < most:
                beginnings.append((longer, share * p))
            elif p > 0:
                shares[" ".join(longer)] = share * p
    return shares


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


# --- questions ----------------------------------------------------------------------------------


def found(follow: Distributions, width: int, alpha: float, most: int) -> list[str]:
    """The words that a search over stored distributions writes."""
    return search(lambda words: follow[" ".join(words)], width, alpha, most)


def log_probability(follow: Distributions, words: list[str]) -> float:
    return sum(follow[" ".join(words[:n])][word] for n, word in enumerate(words))


def quoted(words: list[str]) -> str:
    return f"“{' '.join(words)}”"


def where_greedy_loses(follow: Distributions) -> dict:
    greedy, best = (found(follow, width, 0.0, MOST["table"]) for width in (1, max(WIDTHS)))
    parts = [n for n, pair in enumerate(zip(greedy, best, strict=False), 1) if len({*pair}) == 2]
    steps = [f"Step {n}" for n in range(1, 4)]
    p = [math.exp(log_probability(follow, words)) for words in (greedy, best)]
    return question(
        f"The likeliest sentence is {quoted(best)}. In which step does greedy decoding, a "
        "search of width 1, lose it?",
        [*steps, "In none: it finds it"],
        f"Step {parts[0]}" if parts else "In none: it finds it",
        f"In step {parts[0]} {quoted(greedy[parts[0] - 1 : parts[0]])} is likelier than "
        f"{quoted(best[parts[0] - 1 : parts[0]])}, and greedy decoding never goes back. It "
        f"ends with {quoted(greedy)} and probability {p[0]:.3f}; the best has {p[1]:.3f}.",
        width=1,
        step=99,
    )


def what_cold_does(follow: Distributions) -> dict:
    most, cold = MOST["table"], 0.1
    plain = sentences(follow, most)
    best = max(plain, key=plain.get)
    greedy = " ".join(found(follow, 1, 0.0, most))
    chilled = sentences(follow, most, temperature=cold)
    choices = ["More often", "About as often", "Hardly ever"]
    ratio = chilled[best] / plain[best]
    return question(
        f"Sampling at temperature 1 writes the likeliest sentence, “{best}”, with probability "
        f"{plain[best]:.3f}. How often does it write that at temperature {cold}?",
        choices,
        choices[0] if ratio > 1.2 else choices[2] if ratio < 0.2 else choices[1],
        f"Its probability falls to {chilled[best]:.3f}, while “{greedy}” rises from "
        f"{plain[greedy]:.3f} to {chilled[greedy]:.3f}. Temperature acts on one token at a time, "
        "so sampling in the cold is greedy decoding, and that takes another first word.",
        temperature=cold,
        step=99,
    )


def whom_the_model_prefers(example: dict) -> dict:
    follow, right = example["distributions"]["early"], [*example["target"].split(), END]
    greedy = found(follow, 1, 0.0, MOST["number"])
    ratio = math.exp(log_probability(follow, right) - log_probability(follow, greedy))
    choices = ["The right sentence", "Greedy’s sentence", "Both alike"]
    return question(
        f"Greedy decoding makes the young translator write {quoted(greedy)}, which is wrong. Which "
        "does the translator itself hold more likely, as a whole sentence?",
        choices,
        choices[0] if ratio > 1.01 else choices[1] if ratio < 0.99 else choices[2],
        f"The right sentence is {ratio:.1f} times as likely. The translator knew better; the "
        "search lost it, and width 2 finds it.",
        width=2,
        step=99,
    )


def what_the_penalty_does(example: dict) -> dict:
    follow = example["distributions"]["early"]
    plain, favoured = (found(follow, 3, alpha, MOST["number"]) for alpha in (0.0, 1.0))
    choices = ["The same sentence", "A longer sentence", "A shorter sentence"]
    longer = len(favoured) - len(plain)
    return question(
        f"With width 3 and no length penalty the young translator finds {quoted(plain)}, which is "
        "right. What does it find with α = 1?",
        choices,
        choices[0] if favoured == plain else choices[1 if longer > 0 else 2],
        f"It finds {quoted(favoured)}. The penalty makes up for the cost of further words, here "
        "for one word too many.",
        width=3,
        alpha=1,
        step=99,
    )


def which_width_helps(example: dict) -> dict:
    follow, right = example["distributions"]["early"], [*example["target"].split(), END]
    widths = [w for w in WIDTHS if found(follow, w, 0.0, MOST["number"]) == right]
    choices = ["Width 2", f"Width {max(WIDTHS)}", "No width up to 5"]
    best = found(follow, max(WIDTHS), 0.0, MOST["number"])
    least = f"Width {widths[0]}" if widths else "No width up to 5"
    return question(
        f"Greedy decoding of the young translator gets {example['source']} wrong. Which is the "
        "least width that gets it right?",
        choices,
        least,
        f"Even width {max(WIDTHS)} finds {quoted(best)}. A search finds only what the model "
        "considers likely.",
        width=max(WIDTHS),
        step=99,
    )


QUESTIONS = {
    "greedy-errs": whom_the_model_prefers,
    "penalty-errs": what_the_penalty_does,
    "model-errs": which_width_helps,
}


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
    taken = reached(ask, most)
    for width in WIDTHS:
        for alpha in ALPHAS:
            ours = found(taken, width, alpha, most)
            theirs = [generate.beam_search(model, src, most, width, alpha)]
            theirs += [generate.greedy(model, src, most)] if width == 1 else []
            if any(tokenizer.tokens(ids[0].tolist()) != ours for ids in theirs):
                raise SystemExit(f"{example['source']}: width {width}, α {alpha}: {ours} differs.")
    return taken


if __name__ == "__main__":
    main()
