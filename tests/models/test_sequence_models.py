"""S-VAE, GraphRNN and D-VAE (fast): against the original's numbers, and against slow, obvious versions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from dvae.compat import from_original
from dvae.dag import Dag, DagBatch
from dvae.errors import CheckpointError
from dvae.models import VAE, build, load
from dvae.models.decoders.graphrnn import GraphRnnDecoder
from dvae.models.kernels.precision import products_in
from dvae.models.kernels.recurrent import recur
from dvae.tasks import EnasTask, RawTask, Task, get
from models.examples import MAX_NODES, NUM_TYPES, generic_task, latents, model_graphs, raw_batch, raw_dags
from models.sequence_oracle import CONNECTED, FREE, SequenceOracle, random_sequence_state

GOLDEN = {
    "svae_enas6": "svae",
    "svae_bn8": "svae",
    "graphrnn_enas6": "graphrnn",
    "graphrnn_bn8": "graphrnn",
    "dvae_fast_enas6": "dvae_fast",
}
NAMES = ("svae", "graphrnn")
PAIRS = ("svae", "graphrnn", "dvae-fast", "svae+dvae", "dvae+graphrnn")
EXACT = {"atol": 1e-10, "rtol": 1e-10}
SIZES = {"num_types": NUM_TYPES, "max_nodes": MAX_NODES}


def read_golden(folder: Path, name: str) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Any]]:
    """Weights, results and description."""
    if not (folder / f"{name}.npz").is_file():
        pytest.skip(f"{folder / name}.npz is not there")
    with np.load(folder / f"{name}.npz") as file:
        arrays = {key: torch.from_numpy(file[key]) for key in file.files}
    state = {key.removeprefix("param/"): value for key, value in arrays.items() if key.startswith("param/")}
    return state, arrays, json.loads((folder / f"{name}.json").read_text())


def golden_dag(graph: dict[str, Any]) -> Dag:
    return Dag(tuple(graph["types"]), tuple((source, target) for source, target in graph["edges"]))


@pytest.mark.shared
@pytest.mark.parametrize("name", GOLDEN)
def test_the_numbers_are_the_originals(name: str, golden_folder: Path) -> None:
    state, expected, about = read_golden(golden_folder, name)
    vae = from_original(GOLDEN[name], state, about["num_types"], about["max_nodes"])
    graphs = [golden_dag(graph) for graph in about["graphs"]]
    posterior = vae.encode(graphs)
    results = {
        "mu": posterior.mean,
        "logvar": posterior.logvar,
        "kl": posterior.kl(),
        "reconstruction_nll": vae.reconstruction_nll(graphs, expected["mu"]),
    }
    for key, value in results.items():
        torch.testing.assert_close(value, expected[key], atol=1e-8, rtol=1e-8)
    if about["greedy_decode_of_z"] is not None:
        decoded = vae.decode(expected["z"], greedy=True)
        assert decoded == [golden_dag(graph) for graph in about["greedy_decode_of_z"]]


@pytest.mark.shared
@pytest.mark.parametrize("name", GOLDEN)
def test_weights_of_the_original_are_taken_whole_or_refused(name: str, golden_folder: Path) -> None:
    state, _, about = read_golden(golden_folder, name)
    sizes = {"num_types": about["num_types"], "max_nodes": about["max_nodes"]}
    unused = {"svae": (), "graphrnn": ("add_edges.",), "dvae_fast": ("add_edge.", "hv_unify.")}[GOLDEN[name]]
    for key in state:
        rest = {other: value for other, value in state.items() if other != key}
        if key.startswith(tuple(unused)):
            from_original(GOLDEN[name], rest, **sizes)
        else:
            with pytest.raises(CheckpointError, match=f"lacks {key}"):
                from_original(GOLDEN[name], rest, **sizes)
    with pytest.raises(CheckpointError, match="unknown surprise"):
        from_original(GOLDEN[name], {**state, "surprise": torch.zeros(1)}, **sizes)


def slow_recur(input_gates: Tensor, initial: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
    """The formulas of a GRU, gates in the order of `gru_step`."""
    rows, hidden = input_gates.shape[1], weight.shape[1]
    state = input_gates.new_zeros(rows, hidden) if initial is None else initial
    states = []
    for gates in input_gates:
        candidate_in, reset_in, update_in = gates.split(hidden, -1)
        reset_hidden, update_hidden, candidate_hidden = (state @ weight.T + bias).split(hidden, -1)
        reset, update = torch.sigmoid(reset_in + reset_hidden), torch.sigmoid(update_in + update_hidden)
        candidate = torch.tanh(candidate_in + reset * candidate_hidden)
        state = (1 - update) * candidate + update * state
        states.append(state)
    return torch.stack(states)


@pytest.mark.parametrize("time", [1, 4])
@pytest.mark.parametrize("inputs", ["gates", "same gates", "table"])
@pytest.mark.parametrize("given", [False, True], ids=["from zero", "from a state"])
def test_recur_has_the_gradients_of_the_obvious_loop(given: bool, inputs: str, time: int) -> None:
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    rows, hidden = 3, 4
    gates = {"gates": random(time, rows, 12), "same gates": random(rows, 12), "table": random(2, 12)}[inputs]
    initial = random(rows, hidden) if given else None
    weight, bias, weighting = random(12, hidden), random(12), random(time, rows, hidden).detach()
    index = torch.randint(2, (time, rows), generator=generator) if inputs == "table" else None
    plain = gates if index is None else gates[index]
    fast = recur(gates if inputs != "same gates" else gates.expand(time, -1, -1), initial, weight, bias, index=index)
    slow = slow_recur(plain if inputs != "same gates" else plain.expand(time, -1, -1), initial, weight, bias)
    torch.testing.assert_close(fast, slow, **EXACT)
    leaves = [leaf for leaf in (gates, initial, weight, bias) if leaf is not None]
    ours = torch.autograd.grad((fast * weighting).sum(), leaves)
    theirs = torch.autograd.grad((slow * weighting).sum(), leaves, allow_unused=True, materialize_grads=True)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **EXACT)


def test_recur_without_a_gradient_is_the_same() -> None:
    gates, weight, bias = torch.randn(5, 2, 9), torch.randn(9, 3), torch.randn(9)
    with torch.no_grad():
        plain = recur(gates, None, weight, bias)
    torch.testing.assert_close(recur(gates, None, weight, bias), plain)


def pair(
    name: str, *, hidden: int = 7, latent: int = 3, seed: int = 0, scale: float = 1.0, task: Task | None = None
) -> tuple[VAE, SequenceOracle]:
    """Our model and the slow one with the same random weights."""
    task = task or RawTask(**SIZES, hints=EnasTask.hints)
    sizes = {"num_types": task.num_types, "max_nodes": task.max_nodes}
    state = random_sequence_state(name, hidden=hidden, latent=latent, seed=seed, scale=scale, **sizes)
    oracle = SequenceOracle(name, state, **sizes, end_edges=task.hints.end_edges)  # type: ignore[arg-type]
    return from_original(name, state, **sizes, task=task), oracle


@pytest.mark.parametrize("layout", ["as it is", "static shapes"])
@pytest.mark.parametrize("hidden", [7, 8])
@pytest.mark.parametrize("name", NAMES)
def test_graphs_of_all_sizes_are_scored_and_differentiated_as_the_slow_version_does(
    name: str, hidden: int, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU GraphRNN's rows of padding are computed too; there, as here, they change nothing."""
    vae, oracle = pair(name, hidden=hidden)
    graphs = [*model_graphs(6), Dag((0,)), Dag((0, 1))]
    noise = latents(len(graphs))
    state = {key: value.clone().requires_grad_() for key, value in oracle.state.items()}
    slow = SequenceOracle(oracle.model, state, **SIZES)
    expected = []
    for graph, row in zip(graphs, noise, strict=True):
        mean, logvar = slow.encode(graph)
        expected.append(slow.nll(graph, mean + row * (0.5 * logvar).exp()))
    torch.stack(expected).sum().backward()
    if layout == "static shapes":
        monkeypatch.setattr(GraphRnnDecoder, "_on_demand", lambda self, batch: False)
    losses = vae(raw_batch(graphs), noise)
    losses.nll.sum().backward()
    torch.testing.assert_close(losses.nll, torch.stack(expected), **EXACT)
    zero = {key: torch.zeros_like(value) if value.grad is None else value.grad for key, value in state.items()}
    gradients = dict(from_original(name, zero, **SIZES).named_parameters())
    for key, parameter in vae.named_parameters():
        assert parameter.grad is not None, f"{key} gets no gradient"
        torch.testing.assert_close(parameter.grad, gradients[key].detach(), **EXACT)


