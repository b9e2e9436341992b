"""A tiny reproduction on made-up architectures, shared by the tests; they must not change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvae.dag import ScoredDag, write_jsonl
from dvae.files import sha256_of
from dvae.paper import Preset, Source, StageStore, preset, run_stages, stages_of, write_plan
from dvae.tasks import EnasTask

OWN = "data/architectures.jsonl.gz"


def made_up_architectures(run: Path, count: int = 80) -> Source:
    dags = EnasTask(6).sample(count, seed=0)
    (run / OWN).parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(run / OWN, [ScoredDag(dag, len(dag.edges) / 30) for dag in dags])
    return Source("enas6", file=OWN, sha256=sha256_of(run / OWN))


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables 1 and 3, the figures and the searches; Table 2 of the Bayesian networks is left out."""
    run = tmp_path_factory.mktemp("runs") / "tiny"
    settings = preset("tiny", made_up_architectures(run), Source("asia"))
    write_plan(run, settings)
    store = StageStore(run, progress=False)
    for target in ("table1", "table3", "bo-enas", "bo-bn", "figures"):
        outcome = run_stages(stages_of(target, settings), store, lambda sentence: None)
        assert outcome.failed == {}
    return run


@pytest.fixture(scope="session")
def tiny(tiny_run: Path) -> Preset:
    from dvae.paper.report import read_plan

    return read_plan(tiny_run)
