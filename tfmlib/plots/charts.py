"""Charts: probabilities, bars side by side, lines and losses."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from tfmlib.plots.colours import ACCENT, GREY, MUTED, SERIES, WIDTH
from tfmlib.plots.font import drawn_label
from tfmlib.plots.inputs import (
    Labels,
    Lines,
    Losses,
    as_curves,
    as_groups,
    as_labels,
    as_lines,
    as_probabilities,
    refuse_logarithms,
)
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.style import house_style
from tfmlib.plots.told import tell_bars, tell_distribution, tell_lines
from tfmlib.plots.words import alt_text, number_texts, probability_texts
from tfmlib.support.arrays import ArrayLike


@house_style()
def distribution(
    probabilities: ArrayLike,
    labels: Labels | None = None,
    title: str | None = None,
    xlabel: str = "probability",
    alt: str | None = None,
) -> Picture:
    """Draw probabilities as bars, in the order given, the largest one emphasised.

    >>> distribution([0.05, 0.74, 0.21], ["on", "life", "<end>"]).alt
    'Bar chart of 3 probabilities. Largest: “life” with 0.74, then “<end>” 0.21 and “on” 0.05.'
    """
    heights = as_probabilities(probabilities)  # (V,)
    names = as_labels(labels, heights.size, "labels")
    told = tell_distribution(heights, names)
    figure = Picture(figsize=(WIDTH, 0.27 * heights.size + 0.75), alt=alt_text(alt, title, told))
    axes = figure.add_subplot()
    colours = [ACCENT if i == heights.argmax() else GREY for i in range(heights.size)]
    drawn = axes.barh(range(heights.size), heights, height=0.72, color=colours)
    axes.bar_label(drawn, probability_texts(heights), padding=3, fontsize=9)
    axes.set_yticks(range(heights.size), [drawn_label(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=xlabel, xlim=(0, heights.max() * 1.15 or 1), ylim=(heights.size - 0.5, -0.5))
    _set_ticks(axes.xaxis)
    return titled(figure, title)


@house_style()
def bars(
    labels: Collection[object],
    groups: Mapping[str, ArrayLike],
    ylabel: str,
    title: str | None = None,
    alt: str | None = None,
) -> Picture:
    """Draw named values for each label, side by side.

    >>> bars(["base", "big"], {"printed": [65, 213], "counted": [63.1, 214.2]}, "million").alt
    'Bar chart of million. “base”: printed 65, counted 63.1; “big”: printed 213, counted 214.2.'
    """
    names = as_labels(labels, len(labels), "labels")
    heights = as_groups(groups, len(names))
    told = tell_bars(names, heights, ylabel)
    figure = Picture(figsize=(WIDTH, 2.9), alt=alt_text(alt, title, told))
    axes = figure.add_subplot()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    width = 0.8 / len(heights)
    few = len(names) * len(heights) <= 12
    for g, (name, values) in enumerate(heights.items()):
        middle = np.arange(len(names)) + (g - (len(heights) - 1) / 2) * width
        drawn = axes.bar(middle, values, width * 0.92, color=SERIES[g][0], label=name)
        if few:
            axes.bar_label(drawn, number_texts(values), padding=2, fontsize=8.5)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set_ylabel(ylabel)
    axes.margins(y=0.1)
    _set_ticks(axes.yaxis)
    axes.set_xticks(range(len(names)), [drawn_label(name, 24) for name in names])
    axes.tick_params(axis="x", length=0)
    if max(len(name) for name in names) * 0.08 > (WIDTH - 0.7) / len(names):
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
    _legend_above(axes, heights)
    return titled(figure, title)


def _legend_above(axes: Axes, names: Collection[str]) -> None:
    """Name the series above the axes, where no line can run through the names."""
    if len(names) > 1:
        per_row = max(1, int(WIDTH // (max(len(str(n)) for n in names) * 0.085 + 0.55)))
        place: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (-0.02, 1.0),
            "borderaxespad": 0,
        }
        axes.legend(ncols=min(len(names), per_row), handlelength=2.4, columnspacing=1.4, **place)


@house_style()
def lines(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    title: str | None = None,
    alt: str | None = None,
) -> Picture:
    """Draw named series over the same x.

    >>> lines([1, 2, 4], {"time": [1, 4, 16]}, "length", "seconds").alt
    'Line chart of seconds against length. “time” rises from 1 at 1 to 16 at 4.'
    """
    return _line_chart(as_lines(x, series), xlabel, ylabel, log_x, log_y, title, alt)


@house_style()
def loss_curves(
    curves: Mapping[str, Losses],
    xlabel: str = "step",
    ylabel: str = "loss",
    log: bool = False,
    title: str | None = None,
    alt: str | None = None,
) -> Picture:
    """Draw losses: a list has one value for each step from 1, a dictionary is {step: value}.

    >>> loss_curves({"training": [4.6, 2.0, 0.9], "validation": {1: 4.7, 3: 1.1}}).alt
    'Line chart of loss against step. “training” falls from 4.6 at 1 to 0.9 at 3; \
“validation” falls from 4.7 at 1 to 1.1 at 3.'
    """
    return _line_chart(as_curves(curves), xlabel, ylabel, False, log, title, alt)


def _line_chart(
    pairs: Lines,
    xlabel: str,
    ylabel: str,
    log_x: bool,
    log_y: bool,
    title: str | None,
    alt: str | None,
) -> Picture:
    told = tell_lines(pairs, xlabel, ylabel)
    refuse_logarithms(pairs, log_x, log_y)
    figure = Picture(figsize=(WIDTH, 2.9), alt=alt_text(alt, title, told))
    axes = figure.add_subplot()
    axes.grid()
    for i, (name, (x, y)) in enumerate(pairs.items()):
        colour = SERIES[i % len(SERIES)][0]
        _, dash, marker = SERIES[(i + i // len(SERIES)) % len(SERIES)]  # no pair occurs twice
        marker = marker if len(x) <= 20 else ""
        axes.plot(x, y, color=colour, linestyle=dash, marker=marker, label=name)
    scales = {"xscale": "log" if log_x else "linear", "yscale": "log" if log_y else "linear"}
    axes.set(xlabel=xlabel, ylabel=ylabel, **scales)
    for axis, is_log in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        _set_ticks(axis, is_log)
    places = np.unique(np.concatenate([x for x, _ in pairs.values()]))
    if log_x and places.size <= 8:
        axes.set_xticks(places)
    _legend_above(axes, pairs)
    return titled(figure, title)


def _set_ticks(axis: Axis, is_log: bool = False) -> None:
    """Put a handful of ticks with plain numbers; on a logarithmic axis at 1, 2, 5 or at decades."""
    low, high = axis.get_view_interval()
    if is_log:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 500 else (1,)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if is_log or high >= 10_000:
        axis.set_major_formatter(FuncFormatter(lambda v, _: _plain(v)))


def _plain(value: float) -> str:
    """A number with all its zeros, never as a power of ten.

    >>> _plain(1e6), _plain(-1e-6), _plain(0)
    ('1,000,000', '−0.000001', '0')
    """
    return f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")
