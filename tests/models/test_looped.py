"""Networks on images against PyTorch's own modules; randomness by seed and step."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from recombine.cell import Arrays, Context
from recombine.errors import BadValue, Interrupted
from recombine.models.deep_conv import DeepConv
from recombine.models.looped import Looped
from recombine.models.model import Model
from recombine.models.resnet import ResNet
from recombine.models.vit import ViT
from recombine.tasks.addition import Addition
from recombine.tasks.pictures import Images
from recombine.training import SGD, Recipe, Trial

SMALL = DeepConv(channels=(4, 6), kernel=3, dense=(8,))
TINY_VIT = ViT(patch=4, depth=2, heads=2, head=4, width=8, hidden=8)


def build(model: Model, seeds: Sequence[int], shape: tuple[int, ...]) -> Looped:
    stack = model.stack(seeds, shape, 1, 2)
    assert isinstance(stack, Looped)
    return stack


def pictures(lanes: int, *shape: int) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.standard_normal((lanes, 5, *shape)).astype(np.float32))


def load(module: nn.Module, stack: Looped, prefix: str) -> nn.Module:
    module.weight.data = getattr(stack, f"{prefix}_weight")[0].detach().clone()  # type: ignore[assignment]
    if hasattr(stack, f"{prefix}_bias"):
        module.bias.data = getattr(stack, f"{prefix}_bias")[0].detach().clone()  # type: ignore[union-attr, operator]
    return module


@pytest.mark.parametrize("training", [True, False])
def test_the_convolutional_network_is_pytorchs(training: bool) -> None:
    stack = build(SMALL, [3], (2, 8, 10))
    theirs = nn.Sequential(
        load(nn.Conv2d(2, 4, 3), stack, "conv0"), nn.ReLU(), nn.BatchNorm2d(4),
        load(nn.Conv2d(4, 6, 3), stack, "conv1"), nn.ReLU(), nn.BatchNorm2d(6),
        nn.MaxPool2d(2), nn.Flatten(), load(nn.Linear(36, 8), stack, "dense0"), nn.ReLU(),
        load(nn.Linear(8, 1), stack, "dense1"),
    )  # fmt: skip
    x = pictures(1, 2, 8, 10)
    for network in (stack, theirs):
        network.train()
        network(x if network is stack else x[0])  # running means move
        network.train(training)
    torch.testing.assert_close(stack(x)[0, :, 0], theirs(x[0]), rtol=1e-4, atol=1e-5)


def test_the_published_network_has_the_published_layers() -> None:
    stack = build(DeepConv(), [0], (2, 28, 48))
    shapes = {name: tuple(value.shape[1:]) for name, value in stack.named_parameters()}
    assert shapes["conv3_weight"] == (64, 64, 5, 5)
    assert shapes["dense0_weight"] == (512, 64 * 6 * 16)
    assert shapes["dense1_weight"] == (1024, 512) and shapes["dense2_weight"] == (1, 1024)
    resnet = build(ResNet(), [0], (6, 32, 32))
    assert sum(name.startswith("s") and "c" in name for name, _ in resnet.named_parameters()) >= 16
    vit = build(ViT(), [0], (6, 32, 32))
    assert tuple(vit.position.shape[1:]) == (17, 256)  # type: ignore[union-attr, operator]


def test_a_basic_block_is_pytorchs() -> None:
    stack = build(ResNet(channels=(4, 6), blocks=1), [1], (3, 8, 8)).eval()
    x = pictures(1, 3, 8, 8)[0]

    def conv(name: str, before: int, after: int, size: int, stride: int) -> nn.Module:
        made = nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False)
        return load(made, stack, name)

    scale = 1 / np.sqrt(1 + 1e-5)  # a batch norm that has seen nothing
    h = torch.relu(conv("stem", 3, 4, 3, 1)(x) * scale)
    inner = torch.relu(conv("s0b0c0", 4, 4, 3, 1)(h) * scale)
    h = torch.relu(conv("s0b0c1", 4, 4, 3, 1)(inner) * scale + h)
    inner = torch.relu(conv("s1b0c0", 4, 6, 3, 2)(h) * scale)
    inner = conv("s1b0c1", 6, 6, 3, 1)(inner) * scale
    h = torch.relu(inner + conv("s1b0skip", 4, 6, 1, 2)(h) * scale)
    theirs = load(nn.Linear(6, 1), stack, "out")(h.mean((2, 3)))
    torch.testing.assert_close(stack(x[None])[0, :, 0], theirs, rtol=1e-4, atol=1e-5)


def test_the_transformer_is_pytorchs() -> None:
    stack = build(TINY_VIT, [1], (3, 8, 8)).eval()
    x = pictures(1, 3, 8, 8)[0]
    patches = nn.functional.unfold(x, 4, stride=4).transpose(1, 2)  # channels first
    patches = patches.reshape(5, 4, 3, 16).transpose(2, 3).reshape(5, 4, 48)
    normed = load(nn.LayerNorm(48), stack, "before")(patches)
    h = load(nn.LayerNorm(8), stack, "after")(load(nn.Linear(48, 8), stack, "embed")(normed))
    token, position = (getattr(stack, n)[0].detach() for n in ("token", "position"))
    h = torch.cat([token.expand(5, 1, 8), h], dim=1) + position
    for i in range(2):
        y = load(nn.LayerNorm(8), stack, f"a{i}n")(h)
        qkv = y @ getattr(stack, f"a{i}qkv_weight")[0].T
        q, k, v = (t.reshape(5, 5, 2, 4).transpose(1, 2) for t in qkv.chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        h = h + load(nn.Linear(8, 8), stack, f"a{i}out")(mixed)
        y = load(nn.Linear(8, 8), stack, f"f{i}in")(load(nn.LayerNorm(8), stack, f"f{i}n")(h))
        h = h + load(nn.Linear(8, 8), stack, f"f{i}out")(nn.functional.gelu(y))
    last = load(nn.Linear(8, 1), stack, "head")(load(nn.LayerNorm(8), stack, "last")(h[:, 0]))
    torch.testing.assert_close(stack(x[None])[0, :, 0], last, rtol=1e-4, atol=1e-5)


MODELS = [SMALL, ResNet(channels=(4,), augment=True), TINY_VIT]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_in_training_a_lane_has_the_same_bits_alone(model: Model) -> None:
    """Batch statistics, dropout and augmentation are each lane's own, step by step."""
    shape = (3, 8, 8)
    x = pictures(3, *shape)
    together = build(model, [4, 5, 6], shape)
    alone = build(model, [5], shape)
    for _ in range(2):
        assert torch.equal(together(x)[1], alone(x[1:2])[0])


