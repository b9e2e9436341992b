"""The page on a Bayesian network: what it shows, and in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from bayesnet.networks import SPRINKLER, mixed_network
from dvae.bayesnet import Confidence, EdgeConfidence, StateShares, parse_bif, query
from dvae.errors import DvaeError
from dvae.explorer import NetworkModel, make_network_app

from .browsers import opened, served


def sprinkler() -> NetworkModel:
    sure = Confidence(
        ("rain", "sprinkler", "grass"),
        100,
        (EdgeConfidence("rain", "sprinkler", 0.4, 0.5), EdgeConfidence("rain", "grass", 1.0, 1.0)),
    )
    return NetworkModel(parse_bif(SPRINKLER), "sprinkler.bif", sure)


def edges_of(parts: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    return {(part["data"]["from"], part["data"]["to"]): part for part in parts if "source" in part["data"]}


def test_edges_are_as_wide_as_they_are_sure() -> None:
    parts = edges_of(sprinkler().elements("class", {}, None))
    assert parts[0, 2]["data"]["thick"] > parts[0, 1]["data"]["thick"] > parts[1, 2]["data"]["thick"]


def test_the_class_has_no_arrow_where_data_cannot_tell() -> None:
    model = NetworkModel(mixed_network(), "mixed")
    names = [part["data"]["name"] for part in model.elements("class", {}, None) if "node" in part["data"]]
    for kind, wanted in (("class", {("sex", "smoker")}), ("DAG", set())):
        parts = edges_of(model.elements(kind, {}, None))
        found = {(names[u], names[v]) for (u, v), part in parts.items() if "undirected" in part["classes"].split()}
        assert found == wanted


def test_given_and_chosen_variables_are_marked() -> None:
    parts = sprinkler().elements("DAG", {"rain": "yes"}, "grass")
    classes = {part["data"]["name"]: part["classes"] for part in parts if "node" in part["data"]}
    assert classes == {"rain": "given", "sprinkler": "", "grass": "chosen"}


def test_a_state_is_given_and_forgotten() -> None:
    model = sprinkler()
    given = model.toggled({}, "grass", 0)
    assert given == {"grass": "<5"}
    belief, wanted = model.beliefs(given)["rain"], query(model.network, "rain", given)
    assert isinstance(belief, StateShares)
    assert isinstance(wanted, StateShares)
    assert belief.probabilities == pytest.approx(wanted.probabilities)
    assert model.toggled(given, "grass", 1) == {"grass": "5-12"}
    assert model.toggled(given, "grass", 0) == {}
    with pytest.raises(DvaeError, match="cannot happen"):
        model.toggled({"rain": "no", "sprinkler": "off"}, "grass", 2)


def test_what_a_browser_should_not_send_is_refused() -> None:
    model = NetworkModel(mixed_network(), "mixed")
    for evidence in (None, [1], {"nobody": "yes"}, {"sex": True}, {"sex": ["f"]}, {"sex": "x"}, {"age": "old"}):
        with pytest.raises(DvaeError):
            model.checked(evidence)
    for value in (None, True, "old", [1]):
        with pytest.raises(DvaeError):
            model.with_number({}, "age", value)
    for place in (-1, 5, None, True, "0", 1.5):
        with pytest.raises(DvaeError, match="no such variable"):
            model.name_at(place)
    for code in (-1, 2, None, True):
        with pytest.raises(DvaeError, match="no such state"):
            model.toggled({}, "sex", code)
    with pytest.raises(DvaeError, match="no view"):
        model.elements("tree", {}, None)


def test_the_page_answers_this_machine_alone_and_loads_from_nowhere_else() -> None:
    client = make_network_app(sprinkler()).server.test_client()
    answer = client.get("/", headers={"Host": "127.0.0.1:8050"})
    assert answer.status_code == 200
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert client.get("/", headers={"Host": "elsewhere.example"}).status_code == 403
    assert client.get("/", headers={"Host": "127.0.0.1:8050", "Origin": "http://elsewhere.example"}).status_code == 403


def share_of(page: Any, variable: str, state: str) -> str:
    return str(page.inner_text(f".variable:has(button.name:text-is('{variable}')) .state:has-text('{state}')"))


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_the_page_answers_what_if(width: int, theme: str) -> None:
    model = sprinkler()
    with opened() as browser, served(model, make_network_app) as address:
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
        requested: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.goto(address)
        page.wait_for_selector(".variable.chosen:has-text('rain')")
        assert page.evaluate("document.documentElement.dataset.ready") == "yes"
        assert "20.0%" in share_of(page, "rain", "yes")
        page.click(".variable:has(button.name:text-is('grass')) .state:has-text('12+')")
        page.wait_for_selector("#given button:has-text('grass = 12+')")
        shares = query(model.network, "rain", {"grass": "12+"})
        assert isinstance(shares, StateShares)
        assert f"{shares.probabilities[0]:.1%}" in share_of(page, "rain", "yes")
        page.click("button.name:text-is('grass')")
        page.wait_for_selector(".parameters th:has-text('sprinkler')")
        assert "rain – grass: confidence 100%" in page.inner_text(".notes")
        page.evaluate("window.scrollTo(0, 0)")
        page.wait_for_timeout(300)  # for the drawing to notice that it has moved
        spot = page.evaluate(
            """() => {
                const frame = document.getElementById("drawing"), box = frame.getBoundingClientRect();
                const node = frame._cyreg.cy.nodes().filter(each => each.data("name") === "sprinkler")[0];
                const at = node.renderedPosition();
                return [box.left + at.x, box.top + at.y];
            }"""
        )
        page.mouse.click(*spot)
        page.wait_for_selector(".variable.chosen:has-text('sprinkler')")
        page.click("#given button:has-text('Forget all')")
        page.wait_for_selector("#given .hint")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert all(url.startswith((address, "data:", "blob:")) for url in requested)
        assert [url for url in requested if "plotly" in url or "graph.js" in url] == []  # there is no chart
        assert complaints == []


def test_a_number_is_given_on_the_page() -> None:
    with opened() as browser, served(NetworkModel(mixed_network(), "mixed.json"), make_network_app) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.wait_for_selector(".variable")
        page.click("button.name:text-is('pressure')")
        page.fill(".number-row input", "150")
        page.click(".number-row button:has-text('Say that it is so')")
        page.wait_for_selector("#given button:has-text('pressure = 150')")
        assert "150 (given)" in page.inner_text(".variable.chosen")
