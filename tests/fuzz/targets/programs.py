"""Files of other programs."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.util import find_spec
from pathlib import Path

from dvae.importers import from_blif, from_exported_file, from_onnx, from_wfcommons, import_file
from fuzz.mutations import changed_bytes, changed_json, changed_lines
from fuzz.target import Target
from importers import examples


def targets(folder: Path) -> list[Target]:
    json_files = (examples.AIRFLOW_JSON, examples.DAGSTER, examples.DBT, examples.NODE_LINK)
    found = [
        Target("import-tasks", "x.json", lambda at: import_file(at / "x.json"),
               tuple(json.dumps(each).encode() for each in json_files), changed_json, share=2),
        Target("import-workflow", "x.json", lambda at: from_wfcommons(at / "x.json"),
               tuple(json.dumps(each).encode() for each in (examples.WFCOMMONS, examples.WFCOMMONS_OLD)), changed_json),
        Target("import-blif", "x.blif", lambda at: from_blif(at / "x.blif"),
               (examples.BLIF.encode(), examples.BLIF_GATES.encode()), changed_lines, share=2),
        Target("import-dot", "x.dot", lambda at: import_file(at / "x.dot", type_from="label"),
               (examples.AIRFLOW_DOT.encode(),), changed_lines),
        Target("import-exported", "x.pt2", _read_exported, (exported_graph(),), changed_json, share=2),
        Target("import-archive", "x.pt2", lambda at: from_exported_file(at / "x.pt2"),
               (archive(exported_graph()),), changed_bytes),
    ]  # fmt: skip
    if find_spec("onnx") is not None:
        found.append(Target("import-onnx", "x.onnx", lambda at: from_onnx(at / "x.onnx"), (network(),), changed_bytes))
    return found


def _read_exported(at: Path) -> object:
    """Puts the graph, which was changed, into an archive."""
    path = at / "x.pt2"
    path.write_bytes(archive(path.read_bytes()))
    return from_exported_file(path)


def archive(graph: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("net/models/model.json", graph)
    return content.getvalue()


def exported_graph() -> bytes:
    """A graph as torch.export writes it, in short."""

    def tensor(*sides: int) -> dict[str, object]:
        return {"dtype": 7, "sizes": [{"as_int": side} for side in sides]}

    x, w, y = ({"as_tensor": {"name": name}} for name in "xwy")
    node = {
        "target": "torch.ops.aten.conv2d.default",
        "inputs": [
            {"name": "input", "arg": x},
            {"name": "weight", "arg": w},
            {"name": "stride", "arg": {"as_ints": [1, 1]}},
        ],
        "outputs": [y],
    }
    specs = [{"parameter": {"arg": {"name": "w"}, "parameter_name": "c.weight"}}, {"user_input": {"arg": x}}]
    values = {"x": tensor(1, 3, 8, 8), "w": tensor(4, 3, 3, 3), "y": tensor(1, 4, 6, 6)}
    graph = {"inputs": [w, x], "outputs": [y], "nodes": [node], "tensor_values": values}
    return json.dumps({"graph_module": {"graph": graph, "signature": {"input_specs": specs}}}).encode()


def network() -> bytes:
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3]), helper.make_node("Relu", ["a"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 5])]
    weights = [helper.make_tensor("w", TensorProto.FLOAT, [1, 2, 3, 3], [0.0] * 18)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    return bytes(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, weights)).SerializeToString())
