"""ONNX: operators as nodes, shapes and numbers of weights as columns. Needs the package `onnx`.

Weights kept in files of their own are never opened, and tensors are never turned into arrays: only their shapes count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dvae.dag import Dag, Value
from dvae.errors import DagError, FormatError
from dvae.extras import missing
from dvae.importers.files import FilePath, read_bytes
from dvae.importers.program import Program

ENDING = ".onnx"
MAX_BYTES = 2**31 - 1  # of a protocol buffer
MAX_CONSTANT = 1024  # numbers of a tensor that shape inference may need, as in Reshape
STANDARD_DOMAINS = ("", "ai.onnx")
SIDES = {"kernel_shape": "kernel", "strides": "stride", "dilations": "dilation"}  # attributes that are columns
NUMBERS = {"group": "groups", "axis": "axis"}


def from_onnx(path: FilePath) -> Dag:
    """The graph of an ONNX file; what `Constant` gives counts as weights, and subgraphs belong to their operator."""
    try:
        import onnx
    except ImportError:
        raise missing("onnx", "importers", "reading ONNX files") from None
    raw = read_bytes(path, MAX_BYTES)
    try:
        model = onnx.ModelProto.FromString(raw)
    except Exception:  # google.protobuf's own, which moved between its versions
        raise FormatError(f"{path}: not an ONNX file (its protocol buffer cannot be read)") from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.input):
        raise FormatError(f"{path}: not an ONNX file (it holds no graph)")
    try:
        return _program(_with_shapes(onnx, model).graph).dag()
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None


def _with_shapes(onnx: Any, model: Any) -> Any:
    """The model with what onnx can infer of its shapes; as it is where that fails."""
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) > MAX_CONSTANT:  # inference copies the model: not with all weights
            for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "external_data"):
                tensor.ClearField(name)
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # its C++ raises several; shapes are a help, not a need
        return model


def _program(graph: Any) -> Program:
    program = Program()
    for tensor in graph.initializer:
        program.constant(tensor.name, _numbers(tensor))
    for sparse in graph.sparse_initializer:
        program.constant(sparse.values.name, _numbers(sparse.values))
    for value in graph.input:
        if value.name not in program.constants:  # before version 4 of the format, weights were inputs, too
            program.input(value.name)
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            sides = value.type.tensor_type.shape.dim
            program.shape(value.name, [side.dim_value if side.HasField("dim_value") else None for side in sides])
    for node in graph.node:
        _add(program, node)
    for value in graph.output:
        program.output(value.name)
    return program


def _add(program: Program, node: Any) -> None:
    outputs = [name for name in node.output if name]
    if node.op_type == "Constant" and node.domain in STANDARD_DOMAINS:
        tensors = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
        for output in outputs:
            program.constant(output, sum(map(_numbers, tensors)))
        return
    kind = node.op_type if node.domain in STANDARD_DOMAINS else f"{node.domain}.{node.op_type}"
    inputs = [name for name in node.input if name]
    inputs += [name for attribute in node.attribute for name in _captured(attribute)]
    program.operation(kind, inputs, outputs, dict(_values(node)))


def _values(node: Any) -> Iterator[tuple[str, Value]]:
    for attribute in node.attribute:
        if attribute.name in SIDES and attribute.ints:
            yield SIDES[attribute.name], "x".join(map(str, attribute.ints))
        elif attribute.name in NUMBERS and attribute.HasField("i"):
            yield NUMBERS[attribute.name], int(attribute.i)


def _captured(attribute: Any) -> Iterator[str]:
    """What the subgraphs of an operator (branches, bodies of loops) read from around them."""
    waiting = [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]
    for graph in waiting:
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {name for node in graph.node for name in node.output}
        read = [name for node in graph.node for name in node.input if name]
        read += [value.name for value in graph.output]
        read += [name for node in graph.node for inner in node.attribute for name in _captured(inner)]
        yield from (name for name in dict.fromkeys(read) if name not in own)


def _numbers(tensor: Any) -> int:
    """How many weights a tensor holds; whole numbers of 64 bits, texts and truth values are shapes and indices."""
    import onnx

    kinds = onnx.TensorProto
    if tensor.data_type in (kinds.INT64, kinds.BOOL, kinds.STRING, kinds.UNDEFINED):
        return 0
    return math.prod(tensor.dims) if all(side >= 0 for side in tensor.dims) else 0
