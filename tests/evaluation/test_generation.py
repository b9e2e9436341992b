"""Generated DAGs judged by a surrogate, by their shapes and by what they repeat."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy.stats import spearmanr, wasserstein_distance
from typer.testing import CliRunner

import dvae
from dvae import Dag
from dvae.cli.main import app
from dvae.dag import DagSet, Dataset, write_jsonl
from dvae.errors import ConfigError
from dvae.evaluation import SurrogateSettings, distances, fit_surrogate, generate, judge_generation
from dvae.evaluation.distances import layer_sizes, mmd, wasserstein
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.labelled import Labelled
from dvae.evaluation.sameness import distinct, novel, structure_keys
from dvae.models import VAE, build
from dvae.regression.metrics import spearman
from dvae.tasks import GenericTask
from dvae.tasks.graph_rules import GraphRules

SMALL = SurrogateSettings(layers=1, width=8, epochs=3)


def random_dags(count: int, seed: int = 0) -> list[Dag]:
    """Chains with a branch or two; `load` counts the nodes of the type `a`, and their sizes."""
    chance, made = random.Random(seed), []
    for _ in range(count):
        nodes = chance.randint(3, 8)
        kinds = tuple(chance.choice("ab") for _ in range(nodes))
        edges = {(chance.randrange(max(0, node - 2), node), node) for node in range(1, nodes)}
        sizes = tuple(float(chance.randint(1, 4)) for _ in kinds)
        load = sum(size for kind, size in zip(kinds, sizes, strict=True) if kind == "a")
        made.append(Dag(kinds, tuple(edges), {"size": sizes}, properties={"load": load, "odd": 1.0}))
    return made


@pytest.fixture(scope="module")
def data() -> Dataset:
    dags = random_dags(140)
    return Dataset.of("own", dags[:80], dags[80:100], dags[100:])


@pytest.fixture(scope="module")
def task(data: Dataset) -> GenericTask:
    return GenericTask.infer("own", data.everything.dags)


def conditioned(task: GenericTask, data: Dataset, name: str = "layerwise") -> VAE:
    vae = build(name, task, hidden=8, latent=4, seed=0, conditions=("load",))
    dvae.fit(vae, data.train, epochs=1, batch_size=40, progress=False)
    return vae


@pytest.mark.parametrize("name", ["layerwise", "dvae"])
def test_generated_dags_are_judged_beside_real_ones(name: str, task: GenericTask, data: Dataset) -> None:
    vae = conditioned(task, data, name)
    judged = judge_generation(vae, data, "load", settings=SMALL, reconstructed=5, progress=False)
    assert judged.labels == 100
    assert judged.test_graphs == judged.generated.count == judged.real.count == 40
    assert judged.direct.count == 100
    assert -1 <= judged.generated.pearson <= 1
    assert judged.distances.depth >= 0
    assert judged.validity.value == 1 or name == "dvae"
    assert judged.real_structures <= judged.real_uniqueness <= 1
    assert judged.small_edits is not None
    assert judged.large_edits is None
    written = json.loads(json.dumps(judged.to_mapping()))
    assert written["property"] == "load"
    assert "100 labels (load)" in written["protocol"]
    assert [row[0] for row in judged.rows()][:3] == [
        "surrogate, Pearson",
        "surrogate, Spearman",
        "surrogate, mean error",
    ]
    again = judge_generation(vae, data, "load", settings=SMALL, reconstructed=0, progress=False)
    assert (again.generated, again.real, again.direct, again.distances) == (
        judged.generated, judged.real, judged.direct, judged.distances,
    )  # fmt: skip


def test_dags_can_be_generated_within_the_rules(data: Dataset) -> None:
    task = GenericTask.infer("own", data.everything.dags, GraphRules(out_degree=(("a", (0, 3)), ("b", (0, 3)))))
    vae = conditioned(task, data)
    found = [vae.task.valid(generate(vae, "load", [5.0] * 60, valid=valid)).float().mean() for valid in (False, True)]
    assert found[0] < 1
    assert found[1] == 1


def test_fewer_labels_and_tests_are_drawn_by_a_seed(task: GenericTask, data: Dataset) -> None:
    vae = conditioned(task, data)
    judged = judge_generation(
        vae, data, "load", labels=20, test_limit=10, settings=SMALL, reconstructed=0, progress=False
    )
    assert (judged.labels, judged.test_graphs) == (22, 10)


def test_training_dags_with_near_labels_can_be_varied(task: GenericTask, data: Dataset) -> None:
    vae = conditioned(task, data)
    judged = judge_generation(
        vae, data, "load", labels=20, test_limit=10, settings=SMALL, reconstructed=0, change=0.3, progress=False
    )
    assert judged.to_mapping()["change"] == 0.3
    assert "made of a training DAG with a near label (change 0.3)" in judged.protocol
    known = Labelled(data.train.dags, tuple(float(place) for place in range(len(data.train))))
    near = known.near([30.0] * 200, torch.Generator().manual_seed(0))
    assert set(near) == set(range(20, 41)) - {40}  # of two that are equally near, the first
    with pytest.raises(ConfigError, match="change is a share"):
        judge_generation(vae, data, "load", change=2.0, progress=False)


def test_a_tenth_is_kept_back_where_there_is_no_validation_part(task: GenericTask, data: Dataset) -> None:
    without = replace(data, train_size=100, validation_size=0)
    judged = judge_generation(
        conditioned(task, data), without, "load", settings=SMALL, reconstructed=0, progress=False
    )  # fmt: skip
    assert judged.labels == 100


def test_what_cannot_be_judged_is_said(task: GenericTask, data: Dataset) -> None:
    vae = conditioned(task, data)
    with pytest.raises(ConfigError, match=r"without the condition odd \(it has load\): dvae train --condition odd"):
        judge_generation(vae, data, "odd", progress=False)
    with pytest.raises(ConfigError, match=r"have the property 'lod' \(there are load, odd\)"):
        judge_generation(vae, data, "lod", progress=False)
    with pytest.raises(ConfigError, match="labels must be at least 10, not 3"):
        judge_generation(vae, data, "load", labels=3, progress=False)
    with pytest.raises(ConfigError, match="width must be at least 1, not 0"):
        SurrogateSettings(width=0)


def test_a_surrogate_learns_what_depends_on_types_and_columns(task: GenericTask, data: Dataset) -> None:
    parts = {name: DagSet.of(getattr(data, name).dags) for name in ("train", "validation", "test")}
    dags = {name: part.dags for name, part in parts.items()}
    values = {name: part.properties["load"] for name, part in parts.items()}
    inputs = NodeInputs.of(task, dags["train"])
    settings = SurrogateSettings(layers=2, width=32, epochs=120, learning_rate=1e-2)
    fitted = fit_surrogate(
        inputs, dags["train"], values["train"], dags["validation"], values["validation"], settings=settings,
        progress=False,
    )  # fmt: skip
    found = fitted.predict(dags["test"])
    assert torch.corrcoef(torch.stack([found, values["test"]]))[0, 1] > 0.95
    one_by_one = torch.cat([fitted.predict([dag]) for dag in dags["test"][:4]])
    torch.testing.assert_close(one_by_one, found[:4], rtol=1e-4, atol=1e-4)


def test_equal_sets_have_no_distance_and_deeper_ones_have_one() -> None:
    chain = [Dag(tuple("a" * size), tuple((i, i + 1) for i in range(size - 1))) for size in (3, 4, 5)]
    assert set(distances(chain, chain).to_mapping().values()) == {0.0}
    deeper = [Dag(tuple("a" * size), tuple((i, i + 1) for i in range(size - 1))) for size in (5, 6, 7)]
    apart = distances(chain, deeper)
    assert apart.depth == pytest.approx(2)
    assert apart.layer_sizes == apart.types == 0
    wide = [Dag(tuple("b" * 4)) for _ in range(2)]
    assert distances(chain, wide).types == pytest.approx(2 - 2 * torch.exp(torch.tensor(-0.5)).item())


def test_layers_are_longest_paths() -> None:
    assert layer_sizes(Dag(tuple("abcd"), ((0, 1), (1, 3), (0, 3)))) == [2, 1, 1]


def test_distances_of_samples_are_those_of_scipy() -> None:
    one, other = [1.0, 2, 2, 5], [2.0, 3, 9]
    assert wasserstein(one, other) == pytest.approx(wasserstein_distance(one, other))
    numbers = torch.tensor([1.0, 3, 3, 2, 9, 9, 4]), torch.tensor([2.0, 1, 5, 5, 7, 8, 1])
    assert spearman(*numbers) == pytest.approx(spearmanr(*numbers).statistic)


def test_near_bins_are_alike_only_where_they_are_ordered() -> None:
    near, far = torch.tensor([[1.0, 0, 0]]), torch.tensor([[0, 0, 1.0]])
    middle = torch.tensor([[0, 1.0, 0]])
    assert mmd(near, middle, ordered=True) < mmd(near, far, ordered=True)
    assert mmd(near, middle, ordered=False) == mmd(near, far, ordered=False)


def test_few_keys_tell_what_all_keys_tell(task: GenericTask) -> None:
    dags = [*random_dags(30, seed=1), *random_dags(10, seed=1), *random_dags(5, seed=0)]
    known = random_dags(20, seed=0)
    for keys in (structure_keys, task.keys_of):
        assert distinct(dags, keys) == len(set(keys(dags)))
        there = set(keys(known))
        assert novel(dags, known, keys) == sum(key not in there for key in keys(dags))


def test_the_command_prints_a_table_and_keeps_every_property(tmp_path: Path, data: Dataset) -> None:
    path, folder = tmp_path / "dags.jsonl", tmp_path / "run"
    write_jsonl(path, data.everything)
    runner = CliRunner()
    small = ["--preset", "paper", "--hidden", "8", "--latent", "4", "--epochs", "1", "--condition", "load,odd"]
    made = runner.invoke(app, ["train", "--data", str(path), "--run", str(folder), "--model", "layerwise", *small])
    assert made.exit_code == 0, made.output
    for name in ("load", "odd"):
        words = ["--labels", "20", "--surrogate-epochs", "2", "--surrogate-width", "4", "--test-limit", "8"]
        result = runner.invoke(app, ["evaluate", str(folder), "--surrogate", name, *words])
        assert result.exit_code == 0, result.output
        assert "surrogate, Pearson" in result.output
    kept = json.loads((folder / "generation.json").read_text())
    assert list(kept) == ["load", "odd"]
    wrong = runner.invoke(app, ["evaluate", str(folder), "--surrogate", "lod"])
    assert wrong.exit_code == 2
    (folder / "generation.json").write_text("[]")
    broken = runner.invoke(app, ["evaluate", str(folder), "--surrogate", "load"])
    assert broken.exit_code == 2
    assert "generation.json does not hold measurements" in broken.output.replace("\n", " ")
