"""The pieces of models against their definitions."""

import math

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt.models.kernels import ActivationDropout, Dropout
from nmt.models.layers import xavier_linear
from nmt.models.positions import sinusoids


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_keeps_the_mean_and_drops_its_share(probability, dtype):
    torch.manual_seed(0)
    dropped = Dropout(probability).train()(torch.ones(1000, 1003, dtype=dtype)).float()
    share = round(probability * 256) / 256
    assert (dropped == 0).float().mean() == pytest.approx(share, abs=0.002)
    kept = dropped[dropped != 0]
    assert kept.unique().numel() == 1
    assert kept[0].item() == pytest.approx(1 / (1 - share), rel=0.005)
    assert dropped.double().var() == pytest.approx(share / (1 - share), rel=0.03)


@pytest.mark.parametrize(
    "probability",
    [1e-6, 1e-4, 0.0005, 0.001, 0.002, 0.004, 0.01, 0.02, 0.1, 0.15, 0.3, 0.9, 0.98, 0.995, 0.9999],
)
def test_the_share_that_is_dropped_is_the_one_that_was_asked_for(probability):
    torch.manual_seed(0)
    rarer = min(probability, 1 - probability)
    size = int(min(4_000_000, 4e4 / rarer))  # enough for chance to be less than the tolerance, but for 1e-6
    deviation = math.sqrt(rarer / size)
    for module in (
        Dropout(probability),
        ActivationDropout("relu", probability),
        ActivationDropout("gelu", probability),
    ):
        dropped = module.train()(torch.full((size,), 5.0))
        assert (dropped == 0).double().mean() == pytest.approx(probability, abs=0.02 * rarer + 5 * deviation)
        scale = module.next_scale if isinstance(module, ActivationDropout) else 1.0
        assert dropped.max() * scale == pytest.approx(5 / (1 - probability), rel=0.021)


@pytest.mark.parametrize("probability", [0.0, 1e-15])
def test_next_to_no_dropout_changes_nothing(probability):
    x = torch.randn(50, 33)
    assert_close(Dropout(probability).train()(x), x)
    assert ActivationDropout("relu", probability).train().next_scale == 1


def test_dropout_decides_for_each_activation_alone():
    torch.manual_seed(0)
    dropped = (Dropout(0.5).train()(torch.ones(20_000, 64)) == 0).float() - 0.5
    for distance in (1, 2, 7, 8, 9, 16):  # neighbours come from the same random word, and the next one
        rows = (dropped[:, distance:] * dropped[:, :-distance]).mean() * 4
        columns = (dropped[distance:] * dropped[:-distance]).mean() * 4
        assert abs(rows) < 0.005
        assert abs(columns) < 0.005
    assert (dropped.mean(0) * 2).abs().max() < 0.04  # every column, so every byte of a word, is alike


def test_dropout_is_reproducible_differs_each_time_and_is_off_in_evaluation():
    dropout, x = Dropout(0.3).train(), torch.randn(50, 33)
    torch.manual_seed(5)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(5)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)
    assert dropout.eval()(x) is x


def test_gradient_of_dropout_is_its_mask():
    x = torch.randn(40, 9, requires_grad=True, dtype=torch.float64)
    dropped = Dropout(0.4).train()(x)
    weights = torch.randn_like(dropped)
    (dropped * weights).sum().backward()
    assert_close(x.grad * x, dropped.detach() * weights)


def test_sinusoids_are_those_of_the_paper():
    table = sinusoids(8, 8, torch.device("cpu"))[3:]
    for row in range(5):
        for pair in range(4):
            angle = (row + 3) / 10_000 ** (2 * pair / 8)
            assert table[row, pair].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[row, pair + 4].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_projections_in_one_product_start_as_if_alone():
    torch.manual_seed(0)
    weight = xavier_linear(64, 192, num_blocks=3, bias=False).weight
    limit = math.sqrt(6 / (64 + 64))
    for block in weight.chunk(3):
        assert limit * 0.98 < block.abs().max() <= limit


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dropout_added_to_a_residual_is_the_sum(dtype):
    dropout = Dropout(0.3).train()
    residual, x = torch.randn(2, 40, 9, dtype=dtype).requires_grad_()
    torch.manual_seed(5)
    together = dropout.add_to(residual, x)
    (gradients,) = torch.autograd.grad(together.sum(), [x])
    torch.manual_seed(5)
    apart = residual + dropout(x)
    tolerance = {"rtol": 0.02, "atol": 0.02} if dtype == torch.bfloat16 else {}
    assert_close(together, apart, **tolerance)
    (expected,) = torch.autograd.grad(apart.sum(), [x])
    assert_close(gradients, expected, **tolerance)
    assert_close(dropout.eval().add_to(residual, x), residual + x)


@pytest.mark.parametrize(
    ("activation", "plain"), [("relu", functional.relu), ("gelu", functional.gelu), ("silu", functional.silu)]
)
def test_activation_with_dropout_is_both_one_after_the_other(activation, plain):
    x = torch.randn(40, 9, dtype=torch.float64, requires_grad=True)
    module, dropout = ActivationDropout(activation, 0.3).train(), Dropout(0.3).train()
    torch.manual_seed(5)
    together = module(x * 1) * module.next_scale
    torch.manual_seed(5)
    apart = dropout(plain(x))
    assert_close(together, apart)
    weights = torch.randn_like(x)
    found, expected = (torch.autograd.grad((result * weights).sum(), [x]) for result in (together, apart))
    assert_close(found, expected)
    module.eval()
    assert module.next_scale == 1
    assert_close(module(x * 1), plain(x))
