"""What the page draws, in a real browser: marks where the data are, words that can be read."""

import json

import matplotlib
import numpy as np
import pytest
from page_figures import CALLS, DRAWN, ROOT, book_calls, figure

from browser import AT_REST, MODES, TELEPHONE, violations
from tfmlib import plots

pytestmark = pytest.mark.browser

FOLDER = ROOT / "book/live/page"
STYLES = [ROOT / "book/_static/book.css", FOLDER / "drawing.css"]
# The room that a chapter has on a telephone, and the ground on which it is read.
PAGE = """<!doctype html><html lang="en" data-theme="{mode}"><head><meta charset="utf-8">
<title>Drawings</title><style>{styles}
body {{ margin: 0; padding: 0 0.9rem; font-family: sans-serif;
        background: var(--pst-color-background, #fff); color: var(--pst-color-heading); }}
</style></head><body><main><h1>Drawings</h1></main></body></html>"""
DRAW = """async ([code, specs]) => {
    const module = await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
    window.drawing = module;
    document.querySelectorAll('svg').forEach(old => old.remove());
    for (const spec of specs) document.querySelector('main').append(module.draw(spec));
}"""
PATHS = "() => [...document.querySelectorAll('.tfm-drawn-line')].map(p => p.getAttribute('d'))"
BOXES = """name => [...document.querySelectorAll(name)].map(part => {
    const number = key => Number(part.getAttribute(key));
    return { x: number('x'), y: number('y'), width: number('width'), height: number('height'),
             fill: getComputedStyle(part).fill };
})"""
TEXTS = "() => [...document.querySelectorAll('svg text')].map(text => text.textContent)"
# Pairs of texts that lie on each other by two pixels or more, turned ones too, and texts that stick
# out of their drawing: two rectangles are apart when some side of one has all of the other beyond.
TROUBLED_TEXTS = """() => {
    const cornersOf = text => {
        const { x, y, width, height } = text.getBBox();
        const matrix = text.getScreenCTM();
        return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
            .map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix));
    };
    const sides = corners => [0, 1].map(i => {
        const [dx, dy] = [corners[i + 1].x - corners[i].x, corners[i + 1].y - corners[i].y];
        const length = Math.hypot(dx, dy);
        return [dx / length, dy / length];
    });
    const overlap = (one, other) => Math.min(...[...sides(one), ...sides(other)].map(([x, y]) => {
        const [a, b] = [one, other].map(corners => corners.map(p => p.x * x + p.y * y));
        return Math.min(Math.max(...a), Math.max(...b)) - Math.max(Math.min(...a), Math.min(...b));
    }));
    return [...document.querySelectorAll('svg')].flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent)
            .map(text => [text.textContent, cornersOf(text), text]);
        const out = texts.filter(([, , text]) => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1
                || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
        }).map(([words]) => `${words} sticks out`);
        const pairs = texts.flatMap(([words, corners], i) => texts.slice(i + 1)
            .filter(([, others]) => overlap(corners, others) > 2)
            .map(([other]) => `${words} lies on ${other}`));
        return [...out, ...pairs].map(line => `${svg.getAttribute('aria-label')}: ${line}`);
    });
}"""
SIZES = """() => [...document.querySelectorAll('svg text')].map(text =>
    parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a)"""
COLOURS = """names => names.map(name => {
    const probe = document.querySelector('svg').appendChild(
        document.createElementNS('http://www.w3.org/2000/svg', 'rect'));
    probe.style.fill = `var(--drawn-${name})`;
    const colour = getComputedStyle(probe).fill;
    probe.remove();
    return colour;
})"""
SYSTEM_COLOURS = """() => 'CanvasText Canvas GrayText Highlight LinkText'.split(' ').map(name => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.cssText = `forced-color-adjust: none; color: ${name}`;
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
})"""


