"""Small spaces of the three kinds of task, and a study that grows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dvae import models, tasks
from dvae.dag import Dag, DagSet, Label
from dvae.explorer import PageModel, Space
from dvae.studies.ledger import MemoryLedger, Outcome
from dvae.studies.study import ABOUT, ENDED, Study
from dvae.tasks import GenericTask

from .browsers import opened, served

MakeStudy = Callable[..., Study]


def space_of(name: str, count: int = 80) -> Space:
    """An untrained model of a task with a sampler: it encodes and decodes as a trained one does, only worse."""
    task = tasks.get(name)
    dags = task.sample(count, seed=1)
    scores: list[float | None] = list(task.scores(dags)) if name == "asia" else [len(dag.edges) / 9 for dag in dags]
    vae = models.build("dvae", task, hidden=12, latent=6, seed=3)
    vae.calibrate(task.batch(dags))
    return Space.of(vae, DagSet(tuple(dags), tuple(scores)), name)


def small_dags(chance: random.Random, count: int, max_nodes: int, labels: Sequence[Label]) -> list[Dag]:
    """Random DAGs of two nodes or more, each with about half of all possible edges."""
    dags = []
    for _ in range(count):
        nodes = chance.randint(2, max_nodes)
        edges = tuple((u, v) for v in range(nodes) for u in range(v) if chance.random() < 0.5)
        dags.append(Dag(tuple(chance.choice(labels) for _ in range(nodes)), edges))
    return dags


@pytest.fixture(scope="session")
def asia() -> Space:
    return space_of("asia")


@pytest.fixture(scope="session")
def enas() -> Space:
    return space_of("enas6")


@pytest.fixture(scope="session")
def pipelines() -> Space:
    """DAGs of two to five nodes with any labels, some without a score."""
    chance = random.Random(5)
    dags = small_dags(chance, 40, 5, ("load", "clean", "join", 7))
    scores = [None if number % 4 == 0 else chance.random() for number in range(len(dags))]
    vae = models.build("dvae", GenericTask.infer("pipelines", dags), hidden=12, latent=5, seed=0)
    return Space.of(vae, DagSet(tuple(dags), tuple(scores)), "pipelines")


@pytest.fixture(scope="session")
def long_pipelines() -> Space:
    """DAGs of 20 to 40 nodes, written layer by layer."""
    chance = random.Random(6)
    dags = []
    for _ in range(20):
        count = chance.randint(20, 40)
        edges = {(chance.randrange(max(0, v - 5), v), v) for v in range(1, count) for _ in range(2)}
        dags.append(Dag(tuple(chance.choice(["load", "clean", "join"]) for _ in range(count)), tuple(edges)))
    task = GenericTask.infer("long pipelines", dags)
    vae = models.build("layerwise", task, hidden=12, latent=5, token_width=8, seed=0)
    return Space.of(vae, DagSet(tuple(dags), tuple(chance.random() for _ in dags)), "long pipelines")


@pytest.fixture(params=["asia", "enas", "pipelines", "long_pipelines"])
def any_space(request: pytest.FixtureRequest) -> Space:
    space: Space = request.getfixturevalue(request.param)
    return space


@pytest.fixture
def model(asia: Space) -> PageModel:
    return PageModel(asia)


@pytest.fixture
def make_study(asia: Space) -> MakeStudy:
    """Studies of the Bayesian networks."""

    def make(scores: list[float | None], *, name: str = "search", direction: str = "maximize") -> Study:
        return study(asia, name, scores, budget=50, direction=direction)

    return make


def extend(ledger: MemoryLedger, dags: tuple[Dag, ...], scores: list[float | None]) -> None:
    """Proposes and finishes one more trial for each score."""
    for score in scores:
        number = ledger.propose(dags[len(ledger.trials()) % len(dags)], {})
        ledger.take("worker")
        ledger.finish(number, Outcome(score) if score is not None else Outcome(error="it fell over"), {})


def study(
    space: Space,
    name: str,
    scores: list[float | None],
    *,
    budget: int,
    ended: bool = False,
    direction: str = "maximize",
) -> Study:
    """A study in memory with the given scores; None is a failure."""
    ledger = MemoryLedger(name)
    ledger.describe(ABOUT, {"task": "asia", "strategy": "random", "budget": budget, "direction": direction})
    extend(ledger, space.known.dags, scores)
    if ended:
        ledger.describe(ENDED, True)
    return Study(ledger)


def spot_of(space: Space, number: int, plane: str = "By score") -> list[float]:
    """Where a known DAG lies on a map."""
    spot: list[float] = space.plane(plane).project(space.latents[number][None])[0].tolist()
    return spot


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened() as running:
        yield running


@pytest.fixture(scope="module")
def address(model: PageModel) -> Iterator[str]:
    """The page of a module's own `model`."""
    with served(model) as page:
        yield page


@pytest.fixture(scope="session")
def saved_run(asia: Space, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and nothing else; no test may change it."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    asia.vae.save(folder)
    return folder
