"""`dvae nas`: the neural networks that architecture DAGs stand for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import nas_demo, options, output
from dvae.errors import ConfigError, DagError, FormatError, TaskError

if TYPE_CHECKING:
    from torch.nn import Module

    from dvae.dag import Dag
    from dvae.nas import SharedWeightAccuracy
    from dvae.nas.campaign import TrainedDag

MAX_SHOWN = 10  # architectures in a table

app = typer.Typer(
    name="nas",
    no_args_is_help=True,
    help="Train, score and search the neural networks that architecture DAGs stand for. "
    "New here? Try: [bold]dvae nas demo[/bold]",
    rich_markup_mode="rich",
)

Supernet = Annotated[Path, typer.Argument(metavar="SUPERNET", help="A folder that `dvae nas train-supernet` wrote.")]
Dags = Annotated[Path, typer.Argument(metavar="DAGS", help="Architectures: .jsonl, or .txt as the original writes.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where scored architectures go: a .jsonl file.")]
Images = Annotated[
    str | None, typer.Option("--data", metavar="IMAGES", help="digits, cifar10, or a folder or file of CIFAR-10.")
]
Batch = Annotated[
    int | None, typer.Option("--image-batch", min=2, help="Images per batch, over which batch statistics are taken.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; may be repeated.")
]


@app.command("train-supernet")
def train_supernet(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the shared weights go.")],
    space: Annotated[str | None, typer.Option("--space", help="enas6, enas12, or any depth.")] = None,
    data: Images = None,
    sampling: Annotated[
        Literal["uniform", "enas"] | None,
        typer.Option("--sampling", help="Which architecture a batch trains: any, or the controller's of ENAS."),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1)] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, help="Stop after this time; the learning rate schedule ends with it."),
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=2, help="Images in one step.")] = None,
    width: Annotated[int | None, typer.Option("--width", min=2, help="Channels of the network.")] = None,
    join: Annotated[Literal["sum", "concat"] | None, typer.Option("--join", help="How skip inputs are joined.")] = None,
    validation: Annotated[
        int | None, typer.Option("--validation", min=1, help="Training images held back for scores.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    set_: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the training in the folder.")] = False,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train weights that all architectures of a space share. Ctrl-C is safe: continue with --resume.

    Try: dvae nas train-supernet runs/net --data digits --minutes 1
    """
    from dvae import nas
    from dvae.config import parse_override, read_toml, with_overrides
    from dvae.data.images import load_images
    from dvae.devices import available_device
    from dvae.nas.supernet_training import SETTINGS

    changes: dict[str, object] = {
        "depth": None if space is None else _depth(space), "data": _image_name(data), "sampling": sampling,
        "epochs": epochs, "batch": batch, "network.width": width, "network.join": join, "validation": validation,
        "seed": seed,
    }  # fmt: skip
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in set_ or ())
    before = read_toml(nas.SupernetConfig, folder / SETTINGS) if resume and (folder / SETTINGS).is_file() else None
    images = load_images(str(changes.get("data", (before or nas.SupernetConfig()).data)))
    if before is None:
        config = nas.supernet_config(images, changes, minutes=minutes)
    else:
        config = with_overrides(before, changes, "settings")
    try:
        result = nas.train_supernet(
            config, folder, data=images, device=available_device(device), minutes=minutes, resume=resume, progress=True
        )
    except KeyboardInterrupt:
        output.note(f"Continue with:  dvae nas train-supernet {folder} --resume")
        raise
    last = result.history[-1]
    if json:
        answer = {"folder": str(folder), "ended": result.ended, "epochs": result.epochs, "seconds": result.seconds}
        output.print_json({**answer, "last": last, "note": result.note})
        return
    ended = "all epochs done" if result.ended == "epochs" else "the time is used up"
    output.print_table(
        [
            ("ended", f"{ended}, after {output.counted(result.epochs, 'epoch')} and {result.seconds:.0f} s"),
            ("loss", f"{last['loss']:.4f}"),
            ("accuracy", f"{last['watched']:.2%}, mean of a few architectures on validation images"),
            *([("images", result.note)] if result.note else []),
            ("kept in", str(folder)),
        ],
        title=f"shared weights of enas{config.depth} on {config.data}",
    )
    output.note(f"What to try next:  dvae nas dataset {folder} --count 1000 --out {folder / 'scored.jsonl'}")


