"""A run's regressors that choose among DAGs, in two files: tensors as safetensors, everything else as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch

from dvae.dag import Dataset
from dvae.errors import CheckpointError, DvaeError
from dvae.evaluation import choice
from dvae.evaluation.choice import Chooser
from dvae.evaluation.graph_tensors import NodeInputs
from dvae.evaluation.surrogate import BothWays, Surrogate, SurrogateSettings
from dvae.files import read_json, sha256_of, write_json
from dvae.models.tensor_file import read_tensors, write_tensors
from dvae.tasks import Task

TENSORS, DESCRIPTION = "chooser.safetensors", "chooser.json"
FORMAT = 1
SHA256 = "tensors_sha256"


class Kept(NamedTuple):
    """A regressor, and a digest of what it was fitted to."""

    surrogate: Surrogate
    fitted_to: str


def fitted_chooser(
    folder: Path, task: Task, load: Callable[[], Dataset], names: Sequence[str], *, device: str,
    progress: bool | None = None,
) -> Chooser:  # fmt: skip
    """Regressors of the properties `names`: those that the folder has, others fitted to the data and kept there.

    They are fitted again where the values of a property have changed. Those that are kept do without the data.
    """
    kept = read_chooser(folder)
    try:
        digests = {name: labels_digest(load(), name) for name in names}
    except DvaeError:  # moved or changed since
        if not kept.keys() >= set(names):
            raise
        digests = {name: kept[name].fitted_to for name in names}
    missing = [name for name in names if name not in kept or kept[name].fitted_to != digests[name]]
    if missing:
        fitted = choice.fit_chooser(task, load(), missing, device=device, progress=progress)
        kept |= {name: Kept(found, digests[name]) for name, found in fitted.surrogates.items()}
        write_chooser(folder, kept)
    return Chooser({name: kept[name].surrogate.to(device) for name in names})


def labels_digest(data: Dataset, name: str) -> str:
    """Other DAGs, other values of the property or another way of fitting give another digest."""
    recipe = (data.fingerprint, choice.PASSES, choice.EPOCHS, choice.SEED)
    values = [dag.properties.get(name) for part in (data.train, data.validation) for dag in part.dags]
    return hashlib.sha256(repr((recipe, values)).encode()).hexdigest()[:16]


def write_chooser(folder: Path, kept: Mapping[str, Kept]) -> None:
    """Writes both files."""
    tensors: dict[str, torch.Tensor] = {}
    described = []
    for place, (name, (surrogate, fitted_to)) in enumerate(kept.items()):
        network = surrogate.network
        tensors |= {f"{place}.{key}": value for key, value in network.state_dict().items()}
        described.append(
            {"property": name, "fitted_to": fitted_to, "inputs": asdict(surrogate.inputs)}
            | {"layers": len(network.own), "width": network.first.out_features}
            | {key: getattr(surrogate, key) for key in ("centre", "scale", "epochs", "validation_pearson")}
        )
    write_tensors(folder / TENSORS, tensors)
    content = {"format": FORMAT, "properties": described}
    write_json(folder / DESCRIPTION, content | {SHA256: sha256_of(folder / TENSORS)})


def read_chooser(folder: Path) -> dict[str, Kept]:
    """The regressors of a folder by property; none where there are none, or half of new ones."""
    if not (folder / DESCRIPTION).is_file() or not (folder / TENSORS).is_file():
        return {}
    content = read_json(folder / DESCRIPTION)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{folder / DESCRIPTION} is not of this version; remove it to fit a new one")
    if content.get(SHA256) != sha256_of(folder / TENSORS):
        return {}
    tensors = read_tensors(folder / TENSORS)
    try:
        found = {}
        for place, one in enumerate(content["properties"]):
            prefix = f"{place}."
            state = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
            found[str(one["property"])] = Kept(_surrogate(one, state), str(one["fitted_to"]))
        return found
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
    with torch.random.fork_rng(devices=[]):
        network = BothWays(inputs, SurrogateSettings(layers=int(described["layers"]), width=int(described["width"])))
    network.load_state_dict(state)
    centre, scale, pearson = (float(described[key]) for key in ("centre", "scale", "validation_pearson"))
    return Surrogate(inputs, network, centre, scale, int(described["epochs"]), pearson)
