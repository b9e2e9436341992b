"""Evaluations to the best thousandth of NAS-Bench-201: our search beside solvers of others, from the same starts.

    python benchmarks/solvers.py RUN --lines solvers.jsonl --seeds 10 --first-seed 20
    python benchmarks/solvers.py RUN --lines solvers.jsonl --seeds 10 --first-seed 20 --solvers cma-es,turbo

RUN is a model of the cells without their scores (`dvae train --task nasbench201 --run RUN`), as in nas_search.py: the
same 20 random cells begin every search of a seed and count, ten are asked for at once, 400 are scored at most, and a
cell that was scored before costs nothing. Solvers of numbers work on one-hot codes of the six operations (30 numbers,
the largest of each five counts) or, `-latent`, on our model's latents, decoded as our search decodes them. Every
search is appended to the file of lines as it ends; those that are there are not made again. What cannot be installed
is said, with the reason, in the summary (`ABSENT`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import dvae
from dvae import provenance
from dvae.dag import Dag
from dvae.models import VAE
from dvae.strategies.base import decoded_dags
from dvae.tasks import TabularTask
from dvae.tasks.codes import Code, code_of

TOP = 0.001
PATIENCE = 200  # rounds without a cell that was not scored before, after which a solver is said to be stuck
PATIENCE_OF_MODELS = 20  # the same of those that fit a model in every round
ABSENT = {
    "poli-baselines": "no distribution of that name on the package index; TuRBO, SAASBO and random mutation are "
    "written here from BoTorch's parts and their papers, LaMBO-2 is that of its authors' pytorch-cortex (lambo.py)",
}


class Found(Exception):
    """The target was reached."""


class Spent(Exception):
    """The budget is used up, or the solver is stuck."""


class Meter:
    """Scores cells, counts those that are new, and ends the search."""

    def __init__(self, task: TabularTask, target: float, budget: int) -> None:
        self.task, self.target, self.budget = task, target, budget
        self.scores: dict[Any, float] = {}
        self.curve: list[float] = []

    def score(self, dag: Dag) -> float:
        key = self.task.key(dag)
        if key not in self.scores:
            if len(self.scores) >= self.budget:
                raise Spent
            self.scores[key] = score = self.task.scores([dag])[0]
            self.curve.append(max([score, *self.curve[-1:]]))
            if len(self.curve) % 50 == 0:
                print(f"{len(self.curve)} cells, best {self.curve[-1]}", file=sys.stderr, flush=True)
            if score >= self.target:
                raise Found
        return self.scores[key]

    def many(self, dags: list[Dag]) -> list[float]:
        return [self.score(dag) for dag in dags]


class Space:
    """Points of a box, and the cells they stand for: one-hot codes, or latents of a model."""

    def __init__(self, code: Code, vae: VAE | None) -> None:
        self.code, self.vae = code, vae
        self.width = len(code.choices[0])
        if vae is None:
            self.low, self.high = torch.zeros(len(code) * self.width), torch.ones(len(code) * self.width)
        else:
            centre, spread = vae.latent_mean.double().cpu(), vae.latent_std.double().cpu()
            self.low, self.high = centre - 3 * spread, centre + 3 * spread

    def points(self, dags: list[Dag], inside: bool = False) -> Tensor:
        """In the unit cube: corners or, `inside`, random points that stand for the same cells.

        A box around a corner holds no other cell until its sides are longer than one: at corners TuRBO never moves.
        """
        if self.vae is None:
            numbers = torch.tensor([self.code.numbers(dag) for dag in dags])
            if not inside:
                return torch.nn.functional.one_hot(numbers, self.width).flatten(1).double()
            drawn = torch.rand(*numbers.shape, self.width, dtype=torch.float64)
            largest, where = drawn.max(2, keepdim=True)
            chosen = numbers[:, :, None]
            drawn.scatter_(2, where, drawn.gather(2, chosen))
            return drawn.scatter_(2, chosen, largest).flatten(1)
        latents = self.vae.encode(dags).mean.double().cpu()
        return ((latents - self.low) / (self.high - self.low)).clamp(0, 1)

    def dags(self, points: Tensor) -> list[Dag]:
        if self.vae is None:
            chosen = points.reshape(len(points), len(self.code), self.width).argmax(2)
            return [self.code.dag(row) for row in chosen.tolist()]
        latents = (self.low + points.clamp(0, 1) * (self.high - self.low)).float()
        return decoded_dags(self.vae, latents, greedy=True)


Solver = Callable[[Meter, list[Dag], VAE, Code, int, int], None]


def ours(strategy: str) -> Solver:
    def solve(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
        study = dvae.search(
            vae, meter.task, score=meter.task.score, strategy=strategy, start=start, seed=seed, budget=meter.budget,
            batch=each, initial=2, on_round=lambda study: study.best_score >= meter.target,
        )  # fmt: skip
        for trial in study.trials:
            meter.score(trial.dag)

    return solve


def random_mutation(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
    """One operation of the best cell so far, drawn anew."""
    chance = np.random.default_rng(seed)
    known = dict(zip(map(tuple, map(code.numbers, start)), meter.many(start), strict=True))
    while True:
        best = max(known, key=known.__getitem__)
        for _ in range(each):
            child = list(best)
            child[chance.integers(len(code))] = int(chance.integers(len(code.choices[0])))
            known[tuple(child)] = meter.score(code.dag(child))


def holo_evolution(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
    """The genetic algorithm of holo-bench, begun with the start in place of copies of one cell."""
    from holo.optim import DiscreteEvolution

    torch.manual_seed(seed)
    best = torch.nn.Parameter(torch.tensor(code.numbers(start[0])).double(), requires_grad=False)
    vocabulary = list(range(len(code.choices[0])))
    solver = DiscreteEvolution([best], vocabulary, mutation_prob=1 / len(code), num_particles=len(start))
    solver.state[best]["particles"] = torch.tensor([code.numbers(dag) for dag in start]).double()

    def losses(particles: list[Tensor]) -> Tensor:
        return -torch.tensor(meter.many([code.dag(list(map(int, row))) for row in particles[0].tolist()]))

    while True:
        solver.step(losses)


def tpe(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
    """Optuna's default, over six categories."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
    kinds = {f"o{place}": optuna.distributions.CategoricalDistribution(s) for place, s in enumerate(code.choices)}
    for dag, score in zip(start, meter.many(start), strict=True):
        values = dict(zip(kinds, code.symbols(dag), strict=True))
        study.add_trial(optuna.trial.create_trial(params=values, distributions=kinds, value=score))
    while True:
        trials = [study.ask(kinds) for _ in range(each)]
        for trial in trials:
            dag = code.from_symbols([trial.params[name] for name in kinds])
            assert dag is not None
            study.tell(trial, meter.score(dag))


