"""The slow, obvious likelihood of the layerwise decoder: one graph, one node, one decision at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from dvae.dag import Dag
from dvae.models.decoders.layerwise import LayerwiseDecoder

DISTANCE_BOUNDS = (0, 1, 2, 3, 5, 8, 16)


def slow_nll(decoder: LayerwiseDecoder, z: Tensor, dag: Dag) -> Tensor:
    """-log p(G | z) of a model's DAG whose types are indices, by the factorisation in the decoder's docstring."""
    before = [sorted(sources, reverse=True) for sources in dag.predecessors()]
    layer, first_of = [0], [0]  # of each node: its layer, and the first node of that
    for node in range(1, len(dag)):
        opens = before[node][0] >= first_of[-1]
        layer.append(layer[-1] + opens)
        first_of.append(node if opens else first_of[-1])
    nodes, layers = len(dag) - 2, layer[-2]
    common = z[: len(z) - decoder.own_latents]
    total = -_of_count(decoder, common, nodes) - _of_layers(decoder, common, nodes, layers)
    states: list[Tensor] = []
    memory: list[list[Tensor]] = [[] for _ in decoder.layers]  # what each block has seen of each node
    for node in range(1, len(dag)):
        states.append(_state(decoder, z, dag, before, layer, node - 1, nodes, layers, memory))
        nodes_left, layers_left = nodes - (node - 1), layers - layer[node - 1]
        is_end = node == len(dag) - 1
        opens = is_end or layer[node] > layer[node - 1]
        if not is_end:
            if node > 1 and 0 < layers_left < nodes_left:
                score = decoder.open_second(torch.relu(decoder.open_first(states[-1])))[0]
                total = total - functional.logsigmoid(score if opens else -score)
            inner = torch.relu(decoder.type_first(states[-1]) + decoder.type_open[int(opens)])
            scores = decoder.type_second(inner)[2:].log_softmax(0)  # neither start nor end
            total = total - scores[int(dag.types[node]) - 2]
        if not is_end or decoder.end_edges == "sampled":
            total = total + _of_edges(decoder, dag, before, layer, first_of, states, node, opens)
    return total


def _of_edges(
    decoder: LayerwiseDecoder, dag: Dag, before: list[list[int]], layer: list[int], first_of: list[int],
    states: list[Tensor], node: int, opens: bool,
) -> Tensor:  # fmt: skip
    is_end = node == len(dag) - 1
    used = {source for target in range(1, node) for source in before[target]}
    pool = [source for source in range(node) if not is_end or source in used]
    wanted = [source for source in before[node] if not is_end or source in used]
    kind = decoder.features.linear(decoder.edge_type, None)[int(dag.types[node])]
    base = decoder.edge_state(states[-1]) + decoder.edge_open[int(opens)] + kind
    total = base.new_zeros(())
    for count in range(len(wanted) + 1):
        chosen = wanted[:count]
        if count:
            candidates = [source for source in pool if source < chosen[-1]]
        elif is_end:
            candidates = pool
        elif opens:
            candidates = [source for source in pool if source >= first_of[node - 1]]
        else:
            candidates = [source for source in pool if source < first_of[node - 1]]
        summed = sum((states[source] for source in chosen), torch.zeros_like(states[0]))
        inner = torch.relu(base + decoder.edge_chosen(summed) + decoder.edge_count[min(count, 7)])
        if candidates and (count or is_end):
            more = decoder.edge_more(inner)[0]
            total = total - functional.logsigmoid(more if count < len(wanted) else -more)
        if count < len(wanted):
            scores = [
                decoder.edge_query(inner) @ decoder.edge_key(states[source]) / math.sqrt(len(inner))
                + decoder.edge_relation(inner)[_relation(before, layer, node - 1, source)]
                for source in candidates
            ]
            total = total - torch.stack(scores).log_softmax(0)[candidates.index(wanted[count])]
    return total


def _relation(before: list[list[int]], layer: list[int], node: int, source: int) -> int:
    edge = int(source in before[node])
    uses = min(sum(source in before[target] for target in range(node + 1)), 2)
    newest = before[node][0] if before[node] else -1
    side = 0 if source < newest else 1 if source == newest else 2
    between = layer[node] - layer[source]
    distance = next((place for place, bound in enumerate(DISTANCE_BOUNDS) if between <= bound), len(DISTANCE_BOUNDS))
    return ((edge * 3 + uses) * 3 + side) * 8 + distance


def _state(
    decoder: LayerwiseDecoder, z: Tensor, dag: Dag, before: list[list[int]], layer: list[int], node: int,
    nodes: int, layers: int, memory: list[list[Tensor]],
) -> Tensor:  # fmt: skip
    """What is known after `node`, by attention to it and the nodes before it."""
    nodes_left = max(nodes - node, 0)
    layers_left = min(max(layers - layer[node], 0), nodes_left)
    place = min(node + 1, decoder.max_nodes - 1)
    common, own = z.split([len(z) - decoder.own_latents, decoder.own_latents])
    of_place = decoder.read_maps[place if decoder.read_own is None else 0]
    read = decoder.read(common @ of_place + decoder.read_places[place])
    if decoder.read_own is not None:
        read = read + decoder.read_own(own.view(decoder.max_nodes, -1)[place])
    shares = [nodes_left / decoder.max_nodes, layers_left / decoder.max_nodes, layers_left / max(nodes_left, 1)]
    token = (
        decoder.features.linear(decoder.type_weight, None)[int(dag.types[node])]
        + decoder.nodes_left[min(nodes_left, 32)]
        + decoder.layers_left[min(layers_left, 32)]
        + decoder.shares_left(torch.tensor(shares, dtype=z.dtype))
        + read
    )
    for block, seen in zip(decoder.blocks(), memory, strict=True):
        seen.append(block.inwards(block.attention_norm(token)).view(3, 4, -1))
        heads = []
        for head in range(4):
            query = seen[node][0, head]
            scores = [
                query @ seen[source][1, head] / math.sqrt(len(query))
                + block.relations[_relation(before, layer, node, source), head]
                for source in range(node + 1)
            ]
            weights = torch.stack(scores).softmax(0)
            heads.append(sum(weights[source] * seen[source][2, head] for source in range(node + 1)))
        token = token + block.outwards(torch.cat(heads))  # type: ignore[arg-type]
        token = token + block.second(torch.relu(block.first(block.norm(token))))
    state: Tensor = decoder.norm(token) + read
    return state


def _of_count(decoder: LayerwiseDecoder, z: Tensor, nodes: int) -> Tensor:
    part = decoder.outline
    masses = _masses(part.nodes(torch.relu(part.inner(z))), part.most, range(part.fewest, part.most + 1))
    return torch.log(masses[nodes] / torch.stack(list(masses.values())).sum())


def _of_layers(decoder: LayerwiseDecoder, z: Tensor, nodes: int, layers: int) -> Tensor:
    part = decoder.outline
    share = nodes / part.most
    known = part.given_nodes(torch.tensor([share, math.sqrt(share)], dtype=z.dtype))
    masses = _masses(part.layers(torch.relu(part.inner(z) + known)), nodes, range(min(nodes, 1), nodes + 1))
    return torch.log(masses[layers] / torch.stack(list(masses.values())).sum())


def _masses(numbers: Tensor, span: int, counts: range) -> dict[int, Tensor]:
    weights, centres, scales = numbers.view(3, 8)
    found = {}
    for count in counts:
        mass = numbers.new_zeros(())
        for component, weight in enumerate(weights.softmax(0)):
            centre = (centres[component] + component / 7) * span
            scale = 0.05 + span / 8 * functional.softplus(scales[component])
            mass = mass + weight * (
                torch.sigmoid((count + 0.5 - centre) / scale) - torch.sigmoid((count - 0.5 - centre) / scale)
            )
        found[count] = mass
    return found
