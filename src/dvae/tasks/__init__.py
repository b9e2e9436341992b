"""What a DAG means. `get` finds a task by name."""

from dvae.tasks.base import ExportFormat, Look, ModelHints, Task
from dvae.tasks.bayesnet import BayesNetTask
from dvae.tasks.circuits import CircuitsTask
from dvae.tasks.enas import EnasTask
from dvae.tasks.enas_surrogate import EnasSurrogateTask
from dvae.tasks.expressions import ExpressionsTask
from dvae.tasks.generic import GenericTask
from dvae.tasks.nasbench201 import NasBench201Task
from dvae.tasks.nasbench_graph import NasBenchGraphTask
from dvae.tasks.raw import RawTask
from dvae.tasks.registry import TASKS, from_spec, get, load_dataset, read_dags, to_spec
from dvae.tasks.tabular import TabularTask

__all__ = [
    "TASKS",
    "BayesNetTask",
    "CircuitsTask",
    "EnasSurrogateTask",
    "EnasTask",
    "ExportFormat",
    "ExpressionsTask",
    "GenericTask",
    "Look",
    "ModelHints",
    "NasBench201Task",
    "NasBenchGraphTask",
    "RawTask",
    "TabularTask",
    "Task",
    "from_spec",
    "get",
    "load_dataset",
    "read_dags",
    "to_spec",
]
