"""The graph of rooms in docs/architecture.md is that of the imports."""

from __future__ import annotations

from room_graph import BEGIN, END, PAGE, imports_between_rooms, with_graph


def test_the_page_shows_the_imports_of_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    assert with_graph(page) == page, "docs/architecture.md is out of date: run `make rooms`"


def test_an_old_graph_is_replaced() -> None:
    assert with_graph(f"before\n{BEGIN}old\n{END}after\n") == with_graph(f"before\n{BEGIN}{END}after\n")


def test_imports_are_counted() -> None:
    found = imports_between_rooms()
    assert found["tasks", "dag"] > 5
    assert ("dag", "tasks") not in found
    assert ("tasks", "errors") not in found  # open to all