def cma_es(latent: bool) -> Solver:
    """Hansen's CMA-ES from the best of the start; where it has converged, once more with another seed."""

    def solve(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
        import cma

        space = Space(code, vae if latent else None)
        scores = meter.many(start)
        begin = space.points([start[int(np.argmax(scores))]])[0].numpy()
        restart = 0
        while True:
            options = {"popsize": each, "bounds": [0, 1], "seed": seed + 1 + 1000 * restart, "verbose": -9}
            solver = cma.CMAEvolutionStrategy(begin, 0.3, options)
            while not solver.stop():
                asked = solver.ask()
                values = [_value(meter, space, torch.tensor(np.array([point]))) for point in asked]
                solver.tell(asked, [-value for value in values])
            restart += 1

    return solve


def _value(meter: Meter, space: Space, points: Tensor) -> float:
    """The score of a point; where nothing valid is decoded, the worst that was seen."""
    found = space.dags(points)
    return meter.score(found[0]) if found else min(meter.scores.values())


class Known:
    """The points that a process learns from: the newest of each cell, since repeated cells teach it nothing."""

    def __init__(self, meter: Meter, space: Space, start: list[Dag]) -> None:
        self.meter, self.space = meter, space
        self.rows: dict[Any, tuple[Tensor, float]] = {}
        points = space.points(start, inside=True)
        for dag, point, score in zip(start, points, meter.many(start), strict=True):
            self.rows[meter.task.key(dag)] = point, score

    def data(self) -> tuple[Tensor, Tensor]:
        points, scores = zip(*self.rows.values(), strict=True)
        return torch.stack(points), torch.tensor(scores, dtype=torch.float64)

    def new(self, points: Tensor) -> Tensor:
        """Which points stand for cells that were not scored; all, where none does."""
        fresh = [self.meter.task.key(dag) not in self.meter.scores for dag in self.space.dags(points)]
        return torch.tensor(fresh if any(fresh) else [True] * len(fresh))

    def scored(self, points: Tensor) -> Tensor:
        values = []
        for point in points:
            found = self.space.dags(point[None])
            value = self.meter.score(found[0]) if found else min(self.meter.scores.values())
            self.rows[self.meter.task.key(found[0]) if found else tuple(point.tolist())] = point, value
            values.append(value)
        return torch.tensor(values, dtype=torch.float64)


def turbo(latent: bool) -> Solver:
    """TuRBO-1 (Eriksson et al., NeurIPS 2019): Thompson sampling in a box around the best."""

    def solve(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
        torch.manual_seed(seed)
        space = Space(code, vae if latent else None)
        known = Known(meter, space, start)
        length, successes, failures = 0.8, 0, 0
        tolerance = math.ceil(max(4.0 / each, len(space.low) / each))
        while True:
            points, scores = known.data()
            model = _process(points, scores)
            new = None if latent else known.new  # decoding 1,000 latents a round would cost more than the process
            values = known.scored(_thompson(model, points, scores, length, each, new))
            improved = bool(values.max() > scores.max() + 1e-3 * abs(float(scores.max())))
            successes, failures = (successes + 1, 0) if improved else (0, failures + 1)
            if successes == 3:
                length, successes = min(2 * length, 1.6), 0
            elif failures == tolerance:
                length, failures = length / 2, 0
            if length < 0.5**7:
                length, successes, failures = 0.8, 0, 0

    return solve


def _process(points: Tensor, scores: Tensor) -> Any:
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel

    standard = (scores - scores.mean()) / scores.std().clamp(min=1e-6)
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=points.shape[1]))
    model = SingleTaskGP(points, standard[:, None], covar_module=kernel)
    _fit(model)
    return model


