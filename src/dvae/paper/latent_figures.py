"""The stages behind the pictures of latent spaces, and of cost against size."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from dvae.dag import Dag, to_plain
from dvae.errors import TaskError
from dvae.evaluation import great_circle, principal_plane, random_plane, typical_distance
from dvae.evaluation.common import read_value
from dvae.evaluation.walks import CIRCLE_POINTS, PAPER_EXTENT
from dvae.models import VAE, ModelConfig, build
from dvae.paper.measurements import OfModel
from dvae.paper.searches import as_dag
from dvae.paper.sources import Oracle, Source
from dvae.paper.stage import Result, Stage
from dvae.paper.stage_store import StageStore
from dvae.progress import progress_bar
from dvae.tasks import EnasTask, Task


@dataclass(frozen=True)
class PictureSize:
    """How many points the pictures have; grids extend `grid_extent` typical distances to each side."""

    circle_points: int = CIRCLE_POINTS
    grid_side: int = 9
    grid_extent: float = 0.35
    map_side: int = 60
    models: tuple[str, ...] = ("dvae", "svae")


@dataclass(frozen=True)
class CostSize:
    """Architectures of so many layers, and how they are timed."""

    models: tuple[str, ...] = ("dvae", "dvae-fast", "svae")
    layers: tuple[int, ...] = (6, 12, 24, 48)
    hidden: int = 501
    latent: int = 56
    batch: int = 32
    repeats: int = 5


@dataclass(frozen=True)
class DecodedLatents:
    """Greedy decodings of latents around that of `start`; invalid DAGs have no score."""

    start: Dag
    dags: tuple[Dag, ...]
    valid: tuple[bool, ...]
    scores: tuple[float | None, ...]
    side: int | None = None  # of a grid
    spacing: float | None = None  # of a grid's neighbours, in typical distances

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str) -> DecodedLatents:
        """What a stage kept."""
        start, dags = as_dag(mapping["start"]), tuple(map(as_dag, mapping["dags"]))
        return read_value(cls, mapping, where, start=start, dags=dags)


@dataclass(frozen=True)
class MapResult:
    """Scores over a square of a plane, rows from the top; None where a point decodes to no valid DAG."""

    extent: float
    rows: tuple[tuple[float | None, ...], ...]
    distinct: int  # DAGs


@dataclass(frozen=True)
class MapsResult:
    """The maps of a model, and how much of its latents' variance the plane holds."""

    explained: float
    score: str
    held_out: float | None
    maps: tuple[MapResult, ...]


@dataclass(frozen=True)
class CostRow:
    """Milliseconds per graph of a model."""

    model: str
    nodes: int
    train: float  # forward and backward
    encode: float
    decode: float


@dataclass(frozen=True)
class CostResult:
    """What was timed, and where."""

    rows: tuple[CostRow, ...]
    device: str
    hidden: int
    batch: int


@dataclass(frozen=True)
class Circle(OfModel[DecodedLatents]):
    """DAGs along a great circle that starts at a straight network without skips (paper, section 4.4)."""

    kind: ClassVar[str] = "circle"
    what: ClassVar[str] = "a great circle"
    scored_by: Source
    points: int = CIRCLE_POINTS
    seed: int = 0

    def run(self, store: StageStore) -> Result:
        vae = store.model(self.train)
        start = straight_network(vae.task)
        latents = great_circle(vae.encode([start]).mean[0], self.points, seed=self.seed)
        return {"start": to_plain(start), **_decoded(vae, latents, store.oracle(self.scored_by))}

    def read(self, result: Result, where: str) -> DecodedLatents:
        return DecodedLatents.from_mapping(result, where)


@dataclass(frozen=True)
class Grid(OfModel[DecodedLatents]):
    """DAGs on a square around a random test DAG's latent, along two orthogonal directions (paper, appendix F)."""

    kind: ClassVar[str] = "grid"
    what: ClassVar[str] = "a grid of DAGs"
    scored_by: Source
    side: int = 9
    extent: float = 0.35
    seed: int = 0

    def run(self, store: StageStore) -> Result:
        vae = store.model(self.train)
        test = store.data(self.train.source).test.dags
        start = test[int(torch.randint(len(test), (), generator=torch.Generator().manual_seed(self.seed)))]
        plane = random_plane(vae, vae.encode([start]).mean[0], seed=self.seed)
        unit = typical_distance(vae)
        latents = plane.points(self.side, self.extent * unit)
        return {
            "start": to_plain(start),
            "side": self.side,
            "spacing": 2 * self.extent / (self.side - 1),
            **_decoded(vae, latents, store.oracle(self.scored_by)),
        }

    def read(self, result: Result, where: str) -> DecodedLatents:
        return DecodedLatents.from_mapping(result, where)


