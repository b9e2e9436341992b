"""Galleries of DAGs, bookmarks, the table of trials, the film of a walk, and other runs, without a browser."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dvae.errors import FormatError, StorageError
from dvae.explorer import Bookmarks, Given, Known, PageModel, RequestError, Space
from dvae.explorer.address import keys
from dvae.explorer.bookmarks import Bookmark
from dvae.explorer.gallery import bookmark_of, collect, compared, export_items, inside
from dvae.explorer.making import Made
from dvae.explorer.runs_tab import chosen_elsewhere
from dvae.explorer.studies import snapshot
from dvae.explorer.trial_table import TrialTable
from dvae.explorer.trials_part import export_rows
from dvae.explorer.walk_film import animated_svg, film_file, scenes

from .conftest import MakeStudy

EVERYWHERE = {"plane": "PC 1 and 2", "corners": [[-1e5, -1e5], [1e5, -1e5], [1e5, 1e5], [-1e5, 1e5]]}


def test_what_lies_within_an_outline_is_selected(model: PageModel) -> None:
    spots = model.plane("PC 1 and 2").project(model.space.latents).numpy()
    assert inside(model, EVERYWHERE).all()
    assert not inside(model, None).any()
    x, y = spots[:, 0].mean(), spots[:, 1].mean()
    triangle = [[x, y], [x + 50.0, y + 50.0], [x, y + 50.0]]
    wanted = (spots[:, 0] > x) & (spots[:, 1] - y > spots[:, 0] - x)
    found = inside(model, {"plane": "PC 1 and 2", "corners": [[float(a), float(b)] for a, b in triangle]})
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    "wrong",
    [3, {}, {"corners": []}, {"corners": [[0, 0]] * 2}, {"corners": [[0, 0], [1, 1], [2]], "plane": "PC 1 and 2"},
     {"corners": [["a", 0]] * 3, "plane": "PC 1 and 2"}, {"corners": [[0, 0]] * 5000}, {**EVERYWHERE, "plane": "no"}],
)  # fmt: skip
def test_what_is_no_selection_is_refused(model: PageModel, wrong: object) -> None:
    with pytest.raises(RequestError):
        inside(model, wrong)


def test_a_gallery_is_sorted_exported_and_compared(model: PageModel) -> None:
    found = collect(model, "selected", EVERYWHERE, "edges > 9").sorted_by("score", rising=False)
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)
    assert 1 < len(scores) < len(model.space.known)
    picked = found.picked([found.items[2].key, found.items[0].key, 5])
    assert [item.key for item in picked] == [found.items[0].key, found.items[2].key]
    lines = export_items(model, picked, "jsonl").text.splitlines()
    assert [json.loads(line)["score"] for line in lines] == [scores[0], scores[2]]
    rows = dict(compared(found, picked))
    assert len(set(rows["score"])) == 2
    assert "nodes" not in rows  # the same in both
    for wrong in ([], picked[:1], list(found.items[:5])):
        with pytest.raises(RequestError, match="tick 2 to 4"):
            compared(found, wrong)
    with pytest.raises(RequestError, match="no DAG in the gallery"):
        export_items(model, [], "jsonl")


def test_bookmarks_are_kept_in_a_file_and_found_again(asia: Space, tmp_path: Path) -> None:
    file = tmp_path / "bookmarks.json"
    model = PageModel(asia, bookmarks=Bookmarks(file))
    known = bookmark_of(model, {"known": 3}, None)
    assert known.name == "Known DAG 3"
    assert model.bookmarks.toggle(known)
    latent = bookmark_of(model, {"latent": [0.5] * 6}, None)
    assert model.bookmarks.toggle(latent)
    again = PageModel(asia, bookmarks=Bookmarks(file))
    items = collect(again, "bookmarks", None, None).items
    assert [item.title for item in items] == ["Known DAG 3", "Decoded DAG"]
    assert items[0].dag == asia.known.dags[3]
    assert not again.bookmarks.toggle(known)
    assert [each.name for each in model.bookmarks.read()] == ["Decoded DAG"]
    assert [path.name for path in tmp_path.iterdir()] == ["bookmarks.json"]


def test_bookmarks_that_cannot_be_read_or_written_are_said(asia: Space, tmp_path: Path) -> None:
    file = tmp_path / "bookmarks.json"
    for text, words in [("{}", "expected a list"), ("[1]", "bookmark 1"), ("[", "not JSON")]:
        file.write_text(text)
        with pytest.raises(FormatError, match=words):
            Bookmarks(file).read()
    (tmp_path / "flat").write_text("")
    with pytest.raises(StorageError):
        Bookmarks(tmp_path / "flat" / "bookmarks.json").toggle(Bookmark("x", {"known": 1}))
    file.write_text(json.dumps([{"name": "foreign", "place": {"types": ["Z"], "edges": []}}]))
    assert collect(PageModel(asia, bookmarks=Bookmarks(file)), "bookmarks", None, None).items == ()


def test_every_trial_is_a_row_that_is_sorted_and_filtered(asia: Space, make_study: MakeStudy) -> None:
    table = TrialTable.of(snapshot(make_study([1.0, None, 3.0, 2.0])))
    assert table.columns == ["trial", "state", "score", "nodes", "edges"]
    assert table.rows(None, None) == [0, 1, 2, 3]
    assert table.rows("", {"by": "score", "rising": False}) == [2, 3, 0, 1]  # without a score: last
    assert table.rows("state = failed", None) == [1]
    assert table.rows("score > 1", {"by": "score", "rising": True}) == [3, 2]
    for wrong in ({"by": "nothing"}, {"by": 3}):
        with pytest.raises(RequestError):
            table.rows("", wrong)
    model = PageModel(asia, [make_study([1.0, None, 3.0])])
    lines = export_rows(model, 0, "state = complete", {"by": "score", "rising": False}, "jsonl").text.splitlines()
    assert [json.loads(line)["score"] for line in lines] == [3.0, 1.0]


def test_a_film_has_each_dag_once_for_as_long_as_it_stays(model: PageModel) -> None:
    walk = model.walk({"known": 0}, {"known": 5}, "line")
    played = scenes(walk.steps)
    assert played[0].first == 1
    assert played[-1].last == len(walk.steps)
    for before, after in pairwise(played):
        assert after.first == before.last + 1
        assert after.step.dag != before.step.dag


@pytest.mark.parametrize("name", ["asia", "enas", "pipelines"])
def test_a_film_is_one_svg_with_a_picture_for_each_scene(name: str, request: pytest.FixtureRequest) -> None:
    space: Space = request.getfixturevalue(name)
    model = PageModel(space)
    for end in (0, 7):
        steps = model.walk({"known": 0}, {"known": end}, "circle").steps
        root = ElementTree.fromstring(animated_svg(steps, space.task))
        pictures = [group for group in root if group.tag.endswith("}g")]
        assert len(pictures) == len(scenes(steps))
        for group in pictures if len(pictures) > 1 else []:
            moves = next(part for part in group if part.tag.endswith("animate"))
            times = [float(time) for time in moves.attrib["keyTimes"].split(";")]
            assert times == sorted(times)
            assert (times[0], times[-1], len(times)) == (0, 1, len(moves.attrib["values"].split(";")))
    assert film_file(steps, space.task).name.endswith("-walk.svg")


def test_a_dag_chosen_on_another_runs_map_is_named_after_it(asia: Space, enas: Space) -> None:
    model = PageModel(asia, others=[PageModel(asia), PageModel(enas)])
    place = chosen_elsewhere(model, {"run": 0, "known": 4, "plane": "PC 1 and 2"}, None)
    assert place == Given(asia.known.dags[4], "Known DAG 4 of asia")
    with pytest.raises(RequestError, match="unknown to asia"):
        chosen_elsewhere(model, {"run": 1, "known": 4, "plane": "PC 1 and 2"}, None)
    for wrong in (None, {"run": 2}, {"run": 0, "x": "far"}):
        with pytest.raises(RequestError):
            chosen_elsewhere(model, wrong, None)


def test_a_click_names_its_map(model: PageModel) -> None:
    click = {"x": 0.3, "y": 0.1, "plane": "PC 1 and 2"}
    assert model.click(click, "PC 3 and 4", None) == model.click(click, "PC 1 and 2", None)
    assert model.click({"known": 4, "plane": "PC 1 and 2"}, None, None) == Known(4)


def test_what_takes_long_is_made_once_and_its_error_is_kept() -> None:
    made: list[int] = []
    one = Made(lambda: made.append(1) or "value")
    assert (one.is_done, one.seconds) == (False, 0.0)
    one.start()
    one.start()
    assert (one.get(), one.get(), made, one.is_done) == ("value", "value", [1], True)

    def fails() -> str:
        raise ValueError("no")

    broken = Made(fails)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            broken.get()


def test_the_address_tells_every_part_of_the_view(asia: Space, make_study: MakeStudy) -> None:
    names = {key.name for key in keys(PageModel(asia, [make_study([1.0])]), ["Inspect"])}
    assert {"tab", "dag", "map", "from", "to", "study", "filter", "colour", "selection", "trials"} <= names
    assert "study" not in {key.name for key in keys(PageModel(asia), ["Inspect"])}
