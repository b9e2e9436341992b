"""The report of one trained model: its settings, its curves, what was measured on it, and some of its DAGs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dvae.errors import FormatError, MissingError
from dvae.figures import Panel, read_series, save_dags, save_panels
from dvae.files import read_json, write_text
from dvae.models import VAE, load
from dvae.reports.document import Block, Document, Figure, Heading, Items, Paragraph, Table
from dvae.reports.html import to_html
from dvae.reports.numbers import Spread, estimate_words, share_words, time_words
from dvae.reports.study_section import searches
from dvae.training.loop import METRICS, TRAINING

PAGE, PICTURES = "report.html", "report"
RUN, EVALUATION, PREDICTIVITY = "run.toml", "evaluation.json", "predictivity.json"
SAMPLES = 12
SHARES = ("validity", "uniqueness", "novelty")


def report(run: Path) -> Path:
    """The page of a trained model's folder."""
    if not (run / METRICS).is_file() and not (run / "model.toml").is_file():
        raise MissingError(f"{run} holds no run: neither {METRICS} nor model.toml is there")
    write_text(run / PAGE, to_html(trained_model(run)))
    return run / PAGE


def trained_model(run: Path) -> Document:
    settings = _toml(run / RUN)
    blocks: list[Block] = []
    vae = _model(run)
    model = settings.get("model", {})
    name = vae.config.name if vae is not None else str(model.get("name", "model"))
    task = vae.task.name if vae is not None else str(settings.get("task", run.name))
    blocks += _evaluation(run)
    blocks += _predictivity(run)
    blocks += searches(run, run / PICTURES)
    if vae is not None:
        blocks += _samples(run, vae)
    blocks += _training(run)
    if settings:
        blocks += [Heading("Settings"), _settings(settings, vae)]
    return Document(f"{name} on {task}", tuple(blocks))


def _settings(settings: Mapping[str, Any], vae: VAE | None) -> Table:
    rows = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}.{part}", str(inner)) for part, inner in value.items()]
        else:
            rows.append((key, str(value)))
    if vae is not None:
        rows.append(("parameters", f"{vae.num_parameters():,}"))
    return Table("", ("setting", "value"), tuple(rows))


def _training(run: Path) -> list[Block]:
    if not (run / METRICS).is_file():
        return []
    blocks: list[Block] = [Heading("Training")]
    record = _json(run / TRAINING)
    if record:
        result, provenance = record["result"], record["record"]
        blocks.append(
            Paragraph(
                f"{result['epochs']} epochs in {time_words(result['seconds'])}, {result['graphs_per_second']:,.0f} "
                f"graphs a second on {record['device']}; ended: {result['ended']}. {provenance['date']}, torch "
                f"{provenance['versions']['torch']}."
            )
        )
    series = {one.name: one for one in read_series(run / METRICS, columns=["loss", "nll", "kl"])}
    positive = all(value > 0 for value in (*series["loss"].y, *series["nll"].y))
    panels = [
        Panel("Loss and reconstruction", "epoch", "nats a graph", (series["loss"], series["nll"]), log=positive),
        Panel("KL divergence", "epoch", "nats a graph", (series["kl"],)),
    ]
    blocks.append(_figure(run, "curves", "Training", "Means over the training graphs, epoch by epoch.", panels=panels))
    return blocks


def _evaluation(run: Path) -> list[Block]:
    found = _json(run / EVALUATION)
    if not found:
        return [Heading("Reconstruction and prior"), Paragraph(f"Not measured yet: dvae evaluate {run}")]
    rows = [
        (f"reconstruction, {name}", share_words([found[name]["share"]])) for name in ("posterior", "mean", "greedy")
    ]
    rows += [(f"prior {name}", share_words([found["prior"][name]])) for name in SHARES]
    table = Table("Test graphs, %", ("", "share (95% interval)"), tuple(rows), note=found["protocol"])
    losses = Items((f"-log p(G | z) at the mean: {estimate_words(found['nll'], 3)} nats",
                    f"KL divergence: {estimate_words(found['kl'], 2)} nats"))  # fmt: skip
    return [Heading("Reconstruction and prior"), table, losses]


def _predictivity(run: Path) -> list[Block]:
    found = _json(run / PREDICTIVITY)
    if not found:
        return []
    rows = tuple(
        (
            f"{row['regressor']} on {row['features']}",
            Spread(tuple(row["rmse"]["repeats"])).words(3),
            Spread(tuple(row["r"]["repeats"])).words(3),
        )
        for row in found["rows"]
    )
    table = Table("", ("", "RMSE", "Pearson's r"), rows, note=found["protocol"])
    return [Heading("Scores predicted from latents"), table]


def _samples(run: Path, vae: VAE) -> list[Block]:
    dags = vae.sample(SAMPLES, seed=0)
    valid = [vae.task.is_valid(dag) for dag in dags]
    titles = ["valid" if good else "not valid" for good in valid]
    svg = save_dags(run / PICTURES / "samples.svg", dags, titles=titles, columns=4)
    png = save_dags(run / PICTURES / "samples.png", dags, titles=titles, columns=4)
    caption = f"{SAMPLES} latents from the prior, where the training data lie, decoded once each: {sum(valid)} valid."
    return [Heading("Samples"), Figure("DAGs from the prior", svg, png, caption)]


def _figure(run: Path, name: str, title: str, caption: str, *, panels: list[Panel]) -> Figure:
    folder = run / PICTURES
    svg, png = (save_panels(folder / f"{name}{ending}", panels) for ending in (".svg", ".png"))
    return Figure(title, svg, png, caption)


def _model(run: Path) -> VAE | None:
    """The model, where it is there: a run that is still training has none yet."""
    try:
        return load(run)
    except MissingError:
        return None


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not TOML: {error}") from None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise FormatError.at(path, 1, "expected an object")
    return found
