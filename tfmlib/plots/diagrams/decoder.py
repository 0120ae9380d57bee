"""Chapter 9: how a decoder reads the source, is trained on a sentence, and writes one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from tfmlib.plots.colours import ACCENT, GREY, PALE, PAPER, VERMILLION
from tfmlib.plots.inputs import Labels, as_finite, as_labels, as_mask, as_probabilities, as_values
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Point, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_text, number_texts, probability_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

CHIP = 0.24  # inches: the height of a word's box
LEFT, RIGHT = 0.66, 4.76  # between these are the words; left of them the names of the rows


def _row_of_words(
    sketch: Sketch, y: float, words: Sequence[str], columns: int, first: int = 0, face: str = PALE
) -> list[Box]:
    """Draw words as chips in columns of equal width, from column `first` on."""
    pitch = (RIGHT - LEFT) / columns
    return [
        sketch.labelled(
            LEFT + pitch * (first + k) + 0.03, y, pitch - 0.06, CHIP, word, face, face, fontsize=8.5
        )
        for k, word in enumerate(words)
    ]


# --- the memory ---------------------------------------------------------------------------------


@house_style()
def memory_feeds_every_layer(
    source: Labels, target: Labels, memory: tuple[int, int], layers: int
) -> Picture:
    """Draw the two stacks: what the last encoder layer gives goes to every decoder layer.

    >>> memory_feeds_every_layer(["show", "me"], ["not"], memory=(2, 16), layers=3).alt
    'The source “show me” passes 3 encoder layers. What the last one gives, 2 vectors of 16 \
numbers, is the memory; arrows lead from it to the cross-attention of each of the 3 decoder \
layers, through which the target “not” passes.'
    """
    S, D = memory
    texts = [" ".join(map(str, words)) for words in (source, target)]
    if len(texts[0].split()) != S or layers < 2:
        raise ValueError(
            "memory must have one vector per word of the source, and layers must be 2 or more, "
            f"but came as {memory} for {quoted(texts[0])} and {layers}."
        )
    tall, gap, top = 0.86, 0.16, 0.48
    picture, sketch = sheet(
        top + layers * (tall + gap) + 0.02,
        f"The source {quoted(texts[0])} passes {layers} encoder layers. What the last one gives, "
        f"{S} vectors of {D} numbers, is the memory; arrows lead from it to the cross-attention "
        f"of each of the {layers} decoder layers, through which the target {quoted(texts[1])} "
        "passes.",
    )
    left, right, wide = 0.06, 2.92, 1.82
    for x, text in zip((left, right), texts, strict=True):
        box = sketch.labelled(x, 0.06, wide, CHIP, text, PAPER, PAPER)
        sketch.path(box.bottom, (box.bottom[0], top))
    for k in range(layers):
        box = sketch.labelled(
            left, top + 0.52 * k, wide, 0.36, f"encoder layer {k + 1}", PALE, PALE
        )
        sketch.path(box.bottom, (box.bottom[0], box.bottom[1] + gap))
    y = top + 0.52 * layers
    store = sketch.labelled(left, y, wide, 0.36, f"memory, {S} × {D}", ACCENT, ACCENT)
    bus = (wide + right) / 2 + 0.06  # where the way to all layers runs
    for k in range(layers):
        cross = _draw_decoder_layer(sketch, right, top + (tall + gap) * k, wide, k + 1)
        sketch.path(store.right, (bus, store.right[1]), (bus, cross[1]), cross, colour=VERMILLION)
    return picture


def _draw_decoder_layer(sketch: Sketch, x: float, y: float, wide: float, number: int) -> Point:
    """Draw a layer of three sublayers; return where its cross-attention is entered."""
    panel = sketch.card(x, y, wide, 0.86, PALE, PALE)
    sketch.text(x + wide / 2, y + 0.12, f"decoder layer {number}", ha="center")
    sketch.note(x + wide / 2, y + 0.32, "masked attention", ha="center")
    cross = sketch.labelled(
        x + 0.08, y + 0.43, wide - 0.16, 0.22, "cross-attention", ACCENT, ACCENT, fontsize=8.5
    )
    sketch.note(x + wide / 2, y + 0.75, "feed-forward", ha="center")
    sketch.path(panel.bottom, (panel.bottom[0], y + 0.86 + 0.16))
    return cross.left


@house_style()
def two_attentions(source: Labels, target: Labels, self_mask: ArrayLike, query: int) -> Picture:
    """Draw what one query of a decoder sees: all of the source, and of the target what is allowed.

    >>> two_attentions(["show", "me"], ["<start>", "not"], np.tri(2), 0).alt
    'The query of “<start>” asks twice. Cross-attention leads to all 2 words of the source, masked \
self-attention to “<start>” of the target.'
    """
    sources, targets = ([str(word) for word in words] for words in (source, target))
    mask = as_mask(self_mask)
    if mask.shape != (len(targets), len(targets)) or not 0 <= query < len(targets):
        raise ValueError(
            f"self_mask must be ({len(targets)}, {len(targets)}), for the words of the target, "
            f"and query one of its rows, but came with the shape {mask.shape} and {query}."
        )
    seen = listed(quoted(targets[j]) for j in np.flatnonzero(mask[query]))
    picture, sketch = sheet(
        2.08,
        f"The query of {quoted(targets[query])} asks twice. Cross-attention leads to all "
        f"{len(sources)} words of the source, masked self-attention to {seen} of the target.",
    )
    columns = max(len(sources), len(targets)) + 1  # the last is for remarks
    above = _row_of_words(sketch, 0.06, sources, columns)
    queries = _row_of_words(sketch, 0.92, targets, columns)
    below = _row_of_words(sketch, 1.78, targets, columns)
    for name, row in (("source", above), ("queries", queries), ("target", below)):
        sketch.note(0.06, row[0].left[1], name)
    asks = queries[query]
    for key in above:
        sketch.path(asks.top, key.bottom, colour=VERMILLION)
    for j in np.flatnonzero(mask[query]):
        sketch.path(asks.bottom, below[j].top, colour=VERMILLION)
    sketch.card(asks.x, asks.y, asks.width, asks.height, "none", VERMILLION, 1.8)
    for y, words in ((0.61, ("cross-", "attention")), (1.47, ("masked self-", "attention"))):
        for line, text in enumerate(words):
            sketch.note(RIGHT, y + 0.15 * (line - 0.5), text, ha="right")
    return picture


# --- one step -----------------------------------------------------------------------------------


@house_style()
def decoding_step(
    states: ArrayLike, logits: ArrayLike, probabilities: ArrayLike, words: Labels, prefix: Labels
) -> Picture:
    """Draw how the last of the decoder's vectors becomes logits, probabilities and a word.

    >>> states, words = [[1, 2], [3, 4]], ["on", "life"]
    >>> decoding_step(states, [0, np.log(3)], [0.25, 0.75], words, ["<start>", "your"]).alt
    'The decoder gives 2 vectors of 2 numbers. The last one, of “your”, becomes 2 logits, and \
these 2 probabilities. The largest: “life”, logit 1.1, probability 0.75, the next token.'
    """
    x, z = as_finite(states, 2, "states"), as_finite(logits, 1, "logits")
    names = as_labels(words, len(z), "words")
    tokens = as_labels(prefix, len(x), "prefix")
    p = as_values("probabilities", as_probabilities(probabilities), len(z), "logit")
    best = int(z.argmax())
    top = 0.4 + 0.22 * len(x)  # the lower edge of the vectors
    picture, sketch = sheet(
        top + 0.66 + 0.2 * len(z),
        f"The decoder gives {len(x)} vectors of {x.shape[1]} numbers. The last one, of "
        f"{quoted(tokens[-1])}, becomes {len(z)} logits, and these {len(z)} probabilities. The "
        f"largest: {quoted(names[best])}, logit {number_text(z[best])}, probability "
        f"{number_text(p[best])}, the next token.",
    )
    sketch.text(LEFT, 0.14, "what the decoder gives: one vector per token", fontweight="bold")
    cell = ((RIGHT - LEFT) / x.shape[1], 0.22)
    box = sketch.matrix(LEFT, 0.3, x, "", tokens, (), cell, texts=[])
    last = Rectangle((LEFT, box.bottom[1] - 0.22), box.width, 0.22, facecolor="none")
    last.set(edgecolor=VERMILLION, linewidth=2, zorder=4)
    sketch.axes.add_patch(last)
    start = box.bottom[1] + 0.04
    sketch.path((1.26, start), (1.26, start + 0.3), colour=VERMILLION)
    sketch.note(1.36, start + 0.14, "times W: the last row alone")
    y = start + 0.46
    for place, text in ((0.6, "word"), (1.26, "logit"), (1.7, "probability, by softmax")):
        side = {"word": "right", "logit": "center"}.get(text, "left")
        sketch.text(place, y, text, ha=side, fontweight="bold", fontsize=8.5)
    _draw_words(sketch, y + 0.2, names, z, p, best)
    return picture


def _draw_words(
    sketch: Sketch, y: float, words: list[str], logits: Array, p: Array, best: int
) -> None:
    """Write each word with its logit, and draw its probability as a bar; mark the best."""
    numbers, chances = number_texts(logits), probability_texts(p)
    for i, word in enumerate(words):
        middle = y + 0.2 * i
        look: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold" if i == best else "normal"}
        sketch.text(0.6, middle, word, ha="right", **look)
        sketch.text(1.42, middle, numbers[i], ha="right", **look)
        long = 1.6 * p[i] / p[best]
        colour = ACCENT if i == best else GREY
        sketch.axes.add_patch(Rectangle((1.7, middle - 0.06), long, 0.12, facecolor=colour))
        sketch.text(1.76 + long, middle, chances[i], **look)
    middle = y + 0.2 * best
    sketch.path((3.72, middle), (3.96, middle), colour=VERMILLION)
    sketch.labelled(4.0, middle - CHIP / 2, 0.72, CHIP, words[best], ACCENT, ACCENT)
    sketch.note(4.36, middle - 0.24, "next token", ha="center")


# --- training and writing -----------------------------------------------------------------------


@house_style()
def shifted_target(words: Labels) -> Picture:
    """Draw a sentence as the decoder's input and, one position earlier, as what it must predict.

    >>> shifted_target(["<start>", "not", "<end>"]).alt
    'Two rows of the same sentence. The input is “<start> not”; below it, one position earlier, \
what to predict: “not <end>”. Each position must predict the input of the position to its right.'
    """
    tokens = [str(word) for word in words]
    if len(tokens) < 3:
        raise ValueError(f"words must be 3 or more, start and end included, but are {len(tokens)}.")
    inputs, outputs = tokens[:-1], tokens[1:]
    picture, sketch = sheet(
        1.16,
        f"Two rows of the same sentence. The input is {quoted(' '.join(inputs))}; below it, one "
        f"position earlier, what to predict: {quoted(' '.join(outputs))}. Each position must "
        "predict the input of the position to its right.",
    )
    read = _row_of_words(sketch, 0.24, inputs, len(inputs))
    predicted = _row_of_words(sketch, 0.84, outputs, len(inputs), face=ACCENT)
    for position, (above, below) in enumerate(zip(read, predicted, strict=True)):
        sketch.note(above.top[0], 0.12, str(position), ha="center")
        sketch.path(above.bottom, below.top)
    for below, above in zip(predicted, read[1:], strict=False):
        start, end = (below.x + below.width - 0.1, below.y), (above.x + 0.1, above.bottom[1])
        sketch.axes.plot(*zip(start, end, strict=True), color=VERMILLION, lw=1.2, ls=":")
    sketch.note(0.06, 0.12, "position")
    sketch.note(0.06, read[0].left[1], "input")
    sketch.note(0.06, predicted[0].left[1], "predict")
    return picture


@house_style()
def teacher_forcing(words: Labels, at_once: ArrayLike, one_by_one: ArrayLike) -> Picture:
    """Draw one pass over a known sentence above the passes, one per token, that write it.

    The numbers are the probabilities of the next token, from the one pass and from the many.

    >>> teacher_forcing(["<start>", "not", "<end>"], [0.9, 0.8], [0.9, 0.8]).alt
    'Training: one pass over “<start> not” gives all next tokens, “not” 0.90, “<end>” 0.80. \
Writing: 2 passes over longer and longer inputs give them one by one, “not” 0.90, “<end>” 0.80.'
    """
    tokens = [str(word) for word in words]
    count = len(tokens) - 1
    together = as_values("at_once", at_once, count, "next token")
    apart = as_values("one_by_one", one_by_one, count, "next token")
    told = [
        ", ".join(f"{quoted(t)} {p:.2f}" for t, p in zip(tokens[1:], row, strict=True))
        for row in (together, apart)
    ]
    picture, sketch = sheet(
        1.78 + 0.29 * count,
        f"Training: one pass over {quoted(' '.join(tokens[:-1]))} gives all next tokens, "
        f"{told[0]}. Writing: {count} passes over longer and longer inputs give them one by one, "
        f"{told[1]}.",
    )
    columns = len(tokens) + 1
    _draw_one_pass(sketch, tokens, together, columns)
    sketch.text(0.06, 1.6, "Writing: one pass per token", fontweight="bold")
    for k in range(count):
        y = 1.74 + 0.29 * k
        sketch.note(0.06, y + CHIP / 2, f"pass {k + 1}")
        _row_of_words(sketch, y, tokens[: k + 1], columns)
        (new,) = _row_of_words(sketch, y, [tokens[k + 1]], columns, k + 1, ACCENT)
        sketch.text(new.right[0] + 0.07, y + CHIP / 2, f"{apart[k]:.2f}", fontsize=8.5)
    return picture


def _draw_one_pass(sketch: Sketch, words: list[str], probabilities: Array, columns: int) -> None:
    """Draw the right words going in together and all next words coming out together."""
    sketch.text(0.06, 0.12, "Training: one pass for all", fontweight="bold")
    read = _row_of_words(sketch, 0.28, words[:-1], columns)
    last = read[-1]
    decoder = (read[0].x, 0.66, last.x + last.width - read[0].x, CHIP)
    sketch.labelled(*decoder, "decoder", PAPER)
    given = _row_of_words(sketch, 1.04, words[1:], columns, face=ACCENT)
    for above, below, p in zip(read, given, probabilities, strict=True):
        sketch.path(above.bottom, (above.bottom[0], 0.66))
        sketch.path((below.top[0], 0.66 + CHIP), below.top)
        sketch.text(below.bottom[0], 1.37, f"{p:.2f}", ha="center", fontsize=8.5)
    sketch.note(0.06, read[0].left[1], "input")
    sketch.note(0.06, given[0].left[1], "next")


# --- the cache ----------------------------------------------------------------------------------


@house_style()
def cache_steps(words: Labels, d_model: int) -> Picture:
    """Draw what each step of writing computes and what it finds in the cache of keys and values.

    >>> cache_steps(["<start>", "not"], d_model=16).alt
    'What each step computes and what it keeps. Step 1 computes query, key and value of “<start>”. \
Step 2 computes those of “not” and finds the keys and values of 1 earlier token in the cache. The \
cache then holds 64 numbers.'
    """
    tokens = [str(word) for word in words]
    n = len(tokens)
    if n < 2:
        raise ValueError(f"words must be 2 or more, so that something is kept, but are {n}.")
    earlier = "1 earlier token" if n == 2 else f"{n - 1} earlier tokens"
    picture, sketch = sheet(
        0.7 + 0.32 * n,
        f"What each step computes and what it keeps. Step 1 computes query, key and value of "
        f"{quoted(tokens[0])}. Step {n} computes those of {quoted(tokens[-1])} and finds the keys "
        f"and values of {earlier} in the cache. The cache then holds {2 * n * d_model} numbers.",
    )
    columns = n + 1  # the last says how much is kept
    pitch = (RIGHT - LEFT) / columns
    for k, word in enumerate([*tokens, "cached"]):
        sketch.text(LEFT + pitch * (k + 0.5), 0.12, word, ha="center", fontsize=8.5)
    for k in range(n):
        y = 0.26 + 0.32 * k
        sketch.note(0.06, y + CHIP / 2, f"step {k + 1}")
        _row_of_words(sketch, y, ["k  v"] * k, columns)
        _row_of_words(sketch, y, ["q  k  v"], columns, k, ACCENT)
        kept = str(2 * (k + 1) * d_model)
        sketch.text(RIGHT - pitch / 2, y + CHIP / 2, kept, ha="center", fontsize=8.5)
    y = 0.26 + 0.32 * n + 0.1
    sketch.labelled(LEFT + 0.03, y, 0.6, CHIP, "q  k  v", ACCENT, ACCENT, fontsize=8.5)
    sketch.note(LEFT + 0.72, y + CHIP / 2, "computed now")
    sketch.labelled(LEFT + 1.93, y, 0.5, CHIP, "k  v", PALE, PALE, fontsize=8.5)
    sketch.note(LEFT + 2.52, y + CHIP / 2, "from the cache")
    return picture


# --- sampling -----------------------------------------------------------------------------------


@house_style()
def pieces_of_a_line(probabilities: ArrayLike, words: Labels, points: ArrayLike) -> Picture:
    """Draw probabilities as pieces of the line from 0 to 1, and the pieces that points fall into.

    >>> pieces_of_a_line([0.25, 0.75], ["on", "life"], [0.1, 0.6]).alt
    'The line from 0 to 1 cut into pieces as long as the probabilities: “on” 0.25, “life” 0.75. \
The point 0.10 falls into “on”, the point 0.60 into “life”.'
    """
    p = as_probabilities(probabilities)
    names, drawn = as_labels(words, len(p), "words"), as_finite(points, 1, "points")
    if drawn.min() < 0 or drawn.max() >= p.sum():
        raise ValueError(
            f"points must be on the line from 0 to {number_text(p.sum())}, but come as "
            f"{listed(number_text(u) for u in drawn)}."
        )
    ends = np.cumsum(p)
    pieces = [(names[i], ends[i] - p[i], p[i]) for i in np.flatnonzero(p)]
    told = ", ".join(f"{quoted(word)} {number_text(size)}" for word, _, size in pieces)
    hits = [names[int(np.searchsorted(ends, u, side="right"))] for u in drawn]
    falls = [f"{'' if k else 'falls '}into {quoted(word)}" for k, word in enumerate(hits)]
    spots = ", ".join(f"the point {u:.2f} {fall}" for u, fall in zip(drawn, falls, strict=True))
    picture, sketch = sheet(
        1.12,
        "The line from 0 to 1 cut into pieces as long as the probabilities: "
        f"{told}. {spots[0].upper()}{spots[1:]}.",
    )
    left, long = 0.12, 4.56
    for word, start, size in pieces:
        face = ACCENT if word in hits else PALE
        text = f"{word} {number_text(size)}"
        sketch.labelled(left + long * start, 0.56, long * size, 0.28, text, face, PAPER)
        sketch.note(left + long * start, 0.98, number_text(start), ha="center")
    sketch.note(left + long, 0.98, "1", ha="center")
    for u in drawn:
        x = left + long * u
        sketch.text(x, 0.14, f"{u:.2f}", ha="center", fontsize=8.5)
        sketch.path((x, 0.26), (x, 0.54), colour=VERMILLION)
    return picture
