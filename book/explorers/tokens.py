"""The data of the tokens explorer: what two tokenizers have learned from the story of chapter 1.

    python -m book.explorers.tokens

trains them again and stores in tokens.json the words of the one and the merges of the other.
"""

import json
from functools import cache
from pathlib import Path

from book.explorers import question
from book.manuscript import read
from tfmlib.tokenizer import BPETokenizer, WordTokenizer

STORED = Path(__file__).with_suffix(".json")
CHAPTER = Path(__file__).parents[1] / "chapters/01-tokens.md"
SIZE = 500  # of the vocabulary, as in the chapter
FIRST = 259  # the id of the first merge

# name -> title, text
TEXTS = {
    "story": ("Words of the story, and others", "The island needs bread"),
    "ships": ("Frequent words", "The ships of the island"),
    "german": ("Another language", "Ein gutes Brot"),
    "emoji": ("Characters of several bytes", "schön 🙂"),
}


def trained() -> dict:
    """What tokens.json holds, from the story as the chapter has it."""
    sources = [block.source for block in read(CHAPTER).blocks if block.kind == "code"]
    [cell] = [source for source in sources if source.startswith('story = """')]
    made: dict = {}
    exec(cell, made)
    merges = BPETokenizer.train(made["story"], SIZE).merges
    words = list(WordTokenizer.train(made["story"]).vocabulary)[len(WordTokenizer.special) :]
    return {"merges": merges, "words": words}


@cache
def stored() -> dict:
    return json.loads(STORED.read_text("utf-8"))


def bpe(merges: int = SIZE - FIRST) -> BPETokenizer:
    """The tokenizer with so many merges."""
    return BPETokenizer(tuple(pair) for pair in stored()["merges"][:merges])


def count(text: str, merges: int = SIZE - FIRST) -> int:
    return len(bpe(merges).encode(text))


def data() -> dict:
    """The examples by name, the merges and the words.

    >>> data()["presets"]["german"]["text"]
    'Ein gutes Brot'
    """
    presets = {
        name: {"title": title, "text": text, "question": QUESTIONS[name](text)}
        for name, (title, text) in TEXTS.items()
    }
    return {"presets": presets, **stored()}


# --- questions ----------------------------------------------------------------------------------


def which_is_whole(text: str) -> dict:
    words = text.split()[1:]
    pieces = {word: count(f" {word}") for word in words}
    [right] = [word for word, number in pieces.items() if number == 1]
    told = ", ".join(f"“{word}” {number}" for word, number in pieces.items())
    return question(
        f"The tokenizer has learned {SIZE - FIRST} merges from the story of an island. Which of "
        "these words is a single token?",
        words,
        right,
        f"Tokens per word: {told}. What occurs often in the story is put together; what is rare or "
        "new stays in pieces.",
    )


def how_many_left(text: str) -> dict:
    start, end = count(text, 0), count(text)
    choices = [str(start), str(start // 2), str(end)]
    return question(
        f"“{text}” has {len(text)} characters, so it begins as {start} single bytes. How many "
        f"tokens are left after all {SIZE - FIRST} merges?",
        choices,
        str(end),
        f"{end} tokens are left, so a token has {start / end:.1f} characters on average.",
    )


def which_costs_more(text: str) -> dict:
    other = TEXTS["ships"][1]
    costs = {one: count(one) for one in (text, other)}
    choices = [f"“{one}”, {len(one)} characters" for one in costs]
    right = choices[max(range(2), key=lambda n: [*costs.values()][n])]
    return question(
        "Which text takes more tokens?",
        choices,
        right,
        f"“{text}” takes {costs[text]} tokens, “{other}” takes {costs[other]}. The merges were "
        "learned from an English story, and they hardly help with German.",
    )


def how_many_bytes(text: str) -> dict:
    size, last = count(text, 0), len(text[-1].encode())
    choices = [str(len(text)), str(len(text) + 1), str(size)]
    return question(
        f"“{text}” has {len(text)} characters. As how many single bytes does it begin?",
        choices,
        str(size),
        f"“ö” has {len('ö'.encode())} bytes and “{text[-1]}” has {last}. Until merges join them, a "
        "token may be a part of a character.",
        merges=0,
    )


QUESTIONS = {
    "story": which_is_whole,
    "ships": how_many_left,
    "german": which_costs_more,
    "emoji": how_many_bytes,
}


if __name__ == "__main__":
    text = json.dumps(trained(), ensure_ascii=False, separators=(",", ":"))
    STORED.write_text(text + "\n", encoding="utf-8", newline="\n")
