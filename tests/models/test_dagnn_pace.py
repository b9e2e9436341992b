"""DAGNN and PACE: the published formulas, one graph and one node at a time, against the batched parts."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
import torch
from scipy import stats
from torch import Tensor, nn

import dvae
from dag_strategies import renumbered
from dvae.dag import Dag, DagBatch
from dvae.errors import ConfigError, MissingError
from dvae.models import VAE, build
from dvae.models.decoders.pace import PaceDecoder
from dvae.models.encoders.dagnn import AttentiveGru, DagnnDirection, DagnnEncoder
from dvae.models.encoders.pace import PaceEncoder
from dvae.models.node_order import ordered
from dvae.models.transformer import Block, NodeTokens, ancestors
from dvae.tasks import BayesNetTask, EnasTask, Task, get
from models.examples import generic_task, latents, model_graphs, raw_batch

NAMES = ("dagnn", "pace", "pace+dvae", "dvae+pace", "dagnn+pace")
CLOSE = {"atol": 1e-10, "rtol": 1e-10}
NUM_TYPES = 4  # of `generic_task`
TASKS = {
    "enas": EnasTask(4),
    "bayesnet": get("bn:A,B,C,D"),
    "generic": generic_task(),
    "generic, virtual ends": generic_task(virtual=True),
    "generic, sampled end edges": generic_task(sampled=True),
}


def model(name: str, task: Task | None = None, **options) -> VAE:
    return build(name, task or generic_task(), **{"hidden": 6, "latent": 3, "seed": 0, **options}).double()


def livened(vae: VAE, factor: float = 3.0) -> VAE:
    """Fresh weights, made larger so that decodings differ."""
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.mul_(factor)
    return vae


def graphs(count: int = 24) -> DagBatch:
    """Of all sizes, odd ones included."""
    return raw_batch(model_graphs(count, num_types=NUM_TYPES), num_types=NUM_TYPES)


def some_dags(count: int, seed: int = 0) -> list[Dag]:
    """A user's DAGs of a generic task with virtual ends, many with several topological orders."""
    chance = random.Random(seed)
    dags = []
    for _ in range(count):
        nodes = chance.randint(1, 6)
        edges = [(u, v) for v in range(nodes) for u in range(v) if chance.random() < 0.3]
        dags.append(Dag(tuple(chance.choice("ab") for _ in range(nodes)), tuple(edges)))
    return dags


def reordered(dag: Dag, chance: random.Random) -> Dag:
    """The same DAG, its nodes in another topological order."""
    waiting, order = set(range(len(dag))), []
    predecessors = dag.predecessors()
    while waiting:
        order.append(chance.choice(sorted(node for node in waiting if not waiting & set(predecessors[node]))))
        waiting.remove(order[-1])
    return renumbered(dag, order)


# --- both -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_the_loop_over_its_graphs_and_padding_changes_nothing(name: str) -> None:
    vae, batch, z = model(name), graphs(12), latents(12)
    mean, nll = vae.encode(batch).mean, vae.reconstruction_nll(batch, z)
    assert len(set(batch.num_nodes.tolist())) > 3
    alone = torch.cat([vae.encode(part).mean for part in batch.split(1)])
    torch.testing.assert_close(alone, mean, **CLOSE)
    alone = torch.cat([vae.reconstruction_nll(part, z[i : i + 1]) for i, part in enumerate(batch.split(1))])
    torch.testing.assert_close(alone, nll, **CLOSE)
    padded = batch.padded(batch.max_nodes + 3)
    torch.testing.assert_close(vae.encode(padded).mean, mean, **CLOSE)
    torch.testing.assert_close(vae.reconstruction_nll(padded, z), nll, **CLOSE)
    short = batch.select(batch.num_nodes <= 4)
    cut = DagBatch(short.types[:, :4], short.adjacency[:, :4, :4], short.num_nodes)
    torch.testing.assert_close(vae.encode(cut).mean, mean[batch.num_nodes <= 4], **CLOSE)


