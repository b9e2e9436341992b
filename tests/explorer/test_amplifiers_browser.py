"""The page of a model of amplifiers in a real Chromium: its front, its sliders, and the values at its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dvae.explorer import PageModel, Space, map_figure

from .amplifiers import THREE, amplifier_space, amplifier_study
from .browsers import Visitor
from .test_browser import OVERLAPS

POINTS = """() => document.querySelector('#front .js-plotly-plot').data.map(
    t => ({ name: t.name, numbers: Array.from(t.customdata), x: Array.from(t.x), y: Array.from(t.y) }))"""
SPOT = """([name, n]) => {
    const graph = document.querySelector('#front .js-plotly-plot'), box = graph.getBoundingClientRect();
    const { xaxis, yaxis } = graph._fullLayout, trace = graph.data.find(t => t.name === name);
    return [box.left + xaxis._offset + xaxis.d2p(trace.x[n]), box.top + yaxis._offset + yaxis.d2p(trace.y[n])];
}"""
NODE = """node => {
    const frame = document.getElementById('drawing'), box = frame.getBoundingClientRect();
    const at = frame._cyreg.cy.getElementById('n' + node).renderedPosition();
    return [box.left + at.x, box.top + at.y];
}"""


@pytest.fixture(scope="module")
def space() -> Space:
    return amplifier_space()


@pytest.fixture(scope="module")
def model(space: Space) -> PageModel:
    return PageModel(space, [amplifier_study(space), amplifier_study(space, THREE, "three")])


@pytest.fixture(scope="module")
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    one = Visitor(browser, address)
    yield one
    assert one.complaints == []


def shown_points(visitor: Visitor) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in visitor.page.evaluate(POINTS)}


def test_the_front_is_drawn_hovered_and_clicked(visitor: Visitor, model: PageModel) -> None:
    page, view = visitor.page, model.study(0).front
    assert view is not None
    visitor.tab("Search")
    visitor.wait_for_text("#front-words", f"{len(view.front)} of 40 on the front")
    assert f"hypervolume {view.hypervolume:.4f}" in visitor.text("#front-words")
    page.wait_for_selector("#front .main-svg >> nth=0")
    assert page.is_hidden("#progress-frame")
    points = shown_points(visitor)
    assert list(points) == ["infeasible", "feasible", "on the front"]
    assert sorted(points["on the front"]["numbers"]) == sorted(view.front)
    assert set(points["infeasible"]["numbers"]) == set(view.values) - view.feasible
    assert [visitor.text(f".top-row >> nth={place} >> .values") for place in (0, 1)] != [""] * 2
    chosen = points["on the front"]["numbers"][-1]
    spot = page.evaluate(SPOT, ["on the front", len(view.front) - 1])
    page.mouse.move(spot[0] - 1, spot[1])
    visitor.wait_for_text("#front-card", f"trial {chosen}")
    assert "on the front" in visitor.text("#front-card")
    assert all(name in visitor.text("#front-card .values") for name in ("gain", "bw", "pm"))
    page.mouse.click(*spot)
    page.wait_for_selector("#panel-Inspect:not([hidden])")
    visitor.wait_for_text("#title", f"Trial {chosen} of wishes")
    shown = model.space.task.parse(page.input_value("#text"))
    assert shown == model.scored_trial(0, chosen).dag


def test_two_of_three_objectives_are_chosen_and_progress_is_a_click_away(visitor: Visitor, model: PageModel) -> None:
    page, view = visitor.page, model.study(1).front
    assert view is not None
    visitor.tab("Search")
    visitor.choose("study", "three")
    visitor.wait_for_text("#front-words", "maximize fom")
    visitor.choose("front-y", "fom")
    page.wait_for_function("document.querySelector('#front .js-plotly-plot').layout.yaxis.title.text.startsWith('fom')")
    front = shown_points(visitor)["on the front"]
    assert front["y"] == [view.values[number]["fom"] for number in front["numbers"]]
    stars = 40 + len(view.front)
    assert len(visitor.trace(map_figure.PROPOSALS, lambda trace: len(trace["x"]) == stars)["x"]) == stars
    assert page.is_hidden("#scale")  # of the curves, which are hidden as well
    page.click("#front-kind label:has-text('Progress')")
    page.wait_for_selector("#progress-frame:not([hidden])")
    assert page.is_hidden("#front-frame")
    assert page.is_visible("#scale")


def test_a_slider_is_where_the_dag_is_and_moving_it_changes_the_dag(visitor: Visitor, space: Space) -> None:
    page = visitor.page
    visitor.tab("Inspect")
    page.evaluate("dash_clientside.set_props('current', { data: { known: 3 } })")
    visitor.wait_for_text("#title", "Known DAG 3")
    slider = page.locator(".condition >> nth=0").locator("[role=slider]")
    own = round(space.known.dags[3].properties["fom"])
    page.wait_for_function(
        "own => Number(document.querySelector('.condition [role=slider]').ariaValueNow) === own", arg=own
    )
    assert visitor.text("#title") == "Known DAG 3"  # the page moved the slider; nobody asked for anything
    before = visitor.trace(map_figure.CURRENT)["x"][0]
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    visitor.wait_for_text("#title", "Decoded DAG")
    page.wait_for_function(
        "own => Number(document.querySelector('.condition [role=slider]').ariaValueNow) >= own + 2.5", arg=own
    )
    assert visitor.trace(map_figure.CURRENT, lambda trace: trace["x"][0] != before)["x"][0] != before


def test_a_node_shows_its_columns_under_the_pointer(visitor: Visitor, space: Space) -> None:
    page, dag = visitor.page, space.known.dags[0]
    visitor.tab("Inspect")
    page.evaluate("dash_clientside.set_props('current', { data: { known: 0 } })")
    visitor.wait_for_text("#title", "Known DAG 0")
    page.wait_for_timeout(400)  # until the drawing has found its scale
    assert page.locator(".drawing .node-tip:visible").count() == 0
    page.mouse.move(*page.evaluate(NODE, 1))
    tip = "#panel-Inspect .node-tip"
    visitor.wait_for_text(tip, f"1: {dag.types[1]}")
    assert visitor.text(tip).splitlines()[1:] == [
        f"subcircuit: {dag.node['subcircuit'][1]}",
        f"size: {dag.node['size'][1]:g}",
    ]
    page.mouse.move(0, 0)
    page.wait_for_selector(tip, state="hidden")


@pytest.mark.slow
def test_nothing_overlaps_or_sticks_out(visitor: Visitor) -> None:
    page = visitor.page
    for width, height in ((390, 844), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        for tab in ("Search", "Inspect"):
            visitor.tab(tab)
            page.wait_for_function("document.documentElement.scrollWidth <= innerWidth", timeout=5_000)
            assert page.evaluate(OVERLAPS) == []
    assert all(page.locator(".condition input").nth(place).is_visible() for place in range(2))


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (1920, 1080)])
def test_the_table_of_trials_has_columns_and_constraints_and_stays_in_its_card(
    browser: Any, address: str, width: int, height: int
) -> None:
    visitor = Visitor(browser, address + "#tab=Search&table=all+trials", width, height)
    page = visitor.page
    page.wait_for_selector(".trials tbody tr")
    head = page.inner_text(".trials thead")
    assert all(name in head for name in ("gain", "bw", "pm", "standing", "mean(size)", "attributes"))
    assert "subcircuit: " in page.inner_text(".trials .said >> nth=0")
    page.fill("#trial-filter", "standing = infeasible")
    visitor.wait_for_text("#trial-words", " of 40")
    assert page.get_attribute(".trials td[title^='breaks']", "title") == "breaks pm>=2"
    button = page.locator(".trials .open button >> nth=0")
    button.scroll_into_view_if_needed()
    box, frame = button.bounding_box(), page.locator(".table-frame >> visible=true").bounding_box()
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1  # it is seen whatever the table's width
    side = page.locator(".card.side").bounding_box()
    assert frame["x"] >= side["x"]
    assert frame["x"] + frame["width"] <= side["x"] + side["width"]
    if width >= 1100:  # the card scrolls, and nothing hangs out of it
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert visitor.complaints == []
    page.close()