class Sheet:
    """A page of a chapter's width, on which specs are drawn."""

    def __init__(self, browser_page, mode="light"):
        self.page = browser_page
        styles = "\n".join(path.read_text("utf-8") for path in STYLES)
        self.page.set_content(PAGE.format(mode=mode, styles=styles))

    def draw(self, *specs):
        code = (FOLDER / "drawing.js").read_text("utf-8")
        self.page.evaluate(DRAW, [code, [json.loads(json.dumps(spec)) for spec in specs]])
        return self

    def boxes(self, name):
        return self.page.evaluate(BOXES, name)

    def texts(self):
        return self.page.evaluate(TEXTS)


@pytest.fixture
def sheet(chromium):
    """Make a sheet: `sheet(mode="dark")`."""
    pages = []

    def make(mode="light", **options):
        pages.append(chromium.new_page(viewport=TELEPHONE, **AT_REST, **options))
        return Sheet(pages[-1], mode)

    yield make
    for page in pages:
        page.close()


def spec_of(function, *args, **kwargs):
    return figure((function, args, kwargs)).spec


def points_of(path):
    """The points of a line, as rows of x and y."""
    return np.array([[float(v) for v in p.split()] for p in path[1:].replace("M", "L").split("L")])


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


# --- marks ----------------------------------------------------------------------------------------


def test_a_bar_of_twice_the_value_is_twice_as_high(sheet):
    bars = sheet().draw(spec_of("bars", list("abc"), {"g": [2, 4, -3]}, "y"))
    one, two, below = bars.boxes(".tfm-drawn-bar")
    assert two["height"] == pytest.approx(2 * one["height"], abs=0.05)
    assert below["height"] == pytest.approx(1.5 * one["height"], abs=0.05)
    foot = one["y"] + one["height"]
    assert [two["y"] + two["height"], below["y"]] == pytest.approx([foot, foot], abs=0.05)
    assert one["x"] < two["x"] < below["x"]


def test_lying_bars_are_as_long_as_their_values(sheet):
    values = [0.1, 0.2, 0.6]
    bars = sheet().draw(spec_of("distribution", values, ["a", "b", "c"])).boxes(".tfm-drawn-bar")
    assert [bar["width"] / bars[0]["width"] for bar in bars] == pytest.approx([1, 2, 6], rel=0.01)
    assert len({bar["x"] for bar in bars}) == 1
    assert bars[0]["y"] < bars[1]["y"] < bars[2]["y"]
    assert [bar["fill"] for bar in bars] == [rgb(plots.GREY), rgb(plots.GREY), rgb(plots.ACCENT)]


@pytest.mark.parametrize("log", [False, True])
def test_lines_pass_through_their_points(sheet, log):
    x, y = np.array([1, 3, 10, 25, 70.0]), np.array([2, 7, 5, 90, 31.0])
    spec = spec_of("lines", x, {"a": y, "b": y[::-1]}, "x", "y", log_x=log, log_y=log)
    legend_a, legend_b, a, b = sheet().draw(spec).page.evaluate(PATHS)
    bend = np.log if log else np.asarray
    for path, values in ((a, y), (b, y[::-1])):
        found = points_of(path)
        for places, data, sign in ((found[:, 0], x, 1), (found[:, 1], values, -1)):
            slope, start = np.polyfit(bend(data), places, 1)
            np.testing.assert_allclose(slope * bend(data) + start, places, atol=0.05)
            assert slope * sign > 0  # up is less
    assert legend_a != legend_b


def test_cells_stand_row_by_row_in_the_colours_of_the_figure(sheet):
    matrix = np.random.default_rng(1).normal(size=(3, 5))
    cells = sheet().draw(spec_of("heat_map", matrix)).boxes(".tfm-drawn-cell")
    assert len(cells) == 15
    x, y = (np.reshape([cell[key] for cell in cells], (3, 5)) for key in ("x", "y"))
    assert (np.diff(x, axis=1) > 0).all()
    assert (np.diff(y, axis=0) > 0).all()
    assert (np.ptp(x, axis=0) == 0).all()
    assert (np.ptp(y, axis=1) == 0).all()
    largest = np.abs(matrix).max()
    wanted = matplotlib.colormaps[plots.SIGNED]((matrix / largest + 1) / 2)[..., :3] * 255
    found = [[int(v) for v in cell["fill"][4:-1].split(",")] for cell in cells]
    assert np.abs(np.reshape(found, (3, 5, 3)) - wanted).max() <= 4


