"""A DAG and its network agree, and a supernet's slice is the standalone network."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn

from dag_strategies import architectures
from dvae.dag import Dag
from dvae.dag.original import ENAS_OPERATIONS as LAYERS
from dvae.errors import ConfigError, DagError
from dvae.nas.architecture import Architecture
from dvae.nas.config import FULL, NetworkConfig, reductions_after, stage_of
from dvae.nas.layers import Reduction
from dvae.nas.network import MacroNetwork, fixed_network, sliced, supernet
from dvae.nas.sizes import count_parameters, size_of
from nas.examples import TINY, some_architectures, some_images

SETTINGS = {
    "sum": TINY,
    "concat": NetworkConfig(width=4, channels=1, join="concat", dropout=0.0),
    "plain convolutions": NetworkConfig(width=4, channels=1, separable="plain", dropout=0.0),
    "running statistics": NetworkConfig(width=4, channels=1, statistics="running", dropout=0.0),
}


def test_separable_codes_that_stand_for_plain_convolutions_build_the_same_network() -> None:
    one, other = Architecture(("sep5", "conv3"), ((), (0,))), Architecture(("conv5", "sep3"), ((), (0,)))
    plain = SETTINGS["plain convolutions"]
    assert one.as_built(plain) == other.as_built(plain) == Architecture(("conv5", "conv3"), ((), (0,)))
    assert one.as_built(TINY) == one
    first, second = (fixed_network(architecture, plain, seed=0).eval() for architecture in (one, other))
    assert torch.equal(first(some_images()), second(some_images()))


@given(architectures(LAYERS))
def test_an_architecture_says_what_its_dag_says(dag: Dag) -> None:
    assert Architecture.from_dag(dag).dag() == dag


@pytest.mark.parametrize(
    "dag",
    [
        Dag(("conv3", "output"), ((0, 1),)),
        Dag(("input", "output"), ((0, 1),)),
        Dag(("input", "conv3", "max3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3))),
        Dag(("input", "conv7", "output"), ((0, 1), (1, 2))),
    ],
)
def test_other_dags_are_refused(dag: Dag) -> None:
    with pytest.raises(DagError):
        Architecture.from_dag(dag)


def test_the_resolution_halves_after_a_third_and_two_thirds() -> None:
    assert [stage_of(layer, 6) for layer in range(6)] == [0, 0, 1, 1, 2, 2]
    assert reductions_after(12) == (4, 8)
    assert reductions_after(2) == ()


def value_of_node(network: MacroNetwork, dag: Dag, images: Tensor) -> Tensor:
    """Class scores by walking the DAG's edges backwards from the output: the slow, obvious way."""
    depth = len(dag) - 2

    def at(node: int, stage: int) -> Tensor:
        own = 0 if node == 0 else stage_of(node - 1, depth)
        if stage > own:
            return network.reductions[f"vertex{node}_stage{stage}"](at(node, stage - 1))
        if node == 0:
            return network.stem(images)
        skips = [source for source in dag.predecessors()[node] if source != node - 1]
        layer = network.layers[node - 1]
        assert isinstance(layer, nn.ModuleDict)
        output = layer[str(dag.types[node])](at(node - 1, own))
        return network.joins[node - 1](output, [at(source, own) for source in skips], skips)

    last = sum(at(source, stage_of(depth - 1, depth)) for source in dag.predecessors()[-1])
    assert isinstance(last, Tensor)
    return network.classifier(last.mean((2, 3)))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_network_is_wired_as_its_dag(name: str) -> None:
    for architecture in some_architectures(4, depth=6):
        network = fixed_network(architecture, SETTINGS[name]).eval()
        images = some_images()
        torch.testing.assert_close(network(images), value_of_node(network, architecture.dag(), images))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("depth", [1, 3, 6, 7])
def test_a_slice_computes_what_the_supernet_does(name: str, depth: int) -> None:
    whole = supernet(7, SETTINGS[name], seed=1)
    images = some_images()
    for architecture in some_architectures(2, depth=depth, seed=depth):
        outputs = (0, depth - 1) if depth > 1 else ()
        for wanted in (architecture, Architecture(architecture.operations, architecture.skips, outputs)):
            part = sliced(whole, wanted)
            torch.testing.assert_close(part(images), whole(images, wanted), rtol=0, atol=0)
            assert count_parameters(part) < count_parameters(whole)


def test_a_standalone_network_with_the_slice_s_weights_is_the_slice() -> None:
    for name in ("sum", "concat"):
        architecture = some_architectures(1, depth=6)[0]
        whole = supernet(6, SETTINGS[name])
        alone = fixed_network(architecture, SETTINGS[name], seed=5)
        alone.load_state_dict(sliced(whole, architecture).state_dict())
        torch.testing.assert_close(alone(some_images()), whole(some_images(), architecture), rtol=0, atol=0)


def test_every_operation_keeps_its_shape_and_every_depth_ends_in_classes() -> None:
    for depth in (1, 2, 3, 12):
        operations = tuple(LAYERS[layer % len(LAYERS)] for layer in range(depth))
        skips = tuple(tuple(range(layer)) for layer in range(depth))
        network = fixed_network(Architecture(operations, skips), SETTINGS["concat"])
        assert network(some_images(side=9)).shape == (6, 10)


