"""What is drawn where: nothing hangs out of its card, covers its neighbour or is cut, whatever the DAGs are called."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dvae import models
from dvae.dag import DagSet
from dvae.explorer import PageModel, Space
from dvae.tasks import GenericTask

from .browsers import Visitor, served
from .conftest import small_dags, space_of, study

BOX = "selector => { const box = document.querySelector(selector).getBoundingClientRect(); return box.toJSON(); }"
NOTES = "[...document.querySelectorAll('#progress .annotation-text')].map(note => note.getBoundingClientRect().top)"
ODD = (
    "a_very_long_type_name_that_does_not_end_soon_and_goes_on",
    "Größe µ–Ω",
    "<b>bold</b>",
    "</script><script>document.title = 'run'</script>",
    "日本語のノード",
    '"quoted"',
    " A -> B, nodes <= 3",
)
SIZES = [(390, 844, "dark"), (1280, 800, "light"), (1920, 1080, "dark")]


@pytest.fixture(scope="module")
def model() -> PageModel:
    space = space_of("asia", 40)
    names = ["a search with a rather long name, as the program makes them of task, score and seed", "other", "third"]
    found = [study(space, name, [-12_000.0 + 9 * k for k in range(30)], budget=30, ended=True) for name in names]
    return PageModel(space, found)


@pytest.mark.parametrize(("width", "height", "theme"), SIZES)
def test_the_key_of_the_curves_stands_above_them(
    browser: Any, address: str, width: int, height: int, theme: str
) -> None:
    visitor = Visitor(browser, address + "#tab=Search", width, height, theme)
    page = visitor.page
    page.wait_for_selector("#progress-key span")
    assert page.locator("#progress-key span").count() == 4  # best of three, and the mean of one
    page.wait_for_timeout(400)
    key, plot = page.evaluate(BOX, "#progress-key"), page.evaluate(BOX, "#progress .nsewdrag")
    assert key["bottom"] <= plot["top"] + 8
    assert all(top >= key["bottom"] - 1 for top in page.evaluate(NOTES))
    assert plot["height"] > 80
    words, menu = page.evaluate(BOX, "#study-words"), page.evaluate(BOX, "#study")
    assert "30 of 30 scored" in visitor.text("#study-words")
    assert page.evaluate("(part => part.scrollWidth <= part.clientWidth + 1)(document.getElementById('study-words'))")
    assert words["left"] >= menu["right"] or words["top"] >= menu["bottom"]
    assert visitor.complaints == []
    page.close()


def test_the_chart_of_a_walk_is_whole_and_its_frame_in_sight(browser: Any, address: str) -> None:
    visitor = Visitor(browser, address + "#tab=Walk&from=k3&to=k7&step=30")
    page = visitor.page
    page.wait_for_selector("#film .thumb.on")
    page.wait_for_timeout(500)
    side, chart = page.evaluate(BOX, ".card.side"), page.evaluate(BOX, "#walk-chart-frame")
    assert chart["bottom"] <= side["bottom"]
    frame, strip = page.evaluate(BOX, "#film .thumb.on"), page.evaluate(BOX, "#film")
    assert frame["left"] >= strip["left"] - 1
    assert frame["right"] <= strip["right"] + 1
    colours = page.evaluate("[...document.querySelectorAll('#map .textpoint text')].map(t => getComputedStyle(t).fill)")
    assert set(colours) == {"rgb(124, 58, 237)"}  # A and B have the colour of the walk
    page.close()


def test_a_drawing_fits_its_room_whenever_that_changes(browser: Any, address: str) -> None:
    visitor = Visitor(browser, address)
    page = visitor.page
    inside = """() => { const frame = document.getElementById("drawing"), drawn = frame._cyreg.cy;
        return drawn.$(".corner").length === 2 && drawn.$(".corner").every(corner => {
            const { x, y } = corner.renderedPosition();
            return x >= 0 && y >= 0 && x <= frame.clientWidth && y <= frame.clientHeight; }); }"""
    page.wait_for_function(inside)
    page.wait_for_timeout(600)  # what is done after loading is done
    page.evaluate("document.querySelector('.drawing').style.cssText = 'flex: none; width: 220px; height: 150px'")
    page.wait_for_function(inside, timeout=10_000)
    for tab in ("Search", "Neighbourhood", "Inspect"):
        visitor.tab(tab)
    page.wait_for_function(inside, timeout=10_000)
    page.close()


@pytest.fixture(scope="module")
def odd() -> Space:
    dags = small_dags(random.Random(4), 30, 6, ODD)
    vae = models.build("dvae", GenericTask.infer("odd", dags), hidden=12, latent=5, seed=0)
    return Space.of(vae, DagSet.of(dags), "odd <i>names</i>")


@pytest.mark.parametrize(("width", "height", "theme"), SIZES)
def test_odd_names_without_scores_are_shown_and_never_run(
    browser: Any, odd: Space, width: int, height: int, theme: str
) -> None:
    with served(PageModel(odd)) as address:
        visitor = Visitor(browser, address + "#from=k3&to=k7", width, height, theme)
        page = visitor.page
        for tab in ("Inspect", "Walk", "Neighbourhood", "Gallery", "Search"):
            visitor.tab(tab)
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert "no score" not in page.inner_text("body")  # of a task that has none, the size is told instead
        visitor.tab("Inspect")
        page.fill("#text", '{"types": ["Größe µ–Ω", "<b>bold</b>"], "edges": [[0, 1]]}')
        page.press("#text", "Control+Enter")
        visitor.wait_for_text("#title", "Your DAG")
        page.wait_for_function("document.getElementById('text').value.includes('Größe')")  # not as an escape
        page.click("#open-graph")
        page.wait_for_function("(dvaeViewer.state().scene || { nodes: [] }).nodes.length === 2")
        assert page.title() != "run"
        assert visitor.complaints == []
        page.close()
