"""`dvae nas`: the neural networks that architecture DAGs stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import answers, inputs, nas_demo, options
from dvae.errors import ConfigError, DagError, FormatError, TaskError

if TYPE_CHECKING:
    from dvae.dag import Dag, ScoredDag
    from dvae.nas import SharedWeightAccuracy
    from dvae.tasks import Task

SHOWN = 10  # architectures in a table
AT_ONCE = 2_000  # architectures scored together, at most: more share more, but wait longer to be written
SECONDS_AT_ONCE = 15.0  # about so long, where that many take longer
FIRST = 50  # architectures scored to see how long they take
CHECKED = 3  # architectures scored again before a file is gone on with
BLOCK = 1_000  # architectures sampled with one seed
UNLIMITED = 1_000_000  # epochs, where time is the limit

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
    int | None, typer.Option("--batch", min=2, help="Images at once; batch statistics are taken over so many.")
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
        float | None, typer.Option("--minutes", min=0.01, help="Stop after so long; the learning rate ends with it.")
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=2, help="Images in one step.")] = None,
    width: Annotated[int | None, typer.Option("--width", min=2, help="Channels of the network.")] = None,
    join: Annotated[Literal["sum", "concat"] | None, typer.Option("--join", help="Of skip inputs.")] = None,
    validation: Annotated[
        int | None, typer.Option("--validation", min=1, help="Training images kept back for scores.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    set_: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what the folder holds.")] = False,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train weights that all architectures of a space share. Ctrl-C is safe: go on with --resume.

    Try: dvae nas train-supernet runs/net --data digits --minutes 1
    """
    from dvae import nas
    from dvae.config import parse_override, read_toml, with_overrides
    from dvae.data.images import load_images
    from dvae.nas.supernet_training import SETTINGS

    changes: dict[str, object] = {
        "depth": None if space is None else _depth(space), "data": _image_name(data), "sampling": sampling,
        "epochs": epochs, "batch": batch, "network.width": width, "network.join": join, "validation": validation,
        "seed": seed,
    }  # fmt: skip
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in set_ or ())
    by_time = minutes is not None and "epochs" not in changes
    resumed = resume and (folder / SETTINGS).is_file()
    base = read_toml(nas.SupernetConfig, folder / SETTINGS) if resumed else nas.SupernetConfig()
    images = load_images(str(changes.get("data", base.data)))
    if not resumed:
        changes = _fitting(images.side) | changes
        changes |= {"network.channels": images.channels, "network.classes": images.classes}
        changes.setdefault("validation", len(images.train) // 5)
        if minutes is not None:  # restarts would end anywhere in a period
            changes.setdefault("schedule.kind", "cosine")
        if by_time:
            changes["epochs"] = UNLIMITED
    config = with_overrides(base, changes, "settings")
    result = nas.train_supernet(
        config, folder, data=images, device=options.available(device), minutes=minutes, resume=resume, progress=True
    )
    last = result.history[-1]
    if json:
        answer = {"folder": str(folder), "ended": result.ended, "epochs": result.epochs, "seconds": result.seconds}
        answers.print_json({**answer, "last": last, "note": result.note})
        return
    ended = "all epochs done" if result.ended == "epochs" else "the time is used up"
    answers.print_table(
        [
            ("ended", f"{ended}, after {answers.counted(result.epochs, 'epoch')} and {result.seconds:.0f} s"),
            ("loss", f"{last['loss']:.4f}"),
            ("accuracy", f"{last['watched']:.2%}, mean of a few architectures on validation images"),
            *([("images", result.note)] if result.note else []),
            ("kept in", str(folder)),
        ],
        title=f"shared weights of enas{config.depth} on {config.data}",
    )
    answers.remark(f"What to try next:  dvae nas dataset {folder} --count 1000 --out {folder / 'scored.jsonl'}")


@app.command("score")
def score(
    supernet: Supernet,
    dags: Dags,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write them, scored, to a .jsonl.")] = None,
    data: Images = None,
    images: Annotated[int | None, typer.Option("--images", min=2, help="Use the first so many images.")] = None,
    batch: Batch = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Score architectures by their accuracy with shared weights, on all validation images each.

    Try: dvae nas score runs/net some.jsonl --out scored.jsonl
    """
    from dvae.dag import ScoredDag, write_jsonl

    answers.check_outputs(out, None)
    meter = _meter(supernet, data, images, batch, device)
    asked = [item.dag for item in _architectures(dags, meter.config.depth)]
    scores, seconds = _timed_scores(meter, asked)
    if out is not None:
        write_jsonl(out, map(ScoredDag, asked, scores))
    rate = len(asked) / seconds
    if json:
        answer = {"count": len(asked), "seconds": seconds, "architectures_per_second": rate, "note": meter.note}
        answers.print_json({**answer, "images": len(meter.images), "scores": scores, "file": out and str(out)})
        return
    ranked = sorted(zip(scores, asked, strict=True), key=lambda pair: -pair[0])
    _print_ranked(ranked, f"{answers.counted(len(asked), 'architecture')}, {rate:,.1f} a second", meter.note)


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
    """Sample architectures and score them with shared weights: a data set for `dvae train`. Started again, it goes on.

    Try: dvae nas dataset runs/net --count 1000 --out scored.jsonl
    """
    from dvae.dag import ScoredDag, load_jsonl, write_jsonl
    from dvae.progress import progress_bar
    from dvae.tasks import EnasTask

    answers.check_outputs(out, None)
    meter = _meter(supernet, data, None, batch, device)
    task = EnasTask(meter.config.depth)
    if space is not None and _depth(space) != task.layers:
        raise ConfigError(f"{supernet} holds shared weights of {task.name}, not of {space}")
    wanted = _distinct(task, count, seed)
    done = load_jsonl(out) if out.is_file() else []
    if len(done) > count:
        raise FormatError(f"{out} holds {len(done):,} architectures, more than --count {count:,}")
    if [item.dag for item in done] != wanted[: len(done)] or any(item.score is None for item in done):
        raise FormatError(f"{out} holds something else: write to another file, or go on with the same seed")
    if [item.score for item in done[:CHECKED]] != meter.many([item.dag for item in done[:CHECKED]]):
        raise FormatError(f"{out} has other scores than these shared weights give with these images, batch and device")
    seconds, before, at_once = 0.0, len(done), FIRST
    with progress_bar("data set", count, "architectures", True) as bar:
        bar.skip(before)
        while len(done) < count:
            part = wanted[len(done) : len(done) + at_once]
            scores, spent = _timed_scores(meter, part, progress=False)
            done += map(ScoredDag, part, scores)
            write_jsonl(out, done)
            seconds += spent
            at_once = max(1, min(AT_ONCE, round(SECONDS_AT_ONCE * len(part) / spent)))
            bar.update(len(part))
    rate = (count - before) / seconds if seconds else None
    found = sorted(item.score for item in done if item.score is not None)
    if json:
        spread = {"min": found[0], "median": found[len(found) // 2], "max": found[-1]}
        answers.print_json(
            {"file": str(out), "count": len(done), "scored_now": count - before, "architectures_per_second": rate,
             "scores": spread, "note": meter.note}
        )  # fmt: skip
        return
    pace = "" if rate is None else f"; {rate:,.1f} a second"
    answers.remark(f"{len(done):,} scored architectures in {out}{pace}; scores {found[0]:.4f} to {found[-1]:.4f}")
    answers.remark_note(meter.note)
    answers.remark(f"Train a model on them:  dvae train --task {task.name} --data {out} --run runs/{task.name}")


@app.command("search")
def search(
    run: options.Run,
    supernet: Supernet,
    out: Out,
    warm: Annotated[
        Path | None, typer.Option("--warm", metavar="FILE", help="Scored architectures to start from, as .jsonl.")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Architectures to score.")] = 500,
    each: Annotated[int, typer.Option("--each", min=1, help="Architectures in a round.")] = 50,
    strategy: Annotated[Literal["trust-region", "evolution", "random"], typer.Option("--strategy")] = "trust-region",
    minutes: Annotated[float | None, typer.Option("--minutes", min=0.01, help="Begin no round after so long.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    data: Images = None,
    batch: Batch = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Search a model's latent space for architectures that are accurate with shared weights.

    The file holds all that were scored, best first, and is written after every round; to go on with it, give it as
    --warm. Try: dvae nas search runs/enas6 runs/net --out found.jsonl
    """
    import time

    from dvae.cli import runs
    from dvae.cli.nas_search import searched
    from dvae.cli.nas_training import ranked
    from dvae.dag import load_jsonl, write_jsonl

    answers.check_outputs(out, None)
    vae = runs.load_model(run, device)
    meter = _meter(supernet, data, None, batch, device)
    started = [] if warm is None else load_jsonl(warm)
    if warm is not None and all(item.score is None for item in started):
        raise FormatError(f"{warm} has no scored architecture to start from")
    begun = time.perf_counter()
    found = searched(
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
        answers.print_json({**answer, "best_before": best_before, "strategy": strategy, "note": meter.note})
        return
    known = "" if best_before is None else f" (best before: {best_before:.4f})"
    pairs = [(item.score or 0.0, item.dag) for item in best_first]
    _print_ranked(pairs, f"{answers.counted(len(found), 'architecture')} in {seconds:.0f} s{known}", meter.note)
    images = meter.config.data
    how = f"--data {images}" + (" --recipe digits" if images == "digits" else "")
    answers.remark(f"Train the best from scratch:  dvae nas train {out} --top 3 {how} --out runs/trained")


@app.command("train")
def train(
    dags: Dags,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A folder for each architecture inside it.")],
    recipe: Annotated[str, typer.Option("--recipe", help="paper (310 epochs), fast, or digits.")] = "fast",
    top: Annotated[int | None, typer.Option("--top", min=1, help="Only the best so many by their scores.")] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.01, help="Begin no training that would end later.")
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1)] = None,
    longer: Annotated[
        int | None,
        typer.Option(
            "--longer",
            min=1,
            metavar="EPOCHS",
            help="Then train the best (by test accuracy, or --validation) again, for so many.",
        ),
    ] = None,
    data: Annotated[str, typer.Option("--data", metavar="IMAGES", help="digits, cifar10, or a path.")] = "cifar10",
    validation: Annotated[
        int,
        typer.Option("--validation", min=0, help="Measure on so many training images kept back; 0: on the test set."),
    ] = 0,
    seed: Annotated[int | None, typer.Option("--seed", min=0)] = None,
    set_: Set = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Train architectures from scratch and measure their true accuracy. Started again, it goes on.

    Try: dvae nas train found.jsonl --top 3 --recipe digits --data digits --out runs/trained
    """
    from dvae.cli import nas_training

    rows = nas_training.train_all(
        _architectures(dags, None), out, top=top, recipe=recipe, minutes=minutes, epochs=epochs, longer=longer,
        data=_image_name(data) or data, validation=validation, seed=seed, overrides=set_ or [],
        device=options.available(device),
    )  # fmt: skip
    nas_training.answer(rows, out, json)


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

    config = nas.NetworkConfig() if recipe in (None, "supernet") else nas.recipe_named(str(recipe)).network
    config = config if width is None else replace(config, width=width)
    asked = [item.dag for item in _architectures(dags, None)]
    sizes = [nas.size_of(nas.Architecture.from_dag(dag), config, resolution=side) for dag in asked]
    if json:
        answers.print_json([{"parameters": size.parameters, "flops": size.flops} for size in sizes])
        return
    rows = [
        (str(number), f"{size.parameters:,}", f"{size.flops / 1e6:,.1f} million", nas_demo.in_words(dag))
        for number, (size, dag) in enumerate(zip(sizes, asked, strict=True), start=1)
    ]
    answers.print_table(rows, header=("", "parameters", "operations an image", "architecture"))


app.command("demo")(nas_demo.demo)


def _fitting(side: int) -> dict[str, object]:
    """Settings for images so small that one pixel is much: no crops, a higher rate over one cosine, small batches."""
    if side >= 16:
        return {}
    return {
        "augmentation.crop": 0.0, "schedule.kind": "cosine", "schedule.highest": 0.2, "batch": 64, "epochs": 60,
        "network.width": 12,
    }  # fmt: skip


def _meter(
    supernet: Path, data: str | None, images: int | None, batch: int | None, device: str
) -> SharedWeightAccuracy:
    from dvae.nas import SharedWeightAccuracy

    where = options.available(device)
    return SharedWeightAccuracy(supernet, data=_image_name(data), device=where, images=images, batch=batch)


def _timed_scores(
    meter: SharedWeightAccuracy, dags: list[Dag], progress: bool | None = True
) -> tuple[list[float], float]:
    """Scores, and the seconds that they took. Reading them off the device ends the work, so the clock sees it all."""
    import time

    begun = time.perf_counter()
    scores = meter.many(dags, progress=progress)
    return scores, time.perf_counter() - begun


def _architectures(path: Path, depth: int | None) -> list[ScoredDag]:
    """The architectures of a file; the error names the line of the first that is none, or is too deep."""
    from dvae.nas import Architecture
    from dvae.tasks import EnasTask

    items = EnasTask(depth or 256).read(path)
    for place, item in enumerate(items):
        try:
            found = Architecture.from_dag(item.dag)
            if depth is not None and len(found) > depth:
                raise DagError(f"the architecture has {len(found)} layers, the supernet {depth}")
        except DagError as error:
            raise FormatError.at(path, inputs.line_of(path, place), str(error)) from None
    return items


def _distinct(task: Task, count: int, seed: int) -> list[Dag]:
    """Distinct DAGs of the task's sampler; those of a smaller `count` are the first of those of a larger one."""
    found: dict[Dag, None] = {}
    blocks = 0
    while len(found) < count:
        before = len(found)
        found |= dict.fromkeys(task.sample(BLOCK, seed + 1_000_003 * blocks))
        blocks += 1
        if len(found) == before:
            raise TaskError(f"{task.name} has hardly more than {before:,} architectures; ask for fewer")
    return list(found)[:count]


def _depth(space: str) -> int:
    from dvae.tasks import EnasTask

    task = inputs.get_task(space)
    if not isinstance(task, EnasTask):
        raise TaskError(f"{space} is no space of networks: give enas6, enas12, or another depth")
    return task.layers


def _image_name(name: str | None) -> str | None:
    """The same images, from wherever they are asked for."""
    if name is None or name in ("digits", "cifar10"):
        return name
    return str(Path(name).absolute()) if Path(name).exists() else name


def _print_ranked(ranked: list[tuple[float, Dag]], title: str, note: str) -> None:
    rows = [(f"{score:.4f}", nas_demo.in_words(dag)) for score, dag in ranked[:SHOWN]]
    answers.print_table(rows, title=title, header=("accuracy", "architecture"))
    if len(ranked) > SHOWN:
        answers.remark(f"the best {SHOWN} of {len(ranked):,} are shown")
    answers.remark_note(note)
