"""Graphs of PyTorch: three real networks by four ways, which agree; what cannot be traced is told."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dvae import importers
from dvae.dag import Schema
from dvae.errors import ConfigError, DagError, FormatError, MissingError
from importers.networks import IMAGE, NETWORKS, Attention, family

IMAGES = torch.zeros(*IMAGE)
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*` is deprecated:DeprecationWarning")


def numbers(dag: Any) -> int:
    return sum(value or 0 for value in dag.node["parameters"])


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_the_same_by_every_way(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]().eval()
    weights = sum(parameter.numel() for parameter in network.parameters())
    layers = importers.from_module(network, IMAGES)
    exported = torch.export.export(network, (IMAGES,))
    operators = importers.from_exported_program(exported)
    script = importers.from_torchscript(torch.jit.trace(network, IMAGES))
    assert numbers(layers) == numbers(operators) == numbers(script) == weights
    assert len(operators) == len(script)
    assert operators.edges == script.edges
    assert layers.types[0] == "input"
    assert layers.types[-1] == "output"
    convolutions = sum(isinstance(part, nn.Conv2d | nn.ConvTranspose2d) for part in network.modules())
    for dag in (layers, operators, script):
        assert sum("conv" in str(label).lower() for label in dag.types) == convolutions
    assert layers.node["shape"][0] == "2x3x16x16"
    torch.export.save(exported, tmp_path / "net.pt2")
    (from_file,) = importers.import_file(tmp_path / "net.pt2")
    assert from_file.plain() == operators.plain()
    assert from_file.node["shape"] == operators.node["shape"]
    assert from_file.node["parameters"] == operators.node["parameters"]


def test_shortcuts_are_edges() -> None:
    dag = importers.from_module(NETWORKS["resnet"]().eval(), IMAGES)
    additions = [node for node, label in enumerate(dag.types) if label == "add"]
    assert [len(dag.predecessors()[node]) for node in additions] == [2, 2, 2]
    kernels = {dag.node["kernel"][node] for node, label in enumerate(dag.types) if label == "Conv2d"}
    assert kernels == {"3x3", "1x1"}


def test_a_value_of_several_parts_is_one_edge_to_each_reader() -> None:
    dag = importers.from_module(Attention().eval(), torch.zeros(1, 5, 8))
    assert "getitem" not in dag.types
    chunk = dag.types.index("chunk")
    assert [dag.types[node] for node in dag.successors()[chunk]] == ["transpose", "matmul", "matmul"]
    scripted = importers.from_torchscript(torch.jit.script(Attention().eval()))
    assert len(scripted) == len(dag)


def test_without_inputs_there_are_no_shapes() -> None:
    dag = importers.from_module(NETWORKS["unet"]())
    assert "shape" not in dag.node
    assert numbers(dag) > 0
    with pytest.raises(ConfigError, match="give example inputs"):
        importers.from_module(NETWORKS["unet"](), level="operators")
    with pytest.raises(ConfigError, match="level is 'layers'"):
        importers.from_module(NETWORKS["unet"](), level="layers")  # type: ignore[arg-type]


class Undecided(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


def test_what_cannot_be_traced_is_told_in_one_sentence() -> None:
    with pytest.raises(DagError, match=r"Undecided cannot be traced \(TraceError: .*try level='operators'"):
        importers.from_module(Undecided())


def test_branches_of_a_script_are_one_node() -> None:
    dag = importers.from_torchscript(torch.jit.script(Undecided()))
    assert "If" in dag.types
    assert dag.types[-1] == "output"


def test_objects_and_lists_of_them() -> None:
    found = importers.import_object(family("resnet", 3), [IMAGE])
    assert [len(dag) for dag in found] == sorted({len(dag) for dag in found})
    assert importers.import_object(lambda: found) == found
    assert Schema.infer(found).node
    with pytest.raises(DagError, match="int has no graph"):
        importers.import_object([3])


def test_pickles_stay_closed(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(1)}, tmp_path / "net.pt")
    torch.jit.trace(nn.ReLU(), torch.zeros(1)).save(str(tmp_path / "script.pt2"))
    for name in ("net.pt", "script.pt2"):
        with pytest.raises(FormatError, match="is a pickle, or holds one, and is not opened"):
            importers.import_file(tmp_path / name)


def test_damaged_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    with pytest.raises(MissingError, match="does not exist"):
        importers.import_file(path)
    path.write_bytes(b"PK\3\4 nothing")
    with pytest.raises(FormatError, match="the archive cannot be read"):
        importers.import_file(path)
    for text, problem in (
        ("{}", "not as torch.export writes it"),
        ("{", r"net.pt2:1: not valid JSON"),
        ('{"graph_module": {"graph": {"tensor_values": {}, "nodes": [], "outputs": []}, "signature": {"input_specs":'
         " []}}}", "there is no operation in it"),
    ):  # fmt: skip
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("net/models/model.json", text)
        with pytest.raises(FormatError, match=problem):
            importers.import_file(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/other.json", "{}")
    with pytest.raises(FormatError, match="not an exported program"):
        importers.import_file(path)
