"""The views of the page in a real Chromium: links to them, galleries, the search, walks, other runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dvae.dag import load_jsonl
from dvae.explorer import Bookmarks, PageModel, Space, map_figure
from dvae.explorer.walk_film import scenes

from .browsers import Visitor
from .conftest import space_of, spot_of, study


@pytest.fixture(scope="module")
def space() -> Space:
    return space_of("asia", 60)


@pytest.fixture(scope="module")
def bookmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "bookmarks.json"


@pytest.fixture(scope="module")
def model(space: Space, bookmarks: Path) -> PageModel:
    scores: list[float | None] = [-30.0 - number % 7 + number / 40 for number in range(30)]
    studies = [
        study(space, "one & only", [*scores, None], budget=50),
        study(space, "short", [-5.0, -4.0], budget=2),
    ]
    return PageModel(space, studies, bookmarks=Bookmarks(bookmarks), others=[PageModel(space_of("asia", 40))])


@pytest.fixture(scope="module")
def visit(browser: Any, address: str) -> Iterator[Visitor]:
    one = Visitor(browser, address)
    yield one
    assert one.complaints == []


@pytest.fixture
def visitor(visit: Visitor, address: str) -> Visitor:
    """The page as it is opened."""
    visit.page.goto("about:blank")
    visit.open(address)
    return visit


def test_the_address_tells_the_view_and_back_and_forward_move_through_it(visitor: Visitor, address: str) -> None:
    page = visitor.page
    assert page.url == address
    page.click("#plane label:has-text('PC 1 and 2')")
    page.wait_for_url("**/#map=PC+1+and+2")
    page.evaluate("dash_clientside.set_props('current', { data: { known: 7 } })")
    page.wait_for_url("**dag=k7**")
    visitor.tab("Neighbourhood")
    page.wait_for_url("**tab=Neighbourhood**")
    page.go_back()
    page.wait_for_selector("#panel-Inspect:not([hidden])")
    visitor.wait_for_text("#title", "Known DAG 7")
    page.go_back()
    visitor.wait_for_text("#title", "Known DAG")
    page.wait_for_function("document.getElementById('title').innerText !== 'Known DAG 7'")
    assert page.url == f"{address}#map=PC+1+and+2"
    page.go_forward()
    visitor.wait_for_text("#title", "Known DAG 7")
    page.go_forward()
    page.wait_for_selector("#panel-Neighbourhood:not([hidden])")


def test_a_copied_link_reopens_the_same_view(visitor: Visitor, browser: Any, address: str) -> None:
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#go-random")
    visitor.wait_for_text("#title", "Decoded DAG")
    page.click("#set-start")
    page.wait_for_selector("#set-start.on")
    page.evaluate("dash_clientside.set_props('current', { data: { known: 9 } })")
    visitor.wait_for_text("#title", "Known DAG 9")
    page.click("#set-end")
    page.wait_for_selector("#panel-Walk:not([hidden])")
    page.fill("#filter", "edges > 9")
    visitor.wait_for_text("#filter-words", "of 60")
    page.click("#copy-link")
    visitor.wait_for_text("#copy-link", "Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    walk = visitor.trace(map_figure.PATH_TRACE, lambda trace: len(trace["x"]) == 33)
    other = Visitor(browser, link, 1920, 1080, "dark")
    other.page.wait_for_selector("#panel-Walk:not([hidden])")
    again = other.trace(map_figure.PATH_TRACE, lambda trace: len(trace["x"]) == 33)
    assert (again["x"], again["y"]) == (pytest.approx(walk["x"], abs=1e-5), pytest.approx(walk["y"], abs=1e-5))
    assert other.page.input_value("#filter") == "edges > 9"
    other.wait_for_text("#filter-words", visitor.text("#filter-words"))
    other.page.wait_for_timeout(500)
    assert other.page.url == link  # reopening a view makes no other
    assert other.complaints == []
    other.page.close()


def test_an_address_that_tells_nothing_opens_the_page(browser: Any, address: str) -> None:
    wrong = "#tab=Nowhere&dag=j{&map=7&step=x&study=none&selection=[1&colour=nothing&from=q"
    one = Visitor(browser, address + wrong, 390, 844, "dark")
    one.wait_for_text("#title", "Known DAG")
    assert one.page.is_visible("#panel-Inspect")
    assert one.complaints == []
    one.page.close()


def test_points_are_coloured_and_filtered(visitor: Visitor, model: PageModel) -> None:
    page = visitor.page
    visitor.choose("colour", "edges")
    page.wait_for_function(
        "n => document.querySelector('#map .js-plotly-plot').data[n].marker.colorbar.title.text === 'edges'",
        arg=map_figure.POINTS,
    )
    page.fill("#filter", "edges > 9, not nodes = 3")
    count = int(model.shown("edges > 9").sum())
    visitor.wait_for_text("#filter-words", f"{count} of 60")
    hidden = int((~model.shown("edges > 9")).nonzero()[0][0])
    visitor.click_map(*spot_of(model.space, hidden))  # what the filter leaves out cannot be chosen
    visitor.wait_for_text("#title", "DAG")
    page.wait_for_timeout(400)
    assert visitor.text("#title") != f"Known DAG {hidden}"
    page.fill("#filter", "edges > lots")
    visitor.wait_for_text("#filter-words", "compared with a number")
    page.fill("#filter", "")
    page.wait_for_function("document.getElementById('filter-words').innerText === ''")


def test_a_box_becomes_a_gallery_that_is_sorted_compared_and_exported(
    visitor: Visitor, model: PageModel, tmp_path: Path
) -> None:
    page = visitor.page
    page.click("#map [data-val=select]")
    box = page.locator("#map .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    page.wait_for_selector("#panel-Gallery:not([hidden])")
    visitor.wait_for_text("#gallery-words", "DAGs")
    count = int(visitor.text("#gallery-words").split()[0])
    assert 2 < count < 60
    visitor.choose("gallery-sort", "edges")
    page.click("#gallery-order label:has-text('Rising')")
    page.wait_for_function(
        "(() => { const found = [...document.querySelectorAll('.gallery .thumb small')].map(s => s.innerText);"
        " const edges = found.map(text => Number(text.split(' ')[1]));"
        " return found.every(text => /^edges/.test(text)) && edges[0] < edges[edges.length - 1]; })()"
    )
    shown = [int(text.split()[1]) for text in page.locator(".gallery .thumb small").all_inner_texts()]
    assert shown == sorted(shown)
    for place in (0, 1):
        page.check(f".gallery-card input >> nth={place}")
    page.wait_for_timeout(200)
    page.click("#gallery-compare")
    page.wait_for_selector("#gallery-compared img >> nth=1")
    with page.expect_download() as download:
        visitor.choose("gallery-export", "JSONL")
    path = tmp_path / "gallery.jsonl"
    download.value.save_as(path)
    assert [len(item.dag.edges) for item in load_jsonl(path)] == shown[:2]
    page.click(".gallery .thumb >> nth=0")
    page.wait_for_selector("#panel-Inspect:not([hidden])")
    visitor.wait_for_text("#title", "Known DAG")


def test_bookmarks_are_kept_in_the_run(visitor: Visitor, bookmarks: Path) -> None:
    page = visitor.page
    title = visitor.text("#title")
    page.click("#bookmark")
    visitor.wait_for_text("#bookmark", "Bookmarked")
    assert [each["name"] for each in json.loads(bookmarks.read_text())] == [title]
    visitor.tab("Gallery")
    page.click("#gallery-source label:has-text('Bookmarks')")
    visitor.wait_for_text("#gallery-words", "1 DAG")
    page.click("#bookmark")
    visitor.wait_for_text("#gallery-words", "0 DAGs")
    assert json.loads(bookmarks.read_text()) == []


def test_every_trial_is_in_a_table_that_is_sorted_and_filtered(visitor: Visitor) -> None:
    page = visitor.page
    visitor.tab("Search")
    page.click("#table-kind label:has-text('All trials')")
    visitor.wait_for_text("#trial-words", "31 trials")
    page.click(".sorter:has-text('score')")
    page.wait_for_selector("th[aria-sort=descending]")
    scores = [float(text) for text in page.locator(".trials tbody td:nth-child(4)").all_inner_texts()[:30]]
    assert scores == sorted(scores, reverse=True)
    page.fill("#trial-filter", "state = failed")
    visitor.wait_for_text("#trial-words", "1 of 31")
    assert page.locator(".trials tbody tr").count() == 1
    assert page.locator(".trials tbody button").count() == 0  # a failed trial has nothing to inspect
    page.click("#scale label:has-text('Gap')")
    page.wait_for_function("document.querySelector('#progress .js-plotly-plot').layout.yaxis.type === 'log'")
    page.wait_for_url("**scale=gap+to+best**")


def test_a_search_is_replayed_on_the_map(visitor: Visitor, space: Space) -> None:
    page = visitor.page
    visitor.tab("Search")
    visitor.trace(map_figure.PROPOSALS, lambda trace: len(trace["x"]) == 31)  # and the star
    page.evaluate("dash_clientside.set_props('replay', { value: 3 })")
    visitor.wait_for_text("#replay-words", "3 of 30")
    shown = visitor.trace(map_figure.PROPOSALS, lambda trace: len(trace["x"]) == 4)
    assert len(shown["x"]) == 4
    page.wait_for_timeout(200)
    visitor.click_map(*spot_of(space, 2))
    visitor.wait_for_text("#title", "Trial 2 of one & only")
    page.evaluate("dash_clientside.set_props('replay', { value: 28 })")
    page.click("#replay-play")
    visitor.wait_for_text("#replay-words", "30 of 30")
    visitor.wait_for_text("#replay-play", "▶")  # it stops at the end


def test_the_ends_of_a_walk_are_dragged_and_its_film_is_clicked(
    visitor: Visitor, model: PageModel, address: str, tmp_path: Path
) -> None:
    page, space = visitor.page, model.space
    page.goto("about:blank")
    visitor.open(f"{address}#tab=Walk&from=k3&to=k{space.best}")
    marks = visitor.trace(map_figure.MARKS, lambda trace: trace["text"] == ["A", "B"])
    page.wait_for_timeout(200)
    ground = [list(page.evaluate("document.querySelector('#map .js-plotly-plot')._fullLayout.xaxis.range"))]
    page.mouse.move(*visitor.spot(marks["x"][0], marks["y"][0]))
    page.mouse.down()
    page.mouse.move(*visitor.spot(*spot_of(space, 11)), steps=5)
    page.mouse.up()
    page.wait_for_url("**from=k11**")
    ground.append(list(page.evaluate("document.querySelector('#map .js-plotly-plot')._fullLayout.xaxis.range")))
    assert ground[0] == ground[1]  # the map itself did not move
    walk = model.walk({"known": 11}, {"known": space.best}, "line")
    played = scenes(walk.steps)
    page.wait_for_function("n => document.querySelectorAll('#film .thumb').length === n", arg=len(played))
    page.click("#film .thumb >> nth=-1")
    visitor.wait_for_text("#walk-facts", f"{played[-1].first} / 33")
    page.wait_for_selector("#film .thumb.on >> nth=0")
    with page.expect_download() as download:
        page.click("#walk-film")
    path = tmp_path / "walk.svg"
    download.value.save_as(path)
    assert path.read_text().startswith("<svg")


def test_the_same_dag_is_marked_on_the_maps_of_all_runs(visitor: Visitor, model: PageModel) -> None:
    page = visitor.page
    visitor.tab("Runs")
    visitor.wait_for_text("#runs-table", "confidence")
    mark = (
        "n => { const t = document.querySelector('.run-map .js-plotly-plot').data[n];"
        " return t.x.length ? [t.x[0], t.y[0]] : null; }"
    )
    page.wait_for_function(f"n => ({mark})(n) !== null", arg=map_figure.CURRENT)
    other = model.others[0]
    plane = other.plane("By score")
    wanted = plane.project(other.space.encode([model.space.known.dags[model.space.best]]))[0].tolist()
    assert page.evaluate(mark, map_figure.CURRENT) == pytest.approx(wanted, abs=1e-3)
    page.mouse.click(*visitor.spot(*spot_of(other.space, 5), ".run-map"))
    visitor.wait_for_text("#title", "Known DAG 5 of asia")


def test_a_wait_says_what_is_being_done(visitor: Visitor, model: PageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    go_on, grid = threading.Event(), model.grid

    def slow(*arguments: Any) -> Any:
        go_on.wait(20)
        return grid(*arguments)

    monkeypatch.setattr(model, "grid", slow)
    visitor.tab("Neighbourhood")
    visitor.wait_for_text("#busy", "Decoding the neighbourhood")
    assert visitor.page.is_visible("#busy.shown")
    go_on.set()
    visitor.page.wait_for_function("!document.getElementById('busy').classList.contains('shown')")
