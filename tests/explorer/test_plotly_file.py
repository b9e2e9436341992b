"""Plotly's script is served in a shape that browsers read faster, and is otherwise the same."""

from __future__ import annotations

import re

from bayesnet.networks import SPRINKLER
from dvae.bayesnet import parse_bif
from dvae.explorer import NetworkModel, PageModel, Space, make_app, make_network_app, plotly_file

WHOLE = (
    "(function(root, factory) { root.name = factory(); } (self, () => {\n"
    '"use strict";var Plotly=(()=>{return 1})();\nreturn Plotly;\n}));\n'
)


def test_the_outermost_functions_are_put_in_parentheses() -> None:
    changed = plotly_file.read_at_once(WHOLE)
    assert changed is not None
    assert changed.endswith('(function () {\n"use strict";var Plotly=(function(){return 1})();\nreturn Plotly;\n})));')
    assert changed.count("(") == changed.count(")")


def test_a_script_of_another_shape_is_left_to_dash() -> None:
    assert plotly_file.read_at_once("var Plotly = {};") is None
    assert plotly_file.read_at_once(WHOLE + WHOLE) is None


def test_the_page_serves_it_and_a_browser_that_has_it_is_told_so(asia: Space) -> None:
    client = make_app(PageModel(asia)).server.test_client()
    answer = client.get(plotly_file.PATH)
    assert answer.status_code == 200
    assert b'"use strict";var Plotly=(function(){' in answer.data
    assert b"Licensed under the MIT license" in answer.data
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    again = client.get(plotly_file.PATH, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_only_a_page_with_charts_asks_for_it_ahead(asia: Space) -> None:
    explorer = make_app(PageModel(asia)).server.test_client()
    page = explorer.get("/").text
    assert re.findall(r'<link rel="preload" as="script" href="([^"]+)">', page) == list(plotly_file.AHEAD)
    assert page.index('rel="preload"') < page.index("<style>")  # before all that takes time to read
    assert [explorer.get(path).status_code for path in plotly_file.AHEAD] == [200, 200]
    network = make_network_app(NetworkModel(parse_bif(SPRINKLER), "sprinkler.bif")).server.test_client()
    assert "preload" not in network.get("/").text
    assert not any("{%" in text for text in (page, network.get("/").text))
