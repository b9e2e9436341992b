"""`dvae import`, and all the way: real networks imported, trained on, sampled; found architectures exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import dvae
from dvae import importers
from dvae.dag import load_jsonl, write_jsonl
from dvae.nas import module_of, write_module
from importers.examples import BLIF, WFCOMMONS, WFCOMMONS_OLD, text
from importers.networks import IMAGE, family

from .conftest import TINY, Call, Refused

SHORT = ("--epochs", 1, "--preset", "paper", *TINY)


THREE = ("resnet", "mobilenet", "unet")


@pytest.mark.parametrize("name", THREE)
def test_layers_of_networks_are_imported_and_trained_on(name: str, call: Call, tmp_path: Path) -> None:
    """As `torch.fx` traces them."""
    dags = importers.import_object(family(name, 3), [IMAGE])
    write_jsonl(tmp_path / "nets.jsonl", dags)
    assert call("train", "--task", f"file:{tmp_path / 'nets.jsonl'}", "--run", tmp_path / "run", *SHORT).exit_code == 0
    vae = dvae.load(tmp_path / "run")
    assert all(dag.types[0] == "input" for dag in vae.sample(2, seed=0, valid=True))
    assert vae.encode(dags).mean.shape == (3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", THREE)
def test_exported_networks_are_imported_and_trained_on(name: str, call: Call, tmp_path: Path) -> None:
    files = []
    for number, network in enumerate(family(name, 3)):
        torch.export.save(torch.export.export(network, (torch.zeros(*IMAGE),)), tmp_path / f"{number}.pt2")
        files.append(tmp_path / f"{number}.pt2")
    facts = json.loads(call("import", *files, "--out", tmp_path / "nets.jsonl", "--json").stdout)
    assert facts["count"] == 3
    assert {"shape", "parameters"} <= set(facts["columns"])
    assert call("train", "--task", f"file:{tmp_path / 'nets.jsonl'}", "--run", tmp_path / "run", *SHORT).exit_code == 0
    assert len(dvae.load(tmp_path / "run").sample(2, seed=0, valid=True)) == 2


def test_modules_of_ones_own_file(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "from importers.networks import UNet, family",
        "unets = family('unet', 2)",
        "one = UNet",
        "number = 3",
    )
    (tmp_path / "my_nets_to_import.py").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    shape = ("--shape", "2,3,16,16")
    result = call("import", "my_nets_to_import:unets", "my_nets_to_import:one", *shape, "--out", "n.jsonl")
    assert result.exit_code == 0
    assert "3 DAGs written to n.jsonl" in result.stdout
    dags = [item.dag for item in load_jsonl("n.jsonl")]
    assert dags[0].node["shape"][0] == "2x3x16x16"
    operators = call("import", "my_nets_to_import:one", *shape, "--level", "operators", "--out", "o.jsonl")
    assert "conv2d" in operators.stdout
    bad = call("import", "my_nets_to_import:number", "--out", "x.jsonl")
    assert bad.exit_code == 2
    assert "my_nets_to_import:number: int has no graph" in bad.stderr


def test_workflows_keep_their_columns_and_go_on(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text(WFCOMMONS))
    (tmp_path / "b.json").write_text(text(WFCOMMONS_OLD))
    words = ("import", tmp_path / "a.json", tmp_path / "b.json", "--out", tmp_path / "w.jsonl", "--columns")
    assert "columns  runtime" in call(*words, "runtime").stdout
    assert {key for item in load_jsonl(tmp_path / "w.jsonl") for key in item.dag.node} == {"runtime"}
    call(*words, "none")
    assert not any(item.dag.has_columns for item in load_jsonl(tmp_path / "w.jsonl"))
    assert call("train", "--task", f"file:{tmp_path / 'w.jsonl'}", "--run", tmp_path / "run", *SHORT).exit_code == 0


def test_a_bad_file_leaves_nothing_behind(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "good.blif").write_text(BLIF)
    (tmp_path / "bad.blif").write_text(".model m\n.names a\n2 1\n")
    files = (tmp_path / "good.blif", tmp_path / "bad.blif")
    assert "bad.blif:3: a row of this table" in refused("import", *files, "--out", tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()
    assert "ends in .jsonl" in refused("import", *files, "--out", tmp_path / "x.csv")
    assert "is a pickle" in refused("import", "net.pth", "--out", tmp_path / "x.jsonl")
    assert "--shape 1,a: a shape is" in refused("import", "a:b", "--shape", "1,a", "--out", tmp_path / "x.jsonl")
    assert "does not exist" in refused(
        "import", tmp_path / "no.onnx", "--out", tmp_path / "x.jsonl", "--format", "blif"
    )
    assert "needs the package 'nobodys_package'" in refused(
        "import", "nobodys_package:net", "--out", tmp_path / "x.jsonl"
    )


@pytest.mark.parametrize("task", ["enas6", "nasbench201"])
def test_found_architectures_become_modules(task: str, shared_data: Path) -> None:
    dag = dvae.tasks.get(task).sample(1, seed=3)[0]
    module = module_of(dag, width=4, classes=7, channels=1)
    scores = module(torch.randn(2, 1, 16, 16))
    assert scores.shape == (2, 7)
    scores.sum().backward()
    assert any(parameter.grad is not None for parameter in module.parameters())


def test_an_architecture_leaves_as_a_program_of_torch(call: Call, refused: Refused, tmp_path: Path) -> None:
    dags = dvae.tasks.get("enas6").sample(2, seed=0)
    write_jsonl(tmp_path / "found.jsonl", dags)
    words = ("nas", "export", tmp_path / "found.jsonl", "--width", 4, "--side", 16)
    facts = json.loads(call(*words, "--number", 2, "--out", tmp_path / "net.pt2", "--json").stdout)
    images = torch.randn(3, 3, 16, 16)
    module = module_of(dags[1], width=4).eval()
    loaded = torch.export.load(tmp_path / "net.pt2").module()
    assert torch.allclose(loaded(images), module(images), atol=1e-5)
    assert facts["parameters"] == sum(parameter.numel() for parameter in module.parameters())
    assert not facts["trained"]
    assert "there is no number 3" in refused(*words, "--number", 3, "--out", tmp_path / "net.pt2")
    assert "ends in .onnx or .pt2" in refused(*words, "--out", tmp_path / "net.pth")
    write_jsonl(tmp_path / "other.jsonl", [dvae.Dag(("a", "b"), ((0, 1),))])
    assert "DAG 1: an architecture is" in refused(
        "nas", "export", tmp_path / "other.jsonl", "--out", tmp_path / "x.pt2"
    )


@pytest.mark.slow
def test_a_trained_network_leaves_with_its_weights(call: Call, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "found.jsonl", dvae.tasks.get("enas6").sample(1, seed=0))
    how = ("--recipe", "digits", "--data", "digits", "--epochs", 1, "--set", "network.width=4")
    done = call("nas", "train", tmp_path / "found.jsonl", *how, "--out", tmp_path / "trained", "--json")
    assert done.exit_code == 0
    (folder,) = {path.parent for path in (tmp_path / "trained").rglob("result.json")}
    result = call("nas", "export", folder, "--side", 8, "--out", tmp_path / "net.pt2")
    assert "trained weights" in result.stderr
    assert torch.export.load(tmp_path / "net.pt2").module()(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


@pytest.mark.slow
def test_an_architecture_leaves_as_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript is not installed (extra importers)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    module: nn.Module = module_of(dvae.tasks.get("enas6").sample(1, seed=1)[0], width=4).eval()
    write_module(tmp_path / "net.onnx", module, side=16)
    images = torch.randn(3, 3, 16, 16)
    (scores,) = runtime.InferenceSession(str(tmp_path / "net.onnx")).run(None, {"images": images.numpy()})
    assert torch.allclose(torch.from_numpy(scores), module(images).detach(), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", THREE)
def test_onnx_files_are_imported_and_trained_on(name: str, call: Call, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript is not installed (extra importers)")
    files = [write_module(tmp_path / f"{n}.onnx", net, side=IMAGE[2]) for n, net in enumerate(family(name, 2))]
    facts = json.loads(call("import", *files, "--out", tmp_path / "nets.jsonl", "--json").stdout)
    assert facts["count"] == 2
    assert call("train", "--task", f"file:{tmp_path / 'nets.jsonl'}", "--run", tmp_path / "run", *SHORT).exit_code == 0
