"""`dvae explore`: a page on a trained model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, serving
from dvae.errors import DvaeError, MissingError
from dvae.progress import progress_bar

if TYPE_CHECKING:
    from dvae.dag import DagSet
    from dvae.models import VAE
    from dvae.runs import Run


def explore(
    run: options.Run,
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

    Nothing is written and nothing is fetched; Ctrl-C ends it. Try: dvae explore runs/asia
    """
    from dvae import explorer
    from dvae.runs import Run
    from dvae.studies.storage import has_studies

    opened = Run.open(run, data=data)
    own = [opened.storage] if has_studies(run) else []
    studies = [found for address in study or own for found in explorer.open_studies(address)]
    vae = opened.model(device)
    with progress_bar("Reading the DAGs of the map"):
        known, source = known_dags(opened, vae, points)
    space = explorer.Space.of(vae, known, run.resolve().name, source)
    app = explorer.make_app(explorer.PageModel(space, studies), host=host)
    serving.serve(app, host, port, browser, f"{len(known):,} DAGs ({source})", json)


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
