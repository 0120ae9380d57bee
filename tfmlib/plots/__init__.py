"""The figures of the book: matplotlib figures that also tell their message in words.

A figure is drawn once, in light colours; its dark twin is the same figure repainted. Nothing here
touches pyplot, and the reader's own matplotlib settings neither change a picture nor are changed.
"""

from tfmlib.plots import diagrams
from tfmlib.plots.charts import bars, distribution, lines, loss_curves
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
)
from tfmlib.plots.maps import attention_heads, encoding_map, heat_map, mask_map
from tfmlib.plots.picture import Picture
from tfmlib.plots.search import search_tree
from tfmlib.plots.style import STYLE, house_style, text_colour
from tfmlib.plots.transformer import PARTS, architecture

# In the order in which the page "The library" shows them; what it does not show comes last.
__all__ = [  # noqa: RUF022
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
    "PARTS",
    "diagrams",
    "house_style",
    "STYLE",
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