@pytest.mark.parametrize(
    ("name", "options"),
    [("dagnn", {}), ("dagnn", {"bidirectional": True}), ("pace", {}), ("pace+dvae", {})],
    ids=["dagnn", "dagnn, both ways", "pace", "pace+dvae"],
)
def test_any_topological_order_encodes_alike(name: str, options: dict) -> None:
    """DAGNN by its construction, PACE by its canonical order."""
    task = generic_task(virtual=True, max_nodes=8)
    vae, dags, chance = model(name, task, **options), some_dags(60), random.Random(1)
    others = [reordered(dag, chance) for dag in dags]
    assert sum(dag != other for dag, other in zip(dags, others, strict=True)) > 15
    torch.testing.assert_close(vae.encode(others).mean, vae.encode(dags).mean, **CLOSE)
    if name != "dagnn":  # the sequence is the same for the decoder too
        z = latents(60)
        torch.testing.assert_close(vae.reconstruction_nll(others, z), vae.reconstruction_nll(dags, z), **CLOSE)


def test_pace_tells_dags_apart() -> None:
    dags = list({dag.canonical_key(): dag for dag in some_dags(60)}.values())
    vae = livened(model("pace", generic_task(virtual=True, max_nodes=8), hidden=16, latent=8), 2.0)
    mean = vae.encode(dags).mean
    apart = torch.cdist(mean, mean).fill_diagonal_(torch.inf)
    assert float(apart.min()) > 1e-3


def test_dagnn_sees_kinds_of_predecessors_but_does_not_count_them() -> None:
    """A softmax has weights that sum to one, so two equal predecessors are one; the gated sum of D-VAE counts."""
    once, twice, other = Dag(("a",)), Dag(("a", "a")), Dag(("a", "b"))
    for name, counts in (("dagnn", False), ("dvae", True)):
        vae = livened(model(name, generic_task(virtual=True), bidirectional=True), 2.0)
        mean = vae.encode([once, twice, other]).mean
        assert torch.allclose(mean[0], mean[1], atol=1e-12) != counts
        assert float((mean[0] - mean[2]).abs().max()) > 1e-3


