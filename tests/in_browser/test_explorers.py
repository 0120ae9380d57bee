"""What all explorers share, in a real browser: address, reset, link, focus, paper, no scripts."""

from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_reader import Reader, tags, visiting
from playwright.sync_api import expect

from book import explorers
from browser import NEXT_FRAMES
from tfmlib import ref

pytestmark = pytest.mark.browser

TAGS = list(tags())
ONE_OF_EACH_KIND = list({kind: (page, kind, preset) for page, kind, preset in TAGS}.values())
# Bytes per page.
HEAVIEST = {"attention": 50_000, "encoding": 40_000, "decoding": 70_000, "tokens": 25_000}
EXACT = 1e-12
FIGURE = ".tfm-explored"

# Move every control that a reader sees, by one step or to the next choice.
MOVE_EVERYTHING = """box => {
    const press = (input, event) => input.dispatchEvent(new Event(event, { bubbles: true }));
    const visible = [...box.querySelectorAll('.tfm-controls :is(input, select)')]
        .filter(input => !input.closest('[hidden]'));
    for (const input of visible) {
        if (input.type === 'range') { input.stepUp(); press(input, 'input'); }
        if (input.type === 'checkbox') input.click();
        if (input.type === 'radio' && input.value === [...box.querySelectorAll('input')]
            .filter(other => other.name === input.name).at(-1).value) input.click();
        if (input.type === 'text') { input.value = 'not on & on = 100 %?'; press(input, 'input'); }
    }
}"""

EQUATIONS = """([length, d, offset, a, b, row, ids]) => ({
    "encoding": tfm.ref.sinusoidalEncoding([...Array(length).keys()], d),
    "shift": tfm.ref.shiftMatrix(offset, d),
    "shift in degrees": tfm.ref.shiftMatrix(offset, d, "degrees"),
    "frequencies": tfm.ref.frequencies(d),
    "product": tfm.ref.matmul(a, b),
    "softmax": tfm.ref.softmax(row),
    "softmax of nothing": tfm.ref.softmax([-Infinity, -Infinity, -Infinity]),
    "one-hot": tfm.ref.oneHot(ids, 5),
})"""

# Each slider through its values: those sliders that are not always in the same place.
MOVED_SLIDERS = """box => {
    const place = slider => {
        const [own, whole] = [slider, box].map(part => part.getBoundingClientRect());
        return [own.left - whole.left, own.top - whole.top, own.width].map(Math.round).join();
    };
    const sliders = [...box.querySelectorAll('input[type=range]')];
    return sliders.filter(slider => slider.getClientRects().length).filter(slider => {
        const start = slider.value, seen = new Set();
        for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
            slider.value = Number(slider.min) + share * (slider.max - slider.min);
            slider.dispatchEvent(new Event('input', { bubbles: true }));
            seen.add(place(slider));
        }
        slider.value = start;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        return seen.size > 1;
    }).map(slider => slider.id);
}"""

UNSEEN_WITHOUT_COLOURS = """box => {
    const style = part => getComputedStyle(part);
    const bars = [...box.querySelectorAll('.tfm-bar, .tfm-track > span')];
    const chosen = [...box.querySelectorAll('.tfm-stage [aria-pressed=true], label:has(:checked)')];
    return [
        ...bars.filter(bar => style(bar).backgroundColor === style(box).backgroundColor),
        ...chosen.filter(part => style(part).outlineStyle === 'none'),
    ].map(part => part.outerHTML.slice(0, 160));
}"""

# The colours of lines, areas and words in drawings, and those that the system has for them.
INKS_OF_DRAWINGS = """box => {
    const names = ['Canvas', 'CanvasText', 'GrayText', 'Highlight'];
    const systems = names.map(name => {
        const probe = box.appendChild(document.createElement('i'));
        probe.style.cssText = `forced-color-adjust: none; color: ${name}`;
        const colour = getComputedStyle(probe).color;
        probe.remove();
        return colour;
    });
    const drawn = [...box.querySelectorAll('svg :is(path, line, circle, rect, text, polyline)')];
    const used = drawn.map(part => getComputedStyle(part))
        .flatMap(style => [style.fill, style.stroke]);
    return { systems, used: used.filter(colour => colour.startsWith('rgb')) };
}"""

