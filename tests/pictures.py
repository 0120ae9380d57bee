"""What every picture must be: seen in light and dark, read on a phone, told in words."""

import functools
import io
import itertools
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from tfmlib import plots
from tfmlib.plots.picture import repaint


def contrast(one, other):
    """The ratio of WCAG 2, written out anew."""

    def luminance(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(to_rgb(one)), luminance(to_rgb(other))))
    return (high + 0.05) / (low + 0.05)


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


@functools.cache
def rendered(picture, dark):
    return picture.png(dark)


def draw(figure):
    """Draw a figure; return its image and the texts drawn (ticks outside the axes are not)."""
    texts, canvas, original = [], FigureCanvasAgg(figure), Text.draw

    def record(text, *args):
        if text.get_visible() and text.get_text().strip():
            texts.append(text)
        return original(text, *args)

    with plots.house_style(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(Text, "draw", record)
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3], texts


@functools.cache
def drawn_texts(picture):
    return draw(picture)[1]


def rows(picture, left=0.0, right=9.0):
    """The numbers of each line of the picture between two x, from top to bottom."""
    lines = {}
    for text in picture.axes[0].texts:
        x, y = text.get_position()
        if left <= x <= right and re.fullmatch(r"−?[\d,]+(\.\d+)?", text.get_text()):
            number = float(text.get_text().replace("−", "-").replace(",", ""))
            lines.setdefault(round(y, 2), []).append((x, number))
    return [[number for _, number in sorted(line)] for _, line in sorted(lines.items())]


def assert_light_and_dark_show_the_same(picture):
    light, dark = (pixels(rendered(picture, dark)) for dark in (False, True))
    assert light.shape == dark.shape
    assert tuple(light[0, 0]) == (255, 255, 255)
    assert tuple(dark[0, 0]) == (0x12, 0x12, 0x12)
    drawn_light, drawn_dark = ((image != image[0, 0]).any(axis=-1) for image in (light, dark))
    assert drawn_light.mean() > 0.02  # something is drawn,
    assert (drawn_light == drawn_dark).mean() > 0.97  # and at the same places, but for faint edges


def assert_all_text_can_be_read(picture):
    """Read off the pixels: the commonest colour beneath a text is its ground."""
    for dark in (False, True):
        undo = repaint(picture) if dark else []
        image, texts = draw(picture)
        colours_of = {text: text.get_color() for text in texts}
        for setter, colour in undo:
            setter(colour)
        assert len(texts) >= 4
        for text in texts:
            box = text.get_window_extent()
            top, bottom = (round(image.shape[0] - y) for y in (box.y1, box.y0))
            patch = image[max(top, 0) : bottom, max(round(box.x0), 0) : round(box.x1)]
            codes, counts = np.unique(patch @ (65536, 256, 1), return_counts=True)
            colours = [f"#{code:06x}" for code in codes]
            ground = colours[counts.argmax()]
            assert contrast(colours_of[text], ground) >= 4.5, (text, dark)
            strongest = max(contrast(colour, ground) for colour in colours)
            assert strongest >= 3, (text, dark)  # it is really there, thin strokes aside


def assert_no_text_overlaps_or_leaves(picture):
    texts = [text for text in drawn_texts(picture) if text.get_rotation() % 90 == 0]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        width = min(box.x1, another.x1) - max(box.x0, another.x0)
        height = min(box.y1, another.y1) - max(box.y0, another.y0)
        assert min(width, height) < 2, (one, other)
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= picture.bbox.x1 + 1, text
        assert box.y1 <= picture.bbox.y1 + 1, text


def assert_fits_a_phone(picture, smallest=8):
    for dark in (False, True):
        png = rendered(picture, dark)
        assert len(png) < 45_000
        assert pixels(png).shape[1] * 96 / plots.DPI <= 480  # so 343 pixels shrink it by 0.71
    assert min(text.get_fontsize() for text in drawn_texts(picture)) >= smallest


def assert_tells_its_message(picture):
    assert picture.alt.endswith(".")
    assert len(picture.alt) > 40
    assert repr(picture) == f"<Picture: {picture.alt}>"
