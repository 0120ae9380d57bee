"""The figures show their data, in words too, and can be read on light and on dark pages."""

import base64
import doctest
import graphlib
import hashlib
import html.parser
import importlib
import inspect
import io
import itertools
import pkgutil
import re
import subprocess
import sys

import matplotlib
import nbclient
import nbformat
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle
from pictures import (
    assert_all_text_can_be_read,
    assert_fits_a_phone,
    assert_light_and_dark_show_the_same,
    assert_no_text_overlaps_or_leaves,
    assert_tells_its_message,
    contrast,
    drawn_texts,
    pixels,
    rendered,
)
from PIL import Image

from book.pages.api import api_page
from tfmlib import plots
from tfmlib.plots.picture import compact

RNG = np.random.default_rng(0)
TOKENS = ["<start>", "not", "on", "your", "life", "!", "<end>"]
WEIGHTS = RNG.dirichlet(np.full(5, 0.5), size=(3, 7))  # (H, T, S)
SIGNED = RNG.normal(size=(3, 5))


def sinusoids(length, d_model):
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)


# A search of width 2, what each step looked at: the first choice of step 1 is not the best.
SEARCH = [
    {"not": 0.6, "never": 0.4},
    {"not on": 0.24, "not <end>": 0.18, "never on": 0.08, "never ever": 0.32, "never not": 0.0},
    {"not on your": 0.216, "never ever <end>": 0.288, "never ever on": 0.032},
]

# One of each kind, and of each kind's looks; built once, since nothing may change a picture.
PICTURES = {
    "heat map": plots.heat_map(WEIGHTS[0], TOKENS, TOKENS[:5], title="Who looks at whom"),
    "signed heat map": plots.heat_map(SIGNED, xlabel="dimension", ylabel="token"),
    "masked heat map": plots.heat_map(np.where(np.tri(5) == 1, 2.5, -np.inf)),
    "large heat map": plots.heat_map(RNG.random((11, 13))),
    "encoding": plots.encoding_map(sinusoids(23, 14)),
    "mask": plots.mask_map(np.tri(7) == 1, TOKENS, TOKENS),
    "heads": plots.attention_heads(WEIGHTS, TOKENS, TOKENS[:5], title="Three heads"),
    "distribution": plots.distribution([0.02, 0.04, 0.13, 0.81], TOKENS[:4], title="Next"),
    "bars": plots.bars(["base", "big"], {"printed": [65, 213], "counted": [63, -214]}, "million"),
    "lines": plots.lines([2, 3, 5], {"a": [1, 7, 2], "b": [5, 3, 11]}, "n", "ms", title="Time"),
    "log lines": plots.lines([2, 30, 500], {"a": [1, 70, 2000]}, "n", "ms", log_x=True, log_y=True),
    "loss": plots.loss_curves({"train": np.geomspace(5, 0.1, 97), "valid": {50: 1.1, 97: 0.3}}),
    "search": plots.search_tree(SEARCH, width=2, title="Two beginnings side by side"),
    "architecture": plots.architecture(),
    "architecture, lit": plots.architecture(list(plots.PARTS), title="Everything"),
}
each_picture = pytest.mark.parametrize("name", PICTURES)


def mesh_of(axes):
    return next(child for child in axes.collections if isinstance(child, QuadMesh))


def cell_texts(axes):
    """{(row, column): text} of what is written into the cells."""
    places = ((tuple(int(v) for v in text.get_position()[::-1]), text) for text in axes.texts)
    return dict(places)


def tick_texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# --- every picture ------------------------------------------------------------------------------


@each_picture
def test_light_and_dark_show_the_same_picture_in_other_colours(name):
    assert_light_and_dark_show_the_same(PICTURES[name])


@each_picture
def test_the_dark_rendering_leaves_no_trace(name):
    light, dark = (rendered(PICTURES[name], dark) for dark in (False, True))
    assert light != dark
    assert PICTURES[name].png() == light


@each_picture
def test_all_text_can_be_read_in_both_themes(name):
    assert_all_text_can_be_read(PICTURES[name])


@each_picture
def test_no_text_overlaps_another_or_leaves_the_figure(name):
    assert_no_text_overlaps_or_leaves(PICTURES[name])


@each_picture
def test_a_picture_fits_a_phone_and_weighs_little(name):
    # 7.5: the bold badges
    assert_fits_a_phone(PICTURES[name], smallest=7.5 if "architecture" in name else 8)


@each_picture
def test_the_alt_text_says_something_and_shows_in_the_repr(name):
    assert_tells_its_message(PICTURES[name])


def test_author_alt_text_replaces_the_generated_one_and_a_title_precedes_it():
    assert plots.heat_map(np.eye(2), alt="Two ones.", title="Identity").alt == "Two ones."
    assert plots.heat_map(np.eye(2), title="Identity").alt.startswith(
        "Identity. Heat map of 2 rows"
    )


# --- how a picture shows itself -----------------------------------------------------------------


