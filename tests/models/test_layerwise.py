"""What only the layerwise model promises: its order, its likelihood, whole DAGs of any size."""

from __future__ import annotations

import itertools
import random

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import dvae
from contracts.model_examples import OWN_DAGS, TWO_ORDERS
from dvae import Dag
from dvae.dag import DagBatch
from dvae.errors import ConfigError
from dvae.models import VAE, build, decoders, encoders
from dvae.models import layerwise as layerwise_parts
from dvae.models.decoders.edge_room import room_for_edges
from dvae.models.decoders.layerwise import LayerwiseDecoder
from dvae.models.layer_order import layer_ordered
from dvae.models.layerwise import by_size, layer_starts, scattered_sums
from dvae.models.vae import Posterior
from dvae.tasks import GenericTask
from dvae.training.memory import most_edges
from models.layerwise_oracle import slow_nll

FEEDS_END_AND_MORE = Dag(("in", "a", "b", "out"), ((0, 1), (1, 2), (1, 3), (2, 3)))
NO_SINGLE_ENDS = (
    Dag(("a", "b", "b", "a", "c"), ((0, 1), (0, 2), (1, 3), (3, 4), (0, 4))),
    Dag(("c", "a", "b"), ((0, 2), (1, 2))),
    Dag(("a",)),
)
EXAMPLES = {
    "loose ends": OWN_DAGS,
    "the end chooses": (*OWN_DAGS, FEEDS_END_AND_MORE),
    "virtual ends": NO_SINGLE_ENDS,
}


def model(dags: tuple[Dag, ...], **settings: object) -> VAE:
    task = GenericTask.infer("own", dags)
    return build("layerwise", task, **{"hidden": 6, "latent": 3, "seed": 1, "token_width": 8, **settings}).double()


def placed(dags: tuple[Dag, ...], **settings: object) -> VAE:
    """A model whose places have two latents each, besides three that are common."""
    places = GenericTask.infer("own", dags).max_nodes
    return model(dags, place_latents=2, latent=3 + 2 * places, **settings)


MODELS = {"common": model, "placed": placed}


def layerwise(vae: VAE) -> LayerwiseDecoder:
    assert isinstance(vae.decoder, LayerwiseDecoder)
    return vae.decoder


def random_dag(nodes: int, seed: int, kinds: str = "abc") -> Dag:
    chance = random.Random(seed)
    edges = {(chance.randrange(max(0, node - 6), node), node) for node in range(1, nodes) for _ in range(2)}
    return Dag(tuple(chance.choice(kinds) for _ in range(nodes)), tuple(edges))


