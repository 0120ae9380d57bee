"""Chapter 12: a published encoder, its names, its way from a sentence to one vector, its heads."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from matplotlib.patches import Polygon, Rectangle

from tfmlib.plots.colours import ACCENT, BLUE, PALE, PAPER, WIDTH
from tfmlib.plots.inputs import Labels, as_finite, as_labels, as_series
from tfmlib.plots.picture import Picture
from tfmlib.plots.sketch import Box, Sketch, sheet
from tfmlib.plots.style import house_style
from tfmlib.plots.words import listed, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

SHOWN = 3  # as many of a vector's numbers are written
CELL = (0.41, 0.22)  # inches


def first_numbers(
    sketch: Sketch, x: float, y: float, rows: Array, limit: float, labels: Sequence[str] = ()
) -> Box:
    """Draw the beginnings of vectors, one per row, and dots for the numbers that are left out."""
    # A limit below zero: colours around zero, also where no number happens to be negative.
    box = sketch.matrix(x, y, rows[:, :SHOWN], rows=labels, cell=CELL, limit=-limit)
    if rows.shape[1] > SHOWN:
        for i in range(len(rows)):
            sketch.text(x + box.width + 0.03, y + CELL[1] * (i + 0.5), "…", fontweight="bold")
    return box


def counted(number: int, what: str) -> str:
    """Write a count and what is counted, in the plural from two on."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# --- from a sentence to one vector --------------------------------------------------------------


@house_style()
def sentence_to_vector(
    text: str, pieces: Labels, ids: Sequence[int], states: ArrayLike, vector: ArrayLike
) -> Picture:
    """Draw a sentence's way through an encoder: pieces, embeddings, layers, mean, one vector.

    `states` (L + 1, T, D) are the vectors after the embedding and after each layer.

    >>> sentence_to_vector("Hi", ["hi"], [7], [[[0.5, 1]], [[2, 3]]], [2, 3]).alt
    'The sentence “Hi” becomes 1 piece: hi. Its embeddings are 1 × 2 numbers, and 1 layer turns \
them into 1 × 2 states. Their mean is one vector of 2 numbers, which begins with 2 and 3.'
    """
    states, vector = as_finite(states, 3, "states"), as_finite(vector, 1, "vector")
    layers, T, D = states.shape[0] - 1, *states.shape[1:]
    names, numbers = as_labels(pieces, T, "pieces"), as_labels(ids, T, "ids")
    if len(vector) != D:
        raise ValueError(f"vector must have {D} numbers, one per feature, but has {len(vector)}.")
    depth = counted(layers, "layer")
    turn = "turns" if layers == 1 else "turn"
    alt = (
        f"The sentence {quoted(text)} becomes {counted(T, 'piece')}: {listed(names)}. Its "
        f"embeddings are {T} × {D} numbers, and {depth} {turn} them into {T} × {D} states. Their "
        f"mean is one vector of {D} numbers, which begins with "
        f"{listed(number_texts(vector[:SHOWN]))}."
    )
    tall = CELL[1] * T
    picture, sketch = sheet(2.48 + tall, alt)
    sketch.text(0.1, 0.14, quoted(text), fontweight="bold")
    sketch.path((0.35, 0.27), (0.35, 0.53))
    sketch.note(0.47, 0.4, "cut into the longest known pieces, each with its id")
    x = 0.1
    for name, number in zip(names, numbers, strict=True):
        chip = sketch.labelled(x, 0.57, 0.082 * len(name) + 0.14, 0.24, name)
        sketch.note(chip.bottom[0], 0.92, number, ha="center")
        x += chip.width + 0.08
    sketch.path((0.35, 1.04), (0.35, 1.3))
    sketch.note(0.47, 1.17, "token + position + segment vector, then a layer norm")
    _draw_layers(sketch, 1.64, states, names, vector)
    return picture