@pytest.mark.parametrize(("name", "low"), [(plots.MAGNITUDE, 0), (plots.SIGNED, -1)])
def test_the_colour_scales_are_those_of_the_figures(sheet, name, low):
    values = np.linspace(low, 1, 256)
    ask = "([values, scale]) => values.map(value => drawing.colourOf(value, scale))"
    found = sheet().draw().page.evaluate(ask, [values.tolist(), [low, 1]])
    assert np.abs(np.array(found) - matplotlib.colormaps[name](range(256))[:, :3] * 255).max() <= 4


def test_very_many_cells_become_one_image(sheet):
    page = sheet().draw(spec_of("heat_map", np.eye(97, 89))).page
    assert page.locator("svg image").count() == 1
    assert page.locator(".tfm-drawn-cell").count() == 0
    size = "image => new Promise(done => { const copy = new Image(); copy.src = "
    size += "image.getAttribute('href'); copy.onload = () => done([copy.width, copy.height]); })"
    assert page.locator("svg image").evaluate(size) == [89, 97]


# --- words ----------------------------------------------------------------------------------------


def test_all_labels_and_values_are_written(sheet):
    texts = sheet().draw(figure(CALLS["heat map"]).spec).texts()
    cells = plots.heat_map(*CALLS["heat map"][1]).axes[0].texts
    wanted = ["Who looks at whom", "key", "query", *CALLS["heat map"][1][1]]
    assert {*wanted, *(text.get_text() for text in cells)} <= {*texts}
    texts = sheet().draw(figure(CALLS["five groups"]).spec).texts()
    assert {"a", "b", "s", *(f"group {i}" for i in range(5))} <= {*texts}
    texts = sheet().draw(figure(CALLS["log lines"]).spec).texts()
    assert {"n", "ms", "2", "30", "500", "1", "10", "100", "1,000"} <= {*texts}
    texts = sheet().draw(figure(CALLS["named mask"]).spec).texts()
    assert {"✓ moved", "× not moved"} <= {*texts}


def test_a_drawing_says_its_alt_text_and_nothing_else(sheet):
    drawn = sheet().draw(figure(CALLS["lines"]).spec).page.locator("svg")
    assert drawn.get_attribute("role") == "img"
    assert drawn.get_attribute("aria-label") == plots.lines(*CALLS["lines"][1], title="T.").alt


def test_what_is_no_number_is_shown_as_such(sheet):
    spec = spec_of("heat_map", np.eye(2), values=False)
    spec["panels"][0]["cells"] = [["-inf", 1], ["nan", 0]]
    drawn = sheet().draw(spec)
    assert {"−∞", "NaN"} <= {*drawn.texts()}
    fills = [cell["fill"] for cell in drawn.boxes(".tfm-drawn-cell")]
    assert [fills[0], fills[2]] == [rgb(plots.BLOCKED)] * 2
    spec = spec_of("lines", [1, 2, 3, 4, 5], {"a": [1, 2, 3, 4, 5]}, "x", "y")
    spec["series"][0]["y"][2] = "nan"
    assert sheet().draw(spec).page.evaluate(PATHS)[0].count("M") == 2  # a gap


def test_nothing_to_draw_gives_empty_axes_and_a_stored_picture_none(sheet):
    empty = {"kind": "lines", "alt": "Nothing.", "series": [], "xlabel": "x", "ylabel": "y"}
    drawn = sheet().draw(empty)
    assert drawn.page.locator(".tfm-drawn-axis").count() == 2
    assert {"x", "y", "0.0", "1.0"} <= {*drawn.texts()}
    assert drawn.page.evaluate("() => drawing.draw({ kind: 'stored' })") is None


