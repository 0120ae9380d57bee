"""The transformer on one page, its parts numbered by the chapters that explain them."""

from collections.abc import Iterable

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from tfmlib.plots.colours import ACCENT, MAGNITUDE, MUTED, ON_ACCENT, PALE, PAPER
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.sketch import Sketch
from tfmlib.plots.style import house_style
from tfmlib.plots.words import alt_text

# part: (chapter, what it is)
PARTS = {
    "tokens": (1, "text cut into numbered pieces"),
    "embeddings": (2, "a vector for each token"),
    "positions": (3, "where each token stands, added to its vector"),
    "attention": (4, "each token gathers what it needs from the others"),
    "heads": (5, "several attentions side by side"),
    "add-norm": (6, "a way around each step, and a rescaling after it"),
    "feed-forward": (7, "the same small network at each position"),
    "encoder": (7, "the layers that read the source"),
    "masks": (8, "who may look at whom"),
    "decoder": (9, "the layers that write the target"),
    "cross-attention": (9, "the target looks at the source"),
    "linear": (9, "a score for each word of the vocabulary"),
    "softmax": (9, "scores become probabilities"),
    "training": (10, "learning all the weights from examples"),
    "scale": (11, "longer texts, larger models, more machines"),
    "real weights": (12, "the same encoder with published weights"),
}
BOX, LEFT, RIGHT = 1.76, 0.12, 2.46  # width of a box, left edges of the two columns, in inches
TOP, FLOW = 1.96, 1.2  # where the first step begins; how far right in a box the arrows run


@house_style()
def architecture(
    highlight: str | Iterable[str] | None = None,
    title: str | None = None,
    alt: str | None = None,
) -> Picture:
    """Draw the transformer, its parts numbered by chapter, with one part or several emphasised.

    >>> architecture("masks").alt.split(". ")[-1]
    'Highlighted: masks (chapter 8), who may look at whom.'
    """
    hot = [highlight] if isinstance(highlight, str) else list(highlight or [])
    for name in hot:
        if name not in PARTS:
            raise ValueError(f"highlight must name parts of {list(PARTS)}, but has {name!r}.")
    told = (
        "The transformer on one page, its parts numbered by chapter: source tokens pass "
        "embeddings, positions and the layers of the encoder; target tokens pass the layers of "
        "the decoder, which also look at the encoder's result, and a linear layer with softmax "
        "gives the next token."
    )
    if hot:
        parts = (f"{name} (chapter {PARTS[name][0]}), {PARTS[name][1]}" for name in hot)
        told += f" Highlighted: {'; '.join(parts)}."
    height = 6.2 if title else 5.9
    figure = Picture(figsize=(4.6, height), layout="none", alt=alt_text(alt, title, told))
    axes = figure.add_axes((0, 0, 1, 5.9 / height), xlim=(0, 4.6), ylim=(5.9, 0))
    axes.set_axis_off()
    _draw_transformer(_PartSketch(axes, set(hot)))
    return titled(figure, title)


class _PartSketch(Sketch):
    """A sketch of numbered parts, of which those in `hot` are emphasised."""

    def __init__(self, axes: Axes, hot: set[str]):
        super().__init__(axes)
        self.hot = hot

    def plain_or_hot(self, x: float, y: float, width: float, height: float, hot: bool) -> None:
        self.card(x, y, width, height, *((ACCENT, ACCENT) if hot else (PAPER, MUTED)))

    def badge(self, x: float, y: float, part: str) -> None:
        hot = part in self.hot
        face, edge = (ACCENT, ON_ACCENT) if hot else (PALE, MUTED)
        self.card(x - 0.12, y - 0.085, 0.24, 0.17, face, edge, 0.8)
        number = f"{PARTS[part][0]:02d}"
        self.text(x, y, number, hot, fontsize=7.5, ha="center", fontweight="bold")

    def box(
        self,
        x: float,
        y: float,
        part: str,
        label: str,
        height: float = 0.28,
        heads: bool = False,
    ) -> None:
        """Draw a named part; a stack of cards stands for its heads."""
        hot = part in self.hot
        face, edge = (ACCENT, ON_ACCENT) if "heads" in self.hot else (PALE, MUTED)
        for offset in (0.08, 0.04) if heads else ():
            self.card(x + offset, y - offset, BOX, height, face, edge)
        self.plain_or_hot(x, y, BOX, height, hot)
        self.badge(x + 0.19, y + height / 2, part)
        self.text(x + 0.38, y + height / 2, label, hot)


