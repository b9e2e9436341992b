"""`dvae train`: fit a model to a task's data, in a folder from which it can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.runs import Run
    from dvae.training import FitResult

INTERRUPTED = 130
ENDINGS = {
    "epochs": "all epochs done",
    "early-stop": "stopped early: the loss no longer fell",
    "time-budget": "the time is used up",
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
        typer.Option("--data", metavar="FILE", help="DAGs to train on; with --resume, where the run's data are now."),
    ] = None,
    rules: options.Rules = None,
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation", metavar="FILE|SHARE", help="DAGs to validate on: a file, or a share of the training DAGs."
        ),
    ] = None,
    condition: Annotated[
        str | None,
        typer.Option(
            "--condition", metavar="A,B,C", help="Properties of the DAGs that samples can be asked for (--given)."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="A name that `dvae models` lists.")] = None,
    start: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="Start from the weights of another run.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="auto: settings that fit the data, the machine and --minutes; paper; original (of the original code) "
            "\\[default: auto for your own DAGs, paper for the paper's tasks].",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="RUN.toml", help="Settings, as in a run's own run.toml."),
    ] = None,
    with_scores: Annotated[
        bool, typer.Option("--with-scores", help="Let latents tell the scores of the training DAGs by a linear map.")
    ] = False,
    with_properties: Annotated[
        str | None,
        typer.Option("--with-properties", metavar="A,B", help="Likewise these properties of the training DAGs."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any setting, e.g. model.hidden=128; may be repeated."),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="How often to go through the data.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", "--batch-size", help="DAGs per step.")] = None,
    hidden: Annotated[int | None, typer.Option("--hidden", help="Width of the model.")] = None,
    latent: Annotated[int | None, typer.Option("--latent", help="Dimensions of the latent space.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Learning rate.")] = None,
    size: Annotated[int | None, typer.Option("--size", help="How many DAGs to take or sample.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of weights, order and noise.")] = None,
    data_seed: Annotated[int | None, typer.Option("--data-seed", help="Of the task's sampler.")] = None,
    device: options.Device = "auto",
    devices: Annotated[int, typer.Option("--devices", min=1, help="Processes, one per device.")] = 1,
    precision: Annotated[
        Literal["auto", "float32", "tf32", "bf16"] | None,
        typer.Option("--precision", help="Of matrix products."),
    ] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", help="Stop after so many minutes.")] = None,
    time_budget: Annotated[
        float | None, typer.Option("--time-budget", metavar="SECONDS", help="Stop after so many seconds.", hidden=True)
    ] = None,
    early_stop: Annotated[
        int | None,
        typer.Option("--early-stop", metavar="N", help="Stop after N epochs without a lower loss."),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log for TensorBoard.")] = False,
    mlflow: Annotated[bool, typer.Option("--mlflow", help="Also log to MLflow.")] = False,
    wandb: Annotated[bool, typer.Option("--wandb", help="Also log to Weights & Biases.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run; the folder knows the rest.")] = False,
    json: options.Json = False,
) -> None:
    """Train a model. Ctrl-C is safe: go on with --resume.

    Try: dvae train --task asia --run runs/asia --size 20000 --epochs 5
    """
    from dvae.config import parse_override
    from dvae.devices import available_device
    from dvae.runs import Run
    from dvae.runs.config import changed_config, check_resumable, config_file
    from dvae.runs.run import check_free, is_helper_process

    available_device(device)  # said before anything is read or written
    settings: dict[str, Any] = {
        "size": size,
        "data_seed": data_seed,
        "validation": _validation(validation),
        "model.name": model,
        "targets": _targets(with_scores, with_properties),
        "model.conditions": _names("--condition", condition),
        "hidden": hidden,
        "latent": latent,
        "learning_rate": lr,
        "epochs": epochs,
        "batch_size": batch,
        "training.seed": seed,
        "precision": precision,
        "time_budget": time_budget,
        "early_stop": early_stop,
        "tensorboard": tensorboard or None,
        "mlflow": mlflow or None,
        "wandb": wandb or None,
    }
    settings = {key: value for key, value in settings.items() if value is not None}
    settings |= dict(parse_override(text) for text in set_ or ())
    if resume:
        if config is not None:
            raise ConfigError("--config does not go with --resume: the run has its own run.toml")
        if rules is not None:
            raise ConfigError("--rules does not go with --resume: the run keeps the rules it began with")
        opened = Run.open(run, data=data)
        if task is not None:
            settings["task"] = _ordered(task, order)
        if minutes is not None:
            settings["time_budget"] = 60 * minutes
        check_resumable(run, opened.config, changed_config(opened.config, settings))
        settings = {key: value for key, value in settings.items() if key != "task"}
    else:
        if not is_helper_process():
            check_free(run, "resume it with --resume, or choose another folder")
        base = None if config is None else config_file(config)
        name = _ruled(_ordered(task, order), data, rules)
        opened = Run.create(
            run, name, data=data, config=base, start=start, preset=preset, minutes=minutes, device=device, **settings
        )
        settings = {}
        if opened.chosen is not None:
            output.note(opened.chosen.words())
    result = opened.fit(resume=resume, device=device, devices=devices, progress=True, **settings)
    if is_helper_process():
        return
    if json:
        count = len(opened.dataset.train)
        output.print_json({"run": str(run), "task": opened.config.task, "graphs": count, **_summary(result)})
    else:
        _print(opened, result)
    if result.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _targets(scores: bool, properties: str | None) -> tuple[str, ...] | None:
    """The numbers that latents must tell."""
    return (*(["score"] if scores else []), *(_names("--with-properties", properties) or ())) or None


def _ordered(task: str | None, order: str | None) -> str | None:
    """The name of the task, with the order of its variables where one is given."""
    if order is None:
        return None if task is None else inputs.task_name(task)
    if task is None:
        raise ConfigError("--order is that of a task's variables: give --task, too")
    from dvae.bayesnet.tables import parse_order, with_order

    return with_order(inputs.task_name(task), parse_order(order))


def _ruled(task: str | None, data: Path | None, rules: str | None) -> str | None:
    """The name of the task with the rules of its DAGs, where they are given; without a task, that of the data."""
    if rules is None:
        return task
    if task is None and data is None:
        raise ConfigError("--rules are those of your own DAGs: give --data, or --task file:FILE, too")
    return inputs.with_rules(task or f"file:{Path(str(data)).absolute()}", rules)


def _names(option: str, text: str | None) -> tuple[str, ...] | None:
    """The properties that an option names."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ConfigError(f"{option} {text}: give names of properties, with commas between")
    return names


