from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag, DagSet
from dvae.errors import ConfigError
from dvae.explorer import Given, Known, Latent, Space, cards
from dvae.tasks import EnasTask


def test_a_known_dag_is_found_with_its_own_score_and_place(any_space: Space) -> None:
    finding = any_space.find(Known(3))
    assert finding.dag == any_space.known.dags[3]
    assert torch.equal(finding.latent, any_space.latents[3])
    assert finding.valid
    assert finding.origin == "known"
    assert finding.same_as is not None
    assert any_space.known.dags[finding.same_as] not in [any_space.known.dags[n.index] for n in finding.nearest]


def test_a_given_dag_is_encoded_where_the_same_known_one_lies(any_space: Space) -> None:
    finding = any_space.find(Given(any_space.known.dags[5]))
    assert torch.allclose(finding.latent, any_space.latents[5], atol=1e-5)
    assert finding.origin == "given"


def test_the_best_known_dag_beats_all_others(asia: Space) -> None:
    finding = asia.find(Known(asia.best))
    assert finding.score == max(score for score in asia.known.scores if score is not None)
    assert finding.rank == (len(asia.known) - 1) / len(asia.known)


def test_a_task_that_scores_is_asked_about_new_dags(asia: Space) -> None:
    dag = Dag(asia.task.vocabulary.labels[2:], ((0, 2), (1, 3)))
    finding = asia.find(Given(dag))
    assert finding.same_as is None
    assert finding.score == asia.task.score(dag)


def test_without_a_score_of_its_own_a_task_knows_the_scores_of_its_data(enas: Space) -> None:
    assert enas.find(Given(enas.known.dags[2])).score == enas.known.scores[2]
    fresh = next(dag for dag in enas.task.sample(50, seed=99) if enas.task.key(dag) not in enas.number_of)
    finding = enas.find(Given(fresh))
    assert (finding.score, finding.rank, finding.same_as) == (None, None, None)


def test_confidence_is_the_share_of_equal_decodings(asia: Space) -> None:
    place = asia.at(asia.planes[0], 0.3, -0.2)
    finding = asia.find(place)
    drawn = asia.vae.decode(torch.tensor([place.values]), copies=64, seed=0)
    key = asia.task.keys(asia.task.batch([finding.dag]))[0] if finding.valid else None
    if key is not None:
        equal = [asia.task.is_valid(dag) and asia.task.key(dag) == key for dag in drawn]
        assert finding.confidence == sum(equal) / 64
    assert 0 <= finding.confidence <= 1


def test_enforcing_the_rules_makes_every_place_valid(any_space: Space) -> None:
    for seed in range(8):
        assert any_space.find(any_space.random(seed), True).valid


def test_the_nearest_known_dags_come_in_order_and_once(any_space: Space) -> None:
    latent = any_space.latents[0] + 0.01
    near = any_space.nearest(latent, 5)
    distances = [neighbour.distance for neighbour in near]
    assert distances == sorted(distances)
    assert len({any_space.known.dags[neighbour.index] for neighbour in near}) == len(near)
    every = (any_space.latents - latent).norm(dim=1)
    assert near[0].distance == pytest.approx(float(every.min()), rel=1e-4)


def test_a_click_without_an_anchor_moves_in_the_plane_through_the_mean(asia: Space) -> None:
    plane = asia.planes[0]
    place = asia.at(plane, 0.0, 0.0)
    assert torch.allclose(torch.tensor(place.values), plane.centre, atol=1e-5)
    anchored = asia.at(plane, 0.0, 0.0, asia.latents[1])
    assert anchored != place


def test_the_same_question_has_the_same_answer(asia: Space) -> None:
    assert asia.find(Latent((0.1,) * 6)) is asia.find(Latent((0.1,) * 6))
    assert asia.random(4) == asia.random(4) != asia.random(5)


def test_a_space_needs_dags_and_known_maps(asia: Space) -> None:
    with pytest.raises(ConfigError, match="at least one DAG"):
        Space(asia.vae, DagSet.of([]), torch.empty(0, 6), "empty")
    with pytest.raises(ConfigError, match="PC 1 and 2"):
        asia.plane("elsewhere")


def test_a_dag_that_is_not_valid_names_the_rule_where_the_task_can(
    enas: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Given(Dag(("input", "conv3", "output"), ((0, 1),)))
    space = Space(enas.vae, enas.known, enas.latents, "rules")
    assert not space.find(broken).valid
    assert space.find(broken).broken_rule == "node 2 must be fed by node 1, the one before it"
    monkeypatch.setattr(EnasTask, "why_invalid", lambda task, dag: f"node {len(dag) - 1} has no input")
    space = Space(enas.vae, enas.known, enas.latents, "rules")
    finding = space.find(broken)
    assert finding.broken_rule == "node 2 has no input"
    assert "Not valid: node 2 has no input" in str(cards.facts(finding, can_score=False))
    assert space.find(Known(0)).broken_rule is None
    assert "Not valid" not in str(cards.facts(space.find(Known(0)), can_score=False))