class Images(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.images = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "img":
            self.images.append(dict(attrs))


def test_html_holds_a_light_and_a_hidden_dark_image_with_escaped_alt():
    label = "<b>\"bold\" & 'more'</b>"
    picture = plots.distribution([0.75, 0.25], [label, "plain"])
    page = Images(picture._repr_html_())
    assert page.tags == ["figure", "img", "img"]  # a label adds no tag
    light, dark = page.images
    assert label in light["alt"] == dark["alt"] == picture.alt
    assert light["class"].split()[0] == "tfm-light"
    assert dark["class"].split()[0] == "tfm-dark"
    assert "display:none" in dark["style"]
    assert "display" not in light["style"]
    for attributes, is_dark in ((light, False), (dark, True)):
        kind, data = attributes["src"].split(",")
        assert kind == "data:image/png;base64"
        png = base64.b64decode(data)
        assert png == picture.png(is_dark)
        height, width, _ = pixels(png).shape
        assert int(attributes["width"]) == round(width / 1.5)
        assert int(attributes["height"]) == round(height / 1.5)


def test_a_notebook_stores_one_output_of_html_and_text_even_with_the_inline_backend():
    cells = [
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nfrom tfmlib.plots import heat_map",
        "plt.figure().add_subplot().figure",  # the control: a plain figure gives a PNG
        "heat_map([[0.25, 0.75]])",
        "display(heat_map([[0.25, 0.75]]))",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    plain, shown, displayed = (cell.outputs for cell in notebook.cells[1:])
    assert any("image/png" in output.get("data", {}) for output in plain)
    for outputs in (shown, displayed):
        assert len(outputs) == 1
        assert set(outputs[0].data) == {"text/plain", "text/html"}
        assert outputs[0].data["text/plain"].startswith("<Picture: Heat map of 1 row (query)")
        assert outputs[0].data["text/html"].count("<img") == 2


def test_colours_return_even_when_rendering_fails(monkeypatch):
    picture = plots.bars(["a", "b"], {"x": [2, 3]}, "y")
    before = picture.png()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(picture, "savefig", fail)
        with pytest.raises(OSError, match="disk full"):
            picture.png(dark=True)
    assert picture.png() == before


def test_it_does_not_matter_which_theme_is_rendered_first():
    one, other = plots.heat_map(np.eye(11)), plots.heat_map(np.eye(11))
    light, dark = one.png(), one.png(dark=True)
    assert other.png(dark=True) == dark  # its ticks have never been drawn before
    assert other.png() == light


def test_a_picture_that_was_changed_after_it_was_shown_is_dark_all_over():
    picture = plots.lines([2, 3], {"a": [5, 7]}, "x", "y")
    ink = tuple(int(plots.INK[i : i + 2], 16) for i in (1, 3, 5))
    assert (pixels(picture.png()) == ink).all(axis=-1).sum() > 50
    picture.axes[0].set_ylim(-1000, 1000)
    picture.axes[0].yaxis.get_major_locator().set_params(nbins=13)  # ticks that were not there
    assert not (pixels(picture.png(dark=True)) == ink).all(axis=-1).any()


def test_the_readers_settings_neither_change_a_picture_nor_are_changed():
    picture = plots.lines([2, 3], {"a": [5, 7]}, "x", "y", title="t")
    light, dark = picture.png(), picture.png(dark=True)
    loud = {"font.size": 19, "text.color": "red", "savefig.facecolor": "black", "savefig.dpi": 31}
    with matplotlib.rc_context(loud):
        before = dict(matplotlib.rcParams)
        other = plots.lines([2, 3], {"a": [5, 7]}, "x", "y", title="t")
        assert (other.png(), other.png(dark=True)) == (light, dark)
        assert dict(matplotlib.rcParams) == before


def test_another_process_draws_the_same_bytes_without_pyplot_or_torch():
    program = (
        "import sys, hashlib; from tfmlib import plots\n"
        "assert not {'matplotlib.pyplot', 'torch', 'IPython'} & set(sys.modules)\n"
        "p = plots.mask_map([[1, 0, 1]]); p._repr_html_()\n"
        "print(*(hashlib.sha256(p.png(dark)).hexdigest() for dark in (False, True)))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    picture = plots.mask_map([[1, 0, 1]])
    assert out == [hashlib.sha256(picture.png(dark)).hexdigest() for dark in (False, True)]


def test_png_bytes_carry_no_software_version_or_date():
    png = PICTURES["bars"].png()
    assert Image.open(io.BytesIO(png)).info.keys() <= {"transparency"}
    assert b"tEXt" not in png


def test_reducing_the_palette_moves_few_pixels_and_none_far():
    file = io.BytesIO()
    plots.heat_map(SIGNED, TOKENS[:3], values=False).savefig(file, format="png", dpi=plots.DPI)
    before, after = (pixels(png).astype(int) for png in (file.getvalue(), compact(file)))
    moved = np.abs(after - before).max(axis=-1)
    assert moved.max() < 40
    assert (moved > 3).mean() < 0.01
    assert len(np.unique(after.reshape(-1, 3), axis=0)) <= 256


def test_reducing_the_palette_keeps_the_colours_of_cells():
    picture = plots.heat_map(SIGNED, values=False)
    image = pixels(picture.png()).reshape(-1, 3).astype(int)
    mesh = mesh_of(picture.axes[0])
    for value in SIGNED.ravel():
        wanted = np.round(255 * np.array(mesh.to_rgba(value)[:3])).astype(int)
        assert (np.abs(image - wanted).max(axis=-1) <= 2).sum() > 500


# --- colours ------------------------------------------------------------------------------------


def test_house_colours_stand_out_in_both_themes():
    for light, twin in ((plots.INK, plots.DARK[plots.INK]), (plots.MUTED, plots.DARK[plots.MUTED])):
        for ground in (plots.PAPER, plots.PALE):
            assert contrast(light, ground) >= 4.5
            assert contrast(twin, plots.DARK[ground]) >= 4.5
    for colour in [plots.ACCENT, plots.GREY] + [series[0] for series in plots.SERIES]:
        assert contrast(colour, plots.PAPER) >= 3  # WCAG's bar for lines and areas
        assert contrast(plots.DARK.get(colour, colour), plots.DARK[plots.PAPER]) >= 3
    assert contrast(plots.ON_ACCENT, plots.ACCENT) >= 4.5


# What a colour turns into without red or green cones: Machado, Oliveira and Fernandes (2009).
PROTAN = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]
DEUTAN = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
]


def lab(colour, seen_as=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
    """CIE Lab of a colour as a reader sees it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(seen_as) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / (0.9505, 1.0, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen_as", [PROTAN, DEUTAN], ids=["protan", "deutan"])
def test_a_colour_blind_reader_tells_series_and_signs_apart(seen_as):
    for table in ({}, plots.DARK):
        colours = [table.get(colour, colour) for colour, _, _ in plots.SERIES]
        for one, other in itertools.combinations(colours, 2):
            assert np.linalg.norm(lab(one, seen_as) - lab(other, seen_as)) > 12, (one, other)
    signs = matplotlib.colormaps[plots.SIGNED]
    assert np.linalg.norm(lab(signs(0.2), seen_as) - lab(signs(0.8), seen_as)) > 40


def test_magnitudes_grow_lighter_step_by_step_so_that_grey_print_works():
    lightness = [lab(matplotlib.colormaps[plots.MAGNITUDE](v))[0] for v in np.linspace(0, 1, 101)]
    steps = np.diff(lightness)
    assert steps.min() > 0
    assert steps.max() < 2 * steps.mean()  # uniform: no false edges


@pytest.mark.parametrize("signed", [False, True])
def test_cell_text_is_readable_on_every_colour_of_the_map(signed):
    matrix = np.linspace(-1 if signed else 0, 1, 70).reshape(7, 10)
    axes = plots.heat_map(matrix).axes[0]
    texts, mesh = cell_texts(axes), mesh_of(axes)
    for place, value in np.ndenumerate(matrix):
        assert contrast(texts[place].get_color(), mesh.to_rgba(value)[:3]) >= 4.5
    assert {text.get_color() for text in texts.values()} == {"black", "white"}


# --- what is accepted and what is refused -------------------------------------------------------


def test_torch_tensors_are_drawn_whatever_their_dtype_and_gradient():
    import torch

    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]], requires_grad=True)
    expected = plots.heat_map([[0.25, 0.75], [0.5, 0.5]])
    for tensor in (weights, weights.to(torch.bfloat16)):
        picture = plots.heat_map(tensor)
        assert picture.alt == expected.alt
        assert np.array_equal(mesh_of(picture.axes[0]).get_array(), weights.detach().numpy())
    assert "3 of 4" in plots.mask_map(torch.ones(2, 2).tril().bool()).alt


def test_a_picture_leaves_its_data_alone():
    matrix = np.array([[0.5, -np.inf], [2.0, 1.0]])
    copy = matrix.copy()
    plots.heat_map(matrix).png(dark=True)
    assert np.array_equal(matrix, copy)


NAN = [[0.5, 0.5], [np.nan, 1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.search_tree([], 2), "steps must hold at least one step, but is empty"),
        (lambda: plots.search_tree([["a"]], 2), "step 1 must be a dictionary .* came as list"),
        (
            lambda: plots.search_tree([{"a": 1}, {"b c": 1}], 2),
            "step 2 must continue .* “b c” does",
        ),
        (lambda: plots.search_tree([{"a": np.nan}], 2), "probabilities of step 1 .* has nan"),
        (lambda: plots.search_tree([{"a": 1}], 0), "width must be a whole number .* came as 0"),
        (lambda: plots.heat_map([1, 2]), "matrix must be an array of dimension 2, but came with"),
        (lambda: plots.heat_map([[1, 2], [3]]), "matrix must be an array of numbers .* list that"),
        (lambda: plots.heat_map([["a"]]), "matrix must be an array of numbers"),
        (lambda: plots.heat_map(np.ones((0, 3))), r"must not be empty, but .* shape \(0, 3\)"),
        (lambda: plots.heat_map(NAN), r"matrix must hold numbers .* but has nan at index \[1, 0\]"),
        (lambda: plots.heat_map([[1, np.inf]]), r"but has inf at index \[0, 1\]"),
        (lambda: plots.heat_map(np.eye(3), ["a", "b"]), "rows must have 3 labels, .* but has 2"),
        (
            lambda: plots.heat_map(np.ones((2, 3)), list("ab"), list("ab")),
            "columns must have 3 labels, one for each in the data, but has 2",
        ),
        (lambda: plots.heat_map(np.eye(2), "ab"), "rows must be a list of labels, but .* 'ab'"),
        (lambda: plots.encoding_map(np.ones(3)), "encoding must be an array of dimension 2"),
        (lambda: plots.encoding_map([[-np.inf]]), "encoding must be finite, but contains -inf"),
        (lambda: plots.mask_map([[0, 0.5]]), "mask must be boolean, .* but contains 0.5"),
        (lambda: plots.mask_map([[0, -np.inf]]), "mask must be boolean, .* but contains −∞"),
        (lambda: plots.attention_heads(np.eye(2)), "weights must be an array of dimension 3"),
        (lambda: plots.distribution([0.5, 0.513]), "at most 1, but .* their sum 1.013"),
        (lambda: plots.distribution([1.1, -0.1]), "not be negative .* but the smallest is −0.1"),
        (lambda: plots.distribution([1.0], ["a", "b"]), "labels must have 1 labels, .* has 2"),
        (lambda: plots.bars(["a"], {"g": [1, 2]}, "y"), "series 'g' must have 1 values, .* has 2"),
        (lambda: plots.bars("ab", {"g": [1, 2]}, "y"), "labels must be a list of labels, but"),
        (
            lambda: plots.bars(["a"], {i: [1] for i in range(6)}, "y"),
            "groups must be at most 5, but are 6",
        ),
        (lambda: plots.lines([1], [2], "x", "y"), "series must be a dictionary .* came as list"),
        (lambda: plots.lines([1], {}, "x", "y"), "but came as an empty dictionary"),
        (
            lambda: plots.lines([1, 2], {"a": [1, 2, 3]}, "x", "y"),
            "series 'a' must have 2 values, one for each x, but has 3",
        ),
        (
            lambda: plots.lines([0, 2], {"a": [1, 2]}, "x", "y", log_x=True),
            "series 'a' must be positive on a logarithmic axis, but comes down to 0",
        ),
        (lambda: plots.loss_curves({"a": [1, -2]}, log=True), "positive .* comes down to −2"),
        (lambda: plots.loss_curves({"a": [1, np.nan]}), r"series 'a' .* has nan at index \[1\]"),
        (lambda: plots.loss_curves([1, 2]), "curves must be a dictionary of name: values, but"),
        (lambda: plots.architecture("encodr"), "highlight must name parts .* but has 'encodr'"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    sentence = str(caught.value)
    assert "must" in sentence
    assert "but" in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


# --- labels -------------------------------------------------------------------------------------


def test_labels_are_drawn_as_written_and_invisible_letters_become_visible():
    labels = ["$x$ $y$", " the", "\n", "中", "  ", "internationalisation", "a_b^c"]
    axes = plots.heat_map(np.eye(7), labels, labels).axes[0]
    expected = ["$x$ $y$", "␣the", "\\n", "□", "␣␣", "international…", "a_b^c"]
    assert tick_texts(axes.xaxis) == tick_texts(axes.yaxis) == expected
    assert not any(label.get_parse_math() for label in axes.get_xticklabels())
    axes.figure.png()  # warnings are errors: no glyph is missing


# --- heat maps ----------------------------------------------------------------------------------


def test_each_value_stands_in_its_own_cell_under_its_own_labels():
    axes = plots.heat_map(SIGNED, ["a", "b", "c"], TOKENS[:5]).axes[0]
    assert np.array_equal(mesh_of(axes).get_array(), SIGNED)
    written = {place: text.get_text() for place, text in cell_texts(axes).items()}
    expected = {place: f"{v:.2f}".replace("-", "−") for place, v in np.ndenumerate(SIGNED)}
    assert written == expected
    assert tick_texts(axes.yaxis) == ["a", "b", "c"]
    assert tick_texts(axes.xaxis) == TOKENS[:5]
    assert list(axes.get_yticks()) == [0.5, 1.5, 2.5]  # in the middle of the cells
    assert axes.yaxis_inverted()  # the first row is on top
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("key", "query")


def test_more_than_ten_columns_get_a_colour_bar_instead_of_values():
    ten, eleven = plots.heat_map(np.eye(10)), plots.heat_map(np.eye(11))
    assert len(ten.axes) == 1
    assert len(ten.axes[0].texts) == 100
    assert len(eleven.axes) == 2
    assert len(eleven.axes[0].texts) == 0
    assert len(plots.heat_map(np.eye(3), values=False).axes) == 2


def test_a_long_map_names_every_nth_row():
    axes = plots.heat_map(np.ones((97, 3))).axes[0]
    shown = [int(label) for label in tick_texts(axes.yaxis)]
    steps = set(np.diff(shown))
    assert len(steps) == 1
    assert steps.pop() > 1
    assert [tick - 0.5 for tick in axes.get_yticks()] == shown


def test_signs_are_coloured_around_zero_and_magnitudes_from_zero():
    norm = mesh_of(plots.heat_map([[-1, 5]]).axes[0]).norm
    assert (norm.vmin, norm.vmax) == (-5, 5)
    norm = mesh_of(plots.heat_map([[2, 5]]).axes[0]).norm
    assert (norm.vmin, norm.vmax) == (0, 5)


def test_minus_infinity_is_a_grey_cell_outside_the_scale():
    axes = plots.heat_map([[1.5, -np.inf], [0.5, 3.0]]).axes[0]
    mesh, texts = mesh_of(axes), cell_texts(axes)
    assert texts[0, 1].get_text() == "−∞"
    assert mesh.get_array().mask.tolist() == [[False, True], [False, False]]
    assert to_hex(mesh.to_rgba(mesh.get_array())[0, 1]) == plots.BLOCKED
    assert contrast(texts[0, 1].get_color(), plots.BLOCKED) >= 4.5
    assert mesh.norm.vmax == 3


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            [[1, 7, 2], [3, 5, 4]],
            "2 rows (query) by 3 columns (key). "
            "Largest: 7 at query “0”, key “1”; smallest: 1 at query “0”, key “0”.",
        ),
        (
            np.eye(2),
            "Largest: 1 (in 2 cells, the first at query “0”, key “0”); "
            "smallest: 0 (in 2 cells, the first at query “0”, key “1”).",
        ),
        (np.full((2, 3), 0.25), "Every value is 0.25."),
        ([[-np.inf, 2.5], [0.125, -np.inf]], "; 2 cells are −∞."),
        ([[-np.inf]], "1 row (query) by 1 column (key). Every cell is −∞."),
        ([[-0.004, 1234567.0]], "Largest: 1,234,567 at query “0”, key “1”; smallest: −0.004"),
    ],
)
def test_heat_map_alt_names_the_extremes(matrix, message):
    assert message in plots.heat_map(matrix).alt


# --- encodings, masks, heads --------------------------------------------------------------------


def test_an_encoding_map_has_positions_down_and_dimensions_across():
    encoding = sinusoids(23, 14)
    axes = plots.encoding_map(encoding).axes[0]
    mesh = mesh_of(axes)
    assert np.array_equal(mesh.get_array(), encoding)
    assert (mesh.norm.vmin, mesh.norm.vmax) == (-1, 1)
    assert axes.yaxis_inverted()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dimension", "position")
    for axis, ticks in ((axes.xaxis, axes.get_xticks()), (axes.yaxis, axes.get_yticks())):
        assert [float(label) + 0.5 for label in tick_texts(axis)] == list(ticks)
        assert len(ticks) >= 4


def test_encoding_alt_counts_the_turns_of_the_first_and_last_dimension():
    # sin(0..22) passes 7 multiples of π; the last cosine, of period 2π·10000^(12/14), none.
    told = plots.encoding_map(sinusoids(23, 14)).alt
    assert "23 positional encodings of 14 dimensions, values from −1 to 1." in told
    assert told.endswith("down the positions: 7 in dimension 0, 0 in dimension 13.")


def test_a_mask_map_ticks_what_is_allowed():
    mask = RNG.random((3, 5)) < 0.5
    axes = plots.mask_map(mask, TOKENS[:3], TOKENS[:5]).axes[0]
    written = {place: text.get_text() for place, text in cell_texts(axes).items()}
    assert written == {place: "✓" if v else "×" for place, v in np.ndenumerate(mask)}
    mesh = mesh_of(axes)
    for place, allowed in np.ndenumerate(mask):
        colour = to_hex(mesh.to_rgba(float(allowed)))
        assert colour == (plots.ACCENT if allowed else plots.BLOCKED)
        assert contrast(cell_texts(axes)[place].get_color(), colour) >= 4.5
    key = axes.figure.legends[0]
    assert [t.get_text() for t in key.get_texts()] == ["✓ allowed", "× blocked"]
    faces = [to_hex(patch.get_facecolor()) for patch in key.get_patches()]
    assert faces == [plots.ACCENT, plots.BLOCKED]
    other = plots.mask_map(mask, names=("moved", "not moved")).legends[0]
    assert [t.get_text() for t in other.get_texts()] == ["✓ moved", "× not moved"]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.tri(5), "5 columns (key): 15 of 25 pairs are allowed. No query sees a later key."),
        (np.ones((2, 3)), "6 of 6 pairs are allowed. Every query sees every key."),
        ([[1, 0, 0], [1, 0, 0]], "2 of 6 pairs are allowed. No query sees a later key. Seen by"),
        ([[0, 1, 0], [1, 1, 0]], "3 of 6 pairs are allowed. Seen by none: key “on”."),
        ([[0, 0, 0], [1, 1, 1]], "3 of 6 pairs are allowed. 1 of the 2 rows sees nothing."),
        (np.zeros((2, 3)), "0 of 6 pairs are allowed. No query sees a later key. 2 of the 2 rows"),
    ],
)
def test_mask_alt_says_which_mask_it_is(mask, message):
    columns = TOKENS[: np.shape(mask)[1]]
    assert message in plots.mask_map(mask, None, columns).alt


def test_every_head_is_drawn_in_order_on_one_scale():
    *panels, bar = PICTURES["heads"].axes
    assert [panel.get_xlabel() for panel in panels] == ["head 1", "head 2", "head 3"]
    for panel, weights in zip(panels, WEIGHTS, strict=True):
        mesh = mesh_of(panel)
        assert np.array_equal(mesh.get_array(), weights)
        assert (mesh.norm.vmin, mesh.norm.vmax) == (0, WEIGHTS.max())
    assert tick_texts(panels[0].yaxis) == TOKENS
    assert tick_texts(panels[2].xaxis) == TOKENS[:5]
    assert bar.get_xlabel() == "weight"


def test_heads_alt_names_the_sharpest_and_the_most_even():
    even, sharp = np.full((3, 2), 0.5), np.array([[1, 0], [0, 1], [0.1, 0.9]])
    told = plots.attention_heads([even, sharp, 0.5 * (even + sharp)]).alt
    assert "3 heads, each 3 rows (query) by 2 columns (key). Head 2 is the sharpest" in told
    assert "takes 0.97 of the weight on average; head 1 is the most even, with 0.50." in told
    assert "In each the strongest key takes 0.50" in plots.attention_heads([even, even]).alt


# --- charts -------------------------------------------------------------------------------------


def test_a_distribution_has_a_bar_for_each_label_and_stresses_the_largest():
    probabilities = [0.04, 0.61, 0.349, 0.0, 0.001]
    axes = plots.distribution(probabilities, TOKENS[:5]).axes[0]
    drawn = axes.containers[0]
    assert [bar.get_width() for bar in drawn] == probabilities
    assert tick_texts(axes.yaxis) == TOKENS[:5]
    assert [t.get_text() for t in axes.texts] == ["0.04", "0.61", "0.35", "0.00", "< 0.01"]
    faces = [to_hex(bar.get_facecolor()) for bar in drawn]
    assert faces == [plots.GREY, plots.ACCENT, plots.GREY, plots.GREY, plots.GREY]
    assert axes.yaxis_inverted()
    told = axes.figure.alt
    assert "5 probabilities. Largest: “not” with 0.61, then “on” 0.35, “<start>” 0.04 and" in told


def test_grouped_bars_stand_side_by_side_over_their_label():
    groups = {"one": [2, 3, 5], "two": [7, 11, -13]}
    axes = plots.bars(["x", "y", "z"], groups, "height").axes[0]
    for container, values in zip(axes.containers, groups.values(), strict=True):
        assert [bar.get_height() for bar in container] == values
    for i, (one, two) in enumerate(zip(*axes.containers, strict=True)):
        assert one.get_x() < i < two.get_x() + two.get_width()
        assert one.get_x() + one.get_width() <= two.get_x()
    assert [t.get_text() for t in axes.texts] == ["2", "3", "5", "7", "11", "−13"]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["one", "two"]
    assert tick_texts(axes.xaxis) == ["x", "y", "z"]
    assert "“z”: one 5, two −13." in axes.figure.alt


def test_alt_of_many_bars_names_the_highest_and_the_lowest():
    told = plots.bars(list("abcde"), {"p": [1, 2, 3, 4, 5], "q": [9, 8, 7, 0.5, 6]}, "s").alt
    assert told == "Bar chart of s. Highest: q at “a”, 9; lowest: q at “d”, 0.5."


def test_lines_pass_through_their_points_and_differ_without_colour():
    x = np.array([2, 3, 5, 7])
    series = {f"s{i}": x * (i + 1.5) for i in range(11)}
    axes = plots.lines(x, series, "n", "ms").axes[0]
    drawn = axes.get_lines()
    assert len(drawn) == 11
    for line, (name, y) in zip(drawn, series.items(), strict=True):
        assert line.get_label() == name
        assert np.array_equal(line.get_xydata(), np.stack([x, y], axis=1))
    styles = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in drawn]
    assert len(set(styles)) == 11
    assert len({marker for _, _, marker in styles[:5]}) == 5
    assert "Of 11 lines “s10” ends highest, at 80.5, and “s0” lowest, at 10.5." in axes.figure.alt


def test_logarithmic_axes_have_plain_numbers_at_the_points():
    axes = PICTURES["log lines"].axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert tick_texts(axes.xaxis) == ["2", "30", "500"]
    assert {"1", "10", "100", "1,000"} <= set(tick_texts(axes.yaxis))
    assert PICTURES["lines"].axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("name", ["lines", "loss", "bars"])
def test_the_legend_stands_above_the_axes_where_no_line_runs(name):
    picture = PICTURES[name]
    drawn_texts(PICTURES[name])  # lays it out
    axes = picture.axes[0]
    assert axes.get_legend().get_window_extent().y0 >= axes.bbox.y1 - 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2, 3, 4], "“a” rises from 1 at 2 to 4 at 7."),
        ([4, 3, 2, 1], "“a” falls from 4 at 2 to 1 at 7."),
        ([4, 0.5, 2, 1], "“a” falls from 4 at 2 to 1 at 7, lowest 0.5 at 3."),
        ([1, 2, 9, 1], "“a” returns from 1 at 2 to 1 at 7, highest 9 at 5."),
        ([3, 3, 3, 3], "“a” stays at 3."),
    ],
)
def test_line_alt_tells_how_the_line_runs(y, message):
    assert plots.lines([2, 3, 5, 7], {"a": y}, "n", "ms").alt == (
        f"Line chart of ms against n. {message}"
    )


def test_loss_curves_count_steps_from_one_or_take_them_from_a_dictionary():
    figure = plots.loss_curves({"train": [5, 3, 2], "valid": {2: 4.0, 3: 2.5}}, log=True)
    train, valid = figure.axes[0].get_lines()
    assert train.get_xydata().tolist() == [[1, 5], [2, 3], [3, 2]]
    assert valid.get_xydata().tolist() == [[2, 4], [3, 2.5]]
    assert figure.axes[0].get_yscale() == "log"
    assert (
        "“train” falls from 5 at 1 to 2 at 3; “valid” falls from 4 at 2 to 2.5 at 3." in figure.alt
    )


# --- a search -----------------------------------------------------------------------------------


def boxes_of(picture):
    """{(column, row): (patch, the texts in it)}, columns from the left and rows from the top."""
    axes = picture.axes[0]
    patches = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    lefts = sorted({patch.get_x() for patch in patches})
    tops = sorted({patch.get_y() for patch in patches})

    def inside(patch, text):
        x, y = text.get_position()
        right, bottom = patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height()
        return patch.get_x() < x < right and patch.get_y() < y < bottom

    return {
        (lefts.index(patch.get_x()), tops.index(patch.get_y())): (
            patch,
            [text.get_text() for text in axes.texts if inside(patch, text)],
        )
        for patch in patches
    }


def test_a_search_ranks_each_step_and_drops_what_is_impossible():
    texts = {place: texts for place, (_, texts) in boxes_of(PICTURES["search"]).items()}
    assert texts == {
        (0, 0): ["<start>"],
        (1, 0): ["not", "0.600"],
        (1, 1): ["never", "0.400"],
        (2, 0): ["ever", "0.320"],
        (2, 1): ["on", "0.240"],
        (2, 2): ["<end>", "0.180"],
        (2, 3): ["on", "0.080"],
        (3, 0): ["<end>", "0.288 ★"],
        (3, 1): ["your", "0.216"],
        (3, 2): ["on", "0.032"],
    }


def test_a_search_shows_what_is_kept_without_colour_too():
    for (_, row), (patch, texts) in boxes_of(PICTURES["search"]).items():
        assert patch.get_linestyle() == ("-" if row < 2 else "--")
        is_best = texts[-1].endswith("★")
        assert (to_hex(patch.get_facecolor()) == plots.ACCENT) == is_best


def test_each_line_of_a_search_leads_from_a_beginning_to_its_continuation():
    picture = PICTURES["search"]
    boxes = {place: patch for place, (patch, _) in boxes_of(picture).items()}

    def place_at(x, y):
        return next(
            place
            for place, box in boxes.items()
            if box.get_x() - 0.01 <= x <= box.get_x() + box.get_width() + 0.01
            and box.get_y() < y < box.get_y() + box.get_height()
        )

    ways = [line.get_xydata() for line in picture.axes[0].lines]
    ends = {place_at(*way[-1]): place_at(*way[0]) for way in ways}
    assert ends == {
        (1, 0): (0, 0),
        (1, 1): (0, 0),
        (2, 0): (1, 1),  # never ever
        (2, 1): (1, 0),  # not on
        (2, 2): (1, 0),  # not <end>
        (2, 3): (1, 1),  # never on
        (3, 0): (2, 0),
        (3, 1): (2, 1),
        (3, 2): (2, 0),
    }


def test_search_alt_says_what_each_step_keeps_and_what_is_best():
    assert PICTURES["search"].alt == (
        "Two beginnings side by side. Beam search of width 2. "
        "Step 1 keeps “not” (0.600) and “never” (0.400). "
        "Step 2 keeps “never ever” (0.320) and “not on” (0.240). "
        "Step 3 keeps “never ever <end>” (0.288) and “not on your” (0.216). "
        "The best that has ended is “never ever <end>”."
    )
    greedy = plots.search_tree(SEARCH[:2], width=1).alt
    assert greedy.endswith("Step 2 keeps “never ever” (0.320).")  # none of those kept has ended


def test_the_best_of_a_search_is_the_likeliest_that_was_kept_and_ended():
    steps = [{"<end>": 0.2, "a": 0.7, "b": 0.1}, {"a <end>": 0.3, "a a": 0.4}]
    assert "★" not in str(boxes_of(plots.search_tree(steps, width=1)))
    stars = [
        place for place, (_, t) in boxes_of(plots.search_tree(steps, 2)).items() if "★" in t[-1]
    ]
    assert stars == [(2, 1)]


# --- the architecture ---------------------------------------------------------------------------


def lit(part):
    """Where the accent colour is, as a set of corners."""
    patches = plots.architecture(part).axes[0].patches
    boxes = (p for p in patches if to_hex(p.get_facecolor()) == plots.ACCENT)
    return frozenset((round(p.get_x(), 3), round(p.get_y(), 3)) for p in boxes)


def test_every_part_lights_up_at_a_place_of_its_own():
    assert lit(None) == frozenset()
    places = {part: lit(part) for part in plots.PARTS}
    assert all(places.values())
    assert len(set(places.values())) == len(plots.PARTS)
    assert lit(["masks", "scale"]) == places["masks"] | places["scale"]
    assert len(places["add-norm"]) == 2 * 5  # a box and a badge: two in the encoder, three beside
    assert len(places["heads"]) == 1 + 2 * 3  # a badge, and two cards behind each attention
    assert len(places["tokens"]) == 2 + 6  # two badges, six tokens


def test_badges_number_the_chapters_beside_their_names():
    axes = PICTURES["architecture"].axes[0]
    texts = [(t.get_text(), *t.get_position()) for t in axes.texts]
    numbers = {text for text, _, _ in texts if re.fullmatch(r"\d\d", text)}
    assert numbers == {f"{chapter:02d}" for chapter in range(1, 13)}
    names = {"embeddings": "02", "positions": "03", "attention": "04", "add & norm": "06"}
    names |= {"encoder": "07", "masked attention": "08", "decoder": "09", "cross-attention": "09"}
    names |= {"linear": "09", "softmax": "09", "training": "10", "scale": "11"}
    names |= {"real weights": "12", "feed-forward": "07"}
    for name, number in names.items():
        places = [(x, y) for text, x, y in texts if text == name]
        assert places, name
        for x, y in places:  # the badge is on the same line, just before the name
            beside = [t for t, bx, by in texts if abs(by - y) < 0.01 and 0 < x - bx < 0.3]
            assert beside == [number], name


def test_labels_stay_inside_their_boxes():
    figure = PICTURES["architecture"]
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    inside = 0
    for text in axes.texts:
        if text.get_text() == "05":  # it sits on the corner of the stack of heads
            continue
        extent = text.get_window_extent()
        x, y = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        around = [b for b in boxes if b.x0 < x < b.x1 and b.y0 < y < b.y1]
        for box in around:
            assert box.x0 <= extent.x0, text.get_text()
            assert extent.x1 <= box.x1, text.get_text()
            inside += 1
    assert inside > 40


def test_the_mask_icon_shows_a_look_ahead_mask():
    cells = [
        p
        for p in PICTURES["architecture"].axes[0].patches
        if isinstance(p, Rectangle) and abs(p.get_width() - 0.06) < 1e-9
    ]
    filled = np.array([cell.get_facecolor()[3] == 1 for cell in cells]).reshape(3, 3)
    assert np.array_equal(filled, np.tri(3) == 1)


def test_architecture_alt_tells_where_you_are():
    told = plots.architecture(["attention", "heads"]).alt
    assert told.endswith(
        " Highlighted: attention (chapter 4), each token gathers what it needs from the others; "
        "heads (chapter 5), several attentions side by side."
    )
    assert "Highlighted" not in plots.architecture().alt


# --- the package --------------------------------------------------------------------------------

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(plots.__path__, "tfmlib.plots.")
]
PUBLIC = [getattr(plots, name) for name in plots.__all__]
EXPLAINED = [one for one in PUBLIC if inspect.isfunction(one) or inspect.isclass(one)]


def test_the_page_of_the_library_shows_every_public_function():
    section = api_page().split("\n## tfmlib.plots\n")[1].split("\n## ")[0]
    names = [one.__name__ for one in EXPLAINED]
    assert len(names) >= 12
    assert re.findall(r"^### (\w+)$", section, re.MULTILINE) == names


def test_every_public_function_has_an_example_and_all_examples_hold():
    assert [one for one in EXPLAINED if ">>>" not in one.__doc__] == []
    results = [doctest.testmod(module) for module in MODULES]
    assert sum(result.attempted for result in results) >= len(EXPLAINED)
    assert sum(result.failed for result in results) == 0


def test_modules_do_not_import_each_other_in_a_circle():
    pattern = re.compile(r"^ *(?:from|import) (tfmlib\.plots\S*)", re.MULTILINE)
    imports = {m.__name__: set(pattern.findall(inspect.getsource(m))) for m in MODULES}
    assert "tfmlib.plots.style" in imports["tfmlib.plots.picture"]
    assert all(used <= imports.keys() for used in imports.values())  # none goes by the package
    list(graphlib.TopologicalSorter(imports).static_order())  # raises CycleError at a circle
