"""Vectors in a plane, drawn true to length and angle on a sketch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Circle

from tfmlib.plots.colours import BLUE, MUTED, Dash
from tfmlib.plots.sketch import Point, Sketch
from tfmlib.support.arrays import Array, ArrayLike

HEAD = 0.1  # inches


@dataclass(frozen=True)
class Plane:
    """Where a plane's origin is on a sketch, and how many inches a unit is; y points up."""

    sketch: Sketch
    origin: Point
    unit: float

    def at(self, vector: ArrayLike) -> Point:
        """Return where on the sketch a vector ends."""
        x, y = np.asarray(vector, float)
        return self.origin[0] + self.unit * float(x), self.origin[1] - self.unit * float(y)

    def curve(self, x: Array, y: Array, colour: str = MUTED, dash: Dash = "-") -> None:
        """Draw a thin line through points."""
        points = [self.at(point) for point in zip(x, y, strict=True)]
        across, down = zip(*points, strict=True)
        self.sketch.axes.plot(across, down, color=colour, linestyle=dash, linewidth=1)

    def arrow(
        self,
        end: ArrayLike,
        start: ArrayLike = (0, 0),
        colour: str = BLUE,
        dash: Dash = "-",
        line: float = 2,
    ) -> None:
        """Draw a vector as an arrow; its shaft ends inside the head, so that the tip is sharp."""
        tip, tail = np.array(self.at(end)), np.array(self.at(start))
        length = float(np.linalg.norm(tip - tail))
        along = (tip - tail) / length
        across = np.array([-along[1], along[0]])
        back = tip - min(HEAD, length) * along
        x, y = zip(tail, back, strict=True)
        look: dict[str, Any] = {
            "solid_capstyle": "butt",
            "linestyle": dash,
            "linewidth": line,
            "zorder": 3,
        }
        self.sketch.axes.plot(x, y, color=colour, **look)
        corners = np.array([tip, back + HEAD * 0.45 * across, back - HEAD * 0.45 * across])
        self.sketch.axes.fill(*corners.T, color=colour, linewidth=0, zorder=3)

    def arc(self, radius: float, first: float, last: float, colour: str = MUTED) -> None:
        """Draw a part of a circle around the origin, of so many inches, from angle to angle."""
        angles = np.linspace(first, last, 40)
        radius /= self.unit
        self.curve(radius * np.cos(angles), radius * np.sin(angles), colour)

    def circle(self, colour: str = MUTED, radius: float = 1) -> None:
        """Draw a circle around the origin, of so many units."""
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": colour, "linewidth": 1}
        self.sketch.axes.add_patch(Circle(self.origin, self.unit * radius, **look))

    def beside(self, radius: float, angle: float) -> Point:
        """Return the point so many inches from the origin in the direction of an angle."""
        return (
            self.origin[0] + radius * math.cos(angle),
            self.origin[1] - radius * math.sin(angle),
        )


def in_their_plane(base: ArrayLike, vectors: Sequence[ArrayLike]) -> Array:
    """Return base and vectors by two coordinates each, base along the first axis.

    The first vector spans the plane with base; lengths and angles in that plane are the true ones.

    >>> in_their_plane([0, 3, 4], [[0, 0, 5]]).round(9)
    array([[5., 0.],
           [4., 3.]])
    """
    rows = np.array([base, *vectors], float)
    first = rows[0] / np.linalg.norm(rows[0])
    second = rows[1] - rows[1] @ first * first
    length = np.linalg.norm(second)
    if length > 1e-9 * np.linalg.norm(rows[1]):
        second = second / length
    return rows @ np.array([first, second]).T


def angle_between(one: ArrayLike, other: ArrayLike) -> float:
    """Return the angle of two vectors, from 0 to π.

    >>> round(angle_between([1, 0], [0, 2]), 4)
    1.5708
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    cosine = one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
    return math.acos(min(1.0, max(-1.0, float(cosine))))
