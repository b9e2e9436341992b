"""`dvae explore`: a page on a trained model."""

from __future__ import annotations

import threading
import webbrowser
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dvae.cli import options
from dvae.errors import ConfigError, DvaeError, MissingError
from dvae.progress import progress_bar

if TYPE_CHECKING:
    from dvae.dag import DagSet
    from dvae.models import VAE
    from dvae.runs import Run

PORT = 8050


def explore(
    run: options.Run,
    study: Annotated[
        list[str] | None,
        typer.Option(
            "--study", metavar="URL", help="Follow all studies of a storage, or one of them: URL#NAME; may be repeated."
        ),
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=200_000, help="How many DAGs the map shows.")] = 20_000,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help=f"Port of the page; {PORT}, or a free one, by default.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address of the page; by default only this machine can open it.")] = (
        "127.0.0.1"
    ),
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    data: options.MovedData = None,
    device: options.Device = "auto",
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
    server = _server(app, host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{server.port}/"
    if not explorer.is_loopback(host):
        print(f"Anyone who can reach {host} can open this page and make this machine compute.", flush=True)
    print(f"{len(known):,} DAGs ({source}). The page is at {address} - Ctrl-C ends it.", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    try:
        server.serve_forever()  # until Ctrl-C
    finally:
        server.server_close()
    print("The page is closed.")


def _server(app: Any, host: str, port: int | None) -> Any:
    """A server at the port asked for; where none was and the usual one is taken, at a free one."""
    from dvae import explorer

    try:
        return explorer.make_server(app, host, PORT if port is None else port)
    except ConfigError:
        if port is not None:
            raise
        return explorer.make_server(app, host, 0)


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
