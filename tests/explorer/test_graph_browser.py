"""The graph view in a real Chromium: on its own, and on the page of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from contracts.column_examples import COLUMNED_DAGS
from dvae.dag import Dag, difference
from dvae.explorer import PageModel, Space, graph_view
from dvae.explorer.graph_window import scene_of
from dvae.figures import Direction, bayesnet_style, difference_scene, make_scene, style_of, viewer_script, viewer_style
from dvae.tasks import GenericTask
from figures.test_folding import large_dag, random_dag

from .accessibility import faults, sticks_out
from .browsers import Visitor, served
from .test_graph_view import random_dag as any_dag

PAGE = """<!doctype html><html lang="en"><head><title>graph</title><style>
:root {{ --card: #fff; --ink: #17202e; }}
@media (prefers-color-scheme: dark) {{ :root {{ --card: #161d28; --ink: #e7ecf3; --ink-2: #a3b0c2; --line: #283242;
  --soft: #1f2835; --accent: #6ea8e0; color-scheme: dark; }} }}
{style}</style></head><body><script>{script}</script></body></html>"""
SIXTY = random_dag(60, 90)
HAS_EDGES = "n => document.querySelector('#drawing')._cyreg.cy.edges().length === n"
HAS_ADDED = "n => document.querySelector('#drawing')._cyreg.cy.edges('.added').length === n"
RUNS_DOWN = """([u, v]) => { const cy = document.getElementById('drawing')._cyreg.cy;
  const at = n => cy.getElementById('n' + n).position(); return at(u).y < at(v).y; }"""
SVG = "scenes => scenes.map(one => dvaeFiles.svgOf(dvaePaint.prepare(one), { edge: '#7f8da1', ground: '#ffffff' }))"
OPEN = """scene => { window.wishes = []; dvaeViewer.close(); dvaeViewer.open({ title: "A graph",
  request: wish => window.wishes.push(wish) }); dvaeViewer.show(scene); }"""
WINDOWS = [
    (width, height, theme) for width, height in ((390, 844), (1280, 800), (1920, 1080)) for theme in ("light", "dark")
]


@pytest.fixture(scope="module")
def empty(browser: Any) -> Iterator[Any]:
    """A page with the viewer and nothing else; no test may make it complain."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.set_content(PAGE.format(style=viewer_style(), script=viewer_script()))
    yield page
    page.close()
    assert complaints == []


def show(page: Any, dag: Dag, **wish: Any) -> dict[str, Any]:
    """Opens the graph view on a DAG; what it asks for is kept in `window.wishes`."""
    scene = scene_of(dag, style_of([dag]), wish).to_mapping()
    page.evaluate(OPEN, scene)
    page.wait_for_function("n => (dvaeViewer.state().painted || {}).drawn >= n", arg=len(scene["nodes"]))
    return scene


def state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("(() => { const { scene, ...rest } = dvaeViewer.state(); return rest; })()")
    return found


def spot(page: Any, number: int) -> tuple[float, float]:
    """Where a node is in the window."""
    x, y = page.evaluate(
        """number => { const { view, scene } = dvaeViewer.state(), node = scene.nodes[number];
            const box = document.querySelector(".gv canvas").getBoundingClientRect();
            return [box.left + view.x + view.k * node.x, box.top + view.y + view.k * node.y]; }""",
        number,
    )
    return x, y


@pytest.mark.parametrize(("width", "height", "theme"), WINDOWS)
def test_sixty_nodes_fit_every_window_without_a_fault(empty: Any, width: int, height: int, theme: str) -> None:
    empty.set_viewport_size({"width": width, "height": height})
    empty.emulate_media(color_scheme=theme)
    show(empty, SIXTY)
    empty.click(".gv-bar button:has-text('Fit')")
    empty.evaluate("dvaeViewer.state()")
    assert faults(empty, ".gv") == []
    assert not sticks_out(empty)
    assert state(empty)["painted"]["drawn"] == 60 + len(SIXTY.edges)
    if width > 1000:
        assert state(empty)["painted"]["detail"] == "text"
    empty.keyboard.press("n")
    empty.wait_for_selector(".gv-side:not([hidden])")
    box, bar = empty.locator(".gv-side").bounding_box(), empty.locator(".gv-bar").bounding_box()
    assert box["y"] >= bar["y"] + bar["height"] - 1
    assert box["x"] + box["width"] <= width + 1
    assert faults(empty, ".gv-side") == []
    empty.set_viewport_size({"width": 1280, "height": 800})


def test_a_graph_is_panned_zoomed_and_fitted(empty: Any) -> None:
    show(empty, SIXTY)
    fitted = state(empty)["view"]
    empty.mouse.move(640, 420)
    empty.mouse.wheel(0, -300)
    empty.wait_for_function("k => dvaeViewer.state().view.k > k", arg=fitted["k"])
    zoomed = state(empty)["view"]
    under = [(640 - view["x"]) / view["k"] for view in (fitted, zoomed)]
    assert under[0] == pytest.approx(under[1])  # what was under the pointer still is
    empty.mouse.move(300, 700)
    empty.mouse.down()
    empty.mouse.move(340, 690, steps=4)
    empty.mouse.up()
    moved = state(empty)["view"]
    assert (moved["x"] - zoomed["x"], moved["y"] - zoomed["y"]) == pytest.approx((40, -10))
    empty.focus(".gv canvas")
    for key, wanted in (("-", moved["k"] / 1.25), ("+", moved["k"]), ("0", fitted["k"])):
        empty.keyboard.press(key)
        assert state(empty)["view"]["k"] == pytest.approx(wanted)
    empty.keyboard.press("ArrowLeft")
    assert state(empty)["view"]["x"] == pytest.approx(fitted["x"] + 60)


def test_a_node_is_found_and_told_of_with_its_neighbours(empty: Any) -> None:
    dag = COLUMNED_DAGS[0]
    show(empty, dag)
    empty.mouse.move(*spot(empty, 1))
    empty.wait_for_selector(".gv-tip:not([hidden])")
    assert "level: 0.1" in empty.inner_text(".gv-tip")
    empty.mouse.click(*spot(empty, 1))
    side = empty.inner_text(".gv-side")
    assert f"1: {dag.types[1]}" in side
    assert "level\n0.1" in side
    sources, targets = dag.predecessors()[1], dag.successors()[1]
    assert f"From ({len(sources)})" in side
    assert f"To ({len(targets)})" in side
    empty.click(f".gv-links button:has-text('{sources[0]}: ')")
    assert state(empty)["marks"]["selected"] == sources[0]
    show(empty, SIXTY)
    empty.keyboard.press("/")
    empty.keyboard.type("b")
    hits = [node for node, label in enumerate(SIXTY.types) if "b" in str(label)]
    assert state(empty)["marks"]["hits"] == hits
    empty.keyboard.press("Enter")
    empty.keyboard.press("Enter")
    assert state(empty)["marks"]["selected"] == hits[1]
    assert empty.inner_text(".gv-find output") == f"2 of {len(hits)}"
    empty.keyboard.press("Escape")  # the words first, then the node, then the window
    assert state(empty)["marks"]["hits"] == []
    empty.keyboard.press("Escape")
    assert state(empty)["open"]
    assert state(empty)["marks"]["selected"] is None
    empty.keyboard.press("Escape")
    assert not state(empty)["open"]


def test_a_thousand_nodes_come_folded_and_groups_open(empty: Any) -> None:
    dag = large_dag(1000)
    scene = show(empty, dag)
    assert scene["folded"]
    assert state(empty)["painted"]["detail"] == "text"  # it can be read as it opens
    number = max(range(len(scene["nodes"])), key=lambda n: len(scene["nodes"][n]["members"]))
    empty.mouse.dblclick(*spot(empty, number))
    members = scene["nodes"][number]["members"]
    wish = empty.evaluate("window.wishes[0]")
    assert wish["opened"] == [[members[0], len(members)]]
    opened_scene = show(empty, dag, **wish)
    assert len(opened_scene["nodes"]) > len(scene["nodes"])
    empty.click("button:has-text('Unfold all')")
    assert empty.evaluate("window.wishes[0].folded") is False
    whole = show(empty, dag, folded=False)
    assert len(whole["nodes"]) == 1000
    painted = state(empty)["painted"]
    assert (painted["detail"], painted["coarse"]) == ("block", True)
    empty.fill(".gv-find input", "997:")
    empty.press(".gv-find input", "Enter")
    empty.wait_for_function("dvaeViewer.state().painted.detail === 'text'")  # near enough to read
    assert state(empty)["painted"]["drawn"] < 400  # what is out of sight is not drawn


def test_the_direction_is_asked_for(empty: Any) -> None:
    show(empty, SIXTY)
    empty.click("button:has-text('Left to right')")
    wish = empty.evaluate("window.wishes[0]")
    assert wish["direction"] == "down"
    scene = show(empty, SIXTY, **wish)
    assert all(scene["nodes"][edge["from"]]["y"] < scene["nodes"][edge["to"]]["y"] for edge in scene["edges"])


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 400), marks=pytest.mark.slow)], ids=str)
def test_every_edge_of_hundreds_of_dags_is_in_the_picture(empty: Any, seeds: range) -> None:
    dags = [any_dag(seed) for seed in seeds]
    ways: list[Direction] = ["right", "down"]
    scenes = [make_scene(dag, style_of([dag]), direction=ways[n % 2]).to_mapping() for n, dag in enumerate(dags)]
    texts = empty.evaluate(SVG, scenes)
    for dag, text in zip(dags, texts, strict=True):
        assert "NaN" not in text
        parts = [item.get("class") for item in ElementTree.fromstring(text).iter()]
        assert (parts.count("node"), parts.count("edge")) == (len(dag), len(dag.edges))


def test_pictures_are_saved_and_copied_whole(empty: Any, tmp_path: Path) -> None:
    show(empty, SIXTY)
    empty.keyboard.press("+")
    for name, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with empty.expect_download() as download:
            empty.click(f".gv-bar button:has-text('{name}')")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.suffix == f".{name.lower()}"
        assert path.read_bytes().startswith(start)
    style = style_of([SIXTY])
    assert all(style.colour(label) in path.read_text() for label in SIXTY.types)


def test_two_dags_are_drawn_with_their_difference(empty: Any) -> None:
    before, after = Dag(("A", "B", "C"), ((0, 1), (1, 2))), Dag(("B", "A", "D"), ((0, 1), (0, 2)))
    scene = difference_scene(difference(before, after)).to_mapping()
    empty.evaluate("scene => { dvaeViewer.close(); dvaeViewer.open({ title: 'x' }); dvaeViewer.show(scene); }", scene)
    kinds = {
        (scene["types"][edge["from"]], scene["types"][edge["to"]]): edge.get("kind", "") for edge in scene["edges"]
    }
    assert kinds == {("B", "A"): "turned", ("B", "D"): "added", ("B", "C"): "removed"}
    text = empty.evaluate("dvaeFiles.svgOf(dvaeViewer.state().scene, { edge: '#7f8da1', ground: '#fff' })")
    assert text.count("stroke-dasharray") == 1
    empty.focus(".gv canvas")
    empty.keyboard.press("p")
    assert "gone" in empty.inner_text(".gv-side")


@pytest.fixture(scope="module")
def visit(browser: Any, asia: Space) -> Iterator[Visitor]:
    with served(PageModel(asia)) as address:
        one = Visitor(browser, address)
        yield one
        one.page.close()
        assert one.complaints == []


def nodes_of(visitor: Visitor) -> int:
    return len([part for part in visitor.elements("drawing") if "node" in part])


def place_of(visitor: Visitor, node: int) -> dict[str, float]:
    found: dict[str, float] = visitor.page.evaluate(
        "node => document.getElementById('drawing')._cyreg.cy.getElementById('n' + node).position()", node
    )
    return found


def test_the_page_opens_its_dag_and_keeps_one_direction(visit: Visitor, asia: Space) -> None:
    page = visit.page
    page.fill("#text", "[A][S][T|A][L|S][B|S][E|T:L][X|E][D|E:B]")
    page.press("#text", "Control+Enter")
    visit.wait_for_text("#title", "Your DAG")
    assert place_of(visit, 0)["x"] < place_of(visit, 2)["x"]
    page.click("#open-graph")
    page.wait_for_function("(dvaeViewer.state().scene || { nodes: [] }).nodes.length === 8")
    assert page.inner_text(".gv-title") == "Your DAG"
    page.click("button:has-text('Left to right')")
    page.wait_for_function("dvaeViewer.state().scene.direction === 'down'")
    page.click(".gv-bar button:has-text('Close')")
    page.wait_for_function(RUNS_DOWN, arg=[0, 2])
    page.reload()  # the tab remembers, whatever DAG it shows
    page.wait_for_selector("#facts .fact")
    page.wait_for_function("document.getElementById('drawing')?._cyreg?.cy.nodes().length > 8")
    first = asia.known.dags[asia.best].edges[0]
    page.wait_for_function(
        RUNS_DOWN,
        arg=list(first),
    )
    page.keyboard.press("g")
    page.wait_for_function("(dvaeViewer.state().scene || {}).direction === 'down'")
    page.click("button:has-text('Top to bottom')")
    page.wait_for_function("dvaeViewer.state().scene.direction === 'right'")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")


def test_edits_are_undone_and_done_again(visit: Visitor) -> None:
    page = visit.page
    texts = ["[A][S][T][L|S][B|S][E|T:L][X|E][D|E:B]", "[A][S][T|A][L|S][B|S][E|T:L][X|E][D|E:B]"]
    for text in texts:
        page.fill("#text", text)
        page.press("#text", "Control+Enter")
        page.wait_for_function(
            HAS_EDGES,
            arg=text.count("|") + text.count(":"),
        )
    shows = "has => document.getElementById('text').value.includes('[T|A]') === has"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+z")
    page.wait_for_function(shows, arg=False)
    page.keyboard.press("Control+Shift+Z")
    page.wait_for_function(shows, arg=True)
    page.click("#undo")
    page.wait_for_function(shows, arg=False)
    page.wait_for_function("!document.getElementById('redo').disabled")
    page.fill("#text", texts[1].replace("[X|E]", "[X]"))
    page.press("#text", "Control+Enter")
    page.wait_for_function("document.getElementById('redo').disabled")  # a new edit forgets what was undone
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+z")
    page.wait_for_function(shows, arg=False)


def test_a_kept_dag_is_compared_with_the_next(visit: Visitor, asia: Space) -> None:
    page = visit.page
    page.evaluate("dash_clientside.set_props('current', { data: { known: 0 } })")
    visit.wait_for_text("#title", "Known DAG 0")
    page.click("#set-compared")
    visit.wait_for_text("#comparison", "is kept")
    page.evaluate("dash_clientside.set_props('current', { data: { known: 1 } })")
    found = difference(asia.known.dags[0], asia.known.dags[1])
    visit.wait_for_text("#comparison", f"{len(found)} change")
    page.wait_for_function(
        HAS_ADDED,
        arg=len(found.added_edges) - len(found.turned_edges),
    )
    shown = [part for part in visit.elements("drawing") if "removed" in part["classes"].split()]
    assert len(shown) == len(found.removed_edges) - len(found.turned_edges)
    assert faults(page, "#comparison") == []
    page.click("#set-compared")
    page.wait_for_selector("#comparison", state="hidden")


@pytest.mark.slow
def test_no_edge_of_hundreds_of_dags_is_missing_from_the_drawing_of_the_tab(visit: Visitor) -> None:
    for seed in range(300):
        dag = any_dag(seed)
        task = GenericTask.infer("random", [dag])
        style = bayesnet_style(task.vocabulary.labels) if seed % 2 else style_of([dag])
        drawn = graph_view.elements(dag, style, task, direction="down" if seed % 4 > 1 else "right")
        edges = sorted((part["data"]["from"], part["data"]["to"]) for part in drawn if "source" in part["data"])
        assert edges == list(dag.edges)
        assert visit.draw("drawing", drawn) == []