def _fit(model: Any) -> None:
    """As TuRBO's authors do: 50 steps of Adam."""
    from botorch.optim.fit import fit_gpytorch_mll_torch
    from gpytorch.mlls import ExactMarginalLogLikelihood

    mll = ExactMarginalLogLikelihood(model.likelihood, model).train()
    fit_gpytorch_mll_torch(mll, step_limit=50, optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.1))
    mll.eval()


def _thompson(
    model: Any, points: Tensor, scores: Tensor, length: float, each: int, new: Callable[[Tensor], Tensor] | None
) -> Tensor:
    from torch.quasirandom import SobolEngine

    best, count, width = points[scores.argmax()], 1000, points.shape[1]
    sides = model.covar_module.base_kernel.lengthscale.squeeze().detach()
    sides = sides / sides.log().mean().exp()
    low, high = (best - sides * length / 2).clamp(0, 1), (best + sides * length / 2).clamp(0, 1)
    drawn = low + (high - low) * SobolEngine(width, scramble=True).draw(count).double()
    moved = torch.rand(count, width) <= min(20.0 / width, 1.0)
    moved[torch.arange(count), torch.randint(width, (count,))] = True
    candidates = torch.where(moved, drawn, best)
    if new is not None:
        candidates = candidates[new(candidates)]
    with torch.no_grad():
        samples = model.posterior(candidates).sample(torch.Size([each])).squeeze(2)
    return candidates[samples.argmax(1)]


