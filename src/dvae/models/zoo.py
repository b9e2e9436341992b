"""The only table of names: which parts make which model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from dvae.errors import ConfigError
from dvae.models import storage
from dvae.models.aggregation import Aggregation, build_aggregation
from dvae.models.config import PRESETS, ModelConfig, Preset
from dvae.models.decoders.deepgmg import DeepGmgDecoder
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.graphrnn import GraphRnnDecoder
from dvae.models.decoders.pace import PaceDecoder
from dvae.models.decoders.smp import SmpDecoder
from dvae.models.decoders.svae import SvaeDecoder
from dvae.models.deepgmg import SharedParts
from dvae.models.encoders.dagnn import DagnnEncoder
from dvae.models.encoders.deepgmg import DeepGmgEncoder
from dvae.models.encoders.dvae import DvaeEncoder, Readout
from dvae.models.encoders.gcn import GcnEncoder
from dvae.models.encoders.pace import PaceEncoder
from dvae.models.encoders.smp import SmpEncoder
from dvae.models.encoders.svae import SvaeEncoder
from dvae.models.features import NodeFeatures
from dvae.models.kernels.gru import GruUpdate
from dvae.models.node_order import NodeOrder
from dvae.models.parts import Decoder, Encoder
from dvae.models.vae import VAE
from dvae.tasks import BayesNetTask, GenericTask, Task

SIMULTANEOUS_ROUNDS = 3  # of D-VAE (SMP) and DeepGMG


@dataclass(frozen=True)
class Blueprint:
    """All a builder of parts may look at; `shared` is the aggregation that encoder and decoder have in common."""

    task: Task
    config: ModelConfig
    features: NodeFeatures

    def aggregation(self) -> Aggregation:
        name = self.config.aggregation or self.task.hints.aggregation
        return build_aggregation(name, self.features, self.config.hidden, self.task.max_nodes)

    @cached_property
    def deepgmg_parts(self) -> SharedParts:
        """What DeepGMG's encoder and decoder have in common."""
        return SharedParts(self.features, self.config.hidden)

    def update(self) -> GruUpdate:
        return GruUpdate(self.features, self.config.hidden)

    def backward(self) -> tuple[Aggregation, GruUpdate] | None:
        """What an encoder against the edges is made of, where one is wanted."""
        wanted = self.config.bidirectional
        if wanted is None:
            wanted = self.task.hints.bidirectional
        return (self.aggregation(), self.update()) if wanted else None

    def readout(self) -> Readout:
        return self.config.readout or self.task.hints.readout


def dvae_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    backward = plan.backward()
    return DvaeEncoder(shared, plan.update(), backward, plan.readout(), plan.config.hidden)


def dvae_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    return DvaeDecoder(shared, plan.update(), **_decoder_settings(plan))


def _decoder_settings(plan: Blueprint) -> dict[str, Any]:
    config, hints, task = plan.config, plan.task.hints, plan.task
    return {
        "num_types": task.num_types,
        "max_nodes": task.max_nodes,
        "hidden": config.hidden,
        "latent": config.latent,
        "edge_width": config.edge_width or config.hidden * (1 if hints.edge_context else 4),
        "edge_context": hints.edge_context,
        "graph_state": hints.graph_state,
        "end_edges": hints.end_edges,
    }


def smp_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    backward, rounds = plan.backward(), plan.config.rounds or SIMULTANEOUS_ROUNDS
    return SmpEncoder(shared, plan.update(), backward, plan.readout(), plan.config.hidden, rounds)


def smp_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    rounds = plan.config.rounds or SIMULTANEOUS_ROUNDS
    return SmpDecoder(shared, plan.update(), rounds=rounds, **_decoder_settings(plan))


def gcn_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    rounds = plan.config.rounds or plan.task.hints.gcn_rounds
    return GcnEncoder(plan.features, plan.config.hidden, rounds)


def deepgmg_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    return DeepGmgEncoder(plan.deepgmg_parts, plan.config.hidden, plan.config.rounds or SIMULTANEOUS_ROUNDS)


