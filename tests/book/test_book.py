"""The built book, read as files: no warning, nothing from elsewhere, true links and numbers."""

import doctest
import functools
import io
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import tinycss2
import yaml
from bs4 import BeautifulSoup
from PIL import Image
from pygments.formatters import HtmlFormatter

from book._ext.tfm_book import highlighting, images, numbering, search, styles
from conftest import ROOT, build_book
from tfmlib import __version__, ledger

pytestmark = pytest.mark.book

LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "embed": "src"}
HEADINGS = re.compile(r"h[1-6]")
FILE_NAME = re.compile(r"\.(png|svg|webp|jpe?g|gif)$")
CSS_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


@functools.cache
def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text("utf-8"), "html.parser")


@functools.cache
def anchors(page: Path) -> frozenset[str]:
    return frozenset(tag["id"] for tag in soup(page).find_all(id=True))


def is_external(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def loaded_addresses(page: Path) -> list[str]:
    """What a browser fetches by itself when it opens the page."""
    found = [tag[name] for kind, name in LOADED.items() for tag in soup(page).find_all(kind)
             if tag.get(name)]  # fmt: skip
    found += [tag["href"] for tag in soup(page).find_all("link", href=True)]
    styles = [tag.get_text() for tag in soup(page).find_all("style")]
    styles += [tag["style"] for tag in soup(page).find_all(style=True)]
    return found + css_addresses("\n".join(styles))


def css_addresses(css: str) -> list[str]:
    return [a or b for a, b in CSS_ADDRESS.findall(css)]


def linked(page: Path, href: str) -> tuple[Path, str]:
    """The file and the anchor that a relative link leads to."""
    parts = urlsplit(href)
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return path, unquote(parts.fragment)


def number_in(page: Path) -> int:
    """Chapter 04 is number 4."""
    return int(page.name[:2])


def test_the_strict_build_has_no_warning(book):
    complaints = [line for line in book.log.splitlines() if re.search("WARNING|ERROR", line)]
    assert not complaints, "\n".join(complaints)
    assert book.exit_code == 0, book.log[-3000:]


def test_every_notebook_is_in_the_book(book):
    # Only what _toc.yml names is built, so a forgotten line would drop a chapter in silence.
    notebooks = [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("solutions/*.ipynb")]
    missing = [n.relative_to(ROOT).as_posix() for n in notebooks
               if not (book.html / n.relative_to(ROOT)).with_suffix(".html").exists()]  # fmt: skip
    assert notebooks
    assert not missing, f"not in _toc.yml: {missing}"


def test_no_page_or_style_loads_from_another_host(book):
    loads = {p.name: [a for a in loaded_addresses(p) if is_external(a)] for p in book.pages}
    for sheet in book.html.rglob("*.css"):
        text = sheet.read_text("utf-8")
        loads[sheet.name] = [a for a in css_addresses(text) if is_external(a)]
    assert not {name: found for name, found in loads.items() if found}


def test_mathematics_and_fonts_are_in_the_site(book):
    for page in book.pages:
        for address in loaded_addresses(page):
            if not address.startswith("data:"):
                path, _ = linked(page, address)
                assert path.exists(), f"{page.name} loads {address}, which is not there"
    assert (book.html / "_static/mathjax/startup.js").exists()
    assert list(book.html.rglob("*.woff*"))


def test_every_internal_link_and_anchor_resolves(book):
    broken = []
    for page in book.pages:
        for tag in soup(page).find_all("a", href=True):
            if urlsplit(tag["href"]).scheme:
                continue
            path, anchor = linked(page, tag["href"])
            is_page = path.suffix == ".html"
            if not path.is_file() or (is_page and anchor and anchor not in anchors(path)):
                broken.append(f"{page.name}: {tag['href']} ({tag.get_text(strip=True)})")
    assert not broken, "\n".join(broken)


def test_chapters_are_numbered_by_their_file_names(book):
    assert book.chapters
    first = book.html / "book/pages/generated/welcome.html"
    for page in book.chapters:
        number = soup(page).select_one("article h1 .section-number").get_text(strip=True)
        assert number == f"{number_in(page)}."
        in_sidebar = soup(first).select_one(f'nav a[href$="{page.name}"]')
        assert in_sidebar.get_text(strip=True).startswith(f"{number_in(page)}. ")


def test_equations_are_numbered_within_their_chapter(book):
    for page in book.chapters:
        equations = [tag.get_text()[: -len("#")] for tag in soup(page).select(".eqno")]
        expected = [f"({number_in(page)}.{i + 1})" for i in range(len(equations))]
        assert equations == expected


def test_exercises_are_numbered_by_their_labels(book):
    exercises = [box for page in book.chapters for box in soup(page).select("div.exercise")]
    assert exercises
    for page in book.chapters:
        for box in soup(page).select("div.exercise"):
            _, chapter, number = box["id"].split("-")
            title = box.select_one(".admonition-title").get_text()
            assert int(chapter) == number_in(page)
            assert title.startswith(f"Exercise {chapter}.{number} ")


def test_exercise_and_solution_lead_to_each_other(book):
    for page in book.chapters:
        solutions = book.html / "solutions" / page.name
        for box in soup(page).select("div.exercise"):
            label = box["id"].removeprefix("ex-")
            there = [linked(page, a["href"]) for a in box.find_all("a", string="Solution")]
            assert len(there) == 1, f"Exercise {label} has {len(there)} links to a solution"
            path, anchor = there[0]
            section = soup(path).find(id=anchor)
            solution = section.find(id=f"sol-{label}")
            assert path == solutions
            assert solution, f"the link of {box['id']} does not lead to its solution"
            title = solution.select_one(".admonition-title")
            number = label.replace("-", ".")
            assert title.get_text().startswith(f"Solution to Exercise {number} ")
            assert linked(path, title.a["href"]) == (page, box["id"])
            back = section.find("a", string="Back to the exercise")
            assert linked(path, back["href"]) == (page, box["id"])


def test_every_solution_has_an_exercise_and_none_is_in_a_chapter(book):
    for page in book.chapters:
        exercises = {box["id"].removeprefix("ex-") for box in soup(page).select("div.exercise")}
        solutions = soup(book.html / "solutions" / page.name).select("div.solution")
        assert {box["id"].removeprefix("sol-") for box in solutions} == exercises
        assert not soup(page).select("div.solution")


def test_a_chapter_offers_its_blank_notebook(book):
    for page in book.chapters:
        path, _ = linked(page, soup(page).select_one(".tfm-work a[download]")["href"])
        committed = ROOT / "notebooks" / page.with_suffix(".ipynb").name
        assert path.read_bytes() == committed.read_bytes()


def test_a_verdict_says_its_sentence_and_leads_to_the_ledger(book):
    badges = [(page, a) for page in book.chapters
              for a in soup(page).select('article a[href*="ledger.html#"]')]  # fmt: skip
    assert badges
    for page, badge in badges:
        assert badge.get("title"), f"{page.name}: {badge} has no sentence"
        path, anchor = linked(page, badge["href"])
        assert anchor in anchors(path)
        warns = "tfm-erratum" in badge.get("class", [])
        assert warns == ledger.find(anchor).is_grave, f"{page.name}: {anchor}"


def test_a_notebook_leads_back_to_its_page_and_the_page_to_the_notebook(book):
    for page in book.chapters:
        place = page.relative_to(book.html.parent.parent).as_posix()
        cells = json.loads((ROOT / "notebooks" / f"{page.stem}.ipynb").read_text("utf-8"))["cells"]
        assert f"open `{place}` in your browser" in "".join(cells[1]["source"])
        assert place not in page.read_text("utf-8")  # who is there need not be told


def test_every_page_shows_the_version_of_the_library(book):
    for page in book.pages:
        if page.name != "index.html":
            footer = soup(page).select_one("footer .version")
            assert footer.get_text(strip=True) == f"Version {__version__}", page.name


def test_a_reader_does_not_see_that_a_page_was_generated(book):
    generated = sorted((book.html / "book/pages/generated").glob("*.html"))
    assert len(generated) == 5
    for page in generated:
        assert "do not edit" not in soup(page).get_text()


def test_the_note_of_a_chapter_tells_both_ways_to_open_it(book):
    for page in book.chapters:
        note = " ".join(soup(page).select_one(".tfm-work").get_text().split())
        assert f"run make lab and open notebooks/{page.stem}.ipynb" in note
        assert "notebooks folder first: it needs the book’s library tfmlib" in note


def test_every_exercise_leads_to_the_list_and_the_list_to_every_exercise(book):
    everything = book.html / "book/pages/generated/exercises.html"
    listed = {linked(everything, a["href"]) for a in soup(everything).select("article a")}
    for page in book.chapters:
        for box in soup(page).select("div.exercise"):
            assert (page, box["id"]) in listed
            back = box.find("a", string="All exercises")
            chapter = box["id"].split("-")[1]
            assert linked(page, back["href"]) == (everything, f"exercises-of-{chapter}")
            assert soup(everything).find(id=f"exercises-of-{chapter}")


def test_every_image_says_its_message(book):
    pictures = [(page, image) for page in book.pages for image in soup(page).find_all("img")]
    assert pictures
    for page, image in pictures:
        alt = image.get("alt", "")
        assert not FILE_NAME.search(alt), f"{page.name}: alt text {alt!r} is a file's name"
        assert len(alt.split()) > 5, f"{page.name}: alt text {alt!r} says no message"


def test_a_figure_is_a_file_of_known_size_that_waits_to_be_seen(book):
    for page in book.chapters:
        figures = soup(page).select("figure.tfm-figure img")
        assert figures
        for image in figures:
            path, _ = linked(page, image["src"])
            with Image.open(path) as picture:
                proportion = picture.width / picture.height
            assert image["loading"] == "lazy"
            # Nothing jumps when it comes: the place kept for it has the picture's proportions.
            kept = int(image["width"]) / int(image["height"])
            assert kept == pytest.approx(proportion, rel=0.01)


def test_no_id_stands_twice_in_a_page(book):
    for page in book.pages:
        ids = [element["id"] for element in soup(page).select("[id]")]
        assert sorted(set(ids)) == sorted(ids), page


def test_every_page_has_one_title_and_skips_no_level_of_headings(book):
    for page in book.pages:
        levels = [int(tag.name[1]) for tag in soup(page).find_all(HEADINGS)]
        assert levels.count(1) == 1, page.name
        skips = [(one, two) for one, two in pairwise(levels) if two > one + 1]
        assert levels[0] == 1, page.name
        assert not skips, f"{page.name} goes from heading level to level like {skips}"


def test_every_page_reads_in_order_by_its_landmarks(book):
    for page in book.pages:
        if page.name == "index.html":
            continue
        body = soup(page).body
        first = body.find(["a", "button", "input"])
        main = body.find("main")
        assert linked(page, first["href"])[1] == main["id"], f"{page.name}: no link past the menu"
        before = [nav["aria-label"] for nav in main.find_all_previous("nav")]
        assert before == ["Main", "Home"]
        assert len(body.find_all("main")) == 1
        navigations = [nav.get("aria-label") or nav["aria-labelledby"] for nav in body("nav")]
        assert len(set(navigations)) == len(navigations), page.name
        # What follows the title is the page; its table of contents repeats the headings in order.
        titles = [tag.parent["id"] for tag in main.select("section > :is(h2, h3)")]
        contents = [a["href"].removeprefix("#") for a in main.select(".bd-toc nav a")]
        assert contents == [title for title in titles if title in contents]


def test_a_page_loads_no_script_that_has_nothing_to_do_there(book):
    for page in book.chapters:
        scripts = " ".join(tag["src"] for tag in soup(page).find_all("script", src=True))
        for idle in ("fontawesome", "bootstrap", "search", "thebe", "tabs"):
            assert idle not in scripts, f"{page.name} loads {idle}"
        assert "clipboard" in scripts


SHEET = """
@import "x.css"; .a.b > p:hover, .lost p {top: 0}
@media print {.lost {top: 0} #id::after {content: "a{b}"}}
@media screen {.lost {top: 0}} @font-face {font-family: F}
:not(.lost) {left: 0} a:is(.lost, .a) {left: 0} .lost:not(.a) {left: 0} [data-x=lost] {left: 0}
"""


def test_a_style_sheet_keeps_exactly_the_rules_that_can_match():
    words = styles.words_of(['<p id="id" class="a b"> .lost </p>'], ['document.createElement("a")'])
    kept = styles.purge(tinycss2.parse_stylesheet(SHEET), words)
    assert kept == (
        '@import "x.css";.a.b > p:hover{top: 0}@media print {#id::after{content: "a{b}"}}'
        "@font-face {font-family: F}:not(.lost){left: 0}a:is(.lost, .a){left: 0}"
        "[data-x=lost]{left: 0}"
    )


def test_a_picture_keeps_every_pixel(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (7, 11, 3), np.uint8)
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    name = images.save(png.getvalue(), tmp_path)
    assert images.save(png.getvalue(), tmp_path) == name
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with Image.open(tmp_path / name) as picture:
        assert np.array_equal(np.asarray(picture), pixels)


def test_marks_are_left_out_only_where_plain_text_looks_the_same():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    options = config["sphinx"]["config"]["html_theme_options"]
    for style in (options["pygments_light_style"], options["pygments_dark_style"]):
        formatter = HtmlFormatter(style=style)
        looks = formatter.class2style
        plain = looks[""][0]
        for mark in highlighting.PLAIN:
            if mark != "w":  # nobody sees the colour of a space
                assert looks.get(mark, (plain,))[0] == plain, (style, mark)


@pytest.mark.parametrize("module", [highlighting, numbering, search, styles])
def test_the_examples_of_the_extension_are_true(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """Chapters 0 and 7 with nothing between them, and exercises that are not in order."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("_config.yml", "book/_ext", "book/_static", "book/references.bib"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (folder / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, folder / name)
    (folder / "notebooks").mkdir()
    (folder / "book/preface.md").write_text("# Preface\n\nText, after {cite}`ba2016layer`.\n")
    (folder / "book/sources.md").write_text("# Sources\n\n```{bibliography}\n```\n")
    for number in ("00", "07"):
        short = int(number)
        (folder / f"notebooks/{number}-topic.md").write_text(
            f"# Chapter\n\n## Section\n\n$$a = b$$ (eq-{short})\n\n{{eq}}`eq-{short}` and "
            f"{{ref}}`ex-{short}-3` and [a cell]({number}-topic.md#cell-id=ex-{short}-2).\n\n"
            + "".join(
                f"```{{exercise}} Title\n:label: ex-{short}-{i}\n:enumerator: {short}.{i}\n\nDo.\n"
                "```\n\n"
                for i in (3, 2)
            )
        )
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: book/preface\nparts:\n  - caption: Chapters\n    numbered: 2\n"
        "    chapters:\n      - file: notebooks/00-topic\n      - file: notebooks/07-topic\n"
        "  - caption: Reference\n    chapters:\n      - file: book/sources\n"
    )
    return build_book(folder, folder / "out")


@pytest.mark.parametrize("number", [0, 7])
def test_numbers_hold_when_chapters_are_missing(small_book, number):
    assert small_book.exit_code == 0, small_book.log[-3000:]
    page = soup(small_book.html / f"notebooks/0{number}-topic.html")
    assert page.select_one("article h1").get_text().startswith(f"{number}. ")
    assert page.select_one("article h2").get_text().startswith(f"{number}.1. ")
    assert page.select_one(".eqno").get_text().startswith(f"({number}.1)")
    titles = [
        " ".join(tag.get_text().split()) for tag in page.select(".exercise .admonition-title")
    ]
    assert titles == [f"Exercise {number}.3 (Title)", f"Exercise {number}.2 (Title)"]
    text = page.select_one("article").get_text()
    assert f"({number}.1) and Exercise {number}.3" in text
    assert page.find("a", string="a cell")["href"] == f"#ex-{number}-2"
