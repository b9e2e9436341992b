"""`dvae nas demo`: shared weights, a data set, D-VAE, a search and full training, on digits in about five minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import answers, options

if TYPE_CHECKING:
    from dvae.cli.nas_training import Row
    from dvae.dag import Dag, ScoredDag
    from dvae.models import VAE
    from dvae.nas import SharedWeightAccuracy

ARCHITECTURES = 1_500
SAMPLED = 6_000  # more, without a score
TOP = 3
BUDGET = 200
# Shares of the time; what is left goes to starting up and drawing.
SUPERNET_SHARE, MODEL_SHARE, SEARCH_SHARE = 0.25, 0.25, 0.2
VALIDATION = 300


def demo(
    run: Annotated[Path, typer.Option("--run", metavar="FOLDER", help="Where everything goes.")] = Path("runs/nas"),
    minutes: Annotated[float, typer.Option("--minutes", min=0.05, help="About how long it takes on two cores.")] = 5.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on.")] = False,
    json: options.Json = False,
) -> None:
    """Search for a network that reads handwritten digits, and train it: the whole way of the paper, in small.

    Started again, it goes on where it was; pieces that are there are not made again.
    """
    import shutil

    import torch

    from dvae.cli import nas_training
    from dvae.cli.nas_search import searched
    from dvae.dag import write_jsonl

    answers.check_folder(run)
    if fresh and run.is_dir():
        for name in ("supernet", "model", "trained", "trained_shortly"):
            shutil.rmtree(run / name, ignore_errors=True)
        for name in ("architectures.jsonl", "space.jsonl", "found.jsonl"):
            (run / name).unlink(missing_ok=True)
    # So small networks gain little from a second thread, and lose much where another program wants the core.
    torch.set_num_threads(1)
    begun = time.monotonic()
    seconds = 60 * minutes
    meter = _meter(run, SUPERNET_SHARE * minutes)
    scored = _scored(run, meter, max(40, round(ARCHITECTURES * min(1.0, minutes / 5))))
    vae = _model(run, scored, MODEL_SHARE * seconds)
    answers.remark(f"4. Searching its latent space for better ones, {BUDGET} at most ...")
    found = searched(
        vae, meter, scored, strategy=_strategy(), budget=BUDGET, each=20, seed=0, seconds=SEARCH_SHARE * seconds
    )
    ranked = nas_training.ranked([*found, *scored])
    write_jsonl(run / "found.jsonl", ranked[:50])
    answers.remark(f"5. Training the top {TOP} and, to compare, a random one from scratch ...")
    chosen, hurry = [*ranked[:TOP], scored[0]], minutes < 2
    rows = nas_training.train_all(
        chosen, run / ("trained_shortly" if hurry else "trained"), recipe="digits", minutes=None,
        epochs=4 if hurry else None, data="digits", validation=0, seed=0, overrides=[],
        device=options.available("auto"),
    )  # fmt: skip
    picture = _draw(run, rows)
    if json:
        answer = {"run": str(run), "seconds": time.monotonic() - begun, "picture": str(picture)}
        answers.print_json({**answer, "trained": [row.to_mapping() for row in rows]})
        return
    nas_training.print_rows(rows, title=f"The top {TOP} and a random one, trained; {time.monotonic() - begun:.0f} s")
    answers.remark(f"Drawn, with their accuracies: {picture}")
    answers.remark("What to try next:")
    answers.remark(f"  dvae evaluate {run / 'model'}")
    answers.remark("  dvae data fetch cifar10    # 170 MB; then, with a GPU:")
    answers.remark("  dvae nas train-supernet runs/cifar --data cifar10 --minutes 30")


def in_words(dag: Dag) -> str:
    """An architecture in one line: its layers, each with the vertices that skip to it."""
    from dvae.nas import Architecture

    architecture = Architecture.from_dag(dag)
    words = []
    for name, skips in zip(architecture.operations, architecture.skips, strict=True):
        words.append(name + (f"({','.join(map(str, skips))})" if skips else ""))
    ends = f" out({','.join(map(str, architecture.outputs))})" if architecture.outputs else ""
    return " ".join(words) + ends


def _meter(run: Path, minutes: float) -> SharedWeightAccuracy:
    from dvae.data.images import load_images
    from dvae.nas import NetworkConfig, SharedWeightAccuracy, SupernetConfig, train_supernet
    from dvae.nas.batches import NO_AUGMENTATION
    from dvae.nas.schedules import Schedule
    from dvae.nas.supernet_training import WEIGHTS

    folder = run / "supernet"
    images = load_images("digits")
    if not (folder / WEIGHTS).is_file():
        answers.remark("1. Training weights that all 6-layer architectures share, on 997 digits of 8x8 pixels ...")
        config = SupernetConfig(
            data="digits", validation=VALIDATION, epochs=10_000, batch=64, augmentation=NO_AUGMENTATION,
            network=NetworkConfig(width=12, channels=1), schedule=Schedule("cosine", 0.2, 0.0),
        )  # fmt: skip
        device = options.available("auto")
        train_supernet(config, folder, data=images, device=device, minutes=minutes, resume=True, progress=True)
    return SharedWeightAccuracy(folder, data=images, device=options.available("auto"))


def _scored(run: Path, meter: SharedWeightAccuracy, count: int) -> list[ScoredDag]:
    from dvae.dag import ScoredDag, load_jsonl, write_jsonl
    from dvae.tasks import EnasTask

    path = run / "architectures.jsonl"
    if path.is_file():
        return load_jsonl(path)
    answers.remark(f"2. Scoring {count:,} random architectures with them, on {len(meter.images)} digits each ...")
    dags = list(dict.fromkeys(EnasTask(6).sample(count, seed=0)))
    items = list(map(ScoredDag, dags, meter.many(dags, progress=True)))
    write_jsonl(path, items)
    return items


def _model(run: Path, scored: list[ScoredDag], seconds: float) -> VAE:
    """A small D-VAE of the architectures, in a folder as `dvae train` writes it."""
    from dvae.cli import runs
    from dvae.dag import write_jsonl
    from dvae.models import model_config, storage
    from dvae.tasks import EnasTask
    from dvae.training import TrainingConfig, fit

    folder, space = run / "model", run / "space.jsonl"
    if (folder / storage.WEIGHTS).is_file():
        return runs.load_model(folder, "auto")
    answers.remark("3. Learning a continuous space of architectures with D-VAE ...")
    # Sampling costs nothing, so the space is learned from more architectures than were scored.
    write_jsonl(space, [*scored, *EnasTask(6).sample(SAMPLED, seed=1)])
    settings = runs.RunConfig(
        task="enas6", data=str(space.absolute()), model=model_config(hidden=64, latent=16, readout="sum"),
        training=TrainingConfig(epochs=400, batch_size=64, learning_rate=3e-3, time_budget=seconds),
    )  # fmt: skip
    runs.write(folder, settings)
    vae = settings.new_model(EnasTask(6))
    resume = (folder / runs.CHECKPOINT).is_file()
    train = settings.dataset(EnasTask(6)).train
    fit(vae, train, config=settings.training, run=folder, resume=resume, device="auto", progress=True)
    return vae


def _strategy() -> str:
    """Trust region where BoTorch is, else evolution."""
    from importlib.util import find_spec

    if find_spec("botorch") is not None:
        return "trust-region"
    answers.remark("(Without BoTorch, by evolution; for the trust region: pip install 'dvae[search]'.)")
    return "evolution"


def _draw(run: Path, rows: list[Row]) -> Path:
    from dvae.figures import save_dags

    names = [f"{place}" for place in range(1, len(rows))] + ["random"]
    titles = [
        f"{name}: {row.trained.accuracy:.1%}, {row.trained.size.parameters / 1000:,.1f}k weights"
        for name, row in zip(names, rows, strict=True)
    ]
    dags = [row.dag for row in rows]
    save_dags(run / "architectures.svg", dags, titles=titles, columns=len(dags))
    return save_dags(run / "architectures.png", dags, titles=titles, columns=len(dags))