def deepgmg_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    config, task = plan.config, plan.task
    return DeepGmgDecoder(
        plan.deepgmg_parts,
        num_types=task.num_types,
        max_nodes=task.max_nodes,
        hidden=config.hidden,
        latent=config.latent,
        rounds=config.rounds or SIMULTANEOUS_ROUNDS,
        end_edges=task.hints.end_edges,
    )


def svae_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    return SvaeEncoder(plan.features, max_nodes=plan.task.max_nodes, hidden=plan.config.hidden)


def svae_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    return SvaeDecoder(**_string_settings(plan))


def graphrnn_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    return GraphRnnDecoder(plan.features, **_string_settings(plan))


def _string_settings(plan: Blueprint) -> dict[str, Any]:
    """What the decoders that write node strings have in common."""
    config, task = plan.config, plan.task
    return {
        "num_types": task.num_types,
        "max_nodes": task.max_nodes,
        "hidden": config.hidden,
        "latent": config.latent,
        "edge_width": config.edge_width or config.hidden,
        "end_edges": task.hints.end_edges,
    }


DAGNN_LAYERS, PACE_LAYERS = 2, 3


def dagnn_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    """As published, both directions are used on Bayesian networks only: not what the task suggests for D-VAE."""
    config = plan.config
    bidirectional = isinstance(plan.task, BayesNetTask) if config.bidirectional is None else config.bidirectional
    layers = config.layers or DAGNN_LAYERS
    return DagnnEncoder(plan.features, config.hidden, layers=layers, bidirectional=bidirectional)


def pace_encoder(plan: Blueprint, shared: Aggregation) -> Encoder:
    order: NodeOrder = "given"
    if isinstance(plan.task, BayesNetTask):
        order = "types"
    elif isinstance(plan.task, GenericTask):
        order = "canonical"
    return PaceEncoder(plan.features, plan.config.hidden, order=order, **_pace_settings(plan))


def pace_decoder(plan: Blueprint, shared: Aggregation) -> Decoder:
    config, task = plan.config, plan.task
    return PaceDecoder(
        plan.features,
        num_types=task.num_types,
        latent=config.latent,
        edge_width=config.edge_width or 4 * config.attention_width,
        end_edges=task.hints.end_edges,
        **_pace_settings(plan),
    )


def _pace_settings(plan: Blueprint) -> dict[str, Any]:
    config = plan.config
    return {
        "max_nodes": plan.task.max_nodes,
        "width": config.attention_width,
        "layers": config.layers or PACE_LAYERS,
        "dropout": config.dropout,
    }


ENCODERS: dict[str, Callable[[Blueprint, Aggregation], Encoder]] = {
    "dvae": dvae_encoder,
    "smp": smp_encoder,
    "gcn": gcn_encoder,
    "deepgmg": deepgmg_encoder,
    "svae": svae_encoder,
    "dagnn": dagnn_encoder,
    "pace": pace_encoder,
}
DECODERS: dict[str, Callable[[Blueprint, Aggregation], Decoder]] = {
    "dvae": dvae_decoder,
    "smp": smp_decoder,
    "deepgmg": deepgmg_decoder,
    "svae": svae_decoder,
    "graphrnn": graphrnn_decoder,
    "pace": pace_decoder,
}


@dataclass(frozen=True)
class Entry:
    """A named pair of parts, where it comes from and what it is for."""

    encoder: str
    decoder: str
    reference: str
    purpose: str


