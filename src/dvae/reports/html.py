"""Documents as one HTML file that needs nothing else: scripts, styles and pictures are in it, and nothing is fetched.

The page allows its own scripts alone, by their hashes: whatever stands in a label or a name is shown and never run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from dvae.figures import Scene, viewer_script, viewer_style
from dvae.files import as_characters
from dvae.reports.document import Block, Code, Document, Figure, Heading, Items, Paragraph, PointMap, Summary, Table


def to_html(document: Document) -> str:
    """The text of the file."""
    writer = _Writer()
    # A summary stands above the list of contents.
    top = [block for block in document.blocks if isinstance(block, Summary)]
    above = "\n".join(map(writer.block, top))
    body = "\n".join(writer.block(block) for block in document.blocks if block not in top)
    headings = [block for block in document.blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{_anchor(heading)}">{escape(heading.text)}</a>' for heading in headings)
    script = (viewer_script() + "\n" if writer.scenes or writer.maps else "") + _asset("page.js")
    style = _asset("page.css") + (viewer_style() if writer.scenes or writer.maps else "")
    note = f'<p class="made">{escape(document.note)}</p>\n' if document.note else ""
    return as_characters(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        f"<title>{escape(document.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<div class="head"><h1>{escape(document.title)}</h1>'
        '<button type="button" class="theme" title="Light or dark" aria-label="Light or dark">'
        '<span class="half"></span></button></div>\n'
        + note
        + above
        + (f'<nav aria-label="Contents">{links}</nav>\n' if len(headings) > 2 else "")
        + f'<main>{body}\n</main>\n<script type="application/json" id="report-data">{writer.data()}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


class _Writer:
    """Blocks as HTML; what the script shows on demand is gathered beside."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self.maps: list[PointMap] = []

    def data(self) -> str:
        """Scenes and maps as JSON that can stand between two tags."""
        plain = {
            "scenes": [scene.to_mapping() for scene in self.scenes],
            "maps": [_plain_map(one) for one in self.maps],
        }
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")

    def block(self, block: Block) -> str:
        match block:
            case Heading(text, level):
                return f'<h{level} id="{_anchor(block)}">{escape(text)}</h{level}>'
            case Paragraph(text, warning):
                return f'<p class="warning">{escape(text)}</p>' if warning else f"<p>{escape(text)}</p>"
            case Items(lines):
                return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
            case Code(text):
                return f"<pre>{escape(text)}</pre>"
            case Table():
                return _table(block)
            case Figure():
                return self.figure(block)
            case Summary():
                return self.summary(block)
            case PointMap():
                self.maps.append(block)
                return _map(block)

    def figure(self, figure: Figure) -> str:
        # As an image, not inline: names inside one picture cannot meet those of another.
        data = base64.b64encode(figure.svg.read_bytes()).decode()
        title, scene = escape(figure.title, quote=True), ""
        if figure.scene is not None:
            scene = f' data-scene="{len(self.scenes)}"'
            self.scenes.append(figure.scene)
        return (
            f'<figure><button type="button" class="zoom {figure.kind}" data-title="{title}"{scene} '
            f'title="Click to enlarge"><img alt="{title}" src="data:image/svg+xml;base64,{data}"></button>'
            f"<figcaption><strong>{escape(figure.title)}.</strong> {escape(figure.caption)}</figcaption></figure>"
        )

    def summary(self, summary: Summary) -> str:
        facts = "".join(
            f'<div class="fact"><dt>{escape(fact.name)}</dt><dd class="value">{escape(fact.value)}</dd>'
            f'<dd class="meaning">{escape(fact.note)}</dd></div>'
            for fact in summary.facts
        )
        best = "" if summary.best is None else f'<div class="best">{self.figure(summary.best)}</div>'
        steps = "".join(f"<li>{escape(one.text)}<pre>{escape(one.command)}</pre></li>" for one in summary.advice)
        advice = f'<div class="next"><h2>What to do next</h2><ol>{steps}</ol></div>' if steps else ""
        return f'<section class="summary" aria-label="Summary"><dl class="facts">{facts}</dl>{best}{advice}</section>\n'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "".join(
        ('<tr class="quiet">' if place in table.quiet else "<tr>")
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for place, row in enumerate(table.rows)
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )


def _map(one: PointMap) -> str:
    label = f"{one.title}: {len(one.points):,} points. Arrow keys go from one drawn DAG to the next, Enter shows it."
    tools = "".join(
        f'<button type="button" data-zoom="{way}" title="{name}" aria-label="{name}">{sign}</button>'
        for way, name, sign in (("out", "Zoom out", "−"), ("in", "Zoom in", "+"))
    )
    return (
        f'<figure><div class="map"><canvas tabindex="0" role="application" aria-label="{escape(label, quote=True)}">'
        f'</canvas><div class="tools">{tools}</div><div class="tip" role="status" hidden></div></div>'
        f'<div class="scale"><span>{escape(one.shades[0])}</span><i></i><span>{escape(one.shades[1])}</span></div>'
        f"<figcaption><strong>{escape(one.title)}.</strong> {escape(one.caption)}</figcaption></figure>"
    )


def _plain_map(one: PointMap) -> dict[str, Any]:
    points = [
        [
            round(point.x, 4), round(point.y, 4), None if point.shade is None else round(point.shade, 3),
            point.words, point.scene, int(point.found),
        ]
        for point in one.points
    ]  # fmt: skip
    return {"axes": list(one.axes), "points": points, "scenes": [scene.to_mapping() for scene in one.scenes]}


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8", "replace")).digest()).decode()
    return (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _anchor(heading: Heading) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in heading.text.lower())


@cache
def _asset(name: str) -> str:
    return (files("dvae.reports") / name).read_text(encoding="utf-8")