ACQUISITION_SAMPLES, CELLS_AT_ONCE, HALF = 32, 256, 0.5  # HALF: of the distance between two codes


def saasbo(latent: bool, chains: bool = False) -> Solver:
    """SAASBO (Eriksson and Jankowiak, UAI 2021) with noisy log expected improvement: BoTorch's MAP form or, `chains`,
    its NUTS, made short: 32 steps of warm-up and 16 samples a round in place of 512 and 256.

    In codes the next cells are the best of all cells that are not known, which is exact where a gradient is not.
    """

    def solve(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf, optimize_acqf_discrete
        from botorch.sampling.normal import SobolQMCNormalSampler

        torch.manual_seed(seed)
        space = Space(code, vae if latent else None)
        known = Known(meter, space, start)
        bounds = torch.stack([torch.zeros(len(space.low)), torch.ones(len(space.low))]).double()
        every = None if latent else _corners(code)
        while True:
            points, scores = known.data()
            standard = (scores - scores.mean()) / scores.std().clamp(min=1e-6)
            model = _sampled(points, standard) if chains else _map(points, standard)
            sampler = SobolQMCNormalSampler(torch.Size([ACQUISITION_SAMPLES]), seed=seed)
            acquisition = qLogNoisyExpectedImprovement(model, points, sampler, prune_baseline=True)
            if every is None:
                chosen, _ = optimize_acqf(
                    acquisition, bounds, q=each, num_restarts=2, raw_samples=64, sequential=True,
                    options={"maxiter": 30},
                )  # fmt: skip
            else:
                new = every[(torch.cdist(every, points) > HALF).all(1)]
                chosen, _ = optimize_acqf_discrete(acquisition, each, new, max_batch_size=CELLS_AT_ONCE)
            known.scored(chosen)

    return solve


def _corners(code: Code) -> Tensor:
    """All sequences as one-hot codes."""
    numbers = torch.cartesian_prod(*(torch.arange(len(symbols)) for symbols in code.choices))
    return torch.nn.functional.one_hot(numbers, len(code.choices[0])).flatten(1).double()


def _map(points: Tensor, standard: Tensor) -> Any:
    from botorch.models.map_saas import AdditiveMapSaasSingleTaskGP

    model = AdditiveMapSaasSingleTaskGP(points, standard[:, None])
    _fit(model)
    return model


def _sampled(points: Tensor, standard: Tensor) -> Any:
    from botorch.fit import fit_fully_bayesian_model_nuts
    from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

    model = SaasFullyBayesianSingleTaskGP(points, standard[:, None])
    fit_fully_bayesian_model_nuts(model, warmup_steps=32, num_samples=16, thinning=2, disable_progbar=True)
    return model


def lambo2(meter: Meter, start: list[Dag], vae: VAE, code: Code, seed: int, each: int) -> None:
    """LaMBO-2 (Gruver et al., NeurIPS 2023) by its authors' `pytorch-cortex`; what is set is in lambo.py."""
    from lambo import Designer

    torch.manual_seed(seed)
    np.random.seed(seed)
    designer = Designer(len(code), len(code.choices[0]), each)
    known = dict(zip(map(tuple, map(code.numbers, start)), meter.many(start), strict=True))
    while True:
        for row in designer.proposed(known):
            known[row] = meter.score(code.dag(list(row)))


SOLVERS: dict[str, tuple[Solver, str | None]] = {  # and the package each needs
    "dvae trust-region": (ours("trust-region"), "botorch"),
    "dvae evolution": (ours("evolution"), None),
    "random-mutation": (random_mutation, None),
    "holo-evolution": (holo_evolution, "holo"),
    "tpe": (tpe, "optuna"),
    "cma-es": (cma_es(False), "cma"),
    "cma-es-latent": (cma_es(True), "cma"),
    "turbo": (turbo(False), "botorch"),
    "turbo-latent": (turbo(True), "botorch"),
    "saasbo-map": (saasbo(False), "botorch"),
    "saasbo-map-latent": (saasbo(True), "botorch"),
    "saasbo-nuts": (saasbo(False, chains=True), "numpyro"),
    "lambo-2": (lambo2, "cortex"),
}


class Stuck:
    """Ends a solver that asks for nothing new; a budget of evaluations alone would let it ask for ever."""

    def __init__(self, meter: Meter, calls: int) -> None:
        self.meter, self.allowed, self.calls, self.known = meter, calls, 0, 0

    def score(self, dag: Dag) -> float:
        score = Meter.score(self.meter, dag)
        self.calls, self.known = (self.calls + 1, self.known) if len(self.meter.scores) == self.known else (
            0, len(self.meter.scores))  # fmt: skip
        if self.calls > self.allowed:
            raise Spent
        return score


def search(name: str, task: TabularTask, vae: VAE, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    meter = Meter(task, task.best(TOP), options.budget)
    rounds = PATIENCE_OF_MODELS if name.startswith(("turbo", "saasbo", "lambo")) else PATIENCE
    meter.score = Stuck(meter, rounds * options.each).score  # type: ignore[method-assign]
    start = list(dict.fromkeys(task.sample(2 * options.start, seed=seed)))[: options.start]
    begun, ended = time.perf_counter(), "ended"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            SOLVERS[name][0](meter, start, vae, code_of(task), seed, options.each)
    except Found:
        ended = "found"
    except Spent:
        ended = "spent"
    found = len(meter.curve) if ended == "found" else None
    return {
        "solver": name, "seed": seed, "evaluations_to_target": found, "spent": len(meter.curve),
        "best": meter.curve[-1], "seconds": time.perf_counter() - begun,
    }  # fmt: skip


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        yield from map(json.loads, path.read_text().splitlines())


def summarised(rows: list[dict[str, Any]], budget: int) -> dict[str, Any]:
    needed = sorted(row["evaluations_to_target"] or math.inf for row in rows)
    middle = statistics.median(needed)
    return {
        "reached": f"{sum(value < math.inf for value in needed)} of {len(rows)}",
        "median_evaluations": middle if middle <= budget else f"more than {budget}",
        "range": [needed[0], needed[-1] if needed[-1] < math.inf else None],
        "median_seconds": statistics.median(row["seconds"] for row in rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--lines", type=Path, required=True, help="a JSONL file of finished searches, to go on from")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=20)
    parser.add_argument("--budget", type=int, default=400)
    parser.add_argument("--each", type=int, default=10, help="cells asked for at once")
    parser.add_argument("--start", type=int, default=20, help="random cells scored first")
    options = parser.parse_args()
    torch.set_num_threads(1)
    vae = dvae.load(options.run, device="cpu")
    task = dvae.tasks.get("nasbench201")
    assert isinstance(task, TabularTask)
    names = options.solvers.split(",")
    done = {(row["solver"], row["seed"]) for row in rows_of(options.lines)}
    absent = dict(ABSENT)
    for name in names:
        needs = SOLVERS[name][1]
        if needs is not None and importlib.util.find_spec(needs) is None:
            absent[name] = f"the package {needs} is not installed here"
            continue
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            if (name, seed) not in done:
                row = search(name, task, vae, seed, options)
                with options.lines.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr, flush=True)
    rows = list(rows_of(options.lines))
    summary = {
        n: summarised(of, options.budget) for n in SOLVERS if (of := [row for row in rows if row["solver"] == n])
    }
    print(json.dumps({
        "benchmark": "solvers", "target": task.best(TOP), "start": options.start, "each": options.each,
        "budget": options.budget, "summary": summary, "absent": absent, "record": provenance.record(0),
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