@app.command("score")
def score(
    supernet: Supernet,
    dags: Dags,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write them, scored, to a .jsonl.")] = None,
    data: Images = None,
    images: Annotated[int | None, typer.Option("--images", min=2, help="Use only the first N images.")] = None,
    batch: Batch = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Score architectures by their accuracy with shared weights, on all validation images each.

    Try: dvae nas score runs/net some.jsonl --out scored.jsonl
    """
    import time

    from dvae.dag import ScoredDag, write_jsonl
    from dvae.nas.dataset import read_architectures

    output.check_outputs(out, None)
    meter = _meter(supernet, data, images, batch, device)
    asked = [item.dag for item in read_architectures(dags, meter.config.depth)]
    begun = time.perf_counter()
    scores = meter.many(asked, progress=True)
    seconds = time.perf_counter() - begun
    if out is not None:
        write_jsonl(out, map(ScoredDag, asked, scores))
    rate = len(asked) / seconds
    if json:
        answer = {"count": len(asked), "seconds": seconds, "architectures_per_second": rate, "note": meter.note}
        output.print_json({**answer, "images": len(meter.images), "scores": scores, "file": out and str(out)})
        return
    ranked = sorted(zip(scores, asked, strict=True), key=lambda pair: -pair[0])
    _print_ranked(ranked, f"{output.counted(len(asked), 'architecture')}, {rate:,.1f} per second", meter.note)


@app.command("dataset")
def dataset(
    supernet: Supernet,
    out: Out,
    count: Annotated[int, typer.Option("--count", min=2, help="Distinct architectures; the paper's file has 19,020.")],
    space: Annotated[str | None, typer.Option("--space", help="Must be the supernet's: a check.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    data: Images = None,
    batch: Batch = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Sample architectures and score them with shared weights: a data set for `dvae train`. Run it again to continue.

    Try: dvae nas dataset runs/net --count 1000 --out scored.jsonl
    """
    from dvae.nas.dataset import write_scored

    output.check_outputs(out, None)
    meter = _meter(supernet, data, None, batch, device)
    name = f"enas{meter.config.depth}"
    if space is not None and _depth(space) != meter.config.depth:
        raise ConfigError(f"{supernet} holds shared weights of {name}, not of {space}")
    done = write_scored(out, meter, count, seed=seed, progress=True)
    found = sorted(item.score for item in done.items if item.score is not None)
    if json:
        spread = {"min": found[0], "median": found[len(found) // 2], "max": found[-1]}
        output.print_json(
            {"file": str(out), "count": len(found), "scored_now": done.scored_now,
             "architectures_per_second": done.rate, "scores": spread, "note": meter.note}
        )  # fmt: skip
        return
    pace = "" if done.rate is None else f"; {done.rate:,.1f} per second"
    output.note(f"{len(found):,} scored architectures in {out}{pace}; scores {found[0]:.4f} to {found[-1]:.4f}")
    output.print_note(meter.note)
    output.note(f"Train a model on them:  dvae train --task {name} --data {out} --run runs/{name}")


@app.command("search")
def search(
    run: options.Run,
    supernet: Supernet,
    out: Out,
    warm: Annotated[
        Path | None, typer.Option("--known", metavar="FILE", help="Scored architectures to start from, as .jsonl.")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Architectures to score.")] = 500,
    each: Annotated[int, typer.Option("--batch", min=1, help="Architectures per round.")] = 50,
    strategy: Annotated[Literal["trust-region", "evolution", "random"], typer.Option("--strategy")] = "trust-region",
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.01, help="Start no round after this time.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    data: Images = None,
    batch: Batch = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Search a model's latent space for architectures that are accurate with shared weights.

    The file holds all that were scored, best first, and is written after every round; to continue, give it as
    --known. Try: dvae nas search runs/enas6 runs/net --out found.jsonl
    """
    import time

    from dvae.dag import load_jsonl, write_jsonl
    from dvae.nas.dataset import ranked
    from dvae.nas.search import search_architectures
    from dvae.runs import Run

    output.check_outputs(out, None)
    vae = Run.open(run).model(device)
    meter = _meter(supernet, data, None, batch, device)
    started = [] if warm is None else load_jsonl(warm)
    if warm is not None and all(item.score is None for item in started):
        raise FormatError(f"{warm} has no scored architecture to start from")
    begun = time.perf_counter()
    found = search_architectures(
        vae, meter, started, strategy=strategy, budget=budget, each=each, seed=seed,
        seconds=None if minutes is None else 60 * minutes, keep=lambda so_far: write_jsonl(out, ranked(so_far)),
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    if not found:
        raise TaskError(f"the strategy {strategy} proposed no new network")
    best_first = ranked(found)
    best_before = max((item.score for item in started if item.score is not None), default=None)
    if json:
        answer = {"file": str(out), "evaluations": len(found), "seconds": seconds, "best": best_first[0].score}
        output.print_json({**answer, "best_before": best_before, "strategy": strategy, "note": meter.note})
        return
    known = "" if best_before is None else f" (best before: {best_before:.4f})"
    pairs = [(item.score or 0.0, item.dag) for item in best_first]
    _print_ranked(pairs, f"{output.counted(len(found), 'architecture')} in {seconds:.0f} s{known}", meter.note)
    images = meter.config.data
    how = f"--data {images}" + (" --recipe digits" if images == "digits" else "")
    output.note(f"Train the best from scratch:  dvae nas train {out} --top 3 {how} --out runs/trained")


@app.command("train")
def train(
    dags: Dags,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A folder for each architecture inside it.")],
    recipe: Annotated[
        str, typer.Option("--recipe", help="paper (310 epochs), fast, digits, or package.module:name.")
    ] = "fast",
    top: Annotated[int | None, typer.Option("--top", min=1, help="Only the N with the best scores.")] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.01, help="Start no training that would end later.")
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1)] = None,
    longer: Annotated[
        int | None,
        typer.Option(
            "--longer",
            min=1,
            metavar="EPOCHS",
            help="Then train the best (by test accuracy, or --validation) again, for this many epochs.",
        ),
    ] = None,
    data: Annotated[str, typer.Option("--data", metavar="IMAGES", help="digits, cifar10, or a path.")] = "cifar10",
    validation: Annotated[
        int,
        typer.Option("--validation", min=0, help="Measure on N training images held back; 0: on the test set."),
    ] = 0,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    set_: Set = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train architectures from scratch and measure their true accuracy. Run it again to continue.

    Try: dvae nas train found.jsonl --top 3 --recipe digits --data digits --out runs/trained
    """
    from dvae import nas
    from dvae.config import parse_override, with_overrides
    from dvae.data.images import load_images
    from dvae.devices import available_device
    from dvae.nas.campaign import train_architectures
    from dvae.nas.dataset import read_architectures

    changes: dict[str, object] = {"epochs": epochs, "seed": seed}
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in set_ or ())
    chosen = with_overrides(nas.get_recipe(recipe), changes, "settings")
    output.check_folder(out)
    rows = train_architectures(
        read_architectures(dags), out, chosen, load_images(_image_name(data) or data), recipe_name=recipe, top=top,
        longer=longer, minutes=minutes, validation=validation, device=available_device(device), note=output.note,
        progress=True,
    )  # fmt: skip
    if json:
        output.print_json({"folder": str(out), "trained": [row.to_mapping() for row in rows]})
        return
    print_trained(rows)
    output.note(f"Everything is in {out}; started again, finished trainings are not repeated.")


@app.command("count")
def count(
    dags: Dags,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="Count networks as this recipe builds them; else as a supernet does.")
    ] = "paper",
    width: Annotated[int | None, typer.Option("--width", min=2)] = None,
    side: Annotated[int, typer.Option("--side", min=1, help="Pixels of an image's side.")] = 32,
    json: options.Json = False,
) -> None:
    """Count the parameters of architectures' networks, and their operations for one image.

    Try: dvae nas count some.jsonl
    """
    from dvae import nas
    from dvae.config import replace
    from dvae.nas.dataset import read_architectures

    config = nas.NetworkConfig() if recipe in (None, "supernet") else nas.get_recipe(str(recipe)).network
    config = config if width is None else replace(config, width=width)
    asked = [nas.Architecture.from_dag(item.dag) for item in read_architectures(dags)]
    sizes = [nas.size_of(architecture, config, resolution=side) for architecture in asked]
    if json:
        output.print_json([{"parameters": size.parameters, "flops": size.flops} for size in sizes])
        return
    rows = [
        (str(number), f"{size.parameters:,}", f"{size.flops / 1e6:,.1f} million", str(architecture))
        for number, (size, architecture) in enumerate(zip(sizes, asked, strict=True), start=1)
    ]
    output.print_table(rows, header=("", "parameters", "operations per image", "architecture"))


@app.command("export")
def export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DAGS|TRAINED", help="Architectures or cells in a file, or a folder of `dvae nas train`."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the network goes: .onnx or .pt2.")],
    number: Annotated[int, typer.Option("--number", min=1, help="Which architecture of the file, from 1.")] = 1,
    width: Annotated[int | None, typer.Option("--width", min=2, help="Channels of the first stage.")] = None,
    classes: Annotated[int, typer.Option("--classes", min=2)] = 10,
    channels: Annotated[int, typer.Option("--channels", min=1, help="Of the images.")] = 3,
    side: Annotated[int, typer.Option("--side", min=8, help="Pixels of an image's side.")] = 32,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of fresh weights.")] = 0,
    json: options.Json = False,
) -> None:
    """Write the network of an architecture as ONNX or for torch.export.load: trained, or with fresh weights.

    Try: dvae nas export found.jsonl --out net.onnx
    """
    from dvae import nas
    from dvae.dag import load_dags
    from dvae.nas.exports import ENDINGS
    from dvae.nas.sizes import count_parameters

    output.check_ending(out, ENDINGS, "a network")
    trained = source.is_dir()
    module: Module
    if trained:
        network = nas.trained_module(source)
        module, channels = network, network.config.channels
    else:
        dags = load_dags(source)
        if number > len(dags):
            raise ConfigError(f"{source} has {output.counted(len(dags), 'DAG')}; there is no number {number}")
        try:
            module = nas.module_of(dags[number - 1].dag, width=width, classes=classes, channels=channels, seed=seed)
        except DagError as error:
            raise FormatError(f"{source}: DAG {number}: {error}") from None
    nas.write_module(out, module, side=side, channels=channels)
    facts = {"file": str(out), "parameters": count_parameters(module), "trained": trained}
    if json:
        output.print_json(facts)
    else:
        weights = "trained weights" if trained else "fresh weights"
        output.note(f"wrote a network of {facts['parameters']:,} {weights} to {out}")


