"""Inputs and outputs of the original implementation, in float64 (see ../shared/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dvae.compat import from_original
from dvae.dag import Dag
from dvae.models.reference import ReferenceDvae
from models.oracle import KINDS

pytestmark = pytest.mark.shared
FILES = {
    "dvae_enas6": "dvae",
    "dvae_unidirectional_enas6": "dvae_unidirectional",
    "dvae_bn_bn8": "dvae_bn",
}
CLOSE = {"atol": 1e-8, "rtol": 1e-8}


class Golden:
    def __init__(self, folder: Path, name: str) -> None:
        if not (folder / f"{name}.npz").is_file():
            pytest.skip(f"{folder / name}.npz is not there")
        self.model = FILES[name]
        with np.load(folder / f"{name}.npz") as file:
            arrays = {key: torch.from_numpy(file[key]) for key in file.files}
        self.state: dict[str, Tensor] = {
            key.removeprefix("param/"): value for key, value in arrays.items() if key.startswith("param/")
        }
        self.arrays = {key: value for key, value in arrays.items() if not key.startswith("param/")}
        about: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
        self.sizes = {"num_types": about["num_types"], "max_nodes": about["max_nodes"]}
        self.graphs = [_dag(graph) for graph in about["graphs"]]
        self.greedy = [_dag(graph) for graph in about["greedy_decode_of_z"]]
        self.vae = from_original(self.model, self.state, **self.sizes)


def _dag(graph: dict[str, Any]) -> Dag:
    return Dag(tuple(graph["types"]), tuple((source, target) for source, target in graph["edges"]))


@pytest.fixture(params=list(FILES))
def golden(request: pytest.FixtureRequest, golden_folder: Path) -> Golden:
    return Golden(golden_folder, request.param)


def test_the_posterior_is_the_originals(golden: Golden) -> None:
    posterior = golden.vae.encode(golden.graphs)
    torch.testing.assert_close(posterior.mean, golden.arrays["mu"], **CLOSE)
    torch.testing.assert_close(posterior.logvar, golden.arrays["logvar"], **CLOSE)
    torch.testing.assert_close(posterior.kl(), golden.arrays["kl"], **CLOSE)


def test_the_likelihood_is_the_originals(golden: Golden) -> None:
    nll = golden.vae.reconstruction_nll(golden.graphs, golden.arrays["mu"])
    torch.testing.assert_close(nll, golden.arrays["reconstruction_nll"], **CLOSE)


def test_greedy_decodings_are_the_originals(golden: Golden) -> None:
    assert golden.vae.decode(golden.arrays["z"], greedy=True) == golden.greedy


def test_the_oracle_is_the_original(golden: Golden) -> None:
    """The oracle that other tests trust stands on the original's numbers itself."""
    oracle = ReferenceDvae(KINDS[golden.model], golden.state, **golden.sizes)
    for index, graph in enumerate(golden.graphs):
        mean, logvar = oracle.encode(graph)
        torch.testing.assert_close(mean, golden.arrays["mu"][index], **CLOSE)
        torch.testing.assert_close(logvar, golden.arrays["logvar"][index], **CLOSE)
        torch.testing.assert_close(oracle.kl(graph), golden.arrays["kl"][index], **CLOSE)
        nll = oracle.nll(graph, golden.arrays["mu"][index])
        torch.testing.assert_close(nll, golden.arrays["reconstruction_nll"][index], **CLOSE)
    assert [oracle.greedy(z) for z in golden.arrays["z"]] == golden.greedy
