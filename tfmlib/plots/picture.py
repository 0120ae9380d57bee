"""A figure that tells its message in words and shows itself for light and for dark pages."""

import base64
import html
import io
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from PIL import Image

from tfmlib.plots.colours import DARK, DPI, PAPER
from tfmlib.plots.style import house_style
from tfmlib.support.arrays import Array

SAME, ALIKE = 2, 6  # of 255: colours that differ by no more look the same; at the edge of a letter
AREA = 100  # pixels: a colour that covers as many belongs to an area, not to an edge


class Picture(Figure):
    """A figure with alt text that shows itself in a notebook for light and for dark pages.

    >>> Picture(alt="One bar, at 0.5.")
    <Picture: One bar, at 0.5.>
    """

    def __init__(self, *args: Any, alt: str = "", **kwargs: Any):
        kwargs.setdefault("layout", "constrained")
        super().__init__(*args, **kwargs)
        self.alt = alt

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def png(self, dark: bool = False) -> bytes:
        """Return the image as the bytes of a PNG file, the same bytes each time."""
        with house_style():
            self.draw_without_rendering()  # a tick exists, and can be repainted, once it is drawn
            undo = repaint(self) if dark else []
            file = io.BytesIO()
            try:
                look: dict[str, Any] = {"dpi": DPI, "bbox_inches": "tight", "pad_inches": 0.06}
                self.savefig(file, format="png", pil_kwargs={"compress_level": 1}, **look)
            finally:
                for setter, colour in undo:
                    setter(colour)
        return compact(file)

    def _repr_html_(self) -> str:
        return '<figure class="tfm-figure">{}{}</figure>'.format(
            _image_tag(self.png(), self.alt, "tfm-light"),
            _image_tag(self.png(dark=True), self.alt, "tfm-dark", hidden=True),
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _ipython_display_(self) -> None:
        # Published by hand: matplotlib's inline backend would add a PNG of every Figure.
        from IPython.display import publish_display_data

        publish_display_data(self._repr_mimebundle_())


def compact(file: BinaryIO) -> bytes:
    """Rewrite a PNG with at most 256 colours: a quarter of the size, and no trace of versions.

    The palette takes the commonest colour, leaves out those that look the same beside it, and so
    on: plain areas keep their colour, and only edge pixels of letters move to a near one.
    """
    pixels = np.asarray(Image.open(file).convert("RGB"), int)
    codes, place, counts = np.unique(
        pixels @ (65536, 256, 1), return_inverse=True, return_counts=True
    )
    colours = codes[:, None] // (65536, 256, 1) % 256  # (colours, 3)
    order = np.argsort(-counts, kind="stable")
    left, reach = colours[order], np.where(counts[order] < AREA, ALIKE, SAME)
    palette: list[Any] = []
    while len(left) and len(palette) < 256:
        palette.append(left[0])
        apart = np.abs(left - left[0]).max(axis=-1) > reach
        left, reach = left[apart], reach[apart]
    nearest = np.square(colours[:, None] - palette).sum(axis=-1).argmin(axis=-1)
    image = Image.fromarray(nearest[place].reshape(pixels.shape[:2]).astype(np.uint8))
    image.putpalette(np.array(palette, np.uint8).tobytes())
    small = io.BytesIO()
    image.save(small, "PNG", optimize=True)
    return small.getvalue()


def _image_tag(png: bytes, alt: str, theme: str, hidden: bool = False) -> str:
    """Write an <img>; the class dark-light keeps the theme of the book from dimming it."""
    width, height = (int.from_bytes(png[i : i + 4]) for i in (16, 20))  # PNG header, IHDR
    style = ("display:none;" if hidden else "") + "max-width:100%;height:auto"
    return (
        f'<img class="{theme} dark-light" style="{style}" alt="{html.escape(alt)}" '
        f'width="{round(width * 96 / DPI)}" height="{round(height * 96 / DPI)}" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    )


def repaint(figure: Figure) -> list[tuple[Callable[[Any], object], Any]]:
    """Turn each house colour of a figure dark; return what undoes it, as (setter, old colour)."""
    undo: list[tuple[Callable[[Any], object], Any]] = []
    for artist in figure.findobj():
        is_text = hasattr(artist, "get_text")
        for name in ("color", "facecolor", "edgecolor"):
            getter = getattr(artist, f"get_{name}", None)
            if getter is None or (name == "facecolor" and _is_mapped(artist)):
                continue
            old = getter()
            colours = to_rgba_array(old)
            twins = [_dark(colour, keep_paper=is_text) for colour in colours]
            if any(twins):
                new = [twin or tuple(colour) for twin, colour in zip(twins, colours, strict=True)]
                setter = getattr(artist, f"set_{name}")
                undo.append((setter, old))
                setter(new[0] if len(new) == 1 else new)
    return undo


def _is_mapped(artist: Artist) -> bool:
    """Tell whether data give the face colours: thousands of cells, none of them the theme's."""
    return getattr(artist, "get_array", lambda: None)() is not None


def _dark(rgba: Array, keep_paper: bool) -> str | None:
    """Return a colour's dark twin, or None; white text stands on a cell, and stays as it is."""
    red, green, blue, alpha = rgba
    colour = to_hex((red, green, blue))
    if alpha == 0 or (keep_paper and colour == PAPER):
        return None
    return DARK.get(colour)


def titled(figure: Picture, title: str | None) -> Picture:
    """Return the figure with its title, where it has one, above it."""
    if title:
        figure.suptitle(title, x=0.02, ha="left")
    return figure
