"""Studies with several objectives on the page, without a browser."""

from __future__ import annotations

import json
import random

import pytest

from dvae.dag import Dag
from dvae.explorer import PageModel, RequestError, Space, cards, make_app
from dvae.explorer.front_chart import front_chart
from dvae.explorer.fronts import FEASIBLE, INFEASIBLE, ON_FRONT, UNKNOWN, front_view
from dvae.explorer.studies import snapshot
from dvae.explorer.trial_table import MAX_WORDS, TrialTable, attribute_words
from dvae.strategies import Constraint, Objectives
from dvae.studies import front_of

from .amplifiers import COUNT, THREE, TWO, amplifier_space, amplifier_study
from .conftest import MakeStudy
from .test_server import UPDATE, requests

WISH = Objectives(("gain",), ("noise",), (Constraint("pm", ">=", 2.0),), (("gain", (0.0, 4.0)), ("noise", (0.0, 4.0))))
VALUES = {
    3: {"gain": 1.0, "noise": 1.0, "pm": 3.0},
    4: {"gain": 3.0, "noise": 2.0, "pm": 2.0},
    7: {"gain": 2.0, "noise": 3.0, "pm": 2.0},
    8: {"gain": 4.0, "noise": 0.0, "pm": 1.0},
}


@pytest.fixture(scope="module")
def space() -> Space:
    return amplifier_space()


def test_the_front_is_among_what_obeys_the_constraints() -> None:
    view = front_view(WISH, VALUES)
    assert (view.front, view.feasible) == ((4, 3), {3, 4, 7})
    assert view.hypervolume == pytest.approx(0.25 * 0.75 + 0.5 * 0.5)
    assert view.words == "2 of 4 on the front, 3 obey the constraints, hypervolume 0.4375"
    assert front_view(WISH, {}).words == "0 of 0 on the front, 0 obey the constraints"


def test_what_became_of_a_trial() -> None:
    view = front_view(WISH, VALUES)
    assert [view.standing(number) for number in (3, 4, 7, 8, 9)] == [ON_FRONT, ON_FRONT, FEASIBLE, INFEASIBLE, UNKNOWN]
    assert [view.having(each) for each in (ON_FRONT, FEASIBLE, INFEASIBLE, UNKNOWN)] == [[3, 4], [7], [8], []]
    assert [view.note(number) for number in (3, 7, 8, 9)] == ["on the front", None, "breaks a constraint", None]
    assert [view.broken_constraints(number) for number in (3, 7, 8, 9)] == [None, None, "breaks pm>=2", None]


def test_two_different_axes_are_shown_whatever_is_asked_for() -> None:
    view = front_view(WISH, VALUES)
    assert view.axes == ("gain", "noise", "pm")
    assert view.pair(None, None) == ("gain", "noise")
    assert view.pair("pm", "gain") == ("pm", "gain")
    assert view.pair("noise", "noise") == ("noise", "gain")
    assert view.pair("nothing", "gain") == ("noise", "gain")
    assert front_view(Objectives(("gain",)), {}).pair("gain", None) is None


def test_the_chart_tells_the_front_from_the_rest() -> None:
    figure = front_chart(front_view(WISH, VALUES), "gain", "noise", "#123456")
    json.dumps(figure, allow_nan=False)
    traces = {trace["name"]: trace for trace in figure["data"]}
    assert {name: trace["customdata"] for name, trace in traces.items()} == {
        "infeasible": [8],
        "feasible": [7],
        "on the front": [3, 4],
    }
    assert (traces["on the front"]["x"], traces["on the front"]["y"]) == ([1.0, 3.0], [1.0, 2.0])
    assert traces["on the front"]["line"]["shape"] == "vh"  # right of a point more gain costs more noise at once
    assert figure["layout"]["xaxis"]["title"]["text"] == "gain (more is better)"
    other = front_chart(front_view(WISH, VALUES), "pm", "noise", "#123456")
    assert other["data"][-1]["mode"] == "markers"  # no line bounds what a front dominates in other values
    assert other["layout"]["shapes"][0]["x0"] == 2.0
    assert other["layout"]["xaxis"]["title"]["text"] == "pm (&gt;= 2)"