def _draw_layers(sketch: Sketch, y: float, states: Array, names: list[str], vector: Array) -> None:
    """Draw the embeddings on the left, the states on the right, and their mean beneath."""
    layers, T, D = states.shape[0] - 1, *states.shape[1:]
    limit = float(np.abs(states[[0, -1], :, :SHOWN]).max())
    before = first_numbers(sketch, 0.74, y, states[0], limit, names)
    after = first_numbers(sketch, 3.3, y, states[-1], limit)
    sketch.text(before.top[0], y - 0.12, "embeddings", ha="center", fontweight="bold")
    sketch.text(after.top[0], y - 0.12, "states", ha="center", fontweight="bold")
    sketch.text(2.68, y - 0.12, counted(layers, "layer"), ha="center", fontweight="bold")
    each = 0.84 / layers
    for k in range(layers):
        card = sketch.labelled(
            2.26 + each * k, y, each - 0.02, before.height, f"{k + 1}", ACCENT, ACCENT, fontsize=8
        )
    sketch.path((2.13, card.left[1]), (2.26, card.left[1]))
    sketch.path(card.right, (3.26, card.right[1]))
    low = y + before.height
    sketch.note(before.top[0], low + 0.12, f"{T} × {D}", ha="center")
    sketch.path((after.top[0], low + 0.04), (after.top[0], low + 0.38))
    sketch.note(after.top[0] - 0.1, low + 0.2, f"mean of the {T} rows", ha="right")
    sketch.note(after.top[0] + 0.1, low + 0.12, f"{T} × {D}")
    first_numbers(sketch, 3.3, low + 0.42, vector[None], limit)
    middle = low + 0.42 + CELL[1] / 2
    sketch.text(3.22, middle, "the sentence’s vector", ha="right", fontweight="bold")
    sketch.note(after.top[0], low + 0.76, f"1 × {D}", ha="center")


# --- the names of the weights -------------------------------------------------------------------

ROW = 0.27  # inches
SYMBOLS = {  # what the equations of this book call the weights
    "self_attention.qkv": ("$W^q$", "$W^k$", "$W^v$"),
    "self_attention.output": ("$W^0$",),
    "feed_forward.0": ("$W_1$",),
    "feed_forward.3": ("$W_2$",),
}


@house_style()
def weight_names(
    names: Mapping[str, Sequence[str]], shapes: Mapping[str, Sequence[int]]
) -> Picture:
    """Draw which published weights each weight of this book's encoder is made of.

    `names` has our name: the published ones; weights are grouped by what their names begin with.

    >>> names = {"token.weight": ["embeddings.word_embeddings.weight"]}
    >>> weight_names(names, {"token.weight": (11, 4)}).alt
    'Published weights on the left, those of this book on the right, joined by 1 line. \
embeddings: word_embeddings is token, 11 × 4.'
    """
    missing = [ours for ours in names if ours not in shapes]
    if missing or not names:
        lacks = f"lacks {missing[0]!r}" if missing else "names nothing"
        raise ValueError(f"shapes must have the shape of each weight in names, but {lacks}.")
    groups = {group: list(own) for group, own in groupby(names, lambda ours: _group(names[ours]))}
    lines = sum(len(published) for published in names.values())
    told = [
        f"{group}: "
        + "; ".join(
            f"{listed(_published(name) for name in names[ours])} "
            f"{'is' if len(names[ours]) == 1 else 'are, side by side,'} {_ours(ours)}, "
            f"{_shape(shapes[ours])}"
            for ours in own
        )
        for group, own in groups.items()
    ]
    alt = (
        "Published weights on the left, those of this book on the right, joined by "
        f"{counted(lines, 'line')}. {'. '.join(told)}."
    )
    picture, sketch = sheet(0.3 + ROW * lines + 0.36 * len(groups), alt)
    sketch.text(0.06, 0.14, "the published file", fontweight="bold")
    sketch.text(2.14, 0.14, "this book’s encoder", fontweight="bold")
    y = 0.3
    for group, own in groups.items():
        sketch.note(0.06, y + 0.18, f"{group}.*")
        sketch.note(2.14, y + 0.18, _prefix(own[0]))
        y += 0.32
        for ours in own:
            _draw_names(sketch, y, names[ours], ours, shapes[ours])
            y += ROW * len(names[ours])
        y += 0.04
    return picture


