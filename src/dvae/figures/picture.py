"""A picture as a value: what is drawn where, in pixels, before anything is written as SVG or PNG."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from dvae.figures.layout import Point

INK = "#1e293b"
FONTS = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
ELLIPSIS = "…"

_NARROW = frozenset("ijlIft.,:;'|!()[]{}/\\ `-r\"")
_WIDE = frozenset("mwMWQO@%&_+=<>~#…→")


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, centred at (x, y)."""

    x: float
    y: float
    text: str
    size: float
    colour: str = INK
    bold: bool = False
    full: str = ""  # shown on hover, where the text is shortened


@dataclass(frozen=True, slots=True)
class Shape:
    """A rounded rectangle (a circle when the radius is half its size) centred at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str
    label: Text | None = None
    full: str = ""
    line: float = 1.0  # width of the outline


@dataclass(frozen=True, slots=True)
class Arrow:
    """A chain of cubics, a start then (control, control, end) each, that stops at the base of its head, if any."""

    points: tuple[Point, ...]
    head: tuple[Point, Point, Point] | None
    colour: str
    width: float
    full: str = ""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Cards lie at the back, arrows on them, nodes on the arrows, titles in front."""

    width: float
    height: float
    background: str | None = None
    cards: tuple[Shape, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    nodes: tuple[Shape, ...] = ()
    titles: tuple[Text, ...] = ()


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a line is; a little too wide in most fonts, so that text stays inside its box."""
    return sum(map(_advance, text)) * size * (1.1 if bold else 1.0)


def shortened(text: str, max_width: float, size: float, *, bold: bool = False) -> str:
    """The text on one line, cut with an ellipsis where it is wider than `max_width` pixels."""
    text = "".join("\ufffd" if _undrawable(character) else character for character in " ".join(text.split()))
    if text_width(text, size, bold=bold) <= max_width:
        return text
    while text and text_width(text + ELLIPSIS, size, bold=bold) > max_width:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS


def _undrawable(character: str) -> bool:
    """Control characters and halves of surrogate pairs, which no font has."""
    return unicodedata.category(character) in ("Cc", "Cs")


def _advance(character: str) -> float:
    """The width of a character in units of the font size, after DejaVu Sans."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.40
    if character in _WIDE:
        return 0.90
    return 0.70 if character.isupper() else 0.62
