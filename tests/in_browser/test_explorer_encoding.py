"""The encoding explorer of chapter 3, in a real browser, against tfmlib.ref."""

import copy
import json
import re

import numpy as np
import pytest
from explorer_reader import Reader, assert_written, visiting

from book import explorers
from browser import NEXT_FRAMES, violations
from tfmlib import ledger, ref

pytestmark = pytest.mark.browser

PAGE = "notebooks/03-positions.html"
PRESETS = explorers.data("encoding")["presets"]
PRINTED = [name for name, preset in PRESETS.items() if "printed" in preset]
UNITS = {"radians": 1.0, "degrees": np.pi / 180}
EXACT = 1e-12

SHOWN = """box => JSON.stringify(Object.fromEntries([...box.querySelectorAll('[data-value]')].map(
    shown => [shown.dataset.name, [Number(shown.dataset.value), shown.textContent]])))"""
HANDS = """box => JSON.stringify(Object.fromEntries(
    [...box.querySelectorAll('.tfm-dials [data-hand]')].map(
        hand => [hand.dataset.hand, [hand.x2.baseVal.value, -hand.y2.baseVal.value]])))"""
DOTS = """box => [...box.querySelectorAll('.tfm-hand .tfm-dot')].map(
    dot => [parseFloat(dot.style.left) / 100, parseFloat(dot.style.top) / 100])"""


# --- a reader -------------------------------------------------------------------------------------


class ClockReader(Reader):
    """A reader of the clock, the first explorer of the page, or of the rotation `beside` it."""

    def beside(self, preset: str) -> "ClockReader":
        other = copy.copy(self)
        other.id = f"explorer-{preset}"
        return other

    def shown(self) -> dict[str, tuple[float, str]]:
        return json.loads(self.box.evaluate(SHOWN))

    def marks(self) -> list[bool]:
        """Which of the printed figures are marked as agreeing."""
        figures = self.box.locator("[data-agrees]").all()
        return [figure.get_attribute("data-agrees") == "true" for figure in figures]

    def choose(self, show, unit, d, position, pair, shift) -> None:
        """Make these settings as a reader does: by radio buttons, by typing, by a dial."""
        self.control(f"show-{show}").check()
        self.control(f"unit-{unit}").check()
        self.control("d.typed").fill(str(d))
        self.control("position").fill(str(position))  # the slider
        if show != "numbers":
            self.control("shift.typed").fill(str(shift))
        self.control(f"dial-{pair}").check()


@pytest.fixture(scope="module")
def first_visit(chromium, address) -> ClockReader:
    """One page for all tests that only move the controls."""
    with visiting(chromium, ClockReader) as visit:
        yield visit(address, PAGE, "clock").open()


@pytest.fixture
def reader(first_visit) -> ClockReader:
    """A reader who has moved nothing yet."""
    first_visit.start_over()
    first_visit.beside("rotation").start_over()
    yield first_visit
    assert first_visit.troubles == []


@pytest.fixture
def visit(chromium, address):
    """Open another page, with what a context takes: `visit(color_scheme="dark")`."""
    with visiting(chromium, ClockReader) as visit:
        yield lambda preset="clock", **options: visit(address, PAGE, preset, **options)


# --- what the numbers must be, by tfmlib.ref ------------------------------------------------------


def encoding(position: float, d: int, unit: str) -> np.ndarray:
    """The encoding at any position, before the first one too, with the angle in this unit."""
    return ref.shift_matrix(position * UNITS[unit], d) @ ref.sinusoidal_encoding(1, d)[0]


def frequencies(d: int) -> np.ndarray:
    first = ref.sinusoidal_encoding(2, d)[1]
    return np.arctan2(first[0::2], first[1::2])  # none makes half a round


def named(name: str, values) -> dict[str, float]:
    """{"name-0": ...} of a vector, {"name-00": ...} of a matrix."""
    values = np.asarray(values)
    return {f"{name}-{''.join(map(str, n))}": values[n] for n in np.ndindex(values.shape)}


def expected(show, unit, d, position, pair, shift, preset="clock") -> dict[str, float]:
    """Every number that the explorer must show with these settings, by its name."""
    here, there = encoding(position, d, unit), encoding(position + shift, d, unit)
    both = slice(2 * pair, 2 * pair + 2)
    common = {
        "angle": position * frequencies(d)[pair],
        "sine": here[2 * pair],
        "cosine": here[2 * pair + 1],
    }
    if show == "numbers":
        return common | named("here", here) | named("omega", frequencies(d))
    if show == "distance":
        from_zero = encoding(0, d, unit) @ encoding(shift, d, unit)
        return common | {"product": here @ there, "product-at-0": from_zero}
    matrix = ref.shift_matrix(shift * UNITS[unit], d)
    return {
        **common,
        **named("rotation", matrix[both, both]),
        **named("before", here[both, None]),
        **named("after", there[both, None]),
        **named("here", here),
        **named("turned", matrix @ here),
        **named("there", there),
    }


