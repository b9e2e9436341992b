"""The best of several DAGs: the one predicted to be nearest to what was asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from dvae import Dag
from dvae.cli.main import app
from dvae.dag import Dataset, write_jsonl
from dvae.errors import CheckpointError, ConfigError
from dvae.evaluation import Surrogate, choice, generate, judge_generation
from dvae.evaluation.choice import Chooser, fit_chooser
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.labelled import Labelled
from dvae.evaluation.surrogate import BothWays
from dvae.models import build
from dvae.runs import Run
from dvae.runs.chooser import DESCRIPTION, TENSORS, read_chooser
from dvae.tasks import GenericTask
from dvae.tasks.graph_rules import GraphRules
from evaluation.test_generation import SMALL, conditioned, random_dags


class Counting(Surrogate):
    """Knows the property of a DAG exactly: how many nodes are of the type `a`."""

    def __init__(self) -> None:
        inputs = NodeInputs(("a", "b"), (), (), 1.0)
        super().__init__(inputs, BothWays(inputs, SMALL), 0.0, 1.0, 1, 1.0)

    def predict(self, dags: Sequence[Dag], batch_size: int = 1024) -> Tensor:
        return torch.tensor([float(dag.types.count("a")) for dag in dags]).double()


COUNTING = Chooser({"load": Counting()})


@pytest.fixture(scope="module")
def data() -> Dataset:
    dags = random_dags(140)
    return Dataset.of("own", dags[:80], dags[80:100], dags[100:])


def task_of(data: Dataset, rules: GraphRules | None = None) -> GenericTask:
    return GenericTask.infer("own", data.everything.dags, rules or GraphRules())


def test_the_nearest_of_each_group_is_taken(data: Dataset) -> None:
    vae = conditioned(task_of(data), data)
    assert vae.conditions is not None
    batch = vae.task.batch(data.train.dags)
    asked = torch.stack([vae.conditions.row({"load": float(load)}) for load in range(20)])
    found = vae.task.unbatch(COUNTING.nearest(4, vae, batch, asked))
    groups = [data.train.dags[start : start + 4] for start in range(0, 80, 4)]
    for load, (dag, group) in enumerate(zip(found, groups, strict=True)):
        assert dag.types in [one.types for one in group]
        assert abs(dag.types.count("a") - load) == min(abs(one.types.count("a") - load) for one in group)
    same = vae.task.unbatch(COUNTING.nearest(80, vae, batch, vae.conditions.row({"load": 5.0})))
    assert [dag.types.count("a") for dag in same] == [5]


def test_a_dag_that_breaks_the_rules_is_taken_only_where_all_do(data: Dataset) -> None:
    vae = conditioned(task_of(data, GraphRules(sink_types=("a",))), data)
    assert vae.conditions is not None
    broken, good = Dag("aab", ((0, 1), (1, 2))), Dag("bba", ((0, 1), (1, 2)))
    batch = vae.task.batch([broken, good, broken, broken])
    found = vae.task.unbatch(COUNTING.nearest(2, vae, batch, vae.conditions.row({"load": 2.0})))
    assert [dag.types for dag in found] == [good.types, broken.types]


def test_more_candidates_come_nearer(data: Dataset) -> None:
    vae = conditioned(task_of(data), data)
    values = [1.0, 2.0, 3.0, 4.0] * 10
    errors = []
    for count in (1, 8):
        made = vae.task.unbatch(generate(vae, "load", values, best_of=count, chooser=COUNTING, progress=False))
        assert len(made) == len(values)
        errors.append(sum(abs(dag.types.count("a") - value) for dag, value in zip(made, values, strict=True)))
    assert errors[1] < 0.5 * errors[0]


def test_what_cannot_be_chosen_is_said(data: Dataset) -> None:
    vae = conditioned(task_of(data), data)
    assert vae.conditions is not None
    batch, row = vae.task.batch(data.train.dags[:6]), vae.conditions.row({"load": 5.0})
    with pytest.raises(ConfigError, match="6 DAGs cannot be divided into groups of 4"):
        COUNTING.nearest(4, vae, batch, row)
    with pytest.raises(ConfigError, match="needs somebody who chooses"):
        generate(vae, "load", [1.0], best_of=2, progress=False)
    with pytest.raises(ConfigError, match="trained without conditions"):
        COUNTING.nearest(2, build("dvae", vae.task, hidden=4, latent=2), batch, row)


def test_what_was_chosen_is_judged(data: Dataset) -> None:
    vae = conditioned(task_of(data), data)
    options = {"labels": 20, "test_limit": 10, "settings": SMALL, "reconstructed": 0, "progress": False}
    judged = judge_generation(vae, data, "load", best_of=3, **options)  # type: ignore[arg-type]
    assert judged.to_mapping()["best_of"] == 3
    assert "the one of 3 that a regressor of training DAGs says is nearest, for each of 22 labels" in judged.protocol
    varied = judge_generation(vae, data, "load", best_of=2, change=0.3, chooser=COUNTING, **options)  # type: ignore[arg-type]
    assert varied.labels == 22


def test_the_commands_take_the_best(tmp_path: Path, data: Dataset) -> None:
    path, folder, runner = tmp_path / "dags.jsonl", tmp_path / "run", CliRunner()
    write_jsonl(path, data.everything)
    small = ["--preset", "paper", "--hidden", "8", "--latent", "4", "--epochs", "1", "--condition", "load"]
    made = runner.invoke(app, ["train", "--data", str(path), "--run", str(folder), *small])
    assert made.exit_code == 0, made.output
    sample = ["sample", str(folder), "--count", "3", "--seed", "1", "--best-of", "4"]
    for words in ([], ["--like", str(path), "--change", "0.2"]):
        found = runner.invoke(app, [*sample, "--given", "load=9", *words, "--json"])
        assert found.exit_code == 0, found.output
        assert len(json.loads(found.stdout)["dags"]) == (3 if not words else 3 * len(data.everything))
    run = Run.open(folder)
    assert len(run.sample(3, given={"load": 9}, best_of=4, seed=1)) == 3
    without = runner.invoke(app, sample)
    assert without.exit_code == 2
    assert "--best-of goes with --given" in without.output
    with pytest.raises(ConfigError, match="nearest to a condition"):
        run.sample(3, best_of=4)
    with pytest.raises(ConfigError, match="without the condition lod"):
        run.sample(3, best_of=4, given={"lod": 1.0})
    assert run.sample(0, best_of=4, given={"load": 1.0}) == []
    alone = runner.invoke(app, ["evaluate", str(folder), "--best-of", "4"])
    assert alone.exit_code == 2
    assert "go with --surrogate" in alone.output
    words = ["--labels", "20", "--surrogate-epochs", "2", "--surrogate-width", "4", "--test-limit", "8"]
    judged = runner.invoke(app, ["evaluate", str(folder), "--surrogate", "load", "--best-of", "2", *words, "--json"])
    assert judged.exit_code == 0, judged.output
    assert json.loads(judged.stdout)["best_of"] == 2


@pytest.fixture
def run(tmp_path: Path, data: Dataset) -> Run:
    """A run with two conditions, on a file of DAGs."""
    write_jsonl(tmp_path / "dags.jsonl", data.items())
    settings: dict[str, Any] = {"preset": "paper", "hidden": 8, "latent": 4, "epochs": 1, "conditions": ("load", "odd")}
    made = Run.create(tmp_path / "run", data=tmp_path / "dags.jsonl", **settings)
    made.fit(device="cpu", progress=False)
    return made


def predicted(run: Run, data: Dataset, name: str = "load") -> list[float]:
    """What the run's regressor says, opened anew."""
    found: list[float] = (
        Run.open(run.folder).chooser([name], device="cpu").surrogates[name].predict(data.test.dags).tolist()
    )
    return found