def test_a_lane_of_the_published_residual_network_has_the_same_bits_alone_there_and_back() -> None:
    """Wide enough for PyTorch's kernels that sum in another order where images lie otherwise."""
    shape = (6, 16, 16)
    x = pictures(2, *shape)
    together, alone = build(ResNet(), [4, 5], shape), build(ResNet(), [5], shape)
    both, one = together(x), alone(x[1:])
    assert torch.equal(both[1], one[0])
    both.square().sum().backward()
    one.square().sum().backward()
    for (name, mine), theirs in zip(together.named_parameters(), alone.parameters(), strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert torch.equal(mine.grad[1], theirs.grad[0]), name


def test_dropout_changes_from_step_to_step_and_ends_with_training() -> None:
    stack, x = build(TINY_VIT, [0], (3, 8, 8)), pictures(1, 3, 8, 8)
    assert not torch.equal(stack(x), stack(x))
    stack.eval()
    assert torch.equal(stack(x), stack(x))


def test_augmented_images_are_crops_of_themselves() -> None:
    stack = build(ResNet(channels=(4,), augment=True), [0], (3, 8, 8))
    x = pictures(1, 3, 8, 8)
    moved = stack.augmented(x)
    padded = nn.functional.pad(x, [4] * 4)
    found = 0
    for image, jolted in zip(padded[0], moved[0], strict=True):
        crops = [image[:, i : i + 8, j : j + 8] for i in range(9) for j in range(9)]
        found += any(torch.equal(jolted, c) or torch.equal(jolted, c.flip(-1)) for c in crops)
    assert found == 5 and not torch.equal(moved, x)
    stack.eval()
    assert stack.augmented(x) is x


class Memory:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.kept: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.kept

    def save(self, arrays: Arrays) -> None:
        self.kept = {name: np.array(value) for name, value in arrays.items()}


@pytest.mark.parametrize("model", [SMALL, TINY_VIT], ids=lambda m: m.name)
def test_a_killed_run_continues_with_the_same_bits(model: Model) -> None:
    """Running means and counted steps are part of what a checkpoint keeps."""
    recipe = Recipe(
        steps=6, batch=16, sampling="without-replacement", examples=64, loss="squared",
        optimizer=SGD(rate=1e-3, momentum=0.9), evaluation_examples=20, lanes="looped",
    )  # fmt: skip
    trial = Trial(Addition(inputs=Images()), model, recipe, keep_weights=True)
    whole = trial.run([3], Context())[3]
    memory = Memory()

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise Interrupted("enough")

    with pytest.raises(Interrupted):
        trial.run([3], Context(progress=stop, checkpoint=memory))
    again = trial.run([3], Context(checkpoint=memory))[3]
    assert again.scalars == whole.scalars
    for name, value in whole.weights.items():
        assert np.array_equal(again.weights[name], value), name


def test_inputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadValue, match="at least 18 pixels"):
        build(DeepConv(), [0], (2, 8, 8))
    with pytest.raises(BadValue, match="multiples of 8"):
        build(ViT(), [0], (3, 12, 12))
    with pytest.raises(BadValue, match="three a colour image"):
        build(ResNet(augment=True), [0], (2, 8, 8))