# Its new text stands there for two seconds only.
CLICK_AND_READ = """button => {
    const changed = new Promise(done => new MutationObserver(() => done(button.textContent))
        .observe(button, { childList: true }));
    button.click();
    return changed;
}"""


@pytest.fixture
def visit(chromium):
    """Open an explorer: `visit(home, tag, color_scheme="dark")`."""
    with visiting(chromium) as visit:
        yield lambda home, tag, **options: visit(home, tag[0], tag[2], **options)


@pytest.fixture(params=TAGS, ids=lambda tag: tag[2])
def tag(request) -> tuple[str, str, str]:
    """Every place that has an explorer."""
    return request.param


@pytest.fixture(params=ONE_OF_EACH_KIND, ids=lambda tag: tag[2])
def first(request) -> tuple[str, str, str]:
    """One place for each kind of explorer."""
    return request.param


@pytest.fixture
def reader(visit, address, first) -> Reader:
    return visit(address, first).open()


def test_every_kind_is_used_in_some_chapter():
    assert sorted({kind for _, kind, _ in TAGS}) == explorers.kinds()


def test_the_equations_in_the_browser_are_those_of_the_library(reader):
    rng = np.random.default_rng(3)
    for _ in range(40):
        d, length, offset = (
            2 * int(rng.integers(1, 33)),
            int(rng.integers(1, 41)),
            rng.normal() * 100,
        )
        a, b = rng.normal(size=(3, d)), rng.normal(size=(d, length))
        row = np.where(rng.random(7) < 0.3, -np.inf, rng.normal(size=7) * rng.choice([1, 30, 1000]))
        ids = rng.integers(0, 5, size=4)
        found = reader.page.evaluate(
            EQUATIONS, [length, d, offset, a.tolist(), b.tolist(), row.tolist(), ids.tolist()]
        )
        encoding = ref.sinusoidal_encoding(length, d)
        for name, wanted in {
            "encoding": encoding,
            "shift": ref.shift_matrix(offset, d),
            "shift in degrees": ref.shift_matrix(np.deg2rad(offset), d),
            "frequencies": np.arctan2(*ref.sinusoidal_encoding(2, d)[1].reshape(-1, 2).T),
            "product": a @ b,
            "softmax": ref.softmax(row),
            "softmax of nothing": np.zeros(3),
            "one-hot": ref.one_hot(ids, 5),
        }.items():
            assert np.shape(found[name]) == wanted.shape, name
            assert np.abs(found[name] - wanted).max() < EXACT, name


def test_it_begins_at_its_preset_in_place_of_the_figure(visit, address, tag):
    reader = visit(address, tag).open()
    assert reader.settings["preset"] == tag[2]
    assert reader.box.is_visible()
    assert reader.said
    assert reader.box.get_by_role("heading", level=3).count() == 1  # how a blind reader finds it
    figures = reader.page.locator(FIGURE)
    assert figures.count() > 0
    assert not any(figure.is_visible() for figure in figures.all())


# --- the question -----------------------------------------------------------------------------


def arrive(visit, home: str, tag: tuple, **options) -> Reader:
    """A reader who has just opened the page, and skipped nothing."""
    return visit(home, tag, **options).go(f"{home}/{tag[0]}")


def question_of(tag: tuple) -> dict:
    return explorers.data(tag[1])["presets"][tag[2]]["question"]


def test_an_explorer_shows_nothing_before_its_question_is_answered(visit, address, tag):
    reader, question = arrive(visit, address, tag), question_of(tag)
    group = reader.box.get_by_role("group", name=question["ask"])
    assert group.get_by_role("button").all_inner_texts() == [*question["choices"], "Show me"]
    assert reader.is_waiting
    assert (reader.said, reader.reason) == ("", "")
    assert reader.box.locator(".tfm-stage").inner_text() == ""
    inputs = reader.box.locator(".tfm-controls :is(input, select):visible")
    assert inputs.evaluate_all("all => all.map(one => one.dataset.key)") == [f"{reader.id}.preset"]