@pytest.mark.parametrize("latents", MODELS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_likelihoods_are_those_of_one_decision_after_another(name: str, latents: str) -> None:
    dags = (*EXAMPLES[name], *(random_dag(20, seed) for seed in range(2) if name == "virtual ends"))
    vae = MODELS[latents](dags, layers=2)
    batch = vae.prepare(vae.task.batch(dags))
    z = 2 * torch.randn(len(batch), vae.config.latent, generator=torch.Generator().manual_seed(0)).double()
    slow = [slow_nll(layerwise(vae), *pair) for pair in zip(z, batch.to_dags(range(10)), strict=True)]
    torch.testing.assert_close(vae.decoder.nll(z, batch), torch.stack(slow), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("end_chooses", [False, True])
def test_the_probabilities_of_all_graphs_add_up_to_one(end_chooses: bool) -> None:
    vae = model(tuple(dag for dag in EXAMPLES["the end chooses" if end_chooses else "loose ends"] if len(dag) < 6))
    graphs = [graph for inner in range(4) for graph in _all_graphs(inner, end_chooses)]
    batch = DagBatch.from_dags(graphs, {kind: kind for kind in range(4)}, vae.task.max_nodes)
    z = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    nll = vae.decoder.nll(z.expand(len(batch), 3), batch).detach()
    assert float((-nll).exp().sum()) == pytest.approx(1, abs=1e-9)


def _all_graphs(inner: int, end_chooses: bool) -> list[Dag]:
    """Every graph of two inner types in every order of its nodes, each fed; loose nodes lead to the end."""
    found = []
    into = [[set(some) for size in range(1, node + 1) for some in itertools.combinations(range(node), size)]
            for node in range(1, inner + 1)]  # fmt: skip
    for kinds in itertools.product((2, 3), repeat=inner):
        for sources in itertools.product(*into):
            edges = [(one, node) for node, some in enumerate(sources, start=1) for one in some]
            used = sorted({one for one, _ in edges})
            loose = [(one, inner + 1) for one in range(inner + 1) if one not in used]
            extras = [some for size in range(len(used) + 1) for some in itertools.combinations(used, size)]
            for extra in extras if end_chooses else [()]:
                ends = [*loose, *((one, inner + 1) for one in extra)]
                found.append(Dag((0, *kinds, 1), (*edges, *ends)))
    return found


def test_decodings_have_the_frequencies_of_their_likelihoods() -> None:
    vae, draws = model(EXAMPLES["the end chooses"]), 20_000
    z = torch.tensor([[2.0, 1.0, -3.0]], dtype=torch.float64)
    batch = vae.decode_batch(z.expand(draws, 3), seed=0)
    rows = torch.cat([batch.types, batch.adjacency.flatten(1).long()], 1)
    distinct, which, counts = rows.unique(dim=0, return_inverse=True, return_counts=True)
    first = torch.full((len(distinct),), draws).scatter_reduce(0, which, torch.arange(draws), "amin")
    expected = draws * (-vae.decoder.nll(z.expand(len(distinct), 3), batch.select(first))).exp().detach()
    often = expected > 40
    deviations = (counts - expected)[often] / expected[often].sqrt()
    assert int(often.sum()) >= 5
    assert float(deviations.abs().max()) < 4


@pytest.mark.parametrize("seed", range(5))
def test_isomorphic_dags_become_one_sequence_of_layers(seed: int) -> None:
    dag = random_dag(24, seed, "ab")
    task = GenericTask.infer("own", [dag, Dag(("b", "a"), ((0, 1),))])
    chance = random.Random(seed)
    place = list(range(len(dag)))
    chance.shuffle(place)
    kinds = [dag.types[place.index(node)] for node in range(len(dag))]
    shuffled = Dag(tuple(kinds), tuple((place[one], place[other]) for one, other in dag.edges))
    batch = layer_ordered(task.batch([dag, shuffled]), "canonical")
    assert torch.equal(batch.types[0], batch.types[1])
    assert torch.equal(batch.adjacency[0], batch.adjacency[1])
    assert batch.to_dags(task.vocabulary.labels)[0].canonical_key() == task.wrap(dag).canonical_key()
    layer = [0] * task.max_nodes
    for node, sources in enumerate(batch.to_dags(range(5))[0].predecessors()):
        layer[node] = max((layer[source] + 1 for source in sources), default=0)
    assert layer == sorted(layer)


def test_an_order_with_a_meaning_stays_as_it_is() -> None:
    batch = dvae.tasks.get("enas6").sample_batch(3, seed=0)
    assert layer_ordered(batch, "given") is batch


def test_values_in_columns_move_with_their_nodes() -> None:
    dag = Dag(("a", "b", "a", "b"), ((0, 3), (1, 2)), {"size": (1.0, 2.0, 3.0, 4.0)})
    task = GenericTask.infer("own", [dag, *NO_SINGLE_ENDS])
    (moved,) = task.unbatch(layer_ordered(task.batch([dag]), "canonical"))
    assert moved.canonical_key() == dag.canonical_key()


@pytest.mark.parametrize("greedy", [False, True])
def test_untrained_samples_are_whole_dags_without_help_of_rules(greedy: bool) -> None:
    for dags in EXAMPLES.values():
        vae = model(dags)
        batch = vae.decode_batch(6 * torch.randn(50, 3).double(), seed=0, greedy=greedy)
        assert bool(vae.task.valid(batch).all())


@pytest.mark.parametrize("nodes", [1, 150])
def test_graphs_of_one_node_and_of_hundreds(nodes: int) -> None:
    dags = [random_dag(nodes, seed) for seed in range(2)] + [Dag(("c", "a", "b"), ((0, 1),))]
    vae = model(tuple(dags))
    posterior = vae.encode(dags)
    assert vae.reconstruction_nll(dags, posterior.mean).isfinite().all()
    decoded = vae.decode_batch(posterior.mean, seed=0)
    assert bool(vae.task.valid(decoded).all())


def test_any_other_encoder_sees_graphs_in_layer_order() -> None:
    task = GenericTask.infer("own", OWN_DAGS)
    for encoder in ("dvae", "pace"):
        vae = build("layerwise", task, encoder=encoder, hidden=6, latent=3, seed=0, token_width=8).double()
        first, second = vae.reconstruction_nll(TWO_ORDERS, torch.zeros(2, 3)).tolist()
        assert first == pytest.approx(second)


def test_depths_are_learned_with_the_sizes() -> None:
    chains = [Dag(tuple("ab" * size), tuple((i, i + 1) for i in range(2 * size - 1))) for size in (1, 2, 4)]
    wide = [Dag(tuple("a" * size)) for size in (3, 5)]
    dags = (*chains, *wide)
    task = GenericTask.infer("own", dags)
    vae = build("layerwise", task, hidden=16, latent=4, token_width=32, seed=0, noise_scale=0.0)
    steady = {"schedule": "cosine", "warmup": 10, "clip": 5.0}  # it is learned with every seed, on every kind of CPU
    dvae.fit(vae, dags, epochs=150, batch_size=5, learning_rate=1e-2, progress=False, **steady)
    again = vae.decode(vae.encode(dags).mean, greedy=True)
    assert [dag.canonical_key() for dag in again] == [dag.canonical_key() for dag in dags]


def test_graphs_of_like_size_are_computed_together() -> None:
    dags = [random_dag(size, seed=0) for size in (150, 8, 140, 12, 3, 90)]
    task = GenericTask.infer("own", dags)
    batch = task.batch(dags)
    groups = list(by_size(batch))
    assert torch.equal(torch.cat([index for index, _ in groups]).sort().values, torch.arange(6))
    assert [part.num_nodes.tolist() for _, part in groups] == [[152, 142, 92], [14, 10, 5]]
    assert [part.max_nodes for _, part in groups] == [152, 14]


def all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU."""
    monkeypatch.setattr(layerwise_parts, "counted_sums", scattered_sums)
    for module in (encoders.layerwise, decoders.layerwise):
        monkeypatch.setattr(module, "by_size", lambda batch: [(torch.arange(len(batch)), batch)])


@pytest.mark.parametrize("latents", MODELS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_likelihood_and_its_gradients_do_not_depend_on_the_room_there_is(
    name: str, latents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dags = (*EXAMPLES[name], *(random_dag(nodes, seed=3) for nodes in (9, 30) if name == "virtual ends"))
    vae = MODELS[latents](dags)
    batch = vae.prepare(vae.task.batch(dags))

    def step() -> tuple[torch.Tensor, list[torch.Tensor]]:
        vae.zero_grad()
        losses = vae(batch, torch.zeros(len(batch), vae.config.latent, dtype=torch.float64))
        (losses.nll + losses.kl).sum().backward()
        return losses.nll.detach(), [weight.grad for weight in vae.parameters() if weight.grad is not None]

    expected, gradients = step()
    all_together(monkeypatch)
    with room_for_edges(most_edges(batch) + 4):
        found, others = step()
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(others, gradients, rtol=1e-8, atol=1e-9)


def test_no_shape_of_a_training_step_on_a_gpu_depends_on_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it can be captured as a CUDA graph: tensors without data refuse whatever would look at values."""
    all_together(monkeypatch)
    with FakeTensorMode(allow_non_fake_inputs=True), room_for_edges(9):
        vae = build("layerwise", GenericTask.infer("own", OWN_DAGS), hidden=6, latent=3, token_width=8)
        assert vae.static_shapes
        types = torch.zeros(4, 5, dtype=torch.int64)
        batch = DagBatch(types, torch.zeros(4, 5, 5, dtype=torch.bool), types[:, 0])
        losses = vae(batch, torch.zeros(4, 3))
        (losses.nll + losses.kl).sum().backward()


def test_places_have_latents_of_their_own() -> None:
    """A graph says nothing of places that it does not have, and what a place has to itself is read there alone."""
    dags = (Dag(("a", "b"), ((0, 1),)), random_dag(9, seed=0))
    vae = placed(dags)
    posterior = vae.encode(dags)
    own = posterior.mean[:, 3:].unflatten(1, (vae.task.max_nodes, 2))
    inner = int(vae.task.batch(dags[:1]).num_nodes)
    assert bool((own[0, inner:] == 0).all())
    assert bool((own[0, 1:inner] != 0).any(1).all())
    torch.testing.assert_close(posterior.kl()[0], Posterior(*(part[:1, : 3 + 2 * inner] for part in posterior)).kl()[0])
    decoder = layerwise(vae)
    places = torch.arange(vae.task.max_nodes)
    moved = posterior.mean.clone()
    moved[:, 3 + 2 * 4 : 3 + 2 * 5] += 1
    changed = (decoder.readings(moved, places) != decoder.readings(posterior.mean, places)).any(2).any(0)
    assert changed.nonzero().flatten().tolist() == [4]
    assert vae.graph_states([]).shape[1] == vae.graph_states(dags).shape[1]
    with pytest.raises(ConfigError, match="raise latent"):
        model(dags, place_latents=2, latent=2 * vae.task.max_nodes)


def test_columns_are_kept_in_the_latents_of_their_places() -> None:
    kinds = [tuple("xy"[number >> bit & 1] for bit in range(3)) for number in range(8)]
    dags = tuple(Dag(("a", "b", "a"), ((0, 1), (1, 2)), {"kind": kind}) for kind in kinds)
    vae = placed(dags, noise_scale=0.0, hidden=16, token_width=16).float()
    dvae.fit(vae, dags, epochs=60, batch_size=8, learning_rate=2e-2, plateau_patience=100, progress=False)
    means = vae.encode(dags).mean
    assert [dag.canonical_key() for dag in vae.decode(means, greedy=True)] == [dag.canonical_key() for dag in dags]
    assert vae.columns is not None
    batch, moved = vae.prepare(vae.task.batch(dags)), means.clone()
    moved[:, 3 + 2 * 2 : 3 + 2 * 3] += 1
    context = vae.columns.writer.context
    changed = (context(moved, batch) != context(means, batch)).any(2).any(0)
    assert changed.nonzero().flatten().tolist() == [2]
    assert vae.graph_states([]).shape[1] == vae.graph_states(dags).shape[1]


def test_with_latents_of_places_all_places_share_their_weights() -> None:
    """Weights of places that few graphs reach were learned from few: the largest graphs were far from all others."""

    def chain(nodes: int) -> Dag:
        edges = tuple((node, node + 1) for node in range(nodes - 1))
        return Dag(("a",) * nodes, edges, {"kind": tuple("xy"[node % 2] for node in range(nodes))})

    models = [placed((chain(nodes),)) for nodes in (6, 40)]
    shapes = [{name: weight.shape for name, weight in vae.named_parameters()} for vae in models]
    assert shapes[0].keys() == shapes[1].keys()
    differ = {name for name in shapes[0] if shapes[0][name] != shapes[1][name]}
    assert differ == {"encoder.places", "decoder.read_places", "columns.writer.places"}  # where a place is
    columns = models[1].columns
    assert columns is not None
    batches = [models[1].task.batch([chain(nodes)]) for nodes in (10, 40)]
    few, many = (columns.encode(batch)[0, : models[1].config.hidden] for batch in batches)
    assert many.norm() < 1.5 * few.norm()


def test_a_head_reads_the_latents_that_are_common() -> None:
    vae = placed(OWN_DAGS, head="one-to-one")
    batch = vae.prepare(vae.task.batch(OWN_DAGS))
    assert vae.feature_head is not None
    vae.feature_head.fit(batch)
    noise = torch.zeros(len(batch), vae.config.latent, dtype=torch.float64)
    before = vae(batch, noise).heads
    noise[:, 3:] += 1
    torch.testing.assert_close(vae(batch, noise).heads, before)
    noise[:, :3] += 1
    assert not torch.allclose(vae(batch, noise).heads, before)


def test_other_encoders_go_with_latents_of_places() -> None:
    vae = placed(OWN_DAGS, encoder="dvae")
    assert vae.encode(OWN_DAGS).mean.shape == (len(OWN_DAGS), vae.config.latent)
    assert vae.sample(3, seed=0)


@pytest.mark.parametrize("seed", range(5))
def test_layers_begin_where_a_walk_over_the_nodes_says(seed: int) -> None:
    chance = torch.Generator().manual_seed(seed)
    nodes = 1 + int(torch.randint(40, (), generator=chance))
    newest = (torch.rand(7, nodes, generator=chance) ** 0.3 * torch.arange(nodes)).long() - 1
    starts = torch.zeros_like(newest)
    for place in range(1, nodes):
        opens = newest[:, place] >= starts[:, place - 1]
        starts[:, place] = torch.where(opens, place, starts[:, place - 1])
    assert torch.equal(layer_starts(newest), starts)
