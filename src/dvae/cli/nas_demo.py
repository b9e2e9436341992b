"""`dvae nas demo`: shared weights, a data set, D-VAE, a search and full training, on digits in about five minutes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.dag import ScoredDag
    from dvae.models import VAE
    from dvae.nas import SharedWeightAccuracy
    from dvae.nas.campaign import TrainedDag

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
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of continuing.")] = False,
    json: options.Json = False,
) -> None:
    """Search for a network that reads handwritten digits, and train it: the whole way of the paper, in small.

    Run it again to continue; finished pieces are kept.
    """
    import shutil

    import torch

    from dvae.cli.nas import print_trained
    from dvae.config import replace
    from dvae.dag import write_jsonl
    from dvae.data.images import load_images
    from dvae.devices import available_device
    from dvae.nas import get_recipe
    from dvae.nas.campaign import train_architectures
    from dvae.nas.dataset import ranked
    from dvae.nas.search import search_architectures

    output.check_folder(run)
    if fresh and run.is_dir():
        for name in ("supernet", "model", "trained", "trained_shortly"):
            shutil.rmtree(run / name, ignore_errors=True)
        for name in ("architectures.jsonl", "space.jsonl", "found.jsonl"):
            (run / name).unlink(missing_ok=True)
    # Networks this small gain little from a second thread, and lose much where another program needs the core.
    torch.set_num_threads(1)
    begun = time.monotonic()
    seconds = 60 * minutes
    meter = _meter(run, SUPERNET_SHARE * minutes)
    scored = _scored(run, meter, max(40, round(ARCHITECTURES * min(1.0, minutes / 5))))
    vae = _model(run, scored, MODEL_SHARE * seconds)
    output.note(f"4. Searching its latent space for better ones, {BUDGET} at most ...")
    found = search_architectures(
        vae, meter, scored, strategy=_strategy(), budget=BUDGET, each=20, seed=0, seconds=SEARCH_SHARE * seconds
    )
    best_first = ranked([*found, *scored])
    write_jsonl(run / "found.jsonl", best_first[:50])
    output.note(f"5. Training the top {TOP} and, to compare, a random one from scratch ...")
    chosen, recipe = [*best_first[:TOP], scored[0]], get_recipe("digits")
    hurry = minutes < 2
    rows = train_architectures(
        chosen, run / ("trained_shortly" if hurry else "trained"), replace(recipe, epochs=4) if hurry else recipe,
        load_images("digits"), recipe_name="digits", device=available_device("auto"), note=output.note,
        progress=True,
    )  # fmt: skip
    picture = _draw(run, rows)
    if json:
        answer = {"run": str(run), "seconds": time.monotonic() - begun, "picture": str(picture)}
        output.print_json({**answer, "trained": [row.to_mapping() for row in rows]})
        return
    print_trained(rows, title=f"The top {TOP} and a random one, trained; {time.monotonic() - begun:.0f} s")
    output.note(f"Drawn, with their accuracies: {picture}")
    output.note("What to try next:")
    output.note(f"  dvae evaluate {run / 'model'}")
    output.note("  dvae data fetch cifar10    # 170 MB; then, with a GPU:")
    output.note("  dvae nas train-supernet runs/cifar --data cifar10 --minutes 30")


def _meter(run: Path, minutes: float) -> SharedWeightAccuracy:
    from dvae.data.images import load_images
    from dvae.devices import available_device
    from dvae.nas import NetworkConfig, SharedWeightAccuracy, SupernetConfig, train_supernet
    from dvae.nas.batches import NO_AUGMENTATION
    from dvae.nas.schedules import Schedule
    from dvae.nas.supernet_training import WEIGHTS

    folder = run / "supernet"
    images = load_images("digits")
    if not (folder / WEIGHTS).is_file():
        output.note("1. Training weights that all 6-layer architectures share, on 997 digits of 8x8 pixels ...")
        config = SupernetConfig(
            data="digits", validation=VALIDATION, epochs=10_000, batch=64, augmentation=NO_AUGMENTATION,
            network=NetworkConfig(width=12, channels=1), schedule=Schedule("cosine", 0.2, 0.0),
        )  # fmt: skip
        device = available_device("auto")
        train_supernet(config, folder, data=images, device=device, minutes=minutes, resume=True, progress=True)
    return SharedWeightAccuracy(folder, data=images)


def _scored(run: Path, meter: SharedWeightAccuracy, count: int) -> list[ScoredDag]:
    from dvae.dag import ScoredDag, load_jsonl, write_jsonl
    from dvae.tasks import EnasTask

    path = run / "architectures.jsonl"
    if path.is_file():
        return load_jsonl(path)
    output.note(f"2. Scoring {count:,} random architectures with them, on {len(meter.images)} digits each ...")
    dags = list(dict.fromkeys(EnasTask(6).sample(count, seed=0)))
    items = list(map(ScoredDag, dags, meter.many(dags, progress=True)))
    write_jsonl(path, items)
    return items


def _model(run: Path, scored: list[ScoredDag], seconds: float) -> VAE:
    """A small D-VAE of the architectures, in a folder as `dvae train` writes it."""
    from dvae.dag import write_jsonl
    from dvae.models import model_config, storage
    from dvae.runs import Run, RunConfig
    from dvae.runs.config import FILE
    from dvae.tasks import EnasTask
    from dvae.training import TrainingConfig

    folder, space = run / "model", run / "space.jsonl"
    if (folder / storage.WEIGHTS).is_file():
        return Run.open(folder).model()
    output.note("3. Learning a continuous space of architectures with D-VAE ...")
    # Sampling costs nothing, so the space is learned from more architectures than were scored.
    write_jsonl(space, [*scored, *EnasTask(6).sample(SAMPLED, seed=1)])
    settings = RunConfig(
        task="enas6", data=str(space.absolute()), model=model_config(hidden=64, latent=16, readout="sum"),
        training=TrainingConfig(epochs=400, batch_size=64, learning_rate=3e-3, time_budget=seconds),
    )  # fmt: skip
    resume = (folder / FILE).is_file()
    opened = Run.open(folder) if resume else Run.create(folder, config=settings)
    opened.fit(resume=resume, progress=True)
    return opened.model()


def _strategy() -> str:
    """Trust region where BoTorch is, else evolution."""
    from importlib.util import find_spec

    from dvae.extras import requirements

    if find_spec("botorch") is not None:
        return "trust-region"
    packages = " ".join(requirements("search"))
    output.note(f"(Without BoTorch, by evolution; for the trust region: pip install {packages})")
    return "evolution"


def _draw(run: Path, rows: list[TrainedDag]) -> Path:
    from dvae.figures import save_dags

    names = [f"{place}" for place in range(1, len(rows))] + ["random"]
    titles = [
        f"{name}: {row.trained.accuracy:.1%}, {row.trained.size.parameters / 1000:,.1f}k weights"
        for name, row in zip(names, rows, strict=True)
    ]
    dags = [row.dag for row in rows]
    save_dags(run / "architectures.svg", dags, titles=titles, columns=len(dags))
    return save_dags(run / "architectures.png", dags, titles=titles, columns=len(dags))