@pytest.mark.parametrize("is_right", [True, False])
def test_an_answer_by_keyboard_is_judged_and_shows_what_it_leads_to(visit, address, tag, is_right):
    reader, question = arrive(visit, address, tag), question_of(tag)
    start, right = reader.settings, question["right"]
    choice = right if is_right else (right + 1) % len(question["choices"])
    reader.control("preset").focus()
    for _ in range(choice + 1):
        reader.page.keyboard.press("Tab")
    assert reader.focused() == f"answer-{choice}"
    reader.page.keyboard.press("Enter")
    key = question["choices"][right]
    assert (
        reader.reason == f"{'Right.' if is_right else f'The answer: {key}.'} {question['reason']}"
    )
    assert reader.settings == start | question["shows"]
    assert reader.said
    assert reader.focused() == f"answer-{choice}"  # whoever answered stays there
    marks = [text[-1] for text in reader.box.locator(".tfm-question button").all_inner_texts()]
    assert [n for n, mark in enumerate(marks) if mark == "✓"] == [right]
    assert [n for n, mark in enumerate(marks) if mark == "✗"] == ([] if is_right else [choice])
    reader.control(f"answer-{(choice + 1) % len(marks)}").press("Enter")  # too late
    assert reader.control(f"answer-{choice}").get_attribute("aria-pressed") == "true"


def test_a_finger_answers_and_another_example_asks_its_own_question(visit, address, first):
    telephone = {"viewport": {"width": 375, "height": 800}, "has_touch": True}
    reader = arrive(visit, address, first, **telephone)
    reader.control("answer-0").tap()
    reader.page.wait_for_function("id => !tfm.running[id].isWaiting()", arg=reader.id)
    presets = explorers.data(first[1])["presets"]
    for name, preset in presets.items():
        reader.control("preset").select_option(name)
        assert reader.is_waiting == (name != first[2])
        assert preset["question"]["ask"] in reader.box.inner_text()
        assert reader.sticking_out() == []
        if name != first[2]:
            reader.control("answer-1").tap()
            reader.page.wait_for_function("id => !tfm.running[id].isWaiting()", arg=reader.id)
        assert reader.sticking_out() == []
    buttons = reader.box.locator(".tfm-question button").all()
    assert min(button.bounding_box()["height"] for button in buttons) >= 36


def test_show_me_skips_all_questions_until_somebody_wants_one(visit, address, first):
    reader = arrive(visit, address, first)
    start = reader.settings
    reader.control("skip").press("Enter")
    assert not reader.is_waiting
    assert reader.focused() == "preset"
    assert reader.settings == start
    assert not reader.box.locator(".tfm-question").is_visible()
    other = list(explorers.data(first[1])["presets"])[-1]
    reader.control("preset").select_option(other)
    assert not reader.is_waiting
    reader.box.evaluate(MOVE_EVERYTHING)
    reader.control("ask").press("Enter")
    assert reader.is_waiting
    assert reader.focused() == "answer-0"
    assert reader.settings["preset"] == other
    assert not reader.control("ask").is_visible()


def test_a_link_to_a_setting_skips_the_question_and_offers_it(visit, address, first):
    reader = visit(address, first)
    reader.go(reader.address(preset=first[2]))
    assert not reader.is_waiting
    assert reader.said
    reader.control("ask").click()
    assert reader.is_waiting


def test_an_answered_question_stays_while_the_picture_moves(visit, address, first):
    reader = arrive(visit, address, first)
    reader.control("answer-0").click()
    told = reader.reason
    reader.box.evaluate(MOVE_EVERYTHING)
    assert reader.reason == told
    reader.control("reset").click()
    assert reader.reason == told
    assert not reader.is_waiting


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_violation_in_a_question_and_its_answer(visit, address, first, mode):
    reader, question = arrive(visit, address, first, color_scheme=mode), question_of(first)
    reader.control("answer-0").wait_for()
    for is_open in (True, False):
        if not is_open:
            reader.control(f"answer-{(question['right'] + 1) % 2}").click()
        assert reader.is_waiting == is_open
        assert reader.violations() == []


def test_a_question_is_asked_from_disk_too(visit, book, first):
    reader = visit("file://", first)
    reader.go((book.html / first[0]).as_uri())
    assert reader.is_waiting
    reader.control("answer-0").click()
    assert reader.said


