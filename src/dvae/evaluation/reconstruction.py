"""Does a graph come back from its latent? (paper, section 4.1)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import ColumnTensors, Dag, DagBatch
from dvae.evaluation.closeness import Closeness, Comparison, compared
from dvae.evaluation.column_closeness import ColumnCloseness, ColumnComparison, compare_columns
from dvae.evaluation.common import MIN_GRAPHS, as_batch, block_size, blocks, evaluation_mode, next_seed
from dvae.evaluation.intervals import Estimate, clustered_proportion
from dvae.models import VAE, Posterior
from dvae.progress import progress_bar
from dvae.tasks import Task

Mode = Literal["posterior", "mean"]
ENCODINGS = 10  # paper, section 4.1
DECODINGS = 10  # paper, section 4.1


@dataclass(frozen=True)
class Reconstruction:
    """The share of decoded graphs that are the encoded one; the interval is over graphs."""

    share: Estimate
    mode: Mode
    greedy: bool
    encodings: int  # latents of each graph
    decodings: int  # of each latent
    per_graph: tuple[float, ...] = ()  # each graph's own share, in the order given; not kept in files
    closeness: Closeness | None = None  # how near the decoded graphs come, where each graph is decoded once
    columns: ColumnCloseness | None = None  # how well their columns do, where there are any

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        facts = {name: getattr(self, name) for name in ("mode", "greedy", "encodings", "decodings")}
        closeness = {} if self.closeness is None else {"closeness": self.closeness.to_mapping()}
        columns = {} if self.columns is None else {"columns": self.columns.to_mapping()}
        return {"share": self.share.to_mapping(), **facts, **closeness, **columns}


def reconstruction(
    vae: VAE,
    dags: Sequence[Dag] | DagBatch,
    *,
    encodings: int = ENCODINGS,
    decodings: int = DECODINGS,
    seed: int = 0,
    mode: Mode = "posterior",
    greedy: bool = False,
    seconds: float | None = None,
    progress: bool | None = None,
) -> Reconstruction:
    """Encodes, decodes and compares by the task's key.

    "posterior" draws `encodings` latents from q(z | G), with its own standard deviation, and decodes each
    `decodings` times: the paper's text. "mean" decodes the mean `encodings` x `decodings` times: the
    original's code. A greedy decoding is always the same, so each latent then gets one. The same seed, sizes
    and kind of device give the same result. With `seconds`, only as many of the first `dags` are measured as fit
    in that time, but at least `MIN_GRAPHS`.
    """
    check(mode in ("posterior", "mean"), f"mode is 'posterior' or 'mean', not {mode!r}")
    check(encodings >= 1 and decodings >= 1, "encodings and decodings must be at least 1")
    batch = as_batch(vae, dags)
    check(len(batch) >= 1, "there is no graph to reconstruct")
    if mode == "mean":
        encodings, decodings = 1, encodings * decodings
    if greedy:
        decodings = 1
    each = encodings * decodings
    generator = torch.Generator().manual_seed(seed)
    same: list[int] = []
    comparisons: list[Comparison] = []
    columns: list[ColumnComparison] = []
    title = f"reconstruction, {mode}{', greedy' if greedy else ''}"
    with evaluation_mode(vae), progress_bar(title, len(batch), "graphs", progress) as bar:
        for chosen in blocks(len(batch), block_size(vae, each), seconds, MIN_GRAPHS):
            truth = batch.select(chosen).to(vae.device)
            if truth.columns is not None:
                truth = vae.prepare(truth)  # in the order of decoded nodes, values can be compared one by one
            posterior = vae.encode(truth)
            latents = posterior.mean if mode == "mean" else _draws(posterior, encodings, generator)
            own = own_conditions(vae, truth, encodings)
            decoded = vae.decode_batch(latents, greedy=greedy, copies=decodings, seed=next_seed(generator), **own)
            equal = same_graphs(vae.task, truth, decoded)
            same += equal.view(len(truth), each).sum(1).tolist()
            if each == 1:
                comparisons += compared(vae.task, vae.prepare(truth), decoded, equal.tolist())
                if truth.columns is not None:
                    pairs = zip(vae.task.unbatch(truth), vae.task.unbatch(decoded), strict=True)
                    columns += [compare_columns(vae.task.schema, true, found) for true, found in pairs]
            bar.update(len(truth), same=sum(same) / (each * len(same)))
    per_graph = tuple(count / each for count in same)
    closeness = Closeness.of(comparisons) if comparisons else None
    return Reconstruction(
        clustered_proportion(per_graph), mode, greedy, encodings, decodings, per_graph, closeness,
        ColumnCloseness.of(columns) if columns else None,
    )  # fmt: skip


def own_conditions(vae: VAE, truth: DagBatch, times: int) -> dict[str, Any]:
    """The graphs' own conditions, each `times`, as `VAE.decode_batch` takes them; nothing where there are none."""
    if truth.properties is None or vae.conditions is None:
        return {}
    return {"given": vae.conditions.of(truth).repeat_interleave(times, 0)}


def same_graphs(task: Task, truth: DagBatch, decoded: DagBatch) -> Tensor:
    """Which of `decoded` are the graph of `truth` they belong to; those of one graph lie next to each other.

    Equal tensors are equal graphs, which settles most without leaving the device; only the rest need keys.
    """  # bool, one for each of decoded
    owner = torch.arange(len(truth), device=truth.device).repeat_interleave(len(decoded) // len(truth))
    same = (
        (decoded.num_nodes == truth.num_nodes[owner])
        & (decoded.types == truth.types[owner]).all(1)
        & (decoded.adjacency == truth.adjacency[owner]).flatten(1).all(1)
    )
    if truth.columns is not None and decoded.columns is not None:
        same &= _equal_columns(truth.columns.select(owner), decoded.columns)
    rest = (~same).nonzero().squeeze(1)
    if len(rest):
        true_keys = task.keys(truth)
        rest_keys = task.keys(decoded.select(rest))
        equal = [key == true_keys[graph] for key, graph in zip(rest_keys, owner[rest].tolist(), strict=True)]
        same[rest] = torch.tensor(equal, device=same.device)
    return same


def _equal_columns(one: ColumnTensors, other: ColumnTensors) -> Tensor:
    """Where all values are equal; False where edges have columns, whose lists may come in another order."""
    codes = (one.node_codes == other.node_codes).flatten(1).all(1)
    numbers = (one.node_numbers.nan_to_num() == other.node_numbers.nan_to_num()).flatten(1).all(1)
    return codes & numbers & (one.edge_codes.shape[2] == 0)


def _draws(posterior: Posterior, count: int, generator: torch.Generator) -> Tensor:
    """z = mean + deviation * noise (eq. 5), `count` times for each graph."""  # batch*count latent
    mean, deviation = posterior.mean, (0.5 * posterior.logvar).exp()
    # The noise is drawn on the CPU, so that every device sees the same.
    noise = torch.randn(len(mean), count, mean.shape[1], generator=generator, dtype=mean.dtype)
    return (mean[:, None] + deviation[:, None] * noise.to(mean.device)).flatten(0, 1)
