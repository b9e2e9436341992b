"""The page of a run in a real Chromium: what is seen first, the map, the pictures, light and dark, wide and narrow."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dvae import models, tasks
from dvae.dag import DagSet
from dvae.files import write_text
from dvae.reports.html import to_html
from dvae.reports.run_page import RunFacts, run_page
from dvae.studies.ledger import MemoryLedger, Outcome
from dvae.studies.study import ABOUT, Study
from explorer.accessibility import faults, sticks_out
from explorer.browsers import PATIENCE, opened

NAME = "runs/a <b>run</b>"
WINDOWS = [
    (width, height, theme) for width, height in ((390, 844), (1280, 800), (1920, 1080)) for theme in ("light", "dark")
]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    """A model that was not trained, its data with scores, and a search among them."""
    task = tasks.get("asia")
    dags = task.sample(60, seed=1)
    vae = models.build("dvae", task, hidden=12, latent=6, seed=3)
    vae.calibrate(task.batch(dags))
    scores = task.scores(dags)
    ledger = MemoryLedger("search")
    ledger.describe(ABOUT, {"task": "asia", "strategy": "random", "budget": 8, "direction": "maximize"})
    for dag, score in zip(dags[:5], scores[:5], strict=True):
        number = ledger.propose(dag, {})
        ledger.take("worker")
        ledger.finish(number, Outcome(score), {})
    pictures = tmp_path_factory.mktemp("pictures")
    known = DagSet(tuple(dags), tuple(scores))
    return RunFacts(NAME, pictures, {"task": "asia"}, studies=(Study(ledger),), model=vae, known=known)


@pytest.fixture(scope="module")
def address(facts: RunFacts, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_text(path, to_html(run_page(facts)))
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened() as running:
        yield running


@pytest.fixture(scope="module")
def page(browser: Any, address: str) -> Iterator[Any]:
    """One page for all tests; it may not ask for anything, nor complain."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    complaints: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    page.close()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []


def until(page: Any, expression: str) -> None:
    """Waits; the page's own policy forbids what `wait_for_function` does."""
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(30)


def opens(page: Any) -> bool:
    return bool(page.evaluate("dvaeViewer.state().open"))


@pytest.mark.parametrize(("width", "height", "theme"), WINDOWS)
def test_nothing_sticks_out_or_is_hard_to_read(page: Any, width: int, height: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    assert not sticks_out(page)
    assert faults(page) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (theme == "dark")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def test_the_summary_is_seen_first(page: Any, facts: RunFacts) -> None:
    page.evaluate("scrollTo(0, 0)")
    frame = page.locator(".summary").bounding_box()
    assert frame["y"] + frame["height"] < 800
    assert page.locator(".summary .fact").count() == 3
    assert facts.known is not None
    best = max(score for score in facts.known.scores if score is not None)
    assert f"{best:.3f}" in page.inner_text(".summary .fact >> nth=0")
    assert "dvae explore 'runs/a <b>run</b>'" in page.inner_text(".next")
    assert page.title() == page.inner_text("h1") == "dvae on asia"


def test_the_best_dag_opens_in_the_graph_view(page: Any) -> None:
    page.click(".best .zoom")
    assert opens(page)
    assert page.inner_text(".gv-title") == "Best DAG"
    until(page, "(dvaeViewer.state().painted || {}).drawn > 8")
    assert faults(page, ".gv") == []
    page.keyboard.press("Escape")
    assert not opens(page)


def test_points_of_the_map_say_what_they_are_and_open(page: Any) -> None:
    page.locator(".map").scroll_into_view_if_needed()
    count = page.evaluate("JSON.parse(document.getElementById('report-data').textContent).maps[0].points.length")
    assert count > 60
    page.mouse.move(*page.evaluate("document.querySelector('.map').spot(3)"))
    page.wait_for_selector(".map .tip:not([hidden])")
    words = page.inner_text(".map .tip")
    assert "8 nodes" in words
    page.mouse.click(*page.evaluate("document.querySelector('.map').spot(3)"))
    assert opens(page)
    assert page.evaluate("dvaeViewer.state().scene.types.length") == 8
    page.keyboard.press("Escape")
    page.focus(".map canvas")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".map .tip:not([hidden])")
    page.keyboard.press("Enter")
    assert opens(page)
    page.keyboard.press("Escape")
    page.click(".map [data-zoom=in]")
    before = page.evaluate("document.querySelector('.map').spot(0)")
    page.click(".map [data-zoom=out]")
    assert page.evaluate("document.querySelector('.map').spot(0)") != before


def test_pictures_are_enlarged_by_a_click(page: Any) -> None:
    page.click("main .zoom.drawing >> nth=0")
    page.wait_for_selector(".lightbox[open]")
    until(page, "dvaeReport.picture().k !== 1 || dvaeReport.picture().x !== 0")
    size = page.evaluate("dvaeReport.picture().k")
    page.click(".lightbox button:has-text('+')")
    assert page.evaluate("dvaeReport.picture().k") == pytest.approx(1.25 * size)
    assert faults(page, ".lightbox") == []
    page.keyboard.press("Escape")
    assert not page.evaluate("dvaeReport.picture().open")


def test_the_theme_is_switched_by_hand(page: Any) -> None:
    for theme in ("dark", "light"):
        page.click(".theme")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert faults(page) == []
    page.evaluate("localStorage.clear(); delete document.documentElement.dataset.theme")


def test_words_of_a_run_are_shown_and_never_run(browser: Any, facts: RunFacts, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, to_html(run_page(replace(facts, name='"><script>document.title = "gone"</script>', studies=()))))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title() == "dvae on asia"
    page.evaluate(
        "const one = document.createElement('script'); one.textContent = 'document.title = 1';document.body.append(one)"
    )
    assert page.title() == "dvae on asia"  # the page allows no script but its own
    page.close()


def test_long_values_of_settings_are_seen_whole_on_a_phone(browser: Any, facts: RunFacts, tmp_path: Path) -> None:
    settings = {"task": f"file:/{'a-long-folder/' * 12}data.jsonl", "model": {"hidden": 12}}
    path = tmp_path / "report.html"
    write_text(path, to_html(run_page(replace(facts, settings=settings))))
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.goto(path.as_uri())
    ends = page.evaluate(
        "[...document.querySelectorAll('table')].filter(table => table.rows[0].cells.length === 2)"
        ".flatMap(table => [...table.querySelectorAll('td')].map(cell => cell.getBoundingClientRect().right))"
    )
    assert ends
    assert max(ends) <= 390
    scale = page.evaluate(
        "[...document.querySelector('.scale').children].map(part => part.getBoundingClientRect().top)"
    )
    assert max(scale) - min(scale) < 16  # on one line
    page.close()
