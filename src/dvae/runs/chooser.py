"""A run's regressors that choose among DAGs, in two files: tensors as safetensors, everything else as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dvae.errors import CheckpointError
from dvae.evaluation.choice import Chooser
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.surrogate import BothWays, Surrogate, SurrogateSettings
from dvae.files import read_json, sha256_of, write_json
from dvae.models.tensor_file import read_tensors, write_tensors

TENSORS, DESCRIPTION = "chooser.safetensors", "chooser.json"
FORMAT = 1
SHA256 = "tensors_sha256"


def write_chooser(folder: Path, chooser: Chooser, fitted_to: Mapping[str, Any]) -> None:
    """Writes both files; `fitted_to` names the data that the regressors belong to."""
    tensors: dict[str, torch.Tensor] = {}
    described = []
    for place, (name, surrogate) in enumerate(chooser.surrogates.items()):
        network = surrogate.network
        tensors |= {f"{place}.{key}": value.cpu() for key, value in network.state_dict().items()}
        described.append(
            {"property": name, "inputs": asdict(surrogate.inputs)}
            | {"layers": len(network.own), "width": network.first.out_features}
            | {key: getattr(surrogate, key) for key in ("centre", "scale", "epochs", "validation_pearson")}
        )
    write_tensors(folder / TENSORS, tensors)
    content = {"format": FORMAT, "fitted_to": dict(fitted_to), "properties": described}
    write_json(folder / DESCRIPTION, content | {SHA256: sha256_of(folder / TENSORS)})


def read_chooser(folder: Path, fitted_to: Mapping[str, Any], device: torch.device | str) -> Chooser | None:
    """The regressors of a folder; None where there are none, those of other data, or half of new ones."""
    if not (folder / DESCRIPTION).is_file() or not (folder / TENSORS).is_file():
        return None
    content = read_json(folder / DESCRIPTION)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{folder / DESCRIPTION} is not of this version; remove it to fit a new one")
    if content.get("fitted_to") != dict(fitted_to) or content.get(SHA256) != sha256_of(folder / TENSORS):
        return None
    tensors = read_tensors(folder / TENSORS)
    try:
        found = {}
        for place, one in enumerate(content["properties"]):
            prefix = f"{place}."
            state = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            found[str(one["property"])] = _surrogate(one, state).to(device)
        return Chooser(found)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        problem = f"{type(error).__name__} {error}".partition("\n")[0]
        raise CheckpointError(f"{folder / DESCRIPTION} does not fit {TENSORS} ({problem}); remove both") from None


def _surrogate(described: Mapping[str, Any], state: Mapping[str, torch.Tensor]) -> Surrogate:
    given = described["inputs"]
    inputs = NodeInputs(
        tuple(given["labels"]),
        tuple((str(name), tuple(map(str, categories))) for name, categories in given["category_columns"]),
        tuple((str(name), *map(float, numbers)) for name, *numbers in given["number_columns"]),  # type: ignore[misc]
        float(given["typical_size"]),
    )
    network = BothWays(inputs, SurrogateSettings(layers=int(described["layers"]), width=int(described["width"])))
    network.load_state_dict(state)
    centre, scale, pearson = (float(described[key]) for key in ("centre", "scale", "validation_pearson"))
    return Surrogate(inputs, network, centre, scale, int(described["epochs"]), pearson)
