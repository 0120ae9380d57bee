"""In place of the figures, where there is no Matplotlib: they say what to draw, and the page draws.

In the page this file is `tfmlib/plots/__init__.py`, beside the modules of the package that need
NumPy alone: `colours`, `inputs`, `told` and `words`. So bad input is refused with the same
sentences, and a figure tells the same in words.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from typing import Any

import numpy as np

from tfmlib.plots.colours import (
    ACCENT,
    BLOCKED,
    BLUE,
    DARK,
    DPI,
    GREEN,
    GREY,
    GRID,
    INK,
    MAGNITUDE,
    MUTED,
    ON_ACCENT,
    PALE,
    PAPER,
    PURPLE,
    SERIES,
    SIGNED,
    VERMILLION,
    WIDTH,
    black_or_white,
)
from tfmlib.plots.inputs import (
    Labels,
    Lines,
    Losses,
    as_array,
    as_curves,
    as_finite,
    as_groups,
    as_labels,
    as_lines,
    as_mask,
    as_probabilities,
    refuse_logarithms,
)
from tfmlib.plots.told import (
    tell_bars,
    tell_distribution,
    tell_encoding,
    tell_heads,
    tell_heat_map,
    tell_lines,
    tell_mask,
)
from tfmlib.plots.words import alt_text, number_texts, probability_texts, visible_label
from tfmlib.support.arrays import Array, ArrayLike

__all__ = [  # noqa: RUF022
    "Figure",
    "Picture",
    "text_colour",
    "heat_map",
    "encoding_map",
    "mask_map",
    "attention_heads",
    "distribution",
    "bars",
    "lines",
    "loss_curves",
    "search_tree",
    "architecture",
    "diagrams",
    "house_style",
    "WIDTH",
    "DPI",
    "PAPER",
    "INK",
    "MUTED",
    "PALE",
    "GRID",
    "GREY",
    "BLUE",
    "VERMILLION",
    "GREEN",
    "PURPLE",
    "DARK",
    "SERIES",
    "MAGNITUDE",
    "SIGNED",
    "ACCENT",
    "ON_ACCENT",
    "BLOCKED",
]
Spec = dict[str, Any]  # what JSON can say
MOST_TEXTS = 12  # so many bars carry their values


class Figure:
    """What is to be drawn, as plain data; of the kind "stored" is a picture that the book keeps."""

    def __init__(self, kind: str, alt: str | None = None, **spec: Any):
        self.alt = alt or ""
        self.spec: Spec = {"kind": kind}
        if kind != "stored":
            self.spec |= {"alt": self.alt, **spec}

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"


class Nothing:
    """Axes and whatever else belongs to Matplotlib: they take every call."""

    def __call__(self, *args: object, **kwargs: object) -> "Nothing":
        return self

    def __getattr__(self, name: str) -> "Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class Picture(Figure):
    """A figure that a cell draws by itself, with Matplotlib: the book's picture stays."""

    def __init__(self, *args: object, alt: str = "", **kwargs: object):
        super().__init__("stored", alt)

    def __getattr__(self, name: str) -> Nothing:
        return getattr(Nothing(), name)


