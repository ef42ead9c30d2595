"""Compiled layers against eager ones, with a backend that needs no compiler."""

import logging

import pytest
import torch
from torch.testing import assert_close

from nmt.training import compilation
from nmt.training.compilation import compile_layers
from nmt.training.objective import Objective

pytestmark = pytest.mark.filterwarnings("default")  # torch.compile warns of its own making


def learn(model, batch):
    model.zero_grad()
    loss = Objective(model, 0.1).train()(batch)
    loss.total.backward()
    return loss.total.detach(), [parameter.grad.clone() for parameter in model.parameters()]


def test_compiled_layers_equal_eager_ones_on_every_shape(tiny_model, tiny_batch):
    model = tiny_model("transformer", dropout=0.0)
    batches = [tiny_batch(), tiny_batch(2, (9, 3, 4, 5), (3, 4, 5, 6))]
    eager = [learn(model, batch) for batch in batches]
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return graph.forward

    assert compile_layers(model, "on", lambda: learn(model, batches[0]), backend=backend)
    assert programs
    for batch, (loss, gradients) in zip(batches, eager, strict=True):
        found_loss, found_gradients = learn(model, batch)
        assert_close(found_loss, loss)
        assert_close(found_gradients, gradients)


def test_layers_stay_eager_where_nothing_can_be_compiled(tiny_model, tiny_batch, caplog, monkeypatch):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()

    def broken(graph, inputs):
        raise RuntimeError("no compiler here")

    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, "on", lambda: learn(model, batch), backend=broken)
    assert "no compiler here" in caplog.text
    learn(model, batch)
    monkeypatch.setattr(compilation.shutil, "which", lambda name: None)
    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, "on", lambda: learn(model, batch))
    assert "a C++ compiler is needed" in caplog.text


@pytest.mark.parametrize(("kind", "wanted"), [("transformer", "off"), ("transformer", "auto"), ("rnn", "on")])
def test_nothing_is_compiled_unasked_or_without_layers(kind, wanted, tiny_model):
    model = tiny_model(kind)
    assert not compile_layers(model, wanted, lambda: pytest.fail("tried out"))
    assert torch.get_default_device().type == "cpu"
