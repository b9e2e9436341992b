"""Bayesian networks as a black box of poli, and a solver of one's own on it.

Run it: python examples/poli_black_box.py   (seconds)
Needs poli-core.
"""

# %% Sequences of symbols in, scores out. nasbench201 and enas6-surrogate work alike, where their data are there.
import numpy

from dvae.poli import black_box

box = black_box("asia", evaluation_budget=200)
print(f"{box.info.name}: {box.x0.shape[1]} places, alphabet {box.info.alphabet}")

# %% Random mutation of the best, the plainest of solvers.
chance = numpy.random.default_rng(0)
best, score = box.x0[0], float(box(box.x0)[0, 0])
for _ in range(150):
    child = best.copy()
    child[chance.integers(len(child))] = chance.choice(box.info.alphabet)
    value = float(box(child[None])[0, 0])
    if value >= score:
        best, score = child, value
print(f"after 151 evaluations: {score:.2f}")
print(box.dags(best[None])[0].edges)