def _validation(text: str | None) -> float | str | None:
    """A share of the training DAGs, or the path of a file."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return str(Path(text).absolute())


def _summary(result: FitResult) -> dict[str, object]:
    return {
        "ended": result.ended,
        "epochs": result.epochs,
        "final": result.history[-1] if result.history else None,
        "seconds": result.seconds,
        "graphs_per_second": result.graphs_per_second,
    }


def _example(run: Run) -> str:
    """A condition that DAGs can be asked for: a high value of the first."""
    assert run.config.model.conditions is not None
    name = run.config.model.conditions[0]
    values = run.dataset.train.properties[name]
    return f"{name}={float(values[~values.isnan()].quantile(0.9)):.4g}"


def _print(run: Run, result: FitResult) -> None:
    last = result.history[-1] if result.history else None
    loss = "no epoch was finished"
    if last is not None:
        loss = f"{last['loss']:.4f} (reconstruction {last['nll']:.4f}, KL {last['kl']:.4f}), in nats per graph"
    folder = run.folder
    output.print_table(
        [
            ("ended", f"{ENDINGS[result.ended]}, after {output.counted(result.epochs, 'epoch')}"),
            ("loss", loss),
            ("time", f"{result.seconds:.1f} s in all, {result.graphs_per_second:,.0f} graphs/s"),
            ("kept in", str(folder)),
        ],
        title=f"{run.config.model.name} on {run.config.task}",
    )
    if result.ended == "interrupted":
        output.note(f"Go on with:  dvae train --run {folder} --resume")
        return
    output.note("What to try next:")
    output.note(f"  dvae evaluate {folder}")
    output.note(f"  dvae sample {folder} --count 12 --valid --draw {folder / 'samples.svg'}")
    if run.config.model.conditions is not None:
        output.note(f"  dvae sample {folder} --given {_example(run)} --valid")
    own = "" if run.task.can_score else " --score mine:score    # def score(dag) -> float in mine.py"
    output.note(f"  dvae search {folder}{own}")
    budget = run.config.training.time_budget
    longer = f"--epochs {max(2 * result.epochs, 1)}"
    if budget is not None and result.ended == "time-budget":
        longer = f"--minutes {2 * budget / 60:g}"
    output.note(f"  dvae train --run {folder} --resume {longer}")
