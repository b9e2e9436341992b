"""`dvae train`: fit a model to a task's data, in a folder from which it can be resumed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import answers, inputs, options
from dvae.errors import ConfigError, DvaeError

if TYPE_CHECKING:
    from dvae.cli.runs import RunConfig
    from dvae.training import FitResult

INTERRUPTED = 130
ENDINGS = {
    "epochs": "all epochs done",
    "early-stop": "stopped early: the loss fell no more",
    "time-budget": "the time budget is used up",
    "interrupted": "interrupted",
}


def train(
    run: Annotated[Path, typer.Option("--run", metavar="FOLDER", help="Where the run is kept.")],
    task: Annotated[
        str | None,
        typer.Option("--task", help="enas6, asia, ..., file:my.jsonl for your own DAGs, bn:my.csv for your own table."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option("--order", metavar="A,B,C", help="Of the variables of a Bayesian network; else estimated."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="DAGs of the task, instead of its own data set."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="A name that `dvae models` lists.")] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="paper, or original for the original code's settings.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="RUN.toml", help="Settings, as in a run's own run.toml."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any setting, e.g. model.hidden=128; may be repeated."),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="How often to go through the data.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Graphs in one step.")] = None,
    size: Annotated[int | None, typer.Option("--size", help="How many DAGs to take or sample.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of weights, order and noise.")] = None,
    data_seed: Annotated[int | None, typer.Option("--data-seed", help="Of the task's sampler.")] = None,
    device: options.Device = "auto",
    devices: Annotated[int, typer.Option("--devices", min=1, help="Processes, one a device.")] = 1,
    precision: Annotated[
        Literal["auto", "float32", "tf32", "bf16"] | None,
        typer.Option("--precision", help="Of matrix products."),
    ] = None,
    time_budget: Annotated[
        float | None, typer.Option("--time-budget", metavar="SECONDS", help="Stop after so long.")
    ] = None,
    early_stop: Annotated[
        int | None,
        typer.Option("--early-stop", metavar="N", help="Stop after N epochs without a lower loss."),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log for TensorBoard.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run; the folder knows the rest.")] = False,
    json: options.Json = False,
) -> None:
    """Train a model. Ctrl-C is safe: go on with --resume.

    Try: dvae train --task asia --run runs/asia --size 20000 --epochs 5
    """
    from dvae.cli import runs
    from dvae.config import parse_override, read_toml, replace, with_overrides
    from dvae.training import fit

    changes: dict[str, object] = {
        "task": _ordered(task, order),
        "data": None if data is None else str(data.absolute()),
        "size": size,
        "data_seed": data_seed,
        "model.name": model,
        **_preset(preset),
        "training.epochs": epochs,
        "training.batch_size": batch_size,
        "training.seed": seed,
        "training.precision": precision,
        "training.time_budget": time_budget,
        "training.early_stop": early_stop,
        "training.tensorboard": tensorboard or None,
    }
    changes = {key: value for key, value in changes.items() if value is not None}
    changes |= dict(parse_override(text) for text in set_ or ())
    started = runs.read(run) if resume else None
    if started is None and not _is_helper():
        runs.check_free(run, "resume it with --resume, or choose another folder")
    base = runs.RunConfig() if config is None else read_toml(runs.RunConfig, config)
    settings = _about_something(with_overrides(started or base, changes, "settings"))
    if started is not None:
        if config is not None:
            raise ConfigError("--config does not go with --resume: the run has its own run.toml")
        runs.check_resumable(run, started, settings)
    meaning = inputs.get_task(settings.task)
    settings = replace(settings, task=meaning.full_name)  # an order, once estimated, is the run's
    graphs = meaning.batch(settings.dataset(meaning).train.dags)
    vae = settings.new_model(meaning)
    with _kept(run, settings):
        result = fit(
            vae, graphs, config=settings.training, run=run, resume=resume, device=device, devices=devices,
            progress=True,
        )  # fmt: skip
    if _is_helper():
        return
    if json:
        answers.print_json({"run": str(run), "task": settings.task, "graphs": len(graphs), **_summary(result)})
    else:
        _print(run, settings, result)
    if result.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _ordered(task: str | None, order: str | None) -> str | None:
    """The name of the task, with the order of its variables where one is given."""
    if order is None:
        return None if task is None else inputs.task_name(task)
    if task is None:
        raise ConfigError("--order is that of a task's variables: give --task, too")
    from dvae.bayesnet.tables import parse_order, with_order

    return with_order(inputs.task_name(task), parse_order(order))


def _about_something(settings: RunConfig) -> RunConfig:
    """DAGs without a task are their own task."""
    from dvae.config import replace

    if settings.task:
        return settings
    if settings.data is None:
        raise ConfigError("there is nothing to train on: give --task or --data, or a --config that names one")
    return replace(settings, task=f"file:{settings.data}", data=None)


def _preset(name: str | None) -> dict[str, object]:
    from dvae.models.config import PRESETS

    if name is not None and name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; choose one of {', '.join(PRESETS)}")
    return {f"model.{key}": value for key, value in PRESETS[name or "paper"].items()}


def _is_helper() -> bool:
    """Whether this is one of the processes that --devices started, each with the same command."""
    return os.environ.get("LOCAL_RANK", "0") != "0"


@contextlib.contextmanager
def _kept(run: Path, settings: RunConfig) -> Iterator[None]:
    """run.toml, there before training starts; it goes again if training cannot even start."""
    from dvae.cli import runs

    if _is_helper():
        yield
        return
    new_folder, new_run = not run.exists(), not (run / runs.FILE).exists()
    runs.write(run, settings)
    try:
        yield
    except DvaeError:
        if new_run and not (run / runs.CHECKPOINT).exists():
            (run / runs.FILE).unlink()
            if new_folder:
                run.rmdir()
        raise


def _summary(result: FitResult) -> dict[str, object]:
    return {
        "ended": result.ended,
        "epochs": result.epochs,
        "final": result.history[-1] if result.history else None,
        "seconds": result.seconds,
        "graphs_per_second": result.graphs_per_second,
    }


def _print(run: Path, settings: RunConfig, result: FitResult) -> None:
    last = result.history[-1] if result.history else None
    loss = "no epoch was finished"
    if last is not None:
        loss = f"{last['loss']:.4f} (reconstruction {last['nll']:.4f}, KL {last['kl']:.4f}), in nats a graph"
    answers.print_table(
        [
            ("ended", f"{ENDINGS[result.ended]}, after {answers.counted(result.epochs, 'epoch')}"),
            ("loss", loss),
            ("time", f"{result.seconds:.1f} s in all, {result.graphs_per_second:,.0f} graphs/s"),
            ("kept in", str(run)),
        ],
        title=f"{settings.model.name} on {settings.task}",
    )
    if result.ended == "interrupted":
        answers.remark(f"Go on with:  dvae train --run {run} --resume")
        return
    answers.remark("What to try next:")
    answers.remark(f"  dvae evaluate {run}")
    answers.remark(f"  dvae sample {run} --count 12 --valid --draw {run / 'samples.svg'}")
    budget = settings.training.time_budget
    longer = f"--epochs {max(2 * result.epochs, 1)}"
    if budget is not None and result.ended == "time-budget":
        longer = f"--time-budget {2 * budget:g}"
    answers.remark(f"  dvae train --run {run} --resume {longer}")