def _draw_names(
    sketch: Sketch, y: float, published: Sequence[str], ours: str, shape: Sequence[int]
) -> None:
    """Draw the published names under each other, and lines to ours."""
    face = ACCENT if len(published) > 1 else PALE
    whole = ROW * len(published) - 0.05
    box = sketch.labelled(2.14, y, 1.44, whole, _ours(ours), face, fontsize=8.5)
    sketch.note(4.0, box.centre[1], _shape(shape))
    for k, name in enumerate(published):
        one = sketch.labelled(0.06, y + ROW * k, 1.76, ROW - 0.05, _published(name), fontsize=8.5)
        sketch.path(one.right, (box.x, one.right[1]))
    for k, symbol in enumerate(SYMBOLS.get(_ours(ours), ())):
        sketch.text(3.66, y + ROW * (k + 0.5) - 0.025, symbol, parse_math=True)


def _group(published: Sequence[str]) -> str:
    """Say in which part of the published file the weights are: embeddings, encoder.layer.0."""
    first = published[0].split(".")
    return ".".join(first[:3]) if first[0] == "encoder" else first[0]


def _prefix(ours: str) -> str:
    return ".".join(ours.split(".")[:2]) + ".*" if ours.startswith("encoder.") else ""


def _published(name: str) -> str:
    return name.removeprefix(_group([name]) + ".").removesuffix(".weight")


def _ours(name: str) -> str:
    parts = name.removesuffix(".weight").split(".")
    return ".".join(parts[2:] if parts[0] == "encoder" else parts)


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(str(size) for size in shape)


# --- arcs between words -------------------------------------------------------------------------


@house_style()
def head_arcs(tokens: Labels, heads: Mapping[str, ArrayLike], least: float = 0.3) -> Picture:
    """Draw an arc from each token to every other one that a head gives a weight of `least` or more.

    >>> head_arcs(["a", "b"], {"Head 1": [[1, 0], [0.9, 0.1]]}).alt
    'Arcs from a token to those it looks at, with weights of 0.3 or more. Head 1: b to a 0.90.'
    """
    panels = as_series(heads, "heads")
    names = [str(token) for token in tokens]
    maps = {title: as_finite(w, 2, f"the weights of {title}") for title, w in panels.items()}
    for title, weights in maps.items():
        if weights.shape != (len(names), len(names)):
            raise ValueError(
                f"the weights of {title} must be ({len(names)}, {len(names)}), one row and one "
                f"column per token, but came with the shape {weights.shape}."
            )
    alt = f"Arcs from a token to those it looks at, with weights of {least} or more."
    for title, weights in maps.items():
        arcs = [f"{names[i]} to {names[j]} {weights[i, j]:.2f}" for i, j in looks(weights, least)]
        alt += f" {title}: {', '.join(arcs) or 'none'}."
    picture, sketch = sheet(0.4 + 0.36 * len(names), alt)
    for k, (title, weights) in enumerate(maps.items()):
        _draw_arcs(sketch, 0.06 + k * WIDTH / len(maps), title, names, weights, least)
    return picture


def looks(weights: Array, least: float) -> list[tuple[int, int]]:
    """Return the (query, key) of the weights that are drawn: large ones, to another token."""
    return [(i, j) for i, j in np.argwhere(weights >= least).tolist() if i != j]


def _draw_arcs(
    sketch: Sketch, x: float, title: str, names: list[str], weights: Array, least: float
) -> None:
    """Draw the tokens under each other, and the arcs on their right."""
    sketch.text(x, 0.14, title, fontweight="bold")
    boxes = [
        sketch.labelled(x, 0.36 + 0.36 * k, 0.82, 0.24, name, fontsize=8.5)
        for k, name in enumerate(names)
    ]
    for i, j in looks(weights, least):
        (x, start), (_, end) = boxes[i].right, boxes[j].right
        inset = 0.05 if start > end else -0.05  # arcs leave and arrive on the side they come from
        _draw_arc(
            sketch, x, start - inset, end + inset, 0.24 + 0.12 * abs(i - j), float(weights[i, j])
        )


