"""What was wrong with the page once, in a real Chromium: each would fail again if it came back."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dvae.explorer import PageModel, Space, map_figure
from dvae.explorer.making import Made
from dvae.explorer.neighbour_map import NeighbourMap

from .browsers import Visitor
from .conftest import space_of, spot_of, study


@pytest.fixture(scope="module")
def space() -> Space:
    return space_of("asia", 60)


@pytest.fixture(scope="module")
def model(space: Space) -> PageModel:
    return PageModel(
        space,
        [
            study(space, "running", [-3.0, -1.0, -2.0], budget=50),
            study(space, "ended", [-3.0, -1.0], budget=50, ended=True),
            study(space, "spent", [-3.0, None, -1.0], budget=3),
        ],
    )


@pytest.fixture(scope="module")
def visitor(browser: Any, address: str) -> Iterator[Visitor]:
    one = Visitor(browser, address)
    yield one
    assert one.complaints == []


def test_a_click_while_a_map_is_being_made_is_one_on_the_map_that_is_shown(visitor: Visitor, space: Space) -> None:
    go_on = threading.Event()

    def make() -> NeighbourMap:
        go_on.wait(30)
        return NeighbourMap.of(space.latents)

    page = visitor.page
    page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    space.bent = Made(make)
    page.click("#plane label:has-text('Neighbours')")
    visitor.wait_for_text("#map-wait", "Making the map “Neighbours”")
    corner = space.plane("By score").project(space.latents).min(0).values.tolist()
    visitor.click_map(*corner)
    visitor.wait_for_text("#title", "Decoded DAG")
    here = visitor.trace(map_figure.CURRENT, lambda trace: trace["x"][0] == pytest.approx(corner[0], abs=0.05))
    assert (here["x"][0], here["y"][0]) == pytest.approx(corner, abs=0.05)
    go_on.set()
    page.wait_for_selector("#map-wait", state="hidden")
    page.wait_for_function("document.querySelector('#map .js-plotly-plot').layout.meta.plane === 'Neighbours'")
    page.click("#plane label:has-text('By score')")
    page.wait_for_function("document.querySelector('#map .js-plotly-plot').layout.meta.plane === 'By score'")


def test_a_finger_chooses_a_known_dag(browser: Any, address: str, space: Space) -> None:
    one = Visitor(browser, address, 390, 844, has_touch=True, is_mobile=True)
    number = int(space.plane("By score").project(space.latents)[:, 0].argmin())
    one.page.locator("#map-frame").scroll_into_view_if_needed()
    one.page.wait_for_timeout(200)
    left, top = one.spot(*spot_of(space, number))
    one.page.touchscreen.tap(left + 6, top - 5)  # a finger is not exact
    one.wait_for_text("#title", f"Known DAG {number}")
    assert one.complaints == []
    one.page.close()


def test_proposals_are_hovered_and_clicked_and_the_star_is_the_best_of_them(visitor: Visitor, space: Space) -> None:
    visitor.tab("Search")
    visitor.trace(map_figure.PROPOSALS, lambda trace: len(trace["x"]) == 4)
    page = visitor.page
    page.mouse.move(*visitor.spot(*spot_of(space, 2)))
    visitor.wait_for_text("#hover-card", "trial 2")
    visitor.click_map(*spot_of(space, 2))
    visitor.wait_for_text("#title", "Trial 2 of running")
    page.mouse.move(*visitor.spot(*spot_of(space, 1)))
    visitor.wait_for_text("#hover-card", "the best of the study")
    visitor.click_map(*spot_of(space, 1))  # its DAG is a known one, too, and lies under the star
    visitor.wait_for_text("#title", "Trial 1 of running")
    page.click(".top-row button >> nth=0")
    page.wait_for_selector("#panel-Inspect:not([hidden])")
    assert visitor.text("#title") == "Trial 1 of running"  # not "Your DAG"


def test_only_a_search_that_goes_on_is_live(visitor: Visitor) -> None:
    visitor.tab("Search")
    visitor.wait_for_text("#study-words", "3 of 50 scored")
    visitor.page.wait_for_selector("#live", state="visible")
    for name, words in (("ended", "2 of 50 scored"), ("spent", "2 of 3 scored, 1 failed")):
        visitor.choose("study", name)
        visitor.wait_for_text("#study-words", words)
        assert visitor.page.is_hidden("#live")
    visitor.choose("study", "running")
    visitor.page.wait_for_selector("#live", state="visible")


def test_all_studies_are_offered_each_in_its_own_colour(visitor: Visitor) -> None:
    visitor.tab("Search")
    curves = "() => document.querySelector('#progress .js-plotly-plot').data.map(t => [t.name, t.line.color])"
    found = []
    for name in ("ended", "spent", "running"):
        visitor.choose("study", name)
        visitor.page.wait_for_function(
            "name => document.querySelector('#progress .js-plotly-plot').data.some("
            " t => t.name.endsWith(name) && t.line.width > 2)",
            arg=name,
        )
        found.append({name: colour for name, colour in visitor.page.evaluate(curves) if name.startswith("best")})
    assert found[0] == found[1] == found[2]
    assert len(set(found[0].values())) == 3


def test_an_error_goes_once_it_is_mended(visitor: Visitor) -> None:
    page = visitor.page
    visitor.tab("Neighbourhood")
    page.evaluate("dash_clientside.set_props('reach', { value: 99 })")
    visitor.wait_for_text("#message", "The reach must be from")
    page.wait_for_selector("#message.shown")
    page.evaluate("dash_clientside.set_props('reach', { value: 1 })")
    page.wait_for_selector("#message:not(.shown)", state="attached")
    visitor.tab("Inspect")
    page.click("#toggle")
    page.wait_for_selector("#message.shown")
    page.click("#go-random")
    page.wait_for_selector("#message:not(.shown)", state="attached")


def test_every_key_that_the_map_promises_does_something(visitor: Visitor) -> None:
    page = visitor.page
    spoken = page.get_attribute("#map-frame", "aria-label")
    assert all(word in spoken for word in ("arrow keys", "shift", "plus and minus", "0 shows all"))
    spread = (
        "(() => { const r = document.querySelector('#map .js-plotly-plot')._fullLayout.xaxis.range;"
        " return r[1] - r[0]; })()"
    )
    page.focus("#map-frame")
    whole = page.evaluate(spread)
    page.keyboard.press("+")
    page.wait_for_function(f"whole => {spread} < whole * 0.9", arg=whole)
    page.keyboard.press("-")
    page.wait_for_function(f"whole => Math.abs({spread} - whole) < whole * 0.1", arg=whole)
    page.keyboard.press("+")
    page.wait_for_function(f"whole => {spread} < whole * 0.9", arg=whole)
    page.keyboard.press("0")
    page.wait_for_function(f"whole => Math.abs({spread} - whole) < whole * 0.01", arg=whole)
    for key in ("ArrowLeft", "Shift+ArrowUp"):
        before = visitor.trace(map_figure.CURRENT)
        page.keyboard.press(key)
        after = visitor.trace(
            map_figure.CURRENT, lambda trace, old=before: trace["x"] != old["x"] or trace["y"] != old["y"]
        )
        assert (after["x"], after["y"]) != (before["x"], before["y"])


def test_several_dags_are_exported_as_several_files(visitor: Visitor, tmp_path: Path) -> None:
    visitor.tab("Search")
    page = visitor.page
    page.wait_for_selector(".top-row")
    for place in (0, 1):
        page.check(f".top-row input >> nth={place}")
    for option in ("BIF", "pgmpy"):
        with page.expect_download() as download:
            visitor.choose("export-top", option)
        assert download.value.suggested_filename.endswith(".zip")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        with zipfile.ZipFile(path) as archive:
            assert len(archive.namelist()) == 2
