"""Programs that `torch.export.save` wrote (.pt2): the graph is JSON in an archive, and nothing else is opened.

Weights, example inputs and whatever else an archive holds may be pickles; they stay closed. Files of TorchScript and of
`torch.save` are pickles throughout, and are refused.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from dvae.dag import Dag
from dvae.errors import DagError, DvaeError, FormatError
from dvae.importers.files import FilePath, opened, parsed_json
from dvae.importers.program import Program

ENDINGS = (".pt2",)
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".joblib", ".ckpt")
MAX_ARCHIVE = 2**34  # bytes; weights are in it, and not read
MAX_GRAPH = 64 * 2**20
MODEL = re.compile(r"[^/]+/models/[^/]+\.json|(?:[^/]+/)?serialized_exported_program\.json")
SIDES = {"kernel_size": "kernel", "stride": "stride"}


def from_exported_file(path: FilePath) -> Dag:
    """The graph of a saved exported program, read without unpickling anything."""
    content = parsed_json(_graph_text(path), path)
    try:
        return _program(content).dag()
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"{path}: its graph is not as torch.export writes it ({type(error).__name__})") from None


def refuse_pickle(path: FilePath) -> None:
    """Says what to do with a file whose format is a pickle."""
    raise FormatError(
        f"{path} is a pickle, or holds one, and is not opened: in Python, load what you trust and use "
        "dvae.importers.from_module, or save it with torch.export.save (.pt2) or as ONNX"
    )


def _graph_text(path: FilePath) -> str:
    try:
        with opened(path, MAX_ARCHIVE) as raw, zipfile.ZipFile(raw) as archive:
            members = [info for info in archive.infolist() if MODEL.fullmatch(info.filename)]
            if not members:
                names = {info.filename.rpartition("/")[2] for info in archive.infolist()}
                if "data.pkl" in names:
                    refuse_pickle(path)
                raise FormatError(f"{path}: not an exported program (models/*.json is not in the archive)")
            if members[0].file_size > MAX_GRAPH:
                raise FormatError(f"{path}: its graph has {members[0].file_size:,} bytes, {MAX_GRAPH:,} are allowed")
            with archive.open(members[0]) as file:
                return file.read(MAX_GRAPH + 1).decode("utf-8")
    except DvaeError:
        raise
    except Exception:  # whatever damaged archives raise
        raise FormatError(f"{path}: not an exported program (the archive cannot be read)") from None


def _program(content: Any) -> Program:
    module = content["graph_module"]
    graph, signature = module["graph"], module["signature"]
    program = Program()
    sizes = {str(name): _sides(value) for name, value in graph["tensor_values"].items()}
    for name, sides in sizes.items():
        program.shape(name, sides)
    for spec in signature["input_specs"]:
        ((kind, held),) = spec.items()
        if kind == "user_input":
            for name in _names(held["arg"]):
                program.input(name)
        else:
            for name in _names({"as_tensor": held["arg"]} if "name" in held["arg"] else held["arg"]):
                known = [side for side in sizes.get(name, ()) if side is not None]
                program.constant(name, math.prod(known) if kind == "parameter" else 0)
    for node in graph["nodes"]:
        inputs = [name for given in node["inputs"] for name in _names(given["arg"])]
        outputs = [name for given in node["outputs"] for name in _names(given)]
        values = {SIDES[given["name"]]: _sizes(given["arg"]) for given in node["inputs"] if given["name"] in SIDES}
        program.operation(_kind(node["target"]), inputs, outputs, values)
    for given in graph["outputs"]:
        for name in _names(given):
            program.output(name)
    return program


def _kind(target: str) -> str:
    """`conv2d` of `torch.ops.aten.conv2d.default`."""
    parts = target.removeprefix("torch.ops.").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _names(argument: Mapping[str, Any]) -> Iterator[str]:
    """The values that an argument names, whatever it is made of."""
    for kind, held in argument.items():
        items = held if isinstance(held, list) else [held]
        for item in items:
            if isinstance(item, dict) and isinstance(item.get("name"), str) and kind != "as_graph":
                yield item["name"]
            elif isinstance(item, dict) and kind != "as_graph":
                yield from _names({key: value for key, value in item.items() if isinstance(value, dict | list)})


def _sides(value: Mapping[str, Any]) -> list[int | None]:
    sizes = [side.get("as_int") for side in value["sizes"]]
    return [side if type(side) is int and side >= 0 else None for side in sizes]


def _sizes(argument: Mapping[str, Any]) -> str | None:
    sides = argument.get("as_ints")
    return "x".join(map(str, sides)) if isinstance(sides, list) and sides else None