def _draw_arc(
    sketch: Sketch, x: float, start: float, end: float, reach: float, weight: float
) -> None:
    """Draw half an ellipse with its arrow head, thicker for more weight, and the weight beside."""
    turn, middle = np.linspace(0, np.pi, 40), (start + end) / 2
    bow = x + reach * np.sin(turn), middle - np.cos(turn) * (end - start) / 2
    sketch.axes.plot(*bow, color=BLUE, linewidth=0.6 + 1.4 * weight)
    tip = [(x, end), (x + 0.1, end - 0.05), (x + 0.1, end + 0.05)]
    sketch.axes.add_patch(Polygon(tip, facecolor=BLUE, edgecolor=BLUE, linewidth=0, zorder=2.5))
    ground = Rectangle((x + reach + 0.03, middle - 0.08), 0.32, 0.16, facecolor=PAPER, zorder=2.5)
    sketch.axes.add_patch(ground)  # another arc must not cross the number
    sketch.text(x + reach + 0.05, middle, f"{weight:.2f}", fontsize=8.5)


# --- two sentences compared ---------------------------------------------------------------------


@house_style()
def two_means(sentences: Mapping[str, tuple[Labels, ArrayLike]]) -> Picture:
    """Draw two sentences' token vectors, the mean of each, and the cosine of the two means.

    `sentences` has text: (tokens, vectors), with one vector (D,) per token.

    >>> two_means({"x": (["a"], [[3, 4]]), "y": (["b", "c"], [[2, 0], [0, 0]])}).alt
    'Two sentences as their token vectors. The mean of 1 vector of “x” is a, which begins with 3 \
and 4 and has the length 5.00; the mean of 2 vectors of “y” is b, which begins with 1 and 0 and \
has the length 1.00. The cosine is a · b over the product of the lengths: 3.00 / (5.00 · 1.00) = \
0.60.'
    """
    panels = [
        (text, as_finite(vectors, 2, f"the vectors of {quoted(text)}"), tokens)
        for text, (tokens, vectors) in as_series(sentences, "sentences").items()
    ]
    if len(panels) != 2 or panels[0][1].shape[1] != panels[1][1].shape[1]:
        came = " and ".join(str(vectors.shape) for _, vectors, _ in panels)
        raise ValueError(f"sentences must be two, with vectors of one length, but came as {came}.")
    a, b = (vectors.mean(axis=0) for _, vectors, _ in panels)
    quotient, told = _cosine(a, b), []
    for (text, vectors, _), name, mean in zip(panels, "ab", (a, b), strict=True):
        told.append(
            f"the mean of {counted(len(vectors), 'vector')} of {quoted(text)} is {name}, which "
            f"begins with {listed(number_texts(mean[:SHOWN]))} and has the length "
            f"{np.linalg.norm(mean):.2f}"
        )
    alt = (
        f"Two sentences as their token vectors. {'; '.join(told)}. The cosine is a · b over the "
        f"product of the lengths: {quotient}."
    ).replace(". the", ". The")
    rows = max(len(vectors) for _, vectors, _ in panels)
    low = 0.36 + CELL[1] * rows
    picture, sketch = sheet(low + 1.42, alt)
    limit = max(float(np.abs(vectors[:, :SHOWN]).max()) for _, vectors, _ in panels)
    for k, (text, vectors, tokens) in enumerate(panels):
        names = as_labels(tokens, len(vectors), f"the tokens of {quoted(text)}")
        x, y = 0.7 + 2.4 * k, low - CELL[1] * len(vectors)
        box = first_numbers(sketch, x, y, vectors, limit, names)
        sketch.text(x + 0.35, y - 0.14, quoted(text), ha="center", fontweight="bold")
        sketch.path((box.top[0], low + 0.04), (box.top[0], low + 0.36))
        sketch.note(box.top[0] + 0.1, low + 0.2, f"mean of {len(vectors)}")
        mean = first_numbers(sketch, x, low + 0.4, (a, b)[k][None], limit, ["ab"[k]])
        sketch.path((mean.top[0], low + 0.66), (mean.top[0], low + 0.92))
    dots = "…" if len(a) > SHOWN else ""
    sketch.labelled(0.3, low + 0.96, 4.2, 0.42, f"cosine = a · b / (|a| |b|) = {quotient}")
    sketch.note(2.4, low + 0.79, f"all {len(a)} numbers" if dots else "", ha="center")
    return picture


