"""The page on an address of this machine: bounded, read-only, nothing fetched from elsewhere."""

from __future__ import annotations

import importlib.resources
import io
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from dvae.errors import ConfigError, DvaeError
from dvae.explorer import plotly_file
from dvae.explorer.model import PageModel
from dvae.explorer.network_model import NetworkModel
from dvae.extras import missing

MAX_BYTES = 1_000_000  # of one request
MAX_REQUESTS = 12  # worked on at once; others wait
PATIENCE = 20.0  # seconds that a request waits
SILENCE = 10.0  # seconds that a client may send nothing
BODY_SECONDS = 20.0  # in which a request must be here as a whole
STYLES = ("tools.css",)
SCRIPTS = ("requests.js", "ground.js", "map.js", "address.js", "names.js")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# The page may load from where it came from, and from nowhere else.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

log = logging.getLogger("dvae")


def make_app(model: PageModel, *, host: str = "127.0.0.1") -> Any:
    """The Dash application of the page, for a server at `host`."""
    try:
        from dvae.explorer import page
    except ImportError:
        raise missing("dash", "explorer", "the explorer") from None
    app = _app(model.space.title, page.layout(model), host, ahead=plotly_file.AHEAD)
    page.connect(app, model)
    model.warm_up()
    return app


def make_network_app(model: NetworkModel, *, host: str = "127.0.0.1") -> Any:
    """The Dash application of the page on a Bayesian network, for a server at `host`."""
    try:
        from dvae.explorer import network_page
    except ImportError:
        raise missing("dash", "explorer", "the page") from None
    app = _app(model.title, network_page.layout(model), host)
    network_page.connect(app, model)
    return app


def _app(title: str, layout: Any, host: str, *, ahead: Sequence[str] = ()) -> Any:
    """An application that shows a layout, bounded, with nothing fetched from elsewhere.

    Browsers fetch the scripts `ahead` before the page asks for them.
    """
    from dash import Dash

    app = Dash(
        __name__,
        title=f"{title} · dvae",
        update_title="",
        serve_locally=True,
        include_assets_files=False,
        index_string=_skeleton(ahead),
        on_error=_show_error,
        add_log_handler=False,
    )
    app.layout = layout
    _bound(app.server, host)
    plotly_file.serve(app.server)
    return app


def make_server(app: Any, host: str, port: int) -> Any:
    """A server of the application, not started yet; port 0 takes any free one, `port` of the server tells which."""
    from werkzeug.serving import WSGIRequestHandler
    from werkzeug.serving import make_server as make

    class Quiet(WSGIRequestHandler):
        timeout = SILENCE  # of the socket, so that a half-sent request ends

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            log.debug("%s %s", self.requestline, code)

    # A port that werkzeug cannot have makes it print and exit; one that we cannot have is an error like any other.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        ours = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"the page cannot be served at {host}, port {port}: {reason}") from None
    with ours:
        return make(host, port, app.server, threaded=True, request_handler=Quiet, fd=ours.fileno())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _skeleton(ahead: Sequence[str]) -> str:
    """The page around what Dash shows; its style sheets and scripts are in the folder `browser`."""
    from dvae.explorer.graph_window import head_parts

    room = importlib.resources.files("dvae.explorer")
    parts = {
        kind: [(room / "browser" / name).read_text(encoding="utf-8") for name in names]
        for kind, names in (("style", STYLES), ("script", SCRIPTS))
    }
    page = (room / "page.html").read_text(encoding="utf-8")
    links = [f'<link rel="preload" as="script" href="{path}">' for path in ahead]
    page = page.replace("{%dvae_ahead%}", "\n".join(links))
    for kind, texts in parts.items():
        page = page.replace(f"{{%dvae_{kind}s%}}", "\n".join(f"<{kind}>\n{text}</{kind}>" for text in texts))
    return page.replace("</head>", head_parts() + "</head>", 1)


def _show_error(error: Exception) -> None:
    """Shows an error on the page in plain words; a defect of ours goes to the log, with its traceback."""
    from dash import set_props

    from dvae.explorer.controls import error_line

    set_props("message", {"children": error_line(plain_words(error)), "className": "message shown"})


def plain_words(error: Exception) -> str:
    """An error as a sentence for the page; a defect of ours is logged instead."""
    if isinstance(error, DvaeError):
        sentence = str(error)
        return sentence[:1].upper() + sentence[1:]
    log.error("a callback of the page failed", exc_info=error)
    return "Something went wrong on our side; the terminal shows what. The page still works."


def _body(environ: dict[str, Any]) -> bytes:
    """What a request carries, up to one byte more than is allowed; `OSError` where it does not come in time."""
    length, stream = environ.get("CONTENT_LENGTH") or "", environ["wsgi.input"]
    if not length and not environ.get("wsgi.input_terminated"):
        return b""
    wanted = min(int(length), MAX_BYTES + 1) if length.isdecimal() else MAX_BYTES + 1
    ends, parts, got = time.monotonic() + BODY_SECONDS, [], 0
    while got < wanted:
        part = (stream.read1 if hasattr(stream, "read1") else stream.read)(min(wanted - got, 65536))
        if not part:
            if length.isdecimal():
                raise OSError("cut off")
            break
        parts.append(part)
        got += len(part)
        if time.monotonic() > ends:
            raise OSError("too slow")
    return b"".join(parts)


def _bound(server: Any, host: str) -> None:
    """Limits on size and number of requests, and words for whatever goes wrong on the way."""
    from flask import abort, jsonify, request
    from werkzeug.exceptions import HTTPException

    server.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    places = threading.BoundedSemaphore(MAX_REQUESTS)

    def check() -> None:
        # A page of somebody else's, or a name that leads here, must not speak to us.
        name = request.host.rsplit(":", 1)[0].strip("[]")
        if is_loopback(host) and name not in LOOPBACK and name != host:
            abort(403, "This page answers only to the machine it runs on.")
        origin = request.headers.get("Origin")
        if origin is not None and origin.split("://")[-1] != request.host:
            abort(403, "This page answers only to itself.")

    application = server.wsgi_app

    def in_turn(environ: dict[str, Any], start_response: Any) -> Any:
        # Whoever sends half a request waits for himself, and takes nobody's place.
        try:
            body = _body(environ)
        except (OSError, ValueError):
            start_response("408 Request Timeout", [("Content-Type", "application/json"), ("Connection", "close")])
            return [b'{"message": "The request did not come as a whole."}']
        environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        if not places.acquire(timeout=PATIENCE):
            body = b'{"message": "The page is busy; try again in a moment."}'
            start_response("503 Service Unavailable", [("Content-Type", "application/json")])
            return [body]
        try:
            return application(environ, start_response)
        finally:
            places.release()

    server.wsgi_app = in_turn

    def headers(response: Any) -> Any:
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def failed(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return jsonify(message=error.description or error.name), error.code or 500
        if isinstance(error, DvaeError):
            return jsonify(message=plain_words(error)), 400
        # Dash takes apart what a browser sends before any of our code sees it; what it cannot read is no request.
        log.debug("a request could not be read", exc_info=error)
        return jsonify(message=f"The request could not be read ({type(error).__name__})."), 400

    server.before_request(check)
    server.after_request(headers)
    server.register_error_handler(Exception, failed)
