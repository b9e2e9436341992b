"""The tables of the paper, from the results that are there, with what papers report beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from dvae.evaluation import Predictivity, PredictivityRow, published
from dvae.evaluation.predictivity import FOREST, LATENT, SPARSE_GP
from dvae.paper.measurements import FIT_TITLES, Baselines, Smooth
from dvae.paper.plan import ABLATIONS, RANDOM_MODEL
from dvae.paper.results import SPACE_TITLES, SPACES, Results, Space
from dvae.paper.searches import STRATEGY_TITLES
from dvae.paper.training import TITLES, VARIANTS, ModelRecipe
from dvae.reports.document import Table
from dvae.reports.numbers import MISSING, Spread, estimate_words, number_words, share_words, time_words

NOT_RUN = "not run yet"
T = TypeVar("T")


def overview(results: Results, space: Space) -> Table | None:
    """Each model's main numbers: means over seeds, and in brackets what is published."""
    rows = [(recipe.title, *_main_numbers(results, space, recipe)) for recipe in results.experiment(space).recipes]
    measured = tuple(row for row in rows if set(row[1:]) != {MISSING})
    if not measured:
        return None
    return Table(
        f"At a glance, {SPACE_TITLES[space]}: measured (published)",
        ("", "come back, %", "distinct samples, %", "RMSE of scores"),
        measured,
        note="Come back: sampled decodings of the posterior's mean that are the same DAG. RMSE: of scores predicted "
        f"from latent means by a sparse GP trained {FIT_TITLES[results.preset.fits[-1]]}; published ones are of the "
        "papers' own training.",
    )


def _main_numbers(results: Results, space: Space, recipe: ModelRecipe) -> tuple[str, str, str]:
    found = results.evaluations(space, recipe)
    predicted = _latent_rows(results.predictions(space, recipe, results.preset.fits[-1]))
    generative, predictive = (
        _published(published.GENERATIVE[space], recipe),
        _published(published.PREDICTIVE[space], recipe),
    )
    accuracy, distinct = (None, None) if generative is None else (generative.accuracy, generative.uniqueness)
    return (
        _beside([100 * one.mean.share.value for one in found], 2, accuracy),
        _beside([100 * one.prior.uniqueness.value for one in found if one.prior.uniqueness], 1, distinct),
        _beside([value for row in predicted for value in row.rmse], 3, None if predictive is None else predictive.rmse),
    )


def _beside(values: Sequence[float], digits: int, known: float | None) -> str:
    """A mean, and in brackets what is published, if anything is."""
    if not values:
        return MISSING
    return f"{fmean(values):.{digits}f}" + ("" if known is None else f" ({known:.{digits}f})")


def table1(results: Results, space: Space) -> Table | None:
    """Reconstruction, validity, uniqueness, novelty; both definitions of reconstruction."""
    rows, quiet = _generative_rows(results, space, results.recipes(space))
    if not rows:
        return None
    return Table(
        f"Table 1, {SPACE_TITLES[space]}: reconstruction and prior samples, %",
        ("", "accuracy, mean", "accuracy, posterior", "validity", "uniqueness", "novelty", "seeds"),
        tuple(rows),
        note="Accuracy, mean: sampled decodings of the posterior's mean, which is what the original code measures. "
        "Accuracy, posterior: decodings of samples from it, which is what the paper's text says. With one seed the "
        "bracket is a 95% interval over graphs or latents, with several ± is the deviation over them. Published rows "
        "are the papers' own.",
        quiet=frozenset(quiet),
    )


def _generative_rows(
    results: Results, space: Space, recipes: Sequence[ModelRecipe]
) -> tuple[list[tuple[str, ...]], list[int]]:
    rows: list[tuple[str, ...]] = []
    quiet: list[int] = []
    every = {recipe: results.evaluations(space, recipe) for recipe in recipes}
    if not any(every.values()):
        return [], []
    for recipe, found in every.items():
        if not found and recipe.name in VARIANTS:
            continue
        priors = [one.prior for one in found]
        rows.append(
            (
                recipe.title,
                share_words([one.mean.share for one in found]),
                share_words([one.posterior.share for one in found]),
                share_words([prior.validity for prior in priors]),
                share_words([prior.uniqueness for prior in priors]),
                share_words([prior.novelty for prior in priors]),
                str(len(found) or NOT_RUN),
            )
        )
        known = _published(published.GENERATIVE[space], recipe)
        if known is not None:
            quiet.append(len(rows))
            shares = (known.accuracy, None, known.validity, known.uniqueness, known.novelty)
            rows.append(("published", *(number_words(share, 2) for share in shares), ""))
    return rows, quiet


