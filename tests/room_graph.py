"""The graph of rooms in docs/architecture.md, read from the imports: `make rooms` writes it again."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import networkx as nx

from test_rooms import PLACE, imported_modules, modules, room_of

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: written by `make rooms` -->\n", "<!-- end of rooms -->\n"


def imports_between_rooms() -> Counter[tuple[str, str]]:
    """How many import statements of one room name another."""
    found: Counter[tuple[str, str]] = Counter()
    for module, is_package, source in modules():
        room = room_of(module)
        others = map(room_of, imported_modules(ast.parse(source), module, is_package))
        found.update((room, other) for other in others if {room, other} <= PLACE.keys() and other != room)
    return found


def graph_text() -> str:
    """A drawing of the arrows that others do not imply, and a table of all of them."""
    found = imports_between_rooms()
    rooms = sorted(PLACE, key=PLACE.__getitem__)
    sizes = Counter(room_of(module) for module, _, _ in modules())
    needed = nx.transitive_reduction(nx.DiGraph(found.keys())).edges
    arrows = [
        f"    {room} -->|{found[room, other]}| {other}" for room in rooms for other in rooms if (room, other) in needed
    ]
    rows = []
    for room in rooms:
        listed = ", ".join(f"{other} {found[room, other]}" for other in rooms if (room, other) in found)
        rows.append(f"| `{room}` | {sizes[room]} | {listed} |")
    drawing = ["```mermaid", "graph RL", *arrows, "```"]
    table = ["| room | modules | imports from |", "| --- | --- | --- |", *rows]
    return "\n".join([*drawing, "", *table]) + "\n"


def with_graph(page: str) -> str:
    """The page with the graph of today between its two marks."""
    text = BEGIN + graph_text() + END
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: text, page, count=1, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(with_graph(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