@pytest.mark.parametrize("side", [8, 9])
def test_a_reduction_sees_even_pixels_and_those_beside_them(side: int) -> None:
    config = NetworkConfig(width=2, channels=1)
    reduction = Reduction(1, 2, config)
    reduction.normalisation = nn.Identity()  # type: ignore[assignment]
    nn.init.ones_(reduction.even.weight)
    nn.init.ones_(reduction.odd.weight)
    image = torch.arange(1.0, side * side + 1).reshape(1, 1, side, side)
    even, odd = reduction(image)[0]
    half = -(-side // 2)
    assert even.shape == odd.shape == (half, half)
    for row in range(half):
        for column in range(half):
            assert even[row, column] == image[0, 0, 2 * row, 2 * column]
            inside = 2 * row + 1 < side and 2 * column + 1 < side
            assert odd[row, column] == (image[0, 0, 2 * row + 1, 2 * column + 1] if inside else 0)


@pytest.mark.parametrize("width", [1, 2, 3, 6, 8])
def test_gradients_of_a_reduction_are_those_of_strided_convolutions(width: int) -> None:
    """With channels last, too, where few of them once made oneDNN write beyond its memory."""
    reduction = Reduction(width, 4, NetworkConfig(width=4))
    reduction.normalisation = nn.Identity()  # type: ignore[assignment]
    images = torch.randn(16, width, 8, 8, generator=torch.Generator().manual_seed(0))
    pairs = ((reduction.even, images), (reduction.odd, images[:, :, 1:, 1:].contiguous()))
    loss = sum(nn.functional.conv2d(given, part.weight, stride=2).square().sum() for part, given in pairs)
    expected = torch.autograd.grad(loss, [part.weight for part, _ in pairs])  # type: ignore[arg-type]
    last = reduction.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    last(images.contiguous(memory_format=torch.channels_last)).square().sum().backward()
    torch.testing.assert_close((reduction.even.weight.grad, reduction.odd.weight.grad), expected)


def test_a_skip_input_changes_the_output() -> None:
    plain = Architecture(("conv3", "max3", "sep3"), ((), (), ()))
    skipped = Architecture(("conv3", "max3", "sep3"), ((), (), (0,)))
    for name in ("sum", "concat"):
        whole = supernet(3, SETTINGS[name])
        assert (whole(some_images(), plain) - whole(some_images(), skipped)).abs().max() > 1e-4


def test_parameters_by_hand() -> None:
    width = 5
    config = NetworkConfig(width=width, classes=10)
    stem, classifier = 27 * width + 2 * width, 10 * width + 10
    hand = {
        "conv3": 10 * width**2 + 4 * width,
        "conv5": 26 * width**2 + 4 * width,
        "sep3": width**2 + 9 * width + width**2 + 4 * width,
        "sep5": width**2 + 25 * width + width**2 + 4 * width,
        "avg3": width**2 + 2 * width,
        "max3": width**2 + 2 * width,
    }
    for name, parameters in hand.items():
        size = size_of(Architecture((name,), ((),)), config)
        assert size.parameters == stem + parameters + classifier, name
    two = Architecture(("conv3", "avg3"), ((), (0,)))
    assert size_of(two, config).parameters == stem + hand["conv3"] + hand["avg3"] + 2 * width + classifier
    side_by_side = NetworkConfig(width=width, join="concat")
    joined = size_of(two, side_by_side).parameters - size_of(two, config).parameters
    assert joined == 2 * width**2


def test_parameters_of_a_deeper_network_by_hand() -> None:
    """Three layers: the stem is reduced for layer 1 and, since layer 2 reads it, again; layer 1 is reduced once."""
    width = 6
    config = NetworkConfig(width=width, widening=2, join="concat")
    architecture = Architecture(("max3", "avg3", "max3"), ((), (), (0,)))
    parameters = 27 * width + 2 * width  # stem
    for stage, layer_width in enumerate((width, 2 * width, 4 * width)):
        parameters += layer_width**2 + 2 * layer_width  # 1x1 and BN of the pooling branch
        if stage:
            reduction = layer_width // 2 * layer_width + 2 * layer_width  # half the width in, all of it out
            parameters += {1: 2, 2: 2}[stage] * reduction  # stem and layer 0; stem again and layer 1
    parameters += 2 * (4 * width) ** 2 + 2 * 4 * width  # join of layer 2 with the stem
    parameters += 10 * 4 * width + 10
    assert size_of(architecture, config).parameters == parameters


def test_operations_by_hand() -> None:
    width, pixels = 5, 16 * 16
    config = NetworkConfig(width=width)
    size = size_of(Architecture(("sep5",), ((),)), config, resolution=16)
    products = pixels * (27 * width + width**2 + 25 * width + width**2) + 10 * width
    assert size.flops == 2 * products


def test_counting_agrees_with_the_network_itself() -> None:
    for architecture in some_architectures(3, depth=6):
        assert size_of(architecture, FULL).parameters == count_parameters(fixed_network(architecture, FULL))


def test_equal_seeds_equal_weights() -> None:
    one, two, other = (supernet(3, TINY, seed=seed) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.classifier.weight, other.classifier.weight)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="widening"):
        supernet(6, NetworkConfig(widening=2))
    with pytest.raises(DagError, match="7 layers"):
        sliced(supernet(6, TINY), some_architectures(1, depth=7)[0])
    with pytest.raises(DagError, match="must be given the architecture"):
        supernet(2, TINY)(some_images())
    with pytest.raises(DagError, match="ascending"):
        Architecture(("conv3", "max3"), ((), (1,)))


def test_an_architecture_in_one_line() -> None:
    plain = Architecture(("conv3", "max3"), ((), ()))
    assert str(plain) == "conv3 max3"
    assert str(Architecture(("conv3", "max3"), ((), (0,)), (0, 1))) == "conv3 max3(0) out(0,1)"