def _draw_transformer(sketch: _PartSketch) -> None:
    """Draw the two columns, the bridge between them, and what concerns the whole model."""
    _panel(sketch, LEFT, 3.66, "encoder")
    _panel(sketch, RIGHT, 4.58, "decoder")
    _inputs(sketch, LEFT, "source", ["forty", "two"])
    _inputs(sketch, RIGHT, "target so far", ["<start>", "zwei", "und"])
    encoder = [("attention", "attention"), ("feed-forward", "feed-forward")]
    decoder = [
        ("masks", "masked attention"),
        ("cross-attention", "cross-attention"),
        ("feed-forward", "feed-forward"),
    ]
    for column, steps in ((LEFT, encoder), (RIGHT, decoder)):
        for k, (part, label) in enumerate(steps):
            _step(sketch, column, TOP + 0.92 * k, part, label)
    hot = "attention" in sketch.hot
    sketch.text(LEFT + 1.26, TOP + 0.14, "heads", hot, color=MUTED, fontsize=8.5)
    sketch.badge(LEFT + BOX, TOP - 0.02, "heads")
    _mask_icon(sketch, RIGHT + BOX - 0.23, TOP + 0.05)
    # The bridge: the encoder's result goes to every cross-attention.
    cross = TOP + 0.92 + 0.14
    sketch.path(
        (LEFT + FLOW, 3.54), (LEFT + FLOW, 3.82), (2.28, 3.82), (2.28, cross), (RIGHT, cross)
    )
    sketch.text(LEFT + FLOW - 0.08, 3.84, "keys, values", color=MUTED, fontsize=8.5, ha="right")
    _outputs(sketch)
    sketch.card(LEFT - 0.06, 4.3, BOX + 0.34, 1.5, face=PALE, edge=PALE)
    sketch.text(LEFT + 0.07, 4.47, "the whole model", fontweight="bold")
    for k, part in enumerate(("training", "scale", "real weights")):
        sketch.box(LEFT, 4.65 + 0.38 * k, part, part)


def _panel(sketch: _PartSketch, x: float, bottom: float, part: str) -> None:
    """Draw the frame around the layers of the encoder or the decoder."""
    hot = part in sketch.hot
    line = 2.5 if hot else 1.0
    sketch.card(x - 0.06, 1.5, BOX + 0.34, bottom - 1.5, PALE, ACCENT if hot else PALE, line)
    if hot:
        sketch.card(x - 0.06, 1.5, BOX + 0.34, 0.28, ACCENT, ACCENT)
    sketch.badge(x + 0.19, 1.64, part)
    sketch.text(x + 0.38, 1.64, part, hot, fontweight="bold")
    sketch.text(x + BOX + 0.2, 1.64, "× N", hot, ha="right")


