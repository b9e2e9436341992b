"""The page of a run: made from whatever is there, and consistent with itself."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from dvae.errors import FormatError, MissingError
from dvae.evaluation import evaluate, prior_samples
from dvae.figures import Panel
from dvae.files import write_json
from dvae.models import build, load
from dvae.reports import report
from dvae.reports.document import Block, Figure, Heading, Items, Paragraph, Table
from dvae.reports.run_page import RunFacts, _curves, folder_facts, run_page
from dvae.tasks import EnasTask
from dvae.training import fit

REQUESTS = re.compile(
    r"""(src|href)\s*=\s*["'](?!data:|#)|url\(\s*["']?(?!#)|@import|<script[^>]*\ssrc|<link|<iframe"""
)
TASK = EnasTask(3)
DATA = TASK.dataset(size=40)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    vae = build("dvae", TASK, hidden=8, latent=3)
    fit(vae, DATA.train.dags, epochs=2, run=run, device="cpu", progress=False)
    return run


def headings(blocks: tuple[Block, ...]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Heading)]


def test_a_trained_run_has_a_page_that_needs_nothing_else(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "copy"
    shutil.copytree(trained, run)
    text = report(run).read_text()
    assert REQUESTS.search(text) is None
    assert "dvae on enas3" in text
    assert "Not measured yet" in text
    assert text.count("<figcaption>") == 2


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="holds no run"):
        report(tmp_path)


def test_a_run_of_which_nothing_is_known_still_has_a_page(tmp_path: Path) -> None:
    page = run_page(RunFacts("runs/new", tmp_path))
    assert headings(page.blocks) == ["Reconstruction and prior"]
    assert page.title == "model on runs/new"
    told = run_page(RunFacts("runs/new", tmp_path, settings={"task": "asia", "model": {"name": "svae"}}))
    assert told.title == "svae on asia"
    assert not list(tmp_path.iterdir())


def test_a_measured_run_shows_shares_edits_and_nats(trained: Path, tmp_path: Path) -> None:
    sizes = {"encodings": 1, "decodings": 2, "prior_latents": 20, "prior_decodings": 1}
    measured = evaluate(load(trained), DATA, progress=False, **sizes)
    facts = dataclasses.replace(folder_facts(trained), pictures=tmp_path, evaluation=measured)
    page = run_page(facts)
    table = next(block for block in page.blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows][3:6] == [
        "node accuracy, greedy",
        "type accuracy, greedy",
        "edge accuracy, greedy",
    ]
    items = next(block for block in page.blocks if isinstance(block, Items))
    assert [line.split()[-1] for line in items.lines] == ["edits", "nats", "nats"]
    figure = next(block for block in page.blocks if isinstance(block, Figure) and "prior" in block.title)
    assert f"of 20 measured: {measured.prior.validity.value:.2%}" in figure.caption


def test_samples_are_judged_as_prior_validity_is(trained: Path, tmp_path: Path) -> None:
    vae = load(trained)
    measured = prior_samples(vae, DATA.train.dags, latents=12, decodings=1, progress=False)
    page = run_page(RunFacts("run", tmp_path, model=vae))
    figure = next(block for block in page.blocks if isinstance(block, Figure))
    batch = vae.decode_batch(vae.prior(12, seed=0), seed=0)
    assert f"once each: {int(TASK.valid(batch).sum())} valid." in figure.caption
    assert measured.statistics == "stored"  # the same prior


def test_a_model_that_does_not_know_its_data_shows_no_samples(tmp_path: Path) -> None:
    page = run_page(RunFacts("run", tmp_path, model=build("dvae", TASK, hidden=8, latent=3)))
    assert [block.text for block in page.blocks if isinstance(block, Paragraph) and block.warning] != []
    assert not any(isinstance(block, Figure) for block in page.blocks)


def lines(panel: Panel) -> list[str]:
    return [series.name for series in panel.series]


def test_validation_is_drawn_where_it_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(
        "epoch,loss,nll,kl,validation_loss,validation_reconstruction\n1,3,2,5,,\n2,2.5,2,5,2.7,0.5\n3,2,1,5,,\n"
    )
    losses, kl, share = _curves(path)
    assert (lines(losses), lines(kl)) == (["loss", "nll", "validation_loss"], ["kl"])
    assert losses.series[2].x == (2.0,)
    assert share.series[0].y == (50.0,)
    path.write_text("epoch,loss,nll,kl\n1,3,-2,5\n")
    losses, kl = _curves(path)
    assert not losses.log


def test_metrics_without_an_epoch_are_no_curves_and_broken_ones_are_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,loss\n")
    assert _curves(path) == _curves(None) == []
    path.write_text("epoch,loss\n1,x\n")
    with pytest.raises(FormatError, match="2: 'x' is not a number"):
        _curves(path)


def test_a_broken_evaluation_is_named_by_its_file(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "copy"
    shutil.copytree(trained, run)
    write_json(run / "evaluation.json", {"model": "dvae"})
    with pytest.raises(FormatError, match=r"evaluation\.json: the setting 'task' is missing"):
        report(run)


@pytest.mark.parametrize("name", ["asia", "generic"])
def test_runs_of_version_0_1_0_have_pages(name: str, tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    page = run_page(folder_facts(tmp_path / name))
    found = set(headings(page.blocks))
    assert {"Reconstruction and prior", "Samples", "Training", "Settings"} <= found
    assert ("Search" in found) == (name == "generic")