def _cosine(a: Array, b: Array) -> str:
    """Write the cosine of two vectors as the quotient that it is."""
    lengths = np.linalg.norm(a), np.linalg.norm(b)
    cosine = a @ b / (lengths[0] * lengths[1])
    text = f"{a @ b:.2f} / ({lengths[0]:.2f} · {lengths[1]:.2f}) = {cosine:.2f}"
    return text.replace("-", "−")


# --- contrastive training -----------------------------------------------------------------------


@house_style()
def contrastive_batch(
    cosines: ArrayLike,
    probabilities: ArrayLike,
    factor: float,
    rows: Labels,
    columns: Labels,
    row: int,
) -> Picture:
    """Draw the table of a contrastive batch, partners framed, and the loss of one of its rows.

    `probabilities` are the softmax of each row of cosines times the factor.

    >>> shares = [[0.8, 0.2], [0.2, 0.8]]
    >>> contrastive_batch(np.eye(2), shares, 1.4, ["a", "b"], ["x", "y"], row=1).alt
    'The cosines of 2 first sentences with 2 second ones; partners, on the diagonal, have 1 and 1. \
Row b times 1.4, through a softmax, gives its partner y 0.8000, so the loss of this row is \
−log 0.8000 = 0.2231.'
    """
    table, shares = as_finite(cosines, 2, "cosines"), as_finite(probabilities, 2, "probabilities")
    B = len(table)
    if table.shape != (B, B) or shares.shape != (B, B):
        raise ValueError(
            f"cosines and probabilities must be square and of one size, but came with the shapes "
            f"{table.shape} and {shares.shape}."
        )
    firsts, seconds = as_labels(rows, B, "rows"), as_labels(columns, B, "columns")
    if not 0 <= row < B:
        raise ValueError(f"row must be from 0 to {B - 1}, but came as {row}.")
    loss = f"−log {shares[row, row]:.4f} = {-np.log(shares[row, row]):.4f}"
    alt = (
        f"The cosines of {B} first sentences with {B} second ones; partners, on the diagonal, have "
        f"{listed(number_texts(np.diag(table)))}. Row {firsts[row]} times {factor:g}, through a "
        f"softmax, gives its partner {seconds[row]} {shares[row, row]:.4f}, so the loss of this "
        f"row is {loss}."
    )
    cell = (min(4.0 / B, 0.68), 0.26)
    low = 0.44 + cell[1] * B
    picture, sketch = sheet(low + 1.22, alt)
    partners = [(i, i) for i in range(B)]
    box = sketch.matrix(
        0.66, 0.44, table, "cosines", firsts, seconds, cell=cell, limit=1, lit=partners
    )
    sketch.note(0.66, low + 0.13, "framed: partners, pulled together · all others pushed apart")
    sketch.path((box.top[0], low + 0.24), (box.top[0], low + 0.52))
    sketch.note(
        box.top[0] + 0.1, low + 0.38, f"row {quoted(firsts[row])} times {factor:g}, softmax"
    )
    texts = [[f"{share:.4f}" for share in shares[row]]]
    sketch.matrix(
        0.66, low + 0.56, shares[row], rows=[firsts[row]], cell=cell, texts=texts, limit=1,
        lit=[(0, row)],
    )  # fmt: skip
    sketch.text(0.66, low + 1.0, f"loss of this row: {loss}", fontweight="bold")
    return picture
