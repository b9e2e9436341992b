"""A latent space that proposes networks, and knowledge while decoding."""

from __future__ import annotations

import numpy as np
import torch

from dvae.bayesnet import Knowledge, Memetic, Table, learn
from dvae.models import build
from dvae.strategies.latent_networks import LatentNetworks
from dvae.tasks import BayesNetTask

KNOWN = Knowledge(required=(("d", "a"),), forbidden=(("a", "b"), ("b", "c")), tiers=(("e",), ("f",)), max_parents=2)
NAMES = tuple("abcdef")


def masks(parents: tuple[tuple[str, ...], ...]) -> list[int]:
    return [sum(1 << NAMES.index(parent) for parent in above) for above in parents]


def test_decoded_networks_keep_to_what_is_known() -> None:
    task = BayesNetTask("bn:a,b,c,d,e,f", NAMES, knowledge=KNOWN)
    vae = build("dvae", task, hidden=10, latent=4, seed=0)
    constraints = KNOWN.constraints(NAMES)
    edges = 0
    for dag in vae.decode(torch.randn(40, 4, generator=torch.Generator().manual_seed(0)), valid=True, seed=0):
        place = [NAMES.index(str(label)) for label in dag.types]
        parents = [0] * 6
        for source, target in dag.edges:
            parents[place[target]] |= 1 << place[source]
        assert constraints.problem(parents) is None
        edges += len(dag.edges)
    assert edges > 40
    again = BayesNetTask.from_spec(task.spec())
    assert again.knowledge == KNOWN
    assert "knowledge" not in BayesNetTask("bn:a,b", ("a", "b")).spec()


def test_a_search_with_a_latent_space_keeps_to_what_is_known_and_uses_it() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(2, size=(300, 6))
    for column in range(1, 6):
        copied = generator.random(300) < 0.7
        codes[copied, column] = (codes[copied, column - 1] + codes[copied, max(column - 2, 0)]) % 2
    table = Table.of({name: codes[:, place] for place, name in enumerate(NAMES)})
    space = LatentNetworks(hidden=8, latent=4, epochs=1, count=4, fewest=3)
    found = learn(table, algorithm=Memetic(propose=space, patience=25, share=0.7), knowledge=KNOWN)
    assert space.fits > 0
    assert found.proposals["proposed"][0] > 0
    assert KNOWN.constraints(NAMES).problem(masks(found.parents)) is None
