"""Everybody can use the page: no serious fault on any tab, at any width, in light and dark; nothing sticks out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dvae.explorer import PageModel

from .amplifiers import amplifier_space, amplifier_study
from .axe import faults
from .browsers import Visitor, served
from .conftest import space_of, study
from .test_browser import OVERLAPS

TABS = ("Inspect", "Walk", "Neighbourhood", "Gallery", "Search", "Runs")
FULL = "#from=k3&to=k7&filter=edges+%3E+9&table=all+trials"  # a view with something in every part
SIZES = {390: 844, 1280: 800, 1920: 1080}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    space = space_of("asia", 60)
    studies = [study(space, "one", [-3.0, None, -1.0], budget=50), study(space, "two", [-2.0], budget=1)]
    with served(PageModel(space, studies, others=[PageModel(space)])) as page:
        yield page


def check(visitor: Visitor, tabs: tuple[str, ...]) -> None:
    page = visitor.page
    for tab in tabs:
        visitor.tab(tab)
        page.wait_for_timeout(400)
        page.wait_for_function("!document.getElementById('busy').classList.contains('shown')")
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth", timeout=5_000)
        assert page.evaluate(OVERLAPS) == [], tab
        assert faults(page) == [], tab
    assert visitor.complaints == []
    page.close()


def test_no_fault_on_a_phone_in_the_dark(browser: Any, address: str) -> None:
    check(Visitor(browser, address + FULL, 390, SIZES[390], "dark"), ("Gallery", "Search"))


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_no_fault_on_any_tab(browser: Any, address: str, width: int, theme: str) -> None:
    check(Visitor(browser, address + FULL, width, SIZES[width], theme), TABS)


def test_the_new_parts_are_reached_by_keyboard(browser: Any, address: str) -> None:
    visitor = Visitor(browser, address + FULL + "&tab=Search")
    page = visitor.page
    page.wait_for_selector(".sorter")
    page.wait_for_timeout(400)
    reached = set()
    for _ in range(48):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(document.activeElement.closest('[id]') || {}).id"))
    wanted = {"bookmark", "copy-link", "open-gallery", "plane", "background", "colour", "filter", "map-frame", "tab"}
    wanted |= {"study", "replay-play", "replay", "scale", "table-kind", "export-top", "trial-filter"}
    assert wanted <= reached, wanted - reached
    page.focus("#colour")
    page.keyboard.press("Enter")
    page.wait_for_selector(".dash-dropdown-content")
    page.keyboard.press("Escape")
    page.close()


@pytest.fixture(scope="module")
def amplifiers() -> Iterator[str]:
    """A page with a front, conditions, columns and no scores."""
    space = amplifier_space()
    with served(PageModel(space, [amplifier_study(space)])) as page:
        yield page


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_no_fault_where_there_are_columns_and_objectives(browser: Any, amplifiers: str, width: int, theme: str) -> None:
    view = "#from=k3&to=k7&table=all+trials"
    check(Visitor(browser, amplifiers + view, width, SIZES[width], theme), TABS[:-1])


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_no_fault_in_the_graph_view_and_beside_a_comparison(browser: Any, address: str, width: int, theme: str) -> None:
    visitor = Visitor(browser, address + "#dag=k3&with=k7", width, SIZES[width], theme)
    page = visitor.page
    page.wait_for_selector("#comparison:not([hidden])")
    assert faults(page) == []
    page.click("#open-graph")
    page.wait_for_function("(dvaeViewer.state().scene || { nodes: [] }).nodes.length >= 8")
    page.keyboard.press("n")
    page.wait_for_selector(".gv-side")
    assert faults(page) == []
    assert visitor.complaints == []
    page.close()