def random_settings(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    d = 2 * int(rng.integers(1, 33))
    return {
        "show": str(rng.choice(["numbers", "rotation", "distance"])),
        "unit": str(rng.choice([*UNITS])),
        "d": d,
        "position": int(rng.integers(0, 61)),
        "pair": int(rng.integers(0, d // 2)),
        "shift": int(rng.integers(-20, 21)),
    }


def assert_shows(shown: dict, settings: dict) -> None:
    """All numbers and no others are there, right, and written as their values round."""
    values = expected(**settings)
    assert shown.keys() == values.keys()
    for name, (value, text) in shown.items():
        assert value == pytest.approx(values[name], abs=EXACT), (name, settings)
        assert re.fullmatch(r"−?\d+\.\d{2,}", text)
        assert_written(text, value)


def assert_draws(reader: ClockReader, settings: dict) -> None:
    """Each hand ends at its sine and cosine, and the dots stand on the wave."""
    d, unit, position, pair = (settings[key] for key in ("d", "unit", "position", "pair"))
    shift = 0 if settings["show"] == "numbers" else settings["shift"]
    places = {"here": position} | ({"there": position + shift} if shift else {})
    hands = {
        f"{name}-{j}": encoding(place, d, unit)[2 * j : 2 * j + 2]
        for name, place in places.items()
        for j in range(d // 2)
    }
    drawn = json.loads(reader.box.evaluate(HANDS))
    assert drawn.keys() == hands.keys()
    for name, end in drawn.items():
        # A drawing has single precision.
        assert end == pytest.approx(hands[name].tolist(), abs=1e-6), (name, settings)
    margin = 2 if settings["show"] == "numbers" else 20
    dots = [
        [(place + margin) / (60 + 2 * margin), (1.15 - value) / 2.3]
        for place in places.values()
        for value in encoding(place, d, unit)[2 * pair : 2 * pair + 2]
    ]
    assert np.allclose(reader.box.evaluate(DOTS), dots, atol=1e-4)


def assert_says(reader: ClockReader, settings: dict) -> None:
    """The sentence and the caption tell the same numbers as the reference."""
    show, unit, pair, shift = (settings[key] for key in ("show", "unit", "pair", "shift"))
    omega, values = frequencies(settings["d"])[pair], expected(**settings)
    sentence, wanted = {
        "numbers": (r"has made (\S+) turns", values["angle"] * UNITS[unit] / (2 * np.pi)),
        "rotation": (rf" = (\S+) {unit}", shift * omega),
        "distance": (r"dot product is (\S+) of", values.get("product")),
    }[show]
    assert_written(re.search(sentence, reader.said)[1], wanted)
    caption = reader.box.locator(".tfm-hand .tfm-caption").inner_text()
    around = re.search(r"Once round in (\S+) positions", caption)[1]
    assert_written(around.replace(",", ""), 2 * np.pi / (omega * UNITS[unit]))


# --- it computes what tfmlib.ref computes ---------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_shown_equals_the_reference_on_random_settings(reader, unit):
    for seed in range(12):
        settings = random_settings(seed) | {"unit": unit}
        reader.choose(**settings)
        assert_shows(reader.shown(), settings)
        assert_draws(reader, settings)
        assert_says(reader, settings)


def test_a_position_before_the_first_word_is_a_rotation_all_the_same(reader):
    settings = {
        "show": "rotation",
        "unit": "radians",
        "d": 6,
        "position": 3,
        "pair": 1,
        "shift": -17,
    }
    reader.choose(**settings)
    assert_shows(reader.shown(), settings)
    assert "No word stands before position 0" in reader.said


# --- the documents' numbers -----------------------------------------------------------------------


def test_every_entry_of_the_ledger_about_encodings_is_an_example():
    about = {id for id in ledger.entries() if re.match(r"\w+\.pe", id)}
    assert {preset["entry"]["id"] for preset in PRESETS.values() if "entry" in preset} == about
    assert {PRESETS[name]["entry"]["verdict"] for name in PRINTED} == {"reproduced", "erratum"}


def test_printed_figures_agree_in_radians_exactly_where_the_ledger_says_reproduced(reader):
    for name in PRINTED:
        reader.control("preset").select_option(name)
        entry = ledger.find(PRESETS[name]["entry"]["id"])
        figures = reader.box.locator("[data-agrees]").all_inner_texts()
        [printed] = entry.printed.values()
        assert [text.split()[0] for text in figures] == printed.split()
        shown = reader.shown()
        values = [shown[f"printed-{n}"][0] for n in range(4)]
        assert values == [float(figure) for figure in printed.split()]
        assert len(reader.marks()) == 4
        assert all(reader.marks()) == (entry.verdict == "reproduced"), name
        assert entry.verdict in reader.box.locator(".tfm-verdict a").inner_text()
        assert (entry.explanation or entry.finding[1:]) in reader.box.inner_text()


def test_degrees_give_the_printed_figures_where_the_ledger_says_that_they_fit(reader):
    seen = {}
    for name in ("notes-pe1", "notes-pe2", "notes-pe3"):
        reader.control("preset").select_option(name)
        reader.control("unit-degrees").check()
        found = ledger.find(PRESETS[name]["entry"]["id"]).findings["read in degrees"]
        assert all(reader.marks()) == found.endswith("which fits")
        seen[name] = sum(reader.marks())
        figures = "all 4 printed figures come" if seen[name] == 4 else "3 of the 4 printed figures"
        assert figures in reader.said
    assert seen == {"notes-pe1": 4, "notes-pe2": 3, "notes-pe3": 4}


def test_of_the_handwritten_row_only_the_last_figure_is_off(reader):
    reader.control("preset").select_option("hand-pe1")
    assert reader.marks() == [True, True, True, False]
    reader.control("unit-degrees").check()
    assert reader.marks()[:2] == [False, False]


def test_no_position_gives_the_second_row_of_the_notes_in_either_unit(reader):
    found = reader.page.evaluate(
        """([{ printed, tolerance }, units]) => units.map(unit => tfm.ref
            .sinusoidalEncoding([...Array(61).keys()], 4, unit)
            .map(row => printed.filter(
                (figure, n) => tfm.agrees(figure, tolerance[n], row[n])).length)
        )""",
        [PRESETS["notes-pe2"], [*UNITS]],
    )
    assert np.shape(found) == (2, 61)
    assert np.max(found) == 3


def test_printed_figures_are_compared_at_their_own_position_and_size_alone(reader):
    for control, other in (("d.typed", "6"), ("position.typed", "5")):
        reader.control("preset").select_option("notes-pe1")
        reader.control("reset").click()
        assert len(reader.marks()) == 4
        reader.control(control).fill(other)
        assert reader.marks() == []
        assert "printed" not in reader.said


def test_the_product_of_a_turn_can_be_checked_by_hand(reader):
    reader = reader.beside("rotation")
    for d, shift in ((4, 20), (16, 3), (16, -19), (64, 7)):
        reader.control("d.typed").fill(str(d))
        reader.control("shift.typed").fill(str(shift))
        for pair in range(d // 2):
            reader.control(f"dial-{pair}").check()
            said = reader.said.replace("−", "-")
            factor, omega, turn = re.search(r"by (\S+) × (\S+) = (\S+) ", said).groups()
            decimals = len(turn.partition(".")[2])
            assert abs(float(factor) * float(omega) - float(turn)) < 10**-decimals, said


def test_a_verdict_leads_to_its_entry_in_the_ledger(reader, book):
    page = (book.html / "book/pages/generated/ledger.html").read_text("utf-8")
    for name, preset in PRESETS.items():
        reader.control("preset").select_option(name)
        links = reader.box.locator(".tfm-verdict a").all()
        assert len(links) == ("entry" in preset)
        for link in links:
            target = link.evaluate("link => link.href")
            assert (
                target == f"{reader.home}/book/pages/generated/ledger.html#{preset['entry']['id']}"
            )
            assert f'id="{preset["entry"]["id"]}"' in page


def test_the_right_unit_is_the_one_in_which_all_printed_figures_agree(reader):
    for name in PRINTED:
        right = reader.ask(name)
        agree = {}
        for unit in UNITS:
            reader.control(f"unit-{unit}").check()
            agree[unit] = all(reader.marks())
        fitting = [unit.capitalize() for unit, is_same in agree.items() if is_same]
        assert right == {0: "Neither", 1: "".join(fitting), 2: "Either"}[len(fitting)], name


# --- what the examples claim ----------------------------------------------------------------------


def test_the_rotation_depends_on_the_shift_and_not_on_the_position(reader):
    reader = reader.beside("rotation")

    def rotation(position, shift):
        reader.control("position.typed").fill(str(position))
        reader.control("shift.typed").fill(str(shift))
        shown = reader.shown()
        return [shown[f"rotation-{place}"][0] for place in ("00", "01", "10", "11")]

    assert rotation(5, 7) == rotation(41, 7) != rotation(41, 8)


def test_a_shift_is_offered_only_where_something_is_shifted(reader):
    assert not reader.control("shift").is_visible()
    for show in ("rotation", "distance"):
        reader.control(f"show-{show}").check()
        assert reader.control("shift").is_visible()


def test_the_dot_product_depends_on_the_shift_alone(reader):
    reader.control("preset").select_option("distance")
    products = []
    for position in (0, 7, 31, 60):
        reader.control("position.typed").fill(str(position))
        products.append(reader.shown()["product"][0])
    assert np.ptp(products) < 1e-12
    reader.control("shift.typed").fill("-3")  # the same distance, to the other side
    assert reader.shown()["product"][0] == pytest.approx(products[0], abs=EXACT)
    reader.control("shift.typed").fill("4")
    assert abs(reader.shown()["product"][0] - products[0]) > 0.1


def test_the_offset_can_be_read_from_the_slowest_hand(reader):
    reader.control("preset").select_option("offset")
    settings, shown = reader.settings, reader.shown()
    assert settings["pair"] == settings["d"] // 2 - 1
    turn = np.arctan2(shown["rotation-01"][0], shown["rotation-00"][0])
    assert turn / frequencies(settings["d"])[-1] == pytest.approx(settings["shift"], abs=1e-9)


# --- settings and the address ---------------------------------------------------------------------


def test_settings_survive_a_reload(reader):
    settings = random_settings(5) | {"show": "rotation", "shift": -7}
    reader.choose(**settings)
    address, shown = reader.address_when_settled(), reader.shown()
    reader.go(address)
    assert reader.settings == {"preset": "clock", **settings}
    assert reader.shown() == shown


def test_a_hand_that_a_smaller_clock_does_not_have_becomes_its_last(visit):
    reader = visit().open(pair=31, d=10)
    assert reader.control("dial-4").is_checked()
    assert_shows(reader.shown(), reader.settings | {"pair": 4})


def test_two_explorers_of_a_page_do_not_disturb_each_other(reader):
    other = reader.beside("rotation")
    before = other.settings
    reader.control("position.typed").fill("11")
    reader.control("unit-degrees").check()
    reader.control("dial-3").check()
    assert other.settings == before
    other.control("dial-2").check()
    assert reader.control("dial-3").is_checked()
    assert other.control("dial-2").is_checked()
    reader.go(other.address_when_settled())
    assert (reader.settings["pair"], other.settings["pair"]) == (3, 2)
    reader.control("reset").click()
    assert reader.settings == {"preset": "clock", **PRESETS["clock"]["settings"]}
    assert other.settings["pair"] == 2


def test_half_a_number_is_left_alone_until_the_box_is_left(reader):
    box = reader.control("position.typed")
    box.fill("999")
    assert reader.settings["position"] == 5
    assert box.input_value() == "999"
    box.press("Tab")
    assert box.input_value() == "5"


# --- keyboard, touch, telephone ------------------------------------------------------------------


def test_the_keyboard_alone_reaches_and_changes_everything(visit):
    reader = visit("rotation").open(preset="offset")
    changes = {  # from control to control by Tab: the key that moves it, the setting that moves
        "position": ("ArrowRight", "position"),
        "position.typed": ("ArrowUp", "position"),
        "shift": ("ArrowLeft", "shift"),
        "shift.typed": ("ArrowDown", "shift"),
        "d": ("ArrowRight", "d"),
        "d.typed": ("ArrowUp", "d"),
        "unit-degrees": ("ArrowLeft", "unit"),
        "show-distance": ("ArrowLeft", "show"),
        "dial-0": ("ArrowRight", "pair"),
    }
    reader.control("preset").focus()
    reader.control("unit-degrees").check()
    reader.control("show-distance").check()
    reader.control("dial-0").check()
    reader.control("preset").focus()
    for key, (press, setting) in changes.items():
        reader.page.keyboard.press("Tab")
        assert reader.focused() == key
        outline = "() => getComputedStyle(document.activeElement).outlineStyle"
        assert reader.page.evaluate(outline) == "solid"
        before = reader.settings
        reader.page.keyboard.press(press)
        after = reader.settings
        assert {name for name in after if after[name] != before[name]} == {setting}, key
        assert reader.focused().startswith(key.partition("-")[0])
    reader.page.keyboard.press("Tab")
    assert reader.page.evaluate("() => document.activeElement.textContent") == "property"
    reader.control("preset").focus()
    reader.page.keyboard.press("ArrowDown")
    assert reader.settings["preset"] == "distance"
    for button in ("link", "reset"):
        reader.page.keyboard.press("Shift+Tab")
        assert reader.focused() == button
    reader.page.keyboard.press("Enter")
    assert reader.settings == {"preset": "distance", **PRESETS["distance"]["settings"]}


def test_a_wide_table_scrolls_by_keyboard_and_shows_the_chosen_hand(visit):
    reader = visit().open(d=64, pair=20)
    table = reader.box.locator(".tfm-scroll")
    in_view = """table => {
        const hand = table.querySelector('th.tfm-chosen').getBoundingClientRect();
        const box = table.getBoundingClientRect();
        return hand.left >= box.left && hand.right <= box.right;
    }"""
    reader.page.wait_for_function(
        f"() => ({in_view})(document.querySelector('#explorer-clock .tfm-scroll'))"
    )
    table.evaluate("table => { table.scrollLeft = 7; }")
    reader.control("position").press("ArrowRight")
    reader.page.evaluate(NEXT_FRAMES)
    assert table.evaluate("table => table.scrollLeft") == 7  # not back to the chosen hand
    table.focus()
    before = table.evaluate("table => table.scrollLeft")
    reader.page.keyboard.press("ArrowRight")
    reader.page.wait_for_function(
        f"() => document.querySelector('#explorer-clock .tfm-scroll').scrollLeft > {before}"
    )
    reader.control("d.typed").fill("4")
    reader.page.wait_for_function(
        "() => !document.querySelector('#explorer-clock .tfm-scroll').hasAttribute('tabindex')"
    )


def test_a_finger_can_do_it_on_a_telephone(visit):
    telephone = {"viewport": {"width": 375, "height": 800}, "has_touch": True, "is_mobile": True}
    reader = visit(**telephone).open()
    reader.control("dial-3").tap()
    reader.control("unit-degrees").tap()
    reader.control("show-rotation").tap()
    reader.until(pair=3, unit="degrees", show="rotation")
    plot = reader.box.locator(".tfm-hand .tfm-plot")
    position = round(-20 + 100 * 200 / plot.bounding_box()["width"])
    assert position != reader.settings["position"]
    plot.tap(position={"x": 200, "y": 40})
    reader.until(position=position)
    assert_shows(reader.shown(), reader.settings)
    for d in ("16", "64"):
        reader.control("d.typed").fill(d)
        small = reader.box.evaluate(
            """box => [...box.querySelectorAll('button, select, .tfm-dial, input[type=number]')]
            .map(control => control.getBoundingClientRect())
            .filter(({ width, height }) => Math.min(width, height) < 36).length"""
        )
        assert small == 0


def test_no_number_is_cut_in_half_beside_the_names(visit):
    reader = visit("rotation", viewport={"width": 375, "height": 800}).open(d=16)
    halved = """box => {
        const place = cell => cell.getBoundingClientRect();
        const edge = place(box.querySelector('.tfm-vector th')).right;
        return [...box.querySelectorAll('.tfm-vector thead th[scope=col]')].map(place)
            .filter(({ left, right }) => left < edge - 1 && right > edge + 1).length;
    }"""
    for pair in range(7):  # with the eighth the table has come to its end
        reader.control(f"dial-{pair}").check()
        reader.page.evaluate(NEXT_FRAMES)
        assert reader.box.evaluate(halved) == 0, pair


def test_nothing_sticks_out_at_telephone_width(visit):
    reader = visit(viewport={"width": 375, "height": 800}).open(d=64, pair=31)
    for show in ("numbers", "rotation", "distance"):
        reader.control(f"show-{show}").check()
        for shift in ("-20", "20"):
            if show != "numbers":
                reader.control("shift.typed").fill(shift)
            assert reader.sticking_out() == [], (show, shift)
    reader.control("preset").select_option("hand-pe1")
    assert reader.sticking_out() == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_no_violation_in_any_state(visit, mode):
    reader = visit(color_scheme=mode).open(d=64, pair=20, show="rotation")
    other = reader.beside("rotation")
    other.control("d.typed").fill("34")  # two wide tables
    across = ["landmark-unique", "region", "duplicate-id-aria"]
    assert violations(reader.page, runOnly=across) == []
    part = {"include": [[".tfm-explorer"]]}
    reader.control("d.typed").fill("6")
    other.control("d.typed").fill("10")
    other.control("shift.typed").fill("-20")
    assert violations(reader.page, part) == []
    other.control("preset").select_option("distance")
    other.control("d.typed").fill("8")
    reader.control("preset").select_option("notes-pe2")
    reader.control("unit-degrees").check()
    assert violations(reader.page, part) == []
