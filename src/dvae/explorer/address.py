"""The view that the page's address tells: what is written after its "#", and where it comes from.

The writing and reading itself happens in the browser (browser/address.js).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from dash import Dash, Input, Output

from dvae.explorer.gallery import SOURCES
from dvae.explorer.gallery_tab import ORDERS
from dvae.explorer.map_figure import BACKGROUNDS
from dvae.explorer.map_tools import colour_names
from dvae.explorer.model import PageModel
from dvae.explorer.replay_part import GAP, SCORES
from dvae.explorer.trials_part import ALL_TRIALS, BEST
from dvae.explorer.walks import PATHS

Kind = Literal["word", "text", "number", "flag", "named", "place", "json"]


@dataclass(frozen=True)
class Key:
    """One part of the address: its name, the component it is of, and how it is written.

    A change of a small one makes no step for Back to return to.
    """

    name: str
    id: str
    kind: Kind
    property: str = "value"
    choices: tuple[str, ...] | None = None
    flag: str | None = None
    small: bool = False


def keys(model: PageModel, tabs: Sequence[str]) -> list[Key]:
    """All parts of the address of a page."""
    found = [
        Key("tab", "tab", "word", choices=tuple(tabs)),
        Key("dag", "current", "place", "data"),
        Key("with", "compared", "place", "data"),
        Key("map", "plane", "word", choices=tuple(model.space.map_names)),
        Key("background", "background", "word", choices=BACKGROUNDS, small=True),
        Key("colour", "colour", "word", choices=tuple(colour_names(model)), small=True),
        Key("filter", "filter", "text", small=True),
        Key("valid", "enforce", "flag", flag="enforce"),
        Key("anchor", "anchor", "place", "data"),
        Key("from", "walk-start", "place", "data"),
        Key("to", "walk-end", "place", "data"),
        Key("path", "path", "word", choices=PATHS),
        Key("step", "step", "number", small=True),
        Key("selection", "selection", "json", "data"),
        Key("gallery", "gallery-source", "word", choices=SOURCES),
        Key("by", "gallery-sort", "word", small=True),
        Key("order", "gallery-order", "word", choices=ORDERS, small=True),
    ]
    if model.studies:
        found += [
            Key("study", "study", "named", choices=tuple(model.study_names)),
            Key("scale", "scale", "word", choices=(SCORES, GAP), small=True),
            Key("table", "table-kind", "word", choices=(BEST, ALL_TRIALS)),
            Key("trials", "trial-filter", "text", small=True),
            Key("sort", "trial-sort", "json", "data", small=True),
        ]
    return found


def connect(app: Dash, model: PageModel, tabs: Sequence[str]) -> None:
    """Writes the view to the address whenever it changes."""
    parts = keys(model, tabs)
    plain = json.dumps([asdict(key) for key in parts]).replace("</", "<\\/")
    app.clientside_callback(
        f"function (...values) {{ return dvaeAddress.changed({plain}, values); }}",
        Output("address", "data"),
        *(Input(key.id, key.property) for key in parts),
    )