def _inputs(sketch: _PartSketch, x: float, caption: str, tokens: list[str]) -> None:
    """Draw the tokens, their embeddings and their positions."""
    sketch.text(x + 0.07, 0.12, caption, color=MUTED, fontsize=8.5)
    sketch.card(x, 0.23, BOX, 0.32, face=PALE, edge=PALE)
    sketch.badge(x + 0.19, 0.39, "tokens")
    _chips(sketch, x + 0.37, 0.28, tokens)
    sketch.box(x, 0.68, "embeddings", "embeddings")
    sketch.box(x, 1.10, "positions", "positions")
    _vector_icon(sketch, x + BOX - 0.42, 0.75)
    wave = np.linspace(0, 4 * np.pi, 60)
    colour = ON_ACCENT if "positions" in sketch.hot else MUTED
    sketch.axes.plot(
        x + BOX - 0.42 + wave / wave[-1] * 0.32, 1.24 + 0.07 * np.sin(wave), color=colour, lw=1.2
    )
    sketch.path((x + FLOW, 0.55), (x + FLOW, 0.68))
    sketch.text(x + FLOW, 1.03, "+", ha="center", fontsize=10, fontweight="bold")
    sketch.path((x + FLOW, 1.38), (x + FLOW, TOP - 0.08))


def _chips(sketch: _PartSketch, x: float, y: float, tokens: list[str]) -> None:
    """Draw tokens as chips in a row."""
    hot = "tokens" in sketch.hot
    for token in tokens:
        width = 0.066 * len(token) + 0.08
        sketch.plain_or_hot(x, y, width, 0.22, hot)
        sketch.text(x + width / 2, y + 0.11, token, hot, ha="center", fontsize=8.5)
        x += width + 0.04


def _step(sketch: _PartSketch, x: float, y: float, part: str, label: str) -> None:
    """Draw a step, the way around it, and the add & norm where both meet."""
    around = x + BOX + 0.17
    sketch.path((x + FLOW, y - 0.12), (around, y - 0.12), (around, y + 0.54), (x + BOX, y + 0.54))
    sketch.box(x, y, part, label, heads="feed" not in part)
    sketch.path((x + FLOW, y + 0.28), (x + FLOW, y + 0.42))
    sketch.box(x, y + 0.42, "add-norm", "add & norm", height=0.24)
    if part != "feed-forward":
        sketch.path((x + FLOW, y + 0.66), (x + FLOW, y + 0.92 - (part == "masks") * 0.08))


def _outputs(sketch: _PartSketch) -> None:
    """Draw what follows the decoder: scores, probabilities, the next token."""
    x = RIGHT
    sketch.path((x + FLOW, 4.46), (x + FLOW, 4.74))
    sketch.box(x, 4.74, "linear", "linear")
    sketch.path((x + FLOW, 5.02), (x + FLOW, 5.14))
    sketch.box(x, 5.14, "softmax", "softmax")
    colour = ON_ACCENT if "softmax" in sketch.hot else MUTED
    for k, height in enumerate((0.05, 0.16, 0.09)):
        bar = Rectangle((x + BOX - 0.3 + 0.08 * k, 5.36), 0.055, -height, facecolor=colour)
        sketch.axes.add_patch(bar)
    sketch.path((x + FLOW, 5.42), (x + FLOW, 5.56))
    sketch.text(x + 0.07, 5.68, "next token", color=MUTED, fontsize=8.5)
    _chips(sketch, x + 0.92, 5.56, ["vierzig"])


def _vector_icon(sketch: _PartSketch, x: float, y: float) -> None:
    """Draw a vector as four cells of different shade."""
    for k, value in enumerate((0.15, 0.75, 0.4, 0.95)):
        face = to_hex(matplotlib.colormaps[MAGNITUDE](value))
        cell = Rectangle((x + 0.08 * k, y), 0.08, 0.14, facecolor=face, edgecolor=PAPER, lw=0.6)
        sketch.axes.add_patch(cell)


def _mask_icon(sketch: _PartSketch, x: float, y: float) -> None:
    """Draw a look-ahead mask of three tokens."""
    ink = ON_ACCENT if "masks" in sketch.hot else MUTED
    for row, column in np.ndindex(3, 3):
        face = ink if column <= row else "none"
        corner = (x + 0.06 * column, y + 0.06 * row)
        cell = Rectangle(corner, 0.06, 0.06, facecolor=face, edgecolor=ink, lw=0.5)
        sketch.axes.add_patch(cell)
