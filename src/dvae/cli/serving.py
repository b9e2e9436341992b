"""Pages of this program: their options, and serving one until Ctrl-C."""

from __future__ import annotations

import sys
import threading
import webbrowser
from typing import Annotated, Any

import typer

from dvae.cli import output
from dvae.errors import ConfigError

PORT = 8050
HOST = "127.0.0.1"
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help=f"Port of the page; {PORT}, or a free one, by default.")
]
Host = Annotated[str, typer.Option(help="Address of the page; by default only this machine can open it.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")]


def serve(app: Any, host: str, port: int | None, browser: bool, what: str, as_json: bool = False) -> None:
    """Serves a page until Ctrl-C; `what` says what it shows. As JSON, one value says where, when it is there."""
    from dvae import explorer

    server = _server(app, host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{server.port}/"
    if not explorer.is_loopback(host):
        warning = f"Anyone who can reach {host} can open this page and make this machine compute."
        print(warning, file=sys.stderr if as_json else sys.stdout, flush=True)
    if as_json:
        output.print_json({"address": address, "shows": what})
        sys.stdout.flush()
    else:
        print(f"{what}. The page is at {address} - Ctrl-C ends it.", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    try:
        server.serve_forever()  # until Ctrl-C
    finally:
        server.server_close()
    if not as_json:
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
