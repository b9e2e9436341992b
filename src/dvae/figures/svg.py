"""Pictures as SVG text: plain elements, no script, no style sheet, nothing fetched from elsewhere."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from dvae.figures.layout import Point
from dvae.figures.picture import FONTS, Arrow, Picture, Shape, Text

# XML 1.0 has no way to write these characters.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_text(picture: Picture) -> str:
    width, height = _number(picture.width), _number(picture.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONTS}">'
    ]
    if picture.background is not None:
        paint = f'fill="{picture.background}"'
        lines.append(f'<rect class="background" width="{width}" height="{height}" {paint}/>')
    lines += [_shape(card, "card") for card in picture.cards]
    lines += [_arrow(arrow) for arrow in picture.arrows]
    lines += [_shape(node, "node") for node in picture.nodes]
    lines += [_text(title, "title") for title in picture.titles]
    return "\n".join([*lines, "</svg>", ""])


def _shape(shape: Shape, name: str) -> str:
    paint = f'fill="{shape.fill}" stroke="{shape.stroke}"'
    if shape.line != 1:
        paint += f' stroke-width="{_number(shape.line)}"'
    if shape.radius * 2 >= max(shape.width, shape.height):
        at = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}"'
        outline = f'<circle {at} r="{_number(shape.radius)}" {paint}/>'
    else:
        left, top = _number(shape.x - shape.width / 2), _number(shape.y - shape.height / 2)
        size = f'width="{_number(shape.width)}" height="{_number(shape.height)}" rx="{_number(shape.radius)}"'
        outline = f'<rect x="{left}" y="{top}" {size} {paint}/>'
    label = _text(shape.label, "label") if shape.label is not None else ""
    return f'<g class="{name}">{_hover(shape.full)}{outline}{label}</g>'


def _arrow(arrow: Arrow) -> str:
    start, *rest = arrow.points
    path = f"M{_point(start)}" + "".join(
        f"C{_point(rest[k])} {_point(rest[k + 1])} {_point(rest[k + 2])}" for k in range(0, len(rest), 3)
    )
    dashes = ' stroke-dasharray="6 4"' if arrow.dashed else ""
    line = f'<path d="{path}" fill="none" stroke="{arrow.colour}" stroke-width="{_number(arrow.width)}"{dashes}/>'
    head = ""
    if arrow.head is not None:
        head = f'<polygon points="{" ".join(map(_point, arrow.head))}" fill="{arrow.colour}"/>'
    return f'<g class="edge">{_hover(arrow.full)}{line}{head}</g>'


def _text(text: Text, name: str) -> str:
    weight = ' font-weight="bold"' if text.bold else ""
    # Centred by hand: dominant-baseline is not understood everywhere.
    y = text.y + 0.35 * text.size
    return (
        f'<text class="{name}" x="{_number(text.x)}" y="{_number(y)}" font-size="{_number(text.size)}" '
        f'text-anchor="middle" fill="{text.colour}"{weight}>{_hover(text.full)}{_escaped(text.text)}</text>'
    )


def _hover(full: str) -> str:
    return f"<title>{_escaped(full)}</title>" if full else ""


def _escaped(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text))


def _point(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
