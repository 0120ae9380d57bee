"""Charts: probabilities, bars side by side, lines and losses."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from tfmlib.plots.inputs import Labels, as_finite, as_labels, as_series, as_values
from tfmlib.plots.picture import Picture, titled
from tfmlib.plots.style import ACCENT, GREY, MUTED, SERIES, WIDTH, house_style
from tfmlib.plots.words import alt_text, drawn_label, listed, number_text, number_texts, quoted
from tfmlib.support.arrays import Array, ArrayLike

Losses = Sequence[float] | Mapping[int, float]  # one for each step, or step: loss
Lines = Mapping[str, tuple[Array, Array]]  # name: (x, y)


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
    heights = as_finite(probabilities, 1, "probabilities")  # (V,)
    if heights.min() < 0 or heights.sum() > 1.01:  # printed figures are rounded
        raise ValueError(
            "probabilities must not be negative and add up to at most 1, but the smallest is "
            f"{number_text(heights.min())} and their sum {heights.sum():.4g}; take the softmax."
        )
    names = as_labels(labels, heights.size, "labels")
    order = np.argsort(-heights, kind="stable")
    others = [f"{quoted(names[i])} {number_text(heights[i])}" for i in order[1:4]]
    told = (
        f"Bar chart of {heights.size} probabilities. Largest: {quoted(names[order[0]])} with "
        f"{number_text(heights[order[0]])}{', then ' + listed(others) if others else ''}."
    )
    figure = Picture(figsize=(WIDTH, 0.27 * heights.size + 0.75), alt=alt_text(alt, title, told))
    axes = figure.add_subplot()
    colours = [ACCENT if i == order[0] else GREY for i in range(heights.size)]
    drawn = axes.barh(range(heights.size), heights, height=0.72, color=colours)
    texts = ["< 0.01" if 0 < p < 0.005 else f"{p:.2f}" for p in heights]
    axes.bar_label(drawn, texts, padding=3, fontsize=9)
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
    groups = as_series(groups, "groups")
    names = as_labels(labels, len(labels), "labels")
    heights = {name: as_values(name, y, len(names), "label") for name, y in groups.items()}
    if len(heights) > len(SERIES):
        raise ValueError(
            f"groups must be at most {len(SERIES)}, but are {len(heights)}; draw two figures."
        )
    told = _tell_bars(names, heights, ylabel)
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


def _tell_bars(labels: list[str], groups: Mapping[str, Array], ylabel: str) -> str:
    """Say all values when they are few, else the highest and the lowest."""
    if len(labels) * len(groups) <= 8:
        told = [
            f"{quoted(label)}: "
            + ", ".join(f"{name} {number_text(v[i])}".strip() for name, v in groups.items())
            for i, label in enumerate(labels)
        ]
    else:
        values = np.array(list(groups.values()))  # (groups, labels)
        told = []
        for word, place in (("Highest", values.argmax()), ("lowest", values.argmin())):
            g, i = np.unravel_index(place, values.shape)
            value = number_text(values[g, i])
            told += [f"{word}: {list(groups)[g]} at {quoted(labels[i])}, {value}"]
    return f"Bar chart of {ylabel}. {'; '.join(told)}."


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
    x = as_finite(x, 1, "x")
    series = as_series(series, "series")
    pairs = {name: (x, as_values(name, y, len(x), "x")) for name, y in series.items()}
    return _line_chart(pairs, xlabel, ylabel, log_x, log_y, title, alt)


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
    pairs = {}
    for name, losses in as_series(curves, "curves").items():
        values = list(losses.values()) if isinstance(losses, Mapping) else losses
        numbers = list(losses) if isinstance(losses, Mapping) else range(1, len(losses) + 1)
        steps = as_finite(numbers, 1, f"the steps of {name!r}")
        pairs[name] = steps, as_values(name, values, len(steps), "step")
    return _line_chart(pairs, xlabel, ylabel, False, log, title, alt)


def _line_chart(
    pairs: Lines,
    xlabel: str,
    ylabel: str,
    log_x: bool,
    log_y: bool,
    title: str | None,
    alt: str | None,
) -> Picture:
    told = f"Line chart of {ylabel} against {xlabel}. {_tell_lines(pairs)}."
    for name, (x, y) in pairs.items():
        if (log_x and x.min() <= 0) or (log_y and y.min() <= 0):
            raise ValueError(
                f"series {name!r} must be positive on a logarithmic axis, but comes down to "
                f"{number_text(x.min() if log_x and x.min() <= 0 else y.min())}; use a linear axis."
            )
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


def _tell_lines(pairs: Lines) -> str:
    """Say how each line runs, or of many lines which one ends highest and which lowest."""
    if len(pairs) <= 4:
        return "; ".join(_tell_line(name, x, y) for name, (x, y) in pairs.items())
    ends = sorted((y[-1], name) for name, (x, y) in pairs.items())
    (low, lowest), (high, highest) = ends[0], ends[-1]
    return (
        f"Of {len(pairs)} lines {quoted(highest)} ends highest, at {number_text(high)}, "
        f"and {quoted(lowest)} lowest, at {number_text(low)}"
    )


def _tell_line(name: str, x: Array, y: Array) -> str:
    """Say where a line begins and ends, and its turning point where it has one."""
    first, last = y[0], y[-1]
    if y.min() == y.max():
        return f"{quoted(name)} stays at {number_text(first)}"
    verb = "rises" if last > first else "falls" if last < first else "returns"
    told = f"{quoted(name)} {verb} from {number_text(first)} at {number_text(x[0])} "
    told += f"to {number_text(last)} at {number_text(x[-1])}"
    noticed = 0.05 * (y.max() - y.min())
    if min(first, last) - y.min() > noticed:
        told += f", lowest {number_text(y.min())} at {number_text(x[y.argmin()])}"
    if y.max() - max(first, last) > noticed:
        told += f", highest {number_text(y.max())} at {number_text(x[y.argmax()])}"
    return told
