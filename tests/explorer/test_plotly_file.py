"""Plotly's script is served in a shape that browsers read faster, and is otherwise the same."""

from __future__ import annotations

from dvae.explorer import PageModel, Space, make_app, plotly_file

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
