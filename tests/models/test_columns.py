"""The columns of a model: likelihoods against a slow oracle, kinds of edges, densities, conditions."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
import torch

import dvae
from contracts.column_examples import COLUMNED_DAGS, CONDITIONS, columned_task
from contracts.model_examples import model
from dvae import Dag
from dvae.dag.column_tensors import num_codes
from dvae.dag.number_grid import BINS
from dvae.errors import ConfigError, DvaeError
from dvae.models import VAE, build
from dvae.models.column_values import DISCOURAGED
from dvae.models.parts import Sampling
from dvae.tasks import GenericTask


def slow_nll(vae: VAE, latent: torch.Tensor, dag: Dag) -> float:
    """-log p(columns | types, edges, z) of one DAG, node by node and edge by edge, in plain Python."""
    task, part = vae.task, vae.columns
    assert part is not None
    batch = vae.prepare(task.batch([dag]))
    columns, writer = batch.columns, part.writer
    assert columns is not None
    whole = task.vocabulary
    context = writer.context(latent[None], batch)[0]
    total = 0.0
    for place, schema in (("node", task.schema.node), ("edge", task.schema.edge)):
        codes = columns.node_codes[0] if place == "node" else columns.edge_codes[0]
        numbers = columns.node_numbers[0] if place == "node" else columns.edge_numbers[0]
        heads = writer.node_heads if place == "node" else writer.edge_heads
        embeds = writer.embeddings.node if place == "node" else writer.embeddings.edge
        count = int(batch.num_nodes[0]) if place == "node" else int(columns.edge_there[0].sum())
        after = {}
        for at in range(count):
            if place == "node":
                seen, owner = context[at], whole.labels[int(batch.types[0, at])]
            else:
                ends = int(columns.sources[0, at]), int(columns.targets[0, at])
                seen = torch.relu(writer.source(context[ends[0]]) + writer.target(context[ends[1]]))
                owner = tuple(whole.labels[int(batch.types[0, end])] for end in ends)
            for number, column in enumerate(schema):
                head = heads[number]
                logits, _ = head.logits(seen)
                scores = []
                for code in range(num_codes(column)):
                    holder = column.holder_of.get(owner)
                    fits = (code > 0 or holder.optional) if holder is not None else code == 0
                    scores.append(float(logits[code]) + (0.0 if fits else DISCOURAGED))
                code = int(codes[at, number])
                largest = max(scores)
                total += largest + math.log(sum(math.exp(score - largest) for score in scores)) - scores[code]
                spans = [(0.0, 0.0), *column.grid.spans()] if column.kind == "number" else []
                if spans and spans[code][1] > spans[code][0]:
                    total += math.log(spans[code][1] - spans[code][0])
                if number < len(embeds):
                    seen = seen + embeds[number](codes[at, number], numbers[at, number])
            after[at] = seen
        if place == "node":
            context = torch.stack([after[at] for at in range(count)])
    return total


@torch.no_grad()
def test_the_likelihood_of_columns_is_that_of_the_slow_oracle() -> None:
    vae = model("dvae", columned_task())
    latents = torch.randn(len(COLUMNED_DAGS), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    batch = vae.prepare(vae.task.batch(COLUMNED_DAGS))
    assert vae.columns is not None
    found = vae.columns.nll(latents, batch).tolist()
    assert found == pytest.approx([slow_nll(vae, *row) for row in zip(latents, COLUMNED_DAGS, strict=True)], rel=1e-9)
    whole = vae.reconstruction_nll(COLUMNED_DAGS, latents) - vae.decoder.nll(latents, batch)
    assert whole.tolist() == pytest.approx(found, rel=1e-9)


@torch.no_grad()
def test_the_probabilities_of_all_columns_of_a_graph_add_up_to_one() -> None:
    dags = [
        Dag(("in", "a", "out"), ((0, 1), (1, 2)), {"kind": (None, k, None), "size": (s, None, None)}, {"w": (w, None)})
        for k, s, w in itertools.product(("x", "y", None), (1, 2), ("p", "q"))
    ]
    vae = model("dvae", GenericTask.infer("all", dags))
    assert vae.columns is not None
    batch = vae.prepare(vae.task.batch(dags))
    nll = vae.columns.nll(torch.ones(len(dags), 3).double(), batch)
    assert float((-nll).exp().sum()) == pytest.approx(1.0, abs=1e-9)


@torch.no_grad()
def test_densities_of_many_different_numbers_integrate_to_one() -> None:
    draws = random.Random(0)
    dags = [Dag(("in", "a", "out"), ((0, 1), (1, 2)), {"x": (None, draws.gauss(0, 1), None)}) for _ in range(600)]
    vae = model("dvae", GenericTask.infer("reals", dags))
    grid = vae.task.schema.node[0].grid
    assert len(grid.edges) == BINS + 1
    middles = [(low + high) / 2 for low, high in grid.spans()]
    probes = [Dag(("in", "a", "out"), ((0, 1), (1, 2)), {"x": (None, value, None)}) for value in middles]
    assert vae.columns is not None
    batch = vae.prepare(vae.task.batch(probes))
    density = (-vae.columns.nll(torch.zeros(len(probes), 3).double(), batch)).exp()
    widths = torch.tensor([high - low for low, high in grid.spans()])
    assert float((density * widths).sum()) == pytest.approx(1.0, abs=1e-6)


def wired(count: int, seed: int) -> list[Dag]:
    """Chains with shortcuts of four types, whose edges have a kind that the two types at its ends decide.

    The kind is one of five, by a fixed table of all pairs drawn at random.
    """
    draws, table = random.Random(seed), random.Random(0)
    labels = "abcd"
    kind = {pair: f"k{table.randrange(5)}" for pair in itertools.product(("in", *labels, "out"), repeat=2)}
    dags = []
    for _ in range(count):
        types = ("in", *draws.choices(labels, k=draws.randint(2, 5)), "out")
        chain = {(node, node + 1) for node in range(len(types) - 1)}
        more = {pair for pair in itertools.combinations(range(len(types) - 1), 2) if draws.random() < 0.2}
        edges = tuple(sorted(chain | more))
        dags.append(Dag(types, edges, {}, {"kind": tuple(kind[types[u], types[v]] for u, v in edges)}))
    return dags


def test_kinds_of_edges_are_learnt_from_the_types_at_their_ends() -> None:
    dags = wired(160, seed=1)
    vae = build("dvae", GenericTask.infer("wired", dags), hidden=16, latent=4, seed=0)
    dvae.fit(vae, dags[:130], epochs=10, batch_size=26, learning_rate=1e-2, progress=False)
    table = {
        (dag.types[u], dag.types[v]): kind
        for dag in dags
        for (u, v), kind in zip(dag.edges, dag.edge["kind"], strict=True)
    }
    unseen = redrawn(vae, dags[130:])
    for found in (unseen, vae.sample(60, seed=0, valid=True)):
        right = [
            table.get((dag.types[u], dag.types[v]), kind) == kind
            for dag in found
            for (u, v), kind in zip(dag.edges, dag.edge["kind"], strict=True)
        ]
        assert sum(right) / len(right) >= 0.99


def redrawn(vae: VAE, dags: list[Dag]) -> list[Dag]:
    """The DAGs with columns drawn anew, at their own latents."""
    batch = vae.prepare(vae.task.batch(dags))
    assert vae.columns is not None
    with torch.no_grad():
        return vae.task.unbatch(vae.columns.sample(vae.encode(batch).mean, batch, Sampling(greedy=True)))


def test_greedy_numbers_lie_in_their_bins_and_few_values_are_exact() -> None:
    task = columned_task()
    vae = model("dvae", task).float()
    for dag in vae.decode(torch.randn(20, 3), seed=0):
        sizes = dag.node.get("size", ())
        assert all(size is None or (isinstance(size, int) and 1 <= size <= 7) for size in sizes)
        levels = task.schema.node[2].grid.values
        assert all(level is None or level in levels for level in dag.node.get("level", ()))


def test_sameness_counts_columns_up_to_the_tolerance() -> None:
    draws = random.Random(0)
    dags = [Dag(("in", "a", "out"), ((0, 1), (1, 2)), {"x": (None, draws.gauss(0, 1), None)}) for _ in range(300)]
    task = GenericTask.infer("reals", dags)
    tolerance = task.schema.node[0].grid.tolerance
    one, near, far = (
        Dag(("in", "a", "out"), ((0, 1), (1, 2)), {"x": (None, value, None)})
        for value in (0.0, 0.4 * tolerance, 3 * tolerance)
    )
    assert task.key(one) == task.key(near) != task.key(far)
    assert task.key(one) != task.key(one.plain())


def test_conditions_are_named_and_finite() -> None:
    task = columned_task()
    with pytest.raises(ConfigError, match="no property 'gian' to be a condition; did you mean 'gain'"):
        build("dvae", task, hidden=6, latent=3, conditions=("gian",))
    vae = model("dvae", task, conditions=CONDITIONS)
    with pytest.raises(DvaeError, match="no condition 'bw'; it has gain, area"):
        vae.sample(2, given={"bw": 1})
    with pytest.raises(DvaeError, match="must be a finite number"):
        vae.sample(2, given={"gain": math.nan})
    with pytest.raises(DvaeError, match="trained without conditions"):
        model("dvae", task).sample(2, given={"gain": 1})


def test_latents_are_drawn_where_such_conditions_lie() -> None:
    """The closed form against many draws of a known Gaussian."""
    task = columned_task()
    vae = model("dvae", task, conditions=CONDITIONS)
    assert vae.conditions is not None
    generator = torch.Generator().manual_seed(0)
    gain = torch.randn(20_000, 1, generator=generator, dtype=torch.float64)
    latents = torch.cat([2 * gain, -gain, torch.zeros_like(gain)], 1)
    latents = latents + 0.1 * torch.randn(latents.shape, generator=generator, dtype=torch.float64)
    batch = task.batch(COLUMNED_DAGS).select(torch.zeros(20_000, dtype=torch.int64))
    properties = torch.cat([torch.randn(gain.shape, generator=generator).double(), 3 + 5 * gain], 1)
    assert [one.name for one in task.schema.properties] == ["area", "gain"]
    batch = replace(batch, properties=properties)
    vae.conditions.fit(batch)
    vae.conditions.fit_joint(latents, batch)
    drawn = vae.prior(4_000, seed=0, given={"gain": 13})
    assert drawn.mean(0).tolist() == pytest.approx([4.0, -2.0, 0.0], abs=0.05)
    assert drawn.std(0).tolist() == pytest.approx([0.1, 0.1, 0.1], abs=0.02)


def test_samples_follow_the_condition_and_others_stay() -> None:
    """Nodes to be had by number: a model of chains whose property is their length."""
    dags = [
        Dag(("in", *["a"] * n, "out"), tuple((u, u + 1) for u in range(n + 1)), properties={"length": float(n)})
        for n in (1, 2, 3, 4, 5, 6)
    ] * 8
    vae = build("dvae", GenericTask.infer("chains", dags), hidden=24, latent=6, seed=0, conditions=("length",))
    dvae.fit(vae, dags, epochs=25, batch_size=24, learning_rate=1e-2, progress=False)
    means = [
        sum(len(dag) - 2 for dag in vae.sample(40, seed=0, valid=True, given={"length": length})) / 40
        for length in (1.5, 3.5, 5.5)
    ]
    assert means[0] < means[1] < means[2]
    longer = vae.with_conditions(dags[:1], {"length": 6.0}, greedy=True, valid=True)[0]
    assert len(longer) > len(dags[0])
    for one in vae.variations(dags[:1], 0.2, given={"length": 6.0}, copies=5, seed=0, greedy=True, valid=True):
        assert len(one) > len(dags[0])
    assert vae.variations([], 0.5) == vae.variations([], 0.5, given={"length": 6.0}) == []
    kinds = [{len(dag) for dag in vae.variations(dags[3:4], change, copies=30, seed=0)} for change in (0.0, 1.0)]
    assert len(kinds[0]) < len(kinds[1])
