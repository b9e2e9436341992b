"""Draws the pictures of docs/concepts.md from a small trained model of Bayesian networks.

python docs/site/pictures.py --run runs/asia      # `dvae train --task asia --size 20000 --preset auto --minutes 3`

Where there is no such run, it is trained first. All that is drawn comes from the seed 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from dvae import VAE, Dag, Run
from dvae.evaluation import principal_plane
from dvae.figures import Panel, ScoreMap, Series, save_dags, save_panels, save_score_maps, style_of
from dvae.regression.linear import LinearModel
from dvae.studies.study import running_best

IMAGES = Path(__file__).resolve().parents[1] / "images" / "concepts"
STEPS = 5  # of the walk
SIDE = 21  # points along a side of the map
SCORED = (50, 100, 200, 400, 800, 1600)  # DAGs whose score is known
BUDGET = 200
FAR = (1.0, 1.0, 1.0, 6.0, 9.0)  # how many times as far out as the posterior's own latents
RIVALS = ("trust-region", "evolution", "random")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--run", type=Path, default=Path("runs/asia"))
    words.add_argument("--quick", action="store_true", help="leave out the searches, which take a minute or two")
    folder = words.parse_args().run
    if (folder / "run.toml").is_file():
        run = Run.open(folder)
    else:
        run = Run.create(folder, task="asia", size=20_000, preset="auto", minutes=3)
        run.fit()
    vae, tests = run.model("cpu"), run.dataset.test.dags
    IMAGES.mkdir(parents=True, exist_ok=True)
    walk(vae, tests)
    score_map(vae, tests)
    posterior(vae, tests)
    prior(vae, run.new_model())
    graph_states(vae, run)
    if not words.parse_args().quick:
        trust_region(vae, run)


def walk(vae: VAE, dags: tuple[Dag, ...]) -> None:
    """Two networks and what lies between their latents."""
    ends = vae.encode([dags[0], dags[3]]).mean
    between = torch.stack([torch.lerp(ends[0], ends[1], place / (STEPS - 1)) for place in range(STEPS)])
    names = ["a network", *(f"{100 * place // (STEPS - 1)}% of the way" for place in range(1, STEPS - 1)), "another"]
    save_dags(IMAGES / "walk.svg", vae.decode(between, greedy=True, valid=True), titles=names, columns=STEPS)


def score_map(vae: VAE, dags: tuple[Dag, ...]) -> None:
    """The scores of what a plane through the space decodes to."""
    latents = vae.encode(dags[:1000]).mean
    plane = principal_plane(latents)
    extent = plane.reach(latents)
    found = vae.decode(plane.points(SIDE, extent).float(), greedy=True, valid=True)
    scores = vae.task.scores(found)
    rows = tuple(tuple(scores[row * SIDE : (row + 1) * SIDE]) for row in range(SIDE))
    save_score_maps(IMAGES / "map.svg", [ScoreMap("A plane through the space", rows, extent)], label="BIC")


def posterior(vae: VAE, dags: tuple[Dag, ...]) -> None:
    """A network, and what latents of its posterior decode to."""
    dag = dags[1]
    cloud = vae.encode([dag])
    noise = torch.randn(5, vae.config.latent, generator=torch.Generator().manual_seed(0))
    far = torch.tensor(FAR)
    back = vae.decode(cloud.mean + far[:, None] * noise * (cloud.logvar / 2).exp(), greedy=True, valid=True)
    same = ["the same" if vae.task.key(each) == vae.task.key(dag) else "another" for each in back]
    titles = [f"{words}, {times:g} times out" if times > 1 else words for words, times in zip(same, FAR, strict=True)]
    save_dags(IMAGES / "posterior.svg", [dag, *back], titles=["a network", *titles], columns=6)


def prior(vae: VAE, untrained: VAE) -> None:
    """What latents from the prior decode to, without the task's rules, before and after training."""
    before = untrained.decode(torch.randn(3, vae.config.latent, generator=torch.Generator().manual_seed(0)), seed=0)
    after = vae.decode(vae.prior(3, seed=1), seed=0)
    judged = ["valid" if vae.task.is_valid(dag) else "not valid" for dag in (*before, *after)]
    titles = [*(f"untrained: {words}" for words in judged[:3]), *(f"trained: {words}" for words in judged[3:])]
    save_dags(IMAGES / "prior.svg", [*before, *after], titles=titles, columns=6, style=style_of(after))


def graph_states(vae: VAE, run: Run) -> None:
    """How well a linear model predicts scores from graph states and from latents."""
    train, test = run.dataset.train.dags[: SCORED[-1]], run.dataset.test.dags[:500]
    scores = torch.tensor(vae.task.scores([*train, *test]), dtype=torch.float64)
    states = vae.graph_states(vae.task.batch([*train, *test])).double().detach()
    latents = vae.encode([*train, *test]).mean.double().detach()
    truth = scores[len(train) :]
    lines = []
    for name, features in (("latents", latents), ("graph states", states)):
        errors = []
        for count in SCORED:
            model = LinearModel.fit(features[:count], scores[:count])
            guess = (features[len(train) :] - model.mean) @ model.weight + model.level
            errors.append(float((guess - truth).square().mean().sqrt() / truth.std()))
        lines.append(Series(name, SCORED, tuple(errors)))
    title = "Scores predicted by a linear model"
    panel = Panel(title, "networks whose score is known", "error, in deviations", tuple(lines), log=True, log_x=True)
    save_panels(IMAGES / "graph_states.svg", [panel], columns=1)


def trust_region(vae: VAE, run: Run) -> None:
    """How soon three strategies come to the best network of all."""
    from dvae import search
    from dvae.dag import DagSet

    known = run.dataset.train.dags[:200]
    warm = DagSet.of(known, vae.task.scores(known))
    optimum = vae.task.known_optimum() or 0.0
    lines = []
    for name in RIVALS:
        study = search(vae, budget=BUDGET, strategy=name, warm=warm, seed=0, progress=True)
        gaps = [optimum - best for best in running_best([trial.score or 0.0 for trial in study.trials])]
        lines.append(Series(name, tuple(range(1, len(gaps) + 1)), tuple(gaps)))
    title = "Searches from 200 scored networks"
    panel = Panel(title, "evaluations", "BIC below the best of all", tuple(lines))
    save_panels(IMAGES / "trust_region.svg", [panel], columns=1)


if __name__ == "__main__":
    main()
