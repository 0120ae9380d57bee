"""What figures tell in words: the alt text of each kind, made of its data."""

from collections.abc import Mapping

import numpy as np

from tfmlib.plots.inputs import Lines
from tfmlib.plots.words import listed, number_text, quoted
from tfmlib.support.arrays import Array, Mask


def tell_distribution(probabilities: Array, labels: list[str]) -> str:
    """Say the largest of some probabilities, and the three that come next."""
    order = np.argsort(-probabilities, kind="stable")
    others = [f"{quoted(labels[i])} {number_text(probabilities[i])}" for i in order[1:4]]
    return (
        f"Bar chart of {probabilities.size} probabilities. "
        f"Largest: {quoted(labels[order[0]])} with {number_text(probabilities[order[0]])}"
        f"{', then ' + listed(others) if others else ''}."
    )


def tell_bars(labels: list[str], groups: Mapping[str, Array], ylabel: str) -> str:
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


def tell_lines(pairs: Lines, xlabel: str, ylabel: str) -> str:
    """Say what lines are of, and how they run."""
    return f"Line chart of {ylabel} against {xlabel}. {_tell_runs(pairs)}."


def _tell_runs(pairs: Lines) -> str:
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


def tell_heat_map(
    matrix: Array, rows: list[str], columns: list[str], xlabel: str, ylabel: str
) -> str:
    """Say the size of a map and where its largest and smallest entries are."""

    def tell(word: str, value: float) -> str:
        places = np.argwhere(np.isclose(matrix, value, rtol=1e-9, atol=0))
        row, column = places[0]
        many = f" (in {len(places)} cells, the first" if len(places) > 1 else ""
        at = f"at {ylabel} {quoted(rows[row])}, {xlabel} {quoted(columns[column])}"
        return f"{word}: {number_text(value)}{many} {at}{')' if many else ''}"

    finite = matrix[np.isfinite(matrix)]
    T, S = matrix.shape
    told = f"Heat map of {_size(T, S, ylabel, xlabel)}. "
    if finite.size == 0:
        return told + "Every cell is −∞."
    if finite.min() == finite.max():
        told += f"Every value is {number_text(finite[0])}"
    else:
        told += f"{tell('Largest', finite.max())}; {tell('smallest', finite.min())}"
    blocked = matrix.size - finite.size
    return told + (f"; {blocked} cells are −∞." if blocked else ".")


def tell_encoding(encoding: Array) -> str:
    """Say how fast the first and the last dimension turn."""
    T, D = encoding.shape

    def turns(j: int) -> str:
        signs = np.sign(encoding[:, j])
        signs = signs[signs != 0]
        return f"{(signs[1:] != signs[:-1]).sum()} in dimension {j}"

    low, high = number_text(encoding.min()), number_text(encoding.max())
    return (
        f"Map of {T} positional encodings of {D} dimensions, values from {low} to {high}. "
        f"Sign changes down the positions: {', '.join(turns(j) for j in sorted({0, D - 1}))}."
    )


def tell_mask(mask: Mask, columns: list[str], xlabel: str, ylabel: str) -> str:
    """Say how much a mask allows, and which of the usual masks it is."""
    T, S = mask.shape
    told = [
        f"Mask of {_size(T, S, ylabel, xlabel)}: {mask.sum()} of {mask.size} pairs are allowed."
    ]
    if mask.all():
        told += [f"Every {ylabel} sees every {xlabel}."]
    elif T > 1 and not np.triu(mask, 1).any():
        told += [f"No {ylabel} sees a later {xlabel}."]
    unseen = np.flatnonzero(~mask.any(axis=0))
    if unseen.size and mask.any():
        names = listed(dict.fromkeys(quoted(columns[j]) for j in unseen))
        told += [f"Seen by none: {xlabel} {names}."]
    blind = int((~mask.any(axis=1)).sum())
    if blind:
        told += [f"{blind} of the {T} rows {'sees' if blind == 1 else 'see'} nothing."]
    return " ".join(told)


def tell_heads(weights: Array, xlabel: str, ylabel: str) -> str:
    """Say which head is the sharpest and which the most even."""
    H, T, S = weights.shape
    peaks = weights.max(axis=-1).mean(axis=-1)  # (H,)
    sharp, even = int(peaks.argmax()), int(peaks.argmin())
    told = f"Attention of {H} {'head,' if H == 1 else 'heads, each'} "
    told += f"{_size(T, S, ylabel, xlabel)}. "
    if np.isclose(peaks[sharp], peaks[even]):
        told += f"In {'it' if H == 1 else 'each'} the strongest {xlabel} takes "
        return told + f"{peaks[0]:.2f} of the weight on average."
    told += f"Head {sharp + 1} is the sharpest: its strongest {xlabel} takes "
    told += f"{peaks[sharp]:.2f} of the weight on average; "
    return told + f"head {even + 1} is the most even, with {peaks[even]:.2f}."


def _size(rows: int, columns: int, ylabel: str, xlabel: str) -> str:
    """Say how large a map is: 2 rows (query) by 1 column (key)."""
    names = "row" if rows == 1 else "rows", "column" if columns == 1 else "columns"
    return f"{rows} {names[0]} ({ylabel}) by {columns} {names[1]} ({xlabel})"
