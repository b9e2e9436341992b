"""A real Chromium for the page, where there is one."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dvae.explorer import make_app, make_server

PATIENCE = 20.0  # seconds for the page to catch up
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A machine without a display or a graphics card draws WebGL in software.
OPTIONS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
MISSING = (
    "no browser is found, so the page is not tested in one: install Chromium (apt-get install chromium) "
    "or name one in DVAE_BROWSER"
)


def executable() -> str | None:
    """The browser named in DVAE_BROWSER, else the first of the usual ones."""
    named = os.environ.get("DVAE_BROWSER")
    if named:
        return named if Path(named).is_file() else None
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def opened() -> Iterator[Any]:
    """A running browser."""
    program = executable()
    if program is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(model: Any, app: Callable[[Any], Any] = make_app) -> Iterator[str]:
    """The address of the page of a model, on a free port."""
    server = make_server(app(model), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _is_complaint(line: Any) -> bool:
    """An error, or cytoscape's warning that it cannot draw an edge."""
    return line.type == "error" or "invalid endpoints" in line.text


class Visitor:
    """One open page, what it asked for and what it complained about."""

    def __init__(
        self, browser: Any, address: str, width: int = 1280, height: int = 800, theme: str = "light", **more: Any
    ) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme, **more)
        self.page.set_default_timeout(90_000)  # a machine may be busy with other things; no wait is meant to be long
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: self.complaints.append(line.text) if _is_complaint(line) else None)
        self.open(address)

    def open(self, address: str) -> None:
        """Opens a page and waits until it is there."""
        self.page.goto(address)
        self.page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        self.page.wait_for_selector("#facts .fact", state="attached")  # an address may open another tab

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def wait_for_text(self, selector: str, words: str) -> None:
        self.page.wait_for_function(
            "([where, words]) => document.querySelector(where)?.innerText.includes(words)", arg=[selector, words]
        )

    def tab(self, name: str) -> None:
        self.page.click(f"#tab label:has-text('{name}')")
        self.page.wait_for_selector(f"#panel-{name}:not([hidden])")

    def choose(self, dropdown: str, option: str) -> None:
        self.page.click(f"#{dropdown}")
        self.page.click(f".dash-dropdown-content label:has-text('{option}')")

    def spot(self, x: float, y: float, chart: str = "#map") -> tuple[float, float]:
        """Where on the page a place of the map, or of another chart, is, given in its own units."""
        left, top = self.page.evaluate(
            """([x, y, chart]) => {
                const graph = document.querySelector(`${chart} .js-plotly-plot`), box = graph.getBoundingClientRect();
                const { xaxis, yaxis } = graph._fullLayout;
                return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
            }""",
            [x, y, chart],
        )
        return left, top

    def click_map(self, x: float, y: float) -> None:
        """Clicks at a place of the map, in its own units."""
        spot = self.spot(x, y)
        self.page.mouse.move(*spot)
        self.page.wait_for_timeout(150)  # for plotly to say what is under the pointer
        self.page.mouse.click(*spot)

    def hover_map(self, x: float, y: float, shown: str) -> None:
        """Moves the pointer to a place of the map until `shown` is seen: a map that is drawn anew forgets a pointer."""
        for _ in range(30):
            spot = self.spot(x, y)
            self.page.mouse.move(spot[0] + 40, spot[1] + 40)
            self.page.mouse.move(*spot, steps=4)
            for _ in range(20):
                if self.page.locator(shown).first.is_visible():
                    return
                self.page.wait_for_timeout(150)
        raise AssertionError(f"{shown} was not seen")

    def trace(self, number: int, ready: Callable[[dict[str, Any]], bool] = lambda trace: True) -> dict[str, Any]:
        """A trace of the map as plotly has it, once it is `ready`: parts of the page change one after another."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found: dict[str, Any] = self.page.evaluate(
                "n => { const t = document.querySelector('#map .js-plotly-plot').data[n];"
                " return { x: Array.from(t.x), y: Array.from(t.y), text: t.text || null }; }",
                number,
            )
            if ready(found) or time.monotonic() > deadline:
                return found
            self.page.wait_for_timeout(50)

    def elements(self, drawing: str) -> list[dict[str, Any]]:
        """What a drawing shows: data and classes of its parts."""
        found: list[dict[str, Any]] = self.page.evaluate(
            "name => document.getElementById(name)._cyreg.cy.elements()"
            ".map(e => ({ ...e.data(), classes: e.classes().join(' ') }))",
            drawing,
        )
        return found

    def draw(self, drawing: str, elements: list[dict[str, Any]]) -> list[str]:
        """Puts elements into a drawing; returns the edges that it cannot draw."""
        self.page.evaluate("([name, elements]) => dash_clientside.set_props(name, { elements })", [drawing, elements])
        edges = [part["data"]["id"] for part in elements if "source" in part["data"]]
        self.page.wait_for_function(
            "([name, edges]) => edges.every(id => document.getElementById(name)._cyreg.cy.getElementById(id).length)"
            " && document.getElementById(name)._cyreg.cy.edges().length === edges.length",
            arg=[drawing, edges],
        )
        self.page.wait_for_timeout(60)  # for a frame in which it is drawn
        bad: list[str] = self.page.evaluate(
            "name => document.getElementById(name)._cyreg.cy.edges().filter(e => {"
            " const s = e.sourceEndpoint(), t = e.targetEndpoint();"
            " return ![s.x, s.y, t.x, t.y].every(Number.isFinite); }).map(e => e.id())",
            drawing,
        )
        return bad

    def tap(self, drawing: str, node: int) -> None:
        """Clicks a node of a drawing."""
        spot = self.page.evaluate(
            """([name, node]) => {
                const frame = document.getElementById(name), box = frame.getBoundingClientRect();
                const at = frame._cyreg.cy.getElementById("n" + node).renderedPosition();
                return [box.left + at.x, box.top + at.y];
            }""",
            [drawing, node],
        )
        self.page.mouse.click(*spot)
