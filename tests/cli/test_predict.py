"""`dvae predict`, and latents that must tell scores and properties."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path

import pytest
import torch

from dvae.dag import Dag, DagSet, Dataset, ScoredDag, write_jsonl
from dvae.errors import CheckpointError, ConfigError
from dvae.evaluation import prediction
from dvae.evaluation.prediction import Predictor, PropertyModel
from dvae.regression.boosting import BoostedTrees
from dvae.regression.column_features import ColumnFeatures
from dvae.regression.conformal import Calibration
from dvae.runs import Run
from dvae.runs.predictor import DESCRIPTION, TENSORS

from .conftest import TINY, Call, Refused


def amplifier(chance: random.Random) -> ScoredDag:
    """A chain of amps with sizes; its gain is their sum, and a third of all has a noise."""
    count = chance.randint(1, 3)
    sizes = [chance.randint(1, 9) for _ in range(count)]
    types = ("in", *["amp"] * count, "out")
    edges = tuple((node, node + 1) for node in range(count + 1))
    properties = {"gain": float(sum(sizes)), "ports": 2.0}
    if chance.random() < 0.5:
        properties["noise"] = 10.0 - sizes[0]
    dag = Dag(types, edges, {"size": (None, *map(float, sizes), None)}, {}, properties)
    return ScoredDag(dag, float(count))


@pytest.fixture(scope="module")
def circuits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(0)
    path = tmp_path_factory.mktemp("circuits") / "circuits.jsonl"
    write_jsonl(path, [amplifier(chance) for _ in range(300)])
    return path


@pytest.fixture(scope="module")
def trained(call: Call, circuits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "circuits"
    result = call("train", "--task", f"file:{circuits}", "--run", folder, "--epochs", 1, *TINY)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction.fit_predictor, "__kwdefaults__", {"seed": 0, "trees": 40, "progress": None})


def test_predictions_come_with_intervals_and_are_kept(
    call: Call, trained: Path, circuits: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    result = call("predict", folder, circuits, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["count"] == len(answer["predictions"]) == 300
    assert set(answer["properties"]) == {"gain", "noise", "score"}  # `ports` never differs
    assert answer["compared"]["gain"]["r"] > 0.9
    assert answer["compared"]["gain"]["within"] > 0.8
    first = answer["predictions"][0]["gain"]
    assert first["low"] < first["value"] < first["high"]
    assert (folder / DESCRIPTION).is_file()
    assert (folder / TENSORS).is_file()
    written = (folder / DESCRIPTION).stat().st_mtime_ns
    again = json.loads(call("predict", folder, circuits, "--json").stdout)
    assert again["predictions"] == answer["predictions"]
    assert (folder / DESCRIPTION).stat().st_mtime_ns == written
    wider = json.loads(call("predict", folder, circuits, "--json", "--level", 0.99, "--properties", "gain").stdout)
    assert set(wider["predictions"][0]) == {"gain"}
    assert wider["predictions"][0]["gain"]["high"] >= first["high"]


def test_half_of_a_new_predictor_is_not_taken_for_the_old_one(
    call: Call, trained: Path, circuits: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    words = ("predict", folder, circuits, "--json", "--properties")
    before = json.loads(call(*words, "gain").stdout)["predictions"]
    described = (folder / DESCRIPTION).read_bytes()
    assert call(*words, "noise", "--refit").exit_code == 0
    (folder / DESCRIPTION).write_bytes(described)  # as a kill between the two files leaves it
    assert json.loads(call(*words, "gain").stdout)["predictions"] == before


def test_a_predictor_that_is_damaged_is_one_sentence(
    call: Call, refused: Refused, trained: Path, circuits: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    assert call("predict", folder, circuits, "--properties", "gain").exit_code == 0
    described = json.loads((folder / DESCRIPTION).read_text())
    (folder / DESCRIPTION).write_text(json.dumps(described | {"properties": [{}]}))
    assert "remove both" in refused("predict", folder, circuits, "--properties", "gain")
    (folder / DESCRIPTION).write_text('{"format": 1}')  # fitted to nothing: fitted anew
    assert call("predict", folder, circuits, "--properties", "gain").exit_code == 0


def test_a_predictor_of_other_features_is_refused(trained: Path) -> None:
    opened = Run.open(trained)
    trees = BoostedTrees(0.0, torch.tensor([[3]]), torch.zeros(1, 1), torch.zeros(1, 2))
    calibration = Calibration(torch.zeros(0), torch.zeros(1, dtype=torch.int64), torch.zeros(1))
    gain = PropertyModel("boosted trees on plain features", trees, calibration, 0.0, 1.0, 1.0, 0.0)
    with pytest.raises(CheckpointError, match="of gain that was kept does not fit its model"):
        Predictor(ColumnFeatures(("nodes",)), {"gain": gain}).predict(opened.model(), opened.dataset.test.dags[:2])


def test_predictions_go_to_a_table(call: Call, trained: Path, circuits: Path, tmp_path: Path) -> None:
    out = tmp_path / "predicted.csv"
    result = call("predict", trained, circuits, "--properties", "gain", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "gain: " in result.stderr
    assert "within their intervals" in result.stderr
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert float(rows[0]["gain_low"]) < float(rows[0]["gain"]) < float(rows[0]["gain_high"])


def test_what_cannot_be_predicted_is_refused(refused: Refused, call: Call, trained: Path, circuits: Path) -> None:
    assert "no DAG has a property 'colour'" in refused("predict", trained, circuits, "--properties", "colour")
    assert "--level is 1" in refused("predict", trained, circuits, "--level", 1)
    assert "ends in .jsonl or .csv" in refused("predict", trained, circuits, "--out", "there.txt")


def test_too_few_known_values_are_refused(refused: Refused, run: Path, pipelines: Path) -> None:
    assert "predicting it needs at least 40" in refused("predict", run, pipelines, "--properties", "score")


def test_a_model_trained_on_has_a_new_predictor(trained: Path, circuits: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    opened = Run.open(folder)
    opened.predictor(["gain"])
    before = json.loads((folder / DESCRIPTION).read_text())["fitted_to"]
    Run.open(folder).fit(resume=True, epochs=2, progress=False)
    Run.open(folder).predictor(["gain"])
    assert json.loads((folder / DESCRIPTION).read_text())["fitted_to"]["model"] != before["model"]
    assert Run.open(folder).predict([item.dag for item in opened.dataset.test], ["gain"])[0].keys() == {"gain"}


def test_test_dags_are_never_seen(trained: Path) -> None:
    run = Run.open(trained)
    vae, data = run.model("cpu"), run.dataset
    lied = [ScoredDag(Dag(d.types, d.edges, d.node, d.edge, {"gain": -1e6}), -1e6) for d in data.test.dags]
    other = Dataset.of(data.name, data.train, data.validation, DagSet.of_items(lied))
    fitted = [prediction.fit_predictor(vae, each, ["gain"]) for each in (data, other)]
    assert fitted[0].values(vae, data.test.dags) == fitted[1].values(vae, data.test.dags)


def test_latents_tell_scores_and_properties_of_training_dags(call: Call, circuits: Path, tmp_path: Path) -> None:
    words = ("--task", f"file:{circuits}", "--epochs", 1, *TINY)
    result = call("train", *words, "--run", tmp_path / "both", "--with-scores", "--with-properties", "gain,noise")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "both")
    vae, train = run.model("cpu"), run.dataset.train
    assert vae.config.targets == ("score", "gain", "noise")
    assert vae.target_head is not None
    noise = train.properties["noise"]
    known = [float(torch.tensor(train.scores).mean()), float(train.properties["gain"].mean())]
    assert vae.target_head.center.tolist() == pytest.approx([*known, float(noise[noise.isfinite()].mean())], rel=1e-4)


def test_unknown_properties_are_named(refused: Refused, circuits: Path, tmp_path: Path) -> None:
    words = ("train", "--task", f"file:{circuits}", "--run", tmp_path / "none", "--preset", "paper", *TINY)
    assert "one of score, gain, ports, noise" in refused(*words, "--with-properties", "colour")
    assert "give names of properties" in refused(*words, "--with-properties", "gain,,noise")


def test_states_too_wide_for_a_linear_model_are_left_to_trees(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.open(trained)
    monkeypatch.setattr(prediction, "MAX_STATES", 1)
    monkeypatch.setattr(prediction.LinearModel, "fit", None)
    found = prediction.fit_predictor(run.model("cpu"), run.dataset, ["gain"])
    assert found.models["gain"].candidate in prediction.CANDIDATES[1:]


def test_nothing_to_predict_is_said(trained: Path) -> None:
    run = Run.open(trained)
    bare = Dataset.of("bare", [dag.plain() for dag in run.dataset.train.dags])
    with pytest.raises(ConfigError, match="nothing can be predicted"):
        prediction.fit_predictor(run.model("cpu"), bare)