class house_style(ContextDecorator):  # noqa: N801
    """A context, or a decorator, that changes nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def text_colour(background: str | Sequence[float]) -> str:
    """Return black or white, whichever is easier to read on "#rrggbb" or on (red, green, blue)."""
    if isinstance(background, str):
        background = [int(background[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return black_or_white(background[:3])


# --- maps -----------------------------------------------------------------------------------------


def heat_map(
    matrix: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    values: bool = True,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
) -> Figure:
    """Draw a matrix as coloured cells; up to ten columns carry their values, −∞ is grey."""
    matrix = as_array(matrix, 2, "matrix")  # (T, S)
    T, S = matrix.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    texts = np.reshape(number_texts(matrix.ravel()), (T, S)).tolist() if values and S <= 10 else []
    return Figure(
        "map",
        alt_text(alt, title, tell_heat_map(matrix, rows, columns, xlabel, ylabel)),
        title=title,
        panels=[{"cells": _as_json(matrix), "texts": texts}],
        scale=_scale(matrix),
        **_sides(rows, columns, xlabel, ylabel),
    )


def encoding_map(encoding: ArrayLike, title: str | None = None, alt: str | None = None) -> Figure:
    """Draw positional encodings, one row a position and one column a dimension."""
    encoding = as_finite(encoding, 2, "encoding")  # (T, D)
    T, D = encoding.shape
    largest = max(1.0, float(np.abs(encoding).max()))
    return Figure(
        "map",
        alt_text(alt, title, tell_encoding(encoding)),
        title=title,
        panels=[{"cells": _as_json(encoding), "texts": []}],
        scale=[-largest, largest],
        **_sides([str(t) for t in range(T)], [str(j) for j in range(D)], "dimension", "position"),
    )


def attention_heads(
    weights: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
) -> Figure:
    """Draw the attention of several heads side by side, all on one colour scale."""
    weights = as_finite(weights, 3, "weights")  # (H, T, S)
    H, T, S = weights.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    return Figure(
        "map",
        alt_text(alt, title, tell_heads(weights, xlabel, ylabel)),
        title=title,
        panels=[
            {"name": f"head {h + 1}", "cells": _as_json(weights[h]), "texts": []} for h in range(H)
        ],
        scale=_scale(weights),
        **_sides(rows, columns, xlabel, ylabel),
    )


def mask_map(
    mask: ArrayLike,
    rows: Labels | None = None,
    columns: Labels | None = None,
    title: str | None = None,
    xlabel: str = "key",
    ylabel: str = "query",
    alt: str | None = None,
    names: tuple[str, str] = ("allowed", "blocked"),
) -> Figure:
    """Draw a mask: a tick where attention is allowed, a cross where it is not."""
    mask = as_mask(mask)  # (T, S)
    T, S = mask.shape
    rows, columns = as_labels(rows, T, "rows"), as_labels(columns, S, "columns")
    return Figure(
        "mask",
        alt_text(alt, title, tell_mask(mask == 1, columns, xlabel, ylabel)),
        title=title,
        panels=[{"cells": _as_json(mask), "texts": np.where(mask == 1, "✓", "×").tolist()}],
        names=[str(name) for name in names],
        **_sides(rows, columns, xlabel, ylabel),
    )


def _sides(rows: list[str], columns: list[str], xlabel: str, ylabel: str) -> Spec:
    """What stands beside and above the cells."""
    return {
        "rows": [visible_label(row) for row in rows],
        "columns": [visible_label(column) for column in columns],
        "xlabel": xlabel,
        "ylabel": ylabel,
    }


def _scale(cells: Array) -> list[float]:
    """The range of the colours: around zero when there are signs, else from zero up."""
    finite = cells[np.isfinite(cells)]
    largest = float(np.abs(finite).max(initial=0)) or 1.0
    return [-largest if (finite < 0).any() else 0.0, largest]


def _as_json(values: Array) -> list[Any]:
    """Numbers as lists; JSON has no word for infinity, so it is the string "-inf"."""
    if values.ndim > 1:
        return [_as_json(row) for row in values]
    return [value if np.isfinite(value) else str(value) for value in values.tolist()]


# --- charts ---------------------------------------------------------------------------------------


def distribution(
    probabilities: ArrayLike,
    labels: Labels | None = None,
    title: str | None = None,
    xlabel: str = "probability",
    alt: str | None = None,
) -> Figure:
    """Draw probabilities as bars, in the order given, the largest one emphasised."""
    heights = as_probabilities(probabilities)  # (V,)
    names = as_labels(labels, heights.size, "labels")
    return Figure(
        "distribution",
        alt_text(alt, title, tell_distribution(heights, names)),
        title=title,
        labels=[visible_label(name) for name in names],
        values=_as_json(heights),
        texts=probability_texts(heights),
        xlabel=xlabel,
    )


def bars(
    labels: Collection[object],
    groups: Mapping[str, ArrayLike],
    ylabel: str,
    title: str | None = None,
    alt: str | None = None,
) -> Figure:
    """Draw named values for each label, side by side."""
    names = as_labels(labels, len(labels), "labels")
    heights = as_groups(groups, len(names))
    few = len(names) * len(heights) <= MOST_TEXTS
    return Figure(
        "bars",
        alt_text(alt, title, tell_bars(names, heights, ylabel)),
        title=title,
        labels=[visible_label(name, 24) for name in names],
        groups=[
            {"name": name, "values": _as_json(y), "texts": number_texts(y) if few else []}
            for name, y in heights.items()
        ],
        ylabel=ylabel,
    )


def lines(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    title: str | None = None,
    alt: str | None = None,
) -> Figure:
    """Draw named series over the same x."""
    return _line_chart(as_lines(x, series), xlabel, ylabel, log_x, log_y, title, alt)


def loss_curves(
    curves: Mapping[str, Losses],
    xlabel: str = "step",
    ylabel: str = "loss",
    log: bool = False,
    title: str | None = None,
    alt: str | None = None,
) -> Figure:
    """Draw losses: a list has one value for each step from 1, a dictionary is {step: value}."""
    return _line_chart(as_curves(curves), xlabel, ylabel, False, log, title, alt)


def _line_chart(
    pairs: Lines,
    xlabel: str,
    ylabel: str,
    log_x: bool,
    log_y: bool,
    title: str | None,
    alt: str | None,
) -> Figure:
    told = tell_lines(pairs, xlabel, ylabel)
    refuse_logarithms(pairs, log_x, log_y)
    return Figure(
        "lines",
        alt_text(alt, title, told),
        title=title,
        series=[
            {"name": name, "x": _as_json(x), "y": _as_json(y)} for name, (x, y) in pairs.items()
        ],
        xlabel=xlabel,
        ylabel=ylabel,
        log_x=bool(log_x),
        log_y=bool(log_y),
    )


# --- pictures that the book keeps -----------------------------------------------------------------


def search_tree(
    steps: Iterable[Mapping[str, float]],
    width: int,
    title: str | None = None,
    alt: str | None = None,
) -> Figure:
    """A beam search is not drawn in the page."""
    return Figure("stored", alt)


def architecture(
    highlight: str | Iterable[str] | None = None,
    title: str | None = None,
    alt: str | None = None,
) -> Figure:
    """The transformer on one page is not drawn in the page."""
    return Figure("stored", alt)


class Diagrams:
    """None of the diagrams is drawn in the page: the book's pictures stay."""

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: Figure("stored")


diagrams = Diagrams()
