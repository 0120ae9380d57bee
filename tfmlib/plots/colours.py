"""The colours of the figures and their dark twins, how series differ, and sizes."""

import numpy as np

from tfmlib.support.arrays import ArrayLike

Dash = str | tuple[int, tuple[int, ...]]

# The house colours, and what each turns into on a dark page.
PAPER, INK, MUTED = "#ffffff", "#1f2328", "#57606a"  # page, text, axes and arrows
PALE, GRID, GREY = "#f1f4f8", "#d8dee6", "#7a7f87"  # boxes, grid lines, bars beside the main one
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"  # Okabe and Ito
DARK = {
    PAPER: "#121212",
    INK: "#e6e6e6",
    MUTED: "#a0a7b0",
    PALE: "#23272d",
    GRID: "#3a3f46",
    GREY: "#8b9098",
    BLUE: "#56b4e9",  # Okabe and Ito's sky blue: 8 to 1 against the dark page, blue only 3.6
}
# Series differ in dash and marker too, so that colour never carries the message alone.
SERIES: list[tuple[str, Dash, str]]
SERIES = [(BLUE, "-", "o"), (VERMILLION, "--", "s"), (GREEN, "-.", "^"), (PURPLE, ":", "D")]
SERIES += [(INK, (0, (6, 1, 1, 1, 1, 1)), "v")]

# Colours of cells: the same in both themes, because the text on them is chosen to match.
MAGNITUDE, SIGNED = "viridis", "RdBu_r"  # both made to be told apart by colour-blind readers
ACCENT, BLOCKED = "#0a68a4", "#c3c9d2"
ON_ACCENT = "#fdfdfd"  # not PAPER: what stands on the accent stays light on a dark page

WIDTH = 4.8  # inches; at 96 pixels an inch a phone of 375 pixels shrinks it to seven tenths
DPI = 144  # one and a half image pixels for each pixel of the page


def black_or_white(rgb: ArrayLike) -> str:
    """Return the one that is easier to read on a colour, given as three numbers from 0 to 1."""
    # (L + 0.05) / 0.05 is the contrast with black, 1.05 / (L + 0.05) with white.
    return "black" if (_luminance(rgb) + 0.05) ** 2 > 0.05 * 1.05 else "white"


def _luminance(rgb: ArrayLike) -> float:
    """Return a colour's relative luminance, as WCAG 2 defines it."""
    rgb = np.asarray(rgb)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))
