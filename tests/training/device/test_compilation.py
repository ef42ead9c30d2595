"""Compiled layers against eager ones, with a backend that needs no compiler."""

import logging
from dataclasses import replace

import pytest
import torch
from torch._dynamo.utils import counters
from torch.testing import assert_close

from nmt.models import transformer
from nmt.models.transformer_layers import DecoderLayer
from nmt.training.device import compilation
from nmt.training.device.compilation import compile_layers
from nmt.training.objective import Objective

pytestmark = pytest.mark.filterwarnings("default")  # torch.compile causes warnings of its own


def learn(model, batch):
    model.zero_grad()
    if model.is_guided:
        shares = torch.ones(*batch.target_out.shape, batch.source.shape[1]) * (
            batch.target_out > 0
        ).unsqueeze(2)
        batch = replace(batch, alignment=shares * (batch.source > 0).unsqueeze(1))
    loss = Objective(model, 0.1, alignment_weight=0.3).train()(batch)
    loss.total.backward()
    return loss.total.detach(), [parameter.grad.clone() for parameter in model.parameters()]


def many(tiny_batch, count, longest):
    lengths = [1 + (7 * i) % longest for i in range(count)]
    return tiny_batch(count, (longest, *lengths[1:]), (*lengths[:-1], longest))


@pytest.mark.parametrize("is_guided", [False, True])
def test_compiled_layers_equal_eager_ones_on_every_shape(tiny_model, tiny_batch, is_guided):
    model = tiny_model("transformer", dropout=0.0)
    model.is_guided = is_guided
    batches = [
        many(tiny_batch, count, longest) for count, longest in ((60, 12), (50, 15), (37, 40), (21, 60))
    ]
    eager = [learn(model, batch) for batch in batches]
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return graph.forward

    assert compile_layers(model, "on", lambda: bool(learn(model, batches[0])), backend=backend)
    # For four layers: one for the encoder's, one for the decoder's, and one for a layer that also returns its queries.
    num_programs = 3 if is_guided else 2
    assert len(programs) == num_programs
    for batch, (loss, gradients) in zip(batches, eager, strict=True):
        found_loss, found_gradients = learn(model, batch)
        assert_close(found_loss, loss)
        assert_close(found_gradients, gradients)
    assert len(programs) == num_programs


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.1},
        {"num_key_value_heads": 1, "positions": "rotary", "activation": "swiglu", "attention_dropout": 0.1},
    ],
    ids=["plain", "grouped queries"],
)
def test_as_a_gpu_takes_them_layers_are_whole_programs_for_all_shapes(
    options, tiny_model, tiny_batch, monkeypatch
):
    # On `meta`, which has shapes and no numbers, layers take all branches that are not the CPU's.
    device = torch.device("meta")
    monkeypatch.setattr(transformer, "to_autocast_dtype", lambda x: x)  # there is no autocast
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "max_positions": 256}
    model = tiny_model("transformer", **sizes, **options).train().to(device)
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return graph.forward

    def learn_from(count, source_length, target_length):
        lengths = [
            [1 + 7 * i % longest for i in range(1, count)] for longest in (source_length, target_length)
        ]
        batch = tiny_batch(count, (source_length, *lengths[0]), (target_length, *lengths[1]))
        model(batch.to(device)).outputs.sum().backward()
        return True

    counters.clear()
    assert compile_layers(model, "on", lambda: learn_from(60, 12, 30), backend=backend)
    shapes = [
        (50, 15, 15),
        (37, 40, 22),
        (21, 60, 60),
        (3, 3, 3),
        (1, 1, 1),
        (100, 20, 20),
        (9, 100, 90),
        (33, 33, 47),
    ]
    shapes += [(64, 17, 16), (2, 200, 10)]
    for count, source_length, target_length in shapes:
        learn_from(count, source_length, target_length)
        learn_from(count + 7, source_length + 29, target_length + 13)
    assert dict(counters["graph_break"]) == {}
    assert len(programs) == 2  # one for each kind of layer, and no other for 20 more shapes


def test_layers_of_derived_classes_are_compiled_too(tiny_model, tiny_batch):
    class Derived(DecoderLayer):
        """A layer that leaves the arithmetic as it is."""

    model, batch = tiny_model("transformer", dropout=0.0), tiny_batch()
    expected = learn(model, batch)
    for layer in model.decoder.layers:
        layer.__class__ = Derived
    assert compile_layers(model, "on", lambda: bool(learn(model, batch)), backend="eager")
    assert_close(learn(model, batch), expected)


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


@pytest.mark.parametrize(
    ("kind", "wanted", "told"),
    [
        ("transformer", "off", ""),
        ("transformer", "auto", ""),
        ("rnn", "auto", ""),
        ("rnn", "on", "training.compile: a model with layers that repeat is needed"),
    ],
)
def test_nothing_is_compiled_unasked_or_without_layers(kind, wanted, told, tiny_model, caplog):
    model = tiny_model(kind)
    with caplog.at_level(logging.WARNING, "nmt"):
        assert not compile_layers(model, wanted, lambda: pytest.fail("tried out"))
    assert caplog.text.count("training.compile") == bool(told)
    assert told in caplog.text