def table2(results: Results, space: Space) -> Table | None:
    """RMSE and Pearson's r of scores predicted from latents, and from one-hot features."""
    experiment, preset = results.experiment(space), results.preset
    rows: list[tuple[str, ...]] = []
    quiet: list[int] = []
    for fit in preset.fits:
        baseline = results.store.result(Baselines(experiment.source, fit, experiment.prediction))
        for row in baseline.rows if baseline is not None else ():
            name = f"one-hot features, {row.regressor}"
            if row.regressor == FOREST and fit != preset.fits[0]:
                continue  # a forest does not depend on how the sparse GP is fitted
            rows.append((name, FIT_TITLES[fit] if row.regressor == SPARSE_GP else "", *_row_numbers([row]), ""))
    every = {
        (recipe, fit): results.predictions(space, recipe, fit)
        for recipe in results.recipes(space)
        for fit in preset.fits
    }
    if not rows and not any(every.values()):
        return None
    for recipe in results.recipes(space):
        if recipe.name in VARIANTS and not any(every[recipe, fit] for fit in preset.fits):
            continue
        for fit in preset.fits:
            found = every[recipe, fit]
            numbers = _row_numbers(_latent_rows(found))
            rows.append((recipe.title, FIT_TITLES[fit], *numbers, str(len(found) or NOT_RUN)))
        known = _published(published.PREDICTIVE[space], recipe)
        if known is not None:
            quiet.append(len(rows))
            rows.append(("published", "", *_published_numbers(known), ""))
    return Table(
        f"Table 2, {SPACE_TITLES[space]}: scores predicted from latent means",
        ("", "sparse GP trained", "RMSE", "Pearson's r", "seeds"),
        tuple(rows),
        note="Of standardised scores; mean ± deviation over repeats and seeds. The one-hot rows need no model at all: "
        "the table measures the regressor as much as the encoder.",
        quiet=frozenset(quiet),
    )


