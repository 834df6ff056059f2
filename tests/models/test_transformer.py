"""The transformer: against PyTorch's own layers, decoding against forcing, positions, padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recombine.errors import BadValue
from recombine.models.initial import Initial
from recombine.models.transformer import Heads, Layer, StackedTransformer, Transformer

SMALL = Transformer(width=8, heads=2, layers=2, inner=6)


def sentences(lanes: int, *, time: int = 5, batch: int = 4) -> Tensor:
    words = np.random.default_rng(3).integers(3, size=(lanes, batch, time))
    return torch.from_numpy(np.eye(3, dtype=np.float32)[words])


def made(blueprint: Transformer = SMALL, seeds: tuple[int, ...] = (0, 1)) -> StackedTransformer:
    stack = blueprint.stack(seeds, (5, 3), 4, 3)
    assert isinstance(stack, StackedTransformer)
    return stack


def copy_heads(ours: Heads, theirs: nn.MultiheadAttention, lane: int) -> None:
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight[lane].T for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias[lane] for part in parts]))
        theirs.out_proj.weight.copy_(ours.out.weight[lane].T)
        theirs.out_proj.bias.copy_(ours.out.bias[lane])


def copy_rest(ours: Layer, theirs: nn.Module, lane: int) -> None:
    with torch.no_grad():
        for mine, linear in ((ours.widen, theirs.linear1), (ours.narrow, theirs.linear2)):
            linear.weight.copy_(mine.weight[lane].T)
            linear.bias.copy_(mine.bias[lane])


def shaken(layer: Layer) -> Layer:
    """Biases and norms start at 0 and 1: moved, so that a mistake in them shows."""
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.manual_seed(1)))
    return layer


def test_a_layer_of_the_encoder_is_pytorchs() -> None:
    layer = shaken(Layer(Initial((0, 1), "glorot", 1.0), SMALL, across=False))
    theirs = nn.TransformerEncoderLayer(8, 2, 6, dropout=0.0, batch_first=True, norm_first=True)
    x = torch.randn(2, 3, 5, 8)
    hidden = torch.zeros(1, 3, 1, 5, dtype=torch.bool)
    hidden[:, 1, :, 3:] = True
    seen = layer.before_within(x)
    ours = layer.dense(x + layer.within(seen, *layer.within.keys(seen), hidden))
    for lane in range(2):
        copy_heads(layer.within, theirs.self_attn, lane)
        copy_rest(layer, theirs, lane)
        with torch.no_grad():
            for mine, norm in (
                (layer.before_within, theirs.norm1),
                (layer.before_dense, theirs.norm2),
            ):
                norm.weight.copy_(mine.scale[lane])
                norm.bias.copy_(mine.shift[lane])
        wanted = theirs(x[lane], src_key_padding_mask=hidden[0, :, 0])
        assert torch.allclose(ours[lane], wanted, atol=1e-5)


def test_attention_to_the_source_is_pytorchs() -> None:
    heads = Heads(Initial((0,), "pytorch", 1.0), SMALL, relative=False)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    copy_heads(heads, theirs, 0)
    x, source = torch.randn(1, 3, 4, 8), torch.randn(1, 3, 5, 8)
    ours = heads(x, *heads.keys(source), torch.zeros(1, 1, 1, 5, dtype=torch.bool))
    assert torch.allclose(ours[0], theirs(x[0], source[0], source[0])[0], atol=1e-6)


@pytest.mark.parametrize("blueprint", Transformer.variants())
def test_forced_with_its_own_words_it_says_the_same(blueprint: Transformer) -> None:
    stack = made(blueprint)
    free = stack(sentences(2))
    forced = stack.forced(sentences(2), free.argmax(-1))
    assert torch.allclose(free, forced, atol=1e-5)


@pytest.mark.parametrize("blueprint", Transformer.variants())
def test_later_words_do_not_matter(blueprint: Transformer) -> None:
    stack, words = made(blueprint), torch.zeros(2, 4, 4, dtype=torch.long)
    changed = words.clone()
    changed[..., 2] = 1
    a, b = (stack.forced(sentences(2), w) for w in (words, changed))
    assert torch.equal(a[:, :, :3], b[:, :, :3]) and not torch.allclose(a[:, :, 3], b[:, :, 3])


@pytest.mark.parametrize("blueprint", Transformer.variants())
def test_padding_does_not_matter(blueprint: Transformer) -> None:
    stack, short = made(blueprint), sentences(2)[:, :, :3]
    padded = torch.cat([short, torch.zeros(2, 4, 2, 3)], dim=2)
    assert torch.allclose(stack(short), stack(padded), atol=1e-5)


def test_relative_scores_are_those_of_the_formula() -> None:
    blueprint = Transformer(width=8, heads=2, layers=1, inner=4, positions="relative", reach=2)
    heads = Heads(Initial((0,), "glorot", 1.0), blueprint, relative=True)
    query = torch.randn(1, 1, 2, 3, 4)
    got = heads._by_distance(query, 5, 1)
    assert heads.distance is not None
    for i in range(3):
        for j in range(5):
            at = min(max(j - (i + 1), -2), 2) + 2
            wanted = query[0, 0, :, i] @ heads.distance[0, at]
            assert torch.allclose(got[0, 0, :, i, j], wanted, atol=1e-6)


def test_relative_positions_are_the_same_everywhere() -> None:
    """A word moved along with all it sees is seen the same; with absolute positions it is not."""
    x = torch.randn(1, 1, 3, 8)
    none = torch.zeros(1, 1, 1, 3, dtype=torch.bool)
    blueprint = Transformer(width=8, heads=2, layers=1, inner=4, positions="relative", reach=3)
    heads = Heads(Initial((0,), "glorot", 1.0), blueprint, relative=True)
    keys = heads.keys(x)
    here, there = heads(x, *keys, none), heads(x, *keys, none, first=0)
    assert torch.equal(here, there)
    moved = heads(x, *keys, none, first=1)
    assert not torch.allclose(here, moved), "queries that stand later see other distances"


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(BadValue, match="a multiple of 8"):
        Transformer(width=10, heads=4)
    with pytest.raises(BadValue, match="at least 1"):
        Transformer(layers=0)
    with pytest.raises(BadValue, match="length, words"):
        Transformer().stack([0], (3,), 1, 2)
