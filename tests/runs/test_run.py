"""One folder for Python and the command line."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
import torch

import dvae
from dvae import Dag, Run
from dvae.dag import DagSet, Dataset, ScoredDag, load_jsonl, write_jsonl
from dvae.errors import CheckpointError, ConfigError, MissingError
from dvae.runs.config import FORMAT
from dvae.tasks import BayesNetTask, get

FIXTURE = Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz"
SMALL = {"hidden": 8, "latent": 4, "epochs": 1}


def chains(count: int) -> list[ScoredDag]:
    """Distinct DAGs of 3 to 6 nodes with scores."""
    found = []
    for number in range(count):
        middle = [("a", "b", "c")[number // 3**place % 3] for place in range(1 + number % 4)]
        types = ("in", *middle, "out")
        edges = tuple((node, node + 1) for node in range(len(types) - 1))
        found.append(ScoredDag(Dag(types, edges), float(number)))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "dags.jsonl", chains(60))
    return tmp_path / "dags.jsonl"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Two runs that version 0.1.0 wrote."""
    with tarfile.open(FIXTURE) as tar:
        tar.extractall(tmp_path / "old", filter="data")
    return tmp_path / "old"


@pytest.mark.parametrize("head", ["linear", "one-to-one"])
def test_networks_of_version_0_2_0_are_loaded_resumed_and_started_from(head: str, tmp_path: Path) -> None:
    """Their heads had other features, which their task.json does not name."""
    known = get("asia")
    old = BayesNetTask("asia", known.variables, known.table, features="positions")
    settings = {"size": 60, "hidden": 8, "latent": 50, "head": head, "epochs": 1, "batch_size": 16}
    Run.create(tmp_path / "old", old, preset="paper", **settings).fit(progress=False)
    spec = json.loads((tmp_path / "old" / "task.json").read_text())
    assert spec.pop("features") == "positions"
    (tmp_path / "old" / "task.json").write_text(json.dumps(spec))
    assert len(dvae.load(tmp_path / "old").sample(3, seed=0)) == 3
    for task in (None, "asia"):
        run = Run.create(tmp_path / f"from {task}", task, start=tmp_path / "old", epochs=1, size=60)
        assert run.task.features(run.task.batch([])).shape[1] == old.features(old.batch([])).shape[1]
        run.fit(progress=False)
    resumed = Run.open(tmp_path / "old")
    resumed.fit(resume=True, epochs=2, progress=False)
    assert resumed.task.spec()["features"] == "positions"


