"""The latent space of a run as a map in its page: known DAGs and the best that was found, to look at one by one."""

from __future__ import annotations

from collections.abc import Sequence

from dvae.dag import Dag, DagSet
from dvae.evaluation.planes import Plane, principal_axes
from dvae.figures import DagStyle, Scene, fold, make_scene
from dvae.models import VAE
from dvae.reports.document import MapPoint, PointMap
from dvae.reports.numbers import score_words

POINTS = 1_500
BEST_SHOWN = 100  # of the points, those with the best scores
DRAWN = 250  # of the points, those that can be looked at
MAX_PARTS = 12_000  # nodes and edges of all drawings together: a page of about two million bytes
MAX_SCENE = 60  # boxes of one drawing


def latent_map(vae: VAE, known: DagSet, found: Sequence[tuple[Dag, float]], style: DagStyle) -> PointMap | None:
    """The map; None for a latent space or data of fewer than two dimensions."""
    if vae.config.latent < 2 or len(known) < 3:
        return None
    places = _chosen(known)
    dags = [known.dags[place] for place in places]
    latents = vae.encode([*dags, *(dag for dag, _ in found)]).mean.float().cpu()
    plane = Plane(latents[: len(dags)].mean(0), principal_axes(latents[: len(dags)])[:2].float())
    spots: list[tuple[float, float]] = [(x, y) for x, y in plane.project(latents).tolist()]
    shares = plane.shares(latents[: len(dags)])
    scenes, numbers = _scenes([*(dag for dag, _ in found), *dags], style)
    scores = [known.scores[place] for place in places]
    shades, ends = _shades(dags, scores)
    points = [
        MapPoint(*spots[n], _words(place, dag, score), shade, numbers.get(len(found) + n))
        for n, (place, dag, score, shade) in enumerate(zip(places, dags, scores, shades, strict=True))
    ]
    stars = [
        MapPoint(*spots[len(dags) + n], f"found: {score_words(score)}, {_size(dag)}", None, numbers.get(n), found=True)
        for n, (dag, score) in enumerate(found)
    ]
    of = "" if len(places) == len(known) else f" of {len(known):,}"
    caption = (
        f"{len(places):,}{of} DAGs of the data where the model encodes them, along the first two principal components. "
        f"The larger points can be opened." + (" Stars are the best DAGs that were found." if stars else "")
    )
    axes = (f"PC 1, {shares[0]:.0%} of the variance", f"PC 2, {shares[1]:.0%}")
    return PointMap("The latent space", caption, axes, ends, (*points, *stars), scenes)


def _chosen(known: DagSet) -> list[int]:
    """The best, and others all over the data, in the order of the data."""
    ranked = sorted(
        (place for place, score in enumerate(known.scores) if score is not None), key=lambda k: -_score(known, k)
    )
    step = max(1, -(-len(known) // (POINTS - BEST_SHOWN)))
    return sorted({*ranked[:BEST_SHOWN], *range(0, len(known), step)})


def _score(known: DagSet, place: int) -> float:
    score = known.scores[place]
    assert score is not None
    return score


def _scenes(dags: Sequence[Dag], style: DagStyle) -> tuple[tuple[Scene, ...], dict[int, int]]:
    """Drawings of the first and of others all over, as far as the room goes; which DAG has which."""
    step = max(1, len(dags) // DRAWN)
    scenes: list[Scene] = []
    numbers: dict[int, int] = {}
    parts = 0
    for place in [*range(min(5, len(dags))), *range(5, len(dags), step)]:
        scene = make_scene(dags[place], style, folding=fold(dags[place], MAX_SCENE))
        parts += len(scene.nodes) + len(scene.edges)
        if parts > MAX_PARTS:
            break
        numbers[place] = len(scenes)
        scenes.append(scene)
    return tuple(scenes), numbers


def _shades(dags: Sequence[Dag], scores: Sequence[float | None]) -> tuple[list[float | None], tuple[str, str]]:
    """Colours by the rank of the score, or by the number of nodes where there is none; what the two ends mean."""
    values = [score for score in scores if score is not None]
    if len(set(values)) > 1:
        rank = {value: place for place, value in enumerate(sorted(set(values)))}
        shades = [None if score is None else rank[score] / (len(rank) - 1) for score in scores]
        return shades, (f"score {score_words(min(values))}", score_words(max(values)))
    sizes = [len(dag) for dag in dags]
    low, high = min(sizes), max(sizes)
    return [(size - low) / max(1, high - low) for size in sizes], (f"{low} nodes", f"{high} nodes")


def _words(place: int, dag: Dag, score: float | None) -> str:
    worth = "" if score is None else f"{score_words(score)}, "
    return f"DAG {place:,}: {worth}{_size(dag)}"


def _size(dag: Dag) -> str:
    return f"{len(dag)} nodes, {len(dag.edges)} edges"
