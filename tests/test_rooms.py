"""The way through the house: imports go one way, and nothing runs text or pickles.

Every import counts, also one inside a function or under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dvae"

ROOMS = (
    *("dag", "data", "regression", "bayesnet", "tasks", "models", "training", "evaluation"),
    *("strategies", "studies", "figures", "reports", "runs", "explorer", "paper", "cli"),
)
OPEN_TO_ALL = {
    "errors",
    "config",
    "files",
    "progress",
    "logs",
    "passwords",
    "provenance",
    "registry",
    "devices",
    "extras",
    "processes",
}
DOORS = {"__init__", "__main__"}  # the package's face, which may import anything
PLACE = {room: float(place) for place, room in enumerate(ROOMS)}
PLACE |= {"compat": PLACE["models"] + 0.5, "nas": PLACE["studies"] + 0.5}
PLACE |= {"importers": PLACE["tasks"] + 0.5, "adapters": PLACE["runs"] + 0.5}
ADAPTERS = {"sklearn", "optuna", "botorch", "poli"}  # modules at the root, named for the package they serve: one room

PICKLES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def room_of(module: str) -> str:
    """The room of `dvae.<room>...`; the package itself is the door `__init__`."""
    _, _, inside = module.partition(".")
    first = inside.split(".")[0] or "__init__"
    return "adapters" if first in ADAPTERS else first


def imported_modules(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """The modules of this package that `module` imports."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parents = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parents, base]) if base else ".".join(parents)
            # `from dvae import tasks` names a room, `from dvae import Dag` uses the package's face.
            rooms = PLACE.keys() | OPEN_TO_ALL | ADAPTERS
            names = (
                [f"dvae.{alias.name}" if alias.name in rooms else "dvae" for alias in node.names]
                if base == "dvae"
                else [base]
            )
        elif isinstance(node, ast.Call) and called(node).endswith("import_module"):
            names = [
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
        yield from (name for name in names if name == "dvae" or name.startswith("dvae."))


def may_import(room: str, other: str) -> bool:
    if room in DOORS or other in OPEN_TO_ALL:
        return True
    if room in OPEN_TO_ALL:
        return False
    if other == "__init__":
        return room == "cli"  # the command line calls the library by its public names
    return room == other or PLACE[other] < PLACE[room]


def wrong_imports(source: str, module: str, is_package: bool = False) -> list[str]:
    room = room_of(module)
    if room not in DOORS | OPEN_TO_ALL | PLACE.keys():
        return [f"{module}: {room!r} is no room of the house; name it in tests/test_rooms.py or move it"]
    return [
        f"{module} imports {other}"
        for other in imported_modules(ast.parse(source), module, is_package)
        if room_of(other) not in DOORS | OPEN_TO_ALL | PLACE.keys() or not may_import(room, room_of(other))
    ]


def called(node: ast.Call) -> str:
    """The dotted name that is called, as far as it is one."""
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def dangers(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [f"imports {alias.name}" for alias in node.names if alias.name.split(".")[0] in PICKLES]
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in PICKLES:
                found.append(f"imports {node.module}")
            if any(alias.name == "*" for alias in node.names):
                found.append(f"star import of {node.module}")
        elif isinstance(node, ast.Call):
            name = called(node)
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if name in {"eval", "exec", "builtins.eval", "builtins.exec", "os.system", "os.popen"}:
                found.append(f"calls {name}")
            if keywords.get("shell", "False") != "False":
                found.append(f"{name} with a shell")
            if name == "torch.load" and keywords.get("weights_only") != "True":
                found.append("torch.load without weights_only=True")
            if keywords.get("allow_pickle", "False") != "False":
                found.append(f"{name} with allow_pickle")
    return found


def modules() -> Iterator[tuple[str, bool, str]]:
    """Every module of the package: its dotted name, whether it is a package, and its text."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("dvae", *path.relative_to(SOURCE).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        yield ".".join(parts[:-1] if is_package else parts), is_package, path.read_text(encoding="utf-8")


def test_the_house_is_found() -> None:
    assert {"dvae.errors", "dvae.config", "dvae.dag.value"} <= {module for module, _, _ in modules()}


def test_imports_go_one_way() -> None:
    assert [wrong for module, package, source in modules() for wrong in wrong_imports(source, module, package)] == []


def test_nothing_runs_text_or_pickles() -> None:
    found = [f"{module}: {danger}" for module, _, source in modules() for danger in dangers(source)]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dvae.dag.value", "from dvae.tasks import get"),
        ("dvae.dag.value", "import dvae.models.vae"),
        ("dvae.dag.value", "def f():\n    from ..studies import study"),
        ("dvae.models.vae", "from dvae import training"),
        ("dvae.models.vae", "import dvae"),
        ("dvae.models.vae", "from dvae import Dag"),
        ("dvae.models.vae", "from dvae.compat import from_original"),
        ("dvae.models.vae", "from dvae.utils import x"),
        ("dvae.studies.study", "from dvae.nas import supernet"),
        ("dvae.nas.supernet", "from dvae.figures import save_dags"),
        ("dvae.config", "from dvae.dag import Dag"),
        ("dvae.tasks.enas", "import importlib\nimportlib.import_module('dvae.models')"),
        ("dvae.studies.study", "from dvae import optuna"),
        ("dvae.sklearn", "from dvae.explorer import page"),
        ("dvae.utils", ""),
    ],
)
def test_a_step_the_wrong_way_is_seen(module: str, source: str) -> None:
    assert len(wrong_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dvae.tasks.enas", "from dvae.dag import Dag\nfrom dvae.errors import TaskError"),
        ("dvae.dag.batch", "from .value import Dag\nfrom ..errors import DagError"),
        ("dvae.compat", "from dvae.models import vae"),
        ("dvae.nas.supernet", "from dvae.evaluation import x\nimport torch"),
        ("dvae.cli.main", "import dvae\nfrom dvae import tasks\nfrom dvae.explorer import page"),
        ("dvae.logs", "from dvae.progress import track"),
        ("dvae.sklearn", "import sklearn\nfrom dvae.runs import fit\nfrom dvae.importers import from_onnx"),
        ("dvae", "from dvae.cli import main"),
    ],
)
def test_a_step_the_right_way_passes(module: str, source: str) -> None:
    assert wrong_imports(source, module) == []


def test_a_relative_import_inside_a_package_starts_at_the_package() -> None:
    assert wrong_imports("from .value import Dag", "dvae.dag", is_package=True) == []
    assert wrong_imports("from ..tasks import get", "dvae.dag", is_package=True) == ["dvae.dag imports dvae.tasks"]


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "exec('1')",
        "import pickle",
        "from pickle import loads",
        "from os.path import *",
        "subprocess.run('ls', shell=True)",
        "os.system('ls')",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_a_danger_is_seen(source: str) -> None:
    assert len(dangers(source)) == 1


def test_a_model_in_evaluation_mode_is_no_danger() -> None:
    assert dangers("model.eval()\ntorch.load(path, weights_only=True)\nsubprocess.run(['ls'])") == []
