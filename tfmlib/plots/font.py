"""The letters that the font of the figures has."""

import functools

from matplotlib.font_manager import findfont, get_font

from tfmlib.plots.words import visible_label


def drawn_label(label: str, longest: int = 14) -> str:
    """Make a label visible, with a box for each letter that the font lacks."""
    return "".join(c if ord(c) in _glyphs() else "□" for c in visible_label(label, longest))


@functools.cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())
