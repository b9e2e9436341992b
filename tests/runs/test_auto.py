"""Settings that follow from the data, the machine and the time there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvae import Dag, Run
from dvae.dag import random_dags, write_jsonl
from dvae.errors import ConfigError
from dvae.runs import auto
from dvae.tasks import get


@pytest.fixture
def file(tmp_path: Path) -> Path:
    dags = [
        Dag(("in", *("ab"[number >> place & 1] for place in range(4)), "out"), tuple((n, n + 1) for n in range(5)))
        for number in range(16)
    ]
    write_jsonl(tmp_path / "dags.jsonl", dags * 4)
    return tmp_path / "dags.jsonl"


def test_own_dags_get_settings_that_fit_them(file: Path, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", data=file, hidden=16)
    assert run.chosen is not None
    assert run.config.model.name == "pace"
    assert run.config.model.hidden == 16, "what is given stays"
    assert run.config.training.mutations > 0
    assert run.config.training.epochs is not None
    assert "about" in run.chosen.words()
    assert Run.open(tmp_path / "run").config == run.config


@pytest.mark.parametrize(("nodes", "places"), [(60, 8), (150, 6)])
def test_large_dags_get_latents_for_their_places(nodes: int, places: int, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "dags.jsonl", random_dags(4, nodes, seed=0))
    settings = {"epochs": 1, "hidden": 8}
    run = Run.create(tmp_path / "run", data=tmp_path / "dags.jsonl", **settings)
    model = run.config.model
    assert (model.name, model.hidden, getattr(model, "place_latents", None)) == ("layerwise", 8, places)
    assert model.latent == 64 + places * run.task.max_nodes
    plain = Run.create(tmp_path / "plain", data=tmp_path / "dags.jsonl", latent=16, **settings)
    assert (plain.config.model.latent, getattr(plain.config.model, "place_latents", None)) == (16, None)


def test_minutes_say_how_long_is_trained(file: Path, tmp_path: Path) -> None:
    short, long = (Run.create(tmp_path / name, data=file, minutes=m) for name, m in (("a", 0.05), ("b", 5.0)))
    assert short.config.training.time_budget == pytest.approx(3.0)
    assert (short.config.training.epochs or 0) < (long.config.training.epochs or 0)


def test_the_papers_tasks_keep_the_papers_settings(tmp_path: Path) -> None:
    paper = Run.create(tmp_path / "paper", "asia", size=60)
    assert (paper.chosen, paper.config.model.hidden, paper.config.training.schedule) == (None, 501, "plateau")
    auto = Run.create(tmp_path / "auto", "asia", size=60, preset="auto")
    assert (auto.config.model.name, auto.config.training.schedule) == ("dvae", "cosine")
    assert auto.config.training.mutations == 0
    assert (auto.config.model.latent, auto.config.model.head) == (28, "one-to-one"), (
        "a latent for each pair of variables"
    )
    original = Run.create(tmp_path / "original", "asia", size=60, preset="original")
    assert original.config.model.noise_scale == 0.01
    with pytest.raises(ConfigError, match="no preset 'papper'; did you mean 'paper'"):
        Run.create(tmp_path / "none", "asia", size=60, preset="papper")


def test_a_model_of_ones_own_choice_is_kept(file: Path, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", data=file, epochs=1, **{"model.name": "dvae"})
    assert (run.config.model.name, run.config.training.epochs) == ("dvae", 1)


def test_a_killed_training_has_a_model(file: Path, tmp_path: Path) -> None:
    """Its checkpoint holds weights and statistics, though no model was saved yet."""
    run = Run.create(tmp_path / "run", data=file, hidden=8, latent=4, epochs=2, **{"model.name": "dvae"})
    run.fit(progress=False)
    (tmp_path / "run" / "model.safetensors").unlink()
    vae = Run.open(tmp_path / "run").model()
    assert float(vae.latent_std.sub(1).abs().max()) > 0
    assert len(vae.sample(3, seed=0)) == 3


@pytest.mark.parametrize("head", ["linear", None])
def test_a_weight_goes_with_a_head(head: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "available_device", lambda _: "cuda")
    task = get("enas6")
    data = task.sampled_dataset(40, 0)
    chosen = auto.auto_settings(task, data, {"model.head": head}, device="cuda").settings
    assert ("model.head_weight" in chosen) == (head is not None)


@pytest.mark.parametrize(
    ("variables", "given", "latent", "head"),
    [(3, {}, 8, "one-to-one"), (8, {}, 28, "one-to-one"), (8, {"model.latent": 40}, 40, "one-to-one"),
     (8, {"model.latent": 20}, 20, "linear"), (12, {}, 56, "linear")],
)  # fmt: skip
def test_networks_have_a_latent_for_each_pair_of_variables(
    variables: int, given: dict[str, int], latent: int, head: str
) -> None:
    """Where there are not too many of them, and nothing else is asked for."""
    task = get("bn:" + ",".join(f"v{number}" for number in range(variables)))
    settings = {"model.hidden": 8, **given}
    chosen = {**settings, **auto.auto_settings(task, task.sampled_dataset(300, 0), settings).settings}
    assert (chosen.get("model.latent", 56), chosen["model.head"]) == (latent, head)


def test_latents_of_places_come_besides() -> None:
    given = {"model.name": "layerwise", "model.hidden": 8, "model.token_width": 8, "model.place_latents": 2}
    task = get("asia")
    chosen = auto.auto_settings(task, task.sampled_dataset(300, 0), given).settings
    assert (chosen["model.latent"], chosen["model.head"]) == (2 * task.max_nodes + 28, "one-to-one")
