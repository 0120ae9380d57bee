"""The house style: matplotlib's settings, and text that can be read on any colour."""

import functools

import matplotlib
from matplotlib.colors import to_rgba_array
from matplotlib.typing import ColorType

from tfmlib.plots.colours import GRID, INK, MUTED, PAPER, black_or_white

STYLE = {name: v for name, v in matplotlib.rcParamsDefault.items() if "backend" not in name} | {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.titlesize": 10.5,
    "figure.titleweight": "bold",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "text.color": INK,
    "text.parse_math": False,  # a token "$x$" is drawn as it is written
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}
house_style = functools.partial(matplotlib.rc_context, STYLE)  # a context, or a decorator


def text_colour(background: ColorType) -> str:
    """Return black or white, whichever is easier to read on a background.

    >>> text_colour("#0072b2"), text_colour("#f0e442")
    ('white', 'black')
    """
    return black_or_white(to_rgba_array(background)[0, :3])
