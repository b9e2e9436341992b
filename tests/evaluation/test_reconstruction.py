from __future__ import annotations

import math

import pytest
import torch

from dag_strategies import renumbered
from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.evaluation import clustered_proportion, common, reconstruction
from dvae.evaluation.reconstruction import same_graphs
from dvae.tasks import BayesNetTask, EnasTask, GenericTask, Task
from evaluation.scripted import ScriptedVae

ENAS = EnasTask(3)
DAGS = ENAS.sample(12, seed=0)
INDEX = torch.arange(12.0)[:, None]
OTHER = Dag(("input", "conv3", "output"), ((0, 1), (1, 2)))


def known_shares(decodings: int, wrong: dict[int, int]) -> ScriptedVae:
    """Of every `decodings` decodings of graph i the first `wrong[i]` are another graph."""

    def script(latents: torch.Tensor, _: torch.Generator) -> list[Dag]:
        return [
            OTHER if count % decodings < wrong.get(int(index), 0) else DAGS[int(index)]
            for count, index in enumerate(latents[:, 0].tolist())
        ]

    return ScriptedVae(ENAS, DAGS, INDEX, 1e-9, script)


def test_the_share_is_the_script_s_and_its_interval_is_over_graphs() -> None:
    vae = known_shares(6, {0: 6, 3: 3, 7: 1})
    result = reconstruction(vae, DAGS, mode="mean", encodings=2, decodings=3)
    expected = [0.0, 1, 1, 0.5, 1, 1, 1, 5 / 6, 1, 1, 1, 1]
    assert result.per_graph == pytest.approx(expected)
    assert result.share == clustered_proportion(result.per_graph)
    assert (result.share.count, result.encodings, result.decodings) == (12, 1, 6)


@pytest.mark.parametrize("mode", ["posterior", "mean"])
def test_blocks_change_nothing_and_bound_what_is_decoded_at_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, blocks = known_shares(4, {2: 1}), known_shares(4, {2: 1})
    expected = reconstruction(whole, DAGS, encodings=3, decodings=4, mode=mode)
    monkeypatch.setitem(common.NODES_AT_ONCE, "cpu", 2 * 12 * ENAS.max_nodes)
    assert reconstruction(blocks, DAGS, encodings=3, decodings=4, mode=mode) == expected
    assert (whole.largest, blocks.largest) == (144, 24)


def test_latents_are_drawn_with_the_posterior_s_own_deviation() -> None:
    """Right while the second coordinate, of mean -1 and deviation 2, is negative."""

    def script(latents: torch.Tensor, _: torch.Generator) -> list[Dag]:
        # The first coordinate is spread so that noise of deviation 2 cannot move one graph to another.
        return [DAGS[round(first / 100)] if second < 0 else OTHER for first, second in latents.tolist()]

    means = torch.cat([100 * INDEX, torch.full_like(INDEX, -1.0)], 1)
    vae = ScriptedVae(ENAS, DAGS, means, 2.0, script)
    assert reconstruction(vae, DAGS, mode="mean").share.value == 1.0
    drawn = reconstruction(vae, DAGS, mode="posterior", encodings=1000, decodings=1).share
    probability = 0.5 * (1 + math.erf(0.5 / math.sqrt(2)))  # of a standard normal below 1/2
    assert drawn.value == pytest.approx(probability, abs=4 * math.sqrt(probability / 4 / 12_000))


def test_decodings_of_a_latent_are_drawn_anew_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(latents: torch.Tensor, generator: torch.Generator) -> list[Dag]:
        right = torch.rand(len(latents), generator=generator) < 0.5
        return [DAGS[int(i)] if good else OTHER for i, good in zip(latents[:, 0], right, strict=True)]

    vae = ScriptedVae(ENAS, DAGS, INDEX, 1e-9, script)
    monkeypatch.setitem(common.NODES_AT_ONCE, "cpu", 1)
    result = reconstruction(vae, DAGS, mode="mean", seed=3)
    assert len(set(result.per_graph)) > 3
    assert reconstruction(vae, DAGS, mode="mean", seed=3) == result
    assert reconstruction(vae, DAGS, mode="mean", seed=4) != result


def test_greedy_decodes_each_latent_once() -> None:
    result = reconstruction(known_shares(1, {5: 1}), DAGS, mode="mean", greedy=True)
    assert (result.decodings, result.share.value) == (1, pytest.approx(11 / 12))
    drawn = reconstruction(known_shares(1, {5: 1}), DAGS, encodings=3, greedy=True)
    assert (drawn.encodings, drawn.decodings, drawn.per_graph[5]) == (3, 1, 0.0)


def test_the_model_is_measured_in_evaluation_mode_and_left_as_it_was() -> None:
    vae = known_shares(1, {}).train()
    vae.dropout.eval()
    reconstruction(vae, DAGS, encodings=1, decodings=1)
    assert (vae.training, vae.dropout.training) == (True, False)


def same(task: Task, truth: list[Dag], decoded: list[Dag]) -> list[bool]:
    return same_graphs(task, task.batch(truth), task.batch(decoded)).tolist()


def test_networks_in_another_order_of_the_variables_are_the_same() -> None:
    task = BayesNetTask("abc", ("A", "B", "C"))
    collider = Dag(("A", "B", "C"), ((0, 2), (1, 2)))
    swapped = Dag(("B", "A", "C"), ((0, 2), (1, 2)))
    chain = Dag(("B", "A", "C"), ((0, 1), (1, 2)))
    assert same(task, [collider, chain], [swapped, chain, swapped, chain]) == [True, False, False, True]


def test_isomorphic_graphs_are_the_same_for_a_generic_task_and_not_for_architectures() -> None:
    dag = Dag(("in", "a", "b", "c", "out"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4)))
    relabelled = renumbered(dag, [0, 2, 1, 3, 4])
    assert relabelled != dag
    different = Dag(dag.types, ((0, 1), (0, 2), (2, 3), (1, 4), (3, 4)))
    task = GenericTask.infer("three", [dag, relabelled, different])
    assert same(task, [dag], [relabelled, dag, different]) == [True, True, False]

    one = Dag(("input", "conv3", "sep3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    assert same(ENAS, [one], [renumbered(one, [0, 2, 1, 3]), one]) == [False, True]


def test_a_batch_with_less_padding_is_compared_all_the_same() -> None:
    task = EnasTask(5)
    vae = ScriptedVae(task, DAGS, INDEX, 1e-9, lambda latents, _: [DAGS[int(i)] for i in latents[:, 0]])
    assert reconstruction(vae, ENAS.batch(DAGS), encodings=1, decodings=1, mode="mean").share.value == 1.0


def test_what_cannot_be_measured_is_refused() -> None:
    vae = known_shares(1, {})
    with pytest.raises(ConfigError, match="no graph"):
        reconstruction(vae, [])
    with pytest.raises(ConfigError, match="mode"):
        reconstruction(vae, DAGS, mode="median")
    with pytest.raises(ConfigError, match="decodings"):
        reconstruction(vae, DAGS, decodings=0)