@pytest.mark.parametrize("name", ["dagnn", "pace", "pace+dvae", "dagnn+pace"])
@pytest.mark.parametrize("task", TASKS)
def test_decodings_within_the_rules_are_valid(name: str, task: str) -> None:
    vae = livened(model(name, TASKS[task]))
    z = latents(60, scale=2.0)
    for greedy in (False, True):
        batch = vae.decode_batch(z, copies=2, seed=0, greedy=greedy, valid=True)
        assert len(batch) == 120
        assert bool(TASKS[task].valid(batch).all())
    free = vae.decode_batch(z, copies=2, seed=0)
    assert float(TASKS[task].valid(free).float().mean()) < 0.95


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_weights_and_decodings(name: str) -> None:
    first, again, other = (model(name, seed=seed) for seed in (0, 0, 1))
    for one, two in zip(first.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(first.mean.weight, other.mean.weight)
    z = latents(30)
    assert first.decode(z, seed=3, copies=2) == again.decode(z, seed=3, copies=2)
    assert first.decode(z, seed=3) != first.decode(z, seed=4)


@pytest.mark.parametrize(("name", "rate"), [("dagnn", 1e-2), ("pace", 5e-3)])
def test_sixteen_graphs_are_learned_by_heart(name: str, rate: float) -> None:
    task = EnasTask(4)
    batch = task.sample_batch(16, seed=0)
    vae = build(name, task, hidden=48, latent=16, seed=0)
    optimizer = torch.optim.Adam(vae.parameters(), lr=rate)
    for _ in range(300):
        nll = vae(batch, torch.zeros(16, 16)).nll.mean()
        if nll.item() < 0.02:
            break
        optimizer.zero_grad()
        nll.backward()
        optimizer.step()
    assert float(vae.reconstruction_nll(batch, vae.encode(batch).mean).mean()) < 0.05
    assert task.keys(vae.decode_batch(vae.encode(batch).mean, greedy=True)) == task.keys(batch)


def test_every_setting_reaches_its_part() -> None:
    dagnn = model("dagnn", layers=3).encoder
    assert isinstance(dagnn, DagnnEncoder)
    assert len(dagnn.ahead.layers) == 3
    assert dagnn.back is None
    assert model("dagnn", get("asia")).encoder.back is not None
    assert model("dagnn", EnasTask(3)).encoder.back is None
    pace = model("pace", layers=2, attention_width=16, dropout=0.2)
    assert isinstance(pace.encoder, PaceEncoder)
    for part in (pace.encoder, pace.decoder):
        assert len(part.layers) == 2
        assert part.layers[0].norm.normalized_shape == (16,)
        assert part.layers[0].dropout.rate == 0.2
    for wrong in ({"layers": 0}, {"attention_width": 20}, {"dropout": 1.0}):
        with pytest.raises(ConfigError):
            model("pace", **wrong)


# --- DAGNN ----------------------------------------------------------------------------------------------------------


def slow_dagnn(direction: DagnnDirection, types: list[int], adjacency: Tensor, mask: Tensor) -> Tensor:
    """The published formulas for one graph; w1 is drawn at random, for it has no effect."""
    below = list(torch.eye(NUM_TYPES, dtype=torch.float64)[types])
    ends = [v for v in range(len(types)) if mask[v] and not adjacency[v].any()]
    pooled = []
    for layer in direction.layers:
        assert isinstance(layer, AttentiveGru)
        w1 = torch.randn(len(below[0]), dtype=torch.float64)
        states: list[Tensor] = []
        for v in range(len(types)):
            predecessors = [u for u in range(v) if adjacency[u, v]]
            message = torch.zeros(layer.attention.shape, dtype=torch.float64)
            if predecessors:
                scores = torch.stack([w1 @ below[v] + layer.attention @ states[u] for u in predecessors])
                weights = torch.exp(scores) / torch.exp(scores).sum()
                message = sum(w * states[u] for w, u in zip(weights, predecessors, strict=True))
            candidate, reset, update = (layer.weight_ih @ below[v] + layer.bias_ih).chunk(3)
            hidden_reset, hidden_update, hidden_candidate = (layer.weight_hh @ message + layer.bias_hh).chunk(3)
            reset, update = torch.sigmoid(reset + hidden_reset), torch.sigmoid(update + hidden_update)
            states.append((1 - update) * torch.tanh(candidate + reset * hidden_candidate) + update * message)
        pooled.append(torch.stack([states[v] for v in ends]).max(0).values)
        below = states
    return torch.cat(pooled)


def slow_dagnn_encoder(encoder: DagnnEncoder, batch: DagBatch) -> Tensor:
    vectors = []
    for types, adjacency, mask in zip(batch.types, batch.adjacency, batch.node_mask(), strict=True):
        parts = [slow_dagnn(encoder.ahead, types.tolist(), adjacency, mask)]
        if encoder.back is not None:
            back = slow_dagnn(encoder.back, types.flip(0).tolist(), adjacency.flip(0, 1).T, mask.flip(0))
            parts.append(back)
        vectors.append(encoder.unify(torch.cat(parts)))
    return torch.stack(vectors)


@pytest.mark.parametrize("shares", [True, False], ids=["equal nodes once", "as on a GPU"])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
def test_dagnn_is_the_published_formula_and_so_is_its_gradient(
    bidirectional: bool, shares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shares:
        monkeypatch.setattr("dvae.models.encoders.dagnn.common_computations", lambda batch, with_position: None)
    encoder = livened(model("dagnn", bidirectional=bidirectional, layers=3), 2.0).encoder
    assert isinstance(encoder, DagnnEncoder)
    batch = graphs(20)
    gradients = []
    direction = torch.linspace(-1, 1, 20 * 8, dtype=torch.float64).view(20, 8)
    for vectors in (encoder(batch), slow_dagnn_encoder(encoder, batch)):
        encoder.zero_grad()
        (vectors * direction).sum().backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in encoder.named_parameters()})
    torch.testing.assert_close(encoder(batch), slow_dagnn_encoder(encoder, batch), **CLOSE)
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], **CLOSE)
        assert float(gradient.abs().max()) > 0, f"{name} has no effect"


