"""Graphs of PyTorch: of a module, of what `torch.fx` and `torch.export` make of it, and of TorchScript."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, fx, nn

from dvae.dag import Dag, Value
from dvae.errors import ConfigError, DagError
from dvae.importers.program import Program

Level = Literal["modules", "operators"]


def from_module(module: nn.Module, *inputs: Any, level: Level = "modules") -> Dag:
    """The graph of a module.

    `level` "modules" has a node for every layer (`Conv2d`) and function, as `torch.fx` traces them; with example
    `inputs` their shapes are known. "operators" has a node for every operator (`conv2d`, `batch_norm`), as
    `torch.export` finds them, which needs `inputs`.
    """
    if level not in ("modules", "operators"):
        raise ConfigError(f"level is {level!r}; it must be 'modules' or 'operators'")
    if level == "operators" and not inputs:
        raise ConfigError("operators are found by running the module: give example inputs, such as a tensor")
    try:
        if level == "operators":
            return from_exported_program(torch.export.export(module, inputs))
        traced = fx.symbolic_trace(module)
        if inputs:
            from torch.fx.passes.shape_prop import ShapeProp

            with torch.no_grad():
                ShapeProp(traced).propagate(*inputs)
    except DagError:
        raise
    except Exception as error:  # whatever somebody's module raises while it is traced
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        other = "operators" if level == "modules" else "modules"
        raise DagError(
            f"{type(module).__name__} cannot be traced ({type(error).__name__}: {first[:200]}); "
            f"try level={other!r}, or make its control flow independent of values"
        ) from None
    return from_fx(traced)


def from_fx(graph_module: fx.GraphModule) -> Dag:
    """The graph that `torch.fx` traced; a submodule is a node of its class's name."""
    program = Program()
    for node in graph_module.graph.nodes:
        _add_fx(program, graph_module, node)
    return program.dag()


def from_exported_program(exported: torch.export.ExportedProgram) -> Dag:
    """The graph of `torch.export`: operators of ATen; weights and buffers are constants."""
    program, held = Program(), _held(exported)
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in held:
            program.constant(node.name, held[node.name])
        else:
            _add_fx(program, exported.graph_module, node)
    return program.dag()


def from_torchscript(script: torch.jit.ScriptModule) -> Dag:
    """The graph of a script, its submodules inlined; branches and loops are one node each."""
    graph: Any = script.inlined_graph
    program, objects = Program(), {}
    for place, value in enumerate(graph.inputs()):
        name = value.debugName()
        if place == 0 and value.type().kind() == "ClassType":
            objects[name] = script
            program.constant(name)
        else:
            program.input(name)
            _add_script_shape(program, value)
    for node in graph.nodes():
        _add_script(program, node, objects)
    for value in graph.outputs():
        program.output(value.debugName())
    return program.dag()


def _add_fx(program: Program, graph_module: fx.GraphModule, node: fx.Node) -> None:
    sources = [source.name for source in node.all_input_nodes]
    sides = _sides(node)
    if sides is not None:
        program.shape(node.name, sides)
    if node.op == "placeholder":
        program.input(node.name)
    elif node.op == "output":
        for source in sources:
            program.output(source)
    elif node.op == "get_attr":
        held = graph_module
        for part in str(node.target).split("."):
            held = getattr(held, part)
        program.constant(node.name, held.numel() if isinstance(held, Tensor) else 0)
    elif node.target is operator.getitem and len(sources) == 1:
        program.alias(node.name, sources[0])
    elif node.op == "call_module":
        module = graph_module.get_submodule(str(node.target))
        weights = f"{node.name}: weights"
        program.constant(weights, sum(parameter.numel() for parameter in module.parameters()))
        program.operation(type(module).__name__, [*sources, weights], [node.name], dict(_module_values(module)))
    else:
        program.operation(_function_name(node.target), sources, [node.name])


def _function_name(target: Any) -> str:
    """`conv2d` for an operator `aten.conv2d.default`, `relu` for a function or method of this name."""
    if isinstance(target, str):
        return target
    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name).rpartition("::")[2]
    return str(getattr(target, "__name__", type(target).__name__))


def _module_values(module: nn.Module) -> Iterator[tuple[str, Value]]:
    """Kernel, stride and groups of a layer that has them."""
    for attribute, column in (("kernel_size", "kernel"), ("stride", "stride")):
        sides = getattr(module, attribute, None)
        if isinstance(sides, int) and not isinstance(sides, bool):
            yield column, str(sides)
        elif isinstance(sides, tuple) and sides and all(isinstance(side, int) for side in sides):
            yield column, "x".join(map(str, sides))
    groups = getattr(module, "groups", None)
    if isinstance(groups, int):
        yield "groups", groups


def _sides(node: fx.Node) -> list[int | None] | None:
    """The shape of a node's value, where the graph knows it; None for a side that is open."""
    value = node.meta.get("val", node.meta.get("tensor_meta"))
    if isinstance(value, list | tuple) and not hasattr(value, "shape"):
        value = value[0] if value else None
    shape = getattr(value, "shape", None)
    return None if shape is None else [side if type(side) is int else None for side in shape]


def _held(exported: torch.export.ExportedProgram) -> dict[str, int]:
    """The placeholders that stand for weights, buffers and constants, and how many weights each holds."""
    signature = exported.graph_signature
    kinds: Sequence[Mapping[str, str]] = (
        signature.inputs_to_parameters, signature.inputs_to_buffers, signature.inputs_to_lifted_tensor_constants,
        signature.inputs_to_lifted_custom_objs,
    )  # fmt: skip
    found = {name: 0 for kind in kinds for name in kind}
    for name, key in signature.inputs_to_parameters.items():
        found[name] = math.prod(exported.state_dict[key].shape)
    return found


CONTAINERS = ("prim::ListConstruct", "prim::TupleConstruct", "prim::ListUnpack", "prim::TupleUnpack")


def _add_script(program: Program, node: Any, objects: dict[str, Any]) -> None:
    kind, outputs = node.kind(), [value.debugName() for value in node.outputs()]
    inputs = [value.debugName() for value in node.inputs()]
    for value in node.outputs():
        _add_script_shape(program, value)
    if kind == "prim::GetAttr" and inputs[0] in objects:
        held = getattr(objects[inputs[0]], node.s("name"))
        objects[outputs[0]] = held
        trained = isinstance(held, nn.Parameter) or (isinstance(held, Tensor) and held.requires_grad)
        program.constant(outputs[0], held.numel() if trained else 0)
    elif kind == "prim::Constant":
        program.constant(outputs[0])
    elif kind in CONTAINERS:
        for output in outputs:
            program.alias(output, *inputs)
    elif outputs:
        inputs += [name for block in node.blocks() for name in _captured(block)]
        program.operation(kind.rpartition("::")[2], inputs, outputs)


def _captured(block: Any) -> Iterator[str]:
    """What a branch or the body of a loop reads from around it."""
    own = {value.debugName() for value in block.inputs()}
    own |= {value.debugName() for node in block.nodes() for value in node.outputs()}
    read = [value.debugName() for node in (*block.nodes(), block.returnNode()) for value in node.inputs()]
    read += [name for node in block.nodes() for inner in node.blocks() for name in _captured(inner)]
    yield from (name for name in dict.fromkeys(read) if name not in own)


def _add_script_shape(program: Program, value: Any) -> None:
    sides = value.type().sizes() if value.type().kind() == "TensorType" else None
    if sides is not None:
        program.shape(value.debugName(), sides)
