"""Weights of the original D-VAE implementation, by the names its state dicts use.

Our parts compute the same functions with fewer, larger products, so weights are joined (gate and map into one) and
renamed; nothing is trained or converted. Types are the integers the original stores: 0 start, 1 end, 2.. the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.errors import CheckpointError, MissingError
from dvae.models import VAE, build
from dvae.models.kernels.aligned import pad_blocks
from dvae.models.storage import load_distinct_state
from dvae.tasks import BayesNetTask, EnasTask, RawTask, Task

State = Mapping[str, Tensor]


class _Reader:
    """A state dict from which every tensor must be taken once."""

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self.left = dict(state)

    def take(self, key: str) -> Tensor:
        if key not in self.left:
            raise CheckpointError(f"this is not a state dict of the original {self.name}: it lacks {key}")
        return self.left.pop(key)

    def drop(self, *keys: str) -> None:
        """Weights the original allocates and never uses."""
        for key in keys:
            self.left.pop(key, None)

    def close(self) -> None:
        if self.left:
            raise CheckpointError(
                f"this is not a state dict of the original {self.name}: it has an unknown {sorted(self.left)[0]}"
            )


def _linear(reader: _Reader, source: str, target: str, inputs: int = 1, outputs: int = 1) -> dict[str, Tensor]:
    """A layer whose input and output are that many aligned vectors side by side (0: not aligned)."""
    weight, bias = reader.take(f"{source}.weight"), reader.take(f"{source}.bias")
    if inputs:
        weight = pad_blocks(weight, 1, inputs)
    if outputs:
        weight, bias = pad_blocks(weight, 0, outputs), pad_blocks(bias, 0, outputs)
    return {f"{target}.weight": weight, f"{target}.bias": bias}


def _gru(reader: _Reader, source: str, target: str, layer: str = "", inputs: int = 0) -> dict[str, Tensor]:
    """torch's order of gates is reset, update, candidate; our input product starts with the candidate."""
    state = {}
    for part in ("weight_ih", "bias_ih", "weight_hh", "bias_hh"):
        value = reader.take(f"{source}.{part}{layer}")
        if part.endswith("ih"):
            value = value.roll(value.shape[0] // 3, 0)
        state[f"{target}.{part}"] = pad_blocks(value, 0, 3)
    state[f"{target}.weight_hh"] = pad_blocks(state[f"{target}.weight_hh"], 1)
    if inputs:
        state[f"{target}.weight_ih"] = pad_blocks(state[f"{target}.weight_ih"], 1, inputs)
    return state


def _gated_sum(reader: _Reader, direction: str, target: str, hidden: int) -> dict[str, Tensor]:
    """Gate over map; columns beyond the hidden ones are positions (eq. 6)."""
    joined = torch.cat([reader.take(f"gate_{direction}.0.weight"), reader.take(f"mapper_{direction}.0.weight")])
    joined = pad_blocks(joined, 0, 2)
    bias = pad_blocks(reader.take(f"gate_{direction}.0.bias"), 0)
    result = {f"{target}.weight": pad_blocks(joined[:, :hidden], 1), f"{target}.bias": bias}
    if joined.shape[1] > hidden:
        result[f"{target}.position"] = joined[:, hidden:]
    return result


def _gated_sum_of_types(reader: _Reader, target: str) -> dict[str, Tensor]:
    joined = torch.cat([reader.take("gate_forward.0.weight"), reader.take("mapper_forward.0.weight")])
    bias = pad_blocks(reader.take("gate_forward.0.bias"), 0)
    return {f"{target}.weight": pad_blocks(joined, 0, 2), f"{target}.bias": bias}


BACKWARD = tuple(
    [f"grue_backward.{part}" for part in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")]
    + ["gate_backward.0.weight", "gate_backward.0.bias", "mapper_backward.0.weight"]
)
UNIFY_NODES = ("hv_unify.0.weight", "hv_unify.0.bias")


def _dvae_encoder(reader: _Reader, hidden: int, bidirectional: bool) -> dict[str, Tensor]:
    state = _gru(reader, "grue_forward", "encoder.update")
    state |= _gated_sum(reader, "forward", "encoder.aggregation", hidden)
    if bidirectional:
        state |= _gru(reader, "grue_backward", "encoder.backward_update")
        state |= _gated_sum(reader, "backward", "encoder.backward_aggregation", hidden)
        state |= _linear(reader, "hg_unify.0", "encoder.unify", inputs=2)
        reader.drop(*UNIFY_NODES)
    else:
        reader.drop(*BACKWARD)
    return state


def _posterior(reader: _Reader) -> dict[str, Tensor]:
    return _linear(reader, "fc1", "mean", outputs=0) | _linear(reader, "fc2", "logvar", outputs=0)


def _dvae_decoder(reader: _Reader, edge_inputs: int) -> dict[str, Tensor]:
    state = _gru(reader, "grud", "decoder.update")
    state |= _linear(reader, "fc3", "decoder.start", inputs=0)
    state |= _linear(reader, "add_vertex.0", "decoder.vertex_first")
    state |= _linear(reader, "add_vertex.2", "decoder.vertex_second", outputs=0)
    state |= _linear(reader, "add_edge.0", "decoder.edge_first", inputs=edge_inputs)
    return state | _linear(reader, "add_edge.2", "decoder.edge_second", outputs=0)


def _dvae(reader: _Reader, hidden: int, bidirectional: bool) -> dict[str, Tensor]:
    return _dvae_encoder(reader, hidden, bidirectional) | _posterior(reader) | _dvae_decoder(reader, 2)


def _dvae_bn(reader: _Reader, hidden: int) -> dict[str, Tensor]:
    state = _gru(reader, "grue_forward", "encoder.update")
    state |= _gated_sum_of_types(reader, "encoder.aggregation")
    reader.drop(*BACKWARD)
    return state | _posterior(reader) | _dvae_decoder(reader, 3)


EDGE = tuple(f"add_edge.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias"))
EDGES = tuple(f"add_edges.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias"))


