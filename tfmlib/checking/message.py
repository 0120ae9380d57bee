"""Showing a message as HTML in Jupyter and as plain text elsewhere; both say the same.

A message is a title and a list of items. It is written once and rendered twice, so that the two
forms cannot come to differ.
"""

import html
from dataclasses import dataclass
from typing import Any

from tfmlib.checking import host

MARKS = {True: ("✓", "met"), False: ("✗", "not met"), None: ("·", "not reached")}
# Borders only: text keeps the page's own colour, so it reads in light and in dark.
BORDER = {"passed": "#2a9d5c", "failed": "#d1495b", "neutral": "#8a8f98"}


@dataclass(frozen=True)
class Item:
    """A line of a message: a marked expectation, or a labelled sentence."""

    text: str
    label: str = ""
    mark: bool | None = None  # of an expectation: met, not met, not reached
    is_marked: bool = False
    link: str = ""
    is_folded: bool = False  # to be opened by whoever wants to know


@dataclass(frozen=True)
class Message:
    title: str
    items: tuple[Item, ...] = ()
    tone: str = "neutral"

    def __str__(self) -> str:
        return "\n".join([self.title, *("  " + _item_text(item) for item in self.items)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        style = f"border-left:4px solid {BORDER[self.tone]};padding:.2em 0 .2em .8em;margin:.4em 0"
        lines = "".join(f"<li>{_item_html(item)}</li>" for item in self.items)
        listing = (
            f'<ul style="list-style:none;padding-left:0;margin:.3em 0">{lines}</ul>'
            if lines
            else ""
        )
        return (
            f'<div class="tfm-feedback tfm-{self.tone}" role="group" '
            f'aria-label="{html.escape(self.title)}" style="{style}">'
            f"<strong>{html.escape(self.title)}</strong>{listing}</div>"
        )

    def show(self) -> None:
        """Show it as the place does in which the answer is checked."""
        host.current().show(self)


def _item_text(item: Item) -> str:
    if item.is_marked:
        return f"{MARKS[item.mark][0]} {item.text}"
    text = f"{item.label}: {item.text}" if item.label else item.text
    return f"{text} {item.link}" if item.link else text


def _item_html(item: Item) -> str:
    if item.is_marked:
        sign, name = MARKS[item.mark]
        return f'<span role="img" aria-label="{name}">{sign}</span> {html.escape(item.text)}'
    if item.is_folded:
        return (
            f"<details><summary>{html.escape(item.label)}:</summary> "
            f"<code>{html.escape(item.text)}</code></details>"
        )
    label = f"<strong>{html.escape(item.label)}:</strong> " if item.label else ""
    link = f' <a href="{html.escape(item.link)}">{html.escape(item.link)}</a>' if item.link else ""
    return label + html.escape(item.text) + link
