"""The loss against PyTorch's own, and what teaches hard attention against its definition."""

import dataclasses

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt.models.interface import Choices, Decoded
from nmt.training import cross_entropy
from nmt.training.objective import ENTROPY_WEIGHT, Objective

PAD = 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_loss_and_gradients_equal_the_plain_computation(
    smoothing, chunk, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(cross_entropy, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
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


def test_a_word_without_any_probability_costs_a_finite_loss_and_its_gradient_is_whole():
    outputs = torch.ones(1, 1, requires_grad=True)
    weight = torch.tensor([[500.0], [0.0], [0.0]], requires_grad=True)
    bias, targets, is_token = torch.zeros(3, requires_grad=True), torch.tensor([1]), torch.tensor([True])
    total, _ = cross_entropy.ChunkedCrossEntropy.apply(outputs, weight, bias, targets, is_token, 0.0)
    total.backward()
    assert 80 < total.item() < 500
    assert outputs.grad.item() == 500
    assert bias.grad.tolist() == [1, -1, 0]


@pytest.mark.parametrize("gap", [3, 12, 16, 18, 20, 40, 60])
def test_in_float16_a_rare_word_costs_what_it_costs(gap):
    outputs, weight = torch.ones(1, 1, requires_grad=True), torch.tensor([[gap], [0.0], [0.0]])
    with torch.autocast("cpu", torch.float16):
        total, losses = cross_entropy.ChunkedCrossEntropy.apply(
            outputs, weight, torch.zeros(3), torch.tensor([1]), torch.tensor([True]), 0.0
        )
    total.backward()
    expected = torch.tensor([[gap, 0.0, 0.0]], dtype=torch.float64).log_softmax(1)[0, 1]
    assert total.item() == losses.item() == pytest.approx(-expected.item(), rel=1e-3)
    assert outputs.grad.item() == pytest.approx(gap, rel=0.1)


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


def test_with_all_but_the_output_layer_frozen_it_still_learns(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()
    Objective(model, 0.1).train()(batch).total.backward()
    expected = model.output.weight.grad.clone()
    model.zero_grad()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("output."))
    Objective(model, 0.1).train()(batch).total.backward()
    assert_close(model.output.weight.grad, expected)


def test_choices_are_taught_by_the_score_function(tiny_model, tiny_batch, monkeypatch):
    model, batch = tiny_model("rnn", dropout=0.0).train(), tiny_batch()
    decoded, shape = model(batch), batch.target_out.shape
    torch.manual_seed(0)
    log_probs = (-torch.rand(shape, dtype=torch.float64)).requires_grad_()
    entropies = torch.rand(shape, dtype=torch.float64).requires_grad_()
    chosen = Decoded(decoded.outputs, choices=Choices(log_probs, entropies))
    monkeypatch.setattr(model, "forward", lambda *_: chosen)
    objective = Objective(model, 0.0).train()
    first, second = objective(batch), objective(batch)
    losses = functional.cross_entropy(
        model.project(decoded.outputs).transpose(1, 2), batch.target_out, reduction="none"
    ).detach()
    counted = batch.target_out != PAD
    # The baseline is a running mean of the loss per token; here both batches are the same.
    mean = losses[counted].mean()
    expected = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(batch.target_lengths.tolist()):
        for position in range(length):
            excess = (losses[row, position:length] - mean).sum()
            expected += excess * log_probs[row, position] - ENTROPY_WEIGHT * entropies[row, position]
    for loss in (first, second):
        assert_close(loss.total - loss.negative_log_likelihood, expected)
        assert not loss.negative_log_likelihood.requires_grad
    first.total.backward()
    gradient = log_probs.grad.clone()
    assert not gradient[~counted].any()
    assert not entropies.grad[~counted].any()
    baseline = objective.baseline.clone()
    with torch.no_grad():
        decoded.outputs[0, 0] = torch.nan
    objective(batch)
    assert_close(objective.baseline, baseline)  # one bad batch is not remembered
    decoded.outputs[0, 0] = 0
    shifted = dataclasses.replace(batch, target_out=torch.where(counted, 5, batch.target_out))
    baseline = objective.baseline.clone()
    other = objective(shifted)
    assert_close(objective.baseline[0], 0.9 * baseline[0] + other.negative_log_likelihood)
    assert_close(objective.baseline[1], 0.9 * baseline[1] + batch.num_tokens)