def test_units_that_only_align_memory_stay_zero() -> None:
    vae = model("dagnn", bidirectional=True)  # hidden 6, in memory 8
    vector = vae.encoder(graphs())
    assert bool((vector[:, 6:] == 0).all())
    vector.square().sum().backward()
    for direction in (vae.encoder.ahead, vae.encoder.back):
        for layer in direction.layers:
            assert bool((layer.weight_hh.grad.unflatten(0, (3, 8))[:, 6:] == 0).all())
            assert bool((layer.attention.grad[6:] == 0).all())


# --- PACE -----------------------------------------------------------------------------------------------------------


def test_ancestors_are_the_nodes_a_path_leads_from() -> None:
    batch = graphs(40)
    reach = ancestors(batch.adjacency)
    for adjacency, found in zip(batch.adjacency, reach, strict=True):
        before: list[set[int]] = []
        for v in range(len(adjacency)):
            direct = [u for u in range(v) if adjacency[u, v]]
            before.append({v}.union(*(before[u] for u in direct)))
        assert [set(row.nonzero().flatten().tolist()) for row in found] == before


def test_a_path_of_any_length_is_found() -> None:
    for nodes in range(1, 20):
        chain = torch.ones(nodes, nodes, dtype=torch.bool).triu(1).tril(1)[None]
        assert torch.equal(ancestors(chain)[0], torch.ones(nodes, nodes, dtype=torch.bool).tril())


def test_a_node_feels_its_ancestors_and_no_other_node() -> None:
    encoder = livened(model("pace"), 2.0).encoder
    assert isinstance(encoder, PaceEncoder)
    batch = graphs(40)
    reach, before = ancestors(batch.adjacency), encoder.node_outputs(batch)
    felt = 0
    for changed in range(batch.max_nodes):
        types = batch.types.clone()
        types[:, changed] = (types[:, changed] + 1) % NUM_TYPES
        after = encoder.node_outputs(DagBatch(types, batch.adjacency, batch.num_nodes))
        moved = (after - before).abs().amax(-1) > 1e-9  # batch node
        inside = batch.node_mask()
        assert not bool((moved & ~reach[:, :, changed]).any())
        assert bool((moved | ~reach[:, :, changed] | ~inside).all())
        felt += int(moved.sum())
    assert felt > 200


@torch.no_grad()
def test_the_code_of_a_place_tells_all_sets_of_predecessors_apart() -> None:
    tokens = model("pace", attention_width=32).encoder.tokens
    assert isinstance(tokens, NodeTokens)
    sets = [[bool(number >> u & 1) for u in range(5)] for number in range(32)]
    adjacency = torch.zeros(32, 6, 6, dtype=torch.bool)
    adjacency[:, :5, 5] = torch.tensor(sets)
    codes = tokens(torch.zeros(32, 6, dtype=torch.int64), adjacency)[:, 5]
    apart = torch.cdist(codes, codes).fill_diagonal_(torch.inf)
    assert float(apart.min()) > 1e-3


