from __future__ import annotations

import dataclasses
import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from linear_operator.utils.errors import NotPSDError
from torch import Tensor
from typer.testing import CliRunner, Result

from dvae.cli.main import app
from dvae.cli.predictivity import _published
from dvae.dag import Dag, DagBatch, DagSet, Dataset
from dvae.errors import ConfigError, DvaeError, MissingError, TaskError
from dvae.evaluation import Predictivity, one_hot_features, one_hot_predictivity, predictivity, published
from dvae.evaluation.predictivity import PredictivityRow
from dvae.files import read_json, write_json
from dvae.models import VAE, build
from dvae.regression import Draw, Report, forest, sparse_gp
from dvae.regression.metrics import pearson, standardised
from dvae.regression.sparse_gp import ConvergedFit, MarginalStrategy, PaperFit, VariationalGP, fit_predict
from dvae.tasks import BayesNetTask, EnasTask, get

TASK = EnasTask(3)


def scored(dags: list[Dag], size: int) -> Dataset:
    """Architectures whose score is a sum over their layers and skips: all of it is in the one-hot features."""
    scores = [sum(len(label) for label in dag.types) + 0.5 * len(dag.edges) for dag in dags]
    return Dataset("sums", DagSet.of(dags, scores), size)


DATA = scored(TASK.sample(160, seed=0), 120)


@pytest.fixture(scope="module")
def vae() -> VAE:
    return build("dvae", TASK, hidden=8, latent=3, seed=0)


@pytest.fixture(scope="module")
def result(vae: VAE) -> Predictivity:
    return predictivity(vae, DATA, repeats=2, inducing=30)


def timeless(measured: Predictivity) -> Predictivity:
    return dataclasses.replace(measured, seconds=0.0, provenance={})


