"""The page of one run: its settings, its curves, what was measured on it, its searches, and some of its DAGs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from dvae.config import load_toml
from dvae.dag import DagSet
from dvae.errors import FormatError, MissingError
from dvae.evaluation import Evaluation, Predictivity
from dvae.evaluation.prior import calibrated
from dvae.figures import DagStyle, Panel, Series, read_series, save_dags, save_panels, task_style
from dvae.files import read_json, write_text
from dvae.models import VAE, load
from dvae.reports.document import Block, Document, Figure, Heading, Items, Paragraph, Table
from dvae.reports.html import to_html
from dvae.reports.latent_map import latent_map
from dvae.reports.numbers import Spread, estimate_words, local_time, share_words, time_words
from dvae.reports.study_section import StudyFacts, one_score, search_groups, study_section, top_of
from dvae.reports.summary import summarize
from dvae.studies import Study, studies_of
from dvae.training.loop import METRICS, TRAINING

PAGE, PICTURES = "report.html", "report"
RUN, EVALUATION, PREDICTIVITY = "run.toml", "evaluation.json", "predictivity.json"
SAMPLES = 12
LOSSES = ("loss", "nll", "validation_loss")


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run; whatever is missing is left out of its page."""

    name: str  # of the run, as it stands in commands
    pictures: Path  # folder
    settings: Mapping[str, Any] = field(default_factory=dict)
    metrics: Path | None = None  # metrics.csv
    training: Mapping[str, Any] = field(default_factory=dict)  # training.json
    evaluation: Evaluation | None = None
    predictivity: Predictivity | None = None
    studies: Sequence[Study] = ()
    model: VAE | None = None
    known: DagSet | None = None  # the data, for the map

    @property
    def style(self) -> DagStyle | None:
        """How DAGs of the run's task look in every picture."""
        return None if self.model is None else task_style(self.model.task)

    @cached_property
    def searches(self) -> list[StudyFacts]:
        """What is known of the studies for one score; all their trials are read for it."""
        return one_score(self.studies)

    @property
    def searched(self) -> bool:
        """Whether anything was tried in any study, for one score or several."""
        return any(facts.trials for facts in self.searches) or any(study.trials for study in self.studies)


def report(run: Path, known: DagSet | None = None) -> Path:
    """Writes the page of a run's folder, and says where it is; with its data, the page has a map of them."""
    if not (run / METRICS).is_file() and not (run / "model.toml").is_file():
        raise MissingError(f"{run} holds no run: neither {METRICS} nor model.toml is there")
    write_text(run / PAGE, to_html(run_page(replace(folder_facts(run), known=known))))
    return run / PAGE


def folder_facts(run: Path) -> RunFacts:
    """What a run's folder holds."""
    evaluation, predictivity = _json(run / EVALUATION), _json(run / PREDICTIVITY)
    return RunFacts(
        name=str(run),
        pictures=run / PICTURES,
        settings=_toml(run / RUN),
        metrics=run / METRICS if (run / METRICS).is_file() else None,
        training=_json(run / TRAINING),
        evaluation=Evaluation.from_mapping(evaluation, str(run / EVALUATION)) if evaluation else None,
        predictivity=Predictivity.from_mapping(predictivity, str(run / PREDICTIVITY)) if predictivity else None,
        studies=studies_of(run),
        model=_model(run),
    )


def run_page(facts: RunFacts) -> Document:
    """The page as a value; its pictures are written to `facts.pictures`."""
    blocks: list[Block] = [*_summary(facts), *_map(facts), *_evaluation(facts), *_predictivity(facts.predictivity)]
    blocks += study_section(facts.studies, facts.pictures, facts.style, facts.searches)
    if facts.model is not None:
        blocks += _samples(facts, facts.model)
    blocks += _training(facts)
    if facts.settings:
        blocks += [Heading("Settings"), _settings(facts)]
    made = f"{facts.name}, as of {local_time(datetime.now(UTC))}"
    return Document(_title(facts), tuple(blocks), made)


def _summary(facts: RunFacts) -> list[Block]:
    """Nothing for a run of which nothing is known."""
    if facts.model is None and not facts.training and not facts.studies:
        return []
    found = summarize(
        facts.name, facts.pictures, model=facts.model, evaluation=facts.evaluation, searches=facts.searches,
        searched=facts.searched, known=facts.known, style=facts.style,
    )  # fmt: skip
    return [found]


def _map(facts: RunFacts) -> list[Block]:
    if facts.model is None or facts.known is None or facts.style is None:
        return []
    groups = search_groups(facts.searches)
    top = [(trial.dag, trial.score) for trial in top_of(groups[0]) if trial.score is not None] if groups else []
    fitting = [(dag, score) for dag, score in top if facts.model.task.is_valid(dag)]
    found = latent_map(facts.model, facts.known, fitting, facts.style)
    return [] if found is None else [Heading("Map"), found]


def _title(facts: RunFacts) -> str:
    if facts.model is not None:
        return f"{facts.model.config.name} on {_short(facts.model.task.name)}"
    model = facts.settings.get("model")
    name = model.get("name", "model") if isinstance(model, Mapping) else "model"
    return f"{name} on {_short(str(facts.settings['task'])) if 'task' in facts.settings else facts.name}"


