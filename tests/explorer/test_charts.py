from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import torch

from dvae.dag import DagSet
from dvae.explorer import Space, charts, colours, map_figure, map_marks
from dvae.explorer.studies import Baseline, snapshot

from .conftest import MakeStudy


def unpacked(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), dtype="<f4")


@pytest.mark.parametrize("background", map_figure.BACKGROUNDS)
def test_the_map_shows_every_known_dag_where_it_lies(any_space: Space, background: str) -> None:
    plane = any_space.planes[0]
    figure = map_figure.map_figure(any_space, plane, background)
    json.dumps(figure, allow_nan=False)
    points = figure["data"][map_figure.POINTS]
    places = plane.project(any_space.latents).numpy()
    assert np.allclose(unpacked(points["x"]), places[:, 0], atol=1e-5)
    assert np.allclose(unpacked(points["y"]), places[:, 1], atol=1e-5)
    assert len(figure["data"]) == map_figure.CURRENT + 1
    assert f"{plane.variance[0]:.1%} of variance" in figure["layout"]["xaxis"]["title"]["text"]


def test_points_are_coloured_by_rank_and_the_scale_tells_scores(asia: Space) -> None:
    marker = map_figure.points_trace(asia, asia.planes[0].project(asia.latents).double().numpy())["marker"]
    ranks = unpacked(marker["color"])
    scores = np.array(asia.known.scores, dtype=float)
    assert np.argmax(ranks) == np.argmax(scores)
    assert ranks.min() == 0
    assert marker["colorbar"]["ticktext"][-1] == f"{scores.max():,.0f}"


def test_without_scores_the_number_of_nodes_is_shown(pipelines: Space) -> None:
    dags = pipelines.known.dags
    bare = Space(pipelines.vae, DagSet.of(dags), pipelines.latents, "bare")
    marker = map_figure.points_trace(bare, bare.planes[0].project(bare.latents).double().numpy())["marker"]
    assert unpacked(marker["color"]).tolist() == [len(dag) for dag in dags]
    assert marker["colorbar"]["title"]["text"] == "nodes"


def test_the_score_layer_is_empty_where_there_are_no_dags(asia: Space) -> None:
    places = asia.planes[0].project(asia.latents).double().numpy()
    cells = [cell for row in map_figure.background_trace(asia, places, "score")["z"] for cell in row]
    assert None in cells
    shares = [cell for cell in cells if cell is not None]
    assert min(shares) >= 0
    assert max(shares) <= 1


def test_twenty_thousand_points_are_a_small_page(asia: Space) -> None:
    places = torch.randn(20_000, 2).double().numpy()
    trace = map_figure.points_trace(asia, places)
    assert len(json.dumps([trace["x"], trace["y"]])) < 250_000


def test_a_star_marks_the_best_proposal_on_top() -> None:
    trace = map_marks.proposals_trace(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), 0)
    assert (trace["x"][-1], trace["y"][-1], trace["marker"]["symbol"][-1]) == (0.0, 1.0, "star")
    assert map_marks.proposals_trace(torch.empty(0, 2), None)["x"] == []


def test_progress_shows_best_mean_others_and_baselines(make_study: MakeStudy) -> None:
    one, two = snapshot(make_study([1.0, 3.0, 2.0], name="one")), snapshot(make_study([2.0], name="two"))
    figure = charts.progress_chart({0: one, 1: two}, 0, [Baseline("optimum", 4.0)])
    names = [trace["name"] for trace in figure["data"]]
    assert names == ["best, one", "mean of the last 25", "best, two"]
    assert figure["data"][0]["y"] == [1.0, 3.0, 3.0]
    assert figure["layout"]["shapes"][0]["y0"] == 4.0
    low, high = figure["layout"]["yaxis"]["range"]
    assert low < 1.5
    assert high > 4.0
    empty = charts.progress_chart({0: snapshot(make_study([]))}, 0, [])
    assert empty["layout"]["yaxis"]["range"] is None


def test_a_study_keeps_its_colour_whichever_is_chosen(make_study: MakeStudy) -> None:
    studies = {number: snapshot(make_study([1.0, 2.0], name=f"study {number}")) for number in range(3)}
    shown = [charts.progress_chart(studies, chosen, [])["data"] for chosen in studies]
    best = [{trace["name"]: trace["line"]["color"] for trace in data if "best" in trace["name"]} for data in shown]
    assert best[0] == best[1] == best[2]
    assert len(set(best[0].values())) == 3


def test_the_gap_to_the_best_is_drawn_on_a_logarithmic_scale(make_study: MakeStudy) -> None:
    studies = {0: snapshot(make_study([1.0, 3.0], name="one")), 1: snapshot(make_study([2.0, 5.0], name="two"))}
    figure = charts.gap_chart(studies, 0, [])
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert figure["data"][0]["y"] == [4.0, 2.0]
    assert figure["data"][1]["y"][0] == 3.0
    assert 0 < figure["data"][1]["y"][1] < 2.0  # it has reached the best: at the lower edge
    assert "gap to 5" in figure["layout"]["yaxis"]["title"]["text"]
    assert charts.gap_chart({0: snapshot(make_study([]))}, 0, [])["data"][0]["y"] == []


def test_steps_of_a_walk_are_counted_from_one() -> None:
    figure = charts.walk_chart([1.0, None, 2.0], 2)
    assert figure["data"][0]["x"] == [1, 2, 3]
    assert figure["layout"]["shapes"][0]["x0"] == 3


def test_a_colour_for_every_rank() -> None:
    assert colours.colour_at(None) == ""
    assert colours.colour_at(0.0) == colours.SCALE[0][1]
    assert colours.colour_at(1.0) == colours.SCALE[-1][1]
    assert len({colours.colour_at(rank / 10) for rank in range(11)}) == 11
