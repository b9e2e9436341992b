"""PostgreSQL that is restarted under a search, its connections cut: nothing is lost, nothing recorded twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.errors import StudyError
from dvae.studies import Study, study_names
from postgres import postgres_server

pytestmark = pytest.mark.slow

TASK = dvae.tasks.get("asia")


def few_edges(dag: Dag) -> float:
    time.sleep(0.05)
    return -float(len(dag.edges))


@pytest.fixture
def server() -> Iterator[Any]:
    with postgres_server() as server:
        yield server


def control(server: Any, *words: str) -> None:
    import pgserver

    pgserver.pg_ctl([*words, "-w"], pgdata=server.pgdata, user=server.system_user)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_search_goes_on_when_its_server_is_restarted(mode: str, server: Any) -> None:
    vae = dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)
    options: dict[str, Any] = {"score": few_edges, "strategy": "random", "budget": 40, "batch": 8}
    whole = dvae.search(vae, TASK, **options)
    ended, restarts = threading.Event(), []

    def restart() -> None:
        while len(restarts) < 3 and not ended.wait(1.0):
            control(server, "restart", "-m", mode)
            restarts.append(mode)

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        study = dvae.search(vae, TASK, storage=server.get_uri(), name="one", workers=2, heartbeat=1, **options)
    finally:
        ended.set()
        thread.join()
    assert restarts
    assert [trial.dag for trial in study.trials] == [trial.dag for trial in whole.trials]
    assert [trial.score for trial in study.trials] == [trial.score for trial in whole.trials]
    study.close()


def test_a_server_that_stays_away_is_said_and_the_search_goes_on_later(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dvae.studies.optuna_ledger.SERVER_ATTEMPTS", 4)
    vae = dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)
    options: dict[str, Any] = {"strategy": "random", "budget": 12, "batch": 4, "heartbeat": 1}
    url = server.get_uri()

    def stopping(study: Study) -> None:
        if len(study.trials) == 8:
            control(server, "stop", "-m", "immediate")

    with pytest.raises(StudyError, match=r"^postgresql://.* does not answer: ") as caught:
        dvae.search(vae, TASK, score=few_edges, storage=url, name="one", on_round=stopping, **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(StudyError):
        study_names(url)
    server.ensure_postgres_running()
    again = dvae.search(vae, TASK, score=few_edges, storage=url, name="one", **options)
    whole = dvae.search(vae, TASK, score=few_edges, **options)
    assert [trial.dag for trial in again.trials] == [trial.dag for trial in whole.trials]
    assert [trial.state for trial in again.trials] == ["complete"] * 12
    again.close()
