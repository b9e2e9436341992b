"""From neural networks to a model of neural networks, and a found architecture back to PyTorch.

Run it: python examples/import_networks.py   (about ten seconds)
Needs nothing but dvae; ONNX files need onnx (dvae import nets/*.onnx --out nets.jsonl).
"""

# %% A few networks of one's own.
import torch
from torch import nn

import dvae
from dvae.importers import from_module
from dvae.models import build
from dvae.nas import module_of
from dvae.tasks import GenericTask


class Block(nn.Module):
    def __init__(self, width: int, skip: bool) -> None:
        super().__init__()
        self.convolution, self.norm, self.skip = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.convolution(x)))
        return x + y if self.skip else y


def network(width: int, *skips: bool) -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, width, 1), *(Block(width, skip) for skip in skips), nn.Flatten())


choices = [(a, b) for a in (False, True) for b in (False, True)]
networks = [network(width, *skips) for width in (4, 8) for skips in [(True,), (False,), *choices]]

# %% Their graphs: layers as types, shapes and numbers of weights as columns.
images = torch.zeros(1, 3, 8, 8)
dags = [from_module(each.eval(), images) for each in networks]
print(dags[0].types)
print("weights:", dags[0].node["parameters"])

# %% Trained on without more code; `dvae train --task file:nets.jsonl` does the same from a file.
vae = build("dvae", GenericTask.infer("networks", dags), hidden=16, latent=4, seed=0)
dvae.fit(vae, dags, epochs=30, batch_size=4, learning_rate=3e-3, progress=False)
print("a new one:", vae.sample(1, seed=0, valid=True)[0].types)

# %% Architectures of known spaces come back as modules, ready to train (and as ONNX: dvae nas export).
architecture = dvae.tasks.get("enas6").sample(1, seed=0)[0]
module = module_of(architecture, width=8)
print(architecture.types[1:-1], "is", sum(each.numel() for each in module.parameters()), "weights")
print("scores:", tuple(module(torch.zeros(2, 3, 32, 32)).shape))
