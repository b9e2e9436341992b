"""`dvae demo`: from nothing to the best Bayesian network of Asia in a few minutes, with nothing but this package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dvae.cli import options, output
from dvae.errors import CheckpointError, MissingError
from dvae.extras import requirements

if TYPE_CHECKING:
    from dvae.dag import Dataset
    from dvae.evaluation import Evaluation
    from dvae.models import VAE
    from dvae.runs import Run, RunConfig
    from dvae.training import FitResult

INTERRUPTED = 130
EPOCHS_A_MINUTE = 15  # on one core, with time to spare for measuring and drawing
PATIENCE = 3.0  # a slow or busy machine may take so many times as long, then training stops
TEST_NETWORKS = 200
PRIOR_LATENTS = 500
PRIOR_DECODINGS = 4  # of each, so that some networks come more than once
PAIRS_DRAWN = 6
SAMPLES_DRAWN = 12
KNOWN_SCORES = 1_000  # of networks that every search begins with
EVALUATIONS = 200
RIVALS = ("trust-region", "evolution", "random")
WITHOUT_BOTORCH = "gradient"  # searches the latent space where the trust region cannot
NETWORKS = "networks.jsonl"


def demo(
    run: Annotated[Path, typer.Option("--run", metavar="FOLDER", help="Where the model and the pictures go.")] = Path(
        "runs/demo"
    ),
    minutes: Annotated[float, typer.Option("--minutes", min=0.1, help="About how long it takes on one core.")] = 2.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on.")] = False,
    json: options.Json = False,
) -> None:
    """Learn a space of Bayesian networks, and search it for the one that explains the data best.

    Started again, it goes on where it was; give more minutes to train longer.
    """
    import torch

    # So small a model gains little from a second thread, and loses much where another program wants the core.
    torch.set_num_threads(1)
    settings = _settings(minutes)
    output.note(f"Bayesian networks over the 8 variables of Asia: drawing {settings.size:,} at random ...")
    opened, result = _trained(run, settings, fresh)
    if result.ended == "interrupted":
        output.note("Stopped; start the demo again and it goes on from here.")
        raise typer.Exit(INTERRUPTED)
    vae, data = opened.model(), opened.dataset
    output.note(f"How good is it? On {TEST_NETWORKS} test networks it has not seen, and on the prior:")
    measured = opened.evaluate(
        test_limit=TEST_NETWORKS, encodings=5, decodings=5, prior_latents=PRIOR_LATENTS,
        prior_decodings=PRIOR_DECODINGS, progress=True,
    )  # fmt: skip
    pictures = _draw(run, vae, data)
    found = _searched(run, vae, data)
    page = opened.report()
    if json:
        files = [str(picture) for picture in pictures]
        answer = {"run": str(run), "pictures": files, "report": str(page), "search": found}
        output.print_json({**answer, "evaluation": measured.to_mapping()})
    else:
        _print(run, result, measured, pictures)
        _print_search(found)
        output.note(f"Best network: {run / 'report' / 'best.svg'}; all of it on one page: {page}")
        _print_next(run)


def _settings(minutes: float) -> RunConfig:
    """Small enough for one core; noise and KL weight are the paper's."""
    from dvae.models import ModelConfig
    from dvae.runs import RunConfig
    from dvae.training import TrainingConfig

    return RunConfig(
        task="asia",
        size=20_000,
        model=ModelConfig(hidden=128, latent=32),
        training=TrainingConfig(
            epochs=round(EPOCHS_A_MINUTE * minutes),
            batch_size=128,
            learning_rate=4e-3,
            plateau_factor=0.3,
            plateau_patience=1,
            time_budget=60 * minutes * PATIENCE,
        ),
    )


def _trained(folder: Path, settings: RunConfig, fresh: bool) -> tuple[Run, FitResult]:
    """A trained run; what an earlier demo in the folder has trained counts."""
    from dvae.runs import Run
    from dvae.runs.config import FILE, check_resumable

    resume = (folder / FILE).is_file() and not fresh
    if resume:
        run = Run.open(folder)
        check_resumable(folder, run.config, settings)
        output.note(f"Going on with the model in {folder} (to start over: dvae demo --run {folder} --fresh).")
    else:
        if fresh and (folder / FILE).is_file():
            Run.open(folder).clear()
        run = Run.create(folder, config=settings)
        output.note(f"Training a small D-VAE for {settings.training.epochs} epochs; Ctrl-C stops and keeps it.")
    limits: dict[str, Any] = {"epochs": settings.training.epochs, "time_budget": settings.training.time_budget}
    try:
        return run, run.fit(resume=resume, progress=True, **limits)
    except CheckpointError as error:
        if not resume:
            raise
        output.note(f"The earlier demo cannot be continued ({error}); starting over.")
        run.clear()
        run = Run.create(folder, config=settings)
        return run, run.fit(progress=True)


