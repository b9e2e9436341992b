"""DAGs picked from the map, by a filter or a bookmark: sorted, exported and laid side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError
from dvae.explorer import cards, places
from dvae.explorer.bookmarks import Bookmark
from dvae.explorer.exports import MAX_DAGS, Export, export
from dvae.explorer.graph_view import direction_of
from dvae.explorer.model import PageModel
from dvae.explorer.places import Given, Known, Place, RequestError
from dvae.explorer.quantities import NUMBER, SCORE, Mask, Quantities

SELECTED, FILTERED, BOOKMARKS = "selected", "filtered", "bookmarks"
SOURCES = (SELECTED, FILTERED, BOOKMARKS)
MAX_CORNERS = 1_000  # of a selection
MAX_PLACE = 1e6  # of a corner, in units of the map
MAX_COMPARED = 4


@dataclass(frozen=True)
class Item:
    """One DAG of a gallery; `key` is what the page calls it."""

    key: str
    place: Place
    title: str
    dag: Dag
    score: float | None


@dataclass(frozen=True, eq=False)
class Gallery:
    """Some DAGs, and what they can be sorted by."""

    items: tuple[Item, ...]
    quantities: Quantities

    def sorted_by(self, name: object, *, rising: bool) -> Gallery:
        """The same DAGs in another order; those without a value come last."""
        values = self.quantities.get(places.choice(name, tuple(self.quantities.names), "the order")).values
        keys = np.where(np.isnan(values), np.inf, values if rising else -values)
        order = np.argsort(keys, kind="stable").tolist()
        return Gallery(*_of([self.items[place] for place in order]))

    def picked(self, keys: object) -> list[Item]:
        """The items with these keys, in the gallery's order."""
        wanted = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()
        return [item for item in self.items if item.key in wanted]


def collect(model: PageModel, source: object, selection: object, text: object) -> Gallery:
    """The gallery of a source: what is selected on the map, what the filter lets through, or the bookmarks."""
    kind = places.choice(source, SOURCES, "the gallery")
    if kind == BOOKMARKS:
        return Gallery(*_of(_bookmarked(model)))
    shown = model.shown(text)
    if kind == SELECTED:
        shown = shown & inside(model, selection)
    known = model.space.known
    numbers = np.flatnonzero(shown).tolist()
    items = [Item(f"k{n}", Known(n), f"Known DAG {n:,}", known.dags[n], known.scores[n]) for n in numbers]
    return Gallery(*_of(items))


def inside(model: PageModel, selection: object) -> Mask:
    """Which known DAGs lie within the corners that were drawn on a map; none without a selection."""
    nobody: Mask = np.zeros(len(model.space.known), dtype=bool)
    if selection is None:
        return nobody
    corners = selection.get("corners") if isinstance(selection, Mapping) else None
    if not isinstance(corners, list) or not 3 <= len(corners) <= MAX_CORNERS:
        raise RequestError(f"a selection has 3 to {MAX_CORNERS:,} corners")
    if any(not isinstance(corner, list) or len(corner) != 2 for corner in corners):
        raise RequestError("a corner of a selection is a pair of numbers")
    outline = [[places.number(value, -MAX_PLACE, MAX_PLACE, "a corner") for value in corner] for corner in corners]
    assert isinstance(selection, Mapping)
    spots = model.plane(selection.get("plane")).project(model.space.latents).double().numpy()
    found = nobody
    for (x0, y0), (x1, y1) in zip(outline, outline[1:] + outline[:1], strict=True):
        # A spot is inside where a line from it to the right meets the outline an odd number of times.
        crosses = (spots[:, 1] < y0) != (spots[:, 1] < y1)
        if crosses.any():
            found = found ^ (crosses & (spots[:, 0] < x0 + (spots[:, 1] - y0) * (x1 - x0) / (y1 - y0)))
    return found


def export_items(model: PageModel, items: Sequence[Item], key: object, direction: object = None) -> Export:
    """The DAGs of a gallery as a file."""
    if not items:
        raise RequestError("there is no DAG in the gallery to export")
    if len(items) > MAX_DAGS:
        raise RequestError(f"one file holds at most {MAX_DAGS:,} DAGs, not {len(items):,}; select fewer")
    way = direction_of(direction)
    return export([ScoredDag(item.dag, item.score) for item in items], key, model.space.task, way)


def compared(gallery: Gallery, items: Sequence[Item]) -> list[tuple[str, list[str]]]:
    """The quantities in which some DAGs differ, and the value of each, in words."""
    if not 2 <= len(items) <= MAX_COMPARED:
        raise RequestError(f"tick 2 to {MAX_COMPARED} DAGs to compare them, not {len(items)}")
    at = {item.key: place for place, item in enumerate(gallery.items)}
    rows = []
    for name in gallery.quantities.names:
        quantity = gallery.quantities.get(name)
        words = [quantity.text(at[item.key]) for item in items]
        if name != NUMBER and len(set(words)) > 1:
            rows.append((name, words))
    return rows


def bookmark_of(model: PageModel, current: object, enforce: object) -> Bookmark:
    """The page's DAG as a bookmark: a known DAG by itself, since its number may be another's one day."""
    finding = model.find(current, enforce)
    title = cards.title_of(finding)
    place = Given(finding.dag, title) if isinstance(finding.place, Known) else finding.place
    return Bookmark(title, places.to_json(place))


def _bookmarked(model: PageModel) -> list[Item]:
    """The bookmarks that this model can hold; others are passed over, and stay in the file."""
    items = []
    for number, bookmark in enumerate(model.bookmarks.read()):
        try:
            finding = model.find(bookmark.place)
        except DvaeError:
            continue
        items.append(Item(f"b{number}", finding.place, bookmark.name, finding.dag, finding.score))
    return items


def _of(items: Sequence[Item]) -> tuple[tuple[Item, ...], Quantities]:
    given: dict[str, Any] = {NUMBER: list(range(1, len(items) + 1))}
    if any(item.score is not None for item in items):
        given = {SCORE: [item.score for item in items], **given}
    return tuple(items), Quantities([item.dag for item in items], given)
