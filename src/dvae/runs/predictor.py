"""A run's predictor in two files: tensors as safetensors, everything else as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.errors import CheckpointError
from dvae.evaluation.prediction import CANDIDATES, Predictor, PropertyModel
from dvae.files import read_json, sha256_of, write_json
from dvae.models.tensor_file import read_tensors, write_tensors
from dvae.regression.boosting import BoostedTrees
from dvae.regression.column_features import ColumnFeatures
from dvae.regression.conformal import Calibration
from dvae.regression.linear import LinearModel

TENSORS, DESCRIPTION = "predictor.safetensors", "predictor.json"
FORMAT = 1
SHA256 = "tensors_sha256"  # files of earlier versions do not have it


def write_predictor(folder: Path, predictor: Predictor, fitted_to: Mapping[str, Any]) -> None:
    """Writes both files; `fitted_to` names the model and the data that the predictor belongs to."""
    tensors: dict[str, Tensor] = {}
    described = []
    for place, (name, model) in enumerate(predictor.models.items()):
        parts = {**_regressor_parts(model.regressor), **{key: getattr(model.calibration, key) for key in _CALIBRATION}}
        tensors |= {f"{place}.{key}": value for key, value in parts.items()}
        described.append(
            {"property": name, "regressor": model.candidate, "center": model.center, "scale": model.scale}
            | {"level": model.regressor.level, "r": model.r, "rmse": model.rmse}
        )
    write_tensors(folder / TENSORS, tensors)
    content = {"format": FORMAT, "fitted_to": dict(fitted_to), "properties": described}
    content |= {SHA256: sha256_of(folder / TENSORS)}
    write_json(folder / DESCRIPTION, content | {"features": list(predictor.features.names)})


def read_predictor(folder: Path, fitted_to: Mapping[str, Any]) -> Predictor | None:
    """The predictor of a folder; None where there is none, one of another model or other data, or half of a new one."""
    if not (folder / DESCRIPTION).is_file():
        return None
    content = read_json(folder / DESCRIPTION)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CheckpointError(f"{folder / DESCRIPTION} is no predictor of this version; remove it to fit a new one")
    if content.get("fitted_to") != dict(fitted_to):
        return None
    if SHA256 in content and (folder / TENSORS).is_file() and content[SHA256] != sha256_of(folder / TENSORS):
        return None  # whoever wrote a new one was stopped between its two files
    tensors = read_tensors(folder / TENSORS)
    try:
        models = {one["property"]: _model(one, tensors, place) for place, one in enumerate(content["properties"])}
        return Predictor(ColumnFeatures(tuple(map(str, content["features"]))), models)
    except (KeyError, TypeError, ValueError, OverflowError, StopIteration) as error:
        problem = f"{type(error).__name__} {error}".rstrip()
        raise CheckpointError(f"{folder / DESCRIPTION} does not fit {TENSORS} ({problem}); remove both") from None


_CALIBRATION = ("edges", "group", "errors")
_LINEAR = ("mean", "weight")
_TREES = ("feature", "threshold", "value")


def _regressor_parts(regressor: LinearModel | BoostedTrees) -> dict[str, Tensor]:
    names = _LINEAR if isinstance(regressor, LinearModel) else _TREES
    return {name: getattr(regressor, name) for name in names}


def _model(described: Mapping[str, Any], tensors: Mapping[str, Tensor], place: int) -> PropertyModel:
    candidate = next(each for each in CANDIDATES if each == described["regressor"])
    level = float(described["level"])
    if candidate.startswith("linear"):
        mean, weight = (tensors[f"{place}.{name}"] for name in _LINEAR)
        regressor: LinearModel | BoostedTrees = LinearModel(mean, weight, level, torch.zeros(0))
    else:
        regressor = BoostedTrees(level, *(tensors[f"{place}.{name}"] for name in _TREES))
    calibration = Calibration(*(tensors[f"{place}.{name}"] for name in _CALIBRATION))
    numbers = {key: float(described[key]) for key in ("center", "scale", "r", "rmse")}
    return PropertyModel(candidate, regressor, calibration, **numbers)