def _draw(run: Path, vae: VAE, data: Dataset) -> list[Path]:
    from dvae.dag import write_jsonl
    from dvae.figures import save_dags

    task = vae.task
    originals = data.test.dags[:PAIRS_DRAWN]
    back = vae.decode(vae.encode(originals).mean, greedy=True)
    pairs, titles = [], []
    for number, (original, copy) in enumerate(zip(originals, back, strict=True), start=1):
        same = task.key(original) == task.key(copy)
        pairs += [original, copy]
        titles += [f"network {number}", "came back the same" if same else "came back changed"]
    samples = vae.sample(SAMPLES_DRAWN, seed=0, valid=True)
    names = [f"sample {number}" for number in range(1, len(samples) + 1)]
    pictures = []
    for ending in (".svg", ".png"):
        pictures.append(save_dags(run / f"reconstructions{ending}", pairs, titles=titles, columns=4))
        pictures.append(save_dags(run / f"samples{ending}", samples, titles=names, columns=4))
    write_jsonl(run / NETWORKS, data.test.dags)
    return pictures


def _print(run: Path, result: FitResult, measured: Evaluation, pictures: list[Path]) -> None:
    from dvae.cli.evaluate import estimate_words

    meanings = {
        "reconstruction, mean": "a test network comes back from its mean",
        "reconstruction, posterior": "... from a point drawn around the mean",
        "prior validity": "a decoded random point is a network",
        "prior uniqueness": f"valid networks that differ, {PRIOR_DECODINGS} decoded a point",
        "prior novelty": "valid networks not in the training set",
    }
    rows = dict(measured.rows())
    output.print_table(
        [(meaning, *estimate_words(name, rows[name])) for name, meaning in meanings.items()],
        title=f"D-VAE on Asia, {output.counted(result.epochs, 'epoch')} in {result.seconds:.0f} s",
        header=("", "share", "95% interval"),
    )
    output.note("Pictures: " + ", ".join(map(str, pictures)))


def _searched(run: Path, vae: VAE, data: Dataset) -> dict[str, Any]:
    """The best network by each strategy, all with the same start; the exact optimum beside them."""
    from dvae.dag import DagSet
    from dvae.reports.study_section import arrival
    from dvae.strategies import Archive, make_strategy
    from dvae.studies import search, storage_of
    from dvae.studies.storage import remove_studies

    if _trained_since(run, vae):
        remove_studies(run)
    known = data.train.dags[:KNOWN_SCORES]
    warm = DagSet.of(known, vae.task.scores(known))
    optimum = vae.task.known_optimum()
    assert optimum is not None
    rows = []
    for rival in RIVALS:
        strategy = rival
        output.note(f"Searching with {strategy}: {EVALUATIONS} networks to score ...")
        try:
            make_strategy(strategy, vae, Archive(vae.task))
        except MissingError as error:
            strategy = WITHOUT_BOTORCH
            output.note(f"With {strategy} instead: {error}")
        study = search(
            vae, budget=EVALUATIONS, strategy=strategy, warm=warm, name=strategy, progress=True,
            storage=storage_of(run), about={"run": str(run.absolute())},
        )  # fmt: skip
        reached = arrival(study.trials, optimum)
        rows.append({"strategy": strategy, "best": study.best_score, "gap": optimum - study.best_score,
                     "evaluations_to_optimum": int(reached) if reached.isdecimal() else None})  # fmt: skip
    best = max(score for score in warm.scores if score is not None)
    return {"optimum": optimum, "best_known_before": best, "evaluations": EVALUATIONS, "searches": rows}


def _trained_since(run: Path, vae: VAE) -> bool:
    """Whether the searches of an earlier demo were with another model."""
    from dvae.studies import model_fingerprint, studies_of

    now = model_fingerprint(vae)
    return any(study.description.get("model_fingerprint", now) != now for study in studies_of(run))


def _print_search(found: dict[str, Any]) -> None:
    start = f"the {KNOWN_SCORES:,} networks known before"
    rows = [(start, f"{found['best_known_before']:.3f}", f"{found['optimum'] - found['best_known_before']:.3f}", "")]
    for row in found["searches"]:
        reached = row["evaluations_to_optimum"]
        words = f"optimum after {reached}" if reached is not None else "optimum not reached"
        rows.append((row["strategy"], f"{row['best']:.3f}", f"{row['gap']:.3f}", words))
    rows.append(("exact optimum", f"{found['optimum']:.3f}", "", "all networks, by dynamic programming"))
    output.print_table(
        rows,
        title=f"The best network found, by BIC, with {found['evaluations']} evaluations each",
        header=("", "BIC", "gap", ""),
    )


def _print_next(run: Path) -> None:
    output.note("What to try next:")
    if find_spec("dash") is None:
        output.note(f"  pip install {' '.join(requirements('explorer'))}    # once, for the next")
    output.note(f"  dvae explore {run}    # look around in the space, in a browser")
    output.note(f"  dvae sample {run} --count 24 --valid --draw {run / 'more.svg'} --out {run / 'more.jsonl'}")
    output.note(f"  dvae demo --run {run} --minutes 5    # train longer, for a better model")
    mine = run.with_name("mine")
    output.note(
        f"  dvae train --data {run / NETWORKS} --run {mine} --epochs 3    # or your own DAGs, in a file like this"
    )