def _svae_encoder(reader: _Reader) -> dict[str, Tensor]:
    return _gru(reader, "grue", "encoder.gru", "_l0", inputs=1)


def _string_decoder(reader: _Reader) -> dict[str, Tensor]:
    """What the decoders of S-VAE and GraphRNN have in common."""
    state = _gru(reader, "grud", "decoder.gru", "_l0", inputs=1)
    state |= _linear(reader, "fc3", "decoder.start", inputs=0)
    state |= _linear(reader, "add_vertex.0", "decoder.vertex_first")
    return state | _linear(reader, "add_vertex.2", "decoder.vertex_second")


def _svae_decoder(reader: _Reader) -> dict[str, Tensor]:
    state = _string_decoder(reader)
    state |= _linear(reader, "add_edges.0", "decoder.edges_first")
    return state | _linear(reader, "add_edges.2", "decoder.edges_second")


def _svae(reader: _Reader, hidden: int) -> dict[str, Tensor]:
    return _svae_encoder(reader) | _posterior(reader) | _svae_decoder(reader)


def _graphrnn(reader: _Reader, hidden: int) -> dict[str, Tensor]:
    state = _svae_encoder(reader) | _posterior(reader) | _string_decoder(reader)
    state |= _gru(reader, "grud_edge", "decoder.edge_gru", "_l0")
    state |= _linear(reader, "add_edge.0", "decoder.edge_first")
    state |= _linear(reader, "add_edge.2", "decoder.edge_second", outputs=0)
    reader.drop(*EDGES)
    return state


def _dvae_fast(reader: _Reader, hidden: int) -> dict[str, Tensor]:
    state = _dvae_encoder(reader, hidden, bidirectional=True) | _posterior(reader) | _svae_decoder(reader)
    reader.drop(*EDGE)
    return state


def _readout(reader: _Reader, ending: str, target: str) -> dict[str, Tensor]:
    """A gated sum of two blocks: the gate's rows, then the map's."""
    joined = torch.cat([reader.take(f"gate{ending}.0.weight"), reader.take(f"mapper{ending}.0.weight")])
    bias = pad_blocks(reader.take(f"gate{ending}.0.bias"), 0, 2)
    return {f"{target}.weight": pad_blocks(pad_blocks(joined, 0, 4), 1), f"{target}.bias": bias}