def test_hostile_words_stay_words(sheet):
    evil = "</text><img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
    short = "<b>&amp;</b>"
    specs = [
        spec_of("heat_map", np.eye(2), [short, evil], [evil, short], title=evil, xlabel=evil),
        spec_of("lines", [1, 2], {evil: [1, 2], short: [2, 1]}, evil, short, alt=evil),
        spec_of("bars", [evil, short], {evil: [1, 2], short: [1, 2]}, evil),
        spec_of("mask_map", np.eye(2), names=(evil, short), ylabel=evil),
    ]
    drawn = sheet().draw(*specs)
    tags = "() => [...document.querySelectorAll('svg *')].map(part => part.localName)"
    assert {*drawn.page.evaluate(tags)} <= {"text", "rect", "path", "line", "g"}
    assert drawn.page.evaluate("() => window.hit") is None
    assert short in drawn.texts()
    assert drawn.page.locator("svg").nth(1).get_attribute("aria-label") == evil


@pytest.mark.slow
def test_no_text_lies_on_another_on_a_telephone(sheet):
    calls = [call for call in book_calls().values() if call[0] in DRAWN]
    assert len(calls) > 40
    drawn = sheet().draw(*(figure(call).spec for call in [*calls, *CALLS.values()]))
    assert drawn.page.evaluate(TROUBLED_TEXTS) == []
    assert min(drawn.page.evaluate(SIZES)) > 10.4
    assert drawn.page.evaluate("() => document.documentElement.scrollWidth") <= 375


# --- colours --------------------------------------------------------------------------------------

OWN = {
    "ink": plots.INK,
    "muted": plots.MUTED,
    "grid": plots.GRID,
    "other": plots.GREY,
    "main": plots.ACCENT,
} | {str(i): colour for i, (colour, _, _) in enumerate(plots.SERIES)}


@pytest.mark.parametrize("mode", MODES)
def test_the_colours_are_those_of_the_figures(sheet, mode):
    drawn = sheet(mode).draw(figure(CALLS["mask"]).spec)
    dark = plots.DARK if mode == "dark" else {}
    wanted = [rgb(dark.get(colour, colour)) for colour in OWN.values()]
    assert drawn.page.evaluate(COLOURS, list(OWN)) == wanted
    cells = {cell["fill"] for cell in drawn.boxes(".tfm-drawn-cell")}
    key = [drawn.boxes(f".tfm-drawn-{name}")[0]["fill"] for name in ("allowed", "blocked")]
    assert cells == {*key} == {rgb(plots.ACCENT), rgb(plots.BLOCKED)}


def test_paper_is_light(sheet):
    drawn = sheet("dark").draw(figure(CALLS["lines"]).spec)
    before = drawn.page.evaluate(COLOURS, ["ink", "0"])
    drawn.page.emulate_media(media="print")
    assert drawn.page.evaluate(COLOURS, ["ink", "0"]) == ["rgb(0, 0, 0)", rgb(plots.BLUE)]
    assert before == [rgb(plots.DARK[plots.INK]), rgb(plots.DARK[plots.BLUE])]


@pytest.mark.parametrize("mode", MODES)
def test_where_the_system_chooses_colours_only_cells_keep_theirs(sheet, mode):
    drawn = sheet(mode, forced_colors="active").draw(
        *(figure(CALLS[name]).spec for name in ("five groups", "seven lines", "heat map"))
    )
    systems = {*drawn.page.evaluate(SYSTEM_COLOURS)}
    used = drawn.page.evaluate("""() => [...document.querySelectorAll(
        'svg :is(path, line, text, rect.tfm-drawn-bar):not(.tfm-drawn-black, .tfm-drawn-white)')]
        .map(part => getComputedStyle(part)).flatMap(style => [style.fill, style.stroke])""")
    assert {colour for colour in used if colour.startswith("rgb")} - {"rgb(0, 0, 0)"} <= systems
    on_cells = "() => [...document.querySelectorAll('.tfm-drawn-white')]"
    fills = drawn.page.evaluate(on_cells + ".map(text => getComputedStyle(text).fill)")
    assert {*fills} == {"rgb(255, 255, 255)"}


@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing(sheet, mode):
    drawn = sheet(mode).draw(*(figure(call).spec for call in CALLS.values()))
    assert violations(drawn.page) == []
