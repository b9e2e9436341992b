"""The built-in parts and the models that have names: the only table of them."""

from __future__ import annotations

from dataclasses import dataclass

from dvae.errors import ConfigError
from dvae.models.aggregation import GatedSum, GatedSumOfTypes, GatedSumWithPosition
from dvae.models.decoders.deepgmg import DeepGmgDecoder
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.graphrnn import GraphRnnDecoder
from dvae.models.decoders.layerwise import LayerwiseDecoder
from dvae.models.decoders.pace import PaceDecoder
from dvae.models.decoders.smp import SmpDecoder
from dvae.models.decoders.svae import SvaeDecoder
from dvae.models.encoders.dagnn import DagnnEncoder
from dvae.models.encoders.deepgmg import DeepGmgEncoder
from dvae.models.encoders.dvae import DvaeEncoder
from dvae.models.encoders.gcn import GcnEncoder
from dvae.models.encoders.layerwise import LayerwiseEncoder
from dvae.models.encoders.pace import PaceEncoder
from dvae.models.encoders.smp import SmpEncoder
from dvae.models.encoders.svae import SvaeEncoder
from dvae.models.readout import EndAndSumReadout, EndReadout, SumReadout
from dvae.models.registry import AGGREGATIONS, DECODERS, ENCODERS, READOUTS
from dvae.registry import suggestion

for _name, _aggregation in (
    ("gated-sum", GatedSum),
    ("gated-sum-position", GatedSumWithPosition),
    ("gated-sum-types", GatedSumOfTypes),
):
    AGGREGATIONS.register(_name, _aggregation)
for _name, _readout in (("end", EndReadout), ("sum", SumReadout), ("both", EndAndSumReadout)):
    READOUTS.register(_name, _readout)
for _name, _encoder in (
    ("dvae", DvaeEncoder),
    ("smp", SmpEncoder),
    ("gcn", GcnEncoder),
    ("deepgmg", DeepGmgEncoder),
    ("svae", SvaeEncoder),
    ("dagnn", DagnnEncoder),
    ("pace", PaceEncoder),
    ("layerwise", LayerwiseEncoder),
):
    ENCODERS.register(_name, _encoder)
for _name, _decoder in (
    ("dvae", DvaeDecoder),
    ("smp", SmpDecoder),
    ("deepgmg", DeepGmgDecoder),
    ("svae", SvaeDecoder),
    ("graphrnn", GraphRnnDecoder),
    ("pace", PaceDecoder),
    ("layerwise", LayerwiseDecoder),
):
    DECODERS.register(_name, _decoder)


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
    "layerwise": Entry(
        "layerwise",
        "layerwise",
        "this project; layers as in Li et al., ICLR 2025",
        "large DAGs, 50 to 1,000 nodes: sizes first, then layer by layer; every sample is a whole DAG",
    ),
}


def part_names(model: str) -> tuple[str, str]:
    """The names of a model's encoder and decoder; neither holds a plus, either may be `package.module:name`."""
    if model in MODELS:
        return MODELS[model].encoder, MODELS[model].decoder
    encoder, plus, decoder = model.partition("+")
    if not plus:
        raise ConfigError(
            f"there is no model {model!r}; {suggestion(model, MODELS)}, or ENCODER+DECODER of encoders "
            f"{', '.join(ENCODERS.names())} and decoders {', '.join(DECODERS.names())}"
        )
    return encoder, decoder


def canonical_name(model: str) -> str:
    """The name under which a model is saved: parts of other packages by their `package.module:name`."""
    encoder, decoder = part_names(model)
    return model if model in MODELS else f"{ENCODERS.canonical(encoder)}+{DECODERS.canonical(decoder)}"