MODELS: dict[str, Entry] = {
    "dvae": Entry(
        "dvae",
        "dvae",
        "Zhang et al., NeurIPS 2019",
        "computations on DAGs: the model of the paper, start here",
    ),
    "dvae-smp": Entry(
        "smp",
        "smp",
        "Zhang et al., NeurIPS 2019, table 3",
        "an ablation: nodes update all at once, three rounds, in place of topological order",
    ),
    "gcn": Entry(
        "gcn",
        "dvae",
        "Kipf and Welling, ICLR 2017; Zhang et al., NeurIPS 2019",
        "a baseline that encodes local structure, with D-VAE's decoder",
    ),
    "deepgmg": Entry(
        "deepgmg",
        "deepgmg",
        "Li et al., 2018; Zhang et al., NeurIPS 2019",
        "a baseline that passes messages both ways and asks for edges one by one; slow",
    ),
    "svae": Entry(
        "svae",
        "svae",
        "Bowman et al., CoNLL 2016; Zhang et al., NeurIPS 2019",
        "a baseline that reads and writes a DAG as a sequence of node strings; fast, tied to one node order",
    ),
    "graphrnn": Entry(
        "svae",
        "graphrnn",
        "You et al., ICML 2018; Zhang et al., NeurIPS 2019",
        "a baseline that writes node strings bit by bit, each edge seeing those before it",
    ),
    "dvae-fast": Entry(
        "dvae",
        "svae",
        "Zhang et al., NeurIPS 2019, table 3",
        "larger DAGs: D-VAE's encoder with a decoder of linear cost",
    ),
    "dagnn": Entry(
        "dagnn",
        "dvae",
        "Thost and Chen, ICLR 2021",
        "predicting from latents: stacked layers of attention over predecessors, with D-VAE's decoder",
    ),
    "pace": Entry(
        "pace",
        "pace",
        "Dong et al., ICML 2022",
        "fast: Transformers that see all nodes at once, for DAGs of a few dozen nodes",
    ),
}


def build(
    name: str, task: Task, *, config: ModelConfig | None = None, preset: Preset = "paper", seed: int | None = None,
    **settings: Any,
) -> VAE:  # fmt: skip
    """The model `name` for `task` with fresh weights; `seed` makes them repeatable.

    `settings` are fields of `ModelConfig`; `preset` "original" takes the original code's values where it differs
    from the paper's text.
    """
    if preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}; choose one of {', '.join(PRESETS)}")
    known = set(ModelConfig.__dataclass_fields__)
    for key in settings:
        if key not in known:
            raise ConfigError(f"a model has no setting {key!r}; it has {', '.join(sorted(known))}")
    config = replace(config or ModelConfig(), **{**PRESETS[preset], **settings, "name": name})
    encoder_name, decoder_name = _part_names(name)
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        plan = Blueprint(task, config, _features(task, config))
        shared = plan.aggregation()
        encoder = ENCODERS[encoder_name](plan, shared)
        decoder = DECODERS[decoder_name](plan, shared)
        return VAE(task, config, encoder, decoder)


def load(folder: str | Path, *, device: str | torch.device = "cpu") -> VAE:
    """The model saved in `folder`."""
    folder = Path(folder)
    config, task = storage.read_settings(folder)
    state = storage.read_tensors(folder / storage.WEIGHTS)
    vae = build(config.name, task, config=config)
    if state:
        vae = vae.to(next(iter(state.values())).dtype)
    storage.load_distinct_state(vae, state, folder / storage.WEIGHTS)
    return vae.to(device)


def _part_names(name: str) -> tuple[str, str]:
    if name in MODELS:
        return MODELS[name].encoder, MODELS[name].decoder
    encoder, plus, decoder = name.partition("+")
    if plus and encoder in ENCODERS and decoder in DECODERS:
        return encoder, decoder
    raise ConfigError(
        f"there is no model {name!r}; choose one of {', '.join(MODELS)}, or ENCODER+DECODER of "
        f"encoders {', '.join(ENCODERS)} and decoders {', '.join(DECODERS)}"
    )


def _features(task: Task, config: ModelConfig) -> NodeFeatures:
    if config.given_features is not None:
        widths = {len(vector) for vector in config.given_features}
        if len(config.given_features) != task.num_types or len(widths) != 1:
            raise ConfigError(
                f"given_features needs {task.num_types} vectors of one length, in the order of the vocabulary: "
                f"{', '.join(map(str, task.vocabulary.labels))}"
            )
    learned = config.feature_width if config.features == "learned" else None
    return NodeFeatures(task.num_types, learned=learned, given=config.given_features)
