"""Decode-and-score as a test function of BoTorch: five rounds of Bayesian optimisation over latents.

Run it: python examples/botorch_function.py   (about twenty seconds)
Needs botorch.
"""

# %% A model whose latents are searched.
import warnings

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

import dvae
from dvae.botorch import LatentScore
from dvae.models import build

warnings.filterwarnings("ignore")  # BoTorch warns of so few steps
torch.manual_seed(0)
task = dvae.tasks.get("asia")
vae = build("dvae", task, hidden=32, latent=8, head="linear", seed=0)
dvae.fit(vae, task.sample(1000, seed=0), epochs=12, batch_size=32, learning_rate=5e-3, progress=False)

# %% A function of latents, with bounds, as all of botorch.test_functions.
function = LatentScore(vae, worst=-20_000.0)
points = function.points(task.sample(10, seed=1))
values = function(points)[:, None]
print(f"a box of {function.dim} dimensions; the best of ten points is {values.max():.1f}")
print(f"the best of all networks would have {function.optimal_value:.1f}")

# %% BoTorch's own loop.
for _ in range(5):
    scaled = {"input_transform": Normalize(function.dim, bounds=function.bounds), "outcome_transform": Standardize(1)}
    model = SingleTaskGP(points, values, **scaled)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    improvement = LogExpectedImprovement(model, values.max())
    point, _ = optimize_acqf(improvement, function.bounds, q=1, num_restarts=2, raw_samples=32)
    points, values = torch.cat([points, point]), torch.cat([values, function(point)[:, None]])

best = points[values.argmax()][None]
print(f"after five more it is {values.max():.1f}:", function.dags(best)[0])
print(f"{function.evaluations} different DAGs were scored")
