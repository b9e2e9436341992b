"""All drawings of a browser tab run one way: small ones and files too; and what is copied is the whole picture."""

from __future__ import annotations

import base64
import random
import re
from typing import Any

import pytest

from dvae import models
from dvae.dag import Dag, DagSet
from dvae.explorer import PageModel, Space, graph_view
from dvae.explorer.walk_film import scenes
from dvae.figures import Direction
from dvae.tasks import GenericTask

from .browsers import Visitor
from .conftest import study

SHAPES = """selector => Promise.all([...document.querySelectorAll(selector)].map(image => image.decode().then(
    () => image.naturalWidth > image.naturalHeight ? "right" : "down")))"""
SOURCES = "selector => [...document.querySelectorAll(selector)].map(image => image.src)"
KNOWN = {"Inspect": "#nearest img", "Gallery": "#gallery-cards img", "Search": "#top img"}  # small pictures of chains
ENDS = {"known": 3}, {"known": 7}


@pytest.fixture(scope="module")
def space() -> Space:
    """Chains, whose pictures are long in the direction that they run."""
    chance = random.Random(2)
    dags = [
        Dag(tuple(chance.choice("abc") for _ in range(7)), tuple((node, node + 1) for node in range(6)))
        for _ in range(40)
    ]
    vae = models.build("dvae", GenericTask.infer("chains", dags), hidden=12, latent=5, seed=0)
    return Space.of(vae, DagSet(tuple(dags), tuple(chance.random() for _ in dags)), "chains")


@pytest.fixture(scope="module")
def model(space: Space) -> PageModel:
    return PageModel(space, [study(space, "one", [0.3, 0.9, 0.5], budget=3, ended=True)])


def turn(visitor: Visitor, button: str) -> None:
    page = visitor.page
    visitor.tab("Inspect")
    page.click("#open-graph")
    page.wait_for_function("(dvaeViewer.state().scene || { nodes: [] }).nodes.length > 0")
    page.click(f".gv-bar button:has-text('{button}')")
    page.wait_for_timeout(300)
    page.click(".gv-bar button:has-text('Close')")


def ways(visitor: Visitor, selector: str, expected: str) -> set[str]:
    """The ways in which the pictures of a part run, once they have changed."""
    for _ in range(60):
        found = visitor.page.evaluate(SHAPES, selector)
        if found and set(found) == {expected}:
            break
        visitor.page.wait_for_timeout(100)
    return set(found)


def decoded(model: PageModel, way: Direction) -> dict[str, list[str]]:
    """Small pictures of DAGs that were decoded, which may have any shape."""
    walk = [scene.step for scene in scenes(model.walk(*ENDS, "line").steps)]
    grid = model.grid({"known": model.space.best}, "By score", 5, 1)
    found = {"Walk": ("#film img", walk), "Neighbourhood": ("#grid img", grid)}
    return {
        tab: [selector, *(graph_view.thumbnail(step.dag, model.space.task, way) for step in steps)]
        for tab, (selector, steps) in found.items()
    }


def test_small_pictures_and_files_run_the_way_the_tab_does(browser: Any, address: str, model: PageModel) -> None:
    visitor = Visitor(browser, address + "#from=k3&to=k7", accept_downloads=True)
    page = visitor.page
    turns: tuple[tuple[str, Direction], ...] = (("", "right"), ("Left to right", "down"), ("Top to bottom", "right"))
    for button, way in turns:
        if button:
            turn(visitor, button)
        for tab, selector in KNOWN.items():
            visitor.tab(tab)
            assert ways(visitor, selector, way) == {way}, tab
        for tab, (selector, *sources) in decoded(model, way).items():
            visitor.tab(tab)
            page.wait_for_function(f"([selector, sources]) => String(({SOURCES})(selector)) === String(sources)",
                                   arg=[selector, sources])  # fmt: skip
        visitor.tab("Inspect")
        with page.expect_download() as download:
            visitor.choose("export", "SVG picture")
        found = re.search(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', download.value.path().read_text())
        assert found is not None
        assert (float(found[1]) > float(found[2])) == (way == "right")
    assert visitor.complaints == []
    page.close()


def test_another_tab_has_a_direction_of_its_own(browser: Any, address: str) -> None:
    visitor = Visitor(browser, address)
    turn(visitor, "Left to right")
    assert ways(visitor, KNOWN["Inspect"], "down") == {"down"}
    with visitor.page.expect_popup() as opened:
        visitor.page.evaluate("window.open(location.href, '_blank', 'noopener')")
    opened.value.wait_for_selector(KNOWN["Inspect"])
    assert set(opened.value.evaluate(SHAPES, KNOWN["Inspect"])) == {"right"}
    visitor.page.close()


def test_a_type_has_one_colour_in_the_drawing_the_thumbnail_and_the_file(space: Space, model: PageModel) -> None:
    dag = space.known.dags[0]
    small = base64.b64decode(graph_view.thumbnail(dag, space.task).split(",")[1]).decode()
    whole = model.export_current({"known": 0}, "svg").text
    for label in set(dag.types):
        colour = model.style.colour(label)
        assert colour in small
        assert colour in whole
        assert any(part["data"].get("fill") == colour for part in graph_view.elements(dag, model.style, space.task))


def test_the_graph_view_copies_the_whole_picture(browser: Any, address: str) -> None:
    visitor = Visitor(browser, address)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#open-graph")
    page.wait_for_function("(dvaeViewer.state().scene || { nodes: [] }).nodes.length === 7")
    for _ in range(4):
        page.keyboard.press("+")  # most of the drawing is out of sight
    page.click(".gv-bar button:has-text('Copy')")
    page.wait_for_function("document.querySelector('.gv').innerText.includes('Copied')")
    kind, width, height = page.evaluate(
        """async () => {
            const [item] = await navigator.clipboard.read(), picture = await item.getType("image/png");
            const drawn = await createImageBitmap(picture);
            return [picture.type, drawn.width, drawn.height];
        }"""
    )
    scene = page.evaluate("(({ width, height }) => [width, height])(dvaeViewer.state().scene)")
    assert kind == "image/png"
    assert width >= scene[0]
    assert width / height == pytest.approx(scene[0] / scene[1], rel=0.5)
    assert visitor.complaints == []
    page.close()
