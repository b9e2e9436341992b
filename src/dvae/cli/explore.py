"""`dvae explore`: a page on a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, serving
from dvae.errors import ConfigError, DvaeError, MissingError
from dvae.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dvae.dag import DagSet
    from dvae.explorer import Space
    from dvae.models import VAE
    from dvae.runs import Run


def explore(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN [RUN ...]",
            help="The folder of a run, as `dvae train` writes it; further runs are shown beside it.",
            show_default=False,
        ),
    ],
    study: Annotated[
        list[str] | None,
        typer.Option(
            "--study", metavar="URL", help="Follow all studies of a storage, or one of them: URL#NAME; may be repeated."
        ),
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=200_000, help="How many DAGs the map shows.")] = 20_000,
    port: serving.Port = None,
    host: serving.Host = serving.HOST,
    browser: serving.Browser = True,
    data: options.MovedData = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Open a page on a trained model: its map of DAGs, to click, edit, walk and search.

    Nothing is fetched, and nothing is written but bookmarks; Ctrl-C ends it. With several runs, the same DAG is marked
    on all their maps. Try: dvae explore runs/asia
    """
    from dvae import explorer
    from dvae.runs import Run, compare
    from dvae.studies.storage import has_studies

    first, *more = runs
    if data is not None and more:
        raise ConfigError("--data says where the data of one run are now, but several runs were named; explore one")
    opened = Run.open(first, data=data)
    own = [opened.storage] if has_studies(first) else []
    studies = [found for address in study or own for found in explorer.open_studies(address)]
    space, source = space_of(opened, points, device)
    others = [explorer.PageModel(space_of(Run.open(each), points, device)[0]) for each in more]
    comparison = compare(runs) if more else None
    bookmarks = explorer.Bookmarks(first / explorer.BOOKMARKS_FILE)
    model = explorer.PageModel(space, studies, bookmarks=bookmarks, others=others, comparison=comparison)
    app = explorer.make_app(model, host=host)
    serving.serve(app, host, port, browser, f"{len(space.known):,} DAGs ({source})", json)


def space_of(run: Run, points: int, device: str) -> tuple[Space, str]:
    """The space of a run, and where the DAGs of its map come from."""
    from dvae.explorer import Space

    vae = run.model(device)
    with progress_bar("Reading the DAGs of the map"):
        known, source = known_dags(run, vae, points)
    return Space.of(vae, known, run.folder.resolve().name, source, splits_of(run, len(known))), source


def splits_of(run: Run, count: int) -> Sequence[str]:
    """The part of the data that each of the first DAGs belongs to; none where the data are gone."""
    from dvae.dag.jsonl import SPLITS

    try:
        data = run.dataset
    except DvaeError:
        return []
    sizes = (data.train_size, data.validation_size, len(data) - data.train_size - data.validation_size)
    return [name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size)][:count]


def known_dags(run: Run, vae: VAE, points: int) -> tuple[DagSet, str]:
    """The DAGs of the map and where they come from: the run's data or, where they are gone, samples."""
    from dvae.dag import DagSet

    source = "the run's data"
    try:
        whole = run.dataset.everything
    except DvaeError as error:
        try:
            dags = vae.task.sample(points, seed=0)
            source = f"sampled by the task, since its data are not there: {error}"
        except DvaeError:
            dags = vae.sample(min(points, 2000), seed=0, valid=True)
            source = f"sampled from the model, since its data are not there: {error}"
        whole = DagSet.of(dags)
    if not len(whole):
        raise MissingError(f"{run.folder}: there are no DAGs to draw a map of")
    shown = DagSet(whole.dags[:points], whole.scores[:points])
    return shown, source + (f", the first {points:,} of {len(whole):,}" if len(whole) > points else "")
