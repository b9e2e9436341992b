"""Documents as one HTML file that needs nothing else: no script, no style sheet, no font, no picture from elsewhere."""

from __future__ import annotations

import base64
from html import escape

from dvae.files import as_characters
from dvae.reports.document import Block, Code, Document, Figure, Heading, Items, Paragraph, Table

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; color: #1e293b;
       background: #fff; margin: 0 auto; max-width: 70rem; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.8rem 0 .6rem; padding-top: .9rem; border-top: 1px solid #e2e8f0; }
h3 { font-size: 1.08rem; margin: 1.8rem 0 .4rem; }
nav { font-size: .92rem; columns: 2; margin: 1rem 0; }
nav a { display: block; color: #0369a1; text-decoration: none; padding: .1rem 0; }
nav a:hover { text-decoration: underline; }
p { max-width: 48rem; }
.warning { background: #fff7ed; border-left: 4px solid #ea8a2e; padding: .7rem 1rem; }
.scroll { overflow-x: auto; margin: .4rem 0 .3rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .6rem 0 .35rem; }
th, td { text-align: right; padding: .26rem .6rem; border-bottom: 1px solid #eef2f7; white-space: nowrap; }
th { color: #475569; font-weight: 600; border-bottom: 1.5px solid #cbd5e1; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.quiet td { color: #64748b; font-style: italic; }
.note { color: #64748b; font-size: .86rem; margin: .3rem 0 1.4rem; }
figure { margin: 1.4rem 0 2.2rem; }
figure img { max-width: 100%; height: auto; border: 1px solid #e2e8f0; border-radius: 6px; background: #fff; }
figcaption { font-size: .9rem; color: #334155; max-width: 52rem; margin-top: .5rem; }
pre { background: #f8fafc; border: 1px solid #e2e8f0; border-radius: 6px; padding: .7rem .9rem; overflow-x: auto;
      font-size: .86rem; }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


def to_html(document: Document) -> str:
    headings = [block for block in document.blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{_anchor(heading)}">{escape(heading.text)}</a>' for heading in headings)
    body = "\n".join(_block(block) for block in document.blocks)
    return as_characters(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(document.title)}</h1>\n"
        + (f"<nav>{links}</nav>\n" if len(headings) > 2 else "")
        + f"{body}\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
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
        case Figure(title, svg, _, caption):
            # As an image, not inline: names inside one picture cannot meet those of another.
            data = base64.b64encode(svg.read_bytes()).decode()
            return (
                f'<figure><img alt="{escape(title, quote=True)}" src="data:image/svg+xml;base64,{data}">'
                f"<figcaption><strong>{escape(title)}.</strong> {escape(caption)}</figcaption></figure>"
            )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        ('<tr class="quiet">' if place in table.quiet else "<tr>")
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for place, row in enumerate(table.rows)
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}'
    )


def _anchor(heading: Heading) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in heading.text.lower())
