"""Pen and paper of the drawings that are no charts: cards, texts and arrows, measured in inches."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Polygon

from tfmlib.plots.colours import INK, MUTED, ON_ACCENT, PAPER


class Sketch:
    """Draws cards, texts and arrows; x and y are inches from the upper left corner."""

    def __init__(self, axes: Axes):
        self.axes = axes

    def card(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        face: str = PAPER,
        edge: str = MUTED,
        line: float = 1.0,
        dash: str = "-",
    ) -> None:
        style = "round,pad=0,rounding_size=0.06"
        look: dict[str, Any] = {
            "facecolor": face,
            "edgecolor": edge,
            "linewidth": line,
            "linestyle": dash,
        }
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, style, **look))

    def text(self, x: float, y: float, text: str, hot: bool = False, **kwargs: Any) -> None:
        look: dict[str, Any] = {"color": INK, "fontsize": 9, "ha": "left", "va": "center_baseline"}
        look |= kwargs
        if hot:
            look["color"] = ON_ACCENT
        self.axes.text(x, y, text, **look)

    def path(self, *points: tuple[float, float]) -> None:
        """Draw a line through the points; the arrow head is at the last one."""
        x, y = zip(*points, strict=True)
        self.axes.plot(x, y, color=MUTED, linewidth=1.1, solid_joinstyle="round")
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length * 0.08, (y1 - y0) / length * 0.08
        tip = [(x1, y1), (x1 - dx - dy / 2, y1 - dy + dx / 2), (x1 - dx + dy / 2, y1 - dy - dx / 2)]
        self.axes.add_patch(Polygon(tip, facecolor=MUTED, edgecolor=MUTED, linewidth=0))