def smooth(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Latents of 8 dimensions on very different scales, and a smooth function of two of them."""
    latents = torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))
    return latents * torch.logspace(-1, 1, 8), torch.sin(2 * latents[:, 1]) + latents[:, 5] ** 2


def test_one_hot_features_of_a_hand_made_dag() -> None:
    types = torch.tensor([[0, 2, 1, 0], [0, 3, 3, 1]])  # the first has three nodes and padding
    adjacency = torch.zeros(2, 4, 4, dtype=torch.bool)
    for graph, source, target in ((0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 0, 2), (1, 2, 3)):
        adjacency[graph, source, target] = True
    features = one_hot_features(DagBatch(types, adjacency, torch.tensor([3, 4])), num_types=4)
    assert features.dtype == torch.float32
    nodes = [[1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0]]
    edges = [[1, 0, 0, 1, 0, 0], [1, 1, 0, 0, 0, 1]]  # 01 02 03 12 13 23
    assert features.tolist() == [nodes[0] + edges[0], nodes[1] + edges[1]]


@pytest.mark.parametrize("fit", [ConvergedFit(), ConvergedFit(points=100), PaperFit(epochs=60, learning_rate=0.03)])
def test_a_smooth_function_of_few_latents_is_predicted(fit: ConvergedFit | PaperFit) -> None:
    (train, targets), (test, truth) = smooth(400, 0), smooth(100, 1)
    if isinstance(fit, PaperFit):  # which leaves its inputs as they are
        train, test = train / torch.logspace(-1, 1, 8), test / torch.logspace(-1, 1, 8)
    targets, truth = standardised(targets, truth)
    means = fit_predict(fit, train, targets, test, inducing=100, generator=torch.Generator().manual_seed(0))
    assert (means.dtype, means.shape) == (targets.dtype, truth.shape)
    assert pearson(means, truth) > 0.95


def test_a_fit_tells_how_far_it_is_and_leaves_the_global_generator_alone() -> None:
    (train, targets), shares = smooth(60, 0), list[float]()
    before = torch.get_rng_state()
    for fit in (ConvergedFit(), PaperFit(epochs=3)):
        shares.clear()
        fit_predict(fit, train, targets, train + 1, inducing=9, generator=torch.Generator(), report=shares.append)
        assert shares == sorted(shares)
        assert 0 < shares[0] <= shares[-1] <= 1
    assert torch.equal(torch.get_rng_state(), before)


def test_features_that_never_vary_predict_the_mean() -> None:
    targets = torch.tensor([1.0, 2.0, 6.0])
    means = fit_predict(ConvergedFit(), torch.ones(3, 2), targets, torch.ones(4, 2), inducing=2,
                        generator=torch.Generator())  # fmt: skip
    assert means.tolist() == [3.0] * 4


def test_scores_without_noise_do_not_run_away() -> None:
    generator = torch.Generator().manual_seed(0)
    train = (torch.rand(54, 3, generator=generator) < 0.5).float()
    targets, _ = standardised(train.sum(1), train.sum(1))  # linear, on eight distinct points
    means = fit_predict(ConvergedFit(), train, targets, train.flip(0), inducing=500, generator=generator)
    assert torch.allclose(means, targets.flip(0), atol=0.01)


def test_a_breakdown_is_one_sentence() -> None:
    class Broken(PaperFit):
        def predict(self, *_: object) -> Tensor:
            raise NotPSDError("not positive definite")

    inputs = torch.rand(3, 2)
    with pytest.raises(DvaeError, match=r"broke down.*not positive definite"):
        fit_predict(Broken(), inputs, torch.ones(3), inputs, inducing=2, generator=torch.Generator())


def test_repeated_training_points_do_no_harm() -> None:
    (train, targets), (test, truth) = smooth(100, 0), smooth(50, 1)
    train, targets = train.repeat(3, 1), targets.repeat(3)
    means = fit_predict(ConvergedFit(), train, targets, test, inducing=300, generator=torch.Generator())
    assert pearson(means, truth) > 0.9


def test_marginals_are_those_of_gpytorchs_own_strategy() -> None:
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.variational import VariationalStrategy

    class Whole(VariationalGP):  # type: ignore[misc]
        def forward(self, x: Tensor) -> MultivariateNormal:
            return MultivariateNormal(x.new_zeros(len(x)), self.covar_module(x))

    generator = torch.Generator().manual_seed(0)
    points, inducing = (torch.randn(count, 3, generator=generator, dtype=torch.float64) for count in (9, 5))
    model = Whole(inducing, 1.5).double()
    parameters = dict(model.named_parameters())
    mean = parameters["variational_strategy._variational_distribution.variational_mean"]
    factor = parameters["variational_strategy._variational_distribution.chol_variational_covar"]
    mean.data = torch.randn(5, generator=generator, dtype=torch.float64)
    factor.data = factor.data + 0.3 * torch.randn(5, 5, generator=generator, dtype=torch.float64)
    for train in (True, False):
        model.train(train)
        model.variational_strategy.__class__ = MarginalStrategy
        ours = model(points)
        model.variational_strategy.__class__ = VariationalStrategy
        theirs = model(points)
        assert torch.allclose(ours.mean, theirs.mean, atol=1e-5)
        assert torch.allclose(ours.variance, theirs.variance, atol=1e-5)


def test_scores_are_standardised_by_those_trained_on() -> None:
    train, test = standardised(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 5.0]))
    assert (train.tolist(), test.tolist()) == ([-1.0, 1.0], [0.0, 3.0])


def test_scores_that_are_all_equal_are_refused(vae: VAE) -> None:
    level = Dataset("level", DagSet.of(DATA.everything.dags, [4.0] * 160), 120)
    with pytest.raises(ConfigError, match="all 120 training scores are 4"):
        predictivity(vae, level)


def test_pearson() -> None:
    line = torch.tensor([1.0, 2.0, 3.0])
    assert pearson(line, 5 - 2 * line) == pytest.approx(-1)
    assert pearson(torch.tensor([1.0, 0.0, 1.0]), line) == pytest.approx(0)
    assert pearson(torch.ones(3), line) == 0


def test_every_row_is_measured_in_every_repeat(result: Predictivity) -> None:
    names = [(row.regressor, row.features) for row in result.rows]
    assert names == [
        ("sparse GP", "latent means"),
        ("linear", "graph states"),
        ("sparse GP", "one-hot"),
        ("random forest", "one-hot"),
    ]
    assert all(len(row.rmse) == len(row.r) == 2 for row in result.rows)
    assert (result.train_graphs, result.train_size, result.test_graphs, result.scores) == (120, 120, 40, "data")
    one_hot = result.rows[2]
    assert one_hot.r_mean > 0.95  # a sum over the features
    assert one_hot.rmse_mean < result.rows[0].rmse_mean  # of an untrained model
    assert "all 120 training graphs" in result.protocol


def test_a_row_tells_mean_and_deviation() -> None:
    row = PredictivityRow("a", "b", (1.0, 3.0), (0.5, 0.5))
    assert (row.rmse_mean, row.rmse_std, row.r_mean, row.r_std) == (2.0, math.sqrt(2), 0.5, 0.0)
    assert PredictivityRow("a", "b", (1.0,), (0.5,)).rmse_std is None


def test_the_same_seed_gives_the_same_numbers(vae: VAE, result: Predictivity) -> None:
    torch.manual_seed(1234)
    assert timeless(predictivity(vae, DATA, repeats=2, inducing=30)) == timeless(result)
    assert predictivity(vae, DATA, repeats=1, inducing=30, seed=1).rows[2].rmse[0] not in result.rows[2].rmse


def test_the_first_repeats_do_not_depend_on_how_many_follow(vae: VAE, result: Predictivity) -> None:
    fewer = predictivity(vae, DATA, repeats=1, inducing=30)
    assert [row.rmse for row in fewer.rows] == [row.rmse[:1] for row in result.rows]


def test_a_model_that_diverged_is_refused() -> None:
    broken = build("dvae", TASK, hidden=8, latent=3, seed=0)
    torch.nn.init.constant_(broken.mean.weight, math.nan)
    with pytest.raises(DvaeError, match="not finite"):
        predictivity(broken, DATA)


def test_the_model_is_left_as_it_was(vae: VAE) -> None:
    vae.train()
    predictivity(vae, DATA, repeats=1, inducing=5, train_limit=20)
    assert vae.training


def test_the_mapping_goes_through_json_with_its_provenance(result: Predictivity, tmp_path: Path) -> None:
    write_json(tmp_path / "predictivity.json", result.to_mapping())
    read = read_json(tmp_path / "predictivity.json")
    assert read == result.to_mapping()
    assert isinstance(read, dict)
    assert read["rows"][2]["rmse"] == {
        "mean": result.rows[2].rmse_mean,
        "std": result.rows[2].rmse_std,
        "repeats": list(result.rows[2].rmse),
    }
    assert read["settings"]["points"] == ConvergedFit().points
    assert read["provenance"]["config"]["hidden"] == 8
    assert (read["preset"], read["inducing"], read["protocol"]) == ("converged", 30, result.protocol)


def test_a_mapping_is_read_back_as_the_value(result: Predictivity) -> None:
    read = Predictivity.from_mapping(json.loads(json.dumps(result.to_mapping())))
    assert read == result
    assert read.protocol == result.protocol


def test_a_limit_draws_training_graphs_anew_each_time(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, Tensor]] = []

    def remember(*_: object) -> object:
        def predict(train: Tensor, targets: Tensor, test: Tensor, *__: object) -> Tensor:
            seen.append((len(train), train))
            assert abs(float(targets.mean())) < 1e-5
            return torch.zeros(len(test))

        return predict

    monkeypatch.setattr(sparse_gp, "SparseGP", remember)
    monkeypatch.setattr(forest, "regressor", remember)
    measured = predictivity(vae, DATA, repeats=2, train_limit=50)
    assert (measured.train_graphs, measured.rows[0].r) == (50, (0.0, 0.0))
    assert "50 of 120 training graphs, drawn anew" in measured.protocol
    assert [count for count, _ in seen] == [50] * 6
    assert torch.equal(seen[2][1], seen[4][1])  # both on one-hot features, in the same repeat
    assert not torch.equal(seen[2][1], seen[3][1])


def drawn(train: Tensor, targets: Tensor) -> tuple[Tensor, list[Draw]]:
    """The training points of several fits as rows of one table."""
    rows = torch.arange(train.shape[0] * train.shape[1]).view(train.shape[:2])
    return train.flatten(0, 1), [Draw(seed, *each) for seed, each in enumerate(zip(rows, targets, strict=True))]


def test_several_fits_side_by_side_are_those_one_after_the_other() -> None:
    generator = torch.Generator().manual_seed(0)
    train, test = torch.randn(3, 300, 5, generator=generator), torch.randn(40, 5, generator=generator)
    train[..., 3] = test[:, 3] = 1.0  # never varies
    targets = train[..., 0].sin() + 0.1 * torch.randn(3, 300, generator=generator)
    regressor = sparse_gp.SparseGP(PaperFit(epochs=5, batch_size=64, learning_rate=1e-2), inducing=30)
    alone = [
        regressor(each, scores, test, seed, lambda share: None)
        for seed, (each, scores) in enumerate(zip(train, targets, strict=True))
    ]
    shares: list[float] = []
    together = regressor.side_by_side(*drawn(train, targets), test, shares.append)
    assert together is not None
    assert torch.allclose(together, torch.stack(alone), atol=1e-4)
    assert together.std() > 0.1
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_fits_that_cannot_be_laid_side_by_side_are_left_to_be_made_in_turn() -> None:
    train = torch.randn(2, 60, 3, generator=torch.Generator().manual_seed(0))
    scores, test = train[..., 0], train[0]
    paper, converged = (sparse_gp.SparseGP(fit, 50) for fit in (PaperFit(epochs=1), ConvergedFit()))

    def tell(share: float) -> None:
        pass

    assert converged.side_by_side(*drawn(train, scores), test, tell) is None
    assert paper.side_by_side(*drawn(train, scores), test, tell) is not None
    repeated = train.clone()
    repeated[1, 20:] = train[1, :20].repeat(2, 1)  # fewer distinct points than the other fit has
    assert paper.side_by_side(*drawn(repeated, scores), test, tell) is None
    flat = train.clone()
    flat[1, :, 2] = 0.0  # a feature that varies for the other fit only
    assert paper.side_by_side(*drawn(flat, scores), test, tell) is None
    assert paper.together(*drawn(train, scores), test, tell) is None  # on a CPU


def test_a_regressor_that_can_makes_all_repeats_at_a_time(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, ...]] = []

    class Both(sparse_gp.SparseGP):
        def together(self, inputs: Tensor, draws: Sequence[Draw], test: Tensor, report: Report) -> Tensor:
            calls.append((len(draws), len(draws[0].rows)))
            return torch.stack([self(inputs[draw.rows], draw.targets, test, draw.seed, report) for draw in draws])

    alone = predictivity(vae, DATA, repeats=3, train_limit=50, inducing=10, baselines=False)
    monkeypatch.setattr(sparse_gp, "SparseGP", Both)
    together = predictivity(vae, DATA, repeats=3, train_limit=50, inducing=10, baselines=False)
    assert calls == [(3, 50)]
    assert together.rows == alone.rows


def test_bayesian_networks_take_the_papers_limit_and_the_tasks_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BayesNetTask.predictivity_limit == 5000
    monkeypatch.setattr(BayesNetTask, "predictivity_limit", 30)
    task = get("asia")
    data = task.dataset(size=60)
    model = build("dvae", task, hidden=8, latent=3, seed=0)
    unscored = Dataset(data.name, DagSet.of(data.everything.dags), data.train_size)
    measured = predictivity(model, unscored, repeats=1, inducing=10)
    assert (measured.train_graphs, measured.train_size, measured.scores) == (30, 54, "task")
    assert predictivity(model, unscored, repeats=1, inducing=10, train_limit=40).train_graphs == 40


def test_validation_graphs_are_neither_trained_nor_tested_on() -> None:
    task = get("asia")
    dags = DagSet.of(task.dataset(size=60).everything.dags)
    model = build("dvae", task, hidden=8, latent=3, seed=0)
    measured = predictivity(model, Dataset("parts", dags, 40, 8), repeats=1, inducing=10)
    assert (measured.train_size, measured.test_graphs, measured.scores) == (40, 12, "task")


def test_graphs_without_a_score_are_left_out(vae: VAE) -> None:
    scores = [None if place % 2 else score for place, score in enumerate(DATA.everything.scores)]
    half = Dataset("half", DagSet.of(DATA.everything.dags, scores), 120)
    measured = predictivity(vae, half, repeats=1, inducing=10)
    assert (measured.train_size, measured.test_graphs) == (60, 20)
    few = Dataset("few", DagSet.of(DATA.everything.dags, [1.0, 2.0, *[None] * 158]), 120)
    with pytest.raises(ConfigError, match="2 training and 0 test graphs have a score"):
        predictivity(vae, few)


def test_without_any_scores_there_is_nothing_to_predict(vae: VAE) -> None:
    bare = Dataset("bare", DagSet.of(DATA.everything.dags), 120)
    with pytest.raises(TaskError, match="bare: no graph has a score"):
        predictivity(vae, bare)
    unknown = BayesNetTask("bn:A,B", ["A", "B"])
    with pytest.raises(DvaeError, match="no graph has a score"):
        predictivity(build("dvae", unknown, hidden=4, latent=2), unknown.dataset(size=10))


@pytest.mark.parametrize("wrong", [{"preset": "best"}, {"repeats": 0}, {"inducing": 0}, {"train_limit": 1}])
def test_settings_that_make_no_sense_are_refused(vae: VAE, wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        predictivity(vae, DATA, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("package", "name"), [("gpytorch", "gpytorch"), ("sklearn", "scikit-learn")])
def test_a_missing_package_is_named_with_how_to_install_it(
    vae: VAE, package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "dvae.regression.sparse_gp")
    monkeypatch.delattr("dvae.regression.sparse_gp")
    monkeypatch.delitem(sys.modules, "sklearn.ensemble", raising=False)
    with pytest.raises(MissingError, match=rf"{name}: pip install.*{name}"):
        predictivity(vae, DATA)


@pytest.fixture(scope="module")
def own_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two runs trained for an epoch: on graphs with scores and on the same without."""
    folder = tmp_path_factory.mktemp("predict")
    chance = random.Random(0)
    runs = {}
    for name in ("scored", "bare"):
        lines = []
        for _ in range(60):
            types = ["load", *chance.choices(["clean", "join"], k=3)]
            edges = [[0, 1], [1, 2], [2, 3]]
            score = {"score": types.count("join")} if name == "scored" else {}
            lines.append(json.dumps({"types": types, "edges": edges, **score}))
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        runs[name] = folder / name
        words = ("train", "--task", f"file:{folder / name}.jsonl", "--run", runs[name], "--epochs", 1)
        assert call(*words, "--set", "model.hidden=8", "--set", "model.latent=3").exit_code == 0
    return runs


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_prints_a_table_and_keeps_the_numbers(own_runs: dict[str, Path]) -> None:
    run = own_runs["scored"]
    shown = call("predictivity", run, "--repeats", 2)
    assert shown.exit_code == 0, shown.output
    assert all(word in shown.stdout for word in ("sparse GP", "random forest", "latent means", "one-hot", "±"))
    assert "published" not in shown.stdout
    told = call("predictivity", run, "--repeats", 1, "--preset", "paper", "--json")
    answer = json.loads(told.stdout)
    assert answer == read_json(run / "predictivity.json")
    assert (answer["preset"], answer["repeats"], answer["settings"]["epochs"]) == ("paper", 1, 100)


def test_the_command_refuses_a_run_without_scores(own_runs: dict[str, Path]) -> None:
    refused = call("predictivity", own_runs["bare"])
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("Error: ")
    assert refused.stderr.count("\n") == 1
    assert "no graph has a score" in refused.stderr
    assert not (own_runs["bare"] / "predictivity.json").exists()


def test_the_papers_row_stands_beside_ours() -> None:
    assert _published("enas6", "svae") == [("sparse GP", "latent means, svae as published", "0.478", "0.873")]
    assert _published("asia", "my-own")[0][2:] == ("0.300", "0.959")
    assert _published("file:x", "dvae") == []
    assert _published("asia-bnlearn", "pace")[0][2:] == ("0.115", "0.994")
    rows = [row for table in published.PREDICTIVE.values() for row in table.values()]
    assert len(rows) == 16
    assert all(0 < row.rmse < 1 and 0 < row.r < 1 for row in rows)


@pytest.mark.slow
@pytest.mark.shared
def test_the_known_forest_on_the_papers_architectures(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    task = get("enas6")
    data = task.dataset()
    train, test = (one_hot_features(task.batch(part.dags), task.num_types) for part in (data.train, data.test))
    targets, truth = standardised(*(torch.tensor(part.scores, dtype=torch.float64) for part in (data.train, data.test)))
    means = forest.regressor()(train, targets, test, 0, lambda share: None)
    assert float((means - truth).square().mean().sqrt()) == pytest.approx(0.142, abs=0.003)
    assert pearson(means, truth) == pytest.approx(0.989, abs=0.001)


def test_baselines_can_be_measured_once_for_many_models(vae: VAE, result: Predictivity) -> None:
    alone = predictivity(vae, DATA, repeats=2, inducing=30, baselines=False)
    assert alone.rows == result.rows[:2]
    without_model = one_hot_predictivity(TASK, DATA, repeats=2, inducing=30)
    assert without_model.rows == result.rows[2:]
    assert without_model.model == "none"