def copied(layer: nn.Module, block: Block) -> nn.Module:
    """torch's own layer with the weights of `block`."""
    layer = layer.double()
    attentions = {"self_attn": block.attention, "multihead_attn": block.memory_attention}
    norms = {"norm1": block.attention_norm, "norm2": block.memory_norm or block.norm, "norm3": block.norm}
    with torch.no_grad():
        for name, ours in attentions.items():
            if hasattr(layer, name):
                theirs = getattr(layer, name)
                theirs.in_proj_weight.copy_(ours.inwards.weight)
                theirs.in_proj_bias.copy_(ours.inwards.bias)
                theirs.out_proj.load_state_dict(ours.outwards.state_dict())
        layer.linear1.load_state_dict(block.first.state_dict())
        layer.linear2.load_state_dict(block.second.state_dict())
        for name, ours in norms.items():
            if hasattr(layer, name):
                getattr(layer, name).load_state_dict(ours.state_dict())
    return layer


def test_blocks_are_torchs_transformer_layers() -> None:
    batch, vae = graphs(10), livened(model("pace"), 2.0)
    values = torch.randn(10, 6, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    memory = values.flip(0, 1)
    options = {"d_model": 32, "nhead": 8, "dim_feedforward": 64, "dropout": 0.0, "batch_first": True}
    encoder_layer = copied(nn.TransformerEncoderLayer(**options), vae.encoder.layers[0])
    allowed = ancestors(batch.adjacency)
    ours = vae.encoder.layers[0](values, allowed[:, None])
    torch.testing.assert_close(ours, encoder_layer(values, ~allowed.repeat_interleave(8, 0)), **CLOSE)
    decoder_layer = copied(nn.TransformerDecoderLayer(**options), vae.decoder.layers[0])
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    ours = vae.decoder.layers[0](values, causal, memory)
    torch.testing.assert_close(ours, decoder_layer(values, memory, tgt_mask=~causal), **CLOSE)


class SlowPace:
    """One graph, one decision at a time."""

    def __init__(self, decoder: PaceDecoder, z: Tensor) -> None:
        self.decoder = decoder
        self.memory = decoder.remember(z[None])

    def outputs(self, types: list[int], edges: set[tuple[int, int]]) -> Tensor:
        adjacency = torch.zeros(1, len(types), len(types), dtype=torch.bool)
        for source, target in edges:
            adjacency[0, source, target] = True
        return self.decoder.outputs(self.memory, torch.tensor([types]), adjacency)[0]

    def type_probabilities(self, types: list[int], edges: set[tuple[int, int]]) -> Tensor:
        return self.decoder.type_scores(self.outputs(types, edges)[-1]).softmax(0)

    def edge_probability(self, types: list[int], edges: set[tuple[int, int]], new: int, source: int) -> Tensor:
        decoder, outputs = self.decoder, self.outputs(types, edges)
        weight = torch.cat([decoder.edge_source.weight, decoder.edge_target.weight, decoder.edge_type], 1)
        kind = torch.eye(decoder.num_types, dtype=torch.float64)[new]
        wide = weight @ torch.cat([outputs[source], outputs[-1], kind])
        wide = torch.relu(wide + decoder.edge_source.bias + decoder.edge_target.bias)
        return torch.sigmoid(decoder.edge_second.weight[0] @ wide + decoder.edge_second.bias[0])

    def nll(self, dag: Dag) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for target in range(1, len(dag)):
            types = list(dag.types[:target])
            edges = {edge for edge in dag.edges if edge[1] < target}
            new = dag.types[target]
            total = total - self.type_probabilities(types, edges)[new].log()
            for source in range(target):
                p = self.edge_probability(types, edges, new, source)
                total = total - (p if (source, target) in dag.edges else 1 - p).log()
        return total

    def outcomes(self) -> dict[Dag, float]:
        """Every graph and its probability, for the free decoder."""
        result: Counter[Dag] = Counter()
        self._go_on([0], set(), 1.0, result)
        return dict(result)

    def _go_on(self, types: list[int], edges: set[tuple[int, int]], share: float, result: Counter[Dag]) -> None:
        target, last = len(types), len(types) == self.decoder.max_nodes - 1
        probabilities = self.type_probabilities(types, edges).tolist()
        for new in [1] if last else range(self.decoder.num_types):
            p_type = 1.0 if last else probabilities[new]
            choices: list[tuple[set[int], float]] = [(set(), share * p_type)]
            if new != 1 or self.decoder.end_edges == "sampled":
                for source in range(target):
                    p = float(self.edge_probability(types, edges, new, source))
                    choices = [(chosen, q * (1 - p)) for chosen, q in choices] + [
                        (chosen | {source}, q * p) for chosen, q in choices
                    ]
            for chosen, q in choices:
                now = edges | {(source, target) for source in chosen}
                if new == 1:
                    now |= {(u, target) for u in range(target) if not any(edge[0] == u for edge in now)}
                    result[Dag((*types, new), tuple(now))] += q
                else:
                    self._go_on([*types, new], now, q, result)


@torch.no_grad()
def test_the_parallel_likelihood_is_the_one_of_the_steps() -> None:
    vae = livened(model("dvae+pace"), 1.5)  # an encoder that leaves the order alone
    dags, z = model_graphs(16, num_types=NUM_TYPES), latents(16)
    nll = vae.reconstruction_nll(raw_batch(dags, num_types=NUM_TYPES), z)
    expected = torch.stack([SlowPace(vae.decoder, row).nll(dag) for dag, row in zip(dags, z, strict=True)])
    torch.testing.assert_close(nll, expected, **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("sampled", [False, True], ids=["loose ends", "sampled end edges"])
def test_samples_follow_the_probabilities_of_the_steps(sampled: bool, copies: int) -> None:
    task = generic_task(sampled=sampled, max_nodes=4, inner="a")
    vae = livened(model("pace", task, latent=2, seed=1), 1.5)
    z, count = latents(1, latent=2), 6_000
    batch = vae.decode_batch(z.expand(count // copies, -1), copies=copies, seed=1)
    counts = Counter(batch.to_dags(range(3)))
    expected = SlowPace(vae.decoder, z[0]).outcomes()
    assert sum(expected.values()) == pytest.approx(1)
    assert counts.keys() <= expected.keys()
    often = [dag for dag, share in expected.items() if share * count >= 5]
    assert len(often) > 10
    rest = 1 - sum(expected[dag] for dag in often)
    assert sum(count for dag, count in counts.items() if dag not in often) < 10 + 3 * rest * count
    observed = [counts[dag] for dag in often]
    scale = sum(observed) / sum(expected[dag] for dag in often)
    assert stats.chisquare(observed, [expected[dag] * scale for dag in often]).pvalue > 1e-3


@torch.no_grad()
def test_greedy_decoding_takes_the_likelier_side_of_every_decision() -> None:
    vae = livened(model("pace"), 2.0)
    z = latents(8, scale=2.0)
    for row, dag in zip(z, vae.decode_batch(z, greedy=True).to_dags(range(NUM_TYPES)), strict=True):
        slow = SlowPace(vae.decoder, row)
        for target in range(1, len(dag)):
            types, edges = list(dag.types[:target]), {edge for edge in dag.edges if edge[1] < target}
            if target < vae.task.max_nodes - 1:
                assert int(slow.type_probabilities(types, edges).argmax()) == dag.types[target]
            if dag.types[target] != 1:
                for source in range(target):
                    likely = float(slow.edge_probability(types, edges, dag.types[target], source)) > 0.5
                    assert ((source, target) in dag.edges) == likely


# --- node orders ----------------------------------------------------------------------------------------------------


def test_canonical_order_keeps_the_graph_its_ends_and_itself() -> None:
    task = generic_task(virtual=True, max_nodes=8)
    dags, chance = some_dags(50), random.Random(2)
    batch = task.batch([reordered(dag, chance) for dag in dags])
    canonical = ordered(batch, "canonical")
    assert task.keys(canonical) == task.keys(batch)
    assert bool(task.valid(canonical).all())
    assert not bool(canonical.adjacency.tril().any())
    again, other = ordered(canonical, "canonical"), ordered(task.batch(dags), "canonical")
    for batches in (again, other):
        assert torch.equal(batches.types, canonical.types)
        assert torch.equal(batches.adjacency, canonical.adjacency)


def test_odd_graphs_have_a_canonical_order_too() -> None:
    batch = graphs(60)
    canonical = ordered(batch, "canonical")
    assert torch.equal(canonical.types[:, 0], batch.types[:, 0])
    last = (batch.num_nodes - 1)[:, None]
    assert torch.equal(canonical.types.gather(1, last), batch.types.gather(1, last))
    labels = range(NUM_TYPES)
    keys = [dag.canonical_key() for dag in batch.to_dags(labels)]
    assert keys == [dag.canonical_key() for dag in canonical.to_dags(labels)]


def test_networks_are_read_by_variable_and_architectures_as_they_are() -> None:
    task, chance = BayesNetTask("small", "ABCDE"), random.Random(0)
    sampled = task.sample_batch(40, seed=0)
    vae = model("pace", task)
    same = vae.prepare(sampled)
    assert torch.equal(same.adjacency, sampled.adjacency)
    mixed = task.batch([reordered(dag, chance) for dag in task.unbatch(sampled)])
    assert not torch.equal(mixed.types, sampled.types)
    prepared = vae.prepare(mixed)
    assert torch.equal(prepared.types, sampled.types)
    assert torch.equal(prepared.adjacency, sampled.adjacency)
    architectures = EnasTask(4).sample_batch(10, seed=0)
    assert model("pace", EnasTask(4)).prepare(architectures) is architectures
    assert model("dagnn", EnasTask(4)).prepare(architectures) is architectures


def test_only_a_canonical_order_needs_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    for task in (EnasTask(3), BayesNetTask("small", "ABC")):
        vae = model("pace", task)
        assert vae.encode(task.sample(4, seed=0)).mean.shape == (4, 3)
    with pytest.raises(MissingError, match="igraph"):
        model("pace", generic_task(inner="xyzw")).encode([Dag(("s", "x", "w", "t"), ((0, 1), (0, 2), (1, 3), (2, 3)))])


def test_training_puts_its_graphs_in_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task = generic_task(virtual=True, max_nodes=8)
    dags, chance = some_dags(20), random.Random(3)
    trained = []
    for data in (dags, [reordered(dag, chance) for dag in dags]):
        vae = build("pace", task, hidden=6, latent=3, seed=0)
        dvae.fit(vae, data, epochs=2, batch_size=5, seed=0, device="cpu", progress=False)
        trained.append(vae.state_dict())
    for name, value in trained[0].items():
        assert torch.equal(value, trained[1][name]), name


# --- dropout --------------------------------------------------------------------------------------------------------


def test_dropout_is_for_training_only() -> None:
    vae, plain, batch, z = model("pace", dropout=0.3), model("pace"), graphs(), latents(24)
    assert vae.training
    torch.testing.assert_close(vae.encode(batch).mean, plain.encode(batch).mean, **CLOSE)
    torch.testing.assert_close(vae.reconstruction_nll(batch, z), plain.reconstruction_nll(batch, z), **CLOSE)
    assert vae.decode(z, seed=0) == plain.decode(z, seed=0)
    first, second = vae(batch, z).nll, vae(batch, z).nll
    assert not torch.allclose(first, second)
    vae.eval()
    torch.testing.assert_close(vae(batch, z).nll, plain(batch, z).nll, **CLOSE)


def test_dropout_keeps_the_mean_of_what_it_thins() -> None:
    layer = model("pace", dropout=0.25).encoder.layers[0].dropout
    values = torch.ones(200_000, requires_grad=True)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        thinned = layer(values).detach()
    assert float((thinned == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(thinned.mean()) == pytest.approx(1, abs=0.01)
    assert torch.equal(layer.eval()(values), values)
