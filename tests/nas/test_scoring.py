"""Scoring many architectures at once gives what each has alone, again and again."""

from __future__ import annotations

import pytest
import torch

from dvae.errors import DagError
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, DeviceImages
from dvae.nas.network import supernet
from dvae.nas.scoring import shared_accuracies
from nas.examples import TINY, some_architectures, stripes


def validation() -> DeviceImages:
    data = stripes()
    return DeviceImages(data.train, data, torch.device("cpu"), NO_AUGMENTATION)


def test_many_at_once_are_each_alone() -> None:
    images = validation()
    network = supernet(4, TINY).eval()
    asked = some_architectures(20, depth=4) + some_architectures(5, depth=2)
    asked += [Architecture(one.operations, one.skips, (0,)) for one in asked[:3]]
    together = shared_accuracies(network, asked, images, batch=40)
    with torch.no_grad():
        for architecture, accuracy in zip(asked, together, strict=True):
            right = sum((network(part, architecture).argmax(1) == labels).sum() for part, labels in images.parts(40))
            assert accuracy == pytest.approx(float(right) / len(images))
    assert len(set(together)) > 3


def test_scores_do_not_depend_on_company_or_order() -> None:
    images, network = validation(), supernet(4, TINY)
    asked = some_architectures(12, depth=4)
    first = shared_accuracies(network, asked, images)
    assert shared_accuracies(network, asked, images) == first
    assert shared_accuracies(network, asked[::-1], images)[::-1] == first
    assert shared_accuracies(network, [asked[3], asked[3]], images) == [first[3]] * 2
    assert shared_accuracies(network, [], images) == []


def test_the_network_is_left_as_it_was() -> None:
    network = supernet(3, TINY).train()
    before = [parameter.clone() for parameter in network.parameters()]
    shared_accuracies(network, some_architectures(3, depth=3), validation())
    assert network.training
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


def test_too_deep_an_architecture_is_refused() -> None:
    with pytest.raises(DagError, match="5 layers"):
        shared_accuracies(supernet(4, TINY), some_architectures(1, depth=5), validation())
