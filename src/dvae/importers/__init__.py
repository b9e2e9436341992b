"""DAGs from real programs: neural networks, pipelines, workflows, circuits."""

from dvae.importers.blif import from_blif
from dvae.importers.exported import from_exported_file
from dvae.importers.formats import FORMATS, Format, import_file, with_columns
from dvae.importers.objects import import_object
from dvae.importers.onnx_files import from_onnx
from dvae.importers.sklearn_pipelines import from_sklearn
from dvae.importers.task_graphs import from_task_json
from dvae.importers.torch_graphs import from_exported_program, from_fx, from_module, from_torchscript
from dvae.importers.wfcommons import from_wfcommons

__all__ = [
    "FORMATS",
    "Format",
    "from_blif",
    "from_exported_file",
    "from_exported_program",
    "from_fx",
    "from_module",
    "from_onnx",
    "from_sklearn",
    "from_task_json",
    "from_torchscript",
    "from_wfcommons",
    "import_file",
    "import_object",
    "with_columns",
]