def test_a_snapshot_has_the_front_of_its_study(space: Space) -> None:
    study = amplifier_study(space)
    seen, front = snapshot(study), front_of(study)
    assert seen.front is not None
    assert front is not None
    assert seen.front.front == seen.stars == tuple(trial.number for trial in front.trials)
    assert (seen.front.hypervolume, len(seen.front.feasible)) == (front.hypervolume, front.feasible)
    assert [trial.number for trial in seen.top[: len(front.trials)]] == list(seen.front.front)
    assert len({trial.dag for trial in seen.top}) == len(seen.top) == 20
    rows = str(cards.top_rows(space, seen, set()))
    assert all(f"Small('{name}')" in rows for name in TWO.needed)
    assert rows.count("on the front") == len(front.trials)


def test_a_study_of_one_score_looks_as_before(asia: Space, make_study: MakeStudy) -> None:
    seen = snapshot(make_study([1.0, 3.0, 2.0]))
    assert seen.front is None
    assert seen.stars == (1,)
    rows = str(cards.top_rows(asia, seen, set()))
    assert "Strong('3.0000')" in rows
    assert "className='top-row'" in rows
    assert "with-values" not in rows


def test_scores_of_different_objectives_are_not_drawn_together(space: Space, make_study: MakeStudy) -> None:
    two, three = snapshot(amplifier_study(space)), snapshot(amplifier_study(space, THREE))
    one = snapshot(make_study([1.0]))
    assert two.is_comparable(snapshot(amplifier_study(space)))
    assert one.is_comparable(snapshot(make_study([2.0])))
    assert not two.is_comparable(three)
    assert not two.is_comparable(one)
    assert not one.is_comparable(two)


def test_only_scored_trials_are_opened(space: Space) -> None:
    model = PageModel(space, [amplifier_study(space)])
    assert model.scored_trial(0, 1).dag == space.known.dags[1]
    for wrong in (COUNT, None, "1", -1):
        with pytest.raises(RequestError, match="trial"):
            model.scored_trial(0, wrong)


@pytest.mark.parametrize("seed", range(2))
def test_no_payload_ends_without_words(space: Space, seed: int) -> None:
    client = make_app(PageModel(space, [amplifier_study(space)])).server.test_client()
    mine = ("front", "condition", "current", "trial")
    dependencies = [each for each in client.get("/_dash-dependencies").json if any(part in str(each) for part in mine)]
    for body in requests(dependencies, random.Random(seed), rounds=4):
        for part in body["state"]:
            if isinstance(part, dict) and part["id"] == "study":
                part["value"] = 0  # what comes after the choice of a study is to be reached
        answer = client.post(UPDATE, json=body)
        assert answer.status_code in (200, 204, 400), (answer.status_code, body)
        assert "on our side" not in answer.get_data(as_text=True), body


def test_the_table_of_trials_tells_columns_and_what_became_of_the_constraints(space: Space) -> None:
    seen = snapshot(amplifier_study(space))
    assert seen.front is not None
    table = TrialTable.of(seen)
    assert table.has_attributes
    assert {"gain", "bw", "pm", "standing", "mean(size)"} < set(table.columns)
    front = {table.trials[place].number for place in table.rows('standing = "on the front"', None)}
    broken = {table.trials[place].number for place in table.rows("standing = infeasible", None)}
    assert front == set(seen.front.front)
    assert broken == set(seen.front.values) - seen.front.feasible == set(table.broken)
    assert set(table.broken.values()) == {"breaks pm>=2"}
    first = table.trials[0].dag
    words = attribute_words(first)
    assert words.startswith("subcircuit: ")
    assert f"size: {first.node['size'][0]:g}" in words
    assert len(attribute_words(Dag(("a",) * 300, (), node={"size": [*range(300)]}))) == MAX_WORDS
