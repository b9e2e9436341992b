"""Found architectures leave: as modules of PyTorch, with trained weights where there are any, and as files."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dvae.config import from_mapping, replace
from dvae.dag import Dag, from_plain
from dvae.errors import CheckpointError, ConfigError, DagError
from dvae.extras import missing
from dvae.files import atomic_path, read_json
from dvae.nas.architecture import Architecture
from dvae.nas.cells import CellNetworkConfig, cell_network, is_cell
from dvae.nas.config import FULL, NetworkConfig
from dvae.nas.full_training import RESULT
from dvae.nas.network import MacroNetwork, fixed_network
from dvae.training import checkpoint

ONNX, PT2 = ENDINGS = (".onnx", ".pt2")


def module_of(
    dag: Dag, *, width: int | None = None, classes: int = 10, channels: int = 3, seed: int = 0
) -> nn.Module:  # fmt: skip
    """The network of an architecture (of an ENAS task, or a NAS-Bench-201 cell) with fresh weights, ready to train.

    It takes images (batch, channels, height, width) and gives class scores; `width` is that of its first stage.
    """
    given = {} if width is None else {"width": width}
    if is_cell(dag):
        return cell_network(dag, CellNetworkConfig(classes=classes, channels=channels, **given), seed=seed)
    config = replace(FULL, classes=classes, channels=channels, **given)
    return fixed_network(Architecture.from_dag(dag), config, seed=seed)


def trained_module(folder: str | Path) -> MacroNetwork:
    """The network that `dvae nas train` (or `train_network`) trained in a folder, with its weights, for use."""
    folder = Path(folder)
    result: Any = read_json(folder / RESULT)
    try:
        dag = from_plain(result["dag"])
        network = result["record"]["config"]["network"]
    except (KeyError, TypeError, DagError):
        raise CheckpointError(f"{folder / RESULT} does not describe a trained network") from None
    made = fixed_network(Architecture.from_dag(dag), from_mapping(NetworkConfig, network, str(folder / RESULT)))
    checkpoint.load_weights(folder / checkpoint.FILE, "network", made)
    return made.eval()


def write_module(path: str | Path, module: nn.Module, *, side: int = 32, channels: int = 3) -> Path:
    """Writes a network of images of `side` pixels: ONNX (.onnx), or a program of `torch.export` (.pt2).

    The batch may have any size. The module is put into evaluation mode.
    """
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path}: a network goes to a file that ends in {' or '.join(ENDINGS)}")
    images = torch.zeros(2, channels, side, side, device=next(module.parameters()).device)
    free = ({0: torch.export.Dim("batch", min=1)},)
    module.eval()
    with atomic_path(path) as temporary, _quiet():
        if path.suffix == ONNX:
            _write_onnx(temporary, module, images, free)
        else:
            torch.export.save(torch.export.export(module, (images,), dynamic_shapes=free), temporary)
    return path


def _write_onnx(path: Path, module: nn.Module, images: torch.Tensor, free: tuple[dict[int, Any], ...]) -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError:
        raise missing("onnx", "importers", "writing ONNX files") from None
    torch.onnx.export(
        module, (images,), str(path), input_names=["images"], output_names=["scores"], dynamo=True, verbose=False,
        dynamic_shapes=free, external_data=False,
    )  # fmt: skip


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps to itself what PyTorch's exporter tells about its own insides."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)
