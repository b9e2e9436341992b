"""The page behind its address: what it refuses, and that nothing sent to it ends without words."""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dvae.errors import ConfigError, DagError
from dvae.explorer import PageModel, Space, is_loopback, make_app, make_server, server
from dvae.explorer.colours import series_colour
from dvae.studies.study import Study

from .conftest import MakeStudy

UPDATE = "/_dash-update-component"
PACKAGES = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), Path(server.__file__).resolve().parents[3])


@pytest.fixture(scope="module")
def app(asia: Space) -> Any:
    from dvae.studies.ledger import MemoryLedger

    from .conftest import extend

    ledger = MemoryLedger("search")
    extend(ledger, asia.known.dags, [-3.0, None, -1.0, -2.0])
    return make_app(PageModel(asia, [Study(ledger)], others=[PageModel(asia)]))


@pytest.fixture
def client(app: Any) -> Any:
    return app.server.test_client()


def test_the_page_opens_and_carries_its_layout(client: Any) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert b"asia" in page.data
    layout = client.get("/_dash-layout")
    assert layout.status_code == 200
    assert len(client.get("/_dash-dependencies").json) >= 18


def test_the_page_may_load_from_nowhere_else(client: Any) -> None:
    page = client.get("/")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(addresses) > 5
    assert [address for address in addresses if not address.startswith(("/", "data:image/"))] == []


@pytest.mark.parametrize("name", ["evil.example", "evil.example:8050", "127.0.0.1.evil.example", "0.0.0.0"])
def test_other_names_for_this_machine_are_refused(client: Any, name: str) -> None:
    answer = client.get("/", headers={"Host": name})
    assert answer.status_code == 403
    assert "answers only" in answer.json["message"]


@pytest.mark.parametrize("name", ["localhost:8050", "127.0.0.1", "[::1]:8050"])
def test_its_own_names_are_known(client: Any, name: str) -> None:
    assert client.get("/", headers={"Host": name}).status_code == 200


def test_a_page_of_somebody_else_cannot_speak_to_us(client: Any) -> None:
    headers = {"Host": "127.0.0.1:8050", "Origin": "http://evil.example"}
    assert client.post(UPDATE, json={}, headers=headers).status_code == 403
    headers["Origin"] = "http://127.0.0.1:8050"
    assert client.get("/", headers=headers).status_code == 200


def test_a_request_is_bounded_in_size(client: Any) -> None:
    answer = client.post(UPDATE, data=b"x" * (server.MAX_BYTES + 1), content_type="application/json")
    assert answer.status_code == 413
    assert answer.json["message"]


def test_requests_are_bounded_in_number(asia: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_REQUESTS", 1)
    monkeypatch.setattr(server, "PATIENCE", 0.01)
    app = make_app(PageModel(asia))

    @app.server.route("/inside")
    def inside() -> Any:
        return app.server.test_client().get("/")

    answer = app.server.test_client().get("/inside")
    assert answer.status_code == 503
    assert "busy" in answer.json["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/assets/../page.html",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/_dash-component-suites/dash/../../../../etc/passwd",
        "/_dash-component-suites/dvae/explorer/page.html",
        "/_dash-component-suites/os/../etc/passwd",
        "/run.toml",
        "/file:///etc/passwd",
    ],
)
def test_no_file_can_be_asked_for(client: Any, path: str) -> None:
    answer = client.get(path)
    body = answer.get_data(as_text=True)
    assert "root:" not in body
    assert ":root {" not in body or answer.status_code == 200  # the page itself answers unknown paths
    if answer.status_code != 200:
        assert answer.json["message"]