def test_a_run_is_created_trained_and_opened_again(file: Path, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", data=file, **SMALL)
    run.fit(progress=False)
    again = Run.open(tmp_path / "run")
    assert again.config == run.config
    assert again.dataset.fingerprint == run.dataset.fingerprint
    assert len(again.sample(3, seed=0)) == 3
    assert again.encode([chains(1)[0].dag]).mean.shape == (1, 4)
    assert again.evaluate(test_limit=3, prior_latents=5, progress=False).test_graphs == 3
    assert (tmp_path / "run" / "evaluation.json").is_file()
    assert f"format = {FORMAT}" in (tmp_path / "run" / "run.toml").read_text()


def test_what_fit_leaves_is_a_run(tmp_path: Path) -> None:
    """The README's own lines."""
    task = dvae.tasks.get("asia")
    data = task.dataset(size=60, seed=3)
    vae = dvae.models.build("dvae", task, hidden=8, latent=4, seed=0)
    dvae.fit(vae, data.train, epochs=1, run=tmp_path / "run", progress=False)
    run = Run.open(tmp_path / "run")
    assert (run.config.task, run.config.size, run.config.data_seed) == ("asia", 60, 3)
    assert run.dataset.everything == data.everything
    assert run.model().config == vae.config
    result = run.fit(resume=True, epochs=2, progress=False)
    assert result.epochs == 2


def test_dags_given_in_python_are_kept_in_the_folder(tmp_path: Path) -> None:
    items = chains(30)
    data = Dataset.of("mine", DagSet.of_items(items[:20]), [], DagSet.of_items(items[20:]))
    task = dvae.tasks.GenericTask.infer("mine", [item.dag for item in items])
    vae = dvae.models.build("dvae", task, hidden=8, latent=4, seed=0)
    dvae.fit(vae, data, epochs=1, run=tmp_path / "run", progress=False)
    again = Run.open(tmp_path / "run").dataset
    assert (again.train, again.test) == (data.train, data.test)


def test_a_run_is_never_overwritten(file: Path, tmp_path: Path) -> None:
    Run.create(tmp_path / "run", data=file, **SMALL)
    with pytest.raises(ConfigError, match="already holds a run"):
        Run.create(tmp_path / "run", data=file, **SMALL)


def test_a_training_that_cannot_start_leaves_nothing(file: Path, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", data=file, **SMALL)
    with pytest.raises(dvae.DvaeError):
        run.fit(device="nowhere", progress=False)
    assert not (tmp_path / "run").exists()


def test_moved_data_are_found_by_their_fingerprint(file: Path, tmp_path: Path) -> None:
    Run.create(tmp_path / "run", data=file, **SMALL).fit(progress=False)
    moved = file.rename(tmp_path / "elsewhere.jsonl")
    with pytest.raises(MissingError, match=r"dags\.jsonl"):
        _ = Run.open(tmp_path / "run").dataset
    assert len(Run.open(tmp_path / "run", data=moved).dataset) == 60
    assert len(Run.open(tmp_path / "run").dataset) == 60, "told once, the run knows"
    write_jsonl(tmp_path / "others.jsonl", chains(59))
    with pytest.raises(ConfigError, match=r"is not what .* was trained on"):
        Run.open(tmp_path / "run", data=tmp_path / "others.jsonl")


def test_a_grown_file_starts_a_new_run_from_the_old_weights(file: Path, tmp_path: Path) -> None:
    old = Run.create(tmp_path / "old", data=file, **SMALL)
    old.fit(progress=False)
    write_jsonl(file, chains(80))
    with pytest.raises(ConfigError, match=r"--from"):
        _ = Run.open(tmp_path / "old").dataset
    new = Run.create(tmp_path / "new", data=file, start=tmp_path / "old", epochs=1)
    weights = dict(old.model().named_parameters())
    assert all(torch.equal(value, weights[name]) for name, value in new.new_model().named_parameters())
    new.fit(progress=False)
    assert Run.open(tmp_path / "new").config.started_from == str(tmp_path / "old")
    with pytest.raises(ConfigError, match="hidden"):
        Run.create(tmp_path / "third", data=file, start=tmp_path / "old", hidden=16)


def test_parts_named_in_the_file_are_kept(tmp_path: Path) -> None:
    items = [
        ScoredDag(item.dag, item.score, ("train", "valid", "test")[number % 3])
        for number, item in enumerate(chains(30))
    ]
    write_jsonl(tmp_path / "dags.jsonl", items)
    assert load_jsonl(tmp_path / "dags.jsonl") == items
    data = Run.create(tmp_path / "run", data=tmp_path / "dags.jsonl", **SMALL).dataset
    assert [len(part) for part in (data.train, data.validation, data.test)] == [10, 10, 10]
    assert data.train.dags == tuple(item.dag for item in items[::3])


@pytest.mark.parametrize("name", ["asia", "generic"])
def test_a_run_of_version_0_1_0_opens_and_goes_on(old: Path, name: str) -> None:
    run = Run.open(old / name, data=old / "dags.jsonl" if name == "generic" else None)
    assert run.config.model.hidden == 8
    assert len(run.dataset) == {"asia": 80, "generic": 60}[name]
    assert len(run.sample(3, seed=0)) == 3
    assert run.fit(resume=True, epochs=3, progress=False).epochs == 3
    assert len(run.model().encode(run.dataset.test.dags).mean) == len(run.dataset.test)


def test_a_study_of_version_0_1_0_is_read_and_goes_on(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(old))
    run = Run.open(old / "generic", data=old / "dags.jsonl")
    (study,) = run.studies()
    assert len(study.trials) == 12
    assert study.best_score == 9.0


def test_a_newer_format_is_refused(file: Path, tmp_path: Path) -> None:
    Run.create(tmp_path / "run", data=file, **SMALL)
    path = tmp_path / "run" / "run.toml"
    path.write_text(path.read_text().replace(f"format = {FORMAT}", "format = 99"))
    with pytest.raises(dvae.DvaeError, match="newer version"):
        Run.open(tmp_path / "run")


def test_training_goes_on_in_python_only_as_it_was_begun(tmp_path: Path) -> None:
    task = dvae.tasks.get("asia")
    data = task.dataset(size=60)

    def resumed(dags: Dataset = data, **settings: float) -> int:
        vae = dvae.models.build("dvae", task, hidden=8, latent=4, seed=0)
        return dvae.fit(vae, dags, run=tmp_path / "run", resume=True, progress=False, **settings).epochs

    assert resumed(epochs=1) == 1
    assert resumed(epochs=2) == 2
    with pytest.raises(ConfigError, match="learning_rate"):
        resumed(epochs=3, learning_rate=0.5)
    with pytest.raises(CheckpointError, match="data"):
        resumed(task.dataset(size=60, seed=1), epochs=3)