@pytest.mark.parametrize("sampled", [False, True], ids=["loose ends", "sampled end edges"])
@pytest.mark.parametrize("name", NAMES)
def test_greedy_decodings_are_the_slow_versions(name: str, sampled: bool) -> None:
    task = generic_task(sampled=sampled)
    vae, oracle = pair(name, scale=3.0, seed=5, task=task)
    z = latents(40, scale=3.0)
    expected = [oracle.greedy(row) for row in z]
    assert len(set(expected)) > 5, "the example is too easy: all latents decode alike"
    assert raw_dags(vae.decode_batch(z, greedy=True), task.num_types) == expected
    copied = raw_dags(vae.decode_batch(z, greedy=True, copies=2), task.num_types)
    assert copied == [dag for dag in expected for _ in range(2)]


@pytest.mark.parametrize("copies", [1, 4_000])
@pytest.mark.parametrize("valid", [False, True], ids=["free", "valid"])
@pytest.mark.parametrize("sampled", [False, True], ids=["loose ends", "sampled end edges"])
@pytest.mark.parametrize("name", NAMES)
def test_samples_follow_the_probabilities_of_the_steps(name: str, sampled: bool, valid: bool, copies: int) -> None:
    task = generic_task(sampled=sampled, max_nodes=4)
    vae, oracle = pair(name, latent=2, hidden=5, seed=4, scale=1.5, task=task)
    z, count = latents(2, latent=2, scale=2.0), 4_000
    drawn = vae.decode_batch(z.repeat_interleave(count // copies, 0), copies=copies, seed=1, valid=valid)
    graphs = raw_dags(drawn, task.num_types)
    for index, row in enumerate(z):
        expected = oracle.outcomes(row, CONNECTED if valid else FREE)
        assert sum(expected.values()) == pytest.approx(1)
        counts = Counter(graphs[index * count : (index + 1) * count])
        assert counts.keys() <= expected.keys()
        often = [graph for graph, share in expected.items() if share * count >= 5]
        assert len(often) >= 3, "the example is too easy: nearly always the same graph"
        observed, predicted = [counts[graph] for graph in often], [expected[graph] * count for graph in often]
        observed, predicted = [*observed, count - sum(observed)], [*predicted, count - sum(predicted)]
        if predicted[-1] < 1:
            observed, predicted = (
                observed[:-1],
                [value * sum(observed[:-1]) / sum(predicted[:-1]) for value in predicted[:-1]],
            )
        assert float(stats.chisquare(observed, predicted).pvalue) > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_the_loop_over_its_graphs(name: str) -> None:
    vae, _ = pair(name)
    graphs, z = model_graphs(12), latents(12)
    together, nll = vae.encode(graphs), vae.reconstruction_nll(graphs, z)
    for index, graph in enumerate(graphs):
        torch.testing.assert_close(vae.encode([graph]).mean[0], together.mean[index], **EXACT)
        torch.testing.assert_close(vae.reconstruction_nll([graph], z[index : index + 1])[0], nll[index], **EXACT)
    greedy = vae.decode(z, greedy=True)
    assert greedy == [vae.decode(row[None], greedy=True)[0] for row in z]


def small(name: str, task: Task, **options: Any) -> VAE:
    return build(name, task, hidden=6, latent=3, seed=0, **options).double()


@pytest.mark.parametrize("name", PAIRS)
def test_padding_changes_neither_losses_nor_gradients(name: str) -> None:
    graphs = [graph for graph in model_graphs(20, num_types=4) if len(graph) < MAX_NODES]
    results, gradients = [], []
    for nodes in (MAX_NODES - 1, MAX_NODES, MAX_NODES + 3):
        vae = small(name, generic_task())
        losses = vae(raw_batch(graphs, 4, nodes), latents(len(graphs)))
        (losses.nll + losses.kl).sum().backward()
        results.append(torch.stack([losses.nll, losses.kl]))
        gradients.append([parameter.grad for parameter in vae.parameters()])
    for result, gradient in zip(results[1:], gradients[1:], strict=True):
        torch.testing.assert_close(result, results[0], **EXACT)
        torch.testing.assert_close(gradient, gradients[0], **EXACT)


TASKS = {
    "enas6": get("enas6"),
    "asia": get("asia"),
    "generic": generic_task(),
    "generic, virtual ends": generic_task(virtual=True),
    "generic, sampled end edges": generic_task(sampled=True),
}


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", PAIRS)
def test_valid_decodings_of_an_untrained_model_are_all_valid(name: str, task: str, greedy: bool) -> None:
    vae = build(name, TASKS[task], hidden=8, latent=4, seed=2)
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.mul_(3)
    z = torch.randn(40, 4, generator=torch.Generator().manual_seed(1))
    batch = vae.decode_batch(z, copies=2, seed=0, greedy=greedy, valid=True)
    assert bool(vae.task.valid(batch).all())
    assert all(map(vae.task.is_valid, vae.task.unbatch(batch)))
    if not greedy:
        assert float(vae.task.valid(vae.decode_batch(z, seed=0)).float().mean()) < 0.95


@pytest.mark.parametrize("copies", [1, 5])
@pytest.mark.parametrize("name", PAIRS)
def test_a_seed_repeats_and_another_differs(name: str, copies: int) -> None:
    vae = small(name, EnasTask(4))
    z = latents(20)
    first, again, other = (vae.decode(z, copies=copies, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert len(first) == 20 * copies


@pytest.mark.parametrize("name", PAIRS)
def test_a_saved_model_comes_back(name: str, tmp_path: Path) -> None:
    vae = small(name, EnasTask(3), features="learned", feature_width=3)
    vae.save(tmp_path)
    again, dags, z = load(tmp_path), EnasTask(3).sample(5, seed=0), latents(5)
    assert torch.equal(again.encode(dags).mean, vae.encode(dags).mean)
    assert torch.equal(again.reconstruction_nll(dags, z), vae.reconstruction_nll(dags, z))


@pytest.mark.parametrize("features", ["one-hot", "learned", "given"])
@pytest.mark.parametrize("name", NAMES)
def test_a_few_steps_of_training_lower_the_loss(name: str, features: str) -> None:
    task = get("bn:A,B,C")
    given = tuple((float(kind), 1.0) for kind in range(5)) if features == "given" else None
    vae = build(name, task, hidden=16, latent=4, seed=0, features=features, given_features=given)
    batch = task.sample_batch(16, seed=0)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
    totals = []
    for _ in range(40):
        loss = vae(batch, torch.zeros(16, 4)).nll.sum()
        optimizer.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None for parameter in vae.parameters())
        optimizer.step()
        totals.append(float(loss.detach()))
    assert totals[-1] < 0.6 * totals[0]


@pytest.mark.parametrize("name", ["svae", "graphrnn", "dvae-fast"])
def test_units_that_align_memory_stay_zero_in_training(name: str) -> None:
    """Hidden 6 lies in memory as 8; what is added never moves, so the model is the one asked for."""
    vae = small(name, EnasTask(3))
    padding = {key: parameter == 0 for key, parameter in vae.named_parameters()}
    assert (
        sum(int(zero.sum()) for zero in padding.values())
        == sum(p.numel() for p in vae.parameters()) - vae.num_parameters()
    )
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        losses = vae(EnasTask(3).sample_batch(8, seed=0), latents(8))
        (losses.nll + losses.kl).sum().backward()
        optimizer.step()
    for key, parameter in vae.named_parameters():
        assert bool((parameter[padding[key]] == 0).all()), key


@pytest.mark.parametrize("name", NAMES)
def test_products_in_bf16_are_close(name: str) -> None:
    task = EnasTask(6)
    vae = build(name, task, hidden=32, latent=8, seed=0)
    batch, noise = task.sample_batch(16, seed=0), torch.zeros(16, 8)
    exact = vae(batch, noise).nll
    with products_in(torch.bfloat16):
        short = vae(batch, noise).nll
        short.sum().backward()
    assert not torch.equal(short, exact)
    torch.testing.assert_close(short, exact, rtol=2e-2, atol=0)
    assert all(bool(p.grad.isfinite().all()) for p in vae.decoder.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", NAMES)
def test_strings_lack_permutation_invariance(name: str) -> None:
    """Theorem 1 is D-VAE's: two topological orders of one DAG are two strings, here with two encodings."""
    one = Dag(("s", "a", "b", "t"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    other = Dag(("s", "b", "a", "t"), one.edges)
    assert one.canonical_key() == other.canonical_key()
    strings = small(name, generic_task()).encode([one, other]).mean
    messages = small("dvae", generic_task(), aggregation="gated-sum").encode([one, other]).mean
    assert float((strings[0] - strings[1]).abs().max()) > 1e-3
    torch.testing.assert_close(messages[0], messages[1], **EXACT)


@pytest.mark.parametrize("name", NAMES)
def test_no_shape_of_a_training_step_on_a_gpu_depends_on_the_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it can be captured as a CUDA graph: tensors without data refuse whatever would look at values."""
    monkeypatch.setattr(GraphRnnDecoder, "_on_demand", lambda self, batch: False)
    with FakeTensorMode(allow_non_fake_inputs=True):
        vae = build(name, EnasTask(3), hidden=6, latent=3)
        assert vae.static_shapes
        types = torch.zeros(4, 5, dtype=torch.int64)
        batch = DagBatch(types, torch.zeros(4, 5, 5, dtype=torch.bool), types[:, 0])
        losses = vae(batch, torch.zeros(4, 3))
        (losses.nll + losses.kl).sum().backward()
    assert all(parameter.grad is not None for parameter in vae.parameters())