def junk(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and those the page might send."""
    kind = chance.randrange(14 if depth < 3 else 8)
    simple = [None, True, -1, 2**40, 1.5, float(chance.randrange(100)), "", "../../etc/passwd"]
    if kind < 8:
        return simple[kind]
    if kind == 8:
        return [junk(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 9:
        names = ["known", "latent", "types", "edges", "x", "y", "trial", "study", "run", "end", "by", "box", "called"]
        return {chance.choice(names): junk(chance, depth + 1)}
    if kind == 10:
        return {"known": chance.randrange(-1, 90)}
    if kind == 11:
        return {"latent": [chance.uniform(-9, 9) for _ in range(chance.choice([5, 6]))]}
    if kind == 12:
        return {"types": ["A", "S", junk(chance, depth + 1)], "edges": [[0, chance.randrange(4)]]}
    if chance.random() < 0.3:
        corners = [[chance.uniform(-9, 9), junk(chance, 3)] for _ in range(chance.randrange(5))]
        return {
            "plane": "PC 1 and 2",
            "corners": corners,
            "by": "score",
            "box": {},
            "run": 0,
            "end": "A",
            "x": 1,
            "y": 1,
        }
    words = ["[A][S]", "PC 1 and 2", "Walk", "Search", "Neighbourhood", "line", "5", "jsonl", "é" * 300]
    words += [
        "Gallery",
        "Runs",
        "density",
        "score",
        "edges > 3, A -> S",
        "selected",
        "bookmarks",
        "rising",
        "all trials",
    ]
    return chance.choice(words)


def requests(dependencies: list[dict[str, Any]], chance: random.Random, rounds: int) -> Iterator[dict[str, Any]]:
    """For every callback, requests of the right shape with wrong values."""
    for callback in dependencies * rounds:
        if callback["clientside_function"]:
            continue
        inputs = [_filled(part, chance) for part in callback["inputs"]]
        state = [_filled(part, chance) for part in callback["state"]]
        output = callback["output"]
        names = output.strip(".").split("...")
        outputs = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
        changed = chance.choice(inputs)
        one = changed[0] if isinstance(changed, list) and changed else changed
        trigger = f"{_identifier(one)}.{one['property']}" if isinstance(one, dict) else ""
        yield {
            "output": output,
            "outputs": outputs if output.startswith("..") else outputs[0],
            "inputs": inputs,
            "state": state,
            "changedPropIds": [trigger],
        }


def _filled(part: dict[str, Any], chance: random.Random) -> Any:
    if not part["id"].startswith("{"):
        return {"id": part["id"], "property": part["property"], "value": junk(chance)}
    pattern = json.loads(part["id"])
    identifiers = [{**pattern, "index": junk(chance)} for _ in range(chance.randrange(1, 3))]
    return [{"id": one, "property": part["property"], "value": junk(chance)} for one in identifiers]


def _identifier(part: dict[str, Any]) -> str:
    name = part["id"]
    return name if isinstance(name, str) else json.dumps(name, sort_keys=True, separators=(",", ":"))


class Opened:
    """The files that this process opens while `active`; an audit hook cannot be taken away again."""

    def __init__(self) -> None:
        self.active = False
        self.paths: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.active and event == "open" and isinstance(arguments[0], str):
            self.paths.append(arguments[0])


OPENED = Opened()


@pytest.mark.parametrize("seed", range(3))
def test_no_payload_ends_without_words_or_opens_a_file(client: Any, seed: int) -> None:
    chance = random.Random(seed)
    dependencies = client.get("/_dash-dependencies").json
    OPENED.paths.clear()
    answered = 0
    for body in requests(dependencies, chance, rounds=6):
        OPENED.active = True
        try:
            answer = client.post(UPDATE, json=body)
        finally:
            OPENED.active = False
        assert answer.status_code in (200, 204, 400), (answer.status_code, body)
        if answer.status_code == 400:
            assert answer.json["message"]
        assert "on our side" not in answer.get_data(as_text=True), body
        answered += answer.status_code == 200
    assert answered > 50
    outside = [path for path in OPENED.paths if not _ours(Path(path))]
    assert outside == []


def _ours(path: Path) -> bool:
    """Whether a path belongs to installed packages, this one's source or the system's list of processors."""
    resolved = path.resolve()
    return any(resolved.is_relative_to(folder) for folder in PACKAGES) or path.parts[:2] in [
        ("/", "proc"),
        ("/", "dev"),
    ]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"3", b'"x"', b'{"output": 5}', b'{"output": "nobody.home", "inputs": []}', b"\xff"],
)
def test_a_request_that_is_none_gets_words(client: Any, body: bytes) -> None:
    answer = client.post(UPDATE, data=body, content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert answer.json["message"]


def test_a_refused_payload_is_shown_on_the_page(client: Any) -> None:
    body = {
        "output": "current.data@0", "outputs": {}, "inputs": [], "state": [], "changedPropIds": ["map-click.data"],
    }  # fmt: skip
    callback = next(
        each
        for each in client.get("/_dash-dependencies").json
        if each["inputs"] == [{"id": "map-click", "property": "data"}]
    )
    name, _, prop = callback["output"].rpartition(".")
    body |= {
        "output": callback["output"],
        "outputs": {"id": name, "property": prop},
        "inputs": [{"id": "map-click", "property": "data", "value": {"x": "far"}}],
        "state": [{**part, "value": None} for part in callback["state"]],
    }
    answer = client.post(UPDATE, json=body)
    assert answer.status_code == 200
    shown = answer.json["sideUpdate"]["message"]
    assert "shown" in shown["className"]
    assert "A place on the map must be a number" in json.dumps(shown["children"])


def test_what_is_our_fault_is_logged_and_said_without_details(caplog: pytest.LogCaptureFixture) -> None:
    assert server.plain_words(DagError("the graph has a cycle")) == "The graph has a cycle"
    assert "secret" not in server.plain_words(RuntimeError("secret"))
    assert "secret" in caplog.text


def test_addresses_of_this_machine_alone_are_known() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "192.168.1.4", "::", "example.org", "")] == [False] * 5


def test_a_port_that_is_taken_is_said_so(app: Any, capfd: pytest.CaptureFixture[str]) -> None:
    first = make_server(app, "127.0.0.1", 0)
    try:
        with pytest.raises(ConfigError, match=f"port {first.port}"):
            make_server(app, "127.0.0.1", first.port)
    finally:
        first.server_close()


def test_a_page_that_all_may_open_answers_to_any_name(asia: Space) -> None:
    client = make_app(PageModel(asia), host="0.0.0.0").server.test_client()
    assert client.get("/", headers={"Host": "somewhere.example"}).status_code == 200


def test_without_a_study_the_search_panel_says_how_to_follow_one(asia: Space, make_study: MakeStudy) -> None:
    without = make_app(PageModel(asia)).server.test_client().get("/_dash-layout").get_data(as_text=True)
    assert "This page follows no search" in without
    with_one = make_app(PageModel(asia, [make_study([1.0])])).server.test_client()
    assert "This page follows no search" not in with_one.get("/_dash-layout").get_data(as_text=True)


def test_every_study_can_be_chosen_and_has_its_colour(asia: Space, make_study: MakeStudy) -> None:
    studies = [make_study([1.0], name=name) for name in ("newest", "older")]
    page = json.dumps(make_app(PageModel(asia, studies)).server.test_client().get("/_dash-layout").json)
    for number, name in enumerate(("newest", "older")):
        assert re.search(rf'"background": "{series_colour(number)}".{{1,200}}"{name}"', page)


def test_half_sent_requests_take_nobodys_place(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SILENCE", 1.0)
    page = make_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=page.serve_forever, daemon=True)
    thread.start()
    head = (
        f"POST {UPDATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{{"
    )
    stalled = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(3 * server.MAX_REQUESTS)]
    try:
        for one in stalled:
            one.sendall(head.encode())
        with urllib.request.urlopen(f"http://127.0.0.1:{page.port}/", timeout=server.PATIENCE) as answer:
            assert answer.status == 200
        stalled[0].settimeout(20)
        assert b"408" in stalled[0].recv(1000)
    finally:
        for one in stalled:
            one.close()
        page.shutdown()
        thread.join()
        page.server_close()
