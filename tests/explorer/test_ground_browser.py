"""The points of the map are where they belong, in the colours of their scores, without WebGL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dvae.explorer import PageModel, Space, plotly_file

from .browsers import Visitor
from .conftest import space_of, spot_of

PIXELS = """places => {
    const graph = document.querySelector("#map .js-plotly-plot"), canvas = graph.querySelector("canvas.ground");
    const { xaxis, yaxis } = graph._fullLayout, pen = canvas.getContext("2d");
    const sharp = canvas.width / xaxis._length;
    return places.map(([x, y]) => Array.from(pen.getImageData(xaxis.d2p(x) * sharp, yaxis.d2p(y) * sharp, 1, 1).data));
}"""
DRAWN = "Number(document.querySelector('#map canvas.ground').dataset.drawn)"
LOW, HIGH = (0x5B, 0x6B, 0x86), (0xF5, 0x9E, 0x2C)  # ends of the scale of colours


@pytest.fixture(scope="module")
def space() -> Space:
    return space_of("asia", 60)


@pytest.fixture(scope="module")
def model(space: Space) -> PageModel:
    return PageModel(space)


def places_of(space: Space) -> list[list[float]]:
    return [spot_of(space, number) for number in range(len(space.known))]


def test_every_known_dag_is_a_spot_in_the_colour_of_its_score(browser: Any, address: str, space: Space) -> None:
    visitor = Visitor(browser, address)
    found = np.array(visitor.page.evaluate(PIXELS, places_of(space)))
    assert (found[:, 3] > 150).all()  # as opaque as points are
    scores = np.array(space.known.scores, dtype=float)
    for number, end in ((scores.argmin(), LOW), (scores.argmax(), HIGH)):
        others = np.delete(np.array(places_of(space)), number, axis=0)
        if np.abs(others - places_of(space)[number]).sum(1).min() > np.ptp(others) / 30:  # nothing lies over it
            assert found[number, :3] == pytest.approx(end, abs=20)
    assert visitor.page.evaluate(PIXELS, [[1e3, 1e3]]) == [[0, 0, 0, 0]]
    assert visitor.page.evaluate("document.querySelectorAll('.gl-canvas').length") == 0
    assert sum(plotly_file.PATH in address for address in visitor.requested) == 1
    assert visitor.complaints == []
    visitor.page.close()


def test_points_follow_the_zoom_and_a_mark_alone_does_not_draw_them_anew(
    browser: Any, address: str, space: Space
) -> None:
    visitor = Visitor(browser, address)
    page = visitor.page
    before = page.evaluate(DRAWN)
    page.click("#nearest .thumb >> nth=0")
    page.wait_for_timeout(600)
    assert page.evaluate(DRAWN) == before
    middle = page.locator("#map .nsewdrag").bounding_box()
    page.mouse.move(middle["x"] + middle["width"] / 2, middle["y"] + middle["height"] / 2)
    for _ in range(4):
        page.mouse.wheel(0, -400)
    page.wait_for_function(f"{DRAWN} > {before}")
    page.wait_for_timeout(400)
    ranges = page.evaluate(
        "(({ xaxis, yaxis }) => [xaxis.range, yaxis.range])(document.querySelector('#map .js-plotly-plot')._fullLayout)"
    )
    inner = [
        spot for spot in places_of(space) if all(low < at < high for at, (low, high) in zip(spot, ranges, strict=True))
    ]
    assert 0 < len(inner) < len(space.known)
    assert all(pixel[3] > 150 for pixel in page.evaluate(PIXELS, inner))
    page.close()


def test_what_a_link_selects_stands_out_from_the_rest(browser: Any, address: str, space: Space) -> None:
    visitor = Visitor(browser, address)
    x, y = spot_of(space, 0)
    reach = np.ptp(np.array(places_of(space)), axis=0).min() / 50
    corners = [[x + across * reach, y + up * reach] for across, up in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    visitor.page.evaluate(
        "corners => dash_clientside.set_props('selection', { data: { plane: 'By score', corners } })", corners
    )
    far = max(places_of(space), key=lambda spot: abs(spot[0] - x) + abs(spot[1] - y))
    visitor.page.wait_for_function(f"at => ({PIXELS})([at])[0][3] < 120", arg=far)
    assert visitor.page.evaluate(PIXELS, [[x, y]])[0][3] > 150
    visitor.page.evaluate("dash_clientside.set_props('selection', { data: null })")
    visitor.page.wait_for_function(f"at => ({PIXELS})([at])[0][3] > 150", arg=far)
    visitor.page.close()