def _deepgmg(reader: _Reader, hidden: int) -> dict[str, Tensor]:
    """fe sees (sender, direction bit, receiver), finit (type, graph), add_edge (graph, node)."""
    weight, bias = reader.take("fe.weight"), reader.take("fe.bias")
    sender, direction, receiver = weight[:, :hidden], weight[:, hidden], weight[:, hidden + 1 :]
    init = pad_blocks(reader.take("finit.weight"), 0)
    num_types = init.shape[1] - 2 * hidden
    state = {
        "encoder.parts.messages.weight": pad_blocks(pad_blocks(torch.cat([receiver, sender], 1), 0, 2), 1, 2),
        "encoder.parts.messages.direction": pad_blocks(direction.contiguous(), 0, 2),
        "encoder.parts.messages.bias": pad_blocks(bias, 0, 2),
        "encoder.parts.init.weight_type": init[:, :num_types],
        "encoder.parts.init.weight_graph": pad_blocks(init[:, num_types:], 1, 2),
        "encoder.parts.init.bias": pad_blocks(reader.take("finit.bias"), 0),
    }
    state |= _readout(reader, "", "encoder.parts.readout") | _readout(reader, "_init", "decoder.readout_init")
    for side, source in (("encoder", "grue"), ("decoder", "grud")):
        number = 0
        while f"{source}.{number}.weight_ih" in reader.left:
            state |= _gru(reader, f"{source}.{number}", f"{side}.rounds.updates.{number}", inputs=2)
            number += 1
    state |= _linear(reader, "fc1", "mean", inputs=2, outputs=0) | _linear(reader, "fc2", "logvar", inputs=2, outputs=0)
    state |= _linear(reader, "fc3", "decoder.start", inputs=0, outputs=2)
    state |= _linear(reader, "add_vertex.0", "decoder.add_vertex", inputs=2, outputs=0)
    state |= _linear(reader, "add_edge.0", "decoder.add_edge", inputs=3, outputs=0)
    return state | _linear(reader, "select_node.0", "decoder.select_node", inputs=2, outputs=0)


# name -> (our model, the task whose hints fit, settings, translation)
ORIGINALS: dict[str, tuple[str, str, dict[str, Any], Callable[[_Reader, int], dict[str, Tensor]]]] = {
    "dvae": ("dvae", "enas", {"bidirectional": True}, lambda r, h: _dvae(r, h, True)),
    "dvae_unidirectional": ("dvae", "enas", {"bidirectional": False}, lambda r, h: _dvae(r, h, False)),
    "dvae_bn": ("dvae", "bayesnet", {}, _dvae_bn),
    "svae": ("svae", "enas", {}, _svae),
    "graphrnn": ("graphrnn", "enas", {}, _graphrnn),
    "deepgmg": ("deepgmg", "enas", {}, _deepgmg),
    "dvae_fast": ("dvae-fast", "enas", {"bidirectional": True, "edge_width": None}, _dvae_fast),
}
HINTS = {"enas": EnasTask.hints, "bayesnet": BayesNetTask.hints}


def from_original(name: str, state_dict: State, num_types: int, max_nodes: int, *, task: Task | None = None) -> VAE:
    """Our model with the weights of the original `name`, computing the same numbers.

    Without `task`, graphs go in and come out as the original stores them (`RawTask`), neither wrapped nor unwrapped.
    """
    if name not in ORIGINALS:
        raise CheckpointError(f"there is no original model {name!r}; choose one of {', '.join(ORIGINALS)}")
    model, kind, settings, translate = ORIGINALS[name]
    for key in ("fc1.weight", "fc3.weight"):
        if key not in state_dict:
            raise CheckpointError(f"this is not a state dict of the original {name}: it lacks {key}")
    latent = state_dict["fc1.weight"].shape[0]
    hidden = next((value.shape[-1] for key, value in state_dict.items() if "weight_hh" in key), 0)
    if not hidden:
        raise CheckpointError(f"this is not a state dict of the original {name}: it has no recurrent weights")
    if task is None:
        task = RawTask(num_types, max_nodes, HINTS[kind])
    if (task.num_types, task.max_nodes) != (num_types, max_nodes):
        raise CheckpointError(f"{task.name} has {task.num_types} types and {task.max_nodes} nodes, the weights not")
    reader = _Reader(name, state_dict)
    try:
        state = translate(reader, hidden)
    except (RuntimeError, IndexError) as error:
        problem = str(error).splitlines()[0]
        raise CheckpointError(f"the shapes are not those of the original {name} ({problem})") from error
    reader.close()
    if "add_edge.2.weight" in state_dict:
        settings = {"edge_width": state_dict["add_edge.2.weight"].shape[1], **settings}
    vae = build(model, task, preset="original", hidden=hidden, latent=latent, **settings)
    vae = vae.to(state_dict["fc1.weight"].dtype)
    state = {key: tensor.contiguous() for key, tensor in state.items()}
    state |= {"latent_mean": vae.latent_mean, "latent_std": vae.latent_std}
    load_distinct_state(vae, state, f"the state dict of the original {name}")
    return vae


def read_original(path: str | Path) -> State:
    """A .pth state dict of the original implementation, loaded without running any code in it."""
    path = Path(path)
    if not path.is_file():
        raise MissingError(f"{path} is not there")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(f"{path} is not a plain state dict of tensors ({first})") from error
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise CheckpointError(f"{path} is not a plain state dict of tensors")
    return state