def test_a_caption_stands_below_its_explorer_and_waits_with_it(visit, address, tag):
    reader = arrive(visit, address, tag)
    assert reader.box.evaluate("box => box.previousElementSibling.matches('.cell_output')")
    caption = reader.page.locator(f"figure:has(> #{reader.id}) > figcaption")
    if caption.count():
        assert not caption.is_visible()  # it says what the picture shows
        reader.control("answer-0").click()
        below = reader.box.bounding_box()["y"] + reader.box.bounding_box()["height"]
        assert caption.bounding_box()["y"] >= below
        reader.page.emulate_media(media="print")
        assert caption.is_visible()


# --- settings ---------------------------------------------------------------------------------


def test_moved_settings_survive_a_reload_by_address(reader):
    start = reader.settings
    reader.box.evaluate(MOVE_EVERYTHING)
    moved = reader.settings
    assert moved != start
    assert moved["preset"] == start["preset"]
    address = reader.address_when_settled()
    assert reader.go(address).settings == moved
    assert reader.said


def test_the_address_of_every_preset_leads_to_it(reader, first):
    for preset in explorers.data(first[1])["presets"]:
        reader.control("preset").select_option(preset)
        assert reader.settings["preset"] == preset
        reader.box.evaluate(MOVE_EVERYTHING)
        assert reader.read(reader.address_when_settled()) == reader.settings


def test_a_bad_value_in_the_address_is_ignored(reader):
    start = reader.settings
    for nonsense in ("", "nonsense", "NaN", "1e999", "-1000", "__proto__", "0.123", "x" * 1000):
        bad = {key: nonsense for key in start if key != "text"}  # no text of a reader is bad
        assert reader.read(reader.address(**bad)) == start, nonsense
    assert reader.open(**bad).settings == start


def test_reset_leads_back_to_how_the_example_began_and_clears_the_address(reader, first):
    start = reader.settings
    reader.box.evaluate(MOVE_EVERYTHING)
    assert reader.id in reader.address_when_settled()
    reader.control("reset").click()
    assert reader.settings == start
    assert f"{reader.id}." not in reader.address_when_settled()
    other = list(explorers.data(first[1])["presets"])[-1]
    reader.control("preset").select_option(other)
    began = reader.settings
    reader.box.evaluate(MOVE_EVERYTHING)
    assert reader.settings != began
    reader.control("reset").click()
    assert reader.settings == began


def test_the_copied_link_leads_to_the_same_picture(visit, address, first):
    reader = visit(address, first, permissions=["clipboard-read", "clipboard-write"]).open()
    reader.box.evaluate(MOVE_EVERYTHING)
    moved, said = reader.settings, reader.said
    assert reader.control("link").evaluate(CLICK_AND_READ) == "Copied"
    link = reader.page.evaluate("navigator.clipboard.readText()")
    other = visit(address, first).go(link)
    assert (other.settings, other.said) == (moved, said)
    expect(other.box.locator(".tfm-head")).to_be_in_viewport()


def test_a_page_that_may_not_write_the_clipboard_shows_the_link(reader):
    refuse = "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))"
    reader.page.evaluate(f"() => {{ {refuse}; }}")
    shown = []

    def read(dialog):
        shown.append(dialog.default_value)
        dialog.dismiss()

    reader.page.on("dialog", read)
    reader.control("link").click()
    assert shown == [reader.page.evaluate("id => tfm.running[id].toLink()", reader.id)]


def test_the_address_goes_with_the_picture_back_and_forward(reader):
    first = reader.settings
    reader.box.evaluate(MOVE_EVERYTHING)
    moved = reader.settings
    with_moved = reader.address_when_settled()
    reader.page.evaluate("location.hash = 'main-content'")  # as a link within the page does
    reader.page.evaluate(NEXT_FRAMES)
    assert reader.settings == moved
    reader.control("reset").click()
    assert reader.address_when_settled().endswith("#main-content")  # the reader's place is kept
    reader.page.go_back()
    reader.until(**moved)
    assert reader.page.url == with_moved
    reader.page.go_forward()
    reader.until(**reader.read(reader.page.url))
    assert reader.settings == {**first, "preset": moved["preset"]} | reader.read(reader.page.url)


