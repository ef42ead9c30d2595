"""The loss against PyTorch's own, the schedules against their formulas."""

import math

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt.config import ConstantSettings, CosineSettings, InverseSquareRootSettings, NoamSettings
from nmt.training import objective
from nmt.training.objective import Objective
from nmt.training.schedule import learning_rate

PAD = 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_loss_and_gradients_equal_the_plain_computation(
    smoothing, chunk, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(objective, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
    model, batch = tiny_model("transformer", tied="three_way", dropout=0.0), tiny_batch()
    loss = Objective(model, smoothing).train()(batch)
    (loss.total * 0.5).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    logits = model.project(model(batch).outputs).flatten(0, 1)
    plain = functional.cross_entropy(
        logits, batch.target_out.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    (plain * 0.5).backward()
    assert_close(loss.total, plain)
    for name, parameter in model.named_parameters():
        assert_close(found[name], parameter.grad, msg=name)
    unsmoothed = functional.cross_entropy(
        logits, batch.target_out.flatten(), ignore_index=PAD, reduction="sum"
    )
    assert_close(loss.negative_log_likelihood, unsmoothed.detach())


def test_evaluation_smooths_nothing(tiny_model, tiny_batch):
    module = Objective(tiny_model("rnn"), 0.1).eval()
    loss = module(tiny_batch())
    assert_close(loss.total, loss.negative_log_likelihood)


def test_bfloat16_agrees_with_float32(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", width=32, d_ff=64, dropout=0.0).float(), tiny_batch()
    exact = Objective(model, 0.1).train()(batch).total
    with torch.autocast("cpu", torch.bfloat16):
        rough = Objective(model, 0.1).train()(batch).total
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(exact.item(), rel=0.05)


def test_inverse_square_root_rises_to_the_highest_and_falls():
    settings = InverseSquareRootSettings(kind="inverse_square_root", warmup_updates=100)
    rates = [learning_rate(settings, update, 0.01, 1000) for update in (1, 50, 100, 400)]
    assert rates == pytest.approx([0.0001, 0.005, 0.01, 0.005])


def test_noam_is_the_formula_of_the_paper():
    settings = NoamSettings(kind="noam", factor=2.0, d_model=512, warmup_updates=4000)
    for update in (1, 3999, 4000, 10_000):
        expected = 2.0 / math.sqrt(512) * min(1 / math.sqrt(update), update / 4000**1.5)
        assert learning_rate(settings, update, 123.0, 1) == pytest.approx(expected)


def test_cosine_ends_at_its_final_share():
    settings = CosineSettings(kind="cosine", warmup_updates=10, final_share=0.1)
    rates = [learning_rate(settings, update, 1.0, 110) for update in (5, 10, 60, 110, 200)]
    assert rates == pytest.approx([0.5, 1.0, 0.55, 0.1, 0.1])


def test_constant_stays():
    settings = ConstantSettings(kind="constant", warmup_updates=4)
    assert [learning_rate(settings, update, 2.0, 9) for update in (2, 4, 9)] == pytest.approx([1.0, 2.0, 2.0])
    assert learning_rate(ConstantSettings(kind="constant", warmup_updates=0), 1, 2.0, 9) == 2.0
