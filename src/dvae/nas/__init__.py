"""The neural networks that architecture DAGs stand for: shared weights for a whole space, and full training of one."""

from dvae.nas.architecture import Architecture
from dvae.nas.campaign import TrainedDag, train_architectures
from dvae.nas.cells import CellNetworkConfig, cell_network
from dvae.nas.config import FULL, NetworkConfig
from dvae.nas.exports import module_of, trained_module, write_module
from dvae.nas.full_training import Trained, train_network
from dvae.nas.network import MacroNetwork, fixed_network, sliced, supernet
from dvae.nas.recipes import RECIPES, Recipe, get_recipe
from dvae.nas.scores import SharedWeightAccuracy, TrainedAccuracy
from dvae.nas.scoring import shared_accuracies
from dvae.nas.sizes import Size, size_of
from dvae.nas.supernet_config import SupernetConfig, supernet_config
from dvae.nas.supernet_training import SupernetResult, load_supernet, train_supernet

__all__ = [
    "FULL",
    "RECIPES",
    "Architecture",
    "CellNetworkConfig",
    "MacroNetwork",
    "NetworkConfig",
    "Recipe",
    "SharedWeightAccuracy",
    "Size",
    "SupernetConfig",
    "SupernetResult",
    "Trained",
    "TrainedAccuracy",
    "TrainedDag",
    "cell_network",
    "fixed_network",
    "get_recipe",
    "load_supernet",
    "module_of",
    "shared_accuracies",
    "size_of",
    "sliced",
    "supernet",
    "supernet_config",
    "train_architectures",
    "train_network",
    "train_supernet",
    "trained_module",
    "write_module",
]
