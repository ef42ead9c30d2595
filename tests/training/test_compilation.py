"""Compiled layers against eager ones, with a backend that needs no compiler."""

import logging

import pytest
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


def many(tiny_batch, count, longest):
    lengths = [1 + (7 * i) % longest for i in range(count)]
    return tiny_batch(count, (longest, *lengths[1:]), (*lengths[:-1], longest))


def test_compiled_layers_equal_eager_ones_on_every_shape(tiny_model, tiny_batch):
    model = tiny_model("transformer", dropout=0.0)
    batches = [
        many(tiny_batch, count, longest) for count, longest in ((60, 12), (50, 15), (37, 40), (21, 60))
    ]
    eager = [learn(model, batch) for batch in batches]
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return graph.forward

    assert compile_layers(model, "on", lambda: bool(learn(model, batches[0])), backend=backend)
    assert len(programs) == 2  # for four layers: one of the encoder's, one of the decoder's
    for batch, (loss, gradients) in zip(batches, eager, strict=True):
        found_loss, found_gradients = learn(model, batch)
        assert_close(found_loss, loss)
        assert_close(found_gradients, gradients)
    assert len(programs) == 2


def test_layers_stay_eager_where_nothing_can_be_compiled(tiny_model, tiny_batch, caplog, monkeypatch):
    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()

    def broken(graph, inputs):
        raise RuntimeError("no compiler here")

    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, "on", lambda: bool(learn(model, batch)), backend=broken)
    assert "no compiler here" in caplog.text
    learn(model, batch)
    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, "on", lambda: False, backend="eager")
    assert "not enough memory" in caplog.text
    monkeypatch.setattr(compilation.shutil, "which", lambda name: None)
    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, "on", lambda: bool(learn(model, batch)))
    assert "a C++ compiler is needed" in caplog.text


@pytest.mark.parametrize(("kind", "wanted"), [("transformer", "off"), ("transformer", "auto"), ("rnn", "on")])
def test_nothing_is_compiled_unasked_or_without_layers(kind, wanted, tiny_model):
    model = tiny_model(kind)
    assert not compile_layers(model, wanted, lambda: pytest.fail("tried out"))