@dataclass(frozen=True)
class Maps(OfModel[MapsResult]):
    """Scores over the plane of the first two principal components: the paper's square, and one that holds the data."""

    kind: ClassVar[str] = "maps"
    what: ClassVar[str] = "maps of scores"
    scored_by: Source
    side: int = 60

    def run(self, store: StageStore) -> Result:
        vae, oracle = store.model(self.train), store.oracle(self.scored_by)
        latents = vae.encode(store.train_batch(self.train.source)).mean.double().cpu()
        plane = principal_plane(latents)
        maps: list[MapResult] = []
        for extent in (PAPER_EXTENT, plane.reach(latents)):
            decoded = _decoded(vae, plane.points(self.side, extent), oracle)
            scores = decoded["scores"]
            rows = tuple(tuple(scores[row * self.side : (row + 1) * self.side]) for row in range(self.side))
            maps.append(MapResult(extent, rows, len({repr(dag) for dag in decoded["dags"]})))
        explained = sum(plane.shares(latents))
        return asdict(MapsResult(explained, oracle.name, oracle.held_out, tuple(maps)))

    def read(self, result: Result, where: str) -> MapsResult:
        return read_value(MapsResult, result, where)


@dataclass(frozen=True)
class Cost(Stage[CostResult]):
    """Times architectures of growing depth: forward and backward, encoding, decoding."""

    kind: ClassVar[str] = "cost"
    size: CostSize = CostSize()
    seed: int = 0

    @property
    def title(self) -> str:
        return "cost against size"

    @property
    def slug(self) -> str:
        return f"hidden{self.size.hidden}"

    def run(self, store: StageStore) -> Result:
        rows: list[CostRow] = []
        size = self.size
        with progress_bar("cost against size", len(size.models) * len(size.layers), None, store.progress) as bar:
            for name in size.models:
                for layers in size.layers:
                    rows.append(self._measured(name, layers, store.device))
                    bar.update(last=f"{name}, {layers} layers")
        return asdict(CostResult(tuple(rows), store.device, size.hidden, size.batch))

    def read(self, result: Result, where: str) -> CostResult:
        return read_value(CostResult, result, where)

    def _measured(self, name: str, layers: int, device: str) -> CostRow:
        task = EnasTask(layers)
        config = ModelConfig(name=name, hidden=self.size.hidden, latent=self.size.latent)
        vae = build(name, task, config=config, seed=self.seed).to(device)
        batch = vae.prepare(task.sample_batch(self.size.batch, self.seed)).to(device)
        noise = torch.zeros(len(batch), self.size.latent, device=device)
        latents = vae.prior(len(batch), seed=self.seed)

        def train() -> None:
            vae.zero_grad(set_to_none=True)
            vae(batch, noise).nll.sum().backward()

        return CostRow(
            model=name,
            nodes=task.max_nodes,
            train=self._milliseconds(train, device),
            encode=self._milliseconds(lambda: vae.encode(batch), device),
            decode=self._milliseconds(lambda: vae.decode_batch(latents, seed=self.seed), device),
        )

    def _milliseconds(self, work: Callable[[], object], device: str) -> float:
        """Per graph: the median over the repeats, after one that warms up."""
        seconds = []
        for repeat in range(self.size.repeats + 1):
            started = time.perf_counter()
            work()
            if device == "cuda":
                torch.cuda.synchronize()
            if repeat:
                seconds.append(time.perf_counter() - started)
        return 1000 * statistics.median(seconds) / self.size.batch


def straight_network(task: Task) -> Dag:
    """Layers of one kind in a row, without skips."""
    types = ("input", *["conv3"] * (task.max_nodes - 2), "output")
    dag = Dag(types, tuple((node, node + 1) for node in range(len(types) - 1)))
    if not task.is_valid(dag):
        raise TaskError(f"{task.name} has no straight networks; they belong to ENAS spaces")
    return dag


def _decoded(vae: VAE, latents: Tensor, oracle: Oracle) -> dict[str, Any]:
    """The greedy decodings, whether they are valid, and their scores; None for those that are not."""
    batch = vae.decode_batch(latents, greedy=True)
    dags, valid = vae.task.unbatch(batch), vae.task.valid(batch).tolist()
    found = iter(oracle.score([dag for dag, good in zip(dags, valid, strict=True) if good]))
    scores = [next(found) if good else None for good in valid]
    return {"dags": [to_plain(dag) for dag in dags], "valid": valid, "scores": scores}
