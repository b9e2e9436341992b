"""Runs side by side, and lists of runs with their numbers."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from dvae import Run
from dvae.dag import Dag, ScoredDag, write_jsonl
from dvae.errors import ConfigError, MissingError
from dvae.runs import Number, NumberRow, RunSummary, Unreadable, compare, summaries, summary

OLD = Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz"
SMALL = {"hidden": 8, "latent": 4, "model.name": "dvae"}


def length(dag: Dag) -> float:
    """A score: how many nodes there are."""
    return float(len(dag.types))


def chain(number: int) -> ScoredDag:
    types = ("in", *(("a", "b", "c")[number // 3**place % 3] for place in range(1 + number % 4)), "out")
    return ScoredDag(Dag(types, tuple((node, node + 1) for node in range(len(types) - 1))), float(number))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the same DAGs; the first is evaluated and searched."""
    folder = tmp_path_factory.mktemp("runs")
    write_jsonl(folder / "dags.jsonl", [chain(number) for number in range(60)])
    for name, epochs in (("one", 1), ("two", 2)):
        run = Run.create(folder / name, data=folder / "dags.jsonl", epochs=epochs, **SMALL)
        run.fit(progress=False)
        run.evaluate(test_limit=3, prior_latents=20, prior_decodings=2, progress=False)
        if name == "one":
            run.search(score=length, budget=3, strategy="random", progress=False)
    return folder


def test_only_settings_that_differ_are_shown_and_all_numbers(runs: Path) -> None:
    found = compare([runs / "one", runs / "two"])
    assert [(row.name, row.values) for row in found.settings] == [("training.epochs", (1, 2))]
    assert [row.name for row in found.data] == ["task", "data"]
    numbers = {row.name: row for row in found.numbers}
    assert {"reconstruction, posterior", "prior validity", "prior uniqueness", "training: time"} <= numbers.keys()
    assert [number and number.value for number in numbers["training: epochs"].numbers] == [1, 2]
    (name,) = (name for name in numbers if name.startswith("search: highest"))
    best = Run.open(runs / "one").studies()[0].best_score
    assert numbers[name].numbers == (Number(best), None)
    assert numbers[name].words(1) == "–"
    assert found.notes == ()


def test_a_comparison_is_plain_values(runs: Path) -> None:
    found = compare([runs / "one", runs / "two"]).to_mapping()
    assert json.loads(json.dumps(found)) == found
    assert found["runs"] == [str(runs / "one"), str(runs / "two")]


def test_what_keeps_numbers_from_meaning_the_same_is_said(runs: Path) -> None:
    one = summary(runs / "one")
    assert one.evaluation is not None
    assert one.training is not None
    again = replace(one.training, date="9999-01-01T00:00:00+00:00")
    other = replace(
        one,
        name="other",
        settings={**one.settings, "fingerprint": "0"},
        training=again,
        evaluation=replace(one.evaluation, seed=5),
    )
    notes = compare([one, other]).notes
    assert len(notes) == 3
    assert "different data" in notes[0]
    assert "not evaluated in the same way" in notes[1]
    assert notes[-1] == "other was trained on after its evaluation: dvae evaluate other"
    assert "different tasks" in compare([one, replace(other, settings={**one.settings, "task": "x"})]).notes[0]


@pytest.mark.parametrize(
    ("higher", "numbers", "best"),
    [
        (True, (Number(0.5, 0.4, 0.6), Number(0.8, 0.7, 0.9)), 1),
        (True, (Number(0.5, 0.4, 0.6), Number(0.6, 0.55, 0.7)), None),  # their intervals overlap
        (False, (Number(1.0), Number(2.0), None), 0),
        (True, (Number(1.0), Number(1.0)), None),
        (True, (Number(1.0), None), None),
        (None, (Number(1.0), Number(2.0)), None),
    ],
)
def test_only_what_is_clearly_best_is_named(
    higher: bool | None, numbers: tuple[Number | None, ...], best: int | None
) -> None:
    assert NumberRow("x", "number", higher, numbers).best == best


def test_one_run_or_the_same_twice_is_refused(runs: Path) -> None:
    with pytest.raises(ConfigError, match="at least two runs, not 1"):
        compare([runs / "one"])
    with pytest.raises(ConfigError, match="is named twice"):
        compare([runs / "one", runs / "two" / ".." / "one"])
    with pytest.raises(MissingError, match="there is no such folder"):
        compare([runs / "one", runs / "three"])


def test_runs_below_a_folder_are_listed_and_a_damaged_one_stops_nobody(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "deep" / "runs")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.toml").write_text("task = 3\n")
    broken, one, two = summaries(tmp_path)
    assert isinstance(broken, Unreadable)
    assert "expected a string" in broken.error
    assert isinstance(one, RunSummary)
    assert (one.name, one.model) == (str(tmp_path / "deep" / "runs" / "one"), "dvae")
    assert isinstance(two, RunSummary)
    assert two.training is not None
    assert two.training.epochs == 2


def test_a_run_that_was_killed_tells_what_its_metrics_know(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "two", tmp_path / "run")
    (tmp_path / "run" / "training.json").unlink()
    found = summary(tmp_path / "run").training
    assert found is not None
    assert (found.epochs, found.ended) == (2, None)
    assert found.seconds is not None
    (tmp_path / "run" / "metrics.csv").unlink()
    assert summary(tmp_path / "run").training is None


def test_runs_of_version_0_1_0_have_their_numbers(tmp_path: Path) -> None:
    with tarfile.open(OLD) as tar:
        tar.extractall(tmp_path, filter="data")
    asia, generic = summaries(tmp_path)
    assert isinstance(asia, RunSummary)
    assert asia.evaluation is not None
    assert isinstance(generic, RunSummary)
    assert [(study.score, study.best) for study in generic.studies] == [("mine:score", 9.0)]
