"""The loss against PyTorch's own."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from nmt import memory
from nmt.models.transformer import Transformer
from nmt.training import cross_entropy
from nmt.training.objective import Objective

PAD = 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_loss_and_gradients_equal_the_plain_computation(
    smoothing, chunk, tiny_model, tiny_batch, monkeypatch
):
    monkeypatch.setattr(memory, "LOGITS_AT_ONCE", {"cpu": chunk * 11})
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
        total, nll = cross_entropy.ChunkedCrossEntropy.apply(
            outputs, weight, torch.zeros(3), torch.tensor([1]), torch.tensor([True]), 0.0
        )
    total.backward()
    expected = torch.tensor([[gap, 0.0, 0.0]], dtype=torch.float64).log_softmax(1)[0, 1]
    assert total.item() == nll.item() == pytest.approx(-expected.item(), rel=1e-3)
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


@pytest.mark.parametrize("smoothing", [0.0, 0.001])
@pytest.mark.parametrize("logit", [4.0, 8.0, 12.0])
def test_words_that_are_nearly_certain_are_learned_in_bfloat16(logit, smoothing):
    outputs = torch.tensor([[logit, 0.0, 0.0, 0.0]], requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        total, nll = cross_entropy.ChunkedCrossEntropy.apply(
            outputs, torch.eye(4), torch.zeros(4), torch.tensor([0]), torch.tensor([True]), smoothing
        )
    total.backward()
    exact = outputs.detach().double().requires_grad_()
    loss = functional.cross_entropy(exact, torch.tensor([0]), label_smoothing=smoothing)
    loss.backward()
    assert_close(outputs.grad.double(), exact.grad, rtol=0.01, atol=1e-6)
    # The likelihood is the difference of two numbers of 32 bits, each about as large as the logit.
    expected = -exact.detach().log_softmax(1)[0, 0].item()
    assert nll.item() == pytest.approx(expected, rel=0.01, abs=logit * 2**-23)


def test_with_all_but_the_output_layer_frozen_it_still_learns(tiny_model, tiny_batch):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()
    Objective(model, 0.1).train()(batch).total.backward()
    expected = model.output.weight.grad.clone()
    model.zero_grad()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith("output."))
    Objective(model, 0.1).train()(batch).total.backward()
    assert_close(model.output.weight.grad, expected)


def test_a_model_with_logits_of_its_own_is_not_trained_on_others(tiny_model):
    class Capped(Transformer):
        def project(self, outputs):
            return super().project(outputs).tanh()

    model = tiny_model("transformer")
    model.__class__ = Capped
    with pytest.raises(AssertionError, match="the loss is of `output` itself"):
        Objective(model, 0.0)
