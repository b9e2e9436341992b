"""ONNX: three real networks written by PyTorch, and small graphs of every odd kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dvae import importers
from dvae.errors import FormatError, MissingError
from importers.networks import IMAGE, NETWORKS

onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra importers)")
helper = onnx.helper
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def saved(path: Path, nodes: list[Any], inputs: list[str], outputs: list[str], weights: Any = (), **more: Any) -> Path:
    def value(name: str) -> Any:
        return helper.make_tensor_value_info(name, FLOAT, ["batch", 4])

    graph = helper.make_graph(nodes, "g", list(map(value, inputs)), list(map(value, outputs)), list(weights))
    path.write_bytes(helper.make_model(graph, **more).SerializeToString())
    return path


def weight(name: str, *sides: int) -> Any:
    count = int(torch.Size(sides).numel())
    return helper.make_tensor(name, FLOAT, sides, [0.0] * count)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_real_network(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript is not installed (extra importers)")
    network = NETWORKS[name]().eval()
    from dvae.nas import write_module

    write_module(tmp_path / "net.onnx", network, side=IMAGE[2])
    (dag,) = importers.import_file(tmp_path / "net.onnx")
    convolutions = sum("Conv" in type(part).__name__ for part in network.modules())
    assert sum(str(label).startswith("Conv") for label in dag.types) == convolutions
    assert dag.node["shape"][0] == "?x3x16x16"
    # PyTorch folds normalisations into convolutions: fewer weights than the module's, never more.
    weights = sum(parameter.numel() for parameter in network.parameters())
    assert 0.8 * weights < sum(value or 0 for value in dag.node["parameters"]) <= weights


def test_operators_weights_shapes_and_attributes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], strides=[2, 2], group=2),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Mul", ["b", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, 4, 9, 9])],
        [helper.make_tensor_value_info("y", FLOAT, None)], [weight("w", 6, 2, 3, 3)],
    )  # fmt: skip
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    dag = importers.from_onnx(path)
    assert dag.types == ("input", "Conv", "Relu", "Mul", "output")
    assert dag.edges == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert dag.node["parameters"] == (None, 108, None, None, None)
    assert dag.node["shape"] == ("1x4x9x9", "1x6x4x4", "1x6x4x4", "1x6x4x4", None)
    assert dag.node["kernel"] == (None, "3x3", None, None, None)
    assert dag.node["groups"] == (None, 2, None, None, None)
    assert importers.import_file(path, columns=["groups"])[0].node == {"groups": (None, 2, None, None, None)}
    assert not importers.import_file(path, columns=[])[0].has_columns


def test_constants_are_weights_and_shapes_are_not(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["w"], value=weight("v", 4, 4)),
        helper.make_node("Transpose", ["w"], ["t"]),  # of constants alone: a constant
        helper.make_node("MatMul", ["x", "t"], ["a"]),
        helper.make_node("Reshape", ["a", "s"], ["y"]),
    ]
    sides = helper.make_tensor("s", INT64, [2], [-1, 4])
    dag = importers.from_onnx(saved(tmp_path / "net.onnx", nodes, ["x", "s"], ["y"], [sides]))
    assert dag.types == ("input", "MatMul", "Reshape", "output")
    assert dag.node["parameters"] == (None, 16, None, None)


def test_branches_belong_to_their_operator_with_what_they_read(tmp_path: Path) -> None:
    branch = helper.make_graph(
        [helper.make_node("Add", ["a", "inside"], ["r"])], "then", [],
        [helper.make_tensor_value_info("r", FLOAT, None)], [weight("inside", 4)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Gelu", ["y"], ["z"], domain="com.microsoft"),
    ]
    dag = importers.from_onnx(saved(tmp_path / "net.onnx", nodes, ["x", "c"], ["z"]))
    assert dag.types == ("input", "input", "Relu", "If", "com.microsoft.Gelu", "output")
    assert (2, 3) in dag.edges


def test_bad_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    with pytest.raises(MissingError, match="does not exist"):
        importers.from_onnx(path)
    for raw in (b"", b"\xff\xff\xff", b"hello"):
        path.write_bytes(raw)
        with pytest.raises(FormatError, match=r"net.onnx: not an ONNX file"):
            importers.from_onnx(path)
    relu = helper.make_node("Relu", ["nobody"], ["y"])
    with pytest.raises(FormatError, match=r"net.onnx: Relu reads the value 'nobody', which nothing makes"):
        importers.from_onnx(saved(path, [relu], ["x"], ["y"]))
    ring = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(FormatError, match="has a cycle"):
        importers.from_onnx(saved(path, ring, ["x"], ["b"]))


def test_too_many_operators_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [helper.make_node("Relu", [f"v{place}"], [f"v{place + 1}"]) for place in range(2100)]
    path = saved(tmp_path / "net.onnx", nodes, ["v0"], ["v2100"])
    with pytest.raises(FormatError, match=r"2,001 nodes, and 2,000 are allowed: set DVAE_MAX_NODES"):
        importers.from_onnx(path)
    monkeypatch.setenv("DVAE_MAX_NODES", "3000")
    assert len(importers.from_onnx(path)) == 2102