app.command("demo")(nas_demo.demo)


def print_trained(rows: Sequence[TrainedDag], title: str | None = None) -> None:
    """Trained architectures as a table, the best first."""
    from dvae.nas import Architecture

    best_first = sorted(rows, key=lambda row: -row.trained.accuracy)
    images = rows[0].trained.images if rows else "test"
    mirrored = [row.trained.accuracy_with_mirrors for row in best_first]
    columns = {
        f"{images} accuracy": [f"{row.trained.accuracy:.2%}" for row in best_first],
        "with mirrors": ["" if share is None else f"{share:.2%}" for share in mirrored],
        "score before": ["" if row.score is None else f"{row.score:.4f}" for row in best_first],
        "parameters": [f"{row.trained.size.parameters:,}" for row in best_first],
        "operations": [f"{row.trained.size.flops / 1e6:,.1f} million" for row in best_first],
        "epochs": [f"{row.trained.epochs} in {row.trained.seconds:.0f} s" for row in best_first],
        "architecture": [str(Architecture.from_dag(row.dag)) for row in best_first],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    output.print_table(list(zip(*shown.values(), strict=True)), title=title, header=tuple(shown))
    output.print_note(rows[0].trained.note if rows else "")


def _meter(
    supernet: Path, data: str | None, images: int | None, batch: int | None, device: str
) -> SharedWeightAccuracy:
    from dvae.nas import SharedWeightAccuracy

    return SharedWeightAccuracy(supernet, data=_image_name(data), device=device, images=images, batch=batch)


def _depth(space: str) -> int:
    from dvae.tasks import EnasTask

    task = EnasTask.from_name(space)
    if task is None:
        raise TaskError(f"{space} is no space of networks: give enas6, enas12, or another depth")
    return task.layers


def _image_name(name: str | None) -> str | None:
    """The same images, from wherever they are asked for."""
    if name is None or name in ("digits", "cifar10"):
        return name
    return str(Path(name).absolute()) if Path(name).exists() else name


def _print_ranked(ranked: list[tuple[float, Dag]], title: str, note: str) -> None:
    from dvae.nas import Architecture

    rows = [(f"{score:.4f}", str(Architecture.from_dag(dag))) for score, dag in ranked[:MAX_SHOWN]]
    output.print_table(rows, title=title, header=("accuracy", "architecture"))
    if len(ranked) > MAX_SHOWN:
        output.note(f"the best {MAX_SHOWN} of {len(ranked):,} are shown")
    output.print_note(note)