def _short(task: str) -> str:
    """The name of a task without the folders of its file and what follows a question mark."""
    return task.partition("?")[0].split("/")[-1]


def _settings(facts: RunFacts) -> Table:
    rows = []
    for key, value in facts.settings.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}.{part}", str(inner)) for part, inner in value.items()]
        else:
            rows.append((key, str(value)))
    if facts.model is not None:
        rows.append(("parameters", f"{facts.model.num_parameters():,}"))
    return Table("", ("setting", "value"), tuple(rows))


def _evaluation(facts: RunFacts) -> list[Block]:
    heading, found = Heading("Reconstruction and prior"), facts.evaluation
    if found is None:
        return [heading, Paragraph(f"Not measured yet: dvae evaluate {facts.name}")]
    plain = {"edit distance, greedy": "edits", "negative log-likelihood at the mean": "nats", "KL divergence": "nats"}
    shares = tuple((name, share_words([value])) for name, value in found.rows() if name not in plain)
    others = tuple(f"{name}: {estimate_words(value, 3)} {plain[name]}" for name, value in found.rows() if name in plain)
    table = Table("Test graphs, %", ("", "share (95% interval)"), shares, note=found.protocol)
    return [heading, table, Items(others)]


def _predictivity(found: Predictivity | None) -> list[Block]:
    if found is None:
        return []
    rows = tuple(
        (f"{row.regressor} on {row.features}", Spread(row.rmse).words(3), Spread(row.r).words(3)) for row in found.rows
    )
    table = Table("", ("", "RMSE", "Pearson's r"), rows, note=found.protocol)
    return [Heading("Scores predicted from latents"), table]


def _samples(facts: RunFacts, vae: VAE) -> list[Block]:
    """DAGs from the prior that validity is measured on, judged as they are there."""
    heading = Heading("Samples")
    if not calibrated(vae):
        words = (
            "No samples are shown: this model does not know where its training data lie, since its training was "
            "interrupted. Resume it first."
        )
        return [heading, Paragraph(words, warning=True)]
    batch = vae.decode_batch(vae.prior(SAMPLES, seed=0), seed=0)
    dags, valid = vae.task.unbatch(batch), vae.task.valid(batch).tolist()
    titles = ["valid" if good else "not valid" for good in valid]
    svg, png = (
        save_dags(facts.pictures / f"samples{kind}", dags, titles=titles, columns=4, style=facts.style)
        for kind in (".svg", ".png")
    )
    caption = f"{SAMPLES} latents from the prior, where the training data lie, decoded once each: {sum(valid)} valid"
    if facts.evaluation is not None and not facts.evaluation.prior.rules:
        prior = facts.evaluation.prior
        caption += f" (of {prior.latents * prior.decodings:,} measured: {prior.validity.value:.2%})"
    return [heading, Figure("DAGs from the prior", svg, png, caption + ".", "drawing")]


def _training(facts: RunFacts) -> list[Block]:
    panels = _curves(facts.metrics)
    words = _training_words(facts.training)
    if not panels and not words:
        return []
    blocks: list[Block] = [Heading("Training")]
    if words:
        blocks.append(Paragraph(words))
    if panels:
        svg, png = (save_panels(facts.pictures / f"curves{kind}", panels) for kind in (".svg", ".png"))
        caption = "Means over the training graphs, epoch by epoch"
        caption += "; validation is measured on graphs kept back." if _validated(panels) else "."
        blocks.append(Figure("Training", svg, png, caption))
    return blocks


def _curves(metrics: Path | None) -> list[Panel]:
    """The losses, those of validation graphs among them where they were measured."""
    if metrics is None or metrics.read_bytes().count(b"\n") < 2:  # stopped before an epoch ended
        return []
    series = {one.name: one for one in read_series(metrics)}
    losses = tuple(series[name] for name in LOSSES if name in series)
    panels = []
    if losses:
        positive = all(value > 0 for line in losses for value in line.y)
        panels.append(Panel("Loss and reconstruction", "epoch", "nats per graph", losses, log=positive))
    if "kl" in series:
        panels.append(Panel("KL divergence", "epoch", "nats per graph", (series["kl"],)))
    share = series.get("validation_reconstruction")
    if share is not None:
        percent = Series("validation", share.x, tuple(100 * value for value in share.y))
        panels.append(Panel("Validation graphs that come back", "epoch", "%", (percent,)))
    return panels


def _validated(panels: Sequence[Panel]) -> bool:
    return any("validation" in line.name for panel in panels for line in panel.series)


def _training_words(record: Mapping[str, Any]) -> str:
    """How training went; nothing for a record that an older or newer version wrote in another way."""
    try:
        result, provenance = record["result"], record["record"]
        return (
            f"{result['epochs']} epochs in {time_words(result['seconds'])}, {result['graphs_per_second']:,.0f} graphs "
            f"per second on {record['device']}; ended: {result['ended']}. {local_time(str(provenance['date']))}, torch "
            f"{provenance['versions']['torch']}."
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""


def _model(run: Path) -> VAE | None:
    """The model, where it is there: a run that is still training has none yet."""
    try:
        return load(run)
    except MissingError:
        return None


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    return load_toml(path)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    found = read_json(path)
    if not isinstance(found, dict):
        raise FormatError.at(path, 1, "expected an object")
    return found