def table3(results: Results) -> Table | None:
    """The ablations: both halves of the tables above, for D-VAE's variants."""
    preset = results.preset
    fit = preset.fits[0]
    generative, quiet = _generative_rows(results, "enas", [preset.enas.recipe(name) for name in ABLATIONS])
    if not generative:
        return None
    rows: list[tuple[str, ...]] = []
    for place, row in enumerate(generative):
        name = ABLATIONS[place // 2]  # every one of them is followed by what was published
        if place in quiet:
            numbers = _published_numbers(published.PREDICTIVE["enas"][name])
        else:
            predictions = results.predictions("enas", preset.enas.recipe(name), fit)
            numbers = _row_numbers(_latent_rows(predictions))
        rows.append((*row[:-1], *numbers, row[-1]))
    return Table(
        "Table 3, neural architectures: D-VAE and its variants",
        ("", "accuracy, mean", "accuracy, posterior", "validity", "uniqueness", "novelty", "RMSE", "r", "seeds"),
        tuple(rows),
        note=f"Columns as in Tables 1 and 2; sparse GP trained {FIT_TITLES[fit]}.",
        quiet=frozenset(quiet),
    )


def search_table(results: Results, space: Space) -> Table | None:
    """The best score of every way of searching, over trials."""
    size = results.experiment(space).search
    digits = 2 if space == "bn" else 4
    rows: list[tuple[str, ...]] = []
    for model in size.models:
        for strategy in size.strategies:
            if strategy == "random" and model != RANDOM_MODEL:
                continue
            found = results.searches(space, model, strategy)
            best = [one.best for one in found if one.best is not None]
            if not best:
                continue
            last = [score for one in found for score in one.rounds[-1].scores]
            spent = Spread(tuple(float(one.evaluations) for one in found))
            rows.append(
                (
                    f"{TITLES[model]}, {STRATEGY_TITLES.get(strategy, strategy)}",
                    Spread(tuple(best)).words(digits),
                    number_words(max(best), digits),
                    Spread(tuple(last)).words(digits) if last else MISSING,
                    f"{spent.mean:.0f}",
                    str(len(best)),
                )
            )
    if not rows:
        return None
    quiet: list[int] = []
    for name, score in _landmark_rows(results, space):
        quiet.append(len(rows))
        rows.append((name, MISSING, number_words(score, digits), MISSING, "", ""))
    kind = "BIC, higher is better" if space == "bn" else "surrogate accuracy"
    note = "Best: the best DAG of each trial, mean ± deviation over trials. No DAG is scored twice in a trial."
    if space == "enas":
        trials = (one for model in size.models for s in size.strategies for one in results.searches(space, model, s))
        quality = next(one.held_out for one in trials if one.held_out is not None)
        reported = ", ".join(f"{name} {value:.2f}%" for name, value in published.BEST_ACCURACY.items())
        note += (
            " Scores are those of a surrogate, a random forest on one-hot features fitted to the scored training "
            f"architectures (correlation with the scores of the test architectures: {quality:.3f}): not accuracies "
            "that anybody measured. After full training on CIFAR-10 the papers report "
            f"{reported}; that is another experiment."
        )
    return Table(
        f"Search, {SPACE_TITLES[space]}: {kind}",
        ("", "best of a trial", "best of all", "last round's DAGs", "evaluations", "trials"),
        tuple(rows),
        note=note,
        quiet=frozenset(quiet),
    )


def _landmark_rows(results: Results, space: Space) -> list[tuple[str, float | None]]:
    known = results.landmarks(space)
    rows: list[tuple[str, float | None]] = []
    if known is not None:
        rows.append(("best of the training data", known.best_training))
        if known.true_network is not None:
            rows.append(("the true network", known.true_network))
            rows.append(("exact optimum", known.optimum))
    if results.experiment(space).source.task == "asia-bnlearn":
        rows += [(f"published: {name}", score) for name, score in published.BEST_BIC.items()]
        rows.append(("published: best of the paper's training data", published.BEST_TRAINING_BIC))
    return rows


def smoothness_table(results: Results) -> Table | None:
    """How far DAGs and scores move with their latents."""
    rows: list[tuple[str, ...]] = []
    for space in SPACES:
        experiment = results.experiment(space)
        for model in experiment.pictures.models:
            found = results.store.result(Smooth(results.train(space, model), experiment.scored_by, experiment.walks))
            if found is None:
                continue
            rows.append(
                (
                    f"{TITLES[model]}, {SPACE_TITLES[space]}",
                    estimate_words(found.edits, 1),
                    estimate_words(found.score, 2),
                    share_words([found.changed]),
                    share_words([found.valid]),
                    f"{found.pair_edits:.1f}",
                )
            )
    if not rows:
        return None
    return Table(
        "Smoothness: how far DAGs and scores move per unit of latent distance",
        ("", "edits per unit", "score per unit", "steps that change the DAG, %", "valid, %", "edits between two DAGs"),
        tuple(rows),
        note="One unit is the root mean squared distance of two training latents, so that models of different scale "
        "can be compared; walks go straight from test DAGs in random directions, decoded greedily at every step. An "
        "edit is a changed type or edge; scores are in deviations of the training scores, over steps between valid "
        "DAGs. Smaller is smoother. The last column is the mean distance of two random DAGs of the data. Brackets: 95% "
        "over walks.",
    )


def time_table(results: Results) -> Table | None:
    """What training took, and what the original implementation would take for the same work."""
    rows: list[tuple[str, ...]] = []
    comparable = False
    for space in SPACES:
        for train, found in results.trainings(space):
            rate = published.ORIGINAL_TRAINING_RATE[space]
            original = MISSING
            full_size = train.recipe.model.hidden == 501 and found.device == "cuda"
            if train.recipe.model.name == "dvae" and full_size:
                comparable = True
                original = time_words(found.epochs * found.graphs / rate)
            rows.append(
                (
                    f"{train.recipe.title}, {SPACE_TITLES[space]}",
                    str(train.seed),
                    f"{found.parameters:,}",
                    str(found.epochs),
                    f"{found.graphs:,}",
                    time_words(found.seconds),
                    f"{found.graphs_per_second:,.0f}" if found.graphs_per_second else MISSING,
                    original,
                )
            )
    if not rows:
        return None
    rates = ", ".join(
        f"{rate:.0f} graphs per second on {SPACE_TITLES[space]}"
        for space, rate in published.ORIGINAL_TRAINING_RATE.items()
    )
    note = f"The original's time is extrapolated from its measured rate on the same kind of GPU ({rates})."
    return Table(
        "Training time",
        ("", "seed", "parameters", "epochs", "graphs", "time", "graphs per second", "the original, same work"),
        tuple(rows),
        note=note if comparable else "",
    )


def _latent_rows(measured: Sequence[Predictivity]) -> list[PredictivityRow]:
    return [row for one in measured for row in one.rows if (row.regressor, row.features) == (SPARSE_GP, LATENT)]


def _row_numbers(rows: Sequence[PredictivityRow]) -> tuple[str, str]:
    if not rows:
        return MISSING, MISSING
    rmse = Spread(tuple(value for row in rows for value in row.rmse))
    r = Spread(tuple(value for row in rows for value in row.r))
    return rmse.words(3), r.words(3)


def _published(rows: Mapping[str, T], recipe: ModelRecipe) -> T | None:
    """What papers report of a model, or of what it is a variant of."""
    return rows.get(published.SAME_AS.get(recipe.name, recipe.name))


def _published_numbers(known: published.Predictive) -> tuple[str, str]:
    def words(value: float, deviation: float | None) -> str:
        return f"{value:.3f}" if deviation is None else f"{value:.3f} ± {deviation:.3f}"

    return words(known.rmse, known.rmse_deviation), words(known.r, known.r_deviation)