def test_regressors_are_kept(run: Run, data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    first = predicted(run, data)
    odd = predicted(run, data, "odd")
    state = torch.get_rng_state()
    with monkeypatch.context() as patch:
        patch.setattr(choice, "fit_chooser", None)
        assert (predicted(run, data), predicted(run, data, "odd")) == (first, odd)
        assert torch.equal(torch.get_rng_state(), state)
        moved = run.folder.parent / "elsewhere.jsonl"
        Path(str(run.config.data)).rename(moved)  # what is kept does without the data
        assert predicted(run, data) == first
        moved.rename(str(run.config.data))
    described = json.loads((run.folder / DESCRIPTION).read_text())
    (run.folder / DESCRIPTION).write_text(json.dumps(described | {"properties": [{"property": "odd"}]}))
    with pytest.raises(CheckpointError, match="remove both"):
        predicted(run, data)
    (run.folder / DESCRIPTION).write_text("[]")
    with pytest.raises(CheckpointError, match="remove it to fit a new one"):
        predicted(run, data)


def test_regressors_are_fitted_again_where_values_have_changed(run: Run, data: Dataset) -> None:
    before = predicted(run, data)
    turned = [
        replace(one, dag=replace(one.dag, properties={"load": -one.dag.properties["load"]})) for one in data.items()
    ]
    write_jsonl(Path(str(run.config.data)), turned)
    after = predicted(run, data)
    assert torch.corrcoef(torch.tensor([before, after]))[0, 1] < -0.5


def test_half_of_what_was_written_is_fitted_again(run: Run, data: Dataset) -> None:
    before = predicted(run, data)
    tensors = (run.folder / TENSORS).read_bytes()
    predicted(run, data, "odd")
    (run.folder / TENSORS).write_bytes(tensors)  # as a kill between the two files leaves it
    assert read_chooser(run.folder) == {}
    assert predicted(run, data) == before


def test_two_conditions_count_alike(run: Run, data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    class Length(Counting):
        def predict(self, dags: Sequence[Dag], batch_size: int = 1024) -> Tensor:
            return torch.tensor([float(len(dag)) for dag in dags]).double()

    monkeypatch.setattr(choice, "AT_ONCE", 7)  # several parts
    vae = run.model("cpu")
    assert vae.conditions is not None
    both = Chooser({"load": Counting(), "odd": Length()})
    asked = {"load": 3.0, "odd": 6.0}
    found = both.nearest(5, vae, vae.task.batch(data.train.dags), vae.conditions.row(asked))
    scale = dict(zip(vae.conditions.names, vae.conditions.scale.tolist(), strict=True))
    for dag, start in zip(vae.task.unbatch(found), range(0, 80, 5), strict=True):
        distances = {
            one.types: ((one.types.count("a") - 3) / scale["load"]) ** 2 + ((len(one) - 6) / scale["odd"]) ** 2
            for one in data.train.dags[start : start + 5]
        }
        assert distances[dag.types] == pytest.approx(min(distances.values()), abs=1e-5)
    with pytest.raises(ConfigError, match="no regressor of odd to choose by"):
        COUNTING.nearest(5, vae, vae.task.batch(data.train.dags), vae.conditions.row(asked))


def test_a_prediction_that_is_no_number_is_not_near(data: Dataset) -> None:
    class Unsure(Counting):
        def predict(self, dags: Sequence[Dag], batch_size: int = 1024) -> Tensor:
            return torch.tensor([torch.nan, 1.0, 9.0]).double()

    vae = conditioned(task_of(data), data)
    assert vae.conditions is not None
    batch = vae.task.batch(data.train.dags[:3])
    found = Chooser({"load": Unsure()}).nearest(3, vae, batch, vae.conditions.row({"load": 8.0}))
    assert vae.task.unbatch(found)[0].types == data.train.dags[2].types


def test_few_labels_are_refused_or_shared_out(data: Dataset) -> None:
    bare = [dag.plain() for dag in data.validation.dags]
    without = Dataset.of("own", data.train.dags, bare, data.test.dags)
    train, validation = Labelled.parts(without, "load")
    assert (len(train.dags), len(validation.dags)) == (72, 8)
    few = Dataset.of("own", [*data.train.dags[:3], *bare], bare, data.test.dags)
    with pytest.raises(ConfigError, match="3 training DAGs have the property 'load'; a regressor needs at least 4"):
        fit_chooser(task_of(data), few, ["load"], progress=False)


def test_test_dags_are_not_seen_by_those_who_choose(data: Dataset) -> None:
    lied = [replace(dag, properties={"load": -1e6}) for dag in data.test.dags]
    other = Dataset.of(data.name, data.train, data.validation, lied)
    task = task_of(data)
    found = [fit_chooser(task, each, ["load"], progress=False).surrogates["load"] for each in (data, other)]
    assert found[0].predict(data.test.dags).tolist() == found[1].predict(data.test.dags).tolist()
