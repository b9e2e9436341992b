"""The figures of the paper, drawn from the results that are there. Each is a value first, then an SVG and a PNG."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from dvae.dag import Dag
from dvae.evaluation import edit_distance, published
from dvae.figures import (
    Arrange,
    Panel,
    ScoreMap,
    Series,
    column,
    compact,
    ring,
    save_dags,
    save_panels,
    save_score_maps,
    style_of,
)
from dvae.paper.latent_figures import Circle, Cost, Grid, Maps
from dvae.paper.plan import RANDOM_MODEL
from dvae.paper.results import SPACE_TITLES, SPACES, Results, Space
from dvae.paper.searches import STRATEGY_TITLES, Round
from dvae.paper.training import TITLES
from dvae.reports.document import Figure

ANCHOR = "#fef3c7"  # the card of the point that a picture starts from
INVALID = "#fee2e2"  # the card of a DAG that breaks the rules of its task
TOP = 5  # paper, figures of section 4.3

Save = Callable[[Path], Path]


def figures(results: Results, folder: Path) -> list[Figure]:
    """All figures whose results are there, written to `folder`."""
    found: list[Figure | None] = []
    for space in SPACES:
        found += [search_rounds(results, space, folder), top_dags(results, space, folder)]
    for model in results.preset.enas.pictures.models:
        found.append(circle(results, model, folder))
    for space in SPACES:
        found += [grid(results, space, model, folder) for model in results.experiment(space).pictures.models]
        found.append(score_maps(results, space, folder))
    for space in SPACES:
        found.append(training_curves(results, space, folder))
    found.append(cost(results, folder))
    return [figure for figure in found if figure is not None]


def search_rounds(results: Results, space: Space, folder: Path) -> Figure | None:
    """Mean of each round, and the best so far, over trials (paper, figures of appendix F)."""
    size = results.experiment(space).search
    means, bests = [], []
    for model in size.models:
        for strategy in size.strategies:
            if strategy == "random" and model != RANDOM_MODEL:
                continue
            trials = [one.rounds for one in results.searches(space, model, strategy) if one.rounds]
            if trials:
                name = f"{TITLES[model]}, {STRATEGY_TITLES.get(strategy, strategy)}"
                means.append(_over_trials(name, [_round_means(rounds) for rounds in trials]))
                bests.append(_over_trials(name, [_best_so_far(rounds) for rounds in trials]))
    if not means:
        return None
    kind = _score_name(space)
    panels = [
        Panel("Mean of each round", "round", kind, tuple(means)),
        Panel("Best so far", "round", kind, tuple(bests)),
    ]
    trials_made = max(len(results.searches(space, model, s)) for model in size.models for s in size.strategies)
    caption = (
        f"Rounds of {size.batch} DAGs, {trials_made} trials; lines are means over trials, bands one deviation. "
        "A search that learns lifts the left curve above random search, and the right one with it. "
    )
    landmarks = results.landmarks(space)
    if landmarks is not None:
        digits = 2 if space == "bn" else 4
        caption += f"Best of the training data: {landmarks.best_training:.{digits}f}"
        caption += "." if landmarks.optimum is None else f"; exact optimum: {landmarks.optimum:.2f}."
    return _saved(
        folder,
        f"search_{space}",
        f"Bayesian optimisation against random search, {SPACE_TITLES[space]}",
        caption,
        lambda path: save_panels(path, panels),
    )


def top_dags(results: Results, space: Space, folder: Path) -> Figure | None:
    """The five best DAGs that each model found, over all trials that learn; of random search where there are none."""
    size = results.experiment(space).search
    digits = 2 if space == "bn" else 4
    dags: list[Dag] = []
    titles: list[str] = []
    told = []
    for model in size.models:
        made = [strategy for strategy in size.strategies if results.searches(space, model, strategy)]
        used = [strategy for strategy in made if strategy != "random"] or made
        if not used:
            continue
        told.append(f"{TITLES[model]}: {' and '.join(STRATEGY_TITLES.get(strategy, strategy) for strategy in used)}")
        best: dict[Dag, float] = {}
        for one in (trial for strategy in used for trial in results.searches(space, model, strategy)):
            best.update((item.dag, item.score) for item in one.top if item.score is not None)
        chosen = sorted(best.items(), key=lambda pair: -pair[1])[:TOP]
        chosen += chosen[-1:] * (TOP - len(chosen))  # a row stays a row where fewer were found
        dags += [dag for dag, _ in chosen]
        titles += [f"{TITLES[model]} {place}: {score:.{digits}f}" for place, (_, score) in enumerate(chosen, start=1)]
    if not dags:
        return None
    kind = "BIC, higher is better" if space == "bn" else "surrogate accuracy (of a random forest, not of training)"
    return _saved(
        folder,
        f"top_{space}",
        f"The best {SPACE_TITLES[space]} found",
        f"The {TOP} best DAGs of each model over all trials ({'; '.join(told)}), with their {kind}. "
        "Few changes from one to the next mean that the search has settled in one region.",
        lambda path: save_dags(path, dags, titles=titles, columns=TOP, style=style_of(dags)),
    )


def circle(results: Results, model: str, folder: Path) -> Figure | None:
    """DAGs along a great circle (paper, section 4.4)."""
    experiment = results.preset.enas
    train = results.train("enas", model)
    found = results.store.result(Circle(train, experiment.scored_by, experiment.pictures.circle_points))
    if found is None:
        return None
    dags = found.dags
    count = len(dags)
    titles = [f"{360 * place / count:.0f}°" for place in range(count)]
    marks = {place: INVALID for place, good in enumerate(found.valid) if not good} | {0: ANCHOR}
    changes = sum(edit_distance(a, b) > 0 for a, b in zip(dags, dags[1:] + dags[:1], strict=True))
    return _saved(
        folder,
        f"circle_{model}",
        f"{TITLES[model]}: decoded along a great circle",
        f"From the latent of a straight network without skips (yellow; {_came_back(dags[0], found.start)}) once "
        f"around the sphere, row by row, {count} points, decoded greedily. {changes} of {count} steps change the DAG, "
        f"{_distinct(dags)} DAGs are different, {sum(found.valid)} valid (red: not). A smooth space changes a type "
        "or an edge at a time.",
        lambda path: save_dags(
            path, dags, titles=titles, columns=7, style=compact(style_of(dags)), marks=marks, arrange=_arranged(dags)
        ),
    )


def grid(results: Results, space: Space, model: str, folder: Path) -> Figure | None:
    """DAGs on a square of the latent space (paper, appendix F)."""
    experiment = results.experiment(space)
    size = experiment.pictures
    train = results.train(space, model)
    found = results.store.result(Grid(train, experiment.scored_by, size.grid_side, size.grid_extent))
    if found is None or found.side is None:
        return None
    dags, side = found.dags, found.side
    middle = side // 2 * side + side // 2
    marks = {place: INVALID for place, good in enumerate(found.valid) if not good}
    if side % 2:
        marks[middle] = ANCHOR
    return _saved(
        folder,
        f"grid_{space}_{model}",
        f"{TITLES[model]}: a plane of {SPACE_TITLES[space]}",
        f"Around a random test DAG (yellow; {_came_back(dags[middle], found.start)}) along two orthogonal "
        f"directions, neighbours {found.spacing:.2g} typical distances of two training latents apart, decoded "
        f"greedily. {_distinct(dags)} of {len(dags)} DAGs are different, {sum(found.valid)} valid (red: not). In a "
        "smooth space neighbours differ little.",
        lambda path: save_dags(
            path, dags, columns=side, style=compact(style_of(dags)), marks=marks, arrange=_arranged(dags)
        ),
    )


def score_maps(results: Results, space: Space, folder: Path) -> Figure | None:
    """Scores over the plane of the first two principal components (paper, section 4.4)."""
    experiment = results.experiment(space)
    panels: dict[str, list[ScoreMap]] = {"the paper's square": [], "all the data": []}
    words = []
    for model in experiment.pictures.models:
        train = results.train(space, model)
        found = results.store.result(Maps(train, experiment.scored_by, experiment.pictures.map_side))
        if found is None:
            continue
        for (what, maps), one in zip(panels.items(), found.maps, strict=True):
            maps.append(ScoreMap(f"{TITLES[model]}, {what}", one.rows, one.extent))
        paper = f" (paper: {published.EXPLAINED[model]:.0f}%)" if space == "bn" and model in published.EXPLAINED else ""
        words.append(f"{TITLES[model]} {100 * found.explained:.0f}%{paper}")
    maps = [one for row in panels.values() for one in row]
    if not maps:
        return None
    return _saved(
        folder,
        f"map_{space}",
        f"Scores over the plane of the first two principal components, {SPACE_TITLES[space]}",
        f"The two components hold of the training latents' variance: {', '.join(words)}. Upper row: the square that "
        "the paper shows; lower row: one that holds 95% of the training latents along both. Grey: the point decodes to "
        "no valid DAG. Broad areas of one colour that change gradually are what a search can use; speckles are not.",
        lambda path: save_score_maps(path, maps, label=_score_name(space), columns=len(maps) // 2),
    )


def training_curves(results: Results, space: Space, folder: Path) -> Figure | None:
    """Both losses of every model, epoch by epoch."""
    series: dict[str, list[Series]] = {"nll": [], "kl": []}
    for train, found in results.trainings(space):
        if train.seed != 0 or not found.history:
            continue
        epochs = tuple(float(place) for place in range(1, len(found.history) + 1))
        for name, lines in series.items():
            values = [row[name] for row in found.history]
            heights = tuple(math.nan if value is None else max(value, 1e-6) for value in values)
            lines.append(Series(train.recipe.title, epochs, heights))
    if not series["nll"]:
        return None
    panels = [
        Panel("Reconstruction", "epoch", "nats per graph", tuple(series["nll"]), log=True),
        Panel("KL divergence", "epoch", "nats per graph", tuple(series["kl"]), log=True),
    ]
    return _saved(
        folder,
        f"training_{space}",
        f"Training, {SPACE_TITLES[space]}",
        "Both terms of the loss, means over the training graphs, seed 0; the second has weight 0.005. A model whose "
        "left curve stays high cannot give its graphs back.",
        lambda path: save_panels(path, panels),
    )


def cost(results: Results, folder: Path) -> Figure | None:
    """Time per graph against the number of nodes."""
    found = results.store.result(Cost(results.preset.cost))
    if found is None:
        return None
    panels = []
    for measured, title in (("train", "Forward and backward"), ("encode", "Encoding"), ("decode", "Decoding")):
        series = []
        for model in dict.fromkeys(row.model for row in found.rows):
            rows = [row for row in found.rows if row.model == model]
            times = tuple(getattr(row, measured) for row in rows)
            series.append(Series(TITLES[model], tuple(float(row.nodes) for row in rows), times))
        panels.append(Panel(title, "nodes", "milliseconds per graph", tuple(series), log=True, log_x=True))
    return _saved(
        folder,
        "cost",
        "Cost against size",
        f"ENAS architectures of growing depth, hidden size {found.hidden}, batches of {found.batch} on "
        f"{found.device}, untrained weights; both axes are logarithmic. D-VAE decides every pair of nodes, D-VAE "
        "(fast) and S-VAE write a node's edges in one step: the gap in decoding grows with the number of nodes.",
        lambda path: save_panels(path, panels, columns=3),
    )


def _saved(folder: Path, name: str, title: str, caption: str, save: Save) -> Figure:
    return Figure(title, save(folder / f"{name}.svg"), save(folder / f"{name}.png"), caption)


def _arranged(dags: Sequence[Dag]) -> Arrange:
    """Nodes stay where they are from DAG to DAG: variables on a ring, layers in a column."""
    variables = max(dags, key=len).types
    return ring(variables) if len(set(variables)) == len(variables) else column


def _score_name(space: Space) -> str:
    return "BIC" if space == "bn" else "surrogate accuracy"


def _came_back(decoded: Dag, start: Dag) -> str:
    return "it decodes to itself" if edit_distance(decoded, start) == 0 else "it does not decode to itself"


def _distinct(dags: Sequence[Dag]) -> int:
    """How many are different, whatever the order of their nodes where that has no meaning."""
    different: list[Dag] = []
    for dag in dict.fromkeys(dags):
        if all(edit_distance(dag, other) > 0 for other in different):
            different.append(dag)
    return len(different)


def _round_means(rounds: Sequence[Round]) -> list[float]:
    """NaN for a round in which nothing new was found."""
    return [statistics.fmean(one.scores) if one.scores else math.nan for one in rounds]


def _best_so_far(rounds: Sequence[Round]) -> list[float]:
    best, found = -math.inf, []
    for one in rounds:
        best = max([best, *one.scores])
        found.append(best if math.isfinite(best) else math.nan)
    return found


def _over_trials(name: str, trials: Sequence[Sequence[float]]) -> Series:
    """The mean over the trials that have a value, round by round, with one deviation to each side."""
    length = max(map(len, trials))
    means, band = [], []
    for place in range(length):
        column = [trial[place] for trial in trials if place < len(trial) and math.isfinite(trial[place])]
        means.append(statistics.fmean(column) if column else math.nan)
        band.append(statistics.stdev(column) if len(column) > 1 else 0.0)
    rounds = tuple(float(place) for place in range(1, length + 1))
    low = tuple(mean - margin for mean, margin in zip(means, band, strict=True))
    high = tuple(mean + margin for mean, margin in zip(means, band, strict=True))
    return Series(name, rounds, tuple(means), low, high)
