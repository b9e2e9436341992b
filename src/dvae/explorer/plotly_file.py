"""Plotly's script as the page serves it: the same program, in a shape that browsers read faster.

The whole library stands in functions within functions. A browser skims a function before it is called and reads it
when it is; of functions within functions it does so again for each of them. One in parentheses is read at once: for
these five megabytes, that is a fifth of all the work of opening the page.
"""

from __future__ import annotations

import importlib.resources
from functools import lru_cache
from typing import Any

PATH = "/_dash-component-suites/plotly/package_data/plotly.min.js"
AHEAD = (PATH, "/_dash-component-suites/dash/dcc/async-graph.js")  # what a page with charts is sure to ask for
_OPENS, _CLOSES = '() => {\n"use strict";var Plotly=(()=>{', "}));"
_OPENS_AT_ONCE, _CLOSES_AT_ONCE = '(function () {\n"use strict";var Plotly=(function(){', "})));"


def read_at_once(script: str) -> str | None:
    """The script with its outermost functions in parentheses; None for one of another shape."""
    body = script.rstrip()
    if script.count(_OPENS) != 1 or not body.endswith(_CLOSES):
        return None
    return body.replace(_OPENS, _OPENS_AT_ONCE).removesuffix(_CLOSES) + _CLOSES_AT_ONCE


@lru_cache(maxsize=1)
def _content() -> bytes | None:
    try:
        file = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
        script = read_at_once(file.read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if script is None else script.encode()


def serve(server: Any) -> None:
    """Lets a Flask server answer for plotly's script; one that cannot be changed is left to Dash."""
    from flask import Response, request

    def answer() -> Any:
        content = _content() if request.path == PATH else None
        if content is None:
            return None
        response = Response(content, mimetype="text/javascript")
        response.add_etag()
        return response.make_conditional(request)

    server.before_request(answer)
