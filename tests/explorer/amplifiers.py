"""A small model of amplifiers that was not trained, and a search among them for several properties."""

from __future__ import annotations

from dvae import models, tasks
from dvae.dag import DagSet
from dvae.explorer import Space
from dvae.strategies import Constraint, Objectives
from dvae.studies.ledger import MemoryLedger, Outcome
from dvae.studies.study import ABOUT, Study
from dvae.studies.values import OBJECTIVES, VALUES

COUNT = 40
TWO = Objectives(("gain", "bw"), (), (Constraint("pm", ">=", 2.0),))
THREE = Objectives(("gain", "bw", "fom"), (), TWO.constraints)


def amplifier_space() -> Space:
    """The first amplifiers of the task, in the space of a model that can be asked for two properties."""
    task = tasks.get("circuits")
    known = DagSet.of(task.dataset().train.dags[:COUNT])
    vae = models.build("dvae", task, hidden=12, latent=5, seed=0, conditions=("fom", "stages"))
    batch = task.batch(known.dags)
    assert vae.conditions is not None
    vae.conditions.fit(batch)
    vae.calibrate(batch)
    return Space.of(vae, known, "amplifiers")


def amplifier_study(space: Space, objectives: Objectives = TWO, name: str = "wishes") -> Study:
    """A study that has tried all DAGs of the space, each worth what the data say of it."""
    ledger, wanted = MemoryLedger(name), objectives.ranged(space.known)
    about = {"strategy": "random", "budget": 60, "direction": "maximize", OBJECTIVES: wanted.to_mapping()}
    ledger.describe(ABOUT, about)
    for dag in space.known.dags:
        values = dict(dag.properties)
        number = ledger.propose(dag, {})
        ledger.take("worker")
        ledger.finish(number, Outcome(wanted.score(values), values=values), {VALUES: values})
    return Study(ledger)