def test_a_link_right_after_a_change_does_not_take_it_back(reader):
    """The address follows a moment later: until then it is behind the picture."""
    reader.box.evaluate(MOVE_EVERYTHING)
    moved = reader.settings
    reader.page.evaluate("location.hash = 'main-content'")
    assert reader.read(reader.address_when_settled()) == moved == reader.settings


def test_explorers_of_one_page_keep_their_settings_apart(visit, address):
    pages = [page for page, _, _ in TAGS]
    shared = [tag for tag in TAGS if pages.count(tag[0]) > 1]
    for tag in shared:
        reader = visit(address, tag).open()
        others = [f"explorer-{preset}" for page, _, preset in TAGS if page == tag[0]]
        others.remove(reader.id)
        settings = "ids => ids.map(id => tfm.running[id].settings)"
        before = reader.page.evaluate(settings, others)
        reader.box.evaluate(MOVE_EVERYTHING)
        reader.go(reader.address_when_settled())
        assert reader.page.evaluate(settings, others) == before


def test_a_control_keeps_the_focus_when_it_moves_the_picture(reader):
    sliders = reader.box.locator(".tfm-controls input[type=range]:visible")
    for slider in sliders.all():
        slider.focus()
        reader.page.keyboard.press("ArrowRight")
        assert slider.evaluate("slider => slider === document.activeElement")


def test_without_scripts_the_figure_stands_there(chromium, address, tag):
    page_name, _, preset = tag
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{page_name}")
    assert not page.locator(f"#explorer-{preset}").is_visible()
    cell = page.locator(f".tag_explorer-{tag[1]}-{preset}")
    assert cell.locator("img, svg").first.is_visible()
    context.close()


def test_on_paper_the_figure_stands_there(reader):
    reader.page.emulate_media(media="print")
    assert not reader.box.is_visible()
    assert reader.page.locator(FIGURE).first.is_visible()


def test_it_works_from_disk(visit, book, tag):
    reader = visit("file://", tag)
    query = urlencode({f"{reader.id}.preset": tag[2], "other": "x"})
    reader.go(f"{(book.html / tag[0]).as_uri()}?{query}")
    start = reader.settings
    reader.box.evaluate(MOVE_EVERYTHING)
    moved = reader.settings
    assert moved != start
    assert reader.go(reader.address_when_settled()).settings == moved


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_violation_at_the_start_nor_when_moved(visit, address, first, mode):
    reader = visit(address, first, color_scheme=mode).open()
    assert reader.violations() == []
    reader.box.evaluate(MOVE_EVERYTHING)
    assert reader.violations() == []


def test_nothing_sticks_out_at_the_narrowest_width(visit, address, first):
    reader = visit(address, first, viewport={"width": 320, "height": 800}).open()
    for preset in explorers.data(first[1])["presets"]:
        reader.control("preset").select_option(preset)
        assert reader.sticking_out() == [], preset
        reader.box.evaluate(MOVE_EVERYTHING)
        assert reader.sticking_out() == [], preset


@pytest.mark.parametrize("width", [320, 1280])
def test_no_slider_moves_away_from_the_finger_that_moves_it(visit, address, first, width):
    reader = visit(address, first, viewport={"width": width, "height": 800}).open()
    assert reader.box.evaluate(MOVED_SLIDERS) == []


def test_bars_and_choices_are_seen_where_the_system_chooses_the_colours(visit, address, first):
    reader = visit(address, first, forced_colors="active").open()
    assert reader.box.evaluate(UNSEEN_WITHOUT_COLOURS) == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_drawings_are_in_the_systems_colours_where_it_chooses(visit, address, first, mode):
    reader = visit(address, first, forced_colors="active", color_scheme=mode).open(step=3)
    other = {"light": "dark", "dark": "light"}[mode]
    reader.page.evaluate("mode => { document.documentElement.dataset.theme = mode; }", other)
    inks = reader.box.evaluate(INKS_OF_DRAWINGS)
    assert bool(inks["used"]) == (reader.box.locator("svg").count() > 0)
    assert set(inks["used"]) <= set(inks["systems"])


@pytest.mark.parametrize("kind", explorers.kinds())
def test_it_is_light(kind):
    own = [explorers.FOLDER / f"{kind}.{end}" for end in ("js", "css")]
    size = sum(file.stat().st_size for file in own) + len(explorers.as_json(kind).encode())
    assert size < HEAVIEST[kind]
