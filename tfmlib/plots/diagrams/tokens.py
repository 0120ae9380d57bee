"""Chapter 1: a text as chips, how chips grow together, and the ids that they get."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from tfmlib.plots.colours import ACCENT, GREEN, GRID, INK, MUTED, PALE, PAPER, PURPLE, VERMILLION
from tfmlib.plots.font import drawn_label
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style, text_colour
from tfmlib.plots.words import listed, quoted
from tfmlib.support.arrays import ArrayLike

LEFT, RIGHT = 0.1, 4.7  # the margins of a sheet
WORDS = (
    ACCENT,
    GREEN,
    PURPLE,
)  # faces that are the same in both themes, for one word after another
Piece = str | int  # a piece of text, or a byte


@house_style()
def cut_ways(text: str, ways: Mapping[str, Sequence[Piece]]) -> Picture:
    """Draw a text cut in several ways, one below the other, each piece as wide as its bytes.

    >>> cut_ways("a ü", {"words": ["a", "ü"], "bytes": [97, 32, 195, 188]}).alt
    'The text “a ü” cut in 2 ways: 2 words (“a” and “ü”); 4 bytes (97, 32, 195 and 188).'
    """
    places = {name: _places(text, pieces) for name, pieces in ways.items()}
    told = [
        f"{len(pieces)} {name} ({listed(_in_prose(piece) for piece in pieces)})"
        for name, pieces in ways.items()
    ]
    alt = f"The text {quoted(text)} cut in {len(ways)} ways: {'; '.join(told)}."
    picture, sketch = sheet(0.62 * len(ways) + 0.04, alt)
    unit = (RIGHT - LEFT) / len(text.encode())
    face_at = _word_colours(text)
    for row, (name, pieces) in enumerate(ways.items()):
        y = 0.13 + 0.62 * row
        sketch.text(LEFT, y, f"{len(pieces)} {name}", fontweight="bold")
        for piece, (start, end) in zip(pieces, places[name], strict=True):
            label = str(piece) if isinstance(piece, int) else drawn_label(piece)
            _chip(sketch, unit, y + 0.13, start, end, label, face_at(start, end))
    return picture


@house_style()
def merge_steps(
    cuts: Sequence[Sequence[str]], pairs: Sequence[Sequence[str]], counts: Sequence[int]
) -> Picture:
    """Draw a text before the first merge and after each one, with the pair and how often it occurs.

    >>> merge_steps([["a", "b", "a", "b"], ["ab", "ab"]], [("a", "b")], [2]).alt
    'Merging “abab”, at first 4 tokens. Step 1 joins “a” and “b”, which occur together 2 times: \
2 tokens are left.'
    """
    if not len(cuts) - 1 == len(pairs) == len(counts):
        raise ValueError(
            "expected a pair and a count for each cut but the first, "
            f"got {len(cuts)} cuts, {len(pairs)} pairs and {len(counts)} counts."
        )
    text = "".join(cuts[0])
    told = [
        f"Step {k} joins {quoted(pair[0])} and {quoted(pair[1])}, which occur together "
        f"{count} times: {len(cut)} tokens are left."
        for k, (cut, pair, count) in enumerate(zip(cuts[1:], pairs, counts, strict=True), 1)
    ]
    alt = f"Merging {quoted(text)}, at first {len(cuts[0])} tokens. {' '.join(told)}"
    picture, sketch = sheet(0.6 * len(cuts) + 0.04, alt)
    unit = (RIGHT - LEFT) / len(text.encode())
    for row, cut in enumerate(cuts):
        y, made = 0.13 + 0.6 * row, ""
        if row:
            made = "".join(pairs[row - 1])
            title = (
                f"{row}.  {' + '.join(map(drawn_label, pairs[row - 1]))}, {counts[row - 1]} times"
            )
            sketch.text(LEFT, y, title, fontweight="bold")
        else:
            sketch.text(LEFT, y, "single letters", fontweight="bold")
        sketch.note(RIGHT, y, f"{len(cut)} tokens", ha="right")
        for piece, (start, end) in zip(cut, _places(text, cut), strict=True):
            face = ACCENT if piece == made else GREEN if len(piece) > 1 else GRID
            _chip(sketch, unit, y + 0.13, start, end, drawn_label(piece), face)
    return picture


@house_style()
def looked_up(pieces: Sequence[str], ids: Sequence[int], vocabulary: Sequence[str]) -> Picture:
    """Draw the pieces of a text, each with a line to its row in the vocabulary.

    >>> looked_up(["show", "honey"], [1, 0], ["<unk>", "show", "me"]).alt
    'Pieces of a text and their rows in a vocabulary of 3: “show” is 1; “honey” is not on the \
list and becomes “<unk>”, 0.'
    """
    if len(pieces) != len(ids) or not all(0 <= i < len(vocabulary) for i in ids):
        raise ValueError(
            f"expected an id below {len(vocabulary)} for each of {len(pieces)} pieces, "
            f"got {list(ids)}."
        )
    known = [piece == vocabulary[i] for piece, i in zip(pieces, ids, strict=True)]
    told = [
        f"{quoted(piece)} is {i}"
        if there
        else f"{quoted(piece)} is not on the list and becomes {quoted(vocabulary[i])}, {i}"
        for piece, i, there in zip(pieces, ids, known, strict=True)
    ]
    alt = (
        f"Pieces of a text and their rows in a vocabulary of {len(vocabulary)}: {'; '.join(told)}."
    )
    step, top = 0.235, 0.36
    picture, sketch = sheet(top + step * len(vocabulary) + 0.5, alt)
    sketch.text(0.75, 0.14, "the pieces", ha="center", fontweight="bold")
    sketch.text(3.4, 0.14, "the vocabulary", ha="center", fontweight="bold")
    rows = []
    for i, token in enumerate(vocabulary):
        y = top + step * i
        sketch.text(2.62, y + step / 2, str(i), ha="right", fontsize=8.5)
        face = GREEN if i in ids else PALE
        rows.append(
            sketch.labelled(2.72, y + 0.01, 1.4, step - 0.02, drawn_label(token), face, face)
        )
    gap = step * len(vocabulary) / len(pieces)
    for k, (piece, i, there) in enumerate(zip(pieces, ids, known, strict=True)):
        y = top + gap * (k + 0.5) - 0.13
        chip = sketch.card(LEFT + 0.1, y, 1.1, 0.26, PALE, MUTED, dash="-" if there else "--")
        sketch.text(*chip.centre, drawn_label(piece), ha="center")
        end = (2.38, rows[i].left[1])
        sketch.path(chip.right, end, colour=MUTED if there else VERMILLION)
    y = top + step * len(vocabulary) + 0.26
    sketch.text(LEFT + 0.1, y, "the ids:", fontweight="bold")
    sketch.text(0.95, y, "   ".join(map(str, ids)))
    return picture


@house_style()
def batch_of_ids(batch: ArrayLike, names: Sequence[str], pad_id: int) -> Picture:
    """Draw a batch as one array: a row per sentence, each token above its id, the padding dashed.

    >>> batch_of_ids([[1, 2], [1, 0]], ["<pad>", "show", "me"], 0).alt
    'A batch of 2 sentences, 2 tokens long with the padding: “show me”; “show” and 1 <pad>. \
1 of 4 cells is padding.'
    """
    ids = np.asarray(batch)
    if ids.ndim != 2:
        raise ValueError(f"expected an array with one row per sentence, got the shape {ids.shape}.")
    padding = ids == pad_id
    told = []
    for row, empty in zip(ids, padding, strict=True):
        words = quoted(" ".join(names[i] for i in row[~empty]))
        told.append(words + (f" and {empty.sum()} {names[pad_id]}" if empty.any() else ""))
    count = int(padding.sum())
    alt = (
        f"A batch of {len(ids)} sentences, {ids.shape[1]} tokens long with the padding: "
        f"{'; '.join(told)}. {count} of {ids.size} cells {'is' if count == 1 else 'are'} padding."
    )
    picture, sketch = sheet(0.56 * len(ids) + 0.42, alt)
    wide = (RIGHT - LEFT) / ids.shape[1]
    for (i, j), token in np.ndenumerate(ids):
        dash, face = ("--", PAPER) if padding[i, j] else ("-", PALE)
        place = (LEFT + wide * j + 0.03, 0.06 + 0.56 * i)
        box = sketch.card(*place, wide - 0.06, 0.48, face, MUTED, dash=dash)
        x, y = box.centre
        colour = MUTED if padding[i, j] else INK
        sketch.text(x, y - 0.1, drawn_label(names[token]), ha="center", color=colour)
        sketch.text(x, y + 0.12, str(token), ha="center", color=colour, fontweight="bold")
    y = 0.56 * len(ids) + 0.22
    sketch.note(LEFT + 0.03, y, f"shape {ids.shape}, {count} of {ids.size} cells padding")
    return picture


@house_style()
def there_and_back(text: str, pieces: Sequence[str], ids: Sequence[int]) -> Picture:
    """Draw how a text is cut into pieces that have ids, and how the ids give the text back.

    >>> there_and_back("to be", ["to", " be"], [260, 261]).alt
    'The text “to be” is cut into 2 pieces with the ids 260 and 261. The pieces of these ids, \
joined, are the text again.'
    """
    if "".join(pieces) != text or len(pieces) != len(ids):
        raise ValueError(
            f"expected pieces that make up the text {text!r}, with an id each, "
            f"got {list(pieces)} and {list(ids)}."
        )
    alt = (
        f"The text {quoted(text)} is cut into {len(pieces)} pieces with the ids "
        f"{listed(map(str, ids))}. The pieces of these ids, joined, are the text again."
    )
    picture, sketch = sheet(1.98, alt)
    start, end = 0.75, 4.05  # beside the columns, an arrow leads down and another one up
    whole = sketch.labelled(start, 0.06, end - start, 0.3, text)
    widths = [max(0.075 * len(piece), 0.24) + 0.14 for piece in pieces]
    unit = (end - start + 0.05) / sum(widths)
    x = start
    face_at = _word_colours(text)
    places = _places(text, pieces)
    for piece, number, width, place in zip(pieces, ids, widths, places, strict=True):
        face = face_at(*place)
        wide = unit * width - 0.05
        chip = sketch.labelled(x, 0.78, wide, 0.3, drawn_label(piece), face, face, fontsize=8.5)
        below = sketch.labelled(x, 1.5, wide, 0.3, str(number), PAPER, fontsize=8.5)
        sketch.path((chip.top[0], whole.bottom[1]), chip.top)
        sketch.path(chip.bottom, below.top)
        x += unit * width
    for y, label in ((0.21, "text"), (0.93, "pieces"), (1.65, "ids")):
        sketch.text(start - 0.1, y, label, ha="right", fontweight="bold")
    sketch.note(start - 0.1, 0.57, "cut ↓", ha="right")
    sketch.note(start - 0.1, 1.29, "look up ↓", ha="right")
    sketch.path((4.25, 1.65), (4.25, 0.21), (4.08, 0.21), colour=VERMILLION)
    sketch.text(4.4, 0.93, "and back", rotation=90, ha="center", va="center")
    return picture


@house_style()
def trade_off(sizes: Sequence[int], tokens: Sequence[int], weights: Sequence[int]) -> Picture:
    """Draw what a larger vocabulary saves and what it costs, bars to the left and to the right.

    >>> trade_off([259, 500], [900, 300], [2590, 5000]).alt
    'From a vocabulary of 259 tokens to one of 500, the text falls from 900 tokens to 300, and \
the table grows from 2,590 weights to 5,000.'
    """
    if not len(sizes) == len(tokens) == len(weights) or len(sizes) < 2:
        raise ValueError(
            "expected tokens and weights for each of at least 2 sizes, "
            f"got {len(sizes)} sizes, {len(tokens)} and {len(weights)}."
        )
    alt = (
        f"From a vocabulary of {sizes[0]:,} tokens to one of {sizes[-1]:,}, the text falls from "
        f"{tokens[0]:,} tokens to {tokens[-1]:,}, and the table grows from {weights[0]:,} weights "
        f"to {weights[-1]:,}."
    )
    picture, sketch = sheet(0.36 * len(sizes) + 0.62, alt)
    longest, west, east = 1.3, 2.05, 2.75  # bars grow from the two sides of the sizes
    sketch.text(west - 0.02, 0.13, "tokens to read", ha="right", fontweight="bold")
    sketch.text(east + 0.02, 0.13, "weights to learn", fontweight="bold")
    sketch.text((west + east) / 2, 0.36, "vocabulary", ha="center", fontsize=8.5)
    for k, (size, read, learn) in enumerate(zip(sizes, tokens, weights, strict=True)):
        y = 0.52 + 0.36 * k
        left, right = longest * read / max(tokens), longest * learn / max(weights)
        for x, wide, face in ((west - left, left, GREEN), (east, right, PURPLE)):
            sketch.axes.add_patch(Rectangle((x, y), wide, 0.26, facecolor=face))
        sketch.text((west + east) / 2, y + 0.13, f"{size:,}", ha="center", fontweight="bold")
        sketch.text(west - left - 0.05, y + 0.13, f"{read:,}", ha="right", fontsize=8.5)
        sketch.text(east + right + 0.05, y + 0.13, f"{learn:,}", fontsize=8.5)
    return picture


# --- parts of drawings --------------------------------------------------------------------------


def _in_prose(piece: Piece) -> str:
    return str(piece) if isinstance(piece, int) else quoted(piece)


def _places(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Find where each piece begins and ends, in bytes; what lies between two is in neither."""
    whole, places, end = text.encode(), [], 0
    for piece in pieces:
        part = bytes([piece]) if isinstance(piece, int) else piece.encode()
        start = whole.find(part, end)
        if start < 0:
            raise ValueError(
                f"expected pieces of the text {text!r} in their order, got {piece!r} there."
            )
        end = start + len(part)
        places.append((start, end))
    return places


def _word_colours(text: str) -> Callable[[int, int], str]:
    """Give each word its colour, and what is in none a grey one."""
    faces = {place: WORDS[k % len(WORDS)] for k, place in enumerate(_places(text, text.split()))}

    def face(start: int, end: int) -> str:
        inside = (colour for (a, b), colour in faces.items() if a < end and start < b)
        return next(inside, GRID)

    return face


def _chip(
    sketch: Sketch, unit: float, y: float, start: int, end: int, label: str, face: str
) -> None:
    """Draw a piece of the text as a chip above the bytes that it takes."""
    box = Box(LEFT + unit * start, y, unit * (end - start), 0.26)
    look: dict[str, Any] = {"facecolor": face, "edgecolor": PAPER, "linewidth": 1.5}
    sketch.axes.add_patch(Rectangle((box.x, box.y), box.width, box.height, **look))
    colour = INK if face == GRID else text_colour(face)  # GRID is dark on a dark page
    sketch.text(*box.centre, label, ha="center", fontsize=8.5, color=colour)
