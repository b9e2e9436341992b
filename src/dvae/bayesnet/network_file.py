"""Networks in files: BIF for discrete ones, JSON of our own for all kinds; both come back as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dvae.bayesnet.bif import bif_text
from dvae.bayesnet.bif_reader import read_bif
from dvae.bayesnet.network import LinearGaussian, Network, ProbabilityTable, Variable
from dvae.dag.lines import FilePath
from dvae.errors import ConfigError, FormatError, TaskError
from dvae.files import read_json, write_json, write_text

FORMAT = "dvae-network/1"
NETWORK_ENDINGS = (".bif", ".bif.gz", ".json")
WRITTEN_ENDINGS = (".bif", ".json")


def read_network(path: FilePath) -> Network:
    """The network in a .bif, .bif.gz or .json file."""
    name = os.fspath(path).lower()
    if name.endswith(".json"):
        return _from_plain(read_json(path), path)
    if name.endswith((".bif", ".bif.gz")):
        return read_bif(path)
    raise ConfigError(f"{path}: a network is read from a file that ends in {' or '.join(NETWORK_ENDINGS)}")


def write_network(path: FilePath, network: Network) -> None:
    """Writes a network with its parameters to a .bif or .json file, whole or not at all."""
    name = os.fspath(path).lower()
    if name.endswith(".json"):
        write_json(path, to_plain(network))
    elif name.endswith(".bif"):
        write_text(path, bif_text(network, Path(path).stem))
    else:
        raise ConfigError(f"{path}: a network goes to a file that ends in {' or '.join(WRITTEN_ENDINGS)}")


def to_plain(network: Network) -> dict[str, Any]:
    """The network as a JSON value."""
    return {"format": FORMAT, "variables": [plain_variable(variable) for variable in network.variables]}


def plain_variable(variable: Variable) -> dict[str, Any]:
    """A variable with its parents and parameters as a JSON value."""
    plain: dict[str, Any] = {"name": variable.name}
    if variable.states is not None:
        plain["states"] = list(variable.states)
    plain["parents"] = list(variable.parents)
    parameters = variable.parameters
    if isinstance(parameters, ProbabilityTable):
        plain["table"] = parameters.probabilities.tolist()
    elif isinstance(parameters, LinearGaussian):
        plain |= {key: getattr(parameters, key).tolist() for key in ("intercept", "coefficients", "deviation")}
    return plain


def _from_plain(plain: Any, path: FilePath) -> Network:
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise FormatError(f'{path}: this is no network; it lacks "format": "{FORMAT}"')
    listed = plain.get("variables")
    if plain.keys() != {"format", "variables"} or not isinstance(listed, list):
        raise FormatError(f'{path}: a network has the keys "format" and "variables" and no others')
    try:
        return Network(tuple(_read_variable(each) for each in listed))
    except (TaskError, ValueError, TypeError) as error:
        raise FormatError(f"{path}: {error}") from None


def _read_variable(plain: Any) -> Variable:
    if not isinstance(plain, dict) or not isinstance(plain.get("name"), str):
        raise TaskError("a variable needs a name")
    name = plain["name"]
    linear = ("intercept", "coefficients", "deviation")
    known = {"name", "parents", *(("states", "table") if "states" in plain else linear)}
    if unknown := sorted(plain.keys() - known):
        raise TaskError(f"the variable {name!r} has the unknown key {unknown[0]!r}")
    parents = _words(plain.get("parents"), f"the parents of {name!r}")
    if "states" in plain:
        states = _words(plain["states"], f"the states of {name!r}")
        table = ProbabilityTable(np.array(plain["table"], dtype=np.float64)) if "table" in plain else None
        return Variable(name, states, parents, table)
    if not any(key in plain for key in linear):
        return Variable(name, None, parents)
    if missing := [key for key in linear if key not in plain]:
        raise TaskError(f"the variable {name!r} lacks {missing[0]!r}")
    return Variable(name, None, parents, LinearGaussian(*(np.array(plain[key], dtype=np.float64) for key in linear)))


def _words(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TaskError(f"{what} are no list of names")
    return tuple(value)
