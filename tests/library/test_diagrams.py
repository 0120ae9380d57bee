"""Every diagram, as its chapter's tests draw it, is a picture that all readers can use."""

import importlib
from pathlib import Path

import pytest
from pictures import (
    assert_all_text_can_be_read,
    assert_fits_a_phone,
    assert_light_and_dark_show_the_same,
    assert_no_text_overlaps_or_leaves,
    assert_tells_its_message,
)

from tfmlib.plots import diagrams

HERE = Path(__file__).parent
TOPICS = sorted(path.stem for path in Path(diagrams.__file__).parent.glob("[a-z]*.py"))
PICTURES = {
    f"{topic}: {name}": picture
    for topic in TOPICS
    if (HERE / f"test_diagram_{topic}.py").exists()
    for name, picture in importlib.import_module(f"test_diagram_{topic}").PICTURES.items()
}
each_picture = pytest.mark.parametrize("name", PICTURES)


def test_every_topic_has_tests_with_pictures_of_its_own():
    assert len(TOPICS) >= 13
    for topic in TOPICS:
        assert (HERE / f"test_diagram_{topic}.py").exists(), topic
        assert any(name.startswith(f"{topic}: ") for name in PICTURES), topic


@each_picture
def test_light_and_dark_show_the_same_diagram(name):
    assert_light_and_dark_show_the_same(PICTURES[name])


@each_picture
def test_all_text_can_be_read_in_both_themes(name):
    assert_all_text_can_be_read(PICTURES[name])


@each_picture
def test_no_text_overlaps_another_or_leaves_the_diagram(name):
    assert_no_text_overlaps_or_leaves(PICTURES[name])


@each_picture
def test_a_diagram_fits_a_phone_and_weighs_little(name):
    assert_fits_a_phone(PICTURES[name])


@each_picture
def test_the_alt_text_tells_the_message(name):
    assert_tells_its_message(PICTURES[name])
